//! The value and the derivatives of a criterion without truth, for one image.
//!
//! The criterion depends on the misfit `$v = A\hat x - y$` and on the trace
//! `$t = \langle b, H^{-1}b\rangle$`, where `$b$` stands for `$A^*b$`. With `$w = H^{-1}b$`,
//!
//! ```math
//! \frac{\partial t}{\partial x} = -D^3\Phi[w, w], \qquad
//! \frac{\partial t}{\partial\theta_k} = -\langle w, (\partial_k H)\,w\rangle
//! \quad\text{for fixed } x.
//! ```
//!
//! Both are derivatives along `$w$`: of Hessian products with `$w$`, and of the mixed products
//! `$\langle w, \partial_k\nabla\Phi\rangle$`. Central differences compute them to about eight
//! digits, so families need no third derivatives. The first one is part of the right-hand side of
//! the adjoint, the second one is added to the derivatives at the end.
//!
//! The interval of the value is certified. It comes from the certified error of the reconstruction
//! through `inverse_form`, and is of first order in this error, while the value in it is corrected
//! to second order.

use lowlevel::adjoint::{AdjointState, AdjointStop, LossAt, LossRounding, hessian_slope};
use lowlevel::{ErrorBound, Outcome, State, StronglyConvex};

use super::image::Refine;
use crate::criterion::WithoutTruth;
use crate::derivatives::Derivatives;
use crate::lower::LowerLevel;
use crate::problem::LearningProblem;

/// The residual of the linear system for the trace, relative to its right-hand side. Its square is
/// the relative error of the trace, and its size that of derivatives.
const RESIDUAL: f64 = 1e-8;
/// The largest width of an interval, as a share of the value. A wider one says too little for the
/// solver to decide how accurate a point must be.
const WIDTH: f64 = 1e-2;
/// The largest number of times that a reconstruction is made more accurate for this.
const MAX_ROUNDS: usize = 12;

/// The criterion of an image at a point.
pub(super) struct CriterionAt {
    /// The certified error of the reconstruction.
    pub(super) error: ErrorBound,
    pub(super) value: f64,
    /// An interval that contains the criterion of the exact reconstruction.
    pub(super) interval: [f64; 2],
    /// The derivative with respect to the reconstruction.
    gradient: Vec<f64>,
    /// The derivatives with respect to the values of the parameters, for a fixed reconstruction.
    pub(super) slopes: Vec<f64>,
    pub(super) work: f64,
}

impl CriterionAt {
    /// The value, corrected by the product of the adjoint with the gradient of the objective, and
    /// the ends of its interval.
    pub(super) const fn corrected(&self, product: f64) -> [f64; 3] {
        let [lower, upper] = self.interval;
        let value = self.value - product;
        let value = if value >= lower && value <= upper {
            value
        } else {
            self.value
        };
        [value.max(lower).min(upper), lower, upper]
    }

    /// The criterion as a loss, whose adjoint gives the derivatives. Its curvature is not known, so
    /// no interval may be computed from it.
    pub(super) fn loss(&self) -> LossAt<'_> {
        LossAt {
            value: self.value,
            gradient: &self.gradient,
            lipschitz: f64::INFINITY,
            non_negative: false,
            rounding: LossRounding {
                value: f64::INFINITY,
                gradient: 0.0,
            },
        }
    }
}

/// The objective of an image at values of the parameters, with its derivatives.
type At<'a, M, O> = (
    &'a [f64],
    &'a O,
    &'a dyn Derivatives<<M as LowerLevel>::Scratch>,
);

impl<M: LowerLevel> LearningProblem<M> {
    /// Evaluates the criterion of an image and its derivatives at the reconstruction in `state`.
    pub(super) fn criterion_slopes(
        &self,
        (values, objective, derivatives): At<'_, M, M::Objective<'_>>,
        index: usize,
        criterion: WithoutTruth,
        error: ErrorBound,
        (state, system, scratch): (&mut State, &mut AdjointState, &mut M::Scratch),
        refine: &mut Refine<'_, M::Scratch>,
    ) -> Result<CriterionAt, String> {
        let probed = self.probed(values, index, objective.dim())?;
        system.start_at(&[]);
        let stop = AdjointStop {
            relative: RESIDUAL,
            ..AdjointStop::absolute(f64::INFINITY)
        };
        let (mut error, mut work, mut round) = (error, 0.0, 0);
        let evaluation = loop {
            let at = (state.point(), error);
            let evaluation = probed.evaluate(criterion, objective, at, stop, system, scratch)?;
            work += evaluation.form.work;
            round += 1;
            let [lower, upper] = evaluation.interval();
            if upper - lower <= WIDTH * evaluation.value() || round > MAX_ROUNDS {
                break evaluation;
            }
            let Ok(target) = ErrorBound::new(0.1 * error.value()) else {
                break evaluation;
            };
            let solved = refine(target, state, scratch)?;
            error = solved.error;
            if solved.outcome != Outcome::Converged {
                let at = (state.point(), error);
                break probed.evaluate(criterion, objective, at, stop, system, scratch)?;
            }
        };
        let x = state.point();
        let w = system.adjoint();
        let [by_misfit, by_trace] = evaluation.slopes();
        let mut third = vec![0.0; x.len()];
        let mut point = Vec::with_capacity(x.len());
        let (step, cost) = hessian_slope(objective, x, w, &mut third, &mut point, scratch)
            .map_err(|error| error.to_string())?;
        work += cost + 2.0 * derivatives.cost();
        let mut gradient = probed.adjoint(&evaluation.misfit);
        for (slope, third) in gradient.iter_mut().zip(&third) {
            *slope = 2.0 * by_misfit * *slope - by_trace * third;
        }
        let mut slopes = vec![0.0; values.len()];
        let mut products = vec![0.0; values.len()];
        for sign in [1.0, -1.0] {
            point.clear();
            point.extend(x.iter().zip(w).map(|(x, w)| x + sign * step * w));
            derivatives.mixed_product(&point, w, &mut products, scratch);
            for (slope, product) in slopes.iter_mut().zip(&products) {
                *slope -= by_trace * sign * product / (2.0 * step);
            }
        }
        Ok(CriterionAt {
            error,
            value: evaluation.value(),
            interval: evaluation.interval(),
            gradient,
            slopes,
            work,
        })
    }
}
