//! Grey pictures.

use std::fmt;

use tiny_skia::{ColorU8, Pixmap};

/// Longest side in pixels.
const MAX_SIDE: usize = 10_000;

/// Grey pixels, row by row.
#[derive(Clone)]
pub(crate) struct Picture {
    pub(crate) pixels: Pixmap,
}

impl Picture {
    /// Returns the picture of values between 0 and 1.
    pub(crate) fn new(width: usize, height: usize, grey: &[f64]) -> Self {
        let sides = 1..=MAX_SIDE;
        assert!(
            sides.contains(&width) && sides.contains(&height),
            "a picture of {width} x {height} pixels"
        );
        assert_eq!(grey.len(), width * height, "one value for each pixel");
        let side = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        let mut pixels =
            Pixmap::new(side(width), side(height)).expect("the size is within the limits");
        for (pixel, value) in pixels.pixels_mut().iter_mut().zip(grey) {
            let level = level(*value);
            *pixel = ColorU8::from_rgba(level, level, level, u8::MAX).premultiply();
        }
        Self { pixels }
    }

    /// Returns the ratio of width and height.
    pub(crate) fn aspect(&self) -> f64 {
        f64::from(self.pixels.width()) / f64::from(self.pixels.height())
    }

    /// Encodes a PNG file.
    pub(crate) fn to_png(&self) -> Vec<u8> {
        let bytes = self.pixels.encode_png();
        bytes.expect("pixels within the limits can be encoded")
    }
}

impl fmt::Debug for Picture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Picture")
            .field("width", &self.pixels.width())
            .field("height", &self.pixels.height())
            .finish_non_exhaustive()
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "between 0 and 255; NaN becomes 0"
)]
fn level(value: f64) -> u8 {
    (value.clamp(0.0, 1.0) * 255.0).round() as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_cut_to_the_range() {
        let values = [0.0, 0.5, 1.0, -3.0, 7.0, f64::NAN, f64::INFINITY];
        assert_eq!(values.map(level), [0, 128, 255, 0, 255, 0, 255]);
    }

    #[test]
    #[should_panic(expected = "one value for each pixel")]
    fn the_number_of_values_must_fit() {
        let _ = Picture::new(2, 2, &[0.0; 3]);
    }
}
