//! Errors of masks and of the frequencies that they choose from.

use imaging::ModelError;
use imaging::noise::NoiseError;
use thiserror::Error;

use crate::error::BoxError;

/// The error of a mask, of frequencies, or of learning a mask.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MaskError {
    /// There are no slices.
    #[error("there are no slices: give at least one")]
    NoSlices,
    /// An array has the wrong shape.
    #[error("{name} has the shape {found:?}, but must have {needed}")]
    Shape {
        /// The name of the array.
        name: &'static str,
        /// Its shape.
        found: Vec<usize>,
        /// The shape that is needed, and what to do.
        needed: String,
    },
    /// An entry of an array is not finite.
    #[error(
        "the entry {at:?} of {name} is not a finite number: write zeros where nothing was measured"
    )]
    NotFinite {
        /// The name of the array.
        name: &'static str,
        /// The index of the first such entry.
        at: Vec<usize>,
    },
    /// A slice has no signal.
    #[error("slice {index} is zero or too large to be squared: leave it out")]
    NoSignal {
        /// The number of the slice, counted from 0.
        index: usize,
    },
    /// A slice does not fit the transform.
    #[error("slice {index}: {source}")]
    Slice {
        /// The number of the slice, counted from 0.
        index: usize,
        /// The reason.
        source: ModelError,
    },
    /// The budget is not a share.
    #[error(
        "the budget is {found}, but must be a share of all frequencies, above 0 and at most 1, \
         such as 0.25"
    )]
    Budget {
        /// The budget.
        found: f64,
    },
    /// The centre does not fit into the mask.
    #[error(
        "the number of {elements} in the mask is {size}, but its centre alone has {centre}: make \
         the centre smaller, or the budget larger"
    )]
    Centre {
        /// The number of elements of the mask.
        size: usize,
        /// The number of elements of the centre, or of the mask to start from.
        centre: usize,
        /// The name of the elements.
        elements: &'static str,
    },
    /// The mask should have more elements than there are.
    #[error("a mask cannot have {size} {elements}, because there are only {all}: make it smaller")]
    Size {
        /// The number of elements of the mask.
        size: usize,
        /// The number of all elements.
        all: usize,
        /// The name of the elements.
        elements: &'static str,
    },
    /// The mask has no elements.
    #[error("the mask is empty, so that nothing is measured: it needs at least one line or point")]
    Empty,
    /// The mask does not fit the pictures.
    #[error("the mask has {found} elements, but these pictures have {needed} {elements}")]
    Length {
        /// The number of elements that the mask is about.
        found: usize,
        /// The number of elements of the pictures.
        needed: usize,
        /// The name of the elements.
        elements: &'static str,
    },
    /// A setting is out of range.
    #[error("{name} is {found}, but must be {needed}")]
    Setting {
        /// The name of the setting.
        name: &'static str,
        /// Its value.
        found: f64,
        /// The range of valid values.
        needed: &'static str,
    },
    /// The model of a picture cannot be built.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// Noise cannot be added.
    #[error(transparent)]
    Noise(#[from] NoiseError),
    /// A reconstruction failed.
    #[error("a reconstruction failed: {0}")]
    Failed(BoxError),
}

impl MaskError {
    /// Whether the error is about frequencies or maps, and not about settings.
    #[must_use]
    pub const fn is_of_data(&self) -> bool {
        matches!(
            self,
            Self::NoSlices
                | Self::Shape { .. }
                | Self::NotFinite { .. }
                | Self::NoSignal { .. }
                | Self::Slice { .. }
                | Self::Length { .. }
                | Self::Model(_)
        )
    }
}

/// The errors of a search, which may be of this type.
impl From<BoxError> for MaskError {
    fn from(error: BoxError) -> Self {
        match error.downcast::<Self>() {
            Ok(own) => *own,
            Err(other) => Self::Failed(other),
        }
    }
}
