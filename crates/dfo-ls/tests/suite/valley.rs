//! A curved valley with its minimum 0.25 at (1, 1), exact and inexact.

use dfo_ls::{
    Accuracy, Evaluated, FnOracle, InexactFn, Options, Problem, Report, Request, ResidualOracle,
    minimize,
};

const MOST: u64 = 3000;

/// Runs within a budget, and checks the best point.
pub(crate) fn check(
    oracle: &mut impl ResidualOracle,
    mut options: Options,
    answer: &[f64],
    tolerance: f64,
) -> Report {
    options.budget.max_evaluations.get_or_insert(MOST);
    let start: Vec<f64> = if answer.len() == 2 {
        vec![-1.2, 1.0]
    } else {
        vec![0.5; answer.len()]
    };
    let report = minimize(oracle, Problem::new(start), options).expect("a valid problem");
    assert!(report.evaluations.len() as u64 <= MOST);
    let near = report
        .theta
        .iter()
        .zip(answer)
        .all(|(a, b)| (a - b).abs() <= tolerance);
    assert!(near, "{:?} after {:?}", report.theta, report.termination);
    report
}

/// Two residuals, and one that no parameter can change.
pub(crate) fn valley(theta: &[f64], r: &mut [f64]) {
    r[0] = 10.0 * (theta[1] - theta[0] * theta[0]);
    r[1] = 1.0 - theta[0];
    r[2] = 0.5;
}

pub(crate) fn exact() -> impl ResidualOracle {
    FnOracle::new(3, valley)
}

/// An oracle with errors as large as allowed, in a direction that depends on the point and on the
/// accuracy.
pub(crate) fn inexact() -> impl ResidualOracle<Resume = u32> {
    InexactFn::new(3, |request: Request<'_, u32>, r: &mut [f64]| {
        valley(request.theta, r);
        let size = request.target.value().min(1.0);
        let angle = 1e3 * request.theta[0] + 777.0 * request.theta[1] + size.max(1e-300).ln();
        r[0] += 0.99 * size * angle.cos();
        r[1] += 0.99 * size * angle.sin();
        Ok(Evaluated {
            achieved: Accuracy::new(size).expect("not negative"),
            work: 1,
            resume: 7,
        })
    })
}
