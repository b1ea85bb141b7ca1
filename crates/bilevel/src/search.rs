//! A search for the best set of elements of a given size, by an oracle that knows the objective of
//! a set as an interval.
//!
//! 1. *Greedy.* Elements are added in rounds, those with the largest promised gains first.
//! 2. *Exchanges.* Elements with small promised losses leave the set, and others with large
//!    promised gains replace them, first in blocks and then one by one.
//!
//! Promises only choose what to try. An exchange is accepted if the interval of the new objective
//! lies below that of the old one: where both overlap, the oracle makes the wider one narrower. So
//! the objective of every accepted set is proved to be smaller than that of the set before, and
//! every evaluation is only as accurate as its decision needs.

use std::ops::ControlFlow;

use inexact_lbfgs::Interval;

use crate::error::BoxError;

/// An objective of sets, known by intervals. A [`SetSearch`] minimises it.
pub trait SetOracle {
    /// A set that was evaluated, with everything that is known about it.
    type Point: Clone;

    /// Evaluates a set from a known point near it, until the width of its interval is at most
    /// `width`, or as small as possible.
    ///
    /// # Errors
    /// When the set cannot be evaluated; the search then ends.
    fn evaluate(
        &mut self,
        set: &[bool],
        near: Option<&Self::Point>,
        width: f64,
    ) -> Result<Self::Point, BoxError>;

    /// Makes the interval of a point narrower, until its width is at most `width`, or as small as
    /// possible.
    ///
    /// # Errors
    /// When the point cannot be evaluated.
    fn sharpen(&mut self, point: &mut Self::Point, width: f64) -> Result<(), BoxError>;

    /// Returns an interval that contains the objective of a point.
    fn interval(&self, point: &Self::Point) -> Interval;

    /// Returns promised gains for all elements: how much the objective might fall if an element
    /// were added to the set.
    fn gains(&mut self, point: &Self::Point) -> Vec<f64>;

    /// Returns promised losses for all elements: how much the objective might rise if an element
    /// left the set.
    ///
    /// # Errors
    /// When they cannot be computed.
    fn losses(&mut self, point: &mut Self::Point) -> Result<Vec<f64>, BoxError>;

    /// Improves the other parameters of the objective: roughly while elements are added, and
    /// accurately before the first exchange. Tuning at the end is left to the caller.
    ///
    /// # Errors
    /// When a point cannot be evaluated.
    fn tune(&mut self, point: &mut Self::Point, roughly: bool) -> Result<(), BoxError>;
}

/// The settings of a search for a set.
#[derive(Clone, Debug, PartialEq)]
pub struct SetSearch {
    /// The elements with which the search starts.
    pub start: Vec<bool>,
    /// The elements that stay in the set.
    pub fixed: Vec<bool>,
    /// The number of elements of the set.
    pub size: usize,
    /// The number of rounds in which elements are added; at most one round per element.
    pub rounds: usize,
    /// The number of rounds after which the oracle tunes.
    pub rounds_per_tuning: usize,
    /// The number of elements of the first exchanges, which is halved after a failure.
    pub block: usize,
    /// The number of elements of the last exchanges.
    pub least_block: usize,
    /// The number of candidates to enter and to leave the set in exchanges of single elements.
    pub candidates: [usize; 2],
    /// The largest number of exchanges that are tried.
    pub max_exchanges: usize,
    /// The least decrease of the objective by an exchange, as a share of the objective.
    pub least_decrease: f64,
    /// In greedy rounds, an element is chosen among this many of the most promising ones, one by
    /// one in turn; 1 takes the most promising one.
    pub spread: usize,
}

/// The progress of a search, after every evaluation that it made.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct SetProgress<'a, P> {
    /// The best point so far; its set may still be too small.
    pub best: &'a P,
    /// The set of the best point.
    pub set: &'a [bool],
    /// The number of evaluations, without those of tuning.
    pub evaluations: usize,
    /// The number of accepted exchanges.
    pub accepted: usize,
}

/// The result of a search.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SetFound<P> {
    /// The best point.
    pub best: P,
    /// Its set.
    pub set: Vec<bool>,
    /// The number of evaluations, without those of tuning.
    pub evaluations: usize,
    /// The number of accepted exchanges.
    pub accepted: usize,
    /// Whether no exchange among the candidates is left; otherwise the search was stopped.
    pub is_complete: bool,
}

/// The width of the interval of a new point, as a share of the incumbent's objective; a choice.
const FIRST_WIDTH: f64 = 0.03;
/// The same while elements are added, when no decision depends on the interval; a choice.
const GREEDY_WIDTH: f64 = 0.1;
/// The factor from a gap between two objectives to the width that decides it; a choice.
const DECIDING: f64 = 0.4;

impl SetSearch {
    /// Searches until no exchange is left, or until `observe` ends the search.
    ///
    /// # Errors
    /// When the oracle fails, or if the size is smaller than the number of fixed elements or larger
    /// than that of all elements.
    pub fn run<O: SetOracle>(
        &self,
        oracle: &mut O,
        mut observe: impl FnMut(SetProgress<'_, O::Point>) -> ControlFlow<()>,
    ) -> Result<SetFound<O::Point>, BoxError> {
        let mut set = self.start.clone();
        for (entry, fixed) in set.iter_mut().zip(&self.fixed) {
            *entry |= fixed;
        }
        let count = |set: &[bool]| set.iter().filter(|&&entry| entry).count();
        if self.fixed.len() != set.len() || self.size > set.len() || count(&set) > self.size {
            let (size, fixed, all) = (self.size, count(&set), set.len());
            return Err(format!(
                "a set of {size} elements must have room for the {fixed} at the start, and not \
                 more than all {all}"
            )
            .into());
        }
        let best = oracle.evaluate(&set, None, f64::INFINITY)?;
        let mut found = SetFound {
            best,
            set,
            evaluations: 1,
            accepted: 0,
            is_complete: false,
        };
        if self.add(oracle, &mut found, &mut observe)?.is_break() {
            return Ok(found);
        }
        oracle.tune(&mut found.best, false)?;
        found.is_complete = (self.exchange(oracle, &mut found, &mut observe)?).is_continue();
        Ok(found)
    }

    /// Adds elements until the set has its size.
    fn add<O: SetOracle>(
        &self,
        oracle: &mut O,
        found: &mut SetFound<O::Point>,
        observe: &mut impl FnMut(SetProgress<'_, O::Point>) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, BoxError> {
        let first = found.set.iter().filter(|&&entry| entry).count();
        let missing = self.size - first;
        let rounds = self.rounds.clamp(1, missing.max(1));
        for round in 0..rounds {
            let now = first + missing * round / rounds;
            let num_new = first + missing * (round + 1) / rounds - now;
            let gains = oracle.gains(&found.best);
            let mut all = ranked(&gains, |index| !found.set[index]);
            for number in 0..num_new {
                let choice = (round + number) % self.spread.max(1);
                let choice = choice.min(all.len().saturating_sub(1));
                found.set[all.remove(choice)] = true;
            }
            let width = GREEDY_WIDTH * oracle.interval(&found.best).upper;
            found.best = oracle.evaluate(&found.set, Some(&found.best), width)?;
            found.evaluations += 1;
            if (round + 1) % self.rounds_per_tuning.max(1) == 0 && round + 1 < rounds {
                oracle.tune(&mut found.best, true)?;
            }
            if observe(found.progress()).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Exchanges elements until no candidate is left.
    fn exchange<O: SetOracle>(
        &self,
        oracle: &mut O,
        found: &mut SetFound<O::Point>,
        observe: &mut impl FnMut(SetProgress<'_, O::Point>) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, BoxError> {
        let mut left = self.max_exchanges;
        let mut block = self.block.max(1);
        'incumbent: loop {
            let gains = oracle.gains(&found.best);
            let losses = oracle.losses(&mut found.best)?;
            let entering = ranked(&gains, |index| !found.set[index]);
            let negative: Vec<f64> = losses.iter().map(|loss| -loss).collect();
            let leaving = ranked(&negative, |index| found.set[index] && !self.fixed[index]);
            while block > 1 && block >= self.least_block {
                let size = block.min(entering.len()).min(leaving.len());
                if left == 0 || size == 0 {
                    return Ok(ControlFlow::Continue(()));
                }
                left -= 1;
                let is_better = self.attempt(oracle, found, &entering[..size], &leaving[..size])?;
                if observe(found.progress()).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
                if is_better {
                    continue 'incumbent;
                }
                block /= 2;
            }
            if self.least_block > 1 {
                return Ok(ControlFlow::Continue(()));
            }
            for &entering in entering.iter().take(self.candidates[0]) {
                for &leaving in leaving.iter().take(self.candidates[1]) {
                    if left == 0 {
                        return Ok(ControlFlow::Continue(()));
                    }
                    left -= 1;
                    let is_better = self.attempt(oracle, found, &[entering], &[leaving])?;
                    if observe(found.progress()).is_break() {
                        return Ok(ControlFlow::Break(()));
                    }
                    if is_better {
                        continue 'incumbent;
                    }
                }
            }
            return Ok(ControlFlow::Continue(()));
        }
    }

    /// Tries an exchange, and makes it if it is certainly better.
    fn attempt<O: SetOracle>(
        &self,
        oracle: &mut O,
        found: &mut SetFound<O::Point>,
        entering: &[usize],
        leaving: &[usize],
    ) -> Result<bool, BoxError> {
        let mut set = found.set.clone();
        entering.iter().for_each(|&index| set[index] = true);
        leaving.iter().for_each(|&index| set[index] = false);
        let width = FIRST_WIDTH * oracle.interval(&found.best).upper;
        let mut trial = oracle.evaluate(&set, Some(&found.best), width)?;
        found.evaluations += 1;
        let is_better = is_better(oracle, &mut trial, &mut found.best, self.least_decrease)?;
        if is_better {
            found.best = trial;
            found.set = set;
            found.accepted += 1;
        }
        Ok(is_better)
    }
}

impl<P> SetFound<P> {
    fn progress(&self) -> SetProgress<'_, P> {
        SetProgress {
            best: &self.best,
            set: &self.set,
            evaluations: self.evaluations,
            accepted: self.accepted,
        }
    }
}

/// Returns whether the objective of `trial` is certainly below that of `incumbent` by at least the
/// share `least_decrease`. Sharpens the wider interval until this is decided, or until the
/// intervals are so narrow that it does not matter.
pub(crate) fn is_better<O: SetOracle>(
    oracle: &mut O,
    trial: &mut O::Point,
    incumbent: &mut O::Point,
    least_decrease: f64,
) -> Result<bool, BoxError> {
    /// The largest number of sharpenings; a choice.
    const MAX_SHARPENINGS: usize = 12;
    for _ in 0..MAX_SHARPENINGS {
        let (new, old) = (oracle.interval(trial), oracle.interval(incumbent));
        if new.upper <= (1.0 - least_decrease) * old.lower {
            return Ok(true);
        }
        let widths = [new.upper - new.lower, old.upper - old.lower];
        let matters = 0.5 * least_decrease * old.upper;
        // NaN is not better.
        if !(new.lower <= (1.0 - least_decrease) * old.upper) || widths[0] + widths[1] <= matters {
            return Ok(false);
        }
        let middle = |interval: Interval| 0.5 * (interval.lower + interval.upper);
        let gap = (middle(new) - (1.0 - least_decrease) * middle(old)).abs();
        let width = (DECIDING * gap).max(0.25 * matters);
        let (point, own) = if widths[0] >= widths[1] {
            (&mut *trial, widths[0])
        } else {
            (&mut *incumbent, widths[1])
        };
        oracle.sharpen(point, width.min(0.5 * own))?;
        let after = oracle.interval(point);
        if !(after.upper - after.lower < own) {
            return Ok(false);
        }
    }
    Ok(false)
}

/// Returns the indices that pass the test, those with the largest numbers first. NaN comes last,
/// and equal numbers are in the order of their indices.
fn ranked(numbers: &[f64], test: impl Fn(usize) -> bool) -> Vec<usize> {
    let mut all: Vec<usize> = (0..numbers.len()).filter(|&index| test(index)).collect();
    let key = |index: usize| {
        if numbers[index].is_nan() {
            f64::NEG_INFINITY
        } else {
            numbers[index]
        }
    };
    all.sort_by(|&a, &b| key(b).total_cmp(&key(a)));
    all
}

#[cfg(test)]
mod tests;
