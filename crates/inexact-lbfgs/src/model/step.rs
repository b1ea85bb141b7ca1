//! The step of one iteration: Cauchy point, subspace minimisation, and the way back into the box.

use super::Memory;
use super::cauchy::{Cauchy, cauchy_point};
use super::compact::Compact;
use super::subspace::subspace_step;
use crate::linalg::dot;

/// The surroundings of the incumbent: gradient and box of the part of the feasible set in which the
/// objective is smooth.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Local<'a> {
    pub(crate) theta: &'a [f64],
    pub(crate) gradient: &'a [f64],
    pub(crate) lower: &'a [f64],
    pub(crate) upper: &'a [f64],
}

/// A step of the model.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// The full step, which stays in the box.
    pub(crate) direction: Vec<f64>,
    /// The derivative of the objective along the direction, as far as the gradient is right.
    pub(crate) slope: f64,
    /// The decrease of the model, at the end of the step or at the Cauchy point, whichever is
    /// larger.
    pub(crate) predicted: f64,
}

impl Local<'_> {
    /// Computes the step of the model with the pairs in `memory`; `None` if the small systems of
    /// the pairs are singular in floating-point numbers.
    pub(crate) fn step(&self, memory: &Memory) -> Option<Step> {
        let compact = Compact::new(memory)?;
        let cauchy = cauchy_point(self, &compact);
        let direction = self.with_subspace(&compact, &cauchy)?;
        let slope = dot(self.gradient, &direction);
        let at_end = -(slope + 0.5 * compact.curvature(&direction));
        Some(Step {
            slope,
            predicted: at_end.max(cauchy.decrease),
            direction,
        })
    }

    /// The step to the minimiser over the variables that are free at the Cauchy point, projected
    /// into the box. Where that is no step downhill, the way from the Cauchy point to the minimiser
    /// ends at the box instead.
    fn with_subspace(&self, compact: &Compact<'_>, cauchy: &Cauchy) -> Option<Vec<f64>> {
        let is_free = |k: &usize| {
            let [low, high] = [self.lower[*k], self.upper[*k]].map(|bound| bound - self.theta[*k]);
            low < cauchy.step[*k] && cauchy.step[*k] < high
        };
        let free: Vec<usize> = (0..self.theta.len()).filter(is_free).collect();
        if free.is_empty() {
            return Some(cauchy.step.clone());
        }
        let further = subspace_step(self, compact, cauchy, &free)?;
        let mut direction = cauchy.step.clone();
        for (&k, further) in free.iter().zip(&further) {
            direction[k] = self.within(k, cauchy.step[k] + further);
        }
        if dot(self.gradient, &direction) < 0.0 {
            return Some(direction);
        }
        let share = free.iter().zip(&further).fold(1.0, |share: f64, (&k, v)| {
            let [low, high] =
                [self.lower[k], self.upper[k]].map(|bound| bound - self.theta[k] - cauchy.step[k]);
            let room = match *v {
                v if v > 0.0 => high / v,
                v if v < 0.0 => low / v,
                _ => 1.0,
            };
            if room < share { room.max(0.0) } else { share }
        });
        for (&k, further) in free.iter().zip(&further) {
            direction[k] = self.within(k, cauchy.step[k] + share * further);
        }
        Some(direction)
    }

    /// The step of variable `k`, cut off at the box.
    fn within(&self, k: usize, step: f64) -> f64 {
        let [low, high] = [self.lower[k], self.upper[k]].map(|bound| bound - self.theta[k]);
        step.max(low).min(high)
    }

    /// The step to the point at time `t` of the projected path of steepest descent. `times` are
    /// those at which the variables reach their bounds.
    pub(super) fn path(&self, times: &[f64], t: f64) -> Vec<f64> {
        let along = |(k, time): (usize, &f64)| {
            let g = self.gradient[k];
            if *time > t {
                self.within(k, -t * g)
            } else if *time > 0.0 {
                let bound = if g < 0.0 {
                    self.upper[k]
                } else {
                    self.lower[k]
                };
                bound - self.theta[k]
            } else {
                0.0
            }
        };
        times.iter().enumerate().map(along).collect()
    }
}
