//! Automatic scaling: curve fits without bounds, with parameters of very different size and starts
//! that are off by factors.

use dfo_ls::{FnOracle, Options, Problem, Scaling, minimize};

/// A curve, the points where it is measured, and the true parameters.
struct Fit {
    truth: &'static [f64],
    points: Vec<f64>,
    curve: fn(&[f64], f64) -> f64,
}

fn between(from: f64, to: f64, count: u32) -> Vec<f64> {
    let step = (to - from) / f64::from(count - 1);
    (0..count).map(|i| from + step * f64::from(i)).collect()
}

fn options() -> Options {
    let mut options = Options::default();
    options.budget.max_evaluations = Some(2000);
    options
}

/// Fits the curve from starts that are the truth times each of the `starts`.
fn check(fit: &Fit, options: &Options, starts: &[&[f64]]) {
    let data: Vec<f64> = fit
        .points
        .iter()
        .map(|&x| (fit.curve)(fit.truth, x))
        .collect();
    for factors in starts {
        let start: Vec<f64> = fit.truth.iter().zip(*factors).map(|(t, f)| t * f).collect();
        let mut oracle = FnOracle::new(data.len(), |theta: &[f64], r: &mut [f64]| {
            for ((r, &x), y) in r.iter_mut().zip(&fit.points).zip(&data) {
                *r = (fit.curve)(theta, x) - y;
            }
        });
        let report =
            minimize(&mut oracle, Problem::new(start), options.clone()).expect("a valid problem");
        let errors = report
            .theta
            .iter()
            .zip(fit.truth)
            .map(|(a, b)| (a / b - 1.0).abs());
        let worst = errors.fold(0.0, f64::max);
        assert!(
            worst <= 1e-4,
            "{factors:?}: {:?} after {:?}",
            report.theta,
            report.termination
        );
    }
}

/// Fits the curve with the default options.
fn check_default(fit: &Fit, starts: &[&[f64]]) {
    check(fit, &options(), starts);
}

#[test]
fn a_slow_decay() {
    let fit = Fit {
        truth: &[500.0, 1e-6],
        points: between(0.0, 1e6, 30),
        curve: |p, t| p[0] * (-p[1] * t).exp(),
    };
    check_default(
        &fit,
        &[
            &[2.0, 0.5],
            &[0.5, 2.0],
            &[5.0, 3.0],
            &[0.2, 0.2],
            &[0.2, 5.0],
            &[5.0, 0.2],
        ],
    );
    let with_offset = Fit {
        truth: &[500.0, 3e-6, 20.0],
        points: between(0.0, 1e6, 30),
        curve: |p, t| p[0] * (-p[1] * t).exp() + p[2],
    };
    check_default(
        &with_offset,
        &[
            &[2.0, 0.5, 2.0],
            &[0.5, 2.0, 0.5],
            &[3.0, 3.0, 0.3],
            &[0.3, 0.3, 3.0],
            &[0.2, 5.0, 5.0],
        ],
    );
}

/// A fast strong decay and a slow weak one.
#[test]
fn two_decays() {
    let fit = Fit {
        truth: &[1000.0, 1e-3, 50.0, 2e-5],
        points: between(0.0, 1e5, 200),
        curve: |p, t| p[0] * (-p[1] * t).exp() + p[2] * (-p[3] * t).exp(),
    };
    check_default(
        &fit,
        &[
            &[0.5, 2.0, 2.0, 0.5],
            &[2.0, 0.5, 0.5, 2.0],
            &[3.0, 3.0, 0.3, 0.3],
            &[2.0, 2.0, 2.0, 2.0],
        ],
    );
}

/// Saturation at concentrations of nanomoles, with a rate of the same size or of another.
#[test]
fn michaelis_menten() {
    for truth in [&[2e-9, 5e-9], &[120.0, 5e-9]] {
        let fit = Fit {
            truth,
            points: between(0.5e-9, 3e-8, 20),
            curve: |p, s| p[0] * s / (p[1] + s),
        };
        check_default(
            &fit,
            &[
                &[2.0, 0.5],
                &[0.5, 2.0],
                &[3.0, 3.0],
                &[0.2, 5.0],
                &[5.0, 0.2],
                &[0.2, 0.2],
            ],
        );
    }
}

/// The logarithm of a rate, and the rate itself.
#[test]
fn arrhenius() {
    let logarithm = Fit {
        truth: &[1e13, 5e4],
        points: between(300.0, 800.0, 20),
        curve: |p, t| p[0].ln() - p[1] / (8.314 * t),
    };
    check_default(
        &logarithm,
        &[
            &[2.0, 0.5],
            &[0.5, 2.0],
            &[5.0, 0.5],
            &[0.2, 2.0],
            &[5.0, 5.0],
            &[0.2, 0.2],
        ],
    );
    let rate = Fit {
        truth: &[1e13, 5e4],
        points: between(300.0, 400.0, 20),
        curve: |p, t| p[0] * (-p[1] / (8.314 * t)).exp(),
    };
    check_default(
        &rate,
        &[
            &[2.0, 0.9],
            &[0.5, 1.1],
            &[3.0, 1.05],
            &[0.2, 1.0],
            &[5.0, 1.1],
        ],
    );
}

/// A saturation current and a shunt.
#[test]
fn diode() {
    let fit = Fit {
        truth: &[1e-12, 0.026, 1e-4],
        points: between(0.0, 0.7, 40),
        curve: |p, v| p[0] * ((v / p[1]).exp() - 1.0) + p[2] * v,
    };
    check_default(
        &fit,
        &[
            &[2.0, 1.1, 0.5],
            &[0.5, 0.95, 2.0],
            &[3.0, 1.2, 2.0],
            &[5.0, 1.1, 0.2],
        ],
    );
}

#[test]
fn power_law() {
    let fit = Fit {
        truth: &[3e-4, 2.5],
        points: between(1.0, 1e4, 40),
        curve: |p, x| p[0] * x.powf(p[1]),
    };
    check_default(
        &fit,
        &[
            &[2.0, 0.8],
            &[0.5, 1.2],
            &[5.0, 0.5],
            &[0.2, 1.5],
            &[3.0, 1.3],
        ],
    );
}

#[test]
fn damped_oscillation() {
    let fit = Fit {
        truth: &[1e-3, 2e5, 3e4, 0.4],
        points: between(0.0, 1e-4, 100),
        curve: |p, t| p[0] * (-p[2] * t).exp() * (p[1] * t + p[3]).cos(),
    };
    check_default(
        &fit,
        &[
            &[2.0, 1.1, 0.5, 0.5],
            &[0.5, 0.9, 2.0, 2.0],
            &[3.0, 1.05, 3.0, -1.0],
        ],
    );
}

/// The start does not show the scale on which the position matters, so units must be given.
#[test]
fn a_peak_far_from_zero() {
    let fit = Fit {
        truth: &[40.0, 1e9, 1e6],
        points: between(0.995e9, 1.005e9, 60),
        curve: |p, x| p[0] * (-0.5 * ((x - p[1]) / p[2]).powi(2)).exp(),
    };
    let mut options = options();
    options.scaling = Scaling::Given(vec![40.0, 1e6, 1e6]);
    check(
        &fit,
        &options,
        &[
            &[2.0, 1.0005, 2.0],
            &[0.5, 0.9995, 3.0],
            &[0.3, 1.001, 2.0],
            &[0.5, 1.0, 0.4],
        ],
    );
}
