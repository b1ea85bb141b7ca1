//! Kernels on slices. They use eight running sums in a fixed order, which vectorise and give the
//! same bits on every machine.

const LANES: usize = 8;

/// The inner product `$x^T y$`.
pub(crate) fn dot(x: &[f64], y: &[f64]) -> f64 {
    debug_assert_eq!(x.len(), y.len());
    let (mut xs, mut ys) = (x.chunks_exact(LANES), y.chunks_exact(LANES));
    let mut sums = [0.0; LANES];
    for (a, b) in (&mut xs).zip(&mut ys) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    let tail: f64 = xs
        .remainder()
        .iter()
        .zip(ys.remainder())
        .map(|(a, b)| a * b)
        .sum();
    let [a, b, c, d, e, f, g, h] = sums;
    ((a + e) + (c + g)) + ((b + f) + (d + h)) + tail
}

/// The inner product `$x^T (y - z)$`.
pub(crate) fn dot_difference(x: &[f64], y: &[f64], z: &[f64]) -> f64 {
    debug_assert!(x.len() == y.len() && x.len() == z.len(), "equal lengths");
    let mut xs = x.chunks_exact(LANES);
    let (mut ys, mut zs) = (y.chunks_exact(LANES), z.chunks_exact(LANES));
    let mut sums = [0.0; LANES];
    for ((a, b), c) in (&mut xs).zip(&mut ys).zip(&mut zs) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * (b[lane] - c[lane]);
        }
    }
    let tail: f64 = (xs.remainder().iter())
        .zip(ys.remainder())
        .zip(zs.remainder())
        .map(|((a, b), c)| a * (b - c))
        .sum();
    let [a, b, c, d, e, f, g, h] = sums;
    ((a + e) + (c + g)) + ((b + f) + (d + h)) + tail
}

/// The norm `$\|x\|_2$`, without intermediate overflow or underflow.
pub(crate) fn norm(x: &[f64]) -> f64 {
    let square = dot(x, x);
    if (1e-280..=1e280).contains(&square) || square.is_nan() {
        return square.sqrt();
    }
    let largest = max_abs(x);
    if !(largest > 0.0 && largest < f64::INFINITY) {
        return largest;
    }
    // Scale by two factors, since 2^-exponent may overflow.
    let half = power_of_two(-exponent(largest) / 2);
    let rest = power_of_two(-exponent(largest) - (-exponent(largest) / 2));
    let scaled: f64 = x.iter().map(|v| (v * half * rest).powi(2)).sum();
    scaled.sqrt() / half / rest
}

/// Adds `$\alpha x$` to `$y$`.
pub(crate) fn axpy(alpha: f64, x: &[f64], y: &mut [f64]) {
    debug_assert_eq!(x.len(), y.len());
    for (a, b) in y.iter_mut().zip(x) {
        *a += alpha * b;
    }
}

/// The largest absolute value `$\max_i |x_i|$`, ignoring NaN.
pub(crate) fn max_abs(x: &[f64]) -> f64 {
    let larger = |most: f64, v: f64| if v.abs() > most { v.abs() } else { most };
    let mut chunks = x.chunks_exact(LANES);
    let mut most = [0.0; LANES];
    for chunk in &mut chunks {
        for lane in 0..LANES {
            most[lane] = larger(most[lane], chunk[lane]);
        }
    }
    let rest = chunks.remainder().iter();
    most.iter().chain(rest).fold(0.0, |m, v| larger(m, *v))
}

/// Whether no entry is NaN or infinite.
pub(crate) fn all_finite(x: &[f64]) -> bool {
    // No early exit, so that the loop vectorises.
    x.iter().fold(true, |fine, v| fine & v.is_finite())
}

/// The exponent `$e$` with `$2^e \le |x| < 2^{e+1}$`, at least -1022 (also for zero).
pub(crate) fn exponent(x: f64) -> i32 {
    let biased = (x.to_bits() >> 52) & 0x7ff;
    i32::try_from(biased).map_or(0, |e| e.max(1) - 1023)
}

/// The power `$2^e$`; zero for exponents below -1074, infinity for those above 1023.
pub(crate) fn power_of_two(exponent: i32) -> f64 {
    match u64::try_from(exponent + 1023) {
        Ok(0) | Err(_) if exponent < -1074 => 0.0,
        Ok(0) | Err(_) => f64::from_bits(1_u64 << (exponent + 1074)),
        Ok(biased) if biased < 0x7ff => f64::from_bits(biased << 52),
        Ok(_) => f64::INFINITY,
    }
}
