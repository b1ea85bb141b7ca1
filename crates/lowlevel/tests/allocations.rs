//! A solve in a state that was used before allocates nothing. The test runs without a harness,
//! whose threads would allocate.

use std::alloc::System;
use std::process::ExitCode;

use lowlevel::testing::NesterovQuadratic;
use lowlevel::{
    AdjointState, AdjointStop, Certificate, Checkpoint, Curvature, Domain, ErrorBound, FnObjective,
    LossAt, Method, Solver, State, Stop, StronglyConvex, corrected_value, solve_adjoint,
};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// An adjoint in a state that was used before allocates nothing.
fn adjoint_allocates_nothing() {
    let scale = |v: &[f64], out: &mut [f64]| {
        for (j, (out, v)) in out.iter_mut().zip(v).enumerate() {
            *out = (1.0 + j as f64) * v;
        }
    };
    let curvature = Curvature::new(1.0, 500.0).expect("positive");
    let objective = FnObjective::new(500, curvature, |_| 0.0, scale)
        .with_hessian(move |_, v, out| scale(v, out), 0.0);
    let mut scratch = objective.scratch();
    let mut state = AdjointState::new();
    let mut gradient = vec![0.0; 500];
    let (x, truth) = (vec![1e-3; 500], vec![1.0; 500]);
    let error = ErrorBound::new(1.0).expect("positive");
    for round in 0..2 {
        let region = Region::new(ALLOCATOR);
        let loss = LossAt::squared_distance(&x, &truth, &mut gradient);
        let stop = AdjointStop::default();
        let adjoint = solve_adjoint(&objective, &x, error, &loss, stop, &mut state, &mut scratch)
            .expect("finite");
        let q = state.adjoint();
        let interval = corrected_value(&objective, &x, loss.gradient, &loss, q, &adjoint);
        assert!(adjoint.products > 3 && interval.upper < f64::INFINITY);
        let change = region.change();
        assert!(round == 0 || change.allocations + change.reallocations == 0);
    }
}

fn main() -> ExitCode {
    let objective = NesterovQuadratic::new(500, 1.0, 100.0);
    let target = ErrorBound::new(1e-6).expect("positive");
    let initial = ErrorBound::new(1e3).expect("positive");
    let rate = Certificate::Rate { initial };
    let stops = [
        Stop::Iterations(20),
        Stop::accuracy(target),
        Stop::Accuracy {
            target,
            certificate: rate,
            max_iterations: None,
        },
    ];
    let mut state = State::new(vec![1.0; 500]);
    let mut solves = 0;
    for method in [
        Method::GRADIENT_DESCENT,
        Method::FISTA,
        Method::FISTA_TWO_GRADIENTS,
    ] {
        for domain in [Domain::Whole, Domain::NON_NEGATIVE] {
            for stop in stops {
                let solver = Solver { method, domain };
                // The first solve with a method allocates its memory.
                state.restart(|x| x.fill(1.0));
                let _ = solver.refine(&objective, stop, &mut state, &mut ());
                let checkpoints = [Checkpoint::full(&state), Checkpoint::compact(&state)];
                for checkpoint in &checkpoints {
                    let region = Region::new(ALLOCATOR);
                    checkpoint.resume_into(&mut state);
                    checkpoint.start_into(&mut state);
                    let parts = checkpoints.iter().map(|part| (0.5, part));
                    assert!(Checkpoint::blend_into(parts, &mut state));
                    checkpoint.resume_into(&mut state);
                    let change = region.change();
                    assert_eq!(change.allocations + change.reallocations, 0, "{method:?}");
                }
                state.restart(|x| x.fill(1.0));
                let region = Region::new(ALLOCATOR);
                let solved = solver.refine(&objective, stop, &mut state, &mut ());
                let change = region.change();
                assert!(solved.is_ok_and(|solved| solved.iterations > 0));
                assert_eq!(change.allocations, 0, "{method:?} {domain:?} {stop:?}");
                assert_eq!(change.reallocations, 0, "{method:?} {domain:?} {stop:?}");
                solves += 1;
            }
        }
    }
    adjoint_allocates_nothing();
    // Check that the counter works.
    let region = Region::new(ALLOCATOR);
    drop(std::hint::black_box(vec![0_u8; 64]));
    assert_eq!(region.change().allocations, 1);
    assert_eq!(solves, 18);
    ExitCode::SUCCESS
}
