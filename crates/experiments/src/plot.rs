//! Figures: panels of lines, steps, dots and bands with linear or logarithmic axes, written as SVG and PNG.
//!
//! ```
//! use experiments::plot::{Axis, Colour, Dash, Figure, Panel, Series};
//!
//! let decay: Vec<[f64; 2]> = (0..=50).map(|k| [f64::from(k), 0.5_f64.powi(k)]).collect();
//! let panel = Panel::new(Axis::linear("iteration"), Axis::log("error"))
//!     .with(Series::line(decay).label("half each time").colour(Colour::hex(0x0072b2)).dash(Dash::Long));
//! let svg = Figure::new(1).with(panel).to_svg();
//! assert!(svg.contains("half each time"));
//! ```
//!
//! Coordinates of a drawing are CSS pixels, from the upper left. Everything is a path, a dot or a text (`canvas`); the two file
//! formats know nothing else. Text is set in one font that comes with the crate, so that the PNG looks the same everywhere.

mod axis;
mod canvas;
mod font;
mod layout;
mod png;
mod svg;

pub use axis::{Axis, Numbers, Scale};
pub use canvas::{Colour, Dash};

use std::path::Path;

use anyhow::{Context, Result};

use crate::file;

/// Pixels of the PNG per pixel of the drawing.
const RESOLUTION: f64 = 2.0;

/// Panels side by side, and one legend for all of them.
#[derive(Clone, Debug)]
pub struct Figure {
    title: Option<String>,
    columns: usize,
    panel_size: [f64; 2],
    panels: Vec<Panel>,
}

impl Figure {
    /// An empty figure with this many panels in a row.
    ///
    /// # Panics
    /// When there are no columns.
    #[must_use]
    pub fn new(columns: usize) -> Self {
        assert!(columns > 0, "a figure has at least one column");
        Self {
            title: None,
            columns,
            panel_size: [330.0, 230.0],
            panels: Vec::new(),
        }
    }

    /// A title above all panels.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Width and height of the area inside the axes of each panel.
    #[must_use]
    pub const fn panel_size(mut self, width: f64, height: f64) -> Self {
        self.panel_size = [width, height];
        self
    }

    /// One more panel.
    #[must_use]
    pub fn with(mut self, panel: Panel) -> Self {
        self.panels.push(panel);
        self
    }

    /// The text of an SVG file.
    #[must_use]
    pub fn to_svg(&self) -> String {
        svg::text(&layout::draw(self))
    }

    /// The bytes of a PNG file.
    ///
    /// # Errors
    /// When the figure is too large for memory.
    pub fn to_png(&self) -> Result<Vec<u8>> {
        png::bytes(&layout::draw(self), RESOLUTION)
    }

    /// Writes `stem.svg` and `stem.png`.
    ///
    /// # Errors
    /// When a file cannot be written; the message names it.
    pub fn write(&self, stem: &Path) -> Result<()> {
        let drawing = layout::draw(self);
        let image = png::bytes(&drawing, RESOLUTION)
            .with_context(|| format!("drawing {}", stem.display()))?;
        file::write(&stem.with_extension("svg"), svg::text(&drawing).as_bytes())?;
        file::write(&stem.with_extension("png"), &image)
    }
}

/// Series that share axes.
#[derive(Clone, Debug)]
pub struct Panel {
    title: Option<String>,
    x: Axis,
    y: Axis,
    series: Vec<Series>,
}

impl Panel {
    /// An empty panel.
    #[must_use]
    pub const fn new(x: Axis, y: Axis) -> Self {
        Self {
            title: None,
            x,
            y,
            series: Vec::new(),
        }
    }

    /// A title above the panel.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// One more series, drawn over those before it.
    #[must_use]
    pub fn with(mut self, series: Series) -> Self {
        self.series.push(series);
        self
    }
}

/// How the data of a series become marks.
#[derive(Clone, Debug)]
enum Marks {
    /// Straight lines from point to point.
    Line(Vec<[f64; 2]>),
    /// Horizontal until the next point.
    Steps(Vec<[f64; 2]>),
    Dots(Vec<[f64; 2]>),
    /// `x`, lower, upper.
    Band(Vec<[f64; 3]>),
}

/// Data and how to draw them. Points that are not numbers interrupt a line.
#[derive(Clone, Debug)]
pub struct Series {
    marks: Marks,
    label: Option<String>,
    colour: Colour,
    width: f64,
    dash: Dash,
    on_top: bool,
}

impl Series {
    const fn new(marks: Marks, width: f64) -> Self {
        Self {
            marks,
            label: None,
            colour: Colour::hex(0x0033_3333),
            width,
            dash: Dash::Solid,
            on_top: false,
        }
    }

    /// Straight lines from point to point.
    #[must_use]
    pub const fn line(points: Vec<[f64; 2]>) -> Self {
        Self::new(Marks::Line(points), 1.6)
    }

    /// A value that holds until the next point.
    #[must_use]
    pub const fn steps(points: Vec<[f64; 2]>) -> Self {
        Self::new(Marks::Steps(points), 1.6)
    }

    /// A dot at every point.
    #[must_use]
    pub const fn dots(points: Vec<[f64; 2]>) -> Self {
        Self::new(Marks::Dots(points), 6.0)
    }

    /// The area between two lines, from points `[x, lower, upper]`.
    #[must_use]
    pub const fn band(points: Vec<[f64; 3]>) -> Self {
        Self::new(Marks::Band(points), 0.0)
    }

    /// The name in the legend. Equal names of several panels are shown once.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// The colour; a band is usually [faded](Colour::alpha).
    #[must_use]
    pub const fn colour(mut self, colour: Colour) -> Self {
        self.colour = colour;
        self
    }

    /// The width of a line, or the diameter of a dot.
    #[must_use]
    pub const fn width(mut self, width: f64) -> Self {
        self.width = width;
        self
    }

    /// The dashes of a line.
    #[must_use]
    pub const fn dash(mut self, dash: Dash) -> Self {
        self.dash = dash;
        self
    }

    /// Drawn over all others, whatever its place in the legend.
    #[must_use]
    pub const fn on_top(mut self) -> Self {
        self.on_top = true;
        self
    }

    /// The numbers along an axis: 0 is x, 1 is y.
    fn values(&self, axis: usize) -> Vec<f64> {
        match &self.marks {
            Marks::Line(points) | Marks::Steps(points) | Marks::Dots(points) => {
                points.iter().map(|point| point[axis]).collect()
            }
            Marks::Band(points) => points
                .iter()
                .flat_map(|point| point[axis..].iter().take(1 + axis).copied())
                .collect(),
        }
    }
}
