//! Masks by relaxation, as the literature has them: one weight between 0 and 1 for each element,
//! learned with penalties on its size and on values other than 0 and 1, and rounded at the end.
//!
//! At low noise this loses: a frequency of weight 0.25 is known nearly as well as one of weight 1,
//! so weights spread over all elements, and rounding throws most of them away. The result says by
//! how much.

use std::ops::ControlFlow;

use super::{LearnedMask, MaskError, MaskOptions, MaskProblem, MaskProgress};
use crate::search::SetOracle;

/// A mask by relaxation.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RelaxedMask {
    /// The rounded mask, with its own parameters.
    pub rounded: LearnedMask,
    /// The learned weights of all elements.
    pub weights: Vec<f64>,
    /// The objective with the learned weights and parameters tuned for them, before rounding.
    pub relaxed: f64,
}

/// The number of steps; a choice.
const STEPS: usize = 40;

impl MaskProblem {
    /// Learns weights by projected gradient steps whose sum is limited by the size of the mask,
    /// with a penalty on `$\sum_k s_k(1 - s_k)$` that grows, and rounds them to a mask: the
    /// elements with the largest weights. Then tunes the parameters for it. Calls `observe` after
    /// every step; it ends the steps by returning [`ControlFlow::Break`].
    ///
    /// # Errors
    /// When the size of the mask does not fit, or a reconstruction fails.
    pub fn relax(
        &mut self,
        options: &MaskOptions,
        mut observe: impl FnMut(MaskProgress<'_>) -> ControlFlow<()>,
    ) -> Result<RelaxedMask, MaskError> {
        let fixed = self.pattern().centre(self.grid(), options.centre);
        let num_fixed = fixed.iter().filter(|&&entry| entry).count();
        options.check(self.pattern(), self.grid())?;
        let budget = (options.size - num_fixed) as f64;
        let share = budget / (fixed.len() - num_fixed).max(1) as f64;
        let mut weights: Vec<f64> = (fixed.iter())
            .map(|&fixed| if fixed { 1.0 } else { share })
            .collect();
        let mut point = self.evaluate_weights(&weights, None)?;
        let mut step: Option<f64> = None;
        let (mut evaluations, mut is_complete) = (1, true);
        for number in 0..STEPS {
            let objective = self.interval(&point).upper;
            let mut slopes = self.slopes_of(&mut point)?;
            // The penalty makes up a growing part of the slopes: at first none.
            let strength = number as f64 / STEPS as f64 * objective / budget.max(1.0);
            for (slope, weight) in slopes.iter_mut().zip(&weights) {
                *slope += strength * (1.0 - 2.0 * weight);
            }
            let largest = slopes
                .iter()
                .fold(0.0_f64, |largest, slope| largest.max(slope.abs()));
            let length = *step.get_or_insert(0.5 / largest.max(f64::MIN_POSITIVE));
            let moved: Vec<f64> = weights
                .iter()
                .zip(&slopes)
                .map(|(w, s)| w - length * s)
                .collect();
            let next = projected(&moved, &fixed, budget);
            let trial = self.evaluate_weights(&next, Some(&point))?;
            let penalty = |weights: &[f64]| -> f64 {
                strength * weights.iter().map(|w| w * (1.0 - w)).sum::<f64>()
            };
            let is_better =
                self.interval(&trial).upper + penalty(&next) < objective + penalty(&weights);
            if is_better {
                (point, weights) = (trial, next);
                step = Some(1.5 * length);
            } else {
                step = Some(0.4 * length);
            }
            evaluations += 1;
            let most: Vec<bool> = weights.iter().map(|&weight| weight > 0.5).collect();
            let progress = MaskProgress {
                set: &most,
                tv: point.tv(),
                interval: self.interval(&point),
                restart: 0,
                evaluations,
                accepted: 0,
            };
            if observe(progress).is_break() {
                is_complete = false;
                break;
            }
        }
        // the rounded mask has its own parameters, so these weights have theirs
        self.tune_parameters(&mut point)?;
        let relaxed = self.interval(&point).upper;
        let mut order: Vec<usize> = (0..weights.len()).collect();
        order.sort_by(|&a, &b| weights[b].total_cmp(&weights[a]));
        let mut set = fixed;
        for element in order {
            if set.iter().filter(|&&entry| entry).count() < options.size {
                set[element] = true;
            }
        }
        let mut rounded = self.tuned(&set, point.tv())?;
        self.learn_filters(&mut rounded)?;
        let interval = self.interval(&rounded);
        Ok(RelaxedMask {
            rounded: LearnedMask {
                point: rounded,
                interval,
                evaluations,
                accepted: 0,
                is_complete,
            },
            weights,
            relaxed,
        })
    }
}

/// Returns the nearest weights in `$[0, 1]$` whose sum, besides fixed ones, is at most `budget`:
/// all are lowered by the same number, which bisection finds.
fn projected(weights: &[f64], fixed: &[bool], budget: f64) -> Vec<f64> {
    let lowered = |by: f64| {
        weights.iter().zip(fixed).map(move |(weight, &fixed)| {
            if fixed {
                1.0
            } else {
                (weight - by).clamp(0.0, 1.0)
            }
        })
    };
    let sum = |by: f64| -> f64 {
        let free = lowered(by).zip(fixed).filter(|(_, fixed)| !**fixed);
        free.map(|(weight, _)| weight).sum()
    };
    if sum(0.0) <= budget {
        return lowered(0.0).collect();
    }
    let largest = weights.iter().copied().fold(0.0, f64::max);
    let (mut low, mut high) = (0.0, largest);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if sum(middle) > budget {
            low = middle;
        } else {
            high = middle;
        }
    }
    lowered(high).collect()
}

#[cfg(test)]
mod tests {
    use super::projected;

    #[test]
    fn projections_keep_the_budget_and_fixed_weights() {
        let weights = [0.2, 0.9, 1.4, 0.5, 0.6];
        let fixed = [true, false, false, false, false];
        let near = projected(&weights, &fixed, 1.5);
        assert!((near[0] - 1.0).abs() < 1e-15);
        let sum: f64 = near[1..].iter().sum();
        assert!((sum - 1.5).abs() < 1e-12, "{near:?}");
        // all free weights are lowered by the same number
        assert!((near[1] - near[4] - 0.3).abs() < 1e-12);
        let roomy = projected(&weights, &fixed, 10.0);
        assert!((roomy[1] - 0.9).abs() < 1e-15 && (roomy[2] - 1.0).abs() < 1e-15);
    }
}
