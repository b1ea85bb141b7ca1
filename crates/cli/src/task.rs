//! From settings to data and a model.

mod error;
mod family;
pub mod fingerprint;
pub(crate) mod pictures;
pub(crate) mod signals;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use bilevel::{
    ConditionNumber, Effort, Judged, LowerLevel, Pair, Parameter, Penalty, Reconstruction,
    ReconstructionError, RootL1, Setup, TvDeblurring, TvDenoising, TvInpainting,
};
use imaging::Grid;
use lowlevel::{Method, Stop};

use crate::config::{Config, L1Kind, MethodKind, TaskKind};
use crate::error::CliError;

pub use bilevel::FourierWeights;
pub use error::DataError;
pub(crate) use family::{read_kernel, read_mask, sampling};

/// The model of a task.
#[derive(Debug)]
pub enum Family {
    /// Pictures with noise.
    Denoise(TvDenoising),
    /// Signals from some of their frequencies.
    Sampling(FourierWeights),
    /// Pictures with a known blur.
    Deblur(TvDeblurring),
    /// Pictures with missing pixels.
    Inpaint(TvInpainting),
}

impl Family {
    /// What is learned.
    #[must_use]
    pub fn parameters(&self) -> Vec<Parameter> {
        match self {
            Self::Denoise(model) => model.parameters(),
            Self::Sampling(model) => model.parameters(),
            Self::Deblur(model) => model.parameters(),
            Self::Inpaint(model) => model.parameters(),
        }
    }

    /// [`bilevel::reconstruct`] with this model.
    ///
    /// # Errors
    /// When the model does not accept values or data, or the solver fails.
    pub fn reconstruct(
        &self,
        values: &[f64],
        grid: Grid,
        data: &[f64],
        method: Method,
        stop: Stop,
    ) -> Result<Reconstruction, ReconstructionError> {
        use bilevel::reconstruct;
        match self {
            Self::Denoise(model) => reconstruct(model, values, grid, data, method, stop),
            Self::Sampling(model) => reconstruct(model, values, grid, data, method, stop),
            Self::Deblur(model) => reconstruct(model, values, grid, data, method, stop),
            Self::Inpaint(model) => reconstruct(model, values, grid, data, method, stop),
        }
    }

    /// [`bilevel::judge`] with this model.
    #[must_use]
    pub fn judge(&self, values: &[f64], pair: &Pair, method: Method) -> Judged {
        use bilevel::judge;
        match self {
            Self::Denoise(model) => judge(model, values, pair, method),
            Self::Sampling(model) => judge(model, values, pair, method),
            Self::Deblur(model) => judge(model, values, pair, method),
            Self::Inpaint(model) => judge(model, values, pair, method),
        }
    }
}

/// Pairs of truth and data, with their names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Examples {
    /// The file and, of several, the channel; as many as there are pairs.
    pub names: Vec<String>,
    /// The pairs.
    pub pairs: Vec<Pair>,
}

impl Examples {
    fn push(&mut self, name: String, pair: Pair) {
        self.names.push(name);
        self.pairs.push(pair);
    }
}

/// What is learned, and from what.
#[derive(Debug)]
pub struct Task {
    /// The model.
    pub family: Family,
    /// What it learns from.
    pub training: Examples,
    /// What judges it; may be empty.
    pub validation: Examples,
    /// A hash of all training data: another one means that files have changed.
    pub fingerprint: u64,
    /// What the user should know.
    pub warnings: Vec<String>,
}

/// Reads or makes the data of resolved settings.
///
/// # Errors
/// When a file cannot be used, or files do not fit together.
pub fn load(config: &Config) -> Result<Task, CliError> {
    match config.task {
        TaskKind::Sampling => signals::load(config),
        TaskKind::Denoise | TaskKind::Deblur | TaskKind::Inpaint => pictures::load(config),
    }
}

/// How to learn, beside the options of the solver.
#[must_use]
pub fn setup(config: &Config, validation: Vec<Pair>) -> Setup {
    let mut setup = Setup::default();
    let objective = &config.objective;
    setup.loss.scale = objective.scale;
    setup.loss.residuals = objective.residuals;
    let mut penalties: Vec<Box<dyn Penalty>> = Vec::new();
    if objective.condition > 0.0 {
        let weight = objective.condition;
        penalties.push(Box::new(ConditionNumber { weight }));
    }
    if objective.l1 > 0.0 {
        let weight = objective.l1;
        match objective.l1_kind {
            L1Kind::Root => penalties.push(Box::new(RootL1 { weight })),
            L1Kind::Nonsmooth => setup.regularizer = Some(Arc::new(dfo_ls::L1 { weight })),
        }
    }
    setup.penalties = penalties;
    setup.method = method(config);
    setup.effort = match config.solver.iterations {
        Some(iterations) => Effort::Iterations(iterations),
        None => Effort::Requested {
            max_iterations: config.solver.max_iterations,
        },
    };
    setup.validation = validation;
    setup
}

/// The options of the solver.
#[must_use]
pub fn options(config: &Config) -> dfo_ls::Options {
    let mut options = bilevel::learning_options();
    options.trust_region.final_radius = config.solver.final_radius;
    options.budget.max_points = Some(config.solver.evaluations);
    options
}

/// How reconstructions are computed.
pub(crate) fn method(config: &Config) -> Method {
    match config.solver.method {
        MethodKind::Auto => Method::Auto,
        MethodKind::Fista => Method::FISTA,
        MethodKind::Gd => Method::GRADIENT_DESCENT,
    }
}

/// Puts the last `hold_out` of `images` aside.
fn split<T>(images: &mut Vec<T>, hold_out: usize) -> Result<Vec<T>, DataError> {
    let num_images = images.len();
    match num_images.checked_sub(hold_out) {
        Some(rest @ 1..) => Ok(images.split_off(rest)),
        _ => Err(DataError::HoldOut {
            hold_out,
            num_images,
        }),
    }
}
