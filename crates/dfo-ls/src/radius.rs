//! Rules for the two radii, as pure functions.

use crate::options::TrustRegion;

/// The multiple of the lower radius up to which the radius becomes the lower radius: Powell's
/// BOBYQA report (2009).
const NEARLY_RHO: f64 = 1.5;
/// The multiple of the final radius up to which the lower radius is reduced to the final radius at
/// once: Powell's BOBYQA report (2009).
const LAST_REDUCTION: f64 = 16.0;
/// The multiple of the final radius up to which the lower radius is reduced to its geometric mean
/// with the final radius: Powell's BOBYQA report (2009).
const MEAN_REDUCTION: f64 = 250.0;

/// The radius after a step of length `step` with the given ratio of achieved to predicted decrease.
/// A ratio that is NaN counts as that of an unsuccessful step.
pub(crate) fn after_step(delta: f64, rho: f64, step: f64, ratio: f64, rules: &TrustRegion) -> f64 {
    let step = step.min(delta);
    let new = if ratio >= rules.eta2 {
        (rules.gamma_inc * delta)
            .max(rules.gamma_inc_step * step)
            .min(rules.max_radius)
    } else if ratio >= rules.eta1 {
        (rules.gamma_dec * delta).max(step)
    } else {
        (rules.gamma_dec * delta).min(step)
    };
    if new <= NEARLY_RHO * rho { rho } else { new }
}

/// The next lower radius, and the radius that goes with it.
pub(crate) fn reduce(rho: f64, rules: &TrustRegion) -> (f64, f64) {
    let last = rules.final_radius;
    let ratio = rho / last;
    let new = if ratio <= LAST_REDUCTION {
        last
    } else if ratio <= MEAN_REDUCTION {
        ratio.sqrt() * last
    } else {
        rules.alpha1 * rho
    };
    (new, (rules.alpha2 * rho).max(new))
}

/// An interval that contains the ratio of achieved to predicted decrease.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RatioInterval {
    pub(crate) lower: f64,
    pub(crate) upper: f64,
}

impl RatioInterval {
    pub(crate) fn middle(self) -> f64 {
        0.5 * (self.lower + self.upper)
    }

    /// Whether the whole interval leads to the same decision, or is narrow enough for the theory.
    ///
    /// The paper's accuracy condition (`MIN_ACCURACY`) is
    /// `$\max(\delta^k, \delta^k_+) \le \eta_1' (m^k(0) - m^k(s^k))$`. The sum of both errors is
    /// then at most `$2\eta_1'$` times the predicted decrease, so that
    /// `$|\tilde\rho^k - \rho^k| \le 2\eta_1'$`. The theory uses only this inequality, which is
    /// what this function tests.
    pub(crate) fn decides(self, rules: &TrustRegion, eta1_prime: f64) -> bool {
        let proven = self.upper < rules.eta1
            || self.lower >= rules.eta2
            || (self.lower >= rules.eta1 && self.upper < rules.eta2);
        let fine = 0.5 * (self.upper - self.lower) <= 2.0 * eta1_prime;
        proven || fine
    }
}

#[cfg(test)]
mod tests;
