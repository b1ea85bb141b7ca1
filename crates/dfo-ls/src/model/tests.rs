use super::*;
use crate::constraints::{Bounds, FeasibleSet};
use crate::linalg::Matrix;
use crate::linalg::tests::Random;
use crate::options::{Scaling, TrustStep};
use crate::space::Space;
use crate::{Accuracy, L1, Regularizer};
use pool::Point;
use proptest::prelude::*;

/// An exactly evaluated point.
pub(super) fn point(u: &[f64], residuals: &[f64]) -> Point<()> {
    Point {
        u: u.to_vec(),
        theta: u.to_vec(),
        residuals: residuals.to_vec().into(),
        objective: dot(residuals, residuals),
        penalty: 0.0,
        accuracy: Accuracy::EXACT,
        asked: Accuracy::EXACT,
        at_floor: false,
        samples: 1,
        resume: None,
        number: 0,
    }
}

pub(super) fn difference(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

/// `$r_i(u) = c_i + g_i^\top u + u^\top H_i u/2$`
pub(super) struct Quadratics {
    pub(super) constants: Vec<f64>,
    pub(super) gradients: Matrix,
    pub(super) hessians: Vec<Matrix>,
}

impl Quadratics {
    pub(super) fn new(random: &mut Random, d: usize, m: usize, bend: f64) -> Self {
        let hessians = (0..m).map(|_| {
            let a = random.matrix(d, d);
            Matrix::from_fn(d, d, |i, j| bend * (a[(i, j)] + a[(j, i)]))
        });
        Self {
            hessians: hessians.collect(),
            constants: random.vector(m),
            gradients: random.matrix(d, m),
        }
    }

    pub(super) fn at(&self, u: &[f64]) -> Vec<f64> {
        let one = |i: usize| {
            let mut image = vec![0.0; u.len()];
            self.hessians[i].mul_vec(u, &mut image);
            self.constants[i] + dot(self.gradients.col(i), u) + 0.5 * dot(u, &image)
        };
        (0..self.constants.len()).map(one).collect()
    }
}

/// The model of residuals known at `points` (columns) and at zero.
pub(super) fn composite(
    points: &Matrix,
    noise: &[f64],
    center: &[f64],
    residuals: &[Vec<f64>],
) -> Option<CompositeModel> {
    let rows: Vec<Vec<f64>> = residuals.iter().map(|r| difference(r, center)).collect();
    let gram = Matrix::from_fn(rows.len(), rows.len(), |t, s| dot(&rows[t], &rows[s]));
    let along = rows.iter().map(|row| dot(row, center)).collect();
    CompositeModel::new(points.clone(), noise, gram, along)
}

fn random_composite(random: &mut Random, d: usize, bend: f64) -> Option<ObjectiveModel> {
    let residuals = Quadratics::new(random, d, d + 1, bend);
    // both ways along every parameter, a little moved
    let points = Matrix::from_fn(d, 2 * d, |j, t| {
        let along = if t < d { 1.0 } else { -1.0 };
        f64::from(u8::from(j == t % d)) * along + 0.2 * random.next()
    });
    let values: Vec<Vec<f64>> = (0..2 * d).map(|t| residuals.at(points.col(t))).collect();
    composite(&points, &vec![0.0; 2 * d], &residuals.constants, &values)
        .map(ObjectiveModel::Composite)
}

fn random_gauss_newton(random: &mut Random, d: usize) -> ObjectiveModel {
    let a = random.matrix(d + 1, d);
    let matrix = crate::linalg::product_transposed(&a, &a);
    let hessian = matrix.scaled(2.0);
    let gradient = random.vector(d);
    ObjectiveModel::GaussNewton(Taylor { gradient, hessian })
}

/// Bounds in units of the parameters, around the start.
fn space(lower: &[f64], upper: &[f64]) -> (Space, FeasibleSet) {
    let feasible = FeasibleSet::Box(Bounds::new(lower, upper).expect("valid bounds"));
    let units = Scaling::Given(vec![1.0; lower.len()]);
    let space = Space::new(&vec![0.0; lower.len()], &feasible, &units, false);
    (space, feasible)
}

/// The decrease at the first minimiser on the projected gradient path in the ball of radius one:
/// theory needs a share of it. A quartic may have a deeper valley farther on, which a local method
/// need not find.
fn cauchy(model: &ObjectiveModel, gradient: &[f64], region: &StepRegion<'_>) -> f64 {
    let mut least = 0.0_f64;
    for k in 0..600 {
        let t = 10_f64.powf(0.015 * f64::from(k) - 6.0) / norm(gradient);
        let v: Vec<f64> = (gradient.iter().enumerate())
            .map(|(j, g)| (-t * g).clamp(region.lower()[j], region.upper()[j]))
            .collect();
        let value = model.change(&v) + region.penalty(&v);
        if norm(&v) > 1.0 || value > least {
            break;
        }
        least = value;
    }
    -least
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Steps are inside ball and bounds, have at least the decrease along the projected gradient,
    /// and predict the change of the model.
    #[test]
    fn steps_have_at_least_the_cauchy_decrease(
        seed in any::<u64>(), d in 1_usize..6, log_bend in -3.0..1.0_f64, quartic in any::<bool>(), bounded in any::<bool>(),
        log_radius in -3.0..1.0_f64,
    ) {
        let mut random = Random::new(seed);
        let model = if quartic {
            random_composite(&mut random, d, 10_f64.powf(log_bend))
        } else {
            Some(random_gauss_newton(&mut random, d))
        };
        let model = model.expect("points in general position");
        // the region in multiples of the radius, which the model is made for
        let delta = 10_f64.powf(log_radius);
        let reach = if bounded { 0.4 * delta } else { 1e3 * delta };
        let lower: Vec<f64> = random.vector(d).iter().map(|x| reach * (x.min(0.7) - 1.0).min(0.0)).collect();
        let upper: Vec<f64> = random.vector(d).iter().map(|x| reach * (x + 1.0)).collect();
        let (space, feasible) = space(&lower, &upper);
        let zero = vec![0.0; d];
        let region = StepRegion::new(&space, &feasible, None, &zero, delta, delta);
        let step = model.minimize(&region, TrustStep::Exact);
        prop_assert!(norm(&step.v) <= 1.0 + 1e-9);
        for j in 0..d {
            prop_assert!(delta * step.v[j] >= lower[j] - 1e-12 * delta && delta * step.v[j] <= upper[j] + 1e-12 * delta);
        }
        prop_assert_eq!(step.decrease.to_bits(), (-(model.change(&step.v) + region.penalty(&step.v))).to_bits());
        let first = match &model {
            ObjectiveModel::GaussNewton(taylor) => taylor.clone(),
            ObjectiveModel::Composite(composite) => composite.taylor(&zero),
        };
        prop_assert!((step.gradient_norm - norm(&first.gradient)).abs() <= 1e-12 * step.gradient_norm);
        let best = cauchy(&model, &first.gradient, &region);
        let share = if quartic { 0.5 } else { 1.0 - 1e-6 };
        prop_assert!(step.decrease >= share * best - 1e-12, "{} {}", step.decrease, best);
        for j in 0..d {
            prop_assert!((step.diagonal[j] - first.hessian[(j, j)]).abs() <= 1e-12 * first.hessian[(j, j)].abs());
            // exact for polynomials of degree four, up to rounding
            let h = 0.25;
            let at = |shift: f64| {
                let mut v = step.v.clone();
                v[j] += shift;
                model.change(&v)
            };
            let slope = (8.0 * (at(h) - at(-h)) - (at(2.0 * h) - at(-2.0 * h))) / (12.0 * h);
            let size = at(2.0 * h).abs() + at(-2.0 * h).abs() + norm(&first.gradient);
            prop_assert!((slope - step.end_gradient[j]).abs() <= 1e-9 * size, "{slope} {:?}", step.end_gradient);
        }
    }

    /// A regulariser counts in the prediction.
    #[test]
    fn predictions_count_the_regulariser(seed in any::<u64>(), d in 1_usize..4, quartic in any::<bool>(), weight in 0.0..2.0_f64) {
        let mut random = Random::new(seed);
        let model = if quartic { random_composite(&mut random, d, 0.1) } else { Some(random_gauss_newton(&mut random, d)) };
        let model = model.expect("points in general position");
        let start: Vec<f64> = random.vector(d);
        let feasible = FeasibleSet::Free;
        let space = Space::new(&start, &feasible, &Scaling::Given(vec![2.0; d]), true);
        let h = L1 { weight };
        let zero = vec![0.0; d];
        let region = StepRegion::new(&space, &feasible, Some(&h), &zero, 0.3, 0.3);
        let step = model.minimize(&region, TrustStep::Exact);
        let theta: Vec<f64> = start.iter().zip(&step.v).map(|(x, v)| x + 2.0 * 0.3 * v).collect();
        let expected = -model.change(&step.v) - (h.value(&theta) - h.value(&start));
        prop_assert!((step.decrease - expected).abs() <= 1e-12 * (1.0 + expected.abs()));
        prop_assert!(step.decrease >= 0.0 && norm(&step.v) <= 1.0 + 1e-9);
    }
}

/// At a stationary point the step and the predicted decrease are zero.
#[test]
fn nothing_is_promised_where_nothing_decreases() {
    let points = Matrix::from_fn(2, 4, |j, t| [1.0, 0.0, -1.0, 0.0, 1.0][j + t]);
    let residuals: Vec<Vec<f64>> = (0..4).map(|_| vec![1.0, 0.0]).collect();
    let model =
        composite(&points, &[0.0; 4], &[1.0, 0.0], &residuals).map(ObjectiveModel::Composite);
    let (space, feasible) = space(&[-1.0; 2], &[1.0; 2]);
    let region = StepRegion::new(&space, &feasible, None, &[0.0; 2], 1.0, 1.0);
    let step = model.expect("a model").minimize(&region, TrustStep::Exact);
    assert!(
        step.decrease.abs() < 1e-300 && norm(&step.v) < 1e-300,
        "{step:?}"
    );
}

/// `$r(u) = u^2 + 3u - 1$`, known exactly from three points: the second-order step `$3/7$` leaves
/// `$r^2 = 0.22$`, the corrections go on to the root.
#[test]
fn corrections_find_the_minimum_of_the_quartic() {
    let points = Matrix::from_fn(1, 2, |_, t| [1.0, -1.0][t]);
    let model = composite(&points, &[0.0; 2], &[-1.0], &[vec![3.0], vec![-3.0]]);
    let model = ObjectiveModel::Composite(model.expect("a model"));
    let (space, feasible) = space(&[-9.0], &[9.0]);
    let region = StepRegion::new(&space, &feasible, None, &[0.0], 1.0, 1.0);
    let step = model.minimize(&region, TrustStep::Exact);
    let root = 0.5 * (13_f64.sqrt() - 3.0);
    assert!((step.v[0] - root).abs() < 1e-3, "{step:?}");
    assert!((step.decrease - 1.0).abs() < 1e-5 && step.end_gradient[0].abs() < 0.02);
}
