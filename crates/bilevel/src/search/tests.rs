use super::*;

/// The objective is the squared distance of the sum of some numbers from a goal; intervals are
/// as wide as requested, and not centred.
struct Numbers {
    values: Vec<f64>,
    goal: f64,
    widths: Vec<f64>,
}

#[derive(Clone, Debug)]
struct Point {
    set: Vec<bool>,
    objective: f64,
    width: f64,
}

impl Numbers {
    fn sum(&self, set: &[bool]) -> f64 {
        let chosen = self.values.iter().zip(set).filter(|(_, chosen)| **chosen);
        chosen.map(|(value, _)| value).sum()
    }
}

impl SetOracle for Numbers {
    type Point = Point;

    fn evaluate(&mut self, set: &[bool], _: Option<&Point>, width: f64) -> Result<Point, BoxError> {
        let objective = (self.sum(set) - self.goal).powi(2) + 1.0;
        let width = width.min(10.0);
        self.widths.push(width);
        Ok(Point {
            set: set.to_vec(),
            objective,
            width,
        })
    }

    fn sharpen(&mut self, point: &mut Point, width: f64) -> Result<(), BoxError> {
        self.widths.push(width);
        point.width = width;
        Ok(())
    }

    fn interval(&self, point: &Point) -> Interval {
        Interval::new(
            point.objective - 0.25 * point.width,
            point.objective + 0.75 * point.width,
        )
    }

    fn gains(&mut self, _: &Point) -> Vec<f64> {
        self.values.clone()
    }

    fn losses(&mut self, point: &mut Point) -> Result<Vec<f64>, BoxError> {
        let over = self.sum(&point.set) > self.goal;
        let sign = if over { -1.0 } else { 1.0 };
        Ok(self.values.iter().map(|value| sign * value).collect())
    }

    fn tune(&mut self, _: &mut Point, _: bool) -> Result<(), BoxError> {
        Ok(())
    }
}

fn search(num: usize, size: usize) -> SetSearch {
    let mut fixed = vec![false; num];
    fixed[0] = true;
    SetSearch {
        start: vec![false; num],
        fixed,
        size,
        rounds: size,
        rounds_per_tuning: 4,
        block: 1,
        least_block: 1,
        candidates: [8, 8],
        max_exchanges: 1000,
        least_decrease: 1e-6,
        spread: 1,
    }
}

#[test]
fn finds_the_best_set_and_keeps_fixed_elements() {
    let values: Vec<f64> = (0..10).map(|index| 2_f64.powi(index) / 8.0).collect();
    let mut oracle = Numbers {
        values,
        goal: (1.0 + 4.0 + 32.0) / 8.0,
        widths: Vec::new(),
    };
    let mut last = f64::INFINITY;
    let found = search(10, 3)
        .run(&mut oracle, |progress| {
            if progress.accepted > 0 {
                assert!(progress.best.objective <= last);
                last = progress.best.objective;
            }
            ControlFlow::Continue(())
        })
        .unwrap();
    let chosen: Vec<usize> = (0..10).filter(|&index| found.set[index]).collect();
    assert_eq!(chosen, [0, 2, 5]);
    assert!(found.is_complete && found.accepted > 0);
    // clear decisions need only wide intervals
    let narrow = oracle.widths.iter().filter(|&&width| width < 1e-3);
    assert!(narrow.count() < oracle.widths.len() / 2);
}

#[test]
fn an_observer_stops_the_search_with_the_best_set_so_far() {
    let mut oracle = Numbers {
        values: vec![1.0; 6],
        goal: 2.0,
        widths: Vec::new(),
    };
    let found = search(6, 4)
        .run(&mut oracle, |progress| {
            if progress.evaluations >= 3 {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        })
        .unwrap();
    assert!(!found.is_complete);
    assert_eq!(found.evaluations, 3);
    assert!(found.set[0]);
}

#[test]
fn equal_objectives_are_not_better_and_need_no_exact_evaluation() {
    let mut oracle = Numbers {
        values: vec![1.0; 4],
        goal: 2.0,
        widths: Vec::new(),
    };
    let set = [true, true, false, false];
    let mut a = oracle.evaluate(&set, None, 1.0).unwrap();
    let mut b = oracle.evaluate(&set, None, 1.0).unwrap();
    assert!(!is_better(&mut oracle, &mut a, &mut b, 1e-4).unwrap());
    assert!(oracle.widths.iter().all(|&width| width > 1e-6));
}

#[test]
fn sizes_that_do_not_fit_are_refused() {
    let mut oracle = Numbers {
        values: vec![1.0; 4],
        goal: 2.0,
        widths: Vec::new(),
    };
    for size in [0, 5] {
        let refused = search(4, size).run(&mut oracle, |_| ControlFlow::Continue(()));
        assert!(refused.unwrap_err().to_string().contains("4"));
    }
}
