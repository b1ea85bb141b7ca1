//! Euclidean norms whose results do not depend on the machine, to the last bit.

/// The unit roundoff `$u = 2^{-53}$`: the largest relative error of one rounded operation.
pub const UNIT_ROUNDOFF: f64 = f64::EPSILON / 2.0;

/// The number of partial sums: enough to fill the widest vector registers.
pub(crate) const LANES: usize = 8;

/// Returns the sum of squares, added in an order that does not depend on the machine. It may
/// overflow or underflow.
///
/// It is meant for implementations of [`advance`](crate::StronglyConvex::advance), which return
/// this number. It is always inlined, so that the compiler uses the vector instructions of the
/// caller.
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

/// Bounds the number of roundings of each term in [`norm_squared`] and [`inner`] of vectors of this
/// length, including that of the product.
///
/// A term of a block is added to a partial sum of `len / LANES` terms, and then with the other
/// partial sums and fewer than [`LANES`] further terms.
pub(crate) fn roundings_of_sum(len: usize) -> f64 {
    (len / LANES + 2 * LANES) as f64 + 1.0
}

/// Returns the inner product, added in the same order as in [`norm_squared`].
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

/// Returns the Euclidean norm, without overflow or underflow. It is NaN if an entry is not finite.
///
/// ```
/// assert!((lowlevel::norm(&[3e200, 4e200]) - 5e200).abs() < 1e186);
/// ```
#[must_use]
pub fn norm(x: &[f64]) -> f64 {
    norm_from_squared(norm_squared(x), x)
}

/// Returns the Euclidean norm of `x`, given its sum of squares. If the squares left the range of
/// `f64`, it adds them again after scaling.
pub(crate) fn norm_from_squared(squared: f64, x: &[f64]) -> f64 {
    /// Below this, squares of relevant entries may have underflowed.
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
