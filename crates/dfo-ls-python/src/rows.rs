//! Iterations, evaluations and reports as Python dictionaries.

use dfo_ls::{EvalRecord, Iteration, Limit, Purpose, Report, StepKind, Termination};
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Returns the name of a reason for the end of a run, and a message about it.
pub(crate) fn termination(why: &Termination) -> (&'static str, String) {
    match why {
        Termination::RadiusReached => (
            "radius_reached",
            "the trust-region radius reached its final value".to_owned(),
        ),
        Termination::TargetReached => (
            "target_reached",
            "the objective reached the target".to_owned(),
        ),
        Termination::NoiseReached => (
            "noise_reached",
            "all points are equal up to the noise level".to_owned(),
        ),
        Termination::RestartsExhausted => (
            "restarts_exhausted",
            "the last restarts found no better point".to_owned(),
        ),
        Termination::Slow => ("slow", "progress became slow".to_owned()),
        Termination::Exhausted(limit) => (
            "exhausted",
            format!("the run reached the limit {}", limit_name(*limit)),
        ),
        Termination::Blocked => (
            "blocked",
            "the points towards better values could not be evaluated".to_owned(),
        ),
        Termination::AccuracyFloor { wanted, achieved } => (
            "accuracy_floor",
            format!(
                "the next decision needs accuracy {:e}, but the evaluation achieved only {:e}",
                wanted.value(),
                achieved.value()
            ),
        ),
        Termination::Stopped => ("stopped", "the run was stopped".to_owned()),
        Termination::OracleFailed { reason } => ("failed", reason.clone()),
        _ => ("unknown", format!("{why:?}")),
    }
}

const fn limit_name(limit: Limit) -> &'static str {
    match limit {
        Limit::Points => "max_points",
        Limit::Evaluations => "max_evaluations",
        Limit::Work => "max_work",
        Limit::Time => "max_time",
        _ => "unknown",
    }
}

pub(crate) const fn purpose(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Initial => "initial",
        Purpose::Trial => "trial",
        Purpose::Geometry => "geometry",
        Purpose::Sharpen => "sharpen",
        _ => "unknown",
    }
}

const fn kind(kind: StepKind) -> &'static str {
    match kind {
        StepKind::Initial => "initial",
        StepKind::Accepted => "accepted",
        StepKind::Rejected => "rejected",
        StepKind::Failed => "failed",
        StepKind::Short => "short",
        StepKind::Criticality => "criticality",
        StepKind::Restarted => "restarted",
        _ => "unknown",
    }
}

pub(crate) fn iteration<'py>(py: Python<'py>, row: &Iteration) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("number", row.number)?;
    dict.set_item("kind", kind(row.kind))?;
    dict.set_item("x", PyArray1::from_slice(py, &row.theta))?;
    dict.set_item("objective", row.objective)?;
    dict.set_item("interval", (row.interval.lower, row.interval.upper))?;
    dict.set_item("delta", row.delta)?;
    dict.set_item("rho", row.rho)?;
    dict.set_item("step", row.step)?;
    dict.set_item("predicted", row.predicted)?;
    dict.set_item("ratio", row.ratio)?;
    dict.set_item("certified", row.certified)?;
    dict.set_item("gradient", row.gradient)?;
    dict.set_item("poisedness", row.poisedness)?;
    dict.set_item("num_points", row.num_points)?;
    dict.set_item("num_evaluations", row.num_evaluations)?;
    dict.set_item("work", row.work)?;
    Ok(dict)
}

pub(crate) fn evaluation<'py>(py: Python<'py>, row: &EvalRecord) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("point", row.point)?;
    dict.set_item("x", PyArray1::from_slice(py, &row.theta))?;
    dict.set_item("purpose", purpose(row.purpose))?;
    dict.set_item("requested", row.target.value())?;
    dict.set_item("achieved", row.achieved.value())?;
    dict.set_item("objective", row.objective.as_ref().ok())?;
    dict.set_item("problem", row.objective.as_ref().err())?;
    dict.set_item("work", row.work)?;
    Ok(dict)
}

pub(crate) fn report<'py>(py: Python<'py>, report: &Report) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let (name, message) = termination(&report.termination);
    dict.set_item("x", PyArray1::from_slice(py, &report.theta))?;
    dict.set_item("residuals", PyArray1::from_slice(py, &report.residuals))?;
    dict.set_item("accuracy", report.accuracy.value())?;
    dict.set_item("objective", report.objective)?;
    let interval = (report.interval.lower, report.interval.upper);
    dict.set_item("interval", interval)?;
    dict.set_item("termination", name)?;
    dict.set_item("message", message)?;
    dict.set_item("success", report.termination.is_success())?;
    let jacobian = report.jacobian.as_ref().map(|jacobian| {
        let rows: Vec<Vec<f64>> = (0..report.residuals.len())
            .map(|i| {
                (0..jacobian.num_params())
                    .map(|j| jacobian.column(j)[i])
                    .collect()
            })
            .collect();
        PyArray2::from_vec2(py, &rows)
    });
    dict.set_item("jacobian", jacobian.transpose()?)?;
    let covariance = report.covariance();
    let covariance = covariance.map(|rows| PyArray2::from_vec2(py, &rows));
    dict.set_item("covariance", covariance.transpose()?)?;
    dict.set_item("num_points", report.num_points)?;
    dict.set_item("num_evaluations", report.num_evaluations())?;
    dict.set_item("work", report.work)?;
    Ok(dict)
}
