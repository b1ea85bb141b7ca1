//! Ranges of the options: outside its range, an option causes an error that names it, and nothing
//! is evaluated.

use std::time::Duration;

use dfo_ls::{
    Accuracy, AccuracyControl, Algorithm, Dynamic, Engine, ExperimentRules, FnOracle, Model,
    NoiseLevel, Options, PaperParameters, Problem, Restarts, Samples, Scaling, SetupError,
    SlowProgress, minimize,
};

const NAN: f64 = f64::NAN;
const INF: f64 = f64::INFINITY;

fn plain() -> Problem {
    Problem::new([1.0, 2.0])
}

/// Checks that an option out of range causes an error with its path and its value.
fn check_option(path: &str, found: f64, set: impl FnOnce(&mut Options)) {
    check_option_of(Options::default(), path, found, set);
}

fn check_option_of(mut options: Options, path: &str, number: f64, set: impl FnOnce(&mut Options)) {
    set(&mut options);
    let mut oracle = FnOracle::new(3, |_: &[f64], _: &mut [f64]| {
        panic!("nothing may be evaluated")
    });
    let error = minimize(&mut oracle, plain(), options).expect_err("out of range");
    let text = error.to_string();
    assert!(text.len() < 200 && !text.contains("Some("), "{text}");
    match error {
        SetupError::Option {
            option,
            found,
            expected,
        } => {
            assert_eq!(option, path);
            assert_eq!(
                found.to_bits(),
                number.to_bits(),
                "{path}: {found} is not {number}"
            );
            assert!(!expected.is_empty() && text.contains(path) && text.contains(expected));
        }
        other => panic!("{path} = {number}: {other:?}"),
    }
}

#[test]
fn trust_region() {
    for bad in [0.0, -1.0, NAN, INF] {
        check_option("trust_region.initial_radius", bad, |o| {
            o.trust_region.initial_radius = bad
        });
        check_option("trust_region.final_radius", bad, |o| {
            o.trust_region.final_radius = bad
        });
    }
    for bad in [0.1, 0.2] {
        check_option("trust_region.final_radius", bad, |o| {
            o.trust_region.final_radius = bad
        });
    }
    for bad in [0.01, NAN, INF, -1.0] {
        check_option("trust_region.max_radius", bad, |o| {
            o.trust_region.max_radius = bad
        });
    }
    for bad in [0.0, 1.0, -0.1, NAN, INF] {
        check_option("trust_region.eta1", bad, |o| o.trust_region.eta1 = bad);
        check_option("trust_region.gamma_dec", bad, |o| {
            o.trust_region.gamma_dec = bad
        });
        check_option("trust_region.alpha1", bad, |o| o.trust_region.alpha1 = bad);
        check_option("trust_region.alpha2", bad, |o| o.trust_region.alpha2 = bad);
        check_option("trust_region.safety", bad, |o| o.trust_region.safety = bad);
    }
    for bad in [0.05, 1.0, NAN, INF] {
        check_option("trust_region.eta2", bad, |o| o.trust_region.eta2 = bad);
    }
    for bad in [1.0, 0.5, NAN, INF] {
        check_option("trust_region.gamma_inc", bad, |o| {
            o.trust_region.gamma_inc = bad
        });
        check_option("trust_region.gamma_inc_step", bad, |o| {
            o.trust_region.gamma_inc_step = bad
        });
    }
}

#[test]
fn accuracy() {
    let check_dynamic = |path: &str, bad: f64, set: &dyn Fn(&mut Dynamic)| {
        let mut rules = Dynamic::default();
        set(&mut rules);
        check_option(path, bad, |o| o.accuracy = AccuracyControl::Dynamic(rules));
    };
    for bad in [0.0, -0.1, 0.05, 0.3, NAN] {
        check_dynamic("accuracy.eta1_prime", bad, &|rules| rules.eta1_prime = bad);
    }
    for bad in [0.0, -1.0, NAN, INF] {
        check_dynamic("accuracy.kappa_inc", bad, &|rules| rules.kappa_inc = bad);
        check_dynamic("accuracy.model_constant", bad, &|rules| {
            rules.model_constant = Some(bad)
        });
    }
    for bad in [-1.0, NAN] {
        check_dynamic("accuracy.signal", bad, &|rules| rules.signal = bad);
    }
    for bad in [0.5, -1.0, NAN] {
        check_dynamic("accuracy.stale", bad, &|rules| rules.stale = Some(bad));
    }
    let check_experiments = |path: &str, bad: f64, set: &dyn Fn(&mut ExperimentRules)| {
        let mut rules = ExperimentRules::default();
        set(&mut rules);
        check_option_of(Options::experiments(), path, bad, |o| {
            o.accuracy = AccuracyControl::Experiments(rules);
        });
    };
    for bad in [0.0, -0.1, 0.06, NAN] {
        check_experiments("accuracy.eta1_prime", bad, &|rules| rules.eta1_prime = bad);
    }
    for bad in [0.0, -1.0, NAN, INF] {
        check_experiments("accuracy.model_constant", bad, &|rules| {
            rules.model_constant = bad
        });
    }
    for bad in [-1.0, NAN] {
        check_experiments("accuracy.floor", bad, &|rules| rules.floor = bad);
    }
    assert!(Accuracy::new(NAN).is_err());
    let text = Accuracy::new(-1.0).expect_err("negative").to_string();
    assert_eq!(text, "the accuracy is -1, but must be zero or positive");
}

#[test]
fn algorithm_and_model() {
    for bad in [0.0, -1.0, NAN, INF] {
        let mut parameters = PaperParameters::default();
        parameters.epsilon = bad;
        check_option_of(Options::paper(), "algorithm.epsilon", bad, |o| {
            o.algorithm = Algorithm::Paper(parameters);
        });
    }
    for bad in [1.0, 0.0, NAN, INF] {
        let mut parameters = PaperParameters::default();
        parameters.poisedness = bad;
        check_option_of(Options::paper(), "algorithm.poisedness", bad, |o| {
            o.algorithm = Algorithm::Paper(parameters);
        });
    }
    for bad in [0.5, 0.0, NAN, INF] {
        check_option("model.points_per_param", bad, |o| {
            o.model = Model::Composite {
                points_per_param: bad,
            };
        });
        check_option("model.points_per_param", bad, |o| {
            o.model = Model::Regression {
                points_per_param: bad,
            };
        });
    }
    for (bad, found) in [(0, 0.0), (3, 3.0)] {
        check_option("initial.num_directions", found, |o| {
            o.initial.num_directions = Some(bad)
        });
    }
    for bad in [0.0, -1.0, NAN, INF] {
        check_option("scaling", bad, |o| {
            o.scaling = Scaling::Given(vec![1.0, bad])
        });
    }
}

#[test]
fn limits() {
    for bad in [-1.0, NAN] {
        check_option("noise.level", bad, |o| {
            o.noise.level = Some(NoiseLevel::Additive(bad))
        });
        check_option("noise.level", bad, |o| {
            o.noise.level = Some(NoiseLevel::Multiplicative(bad))
        });
    }
    check_option("noise.samples", 0.0, |o| {
        o.noise.samples = Samples::Fixed(0)
    });
    check_option("noise.samples", 0.0, |o| {
        o.noise.samples = Samples::Growing { max: 0 }
    });
    for bad in [-1.0, NAN] {
        let mut slow = SlowProgress::default();
        slow.rate = bad;
        check_option("slow.rate", bad, |o| o.slow = Some(slow));
    }
    let mut slow = SlowProgress::default();
    slow.history = 0;
    check_option("slow.history", 0.0, |o| o.slow = Some(slow));
    check_option("batch", 0.0, |o| o.batch = 0);
    check_option("target", NAN, |o| o.target = Some(NAN));
    check_option("budget.max_points", 0.0, |o| o.budget.max_points = Some(0));
    check_option("budget.max_evaluations", 0.0, |o| {
        o.budget.max_evaluations = Some(0)
    });
    check_option("budget.max_work", 0.0, |o| o.budget.max_work = Some(0));
    check_option("budget.max_time", 0.0, |o| {
        o.budget.max_time = Some(Duration::ZERO)
    });
}

/// The presets and every documented limit are allowed.
#[test]
fn presets_and_documented_limits_are_allowed() {
    let mut wide = Options::default();
    wide.trust_region.max_radius = wide.trust_region.initial_radius;
    wide.target = Some(-1.0);
    let mut restarting = Options::noisy();
    let mut restarts = Restarts::default();
    restarts.num_moved = 0;
    restarts.max_unsuccessful = 0;
    restarting.restarts = Some(restarts);
    for options in [
        Options::default(),
        Options::noisy(),
        Options::paper(),
        Options::experiments(),
        wide,
        restarting,
    ] {
        assert_eq!(options.validate(2), Ok(()));
        assert!(Engine::<()>::new(plain(), 1, options).is_ok());
    }
}
