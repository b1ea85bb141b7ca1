//! A solve under way: begins or continues, makes iterations, and bounds the error.

use crate::certificate::{ErrorBound, GradientBound, Norms};
use crate::domain::Domain;
use crate::error::SolveError;
use crate::evaluator::{Evaluator, Measured};
use crate::memory::Memory;
use crate::method::Method;
use crate::method::newton::Search;
use crate::newton::NewtonSteps;
use crate::norm::{UNIT_ROUNDOFF, norm};
use crate::objective::StronglyConvex;
use crate::solve::Solver;
use crate::state::{Owner, State};

/// A solve under way.
pub(crate) struct Iteration<'a, O: StronglyConvex> {
    /// The objective, and the work of this call.
    pub(crate) at: Evaluator<'a, O>,
    /// The method; not `Auto`.
    pub(crate) method: Method,
    domain: Domain<'a>,
    bound: GradientBound,
    pub(crate) state: &'a mut State,
    /// What certifies the point; over a set, nothing does before the first iteration.
    pub(crate) measured: Option<Measured>,
    /// The objective's Newton steps, if that is the method.
    pub(crate) newton: Option<&'a dyn NewtonSteps<O::Scratch>>,
}

impl<'a, O: StronglyConvex> Iteration<'a, O> {
    /// Checks the start, and continues the iteration in `state` if that belongs to the objective
    /// and fits the method; otherwise begins anew at its point. Over the whole space, makes the
    /// gradient there known.
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
        let at = Evaluator {
            objective,
            curvature,
            scratch,
            iterations: 0,
            gradients: 0,
            other_work: 0.0,
        };
        let bound = match &state.memory {
            Memory::Projected(memory) => {
                GradientBound::over_set(curvature, memory.step_length(&at))
            }
            _ => GradientBound::whole_space(curvature),
        };
        let mut iteration = Self {
            at,
            method,
            domain,
            bound,
            state,
            measured: None,
            newton,
        };
        let confirmed = iteration.confirm_gradient(owner.is_certain());
        iteration.forget_on_error(confirmed)?;
        Ok(iteration)
    }

    /// Makes sure that the gradient in the memory is that of this objective: known and certain, or
    /// evaluated. Where it turns out to be another one, the iteration starts at rest. (Over a set
    /// nothing is taken over that would have to be certain.)
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
                self.at.gradient(point, gradient)?
            }
        };
        self.measured = Some(Measured::gradient(norm));
        // The same norm to the last bit: no doubt the same objective.
        if known.is_some_and(|known| known.to_bits() != norm.to_bits()) {
            memory.rest(point);
        }
        Ok(())
    }

    /// Makes one iteration; of Newton's method perhaps several.
    pub(crate) fn step(&mut self) -> Result<(), SolveError> {
        let made = self.iterate(false);
        self.forget_on_error(made)
    }

    /// The last iteration of a fixed number: like [`step`](Self::step), but FISTA ends at `$x^k$`,
    /// not at `$z^{k+1}$`.
    pub(crate) fn last_step(&mut self) -> Result<(), SolveError> {
        let made = self.iterate(true);
        self.forget_on_error(made)
    }

    fn iterate(&mut self, is_last: bool) -> Result<(), SolveError> {
        let at = &mut self.at;
        let State {
            point,
            dual,
            memory,
            ..
        } = &mut *self.state;
        let mut num_steps = 1;
        let norm = match memory {
            Memory::Descent(descent) => descent.step(point, at)?,
            Memory::Fista(fista) if is_last && self.method == Method::FISTA => {
                fista.last_step(point, at)?
            }
            Memory::Fista(fista) => match self.method {
                Method::Fista { certify } => fista.step(certify, point, at)?,
                _ => unreachable!("the memory is that of the method"),
            },
            Memory::HeavyBall(ball) => ball.step(point, at)?,
            Memory::Newton(memory) => {
                let Some(newton) = self.newton else {
                    unreachable!("the memory is that of the method");
                };
                num_steps = memory.step(newton, point, dual, at)?;
                memory.gradient.norm.unwrap_or(f64::INFINITY)
            }
            Memory::Projected(memory) => {
                self.measured = Some(memory.step(self.domain, point, at)?);
                at.iterations += 1;
                return Ok(());
            }
            Memory::Empty => unreachable!("a method has begun"),
        };
        self.measured = Some(Measured::gradient(norm));
        at.iterations += num_steps;
        Ok(())
    }

    /// After an error the state is a start: its gradient may not be finite.
    fn forget_on_error<T>(&mut self, result: Result<T, SolveError>) -> Result<T, SolveError> {
        if result.is_err() {
            self.state.owner = None;
            self.measured = None;
        }
        result
    }

    /// How the Newton steps of this solve go; as at its beginning where that is not the method.
    pub(crate) fn search(&self) -> Search {
        match &self.state.memory {
            Memory::Newton(memory) => memory.search,
            _ => Search::default(),
        }
    }

    /// Whether Newton steps no longer help.
    pub(crate) const fn is_over(&self) -> bool {
        match &self.state.memory {
            Memory::Newton(memory) => memory.search.is_over(),
            _ => false,
        }
    }

    /// Changes what the Newton steps of this solve aim at.
    pub(crate) fn search_mut(&mut self, change: impl FnOnce(&mut Search)) {
        if let Memory::Newton(memory) = &mut self.state.memory {
            change(&mut memory.search);
        }
    }

    /// Asks the objective for a sharper bound of the error than the gradient's.
    pub(crate) fn sharpen_bound(&mut self, target: ErrorBound) {
        let State {
            point,
            dual,
            memory,
            ..
        } = &mut *self.state;
        if let (Memory::Newton(memory), Some(newton)) = (memory, self.newton) {
            memory.sharpen_bound(newton, (self.bound, target), point, dual, &mut self.at);
        }
    }

    /// The certified error of the point.
    pub(crate) fn error(&self) -> ErrorBound {
        let Some(Measured { norm, .. }) = self.measured else {
            return ErrorBound::UNKNOWN;
        };
        let bound = self.error_with(norm, self.rounding(norm));
        let sharper = self.search().sharper;
        sharper.filter(|sharper| *sharper < bound).unwrap_or(bound)
    }

    pub(crate) fn error_with(&self, norm: f64, rounding: f64) -> ErrorBound {
        self.bound.bound(norm, rounding, self.state.point.len())
    }

    /// No larger measured norm can certify `target`.
    pub(crate) fn threshold(&self, target: ErrorBound) -> f64 {
        self.bound.threshold(target)
    }

    /// Bounds the rounding error in a measured `norm`, see the [`certificate`](crate::certificate)
    /// module.
    pub(crate) fn rounding(&self, norm_measured: f64) -> f64 {
        let point_norm = norm(&self.state.point);
        match &self.state.memory {
            Memory::Projected(memory) => {
                let step = memory.step_length(&self.at);
                let z_norm = point_norm + step * norm_measured;
                let gradient_norm = self.measured.map_or(0.0, |measured| measured.gradient_norm);
                self.gradient_rounding(z_norm, gradient_norm)
                    + UNIT_ROUNDOFF * (4.0 * z_norm / step + 2.0 * gradient_norm)
            }
            _ => self.gradient_rounding(point_norm, norm_measured),
        }
    }

    /// How large the point and the last gradient are.
    pub(crate) fn norms(&self) -> Norms {
        Norms {
            x: norm(&self.state.point),
            gradient: self.measured.map_or(0.0, |measured| measured.gradient_norm),
        }
    }

    /// Bounds the rounding error of a gradient.
    pub(crate) fn gradient_rounding(&self, x_norm: f64, gradient_norm: f64) -> f64 {
        self.at.objective.gradient_rounding(x_norm, gradient_norm)
    }

    /// A hash of all that the next iteration depends on.
    pub(crate) fn position(&self) -> u64 {
        let second = self.state.memory.second_vector().into_iter().flatten();
        (self.state.point.iter().chain(second)).fold(0, |hash: u64, x| {
            (hash.rotate_left(29) ^ x.to_bits()).wrapping_mul(0x9E37_79B9_7F4A_7C15)
        })
    }
}
