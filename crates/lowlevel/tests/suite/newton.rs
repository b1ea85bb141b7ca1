//! Newton steps, good and bad: the answer is certified whatever steps an objective returns.

use std::cell::Cell;

use lowlevel::{
    Certificate, Checkpoint, Curvature, Domain, ErrorBound, Method, NewtonPoint, NewtonRun,
    NewtonSteps, Outcome, SolveError, Solver, State, Stop, StronglyConvex, UNIT_ROUNDOFF, norm,
};
use proptest::prelude::*;

const NU: f64 = 1e-3;

/// `$\sum_j \sqrt{(x_j - y_j)^2 + \nu^2} + x_j^2/2$`, on which Newton's method without a line
/// search diverges.
struct Robust {
    data: Vec<f64>,
    steps: Steps,
    sharp: Option<f64>,
    value_is_nan: bool,
    runs: Runs,
}

/// The behaviour of [`NewtonSteps::run`].
#[derive(Clone, Copy, Debug, PartialEq)]
enum Runs {
    None,
    /// Makes steps of Newton's method.
    Honest,
    /// Makes wrong steps, and claims that they are good.
    Lies,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Steps {
    None,
    Newton,
    /// Newton steps, multiplied by this factor.
    Scaled(f64),
    Uphill,
    Nan,
    Zero,
}

impl Robust {
    fn new(steps: Steps) -> Self {
        Self {
            data: vec![3.0, -2.0, 0.5, 0.0, 0.7],
            steps,
            sharp: None,
            value_is_nan: false,
            runs: Runs::None,
        }
    }

    fn root(&self, x: &[f64], j: usize) -> f64 {
        ((x[j] - self.data[j]).powi(2) + NU * NU).sqrt()
    }
}

thread_local! {
    static BOUNDS_ASKED: Cell<u32> = const { Cell::new(0) };
}

impl StronglyConvex for Robust {
    type Scratch = ();

    fn dim(&self) -> usize {
        self.data.len()
    }

    fn curvature(&self) -> Curvature {
        Curvature::new(1.0, 1.0 + 1.0 / NU).expect("positive")
    }

    fn scratch(&self) {}

    fn gradient(&self, x: &[f64], gradient: &mut [f64], (): &mut ()) {
        for (j, gradient) in gradient.iter_mut().enumerate() {
            *gradient = (x[j] - self.data[j]) / self.root(x, j) + x[j];
        }
    }

    fn value(&self, x: &[f64], (): &mut ()) -> f64 {
        if self.value_is_nan {
            return f64::NAN;
        }
        (0..x.len())
            .map(|j| self.root(x, j) + 0.5 * x[j] * x[j])
            .sum()
    }

    fn gradient_rounding(&self, x_norm: f64, _: f64) -> f64 {
        8.0 * UNIT_ROUNDOFF * (x_norm + norm(&self.data) + self.data.len() as f64)
    }

    fn newton(&self) -> Option<&dyn NewtonSteps<()>> {
        match self.steps {
            Steps::None => None,
            _ => Some(self),
        }
    }
}

impl NewtonSteps<()> for Robust {
    fn num_duals(&self) -> usize {
        1
    }

    fn step_cost(&self) -> f64 {
        2.0
    }

    fn looseness(&self) -> f64 {
        1e6
    }

    fn value_at(&self, x: &[f64], (): &mut ()) -> f64 {
        self.value(x, &mut ())
    }

    fn step(
        &self,
        at: &NewtonPoint<'_>,
        step: &mut [f64],
        dual_step: &mut [f64],
        (): &mut (),
    ) -> f64 {
        dual_step[0] = 1.0;
        for (j, step) in step.iter_mut().enumerate() {
            let second = NU * NU / self.root(at.x, j).powi(3) + 1.0;
            let newton = -at.gradient[j] / second;
            *step = match self.steps {
                Steps::Scaled(factor) => factor * newton,
                Steps::Uphill => -newton,
                Steps::Nan => f64::NAN,
                Steps::Zero => 0.0,
                Steps::None | Steps::Newton => newton,
            };
        }
        0.5
    }

    fn run(&self, run: &mut NewtonRun<'_>, (): &mut ()) -> f64 {
        let (mut x, mut gradient) = (run.x.to_vec(), vec![0.0; run.x.len()]);
        let mut claimed = 1e3;
        while self.runs != Runs::None && run.goes_on() {
            claimed *= 0.5;
            self.gradient(&x, &mut gradient, &mut ());
            for (j, x) in x.iter_mut().enumerate() {
                let second = NU * NU / self.root(run.x, j).powi(3) + 1.0;
                *x += match self.runs {
                    Runs::Lies => 1.0,
                    Runs::None | Runs::Honest => -gradient[j] / second,
                };
            }
            self.gradient(&x, &mut gradient, &mut ());
            let lies = self.runs == Runs::Lies;
            if !run.accept(if lies { claimed } else { norm(&gradient) }) {
                break;
            }
            run.x.copy_from_slice(&x);
        }
        0.25
    }

    fn sharper_bound(&self, at: &NewtonPoint<'_>, (): &mut ()) -> Option<(ErrorBound, f64)> {
        BOUNDS_ASKED.set(BOUNDS_ASKED.get() + 1);
        assert!(at.gradient_norm > 0.0);
        let bound = ErrorBound::new(self.sharp? * at.gradient_norm).expect("positive");
        Some((bound, 2.0))
    }
}

fn to(error: f64) -> Stop {
    Stop::accuracy(ErrorBound::new(error).expect("positive"))
}

fn minimizer() -> Vec<f64> {
    let plain = Robust::new(Steps::None);
    let mut state = State::new(plain.data.clone());
    let solver = Solver {
        method: Method::FISTA,
        ..Solver::default()
    };
    let solved = solver.minimize(&plain, to(1e-12), &mut state, &mut ());
    assert_eq!(solved.map(|solved| solved.outcome), Ok(Outcome::Converged));
    state.into_point()
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    let difference: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    norm(&difference)
}

#[test]
fn newton_steps_need_far_fewer_gradients() {
    let expected = minimizer();
    let mut gradients = Vec::new();
    for steps in [Steps::None, Steps::Newton] {
        let objective = Robust::new(steps);
        let mut state = State::new(vec![10.0; 5]);
        let solved = Solver::default()
            .minimize(&objective, to(1e-9), &mut state, &mut ())
            .expect("it can be solved");
        assert_eq!(solved.outcome, Outcome::Converged);
        assert!(distance(state.point(), &expected) <= solved.error.value() + 1e-12);
        gradients.push(solved.gradients);
        // A step costs half a gradient, and a value costs one.
        let other_work = solved.work - solved.gradients as f64;
        assert_eq!(other_work > 0.0, steps == Steps::Newton);
        if other_work > 0.0 {
            assert!(other_work >= 0.5 * (solved.iterations as f64));
        }
    }
    assert!(gradients[0] > 4 * gradients[1], "{gradients:?}");
}

proptest! {
    /// Any multiple of a Newton step converges from any start.
    #[test]
    fn any_step_downhill_converges(
        start in prop::collection::vec(-100.0..100.0_f64, 5),
        factor in prop::sample::select(vec![0.3, 1.0, 1.9, 4.0, 1e3]),
    ) {
        let objective = Robust::new(Steps::Scaled(factor));
        let mut state = State::new(start);
        let solved = Solver::default().minimize(&objective, to(1e-6), &mut state, &mut ());
        let solved = solved.expect("it can be solved");
        prop_assert_eq!(solved.outcome, Outcome::Converged);
        prop_assert!(distance(state.point(), &minimizer()) <= solved.error.value() + 1e-12);
    }
}

/// Steps that are no descent directions are replaced by steps of gradient descent.
#[test]
fn useless_steps_do_no_harm() {
    let expected = minimizer();
    for steps in [Steps::Uphill, Steps::Nan, Steps::Zero] {
        let objective = Robust::new(steps);
        let mut state = State::new(vec![1.0; 5]);
        let solved = Solver::default().minimize(&objective, to(1e-3), &mut state, &mut ());
        let solved = solved.expect("gradient descent can");
        assert_eq!(solved.outcome, Outcome::Converged, "{steps:?}");
        assert!(distance(state.point(), &expected) <= solved.error.value() + 1e-12);
    }
}

/// Runs of steps give the same certified answer, whether their claims are true or false.
#[test]
fn runs_are_not_trusted() {
    let expected = minimizer();
    for runs in [Runs::Honest, Runs::Lies] {
        for start in [10.0, 0.6, 0.0] {
            let objective = Robust {
                runs,
                ..Robust::new(Steps::Newton)
            };
            let mut state = State::new(vec![start; 5]);
            let solved = Solver::default().minimize(&objective, to(1e-9), &mut state, &mut ());
            let solved = solved.expect("it can be solved");
            assert_eq!(solved.outcome, Outcome::Converged, "{runs:?}");
            assert!(distance(state.point(), &expected) <= solved.error.value() + 1e-12);
            // The iteration limit holds for runs, too.
            let mut state = State::new(vec![start; 5]);
            let limited = to(1e-9).with_max_iterations(3);
            let solved = Solver::default().minimize(&objective, limited, &mut state, &mut ());
            assert!(solved.expect("it ends").iterations <= 3, "{runs:?}");
        }
    }
}

/// Values that are NaN do not help the line search, but the solve still ends.
#[test]
fn values_that_are_not_numbers_do_no_harm() {
    for steps in [Steps::Newton, Steps::Scaled(4.0), Steps::Uphill] {
        let objective = Robust {
            value_is_nan: true,
            ..Robust::new(steps)
        };
        let mut state = State::new(vec![10.0; 5]);
        let solved = Solver::default().minimize(&objective, to(1e-6), &mut state, &mut ());
        let solved = solved.expect("gradients are finite");
        assert!(distance(state.point(), &minimizer()) <= solved.error.value() + 1e-12);
        assert!((solved.outcome == Outcome::Converged) == (solved.error.value() <= 1e-6));
    }
}

#[test]
fn a_target_below_rounding_is_not_claimed() {
    let objective = Robust::new(Steps::Newton);
    let mut state = State::new(vec![1.0; 5]);
    let solved = Solver::default().minimize(&objective, to(1e-300), &mut state, &mut ());
    let solved = solved.expect("it ends");
    // The gradients at neighbouring numbers differ by a thousand times their distance.
    assert_eq!(solved.outcome, Outcome::Stalled);
    assert!(solved.error.value() < 1e-12 && solved.iterations < 100);
    assert!(distance(state.point(), &minimizer()) <= solved.error.value() + 1e-12);
}

/// A sharper bound ends the solve earlier, and is reported as its error.
#[test]
fn a_sharper_bound_ends_the_solve() {
    let solve = |sharp| {
        let objective = Robust {
            sharp,
            ..Robust::new(Steps::Newton)
        };
        BOUNDS_ASKED.set(0);
        let mut state = State::new(vec![10.0; 5]);
        let solved = Solver::default().minimize(&objective, to(1e-9), &mut state, &mut ());
        (
            solved.expect("it can be solved"),
            BOUNDS_ASKED.get(),
            state.into_point(),
        )
    };
    let (plain, _, _) = solve(None);
    // The solver asks for the bound once the gradient is small enough. Here it is a thousand times
    // smaller than the gradient's bound.
    let (sharp, asked, x) = solve(Some(1e-3));
    assert!(asked > 0 && sharp.iterations <= plain.iterations);
    assert!(sharp.error.value() <= 1e-9);
    let mut gradient = [0.0; 5];
    Robust::new(Steps::Newton).gradient(&x, &mut gradient, &mut ());
    assert!(plain.error <= sharp.error || sharp.error.value() <= 1.1e-3 * norm(&gradient) + 1e-14);
}

#[test]
fn fixed_numbers_of_steps_and_limits() {
    let objective = Robust::new(Steps::Newton);
    let solver = Solver::default();
    let mut state = State::new(vec![10.0; 5]);
    let solved = solver.minimize(&objective, Stop::Iterations(3), &mut state, &mut ());
    assert_eq!(
        solved.map(|s| (s.outcome, s.iterations)),
        Ok((Outcome::IterationsMade, 3))
    );
    let limited = to(1e-9).with_max_iterations(2);
    let solved = solver.minimize(&objective, limited, &mut State::new(vec![10.0; 5]), &mut ());
    let solved = solved.expect("it ends");
    assert_eq!(
        (solved.outcome, solved.iterations),
        (Outcome::IterationLimit, 2)
    );
    // Steps that would change nothing are only counted.
    let solved = solver.minimize(&objective, Stop::Iterations(u64::MAX), &mut state, &mut ());
    let solved = solved.expect("it ends");
    assert_eq!(
        (solved.outcome, solved.iterations),
        (Outcome::IterationsMade, u64::MAX)
    );
    assert!(solved.gradients < 1000);
}

#[test]
fn a_stopped_solve_continues_with_the_same_iterates() {
    let objective = Robust::new(Steps::Newton);
    let mut whole = State::new(vec![10.0; 5]);
    let _ = Solver::default().minimize(&objective, to(1e-10), &mut whole, &mut ());
    let mut parts = State::new(vec![10.0; 5]);
    for target in [1e-1, 1e-4, 1e-10] {
        let _ = Solver::default().refine(&objective, to(target), &mut parts, &mut ());
    }
    assert_eq!(whole.point(), parts.point());
}

#[test]
fn newtons_method_needs_newton_steps_and_the_whole_space() {
    let newton = Solver {
        method: Method::Newton,
        ..Solver::default()
    };
    let mut state = State::new(vec![1.0; 5]);
    let none = newton.minimize(&Robust::new(Steps::None), to(1.0), &mut state, &mut ());
    assert_eq!(none, Err(SolveError::NoNewtonSteps));
    let over_set = Solver {
        domain: Domain::NON_NEGATIVE,
        ..newton
    };
    let with = Robust::new(Steps::Newton);
    let none = over_set.minimize(&with, to(1.0), &mut state, &mut ());
    assert_eq!(none, Err(SolveError::NoNewtonSteps));
    // Auto uses FISTA over a set.
    let auto = Solver {
        domain: Domain::NON_NEGATIVE,
        ..Solver::default()
    };
    let solved = auto.minimize(&with, to(1e-3), &mut state, &mut ());
    assert_eq!(solved.map(|s| s.outcome), Ok(Outcome::Converged));

    let rate = Stop::Accuracy {
        target: ErrorBound::new(1e-3).expect("positive"),
        certificate: Certificate::Rate {
            initial: ErrorBound::new(100.0).expect("positive"),
        },
        max_iterations: None,
    };
    let none = newton.minimize(&with, rate, &mut state, &mut ());
    assert!(matches!(none, Err(SolveError::NoRate { .. })));
    let solved = Solver::default().minimize(&with, rate, &mut state, &mut ());
    assert_eq!(solved.map(|s| s.outcome), Ok(Outcome::Converged));
}

/// A warm start takes over the dual variables; a restart does not.
#[test]
fn warm_starts_take_over_the_dual_variables() {
    let objective = Robust::new(Steps::Newton);
    let mut state = State::new(vec![10.0; 5]);
    let _ = Solver::default().minimize(&objective, to(1e-9), &mut state, &mut ());
    // Every whole step adds 1 to the dual variable.
    let near = State::near(&state);
    assert_eq!(near.point(), state.point());
    let parts = [Checkpoint::full(&state), Checkpoint::full(&near)];
    let mut blend = State::default();
    let weighted = [0.25, 0.75].into_iter().zip(&parts);
    assert!(Checkpoint::blend_into(weighted, &mut blend));
    assert!(distance(blend.point(), state.point()) < 1e-12);
    let mut fresh = State::new(state.point().to_vec());
    assert_ne!(near, fresh, "the dual variables make a difference");
    assert_ne!(blend, fresh);
    state.restart(|_| ());
    fresh.restart(|_| ());
    assert_eq!(State::near(&state), fresh);
}
