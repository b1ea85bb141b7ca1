//! A quadratic over ball and box, by an active set around the exact solution in the ball.
//!
//! Some variables are fixed at bounds. On the others the problem is one of the ball with what is
//! left of the radius, `$\Delta^2 - \|s_{\text{fixed}}\|^2$`, and [`ball`](super::ball) solves it.
//! Then
//!
//! - a solution inside the box is taken, and fixed variables are released whose multiplier
//!   `$(g + Hs)_i + \lambda s_i$` has the wrong sign; if there are none, the step is optimal;
//! - a solution outside is clipped, which keeps it in the ball since zero is in the box. If that is
//!   a descent, all clipped variables are fixed at once; otherwise the step goes towards the
//!   solution up to the first bound and fixes that.
//!
//! Each move decreases the quadratic, so no face of the box comes back. If in the end the best
//! point on the projected gradient path is lower, which can only happen if `$H$` is indefinite, the
//! active_set goes on from there.

use super::ball::{Ball, SolutionKind};
use super::{BallAndBox, Quadratic, SubproblemStep};
use crate::linalg::{Matrix, axpy, dot, max_abs};

/// Multipliers this small relative to the terms of which they are sums have no sign.
const ROUNDING: f64 = 1e-13;

/// The state of the active_set.
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
    /// The problem on the free variables, and its solution.
    gradient: Vec<f64>,
    hessian: Matrix,
    solution: Vec<f64>,
    /// The solution with the fixed variables filled in.
    candidate: Vec<f64>,
    product: Vec<f64>,
}

/// How a move ended.
enum MoveOutcome {
    /// At the minimiser on the face.
    Inside(SolutionKind),
    /// At a bound that was not active.
    AtBound,
    /// Nowhere.
    Stuck,
}

/// All entries finite and not much larger than one.
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
    /// Goes on from another point.
    fn restart(&mut self, step: Vec<f64>, value: f64) {
        for (i, s) in step.iter().enumerate() {
            let (lower, upper) = (self.region.lower[i], self.region.upper[i]);
            self.fixed[i] = !(lower < *s && *s < upper);
        }
        (self.step, self.value) = (step, value);
    }

    /// Moves until the step is optimal, or nothing helps.
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
            // A release that gained nothing: try the worst variable alone, then give up.
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

    /// Solves the problem on the free variables and goes there as far as the box lets it.
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
            // without a slope, down is both ways
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

    /// `candidate` becomes the point of the box nearest to this one. Returns the quadratic there.
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

    /// `candidate` becomes the minimiser over the ball with the fixed variables where they are.
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
        // the gradient where the free variables are zero
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

    /// Moves to the candidate if that is lower.
    fn accept(&mut self) -> bool {
        let value = self.evaluate();
        let better = value < self.value;
        if better {
            self.value = value;
            self.step.clone_from(&self.candidate);
        }
        better
    }

    /// The quadratic at the candidate.
    fn evaluate(&mut self) -> f64 {
        let q = self.quadratic;
        q.hessian.mul_vec(&self.candidate, &mut self.product);
        dot(q.gradient, &self.candidate) + 0.5 * dot(&self.product, &self.candidate)
    }

    /// From the step towards a point outside the box, up to the first bound, which is fixed even if
    /// it is met at once.
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

    /// Frees the variables at bounds that the multipliers push inwards, or only the one pushed
    /// most. False if there is none.
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
            // at the lower bound a negative derivative pulls inwards, at the upper one a positive
            // one does
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

/// The first minimiser along `$p(t) = \operatorname{clip}(-tg, l, u)$`, up to the sphere, and the
/// quadratic there. Where one variable after the other stops at its bound, slope and curvature are
/// updated rather than computed again.
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
        // up to the next bound, the sphere, or the minimiser
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
