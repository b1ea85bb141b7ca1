//! Reconstructions do not depend on the number of threads, to the last bit.

use imaging::{Denoising, Fourier, FourierSampling, Grid, Seed, TvParameters, noise, phantom};
use lowlevel::{ErrorBound, Method, Solved, Solver, State, Stop, StronglyConvex};
use rayon::ThreadPoolBuilder;
use rayon::prelude::*;

/// Solves all objectives with `threads` threads, first roughly and then precisely.
fn solve<O: StronglyConvex + Sync>(objectives: &[O], threads: usize) -> (Vec<State>, Vec<Solved>) {
    let pool = ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .expect("a pool");
    let [rough, precise] =
        [1e-1, 1e-4].map(|target| Stop::accuracy(ErrorBound::new(target).expect("positive")));
    let mut states: Vec<State> = objectives
        .iter()
        .map(|objective| State::new(vec![0.0; objective.dim()]))
        .collect();
    let solver = Solver {
        method: Method::FISTA,
        ..Solver::default()
    };
    let solve = |(objective, state): (&O, &mut State)| {
        let mut scratch = objective.scratch();
        let _ = solver.minimize(objective, rough, state, &mut scratch);
        let solved = solver.refine(objective, precise, state, &mut scratch);
        solved.expect("sound")
    };
    let solves = || objectives.par_iter().zip(&mut states).map(solve).collect();
    let solved = pool.install(solves);
    (states, solved)
}

fn check<O: StronglyConvex + Sync>(objectives: &[O]) {
    let one = solve(objectives, 1);
    for threads in [2, 5] {
        assert_eq!(one, solve(objectives, threads), "{threads} threads");
    }
    assert!(one.1.iter().all(|solved| solved.error.value() <= 1e-4));
}

#[test]
fn pictures_of_several_sizes() {
    let parameters = TvParameters {
        alpha: 0.1,
        nu: 0.01,
        xi: 1e-3,
    };
    let seed = Seed::new(3);
    let pictures: Vec<(Grid, Vec<f64>)> = (0..9)
        .map(|index| {
            let (rows, cols) = (20 + index, 30 - index);
            let truth = phantom::dead_leaves(rows, cols, seed, index).unwrap();
            (
                Grid::image(rows, cols),
                noise::gaussian(&truth, 0.1, seed, index).unwrap(),
            )
        })
        .collect();
    let objectives: Vec<_> = pictures
        .iter()
        .map(|(grid, noisy)| Denoising::new(*grid, noisy, parameters).unwrap())
        .collect();
    check(&objectives);
}

#[test]
fn sampled_lines() {
    let parameters = TvParameters {
        alpha: 0.01,
        nu: 0.01,
        xi: 1e-2,
    };
    let fourier = Fourier::new(Grid::line(32).complex()).unwrap();
    let weights: Vec<f64> = (0..32).map(|k| f64::from(k % 3) / 2.0).collect();
    let data: Vec<Vec<f64>> = (0..7)
        .map(|index| noise::complex_gaussian(&[0.5; 64], 0.3, Seed::new(1), index).unwrap())
        .collect();
    let objectives: Vec<_> = data
        .iter()
        .map(|y| FourierSampling::new(&fourier, y, &weights, parameters).unwrap())
        .collect();
    check(&objectives);
}
