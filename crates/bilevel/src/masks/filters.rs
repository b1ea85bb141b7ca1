//! Reconstructions with a bank of filters: their relative weights, and how they are learned.

use std::sync::Arc;

use imaging::{FourierPicture, ModelError};
use inexact_lbfgs::{Answer, EvalError, InexactFn, Options, Problem, Request, minimize};

use super::{MaskError, MaskPoint, MaskProblem};
use crate::search::SetOracle;

/// Replaces the total variation of a model by filters, if there are weights.
pub(super) fn with_filters<'a>(
    picture: FourierPicture<'a>,
    relative: &[f64],
) -> Result<FourierPicture<'a>, ModelError> {
    match relative {
        [] => Ok(picture),
        relative => picture.with_filters(relative),
    }
}

/// The range of relative weights that are learned, relative to the first ones; a choice.
const RANGE: f64 = 30.0;
/// The width of the interval of the objective with which a point is evaluated, as a share of the
/// objective; a choice.
const WIDTH: f64 = 2e-3;
/// The largest number of points; a choice.
const MAX_POINTS: u64 = 30;
/// Learning ends when this many points have gained less than this share of the objective; a choice.
const SLOW: inexact_lbfgs::SlowProgress = inexact_lbfgs::SlowProgress {
    decrease: 2e-3,
    points: 5,
};

impl MaskProblem {
    /// Learns the relative weights of filters for the mask of a point, starting from its own, with
    /// gradients; every accepted step certainly decreases the objective. Later points start from
    /// these weights.
    ///
    /// # Errors
    /// When a reconstruction fails.
    pub fn learn_filters(&mut self, point: &mut MaskPoint) -> Result<(), MaskError> {
        let first = point.filters().to_vec();
        if first.is_empty() {
            return Ok(());
        }
        let mut failure = None;
        let mut oracle = InexactFn::new(|theta: &[f64], request: &Request<Arc<MaskPoint>>| {
            let filters = theta.iter().zip(&first).map(|(t, w)| w * t.exp());
            let filters: Vec<f64> = filters.collect();
            let answer = self.at_filters(point, filters, request);
            answer.map_err(|error| {
                let reason = error.to_string();
                failure = Some(error);
                EvalError::abort(reason)
            })
        });
        let range = RANGE.ln();
        let problem = Problem::new(vec![0.0; first.len()])
            .with_bounds(vec![-range; first.len()], vec![range; first.len()]);
        let mut options = Options::default();
        options.budget.max_points = Some(MAX_POINTS);
        options.stop.slow = Some(SLOW);
        let report = problem.and_then(|problem| minimize(&mut oracle, problem, options));
        let report = report.map_err(|error| MaskError::Failed(Box::new(error)))?;
        if let Some(error) = failure {
            return Err(error);
        }
        let filters = report.theta.iter().zip(&first).map(|(t, w)| w * t.exp());
        let filters: Arc<[f64]> = filters.collect();
        let (set, tv) = (point.set().to_vec(), point.tv());
        let width = WIDTH * self.interval(point).upper;
        let learned = self.evaluate_from(&set, None, tv, filters.clone(), Some(point), width)?;
        *point = learned;
        self.filters = filters;
        Ok(())
    }

    /// Evaluates the mask of a point with other filters.
    fn at_filters(
        &mut self,
        start: &MaskPoint,
        filters: Vec<f64>,
        request: &Request<Arc<MaskPoint>>,
    ) -> Result<Answer<Arc<MaskPoint>>, MaskError> {
        let mut point = match request {
            Request::Sharpen { known, shrink } => {
                let mut known = MaskPoint::clone(known);
                let interval = self.interval(&known);
                self.sharpen(&mut known, shrink * (interval.upper - interval.lower))?;
                known
            }
            _ => {
                let near = request.token().map_or(start, |near| near);
                let width = WIDTH * self.interval(near).upper;
                let (set, tv) = (start.set(), start.tv());
                self.evaluate_from(set, None, tv, filters.clone().into(), Some(near), width)?
            }
        };
        let slopes = self.filter_slopes(&mut point)?;
        let interval = self.interval(&point);
        let gradient: Vec<f64> = slopes.iter().zip(&filters).map(|(s, w)| s * w).collect();
        Ok(Answer {
            value: 0.5 * (interval.lower + interval.upper),
            interval,
            gradient_error: 0.05 * lowlevel::norm(&gradient),
            gradient,
            resume: Arc::new(point),
            work: 1,
        })
    }
}
