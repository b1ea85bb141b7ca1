//! Timing that is reliable on a busy machine: the fastest of several calls, or processor time.

use std::fs;
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

/// The seconds of one measurement of processor time: many times the steps in which the system
/// counts it.
const MEASUREMENT: f64 = 0.2;

/// Does the same as [`try_fastest`] for work of a single thread, and returns its processor time,
/// which other programs hardly change. Where the system does not say it, this is the time on the
/// clock. Short work is repeated within a measurement.
pub(super) fn try_fastest_on_core<E>(
    budget: Duration,
    mut work: impl FnMut() -> Result<(), E>,
) -> Result<f64, E> {
    let first = Instant::now();
    work()?;
    let calls = (MEASUREMENT / first.elapsed().as_secs_f64())
        .clamp(1.0, 1e6)
        .ceil();
    let mut best = f64::INFINITY;
    let seconds = try_fastest(budget, || {
        let start = processor_seconds();
        let mut left = calls;
        while left > 0.0 {
            work()?;
            left -= 1.0;
        }
        let seconds = start.and_then(|start| Some(processor_seconds()? - start));
        best = best.min(seconds.unwrap_or(f64::INFINITY));
        Ok(())
    })?;
    Ok(best.min(seconds) / calls)
}

/// The processor time of this thread.
fn processor_seconds() -> Option<f64> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds: f64 = text.split_whitespace().next()?.parse().ok()?;
    Some(1e-9 * nanoseconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_is_positive_and_at_most_that_on_the_clock() {
        let clock = Instant::now();
        let work = || {
            let sum: u64 = (0..10_000_000).map(std::hint::black_box).sum();
            std::hint::black_box(sum);
            Ok::<(), ()>(())
        };
        let seconds = try_fastest_on_core(Duration::ZERO, work).expect("no error");
        assert!(seconds > 0.0 && seconds <= clock.elapsed().as_secs_f64());
    }

    /// Work that is shorter than the steps of the system's counter takes time, too.
    #[test]
    fn short_work_has_a_processor_time() {
        let work = || {
            let sum: u64 = (0..10_000).map(std::hint::black_box).sum();
            std::hint::black_box(sum);
            Ok::<(), ()>(())
        };
        assert!(try_fastest_on_core(Duration::ZERO, work).expect("no error") > 0.0);
    }

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
