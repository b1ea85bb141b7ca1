//! The third derivative of the smoothed total variation: how much its Hessian changes in a ball.
//!
//! Let `$h(d) = \sigma = \sqrt{|d|^2 + \nu^2}$` for a difference `$d$`, a number (real lines) or a
//! vector (complex lines, pictures, volumes). Its derivatives are `$\nabla h = d/\sigma$`,
//! `$W = \nabla^2 h = I/\sigma - dd^T/\sigma^3$` and
//!
//! ```math
//! \nabla^3h(d)[u, u, u] = -\frac{3s(\sigma^2 - s^2)}{\sigma^5}, \qquad s = \langle u, d\rangle, \quad |u| = 1.
//! ```
//!
//! **Its norm.** A symmetric trilinear form attains its norm on the diagonal `$u = v = w$`
//! (Banach), so with `$m = |d|$` the norm `$K(m)$` is the largest modulus for the possible `$s$`.
//! For a number `$d$`, `$s = \pm m$`. For a vector, `$|s| \le m$`, and `$s(\sigma^2 - s^2)$`
//! increases until `$s = \sigma/\sqrt3$`, which is at most `$m$` if `$m^2 \ge \nu^2/2$`:
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
//! **The ball.** Let `$\|e\| \le \varepsilon$`, and let `$t = De$` be the changes of the
//! differences. Then `$|t_j| \le r = \rho\varepsilon$` and `$\|t\|^2 \le A\varepsilon^2$` with
//! `$A = \|D\|^2$`. For all differences on the segment from `$d_j$` to `$d_j + t_j$`, the third
//! derivative is at most `$K_j$`, the maximum above, and `$0 \preceq W \preceq w_j I$`, where
//! `$w_j$` is `$1/\sigma$` (for numbers, `$\nu^2/\sigma^3$`) at `$|d| = (|d_j| - r)_+$`. So `$W$`
//! changes by at most `$\min(K_j|t_j|, w_j)$`, and its mean on the segment differs from `$W(d_j)$`
//! by at most `$\min(\frac12K_j|t_j|, w_j)$`.
//!
//! **Thresholds.** Let `$v = Dq$` and `$a_j = K_j|v_j|$`. We split the differences at a threshold
//! `$\tau$`. Where `$a_j \le \tau$`, the change of `$W$` times `$v_j$` is at most `$\tau|t_j|$`;
//! the sum of its squares is at most `$\tau^2A\varepsilon^2$`. Elsewhere it is at most
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
//! Every threshold gives a bound, so we try the edges of the bins of a histogram of `$a_j^2$`. One
//! difference with a large `$a_j$` does not spoil the bounds, and they are sensible for every
//! `$\varepsilon$`, also above `$\nu$`.
//!
//! **Small balls.** For numbers, `$K(m) = 3mw(m)/\sigma^2 \le \frac{3}{2\nu}w(m)$`, so
//! `$K_jr \le w_j$` for all differences if `$r \le \frac23\nu$`. Then `$b_j = ra_j$` and
//! `$b_j' = \frac12ra_j$`, and a threshold below the largest `$a_j$` gives at least
//! `$\frac12\sqrt A\,\varepsilon r\max_ja_j$` for the second bound. The threshold
//! `$\max_ja_j$` gives `$\frac12A\varepsilon^2\max_ja_j$`, which is larger by at most the factor
//! `$\sqrt A/\rho = \sqrt2$`, and so it is for the first bound. So real lines do without a
//! histogram in such balls, and take the smaller one of the bounds for this threshold and for zero.
//!
//! **Relative change.** `$|\nabla^3h(d)[u, u, v]| \le \frac{3}{2\nu}|v|\,\nabla^2h(d)[u, u]$`, so
//! `$W$` changes by at most a factor `$\exp(\pm\frac{3}{2\nu}|t_j|)$`. The tests check this
//! constant; no bound here needs it.
//!
//! **Rounding.** In units of `$\nu$`, all terms are non-negative and have relative errors below
//! `$64u$`. The interval of `$|d_j|$` is widened by `$8u|d_j|$`, and by more than underflow loses
//! from squares. The thresholds and the sums gain more than underflow loses. The last factor
//! exceeds the relative errors of all sums.

use lowlevel::{ThirdOrder, UNIT_ROUNDOFF};

use super::circulant::count;
use super::histogram::{FLOOR, Histogram, LOST_SQUARES};

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
    /// The differences of real or complex volumes. In the same way, the three differences at a
    /// sample have a matrix `$GG^T$` with the largest eigenvalue 4.
    pub(super) const VOLUME: Self = Self {
        norm_squared: 12.0,
        reach: 2.0,
        is_scalar: false,
    };
}

/// Exceeds every loss by underflow of squares, and is negligible compared with any sensible
/// `$\nu$`.
const LOST: f64 = 1e-150;
/// Replaces larger `$|d|/\nu$`, for which `$K$` and `$w$` are smaller, so that no power of it
/// overflows.
const FAR: f64 = 1e10;
/// A bound on `$r/\nu$` for which the third derivative times `$r$` is at most the second
/// derivative, for numbers.
const SMALL_REACH: f64 = 2.0 / 3.0 - 1e-9;
/// The number of sums that are added up side by side, so that the compiler can use vectors.
const LANES: usize = 8;
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

    /// Bounds the change of the Hessian in the ball, given the moduli `$|d_j|$` and the squares
    /// `$|(Dq)_j|^2$`.
    #[inline(always)]
    pub(super) fn third_order(self, moduli: &[f64], squares: &[f64]) -> ThirdOrder {
        let unit = self.in_units();
        if self.geometry.is_scalar && unit.reach <= SMALL_REACH {
            return self.third_order_in_small_ball(unit, moduli, squares);
        }
        let mut sums = ThirdOrderSums::new(self, largest(squares));
        sums.add(moduli, squares);
        sums.finish()
    }
}

impl TvBall {
    /// Bounds the change of the Hessian of a real line in a small ball.
    #[inline(always)]
    fn third_order_in_small_ball(
        self,
        unit: UnitBall,
        moduli: &[f64],
        squares: &[f64],
    ) -> ThirdOrder {
        let term = |modulus: f64, square: f64| unit.third_derivative_squared(modulus) * square;
        let (mut largest, mut sums) = ([0.0; LANES], [0.0; LANES]);
        let (modulus_blocks, moduli) = moduli.as_chunks::<LANES>();
        let (square_blocks, squares) = squares.as_chunks::<LANES>();
        for (moduli, squares) in modulus_blocks.iter().zip(square_blocks) {
            for lane in 0..LANES {
                let term = term(moduli[lane], squares[lane]);
                largest[lane] = if term > largest[lane] {
                    term
                } else {
                    largest[lane]
                };
                sums[lane] += term;
            }
        }
        let rest = moduli.iter().zip(squares);
        for (lane, (modulus, square)) in rest.enumerate() {
            let term = term(*modulus, *square);
            largest[lane] = if term > largest[lane] {
                term
            } else {
                largest[lane]
            };
            sums[lane] += term;
        }
        let num_differences = count(modulus_blocks.len() * LANES + moduli.len());
        let sum: f64 = sums.iter().sum();
        let Self {
            alpha,
            nu,
            geometry,
            error,
        } = self;
        if !(sum < f64::INFINITY && unit.inverse_nu < f64::INFINITY && self.is_valid()) {
            return ThirdOrder::UNKNOWN;
        }
        if alpha == 0.0 {
            return ThirdOrder::ZERO;
        }
        let threshold = largest.iter().fold(0.0, |a: f64, b| a.max(*b)).sqrt() + FLOOR;
        let lost = num_differences * LOST_SQUARES;
        let all = geometry.norm_squared.sqrt() * (unit.reach * unit.reach * sum + lost).sqrt();
        let vector = (geometry.norm_squared * (error / nu) * threshold).min(all);
        let scale = alpha / nu * (1.0 + (num_differences + 512.0) * UNIT_ROUNDOFF);
        ThirdOrder {
            vector: number_or_infinity(scale * vector),
            value: number_or_infinity(0.5 * scale * vector * error),
        }
    }
}

/// Returns the largest of some numbers that are not negative. NaN does not count.
#[inline(always)]
pub(super) fn largest(numbers: &[f64]) -> f64 {
    let larger = |a: f64, b: f64| if a > b { a } else { b };
    let (blocks, rest) = numbers.as_chunks::<8>();
    let mut lanes = [0.0; 8];
    for block in blocks {
        for (lane, number) in lanes.iter_mut().zip(block) {
            *lane = larger(*number, *lane);
        }
    }
    lanes.iter().chain(rest).fold(0.0, |a, b| larger(*b, a))
}

impl UnitBall {
    /// Returns the interval of `$|d|/\nu$` in the ball for a given `$|d_j|$`.
    #[inline(always)]
    pub(super) fn interval(self, modulus: f64) -> [f64; 2] {
        let modulus = modulus * self.inverse_nu;
        let low = modulus - SLACK * modulus - self.reach;
        let low = if low > 0.0 { low } else { 0.0 };
        let low = if low < FAR { low } else { FAR };
        [low, modulus + SLACK * modulus + self.reach]
    }
}

impl UnitBall {
    /// Returns `$\nu^4K_j^2$` of a real line for a given `$|d_j|$`; NaN if that is not finite.
    #[inline(always)]
    fn third_derivative_squared(self, modulus: f64) -> f64 {
        let point = steepest(self.interval(modulus));
        let [numerator, denominator] = third_derivative_squared::<true>(point);
        numerator / denominator + 0.0 * modulus
    }
}

/// Returns the point of an interval where `$K$` is largest.
#[inline(always)]
fn steepest([low, high]: [f64; 2]) -> f64 {
    let point = if high < 0.5 { high } else { 0.5 };
    if low > 0.5 { low } else { point }
}

/// Returns the square of `$\nu^2K(m\nu)$`, the norm of the third derivative, as a numerator and a
/// denominator.
#[inline(always)]
fn third_derivative_squared<const SCALAR: bool>(m: f64) -> [f64; 2] {
    let square = m * m;
    let sum = 1.0 + square;
    let fourth = (sum * sum) * (sum * sum);
    // Both branches are computed, so that the compiler can use vectors.
    let (near, far) = ([9.0 * square, fourth * sum], [4.0 / 3.0, sum * sum]);
    let is_near = SCALAR || square <= 0.5;
    if is_near { near } else { far }
}

/// Returns `$1/(\nu w)$`, where `$\nu w$` is the largest eigenvalue of `$\nu W$` for
/// `$|d| \ge m\nu$`.
#[inline(always)]
pub(super) fn inverse_second_derivative<const SCALAR: bool>(m: f64) -> f64 {
    let square = 1.0 + m * m;
    let root = square.sqrt();
    if SCALAR { square * root } else { root }
}

/// Returns the square of [`inverse_second_derivative`].
#[inline(always)]
fn inverse_second_derivative_squared<const SCALAR: bool>(m: f64) -> f64 {
    let sum = 1.0 + m * m;
    if SCALAR { sum * sum * sum } else { sum }
}

/// A ball as seen by `$w\sqrt{|d|^2 + \nu^2}$`, for a difference `$d$` that changes by at most
/// `reach`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RootBall {
    unit: UnitBall,
    weight: f64,
}

impl RootBall {
    #[inline(always)]
    pub(crate) fn new(weight: f64, nu: f64, reach: f64) -> Self {
        let inverse_nu = 1.0 / nu;
        Self {
            unit: UnitBall {
                inverse_nu,
                reach: (reach * (1.0 + SLACK) + LOST) * inverse_nu * (1.0 + SLACK),
            },
            weight,
        }
    }

    /// Returns the largest norm of the third derivative and the largest eigenvalue of the Hessian
    /// in the ball, for a given `$|d|$` at its centre. NaN gives NaN.
    #[inline(always)]
    pub(crate) fn derivatives<const SCALAR: bool>(self, modulus: f64) -> [f64; 2] {
        let interval = self.unit.interval(modulus);
        let [numerator, denominator] = third_derivative_squared::<SCALAR>(steepest(interval));
        let scale = self.weight * self.unit.inverse_nu;
        let third = (numerator / denominator).sqrt() * self.unit.inverse_nu;
        let second = 1.0 / inverse_second_derivative::<SCALAR>(interval[0]);
        [scale * third + 0.0 * modulus, scale * second]
    }
}

/// The number of differences that are processed together.
const BLOCK: usize = 64;
/// A bound on `$\nu^4K^2$`: the square of `$48/(25\sqrt5)$`, rounded up.
const STEEPEST: f64 = 0.7373;

/// The histogram of the numbers `$a_j^2$` in units of `$\nu$`. It works with squares, which need no
/// roots.
#[derive(Clone, Debug)]
pub(super) struct ThirdOrderSums {
    ball: TvBall,
    unit: UnitBall,
    histogram: Histogram,
}

impl ThirdOrderSums {
    /// Creates empty sums. No `$|v_j|^2$` may exceed `largest_square`.
    #[inline(always)]
    pub(super) fn new(ball: TvBall, largest_square: f64) -> Self {
        Self {
            ball,
            unit: ball.in_units(),
            histogram: Histogram::new(STEEPEST * largest_square),
        }
    }

    /// Includes differences with the moduli `$|d_j|$` and the squares `$|v_j|^2$`.
    #[inline(always)]
    pub(super) fn add(&mut self, moduli: &[f64], squares: &[f64]) {
        let blocks = moduli.chunks(BLOCK).zip(squares.chunks(BLOCK));
        for (moduli, squares) in blocks {
            if self.ball.geometry.is_scalar {
                self.add_block::<true>(moduli, squares);
            } else {
                self.add_block::<false>(moduli, squares);
            }
        }
    }

    #[inline(always)]
    fn add_block<const SCALAR: bool>(&mut self, moduli: &[f64], squares: &[f64]) {
        let len = moduli.len();
        let mut quadratics = [0.0; BLOCK];
        let mut terms = [[0.0; 2]; BLOCK];
        let unit = self.unit;
        let reach_squared = unit.reach * unit.reach;
        let inputs = moduli.iter().zip(squares);
        let outputs = quadratics.iter_mut().zip(&mut terms);
        for ((quadratic, terms), (&modulus, &square)) in outputs.zip(inputs) {
            let interval = unit.interval(modulus);
            let [numerator, denominator] = third_derivative_squared::<SCALAR>(steepest(interval));
            let inverse = inverse_second_derivative_squared::<SCALAR>(interval[0]);
            // One division gives both numbers. They are NaN if a modulus is not finite.
            let scaled = square / (denominator * inverse) + 0.0 * modulus;
            *quadratic = numerator * inverse * scaled;
            let linear = denominator * scaled;
            let moved = *quadratic * reach_squared;
            // NaN stays NaN.
            *terms = [moved, 0.25 * moved].map(|moved| if linear < moved { linear } else { moved });
        }
        self.histogram.add(&quadratics[..len], &terms[..len]);
    }

    /// Returns the bounds.
    pub(super) fn finish(&self) -> ThirdOrder {
        let TvBall {
            alpha,
            nu,
            geometry,
            error,
        } = self.ball;
        let Some([vector, value]) = self.histogram.bounds(geometry.norm_squared, error / nu) else {
            return ThirdOrder::UNKNOWN;
        };
        if !(self.unit.inverse_nu < f64::INFINITY) || !self.ball.is_valid() {
            return ThirdOrder::UNKNOWN;
        }
        if alpha == 0.0 {
            return ThirdOrder::ZERO;
        }
        let scale = alpha / nu;
        ThirdOrder {
            vector: number_or_infinity(scale * vector),
            value: number_or_infinity(scale * value * error),
        }
    }
}

/// Replaces NaN by infinity, a bound that is always true.
pub(super) fn number_or_infinity(bound: f64) -> f64 {
    if bound.is_nan() { f64::INFINITY } else { bound }
}

#[cfg(test)]
mod tests;
