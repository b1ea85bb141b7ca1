//! One sweep over pictures: computes the responses of a cosine basis at every pixel, hands them to
//! a kernel, and adds what the kernel makes of them back to a picture.
//!
//! A sweep goes down strips of columns. In each row it transforms the pixels along the row, and
//! then the last rows along the column. All of this fits into the first-level cache, and nothing is
//! stored per pixel. Outside the picture the pixels are mirrored, those at the border twice.

use pulp::{Simd, WithSimd};

use super::basis::{Basis, MAX_FILTERS, MAX_SIZE};
use super::vector::{Aligned, Real};
use crate::grid::Grid;
use crate::model::dispatch;

/// The number of pixels of a strip in one row.
pub(super) const STRIP: usize = 32;
/// Numbers for the pixels of a strip in one row.
pub(super) type Lanes<T = f64> = [T; STRIP];
/// The responses of all filters of a basis at the pixels of a strip in one row.
pub(super) type Responses<T = f64> = [Lanes<T>; MAX_FILTERS];
/// One row of a strip, transformed along the row.
type Transformed<T> = [Lanes<T>; MAX_SIZE];
/// The last rows of a strip: row `i` of the picture is in slot `i` modulo the size of the basis.
type Window<T> = [Transformed<T>; MAX_SIZE];

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

    /// Calls `kernel` with the responses of `N` planes at every pixel. The kernel replaces those of
    /// the first picture by numbers `$t$`, and `$\sum_k C_k^Tt_k$` is added to `out`.
    pub(super) fn add<T: Real, const N: usize>(
        self,
        pictures: [Plane<'_>; N],
        out: &mut [f64],
        kernel: impl FnMut(Position, &mut [Responses<T>; N]),
    ) {
        self.run(pictures, Some(out), kernel);
    }

    /// Calls `kernel` in the same way, and changes `out` only if there is one.
    pub(super) fn run<T: Real, const N: usize>(
        self,
        pictures: [Plane<'_>; N],
        mut out: Option<&mut [f64]>,
        mut kernel: impl FnMut(Position, &mut [Responses<T>; N]),
    ) {
        let (rows, cols) = self.grid.rows_and_cols();
        let (size, radius) = (self.basis.size, self.basis.size / 2);
        let parts = self.grid.num_parts();
        let zeros = [[[[T::default(); STRIP]; MAX_SIZE]; MAX_SIZE]; N];
        let [mut windows, mut sums] = [Aligned(zeros); 2];
        let mut responses = Aligned([[[T::default(); STRIP]; MAX_FILTERS]; N]);
        let basis = Cosines::new(self.basis);
        for col in (0..cols).step_by(STRIP) {
            let strip = Strip {
                basis: &basis,
                size,
                cols,
                col,
                count: STRIP.min(cols - col),
            };
            for slot in sums.iter_mut().flatten() {
                *slot = [[T::default(); STRIP]; MAX_SIZE];
            }
            // Row `line - radius` of the picture comes into the window with index `line`.
            for line in 0..rows + 2 * radius {
                let from = mirrored(line, radius, rows);
                for (window, picture) in windows.iter_mut().zip(pictures) {
                    strip.transform(picture, from, &mut window[line % size]);
                }
                let Some(row) = line.checked_sub(2 * radius) else {
                    continue;
                };
                for (window, responses) in windows.iter().zip(responses.iter_mut()) {
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
                let planes = sums[..parts].iter_mut().zip(responses.iter_mut());
                for (part, (sums, responses)) in planes.enumerate() {
                    strip.synthesise(responses, row, sums);
                    strip.add_back(&sums[row % size], to, out, part, parts);
                }
            }
            let Some(out) = out.as_deref_mut() else {
                continue;
            };
            for line in rows..rows + 2 * radius {
                let to = mirrored(line, radius, rows);
                for (part, sums) in sums[..parts].iter().enumerate() {
                    strip.add_back(&sums[line % size], to, out, part, parts);
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
    if line >= radius && line - radius < len {
        return line - radius; // most pixels, which need no division
    }
    // An even number of periods is added, so that nothing is negative.
    let period = 2 * len;
    let at = (line + (radius / period + 1) * period - radius) % period;
    if at < len { at } else { period - 1 - at }
}

/// The number of pixels of a padded row of a strip.
const PADDED: usize = STRIP + MAX_SIZE - 1;

/// The entries of a cosine basis.
struct Cosines<T>([[T; MAX_SIZE]; MAX_SIZE]);

impl<T: Real> Cosines<T> {
    fn new(basis: &Basis) -> Self {
        Self(basis.rows.map(|row| row.map(T::from_f64)))
    }

    /// The entries as vectors.
    #[inline(always)]
    fn vectors<S: Simd, const SIZE: usize>(&self, simd: S) -> Entries<T, S, SIZE> {
        let mut out = [[T::splat(simd, T::default()); SIZE]; SIZE];
        for (out, row) in out.iter_mut().zip(&self.0) {
            for (out, entry) in out.iter_mut().zip(row) {
                *out = T::splat(simd, *entry);
            }
        }
        out
    }
}

/// The entries of a cosine basis as vectors.
type Entries<T, S, const SIZE: usize> = [[<T as Real>::Vector<S>; SIZE]; SIZE];

#[derive(Clone, Copy)]
struct Strip<'a, T> {
    basis: &'a Cosines<T>,
    size: usize,
    cols: usize,
    /// The first column.
    col: usize,
    /// The number of columns.
    count: usize,
}

/// Runs a kernel for the size of a basis as a constant.
macro_rules! dispatch_size {
    ($size:expr, $kernel:ident $fields:tt) => {
        match $size {
            3 => dispatch($kernel::<_, 3> $fields),
            5 => dispatch($kernel::<_, 5> $fields),
            _ => dispatch($kernel::<_, 7> $fields),
        }
    };
}

impl<T: Real> Strip<'_, T> {
    /// Returns the radius of the filters, and whether the padded strip is inside of the picture.
    fn padded(&self) -> (usize, bool) {
        let radius = self.size / 2;
        let inside = self.col >= radius && self.col + STRIP + radius <= self.cols;
        (radius, inside)
    }

    fn transform(&self, picture: Plane<'_>, row: usize, out: &mut Transformed<T>) {
        let Plane {
            samples,
            part,
            num_parts,
        } = picture;
        let line = &samples[row * self.cols * num_parts..][..self.cols * num_parts];
        let mut padded = [T::default(); PADDED];
        let (radius, inside) = self.padded();
        let num_padded = STRIP + 2 * radius;
        if inside && num_parts == 1 {
            for (entry, sample) in padded
                .iter_mut()
                .zip(&line[self.col - radius..][..num_padded])
            {
                *entry = T::from_f64(*sample);
            }
        } else {
            for (index, entry) in padded[..num_padded].iter_mut().enumerate() {
                let at = mirrored(self.col + index, radius, self.cols);
                *entry = T::from_f64(line[at * num_parts + part]);
            }
        }
        let (basis, padded) = (self.basis, &padded);
        dispatch_size!(self.size, TransformRow { basis, padded, out });
    }

    fn analyse(&self, window: &Window<T>, row: usize, responses: &mut Responses<T>) {
        let basis = self.basis;
        dispatch_size!(
            self.size,
            AnalyseColumns {
                basis,
                window,
                row,
                responses
            }
        );
    }

    fn synthesise(&self, responses: &mut Responses<T>, row: usize, sums: &mut Window<T>) {
        if self.count < STRIP {
            for response in &mut responses[..self.size * self.size] {
                response[self.count..].fill(T::default());
            }
        }
        let basis = self.basis;
        dispatch_size!(
            self.size,
            SynthesiseColumns {
                basis,
                responses,
                row,
                sums
            }
        );
    }

    /// Adds a transformed row to one part of the samples of a row of a picture.
    fn add_back(
        &self,
        sums: &Transformed<T>,
        row: usize,
        out: &mut [f64],
        part: usize,
        num_parts: usize,
    ) {
        let line = &mut out[row * self.cols * num_parts..][..self.cols * num_parts];
        let mut padded = [T::default(); PADDED];
        let (basis, out) = (self.basis, &mut padded);
        dispatch_size!(self.size, TransformBack { basis, sums, out });
        let (radius, inside) = self.padded();
        let num_padded = STRIP + 2 * radius;
        if inside && num_parts == 1 {
            let line = &mut line[self.col - radius..][..num_padded];
            for (entry, sum) in line.iter_mut().zip(&padded) {
                *entry += sum.to_f64();
            }
        } else {
            for (index, sum) in padded[..self.count + 2 * radius].iter().enumerate() {
                let at = mirrored(self.col + index, radius, self.cols);
                line[at * num_parts + part] += sum.to_f64();
            }
        }
    }
}

/// The vectors at one place of several rows.
#[inline(always)]
fn column<V: Copy, const SIZE: usize>(rows: [&[V]; SIZE], at: usize) -> [V; SIZE] {
    let mut out = [rows[0][at]; SIZE];
    for i in 1..SIZE {
        out[i] = rows[i][at];
    }
    out
}

/// The transform of `SIZE` numbers by the cosine basis. Its even rows see the sums, and its odd
/// rows the differences, of the first and the last number, the second and the second last, and so
/// on. The entries of its first row are all the same.
#[inline(always)]
fn transform<T: Real, S: Simd, const SIZE: usize>(
    simd: S,
    basis: &Entries<T, S, SIZE>,
    numbers: [T::Vector<S>; SIZE],
) -> [T::Vector<S>; SIZE] {
    let half = SIZE / 2;
    let mut folded = numbers;
    for j in 0..half {
        folded[j] = T::plus(simd, numbers[j], numbers[SIZE - 1 - j]);
        folded[SIZE - 1 - j] = T::minus(simd, numbers[j], numbers[SIZE - 1 - j]);
    }
    let mut out = folded;
    for number in &folded[1..=half] {
        out[0] = T::plus(simd, out[0], *number);
    }
    out[0] = T::times(simd, basis[0][0], out[0]);
    for v in 1..SIZE {
        let (count, from) = if v % 2 == 0 {
            (half + 1, 0)
        } else {
            (half, SIZE - 1)
        };
        let mut sum = T::times(simd, basis[v][0], folded[from]);
        for j in 1..count {
            let number = folded[from.abs_diff(j)];
            sum = T::plus(simd, sum, T::times(simd, basis[v][j], number));
        }
        out[v] = sum;
    }
    out
}

/// The transpose of [`transform`].
#[inline(always)]
fn transpose<T: Real, S: Simd, const SIZE: usize>(
    simd: S,
    basis: &Entries<T, S, SIZE>,
    numbers: [T::Vector<S>; SIZE],
) -> [T::Vector<S>; SIZE] {
    let half = SIZE / 2;
    let mut out = numbers;
    let mean = T::times(simd, basis[0][0], numbers[0]);
    for j in 0..=half {
        let mut even = mean;
        for v in (2..SIZE).step_by(2) {
            even = T::plus(simd, even, T::times(simd, basis[v][j], numbers[v]));
        }
        if j == half {
            out[j] = even;
        } else {
            let mut odd = T::times(simd, basis[1][j], numbers[1]);
            for v in (3..SIZE).step_by(2) {
                odd = T::plus(simd, odd, T::times(simd, basis[v][j], numbers[v]));
            }
            out[j] = T::plus(simd, even, odd);
            out[SIZE - 1 - j] = T::minus(simd, even, odd);
        }
    }
    out
}

/// Transforms the pixels of a row along the row.
struct TransformRow<'a, T, const SIZE: usize> {
    basis: &'a Cosines<T>,
    padded: &'a [T; PADDED],
    out: &'a mut Transformed<T>,
}

impl<T: Real, const SIZE: usize> WithSimd for TransformRow<'_, T, SIZE> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let basis = self.basis.vectors::<S, SIZE>(simd);
        let mut shifted = [&[][..]; SIZE];
        for (j, shifted) in shifted.iter_mut().enumerate() {
            *shifted = T::vectors::<S>(&self.padded[j..j + STRIP]);
        }
        for at in 0..shifted[0].len() {
            let result = transform::<T, S, SIZE>(simd, &basis, column(shifted, at));
            for (out, result) in self.out.iter_mut().zip(result) {
                T::vectors_mut::<S>(out)[at] = result;
            }
        }
    }
}

/// Computes a row of pixels from its transform, added up over shifts.
struct TransformBack<'a, T, const SIZE: usize> {
    basis: &'a Cosines<T>,
    sums: &'a Transformed<T>,
    out: &'a mut [T; PADDED],
}

impl<T: Real, const SIZE: usize> WithSimd for TransformBack<'_, T, SIZE> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let basis = self.basis.vectors::<S, SIZE>(simd);
        let mut terms = [[T::default(); STRIP]; SIZE];
        let mut sums = [&[][..]; SIZE];
        for (out, lanes) in sums.iter_mut().zip(self.sums) {
            *out = T::vectors::<S>(lanes);
        }
        for at in 0..sums[0].len() {
            let result = transpose::<T, S, SIZE>(simd, &basis, column(sums, at));
            for (terms, result) in terms.iter_mut().zip(result) {
                T::vectors_mut::<S>(terms)[at] = result;
            }
        }
        for (j, terms) in terms.iter().enumerate() {
            let shifted = T::vectors_mut::<S>(&mut self.out[j..j + STRIP]);
            for (sum, term) in shifted.iter_mut().zip(T::vectors::<S>(terms)) {
                *sum = T::plus(simd, *sum, *term);
            }
        }
    }
}

/// Transforms the rows of a window along the columns.
struct AnalyseColumns<'a, T, const SIZE: usize> {
    basis: &'a Cosines<T>,
    window: &'a Window<T>,
    /// The first row.
    row: usize,
    responses: &'a mut Responses<T>,
}

impl<T: Real, const SIZE: usize> WithSimd for AnalyseColumns<'_, T, SIZE> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let basis = self.basis.vectors::<S, SIZE>(simd);
        for h in 0..SIZE {
            let mut rows = [&[][..]; SIZE];
            for (i, out) in rows.iter_mut().enumerate() {
                *out = T::vectors::<S>(&self.window[(self.row + i) % SIZE][h]);
            }
            for at in 0..rows[0].len() {
                let result = transform::<T, S, SIZE>(simd, &basis, column(rows, at));
                for (v, result) in result.into_iter().enumerate() {
                    T::vectors_mut::<S>(&mut self.responses[v * SIZE + h])[at] = result;
                }
            }
        }
    }
}

/// Adds the transposed transform to the window, whose newest row it overwrites.
struct SynthesiseColumns<'a, T, const SIZE: usize> {
    basis: &'a Cosines<T>,
    responses: &'a Responses<T>,
    /// The first row.
    row: usize,
    sums: &'a mut Window<T>,
}

impl<T: Real, const SIZE: usize> WithSimd for SynthesiseColumns<'_, T, SIZE> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let basis = self.basis.vectors::<S, SIZE>(simd);
        let slots: [usize; SIZE] = std::array::from_fn(|i| (self.row + i) % SIZE);
        for h in 0..SIZE {
            let mut columns = [&[][..]; SIZE];
            for (v, out) in columns.iter_mut().enumerate() {
                *out = T::vectors::<S>(&self.responses[v * SIZE + h]);
            }
            for at in 0..columns[0].len() {
                let result = transpose::<T, S, SIZE>(simd, &basis, column(columns, at));
                for i in 0..SIZE - 1 {
                    let sum = &mut T::vectors_mut::<S>(&mut self.sums[slots[i]][h])[at];
                    *sum = T::plus(simd, *sum, result[i]);
                }
                let newest = &mut self.sums[slots[SIZE - 1]][h];
                T::vectors_mut::<S>(newest)[at] = result[SIZE - 1];
            }
        }
    }
}
