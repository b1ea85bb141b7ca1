//! Drawings and their shapes.

use crate::picture::Picture;

/// A colour with an opacity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Colour {
    pub(crate) rgb: [u8; 3],
    pub(crate) alpha: f64,
}

impl Colour {
    /// Returns the opaque colour `0xRRGGBB`.
    #[must_use]
    pub const fn hex(rgb: u32) -> Self {
        let [_, red, green, blue] = rgb.to_be_bytes();
        Self {
            rgb: [red, green, blue],
            alpha: 1.0,
        }
    }

    /// Returns the same colour with another opacity: 0 is invisible, 1 is opaque.
    #[must_use]
    pub const fn alpha(self, alpha: f64) -> Self {
        Self { alpha, ..self }
    }
}

/// The pattern of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dash {
    /// No gaps.
    Solid,
    /// Long dashes.
    Long,
    /// Short dashes.
    Short,
    /// Dots.
    Dotted,
    /// Alternating dashes and dots.
    DashDot,
}

impl Dash {
    /// Returns the lengths of dashes and gaps, alternating.
    pub(crate) const fn lengths(self) -> &'static [f64] {
        match self {
            Self::Solid => &[],
            Self::Long => &[9.0, 4.0],
            Self::Short => &[5.0, 3.0],
            Self::Dotted => &[1.8, 2.6],
            Self::DashDot => &[9.0, 3.0, 2.0, 3.0],
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Area {
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

impl Area {
    pub(crate) const fn right(&self) -> f64 {
        self.left + self.width
    }

    pub(crate) const fn bottom(&self) -> f64 {
        self.top + self.height
    }

    pub(crate) const fn corners(&self) -> [[f64; 2]; 4] {
        [
            [self.left, self.top],
            [self.right(), self.top],
            [self.right(), self.bottom()],
            [self.left, self.bottom()],
        ]
    }

    /// Whether a point is inside the area or, up to rounding, on its border.
    pub(crate) fn contains(&self, [x, y]: [f64; 2]) -> bool {
        const SLACK: f64 = 1e-6;
        (self.left - SLACK..=self.right() + SLACK).contains(&x)
            && (self.top - SLACK..=self.bottom() + SLACK).contains(&y)
    }

    /// Returns the area enlarged by `margin` on all sides.
    pub(crate) const fn grown(&self, margin: f64) -> Self {
        Self {
            left: self.left - margin,
            top: self.top - margin,
            width: self.width + 2.0 * margin,
            height: self.height + 2.0 * margin,
        }
    }
}

/// The part of a text that lies at its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

#[derive(Clone, Debug)]
pub(crate) enum Shape {
    Stroke {
        points: Vec<[f64; 2]>,
        colour: Colour,
        width: f64,
        dash: Dash,
    },
    Fill {
        points: Vec<[f64; 2]>,
        colour: Colour,
    },
    Dot {
        centre: [f64; 2],
        diameter: f64,
        colour: Colour,
    },
    Text {
        /// The position on the base line.
        at: [f64; 2],
        text: String,
        size: f64,
        anchor: Anchor,
        /// Whether the text reads upwards.
        upwards: bool,
        colour: Colour,
    },
    Picture {
        area: Area,
        picture: Picture,
    },
}

/// Shapes on white, in the order of drawing.
#[derive(Clone, Debug)]
pub(crate) struct Drawing {
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) shapes: Vec<Shape>,
}

impl Drawing {
    pub(crate) fn add(&mut self, shape: Shape) {
        self.shapes.push(shape);
    }

    /// Adds a thin line.
    pub(crate) fn line(&mut self, points: Vec<[f64; 2]>, colour: Colour) {
        self.add(Shape::Stroke {
            points,
            colour,
            width: 1.0,
            dash: Dash::Solid,
        });
    }

    /// Adds a thin frame around an area.
    pub(crate) fn frame(&mut self, area: &Area, colour: Colour) {
        let mut points = area.corners().to_vec();
        points.push(points[0]);
        self.line(points, colour);
    }
}
