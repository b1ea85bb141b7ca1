//! The span of a growing list of directions.

use crate::linalg::{dot, norm};

/// An orthonormal basis of the span of the directions added so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Span {
    directions: Vec<Vec<f64>>,
}

impl Span {
    pub(crate) fn len(&self) -> usize {
        self.directions.len()
    }

    pub(crate) fn directions(&self) -> &[Vec<f64>] {
        &self.directions
    }

    pub(crate) fn into_directions(self) -> Vec<Vec<f64>> {
        self.directions
    }

    /// The part of `x` that is orthogonal to the span, by the Gram-Schmidt method. The method is
    /// applied twice, which is enough for full precision.
    pub(crate) fn orthogonal_part(&self, x: &[f64]) -> Vec<f64> {
        let mut rest = x.to_vec();
        for _ in 0..2 {
            for direction in &self.directions {
                let along = dot(&rest, direction);
                for (r, q) in rest.iter_mut().zip(direction) {
                    *r -= along * q;
                }
            }
        }
        rest
    }

    /// Adds the part of `x` that is orthogonal to the span if `is_enough` holds for its length.
    /// Returns whether it was added.
    pub(crate) fn add_if(&mut self, x: &[f64], is_enough: impl FnOnce(f64) -> bool) -> bool {
        let fresh = self.orthogonal_part(x);
        let length = norm(&fresh);
        let added = is_enough(length);
        if added {
            self.directions
                .push(fresh.iter().map(|x| x / length).collect());
        }
        added
    }
}
