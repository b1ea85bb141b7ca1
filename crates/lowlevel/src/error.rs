//! What can go wrong, one type per situation.

use thiserror::Error;

use crate::method::Method;
use crate::stop::Solved;

/// The constants of a function do not describe a smooth strongly convex function.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum CurvatureError {
    /// The strong convexity constant is zero, negative, infinite or NaN.
    #[error(
        "strong_convexity is {found}, but must be positive and finite: add a term such as xi/2 |x|^2"
    )]
    NotStronglyConvex {
        /// The constant that was given.
        found: f64,
    },
    /// The Lipschitz constant of the gradient is infinite, NaN or below the strong convexity
    /// constant.
    #[error(
        "lipschitz is {lipschitz}, but must be finite and at least strong_convexity = {strong_convexity}"
    )]
    LipschitzTooSmall {
        /// The Lipschitz constant that was given.
        lipschitz: f64,
        /// The strong convexity constant that was given with it.
        strong_convexity: f64,
    },
}

/// A number that cannot bound a distance.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[error("an error bound is {found}, but must be zero or positive")]
pub struct InvalidErrorBound {
    /// The number that was given.
    pub found: f64,
}

/// A solve that could not start or could not go on.
///
/// Missing the target is not an error: [`Solved`](crate::Solved) then says what was achieved.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum SolveError {
    /// The start has another length than the function's argument.
    #[error("state has {found} entries, but the objective has dimension {expected}")]
    WrongLength {
        /// Dimension of the objective.
        expected: usize,
        /// Length of the state.
        found: usize,
    },
    /// An entry of the start is NaN or infinite.
    #[error("entry {index} of the start is not a finite number")]
    NonFiniteStart {
        /// The first such entry.
        index: usize,
    },
    /// The bounds of `Domain::Between` are crossed or NaN.
    #[error(
        "Domain::Between has lower = {lower} and upper = {upper}, but lower must not be above upper"
    )]
    CrossedBounds {
        /// The lower bound.
        lower: f64,
        /// The upper bound.
        upper: f64,
    },
    /// An a-priori certificate was asked for without a bound on the initial distance.
    #[error(
        "certificate Rate needs a finite bound `initial` on the distance of the start: use Certificate::Gradient"
    )]
    UnknownInitialDistance,
    /// A method without a rate of convergence was asked for an a-priori certificate.
    #[error(
        "{method:?} has no rate of convergence to certify by: use Certificate::Gradient, or Method::FISTA"
    )]
    NoRate {
        /// The method.
        method: Method,
    },
    /// Newton steps were asked for where there are none.
    #[error(
        "Method::Newton needs an objective with Newton steps, over the whole space: use Method::Auto"
    )]
    NoNewtonSteps,
    /// The objective returned a gradient that is NaN or infinite.
    #[error(
        "the gradient is not finite after {iterations} iterations: check the objective and its Lipschitz constant"
    )]
    NonFiniteGradient {
        /// Iterations made by this call before it happened.
        iterations: u64,
    },
    /// The projection returned a point that is NaN or infinite.
    #[error(
        "the projection returned a point that is not finite after {iterations} iterations: check the closure of Domain::Convex"
    )]
    NonFiniteProjection {
        /// Iterations made by this call before it happened.
        iterations: u64,
    },
}

/// The target of a solve was not reached; the answer is in its state all the same.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[error("the target was not reached: certified error {:e}; {}", .solved.error, .solved.outcome)]
pub struct Unreached {
    /// What was achieved.
    pub solved: Solved,
}
