//! Minimisation of a quadratic over ball and box, by an active-set method.
//!
//! Some variables are fixed at bounds. For the others, [`ball`](super::ball) solves the problem on
//! the ball with the rest of the squared radius, `$\Delta^2 - \|s_{\text{fixed}}\|^2$`. Then
//!
//! - a solution inside the box is accepted, and the fixed variables are released whose multiplier
//!   `$(g + Hs)_i + \lambda s_i$` has the wrong sign; if there are none, the step is optimal;
//! - a solution outside the box is clipped, which keeps it in the ball because zero is in the box.
//!   If that decreases the quadratic, all clipped variables are fixed at once. Otherwise the step
//!   moves towards the solution up to the first bound, at which the variable is fixed.
//!
//! Each move decreases the quadratic, so no face of the box is visited twice. If the best point on
//! the projected gradient path is lower in the end, which is possible only if `$H$` is indefinite,
//! the method continues from there.

use super::ball::{Ball, SolutionKind};
use super::{BallAndBox, Quadratic, SubproblemStep};
use crate::linalg::{Matrix, axpy, dot, max_abs};

/// The size of a multiplier, relative to the terms it is the sum of, up to which rounding decides
/// its sign.
const ROUNDING: f64 = 1e-13;

/// The state of the active-set method.
struct ActiveSet<'a> {
    quadratic: Quadratic<'a>,
    region: BallAndBox<'a>,
    step: Vec<f64>,
    value: f64,
    fixed: Vec<bool>,
    /// Whether a candidate was ever outside the box.
    met_bounds: bool,
    /// The free variables, in order.
    free: Vec<usize>,
    ball: Ball,
    /// The gradient of the problem on the free variables.
    gradient: Vec<f64>,
    /// The Hessian of the problem on the free variables.
    hessian: Matrix,
    /// The solution of the problem on the free variables.
    solution: Vec<f64>,
    /// The solution with the fixed variables filled in.
    candidate: Vec<f64>,
    product: Vec<f64>,
}

/// The outcome of a move.
enum MoveOutcome {
    /// The step is the minimiser on the face.
    Inside(SolutionKind),
    /// The step reached a bound that was not active.
    AtBound,
    /// No move decreased the quadratic.
    Stuck,
}

/// Minimises a quadratic over ball and box. All entries must be finite and not much larger than
/// one.
pub(super) fn minimize(quadratic: &Quadratic<'_>, region: &BallAndBox<'_>) -> SubproblemStep {
    let n = quadratic.gradient.len();
    let mut active_set = ActiveSet {
        quadratic: *quadratic,
        region: *region,
        step: vec![0.0; n],
        value: 0.0,
        fixed: vec![false; n],
        met_bounds: false,
        free: Vec::with_capacity(n),
        ball: Ball::default(),
        gradient: Vec::with_capacity(n),
        hessian: Matrix::default(),
        solution: Vec::with_capacity(n),
        candidate: Vec::with_capacity(n),
        product: vec![0.0; n],
    };
    for (i, g) in quadratic.gradient.iter().enumerate() {
        let (at_lower, at_upper) = (!(region.lower[i] < 0.0), !(region.upper[i] > 0.0));
        active_set.fixed[i] = at_lower && (at_upper || *g > 0.0) || at_upper && *g < 0.0;
    }
    let mut kind = active_set.run();
    if active_set.met_bounds || active_set.free.len() < n {
        let (path, value) = projected_gradient(quadratic, region);
        if value < active_set.value * (1.0 + ROUNDING) - f64::MIN_POSITIVE {
            active_set.restart(path, value);
            kind = active_set.run();
        }
    }
    SubproblemStep {
        curvature: active_set.ball.curvature(kind, active_set.free.len()),
        step: active_set.step,
        decrease: -active_set.value,
    }
}

impl ActiveSet<'_> {
    /// Continues from another step.
    fn restart(&mut self, step: Vec<f64>, value: f64) {
        for (i, s) in step.iter().enumerate() {
            let (lower, upper) = (self.region.lower[i], self.region.upper[i]);
            self.fixed[i] = !(lower < *s && *s < upper);
        }
        (self.step, self.value) = (step, value);
    }

    /// Moves until the step is optimal or no move decreases the quadratic.
    fn run(&mut self) -> SolutionKind {
        let n = self.step.len();
        let mut kind = SolutionKind::Shifted { multiplier: 0.0 };
        let mut before = f64::INFINITY;
        let mut one_by_one = false;
        for _ in 0..10 * n + 20 {
            match self.advance() {
                MoveOutcome::AtBound => continue,
                MoveOutcome::Inside(found) => kind = found,
                MoveOutcome::Stuck => kind = SolutionKind::Shifted { multiplier: 0.0 },
            }
            // If a release gained nothing, the worst variable is released alone; then the loop
            // ends.
            let gained = self.value < before;
            if !gained && one_by_one {
                break;
            }
            one_by_one = !gained;
            before = self.value;
            if !self.release(kind.multiplier(), one_by_one) {
                break;
            }
        }
        kind
    }

    /// Solves the problem on the free variables and moves to its solution as far as the box allows.
    fn advance(&mut self) -> MoveOutcome {
        let kind = self.solve_on_face();
        let inside = self.free.iter().all(|&i| self.admits(i, self.candidate[i]));
        if inside {
            self.accept();
            return MoveOutcome::Inside(kind);
        }
        self.met_bounds = true;
        let mut solution = self.candidate.clone();
        if !(max_abs(&self.gradient) > 0.0) {
            // Without a slope the opposite point has the same value: take the better one in the
            // box.
            let here = self.clip(&solution);
            self.free.iter().for_each(|&i| solution[i] = -solution[i]);
            if here <= self.clip(&solution) {
                self.free.iter().for_each(|&i| solution[i] = -solution[i]);
            }
        }
        self.clip(&solution);
        if self.accept() {
            for &i in &self.free {
                self.fixed[i] = !self.admits(i, solution[i]);
            }
            return MoveOutcome::AtBound;
        }
        self.follow(&solution)
    }

    /// Sets `candidate` to the point of the box nearest to `point` and returns its value.
    fn clip(&mut self, point: &[f64]) -> f64 {
        for &i in &self.free {
            self.candidate[i] = point[i].clamp(self.region.lower[i], self.region.upper[i]);
        }
        self.evaluate()
    }

    /// Whether a value of variable `i` is within its bounds.
    fn admits(&self, i: usize, value: f64) -> bool {
        self.region.lower[i] <= value && value <= self.region.upper[i]
    }

    /// Sets `candidate` to the minimiser over the ball with the fixed variables at their bounds.
    fn solve_on_face(&mut self) -> SolutionKind {
        let n = self.step.len();
        let (g, h) = (self.quadratic.gradient, self.quadratic.hessian);
        self.free.clear();
        self.free.extend((0..n).filter(|&i| !self.fixed[i]));
        self.candidate.clone_from(&self.step);
        if self.free.len() == n {
            let kind = self
                .ball
                .minimize(g, h, self.region.radius, &mut self.solution);
            self.candidate.clone_from(&self.solution);
            self.gradient.clear();
            self.gradient.extend_from_slice(g);
            return kind;
        }
        // The gradient at the point whose free variables are zero.
        self.product.copy_from_slice(g);
        let mut used = 0.0;
        for i in (0..n).filter(|&i| self.fixed[i]) {
            used += self.step[i] * self.step[i];
            if self.step[i].abs() > 0.0 {
                axpy(self.step[i], h.col(i), &mut self.product);
            }
        }
        let size = self.free.len();
        self.gradient.clear();
        self.gradient
            .extend(self.free.iter().map(|&i| self.product[i]));
        self.hessian.reset(size, size);
        for (k, &j) in self.free.iter().enumerate() {
            let column = h.col(j);
            for (entry, &i) in self.hessian.col_mut(k).iter_mut().zip(&self.free) {
                *entry = column[i];
            }
        }
        let radius = (self.region.radius * self.region.radius - used)
            .max(0.0)
            .sqrt();
        let kind = self
            .ball
            .minimize(&self.gradient, &self.hessian, radius, &mut self.solution);
        for (&i, s) in self.free.iter().zip(&self.solution) {
            self.candidate[i] = *s;
        }
        kind
    }

    /// Moves to the candidate if its value is lower. Returns whether it is.
    fn accept(&mut self) -> bool {
        let value = self.evaluate();
        let better = value < self.value;
        if better {
            self.value = value;
            self.step.clone_from(&self.candidate);
        }
        better
    }

    /// The value of the quadratic at the candidate.
    fn evaluate(&mut self) -> f64 {
        let q = self.quadratic;
        q.hessian.mul_vec(&self.candidate, &mut self.product);
        dot(q.gradient, &self.candidate) + 0.5 * dot(&self.product, &self.candidate)
    }

    /// Moves from the step towards a point outside the box, up to the first bound. The variable is
    /// fixed there, even if the bound is met at once.
    fn follow(&mut self, target: &[f64]) -> MoveOutcome {
        let mut reach = 1.0_f64;
        let mut blocking = None;
        for &i in &self.free {
            let (from, to) = (self.step[i], target[i]);
            let bound = self.bound_towards(i, to);
            if !self.admits(i, to) && (bound - from) / (to - from) < reach {
                reach = ((bound - from) / (to - from)).max(0.0);
                blocking = Some(i);
            }
        }
        let Some(blocking) = blocking else {
            return MoveOutcome::Stuck;
        };
        self.candidate.clone_from(&self.step);
        for k in 0..self.free.len() {
            let i = self.free[k];
            let to = self.step[i] + reach * (target[i] - self.step[i]);
            self.candidate[i] = to.clamp(self.region.lower[i], self.region.upper[i]);
        }
        let bound = self.bound_towards(blocking, target[blocking]);
        self.candidate[blocking] = bound;
        let stands_there = !((bound - self.step[blocking]).abs() > 0.0);
        if self.accept() || stands_there {
            self.fixed[blocking] = true;
            return MoveOutcome::AtBound;
        }
        MoveOutcome::Stuck
    }

    fn bound_towards(&self, i: usize, to: f64) -> f64 {
        if to < self.region.lower[i] {
            self.region.lower[i]
        } else {
            self.region.upper[i]
        }
    }

    /// Releases the variables at bounds whose multipliers push them inwards, or only the one that
    /// is pushed most. Returns `false` if there are none.
    fn release(&mut self, multiplier: f64, only_worst: bool) -> bool {
        let (g, h) = (self.quadratic.gradient, self.quadratic.hessian);
        let mut worst = (0.0, None);
        let mut any = false;
        for (i, &s) in self.step.iter().enumerate() {
            let (lower, upper) = (self.region.lower[i], self.region.upper[i]);
            if !self.fixed[i] || !(lower < upper) {
                continue;
            }
            let terms = g[i].abs() + multiplier * s.abs();
            let (mut force, mut size) = (g[i] + multiplier * s, terms);
            for (a, b) in h.col(i).iter().zip(&self.step) {
                force += a * b;
                size += (a * b).abs();
            }
            // A negative derivative pulls inwards at the lower bound, a positive one at the upper.
            let inwards = if s <= lower { -force } else { force };
            if inwards > ROUNDING * size {
                any = true;
                if !only_worst {
                    self.fixed[i] = false;
                } else if inwards > worst.0 {
                    worst = (inwards, Some(i));
                }
            }
        }
        if let (_, Some(i)) = worst {
            self.fixed[i] = false;
        }
        any
    }
}

/// Computes the first minimiser along the path `$p(t) = \operatorname{clip}(-tg, l, u)$` up to the
/// sphere, and the value of the quadratic there. Slope and curvature are updated when a variable
/// reaches its bound.
fn projected_gradient(quadratic: &Quadratic<'_>, region: &BallAndBox<'_>) -> (Vec<f64>, f64) {
    let (g, h) = (quadratic.gradient, quadratic.hessian);
    let n = g.len();
    let bound = |i: usize| {
        if g[i] > 0.0 {
            region.lower[i]
        } else {
            region.upper[i]
        }
    };
    let mut order: Vec<(f64, usize)> = (0..n)
        .filter(|&i| g[i].abs() > 0.0 && bound(i).abs() > 0.0)
        .map(|i| ((bound(i) / g[i]).abs(), i))
        .collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut point = vec![0.0; n];
    let mut direction = vec![0.0; n];
    for &(_, i) in &order {
        direction[i] = -g[i];
    }
    let mut bent = vec![0.0; n]; // H direction
    h.mul_vec(&direction, &mut bent);
    let mut slopes = g.to_vec(); // g + H point
    let mut time = 0.0;
    for &(stop, i) in &order {
        let slope = dot(&slopes, &direction);
        let curvature = dot(&bent, &direction);
        let speed = dot(&direction, &direction);
        if !(slope < 0.0) || !(speed > 0.0) {
            break;
        }
        // Move up to the next bound, the sphere or the minimiser, whichever comes first.
        let across = dot(&point, &direction);
        let room = (region.radius * region.radius - dot(&point, &point)).max(0.0);
        let sphere = room / (across + (across * across + speed * room).sqrt());
        let mut length = (stop - time).min(sphere);
        let mut last = sphere <= stop - time;
        if curvature > 0.0 && -slope / curvature < length {
            length = -slope / curvature;
            last = true;
        }
        if !length.is_finite() {
            break;
        }
        axpy(length, &direction, &mut point);
        axpy(length, &bent, &mut slopes);
        time += length;
        if last {
            break;
        }
        point[i] = bound(i);
        axpy(-direction[i], h.col(i), &mut bent);
        direction[i] = 0.0;
    }
    for (p, (l, u)) in point.iter_mut().zip(region.lower.iter().zip(region.upper)) {
        *p = p.clamp(*l, *u);
    }
    let value = quadratic.value(&point);
    (point, value)
}

#[cfg(test)]
mod tests;
