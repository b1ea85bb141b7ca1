use super::*;
use crate::linalg::tests::Random;
use crate::linalg::{dot, norm};
use proptest::prelude::*;

proptest! {
    /// Some `t` makes it `clip(-t g)`, on the sphere or in the corner.
    #[test]
    fn optimal(seed in any::<u64>(), n in 1_usize..12, log_radius in -2.0..2.0_f64, log_scale in -290..290_i32) {
        let mut random = Random::new(seed);
        let scale = 10_f64.powi(log_scale);
        let radius = 10_f64.powf(log_radius) * scale;
        let mut bound = |_| match random.next() {
            x if x < -0.7 => 0.0,
            x if x > 0.7 => f64::INFINITY,
            x => (x + 0.7) * scale,
        };
        let lower: Vec<f64> = (0..n).map(|i| -bound(i)).collect();
        let upper: Vec<f64> = (0..n).map(bound).collect();
        let gradient: Vec<f64> = random.vector(n).iter().map(|g| if g.abs() < 0.1 { 0.0 } else { g / scale }).collect();
        let region = BallAndBox { radius, lower: &lower, upper: &upper };
        let step = minimize_linear(&gradient, &region);
        let length = norm(&step);
        prop_assert!(length <= radius * (1.0 + 1e-12));
        for i in 0..n {
            prop_assert!(lower[i] <= step[i] && step[i] <= upper[i]);
            prop_assert!(step[i] * gradient[i] <= 0.0);
        }
        let on_sphere = length >= radius * (1.0 - 1e-12);
        let moving = |i: &usize| gradient[*i].abs() > 0.0;
        let is_free = |i: &usize| lower[*i] < step[*i] && step[*i] < upper[*i];
        let reach = |i: usize| ((step[i] / scale) / (gradient[i] * scale)).abs();
        let free: Vec<f64> = (0..n).filter(moving).filter(is_free).map(reach).collect();
        let bound: Vec<f64> = (0..n).filter(moving).filter(|i| !is_free(i)).map(reach).collect();
        prop_assert!(on_sphere || free.is_empty());
        if let Some(t) = free.first() {
            prop_assert!(free.iter().all(|other| (other - t).abs() <= 1e-12 * t));
            prop_assert!(bound.iter().all(|other| *other <= t * (1.0 + 1e-12)));
        }
        // nothing sampled is lower
        for _ in 0..200 {
            let mut other: Vec<f64> = random.vector(n).iter().map(|x| 2.0 * x * radius).collect();
            region.enforce(&mut other);
            prop_assert!(dot(&gradient, &step) <= dot(&gradient, &other) + 1e-12 * dot(&gradient, &step).abs());
        }
    }
}

#[test]
fn slopes_of_different_size() {
    let (lower, upper) = ([f64::NEG_INFINITY; 3], [1.0, 1.0, f64::INFINITY]);
    let region = BallAndBox {
        radius: 2.0,
        lower: &lower,
        upper: &upper,
    };
    let step = minimize_linear(&[-1.0, -1e-100, -1e-200], &region);
    let expected = [1.0, 1.0, 2_f64.sqrt()];
    assert!(
        step.iter()
            .zip(expected)
            .all(|(s, e)| (s - e).abs() < 1e-14),
        "{step:?}"
    );
}

#[test]
fn nothing_to_do() {
    let bounds = [1.0; 2];
    let region = BallAndBox {
        radius: 1.0,
        lower: &[-1.0; 2],
        upper: &bounds,
    };
    assert_eq!(minimize_linear(&[0.0; 2], &region), [0.0; 2]);
    assert_eq!(minimize_linear(&[f64::NAN, 1.0], &region), [0.0; 2]);
    for radius in [f64::NAN, 0.0, -1.0] {
        assert_eq!(
            minimize_linear(&[1.0; 2], &BallAndBox { radius, ..region }),
            [0.0; 2]
        );
    }
    assert_eq!(
        minimize_linear(
            &[1.0; 2],
            &BallAndBox {
                upper: &[f64::NAN; 2],
                ..region
            }
        ),
        [0.0; 2]
    );
    assert_eq!(
        minimize_linear(
            &[],
            &BallAndBox {
                radius: 1.0,
                lower: &[],
                upper: &[]
            }
        ),
        [0.0; 0]
    );
}
