//! The sampling grid of a signal, picture or volume.

/// The sampling grid of a signal, picture or volume: its axes, and whether samples are real
/// numbers, complex numbers or colours.
///
/// A picture is stored row by row, and a volume slice by slice. A complex sample is stored as its
/// real part followed by its imaginary part, and a colour as its red, green and blue part.
///
/// ```
/// use imaging::Grid;
/// assert_eq!(Grid::line(256).len(), 256);
/// assert_eq!(Grid::image(3, 5).complex().len(), 30);
/// assert_eq!(Grid::image(3, 5).complex().num_samples(), 15);
/// assert_eq!(Grid::image(3, 5).colour().len(), 45);
/// assert_eq!(Grid::volume(2, 3, 5).len(), 30);
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
    /// A volume.
    Volume {
        /// The number of slices.
        slices: usize,
        /// The number of rows of a slice.
        rows: usize,
        /// The number of columns of a slice.
        cols: usize,
    },
}

/// The type of the samples: real numbers, complex numbers or colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Field {
    /// Real samples, stored as one `f64` each.
    Real,
    /// Complex samples, stored as two `f64` each: the real and the imaginary part.
    Complex,
    /// Colours, stored as three `f64` each: the red, the green and the blue part. Regularisers of
    /// grey pictures refuse them; [`Opponent`](crate::Opponent) models take them.
    Colour,
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

    /// Creates the grid of a real volume.
    #[must_use]
    pub const fn volume(slices: usize, rows: usize, cols: usize) -> Self {
        Self {
            shape: Shape::Volume { slices, rows, cols },
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

    /// Returns the same grid with colours as samples.
    #[must_use]
    pub const fn colour(self) -> Self {
        Self {
            shape: self.shape,
            field: Field::Colour,
        }
    }

    /// Returns the same grid with real samples.
    #[must_use]
    pub const fn real(self) -> Self {
        Self {
            shape: self.shape,
            field: Field::Real,
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

    /// The number of axes, 1 to 3.
    #[must_use]
    pub const fn num_axes(self) -> usize {
        match self.shape {
            Shape::Line { .. } => 1,
            Shape::Image { .. } => 2,
            Shape::Volume { .. } => 3,
        }
    }

    /// The numbers of rows and columns. A line is one row. The slices of a volume lie one below the
    /// other, as they are stored.
    #[must_use]
    pub const fn rows_and_cols(self) -> (usize, usize) {
        match self.shape {
            Shape::Line { num_samples } => (1, num_samples),
            Shape::Image { rows, cols } => (rows, cols),
            Shape::Volume { slices, rows, cols } => (slices * rows, cols),
        }
    }

    /// The numbers of slices, rows of a slice and columns. Lines and pictures are one slice.
    #[must_use]
    pub const fn slices_rows_and_cols(self) -> (usize, usize, usize) {
        match self.shape {
            Shape::Volume { slices, rows, cols } => (slices, rows, cols),
            _ => {
                let (rows, cols) = self.rows_and_cols();
                (1, rows, cols)
            }
        }
    }

    /// The number of samples: real numbers, complex numbers or colours.
    #[must_use]
    pub const fn num_samples(self) -> usize {
        let (rows, cols) = self.rows_and_cols();
        rows * cols
    }

    /// The number of `f64` per sample: 1, 2 or 3.
    #[must_use]
    pub const fn num_parts(self) -> usize {
        match self.field {
            Field::Real => 1,
            Field::Complex => 2,
            Field::Colour => 3,
        }
    }

    /// The number of terms of a mean square, such as the mean squared error: the number of samples,
    /// or of the parts of colours.
    #[must_use]
    pub const fn num_intensities(self) -> usize {
        match self.field {
            Field::Real | Field::Complex => self.num_samples(),
            Field::Colour => self.len(),
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
