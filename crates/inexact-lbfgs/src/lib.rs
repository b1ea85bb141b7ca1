//! Bound-constrained L-BFGS for functions with certified errors.

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
