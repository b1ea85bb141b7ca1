//! The first phase of a run: the start and the points around it.

use super::growth::LEAST_ROOM;
use super::{Answer, Engine, Failure, Next, Phase, Run, StepRecord};
use crate::linalg::{Matrix, norm, orthogonal_complement};
use crate::model::linear::RANK;
use crate::model::pool::Point;
use crate::options::{Directions, Scaling};
use crate::random::{orthogonal_directions, unit_vector};
use crate::report::{StepKind, Termination};
use crate::span::Span;
use crate::{Algorithm, Purpose};

/// The points around the start that have yet to be evaluated, or evaluated more accurately.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct InitialPoints<R> {
    wanted: Vec<InitialStep>,
    /// The points that were evaluated, but not accurately enough, in the order of `wanted`.
    rough: Vec<Option<Point<R>>>,
    /// The parameters whose units are too small, and the factors that enlarge them.
    enlarge: Vec<(usize, f64)>,
}

impl<R> InitialPoints<R> {
    fn new(wanted: Vec<InitialStep>) -> Self {
        Self {
            rough: wanted.iter().map(|_| None).collect(),
            wanted,
            enlarge: Vec::new(),
        }
    }

    /// Removes the start from the list if it is the first point. Returns whether it was.
    fn takes_start(&mut self) -> bool {
        let first = self.wanted.first();
        let is_start = first.is_some_and(|wanted| wanted.step.iter().all(|s| *s == 0.0));
        if is_start {
            self.wanted.remove(0);
            self.rough.remove(0);
        }
        is_start
    }

    /// The points that are not accurate enough yet.
    pub(super) fn rough(&self) -> impl Iterator<Item = &Point<R>> {
        self.rough.iter().flatten()
    }

    pub(super) fn rough_mut(&mut self) -> impl Iterator<Item = &mut Point<R>> {
        self.rough.iter_mut().flatten()
    }
}

/// A step from the start to one of the points around it.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct InitialStep {
    step: Vec<f64>,
    /// The parameter that the step changes, if there is only one.
    coordinate: Option<usize>,
    /// The number of earlier attempts in this direction.
    tries: u32,
}

/// The largest number of attempts for a direction whose point fails or hardly changes the
/// residuals. Not tuned.
const MAX_TRIES: u32 = 4;
/// The change of the residuals, relative to their norm, up to which a step is invisible. Not tuned.
const INVISIBLE: f64 = 1e-9;
/// The factor that enlarges the unit of a parameter whose step is invisible. Not tuned.
const ENLARGE: f64 = 1e3;
/// The change of the residuals, relative to that of the strongest parameter, below which the unit
/// of a parameter may be enlarged. Not tuned.
const FAINT: f64 = 1e-2;
/// The change of the residuals, relative to that of the strongest parameter, that a faint parameter
/// is enlarged to. Not tuned.
const VISIBLE: f64 = 0.1;
/// The largest distance from the start at which a known evaluation counts as that of the start. Not
/// tuned.
const SAME_PLACE: f64 = 1e-12;
/// The largest ratio of the start's error to the accuracy that the model needs. Not tuned.
const START_ENOUGH: f64 = 2.0;
/// The share of a step that must lie inside the bounds for the positive direction to be taken
/// without comparing it with the negative one. Not tuned.
const ENOUGH_ROOM: f64 = 0.99;
/// The number of random directions that are tried for every parameter. Not tuned.
const DRAWS_PER_PARAM: usize = 20;

impl<R: Clone> Engine<R> {
    /// Begins the run with known evaluations.
    pub(super) fn begin(&mut self, known: Vec<Point<R>>) {
        let mut run = self.run();
        let next = run.first_question(known);
        self.go(next);
    }
}

impl<R: Clone> Run<'_, R> {
    /// Asks for the start, unless it is known already.
    fn first_question(&mut self, known: Vec<Point<R>>) -> Next<R> {
        let mut start = None;
        let mut others = Vec::new();
        for point in known {
            self.ledger.note_best(&point);
            if start.is_none() && norm(&point.u) <= SAME_PLACE {
                start = Some(point);
            } else {
                others.push(point);
            }
        }
        self.ledger.end_at_target(self.options.target);
        if let Some(why) = self.ledger.termination() {
            return Next::Stop(why.clone());
        }
        others.sort_by(|a, b| norm(&a.u).total_cmp(&norm(&b.u)));
        for point in others.into_iter().take(self.points.full_size() - 1) {
            self.points.store_outside(point);
        }
        if let Some(point) = start {
            return self.on_start(vec![Ok(point)]);
        }
        if self.options.is_wide() && self.points.stored().next().is_none() {
            // All at once. Only an oracle with errors may need another round for the start.
            let mut wanted = vec![InitialStep::along(vec![0.0; self.dim()])];
            wanted.extend(self.choose_directions());
            return self.ask_for(InitialPoints::new(wanted));
        }
        let target = self.rule().start_target(&self.now());
        let query = self.new_point(vec![0.0; self.dim()], target, Purpose::Initial);
        Next::Ask(Phase::Start, vec![query])
    }

    pub(super) fn on_start(&mut self, answers: Vec<Answer<R>>) -> Next<R> {
        if let Some(next) = self.take_start(answers) {
            return next;
        }
        let wanted = self.choose_directions();
        self.ask_for(InitialPoints::new(wanted))
    }

    /// Takes the start. If it is not accurate enough, returns the request for a more accurate one.
    fn take_start(&mut self, mut answers: Vec<Answer<R>>) -> Option<Next<R>> {
        let answer = answers.pop().unwrap_or_else(|| {
            Err(Failure {
                number: 0,
                reason: "not evaluated".to_owned(),
            })
        });
        match answer {
            Ok(mut point) => {
                if !self.points.is_empty() {
                    point.note_floor(self.points.incumbent().accuracy);
                }
                self.points.begin(point);
                // The accuracy that the model needs is known only now, from the residuals.
                let target = self.rule().model_target(&self.now());
                let point = self.points.incumbent();
                let is_rough = !(point.accuracy.value() <= START_ENOUGH * target.value());
                if is_rough && !point.at_floor {
                    return Some(Next::Ask(Phase::Start, vec![self.again(point, target)]));
                }
            }
            Err(failure) => {
                self.trust.start_failure = Some(failure.reason);
            }
        }
        None
    }

    /// Chooses the steps from the start, in addition to those to known points.
    fn choose_directions(&mut self) -> Vec<InitialStep> {
        let span = self.points.adopt_stored(self.trust.delta());
        let size = self.points.len().max(1);
        let missing = self.points.full_size().saturating_sub(size);
        let count = self.options.initial.num_directions;
        let count = count.unwrap_or(missing).min(missing);
        let mut wanted = if super::has_projections(&self.code.feasible) {
            self.feasible_directions(count, span)
        } else if span.len() == 0 {
            self.plain_directions(count)
        } else {
            let known = span.directions();
            let matrix = Matrix::from_fn(self.dim(), known.len(), |i, j| known[j][i]);
            let rest = orthogonal_complement(&matrix, RANK);
            (0..rest.cols())
                .map(|j| self.toward_room(rest.col(j)))
                .map(InitialStep::along)
                .collect()
        };
        wanted.truncate(count);
        wanted
    }

    fn plain_directions(&mut self, count: usize) -> Vec<InitialStep> {
        let d = self.dim();
        let unit = |j: usize| -> Vec<f64> { (0..d).map(|i| f64::from(u8::from(i == j))).collect() };
        let random = match self.options.initial.directions {
            Directions::Coordinate => None,
            Directions::Orthogonal { seed } => Some(orthogonal_directions(d, seed)),
        };
        let direction = |j: usize| {
            random
                .as_ref()
                .map_or_else(|| unit(j), |all| all[j].clone())
        };
        let mut wanted: Vec<InitialStep> = (0..d.min(count))
            .map(|j| InitialStep {
                step: self.toward_room(&direction(j)),
                coordinate: random.is_none().then_some(j),
                tries: 0,
            })
            .collect();
        // Regression needs more points: first on the opposite sides, then in random directions.
        for j in 0..count.saturating_sub(d) {
            let step = if j < d {
                self.other_side(&wanted[j].step)
            } else {
                let random = unit_vector(d, self.draw());
                self.toward_room(&random)
            };
            wanted.push(InitialStep::along(step));
        }
        wanted
    }

    /// The step of length `$\Delta$` along `direction` or against it, whichever has more room, cut
    /// at the bounds.
    fn toward_room(&self, direction: &[f64]) -> Vec<f64> {
        let delta = self.trust.delta();
        let plus = self.cut(direction, delta);
        let minus = self.cut(direction, -delta);
        if norm(&plus) >= ENOUGH_ROOM * delta || norm(&plus) >= norm(&minus) {
            plus
        } else {
            minus
        }
    }

    fn other_side(&self, step: &[f64]) -> Vec<f64> {
        let opposite = self.cut(step, -1.0);
        if norm(&opposite) >= LEAST_ROOM * norm(step) {
            opposite
        } else {
            // There is no room on the other side: go halfway on the same side.
            step.iter().map(|s| 0.5 * s).collect()
        }
    }

    fn cut(&self, direction: &[f64], length: f64) -> Vec<f64> {
        let (mut lower, mut upper) = (Vec::new(), Vec::new());
        self.space
            .step_bounds(&vec![0.0; direction.len()], &mut lower, &mut upper);
        (direction.iter().zip(lower.iter().zip(&upper)))
            .map(|(d, (lower, upper))| (d * length).clamp(*lower, *upper))
            .collect()
    }

    /// Chooses independent steps whose end points lie in the feasible set: along the coordinates,
    /// then in random directions.
    fn feasible_directions(&mut self, count: usize, mut span: Span) -> Vec<InitialStep> {
        let d = self.dim();
        let delta = self.trust.delta();
        let mut wanted = Vec::new();
        for attempt in 0..(2 + DRAWS_PER_PARAM) * d {
            if wanted.len() == count {
                break;
            }
            let mut u = if attempt < 2 * d {
                let sign = if attempt < d { delta } else { -delta };
                (0..d)
                    .map(|i| if i == attempt % d { sign } else { 0.0 })
                    .collect()
            } else {
                let random = unit_vector(d, self.draw());
                random.iter().map(|x| x * delta).collect::<Vec<f64>>()
            };
            self.space.make_feasible(&mut u, &self.code.feasible);
            if span.add_if(&u, |length| length >= LEAST_ROOM * delta) {
                wanted.push(InitialStep::along(u));
            }
        }
        self.points.set_spans(wanted.len() < count);
        wanted
    }

    fn ask_for(&mut self, build: InitialPoints<R>) -> Next<R> {
        if build.wanted.is_empty() {
            return self.built();
        }
        let now = self.now();
        let target = if self.points.is_empty() {
            self.rule().start_target(&now)
        } else {
            self.rule().model_target(&now)
        };
        let queries = (build.wanted.iter().zip(&build.rough))
            .map(|(wanted, rough)| match rough {
                Some(point) => {
                    let better = self.rule().informative_target(&now, point);
                    self.again(point, better.unwrap_or(target))
                }
                None => self.new_point(wanted.step.clone(), target, Purpose::Initial),
            })
            .collect();
        Next::Ask(Phase::Build(build), queries)
    }

    pub(super) fn on_build(
        &mut self,
        mut build: InitialPoints<R>,
        mut answers: Vec<Answer<R>>,
    ) -> Next<R> {
        if self.points.is_empty() && build.takes_start() && !answers.is_empty() {
            // If the start is not accurate enough, neither are the points around it. They are
            // asked for again after it.
            if let Some(next) = self.take_start(vec![answers.remove(0)]) {
                return next;
            }
        }
        let mut next = InitialPoints::new(Vec::new());
        let strongest = (answers.iter().flatten())
            .filter(|_| !self.points.is_empty())
            .map(|point| self.points.difference(point))
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
                    // Try the other side, at half the distance.
                    let step = wanted.step.iter().map(|s| -0.5 * s).collect::<Vec<_>>();
                    let step = self.cut(&step, 1.0);
                    if norm(&step) > 0.0 {
                        let tries = wanted.tries + 1;
                        next.wanted.push(InitialStep {
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
            self.space.rescale(j, factor);
            self.points.rescale(j, factor);
            next.rough_mut().for_each(|point| point.u[j] /= factor);
        }
        if self.ledger.exhausted.is_some() {
            next.wanted.clear();
        }
        self.ask_for(next)
    }

    /// Takes a point into the set, or asks for a more accurate or a more distant one.
    fn consider(
        &mut self,
        wanted: InitialStep,
        point: Point<R>,
        strongest: f64,
        next: &mut InitialPoints<R>,
    ) {
        if self.points.is_empty() {
            // The start failed, and this is the first point that could be evaluated.
            self.points.begin(point);
        } else if (self.rule().informative_target(&self.now(), &point)).is_some() {
            next.wanted.push(wanted);
            next.rough.push(Some(point));
        } else if let Some(enlarge) = self.too_small(&wanted, &point, strongest) {
            next.enlarge.push(enlarge);
            let tries = wanted.tries + 1;
            next.wanted.push(InitialStep { tries, ..wanted });
            next.rough.push(None);
        } else {
            self.points.push(point, false);
        }
    }

    /// Returns the parameter and a factor that enlarges its unit, if the unit is so small that the
    /// step hardly changes the residuals.
    fn too_small(
        &self,
        wanted: &InitialStep,
        point: &Point<R>,
        strongest: f64,
    ) -> Option<(usize, f64)> {
        let j = wanted.coordinate?;
        let automatic = self.options.scaling == Scaling::Automatic && !self.space.is_boxed(j);
        let start = self.points.incumbent();
        if !automatic
            || wanted.tries + 1 >= MAX_TRIES
            || norm(&start.u) > 0.0
            || self.code.regularizer.is_some()
        {
            return None;
        }
        let difference = self.points.difference(point);
        if difference <= INVISIBLE * start.residuals.norm(self.points.blocks()) {
            // Without any difference the residuals do not depend on the parameter.
            return (difference > 0.0).then_some((j, ENLARGE));
        }
        // The parameter has a unit of its own, from a start that may be small by accident.
        let units = self.space.units();
        let room = units.iter().fold(0.0_f64, |a, b| a.max(*b)) / units[j];
        let faint = difference < FAINT * strongest && room > 1.0;
        faint.then(|| (j, (VISIBLE * strongest / difference).min(room)))
    }

    /// Ends the first phase: moves to the best point of the set and records the first iteration.
    fn built(&mut self) -> Next<R> {
        if self.points.is_empty() {
            let reason = self.trust.start_failure.clone();
            let reason = reason.unwrap_or_else(|| "no point could be evaluated".to_owned());
            let reason = format!("no point could be evaluated; at the start: {reason}");
            return Next::Stop(Termination::OracleFailed { reason });
        }
        if self.options.algorithm == Algorithm::Practical {
            for position in 0..self.points.len() {
                let point = self.points.get(position);
                if position != self.points.center() && self.rule().is_better(&self.now(), point) {
                    self.points.move_to(position);
                }
            }
        }
        self.points.refresh();
        let gradient = self.points.gradient_norm();
        self.record(StepKind::Initial, StepRecord::without_step(gradient));
        Next::Continue
    }
}

impl InitialStep {
    const fn along(step: Vec<f64>) -> Self {
        Self {
            step,
            coordinate: None,
            tries: 0,
        }
    }
}
