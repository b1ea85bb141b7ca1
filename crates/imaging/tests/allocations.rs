//! A reconstruction in a state that was used before allocates nothing. The test runs without a
//! harness, whose threads would allocate.

use std::alloc::System;

use imaging::{
    Convolution, Denoising, Differences, FilterBank, FilterRegularizer, Fourier, FourierSampling,
    Grid, Identity, LinearOperator, Mask, TvParameters, TwoRoots, Variational, Weights,
};
use lowlevel::{Domain, ErrorBound, Method, NewtonPoint, Solver, State, Stop, StronglyConvex};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const PARAMETERS: TvParameters = TvParameters {
    alpha: 0.1,
    nu: 0.1,
    xi: 0.1,
};

fn check<O: StronglyConvex>(name: &str, objective: &O) {
    let target = ErrorBound::new(1e-6).expect("positive");
    let mut scratch = objective.scratch();
    let mut state = State::new(vec![0.0; objective.dim()]);
    for method in [
        Method::GRADIENT_DESCENT,
        Method::FISTA,
        Method::FISTA_TWO_GRADIENTS,
        Method::Auto,
    ] {
        for domain in [Domain::Whole, Domain::NON_NEGATIVE] {
            let solver = Solver { method, domain };
            // The first solve with a method, or with Newton corrections, allocates its memory.
            let stop = Stop::accuracy(target);
            state.restart(|x| x.fill(0.0));
            let _ = solver.minimize(objective, stop, &mut state, &mut scratch);
            state.restart(|x| x.fill(0.0));
            let region = Region::new(ALLOCATOR);
            let solved = solver.minimize(objective, stop, &mut state, &mut scratch);
            let change = region.change();
            assert!(solved.is_ok_and(|solved| solved.iterations > 1 && solved.error <= target));
            let count = change.allocations + change.reallocations;
            assert_eq!(count, 0, "{name} {method:?} {domain:?}");
        }
    }
}

/// Newton steps and the sharper bound allocate nothing either.
fn check_newton<O: StronglyConvex>(name: &str, objective: &O) {
    let newton = objective.newton().expect("offers Newton steps");
    let mut scratch = objective.scratch();
    let x = vec![0.5; objective.dim()];
    let (mut gradient, mut step) = (x.clone(), x.clone());
    let gradient_norm = objective
        .gradient_with_norm(&x, &mut gradient, &mut scratch)
        .sqrt();
    let dual = vec![0.0; newton.num_duals()];
    let mut dual_step = dual.clone();
    let at = NewtonPoint {
        x: &x,
        gradient: &gradient,
        gradient_norm,
        dual: &dual,
        target_norm: 0.0,
    };
    let region = Region::new(ALLOCATOR);
    let cost = newton.step(&at, &mut step, &mut dual_step, &mut scratch);
    let bound = newton.sharper_bound(&at, &mut scratch);
    let change = region.change();
    assert!(cost > 0.0 && bound.is_some());
    assert_eq!(change.allocations + change.reallocations, 0, "{name}");
}

/// After the first use, second derivatives allocate nothing.
fn check_second_order<O: StronglyConvex>(name: &str, objective: &O) {
    let second = objective.second_order().expect("offers second derivatives");
    let mut scratch = objective.scratch();
    let x: Vec<f64> = (0_u32..)
        .map(|i| f64::from(i % 7))
        .take(objective.dim())
        .collect();
    let (mut q, mut out) = (x.clone(), x.clone());
    second.linearise(&x, &mut scratch);
    let region = Region::new(ALLOCATOR);
    second.linearise(&x, &mut scratch);
    second.solve(&x, &mut q, 1e-9, &mut scratch);
    second.hessian_product(&q, &mut out, &mut scratch);
    second.precondition(&x, &mut out, &mut scratch);
    let third = second.third_order(&q, 1e-3, &mut scratch);
    let least = second.curvature_near(1e-3, &mut scratch);
    let change = region.change();
    assert!(third.vector > 0.0 && third.value > 0.0 && least.is_none_or(|least| least > 0.0));
    assert_eq!(change.allocations + change.reallocations, 0, "{name}");
}

fn check_operator<A: LinearOperator>(name: &str, operator: &A) {
    let data: Vec<f64> = (0_u32..)
        .map(|i| f64::from(i % 7))
        .take(operator.codomain().len())
        .collect();
    let paper = Differences::IMAGE_OF_PAPER;
    let model = Variational::tv(operator, &data, Weights::Uniform, paper, PARAMETERS);
    let model = model.expect("the data fit");
    check(name, &model);
    check_second_order(name, &model);
}

fn main() {
    let data: Vec<f64> = (0_u32..64).map(|i| f64::from(i % 5)).collect();
    let line = Denoising::new(Grid::line(64), &data, PARAMETERS).expect("the data fit");
    check("denoising a line", &line);
    check_newton("denoising a line", &line);
    check_second_order("denoising a line", &line);
    let image = Denoising::new(Grid::image(8, 8), &data, PARAMETERS).expect("the data fit");
    check("denoising an image", &image);
    check_second_order("denoising an image", &image);
    let volume = Denoising::new(Grid::volume(4, 2, 8), &data, PARAMETERS).expect("the data fit");
    check("denoising a volume", &volume);
    check_second_order("denoising a volume", &volume);
    let fourier = Fourier::new(Grid::line(32).complex()).expect("not empty");
    let weights = [0.5; 32];
    let sampling = FourierSampling::new(&fourier, &data, &weights, PARAMETERS);
    let sampling = sampling.expect("the data fit");
    check("sampling", &sampling);
    check_newton("sampling", &sampling);
    check_second_order("sampling", &sampling);

    let grid = Grid::image(6, 10);
    check_operator("identity", &Identity::new(grid.complex()));
    let measured = (0..60).map(|i| i % 3 > 0).collect();
    check_operator(
        "mask",
        &Mask::new(grid, measured).expect("as many as samples"),
    );
    check_operator("Fourier", &Fourier::new(grid).expect("not empty"));
    let kernel = Grid::image(3, 3);
    check_operator(
        "blur",
        &Convolution::new(grid, &[0.1; 9], kernel).expect("fits"),
    );

    let potential = TwoRoots {
        alpha: 0.1,
        nu: 0.02,
        beta: 0.02,
        omega: 0.2,
    };
    let bank = FilterBank::dct(3, vec![potential; 8]).expect("valid");
    let filters = FilterRegularizer::new(bank, grid).expect("not empty");
    let model = Variational::new(
        Identity::new(grid),
        &data[..60],
        Weights::Uniform,
        filters,
        1.0,
        0.0,
    );
    let model = model.expect("strongly convex");
    check("filters", &model);
    check_second_order("filters", &model);

    // Check that the counter works.
    let region = Region::new(ALLOCATOR);
    drop(std::hint::black_box(vec![0_u8; 64]));
    assert_eq!(region.change().allocations, 1);
}
