//! Checks of a learning problem before its first reconstruction.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use imaging::Field;
use lowlevel::StronglyConvex;

use super::{ImageRange, Pair, Setup};
use crate::criterion::Criterion;
use crate::error::ProblemError;
use crate::lower::LowerLevel;
use crate::parameter::Parameter;
use crate::penalty::{Penalty, PenaltyContext};

/// The prepared data of training pairs and of held-out pairs.
pub(super) type PreparedData<M> = (Vec<<M as LowerLevel>::Data>, Vec<<M as LowerLevel>::Data>);

/// Checks the parameters and all pairs of a rank, and prepares the data.
pub(super) fn prepare_all<M: LowerLevel>(
    model: &M,
    parameters: &[Parameter],
    pairs: &[Pair],
    setup: &Setup,
) -> Result<PreparedData<M>, ProblemError> {
    check_parameters(parameters)?;
    let ImageRange { lower, upper } = setup.image_range;
    if !(lower <= upper) {
        return Err(ProblemError::EmptyImageRange { lower, upper });
    }
    let starts = Parameter::starts_of(parameters);
    let start: Vec<f64> = (Parameter::of_entries(parameters).zip(starts))
        .map(|(p, start)| p.value(start.clamp(p.lower, p.upper)))
        .collect();
    let prepared = |pairs: &[Pair], needs_truth: bool| -> Result<Vec<M::Data>, ProblemError> {
        (pairs.iter().enumerate())
            .map(|(index, pair)| {
                check_truth(index, pair, needs_truth)?;
                prepare(model, &start, setup.image_range, index, pair)
            })
            .collect()
    };
    let needs_truth = setup.criterion.needs_truth();
    let data = prepared(pairs, needs_truth)?;
    check_criterion(model, &start, pairs, &data, setup)?;
    let validation = prepared(&setup.validation, needs_truth)
        .map_err(|source| ProblemError::Validation(Box::new(source)))?;
    Ok((data, validation))
}

/// Describes everything that must be the same on all ranks. Penalties are code, so their terms at
/// the start stand for them.
pub(super) fn description<M: LowerLevel>(
    model: &M,
    parameters: &[Parameter],
    setup: &Setup,
) -> String {
    let theta = Parameter::starts_of(parameters);
    let values = Parameter::values_of(parameters, &theta);
    let context = PenaltyContext {
        theta: &theta,
        values: &values,
        condition_number: 1.0,
        condition_gradient: &[],
    };
    let terms = |penalty: &dyn Penalty| {
        let mut terms = vec![0.0; penalty.num_terms()];
        // a penalty that panics is found at the first evaluation
        let _ = catch_unwind(AssertUnwindSafe(|| penalty.terms(&context, &mut terms)));
        terms
    };
    let penalties: Vec<Vec<f64>> = setup.penalties.iter().map(|p| terms(&**p)).collect();
    let regularizer = setup.regularizer.as_ref().map(|h| h.value(&theta));
    let version = env!("CARGO_PKG_VERSION");
    let Setup {
        solver,
        kappa,
        least_gain,
        criterion,
        probe_seed,
        loss,
        method,
        effort,
        cold_start,
        checkpoints,
        image_range,
        ..
    } = setup;
    format!(
        "{version} {:?} {parameters:?} {penalties:?} {regularizer:?} {solver:?} {kappa:?} \
         {least_gain:?} {:?} {probe_seed} {loss:?} {method:?} {effort:?} {cold_start:?} \
         {checkpoints:?} {image_range:?}",
        model.kind(),
        criterion.kind(),
    )
}

fn check_parameters(parameters: &[Parameter]) -> Result<(), ProblemError> {
    if parameters.is_empty() {
        return Err(ProblemError::NoParameters);
    }
    let mut names = HashSet::with_capacity(parameters.len());
    for parameter in parameters {
        parameter.check()?;
        if !names.insert(&parameter.name) {
            let name = parameter.name.clone();
            return Err(ProblemError::SameName { name });
        }
    }
    Ok(())
}

/// Checks the length of a truth, which may be missing unless it is needed.
fn check_truth(index: usize, pair: &Pair, is_needed: bool) -> Result<(), ProblemError> {
    let (expected, found) = (pair.grid.len(), pair.truth.len());
    match found {
        0 if expected > 0 && is_needed => Err(ProblemError::NoTruth { index }),
        0 => Ok(()),
        _ if found == expected => Ok(()),
        _ => Err(ProblemError::TruthLength {
            index,
            expected,
            found,
        }),
    }
}

/// Checks that the criterion can be computed for all training pairs.
fn check_criterion<M: LowerLevel>(
    model: &M,
    start: &[f64],
    pairs: &[Pair],
    data: &[M::Data],
    setup: &Setup,
) -> Result<(), ProblemError> {
    if setup.criterion.needs_truth() {
        return Ok(());
    }
    if setup.image_range != ImageRange::ALL {
        return Err(ProblemError::RangeWithoutTruth);
    }
    if let Criterion::Sure { sigma } = &setup.criterion {
        let (expected, found) = (pairs.len(), sigma.len());
        if expected != found {
            return Err(ProblemError::NumNoiseLevels { expected, found });
        }
        let is_wrong = |sigma: &f64| !(*sigma > 0.0 && sigma.is_finite());
        if let Some(index) = sigma.iter().position(is_wrong) {
            let sigma = sigma[index];
            return Err(ProblemError::NoiseLevel { index, sigma });
        }
    }
    for (index, data) in data.iter().enumerate() {
        let objective = (model.objective(start, data))
            .map_err(|source| ProblemError::Model { index, source })?;
        let is_known = model.forward(start, data).is_some();
        if !is_known || objective.second_order().is_none() {
            return Err(ProblemError::NoForward);
        }
    }
    Ok(())
}

/// Checks a pair and prepares its data.
fn prepare<M: LowerLevel>(
    model: &M,
    start: &[f64],
    image_range: ImageRange,
    index: usize,
    pair: &Pair,
) -> Result<M::Data, ProblemError> {
    if image_range != ImageRange::ALL && pair.grid.field() == Field::Complex {
        return Err(ProblemError::ComplexImageRange { index });
    }
    for (what, numbers) in [("truth", &pair.truth), ("data", &pair.data)] {
        let may_be_nan = what == "data" && model.takes_missing();
        let is_bad = |x: &f64| !(x.is_finite() || may_be_nan && x.is_nan());
        if let Some(entry) = numbers.iter().position(is_bad) {
            return Err(ProblemError::NonFinite { index, what, entry });
        }
    }
    let refuse = |source| ProblemError::Model { index, source };
    let data = model.prepare(pair.grid, &pair.data).map_err(refuse)?;
    // refuses a start outside the range of the model now; this makes no pass over the data
    let found = model.objective(start, &data).map_err(refuse)?.dim();
    let expected = model.window(pair.grid).outer().len();
    if found != expected {
        return Err(ProblemError::Dimension {
            index,
            expected,
            found,
        });
    }
    Ok(data)
}
