//! Differences of neighbouring samples, with a choice of boundary conditions.

use crate::grid::Grid;

/// The differences along each axis that form the discrete gradient `$\widehat\nabla$`.
///
/// The paper's experiments use two conventions: [`Differences::LINE_OF_PAPER`] in 1D and
/// [`Differences::IMAGE_OF_PAPER`] in 2D.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Differences {
    /// The neighbour that a sample is compared with.
    pub direction: Direction,
    /// The value that replaces the neighbour beyond the border.
    pub boundary: Boundary,
}

/// The neighbour that a sample is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// The difference `$x_j - x_{j-1}$`. At the first sample it crosses the border.
    Backward,
    /// The difference `$x_{j+1} - x_j$`. At the last sample it crosses the border.
    Forward,
}

/// The value that replaces the neighbour beyond the border.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Boundary {
    /// Zero, so that a jump at the border is penalised (Dirichlet).
    Zero,
    /// The sample at the border itself, so that the difference there is zero (Neumann).
    Symmetric,
    /// The sample at the opposite border.
    Periodic,
}

impl Differences {
    /// The convention of the paper's 1D experiments: backward differences with a zero to the left,
    /// `$d_0 = x_0$`.
    pub const LINE_OF_PAPER: Self = Self {
        direction: Direction::Backward,
        boundary: Boundary::Zero,
    };
    /// The convention of the paper's 2D experiments: backward differences that vanish in the first
    /// row and column.
    pub const IMAGE_OF_PAPER: Self = Self {
        direction: Direction::Backward,
        boundary: Boundary::Symmetric,
    };

    /// Returns the paper's convention for grids with as many axes as `grid`. Volumes, which the
    /// paper does not have, get that of pictures.
    #[must_use]
    pub const fn of_paper(grid: Grid) -> Self {
        if grid.num_axes() == 1 {
            Self::LINE_OF_PAPER
        } else {
            Self::IMAGE_OF_PAPER
        }
    }

    /// A bound on `$\|\partial\|^2$`: 4 per axis. Equality holds in the limit of long axes, and for
    /// periodic axes of even length.
    #[must_use]
    pub const fn norm_squared(grid: Grid) -> f64 {
        match grid.num_axes() {
            1 => 4.0,
            2 => 8.0,
            _ => 12.0,
        }
    }

    /// Returns the two samples whose difference, first minus second, belongs to position `at` of an
    /// axis with `len` samples. `None` stands for zero.
    pub(crate) fn ends(self, at: usize, len: usize) -> (Option<usize>, Option<usize>) {
        let across_border = |wrapped: usize| match self.boundary {
            Boundary::Zero => None,
            Boundary::Symmetric => Some(at),
            Boundary::Periodic => Some(wrapped),
        };
        match self.direction {
            Direction::Backward if at == 0 => (Some(at), across_border(len - 1)),
            Direction::Backward => (Some(at), Some(at - 1)),
            Direction::Forward if at + 1 == len => (across_border(0), Some(at)),
            Direction::Forward => (Some(at + 1), Some(at)),
        }
    }
}
