//! The reconstruction families of the experiments, with parameters in the order of the authors'
//! program.

use anyhow::{Context, Result, bail};
use bilevel::{
    BoxError, Choice, ConditionNumber, FourierWeights, ImageData, LowerLevel, Parameter, RootL1,
    TvChoices, TvDenoising,
};
use imaging::{Denoising, DenoisingScratch, Grid, TvParameters};

use super::setting::{PenaltySetting, Setting, TvParameter};

/// Total variation denoising with its parameters in another order than `$\alpha, \nu, \xi$`.
#[derive(Clone, Debug)]
pub(super) struct ReorderedDenoising {
    model: TvDenoising,
    /// The index of each parameter among those of `model`.
    places: Vec<usize>,
}

impl ReorderedDenoising {
    /// Returns the family with parameters in the order of these names.
    ///
    /// # Errors
    /// When a name is not that of a learned parameter.
    pub(super) fn new(model: TvDenoising, names: &[String]) -> Result<Self> {
        let parameters = model.parameters();
        let place = |name: &String| {
            (parameters.iter().position(|p| p.name == *name))
                .with_context(|| format!("{name} is not learned"))
        };
        let places = names.iter().map(place).collect::<Result<_>>()?;
        Ok(Self { model, places })
    }
}

impl LowerLevel for ReorderedDenoising {
    type Data = ImageData;
    type Scratch = DenoisingScratch;
    type Objective<'a> = Denoising<'a>;

    fn parameters(&self) -> Vec<Parameter> {
        let parameters = self.model.parameters();
        (self.places.iter())
            .map(|&place| parameters[place].clone())
            .collect()
    }

    fn prepare(&self, grid: Grid, data: &[f64]) -> Result<ImageData, BoxError> {
        self.model.prepare(grid, data)
    }

    fn objective<'a>(
        &'a self,
        values: &[f64],
        data: &'a ImageData,
    ) -> Result<Denoising<'a>, BoxError> {
        let mut ordered = vec![0.0; values.len()];
        for (&place, value) in self.places.iter().zip(values) {
            ordered[place] = *value;
        }
        self.model.objective(&ordered, data)
    }

    fn cold_start(&self, data: &ImageData, x: &mut [f64]) {
        self.model.cold_start(data, x);
    }
}

impl Setting {
    /// Returns the family of denoising problems.
    ///
    /// # Errors
    /// When the settings lack a parameter.
    pub(super) fn denoising(&self) -> Result<TvDenoising> {
        let choice = |name: &str| -> Result<Choice> {
            let parameter = (self.parameters.iter())
                .find(|p| p.name == name)
                .with_context(|| format!("settings/{}.toml lacks {name}", self.name))?;
            Ok(match *parameter {
                TvParameter {
                    fixed: Some(value), ..
                } => Choice::Fixed(value),
                TvParameter {
                    start,
                    lower,
                    upper,
                    ..
                } => Choice::Learned {
                    start,
                    lower,
                    upper,
                },
            })
        };
        Ok(TvDenoising {
            choices: TvChoices {
                alpha: choice("alpha")?,
                nu: choice("nu")?,
                xi: choice("xi")?,
            },
        })
    }

    /// Returns the family of sampling problems.
    ///
    /// # Errors
    /// When the experiment does not learn sampling weights.
    pub(super) fn frequencies(&self) -> Result<FourierWeights> {
        let Some(sampling) = self.sampling else {
            bail!("settings/{}.toml has no sampling weights", self.name);
        };
        let tv = TvParameters {
            alpha: sampling.alpha,
            nu: sampling.nu,
            xi: sampling.xi,
        };
        let model = FourierWeights::new(self.data.pixels, tv, sampling.start)?;
        Ok(model.with_bounds(sampling.lower, sampling.upper))
    }
}

impl PenaltySetting {
    /// Returns the penalties of the library.
    #[must_use]
    pub(super) fn to_library(self) -> Vec<Box<dyn bilevel::Penalty>> {
        match self {
            Self::None => Vec::new(),
            Self::ConditionNumber { weight } => vec![Box::new(ConditionNumber { weight })],
            Self::RootL1 { weight } => vec![Box::new(RootL1 { weight })],
        }
    }

    /// Returns the residual whose square is added to the objective.
    #[must_use]
    pub(super) fn residual(self, theta: &[f64], condition_number: f64) -> f64 {
        match self {
            Self::None => 0.0,
            Self::ConditionNumber { weight } => weight.sqrt() * condition_number,
            Self::RootL1 { weight } => {
                (weight * theta.iter().map(|theta| theta.abs()).sum::<f64>()).sqrt()
            }
        }
    }

    /// Returns the number of residuals.
    #[must_use]
    pub(super) const fn num_residuals(self) -> usize {
        match self {
            Self::None => 0,
            Self::ConditionNumber { .. } | Self::RootL1 { .. } => 1,
        }
    }
}
