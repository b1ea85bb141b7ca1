//! Kernels whose width varies, and their derivatives with respect to it.

use lowlevel::UNIT_ROUNDOFF;

use super::{Kernel, KernelShape, radius_of};
use crate::error::ModelError;
use crate::grid::Grid;

/// The kernel of a Gaussian or a disc whose width varies, on an array of a fixed size.
///
/// The width is the standard deviation of a Gaussian and the radius of a disc, in pixels. The
/// values are smooth functions of the width, and their sum is 1. A Gaussian is cut off at three
/// times the *largest* width, and a pixel of a disc counts with its exact area inside the disc; so
/// the values differ a little from those of [`KernelShape::kernel`].
///
/// ```
/// use imaging::{KernelShape, VariableKernel};
/// let kernel = VariableKernel::new(KernelShape::Gaussian { deviation: 2.0 }, 4.0)?;
/// let (at, slope) = (kernel.at(2.0)?, kernel.slope(2.0)?);
/// let (before, after) = (kernel.at(2.0 - 1e-5)?, kernel.at(2.0 + 1e-5)?);
/// for ((before, after), slope) in before.values().iter().zip(after.values()).zip(&slope.values) {
///     assert!(((after - before) / 2e-5 - slope).abs() < 1e-9);
/// }
/// assert_eq!(at.values().len(), 25 * 25);
/// # Ok::<(), imaging::ModelError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VariableKernel {
    shape: KernelShape,
    radius: usize,
    largest: f64,
}

/// The derivatives of the values of a kernel with respect to its width.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelSlope {
    /// The derivatives, row by row.
    pub values: Vec<f64>,
    /// A bound on the sum of their rounding errors.
    pub error: f64,
}

impl VariableKernel {
    /// The smallest width in pixels. A narrower kernel hardly differs from no blur.
    pub const MIN_WIDTH: f64 = 0.1;

    /// Creates the kernel, for widths of up to `largest`.
    ///
    /// # Errors
    /// If the shape has no width, as that of motion, or the largest width is out of range.
    pub fn new(shape: KernelShape, largest: f64) -> Result<Self, ModelError> {
        let reach = match shape {
            KernelShape::Gaussian { .. } => 3.0,
            KernelShape::Disc { .. } => 1.0,
            KernelShape::Motion { .. } => return Err(ModelError::NoWidth),
        };
        check_width(largest, KernelShape::MAX_SIZE)?;
        Ok(Self {
            shape,
            // rounding of the largest width adds no pixels
            radius: radius_of(reach * largest - 1e-6),
            largest,
        })
    }

    /// The size of the array.
    #[must_use]
    pub const fn grid(&self) -> Grid {
        Grid::image(2 * self.radius + 1, 2 * self.radius + 1)
    }

    /// Returns the kernel of a given width.
    ///
    /// # Errors
    /// If the width is below [`MIN_WIDTH`](Self::MIN_WIDTH) or above the largest one.
    pub fn at(&self, width: f64) -> Result<Kernel, ModelError> {
        let [mut values, _] = self.unscaled(width)?;
        let sum: f64 = values.iter().sum();
        for value in &mut values {
            *value /= sum;
        }
        Kernel::new(values, self.grid())
    }

    /// Returns the derivatives of the values with respect to the width, at a given width.
    ///
    /// # Errors
    /// The same as for [`at`](Self::at).
    pub fn slope(&self, width: f64) -> Result<KernelSlope, ModelError> {
        let [values, mut slopes] = self.unscaled(width)?;
        let (sum, slope_of_sum): (f64, f64) = (values.iter().sum(), slopes.iter().sum());
        // Before the division by their sum, the slopes of a Gaussian are products. The areas and
        // arcs of a disc are differences of four numbers of at most these sizes.
        let size: f64 = slopes.iter().map(|slope| slope.abs()).sum();
        let (area, arc) = match self.shape {
            KernelShape::Disc { .. } => (4.0 * width * width, 8.0 * width),
            _ => (sum, size),
        };
        let count = slopes.len() as f64;
        let unscaled = match self.shape {
            KernelShape::Disc { .. } => [16.0 * count * area, 16.0 * count * arc],
            _ => [32.0 * area, 32.0 * arc],
        };
        for (slope, value) in slopes.iter_mut().zip(&values) {
            *slope = (*slope - value * (slope_of_sum / sum)) / sum;
        }
        let relative = 2.0 * (count + 8.0) * (size / sum);
        let error = relative + 2.0 * unscaled[1] / sum + 2.0 * (size / sum) * unscaled[0] / sum;
        Ok(KernelSlope {
            values: slopes,
            error: 2.0 * UNIT_ROUNDOFF * error,
        })
    }

    /// Returns the values before they are divided by their sum, and their derivatives.
    fn unscaled(&self, width: f64) -> Result<[Vec<f64>; 2], ModelError> {
        check_width(width, self.largest)?;
        let (radius, size) = (self.radius as f64, 2 * self.radius + 1);
        let mut made = [const { Vec::new() }; 2];
        for index in 0..size * size {
            let down = (index / size) as f64 - radius;
            let across = (index % size) as f64 - radius;
            let terms = match self.shape {
                KernelShape::Disc { .. } => share_of_disc(down, across, width),
                _ => {
                    let square = (down * down + across * across) / (width * width);
                    let value = (-0.5 * square).exp();
                    [value, value * square / width]
                }
            };
            for (made, term) in made.iter_mut().zip(terms) {
                made.push(term);
            }
        }
        Ok(made)
    }
}

fn check_width(width: f64, largest: f64) -> Result<(), ModelError> {
    if width >= VariableKernel::MIN_WIDTH && width <= largest {
        return Ok(());
    }
    Err(ModelError::OutOfRange {
        name: "the width of a kernel",
        found: width,
        needed: "at least 0.1 pixels, and at most the largest width",
    })
}

/// The area of the part of a pixel that lies in a disc around the origin, and its derivative with
/// respect to the radius: the length of the arc in the pixel.
fn share_of_disc(down: f64, across: f64, radius: f64) -> [f64; 2] {
    let [low, high] = [down - 0.5, down + 0.5];
    let [left, right] = [across - 0.5, across + 0.5];
    let corners = [
        (1.0, high, right),
        (-1.0, low, right),
        (-1.0, high, left),
        (1.0, low, left),
    ];
    let mut sums = [0.0; 2];
    for (sign, down, across) in corners {
        let terms = share_of_corner(down, across, radius);
        for (sum, term) in sums.iter_mut().zip(terms) {
            *sum += sign * term;
        }
    }
    sums.map(|sum| sum.max(0.0))
}

/// The same for the rectangle between the origin and a corner, with the sign of the product of its
/// coordinates.
fn share_of_corner(down: f64, across: f64, radius: f64) -> [f64; 2] {
    let sign = down.signum() * across.signum();
    let [down, across] = [down.abs().min(radius), across.abs().min(radius)];
    if down * down + across * across <= radius * radius {
        return [sign * down * across, 0.0];
    }
    // The circle leaves the rectangle through the side at `across`, and through that at `down`.
    let from = (radius * radius - across * across).max(0.0).sqrt();
    let angle = |at: f64| (at / radius).min(1.0).asin();
    let below = |at: f64| {
        let root = (radius * radius - at * at).max(0.0).sqrt();
        0.5 * (at * root + radius * radius * angle(at))
    };
    let area = across * from + below(down) - below(from);
    [sign * area, sign * radius * (angle(down) - angle(from))]
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use proptest::prelude::*;

    use super::*;

    const SHAPES: [KernelShape; 2] = [
        KernelShape::Gaussian { deviation: 1.0 },
        KernelShape::Disc { radius: 1.0 },
    ];

    /// The pixels of a disc add up to its area, and their slopes to its circumference.
    #[test]
    fn discs_have_their_area() {
        for width in [0.3, 0.5, 1.0, 2.5, 4.7] {
            let kernel = VariableKernel::new(SHAPES[1], 5.0).unwrap();
            let [area, slope] = kernel.unscaled(width).unwrap();
            assert!((area.iter().sum::<f64>() - PI * width * width).abs() < 1e-12);
            assert!((slope.iter().sum::<f64>() - 2.0 * PI * width).abs() < 1e-12);
        }
    }

    /// A wide array hardly changes the named kernels, which are cut off or counted by points.
    #[test]
    fn kernels_resemble_the_named_ones() {
        for (shape, bound) in [
            (KernelShape::Gaussian { deviation: 2.0 }, 0.02),
            (KernelShape::Disc { radius: 5.0 }, 0.02),
        ] {
            let (named, width) = (shape.kernel(), shape.width().unwrap());
            let kernel = VariableKernel::new(shape, width).unwrap().at(width);
            let kernel = kernel.unwrap();
            assert_eq!(kernel.grid(), named.grid());
            let both = kernel.values().iter().zip(named.values());
            let distance: f64 = both.map(|(a, b)| (a - b).abs()).sum();
            assert!(distance < bound, "{shape}: {distance}");
        }
    }

    #[test]
    fn bad_widths_are_refused() {
        let motion = KernelShape::Motion {
            length: 5.0,
            angle: 0.0,
        };
        assert!(VariableKernel::new(motion, 2.0).is_err());
        for shape in SHAPES {
            for largest in [0.0, -1.0, f64::NAN, f64::INFINITY, 2e3] {
                assert!(VariableKernel::new(shape, largest).is_err(), "{largest}");
            }
            let kernel = VariableKernel::new(shape, 2.0).unwrap();
            for width in [0.0, 0.09, 2.1, f64::NAN] {
                assert!(kernel.at(width).is_err() && kernel.slope(width).is_err());
            }
        }
    }

    proptest! {
        /// Slopes are the limits of central differences. That of a disc changes abruptly where the
        /// circle touches the side of a pixel.
        #[test]
        fn slopes_are_derivatives(which in 0..2_usize, width in 0.3..3.0_f64) {
            let kernel = VariableKernel::new(SHAPES[which], 3.5).unwrap();
            let slope = kernel.slope(width).unwrap();
            let values = |width: f64| kernel.at(width).unwrap().values().to_vec();
            let h = 1e-5;
            let mut largest: f64 = 0.0;
            for ((after, before), slope) in
                values(width + h).iter().zip(&values(width - h)).zip(&slope.values)
            {
                largest = largest.max(((after - before) / (2.0 * h) - slope).abs());
            }
            let bound = if which == 0 { 1e-7 } else { 1e-2 };
            prop_assert!(largest < bound, "{largest}");
            let sum: f64 = slope.values.iter().sum();
            prop_assert!(sum.abs() <= slope.error, "{sum} {}", slope.error);
        }
    }
}
