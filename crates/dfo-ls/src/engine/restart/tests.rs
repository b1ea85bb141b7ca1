use super::super::Engine;
use super::super::tests::{Waves, answer};
use super::*;
use crate::constraints::Problem;
use crate::linalg::tests::Random;
use crate::{Options, Restarts, SlowProgress};

/// An engine with a complete set.
fn engine(options: Options, d: usize) -> Engine<()> {
    let mut random = Random::new(4);
    let waves = Waves::new(&mut random, d, d + 2, 0.5);
    let mut engine =
        Engine::new(Problem::new(random.vector(d)), d + 2, options).expect("a valid problem");
    while engine.state.points.len() <= d {
        answer(&mut engine, &waves);
        engine.tell();
    }
    engine
}

fn set_objective(engine: &mut Engine<()>, objective: f64) {
    engine.state.points.incumbent_mut().objective = objective;
}

#[test]
fn progress_is_slow_after_enough_slow_iterations() {
    let slow = SlowProgress {
        rate: 0.01,
        history: 4,
        patience: 3,
    };
    for (rate, expected) in [(0.0099, true), (0.0101, false), (0.0, true), (-0.5, true)] {
        let mut engine = engine(
            Options {
                slow: Some(slow.clone()),
                ..Options::default()
            },
            2,
        );
        engine.state.trust.slow = SlowTracker::default();
        let mut found = None;
        for k in 1..=40 {
            let before = f64::exp(-rate * f64::from(k - 1));
            set_objective(&mut engine, f64::exp(-rate * f64::from(k)));
            if engine.run().count_slow_step(before) {
                found = Some(k);
                break;
            }
        }
        // four iterations give the first rate; slow in this one and five more: 3 x 2 in a row
        assert_eq!(found, expected.then_some(9), "{rate}");
    }
}

#[test]
fn one_fast_iteration_starts_the_count_again() {
    let slow = SlowProgress {
        rate: 0.01,
        history: 2,
        patience: 2,
    };
    let mut engine = engine(
        Options {
            slow: Some(slow),
            ..Options::default()
        },
        2,
    );
    engine.state.trust.slow = SlowTracker::default();
    let mut objective = 1.0;
    let mut answers = Vec::new();
    for k in 0..14 {
        let before = objective;
        if k == 4 {
            objective *= 0.9;
        }
        set_objective(&mut engine, objective);
        answers.push(engine.run().count_slow_step(before));
    }
    // rates over two iterations: slow in 1, 2, 3; fast in 4 and 5; slow from 6 on, four in a row at
    // 9
    let expected: Vec<bool> = (0..14).map(|k| k >= 9).collect();
    assert_eq!(answers, expected);
    engine.state.options.slow = None;
    assert!(!engine.run().count_slow_step(1.0));
}

/// Noise is assumed after twenty unsuccessful steps in a row and two more for every parameter.
#[test]
fn noise_is_recognised_by_unsuccessful_steps() {
    let mut engine = engine(
        Options {
            restarts: Some(Restarts::default()),
            ..Options::default()
        },
        3,
    );
    engine.state.trust.restarts.unsuccessful_steps = 0;
    let mut first = |ratios: &dyn Fn(u32) -> f64| {
        engine.state.trust.restarts.unsuccessful_steps = 0;
        (1..100).find(|&k| engine.run().count_unsuccessful_step(ratios(k)))
    };
    assert_eq!(first(&|_| 0.0999), Some(26));
    assert_eq!(first(&|_| f64::NEG_INFINITY), Some(26));
    assert_eq!(first(&|_| f64::NAN), Some(26));
    assert_eq!(first(&|_| 0.1), None);
    // one successful step resets the count
    assert_eq!(first(&|k| if k == 10 { 0.5 } else { -1.0 }), Some(36));
    engine.state.options.restarts = Some(Restarts {
        automatic: false,
        ..Restarts::default()
    });
    assert!((0..100).all(|_| !engine.run().count_unsuccessful_step(-1.0)));
    engine.state.options.restarts = None;
    assert!((0..100).all(|_| !engine.run().count_unsuccessful_step(-1.0)));
}
