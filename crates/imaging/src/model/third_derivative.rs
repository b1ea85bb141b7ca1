//! The third derivative of the smoothed total variation: how much its Hessian changes in a ball.
//!
//! Let `$h(d) = \sigma = \sqrt{|d|^2 + \nu^2}$` for a difference `$d$`, a number (real lines) or a
//! vector (complex lines, pictures). Its derivatives are `$\nabla h = d/\sigma$`,
//! `$W = \nabla^2 h = I/\sigma - dd^T/\sigma^3$` and
//!
//! ```math
//! \nabla^3h(d)[u, u, u] = -\frac{3s(\sigma^2 - s^2)}{\sigma^5}, \qquad s = \langle u, d\rangle, \quad |u| = 1.
//! ```
//!
//! **Its norm.** A symmetric trilinear form attains its norm on the diagonal `$u = v = w$` (Banach),
//! so with `$m = |d|$` the norm `$K(m)$` is the largest modulus for the possible `$s$`. For a number
//! `$d$`, `$s = \pm m$`. For a vector, `$|s| \le m$`, and `$s(\sigma^2 - s^2)$` increases until
//! `$s = \sigma/\sqrt3$`, which is at most `$m$` if `$m^2 \ge \nu^2/2$`:
//!
//! ```math
//! K(m) = \frac{3m\nu^2}{\sigma^5} \quad\text{for numbers, and for vectors if } m^2 \le \tfrac12\nu^2, \qquad
//! K(m) = \frac{2}{\sqrt3\,\sigma^2} \quad\text{for vectors if } m^2 \ge \tfrac12\nu^2.
//! ```
//!
//! In both cases `$K$` increases until `$m = \nu/2$` and then decreases, and its maximum is
//! `$48/(25\sqrt5\,\nu^2)$`. So its maximum over `$[m - r, m + r]$` is its value at the point of
//! this interval that is closest to `$\nu/2$`.
//!
//! **The ball.** Let `$\|e\| \le \varepsilon$`, and let `$t = De$` be the changes of the differences.
//! Then `$|t_j| \le r = \rho\varepsilon$` and `$\|t\|^2 \le A\varepsilon^2$` with `$A = \|D\|^2$`.
//! For all differences on the segment from `$d_j$` to `$d_j + t_j$`, the third derivative is at most
//! `$K_j$`, the maximum above, and `$0 \preceq W \preceq w_j I$`, where `$w_j$` is `$1/\sigma$` (for
//! numbers, `$\nu^2/\sigma^3$`) at `$|d| = (|d_j| - r)_+$`. So `$W$` changes by at most
//! `$\min(K_j|t_j|, w_j)$`, and its mean on the segment differs from `$W(d_j)$` by at most
//! `$\min(\frac12K_j|t_j|, w_j)$`.
//!
//! **Thresholds.** Let `$v = Dq$` and `$a_j = K_j|v_j|$`. We split the differences at a threshold
//! `$\tau$`. Where `$a_j \le \tau$`, the change of `$W$` times `$v_j$` is at most `$\tau|t_j|$`; the
//! sum of its squares is at most `$\tau^2A\varepsilon^2$`. Elsewhere it is at most
//! `$b_j = \min(K_jr, w_j)|v_j|$`. Since `$H(x + e) - H(x) = \alpha D^T(W(d + t) - W(d))D$`,
//!
//! ```math
//! \|(H(x + e) - H(x))\,q\| \le \alpha\sqrt A\,\Bigl(A\varepsilon^2\tau^2 + \sum_{a_j > \tau} b_j^2\Bigr)^{1/2},
//! ```
//!
//! and in the same way, with `$b_j' = \min(\frac12K_jr, w_j)|v_j|$` and Cauchy's inequality,
//!
//! ```math
//! |\langle q, (\bar H - H(x))\,e\rangle| \le \alpha\Bigl(\tfrac12A\varepsilon^2\tau + \sqrt A\,\varepsilon\,\Bigl(\sum_{a_j > \tau} b_j'^2\Bigr)^{1/2}\Bigr).
//! ```
//!
//! Every threshold gives a bound, so we try the edges of the bins of a histogram of `$a_j$`. One
//! difference with a large `$a_j$` does not spoil the bounds, and they are sensible for every
//! `$\varepsilon$`, also above `$\nu$`.
//!
//! **Relative change.** `$|\nabla^3h(d)[u, u, v]| \le \frac{3}{2\nu}|v|\,\nabla^2h(d)[u, u]$`, so
//! `$W$` changes by at most a factor `$\exp(\pm\frac{3}{2\nu}|t_j|)$`. The tests check this
//! constant; no bound here needs it.
//!
//! **Rounding.** In units of `$\nu$`, all terms are non-negative and have relative errors below
//! `$32u$`. The interval of `$|d_j|$` is widened by `$8u|d_j|$`, and by more than underflow loses
//! from squares. The last factor exceeds the errors of all sums.

use lowlevel::{ThirdOrder, UNIT_ROUNDOFF};

use super::circulant::count;

/// A ball of radius `error` in the space of images, as far as the smoothed total variation is
/// concerned.
#[derive(Clone, Copy, Debug)]
pub(super) struct TvBall {
    pub(super) alpha: f64,
    pub(super) nu: f64,
    pub(super) geometry: Geometry,
    /// The radius `$\varepsilon$`.
    pub(super) error: f64,
}

/// The constants of the differences `$D$` of a grid.
#[derive(Clone, Copy, Debug)]
pub(super) struct Geometry {
    /// A bound `$A$` on `$\|D\|^2$`.
    pub(super) norm_squared: f64,
    /// A bound `$\rho$` on the change of a difference when the image changes by 1.
    pub(super) reach: f64,
    /// Whether every difference is one real number.
    pub(super) is_scalar: bool,
}

impl Geometry {
    /// The differences of real lines. Each has two entries, so `$\rho = \sqrt2$`.
    pub(super) const LINE: Self = Self {
        norm_squared: 4.0,
        reach: std::f64::consts::SQRT_2,
        is_scalar: true,
    };
    /// The differences of complex lines.
    pub(super) const COMPLEX_LINE: Self = Self {
        is_scalar: false,
        ..Self::LINE
    };
    /// The differences of real or complex pictures. The two differences at a pixel are `$Ge$` for
    /// three neighbouring entries of `$e$`, and `$GG^T$` has the diagonal 2 and otherwise `$\pm1$`,
    /// so that its largest eigenvalue is 3.
    pub(super) const PICTURE: Self = Self {
        norm_squared: 8.0,
        reach: 1.732_050_807_568_877_4,
        is_scalar: false,
    };
}

/// Exceeds every loss by underflow of squares, and is negligible compared with any sensible
/// `$\nu$`.
const LOST: f64 = 1e-150;
/// Exceeds every loss by overflow and underflow of powers of `$|d|/\nu$`.
const FLOOR: f64 = 1e-200;
/// Exceeds the relative rounding error of a modulus.
const SLACK: f64 = 8.0 * UNIT_ROUNDOFF;

/// A ball in units of `$\nu$`.
#[derive(Clone, Copy, Debug)]
pub(super) struct UnitBall {
    inverse_nu: f64,
    /// The reach `$r/\nu$`.
    reach: f64,
}

impl TvBall {
    /// The ball in units of `$\nu$`.
    pub(super) fn in_units(self) -> UnitBall {
        let inverse_nu = 1.0 / self.nu;
        UnitBall {
            inverse_nu,
            reach: (self.geometry.reach * self.error * (1.0 + SLACK) + LOST)
                * inverse_nu
                * (1.0 + SLACK),
        }
    }

    /// Whether the radius is a number that is not negative.
    pub(super) fn is_valid(self) -> bool {
        self.error >= 0.0
    }

    /// Bounds the change of the Hessian in the ball, given the moduli `$|d_j|$` and `$|(Dq)_j|$`.
    #[inline(always)]
    pub(super) fn third_order(self, moduli: &[f64], changes: &[f64]) -> ThirdOrder {
        let mut extent = Extent::new(self);
        extent.add(moduli, changes);
        let mut sums = ThirdOrderSums::new(self, extent);
        sums.add(moduli, changes);
        sums.finish()
    }
}

impl UnitBall {
    /// Returns the interval of `$|d|/\nu$` in the ball for a given `$|d_j|$`.
    #[inline(always)]
    pub(super) fn interval(self, modulus: f64) -> [f64; 2] {
        let modulus = modulus * self.inverse_nu;
        let low = modulus - SLACK * modulus - self.reach;
        let low = if low > 0.0 { low } else { 0.0 };
        [low, modulus + SLACK * modulus + self.reach]
    }
}

/// Returns the point of an interval where `$K$` is largest.
#[inline(always)]
fn steepest([low, high]: [f64; 2]) -> f64 {
    let point = if high < 0.5 { high } else { 0.5 };
    if low > 0.5 { low } else { point }
}

/// Returns `$\nu^2K(m\nu)$`, the norm of the third derivative.
#[inline(always)]
fn third_derivative<const SCALAR: bool>(m: f64) -> f64 {
    /// The number `$2/\sqrt3$`.
    const FAR: f64 = 1.154_700_538_379_251_7;
    let square = 1.0 + m * m;
    let inverse = 1.0 / square;
    let near = 3.0 * m * inverse * inverse / square.sqrt();
    let is_near = SCALAR || m * m <= 0.5;
    (if is_near { near } else { FAR * inverse }) + FLOOR
}

/// Returns `$\nu w$`, the largest eigenvalue of `$\nu W$` where `$|d| \ge m\nu$`.
#[inline(always)]
pub(super) fn second_derivative<const SCALAR: bool>(m: f64) -> f64 {
    let square = 1.0 + m * m;
    let root = square.sqrt();
    let inverse = 1.0 / if SCALAR { square * root } else { root };
    inverse + FLOOR
}

/// The extent of the numbers `$a_j$` of all differences, computed without roots and divisions. It
/// places the bins of [`ThirdOrderSums`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    ball: UnitBall,
    is_scalar: bool,
    /// The points where `$K$` is largest, if they are at most `$\nu/2$`: their maximum.
    below: f64,
    /// The same for points that are at least `$\nu/2$`: their minimum.
    above: f64,
    /// The largest `$|v_j|$`.
    largest: f64,
}

impl Extent {
    pub(super) fn new(ball: TvBall) -> Self {
        Self {
            ball: ball.in_units(),
            is_scalar: ball.geometry.is_scalar,
            below: 0.0,
            above: f64::INFINITY,
            largest: 0.0,
        }
    }

    /// Includes differences with the moduli `$|d_j|$` and `$|v_j|$`.
    #[inline(always)]
    pub(super) fn add(&mut self, moduli: &[f64], changes: &[f64]) {
        let Self {
            ball,
            mut below,
            mut above,
            mut largest,
            ..
        } = *self;
        for (&modulus, &change) in moduli.iter().zip(changes) {
            let point = steepest(ball.interval(modulus));
            let low = if point <= 0.5 { point } else { 0.0 };
            let high = if point >= 0.5 { point } else { f64::INFINITY };
            below = if low > below { low } else { below };
            above = if high < above { high } else { above };
            largest = if change > largest { change } else { largest };
        }
        *self = Self {
            below,
            above,
            largest,
            ..*self
        };
    }

    /// Returns an upper bound on all `$\nu^2a_j$`.
    fn top(self) -> f64 {
        let norm = |m| {
            if self.is_scalar {
                third_derivative::<true>(m)
            } else {
                third_derivative::<false>(m)
            }
        };
        norm(self.below).max(norm(self.above)) * self.largest * (1.0 + 64.0 * UNIT_ROUNDOFF)
    }
}

/// The number of bins.
const NUM_BINS: usize = 128;
/// The number of low bits of an `f64` that do not matter for the bin of a number: four bins share
/// an exponent.
const LOW_BITS: u32 = 50;
/// The number of histograms that take turns, so that an addition need not wait for the previous
/// one.
const NUM_TURNS: usize = 2;
/// The number of differences that are processed together.
const BLOCK: usize = 64;

/// The histogram of the numbers `$a_j$`. It sums up `$b_j^2$` and `$b_j'^2$` in each bin.
#[derive(Clone, Debug)]
pub(super) struct ThirdOrderSums {
    ball: TvBall,
    unit: UnitBall,
    /// The bits of an upper bound on `$a_j$` without the low ones.
    top: u64,
    bins: [[[f64; 2]; NUM_BINS]; NUM_TURNS],
    num_differences: usize,
}

impl ThirdOrderSums {
    /// Creates empty sums. `extent` must include all differences.
    pub(super) fn new(ball: TvBall, extent: Extent) -> Self {
        Self {
            ball,
            unit: ball.in_units(),
            top: extent.top().to_bits() >> LOW_BITS,
            bins: [[[0.0; 2]; NUM_BINS]; NUM_TURNS],
            num_differences: 0,
        }
    }

    /// Includes differences with the moduli `$|d_j|$` and `$|v_j|$`.
    #[inline(always)]
    pub(super) fn add(&mut self, moduli: &[f64], changes: &[f64]) {
        let blocks = moduli.chunks(BLOCK).zip(changes.chunks(BLOCK));
        for (moduli, changes) in blocks {
            if self.ball.geometry.is_scalar {
                self.add_block::<true>(moduli, changes);
            } else {
                self.add_block::<false>(moduli, changes);
            }
        }
    }

    #[inline(always)]
    fn add_block<const SCALAR: bool>(&mut self, moduli: &[f64], changes: &[f64]) {
        let len = moduli.len();
        let [mut quadratic, mut linear] = [[0.0; BLOCK]; 2];
        let unit = self.unit;
        let inputs = moduli.iter().zip(changes);
        let outputs = quadratic.iter_mut().zip(&mut linear);
        for ((quadratic, linear), (&modulus, &change)) in outputs.zip(inputs) {
            let interval = unit.interval(modulus);
            // A modulus that is not finite makes the product NaN, which comparisons would hide.
            let norm = third_derivative::<SCALAR>(steepest(interval)) + 0.0 * modulus;
            *quadratic = norm * change;
            *linear = second_derivative::<SCALAR>(interval[0]) * change;
        }
        let terms = quadratic[..len].iter().zip(&linear[..len]);
        for (i, (&quadratic, &linear)) in terms.enumerate() {
            let moved = quadratic * unit.reach;
            // NaN stays NaN.
            let [whole, half] =
                [moved, 0.5 * moved].map(|moved| if linear < moved { linear } else { moved });
            let sums = &mut self.bins[i % NUM_TURNS][self.bin(quadratic)];
            sums[0] += whole * whole;
            sums[1] += half * half;
        }
        self.num_differences += len;
    }

    /// The bin of a number `$a_j$`. Larger numbers come first, and the last bin has no lower edge.
    #[inline(always)]
    fn bin(&self, a: f64) -> usize {
        let below = self.top.saturating_sub(a.to_bits() >> LOW_BITS);
        usize::try_from(below).map_or(NUM_BINS - 1, |bin| bin.min(NUM_BINS - 1))
    }

    /// The upper edge of a bin, which exceeds all numbers in it.
    fn edge(&self, bin: usize) -> f64 {
        let bits = self.top.saturating_sub(bin as u64) + 1;
        number_or_infinity(f64::from_bits(bits << LOW_BITS)).max(f64::MIN_POSITIVE)
    }

    /// Returns the bounds.
    pub(super) fn finish(&self) -> ThirdOrder {
        let TvBall {
            alpha,
            nu,
            geometry,
            error,
        } = self.ball;
        let relative = error / nu;
        let root = geometry.norm_squared.sqrt();
        // More than underflow loses from the squares.
        let mut above = [count(self.num_differences) * f64::MIN_POSITIVE; 2];
        let [mut vector, mut value] = [f64::INFINITY; 2];
        for bin in 0..NUM_BINS {
            let moved = relative * self.edge(bin);
            let quadratic = geometry.norm_squared * moved;
            vector = vector.min(quadratic * moved + above[0]);
            value = value.min(0.5 * quadratic + root * above[1].sqrt());
            for bins in &self.bins {
                above[0] += bins[bin][0];
                above[1] += bins[bin][1];
            }
        }
        let is_finite = above[0] < f64::INFINITY && self.unit.inverse_nu < f64::INFINITY;
        if !is_finite || !self.ball.is_valid() {
            return ThirdOrder::UNKNOWN;
        }
        if alpha == 0.0 {
            return ThirdOrder::ZERO;
        }
        let vector = vector.min(above[0]).sqrt() * root;
        let value = value.min(root * above[1].sqrt()) * error;
        let scale = alpha / nu * (1.0 + (count(self.num_differences) + 512.0) * UNIT_ROUNDOFF);
        ThirdOrder {
            vector: number_or_infinity(scale * vector),
            value: number_or_infinity(scale * value),
        }
    }
}

/// Replaces NaN by infinity, a bound that is always true.
pub(super) fn number_or_infinity(bound: f64) -> f64 {
    if bound.is_nan() { f64::INFINITY } else { bound }
}

#[cfg(test)]
mod tests;
