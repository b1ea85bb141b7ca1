//! Kernels of blurs: made from a formula, or checked arrays.

mod variable;

pub use variable::{KernelSlope, VariableKernel};

use std::f64::consts::PI;
use std::fmt;
use std::str::FromStr;

use crate::error::{ModelError, check_values};
use crate::grid::{Field, Grid};

/// The kernel of a blur: real weights with their origin in the middle, at `(rows / 2, cols / 2)`
/// rounded down.
///
/// ```
/// use imaging::{Grid, Kernel};
/// let kernel = Kernel::named("disc:5")?;
/// assert_eq!(kernel.grid(), Grid::image(11, 11));
/// assert!((kernel.values().iter().sum::<f64>() - 1.0).abs() < 1e-12);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    values: Vec<f64>,
    grid: Grid,
}

impl Kernel {
    /// Creates a kernel from its values, which are used as they are.
    ///
    /// # Errors
    /// If the grid is empty or complex, or the values do not fit it, are not finite, or are all
    /// zero.
    pub fn new(values: Vec<f64>, grid: Grid) -> Result<Self, ModelError> {
        if grid.is_empty() {
            return Err(ModelError::EmptyGrid);
        }
        if grid.field() != Field::Real {
            return Err(ModelError::WrongGrid {
                name: "the grid of a kernel",
                needed: "real",
            });
        }
        check_values("kernel", &values, grid.len())?;
        if values.iter().all(|value| *value == 0.0) {
            return Err(ModelError::OutOfRange {
                name: "the sum of the absolute values of a kernel",
                found: 0.0,
                needed: "positive",
            });
        }
        Ok(Self { values, grid })
    }

    /// Creates the kernel of a signal.
    ///
    /// # Errors
    /// The same as for [`Kernel::new`].
    pub fn line(values: Vec<f64>) -> Result<Self, ModelError> {
        let grid = Grid::line(values.len());
        Self::new(values, grid)
    }

    /// The kernel that a [`KernelShape`] describes: `gaussian:2`, `disc:5` or `motion:15@30`.
    ///
    /// # Errors
    /// If the name cannot be read, or describes no kernel of reasonable size.
    pub fn named(name: &str) -> Result<Self, KernelNameError> {
        Ok(name.parse::<KernelShape>()?.kernel())
    }

    /// The values, row by row.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The size.
    #[must_use]
    pub const fn grid(&self) -> Grid {
        self.grid
    }

    /// The sum of the values.
    #[must_use]
    pub fn sum(&self) -> f64 {
        self.values.iter().sum()
    }

    /// Subtracts the median of the values on the border from all values, and sets negative
    /// differences to zero: the background of a measured kernel.
    ///
    /// # Errors
    /// If nothing is left.
    pub fn without_background(mut self) -> Result<Self, ModelError> {
        let (rows, cols) = self.grid.rows_and_cols();
        let is_end = |at: usize, len: usize| len > 1 && (at == 0 || at + 1 == len);
        let border = self
            .values
            .iter()
            .enumerate()
            .filter(|(index, _)| is_end(index / cols, rows) || is_end(index % cols, cols));
        let mut border: Vec<f64> = border.map(|(_, value)| *value).collect();
        border.sort_by(f64::total_cmp);
        let background = border.get(border.len() / 2).copied().unwrap_or(0.0);
        for value in &mut self.values {
            *value = (*value - background).max(0.0);
        }
        Self::new(self.values, self.grid)
    }

    /// Divides the values by their sum, so that the blur does not change the brightness. A sum of 1
    /// up to rounding, 1e-9, stays, so that normalising twice changes nothing.
    ///
    /// # Errors
    /// If the sum is not positive, or so small that a value overflows.
    pub fn normalised(mut self) -> Result<Self, ModelError> {
        let sum = self.sum();
        if !(sum > 0.0) {
            return Err(ModelError::OutOfRange {
                name: "the sum of the kernel",
                found: sum,
                needed: "positive, so that it can be normalised to 1",
            });
        }
        if (sum - 1.0).abs() <= 1e-9 {
            return Ok(self);
        }
        for value in &mut self.values {
            *value /= sum;
        }
        Self::new(self.values, self.grid)
    }
}

/// A kernel that is described by a formula. Its sum is 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum KernelShape {
    /// A Gaussian, cut off at three standard deviations: `gaussian:2`.
    Gaussian {
        /// The standard deviation in pixels.
        deviation: f64,
    },
    /// A disc, the blur of a lens that is out of focus: `disc:5`.
    Disc {
        /// The radius in pixels.
        radius: f64,
    },
    /// A straight line, the blur of a camera that moves: `motion:15@30`.
    Motion {
        /// The length in pixels.
        length: f64,
        /// The angle in degrees, counter-clockwise from the direction of rows.
        angle: f64,
    },
}

/// The error of a name that describes no kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelNameError {
    name: String,
}

impl fmt::Display for KernelNameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} describes no kernel: write gaussian:2 for a standard deviation of 2 pixels, \
             disc:5 for a radius of 5 pixels, or motion:15@30 for 15 pixels at 30 degrees; sizes \
             are positive and at most {}",
            self.name,
            KernelShape::MAX_SIZE
        )
    }
}

impl std::error::Error for KernelNameError {}

impl KernelShape {
    /// The largest size in pixels.
    pub const MAX_SIZE: f64 = 1000.0;
    /// The names, before the colon.
    pub const NAMES: [&'static str; 3] = ["gaussian", "disc", "motion"];

    /// Whether `name` starts like the name of a kernel, so that it is no path.
    #[must_use]
    pub fn is_name(name: &str) -> bool {
        (name.split_once(':')).is_some_and(|(shape, _)| Self::NAMES.contains(&shape))
    }

    /// Returns the width in pixels: the standard deviation of a Gaussian or the radius of a disc;
    /// `None` for motion.
    #[must_use]
    pub const fn width(self) -> Option<f64> {
        match self {
            Self::Gaussian { deviation } => Some(deviation),
            Self::Disc { radius } => Some(radius),
            Self::Motion { .. } => None,
        }
    }

    /// Returns the kernel.
    #[must_use]
    #[expect(clippy::missing_panics_doc, reason = "sizes were checked")]
    pub fn kernel(self) -> Kernel {
        let (values, radius) = match self {
            Self::Gaussian { deviation } => gaussian(deviation),
            Self::Disc { radius } => disc(radius),
            Self::Motion { length, angle } => motion(length, angle),
        };
        let size = 2 * radius + 1;
        let kernel = Kernel::new(values, Grid::image(size, size));
        kernel
            .and_then(Kernel::normalised)
            .expect("the values are finite, and some are positive")
    }
}

impl FromStr for KernelShape {
    type Err = KernelNameError;

    fn from_str(name: &str) -> Result<Self, KernelNameError> {
        let refuse = || KernelNameError { name: name.into() };
        let (shape, numbers) = name.split_once(':').ok_or_else(refuse)?;
        let number = |text: &str| text.trim().parse::<f64>().map_err(|_| refuse());
        let size = |text: &str| {
            let size = number(text)?;
            let is_valid = size > 0.0 && size <= Self::MAX_SIZE;
            is_valid.then_some(size).ok_or_else(refuse)
        };
        match shape {
            "gaussian" => Ok(Self::Gaussian {
                deviation: size(numbers)?,
            }),
            "disc" => Ok(Self::Disc {
                radius: size(numbers)?,
            }),
            "motion" => {
                let (length, angle) = numbers.split_once('@').ok_or_else(refuse)?;
                let angle = number(angle)?;
                let length = size(length)?;
                let is_valid = angle.is_finite();
                let shape = Self::Motion { length, angle };
                is_valid.then_some(shape).ok_or_else(refuse)
            }
            _ => Err(refuse()),
        }
    }
}

impl fmt::Display for KernelShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gaussian { deviation } => write!(f, "gaussian:{deviation}"),
            Self::Disc { radius } => write!(f, "disc:{radius}"),
            Self::Motion { length, angle } => write!(f, "motion:{length}@{angle}"),
        }
    }
}

/// The smallest whole number that is not below `size`.
fn radius_of(size: f64) -> usize {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "sizes are positive and at most 3000"
    )]
    let radius = size.ceil() as usize;
    radius
}

/// The values of a Gaussian, and the radius of their array.
fn gaussian(deviation: f64) -> (Vec<f64>, usize) {
    let radius = radius_of(3.0 * deviation);
    let size = 2 * radius + 1;
    let weight = |at: usize| {
        let distance = (at as f64 - radius as f64) / deviation;
        (-0.5 * distance * distance).exp()
    };
    let value = |index: usize| weight(index / size) * weight(index % size);
    ((0..size * size).map(value).collect(), radius)
}

/// The share of each pixel that lies in a disc, from 9 x 9 points in each pixel.
fn disc(disc_radius: f64) -> (Vec<f64>, usize) {
    const POINTS: usize = 9;
    let radius = radius_of(disc_radius);
    let size = 2 * radius + 1;
    let offset = |at: usize, point: usize| {
        at as f64 - radius as f64 + (point as f64 + 0.5) / POINTS as f64 - 0.5
    };
    let value = |index: usize| {
        let mut inside = 0.0;
        for point in 0..POINTS * POINTS {
            let down = offset(index / size, point / POINTS);
            let across = offset(index % size, point % POINTS);
            if down * down + across * across <= disc_radius * disc_radius {
                inside += 1.0;
            }
        }
        inside
    };
    let mut values: Vec<f64> = (0..size * size).map(value).collect();
    // the middle of a disc that is smaller than the distance of points
    let middle = radius * size + radius;
    values[middle] = values[middle].max(1.0);
    (values, radius)
}

/// The values of a line, drawn by bilinear weights at many points.
fn motion(length: f64, angle: f64) -> (Vec<f64>, usize) {
    const POINTS: usize = 2000;
    let radius = radius_of(0.5 * length) + 1;
    let size = 2 * radius + 1;
    let mut values = vec![0.0; size * size];
    let (sin, cos) = (angle.rem_euclid(360.0) * PI / 180.0).sin_cos();
    for point in 0..POINTS {
        let along = length * (point as f64 / (POINTS - 1) as f64 - 0.5);
        let (row, col) = (radius as f64 - along * sin, radius as f64 + along * cos);
        let (down, across) = (row - row.floor(), col - col.floor());
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the points are at least one pixel from the border"
        )]
        let at = row as usize * size + col as usize;
        values[at] += (1.0 - down) * (1.0 - across);
        values[at + 1] += (1.0 - down) * across;
        values[at + size] += down * (1.0 - across);
        values[at + size + 1] += down * across;
    }
    (values, radius)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The second moments of a kernel: down, across, and mixed.
    fn moments(kernel: &Kernel) -> [f64; 3] {
        let (rows, cols) = kernel.grid().rows_and_cols();
        let mut sums = [0.0; 3];
        for (index, value) in kernel.values().iter().enumerate() {
            let down = (index / cols) as f64 - (rows / 2) as f64;
            let across = (index % cols) as f64 - (cols / 2) as f64;
            for (sum, term) in sums
                .iter_mut()
                .zip([down * down, across * across, down * across])
            {
                *sum += value * term;
            }
        }
        sums
    }

    /// A Gaussian has the variance `$\sigma^2$`, a disc `$R^2/4$` along each axis, and a line of
    /// length `$l$` the variance `$l^2/12$` along itself. Pixels, and Gaussians that are cut off,
    /// change these a little.
    #[test]
    fn named_kernels_have_the_right_moments() {
        let [down, across, mixed] = moments(&Kernel::named("gaussian:2").unwrap());
        assert!((down - 4.0).abs() < 0.15 && (across - down).abs() < 1e-12 && mixed.abs() < 1e-12);
        let [down, across, mixed] = moments(&Kernel::named("disc:5").unwrap());
        assert!((down - 6.25).abs() < 0.15 && (across - down).abs() < 1e-12 && mixed.abs() < 1e-12);
        let [down, across, mixed] = moments(&Kernel::named("motion:15@30").unwrap());
        let variance = 225.0 / 12.0;
        assert!((down - 0.25 * variance).abs() < 0.3, "{down}");
        assert!((across - 0.75 * variance).abs() < 0.3, "{across}");
        // 30 degrees counter-clockwise: upwards to the right
        assert!(
            (mixed + 3_f64.sqrt() / 4.0 * variance).abs() < 0.3,
            "{mixed}"
        );
        let tiny = Kernel::named("disc:0.01").unwrap();
        assert!((tiny.values()[4] - 1.0).abs() < 1e-12, "{tiny:?}");
    }

    #[test]
    fn bad_names_are_refused() {
        for name in [
            "gauss:2",
            "gaussian",
            "gaussian:",
            "gaussian:x",
            "gaussian:0",
            "gaussian:-1",
            "gaussian:nan",
            "gaussian:1e9",
            "disc:inf",
            "motion:15",
            "motion:15@",
            "motion:15@inf",
            "motion:@30",
            "k.npy",
        ] {
            let error = Kernel::named(name).unwrap_err();
            assert!(error.to_string().contains(name), "{error}");
        }
        for name in ["gaussian:2", "disc:2.5", "motion:15@-30"] {
            assert_eq!(name.parse::<KernelShape>().unwrap().to_string(), name);
            assert!(KernelShape::is_name(name));
        }
        assert!(!KernelShape::is_name("C:\\k.npy") && !KernelShape::is_name("k.npy"));
    }

    #[test]
    fn backgrounds_and_sums() {
        let grid = Grid::image(3, 3);
        let measured = vec![1.0, 1.0, 1.0, 1.0, 5.0, 3.0, 1.0, 1.0, 0.5];
        let kernel = Kernel::new(measured, grid).unwrap();
        let clean = kernel.without_background().unwrap().normalised().unwrap();
        let expected = [0.0, 0.0, 0.0, 0.0, 4.0, 2.0, 0.0, 0.0, 0.0].map(|v| v / 6.0);
        assert_eq!(clean.values(), expected);
        assert!(Kernel::new(vec![0.0; 9], grid).is_err());
        assert!(Kernel::new(vec![f64::NAN; 9], grid).is_err());
        assert!(
            Kernel::new(vec![2.0; 9], grid)
                .unwrap()
                .without_background()
                .is_err()
        );
        assert!(
            Kernel::new(vec![-1.0; 9], grid)
                .unwrap()
                .normalised()
                .is_err()
        );
    }
}
