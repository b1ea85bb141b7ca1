//! The centre of the ball in which a gradient places the minimiser.

use lowlevel::testing::NesterovQuadratic;
use lowlevel::{
    Certificate, Curvature, ErrorBound, FnObjective, Method, Outcome, Solver, State, Stop, norm,
};

/// The ball's centre is as close as it is said to be, needs fewer iterations, and lies where the formula puts it.
#[test]
fn the_centre_of_the_ball() {
    let quadratic = NesterovQuadratic::new(20, 1.0, 100.0);
    let centre = |target: f64| Stop::Accuracy {
        target: ErrorBound::new(target).unwrap(),
        certificate: Certificate::Centre,
        max_iterations: None,
    };
    for method in [Method::GRADIENT_DESCENT, Method::FISTA, Method::HeavyBall] {
        let solver = Solver {
            method,
            ..Solver::default()
        };
        for target in [1.0, 1e-3, 1e-9] {
            let mut state = State::new(vec![5.0; 20]);
            let to_point = Stop::accuracy(ErrorBound::new(target).unwrap());
            let plain = solver
                .minimize(&quadratic, to_point, &mut state, &mut ())
                .unwrap();
            let mut state = State::new(vec![5.0; 20]);
            let solved = solver
                .minimize(&quadratic, centre(target), &mut state, &mut ())
                .unwrap();
            assert_eq!(solved.outcome, Outcome::Done);
            assert!(solved.error.value() <= target && solved.iterations <= plain.iterations);
            let difference: Vec<f64> = (state.point().iter().zip(quadratic.minimizer()))
                .map(|(x, y)| x - y)
                .collect();
            assert!(
                norm(&difference) <= solved.error.value(),
                "{method:?} {target}"
            );
            // it can go on
            let finer = solver.refine(&quadratic, centre(0.1 * target), &mut state, &mut ());
            assert!(finer.unwrap().error.value() <= 0.1 * target);
        }
    }
    // One coordinate of curvature mu, one of L: the ball's surface goes through both extremes.
    let curvature = Curvature::new(1.0, 4.0).unwrap();
    for slope in [1.0, 4.0] {
        let line = FnObjective::new(1, curvature, |_| 0.0, move |x, g| g[0] = slope * x[0]);
        let mut state = State::new(vec![2.0]);
        let solved = Solver {
            method: Method::FISTA,
            ..Solver::default()
        }
        .minimize(&line, centre(100.0), &mut state, &mut ())
        .unwrap();
        let g = 2.0 * slope;
        assert!((state.point()[0] - (2.0 - 0.625 * g)).abs() < 1e-12);
        assert!((solved.error.value() - 0.375 * g).abs() < 1e-12);
        assert!(
            (state.point()[0].abs() - solved.error.value()).abs() < 1e-12,
            "tight"
        );
    }
}
