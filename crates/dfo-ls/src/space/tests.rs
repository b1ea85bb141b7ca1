use super::*;
use crate::Bounds;
use crate::linalg::tests::Random;
use proptest::prelude::*;

const NONE: f64 = f64::INFINITY;

fn boxed(start: &[f64], lower: &[f64], upper: &[f64]) -> (Space, FeasibleSet) {
    let bounds = Bounds::new(lower, upper).expect("valid bounds");
    let feasible = FeasibleSet::Box(bounds);
    let space = Space::new(start, &feasible, &Scaling::Automatic, false);
    (space, feasible)
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-14 * a.abs().max(b.abs())
}

proptest! {
    /// For any widths, starts and points, parameters stay inside the bounds and scale back to the
    /// same point.
    #[test]
    fn points_stay_inside_and_come_back(
        seed in any::<u64>(), n in 1_usize..6,
        kinds in proptest::collection::vec(0_usize..6, 6), logs in proptest::collection::vec(-300..=300_i32, 6),
    ) {
        let mut random = Random::new(seed);
        let (mut start, mut lower, mut upper) = (Vec::new(), Vec::new(), Vec::new());
        for j in 0..n {
            let size = 10_f64.powi(logs[j]);
            let middle = if kinds[j] == 5 { 1.0 } else { size * random.next() };
            let width = size * (random.next() + 1.5);
            let (below, above) = (middle - width, middle + width);
            let (l, u) = match kinds[j] {
                0 => (-NONE, NONE),
                1 => (below, NONE),
                2 => (-NONE, above),
                3 => (middle, middle),
                _ => (below, above),
            };
            start.push(middle + 3.0 * width * random.next());
            lower.push(l);
            upper.push(u);
        }
        let (space, feasible) = boxed(&start, &lower, &upper);
        let free: Vec<usize> = (0..n).filter(|&j| lower[j].to_bits() != upper[j].to_bits()).collect();
        prop_assert_eq!(space.free(), &free[..]);
        prop_assert_eq!((space.dim(), space.num_params()), (free.len(), n));
        let origin = space.theta(&vec![0.0; free.len()]);
        for j in 0..n {
            prop_assert_eq!(origin[j].to_bits(), start[j].max(lower[j]).min(upper[j]).to_bits());
        }
        for reach in [1e-12, 1.0, 10.0, 1e6] {
            let u: Vec<f64> = random.vector(free.len()).iter().map(|x| reach * x).collect();
            let theta = space.theta(&u);
            for j in 0..n {
                prop_assert!(theta[j] >= lower[j] && theta[j] <= upper[j], "{theta:?} {lower:?} {upper:?}");
            }
            let back = space.scaled(&theta);
            for (k, &j) in free.iter().enumerate() {
                let raw = origin[j] + space.units()[k] * u[k];
                let rounding = 4.0 * f64::EPSILON * (raw.abs().max(origin[j].abs()) / space.units()[k] + u[k].abs());
                let inside = raw >= lower[j] && raw <= upper[j];
                prop_assert!(!inside || (back[k] - u[k]).abs() <= rounding, "{back:?} {u:?}");
            }
            let again = space.theta(&back);
            for j in 0..n {
                let size = theta[j].abs().max(origin[j].abs()).max(1e-300);
                prop_assert!((again[j] - theta[j]).abs() <= 4.0 * f64::EPSILON * size, "{again:?} {theta:?}");
            }
            let mut moved = u.clone();
            let feasible_theta = space.make_feasible(&mut moved, &feasible);
            prop_assert_eq!(&feasible_theta, &theta);
            prop_assert_eq!(&moved, &back);
            // bounds on steps: zero is allowed, and the ends are the bounds
            let (mut below, mut above) = (vec![7.0], Vec::new());
            space.step_bounds(&moved, &mut below, &mut above);
            for (k, &j) in free.iter().enumerate() {
                prop_assert!(below[k] <= 0.0 && above[k] >= 0.0);
                for (step, bound) in [(below[k], lower[j]), (above[k], upper[j])] {
                    prop_assert_eq!(step.is_finite(), bound.is_finite());
                    let end = origin[j] + space.units()[k] * (moved[k] + step);
                    let size = bound.abs().max(theta[j].abs()).max(origin[j].abs());
                    prop_assert!(!bound.is_finite() || (end - bound).abs() <= 8.0 * f64::EPSILON * size, "{end} {bound}");
                }
            }
        }
    }
}

#[test]
fn units_follow_the_bounds_or_the_start() {
    let start = [30.0, -1.0, 0.0, 0.99, 5.0, 6.0];
    let lower = [-NONE, -NONE, 0.0, -NONE, 4.0, 6.0];
    let upper = [NONE, NONE, NONE, 1.0, 4.5, 6.0];
    let (space, feasible) = boxed(&start, &lower, &upper);
    // 1/30 of the largest shares its unit, less does not; zero does; two bounds give their width;
    // equal ones fix
    assert_eq!(space.units(), [30.0, 30.0, 30.0, 0.99, 0.5]);
    assert_eq!(space.free(), [0, 1, 2, 3, 4]);
    assert_eq!(space.theta(&[0.0; 5]), [30.0, -1.0, 0.0, 0.99, 4.5, 6.0]);
    let boxes: Vec<bool> = (0..5).map(|j| space.is_boxed(j)).collect();
    assert_eq!(boxes, [false, false, false, false, true]);
    let one = Space::new(&start, &feasible, &Scaling::Automatic, true);
    assert_eq!(one.units(), [30.0; 5]);
    let units = vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let mut given = Space::new(&start, &feasible, &Scaling::Given(units), false);
    assert_eq!(given.units(), [1.0, 2.0, 3.0, 4.0, 5.0]);
    given.rescale(1, 10.0);
    assert_eq!(given.units(), [1.0, 20.0, 3.0, 4.0, 5.0]);
    assert!(close(given.theta(&[0.0, 0.1, 0.0, 0.0, 0.0])[1], 1.0));
    let zero = Space::new(&[0.0; 2], &FeasibleSet::Free, &Scaling::Automatic, false);
    assert_eq!(zero.units(), [1.0; 2]);
}

#[test]
fn a_fixed_parameter_in_the_middle_is_skipped() {
    let (space, _) = boxed(&[1.0, 2.0, 3.0], &[0.0, 2.0, 0.0], &[2.0, 2.0, 4.0]);
    let theta = space.theta(&[0.25, -0.5]);
    assert_eq!(theta, [1.5, 2.0, 1.0]);
    assert_eq!(space.scaled(&theta), [0.25, -0.5]);
    let (mut lower, mut upper) = (Vec::new(), Vec::new());
    space.step_bounds(&[0.25, -0.5], &mut lower, &mut upper);
    assert_eq!((lower, upper), (vec![-0.75, -0.25], vec![0.25, 0.75]));
}

#[test]
fn convex_sets_are_projected_on() {
    let disc = |theta: &mut [f64]| {
        let length = theta.iter().map(|x| x * x).sum::<f64>().sqrt();
        theta.iter_mut().for_each(|x| *x /= length.max(1.0));
    };
    let half = |theta: &mut [f64]| theta[0] = theta[0].max(0.5);
    let feasible = FeasibleSet::Convex(vec![Box::new(disc), Box::new(half)]);
    let mut space = Space::new(&[2.0, 0.0], &feasible, &Scaling::Automatic, true);
    space.set_origin(vec![1.0, 0.0]);
    let mut u = vec![-1.5, 2.0];
    // theta = (-2, 4): the nearest point of the intersection is its corner
    let theta = space.make_feasible(&mut u, &feasible);
    let corner = 0.75_f64.sqrt();
    assert!(
        (theta[0] - 0.5).abs() < 1e-9 && (theta[1] - corner).abs() < 1e-9,
        "{theta:?}"
    );
    assert!(
        (u[0] + 0.25).abs() < 1e-9 && (u[1] - 0.5 * corner).abs() < 1e-9,
        "{u:?}"
    );
}
