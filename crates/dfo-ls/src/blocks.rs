//! The division of the residual vector into blocks, and sums over blocks.
//!
//! Every sum over residuals is computed within each block first, by the kernels of
//! [`linalg`](crate::linalg), and then over the blocks in their order. Blocks can therefore be
//! computed on different threads or machines without changing a bit of any result.

use std::ops::Range;

use crate::SetupError;
use crate::linalg::{axpy, dot};

/// Consecutive blocks of the residual vector.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Blocks {
    /// The end of each block, which is the beginning of the next.
    ends: Vec<usize>,
}

/// The number of products from which threads are worth their start, which takes microseconds.
#[cfg(feature = "rayon")]
const WORTH_THREADS: usize = 1 << 16;

impl Blocks {
    /// Divides `num_residuals` residuals into blocks of the given lengths, or into one block if
    /// there are no lengths.
    pub(crate) fn new(lengths: &[usize], num_residuals: usize) -> Result<Self, SetupError> {
        if lengths.is_empty() {
            return Ok(Self::one(num_residuals));
        }
        let mut end = 0_usize;
        let ends = lengths.iter().map(|length| {
            end = end.saturating_add(*length);
            end
        });
        let ends: Vec<usize> = ends.collect();
        if end != num_residuals {
            return Err(SetupError::BlockLengths {
                expected: num_residuals,
                found: end,
            });
        }
        Ok(Self { ends })
    }

    /// A single block.
    pub(crate) fn one(num_residuals: usize) -> Self {
        Self {
            ends: vec![num_residuals],
        }
    }

    fn ranges(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        let begins = [0].into_iter().chain(self.ends.iter().copied());
        begins.zip(&self.ends).map(|(begin, end)| begin..*end)
    }

    /// Sums `width` numbers over all blocks. For each block, `part` adds its numbers to zeros.
    pub(crate) fn sums(
        &self,
        width: usize,
        part: impl Fn(Range<usize>, &mut [f64]) + Sync,
    ) -> Vec<f64> {
        let mut sums = vec![0.0; width];
        #[cfg(feature = "rayon")]
        if self.ends.len() > 1
            && self.ends[self.ends.len() - 1].saturating_mul(width) >= WORTH_THREADS
        {
            use rayon::prelude::*;
            let ranges: Vec<Range<usize>> = self.ranges().collect();
            let mut parts = vec![0.0; width * ranges.len()];
            let places = parts.par_chunks_mut(width).zip(ranges);
            places.for_each(|(own, range)| part(range, own));
            for own in parts.chunks(width) {
                axpy(1.0, own, &mut sums);
            }
            return sums;
        }
        let mut own = vec![0.0; width];
        for range in self.ranges() {
            own.fill(0.0);
            part(range, &mut own);
            axpy(1.0, &own, &mut sums);
        }
        sums
    }

    fn sum(&self, part: impl Fn(Range<usize>) -> f64) -> f64 {
        self.ranges().fold(0.0, |sum, range| sum + part(range))
    }

    /// The inner product `$x^\top y$`.
    pub(crate) fn dot(&self, x: &[f64], y: &[f64]) -> f64 {
        self.sum(|range| dot(&x[range.clone()], &y[range]))
    }

    /// The norm `$\|x\|$`, without intermediate overflow or underflow.
    pub(crate) fn norm(&self, x: &[f64]) -> f64 {
        let square = self.dot(x, x);
        if (1e-280..=1e280).contains(&square) {
            square.sqrt()
        } else {
            crate::linalg::norm(x)
        }
    }

    /// The distance `$\|x - y\|$`.
    pub(crate) fn distance(&self, x: &[f64], y: &[f64]) -> f64 {
        let square = |range: Range<usize>| {
            let pairs = x[range.clone()].iter().zip(&y[range]);
            pairs.map(|(x, y)| (x - y) * (x - y)).sum::<f64>()
        };
        self.sum(square).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::tests::Random;

    fn blocks(lengths: &[usize]) -> Blocks {
        Blocks::new(lengths, lengths.iter().sum()).expect("lengths that add up")
    }

    /// The definition of sums, which a caller that computes blocks elsewhere must reproduce to the
    /// last bit.
    #[test]
    fn sums_are_sums_of_blocks_in_order() {
        let lengths = [3, 0, 1000, 1, 517];
        let blocks = blocks(&lengths);
        let mut random = Random::new(1);
        let (x, y) = (random.vector(1521), random.vector(1521));
        let mut expected = 0.0;
        let mut begin = 0;
        for length in lengths {
            let range = begin..begin + length;
            expected += dot(&x[range.clone()], &y[range]);
            begin += length;
        }
        assert_eq!(blocks.dot(&x, &y).to_bits(), expected.to_bits());
        let whole = Blocks::one(1521).dot(&x, &y);
        assert_eq!(whole.to_bits(), dot(&x, &y).to_bits());
        assert_ne!(whole.to_bits(), expected.to_bits(), "blocks must matter");
    }

    /// Sums large enough for threads have the same bits as one block after the other.
    #[test]
    fn threads_change_nothing() {
        let lengths = [40_000, 1, 30_000, 70_000];
        let blocks = blocks(&lengths);
        let mut random = Random::new(2);
        let (x, y) = (random.vector(140_001), random.vector(140_001));
        let sums = blocks.sums(2, |range, out| {
            out[0] += dot(&x[range.clone()], &y[range.clone()]);
            out[1] += dot(&x[range.clone()], &x[range]);
        });
        assert_eq!(sums[0].to_bits(), blocks.dot(&x, &y).to_bits());
        assert_eq!(sums[1].to_bits(), blocks.dot(&x, &x).to_bits());
    }

    #[test]
    fn lengths_must_add_up() {
        assert!(Blocks::new(&[2, 3], 5).is_ok());
        assert!(Blocks::new(&[2, 3], 6).is_err());
        assert!(Blocks::new(&[usize::MAX, 3], 2).is_err());
        assert_eq!(Blocks::new(&[], 6), Ok(Blocks::one(6)));
    }

    #[test]
    fn norms_and_distances() {
        let blocks = blocks(&[1, 2]);
        let (x, y) = ([3.0, 0.0, 4.0], [0.0, 0.0, 0.0]);
        assert!((blocks.norm(&x) - 5.0).abs() < 1e-15);
        assert!((blocks.distance(&x, &y) - 5.0).abs() < 1e-15);
        assert!((blocks.norm(&[3e200, 0.0, 4e200]) / 5e200 - 1.0).abs() < 1e-15);
        assert!((blocks.norm(&[3e-200, 0.0, 4e-200]) / 5e-200 - 1.0).abs() < 1e-15);
        assert!(blocks.norm(&[f64::NAN, 0.0, 1.0]).is_nan());
    }
}
