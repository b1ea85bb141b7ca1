//! The sampling grid of a signal or picture.

/// The sampling grid of a signal or picture: its axes, and whether samples are real or complex.
///
/// A picture is stored row by row. A complex sample is stored as its real part followed by its
/// imaginary part.
///
/// ```
/// use imaging::Grid;
/// assert_eq!(Grid::line(256).len(), 256);
/// assert_eq!(Grid::image(3, 5).complex().len(), 30);
/// assert_eq!(Grid::image(3, 5).complex().num_samples(), 15);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Grid {
    shape: Shape,
    field: Field,
}

/// The axes of a [`Grid`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Shape {
    /// A signal.
    Line {
        /// The number of samples.
        num_samples: usize,
    },
    /// A picture.
    Image {
        /// The number of rows.
        rows: usize,
        /// The number of columns.
        cols: usize,
    },
}

/// The type of the samples: real or complex numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Field {
    /// Real samples, stored as one `f64` each.
    Real,
    /// Complex samples, stored as two `f64` each: the real and the imaginary part.
    Complex,
}

impl Grid {
    /// Creates the grid of a real signal.
    #[must_use]
    pub const fn line(num_samples: usize) -> Self {
        Self {
            shape: Shape::Line { num_samples },
            field: Field::Real,
        }
    }

    /// Creates the grid of a real picture.
    #[must_use]
    pub const fn image(rows: usize, cols: usize) -> Self {
        Self {
            shape: Shape::Image { rows, cols },
            field: Field::Real,
        }
    }

    /// Returns the same grid with complex samples.
    #[must_use]
    pub const fn complex(self) -> Self {
        Self {
            shape: self.shape,
            field: Field::Complex,
        }
    }

    /// The axes of the grid.
    #[must_use]
    pub const fn shape(self) -> Shape {
        self.shape
    }

    /// The type of the samples.
    #[must_use]
    pub const fn field(self) -> Field {
        self.field
    }

    /// The number of axes, 1 or 2.
    #[must_use]
    pub const fn num_axes(self) -> usize {
        match self.shape {
            Shape::Line { .. } => 1,
            Shape::Image { .. } => 2,
        }
    }

    /// The numbers of rows and columns. A line is one row.
    #[must_use]
    pub const fn rows_and_cols(self) -> (usize, usize) {
        match self.shape {
            Shape::Line { num_samples } => (1, num_samples),
            Shape::Image { rows, cols } => (rows, cols),
        }
    }

    /// The number of real or complex samples.
    #[must_use]
    pub const fn num_samples(self) -> usize {
        let (rows, cols) = self.rows_and_cols();
        rows * cols
    }

    /// The number of `f64` per sample, 1 or 2.
    #[must_use]
    pub const fn num_parts(self) -> usize {
        match self.field {
            Field::Real => 1,
            Field::Complex => 2,
        }
    }

    /// The total number of `f64`.
    #[must_use]
    pub const fn len(self) -> usize {
        self.num_samples() * self.num_parts()
    }

    /// Whether the grid has no samples.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.num_samples() == 0
    }
}
