use super::*;
use crate::Accuracy;
use crate::blocks::Blocks;
use crate::residuals::Residuals;

fn point(number: u64, u: [f64; 2]) -> Point<()> {
    let residuals = vec![u[0], u[1], 1.0];
    Point {
        u: u.to_vec(),
        theta: u.to_vec(),
        objective: residuals.iter().map(|r| r * r).sum(),
        residuals: Residuals::new(number, residuals),
        penalty: 0.0,
        accuracy: Accuracy::EXACT,
        asked: Accuracy::EXACT,
        at_floor: false,
        samples: 1,
        resume: None,
        number,
    }
}

/// A set of three points with the incumbent at the origin, and further stored points.
fn set(stored: &[[f64; 2]]) -> Interpolation<()> {
    let blocks = Blocks::new(&[], 3).expect("one block");
    let mut points = Interpolation::new(3, 10, blocks);
    points.begin(point(0, [0.0, 0.0]));
    points.push(point(1, [4.0, 0.0]), false);
    points.push(point(2, [0.0, 4.0]), false);
    for (k, u) in stored.iter().enumerate() {
        points.store_extra(point(3 + k as u64, *u));
    }
    points
}

#[test]
fn near_independent_points_form_the_set() {
    // The second point is nearer than the third but almost parallel to the first.
    let mut points = set(&[[1.0, 0.0], [1.1, 0.01], [0.0, -1.5]]);
    points.choose_set(None, 0.1);
    assert_eq!(points.numbers(), [0, 3, 5]);
    assert!(points.refresh());
}

/// With the limit 1, the scores of the points on the first axis are 0.2 and 4/16.
#[test]
fn nearer_than_the_limit_is_not_better() {
    let order = |least: f64| {
        let mut points = set(&[[0.2, 0.0], [0.0, 0.5]]);
        points.choose_set(None, least);
        points.numbers()
    };
    assert_eq!(order(0.01), [0, 3, 4]);
    assert_eq!(order(1.0), [0, 4, 1]);
}

#[test]
fn a_new_incumbent_takes_its_place() {
    let mut points = set(&[[1.0, 0.0]]);
    points.choose_set(Some(point(9, [1.0, 1.0])), 0.1);
    assert_eq!(points.incumbent().number, 9);
    // Both at distances of about one: the old incumbent and the stored point.
    let mut numbers = points.numbers();
    numbers.sort_unstable();
    assert_eq!(numbers, [0, 3, 9]);
}

#[test]
fn dependent_points_leave_the_set_as_it_is() {
    let blocks = Blocks::new(&[], 3).expect("one block");
    let mut points = Interpolation::new(3, 10, blocks);
    points.begin(point(0, [0.0, 0.0]));
    points.push(point(1, [1.0, 0.0]), false);
    points.push(point(2, [2.0, 1e-9]), false);
    points.choose_set(None, 0.1);
    assert_eq!(points.numbers(), [0, 1, 2]);
}

#[test]
fn the_span_has_the_best_directions() {
    let points = set(&[[1.0, 0.0], [0.0, 3.0]]);
    let span = points.best_span(&[0.0, 0.0], 0.1, 1);
    assert_eq!(span.directions(), [[1.0, 0.0]]);
    assert_eq!(points.best_span(&[0.0, 0.0], 0.1, 2).len(), 2);
    assert_eq!(points.best_span(&[0.0, 0.0], 0.1, 0).len(), 0);
}
