//! The plan: which runs are made, their order, and an estimate of their time.

use std::collections::BTreeMap;
use std::time::Instant;

use anyhow::Result;
use bilevel::{LowerLevel, Parameter};
use lowlevel::{Method, Solver, State, Stop, StronglyConvex};

use super::data::DataSource;
use super::record::{Effort, Mode, PaperMethod, RunId, Variant};
use super::results::ReproductionSize;
use super::setting::{DataKind, DataSpec, Setting};

/// A run to be made.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedRun {
    /// The identity of the run.
    pub id: RunId,
    /// The estimated duration in seconds.
    pub seconds: f64,
}

/// Returns all runs of a size.
#[must_use]
pub fn all(settings: &[Setting], size: ReproductionSize) -> Vec<RunId> {
    let mut runs = Vec::new();
    for setting in settings {
        for variant in Variant::ALL {
            for mode in [Mode::Faithful, Mode::Ours] {
                let run = RunId {
                    setting: setting.name.clone(),
                    variant,
                    mode,
                };
                if is_wanted(setting, &run) && (size != ReproductionSize::Plain || !is_slow(&run)) {
                    runs.push(run);
                }
            }
        }
    }
    runs
}

fn is_wanted(setting: &Setting, run: &RunId) -> bool {
    let is_dynamic = run.variant.effort == Effort::Dynamic;
    // The other noise levels only serve Figure 14, which needs dynamic FISTA alone.
    let is_sweep = setting.data.kind == DataKind::Photographs && setting.name != "kodak_sigma1e-1";
    (is_dynamic || run.mode == Mode::Faithful)
        && (!is_sweep || (is_dynamic && run.variant.method == PaperMethod::Fista))
}

/// Whether the run is one of the slowest: FISTA 2,000, GD 1,000 and GD 10,000 on photographs.
pub(super) fn is_slow(run: &RunId) -> bool {
    let is_slow = match run.variant.effort {
        Effort::Dynamic => false,
        Effort::Low => run.variant.method == PaperMethod::Gd,
        Effort::High => true,
    };
    is_slow && run.setting.starts_with("kodak")
}

/// Returns the runs with their estimated durations, the cheap ones first.
///
/// # Errors
/// When the training data cannot be read or generated.
pub fn plan(runs: &[RunId], settings: &[Setting], source: &DataSource) -> Result<Vec<PlannedRun>> {
    let mut clock = IterationTimes::default();
    let mut planned = Vec::new();
    for id in runs {
        let Some(setting) = settings.iter().find(|s| s.name == id.setting) else {
            continue;
        };
        let seconds = clock.seconds(setting, id, source)?;
        planned.push(PlannedRun {
            id: id.clone(),
            seconds,
        });
    }
    planned.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    Ok(planned)
}

/// The duration of iterations on this machine.
#[derive(Default)]
struct IterationTimes {
    /// Seconds of one iteration for one image, by the kind of data, the number of pixels, and
    /// whether an iteration has two gradients.
    measured: BTreeMap<(u8, usize, bool), f64>,
}

impl IterationTimes {
    fn seconds(&mut self, setting: &Setting, id: &RunId, source: &DataSource) -> Result<f64> {
        let DataSpec { kind, images, .. } = setting.data;
        let two_gradients = id.variant.method == PaperMethod::Fista && id.mode == Mode::Faithful;
        let key = (kind as u8, setting.data.pixels, two_gradients);
        let each = match self.measured.get(&key) {
            Some(each) => *each,
            None => {
                let each = measure(setting, two_gradients, source)?;
                self.measured.insert(key, each);
                each
            }
        };
        let iterations = match (id.variant.iterations(setting), id.variant.method) {
            (Some(each), _) => each * setting.evaluations * images as u64,
            (None, PaperMethod::Gd) => setting.expected.gd,
            (None, PaperMethod::Fista) => setting.expected.fista,
        };
        let threads = rayon::current_num_threads().min(images);
        let seconds = each * iterations as f64 / threads as f64;
        Ok(seconds)
    }
}

/// Measures the time of one iteration, from a few of them.
fn measure(setting: &Setting, two_gradients: bool, source: &DataSource) -> Result<f64> {
    let one = DataSpec {
        images: 1,
        ..setting.data
    };
    let pairs = source.pairs(&one)?;
    let pair = &pairs[0];
    let method = if two_gradients {
        Method::FISTA_TWO_GRADIENTS
    } else {
        Method::GRADIENT_DESCENT
    };
    Ok(match setting.data.kind {
        DataKind::Frequencies => time(&setting.frequencies()?, pair, method)?,
        DataKind::Signals | DataKind::Photographs => time(&setting.denoising()?, pair, method)?,
    })
}

fn time<M: LowerLevel>(model: &M, pair: &bilevel::Pair, method: Method) -> Result<f64> {
    let parameters = model.parameters();
    let starts = Parameter::starts_of(&parameters);
    let values = Parameter::values_of(&parameters, &starts);
    let refuse = |error| anyhow::anyhow!("{error}");
    let data = model.prepare(pair.grid, &pair.data).map_err(refuse)?;
    let objective = model.objective(&values, &data).map_err(refuse)?;
    let solver = Solver {
        method,
        ..Solver::default()
    };
    let mut state = State::new(vec![0.0; pair.truth.len()]);
    let mut scratch = objective.scratch();
    let begin = Instant::now();
    let iterations = 60;
    let _ = solver.minimize(
        &objective,
        Stop::Iterations(iterations),
        &mut state,
        &mut scratch,
    )?;
    Ok(begin.elapsed().as_secs_f64() / iterations as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(size: ReproductionSize) -> usize {
        all(&Setting::all().unwrap(), size).len()
    }

    /// Nine experiments with signals or frequencies and one with photographs have six faithful runs
    /// and two of ours. Seven more noise levels have one run each.
    #[test]
    fn all_variants_are_planned() {
        assert_eq!(count(ReproductionSize::Full), 10 * 8 + 7 * 2);
        assert_eq!(
            count(ReproductionSize::Plain),
            count(ReproductionSize::Full) - 3
        );
        assert_eq!(
            count(ReproductionSize::Quick),
            count(ReproductionSize::Full)
        );
    }

    #[test]
    fn cheap_runs_come_first() {
        let settings: Vec<Setting> = Setting::all()
            .unwrap()
            .into_iter()
            .map(Setting::quick)
            .collect();
        let source = DataSource {
            seed: None,
            kodak: None,
        };
        let runs = all(&settings, ReproductionSize::Quick);
        let planned = plan(&runs, &settings, &source).unwrap();
        assert_eq!(planned.len(), runs.len());
        assert!(planned.is_sorted_by(|a, b| a.seconds <= b.seconds));
        assert!(planned.iter().all(|run| run.seconds > 0.0));
    }
}
