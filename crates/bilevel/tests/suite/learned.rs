//! Results of learning, refused problems, and models that fail.

use std::sync::Arc;

use crate::families::{Visitor, for_each_family};
use bilevel::{
    Bound, BoxError, Choice, FourierWeights, ImageData, Learned, LearningProblem, LowerLevel, Pair,
    Parameter, Penalty, PenaltyContext, ProblemError, Quality, Setup, TvChoices, TvDenoising,
    learning_options, reconstruct, score,
};
use dfo_ls::{L1, Options, Termination};
use imaging::{Denoising, DenoisingScratch, Grid, Seed, noise, phantom};
use lowlevel::{ErrorBound, Solver, Stop};

fn pairs(count: usize, seed: u64) -> Vec<Pair> {
    let seed = Seed::new(seed);
    let pair = |index: usize| {
        let truth = phantom::dead_leaves(16, 16, seed, index).expect("a size");
        let data = noise::gaussian(&truth, 0.1, seed, index).expect("a deviation");
        let grid = Grid::image(16, 16);
        Pair { grid, truth, data }
    };
    (0..count).map(pair).collect()
}

fn budget(points: u64) -> Options {
    let mut options = learning_options();
    options.budget.max_points = Some(points);
    options
}

fn learn(setup: Setup) -> Learned {
    let mut problem =
        LearningProblem::new(TvDenoising::default(), pairs(4, 1), setup).expect("valid");
    problem.learn_with(budget(40)).expect("valid options")
}

#[test]
fn pictures_get_better_and_held_out_ones_too() {
    let learned = learn(Setup {
        validation: pairs(3, 2),
        ..Setup::derivative_free()
    });
    assert_eq!((learned.training.len(), learned.validation.len()), (4, 3));
    for score in learned.training.iter().chain(&learned.validation) {
        let (before, after) = (score.before.expect("data"), score.after.expect("an image"));
        assert!(
            after.psnr > before.psnr && after.ssim > before.ssim,
            "{score:?}"
        );
        assert!(score.error.expect("certified") <= 1e-3);
    }
    let total: u64 = learned.evaluations.iter().map(|e| e.work).sum();
    assert_eq!(learned.work.total(), total);
    assert!(learned.work.initial > 0 && learned.work.trial > 0);
}

/// A volume is reconstructed better as a whole than slice by slice. Its SSIM is the mean over
/// slices.
#[test]
fn volumes_are_better_than_their_slices() {
    // The truth is a ball.
    let is_inside = |index: usize| {
        let at = [index / 256, index / 16 % 16, index % 16].map(|i| i as f64);
        let [z, y, x] = [at[0] - 4.0, at[1] - 7.0, at[2] - 8.0];
        x * x + y * y + z * z < 36.0
    };
    let truth: Vec<f64> = (0..2048).map(|i| f64::from(is_inside(i))).collect();
    let data = noise::gaussian(&truth, 0.1, Seed::new(1), 0).expect("a deviation");
    let grid = Grid::image(16, 16);
    let slices = truth.chunks_exact(256).zip(data.chunks_exact(256));
    let slices = slices.map(|(truth, data)| Pair {
        grid,
        truth: truth.to_vec(),
        data: data.to_vec(),
    });
    let slices: Vec<Pair> = slices.collect();
    let grid = Grid::volume(8, 16, 16);
    let volume = vec![Pair { grid, truth, data }];
    let learn = |pairs: Vec<Pair>| {
        let setup = Setup::derivative_free();
        let mut problem = LearningProblem::new(TvDenoising::default(), pairs, setup);
        let problem = problem.as_mut().expect("valid");
        problem.learn_with(budget(20)).expect("valid options")
    };
    let (whole, apart) = (learn(volume), learn(slices));
    let mean = |of: fn(Quality) -> f64| {
        let all = apart.training.iter().map(|score| score.after);
        all.map(|quality| of(quality.expect("an image")))
            .sum::<f64>()
            / 8.0
    };
    let after = whole.training[0].after.expect("an image");
    // The gain is at least 1 dB.
    let of_slices = mean(|quality| quality.mse);
    assert!(after.mse < 0.8 * of_slices, "{after:?} {of_slices}");
    let ssim = |quality: Quality| quality.ssim.expect("large enough");
    assert!(ssim(after) > mean(|quality| quality.ssim.expect("large enough")));
    let before = whole.training[0].before.expect("data");
    let of_slices = apart.training.iter().map(|score| score.before);
    let of_slices: f64 = of_slices.map(|quality| ssim(quality.expect("data"))).sum();
    assert!((ssim(before) - of_slices / 8.0).abs() < 1e-12);
}

/// The mean squared errors of the scores add up to the objective.
#[test]
fn scores_agree_with_the_objective() {
    let learned = learn(Setup::derivative_free());
    let mse: f64 = (learned.training.iter())
        .map(|score| score.after.expect("an image").mse)
        .sum::<f64>()
        / 4.0;
    assert!((mse * 256.0 / learned.objective - 1.0).abs() < 0.02);
}

/// The influence of a parameter is the larger of the changes of the objective a tenth of its range
/// up and down.
#[test]
fn influences_are_true() {
    let learned = learn(Setup::derivative_free());
    let problem = LearningProblem::new(
        TvDenoising::default(),
        pairs(4, 1),
        Setup::derivative_free(),
    )
    .expect("valid");
    let objective = |theta: &[f64]| {
        let values = problem.values(theta);
        let score = |pair| score(problem.model(), &values, pair, Solver::default()).score;
        let scores: Vec<_> = problem.pairs().iter().map(score).collect();
        let mse = scores
            .iter()
            .map(|score| score.after.expect("an image").mse);
        256.0 * mse.sum::<f64>() / 4.0
    };
    let here = objective(&learned.theta());
    for (j, p) in learned.entries().enumerate() {
        let change = |step: f64| {
            let mut theta = learned.theta();
            let range = p.parameter.upper - p.parameter.lower;
            theta[j] = (theta[j] + step * range).clamp(p.parameter.lower, p.parameter.upper);
            (objective(&theta) / here - 1.0).abs()
        };
        let worse = change(0.1).max(change(-0.1));
        let influence = p.influence.expect("evaluated");
        // scores are only as accurate as pictures need
        assert!((influence / worse - 1.0).abs() < 0.05 || (influence - worse).abs() < 0.01);
    }
}

/// Clean data need no regularisation: the weight goes to its lower bound.
#[test]
fn bounds_that_are_hit_are_named() {
    let clean = pairs(2, 1).into_iter().map(|pair| Pair {
        data: pair.truth.clone(),
        ..pair
    });
    let mut problem = LearningProblem::new(
        TvDenoising::default(),
        clean.collect(),
        Setup::derivative_free(),
    )
    .expect("valid");
    let learned = problem.learn_with(budget(80)).expect("valid options");
    let xi = &learned.parameters[2];
    assert_eq!(xi.name(), "xi");
    assert!(learned.value("alpha").expect("alpha") < 1e-2);
    assert!(learned.value("beta").is_none());
    let fixed = LearningProblem::new(
        TvDenoising {
            choices: TvChoices {
                alpha: Choice::Learned {
                    start: -2.0,
                    lower: -2.0,
                    upper: 0.0,
                },
                nu: Choice::Fixed(0.01),
                xi: Choice::Fixed(1e-3),
            },
        },
        problem.pairs().to_vec(),
        Setup::derivative_free(),
    );
    let learned = fixed.expect("valid").learn_with(budget(20)).expect("valid");
    assert_eq!(learned.parameters[0].at, [Some(Bound::Lower)]);
}

/// Only the product of two parameters matters: one direction is flat.
#[test]
fn flat_directions_are_found() {
    struct Product(TvDenoising);
    impl LowerLevel for Product {
        type Data = ImageData;
        type Scratch = DenoisingScratch;
        type Objective<'a> = Denoising<'a>;
        fn parameters(&self) -> Vec<Parameter> {
            vec![
                Parameter::log10("a", -0.5, -3.0, 1.0),
                Parameter::log10("b", -0.5, -3.0, 1.0),
            ]
        }
        fn prepare(&self, grid: Grid, data: &[f64]) -> Result<ImageData, BoxError> {
            self.0.prepare(grid, data)
        }
        fn objective<'a>(
            &'a self,
            values: &[f64],
            data: &'a ImageData,
        ) -> Result<Denoising<'a>, BoxError> {
            self.0.objective(&[values[0] * values[1]], data)
        }
    }
    let model = Product(TvDenoising {
        choices: TvChoices {
            nu: Choice::Fixed(0.01),
            xi: Choice::Fixed(1e-3),
            ..TvChoices::default()
        },
    });
    let mut problem =
        LearningProblem::new(model, pairs(2, 1), Setup::derivative_free()).expect("valid");
    let learned = problem.learn_with(budget(40)).expect("valid options");
    assert_eq!(learned.flat.len(), 1, "{:?}", learned.flat);
    let direction = &learned.flat[0].direction;
    assert!((direction[0] + direction[1]).abs() < 0.05, "{direction:?}");
    assert!(learned.entries().all(|p| p.influence > Some(1e-2)));
}

/// A penalty of the user's own and the non-smooth regulariser both move the parameters.
#[test]
fn penalties_move_parameters() {
    struct Near(f64);
    impl Penalty for Near {
        fn num_terms(&self) -> usize {
            1
        }
        fn terms(&self, at: &PenaltyContext<'_>, terms: &mut [f64]) {
            terms[0] = 1e3 * (at.theta[0] - self.0);
        }
    }
    let learned = learn(Setup {
        penalties: vec![Box::new(Near(-0.3))],
        ..Setup::derivative_free()
    });
    assert!((learned.theta()[0] + 0.3).abs() < 1e-3);
    let plain = learn(Setup::derivative_free());
    let sparse = learn(Setup {
        regularizer: Some(Arc::new(L1 { weight: 1e3 })),
        ..Setup::derivative_free()
    });
    let size = |learned: &Learned| learned.theta().iter().map(|t| t.abs()).sum::<f64>();
    assert!(
        size(&sparse) < 0.1 && size(&sparse) < 0.1 * size(&plain),
        "{:?}",
        sparse.theta()
    );
}

/// Learned parameters reconstruct new data to the requested accuracy.
#[test]
fn learned_parameters_apply() {
    let learned = learn(Setup::derivative_free());
    let new = &pairs(6, 9)[5];
    let stop = Stop::accuracy(ErrorBound::new(1e-4).expect("positive"));
    let model = TvDenoising::default();
    let reconstruction = reconstruct(
        &model,
        &learned.values(),
        new.grid,
        &new.data,
        Solver::default(),
        stop,
    );
    let reconstruction = reconstruction.expect("a reconstruction");
    assert!(reconstruction.solved.error.value() <= 1e-4);
    let distance = |x: &[f64]| -> f64 {
        x.iter()
            .zip(&new.truth)
            .map(|(a, b)| (a - b) * (a - b))
            .sum()
    };
    assert!(distance(&reconstruction.x) < distance(&new.data));
    let short = reconstruct(
        &model,
        &learned.values(),
        new.grid,
        &[0.0],
        Solver::default(),
        stop,
    );
    assert!(short.is_err());
    let few = reconstruct(&model, &[0.1], new.grid, &new.data, Solver::default(), stop);
    let message = few.expect_err("refused").to_string();
    assert!(message.contains("has length 1, but the number of parameters is 3"));
}

#[cfg(feature = "serde")]
#[test]
fn results_are_saved_and_loaded() {
    let learned = learn(Setup {
        validation: pairs(1, 2),
        ..Setup::derivative_free()
    });
    let json = serde_json::to_string(&learned).expect("plain data");
    assert_eq!(
        serde_json::from_str::<Learned>(&json).expect("what was saved"),
        learned
    );
    let toml = toml::to_string(&learned).expect("plain data");
    assert_eq!(
        toml::from_str::<Learned>(&toml).expect("what was saved"),
        learned
    );
}

/// Every family learns something.
#[test]
fn every_family_learns() {
    struct Learns;
    impl Visitor for Learns {
        fn visit<M: LowerLevel>(&self, name: &str, model: M, pairs: Vec<Pair>) {
            let mut problem =
                LearningProblem::new(model, pairs, Setup::derivative_free()).expect("valid");
            let learned = problem.learn_with(budget(30)).expect("valid options");
            let first = learned.evaluations[1].objective.clone().expect("the start");
            assert!(
                learned.interval.upper < 0.95 * first,
                "{name}: {first} {learned:?}"
            );
        }
    }
    for_each_family(&Learns);
}

#[test]
fn misuse_is_refused_before_anything_is_computed() {
    let model = TvDenoising::default;
    let refuse = |model: TvDenoising, pairs: Vec<Pair>| {
        LearningProblem::new(model, pairs, Setup::derivative_free()).expect_err("refused")
    };
    let pair = || pairs(1, 1).remove(0);
    assert!(matches!(refuse(model(), vec![]), ProblemError::NoPairs));
    let fixed = Choice::Fixed(0.1);
    let nothing = TvDenoising {
        choices: TvChoices {
            alpha: fixed,
            nu: fixed,
            xi: fixed,
        },
    };
    assert!(matches!(
        refuse(nothing, pairs(1, 1)),
        ProblemError::NoParameters
    ));
    let mut short = pair();
    short.truth.pop();
    assert!(matches!(
        refuse(model(), vec![pair(), short]),
        ProblemError::TruthLength {
            index: 1,
            expected: 256,
            found: 255
        }
    ));
    for what in ["truth", "data"] {
        let mut bad = pair();
        let numbers = if what == "truth" {
            &mut bad.truth
        } else {
            &mut bad.data
        };
        numbers[3] = f64::NAN;
        let error = refuse(model(), vec![bad]);
        assert!(error.to_string().contains(what), "{error}");
        assert!(matches!(error, ProblemError::NonFinite { entry: 3, .. }));
    }
    let mut wrong = pair();
    wrong.data.pop();
    let error = refuse(model(), vec![wrong]).to_string();
    assert!(error.contains("pair 0") && error.contains("255"), "{error}");
    let crossed = TvDenoising {
        choices: TvChoices {
            nu: Choice::Learned {
                start: -1.0,
                lower: 0.0,
                upper: -7.0,
            },
            ..TvChoices::default()
        },
    };
    let error = refuse(crossed, pairs(1, 1)).to_string();
    assert!(error.contains("nu") && error.contains("above"), "{error}");
    let held_out = Setup {
        validation: vec![Pair {
            truth: vec![],
            ..pair()
        }],
        ..Setup::derivative_free()
    };
    let error = LearningProblem::new(model(), pairs(1, 1), held_out).err();
    assert!(
        error
            .expect("refused")
            .to_string()
            .starts_with("held-out pairs")
    );
    assert!(FourierWeights::new(0, FourierWeights::TV, 0.5).is_err());
}

/// The solver avoids points where the model fails or panics.
#[test]
fn hostile_models_are_survived() {
    struct Moody(TvDenoising);
    impl LowerLevel for Moody {
        type Data = ImageData;
        type Scratch = DenoisingScratch;
        type Objective<'a> = Denoising<'a>;
        fn parameters(&self) -> Vec<Parameter> {
            self.0.parameters()
        }
        fn prepare(&self, grid: Grid, data: &[f64]) -> Result<ImageData, BoxError> {
            self.0.prepare(grid, data)
        }
        fn objective<'a>(
            &'a self,
            values: &[f64],
            data: &'a ImageData,
        ) -> Result<Denoising<'a>, BoxError> {
            if values[0] > 3.0 {
                return Err("alpha is too large for my taste".into());
            }
            assert!(values[1] < 0.5, "nu makes me panic");
            self.0.objective(values, data)
        }
    }
    let moody = Moody(TvDenoising::default());
    let mut problem =
        LearningProblem::new(moody, pairs(2, 1), Setup::derivative_free()).expect("valid");
    let learned = problem.learn_with(budget(40)).expect("valid options");
    let failures: Vec<&String> = learned
        .evaluations
        .iter()
        .filter_map(|e| e.objective.as_ref().err())
        .collect();
    assert!(
        failures.iter().any(|reason| reason.contains("taste")),
        "{failures:?}"
    );
    let best = learn(Setup::derivative_free()).objective;
    assert!(!matches!(
        learned.termination,
        Termination::OracleFailed { .. }
    ));
    assert!(learned.value("alpha").expect("alpha") < 3.0 && learned.objective < 4.0 * best);
}
