//! Where the samples of a signal or picture are.

/// The samples of a signal or picture: how many, along which axes, real or complex.
///
/// A picture is stored row by row; a complex sample as its real part followed by its imaginary
/// part.
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
        /// Its number of samples.
        num_samples: usize,
    },
    /// A picture.
    Image {
        /// Its height.
        rows: usize,
        /// Its width.
        cols: usize,
    },
}

/// Whether samples are real or complex numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Field {
    /// One `f64` per sample.
    Real,
    /// Two `f64` per sample: real and imaginary part.
    Complex,
}

impl Grid {
    /// A real signal.
    #[must_use]
    pub const fn line(num_samples: usize) -> Self {
        Self {
            shape: Shape::Line { num_samples },
            field: Field::Real,
        }
    }

    /// A real picture.
    #[must_use]
    pub const fn image(rows: usize, cols: usize) -> Self {
        Self {
            shape: Shape::Image { rows, cols },
            field: Field::Real,
        }
    }

    /// The same samples, complex.
    #[must_use]
    pub const fn complex(self) -> Self {
        Self {
            shape: self.shape,
            field: Field::Complex,
        }
    }

    /// Its axes.
    #[must_use]
    pub const fn shape(self) -> Shape {
        self.shape
    }

    /// Its field.
    #[must_use]
    pub const fn field(self) -> Field {
        self.field
    }

    /// Number of axes: 1 or 2.
    #[must_use]
    pub const fn num_axes(self) -> usize {
        match self.shape {
            Shape::Line { .. } => 1,
            Shape::Image { .. } => 2,
        }
    }

    /// Rows and columns; a line is one row.
    #[must_use]
    pub const fn rows_and_cols(self) -> (usize, usize) {
        match self.shape {
            Shape::Line { num_samples } => (1, num_samples),
            Shape::Image { rows, cols } => (rows, cols),
        }
    }

    /// Number of real or complex samples.
    #[must_use]
    pub const fn num_samples(self) -> usize {
        let (rows, cols) = self.rows_and_cols();
        rows * cols
    }

    /// Number of `f64` per sample: 1 or 2.
    #[must_use]
    pub const fn num_parts(self) -> usize {
        match self.field {
            Field::Real => 1,
            Field::Complex => 2,
        }
    }

    /// Number of `f64` in all.
    #[must_use]
    pub const fn len(self) -> usize {
        self.num_samples() * self.num_parts()
    }

    /// Whether there are no samples.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.num_samples() == 0
    }
}
