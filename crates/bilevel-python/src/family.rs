//! From settings to a family of the crate, and what can be done with all of them.

use bilevel::{
    Choice, FourierWeights, Learned, LearningProblem, LowerLevel, Pair, ProblemError,
    ReconstructionError, Reconstructions, Setup, TvChoices, TvDeblurring, TvDenoising,
    TvInpainting,
};
use dfo_ls::{Engine, Job, Options, Report, ResidualOracle};
use imaging::{Grid, Mask, TvParameters};
use lowlevel::Method;
use numpy::{PyReadonlyArray1, PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::prelude::*;
use serde::Deserialize;

use crate::invalid;
use crate::solve::{Made, Watch, reconstruct};

/// Which family, and what of it is learned; all numbers are values, not exponents.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(tag = "model", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Family {
    Tv(Tv),
    Deblur(Tv),
    Inpaint(Tv),
    /// `theta` is learned.
    Sampling {
        num_samples: usize,
        alpha: f64,
        nu: f64,
        xi: f64,
        theta: Range,
    },
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct Tv {
    alpha: Value,
    nu: Value,
    xi: Value,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Value {
    Fixed(f64),
    Learned(Range),
}

/// What the user has not said has the crate's default.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Range {
    start: Option<f64>,
    lower: Option<f64>,
    upper: Option<f64>,
}

impl Range {
    /// Start, lower and upper bound, where the solver's parameter is `to(value)` and the defaults are such. A start that was not given
    /// moves between the bounds; one that was given does not.
    fn or(
        self,
        name: &str,
        [start, lower, upper]: [f64; 3],
        [to, from]: [fn(f64) -> f64; 2],
    ) -> PyResult<[f64; 3]> {
        let is_default = self.lower.is_none() && self.upper.is_none();
        let (lower, upper) = (self.lower.map_or(lower, to), self.upper.map_or(upper, to));
        let Some(given) = self.start else {
            return Ok([start.max(lower).min(upper), lower, upper]);
        };
        let start = to(given);
        if is_default && !(lower..=upper).contains(&start) {
            let (lower, upper) = (from(lower), from(upper));
            return Err(invalid(format!(
                "start['{name}'] is {given:e}, outside of the default bounds ({lower:e}, {upper:e}): give bounds"
            )));
        }
        Ok([start, lower, upper])
    }
}

impl Tv {
    fn choices(self) -> PyResult<TvChoices> {
        let choice = |name, value: Value, default: Choice| match (value, default) {
            (Value::Fixed(value), _) => PyResult::Ok(Choice::Fixed(value)),
            (
                Value::Learned(range),
                Choice::Learned {
                    start,
                    lower,
                    upper,
                },
            ) => {
                let maps = [f64::log10, |theta| 10_f64.powf(theta)];
                let [start, lower, upper] = range.or(name, [start, lower, upper], maps)?;
                Ok(Choice::Learned {
                    start,
                    lower,
                    upper,
                })
            }
            (Value::Learned(_), fixed @ Choice::Fixed(_)) => Ok(fixed),
        };
        Ok(TvChoices {
            alpha: choice("alpha", self.alpha, TvChoices::ALPHA)?,
            nu: choice("nu", self.nu, TvChoices::SMOOTHING)?,
            xi: choice("xi", self.xi, TvChoices::SMOOTHING)?,
        })
    }
}

/// What deblurring and inpainting need beside settings.
#[derive(FromPyObject)]
pub(crate) struct Operator<'py> {
    #[pyo3(item)]
    kernel: Option<PyReadonlyArrayDyn<'py, f64>>,
    #[pyo3(item)]
    mask: Option<PyReadonlyArrayDyn<'py, bool>>,
}

impl Family {
    /// The grid of an array with this shape.
    pub(crate) fn grid(&self, shape: &[usize]) -> PyResult<Grid> {
        let grid = grid(shape)?;
        Ok(match self {
            Self::Sampling { .. } => grid.complex(),
            _ => grid,
        })
    }

    /// The model.
    pub(crate) fn model(&self, operator: &Operator<'_>) -> PyResult<Model> {
        Ok(match *self {
            Self::Tv(tv) => Model::Denoise(TvDenoising {
                choices: tv.choices()?,
            }),
            Self::Deblur(tv) => {
                let kernel = (operator.kernel.as_ref()).ok_or_else(|| invalid("no kernel"))?;
                let (values, grid) = (kernel.as_slice()?.to_vec(), grid(kernel.shape())?);
                let model = TvDeblurring::new(tv.choices()?, values, grid);
                Model::Deblur(model.map_err(invalid)?)
            }
            Self::Inpaint(tv) => {
                let mask = (operator.mask.as_ref()).ok_or_else(|| invalid("no mask"))?;
                let (kept, grid) = (mask.as_slice()?.to_vec(), grid(mask.shape())?);
                Model::Inpaint(TvInpainting {
                    choices: tv.choices()?,
                    mask: Mask::new(grid, kept).map_err(invalid)?,
                })
            }
            Self::Sampling {
                num_samples,
                alpha,
                nu,
                xi,
                theta,
            } => {
                let tv = TvParameters { alpha, nu, xi };
                let range = [0.5, FourierWeights::LOWER, FourierWeights::UPPER];
                let [start, lower, upper] = theta.or("theta", range, [|theta| theta; 2])?;
                let model = FourierWeights::new(num_samples, tv, start).map_err(invalid)?;
                Model::Sampling(model.with_bounds(lower, upper))
            }
        })
    }
}

fn grid(shape: &[usize]) -> PyResult<Grid> {
    match *shape {
        [num_samples] => Ok(Grid::line(num_samples)),
        [rows, cols] => Ok(Grid::image(rows, cols)),
        _ => Err(invalid("an image has one or two axes")),
    }
}

/// A pair of arrays and their shape.
pub(crate) type Example<'py> = (
    PyReadonlyArray1<'py, f64>,
    PyReadonlyArray1<'py, f64>,
    Vec<usize>,
);

/// Pairs own their numbers: the only copy that is made of arrays.
pub(crate) fn pairs(family: &Family, examples: &[Example<'_>]) -> PyResult<Vec<Pair>> {
    let pair = |(truth, data, shape): &Example<'_>| {
        Ok(Pair {
            grid: family.grid(shape)?,
            truth: truth.as_slice()?.to_vec(),
            data: data.as_slice()?.to_vec(),
        })
    };
    examples.iter().map(pair).collect()
}

/// A family of the crate.
pub(crate) enum Model {
    Denoise(TvDenoising),
    Deblur(TvDeblurring),
    Inpaint(TvInpainting),
    Sampling(FourierWeights),
}

impl Model {
    pub(crate) fn learning(
        self,
        pairs: Vec<Pair>,
        setup: Setup,
    ) -> Result<Box<dyn Learning>, ProblemError> {
        Ok(match self {
            Self::Denoise(model) => Box::new(LearningProblem::new(model, pairs, setup)?),
            Self::Deblur(model) => Box::new(LearningProblem::new(model, pairs, setup)?),
            Self::Inpaint(model) => Box::new(LearningProblem::new(model, pairs, setup)?),
            Self::Sampling(model) => Box::new(LearningProblem::new(model, pairs, setup)?),
        })
    }

    pub(crate) fn reconstruct(
        &self,
        values: &[f64],
        grid: Grid,
        data: &[f64],
        method: Method,
        watch: Watch<'_>,
    ) -> Result<Made, ReconstructionError> {
        match self {
            Self::Denoise(model) => reconstruct(model, values, grid, data, method, watch),
            Self::Deblur(model) => reconstruct(model, values, grid, data, method, watch),
            Self::Inpaint(model) => reconstruct(model, values, grid, data, method, watch),
            Self::Sampling(model) => reconstruct(model, values, grid, data, method, watch),
        }
    }
}

/// A learning problem of any family.
pub(crate) trait Learning: Send + Sync {
    fn engine(&self, options: Options) -> Result<Engine<Reconstructions>, ProblemError>;
    fn values(&self, theta: &[f64]) -> Vec<f64>;
    fn evaluate(&mut self, jobs: &mut [Job<Reconstructions>]);
    fn learned(&self, report: Report) -> Learned;
}

impl<M: LowerLevel + Send> Learning for LearningProblem<M> {
    fn engine(&self, options: Options) -> Result<Engine<Reconstructions>, ProblemError> {
        Self::engine(self, options)
    }

    fn values(&self, theta: &[f64]) -> Vec<f64> {
        Self::values(self, theta)
    }

    fn evaluate(&mut self, jobs: &mut [Job<Reconstructions>]) {
        ResidualOracle::evaluate(self, jobs);
    }

    fn learned(&self, report: Report) -> Learned {
        Self::learned(self, report)
    }
}

/// How reconstructions are computed.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum MethodName {
    Auto,
    Fista,
    Gd,
}

impl MethodName {
    pub(crate) const fn method(self) -> Method {
        match self {
            Self::Auto => Method::Auto,
            Self::Fista => Method::FISTA,
            Self::Gd => Method::GRADIENT_DESCENT,
        }
    }
}
