//! An inverse square root without divisions. A loop can compute half of its roots with it and the
//! other half by division, so that both parts of the processor are busy.

/// Computes `$\alpha/\sqrt s$` by additions and multiplications only, for loops that are limited by
/// divisions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InverseRoot {
    /// The factor `$\alpha/(2 \cdot 85^3)$`.
    scale: f64,
}

impl InverseRoot {
    pub(crate) fn new(alpha: f64) -> Self {
        Self {
            scale: alpha / 1_228_250.0,
        }
    }

    /// Returns `$\alpha/\sqrt s$` with a relative error of at most `$5.1 u$` for every normal
    /// `$s$`. An infinite `$s$` counts as the largest finite number.
    ///
    /// Halving the exponent gives `$1/\sqrt s$` within 3.5 %. Then three steps follow, in which
    /// `$y$` is near `$\sqrt{\tau/s}$` and `$t = sy^2$` is near `$\tau$`:
    /// 1. `$y(3 - t)$` is `$2/\sqrt s$` with a relative error in `$[-0.0018, 0]$`.
    /// 2. `$y(t^2 - \frac{10}{3}\tau t + 5\tau^2)$` is `$85/\sqrt s$` within `$3 \cdot 10^{-9}$`.
    ///    These are the first terms of a series around `$\tau = 3.9937$`, the middle of the range
    ///    of `$t$`.
    /// 3. `$y(3 \cdot 85^2 - t)$` is `$2 \cdot 85^3/\sqrt s$` within `$2 \cdot 10^{-17}$`.
    ///
    /// Rounding adds half of the `$2u$` of the last `$t$`, and `$u$` each for the difference, the
    /// two products and `scale`.
    #[inline(always)]
    pub(crate) fn at(self, s: f64) -> f64 {
        let s = if s < f64::MAX { s } else { f64::MAX };
        let y = f64::from_bits(0x5fe6_eb50_c7b5_37a9_u64.wrapping_sub(s.to_bits() >> 1));
        let y = y * (3.0 - s * y * y);
        let t = s * y * y;
        let y = y * ((t - 13.312475534945362) * t + 79.74990219083347);
        y * (21_675.0 - s * y * y) * self.scale
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lowlevel::UNIT_ROUNDOFF;
    use proptest::prelude::*;

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
        fn inverse_roots_are_within_their_bound(mantissa in 1.0..4.0_f64, exponent in -500_i32..500) {
            // Powers of four change nothing but the exponent.
            let s = mantissa * 4_f64.powi(exponent);
            let root = InverseRoot::new(1.0).at(s) * 2_f64.powi(exponent);
            let error = error_in_roundoffs(root, mantissa);
            prop_assert!(error.abs() <= 5.1, "{error} at {s:e}");
        }
    }

    #[test]
    fn inverse_roots_at_the_ends_of_the_range() {
        let inverse = InverseRoot::new(2.0);
        for s in [f64::MIN_POSITIVE, f64::MAX] {
            assert!((inverse.at(s) * s.sqrt() - 2.0).abs() < 1e-15);
        }
        assert!(inverse.at(f64::INFINITY) < 1e-150);
        assert!(InverseRoot::new(0.0).at(1.0).abs() <= 0.0);
    }
}
