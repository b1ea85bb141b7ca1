//! Measured data that are checked and hashed once for any number of models.

use lowlevel::norm;
use num_complex::Complex;

use crate::error::{ModelError, check_finite, check_len};
use crate::fingerprint::NumberHash;
use crate::grid::{Field, Shape};
use crate::operator::{CoilFourier, Fourier, LinearOperator, to_complex};

/// The data of one measurement, checked once.
///
/// A model that is created from a slice reads the whole slice, to check that every entry is finite
/// and to compute its norm and its hash. A model that is created from a `Measurement` does not read
/// the data again, which pays off if one measurement is reconstructed with many parameters.
///
/// ```
/// use imaging::{Denoising, Grid, Measurement, TvParameters};
/// let measurement = Measurement::new(vec![1.0, 0.9, 0.1])?;
/// for alpha in [0.01, 0.1, 1.0] {
///     let parameters = TvParameters { alpha, nu: 1e-3, xi: 1e-3 };
///     let _objective = Denoising::new(Grid::line(3), &measurement, parameters)?;
/// }
/// # Ok::<(), imaging::ModelError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Measurement {
    values: Vec<f64>,
    norm: f64,
    hash: NumberHash,
}

impl Measurement {
    /// Takes and checks the data, in the order of the samples.
    ///
    /// # Errors
    /// If an entry is not finite.
    pub fn new(values: impl Into<Vec<f64>>) -> Result<Self, ModelError> {
        let values = values.into();
        check_finite("data", &values)?;
        let Data { norm, hash, .. } = Data::from(&values);
        Ok(Self { values, norm, hash })
    }

    /// The data.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }
}

/// The data that a model refers to: a slice, or a [`Measurement`].
#[derive(Clone, Copy, Debug)]
pub struct Data<'a> {
    pub(crate) values: &'a [f64],
    pub(crate) norm: f64,
    pub(crate) hash: NumberHash,
}

impl<'a> Data<'a> {
    /// Checks that there are `expected` entries and that all are finite. Reads them only if their
    /// norm is not finite.
    pub(crate) fn checked(self, expected: usize) -> Result<Self, ModelError> {
        check_len("data", self.values, expected)?;
        if !self.norm.is_finite() {
            check_finite("data", self.values)?;
        }
        Ok(self)
    }
}

impl<'a> From<&'a [f64]> for Data<'a> {
    fn from(values: &'a [f64]) -> Self {
        Self {
            values,
            norm: norm(values),
            hash: NumberHash::new().add(values),
        }
    }
}

impl<'a, const N: usize> From<&'a [f64; N]> for Data<'a> {
    fn from(values: &'a [f64; N]) -> Self {
        Self::from(values.as_slice())
    }
}

impl<'a> From<&'a Vec<f64>> for Data<'a> {
    fn from(values: &'a Vec<f64>) -> Self {
        Self::from(values.as_slice())
    }
}

impl<'a> From<&'a Measurement> for Data<'a> {
    fn from(measurement: &'a Measurement) -> Self {
        Self {
            values: &measurement.values,
            norm: measurement.norm,
            hash: measurement.hash,
        }
    }
}

/// The measured frequencies of a signal or picture, checked and scaled once.
///
/// [`FourierSampling`](crate::FourierSampling) and [`FourierPicture`](crate::FourierPicture) take
/// it in place of a [`Measurement`].
#[derive(Clone, Debug)]
pub struct FourierMeasurement {
    /// The scaled data `$N^{1/2} y$`, because the transforms inside the kernels are unscaled.
    pub(crate) scaled: Vec<Complex<f64>>,
    pub(crate) norm: f64,
    pub(crate) hash: NumberHash,
}

impl FourierMeasurement {
    /// Copies and checks the complex frequencies, in the order of the transform.
    ///
    /// # Errors
    /// If the transform is not that of a complex line, if there is not one frequency for each
    /// sample of the line, or if an entry is not finite.
    pub fn new(fourier: &Fourier, values: &[f64]) -> Result<Self, ModelError> {
        check_complex_line(fourier)?;
        Self::scaled(values, fourier, fourier.transform().unitary_scale())
    }

    /// Copies and checks the complex frequencies of a picture, those of one coil after the other,
    /// in the order of the transform.
    ///
    /// # Errors
    /// If there is not one frequency for each pixel and coil, or if an entry is not finite.
    pub fn of_picture(fourier: &CoilFourier, values: &[f64]) -> Result<Self, ModelError> {
        Self::scaled(values, fourier, fourier.transform().unitary_scale())
    }

    fn scaled(
        values: &[f64],
        operator: &impl LinearOperator,
        scale: f64,
    ) -> Result<Self, ModelError> {
        let codomain = operator.codomain();
        let Data { norm, hash, .. } = Data::from(values).checked(codomain.len())?;
        let mut scaled = vec![Complex::ZERO; codomain.num_samples()];
        to_complex(Field::Complex, values, &mut scaled);
        for sample in &mut scaled {
            *sample /= scale;
        }
        Ok(Self { scaled, norm, hash })
    }
}

/// Checks that `fourier` transforms complex lines.
pub(crate) fn check_complex_line(fourier: &Fourier) -> Result<(), ModelError> {
    let grid = fourier.domain();
    match (grid.shape(), grid.field()) {
        (Shape::Line { .. }, Field::Complex) => Ok(()),
        _ => Err(ModelError::WrongGrid {
            name: "the grid of fourier",
            needed: "a complex line: use Variational for other unknowns",
        }),
    }
}
