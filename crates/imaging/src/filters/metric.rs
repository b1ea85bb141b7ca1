//! An approximate inverse of the Hessian of denoising, which adapts to each pixel.
//!
//! Let `$B_v$` be the filters of the cosine basis, the constant one included, on the mirrored
//! picture. There are `$s^2$` of them, and `$\sum_vB_v^TB_v = s^2I$`. With weights `$d_v$` at each
//! pixel, the matrix
//!
//! ```math
//! P = \frac1{s^2}\sum_vB_v^T\,\frac1{\delta + s^2d_v}\,B_v
//! ```
//!
//! resembles the inverse of `$\delta I + \sum_vB_v^Td_vB_v$`. It is the inverse where all weights
//! are equal; otherwise every frequency and pixel takes a mean of inverses, where the inverse of
//! the mean would be right. A product costs no roots and no mixing of learned filters.
//!
//! A filter `$c_k = \sum_va_{kv}b_v$` adds `$a_{kv}^2W_k$` to `$d_v$`. Its weight at a response
//! `$t$` is
//!
//! ```math
//! W = \alpha\,\nu^{1/2}(|t|^2 + \nu^2)^{-3/4}.
//! ```
//!
//! For large responses this is between the curvature of the first root and the weight with which
//! a quadratic function bounds it. Iterations move responses by more than `$\nu$`, so the curvature
//! at a point is too small for a step, and the bound is too large. The exponent was chosen by
//! experiment, and the second root made no difference (decision 20).

use pulp::{Simd, WithSimd, bytemuck};

use super::basis::MAX_FILTERS;
use super::regularizer::{no_responses, planes};
use super::sweep::{Lanes, Position, Responses, STRIP};
use super::{FilterBank, FilterRegularizer};
use crate::model::{dispatch, vectorize};

/// The factors of the responses of one filter of the basis in a strip of one row.
type Factors = [f32; STRIP];

/// The constants `$\alpha\nu^{1/2}$` and `$\nu^2$` of a filter.
type Constants = [f32; 2];

impl FilterRegularizer {
    /// The number of `f64` whose memory holds the factors.
    pub(super) fn factors_len(&self) -> usize {
        self.sweep().num_blocks() * self.bank.basis.num_filters() * (STRIP / 2)
    }

    /// Computes the factors at `x`, for `$\delta$` = `data`.
    #[expect(clippy::cast_possible_truncation, reason = "rounded")]
    pub(super) fn set_factors<const P: usize>(
        &self,
        data: f64,
        weight: f64,
        x: &[f64],
        memory: &mut [f64],
    ) {
        let bank = &*self.bank;
        let mut constants = [[0.0; 2]; MAX_FILTERS];
        for (constants, p) in constants.iter_mut().zip(&bank.potentials) {
            *constants = [weight * p.alpha * p.nu.sqrt(), p.nu * p.nu].map(|c| c as f32);
        }
        let per_block = bank.basis.num_filters();
        let (factors, _) = bytemuck::cast_slice_mut(memory).as_chunks_mut();
        let mut mixed = no_responses(0.0);
        let kernel = |position: Position, responses: &mut [Responses<f32>; P]| {
            dispatch(SetFactors {
                bank,
                data: data as f32,
                constants: &constants,
                responses,
                mixed: &mut mixed,
                factors: &mut factors[position.block * per_block..][..per_block],
            });
        };
        self.sweep().run(planes(x), None, kernel);
    }

    /// Overwrites `out` with the product of `$P$` and `r`.
    pub(super) fn apply_factors<const P: usize>(&self, memory: &[f64], r: &[f64], out: &mut [f64]) {
        let per_block = self.bank.basis.num_filters();
        let (factors, _) = bytemuck::cast_slice(memory).as_chunks::<STRIP>();
        let kernel = |position: Position, responses: &mut [Responses<f32>; P]| {
            let factors: &[Factors] = &factors[position.block * per_block..][..per_block];
            vectorize(
                #[inline(always)]
                || {
                    for part in &mut *responses {
                        for (lanes, factors) in part.iter_mut().zip(factors) {
                            for (number, factor) in lanes.iter_mut().zip(factors) {
                                *number *= factor;
                            }
                        }
                    }
                },
            );
        };
        out.fill(0.0);
        self.sweep().add(planes(r), out, kernel);
    }
}

/// Computes the factors of a strip in one row.
struct SetFactors<'a, const P: usize> {
    bank: &'a FilterBank,
    data: f32,
    constants: &'a [Constants],
    responses: &'a mut [Responses<f32>; P],
    mixed: &'a mut [Responses<f32>; P],
    factors: &'a mut [Factors],
}

impl<const P: usize> WithSimd for SetFactors<'_, P> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        self.bank.visit(
            simd,
            self.responses,
            self.mixed,
            #[inline(always)]
            |k, response| weigh(self.constants[k], response),
        );
        let weights = &mut self.responses[0];
        if let Some(mixing) = &self.bank.mixing {
            mixing.diagonal(simd, &mut self.mixed[0], weights);
        }
        weights[0] = [0.0; STRIP];
        let count = self.factors.len() as f32;
        for (factors, weights) in self.factors.iter_mut().zip(weights) {
            for (factor, weight) in factors.iter_mut().zip(weights) {
                *factor = 1.0 / (count * (self.data + count * *weight));
            }
        }
    }
}

/// Replaces the first part of a response by its weight.
#[inline(always)]
fn weigh<const P: usize>([scale, smoothing]: Constants, response: [&mut Lanes<f32>; P]) {
    let mut squares = [smoothing; STRIP];
    for part in &response {
        for (square, t) in squares.iter_mut().zip(&**part) {
            *square += t * t;
        }
    }
    for (weight, square) in response[0].iter_mut().zip(&squares) {
        let root = square.sqrt();
        *weight = scale / (root * root.sqrt());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::RegularizerHessian;
    use crate::filters::tests::{any_bank, numbers, response};

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        /// `$\langle u, Pv\rangle$` by the definition of the metric.
        #[test]
        fn metrics_follow_their_definition(filters in any_bank(), seed: u64) {
            let grid = filters.grid;
            let [x, u, v] = [1, 2, 3].map(|k| numbers(grid.len(), seed ^ k));
            let mut memory = vec![0.0; filters.metric_len()];
            filters.set_metric(0.6, 0.7, &x, &mut memory);
            let mut product = vec![f64::NAN; v.len()];
            filters.apply_metric(&memory, &v, &mut product);
            let found: f64 = u.iter().zip(&product).map(|(u, p)| u * p).sum();
            let (bank, size) = (filters.bank(), filters.bank().size());
            let count = bank.basis.num_filters();
            let basis: Vec<Vec<f64>> = (0..count).map(|index| bank.basis.taps(index).collect()).collect();
            let (rows, cols) = grid.rows_and_cols();
            let mut expected = 0.0;
            for at in (0..rows).flat_map(|row| (0..cols).map(move |col| (row, col))) {
                let parts = |taps: &[f64], picture: &[f64]| -> Vec<f64> {
                    let parts = 0..grid.num_parts();
                    parts.map(|part| response(taps, size, grid, picture, part, at)).collect()
                };
                let mut weights = vec![0.0; count];
                for (taps, p) in bank.taps().iter().zip(bank.potentials()) {
                    let square: f64 = parts(taps, &x).iter().map(|t| t * t).sum();
                    let w = 0.7 * p.alpha * p.nu.sqrt() * (square + p.nu * p.nu).powf(-0.75);
                    for (weight, filter) in weights.iter_mut().zip(&basis).skip(1) {
                        let coefficient: f64 = taps.iter().zip(filter).map(|(a, b)| a * b).sum();
                        *weight += coefficient * coefficient * w;
                    }
                }
                for (weight, filter) in weights.iter().zip(&basis) {
                    let pairs = parts(filter, &u).into_iter().zip(parts(filter, &v));
                    let inner: f64 = pairs.map(|(u, v)| u * v).sum();
                    let n = count as f64;
                    expected += inner / (n * (0.6 + n * weight));
                }
            }
            let scale = lowlevel::norm(&u) * lowlevel::norm(&v);
            prop_assert!((found - expected).abs() <= 1e-4 * scale, "{} {}", found, expected);
        }
    }
}
