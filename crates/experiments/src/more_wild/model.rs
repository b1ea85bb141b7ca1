//! `--model`: a residual model as an argument, whatever the number of parameters.

use std::str::FromStr;

use anyhow::{Context, Error, Result, bail, ensure};
use dfo_ls::Model;

/// A model; numbers of points are in multiples of the number of parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ModelChoice {
    Linear,
    /// `None`: as many points as the solver takes by itself.
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
            ("linear", Some(_)) => bail!("linear models take no number of points"),
            ("composite", points) => Ok(Self::Composite(points)),
            ("regression", points) => Ok(Self::Regression(points.unwrap_or(2.0))),
            _ => bail!("the models are linear, composite and regression"),
        }
    }
}

fn parse_points(text: &str) -> Result<f64> {
    let points: f64 = text
        .parse()
        .with_context(|| format!("`{text}` is not a number of points per parameter"))?;
    ensure!(
        (1.0..=1000.0).contains(&points),
        "{points} points per parameter, but it must be 1 to 1000"
    );
    Ok(points)
}

impl ModelChoice {
    pub(super) fn for_params(self, num_params: usize) -> Model {
        match self {
            Self::Linear => Model::Linear,
            // Few parameters: the automatic choice is a composite model.
            Self::Composite(None) => Model::Automatic,
            Self::Composite(Some(max_points)) => Model::Composite { max_points },
            Self::Regression(points) => Model::Regression {
                num_points: scaled(num_params, points).max(num_params + 2),
            },
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "both factors are small and positive"
)]
fn scaled(num_params: usize, points: f64) -> usize {
    (num_params as f64 * points).round() as usize + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_named_with_points_per_parameter() {
        let model = |text: &str| text.parse::<ModelChoice>().map(|m| m.for_params(4));
        assert_eq!(model("linear").unwrap(), Model::Linear);
        assert_eq!(model("composite").unwrap(), Model::Automatic);
        assert_eq!(
            model("composite:1.5").unwrap(),
            Model::Composite { max_points: 1.5 }
        );
        assert_eq!(
            model("regression:2").unwrap(),
            Model::Regression { num_points: 9 }
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
