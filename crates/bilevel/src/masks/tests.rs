use std::ops::ControlFlow;

use imaging::{CoilFourier, LinearOperator, Seed, noise, phantom};

use super::*;
use crate::search::SetOracle;

const SIZE: usize = 16;

/// Two small heads with noisy frequencies.
fn problem(pattern: Pattern) -> MaskProblem {
    let fourier = CoilFourier::single(SIZE, SIZE).unwrap();
    let pair = |index| {
        let truth = phantom::head(SIZE, SIZE, Seed::new(3), index).unwrap();
        let mut data = vec![0.0; truth.len()];
        fourier.apply(&truth, &mut data, &mut fourier.scratch());
        let data = noise::complex_gaussian(&data, 0.02, Seed::new(3), index).unwrap();
        let grid = fourier.domain();
        Pair { grid, truth, data }
    };
    let pairs = (0..2).map(pair).collect();
    MaskProblem::new(fourier.clone(), pattern, pairs).unwrap()
}

#[test]
fn slopes_are_those_of_the_objective() {
    let mut problem = problem(Pattern::Lines);
    problem.fix_error(Some(1e-9));
    let weights: Vec<f64> = (0..SIZE)
        .map(|line| if line % 3 == 0 { 1.0 } else { 0.3 })
        .collect();
    let mut point = problem.evaluate_weights(&weights, None).unwrap();
    let slopes = problem.slopes_of(&mut point).unwrap();
    let scale = slopes
        .iter()
        .fold(0.0_f64, |most, slope| most.max(slope.abs()));
    for line in [0, 1, 5, 9] {
        let mut at = |shift: f64| {
            let mut weights = weights.clone();
            weights[line] += shift;
            let point = problem.evaluate_weights(&weights, None).unwrap();
            problem.interval(&point).upper
        };
        let slope = (at(1e-3) - at(-1e-3)) / 2e-3;
        // the adjoint is solved to a residual of five percent
        let error = (slope - slopes[line]).abs();
        assert!(error < 0.1 * scale, "{slope} {}", slopes[line]);
    }
}

#[test]
fn masks_become_better_and_keep_their_centre() {
    for pattern in [Pattern::Lines, Pattern::Points] {
        let mut problem = problem(pattern);
        let size = pattern.num_elements(problem.grid()) / 4;
        let mut options = MaskOptions::new(size, 2);
        options.max_exchanges = 5;
        let learned = problem.learn(&options, |_| ControlFlow::Continue(()));
        let learned = learned.unwrap();
        let set = learned.point.set();
        assert_eq!(set.iter().filter(|&&entry| entry).count(), size);
        let centre = pattern.centre(problem.grid(), 2);
        assert!(set.iter().zip(&centre).all(|(own, centre)| *own || !centre));
        let plain = pattern.mask(problem.grid(), size, 2, MaskKind::Equispaced);
        let plain = problem.tuned(&plain, learned.point.tv()).unwrap();
        assert!(learned.interval.upper < problem.interval(&plain).lower);
        assert!(problem.work() > 0.0 && problem.evaluations() >= learned.evaluations);
    }
}

#[test]
fn slices_that_do_not_fit_are_refused() {
    let fourier = || CoilFourier::single(4, 4).unwrap();
    let grid = fourier().domain();
    let of = |truth: Vec<f64>, data: Vec<f64>| {
        let pairs = vec![Pair { grid, truth, data }];
        let made = MaskProblem::new(fourier(), Pattern::Lines, pairs);
        made.unwrap_err().to_string()
    };
    assert!(of(vec![0.0; 32], vec![1.0; 32]).contains("zero"));
    assert!(of(vec![f64::NAN; 32], vec![1.0; 32]).contains("not a finite number"));
    assert!(of(vec![1.0; 32], vec![1.0; 30]).contains("slice 0"));
    assert!(MaskProblem::new(fourier(), Pattern::Lines, Vec::new()).is_err());
}
