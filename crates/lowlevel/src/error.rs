//! Errors, one type per situation.

use thiserror::Error;

use crate::method::Method;
use crate::stop::Solved;

/// The error for curvature constants that no smooth strongly convex function has.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum CurvatureError {
    /// The strong convexity constant is zero, negative, infinite or NaN.
    #[error(
        "strong_convexity is {found}, but must be positive and finite: \
         add a term such as xi/2 |x|^2 with xi > 0 to the function"
    )]
    NotStronglyConvex {
        /// The given constant.
        found: f64,
    },
    /// The Lipschitz constant of the gradient is infinite, NaN or below the strong convexity
    /// constant.
    #[error(
        "lipschitz is {lipschitz}, but must be finite and at least \
         strong_convexity = {strong_convexity}"
    )]
    LipschitzTooSmall {
        /// The given Lipschitz constant.
        lipschitz: f64,
        /// The given strong convexity constant.
        strong_convexity: f64,
    },
}

/// The error for a number that cannot be a bound on a distance.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[error("an error bound is {found}, but must be zero or positive")]
pub struct InvalidErrorBound {
    /// The given number.
    pub found: f64,
}

/// The error of a solve that could not start or could not continue.
///
/// A missed target is not such an error: the solve then returns [`Solved`](crate::Solved) with the
/// error it has reached.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum SolveError {
    /// The length of the start is not the dimension of the objective.
    #[error("state has length {found}, but the objective has dimension {expected}")]
    WrongLength {
        /// The dimension of the objective.
        expected: usize,
        /// The length of the start.
        found: usize,
    },
    /// An entry of the start is NaN or infinite.
    #[error("entry {index} of the start is not a finite number")]
    NonFiniteStart {
        /// The index of the first such entry.
        index: usize,
    },
    /// The bounds of `Domain::Between` are crossed or NaN.
    #[error(
        "Domain::Between has lower = {lower} and upper = {upper}, \
         but lower must not exceed upper"
    )]
    CrossedBounds {
        /// The lower bound.
        lower: f64,
        /// The upper bound.
        upper: f64,
    },
    /// The a-priori certificate has no finite bound on the initial distance.
    #[error(
        "`initial` of Certificate::Rate is infinite, but must bound the distance of the start \
         from the minimiser: use Certificate::Gradient if you know no such bound"
    )]
    UnknownInitialDistance,
    /// The method has no rate of convergence, which the a-priori certificate needs.
    #[error(
        "Method::{method:?} has no rate of convergence for Certificate::Rate: \
         use Certificate::Gradient, or Method::FISTA"
    )]
    NoRate {
        /// The method.
        method: Method,
    },
    /// The objective has no Newton steps, or the domain is not the whole space.
    #[error(
        "Method::Newton needs an objective with Newton steps and Domain::Whole: use Method::Auto"
    )]
    NoNewtonSteps,
    /// The objective returned a gradient that is NaN or infinite.
    #[error(
        "the gradient is not finite after {iterations} iterations: \
         check the objective and its Lipschitz constant"
    )]
    NonFiniteGradient {
        /// The number of iterations of this call before the error.
        iterations: u64,
    },
    /// The objective has no second derivatives.
    #[error(
        "an adjoint needs second derivatives, but StronglyConvex::second_order is None: \
         implement SecondOrder, or use FnObjective::with_hessian"
    )]
    NoSecondDerivatives,
    /// The loss or its gradient is NaN or infinite.
    #[error("the loss or its gradient is not finite at the minimiser: check the loss")]
    NonFiniteLoss,
    /// A Hessian product, a preconditioned vector or the result of `SecondOrder::solve` is NaN or
    /// infinite.
    #[error(
        "a Hessian product, or a solution with the Hessian, is not finite after {products} \
         products: check SecondOrder with testing::hessian_deviation"
    )]
    NonFiniteProduct {
        /// The number of products of this call before the error.
        products: u64,
    },
    /// A Hessian product is outside of the declared curvature.
    #[error(
        "a Hessian product is outside of the declared curvature: check SecondOrder with \
         testing::hessian_deviation, and the constants of Curvature"
    )]
    ContradictingProduct,
    /// A mixed product is NaN or infinite.
    #[error(
        "the mixed product of parameter {index} is not finite: check it with \
         testing::mixed_deviation"
    )]
    NonFiniteMixedProduct {
        /// The index of the first such parameter.
        index: usize,
    },
    /// The projection returned a point that is NaN or infinite.
    #[error(
        "the projection returned a point that is not finite after {iterations} iterations: \
         check the closure of Domain::Convex"
    )]
    NonFiniteProjection {
        /// The number of iterations of this call before the error.
        iterations: u64,
    },
}

/// The error of a solve that did not reach its target, returned by
/// [`Solved::reached`](crate::Solved::reached). The state still holds the answer.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[error(
    "the target was not reached (the certified error is {:e}): {}",
    .solved.error,
    .solved.outcome
)]
pub struct Unreached {
    /// The result of the solve.
    pub solved: Solved,
}
