//! Checks of second derivatives, mixed derivatives and bounds on third derivatives.

use crate::norm::{inner, norm};
use crate::objective::StronglyConvex;
use crate::second_order::SecondOrder;

/// The number of random directions in which Hessian products are checked.
const NUM_DIRECTIONS: usize = 8;

/// Returns the largest deviation of an entry of a Hessian product from a central difference of
/// gradients, relative to 1 or to the largest entry of the product, whichever is larger. The
/// asymmetry of the Hessian counts as a deviation, too.
///
/// A correct Hessian product gives a small number. The products are with random vectors, whose
/// entries are at most 1 in size. `spacing` is the step of the differences, see
/// [`gradient_deviation`](super::gradient_deviation).
///
/// # Panics
/// If `objective` has no second derivatives, or if `x` does not have the length that it expects.
pub fn hessian_deviation<O: StronglyConvex>(objective: &O, x: &[f64], spacing: f64) -> f64 {
    let second = second_order(objective);
    let mut scratch = objective.scratch();
    let mut random = Random(1);
    let mut worst = Worst(0.0);
    let mut previous: Option<(Vec<f64>, Vec<f64>)> = None;
    for _ in 0..NUM_DIRECTIONS {
        let v = random.vector(x.len());
        let mut product = vec![f64::NAN; x.len()];
        second.linearise(x, &mut scratch);
        second.hessian_product(&v, &mut product, &mut scratch);
        let mut gradient_at = |shift: f64| gradient(objective, &moved(x, shift, &v), &mut scratch);
        let (ahead, behind) = (gradient_at(spacing), gradient_at(-spacing));
        let scale = largest(&product).max(1.0);
        for ((ahead, behind), product) in ahead.iter().zip(&behind).zip(&product) {
            let slope = (ahead - behind) / (2.0 * spacing);
            worst.see((slope - product).abs() / scale);
        }
        if let Some((w, product_w)) = &previous {
            let size = norm(w) * norm(&product);
            worst.see((inner(w, &product) - inner(&v, product_w)).abs() / size.max(1.0));
        }
        previous = Some((v, product));
    }
    worst.0
}

/// Returns the largest deviation of a mixed product `$\langle B_k(x), q\rangle$` from a central
/// difference of `$\langle\nabla\Phi(x; \theta), q\rangle$` in the parameter `$\theta_k$`, relative
/// to 1 or to the largest product, whichever is larger.
///
/// `objective_at(theta)` creates the objective, and `mixed_product(x, q, out)` overwrites `out`, as
/// long as `theta`, with the products at `theta`. `spacing` is the step of the differences.
///
/// # Panics
/// If `x` or `q` does not have the length that the objective expects.
pub fn mixed_deviation<O: StronglyConvex>(
    objective_at: impl Fn(&[f64]) -> O,
    theta: &[f64],
    x: &[f64],
    q: &[f64],
    mixed_product: impl FnOnce(&[f64], &[f64], &mut [f64]),
    spacing: f64,
) -> f64 {
    let mut products = vec![f64::NAN; theta.len()];
    mixed_product(x, q, &mut products);
    let scale = largest(&products).max(1.0);
    let mut worst = Worst(0.0);
    for (k, product) in products.iter().enumerate() {
        let gradient_at = |shift: f64| {
            let mut theta = theta.to_vec();
            theta[k] += shift;
            let objective = objective_at(&theta);
            gradient(&objective, x, &mut objective.scratch())
        };
        let (ahead, behind) = (gradient_at(spacing), gradient_at(-spacing));
        let change: Vec<f64> = ahead.iter().zip(&behind).map(|(a, b)| a - b).collect();
        let slope = inner(&change, q) / (2.0 * spacing);
        worst.see((slope - product).abs() / scale);
    }
    worst.0
}

/// Compares the bounds of [`SecondOrder::third_order`] with the change of the Hessian at random
/// points of the ball of radius `error` around `x`. Returns the largest ratio of a change to its
/// bound.
///
/// Correct bounds give at most 1, whatever the `seed`. The changes are reduced by their rounding
/// errors, as the objective declares them.
///
/// # Panics
/// If `objective` has no second derivatives, or if `x` or `q` does not have the length that it
/// expects.
pub fn third_order_violation<O: StronglyConvex>(
    objective: &O,
    x: &[f64],
    q: &[f64],
    error: f64,
    num_points: usize,
    seed: u64,
) -> f64 {
    let second = second_order(objective);
    let mut scratch = objective.scratch();
    second.linearise(x, &mut scratch);
    let bounds = second.third_order(q, error, &mut scratch);
    let mut random = Random(seed);
    let mut worst = Worst(0.0);
    let product_at = |x: &[f64], v: &[f64], scratch: &mut O::Scratch| {
        let mut out = vec![f64::NAN; v.len()];
        second.linearise(x, scratch);
        second.hessian_product(v, &mut out, scratch);
        out
    };
    let here = gradient(objective, x, &mut scratch);
    let product_here = product_at(x, q, &mut scratch);
    for index in 0..num_points {
        let e = random.error(index, q, error);
        let there = moved(x, 1.0, &e);
        let product_there = product_at(&there, q, &mut scratch);
        let change: Vec<f64> = product_there
            .iter()
            .zip(&product_here)
            .map(|(a, b)| a - b)
            .collect();
        let rounding = 2.0 * second.product_rounding(norm(q));
        worst.see(ratio(norm(&change) - rounding, bounds.vector));

        let gradient_there = gradient(objective, &there, &mut scratch);
        let straight = product_at(x, &e, &mut scratch);
        let gradients = gradient_there.iter().zip(&here);
        let bent: Vec<f64> = gradients
            .zip(&straight)
            .map(|((a, b), c)| a - b - c)
            .collect();
        let gradient_rounding = objective.gradient_rounding(norm(x), norm(&here))
            + objective.gradient_rounding(norm(&there), norm(&gradient_there));
        // x + e is rounded, too
        let step = objective.curvature().lipschitz() * f64::EPSILON * norm(&there);
        let rounding = gradient_rounding + second.product_rounding(error) + step;
        worst.see(ratio(
            inner(&bent, q).abs() - norm(q) * rounding,
            bounds.value,
        ));
    }
    worst.0
}

/// A measured change as a share of its bound: zero if nothing was measured, and infinite if the
/// bound is negative or NaN.
fn ratio(measured: f64, bound: f64) -> f64 {
    if !(bound >= 0.0) {
        f64::INFINITY
    } else if measured <= 0.0 {
        0.0
    } else {
        measured / bound
    }
}

fn second_order<O: StronglyConvex>(objective: &O) -> &dyn SecondOrder<O::Scratch> {
    let second = objective.second_order();
    second.expect("the objective must have second derivatives: StronglyConvex::second_order")
}

fn gradient<O: StronglyConvex>(objective: &O, x: &[f64], scratch: &mut O::Scratch) -> Vec<f64> {
    let mut gradient = vec![f64::NAN; x.len()];
    objective.gradient(x, &mut gradient, scratch);
    gradient
}

fn moved(x: &[f64], factor: f64, v: &[f64]) -> Vec<f64> {
    x.iter().zip(v).map(|(x, v)| x + factor * v).collect()
}

fn largest(values: &[f64]) -> f64 {
    values
        .iter()
        .fold(0.0, |largest: f64, v| largest.max(v.abs()))
}

/// The largest number seen. It stays NaN once it has seen NaN.
struct Worst(f64);

impl Worst {
    fn see(&mut self, deviation: f64) {
        if !(deviation <= self.0) && !self.0.is_nan() {
            self.0 = deviation;
        }
    }
}

/// A sequence of pseudo-random numbers: `SplitMix64`.
struct Random(u64);

impl Random {
    /// A number between -1 and 1.
    fn number(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^= bits >> 31;
        (bits >> 11) as f64 * 2.0_f64.powi(-52) - 1.0
    }

    fn vector(&mut self, dim: usize) -> Vec<f64> {
        (0..dim).map(|_| self.number()).collect()
    }

    /// A point of the ball of radius `error`: in turn any direction, one along `q`, and one along
    /// few axes; every other one is on the sphere.
    fn error(&mut self, index: usize, q: &[f64], error: f64) -> Vec<f64> {
        let sparse = (2.0 / q.len() as f64).min(1.0);
        let mut e: Vec<f64> = match index % 3 {
            0 => self.vector(q.len()),
            1 => {
                let sign = self.number().signum();
                q.iter().map(|q| sign * q).collect()
            }
            _ => (0..q.len())
                .map(|_| match self.number().abs() < sparse {
                    true => self.number(),
                    false => 0.0,
                })
                .collect(),
        };
        let radius = match (index / 3) % 2 {
            0 => error,
            _ => error * self.number().abs(),
        };
        let length = norm(&e);
        // slightly inside, so that rounding does not leave the ball
        let factor = if length > 0.0 {
            (1.0 - 1e-14) * radius / length
        } else {
            0.0
        };
        for e in &mut e {
            *e *= factor;
        }
        e
    }
}
