//! The arithmetic of inexact least squares: what an error in the residuals means for the objective, and the reverse.
//!
//! For `$f = \|r\|^2$` with residuals `$r \in \mathbb{R}^m$` known only as `$\tilde r$` with `$\|\tilde r - r\|_2 \le \delta$`:
//!
//! ```
//! use dfo_ls::Accuracy;
//!
//! let computed = [3.0_f64, 4.0];
//! let objective: f64 = computed.iter().map(|r| r * r).sum();
//! let accuracy = Accuracy::new(0.1)?;
//!
//! // f lies between (5 - 0.1)^2 and (5 + 0.1)^2 ...
//! let interval = accuracy.objective_interval(objective);
//! assert!((interval.lower - 24.01).abs() < 1e-12 && (interval.upper - 26.01).abs() < 1e-12);
//!
//! // ... and this is how accurate the residuals must be to know f to 0.5.
//! let needed = Accuracy::for_objective_error(objective, 0.5);
//! assert!(needed.objective_error(objective) <= 0.5);
//! # Ok::<(), dfo_ls::InvalidAccuracy>(())
//! ```
//!
//! This release holds [`Accuracy`] and its conversions. They are the ground of the derivative-free solver that this crate is
//! named after, which is not part of it yet. [`testing`] holds problems on which any such solver can be measured.

mod accuracy;
pub mod testing;

pub use accuracy::{Accuracy, InvalidAccuracy, ObjectiveInterval};
