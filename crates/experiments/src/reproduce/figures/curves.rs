//! The curves of a run, by the rules of the paper's figures.

use super::super::record::{Effort, Evaluation, RunRecord};

/// Returns the best evaluation so far, after every evaluation, with the lower-level iterations
/// until then. The best evaluation is the first with the least objective, regardless of its
/// accuracy. There is none before the first finite objective.
#[must_use]
pub fn best(record: &RunRecord) -> Vec<(f64, &Evaluation)> {
    let mut best: Option<&Evaluation> = None;
    let works = record.cumulative_iterations();
    let mut points = Vec::new();
    for (evaluation, work) in record.evaluations.iter().zip(works) {
        if evaluation.f < best.map_or(f64::INFINITY, |best| best.f) {
            best = Some(evaluation);
        }
        points.extend(best.map(|best| (number(work), best)));
    }
    points
}

/// Returns lower-level iterations, the objective, and the bound on its error. With fixed iterations
/// these are of the [best](best) evaluation after every evaluation; with dynamic accuracy, of the
/// incumbent at the beginning of every iteration, which is not always the best.
#[must_use]
pub fn objective(record: &RunRecord) -> Vec<[f64; 3]> {
    if record.id.variant.effort == Effort::Dynamic {
        let iterates = record.iterates.iter();
        return iterates
            .map(|at| [number(at.lower_iterations), at.f, at.f_error])
            .collect();
    }
    best(record)
        .into_iter()
        .map(|(work, best)| [work, best.f, best.f_error])
        .collect()
}

/// Returns lower-level iterations and the value of a parameter of the total variation at the
/// [best](best) evaluation. Returns nothing if the parameter was not learned.
#[must_use]
pub fn parameter(record: &RunRecord, name: &str) -> Vec<[f64; 2]> {
    let Some(index) = record.names.iter().position(|known| known == name) else {
        return Vec::new();
    };
    best(record)
        .into_iter()
        .map(|(work, best)| [work, 10_f64.powf(best.theta[index])])
        .collect()
}

/// Returns the number of each evaluation, from one, and the lower-level iterations after it.
#[must_use]
pub fn cumulative(record: &RunRecord) -> Vec<[f64; 2]> {
    let works = record.cumulative_iterations().into_iter();
    (1..)
        .zip(works)
        .map(|(count, work)| [number(count), number(work)])
        .collect()
}

/// Returns the end of a run in the paper's figure of sampling patterns: the last incumbent of a
/// dynamic variant, otherwise the [best](best) evaluation.
#[must_use]
pub fn last(record: &RunRecord) -> Option<&[f64]> {
    if record.id.variant.effort == Effort::Dynamic {
        return record.iterates.last().map(|at| at.theta.as_slice());
    }
    let (_, best) = best(record).pop()?;
    Some(&best.theta)
}

/// Returns the incumbent after this number of evaluations; the start if there is no incumbent yet.
#[must_use]
pub fn after(record: &RunRecord, evaluations: usize) -> Option<&[f64]> {
    let mut iterates = record.iterates.iter().rev();
    let incumbent = iterates
        .find(|at| evaluations > 1 && at.evaluations <= evaluations)
        .map(|at| at.theta.as_slice());
    incumbent.or_else(|| record.evaluations.first().map(|e| e.theta.as_slice()))
}

/// Returns the lower and upper edge of the shading around points of [`objective`]. The lower edge
/// is not below zero.
#[must_use]
pub fn shade(points: &[[f64; 3]]) -> Vec<[f64; 3]> {
    let edges = |[work, f, error]: &[f64; 3]| [*work, (f - error).max(0.0), f + error];
    points.iter().map(edges).collect()
}

/// Returns a polyline with fewer points that looks the same: without points inside a horizontal
/// segment, and without points whose coordinates differ by less than a thousandth from those of the
/// point before.
#[must_use]
pub fn thinned<const N: usize>(points: &[[f64; N]]) -> Vec<[f64; N]> {
    const CLOSE: f64 = 1e-3;
    let is_level = |a: &[f64; N], b: &[f64; N]| {
        let rest = a[1..].iter().zip(&b[1..]);
        rest.into_iter().all(|(a, b)| a.total_cmp(b).is_eq())
    };
    let is_close = |a: &[f64; N], b: &[f64; N]| {
        a.iter()
            .zip(b)
            .all(|(a, b)| (a - b).abs() <= CLOSE * a.abs())
    };
    let mut kept: Vec<[f64; N]> = Vec::new();
    for (index, point) in points.iter().enumerate() {
        let is_redundant = match (kept.last(), points.get(index + 1)) {
            (Some(before), Some(next)) => {
                is_close(before, point) || (is_level(before, point) && is_level(point, next))
            }
            _ => false,
        };
        if !is_redundant {
            kept.push(*point);
        }
    }
    kept
}

const fn number(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::super::super::record::{PaperMethod, Variant};
    use super::super::synthetic;
    use super::*;

    const LOW: Variant = Variant::new(PaperMethod::Gd, Effort::Low);
    const DYNAMIC: Variant = Variant::new(PaperMethod::Fista, Effort::Dynamic);

    /// Returns a run with objectives 5, 3, 4, 2, 2 and errors 0.5, 4, 0.1, 0.2, 0.3, at theta -1,
    /// -2, ..., after 10, 20, ... iterations. The incumbents are those of evaluations 3 and 4, at
    /// work 60 and 100.
    fn record(variant: Variant) -> RunRecord {
        let evaluations = [
            (5.0, 0.5, 10),
            (3.0, 4.0, 20),
            (4.0, 0.1, 30),
            (2.0, 0.2, 40),
            (2.0, 0.3, 50),
        ];
        let iterates = [(-3.0, 4.0, 0.1, 3, 60), (-4.0, 2.0, 0.2, 4, 100)];
        synthetic::record("denoise1_start0", variant, &evaluations, &iterates)
    }

    #[test]
    fn fixed_variants_show_the_running_minimum_with_its_own_error() {
        let expected = [
            [10.0, 5.0, 0.5],
            [30.0, 3.0, 4.0],
            [60.0, 3.0, 4.0],
            [100.0, 2.0, 0.2],
            [150.0, 2.0, 0.2],
        ];
        assert_eq!(objective(&record(LOW)), expected);
    }

    #[test]
    fn dynamic_variants_show_incumbents_when_iterations_begin() {
        let expected = [[60.0, 4.0, 0.1], [100.0, 2.0, 0.2]];
        assert_eq!(objective(&record(DYNAMIC)), expected);
    }

    #[test]
    fn parameters_are_those_of_the_running_minimum_in_all_variants() {
        for variant in [LOW, DYNAMIC] {
            let points = parameter(&record(variant), "alpha");
            let expected = [
                [10.0, 0.1],
                [30.0, 0.01],
                [60.0, 0.01],
                [100.0, 1e-4],
                [150.0, 1e-4],
            ];
            assert_eq!(points.len(), 5);
            for (point, expected) in points.iter().zip(expected) {
                assert!((point[0] - expected[0]).abs() < 1e-12, "{point:?}");
                assert!((point[1] / expected[1] - 1.0).abs() < 1e-12, "{point:?}");
            }
        }
        assert!(parameter(&record(LOW), "nu").is_empty());
    }

    #[test]
    fn iterations_add_up_from_the_first_evaluation() {
        let expected = [
            [1.0, 10.0],
            [2.0, 30.0],
            [3.0, 60.0],
            [4.0, 100.0],
            [5.0, 150.0],
        ];
        assert_eq!(cumulative(&record(LOW)), expected);
    }

    #[test]
    fn runs_end_at_the_first_minimum_or_at_the_last_incumbent() {
        assert_eq!(last(&record(LOW)), Some(&[-4.0][..]));
        let mut dynamic = record(DYNAMIC);
        dynamic.iterates.pop();
        assert_eq!(last(&dynamic), Some(&[-3.0][..]));
        dynamic.iterates.clear();
        assert_eq!(last(&dynamic), None);
    }

    #[test]
    fn the_incumbent_after_a_number_of_evaluations() {
        let mut record = record(DYNAMIC);
        assert_eq!(after(&record, 1), Some(&[-1.0][..]));
        assert_eq!(after(&record, 2), Some(&[-1.0][..]));
        assert_eq!(after(&record, 3), Some(&[-3.0][..]));
        assert_eq!(after(&record, 100), Some(&[-4.0][..]));
        record.iterates[0].evaluations = 1;
        assert_eq!(after(&record, 1), Some(&[-1.0][..]), "the start");
    }

    #[test]
    fn a_failed_evaluation_is_never_the_best() {
        let mut record = record(LOW);
        record.evaluations[0].f = f64::INFINITY;
        assert_eq!(objective(&record)[..1], [[30.0, 3.0, 4.0]]);
    }

    #[test]
    fn shading_ends_at_zero() {
        let shaded = shade(&[[1.0, 3.0, 4.0], [2.0, 2.0, 0.5]]);
        assert_eq!(shaded, [[1.0, 0.0, 7.0], [2.0, 1.5, 2.5]]);
    }

    #[test]
    fn thinning_keeps_corners_and_ends() {
        let points = [
            [1.0, 1.0],
            [2.0, 1.0],
            [3.0, 1.0],
            [4.0, 0.5],
            [4.001, 0.5003],
            [5.0, 0.5],
            [5.001, 0.5],
        ];
        let kept = [[1.0, 1.0], [3.0, 1.0], [4.0, 0.5], [5.001, 0.5]];
        assert_eq!(thinned(&points), kept);
        assert!(thinned::<2>(&[]).is_empty());
    }
}
