//! Figures as SVG and PNG: lines, steps, dots, squares, bands, bars, stems and grey pictures, in
//! panels with linear or logarithmic axes.
//!
//! ```
//! use plot::{Axis, Dash, Figure, Panel, Series};
//!
//! let decay: Vec<[f64; 2]> = (0..=50).map(|k| [f64::from(k), 0.5_f64.powi(k)]).collect();
//! let panel = Panel::new(Axis::linear("iteration"), Axis::log("error"))
//!     .with(Series::line(decay).label("half each time").dash(Dash::Long));
//! let svg = Figure::new(1).with(panel).to_svg();
//! assert!(svg.contains("half each time"));
//! ```
//!
//! # Two axes
//!
//! ```
//! # use plot::{Axis, Colour, Figure, Panel, Series};
//! let red = Colour::hex(0xc0182b);
//! let panel = Panel::new(Axis::linear("iteration"), Axis::log("radius"))
//!     .right(Axis::linear("work").colour(red))
//!     .with(Series::steps(vec![[0.0, 1.0], [1.0, 0.1], [2.0, 0.01]]))
//!     .with(Series::line(vec![[0.0, 10.0], [1.0, 25.0], [2.0, 60.0]]).colour(red).on_right());
//! assert!(Figure::new(1).with(panel).to_svg().contains("work"));
//! ```
//!
//! # Pictures
//!
//! ```
//! # use plot::{Figure, Panel};
//! let ramp: Vec<f64> = (0..64).map(|i| f64::from(i % 8) / 7.0).collect();
//! let panel = Panel::image(8, 8, &ramp).title("a ramp").caption("8 x 8 pixels");
//! let svg = Figure::new(3).panel_size(150.0, 150.0).with(panel).to_svg();
//! assert!(svg.contains("data:image/png;base64,"));
//! ```
//!
//! # Conventions
//!
//! Lengths are in CSS pixels, and a PNG has two pixels for each. An SVG can be a file or an element
//! of an HTML page, next to others: it has no ids, a white background and no fonts to load, and it
//! shrinks to the width of the page. The same figure always gives the same text. The letters of the
//! PNG are those of a font in this crate, so that it looks the same everywhere.
//!
//! Marks are clipped at the axes, including those of infinite values. On a logarithmic axis, zero
//! and negative numbers lie below the axis. NaN interrupts a line or a band, and is left out
//! elsewhere.

mod axis;
mod canvas;
mod clip;
mod error;
mod figure;
mod font;
mod layout;
mod panel;
mod picture;
mod png;
mod series;
mod svg;

pub use axis::{Axis, AxisScale, NumberStyle};
pub use canvas::{Colour, Dash};
pub use error::DrawError;
pub use figure::Figure;
pub use panel::Panel;
pub use series::Series;
