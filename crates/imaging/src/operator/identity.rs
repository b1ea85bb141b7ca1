//! The identity.

use crate::fingerprint;
use crate::grid::Grid;
use crate::operator::{LinearOperator, Spectrum, Weights};

/// The identity `$A = I$`, for denoising.
#[derive(Clone, Copy, Debug)]
pub struct Identity {
    grid: Grid,
}

impl Identity {
    /// Creates the identity on `grid`.
    #[must_use]
    pub const fn new(grid: Grid) -> Self {
        Self { grid }
    }
}

impl LinearOperator for Identity {
    type Scratch = ();

    fn domain(&self) -> Grid {
        self.grid
    }

    fn codomain(&self) -> Grid {
        self.grid
    }

    fn scratch(&self) {}

    fn apply(&self, x: &[f64], out: &mut [f64], (): &mut ()) {
        out.copy_from_slice(x);
    }

    fn apply_adjoint(&self, y: &[f64], out: &mut [f64], (): &mut ()) {
        out.copy_from_slice(y);
    }

    fn gram_spectrum(&self, weights: Weights<'_>) -> Spectrum {
        weights.range()
    }

    fn gram_diagonal(&self, weights: Weights<'_>, out: &mut [f64]) {
        let samples = out.chunks_exact_mut(self.grid.num_parts());
        for (index, sample) in samples.enumerate() {
            sample.fill(weights.at(index));
        }
    }

    fn fingerprint(&self) -> Option<u64> {
        Some(fingerprint::of_grid(self.grid))
    }

    fn roundings(&self) -> f64 {
        0.0
    }
}
