//! Tests that every claim holds for synthetic runs, and fails when a number of them is wrong.

mod synthetic;
mod wrong;

use std::path::Path;

use bilevel::Pair;
use imaging::Grid;

use super::{Claim, Convergence, check, data, failed, headline};
use crate::reproduce::data::DataSource;
use crate::reproduce::record::{Effort, Mode, PaperMethod, RunId, RunOutcome, RunRecord, Variant};
use crate::reproduce::results::{ReproductionSize, Results};
use crate::reproduce::setting::Setting;
use synthetic::{bounds, results};

fn holds(claims: &[Claim], id: &str) -> Option<bool> {
    let claim = claims.iter().find(|claim| claim.id == id);
    claim
        .unwrap_or_else(|| panic!("no claim is called {id}"))
        .holds
}

/// Changes the runs that match a pattern such as `mri.*_low.faithful`, where `*` stands for any
/// text. At least one run must match.
fn change(results: &mut Results, pattern: &str, change: impl Fn(&mut RunRecord)) {
    let fits = |name: &str| {
        let mut parts = pattern.split('.').zip(name.split('.'));
        parts.all(|(pattern, part)| match pattern.strip_prefix('*') {
            Some(end) => part.ends_with(end),
            None => part == pattern,
        })
    };
    let runs = results.records.iter_mut();
    let mut num = 0;
    for (_, record) in runs.filter(|(id, _)| fits(&id.to_string())) {
        change(record);
        num += 1;
    }
    assert!(num > 0, "{pattern}");
}

fn set(name: &str, value: f64) -> impl Fn(&mut RunRecord) {
    move |record| {
        record.outcome.params.insert(name.to_owned(), value);
    }
}

fn exact(f: f64) -> impl Fn(&mut RunRecord) {
    move |record| record.outcome.f_exact = f
}

/// Multiplies the cost of all evaluations by this factor.
fn work(factor: u64) -> impl Fn(&mut RunRecord) {
    move |record| {
        for evaluation in &mut record.evaluations {
            evaluation.lower_iterations *= factor;
        }
        for iterate in &mut record.iterates {
            iterate.lower_iterations *= factor;
        }
    }
}

#[test]
fn good_runs_pass() {
    let claims = check(&results(), &bounds());
    for claim in &claims {
        let expected = match claim.id.as_str() {
            // The synthetic results have no photographs.
            "data/photographs" => None,
            "1-parameter/later evaluations" | "3-parameter/faster than low accuracy" => Some(false),
            _ => Some(true),
        };
        assert_eq!(claim.holds, expected, "{}: {}", claim.id, claim.measured);
        assert!(
            !claim.measured.is_empty() && !claim.expected.is_empty() && !claim.source.is_empty()
        );
    }
    assert!(failed(&claims).is_empty());
    let mut ids: Vec<&str> = claims.iter().map(|claim| claim.id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), claims.len());
}

#[test]
fn doubtful_claims_can_hold_and_never_fail_the_program() {
    let mut results = results();
    change(&mut results, "denoise3_beta1e-6.*_low.faithful", work(1000));
    change(
        &mut results,
        "denoise1_start0.*_dynamic.faithful",
        |record| {
            for evaluation in record.evaluations.iter_mut().skip(2) {
                evaluation.lower_iterations = 100;
            }
        },
    );
    let claims = check(&results, &[]);
    for id in [
        "3-parameter/faster than low accuracy",
        "1-parameter/later evaluations",
    ] {
        assert_eq!(holds(&claims, id), Some(true), "{id}");
    }
    let doubtful = |claim: &&Claim| !claim.expected_to_hold;
    assert!(failed(&claims).into_iter().filter(doubtful).count() == 0);
}

#[test]
fn nan_holds_nowhere() {
    let mut results = results();
    for record in results.records.values_mut() {
        let outcome = &mut record.outcome;
        (outcome.f, outcome.f_exact, outcome.psnr) = (f64::NAN, f64::NAN, f64::NAN);
        outcome.theta.fill(f64::NAN);
        for value in outcome.params.values_mut() {
            *value = f64::NAN;
        }
        for evaluation in &mut record.evaluations {
            evaluation.f = f64::NAN;
        }
        for iterate in &mut record.iterates {
            iterate.f = f64::NAN;
        }
    }
    // These claims are about iterations only.
    let counts = [
        "1-parameter/first evaluations",
        "1-parameter/ill-conditioned starts",
    ];
    for claim in check(&results, &bounds()) {
        let is_other = claim.id.starts_with("data/")
            || claim.id.starts_with("bounds/")
            || claim.id.ends_with("/total")
            || counts.contains(&claim.id.as_str());
        assert!(
            is_other || claim.holds != Some(true),
            "{}: {}",
            claim.id,
            claim.measured
        );
    }
}

#[test]
fn claims_without_runs_or_authors_data_are_not_checked() {
    let mut missing = results();
    missing.records.clear();
    for claim in check(&missing, &[]) {
        let is_data = claim.id.starts_with("data/") && claim.id != "data/photographs";
        assert_eq!(claim.holds, is_data.then_some(true), "{}", claim.id);
        assert!(is_data || claim.measured.starts_with("not checked: "));
    }
    let mut random = results();
    random.source.seed = Some(1);
    let claims = check(&random, &bounds());
    for id in [
        "data/1-parameter",
        "1-parameter/optimum",
        "archive/mri/evaluations",
        "3-parameter/region",
        "sampling/active modes",
    ] {
        assert_eq!(holds(&claims, id), None, "{id}");
    }
    for id in [
        "1-parameter/same alpha",
        "sampling/GD is 100 times faster",
        "truth/ours",
        "photographs/same alpha",
    ] {
        assert_eq!(holds(&claims, id), Some(true), "{id}");
    }
    let mut leaves = results();
    leaves.source.kodak = None;
    let claims = check(&leaves, &bounds());
    assert_eq!(holds(&claims, "photographs/first evaluation"), None);
    assert_eq!(holds(&claims, "photographs/optimum, ours"), None);
    assert_eq!(holds(&claims, "photographs/same objective"), Some(true));
}

#[test]
fn some_claims_are_checked_with_reduced_budgets() {
    let mut quick = results();
    quick.size = ReproductionSize::Quick;
    quick.settings = quick.settings.into_iter().map(Setting::quick).collect();
    let claims = check(&quick, &bounds());
    for claim in &claims {
        let survives = [
            "data/1",
            "data/3",
            "data/s",
            "bounds/",
            "truth/",
            "1-parameter/",
            "archive/denoise1",
        ]
        .iter()
        .any(|start| claim.id.starts_with(start))
            || [
                "archive/mri/evaluations",
                "archive/denoise3_beta1e-6/evaluations",
                "archive/denoise3_beta1e-6/first evaluations",
            ]
            .contains(&claim.id.as_str());
        assert_eq!(
            claim.holds.is_some(),
            survives,
            "{}: {}",
            claim.id,
            claim.measured
        );
    }
    assert!(failed(&claims).is_empty());
}

/// The archived runs, replayed as if they had been made here, give the factors of section 12 of the
/// reference archive's FACTS.md.
#[test]
fn archived_factors_are_known() {
    for row in headline::table(&results()) {
        let expected: [f64; 2] = match (row.setting.as_str(), row.method) {
            ("mri", PaperMethod::Gd) => [121.0, 92.0],
            ("mri", PaperMethod::Fista) => [72.0, 61.0],
            ("denoise1_start0", PaperMethod::Gd) => [0.23, 0.22],
            ("denoise1_start0", PaperMethod::Fista) => [1.9, 2.7],
            ("kodak_sigma1e-1", PaperMethod::Gd) => [209.0, 54.0],
            ("kodak_sigma1e-1", PaperMethod::Fista) => [86.0, 25.0],
            _ => continue,
        };
        for (index, expected) in expected.into_iter().enumerate() {
            let archived = row.archived.and_then(|all| all[index]?.factor());
            let faithful = row.faithful.and_then(|all| all[index].factor());
            for found in [archived, faithful] {
                let found = found.unwrap();
                assert!((found / expected - 1.0).abs() < 0.05, "{row:?}: {found}");
            }
        }
    }
}

/// The checksums are those of the authors' arrays.
#[test]
fn golden_data_are_the_authors() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/reference/data");
    if !folder.exists() {
        return;
    }
    // Bytes 8 and 9 of a .npy file have the length of its header; the numbers follow it.
    let signals = |name: &str, length: usize| -> Vec<Vec<f64>> {
        let bytes = std::fs::read(folder.join(name)).unwrap();
        let start = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
        let numbers: Vec<f64> = (bytes[start..].chunks_exact(8))
            .map(|number| f64::from_le_bytes(number.try_into().unwrap()))
            .collect();
        numbers.chunks_exact(length).map(<[f64]>::to_vec).collect()
    };
    let pairs = |truths: Vec<Vec<f64>>, noisy: Vec<Vec<f64>>, grid: Grid| -> Vec<Pair> {
        let pair = |(truth, data)| Pair { grid, truth, data };
        truths.into_iter().zip(noisy).map(pair).collect()
    };
    for (name, golden) in [
        ("denoise1", data::ONE_PARAMETER),
        ("denoise3", data::THREE_PARAMETERS),
    ] {
        let (truths, noisy) = (
            signals(&format!("{name}_true.npy"), 256),
            signals(&format!("{name}_noisy.npy"), 256),
        );
        assert_eq!(
            DataSource::fingerprint(&pairs(truths, noisy, Grid::line(256))),
            golden
        );
    }
    let truths = signals("mri_true.npy", 64).into_iter();
    let truths = truths.map(|truth| truth.iter().flat_map(|&x| [x, 0.0]).collect());
    let noisy = signals("mri_noisy.npy", 128);
    let all = pairs(truths.collect(), noisy, Grid::line(64).complex());
    assert_eq!(data::rounded(&all), data::SAMPLING);
}
