//! Euclidean norms and rounding: the same everywhere, to the last bit.

/// `$u = 2^{-53}$`, the largest relative error of one operation.
pub const UNIT_ROUNDOFF: f64 = f64::EPSILON / 2.0;

/// Partial sums kept apart: enough to fill the widest vector registers.
const LANES: usize = 8;

/// Sum of squares, added in an order that does not depend on the machine. May overflow or
/// underflow.
///
/// For kernels, which return it from [`advance`](crate::StronglyConvex::advance); inlined, so that
/// it is compiled for the vector instructions of its caller.
#[inline(always)]
#[must_use]
pub fn norm_squared(x: &[f64]) -> f64 {
    let (blocks, rest) = x.as_chunks::<LANES>();
    let mut lanes = [0.0; LANES];
    for block in blocks {
        for (lane, x) in lanes.iter_mut().zip(block) {
            *lane += x * x;
        }
    }
    lanes.into_iter().chain(rest.iter().map(|x| x * x)).sum()
}

/// Inner product, added in the same order.
pub(crate) fn inner(x: &[f64], y: &[f64]) -> f64 {
    let ((x, x_rest), (y, y_rest)) = (x.as_chunks::<LANES>(), y.as_chunks::<LANES>());
    let mut lanes = [0.0; LANES];
    for (x, y) in x.iter().zip(y) {
        for ((lane, x), y) in lanes.iter_mut().zip(x).zip(y) {
            *lane += x * y;
        }
    }
    let rest = x_rest.iter().zip(y_rest).map(|(x, y)| x * y);
    lanes.into_iter().chain(rest).sum()
}

/// Euclidean norm, safe from overflow and underflow; NaN where an entry is not finite.
///
/// ```
/// assert!((lowlevel::norm(&[3e200, 4e200]) - 5e200).abs() < 1e186);
/// ```
#[must_use]
pub fn norm(x: &[f64]) -> f64 {
    norm_from_squared(norm_squared(x), x)
}

/// Euclidean norm of `x` from its sum of squares; adds again, scaled, where squaring left the range
/// of `f64`.
pub(crate) fn norm_from_squared(squared: f64, x: &[f64]) -> f64 {
    /// Below this, squares of relevant entries may have been flushed to zero.
    const TINY: f64 = 1e-280;
    if squared > TINY && squared < f64::INFINITY {
        return squared.sqrt();
    }
    let mut largest = 0.0_f64;
    for &x in x {
        if !x.is_finite() {
            return f64::NAN;
        }
        largest = largest.max(x.abs());
    }
    if largest == 0.0 {
        return 0.0;
    }
    let scaled: f64 = x.iter().map(|x| (x / largest) * (x / largest)).sum();
    largest * scaled.sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    #[test]
    fn agrees_with_the_plain_sum() {
        let x: Vec<f64> = (0..37).map(|i| f64::from(i) - 11.5).collect();
        let plain: f64 = x.iter().map(|x| x * x).sum();
        assert_relative_eq!(norm_squared(&x), plain, max_relative = 1e-15);
        assert_relative_eq!(norm(&x), plain.sqrt(), max_relative = 1e-15);
        let y: Vec<f64> = (0..37).map(|i| f64::from(i % 5) + 0.5).collect();
        let plain: f64 = x.iter().zip(&y).map(|(x, y)| x * y).sum();
        assert_relative_eq!(inner(&x, &y), plain, max_relative = 1e-14);
    }

    #[test]
    fn survives_entries_whose_squares_leave_the_range() {
        assert_relative_eq!(norm(&[3e200, 4e200]), 5e200, max_relative = 1e-15);
        assert_relative_eq!(norm(&[3e-200, 4e-200]), 5e-200, max_relative = 1e-15);
        assert_relative_eq!(norm(&[0.0; 9]), 0.0);
    }

    #[test]
    fn is_nan_where_an_entry_is_not_finite() {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(norm(&[1.0, bad, 2.0]).is_nan());
        }
    }
}
