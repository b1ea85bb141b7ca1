//! The argument of `--model`: a residual model for problems with any number of parameters.

use std::str::FromStr;

use anyhow::{Context, Error, Result, bail, ensure};
use dfo_ls::Model;

/// A residual model. Numbers of points are multiples of the number of parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ModelChoice {
    Linear,
    /// A composite model; `None` is the solver's default number of points.
    Composite(Option<f64>),
    Regression(f64),
}

impl FromStr for ModelChoice {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (name, points) = match text.split_once(':') {
            Some((name, points)) => (name, Some(parse_points(points)?)),
            None => (text, None),
        };
        match (name, points) {
            ("linear", None) => Ok(Self::Linear),
            ("linear", Some(_)) => {
                bail!("a linear model has no number of points: write `linear`")
            }
            ("composite", points) => Ok(Self::Composite(points)),
            ("regression", points) => Ok(Self::Regression(points.unwrap_or(2.0))),
            _ => bail!("there is no model `{name}`; use linear, composite or regression"),
        }
    }
}

fn parse_points(text: &str) -> Result<f64> {
    let points: f64 = text
        .parse()
        .with_context(|| format!("`{text}` is not a number of points per parameter"))?;
    ensure!(
        (1.0..=1000.0).contains(&points),
        "{points} points per parameter: the number must be between 1 and 1000"
    );
    Ok(points)
}

impl From<ModelChoice> for Model {
    fn from(choice: ModelChoice) -> Self {
        match choice {
            ModelChoice::Linear => Self::Linear,
            // The problems have few parameters, for which the automatic choice is a composite
            // model.
            ModelChoice::Composite(None) => Self::Automatic,
            ModelChoice::Composite(Some(points_per_param)) => Self::Composite { points_per_param },
            ModelChoice::Regression(points_per_param) => Self::Regression { points_per_param },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_named_with_points_per_parameter() {
        let model = |text: &str| text.parse::<ModelChoice>().map(Model::from);
        assert_eq!(model("linear").unwrap(), Model::Linear);
        assert_eq!(model("composite").unwrap(), Model::Automatic);
        assert_eq!(
            model("composite:1.5").unwrap(),
            Model::Composite {
                points_per_param: 1.5
            }
        );
        assert_eq!(
            model("regression:2").unwrap(),
            Model::Regression {
                points_per_param: 2.0
            }
        );
        for bad in [
            "",
            "cubic",
            "linear:2",
            "composite:x",
            "composite:0",
            "regression:nan",
        ] {
            assert!(model(bad).is_err(), "{bad}");
        }
    }
}
