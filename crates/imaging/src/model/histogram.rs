//! Bounds on a sum by a threshold on its terms, chosen from a histogram.
//!
//! [`third_derivative`](super::third_derivative) derives the bounds.

use lowlevel::UNIT_ROUNDOFF;

use super::circulant::count;

/// The number of bins. They span a factor `$2^{64}$` in `$a_j$`.
const NUM_BINS: usize = 256;
/// The number of low bits of an `f64` that do not matter for the bin of a number: two bins share an
/// exponent of `$a_j^2$`.
const LOW_BITS: u32 = 51;
/// Exceeds every loss by underflow of `$\nu^2a_j$`: that of its square is at most
/// `$10^{80}2^{-1074}$`, where `$10^{80}$` bounds a numerator for [`FAR`].
pub(super) const FLOOR: f64 = 1e-120;
/// Exceeds every loss by underflow of `$b_j^2$`, which is at most `$10^{101}2^{-1074}$`.
pub(super) const LOST_SQUARES: f64 = 1e-220;
/// The histogram of the numbers `$a_j^2$`. It sums up `$b_j^2$` and `$b_j'^2$` in each bin.
#[derive(Clone, Debug)]
pub(crate) struct Histogram {
    /// The bits of an upper bound on `$a_j^2$` without the low ones.
    top: u64,
    /// The first bin that is not empty.
    first: usize,
    bins: [[f64; 2]; NUM_BINS],
    num_terms: usize,
}

impl Histogram {
    /// Creates an empty histogram. No `$a_j^2$` may exceed `largest`.
    #[inline(always)]
    pub(crate) fn new(largest: f64) -> Self {
        Self {
            top: largest.to_bits() >> LOW_BITS,
            first: NUM_BINS - 1,
            bins: [[0.0; 2]; NUM_BINS],
            num_terms: 0,
        }
    }

    /// Includes numbers `$a_j^2$` with their terms `$(b_j^2, b_j'^2)$`.
    #[inline(always)]
    pub(crate) fn add(&mut self, squares: &[f64], terms: &[[f64; 2]]) {
        for (square, terms) in squares.iter().zip(terms) {
            let bin = self.bin(square.to_bits() >> LOW_BITS);
            self.first = self.first.min(bin);
            let sums = &mut self.bins[bin];
            sums[0] += terms[0];
            sums[1] += terms[1];
        }
        self.num_terms += squares.len();
    }

    /// The bin of a number `$a_j^2$` with these bits. Larger numbers come first, and the last bin
    /// has no lower edge.
    #[inline(always)]
    fn bin(&self, bits: u64) -> usize {
        let below = self.top.saturating_sub(bits);
        #[expect(
            clippy::cast_possible_truncation,
            reason = "less than the number of bins"
        )]
        let bin = below.min(NUM_BINS as u64 - 1) as usize;
        bin
    }

    /// The upper edge of a bin, which exceeds all numbers `$a_j$` in it.
    fn edge(&self, bin: usize) -> f64 {
        let bits = self.top.saturating_sub(bin as u64) + 1;
        let edge = f64::from_bits(bits << LOW_BITS);
        if edge.is_nan() {
            f64::INFINITY
        } else {
            edge.sqrt() + FLOOR
        }
    }

    /// Returns the bounds on the vector and on the value, the latter divided by
    /// `$\varepsilon$` = `error`, where `norm_squared` is `$A$`. Returns `None` if a term was not
    /// finite.
    pub(crate) fn bounds(&self, norm_squared: f64, error: f64) -> Option<[f64; 2]> {
        let root = norm_squared.sqrt();
        let mut above = [count(self.num_terms) * LOST_SQUARES; 2];
        let [mut vector, mut value] = [f64::INFINITY; 2];
        for (bin, sums) in self.bins.iter().enumerate().skip(self.first) {
            // Further thresholds only add to `above`, of which every bound is a sum.
            if above[0] < vector || root * above[1].sqrt() < value {
                let moved = error * self.edge(bin);
                let quadratic = norm_squared * moved;
                vector = vector.min(quadratic * moved + above[0]);
                value = value.min(0.5 * quadratic + root * above[1].sqrt());
            }
            above[0] += sums[0];
            above[1] += sums[1];
        }
        let is_finite = above[0] < f64::INFINITY;
        is_finite.then(|| {
            let scale = 1.0 + (count(self.num_terms) + 512.0) * UNIT_ROUNDOFF;
            let vector = vector.min(above[0]).sqrt() * root;
            let value = value.min(root * above[1].sqrt());
            [scale * vector, scale * value]
        })
    }
}
