//! Vectors of numbers in single or double precision, for the kernels of filter banks.
//!
//! Every number is computed by the same operations whatever the length of a vector, and no product
//! is fused with a sum, so that results do not depend on the machine.

use pulp::{Simd, bytemuck};

/// Numbers in single or double precision.
pub(super) trait Real: Copy + Default + bytemuck::Pod {
    /// A vector of numbers.
    type Vector<S: Simd>: Copy;

    fn from_f64(number: f64) -> Self;
    fn to_f64(self) -> f64;
    fn splat<S: Simd>(simd: S, number: Self) -> Self::Vector<S>;
    fn add<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
    fn sub<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
    fn mul<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
    /// The vectors of a slice.
    fn vectors<S: Simd>(numbers: &[Self]) -> &[Self::Vector<S>];
    /// The vectors of a slice, to be changed.
    fn vectors_mut<S: Simd>(numbers: &mut [Self]) -> &mut [Self::Vector<S>];

    /// The number `$c$` of [`inverse_roots`](Self::inverse_roots).
    const ROOT_FACTOR: f64;

    /// Returns `$c/\sqrt s$` up to a few roundings, for every normal `$s$`. An infinite `$s$`
    /// counts as the largest finite number.
    ///
    /// The steps are those of `InverseRoot` in `model/inverse_root.rs`; single precision needs only
    /// two of them. Halving the bits of each half of a double does not carry the lowest bit of the
    /// upper half. That changes the first guess by less than `$10^{-6}$` of it, and nothing
    /// else. The steps of several vectors alternate, since a processor looks ahead only so far.
    fn inverse_roots<S: Simd, const N: usize>(
        simd: S,
        s: [Self::Vector<S>; N],
    ) -> [Self::Vector<S>; N];

    /// The numbers `$c_1, c_2$` of [`two_roots`](Self::two_roots).
    const ROOT_FACTORS: [f64; 2];

    /// Returns `$c_1\alpha/\sqrt s - c_2\beta/\sqrt t$` for the weights `$(\alpha, \beta)$`.
    ///
    /// In double precision the first root is a square root and a division, so that both parts of
    /// the processor are busy. In single precision that would not be faster.
    fn two_roots<S: Simd, const N: usize>(
        simd: S,
        s: [Self::Vector<S>; N],
        t: [Self::Vector<S>; N],
        weights: [Self::Vector<S>; 2],
    ) -> [Self::Vector<S>; N];
}

/// Returns the products of the vectors in two arrays.
#[inline(always)]
fn products<T: Real, S: Simd, const N: usize>(
    simd: S,
    a: [T::Vector<S>; N],
    b: [T::Vector<S>; N],
) -> [T::Vector<S>; N] {
    let mut out = a;
    for i in 0..N {
        out[i] = T::mul(simd, a[i], b[i]);
    }
    out
}

/// Returns `$y(c - sy^2)$`.
#[inline(always)]
fn newton_step<T: Real, S: Simd, const N: usize>(
    simd: S,
    c: f64,
    s: [T::Vector<S>; N],
    y: [T::Vector<S>; N],
) -> [T::Vector<S>; N] {
    let c = T::splat(simd, T::from_f64(c));
    let mut t = products::<T, S, N>(simd, products::<T, S, N>(simd, s, y), y);
    for t in &mut t {
        *t = T::sub(simd, c, *t);
    }
    products::<T, S, N>(simd, y, t)
}

/// The first two steps of inverse roots, from the first guess.
#[inline(always)]
fn two_steps<T: Real, S: Simd, const N: usize>(
    simd: S,
    s: [T::Vector<S>; N],
    guess: [T::Vector<S>; N],
) -> [T::Vector<S>; N] {
    let linear = T::splat(simd, T::from_f64(13.312475534945362));
    let constant = T::splat(simd, T::from_f64(79.74990219083347));
    let y = newton_step::<T, S, N>(simd, 3.0, s, guess);
    let t = products::<T, S, N>(simd, products::<T, S, N>(simd, s, y), y);
    let mut sum = t;
    for sum in &mut sum {
        *sum = T::sub(simd, *sum, linear);
    }
    sum = products::<T, S, N>(simd, sum, t);
    for sum in &mut sum {
        *sum = T::add(simd, *sum, constant);
    }
    products::<T, S, N>(simd, y, sum)
}

impl Real for f64 {
    type Vector<S: Simd> = S::f64s;

    #[inline(always)]
    fn from_f64(number: f64) -> Self {
        number
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }

    #[inline(always)]
    fn splat<S: Simd>(simd: S, number: Self) -> S::f64s {
        simd.splat_f64s(number)
    }

    #[inline(always)]
    fn add<S: Simd>(simd: S, a: S::f64s, b: S::f64s) -> S::f64s {
        simd.add_f64s(a, b)
    }

    #[inline(always)]
    fn sub<S: Simd>(simd: S, a: S::f64s, b: S::f64s) -> S::f64s {
        simd.sub_f64s(a, b)
    }

    #[inline(always)]
    fn mul<S: Simd>(simd: S, a: S::f64s, b: S::f64s) -> S::f64s {
        simd.mul_f64s(a, b)
    }

    #[inline(always)]
    fn vectors<S: Simd>(numbers: &[Self]) -> &[S::f64s] {
        S::as_simd_f64s(numbers).0
    }

    #[inline(always)]
    fn vectors_mut<S: Simd>(numbers: &mut [Self]) -> &mut [S::f64s] {
        S::as_mut_simd_f64s(numbers).0
    }

    const ROOT_FACTOR: Self = 1_228_250.0;

    #[inline(always)]
    fn inverse_roots<S: Simd, const N: usize>(simd: S, mut s: [S::f64s; N]) -> [S::f64s; N] {
        let (largest, one) = (simd.splat_f64s(Self::MAX), simd.splat_u32s(1));
        let magic = simd.splat_u64s(0x5fe6_eb50_c7b5_37a9);
        let mut guess = s;
        for i in 0..N {
            s[i] = simd.min_f64s(s[i], largest);
            let halved: S::u64s = if S::IS_SCALAR {
                let bits: u64 = bytemuck::cast(s[i]);
                bytemuck::cast(bits >> 1 & !(1 << 31))
            } else {
                bytemuck::cast(simd.wrapping_dyn_shr_u32s(bytemuck::cast(s[i]), one))
            };
            guess[i] = bytemuck::cast(simd.sub_u64s(magic, halved));
        }
        let y = two_steps::<Self, S, N>(simd, s, guess);
        newton_step::<Self, S, N>(simd, 21_675.0, s, y)
    }

    const ROOT_FACTORS: [Self; 2] = [1.0, Self::ROOT_FACTOR];

    #[inline(always)]
    fn two_roots<S: Simd, const N: usize>(
        simd: S,
        s: [S::f64s; N],
        t: [S::f64s; N],
        [alpha, beta]: [S::f64s; 2],
    ) -> [S::f64s; N] {
        let mut out = s;
        for i in 0..N {
            out[i] = simd.div_f64s(alpha, simd.sqrt_f64s(s[i]));
        }
        let second = Self::inverse_roots(simd, t);
        for i in 0..N {
            out[i] = simd.sub_f64s(out[i], simd.mul_f64s(second[i], beta));
        }
        out
    }
}

impl Real for f32 {
    type Vector<S: Simd> = S::f32s;

    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "rounded")]
    fn from_f64(number: f64) -> Self {
        number as Self
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }

    #[inline(always)]
    fn splat<S: Simd>(simd: S, number: Self) -> S::f32s {
        simd.splat_f32s(number)
    }

    #[inline(always)]
    fn add<S: Simd>(simd: S, a: S::f32s, b: S::f32s) -> S::f32s {
        simd.add_f32s(a, b)
    }

    #[inline(always)]
    fn sub<S: Simd>(simd: S, a: S::f32s, b: S::f32s) -> S::f32s {
        simd.sub_f32s(a, b)
    }

    #[inline(always)]
    fn mul<S: Simd>(simd: S, a: S::f32s, b: S::f32s) -> S::f32s {
        simd.mul_f32s(a, b)
    }

    #[inline(always)]
    fn vectors<S: Simd>(numbers: &[Self]) -> &[S::f32s] {
        S::as_simd_f32s(numbers).0
    }

    #[inline(always)]
    fn vectors_mut<S: Simd>(numbers: &mut [Self]) -> &mut [S::f32s] {
        S::as_mut_simd_f32s(numbers).0
    }

    const ROOT_FACTOR: f64 = 85.0;

    #[inline(always)]
    fn inverse_roots<S: Simd, const N: usize>(simd: S, mut s: [S::f32s; N]) -> [S::f32s; N] {
        let (largest, one) = (simd.splat_f32s(Self::MAX), simd.splat_u32s(1));
        let magic = simd.splat_u32s(0x5f37_5a86);
        let mut guess = s;
        for i in 0..N {
            s[i] = simd.min_f32s(s[i], largest);
            let halved = simd.wrapping_dyn_shr_u32s(bytemuck::cast(s[i]), one);
            guess[i] = bytemuck::cast(simd.sub_u32s(magic, halved));
        }
        two_steps::<Self, S, N>(simd, s, guess)
    }

    const ROOT_FACTORS: [f64; 2] = [Self::ROOT_FACTOR; 2];

    #[inline(always)]
    fn two_roots<S: Simd, const N: usize>(
        simd: S,
        s: [S::f32s; N],
        t: [S::f32s; N],
        [alpha, beta]: [S::f32s; 2],
    ) -> [S::f32s; N] {
        let mut out = Self::inverse_roots(simd, s);
        let second = Self::inverse_roots(simd, t);
        for i in 0..N {
            let first = simd.mul_f32s(out[i], alpha);
            out[i] = simd.sub_f32s(first, simd.mul_f32s(second[i], beta));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lowlevel::UNIT_ROUNDOFF;
    use proptest::prelude::*;
    use pulp::Scalar;

    /// Computes `$(r\sqrt s - 1)/u$` from the error of `$r^2s$`, with products of twice the
    /// precision.
    fn error_in_roundoffs(root: f64, s: f64) -> f64 {
        let square = root * root;
        let lost = root.mul_add(root, -square);
        let error = square.mul_add(s, -1.0) + lost * s;
        0.5 * error / UNIT_ROUNDOFF
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn inverse_roots_are_accurate(mantissa in 1.0..4.0_f64, exponent in -500_i32..500) {
            // Powers of four change nothing but the exponent.
            let s = mantissa * 4_f64.powi(exponent);
            let root = f64::inverse_roots(Scalar::new(), [s])[0] / f64::ROOT_FACTOR;
            let error = error_in_roundoffs(root * 2_f64.powi(exponent), mantissa);
            prop_assert!(error.abs() <= 5.1, "{error} at {s:e}");
            let s = f32::from_f64(mantissa * 4_f64.powi(exponent / 10));
            let root = f32::inverse_roots(Scalar::new(), [s])[0].to_f64() / f32::ROOT_FACTOR;
            prop_assert!((root * s.to_f64().sqrt() - 1.0).abs() <= 4.0 * f64::from(f32::EPSILON));
        }
    }

    #[test]
    fn inverse_roots_at_the_ends_of_the_range() {
        for s in [f64::MIN_POSITIVE, f64::MAX] {
            let root = f64::inverse_roots(Scalar::new(), [s])[0] / f64::ROOT_FACTOR;
            assert!((root * s.sqrt() - 1.0).abs() < 1e-15);
        }
        assert!(f64::inverse_roots(Scalar::new(), [f64::INFINITY])[0] < 1e-140);
    }
}
