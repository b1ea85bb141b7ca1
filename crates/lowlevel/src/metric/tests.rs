//! Steps with good and bad metrics.

use super::*;
use crate::second_order::ThirdOrder;
use crate::{Curvature, ErrorBound, Method, Solved, Solver, State, Stop, norm};
use approx::assert_relative_eq;

/// The function `$\sum_j\frac{l_j}2x_j^2 + \sqrt{(x_j - 1)^2 + 0.01}$`, with a choice of metric.
struct Roots(Metric);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Metric {
    None,
    /// The inverse of the Hessian without the roots, times a factor.
    Scaled(f64),
    NotANumber,
    Zero,
    /// Indefinite.
    Turned,
}

const DIM: usize = 60;

fn weight(j: usize) -> f64 {
    1000_f64.powf(j as f64 / DIM as f64)
}

impl StronglyConvex for Roots {
    type Scratch = ();

    fn dim(&self) -> usize {
        DIM
    }

    fn curvature(&self) -> Curvature {
        Curvature::new(1.0, 1010.0).expect("valid")
    }

    fn scratch(&self) {}

    fn gradient(&self, x: &[f64], gradient: &mut [f64], (): &mut ()) {
        for (j, (gradient, x)) in gradient.iter_mut().zip(x).enumerate() {
            *gradient = weight(j) * x + (x - 1.0) / (x - 1.0).hypot(0.1);
        }
    }

    fn value(&self, x: &[f64], (): &mut ()) -> f64 {
        let terms = x.iter().enumerate();
        let term = |(j, x): (usize, &f64)| 0.5 * weight(j) * x * x + (x - 1.0).hypot(0.1);
        terms.map(term).sum()
    }

    fn fingerprint(&self) -> Option<u64> {
        Some(1)
    }

    fn second_order(&self) -> Option<&dyn SecondOrder<()>> {
        Some(self)
    }
}

impl SecondOrder<()> for Roots {
    fn linearise(&self, _: &[f64], (): &mut ()) {}

    fn hessian_product(&self, _: &[f64], _: &mut [f64], (): &mut ()) {}

    fn product_rounding(&self, _: f64) -> f64 {
        f64::INFINITY
    }

    fn third_order(&self, _: &[f64], _: f64, (): &mut ()) -> ThirdOrder {
        ThirdOrder::UNKNOWN
    }

    fn metric(&self) -> Option<MetricCosts> {
        (self.0 != Metric::None).then_some(MetricCosts {
            set: 0.5,
            apply: 0.25,
        })
    }

    fn apply_metric(&self, r: &[f64], out: &mut [f64], (): &mut ()) {
        for (j, (out, r)) in out.iter_mut().zip(r).enumerate() {
            *out = match self.0 {
                Metric::Scaled(factor) => factor * r / weight(j),
                Metric::NotANumber => f64::NAN,
                Metric::Turned if j % 2 == 0 => -r,
                Metric::Turned => *r,
                Metric::None | Metric::Zero => 0.0,
            }
        }
    }
}

fn solve(metric: Metric, target: f64) -> (State, Solved) {
    let mut state = State::new((0..DIM).map(|j| (j as f64).sin()).collect());
    let stop = Stop::accuracy(ErrorBound::new(target).expect("not negative"));
    let objective = Roots(metric);
    let solved = Solver::default().minimize(&objective, stop, &mut state, &mut ());
    (state, solved.expect("finite"))
}

fn distance(a: &State, b: &State) -> f64 {
    let differences = a.point().iter().zip(b.point()).map(|(a, b)| a - b);
    norm(&differences.collect::<Vec<_>>())
}

#[test]
fn a_good_metric_saves_work() {
    let (exact, _) = solve(Metric::None, 1e-12);
    for target in [1e-2, 1e-5, 1e-9] {
        let (_, plain) = solve(Metric::None, target);
        let (state, solved) = solve(Metric::Scaled(0.5), target);
        assert!(distance(&state, &exact) <= solved.error.value() && solved.error.value() <= target);
        assert!(4.0 * solved.work < plain.work, "{solved:?} {plain:?}");
        // One product per iteration, one for each later metric, and the metrics.
        let iterations = solved.iterations;
        let metrics = [0, 2, 6, 18, 54]
            .iter()
            .filter(|at| **at < iterations)
            .count() as f64;
        let expected = 1.0 + 1.25 * iterations as f64 + 0.75 * metrics - 0.25;
        assert_relative_eq!(solved.work, expected);
    }
}

/// Whatever the metric, the answer is certified.
#[test]
fn a_bad_metric_costs_only_time() {
    let (exact, _) = solve(Metric::None, 1e-12);
    let (_, plain) = solve(Metric::None, 1e-6);
    let scaled = [1e-12, 1e-3, 1e3, 1e200, -1.0].map(Metric::Scaled);
    let others = [Metric::NotANumber, Metric::Zero, Metric::Turned];
    for metric in scaled.into_iter().chain(others) {
        let (state, solved) = solve(metric, 1e-6);
        assert!(solved.reached().is_ok(), "{metric:?}");
        assert!(distance(&state, &exact) <= solved.error.value() && solved.error.value() <= 1e-6);
        assert!(
            solved.work < 3.0 * plain.work + 100.0,
            "{metric:?} {solved:?}"
        );
    }
}

/// A copy of a state has no pair and no metric, like one that was saved.
#[test]
fn copies_of_a_state_continue_like_the_state() {
    let objective = Roots(Metric::Scaled(1.0));
    let (mut state, _) = solve(objective.0, 1e-2);
    let mut copy = state.clone();
    let stop = Stop::accuracy(ErrorBound::new(1e-8).expect("positive"));
    let solved = [&mut state, &mut copy]
        .map(|state| (Solver::default().refine(&objective, stop, state, &mut ())).expect("finite"));
    assert_eq!(solved[0], solved[1]);
    assert_eq!(state, copy);
    assert!(solved[0].iterations > 0);
}

#[test]
fn only_the_automatic_method_uses_the_metric() {
    let solver = Solver {
        method: Method::HeavyBall,
        ..Solver::default()
    };
    let points = [Metric::None, Metric::Scaled(1.0)].map(|metric| {
        let mut state = State::new(vec![0.5; DIM]);
        let stop = Stop::accuracy(ErrorBound::new(1e-6).expect("positive"));
        let solved = solver.minimize(&Roots(metric), stop, &mut state, &mut ());
        assert!(solved.is_ok());
        state.into_point()
    });
    assert_eq!(points[0], points[1]);
}

/// A step is that of the matrix `$(I - sy^T/s^Ty)\gamma P(I - ys^T/s^Ty) + ss^T/s^Ty$`.
#[test]
fn steps_are_those_of_the_memoryless_method() {
    const LEN: usize = 19; // two blocks, and a rest
    let numbers = |seed: f64| (0..LEN).map(|j| (seed * (j + 1) as f64).sin()).collect();
    let [before, gradient_before, s]: [Vec<f64>; 3] = [0.3, 0.7, 1.1].map(numbers);
    let apply = |v: &[f64]| -> Vec<f64> {
        v.iter()
            .enumerate()
            .map(|(j, v)| v / (1.0 + j as f64))
            .collect()
    };
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let point: Vec<f64> = before.iter().zip(&s).map(|(x, s)| x + s).collect();
    let y: Vec<f64> = s
        .iter()
        .enumerate()
        .map(|(j, s)| (2.0 + (j as f64).cos()) * s)
        .collect();
    let gradient: Vec<f64> = gradient_before.iter().zip(&y).map(|(g, y)| g + y).collect();
    let [product, product_before] = [&gradient, &gradient_before].map(|g| apply(g));

    let pair = pair_products(
        [&point, &before],
        [&gradient, &gradient_before],
        [&product, &product_before],
    );
    let coefficients = Coefficients::of(pair, f64::NAN);
    let (mut moved, mut kept, mut kept_gradient) = (point.clone(), before, vec![0.0; LEN]);
    coefficients.take(
        (&mut moved, &mut kept),
        (&gradient, &mut kept_gradient),
        [&product, &product_before],
    );
    assert_eq!((kept, kept_gradient), (point.clone(), gradient.clone()));

    let (sy, yw) = (dot(&s, &y), dot(&y, &apply(&y)));
    let alpha = dot(&s, &gradient) / sy;
    let rest: Vec<f64> = gradient
        .iter()
        .zip(&y)
        .map(|(g, y)| g - alpha * y)
        .collect();
    let z: Vec<f64> = apply(&rest).iter().map(|z| sy / yw * z).collect();
    let beta = dot(&y, &z) / sy;
    for j in 0..LEN {
        let expected = point[j] - (z[j] + (alpha - beta) * s[j]);
        assert_relative_eq!(moved[j], expected, max_relative = 1e-12);
    }
    // Without curvature along the pair, the step is that of the metric alone.
    let alone = Coefficients::of([1.0, 0.0, 1.0, 1.0], 0.5);
    let expected = Coefficients {
        own: 0.5,
        before: 0.0,
        along: 0.0,
        scale: 0.5,
    };
    assert_eq!(alone, expected);
}
