//! Second derivatives of reconstructions from Fourier samples, `$H = F^*SF + \xi I + D^TWD$`, and
//! mixed derivatives. [`sampling_newton`](super::sampling_newton) solves the linear systems.

use lowlevel::{
    SecondOrder, SecondOrderCosts, StronglyConvex, ThirdOrder, UNIT_ROUNDOFF, norm, norm_squared,
};

use super::TvParameters;
use super::circulant::count;
use super::curvature_bound::LocalCurvature;
use super::mixed::{MixedBound, MixedNorms, MixedSums, TvMixed, lane_sum};
use super::sampling::{FourierSampling, FourierSamplingScratch};
use super::simd::vectorize;
use super::third_derivative::{Geometry, TvBall};
use crate::grid::Field;
use crate::operator::{from_complex, to_complex};

impl SecondOrder<FourierSamplingScratch> for FourierSampling<'_> {
    fn linearise(&self, x: &[f64], scratch: &mut FourierSamplingScratch) {
        let model = self.primal_dual();
        vectorize(
            #[inline(always)]
            || {
                model.linearise_hessian(x, &mut scratch.newton);
                scratch.newton.moduli(&mut scratch.moduli);
            },
        );
    }

    fn hessian_product(&self, v: &[f64], out: &mut [f64], scratch: &mut FourierSamplingScratch) {
        let FourierSamplingScratch {
            fourier,
            fluxes,
            newton,
            ..
        } = scratch;
        to_complex(Field::Complex, v, &mut fourier.samples);
        self.fourier.transform().forward(fourier);
        for (sample, &weight) in fourier.samples.iter_mut().zip(&self.weights) {
            *sample *= weight;
        }
        self.fourier.transform().inverse(fourier);
        from_complex(Field::Complex, &fourier.samples, 1.0, out);
        vectorize(
            #[inline(always)]
            || {
                let (pairs, _) = fluxes.as_chunks_mut::<2>();
                newton.weigh(v, pairs);
                pairs[self.weights.len()] = [0.0, 0.0];
                let flows = fluxes.iter().zip(&fluxes[2..]);
                for ((out, v), (here, next)) in out.iter_mut().zip(v).zip(flows) {
                    *out += self.parameters.xi * v + (here - next);
                }
            },
        );
    }

    /// The data term `$F^*SFv$` makes two transforms, each with `$R$` roundings, and a product. The
    /// weight `$W_j$` is computed without cancellation: its entries have relative errors of at most
    /// `$12u$`, and the matrix of their moduli has the norm `$\alpha/\sigma_j$`. With the
    /// difference, the product and the sum, a flux has an error of at most
    /// `$16u\frac{\alpha}{\nu}|(Dv)_j|$`. The sum of all terms contributes at most `$3uL\|v\|$`.
    fn product_rounding(&self, v_norm: f64) -> f64 {
        let data = (2.0 * self.rounding.roundings + 8.0) * self.rounding.largest_weight;
        let others = 20.0 * self.curvature().lipschitz();
        UNIT_ROUNDOFF * (data + others) * v_norm
    }

    fn solve(
        &self,
        rhs: &[f64],
        q: &mut [f64],
        target: f64,
        scratch: &mut FourierSamplingScratch,
    ) -> Option<f64> {
        let FourierSamplingScratch {
            circulant,
            newton,
            fourier,
            ..
        } = scratch;
        let model = self.primal_dual();
        Some(model.solve_hessian(rhs, q, target, circulant, newton, fourier))
    }

    fn third_order(
        &self,
        q: &[f64],
        error: f64,
        scratch: &mut FourierSamplingScratch,
    ) -> ThirdOrder {
        let ball = self.ball(error);
        vectorize(
            #[inline(always)]
            || {
                for (square, v) in scratch.changes.iter_mut().zip(differences(q)) {
                    *square = v[0] * v[0] + v[1] * v[1];
                }
                ball.third_order(&scratch.moduli, &scratch.changes)
            },
        )
    }

    /// The cost of a product and of the bounds, measured on 64 samples in gradients. The local
    /// curvature, which only the bound of a gradient needs, is not counted.
    fn costs(&self) -> SecondOrderCosts {
        SecondOrderCosts {
            linearise: 1.1,
            product: 0.9,
            bounds: 2.7,
            newton: None,
        }
    }

    fn curvature_near(&self, error: f64, scratch: &mut FourierSamplingScratch) -> Option<f64> {
        let is_finite = scratch.moduli.iter().all(|modulus| modulus.is_finite());
        if !(is_finite && (0.0..f64::INFINITY).contains(&error)) {
            return None;
        }
        let strong_convexity = self.curvature.strong_convexity();
        let model = LocalCurvature {
            transform: self.fourier.transform(),
            weights: &self.weights,
            parameters: self.parameters,
            strong_convexity,
            gradient_error: 0.0,
        };
        let FourierSamplingScratch {
            circulant,
            curvature,
            fourier,
            moduli,
            ..
        } = scratch;
        let least = model.smallest_eigenvalue(moduli, error, circulant, curvature, fourier);
        (least > strong_convexity).then_some(least)
    }
}

impl FourierSampling<'_> {
    const fn ball(&self, error: f64) -> TvBall {
        let TvParameters { alpha, nu, .. } = self.parameters;
        TvBall {
            alpha,
            nu,
            geometry: Geometry::COMPLEX_LINE,
            error,
        }
    }

    /// Overwrites `out` with the products of `q` with the derivatives of the gradient at `x` with
    /// respect to the weights, `$\operatorname{Re}\overline{(Fq)_k}\,(Fx - y)_k$`, one per
    /// frequency.
    ///
    /// # Panics
    /// If a length is not that of the grid.
    pub fn weight_products(
        &self,
        x: &[f64],
        q: &[f64],
        out: &mut [f64],
        scratch: &mut FourierSamplingScratch,
    ) {
        self.check_lens(x, q, out.len());
        self.transform_both(x, q, scratch);
        let per_sample = 1.0 / count(self.weights.len());
        let samples = scratch.fourier.samples.iter();
        for (out, (misfit, q)) in out.iter_mut().zip(samples.zip(scratch.newton.vector())) {
            *out = (misfit.re * q.re + misfit.im * q.im) * per_sample;
        }
    }

    /// Overwrites `out` with bounds on the derivatives of the gradient with respect to the weights
    /// in a ball of radius `error` around `x`, and on the change of their products with `q`.
    ///
    /// The derivative with respect to `$s_k$` is the vector `$F^*e_k(Fx - y)_k$`, whose norm is
    /// `$|(Fx - y)_k|$`. So its norm grows by at most the radius `$\varepsilon$`, and its product
    /// with `$q$` changes by at most `$|(Fq)_k|\,\varepsilon$`.
    ///
    /// # Panics
    /// If a length is not that of the grid.
    pub fn weight_bounds(
        &self,
        x: &[f64],
        q: &[f64],
        error: f64,
        out: &mut [MixedBound],
        scratch: &mut FourierSamplingScratch,
    ) {
        self.check_lens(x, q, out.len());
        self.transform_both(x, q, scratch);
        let (x_norm, q_norm) = (norm(x), norm(q));
        let up = 1.0 + 16.0 * UNIT_ROUNDOFF;
        let roundings = (self.rounding.roundings + 8.0) * UNIT_ROUNDOFF;
        let q_rounding = roundings * q_norm;
        let misfit_rounding = roundings * (x_norm + self.rounding.data_norm);
        let per_root = self.fourier.transform().unitary_scale();
        let samples = scratch.fourier.samples.iter();
        for (out, (misfit, q)) in out.iter_mut().zip(samples.zip(scratch.newton.vector())) {
            let q = q.norm() * per_root * up + q_rounding;
            let misfit = misfit.norm() * per_root * up + misfit_rounding;
            let rounding = q * misfit_rounding + misfit * (q_rounding + 8.0 * UNIT_ROUNDOFF * q);
            *out = if error >= 0.0 {
                MixedBound::new((q * error + rounding) * up, (misfit + error) * up)
            } else {
                MixedBound::UNKNOWN
            };
        }
    }

    /// Returns the products of `q` with the derivatives of the gradient at `x` with respect to
    /// `$\alpha$`, `$\nu$` and `$\xi$`.
    ///
    /// # Panics
    /// If a length is not that of the grid.
    #[must_use]
    pub fn tv_mixed_products(
        &self,
        x: &[f64],
        q: &[f64],
        scratch: &mut FourierSamplingScratch,
    ) -> TvMixed {
        self.check_lens(x, q, self.weights.len());
        let TvParameters { alpha, nu, .. } = self.parameters;
        let num_samples = self.weights.len();
        vectorize(
            #[inline(always)]
            || {
                let (first, second) = scratch.fluxes.split_at_mut(num_samples);
                let terms = first.iter_mut().zip(second.iter_mut());
                let both = differences(x).zip(differences(q));
                for ((d, v), (first, second)) in both.zip(terms) {
                    let inverse = 1.0 / (d[0] * d[0] + d[1] * d[1] + nu * nu).sqrt();
                    *first = (d[0] * v[0] + d[1] * v[1]) * inverse;
                    *second = *first * (inverse * inverse);
                }
                let sums = [lane_sum(first), lane_sum(&second[..num_samples])];
                let terms = scratch.fluxes.iter_mut().zip(x.iter().zip(q));
                for (term, (x, q)) in terms {
                    *term = x * q;
                }
                TvMixed {
                    alpha: sums[0],
                    nu: -alpha * nu * sums[1],
                    xi: lane_sum(&scratch.fluxes[..2 * num_samples]),
                }
            },
        )
    }

    /// Bounds the derivatives of the gradient with respect to `$\alpha$`, `$\nu$` and `$\xi$` in a
    /// ball of radius `error` around `x`, and the change of their products with `q`.
    ///
    /// # Panics
    /// If a length is not that of the grid.
    #[must_use]
    pub fn tv_mixed_bounds(
        &self,
        x: &[f64],
        q: &[f64],
        error: f64,
        scratch: &mut FourierSamplingScratch,
    ) -> [MixedBound; 3] {
        self.check_lens(x, q, self.weights.len());
        let TvParameters { alpha, nu, .. } = self.parameters;
        let mut sums = MixedSums::new(self.ball(error));
        let mut norms = MixedNorms {
            alpha: 0.0,
            nu: 0.0,
            x: norm(x),
            q: norm(q),
        };
        vectorize(
            #[inline(always)]
            || {
                let fluxes = &mut scratch.fluxes;
                moduli(x, &mut fluxes[..self.weights.len()]);
                moduli(q, &mut scratch.changes);
                sums.add(&fluxes[..self.weights.len()], &scratch.changes);
                norms.alpha = flow_norm(x, fluxes, |square| 1.0 / (square + nu * nu).sqrt());
                norms.nu = flow_norm(x, fluxes, |square| {
                    let square = square + nu * nu;
                    alpha * nu / (square * square.sqrt())
                });
            },
        );
        sums.finish(norms, self.parameters)
    }

    fn check_lens(&self, x: &[f64], q: &[f64], num_weights: usize) {
        let lens = [x.len(), q.len(), 2 * num_weights];
        assert_eq!(lens, [self.dim(); 3], "lengths do not fit the grid");
    }

    /// Overwrites the samples of the transform with `$\sqrt N(Fx - y)$`, and the vector of Newton
    /// steps with `$\sqrt N Fq$`.
    fn transform_both(&self, x: &[f64], q: &[f64], scratch: &mut FourierSamplingScratch) {
        let FourierSamplingScratch {
            fourier, newton, ..
        } = scratch;
        to_complex(Field::Complex, q, &mut fourier.samples);
        self.fourier.transform().forward(fourier);
        newton.vector().copy_from_slice(&fourier.samples);
        self.misfit(x, fourier);
    }
}

/// Iterates over the differences of complex samples.
#[inline(always)]
fn differences(x: &[f64]) -> impl Iterator<Item = [f64; 2]> {
    let (samples, _) = x.as_chunks::<2>();
    let lefts = std::iter::once(&[0.0, 0.0]).chain(samples);
    samples
        .iter()
        .zip(lefts)
        .map(|(x, left)| [x[0] - left[0], x[1] - left[1]])
}

/// Overwrites `out` with the moduli of the differences.
#[inline(always)]
fn moduli(x: &[f64], out: &mut [f64]) {
    for (out, d) in out.iter_mut().zip(differences(x)) {
        *out = (d[0] * d[0] + d[1] * d[1]).sqrt();
    }
}

/// Returns the norm of `$D^Tw$` for `$w_j = \varphi(|d_j|^2)\,d_j$`, where `scale` is `$\varphi$`.
#[inline(always)]
fn flow_norm(x: &[f64], fluxes: &mut [f64], scale: impl Fn(f64) -> f64) -> f64 {
    let (pairs, _) = fluxes.as_chunks_mut::<2>();
    for (pair, d) in pairs.iter_mut().zip(differences(x)) {
        let scale = scale(d[0] * d[0] + d[1] * d[1]);
        *pair = d.map(|d| scale * d);
    }
    fluxes[x.len()..].fill(0.0);
    for j in 0..x.len() {
        fluxes[j] -= fluxes[j + 2];
    }
    norm_squared(&fluxes[..x.len()]).sqrt()
}
