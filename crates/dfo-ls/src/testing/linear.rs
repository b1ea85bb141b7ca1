//! The three linear functions, the only ones whose minimum is known in closed form for all sizes.

use super::{as_f64, counting};

/// MGH 32, `$r_i = \theta_i - \frac{2}{m} \sum_j \theta_j - 1$`, without `$\theta_i$` for
/// `$i > n$`.
///
/// Minimum `$m - n$` at `$\theta = (-1, \dots, -1)$`.
pub(super) fn full_rank(theta: &[f64], out: &mut [f64]) {
    let mean_term = 2.0 / as_f64(out.len()) * theta.iter().sum::<f64>();
    out.fill(-mean_term - 1.0);
    for (r, theta) in out.iter_mut().zip(theta) {
        *r += theta;
    }
}

/// MGH 33, `$r_i = i \sum_j j \theta_j - 1$`.
///
/// Minimum `$m(m - 1) / (2(2m + 1))$` wherever `$\sum_j j \theta_j = 3 / (2m + 1)$`.
pub(super) fn rank_one(theta: &[f64], out: &mut [f64]) {
    let sum: f64 = counting().zip(theta).map(|(j, theta)| j * theta).sum();
    for (i, r) in counting().zip(out) {
        *r = i * sum - 1.0;
    }
}

/// MGH 34, `$r_i = (i - 1) \sum_{j=2}^{n-1} j \theta_j - 1$` for `$1 < i < m$` and
/// `$r_1 = r_m = -1$`.
///
/// Minimum `$(m^2 + 3m - 6) / (2(2m - 3))$` wherever
/// `$\sum_{j=2}^{n-1} j \theta_j = 3 / (2m - 3)$`.
pub(super) fn rank_one_with_zeros(theta: &[f64], out: &mut [f64]) {
    let (inner_theta, inner_out) = (1..theta.len() - 1, 1..out.len() - 1);
    let terms = counting().skip(1).zip(&theta[inner_theta]);
    let sum: f64 = terms.map(|(j, theta)| j * theta).sum();
    out.fill(-1.0);
    for (before, r) in counting().zip(&mut out[inner_out]) {
        *r += before * sum;
    }
}
