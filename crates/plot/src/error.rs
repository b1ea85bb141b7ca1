//! The error of drawing.

use thiserror::Error;

/// The reason that a figure could not be drawn.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DrawError {
    /// The figure has more than 100 million pixels.
    #[error("a figure of {width} x {height} pixels is too large: use fewer or smaller panels")]
    TooLarge {
        /// The width in pixels of the file.
        width: u32,
        /// The height in pixels of the file.
        height: u32,
    },
    /// The figure could not be encoded.
    #[error("cannot encode the figure: {reason}")]
    Encoding {
        /// The message of the encoder.
        reason: String,
    },
}
