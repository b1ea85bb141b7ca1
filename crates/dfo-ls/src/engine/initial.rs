//! The start and the points around it.

use super::{Answer, Engine, Failure, Phase, Row, State};
use crate::constraints::FeasibleSet;
use crate::linalg::{Matrix, dot, norm, orthogonal_complement};
use crate::model::linear::RANK;
use crate::model::pool::Point;
use crate::options::{Directions, Scaling};
use crate::random::{orthogonal_directions, unit_vector};
use crate::report::{StepKind, Termination};
use crate::{Algorithm, Purpose};

/// Points around the start that are wanted.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Build<R> {
    wanted: Vec<Wanted>,
    /// Evaluated, but not accurately enough; in the order of `wanted`.
    rough: Vec<Option<Point<R>>>,
    /// Parameters whose unit turned out too small, and by what factor.
    enlarge: Vec<(usize, f64)>,
}

impl<R> Build<R> {
    /// Points that are not accurate enough yet.
    pub(super) fn rough(&self) -> impl Iterator<Item = &Point<R>> {
        self.rough.iter().flatten()
    }

    pub(super) fn rough_mut(&mut self) -> impl Iterator<Item = &mut Point<R>> {
        self.rough.iter_mut().flatten()
    }
}

#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Wanted {
    step: Vec<f64>,
    /// The parameter it belongs to, if only one.
    coordinate: Option<usize>,
    tries: u32,
}

/// A direction whose point fails or tells nothing is tried this often.
const MAX_TRIES: u32 = 4;
/// Residuals that change by less than this share of their norm tell nothing,
const INVISIBLE: f64 = 1e-9;
/// and the parameter's unit is multiplied by this.
const ENLARGE: f64 = 1e3;
/// A parameter with a unit of its own is suspect if it changes the residuals by less than this share of the strongest.
const FAINT: f64 = 1e-2;

impl<R: Clone> Engine<R> {
    /// The first question, unless everything is known.
    pub(super) fn begin(&mut self, known: Vec<Point<R>>) {
        let zero = vec![0.0; self.state.dim()];
        let mut start = None;
        let mut others = Vec::new();
        for mut point in known {
            self.note_best(&point);
            if start.is_none() && norm(&point.u) <= 1e-12 {
                start = Some(point);
            } else {
                point.at_floor = true;
                others.push(point);
            }
        }
        self.end_at_target();
        others.sort_by(|a, b| norm(&a.u).total_cmp(&norm(&b.u)));
        let room = self.state.set_size() - 1;
        for point in others.into_iter().take(room) {
            self.state.pool.insert(point);
        }
        match start {
            Some(point) if self.state.termination.is_none() => {
                self.on_start(vec![Ok(point)]);
                self.advance();
            }
            _ => {
                let target = self.state.start_target();
                let query = self.new_point(zero, target, Purpose::Initial);
                self.state.phase = Phase::Start;
                self.issue(vec![query]);
            }
        }
    }

    pub(super) fn on_start(&mut self, mut answers: Vec<Answer<R>>) {
        let answer = answers.pop().unwrap_or_else(|| {
            Err(Failure {
                number: 0,
                reason: "not evaluated".to_owned(),
            })
        });
        match answer {
            Ok(mut point) => {
                let before = self
                    .state
                    .set
                    .first()
                    .map(|&slot| self.state.pool.get(slot).accuracy);
                if let Some(before) = before {
                    point.note_floor(before);
                    self.state.pool.remove(self.state.center);
                    self.state.set.clear();
                }
                let slot = self.state.pool.insert(point);
                self.state.set = vec![slot];
                self.state.center = slot;
                // the accuracy wanted depends on the residuals, which depend on the accuracy
                let target = self.model_target();
                let point = self.state.incumbent();
                if !(point.accuracy.value() <= 2.0 * target.value()) && !point.at_floor {
                    let query = self.again(self.state.incumbent(), target);
                    self.state.phase = Phase::Start;
                    self.issue(vec![query]);
                    return;
                }
            }
            Err(failure) => {
                self.state.control.start_failure = Some(failure.reason);
            }
        }
        let wanted = self.choose_directions();
        self.ask_for(Build {
            rough: wanted.iter().map(|_| None).collect(),
            wanted,
            enlarge: Vec::new(),
        });
    }

    /// Steps from the start, beside those to known points.
    fn choose_directions(&mut self) -> Vec<Wanted> {
        let d = self.state.dim();
        let delta = self.state.delta;
        let mut span: Vec<Vec<f64>> = Vec::new();
        if !self.state.set.is_empty() {
            let known: Vec<usize> = self
                .state
                .pool
                .live()
                .filter(|slot| *slot != self.state.center)
                .collect();
            for slot in known {
                let u = self.state.pool.get(slot).u.clone();
                let distance = norm(&u);
                let fresh = norm(&orthogonal_part(&u, &span)) / distance;
                let score = fresh * (distance / delta).min(delta / distance);
                if score > 1e-3 && self.state.set.len() < self.state.set_size() {
                    span.push(normalized(&orthogonal_part(&u, &span)));
                    self.state.set.push(slot);
                }
            }
        }
        let missing = self
            .state
            .set_size()
            .saturating_sub(self.state.set.len().max(1));
        let count = self
            .state
            .options
            .initial
            .num_directions
            .unwrap_or(missing)
            .min(missing);
        let mut wanted = if let FeasibleSet::Convex(_) = *self.feasible {
            self.feasible_directions(count, span)
        } else if span.is_empty() {
            self.plain_directions(count)
        } else {
            let matrix = Matrix::from_fn(d, span.len(), |i, j| span[j][i]);
            let rest = orthogonal_complement(&matrix, RANK);
            (0..rest.cols())
                .map(|j| self.toward_room(rest.col(j)))
                .map(Wanted::along)
                .collect()
        };
        wanted.truncate(count);
        wanted
    }

    fn plain_directions(&mut self, count: usize) -> Vec<Wanted> {
        let d = self.state.dim();
        let unit = |j: usize| -> Vec<f64> { (0..d).map(|i| f64::from(u8::from(i == j))).collect() };
        let random = match self.state.options.initial.directions {
            Directions::Coordinate => None,
            Directions::Orthogonal { seed } => Some(orthogonal_directions(d, seed)),
        };
        let direction = |j: usize| {
            random
                .as_ref()
                .map_or_else(|| unit(j), |all| all[j].clone())
        };
        let mut wanted: Vec<Wanted> = (0..d.min(count))
            .map(|j| Wanted {
                step: self.toward_room(&direction(j)),
                coordinate: random.is_none().then_some(j),
                tries: 0,
            })
            .collect();
        // regression: the opposite sides, then random directions
        for j in 0..count.saturating_sub(d) {
            let step = if j < d {
                self.other_side(&wanted[j].step)
            } else {
                let random = unit_vector(d, self.state.draw());
                self.toward_room(&random)
            };
            wanted.push(Wanted::along(step));
        }
        wanted
    }

    /// Of the two steps of length `$\Delta$`, the one with more room to the bounds, cut there.
    fn toward_room(&self, direction: &[f64]) -> Vec<f64> {
        let delta = self.state.delta;
        let plus = self.cut(direction, delta);
        let minus = self.cut(direction, -delta);
        if norm(&plus) >= 0.99 * delta || norm(&plus) >= norm(&minus) {
            plus
        } else {
            minus
        }
    }

    fn other_side(&self, step: &[f64]) -> Vec<f64> {
        let opposite = self.cut(step, -1.0);
        if norm(&opposite) >= 0.1 * norm(step) {
            opposite
        } else {
            // no room: halfway on the same side
            step.iter().map(|s| 0.5 * s).collect()
        }
    }

    fn cut(&self, direction: &[f64], length: f64) -> Vec<f64> {
        let (mut lower, mut upper) = (Vec::new(), Vec::new());
        self.state
            .space
            .step_bounds(&vec![0.0; direction.len()], &mut lower, &mut upper);
        (direction.iter().zip(lower.iter().zip(&upper)))
            .map(|(d, (lower, upper))| (d * length).clamp(*lower, *upper))
            .collect()
    }

    /// Independent steps whose ends lie in the set.
    fn feasible_directions(&mut self, count: usize, mut span: Vec<Vec<f64>>) -> Vec<Wanted> {
        let d = self.state.dim();
        let delta = self.state.delta;
        let mut wanted = Vec::new();
        for attempt in 0..(2 * d + 20 * d) {
            if wanted.len() == count {
                break;
            }
            let mut u = if attempt < 2 * d {
                let sign = if attempt < d { delta } else { -delta };
                (0..d)
                    .map(|i| if i == attempt % d { sign } else { 0.0 })
                    .collect()
            } else {
                let random = unit_vector(d, self.state.draw());
                random.iter().map(|x| x * delta).collect::<Vec<f64>>()
            };
            self.state.space.make_feasible(&mut u, &self.feasible);
            let fresh = orthogonal_part(&u, &span);
            if norm(&fresh) >= 0.1 * delta {
                span.push(normalized(&fresh));
                wanted.push(Wanted::along(u));
            }
        }
        self.state.spans = wanted.len() < count;
        wanted
    }

    fn ask_for(&mut self, build: Build<R>) {
        if build.wanted.is_empty() {
            self.built();
            return;
        }
        let target = if self.state.set.is_empty() {
            self.state.start_target()
        } else {
            self.model_target()
        };
        let queries = (build.wanted.iter().zip(&build.rough))
            .map(|(wanted, rough)| match rough {
                Some(point) => {
                    let better = self.informative(point).err().unwrap_or(target);
                    self.again(point, better)
                }
                None => self.new_point(wanted.step.clone(), target, Purpose::Initial),
            })
            .collect();
        self.state.phase = Phase::Build(build);
        self.issue(queries);
    }

    pub(super) fn on_build(&mut self, build: Build<R>, answers: Vec<Answer<R>>) {
        let mut next = Build {
            wanted: Vec::new(),
            rough: Vec::new(),
            enlarge: Vec::new(),
        };
        let strongest = (answers.iter().flatten())
            .filter(|_| !self.state.set.is_empty())
            .map(|point| self.state.difference(point))
            .fold(0.0, f64::max);
        for ((wanted, rough), answer) in build.wanted.into_iter().zip(build.rough).zip(answers) {
            match answer {
                Ok(mut point) => {
                    if let Some(rough) = rough {
                        point.note_floor(rough.accuracy);
                    }
                    self.consider(wanted, point, strongest, &mut next);
                }
                Err(_) if wanted.tries + 1 < MAX_TRIES => {
                    // the other side, closer
                    let step = wanted.step.iter().map(|s| -0.5 * s).collect::<Vec<_>>();
                    let step = self.cut(&step, 1.0);
                    if norm(&step) > 0.0 {
                        let tries = wanted.tries + 1;
                        next.wanted.push(Wanted {
                            step,
                            tries,
                            ..wanted
                        });
                        next.rough.push(None);
                    }
                }
                Err(_) => {}
            }
        }
        for (j, factor) in std::mem::take(&mut next.enlarge) {
            self.state.space.rescale(j, factor);
            let rough = next.rough.iter_mut().flatten().map(|point| &mut point.u);
            for u in self.state.pool.positions().chain(rough) {
                u[j] /= factor;
            }
        }
        if self.state.exhausted.is_some() {
            next.wanted.clear();
        }
        self.ask_for(next);
    }

    /// Takes a point into the set, or asks for a better one.
    fn consider(&mut self, wanted: Wanted, point: Point<R>, strongest: f64, next: &mut Build<R>) {
        if self.state.set.is_empty() {
            // the start failed: this is the first point there is
            let slot = self.state.pool.insert(point);
            self.state.set.push(slot);
            self.state.center = slot;
            return;
        }
        if self.informative(&point).is_err() {
            next.wanted.push(wanted);
            next.rough.push(Some(point));
            return;
        }
        if let Some(enlarge) = self.too_small(&wanted, &point, strongest) {
            next.enlarge.push(enlarge);
            let tries = wanted.tries + 1;
            next.wanted.push(Wanted { tries, ..wanted });
            next.rough.push(None);
            return;
        }
        let slot = self.state.pool.insert(point);
        self.state.set.push(slot);
    }

    /// The parameter whose unit is so small that the residuals hardly see a step, and a factor that helps.
    fn too_small(&self, wanted: &Wanted, point: &Point<R>, strongest: f64) -> Option<(usize, f64)> {
        let state = &self.state;
        let j = wanted.coordinate?;
        let automatic = state.options.scaling == Scaling::Automatic && !state.space.is_boxed(j);
        let start = state.incumbent();
        if !automatic
            || wanted.tries + 1 >= MAX_TRIES
            || norm(&start.u) > 0.0
            || self.regularizer.is_some()
        {
            return None;
        }
        let difference = state.difference(point);
        if difference <= INVISIBLE * state.pool.blocks().norm(&start.residuals) {
            // no difference at all: nothing depends on it
            return (difference > 0.0).then_some((j, ENLARGE));
        }
        // a unit of its own, from a start that happens to be small
        let units = state.space.units();
        let room = units.iter().fold(0.0_f64, |a, b| a.max(*b)) / units[j];
        let faint = difference < FAINT * strongest && room > 1.0;
        faint.then(|| (j, (0.1 * strongest / difference).min(room)))
    }

    /// The set is complete, as far as it can be.
    fn built(&mut self) {
        let state = &mut self.state;
        if state.set.is_empty() {
            let reason = state.control.start_failure.clone();
            let reason = reason.unwrap_or_else(|| "no point could be evaluated".to_owned());
            let reason = format!("no point could be evaluated; at the start: {reason}");
            self.stop(Termination::OracleFailed { reason });
            return;
        }
        if state.options.algorithm == Algorithm::Practical {
            self.move_to_better();
        }
        self.refresh_model_basis();
        let gradient = self.gradient_norm();
        self.record(StepKind::Initial, Row::without_step(gradient));
        self.state.phase = match self.state.options.algorithm {
            Algorithm::Practical => Phase::Iterate,
            Algorithm::Paper(_) => Phase::Paper(super::paper::Stage::default()),
        };
    }
}

impl<R> State<R> {
    /// How far a point's residuals are from the incumbent's.
    pub(super) fn difference(&self, point: &Point<R>) -> f64 {
        (self.pool.blocks()).distance(&point.residuals, &self.incumbent().residuals)
    }

    /// `$\|r\|^2$`.
    pub(super) fn sum_of_squares(&self, residuals: &[f64]) -> f64 {
        self.pool.blocks().dot(residuals, residuals)
    }
}

impl Wanted {
    const fn along(step: Vec<f64>) -> Self {
        Self {
            step,
            coordinate: None,
            tries: 0,
        }
    }
}

/// What is left of `x` beside the orthonormal `span`.
pub(super) fn orthogonal_part(x: &[f64], span: &[Vec<f64>]) -> Vec<f64> {
    let mut rest = x.to_vec();
    for _ in 0..2 {
        for direction in span {
            let along = dot(&rest, direction);
            for (r, q) in rest.iter_mut().zip(direction) {
                *r -= along * q;
            }
        }
    }
    rest
}

fn normalized(x: &[f64]) -> Vec<f64> {
    let length = norm(x);
    x.iter().map(|x| x / length).collect()
}
