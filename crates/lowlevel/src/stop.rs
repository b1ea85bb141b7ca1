//! When a solve ends, and what it achieved.

use std::fmt;
use std::ops::ControlFlow;

use crate::certificate::{Certificate, ErrorBound};
use crate::error::Unreached;

/// When to stop.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Stop {
    /// As soon as the error is certified to be at most `target`.
    Accuracy {
        /// The error wanted.
        target: ErrorBound,
        /// What proves it.
        certificate: Certificate,
        /// Gives up after so many iterations of this call; the answer then says what was achieved.
        max_iterations: Option<u64>,
    },
    /// After exactly so many further iterations, at the iterate `$x^k$`; the error reached is
    /// reported. None leaves the point where it is. Once an iteration changes nothing, later ones
    /// are only counted.
    Iterations(u64),
}

impl Stop {
    /// As soon as the gradient certifies `target`.
    #[must_use]
    pub const fn accuracy(target: ErrorBound) -> Self {
        Self::Accuracy {
            target,
            certificate: Certificate::Gradient,
            max_iterations: None,
        }
    }

    /// The same, but gives up after so many iterations; a fixed number of iterations stays as it
    /// is.
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

/// What a solve achieved; the answer itself is in its [`State`](crate::State).
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use = "the target may not have been reached"]
#[non_exhaustive]
pub struct Solved {
    /// Certified distance of the answer from the minimiser.
    pub error: ErrorBound,
    /// Why the solve ended.
    pub outcome: Outcome,
    /// Iterations made by this call.
    pub iterations: u64,
    /// Gradients evaluated by this call.
    pub gradients: u64,
    /// All work of this call in gradients: those, and Newton steps, values and sharper bounds by
    /// what they cost beside one.
    pub work: f64,
}

/// Why a solve ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// The error of the answer is certified to be at most the target of [`Stop::Accuracy`].
    Converged,
    /// The number of iterations requested by [`Stop::Iterations`] was made.
    IterationsMade,
    /// `max_iterations` were made before the target was met.
    IterationLimit,
    /// The target was not met, and cannot be: what is left of the gradient is rounding error, and
    /// that alone is too much.
    RoundingFloor,
    /// The target was not met, and iterating no longer helps: an iteration changed nothing, or the
    /// number of iterations has passed for which theory guarantees the target. Either neighbouring
    /// floating-point numbers already differ by more than the target allows, or the objective's
    /// constants are wrong.
    Stalled,
    /// The observer stopped it.
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
            Self::IterationLimit => "stopped at the iteration limit: refine it, or allow more",
            Self::RoundingFloor => "what is left is rounding error: ask for less",
            Self::Stalled => {
                "iterating no longer helps: ask for less, or check the gradient (testing::gradient_deviation) and the constants"
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

/// What an observer sees after every iteration.
#[derive(Debug)]
#[non_exhaustive]
pub struct Progress<'a> {
    /// Iterations made by this call.
    pub iterations: u64,
    /// Gradients evaluated by this call.
    pub gradients: u64,
    /// Certified error of `point`, from its gradient.
    pub error: ErrorBound,
    /// Where the solve stands.
    pub point: &'a [f64],
}

/// Watches a solve after every iteration, and ends it with [`ControlFlow::Break`].
pub type Observer<'a> = dyn FnMut(&Progress<'_>) -> ControlFlow<()> + 'a;
