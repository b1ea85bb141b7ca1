//! Scaled parameters `$u$`, with which the solver works. The user's parameters are
//! `$\theta_j = \theta^0_j + s_j u_j$`.

use crate::constraints::FeasibleSet;
use crate::linalg::{max_abs, norm};
use crate::options::Scaling;
use crate::subproblem::{BoxedProx, Prox, ProxTerms, prox_of_sum};

/// The map between `$u$` and `$\theta$`. Fixed parameters have no entry in `$u$`.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Space {
    /// The start, moved into the feasible set.
    origin: Vec<f64>,
    /// The indices of the free parameters.
    free: Vec<usize>,
    /// The unit of each free parameter.
    units: Vec<f64>,
    /// The lower bound of each free parameter, if it has one.
    lower: Vec<Option<f64>>,
    /// The upper bound of each free parameter, if it has one.
    upper: Vec<Option<f64>>,
}

impl Space {
    pub(crate) fn new(
        start: &[f64],
        feasible: &FeasibleSet,
        scaling: &Scaling,
        one_unit: bool,
    ) -> Self {
        let (lower, upper) = bounds_of(feasible, start.len());
        let mut origin = start.to_vec();
        for (j, entry) in origin.iter_mut().enumerate() {
            *entry = entry.max(lower[j].unwrap_or(f64::NEG_INFINITY));
            *entry = entry.min(upper[j].unwrap_or(f64::INFINITY));
        }
        let is_free = |j: &usize| lower[*j].is_none() || lower[*j] != upper[*j];
        let free: Vec<usize> = (0..start.len()).filter(is_free).collect();
        let largest = origin.iter().fold(0.0_f64, |a, b| a.max(b.abs()));
        let largest = if largest > 0.0 { largest } else { 1.0 };
        let unit = |&j: &usize| match (scaling, lower[j], upper[j]) {
            (Scaling::Given(units), _, _) => units[j],
            (Scaling::Automatic, _, _) if one_unit => largest,
            (Scaling::Automatic, Some(lower), Some(upper)) => finite_width(lower, upper),
            (Scaling::Automatic, _, _) => unit_from_start(origin[j], largest),
        };
        Self {
            units: free.iter().map(unit).collect(),
            lower: free.iter().map(|&j| lower[j]).collect(),
            upper: free.iter().map(|&j| upper[j]).collect(),
            free,
            origin,
        }
    }

    /// Whether the free parameters have the bounds of `feasible`, and the others are fixed by them.
    pub(crate) fn has_bounds_of(&self, feasible: &FeasibleSet) -> bool {
        let (lower, upper) = bounds_of(feasible, self.origin.len());
        (0..self.origin.len()).all(|j| match self.free.iter().position(|&k| k == j) {
            Some(k) => self.lower[k] == lower[j] && self.upper[k] == upper[j],
            None => lower[j] == Some(self.origin[j]) && upper[j] == lower[j],
        })
    }

    /// The number of free parameters.
    pub(crate) fn dim(&self) -> usize {
        self.free.len()
    }

    pub(crate) fn num_params(&self) -> usize {
        self.origin.len()
    }

    pub(crate) fn free(&self) -> &[usize] {
        &self.free
    }

    pub(crate) fn units(&self) -> &[f64] {
        &self.units
    }

    /// Whether free parameter `j` has two bounds.
    pub(crate) fn is_boxed(&self, j: usize) -> bool {
        self.lower[j].is_some() && self.upper[j].is_some()
    }

    /// Enlarges the unit of free parameter `j` by `factor`. All stored points must be rescaled too.
    pub(crate) fn rescale(&mut self, j: usize, factor: f64) {
        self.units[j] *= factor;
    }

    /// Computes the bounds on steps from `u`.
    pub(crate) fn step_bounds(&self, u: &[f64], lower: &mut Vec<f64>, upper: &mut Vec<f64>) {
        let entry = |j: usize, bound: Option<f64>, none: f64| {
            bound.map_or(none, |b| {
                (b - self.origin[self.free[j]]) / self.units[j] - u[j]
            })
        };
        lower.clear();
        upper.clear();
        lower.extend((0..self.dim()).map(|j| entry(j, self.lower[j], f64::NEG_INFINITY).min(0.0)));
        upper.extend((0..self.dim()).map(|j| entry(j, self.upper[j], f64::INFINITY).max(0.0)));
    }

    /// The parameters at `u`, never outside the bounds.
    pub(crate) fn theta(&self, u: &[f64]) -> Vec<f64> {
        let mut theta = self.origin.clone();
        for (k, &j) in self.free.iter().enumerate() {
            let mut entry = self.origin[j] + self.units[k] * u[k];
            if let Some(lower) = self.lower[k] {
                entry = entry.max(lower);
            }
            if let Some(upper) = self.upper[k] {
                entry = entry.min(upper);
            }
            theta[j] = entry;
        }
        theta
    }

    pub(crate) fn scaled(&self, theta: &[f64]) -> Vec<f64> {
        (self.free.iter().zip(&self.units))
            .map(|(&j, unit)| (theta[j] - self.origin[j]) / unit)
            .collect()
    }

    /// Moves `u` into the feasible set and returns its parameters.
    pub(crate) fn make_feasible(&self, u: &mut Vec<f64>, feasible: &FeasibleSet) -> Vec<f64> {
        let mut theta = self.theta(u);
        match feasible {
            FeasibleSet::Convex(sets) => {
                project(sets, &mut theta);
                *u = self.scaled(&theta);
            }
            FeasibleSet::Box(_) | FeasibleSet::Free => *u = self.scaled(&theta),
        }
        theta
    }

    pub(crate) fn set_origin(&mut self, origin: Vec<f64>) {
        self.origin = origin;
    }
}

/// The finite bounds of all parameters.
fn bounds_of(feasible: &FeasibleSet, len: usize) -> (Vec<Option<f64>>, Vec<Option<f64>>) {
    let bound = |bounds: &[f64], j: usize| Some(bounds[j]).filter(|b| b.is_finite());
    match feasible {
        FeasibleSet::Box(bounds) => (0..len)
            .map(|j| (bound(bounds.lower(), j), bound(bounds.upper(), j)))
            .unzip(),
        FeasibleSet::Free | FeasibleSet::Convex(_) => (vec![None; len], vec![None; len]),
    }
}

/// Whether `theta` is in all `sets`, up to the errors of their projections.
pub(crate) fn contain(sets: &[Box<dyn crate::Projection>], theta: &[f64]) -> bool {
    sets.iter().all(|set| {
        let mut nearest = theta.to_vec();
        set.project(&mut nearest);
        let moved: Vec<f64> = nearest.iter().zip(theta).map(|(a, b)| a - b).collect();
        norm(&moved) <= 1e-6 * norm(theta).max(f64::MIN_POSITIVE)
    })
}

/// Projects onto the intersection of `sets`.
pub(crate) fn project(sets: &[Box<dyn crate::Projection>], theta: &mut [f64]) {
    let mut terms: Vec<BoxedProx<'_>> = Vec::new();
    for set in sets {
        terms.push(Box::new(move |_, y| set.project(y)));
    }
    let terms: Vec<Prox<'_>> = terms.iter().map(|term| term.as_ref() as Prox<'_>).collect();
    let rounding = 4.0 * f64::EPSILON * max_abs(theta);
    let terms = ProxTerms {
        terms: &terms,
        rounding,
    };
    prox_of_sum(terms, 1.0, theta);
}

/// The ratio to the largest start up to which a parameter shares its unit. Parameters with smaller
/// starts are assumed to be of another kind and have units of their own (decision record 7, where
/// the factor was measured).
const SAME_KIND: f64 = 30.0;

fn unit_from_start(start: f64, largest: f64) -> f64 {
    if start == 0.0 || start.abs() * SAME_KIND >= largest {
        largest
    } else {
        start.abs()
    }
}

fn finite_width(lower: f64, upper: f64) -> f64 {
    let width = upper - lower;
    if width.is_finite() { width } else { f64::MAX }
}

#[cfg(test)]
mod tests;
