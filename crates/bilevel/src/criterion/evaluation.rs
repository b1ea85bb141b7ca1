//! The criterion of one image at one point, with bounds on its errors.

use imaging::{Seed, noise};
use lowlevel::adjoint::{AdjointState, AdjointStop, InverseForm, inverse_form};
use lowlevel::{ErrorBound, StronglyConvex, UNIT_ROUNDOFF, norm};

use super::Forward;
use crate::score::ErrorEstimate;

/// The criterion of one image without truth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum WithoutTruth {
    Sure { sigma: f64 },
    Gcv,
}

/// The criterion of one image at a point, by its parts: the misfit `$v = A\tilde x - y$` and the
/// estimated trace.
pub(crate) struct Evaluation {
    criterion: WithoutTruth,
    /// The misfit; zero where nothing was measured.
    pub(crate) misfit: Vec<f64>,
    /// The norm of the misfit, and a bound on its error.
    distance: f64,
    distance_error: f64,
    /// The number of samples that were measured.
    num_measured: f64,
    /// The interval of the trace.
    pub(crate) form: InverseForm,
}

/// The data of an image and the random signs that probe its reconstructions.
pub(crate) struct Probed<'a> {
    forward: Forward<'a>,
    data: &'a [f64],
    num_measured: f64,
    /// `$A^*b$`, and a bound on the norm of its rounding error.
    rhs: Vec<f64>,
    rhs_rounding: f64,
}

impl<'a> Probed<'a> {
    /// Draws the signs of the image with this index, for images with `len` entries.
    pub(crate) fn new(
        forward: Forward<'a>,
        data: &'a [f64],
        len: usize,
        (seed, index): (u64, usize),
    ) -> Self {
        let mut signs = noise::signs(data.len(), Seed::new(seed), index);
        let mut num_measured = data.len();
        if let Some(measured) = forward.measured {
            num_measured = measured.iter().filter(|measured| **measured).count();
            for (sign, measured) in signs.iter_mut().zip(measured) {
                if !measured {
                    *sign = 0.0;
                }
            }
        }
        let mut rhs = vec![0.0; len];
        (forward.adjoint)(&signs, &mut rhs);
        let size = (num_measured as f64).sqrt() * forward.norm;
        Self {
            rhs_rounding: forward.relative_rounding * size,
            num_measured: num_measured as f64,
            forward,
            data,
            rhs,
        }
    }

    /// Returns `$A^*v$`.
    pub(crate) fn adjoint(&self, v: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.rhs.len()];
        (self.forward.adjoint)(v, &mut out);
        out
    }

    /// Evaluates the criterion at `x`, whose distance from the exact reconstruction is at most
    /// `error`. The solution of the linear system is left in `state`.
    pub(crate) fn evaluate<O: StronglyConvex>(
        &self,
        criterion: WithoutTruth,
        objective: &O,
        (x, error): (&[f64], ErrorBound),
        stop: AdjointStop,
        state: &mut AdjointState,
        scratch: &mut O::Scratch,
    ) -> Result<Evaluation, String> {
        let mut misfit = vec![0.0; self.data.len()];
        (self.forward.apply)(x, &mut misfit);
        for (entry, (misfit, data)) in misfit.iter_mut().zip(self.data).enumerate() {
            let is_measured = self.forward.measured.is_none_or(|all| all[entry]);
            *misfit = if is_measured { *misfit - data } else { 0.0 };
        }
        let distance = norm(&misfit);
        let relative = (misfit.len() as f64 + 8.0) * UNIT_ROUNDOFF;
        let forward = &self.forward;
        let rounding = relative * distance
            + forward.relative_rounding * forward.norm * norm(x)
            + f64::MIN_POSITIVE;
        let distance_error = forward.norm * error.value() + 2.0 * rounding;
        let rhs = (&self.rhs[..], self.rhs_rounding);
        let form = inverse_form(objective, (x, error), rhs, stop, state, scratch)
            .map_err(|error| error.to_string())?;
        let evaluation = Evaluation {
            criterion,
            misfit,
            distance,
            distance_error,
            num_measured: self.num_measured,
            form,
        };
        if evaluation.value().is_finite() {
            Ok(evaluation)
        } else {
            Err("the reconstruction has as many degrees of freedom as the data".to_owned())
        }
    }
}

impl Evaluation {
    /// The criterion as computed.
    pub(crate) fn value(&self) -> f64 {
        self.at(self.distance, self.form.value)
    }

    /// An interval that contains the criterion of the exact reconstruction, with rounding.
    pub(crate) fn interval(&self) -> [f64; 2] {
        let least = (self.distance - self.distance_error).max(0.0);
        let most = self.distance + self.distance_error;
        let margin = 32.0 * UNIT_ROUNDOFF;
        [
            self.at(least, self.form.lower) * (1.0 - margin),
            self.at(most, self.form.upper) * (1.0 + margin),
        ]
    }

    /// The criterion for this norm of the misfit and this trace. Both make it larger.
    fn at(&self, distance: f64, trace: f64) -> f64 {
        match self.criterion {
            WithoutTruth::Sure { sigma } => distance * distance + 2.0 * sigma * sigma * trace,
            WithoutTruth::Gcv => (distance * self.factor(trace)).powi(2),
        }
    }

    /// The factor `$1/(1 - t/n)$` of generalised cross-validation; infinite if `$t \ge n$`.
    fn factor(&self, trace: f64) -> f64 {
        let rest = 1.0 - trace / self.num_measured;
        if rest > 0.0 {
            rest.recip()
        } else {
            f64::INFINITY
        }
    }

    /// The derivatives of the criterion with respect to the squared norm of the misfit and to the
    /// trace.
    pub(crate) fn slopes(&self) -> [f64; 2] {
        match self.criterion {
            WithoutTruth::Sure { sigma } => [1.0, 2.0 * sigma * sigma],
            WithoutTruth::Gcv => {
                let factor = self.factor(self.form.value);
                let squared = self.distance * self.distance;
                [
                    factor * factor,
                    2.0 * squared * factor.powi(3) / self.num_measured,
                ]
            }
        }
    }

    /// The residuals, whose sum of squares is the criterion: the misfit and a number for the trace,
    /// or the misfit times a factor.
    pub(crate) fn into_residuals(self) -> Vec<f64> {
        let trace = self.form.value;
        match self.criterion {
            WithoutTruth::Sure { sigma } => {
                let mut residuals = self.misfit;
                residuals.push(sigma * (2.0 * trace).sqrt());
                residuals
            }
            WithoutTruth::Gcv => {
                let factor = self.factor(trace);
                let mut residuals = self.misfit;
                residuals
                    .iter_mut()
                    .for_each(|residual| *residual *= factor);
                residuals
            }
        }
    }

    /// Bounds the distance of the residuals from those of the exact reconstruction: the part that
    /// the misfit and the trace at the point cause, and the part of an inexact linear system.
    pub(crate) fn errors(&self) -> ResidualErrors {
        let InverseForm {
            value,
            lower,
            upper,
            by_point,
            ..
        } = self.form;
        // the share of the interval that the point causes, whatever the linear system
        let width = upper - lower;
        let share = if width > 0.0 && width.is_finite() {
            (by_point / width).min(1.0)
        } else {
            1.0
        };
        let (misfit, trace) = match self.criterion {
            WithoutTruth::Sure { sigma } => {
                let root = |trace: f64| sigma * (2.0 * trace).sqrt();
                let most = (root(upper) - root(value)).max(root(value) - root(lower));
                (self.distance_error, most)
            }
            WithoutTruth::Gcv => {
                let factor = |trace| self.factor(trace);
                let most = (factor(upper) - factor(value)).max(factor(value) - factor(lower));
                let most = if most.is_nan() { f64::INFINITY } else { most };
                (factor(upper) * self.distance_error, self.distance * most)
            }
        };
        let rounding = 16.0 * UNIT_ROUNDOFF * self.value().sqrt();
        ResidualErrors {
            point: misfit + trace * share,
            system: trace * (1.0 - share),
            total: misfit + trace + rounding,
        }
    }

    /// Estimates the squared distance of `$A\hat x$` from the data without noise, per measured
    /// sample, and the noise level.
    pub(crate) fn estimate(&self) -> ErrorEstimate {
        let share = self.form.value / self.num_measured;
        let mean = self.distance * self.distance / self.num_measured;
        match self.criterion {
            WithoutTruth::Sure { sigma } => ErrorEstimate {
                mse: mean + sigma * sigma * (2.0 * share - 1.0),
                sigma,
            },
            WithoutTruth::Gcv => {
                let variance = mean / (1.0 - share);
                ErrorEstimate {
                    // SURE with this variance
                    mse: variance * share,
                    sigma: variance.sqrt(),
                }
            }
        }
    }
}

/// Bounds on the errors of the residuals of an image.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResidualErrors {
    pub(crate) point: f64,
    pub(crate) system: f64,
    pub(crate) total: f64,
}
