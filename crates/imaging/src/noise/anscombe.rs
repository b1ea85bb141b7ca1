//! Noise of cameras that count photons, and the transform that makes it nearly Gaussian.

#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;

use super::NoiseError;

/// The mean count up to which the mean of transformed data is tabulated. Above, a series is
/// accurate to `$10^{-7}$`.
const TABULATED: f64 = 100.0;
/// The distance of neighbouring entries of the table, in roots of counts.
const SPACING: f64 = 0.04;
/// The nodes of the mean over the read noise, on each side of zero, and their reach in standard
/// deviations.
const NODES: i32 = 40;
const REACH: f64 = 7.0;

/// The noise of a camera that counts photons, and the generalised Anscombe transform.
///
/// The data are `$y = b + g\,p + r\,\omega$`: `$p$` has a Poisson distribution with the mean
/// `$(x - b)/g$`, and `$\omega$` is standard Gaussian. The gain `$g$` is the value of one photon,
/// the read noise `$r$` a standard deviation and the black level `$b$` the value without light, all
/// in the unit of the picture. The black level is zero unless [`with_black`](Self::with_black) sets
/// it.
///
/// The transform `$f(y) = 2\sqrt{((y - b)/g + \frac38 + (r/g)^2)_+}/s$` gives data whose noise
/// has nearly the standard deviation [`sigma`](Self::sigma) `$= 1/s$` everywhere; `$s$` makes
/// `$f(b + 1) = 1$`. So any method for Gaussian noise can denoise them. A clean picture `$x$`
/// corresponds to the mean of `$f(y)$` over the noise, not to `$f(x)$`: [`inverse`](Self::inverse)
/// inverts this mean, which is computed by quadrature (the exact unbiased inverse of Mäkitalo and
/// Foi, 2013).
///
/// ```
/// use imaging::noise::Anscombe;
///
/// let camera: Anscombe = "poisson:0.05,0.01".parse()?;
/// let z = camera.expected(&[0.0, 0.2, 0.7]);
/// let x = camera.inverse(&z);
/// assert!(x.iter().zip([0.0, 0.2, 0.7]).all(|(a, b)| (a - b).abs() < 1e-6));
/// # Ok::<(), imaging::noise::NoiseError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Anscombe {
    gain: f64,
    read: f64,
    black: f64,
    /// The read noise in counts.
    read_counts: f64,
    scale: f64,
    /// Means of `$2\sqrt{\cdot}$`; entry `$i$` belongs to the mean count
    /// `$(\sqrt c + i\,h)^2 - c$` with `$c = \frac38 + (r/g)^2$`.
    means: Vec<f64>,
}

impl Anscombe {
    /// Creates the transform for this gain and this read noise.
    ///
    /// # Errors
    /// If the gain is not positive and finite, the read noise is negative or not finite, or the
    /// read noise is more than a million photons.
    pub fn new(gain: f64, read: f64) -> Result<Self, NoiseError> {
        if !(gain > 0.0 && gain.is_finite()) {
            return Err(NoiseError::Gain(gain));
        }
        let read_counts = read / gain;
        if !(read >= 0.0 && read_counts <= 1e6) {
            return Err(NoiseError::Read(read));
        }
        let mut camera = Self {
            gain,
            read,
            black: 0.0,
            read_counts,
            scale: 1.0,
            means: Vec::new(),
        };
        camera.scale = camera.root(1.0);
        let shift = camera.shift();
        let last = (TABULATED + shift).sqrt();
        let mut root = shift.sqrt();
        while root < last + SPACING {
            camera.means.push(camera.quadrature(root * root - shift));
            root += SPACING;
        }
        Ok(camera)
    }

    /// Returns the same camera with this black level.
    ///
    /// # Errors
    /// If the black level is not finite.
    pub fn with_black(mut self, black: f64) -> Result<Self, NoiseError> {
        if !black.is_finite() {
            return Err(NoiseError::Black(black));
        }
        self.black = black;
        Ok(self)
    }

    /// Estimates gain and read noise from at least two frames of the same scene, by fitting the
    /// line `$\operatorname{var} = g\cdot\operatorname{mean} + r^2$` to the variances of pixels
    /// between neighbouring frames. Slow changes of the scene between frames matter little, fast
    /// ones make both numbers larger. The black level must have been subtracted: it cannot be told
    /// from the read noise.
    ///
    /// # Errors
    /// If there are fewer than two frames, their lengths differ, a value is not finite, or the
    /// variance does not grow with the mean (then the noise is Gaussian, or all pixels have the
    /// same mean).
    pub fn estimate(frames: &[&[f64]]) -> Result<Self, NoiseError> {
        Self::estimate_from(&[frames])
    }

    /// Does the same as [`estimate`](Self::estimate) with the frames of several scenes.
    ///
    /// # Errors
    /// As [`estimate`](Self::estimate), for one of the scenes.
    pub fn estimate_from(scenes: &[&[&[f64]]]) -> Result<Self, NoiseError> {
        let mut pixels: Vec<[f64; 2]> = Vec::new();
        for frames in scenes {
            let [first, others @ ..] = frames else {
                return Err(NoiseError::Stack);
            };
            if others.is_empty() || others.iter().any(|frame| frame.len() != first.len()) {
                return Err(NoiseError::Stack);
            }
            for frame in *frames {
                if let Some(index) = frame.iter().position(|value| !value.is_finite()) {
                    return Err(NoiseError::NotFinite(index));
                }
            }
            let count = frames.len() as f64;
            pixels.extend((0..first.len()).map(|j| {
                let mean = frames.iter().map(|frame| frame[j]).sum::<f64>() / count;
                let squares = frames.windows(2).map(|two| (two[0][j] - two[1][j]).powi(2));
                [mean, squares.sum::<f64>() / (2.0 * (count - 1.0))]
            }));
        }
        if pixels.is_empty() {
            return Err(NoiseError::Stack);
        }
        let (gain, offset) = line(&pixels).ok_or(NoiseError::NotPoisson)?;
        if !(gain > 0.0) {
            return Err(NoiseError::NotPoisson);
        }
        Self::new(gain, offset.max(0.0).sqrt())
    }

    /// Returns the value of one photon.
    #[must_use]
    pub const fn gain(&self) -> f64 {
        self.gain
    }

    /// Returns the standard deviation of the read noise.
    #[must_use]
    pub const fn read(&self) -> f64 {
        self.read
    }

    /// Returns the value without light.
    #[must_use]
    pub const fn black(&self) -> f64 {
        self.black
    }

    /// Returns the standard deviation of the noise in transformed data.
    #[must_use]
    pub fn sigma(&self) -> f64 {
        self.scale.recip()
    }

    /// Returns the standard deviation of the noise in data of a clean value.
    #[must_use]
    pub fn noise_at(&self, x: f64) -> f64 {
        (self.gain * (x - self.black).max(0.0))
            .sqrt()
            .hypot(self.read)
    }

    /// Transforms one number of the data.
    #[must_use]
    pub fn transform_value(&self, y: f64) -> f64 {
        self.root(y - self.black) / self.scale
    }

    /// Transforms data.
    #[must_use]
    pub fn transform(&self, data: &[f64]) -> Vec<f64> {
        data.iter().map(|y| self.transform_value(*y)).collect()
    }

    /// Returns the data with this transform. It is not the way back to a clean picture, which is
    /// [`inverse`](Self::inverse).
    #[must_use]
    pub fn untransform(&self, z: &[f64]) -> Vec<f64> {
        let data = |z: &f64| {
            let root = 0.5 * self.scale * z;
            self.black + self.gain * (root * root - self.shift())
        };
        z.iter().map(data).collect()
    }

    /// Returns the mean of transformed data over the noise, for a clean picture. Values below the
    /// black level count as black.
    #[must_use]
    pub fn expected(&self, truth: &[f64]) -> Vec<f64> {
        let mean = |x: &f64| self.mean((x - self.black).max(0.0) / self.gain) / self.scale;
        truth.iter().map(mean).collect()
    }

    /// Returns the clean value whose transformed data have this mean. A value below that of a
    /// black picture becomes black.
    #[must_use]
    pub fn inverse_value(&self, z: f64) -> f64 {
        self.black + self.gain * self.count(z * self.scale)
    }

    /// Returns the clean picture whose transformed data have this mean. Values below that of a
    /// black picture become black.
    #[must_use]
    pub fn inverse(&self, z: &[f64]) -> Vec<f64> {
        z.iter().map(|z| self.inverse_value(*z)).collect()
    }

    fn shift(&self) -> f64 {
        0.375 + self.read_counts * self.read_counts
    }

    fn root(&self, y: f64) -> f64 {
        let shifted = y / self.gain + self.shift();
        // NaN stays NaN
        if shifted < 0.0 {
            0.0
        } else {
            2.0 * shifted.sqrt()
        }
    }

    /// The mean of `$2\sqrt{(p + \rho\omega + c)_+}$` for the mean count `lambda`.
    fn mean(&self, lambda: f64) -> f64 {
        let shift = self.shift();
        let place = ((lambda + shift).sqrt() - shift.sqrt()) / SPACING;
        match between(&self.means, place) {
            Some((index, share)) if lambda <= TABULATED => {
                (1.0 - share) * self.means[index] + share * self.means[index + 1]
            }
            _ => self.series(lambda),
        }
    }

    /// The mean count for which `mean` has this value.
    fn count(&self, mean: f64) -> f64 {
        let shift = self.shift();
        let at = |place: f64| {
            let root = shift.sqrt() + place * SPACING;
            (root * root - shift).max(0.0)
        };
        if mean.is_nan() {
            return mean;
        }
        if mean <= self.means[0] {
            return 0.0;
        }
        let after = self.means.partition_point(|entry| *entry < mean);
        if after < self.means.len() {
            let (low, high) = (self.means[after - 1], self.means[after]);
            return at((after - 1) as f64 + (mean - low) / (high - low));
        }
        // The mean is 2 sqrt(m) - v/(4 m^1.5) + ..., with m about a quarter of its square.
        let mut lambda = (0.25 * mean * mean - shift).max(0.0);
        for _ in 0..8 {
            let slope = (lambda + shift).sqrt();
            lambda = (lambda + (mean - self.series(lambda)) * slope).max(0.0);
        }
        lambda
    }

    /// The mean by sums over counts and over the read noise.
    fn quadrature(&self, lambda: f64) -> f64 {
        let lambda = lambda.max(0.0);
        let (shift, rho) = (self.shift(), self.read_counts);
        let nodes: Vec<(f64, f64)> = if rho == 0.0 {
            vec![(0.0, 1.0)]
        } else {
            let node = |i: i32| REACH * f64::from(i) / f64::from(NODES);
            let all = (-NODES..=NODES).map(node);
            all.map(|g| (rho * g, (-0.5 * g * g).exp())).collect()
        };
        let reach = 9.0 * lambda.sqrt() + 12.0;
        let (first, last) = ((lambda - reach).max(0.0).floor(), (lambda + reach).ceil());
        let (mut sum, mut total) = (0.0, 0.0);
        // probabilities relative to that of the mode, from their ratios
        let mode = lambda.floor();
        for (step, end) in [(1.0, last), (-1.0, first)] {
            let (mut count, mut probability) = (mode, 1.0);
            loop {
                if count < mode || step > 0.0 {
                    for (read, weight) in &nodes {
                        let root = 2.0 * (count + read + shift).max(0.0).sqrt();
                        sum += probability * weight * root;
                        total += probability * weight;
                    }
                }
                if (end - count) * step <= 0.0 {
                    break;
                }
                probability *= if step > 0.0 {
                    lambda / (count + 1.0)
                } else {
                    count / lambda
                };
                count += step;
            }
        }
        sum / total
    }

    /// The mean by its series in the moments of `$p + \rho\omega$`, for large `lambda`.
    fn series(&self, lambda: f64) -> f64 {
        let noise = self.read_counts * self.read_counts;
        let m = lambda + self.shift();
        let second = lambda + noise;
        let fourth = lambda + 3.0 * second * second;
        let fifth = lambda + 10.0 * second * lambda;
        let sixth = 15.0 * second.powi(3);
        let sum = 1.0 - second / (8.0 * m.powi(2)) + lambda / (16.0 * m.powi(3))
            - 5.0 * fourth / (128.0 * m.powi(4))
            + 7.0 * fifth / (256.0 * m.powi(5))
            - 21.0 * sixth / (1024.0 * m.powi(6));
        2.0 * m.sqrt() * sum
    }
}

impl FromStr for Anscombe {
    type Err = NoiseError;

    /// Reads `poisson:GAIN,READ,BLACK`, such as `poisson:0.03,0.01`. The read noise and the black
    /// level may be left out, and are then zero.
    fn from_str(text: &str) -> Result<Self, NoiseError> {
        let numbers = text.strip_prefix("poisson:").ok_or(NoiseError::Text)?;
        let number = |text: &str| text.trim().parse::<f64>().map_err(|_| NoiseError::Text);
        let numbers: Result<Vec<f64>, NoiseError> = numbers.split(',').map(number).collect();
        match numbers?[..] {
            [gain] => Self::new(gain, 0.0),
            [gain, read] => Self::new(gain, read),
            [gain, read, black] => Self::new(gain, read)?.with_black(black),
            _ => Err(NoiseError::Text),
        }
    }
}

impl fmt::Display for Anscombe {
    /// Writes the text that [`from_str`](Self::from_str) reads, with all digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "poisson:{},{}", self.gain, self.read)?;
        match self.black {
            0.0 => Ok(()),
            black => write!(f, ",{black}"),
        }
    }
}

/// The index before a place in a table and the share of the way to the next one.
fn between(table: &[f64], place: f64) -> Option<(usize, f64)> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "`as` saturates, and takes NaN to zero"
    )]
    let index = place.floor() as usize;
    (place >= 0.0 && index + 1 < table.len()).then_some((index, place - index as f64))
}

/// Fits a line through points whose second coordinate is a variance, with an error proportional to
/// itself. Returns its slope and its value at zero; `None` if all first coordinates are the same.
fn line(points: &[[f64; 2]]) -> Option<(f64, f64)> {
    let mean = points.iter().map(|[_, v]| v).sum::<f64>() / points.len() as f64;
    let floor = 0.05 * mean;
    let (mut slope, mut offset) = (0.0, mean);
    for _ in 0..20 {
        let mut sums = [0.0; 5];
        for [x, v] in points {
            let fitted = (offset + slope * x).max(floor);
            let weight = (fitted * fitted).recip();
            let terms = [1.0, *x, x * x, *v, x * v];
            for (sum, term) in sums.iter_mut().zip(terms) {
                *sum += weight * term;
            }
        }
        let [n, x, xx, v, xv] = sums;
        let determinant = n * xx - x * x;
        if !(determinant > 1e-12 * n * xx) {
            return None;
        }
        slope = (n * xv - x * v) / determinant;
        offset = (xx * v - x * xv) / determinant;
        if offset < 0.0 {
            // no read noise: the line goes through zero
            offset = 0.0;
            slope = xv / xx;
        }
    }
    (slope.is_finite() && offset.is_finite()).then_some((slope, offset))
}
