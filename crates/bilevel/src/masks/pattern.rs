//! Patterns of frequencies, and masks that need no learning.

use imaging::Grid;

use super::MaskError;

/// The elements of a mask: which frequencies are measured together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Pattern {
    /// Lines: all frequencies of a column, as in a two-dimensional scan.
    #[default]
    Lines,
    /// Single frequencies, as in a three-dimensional scan, whose lines cross the slices.
    Points,
}

/// A mask that needs no learning.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum MaskKind {
    /// The lowest frequencies.
    LowPass,
    /// Lines or points at equal distances, besides the centre.
    Equispaced,
    /// Random elements: one at the distance `$r$` from frequency zero, relative to the largest one,
    /// is drawn with a probability in proportion to `$(1 - r)^p$`.
    VariableDensity {
        /// The exponent `$p$`.
        exponent: f64,
        /// The seed of the random numbers.
        seed: u64,
    },
}

/// The generator of pseudo-random numbers `SplitMix64` (Steele, Lea & Flood, 2014).
struct SplitMix(u64);

impl SplitMix {
    /// Returns a number in `$[0, 1)$`.
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        (mixed >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Returns the signed frequency with the index `index` on an axis with `len` samples.
#[must_use]
pub const fn frequency(index: usize, len: usize) -> i64 {
    let (index, len) = (index as i64, len as i64);
    if 2 * index < len { index } else { index - len }
}

impl Pattern {
    /// Returns the name in settings.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lines => "lines",
            Self::Points => "points",
        }
    }

    /// Returns the number of elements of pictures on `grid`.
    #[must_use]
    pub const fn num_elements(self, grid: Grid) -> usize {
        match self {
            Self::Lines => grid.rows_and_cols().1,
            Self::Points => grid.num_samples(),
        }
    }

    /// Returns the number of elements for a share of all of them, rounded.
    ///
    /// # Errors
    /// When the budget is not above 0 and at most 1.
    pub fn size_of(self, grid: Grid, budget: f64) -> Result<usize, MaskError> {
        if !(budget > 0.0 && budget <= 1.0) {
            return Err(MaskError::Budget { found: budget });
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the number is at most that of all elements"
        )]
        let size = (budget * self.num_elements(grid) as f64).round() as usize;
        Ok(size.max(1))
    }

    /// Checks that a mask fits pictures on this grid, and is not empty.
    pub(super) fn check(self, grid: Grid, set: &[bool]) -> Result<(), MaskError> {
        let needed = self.num_elements(grid);
        if set.len() != needed {
            return Err(MaskError::Length {
                found: set.len(),
                needed,
                elements: self.name(),
            });
        }
        match set.contains(&true) {
            true => Ok(()),
            false => Err(MaskError::Empty),
        }
    }

    /// Returns the element that a frequency belongs to.
    const fn element(self, grid: Grid, index: usize) -> usize {
        match self {
            Self::Lines => index % grid.rows_and_cols().1,
            Self::Points => index,
        }
    }

    /// Returns the set of these elements; others than those of the grid are left out.
    #[must_use]
    pub fn set_of(self, grid: Grid, elements: &[usize]) -> Vec<bool> {
        let mut set = vec![false; self.num_elements(grid)];
        for &element in elements {
            if let Some(entry) = set.get_mut(element) {
                *entry = true;
            }
        }
        set
    }

    /// Returns one weight for each frequency: 1 if it is in the set.
    #[must_use]
    pub fn weights(self, grid: Grid, set: &[bool]) -> Vec<f64> {
        let measured = |index| set[self.element(grid, index)];
        let weight = |index| if measured(index) { 1.0 } else { 0.0 };
        (0..grid.num_samples()).map(weight).collect()
    }

    /// Returns one number for each frequency: that of its element.
    #[must_use]
    pub fn spread(self, grid: Grid, numbers: &[f64]) -> Vec<f64> {
        let number = |index| numbers[self.element(grid, index)];
        (0..grid.num_samples()).map(number).collect()
    }

    /// Adds up numbers of frequencies that belong to the same element.
    #[must_use]
    pub fn add_up(self, grid: Grid, numbers: &[f64]) -> Vec<f64> {
        let mut sums = vec![0.0; self.num_elements(grid)];
        for (index, number) in numbers.iter().enumerate() {
            sums[self.element(grid, index)] += number;
        }
        sums
    }

    /// Returns the elements of the centre: the `width` lowest lines, or a block of `width` x
    /// `width` points around frequency zero.
    #[must_use]
    pub fn centre(self, grid: Grid, width: usize) -> Vec<bool> {
        let (rows, cols) = grid.rows_and_cols();
        let is_low = |index: usize, len: usize| {
            let width = width as i64;
            (-(width / 2)..(width + 1) / 2).contains(&frequency(index, len))
        };
        let is_in = |element: usize| match self {
            Self::Lines => is_low(element, cols),
            Self::Points => is_low(element / cols, rows) && is_low(element % cols, cols),
        };
        (0..self.num_elements(grid)).map(is_in).collect()
    }

    /// Returns the distance of an element from frequency zero, relative to that of the farthest
    /// frequency of an axis.
    fn distance(self, grid: Grid, element: usize) -> f64 {
        let (rows, cols) = grid.rows_and_cols();
        let relative = |index: usize, len: usize| {
            2.0 * frequency(index, len).unsigned_abs() as f64 / len.max(1) as f64
        };
        match self {
            Self::Lines => relative(element, cols),
            Self::Points => {
                let [down, across] = [
                    relative(element / cols, rows),
                    relative(element % cols, cols),
                ];
                (down * down + across * across).sqrt()
            }
        }
    }

    /// Returns a mask with `size` elements that contains the centre of the given width. If the
    /// centre alone is larger, the mask is the centre.
    #[must_use]
    pub fn mask(self, grid: Grid, size: usize, centre: usize, kind: MaskKind) -> Vec<bool> {
        let mut set = self.centre(grid, centre);
        let missing = size.saturating_sub(set.iter().filter(|&&entry| entry).count());
        let all = || (0..set.len()).filter(|&element| !set[element]);
        let chosen: Vec<usize> = match kind {
            MaskKind::LowPass => {
                let mut order: Vec<usize> = all().collect();
                let key = |element: usize| self.distance(grid, element);
                order.sort_by(|&a, &b| key(a).total_cmp(&key(b)));
                order.truncate(missing);
                order
            }
            MaskKind::Equispaced => {
                let others: Vec<usize> = all().collect();
                let pick = |number: usize| others[(2 * number + 1) * others.len() / (2 * missing)];
                (0..missing.min(others.len())).map(pick).collect()
            }
            MaskKind::VariableDensity { exponent, seed } => {
                let mut random = SplitMix(seed);
                // The elements with the smallest of these keys are a sample without replacement: an
                // exponential variable with the rate of each element.
                let key = |element: usize, draw: f64| {
                    let density = (1.0 - self.distance(grid, element)).max(0.0).powf(exponent);
                    -(1.0 - draw).ln() / density.max(1e-12)
                };
                let mut order: Vec<(f64, usize)> = all()
                    .map(|element| (key(element, random.next()), element))
                    .collect();
                order.sort_by(|a, b| a.0.total_cmp(&b.0));
                order.truncate(missing);
                order.into_iter().map(|(_, element)| element).collect()
            }
        };
        for element in chosen {
            set[element] = true;
        }
        set
    }
}

/// Returns which pixels belong to the object: those whose surroundings of 5 x 5 pixels have a mean
/// modulus above a twentieth of the largest modulus.
#[must_use]
pub fn is_inside(grid: Grid, truth: &[f64]) -> Vec<bool> {
    let (rows, cols) = grid.rows_and_cols();
    let (samples, _) = truth.as_chunks::<2>();
    let moduli: Vec<f64> = samples.iter().map(|s| s[0].hypot(s[1])).collect();
    let largest = moduli.iter().copied().fold(0.0, f64::max);
    let near = |at: usize, len: usize| at.saturating_sub(2)..(at + 3).min(len);
    let mean = |index: usize| {
        let (row, col) = (index / cols, index % cols);
        let (mut sum, mut count) = (0.0, 0.0);
        for i in near(row, rows) {
            for j in near(col, cols) {
                sum += moduli[i * cols + j];
                count += 1.0;
            }
        }
        sum / count
    };
    (0..rows * cols)
        .map(|index| mean(index) > 0.05 * largest)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(set: &[bool]) -> usize {
        set.iter().filter(|&&entry| entry).count()
    }

    #[test]
    fn centres_are_around_frequency_zero() {
        let grid = Grid::image(4, 8).complex();
        let lines = Pattern::Lines.centre(grid, 3);
        assert_eq!(lines, [true, true, false, false, false, false, false, true]);
        let points = Pattern::Points.centre(grid, 2);
        assert_eq!(count(&points), 4);
        assert!(points[0] && points[7] && points[24] && points[31]);
    }

    #[test]
    fn masks_have_their_size_and_contain_the_centre() {
        let grid = Grid::image(64, 64).complex();
        for pattern in [Pattern::Lines, Pattern::Points] {
            let size = pattern.num_elements(grid) / 4;
            let random = |exponent, seed| MaskKind::VariableDensity { exponent, seed };
            for kind in [MaskKind::LowPass, MaskKind::Equispaced, random(4.0, 1)] {
                let mask = pattern.mask(grid, size, 2, kind);
                assert_eq!(count(&mask), size, "{pattern:?} {kind:?}");
                let centre = pattern.centre(grid, 2);
                assert!(
                    mask.iter()
                        .zip(&centre)
                        .all(|(mask, centre)| *mask || !centre)
                );
            }
            let masks = [1, 2].map(|seed| pattern.mask(grid, size, 2, random(4.0, seed)));
            assert_ne!(masks[0], masks[1]);
            // large exponents prefer low frequencies
            let mean = |exponent: f64| -> f64 {
                let mask = pattern.mask(grid, size, 2, random(exponent, 3));
                let chosen = (0..mask.len()).filter(|&element| mask[element]);
                chosen.map(|element| pattern.distance(grid, element)).sum()
            };
            assert!(mean(8.0) < mean(1.0));
        }
    }

    #[test]
    fn weights_and_sums_belong_to_elements() {
        let grid = Grid::image(2, 3).complex();
        let set = [true, false, true];
        let weights = Pattern::Lines.weights(grid, &set);
        assert_eq!(weights, [1.0, 0.0, 1.0, 1.0, 0.0, 1.0]);
        let numbers = [1.0, 2.0, 3.0, 10.0, 20.0, 30.0];
        assert_eq!(Pattern::Lines.add_up(grid, &numbers), [11.0, 22.0, 33.0]);
        assert_eq!(Pattern::Points.add_up(grid, &numbers), numbers);
    }
}
