//! Second derivatives of pictures from Fourier samples, `$H = A^*SA + \xi I + \alpha D^TWD$`, and
//! derivatives with respect to the weights and parameters.

use lowlevel::norm;
use lowlevel::{SecondOrder, SecondOrderCosts, StronglyConvex, ThirdOrder, UNIT_ROUNDOFF};
use num_complex::Complex;

use super::TvParameters;
use super::circulant::count;
use super::linearisation::scaled;
use super::mixed::{MixedBound, TvMixed};
use super::picture::{COST, COST_PER_ITERATION, FourierPicture, FourierPictureScratch};
use super::picture_newton::Limits;
use super::picture_weights::PictureRegularizer;
use super::tv_ball::{TvTerm, inner};

/// The largest number of iterations for one system with the Hessian; a choice. A caller can
/// continue from the result.
const MAX_ITERATIONS: usize = 400;

impl SecondOrder<FourierPictureScratch> for FourierPicture<'_> {
    fn linearise(&self, x: &[f64], scratch: &mut FourierPictureScratch) {
        let regularizer = self.regularizer.as_hessian();
        scratch.linearisation.linearise(regularizer, x);
        self.system().linearise(x, None, &mut scratch.system);
    }

    fn hessian_product(&self, v: &[f64], out: &mut [f64], scratch: &mut FourierPictureScratch) {
        self.data_term(true, v, out, &mut scratch.fourier);
        for (out, v) in out.iter_mut().zip(v) {
            *out += self.parameters.xi * v;
        }
        let memory = scratch.linearisation.memory();
        (self.regularizer.as_hessian()).add_product(self.parameters.alpha, memory, v, out);
    }

    fn product_rounding(&self, v_norm: f64) -> f64 {
        let regularizer = self.parameters.alpha * self.regularizer.as_hessian().product_rounding();
        UNIT_ROUNDOFF * (self.rounding.quadratic() + regularizer) * v_norm
    }

    /// Measured on 128 x 128 pixels, in gradients.
    fn costs(&self) -> SecondOrderCosts {
        SecondOrderCosts {
            linearise: 1.0,
            product: 1.0,
            bounds: 1.0,
            newton: None,
        }
    }

    fn solve(
        &self,
        rhs: &[f64],
        q: &mut [f64],
        target: f64,
        scratch: &mut FourierPictureScratch,
    ) -> Option<f64> {
        let (model, own) = (self.system(), &mut scratch.system);
        model.start_at(rhs, q, own, &mut scratch.fourier);
        let limits = Limits {
            residual: target,
            relative: 0.0,
            largest: f64::INFINITY,
            max_iterations: MAX_ITERATIONS,
        };
        let (iterations, _) = model.solve(limits, own, &mut scratch.fourier);
        if iterations > 0 {
            model.solution(own, q, &mut scratch.fourier);
        }
        Some(COST + COST_PER_ITERATION * count(iterations))
    }

    fn third_order(
        &self,
        q: &[f64],
        error: f64,
        scratch: &mut FourierPictureScratch,
    ) -> ThirdOrder {
        let memory = scratch.linearisation.memory_mut();
        let bounds = (self.regularizer.as_hessian()).third_order(q, error, memory);
        scaled(bounds, self.parameters.alpha)
    }
}

impl FourierPicture<'_> {
    /// Calls `visit(k, misfit, q)` with `$(FC_cx - y_c)_k$` and `$(FC_cq)_k$` for every frequency
    /// of every coil.
    fn for_each_frequency(
        &self,
        x: &[f64],
        q: &[f64],
        scratch: &mut FourierPictureScratch,
        mut visit: impl FnMut(usize, Complex<f64>, Complex<f64>),
    ) {
        let scale = self.fourier.transform().unitary_scale();
        for coil in self.coils() {
            let FourierPictureScratch {
                fourier, system, ..
            } = scratch;
            self.transform(coil, q, fourier);
            system.solution.copy_from_slice(&fourier.samples);
            self.transform(coil, x, fourier);
            let known = fourier.samples.iter().zip(coil.1).zip(&system.solution);
            for (k, ((sample, data), q)) in known.enumerate() {
                visit(k, (sample - data) * scale, q * scale);
            }
        }
    }

    /// Overwrites `out` with the products of `q` with the derivatives of the gradient at `x` with
    /// respect to the weights, `$\sum_c\operatorname{Re}\overline{(FC_cq)_k}\,(FC_cx - y_c)_k$`,
    /// one per frequency.
    ///
    /// # Panics
    /// If a length is not that of the grid.
    pub fn weight_products(
        &self,
        x: &[f64],
        q: &[f64],
        out: &mut [f64],
        scratch: &mut FourierPictureScratch,
    ) {
        self.check_lens(x, q, out.len());
        out.fill(0.0);
        self.for_each_frequency(x, q, scratch, |k, misfit, q| {
            out[k] += misfit.re * q.re + misfit.im * q.im;
        });
    }

    /// Overwrites `out` with bounds on the derivatives of the gradient with respect to the weights
    /// in a ball of radius `error` around `x`, and on the change of their products with `q`.
    ///
    /// The derivative with respect to `$s_k$` is `$\sum_cC_c^*F^*e_k(FC_cx - y_c)_k$`. With `$A_k =
    /// (e_k^*FC_c)_c$`, whose norm is at most `$\max\sum_c|C_c|^2$`'s root `$a$`, its norm is at
    /// most `$a(\|(FC_cx - y_c)_k\|_c + a\varepsilon)$`, and its product with `$q$` changes by at
    /// most `$\|(FC_cq)_k\|_c\,a\varepsilon$`.
    ///
    /// # Panics
    /// If a length is not that of the grid.
    pub fn weight_bounds(
        &self,
        x: &[f64],
        q: &[f64],
        error: f64,
        out: &mut [MixedBound],
        scratch: &mut FourierPictureScratch,
    ) {
        self.check_lens(x, q, out.len());
        // The squared norms over the coils, gathered in the entries of the bounds.
        out.fill(MixedBound {
            change: 0.0,
            norm: 0.0,
        });
        self.for_each_frequency(x, q, scratch, |k, misfit, q| {
            out[k].change += q.norm_sqr();
            out[k].norm += misfit.norm_sqr();
        });
        let coils = count(self.fourier.num_coils());
        let up = 1.0 + (coils + 16.0) * UNIT_ROUNDOFF;
        let size = self.rounding.operator_norm;
        let roundings = (self.rounding.roundings + 8.0) * UNIT_ROUNDOFF;
        let q_rounding = roundings * size * norm(q);
        let misfit_rounding = roundings * (size * norm(x) + self.rounding.data_norm);
        let terms = (coils + 8.0) * UNIT_ROUNDOFF;
        for out in out {
            let q = out.change.sqrt() * up + q_rounding;
            let misfit = out.norm.sqrt() * up + misfit_rounding;
            let rounding = q * misfit_rounding + misfit * (q_rounding + terms * q);
            *out = if error >= 0.0 {
                MixedBound::new(
                    (q * size * error + rounding) * up,
                    size * (misfit + size * error) * up,
                )
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
    pub fn mixed_products(
        &self,
        x: &[f64],
        q: &[f64],
        scratch: &mut FourierPictureScratch,
    ) -> TvMixed {
        self.check_lens(x, q, self.weights.len());
        let TvParameters { alpha, xi, .. } = self.parameters;
        match &self.regularizer {
            PictureRegularizer::Tv(tv) => {
                scratch.linearisation.linearise(tv, x);
                let term = TvTerm { tv, alpha, xi };
                term.products(x, q, scratch.linearisation.memory())
            }
            PictureRegularizer::Filters(filters) => {
                let relative = self.regularizer.weights();
                let mut products = vec![0.0; filters.potentials().len()];
                let by_nu = filters.root_products(x, q, &mut products);
                let by_alpha = relative.zip(&products).map(|(r, product)| r * product);
                TvMixed {
                    alpha: by_alpha.sum(),
                    nu: alpha * by_nu,
                    xi: inner(x, q),
                }
            }
        }
    }

    /// Returns the products of `q` with the derivatives of the gradient at `x` with respect to the
    /// relative weights of all filters. There are none without
    /// [`with_filters`](Self::with_filters).
    ///
    /// # Panics
    /// If a length is not that of the grid.
    #[must_use]
    pub fn filter_products(&self, x: &[f64], q: &[f64]) -> Vec<f64> {
        self.check_lens(x, q, self.weights.len());
        let PictureRegularizer::Filters(filters) = &self.regularizer else {
            return Vec::new();
        };
        let mut products = vec![0.0; filters.potentials().len()];
        filters.root_products(x, q, &mut products);
        for product in &mut products {
            *product *= self.parameters.alpha;
        }
        products
    }

    fn check_lens(&self, x: &[f64], q: &[f64], num_weights: usize) {
        let lens = [x.len(), q.len(), 2 * num_weights];
        assert_eq!(lens, [self.dim(); 3], "lengths do not fit the grid");
    }
}
