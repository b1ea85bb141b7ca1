//! Newton steps on Fourier samples, compared with dense matrices.

use std::f64::consts::TAU;

use approx::assert_relative_eq;
use lowlevel::{NewtonSteps, StronglyConvex, norm};

use super::*;
use crate::operator::LinearOperator;
use crate::{Fourier, FourierSampling, Grid};

const PARAMETERS: TvParameters = TvParameters {
    alpha: 0.3,
    nu: 0.2,
    xi: 0.05,
};

/// Pseudo-random numbers between -1 and 1.
fn pseudo_random(seed: u64, len: usize) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        f64::from(u32::try_from(state >> 33).expect("31 bits")) / f64::from(1_u32 << 30) - 1.0
    };
    (0..len).map(|_| next()).collect()
}

/// A model and a point on a line of `len` samples.
struct Case {
    fourier: Fourier,
    s: Vec<f64>,
    weights: Vec<f64>,
    data: Vec<f64>,
    x: Vec<f64>,
    dual: Vec<f64>,
}

impl Case {
    fn new(len: usize, seed: u64) -> Self {
        let s: Vec<f64> = pseudo_random(seed, len)
            .iter()
            .map(|s| s.abs().powi(3))
            .collect();
        let dual = pseudo_random(seed + 3, 2 * len)
            .iter()
            .map(|p| 1.5 * p)
            .collect();
        Self {
            fourier: Fourier::new(Grid::line(len).complex()).expect("not empty"),
            weights: s.iter().map(|s| s / count(len)).collect(),
            s,
            data: pseudo_random(seed + 1, 2 * len),
            x: pseudo_random(seed + 2, 2 * len),
            dual,
        }
    }

    fn objective(&self) -> FourierSampling<'_> {
        FourierSampling::new(&self.fourier, &self.data, &self.s, PARAMETERS).expect("fits")
    }

    fn model(&self) -> PrimalDual<'_> {
        PrimalDual {
            transform: self.fourier.transform(),
            weights: &self.weights,
            parameters: PARAMETERS,
        }
    }

    fn gradient(&self) -> Vec<f64> {
        let objective = self.objective();
        let mut gradient = vec![0.0; self.x.len()];
        objective.gradient(&self.x, &mut gradient, &mut objective.scratch());
        gradient
    }

    fn with_consistent_duals(mut self) -> Self {
        let mut left = [0.0, 0.0];
        for (p, x) in self.dual.chunks_exact_mut(2).zip(self.x.chunks_exact(2)) {
            let d = [x[0] - left[0], x[1] - left[1]];
            let sigma = (d[0] * d[0] + d[1] * d[1] + PARAMETERS.nu.powi(2)).sqrt();
            p.copy_from_slice(&[d[0] / sigma, d[1] / sigma]);
            left = [x[0], x[1]];
        }
        self
    }

    /// `$M v$`, by the code under test.
    fn product(&self, v: &[f64]) -> Vec<f64> {
        let mut own = SamplingNewtonScratch::new(self.s.len());
        let gradient = self.gradient();
        let at = NewtonPoint {
            x: &self.x,
            gradient: &gradient,
            gradient_norm: norm(&gradient),
            dual: &self.dual,
            target_norm: 0.0,
        };
        self.model().linearise(&at, &mut own);
        let mut fourier = self.fourier.scratch();
        to_complex(Field::Complex, v, &mut fourier.samples);
        self.fourier.transform().forward(&mut fourier);
        let transformed = fourier.samples.clone();
        let mut out = transformed.clone();
        self.model()
            .apply(&own.differences, &transformed, &mut out, &mut fourier);
        fourier.samples.copy_from_slice(&out);
        self.fourier.transform().inverse(&mut fourier);
        let len = count(self.s.len());
        let parts = fourier
            .samples
            .iter()
            .flat_map(|z| [z.re / len, z.im / len]);
        parts.collect()
    }

    /// `$M$` from its definition, column by column.
    fn dense(&self) -> Vec<Vec<f64>> {
        let len = self.s.len();
        let mut columns = vec![vec![0.0; 2 * len]; 2 * len];
        for from in 0..len {
            for to in 0..len {
                let mut entry = Complex::<f64>::ZERO;
                for (k, s) in self.s.iter().enumerate() {
                    let angle = TAU * count(k) * (count(to) - count(from)) / count(len);
                    entry += Complex::from_polar(s / count(len), angle);
                }
                columns[2 * from][2 * to] += entry.re;
                columns[2 * from][2 * to + 1] += entry.im;
                columns[2 * from + 1][2 * to] -= entry.im;
                columns[2 * from + 1][2 * to + 1] += entry.re;
            }
        }
        for (i, column) in columns.iter_mut().enumerate() {
            column[i] += PARAMETERS.xi;
        }
        let TvParameters { alpha, nu, .. } = PARAMETERS;
        for j in 0..len {
            let part =
                |i: usize| self.x[2 * j + i] - if j > 0 { self.x[2 * j - 2 + i] } else { 0.0 };
            let d = [part(0), part(1)];
            let sigma = (d[0] * d[0] + d[1] * d[1] + nu * nu).sqrt();
            let p = [self.dual[2 * j], self.dual[2 * j + 1]];
            let long = p[0].hypot(p[1]).max(1.0);
            for a in 0..2 {
                for b in 0..2 {
                    let identity = if a == b { 1.0 } else { 0.0 };
                    let symmetric = (p[a] * d[b] + d[a] * p[b]) / (2.0 * long * sigma);
                    let w = alpha / sigma * (identity - symmetric);
                    columns[2 * j + b][2 * j + a] += w;
                    if j > 0 {
                        columns[2 * j - 2 + b][2 * j + a] -= w;
                        columns[2 * j + b][2 * j - 2 + a] -= w;
                        columns[2 * j - 2 + b][2 * j - 2 + a] += w;
                    }
                }
            }
        }
        columns
    }

    fn step(&self, target_norm: f64) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
        let objective = self.objective();
        let gradient = self.gradient();
        let at = NewtonPoint {
            x: &self.x,
            gradient: &gradient,
            gradient_norm: norm(&gradient),
            dual: &self.dual,
            target_norm,
        };
        let mut step = vec![f64::NAN; self.x.len()];
        let mut dual_step = step.clone();
        let cost = objective.step(&at, &mut step, &mut dual_step, &mut objective.scratch());
        assert!(cost > 1.0);
        (gradient, step, dual_step)
    }
}

fn multiply(columns: &[Vec<f64>], v: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; v.len()];
    for (column, v) in columns.iter().zip(v) {
        for (out, entry) in out.iter_mut().zip(column) {
            *out += entry * v;
        }
    }
    out
}

#[test]
fn matrix_is_the_definition() {
    for len in [1, 2, 3, 8, 13] {
        for seed in 0..4 {
            let case = Case::new(len, seed);
            for (i, column) in case.dense().iter().enumerate() {
                let mut unit = vec![0.0; 2 * len];
                unit[i] = 1.0;
                assert_relative_eq!(case.product(&unit)[..], column[..], epsilon = 1e-13);
            }
        }
    }
}

#[test]
fn matrix_is_the_hessian_where_the_duals_agree() {
    let case = Case::new(12, 5).with_consistent_duals();
    let objective = case.objective();
    let mut scratch = objective.scratch();
    let direction = pseudo_random(9, 24);
    let step = 1e-5;
    let [ahead, behind] = [step, -step].map(|step| {
        let moved = case.x.iter().zip(&direction);
        let moved: Vec<f64> = moved.map(|(x, v)| x + step * v).collect();
        let mut gradient = vec![0.0; 24];
        objective.gradient(&moved, &mut gradient, &mut scratch);
        gradient
    });
    let slopes = ahead.iter().zip(&behind);
    let slopes: Vec<f64> = slopes.map(|(a, b)| (a - b) / (2.0 * step)).collect();
    assert_relative_eq!(case.product(&direction)[..], slopes[..], epsilon = 1e-7);
}

#[test]
fn steps_solve_their_system_and_lead_downhill() {
    for len in [1, 2, 3, 16, 33, 64] {
        for seed in 0..6 {
            let case = Case::new(len, 10 * seed);
            for wanted in [0.0, 0.1] {
                let (gradient, step, dual_step) = case.step(wanted);
                let residual = multiply(&case.dense(), &step);
                let residual: Vec<f64> =
                    residual.iter().zip(&gradient).map(|(r, g)| r + g).collect();
                let size = norm(&gradient);
                let allowed = (FORCING * size).max((FORCING_TARGET * wanted).min(0.5 * size));
                assert!(norm(&residual) <= 1.000_001 * allowed, "{len} {seed}");
                let slope: f64 = step.iter().zip(&gradient).map(|(s, g)| s * g).sum();
                assert!(slope < 0.0);
                let new = case.dual.iter().zip(&dual_step).map(|(p, step)| p + step);
                let new: Vec<f64> = new.collect();
                assert!(new.chunks_exact(2).all(|p| p[0].hypot(p[1]) <= 1.0 + 1e-15));
            }
        }
    }
}

#[test]
fn one_sample_by_hand() {
    // Without a dual variable M is a number: s + xi + alpha/sigma, where sigma^2 = 0.09 + 0.16 +
    // 0.04.
    let mut case = Case::new(1, 1);
    case.x = vec![0.3, -0.4];
    case.dual = vec![0.0, 0.0];
    let (gradient, step, dual_step) = case.step(0.0);
    let sigma = 0.29_f64.sqrt();
    let m = case.s[0] + 0.05 + 0.3 / sigma;
    assert_relative_eq!(step[0], -gradient[0] / m, max_relative = 1e-13);
    assert_relative_eq!(step[1], -gradient[1] / m, max_relative = 1e-13);
    let p = [(0.3 + step[0]) / sigma, (-0.4 + step[1]) / sigma];
    let long = p[0].hypot(p[1]).max(1.0);
    assert_relative_eq!(
        dual_step[..],
        [p[0] / long, p[1] / long],
        max_relative = 1e-13
    );
}

#[test]
fn duals_follow_the_linearised_equation() {
    // sigma p + p (d . dd) / sigma = d + dd - sigma dp, with all numbers by hand: sigma = 1, d =
    // (0.6, 0), dd = (-0.5, 0.1).
    let difference = Difference::new(0.3, 0.8, [0.6, 0.0], [0.5, 0.2]);
    assert_relative_eq!(difference.sigma, 1.0, max_relative = 1e-15);
    let step = difference.dual_step([-0.5, 0.1], [0.5, 0.2]);
    assert_relative_eq!(
        step[..],
        [0.1 + 0.15 - 0.5, 0.1 + 0.06 - 0.2],
        epsilon = 1e-15
    );
    let weight = [0.3 * (1.0 - 0.3), -0.3 * 0.06, 0.3];
    assert_relative_eq!(difference.weight[..], weight[..], epsilon = 1e-15);
}
