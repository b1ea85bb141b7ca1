//! Errors in a problem or its options, found before the first evaluation.

use thiserror::Error;

/// An invalid problem, option or saved state. Nothing was evaluated.
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
    #[error("`{argument}` has length {found}, but must have length {expected}")]
    Length {
        /// The argument's name.
        argument: &'static str,
        /// The number of entries that the list must have.
        expected: usize,
        /// The number of entries that the list has.
        found: usize,
    },
    /// The lengths of the blocks of residuals do not add up to the number of residuals.
    #[error("the lengths in `blocks` add up to {found}, but there are {expected} residuals")]
    BlockLengths {
        /// The number of residuals.
        expected: usize,
        /// The sum of the lengths.
        found: usize,
    },
    /// A number that must be finite is NaN or infinite.
    #[error("`{argument}[{index}]` is {found}, but must be a finite number")]
    NotFinite {
        /// The argument's name.
        argument: &'static str,
        /// The index of the entry, counted from zero.
        index: usize,
        /// The value of the entry.
        found: f64,
    },
    /// A bound is NaN, or a lower bound `+inf`, or an upper bound `-inf`.
    #[error(
        "the bounds [{lower}, {upper}] of parameter {index} are invalid: \
         use -inf for no lower bound, and inf for no upper bound"
    )]
    InvalidBound {
        /// The index of the parameter, counted from zero.
        index: usize,
        /// The parameter's lower bound.
        lower: f64,
        /// The parameter's upper bound.
        upper: f64,
    },
    /// A lower bound lies above its upper bound.
    #[error("the lower bound {lower} of parameter {index} is above its upper bound {upper}")]
    CrossedBounds {
        /// The index of the parameter, counted from zero.
        index: usize,
        /// The parameter's lower bound.
        lower: f64,
        /// The parameter's upper bound.
        upper: f64,
    },
    /// Every parameter is fixed by equal bounds.
    #[error("the lower and upper bounds of every parameter are equal: no parameter is free")]
    AllFixed,
    /// The convex sets have no point in common: alternating projections end outside one of them.
    #[error(
        "the convex sets have no point in common: alternating projections from `start` end \
         outside one of them"
    )]
    NoCommonPoint,
    /// An option is out of range.
    #[error("option `{option}` is {found}, but must be {expected}")]
    Option {
        /// The option's path, such as `trust_region.eta1`.
        option: &'static str,
        /// The value of the option.
        found: f64,
        /// The allowed values, in words.
        expected: &'static str,
    },
    /// Two options exclude each other.
    #[error("options `{first}` and `{second}` cannot be combined: {why}")]
    Conflict {
        /// The first option.
        first: &'static str,
        /// The second option.
        second: &'static str,
        /// The reason, and the remedy where there is one.
        why: &'static str,
    },
    /// A saved state belongs to another problem than the one it is continued with.
    #[error("the saved state belongs to another problem: {what} differs")]
    StateMismatch {
        /// The property that differs.
        what: &'static str,
    },
    /// A lean state was used before it was completed.
    #[error("the saved state is incomplete; call `State::complete` first")]
    IncompleteState,
}
