//! Errors in a problem, its options or a saved state, found before the first evaluation.

use thiserror::Error;

/// An invalid problem, option or saved state. Nothing was evaluated.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum SetupError {
    /// There are no parameters.
    #[error("`start` is empty: there are no parameters to find")]
    NoParameters,
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
    /// The weight of an absolute value is negative, infinite or NaN.
    #[error("the l1 weight of parameter {index} is {found}, but must be finite and at least 0")]
    InvalidWeight {
        /// The index of the parameter, counted from zero.
        index: usize,
        /// The weight.
        found: f64,
    },
    /// An option is out of range.
    #[error("option `{option}` is {found}, but must be {expected}")]
    Option {
        /// The option's path, such as `stop.predicted`.
        option: &'static str,
        /// The value of the option.
        found: f64,
        /// The allowed values, in words.
        expected: &'static str,
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
