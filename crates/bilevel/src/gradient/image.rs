//! One image at one point: its reconstruction, its adjoint, its certified loss, and the derivatives
//! of the loss.

use std::panic::{AssertUnwindSafe, catch_unwind};

use dfo_ls::Start;
use inexact_lbfgs::Request;
use lowlevel::adjoint::{
    AdjointStop, LossAt, MixedBound, adjoint_error, corrected_value, solve_adjoint,
};
use lowlevel::{Checkpoint, ErrorBound, Outcome, State, Stop, StronglyConvex};

use crate::checkpoint::{Reconstructions, StoredAdjoint};
use crate::lower::LowerLevel;
use crate::oracle::WORK_UNITS;
use crate::parameter::Parameter;
use crate::problem::{Effort, LearningProblem};
use crate::workspace::Workspace;

/// The power of `shrink`, the factor for the width of an interval, that gives the factor for the
/// errors of reconstructions. The width is of second order in the error, so one half would do if
/// there were no rounding and no third derivatives.
const POWER: f64 = 0.6;
/// The largest number of targets for one reconstruction. A smaller target follows as long as the
/// distance from the known reconstruction is too small for the last one.
const MAX_TARGETS: usize = 40;
/// The expected distance from the known reconstruction, as a share of the first certified error; a
/// choice. If the distance is smaller, a smaller target follows.
const LIKELY: f64 = 0.1;
/// The reason for rejecting a point where two intervals do not meet.
const CONTRADICTION: &str = "two intervals for the loss of an image do not meet, so a constant, a \
                             gradient or a Hessian product of the model is wrong: check them with \
                             lowlevel::testing";

/// One image at one point.
pub(super) struct ImagePart {
    pub(super) checkpoint: Checkpoint,
    pub(super) adjoint: StoredAdjoint,
    pub(super) numbers: ImageNumbers,
    /// The derivatives of the loss with respect to `$\theta$`, and those of the condition number
    /// if there are penalties.
    pub(super) slopes: Vec<f64>,
}

/// The numbers of one image that are gathered from all ranks, besides derivatives.
#[derive(Clone, Copy, Debug)]
pub(super) struct ImageNumbers {
    /// The corrected value of the loss.
    pub(super) value: f64,
    /// The lower end of an interval that contains the exact loss.
    pub(super) lower: f64,
    /// The upper end of an interval that contains the exact loss.
    pub(super) upper: f64,
    /// The squared distance of the computed reconstruction from the truth.
    pub(super) squared_distance: f64,
    /// The error of the reconstruction, relative to its distance from the known one; or, if a known
    /// point is sharpened, relative to the error before.
    pub(super) relative_error: f64,
    /// The condition number of the objective.
    pub(super) condition_number: f64,
    /// The work of the reconstruction; [`WORK_UNITS`] units are one gradient.
    pub(super) reconstruction: f64,
    /// The work of the adjoint; [`WORK_UNITS`] units are one gradient.
    pub(super) adjoint: f64,
}

impl ImageNumbers {
    pub(super) const COUNT: usize = 8;

    pub(super) const fn to_array(self) -> [f64; Self::COUNT] {
        [
            self.value,
            self.lower,
            self.upper,
            self.squared_distance,
            self.relative_error,
            self.condition_number,
            self.reconstruction,
            self.adjoint,
        ]
    }

    pub(super) const fn from_array(numbers: [f64; Self::COUNT]) -> Self {
        let [
            value,
            lower,
            upper,
            squared_distance,
            relative_error,
            condition_number,
            reconstruction,
            adjoint,
        ] = numbers;
        Self {
            value,
            lower,
            upper,
            squared_distance,
            relative_error,
            condition_number,
            reconstruction,
            adjoint,
        }
    }
}

/// A reconstruction whose error is known.
#[derive(Clone, Copy)]
struct Solve {
    error: ErrorBound,
    /// The error relative to the distance from the known reconstruction, or to the error before.
    relative_error: f64,
}

/// Continues a reconstruction until its error is at most a target, and counts its work.
pub(super) type Refine<'a, S> =
    dyn FnMut(ErrorBound, &mut State, &mut S) -> Result<lowlevel::Solved, String> + 'a;

impl<M: LowerLevel> LearningProblem<M> {
    /// Computes the value and the derivatives of one image, and adds the work of reconstruction and
    /// adjoint to `spent`, in gradients. A panic of the model counts as a failure.
    pub(super) fn differentiate(
        &self,
        theta: &[f64],
        values: &[f64],
        request: &Request<Reconstructions>,
        index: usize,
        spent: &mut [f64; 2],
    ) -> Result<ImagePart, String> {
        let differentiate = || -> Result<ImagePart, String> {
            let objective = (self.model)
                .objective(values, &self.data[index])
                .map_err(|error| error.to_string())?;
            let mut workspace = self.workspaces.take(self.pairs[index].grid);
            let at = (theta, values);
            self.differentiate_in(at, &objective, request, index, workspace.get(), spent)
        };
        catch_unwind(AssertUnwindSafe(differentiate))
            .unwrap_or_else(|_| Err("the model panicked".to_owned()))
    }
    fn differentiate_in(
        &self,
        (theta, values): (&[f64], &[f64]),
        objective: &M::Objective<'_>,
        request: &Request<Reconstructions>,
        index: usize,
        workspace: &mut Workspace<M::Scratch>,
        [reconstruction, work]: &mut [f64; 2],
    ) -> Result<ImagePart, String> {
        let derivatives =
            (self.model.derivatives(values, objective)).ok_or("there are no derivatives")?;
        let Workspace {
            state,
            scratch,
            adjoint,
            buffer,
            image,
            ..
        } = workspace;
        let scratch = scratch.get_or_insert_with(|| objective.scratch());
        let known = known_adjoint(request, index);
        let mut refine = |target: ErrorBound, state: &mut State, scratch: &mut M::Scratch| {
            let solved = self.refine(objective, target, state, scratch)?;
            *reconstruction += solved.work;
            Ok(solved)
        };
        let solve = match request {
            Request::Sharpen { known, shrink } => {
                self.sharpen(known, *shrink, index, state, scratch, &mut refine)?
            }
            _ => self.solve_near(request, index, state, buffer, scratch, &mut refine)?,
        };
        let criterion = match self.setup.criterion.without_truth(index) {
            None => None,
            Some(criterion) => {
                let at = (values, objective, &*derivatives);
                let memory = (&mut *state, &mut *adjoint, &mut *scratch);
                let criterion =
                    self.criterion_slopes(at, index, criterion, solve.error, memory, &mut refine);
                Some(criterion?)
            }
        };
        let solve = criterion.as_ref().map_or(solve, |criterion| Solve {
            error: criterion.error,
            ..solve
        });
        let x = state.point();
        let loss = match &criterion {
            None => self.loss(index, x, buffer, image),
            Some(criterion) => criterion.loss(),
        };
        match known {
            Some(known) => known.start_into(adjoint),
            None => adjoint.start_at(&[]),
        }
        let stop = match (request, known) {
            (Request::Sharpen { shrink, .. }, Some(known)) => AdjointStop {
                local_curvature: false,
                ..AdjointStop::absolute(known.residual * self.error_factor(*shrink))
            },
            _ => adjoint_stop(self.setup.kappa),
        };
        let solved = solve_adjoint(objective, x, solve.error, &loss, stop, adjoint, scratch)
            .map_err(|error| error.to_string())?;
        *work += solved.work + derivatives.cost();
        let gradient = state.gradient().ok_or("the gradient is missing")?;
        let q = adjoint.adjoint();
        let [value, lower, upper] = match &criterion {
            None => {
                let interval = corrected_value(objective, x, gradient, &loss, q, &solved);
                if !interval.consistent {
                    return Err(CONTRADICTION.to_owned());
                }
                [interval.value, interval.lower, interval.upper]
            }
            Some(criterion) => {
                *work += criterion.work;
                criterion.corrected(inner(q, gradient))
            }
        };
        let mut slopes = vec![0.0; theta.len()];
        derivatives.mixed_product(x, q, &mut slopes, scratch);
        if let Some(criterion) = &criterion {
            for (slope, direct) in slopes.iter_mut().zip(&criterion.slopes) {
                *slope -= direct;
            }
        }
        self.chain(theta, -1.0, &mut slopes);
        if self.num_terms > 0 {
            let mut condition = vec![0.0; theta.len()];
            derivatives.condition_gradient(&mut condition);
            self.chain(theta, 1.0, &mut condition);
            slopes.append(&mut condition);
        }
        Ok(ImagePart {
            numbers: ImageNumbers {
                value,
                lower,
                upper,
                squared_distance: loss.value,
                relative_error: solve.relative_error,
                condition_number: objective.curvature().condition_number(),
                reconstruction: units(*reconstruction),
                adjoint: units(*work),
            },
            adjoint: StoredAdjoint {
                q: self.checkpoints.save_vector(adjoint.adjoint()),
                error: solve.error.value(),
                residual: solved.residual,
            },
            checkpoint: self.checkpoints.save(state),
            slopes,
        })
    }

    /// Reconstructs an image of a new point, until the error is small compared with the distance
    /// from the known reconstruction, or from the cold start of the first point.
    ///
    /// This distance is known only after a solve. The certified error of the start gives the first
    /// target, and the distance at the end of one solve gives the target of the next.
    fn solve_near(
        &self,
        request: &Request<Reconstructions>,
        index: usize,
        state: &mut State,
        cold: &mut Vec<f64>,
        scratch: &mut M::Scratch,
        refine: &mut Refine<'_, M::Scratch>,
    ) -> Result<Solve, String> {
        let (start, kappa) = match request {
            Request::New { near, kappa } => (Start::Near(near.clone()), *kappa),
            _ => (Start::Cold, self.setup.kappa),
        };
        self.begin(&start, index, state);
        let known = match &start {
            Start::Near(near) => near.checkpoints().get(index),
            _ => None,
        };
        if known.is_none() {
            cold.clear();
            cold.extend_from_slice(state.point());
        }
        let change = |x: &[f64]| known.map_or_else(|| distance(cold, x), |known| known.distance(x));
        let mut error = ErrorBound::UNKNOWN;
        let mut target = ErrorBound::UNKNOWN;
        let mut moved = 0.0;
        for _ in 0..MAX_TARGETS {
            let solved = refine(target, state, scratch)?;
            error = solved.error;
            moved = change(state.point());
            let is_first = target == ErrorBound::UNKNOWN;
            let wanted = kappa
                * if is_first {
                    LIKELY * error.value()
                } else {
                    moved
                };
            if !is_first && (error.value() <= wanted || solved.outcome != Outcome::Converged) {
                break;
            }
            // a distance of zero only means that the target was too large
            let next = wanted.min(0.5 * error.value()).max(0.01 * error.value());
            let Ok(next) = ErrorBound::new(next) else {
                break;
            };
            target = next;
        }
        let relative_error = if moved > 0.0 {
            error.value() / moved
        } else {
            kappa
        };
        Ok(Solve {
            error,
            relative_error: relative_error.min(1.0),
        })
    }

    /// Reconstructs an image of a known point more accurately.
    fn sharpen(
        &self,
        known: &Reconstructions,
        shrink: f64,
        index: usize,
        state: &mut State,
        scratch: &mut M::Scratch,
        refine: &mut Refine<'_, M::Scratch>,
    ) -> Result<Solve, String> {
        self.begin(&Start::Refine(known.clone()), index, state);
        let before = (known.adjoints().get(index)).map_or(f64::INFINITY, |known| known.error);
        let target = ErrorBound::new(before * self.error_factor(shrink));
        let target = target.unwrap_or(ErrorBound::UNKNOWN);
        let solved = refine(target, state, scratch)?;
        Ok(Solve {
            error: solved.error,
            relative_error: (solved.error.value() / before).min(1.0),
        })
    }

    /// Continues a reconstruction until its error is at most `target`, or cannot become smaller.
    fn refine(
        &self,
        objective: &M::Objective<'_>,
        target: ErrorBound,
        state: &mut State,
        scratch: &mut M::Scratch,
    ) -> Result<lowlevel::Solved, String> {
        let stop = Stop::accuracy(target);
        let stop = match self.setup.effort {
            Effort::Requested {
                max_iterations: Some(limit),
            } => stop.with_max_iterations(limit),
            _ => stop,
        };
        (self.setup.lower_solver())
            .refine(objective, stop, state, scratch)
            .map_err(|error| error.to_string())
    }

    /// Returns bounds on the errors of the derivatives of one image, from its stored
    /// reconstruction and adjoint.
    pub(super) fn slope_errors(
        &self,
        (theta, values): (&[f64], &[f64]),
        known: &Reconstructions,
        index: usize,
    ) -> Option<Vec<f64>> {
        if !self.setup.criterion.needs_truth() {
            return None; // the derivatives of the trace have no bounds
        }
        let (Checkpoint::Full(_), stored) = (
            known.checkpoints().get(index)?,
            known.adjoints().get(index)?,
        ) else {
            return None;
        };
        let objective = self.model.objective(values, &self.data[index]).ok()?;
        let derivatives = self.model.derivatives(values, &objective)?;
        let mut workspace = self.workspaces.take(self.pairs[index].grid);
        let Workspace {
            state,
            scratch,
            adjoint,
            buffer,
            image,
            ..
        } = workspace.get();
        let scratch = scratch.get_or_insert_with(|| objective.scratch());
        self.begin(&Start::Refine(known.clone()), index, state);
        let target = ErrorBound::new(stored.error).ok()?;
        let solved = self.refine(&objective, target, state, scratch).ok()?;
        let x = state.point();
        let loss = self.loss(index, x, buffer, image);
        stored.start_into(adjoint);
        let stop = AdjointStop::absolute(stored.residual);
        let found =
            solve_adjoint(&objective, x, solved.error, &loss, stop, adjoint, scratch).ok()?;
        let mut bounds = vec![MixedBound::UNKNOWN; theta.len()];
        let error = solved.error.value();
        let q = adjoint.adjoint();
        let has_bounds = derivatives.mixed_bounds(x, q, error, &mut bounds, scratch);
        let adjoint_error = adjoint_error(&loss, &found);
        let slopes = bounds
            .iter()
            .map(|bound| bound.gradient_error(adjoint_error));
        let mut slopes: Vec<f64> = slopes.collect();
        self.chain(theta, 1.0, &mut slopes);
        slopes.iter_mut().for_each(|slope| *slope = slope.abs());
        has_bounds.then_some(slopes)
    }

    /// Returns the loss of the image in the unknown `x`. Overwrites `gradient` with its gradient
    /// with respect to the unknown, `$2C^*(Cx - t)$`, whose Lipschitz constant is that without the
    /// crop `$C$`.
    fn loss<'a>(
        &self,
        index: usize,
        x: &[f64],
        gradient: &'a mut Vec<f64>,
        image: &mut Vec<f64>,
    ) -> LossAt<'a> {
        let pair = &self.pairs[index];
        let window = self.model.window(pair.grid);
        gradient.resize(x.len(), 0.0);
        if window.is_whole() {
            return LossAt::squared_distance(x, &pair.truth, gradient);
        }
        let len = pair.truth.len();
        image.resize(2 * len, 0.0);
        let (crop, slope) = image.split_at_mut(len);
        window.crop(x, crop);
        let loss = LossAt::squared_distance(crop, &pair.truth, slope);
        window.embed(loss.gradient, gradient);
        LossAt { gradient, ..loss }
    }

    /// The factor for the errors of reconstructions and adjoints that makes the width of an
    /// interval smaller by the factor `shrink`. Without truth, the width is of first order.
    fn error_factor(&self, shrink: f64) -> f64 {
        let needs_truth = self.setup.criterion.needs_truth();
        shrink.powf(if needs_truth { POWER } else { 1.0 }).min(0.5)
    }

    /// Turns derivatives with respect to values into derivatives with respect to `$\theta$`, times
    /// `factor`.
    fn chain(&self, theta: &[f64], factor: f64, slopes: &mut [f64]) {
        let parameters = Parameter::of_entries(&self.parameters);
        for ((slope, parameter), theta) in slopes.iter_mut().zip(parameters).zip(theta) {
            *slope *= factor * parameter.map.derivative(*theta);
        }
    }
}

/// Returns work in units, [`WORK_UNITS`] of which are one gradient.
pub(super) fn units(work: f64) -> f64 {
    (WORK_UNITS * work).ceil()
}

/// The stopping rule of an adjoint at a new point: the residual falls to `kappa` times that of its
/// start, the known adjoint, and to at most `kappa / 2` times the gradient of the loss.
fn adjoint_stop(kappa: f64) -> AdjointStop {
    AdjointStop {
        relative: 0.5 * kappa,
        improvement: kappa,
        local_curvature: false,
        ..AdjointStop::default()
    }
}

/// The adjoint of an image at the known point of a request.
fn known_adjoint(request: &Request<Reconstructions>, index: usize) -> Option<&StoredAdjoint> {
    request.token()?.adjoints().get(index)
}

/// The inner product of two vectors.
fn inner(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The Euclidean distance of two points. Missing entries of the first are zero.
pub(super) fn distance(a: &[f64], b: &[f64]) -> f64 {
    let a = a.iter().copied().chain(std::iter::repeat(0.0));
    let squares = a.zip(b).map(|(a, b)| (a - b) * (a - b));
    squares.sum::<f64>().sqrt()
}
