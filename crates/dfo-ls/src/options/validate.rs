//! Validation of the options.

use std::time::Duration;

use super::{AccuracyControl, Algorithm, Model, NoiseLevel, Options, Samples, Scaling};
use crate::SetupError;

const POSITIVE: &str = "positive and finite";
const SHARE: &str = "between 0 and 1";
const ABOVE_ONE: &str = "above 1 and finite";

impl Options {
    /// Checks that every option is in its range for a problem with `num_params` parameters.
    ///
    /// # Errors
    /// When an option is out of range or two options exclude each other. The error names them.
    pub fn validate(&self, num_params: usize) -> Result<(), SetupError> {
        self.validate_trust_region()?;
        if let Algorithm::Paper(paper) = &self.algorithm {
            let epsilon = paper.epsilon;
            check("algorithm.epsilon", epsilon, POSITIVE, is_positive)?;
            let poisedness = paper.poisedness;
            check("algorithm.poisedness", poisedness, ABOVE_ONE, is_above_one)?;
        }
        self.validate_accuracy()?;
        self.validate_model(num_params)?;
        self.validate_limits()
    }

    #[rustfmt::skip]
    fn validate_trust_region(&self) -> Result<(), SetupError> {
        let r = &self.trust_region;
        for (option, value, expected, allowed) in [
            ("trust_region.initial_radius", r.initial_radius, POSITIVE, is_positive(r.initial_radius)),
            ("trust_region.final_radius", r.final_radius, POSITIVE, is_positive(r.final_radius)),
            ("trust_region.final_radius", r.final_radius, "less than the initial radius", r.final_radius < r.initial_radius),
            ("trust_region.max_radius", r.max_radius, "at least the initial radius and finite", r.max_radius >= r.initial_radius && r.max_radius.is_finite()),
            ("trust_region.eta1", r.eta1, SHARE, is_share(r.eta1)),
            ("trust_region.eta2", r.eta2, "between eta1 and 1", r.eta2 >= r.eta1 && r.eta2 < 1.0),
            ("trust_region.gamma_dec", r.gamma_dec, SHARE, is_share(r.gamma_dec)),
            ("trust_region.gamma_inc", r.gamma_inc, ABOVE_ONE, is_above_one(r.gamma_inc)),
            ("trust_region.gamma_inc_step", r.gamma_inc_step, ABOVE_ONE, is_above_one(r.gamma_inc_step)),
            ("trust_region.alpha1", r.alpha1, SHARE, is_share(r.alpha1)),
            ("trust_region.alpha2", r.alpha2, SHARE, is_share(r.alpha2)),
            ("trust_region.safety", r.safety, SHARE, is_share(r.safety)),
        ] {
            check(option, value, expected, |_| allowed)?;
        }
        Ok(())
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
                    POSITIVE,
                    is_positive,
                )?;
                check("accuracy.signal", dynamic.signal, "zero or positive", |s| {
                    s >= 0.0
                })?;
                check_option(
                    "accuracy.model_constant",
                    dynamic.model_constant,
                    POSITIVE,
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
                    POSITIVE,
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
                why: "Algorithm 1 is stated for linear models; set `model` to `Linear`",
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
                check("scaling", unit, POSITIVE, is_positive)?;
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
                why: "one point would need more evaluations than the budget has; raise \
                      `budget.max_evaluations`",
            });
        }
        if let Some(slow) = &self.slow {
            check("slow.rate", slow.rate, "zero or positive", |r| r >= 0.0)?;
            if slow.history == 0 {
                return Err(out_of_range("slow.history", 0.0, "at least 1"));
            }
        }
        if self.batch == 0 {
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
