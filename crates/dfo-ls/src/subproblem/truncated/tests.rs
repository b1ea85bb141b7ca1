use super::*;
use crate::linalg::tests::Random;
use crate::linalg::{Matrix, norm, product_transposed, symmetric_eigen};
use crate::subproblem::minimize_quadratic;
use proptest::prelude::*;

fn diagonal(entries: &[f64]) -> Matrix {
    let n = entries.len();
    Matrix::from_fn(n, n, |i, j| if i == j { entries[i] } else { 0.0 })
}

fn solve(
    gradient: &[f64],
    hessian: &Matrix,
    radius: f64,
    lower: &[f64],
    upper: &[f64],
) -> SubproblemStep {
    let region = BallAndBox {
        radius,
        lower,
        upper,
    };
    let found = minimize_truncated(&Quadratic { gradient, hessian }, &region);
    for (i, s) in found.step.iter().enumerate() {
        assert!(lower[i] - 1e-14 <= *s && *s <= upper[i] + 1e-14);
    }
    assert!(norm(&found.step) <= radius * (1.0 + 1e-12) + 1e-13);
    assert!(found.decrease >= 0.0);
    found
}

fn free(gradient: &[f64], hessian: &Matrix, radius: f64) -> SubproblemStep {
    let n = gradient.len();
    let infinite = vec![f64::INFINITY; n];
    solve(
        gradient,
        hessian,
        radius,
        &vec![-f64::INFINITY; n],
        &infinite,
    )
}

fn close(a: &[f64], b: &[f64], tolerance: f64) {
    let difference: Vec<f64> = a.iter().zip(b).map(|(x, y)| x - y).collect();
    assert!(norm(&difference) <= tolerance, "{a:?} {b:?}");
}

/// As many conjugate directions as variables, inside the ball.
#[test]
fn newton_steps() {
    let found = free(&[-1.0, -4.0], &diagonal(&[1.0, 2.0]), 10.0);
    close(&found.step, &[1.0, 2.0], 1e-14);
    assert!((found.decrease - 4.5).abs() < 1e-14);
    // along (1, 4), then conjugate to it: (8, -1) up to a factor
    assert!((found.curvature - 66.0 / 65.0).abs() < 1e-14, "{found:?}");
}

/// Two directions of three.
#[test]
fn a_small_gain_ends_the_search() {
    // with eigenvalues 1, 1 + e, 1 + 2e the first step leaves only a gain of order e^2
    let hessian = diagonal(&[1.0, 1.001, 1.002]);
    let found = free(&[-1.0, -1.0, -1.0], &hessian, 10.0);
    let exact = [1.0, 1.0 / 1.001, 1.0 / 1.002];
    let difference: Vec<f64> = found.step.iter().zip(&exact).map(|(a, b)| a - b).collect();
    let off = norm(&difference);
    assert!(off > 1e-10 && off < 1e-5, "two of three directions: {off}");
}

/// The first direction leaves the ball; on the circle the best of twenty angles, improved by a
/// parabola, is close.
#[test]
fn on_the_circle() {
    let hessian = diagonal(&[4.0, 0.0]);
    let found = free(&[-1.0, -1.0], &hessian, 1.0);
    assert!((norm(&found.step) - 1.0).abs() < 1e-14);
    close(&[found.curvature], &[0.0], 0.0);
    let value = |angle: f64| angle.cos() + angle.sin() - 2.0 * angle.cos().powi(2);
    let best = (0..100_000)
        .map(|k| value(f64::from(k) * 2e-5))
        .fold(0.0, f64::max);
    assert!(
        found.decrease > 0.99 * best && found.decrease <= best + 1e-12,
        "{found:?} {best}"
    );
}

/// Without curvature the first direction ends at the sphere, where no rotation helps.
#[test]
fn a_linear_function() {
    let found = free(&[3.0, 4.0], &Matrix::zeros(2, 2), 0.5);
    close(&found.step, &[-0.3, -0.4], 1e-15);
    assert!((found.decrease - 2.5).abs() < 1e-14);
    close(&[found.curvature], &[0.0], 0.0);
}

/// The first bound on the way is kept, and the search goes on in the other variable.
#[test]
fn a_bound_on_the_way() {
    let (lower, upper) = ([-0.25, -5.0], [5.0, 5.0]);
    let found = solve(&[1.0, 1.0], &diagonal(&[1.0, 0.5]), 10.0, &lower, &upper);
    close(&found.step, &[-0.25, -2.0], 1e-14);
    close(&[found.step[0]], &[-0.25], 0.0);
    // of the direction that no bound has cut
    close(&[found.curvature], &[0.5], 0.0);
}

/// The first direction leaves the ball at (2, 1)/sqrt(5); the rotation towards (0.775, 0.632) ends
/// at the bound.
#[test]
fn a_bound_on_the_sphere() {
    let hessian = diagonal(&[1.0, 0.0]);
    let (lower, upper) = ([-2.0, -2.0], [2.0, 0.5]);
    let found = solve(&[-2.0, -1.0], &hessian, 1.0, &lower, &upper);
    close(&found.step, &[0.75_f64.sqrt(), 0.5], 1e-12);
    close(&[found.curvature], &[0.0], 0.0);
    let far = solve(&[-2.0, -1.0], &hessian, 1.0, &lower, &[0.999, 2.0]);
    close(&far.step, &[0.775, 0.632], 5e-3);
}

/// Without bounds the vertex of the parabola is used even if the quadratic increases. Its
/// neighbours are at an angle of a fiftieth of the circle.
#[test]
fn around_the_circle() {
    // found from the same formula, written for the angle: h (q(-h) - q(h)) / (2 (q(-h) + q(h)))
    let (stiff, step, tangent) = (100.0_f64, [0.6_f64, 0.8_f64], [-0.8_f64, 0.6_f64]);
    let value = |angle: f64| {
        let x = step[0] * angle.cos() + tangent[0] * angle.sin();
        0.5 * stiff * (x - step[0]).powi(2)
    };
    let h = std::f64::consts::TAU / 50.0;
    let expected = 0.5 * h * (value(-h) - value(h)) / (value(-h) + value(h));
    let curve = rotation::CircleQuadratic {
        along: 0.0,
        descent: 0.0,
        tangent: stiff * tangent[0] * tangent[0],
        mixed: stiff * step[0] * tangent[0],
        step: stiff * step[0] * step[0],
    };
    let found = curve.best_around().expect("not flat");
    assert!((found.sine - expected.sin()).abs() < 1e-14 && expected.abs() > 1e-3);
    assert!((found.gain + value(expected)).abs() < 1e-14 && found.gain < 0.0);
}

/// On a bound at the start: it moves by what bounds are widened and no more.
#[test]
fn bounds_at_the_start() {
    let (lower, upper) = ([0.0, -1.0], [1.0, 1.0]);
    let found = solve(&[1.0, -0.5], &diagonal(&[1.0, 1.0]), 2.0, &lower, &upper);
    close(&found.step, &[-1e-14, 0.5], 1e-15);
    close(&[found.step[0]], &[-1e-14], 0.0);
    let inward = solve(&[-1.0, -0.5], &diagonal(&[1.0, 1.0]), 2.0, &lower, &upper);
    close(&inward.step, &[1.0, 0.5], 1e-14);
}

#[test]
fn no_slope_no_step() {
    let zero = free(&[0.0, 0.0], &diagonal(&[-1.0, 1.0]), 1.0);
    assert_eq!(zero, SubproblemStep::zero(2));
    // absolute: too short a multiple of the gradient
    let short = free(&[1.0, 0.0], &diagonal(&[1e31, 1.0]), 1.0);
    assert_eq!(short.step, [0.0, 0.0]);
    let longer = free(&[1.0, 0.0], &diagonal(&[1e29, 1.0]), 1.0);
    close(&longer.step, &[-1e-29, 0.0], 1e-43);
    assert_eq!(
        free(&[], &Matrix::zeros(0, 0), 1.0),
        SubproblemStep::zero(0)
    );
}

#[test]
fn nan_gives_no_step() {
    let eye = Matrix::identity(2);
    assert_eq!(free(&[f64::NAN, 1.0], &eye, 1.0), SubproblemStep::zero(2));
    assert_eq!(
        free(&[f64::INFINITY, 1.0], &eye, 1.0),
        SubproblemStep::zero(2)
    );
    let mut bad = eye.clone();
    bad[(0, 1)] = f64::NAN;
    assert_eq!(free(&[1.0, 1.0], &bad, 1.0), SubproblemStep::zero(2));
    for radius in [0.0, f64::NAN] {
        let region = BallAndBox {
            radius,
            lower: &[-1.0; 2],
            upper: &[1.0; 2],
        };
        let quadratic = Quadratic {
            gradient: &[1.0; 2],
            hessian: &eye,
        };
        assert_eq!(
            minimize_truncated(&quadratic, &region),
            SubproblemStep::zero(2)
        );
    }
}

/// A random convex problem in a ball. If `boxed`, it has bounds inside the ball.
struct Problem {
    gradient: Vec<f64>,
    hessian: Matrix,
    radius: f64,
    lower: Vec<f64>,
    upper: Vec<f64>,
}

impl Problem {
    fn new(seed: u64, n: usize, boxed: bool) -> Self {
        let mut random = Random::new(seed);
        let a = random.matrix(n + 2, n);
        let hessian = product_transposed(&a, &a);
        let gradient = random.vector(n);
        let radius = 10_f64.powf(random.next());
        let mut bound = || match boxed {
            true => random.next().abs() * radius,
            false => f64::INFINITY,
        };
        let lower = (0..n).map(|_| -bound()).collect();
        let upper = (0..n).map(|_| bound()).collect();
        Self {
            gradient,
            hessian,
            radius,
            lower,
            upper,
        }
    }

    fn truncated(&self) -> SubproblemStep {
        let (lower, upper) = (&self.lower, &self.upper);
        solve(&self.gradient, &self.hessian, self.radius, lower, upper)
    }

    /// The decrease of the minimiser.
    fn exact_decrease(&self) -> f64 {
        let region = BallAndBox {
            radius: self.radius,
            lower: &self.lower,
            upper: &self.upper,
        };
        let quadratic = Quadratic {
            gradient: &self.gradient,
            hessian: &self.hessian,
        };
        minimize_quadratic(&quadratic, &region).decrease
    }

    /// The decrease of the first step: along the gradient, to the minimiser, to the sphere or to
    /// the first bound.
    fn first_decrease(&self) -> f64 {
        let g = &self.gradient;
        let square = dot(g, g);
        let mut image = vec![0.0; g.len()];
        self.hessian.mul_vec(g, &mut image);
        let bend = dot(g, &image);
        let mut t = (square / bend).min(self.radius / square.sqrt());
        for (i, g) in g.iter().enumerate() {
            let bound = if *g > 0.0 {
                -self.lower[i]
            } else {
                self.upper[i]
            };
            t = t.min(bound / g.abs());
        }
        t * (square - 0.5 * t * bend)
    }

    /// The smallest and the largest eigenvalue of the Hessian.
    fn eigenvalues(&self) -> [f64; 2] {
        let (values, _) = symmetric_eigen(&self.hessian).expect("finite");
        let ends = [f64::INFINITY, 0.0];
        (values.iter()).fold(ends, |[low, high], v| [low.min(*v), high.max(*v)])
    }
}

proptest! {
    /// Without bounds, the step has half of the exact decrease, except for what a rotation loses.
    ///
    /// - Conjugate gradients that end on the sphere have half of it, as in every convex problem
    ///   (Yuan 2000, On the truncated conjugate gradient method, Theorem 2).
    /// - A direction gains at least as much as steepest descent, which leaves at most the share
    ///   `$(\kappa - 1)^2/(\kappa + 1)^2$` of the decrease that was missing before. If the last
    ///   gain is the share `$e$` of the whole decrease, at most `$e(\kappa - 1)^2/(4\kappa)$` of
    ///   it are missing.
    /// - A flat gradient, `$\|q\|\Delta \le 10^{-3}$` of the decrease, misses at most
    ///   `$q^\top(d - x) \le 2\|q\|\Delta$`.
    /// - The rotation to the vertex of the parabola loses at most the error of interpolation at
    ///   half the distance `$h$` of its nodes, `$h^3/16$` times the third derivative of the
    ///   quadratic on the circle, which is at most `$\|g\|\Delta + 2\|H\|\Delta^2$`. A loss
    ///   ends the rotations.
    #[test]
    fn half_of_the_exact_decrease(seed in any::<u64>(), n in 1_usize..9) {
        let problem = Problem::new(seed, n, false);
        let (found, exact) = (problem.truncated().decrease, problem.exact_decrease());
        prop_assert!(found <= exact * (1.0 + 1e-9) + 1e-12);
        let [low, high] = problem.eigenvalues();
        let condition = high / low;
        let missing = CONJUGATE_SHARE * (condition - 1.0).powi(2) / (4.0 * condition);
        let share = (1.0 / (1.0 + missing)).min(0.5);
        let r = problem.radius;
        let third = norm(&problem.gradient) * r + 2.0 * high * r * r;
        let loss = third * (std::f64::consts::TAU / 50.0).powi(3) / 16.0;
        prop_assert!(found >= share * exact - loss, "{found} of {exact}");
        let first = problem.first_decrease();
        prop_assert!(found >= (1.0 - 1e-9) * first - loss, "{found} {first}");
    }

    /// With bounds, the step has the decrease of its first part, along the gradient: all later
    /// parts decrease the quadratic. Inside the ball, it minimises the quadratic over the variables
    /// that met no bound, up to the share of the decrease that conjugate gradients may leave; a
    /// gradient `$q$` leaves at least `$\|q\|^2/(2\|H\|)$`.
    ///
    /// No share of the exact decrease is certain: see `a_variable_that_should_turn_round`.
    #[test]
    fn at_least_the_first_decrease(seed in any::<u64>(), n in 1_usize..9) {
        let problem = Problem::new(seed, n, true);
        let step = problem.truncated();
        let (found, exact) = (step.decrease, problem.exact_decrease());
        prop_assert!(found <= exact * (1.0 + 1e-9) + 1e-12);
        let first = problem.first_decrease();
        prop_assert!(found >= (1.0 - 1e-9) * first, "{found} {first}");
        if norm(&step.step) < (1.0 - 1e-9) * problem.radius {
            let mut slopes = problem.gradient.clone();
            let mut image = vec![0.0; n];
            problem.hessian.mul_vec(&step.step, &mut image);
            axpy(1.0, &image, &mut slopes);
            let is_inside = |i: &usize| {
                let s = step.step[*i];
                s > problem.lower[*i] + 1e-13 && s < problem.upper[*i] - 1e-13
            };
            let free: f64 = (0..n).filter(is_inside).map(|i| slopes[i] * slopes[i]).sum();
            let [low, high] = problem.eigenvalues();
            let condition = high / low;
            let missing = CONJUGATE_SHARE * (condition - 1.0).powi(2) / (4.0 * condition);
            let most = 2.0 * high * (missing * found + 1e-12);
            prop_assert!(free <= most, "{free} {most}");
        }
    }
}

/// The first variable moves to its near bound and stays there, although it should turn round when
/// the second one has moved. The share of the exact decrease, `$1 - c^2$`, can be as small as one
/// likes.
#[test]
fn a_variable_that_should_turn_round() {
    for c in [0.9_f64, 0.99, 0.999] {
        let hessian = Matrix::from_fn(2, 2, |i, j| if i == j { 1.0 } else { -c });
        let (gradient, radius) = ([1e-6, -1.0], 1e4);
        let (lower, upper) = ([-1e-9, -radius], [radius, radius]);
        let found = solve(&gradient, &hessian, radius, &lower, &upper);
        close(&found.step, &[-1e-9, 1.0], 1e-8);
        let quadratic = Quadratic {
            gradient: &gradient,
            hessian: &hessian,
        };
        let region = BallAndBox {
            radius,
            lower: &lower,
            upper: &upper,
        };
        let exact = minimize_quadratic(&quadratic, &region).decrease;
        let share = found.decrease / exact;
        assert!((share / (1.0 - c * c) - 1.0).abs() < 1e-4, "{share}");
    }
}

/// Most steps have nearly the exact decrease, in problems that are the same every time. Of two
/// million such problems, 1 in 100 is below the share 0.979 without bounds (the worst is 0.867),
/// and 1 in 20 below 0.989 with bounds (the worst is 0.090).
#[test]
fn most_steps_are_nearly_exact() {
    for (boxed, share, most_below) in [(false, 0.975, 40), (true, 0.985, 200)] {
        let is_below = |seed: &u64| {
            let n = 1 + usize::try_from(seed % 8).expect("small");
            let problem = Problem::new(*seed, n, boxed);
            problem.truncated().decrease < share * problem.exact_decrease()
        };
        let below = (0..4000_u64).filter(is_below).count();
        assert!(below <= most_below, "{boxed}: {below}");
    }
}
