//! Systems of nonlinear equations, which are formulas without data.

use std::f64::consts::TAU;

use super::{as_f64, counting, parameters};

/// MGH 1, `$r = (10(\theta_2 - \theta_1^2),\ 1 - \theta_1)$`.
pub(super) fn rosenbrock(theta: &[f64], out: &mut [f64]) {
    let [x1, x2] = parameters(theta);
    out.copy_from_slice(&[10.0 * (x2 - x1 * x1), 1.0 - x1]);
}

/// MGH 7,
/// `$r = \bigl(10(\theta_3 - 10\vartheta),\ 10(\sqrt{\theta_1^2 + \theta_2^2} - 1),\ \theta_3\bigr)$`
/// with the turn
///
/// ```math
/// \vartheta = \frac{1}{2\pi} \arctan\frac{\theta_2}{\theta_1} + \begin{cases} 0 & \theta_1 > 0, \\ 1/2 & \theta_1 < 0. \end{cases}
/// ```
///
/// At `$\theta_1 = 0$`, which the definition leaves open, `$\vartheta$` is its limit from the
/// right, and `$1/4$` at the origin.
pub(super) fn helical_valley(theta: &[f64], out: &mut [f64]) {
    let [x1, x2, x3] = parameters(theta);
    let turn = if x1 > 0.0 {
        (x2 / x1).atan() / TAU
    } else if x1 < 0.0 {
        (x2 / x1).atan() / TAU + 0.5
    } else if x2 < 0.0 {
        -0.25
    } else {
        0.25
    };
    out.copy_from_slice(&[10.0 * (x3 - 10.0 * turn), 10.0 * (x1.hypot(x2) - 1.0), x3]);
}

/// MGH 13,
/// `$r = \bigl(\theta_1 + 10\theta_2,\ \sqrt 5(\theta_3 - \theta_4),\ (\theta_2 - 2\theta_3)^2,\ \sqrt{10}(\theta_1 - \theta_4)^2\bigr)$`.
///
/// The Jacobian is singular at the minimiser 0.
pub(super) fn powell_singular(theta: &[f64], out: &mut [f64]) {
    let [x1, x2, x3, x4] = parameters(theta);
    out.copy_from_slice(&[
        x1 + 10.0 * x2,
        5_f64.sqrt() * (x3 - x4),
        (x2 - 2.0 * x3).powi(2),
        10_f64.sqrt() * (x1 - x4).powi(2),
    ]);
}

/// MGH 2,
///
/// ```math
/// r = \bigl(-13 + \theta_1 + ((5 - \theta_2)\theta_2 - 2)\theta_2,\ -29 + \theta_1 + ((\theta_2 + 1)\theta_2 - 14)\theta_2\bigr).
/// ```
///
/// Zero at `$(5, 4)$`, and a local minimum 48.98 at
/// `$\bigl((53 - 4\sqrt{22})/3, (2 - \sqrt{22})/3\bigr)$`.
pub(super) fn freudenstein_roth(theta: &[f64], out: &mut [f64]) {
    let [x1, x2] = parameters(theta);
    out.copy_from_slice(&[
        -13.0 + x1 + ((5.0 - x2) * x2 - 2.0) * x2,
        -29.0 + x1 + ((x2 + 1.0) * x2 - 14.0) * x2,
    ]);
}

/// MGH 20, with `$t_i = i/29$` for `$i \le 29$`,
///
/// ```math
/// r_i = \sum_{j=2}^n (j - 1) \theta_j t_i^{j-2} - \Bigl(\sum_{j=1}^n \theta_j t_i^{j-1}\Bigr)^2 - 1,
/// \qquad r_{30} = \theta_1, \qquad r_{31} = \theta_2 - \theta_1^2 - 1.
/// ```
///
/// The polynomial with coefficients `$\theta$` approximates the solution of `$y' = y^2 + 1$`,
/// `$y(0) = 0$`.
pub(super) fn watson(theta: &[f64], out: &mut [f64]) {
    let (equation, boundary) = out.split_at_mut(29);
    for (i, r) in counting().zip(equation) {
        let t = i / 29.0;
        // Horner's scheme for the polynomial and its derivative
        let (value, slope) = theta
            .iter()
            .rev()
            .fold((0.0, 0.0), |(value, slope), theta| {
                (value * t + theta, slope * t + value)
            });
        *r = slope - value * value - 1.0;
    }
    boundary.copy_from_slice(&[theta[0], theta[1] - theta[0] * theta[0] - 1.0]);
}

/// MGH 35, `$r_i = \frac 1n \sum_j T_i(2\theta_j - 1) - \int_0^1 T_i(2t - 1)\,\mathrm dt$` with the
/// Chebyshev polynomials `$T_i$`.
///
/// The integral is 0 for odd `$i$` and `$-1/(i^2 - 1)$` for even `$i$`. Zero at the nodes of
/// Chebyshev's quadrature, which are real for up to seven parameters and for nine.
pub(super) fn chebyquad(theta: &[f64], out: &mut [f64]) {
    out.fill(0.0);
    for theta in theta {
        let argument = 2.0 * theta - 1.0;
        let (mut previous, mut current) = (1.0, argument);
        for r in out.iter_mut() {
            *r += current;
            (previous, current) = (current, 2.0 * argument * current - previous);
        }
    }
    let count = as_f64(theta.len());
    for r in out.iter_mut() {
        *r /= count;
    }
    for (i, r) in counting().zip(out).skip(1).step_by(2) {
        *r += 1.0 / (i * i - 1.0);
    }
}

/// MGH 27, `$r_i = \theta_i + \sum_j \theta_j - (n + 1)$` for `$i < n$` and
/// `$r_n = \prod_j \theta_j - 1$`.
///
/// Zero at `$(\alpha, \dots, \alpha, \alpha^{1-n})$` for the roots of
/// `$n\alpha^n - (n + 1)\alpha^{n-1} + 1$`, one of them 1.
pub(super) fn brown_almost_linear(theta: &[f64], out: &mut [f64]) {
    let excess = theta.iter().sum::<f64>() - (as_f64(theta.len()) + 1.0);
    for (r, theta) in out.iter_mut().zip(theta) {
        *r = theta + excess;
    }
    if let Some(last) = out.last_mut() {
        *last = theta.iter().product::<f64>() - 1.0;
    }
}

/// CUTEr's BDQRTIC, not in MGH: for `$i \le n - 4$`,
///
/// ```math
/// r_i = 3 - 4\theta_i, \qquad r_{n-4+i} = \theta_i^2 + 2\theta_{i+1}^2 + 3\theta_{i+2}^2 + 4\theta_{i+3}^2 + 5\theta_n^2.
/// ```
pub(super) fn bdqrtic(theta: &[f64], out: &mut [f64]) {
    let (linear, quartic) = out.split_at_mut(theta.len() - 4);
    let last = theta[theta.len() - 1];
    for ((linear, quartic), window) in linear.iter_mut().zip(quartic).zip(theta.windows(4)) {
        *linear = 3.0 - 4.0 * window[0];
        let squares = counting().zip(window).map(|(weight, x)| weight * x * x);
        *quartic = squares.sum::<f64>() + 5.0 * last * last;
    }
}

/// CUTEr's CUBE, not in MGH: `$r_1 = \theta_1 - 1$` and `$r_i = 10(\theta_i - \theta_{i-1}^3)$`.
/// Zero at `$(1, \dots, 1)$`.
pub(super) fn cube(theta: &[f64], out: &mut [f64]) {
    out[0] = theta[0] - 1.0;
    for (r, pair) in out[1..].iter_mut().zip(theta.windows(2)) {
        *r = 10.0 * (pair[1] - pair[0].powi(3));
    }
}

/// CUTEr's MANCINO, not in MGH: with `$v_{ij} = \sqrt{\theta_i^2 + i/j}$`,
///
/// ```math
/// r_i = 1400\theta_i + (i - 50)^3 + \sum_j v_{ij} \bigl(\sin^5 \log v_{ij} + \cos^5 \log v_{ij}\bigr).
/// ```
///
/// The sum includes `$j = i$`, as in Moré and Wild; some other collections leave it out.
pub(super) fn mancino(theta: &[f64], out: &mut [f64]) {
    for ((i, r), x) in counting().zip(out).zip(theta) {
        *r = 1400.0 * x + mancino_pull(i, *x, theta.len());
    }
}

/// `$\theta_i = -8.710996 \cdot 10^{-4} \bigl((i - 50)^3 + \sum_j v_{ij} (\sin^5 \log v_{ij} + \cos^5 \log v_{ij})\bigr)$`
/// with the `$v_{ij}$` of the origin.
pub(super) fn mancino_start(num_params: usize) -> Vec<f64> {
    let indices = counting().take(num_params);
    indices
        .map(|i| -8.710_996e-4 * mancino_pull(i, 0.0, num_params))
        .collect()
}

/// The terms of [`mancino`]'s `$r_i$` without the linear one.
fn mancino_pull(i: f64, x: f64, num_params: usize) -> f64 {
    let waves = counting().take(num_params).map(|j| {
        let v = (x * x + i / j).sqrt();
        let (sin, cos) = v.ln().sin_cos();
        v * (sin.powi(5) + cos.powi(5))
    });
    (i - 50.0).powi(3) + waves.sum::<f64>()
}

/// CUTEr's HEART8LS, not in MGH: the dipoles of the heart. With
/// `$(a, b, c, d, t, u, v, w) = \theta$`,
///
/// ```math
/// \begin{aligned}
/// r_1 &= a + b + 0.69, \qquad r_2 = c + d + 0.044, \\
/// r_3 &= ta + ub - vc - wd + 1.57, \qquad r_4 = va + wb + tc + ud + 1.31, \\
/// r_5 &= a(t^2 - v^2) - 2ctv + b(u^2 - w^2) - 2duw + 2.65, \\
/// r_6 &= c(t^2 - v^2) + 2atv + d(u^2 - w^2) + 2buw - 2, \\
/// r_7 &= at(t^2 - 3v^2) + cv(v^2 - 3t^2) + bu(u^2 - 3w^2) + dw(w^2 - 3u^2) + 12.6, \\
/// r_8 &= ct(t^2 - 3v^2) - av(v^2 - 3t^2) + du(u^2 - 3w^2) - bw(w^2 - 3u^2) - 9.48.
/// \end{aligned}
/// ```
pub(super) fn heart8ls(theta: &[f64], out: &mut [f64]) {
    let [a, b, c, d, t, u, v, w] = parameters(theta);
    // real and imaginary parts of the squares and cubes of t + iv and u + iw
    let (tv_re2, tv_im2) = (t * t - v * v, 2.0 * t * v);
    let (uw_re2, uw_im2) = (u * u - w * w, 2.0 * u * w);
    let (tv_re3, tv_im3) = (t * (t * t - 3.0 * v * v), v * (3.0 * t * t - v * v));
    let (uw_re3, uw_im3) = (u * (u * u - 3.0 * w * w), w * (3.0 * u * u - w * w));
    out.copy_from_slice(&[
        a + b + 0.69,
        c + d + 0.044,
        t * a + u * b - v * c - w * d + 1.57,
        v * a + w * b + t * c + u * d + 1.31,
        a * tv_re2 - c * tv_im2 + b * uw_re2 - d * uw_im2 + 2.65,
        c * tv_re2 + a * tv_im2 + d * uw_re2 + b * uw_im2 - 2.0,
        a * tv_re3 - c * tv_im3 + b * uw_re3 - d * uw_im3 + 12.6,
        c * tv_re3 + a * tv_im3 + d * uw_re3 + b * uw_im3 - 9.48,
    ]);
}
