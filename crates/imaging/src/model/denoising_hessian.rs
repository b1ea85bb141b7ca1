//! Second derivatives of denoising, and its mixed derivatives.

use lowlevel::{SecondOrder, SecondOrderCosts, ThirdOrder};

use super::denoising::{Denoising, DenoisingScratch};
use super::denoising_image::IMAGE_COSTS;
use super::line_hessian;
use super::mixed::{MixedBound, TvMixed};
use crate::grid::Shape;

/// The times of second derivatives of a line, in iterations of FISTA. Measured on 256 samples, as
/// quotients of the smallest times. The product alone takes 0.3; the rest, which an adjoint needs
/// for the residual, its norm and checks, follows from the time of a whole adjoint (4.25). Bounds
/// take 0.8 in small balls and 6.5 in others, which are 4 % of those when three parameters are
/// learned, and the interval of the loss that follows from them takes 0.5.
const LINE_COSTS: SecondOrderCosts = SecondOrderCosts {
    linearise: 0.8,
    product: 1.4,
    bounds: 1.55,
    newton: None,
};
/// The time of a solution on a line, in iterations of FISTA. Measured in the same way.
const LINE_SOLVE_COST: f64 = 1.3;
/// The time of mixed products on a line (0.65) and of the loss before (0.25), in iterations of
/// FISTA. Measured in the same way.
const LINE_MIXED_COST: f64 = 0.9;
/// The time of mixed products of a picture, in gradients: between 1 and 3, depending on its size.
/// Volumes have the same costs: all their kernels are slower by about the same factor.
const IMAGE_MIXED_COST: f64 = 2.0;

impl SecondOrder<DenoisingScratch> for Denoising<'_> {
    fn linearise(&self, x: &[f64], scratch: &mut DenoisingScratch) {
        match self.grid.shape() {
            Shape::Line { .. } => scratch.line_hessian().linearise(self.parameters, x),
            _ => self.linearise_image(x, scratch),
        }
    }

    fn hessian_product(&self, v: &[f64], out: &mut [f64], scratch: &mut DenoisingScratch) {
        match self.grid.shape() {
            Shape::Line { .. } => scratch.line_hessian().product(self.parameters, v, out),
            Shape::Image { .. } => self.image_product(v, out, scratch),
            Shape::Volume { .. } => self.volume_product(v, out, scratch),
        }
    }

    fn product_rounding(&self, v_norm: f64) -> f64 {
        match self.grid.shape() {
            Shape::Line { .. } => {
                line_hessian::product_rounding(self.curvature.lipschitz(), v_norm)
            }
            _ => self.image_product_rounding(v_norm),
        }
    }

    fn costs(&self) -> SecondOrderCosts {
        match self.grid.shape() {
            Shape::Line { .. } => LINE_COSTS,
            _ => IMAGE_COSTS,
        }
    }

    fn is_direct(&self) -> bool {
        matches!(self.grid.shape(), Shape::Line { .. })
    }

    /// Solves the tridiagonal system of a line directly, whatever the target and the first guess.
    fn solve(
        &self,
        rhs: &[f64],
        q: &mut [f64],
        _target: f64,
        scratch: &mut DenoisingScratch,
    ) -> Option<f64> {
        match self.grid.shape() {
            Shape::Line { .. } => {
                scratch.line_hessian().solve(self.parameters, rhs, q);
                Some(LINE_SOLVE_COST)
            }
            _ => None,
        }
    }

    fn precondition(&self, r: &[f64], out: &mut [f64], scratch: &mut DenoisingScratch) {
        match self.grid.shape() {
            Shape::Line { .. } => out.copy_from_slice(r),
            _ => scratch.image().1.precondition(r, out),
        }
    }

    fn third_order(&self, q: &[f64], error: f64, scratch: &mut DenoisingScratch) -> ThirdOrder {
        match self.grid.shape() {
            Shape::Line { .. } => {
                let hessian = scratch.line_hessian();
                hessian.third_order(self.parameters, q, error)
            }
            _ => self.image_third_order(q, error, scratch),
        }
    }
}

impl Denoising<'_> {
    /// Returns the products of `q` with the derivatives of the gradient at `x` with respect to
    /// `$\alpha$`, `$\nu$` and `$\xi$`. Afterwards `scratch` holds the Hessian at `x`.
    ///
    /// # Panics
    /// If a length is not that of the grid.
    #[must_use]
    pub fn tv_mixed_products(
        &self,
        x: &[f64],
        q: &[f64],
        scratch: &mut DenoisingScratch,
    ) -> TvMixed {
        match self.grid.shape() {
            Shape::Line { .. } => {
                let hessian = scratch.line_hessian();
                hessian.mixed_products(self.parameters, x, q)
            }
            _ => self.image_mixed_products(x, q, scratch),
        }
    }

    /// Returns the cost of [`tv_mixed_products`](Self::tv_mixed_products), in gradients, if the
    /// Hessian was linearised at `x` before.
    #[must_use]
    pub const fn tv_mixed_cost(&self) -> f64 {
        match self.grid.shape() {
            Shape::Line { .. } => LINE_MIXED_COST,
            _ => IMAGE_MIXED_COST,
        }
    }

    /// Bounds the derivatives of the gradient with respect to `$\alpha$`, `$\nu$` and `$\xi$` in a
    /// ball of radius `error` around `x`, and the change of their products with `q`. Afterwards
    /// `scratch` holds the Hessian at `x`.
    ///
    /// # Panics
    /// If a length is not that of the grid.
    #[must_use]
    pub fn tv_mixed_bounds(
        &self,
        x: &[f64],
        q: &[f64],
        error: f64,
        scratch: &mut DenoisingScratch,
    ) -> [MixedBound; 3] {
        match self.grid.shape() {
            Shape::Line { .. } => {
                let hessian = scratch.line_hessian();
                hessian.mixed_bounds(self.parameters, x, q, error)
            }
            _ => self.image_mixed_bounds(x, q, error, scratch),
        }
    }
}
