//! Models from the interpolation set: the Gauss-Newton model, the model with quadratic residuals,
//! the Jacobian, and the poisedness of the set.

use super::Interpolation;
use crate::Accuracy;
use crate::linalg::{Matrix, dot, norm, product};
use crate::model::ObjectiveModel;
use crate::model::composite::{CompositeModel, Taylor};
use crate::model::linear::Fit;
use crate::region::StepRegion;
use crate::report::Jacobian;
use crate::space::Space;

/// The largest distance, in multiples of the radius, of a point that a quadratic model uses. Values
/// from 5 to 30 made no difference on the problems of Moré and Wild.
const HISTORY_REACH: f64 = 10.0;
/// The number of residuals for which the Jacobian is computed at a time, so that they stay in the
/// cache.
const CHUNK: usize = 1024;
/// The ratio of errors to curvature that is assumed before the first quadratic model. Not tuned.
const FIRST_NOISE: f64 = 1e-3;
/// The largest ratio of errors to curvature. The weight of a point with a larger one would not
/// matter any more. Not tuned.
const MOST_NOISE: f64 = 1e3;

impl<R> Interpolation<R> {
    /// Builds the model of the objective, for steps in multiples of `delta`. Residuals are
    /// quadratic if `most_points` is given (the largest number of points in addition to the
    /// incumbent) and there are enough points; otherwise they are linear.
    pub(in crate::engine) fn model(
        &mut self,
        delta: f64,
        most_points: Option<usize>,
    ) -> ObjectiveModel {
        let composite = most_points.and_then(|most| self.composite(delta, most));
        if let Some(composite) = composite {
            if self.iter().any(|point| point.accuracy != Accuracy::EXACT) {
                self.curvature = Some(composite.curvature() / (delta * delta));
            }
            return ObjectiveModel::Composite(composite);
        }
        ObjectiveModel::GaussNewton(self.gauss_newton(delta))
    }

    /// The Gauss-Newton model with `$g = 2J^\top r$` and `$H = 2J^\top J$`, in multiples of `unit`.
    fn gauss_newton(&mut self, unit: f64) -> Taylor {
        let d = self.incumbent().u.len();
        let center = self.center();
        let Some(linear) = &mut self.linear else {
            return Taylor {
                gradient: vec![0.0; d],
                hessian: Matrix::zeros(d, d),
            };
        };
        let gradient = linear.slope(&self.pool, &self.set, center);
        let matrix = linear.gauss_newton(&self.pool, &self.set, center);
        Taylor {
            gradient: gradient.iter().map(|g| 2.0 * unit * g).collect(),
            hessian: matrix.scaled(2.0 * unit * unit),
        }
    }

    /// The norm of the gradient of the model with linear residuals.
    pub(in crate::engine) fn gradient_norm(&self) -> f64 {
        self.slope().map_or(0.0, |slope| 2.0 * norm(&slope))
    }

    /// The product `$J^\top r$` of linear residuals.
    pub(in crate::engine) fn slope(&self) -> Option<Vec<f64>> {
        let linear = self.linear.as_ref()?;
        Some(linear.slope(&self.pool, &self.set, self.center()))
    }

    /// The decrease of the objective that linear residuals predict for `step`.
    pub(in crate::engine) fn predicted_decrease(&mut self, step: &[f64]) -> f64 {
        let center = self.center();
        let Some(linear) = &mut self.linear else {
            return 0.0;
        };
        let slope = linear.slope(&self.pool, &self.set, center);
        let mut image = vec![0.0; step.len()];
        linear
            .gauss_newton(&self.pool, &self.set, center)
            .mul_vec(step, &mut image);
        -(2.0 * dot(&slope, step) + dot(step, &image))
    }

    fn composite(&self, delta: f64, most_points: usize) -> Option<CompositeModel> {
        let d = self.incumbent().u.len();
        if self.len() != d + 1 {
            return None;
        }
        let center = self.center;
        let mut extras: Vec<(f64, usize)> = (self.pool.live())
            .filter(|slot| !self.set.contains(slot))
            .map(|slot| (self.slot_distance(slot), slot))
            .filter(|(distance, _)| *distance > 0.0 && *distance <= HISTORY_REACH * delta)
            .collect();
        extras.sort_by(|a, b| a.0.total_cmp(&b.0));
        extras.truncate(most_points - d);
        if extras.is_empty() {
            return None;
        }
        let rows: Vec<usize> = (self.set.iter().copied().filter(|&slot| slot != center))
            .chain(extras.iter().map(|extra| extra.1))
            .collect();
        let steps: Vec<Vec<f64>> = rows
            .iter()
            .map(|&slot| self.step_to(&self.pool.get(slot).u))
            .collect();
        let points = Matrix::from_fn(d, rows.len(), |j, t| steps[t][j] / delta);
        let gram = Matrix::from_fn(rows.len(), rows.len(), |t, s| {
            self.pool.product(center, rows[t], rows[s])
        });
        let along = rows
            .iter()
            .map(|&slot| self.pool.slope(center, slot))
            .collect();
        CompositeModel::new(points, &self.noise(&rows, delta), gram, along)
    }

    /// The error of each point's residuals, in units of their curvature over the trust region.
    fn noise(&self, rows: &[usize], delta: f64) -> Vec<f64> {
        let own = self.incumbent().accuracy;
        let curvature = self
            .curvature
            .map(|c| c * delta * delta)
            .filter(|c| *c > 0.0);
        let ratio = |slot: &usize| {
            let accuracy = self.pool.get(*slot).accuracy;
            if accuracy == Accuracy::EXACT && own == Accuracy::EXACT {
                return 0.0;
            }
            let error = accuracy.value() + own.value();
            curvature.map_or(FIRST_NOISE, |curvature| (error / curvature).min(MOST_NOISE))
        };
        rows.iter().map(ratio).collect()
    }

    /// The largest absolute value in a region of the polynomials at the positions that `counts`
    /// selects.
    pub(in crate::engine) fn poisedness(
        &self,
        region: &StepRegion<'_>,
        counts: impl Fn(usize) -> bool,
    ) -> Option<f64> {
        let linear = self.linear.as_ref()?;
        let center = self.center();
        let value = |t: usize| {
            let step = region.maximize_absolute(linear.constant(t, center), linear.gradient(t));
            (linear.constant(t, center) + dot(linear.gradient(t), &step)).abs()
        };
        let counted = (0..self.len()).filter(|&t| counts(t));
        Some(counted.map(value).fold(0.0, f64::max))
    }

    /// The Jacobian of the residuals with respect to the user's parameters. Fixed parameters have a
    /// column of zeros.
    pub(in crate::engine) fn jacobian(&mut self, space: &Space) -> Option<Jacobian> {
        if self.is_empty() || !self.refresh() {
            return None;
        }
        let linear = self.linear.as_ref()?;
        if linear.fit == Fit::Underdetermined {
            return None;
        }
        let free = space.free();
        let fixed: Vec<usize> = (0..space.num_params())
            .filter(|j| !free.contains(j))
            .collect();
        if self.incumbent().residuals.products().is_some() {
            return self.jacobian_products(space, fixed);
        }
        let linear = self.linear.as_ref()?;
        let weights = Matrix::from_fn(self.len(), free.len(), |t, k| {
            linear.gradient(t)[k] / space.units()[k]
        });
        let center = &self.incumbent().residuals;
        let mut columns = vec![Vec::with_capacity(center.len()); space.num_params()];
        for begin in (0..center.len()).step_by(CHUNK) {
            let end = (begin + CHUNK).min(center.len());
            let differences = Matrix::from_fn(end - begin, self.len(), |i, t| {
                self.get(t).residuals[begin + i] - center[begin + i]
            });
            let part = product(&differences, &weights);
            for (k, &j) in free.iter().enumerate() {
                columns[j].extend_from_slice(part.col(k));
            }
        }
        let blocks = self.blocks();
        for (k, &j) in free.iter().enumerate() {
            // Rounding errors alone can make a column of this norm for a parameter that the
            // residuals do not depend on.
            let weight: f64 = weights.col(k).iter().map(|w| w.abs()).sum();
            let noise = 16.0 * f64::EPSILON * blocks.norm(center) * weight;
            if blocks.norm(&columns[j]) <= noise {
                columns[j].fill(0.0);
            }
        }
        for column in &mut columns {
            column.resize(center.len(), 0.0);
        }
        if !columns.iter().flatten().all(|entry| entry.is_finite()) {
            return None;
        }
        Some(Jacobian::new(columns, fixed, center, blocks))
    }

    /// The products of the Jacobian's columns, if residual vectors stay with the oracle.
    fn jacobian_products(&mut self, space: &Space, fixed: Vec<usize>) -> Option<Jacobian> {
        let center = self.center();
        let linear = self.linear.as_mut()?;
        let along = linear.slope(&self.pool, &self.set, center);
        let matrix = linear.gauss_newton(&self.pool, &self.set, center);
        let count = space.num_params();
        let (free, units) = (space.free(), space.units());
        let mut gram = Matrix::zeros(count, count);
        let mut slope = vec![0.0; count];
        for (a, &i) in free.iter().enumerate() {
            slope[i] = along[a] / units[a];
            for (b, &j) in free.iter().enumerate() {
                gram[(i, j)] = matrix[(a, b)] / units[a] / units[b];
            }
        }
        let finite = gram
            .as_slice()
            .iter()
            .chain(&slope)
            .all(|entry| entry.is_finite());
        finite.then(|| Jacobian::of_products(gram, slope, fixed))
    }
}
