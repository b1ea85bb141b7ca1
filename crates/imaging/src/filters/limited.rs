//! Banks whose weak convexity is limited by construction, for learning.

use std::sync::Arc;

use super::basis::Basis;
use super::mixing::{Mixing, num_filters, potential_of};
use super::spectrum::{SmoothSupremum, Spectrum};
use super::{FilterBank, TwoRoots, checked_basis};
use crate::error::ModelError;

/// The exponent of the smooth limit; a choice.
const SHARPNESS: f64 = 8.0;

/// A potential before its bank is limited: `$\alpha$`, `$\nu$`, the share `$\beta/\alpha$` and the
/// spread `$\omega/\nu$`.
///
/// These numbers vary independently of each other: `$\alpha, \nu > 0$`, the share between 0 and 1,
/// and the spread at least 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FreePotential {
    /// The weight `$\alpha$` of the first root.
    pub alpha: f64,
    /// The smoothing `$\nu$` of the first root.
    pub nu: f64,
    /// The share `$\beta/\alpha$` of the second root.
    pub share: f64,
    /// The spread `$\omega/\nu$`.
    pub spread: f64,
}

/// A [`FilterBank`] that is made from parameters that can vary freely. All its weights are
/// multiplied by one number, so that its weak convexity stays below a given `limit`.
///
/// The number is `$(1 + (S/l)^8)^{-1/8}$`, where `$l$` is the limit and `$S$` a smooth upper bound
/// on the weak convexity without it. Learned filters are scaled to norm 1. Everything is
/// differentiable, and [`chain`](Self::chain) turns derivatives with respect to the potentials and
/// filters of the bank into those with respect to the parameters.
#[derive(Clone, Debug)]
pub struct LimitedBank {
    bank: Arc<FilterBank>,
    free: Vec<FreePotential>,
    /// For each part of the learned filters, the norm of its filter before it was scaled.
    norms: Vec<f64>,
    supremum: SmoothSupremum,
    scale: f64,
    /// The derivative of the scale with respect to the smooth supremum.
    slope: f64,
}

impl LimitedBank {
    /// Creates a bank of cosine filters, or of learned filters if there are coefficients.
    ///
    /// # Errors
    /// If the size is not one of [`FilterBank::SIZES`], a number of potentials or coefficients is
    /// wrong, or a parameter is out of range. The weak convexity without the limit may be up to
    /// about `$10^{38}$` times the limit.
    pub fn new(
        size: usize,
        coefficients: Option<&[f64]>,
        free: Vec<FreePotential>,
        limit: f64,
    ) -> Result<Self, ModelError> {
        let basis = checked_basis(size)?;
        let (scaled, norms) = match coefficients {
            None => (None, Vec::new()),
            Some(coefficients) => {
                let (scaled, norms) = scaled_to_one(&basis, coefficients)?;
                (Some(scaled), norms)
            }
        };
        let expected = FilterBank::num_potentials(size, coefficients.is_some())?;
        if free.len() != expected {
            return Err(ModelError::WrongLength {
                name: "potentials",
                expected,
                found: free.len(),
            });
        }
        let unlimited: Vec<TwoRoots> = free.iter().map(|free| free.at_scale(1.0)).collect();
        for potential in &unlimited {
            potential.check()?;
        }
        let of_filters = || {
            let count = num_filters(&basis, coefficients.is_some());
            (0..count).map(|filter| potential_of(&basis, filter))
        };
        let weights: Vec<f64> = of_filters()
            .map(|potential| unlimited[potential].weak_convexity())
            .collect();
        let mixing = (scaled.clone().map(|entries| Mixing::new(&basis, entries))).transpose()?;
        let spectrum = Spectrum {
            basis: &basis,
            mixing: mixing.as_ref(),
        };
        let mut supremum = spectrum.smooth_supremum(&weights);
        let mut by_weight = vec![0.0; free.len()];
        for (slope, potential) in supremum.by_weight.iter().zip(of_filters()) {
            by_weight[potential] += slope;
        }
        supremum.by_weight = by_weight;
        let power = (supremum.value / limit).powf(SHARPNESS);
        if !power.is_finite() {
            // the scale would be zero, and so would all weights
            let steepest =
                (unlimited.iter()).max_by(|a, b| a.weak_convexity().total_cmp(&b.weak_convexity()));
            return Err(ModelError::OutOfRange {
                name: "alpha / nu of the potential with the largest weak convexity",
                found: steepest.map_or(f64::NAN, |potential| potential.alpha / potential.nu),
                needed: "smaller, because the bank cannot be limited",
            });
        }
        let scale = (1.0 + power).powf(-1.0 / SHARPNESS);
        let slope = if supremum.value > 0.0 {
            -scale * power / ((1.0 + power) * supremum.value)
        } else {
            0.0
        };
        let potentials = free.iter().map(|free| free.at_scale(scale)).collect();
        Ok(Self {
            bank: Arc::new(FilterBank::new(size, scaled, potentials)?),
            free,
            norms,
            supremum,
            scale,
            slope,
        })
    }

    /// The bank.
    #[must_use]
    pub const fn bank(&self) -> &Arc<FilterBank> {
        &self.bank
    }

    /// Turns derivatives with respect to `$(\alpha_k, \nu_k, \beta_k, \omega_k)$` of the bank into
    /// those with respect to `alpha`, `nu`, `share` and `spread`, and derivatives with respect to
    /// the coefficients of the bank into those with respect to the given coefficients.
    pub fn chain(&self, by_potential: &mut [[f64; 4]], by_coefficient: &mut [f64]) {
        // The scale multiplies alpha and beta of all filters.
        let by_scale: f64 = (by_potential.iter().zip(&self.free))
            .map(|(slopes, free)| (slopes[0] + free.share * slopes[2]) * free.alpha)
            .sum();
        let by_supremum = by_scale * self.slope;
        for (k, (slopes, free)) in by_potential.iter_mut().zip(&self.free).enumerate() {
            let FreePotential {
                alpha,
                nu,
                share,
                spread,
            } = *free;
            let weak = free.at_scale(1.0).weak_convexity_gradient();
            let factor = by_supremum * self.supremum.by_weight[k];
            let mut total = weak.map(|slope| factor * slope);
            total[0] += self.scale * slopes[0];
            total[1] += slopes[1];
            total[2] += self.scale * slopes[2];
            total[3] += slopes[3];
            let [by_alpha, by_nu, by_beta, by_omega] = total;
            *slopes = [
                by_alpha + share * by_beta,
                by_nu + spread * by_omega,
                alpha * by_beta,
                nu * by_omega,
            ];
        }
        let Some(mixing) = &self.bank.mixing else {
            return;
        };
        for (slope, of_supremum) in by_coefficient.iter_mut().zip(&self.supremum.by_mixing) {
            *slope += by_supremum * of_supremum;
        }
        // The coefficients of each filter were scaled to norm 1.
        let mut along = Vec::with_capacity(self.norms.len());
        let mut rest = &*by_coefficient;
        for (row, _) in mixing.rows() {
            let (slopes, after) = rest.split_at(row.len());
            rest = after;
            along.push(
                slopes
                    .iter()
                    .zip(row)
                    .map(|(slope, c)| slope * c)
                    .sum::<f64>(),
            );
        }
        mixing.add_pairs(&mut along);
        let mut rest = by_coefficient;
        for (((row, _), norm), along) in mixing.rows().zip(&self.norms).zip(&along) {
            let (slopes, after) = rest.split_at_mut(row.len());
            rest = after;
            for (slope, coefficient) in slopes.iter_mut().zip(row) {
                *slope = (*slope - along * coefficient) / norm;
            }
        }
    }
}

impl FreePotential {
    fn at_scale(self, scale: f64) -> TwoRoots {
        let alpha = scale * self.alpha;
        TwoRoots {
            alpha,
            nu: self.nu,
            beta: self.share * alpha,
            omega: self.spread * self.nu,
        }
    }
}

/// Scales the coefficients of each filter to norm 1. Returns them and the norms before.
fn scaled_to_one(basis: &Basis, coefficients: &[f64]) -> Result<(Vec<f64>, Vec<f64>), ModelError> {
    let mixing = Mixing::new(basis, coefficients.to_vec())?;
    let mut norms = mixing.squared_norms();
    for norm in &mut norms {
        *norm = norm.sqrt();
        if !(*norm > 1e-100) {
            return Err(ModelError::OutOfRange {
                name: "the norm of a filter",
                found: *norm,
                needed: "positive",
            });
        }
    }
    let scaled = (mixing.rows().zip(&norms))
        .flat_map(|((row, _), norm)| row.iter().map(move |c| c / norm))
        .collect();
    Ok((scaled, norms))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn banks_that_cannot_be_limited_are_refused() {
        let new = |alpha: f64| {
            let potential = |alpha| FreePotential {
                alpha,
                nu: 0.5,
                share: 1.0,
                spread: 10.0,
            };
            let mut free = vec![potential(0.1); 8];
            free[2] = potential(alpha);
            LimitedBank::new(3, None, free, 0.9)
        };
        let alpha = new(1e30).expect("valid").bank().potentials()[2].alpha;
        assert!(alpha > 0.1, "{alpha}");
        // the scale would be zero
        let expected = "alpha / nu of the potential with the largest weak convexity is 2e40, but \
                        must be smaller, because the bank cannot be limited";
        assert_eq!(new(1e40).unwrap_err().to_string(), expected);
    }
}
