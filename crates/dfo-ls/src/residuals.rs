//! Numbered residual vectors that are shared and never change.

use std::ops::Deref;
use std::sync::Arc;

/// The residuals of an evaluation. Copies share the values, because there may be millions.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Residuals {
    /// The number of the vector, which identifies it in a saved state.
    number: u64,
    #[cfg_attr(feature = "serde", serde(with = "shared"))]
    values: Arc<Vec<f64>>,
}

impl Residuals {
    pub(crate) fn new(number: u64, values: Vec<f64>) -> Self {
        Self {
            number,
            values: Arc::new(values),
        }
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
