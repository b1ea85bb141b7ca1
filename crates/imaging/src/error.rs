//! Errors of models, and the checks that raise them.

use lowlevel::CurvatureError;
use thiserror::Error;

use crate::grid::{Field, Grid};

/// The error of an invalid model. Its message names the argument.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The grid has no samples.
    #[error("the grid has no samples, but needs at least one")]
    EmptyGrid,
    /// The grid is not of the required kind.
    #[error("{name} must be {needed}")]
    WrongGrid {
        /// The name of the argument.
        name: &'static str,
        /// The required kind of grid.
        needed: &'static str,
    },
    /// A slice has the wrong length.
    #[error("{name} has length {found}, but must have length {expected}")]
    WrongLength {
        /// The name of the argument.
        name: &'static str,
        /// The required length.
        expected: usize,
        /// The given length.
        found: usize,
    },
    /// An entry of a slice is not finite.
    #[error("entry {index} of {name} is not a finite number")]
    NonFinite {
        /// The name of the argument.
        name: &'static str,
        /// The index of the first such entry.
        index: usize,
    },
    /// A kernel is larger than the picture that it blurs.
    #[error(
        "the kernel has {} x {} values, but the picture or signal only {} x {}: use a smaller \
         kernel, or a larger picture", kernel[0], kernel[1], grid[0], grid[1]
    )]
    LargeKernel {
        /// The rows and columns of the kernel.
        kernel: [usize; 2],
        /// The rows and columns of the picture. A signal is one row.
        grid: [usize; 2],
    },
    /// The kernel of a motion has no width that can vary.
    #[error("a kernel of motion has no width that can vary: use that of a Gaussian or of a disc")]
    NoWidth,
    /// No sample of the data was measured.
    #[error("all samples of the data are missing: at least one must have been measured")]
    NothingMeasured,
    /// A weight is negative.
    #[error("entry {index} of weights is negative, but weights must be zero or positive")]
    NegativeWeight {
        /// The index of the first such entry.
        index: usize,
    },
    /// A parameter is out of range.
    #[error("{name} is {}, but must be {needed}", shown(*found))]
    OutOfRange {
        /// The name of the parameter.
        name: &'static str,
        /// The given value.
        found: f64,
        /// The range of valid values.
        needed: &'static str,
    },
    /// The model is not strongly convex, or its constants overflow.
    #[error("the model cannot be solved to a certified error: {0}")]
    Curvature(#[from] CurvatureError),
}

/// Returns a number as text, with an exponent if it is very large or very small.
fn shown(number: f64) -> String {
    let text = format!("{number:?}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

/// Refuses a grid of colours.
pub(crate) fn check_not_colour(grid: Grid) -> Result<(), ModelError> {
    if grid.field() == Field::Colour {
        return Err(ModelError::WrongGrid {
            name: "grid",
            needed: "real or complex: use Opponent for pictures in colour",
        });
    }
    Ok(())
}

/// Refuses volumes, for which there is only denoising with total variation.
pub(crate) fn check_not_volume(grid: Grid) -> Result<(), ModelError> {
    if grid.num_axes() == 3 {
        return Err(ModelError::WrongGrid {
            name: "grid",
            needed: "a line or an image: volumes are denoised with total variation",
        });
    }
    Ok(())
}

/// Checks the length of `values` and that all are finite.
pub(crate) fn check_values(
    name: &'static str,
    values: &[f64],
    expected: usize,
) -> Result<(), ModelError> {
    check_len(name, values, expected)?;
    check_finite(name, values)
}

/// Checks the length of `values`.
pub(crate) const fn check_len<T>(
    name: &'static str,
    values: &[T],
    expected: usize,
) -> Result<(), ModelError> {
    let found = values.len();
    if found == expected {
        Ok(())
    } else {
        Err(ModelError::WrongLength {
            name,
            expected,
            found,
        })
    }
}

/// Checks that all `values` are finite.
pub(crate) fn check_finite(name: &'static str, values: &[f64]) -> Result<(), ModelError> {
    match values.iter().position(|value| !value.is_finite()) {
        Some(index) => Err(ModelError::NonFinite { name, index }),
        None => Ok(()),
    }
}

/// Checks that a parameter is finite and at least zero.
pub(crate) fn check_not_negative(name: &'static str, value: f64) -> Result<(), ModelError> {
    if (0.0..f64::INFINITY).contains(&value) {
        Ok(())
    } else {
        Err(ModelError::OutOfRange {
            name,
            found: value,
            needed: "finite and not negative",
        })
    }
}

/// Checks the weight of a regulariser. Beyond 1e100, the part of the gradient that is lost where
/// squared differences overflow could exceed the rounding error.
pub(crate) fn check_weight(name: &'static str, value: f64) -> Result<(), ModelError> {
    if (0.0..=1e100).contains(&value) {
        Ok(())
    } else {
        Err(ModelError::OutOfRange {
            name,
            found: value,
            needed: "between 0 and 1e100",
        })
    }
}

/// Checks a smoothing parameter, whose square must be a normal number.
pub(crate) fn check_smoothing(name: &'static str, value: f64) -> Result<(), ModelError> {
    if value > 0.0 && (value * value).is_normal() {
        Ok(())
    } else {
        Err(ModelError::OutOfRange {
            name,
            found: value,
            needed: "positive, such as 1e-3 for images in [0, 1], \
                     and its square must be a normal number",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let message = |found| {
            let (name, needed) = ("alpha", "smaller");
            let error = ModelError::OutOfRange {
                name,
                found,
                needed,
            };
            error.to_string()
        };
        assert_eq!(message(1e300), "alpha is 1e300, but must be smaller");
        let shown = [4.0, -0.25, 1e-300, f64::NAN].map(shown);
        assert_eq!(shown, ["4", "-0.25", "1e-300", "NaN"]);
    }
}
