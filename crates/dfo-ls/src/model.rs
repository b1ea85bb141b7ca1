//! The model of the objective around the incumbent, and its minimiser in the trust region.

pub(crate) mod composite;
pub(crate) mod linear;
pub(crate) mod pool;

use composite::{CompositeModel, Taylor};

use std::borrow::Cow;

use crate::linalg::{dot, norm};
use crate::options::TrustStep;
use crate::region::StepRegion;
use crate::subproblem::Quadratic;

/// The model `$m(v) - m(0)$` of the objective for steps `$v = s/\Delta$`.
#[derive(Clone, Debug)]
pub(crate) enum ObjectiveModel {
    /// The quadratic model that linear residuals give.
    GaussNewton(Taylor),
    /// The quartic model that quadratic residuals give.
    Composite(CompositeModel),
}

/// A minimiser of the model in the trust region, in multiples of `$\Delta$`.
#[derive(Clone, Debug)]
pub(crate) struct ModelStep {
    pub(crate) v: Vec<f64>,
    /// The predicted decrease `$m(0) - m(v)$`.
    pub(crate) decrease: f64,
    /// The smallest curvature of the model if the step is inside the ball; otherwise zero.
    pub(crate) curvature: f64,
    /// The norm of the model's gradient at the incumbent.
    pub(crate) gradient_norm: f64,
    /// The model's gradient at the step.
    pub(crate) end_gradient: Vec<f64>,
    /// The diagonal of the model's Hessian at the incumbent.
    pub(crate) diagonal: Vec<f64>,
}

/// The largest number of corrections of a step of a quartic model. Not tuned.
const MAX_CORRECTIONS: usize = 8;
/// The gain of a correction, as a share of the decrease so far, below which corrections end. Not
/// tuned.
const WORTHWHILE: f64 = 1e-3;
/// The largest number of halvings of the radius on the path of steepest descent. Not tuned.
const MAX_PATH_HALVINGS: usize = 40;
/// The largest number of halvings of a correction. Not tuned.
const MAX_CORRECTION_HALVINGS: usize = 10;

impl ObjectiveModel {
    fn change(&self, v: &[f64]) -> f64 {
        match self {
            Self::GaussNewton(taylor) => taylor.change(v),
            Self::Composite(composite) => composite.change(v),
        }
    }

    /// Minimises the model over a region.
    pub(crate) fn minimize(&self, region: &StepRegion<'_>, how: TrustStep) -> ModelStep {
        let zero = vec![0.0; region.lower().len()];
        let first = match self {
            Self::GaussNewton(taylor) => Cow::Borrowed(taylor),
            Self::Composite(composite) => Cow::Owned(composite.taylor(&zero)),
        };
        let step = match (self, how) {
            (Self::GaussNewton(_), TrustStep::Truncated) => {
                region.minimize_early(&first.quadratic())
            }
            _ => region.minimize(&first.quadratic()),
        };
        let gradient_norm = norm(&first.gradient);
        let diagonal = (0..first.gradient.len())
            .map(|j| first.hessian[(j, j)])
            .collect();
        let (v, curvature, end) = match self {
            Self::GaussNewton(taylor) => {
                let end = taylor.gradient_at(&step.step);
                (step.step, step.curvature, end)
            }
            Self::Composite(composite) => {
                let path = cauchy(composite, region, &first.gradient);
                let (v, curvature) = correct(composite, region, [step.step, path], step.curvature);
                let end = composite.gradient(&v);
                (v, curvature, end)
            }
        };
        ModelStep {
            decrease: -(self.change(&v) + region.penalty(&v)),
            v,
            curvature,
            gradient_norm,
            end_gradient: end,
            diagonal,
        }
    }
}

/// Computes a good point on the path of steepest descent: halves the radius while that lowers the
/// model.
fn cauchy(model: &CompositeModel, region: &StepRegion<'_>, gradient: &[f64]) -> Vec<f64> {
    let mut best = (0.0, vec![0.0; gradient.len()]);
    let mut share = 1.0;
    for _ in 0..MAX_PATH_HALVINGS {
        let v = region.steepest(gradient, share);
        let value = model.change(&v) + region.penalty(&v);
        if value < best.0 {
            best = (value, v);
        } else if best.0 < 0.0 {
            break;
        }
        share *= 0.5;
    }
    best.1
}

/// Improves a step for the full quartic model. It begins with the better of two candidates: the
/// minimiser of the second-order model and the point on the path of steepest descent.
fn correct(
    model: &CompositeModel,
    region: &StepRegion<'_>,
    candidates: [Vec<f64>; 2],
    mut curvature: f64,
) -> (Vec<f64>, f64) {
    let value = |v: &[f64]| model.change(v) + region.penalty(v);
    let [newton, path] = candidates;
    let mut best = value(&path);
    let mut v = path;
    let at_newton = value(&newton);
    if !(best <= at_newton) {
        (v, best) = (newton, at_newton);
    }
    if !(best < 0.0) {
        return (vec![0.0; v.len()], 0.0);
    }
    for _ in 0..MAX_CORRECTIONS {
        let Taylor {
            mut gradient,
            hessian,
        } = model.taylor(&v);
        let mut image = vec![0.0; v.len()];
        hessian.mul_vec(&v, &mut image);
        for (g, h) in gradient.iter_mut().zip(&image) {
            *g -= h;
        }
        let step = region.minimize(&Quadratic {
            gradient: &gradient,
            hessian: &hessian,
        });
        let mut share = 1.0;
        let (mut next, mut next_value) = (step.step.clone(), f64::NAN);
        for _ in 0..MAX_CORRECTION_HALVINGS {
            next = (v.iter().zip(&step.step))
                .map(|(v, s)| v + share * (s - v))
                .collect();
            next_value = value(&next);
            if next_value < best {
                break;
            }
            share *= 0.5;
        }
        if !(next_value < best) {
            break;
        }
        let gain = best - next_value;
        v = next;
        best = next_value;
        curvature = step.curvature;
        if gain < WORTHWHILE * -best {
            break;
        }
    }
    (v, curvature)
}

impl Taylor {
    pub(crate) fn quadratic(&self) -> Quadratic<'_> {
        Quadratic {
            gradient: &self.gradient,
            hessian: &self.hessian,
        }
    }

    fn gradient_at(&self, v: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; v.len()];
        self.hessian.mul_vec(v, &mut out);
        for (out, g) in out.iter_mut().zip(&self.gradient) {
            *out += g;
        }
        out
    }

    fn change(&self, v: &[f64]) -> f64 {
        let mut image = vec![0.0; v.len()];
        self.hessian.mul_vec(v, &mut image);
        dot(&self.gradient, v) + 0.5 * dot(v, &image)
    }
}

#[cfg(test)]
mod tests;
