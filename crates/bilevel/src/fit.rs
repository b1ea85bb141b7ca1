//! The training objective at given reconstructions.

use dfo_ls::{Accuracy, ObjectiveInterval};
use lowlevel::ErrorBound;
use thiserror::Error;

/// A reconstruction beside the image it should be.
#[derive(Clone, Debug)]
pub struct Reconstruction<'a> {
    /// `$\tilde x_i$`.
    pub x: Vec<f64>,
    /// Its certified error, `$\|\tilde x_i - \hat x_i\| \le \varepsilon_i$`.
    pub error: ErrorBound,
    /// `$x_i$`.
    pub truth: &'a [f64],
}

/// Whether the objective is a mean or a sum over images.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// `$f = \frac1n \sum_i \|\hat x_i - x_i\|^2$`: the paper's text.
    #[default]
    Mean,
    /// `$f = \sum_i \|\hat x_i - x_i\|^2$`: the paper's figures.
    Sum,
}

/// The objective at given reconstructions, as residuals.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// `$\|\tilde x_i - x_i\|$`, one per image, over `$\sqrt n$` for a mean: `$\tilde f$` is the sum of their squares.
    pub residuals: Vec<f64>,
    /// How far the residuals may be from those of exact reconstructions.
    pub accuracy: Accuracy,
}

/// Reconstructions that cannot be compared with their truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FitError {
    /// There are none.
    #[error("there are no reconstructions")]
    Empty,
    /// A reconstruction and its truth differ in length.
    #[error("reconstruction {index} has {found} entries, but its truth has {expected}")]
    WrongLength {
        /// Which reconstruction.
        index: usize,
        /// Length of the truth.
        expected: usize,
        /// Length of the reconstruction.
        found: usize,
    },
    /// A reconstruction or its truth is not finite, or they are too far apart for their distance to be.
    #[error("the distance of reconstruction {index} from its truth is not finite")]
    NonFinite {
        /// Which reconstruction.
        index: usize,
    },
}

/// The objective at the given reconstructions.
///
/// By the triangle inequality the residual `$\|\tilde x_i - x_i\|$` is off by no more than the reconstruction, `$\varepsilon_i$`.
///
/// # Errors
/// When there are no reconstructions, or one does not fit its truth or is not finite.
pub fn fit(reconstructions: &[Reconstruction<'_>], scale: Scale) -> Result<Fit, FitError> {
    if reconstructions.is_empty() {
        return Err(FitError::Empty);
    }
    #[expect(
        clippy::cast_precision_loss,
        reason = "a number of images is far below 2^53"
    )]
    let factor = match scale {
        Scale::Mean => (reconstructions.len() as f64).sqrt().recip(),
        Scale::Sum => 1.0,
    };
    let mut residuals = Vec::with_capacity(reconstructions.len());
    let mut accuracies = Vec::with_capacity(reconstructions.len());
    for (index, reconstruction) in reconstructions.iter().enumerate() {
        let Reconstruction { x, error, truth } = reconstruction;
        if x.len() != truth.len() {
            return Err(FitError::WrongLength {
                index,
                expected: truth.len(),
                found: x.len(),
            });
        }
        let squares: f64 = x.iter().zip(*truth).map(|(x, t)| (x - t) * (x - t)).sum();
        let distance = squares.sqrt();
        if !distance.is_finite() {
            return Err(FitError::NonFinite { index });
        }
        #[expect(
            clippy::cast_precision_loss,
            reason = "a number of pixels is far below 2^53"
        )]
        let rounding = (x.len() as f64 + 8.0) * f64::EPSILON * distance;
        residuals.push(factor * distance);
        // A bound is never negative or NaN; if it were, nothing would be known.
        let accuracy = Accuracy::new(factor * (error.value() + rounding));
        accuracies.push(accuracy.unwrap_or(Accuracy::ANY));
    }
    Ok(Fit {
        residuals,
        accuracy: Accuracy::of_parts(accuracies),
    })
}

impl Fit {
    /// `$\tilde f$`.
    #[must_use]
    pub fn objective(&self) -> f64 {
        self.residuals.iter().map(|r| r * r).sum()
    }

    /// Where `$f$` of exact reconstructions certainly lies.
    #[must_use]
    pub fn objective_interval(&self) -> ObjectiveInterval {
        self.accuracy.objective_interval(self.objective())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bound(value: f64) -> ErrorBound {
        ErrorBound::new(value).unwrap()
    }

    proptest! {
        /// Exact reconstructions, and computed ones at exactly the stated distance.
        #[test]
        fn the_interval_contains_the_exact_objective(
            images in proptest::collection::vec(
                (proptest::collection::vec((-2.0..2.0_f64, -2.0..2.0_f64, -1.0..1.0_f64), 1..6), -6.0..1.0_f64),
                1..5,
            ),
            mean in any::<bool>(),
        ) {
            let scale = if mean { Scale::Mean } else { Scale::Sum };
            let truths: Vec<Vec<f64>> = images.iter().map(|(pixels, _)| pixels.iter().map(|p| p.0).collect()).collect();
            let mut exact = 0.0;
            let mut reconstructions = Vec::new();
            for ((pixels, log_error), truth) in images.iter().zip(&truths) {
                let error = 10_f64.powf(*log_error);
                let length = pixels.iter().map(|p| p.2 * p.2).sum::<f64>().sqrt().max(1e-9);
                exact += pixels.iter().map(|p| (p.1 - p.0).powi(2)).sum::<f64>();
                let x = pixels.iter().map(|p| p.1 + error * p.2 / length).collect();
                reconstructions.push(Reconstruction { x, error: bound(error * (1.0 + 1e-12) + 1e-14), truth });
            }
            if mean {
                exact /= f64::from(u32::try_from(images.len()).unwrap());
            }
            let interval = fit(&reconstructions, scale).unwrap().objective_interval();
            prop_assert!(interval.lower <= exact && exact <= interval.upper, "{interval:?} {exact}");
        }
    }

    #[test]
    fn mean_and_sum_are_the_papers() {
        let truth = [0.0, 0.0];
        let reconstruction = |x: [f64; 2], error| Reconstruction {
            x: x.to_vec(),
            error: bound(error),
            truth: &truth,
        };
        let both = [
            reconstruction([3.0, 4.0], 0.3),
            reconstruction([0.0, 1.0], 0.4),
        ];
        let sum = fit(&both, Scale::Sum).unwrap();
        assert!((sum.objective() - 26.0).abs() < 1e-12);
        assert!((sum.accuracy.value() - 0.5).abs() < 1e-12);
        let mean = fit(&both, Scale::Mean).unwrap();
        assert!((mean.objective() - 13.0).abs() < 1e-12);
        assert!((mean.accuracy.value() - 0.5 / 2_f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn misuse_is_reported() {
        let truth = [0.0, 0.0];
        let with = |x: &[f64]| Reconstruction {
            x: x.to_vec(),
            error: ErrorBound::UNKNOWN,
            truth: &truth,
        };
        assert_eq!(fit(&[], Scale::Mean), Err(FitError::Empty));
        let wrong = FitError::WrongLength {
            index: 1,
            expected: 2,
            found: 1,
        };
        assert_eq!(
            fit(&[with(&[0.0; 2]), with(&[0.0])], Scale::Mean),
            Err(wrong)
        );
        let bad = fit(&[with(&[f64::NAN, 0.0])], Scale::Sum);
        assert_eq!(bad, Err(FitError::NonFinite { index: 0 }));
        // An unknown error leaves everything open.
        let open = fit(&[with(&[1.0, 1.0])], Scale::Sum)
            .unwrap()
            .objective_interval();
        assert_eq!((open.lower, open.upper), (0.0, f64::INFINITY));
    }
}
