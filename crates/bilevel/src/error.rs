//! What can be wrong with a learning problem.

use std::error::Error;

use dfo_ls::SetupError;
use imaging::ModelError;
use thiserror::Error;

use crate::families::FamilyKind;

/// The error of a model, which may have any type.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// A learning problem that does not make sense. Nothing has been computed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ProblemError {
    /// There are no training pairs.
    #[error("there are no training pairs")]
    NoPairs,
    /// The model has no parameters to learn.
    #[error("the model has no parameters to learn: make at least one of them learned")]
    NoParameters,
    /// Two parameters have the same name.
    #[error("two parameters are called {name}")]
    SameName {
        /// The name.
        name: String,
    },
    /// A number of a parameter is not usable.
    #[error("the {what} of {name} is {found}, which its map does not allow")]
    Parameter {
        /// The parameter.
        name: String,
        /// Which number.
        what: &'static str,
        /// What it is, as theta.
        found: f64,
    },
    /// The bounds of a parameter are crossed.
    #[error("the lower bound {lower} of {name} is above its upper bound {upper}")]
    CrossedBounds {
        /// The parameter.
        name: String,
        /// Its lower bound, as a value.
        lower: f64,
        /// Its upper bound, as a value.
        upper: f64,
    },
    /// A truth does not fit its grid.
    #[error("the truth of pair {index} has {found} entries, but its grid has {expected}")]
    TruthLength {
        /// Which pair.
        index: usize,
        /// Length of the grid.
        expected: usize,
        /// Length of the truth.
        found: usize,
    },
    /// A truth or data are not finite.
    #[error("entry {entry} of the {what} of pair {index} is not a finite number")]
    NonFinite {
        /// Which pair.
        index: usize,
        /// Truth or data.
        what: &'static str,
        /// The first such entry.
        entry: usize,
    },
    /// The model cannot be made at the start.
    #[error("the model of pair {index} cannot be made at the start: {source}")]
    Model {
        /// Which pair.
        index: usize,
        /// Why.
        source: BoxError,
    },
    /// The objective of the model has another dimension than the truth.
    #[error("the model of pair {index} reconstructs {found} entries, but its grid has {expected}")]
    Dimension {
        /// Which pair.
        index: usize,
        /// Length of the grid.
        expected: usize,
        /// Dimension of the objective.
        found: usize,
    },
    /// No number lies between the bounds of images.
    #[error("images cannot have values between {lower} and {upper}")]
    EmptyImageRange {
        /// The smallest value.
        lower: f64,
        /// The largest value.
        upper: f64,
    },
    /// Complex numbers have no smallest and largest value.
    #[error("pair {index} is complex: its values cannot have bounds")]
    ComplexImageRange {
        /// Which pair.
        index: usize,
    },
    /// A pair that is held out does not fit.
    #[error("held out: {0}")]
    Validation(#[source] Box<Self>),
    /// The solver does not accept an option.
    #[error(transparent)]
    Solver(#[from] SetupError),
}

/// A reconstruction that could not be made.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReconstructionError {
    /// Not one value for each parameter.
    #[error("values has {found} entries, but the model has {expected} parameters")]
    NumValues {
        /// How many parameters.
        expected: usize,
        /// How many values.
        found: usize,
    },
    /// The model does not accept the parameters or the data.
    #[error("the model cannot be made: {0}")]
    Model(#[source] BoxError),
    /// The solver could not start or go on.
    #[error(transparent)]
    Solve(#[from] lowlevel::SolveError),
}

/// A description that does not make sense.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SpecError {
    /// A parameter is not one of the family.
    #[error("{task} has no parameter {name:?} that can be {used}: it has {known}")]
    UnknownParameter {
        /// The family.
        task: FamilyKind,
        /// The name.
        name: String,
        /// Learned or fixed.
        used: &'static str,
        /// The names that are possible.
        known: String,
    },
    /// A parameter is both learned and fixed.
    #[error("{name} is both learned and fixed")]
    LearnedAndFixed {
        /// The parameter.
        name: String,
    },
    /// A start is not between its bounds.
    #[error("{name} starts at {start:e}, which is not between its bounds {lower:e} and {upper:e}")]
    StartOutside {
        /// The parameter.
        name: String,
        /// Its start.
        start: f64,
        /// Its lower bound.
        lower: f64,
        /// Its upper bound.
        upper: f64,
    },
    /// The family needs another input.
    #[error("{task} needs {needed}")]
    Input {
        /// The family.
        task: FamilyKind,
        /// What it needs.
        needed: &'static str,
    },
    /// The family cannot be made.
    #[error(transparent)]
    Model(#[from] ModelError),
}
