//! Panels: charts and pictures.

use crate::picture::Picture;
use crate::{Axis, Series};

/// A chart with axes and series, or a picture.
#[derive(Clone, Debug)]
pub struct Panel {
    pub(crate) title: Option<String>,
    pub(crate) caption: Option<String>,
    pub(crate) content: Content,
}

#[expect(clippy::large_enum_variant, reason = "a figure has few panels")]
#[derive(Clone, Debug)]
pub(crate) enum Content {
    Chart(Chart),
    Picture(Picture),
}

#[derive(Clone, Debug)]
pub(crate) struct Chart {
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) right: Option<Axis>,
    pub(crate) series: Vec<Series>,
}

impl Panel {
    const fn of(content: Content) -> Self {
        Self {
            title: None,
            caption: None,
            content,
        }
    }

    /// Returns an empty chart with axes below and on the left.
    #[must_use]
    pub const fn new(x: Axis, y: Axis) -> Self {
        Self::of(Content::Chart(Chart {
            x,
            y,
            right: None,
            series: Vec::new(),
        }))
    }

    /// Returns a picture of `width` times `height` grey values, row by row, as large as the panel
    /// allows. Black is 0 and white is 1. Other values are clamped, and NaN is black.
    ///
    /// # Panics
    /// When `grey` has another length, or a side is not between 1 and 10000.
    #[must_use]
    pub fn image(width: usize, height: usize, grey: &[f64]) -> Self {
        Self::of(Content::Picture(Picture::new(width, height, grey)))
    }

    /// Sets the title above the panel.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Sets the text below the panel.
    #[must_use]
    pub fn caption(mut self, caption: impl Into<String>) -> Self {
        self.caption = Some(caption.into());
        self
    }

    /// Adds a second vertical axis, for the series that are [on the right](Series::on_right).
    ///
    /// # Panics
    /// When the panel is a picture.
    #[must_use]
    pub fn right(mut self, axis: Axis) -> Self {
        self.chart("axes").right = Some(axis);
        self
    }

    /// Adds a series, which is drawn over earlier ones.
    ///
    /// # Panics
    /// When the panel is a picture.
    #[must_use]
    pub fn with(mut self, series: Series) -> Self {
        self.chart("series").series.push(series);
        self
    }

    fn chart(&mut self, what: &str) -> &mut Chart {
        match &mut self.content {
            Content::Chart(chart) => chart,
            Content::Picture(_) => panic!("a picture has no {what}"),
        }
    }

    /// Returns the series; none for a picture.
    pub(crate) fn series(&self) -> &[Series] {
        match &self.content {
            Content::Chart(chart) => &chart.series,
            Content::Picture(_) => &[],
        }
    }
}
