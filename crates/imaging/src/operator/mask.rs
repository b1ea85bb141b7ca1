use crate::error::ModelError;
use crate::fingerprint;
use crate::grid::Grid;
use crate::operator::{LinearOperator, Spectrum, Weights};

/// Keeps some samples and replaces the others by zero: inpainting. In the data, put zero (or any number) where nothing was
/// measured, not NaN.
///
/// ```
/// use imaging::{Grid, LinearOperator, Mask};
/// let mask = Mask::new(Grid::line(3), vec![true, false, true])?;
/// let mut kept = [0.0; 3];
/// mask.apply(&[1.0, 2.0, 3.0], &mut kept, &mut ());
/// assert_eq!(kept, [1.0, 0.0, 3.0]);
/// # Ok::<(), imaging::ModelError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Mask {
    grid: Grid,
    kept: Vec<bool>,
}

impl Mask {
    /// `kept` says for every sample whether it was measured.
    ///
    /// # Errors
    /// When `kept` has another length than the grid has samples.
    pub fn new(grid: Grid, kept: Vec<bool>) -> Result<Self, ModelError> {
        if kept.len() == grid.num_samples() {
            Ok(Self { grid, kept })
        } else {
            Err(ModelError::WrongLength {
                name: "kept",
                expected: grid.num_samples(),
                found: kept.len(),
            })
        }
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
        for ((out, x), &kept) in samples.zip(&self.kept) {
            if kept {
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
        let weight = |index: usize| match weights {
            Weights::Uniform => 1.0,
            Weights::Diagonal(weights) => weights[index],
        };
        let kept = self.kept.iter().enumerate();
        Spectrum::enclosing(kept.map(|(index, &kept)| if kept { weight(index) } else { 0.0 }))
    }

    fn fingerprint(&self) -> Option<u64> {
        let kept = fingerprint::of_hashes(self.kept.iter().map(|&kept| u64::from(kept)));
        Some(fingerprint::of_hashes([
            kept,
            fingerprint::of_grid(self.grid),
        ]))
    }

    fn roundings(&self) -> f64 {
        0.0
    }
}
