//! The loss: residuals from reconstructions, and their accuracy from the errors of reconstructions.

use dfo_ls::{Accuracy, BlockVector};
use lowlevel::ErrorBound;

use crate::checkpoint::fits;

/// The loss, which measures the distance of reconstructions from the truth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Loss {
    /// Whether the loss is a mean or a sum over images.
    pub scale: Scale,
    /// The residuals that the solver sees. The value of the loss does not depend on this choice.
    pub residuals: Residuals,
}

/// Whether the loss is a mean or a sum over images.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Scale {
    /// The mean `$\frac1n \sum_i \|\hat x_i - x_i\|^2$`, as in the text of the paper.
    #[default]
    Mean,
    /// The sum `$\sum_i \|\hat x_i - x_i\|^2$`, as in the figures of the paper.
    Sum,
}

/// The residuals that the solver sees of the loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Residuals {
    /// One residual `$\|\hat x_i - x_i\|$` per image, as in the paper.
    Image,
    /// One residual per pixel, the entries of `$\hat x_i - x_i$`. They are smoother functions of
    /// the parameters than distances and carry more information, so fewer evaluations are needed.
    ///
    /// Residuals of about `$5d$` points are stored. They are rounded to single precision if they
    /// would need more than 512 MiB of memory otherwise; their accuracy includes the rounding.
    #[default]
    Pixel,
}

/// The memory in bytes up to which residuals per pixel are stored in double precision: 512 MiB.
const MEMORY: usize = 512 << 20;

/// The residuals of one image, in the form in which they are stored.
#[derive(Clone, Debug)]
pub(crate) enum ImageResiduals {
    /// One residual for the image.
    Distance(f64),
    /// One residual per pixel.
    Pixels(BlockVector),
}

impl ImageResiduals {
    /// Returns the norm.
    pub(crate) fn distance(&self) -> f64 {
        match self {
            Self::Distance(distance) => *distance,
            Self::Pixels(_) => self.square().sqrt(),
        }
    }

    /// Returns the sum of squares.
    pub(crate) fn square(&self) -> f64 {
        match self {
            Self::Distance(distance) => distance * distance,
            Self::Pixels(BlockVector::Full(entries)) => entries.iter().map(|r| r * r).sum(),
            Self::Pixels(BlockVector::Compact(entries)) => {
                entries.iter().map(|r| f64::from(*r).powi(2)).sum()
            }
        }
    }
}

/// The layout of the residual vector: the residuals of the images one after the other, then the
/// terms of penalties.
///
/// A [`LearningProblem`](crate::LearningProblem) has a layout of its own. Use this type to compute
/// residuals from reconstructions that another program computes.
#[derive(Clone, Debug)]
pub struct ResidualLayout {
    /// The factor of all residuals: `$1/\sqrt n$` for a mean, 1 for a sum.
    factor: f64,
    per_pixel: bool,
    /// Whether residuals per pixel are stored in single precision.
    compact: bool,
    /// The number of entries of each image.
    lengths: Vec<usize>,
    num_entries: usize,
}

impl ResidualLayout {
    /// Creates the layout for images with these numbers of entries.
    #[must_use]
    pub fn new(loss: Loss, lengths: Vec<usize>, num_params: usize) -> Self {
        let num_entries = lengths.iter().sum();
        let factor = match loss.scale {
            Scale::Mean => (lengths.len() as f64).sqrt().recip(),
            Scale::Sum => 1.0,
        };
        Self {
            factor,
            per_pixel: loss.residuals == Residuals::Pixel,
            compact: !fits(num_entries, 8, 5 * num_params + 8, MEMORY),
            lengths,
            num_entries,
        }
    }

    /// Returns the weight of the squared distance of each image from its truth.
    pub(crate) const fn weight(&self) -> f64 {
        self.factor * self.factor
    }

    /// Returns the number of images.
    #[must_use]
    pub fn num_images(&self) -> usize {
        self.lengths.len()
    }

    /// Returns the number of residuals, without the terms of penalties.
    #[must_use]
    pub fn len(&self) -> usize {
        if self.per_pixel {
            self.num_entries
        } else {
            self.lengths.len()
        }
    }

    /// Returns whether there are no residuals.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the error bound for the reconstruction of one image. If every image meets its bound,
    /// the accuracy of the residual vector is `target`. The squares of the bounds are proportional
    /// to the sizes of the images.
    ///
    /// # Panics
    /// When there is no image with this index.
    #[must_use]
    pub fn share(&self, target: Accuracy, image: usize) -> ErrorBound {
        let size = (self.lengths[image] as f64 / self.num_entries as f64).sqrt();
        // a little less, because `write` adds rounding errors
        let share = target.value() / self.factor * size * (1.0 - 1e-9);
        ErrorBound::new(share).unwrap_or(ErrorBound::UNKNOWN)
    }

    /// Returns the number of residuals of one image.
    ///
    /// # Panics
    /// When there is no image with this index.
    #[must_use]
    pub fn len_of(&self, image: usize) -> usize {
        if self.per_pixel {
            self.lengths[image]
        } else {
            1
        }
    }

    /// Writes the residuals of one image and returns their accuracy.
    ///
    /// With one residual per image, the residual of the reconstruction `$\tilde x_i$` and that of
    /// the exact one `$\hat x_i$` differ by
    /// `$\bigl|\|\tilde x_i - x_i\| - \|\hat x_i - x_i\|\bigr| \le \|\tilde x_i - \hat x_i\|$`.
    /// With one per pixel, the two vectors of residuals differ by `$\|\tilde x_i - \hat x_i\|$`.
    /// The accuracy includes rounding errors.
    ///
    /// # Panics
    /// When `residuals` is empty and there is one residual per image.
    pub fn write(
        &self,
        x: &[f64],
        truth: &[f64],
        error: ErrorBound,
        residuals: &mut [f64],
    ) -> Accuracy {
        let mut square = 0.0;
        for (x, truth) in x.iter().zip(truth) {
            square += (x - truth) * (x - truth);
        }
        let distance = square.sqrt();
        if self.per_pixel {
            for ((r, x), truth) in residuals.iter_mut().zip(x).zip(truth) {
                *r = self.factor * (x - truth);
            }
        } else {
            residuals[0] = self.factor * distance;
        }
        let operations = if self.per_pixel { 0.0 } else { x.len() as f64 } + 8.0;
        let rounding = operations * f64::EPSILON * distance;
        // a bound is never negative or NaN; `ANY` would be true even then
        Accuracy::new(self.factor * (error.value() + rounding)).unwrap_or(Accuracy::ANY)
    }

    /// Computes the residuals of one image in the form in which they are stored, and their
    /// accuracy.
    pub(crate) fn stored(
        &self,
        x: &[f64],
        truth: &[f64],
        error: ErrorBound,
    ) -> (ImageResiduals, Accuracy) {
        if !self.per_pixel {
            let mut distance = [0.0];
            let accuracy = self.write(x, truth, error, &mut distance);
            return (ImageResiduals::Distance(distance[0]), accuracy);
        }
        if !self.compact {
            let mut residuals = vec![0.0; x.len()];
            let accuracy = self.write(x, truth, error, &mut residuals);
            return (
                ImageResiduals::Pixels(BlockVector::Full(residuals)),
                accuracy,
            );
        }
        let (mut square, mut rounding) = (0.0, 0.0);
        let round = |(x, truth): (&f64, &f64)| {
            let residual = self.factor * (x - truth);
            #[expect(clippy::cast_possible_truncation, reason = "the rounding is measured")]
            let rounded = residual as f32;
            let change = residual - f64::from(rounded);
            square += residual * residual;
            rounding += change * change;
            rounded
        };
        let residuals = x.iter().zip(truth).map(round).collect();
        let own = 8.0 * f64::EPSILON * square.sqrt();
        // sums of squares of fewer than 2^30 terms are accurate to a millionth
        let rounding = rounding.sqrt() * (1.0 + 1e-6);
        let accuracy = Accuracy::new(self.factor * error.value() + own + rounding);
        let accuracy = accuracy.unwrap_or(Accuracy::ANY);
        (
            ImageResiduals::Pixels(BlockVector::Compact(residuals)),
            accuracy,
        )
    }

    /// Returns the residuals of one image in the form in which they are stored, and their accuracy.
    /// `residuals` have a sum of squares that is the criterion of the image, and are off by at most
    /// `error` in the Euclidean norm.
    pub(crate) fn stored_residuals(
        &self,
        residuals: &[f64],
        error: f64,
    ) -> (ImageResiduals, Accuracy) {
        let error = ErrorBound::new(error).unwrap_or(ErrorBound::UNKNOWN);
        self.stored(residuals, &vec![0.0; residuals.len()], error)
    }

    /// Returns whether there is one residual per pixel.
    #[must_use]
    pub const fn is_per_pixel(&self) -> bool {
        self.per_pixel
    }

    /// Computes `$\sum_i \|\tilde x_i - x_i\|^2$` from the sum of squares of all residuals of
    /// images.
    #[must_use]
    pub fn squared_distance(&self, square: f64) -> f64 {
        square / (self.factor * self.factor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(scale: Scale, residuals: Residuals) -> ResidualLayout {
        ResidualLayout::new(Loss { scale, residuals }, vec![4, 12, 9], 3)
    }

    /// The error bounds of all images together use up the accuracy of the residuals.
    #[test]
    fn shares_use_up_the_target() {
        for scale in [Scale::Mean, Scale::Sum] {
            let layout = layout(scale, Residuals::Image);
            let target = Accuracy::new(0.3).expect("positive");
            let shares: Vec<f64> = (0..3).map(|i| layout.share(target, i).value()).collect();
            let squares: f64 = shares.iter().map(|e| (layout.factor * e).powi(2)).sum();
            assert!((squares.sqrt() / 0.3 - 1.0).abs() < 1e-8);
            assert!((shares[2] / shares[0] - 1.5).abs() < 1e-8, "{shares:?}");

            let x = [vec![1.0; 4], vec![2.0; 12], vec![3.0; 9]];
            let truth = [0.5; 12];
            let images = (x.iter().zip(0..)).map(|(x, i)| {
                let error = layout.share(target, i);
                layout.write(x, &truth[..x.len()], error, &mut [0.0])
            });
            assert!(Accuracy::of_parts(images) <= target);
        }
        let any = layout(Scale::Mean, Residuals::Pixel).share(Accuracy::ANY, 0);
        assert_eq!(any, ErrorBound::UNKNOWN);
    }

    /// The residuals of exact reconstructions are not exact, because of rounding.
    #[test]
    fn rounding_counts() {
        for residuals in [Residuals::Image, Residuals::Pixel] {
            let layout = ResidualLayout::new(
                Loss {
                    scale: Scale::Mean,
                    residuals,
                },
                vec![2, 1],
                1,
            );
            let exact = ErrorBound::new(0.0).expect("not negative");
            let images = [
                layout.write(&[0.1, 0.7], &[0.3, 0.2], exact, &mut [0.0; 2]),
                layout.write(&[0.1], &[0.1], exact, &mut [0.0]),
            ];
            let achieved = Accuracy::of_parts(images);
            assert!(achieved > Accuracy::EXACT && achieved.value() < 1e-14);
        }
    }

    /// Residuals are rounded when there is no room for all digits, and their accuracy says so.
    #[test]
    fn residuals_are_rounded_when_there_is_no_room() {
        // 23 points with 8 bytes per pixel
        let lengths = |len| vec![len, 5];
        let large = ResidualLayout::new(Loss::default(), lengths(MEMORY / 184 - 4), 3);
        let small = ResidualLayout::new(Loss::default(), lengths(MEMORY / 184 - 5), 3);
        let (x, truth) = ([0.1, 0.7, 1e-30, -3.0, 1e9], [0.3, 0.2, 0.0, 1e-9, 1.0]);
        let exact = ErrorBound::new(0.0).expect("not negative");
        let (rounded, rough) = large.stored(&x, &truth, exact);
        let (full, accuracy) = small.stored(&x, &truth, exact);
        let (ImageResiduals::Pixels(rounded), ImageResiduals::Pixels(full)) = (rounded, full)
        else {
            panic!("residuals per pixel");
        };
        assert!(matches!(rounded, BlockVector::Compact(_)) && matches!(full, BlockVector::Full(_)));
        let (rounded, full) = (rounded.to_vec(), full.to_vec());
        let changes = rounded.iter().zip(&full).map(|(a, b)| (a - b).powi(2));
        let change = changes.sum::<f64>().sqrt();
        assert!(change > 1.0, "rounding changes a billion");
        assert!(rough.value() >= change + accuracy.value() / 2.0);
        assert!(rough.value() <= 1.01 * (change + accuracy.value()));
    }
}
