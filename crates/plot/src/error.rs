//! What can go wrong.

use thiserror::Error;

/// Why there is no picture.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DrawError {
    /// More than 100 million pixels.
    #[error("a picture of {width} x {height} pixels is too large")]
    TooLarge {
        /// In pixels of the file.
        width: u32,
        /// In pixels of the file.
        height: u32,
    },
    /// The encoder refuses the picture.
    #[error("cannot encode the picture: {reason}")]
    Encoding {
        /// What the encoder says.
        reason: String,
    },
}
