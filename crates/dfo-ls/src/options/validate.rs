//! The ranges of all options.

use std::time::Duration;

use super::{AccuracyControl, Algorithm, Model, NoiseLevel, Options, Samples, Scaling};
use crate::SetupError;

impl Options {
    /// Checks every range.
    ///
    /// # Errors
    /// Names the option that is out of range.
    pub fn validate(&self, num_params: usize) -> Result<(), SetupError> {
        let region = &self.trust_region;
        let positive = "positive and finite";
        check(
            "trust_region.initial_radius",
            region.initial_radius,
            positive,
            is_positive,
        )?;
        check(
            "trust_region.final_radius",
            region.final_radius,
            positive,
            is_positive,
        )?;
        check(
            "trust_region.final_radius",
            region.final_radius,
            "less than the initial radius",
            |r| r < region.initial_radius,
        )?;
        check(
            "trust_region.max_radius",
            region.max_radius,
            "at least the initial radius and finite",
            |r| r >= region.initial_radius && r.is_finite(),
        )?;
        check(
            "trust_region.eta1",
            region.eta1,
            "between 0 and 1",
            is_share,
        )?;
        check(
            "trust_region.eta2",
            region.eta2,
            "between eta1 and 1",
            |eta2| eta2 >= region.eta1 && eta2 < 1.0,
        )?;
        check(
            "trust_region.gamma_dec",
            region.gamma_dec,
            "between 0 and 1",
            is_share,
        )?;
        check(
            "trust_region.gamma_inc",
            region.gamma_inc,
            "above 1",
            is_above_one,
        )?;
        check(
            "trust_region.gamma_inc_step",
            region.gamma_inc_step,
            "above 1",
            is_above_one,
        )?;
        check(
            "trust_region.alpha1",
            region.alpha1,
            "between 0 and 1",
            is_share,
        )?;
        check(
            "trust_region.alpha2",
            region.alpha2,
            "between 0 and 1",
            is_share,
        )?;
        check(
            "trust_region.safety",
            region.safety,
            "between 0 and 1",
            is_share,
        )?;
        if let Algorithm::Paper(paper) = &self.algorithm {
            check("algorithm.epsilon", paper.epsilon, positive, is_positive)?;
            check(
                "algorithm.poisedness",
                paper.poisedness,
                "above 1",
                is_above_one,
            )?;
        }
        self.validate_accuracy()?;
        self.validate_model(num_params)?;
        self.validate_limits()
    }

    fn validate_accuracy(&self) -> Result<(), SetupError> {
        let region = &self.trust_region;
        let limit = region.eta1.min(1.0 - region.eta2) / 2.0;
        match &self.accuracy {
            AccuracyControl::Dynamic(dynamic) => {
                check(
                    "accuracy.eta1_prime",
                    dynamic.eta1_prime,
                    "positive and less than min(eta1, 1 - eta2)/2",
                    |eta| eta > 0.0 && eta < limit,
                )?;
                check(
                    "accuracy.kappa_inc",
                    dynamic.kappa_inc,
                    "positive and finite",
                    is_positive,
                )?;
                check("accuracy.signal", dynamic.signal, "zero or positive", |s| {
                    s >= 0.0
                })?;
                check_option(
                    "accuracy.model_constant",
                    dynamic.model_constant,
                    "positive and finite",
                    is_positive,
                )?;
                check_option("accuracy.stale", dynamic.stale, "at least 1", |s| s >= 1.0)
            }
            AccuracyControl::Experiments(rules) => {
                check(
                    "accuracy.eta1_prime",
                    rules.eta1_prime,
                    "positive and at most min(eta1, 1 - eta2)/2",
                    |eta| eta > 0.0 && eta <= limit * (1.0 + f64::EPSILON * 4.0),
                )?;
                check(
                    "accuracy.model_constant",
                    rules.model_constant,
                    "positive",
                    is_positive,
                )?;
                check("accuracy.floor", rules.floor, "zero or positive", |f| {
                    f >= 0.0
                })
            }
            AccuracyControl::Fixed(_) => Ok(()),
        }
    }

    fn validate_model(&self, num_params: usize) -> Result<(), SetupError> {
        match self.model {
            Model::Automatic | Model::Linear => {}
            Model::Regression { points_per_param } | Model::Composite { points_per_param } => {
                check(
                    "model.points_per_param",
                    points_per_param,
                    "at least 1 and finite",
                    |p| p >= 1.0 && p.is_finite(),
                )?;
            }
        }
        if matches!(self.algorithm, Algorithm::Paper(_)) && self.model != Model::Linear {
            return Err(SetupError::Conflict {
                first: "algorithm",
                second: "model",
                why: "Algorithm 1 is stated for linear models",
            });
        }
        if let Some(directions) = self.initial.num_directions
            && (directions == 0 || directions > num_params)
        {
            return Err(out_of_range(
                "initial.num_directions",
                count(directions),
                "between 1 and the number of parameters",
            ));
        }
        if let Scaling::Given(units) = &self.scaling {
            if units.len() != num_params {
                return Err(SetupError::Length {
                    argument: "scaling",
                    expected: num_params,
                    found: units.len(),
                });
            }
            for &unit in units {
                check("scaling", unit, "positive and finite", is_positive)?;
            }
        }
        Ok(())
    }

    fn validate_limits(&self) -> Result<(), SetupError> {
        match self.noise.level {
            Some(NoiseLevel::Additive(level) | NoiseLevel::Multiplicative(level)) => {
                check("noise.level", level, "zero or positive", |l| l >= 0.0)?;
            }
            None => {}
        }
        if let Samples::Fixed(0) | Samples::Growing { max: 0 } = self.noise.samples {
            return Err(out_of_range("noise.samples", 0.0, "at least 1"));
        }
        if let (Samples::Fixed(samples), Some(most)) =
            (self.noise.samples, self.budget.max_evaluations)
            && u64::from(samples) > most
        {
            return Err(SetupError::Conflict {
                first: "noise.samples",
                second: "budget.max_evaluations",
                why: "not even one point could be evaluated",
            });
        }
        if let Some(slow) = &self.slow {
            check("slow.rate", slow.rate, "zero or positive", |r| r >= 0.0)?;
            if slow.history == 0 {
                return Err(out_of_range("slow.history", 0.0, "at least 1"));
            }
        }
        if self.batch.0 == 0 {
            return Err(out_of_range("batch", 0.0, "at least 1"));
        }
        check_option("target", self.target, "finite", f64::is_finite)?;
        let zero = |limit: Option<u64>| limit == Some(0);
        for (option, is_zero) in [
            ("budget.max_points", zero(self.budget.max_points)),
            ("budget.max_evaluations", zero(self.budget.max_evaluations)),
            ("budget.max_work", zero(self.budget.max_work)),
            (
                "budget.max_time",
                self.budget.max_time == Some(Duration::ZERO),
            ),
        ] {
            if is_zero {
                return Err(out_of_range(option, 0.0, "positive"));
            }
        }
        Ok(())
    }
}

fn is_positive(value: f64) -> bool {
    value > 0.0 && value.is_finite()
}

fn is_share(value: f64) -> bool {
    value > 0.0 && value < 1.0
}

fn is_above_one(value: f64) -> bool {
    value > 1.0 && value.is_finite()
}

fn count(number: usize) -> f64 {
    number as f64
}

fn out_of_range(option: &'static str, found: f64, expected: &'static str) -> SetupError {
    SetupError::Option {
        option,
        found,
        expected,
    }
}

fn check(
    option: &'static str,
    value: f64,
    expected: &'static str,
    allowed: impl FnOnce(f64) -> bool,
) -> Result<(), SetupError> {
    if allowed(value) {
        Ok(())
    } else {
        Err(out_of_range(option, value, expected))
    }
}

fn check_option(
    option: &'static str,
    value: Option<f64>,
    expected: &'static str,
    allowed: impl FnOnce(f64) -> bool,
) -> Result<(), SetupError> {
    value.map_or(Ok(()), |value| check(option, value, expected, allowed))
}
