use super::super::tests::Waves;
use super::super::{Engine, Interpolation};
use super::*;
use crate::constraints::Problem;
use crate::linalg::Matrix;
use crate::linalg::tests::Random;
use crate::options::AccuracyControl;
use crate::{Dynamic, Evaluated, Options, Scaling};
use proptest::prelude::*;

/// Answers with errors as large as allowed, in random directions.
fn answer(engine: &mut Engine<()>, waves: &Waves, random: &mut Random) {
    for job in engine.ask() {
        let mut residuals = waves.residuals(job.theta());
        let error = random.vector(residuals.len());
        let size = job.target().value().min(1.0);
        let scale = size / norm(&error);
        residuals
            .iter_mut()
            .zip(&error)
            .for_each(|(r, e)| *r += scale * e);
        let achieved = Accuracy::new(size).expect("a size");
        job.answer(
            &residuals,
            Evaluated {
                achieved,
                work: 1,
                resume: (),
            },
        );
    }
}

/// The first half of `tell`: takes the answers into the set and returns the next action without
/// running it.
fn absorb(engine: &mut Engine<()>) -> Next<()> {
    engine.collect();
    let (phase, queries) = engine.state.outstanding.take().expect("all were answered");
    let mut run = engine.run();
    let answers = queries.into_iter().map(|query| run.finish(query)).collect();
    if engine.termination().is_some() {
        return Next::Continue;
    }
    engine.run().absorb(phase, answers)
}

fn steps(points: &Interpolation<()>) -> Vec<Vec<f64>> {
    points
        .iter()
        .map(|point| points.step_to(&point.u))
        .collect()
}

/// Checks the error bounds of a fully linear model.
///
/// With `$e_t = \tilde r_t - \tilde r_k - J(x_k)(y_t - x_k)$`, and since `$\sum_t g_t = 0$` and
/// `$\sum_t (y_t - x_k) g_t^\top = I$`, the model's Jacobian is
/// `$\sum_t \tilde r_t g_t^\top = J(x_k) + \sum_{t \ne k} e_t g_t^\top$`. Taylor's theorem gives
/// `$\|e_t\| \le \tfrac12 L_J \|y_t - x_k\|^2 + 2c\Delta^2 \le (\tfrac12 L_J + 2c)\Delta^2$`. For
/// `$t \ne k$`, `$\ell_t(x_k + s) = g_t^\top s$`, which attains `$\|g_t\|\Delta$` in the ball, so
/// `$\|g_t\| \le \Lambda/\Delta$`. Together
/// `$\|\tilde J - J\|_F \le d\,\Lambda\,(\tfrac12 L_J + 2c)\,\Delta$`, and for the gradient
/// `$2\tilde J^\top \tilde r_k$`
/// `$\|\tilde g - \nabla f\| \le 2\|\tilde J - J\|\,\|\tilde r_k\| + 2\|J\|\,c\Delta^2$`.
fn check(
    engine: &Engine<()>,
    waves: &Waves,
    constant: f64,
    limit: f64,
    bounded: bool,
) -> Result<(), TestCaseError> {
    let state = &engine.state;
    let points = &state.points;
    let (d, delta) = (state.space.dim(), state.trust.delta());
    prop_assert_eq!(points.len(), d + 1);
    let linear = points.linear().expect("polynomials");
    let center = points.center();
    for (t, step) in steps(points).iter().enumerate() {
        prop_assert!(norm(step) <= delta * (1.0 + 1e-12), "point {t}");
        let accuracy = points.get(t).accuracy.value();
        prop_assert!(
            accuracy <= constant * delta * delta * (1.0 + 1e-12),
            "accuracy {accuracy}"
        );
        // the largest value in a ball without bounds; the bound below does not need that of the
        // incumbent
        let largest = norm(linear.gradient(t)) * delta;
        let fine = bounded || t == center || largest <= limit * (1.0 + 1e-9);
        prop_assert!(fine, "{largest} {limit}");
    }
    if bounded {
        return Ok(());
    }
    let incumbent = points.incumbent();
    let exact = waves.jacobian(&incumbent.theta);
    let model = Matrix::from_fn(waves.len(), d, |i, j| {
        (0..=d)
            .map(|t| points.get(t).residuals[i] * linear.gradient(t)[j])
            .sum()
    });
    let error: Vec<f64> = model
        .as_slice()
        .iter()
        .zip(exact.as_slice())
        .map(|(a, b)| a - b)
        .collect();
    let bound = d as f64 * limit * (0.5 * waves.lipschitz() + 2.0 * constant) * delta;
    prop_assert!(
        norm(&error) <= bound * (1.0 + 1e-9),
        "{} {bound}",
        norm(&error)
    );
    let mut gradient = vec![0.0; d];
    exact.mul_vec_transposed(&waves.residuals(&incumbent.theta), &mut gradient);
    let slope = points.slope().expect("polynomials");
    let wrong: Vec<f64> = slope
        .iter()
        .zip(&gradient)
        .map(|(a, b)| 2.0 * (a - b))
        .collect();
    let most = 2.0 * bound * norm(&incumbent.residuals)
        + 2.0 * norm(exact.as_slice()) * constant * delta * delta;
    prop_assert!(
        norm(&wrong) <= most * (1.0 + 1e-9),
        "{} {most}",
        norm(&wrong)
    );
    let claimed = points.gradient_norm();
    prop_assert!((claimed - 2.0 * norm(&slope)).abs() <= 1e-9 * claimed);
    Ok(())
}

/// A problem and the parameters of the paper.
#[derive(Clone, Copy, Debug)]
struct Case {
    seed: u64,
    d: usize,
    more: usize,
    height: f64,
    constant: f64,
    limit: f64,
    epsilon: f64,
    bounded: bool,
}

/// Runs, and counts the models that were made fully linear and those that were certified as such.
fn run(case: Case) -> Result<(u32, u32), TestCaseError> {
    let Case {
        d,
        constant,
        limit,
        bounded,
        ..
    } = case;
    let mut random = Random::new(case.seed);
    let waves = Waves::new(&mut random, d, d + case.more, case.height);
    let mut options = Options::paper();
    options.algorithm = Algorithm::Paper(PaperParameters {
        epsilon: case.epsilon,
        poisedness: limit,
    });
    options.accuracy = AccuracyControl::Dynamic(Dynamic {
        model_constant: Some(constant),
        ..Dynamic::default()
    });
    options.scaling = Scaling::Given(vec![1.0; d]);
    options.trust_region.initial_radius = 0.5;
    options.trust_region.final_radius = 1e-4;
    options.budget.max_points = Some(400);
    let mut problem = Problem::new(random.vector(d));
    if bounded {
        problem = problem
            .with_bounds(vec![-1.2; d], vec![1.1; d])
            .expect("valid bounds");
    }
    let mut engine = Engine::new(problem, waves.len(), options).expect("a valid problem");
    let (mut made, mut seen) = (0, 0);
    while !engine.ask().is_empty() {
        answer(&mut engine, &waves, &mut random);
        let phase = engine.state.outstanding.phase();
        let improving = matches!(phase, Phase::Improve(_));
        let building = matches!(phase, Phase::Start | Phase::Build(_));
        let next = absorb(&mut engine);
        if engine.termination().is_some() || engine.state.ledger.exhausted.is_some() {
            break;
        }
        let iterating = !building || matches!(next, Next::Continue);
        let points = &mut engine.state.points;
        if iterating && points.refresh() && points.linear().is_some() {
            let delta = engine.state.trust.delta();
            let certified = engine.run().is_fully_linear();
            if improving {
                // one round is enough, up to the margin that keeps points inside
                made += 1;
                let slack = limit * 1.001;
                check(&engine, &waves, constant, slack, bounded)?;
                let found = engine.run().poisedness_of_others(delta);
                prop_assert!(
                    found.is_some_and(|found| found <= slack),
                    "{found:?} {limit}"
                );
            }
            if certified {
                seen += 1;
                check(&engine, &waves, constant, limit, bounded)?;
            }
        }
        engine.go(next);
    }
    Ok((made, seen))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn models_certified_as_fully_linear_are(
        seed in any::<u64>(), d in 1_usize..5, more in 0_usize..4, height in 0.1..2.0_f64, constant in 0.1..3.0_f64,
        limit in 1.1..10.0_f64, epsilon in prop_oneof![Just(1e-5), 0.1..10.0_f64], bounded in any::<bool>(),
    ) {
        run(Case { seed, d, more, height, constant, limit, epsilon, bounded })?;
    }
}

/// The property test above meets models of both kinds.
#[test]
fn models_are_made_fully_linear() {
    let (mut made, mut seen) = (0, 0);
    for seed in 0..20 {
        let case = Case {
            seed,
            d: 3,
            more: 1,
            height: 1.5,
            constant: 1.0,
            limit: 2.0,
            epsilon: 0.1,
            bounded: seed % 2 == 0,
        };
        let counts = run(case).expect("all promises kept");
        made += counts.0;
        seen += counts.1;
    }
    assert!(made >= 20 && seen >= 100, "{made} {seen}");
}
