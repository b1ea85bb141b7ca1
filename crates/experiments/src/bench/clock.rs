//! Timing that is reliable on a busy machine: the fastest of several calls.

use std::time::{Duration, Instant};

/// Returns the seconds of the fastest call of `work`. Calls it at least three times, and until
/// `budget` is spent.
pub(super) fn fastest(budget: Duration, mut work: impl FnMut()) -> f64 {
    let begin = Instant::now();
    let mut best = f64::INFINITY;
    let mut calls = 0_u32;
    while calls < 3 || begin.elapsed() < budget {
        let start = Instant::now();
        work();
        best = best.min(start.elapsed().as_secs_f64());
        calls += 1;
    }
    best
}

/// Does the same as [`fastest`] for work that can fail, and stops at the first error.
pub(super) fn try_fastest<E>(
    budget: Duration,
    mut work: impl FnMut() -> Result<(), E>,
) -> Result<f64, E> {
    let mut outcome = Ok(());
    let best = fastest(budget, || {
        if outcome.is_ok() {
            outcome = work();
        }
    });
    outcome.map(|()| best)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn works_at_least_three_times_and_stops_at_an_error() {
        let mut calls = 0;
        let best = fastest(Duration::ZERO, || calls += 1);
        assert!(calls == 3 && best >= 0.0);
        let mut calls = 0;
        let failed = try_fastest(Duration::ZERO, || {
            calls += 1;
            Err("no")
        });
        assert_eq!((failed, calls), (Err("no"), 1));
    }
}
