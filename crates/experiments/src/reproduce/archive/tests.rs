//! Tests that the bundled files have the numbers of the paper's figures and of the reference
//! archive.

use super::*;
use crate::reproduce::record::PaperMethod::{Fista, Gd};
use crate::reproduce::record::{Effort, PaperMethod};
use crate::reproduce::setting::{DataKind, Setting};

mod rule;

fn get(setting: &str, method: PaperMethod, effort: Effort) -> &'static ArchivedRun {
    run(setting, Variant::new(method, effort)).unwrap()
}

/// Returns the total iterations in the order of [`Variant::ALL`].
fn totals(setting: &str) -> [u64; 6] {
    Variant::ALL.map(|variant| run(setting, variant).unwrap().total)
}

#[test]
fn every_file_says_where_it_is_from() {
    for (name, text) in FILES.iter().chain(&[("noise_sweep", NOISE_SWEEP)]) {
        let file: serde_json::Value = serde_json::from_str(text).unwrap();
        for field in ["provenance", "digits"] {
            assert!(file[field].as_str().unwrap().len() > 10, "{name}: {field}");
        }
    }
    let size: usize = FILES.iter().map(|(_, text)| text.len()).sum();
    assert!(size < 400_000, "{size} bytes");
}

#[test]
fn nothing_is_made_up() {
    let settings = Setting::all().unwrap();
    for setting in &settings {
        let is_archived = FILES.iter().any(|(name, _)| *name == setting.name);
        for variant in Variant::ALL {
            assert_eq!(run(&setting.name, variant).is_some(), is_archived);
        }
    }
    let is_setting = |name: &str| settings.iter().any(|setting| setting.name == name);
    assert!(FILES.iter().all(|(name, _)| is_setting(name)));
    assert_eq!(run("no such setting", Variant::ALL[0]), None);
}

/// Figures 4d, 8b, 12b and 15b.
#[test]
fn totals_are_the_ones_of_the_figures() {
    let expected = [200_000, 2_000_000, 2_840_728, 40_000, 400_000, 92_876];
    assert_eq!(totals("denoise1_start0"), expected);
    let expected = [
        2_000_000, 20_000_000, 2_531_768, 400_000, 4_000_000, 226_992,
    ];
    assert_eq!(totals("denoise3_beta1e-6"), expected);
    let expected = [
        5_000_000, 50_000_000, 1_191_430, 1_000_000, 10_000_000, 427_466,
    ];
    assert_eq!(totals("kodak_sigma1e-1"), expected);
    let expected = [
        3_870_000,
        300_000_000,
        13_932_105,
        6_000_000,
        60_000_000,
        7_226_303,
    ];
    assert_eq!(totals("mri"), expected);
}

/// Figure 6c: the dynamic variants are fastest from `$\theta^0 = -2$`. GD 1,000 ended early.
#[test]
fn another_start_has_its_own_totals() {
    let expected = [180_000, 2_000_000, 650_110, 40_000, 400_000, 50_286];
    assert_eq!(totals("denoise1_start-2"), expected);
}

/// Figure 16: white bars.
#[test]
fn five_variants_keep_the_same_32_frequencies() {
    let ranges = [
        0..=7,
        10..=13,
        16..=16,
        21..=21,
        23..=23,
        27..=27,
        29..=29,
        44..=44,
        46..=47,
        50..=50,
        52..=52,
        54..=63,
    ];
    let expected: Vec<usize> = ranges.into_iter().flatten().collect();
    assert_eq!(expected.len(), 32);
    for variant in Variant::ALL {
        let theta = &run("mri", variant).unwrap().theta;
        let active: Vec<usize> = (0..64).filter(|&j| theta[j] > 0.001).collect();
        if variant == Variant::new(Gd, Effort::Low) {
            assert_eq!(active.len(), 26);
        } else {
            assert_eq!(active, expected, "{}", variant.name());
        }
    }
}

/// Figures 4a, 4c, 8a, 12 and 15a, to the digits of the table of figures.
#[test]
fn curves_end_where_the_figures_do() {
    let end = |curve: &[[f64; 2]]| curve.last().unwrap()[1];
    let near = |value: f64, expected: f64, tolerance: f64| {
        assert!((value - expected).abs() <= tolerance, "{value} {expected}");
    };
    for (variant, f, alpha) in [
        (Variant::new(Fista, Effort::Low), 1.563, 1.16),
        (Variant::new(Gd, Effort::Low), 1.474, 3.12),
        (Variant::new(Gd, Effort::High), 1.3715, 0.484),
        (Variant::new(Fista, Effort::High), 1.3715, 0.484),
    ] {
        let archived = run("denoise1_start0", variant).unwrap();
        near(end(&archived.objective), f, 6e-4);
        near(end(&archived.parameters["alpha"]), alpha, 4e-3);
    }
    for method in [Gd, Fista] {
        let archived = get("denoise1_start0", method, Effort::Dynamic);
        near(archived.params["alpha"], 0.491, 5e-4);
        near(get("mri", method, Effort::Dynamic).f, 0.4783, 5e-5);
    }
    near(get("mri", Gd, Effort::Low).f, 0.910, 5e-4);
    near(get("mri", Gd, Effort::Low).f_exact, 1.066, 5e-4);
    let kodak = get("kodak_sigma1e-1", Fista, Effort::Dynamic);
    near(kodak.f, 3203.2, 0.05);
    for (name, value) in [("alpha", 0.0702), ("nu", 0.0053), ("xi", 0.00407)] {
        near(kodak.params[name], value, 0.01 * value);
        near(end(&kodak.parameters[name]), value, 0.01 * value);
    }
    assert!(kodak.f_exact.is_nan() && kodak.f_error.is_nan());
}

/// Parts of a run say the same.
#[test]
fn runs_are_consistent() {
    for setting in Setting::all().unwrap() {
        for archived in Variant::ALL
            .iter()
            .filter_map(|variant| run(&setting.name, *variant))
        {
            let digitised = setting.data.kind == DataKind::Photographs;
            let learned = setting.learned();
            assert_eq!(archived.theta.len(), learned.len());
            if setting.sampling.is_none() {
                assert!(
                    archived
                        .parameters
                        .keys()
                        .all(|name| learned.contains(name))
                );
                assert_eq!(archived.parameters.len(), learned.len());
                for (theta, name) in archived.theta.iter().zip(&learned) {
                    let ratio = 10_f64.powf(*theta) / archived.params[name];
                    assert!((ratio - 1.0).abs() < 1e-6, "{name} {ratio}");
                }
            }
            assert_eq!(archived.lower_iterations.len(), archived.objectives.len());
            assert_eq!(archived.lower_iterations.is_empty(), digitised);
            let mut sums = archived.cumulative.iter();
            let mut sum = 0;
            for (index, iterations) in archived.lower_iterations.iter().enumerate() {
                sum += iterations;
                let number = (index + 1) as f64;
                if let Some(point) = sums.clone().find(|point| point[0] >= number) {
                    assert!(point[0] > number || (point[1] - sum as f64).abs() < 0.5);
                }
            }
            let last = sums.next_back().unwrap();
            let ends = [archived.evaluations.to_string(), archived.total.to_string()];
            assert_eq!(last.map(|x| x.to_string()), ends);
            let curves = archived.parameters.values();
            for curve in curves.chain([&archived.cumulative, &archived.objective]) {
                assert!(curve.len() > 1 && curve.windows(2).all(|p| p[0][0] <= p[1][0]));
                assert!(curve.iter().flatten().all(|x| x.is_finite() && *x > 0.0));
            }
        }
    }
}

/// Figure 14: both curves fall with the noise. The digits are the ones of the table of figures.
#[test]
fn less_noise_less_of_everything() {
    let alphas = [
        7.023e-2, 2.884e-3, 5.206e-5, 1.146e-6, 1.931e-8, 1.115e-8, 4.668e-9, 7.484e-10,
    ];
    let sweep = noise_sweep();
    assert_eq!(sweep.len(), alphas.len());
    for (exponent, ([sigma, alpha, ratio], expected)) in (1..).zip(sweep.iter().zip(alphas)) {
        assert!((sigma / 10_f64.powi(-exponent) - 1.0).abs() < 1e-12);
        assert!((alpha / expected - 1.0).abs() < 5e-4);
        assert!((ratio * alpha / sigma.powi(2) - 1.0).abs() < 1e-5);
    }
    assert!(
        sweep
            .windows(2)
            .all(|p| p[0][1] > p[1][1] && p[0][2] > p[1][2])
    );
}
