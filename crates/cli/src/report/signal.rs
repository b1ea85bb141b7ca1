//! One signal: truth, data and reconstruction in one panel.

use imaging::{Field, Grid};
use maud::{Markup, PreEscaped, html};
use plot::{Axis, Colour, Figure, Panel, Series};

use super::ReportImage;
use super::scores::psnr_cell;

/// Number of samples shown; of a longer signal the middle is shown.
const MAX_SAMPLES: usize = 1024;

/// The panel with its caption.
pub(super) fn html(example: &ReportImage, caption: &Markup) -> Markup {
    html! {
        figure {
            (PreEscaped(figure(example).to_svg()))
            figcaption {
                (caption) " "
                @if example.score.before.is_some() { "data " (psnr_cell(example.score.before)) ", " }
                "reconstruction " (psnr_cell(example.score.after))
            }
        }
    }
}

/// The panel alone.
fn figure(example: &ReportImage) -> Figure {
    let grid = example.grid;
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
    };
    let mut panel = Panel::new(Axis::linear("sample"), Axis::linear(label));
    let data = example
        .data
        .as_ref()
        .filter(|data| data.len() == grid.len());
    if let Some(data) = data {
        panel = panel.with(
            Series::line(shown(data))
                .label("data")
                .colour(Colour::hex(0x00b0_b0b0))
                .width(1.0),
        );
    }
    panel = panel
        .with(
            Series::line(shown(&example.truth))
                .label("truth")
                .colour(Colour::hex(0x0022_2222))
                .width(1.4),
        )
        .with(
            Series::line(shown(&example.reconstruction))
                .label("reconstruction")
                .colour(Colour::hex(0x0000_72b2))
                .width(1.8),
        );
    Figure::new(1).with(panel)
}

/// The values, or their real parts.
fn real(values: &[f64], grid: Grid) -> Vec<f64> {
    values.iter().step_by(grid.num_parts()).copied().collect()
}
