//! Solvers that minimise a smooth strongly convex function and certify how far the answer is from
//! the minimiser.
//!
//! Given a `$\mu$`-strongly convex `$\Phi : \mathbb{R}^d \to \mathbb{R}$` with `$L$`-Lipschitz
//! gradient and a target `$\varepsilon$`, a solve returns an `$x$` with
//!
//! ```math
//! \|x - x^*\|_2 \le \varepsilon, \qquad x^* = \operatorname*{arg\,min}_{x \in C} \Phi(x),
//! ```
//!
//! where `$C$` is the whole space or a convex set. The solve proves this bound and returns it with
//! the answer. The bound includes rounding errors.
//!
//! ```
//! use lowlevel::{ErrorBound, Outcome, Solver, State, Stop, testing::NesterovQuadratic};
//!
//! let quadratic = NesterovQuadratic::new(10, 1.0, 100.0);
//! let mut state = State::new(vec![10.0; 10]);
//!
//! // Compute a rough answer ...
//! let rough = Stop::accuracy(ErrorBound::new(1e-2)?);
//! let solved = Solver::default().minimize(&quadratic, rough, &mut state, &mut ())?;
//! assert_eq!(solved.outcome, Outcome::Converged);
//!
//! // ... and refine it later, without starting over.
//! let precise = Stop::accuracy(ErrorBound::new(1e-9)?);
//! let solved = Solver::default().refine(&quadratic, precise, &mut state, &mut ())?;
//!
//! let minimizer = quadratic.minimizer();
//! let differences = state.point().iter().zip(&minimizer).map(|(a, b)| a - b);
//! let error = lowlevel::norm(&differences.collect::<Vec<_>>());
//! assert!(error <= solved.error.value() && solved.error.value() <= 1e-9);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Overview
//!
//! - **Objective.** [`StronglyConvex`] is the function to minimise, with its [`Curvature`]
//!   `$(\mu, L)$`. [`FnObjective`] makes one from closures. A function may offer [`NewtonSteps`].
//! - **Solver.** [`Solver`] combines a [`Method`] (by default the fastest known for the function)
//!   and a [`Domain`], the set to minimise over.
//! - **Stopping.** [`Stop`] is a target [`ErrorBound`] with its [`Certificate`], or a number of
//!   iterations.
//! - **State.** [`State`] holds the start, the memory of the iteration and the answer, and resumes
//!   a solve. A [`Checkpoint`] is a stored state: either all of it except for the gradient, or only
//!   a start, which takes a quarter of the memory.
//! - **Derivatives.** How does a loss of the minimiser change with the parameters of the function?
//!   A function with second derivatives ([`SecondOrder`], [`FnObjective::with_hessian`]) has an
//!   adjoint ([`solve_adjoint`]), and with it the derivatives for any number of parameters, and an
//!   interval that contains the loss ([`corrected_value`]). [`hypergradient`] does all of this in
//!   one call. The module [`adjoint`] derives the bounds.
//! - **Result.** [`Solved`] reports the certified error, the work and the [`Outcome`]. A missed
//!   target is reported there; [`Solved::reached`] turns it into an error.
//!
//! # What a certificate relies on
//!
//! A certificate relies on properties that the objective declares: the constants `$\mu$` and `$L$`,
//! and a bound on the rounding error of its gradient
//! ([`gradient_rounding`](StronglyConvex::gradient_rounding)). For the models in the crate
//! `imaging` they are proved. Other functions have a default bound that holds for gradients with
//! few terms; a fit to data needs [`with_rounding`](FnObjective::with_rounding). Check your
//! gradient with [`testing::gradient_deviation`]. The bounds of an adjoint also rely on the Hessian
//! product, its rounding error and a bound on third derivatives, which
//! [`testing::hessian_deviation`] and [`testing::third_order_violation`] check.
//!
//! # Conventions
//!
//! Errors are Euclidean distances, never squared. [`Solved`] counts iterations, gradients, and all
//! work in units of one gradient. FISTA evaluates one gradient per iteration, or two as in the
//! paper's experiments ([`Certify`]). Over the whole space, a solve from a new start evaluates one
//! more gradient, which certifies the start.
//!
//! The module [`certificate`] derives the error bounds. Gradient descent, FISTA and their bounds
//! are those of M. J. Ehrhardt and L. Roberts, *Inexact derivative-free optimization for bilevel
//! learning*, J. Math. Imaging Vis. 63 (2021).
//!
//! # Features
//!
//! `serde`: saves and loads a [`State`] or a [`Checkpoint`], bit for bit.

/// Tests the example of the crate's README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub mod adjoint;
mod buffer;
pub mod certificate;
mod checkpoint;
mod correction;
mod domain;
mod error;
mod evaluator;
mod iteration;
mod memory;
mod method;
mod metric;
mod newton;
mod norm;
mod objective;
#[cfg(feature = "serde")]
mod saved;
mod second_order;
mod solve;
mod state;
mod stop;
mod subgradient;
pub mod testing;
mod update;

pub use adjoint::{
    Adjoint, AdjointOutcome, AdjointState, AdjointStop, Hypergradient, HypergradientState,
    InverseForm, LossAt, LossRounding, MixedBound, ValueInterval, adjoint_error, corrected_value,
    hessian_slope, hypergradient, inverse_form, solve_adjoint,
};
pub use certificate::{Certificate, ErrorBound, rate_bound};
pub use checkpoint::{Checkpoint, CompactStart};
pub use domain::Domain;
pub use error::{CurvatureError, InvalidErrorBound, SolveError, Unreached};
pub use method::{Certify, Method, Step};
pub use newton::{NewtonPoint, NewtonRun, NewtonSteps};
pub use norm::{UNIT_ROUNDOFF, norm, norm_squared};
pub use objective::{Curvature, FnObjective, StronglyConvex};
pub use second_order::{
    MetricCosts, NewtonRange, SecondOrder, SecondOrderCosts, Subgradient, SubgradientPoint,
    ThirdOrder, TwiceDifferentiable,
};
pub use solve::Solver;
pub use state::State;
pub use stop::{Observer, Outcome, Progress, Solved, Stop};
pub use update::Update;
