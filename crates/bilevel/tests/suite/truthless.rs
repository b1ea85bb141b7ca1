//! Learning without truth: the criteria against reconstructions of changed data, their derivatives
//! against differences, their intervals, and what is learned with them.

use std::sync::atomic::{AtomicUsize, Ordering};

use bilevel::{
    Choice, Criterion, LearningProblem, LowerLevel, Pair, ProblemError, Residuals, Setup,
    SolverKind, TvChoices, TvDenoising, reconstruct,
};
use imaging::noise::Anscombe;
use imaging::{Grid, Seed, noise, phantom};
use lowlevel::{ErrorBound, Solver, Stop};

use crate::evaluate;
use crate::families::{Visitor, for_each_family};
use crate::gradients::{self, Numbers};

/// A setup without truth.
fn setup(criterion: Criterion) -> Setup {
    Setup {
        criterion,
        probe_seed: 5,
        kappa: 1e-12,
        ..Setup::default()
    }
}

fn sure(pairs: &[Pair], sigma: f64) -> Criterion {
    Criterion::Sure {
        sigma: vec![sigma; pairs.len()],
    }
}

fn without_truth(pairs: Vec<Pair>) -> Vec<Pair> {
    let forget = |pair| Pair {
        truth: Vec::new(),
        ..pair
    };
    pairs.into_iter().map(forget).collect()
}

/// Whether a family has no map from images to data, and can only learn from the truth.
fn needs_truth(name: &str) -> bool {
    ["sampling", "colour"]
        .iter()
        .any(|family| name.starts_with(family))
}

/// Calls `check` with problems without truth, for SURE and for GCV, unless the family cannot learn
/// without truth.
fn for_both_criteria<M: LowerLevel>(
    name: &str,
    model: &M,
    pairs: Vec<Pair>,
    check: impl Fn(LearningProblem<&M>, &str),
) {
    let pairs = without_truth(pairs);
    for criterion in [sure(&pairs, 0.3), Criterion::Gcv] {
        let name = format!("{name}, {:?}", criterion.kind());
        match LearningProblem::new(model, pairs.clone(), setup(criterion)) {
            Ok(problem) => check(problem, &name),
            Err(ProblemError::NoForward) => assert!(needs_truth(&name), "{name}"),
            Err(error) => panic!("{name}: {error}"),
        }
    }
}

/// Gradients against central differences of the criterion.
struct Differences;

impl Visitor for Differences {
    fn visit<M: LowerLevel>(&self, name: &str, model: M, pairs: Vec<Pair>) {
        for_both_criteria(name, &model, pairs, |mut problem, name| {
            let mut numbers = Numbers(name.len() as u64);
            for _ in 0..2 {
                let theta = numbers.theta(&problem);
                gradients::check_slopes(name, &mut problem, &theta, 12);
            }
        });
    }
}

#[test]
fn gradients_agree_with_differences() {
    for_each_family(&Differences);
}

/// The criteria against a definition that needs no Hessian: reconstructions of data that are
/// changed by a small multiple of the signs.
struct ChangedData;

impl Visitor for ChangedData {
    fn visit<M: LowerLevel>(&self, name: &str, model: M, pairs: Vec<Pair>) {
        if name == "deblurring, Unknown" {
            return; // these data also depend on pixels outside of the reconstruction
        }
        let all = without_truth(pairs);
        let pairs = vec![all[0].clone()];
        for (criterion, sigma) in [(sure(&pairs, 0.3), 0.3), (Criterion::Gcv, 0.0)] {
            let problem = LearningProblem::new(&model, pairs.clone(), setup(criterion));
            let Ok(mut problem) = problem else {
                assert!(needs_truth(name), "{name}");
                continue;
            };
            let theta = Numbers(3).theta(&problem);
            let values = problem.values(&theta);
            let Pair { grid, data, .. } = &pairs[0];
            let forward = |x: &[f64]| -> Vec<f64> {
                match name {
                    "deblurring, Periodic" => {
                        let cols = grid.rows_and_cols().1;
                        let at = |j: usize, shift: usize| {
                            x[j - j % cols + (j % cols + cols + shift - 1) % cols]
                        };
                        let blurred = |j| 0.25 * at(j, 0) + 0.5 * at(j, 1) + 0.25 * at(j, 2);
                        (0..x.len()).map(blurred).collect()
                    }
                    "inpainting" => {
                        let hide = |(j, x): (usize, &f64)| if j % 3 == 1 { 0.0 } else { *x };
                        x.iter().enumerate().map(hide).collect()
                    }
                    _ => x.to_vec(),
                }
            };
            let num_measured = match name {
                "inpainting" => data.len() - data.len() / 3,
                _ => data.len(),
            };
            let signs = noise::signs(data.len(), Seed::new(5), 0);
            let stop = Stop::accuracy(ErrorBound::new(1e-11).expect("positive"));
            let at = |step: f64| -> Vec<f64> {
                let changed: Vec<f64> =
                    data.iter().zip(&signs).map(|(y, b)| y + step * b).collect();
                let made = reconstruct(&model, &values, *grid, &changed, Solver::default(), stop);
                forward(&made.expect("a reconstruction").x)
            };
            let step = 1e-5;
            let (up, down) = (at(step), at(-step));
            let trace: f64 = (up.iter().zip(&down).zip(&signs))
                .map(|((up, down), b)| b * (up - down) / (2.0 * step))
                .sum();
            let misfit = |(j, (x, y)): (usize, (&f64, &f64))| match name {
                "inpainting" if j % 3 == 1 => 0.0,
                _ => (x - y).powi(2),
            };
            let misfit: f64 = at(0.0).iter().zip(data).enumerate().map(misfit).sum();
            let expected = if sigma > 0.0 {
                misfit + 2.0 * sigma * sigma * trace
            } else {
                misfit / (1.0 - trace / num_measured as f64).powi(2)
            };
            let found = gradients::evaluate(&mut problem, &theta).value;
            assert!(
                (found / expected - 1.0).abs() < 1e-6,
                "{name}: {found} {expected}"
            );
            let report = evaluate::evaluate(&mut problem, &theta, 1e-7);
            let found = report.objective;
            assert!(
                (found / expected - 1.0).abs() < 1e-5,
                "{name}: {found} {expected}"
            );
        }
    }
}

#[test]
fn criteria_are_those_of_changed_data() {
    for_each_family(&ChangedData);
}

/// Intervals of rough evaluations contain the values of accurate ones, with gradients and without.
struct Intervals {
    /// The number of random parameters for each family, criterion and accuracy.
    rounds: usize,
    /// The number of intervals so far.
    count: AtomicUsize,
}

impl Visitor for Intervals {
    fn visit<M: LowerLevel>(&self, name: &str, model: M, pairs: Vec<Pair>) {
        for_both_criteria(name, &model, pairs, |mut problem, name| {
            let mut numbers = Numbers(7);
            let pairs = problem.pairs().to_vec();
            for kappa in [1.0, 0.01].repeat(self.rounds) {
                let theta = numbers.theta(&problem);
                let exact = gradients::evaluate(&mut problem, &theta).value;
                let criterion = match name.contains("Sure") {
                    true => sure(&pairs, 0.3),
                    false => Criterion::Gcv,
                };
                let rough = Setup {
                    kappa,
                    ..setup(criterion)
                };
                let rough = LearningProblem::new(&model, pairs.clone(), rough);
                let mut rough = rough.expect("a valid problem");
                self.count.fetch_add(4, Ordering::Relaxed);
                let found = gradients::evaluate(&mut rough, &theta).interval;
                assert!(
                    found.lower <= exact && exact <= found.upper && found.upper <= 1.02 * exact,
                    "{name}: {exact} {found:?}"
                );
                for accuracy in [0.3, 1e-2, 1e-5] {
                    let report = evaluate::evaluate(&mut rough, &theta, accuracy);
                    let (found, achieved) = (report.interval, report.evaluations[0].achieved);
                    assert!(achieved.value() <= accuracy, "{name}: {achieved:?}");
                    assert!(
                        found.lower <= exact && exact <= found.upper,
                        "{name}: {exact} {found:?}"
                    );
                }
            }
        });
    }
}

fn check_intervals(rounds: usize) -> usize {
    let count = AtomicUsize::new(0);
    let intervals = Intervals { rounds, count };
    for_each_family(&intervals);
    intervals.count.into_inner()
}

#[test]
fn intervals_contain_the_criterion() {
    assert!(check_intervals(1) >= 80);
}

/// Run it with
/// `cargo test --release -p bilevel --all-features --test suite ten_thousand -- --ignored`.
#[test]
#[ignore = "it takes minutes"]
fn ten_thousand_intervals_contain_the_criterion() {
    assert!(check_intervals(125) >= 10_000);
}

/// The scores of a camera's pictures are those before the transform.
#[test]
fn cameras_have_scores_of_pictures() {
    let camera: Anscombe = "poisson:0.05,0.005,0.1".parse().expect("a camera");
    let pair = |index: usize| {
        let grid = Grid::image(32, 32);
        let mut truth = phantom::dead_leaves(32, 32, Seed::new(4), index).expect("a size");
        truth.iter_mut().for_each(|x| *x += camera.black());
        let data = noise::poisson(&truth, &camera, Seed::new(4), index).expect("a camera");
        Pair { grid, truth, data }
    };
    let pairs = vec![pair(0), pair(1)];
    let transformed: Vec<Pair> = (pairs.iter().cloned())
        .map(|pair| pair.for_camera(&camera))
        .collect();
    for (pair, transformed) in pairs.iter().zip(&transformed) {
        let back = transformed.clone().from_camera(&camera);
        let close = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-6);
        assert!(close(&back.truth, &pair.truth) && close(&back.data, &pair.data));
    }
    let setup = Setup {
        camera: Some(camera.clone()),
        validation: vec![transformed[1].clone()],
        ..setup(sure(&transformed[..1], camera.sigma()))
    };
    let mut problem =
        LearningProblem::new(TvDenoising::default(), transformed[..1].to_vec(), setup)
            .expect("a valid problem");
    let learned = problem.learn().expect("a result");
    let scores = [learned.training[0], learned.validation[0]];
    for ((score, pair), transformed) in scores.iter().zip(&pairs).zip(&transformed) {
        let stop = Stop::accuracy(ErrorBound::new(1e-6).expect("positive"));
        let (values, family) = (learned.values(), TvDenoising::default());
        let made = reconstruct(
            &family,
            &values,
            pair.grid,
            &transformed.data,
            Solver::default(),
            stop,
        );
        let x = camera.inverse(&made.expect("a reconstruction").x);
        let mse = |x: &[f64]| imaging::quality::mse(x, &pair.truth).expect("finite");
        let [before, after] = [score.before, score.after].map(|found| found.expect("a truth").mse);
        assert!((before / mse(&pair.data) - 1.0).abs() < 1e-5);
        assert!((after / mse(&x) - 1.0).abs() < 0.02);
        assert!(after < 0.6 * before, "{after} {before}");
    }
}

fn leaves(count: usize) -> Vec<Pair> {
    let picture = |index: usize| {
        let grid = Grid::image(64, 64);
        let truth = phantom::dead_leaves(64, 64, Seed::new(4), index).expect("a size");
        let data = noise::gaussian(&truth, 0.1, Seed::new(4), index).expect("a deviation");
        Pair { grid, truth, data }
    };
    (0..count).map(picture).collect()
}

/// What is learned without truth is nearly as good as what is learned from it, with gradients and
/// without, with residuals per image and per pixel; the estimated error is close to the true one.
#[test]
fn learning_needs_no_truth() {
    let family = TvDenoising {
        choices: TvChoices {
            nu: Choice::Fixed(0.01),
            xi: Choice::Fixed(1e-3),
            ..TvChoices::default()
        },
    };
    let pairs = leaves(3);
    let learn = |criterion: Criterion, solver, residuals| {
        let mut setup = Setup {
            criterion,
            solver,
            ..Setup::default()
        };
        setup.loss.residuals = residuals;
        let problem = LearningProblem::new(family, pairs.clone(), setup);
        problem
            .and_then(|mut problem| problem.learn())
            .expect("a valid problem")
    };
    let truth = learn(Criterion::Truth, SolverKind::Auto, Residuals::Pixel);
    let psnr = |learned: &bilevel::Learned| -> f64 {
        let all = learned
            .training
            .iter()
            .filter_map(|score| score.after?.psnr);
        all.sum::<f64>() / 3.0
    };
    let best = psnr(&truth);
    let mut alphas = Vec::new();
    // GCV is less accurate on small pictures with many edges than on photographs
    for (criterion, loss) in [(sure(&pairs, 0.1), 0.05), (Criterion::Gcv, 0.3)] {
        for solver in [SolverKind::Gradient, SolverKind::DerivativeFree] {
            for residuals in [Residuals::Pixel, Residuals::Image] {
                let learned = learn(criterion.clone(), solver, residuals);
                let found = psnr(&learned);
                assert!(best - found < loss, "{:?} {found} {best}", criterion.kind());
                let interval = learned.interval;
                assert!(interval.upper - interval.lower < 1e-2 * learned.objective);
                for score in &learned.training {
                    let estimate = score.estimate.expect("an estimate");
                    let mse = score.after.expect("a truth").mse;
                    assert!(
                        (estimate.mse / mse - 1.0).abs() < 0.35,
                        "{estimate:?} {mse}"
                    );
                    assert!((estimate.sigma / 0.1 - 1.0).abs() < 0.15, "{estimate:?}");
                }
                alphas.push((criterion.kind(), learned.theta()[0]));
            }
        }
    }
    // both solvers and both kinds of residuals find the same minimum
    for group in alphas.chunks(4) {
        for (_, theta) in group {
            assert!((theta - group[0].1).abs() < 2e-3, "{alphas:?}");
        }
    }
}

#[test]
fn wrong_criteria_are_refused() {
    let pairs = without_truth(leaves(2));
    let refused = |pairs: &[Pair], setup: Setup| {
        let made = LearningProblem::new(TvDenoising::default(), pairs.to_vec(), setup);
        made.map(|_| ()).expect_err("a wrong setup")
    };
    let found = refused(&pairs, Setup::default());
    assert!(
        matches!(found, ProblemError::NoTruth { index: 0 }),
        "{found}"
    );
    let found = refused(&pairs, setup(sure(&pairs[..1], 0.1)));
    assert!(
        matches!(
            found,
            ProblemError::NumNoiseLevels {
                expected: 2,
                found: 1
            }
        ),
        "{found}"
    );
    for sigma in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let found = refused(&pairs, setup(sure(&pairs, sigma)));
        assert!(
            matches!(found, ProblemError::NoiseLevel { index: 0, .. }),
            "{found}"
        );
    }
    let limited = Setup {
        image_range: bilevel::ImageRange::NON_NEGATIVE,
        ..setup(Criterion::Gcv)
    };
    let found = refused(&pairs, limited);
    assert!(matches!(found, ProblemError::RangeWithoutTruth), "{found}");
}

/// Pictures without information, and noise that is far too large, end with a report.
#[test]
fn poor_pictures_end_with_a_report() {
    let pair = |rows, cols, value: f64| Pair {
        grid: Grid::image(rows, cols),
        truth: Vec::new(),
        data: vec![value; rows * cols],
    };
    for pairs in [
        vec![pair(1, 1, 0.5)],
        vec![pair(6, 6, 0.5)],
        vec![pair(6, 6, 0.0)],
    ] {
        for criterion in [sure(&pairs, 0.1), sure(&pairs, 100.0), Criterion::Gcv] {
            let problem =
                LearningProblem::new(TvDenoising::default(), pairs.clone(), setup(criterion));
            let learned = problem
                .and_then(|mut problem| problem.learn())
                .expect("a valid problem");
            assert!(learned.objective.is_finite(), "{:?}", learned.termination);
        }
    }
}
