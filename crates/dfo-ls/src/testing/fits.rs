//! Curves fitted to measurements. The data are those printed in MGH, Section 3.

use super::{counting, parameters};

/// `$y_i$` of MGH 8.
const BARD: [f64; 15] = [
    0.14, 0.18, 0.22, 0.25, 0.29, 0.32, 0.35, 0.39, 0.37, 0.58, 0.73, 0.96, 1.34, 2.10, 4.39,
];

/// `$(u_i, y_i)$` of MGH 15.
const KOWALIK_OSBORNE: [(f64, f64); 11] = [
    (4.0, 0.1957),
    (2.0, 0.1947),
    (1.0, 0.1735),
    (0.5, 0.1600),
    (0.25, 0.0844),
    (0.167, 0.0627),
    (0.125, 0.0456),
    (0.1, 0.0342),
    (0.0833, 0.0323),
    (0.0714, 0.0235),
    (0.0625, 0.0246),
];

/// `$y_i$` of MGH 10: resistances of a thermistor.
const MEYER: [f64; 16] = [
    34780.0, 28610.0, 23650.0, 19630.0, 16370.0, 13720.0, 11540.0, 9744.0, 8261.0, 7030.0, 6005.0,
    5147.0, 4427.0, 3820.0, 3307.0, 2872.0,
];

/// `$y_i$` of MGH 17.
const OSBORNE1: [f64; 33] = [
    0.844, 0.908, 0.932, 0.936, 0.925, 0.908, 0.881, 0.850, 0.818, 0.784, 0.751, 0.718, 0.685,
    0.658, 0.628, 0.603, 0.580, 0.558, 0.538, 0.522, 0.506, 0.490, 0.478, 0.467, 0.457, 0.448,
    0.438, 0.431, 0.424, 0.420, 0.414, 0.411, 0.406,
];

/// `$y_i$` of MGH 19.
const OSBORNE2: [f64; 65] = [
    1.366, 1.191, 1.112, 1.013, 0.991, 0.885, 0.831, 0.847, 0.786, 0.725, 0.746, 0.679, 0.608,
    0.655, 0.616, 0.606, 0.602, 0.626, 0.651, 0.724, 0.649, 0.649, 0.694, 0.644, 0.624, 0.661,
    0.612, 0.558, 0.533, 0.495, 0.500, 0.423, 0.395, 0.375, 0.372, 0.391, 0.396, 0.405, 0.428,
    0.429, 0.523, 0.562, 0.607, 0.653, 0.672, 0.708, 0.633, 0.668, 0.645, 0.632, 0.591, 0.559,
    0.597, 0.625, 0.739, 0.710, 0.729, 0.720, 0.636, 0.581, 0.428, 0.292, 0.162, 0.098, 0.054,
];

/// MGH 8, `$r_i = y_i - \Bigl(\theta_1 + \dfrac{u_i}{v_i\theta_2 + w_i\theta_3}\Bigr)$` with
/// `$u_i = i$`, `$v_i = 16 - i$`, `$w_i = \min(u_i, v_i)$`.
pub(super) fn bard(theta: &[f64], out: &mut [f64]) {
    let [x1, x2, x3] = parameters(theta);
    for ((u, y), r) in counting().zip(BARD).zip(out) {
        let v = 16.0 - u;
        *r = y - (x1 + u / (v * x2 + u.min(v) * x3));
    }
}

/// MGH 15, `$r_i = y_i - \dfrac{\theta_1(u_i^2 + u_i\theta_2)}{u_i^2 + u_i\theta_3 + \theta_4}$`.
pub(super) fn kowalik_osborne(theta: &[f64], out: &mut [f64]) {
    let [x1, x2, x3, x4] = parameters(theta);
    for ((u, y), r) in KOWALIK_OSBORNE.into_iter().zip(out) {
        *r = y - x1 * u * (u + x2) / (u * (u + x3) + x4);
    }
}

/// MGH 10, `$r_i = \theta_1 \exp\dfrac{\theta_2}{t_i + \theta_3} - y_i$` with `$t_i = 45 + 5i$`.
pub(super) fn meyer(theta: &[f64], out: &mut [f64]) {
    let [x1, x2, x3] = parameters(theta);
    for ((i, y), r) in counting().zip(MEYER).zip(out) {
        *r = x1 * (x2 / (45.0 + 5.0 * i + x3)).exp() - y;
    }
}

/// MGH 12, `$r_i = e^{-t_i\theta_1} - e^{-t_i\theta_2} - \theta_3(e^{-t_i} - e^{-10t_i})$` with
/// `$t_i = i/10$`.
///
/// Zero at `$(1, 10, 1)$`, at `$(10, 1, -1)$` and wherever `$\theta_1 = \theta_2$`,
/// `$\theta_3 = 0$`.
pub(super) fn box3d(theta: &[f64], out: &mut [f64]) {
    let [x1, x2, x3] = parameters(theta);
    for (i, r) in counting().zip(out) {
        let t = i / 10.0;
        *r = (-t * x1).exp() - (-t * x2).exp() - x3 * ((-t).exp() - (-i).exp());
    }
}

/// MGH 6, `$r_i = 2 + 2i - (e^{i\theta_1} + e^{i\theta_2})$`.
pub(super) fn jennrich_sampson(theta: &[f64], out: &mut [f64]) {
    let [x1, x2] = parameters(theta);
    for (i, r) in counting().zip(out) {
        *r = 2.0 + 2.0 * i - ((i * x1).exp() + (i * x2).exp());
    }
}

/// MGH 16,
/// `$r_i = (\theta_1 + t_i\theta_2 - e^{t_i})^2 + (\theta_3 + \theta_4 \sin t_i - \cos t_i)^2$`
/// with `$t_i = i/5$`.
pub(super) fn brown_dennis(theta: &[f64], out: &mut [f64]) {
    let [x1, x2, x3, x4] = parameters(theta);
    for (i, r) in counting().zip(out) {
        let t = i / 5.0;
        let exponential = x1 + t * x2 - t.exp();
        let wave = x3 + x4 * t.sin() - t.cos();
        *r = exponential * exponential + wave * wave;
    }
}

/// MGH 17, `$r_i = y_i - (\theta_1 + \theta_2 e^{-t_i\theta_4} + \theta_3 e^{-t_i\theta_5})$` with
/// `$t_i = 10(i - 1)$`.
pub(super) fn osborne1(theta: &[f64], out: &mut [f64]) {
    let [x1, x2, x3, x4, x5] = parameters(theta);
    for ((i, y), r) in counting().zip(OSBORNE1).zip(out) {
        let t = 10.0 * (i - 1.0);
        *r = y - (x1 + x2 * (-t * x4).exp() + x3 * (-t * x5).exp());
    }
}

/// MGH 19, with `$t_i = (i - 1)/10$`,
///
/// ```math
/// r_i = y_i - \bigl(\theta_1 e^{-t_i\theta_5} + \theta_2 e^{-(t_i - \theta_9)^2\theta_6}
///     + \theta_3 e^{-(t_i - \theta_{10})^2\theta_7} + \theta_4 e^{-(t_i - \theta_{11})^2\theta_8}\bigr).
/// ```
pub(super) fn osborne2(theta: &[f64], out: &mut [f64]) {
    let [x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11] = parameters(theta);
    for ((i, y), r) in counting().zip(OSBORNE2).zip(out) {
        let t = (i - 1.0) / 10.0;
        let bump = |centre: f64, rate: f64| (-(t - centre).powi(2) * rate).exp();
        let bumps = x2 * bump(x9, x6) + x3 * bump(x10, x7) + x4 * bump(x11, x8);
        *r = y - (x1 * (-t * x5).exp() + bumps);
    }
}
