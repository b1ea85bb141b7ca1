//! Masks for missing samples.

use crate::error::{ModelError, check_len};
use crate::fingerprint;
use crate::grid::Grid;
use crate::operator::{LinearOperator, Spectrum, Weights};

/// A mask that replaces the samples that were not measured by zero, for inpainting.
///
/// The data of a model with a mask have one entry for every sample. Where nothing was measured, use
/// zero or any other finite number, not NaN.
///
/// ```
/// use imaging::{Grid, LinearOperator, Mask};
/// let mask = Mask::new(Grid::line(3), vec![true, false, true])?;
/// let mut masked = [0.0; 3];
/// mask.apply(&[1.0, 2.0, 3.0], &mut masked, &mut ());
/// assert_eq!(masked, [1.0, 0.0, 3.0]);
/// # Ok::<(), imaging::ModelError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Mask {
    grid: Grid,
    measured: Vec<bool>,
    /// The spectrum of the mask with uniform weights.
    spectrum: Spectrum,
    fingerprint: u64,
}

impl Mask {
    /// Returns for every sample whether it was measured.
    #[must_use]
    pub fn measured(&self) -> &[bool] {
        &self.measured
    }

    /// Creates the mask. `measured` holds for every sample whether it was measured.
    ///
    /// # Errors
    /// If the length of `measured` is not the number of samples of the grid.
    pub fn new(grid: Grid, measured: Vec<bool>) -> Result<Self, ModelError> {
        check_len("measured", &measured, grid.num_samples())?;
        let hash = fingerprint::of_hashes(measured.iter().map(|&measured| u64::from(measured)));
        let entries = measured.iter().map(|&measured| f64::from(measured));
        Ok(Self {
            spectrum: Spectrum::enclosing(entries),
            grid,
            measured,
            fingerprint: fingerprint::of_hashes([hash, fingerprint::of_grid(grid)]),
        })
    }
}

impl LinearOperator for Mask {
    type Scratch = ();

    fn domain(&self) -> Grid {
        self.grid
    }

    fn codomain(&self) -> Grid {
        self.grid
    }

    fn scratch(&self) {}

    fn apply(&self, x: &[f64], out: &mut [f64], (): &mut ()) {
        let parts = self.grid.num_parts();
        let samples = out.chunks_exact_mut(parts).zip(x.chunks_exact(parts));
        for ((out, x), &measured) in samples.zip(&self.measured) {
            if measured {
                out.copy_from_slice(x);
            } else {
                out.fill(0.0);
            }
        }
    }

    fn apply_adjoint(&self, y: &[f64], out: &mut [f64], scratch: &mut ()) {
        self.apply(y, out, scratch);
    }

    fn gram_spectrum(&self, weights: Weights<'_>) -> Spectrum {
        match weights {
            Weights::Uniform => self.spectrum,
            Weights::Diagonal(weights) => {
                let entries = self.measured.iter().zip(weights);
                Spectrum::enclosing(
                    entries.map(|(&measured, &weight)| if measured { weight } else { 0.0 }),
                )
            }
        }
    }

    fn gram_diagonal(&self, weights: Weights<'_>, out: &mut [f64]) {
        let samples = out.chunks_exact_mut(self.grid.num_parts());
        for (index, (sample, &measured)) in samples.zip(&self.measured).enumerate() {
            sample.fill(if measured { weights.at(index) } else { 0.0 });
        }
    }

    fn fingerprint(&self) -> Option<u64> {
        Some(self.fingerprint)
    }

    fn roundings(&self) -> f64 {
        0.0
    }
}
