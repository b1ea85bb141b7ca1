//! What shares a pair of axes, or a picture without any.

use crate::picture::Picture;
use crate::{Axis, Series};

/// Series that share axes, or a picture.
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

    /// An empty panel with axes below and on the left.
    #[must_use]
    pub const fn new(x: Axis, y: Axis) -> Self {
        Self::of(Content::Chart(Chart {
            x,
            y,
            right: None,
            series: Vec::new(),
        }))
    }

    /// A picture of `width` times `height` grey values, row by row, 0 black and 1 white, as large
    /// as the panel allows. Values beyond are cut to this range, NaN is black.
    ///
    /// # Panics
    /// When `grey` has another length, or a side is not between 1 and 10000.
    #[must_use]
    pub fn image(width: usize, height: usize, grey: &[f64]) -> Self {
        Self::of(Content::Picture(Picture::new(width, height, grey)))
    }

    /// A title above the panel.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// A text below the panel.
    #[must_use]
    pub fn caption(mut self, caption: impl Into<String>) -> Self {
        self.caption = Some(caption.into());
        self
    }

    /// A second vertical axis, for the series that are [on the right](Series::on_right).
    ///
    /// # Panics
    /// When the panel is a picture.
    #[must_use]
    pub fn right(mut self, axis: Axis) -> Self {
        self.chart("axes").right = Some(axis);
        self
    }

    /// One more series, drawn over those before it.
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

    /// Nothing for a picture.
    pub(crate) fn series(&self) -> &[Series] {
        match &self.content {
            Content::Chart(chart) => &chart.series,
            Content::Picture(_) => &[],
        }
    }
}
