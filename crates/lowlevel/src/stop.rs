//! Stopping rules, and the result of a solve.

use std::fmt;
use std::ops::ControlFlow;

use crate::certificate::{Certificate, ErrorBound};
use crate::error::Unreached;

/// The rule that ends a solve.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Stop {
    /// Stops as soon as the error is certified to be at most `target`.
    Accuracy {
        /// The largest acceptable error.
        target: ErrorBound,
        /// The kind of proof that the target is met.
        certificate: Certificate,
        /// The largest number of iterations of this call, or `None` for no limit. At the limit the
        /// solve ends with [`Outcome::IterationLimit`] and reports the error it has reached.
        max_iterations: Option<u64>,
    },
    /// Makes this number of further iterations, ends at the iterate `$x^k$`, and reports its error.
    /// Zero iterations leave the point unchanged, except that a start outside the domain is
    /// projected onto it. Once an iteration changes nothing, the remaining ones are counted without
    /// being made.
    Iterations(u64),
}

impl Stop {
    /// Stops as soon as the gradient certifies that the error is at most `target`.
    #[must_use]
    pub const fn accuracy(target: ErrorBound) -> Self {
        Self::Accuracy {
            target,
            certificate: Certificate::Gradient,
            max_iterations: None,
        }
    }

    /// Replaces the certificate of [`Stop::Accuracy`]. Returns [`Stop::Iterations`] unchanged.
    #[must_use]
    pub const fn with_certificate(self, certificate: Certificate) -> Self {
        match self {
            Self::Accuracy {
                target,
                max_iterations,
                ..
            } => Self::Accuracy {
                target,
                certificate,
                max_iterations,
            },
            Self::Iterations(_) => self,
        }
    }

    /// Adds a limit on the number of iterations to [`Stop::Accuracy`]. Returns
    /// [`Stop::Iterations`] unchanged.
    #[must_use]
    pub const fn with_max_iterations(self, limit: u64) -> Self {
        match self {
            Self::Accuracy {
                target,
                certificate,
                ..
            } => Self::Accuracy {
                target,
                certificate,
                max_iterations: Some(limit),
            },
            Self::Iterations(_) => self,
        }
    }
}

/// The result of a solve. The answer itself is in the [`State`](crate::State).
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use = "the target may not have been reached"]
#[non_exhaustive]
pub struct Solved {
    /// A proved bound on the distance of the answer from the minimiser.
    pub error: ErrorBound,
    /// The reason why the solve ended.
    pub outcome: Outcome,
    /// The number of iterations of this call.
    pub iterations: u64,
    /// The number of gradients evaluated by this call.
    pub gradients: u64,
    /// All work of this call, in units of one gradient. Newton steps, values and sharper bounds
    /// count by their cost relative to a gradient.
    pub work: f64,
}

/// The reason why a solve ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// The error of the answer is certified to be at most the target of [`Stop::Accuracy`].
    Converged,
    /// The number of iterations requested by [`Stop::Iterations`] was made.
    IterationsMade,
    /// The solve made `max_iterations` iterations without meeting the target.
    IterationLimit,
    /// The target cannot be met: the computed gradient is no larger than its rounding error, and
    /// the rounding error alone exceeds what the target allows.
    RoundingFloor,
    /// The target was not met, and further iterations do not help: an iteration changed nothing, or
    /// the solve has made as many iterations as theory needs for the target. Either neighbouring
    /// floating-point numbers already differ by more than the target allows, or the constants of
    /// the objective are wrong.
    Stalled,
    /// The observer stopped the solve.
    Stopped,
}

impl Outcome {
    /// Whether the solve did what its [`Stop`] asked for: it met the target, or made the requested
    /// number of iterations.
    #[must_use]
    pub const fn is_success(self) -> bool {
        matches!(self, Self::Converged | Self::IterationsMade)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Converged => "the target was met",
            Self::IterationsMade => "the requested iterations were made",
            Self::IterationLimit => {
                "the iteration limit was reached: refine the result, or allow more iterations"
            }
            Self::RoundingFloor => {
                "the target is below the rounding error of the gradient: choose a larger target"
            }
            Self::Stalled => {
                "iterating no longer helps: choose a larger target, or check the objective's \
                 gradient (testing::gradient_deviation) and constants"
            }
            Self::Stopped => "stopped by the observer",
        })
    }
}

impl Solved {
    /// Returns the result unchanged if the solve succeeded, and an error otherwise.
    ///
    /// # Errors
    /// [`Unreached`] if the outcome is not a success ([`Outcome::is_success`]). Its message says
    /// what to do.
    pub fn reached(self) -> Result<Self, Unreached> {
        if self.outcome.is_success() {
            Ok(self)
        } else {
            Err(Unreached { solved: self })
        }
    }
}

/// The progress of a solve, as an observer sees it after every iteration.
#[derive(Debug)]
#[non_exhaustive]
pub struct Progress<'a> {
    /// The number of iterations of this call so far.
    pub iterations: u64,
    /// The number of gradients evaluated by this call so far.
    pub gradients: u64,
    /// The certified error of `point`.
    pub error: ErrorBound,
    /// The current point.
    pub point: &'a [f64],
}

/// A function that is called after every iteration. It ends the solve by returning
/// [`ControlFlow::Break`].
pub type Observer<'a> = dyn FnMut(&Progress<'_>) -> ControlFlow<()> + 'a;
