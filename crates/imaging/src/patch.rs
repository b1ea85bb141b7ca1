//! Patches: square parts of pictures at random positions, for learning from large pictures.

use rand::RngExt;

use crate::grid::{Field, Grid};
use crate::seed::{Purpose, Seed};

/// A square part of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patch {
    /// The first row, counted from zero.
    pub row: usize,
    /// The first column, counted from zero.
    pub col: usize,
    /// The number of rows and of columns.
    pub size: usize,
}

impl Patch {
    /// Draws `count` patches of `size` rows and columns from a picture, at positions that depend on
    /// the seed and on the `index` of the picture. Patches may overlap. Returns `None` unless the
    /// grid is that of a picture, grey or in colour, with more than one position for a patch.
    ///
    /// ```
    /// use imaging::{Grid, Patch, Seed};
    ///
    /// let patches = Patch::draw(Grid::image(100, 200), 64, 4, Seed::new(1), 0);
    /// assert_eq!(patches.map(|patches| patches.len()), Some(4));
    /// assert_eq!(Patch::draw(Grid::image(50, 200), 64, 4, Seed::new(1), 0), None);
    /// ```
    #[must_use]
    pub fn draw(
        grid: Grid,
        size: usize,
        count: usize,
        seed: Seed,
        index: usize,
    ) -> Option<Vec<Self>> {
        let (rows, cols) = grid.rows_and_cols();
        if grid.num_axes() != 2 || grid.field() == Field::Complex {
            return None;
        }
        let (last_row, last_col) = (rows.checked_sub(size)?, cols.checked_sub(size)?);
        if size == 0 || (last_row, last_col) == (0, 0) {
            return None;
        }
        let mut rng = seed.stream(Purpose::Patches, index);
        let mut one = || Self {
            row: rng.random_range(0..=last_row),
            col: rng.random_range(0..=last_col),
            size,
        };
        Some((0..count).map(|_| one()).collect())
    }

    /// Returns the grid of the patch of a picture on `grid`.
    #[must_use]
    pub const fn grid(self, grid: Grid) -> Grid {
        let patch = Grid::image(self.size, self.size);
        match grid.field() {
            Field::Real => patch,
            Field::Complex => patch.complex(),
            Field::Colour => patch.colour(),
        }
    }

    /// Returns the patch of a picture on `grid`.
    ///
    /// # Panics
    /// When the picture does not fit the grid, or does not contain the patch.
    #[must_use]
    pub fn of(self, picture: &[f64], grid: Grid) -> Vec<f64> {
        let (rows, cols) = grid.rows_and_cols();
        assert_eq!(picture.len(), grid.len(), "the picture fits the grid");
        assert!(
            self.col + self.size <= cols && self.row + self.size <= rows,
            "the picture has the rows and columns of the patch"
        );
        let parts = grid.num_parts();
        let rows = picture.chunks_exact(parts * cols);
        let rows = rows.skip(self.row).take(self.size);
        rows.flat_map(|row| &row[parts * self.col..parts * (self.col + self.size)])
            .copied()
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patches_lie_in_the_picture_and_follow_the_seed() {
        let grid = Grid::image(20, 31);
        let draw = |seed, index| Patch::draw(grid, 8, 50, Seed::new(seed), index).expect("large");
        let patches = draw(3, 1);
        assert!(patches.iter().all(|p| p.row <= 12 && p.col <= 23));
        assert!(patches.iter().any(|p| p.row == 12) && patches.iter().any(|p| p.row == 0));
        assert_eq!(patches, draw(3, 1));
        assert_ne!(patches, draw(4, 1));
        assert_ne!(patches, draw(3, 2));
        // the first patches do not depend on their number
        let few = Patch::draw(grid, 8, 2, Seed::new(3), 1).expect("large");
        assert_eq!(few[..], patches[..2]);
    }

    #[test]
    fn a_patch_has_its_pixels() {
        let picture: Vec<f64> = (0..20).map(f64::from).collect();
        let patch = Patch {
            row: 1,
            col: 2,
            size: 2,
        };
        let grid = Grid::image(4, 5);
        assert_eq!(patch.of(&picture, grid), [7.0, 8.0, 12.0, 13.0]);
        assert_eq!(patch.grid(grid), Grid::image(2, 2));
        let colours: Vec<f64> = (0..60).map(f64::from).collect();
        let expected = [7, 8, 12, 13].map(|k| [3 * k, 3 * k + 1, 3 * k + 2].map(f64::from));
        assert_eq!(patch.of(&colours, grid.colour()), expected.as_flattened());
        assert_eq!(patch.grid(grid.colour()).len(), 12);
    }

    #[test]
    fn small_pictures_and_signals_have_no_patches() {
        let draw = |grid| Patch::draw(grid, 8, 4, Seed::new(1), 0);
        assert_eq!(draw(Grid::image(8, 8)), None);
        assert_eq!(draw(Grid::image(7, 100)), None);
        assert_eq!(draw(Grid::line(100)), None);
        assert!(draw(Grid::image(8, 9)).is_some());
    }
}
