//! What a drawing consists of.

/// Red, green, blue, and how opaque.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Colour {
    pub(super) rgb: [u8; 3],
    pub(super) alpha: f64,
}

impl Colour {
    /// From `0xRRGGBB`.
    #[must_use]
    pub const fn hex(rgb: u32) -> Self {
        let [_, red, green, blue] = rgb.to_be_bytes();
        Self {
            rgb: [red, green, blue],
            alpha: 1.0,
        }
    }

    /// The same colour, this opaque: 0 is invisible, 1 hides what is below.
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
    /// Dashes and dots in turn.
    DashDot,
}

impl Dash {
    /// Lengths of dashes and gaps in turn.
    pub(super) const fn lengths(self) -> &'static [f64] {
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
pub(super) struct Area {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// Which part of a text lies at its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

#[derive(Clone, Debug)]
pub(super) enum Shape {
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
        /// On the base line.
        at: [f64; 2],
        text: String,
        size: f64,
        anchor: Anchor,
        /// Whether it reads upwards.
        upwards: bool,
        colour: Colour,
    },
}

/// A shape, and the area outside of which it is invisible.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) shape: Shape,
    pub(super) clip: Option<Area>,
}

/// Shapes on white, in the order of drawing.
#[derive(Clone, Debug)]
pub(super) struct Drawing {
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) items: Vec<Item>,
}

impl Drawing {
    pub(super) fn add(&mut self, shape: Shape) {
        self.items.push(Item { shape, clip: None });
    }

    pub(super) fn add_inside(&mut self, area: Area, shape: Shape) {
        let clip = Some(area);
        self.items.push(Item { shape, clip });
    }
}
