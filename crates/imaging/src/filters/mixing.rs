//! Learned filters: combinations of the filters of a basis that have the same symmetry.

use super::basis::{Basis, MAX_FILTERS};
use super::sweep::{Responses, STRIP};
use crate::error::{ModelError, check_values};

/// The coefficients of learned filters. Filter `$k$` is a combination of the filters of the basis
/// that have the symmetry of basis filter `$k$`, so that it stays even or odd along each axis.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Mixing {
    /// The coefficients of all filters, one filter after the other.
    entries: Vec<f64>,
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
        Ok(Self { entries, members })
    }

    pub(super) fn entries(&self) -> &[f64] {
        &self.entries
    }

    /// The coefficients of each filter, with the indices of the filters of the basis.
    pub(super) fn rows(&self) -> impl Iterator<Item = (&[f64], &[usize])> {
        let mut rest = self.entries.as_slice();
        self.members.iter().map(move |members| {
            let (row, after) = rest.split_at(members.len());
            rest = after;
            (row, members.as_slice())
        })
    }

    /// Overwrites `mixed` with the responses of the bank, given those of the basis. Neither
    /// includes the constant filter.
    pub(super) fn apply(&self, responses: &[f64], mixed: &mut [f64]) {
        for (out, (row, members)) in mixed.iter_mut().zip(self.rows()) {
            *out = (row.iter().zip(members))
                .map(|(c, m)| c * responses[*m])
                .sum();
        }
    }

    /// Overwrites `mixed` with the responses of the bank in one row of a strip.
    #[inline(always)]
    pub(super) fn combine(&self, responses: &Responses, mixed: &mut Responses) {
        for (out, (row, members)) in mixed[1..].iter_mut().zip(self.rows()) {
            *out = [0.0; STRIP];
            for (coefficient, member) in row.iter().zip(members) {
                for (out, response) in out.iter_mut().zip(&responses[member + 1]) {
                    *out += coefficient * response;
                }
            }
        }
    }

    /// Overwrites `responses` with the transpose of [`combine`](Self::combine).
    #[inline(always)]
    pub(super) fn combine_transposed(&self, mixed: &Responses, responses: &mut Responses) {
        *responses = [[0.0; STRIP]; MAX_FILTERS];
        for (mixed, (row, members)) in mixed[1..].iter().zip(self.rows()) {
            for (coefficient, member) in row.iter().zip(members) {
                for (out, mixed) in responses[member + 1].iter_mut().zip(mixed) {
                    *out += coefficient * mixed;
                }
            }
        }
    }

    /// Adds `left(k) * right(m)` to the entry of `out` for basis filter `$m$` in filter `$k$`.
    pub(super) fn add_products(
        &self,
        left: impl Fn(usize) -> f64,
        right: impl Fn(usize) -> f64,
        out: &mut [f64],
    ) {
        let mut out = out.iter_mut();
        for (k, members) in self.members.iter().enumerate() {
            let left = left(k);
            for (m, out) in members.iter().zip(&mut out) {
                *out += left * right(*m);
            }
        }
    }
}
