//! The kernel of 1D denoising: makes the update and computes the gradient, with the differences
//! [`Differences::LINE_OF_PAPER`](crate::Differences).

use lowlevel::norm_squared;
use pulp::{Simd, WithSimd};

use super::TvParameters;
use super::inverse_root::InverseRoot;
use super::update_kernel::Samples;

/// Overwrites `gradient` with `$(1 + \xi)x_j - y_j + w_j - w_{j+1}$`, where
/// `$w_j = \alpha d_j/\sqrt{d_j^2 + \nu^2}$`, `$d_j = x_j - x_{j-1}$`, `$x_{-1} = 0$` and
/// `$w_N = 0$`, and returns its squared norm.
#[derive(Debug)]
pub(super) struct LineGradient<'a> {
    pub(super) parameters: TvParameters,
    pub(super) data: &'a [f64],
    pub(super) x: Samples<'a>,
    pub(super) gradient: &'a mut [f64],
    /// Memory for the `$N + 1$` numbers of `$w$`.
    pub(super) fluxes: &'a mut [f64],
}

impl WithSimd for LineGradient<'_> {
    type Output = f64;

    /// Runs plain loops, which the compiler vectorises for the machine at hand.
    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> f64 {
        let Self {
            parameters,
            data,
            mut x,
            gradient,
            fluxes,
        } = self;
        let len = data.len();
        assert_eq!(fluxes.len(), len + 1, "the scratch belongs to another grid");
        x.apply_update(gradient);
        let x = x.values();
        fluxes[0] = parameters.line_flux(x[0], 0.0);
        let middle = 1 + (len - 1) / 2;
        let (left_half, right_half) = fluxes[1..].split_at_mut(middle - 1);
        flux_halves(
            parameters,
            &x[1..middle],
            x,
            left_half,
            &x[middle..],
            &x[middle - 1..],
            right_half,
        );
        if (len - 1) % 2 == 1 {
            fluxes[len - 1] = parameters.line_flux(x[len - 1], x[len - 2]);
        }
        fluxes[len] = 0.0;
        entries(parameters, x, data, fluxes, &fluxes[1..], gradient);
        norm_squared(gradient)
    }
}

/// Computes the fluxes into the samples of two blocks from their left neighbours. The first block
/// uses a square root and a division, the second [`InverseRoot`], so that both parts of the
/// processor are busy. Both blocks have the length of `x`.
#[inline(always)]
fn flux_halves(
    parameters: TvParameters,
    x: &[f64],
    left: &[f64],
    fluxes: &mut [f64],
    other: &[f64],
    other_left: &[f64],
    other_fluxes: &mut [f64],
) {
    let len = x.len();
    let (left, fluxes) = (&left[..len], &mut fluxes[..len]);
    let (other, other_left, other_fluxes) =
        (&other[..len], &other_left[..len], &mut other_fluxes[..len]);
    let inverse = InverseRoot::new(parameters.alpha);
    let nu_squared = parameters.nu * parameters.nu;
    for j in 0..len {
        let d = other[j] - other_left[j];
        other_fluxes[j] = d * inverse.at(d * d + nu_squared);
        fluxes[j] = parameters.line_flux(x[j], left[j]);
    }
}

/// Computes the gradient at the samples `x` from the fluxes on both sides.
#[inline(always)]
fn entries(
    parameters: TvParameters,
    x: &[f64],
    data: &[f64],
    left: &[f64],
    right: &[f64],
    gradient: &mut [f64],
) {
    let flows = left.iter().zip(right);
    for (((gradient, x), data), (left, right)) in gradient.iter_mut().zip(x).zip(data).zip(flows) {
        *gradient = parameters.misfit(*x, *data) + (left - right);
    }
}

impl TvParameters {
    /// The flux `$\alpha d/\sqrt{d^2 + \nu^2}$` for the difference `$d$` of `x` and `left`.
    #[inline(always)]
    fn line_flux(self, x: f64, left: f64) -> f64 {
        let d = x - left;
        self.alpha * d / (d * d + self.nu * self.nu).sqrt()
    }
}
