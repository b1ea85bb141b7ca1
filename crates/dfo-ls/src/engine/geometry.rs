//! Geometry improvement: better places for points of the set that are far from the incumbent.

use super::interpolation::VANISHES;
use super::{Answer, Next, Phase, Run};
use crate::Purpose;
use crate::linalg::{dot, norm};
use crate::model::linear::LinearModel;
use crate::model::pool::Point;
use std::borrow::Cow;

/// The number of consecutive geometry points that may fail before the solver goes on without them.
/// Not tuned.
pub(super) const MAX_FAILURES: u32 = 3;
/// The distance of a moved point, as a share of its old distance, limited by the lower radius and
/// the radius: Powell's BOBYQA report (2009).
const MOVE_TO: f64 = 0.1;

impl<R: Clone> Run<'_, R> {
    /// Asks for replacements of the points that are farther away than `threshold`; `None` if there
    /// are no such points. With `shrink`, the radius shrinks too.
    pub(super) fn improve_geometry(&mut self, threshold: f64, shrink: bool) -> Option<Next<R>> {
        if self.trust.geometry_failures >= MAX_FAILURES {
            self.trust.geometry_failures = 0;
            return None;
        }
        let mut far = self.points.distances();
        far.retain(|(distance, _)| *distance > threshold);
        far.sort_by(|a, b| b.0.total_cmp(&a.0));
        far.truncate(self.options.batch);
        let &(distance, _) = far.first()?;
        if shrink {
            self.trust.shrink_for(distance);
        }
        let radius = (MOVE_TO * distance).min(self.trust.delta());
        let positions: Vec<usize> = far.iter().map(|far| far.1).collect();
        self.move_points(&positions, radius.max(self.trust.rho()))
    }

    /// Asks for replacements of the points at `positions`, each where its polynomial is largest;
    /// `None` if there are no better places.
    pub(super) fn move_points(&mut self, positions: &[usize], radius: f64) -> Option<Next<R>> {
        if !self.points.refresh() {
            return None;
        }
        let mut linear = Cow::Borrowed(self.points.linear()?);
        let center = self.points.center();
        let target = self.rule().model_target(&self.now());
        let mut places: Vec<Vec<f64>> = self.points.iter().map(|p| p.u.clone()).collect();
        let (mut queries, mut moved) = (Vec::new(), Vec::new());
        for &position in positions {
            let region = self.region(radius, 1.0);
            let constant = linear.constant(position, center);
            let gradient = linear.gradient(position);
            let step = region.maximize_absolute(constant, gradient);
            let value = constant + dot(gradient, &step);
            if !(value.abs() > VANISHES) || !(norm(&step) > 0.0) {
                continue;
            }
            let u = self.points.at_step(&step, 1.0);
            places[position].clone_from(&u);
            queries.push(self.new_point(u, target, Purpose::Geometry));
            moved.push(position);
            if positions.len() > 1 {
                let views: Vec<&[f64]> = places.iter().map(|place| &place[..]).collect();
                match LinearModel::new(&views, center) {
                    Some(next) => linear = Cow::Owned(next),
                    None => break,
                }
            }
        }
        (!queries.is_empty()).then(|| Next::Ask(Phase::Geometry(moved), queries))
    }

    pub(super) fn on_geometry(&mut self, moved: &[usize], answers: Vec<Answer<R>>) -> Next<R> {
        for (&position, answer) in moved.iter().zip(answers) {
            match answer {
                Ok(point) => self.move_point(position, point),
                Err(_) => self.trust.geometry_failures += 1,
            }
        }
        Next::Continue
    }

    fn move_point(&mut self, position: usize, point: Point<R>) {
        self.trust.geometry_failures = 0;
        let step = self.points.step_to(&point.u);
        let better = self.rule().is_better(&self.now(), &point);
        let achieved = self.points.incumbent().objective - point.objective;
        let predicted = self.points.predicted_decrease(&step);
        self.trust.note_error((achieved - predicted).abs());
        let is_center = position == self.points.center();
        self.points.replace(position, &step, point, better);
        if is_center && !better {
            // The incumbent itself was replaced: the best point of the set becomes the incumbent.
            let objective = |position: usize| self.points.get(position).objective;
            let best =
                (0..self.points.len()).min_by(|&a, &b| objective(a).total_cmp(&objective(b)));
            if let Some(best) = best {
                self.points.move_to(best);
            }
        }
    }
}
