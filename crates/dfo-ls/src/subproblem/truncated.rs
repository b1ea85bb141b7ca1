//! Approximate minimisation of a quadratic over ball and box, as in the paper's experiments:
//! conjugate gradients until they leave the ball or gain little, then rotations on the sphere.
//!
//! If no bound is inside the ball, a rotation considers the whole circle and is applied even if it
//! gains nothing, as in Powell's NEWUOA. Otherwise rotations stop at bounds, as in his BOBYQA.
//!
//! `$q = g + Hd$` is the gradient at the step `$d$`, and `$F$` are the free variables. A variable
//! that meets a bound stays fixed. Some thresholds are absolute, so steps depend on the units.

mod plane;
mod rotation;

use plane::RotationPlane;

use super::{BallAndBox, Quadratic, SubproblemStep};
use crate::linalg::{axpy, dot};

// All thresholds are those of the authors' experiments, which the reproduction needs.

/// The smallest distance between the start and a bound: closer bounds are moved away, so that a
/// variable on a bound can still move a little.
const LEAST_ROOM: f64 = 1e-14;
/// The absolute limit on the squared gradient, or on the squared gradient times the squared radius
/// that is left, up to which the gradient may count as zero.
const FLAT: f64 = 1e-18;
/// The relative limit up to which the gradient may count as zero: on its square relative to that of
/// the first gradient, or on its square times the squared radius that is left relative to the
/// squared decrease.
const FLAT_SHARE: f64 = 1e-6;
/// The gain of a conjugate direction, as a share of the whole decrease, at which the conjugate
/// gradients end.
const CONJUGATE_SHARE: f64 = 1e-6;
/// The multiple of a direction up to which a step counts as zero.
const NO_STEP: f64 = 1e-30;
/// The slope along the sphere, or the gain of a rotation, as a share of the whole decrease, at
/// which rotations end.
const ROTATION_SHARE: f64 = 1e-2;
/// The cosine of the angle between the step and steepest descent from which rotations gain nothing.
const ALIGNED: f64 = 0.99;

/// Computes an approximate minimiser, with less than the full decrease. It may leave the box by
/// `$10^{-14}$`. The step is zero if an input is NaN or infinite, or if the quadratic does not
/// decrease.
///
/// The curvature is the smallest one along the conjugate directions that did not end at a bound. It
/// is zero if the step ends on the sphere or there were no such directions.
pub(crate) fn minimize_truncated(
    quadratic: &Quadratic<'_>,
    region: &BallAndBox<'_>,
) -> SubproblemStep {
    let n = quadratic.gradient.len();
    if !region.is_valid(n) || !quadratic.is_finite() {
        return SubproblemStep::zero(n);
    }
    let mut search = TruncatedSearch::new(quadratic, region);
    if search.conjugate() == ConjugateEnd::Sphere {
        search.curvature = 0.0;
        if region.has_bounds() {
            search.rotate();
        } else {
            search.rotate_freely();
        }
    }
    let step = search.finish();
    let decrease = -quadratic.value(&step);
    let curvature = search.curvature.max(0.0);
    if decrease > 0.0 {
        SubproblemStep {
            step,
            decrease,
            curvature,
        }
    } else {
        SubproblemStep {
            curvature,
            ..SubproblemStep::zero(n)
        }
    }
}

/// The reason for the end of the conjugate gradients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ConjugateEnd {
    /// The gradient or the gain is small.
    Converged,
    /// The step has reached the sphere.
    Sphere,
}

/// The state of the search for a step.
struct TruncatedSearch<'a> {
    quadratic: &'a Quadratic<'a>,
    lower: Vec<f64>,
    upper: Vec<f64>,
    /// The bound of each fixed variable; `None` for the free ones.
    fixed: Vec<Option<f64>>,
    step: Vec<f64>,
    /// The gradient `$q$` at the step.
    slopes: Vec<f64>,
    /// The squared radius that is left for the free variables.
    room: f64,
    decrease: f64,
    /// The smallest curvature so far; negative before the first one.
    curvature: f64,
    loops_left: usize,
}

/// The limit of a rotation: the tangent of half its angle, and the variable and bound that end it.
struct RotationLimit {
    tangent: f64,
    ends: Option<(usize, f64)>,
}

impl<'a> TruncatedSearch<'a> {
    fn new(quadratic: &'a Quadratic<'a>, region: &BallAndBox<'_>) -> Self {
        let n = quadratic.gradient.len();
        let lower: Vec<f64> = region.lower.iter().map(|l| l.min(-LEAST_ROOM)).collect();
        let upper: Vec<f64> = region.upper.iter().map(|u| u.max(LEAST_ROOM)).collect();
        Self {
            quadratic,
            lower,
            upper,
            fixed: vec![None; n],
            step: vec![0.0; n],
            slopes: quadratic.gradient.to_vec(),
            room: region.radius * region.radius,
            decrease: 0.0,
            curvature: -1.0,
            loops_left: 100 * n * n,
        }
    }

    fn num_free(&self) -> usize {
        self.fixed.iter().filter(|fixed| fixed.is_none()).count()
    }

    /// A copy of `x` with zeros for the fixed variables.
    fn free_part(&self, x: &[f64]) -> Vec<f64> {
        let entry = |(x, fixed): (&f64, &Option<f64>)| if fixed.is_none() { *x } else { 0.0 };
        x.iter().zip(&self.fixed).map(entry).collect()
    }

    fn image(&self, x: &[f64]) -> Vec<f64> {
        let mut image = vec![0.0; x.len()];
        self.quadratic.hessian.mul_vec(x, &mut image);
        image
    }

    fn another_loop(&mut self) -> bool {
        let left = self.loops_left > 0;
        self.loops_left = self.loops_left.saturating_sub(1);
        left
    }

    fn fix(&mut self, index: usize, bound: f64) {
        self.fixed[index] = Some(bound);
        self.room -= self.step[index] * self.step[index];
    }

    /// Runs conjugate gradients in the free variables. They start again after each bound.
    fn conjugate(&mut self) -> ConjugateEnd {
        let mut direction = vec![0.0; self.step.len()];
        let mut beta = 0.0;
        let mut steps_left = 0;
        let mut first = None;
        while self.another_loop() {
            let slopes = self.free_part(&self.slopes);
            let gamma = dot(&slopes, &slopes);
            for (s, q) in direction.iter_mut().zip(&slopes) {
                *s = beta * *s - q;
            }
            direction = self.free_part(&direction);
            if beta == 0.0 {
                steps_left = self.num_free();
            }
            let first = *first.get_or_insert(gamma);
            let square = dot(&direction, &direction);
            let flat = gamma <= (FLAT_SHARE * first).min(FLAT)
                || gamma * self.room <= (FLAT_SHARE * self.decrease * self.decrease).min(FLAT);
            if !(square > 0.0) || flat {
                return ConjugateEnd::Converged;
            }
            let Some(to_sphere) = self.to_sphere(&direction, square) else {
                return ConjugateEnd::Sphere;
            };
            let image = self.image(&direction);
            let bend = dot(&direction, &image);
            let mut length = to_sphere;
            if bend > 0.0 {
                length = length.min(gamma / bend);
            }
            if length <= NO_STEP {
                return ConjugateEnd::Converged;
            }
            let on_sphere = length >= to_sphere;
            let bound = self.first_bound(&direction, &mut length);
            let mut gain = 0.0;
            if length > 0.0 {
                steps_left -= 1;
                let bend_per_square = bend / square;
                if bound.is_none() && bend_per_square > 0.0 {
                    let unknown = self.curvature < 0.0;
                    if unknown || bend_per_square < self.curvature {
                        self.curvature = bend_per_square;
                    }
                }
                axpy(length, &direction, &mut self.step);
                axpy(length, &image, &mut self.slopes);
                gain = (length * (gamma - 0.5 * length * bend)).max(0.0);
                self.decrease += gain;
            }
            if let Some((index, bound)) = bound {
                self.step[index] = bound;
                self.fix(index, bound);
                if self.room <= 0.0 {
                    return ConjugateEnd::Sphere;
                }
                beta = 0.0;
                continue;
            }
            if on_sphere {
                return ConjugateEnd::Sphere;
            }
            if steps_left == 0 || gain <= CONJUGATE_SHARE * self.decrease {
                return ConjugateEnd::Converged;
            }
            let slopes = self.free_part(&self.slopes);
            beta = dot(&slopes, &slopes) / gamma;
        }
        ConjugateEnd::Converged
    }

    /// The multiple of the direction that ends on the sphere; `None` if the step is there already.
    fn to_sphere(&self, direction: &[f64], square: f64) -> Option<f64> {
        let step = self.free_part(&self.step);
        let rest = self.room - dot(&step, &step);
        if rest <= 0.0 {
            return None;
        }
        let along = dot(direction, &step);
        let root = (square * rest + along * along).sqrt();
        // Both forms avoid cancellation.
        Some(if along < 0.0 {
            (root - along) / square
        } else {
            rest / (root + along)
        })
    }

    /// Shortens the length to the first bound on the way, and returns that variable and bound.
    fn first_bound(&self, direction: &[f64], length: &mut f64) -> Option<(usize, f64)> {
        let mut first = None;
        for (i, s) in direction.iter().enumerate() {
            let bound = if *s > 0.0 {
                self.upper[i]
            } else if *s < 0.0 {
                self.lower[i]
            } else {
                continue;
            };
            let limit = ((bound - self.step[i]) / s).max(0.0);
            if limit < *length {
                *length = limit;
                first = Some((i, bound));
            }
        }
        first
    }

    /// Rotates the step on the sphere, in the plane of the step and the steepest tangent, up to the
    /// bounds.
    fn rotate(&mut self) {
        'again: while self.num_free() > 1 {
            let mut plane = RotationPlane::new(self);
            while self.another_loop() {
                plane.turn_to(self);
                let least = ROTATION_SHARE * self.decrease;
                if !(plane.descent > least) {
                    return;
                }
                let reach = match self.reach(&plane.tangent) {
                    Ok(reach) => reach,
                    Err((index, bound)) => {
                        self.fix(index, bound);
                        continue 'again;
                    }
                };
                let Some((best, is_last)) = plane.curve(self).best_within(reach.tangent) else {
                    return;
                };
                plane.rotate(self, &best);
                if let Some((index, bound)) = reach.ends.filter(|_| is_last) {
                    self.step[index] = bound;
                    self.fix(index, bound);
                    continue 'again;
                }
                if best.gain <= ROTATION_SHARE * self.decrease {
                    return;
                }
            }
            return;
        }
    }

    /// Rotates the step on the sphere without regard to bounds.
    fn rotate_freely(&mut self) {
        let mut plane = RotationPlane::new(self);
        while self.another_loop() {
            plane.turn_to(self);
            let steepest = f64::hypot(plane.descent, plane.along);
            if !(plane.descent > 0.0) || plane.along <= -ALIGNED * steepest {
                return;
            }
            let Some(best) = plane.curve(self).best_around() else {
                return;
            };
            plane.rotate(self, &best);
            if best.gain <= ROTATION_SHARE * self.decrease {
                return;
            }
        }
    }

    /// The limit of a rotation towards `tangent`, or a free variable that is at a bound already.
    fn reach(&self, tangent: &[f64]) -> Result<RotationLimit, (usize, f64)> {
        let mut reach = RotationLimit {
            tangent: 1.0,
            ends: None,
        };
        for (i, s) in tangent.iter().enumerate() {
            if self.fixed[i].is_some() {
                continue;
            }
            let d = self.step[i];
            let amplitude = d * d + s * s;
            for (bound, left, toward) in [
                (self.lower[i], d - self.lower[i], -s),
                (self.upper[i], self.upper[i] - d, *s),
            ] {
                if left <= 0.0 {
                    return Err((i, bound));
                }
                let excess = amplitude - bound * bound;
                if excess > 0.0 {
                    let slope = excess.sqrt() + toward;
                    if reach.tangent * slope > left {
                        reach.tangent = left / slope;
                        reach.ends = Some((i, bound));
                    }
                }
            }
        }
        Ok(reach)
    }

    fn finish(&self) -> Vec<f64> {
        let entry = |i: usize| {
            self.fixed[i].unwrap_or_else(|| self.step[i].clamp(self.lower[i], self.upper[i]))
        };
        (0..self.step.len()).map(entry).collect()
    }
}

#[cfg(test)]
mod tests;
