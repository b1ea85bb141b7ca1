//! Newton steps for denoising a line, and the error bound by duality.

use crate::reference::{Dd, Dense};
use imaging::{Denoising, DenoisingScratch, Grid, Seed, TvParameters, noise, phantom};
use lowlevel::{
    ErrorBound, NewtonPoint, NewtonRun, NewtonSteps, Solver, State, Stop, StronglyConvex, norm,
};
use proptest::prelude::*;

/// The vectors of Newton's method without a line search.
struct Iterate {
    x: Vec<f64>,
    gradient: Vec<f64>,
    dual: Vec<f64>,
    step: Vec<f64>,
    dual_step: Vec<f64>,
    scratch: DenoisingScratch,
}

impl Iterate {
    fn new(objective: &Denoising<'_>, x: &[f64]) -> Self {
        let zeros = vec![0.0; x.len()];
        let mut iterate = Self {
            x: x.to_vec(),
            gradient: zeros.clone(),
            dual: zeros.clone(),
            step: zeros.clone(),
            dual_step: zeros,
            scratch: objective.scratch(),
        };
        iterate.measure(objective);
        iterate
    }

    fn measure(&mut self, objective: &Denoising<'_>) {
        objective.gradient(&self.x, &mut self.gradient, &mut self.scratch);
    }

    fn step(&mut self, objective: &Denoising<'_>) {
        let at = NewtonPoint {
            x: &self.x,
            gradient: &self.gradient,
            gradient_norm: norm(&self.gradient),
            dual: &self.dual,
            target_norm: 0.0,
        };
        let cost = objective.step(&at, &mut self.step, &mut self.dual_step, &mut self.scratch);
        assert!(cost > 0.0);
    }

    /// A full step.
    fn advance(&mut self, objective: &Denoising<'_>) {
        self.step(objective);
        for (x, step) in self.x.iter_mut().zip(&self.step) {
            *x += step;
        }
        for (dual, step) in self.dual.iter_mut().zip(&self.dual_step) {
            *dual += step;
        }
        self.measure(objective);
    }

    fn bound(&mut self, objective: &Denoising<'_>) -> f64 {
        let at = NewtonPoint {
            x: &self.x,
            gradient: &self.gradient,
            gradient_norm: norm(&self.gradient),
            dual: &self.dual,
            target_norm: 0.0,
        };
        let (bound, cost) = objective
            .sharper_bound(&at, &mut self.scratch)
            .expect("all is finite");
        assert!(cost > 0.0);
        bound.value()
    }
}

fn box_function(len: usize, index: usize) -> Vec<f64> {
    let seed = Seed::new(3);
    let truth = phantom::box_function(len, seed, index).expect("at least two samples");
    noise::gaussian(&truth, 0.1, seed, index).expect("all is finite")
}

fn differences(x: &[f64]) -> Vec<f64> {
    let left = std::iter::once(&0.0).chain(x);
    x.iter().zip(left).map(|(x, left)| x - left).collect()
}

#[test]
fn lines_have_newton_steps_and_images_have_none() {
    let data = vec![0.5; 12];
    let parameters = TvParameters {
        alpha: 0.1,
        nu: 0.01,
        xi: 0.0,
    };
    let line = Denoising::new(Grid::line(12), &data, parameters).unwrap();
    assert_eq!(line.newton().map(|newton| newton.num_duals()), Some(12));
    let image = Denoising::new(Grid::image(3, 4), &data, parameters).unwrap();
    assert!(image.newton().is_none());
}

/// With `p = d/sigma` the step is that of Newton's method: the derivative of the gradient along it
/// cancels the gradient.
#[test]
fn the_step_of_the_exact_dual_is_newtons() {
    for len in [1, 2, 7, 8, 33, 100, 256] {
        let data: Vec<f64> = box_function(len.max(2), len)[..len].to_vec();
        let parameters = TvParameters {
            alpha: 0.3,
            nu: 0.05,
            xi: 0.2,
        };
        let objective = Denoising::new(Grid::line(len), &data, parameters).unwrap();
        let mut iterate = Iterate::new(&objective, &data);
        let direction = |d: f64| d / d.hypot(parameters.nu);
        iterate.dual = differences(&data).into_iter().map(direction).collect();
        iterate.step(&objective);
        let h = 1e-5;
        let at = |h: f64| {
            let x: Vec<f64> = data
                .iter()
                .zip(&iterate.step)
                .map(|(x, s)| x + h * s)
                .collect();
            let moved = Iterate::new(&objective, &x);
            (differences(&x), moved.gradient)
        };
        let ((d_plus, plus), (d_minus, minus)) = (at(h), at(-h));
        let size = norm(&iterate.gradient);
        for j in 0..len {
            let derivative = (plus[j] - minus[j]) / (2.0 * h);
            assert!(
                (derivative + iterate.gradient[j]).abs() < 1e-7 * size,
                "{len} {j}"
            );
            // Linearised, the dual follows d/sigma.
            let turned = (direction(d_plus[j]) - direction(d_minus[j])) / (2.0 * h);
            let clipped = (iterate.dual[j] + turned).clamp(-1.0, 1.0) - iterate.dual[j];
            assert!((clipped - iterate.dual_step[j]).abs() < 1e-7, "{len} {j}");
        }
    }
}

/// A run makes the same steps as [`NewtonSteps::step`], for lines of all lengths: with segments
/// that are entirely, partly or not at all on the line.
#[test]
fn a_run_makes_the_same_steps() {
    for len in (2..=70).chain([100, 200, 255, 256, 257]) {
        let data = box_function(len, len);
        let parameters = TvParameters {
            alpha: 0.3,
            nu: 0.01,
            xi: 1e-3,
        };
        let objective = Denoising::new(Grid::line(len), &data, parameters).unwrap();
        let mut iterate = Iterate::new(&objective, &data);
        let (mut x, mut dual) = (data.clone(), vec![0.0; len]);
        let mut run = NewtonRun::new(&mut x, &mut dual, f64::INFINITY, 1e-6, 4);
        let cost = objective.run(&mut run, &mut objective.scratch());
        let num_steps = run.num_steps();
        assert!(cost > 0.0 && (2..=4).contains(&num_steps), "{len}");
        assert!(!run.goes_on() || run.num_gradients() == num_steps + 1);
        for _ in 0..num_steps {
            iterate.advance(&objective);
        }
        let size = norm(&data);
        for (one, other) in [(&x, &iterate.x), (&dual, &iterate.dual)] {
            for (a, b) in one.iter().zip(other) {
                assert!((a - b).abs() <= 1e-11 * size, "{len}: {a} {b}");
            }
        }
        // The run passes the right norm to `accept`: a threshold just above it accepts the step,
        // one just below does not.
        for (factor, made) in [(1.01, 1), (0.99, 0)] {
            let mut one = Iterate::new(&objective, &data);
            one.advance(&objective);
            let smallest = factor * norm(&one.gradient) / 0.9;
            let (mut x, mut dual) = (data.clone(), vec![0.0; len]);
            let mut run = NewtonRun::new(&mut x, &mut dual, smallest, 0.0, 1);
            objective.run(&mut run, &mut objective.scratch());
            assert_eq!((run.num_steps(), run.num_gradients()), (made, 1), "{len}");
            assert_eq!(
                x == data,
                made == 0,
                "a step that is not accepted is not made"
            );
        }
    }
}

#[test]
fn a_stopped_solve_continues_with_the_same_iterates() {
    for alpha in [1e3, 1.0, 0.01] {
        let data = box_function(200, 1);
        let parameters = TvParameters {
            alpha,
            nu: 1e-3,
            xi: 1e-3,
        };
        let objective = Denoising::new(Grid::line(200), &data, parameters).unwrap();
        let solve = |targets: &[f64]| {
            let mut state = State::new(data.clone());
            let mut iterations = 0;
            for target in targets {
                let stop = Stop::accuracy(ErrorBound::new(*target).unwrap());
                let mut scratch = objective.scratch();
                let solved = Solver::default().refine(&objective, stop, &mut state, &mut scratch);
                iterations += solved.unwrap().iterations;
            }
            (iterations, state.into_point())
        };
        assert_eq!(solve(&[1e-8]), solve(&[1.0, 1e-2, 1e-8]));
    }
}

/// Problems like those of the paper, with full steps from the data.
#[test]
fn few_steps_suffice() {
    for alpha in [1.0, 0.1, 0.01] {
        for index in 0..10 {
            let data = box_function(256, index);
            let parameters = TvParameters {
                alpha,
                nu: 1e-3,
                xi: 1e-3,
            };
            let objective = Denoising::new(Grid::line(256), &data, parameters).unwrap();
            let mut iterate = Iterate::new(&objective, &data);
            let mut norms = vec![norm(&iterate.gradient)];
            while norms[norms.len() - 1] > 1e-9 {
                assert!(norms.len() <= 10, "{alpha} {index}: {norms:?}");
                iterate.advance(&objective);
                norms.push(norm(&iterate.gradient));
            }
            // In the end the convergence is nearly quadratic.
            let last = norms.len() - 1;
            assert!(norms[last] < 30.0 * norms[last - 1].powf(1.6), "{norms:?}");
        }
    }
}

/// Where rounding dominates the gradient, the bound by duality is still small.
#[test]
fn the_bound_reaches_smaller_errors_than_the_gradient() {
    let data = box_function(256, 0);
    let parameters = TvParameters {
        alpha: 1e7,
        nu: 1e-7,
        xi: 1e-3,
    };
    let objective = Denoising::new(Grid::line(256), &data, parameters).unwrap();
    let mut iterate = Iterate::new(&objective, &data);
    let mut best = [f64::INFINITY; 2];
    for _ in 0..40 {
        iterate.advance(&objective);
        let gradient = norm(&iterate.gradient);
        let by_gradient = gradient + objective.gradient_rounding(norm(&iterate.x), gradient);
        let bounds = [by_gradient / 1.001, iterate.bound(&objective)];
        best = [best[0].min(bounds[0]), best[1].min(bounds[1])];
    }
    assert!(best[0] > 1e-7 && best[1] < 1e-10, "{best:?}");
}

fn dense(data: &[f64], parameters: TvParameters) -> Dense {
    let dim = data.len();
    let mut matrix = vec![Dd::default(); dim * dim];
    for i in 0..dim {
        matrix[i * dim + i] = Dd::from(1.0) + Dd::from(parameters.xi);
    }
    let group = |j: usize| {
        let own = [(j, 1.0)];
        let left = j.checked_sub(1).map(|left| (left, -1.0));
        vec![own.into_iter().chain(left).collect()]
    };
    Dense {
        matrix,
        linear: data.iter().map(|&y| Dd::from(y)).collect(),
        groups: (0..dim).map(group).collect(),
        alpha: parameters.alpha,
        nu: parameters.nu,
        strong_convexity: 1.0 + parameters.xi,
    }
}

fn parameters() -> impl Strategy<Value = TvParameters> {
    let inside = (-7.0..7.0_f64, -7.0..0.0_f64, -7.0..0.0_f64);
    let end = |low: f64, high: f64| prop_oneof![Just(low), Just(high)];
    let corner = (end(-7.0, 7.0), end(-7.0, 0.0), end(-7.0, 0.0));
    prop_oneof![3 => inside, 1 => corner].prop_map(|(alpha, nu, xi)| TvParameters {
        alpha: 10_f64.powf(alpha),
        nu: 10_f64.powf(nu),
        xi: 10_f64.powf(xi),
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// The bound holds after any number of steps, and for arbitrary dual variables.
    #[test]
    fn the_bound_is_never_below_the_error(
        (entries, duals) in (1_usize..13).prop_flat_map(|len| {
            let dual = prop_oneof![4 => -1.0..1.0_f64, 1 => Just(1.0), 1 => Just(-1.0), 1 => Just(0.0), 1 => Just(1.0 + f64::EPSILON)];
            (proptest::collection::vec(-2.0..2.0_f64, len), proptest::collection::vec(dual, len))
        }),
        size in prop_oneof![4 => Just(1.0), 1 => Just(1e-6), 1 => Just(1e6)],
        parameters in parameters(), steps in 0_usize..25, foreign in any::<bool>()
    ) {
        let data: Vec<f64> = entries.iter().map(|x| size * x).collect();
        let objective = Denoising::new(Grid::line(data.len()), &data, parameters).unwrap();
        let mut iterate = Iterate::new(&objective, &data);
        for _ in 0..steps {
            iterate.advance(&objective);
        }
        if foreign {
            iterate.dual = duals;
        }
        let bound = iterate.bound(&objective);
        let reference = dense(&data, parameters).solve(1e-3 * bound.min(1e-9));
        prop_assert!(reference.error <= 1e-2 * bound, "known to {:e}, bound {bound:e}", reference.error);
        let error = reference.distance(&iterate.x);
        prop_assert!(error <= bound + reference.error, "error {error:e}, bound {bound:e}");
    }
}
