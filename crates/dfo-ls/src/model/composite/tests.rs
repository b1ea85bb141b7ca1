use super::super::tests::{Quadratics, composite, difference};
use super::*;
use crate::linalg::tests::Random;
use crate::linalg::{inverse, norm};
use proptest::prelude::*;

/// `$\pm e_i$` and `$e_i + e_j$`, all a little moved: the first `count` of them determine
/// quadratics well.
fn good_points(random: &mut Random, d: usize, count: usize) -> Matrix {
    let mut columns: Vec<Vec<f64>> = Vec::new();
    for sign in [1.0, -1.0] {
        for j in 0..d {
            columns.push((0..d).map(|i| if i == j { sign } else { 0.0 }).collect());
        }
    }
    for i in 0..d {
        for j in 0..i {
            let pair = |k: usize| if k == i || k == j { 0.7 } else { 0.0 };
            columns.push((0..d).map(pair).collect());
        }
    }
    Matrix::from_fn(d, count, |i, t| columns[t][i] + 0.1 * random.next())
}

/// The number of coefficients of a quadratic, without the constant.
fn full(d: usize) -> usize {
    (d + 1) * (d + 2) / 2 - 1
}

struct Fixture {
    center: Vec<f64>,
    values: Vec<Vec<f64>>,
    points: Matrix,
    model: CompositeModel,
}

impl Fixture {
    fn new(points: Matrix, center: Vec<f64>, values: Vec<Vec<f64>>, noise: &[f64]) -> Self {
        let model =
            composite(&points, noise, &center, &values).expect("points in general position");
        Self {
            center,
            values,
            points,
            model,
        }
    }

    /// `$\tilde r(u)$`
    fn residuals(&self, u: &[f64]) -> Vec<f64> {
        let beta = self.model.coefficients(u, &self.model.projections(u));
        let mut out = self.center.clone();
        for (value, beta) in self.values.iter().zip(&beta) {
            for ((out, r), c) in out.iter_mut().zip(value).zip(&self.center) {
                *out += beta * (r - c);
            }
        }
        out
    }

    /// The Hessian of residual `i`, by differences, which are exact for quadratics.
    fn hessian(&self, i: usize) -> Matrix {
        let d = self.points.rows();
        let at = |j: usize, k: usize| {
            let mut u = vec![0.0; d];
            if j < d {
                u[j] += 1.0;
            }
            if k < d {
                u[k] += 1.0;
            }
            self.residuals(&u)[i]
        };
        Matrix::from_fn(d, d, |j, k| at(j, k) - at(j, d) - at(d, k) + at(d, d))
    }
}

fn random_fixture(random: &mut Random, d: usize, extras: usize, m: usize, noise: f64) -> Fixture {
    let truth = Quadratics::new(random, d, m, 0.5);
    let count = (d + extras).min(full(d));
    let points = good_points(random, d, count);
    let values = (0..count).map(|t| truth.at(points.col(t))).collect();
    let noise: Vec<f64> = (0..count).map(|t| noise * (1.0 + t as f64)).collect();
    Fixture::new(points, truth.constants, values, &noise)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn all_points_are_met(seed in any::<u64>(), d in 1_usize..6, extras in 1_usize..16, m in 1_usize..8) {
        let fixture = random_fixture(&mut Random::new(seed), d, extras, m, 0.0);
        for (t, value) in fixture.values.iter().enumerate() {
            let z = fixture.points.col(t);
            prop_assert!(norm(&difference(&fixture.residuals(z), value)) < 1e-8);
            let change = dot(value, value) - dot(&fixture.center, &fixture.center);
            prop_assert!((fixture.model.change(z) - change).abs() < 1e-8, "{} {}", fixture.model.change(z), change);
        }
    }

    /// With as many points as quadratics have coefficients, the model is the function.
    #[test]
    fn quadratics_are_found_exactly(seed in any::<u64>(), d in 1_usize..6, m in 1_usize..8) {
        let mut random = Random::new(seed);
        let truth = Quadratics::new(&mut random, d, m, 0.5);
        let points = good_points(&mut random, d, full(d));
        let values: Vec<Vec<f64>> = (0..full(d)).map(|t| truth.at(points.col(t))).collect();
        let fixture = Fixture::new(points, truth.constants.clone(), values, &vec![0.0; full(d)]);
        for _ in 0..5 {
            let u: Vec<f64> = random.vector(d).iter().map(|x| 2.0 * x).collect();
            let exact = truth.at(&u);
            prop_assert!(norm(&difference(&fixture.residuals(&u), &exact)) < 1e-7);
            let change = dot(&exact, &exact) - dot(&truth.constants, &truth.constants);
            prop_assert!((fixture.model.change(&u) - change).abs() < 1e-7 * (1.0 + change.abs()));
        }
        let sum: f64 = truth.hessians.iter().map(|h| dot(h.as_slice(), h.as_slice())).sum();
        prop_assert!((fixture.model.curvature() - sum.sqrt()).abs() < 1e-6);
    }

    /// Differences that are exact for polynomials of degree four.
    #[test]
    fn derivatives_are_right(seed in any::<u64>(), d in 1_usize..6, extras in 1_usize..10, noise in 0.0..0.3_f64) {
        let mut random = Random::new(seed);
        let model = random_fixture(&mut random, d, extras, 4, noise).model;
        let h = 0.3;
        let along = |u: &[f64], j: usize, shift: f64| {
            let mut u = u.to_vec();
            u[j] += shift;
            u
        };
        for u in [vec![0.0; d], random.vector(d), random.vector(d)] {
            let taylor = model.taylor(&u);
            prop_assert!(norm(&difference(&taylor.gradient, &model.gradient(&u))) < 1e-10);
            prop_assert_eq!(&taylor.hessian, &taylor.hessian.transpose());
            for j in 0..d {
                let f = |shift: f64| model.change(&along(&u, j, shift));
                let slope = (8.0 * (f(h) - f(-h)) - (f(2.0 * h) - f(-2.0 * h))) / (12.0 * h);
                prop_assert!((slope - taylor.gradient[j]).abs() < 1e-9 * (1.0 + slope.abs()), "{slope} {:?}", taylor.gradient);
                for i in 0..d {
                    let g = |shift: f64| model.taylor(&along(&u, j, shift)).gradient[i];
                    let bend = (8.0 * (g(h) - g(-h)) - (g(2.0 * h) - g(-2.0 * h))) / (12.0 * h);
                    prop_assert!((bend - taylor.hessian[(i, j)]).abs() < 1e-9 * (1.0 + bend.abs()), "{bend} {i} {j}");
                }
            }
        }
        prop_assert!(model.change(&vec![0.0; d]).abs() < 1e-300);
    }

    /// `$\sqrt{\sum_i \|H_i\|_F^2}$` from the Hessians themselves.
    #[test]
    fn curvature_is_the_norm_of_the_hessians(seed in any::<u64>(), d in 1_usize..5, extras in 1_usize..8, m in 1_usize..5, noise in 0.0..0.3_f64) {
        let fixture = random_fixture(&mut Random::new(seed), d, extras, m, noise);
        let sum: f64 = (0..m).map(|i| fixture.hessian(i)).map(|h| dot(h.as_slice(), h.as_slice())).sum();
        prop_assert!((fixture.model.curvature() - sum.sqrt()).abs() < 1e-8 * (1.0 + sum.sqrt()));
    }

    /// Against the dense problem: `$\min \|H\|_F^2$` so that
    /// `$g^\top z_t + z_t^\top H z_t/2 = r_t - r_k$`, in the unknowns `$g$` and the entries of
    /// `$H$`, those off the diagonal times `$\sqrt 2$`.
    #[test]
    fn curvature_is_least(seed in any::<u64>(), d in 1_usize..5, extras in 1_usize..8) {
        let mut random = Random::new(seed);
        let fixture = random_fixture(&mut random, d, extras, 1, 0.0);
        let p = fixture.points.cols();
        let pairs: Vec<(usize, usize)> = (0..d).flat_map(|i| (0..=i).map(move |j| (i, j))).collect();
        let n = d + pairs.len();
        // half of H_ii z_i^2, and H_ij z_i z_j = (sqrt 2 H_ij) z_i z_j / sqrt 2
        let column = |z: &[f64], a: usize| {
            if a < d {
                return z[a];
            }
            let (i, j) = pairs[a - d];
            z[i] * z[j] * if i == j { 0.5 } else { 0.5_f64.sqrt() }
        };
        let kkt = Matrix::from_fn(n + p, n + p, |a, b| match (a < n, b < n) {
            (true, true) => f64::from(u8::from(a == b && a >= d)),
            (true, false) => column(fixture.points.col(b - n), a),
            (false, true) => column(fixture.points.col(a - n), b),
            (false, false) => 0.0,
        });
        let right: Vec<f64> = (0..n + p)
            .map(|a| if a < n { 0.0 } else { fixture.values[a - n][0] - fixture.center[0] })
            .collect();
        let mut solution = vec![0.0; n + p];
        inverse(&kkt).expect("independent points").mul_vec(&right, &mut solution);
        for _ in 0..5 {
            let u = random.vector(d);
            let dense = fixture.center[0] + (0..n).map(|a| solution[a] * column(&u, a)).sum::<f64>();
            prop_assert!((fixture.residuals(&u)[0] - dense).abs() < 1e-7, "{:?} {dense}", fixture.residuals(&u));
        }
        prop_assert!((fixture.model.curvature() - norm(&solution[d..n])).abs() < 1e-7);
    }

    /// The conditions of the smoothing problem: `$r_t - \tilde r(z_t) = \nu_t^2 \lambda_t$` with
    /// `$H = \sum_t \lambda_t z_t z_t^\top$` and `$\sum_t \lambda_t z_t = 0$`.
    #[test]
    fn noise_is_smoothed(seed in any::<u64>(), d in 1_usize..5, extras in 1_usize..8, noise in 0.05..0.5_f64) {
        let mut random = Random::new(seed);
        let truth = Quadratics::new(&mut random, d, 1, 0.5);
        let count = (d + extras).min(full(d));
        let points = good_points(&mut random, d, count);
        let values: Vec<Vec<f64>> = (0..count).map(|t| truth.at(points.col(t))).collect();
        let noise: Vec<f64> = (0..count).map(|_| noise * (1.5 + random.next())).collect();
        let fixture = Fixture::new(points, truth.constants, values, &noise);
        let lambda: Vec<f64> = (0..count)
            .map(|t| (fixture.values[t][0] - fixture.residuals(fixture.points.col(t))[0]) / (noise[t] * noise[t]))
            .collect();
        let expected = Matrix::from_fn(d, d, |i, j| (0..count).map(|t| lambda[t] * fixture.points[(i, t)] * fixture.points[(j, t)]).sum());
        let found = fixture.hessian(0);
        prop_assert!(norm(&difference(expected.as_slice(), found.as_slice())) < 1e-7, "{expected:?} {found:?}");
        for j in 0..d {
            let sum: f64 = (0..count).map(|t| lambda[t] * fixture.points[(j, t)]).sum();
            prop_assert!(sum.abs() < 1e-7);
        }
    }
}

/// An outlier that is known to be noisy hardly counts; taken for exact, it is met.
#[test]
fn noisy_points_are_not_met() {
    let mut random = Random::new(5);
    let truth = Quadratics::new(&mut random, 3, 2, 0.0);
    let points = good_points(&mut random, 3, 6);
    let mut values: Vec<Vec<f64>> = (0..6).map(|t| truth.at(points.col(t))).collect();
    values[4][0] += 1.0;
    for (level, met) in [(0.0, true), (100.0, false)] {
        let mut noise = [0.0; 6];
        noise[4] = level;
        let fixture = Fixture::new(
            points.clone(),
            truth.constants.clone(),
            values.clone(),
            &noise,
        );
        let error = fixture.values[4][0] - fixture.residuals(points.col(4))[0];
        let expected = if met { 0.0 } else { 1.0 };
        assert!((error - expected).abs() < 1e-3, "{error}");
        let others = (0..6).filter(|&t| t != 4);
        for t in others {
            assert!(
                norm(&difference(
                    &fixture.residuals(points.col(t)),
                    &fixture.values[t]
                )) < 1e-6
            );
        }
    }
}

#[test]
fn nan_gives_no_model() {
    let points = Matrix::from_fn(2, 3, |i, t| [[1.0, 0.0], [0.0, 1.0], [f64::NAN, 1.0]][t][i]);
    assert!(CompositeModel::new(points, &[0.0; 3], Matrix::zeros(3, 3), vec![0.0; 3]).is_none());
}
