//! The true optima. Those of the authors' data are known; for other data, each is the best of three
//! accurate runs with gradients.

use anyhow::{Result, ensure};
use bilevel::{
    Choice, LearningProblem, Loss, LowerLevel, Parameter, ProblemError, Residuals, Scale, Setup,
    TvChoices, testing,
};
use inexact_lbfgs::{Options, Problem, minimize};

use super::objective;

// Source of the four constants: section 14 of the reference archive's `FACTS.md` (several starts,
// lower level solved to 1e-12).

/// The optimum of one parameter, for the authors' data.
const ONE: f64 = 1.371_488_833_78;
/// The optimum of three parameters, for the authors' data.
const THREE: f64 = 2.826_874_151_57;
/// The optimum of 64 sampling weights, for the authors' data.
const SAMPLING: f64 = 0.478_275_122_260;
/// The optimum of three parameters for the photographs.
pub(crate) const PHOTOGRAPHS: f64 = 3186.193;

/// Returns the optimum of one parameter.
pub(crate) fn one(seed: u32) -> Result<f64> {
    if seed == 0 {
        return Ok(ONE);
    }
    let starts = [-1.0, 0.0, 1.0].map(|start| testing::one_parameter(seed, start, accurate()));
    best_of(starts)
}

/// Returns the optimum of three parameters. It has `$\xi$` at its lower bound, because the
/// objective grows with `$\xi$`.
pub(crate) fn three(seed: u32, scale: Scale) -> Result<f64> {
    if seed == 0 && scale == Scale::Sum {
        return Ok(THREE);
    }
    let starts = [(0.0, -1.0), (-1.0, -3.0), (-0.4, -2.0)].map(|(alpha, nu)| {
        let choices = TvChoices {
            alpha: Choice::Learned {
                start: alpha,
                lower: -7.0,
                upper: 7.0,
            },
            nu: Choice::Learned {
                start: nu,
                lower: -7.0,
                upper: 0.0,
            },
            xi: Choice::Fixed(1e-7),
        };
        let loss = Loss {
            scale,
            residuals: Residuals::Pixel,
        };
        let setup = Setup { loss, ..accurate() };
        testing::three_parameters(seed, choices, setup)
    });
    best_of(starts)
}

/// Returns the optimum of 64 sampling weights.
pub(crate) fn sampling(seed: u32) -> Result<f64> {
    if seed == 0 {
        return Ok(SAMPLING);
    }
    let starts = [0.45, 0.5, 0.55].map(|start| testing::sampling(seed, start, accurate()));
    best_of(starts)
}

/// Returns a setup with one residual per pixel.
fn accurate() -> Setup {
    testing::sum(Residuals::Pixel)
}

/// Returns the smallest objective that runs with small errors find.
fn best_of<M: LowerLevel, const N: usize>(
    starts: [Result<LearningProblem<M>, ProblemError>; N],
) -> Result<f64> {
    let mut best = f64::INFINITY;
    for problem in starts {
        let mut problem = problem?;
        let mut options = Options::default();
        options.kappa = 0.01;
        options.stop.predicted = 1e-10;
        let solver_problem = solver_problem(&problem)?;
        let report = minimize(&mut problem, solver_problem, options)?;
        best = best.min(objective(&mut problem, &report.theta, 1e-9)?);
    }
    ensure!(best.is_finite(), "no run found an optimum");
    Ok(best)
}

/// Returns the start and the bounds of a learning problem for the solver with gradients.
pub(super) fn solver_problem<M: LowerLevel>(problem: &LearningProblem<M>) -> Result<Problem> {
    let parameters = problem.parameters();
    let bounds = Parameter::of_entries(parameters).map(|p| (p.lower, p.upper));
    let (lower, upper): (Vec<f64>, Vec<f64>) = bounds.unzip();
    Ok(Problem::new(Parameter::starts_of(parameters)).with_bounds(lower, upper)?)
}
