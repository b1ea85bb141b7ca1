//! An image as a part of a larger one.

use crate::error::ModelError;
use crate::grid::Grid;

/// An image as a part of a larger one: the crop `$C$` from an outer grid to an inner grid.
///
/// The unknown of a reconstruction may be larger than the image that is wanted, because the data
/// also depend on what is around the image. `$C$` is a partial isometry, so
/// `$\|C\tilde x - C\hat x\| \le \|\tilde x - \hat x\|$`: a certified error of the unknown holds
/// for the image, too.
///
/// ```
/// use imaging::{Grid, Window};
/// let window = Window::new(Grid::line(5), Grid::line(2), 0, 1)?;
/// let mut image = [0.0; 2];
/// window.crop(&[1.0, 2.0, 3.0, 4.0, 5.0], &mut image);
/// assert_eq!(image, [2.0, 3.0]);
/// let mut unknown = [0.0; 5];
/// window.embed(&image, &mut unknown);
/// assert_eq!(unknown, [0.0, 2.0, 3.0, 0.0, 0.0]);
/// window.extend(&image, &mut unknown);
/// assert_eq!(unknown, [2.0, 2.0, 3.0, 3.0, 3.0]);
/// # Ok::<(), imaging::ModelError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Window {
    outer: Grid,
    inner: Grid,
    row: usize,
    col: usize,
}

impl Window {
    /// The window that is all of `grid`.
    #[must_use]
    pub const fn whole(grid: Grid) -> Self {
        Self {
            outer: grid,
            inner: grid,
            row: 0,
            col: 0,
        }
    }

    /// Creates the window of `inner` samples whose first one is at (`row`, `col`) of `outer`. The
    /// row of a line is 0.
    ///
    /// # Errors
    /// If the inner grid is empty, has other axes or other samples than the outer one, or reaches
    /// beyond it.
    pub fn new(outer: Grid, inner: Grid, row: usize, col: usize) -> Result<Self, ModelError> {
        if inner.is_empty() {
            return Err(ModelError::EmptyGrid);
        }
        let ((rows, cols), (inner_rows, inner_cols)) =
            (outer.rows_and_cols(), inner.rows_and_cols());
        let fits = |at: usize, len: usize, outer: usize| {
            at.checked_add(len).is_some_and(|end| end <= outer)
        };
        if outer.num_axes() != inner.num_axes()
            || outer.field() != inner.field()
            || !fits(row, inner_rows, rows)
            || !fits(col, inner_cols, cols)
        {
            return Err(ModelError::WrongGrid {
                name: "inner",
                needed: "a part of the outer grid, with the same axes and the same type of samples",
            });
        }
        Ok(Self {
            outer,
            inner,
            row,
            col,
        })
    }

    /// The outer grid.
    #[must_use]
    pub const fn outer(&self) -> Grid {
        self.outer
    }

    /// The inner grid.
    #[must_use]
    pub const fn inner(&self) -> Grid {
        self.inner
    }

    /// The row and the column of the first sample.
    #[must_use]
    pub const fn origin(&self) -> (usize, usize) {
        (self.row, self.col)
    }

    /// Whether the window is the whole outer grid.
    #[must_use]
    pub const fn is_whole(&self) -> bool {
        self.outer.len() == self.inner.len()
    }

    /// The index of the first `f64` of the window's part of a row of the outer grid.
    const fn at(&self, row: usize) -> usize {
        let (_, cols) = self.outer.rows_and_cols();
        self.outer.num_parts() * (row * cols + self.col)
    }

    /// The number of `f64` in a row of the inner grid.
    const fn width(&self) -> usize {
        let (_, cols) = self.inner.rows_and_cols();
        self.inner.num_parts() * cols
    }

    /// Overwrites `image` with `$Cx$`, the part of `x` in the window.
    ///
    /// # Panics
    /// If a length does not fit its grid.
    pub fn crop(&self, x: &[f64], image: &mut [f64]) {
        self.check(x, image);
        let width = self.width();
        for (row, image) in image.chunks_exact_mut(width).enumerate() {
            let at = self.at(self.row + row);
            image.copy_from_slice(&x[at..at + width]);
        }
    }

    /// Returns `$Cx$`: `x` itself if the window is whole, otherwise the crop, written to `memory`.
    ///
    /// # Panics
    /// If `x` does not have the length of the outer grid.
    pub fn cropped<'a>(&self, x: &'a [f64], memory: &'a mut Vec<f64>) -> &'a [f64] {
        if self.is_whole() {
            return x;
        }
        memory.resize(self.inner.len(), 0.0);
        self.crop(x, memory);
        memory
    }

    /// Overwrites `x` with `$C^*$` of an image: the image in the window, and zero around it.
    ///
    /// # Panics
    /// If a length does not fit its grid.
    pub fn embed(&self, image: &[f64], x: &mut [f64]) {
        self.check(x, image);
        x.fill(0.0);
        let width = self.width();
        for (row, image) in image.chunks_exact(width).enumerate() {
            let at = self.at(self.row + row);
            x[at..at + width].copy_from_slice(image);
        }
    }

    /// Overwrites `x` with an image in the window, which is continued around it by its edge.
    ///
    /// # Panics
    /// If a length does not fit its grid.
    pub fn extend(&self, image: &[f64], x: &mut [f64]) {
        self.check(x, image);
        let parts = self.outer.num_parts();
        let (_, cols) = self.outer.rows_and_cols();
        let (inner_rows, inner_cols) = self.inner.rows_and_cols();
        for (row, out) in x.chunks_exact_mut(parts * cols).enumerate() {
            let from = row.saturating_sub(self.row).min(inner_rows - 1);
            for (col, out) in out.chunks_exact_mut(parts).enumerate() {
                let col = col.saturating_sub(self.col).min(inner_cols - 1);
                let at = parts * (from * inner_cols + col);
                out.copy_from_slice(&image[at..at + parts]);
            }
        }
    }

    fn check(&self, x: &[f64], image: &[f64]) {
        assert!(
            x.len() == self.outer.len() && image.len() == self.inner.len(),
            "{} and {} entries do not fit the outer and the inner grid of a window, which have {} \
             and {}",
            x.len(),
            image.len(),
            self.outer.len(),
            self.inner.len()
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Images, complex ones too, end up where their samples are; `$C^*$` is the adjoint of `$C$`.
    #[test]
    fn rows_and_parts_go_where_they_belong() {
        let (outer, inner) = (Grid::image(4, 5).complex(), Grid::image(2, 2).complex());
        let window = Window::new(outer, inner, 1, 2).expect("it fits");
        let x: Vec<f64> = (0..40).map(f64::from).collect();
        let mut memory = Vec::new();
        let image = window.cropped(&x, &mut memory).to_vec();
        assert_eq!(image, [14.0, 15.0, 16.0, 17.0, 24.0, 25.0, 26.0, 27.0]);
        let mut back = vec![1.0; 40];
        window.embed(&image, &mut back);
        let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        assert!((product(&image, &image) - product(&x, &back)).abs() < 1e-12);
        window.extend(&image, &mut back);
        assert_eq!(&back[..6], [14.0, 15.0, 14.0, 15.0, 14.0, 15.0]);
        assert_eq!(&back[36..], [26.0, 27.0, 26.0, 27.0]);

        let whole = Window::whole(inner);
        assert!(whole.is_whole() && !window.is_whole());
        assert_eq!(whole.cropped(&image, &mut memory).as_ptr(), image.as_ptr());
    }

    #[test]
    fn windows_must_fit() {
        let outer = Grid::image(4, 5);
        for (inner, row, col) in [
            (Grid::image(2, 2), 3, 0),
            (Grid::image(2, 2), 0, 4),
            (Grid::image(2, 2), usize::MAX, 0),
            (Grid::line(2), 0, 0),
            (Grid::image(2, 2).complex(), 0, 0),
            (Grid::image(0, 2), 0, 0),
        ] {
            assert!(Window::new(outer, inner, row, col).is_err(), "{inner:?}");
        }
    }
}
