//! Reproducible measurement noise, and an estimate of it.
//!
//! ```
//! use imaging::{Seed, noise};
//!
//! let truth = vec![0.5; 10_000];
//! let data = noise::gaussian(&truth, 0.1, Seed::new(0), 0)?;
//! let squares: f64 = data.iter().zip(&truth).map(|(y, x)| (y - x).powi(2)).sum();
//! assert!(((squares / 1e4).sqrt() - 0.1).abs() < 0.005);
//! # Ok::<(), imaging::noise::NoiseError>(())
//! ```

mod anscombe;
mod estimate;

pub use anscombe::Anscombe;
pub use estimate::{estimate, estimate_colour};

use crate::seed::{Purpose, Seed};
use rand::{Rng, RngExt};
use rand_distr::{Distribution, Poisson, StandardNormal};

/// The error of noise that cannot be added or estimated.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum NoiseError {
    /// The noise level is negative, infinite or not a number.
    #[error("sigma must be finite and not negative, got {0}")]
    Sigma(f64),
    /// An entry of the clean data is infinite or not a number.
    #[error("entry {0} of the clean data is not finite")]
    NotFinite(usize),
    /// The length of complex data is odd, but they are pairs of real and imaginary parts.
    #[error("interleaved complex data must have even length, got {0}")]
    OddLength(usize),
    /// The noise of something that is not a real picture cannot be estimated.
    #[error("the noise can only be estimated in real pictures with at least five rows and columns")]
    NotAPicture,
    /// The gain of a camera is not a positive number.
    #[error("the gain of a camera is {0}, but must be positive and finite")]
    Gain(f64),
    /// The read noise of a camera is negative, not finite, or huge compared with its gain.
    #[error(
        "the read noise of a camera is {0}, but must not be negative, nor more than a million \
         times its gain"
    )]
    Read(f64),
    /// The black level of a camera is not finite.
    #[error("the black level of a camera is {0}, but must be finite")]
    Black(f64),
    /// The text is not the noise of a camera.
    #[error(
        "the noise of a camera is written poisson:GAIN,READ or poisson:GAIN,READ,BLACK, such as \
         poisson:0.03,0.01"
    )]
    Text,
    /// The noise of a camera cannot be estimated from these frames.
    #[error("the noise of a camera is estimated from two or more frames of the same size")]
    Stack,
    /// The variance between frames does not grow with the mean of pixels.
    #[error(
        "the variance between frames does not grow with the brightness, so this is not the noise \
         of a camera that counts photons: use Gaussian noise"
    )]
    NotPoisson,
    /// The whole picture is clipped to the ends of its range.
    #[error("the noise cannot be estimated, because the picture is clipped everywhere")]
    Clipped,
}

/// Adds noise to real data: returns `$y = x + \sigma\omega$` with independent standard Gaussian
/// entries of `$\omega$`.
///
/// These are the data for denoising of section 2.2 of the paper. `index` is the number of the image
/// in its set: with one seed, different indices have independent noise. Nothing is clipped.
///
/// # Errors
/// If `sigma` is negative or not finite, or an entry of `x` is not finite.
pub fn gaussian(x: &[f64], sigma: f64, seed: Seed, index: usize) -> Result<Vec<f64>, NoiseError> {
    check(x, sigma)?;
    Ok(add_noise(x, sigma, seed.stream(Purpose::Noise, index)))
}

/// Adds noise to complex data: returns `$y = z + \tfrac{\sigma}{\sqrt 2}(a + \mathrm{i}b)$` with
/// independent standard Gaussian entries of `$a$` and `$b$`.
///
/// These are the data for Fourier sampling of section 2.2 of the paper. `z` holds interleaved real
/// and imaginary parts. `sigma` is the standard deviation of a complex entry,
/// `$\mathbb{E}|y_j - z_j|^2 = \sigma^2$`. `index` is the same as for [`gaussian`].
///
/// # Errors
/// If `z` has odd length or an entry that is not finite, or `sigma` is negative or not finite.
pub fn complex_gaussian(
    z: &[f64],
    sigma: f64,
    seed: Seed,
    index: usize,
) -> Result<Vec<f64>, NoiseError> {
    if !z.len().is_multiple_of(2) {
        return Err(NoiseError::OddLength(z.len()));
    }
    check(z, sigma)?;
    let sigma_part = sigma * std::f64::consts::FRAC_1_SQRT_2;
    Ok(add_noise(
        z,
        sigma_part,
        seed.stream(Purpose::ComplexNoise, index),
    ))
}

/// Simulates a camera that counts photons. `index` is the same as for [`gaussian`]. Nothing is
/// clipped, and values of `x` below the black level count as black.
///
/// # Errors
/// If an entry of `x` is not finite.
pub fn poisson(
    x: &[f64],
    camera: &Anscombe,
    seed: Seed,
    index: usize,
) -> Result<Vec<f64>, NoiseError> {
    check(x, camera.read())?;
    let mut rng = seed.stream(Purpose::Photons, index);
    let mut measure = |x: &f64| {
        // there is no distribution for the mean zero, whose counts are all zero
        let mean = (x - camera.black()) / camera.gain();
        let count = Poisson::new(mean).map_or(0.0, |counts| counts.sample(&mut rng));
        camera.black()
            + camera.gain() * count
            + camera.read() * rng.sample::<f64, _>(StandardNormal)
    };
    Ok(x.iter().map(&mut measure).collect())
}

/// Draws independent random signs, -1 or 1 with equal probability.
///
/// They probe the trace of a matrix: the mean of `$\langle b, Mb\rangle$` over all signs `$b$` is
/// the trace of `$M$`. `index` is the same as for [`gaussian`].
#[must_use]
pub fn signs(len: usize, seed: Seed, index: usize) -> Vec<f64> {
    let mut rng = seed.stream(Purpose::Signs, index);
    let mut signs = Vec::with_capacity(len);
    while signs.len() < len {
        let bits: u64 = rng.random();
        let some = (0..64.min(len - signs.len())).map(|bit| bits >> bit & 1);
        signs.extend(some.map(|bit| if bit == 1 { 1.0 } else { -1.0 }));
    }
    signs
}

fn check(x: &[f64], sigma: f64) -> Result<(), NoiseError> {
    if !(sigma >= 0.0 && sigma.is_finite()) {
        return Err(NoiseError::Sigma(sigma));
    }
    match x.iter().position(|v| !v.is_finite()) {
        Some(index) => Err(NoiseError::NotFinite(index)),
        None => Ok(()),
    }
}

fn add_noise(x: &[f64], sigma: f64, mut rng: impl Rng) -> Vec<f64> {
    x.iter()
        .map(|v| v + sigma * rng.sample::<f64, _>(StandardNormal))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_noise_returns_the_data() {
        let x = [0.25, -1.0, 0.0, 3.5];
        assert_eq!(gaussian(&x, 0.0, Seed::new(1), 0), Ok(x.to_vec()));
        assert_eq!(complex_gaussian(&x, 0.0, Seed::new(1), 0), Ok(x.to_vec()));
        assert_eq!(gaussian(&[], 0.1, Seed::new(1), 0), Ok(vec![]));
    }

    #[test]
    fn signs_are_fair_and_reproducible() {
        let all = signs(10_001, Seed::new(2), 5);
        assert!(
            all.iter()
                .all(|sign| sign.abs().to_bits() == 1.0_f64.to_bits())
        );
        // the standard deviation of the sum is 100
        assert!(all.iter().sum::<f64>().abs() < 400.0);
        let neighbours: f64 = all.windows(2).map(|pair| pair[0] * pair[1]).sum();
        assert!(neighbours.abs() < 400.0);
        assert_eq!(signs(77, Seed::new(2), 5), all[..77]);
        assert_ne!(signs(77, Seed::new(2), 6), all[..77]);
        assert!(signs(0, Seed::new(2), 5).is_empty());
    }

    #[test]
    fn noise_scales_with_sigma() {
        let zeros = [0.0; 64];
        let unit = gaussian(&zeros, 1.0, Seed::new(1), 3).unwrap();
        let double = gaussian(&zeros, 2.0, Seed::new(1), 3).unwrap();
        // Scaling by a power of two is exact.
        assert_eq!(double, unit.iter().map(|v| 2.0 * v).collect::<Vec<_>>());
        assert!(unit.iter().all(|v| v.abs() > 0.0));
    }

    #[test]
    fn bad_arguments_are_named() {
        for sigma in [-0.1, f64::NAN, f64::INFINITY] {
            let error = gaussian(&[0.0], sigma, Seed::new(0), 0).unwrap_err();
            assert!(matches!(error, NoiseError::Sigma(_)), "{error}");
            let error = complex_gaussian(&[0.0; 2], sigma, Seed::new(0), 0).unwrap_err();
            assert!(matches!(error, NoiseError::Sigma(_)), "{error}");
        }
        let x = [0.0, f64::NAN];
        assert_eq!(
            gaussian(&x, 0.1, Seed::new(0), 0),
            Err(NoiseError::NotFinite(1))
        );
        assert_eq!(
            complex_gaussian(&x, 0.1, Seed::new(0), 0),
            Err(NoiseError::NotFinite(1))
        );
        assert_eq!(
            complex_gaussian(&[0.0; 3], 0.1, Seed::new(0), 0),
            Err(NoiseError::OddLength(3))
        );
    }
}
