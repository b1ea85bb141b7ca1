//! What is wrong with a problem or its options, found before the first evaluation.

use thiserror::Error;

/// A problem that cannot be started. Nothing was evaluated.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum SetupError {
    /// There are no parameters.
    #[error("`start` is empty: there are no parameters to find")]
    NoParameters,
    /// There are no residuals.
    #[error("`num_residuals` is zero: there is nothing to minimise")]
    NoResiduals,
    /// A list has the wrong length.
    #[error("`{argument}` has {found} entries, but there are {expected}")]
    Length {
        /// The argument's name.
        argument: &'static str,
        /// How many entries it should have.
        expected: usize,
        /// How many it has.
        found: usize,
    },
    /// A number is NaN or infinite where it must not be.
    #[error("`{argument}[{index}]` is {found}, but must be a finite number")]
    NotFinite {
        /// The argument's name.
        argument: &'static str,
        /// Which entry.
        index: usize,
        /// What was found.
        found: f64,
    },
    /// A bound is NaN, or a lower bound `+inf`, or an upper bound `-inf`.
    #[error("bound {index} is [{lower}, {upper}]: use -inf and inf for sides without a bound")]
    InvalidBound {
        /// Which parameter.
        index: usize,
        /// Its lower bound.
        lower: f64,
        /// Its upper bound.
        upper: f64,
    },
    /// A lower bound lies above its upper bound.
    #[error("bound {index} is crossed: lower {lower} is above upper {upper}")]
    CrossedBounds {
        /// Which parameter.
        index: usize,
        /// Its lower bound.
        lower: f64,
        /// Its upper bound.
        upper: f64,
    },
    /// Every parameter is fixed by equal bounds.
    #[error("all bounds are equal: no parameter is left to find")]
    AllFixed,
    /// The point nearest to all sets is not in all of them.
    #[error("the sets have no point in common, as far as alternating projections can tell")]
    NoCommonPoint,
    /// An option is out of range.
    #[error("option `{option}` is {found}, but must be {expected}")]
    Option {
        /// Its path, as in `trust_region.eta1`.
        option: &'static str,
        /// What was given.
        found: f64,
        /// What is allowed.
        expected: &'static str,
    },
    /// Two options exclude each other.
    #[error("options `{first}` and `{second}` cannot be combined: {why}")]
    Conflict {
        /// The one option.
        first: &'static str,
        /// The other.
        second: &'static str,
        /// The reason.
        why: &'static str,
    },
    /// A saved state does not fit the problem it is to be continued with.
    #[error("the saved state belongs to another problem: {what} differs")]
    StateMismatch {
        /// What differs.
        what: &'static str,
    },
    /// A lean state was not completed before it was used.
    #[error("the saved state is incomplete; call `State::complete` first")]
    IncompleteState,
}
