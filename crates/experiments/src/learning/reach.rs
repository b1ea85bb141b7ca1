//! When a run came within a share of the optimum: its work and its time.

use anyhow::Result;

/// The shares of the optimum, with their names in results.
pub(super) const SHARES: [(&str, f64); 4] = [
    ("1e-3", 1e-3),
    ("1e-4", 1e-4),
    ("1e-5", 1e-5),
    ("1e-6", 1e-6),
];

/// An accepted point of a run.
#[derive(Clone, Debug)]
pub(super) struct Accepted {
    pub(super) theta: Vec<f64>,
    /// An interval that contains the exact objective.
    pub(super) lower: f64,
    pub(super) upper: f64,
    /// The work and the seconds since the start of the run.
    pub(super) work: u64,
    pub(super) seconds: f64,
}

/// The work and the seconds until the exact objective was within each of [`SHARES`].
pub(super) type Reached = [Option<(u64, f64)>; SHARES.len()];

/// Finds the first point within each share of the optimum. `exact` computes the objective again
/// where intervals do not decide.
pub(super) fn reached(
    points: &[Accepted],
    optimum: f64,
    mut exact: impl FnMut(&[f64]) -> Result<f64>,
) -> Result<Reached> {
    let mut known: Vec<Option<f64>> = vec![None; points.len()];
    let mut reached: Reached = [None; SHARES.len()];
    for (reached, (_, share)) in reached.iter_mut().zip(SHARES) {
        let threshold = optimum * (1.0 + share);
        for (index, point) in points.iter().enumerate() {
            let is_within = if point.upper <= threshold {
                true
            } else if point.lower > threshold || point.theta.is_empty() {
                false
            } else {
                let again = index.checked_sub(1);
                let again = again.filter(|before| points[*before].theta == point.theta);
                let value = match (known[index], again.and_then(|before| known[before])) {
                    (Some(value), _) | (None, Some(value)) => value,
                    (None, None) => exact(&point.theta)?,
                };
                known[index] = Some(value);
                value <= threshold
            };
            if is_within {
                *reached = Some((point.work, point.seconds));
                break;
            }
        }
    }
    Ok(reached)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The objective is the parameter; the intervals of the second and third point do not decide.
    #[test]
    fn intervals_decide_where_they_can() {
        let point = |theta: f64, lower: f64, upper: f64, work| Accepted {
            theta: vec![theta],
            lower,
            upper,
            work,
            seconds: 0.0,
        };
        let points = [
            point(2.0, 1.9, 2.1, 1),
            point(1.0005, 0.9, 1.1, 2),
            point(1.00005, 0.9, 1.1, 3),
            point(1.000002, 1.000002, 1.000002, 4),
        ];
        let mut computed = Vec::new();
        let found = reached(&points, 1.0, |theta| {
            computed.push(theta[0]);
            Ok(theta[0])
        });
        let work = found.unwrap().map(|reached| reached.map(|(work, _)| work));
        assert_eq!(work, [Some(2), Some(3), Some(4), None]);
        assert_eq!(computed, [1.0005, 1.00005]);
    }
}
