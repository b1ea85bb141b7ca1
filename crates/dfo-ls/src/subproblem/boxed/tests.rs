use super::*;
use crate::linalg::norm;
use crate::linalg::product_transposed;
use crate::linalg::tests::Random;
use proptest::prelude::*;

/// A random quadratic over ball and box, with bounds of all kinds.
struct RandomProblem {
    gradient: Vec<f64>,
    hessian: Matrix,
    lower: Vec<f64>,
    upper: Vec<f64>,
    radius: f64,
}

impl RandomProblem {
    fn random(random: &mut Random, n: usize, convex: bool) -> Self {
        let hessian = if convex {
            let rows = if random.next() > 0.5 {
                n
            } else {
                n.div_ceil(2)
            };
            let a = random.matrix(rows, n);
            product_transposed(&a, &a)
        } else {
            let a = random.matrix(n, n);
            Matrix::from_fn(n, n, |i, j| a[(i, j)] + a[(j, i)])
        };
        let radius = 10_f64.powf(random.next());
        let mut bound = || match random.next() {
            x if x < -0.6 => 0.0,
            x if x > 0.6 => f64::INFINITY,
            x => (x + 0.6) * radius,
        };
        let lower = (0..n).map(|_| -bound()).collect();
        let upper = (0..n).map(|_| bound()).collect();
        let mut gradient = random.vector(n);
        if random.next() > 0.8 {
            gradient.fill(0.0);
        }
        Self {
            gradient,
            hessian,
            lower,
            upper,
            radius,
        }
    }

    fn quadratic(&self) -> Quadratic<'_> {
        Quadratic {
            gradient: &self.gradient,
            hessian: &self.hessian,
        }
    }

    fn region(&self) -> BallAndBox<'_> {
        BallAndBox {
            radius: self.radius,
            lower: &self.lower,
            upper: &self.upper,
        }
    }

    fn solve(&self) -> SubproblemStep {
        let found = crate::subproblem::minimize_quadratic(&self.quadratic(), &self.region());
        for (i, s) in found.step.iter().enumerate() {
            assert!(self.lower[i] <= *s && *s <= self.upper[i]);
        }
        assert!(norm(&found.step) <= self.radius * (1.0 + 1e-12));
        let value = self.quadratic().value(&found.step);
        assert!(
            (value + found.decrease).abs() <= 1e-12 * (1.0 + self.radius + self.radius.powi(2))
        );
        assert!(found.decrease >= 0.0);
        found
    }

    fn scale(&self) -> f64 {
        norm(&self.gradient) * self.radius + max_abs(self.hessian.as_slice()) * self.radius.powi(2)
    }
}

proptest! {
    /// The optimality conditions, by the length of a projected gradient step on the Lagrangian.
    #[test]
    fn convex_problems_are_solved(seed in any::<u64>(), n in 1_usize..20) {
        let mut random = Random::new(seed);
        let problem = RandomProblem::random(&mut random, n, true);
        let found = problem.solve();
        let mut slopes = vec![0.0; n];
        problem.hessian.mul_vec(&found.step, &mut slopes);
        axpy(1.0, &problem.gradient, &mut slopes);
        // In the convex case no feasible point is lower than the tangent's minimum, which the other
        // solver finds exactly.
        let best = crate::subproblem::minimize_linear(&slopes, &problem.region());
        let gap = dot(&slopes, &found.step) - dot(&slopes, &best);
        prop_assert!(gap <= 1e-9 * problem.scale(), "gap {gap} decrease {}", found.decrease);
    }

    #[test]
    fn nothing_sampled_is_lower(seed in any::<u64>(), n in 1_usize..4, convex in any::<bool>()) {
        let mut random = Random::new(seed);
        let problem = RandomProblem::random(&mut random, n, convex);
        let (quadratic, region) = (problem.quadratic(), problem.region());
        let found = problem.solve();
        let (_, path) = projected_gradient(&quadratic, &region);
        prop_assert!(found.decrease >= -path - 1e-13 * problem.scale());
        if convex {
            for _ in 0..2000 {
                let mut other: Vec<f64> = random.vector(n).iter().map(|x| 1.5 * x * problem.radius).collect();
                region.enforce(&mut other);
                prop_assert!(quadratic.value(&other) >= -found.decrease - 1e-11 * problem.scale());
            }
        }
    }

    /// No point up to the first minimiser on the path of steepest descent, clipped at the box, is
    /// better.
    #[test]
    fn at_least_the_cauchy_decrease(seed in any::<u64>(), n in 1_usize..12) {
        let mut random = Random::new(seed);
        let problem = RandomProblem::random(&mut random, n, false);
        let found = problem.solve();
        // the first minimiser along the path: sample it while the value decreases
        let mut least: f64 = 0.0;
        for k in 1..=400 {
            let t = f64::from(k) * 0.005 * problem.radius;
            let clip = |(i, g): (usize, &f64)| (-t * g).clamp(problem.lower[i], problem.upper[i]);
            let point: Vec<f64> = problem.gradient.iter().enumerate().map(clip).collect();
            let value = problem.quadratic().value(&point);
            if norm(&point) > problem.radius || value > least {
                break;
            }
            least = value;
        }
        prop_assert!(found.decrease >= -least - 1e-12 * problem.scale());
    }
}

/// Local minima are not excluded if the quadratic is indefinite, but most of the time the global
/// one is found.
#[test]
fn indefinite_problems_are_mostly_solved() {
    let mut random = Random::new(3);
    let mut failures = 0;
    for _ in 0..300 {
        let problem = RandomProblem::random(&mut random, 2, false);
        let found = problem.solve();
        let mut best: f64 = 0.0;
        for _ in 0..3000 {
            let mut other: Vec<f64> = random
                .vector(2)
                .iter()
                .map(|x| 1.5 * x * problem.radius)
                .collect();
            problem.region().enforce(&mut other);
            best = best.min(problem.quadratic().value(&other));
        }
        if found.decrease < -0.9 * best {
            failures += 1;
        }
    }
    assert!(failures < 45, "{failures} of 300");
}

#[test]
fn negative_curvature_without_slope() {
    let hessian = Matrix::from_fn(2, 2, |i, j| if i == j { 1.0 } else { -3.0 });
    for (lower, upper) in [
        ([0.0; 2], [1.0; 2]),
        ([-1.0; 2], [0.0; 2]),
        ([-0.1; 2], [5.0; 2]),
    ] {
        let problem = RandomProblem {
            gradient: vec![0.0; 2],
            hessian: hessian.clone(),
            lower: lower.to_vec(),
            upper: upper.to_vec(),
            radius: 1.0,
        };
        assert!((problem.solve().decrease - 1.0).abs() < 1e-12);
    }
}
