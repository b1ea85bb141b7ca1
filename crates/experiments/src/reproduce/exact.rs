//! The objective at the end of a run, computed again to nine digits.

use anyhow::{Result, ensure};
use bilevel::{LowerLevel, Pair, Parameter, reconstruct};
use lowlevel::{ErrorBound, Method, Solver, Stop, StronglyConvex};
use rayon::prelude::*;

use super::setting::PenaltySetting;

/// The objective, and the quality of the reconstructions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ExactObjective {
    /// The objective.
    pub(super) f: f64,
    /// Mean PSNR.
    pub(super) psnr: f64,
}

/// The relative accuracy of the objective.
const SHARE: f64 = 1e-9;
/// The relative accuracy that is required where rounding does not allow [`SHARE`].
const LEAST_SHARE: f64 = 1e-6;

/// Computes the objective at `theta`, where it is approximately `f`.
///
/// # Errors
/// When the objective cannot be computed to the relative accuracy 1e-6.
pub(super) fn exact<M: LowerLevel>(
    model: &M,
    pairs: &[Pair],
    penalty: PenaltySetting,
    theta: &[f64],
    f: f64,
) -> Result<ExactObjective> {
    let values = Parameter::values_of(&model.parameters(), theta);
    let count = pairs.len() as f64;
    // An error epsilon of each image changes the objective by about 2 sqrt(n f) epsilon.
    let epsilon = 0.4 * SHARE * (f / count).sqrt();
    let stop = Stop::accuracy(ErrorBound::new(epsilon)?);
    let solver = Solver {
        method: Method::FISTA,
        ..Solver::default()
    };
    let parts = (pairs.par_iter().with_max_len(1))
        .map(|Pair { grid, truth, data }| {
            let made = reconstruct(model, &values, *grid, data, solver, stop)?;
            let square = |(x, truth): (&f64, &f64)| (x - truth) * (x - truth);
            let square: f64 = made.x.iter().zip(truth).map(square).sum();
            let psnr = -10.0 * (square / grid.num_samples() as f64).log10();
            let error = made.solved.error.value();
            let refuse = |error| anyhow::anyhow!("{error}");
            let data = model.prepare(*grid, data).map_err(refuse)?;
            let objective = model.objective(&values, &data).map_err(refuse)?;
            let condition_number = objective.curvature().condition_number();
            Ok((
                square,
                psnr,
                2.0 * square.sqrt() * error + error * error,
                condition_number,
            ))
        })
        .collect::<Result<Vec<_>>>()?;
    let condition_number = parts.iter().map(|part| part.3).fold(0.0, f64::max);
    let penalty = penalty.residual(theta, condition_number);
    let f = parts.iter().map(|part| part.0).sum::<f64>() + penalty * penalty;
    let error: f64 = parts.iter().map(|part| part.2).sum();
    ensure!(
        error <= LEAST_SHARE * f,
        "the objective {f} is only known to within {error}"
    );
    let psnr = parts.iter().map(|part| part.1).sum::<f64>() / count;
    Ok(ExactObjective { f, psnr })
}
