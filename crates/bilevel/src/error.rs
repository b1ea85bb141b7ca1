//! Errors of learning problems, reconstructions and their descriptions.

use std::error::Error;

use dfo_ls::SetupError;
use imaging::ModelError;
use thiserror::Error;

use crate::families::FamilyKind;

/// The error of a model, which may have any type.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// The error of an invalid learning problem. It is returned before anything is computed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ProblemError {
    /// There are no training pairs.
    #[error("there are no training pairs: give at least one")]
    NoPairs,
    /// The model has no parameters to learn.
    #[error("the model has no parameters to learn: choose at least one")]
    NoParameters,
    /// Two parameters have the same name.
    #[error("two parameters are called {name}: rename one of them")]
    SameName {
        /// The name of both parameters.
        name: String,
    },
    /// A parameter has no entries, or more than can be counted.
    #[error("the shape of {name} is {shape:?}: every axis needs at least one entry")]
    Shape {
        /// The name of the parameter.
        name: String,
        /// The shape of the parameter.
        shape: Vec<usize>,
    },
    /// The number of starts of a parameter is not the number of its entries.
    #[error(
        "the list of starts of {name} has length {found}, but must have length {expected}: give one \
         start for all entries, or one for each"
    )]
    NumStarts {
        /// The name of the parameter.
        name: String,
        /// The number of entries.
        expected: usize,
        /// The number of starts.
        found: usize,
    },
    /// The start or a bound of a parameter is not finite, or the map has no valid value there.
    #[error("the {what} of {name} is theta = {found}, where {name} has no valid value")]
    Parameter {
        /// The name of the parameter.
        name: String,
        /// The number that is wrong: `start`, `lower bound` or `upper bound`.
        what: &'static str,
        /// The number found there, as `theta`.
        found: f64,
    },
    /// The bounds of a parameter are crossed.
    #[error("the lower bound {lower} of {name} is above its upper bound {upper}")]
    CrossedBounds {
        /// The name of the parameter.
        name: String,
        /// The lower bound, as a value of the parameter.
        lower: f64,
        /// The upper bound, as a value of the parameter.
        upper: f64,
    },
    /// A truth does not fit its grid.
    #[error("the truth of pair {index} has length {found}, but its grid has length {expected}")]
    TruthLength {
        /// The index of the pair.
        index: usize,
        /// The number of entries of the grid.
        expected: usize,
        /// The number of entries of the truth.
        found: usize,
    },
    /// A training pair has no truth, but it is learned from the truth.
    #[error(
        "pair {index} has no truth: give it, or choose the criterion SURE or GCV, which need none"
    )]
    NoTruth {
        /// The index of the pair.
        index: usize,
    },
    /// The number of noise levels is not the number of training pairs.
    #[error("{found} noise levels for {expected} training pairs: SURE needs one for each")]
    NumNoiseLevels {
        /// The number of training pairs.
        expected: usize,
        /// The number of noise levels.
        found: usize,
    },
    /// The noise level of a pair is not positive and finite.
    #[error(
        "the noise level of pair {index} is {sigma}: SURE needs a positive number; choose the \
         criterion GCV if it is not known"
    )]
    NoiseLevel {
        /// The index of the pair.
        index: usize,
        /// The noise level.
        sigma: f64,
    },
    /// The family cannot learn without truth.
    #[error(
        "this family cannot learn without truth, because it has no second derivatives or does not \
         map images to their data"
    )]
    NoForward,
    /// The values of images are limited, and there is no truth.
    #[error(
        "image_range limits the values of images, which SURE and GCV cannot take into account: \
         remove it, or learn from the truth"
    )]
    RangeWithoutTruth,
    /// A truth or data are not finite.
    #[error("entry {entry} of the {what} of pair {index} is not a finite number")]
    NonFinite {
        /// The index of the pair.
        index: usize,
        /// The vector with the entry: `truth` or `data`.
        what: &'static str,
        /// The index of the first entry that is not finite.
        entry: usize,
    },
    /// The family refused the data of a pair, or the start of the parameters.
    #[error("the model of pair {index} cannot be built at the start: {source}")]
    Model {
        /// The index of the pair.
        index: usize,
        /// The error of the family.
        source: BoxError,
    },
    /// The objective of a pair has another dimension than its truth.
    #[error(
        "the model of pair {index} reconstructs images of length {found}, but its grid has length \
         {expected}"
    )]
    Dimension {
        /// The index of the pair.
        index: usize,
        /// The number of entries of the grid.
        expected: usize,
        /// The dimension of the objective.
        found: usize,
    },
    /// The image range contains no number.
    #[error(
        "no image value is between {lower} and {upper}: the smallest value of image_range must not \
         be above the largest"
    )]
    EmptyImageRange {
        /// The smallest image value.
        lower: f64,
        /// The largest image value.
        upper: f64,
    },
    /// An image range was given for complex images, whose values have no order.
    #[error("pair {index} is complex, so its values cannot be limited: remove image_range")]
    ComplexImageRange {
        /// The index of the pair.
        index: usize,
    },
    /// A held-out pair is invalid.
    #[error("held-out pairs: {0}")]
    Validation(#[source] Box<Self>),
    /// The solver does not accept an option.
    #[error(transparent)]
    Solver(#[from] SetupError),
    /// The solver with gradients does not accept an option.
    #[error(transparent)]
    GradientSolver(#[from] inexact_lbfgs::SetupError),
    /// Gradients were asked for, but the problem is not differentiable.
    #[error(
        "gradients cannot be used, because {reason}: choose the solver auto or derivative-free"
    )]
    NoGradients {
        /// The reason.
        reason: &'static str,
    },
    /// Something that must be the same on all ranks is not.
    #[error(
        "the {what} of rank {rank} differ from those of rank 0: start all ranks with the same \
         settings and the same version"
    )]
    RanksDiffer {
        /// The thing that differs, such as `settings`.
        what: &'static str,
        /// The first rank that differs from rank 0.
        rank: usize,
    },
    /// The problem is invalid on another rank.
    #[error("rank {rank}: {reason}")]
    OtherRank {
        /// The rank.
        rank: usize,
        /// The error of that rank.
        reason: String,
    },
    /// The ranks cannot exchange numbers.
    #[error("{0}")]
    Exchange(String),
}

/// The error of a reconstruction that could not be computed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReconstructionError {
    /// The number of values is not the number of parameters.
    #[error("`values` has length {found}, but the number of parameters is {expected}")]
    NumValues {
        /// The number of parameters of the family.
        expected: usize,
        /// The number of values.
        found: usize,
    },
    /// The family does not accept the values of the parameters or the data.
    #[error("{0}")]
    Model(#[source] BoxError),
    /// The solver failed.
    #[error(transparent)]
    Solve(#[from] lowlevel::SolveError),
}

/// The error of an invalid description of a learning problem, [`Spec`](crate::Spec).
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SpecError {
    /// The family has no parameter with this name that can be learned or fixed.
    #[error("{task} has no parameter {name:?} that can be {used}: it has {known}")]
    UnknownParameter {
        /// The family.
        task: FamilyKind,
        /// The unknown name.
        name: String,
        /// The use of the name: `learned` or `fixed`.
        used: &'static str,
        /// The names that are possible, separated by commas.
        known: String,
    },
    /// A parameter is both learned and fixed.
    #[error("{name} is both learned and fixed: remove it from one of the two")]
    LearnedAndFixed {
        /// The name of the parameter.
        name: String,
    },
    /// The start of a parameter is not between its bounds.
    #[error("{name} starts at {start:?}, which is not between its bounds {lower:?} and {upper:?}")]
    StartOutside {
        /// The name of the parameter.
        name: String,
        /// The start, as a value of the parameter.
        start: f64,
        /// The lower bound, as a value of the parameter.
        lower: f64,
        /// The upper bound, as a value of the parameter.
        upper: f64,
    },
    /// The input does not belong to the family.
    #[error("{task} needs {needed}")]
    Input {
        /// The family.
        task: FamilyKind,
        /// The input that the family needs.
        needed: &'static str,
    },
    /// Pictures in colour are for another task.
    #[error("{task} has no model of pictures in colour: learn from grey values or channels")]
    Colour {
        /// The family.
        task: FamilyKind,
    },
    /// Filter banks are for another task.
    #[error("{task} has no filter banks: leave out the filters")]
    Filters {
        /// The family.
        task: FamilyKind,
    },
    /// The width of a kernel should be learned, but the kernel is given by its values.
    #[error(
        "the width of a blur can be learned if its kernel is given by its shape, such as \
         gaussian:2 or disc:5, but this kernel is given by its values"
    )]
    Width,
    /// A parameter is named although a filter bank has its own parameters.
    #[error("{name} cannot be set for a filter bank, all of whose parameters are learned")]
    FilterParameter {
        /// The name of the parameter.
        name: String,
    },
    /// The family cannot be built from the input.
    #[error(transparent)]
    Model(#[from] ModelError),
}
