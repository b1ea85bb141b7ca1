//! Proved bounds on weighted sums of squared frequency responses.
//!
//! For weights `$m_k \ge 0$` let `$S(w) = \sum_k m_k|\hat c_k(w)|^2$`. For filters `$C_k$` on an
//! infinite or periodic plane, `$\sum_k m_k\|C_kx\|^2 \le \sup S\,\|x\|^2$` by Parseval's identity.
//! The same holds on a picture that is mirrored at its borders. Mirrored to all sides it is a
//! periodic picture with four times the pixels and four times the square norm. A filter that is
//! even or odd along each axis has responses with the same moduli in the four copies of the
//! picture, and every sum over the periodic picture is four times that over the picture.
//!
//! A pair of slanted filters `$e \pm o$` is a sum and a difference of such filters, and both have
//! the same weight. At each pixel, the squares of both responses add up to twice the squares of the
//! responses of `$e$` and of `$o$`. So pairs are replaced by their parts, with twice the weight.
//!
//! `$S$` is a trigonometric polynomial of degree `$n = s - 1$` in each frequency. Such a polynomial
//! is at most `$1/\cos(\pi n/M)$` times its largest modulus at `$M > 2n$` equidistant points
//! (Ehlich and Zeller, 1964), which is applied along both axes.
//!
//! **Evaluation.** With the responses `$r_v$` of the cosine basis along one axis, filter `$k$` has
//! the response `$\sum_m c_{km}r_v(w_1)r_h(w_2)$`, where `$m = (v, h)$` runs over the basis filters
//! that it combines. Let `$p$` run over the pairs `$\{v, v'\}$` with the same symmetry. Then
//!
//! ```math
//! S(w) = \sum_{p,q} F_{pq}\,(r_vr_{v'})(w_1)\,(r_hr_{h'})(w_2), \qquad
//! F_{pq} = \sum_k m_k\sum c_{km}c_{km'} \quad (m = (v, h),\ m' = (v', h')).
//! ```
//!
//! The terms of `$S(w)$` add up to at most `$s^2\sum_k m_k\|c_k\|^2$` in modulus. The mean of
//! `$S$` on the grid is `$\sum_k m_k\|c_k\|^2$`, so its maximum is no smaller. A sum makes fewer
//! than 300 roundings, with those of the responses, so that the maximum has a relative error below
//! `$300\,s^2u < 2\cdot10^{-12}$`.

use std::f64::consts::PI;
use std::sync::OnceLock;

use super::basis::{Basis, MAX_SIZE};
use super::mixing::Mixing;

/// The number of frequencies along each axis that are not mirror images of others, for smooth
/// bounds.
const COARSE: usize = 49;
/// The same for proved bounds, which exceed suprema by at most 0.16 %.
const FINE: usize = 241;
/// The exponent of the norm in place of the maximum; a choice.
const EXPONENT: i32 = 80;
/// The largest number of pairs of filters along one axis that have the same symmetry.
const MAX_PAIRS: usize = 16;

/// The number `$M$` of frequencies along each axis, `n` of which are distinct.
const fn num_frequencies(n: usize) -> usize {
    2 * (n - 1)
}

/// Numbers for the distinct frequencies along one axis.
type Axis<const N: usize> = [f64; N];
/// The products of two frequency responses along one axis, for all pairs with the same symmetry.
type Table<const N: usize> = [Axis<N>; MAX_PAIRS];
/// Numbers for the pairs along both axes, such as `$F$`.
type Form = [[f64; MAX_PAIRS]; MAX_PAIRS];

/// The number of a pair of filters along one axis that have the same symmetry.
const fn pair(v: usize, w: usize) -> usize {
    let (low, high) = if v < w { (v, w) } else { (w, v) };
    // Even filters are 0, 2, 4, 6; their ten pairs come first.
    let (low, high, first) = (low / 2, high / 2, 10 * (low % 2));
    first + high * (high + 1) / 2 + low
}

/// The tables of a basis.
struct Tables {
    coarse: Table<COARSE>,
    fine: Table<FINE>,
}

impl Tables {
    fn of(basis: &Basis) -> &'static Self {
        static TABLES: [OnceLock<Box<Tables>>; MAX_SIZE / 2] =
            [const { OnceLock::new() }; MAX_SIZE / 2];
        TABLES[basis.size / 2 - 1].get_or_init(|| {
            Box::new(Self {
                coarse: table(basis),
                fine: table(basis),
            })
        })
    }
}

fn table<const N: usize>(basis: &Basis) -> Table<N> {
    let mut table = [[0.0; N]; MAX_PAIRS];
    for v in 0..basis.size {
        for w in (v % 2..=v).step_by(2) {
            for (index, entry) in table[pair(v, w)].iter_mut().enumerate() {
                let frequency = 2.0 * PI * index as f64 / num_frequencies(N) as f64;
                *entry = basis.response(v, frequency) * basis.response(w, frequency);
            }
        }
    }
    table
}

/// Returns `$\sum_p a_pt_p$` for the rows `$t_p$` of a table.
fn combination<const N: usize>(coefficients: &[f64; MAX_PAIRS], table: &Table<N>) -> Axis<N> {
    let mut sums = [0.0; N];
    for (coefficient, row) in coefficients.iter().zip(table) {
        for (sum, entry) in sums.iter_mut().zip(row) {
            *sum += coefficient * entry;
        }
    }
    sums
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
    /// The factor by which a supremum may exceed the largest value on a grid with `n` distinct
    /// frequencies along each axis, with a reserve for rounding.
    fn between_points(self, n: usize) -> f64 {
        let degree = (self.basis.size - 1) as f64;
        let cosine = (PI * degree / num_frequencies(n) as f64).cos();
        (1.0 + 4e-12) / (cosine * cosine)
    }

    /// The pairs along both axes of two filters of the basis, counted from the first one after the
    /// constant filter.
    const fn pairs(self, m: usize, other: usize) -> [usize; 2] {
        let (size, m, other) = (self.basis.size, m + 1, other + 1);
        [pair(m / size, other / size), pair(m % size, other % size)]
    }

    /// Returns `$F$` for these weights of the filters.
    fn form(self, weights: &[f64]) -> Form {
        let mut form = [[0.0; MAX_PAIRS]; MAX_PAIRS];
        let Some(mixing) = self.mixing else {
            for (m, weight) in weights.iter().enumerate() {
                let [down, across] = self.pairs(m, m);
                form[down][across] += weight;
            }
            return form;
        };
        let mut weights = weights.to_vec();
        mixing.add_pairs(&mut weights);
        for ((row, members), weight) in mixing.rows().zip(&weights) {
            for (c, m) in row.iter().zip(members) {
                for (d, other) in row.iter().zip(members) {
                    let [down, across] = self.pairs(*m, *other);
                    form[down][across] += weight * c * d;
                }
            }
        }
        form
    }

    /// Calls `visit` with `$S(w)$` for all `$w_2$`, for every `$w_1$`, whose index it passes.
    fn for_each_row<const N: usize>(
        self,
        table: &Table<N>,
        weights: &[f64],
        mut visit: impl FnMut(usize, &Axis<N>),
    ) {
        let rows = self.form(weights).map(|row| combination(&row, table));
        for index in 0..N {
            let coefficients = table.each_ref().map(|row| row[index]);
            visit(index, &combination(&coefficients, &rows));
        }
    }

    fn largest<const N: usize>(self, table: &Table<N>, weights: &[f64]) -> f64 {
        let mut largest = 0.0;
        self.for_each_row(table, weights, |_, sums| {
            for sum in sums {
                // NaN stays
                if !(*sum <= largest) {
                    largest = *sum;
                }
            }
        });
        largest
    }

    /// Returns an upper bound on `$\sup S$` for these weights of the filters, which are not
    /// negative, and the same for both filters of a pair.
    pub(super) fn supremum(self, weights: &[f64]) -> f64 {
        let table = &Tables::of(self.basis).fine;
        self.largest(table, weights) * self.between_points(FINE)
    }

    /// Returns a smooth upper bound on `$\sup S$`: a norm with a large exponent in place of the
    /// maximum. It exceeds `$\sup S$` by more than 1 %, since the points around a maximum count,
    /// too, so it is never below [`supremum`](Self::supremum).
    pub(super) fn smooth_supremum(self, weights: &[f64]) -> SmoothSupremum {
        let table = &Tables::of(self.basis).coarse;
        let largest = self.largest(table, weights);
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
        // The derivatives of the sum of powers with respect to `F`.
        let mut slopes: Form = [[0.0; MAX_PAIRS]; MAX_PAIRS];
        self.for_each_row(table, weights, |index, sums| {
            let of_sums = sums.map(|sum| (sum / largest).max(0.0).powi(EXPONENT - 1));
            powers += of_sums
                .iter()
                .zip(sums)
                .map(|(slope, sum)| slope * sum / largest)
                .sum::<f64>();
            let of_row = table
                .each_ref()
                .map(|row| row.iter().zip(&of_sums).map(|(r, s)| r * s).sum::<f64>());
            for (slopes, down) in slopes.iter_mut().zip(table) {
                for (slope, across) in slopes.iter_mut().zip(of_row) {
                    *slope += down[index] * across;
                }
            }
        });
        // The norm is largest * powers^(1/p); each derivative has the factor powers^(1/p - 1).
        let norm = powers.powf(1.0 / f64::from(EXPONENT));
        let factor = self.between_points(COARSE) * norm / powers;
        result.value = self.between_points(COARSE) * largest * norm;
        let slope = |m: usize, other: usize| {
            let [down, across] = self.pairs(m, other);
            factor * slopes[down][across]
        };
        let Some(mixing) = self.mixing else {
            for (m, out) in result.by_weight.iter_mut().enumerate() {
                *out = slope(m, m);
            }
            return result;
        };
        let mut by_mixing = result.by_mixing.iter_mut();
        let mut of_parts = weights.to_vec();
        mixing.add_pairs(&mut of_parts);
        for (k, (row, members)) in mixing.rows().enumerate() {
            for (c, m) in row.iter().zip(members) {
                let along: f64 = (row.iter().zip(members))
                    .map(|(d, other)| d * slope(*m, *other))
                    .sum();
                result.by_weight[k] += c * along;
                if let Some(out) = by_mixing.next() {
                    *out = 2.0 * of_parts[k] * along;
                }
            }
        }
        mixing.add_pairs(&mut result.by_weight);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::super::mixing::{num_filters, potential_of};
    use super::*;

    #[test]
    fn pairs_are_numbered_without_gaps() {
        for (size, even, odd) in [(3, 3, 1), (5, 6, 3), (7, 10, 6)] {
            let mut found = vec![];
            for v in 0..size {
                for w in (v % 2..size).step_by(2) {
                    found.push(pair(v, w));
                }
            }
            found.sort_unstable();
            found.dedup();
            assert!(found.into_iter().eq((0..even).chain(10..10 + odd)));
        }
    }

    /// The sums of squares by their definition.
    #[test]
    fn suprema_are_those_of_the_definition() {
        for size in [3, 5, 7] {
            let basis = Basis::new(size);
            let numbers = |len, seed| super::super::tests::numbers(len, seed);
            let entries = numbers(Mixing::num_entries(&basis), 3);
            let mixing = Mixing::new(&basis, entries).expect("valid");
            for mixing in [None, Some(&mixing)] {
                let count = num_filters(&basis, mixing.is_some());
                let of_potentials = numbers(count, 5);
                let weights: Vec<f64> = (0..count)
                    .map(|filter| of_potentials[potential_of(&basis, filter)].abs())
                    .collect();
                let spectrum = Spectrum {
                    basis: &basis,
                    mixing,
                };
                let mut largest = 0.0_f64;
                for index in 0..COARSE * COARSE {
                    let frequencies = num_frequencies(COARSE) as f64;
                    let axis = |index| 2.0 * PI * index as f64 / frequencies;
                    let (down, across) = (axis(index / COARSE), axis(index % COARSE));
                    let unmixed: Vec<f64> = (1..size * size)
                        .map(|m| basis.response(m / size, down) * basis.response(m % size, across))
                        .collect();
                    let mixed = match mixing {
                        None => unmixed,
                        Some(mixing) => {
                            let response = |(row, members): (&[f64], &[usize])| {
                                let terms = row.iter().zip(members).map(|(c, m)| c * unmixed[*m]);
                                vec![terms.sum::<f64>()]
                            };
                            let mut mixed: Vec<Vec<f64>> = mixing.rows().map(response).collect();
                            mixing.slant(&mut mixed);
                            mixed.concat()
                        }
                    };
                    let sum = mixed.iter().zip(&weights).map(|(r, w)| w * r * r).sum();
                    largest = largest.max(sum);
                }
                let smooth = spectrum.smooth_supremum(&weights).value;
                assert!(smooth >= 1.01 * spectrum.supremum(&weights), "{smooth}");
                let found = spectrum.largest(&Tables::of(&basis).coarse, &weights);
                assert!((found / largest - 1.0).abs() < 2e-12, "{found} {largest}");
            }
        }
    }
}
