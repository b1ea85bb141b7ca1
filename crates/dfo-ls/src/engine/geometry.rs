//! The interpolation set: its model, which point leaves it, and better places for points that are too far away.

use super::{Answer, Engine, Phase};
use std::borrow::Cow;

use crate::linalg::{Matrix, dot, norm};
use crate::model::composite::{Composite, Taylor};
use crate::model::linear::{Fit, Linear};
use crate::model::pool::Point;
use crate::model::{Model, ModelStep};
use crate::options::{AccuracyControl, Algorithm, TrustStep};
use crate::region::Region;
use crate::{Accuracy, Purpose};

/// Points farther than this many radii do not help a quadratic model.
const HISTORY_REACH: f64 = 10.0;
/// Points that cannot be evaluated are asked for this often in a row.
pub(super) const MAX_FAILURES: u32 = 3;

impl<R: Clone> Engine<R> {
    pub(super) fn region(&self, radius: f64, unit: f64) -> Region<'_> {
        Region::new(
            &self.state.space,
            &self.feasible,
            self.regularizer.as_deref(),
            &self.state.incumbent().u,
            radius,
            unit,
        )
    }

    /// Makes sure that there are Lagrange polynomials. `false` if the points are dependent.
    pub(super) fn refresh_model_basis(&mut self) -> bool {
        let state = &mut self.state;
        if state.pool.keep_precise(state.center, &state.set)
            && let Some(linear) = &mut state.linear
        {
            linear.forget_residuals();
        }
        if state.linear.is_none() {
            let center = state.center_position();
            let points: Vec<&[f64]> = state
                .set
                .iter()
                .map(|&slot| &state.pool.get(slot).u[..])
                .collect();
            state.linear = Linear::new(&points, center);
        }
        state.linear.is_some() || state.set.len() == 1
    }

    /// The model of the objective in multiples of `delta`.
    pub(super) fn model(&mut self, delta: f64) -> Model {
        if let Some(composite) = self.composite(delta) {
            let inexact = |slot: &usize| self.state.pool.get(*slot).accuracy != Accuracy::EXACT;
            if self.state.set.iter().any(inexact) {
                self.state.curvature = Some(composite.curvature() / (delta * delta));
            }
            return Model::Composite(composite);
        }
        Model::GaussNewton(self.gauss_newton(delta))
    }

    /// `$g = 2J^\top r$`, `$H = 2J^\top J$`, in multiples of `unit`.
    fn gauss_newton(&mut self, unit: f64) -> Taylor {
        let state = &mut self.state;
        let d = state.space.dim();
        let center = state.center_position();
        let Some(linear) = &mut state.linear else {
            return Taylor {
                gradient: vec![0.0; d],
                hessian: Matrix::zeros(d, d),
            };
        };
        let gradient = linear.slope(&state.pool, &state.set, center);
        let matrix = linear.gauss_newton(&state.pool, &state.set, center);
        Taylor {
            gradient: gradient.iter().map(|g| 2.0 * unit * g).collect(),
            hessian: matrix.scaled(2.0 * unit * unit),
        }
    }

    /// Of the model with linear residuals.
    pub(super) fn gradient_norm(&self) -> f64 {
        let state = &self.state;
        let slope = (state.linear.as_ref())
            .map(|linear| linear.slope(&state.pool, &state.set, state.center_position()));
        slope.map_or(0.0, |slope| 2.0 * norm(&slope))
    }

    fn composite(&self, delta: f64) -> Option<Composite> {
        let state = &self.state;
        let crate::options::Model::Composite { points_per_param } = state.options.model else {
            return None;
        };
        let d = state.dim();
        if state.set.len() != d + 1 {
            return None;
        }
        let most = state.dim_times(points_per_param) - d;
        let center = state.center;
        let mut extras: Vec<(f64, usize)> = (state.pool.live())
            .filter(|slot| !state.set.contains(slot))
            .map(|slot| (state.distance(slot), slot))
            .filter(|(distance, _)| *distance > 0.0 && *distance <= HISTORY_REACH * delta)
            .collect();
        extras.sort_by(|a, b| a.0.total_cmp(&b.0));
        extras.truncate(most);
        if extras.is_empty() {
            return None;
        }
        let rows: Vec<usize> = (state.set.iter().copied().filter(|&slot| slot != center))
            .chain(extras.iter().map(|extra| extra.1))
            .collect();
        let steps: Vec<Vec<f64>> = rows
            .iter()
            .map(|&slot| state.step_to(&state.pool.get(slot).u))
            .collect();
        let points = Matrix::from_fn(d, rows.len(), |j, t| steps[t][j] / delta);
        let gram = Matrix::from_fn(rows.len(), rows.len(), |t, s| {
            state.pool.product(center, rows[t], rows[s])
        });
        let along = rows
            .iter()
            .map(|&slot| state.pool.slope(center, slot))
            .collect();
        Composite::new(points, &self.noise(&rows, delta), gram, along)
    }

    /// The error of each point's residuals in units of their curvature over the trust region.
    fn noise(&self, rows: &[usize], delta: f64) -> Vec<f64> {
        let state = &self.state;
        let own = state.incumbent().accuracy;
        let curvature = state
            .curvature
            .map(|c| c * delta * delta)
            .filter(|c| *c > 0.0);
        let ratio = |slot: &usize| {
            let accuracy = state.pool.get(*slot).accuracy;
            if accuracy == Accuracy::EXACT && own == Accuracy::EXACT {
                return 0.0;
            }
            let error = accuracy.value() + own.value();
            curvature.map_or(1e-3, |curvature| (error / curvature).min(1e3))
        };
        rows.iter().map(ratio).collect()
    }

    pub(super) fn model_step(&mut self, delta: f64) -> ModelStep {
        let model = self.model(delta);
        let how = match self.state.options.algorithm {
            Algorithm::Practical => self.state.options.trust_region.step,
            Algorithm::Paper(_) => TrustStep::Exact,
        };
        model.minimize(&self.region(delta, delta), how)
    }

    /// Puts a trial point into the set, in the place of the point that it makes most superfluous.
    pub(super) fn take_into_set(
        &mut self,
        step: &[f64],
        point: Point<R>,
        accepted: bool,
        decreased: bool,
    ) {
        let state = &self.state;
        if state.set.len() < state.set_size() && !state.spans {
            let slot = self.keep(point);
            self.state.set.push(slot);
            self.state.linear = None;
            if accepted {
                self.state.center = slot;
            }
            return;
        }
        let center = state.center_position();
        // in the paper's experiments any decrease may cost the incumbent its place, even one too small to be accepted
        let careless = matches!(state.options.accuracy, AccuracyControl::Experiments(_));
        let better = careless || self.is_certainly_better(&point);
        let leaving = self.choose_leaving(step, accepted || (decreased && better));
        let Some(leaving) = leaving else {
            let slot = self.keep(point);
            if accepted {
                // no polynomial sees the step: start from here with what is left of the set
                let old = self.state.center;
                let position = self.state.set.iter().position(|&s| s == old).unwrap_or(0);
                self.state.set[position] = slot;
                self.state.center = slot;
                self.state.linear = None;
            }
            return;
        };
        debug_assert!(
            leaving != center || accepted || careless,
            "the incumbent stays unless the new point takes its place"
        );
        self.replace(leaving, step, point, accepted);
    }

    /// The position in the set that a new point at `step` should take.
    fn choose_leaving(&self, step: &[f64], may_take_center: bool) -> Option<usize> {
        let state = &self.state;
        let linear = state.linear.as_ref()?;
        let center = state.center_position();
        let values = linear.values(step, center);
        let square = state.delta * state.delta;
        let score = |t: usize| {
            let distance = state.distance(state.set[t]);
            let far = (distance * distance / square).max(1.0);
            values[t].abs() * far * far
        };
        let candidates = (0..state.set.len()).filter(|&t| t != center || may_take_center);
        let (position, best) =
            candidates
                .map(|t| (t, score(t)))
                .fold((None, 0.0), |(at, best), (t, score)| {
                    if score > best {
                        (Some(t), score)
                    } else {
                        (at, best)
                    }
                });
        position.filter(|_| best > 1e-12)
    }

    /// Replaces a point of the set.
    pub(super) fn replace(
        &mut self,
        position: usize,
        step: &[f64],
        point: Point<R>,
        becomes_center: bool,
    ) {
        let slot = self.keep(point);
        let state = &mut self.state;
        let center = state.center_position();
        if let Some(linear) = &mut state.linear
            && !linear.replace(position, step, slot, &state.pool, &state.set, center)
        {
            state.linear = None;
        }
        state.set[position] = slot;
        if becomes_center || position == center {
            if state
                .linear
                .as_ref()
                .is_some_and(|linear| linear.fit != Fit::Interpolation)
            {
                state.linear = None;
            }
            state.center = slot;
        }
    }

    /// Keeps a point, forgetting the one farthest away if there is no room.
    pub(super) fn keep(&mut self, point: Point<R>) -> usize {
        let state = &mut self.state;
        if state.pool.is_full() {
            let farthest = (state.pool.live())
                .filter(|slot| !state.set.contains(slot))
                .map(|slot| (state.distance(slot), slot))
                .max_by(|a, b| a.0.total_cmp(&b.0));
            if let Some((_, slot)) = farthest {
                state.pool.remove(slot);
            }
        }
        state.pool.insert(point)
    }

    /// Asks for better places for points farther than `threshold`. `false` if there are none.
    pub(super) fn improve_geometry(&mut self, threshold: f64, shrink: bool) -> bool {
        if self.state.control.geometry_failures >= MAX_FAILURES {
            self.state.control.geometry_failures = 0;
            return false;
        }
        let state = &self.state;
        let mut far: Vec<(f64, usize)> = (0..state.set.len())
            .map(|position| (state.distance(state.set[position]), position))
            .filter(|(distance, _)| *distance > threshold)
            .collect();
        far.sort_by(|a, b| b.0.total_cmp(&a.0));
        far.truncate(state.options.batch.0);
        let Some(&(distance, _)) = far.first() else {
            return false;
        };
        if shrink {
            let rho = state.rho;
            self.state.delta = (0.1 * state.delta).min(0.5 * distance).max(1.5 * rho);
        }
        let radius = (0.1 * distance).min(self.state.delta).max(self.state.rho);
        let positions: Vec<usize> = far.iter().map(|far| far.1).collect();
        self.move_points(&positions, radius)
    }

    /// Asks for points that replace those at `positions`, each where its polynomial is largest.
    pub(super) fn move_points(&mut self, positions: &[usize], radius: f64) -> bool {
        if !self.refresh_model_basis() {
            return false;
        }
        let state = &self.state;
        let Some(first) = &state.linear else {
            return false;
        };
        let mut linear = Cow::Borrowed(first);
        let center = state.center_position();
        let target = self.model_target();
        let mut points: Vec<Vec<f64>> = state
            .set
            .iter()
            .map(|&slot| state.pool.get(slot).u.clone())
            .collect();
        let (mut queries, mut moved) = (Vec::new(), Vec::new());
        for &position in positions {
            let region = self.region(radius, 1.0);
            let constant = linear.constant(position, center);
            let gradient = linear.gradient(position);
            let step = region.maximize_absolute(constant, gradient);
            let value = constant + dot(gradient, &step);
            if !(value.abs() > 1e-12) || !(norm(&step) > 0.0) {
                continue;
            }
            let u: Vec<f64> = state
                .incumbent()
                .u
                .iter()
                .zip(&step)
                .map(|(u, s)| u + s)
                .collect();
            points[position].clone_from(&u);
            queries.push(self.new_point(u, target, Purpose::Geometry));
            moved.push(state.set[position]);
            if positions.len() > 1 {
                let views: Vec<&[f64]> = points.iter().map(|point| &point[..]).collect();
                match Linear::new(&views, center) {
                    Some(next) => linear = Cow::Owned(next),
                    None => break,
                }
            }
        }
        if queries.is_empty() {
            return false;
        }
        self.state.phase = Phase::Geometry(moved);
        self.issue(queries);
        true
    }

    pub(super) fn on_geometry(&mut self, moved: &[usize], answers: Vec<Answer<R>>) {
        for (slot, answer) in moved.iter().zip(answers) {
            let position = self.state.set.iter().position(|s| s == slot);
            match (answer, position) {
                (Ok(point), Some(position)) => self.settle(position, point),
                (Err(_), Some(_)) => self.state.control.geometry_failures += 1,
                (_, None) => {}
            }
        }
    }

    fn settle(&mut self, position: usize, point: Point<R>) {
        self.state.control.geometry_failures = 0;
        let step = self.state.step_to(&point.u);
        let better = self.is_certainly_better(&point);
        let difference = self.state.incumbent().objective - point.objective;
        let predicted = self.predicted_at(&step);
        self.note_error((difference - predicted).abs());
        let is_center = position == self.state.center_position();
        self.replace(position, &step, point, better);
        if is_center && !better {
            // the incumbent itself was moved: the best of the others takes over
            let best = self.state.set.iter().copied().min_by(|&a, &b| {
                let objective = |slot: usize| self.state.pool.get(slot).objective;
                objective(a).total_cmp(&objective(b))
            });
            if let Some(best) = best {
                self.state.center = best;
                if self
                    .state
                    .linear
                    .as_ref()
                    .is_some_and(|linear| linear.fit != Fit::Interpolation)
                {
                    self.state.linear = None;
                }
            }
        }
    }

    /// The decrease that linear residuals predict.
    fn predicted_at(&mut self, step: &[f64]) -> f64 {
        let state = &mut self.state;
        let center = state.center_position();
        let Some(linear) = &mut state.linear else {
            return 0.0;
        };
        let slope = linear.slope(&state.pool, &state.set, center);
        let mut image = vec![0.0; step.len()];
        linear
            .gauss_newton(&state.pool, &state.set, center)
            .mul_vec(step, &mut image);
        -(2.0 * dot(&slope, step) + dot(step, &image))
    }

    /// `$\Lambda$`: the largest absolute value of a Lagrange polynomial in the trust region.
    pub(super) fn poisedness(&self, radius: f64) -> Option<f64> {
        self.largest_value(radius, |_| true)
    }

    /// The same without the incumbent's polynomial.
    pub(super) fn poisedness_of_others(&self, radius: f64) -> Option<f64> {
        let center = self.state.center_position();
        self.largest_value(radius, |t| t != center)
    }

    fn largest_value(&self, radius: f64, counts: impl Fn(usize) -> bool) -> Option<f64> {
        let state = &self.state;
        let linear = state.linear.as_ref()?;
        let center = state.center_position();
        let region = self.region(radius, 1.0);
        let value = |t: usize| {
            let step = region.maximize_absolute(linear.constant(t, center), linear.gradient(t));
            (linear.constant(t, center) + dot(linear.gradient(t), &step)).abs()
        };
        let counted = (0..state.set.len()).filter(|&t| counts(t));
        Some(counted.map(value).fold(0.0, f64::max))
    }
}
