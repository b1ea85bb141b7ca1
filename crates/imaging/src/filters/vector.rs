//! Vectors of numbers in single or double precision, for the kernels of filter banks.
//!
//! Every number is computed by the same operations whatever the length of a vector, and no product
//! is fused with a sum, so that results do not depend on the machine.

use std::ops::{Add, AddAssign, Deref, DerefMut, Div, Mul, Sub};

use pulp::{Simd, bytemuck};

use super::TwoRoots;
use crate::model::InverseRoot;

/// Memory that starts with a line of the cache, so that no vector in it is in two lines.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Aligned<T>(pub(super) T);

impl<T> Deref for Aligned<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for Aligned<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

/// Numbers in single or double precision.
pub(super) trait Real:
    Copy
    + Default
    + bytemuck::Pod
    + Add<Output = Self>
    + AddAssign
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
{
    /// A vector of numbers.
    type Vector<S: Simd>: Copy;

    fn from_f64(number: f64) -> Self;
    fn to_f64(self) -> f64;
    fn splat<S: Simd>(simd: S, number: Self) -> Self::Vector<S>;
    fn plus<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
    fn minus<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
    fn times<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
    /// The vectors of a slice.
    fn vectors<S: Simd>(numbers: &[Self]) -> &[Self::Vector<S>];
    /// The vectors of a slice, to be changed.
    fn vectors_mut<S: Simd>(numbers: &mut [Self]) -> &mut [Self::Vector<S>];

    /// The function [`slope`](Self::slope) of a potential, ready for many responses.
    type Slope: Copy;

    /// Prepares the slope of a potential that is multiplied by `weight`.
    fn slope(weight: f64, potential: TwoRoots) -> Self::Slope;

    /// Returns `$\alpha/\sqrt{t^2 + \nu^2}$` and `$\beta/\sqrt{t^2 + \omega^2}$`, given `$t^2$`.
    fn terms_at(slope: &Self::Slope, square: Self) -> [Self; 2];

    /// Returns `$\varphi'(t)/t$`, the difference of these terms.
    #[inline(always)]
    fn slope_at(slope: &Self::Slope, square: Self) -> Self {
        let [first, second] = Self::terms_at(slope, square);
        first - second
    }
}

/// Implements the operations of [`Real`] on vectors by those of [`Simd`].
macro_rules! vector_operations {
    (
        $vectors:ident, $slice:ident, $slice_mut:ident,
        $splat:ident, $add:ident, $sub:ident, $mul:ident
    ) => {
        type Vector<S: Simd> = S::$vectors;

        #[inline(always)]
        fn splat<S: Simd>(simd: S, number: Self) -> S::$vectors {
            simd.$splat(number)
        }

        #[inline(always)]
        fn plus<S: Simd>(simd: S, a: S::$vectors, b: S::$vectors) -> S::$vectors {
            simd.$add(a, b)
        }

        #[inline(always)]
        fn minus<S: Simd>(simd: S, a: S::$vectors, b: S::$vectors) -> S::$vectors {
            simd.$sub(a, b)
        }

        #[inline(always)]
        fn times<S: Simd>(simd: S, a: S::$vectors, b: S::$vectors) -> S::$vectors {
            simd.$mul(a, b)
        }

        #[inline(always)]
        fn vectors<S: Simd>(numbers: &[Self]) -> &[S::$vectors] {
            S::$slice(numbers).0
        }

        #[inline(always)]
        fn vectors_mut<S: Simd>(numbers: &mut [Self]) -> &mut [S::$vectors] {
            S::$slice_mut(numbers).0
        }
    };
}

impl Real for f64 {
    vector_operations!(
        f64s,
        as_simd_f64s,
        as_mut_simd_f64s,
        splat_f64s,
        add_f64s,
        sub_f64s,
        mul_f64s
    );

    #[inline(always)]
    fn from_f64(number: f64) -> Self {
        number
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }

    type Slope = DoubleSlope;

    fn slope(weight: f64, potential: TwoRoots) -> DoubleSlope {
        let TwoRoots {
            alpha,
            nu,
            beta,
            omega,
        } = potential;
        DoubleSlope {
            alpha: weight * alpha,
            second: InverseRoot::new(weight * beta),
            squares: [nu * nu, omega * omega],
        }
    }

    #[inline(always)]
    fn terms_at(slope: &DoubleSlope, square: Self) -> [Self; 2] {
        let first = slope.alpha / (square + slope.squares[0]).sqrt();
        [first, slope.second.at(square + slope.squares[1])]
    }
}

/// The slope of a potential in double precision. The first root is a square root and a division,
/// and the second one needs neither, so that both parts of the processor are busy.
#[derive(Clone, Copy, Debug)]
pub(super) struct DoubleSlope {
    alpha: f64,
    second: InverseRoot,
    /// The squares of the smoothings.
    squares: [f64; 2],
}

/// A bound on the error of a slope, times the response, in double precision. It is relative to the
/// sum of both terms and in unit roundoffs.
pub(super) const DOUBLE_SLOPE: f64 = 16.0;
/// The same in single precision.
pub(super) const SINGLE_SLOPE: f64 = 300.0;

impl Real for f32 {
    vector_operations!(
        f32s,
        as_simd_f32s,
        as_mut_simd_f32s,
        splat_f32s,
        add_f32s,
        sub_f32s,
        mul_f32s
    );

    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "rounded")]
    fn from_f64(number: f64) -> Self {
        number as Self
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }

    type Slope = SingleSlope;

    fn slope(weight: f64, potential: TwoRoots) -> SingleSlope {
        let TwoRoots {
            alpha,
            nu,
            beta,
            omega,
        } = potential;
        SingleSlope {
            weights: [alpha, beta].map(|factor| Self::from_f64(weight * factor / ROOT_FACTOR)),
            squares: [nu * nu, omega * omega].map(Self::from_f64),
        }
    }

    #[inline(always)]
    fn terms_at(slope: &SingleSlope, square: Self) -> [Self; 2] {
        let [first, second] = slope.squares.map(
            #[inline(always)]
            |smoothing| inverse_root(square + smoothing),
        );
        [slope.weights[0] * first, slope.weights[1] * second]
    }
}

/// The slope of a potential in single precision.
#[derive(Clone, Copy, Debug)]
pub(super) struct SingleSlope {
    /// The weights of both roots, divided by [`ROOT_FACTOR`].
    weights: [f32; 2],
    /// The squares of the smoothings.
    squares: [f32; 2],
}

/// The number `$c$` of [`inverse_root`].
const ROOT_FACTOR: f64 = 1.507_947_429_440_697_4;

/// Returns `$c/\sqrt s$` with a relative error of at most `$280u = 1.7 \cdot 10^{-5}$` for every
/// normal `$s$`, where `$u = 2^{-24}$`. An infinite `$s$` counts as the largest finite number.
///
/// Halving the exponent gives a `$y$` for which `$t = sy^2$` is between 0.75 and 0.84375. The
/// polynomial of `$t$` is `$c/\sqrt t$` with the smallest relative error there, which is
/// `$1.6 \cdot 10^{-5}$`.
#[inline(always)]
fn inverse_root(s: f32) -> f32 {
    let s = if s < f32::MAX { s } else { f32::MAX };
    let y = f32::from_bits(0x5f20_0000_u32.wrapping_sub(s.to_bits() >> 1));
    let t = s * y * y;
    y * ((t - 2.655_387_7) * t + 3.170_240_7)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The unit roundoff of single precision.
    const UNIT: f64 = 0.5 * f32::EPSILON as f64;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn inverse_roots_are_accurate(mantissa in 1.0..4.0_f64, exponent in -60_i32..60) {
            let s = f32::from_f64(mantissa * 4_f64.powi(exponent));
            let root = inverse_root(s).to_f64() / ROOT_FACTOR;
            prop_assert!((root * s.to_f64().sqrt() - 1.0).abs() <= 280.0 * UNIT);
        }

        /// In both precisions, relative to the sum of both terms, as
        /// `FilterRegularizer::gradient_rounding` states.
        #[test]
        fn slopes_are_accurate(
            [alpha, nu, share, spread, t] in [-3.0..1.0, -3.0..0.0, 0.0..1.0, 0.0..3.0, -6.0..2.0],
        ) {
            let _: [f64; 5] = [alpha, nu, share, spread, t];
            let (alpha, nu) = (10_f64.powf(alpha), 10_f64.powf(nu));
            let (beta, omega) = (share * alpha, nu * 10_f64.powf(spread));
            let potential = TwoRoots { alpha, nu, beta, omega };
            let t = f32::from_f64(10_f64.powf(t)).to_f64();
            let terms = [alpha / t.hypot(nu), beta / t.hypot(omega)];
            let exact = t * (terms[0] - terms[1]);
            let most = t * (terms[0] + terms[1]);
            let double = t * f64::slope_at(&f64::slope(1.0, potential), t * t);
            let allowed = DOUBLE_SLOPE * 0.5 * f64::EPSILON * most + 1e-14 * exact.abs();
            prop_assert!((double - exact).abs() <= allowed);
            let single = f32::from_f64(t);
            let single = single * f32::slope_at(&f32::slope(1.0, potential), single * single);
            prop_assert!((single.to_f64() - exact).abs() <= SINGLE_SLOPE * UNIT * most);
        }
    }

    #[test]
    fn inverse_roots_at_the_ends_of_the_range() {
        for s in [f32::MIN_POSITIVE, f32::MAX] {
            let root = inverse_root(s).to_f64() / ROOT_FACTOR;
            assert!((root * s.to_f64().sqrt() - 1.0).abs() <= 280.0 * UNIT);
        }
        assert!(inverse_root(f32::INFINITY) < 1e-17);
    }
}
