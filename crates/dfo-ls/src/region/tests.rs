use super::*;
use crate::linalg::tests::Random;
use crate::linalg::{Matrix, norm, product_transposed};
use crate::options::Scaling;
use crate::{Bounds, L1, Projection};
use proptest::prelude::*;

/// All points of a fine polar grid.
fn disc(radius: f64) -> impl Iterator<Item = [f64; 2]> {
    (0..=60).flat_map(move |r| {
        (0..240).map(move |a| {
            let angle = f64::from(a) * std::f64::consts::TAU / 240.0;
            let length = radius * f64::from(r) / 60.0;
            [length * angle.cos(), length * angle.sin()]
        })
    })
}

struct Setup {
    space: Space,
    feasible: FeasibleSet,
    center: Vec<f64>,
    radius: f64,
    unit: f64,
}

impl Setup {
    fn region<'a>(&'a self, h: Option<&'a dyn Regularizer>) -> StepRegion<'a> {
        StepRegion::new(
            &self.space,
            &self.feasible,
            h,
            &self.center,
            self.radius,
            self.unit,
        )
    }

    /// The parameters at `$v$`, which may be outside the set by rounding errors.
    fn theta(&self, v: &[f64]) -> Vec<f64> {
        let units = self.space.units();
        let origin = self.space.theta(&[0.0; 2]);
        (0..2)
            .map(|j| origin[j] + units[j] * (self.center[j] + self.unit * v[j]))
            .collect()
    }

    fn inside(&self, v: &[f64], slack: f64) -> bool {
        let theta = self.theta(v);
        let fine = match &self.feasible {
            FeasibleSet::Free => true,
            FeasibleSet::Box(bounds) => (0..2).all(|j| {
                theta[j] >= bounds.lower()[j] - slack && theta[j] <= bounds.upper()[j] + slack
            }),
            FeasibleSet::Convex(sets) => sets.iter().all(|set| {
                let mut nearest = theta.clone();
                set.project(&mut nearest);
                (nearest[0] - theta[0]).hypot(nearest[1] - theta[1]) <= slack
            }),
        };
        fine && norm(v) * self.unit <= self.radius * (1.0 + 1e-9)
    }
}

fn boxed(random: &mut Random, unit: f64, one_unit: bool) -> Setup {
    let lower: Vec<f64> = random.vector(2).iter().map(|x| -0.3 + 0.29 * x).collect();
    let upper: Vec<f64> = random.vector(2).iter().map(|x| 0.3 + 0.29 * x).collect();
    let feasible = FeasibleSet::Box(Bounds::new(lower, upper).expect("valid bounds"));
    let units = if one_unit {
        vec![2.0; 2]
    } else {
        vec![2.0, 0.5]
    };
    let space = Space::new(
        &[0.005, -0.005],
        &feasible,
        &Scaling::Given(units),
        one_unit,
    );
    Setup {
        space,
        feasible,
        center: vec![0.001, -0.001],
        radius: 0.2,
        unit,
    }
}

/// A disc cut by a half plane, both through theta near the start.
fn convex(random: &mut Random, unit: f64) -> Setup {
    let middle = [0.3 * random.next(), 0.3 * random.next()];
    let normal = (3.0 * random.next()).sin_cos();
    let ball = move |theta: &mut [f64]| {
        let (x, y) = (theta[0] - middle[0], theta[1] - middle[1]);
        let scale = (0.6 / x.hypot(y)).min(1.0);
        theta.copy_from_slice(&[middle[0] + scale * x, middle[1] + scale * y]);
    };
    let plane = move |theta: &mut [f64]| {
        let excess = (theta[0] * normal.0 + theta[1] * normal.1 - 0.1).max(0.0);
        theta[0] -= excess * normal.0;
        theta[1] -= excess * normal.1;
    };
    let sets: Vec<Box<dyn Projection>> = vec![Box::new(ball), Box::new(plane)];
    let feasible = FeasibleSet::Convex(sets);
    let space = Space::new(&[0.0; 2], &feasible, &Scaling::Given(vec![2.0; 2]), true);
    Setup {
        space,
        feasible,
        center: vec![0.01, -0.01],
        radius: 0.2,
        unit,
    }
}

fn setup(kind: u8, random: &mut Random, unit: f64, one_unit: bool) -> Setup {
    match kind {
        0 => boxed(random, unit, one_unit),
        1 => convex(random, unit),
        _ => {
            let feasible = FeasibleSet::Free;
            let start = [0.1 * random.next(), 0.1 * random.next()];
            let space = Space::new(&start, &feasible, &Scaling::Given(vec![2.0; 2]), true);
            Setup {
                space,
                feasible,
                center: vec![0.03, -0.02],
                radius: 0.2,
                unit,
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn largest_absolute_values_are_found(seed in any::<u64>(), kind in 0_u8..2, unit in 0.1..2.0_f64) {
        let mut random = Random::new(seed);
        let setup = setup(kind, &mut random, unit, false);
        let region = setup.region(None);
        let (constant, gradient) = (0.1 * random.next(), random.vector(2));
        let value = |v: &[f64]| (constant + dot(&gradient, v)).abs();
        let found = region.maximize_absolute(constant, &gradient);
        prop_assert!(setup.inside(&found, 1e-9), "{found:?}");
        let best = disc(setup.radius / unit).filter(|v| setup.inside(v, 0.0)).map(|v| value(&v)).fold(0.0, f64::max);
        prop_assert!(value(&found) >= best - 1e-7 / unit, "{} {best}", value(&found));
    }

    /// A convex quadratic, with and without L1.
    #[test]
    fn minima_are_found(seed in any::<u64>(), kind in 0_u8..3, unit in 0.1..2.0_f64, weight in prop_oneof![Just(0.0), 0.0..1.0_f64]) {
        let mut random = Random::new(seed);
        let setup = setup(kind, &mut random, unit, true);
        let h = L1 { weight };
        let regularizer: Option<&dyn Regularizer> = if weight > 0.0 { Some(&h) } else { None };
        let region = setup.region(regularizer);
        let a = random.matrix(3, 2);
        let hessian = product_transposed(&a, &a);
        let gradient = random.vector(2);
        let quadratic = Quadratic { gradient: &gradient, hessian: &hessian };
        let penalty = |v: &[f64]| h.value(&setup.theta(v)) - h.value(&setup.theta(&[0.0; 2]));
        let value = |v: &[f64]| quadratic.value(v) + penalty(v);
        let found = region.minimize(&quadratic);
        prop_assert!(setup.inside(&found.step, 1e-9), "{found:?}");
        prop_assert!((region.penalty(&found.step) - penalty(&found.step)).abs() < 1e-12);
        prop_assert!((found.decrease + value(&found.step)).abs() < 1e-10, "{found:?} {}", value(&found.step));
        let best = disc(setup.radius / unit).filter(|v| setup.inside(v, 0.0)).map(|v| value(&v)).fold(0.0, f64::min);
        prop_assert!(value(&found.step) <= best + 1e-7, "{} {best} {found:?} {:?} {:?} {gradient:?} {hessian:?}", value(&found.step), region.lower(), region.upper());
    }
}

/// The unit of `$v$` and that of the parameters divide the bounds.
#[test]
fn bounds_are_in_multiples_of_the_unit() {
    let bounds = Bounds::new([0.0, -1.0], [4.0, f64::INFINITY]).expect("valid bounds");
    let feasible = FeasibleSet::Box(bounds);
    let space = Space::new(
        &[1.0, 1.0],
        &feasible,
        &Scaling::Given(vec![2.0, 4.0]),
        false,
    );
    let center = [0.5, 0.0];
    let region = StepRegion::new(&space, &feasible, None, &center, 3.0, 0.25);
    // theta = (2, 1): two below and two above, in units of 2 and multiples of 0.25
    assert_eq!(region.lower(), [-4.0, -2.0]);
    assert_eq!(region.upper(), [4.0, f64::INFINITY]);
    let flat = Matrix::zeros(2, 2);
    let step = region.minimize(&Quadratic {
        gradient: &[0.0, -1.0],
        hessian: &flat,
    });
    assert!((step.step[1] - 12.0).abs() < 1e-9 && (step.decrease - 12.0).abs() < 1e-9);
}
