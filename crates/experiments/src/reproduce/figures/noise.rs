//! Figure 14: the weight of the total variation learned for each noise level.

use anyhow::Result;
use plot::{Axis, Colour, Dash, Figure, NumberStyle, Panel, Series};

use super::super::record::Mode;
use super::style::{BLUE, CurveStyle, ORANGE};
use super::{DYNAMIC_FISTA, Drawn, FigureInput};

/// The experiments, from the largest noise to the smallest.
pub(super) const EXPERIMENTS: [&str; 8] = [
    "kodak_sigma1e-1",
    "kodak_sigma1e-2",
    "kodak_sigma1e-3",
    "kodak_sigma1e-4",
    "kodak_sigma1e-5",
    "kodak_sigma1e-6",
    "kodak_sigma1e-7",
    "kodak_sigma1e-8",
];

pub(super) fn draw(input: &FigureInput<'_>) -> Result<Vec<Drawn>> {
    let faithful = sweep(input, Mode::Faithful)?;
    let panel = Panel::new(
        sigma(),
        Axis::log("α").numbers(NumberStyle::Powers).colour(BLUE),
    )
    .right(
        Axis::log("σ²/α")
            .numbers(NumberStyle::Powers)
            .colour(ORANGE),
    )
    .with(column(&faithful, 1, Series::line).colour(BLUE))
    .with(
        column(&faithful, 1, Series::dots)
            .colour(BLUE)
            .width(8.0)
            .label("α (left)"),
    )
    .with(column(&faithful, 2, Series::line).colour(ORANGE).on_right())
    .with(
        column(&faithful, 2, Series::squares)
            .colour(ORANGE)
            .width(7.0)
            .label("σ²/α (right)")
            .on_right(),
    );
    let figure = Figure::new(1).panel_size(560.0, 240.0).with(panel);
    let what = "The weight α of the total variation that dynamic FISTA learned from images with \
                noise of standard deviation σ. For σ ≤ 10⁻⁵ the bounds of the parameters are \
                wider, as in the authors' program.";
    let mut drawn = vec![input.drawn(what, figure)];

    let ours = sweep(input, Mode::Ours)?;
    let archived = input.archive.noise_sweep;
    if !ours.is_empty() || !archived.is_empty() {
        let mut figure = Figure::new(2);
        for (title, label, which) in [("(a) Learned α", "α", 1), ("(b) σ²/α", "σ²/α", 2)] {
            let mut panel = Panel::new(sigma(), Axis::log(label).numbers(NumberStyle::Powers));
            let here = CurveStyle::of(DYNAMIC_FISTA).colour;
            let our = CurveStyle::of_ours(DYNAMIC_FISTA).colour;
            panel = curve(
                panel,
                &faithful,
                which,
                (here, Dash::DashDot, "Dynamic FISTA, faithful"),
            );
            panel = curve(
                panel,
                &ours,
                which,
                (our, Dash::DashDot, "Dynamic FISTA, ours"),
            );
            if !archived.is_empty() {
                let line = column(archived, which, Series::line);
                let line = CurveStyle::of_archived(DYNAMIC_FISTA).draw(line);
                panel = panel.with(line.label("Dynamic FISTA, published").on_top());
            }
            figure = figure.with(panel.title(title));
        }
        let what = if archived.is_empty() {
            "The α that dynamic FISTA learned with the authors' algorithm run here (faithful) and \
             with ours."
        } else {
            "The α that dynamic FISTA learned in the authors' runs (published, digitised from the \
             figure), with the same algorithm run here (faithful), and with ours."
        };
        drawn.push(input.compared("fig14-archive", what, figure));
    }
    Ok(drawn)
}

fn sigma() -> Axis {
    Axis::log("Noise level σ").numbers(NumberStyle::Powers)
}

/// Returns `$\sigma$`, `$\alpha$` and `$\sigma^2/\alpha$` of the runs that were made.
fn sweep(input: &FigureInput<'_>, mode: Mode) -> Result<Vec<[f64; 3]>> {
    let mut points = Vec::new();
    for name in EXPERIMENTS {
        let sigma = input.results.setting(name)?.data.sigma;
        let record = input.results.record(name, DYNAMIC_FISTA, mode);
        let Some(record) = record else { continue };
        let mut names = record.names.iter().zip(&record.outcome.theta);
        if let Some((_, theta)) = names.find(|(name, _)| *name == "alpha") {
            let alpha = 10_f64.powf(*theta);
            points.push([sigma, alpha, sigma * sigma / alpha]);
        }
    }
    Ok(points)
}

fn column(points: &[[f64; 3]], which: usize, series: fn(Vec<[f64; 2]>) -> Series) -> Series {
    series(
        points
            .iter()
            .map(|point| [point[0], point[which]])
            .collect(),
    )
}

/// Adds a line with dots to the panel; nothing without points.
fn curve(
    panel: Panel,
    points: &[[f64; 3]],
    which: usize,
    (colour, dash, label): (Colour, Dash, &str),
) -> Panel {
    if points.is_empty() {
        return panel;
    }
    let line = column(points, which, Series::line)
        .colour(colour)
        .dash(dash);
    let dots = column(points, which, Series::dots)
        .colour(colour)
        .width(7.0);
    panel.with(line.width(2.0).label(label)).with(dots)
}
