//! Certified errors from approximate subgradients.
//!
//! An approximate subgradient ([`certificate`](crate::certificate)) usually certifies a third of
//! the error that the gradient certifies, so a solve ends sooner. It is found in a few rounds: the
//! first [shift](crate::SubgradientPoint) is a multiple of the gradient, and each next one adds a
//! multiple of the vector that was found. Where rough gradients are used, all rounds but the last
//! are rough.

use crate::certificate::{Certificate, ErrorBound};
use crate::evaluator::Measured;
use crate::iteration::Iteration;
use crate::norm::norm;
use crate::objective::StronglyConvex;
use crate::second_order::{Subgradient, SubgradientPoint};
use crate::state::State;

/// The shift grows by this multiple of the gradient, then of the last vector; measured, see
/// decision 20.
const OVERSHOOT: f64 = 1.5;
/// The number of rounds; measured, see decision 20.
const NUM_ROUNDS: usize = 3;
/// The factors by which the bound still becomes smaller, by the number of rounds that are left;
/// measured, see decision 20.
const GAINS: [f64; NUM_ROUNDS] = [1.0, 0.9, 0.7];
/// The expected ratio of the bound to that of the gradient, before there was one.
const SHARPNESS: f64 = 0.35;

/// The sharper bounds of one solve.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Subgradients {
    /// The expected ratio of the bound to that of the gradient.
    sharpness: f64,
}

impl Subgradients {
    pub(crate) fn of(certificate: Certificate) -> Option<Self> {
        (certificate == Certificate::Subgradient).then_some(Self {
            sharpness: SHARPNESS,
        })
    }

    /// Whether the target may be certified at a gradient of norm `norm`, while the gradient alone
    /// would need the norm `threshold`.
    fn is_due(self, norm: f64, threshold: f64) -> bool {
        self.sharpness * norm <= threshold
    }

    /// There are no sharper bounds.
    const fn end(&mut self) {
        self.sharpness = f64::INFINITY;
    }

    /// Records a bound, given that of the gradient and the number of rounds that are left. Returns
    /// whether the last one is expected to certify the target.
    fn record(
        &mut self,
        bound: ErrorBound,
        of_gradient: ErrorBound,
        left: usize,
        target: ErrorBound,
    ) -> bool {
        let expected = GAINS[left] * bound.value();
        // A bound that is infinite is never due again.
        self.sharpness = expected / of_gradient.value();
        expected <= target.value()
    }
}

impl<O: StronglyConvex> Iteration<'_, O> {
    /// Certifies an error with approximate subgradients, if that is likely to certify `target`.
    pub(crate) fn certify_by_subgradients(
        &mut self,
        subgradients: &mut Subgradients,
        target: ErrorBound,
    ) {
        let threshold = self.threshold(target);
        let Some(Measured { norm: measured, .. }) =
            (self.measured).filter(|measured| subgradients.is_due(measured.norm, threshold))
        else {
            return;
        };
        let of_gradient = self.error_with(measured, 0.0);
        for left in (0..NUM_ROUNDS).rev() {
            let is_rough = self.evaluator.rough_above.is_some() && left > 0;
            let Some((norm, found)) = self.next_subgradient(left + 1 == NUM_ROUNDS, is_rough)
            else {
                subgradients.end();
                return;
            };
            self.evaluator.other_work += found.cost;
            let (rounding, dim) = (found.rounding, self.state.point.len());
            let bound = self.bound.with_slack(norm, rounding, found.slack, dim);
            if !is_rough && self.sharper.is_none_or(|sharper| bound < sharper) {
                self.sharper = Some(bound);
            }
            let is_likely = subgradients.record(bound, of_gradient, left, target);
            if !is_likely || self.sharper.is_some_and(|sharper| sharper <= target) {
                return;
            }
        }
    }

    /// Computes an approximate subgradient, and its norm, if the objective offers it. The shift is
    /// a multiple of the gradient at first, to which a multiple of the last subgradient is added.
    fn next_subgradient(&mut self, is_first: bool, is_rough: bool) -> Option<(f64, Subgradient)> {
        let State {
            point,
            memory,
            correction,
            ..
        } = &mut *self.state;
        let gradient = &memory.gradient()?.values;
        let (shift, out) = (&mut correction.gradient, correction.metric.free());
        if is_first {
            shift.clear();
            shift.extend(gradient.iter().map(|g| OVERSHOOT * g));
            out.resize(point.len(), 0.0);
        } else {
            for (shift, r) in shift.iter_mut().zip(&*out) {
                *shift += OVERSHOOT * r;
            }
        }
        let at = SubgradientPoint {
            x: point,
            shift,
            is_rough,
        };
        let second = self.evaluator.objective.second_order()?;
        let found = second.subgradient(&at, out, self.evaluator.scratch)?;
        Some((norm(out), found))
    }
}

#[cfg(test)]
mod tests;
