//! Minimise a smooth strongly convex function to a *certified* distance from its minimiser.
//!
//! For a `$\mu$`-strongly convex `$\Phi : \mathbb{R}^d \to \mathbb{R}$` with `$L$`-Lipschitz
//! gradient, find `$x$` with
//!
//! ```math
//! \|x - x^*\|_2 \le \varepsilon, \qquad x^* = \operatorname*{arg\,min}_{x \in C} \Phi(x),
//! ```
//!
//! over the whole space or a convex set `$C$`, and know it: the error comes back with the answer,
//! rounding included.
//!
//! ```
//! use lowlevel::{ErrorBound, Outcome, Solver, State, Stop, testing::NesterovQuadratic};
//!
//! let quadratic = NesterovQuadratic::new(10, 1.0, 100.0);
//! let mut state = State::new(vec![10.0; 10]);
//!
//! // A rough answer ...
//! let rough = Stop::accuracy(ErrorBound::new(1e-2)?);
//! let solved = Solver::default().minimize(&quadratic, rough, &mut state, &mut ())?;
//! assert_eq!(solved.outcome, Outcome::Converged);
//!
//! // ... made precise later, without starting over.
//! let precise = Stop::accuracy(ErrorBound::new(1e-9)?);
//! let solved = Solver::default().refine(&quadratic, precise, &mut state, &mut ())?;
//!
//! let distance = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
//! let error = distance(state.point(), &quadratic.minimizer());
//! assert!(error <= solved.error.value() && solved.error.value() <= 1e-9);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is where
//!
//! - The function: [`StronglyConvex`], its [`Curvature`] `$(\mu, L)$`, [`FnObjective`] for
//!   closures, [`NewtonSteps`] if it offers them.
//! - How to minimise: [`Solver`] with a [`Method`] (by default the fastest known for the function)
//!   and a [`Domain`].
//! - When to stop: [`Stop`], a target [`ErrorBound`] with its [`Certificate`], or a number of
//!   iterations.
//! - Where it stands: [`State`] is warm start, memory, answer and resume token in one. A
//!   [`Checkpoint`] is all of it, or a start in a fourth of the memory.
//! - What came out: [`Solved`], with the [`Outcome`]. A missed target is reported there;
//!   [`Solved::reached`] turns it into an error.
//!
//! # What a certificate rests on
//!
//! Its objective: the constants `$\mu$` and `$L$`, and a bound on the rounding error of its
//! gradient ([`gradient_rounding`](StronglyConvex::gradient_rounding)). The models of the crate
//! `imaging` prove theirs. For a function of your own there is a default that holds for gradients
//! of few terms; a fit to data needs [`with_rounding`](FnObjective::with_rounding). Check your
//! gradient with [`testing::gradient_deviation`].
//!
//! # Conventions
//!
//! Errors are Euclidean distances, never squared. Iterations, gradients and all work in gradients
//! ([`Solved::work`]) are counted apart: FISTA evaluates one gradient per iteration, or two the way
//! the paper's experiments did ([`Certify`]). Over the whole space one more certifies the start.
//! Where the error bounds come from is derived in [`certificate`]. The methods are those of M. J.
//! Ehrhardt and L. Roberts, *Inexact derivative-free optimization for bilevel learning*, J. Math.
//! Imaging Vis. 63 (2021).
//!
//! # Features
//!
//! `serde`: a [`State`] can be saved and loaded, bit for
//! bit, and so can a [`Checkpoint`].

mod buffer;
pub mod certificate;
mod checkpoint;
mod domain;
mod error;
mod evaluator;
mod iteration;
mod memory;
mod method;
mod newton;
mod norm;
mod objective;
#[cfg(feature = "serde")]
mod saved;
mod solve;
mod state;
mod stop;
pub mod testing;
mod update;

pub use certificate::{Certificate, ErrorBound, rate_bound};
pub use checkpoint::{Checkpoint, CompactStart};
pub use domain::Domain;
pub use error::{CurvatureError, InvalidErrorBound, SolveError, Unreached};
pub use method::{Certify, Method, Step};
pub use newton::{NewtonPoint, NewtonRun, NewtonSteps};
pub use norm::{UNIT_ROUNDOFF, norm, norm_squared};
pub use objective::{Curvature, FnObjective, StronglyConvex};
pub use solve::Solver;
pub use state::State;
pub use stop::{Observer, Outcome, Progress, Solved, Stop};
pub use update::Update;
