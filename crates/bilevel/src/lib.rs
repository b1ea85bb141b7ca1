//! How good are these parameters? The training objective of bilevel learning, with certainty.
//!
//! Reconstructions `$\tilde x_i$` of training images `$x_i$` are never exact. [`fit`] turns their certified errors into an
//! interval that certainly contains the paper's
//!
//! ```math
//! f = \frac1n \sum_{i=1}^n \|\hat x_i - x_i\|^2,
//! ```
//!
//! so that two parameters can be compared for certain, with reconstructions of just the accuracy that needs:
//!
//! ```
//! use bilevel::{Reconstruction, Scale, fit};
//! use imaging::{Denoising, Grid, Seed, TvParameters, noise, phantom};
//! use lowlevel::{ErrorBound, Solver, State, Stop, StronglyConvex};
//!
//! let seed = Seed::new(1);
//! let truths = (0..5).map(|i| phantom::box_function(256, seed, i)).collect::<Result<Vec<_>, _>>()?;
//! let noisy = (0..5).map(|i| noise::gaussian(&truths[i], 0.1, seed, i)).collect::<Result<Vec<_>, _>>()?;
//!
//! let objective_at = |alpha: f64| -> Result<dfo_ls::ObjectiveInterval, Box<dyn std::error::Error>> {
//!     let parameters = TvParameters { alpha, nu: 1e-3, xi: 1e-3 };
//!     let mut reconstructions = Vec::new();
//!     for (truth, noisy) in truths.iter().zip(&noisy) {
//!         let objective = Denoising::new(Grid::line(256), noisy, parameters)?;
//!         let mut state = State::new(noisy.clone());
//!         let stop = Stop::accuracy(ErrorBound::new(0.03)?);
//!         let solved = Solver::default().minimize(&objective, stop, &mut state, &mut objective.scratch())?;
//!         reconstructions.push(Reconstruction { x: state.into_point(), error: solved.error, truth });
//!     }
//!     Ok(fit(&reconstructions, Scale::Mean)?.objective_interval())
//! };
//!
//! // For certain, 0.5 is the better weight, although no reconstruction is better than 0.03.
//! assert!(objective_at(0.5)?.upper < objective_at(0.05)?.lower);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! This release holds the objective. Learning, which minimises it, is not part of it yet.

/// The examples of the front page are tested here.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

mod fit;

pub use fit::{Fit, FitError, Reconstruction, Scale, fit};
