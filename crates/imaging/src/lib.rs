//! Image reconstruction with a certified error.
//!
//! The unknown image `$x$` is reconstructed from data `$y$` as the minimiser of
//!
//! ```math
//! \Phi(x) = \frac12 \|A x - y\|_S^2 + \alpha \operatorname{TV}_\nu(x) + \frac{\xi}{2} \|x\|^2,
//! \qquad \operatorname{TV}_\nu(x) = \sum_j \sqrt{\|\widehat\nabla x(j)\|^2 + \nu^2},
//! ```
//!
//! which is `$\mu$`-strongly convex with `$L$`-Lipschitz gradient, so that [`lowlevel`] finds it to
//! a certified distance:
//!
//! ```
//! use imaging::{Denoising, Grid, Seed, TvParameters, noise, phantom, quality};
//! use lowlevel::{ErrorBound, Solver, State, Stop, StronglyConvex};
//!
//! let truth = phantom::box_function(256, Seed::new(1), 0)?;
//! let noisy = noise::gaussian(&truth, 0.1, Seed::new(1), 0)?;
//! let parameters = TvParameters { alpha: 0.5, nu: 1e-3, xi: 1e-3 };
//! let objective = Denoising::new(Grid::line(256), &noisy, parameters)?;
//!
//! let mut state = State::new(noisy.clone());
//! let target = ErrorBound::new(1e-3)?;
//! let stop = Stop::accuracy(target);
//! let solved = Solver::default().minimize(&objective, stop, &mut state, &mut objective.scratch())?;
//!
//! assert!(solved.error <= target);
//! assert!(quality::mse(state.point(), &truth)? < 0.25 * quality::mse(&noisy, &truth)?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is where
//!
//! - Samples on a [`Grid`]: signals and pictures, real or complex. [`Differences`] between
//!   neighbours.
//! - [`LinearOperator`]s: [`Identity`], unitary [`Fourier`] transform, [`Mask`], [`Convolution`];
//!   diagonal [`Weights`] `$S$`.
//! - [`Regularizer`]s: [`SmoothedTv`].
//! - Models, which are [`lowlevel::StronglyConvex`]: [`Denoising`] and [`FourierSampling`] are
//!   fast, [`Variational`] composes any operator with any regulariser. All take [`TvParameters`]
//!   `$(\alpha, \nu, \xi)$`.
//! - Data of a model: a slice, or a [`Measurement`] that is checked once for many models
//!   ([`FourierMeasurement`] for [`FourierSampling`]).
//! - Data to try it on: [`phantom`] and [`noise`], from a [`Seed`]; how good is the result:
//!   [`quality`].
//!
//! # Conventions
//!
//! Pictures are stored row by row, complex numbers interleaved. The Fourier transform is unitary,
//! frequency zero first. `$\alpha$` multiplies the total variation of a data term with factor
//! `$\frac12$`; other packages scale differently. The boundary conventions of the paper's
//! experiments are [`Differences::LINE_OF_PAPER`] and [`Differences::IMAGE_OF_PAPER`]. The models
//! are those of M. J. Ehrhardt and L. Roberts, *Inexact derivative-free optimization for bilevel
//! learning*, J. Math. Imaging Vis. 63 (2021).

mod difference;
mod error;
mod fingerprint;
mod grid;
mod measurement;
mod model;
pub mod noise;
mod operator;
pub mod phantom;
pub mod quality;
mod regularizer;
mod seed;
pub mod testing;

pub use difference::{Boundary, Differences, Direction};
pub use error::ModelError;
pub use grid::{Field, Grid, Shape};
pub use measurement::{Data, FourierMeasurement, Measurement};
pub use model::{
    Denoising, DenoisingScratch, FourierSampling, FourierSamplingScratch, TvParameters,
    Variational, VariationalScratch,
};
pub use operator::{
    Convolution, Fourier, FourierScratch, Identity, LinearOperator, Mask, Spectrum, Weights,
};
pub use regularizer::{Regularizer, SmoothedTv};
pub use seed::Seed;
