//! Image reconstruction with a certified error.
//!
//! The unknown image `$x$` is reconstructed from data `$y$` as the minimiser of
//!
//! ```math
//! \Phi(x) = \frac12 \|A x - y\|_S^2 + \alpha \operatorname{TV}_\nu(x) + \frac{\xi}{2} \|x\|^2,
//! \qquad \operatorname{TV}_\nu(x) = \sum_j \sqrt{\|\widehat\nabla x(j)\|^2 + \nu^2},
//! ```
//!
//! where `$A$` is a linear operator, `$S$` a diagonal matrix of weights, and `$\widehat\nabla$`
//! takes differences of neighbouring samples. `$\Phi$` is strongly convex with a Lipschitz
//! gradient, so the solvers of [`lowlevel`] find the minimiser to a certified error:
//!
//! ```
//! use imaging::{ErrorBound, Grid, Seed, TvParameters, denoise_tv, noise, phantom, quality};
//!
//! let truth = phantom::dead_leaves(64, 64, Seed::new(1), 0)?;
//! let noisy = noise::gaussian(&truth, 0.1, Seed::new(1), 0)?;
//!
//! let parameters = TvParameters { alpha: 0.1, nu: 5e-3, xi: 1e-3 };
//! let denoised = denoise_tv(Grid::image(64, 64), &noisy, parameters, ErrorBound::new(1e-3)?)?;
//!
//! assert!(denoised.solved.error.value() <= 1e-3);
//! assert!(quality::mse(&denoised.x, &truth)? < 0.5 * quality::mse(&noisy, &truth)?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Overview
//!
//! - **One call.** [`denoise`] and [`denoise_colour`] denoise a picture with filters that come with
//!   the crate. [`denoise_tv`] denoises a signal, a picture or a volume with total variation.
//! - **Models.** [`Denoising`] and [`FourierSampling`] have fast kernels. [`Variational`] combines
//!   any operator with any regulariser. All are objectives ([`lowlevel::StronglyConvex`]) for a
//!   [`lowlevel::Solver`]. With total variation, the parameters are `$\alpha$`, `$\nu$` and
//!   `$\xi$` ([`TvParameters`]).
//! - **Operators.** [`LinearOperator`] is implemented by [`Identity`], [`Fourier`], [`Mask`],
//!   [`Convolution`] and [`Blur`], the blur of a camera by a [`Kernel`]. [`Weights`] are the
//!   diagonal of `$S$`.
//! - **Regularisers.** [`Regularizer`] is implemented by [`SmoothedTv`], whose [`Differences`] have
//!   a direction and a boundary, and by [`FilterRegularizer`], a [`FilterBank`] on a grid.
//! - **Data.** A [`Grid`] describes the samples of a signal, picture or volume. The data of a model
//!   are a slice, or a [`Measurement`] (for [`FourierSampling`] a [`FourierMeasurement`]), which is
//!   checked once for many models. A [`Window`] is an image as a part of a larger one.
//! - **Test data.** [`phantom`] and [`noise`] create images and noise from a [`Seed`]. A
//!   [`Patch`] is a part of a picture. [`quality`] computes the mean squared error, PSNR and SSIM.
//!
//! # Conventions
//!
//! Pictures are stored row by row, and complex numbers as interleaved real and imaginary parts. The
//! Fourier transform is unitary, with frequency zero first. The data term has the factor
//! `$\frac12$`; packages without it need twice our `$\alpha$`. The boundary conventions of the
//! paper's experiments are [`Differences::LINE_OF_PAPER`] and [`Differences::IMAGE_OF_PAPER`]. The
//! models are those of M. J. Ehrhardt and L. Roberts, *Inexact derivative-free optimization for
//! bilevel learning*, J. Math. Imaging Vis. 63 (2021).

/// Tests the examples of the crate's README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub mod colour;
mod denoise;
mod denoise_tv;
mod difference;
mod error;
mod filters;
mod fingerprint;
mod grid;
mod kernel;
mod measurement;
mod model;
pub mod noise;
mod operator;
mod patch;
pub mod phantom;
pub mod quality;
mod regularizer;
mod seed;
pub mod testing;
mod tiles;
mod window;

pub use denoise::{
    DENOISING_ERROR, DenoiseError, Denoised, DenoisedColour, LargeColour, denoise,
    denoise_by_tiles, denoise_colour, denoise_colour_by_tiles, denoising_bank,
};
pub use denoise_tv::denoise_tv;
pub use difference::{Boundary, Differences, Direction};
pub use error::ModelError;
pub use filters::{FilterBank, FilterRegularizer, FreePotential, LimitedBank, TwoRoots};
pub use grid::{Field, Grid, Shape};
pub use kernel::{Kernel, KernelNameError, KernelShape, KernelSlope, VariableKernel};
pub use lowlevel::ErrorBound;
pub use measurement::{Data, FourierMeasurement, Measurement};
pub use model::{
    Denoising, DenoisingScratch, FourierPicture, FourierPictureScratch, FourierSampling,
    FourierSamplingScratch, MixedBound, OperatorSlope, Opponent, OpponentParts, OpponentScratch,
    OpponentTv, OpponentTvParameters, TvMixed, TvParameters, Variational, VariationalScratch,
};
pub use operator::{
    Blur, BlurBoundary, BlurScratch, CoilFourier, Convolution, Fourier, FourierScratch, Identity,
    LinearOperator, Mask, Spectrum, Weights, blurred,
};
pub use patch::Patch;
pub use regularizer::{Regularizer, RegularizerHessian, SmoothedTv};
pub use seed::Seed;
pub use tiles::{
    ForEach, LocalModel, Region, RegionData, RegionGradient, RegionMinimiser, Tiled, TilesError,
    Tiling, minimise_by_tiles,
};
pub use window::Window;
