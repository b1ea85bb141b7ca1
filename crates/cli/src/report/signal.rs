//! One signal: truth, data and reconstruction in one panel.

use imaging::{Field, Grid};
use maud::{Markup, PreEscaped, html};
use plot::{Axis, Colour, Figure, Panel, Series};

use super::ReportImage;
use super::scores::psnr_cell;

/// Largest number of samples shown. A longer signal is cut to its middle.
const MAX_SAMPLES: usize = 1024;

/// Returns the panel with its caption.
pub(super) fn html(image: &ReportImage, caption: &Markup) -> Markup {
    html! {
        figure {
            (PreEscaped(figure(image).to_svg()))
            figcaption {
                (caption) " "
                @if image.score.before.is_some() { "data " (psnr_cell(image.score.before)) ", " }
                "reconstruction " (psnr_cell(image.score.after))
            }
        }
    }
}

/// Returns the panel without its caption.
fn figure(image: &ReportImage) -> Figure {
    let grid = image.grid;
    let num = grid.num_samples();
    let first = num.saturating_sub(MAX_SAMPLES) / 2;
    let shown = |values: &[f64]| -> Vec<[f64; 2]> {
        let all = real(values, grid).into_iter().enumerate();
        all.skip(first)
            .take(MAX_SAMPLES)
            .map(|(index, value)| [index as f64, value])
            .collect()
    };
    let label = match grid.field() {
        Field::Real => "",
        Field::Complex => "real part",
        Field::Colour => "red part",
    };
    let mut panel = Panel::new(Axis::linear("sample"), Axis::linear(label));
    let data = image.data.as_ref().filter(|data| data.len() == grid.len());
    if let Some(data) = data {
        panel = panel.with(
            Series::line(shown(data))
                .label("data")
                .colour(Colour::hex(0x00b0_b0b0))
                .width(1.0),
        );
    }
    if !image.truth.is_empty() {
        panel = panel.with(
            Series::line(shown(&image.truth))
                .label("truth")
                .colour(Colour::hex(0x0022_2222))
                .width(1.4),
        );
    }
    panel = panel.with(
        Series::line(shown(&image.reconstruction))
            .label("reconstruction")
            .colour(Colour::hex(0x0000_72b2))
            .width(1.8),
    );
    Figure::new(1).with(panel)
}

/// Returns the values, or their real parts if they are complex.
fn real(values: &[f64], grid: Grid) -> Vec<f64> {
    values.iter().step_by(grid.num_parts()).copied().collect()
}
