//! The paper's lower-level problems as objectives for [`lowlevel`].

mod circulant;
mod complex_line;
mod curvature_bound;
mod denoising;
mod denoising_hessian;
mod denoising_image;
mod histogram;
mod image;
mod image_hessian;
mod image_row;
mod inverse_root;
mod line;
mod line_gap;
mod line_hessian;
mod line_newton;
mod linearisation;
mod mixed;
mod operator_slope;
mod opponent;
mod opponent_hessian;
mod partition;
mod picture;
mod picture_bound;
mod picture_hessian;
mod picture_newton;
mod picture_weights;
mod sampling;
mod sampling_hessian;
mod sampling_newton;
mod simd;
mod third_derivative;
mod tv_ball;
mod update_kernel;
mod variational;
mod variational_hessian;

pub use denoising::{Denoising, DenoisingScratch};
pub(crate) use histogram::Histogram;
pub(crate) use inverse_root::InverseRoot;
pub use mixed::{MixedBound, TvMixed};
pub use operator_slope::OperatorSlope;
pub use opponent::{Opponent, OpponentParts, OpponentScratch, OpponentTv, OpponentTvParameters};
pub use picture::{FourierPicture, FourierPictureScratch};
pub use sampling::{FourierSampling, FourierSamplingScratch};
pub(crate) use simd::{dispatch, vectorize};
pub(crate) use third_derivative::RootBall;
pub(crate) use tv_ball::tv_third_order;
pub use variational::{Variational, VariationalScratch};

use lowlevel::{Curvature, UNIT_ROUNDOFF};

use crate::error::{ModelError, check_not_negative, check_smoothing, check_weight};
use crate::grid::Grid;
use crate::operator::Spectrum;
use crate::regularizer::Regularizer;

/// The parameters of a reconstruction by smoothed total variation, with the regulariser
/// `$\alpha \operatorname{TV}_\nu(x) + \frac{\xi}{2}\|x\|^2$`.
///
/// These values from the paper's experiments are good first choices for signals and images with
/// values in `$[0, 1]$`:
///
/// | task | `alpha` | `nu` | `xi` |
/// |---|---|---|---|
/// | box functions in 1D with noise 0.1, `alpha` learned | 0.48 | 1e-3 | 1e-3 |
/// | photographs with noise 0.1, all learned | 0.07 | 3e-3 to 1e-2 | 1e-3 to 4e-3 |
/// | box functions from noisy frequencies, set by hand | 0.01 | 0.01 | 1e-4 |
///
/// The number of iterations grows like `$\sqrt{\alpha/(\nu\mu)}$`. The strong convexity `$\mu$` is
/// `$1 + \xi$` for denoising, and little more than `$\xi$` if data are missing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TvParameters {
    /// The weight `$\alpha \ge 0$` of the total variation.
    pub alpha: f64,
    /// The smoothing `$\nu > 0$`. The penalty on differences is nearly quadratic well below
    /// `$\nu$`, and nearly linear well above.
    pub nu: f64,
    /// The weight `$\xi \ge 0$` of the quadratic term. It makes the problem strongly convex if the
    /// data do not.
    pub xi: f64,
}

impl TvParameters {
    fn check(self) -> Result<(), ModelError> {
        check_weight("alpha", self.alpha)?;
        check_smoothing("nu", self.nu)?;
        check_not_negative("xi", self.xi)
    }

    /// The gradient `$(1 + \xi)x - y$` of the data term and the quadratic term.
    #[inline(always)]
    fn misfit(self, x: f64, data: f64) -> f64 {
        (1.0 + self.xi) * x - data
    }
}

/// The share of the weak convexity of a regulariser that is subtracted from the smallest eigenvalue
/// of the data term, which gives a typical smallest eigenvalue of Hessians near the minimiser.
const TYPICAL_WEAKNESS: f64 = 0.5;

/// The paper's equation for the constants: `$L = \|A^*SA\| + \alpha L_R + \xi$` and
/// `$\mu = \lambda_{\min}(A^*SA) - \alpha m_R + \xi$`, where `$L_R$`, the Lipschitz constant of the
/// regulariser's gradient, is `$\|\partial\|^2/\nu$` for the total variation, and `$m_R$` is its
/// weak convexity.
fn curvature(
    data: Spectrum,
    alpha: f64,
    regularizer: &dyn Regularizer,
    xi: f64,
) -> Result<Curvature, ModelError> {
    let [smoothness, weakness] = if alpha == 0.0 {
        [0.0; 2] // also if a constant of the regulariser is infinite
    } else {
        [regularizer.lipschitz(), regularizer.weak_convexity()].map(|constant| alpha * constant)
    };
    let least = data.min + xi - weakness;
    let typical = data.min + xi - TYPICAL_WEAKNESS * weakness;
    Ok(Curvature::new(least, data.max + smoothness + xi)?.with_typical(typical))
}

/// Returns the derivatives of the condition number `$L/\mu$` with respect to `$\alpha$`, `$\nu$`
/// and `$\xi$`. `norm_squared` is the bound on `$\|\partial\|^2$` in `$L$`.
fn condition_gradient(curvature: Curvature, at: TvParameters, norm_squared: f64) -> TvMixed {
    let (mu, lipschitz) = (curvature.strong_convexity(), curvature.lipschitz());
    let TvParameters { alpha, nu, .. } = at;
    TvMixed {
        alpha: norm_squared / (nu * mu),
        nu: -alpha * norm_squared / (nu * nu * mu),
        xi: (1.0 - lipschitz / mu) / mu,
    }
}

/// The numbers that determine the rounding error of the gradient of
/// `$\frac12\|Ax-y\|_S^2 + \alpha R(x) + \frac{\xi}{2}\|x\|^2$`.
///
/// The data term `$A^*S(Ax-y)$` applies an operator twice, each time with an error of `roundings`
/// units relative to `$\|A\|$`, and makes a few elementwise operations. The regulariser states its
/// own error. Adding the three terms rounds twice more.
#[derive(Clone, Copy, Debug)]
struct Rounding {
    operator_norm: f64,
    largest_weight: f64,
    roundings: f64,
    data_norm: f64,
    xi: f64,
}

impl Rounding {
    /// Bounds the rounding error. `regularizer` is the error of the regulariser's gradient in unit
    /// roundoffs, times `$\alpha$`.
    fn bound(&self, x_norm: f64, gradient_norm: f64, regularizer: f64) -> f64 {
        let misfit = self.operator_norm * x_norm + self.data_norm;
        let data =
            (2.0 * self.roundings + 10.0) * self.largest_weight * self.operator_norm * misfit;
        UNIT_ROUNDOFF * (data + regularizer + 6.0 * self.xi * x_norm + 2.0 * gradient_norm)
    }

    /// Bounds the rounding error of `$A^*SAv + \xi v$`, and of four additions to each of its
    /// entries, in unit roundoffs relative to `$\|v\|$`.
    fn quadratic(&self) -> f64 {
        let data = self.largest_weight * self.operator_norm * self.operator_norm;
        (2.0 * self.roundings + 14.0) * data + 10.0 * self.xi
    }
}

/// Checks that the grid has samples.
fn check_grid(grid: Grid) -> Result<(), ModelError> {
    if grid.is_empty() {
        Err(ModelError::EmptyGrid)
    } else {
        Ok(())
    }
}
