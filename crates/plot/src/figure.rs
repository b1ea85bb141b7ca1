//! Figures: panels in rows.

use crate::{DrawError, Panel, layout, png, svg};

/// Number of pixels of the PNG per pixel of the drawing, in each direction.
const RESOLUTION: f64 = 2.0;

/// Panels in rows, with one legend for all of them.
#[derive(Clone, Debug)]
pub struct Figure {
    pub(crate) title: Option<String>,
    pub(crate) columns: usize,
    pub(crate) panel_size: [f64; 2],
    pub(crate) panels: Vec<Panel>,
}

impl Figure {
    /// Returns an empty figure with this many panels in a row.
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

    /// Sets the title above all panels.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Sets width and height of the area inside the axes of each panel, or of its image.
    ///
    /// # Panics
    /// When one of them is less than one pixel.
    #[must_use]
    pub fn panel_size(mut self, width: f64, height: f64) -> Self {
        let is_length = |length: f64| length.is_finite() && length >= 1.0;
        assert!(
            is_length(width) && is_length(height),
            "a panel of {width} x {height} pixels"
        );
        self.panel_size = [width, height];
        self
    }

    /// Adds a panel.
    #[must_use]
    pub fn with(mut self, panel: Panel) -> Self {
        self.panels.push(panel);
        self
    }

    /// Returns the text of an SVG file, which can also be an element of an HTML page.
    #[must_use]
    pub fn to_svg(&self) -> String {
        svg::text(&layout::draw(self), self.title.as_deref())
    }

    /// Returns the bytes of a PNG file.
    ///
    /// # Errors
    /// When the figure has more than 100 million pixels.
    pub fn to_png(&self) -> Result<Vec<u8>, DrawError> {
        png::bytes(&layout::draw(self), RESOLUTION)
    }
}
