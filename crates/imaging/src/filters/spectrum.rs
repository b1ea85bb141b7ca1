//! Proved bounds on weighted sums of squared frequency responses.
//!
//! For weights `$m_k \ge 0$` let `$S(w) = \sum_k m_k|\hat c_k(w)|^2$`. For filters `$C_k$` on an
//! infinite or periodic plane, `$\sum_k m_k\|C_kx\|^2 \le \sup S\,\|x\|^2$` by Parseval's identity.
//! The same holds on a picture that is mirrored at its borders. Mirrored to all sides it is a
//! periodic picture with four times the pixels and four times the square norm. A filter of a bank
//! is even or odd along each axis, so its responses in the four copies of the picture have the same
//! moduli, and every sum over the periodic picture is four times that over the picture.
//!
//! `$S$` is a trigonometric polynomial of degree `$n = s - 1$` in each frequency. Such a polynomial
//! is at most `$1/\cos(\pi n/M)$` times its largest modulus at `$M > 2n$` equidistant points
//! (Ehlich and Zeller, 1964), which is applied along both axes.

use std::f64::consts::PI;
use std::sync::OnceLock;

use super::basis::{Basis, MAX_SIZE};
use super::mixing::Mixing;

/// The number `$M$` of frequencies along each axis.
const NUM_FREQUENCIES: usize = 96;
/// The number of frequencies along each axis that are not mirror images of others.
const NUM_DISTINCT: usize = NUM_FREQUENCIES / 2 + 1;
/// The exponent of the norm in place of the maximum; a choice.
const EXPONENT: i32 = 80;

/// The frequency responses of a basis along one axis.
type Table = [[f64; MAX_SIZE]; NUM_DISTINCT];

fn table(basis: &Basis) -> &'static Table {
    static TABLES: [OnceLock<Table>; MAX_SIZE / 2] = [const { OnceLock::new() }; MAX_SIZE / 2];
    TABLES[basis.size / 2 - 1].get_or_init(|| {
        std::array::from_fn(|index| {
            let frequency = 2.0 * PI * index as f64 / NUM_FREQUENCIES as f64;
            std::array::from_fn(|v| {
                if v < basis.size {
                    basis.response(v, frequency)
                } else {
                    0.0
                }
            })
        })
    })
}

/// The bank whose frequency responses are added up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spectrum<'a> {
    pub(super) basis: &'a Basis,
    pub(super) mixing: Option<&'a Mixing>,
}

/// The smooth substitute for a supremum, with its derivatives.
#[derive(Clone, Debug)]
pub(super) struct SmoothSupremum {
    /// An upper bound on the supremum of `$S$`.
    pub(super) value: f64,
    /// The derivatives with respect to the weights of the filters.
    pub(super) by_weight: Vec<f64>,
    /// The derivatives with respect to the entries of the mixing.
    pub(super) by_mixing: Vec<f64>,
}

impl Spectrum<'_> {
    /// The factor by which a supremum may exceed the largest value on the grid, with a reserve for
    /// rounding.
    fn between_points(self) -> f64 {
        let degree = (self.basis.size - 1) as f64;
        let cosine = (PI * degree / NUM_FREQUENCIES as f64).cos();
        (1.0 + 1e-12) / (cosine * cosine)
    }

    /// Returns an upper bound on `$\sup S$` for these weights of the filters, which are not
    /// negative.
    pub(super) fn supremum(self, weights: &[f64]) -> f64 {
        let mut largest = 0.0;
        self.for_each_frequency(|_, responses| {
            let sum: f64 = (responses.iter().zip(weights))
                .map(|(r, w)| w * r * r)
                .sum();
            // NaN stays
            if !(sum <= largest) {
                largest = sum;
            }
        });
        largest * self.between_points()
    }

    /// Returns a smooth upper bound on `$\sup S$`: a norm with a large exponent in place of the
    /// maximum.
    pub(super) fn smooth_supremum(self, weights: &[f64]) -> SmoothSupremum {
        let largest = self.supremum(weights) / self.between_points();
        let mut result = SmoothSupremum {
            value: 0.0,
            by_weight: vec![0.0; weights.len()],
            by_mixing: vec![0.0; self.mixing.map_or(0, |mixing| mixing.entries().len())],
        };
        if !(largest > 0.0) {
            result.value = largest;
            return result;
        }
        let mut powers = 0.0;
        self.for_each_frequency(|unmixed, responses| {
            let sum: f64 = (responses.iter().zip(weights))
                .map(|(r, w)| w * r * r)
                .sum();
            let relative = sum / largest;
            let slope = relative.powi(EXPONENT - 1);
            powers += slope * relative;
            for (out, r) in result.by_weight.iter_mut().zip(responses) {
                *out += slope * r * r;
            }
            if let Some(mixing) = self.mixing {
                let left = |k: usize| 2.0 * slope * weights[k] * responses[k];
                mixing.add_products(left, |m| unmixed[m], &mut result.by_mixing);
            }
        });
        // The norm is largest * powers^(1/p); each derivative has the factor powers^(1/p - 1).
        let norm = powers.powf(1.0 / f64::from(EXPONENT));
        let factor = self.between_points() * norm / powers;
        result.value = self.between_points() * largest * norm;
        for slope in result.by_weight.iter_mut().chain(&mut result.by_mixing) {
            *slope *= factor;
        }
        result
    }

    /// Overwrites `out` with the responses of the basis at one frequency, without the constant
    /// filter and without the common phase of filters with the same symmetry.
    fn responses(self, down: &[f64; MAX_SIZE], across: &[f64; MAX_SIZE], out: &mut [f64]) {
        let size = self.basis.size;
        for (index, out) in out.iter_mut().enumerate() {
            let index = index + 1;
            *out = down[index / size] * across[index % size];
        }
    }

    /// Calls `visit` with the responses of the basis and those of the bank at every frequency.
    fn for_each_frequency(self, mut visit: impl FnMut(&[f64], &[f64])) {
        let num_filters = self.basis.num_filters() - 1;
        let (mut unmixed, mut mixed) = (vec![0.0; num_filters], vec![0.0; num_filters]);
        let table = table(self.basis);
        for down in table {
            for across in table {
                self.responses(down, across, &mut unmixed);
                match self.mixing {
                    None => visit(&unmixed, &unmixed),
                    Some(mixing) => {
                        mixing.apply(&unmixed, &mut mixed);
                        visit(&unmixed, &mixed);
                    }
                }
            }
        }
    }
}
