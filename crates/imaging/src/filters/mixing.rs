//! Learned filters: combinations of the filters of a basis that have the same symmetry.

use pulp::Simd;

use super::basis::Basis;
use super::sweep::{Lanes, Responses, STRIP};
use super::vector::Real;
use crate::error::{ModelError, check_values};

/// The coefficients of learned filters. Filter `$k$` is a combination of the filters of the basis
/// that have the symmetry of basis filter `$k$`, so that it stays even or odd along each axis.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Mixing {
    /// The coefficients of all filters, one filter after the other.
    entries: Vec<f64>,
    /// The same coefficients with both filters exchanged: a filter is combined by exactly the
    /// filters that it combines.
    transposed: Vec<f64>,
    /// For each filter, the filters of the basis that it combines.
    members: Vec<Vec<usize>>,
}

impl Mixing {
    /// The number of coefficients of a bank.
    pub(super) fn num_entries(basis: &Basis) -> usize {
        (1..basis.num_filters())
            .map(|index| basis.same_symmetry(index).count())
            .sum()
    }

    /// The coefficients of the basis itself.
    pub(super) fn identity(basis: &Basis) -> Vec<f64> {
        (1..basis.num_filters())
            .flat_map(|index| {
                basis
                    .same_symmetry(index)
                    .map(move |other| f64::from(other == index))
            })
            .collect()
    }

    pub(super) fn new(basis: &Basis, entries: Vec<f64>) -> Result<Self, ModelError> {
        check_values("filters", &entries, Self::num_entries(basis))?;
        let members = (1..basis.num_filters())
            .map(|index| basis.same_symmetry(index).map(|other| other - 1).collect())
            .collect();
        let mut mixing = Self {
            transposed: vec![0.0; entries.len()],
            entries,
            members,
        };
        let num_filters = basis.num_filters() - 1;
        let mut dense = vec![0.0; num_filters * num_filters];
        for (k, (row, members)) in mixing.rows().enumerate() {
            for (coefficient, member) in row.iter().zip(members) {
                dense[member * num_filters + k] = *coefficient;
            }
        }
        let indices = mixing.members.iter().enumerate();
        let indices = indices.flat_map(|(k, members)| members.iter().map(move |m| (k, m)));
        for (entry, (k, member)) in mixing.transposed.iter_mut().zip(indices) {
            *entry = dense[k * num_filters + member];
        }
        Ok(mixing)
    }

    pub(super) fn entries(&self) -> &[f64] {
        &self.entries
    }

    /// The coefficients of each filter, with the indices of the filters of the basis.
    pub(super) fn rows(&self) -> impl Iterator<Item = (&[f64], &[usize])> {
        self.rows_of(&self.entries)
    }

    /// The rows of `entries`, with the indices of the filters of the basis.
    #[inline(always)]
    fn rows_of<'a>(&'a self, entries: &'a [f64]) -> impl Iterator<Item = (&'a [f64], &'a [usize])> {
        let mut rest = entries;
        self.members.iter().map(move |members| {
            let (row, after) = rest.split_at(members.len());
            rest = after;
            (row, members.as_slice())
        })
    }

    #[cfg(test)]
    /// Overwrites `mixed` with the responses of the bank, given those of the basis. Neither
    /// includes the constant filter.
    pub(super) fn apply(&self, responses: &[f64], mixed: &mut [f64]) {
        for (out, (row, members)) in mixed.iter_mut().zip(self.rows()) {
            *out = (row.iter().zip(members))
                .map(|(c, m)| c * responses[*m])
                .sum();
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
        for (out, (row, members)) in mixed[1..].iter_mut().zip(self.rows()) {
            combine(simd, row, members, responses, out);
        }
    }

    /// Overwrites `responses` with the transpose of [`combine`](Self::combine).
    #[inline(always)]
    pub(super) fn combine_transposed<T: Real, S: Simd>(
        &self,
        simd: S,
        mixed: &Responses<T>,
        responses: &mut Responses<T>,
    ) {
        let rows = self.rows_of(&self.transposed);
        for (out, (row, members)) in responses[1..].iter_mut().zip(rows) {
            combine(simd, row, members, mixed, out);
        }
    }
}

/// The number of lanes that are combined at once.
const GROUP: usize = 16;

/// Overwrites `out` with a combination of responses. Index zero of `members` is the first filter
/// after the constant one.
#[inline(always)]
pub(super) fn combine<T: Real, S: Simd>(
    simd: S,
    row: &[f64],
    members: &[usize],
    responses: &Responses<T>,
    out: &mut Lanes<T>,
) {
    for first in (0..STRIP).step_by(GROUP) {
        let mut sums = [T::splat(simd, T::default()); GROUP];
        for (coefficient, member) in row.iter().zip(members) {
            let coefficient = T::splat(simd, T::from_f64(*coefficient));
            let lanes = &responses[member + 1][first..first + GROUP];
            for (sum, response) in sums.iter_mut().zip(T::vectors::<S>(lanes)) {
                *sum = T::add(simd, *sum, T::mul(simd, coefficient, *response));
            }
        }
        let out = T::vectors_mut::<S>(&mut out[first..first + GROUP]);
        for (out, sum) in out.iter_mut().zip(sums) {
            *out = sum;
        }
    }
}
