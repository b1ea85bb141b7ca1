//! Measures of image quality: mean squared error, PSNR and SSIM.
//!
//! ```
//! use imaging::quality;
//!
//! let truth: Vec<f64> = (0..256).map(|i| f64::from(i) / 255.0).collect();
//! let darker: Vec<f64> = truth.iter().map(|v| v - 0.1).collect();
//! assert!((quality::psnr(&darker, &truth, 1.0)? - 20.0).abs() < 1e-9);
//! assert!(quality::ssim(&darker, &truth, 16, 16, 1.0)? < 1.0);
//! # Ok::<(), imaging::quality::QualityError>(())
//! ```

/// The side of the SSIM window in pixels, as in the SSIM article (see [`ssim`]).
const WINDOW: usize = 11;
/// The standard deviation of the SSIM window in pixels, as in the SSIM article.
const WINDOW_SIGMA: f64 = 1.5;
/// The constant `$K_1$` of the SSIM article.
const K1: f64 = 0.01;
/// The constant `$K_2$` of the SSIM article.
const K2: f64 = 0.03;

/// The error of two images that cannot be compared.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum QualityError {
    /// The two images have different numbers of pixels.
    #[error("x has {x} pixels but truth has {truth}")]
    LengthMismatch {
        /// The number of pixels of the image.
        x: usize,
        /// The number of pixels of the true image.
        truth: usize,
    },
    /// The images have no pixels.
    #[error("x and truth have no pixels")]
    Empty,
    /// The number of pixels is not `rows * cols`.
    #[error("x has {len} pixels, which is not rows * cols = {rows} * {cols}")]
    ShapeMismatch {
        /// The given number of rows.
        rows: usize,
        /// The given number of columns.
        cols: usize,
        /// The number of pixels of the image.
        len: usize,
    },
    /// The window of SSIM does not fit into the image.
    #[error("rows and cols must be at least {WINDOW} for ssim, got {rows} and {cols}")]
    SmallerThanWindow {
        /// The given number of rows.
        rows: usize,
        /// The given number of columns.
        cols: usize,
    },
    /// The peak value is not a positive finite number.
    #[error("peak must be positive and finite, got {0}")]
    Peak(f64),
    /// A pixel is infinite or not a number.
    #[error("pixel {index} of {image} is not finite")]
    NotFinite {
        /// The name of the argument, `x` or `truth`.
        image: &'static str,
        /// The index of the first such pixel.
        index: usize,
    },
    /// The pixels are finite, but their squares are not.
    #[error("the pixels of x or truth are too large to be squared")]
    Overflow,
}

/// Returns the mean squared error `$\frac1N\sum_j (x_j - t_j)^2$`.
///
/// # Errors
/// If the images differ in length, are empty, or have pixels that are not finite or too large to be
/// squared.
pub fn mse(x: &[f64], truth: &[f64]) -> Result<f64, QualityError> {
    check_pixels(x, truth)?;
    let sum: f64 = x.iter().zip(truth).map(|(a, b)| (a - b) * (a - b)).sum();
    finite(sum / x.len() as f64)
}

/// Returns the peak signal-to-noise ratio in decibels, `$10\log_{10}(p^2/\mathrm{MSE})$` with
/// `$p$` = `peak`.
///
/// `peak` is the largest value that a pixel can have: 1 for images in `$[0,1]$`, 255 for 8-bit
/// images. The result is `+infinity` if the images are identical, or so close that the squared
/// difference is zero in double precision.
///
/// # Errors
/// The same as for [`mse`], and if `peak` is not positive and finite.
pub fn psnr(x: &[f64], truth: &[f64], peak: f64) -> Result<f64, QualityError> {
    check_peak(peak)?;
    let mse = mse(x, truth)?;
    Ok(20.0 * peak.log10() - 10.0 * mse.log10())
}

/// Returns the structural similarity: the mean of the SSIM map of Wang, Bovik, Sheikh & Simoncelli,
/// *Image quality assessment: from error visibility to structural similarity*, IEEE Trans. Image
/// Process. 13 (2004), eq. (13):
///
/// ```math
/// \mathrm{SSIM} = \frac{(2\mu_x\mu_t + C_1)(2\sigma_{xt} + C_2)}
///     {(\mu_x^2 + \mu_t^2 + C_1)(\sigma_x^2 + \sigma_t^2 + C_2)},
/// \qquad C_1 = (0.01\,p)^2, \quad C_2 = (0.03\,p)^2 .
/// ```
///
/// Means, variances and the covariance are weighted by an 11×11 Gaussian window with standard
/// deviation 1.5 and sum one (population covariance, without the factor `$N/(N-1)$`). **Borders:**
/// the map exists only where the whole window lies inside the image, and the mean is over these
/// `(rows - 10) * (cols - 10)` positions; nothing is padded. There is no downsampling. Images are
/// stored row by row, and `peak` is the same as for [`psnr`]. The result is at most 1, and is 1 for
/// identical images.
///
/// # Errors
/// If the images differ in length, are empty, are not `rows * cols`, are smaller than the window,
/// or have pixels that are not finite or too large to be squared; if `peak` is not positive and
/// finite.
pub fn ssim(
    x: &[f64],
    truth: &[f64],
    rows: usize,
    cols: usize,
    peak: f64,
) -> Result<f64, QualityError> {
    let map = ssim_map(x, truth, rows, cols, peak)?;
    finite(map.iter().sum::<f64>() / map.len() as f64)
}

/// Returns the mean of the SSIM map of [`ssim`] over the pixels that are `inside` and whose whole
/// window lies in the image.
///
/// # Errors
/// The same as for [`ssim`], and if no such pixel is inside.
pub fn ssim_inside(
    x: &[f64],
    truth: &[f64],
    rows: usize,
    cols: usize,
    peak: f64,
    inside: &[bool],
) -> Result<f64, QualityError> {
    let map = ssim_map(x, truth, rows, cols, peak)?;
    if inside.len() != x.len() {
        return Err(QualityError::LengthMismatch {
            x: x.len(),
            truth: inside.len(),
        });
    }
    let (margin, cols_out) = (WINDOW / 2, cols - (WINDOW - 1));
    let (mut sum, mut count) = (0.0, 0.0);
    for (index, value) in map.iter().enumerate() {
        let (row, col) = (index / cols_out + margin, index % cols_out + margin);
        if inside[row * cols + col] {
            sum += value;
            count += 1.0;
        }
    }
    match count > 0.0 {
        true => finite(sum / count),
        false => Err(QualityError::Empty),
    }
}

/// Returns the SSIM at all positions of the window inside an image.
fn ssim_map(
    x: &[f64],
    truth: &[f64],
    rows: usize,
    cols: usize,
    peak: f64,
) -> Result<Vec<f64>, QualityError> {
    check_peak(peak)?;
    check_pixels(x, truth)?;
    if rows.checked_mul(cols) != Some(x.len()) {
        let len = x.len();
        return Err(QualityError::ShapeMismatch { rows, cols, len });
    }
    if rows < WINDOW || cols < WINDOW {
        return Err(QualityError::SmallerThanWindow { rows, cols });
    }
    // SSIM does not change if the images and the peak are scaled together. With peak 1 the
    // constants cannot underflow.
    let x: Vec<f64> = x.iter().map(|v| v / peak).collect();
    let truth: Vec<f64> = truth.iter().map(|v| v / peak).collect();
    // The formula needs only the sum of the two variances: four filters instead of five.
    let squares: Vec<f64> = x.iter().zip(&truth).map(|(a, b)| a * a + b * b).collect();
    let products: Vec<f64> = x.iter().zip(&truth).map(|(a, b)| a * b).collect();
    let [x, truth, squares, products] =
        [x, truth, squares, products].map(|plane| windowed_means(&plane, cols));

    let entries = x.iter().zip(&truth).zip(&squares).zip(&products);
    let value = |(((mu_x, mu_t), square), product): (((&f64, &f64), &f64), &f64)| {
        let mu_squares = mu_x * mu_x + mu_t * mu_t;
        let mu_product = mu_x * mu_t;
        let luminance = (2.0 * mu_product + K1 * K1) / (mu_squares + K1 * K1);
        let structure = (2.0 * (product - mu_product) + K2 * K2) / (square - mu_squares + K2 * K2);
        luminance * structure
    };
    Ok(entries.map(value).collect())
}

/// The Gaussian weights in one dimension, with sum one. The window is their outer product.
fn window() -> [f64; WINDOW] {
    let centre = (WINDOW / 2) as f64;
    let weights: [f64; WINDOW] = std::array::from_fn(|i| {
        let t = (i as f64 - centre) / WINDOW_SIGMA;
        (-0.5 * t * t).exp()
    });
    let sum: f64 = weights.iter().sum();
    weights.map(|w| w / sum)
}

/// Returns the weighted means over all windows inside an image of `cols` columns, by filtering rows
/// and then columns.
fn windowed_means(image: &[f64], cols: usize) -> Vec<f64> {
    let weights = window();
    let cols_out = cols - (WINDOW - 1);
    let along_rows: Vec<f64> = image
        .chunks_exact(cols)
        .flat_map(|row| row.windows(WINDOW))
        .map(|part| part.iter().zip(&weights).map(|(v, w)| v * w).sum())
        .collect();
    let mut means = vec![0.0; along_rows.len() - (WINDOW - 1) * cols_out];
    for (k, w) in weights.iter().enumerate() {
        for (mean, v) in means.iter_mut().zip(&along_rows[k * cols_out..]) {
            *mean += w * v;
        }
    }
    means
}

fn check_peak(peak: f64) -> Result<(), QualityError> {
    if peak > 0.0 && peak.is_finite() {
        Ok(())
    } else {
        Err(QualityError::Peak(peak))
    }
}

fn check_pixels(x: &[f64], truth: &[f64]) -> Result<(), QualityError> {
    if x.len() != truth.len() {
        return Err(QualityError::LengthMismatch {
            x: x.len(),
            truth: truth.len(),
        });
    }
    if x.is_empty() {
        return Err(QualityError::Empty);
    }
    for (image, pixels) in [("x", x), ("truth", truth)] {
        if let Some(index) = pixels.iter().position(|v| !v.is_finite()) {
            return Err(QualityError::NotFinite { image, index });
        }
    }
    Ok(())
}

fn finite(value: f64) -> Result<f64, QualityError> {
    if value.is_finite() {
        Ok(value)
    } else {
        Err(QualityError::Overflow)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    #[test]
    fn window_is_a_symmetric_mean_of_the_stated_width() {
        let weights = window();
        assert_relative_eq!(weights.iter().sum::<f64>(), 1.0, epsilon = 1e-15);
        assert_relative_eq!(weights[0], weights[10]);
        // The standard deviation is 1.5 pixels, so three pixels are two standard deviations.
        assert_relative_eq!(weights[8] / weights[5], (-2.0_f64).exp(), epsilon = 1e-15);
    }

    #[test]
    fn windowed_means_of_a_plane_are_the_plane_inside() {
        // Symmetric weights with sum one do not change linear functions.
        let (rows, cols) = (13, 17);
        let plane = |i: usize, j: usize| 0.3 + 0.02 * i as f64 - 0.05 * j as f64;
        let image: Vec<f64> = (0..rows * cols)
            .map(|k| plane(k / cols, k % cols))
            .collect();
        let means = windowed_means(&image, cols);
        assert_eq!(means.len(), 3 * 7);
        for (k, &mean) in means.iter().enumerate() {
            assert_relative_eq!(mean, plane(k / 7 + 5, k % 7 + 5), epsilon = 1e-14);
        }
    }
}
