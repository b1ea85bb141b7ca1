//! Approximate subgradients of filter banks, from which sharper errors are certified.
//!
//! Let `$\varphi$` be the potential of a response `$t$` of `$x$`, with `$\varphi'' \ge -m$`, so
//! that `$\psi(t) = \varphi(t) + \frac m2|t|^2$` is convex. Choose any number `$w$`, and let
//! `$\delta = \psi'(t) - \psi'(t - w)$`. The tangent at `$t - w$` bounds `$\psi$` from below, and
//! the tangent at `$t$` bounds `$\psi(t - w)$`. Hence for all responses `$s$`
//!
//! ```math
//! \psi(s) \ge \psi(t - w) + \langle\psi'(t - w), s - t + w\rangle
//!         \ge \psi(t) + \langle\psi'(t) - \delta, s - t\rangle - \langle\delta, w\rangle.
//! ```
//!
//! The terms `$-\frac m2|s|^2$` are put back. Added up over filters and pixels, what is quadratic
//! in `$s - t$` is at least `$-\frac12\|y - x\|^2$` times the weak convexity of the bank. So this
//! is the bound of [`lowlevel::SecondOrder::subgradient`] with
//!
//! ```math
//! r = \nabla\Phi(x) - \sum_kC_k^T\delta_k, \qquad B = \sum_k\langle\delta_k, w_k\rangle.
//! ```
//!
//! For the sum to be about a given vector `$R$`, the numbers `$w$` are like those of the
//! [metric](super::metric), with other weights: with the filters `$B_v$` of the basis and
//! `$c_k = \sum_va_{kv}b_v$`,
//!
//! ```math
//! w_k = \sum_va_{kv}\,\frac{B_vR}{\delta_0 + s^2d_v}, \qquad
//! d_v = \sum_ka_{kv}^2\Bigl(\frac{\alpha_k\nu_k}{|t_k|^2 + \nu_k^2} + m_k\Bigr),
//! ```
//!
//! where `$\delta_0$` is the curvature of the data term. The weight of a potential is between its
//! curvature and the weight with which a quadratic function bounds it, since the curvature alone is
//! too small where `$w$` is larger than `$\nu$` (decision 20). No bound depends on this choice.

use lowlevel::{Subgradient, SubgradientPoint, UNIT_ROUNDOFF, norm};
use pulp::{Simd, WithSimd};

use super::basis::MAX_FILTERS;
use super::regularizer::{no_responses, pairs, split, square};
use super::sweep::{Lanes, Position, Responses, STRIP};
use super::vector::{DOUBLE_SLOPE, Real};
use super::{FilterBank, FilterRegularizer, TwoRoots};
use crate::model::dispatch;

/// The work of a subgradient, and of a rough one, in units of one gradient; measured.
const COSTS: [f64; 2] = [2.25, 1.05];

impl FilterRegularizer {
    /// Adds `weight` times the sum of all `$C_k^T(\varphi_k'(t_k) - \delta_k)$` to `out`, for
    /// `$\delta_0$` = `data`.
    pub(super) fn subgradient<const P: usize, const PAIR: usize>(
        &self,
        data: f64,
        weight: f64,
        at: &SubgradientPoint<'_>,
        out: &mut [f64],
    ) -> Subgradient {
        let sums = if at.is_rough {
            self.add_slopes::<f32, P, PAIR>(data, weight, at, out)
        } else {
            self.add_slopes::<f64, P, PAIR>(data, weight, at, out)
        };
        self.with_rounding(weight, at, sums)
    }

    /// Does the same, and returns the sums of `$\langle\delta, w\rangle$` and of `$|w|^2$`.
    fn add_slopes<T: Real, const P: usize, const PAIR: usize>(
        &self,
        data: f64,
        weight: f64,
        at: &SubgradientPoint<'_>,
        out: &mut [f64],
    ) -> [f64; 2] {
        let bank = &*self.bank;
        let mut constants = [Constants::<T>::of(TwoRoots::convex(0.0, 1.0), 0.0); MAX_FILTERS];
        for (constants, potential) in constants.iter_mut().zip(&bank.potentials) {
            *constants = Constants::of(*potential, weight);
        }
        let [mut mixed, mut moved] = [no_responses::<T, P>(T::default()); 2];
        let mut slopes = no_responses::<T, 1>(T::default());
        let mut sums = [0.0; 2];
        let kernel = |position: Position, responses: &mut [Responses<T>; PAIR]| {
            let [of_x, of_shift] = split::<T, P, PAIR>(responses);
            let lanes = dispatch(Slopes {
                bank,
                data: T::from_f64(data),
                constants: &constants,
                of_x,
                of_shift,
                mixed: &mut mixed,
                moved: &mut moved,
                slopes: &mut slopes[0],
            });
            for (sum, lanes) in sums.iter_mut().zip(&lanes) {
                *sum += lanes[..position.count]
                    .iter()
                    .map(|x| x.to_f64())
                    .sum::<f64>();
            }
        };
        let pictures = pairs::<P, PAIR>(at.x, at.shift);
        self.sweep().add::<T, PAIR>(pictures, out, kernel);
        sums
    }

    /// Bounds the rounding errors in double precision.
    ///
    /// The computed `$w$` counts as exact, since every `$w$` is allowed. Then only the numbers
    /// `$t$` and `$t - w$` have errors, at most `of_x` and a share of `$w$`. Each changes a slope
    /// of `$\psi$` by at most its largest curvature times itself, and the slack by that times
    /// `$|w|$`. The slopes are as accurate as those of a gradient. For complex pictures the
    /// products of single parts may be negative, but a partial sum exceeds the sum of whole
    /// products by at most one part, which the factor 8 covers.
    fn with_rounding(
        &self,
        weight: f64,
        at: &SubgradientPoint<'_>,
        [products, squares]: [f64; 2],
    ) -> Subgradient {
        let bank = &*self.bank;
        let unit = UNIT_ROUNDOFF * weight;
        let largest = |p: &TwoRoots| p.largest_curvature() + p.weak_convexity();
        let steepest = bank.potentials.iter().map(largest).fold(0.0, f64::max);
        let norms = norm(&bank.norms);
        let (x, shift) = (norm(at.x), 1.0001 * squares.sqrt());
        let of_x = (bank.roundings() * bank.size() as f64 * norms + bank.norm_squared.sqrt()) * x;
        let of_differences =
            2.0 * self.slope_roundings(x, DOUBLE_SLOPE) + steepest * (of_x + 8.0 * shift);
        let terms = (bank.potentials.len() * self.grid.len()) as f64 + 64.0;
        let of_products = terms * products + weight * (of_differences + steepest * of_x) * shift;
        let sum = self.gradient_roundings(x, DOUBLE_SLOPE)
            + bank.norm_squared.sqrt() * of_differences
            + self.roundings_back() * norms * steepest * shift;
        Subgradient {
            slack: products + UNIT_ROUNDOFF * of_products,
            rounding: unit * sum,
            cost: COSTS[usize::from(at.is_rough)],
        }
    }
}

/// The constants of a potential.
#[derive(Clone, Copy, Debug)]
struct Constants<T: Real> {
    slope: T::Slope,
    weak_convexity: T,
    /// `$\nu/\alpha$`, or zero.
    ratio: T,
}

impl<T: Real> Constants<T> {
    fn of(p: TwoRoots, weight: f64) -> Self {
        let alpha = weight * p.alpha;
        Self {
            slope: T::slope(weight, p),
            weak_convexity: T::from_f64(weight * p.weak_convexity()),
            ratio: T::from_f64(if alpha > 0.0 { p.nu / alpha } else { 0.0 }),
        }
    }
}

/// Replaces the responses of `$x$` by the numbers whose transposed transform is
/// `$\sum_kC_k^T(\varphi_k'(t_k) - \delta_k)$`. Returns sums of `$\langle\delta, w\rangle$` and of
/// `$|w|^2$`.
struct Slopes<'a, T: Real, const P: usize> {
    bank: &'a FilterBank,
    data: T,
    constants: &'a [Constants<T>],
    of_x: &'a mut [Responses<T>; P],
    of_shift: &'a mut [Responses<T>; P],
    mixed: &'a mut [Responses<T>; P],
    moved: &'a mut [Responses<T>; P],
    slopes: &'a mut Responses<T>,
}

impl<T: Real, const P: usize> WithSimd for Slopes<'_, T, P> {
    type Output = [Lanes<T>; 2];

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> [Lanes<T>; 2] {
        let (bank, constants) = (self.bank, self.constants);
        bank.visit(
            simd,
            self.of_x,
            self.mixed,
            #[inline(always)]
            |k, t| {
                [self.slopes[k + 1], self.moved[0][k + 1]] = slopes_and_weights(constants[k], &t);
            },
        );
        // The first memory that is free.
        let factors = match &bank.mixing {
            Some(mixing) => {
                mixing.diagonal(simd, &mut self.moved[0], &mut self.of_x[0]);
                &mut self.of_x[0]
            }
            None => &mut self.moved[0],
        };
        let num_filters = bank.basis.num_filters();
        let (data, count) = (self.data, T::from_f64(num_filters as f64));
        for weight in factors[1..num_filters].as_flattened_mut() {
            *weight = T::from_f64(1.0) / (data + count * *weight);
        }
        for part in &mut *self.of_shift {
            let numbers = part[1..num_filters].as_flattened_mut();
            for (number, factor) in numbers.iter_mut().zip(factors[1..].as_flattened()) {
                *number = *number * *factor;
            }
        }
        let mut sums = [[T::default(); STRIP]; 2];
        let here = match &bank.mixing {
            Some(_) => &mut *self.mixed,
            None => &mut *self.of_x,
        };
        bank.visit(
            simd,
            self.of_shift,
            self.moved,
            #[inline(always)]
            |k, w| {
                let t = here.each_mut().map(|part| &mut part[k + 1]);
                difference(constants[k], &self.slopes[k + 1], t, w, &mut sums);
            },
        );
        bank.transpose(simd, self.of_x, self.mixed);
        sums
    }
}

/// Returns the slopes and the weights of a potential at the responses `$t$`.
#[inline(always)]
fn slopes_and_weights<T: Real, const P: usize>(
    constants: Constants<T>,
    t: &[&mut Lanes<T>; P],
) -> [Lanes<T>; 2] {
    let [mut slopes, mut weights] = [[T::default(); STRIP]; 2];
    for lane in 0..STRIP {
        let [first, second] = T::terms_at(&constants.slope, square(t, lane));
        slopes[lane] = first - second;
        weights[lane] = first * first * constants.ratio + constants.weak_convexity;
    }
    [slopes, weights]
}

/// Replaces responses `$t$`, where the slopes are `here`, by `$\varphi'(t) - \delta$`, and adds
/// `$\langle\delta, w\rangle$` and `$|w|^2$` to the sums.
#[inline(always)]
fn difference<T: Real, const P: usize>(
    constants: Constants<T>,
    here: &Lanes<T>,
    t: [&mut Lanes<T>; P],
    w: [&mut Lanes<T>; P],
    sums: &mut [Lanes<T>; 2],
) {
    let mut kept = [[T::default(); STRIP]; P];
    for lane in 0..STRIP {
        let mut square = T::default();
        for (t, w) in t.iter().zip(&w) {
            let moved = t[lane] - w[lane];
            square += moved * moved;
        }
        let there = T::slope_at(&constants.slope, square);
        for ((kept, t), w) in kept.iter_mut().zip(&t).zip(&w) {
            let (t, w) = (t[lane], w[lane]);
            kept[lane] = there * (t - w) - constants.weak_convexity * w;
            sums[0][lane] += (here[lane] * t - kept[lane]) * w;
            sums[1][lane] += w * w;
        }
    }
    for (t, kept) in t.into_iter().zip(kept) {
        *t = kept;
    }
}

#[cfg(test)]
mod tests {
    use lowlevel::{Subgradient, SubgradientPoint};
    use proptest::prelude::*;

    use crate::filters::FilterRegularizer;
    use crate::filters::tests::{any_bank, numbers, response};
    use crate::{Regularizer, RegularizerHessian};

    const DATA: f64 = 0.6;
    const WEIGHT: f64 = 0.7;

    fn subgradient(
        filters: &FilterRegularizer,
        (x, shift): (&[f64], &[f64]),
        is_rough: bool,
    ) -> (Vec<f64>, Subgradient) {
        let mut out = vec![0.0; x.len()];
        let at = SubgradientPoint { x, shift, is_rough };
        let found = filters.add_subgradient(DATA, WEIGHT, &at, &mut out);
        (out, found.expect("offered"))
    }

    fn inner(a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).map(|(a, b)| a * b).sum()
    }

    /// `$\langle u, r\rangle$` and `$B$` by their definition.
    fn by_definition(filters: &FilterRegularizer, [x, shift, u]: [&[f64]; 3]) -> [f64; 2] {
        let (grid, bank) = (filters.grid, filters.bank());
        let (size, (rows, cols)) = (bank.size(), grid.rows_and_cols());
        let count = bank.basis.num_filters();
        let basis: Vec<Vec<f64>> = (0..count).map(|v| bank.basis.taps(v).collect()).collect();
        let taps = bank.taps();
        let mixing = |k: usize, v: usize| inner(&taps[k], &basis[v]);
        let mut sums = [0.0; 2];
        for at in (0..rows).flat_map(|row| (0..cols).map(move |col| (row, col))) {
            let parts = |taps: &[f64], picture: &[f64]| -> Vec<f64> {
                let parts = 0..grid.num_parts();
                parts
                    .map(|part| response(taps, size, grid, picture, part, at))
                    .collect()
            };
            let mut weights = vec![0.0; count];
            for (k, p) in bank.potentials().iter().enumerate() {
                let t = parts(&taps[k], x);
                let weight = p.alpha * p.nu / (inner(&t, &t) + p.nu * p.nu) + p.weak_convexity();
                for (v, sum) in weights.iter_mut().enumerate().skip(1) {
                    *sum += mixing(k, v).powi(2) * WEIGHT * weight;
                }
            }
            let of_shift: Vec<Vec<f64>> = (0..count).map(|v| parts(&basis[v], shift)).collect();
            for (k, p) in bank.potentials().iter().enumerate() {
                let (t, of_u) = (parts(&taps[k], x), parts(&taps[k], u));
                let w: Vec<f64> = (0..t.len())
                    .map(|part| {
                        let term = |v: usize| {
                            mixing(k, v) * of_shift[v][part] / (DATA + count as f64 * weights[v])
                        };
                        (1..count).map(term).sum()
                    })
                    .collect();
                let slope = |t: &[f64], m: f64| -> Vec<f64> {
                    let modulus = inner(t, t).sqrt();
                    let factor = p.alpha / modulus.hypot(p.nu) - p.beta / modulus.hypot(p.omega);
                    t.iter().map(|t| WEIGHT * (factor + m) * t).collect()
                };
                let m = p.weak_convexity();
                let moved: Vec<f64> = t.iter().zip(&w).map(|(t, w)| t - w).collect();
                let ends = [slope(&t, m), slope(&moved, m)];
                let delta: Vec<f64> = ends[0].iter().zip(&ends[1]).map(|(a, b)| a - b).collect();
                sums[0] += inner(&of_u, &slope(&t, 0.0)) - inner(&of_u, &delta);
                sums[1] += inner(&delta, &w);
            }
        }
        sums
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn subgradients_follow_their_definition(
            filters in any_bank(), size in -4.0..1.0_f64, seed: u64,
        ) {
            let [x, mut shift, u] = [1, 2, 3].map(|k| numbers(filters.dim(), seed ^ k));
            shift.iter_mut().for_each(|shift| *shift *= 10_f64.powf(size));
            let [product, slack] = by_definition(&filters, [&x, &shift, &u]);
            for (is_rough, tolerance) in [(false, 1e-10), (true, 1e-4)] {
                let (r, found) = subgradient(&filters, (&x, &shift), is_rough);
                let scale = lowlevel::norm(&u) * (1.0 + lowlevel::norm(&r));
                prop_assert!((inner(&u, &r) - product).abs() <= tolerance * scale);
                let scale = 1.0 + lowlevel::norm(&shift) * lowlevel::norm(&shift) + slack;
                // A bound on the rounding error is added.
                let tolerance = 100.0 * tolerance;
                prop_assert!((found.slack - slack).abs() <= tolerance * scale);
            }
        }

        /// The inequality that defines an approximate subgradient, at points near and far.
        #[test]
        fn subgradients_bound_the_regulariser(
            filters in any_bank(), size in -4.0..1.0_f64, seed: u64,
        ) {
            let [x, mut shift, step] = [1, 2, 3].map(|k| numbers(filters.dim(), seed ^ k));
            shift.iter_mut().for_each(|shift| *shift *= 10_f64.powf(size));
            let (r, found) = subgradient(&filters, (&x, &shift), false);
            let value = WEIGHT * filters.value(&x);
            for length in [-1.0, -0.03, -1e-3, 1e-4, 0.01, 0.3, 10.0] {
                let step: Vec<f64> = step.iter().map(|step| length * step).collect();
                let y: Vec<f64> = x.iter().zip(&step).map(|(x, step)| x + step).collect();
                let quadratic = 0.5 * WEIGHT * filters.weak_convexity() * inner(&step, &step);
                let bound = value + inner(&r, &step) - quadratic - found.slack;
                let found = WEIGHT * filters.value(&y);
                prop_assert!(found >= bound - 1e-12 * (1.0 + value.abs()), "{found} {bound}");
            }
        }
    }
}
