//! Fused gradient of 1D denoising, with the differences of [`Differences::LINE_OF_PAPER`](crate::Differences).

use lowlevel::norm_squared;
use pulp::{Scalar, Simd, WithSimd};

use super::TvParameters;
use super::simd::{Samples, load, store};

/// Overwrites `gradient` with `$(1 + \xi)x_j - y_j + w_j - w_{j+1}$`, where `$w_j = \alpha d_j/\sqrt{d_j^2 + \nu^2}$`,
/// `$d_j = x_j - x_{j-1}$`, `$x_{-1} = 0$` and `$w_N = 0$`; returns its squared norm.
#[derive(Debug)]
pub(super) struct LineGradient<'a> {
    pub(super) parameters: TvParameters,
    pub(super) data: &'a [f64],
    pub(super) x: Samples<'a>,
    pub(super) gradient: &'a mut [f64],
    /// Room for `$N + 1$` numbers: `$w$`.
    pub(super) fluxes: &'a mut [f64],
}

/// Vectors between the flux and the entry of the gradient that are computed together: square roots and sums overlap, and no
/// flux is read while it is still being stored.
const LAG: usize = 4;

impl WithSimd for LineGradient<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) -> f64 {
        let (len, lanes) = (self.data.len(), S::F64_LANES);
        assert_eq!(
            self.fluxes.len(),
            len + 1,
            "the scratch belongs to another grid"
        );
        self.x.settle(0..len, self.gradient);
        self.fluxes[0] = self
            .parameters
            .line_flux(Scalar::new(), self.x.values()[0], 0.0);
        let count = (len - 1) / lanes;
        for i in 0..count {
            self.flux(simd, 1 + i * lanes);
            if i >= LAG {
                self.entry(simd, (i - LAG) * lanes);
            }
        }
        for j in 1 + count * lanes..len {
            self.flux(Scalar::new(), j);
        }
        self.fluxes[len] = 0.0;
        for i in count.saturating_sub(LAG)..len / lanes {
            self.entry(simd, i * lanes);
        }
        for j in len / lanes * lanes..len {
            self.entry(Scalar::new(), j);
        }
        norm_squared(self.gradient)
    }
}

impl LineGradient<'_> {
    /// The vector of fluxes at `$j > 0$`.
    #[inline(always)]
    fn flux<S: Simd>(&mut self, simd: S, j: usize) {
        let x = self.x.values();
        let flux = self
            .parameters
            .line_flux(simd, load::<S>(x, j), load::<S>(x, j - 1));
        store::<S>(self.fluxes, j, flux);
    }

    /// The vector of the gradient at `$j$`.
    #[inline(always)]
    fn entry<S: Simd>(&mut self, simd: S, j: usize) {
        let flow = simd.sub_f64s(load::<S>(self.fluxes, j), load::<S>(self.fluxes, j + 1));
        let misfit =
            self.parameters
                .misfit(simd, load::<S>(self.x.values(), j), load::<S>(self.data, j));
        store::<S>(self.gradient, j, simd.add_f64s(misfit, flow));
    }
}

impl TvParameters {
    /// `$\alpha d/\sqrt{d^2 + \nu^2}$`.
    #[inline(always)]
    fn line_flux<S: Simd>(self, simd: S, x: S::f64s, left: S::f64s) -> S::f64s {
        let d = simd.sub_f64s(x, left);
        let modulus = self.modulus(simd, simd.mul_f64s(d, d));
        simd.div_f64s(simd.mul_f64s(simd.splat_f64s(self.alpha), d), modulus)
    }
}
