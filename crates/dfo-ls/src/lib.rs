//! Derivative-free least squares: minimises `$f(\theta) = \|r(\theta)\|^2$` from evaluations of the residuals alone, and asks for
//! evaluations of just the accuracy needed.
//!
//! ```
//! use dfo_ls::{FnOracle, Options, Problem, minimize};
//!
//! let mut rosenbrock = FnOracle::new(2, |theta: &[f64], residuals: &mut [f64]| {
//!     residuals[0] = 10.0 * (theta[1] - theta[0] * theta[0]);
//!     residuals[1] = 1.0 - theta[0];
//! });
//! let report = minimize(&mut rosenbrock, Problem::new([-1.2, 1.0]), Options::default())?;
//! assert!(report.termination.is_success());
//! assert!((report.theta[0] - 1.0).abs() < 1e-6 && (report.theta[1] - 1.0).abs() < 1e-6);
//! # Ok::<(), dfo_ls::SetupError>(())
//! ```

mod accuracy;
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
mod space;
mod subproblem;
pub mod testing;

pub use accuracy::{Accuracy, InvalidAccuracy, ObjectiveInterval};
pub use constraints::{Bounds, FeasibleSet, Known, L1, Problem, Projection, Regularizer};
pub use driver::{minimize, minimize_observed};
pub use engine::{Engine, State};
pub use error::SetupError;
pub use options::{
    AccuracyControl, Algorithm, Batch, Budget, Diagnostics, Directions, Dynamic, ExperimentRules,
    Initial, Model, Noise, NoiseLevel, Options, PaperParameters, Restarts, Samples, Scaling,
    SlowProgress, TrustRegion, WarmStart,
};
pub use oracle::{
    EvalError, Evaluated, FnOracle, InexactFn, Job, Purpose, Request, ResidualOracle, Start,
};
pub use report::{EvalRecord, Iteration, Jacobian, Limit, Report, StepKind, Termination};
