//! Reconstructions as the paper's figures show them: a fixed number of iterations of FISTA.

use anyhow::{Context, Result};
use bilevel::Pair;
use imaging::{Denoising, Fourier, FourierSampling, TvParameters};
use lowlevel::{Method, Solver, State, Stop, StronglyConvex};

use super::super::setting::{SamplingSetting, Setting};

/// Returns the values of all parameters of the total variation. The learned ones are at `theta`, in
/// the order of `names`.
pub(super) fn values(setting: &Setting, names: &[String], theta: &[f64]) -> Result<TvParameters> {
    let value = |name: &str| {
        let learned = names.iter().zip(theta).find(|(known, _)| *known == name);
        let learned = learned.map(|(_, theta)| 10_f64.powf(*theta));
        let mut parameters = setting.parameters.iter();
        let fixed = parameters.find(|p| p.name == name).and_then(|p| p.fixed);
        let value = learned.or(fixed);
        value.with_context(|| format!("{name} is neither learned nor fixed in {}", setting.name))
    };
    Ok(TvParameters {
        alpha: value("alpha")?,
        nu: value("nu")?,
        xi: value("xi")?,
    })
}

/// Denoises from `start`, or from zero if it is `None`.
pub(super) fn denoised(
    pair: &Pair,
    parameters: TvParameters,
    iterations: u64,
    start: Option<Vec<f64>>,
) -> Result<Vec<f64>> {
    let objective = Denoising::new(pair.grid, &pair.data, parameters)?;
    let start = start.unwrap_or_else(|| vec![0.0; pair.grid.len()]);
    let stop = Stop::Iterations(iterations);
    solved(&objective, Method::FISTA_TWO_GRADIENTS, stop, start)
}

/// Reconstructs a signal from those Fourier coefficients whose `theta` is above the lower bound,
/// starting at zero.
pub(super) fn from_frequencies(
    pair: &Pair,
    sampling: &SamplingSetting,
    theta: &[f64],
    iterations: u64,
) -> Result<Vec<f64>> {
    let fourier = Fourier::new(pair.grid)?;
    let weight = |theta: &f64| match is_active(*theta, sampling) {
        true => theta / (1.0 - theta),
        false => 0.0,
    };
    let weights: Vec<f64> = theta.iter().map(weight).collect();
    let parameters = TvParameters {
        alpha: sampling.alpha,
        nu: sampling.nu,
        xi: sampling.xi,
    };
    let objective = FourierSampling::new(&fourier, &pair.data, &weights, parameters)?;
    let stop = Stop::Iterations(iterations);
    let start = vec![0.0; pair.grid.len()];
    solved(&objective, Method::FISTA_TWO_GRADIENTS, stop, start)
}

/// Whether a coefficient is measured: its theta is above the lower bound, with room for rounding.
pub(super) fn is_active(theta: f64, sampling: &SamplingSetting) -> bool {
    theta > sampling.lower + 1e-9
}

/// Returns the result of a solve.
pub(super) fn solved<O: StronglyConvex>(
    objective: &O,
    method: Method,
    stop: Stop,
    start: Vec<f64>,
) -> Result<Vec<f64>> {
    let solver = Solver {
        method,
        ..Solver::default()
    };
    let mut state = State::new(start);
    let solved = solver.minimize(objective, stop, &mut state, &mut objective.scratch())?;
    let _ = solved.reached()?;
    Ok(state.into_point())
}

#[cfg(test)]
mod tests {
    use super::super::super::results::ReproductionSize;
    use super::super::synthetic;
    use super::*;

    #[test]
    fn values_follow_the_names() {
        let results = synthetic::results(ReproductionSize::Quick, 8, []);
        let three = results.setting("denoise3_beta1e-6").unwrap();
        let names = ["alpha", "xi", "nu"].map(ToOwned::to_owned);
        let found = values(three, &names, &[0.0, -1.0, -2.0]).unwrap();
        assert!((found.alpha - 1.0).abs() < 1e-12);
        assert!((found.xi - 0.1).abs() < 1e-12);
        assert!((found.nu - 0.01).abs() < 1e-12);
        let one = results.setting("denoise1_start0").unwrap();
        let found = values(one, &names[..1], &[-1.0]).unwrap();
        assert!((found.alpha - 0.1).abs() < 1e-12);
        assert!((found.nu - 1e-3).abs() < 1e-12 && (found.xi - 1e-3).abs() < 1e-12);
        assert!(values(three, &names[..1], &[0.0]).is_err());
    }

    #[test]
    fn coefficients_that_are_not_measured_do_not_matter() {
        let results = synthetic::results(ReproductionSize::Quick, 8, []);
        let setting = results.setting("mri").unwrap();
        let sampling = setting.sampling.unwrap();
        let mut pair = results.source.pairs(&setting.data).unwrap().remove(0);
        let mut theta = [0.5; 8];
        theta[3] = sampling.lower;
        let one = from_frequencies(&pair, &sampling, &theta, 50).unwrap();
        pair.data[6] += 1.0;
        let other = from_frequencies(&pair, &sampling, &theta, 50).unwrap();
        assert_eq!(one, other);
        pair.data[8] += 1.0;
        assert_ne!(one, from_frequencies(&pair, &sampling, &theta, 50).unwrap());
    }
}
