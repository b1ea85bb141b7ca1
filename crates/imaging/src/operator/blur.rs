//! The blur of a picture whose surroundings are unknown.

use crate::error::ModelError;
use crate::fingerprint;
use crate::grid::{Grid, Shape};
use crate::kernel::Kernel;
use crate::operator::convolution::Convolution;
use crate::operator::fourier::FourierScratch;
use crate::operator::{LinearOperator, Spectrum, Weights};
use crate::window::Window;

/// What lies beyond the borders of a blurred picture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum BlurBoundary {
    /// More of the scene, which is not known and is reconstructed along with the picture. This is
    /// how cameras blur.
    #[default]
    Unknown,
    /// The picture itself, again and again. A camera does not blur like that.
    Periodic,
}

/// The blur of a picture or signal by a [`Kernel`], `$A = CK$`: the circular convolution `$K$` of
/// the unknown, and the crop `$C$` to the pixels that were measured.
///
/// With [`BlurBoundary::Unknown`], the unknown is larger than the data: it reaches as far as pixels
/// that were measured can see, and a little further, to a size for which Fourier transforms are
/// fast. The circle then closes outside of what was measured, so every measured pixel is a weighted
/// sum of neighbours, as in a camera. With [`BlurBoundary::Periodic`], the unknown has the size of
/// the data.
///
/// `$\|A\|^2 \le \max_k|\widehat h_k|^2 \le \|h\|_1^2$`, because `$\|C\| = 1$`.
///
/// ```
/// use imaging::{Blur, BlurBoundary, Grid, Kernel, LinearOperator};
/// let blur = Blur::new(Grid::line(4), &Kernel::line(vec![0.25, 0.5, 0.25])?, BlurBoundary::Unknown)?;
/// // One more sample on either side.
/// assert_eq!(blur.domain(), Grid::line(6));
/// let mut blurred = [0.0; 4];
/// blur.apply(&[4.0, 0.0, 0.0, 0.0, 4.0, 8.0], &mut blurred, &mut blur.scratch());
/// for (blurred, expected) in blurred.iter().zip([1.0, 0.0, 1.0, 4.0]) {
///     assert!((blurred - expected).abs() < 1e-14);
/// }
/// # Ok::<(), imaging::ModelError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Blur {
    convolution: Convolution,
    window: Window,
    fingerprint: u64,
}

/// The working memory of a [`Blur`].
#[derive(Clone, Debug)]
pub struct BlurScratch {
    convolution: FourierScratch,
    /// A vector on the grid of the unknown; empty if that is the grid of the data.
    unknown: Vec<f64>,
}

impl Blur {
    /// Creates the blur of data on `grid`.
    ///
    /// # Errors
    /// If a grid is empty or does not fit the kernel, or if the kernel is larger than the picture.
    pub fn new(grid: Grid, kernel: &Kernel, boundary: BlurBoundary) -> Result<Self, ModelError> {
        let window = Self::window_of(grid, kernel, boundary)?;
        let convolution = Convolution::new(window.outer(), kernel.values(), kernel.grid())?;
        let (row, col) = window.origin();
        Ok(Self {
            fingerprint: fingerprint::of_hashes([
                convolution.fingerprint().unwrap_or_default(),
                fingerprint::of_grid(grid),
                row as u64,
                col as u64,
            ]),
            convolution,
            window,
        })
    }

    /// Returns the place of the data in the unknown.
    ///
    /// # Errors
    /// The same as for [`Blur::new`].
    pub fn window_of(
        grid: Grid,
        kernel: &Kernel,
        boundary: BlurBoundary,
    ) -> Result<Window, ModelError> {
        if grid.is_empty() {
            return Err(ModelError::EmptyGrid);
        }
        let (rows, cols) = grid.rows_and_cols();
        let (kernel_rows, kernel_cols) = kernel.grid().rows_and_cols();
        if grid.num_axes() != kernel.grid().num_axes() {
            return Err(ModelError::WrongGrid {
                name: "kernel",
                needed: "a kernel with as many axes as the picture or signal that it blurs",
            });
        }
        if kernel_rows > rows || kernel_cols > cols {
            return Err(ModelError::LargeKernel {
                kernel: [kernel_rows, kernel_cols],
                grid: [rows, cols],
            });
        }
        if boundary == BlurBoundary::Periodic {
            return Ok(Window::whole(grid));
        }
        let outer = match grid.shape() {
            Shape::Line { num_samples } => Grid::line(fast_len(num_samples + kernel_cols - 1)),
            _ => Grid::image(
                fast_len(rows + kernel_rows - 1),
                fast_len(cols + kernel_cols - 1),
            ),
        };
        // Sample j of the data depends on the samples j - (len - 1 - origin) to j + origin.
        let before = |len: usize| len - 1 - len / 2;
        Window::new(
            if grid.num_parts() == 1 {
                outer
            } else {
                outer.complex()
            },
            grid,
            before(kernel_rows),
            before(kernel_cols),
        )
    }

    /// The place of the data in the unknown.
    #[must_use]
    pub const fn window(&self) -> Window {
        self.window
    }
}

/// Blurs a photograph as a camera does, and returns the pixels whose neighbours are all in the
/// photograph, with their place in it. Noise and a further crop are up to the caller.
///
/// ```
/// use imaging::{Grid, Kernel, blurred};
/// let kernel = Kernel::line(vec![0.25, 0.5, 0.25])?;
/// let (blurred, window) = blurred(&[4.0, 0.0, 0.0, 0.0, 4.0], Grid::line(5), &kernel)?;
/// assert!((blurred[0] - 1.0).abs() < 1e-14 && blurred.len() == 3);
/// assert_eq!(window.origin(), (0, 1));
/// # Ok::<(), imaging::ModelError>(())
/// ```
///
/// # Errors
/// If the photograph does not fit its grid or is not finite, or the kernel does not fit into it.
pub fn blurred(
    photograph: &[f64],
    grid: Grid,
    kernel: &Kernel,
) -> Result<(Vec<f64>, Window), ModelError> {
    crate::error::check_values("photograph", photograph, grid.len())?;
    // the circular convolution of the photograph is a real blur where it does not wrap around
    let blur = Blur::new(grid, kernel, BlurBoundary::Periodic)?;
    let mut all = vec![0.0; grid.len()];
    blur.apply(photograph, &mut all, &mut blur.scratch());
    let (rows, cols) = grid.rows_and_cols();
    let (kernel_rows, kernel_cols) = kernel.grid().rows_and_cols();
    let valid = match grid.shape() {
        Shape::Line { num_samples } => Grid::line(num_samples + 1 - kernel_cols),
        _ => Grid::image(rows + 1 - kernel_rows, cols + 1 - kernel_cols),
    };
    let valid = if grid.num_parts() == 1 {
        valid
    } else {
        valid.complex()
    };
    let before = |len: usize| len - 1 - len / 2;
    let window = Window::new(grid, valid, before(kernel_rows), before(kernel_cols))?;
    let mut data = vec![0.0; valid.len()];
    window.crop(&all, &mut data);
    Ok((data, window))
}

/// The smallest number of at least `len` whose prime factors are 2, 3 and 5, for which Fourier
/// transforms are fast and accurate.
fn fast_len(len: usize) -> usize {
    let is_smooth = |len: &usize| {
        let mut rest = *len;
        for factor in [2, 3, 5] {
            while rest.is_multiple_of(factor) {
                rest /= factor;
            }
        }
        rest == 1
    };
    (len..).find(is_smooth).unwrap_or(len)
}

impl LinearOperator for Blur {
    type Scratch = BlurScratch;

    fn domain(&self) -> Grid {
        self.window.outer()
    }

    fn codomain(&self) -> Grid {
        self.window.inner()
    }

    fn scratch(&self) -> BlurScratch {
        let whole = self.window.is_whole();
        BlurScratch {
            convolution: self.convolution.scratch(),
            unknown: vec![0.0; if whole { 0 } else { self.window.outer().len() }],
        }
    }

    fn apply(&self, x: &[f64], out: &mut [f64], scratch: &mut BlurScratch) {
        let BlurScratch {
            convolution,
            unknown,
        } = scratch;
        if self.window.is_whole() {
            return self.convolution.apply(x, out, convolution);
        }
        self.convolution.apply(x, unknown, convolution);
        self.window.crop(unknown, out);
    }

    fn apply_adjoint(&self, y: &[f64], out: &mut [f64], scratch: &mut BlurScratch) {
        let BlurScratch {
            convolution,
            unknown,
        } = scratch;
        if self.window.is_whole() {
            return self.convolution.apply_adjoint(y, out, convolution);
        }
        self.window.embed(y, unknown);
        self.convolution.apply_adjoint(unknown, out, convolution);
    }

    fn gram_spectrum(&self, weights: Weights<'_>) -> Spectrum {
        let spectrum = self.convolution.gram_spectrum(Weights::Uniform);
        let range = weights.range();
        let whole = self.window.is_whole();
        Spectrum {
            // an unknown with more entries than data has a null space
            min: if whole { range.min * spectrum.min } else { 0.0 },
            max: range.max * spectrum.max,
        }
    }

    fn apply_gram(
        &self,
        x: &[f64],
        middle: &mut [f64],
        out: &mut [f64],
        scratch: &mut BlurScratch,
    ) {
        if self.window.is_whole() {
            let scratch = &mut scratch.convolution;
            return self.convolution.apply_gram(x, middle, out, scratch);
        }
        self.apply(x, middle, scratch);
        self.apply_adjoint(middle, out, scratch);
    }

    fn gram_cost(&self) -> f64 {
        if self.window.is_whole() {
            self.convolution.gram_cost()
        } else {
            1.0
        }
    }

    fn has_preconditioner(&self) -> bool {
        true
    }

    /// The inverse for periodic differences, as if the whole unknown had been measured, with the
    /// mean of the weights. What was not measured is a margin of the picture.
    fn precondition(
        &self,
        weights: Weights<'_>,
        [shift, smoothing]: [f64; 2],
        r: &[f64],
        out: &mut [f64],
        scratch: &mut BlurScratch,
    ) {
        let terms = [weights.mean(), shift, smoothing];
        (self.convolution).invert(terms, r, out, &mut scratch.convolution);
    }

    /// The diagonal of `$K^*K$`, reduced to the share of the unknown that is measured.
    fn gram_diagonal(&self, weights: Weights<'_>, out: &mut [f64]) {
        self.convolution.gram_diagonal(Weights::Uniform, out);
        let (inner, outer) = (self.window.inner().len(), self.window.outer().len());
        let share = weights.mean() * inner as f64 / outer as f64;
        for out in out {
            *out *= share;
        }
    }

    fn fingerprint(&self) -> Option<u64> {
        Some(self.fingerprint)
    }

    /// A crop has no rounding errors.
    fn roundings(&self) -> f64 {
        self.convolution.roundings()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fast_lengths() {
        for (len, expected) in [
            (1, 1),
            (7, 8),
            (161, 162),
            (172, 180),
            (174, 180),
            (513, 540),
        ] {
            assert_eq!(fast_len(len), expected);
        }
    }
}
