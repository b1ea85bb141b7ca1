//! Second derivatives of denoising of pictures and volumes.

use lowlevel::{SecondOrderCosts, StronglyConvex, ThirdOrder, UNIT_ROUNDOFF};

use super::TvParameters;
use super::denoising::{Denoising, DenoisingScratch};
use super::image_hessian::ImageHessian;
use super::linearisation::scaled;
use super::mixed::{MixedBound, TvMixed};
use super::simd::dispatch;
use super::tv_ball::TvTerm;
use crate::regularizer::RegularizerHessian;

/// The times of second derivatives of a picture, in iterations of FISTA. Measured on 256 x 256
/// pixels, as quotients of the smallest times. On 64 x 64 pixels they are 3.9, 1.9 and 4.9. The
/// product alone takes 0.3 to 0.6; the rest, the other operations in an iteration of conjugate
/// gradients, follows from the time of a whole adjoint.
pub(super) const IMAGE_COSTS: SecondOrderCosts = SecondOrderCosts {
    linearise: 2.0,
    product: 1.2,
    bounds: 2.4,
    newton: None,
};

/// The methods of [`SecondOrder`](lowlevel::SecondOrder) and the mixed derivatives, for pictures
/// and volumes.
impl Denoising<'_> {
    pub(super) fn linearise_image(&self, x: &[f64], scratch: &mut DenoisingScratch) {
        let (_, at) = scratch.image();
        let (alpha, xi) = (self.parameters.alpha, self.parameters.xi);
        at.linearise(&self.tv, x);
        let least = self.curvature.strong_convexity();
        at.set_preconditioner(&self.tv, alpha, least, self.dim(), |diagonal| {
            diagonal.fill(1.0 + xi);
        });
    }

    pub(super) fn image_product(&self, v: &[f64], out: &mut [f64], scratch: &mut DenoisingScratch) {
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

    pub(super) fn volume_product(
        &self,
        v: &[f64],
        out: &mut [f64],
        scratch: &mut DenoisingScratch,
    ) {
        let (_, at) = scratch.image();
        let TvParameters { alpha, xi, .. } = self.parameters;
        for (out, v) in out.iter_mut().zip(v) {
            *out = v + xi * v;
        }
        self.tv.add_product(alpha, at.memory(), v, out);
    }

    /// The quadratic terms have two roundings, the sum of all terms one more.
    pub(super) fn image_product_rounding(&self, v_norm: f64) -> f64 {
        let tv = self.parameters.alpha * self.tv.product_rounding();
        UNIT_ROUNDOFF * (tv + 4.0 * (1.0 + self.parameters.xi)) * v_norm
    }

    pub(super) fn image_third_order(
        &self,
        q: &[f64],
        error: f64,
        scratch: &mut DenoisingScratch,
    ) -> ThirdOrder {
        let (_, at) = scratch.image();
        let bounds = self.tv.third_order(q, error, at.memory_mut());
        scaled(bounds, self.parameters.alpha)
    }

    pub(super) fn image_mixed_products(
        &self,
        x: &[f64],
        q: &[f64],
        scratch: &mut DenoisingScratch,
    ) -> TvMixed {
        let (_, at) = scratch.image();
        at.linearise(&self.tv, x);
        self.term().products(x, q, at.memory())
    }

    pub(super) fn image_mixed_bounds(
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
