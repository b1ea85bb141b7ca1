//! Colours as luminance and chroma.
//!
//! The opponent transform `$z = Ox$` turns a colour `$x$` with red, green and blue parts into its
//! luminance `$z_1$` and its chroma `$(z_2, z_3)$`, where `$O$` is the orthogonal matrix
//!
//! ```math
//! O = \begin{pmatrix} 1/\sqrt3 & 1/\sqrt3 & 1/\sqrt3 \\ 1/\sqrt2 & -1/\sqrt2 & 0 \\
//! 1/\sqrt6 & 1/\sqrt6 & -2/\sqrt6 \end{pmatrix}.
//! ```
//!
//! Because it is orthogonal, distances do not change, and white noise stays white noise of the same
//! standard deviation. Photographs have their edges mostly in the luminance; the chroma varies less
//! and can be smoothed more. [`Opponent`](crate::Opponent) models use this.
//!
//! ```
//! use imaging::colour;
//!
//! let [luminance, chroma] = colour::to_opponent_parts(&[0.5, 0.5, 0.5, 1.0, 0.0, 0.0]);
//! assert_eq!((luminance.len(), chroma.len()), (2, 4));
//! assert_eq!(chroma[..2], [0.0, 0.0]); // grey has no chroma
//! ```

use crate::error::{ModelError, check_values};
use crate::grid::{Field, Grid};
use crate::measurement::Measurement;
use crate::model::vectorize;

/// The factor between the luminance and the mean of the three colours.
pub(crate) const LUMINANCE: f64 = 1.732_050_807_568_877_2;

/// A bound on the norm of the rounding error of either direction of the transform, in unit
/// roundoffs relative to the norm of its argument.
///
/// Each of the three results is a sum of three terms that is rounded twice, and each term is
/// rounded once and has a factor with an error of at most one unit. The vector of the factors has
/// norm 1, so the error of a result is at most `$4u$` times the norm of the colour, and that of the
/// three together at most `$4\sqrt3\,u < 7u$`. The rest is a margin for terms of second order.
pub(crate) const ROUNDING: f64 = 8.0;

/// Returns the luminance and the two parts of the chroma of a colour.
#[must_use]
#[inline(always)]
pub fn to_opponent([r, g, b]: [f64; 3]) -> [f64; 3] {
    [
        (r + g + b) / LUMINANCE,
        (r - g) / ROOT_2,
        (r + g - 2.0 * b) / ROOT_6,
    ]
}

/// Returns the colour with this luminance and chroma: the inverse of [`to_opponent`].
#[must_use]
#[inline(always)]
pub fn from_opponent([l, first, second]: [f64; 3]) -> [f64; 3] {
    let (l, first, second) = (l / LUMINANCE, first / ROOT_2, second / ROOT_6);
    [l + first + second, l - first + second, l - 2.0 * second]
}

const ROOT_2: f64 = std::f64::consts::SQRT_2;
const ROOT_6: f64 = 2.449_489_742_783_178;

/// Returns the luminance and the chroma of a picture in colour, which is stored as the red, green
/// and blue part of each pixel. The chroma is stored like a complex picture.
///
/// # Panics
/// If the length is not a multiple of three.
#[must_use]
pub fn to_opponent_parts(picture: &[f64]) -> [Vec<f64>; 2] {
    assert!(picture.len().is_multiple_of(3), "three numbers per pixel");
    let num_samples = picture.len() / 3;
    let mut parts = [vec![0.0; num_samples], vec![0.0; 2 * num_samples]];
    let [luminance, chroma] = &mut parts;
    split(picture, luminance, chroma);
    parts
}

/// Overwrites a picture in colour with that of this luminance and chroma: the inverse of
/// [`to_opponent_parts`].
///
/// # Panics
/// If the lengths do not fit.
pub fn from_opponent_parts(luminance: &[f64], chroma: &[f64], picture: &mut [f64]) {
    assert_eq!(
        picture.len(),
        3 * luminance.len(),
        "three numbers per pixel"
    );
    join(luminance, chroma, picture);
}

/// Overwrites luminance and chroma with those of a picture.
pub(crate) fn split(picture: &[f64], luminance: &mut [f64], chroma: &mut [f64]) {
    let (colours, _) = picture.as_chunks::<3>();
    let (pairs, _) = chroma.as_chunks_mut::<2>();
    assert!(colours.len() == luminance.len() && colours.len() == pairs.len());
    vectorize(
        #[inline(always)]
        || {
            let parts = luminance.iter_mut().zip(pairs.iter_mut());
            for ((luminance, pair), colour) in parts.zip(colours) {
                let [l, first, second] = to_opponent(*colour);
                *luminance = l;
                *pair = [first, second];
            }
        },
    );
}

/// Overwrites a picture with that of this luminance and chroma.
pub(crate) fn join(luminance: &[f64], chroma: &[f64], picture: &mut [f64]) {
    let (colours, _) = picture.as_chunks_mut::<3>();
    let (pairs, _) = chroma.as_chunks::<2>();
    assert!(colours.len() == luminance.len() && colours.len() == pairs.len());
    vectorize(
        #[inline(always)]
        || {
            let parts = luminance.iter().zip(pairs);
            for ((luminance, [first, second]), colour) in parts.zip(colours.iter_mut()) {
                *colour = from_opponent([*luminance, *first, *second]);
            }
        },
    );
}

/// A measured picture in colour, checked once for many models: its luminance and its chroma.
#[derive(Clone, Debug)]
pub struct ColourMeasurement {
    pub(crate) grid: Grid,
    pub(crate) luminance: Measurement,
    pub(crate) chroma: Measurement,
}

impl ColourMeasurement {
    /// Checks a picture on a grid of colours.
    ///
    /// # Errors
    /// If the grid is empty or has no colours, or if the data do not fit it or are not finite.
    pub fn new(grid: Grid, data: &[f64]) -> Result<Self, ModelError> {
        check_colour(grid)?;
        check_values("data", data, grid.len())?;
        let [luminance, chroma] = to_opponent_parts(data);
        Ok(Self {
            grid,
            luminance: Measurement::new(luminance)?,
            chroma: Measurement::new(chroma)?,
        })
    }
}

/// Refuses a grid that is empty or not one of colours.
pub(crate) fn check_colour(grid: Grid) -> Result<(), ModelError> {
    if grid.is_empty() {
        return Err(ModelError::EmptyGrid);
    }
    if grid.field() == Field::Colour {
        return Ok(());
    }
    Err(ModelError::WrongGrid {
        name: "grid",
        needed: "a grid of colours, such as Grid::image(rows, cols).colour()",
    })
}
