//! Making one run: its inputs are an experiment, a variant and an algorithm, its result is a
//! record.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use bilevel::{
    LearningProblem, Loss, LowerLevel, Pair, Parameter, Residuals, Scale, Setup, learning_options,
};
use dfo_ls::{
    Accuracy, AccuracyControl, Engine, Limit, Options, Problem, Report, ResidualOracle,
    Termination, drive_with,
};
use lowlevel::Method;

use super::exact::exact;
use super::faithful::{FaithfulOracle, FaithfulRules};
use super::iterates::iterates;
use super::problem::ReorderedDenoising;
use super::record::{Effort, Evaluation, Mode, PaperMethod, RunId, RunOutcome, RunRecord};
use super::setting::{DataKind, Setting};

/// Makes a run. Calls `progress` with the number of evaluations so far.
///
/// # Errors
/// When the experiment's settings are wrong, or no evaluation succeeds.
pub fn run(
    setting: &Setting,
    id: &RunId,
    pairs: Vec<Pair>,
    progress: &mut dyn FnMut(usize),
) -> Result<RunRecord> {
    let inputs = RunInputs { setting, id, pairs };
    match (setting.data.kind, id.mode) {
        (DataKind::Frequencies, Mode::Faithful) => {
            inputs.faithful(&setting.frequencies()?, progress)
        }
        (DataKind::Frequencies, Mode::Ours) => inputs.ours(&setting.frequencies()?, progress),
        (DataKind::Signals | DataKind::Photographs, Mode::Faithful) => {
            let model = ReorderedDenoising::new(setting.denoising()?, &setting.learned())?;
            inputs.faithful(&model, progress)
        }
        (DataKind::Signals | DataKind::Photographs, Mode::Ours) => {
            inputs.ours(&setting.denoising()?, progress)
        }
    }
    .with_context(|| id.to_string())
}

/// The inputs of a run.
struct RunInputs<'a> {
    setting: &'a Setting,
    id: &'a RunId,
    pairs: Vec<Pair>,
}

impl RunInputs<'_> {
    fn faithful<M: LowerLevel>(
        self,
        model: &M,
        progress: &mut dyn FnMut(usize),
    ) -> Result<RunRecord> {
        let setting = self.setting;
        let rules = FaithfulRules {
            method: match self.id.variant.method {
                PaperMethod::Gd => Method::GRADIENT_DESCENT,
                PaperMethod::Fista => Method::FISTA_TWO_GRADIENTS,
            },
            iterations: self.id.variant.iterations(setting),
            penalty: setting.penalty,
            zero_residuals: setting.zero_residuals,
            resume: setting.resume,
            max_condition_number: setting.max_condition_number,
        };
        let mut options = Options::experiments();
        options.trust_region.final_radius = setting.final_radius;
        options.budget.max_evaluations = Some(setting.evaluations);
        if rules.iterations.is_some() {
            options.accuracy = AccuracyControl::Fixed(Accuracy::ANY);
        }
        let mut oracle = FaithfulOracle::new(model, self.pairs.clone(), rules);
        let begin = Instant::now();
        let report = drive(&mut oracle, bounds(model)?, options, progress)?;
        let seconds = begin.elapsed().as_secs_f64();
        self.record(model, &report, oracle.evaluations, seconds)
    }

    fn ours<M: LowerLevel>(self, model: &M, progress: &mut dyn FnMut(usize)) -> Result<RunRecord> {
        let setting = self.setting;
        if self.id.variant.effort != Effort::Dynamic {
            bail!("our algorithm has dynamic variants only, without a fixed number of iterations");
        }
        let setup = Setup {
            loss: Loss {
                scale: Scale::Sum,
                residuals: Residuals::Pixel,
            },
            penalties: setting.penalty.to_library(),
            method: match self.id.variant.method {
                PaperMethod::Gd => Method::GRADIENT_DESCENT,
                PaperMethod::Fista => Method::FISTA,
            },
            ..Setup::derivative_free()
        };
        let mut options = learning_options();
        options.budget.max_points = Some(setting.evaluations);
        let mut problem = LearningProblem::new(model, self.pairs.clone(), setup)?;
        let begin = Instant::now();
        let start = problem.solver_problem();
        let report = drive(&mut problem, start, options, progress)?;
        let seconds = begin.elapsed().as_secs_f64();
        let images = self.pairs.len() as u64;
        let root = (images as f64).sqrt();
        let evaluations = (report.evaluations.iter())
            .map(|evaluation| {
                let f = *evaluation.objective.as_ref().unwrap_or(&f64::INFINITY);
                Evaluation {
                    theta: evaluation.theta.clone(),
                    f,
                    f_error: evaluation.achieved.objective_error(f),
                    delta: evaluation.achieved.value() / root,
                    again: evaluation.purpose == dfo_ls::Purpose::Sharpen,
                    // One gradient per image certifies the start of its reconstruction.
                    lower_iterations: evaluation.work.saturating_sub(images),
                    gradients: evaluation.work,
                }
            })
            .collect();
        self.record(model, &report, evaluations, seconds)
    }

    fn record<M: LowerLevel>(
        self,
        model: &M,
        report: &Report,
        evaluations: Vec<Evaluation>,
        seconds: f64,
    ) -> Result<RunRecord> {
        let parameters = model.parameters();
        let fixed = self.setting.parameters.iter();
        let fixed = fixed.filter_map(|p| p.fixed.map(|value| (p.name.clone(), value)));
        let names: Vec<String> = (parameters.iter())
            .flat_map(|p| (0..p.num_entries()).map(|index| p.entry_name(index)))
            .collect();
        let values = Parameter::values_of(&parameters, &report.theta);
        let learned = names.iter().cloned().zip(values);
        let params: BTreeMap<String, f64> = fixed.chain(learned).collect();
        let known = (evaluations.iter().rev())
            .find(|e| e.theta == report.theta)
            .context("the learned parameters were never evaluated")?;
        let exact = exact(
            model,
            &self.pairs,
            self.setting.penalty,
            &report.theta,
            report.objective,
        )?;
        let outcome = RunOutcome {
            theta: report.theta.clone(),
            params,
            f: report.objective,
            f_error: known.f_error,
            f_exact: exact.f,
            psnr: exact.psnr,
            seconds,
            termination: ending(&report.termination),
        };
        Ok(RunRecord {
            id: self.id.clone(),
            names,
            iterates: iterates(&evaluations, report),
            evaluations,
            outcome,
        })
    }
}

/// Returns the reason why a run ended, in words.
fn ending(termination: &Termination) -> String {
    match termination {
        Termination::RadiusReached => "the trust region is small enough".to_owned(),
        Termination::Exhausted(Limit::Evaluations) => {
            "the budget of evaluations is used".to_owned()
        }
        Termination::Exhausted(Limit::Points) => "the budget of points is used".to_owned(),
        other => format!("{other:?}"),
    }
}

fn bounds<M: LowerLevel>(model: &M) -> Result<Problem> {
    let parameters = model.parameters();
    let (lower, upper) = Parameter::bounds_of(&parameters);
    Ok(Problem::new(Parameter::starts_of(&parameters)).with_bounds(lower, upper)?)
}

fn drive<O: ResidualOracle>(
    oracle: &mut O,
    problem: Problem,
    options: Options,
    progress: &mut dyn FnMut(usize),
) -> Result<Report> {
    let mut engine = Engine::new(problem, oracle.num_residuals(), options)?;
    let _ = drive_with(&mut engine, oracle, usize::MAX, |engine, _| {
        progress(engine.state().evaluations().len());
        ControlFlow::<()>::Continue(())
    });
    let report = engine.into_report();
    if !report.objective.is_finite() {
        bail!("no evaluation succeeded: {:?}", report.termination);
    }
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::archive;
    use crate::reproduce::data::DataSource;
    use crate::reproduce::record::Variant;

    fn made(setting: &str, variant: Variant, mode: Mode) -> RunRecord {
        let setting = Setting::all()
            .unwrap()
            .into_iter()
            .find(|s| s.name == setting)
            .unwrap();
        let id = RunId {
            setting: setting.name.clone(),
            variant,
            mode,
        };
        let source = DataSource {
            seed: None,
            kodak: None,
        };
        let pairs = source.pairs(&setting.data).unwrap();
        let mut seen = 0;
        let record = run(&setting, &id, pairs, &mut |evaluations| seen = evaluations).unwrap();
        assert_eq!(seen, record.evaluations.len());
        record
    }

    /// Every point of the authors' curve is the beginning of one of our iterations, with the same
    /// objective and work.
    #[test]
    fn the_authors_iterations_are_repeated() {
        for setting in ["denoise1_start0", "denoise1_start-2"] {
            let variant = Variant::new(PaperMethod::Fista, Effort::Dynamic);
            let record = made(setting, variant, Mode::Faithful);
            let archived = archive::run(setting, variant).unwrap();
            assert!(archived.objective.len() > 5);
            for [work, f] in &archived.objective {
                let is_same = |iterate: &crate::reproduce::record::Iterate| {
                    (iterate.lower_iterations as f64 / work - 1.0).abs() < 1e-7
                        && (iterate.f / f - 1.0).abs() < 1e-7
                };
                assert!(record.iterates.iter().any(is_same), "{setting}: {work} {f}");
            }
            assert!((record.outcome.f / archived.f - 1.0).abs() < 1e-9);
            assert!((record.outcome.f_error / archived.f_error - 1.0).abs() < 1e-6);
            assert!((record.outcome.f_exact / archived.f_exact - 1.0).abs() < 1e-8);
        }
    }

    /// Repeated runs are equal to the last bit. The number of iterations is that of gradients minus
    /// those that certify the starts of reconstructions.
    #[test]
    fn runs_are_reproducible_and_iterations_are_counted() {
        let variant = Variant::new(PaperMethod::Gd, Effort::Dynamic);
        let [first, mut second] = [(); 2].map(|()| made("denoise1_start-2", variant, Mode::Ours));
        second.outcome.seconds = first.outcome.seconds;
        assert_eq!(first, second);
        let images = 10;
        for evaluation in &first.evaluations {
            assert_eq!(evaluation.gradients, evaluation.lower_iterations + images);
        }
        assert!((first.outcome.f_exact / 1.371_488_834 - 1.0).abs() < 1e-6);
    }
}
