//! One iteration of each method, over the whole space and over a convex set.

use std::mem::swap;

use crate::ball::{Coefficients, Guard};
use crate::certificate::{ErrorBound, GradientBound, Norms};
use crate::domain::Domain;
use crate::error::SolveError;
use crate::method::{Certify, Method, Momentum};
use crate::newton::{Search, smaller};
use crate::norm::{UNIT_ROUNDOFF, norm, norm_from_squared};
use crate::objective::{Curvature, Newton, StronglyConvex};
use crate::solve::Solver;
use crate::state::{Layout, Owner, State};
use crate::update::Update;

/// A solve under way.
pub(crate) struct Walk<'a, O: StronglyConvex> {
    pub(crate) objective: &'a O,
    pub(crate) curvature: Curvature,
    pub(crate) method: Method,
    domain: Domain<'a>,
    step: f64,
    bound: GradientBound,
    pub(crate) state: &'a mut State,
    pub(crate) scratch: &'a mut O::Scratch,
    pub(crate) iterations: u64,
    pub(crate) gradients: u64,
    /// What was done beside gradients, in gradients.
    pub(crate) work: f64,
    /// A gradient of this norm would certify what is wanted.
    pub(crate) wanted_norm: f64,
    /// What Newton steps need, if that is the method,
    pub(crate) newton: Option<Newton>,
    /// how many may be made at once,
    pub(crate) steps_at_once: u64,
    /// and how they go.
    pub(crate) search: Search,
    /// What the objective itself says of the error of `state.point`.
    pub(crate) sharper: Option<ErrorBound>,
    /// What certifies `state.point`: `$\|\nabla\Phi\|$` there, or over a set the `$\|G\|$` that led there.
    pub(crate) measured: Option<f64>,
    aims_at_centre: bool,
    /// Norm of the last gradient, over a set.
    set_gradient_norm: f64,
}

impl<'a, O: StronglyConvex> Walk<'a, O> {
    /// Checks the start and makes its gradient known, or over a set moves it there. Goes on from the iteration in `state` if
    /// that belongs to the objective and fits the method.
    pub(crate) fn new(
        solver: &Solver<'a>,
        objective: &'a O,
        state: &'a mut State,
        scratch: &'a mut O::Scratch,
    ) -> Result<Self, SolveError> {
        if state.point.len() != objective.dim() {
            return Err(SolveError::WrongLength {
                expected: objective.dim(),
                found: state.point.len(),
            });
        }
        // its norm tells sooner
        if !norm(&state.point).is_finite()
            && let Some(index) = state.point.iter().position(|x| !x.is_finite())
        {
            return Err(SolveError::NonFiniteStart { index });
        }
        solver.domain.check()?;
        let whole = matches!(solver.domain, Domain::Whole);
        let method = solver.method.resolve(objective, whole);
        let newton = if method == Method::Newton {
            let newton = objective.newton().filter(|_| whole);
            Some(newton.ok_or(SolveError::NoNewtonSteps)?)
        } else {
            None
        };
        state.make_room(newton);
        let curvature = objective.curvature();
        let step = method.step_length(curvature);
        let owner = Owner::of(objective);
        let goes_on = state.owner == Some(owner)
            && state.method.continues_as(method)
            && match state.layout {
                Layout::Start => false,
                Layout::Iterate { .. } => whole,
                Layout::Extrapolated { .. } => whole && method.extrapolates(),
                Layout::Rolling { .. } => whole && method == Method::HeavyBall,
                Layout::Projected => !whole,
            };
        if !goes_on {
            solver.domain.project(&mut state.point);
            if !state.point.iter().all(|x| x.is_finite()) {
                return Err(SolveError::NonFiniteProjection { iterations: 0 });
            }
            state.begin();
        }
        (state.method, state.owner) = (method, Some(owner));
        let mut walk = Self {
            objective,
            curvature,
            method,
            domain: solver.domain,
            step,
            bound: if whole {
                GradientBound::whole_space(curvature)
            } else {
                GradientBound::over_set(curvature, step)
            },
            state,
            scratch,
            iterations: 0,
            gradients: 0,
            work: 0.0,
            wanted_norm: 0.0,
            newton,
            steps_at_once: 1,
            search: Search::new(),
            sharper: None,
            measured: None,
            aims_at_centre: false,
            set_gradient_norm: 0.0,
        };
        if whole {
            walk.measured = walk.state.layout.gradient_norm();
            walk.confirm_gradient(owner.is_certain())?;
        }
        Ok(walk)
    }

    /// Makes sure that the gradient is that of this objective: known and certain, or evaluated. Where it turns out to be
    /// another one, momentum starts anew. (Over a set nothing is taken over that would have to be certain.)
    fn confirm_gradient(&mut self, certain: bool) -> Result<(), SolveError> {
        let remembered = (self.measured, self.state.layout);
        if remembered.0.is_some() && certain {
            return Ok(());
        }
        let gradient_norm = self.evaluate_gradient()?;
        match remembered {
            // The same norm to the last bit: no doubt the same objective. If not, its gradient is the right one all the same.
            (Some(norm), layout) if norm.to_bits() == gradient_norm.to_bits() => {
                self.state.layout = layout;
            }
            (Some(_), _) => {
                let gradient_norm = Some(gradient_norm);
                self.state.companion.copy_from_slice(&self.state.point);
                self.state.momentum = Momentum::default();
                self.state.guard = Guard::default();
                self.state.layout = Layout::Iterate { gradient_norm };
            }
            (None, layout @ (Layout::Extrapolated { .. } | Layout::Rolling { .. })) => {
                self.state.layout = layout.with_gradient_norm(Some(gradient_norm));
            }
            (None, _) => {}
        }
        Ok(())
    }

    /// One iteration.
    pub(crate) fn step(&mut self) -> Result<(), SolveError> {
        self.sharper = None;
        let mut num_steps = 1;
        match (self.domain, self.method) {
            (Domain::Whole, Method::Newton) => num_steps = self.newton(self.steps_at_once)?,
            (Domain::Whole, Method::HeavyBall) => self.roll_or_accelerate()?,
            (Domain::Whole, Method::GradientDescent { .. }) => self.descend()?,
            (
                Domain::Whole,
                Method::Fista {
                    certify: Certify::Extrapolated,
                },
            ) => self.accelerate()?,
            (
                Domain::Whole,
                Method::Fista {
                    certify: Certify::Iterate,
                },
            ) => self.accelerate_and_evaluate()?,
            (Domain::Between { .. } | Domain::Convex(_), _) => self.project()?,
            (Domain::Whole, Method::Auto) => unreachable!("resolved at the start"),
        }
        self.iterations += num_steps;
        Ok(())
    }

    /// The last iteration of a fixed number: like [`step`](Self::step), but ends at `$x^k$`, never at `$z^{k+1}$`.
    pub(crate) fn last_step(&mut self) -> Result<(), SolveError> {
        if matches!(self.domain, Domain::Whole) && self.method == Method::FISTA {
            self.extrapolate()?;
            self.descend()?;
            self.iterations += 1;
            Ok(())
        } else {
            self.step()
        }
    }

    /// The certified error of `state.point`.
    pub(crate) fn error(&self) -> ErrorBound {
        self.measured.map_or(ErrorBound::UNKNOWN, |measured| {
            let bound = self.error_with(measured, self.rounding(measured));
            smaller(bound, self.sharper)
        })
    }

    pub(crate) fn error_with(&self, measured: f64, rounding: f64) -> ErrorBound {
        self.bound.bound(measured, rounding, self.state.point.len())
    }

    /// Whether the gradient places the minimiser in a ball.
    pub(crate) const fn has_centre(&self) -> bool {
        matches!(self.domain, Domain::Whole) && self.newton.is_none()
    }

    /// Certifies the centre of that ball from now on.
    pub(crate) fn aim_at_centre(&mut self) {
        self.bound = GradientBound::centre(self.curvature);
        self.aims_at_centre = true;
    }

    /// Moves there, if that was the aim.
    pub(crate) fn move_to_centre(&mut self) {
        if !self.aims_at_centre {
            return;
        }
        let (mu, l) = (
            self.curvature.strong_convexity(),
            self.curvature.lipschitz(),
        );
        let shift = 0.5 * (mu.recip() + l.recip());
        let state = &mut *self.state;
        for (point, gradient) in state.point.iter_mut().zip(&state.gradient) {
            *point -= shift * gradient;
        }
        state.layout = Layout::Start;
    }

    /// No larger measurement can certify `target`.
    pub(crate) fn threshold(&self, target: ErrorBound) -> f64 {
        self.bound.threshold(target)
    }

    /// Bounds the rounding error in `measured`, see the [`certificate`](crate::certificate) module.
    pub(crate) fn rounding(&self, measured: f64) -> f64 {
        let point_norm = norm(&self.state.point);
        match self.domain {
            Domain::Whole if self.aims_at_centre => {
                let mu = self.curvature.strong_convexity();
                self.objective.gradient_rounding(point_norm, measured)
                    + 8.0 * UNIT_ROUNDOFF * (mu * point_norm + measured)
            }
            Domain::Whole => self.objective.gradient_rounding(point_norm, measured),
            Domain::Between { .. } | Domain::Convex(_) => {
                let z_norm = point_norm + self.step * measured;
                let gradient_norm = self.set_gradient_norm;
                self.objective.gradient_rounding(z_norm, gradient_norm)
                    + UNIT_ROUNDOFF * (4.0 * z_norm / self.step + 2.0 * gradient_norm)
            }
        }
    }

    /// How large the point and the last gradient are.
    pub(crate) fn norms(&self) -> Norms {
        Norms {
            x: norm(&self.state.point),
            gradient: match self.domain {
                Domain::Whole => self.measured.unwrap_or(0.0),
                Domain::Between { .. } | Domain::Convex(_) => self.set_gradient_norm,
            },
        }
    }

    /// Bounds the rounding error of a gradient.
    pub(crate) fn gradient_rounding(&self, x_norm: f64, gradient_norm: f64) -> f64 {
        self.objective.gradient_rounding(x_norm, gradient_norm)
    }

    /// A hash of all that the next iteration depends on.
    pub(crate) fn position(&self) -> u64 {
        let State {
            point, companion, ..
        } = &*self.state;
        point.iter().chain(companion).fold(0, |hash: u64, x| {
            (hash.rotate_left(29) ^ x.to_bits()).wrapping_mul(0x9E37_79B9_7F4A_7C15)
        })
    }

    fn descend(&mut self) -> Result<(), SolveError> {
        let state = &mut *self.state;
        let squared = self.objective.advance(
            Update::Descent { step: self.step },
            &mut state.point,
            &mut state.gradient,
            self.scratch,
        );
        let gradient_norm = self.measure(squared)?;
        self.state.layout = Layout::Iterate {
            gradient_norm: Some(gradient_norm),
        };
        Ok(())
    }

    fn accelerate(&mut self) -> Result<(), SolveError> {
        self.extrapolate()?;
        let state = &mut *self.state;
        let extrapolation = state.momentum.next(self.method, self.curvature);
        let squared = self.objective.advance(
            Update::Accelerated {
                step: self.step,
                extrapolation,
                iterate: &mut state.companion,
            },
            &mut state.point,
            &mut state.gradient,
            self.scratch,
        );
        let gradient_norm = Some(self.measure(squared)?);
        self.state.layout = Layout::Extrapolated { gradient_norm };
        Ok(())
    }

    /// One iteration of the heavy ball or of FISTA, whichever has the turn.
    fn roll_or_accelerate(&mut self) -> Result<(), SolveError> {
        if let Some(norm) = self.measured {
            self.state.guard.begin(norm);
        }
        if self.state.guard.is_rolling {
            self.roll()?;
        } else {
            self.accelerate()?;
        }
        let Some(norm) = self.measured else {
            return Ok(());
        };
        let state = &mut *self.state;
        if state.guard.observe(self.curvature, norm) {
            state.momentum = Momentum::default();
            state.companion.copy_from_slice(&state.point);
            state.layout = Layout::Iterate {
                gradient_norm: Some(norm),
            };
        }
        Ok(())
    }

    fn roll(&mut self) -> Result<(), SolveError> {
        let state = &mut *self.state;
        if !matches!(state.layout, Layout::Rolling { .. }) {
            state.companion.fill(0.0);
        }
        let Coefficients { decay, ahead, back } = state.guard.coefficients(self.curvature);
        let squared = self.objective.advance(
            Update::HeavyBall {
                decay,
                ahead,
                back,
                impulse: &mut state.companion,
            },
            &mut state.point,
            &mut state.gradient,
            self.scratch,
        );
        let gradient_norm = Some(self.measure(squared)?);
        self.state.layout = Layout::Rolling { gradient_norm };
        Ok(())
    }

    /// From `$x^k$` to `$z^{k+1}$`, if `state` is not there yet; at the start of a solve they are the same point.
    fn extrapolate(&mut self) -> Result<(), SolveError> {
        let Layout::Iterate { gradient_norm } = self.state.layout else {
            return Ok(());
        };
        let at_rest = self.state.momentum.is_at_rest();
        self.replace_companion_by_extrapolated_point();
        let state = &mut *self.state;
        swap(&mut state.point, &mut state.companion);
        let gradient_norm = match gradient_norm {
            Some(gradient_norm) if at_rest => Some(gradient_norm),
            _ => Some(self.evaluate_gradient()?),
        };
        self.state.layout = Layout::Extrapolated { gradient_norm };
        Ok(())
    }

    fn accelerate_and_evaluate(&mut self) -> Result<(), SolveError> {
        self.replace_companion_by_extrapolated_point();
        let state = &mut *self.state;
        self.objective
            .gradient(&state.companion, &mut state.gradient, self.scratch);
        self.gradients += 1;
        Update::Descent { step: self.step }.apply(
            0..state.point.len(),
            &mut state.companion,
            &state.gradient,
        );
        swap(&mut state.point, &mut state.companion);
        self.evaluate_gradient()?;
        Ok(())
    }

    fn project(&mut self) -> Result<(), SolveError> {
        self.replace_companion_by_extrapolated_point();
        let state = &mut *self.state;
        let squared =
            self.objective
                .gradient_with_norm(&state.companion, &mut state.gradient, self.scratch);
        self.gradients += 1;
        self.set_gradient_norm = norm_from_squared(squared, &state.gradient);
        if !self.set_gradient_norm.is_finite() {
            state.layout = Layout::Start;
            return Err(SolveError::NonFiniteGradient {
                iterations: self.iterations,
            });
        }
        for (gradient, z) in state.gradient.iter_mut().zip(&state.companion) {
            *gradient = z - self.step * *gradient;
        }
        self.domain.project(&mut state.gradient);
        for (z, next) in state.companion.iter_mut().zip(&state.gradient) {
            *z -= next;
        }
        let moved = norm(&state.companion);
        if !moved.is_finite() {
            state.layout = Layout::Start;
            return Err(SolveError::NonFiniteProjection {
                iterations: self.iterations,
            });
        }
        self.measured = Some(moved / self.step);
        swap(&mut state.point, &mut state.companion);
        swap(&mut state.point, &mut state.gradient);
        state.layout = Layout::Projected;
        Ok(())
    }

    /// `companion`, on entry `$x^{k-1}$`, becomes `$z^{k+1} = x^k + \beta_{k+1}(x^k - x^{k-1})$`.
    fn replace_companion_by_extrapolated_point(&mut self) {
        let state = &mut *self.state;
        let extrapolation = state.momentum.next(self.method, self.curvature);
        for (companion, point) in state.companion.iter_mut().zip(&state.point) {
            *companion = point + extrapolation * (point - *companion);
        }
    }

    /// Makes the gradient at `point` known.
    pub(crate) fn evaluate_gradient(&mut self) -> Result<f64, SolveError> {
        let state = &mut *self.state;
        let squared =
            self.objective
                .gradient_with_norm(&state.point, &mut state.gradient, self.scratch);
        let gradient_norm = self.measure(squared)?;
        self.state.layout = Layout::Iterate {
            gradient_norm: Some(gradient_norm),
        };
        Ok(gradient_norm)
    }

    /// Counts and checks the gradient that was just evaluated at `point`.
    fn measure(&mut self, squared: f64) -> Result<f64, SolveError> {
        self.gradients += 1;
        let gradient_norm = norm_from_squared(squared, &self.state.gradient);
        if !gradient_norm.is_finite() {
            self.state.layout = Layout::Start;
            self.measured = None;
            return Err(SolveError::NonFiniteGradient {
                iterations: self.iterations,
            });
        }
        self.measured = Some(gradient_norm);
        Ok(gradient_norm)
    }
}
