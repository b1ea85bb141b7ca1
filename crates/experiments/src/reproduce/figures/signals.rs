//! Figures 1, 2, 5, 9, 10, 11 and 17: signals and their reconstructions.

use anyhow::{Context, Result};
use bilevel::Pair;
use imaging::{Denoising, TvParameters};
use lowlevel::{ErrorBound, Method, Stop};
use plot::{Axis, Colour, Dash, Figure, Panel, Series};
use rayon::prelude::*;

use super::super::setting::{DataKind, DataSpec};
use super::reconstruction::{self, denoised, from_frequencies, solved};
use super::style::{BLUE, GREY, ORANGE};
use super::{Drawn, FigureInput, curves};

/// The largest number of signals in a figure.
const SHOWN: usize = 6;
const PANEL: [f64; 2] = [250.0, 140.0];

/// The data of Figures 1 and 2.
const DATA: DataSpec = DataSpec {
    kind: DataKind::Signals,
    images: 8,
    pixels: 256,
    sigma: 0.1,
};

/// Draws Figure 1.
pub(super) fn training_pairs(input: &FigureInput<'_>) -> Result<Vec<Drawn>> {
    let pairs = input.results.source.pairs(&DATA)?;
    let mut figure = figure(3);
    for (index, pair) in pairs.iter().take(SHOWN).enumerate() {
        let noisy = line(&pair.data, "noisy signal y", ORANGE, 1.2).dash(Dash::Short);
        let panel = panel(&format!("image {}", index + 1), &pair.truth)
            .with(line(&pair.truth, "true signal x", BLUE, 2.0).on_top())
            .with(noisy);
        figure = figure.with(panel);
    }
    let what =
        "Six of eight pairs of true and noisy signals, with noise of standard deviation 0.1.";
    Ok(vec![input.drawn(what, figure)])
}

/// Draws Figure 2.
pub(super) fn parameters(input: &FigureInput<'_>) -> Result<Vec<Drawn>> {
    let pairs = input.results.source.pairs(&DATA)?;
    let pair = pairs.first().context("no signals")?;
    let at = |alpha, nu, xi| TvParameters { alpha, nu, xi };
    let mut panels = Vec::new();
    for alpha in [1.0, 0.1, 0.01] {
        panels.push((format!("α = {alpha}"), at(alpha, 1e-3, 1e-3)));
    }
    for nu in [1.0, 0.1, 0.01] {
        panels.push((format!("ν = {nu}"), at(1.0, nu, 1e-3)));
    }
    for xi in [1.0, 0.1, 0.01] {
        panels.push((format!("ξ = {xi}"), at(1.0, 1e-3, xi)));
    }
    let stop = Stop::accuracy(ErrorBound::new(1e-6)?);
    let mut figure = figure(3);
    for (title, parameters) in panels {
        let objective = Denoising::new(pair.grid, &pair.data, parameters)?;
        let start = vec![0.0; pair.grid.len()];
        let x = solved(&objective, Method::GRADIENT_DESCENT, stop, start)?;
        figure = figure.with(comparison(&title, Some(&pair.data), &pair.truth, &x));
    }
    let what = "The first pair of Figure 1, denoised by GD to within 10⁻⁶ of the minimiser. \
                Top: ν = ξ = 10⁻³; middle: α = 1, ξ = 10⁻³; bottom: α = 1, ν = 10⁻³.";
    Ok(vec![input.drawn(what, figure)])
}

/// Draws Figures 5, 9 and 10.
pub(super) fn reconstructions(input: &FigureInput<'_>) -> Result<Vec<Drawn>> {
    let (setting, record) = (input.setting()?, input.dynamic_fista()?);
    let values = reconstruction::values(setting, &record.names, &record.outcome.theta)?;
    let pairs = input.results.source.pairs(&setting.data)?;
    let found = shown(&pairs, |pair| denoised(pair, values, 1000, None))?;
    let mut figure = figure(3);
    for (index, (pair, x)) in pairs.iter().zip(&found).enumerate() {
        let title = format!("image {}", index + 1);
        figure = figure.with(comparison(&title, Some(&pair.data), &pair.truth, x));
    }
    let TvParameters { alpha, nu, xi } = values;
    let what = format!(
        "{} of {} signals, reconstructed by 1,000 iterations of FISTA from zero with the \
         parameters that dynamic FISTA learned: α = {alpha:.4}, ν = {nu:.5}, ξ = {xi:.5}.",
        found.len(),
        pairs.len()
    );
    Ok(vec![input.drawn(&what, figure)])
}

/// Draws Figure 11.
pub(super) fn progress(input: &FigureInput<'_>) -> Result<Vec<Drawn>> {
    let (setting, record) = (input.setting()?, input.dynamic_fista()?);
    let pairs = input.results.source.pairs(&setting.data)?;
    let pair = pairs.first().context("no signals")?;
    let mut figure = figure(2);
    let mut last = None;
    for count in [1, 10, 20, 100] {
        let theta = curves::after(record, count).context("the run has no evaluations")?;
        let values = reconstruction::values(setting, &record.names, theta)?;
        let x = denoised(pair, values, 1000, last.take())?;
        let title = format!("N = {count}");
        figure = figure.with(comparison(&title, Some(&pair.data), &pair.truth, &x));
        last = Some(x);
    }
    let what = "The first signal, reconstructed with the best parameters of dynamic FISTA after N \
                evaluations of the upper-level objective. Each reconstruction takes 1,000 \
                iterations of FISTA; that for N = 1 starts at zero, the others at the one before.";
    Ok(vec![input.drawn(what, figure)])
}

/// Draws Figure 17.
pub(super) fn sampled(input: &FigureInput<'_>) -> Result<Vec<Drawn>> {
    let (setting, record) = (input.setting()?, input.dynamic_fista()?);
    let sampling = setting
        .sampling
        .context("the experiment does not learn sampling weights")?;
    let theta = curves::last(record).context("the run has no iterations")?;
    let pairs = input.results.source.pairs(&setting.data)?;
    let found = shown(&pairs, |pair| {
        from_frequencies(pair, &sampling, theta, 2000)
    })?;
    let real = |x: &[f64]| -> Vec<f64> { x.iter().step_by(2).copied().collect() };
    let mut figure = figure(3);
    for (index, (pair, x)) in pairs.iter().zip(&found).enumerate() {
        let title = format!("image {}", index + 1);
        figure = figure.with(comparison(&title, None, &real(&pair.truth), &real(x)));
    }
    let what = format!(
        "Real parts of {} of {} signals, reconstructed by 2,000 iterations of FISTA from zero with \
         the weights that dynamic FISTA learned. Coefficients with θ ≤ {} are not measured.",
        found.len(),
        pairs.len(),
        sampling.lower
    );
    Ok(vec![input.drawn(&what, figure)])
}

/// Reconstructs the pairs that the figure shows.
fn shown(
    pairs: &[Pair],
    reconstruct: impl Fn(&Pair) -> Result<Vec<f64>> + Send + Sync,
) -> Result<Vec<Vec<f64>>> {
    let pairs = &pairs[..pairs.len().min(SHOWN)];
    pairs.par_iter().map(reconstruct).collect()
}

fn figure(columns: usize) -> Figure {
    Figure::new(columns).panel_size(PANEL[0], PANEL[1])
}

/// Returns a panel with data, truth and reconstruction.
fn comparison(title: &str, data: Option<&[f64]>, truth: &[f64], x: &[f64]) -> Panel {
    let mut panel = panel(title, truth);
    if let Some(data) = data {
        panel = panel.with(line(data, "noisy", GREY, 1.0));
    }
    panel
        .with(line(truth, "true", BLUE, 2.0))
        .with(line(x, "reconstruction", ORANGE, 1.6))
}

/// Returns an empty panel as long as `signal`.
fn panel(title: &str, signal: &[f64]) -> Panel {
    let last = f64::from(u32::try_from(signal.len()).unwrap_or(u32::MAX)) - 1.0;
    let x = Axis::linear("pixel").range(0.0, last.max(1.0));
    let y = Axis::linear("").range(-0.3, 1.3);
    Panel::new(x, y).title(title)
}

fn line(values: &[f64], label: &str, colour: Colour, width: f64) -> Series {
    let points = (0_u32..).zip(values).map(|(i, v)| [f64::from(i), *v]);
    let line = Series::line(points.collect());
    line.label(label).colour(colour).width(width)
}
