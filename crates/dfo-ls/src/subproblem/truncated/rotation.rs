//! The choice of the angle of a rotation.

use std::f64::consts::TAU;

/// The coefficients of the quadratic on the circle through the step `$d$` and a tangent `$s$` of
/// the same length.
pub(super) struct CircleQuadratic {
    /// The coefficient `$q^\top d$`.
    pub(super) along: f64,
    /// The coefficient `$-q^\top s$`.
    pub(super) descent: f64,
    /// The coefficient `$s^\top H s$`.
    pub(super) tangent: f64,
    /// The coefficient `$d^\top H s$`.
    pub(super) mixed: f64,
    /// The coefficient `$d^\top H d$`.
    pub(super) step: f64,
}

/// A rotation and its decrease of the quadratic.
pub(super) struct Rotation {
    pub(super) sine: f64,
    pub(super) cosine: f64,
    pub(super) gain: f64,
}

/// The number of angles at which the whole circle is sampled, as in the authors' experiments.
const AROUND: u32 = 50;

impl CircleQuadratic {
    /// The decrease from `$d$` to `$d\cos\theta + s\sin\theta$`.
    fn gain(&self, sine: f64, cosine: f64) -> f64 {
        let back = 1.0 - cosine;
        let bend =
            sine * sine * self.tangent - 2.0 * back * sine * self.mixed + back * back * self.step;
        back * self.along + sine * self.descent - 0.5 * bend
    }

    fn rotation(&self, sine: f64, cosine: f64) -> Rotation {
        Rotation {
            sine,
            cosine,
            gain: self.gain(sine, cosine),
        }
    }

    /// Chooses the best of equally spaced tangents of half the angle up to `reach`, improves it by
    /// a parabola through its neighbours, and returns whether it is the last one. `None` if no
    /// rotation gains anything.
    pub(super) fn best_within(&self, reach: f64) -> Option<(Rotation, bool)> {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 3 and 20"
        )]
        let count = (17.0 * reach + 3.1) as u32;
        let at = |k: f64| {
            let t = reach * k / f64::from(count);
            let scale = 1.0 + t * t;
            self.rotation(2.0 * t / scale, (1.0 - t * t) / scale)
        };
        let gains: Vec<f64> = (0..=count).map(|k| at(f64::from(k)).gain).collect();
        let best = largest(&gains);
        if best == 0 {
            return None;
        }
        let is_last = best + 1 == gains.len();
        let shift = if is_last {
            0.0
        } else {
            vertex(gains[best - 1], gains[best], gains[best + 1])
        };
        let found = at(position(best) + shift);
        (found.gain > 0.0).then_some((found, is_last))
    }

    /// Chooses the best of equally spaced angles on the whole circle and improves it by a parabola
    /// through its neighbours. The result may be worse than no rotation if the best angle is zero.
    /// `None` if all values are the same.
    pub(super) fn best_around(&self) -> Option<Rotation> {
        let at = |k: f64| {
            let (sine, cosine) = (TAU * k / f64::from(AROUND)).sin_cos();
            self.rotation(sine, cosine)
        };
        let mut gains: Vec<f64> = (0..AROUND).map(|k| at(f64::from(k)).gain).collect();
        gains[0] = 0.0;
        let (best, n) = (largest(&gains), gains.len());
        let shift = vertex(
            gains[(best + n - 1) % n],
            gains[best],
            gains[(best + 1) % n],
        );
        shift.is_finite().then(|| at(position(best) + shift))
    }
}

/// The index of the largest value, the first one if there are several.
fn largest(gains: &[f64]) -> usize {
    let mut best = 0;
    for (k, gain) in gains.iter().enumerate() {
        if *gain > gains[best] {
            best = k;
        }
    }
    best
}

/// The vertex of the parabola through values at -1, 0 and 1.
fn vertex(before: f64, here: f64, after: f64) -> f64 {
    0.5 * (after - before) / (2.0 * here - before - after)
}

const fn position(k: usize) -> f64 {
    k as f64
}
