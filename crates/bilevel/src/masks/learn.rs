//! A mask learned from slices, by searches from several starts.

use std::ops::ControlFlow;

use imaging::{Grid, TvParameters};
use inexact_lbfgs::Interval;

use super::{MaskError, MaskPoint, MaskProblem, Pattern};
use crate::search::{SetOracle, SetSearch};

/// The settings of [`MaskProblem::learn`].
#[derive(Clone, Debug, PartialEq)]
pub struct MaskOptions {
    /// The number of lines or points in the mask.
    pub size: usize,
    /// The width of the centre that every mask contains; see [`Pattern::centre`].
    pub centre: usize,
    /// The number of searches. The first one is greedy; later ones choose among several promising
    /// elements in turn, so that they end elsewhere.
    pub restarts: usize,
    /// The number of rounds in which elements are added. `None` stands for one line per round, and
    /// for 24 rounds of points.
    pub rounds: Option<usize>,
    /// The largest number of exchanges that each search tries.
    pub max_exchanges: usize,
    /// The mask and the parameters to start from, for example those of an interrupted search.
    pub start: Option<(Vec<bool>, TvParameters)>,
}

impl MaskOptions {
    /// The defaults for a mask of this size with this centre.
    #[must_use]
    pub const fn new(size: usize, centre: usize) -> Self {
        Self {
            size,
            centre,
            restarts: 1,
            rounds: None,
            max_exchanges: 150,
            start: None,
        }
    }

    /// The defaults for a mask with this share of all lines or points.
    ///
    /// # Errors
    /// When the budget is not a share, or the centre does not fit.
    pub fn of_budget(
        pattern: Pattern,
        grid: Grid,
        budget: f64,
        centre: usize,
    ) -> Result<Self, MaskError> {
        let options = Self::new(pattern.size_of(grid, budget)?, centre);
        options.check(pattern, grid)?;
        Ok(options)
    }

    /// Checks that the centre, and the mask to start from, fit into a mask of this size.
    pub(super) fn check(&self, pattern: Pattern, grid: Grid) -> Result<(), MaskError> {
        let (all, size, elements) = (pattern.num_elements(grid), self.size, pattern.name());
        if size == 0 {
            return Err(MaskError::Empty);
        }
        if size > all {
            return Err(MaskError::Size {
                size,
                all,
                elements,
            });
        }
        let mut fixed = pattern.centre(grid, self.centre);
        if let Some((start, _)) = &self.start {
            pattern.check(grid, start)?;
            for (fixed, start) in fixed.iter_mut().zip(start) {
                *fixed |= start;
            }
        }
        let centre = fixed.iter().filter(|&&entry| entry).count();
        // a mask that is nothing but its centre leaves nothing to learn
        if centre > size || (centre == size && self.start.is_none()) {
            return Err(MaskError::Centre {
                size,
                centre,
                elements,
            });
        }
        Ok(())
    }
}

/// The progress of learning, after every evaluated mask.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct MaskProgress<'a> {
    /// The mask of the current search; it may still be too small.
    pub set: &'a [bool],
    /// The parameters of the current search.
    pub tv: TvParameters,
    /// The interval of its objective.
    pub interval: Interval,
    /// The number of the search, counted from 0.
    pub restart: usize,
    /// The number of masks that were tried.
    pub evaluations: usize,
    /// The number of accepted exchanges.
    pub accepted: usize,
}

/// A learned mask.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LearnedMask {
    /// The mask with its parameters and the reconstructions of the training slices.
    pub point: MaskPoint,
    /// An interval that contains its objective.
    pub interval: Interval,
    /// The number of masks that were tried in all searches.
    pub evaluations: usize,
    /// The number of exchanges that were accepted in all searches.
    pub accepted: usize,
    /// Whether all searches ended because no exchange was left, or their number was used up.
    pub is_complete: bool,
}

/// A decrease of the objective by a smaller share is not worth an exchange; a choice. It is 0.002
/// dB.
const LEAST_DECREASE: f64 = 5e-4;

impl MaskProblem {
    /// Returns the search with these settings.
    fn search(&self, options: &MaskOptions, restart: usize) -> SetSearch {
        let grid = self.grid();
        let fixed = self.pattern().centre(grid, options.centre);
        let start = match &options.start {
            Some((set, _)) if restart == 0 => set.clone(),
            _ => fixed.clone(),
        };
        let (rounds, per_tuning, block) = match self.pattern() {
            Pattern::Lines => (usize::MAX, 4, 1),
            Pattern::Points => (24, 5, options.size / 32),
        };
        SetSearch {
            start,
            fixed,
            size: options.size,
            rounds: options.rounds.unwrap_or(rounds),
            rounds_per_tuning: per_tuning,
            block,
            least_block: match self.pattern() {
                Pattern::Lines => 1,
                Pattern::Points => (options.size / 512).max(2),
            },
            candidates: [5, 8],
            max_exchanges: options.max_exchanges,
            least_decrease: LEAST_DECREASE,
            spread: 1 + restart,
        }
    }

    /// Learns a mask, and the parameters of the regulariser along with it: `alpha` during the
    /// search, and `nu` at its end. Relative weights of filters are learned when the mask has its
    /// size, and again at the end. Calls `observe` after every mask that was tried; it ends
    /// learning by returning [`ControlFlow::Break`], and the result is the best mask so far, with
    /// tuned parameters. (A mask that is interrupted while it grows has fewer elements than
    /// requested.)
    ///
    /// # Errors
    /// When the size of the mask does not fit, or a reconstruction fails.
    pub fn learn(
        &mut self,
        options: &MaskOptions,
        mut observe: impl FnMut(MaskProgress<'_>) -> ControlFlow<()>,
    ) -> Result<LearnedMask, MaskError> {
        options.check(self.pattern(), self.grid())?;
        let mut best: Option<LearnedMask> = None;
        let (mut evaluations, mut accepted, mut is_complete) = (0, 0, true);
        for restart in 0..options.restarts.max(1) {
            let search = self.search(options, restart);
            if let (Some((_, tv)), 0) = (&options.start, restart) {
                self.start = *tv;
            }
            // The observer sees intervals, which the oracle knows: it is lent to the search.
            let squares = self.squares();
            let mut found = search.run(self, |progress| {
                let event = MaskProgress {
                    set: progress.set,
                    tv: progress.best.tv(),
                    interval: progress.best.interval(&squares),
                    restart,
                    evaluations: evaluations + progress.evaluations,
                    accepted: accepted + progress.accepted,
                };
                observe(event)
            })?;
            evaluations += found.evaluations;
            accepted += found.accepted;
            is_complete &= found.is_complete;
            let stopped = !found.is_complete;
            self.tune_parameters(&mut found.best)?;
            self.learn_filters(&mut found.best)?;
            let interval = self.interval(&found.best);
            let size = |set: &[bool]| set.iter().filter(|&&entry| entry).count();
            let is_best = best.as_ref().is_none_or(|best| {
                size(&found.set) >= size(best.point.set()) && interval.upper < best.interval.upper
            });
            if is_best {
                best = Some(LearnedMask {
                    point: found.best,
                    interval,
                    evaluations,
                    accepted,
                    is_complete,
                });
            }
            if stopped {
                break;
            }
        }
        let mut best = best.ok_or(MaskError::NoSlices)?;
        best.evaluations = evaluations;
        best.accepted = accepted;
        best.is_complete = is_complete;
        Ok(best)
    }

    /// Evaluates a mask that was not learned, and tunes `alpha` for it (and `nu` unless it is
    /// fixed), starting from the values in `tv`.
    ///
    /// # Errors
    /// When a reconstruction fails.
    pub fn tuned(&mut self, set: &[bool], tv: TvParameters) -> Result<MaskPoint, MaskError> {
        let mut point = self.evaluate_at(set, tv, None, f64::INFINITY)?;
        self.tune_parameters(&mut point)?;
        Ok(point)
    }
}
