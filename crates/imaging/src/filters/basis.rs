//! The cosine basis of square filters, and its frequency responses.

use std::f64::consts::PI;

/// The largest number of taps along one axis.
pub(super) const MAX_SIZE: usize = 7;
/// The largest number of filters of a bank, with the constant one: those of the largest basis, and
/// 21 pairs of slanted ones.
pub(super) const MAX_FILTERS: usize = MAX_SIZE * MAX_SIZE + 42;

/// The orthonormal cosine basis along one axis, `$b_v(j) \sim \cos(\pi v(j + \frac12)/s)$` for an
/// odd `$s$`. Filter `$(v, h)$` of the plane has the taps `$b_v(i)\,b_h(j)$` and the index
/// `$vs + h$`. Index zero is the constant filter, which no bank uses.
///
/// Filters with an odd `$v$` change sign when the picture is turned upside down, and the others do
/// not change; in the same way for `$h$` and a mirrored picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Basis {
    pub(super) size: usize,
    /// The entries `$b_v(j)$`; those beyond the size are zero.
    pub(super) rows: [[f64; MAX_SIZE]; MAX_SIZE],
}

impl Basis {
    pub(super) fn new(size: usize) -> Self {
        let mut rows = [[0.0; MAX_SIZE]; MAX_SIZE];
        for (v, row) in rows.iter_mut().enumerate().take(size) {
            let scale = if v == 0 { 1.0 } else { 2.0 } / size as f64;
            for (j, entry) in row.iter_mut().enumerate().take(size) {
                let angle = PI * v as f64 * (j as f64 + 0.5) / size as f64;
                *entry = scale.sqrt() * angle.cos();
            }
        }
        Self { size, rows }
    }

    /// The number of filters, with the constant one.
    pub(super) const fn num_filters(&self) -> usize {
        self.size * self.size
    }

    /// The indices of the filters that behave as filter `index` does when the picture is mirrored,
    /// in increasing order and without the constant filter.
    pub(super) fn same_symmetry(&self, index: usize) -> impl Iterator<Item = usize> {
        let size = self.size;
        let symmetry = move |index: usize| (index / size % 2, index % size % 2);
        (1..size * size).filter(move |other| symmetry(*other) == symmetry(index))
    }

    /// Returns the taps of filter `index`, row by row.
    pub(super) fn taps(&self, index: usize) -> impl Iterator<Item = f64> {
        let (size, rows) = (self.size, self.rows);
        let (v, h) = (index / size, index % size);
        (0..size).flat_map(move |i| (0..size).map(move |j| rows[v][i] * rows[h][j]))
    }

    /// Returns the frequency response of `$b_v$` around its middle,
    /// `$\sum_j b_v(j)\,e^{-\mathrm i(j - \rho)w}$`, without the factor `$-\mathrm i$` of odd
    /// `$v$`.
    pub(super) fn response(&self, v: usize, frequency: f64) -> f64 {
        let middle = (self.size / 2) as f64;
        let wave = |j: usize| {
            let angle = (j as f64 - middle) * frequency;
            if v.is_multiple_of(2) {
                angle.cos()
            } else {
                angle.sin()
            }
        };
        (0..self.size).map(|j| self.rows[v][j] * wave(j)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_basis_is_orthonormal_and_has_its_symmetries() {
        for size in [3, 5, 7] {
            let basis = Basis::new(size);
            for (a, first) in basis.rows.iter().enumerate().take(size) {
                for (b, second) in basis.rows.iter().enumerate().take(size) {
                    let product: f64 = first.iter().zip(second).map(|(x, y)| x * y).sum();
                    assert!((product - f64::from(a == b)).abs() < 1e-14);
                }
                let sign = if a % 2 == 0 { 1.0 } else { -1.0 };
                for j in 0..size {
                    assert!((first[j] - sign * first[size - 1 - j]).abs() < 1e-14);
                }
            }
            // The squared responses at any frequency add up to the number of taps.
            let sum: f64 = (0..size).map(|v| basis.response(v, 0.7).powi(2)).sum();
            assert!((sum - size as f64).abs() < 1e-12);
        }
    }
}
