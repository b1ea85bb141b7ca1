//! Colours and dashes of the paper's curves, and of ours.

use plot::{Colour, Dash, Panel, Series};

use super::super::record::{Effort, PaperMethod, Variant};
use super::curves;

// The first two are the colours of the paper's signals.
pub(super) const BLUE: Colour = Colour::hex(0x001f_77b4);
pub(super) const ORANGE: Colour = Colour::hex(0x00ff_7f0e);
pub(super) const GREEN: Colour = Colour::hex(0x002c_a02c);
pub(super) const GREY: Colour = Colour::hex(0x00b8_b8b8);

/// The opacity of the shading around curves.
const FAINT: f64 = 80.0 / 255.0;

/// How a curve is drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct CurveStyle {
    pub(super) colour: Colour,
    pub(super) dash: Dash,
    pub(super) width: f64,
}

impl CurveStyle {
    /// Returns the style of a variant in the paper's figures.
    pub(super) const fn of(variant: Variant) -> Self {
        let colour = match (variant.method, variant.effort) {
            (PaperMethod::Gd, Effort::Low) => 0x00fd_cc8a,
            (PaperMethod::Gd, Effort::High) => 0x00fc_8d59,
            (PaperMethod::Gd, Effort::Dynamic) => 0x00d7_301f,
            (PaperMethod::Fista, Effort::Low) => 0x00b3_cde3,
            (PaperMethod::Fista, Effort::High) => 0x008c_96c6,
            (PaperMethod::Fista, Effort::Dynamic) => 0x0088_419d,
        };
        Self {
            colour: Colour::hex(colour),
            dash: dash(variant),
            width: 2.0,
        }
    }

    /// Returns the style of a variant of our algorithm.
    pub(super) const fn of_ours(variant: Variant) -> Self {
        let colour = match variant.method {
            PaperMethod::Gd => 0x0000_72b2,
            PaperMethod::Fista => 0x0000_9e73,
        };
        Self {
            colour: Colour::hex(colour),
            dash: dash(variant),
            width: 2.0,
        }
    }

    /// Returns the style of the authors' archived curves: thin, over all others.
    pub(super) const fn of_archived(variant: Variant) -> Self {
        let (colour, dash) = match variant.method {
            PaperMethod::Gd => (0x0077_7777, Dash::Short),
            PaperMethod::Fista => (0x0022_2222, Dash::Dotted),
        };
        Self {
            colour: Colour::hex(colour),
            dash,
            width: 1.2,
        }
    }

    pub(super) fn draw(self, series: Series) -> Series {
        series.colour(self.colour).dash(self.dash).width(self.width)
    }
}

const fn dash(variant: Variant) -> Dash {
    match variant.method {
        PaperMethod::Gd => Dash::Solid,
        PaperMethod::Fista => Dash::DashDot,
    }
}

/// A labelled line with its style, and shading if it has any.
#[derive(Clone, Debug)]
pub(super) struct StyledCurve {
    pub(super) label: String,
    pub(super) style: CurveStyle,
    pub(super) points: Vec<[f64; 2]>,
    pub(super) shade: Vec<[f64; 3]>,
}

/// Adds the curves to a panel, all shading below all lines.
pub(super) fn with_curves(mut panel: Panel, curves: &[StyledCurve]) -> Panel {
    for curve in curves.iter().filter(|curve| !curve.shade.is_empty()) {
        let band = Series::band(curves::thinned(&curve.shade));
        panel = panel.with(band.colour(curve.style.colour.alpha(FAINT)));
    }
    for curve in curves {
        let line = Series::line(curves::thinned(&curve.points));
        panel = panel.with(curve.style.draw(line).label(&curve.label));
    }
    panel
}
