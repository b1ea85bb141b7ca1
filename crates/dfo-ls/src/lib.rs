//! Derivative-free least squares: minimise
//!
//! ```math
//! f(\theta) = \|r(\theta)\|_2^2 + h(\theta), \qquad \theta \in C \subseteq \mathbb{R}^d,
//! ```
//!
//! where the residuals `$r(\theta) \in \mathbb{R}^m$` come from a simulation: no derivatives, every
//! evaluation expensive, and rarely exact. The solver says how accurate each evaluation has to be,
//! and asks for no more. The set `$C$` (bounds, or convex sets) and the convex function `$h$` are
//! optional.
//!
//! # Fit a curve
//!
//! An amplitude near 500 and a rate near 1e-6, a start that is off by a factor of two to three, and
//! nothing about units:
//!
//! ```
//! use dfo_ls::{FnOracle, Options, Problem, minimize};
//!
//! let times: Vec<f64> = (0..40).map(|i| 1e5 * f64::from(i)).collect();
//! let error = [2.0, -1.0, -2.0, 1.0].into_iter().cycle();
//! let data: Vec<f64> = times.iter().zip(error).map(|(t, e)| 500.0 * (-1e-6 * t).exp() + e).collect();
//!
//! let mut decay = FnOracle::new(data.len(), |theta: &[f64], residuals: &mut [f64]| {
//!     for ((r, t), y) in residuals.iter_mut().zip(&times).zip(&data) {
//!         *r = theta[0] * (-theta[1] * t).exp() - y;
//!     }
//! });
//! let report = minimize(&mut decay, Problem::new([200.0, 3e-6]), Options::default())?;
//! assert!(report.termination.is_success());
//!
//! // 500.2 +- 0.9 and 1.0006e-6 +- 0.0028e-6
//! let errors = report.standard_errors().expect("more data than parameters");
//! for (j, truth) in [500.0, 1e-6].into_iter().enumerate() {
//!     assert!((report.theta[j] - truth).abs() < 2.0 * errors[j] && errors[j] < 0.01 * truth);
//! }
//! # Ok::<(), dfo_ls::SetupError>(())
//! ```
//!
//! # A simulator with an error
//!
//! The temperature of a rod is the fixed point of an iteration, never reached, but approached with
//! a known error. The state of the iteration goes to the solver as a token, with which it can ask
//! to go on.
//!
//! ```
//! use dfo_ls::{Accuracy, AccuracyControl, EvalError, Evaluated, InexactFn, Options, Problem};
//! use dfo_ls::{Report, Request, SetupError, minimize};
//!
//! // Every place is heated, and keeps a share of the mean temperature of its neighbours.
//! let sweep = |theta: &[f64], x: &[f64]| -> Vec<f64> {
//!     let at = |j: Option<usize>| j.and_then(|j| x.get(j)).unwrap_or(&0.0);
//!     let mean = |j: usize| 0.5 * (at(j.checked_sub(1)) + at(Some(j + 1)));
//!     (0..x.len()).map(|j| theta[0] + theta[1] * mean(j)).collect()
//! };
//! let distance = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| (x - y).powi(2)).sum::<f64>().sqrt();
//! let exact = |theta: &[f64]| (0..3000).fold(vec![0.0; 30], |x, _| sweep(theta, &x));
//! let noise = [0.2, -0.1, -0.2, 0.1].into_iter().cycle();
//! let measured: Vec<f64> = exact(&[2.0, 0.98]).iter().zip(noise).map(|(x, e)| x + e).collect();
//!
//! let fit = |accuracy: AccuracyControl| -> Result<Report, SetupError> {
//!     let mut rod = InexactFn::new(30, |request: Request<'_, Vec<f64>>, residuals: &mut [f64]| {
//!         // from where a point nearby, or this one, was left
//!         let mut x = request.start.into_resume().unwrap_or_else(|| vec![0.0; 30]);
//!         let (mut work, mut error) = (0, f64::INFINITY);
//!         while !(error <= request.target.value()) && work < 5000 {
//!             let next = sweep(request.theta, &x);
//!             // a contraction, up to rounding
//!             error = request.theta[1] / (1.0 - request.theta[1]) * distance(&next, &x) + 1e-11;
//!             x = next;
//!             work += 1;
//!         }
//!         for ((r, x), y) in residuals.iter_mut().zip(&x).zip(&measured) {
//!             *r = x - y;
//!         }
//!         let achieved = Accuracy::new(error).map_err(EvalError::reject)?;
//!         Ok(Evaluated { achieved, work, resume: x })
//!     });
//!     let mut options = Options::default();
//!     options.trust_region.final_radius = 1e-3; // the data are no better than that
//!     options.accuracy = accuracy;
//!     minimize(&mut rod, Problem::new([1.0, 0.5]).with_bounds([0.0, 0.0], [10.0, 0.999])?, options)
//! };
//!
//! let report = fit(AccuracyControl::default())?;
//! assert!((report.theta[0] - 2.0).abs() < 0.01 && (report.theta[1] - 0.98).abs() < 1e-3);
//! // The true sum of squares is where the report says, although no residual was ever exact.
//! let f = distance(&exact(&report.theta), &measured).powi(2);
//! assert!(report.interval.lower <= f && f <= report.interval.upper);
//! assert!(report.interval.upper - report.interval.lower < 0.01 * f);
//! // And it took less than half of the sweeps that evaluations of a safe accuracy take.
//! let safe = fit(AccuracyControl::Fixed(Accuracy::new(1e-10)?))?;
//! assert!(2 * report.work < safe.work);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Constraints
//!
//! Bounds are never violated. A convex set is given by its projection; several sets, and bounds
//! beside them, mean the intersection. The regulariser [`L1`] makes parameters exactly zero.
//!
//! ```
//! use dfo_ls::{FnOracle, L1, Options, Problem, minimize};
//!
//! // The nearest point to (3, 1) ...
//! let mut distance = FnOracle::new(2, |theta: &[f64], residuals: &mut [f64]| {
//!     residuals.copy_from_slice(&[theta[0] - 3.0, theta[1] - 1.0]);
//! });
//! let mut nearest = |problem: Problem| minimize(&mut distance, problem, Options::default()).map(|report| report.theta);
//! let is_close = |a: &[f64], b: [f64; 2]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-6);
//!
//! // ... between bounds,
//! let theta = nearest(Problem::new([0.5, 0.5]).with_bounds([0.0, 0.0], [1.0, f64::INFINITY])?)?;
//! assert!(is_close(&theta, [1.0, 1.0]));
//!
//! // ... in a ball and between the same bounds,
//! let ball = |theta: &mut [f64]| {
//!     let length = theta[0].hypot(theta[1]).max(1.25);
//!     theta.iter_mut().for_each(|t| *t *= 1.25 / length);
//! };
//! let problem = Problem::new([0.5, 0.5]).with_bounds([0.0, 0.0], [1.0, f64::INFINITY])?;
//! let theta = nearest(problem.within(ball))?;
//! assert!(is_close(&theta, [1.0, 0.75]));
//!
//! // ... and with 3 |theta|_1 added: the second parameter is not worth it.
//! let theta = nearest(Problem::new([0.5, 0.5]).with_regularizer(L1 { weight: 3.0 }))?;
//! assert!(is_close(&theta, [1.5, 0.0]) && theta[1] == 0.0);
//! # Ok::<(), dfo_ls::SetupError>(())
//! ```
//!
//! # Your own loop
//!
//! The [`Engine`] asks and is told. It never calls you: run its jobs on threads, on a cluster,
//! tomorrow.
//!
//! ```
//! use dfo_ls::{Engine, EvalError, Evaluated, Options, Problem, Request};
//!
//! fn simulate(request: Request<'_, ()>, residuals: &mut [f64]) -> Result<Evaluated<()>, EvalError> {
//!     for (j, pair) in request.theta.windows(2).enumerate() {
//!         residuals[2 * j] = 10.0 * (pair[1] - pair[0] * pair[0]);
//!         residuals[2 * j + 1] = 1.0 - pair[0];
//!     }
//!     Ok(Evaluated::exact())
//! }
//!
//! let mut options = Options::default();
//! options.batch = 4;
//! let mut engine = Engine::new(Problem::new([0.5; 8]), 14, options)?;
//! let mut rounds = 0;
//! while !engine.ask().is_empty() {
//!     std::thread::scope(|scope| {
//!         for job in engine.ask() {
//!             scope.spawn(|| job.run(simulate));
//!         }
//!     });
//!     for iteration in engine.tell() {
//!         assert!(iteration.interval.lower <= iteration.objective);
//!     }
//!     rounds += 1;
//! }
//! let report = engine.into_report();
//! assert!(report.theta.iter().all(|t| (t - 1.0).abs() < 1e-6));
//! assert!(rounds < report.num_points);
//! # Ok::<(), dfo_ls::SetupError>(())
//! ```
//!
//! # Save and resume
//!
//! With the feature `serde`, all that an engine knows can be saved after any
//! [`tell`](Engine::tell), and continued bit for bit. Only projections and the regulariser, which
//! are code, are given again, with the problem. A run that was stopped or whose budget is spent
//! goes on after [`Engine::extend`].
//!
//! ```
//! # #[cfg(feature = "serde")] {
//! use std::ops::ControlFlow;
//!
//! use dfo_ls::{Engine, FnOracle, Options, Problem, ResidualOracle, State, drive, minimize};
//!
//! let mut rosenbrock = FnOracle::new(2, |theta: &[f64], residuals: &mut [f64]| {
//!     residuals[0] = 10.0 * (theta[1] - theta[0] * theta[0]);
//!     residuals[1] = 1.0 - theta[0];
//! });
//! let problem = || Problem::new([-1.2, 1.0]);
//! let uninterrupted = minimize(&mut rosenbrock, problem(), Options::default())?;
//!
//! let mut engine = Engine::new(problem(), 2, Options::default())?;
//! for _ in 0..10 {
//!     rosenbrock.evaluate(engine.ask());
//!     engine.tell();
//! }
//! let saved = serde_json::to_string(engine.state())?; // serde_json has the feature `float_roundtrip`
//! drop(engine);
//!
//! let state: State<()> = serde_json::from_str(&saved)?;
//! let mut engine = Engine::from_state(problem(), state)?;
//! drive(&mut engine, &mut rosenbrock, |_| ControlFlow::Continue(()));
//! let report = engine.into_report();
//! assert_eq!(report.theta, uninterrupted.theta);
//! assert_eq!(report.evaluations, uninterrupted.evaluations);
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Which options
//!
//! Make a value, then set fields:
//! `let mut options = Options::default(); options.target = Some(1e-6);`
//!
//! | residuals | [`Options`] |
//! |---|---|
//! | smooth, exact or with a known error | `Options::default()` |
//! | fits to data with errors of their own | `trust_region.final_radius` of 1e-3 to 1e-5: the rest is below the errors |
//! | random noise | `Options::noisy()`, and bounds or units ([`Scaling::Given`]), because noise hides what small steps do; `noise.level` if it is known, otherwise all of the budget is used; `noise.samples` to average |
//! | an exact simulator that may fail | [`InexactFn`], returning `Ok(Evaluated::exact())` or an [`EvalError`] |
//! | expensive, several at a time | `batch`, as many as run at once; [`Problem::with_known`] for earlier results; `budget` |
//! | many parameters | the default, which gives up curvature beyond 64; `initial.num_directions` to begin before all have been tried |
//! | a million residuals | `model` [`Linear`](Model::Linear): it keeps `$d + 3$` residual vectors, the default `$4d + 4$` |
//! | to study the paper's Algorithm 1 | `Options::paper()` |
//! | to reproduce the paper's experiments | `Options::experiments()`: their accuracy rules, shortcuts included |
//!
//! # Conventions
//!
//! **Units of parameters.** Inside, each parameter is measured in a unit of its own: the width of
//! its box, or else the size of its start ([`Scaling`] has the details). Radii and lengths of
//! steps, in options and in the history, are in these units: an `initial_radius` of 0.1 is a tenth
//! of the box. Sets and regularisers are defined by distances, so with them all parameters share
//! one unit.
//!
//! **Accuracy** is the Euclidean norm of the error of the whole residual vector, never squared,
//! never an error of `$f$`; [`Accuracy`] converts. What is asked for is a wish: a worse answer is
//! used as it is, a better one is welcome. A claim is believed. Where more than the oracle can give
//! would be needed for a decision, the run ends with [`Termination::AccuracyFloor`]: the usual end
//! if `trust_region.final_radius` asks for more than the simulator's rounding allows.
//!
//! **Work** has the oracle's own unit (iterations, seconds, money), is only added up, and counts
//! what failed. A continued evaluation counts what it added.
//!
//! **Points and evaluations.** A point is one `$\theta$`. Every answer to a job is an evaluation: a
//! point has several if it is averaged over samples or made more accurate later. Budgets:
//! [`Budget`]; if there is none, `$100(d+1)$` points.
//!
//! **Failures.** Residuals that are NaN or infinite, [`EvalError::Reject`], the wrong number of
//! residuals and, in [`Job::run`], a panic cost one point: the solver takes shorter steps, and
//! other ones. It does not learn where evaluations fail, and may end there
//! ([`Termination::Blocked`]): known limits belong into bounds. [`EvalError::Abort`] ends the run.
//! A run that began always has a [`Report`], with the best point and everything that was evaluated;
//! an `Err` means that nothing was.
//!
//! **Feasibility.** No point outside the bounds or outside a set is ever evaluated. With several
//! sets, Dykstra's method finds the nearest point of their intersection, up to rounding unless they
//! hardly meet.
//!
//! **Determinism.** The same answers lead to the same questions, bit for bit, in whatever order and
//! on however many threads a batch is answered. Random directions come from a seed. Only [`drive`]
//! and [`minimize`] have a clock, and look at it only for `budget.max_time`.
//!
//! # What is where
//!
//! - The problem: [`Problem`] with its start, [`FeasibleSet`] ([`Bounds`], [`Projection`]),
//!   [`Regularizer`] ([`L1`]) and [`Known`] evaluations.
//! - Who computes residuals: [`ResidualOracle`], or a closure in [`FnOracle`] or [`InexactFn`].
//!   What it gets: [`Job`], [`Request`], [`Start`], [`Purpose`]. What it gives: [`Evaluated`] with
//!   its [`Accuracy`], or [`EvalError`].
//! - How to solve: [`Options`], with a field for each group. What is wrong with them:
//!   [`SetupError`].
//! - Who drives: [`minimize`], [`minimize_observed`], [`drive`], [`drive_with`], or you with an
//!   [`Engine`] and its [`State`].
//! - What comes back: [`Report`] with [`ObjectiveInterval`], [`Jacobian`], [`Termination`], and the
//!   history in [`Iteration`] and [`EvalRecord`].
//! - Problems to try it on: [`testing`].
//!
//! The method follows M. J. Ehrhardt and L. Roberts, *Inexact derivative-free optimization for
//! bilevel learning*, J. Math. Imaging Vis. 63 (2021), and C. Cartis, J. Fiala, B. Marteau and L.
//! Roberts, *Improving the flexibility and robustness of model-based derivative-free optimization
//! solvers*, ACM Trans. Math. Softw. 45 (2019). The default model of residuals is quadratic.

mod accuracy;
mod blocks;
mod constraints;
mod driver;
mod engine;
mod error;
mod linalg;
mod model;
mod options;
mod oracle;
mod radius;
mod random;
mod region;
mod report;
mod residuals;
mod space;
mod span;
mod subproblem;
pub mod testing;

pub use accuracy::{Accuracy, InvalidAccuracy, ObjectiveInterval};
pub use constraints::{Bounds, FeasibleSet, Known, L1, Problem, Projection, Regularizer};
pub use driver::{drive, drive_with, minimize, minimize_observed};
pub use engine::{Best, Engine, State};
pub use error::SetupError;
pub use options::{
    AccuracyControl, Algorithm, Budget, Diagnostics, Directions, Dynamic, ExperimentRules, Initial,
    Model, Noise, NoiseLevel, Options, PaperParameters, Restarts, Samples, Scaling, SlowProgress,
    TrustRegion, TrustStep, WarmStart,
};
pub use oracle::{
    EvalError, Evaluated, FnOracle, InexactFn, Job, Purpose, Request, ResidualOracle, Share, Start,
};
pub use report::{
    Direction, EvalRecord, Iteration, Jacobian, Limit, Report, StepKind, Termination,
};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
