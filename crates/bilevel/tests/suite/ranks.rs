//! Images that are spread over ranks, which are threads here. Results are those of one rank with
//! all images, to the last bit.

use crate::families::{Visitor, for_each_family};
use crate::ridge::Ridge;
use bilevel::testing::on_ranks;
use bilevel::{
    ConditionNumber, Learned, LearningProblem, LowerLevel, Pair, Parameter, ProblemError, Ranks,
    Residuals, Setup, learning_options, share_of,
};
use dfo_ls::Options;
use imaging::Grid;

fn setup(residuals: Residuals, validation: &[Pair]) -> Setup {
    let mut setup = Setup {
        penalties: vec![Box::new(ConditionNumber { weight: 1e-6 })],
        validation: validation.to_vec(),
        ..Setup::derivative_free()
    };
    setup.loss.residuals = residuals;
    setup
}

fn options() -> Options {
    let mut options = learning_options();
    options.budget.max_points = Some(30);
    options.batch = 2;
    options
}

/// Learns on one rank with its share of the pairs. Returns the result and the gathered bytes.
fn learn<M: LowerLevel>(
    model: &M,
    pairs: &[Pair],
    residuals: Residuals,
    ranks: Ranks,
    num_ranks: usize,
) -> (Learned, u64) {
    let share = |pairs: &[Pair]| pairs[share_of(pairs.len(), ranks.rank(), num_ranks)].to_vec();
    // two held-out pairs, so that some ranks have none
    let setup = setup(residuals, &share(&pairs[..2]));
    let problem = LearningProblem::on_rank(model, share(pairs), setup, ranks);
    let mut problem = problem.expect("a valid problem");
    let learned = problem.learn_with(options()).expect("valid options");
    (learned, problem.ranks().bytes())
}

/// Results on 1, 2, 3 and 4 ranks, of which the last has a rank without images.
struct SameBits;

impl Visitor for SameBits {
    fn visit<M: LowerLevel>(&self, name: &str, model: M, pairs: Vec<Pair>) {
        for residuals in [Residuals::Image, Residuals::Pixel] {
            let setup = setup(residuals, &pairs[..2]);
            let problem = LearningProblem::new(&model, pairs.clone(), setup);
            let alone = problem
                .expect("valid")
                .learn_with(options())
                .expect("valid");
            assert!(alone.num_points > 5, "{name}: {:?}", alone.termination);
            assert_eq!(alone.training.len(), pairs.len());
            assert_eq!(alone.validation.len(), 2);
            for count in 1..=4 {
                let all = on_ranks(count, |ranks| {
                    learn(&model, &pairs, residuals, ranks, count).0
                });
                for learned in all {
                    assert_eq!(learned, alone, "{name}, {residuals:?}, {count} ranks");
                }
            }
        }
    }
}

#[test]
fn same_bits_on_any_number_of_ranks() {
    for_each_family(&SameBits);
}

/// The bytes of an evaluation: at most 24 per image, or `$8(4d + 6)$` with residuals per pixel, and
/// 24 per rank.
#[test]
fn few_bytes_are_gathered() {
    let pair = |i: usize| {
        let truth: Vec<f64> = (0..40).map(|j| f64::from(u8::from(j > 3 * i))).collect();
        let data = truth
            .iter()
            .enumerate()
            .map(|(j, x)| x + 0.1 * (j as f64).sin())
            .collect();
        let grid = Grid::line(40);
        Pair { grid, truth, data }
    };
    let pairs: Vec<Pair> = (0..12).map(pair).collect();
    let model = bilevel::TvDenoising::default();
    for (residuals, per_image) in [(Residuals::Image, 24), (Residuals::Pixel, 8 * (4 * 3 + 6))] {
        let (learned, bytes) =
            on_ranks(3, |ranks| learn(&model, &pairs, residuals, ranks, 3)).remove(0);
        let evaluations = learned.evaluations.len() as u64;
        assert!(evaluations > 30, "the pool was full");
        // the problem is agreed on before, and scores and influences are gathered at the end
        let around = 3 * 1000;
        let most = evaluations * (12 * per_image + 3 * 24) + around;
        assert!(
            bytes <= most,
            "{residuals:?}: {bytes} > {most} in {evaluations} evaluations"
        );
        assert!(
            2 * bytes > most,
            "{residuals:?}: the counter counts {bytes}"
        );
    }
}

fn moody_pairs() -> Vec<Pair> {
    let pair = |len: usize| Pair {
        grid: Grid::line(len),
        truth: vec![1.0; len],
        data: (0..len).map(|j| 3.0 + 0.1 * j as f64).collect(),
    };
    vec![pair(2), pair(3), pair(4)]
}

/// A reconstruction that fails on one rank rejects the point on all, with the same reason.
#[test]
fn failures_are_shared() {
    let mut model = Ridge::new(vec![Parameter::log10("a", -1.0, -4.0, 1.0)]);
    model.moody = Some((3, 1.0));
    for residuals in [Residuals::Image, Residuals::Pixel] {
        let all = on_ranks(3, |ranks| {
            learn(&model, &moody_pairs(), residuals, ranks, 3).0
        });
        let failed = all[0]
            .evaluations
            .iter()
            .filter_map(|e| e.objective.as_ref().err());
        let reasons: Vec<&String> = failed.collect();
        assert!(
            !reasons.is_empty() && reasons[0].contains("too much"),
            "{reasons:?}"
        );
        assert!(all.iter().all(|learned| learned == &all[0]));
    }
}

/// Invalid problems are refused on all ranks before anything is computed.
#[test]
fn differences_and_bad_images_are_refused_everywhere() {
    let pairs = moody_pairs();
    let model = Ridge::simple();
    let create = |ranks: Ranks, pair: Pair, setup: Setup| {
        LearningProblem::on_rank(&model, vec![pair], setup, ranks).map(|_| ())
    };
    let errors = on_ranks(3, |ranks| {
        let mut own = setup(Residuals::Pixel, &[]);
        if ranks.rank() == 2 {
            own.penalties = vec![Box::new(ConditionNumber { weight: 1e-5 })];
        }
        let pair = pairs[ranks.rank()].clone();
        create(ranks, pair, own).expect_err("different weights")
    });
    for error in errors {
        assert!(
            matches!(error, ProblemError::RanksDiffer { rank: 2, .. }),
            "{error}"
        );
    }

    let errors = on_ranks(3, |ranks| {
        let mut pair = pairs[ranks.rank()].clone();
        if ranks.rank() == 1 {
            pair.truth[0] = f64::NAN;
        }
        create(ranks, pair, Setup::derivative_free()).expect_err("not a number")
    });
    for (rank, error) in errors.iter().enumerate() {
        match error {
            ProblemError::NonFinite { index: 0, .. } => assert_eq!(rank, 1),
            ProblemError::OtherRank { rank: 1, reason } => assert!(reason.contains("truth")),
            other => panic!("{other}"),
        }
    }

    let errors = on_ranks(2, |ranks| {
        let problem = LearningProblem::on_rank(&model, Vec::new(), Setup::derivative_free(), ranks);
        problem.map(|_| ()).expect_err("no images")
    });
    assert!(
        errors
            .iter()
            .all(|error| matches!(error, ProblemError::NoPairs))
    );

    let errors = on_ranks(2, |ranks| {
        let (mut options, pair) = (options(), pairs[ranks.rank()].clone());
        options.batch += ranks.rank();
        let problem = LearningProblem::on_rank(&model, vec![pair], Setup::derivative_free(), ranks);
        problem
            .expect("valid")
            .engine(options)
            .map(|_| ())
            .expect_err("different options")
    });
    for error in errors {
        assert!(
            error.to_string().contains("options of the solver"),
            "{error}"
        );
    }
}
