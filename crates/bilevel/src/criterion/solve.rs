//! A reconstruction that is as accurate as its criterion needs.

use dfo_ls::Accuracy;
use lowlevel::adjoint::AdjointStop;
use lowlevel::{ErrorBound, Outcome, Stop, StronglyConvex};

use super::evaluation::Evaluation;
use super::{Probed, WithoutTruth};
use crate::loss::ImageResiduals;
use crate::lower::LowerLevel;
use crate::problem::LearningProblem;
use crate::workspace::Workspace;

/// The first residual of the linear system, relative to its right-hand side. The trace is then
/// known to about a ten-thousandth.
const FIRST_RESIDUAL: f64 = 1e-2;
/// The largest number of times that the reconstruction or the linear system is improved.
const MAX_ROUNDS: usize = 40;

impl<M: LowerLevel> LearningProblem<M> {
    /// Returns the data of a training image of this rank, with its random signs. Its
    /// reconstruction has `len` entries.
    pub(crate) fn probed(
        &self,
        values: &[f64],
        index: usize,
        len: usize,
    ) -> Result<Probed<'_>, String> {
        let forward = (self.model.forward(values, &self.data[index]))
            .ok_or("the family does not map images to their data")?;
        let probe = (self.setup.probe_seed, self.first + index);
        Ok(Probed::new(forward, &self.pairs[index].data, len, probe))
    }

    /// Continues the reconstruction of a training image until its residuals without truth are as
    /// accurate as `stop` asks for. Returns them with their accuracy and the work.
    ///
    /// The error of the residuals has two parts, of the point and of the linear system. As long as
    /// their sum is too large, the part that is larger than its share is made smaller.
    pub(crate) fn residuals_without_truth(
        &self,
        (values, objective): (&[f64], &M::Objective<'_>),
        index: usize,
        criterion: WithoutTruth,
        stop: Stop,
        workspace: &mut Workspace<M::Scratch>,
    ) -> Result<(ImageResiduals, Accuracy, f64), String> {
        let probed = self.probed(values, index, objective.dim())?;
        let Workspace {
            state,
            scratch,
            adjoint,
            ..
        } = workspace;
        let scratch = scratch.get_or_insert_with(|| objective.scratch());
        adjoint.start_at(&[]);
        let allowed = match stop {
            Stop::Accuracy { target, .. } => target.value(),
            _ => f64::INFINITY,
        };
        let with_target = |error: f64| match stop {
            Stop::Accuracy { max_iterations, .. } => {
                let target = ErrorBound::new(error).unwrap_or(ErrorBound::UNKNOWN);
                let stop = Stop::accuracy(target);
                max_iterations.map_or(stop, |limit| stop.with_max_iterations(limit))
            }
            other => other,
        };
        let mut lower_stop = with_target(0.5 * allowed);
        let mut system_stop = AdjointStop {
            relative: FIRST_RESIDUAL,
            ..AdjointStop::absolute(f64::INFINITY)
        };
        let (mut work, mut rounds) = (0.0, 0);
        let mut solved = (self.setup.lower_solver())
            .refine(objective, lower_stop, state, scratch)
            .map_err(|error| error.to_string())?;
        work += solved.work;
        let mut last_residual = f64::INFINITY;
        let evaluation: Evaluation = loop {
            let at = (state.point(), solved.error);
            let evaluation =
                probed.evaluate(criterion, objective, at, system_stop, adjoint, scratch)?;
            work += evaluation.form.work;
            rounds += 1;
            let errors = evaluation.errors();
            if errors.total <= allowed || rounds > MAX_ROUNDS {
                break evaluation;
            }
            let residual = evaluation.form.residual;
            if errors.system > 0.5 * errors.point.min(allowed) && residual < last_residual {
                // the error is of second order in the residual
                let factor = (0.2 * allowed / errors.system).sqrt();
                last_residual = residual;
                system_stop = AdjointStop::absolute(residual * factor.clamp(1e-3, 0.5));
                continue;
            }
            if solved.outcome != Outcome::Converged {
                break evaluation; // no more accurate point can be had
            }
            let factor = (0.5 * allowed / errors.point).clamp(1e-3, 0.5);
            lower_stop = with_target(solved.error.value() * factor);
            solved = (self.setup.lower_solver())
                .refine(objective, lower_stop, state, scratch)
                .map_err(|error| error.to_string())?;
            work += solved.work;
            last_residual = f64::INFINITY;
        };
        let error = evaluation.errors().total;
        let (residuals, accuracy) = self
            .layout
            .stored_residuals(&evaluation.into_residuals(), error);
        Ok((residuals, accuracy, work))
    }
}
