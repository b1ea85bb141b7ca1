use super::super::tests::{difference, point};
use super::*;
use crate::blocks::Blocks;
use crate::linalg::tests::{Random, distance as largest_difference};
use crate::linalg::{orthogonal_complement, product_transposed};
use proptest::prelude::*;

/// A set of points with their residuals.
struct Fixture {
    pool: PointPool<()>,
    set: Vec<usize>,
    center: usize,
    linear: LinearModel,
}

impl Fixture {
    fn new(random: &mut Random, d: usize, count: usize, m: usize) -> Self {
        let mut pool = PointPool::new(count + 1, Blocks::one(m));
        let set: Vec<usize> = (0..count)
            .map(|_| pool.insert(point(&random.vector(d), &random.vector(m))))
            .collect();
        let points: Vec<&[f64]> = set.iter().map(|&slot| &pool.get(slot).u[..]).collect();
        let center = count / 2;
        let linear = LinearModel::new(&points, center).expect("points in general position");
        Self {
            pool,
            set,
            center,
            linear,
        }
    }

    fn refactored(&self) -> Option<LinearModel> {
        let points: Vec<&[f64]> = self
            .set
            .iter()
            .map(|&slot| &self.pool.get(slot).u[..])
            .collect();
        LinearModel::new(&points, self.center)
    }

    fn residuals(&self, t: usize) -> &[f64] {
        &self.pool.get(self.set[t]).residuals
    }

    fn step_to(&self, t: usize) -> Vec<f64> {
        difference(
            &self.pool.get(self.set[t]).u,
            &self.pool.get(self.set[self.center]).u,
        )
    }

    /// `$J = \sum_t r_t g_t^\top$` from the residuals themselves.
    fn jacobian(&self, linear: &LinearModel) -> Matrix {
        let m = self.residuals(0).len();
        Matrix::from_fn(m, linear.gradients.rows(), |i, j| {
            (0..self.set.len())
                .map(|t| self.residuals(t)[i] * linear.gradient(t)[j])
                .sum()
        })
    }

    /// The largest `$|\ell_t(x_s) - \delta_{ts}|$`.
    fn deviation(&self) -> f64 {
        let mut most = 0.0_f64;
        for s in 0..self.set.len() {
            for (t, value) in self
                .linear
                .values(&self.step_to(s), self.center)
                .iter()
                .enumerate()
            {
                most = most.max((value - f64::from(u8::from(t == s))).abs());
            }
        }
        most
    }

    /// Gauss-Newton matrix and slope against the Jacobian.
    fn check_products(&mut self, tolerance: f64) {
        let fresh = self.refactored().expect("independent points");
        let jacobian = self.jacobian(&fresh);
        let expected = product_transposed(&jacobian, &jacobian);
        // what rounding errors are relative to: the terms of the sum, which may cancel
        let terms = (0..self.set.len()).map(|t| norm(fresh.gradient(t)) * norm(self.residuals(t)));
        let size = terms.sum::<f64>().powi(2);
        let found = self.linear.gauss_newton(&self.pool, &self.set, self.center);
        assert!(
            largest_difference(found, &expected) <= tolerance * size,
            "{found:?} {expected:?}"
        );
        // the model's residuals at the incumbent
        let m = self.residuals(0).len();
        let base: Vec<f64> = (0..m)
            .map(|i| {
                (0..self.set.len())
                    .map(|t| fresh.constant(t, self.center) * self.residuals(t)[i])
                    .sum()
            })
            .collect();
        let mut slope = vec![0.0; jacobian.cols()];
        jacobian.mul_vec_transposed(&base, &mut slope);
        let found = self.linear.slope(&self.pool, &self.set, self.center);
        let error = norm(&difference(&found, &slope));
        assert!(
            error <= tolerance * size.sqrt() * (1.0 + norm(&base)),
            "{found:?} {slope:?}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Many replacements of rank one, with the incumbent changing in between.
    #[test]
    fn replacements_agree_with_a_new_factorisation(seed in any::<u64>(), d in 1_usize..8, m in 1_usize..30) {
        let mut random = Random::new(seed);
        let mut fixture = Fixture::new(&mut random, d, d + 1, m);
        prop_assert_eq!(fixture.linear.fit, Fit::Interpolation);
        let (mut cheap, mut anew) = (0, 0);
        for round in 0..60 {
            fixture.check_products(1e-6);
            let step: Vec<f64> = random.vector(d);
            let values = fixture.linear.values(&step, fixture.center);
            prop_assert!((values.iter().sum::<f64>() - 1.0).abs() < 1e-7);
            // the largest, as the engine does; now and then any other that will do
            let best = |a: &usize, b: &usize| values[*a].abs().total_cmp(&values[*b].abs());
            let mut t = (0..=d).max_by(best).expect("points");
            if round % 3 == 0 && values[round % (d + 1)].abs() > 0.2 {
                t = round % (d + 1);
            }
            let u: Vec<f64> = (fixture.pool.get(fixture.set[fixture.center]).u.iter()).zip(&step).map(|(u, s)| u + s).collect();
            let slot = fixture.pool.insert(point(&u, &random.vector(m)));
            let updated = fixture.linear.replace(t, &step, slot, &fixture.pool, &fixture.set, fixture.center);
            fixture.pool.remove(fixture.set[t]);
            fixture.set[t] = slot;
            let fresh = fixture.refactored().expect("independent points");
            if updated {
                cheap += 1;
            } else {
                anew += 1;
                fixture.linear = fresh.clone();
            }
            let error = norm(&difference(fixture.linear.gradients.as_slice(), fresh.gradients.as_slice()));
            prop_assert!(error <= 1e-7 * norm(fresh.gradients.as_slice()));
            prop_assert!(fixture.deviation() < 1e-7);
            // another incumbent changes no gradient
            fixture.center = (fixture.center + round) % (d + 1);
            prop_assert!(fixture.deviation() < 1e-7);
        }
        prop_assert!(cheap >= 40 && anew >= 2, "{cheap} {anew}");
    }

    /// Fewer points: the Jacobian meets the residuals and vanishes where the set says nothing, so
    /// its norm is least.
    #[test]
    fn too_few_points_give_the_least_jacobian(seed in any::<u64>(), d in 2_usize..8, missing in 1_usize..7, m in 1_usize..6) {
        let mut random = Random::new(seed);
        let count = (d + 1).saturating_sub(missing).max(2);
        let mut fixture = Fixture::new(&mut random, d, count, m);
        prop_assert_eq!(fixture.linear.fit, Fit::Underdetermined);
        prop_assert!(fixture.deviation() < 1e-8);
        let jacobian = fixture.jacobian(&fixture.linear);
        let others: Vec<usize> = (0..count).filter(|&t| t != fixture.center).collect();
        let steps: Vec<Vec<f64>> = others.iter().map(|&t| fixture.step_to(t)).collect();
        let span = Matrix::from_fn(d, steps.len(), |i, j| steps[j][i]);
        let rest = orthogonal_complement(&span, 1e-9);
        prop_assert_eq!(rest.cols(), d - others.len());
        prop_assert!(crate::linalg::max_abs(product(&jacobian, &rest).as_slice()) < 1e-8);
        for (step, &t) in steps.iter().zip(&others) {
            let mut image = vec![0.0; m];
            jacobian.mul_vec(step, &mut image);
            let expected = difference(fixture.residuals(t), fixture.residuals(fixture.center));
            prop_assert!(norm(&difference(&image, &expected)) < 1e-8);
        }
        fixture.check_products(1e-8);
        let slot = fixture.pool.insert(point(&random.vector(d), &random.vector(m)));
        let updated = fixture.linear.replace(0, &random.vector(d), slot, &fixture.pool, &fixture.set, fixture.center);
        prop_assert!(!updated);
    }

    /// More points: the normal equations `$W^\top(W x - R) = 0$`.
    #[test]
    fn too_many_points_give_least_squares(seed in any::<u64>(), d in 1_usize..6, more in 1_usize..10, m in 1_usize..6) {
        let mut random = Random::new(seed);
        let count = d + 1 + more;
        let mut fixture = Fixture::new(&mut random, d, count, m);
        prop_assert_eq!(fixture.linear.fit, Fit::Regression);
        let jacobian = fixture.jacobian(&fixture.linear);
        let mut normal = Matrix::zeros(d + 1, m);
        for t in 0..count {
            let step = fixture.step_to(t);
            let mut fitted = vec![0.0; m];
            jacobian.mul_vec(&step, &mut fitted);
            for i in 0..m {
                let constant: f64 = (0..count).map(|s| fixture.linear.constant(s, fixture.center) * fixture.residuals(s)[i]).sum();
                let error = fitted[i] + constant - fixture.residuals(t)[i];
                normal[(0, i)] += error;
                for j in 0..d {
                    normal[(j + 1, i)] += error * step[j];
                }
            }
        }
        prop_assert!(crate::linalg::max_abs(normal.as_slice()) < 1e-8, "{normal:?}");
        fixture.check_products(1e-8);
        // least squares reproduce linear functions, whichever point is the centre
        let values = fixture.linear.values(&fixture.step_to(0), fixture.center);
        prop_assert!((values.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        for j in 0..d {
            let sum: f64 = (0..count).map(|t| values[t] * fixture.step_to(t)[j]).sum();
            prop_assert!((sum - fixture.step_to(0)[j]).abs() < 1e-9);
        }
    }
}

/// Residuals that changed must not be seen through the old matrix.
#[test]
fn changed_residuals_are_seen() {
    let mut random = Random::new(1);
    let mut fixture = Fixture::new(&mut random, 3, 4, 5);
    fixture.check_products(1e-9);
    fixture
        .pool
        .set_residuals(fixture.set[1], random.vector(5).into());
    fixture.linear.forget_residuals();
    fixture.check_products(1e-9);
}

#[test]
fn dependent_points_have_no_polynomials() {
    let linear = |points: &[[f64; 2]]| {
        let points: Vec<&[f64]> = points.iter().map(|point| &point[..]).collect();
        LinearModel::new(&points, 0)
    };
    assert!(linear(&[[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]).is_none());
    assert!(linear(&[[0.0, 0.0], [0.0, 0.0]]).is_none());
    assert!(linear(&[[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]).is_none());
    assert!(linear(&[[0.0, 0.0], [f64::NAN, 1.0], [1.0, 0.0]]).is_none());
    // near and far points are not dependent
    let far = linear(&[[0.0, 0.0], [1e-9, 0.0], [0.0, 1e3]]).expect("independent points");
    assert!((far.gradient(1)[0] - 1e9).abs() < 1.0 && (far.gradient(2)[1] - 1e-3).abs() < 1e-15);
}
