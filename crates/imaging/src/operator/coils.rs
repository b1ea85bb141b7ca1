//! The Fourier transform of a complex picture as the coils of a scanner see it.

use num_complex::Complex;

use super::{FourierScratch, LinearOperator, Spectrum, Transform, Weights};
use crate::error::{ModelError, check_values};
use crate::fingerprint::{self, NumberHash};
use crate::grid::{Field, Grid};
use crate::operator::{from_complex, to_complex};

/// The unitary Fourier transforms `$F C_c x$` of a complex picture `$x$` times the sensitivity map
/// `$C_c$` of every coil `$c$`, one below the other.
///
/// With a single coil, the map is 1. Data are complex, in the order of the transform, with
/// frequency zero first: `num_coils` pictures of frequencies.
///
/// ```
/// use imaging::{CoilFourier, LinearOperator};
/// let fourier = CoilFourier::single(2, 2)?;
/// let mut frequencies = [0.0; 8];
/// fourier.apply(&[1.0, 0.0].repeat(4), &mut frequencies, &mut fourier.scratch());
/// assert_eq!(frequencies, [2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
/// # Ok::<(), imaging::ModelError>(())
/// ```
#[derive(Clone, Debug)]
pub struct CoilFourier {
    grid: Grid,
    transform: Transform,
    num_coils: usize,
    /// The maps of all coils; empty for a single coil whose map is 1.
    maps: Vec<Complex<f64>>,
    /// The range of `$\sum_c|C_c|^2$` over all pixels.
    sensitivity: Spectrum,
    /// The transform of `$\sum_c|\widehat C_c|^2/N$`, divided by `$N$`: see
    /// [`gram_symbol`](Self::gram_symbol).
    power: Vec<Complex<f64>>,
    fingerprint: u64,
}

impl CoilFourier {
    /// Plans the transform of pictures that are seen by a single coil, whose map is 1.
    ///
    /// # Errors
    /// If the picture has no pixels.
    pub fn single(rows: usize, cols: usize) -> Result<Self, ModelError> {
        let grid = Grid::image(rows, cols).complex();
        Ok(Self {
            grid,
            transform: Transform::new(grid)?,
            num_coils: 1,
            maps: Vec::new(),
            sensitivity: Spectrum { min: 1.0, max: 1.0 },
            power: Vec::new(),
            fingerprint: fingerprint::of_grid(grid),
        })
    }

    /// Plans the transforms for coils with these sensitivity maps, complex pictures one after the
    /// other.
    ///
    /// # Errors
    /// If the picture has no pixels, if the maps are not one or more whole pictures, if an entry is
    /// not finite, or if all maps are zero.
    pub fn new(rows: usize, cols: usize, maps: &[f64]) -> Result<Self, ModelError> {
        let mut own = Self::single(rows, cols)?;
        let len = own.grid.len();
        own.num_coils = maps.len().div_ceil(len).max(1);
        check_values("maps", maps, own.num_coils * len)?;
        own.maps = vec![Complex::ZERO; maps.len() / 2];
        to_complex(Field::Complex, maps, &mut own.maps);
        let num_samples = own.grid.num_samples();
        let mut squares = vec![0.0; num_samples];
        for map in own.maps.chunks_exact(num_samples) {
            for (square, entry) in squares.iter_mut().zip(map) {
                *square += entry.norm_sqr();
            }
        }
        let sensitivity = Spectrum::enclosing(squares);
        if !(sensitivity.max > 0.0 && sensitivity.max < f64::INFINITY) {
            return Err(ModelError::OutOfRange {
                name: "the largest squared sensitivity of all maps",
                found: sensitivity.max,
                needed: "positive and finite",
            });
        }
        // More than rounding may have lost.
        let slack = 8.0 * (own.num_coils as f64 + 2.0) * f64::EPSILON;
        own.sensitivity = Spectrum {
            min: sensitivity.min * (1.0 - slack),
            max: sensitivity.max * (1.0 + slack),
        };
        own.power = own.power_of_maps();
        let hash = NumberHash::new().add(maps).finish();
        own.fingerprint = fingerprint::of_hashes([own.fingerprint, hash]);
        Ok(own)
    }

    /// The number of coils.
    #[must_use]
    pub const fn num_coils(&self) -> usize {
        self.num_coils
    }

    pub(crate) const fn transform(&self) -> &Transform {
        &self.transform
    }

    /// The maps of all coils; `None` stands for a map that is 1.
    pub(crate) fn maps(&self) -> impl Iterator<Item = Option<&[Complex<f64>]>> {
        let num_samples = self.grid.num_samples();
        (0..self.num_coils).map(move |coil| {
            let first = coil * num_samples;
            self.maps.get(first..first + num_samples)
        })
    }

    /// The range of `$\sum_c|C_c|^2$` over all pixels.
    pub(crate) const fn sensitivity(&self) -> Spectrum {
        self.sensitivity
    }

    fn power_of_maps(&self) -> Vec<Complex<f64>> {
        let mut scratch = self.transform.scratch();
        let num_samples = self.grid.num_samples();
        let per_sample = 1.0 / num_samples as f64;
        let mut power = vec![0.0; num_samples];
        for map in self.maps.chunks_exact(num_samples) {
            scratch.samples.copy_from_slice(map);
            self.transform.forward(&mut scratch);
            for (power, entry) in power.iter_mut().zip(&scratch.samples) {
                *power += entry.norm_sqr() * per_sample * per_sample;
            }
        }
        for (sample, power) in scratch.samples.iter_mut().zip(&power) {
            *sample = Complex::new(*power, 0.0);
        }
        self.transform.forward(&mut scratch);
        scratch.samples.iter().map(|p| p.conj()).collect()
    }

    /// Overwrites `symbol` with the diagonal of `$F A^*SA F^*$`, where `$S$` has the same `weights`
    /// for every coil: the circulant matrix that is closest to `$A^*SA$` has this symbol.
    ///
    /// Entry `$k$` is `$\sum_l s_l P_{l-k}$` with `$P = \sum_c|\widehat C_c|^2/N$` for the unitary
    /// transform `$\widehat C_c$`, a correlation.
    pub(crate) fn gram_symbol(&self, weights: &[f64], symbol: &mut [f64]) {
        symbol.copy_from_slice(weights);
        if self.maps.is_empty() {
            return;
        }
        let mut scratch = self.transform.scratch();
        for (sample, weight) in scratch.samples.iter_mut().zip(weights) {
            *sample = Complex::new(*weight, 0.0);
        }
        self.transform.forward(&mut scratch);
        let per_sample = 1.0 / weights.len() as f64;
        for (sample, power) in scratch.samples.iter_mut().zip(&self.power) {
            *sample *= power * per_sample;
        }
        self.transform.inverse(&mut scratch);
        for (symbol, sample) in symbol.iter_mut().zip(&scratch.samples) {
            // Rounding may make an entry negative.
            *symbol = sample.re.max(0.0);
        }
    }
}

impl LinearOperator for CoilFourier {
    type Scratch = FourierScratch;

    fn domain(&self) -> Grid {
        self.grid
    }

    fn codomain(&self) -> Grid {
        let (rows, cols) = self.grid.rows_and_cols();
        Grid::image(self.num_coils * rows, cols).complex()
    }

    fn scratch(&self) -> FourierScratch {
        self.transform.scratch()
    }

    fn apply(&self, x: &[f64], out: &mut [f64], scratch: &mut FourierScratch) {
        let scale = self.transform.unitary_scale();
        for (map, out) in self.maps().zip(out.chunks_exact_mut(self.grid.len())) {
            to_complex(Field::Complex, x, &mut scratch.samples);
            multiply(map, &mut scratch.samples);
            self.transform.forward(scratch);
            from_complex(Field::Complex, &scratch.samples, scale, out);
        }
    }

    fn apply_adjoint(&self, y: &[f64], out: &mut [f64], scratch: &mut FourierScratch) {
        let scale = self.transform.unitary_scale();
        out.fill(0.0);
        for (map, y) in self.maps().zip(y.chunks_exact(self.grid.len())) {
            to_complex(Field::Complex, y, &mut scratch.samples);
            self.transform.inverse(scratch);
            add_conjugate(map, scale, &scratch.samples, out);
        }
    }

    /// The eigenvalues of `$A^*SA$` lie between the smallest weight times the smallest
    /// `$\sum_c|C_c|^2$` and the product of the largest ones.
    fn gram_spectrum(&self, weights: Weights<'_>) -> Spectrum {
        let range = weights.range();
        Spectrum {
            min: range.min * self.sensitivity.min,
            max: range.max * self.sensitivity.max,
        }
    }

    fn fingerprint(&self) -> Option<u64> {
        Some(self.fingerprint)
    }

    /// A transform of a product with a map, or the sum of such products over all coils.
    fn roundings(&self) -> f64 {
        self.transform.roundings() + 8.0 + 2.0 * self.num_coils as f64
    }
}

/// Multiplies `samples` by a map.
pub(crate) fn multiply(map: Option<&[Complex<f64>]>, samples: &mut [Complex<f64>]) {
    if let Some(map) = map {
        for (sample, entry) in samples.iter_mut().zip(map) {
            *sample *= entry;
        }
    }
}

/// Adds `samples`, times `scale` and the conjugate of a map, to `out`.
pub(crate) fn add_conjugate(
    map: Option<&[Complex<f64>]>,
    scale: f64,
    samples: &[Complex<f64>],
    out: &mut [f64],
) {
    let (pairs, _) = out.as_chunks_mut::<2>();
    match map {
        None => {
            for (pair, sample) in pairs.iter_mut().zip(samples) {
                pair[0] += scale * sample.re;
                pair[1] += scale * sample.im;
            }
        }
        Some(map) => {
            for ((pair, sample), entry) in pairs.iter_mut().zip(samples).zip(map) {
                let product = sample * entry.conj();
                pair[0] += scale * product.re;
                pair[1] += scale * product.im;
            }
        }
    }
}
