//! Adjoints and corrected values: every bound holds for functions whose minimiser is known, and is
//! attained where theory says so; wrong second derivatives are reported.

mod attained;
mod hostile;
mod log_cosh;
mod misuse;
mod properties;
mod rounding;
mod solve;

use lowlevel::{
    Adjoint, AdjointOutcome, AdjointState, AdjointStop, ErrorBound, LossAt, LossRounding,
    StronglyConvex, UNIT_ROUNDOFF, ValueInterval, corrected_value, solve_adjoint,
};

fn bound(value: f64) -> ErrorBound {
    ErrorBound::new(value).expect("a bound")
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn difference(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

/// Keeps `q` as it is, and bounds its residual and the loss.
fn bounds_at<O: StronglyConvex>(
    objective: &O,
    x: &[f64],
    error: f64,
    loss: &LossAt<'_>,
    q: &[f64],
) -> (ValueInterval, Adjoint) {
    let mut scratch = objective.scratch();
    let mut state = AdjointState::new();
    state.start_at(q);
    let stop = AdjointStop::absolute(f64::INFINITY);
    let adjoint = solve_adjoint(
        objective,
        x,
        bound(error),
        loss,
        stop,
        &mut state,
        &mut scratch,
    )
    .expect("finite products");
    assert_eq!(adjoint.outcome, AdjointOutcome::Converged);
    assert_eq!(state.adjoint(), q, "the start must not be replaced");
    let mut gradient = vec![0.0; x.len()];
    objective.gradient(x, &mut gradient, &mut scratch);
    let interval = corrected_value(objective, x, &gradient, loss, q, &adjoint);
    (interval, adjoint)
}

/// A linear loss, whose Taylor remainder is zero.
fn linear<'a>(c: &'a [f64], x: &[f64]) -> LossAt<'a> {
    let size: f64 = c.iter().zip(x).map(|(c, x)| (c * x).abs()).sum();
    LossAt {
        value: dot(c, x),
        gradient: c,
        lipschitz: 0.0,
        non_negative: false,
        rounding: LossRounding {
            value: (x.len() + 2) as f64 * UNIT_ROUNDOFF * size,
            gradient: 0.0,
        },
    }
}
