//! Small invented runs for tests.

use std::collections::BTreeMap;

use super::super::data::DataSource;
use super::super::record::{Evaluation, Iterate, Mode, RunId, RunOutcome, RunRecord, Variant};
use super::super::results::{ReproductionSize, Results};
use super::super::setting::Setting;

/// Returns a run with one learned parameter: evaluations `(f, f_error, lower_iterations)` at
/// theta = -1, -2, ..., and iterates `(theta, f, f_error, evaluations, lower_iterations)`.
pub(super) fn record(
    setting: &str,
    variant: Variant,
    evaluations: &[(f64, f64, u64)],
    iterates: &[(f64, f64, f64, usize, u64)],
) -> RunRecord {
    let evaluations: Vec<Evaluation> = (evaluations.iter().zip(1_u32..))
        .map(|(&(f, f_error, lower_iterations), count)| Evaluation {
            theta: vec![-f64::from(count)],
            f,
            f_error,
            delta: 0.1,
            again: false,
            lower_iterations,
            gradients: lower_iterations,
        })
        .collect();
    let iterate = |&(theta, f, f_error, evaluations, lower_iterations)| Iterate {
        theta: vec![theta],
        f,
        f_error,
        evaluations,
        lower_iterations,
        radius: 0.1,
    };
    RunRecord {
        id: RunId {
            setting: setting.to_owned(),
            variant,
            mode: Mode::Faithful,
        },
        names: vec!["alpha".to_owned()],
        evaluations,
        iterates: iterates.iter().map(iterate).collect(),
        outcome: outcome(vec![-1.0], 2.0),
    }
}

fn outcome(theta: Vec<f64>, f: f64) -> RunOutcome {
    RunOutcome {
        theta,
        params: BTreeMap::new(),
        f,
        f_error: 0.1,
        f_exact: f,
        psnr: 20.0,
        seconds: 0.0,
        termination: "made up".to_owned(),
    }
}

/// Returns all experiments with two images of this many pixels, and an invented run for each of
/// `runs`.
pub(super) fn results(
    size: ReproductionSize,
    pixels: usize,
    runs: impl IntoIterator<Item = RunId>,
) -> Results {
    let mut settings = Setting::all().unwrap();
    for setting in &mut settings {
        setting.data.images = 2;
        setting.data.pixels = pixels;
    }
    let source = DataSource {
        seed: None,
        kodak: None,
    };
    let mut results = Results {
        size,
        settings,
        records: BTreeMap::new(),
        source,
    };
    for id in runs {
        let setting = results.setting(&id.setting).unwrap();
        let record = made_up(setting, id.clone());
        results.records.insert(id, record);
    }
    results
}

/// Returns an invented run with six evaluations and four iterations.
fn made_up(setting: &Setting, id: RunId) -> RunRecord {
    let names = setting.learned();
    let start: Vec<f64> = match setting.sampling {
        Some(sampling) => vec![sampling.start; names.len()],
        None => vec![-0.5; names.len()],
    };
    let mut evaluations = Vec::new();
    let mut iterates = Vec::new();
    let mut work = 0;
    for count in 1..=6_u32 {
        let theta: Vec<f64> = match setting.sampling {
            Some(sampling) => (start.iter().zip(0_u32..))
                .map(|(start, j)| {
                    if j % 2 == count % 2 {
                        sampling.lower
                    } else {
                        *start
                    }
                })
                .collect(),
            None => start.iter().map(|x| x - 0.1 * f64::from(count)).collect(),
        };
        let (f, f_error) = (3.0 + 20.0 / f64::from(count), 5.0 / f64::from(count));
        if count > 2 {
            iterates.push(Iterate {
                theta: theta.clone(),
                f,
                f_error,
                evaluations: usize::try_from(count).unwrap() - 1,
                lower_iterations: work,
                radius: 0.1,
            });
        }
        work += 1000;
        evaluations.push(Evaluation {
            theta,
            f,
            f_error,
            delta: 0.1,
            again: false,
            lower_iterations: 1000,
            gradients: 1000,
        });
    }
    let outcome = outcome(evaluations[5].theta.clone(), evaluations[5].f);
    RunRecord {
        id,
        names,
        evaluations,
        iterates,
        outcome,
    }
}
