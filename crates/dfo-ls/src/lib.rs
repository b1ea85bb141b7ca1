//! Derivative-free least squares for simulators. This crate minimises
//!
//! ```math
//! f(\theta) = \|r(\theta)\|_2^2 + h(\theta), \qquad \theta \in C \subseteq \mathbb{R}^d,
//! ```
//!
//! where a simulation computes the residuals `$r(\theta) \in \mathbb{R}^m$`. There are no
//! derivatives, every evaluation is expensive, and few are exact. The solver tells the simulator
//! how accurate each evaluation must be, so that none is computed more accurately than needed. The
//! feasible set `$C$` (bounds or convex sets) and the convex regulariser `$h$` are optional.
//!
//! # Fit a curve
//!
//! [`FnOracle`] turns a closure that computes residuals into an oracle. This fit has an amplitude
//! near 500 and a rate near 1e-6. Its start is off by factors of 2.5 and 3, and no units are given:
//!
//! ```
//! use dfo_ls::{FnOracle, Options, Problem, minimize};
//!
//! let times: Vec<f64> = (0..40).map(|i| 1e5 * f64::from(i)).collect();
//! let error = [2.0, -1.0, -2.0, 1.0].into_iter().cycle();
//! let decay = |(t, e): (&f64, f64)| 500.0 * (-1e-6 * t).exp() + e;
//! let data: Vec<f64> = times.iter().zip(error).map(decay).collect();
//!
//! let mut oracle = FnOracle::new(data.len(), |theta: &[f64], residuals: &mut [f64]| {
//!     for ((r, t), y) in residuals.iter_mut().zip(&times).zip(&data) {
//!         *r = theta[0] * (-theta[1] * t).exp() - y;
//!     }
//! });
//! let report = minimize(&mut oracle, Problem::new([200.0, 3e-6]), Options::default())?;
//! assert!(report.termination.is_success());
//!
//! // The result is 500.2 +- 0.9 and 1.0006e-6 +- 0.0028e-6.
//! let errors = report.standard_errors().expect("more data than parameters");
//! for (j, truth) in [500.0, 1e-6].into_iter().enumerate() {
//!     assert!((report.theta[j] - truth).abs() < 2.0 * errors[j] && errors[j] < 0.01 * truth);
//! }
//! # Ok::<(), dfo_ls::SetupError>(())
//! ```
//!
//! # A simulator that can fail
//!
//! A closure in [`InexactFn`] returns its result or an [`EvalError`]. A rejected point costs one
//! evaluation, and the solver continues with other points:
//!
//! ```
//! use dfo_ls::{EvalError, Evaluated, InexactFn, Options, Problem, Request, minimize};
//!
//! let mut oracle = InexactFn::new(2, |request: Request<'_, ()>, residuals: &mut [f64]| {
//!     let [x, y] = [request.theta[0], request.theta[1]];
//!     if x > 1.5 {
//!         return Err(EvalError::reject(format!("no convergence at x = {x}")));
//!     }
//!     residuals.copy_from_slice(&[10.0 * (y - x * x), 1.0 - x]);
//!     Ok(Evaluated::exact())
//! });
//! let problem = Problem::new([-1.2, 1.0]).with_bounds([-2.0, -2.0], [2.0, 2.0])?;
//! let report = minimize(&mut oracle, problem, Options::default())?;
//! assert!(report.theta.iter().all(|t| (t - 1.0).abs() < 1e-6));
//! # Ok::<(), dfo_ls::SetupError>(())
//! ```
//!
//! # A simulator with a known error
//!
//! The temperature of a rod is the fixed point of an iteration. The iteration never reaches it, but
//! the error is known at every step. The closure below iterates until the error is at most
//! `request.target`. It returns the temperatures as a token, from which a later evaluation of the
//! same point or of a nearby one starts.
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
//! let distance = |x: &[f64], y: &[f64]| {
//!     x.iter().zip(y).map(|(x, y)| (x - y).powi(2)).sum::<f64>().sqrt()
//! };
//! let exact = |theta: &[f64]| (0..3000).fold(vec![0.0; 30], |x, _| sweep(theta, &x));
//! let noise = [0.2, -0.1, -0.2, 0.1].into_iter().cycle();
//! let measured: Vec<f64> = exact(&[2.0, 0.98]).iter().zip(noise).map(|(x, e)| x + e).collect();
//!
//! let fit = |accuracy: AccuracyControl| -> Result<Report, SetupError> {
//!     let mut rod = InexactFn::new(30, |request: Request<'_, Vec<f64>>, residuals: &mut [f64]| {
//!         // Start from the token of this point or of a nearby one, if there is one.
//!         let mut x = request.start.into_resume().unwrap_or_else(|| vec![0.0; 30]);
//!         let (mut work, mut error) = (0, f64::INFINITY);
//!         while !(error <= request.target.value()) && work < 5000 {
//!             let next = sweep(request.theta, &x);
//!             // The error bound of a contraction, plus rounding errors.
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
//!     options.trust_region.final_radius = 1e-3; // the data are not more accurate
//!     options.accuracy = accuracy;
//!     let problem = Problem::new([1.0, 0.5]).with_bounds([0.0, 0.0], [10.0, 0.999])?;
//!     minimize(&mut rod, problem, options)
//! };
//!
//! let report = fit(AccuracyControl::default())?;
//! assert!((report.theta[0] - 2.0).abs() < 0.01 && (report.theta[1] - 0.98).abs() < 1e-3);
//! // The interval of the report contains the exact sum of squares, although no residual was exact.
//! let f = distance(&exact(&report.theta), &measured).powi(2);
//! assert!(report.interval.lower <= f && f <= report.interval.upper);
//! assert!(report.interval.upper - report.interval.lower < 0.01 * f);
//! // The fit took less than half of the sweeps that a fixed accuracy of 1e-10 takes.
//! let fixed = fit(AccuracyControl::Fixed(Accuracy::new(1e-10)?))?;
//! assert!(2 * report.work < fixed.work);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Constraints
//!
//! Bounds are never violated. A convex set is given by its projection. If there are several sets,
//! or sets and bounds, the feasible set is their intersection. The regulariser [`L1`] makes
//! parameters exactly zero.
//!
//! ```
//! use dfo_ls::{FnOracle, L1, Options, Problem, minimize};
//!
//! // The nearest point to (3, 1) ...
//! let mut distance = FnOracle::new(2, |theta: &[f64], residuals: &mut [f64]| {
//!     residuals.copy_from_slice(&[theta[0] - 3.0, theta[1] - 1.0]);
//! });
//! let mut nearest = |problem: Problem| {
//!     minimize(&mut distance, problem, Options::default()).map(|report| report.theta)
//! };
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
//! // ... and with 3 |theta|_1 added, which makes the second parameter zero.
//! let theta = nearest(Problem::new([0.5, 0.5]).with_regularizer(L1 { weight: 3.0 }))?;
//! assert!(is_close(&theta, [1.5, 0.0]) && theta[1] == 0.0);
//! # Ok::<(), dfo_ls::SetupError>(())
//! ```
//!
//! # Your own loop
//!
//! The [`Engine`] has an ask-and-tell interface. It hands out jobs and never calls the simulator,
//! so that you can run the jobs on threads, on a cluster or by hand.
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
//! With the feature `serde`, the [`State`] of an engine can be saved after any
//! [`tell`](Engine::tell), and the run continues bit for bit. Projections and the regulariser are
//! code and must be given again with the problem. [`Engine::extend`] continues a run that was
//! stopped or whose budget is spent.
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
//! // serde_json needs its feature `float_roundtrip`.
//! let saved = serde_json::to_string(engine.state())?;
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
//! Create [`Options`] and set fields:
//! `let mut options = Options::default(); options.target = Some(1e-6);`
//!
//! | problem | options |
//! |---|---|
//! | smooth residuals, exact or with a known error | `Options::default()` |
//! | a fit to data with errors | `trust_region.final_radius` of 1e-3 to 1e-5; further digits are below the errors of the data |
//! | residuals with random noise | `Options::noisy()`, with bounds or units ([`Scaling::Given`]), because noise hides the effect of small steps; `noise.level` if it is known, since otherwise the whole budget is used; `noise.samples` to average evaluations |
//! | expensive evaluations, several at a time | `batch`, the number of evaluations that run at once; [`Problem::with_known`] for earlier results; `budget` |
//! | many parameters | the default, which uses linear models for more than 64 parameters; `initial.num_directions` to begin before all directions have been tried |
//! | a million residuals | `model` [`Linear`](Model::Linear), which stores `$d + 3$` residual vectors; the default stores `$4d + 4$` |
//! | the paper's Algorithm 1 | `Options::paper()` |
//! | the paper's experiments | `Options::experiments()`, with their accuracy rules and shortcuts |
//!
//! # Conventions
//!
//! **Units of parameters.** The solver scales each parameter by a unit: the width of its box, or
//! else the size of its start ([`Scaling`] has the details). Radii and lengths of steps, in options
//! and in the history, are in these units: an `initial_radius` of 0.1 is a tenth of the box. With
//! convex sets or a regulariser, which are defined by distances, all parameters share one unit.
//!
//! **Accuracy** is a bound on the Euclidean norm of the error of the whole residual vector. It is
//! not squared, and it is not the error of `$f$`; [`Accuracy`] converts one into the other. The
//! solver also uses answers that are less accurate than requested, and trusts the accuracy that the
//! oracle reports. If a decision of the solver, such as whether to accept a step, needs more
//! accuracy than the oracle achieves, the run ends with [`Termination::AccuracyFloor`]. This is the
//! usual end if `trust_region.final_radius` is smaller than the simulator's rounding errors allow.
//!
//! **Work** is in the oracle's own unit (iterations, seconds, money). The solver adds it up,
//! including that of failed evaluations. A continued evaluation reports only the work it added.
//!
//! **Points and evaluations.** A point is one `$\theta$`. Every answer to a job is an evaluation. A
//! point has several evaluations if it is averaged over samples or sharpened later. [`Budget`]
//! limits both; by default there are at most `$100(d+1)$` points, times the batch size.
//!
//! **Failures.** Residuals that are NaN or infinite, [`EvalError::Reject`], a wrong number of
//! residuals and, in [`Job::run`], a panic each cost one point. The solver then tries shorter and
//! other steps. It does not model the region where evaluations fail, and the run may end next to it
//! ([`Termination::Blocked`]), so give known limits as bounds. [`EvalError::Abort`] ends the run. A
//! run that has started always has a [`Report`], with the best point and all evaluations. An `Err`
//! means that nothing was evaluated.
//!
//! **Feasibility.** No point outside the bounds or outside a convex set is ever evaluated.
//! Dykstra's method computes the nearest point in the intersection of several sets, up to rounding
//! unless the sets meet at a very sharp angle.
//!
//! **Determinism.** The same answers lead to the same jobs, bit for bit, regardless of the order in
//! which a batch is answered and of the number of threads. Random directions come from a seed. Only
//! [`drive_with`] and the functions that call it read a clock, for `budget.max_time`.
//!
//! # Overview
//!
//! - The problem: [`Problem`] with its start, its [`FeasibleSet`] ([`Bounds`], [`Projection`]), its
//!   [`Regularizer`] ([`L1`]) and [`Known`] evaluations.
//! - The simulator: [`ResidualOracle`], or a closure in [`FnOracle`] or [`InexactFn`]. It receives
//!   [`Job`]s with a [`Request`], a [`Start`] and a [`Purpose`], and answers with [`Evaluated`] and
//!   its [`Accuracy`], or with an [`EvalError`].
//! - The solver: [`Options`], whose fields are grouped by topic. [`SetupError`] names an invalid
//!   option.
//! - The loop: [`minimize`], [`minimize_observed`], [`drive`], [`drive_with`], or your own around
//!   an [`Engine`] and its [`State`].
//! - The result: [`Report`] with [`ObjectiveInterval`], [`Jacobian`] and [`Termination`], and the
//!   history in [`Iteration`] and [`EvalRecord`].
//! - Test problems: [`testing`].
//!
//! The method follows M. J. Ehrhardt and L. Roberts, *Inexact derivative-free optimization for
//! bilevel learning*, J. Math. Imaging Vis. 63 (2021), and C. Cartis, J. Fiala, B. Marteau and L.
//! Roberts, *Improving the flexibility and robustness of model-based derivative-free optimization
//! solvers*, ACM Trans. Math. Softw. 45 (2019). "The paper" in this documentation is the first of
//! them. Their models of the residuals are linear; here the default model is quadratic.

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
mod products;
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
pub use products::{Against, BlockVector, BlockVectors, KnownVector, Measurement, Products};
pub use report::{
    Direction, EvalRecord, Iteration, Jacobian, Limit, Report, StepKind, Termination,
};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
