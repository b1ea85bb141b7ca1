//! Synthetic images: random box functions, the Shepp-Logan phantom, complex heads, and dead leaves.
//!
//! ```
//! use imaging::{Seed, phantom};
//!
//! let images: Vec<_> =
//!     (0..4).map(|i| phantom::dead_leaves(32, 48, Seed::new(1), i)).collect::<Result<_, _>>()?;
//! assert!(images.iter().flatten().all(|v| (0.0..=1.0).contains(v)));
//! assert_ne!(images[0], images[1]);
//! # Ok::<(), imaging::phantom::PhantomError>(())
//! ```
//!
//! Images are stored row by row. All random images are computed with the four basic operations and
//! the square root only, so they are the same on every platform, bit for bit.

mod head;
mod volume;

pub use head::{head, smooth_phase};
pub use volume::dead_leaves_volume;

use crate::colour;
use crate::seed::{Purpose, Seed};
use rand::{Rng, RngExt};
use std::ops::Range;

/// The error of an image that cannot be created.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PhantomError {
    /// There are fewer than two pixels, but the grid includes two end points.
    #[error("num_pixels must be at least 2, got {0}")]
    TooFewPixels(usize),
    /// The image has no pixels, or their number overflows.
    #[error("rows * cols must be positive and fit into a usize, got {rows} * {cols}")]
    Shape {
        /// The given number of rows.
        rows: usize,
        /// The given number of columns.
        cols: usize,
    },
}

/// Returns a random one-dimensional image that is 1 on an interval and 0 elsewhere (section 2.2 of
/// the paper).
///
/// Let `$g$` be the equispaced grid of `num_pixels` points on `$[-2,2]$`, end points included. Then
/// `$x_j = 1$` where `$|g_j - c| < r$`. The centre `$c$` is uniform in `$(-1,1)$`, and the radius
/// `$r$` is uniform in `$(0.5,1)$`. `index` is the number of the image in its set.
///
/// # Errors
/// If `num_pixels` is less than 2.
pub fn box_function(num_pixels: usize, seed: Seed, index: usize) -> Result<Vec<f64>, PhantomError> {
    if num_pixels < 2 {
        return Err(PhantomError::TooFewPixels(num_pixels));
    }
    let mut rng = seed.stream(Purpose::BoxFunction, index);
    let centre = -1.0 + 2.0 * rng.random::<f64>();
    let radius = 0.5 + 0.5 * rng.random::<f64>();
    let spacing = 4.0 / (num_pixels - 1) as f64;
    let grid = (0..num_pixels).map(|j| -2.0 + spacing * j as f64);
    let indicator = |g: f64| f64::from((g - centre).abs() < radius);
    Ok(grid.map(indicator).collect())
}

/// An ellipse of the Shepp-Logan phantom in the square `$[-1,1]^2$`, `$y$` upwards.
struct Ellipse {
    /// The grey level added inside, in tenths. Integers cancel exactly.
    tenths: i32,
    /// The half axes before rotation, along `x` and `y`.
    axes: (f64, f64),
    centre: (f64, f64),
    /// The counter-clockwise rotation.
    degrees: f64,
}

const fn ellipse(tenths: i32, axes: (f64, f64), centre: (f64, f64), degrees: f64) -> Ellipse {
    Ellipse {
        tenths,
        axes,
        centre,
        degrees,
    }
}

/// The table in the documentation of [`shepp_logan`].
const SHEPP_LOGAN: [Ellipse; 10] = [
    ellipse(10, (0.69, 0.92), (0.0, 0.0), 0.0),
    ellipse(-8, (0.6624, 0.874), (0.0, -0.0184), 0.0),
    ellipse(-2, (0.11, 0.31), (0.22, 0.0), -18.0),
    ellipse(-2, (0.16, 0.41), (-0.22, 0.0), 18.0),
    ellipse(1, (0.21, 0.25), (0.0, 0.35), 0.0),
    ellipse(1, (0.046, 0.046), (0.0, 0.1), 0.0),
    ellipse(1, (0.046, 0.046), (0.0, -0.1), 0.0),
    ellipse(1, (0.046, 0.023), (-0.08, -0.605), 0.0),
    ellipse(1, (0.023, 0.023), (0.0, -0.606), 0.0),
    ellipse(1, (0.023, 0.046), (0.06, -0.605), 0.0),
];

/// Returns the Shepp-Logan head phantom with Toft's contrast and values in `$[0,1]$`.
///
/// The square `$[-1,1]^2$` is stretched over the image, and each pixel has the value at its centre.
/// The first row is the top of the head. The image is the sum of ten ellipses, boundaries included:
///
/// | level | half axes | centre | rotation |
/// |---|---|---|---|
/// | 1 | 0.69, 0.92 | 0, 0 | 0° |
/// | −0.8 | 0.6624, 0.874 | 0, −0.0184 | 0° |
/// | −0.2 | 0.11, 0.31 | 0.22, 0 | −18° |
/// | −0.2 | 0.16, 0.41 | −0.22, 0 | 18° |
/// | 0.1 | 0.21, 0.25 | 0, 0.35 | 0° |
/// | 0.1 | 0.046, 0.046 | 0, 0.1 | 0° |
/// | 0.1 | 0.046, 0.046 | 0, −0.1 | 0° |
/// | 0.1 | 0.046, 0.023 | −0.08, −0.605 | 0° |
/// | 0.1 | 0.023, 0.023 | 0, −0.606 | 0° |
/// | 0.1 | 0.023, 0.046 | 0.06, −0.605 | 0° |
///
/// Ellipses: L. A. Shepp and B. F. Logan, *The Fourier reconstruction of a head section*, IEEE
/// Trans. Nucl. Sci. 21 (1974). Levels: P. Toft, *The Radon transform: theory and implementation*,
/// PhD thesis, Technical University of Denmark (1996), who raised the contrast so that the small
/// ellipses can be seen.
///
/// # Errors
/// If there are no pixels, or their number overflows.
pub fn shepp_logan(rows: usize, cols: usize) -> Result<Vec<f64>, PhantomError> {
    let mut tenths = vec![0; num_pixels(rows, cols)?];
    for part in &SHEPP_LOGAN {
        let (sin, cos) = part.degrees.to_radians().sin_cos();
        for (i, row) in tenths.chunks_exact_mut(cols).enumerate() {
            let y = -pixel_centre(i, rows) - part.centre.1;
            for (j, level) in row.iter_mut().enumerate() {
                let x = pixel_centre(j, cols) - part.centre.0;
                let u = (x * cos + y * sin) / part.axes.0;
                let v = (y * cos - x * sin) / part.axes.1;
                if u * u + v * v <= 1.0 {
                    *level += part.tenths;
                }
            }
        }
    }
    let level = |tenths| f64::from(tenths) / 10.0;
    Ok(tenths.into_iter().map(level).collect())
}

/// The centre of pixel `j` if `[-1, 1]` is divided into `len` pixels.
fn pixel_centre(j: usize, len: usize) -> f64 {
    (2 * j + 1) as f64 / len as f64 - 1.0
}

/// The smallest radius of a leaf, in pixels.
const MIN_RADIUS: f64 = 2.0;

/// Returns a random image of overlapping discs with values in `$[0,1]$`, as a substitute for
/// photographs.
///
/// This is the dead leaves model, whose statistics resemble those of photographs (Lee, Mumford and
/// Huang, *Occlusion models for natural images*, Int. J. Comput. Vis. 41, 2001). Leaves are discs
/// with
/// - a radius of density `$\propto r^{-3}$` between 2 pixels and half the shorter side (at least 4
///   pixels), so that no scale is preferred;
/// - a uniform grey level in the middle, and a linear shading that stays in `$[0,1]$` across the
///   whole leaf;
/// - a uniform centre, also outside the image, as far as the largest leaf can reach.
///
/// The leaves are placed from front to back. Each fills only pixels that are not covered yet, until
/// all pixels are covered; this is an exact sample of infinitely many leaves. Edges are not
/// smoothed. `index` is the number of the image in its set.
///
/// The table compares 25 images of 256×256 pixels with seed 0 and the central parts of the 25 Kodak
/// photographs, in grey:
///
/// | | leaves | photographs |
/// |---|---|---|
/// | kurtosis of horizontal differences (Gaussian: 3) | 16.0 | 21.0 |
/// | … smallest and largest of a single image | 13.0, 30.0 | 7.8, 42.2 |
/// | exponent of the power spectrum, 4 to 64 cycles per image | −2.29 | −2.22 |
/// | standard deviation of an image, mean | 0.30 | 0.17 |
///
/// The spectrum is two-dimensional, with a Hann window, averaged over images and directions (an
/// exponent of −2 means scale invariance). So the statistics of leaves have the right shape, but
/// their contrast is higher than that of photographs.
///
/// # Errors
/// If there are no pixels, or their number overflows.
pub fn dead_leaves(
    rows: usize,
    cols: usize,
    seed: Seed,
    index: usize,
) -> Result<Vec<f64>, PhantomError> {
    let mut image = vec![0.0; num_pixels(rows, cols)?];
    cover(rows, cols, seed, index, |k, _, level| image[k] = level);
    Ok(image)
}

/// Returns the picture of [`dead_leaves`] in colour: the red, green and blue part of each pixel,
/// one pixel after the other.
///
/// The mean of the three parts of a pixel is the grey level `$g$` of [`dead_leaves`] for the same
/// arguments, up to rounding. The parts are `$g + g(1 - g)t_c$`, where the tint `$t$` of a leaf is
/// uniform in the disc of radius 1 in the plane `$t_r + t_g + t_b = 0$`. So all values stay in
/// `$[0,1]$`, and black and white have no colour.
///
/// # Errors
/// If there are no pixels, or their number overflows.
pub fn dead_leaves_in_colour(
    rows: usize,
    cols: usize,
    seed: Seed,
    index: usize,
) -> Result<Vec<f64>, PhantomError> {
    let num_pixels = num_pixels(rows, cols)?;
    let len = num_pixels.checked_mul(3);
    let mut image = vec![0.0; len.ok_or(PhantomError::Shape { rows, cols })?];
    // Tints are drawn from a stream of their own, so that the leaves are those of grey pictures.
    let mut rng = seed.stream(Purpose::Tints, index);
    let (mut last_leaf, mut tint) = (usize::MAX, [0.0; 3]);
    cover(rows, cols, seed, index, |k, leaf, level| {
        if leaf != last_leaf {
            last_leaf = leaf;
            let (a, b) = in_unit_disc(&mut rng);
            tint = colour::from_opponent([0.0, a, b]);
        }
        let (pixels, _) = image.as_chunks_mut::<3>();
        pixels[k] = tint.map(|tint| (level + level * (1.0 - level) * tint).clamp(0.0, 1.0));
    });
    Ok(image)
}

/// Calls `paint` for every pixel, with its index, the number of its leaf and the grey level there.
/// Leaves come in increasing order.
fn cover(
    rows: usize,
    cols: usize,
    seed: Seed,
    index: usize,
    mut paint: impl FnMut(usize, usize, f64),
) {
    let mut covered = vec![false; rows * cols];
    let mut num_uncovered = covered.len();
    let mut num_leaves = 0;
    let mut rng = seed.stream(Purpose::DeadLeaves, index);
    let max_radius = (rows.min(cols) as f64 / 2.0).max(2.0 * MIN_RADIUS);
    while num_uncovered > 0 {
        let leaf = Leaf::draw(&mut rng, rows, cols, max_radius);
        for i in pixels_within(leaf.centre.0, leaf.radius, rows) {
            let dy = i as f64 - leaf.centre.0;
            let half_width = (leaf.radius * leaf.radius - dy * dy).max(0.0).sqrt();
            for j in pixels_within(leaf.centre.1, half_width, cols) {
                let k = i * cols + j;
                if !covered[k] {
                    covered[k] = true;
                    num_uncovered -= 1;
                    let dx = j as f64 - leaf.centre.1;
                    let level = leaf.grey + leaf.slope.0 * dy + leaf.slope.1 * dx;
                    paint(k, num_leaves, level.clamp(0.0, 1.0));
                }
            }
        }
        num_leaves += 1;
    }
}

/// A shaded disc. Positions are in pixels, with the vertical coordinate first.
struct Leaf {
    centre: (f64, f64),
    radius: f64,
    grey: f64,
    slope: (f64, f64),
}

impl Leaf {
    /// Draws a leaf. Centres are uniform over all positions from which the largest leaf can reach
    /// the image, so that leaves of every size are equally dense in all parts of the image.
    fn draw(rng: &mut impl Rng, rows: usize, cols: usize, max_radius: f64) -> Self {
        // For the density r^-3, 1/r^2 is uniform.
        let inverse_square = |r: f64| 1.0 / (r * r);
        let (from, to) = (inverse_square(max_radius), inverse_square(MIN_RADIUS));
        let radius = 1.0 / (from + (to - from) * rng.random::<f64>()).sqrt();
        let mut place = |len: usize| {
            let extent = (len - 1) as f64 + 2.0 * max_radius;
            extent * rng.random::<f64>() - max_radius
        };
        let centre = (place(rows), place(cols));
        let grey: f64 = rng.random();
        // At the rim the level has changed by at most its distance to 0 or 1.
        let steepness = grey.min(1.0 - grey) / radius;
        let (a, b) = in_unit_disc(rng);
        Self {
            centre,
            radius,
            grey,
            slope: (steepness * a, steepness * b),
        }
    }
}

/// Draws a uniform point of the unit disc, without trigonometric functions.
fn in_unit_disc(rng: &mut impl Rng) -> (f64, f64) {
    loop {
        let a = 2.0 * rng.random::<f64>() - 1.0;
        let b = 2.0 * rng.random::<f64>() - 1.0;
        if a * a + b * b <= 1.0 {
            return (a, b);
        }
    }
}

/// The pixels in `0..len` that are no farther than `distance` from `centre`.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "both ends are clamped to 0..=len before they become integers"
)]
fn pixels_within(centre: f64, distance: f64, len: usize) -> Range<usize> {
    let start = (centre - distance).ceil().clamp(0.0, len as f64);
    let end = ((centre + distance).floor() + 1.0).clamp(start, len as f64);
    start as usize..end as usize
}

fn num_pixels(rows: usize, cols: usize) -> Result<usize, PhantomError> {
    match rows.checked_mul(cols) {
        Some(count) if count > 0 => Ok(count),
        _ => Err(PhantomError::Shape { rows, cols }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    #[test]
    fn pixels_within_is_clipped_to_the_image() {
        assert_eq!(pixels_within(4.0, 1.5, 10), 3..6);
        assert_eq!(pixels_within(4.0, 2.0, 10), 2..7, "ends belong to it");
        assert_eq!(pixels_within(0.5, 3.0, 10), 0..4);
        assert_eq!(pixels_within(9.5, 3.0, 10), 7..10);
        assert!(pixels_within(4.5, 0.4, 10).is_empty());
        assert!(pixels_within(-9.0, 3.0, 10).is_empty());
        assert!(pixels_within(90.0, 3.0, 10).is_empty());
    }

    #[test]
    fn leaves_follow_their_laws() {
        let (rows, cols, max_radius) = (30, 50, 25.0);
        let num_leaves = 40_000;
        let mut rng = Seed::new(3).stream(Purpose::DeadLeaves, 0);
        let leaves: Vec<Leaf> = (0..num_leaves)
            .map(|_| Leaf::draw(&mut rng, rows, cols, max_radius))
            .collect();
        let share = |test: &dyn Fn(&Leaf) -> bool| {
            leaves.iter().filter(|leaf| test(leaf)).count() as f64 / f64::from(num_leaves)
        };
        // A share has a standard deviation of at most 0.0025: we allow five.
        for t in [2.5, 4.0, 8.0, 16.0] {
            let tail = |r: f64| r.powi(-2) - max_radius.powi(-2);
            let law = tail(t) / tail(MIN_RADIUS);
            assert_relative_eq!(share(&|leaf| leaf.radius > t), law, epsilon = 0.0125);
        }
        for t in [0.1, 0.5, 0.8] {
            assert_relative_eq!(share(&|leaf| leaf.grey < t), t, epsilon = 0.0125);
            let y = -25.0 + t * 79.0;
            assert_relative_eq!(share(&|leaf| leaf.centre.0 < y), t, epsilon = 0.0125);
            let x = -25.0 + t * 99.0;
            assert_relative_eq!(share(&|leaf| leaf.centre.1 < x), t, epsilon = 0.0125);
        }
        for leaf in &leaves {
            assert!((MIN_RADIUS..=max_radius).contains(&leaf.radius));
            let rise = leaf.radius * leaf.slope.0.hypot(leaf.slope.1);
            assert!(leaf.grey - rise > -1e-15 && leaf.grey + rise < 1.0 + 1e-15);
        }
    }

    #[test]
    fn shepp_logan_has_the_levels_of_the_table() {
        let (rows, cols) = (200, 200);
        let image = shepp_logan(rows, cols).unwrap();
        // x and y in [-1, 1], y upwards.
        let at = |x: f64, y: f64| {
            let close = |t: f64| pixels_within((t + 1.0) * 100.0 - 0.5, 0.5, 200).start;
            image[close(-y) * cols + close(x)]
        };
        let cases = [
            ("outside", (-0.9, 0.9), 0.0),
            ("skull", (0.0, 0.9), 1.0),
            ("brain", (0.0, -0.4), 0.2),
            ("right ventricle, tilted outwards", (0.29, 0.22), 0.0),
            ("left ventricle, tilted outwards", (-0.32, 0.32), 0.0),
            ("next to the right ventricle", (0.29, -0.22), 0.2),
            ("next to the left ventricle", (-0.32, -0.32), 0.2),
            ("large ellipse", (0.0, 0.45), 0.3),
            ("two ellipses", (0.0, 0.12), 0.4),
            ("lower disc", (0.0, -0.1), 0.3),
            ("small ellipses below", (-0.08, -0.605), 0.3),
            ("small ellipses below", (0.06, -0.605), 0.3),
        ];
        for (name, (x, y), level) in cases {
            let value = at(x, y);
            assert!((value - level).abs() < 1e-15, "{name}: {value}");
        }
    }
}
