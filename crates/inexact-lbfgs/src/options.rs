//! The options of a run and their defaults.

use std::time::Duration;

use crate::SetupError;

/// The options of a run. `Options::default()` suits smooth functions of any number of parameters.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default))]
#[non_exhaustive]
pub struct Options {
    /// The error that a new point may have, as a share of the change from the incumbent. It is
    /// passed on to the oracle with every [`Request::New`](crate::Request::New).
    ///
    /// Default: 0.3. Between 0.03 and 0.3, the work of learning problems differed by at most 20 %.
    pub kappa: f64,
    /// The number of curvature pairs, which are steps with the differences of the gradients at
    /// their ends. The engine stores two vectors for each.
    ///
    /// Default: 20.
    pub memory: usize,
    /// The limits of the run.
    pub budget: Budget,
    /// The rules that end a run before its budget is spent.
    pub stop: Stop,
    /// The amount of data in the history.
    ///
    /// Default: [`History::Values`].
    pub history: History,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            kappa: 0.3,
            memory: 20,
            budget: Budget::default(),
            stop: Stop::default(),
            history: History::Values,
        }
    }
}

/// The limits of a run. `None` means no limit.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default))]
pub struct Budget {
    /// The largest number of points. A point counts once, however often it is sharpened.
    ///
    /// Default: 10,000.
    pub max_points: Option<u64>,
    /// The largest number of evaluations.
    ///
    /// Default: none.
    pub max_evaluations: Option<u64>,
    /// The work after which no more evaluations are asked for, in the oracle's unit.
    ///
    /// Default: none.
    pub max_work: Option<u64>,
    /// The wall-clock time after which [`drive_with`](crate::drive_with) stops the run. The engine
    /// itself has no clock.
    ///
    /// Default: none.
    pub max_time: Option<Duration>,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            max_points: Some(10_000),
            max_evaluations: None,
            max_work: None,
            max_time: None,
        }
    }
}

/// The rules that end a run before its budget is spent.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default))]
#[non_exhaustive]
pub struct Stop {
    /// The decrease below which the run has converged, as a share of the objective's absolute
    /// value. The model must predict no more than this at two incumbents in a row, and the last
    /// decreases, continued by a constant factor per step, must not add up to more.
    ///
    /// Default: 1e-7.
    pub predicted: f64,
    /// The same limit in the unit of the objective. The larger of the two counts.
    ///
    /// Default: 0.
    pub absolute: f64,
    /// Ends a run whose progress has become slow.
    ///
    /// Default: none.
    pub slow: Option<SlowProgress>,
}

impl Default for Stop {
    fn default() -> Self {
        Self {
            predicted: 1e-7,
            absolute: 0.0,
            slow: None,
        }
    }
}

/// The progress that counts as slow.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default))]
pub struct SlowProgress {
    /// The decrease of the objective, as a share of its absolute value, below which progress is
    /// slow.
    pub decrease: f64,
    /// The number of points over which the decrease is measured.
    pub points: u64,
}

impl Default for SlowProgress {
    /// A decrease of less than 3e-4 in ten points. In learned filters, later progress was not
    /// visible in held-out pictures.
    fn default() -> Self {
        Self {
            decrease: 3e-4,
            points: 10,
        }
    }
}

/// The amount of data in the history of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum History {
    /// The records have values, intervals and norms, but no parameters.
    Values,
    /// The records also have the parameters of every iteration and evaluation.
    Parameters,
}

impl Options {
    /// Checks the ranges of all options.
    pub(crate) fn validate(&self) -> Result<(), SetupError> {
        let check = |valid: bool, option, found, expected| {
            let error = SetupError::Option {
                option,
                found,
                expected,
            };
            if valid { Ok(()) } else { Err(error) }
        };
        let limit = |x: f64| x >= 0.0 && x.is_finite();
        let positive = self.kappa > 0.0 && self.kappa.is_finite();
        check(positive, "kappa", self.kappa, "positive and finite")?;
        let memory = (1..=MAX_MEMORY).contains(&self.memory);
        check(memory, "memory", self.memory as f64, "from 1 to 1000")?;
        let Stop {
            predicted,
            absolute,
            ..
        } = self.stop;
        let finite = "finite and at least 0";
        check(limit(predicted), "stop.predicted", predicted, finite)?;
        check(limit(absolute), "stop.absolute", absolute, finite)?;
        if let Some(slow) = &self.stop.slow {
            let decrease = slow.decrease;
            check(limit(decrease), "stop.slow.decrease", decrease, finite)?;
            check(slow.points > 0, "stop.slow.points", 0.0, "at least 1")?;
        }
        Ok(())
    }
}

/// The largest number of pairs. The dense systems of the method have twice this size.
const MAX_MEMORY: usize = 1000;
