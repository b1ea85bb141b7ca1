//! Second derivatives of denoising, and its mixed derivatives.

use lowlevel::{SecondOrder, ThirdOrder};

use super::denoising::{Denoising, DenoisingScratch};
use super::denoising_image::IMAGE_PRODUCT_COST;
use super::mixed::{MixedBound, TvMixed};

/// Second derivatives for images. For lines,
/// [`second_order`](lowlevel::StronglyConvex::second_order) returns `None`.
impl SecondOrder<DenoisingScratch> for Denoising<'_> {
    fn linearise(&self, x: &[f64], scratch: &mut DenoisingScratch) {
        self.linearise_image(x, scratch);
    }

    fn hessian_product(&self, v: &[f64], out: &mut [f64], scratch: &mut DenoisingScratch) {
        self.image_product(v, out, scratch);
    }

    fn product_rounding(&self, v_norm: f64) -> f64 {
        self.image_product_rounding(v_norm)
    }

    fn product_cost(&self) -> f64 {
        IMAGE_PRODUCT_COST
    }

    fn precondition(&self, r: &[f64], out: &mut [f64], scratch: &mut DenoisingScratch) {
        scratch.image().1.precondition(r, out);
    }

    fn third_order(&self, q: &[f64], error: f64, scratch: &mut DenoisingScratch) -> ThirdOrder {
        self.image_third_order(q, error, scratch)
    }
}

impl Denoising<'_> {
    /// Returns the products of `q` with the derivatives of the gradient at `x` with respect to
    /// `$\alpha$`, `$\nu$` and `$\xi$`. Afterwards `scratch` holds the Hessian at `x`.
    ///
    /// # Panics
    /// If the grid is a line, or a length is not that of the grid.
    #[must_use]
    pub fn tv_mixed_products(
        &self,
        x: &[f64],
        q: &[f64],
        scratch: &mut DenoisingScratch,
    ) -> TvMixed {
        self.image_mixed_products(x, q, scratch)
    }

    /// Bounds the derivatives of the gradient with respect to `$\alpha$`, `$\nu$` and `$\xi$` in a
    /// ball of radius `error` around `x`, and the change of their products with `q`. Afterwards
    /// `scratch` holds the Hessian at `x`.
    ///
    /// # Panics
    /// If the grid is a line, or a length is not that of the grid.
    #[must_use]
    pub fn tv_mixed_bounds(
        &self,
        x: &[f64],
        q: &[f64],
        error: f64,
        scratch: &mut DenoisingScratch,
    ) -> [MixedBound; 3] {
        self.image_mixed_bounds(x, q, error, scratch)
    }
}
