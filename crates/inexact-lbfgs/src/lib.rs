//! Minimises, between bounds, functions whose values are known only up to an error:
//!
//! ```math
//! \min_{l \le \theta \le u} F(\theta), \qquad
//! F(\theta) = f(\theta) + \sum_k w_k |\theta_k|, \qquad \theta \in \mathbb{R}^d.
//! ```
//!
//! A simulation computes an interval that contains `$f(\theta)$`, and an approximate gradient. More
//! accuracy costs more work. The solver tells the simulation how accurate each evaluation must be,
//! and accepts a step only if the intervals prove that it decreases `$F$`. The method is projected
//! L-BFGS, for one to some 100,000 parameters. Bounds and absolute values are optional, and exact
//! functions are a special case.
//!
//! # An exact function
//!
//! [`FnOracle`] turns a closure that returns the value and writes the gradient into an oracle:
//!
//! ```
//! use inexact_lbfgs::{FnOracle, Options, Problem, minimize};
//!
//! // Half the squared distance from (3, 1, 0.2), plus 0.5 |theta|_1, between bounds.
//! let mut oracle = FnOracle::new(|theta: &[f64], gradient: &mut [f64]| {
//!     let mut value = 0.0;
//!     for (k, target) in [3.0, 1.0, 0.2].into_iter().enumerate() {
//!         gradient[k] = theta[k] - target;
//!         value += 0.5 * gradient[k] * gradient[k];
//!     }
//!     value
//! });
//! let problem = Problem::new([0.0; 3]).with_bounds([-1.0; 3], [2.0; 3])?.with_l1(0.5)?;
//! let report = minimize(&mut oracle, problem, Options::default())?;
//! assert!(report.termination.is_success());
//! assert_eq!([report.theta[0], report.theta[2]], [2.0, 0.0]); // at a bound, and at zero
//! assert!((report.theta[1] - 0.5).abs() < 1e-12);
//! assert_eq!(report.active[0].index, 0);
//! # Ok::<(), inexact_lbfgs::SetupError>(())
//! ```
//!
//! # An inexact function
//!
//! A closure in [`InexactFn`] gets a [`Request`] and returns an [`Answer`] or an [`EvalError`].
//! Here the value is a series, of which only the first terms are added. The error of the rest is
//! known, and the token of an evaluation is its number of terms. The function is `$f(\theta) =
//! \sum_{n \ge 1} (\theta - 1)^2 / n^2 + \theta^2 / n^3$`.
//!
//! ```
//! use inexact_lbfgs::{Answer, InexactFn, Interval, Options, Problem, Request, minimize};
//!
//! let mut oracle = InexactFn::new(|theta: &[f64], request: &Request<f64>| {
//!     let x = theta[0];
//!     // The rests of the two sums after N terms are at most 1/N and 1/(2 N^2).
//!     let terms = match request {
//!         Request::New { near, .. } => *near,
//!         Request::Sharpen { known, shrink } => known / shrink,
//!         _ => 10.0,
//!     };
//!     let (mut squares, mut cubes, mut n) = (0.0, 0.0, 1.0);
//!     while n <= terms {
//!         squares += 1.0 / (n * n);
//!         cubes += 1.0 / (n * n * n);
//!         n += 1.0;
//!     }
//!     let rests = [1.0 / (n - 1.0), 0.5 / (n - 1.0).powi(2)];
//!     let value = |squares: f64, cubes: f64| squares * (x - 1.0).powi(2) + cubes * x * x;
//!     let lower = value(squares, cubes);
//!     let upper = value(squares + rests[0], cubes + rests[1]);
//!     Ok(Answer {
//!         value: 0.5 * (lower + upper),
//!         interval: Interval::new(lower - 1e-9, upper + 1e-9), // for rounding errors
//!         gradient: vec![
//!             2.0 * (squares + 0.5 * rests[0]) * (x - 1.0) + 2.0 * (cubes + 0.5 * rests[1]) * x,
//!         ],
//!         gradient_error: rests[0] * (x - 1.0).abs() + rests[1] * x.abs(),
//!         resume: terms,
//!         work: n as u64,
//!     })
//! });
//! let mut options = Options::default();
//! options.stop.predicted = 1e-4;
//! let report = minimize(&mut oracle, Problem::new([3.0]), options)?;
//! let (a, b) = (1.6449340668482, 1.2020569031596); // the sums of 1/n^2 and 1/n^3
//! assert!((report.theta[0] - a / (a + b)).abs() < 0.01);
//! let exact = a * (report.theta[0] - 1.0).powi(2) + b * report.theta[0].powi(2);
//! assert!(report.interval.contains(exact));
//! # Ok::<(), inexact_lbfgs::SetupError>(())
//! ```
//!
//! # Your own loop
//!
//! The [`Engine`] has an ask-and-tell interface. It hands out one job at a time and never calls the
//! simulation. With the feature `serde`, its [`State`] can be saved after any
//! [`tell`](Engine::tell), and the run continues bit for bit:
//!
//! ```
//! # #[cfg(feature = "serde")] {
//! use inexact_lbfgs::{Answer, Engine, Options, Problem, State};
//!
//! let problem = || Problem::new([5.0, -3.0]);
//! let mut engine = Engine::<()>::new(problem(), Options::default())?;
//! while let Some(job) = engine.ask() {
//!     let [x, y] = [job.theta()[0], job.theta()[1]];
//!     let value = (x - 1.0).powi(4) + (x - y).powi(2) + 1.0;
//!     let gradient = vec![4.0 * (x - 1.0).powi(3) + 2.0 * (x - y), 2.0 * (y - x)];
//!     job.answer(Answer::exact(value, gradient));
//!     for iteration in engine.tell() {
//!         assert!(iteration.interval.contains(iteration.value));
//!     }
//!     // serde_json needs its feature `float_roundtrip`.
//!     let saved = serde_json::to_string(engine.state())?;
//!     let state: State<()> = serde_json::from_str(&saved)?;
//!     engine = Engine::from_state(problem(), state)?;
//! }
//! assert!(engine.into_report().value < 1.0 + 1e-6);
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Conventions
//!
//! **Intervals decide, estimates steer.** A trial point is accepted if the upper end of its
//! interval lies below the lower end of the incumbent's by a share of the slope, and rejected if
//! the opposite is certain. Otherwise the point with the wider interval is sharpened. Gradients and
//! estimates of their errors only choose where to go: wrong ones make a run slow or end it early,
//! but no step is accepted that increases the exact objective. The solver trusts intervals; an
//! oracle whose intervals contradict each other ends the run with [`Termination::OracleFailed`].
//!
//! **Accuracy.** A new point should be computed with an error of at most [`Options::kappa`] times
//! the change from the incumbent. The oracle decides how to measure errors and changes. A request
//! to sharpen asks for a narrower interval; the oracle decides how much smaller its error must be
//! for that. If sharpening no longer narrows the intervals that a decision needs, the run ends with
//! [`Termination::AccuracyFloor`].
//!
//! **End.** A run has converged when two conditions hold. First, at two incumbents in a row, the
//! model predicts a decrease of less than a share [`Stop::predicted`] of the objective. Second, all
//! future decreases together are less than that share, too, if they go on shrinking by the factor
//! of the last ones. The second condition matters on ill-conditioned problems, where the model
//! alone would end runs too early.
//!
//! **Work** is in the oracle's own unit (iterations, seconds, money). The solver adds it up,
//! including that of failed evaluations.
//!
//! **Failures.** A value or gradient that is NaN or infinite, or an [`EvalError::Reject`], costs
//! one point, and the solver halves the step; at the first point, it ends the run. An
//! [`EvalError::Abort`] always ends the run. A run that has started always has a [`Report`]; an
//! `Err` means that nothing was evaluated.
//!
//! **Memory.** The engine stores `$2m$` vectors for `$m$` curvature pairs ([`Options::memory`]) and
//! a few more, so about 40 MB for 100,000 parameters.
//!
//! **Determinism.** The same answers lead to the same jobs, bit for bit. Only [`drive_with`] and
//! [`minimize`] read a clock, for `budget.max_time`.
//!
//! # Overview
//!
//! - The problem: [`Problem`] with its start, bounds and [`L1Weights`].
//! - The function: [`Oracle`], or a closure in [`FnOracle`] or [`InexactFn`]. It receives a [`Job`]
//!   with a [`Request`], and answers with an [`Answer`] and its [`Interval`], or with an
//!   [`EvalError`].
//! - The solver: [`Options`] with [`Budget`], [`Stop`] and [`History`]. [`SetupError`] names an
//!   invalid option.
//! - The loop: [`minimize`], [`drive_with`], or your own around an [`Engine`] and its [`State`].
//! - The result: [`Report`] with [`Termination`], [`ActiveBound`]s and [`Work`], and the history in
//!   [`Iteration`] and [`EvalRecord`].
//!
//! The step of the model follows R. H. Byrd, P. Lu, J. Nocedal and C. Zhu, *A limited memory
//! algorithm for bound constrained optimization*, SIAM J. Sci. Comput. 16 (1995), and J. L. Morales
//! and J. Nocedal, *Remark on Algorithm 778*, ACM Trans. Math. Softw. 38 (2011); absolute values
//! follow G. Andrew and J. Gao, *Scalable training of L1-regularized log-linear models*, ICML 2007.

mod driver;
mod engine;
mod error;
mod interval;
mod linalg;
mod model;
mod objective;
mod options;
mod oracle;
mod problem;
mod report;

pub use driver::{drive_with, minimize};
pub use engine::{Best, Engine, State};
pub use error::SetupError;
pub use interval::Interval;
pub use options::{Budget, History, Options, SlowProgress, Stop};
pub use oracle::{Answer, EvalError, FnOracle, InexactFn, Job, Oracle, Purpose, Request};
pub use problem::{L1Weights, Problem};
pub use report::{
    ActiveBound, EvalRecord, Iteration, Limit, Report, Side, StepKind, Termination, Work,
};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
