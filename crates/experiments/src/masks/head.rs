//! Slices of the head that masks are learned from.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use flate2::read::MultiGzDecoder;
use imaging::{Fourier, Grid, LinearOperator, Seed, phantom};

/// The number of voxels along each axis.
const SIZE: usize = 256;
/// The lowest and the highest slice, in millimetres from below.
const RANGE: [usize; 2] = [110, 172];
/// The least distance of a training slice of points from a held-out one, in slices.
const LEAST_DISTANCE: usize = 2;

/// A volume of 256^3 bytes: the head of `../shared/mri`.
#[derive(Debug)]
pub(crate) struct Head {
    voxels: Vec<u8>,
    /// The 99th percentile of the voxels above a tenth of the largest one.
    unit: f64,
}

impl Head {
    /// Reads the volume from a compressed NIfTI file, and checks its header.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let mut bytes = Vec::new();
        MultiGzDecoder::new(File::open(path)?).read_to_end(&mut bytes)?;
        let number = |at: usize| -> Result<i16> {
            let bytes = bytes.get(at..at + 2).context("the file is too short")?;
            Ok(i16::from_le_bytes([bytes[0], bytes[1]]))
        };
        for (at, expected) in [(40, 3), (42, 256), (44, 256), (46, 256), (70, 2)] {
            let found = number(at)?;
            ensure!(
                found == expected,
                "the header has {found} at {at} instead of {expected}: it is another volume"
            );
        }
        let first = 352;
        let voxels = bytes.get(first..first + SIZE * SIZE * SIZE);
        let voxels = voxels.context("the file is too short")?.to_vec();
        let mut counts = [0_usize; 256];
        for &voxel in &voxels {
            counts[usize::from(voxel)] += 1;
        }
        let largest = counts.iter().rposition(|&count| count > 0).unwrap_or(0);
        let above = |level: usize| level as f64 > 0.1 * largest as f64;
        let total: usize = (0..256)
            .filter(|&level| above(level))
            .map(|l| counts[l])
            .sum();
        let mut rest = total / 100;
        let mut unit = largest;
        while unit > 0 && rest >= counts[unit] {
            rest -= counts[unit];
            unit -= 1;
        }
        Ok(Self {
            voxels,
            unit: unit as f64,
        })
    }

    /// Returns heights and numbers of slices at equal distances: with `odd` = 0 those for training,
    /// with `odd` = 1 those between them.
    fn every_other(count: usize, odd: usize) -> Vec<(usize, usize)> {
        let [low, high] = RANGE;
        let steps = 2 * count - 2;
        // the nearest whole number, which is never ambiguous here
        let height = |k: usize| low + (2 * k * (high - low) + steps) / (2 * steps);
        (odd..=steps).step_by(2).map(|k| (height(k), k)).collect()
    }

    /// Returns `count` training slices with the numbers of their phases.
    pub(crate) fn spread(&self, count: usize, phase: usize) -> Vec<(usize, usize)> {
        let all = Self::every_other(count, 0).into_iter();
        all.map(|(height, number)| (height, number + 1000 * phase))
            .collect()
    }

    /// Returns the slices between `count` training slices.
    pub(crate) fn held_out(&self, count: usize) -> Vec<(usize, usize)> {
        Self::every_other(count, 1)
    }

    /// Returns all slices that are not next to a held-out one.
    pub(crate) fn apart_from_held_out(&self, count: usize) -> Vec<(usize, usize)> {
        let held_out = Self::every_other(count, 1);
        let is_apart = |height: usize| {
            let mut distances = held_out.iter().map(|(other, _)| height.abs_diff(*other));
            distances.all(|distance| distance >= LEAST_DISTANCE)
        };
        let heights = (RANGE[0]..=RANGE[1]).filter(|&height| is_apart(height));
        heights.map(|height| (height, 100 + height)).collect()
    }

    /// Returns a slice with `side` x `side` pixels, as a scanner with fewer frequencies would see
    /// it, times a smooth phase with this number. Rows go from the front to the back.
    pub(crate) fn slice(&self, height: usize, side: usize, number: usize) -> Result<Vec<f64>> {
        let mut full = vec![0.0; 2 * SIZE * SIZE];
        for row in 0..SIZE {
            for col in 0..SIZE {
                let (i, j, k) = (SIZE - 1 - col, SIZE - 1 - height, SIZE - 1 - row);
                let voxel = self.voxels[i + SIZE * (j + SIZE * k)];
                full[2 * (row * SIZE + col)] = f64::from(voxel) / self.unit;
            }
        }
        let large = Fourier::new(Grid::image(SIZE, SIZE).complex())?;
        let small = Fourier::new(Grid::image(side, side).complex())?;
        let mut frequencies = vec![0.0; full.len()];
        large.apply(&full, &mut frequencies, &mut large.scratch());
        let mut cut = vec![0.0; 2 * side * side];
        // low frequencies are at the start of an axis, negative ones at its end
        let place = |index: usize| match 2 * index < side {
            true => index,
            false => SIZE + index - side,
        };
        for row in 0..side {
            for col in 0..side {
                let from = 2 * (place(row) * SIZE + place(col));
                let to = 2 * (row * side + col);
                cut[to..to + 2].copy_from_slice(&frequencies[from..from + 2]);
            }
        }
        let mut picture = vec![0.0; cut.len()];
        small.apply_adjoint(&cut, &mut picture, &mut small.scratch());
        let scale = side as f64 / SIZE as f64;
        let mut out = phantom::smooth_phase(side, side, Seed::new(0), number)?;
        let (samples, _) = picture.as_chunks::<2>();
        for (phase, sample) in out.chunks_exact_mut(2).zip(samples) {
            let level = scale * sample[0].hypot(sample[1]);
            phase.iter_mut().for_each(|part| *part *= level);
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn held_out_slices_are_between_those_for_training() {
        // numpy.round(numpy.linspace(110, 172, 19))
        let even: Vec<usize> = Head::every_other(10, 0).iter().map(|s| s.0).collect();
        let odd: Vec<usize> = Head::every_other(10, 1).iter().map(|s| s.0).collect();
        assert_eq!(even, [110, 117, 124, 131, 138, 144, 151, 158, 165, 172]);
        assert_eq!(odd, [113, 120, 127, 134, 141, 148, 155, 162, 169]);
    }
}
