//! The heavy ball guarded by FISTA: it converges everywhere, and is seldom slower than FISTA.

use lowlevel::testing::NesterovQuadratic;
use lowlevel::{
    Checkpoint, Curvature, Domain, ErrorBound, FnObjective, Method, Outcome, Solved, Solver, State,
    Stop, StronglyConvex, Update,
};
use proptest::prelude::*;

fn to(error: f64) -> Stop {
    Stop::accuracy(ErrorBound::new(error).expect("positive"))
}

fn solve<O: StronglyConvex>(
    objective: &O,
    method: Method,
    stop: Stop,
    start: Vec<f64>,
) -> (Solved, Vec<f64>) {
    let solver = Solver {
        method,
        ..Solver::default()
    };
    let mut state = State::new(start);
    let solved = solver.minimize(objective, stop, &mut state, &mut objective.scratch());
    (solved.expect("it can be solved"), state.into_point())
}

/// The function of Lessard, Recht & Packard, *Analysis and design of optimization algorithms via
/// integral quadratic constraints* (2016), Section 4.6: piecewise quadratic with `$\mu = 1$`,
/// `$L = 25$`, on which Polyak's heavy ball cycles.
fn cycling() -> impl StronglyConvex<Scratch = ()> {
    let slope = |x: f64| match x {
        x if x < 1.0 => 25.0 * x,
        x if x < 2.0 => x + 24.0,
        x => 25.0 * x - 24.0,
    };
    let curvature = Curvature::new(1.0, 25.0).expect("positive");
    FnObjective::new(1, curvature, |_| 0.0, move |x, g| g[0] = slope(x[0]))
}

#[test]
fn it_converges_where_the_plain_heavy_ball_cycles() {
    let objective = cycling();
    // Polyak's ball alone, with its constants: tau = 1/9, beta = 4/9.
    let (mut x, mut impulse, mut g) = ([3.3], [0.0], [0.0]);
    objective.gradient(&x, &mut g, &mut ());
    for _ in 0..10_000 {
        let update = Update::HeavyBall {
            decay: 4.0 / 9.0,
            ahead: 1.0 / 9.0,
            back: 0.0,
            impulse: &mut impulse,
        };
        objective.advance(update, &mut x, &mut g, &mut ());
    }
    assert!(g[0].abs() > 1.0, "the plain heavy ball converges");
    for start in [3.07, 3.3, 3.46, -2.0, 100.0] {
        let (solved, x) = solve(&objective, Method::HeavyBall, to(1e-9), vec![start]);
        assert_eq!(solved.outcome, Outcome::Converged);
        assert!(x[0].abs() <= 1e-9 && solved.iterations < 500, "{solved:?}");
    }
}

#[test]
fn quadratics_need_far_fewer_gradients() {
    for condition in [81.0, 800.0, 1e4] {
        let objective = NesterovQuadratic::new(200, 1.0, condition);
        let gradients = |method| {
            let (solved, x) = solve(&objective, method, to(1e-6), vec![1.0; 200]);
            assert_eq!(solved.outcome, Outcome::Converged);
            let distance: f64 = (x.iter().zip(objective.minimizer()))
                .map(|(a, b)| (a - b) * (a - b))
                .sum();
            assert!(distance.sqrt() <= solved.error.value());
            solved.gradients
        };
        let (fista, ball) = (gradients(Method::FISTA), gradients(Method::HeavyBall));
        assert!(10 * fista > 16 * ball, "{condition}: {fista} and {ball}");
    }
}

/// `$\sum_j \sqrt{(x_j - x_{j-1})^2 + \nu^2} + \frac12\|x - y\|^2$`, which is far from quadratic.
fn robust(nu: f64, data: Vec<f64>) -> impl StronglyConvex<Scratch = ()> {
    let dim = data.len();
    let curvature = Curvature::new(1.0, 1.0 + 4.0 / nu).expect("positive");
    let flux = move |d: f64| d / (d * d + nu * nu).sqrt();
    FnObjective::new(
        dim,
        curvature,
        |_| 0.0,
        move |x, g| {
            for j in 0..x.len() {
                let left = flux(x[j] - if j == 0 { 0.0 } else { x[j - 1] });
                let right = x.get(j + 1).map_or(0.0, |next| flux(next - x[j]));
                g[j] = x[j] - data[j] + left - right;
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// On lines the ball does worst (there objectives have Newton steps). Even there it is never
    /// far behind FISTA, and finds the same answer.
    #[test]
    fn is_hardly_ever_slower_than_fista(
        data in prop::collection::vec(-2.0..2.0_f64, 30),
        log_nu in -4.0..1.0_f64,
        log_target in -7.0..0.0_f64,
    ) {
        let objective = robust(10_f64.powf(log_nu), data.clone());
        let stop = to(10_f64.powf(log_target));
        let (fista, x) = solve(&objective, Method::FISTA, stop, data.clone());
        let (ball, y) = solve(&objective, Method::HeavyBall, stop, data);
        prop_assert_eq!(ball.outcome, Outcome::Converged);
        let distance: f64 = x.iter().zip(&y).map(|(a, b)| (a - b) * (a - b)).sum();
        prop_assert!(distance.sqrt() <= fista.error.value() + ball.error.value());
        prop_assert!(ball.gradients <= fista.gradients + fista.gradients / 2 + 8, "{:?} {:?}", fista, ball);
    }
}

#[test]
fn a_stopped_solve_continues_with_the_same_iterates() {
    let objective = robust(1e-2, (0..40).map(|j| f64::from(j % 7)).collect());
    let solver = Solver::default();
    let mut whole = State::new(vec![0.0; 40]);
    let _ = solver.minimize(&objective, to(1e-8), &mut whole, &mut ());
    let mut parts = State::new(vec![0.0; 40]);
    for target in [1.0, 1e-2, 1e-3, 1e-5, 1e-8] {
        let _ = solver.refine(&objective, to(target), &mut parts, &mut ());
        Checkpoint::full(&parts).resume_into(&mut parts);
    }
    assert_eq!(whole.point(), parts.point());
}

#[test]
fn over_a_set_fista_replaces_it() {
    let objective = NesterovQuadratic::new(10, 1.0, 100.0);
    let [ball, fista] = [Method::HeavyBall, Method::FISTA].map(|method| {
        let solver = Solver {
            method,
            domain: Domain::NON_NEGATIVE,
        };
        let mut state = State::new(vec![-1.0; 10]);
        let _ = solver.minimize(&objective, to(1e-6), &mut state, &mut ());
        state.into_point()
    });
    assert_eq!(ball, fista);
}
