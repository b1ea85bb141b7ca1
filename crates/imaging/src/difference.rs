//! Differences of neighbouring samples, with the boundary as a choice.

use crate::grid::Grid;

/// How the discrete gradient `$\widehat\nabla$` takes differences along each axis.
///
/// The paper's experiments use two conventions: [`Differences::LINE_OF_PAPER`] in 1D and
/// [`Differences::IMAGE_OF_PAPER`] in 2D.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Differences {
    /// Which neighbour.
    pub direction: Direction,
    /// What stands for the neighbour beyond the border.
    pub boundary: Boundary,
}

/// Which neighbour a sample is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// `$x_j - x_{j-1}$`; the first sample meets the border.
    Backward,
    /// `$x_{j+1} - x_j$`; the last sample meets the border.
    Forward,
}

/// What stands for the neighbour beyond the border.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Boundary {
    /// Zero: a jump at the border is penalised (Dirichlet).
    Zero,
    /// The sample at the border itself: no difference there (Neumann).
    Symmetric,
    /// The sample at the opposite border.
    Periodic,
}

impl Differences {
    /// Backward differences with a zero to the left, `$d_0 = x_0$`: the paper's 1D experiments.
    pub const LINE_OF_PAPER: Self = Self {
        direction: Direction::Backward,
        boundary: Boundary::Zero,
    };
    /// Backward differences that vanish in the first row and column: the paper's 2D experiments.
    pub const IMAGE_OF_PAPER: Self = Self {
        direction: Direction::Backward,
        boundary: Boundary::Symmetric,
    };

    /// The convention of the paper for grids with as many axes as `grid`.
    #[must_use]
    pub const fn of_paper(grid: Grid) -> Self {
        if grid.num_axes() == 1 {
            Self::LINE_OF_PAPER
        } else {
            Self::IMAGE_OF_PAPER
        }
    }

    /// `$\|\partial\|^2 \le 4$` per axis, with equality in the limit of long axes (and for even
    /// periodic ones).
    #[must_use]
    pub const fn norm_squared(grid: Grid) -> f64 {
        if grid.num_axes() == 1 { 4.0 } else { 8.0 }
    }

    /// The two samples whose difference (first minus second) belongs to position `at` of an axis
    /// with `len` samples; `None` stands for zero.
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
