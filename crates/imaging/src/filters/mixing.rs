//! Learned filters: combinations of the filters of a basis, even or odd along each axis or slanted.
//!
//! A *part* is a combination of filters of the basis that have the same symmetry. The first parts,
//! one for each filter of the basis, are filters themselves. The others come in pairs: two parts
//! `$e$` and `$o$` with different symmetries make the slanted filters `$e + o$` and `$e - o$`,
//! which are mirror images of each other up to their sign, and have the same potential. At every
//! pixel,
//!
//! ```math
//! |(e + o) * x|^2 + |(e - o) * x|^2 = 2\,|e * x|^2 + 2\,|o * x|^2,
//! ```
//!
//! so each part of a pair counts twice in a sum of squares, and filters that are neither even nor
//! odd need no other proof ([`spectrum`](super::spectrum)).

use pulp::Simd;

use super::basis::Basis;
use super::sweep::{Lanes, Responses};
use super::vector::Real;
use crate::error::{ModelError, check_values};

/// The coefficients of learned filters.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Mixing {
    /// The coefficients of all parts, one part after the other.
    entries: Vec<f64>,
    /// For each part, the filters of the basis that it combines.
    members: Vec<Vec<usize>>,
    /// What each part combines, without coefficients that are zero, and what combines each filter
    /// of the basis.
    forward: Combinations,
    backward: Combinations,
    /// What combines each filter of the basis, with squares of coefficients.
    squares: Combinations,
}

/// Combinations of planes: the coefficients and the indices of each.
type Combinations = Vec<Vec<(f64, usize)>>;

/// For each part of the learned filters, the filter of the basis that has its symmetry.
fn parts(basis: &Basis) -> Vec<usize> {
    let size = basis.size;
    let mut parts: Vec<usize> = (1..basis.num_filters()).collect();
    for index in 1..basis.num_filters() {
        let (v, h) = (index / size, index % size);
        match (v % 2, h % 2) {
            (0, 1) => parts.extend([index, h * size + v]),
            (1, 1) => parts.extend([(v + 1) * size + h + 1, index]),
            _ => (),
        }
    }
    parts
}

/// The number of filters of a bank.
pub(super) fn num_filters(basis: &Basis, is_learned: bool) -> usize {
    if is_learned {
        parts(basis).len()
    } else {
        basis.num_filters() - 1
    }
}

/// The number of the potential of a filter.
pub(super) const fn potential_of(basis: &Basis, filter: usize) -> usize {
    let alone = basis.num_filters() - 1;
    if filter < alone {
        filter
    } else {
        alone + (filter - alone) / 2
    }
}

impl Mixing {
    /// The number of coefficients of a bank.
    pub(super) fn num_entries(basis: &Basis) -> usize {
        let counts = parts(basis).into_iter();
        counts.map(|index| basis.same_symmetry(index).count()).sum()
    }

    /// The coefficients with which each part is one filter of the basis.
    pub(super) fn identity(basis: &Basis) -> Vec<f64> {
        (parts(basis).into_iter())
            .flat_map(|index| {
                let members = basis.same_symmetry(index);
                members.map(move |other| f64::from(other == index))
            })
            .collect()
    }

    pub(super) fn new(basis: &Basis, entries: Vec<f64>) -> Result<Self, ModelError> {
        check_values("filters", &entries, Self::num_entries(basis))?;
        let members: Vec<Vec<usize>> = (parts(basis).into_iter())
            .map(|index| basis.same_symmetry(index).map(|other| other - 1).collect())
            .collect();
        let mut forward = vec![vec![]; members.len()];
        let mut backward = vec![vec![]; basis.num_filters() - 1];
        for (part, (row, members)) in rows(&entries, &members).enumerate() {
            for (coefficient, member) in row.iter().zip(members) {
                if *coefficient != 0.0 {
                    forward[part].push((*coefficient, *member));
                    backward[*member].push((*coefficient, part));
                }
            }
        }
        let squared =
            |row: &Vec<(f64, usize)>| row.iter().map(|(c, part)| (c * c, *part)).collect();
        let squares = backward.iter().map(squared).collect();
        Ok(Self {
            entries,
            members,
            forward,
            backward,
            squares,
        })
    }

    pub(super) fn entries(&self) -> &[f64] {
        &self.entries
    }

    /// The coefficients of each part, with the indices of the filters of the basis.
    pub(super) fn rows(&self) -> impl Iterator<Item = (&[f64], &[usize])> {
        rows(&self.entries, &self.members)
    }

    /// What belongs to the parts of pairs.
    fn pairs<'a, N>(&self, of_parts: &'a mut [N]) -> impl Iterator<Item = &'a mut [N; 2]> {
        let alone = self.backward.len();
        of_parts[alone..self.members.len()]
            .as_chunks_mut()
            .0
            .iter_mut()
    }

    /// Replaces numbers of parts, such as squares of norms, by those of both parts of a pair.
    pub(super) fn add_pairs(&self, of_parts: &mut [f64]) {
        for pair in self.pairs(of_parts) {
            *pair = [pair[0] + pair[1]; 2];
        }
    }

    /// Returns the squares of the norms of all filters.
    pub(super) fn squared_norms(&self) -> Vec<f64> {
        let mut squares: Vec<f64> = (self.rows())
            .map(|(row, _)| row.iter().map(|c| c * c).sum())
            .collect();
        self.add_pairs(&mut squares);
        squares
    }

    /// Returns the largest number of filters of the basis in a part, and the largest sum of moduli
    /// of the coefficients of a filter, relative to the norm of the filter.
    pub(super) fn spread(&self) -> [f64; 2] {
        let counts = self.forward.iter().map(Vec::len);
        let moduli = self
            .forward
            .iter()
            .map(|row| row.iter().map(|(c, _)| c.abs()).sum());
        let mut sums: Vec<f64> = moduli.collect();
        self.add_pairs(&mut sums);
        let norms = self.squared_norms().into_iter().map(f64::sqrt);
        let ratios = sums.iter().zip(norms).map(|(sum, norm)| sum / norm);
        [
            counts.max().unwrap_or_default() as f64,
            // A filter without coefficients has no rounding error.
            ratios.filter(|ratio| !ratio.is_nan()).fold(0.0, f64::max),
        ]
    }

    /// Replaces the parts `$(e, o)$` of all pairs, such as taps, by `$(e + o, e - o)$`.
    pub(super) fn slant(&self, parts: &mut [Vec<f64>]) {
        for [e, o] in self.pairs(parts) {
            for (e, o) in e.iter_mut().zip(o) {
                (*e, *o) = (*e + *o, *e - *o);
            }
        }
    }

    /// Does the same to responses. This transform is its own transpose.
    #[inline(always)]
    pub(super) fn slant_responses<T: Real, S: Simd>(&self, simd: S, parts: &mut Responses<T>) {
        for [e, o] in self.pairs(&mut parts[1..]) {
            let (e, o) = (T::vectors_mut::<S>(e), T::vectors_mut::<S>(o));
            for (e, o) in e.iter_mut().zip(o) {
                (*e, *o) = (T::plus(simd, *e, *o), T::minus(simd, *e, *o));
            }
        }
    }

    /// Overwrites `mixed` with the responses of the bank in one row of a strip, given those of the
    /// basis.
    #[inline(always)]
    pub(super) fn combine<T: Real, S: Simd>(
        &self,
        simd: S,
        responses: &Responses<T>,
        mixed: &mut Responses<T>,
    ) {
        for (out, row) in mixed[1..].iter_mut().zip(&self.forward) {
            combine(simd, row, responses, out);
        }
        self.slant_responses(simd, mixed);
    }

    /// Overwrites `responses` with the transpose of [`combine`](Self::combine), and `mixed` with
    /// the numbers of the parts.
    #[inline(always)]
    pub(super) fn combine_transposed<T: Real, S: Simd>(
        &self,
        simd: S,
        mixed: &mut Responses<T>,
        responses: &mut Responses<T>,
    ) {
        self.slant_responses(simd, mixed);
        for (out, row) in responses[1..].iter_mut().zip(&self.backward) {
            combine(simd, row, mixed, out);
        }
    }

    /// Overwrites `out` with the weights of the filters of the basis, given those of the filters of
    /// the bank: the diagonal of the matrix that the filters of the basis see at each pixel.
    #[inline(always)]
    pub(super) fn diagonal<T: Real, S: Simd>(
        &self,
        simd: S,
        weights: &mut Responses<T>,
        out: &mut Responses<T>,
    ) {
        // Both parts of a pair have the weights of both filters.
        for [e, o] in self.pairs(&mut weights[1..]) {
            let (e, o) = (T::vectors_mut::<S>(e), T::vectors_mut::<S>(o));
            for (e, o) in e.iter_mut().zip(o) {
                *e = T::plus(simd, *e, *o);
                *o = *e;
            }
        }
        for (out, row) in out[1..].iter_mut().zip(&self.squares) {
            combine(simd, row, weights, out);
        }
    }
}

/// Splits coefficients into those of each part, with the filters of the basis.
fn rows<'a>(
    entries: &'a [f64],
    members: &'a [Vec<usize>],
) -> impl Iterator<Item = (&'a [f64], &'a [usize])> {
    let mut rest = entries;
    members.iter().map(move |members| {
        let (row, after) = rest.split_at(members.len());
        rest = after;
        (row, members.as_slice())
    })
}

/// The number of vectors that are combined at once.
const GROUP: usize = 4;

/// Overwrites `out` with a combination of responses. Index zero is the first filter after the
/// constant one.
#[inline(always)]
fn combine<T: Real, S: Simd>(
    simd: S,
    row: &[(f64, usize)],
    responses: &Responses<T>,
    out: &mut Lanes<T>,
) {
    let (groups, rest) = T::vectors_mut::<S>(out).as_chunks_mut();
    let num_grouped = GROUP * groups.len();
    for (at, group) in groups.iter_mut().enumerate() {
        *group = sums::<T, S, GROUP>(simd, row, responses, GROUP * at);
    }
    for (at, vector) in rest.iter_mut().enumerate() {
        [*vector] = sums::<T, S, 1>(simd, row, responses, num_grouped + at);
    }
}

/// Returns `N` vectors of a combination, from vector `first` on.
#[inline(always)]
fn sums<T: Real, S: Simd, const N: usize>(
    simd: S,
    row: &[(f64, usize)],
    responses: &Responses<T>,
    first: usize,
) -> [T::Vector<S>; N] {
    let mut sums = [T::splat(simd, T::default()); N];
    for (coefficient, index) in row {
        let coefficient = T::splat(simd, T::from_f64(*coefficient));
        let vectors = &T::vectors::<S>(&responses[index + 1])[first..first + N];
        for (sum, vector) in sums.iter_mut().zip(vectors) {
            *sum = T::plus(simd, *sum, T::times(simd, coefficient, *vector));
        }
    }
    sums
}
