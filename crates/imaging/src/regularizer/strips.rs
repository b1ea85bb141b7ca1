//! Sweeps over the differences of a grid, strip by strip, in loops that the compiler vectorises.

use pulp::{Arch, Simd, WithSimd};

use super::tv::SmoothedTv;
use crate::difference::Direction;
use crate::grid::Field;

/// The number of `f64` in a strip.
pub(crate) const STRIP: usize = 128;
/// The samples beyond a border with zeros.
const ZEROS: [f64; STRIP] = [0.0; STRIP];

/// The ends of the first difference of a strip: the index of the first `f64` of the sample with the
/// positive sign, and that of the sample with the negative sign. `None` stands for zeros.
pub(crate) type Ends = (Option<usize>, Option<usize>);

/// Neighbouring samples of a row. None or all of their differences cross a border.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Strip {
    /// The index of the first sample.
    pub(crate) first: usize,
    /// The number of samples.
    pub(crate) count: usize,
    across: Ends,
    /// The differences down the rows. A line has none.
    down: Option<Ends>,
    /// The differences of slices. Only volumes have them.
    deep: Option<Ends>,
}

impl Strip {
    /// Whether it belongs to a volume. The compiler knows the answer.
    #[inline(always)]
    pub(crate) const fn is_of_volume(self) -> bool {
        self.deep.is_some()
    }

    /// Overwrites `across` and `down` with the differences of `x`.
    #[inline(always)]
    pub(crate) fn subtract(self, x: &[f64], across: &mut [f64], down: &mut [f64]) {
        subtract(x, self.across, across);
        match self.down {
            Some(ends) => subtract(x, ends, down),
            None => down.fill(0.0),
        }
    }

    /// Adds the adjoint of `subtract`, applied to `across` and `down`, to `out`.
    #[inline(always)]
    pub(crate) fn add(self, out: &mut [f64], across: &[f64], down: &[f64]) {
        add(out, self.across, across);
        if let Some(ends) = self.down {
            add(out, ends, down);
        }
    }

    /// Overwrites `across`, `down` and, for a volume, `deep` with the differences of `x`.
    #[inline(always)]
    pub(crate) fn subtract_all(self, x: &[f64], [across, down, deep]: [&mut [f64]; 3]) {
        self.subtract(x, across, down);
        if let Some(ends) = self.deep {
            subtract(x, ends, deep);
        }
    }

    /// Adds the adjoint of `subtract_all` to `out`.
    #[inline(always)]
    pub(crate) fn add_all(self, out: &mut [f64], [across, down, deep]: [&[f64]; 3]) {
        self.add(out, across, down);
        if let Some(ends) = self.deep {
            add(out, ends, deep);
        }
    }

    /// Does the same as [`add_to_ends`](Self::add_to_ends) for a volume: `shared` is added to the
    /// samples that are an end of the differences along several axes.
    #[inline(always)]
    pub(crate) fn add_to_all_ends(self, out: &mut [f64], along: [&[f64]; 3], shared: &[f64]) {
        let ends_of = |(plus, minus): Ends| [plus, minus].into_iter().flatten();
        let all = [Some(self.across), self.down, self.deep];
        let all = all.map(|ends| ends.filter(|(plus, minus)| plus != minus));
        let mut is_first = true;
        for (axis, along) in along.into_iter().enumerate() {
            let Some(ends) = all[axis] else { continue };
            for end in ends_of(ends) {
                add_slices(&mut out[end..], along);
                let mut others = all[axis + 1..].iter().flatten();
                if is_first && others.any(|other| ends_of(*other).any(|other| other == end)) {
                    add_slices(&mut out[end..], shared);
                }
            }
            is_first = false;
        }
    }

    /// Adds `across` to both ends of the differences across, `down` to both ends of the differences
    /// down, and `both` to the samples that are an end of both. Differences of a sample with itself
    /// add nothing.
    #[inline(always)]
    pub(crate) fn add_to_ends(self, out: &mut [f64], across: &[f64], down: &[f64], both: &[f64]) {
        let is_difference = |(plus, minus): Ends| plus != minus;
        let ends = |(plus, minus): Ends| [plus, minus].into_iter().flatten();
        let ends_down = self.down.filter(|&down| is_difference(down));
        if is_difference(self.across) {
            for end in ends(self.across) {
                add_slices(&mut out[end..], across);
                if ends_down.is_some_and(|down| ends(down).any(|other| other == end)) {
                    add_slices(&mut out[end..], both);
                }
            }
        }
        if let Some(down_ends) = ends_down {
            for end in ends(down_ends) {
                add_slices(&mut out[end..], down);
            }
        }
    }
}

/// Overwrites `out` with the difference of the strips that start at `plus` and `minus`.
#[inline(always)]
fn subtract(x: &[f64], (plus, minus): Ends, out: &mut [f64]) {
    let strip =
        |end: Option<usize>| end.map_or(&ZEROS[..out.len()], |end| &x[end..end + out.len()]);
    let (plus, minus) = (strip(plus), strip(minus));
    for ((out, plus), minus) in out.iter_mut().zip(plus).zip(minus) {
        *out = plus - minus;
    }
}

/// Adds `flux` to the strip that starts at `plus`, and subtracts it from the strip at `minus`.
#[inline(always)]
fn add(out: &mut [f64], (plus, minus): Ends, flux: &[f64]) {
    if let Some(plus) = plus {
        add_slices(&mut out[plus..], flux);
    }
    if let Some(minus) = minus {
        for (out, flux) in out[minus..minus + flux.len()].iter_mut().zip(flux) {
            *out -= flux;
        }
    }
}

/// Adds `from` to the entries at the start of `to`.
#[inline(always)]
fn add_slices(to: &mut [f64], from: &[f64]) {
    for (to, from) in to[..from.len()].iter_mut().zip(from) {
        *to += from;
    }
}

/// A computation strip by strip.
pub(crate) trait StripKernel {
    /// Handles one strip of samples with `P` parts each. Must be inlined.
    fn strip<const P: usize>(&mut self, strip: Strip);
}

/// Runs `kernel` on all strips of the grid of `tv` in a fixed order, with the widest vectors of
/// this machine, and returns it.
pub(crate) fn sweep<K: StripKernel>(tv: &SmoothedTv, kernel: K) -> K {
    let arch = Arch::new();
    match (tv.grid.field(), tv.grid.num_axes() == 3) {
        (Field::Real, false) => arch.dispatch(Sweep::<K, 1, false> { tv, kernel }),
        (Field::Real, true) => arch.dispatch(Sweep::<K, 1, true> { tv, kernel }),
        (Field::Complex, false) => arch.dispatch(Sweep::<K, 2, false> { tv, kernel }),
        (Field::Complex, true) => arch.dispatch(Sweep::<K, 2, true> { tv, kernel }),
        (Field::Colour, _) => unreachable!("the total variation refuses grids of colours"),
    }
}

/// A sweep over samples of `P` parts. Lines and pictures have a sweep of their own, without
/// differences of slices: a common one is slower for pictures.
struct Sweep<'a, K, const P: usize, const VOLUME: bool> {
    tv: &'a SmoothedTv,
    kernel: K,
}

impl<K: StripKernel, const P: usize, const VOLUME: bool> WithSimd for Sweep<'_, K, P, VOLUME> {
    type Output = K;

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, _simd: S) -> K {
        let (slices, rows, cols) = self.tv.grid.slices_rows_and_cols();
        // In a row, only the difference of the first or of the last sample crosses the border.
        let (border, inner) = match self.tv.differences.direction {
            Direction::Backward => (0, 1..cols),
            Direction::Forward => (cols - 1, 0..cols - 1),
        };
        for slice in 0..if VOLUME { slices } else { 1 } {
            for row in 0..rows {
                self.strip(slice, row, border, 1);
                for col in inner.clone().step_by(STRIP / P) {
                    self.strip(slice, row, col, (inner.end - col).min(STRIP / P));
                }
            }
        }
        self.kernel
    }
}

impl<K: StripKernel, const P: usize, const VOLUME: bool> Sweep<'_, K, P, VOLUME> {
    #[inline(always)]
    fn strip(&mut self, slice: usize, row: usize, col: usize, count: usize) {
        let (_, rows, cols) = self.tv.grid.slices_rows_and_cols();
        let strip = if VOLUME {
            let [across, down, deep] = self.tv.volume_ends([slice, row, col]);
            Strip {
                first: (slice * rows + row) * cols + col,
                count,
                across,
                down: Some(down),
                deep: Some(deep),
            }
        } else {
            let [across, down] = self.tv.ends(row, col);
            Strip {
                first: row * cols + col,
                count,
                across,
                down: (self.tv.grid.num_axes() == 2).then_some(down),
                deep: None,
            }
        };
        self.kernel.strip::<P>(strip);
    }
}

/// Does the same as [`sweep`] without vectors.
#[cfg(test)]
pub(crate) fn sweep_one_by_one<K: StripKernel>(tv: &SmoothedTv, kernel: K) -> K {
    let simd = pulp::Scalar::new();
    match (tv.grid.field(), tv.grid.num_axes() == 3) {
        (Field::Real, false) => Sweep::<K, 1, false> { tv, kernel }.with_simd(simd),
        (Field::Real, true) => Sweep::<K, 1, true> { tv, kernel }.with_simd(simd),
        (Field::Complex, false) => Sweep::<K, 2, false> { tv, kernel }.with_simd(simd),
        (Field::Complex, true) => Sweep::<K, 2, true> { tv, kernel }.with_simd(simd),
        (Field::Colour, _) => unreachable!("the total variation refuses grids of colours"),
    }
}
