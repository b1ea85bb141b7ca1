//! One sweep over pictures: computes the responses of a cosine basis at every pixel, hands them to
//! a kernel, and adds what the kernel makes of them back to a picture.
//!
//! A sweep goes down strips of columns. In each row it transforms the pixels along the row, and
//! then the last rows along the column. All of this fits into the first-level cache, and nothing is
//! stored per pixel. Outside the picture the pixels are mirrored, those at the border twice.

use super::basis::{Basis, MAX_FILTERS, MAX_SIZE};
use crate::grid::Grid;
use crate::model::vectorize;

/// The number of pixels of a strip in one row.
pub(super) const STRIP: usize = 32;
/// Numbers for the pixels of a strip in one row.
pub(super) type Lanes = [f64; STRIP];
/// The responses of all filters of a basis at the pixels of a strip in one row.
pub(super) type Responses = [Lanes; MAX_FILTERS];
/// One row of a strip, transformed along the row.
type Transformed = [Lanes; MAX_SIZE];
/// The last rows of a strip: row `i` of the picture is in slot `i` modulo the size of the basis.
type Window = [Transformed; MAX_SIZE];

/// The pixels that a kernel sees at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Position {
    /// The number of the block of pixels, which counts down the strips.
    pub(super) block: usize,
    /// The number of pixels, at most [`STRIP`]. The numbers for further ones are arbitrary.
    pub(super) count: usize,
}

/// A grid of real or complex samples, swept with a basis.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sweep<'a> {
    pub(super) basis: &'a Basis,
    pub(super) grid: Grid,
}

impl Sweep<'_> {
    /// The number of blocks of pixels that a kernel sees.
    pub(super) const fn num_blocks(self) -> usize {
        let (rows, cols) = self.grid.rows_and_cols();
        cols.div_ceil(STRIP) * rows
    }

    /// Calls `kernel` with the responses of `N` planes at every pixel.
    pub(super) fn read<const N: usize>(
        self,
        planes: [Plane<'_>; N],
        kernel: impl FnMut(Position, &mut [Responses; N]),
    ) {
        self.run(planes, None, kernel);
    }

    /// Calls `kernel` with the responses of the `N` planes of a picture at every pixel. The kernel
    /// replaces them by numbers `$t$`, and `$\sum_k C_k^Tt_k$` is added to `out`.
    pub(super) fn add<const N: usize>(
        self,
        pictures: [Plane<'_>; N],
        out: &mut [f64],
        kernel: impl FnMut(Position, &mut [Responses; N]),
    ) {
        self.run(pictures, Some(out), kernel);
    }

    fn run<const N: usize>(
        self,
        pictures: [Plane<'_>; N],
        mut out: Option<&mut [f64]>,
        mut kernel: impl FnMut(Position, &mut [Responses; N]),
    ) {
        let (rows, cols) = self.grid.rows_and_cols();
        let (size, radius) = (self.basis.size, self.basis.size / 2);
        let mut windows = [[[[0.0; STRIP]; MAX_SIZE]; MAX_SIZE]; N];
        let mut sums = [[[[0.0; STRIP]; MAX_SIZE]; MAX_SIZE]; N];
        let mut responses = [[[0.0; STRIP]; MAX_FILTERS]; N];
        for col in (0..cols).step_by(STRIP) {
            let strip = Strip {
                basis: self.basis,
                cols,
                col,
                count: STRIP.min(cols - col),
            };
            // Row `line - radius` of the picture comes into the window with index `line`.
            for line in 0..rows + 2 * radius {
                let from = mirrored(line, radius, rows);
                for (window, picture) in windows.iter_mut().zip(pictures) {
                    strip.transform(picture, from, &mut window[line % size]);
                }
                for sums in &mut sums {
                    sums[line % size] = [[0.0; STRIP]; MAX_SIZE];
                }
                let Some(row) = line.checked_sub(2 * radius) else {
                    continue;
                };
                for (window, responses) in windows.iter().zip(&mut responses) {
                    strip.analyse(window, row, responses);
                }
                let position = Position {
                    block: col / STRIP * rows + row,
                    count: strip.count,
                };
                kernel(position, &mut responses);
                let Some(out) = out.as_deref_mut() else {
                    continue;
                };
                let to = mirrored(row, radius, rows);
                for (part, (sums, responses)) in sums.iter_mut().zip(&responses).enumerate() {
                    strip.synthesise(responses, row, sums);
                    strip.add_back(&sums[row % size], to, out, part, N);
                }
            }
            let Some(out) = out.as_deref_mut() else {
                continue;
            };
            for line in rows..rows + 2 * radius {
                let to = mirrored(line, radius, rows);
                for (part, sums) in sums.iter().enumerate() {
                    strip.add_back(&sums[line % size], to, out, part, N);
                }
            }
        }
    }
}

/// A real picture, or one part of a complex one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plane<'a> {
    pub(super) samples: &'a [f64],
    /// The part of each sample.
    pub(super) part: usize,
    /// The number of parts of each sample.
    pub(super) num_parts: usize,
}

/// Returns the index of the pixel that stands for number `line`, counted from `radius` pixels
/// before the first one, on an axis with `len` pixels.
const fn mirrored(line: usize, radius: usize, len: usize) -> usize {
    // An even number of periods is added, so that nothing is negative.
    let period = 2 * len;
    let at = (line + (radius / period + 1) * period - radius) % period;
    if at < len { at } else { period - 1 - at }
}

/// The number of pixels of a padded row of a strip.
const PADDED: usize = STRIP + MAX_SIZE - 1;

#[derive(Clone, Copy)]
struct Strip<'a> {
    basis: &'a Basis,
    cols: usize,
    /// The first column.
    col: usize,
    /// The number of columns.
    count: usize,
}

/// Evaluates an expression for the size of a basis as a constant.
macro_rules! with_size {
    ($basis:expr, $size:ident => $result:expr) => {
        match $basis.size {
            3 => {
                const $size: usize = 3;
                $result
            }
            5 => {
                const $size: usize = 5;
                $result
            }
            _ => {
                const $size: usize = 7;
                $result
            }
        }
    };
}

impl Strip<'_> {
    /// Returns the part of a row of the picture that the strip needs, and whether it is inside.
    fn padded(self) -> (usize, bool) {
        let radius = self.basis.size / 2;
        let inside = self.col >= radius && self.col + STRIP + radius <= self.cols;
        (radius, inside)
    }

    fn transform(self, picture: Plane<'_>, row: usize, out: &mut Transformed) {
        let Plane {
            samples,
            part,
            num_parts,
        } = picture;
        let line = &samples[row * self.cols * num_parts..][..self.cols * num_parts];
        let mut padded = [0.0; PADDED];
        let (radius, inside) = self.padded();
        let num_padded = STRIP + 2 * radius;
        if inside && num_parts == 1 {
            padded[..num_padded].copy_from_slice(&line[self.col - radius..][..num_padded]);
        } else {
            for (index, entry) in padded[..num_padded].iter_mut().enumerate() {
                let at = mirrored(self.col + index, radius, self.cols);
                *entry = line[at * num_parts + part];
            }
        }
        let basis = &self.basis.rows;
        with_size!(self.basis, SIZE => vectorize(
            #[inline(always)]
            || transform_row::<SIZE>(basis, &padded, out),
        ));
    }

    fn analyse(self, window: &Window, row: usize, responses: &mut Responses) {
        let basis = &self.basis.rows;
        with_size!(self.basis, SIZE => vectorize(
            #[inline(always)]
            || analyse_column::<SIZE>(basis, window, row, responses),
        ));
    }

    fn synthesise(self, responses: &Responses, row: usize, sums: &mut Window) {
        let basis = &self.basis.rows;
        with_size!(self.basis, SIZE => vectorize(
            #[inline(always)]
            || synthesise_column::<SIZE>(basis, responses, row, self.count, sums),
        ));
    }

    /// Adds a transformed row to one part of the samples of a row of a picture.
    fn add_back(
        self,
        sums: &Transformed,
        row: usize,
        out: &mut [f64],
        part: usize,
        num_parts: usize,
    ) {
        let line = &mut out[row * self.cols * num_parts..][..self.cols * num_parts];
        let mut padded = [0.0; PADDED];
        let basis = &self.basis.rows;
        with_size!(self.basis, SIZE => vectorize(
            #[inline(always)]
            || transform_back::<SIZE>(basis, sums, &mut padded),
        ));
        let (radius, inside) = self.padded();
        let num_padded = STRIP + 2 * radius;
        if inside && num_parts == 1 {
            let line = &mut line[self.col - radius..][..num_padded];
            for (entry, sum) in line.iter_mut().zip(&padded) {
                *entry += sum;
            }
        } else {
            for (index, sum) in padded[..self.count + 2 * radius].iter().enumerate() {
                let at = mirrored(self.col + index, radius, self.cols);
                line[at * num_parts + part] += sum;
            }
        }
    }
}

/// The transform of `SIZE` numbers by the cosine basis. Its even rows see the sums, and its odd
/// rows the differences, of the first and the last number, the second and the second last, and so
/// on.
#[inline(always)]
fn transform<const SIZE: usize>(
    basis: &[[f64; MAX_SIZE]; MAX_SIZE],
    numbers: [f64; SIZE],
) -> [f64; SIZE] {
    let half = SIZE / 2;
    let mut folded = numbers;
    for j in 0..half {
        folded[j] = numbers[j] + numbers[SIZE - 1 - j];
        folded[SIZE - 1 - j] = numbers[j] - numbers[SIZE - 1 - j];
    }
    let mut out = [0.0; SIZE];
    for v in 0..SIZE {
        let mut sum = 0.0;
        if v % 2 == 0 {
            for j in 0..=half {
                sum += basis[v][j] * folded[j];
            }
        } else {
            for j in 0..half {
                sum += basis[v][j] * folded[SIZE - 1 - j];
            }
        }
        out[v] = sum;
    }
    out
}

/// The transpose of [`transform`].
#[inline(always)]
fn transpose<const SIZE: usize>(
    basis: &[[f64; MAX_SIZE]; MAX_SIZE],
    numbers: [f64; SIZE],
) -> [f64; SIZE] {
    let half = SIZE / 2;
    let mut out = [0.0; SIZE];
    for j in 0..=half {
        let (mut even, mut odd) = (0.0, 0.0);
        for v in 0..SIZE {
            if v % 2 == 0 {
                even += basis[v][j] * numbers[v];
            } else {
                odd += basis[v][j] * numbers[v];
            }
        }
        if j == half {
            out[j] = even;
        } else {
            out[j] = even + odd;
            out[SIZE - 1 - j] = even - odd;
        }
    }
    out
}

#[inline(always)]
fn transform_row<const SIZE: usize>(
    basis: &[[f64; MAX_SIZE]; MAX_SIZE],
    padded: &[f64; PADDED],
    out: &mut Transformed,
) {
    for lane in 0..STRIP {
        let mut numbers = [0.0; SIZE];
        for (j, number) in numbers.iter_mut().enumerate() {
            *number = padded[lane + j];
        }
        let result = transform(basis, numbers);
        for h in 0..SIZE {
            out[h][lane] = result[h];
        }
    }
}

#[inline(always)]
fn transform_back<const SIZE: usize>(
    basis: &[[f64; MAX_SIZE]; MAX_SIZE],
    sums: &Transformed,
    padded: &mut [f64; PADDED],
) {
    let mut terms = [[0.0; STRIP]; SIZE];
    for lane in 0..STRIP {
        let mut numbers = [0.0; SIZE];
        for h in 0..SIZE {
            numbers[h] = sums[h][lane];
        }
        let result = transpose(basis, numbers);
        for j in 0..SIZE {
            terms[j][lane] = result[j];
        }
    }
    for (j, terms) in terms.iter().enumerate() {
        for (entry, term) in padded[j..].iter_mut().zip(terms) {
            *entry += term;
        }
    }
}

#[inline(always)]
fn analyse_column<const SIZE: usize>(
    basis: &[[f64; MAX_SIZE]; MAX_SIZE],
    window: &Window,
    row: usize,
    responses: &mut Responses,
) {
    let slots: [usize; SIZE] = std::array::from_fn(|i| (row + i) % SIZE);
    for h in 0..SIZE {
        let rows: [&Lanes; SIZE] = slots.map(|slot| &window[slot][h]);
        for lane in 0..STRIP {
            let result = transform(basis, rows.map(|row| row[lane]));
            for v in 0..SIZE {
                responses[v * SIZE + h][lane] = result[v];
            }
        }
    }
}

/// Adds the transposed transform of the first `count` lanes to the window.
#[inline(always)]
fn synthesise_column<const SIZE: usize>(
    basis: &[[f64; MAX_SIZE]; MAX_SIZE],
    responses: &Responses,
    row: usize,
    count: usize,
    sums: &mut Window,
) {
    for h in 0..SIZE {
        let mut terms = [[0.0; STRIP]; SIZE];
        for lane in 0..STRIP {
            let mut numbers = [0.0; SIZE];
            for v in 0..SIZE {
                numbers[v] = responses[v * SIZE + h][lane];
            }
            let result = transpose(basis, numbers);
            for i in 0..SIZE {
                terms[i][lane] = result[i];
            }
        }
        for (i, terms) in terms.iter_mut().enumerate() {
            terms[count..].fill(0.0);
            for (sum, term) in sums[(row + i) % SIZE][h].iter_mut().zip(&*terms) {
                *sum += term;
            }
        }
    }
}
