//! The training data: the authors' data, regenerated from their seed, or similar data from another
//! seed.

use std::path::PathBuf;

use anyhow::Result;
use bilevel::Pair;
use imaging::testing::paper_data::LegacyRandom;
use imaging::{Fourier, Grid, LinearOperator, Seed, noise, phantom};

use super::record::checksum;
use super::setting::{DataKind, DataSpec};
use crate::kodak::photograph;

/// The source of the training data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataSource {
    /// The seed of random data; `None` for the authors' data.
    pub seed: Option<u64>,
    /// The directory with the authors' photographs; `None` for images of dead leaves.
    pub kodak: Option<PathBuf>,
}

/// The number of rows and columns of an image of dead leaves.
const SIZE: usize = 256;

impl DataSource {
    /// Returns the training pairs of an experiment.
    ///
    /// # Errors
    /// When a photograph cannot be read.
    pub fn pairs(&self, data: &DataSpec) -> Result<Vec<Pair>> {
        let truths = match data.kind {
            DataKind::Signals | DataKind::Frequencies => None,
            DataKind::Photographs => Some(self.photographs(data)?),
        };
        match self.seed {
            None => authors(data, truths),
            Some(seed) => random(data, truths, Seed::new(seed)),
        }
    }

    fn photographs(&self, data: &DataSpec) -> Result<Vec<Vec<f64>>> {
        let side = data.pixels;
        let one = |index: usize| -> Result<Vec<f64>> {
            match &self.kodak {
                Some(folder) => photograph::read(folder, index + 1, side),
                None => {
                    let leaves = phantom::dead_leaves(SIZE, SIZE, Seed::new(0), index)?;
                    Ok(centre(&leaves, side))
                }
            }
        };
        (0..data.images).map(one).collect()
    }

    /// Returns a checksum (SHA-256) of the pairs.
    #[must_use]
    pub fn fingerprint(pairs: &[Pair]) -> String {
        let numbers = pairs
            .iter()
            .flat_map(|pair| pair.truth.iter().chain(&pair.data));
        let bytes: Vec<u8> = numbers.flat_map(|x| x.to_le_bytes()).collect();
        checksum(&bytes)
    }
}

fn centre(image: &[f64], side: usize) -> Vec<f64> {
    let first = (SIZE - side) / 2;
    let rows = image.chunks_exact(SIZE).skip(first).take(side);
    rows.flat_map(|row| &row[first..first + side])
        .copied()
        .collect()
}

const fn grid(data: &DataSpec) -> Grid {
    match data.kind {
        DataKind::Signals => Grid::line(data.pixels),
        DataKind::Photographs => Grid::image(data.pixels, data.pixels),
        DataKind::Frequencies => Grid::line(data.pixels).complex(),
    }
}

/// Generates data with the authors' random numbers: first all truths, then the noise of one image
/// after the other, where the real parts of complex noise come before the imaginary parts.
fn authors(data: &DataSpec, photographs: Option<Vec<Vec<f64>>>) -> Result<Vec<Pair>> {
    let mut random = LegacyRandom::new(0);
    let num_pixels = u32::try_from(data.pixels)?;
    let truths = photographs.unwrap_or_else(|| {
        (0..data.images)
            .map(|_| random.box_function(num_pixels))
            .collect()
    });
    pairs(data, truths, |_, clean, is_complex| {
        if is_complex {
            for part in 0..2 {
                for sample in clean.chunks_exact_mut(2) {
                    sample[part] += data.sigma * random.normal() / 2_f64.sqrt();
                }
            }
        } else {
            let noisy = random.noisy(clean, data.sigma);
            clean.copy_from_slice(&noisy);
        }
        Ok(())
    })
}

fn random(data: &DataSpec, photographs: Option<Vec<Vec<f64>>>, seed: Seed) -> Result<Vec<Pair>> {
    let truths = match photographs {
        Some(truths) => truths,
        None => (0..data.images)
            .map(|index| phantom::box_function(data.pixels, seed, index))
            .collect::<Result<_, _>>()?,
    };
    pairs(data, truths, |index, clean, is_complex| {
        let noisy = if is_complex {
            noise::complex_gaussian(clean, data.sigma, seed, index)?
        } else {
            noise::gaussian(clean, data.sigma, seed, index)?
        };
        clean.copy_from_slice(&noisy);
        Ok(())
    })
}

/// Pairs the truths with noisy data. `add_noise` gets the number of the image, the clean data, and
/// whether they are complex.
fn pairs(
    data: &DataSpec,
    truths: Vec<Vec<f64>>,
    mut add_noise: impl FnMut(usize, &mut [f64], bool) -> Result<()>,
) -> Result<Vec<Pair>> {
    let grid = grid(data);
    let fourier = match data.kind {
        DataKind::Frequencies => Some(Fourier::new(grid)?),
        DataKind::Signals | DataKind::Photographs => None,
    };
    let mut made = Vec::new();
    for (index, truth) in truths.into_iter().enumerate() {
        let (truth, mut measured) = match &fourier {
            None => (truth.clone(), truth),
            Some(fourier) => {
                let truth: Vec<f64> = truth.iter().flat_map(|&x| [x, 0.0]).collect();
                let mut measured = vec![0.0; truth.len()];
                fourier.apply(&truth, &mut measured, &mut fourier.scratch());
                (truth, measured)
            }
        };
        add_noise(index, &mut measured, fourier.is_some())?;
        made.push(Pair {
            grid,
            truth,
            data: measured,
        });
    }
    Ok(made)
}
