//! Numbered residual vectors that are shared and never change.

use std::ops::Deref;
use std::sync::Arc;

use crate::Products;
use crate::blocks::Blocks;

/// The residuals of an evaluation. Copies share the values, because there may be millions.
///
/// If the vector stays with the oracle, there are products instead of values.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Residuals {
    /// The number of the vector, which identifies it in a saved state.
    number: u64,
    #[cfg_attr(feature = "serde", serde(with = "shared"))]
    values: Arc<Vec<f64>>,
    /// The products that the oracle has told, if it keeps the vector.
    products: Option<Box<Products>>,
}

impl Residuals {
    pub(crate) fn new(number: u64, values: Vec<f64>) -> Self {
        Self {
            number,
            values: Arc::new(values),
            products: None,
        }
    }

    /// A vector that stays with the oracle.
    pub(crate) fn elsewhere(number: u64, products: Products) -> Self {
        Self {
            number,
            values: Arc::default(),
            products: Some(Box::new(products)),
        }
    }

    /// The products that the oracle has told, if it keeps the vector.
    pub(crate) fn products(&self) -> Option<&Products> {
        self.products.as_deref()
    }

    /// Replaces the products of a vector that stays with the oracle by those with another
    /// reference.
    pub(crate) fn set_products(
        &mut self,
        reference: u64,
        cross: f64,
        own: f64,
        with: Vec<(u64, f64)>,
    ) {
        if let Some(products) = &mut self.products {
            **products = Products {
                square: products.square,
                reference,
                cross,
                own,
                with,
            };
        }
    }

    /// The sum of squares.
    pub(crate) fn square(&self, blocks: &Blocks) -> f64 {
        (self.products()).map_or_else(|| blocks.dot(self, self), |products| products.square)
    }

    /// The norm.
    pub(crate) fn norm(&self, blocks: &Blocks) -> f64 {
        (self.products()).map_or_else(|| blocks.norm(self), |products| products.square.sqrt())
    }

    pub(crate) const fn number(&self) -> u64 {
        self.number
    }

    /// Drops the values and keeps the number.
    pub(crate) fn strip(&mut self) {
        self.values = Arc::default();
    }

    /// Restores the values of a stripped vector.
    pub(crate) fn fill(&mut self, values: Arc<Vec<f64>>) {
        self.values = values;
    }

    /// Returns the values, which are copied only if they are shared.
    pub(crate) fn into_vec(self) -> Vec<f64> {
        Arc::unwrap_or_clone(self.values)
    }
}

#[cfg(test)]
impl From<Vec<f64>> for Residuals {
    fn from(values: Vec<f64>) -> Self {
        Self::new(0, values)
    }
}

impl Deref for Residuals {
    type Target = [f64];

    fn deref(&self) -> &[f64] {
        &self.values
    }
}

#[cfg(feature = "serde")]
mod shared {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(
        values: &Arc<Vec<f64>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        values.as_slice().serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Arc<Vec<f64>>, D::Error> {
        Vec::deserialize(deserializer).map(Arc::new)
    }
}
