//! Second derivatives of denoising.

use lowlevel::{SecondOrder, StronglyConvex, ThirdOrder, UNIT_ROUNDOFF};

use super::denoising::{Denoising, DenoisingScratch};
use super::image_hessian::ImageHessian;
use super::mixed::{MixedBound, TvMixed};
use super::simd::dispatch;
use super::tv_ball::TvTerm;
use crate::regularizer::RegularizerHessian;

/// The time of a Hessian product of an image, in iterations of FISTA. Measured as the quotient of
/// the smallest times: 0.8, 0.5 and 0.9 on pictures with 64, 256 and 1024 rows and columns.
const IMAGE_PRODUCT_COST: f64 = 0.8;

/// Second derivatives for images. For lines, [`second_order`](StronglyConvex::second_order) returns
/// `None`.
impl SecondOrder<DenoisingScratch> for Denoising<'_> {
    fn linearise(&self, x: &[f64], scratch: &mut DenoisingScratch) {
        let (_, at) = scratch.image();
        let (alpha, xi) = (self.parameters.alpha, self.parameters.xi);
        at.linearise(&self.tv, x);
        let least = self.curvature.strong_convexity();
        at.set_preconditioner(&self.tv, alpha, least, self.dim(), |diagonal| {
            diagonal.fill(1.0 + xi);
        });
    }

    fn hessian_product(&self, v: &[f64], out: &mut [f64], scratch: &mut DenoisingScratch) {
        let (fluxes, at) = scratch.image();
        dispatch(ImageHessian {
            parameters: self.parameters,
            cols: self.grid.rows_and_cols().1,
            at: self.tv.stored(at.memory()),
            v,
            out,
            fluxes: fluxes.for_hessian(),
        });
    }

    /// The quadratic terms have two roundings, the sum of all terms one more.
    fn product_rounding(&self, v_norm: f64) -> f64 {
        let tv = self.parameters.alpha * self.tv.product_rounding();
        UNIT_ROUNDOFF * (tv + 4.0 * (1.0 + self.parameters.xi)) * v_norm
    }

    fn product_cost(&self) -> f64 {
        IMAGE_PRODUCT_COST
    }

    fn precondition(&self, r: &[f64], out: &mut [f64], scratch: &mut DenoisingScratch) {
        scratch.image().1.precondition(r, out);
    }

    fn third_order(&self, q: &[f64], error: f64, scratch: &mut DenoisingScratch) -> ThirdOrder {
        let (_, at) = scratch.image();
        scaled(
            self.tv.third_order(q, error, at.memory_mut()),
            self.parameters.alpha,
        )
    }
}

/// Multiplies bounds of a regulariser by its weight.
pub(super) fn scaled(bounds: ThirdOrder, weight: f64) -> ThirdOrder {
    if weight == 0.0 {
        return ThirdOrder::ZERO;
    }
    // The product may be rounded down.
    let weight = weight * (1.0 + 4.0 * UNIT_ROUNDOFF);
    ThirdOrder {
        vector: weight * bounds.vector,
        value: weight * bounds.value,
    }
}

impl Denoising<'_> {
    /// Returns the mixed derivatives at `x`, seen from `q`. Afterwards `scratch` holds the Hessian
    /// at `x`.
    ///
    /// # Panics
    /// If the grid is a line, or if `scratch` belongs to another grid.
    #[must_use]
    pub fn tv_mixed_products(
        &self,
        x: &[f64],
        q: &[f64],
        scratch: &mut DenoisingScratch,
    ) -> TvMixed {
        let (_, at) = scratch.image();
        at.linearise(&self.tv, x);
        self.term().products(x, q, at.memory())
    }

    /// Bounds how much the mixed derivatives change in a ball of radius `error` around `x`, for
    /// `$\alpha$`, `$\nu$` and `$\xi$`. Afterwards `scratch` holds the Hessian at `x`.
    ///
    /// # Panics
    /// If the grid is a line, or if `scratch` belongs to another grid.
    #[must_use]
    pub fn tv_mixed_bounds(
        &self,
        x: &[f64],
        q: &[f64],
        error: f64,
        scratch: &mut DenoisingScratch,
    ) -> [MixedBound; 3] {
        let (_, at) = scratch.image();
        at.linearise(&self.tv, x);
        self.term().bounds(x, q, error, at.memory_mut())
    }

    const fn term(&self) -> TvTerm<'_> {
        TvTerm {
            tv: &self.tv,
            alpha: self.parameters.alpha,
            xi: self.parameters.xi,
        }
    }
}
