//! A solve in progress: it starts or continues, makes iterations, and bounds the error.

use crate::adjoint::newton_step;
use crate::certificate::{ErrorBound, GradientBound, Norms};
use crate::correction::Corrections;
use crate::domain::Domain;
use crate::error::SolveError;
use crate::evaluator::{Evaluator, Measured, ROUGH_MARGIN, ROUGH_WORK};
use crate::memory::Memory;
use crate::method::Method;
use crate::method::newton::NewtonProgress;
use crate::metric::MetricSteps;
use crate::newton::NewtonSteps;
use crate::norm::{UNIT_ROUNDOFF, norm};
use crate::objective::StronglyConvex;
use crate::solve::Solver;
use crate::state::{Owner, State};

/// A solve in progress.
pub(crate) struct Iteration<'a, O: StronglyConvex> {
    /// The objective and the work of this call.
    pub(crate) evaluator: Evaluator<'a, O>,
    /// The method; not `Auto`.
    pub(crate) method: Method,
    domain: Domain<'a>,
    pub(crate) bound: GradientBound,
    pub(crate) state: &'a mut State,
    /// The norms that certify the point. Over a set, `None` before the first iteration.
    pub(crate) measured: Option<Measured>,
    /// A certified error of the point that does not come from its gradient alone, if one was
    /// computed.
    pub(crate) sharper: Option<ErrorBound>,
    /// The Newton steps of the objective, if the method is Newton's.
    pub(crate) newton: Option<&'a dyn NewtonSteps<O::Scratch>>,
}

impl<'a, O: StronglyConvex> Iteration<'a, O> {
    /// Checks the start. Continues the iteration in `state` if it belongs to the objective and fits
    /// the method; otherwise starts afresh at its point. Over the whole space, evaluates the
    /// gradient unless it is known.
    pub(crate) fn new(
        solver: &Solver<'a>,
        objective: &'a O,
        state: &'a mut State,
        scratch: &'a mut O::Scratch,
    ) -> Result<Self, SolveError> {
        state.check_point(objective.dim())?;
        solver.domain.check()?;
        let domain = solver.domain;
        let method = solver.method.resolve(objective, domain.is_whole());
        let newton = match method {
            Method::Newton => {
                let newton = objective.newton().filter(|_| domain.is_whole());
                Some(newton.ok_or(SolveError::NoNewtonSteps)?)
            }
            _ => None,
        };
        let curvature = objective.curvature();
        let owner = Owner::of(objective);
        if !(state.owner == Some(owner) && state.memory.fits(method, domain)) {
            domain.project(&mut state.point);
            if !state.point.iter().all(|x| x.is_finite()) {
                state.owner = None;
                return Err(SolveError::NonFiniteProjection { iterations: 0 });
            }
            state.memory.begin(method, domain, &state.point);
        }
        state.owner = Some(owner);
        if let (Memory::Newton(memory), Some(newton)) = (&mut state.memory, newton) {
            memory.begin_solve(newton, state.point.len(), &mut state.dual);
        }
        let evaluator = Evaluator {
            objective,
            curvature,
            scratch,
            iterations: 0,
            gradients: 0,
            other_work: 0.0,
            rough_above: None,
            rough_error: None,
            smallest_rough: (f64::INFINITY, 0),
        };
        let bound = match &state.memory {
            Memory::Projected(memory) => {
                GradientBound::over_set(curvature, memory.step_length(&evaluator))
            }
            _ => GradientBound::whole_space(curvature),
        };
        let mut iteration = Self {
            evaluator,
            method,
            domain,
            bound,
            state,
            measured: None,
            sharper: None,
            newton,
        };
        let confirmed = iteration.confirm_gradient(owner.is_certain());
        iteration.forget_on_error(confirmed)?;
        Ok(iteration)
    }

    /// Makes sure that the gradient in the memory is that of this objective. Evaluates it unless it
    /// is known and `is_certain`. If it turns out to be the gradient of another objective, the
    /// iteration starts without momentum. Over a set there is nothing to confirm, since no gradient
    /// is reused.
    fn confirm_gradient(&mut self, is_certain: bool) -> Result<(), SolveError> {
        let State { point, memory, .. } = &mut *self.state;
        let Some(gradient) = memory.gradient_mut() else {
            return Ok(());
        };
        let known = gradient.norm;
        let norm = match known {
            Some(norm) if is_certain => norm,
            _ => {
                gradient.make_room(point.len());
                self.evaluator.gradient(point, gradient)?
            }
        };
        self.measured = Some(Measured::gradient(norm));
        // If the norm is the same to the last bit, we take it for the same objective.
        if known.is_some_and(|known| known.to_bits() != norm.to_bits()) {
            memory.forget_momentum(point);
        }
        Ok(())
    }

    /// Makes one iteration, or possibly several Newton steps.
    pub(crate) fn step(&mut self) -> Result<(), SolveError> {
        let made = self.iterate(false);
        self.forget_on_error(made)
    }

    /// Makes the last iteration of a fixed number. Unlike after [`step`](Self::step), FISTA ends at
    /// `$x^k$`, not at `$z^{k+1}$`.
    pub(crate) fn last_step(&mut self) -> Result<(), SolveError> {
        let made = self.iterate(true);
        self.forget_on_error(made)
    }

    fn iterate(&mut self, is_last: bool) -> Result<(), SolveError> {
        self.sharper = None;
        let evaluator = &mut self.evaluator;
        let State {
            point,
            dual,
            memory,
            ..
        } = &mut *self.state;
        let mut num_steps = 1;
        let norm = match memory {
            Memory::Descent(descent) => descent.step(point, evaluator)?,
            Memory::Fista(fista) if is_last && self.method == Method::FISTA => {
                fista.last_step(point, evaluator)?
            }
            Memory::Fista(fista) => match self.method {
                Method::Fista { certify } => fista.step(certify, point, evaluator)?,
                _ => unreachable!("the memory is that of the method"),
            },
            Memory::HeavyBall(ball) => ball.step(point, evaluator)?,
            Memory::Newton(memory) => {
                let Some(newton) = self.newton else {
                    unreachable!("the memory is that of the method");
                };
                num_steps = memory.step(newton, point, dual, evaluator)?;
                memory.gradient.norm.unwrap_or(f64::INFINITY)
            }
            Memory::Projected(memory) => {
                self.measured = Some(memory.step(self.domain, point, evaluator)?);
                evaluator.iterations += 1;
                return Ok(());
            }
            Memory::Empty => unreachable!("a method has begun"),
        };
        self.measured = Some(Measured::gradient(norm));
        evaluator.iterations += num_steps;
        Ok(())
    }

    /// Tries a Newton correction. Returns whether it was made; it counts as one iteration.
    pub(crate) fn correct(&mut self, corrections: &mut Corrections, target: ErrorBound) -> bool {
        let threshold = self.threshold(target);
        let State {
            point,
            memory,
            correction: vectors,
            ..
        } = &mut *self.state;
        let (Some(gradient), Some(second)) = (
            memory.gradient_mut(),
            self.evaluator.objective.second_order(),
        ) else {
            return false;
        };
        let Some(norm_before) = gradient.norm else {
            return false;
        };
        let iteration_work = if self.evaluator.rough_above.is_some() {
            ROUGH_WORK
        } else {
            1.0
        };
        if !corrections.is_due(norm_before, threshold, iteration_work) {
            return false;
        }
        let evaluator = &mut self.evaluator;
        corrections.prepare(norm_before, &mut vectors.dual);
        let (step, mut work) = newton_step(
            evaluator.objective,
            second,
            (point, &gradient.values, &mut vectors.dual),
            (
                Corrections::aim(norm_before, threshold),
                corrections.max_products(),
            ),
            &mut vectors.system,
            evaluator.scratch,
        );
        evaluator.other_work += work;
        let mut norm_after = f64::INFINITY;
        if let Some(step) = step {
            vectors.point.clear();
            (vectors.point).extend(point.iter().zip(step).map(|(x, z)| x - z));
            vectors.gradient.resize(point.len(), 0.0);
            vectors.gradient.fill(f64::NAN); // an entry that is not written is noticed
            evaluator.gradients += 1;
            work += 1.0;
            evaluator
                .objective
                .gradient(&vectors.point, &mut vectors.gradient, evaluator.scratch);
            norm_after = norm(&vectors.gradient);
        }
        // NaN is refused.
        if !corrections.accept(norm_before, norm_after, work) {
            return false;
        }
        point.copy_from_slice(&vectors.point);
        gradient.values.copy_from_slice(&vectors.gradient);
        gradient.norm = Some(norm_after);
        self.evaluator.rough_error = None;
        memory.forget_momentum(point);
        self.measured = Some(Measured::gradient(norm_after));
        self.sharper = None;
        self.evaluator.iterations += 1;
        true
    }

    /// Takes a step with the metric of the objective, which counts as one iteration, if one is due.
    /// Returns whether the point has moved.
    pub(crate) fn metric_step(&mut self, steps: &mut MetricSteps) -> bool {
        let State {
            point,
            memory,
            correction,
            ..
        } = &mut *self.state;
        let Some(second) = self.evaluator.objective.second_order() else {
            return false;
        };
        let known = memory.gradient().and_then(|gradient| gradient.norm);
        let Some(before) = known.filter(|norm| steps.is_due(*norm)) else {
            return false;
        };
        if steps.is_start() {
            memory.forget_momentum(point);
        }
        let Some(gradient) = memory.gradient_mut() else {
            return false;
        };
        let (evaluator, vectors) = (&mut self.evaluator, &mut correction.metric);
        let rough_error = evaluator.rough_error;
        steps.advance(second, point, gradient, vectors, evaluator);
        // A step that changes nothing, and a gradient that is not finite, are refused.
        let mut norm = f64::INFINITY;
        if vectors.have_moved(point) {
            norm = evaluator.gradient(point, gradient).unwrap_or(norm);
        }
        if !steps.accept(before, norm) {
            MetricSteps::take_back(point, gradient, vectors);
            gradient.norm = Some(before);
            evaluator.rough_error = rough_error;
            return false;
        }
        self.measured = Some(Measured::gradient(norm));
        self.sharper = None;
        evaluator.iterations += 1;
        true
    }

    /// After an error, the point of the state is only a start, since its gradient may not be
    /// finite.
    fn forget_on_error<T>(&mut self, result: Result<T, SolveError>) -> Result<T, SolveError> {
        if result.is_err() {
            self.state.owner = None;
            self.measured = None;
        }
        result
    }

    /// The progress of the Newton steps of this solve. For other methods it is the initial value.
    pub(crate) fn progress(&self) -> NewtonProgress {
        match &self.state.memory {
            Memory::Newton(memory) => memory.progress,
            _ => NewtonProgress::default(),
        }
    }

    /// Whether further Newton steps do not help.
    pub(crate) const fn is_over(&self) -> bool {
        match &self.state.memory {
            Memory::Newton(memory) => memory.progress.is_over(),
            _ => false,
        }
    }

    /// Changes the progress of the Newton steps; does nothing for other methods.
    pub(crate) fn change_progress(&mut self, change: impl FnOnce(&mut NewtonProgress)) {
        if let Memory::Newton(memory) = &mut self.state.memory {
            change(&mut memory.progress);
        }
    }

    /// Computes the sharper error bound of Newton steps, if they have one.
    pub(crate) fn sharpen_bound(&mut self, target: ErrorBound) {
        let State {
            point,
            dual,
            memory,
            ..
        } = &mut *self.state;
        if let (Memory::Newton(memory), Some(newton)) = (memory, self.newton) {
            self.sharper = memory.sharpen_bound(
                newton,
                (self.bound, target),
                point,
                dual,
                &mut self.evaluator,
            );
        }
    }

    /// The certified error of the point.
    pub(crate) fn error(&self) -> ErrorBound {
        let Some(Measured { norm, .. }) = self.measured else {
            return ErrorBound::UNKNOWN;
        };
        let bound = self.error_with(norm, self.rounding(norm));
        self.sharper
            .filter(|sharper| *sharper < bound)
            .unwrap_or(bound)
    }

    /// The certified error for a measured norm and its rounding error.
    pub(crate) fn error_with(&self, norm: f64, rounding: f64) -> ErrorBound {
        self.bound.bound(norm, rounding, self.state.point.len())
    }

    /// The largest measured norm that can certify `target`.
    pub(crate) fn threshold(&self, target: ErrorBound) -> f64 {
        self.bound.threshold(target)
    }

    /// Bounds the rounding error of a measured norm, as derived in the module
    /// [`certificate`](crate::certificate).
    pub(crate) fn rounding(&self, norm_measured: f64) -> f64 {
        let point_norm = norm(&self.state.point);
        match &self.state.memory {
            Memory::Projected(memory) => {
                let step = memory.step_length(&self.evaluator);
                let z_norm = point_norm + step * norm_measured;
                let gradient_norm = self.measured.map_or(0.0, |measured| measured.gradient_norm);
                self.gradient_rounding(z_norm, gradient_norm)
                    + UNIT_ROUNDOFF * (4.0 * z_norm / step + 2.0 * gradient_norm)
            }
            _ => (self.evaluator.rough_error)
                .unwrap_or_else(|| self.gradient_rounding(point_norm, norm_measured)),
        }
    }

    /// Whether the last gradient was rough.
    pub(crate) const fn is_rough(&self) -> bool {
        self.evaluator.rough_error.is_some()
    }

    /// Allows rough gradients while they are larger than the one that certifies `target`, and
    /// clearly larger than their error. If the bound on the error does not show this, the error at
    /// the start is measured. Over a set there are none, since steps are certified, not gradients.
    pub(crate) fn allow_rough_gradients(&mut self, target: ErrorBound) {
        let threshold = self.threshold(target);
        let State {
            point,
            memory,
            correction,
            ..
        } = &mut *self.state;
        let Some(exact) = memory.gradient() else {
            return;
        };
        let Some(exact_norm) = exact.norm.filter(|norm| *norm > threshold) else {
            return;
        };
        let evaluator = &mut self.evaluator;
        let objective = evaluator.objective;
        let Some(bound) = objective.rough_rounding(norm(point), exact_norm) else {
            return;
        };
        let mut least = threshold;
        // NaN is measured.
        if !(ROUGH_MARGIN * bound <= threshold) {
            let rough = &mut correction.gradient;
            rough.resize(point.len(), 0.0);
            objective.rough_gradient(point, rough, evaluator.scratch);
            evaluator.gradients += 1;
            evaluator.other_work += ROUGH_WORK - 1.0;
            for (rough, exact) in rough.iter_mut().zip(&exact.values) {
                *rough -= exact;
            }
            let error = norm(rough);
            if !error.is_finite() {
                return;
            }
            least = least.max(ROUGH_MARGIN * error);
        }
        evaluator.rough_above = Some(least);
    }

    /// Replaces the gradient of the point if it is rough, or forgets it if `target` is certified
    /// without it.
    pub(crate) fn end_with_exact_gradient(&mut self, target: ErrorBound) -> Result<(), SolveError> {
        self.evaluator.rough_above = None;
        if self.evaluator.rough_error.is_none() {
            return Ok(());
        }
        let State { point, memory, .. } = &mut *self.state;
        let Some(gradient) = memory.gradient_mut() else {
            return Ok(());
        };
        if self.sharper.is_some_and(|sharper| sharper <= target) {
            gradient.norm = None;
            memory.forget_momentum(point);
            return Ok(());
        }
        let exact = self.evaluator.gradient(point, gradient);
        let norm = self.forget_on_error(exact)?;
        self.measured = Some(Measured::gradient(norm));
        Ok(())
    }

    /// The norms of the point and of the last gradient.
    pub(crate) fn norms(&self) -> Norms {
        Norms {
            x: norm(&self.state.point),
            gradient: self.measured.map_or(0.0, |measured| measured.gradient_norm),
        }
    }

    /// Bounds the rounding error of a gradient.
    pub(crate) fn gradient_rounding(&self, x_norm: f64, gradient_norm: f64) -> f64 {
        self.evaluator
            .objective
            .gradient_rounding(x_norm, gradient_norm)
    }

    /// A hash of everything that the next iteration depends on.
    pub(crate) fn position(&self) -> u64 {
        let second = self.state.memory.second_vector().into_iter().flatten();
        (self.state.point.iter().chain(second)).fold(0, |hash: u64, x| {
            (hash.rotate_left(29) ^ x.to_bits()).wrapping_mul(0x9E37_79B9_7F4A_7C15)
        })
    }
}
