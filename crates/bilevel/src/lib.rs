//! Learns the parameters of image reconstruction from examples.
//!
//! A training pair is an image `$x_i$` (the truth) and its measured data `$y_i$`. Given such pairs,
//! this crate finds the parameters `$\theta$` of a reconstruction that minimise
//!
//! ```math
//! f(\theta) = \frac1n \sum_{i=1}^n \|\hat x_i(\theta) - x_i\|^2 + J(\theta),
//! \qquad \hat x_i(\theta) = \operatorname*{arg\,min}_x \Phi_\theta(x; y_i).
//! ```
//!
//! The reconstructions `$\hat x_i(\theta)$` are computed by iterative solvers, which return a
//! certified bound on their error. The learning algorithm asks only for the accuracy that its next
//! decision needs, and returns an interval that certainly contains `$f$`:
//!
//! ```
//! use bilevel::{LearningProblem, Pair, Setup, TvDenoising};
//! use imaging::{Grid, Seed, noise, phantom};
//!
//! // Five noisy signals. Your own pairs may be signals or pictures, of different sizes.
//! let seed = Seed::new(1);
//! let pairs = (0..5)
//!     .map(|i| {
//!         let truth = phantom::box_function(64, seed, i)?;
//!         let data = noise::gaussian(&truth, 0.1, seed, i)?;
//!         Ok(Pair { grid: Grid::line(64), truth, data })
//!     })
//!     .collect::<Result<Vec<_>, Box<dyn std::error::Error>>>()?;
//!
//! let mut problem = LearningProblem::new(TvDenoising::default(), pairs, Setup::default())?;
//! let learned = problem.learn()?;
//!
//! for entry in learned.entries() {
//!     println!("{} = {:.3e}", entry.name(), entry.value);
//! }
//! println!("f is between {} and {}", learned.interval.lower, learned.interval.upper);
//! // The reconstructions are closer to the truth than the data.
//! for score in &learned.training {
//!     assert!(score.after.map(|quality| quality.mse) < score.before.map(|quality| quality.mse));
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Map of the crate
//!
//! - **Input**: training [`Pair`]s, and a family of reconstruction problems with its
//!   [`Parameter`]s. The families are [`TvDenoising`], [`TvDeblurring`] and [`TvInpainting`], the
//!   same three with filter banks ([`FilterDenoising`], [`FilterDeblurring`],
//!   [`FilterInpainting`]), [`ColourFamily`] and [`FourierWeights`]; the trait [`LowerLevel`] adds
//!   your own. [`TvChoices`] selects which of `$(\alpha, \nu, \xi)$` are learned.
//! - **Objective**: a [`Loss`], with or without truth ([`Criterion`]), and optional penalties
//!   ([`ConditionNumber`], [`RootL1`], or your own through the trait [`Penalty`]) or a non-smooth
//!   [`regularizer`](Setup::regularizer).
//! - **Settings**: [`Setup`] for the learning problem, [`learning_options`] for the solver. The
//!   paper's variants with a fixed number of iterations are [`Effort::Iterations`].
//! - **Learning**: [`LearningProblem`] joins all of these. Where the family has [`Derivatives`], it
//!   learns with gradients ([`SolverKind`]), and is an oracle for [`inexact_lbfgs`].
//!   Otherwise it is an oracle for [`dfo_ls`]. Everything in these crates (ask and tell, save and
//!   resume, budgets) works with it.
//! - **Output**: [`Learned`], with a [`Score`] for each training pair and each held-out pair.
//!   [`reconstruct`] applies the learned parameters to new data, and [`score`] compares the result
//!   with a truth.
//! - **Masks**: [`MaskStudy`] learns which frequencies to measure in magnetic resonance imaging.
//! - **For programs**: [`Family`] holds one of the families of this crate, and [`Spec`] describes a
//!   learning problem by settings that can be saved. [`ResidualLayout`] computes residuals from
//!   reconstructions that were computed elsewhere.
//!
//! # Conventions
//!
//! Image values are expected in `$[0, 1]$`, but only the [`Score`]s depend on that. The parameters
//! `$(\alpha, \nu, \xi)$` are learned as decimal logarithms. Work is counted in gradients of
//! `$\Phi_\theta$`. Images and points are evaluated in parallel, and results do not depend on the
//! number of threads.
//!
//! The method follows M. J. Ehrhardt and L. Roberts, *Inexact derivative-free optimization for
//! bilevel learning*, J. Math. Imaging Vis. 63 (2021). The decision records in `docs/decisions`
//! explain the differences.
//!
//! # Features
//!
//! - `rayon` (default): evaluate on several threads.
//! - `serde`: save and load [`Learned`] and the states of runs.

/// Tests the examples of this crate's page.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod checkpoint;
mod criterion;
mod derivatives;
mod engine;
mod error;
mod families;
mod gradient;
mod influence;
mod learn;
mod learned;
mod loss;
mod lower;
mod masks;
mod oracle;
mod parameter;
mod penalty;
mod problem;
mod ranks;
mod score;
mod search;
mod spec;
pub mod testing;
mod vectors;
mod workspace;

pub use checkpoint::{CheckpointPolicy, Reconstructions, StoredAdjoint};
pub use criterion::{Criterion, CriterionKind, Forward};
pub use derivatives::Derivatives;
pub use engine::{BestPoint, LearningEngine, LearningState};
pub use error::{BoxError, ProblemError, ReconstructionError, SpecError};
pub use families::{
    BlurredData, Deblurring, Family, FamilyData, FamilyKind, FamilyObjective, FamilyScratch,
    ImageData, OwnFamily,
};
pub use families::{
    Choice, ColourFamily, ColourFilters, ColourTv, FilterChoices, FilterDeblurring,
    FilterDenoising, FilterInpainting, FilterObjective, FilterSet, FourierWeights, Inpainting,
    MaskedData, TvChoices, TvChroma, TvDeblurring, TvDenoising, TvInpainting,
};
pub use influence::{INFLUENCE_STEP, NEGLIGIBLE_INFLUENCE};
pub use learn::learning_options;
pub use learned::{
    Bound, FlatDirection, Learned, LearnedEntry, LearnedGradient, LearnedParameter, Work,
};
pub use loss::{Loss, ResidualLayout, Residuals, Scale};
pub use lower::{LowerLevel, Reconstruction, Watch, reconstruct, reconstruct_observed};
pub use masks::{
    ComparedMask, FrequencyZero, Kspace, LearnedMask, MaskError, MaskKind, MaskMethod, MaskOptions,
    MaskOutcome, MaskPoint, MaskProblem, MaskProgress, MaskScore, MaskSpec, MaskStudy,
    MaskedPicture, Pattern, RelaxedMask, SamplingMask, frequency, is_inside,
};
pub use parameter::{Map, Parameter, Starts};
pub use penalty::{ConditionNumber, Penalty, PenaltyContext, RootL1};
pub use problem::{ColdStart, Effort, ImageRange, LearningProblem, Pair, Setup, SolverKind};
pub use ranks::{Exchange, Ranks, share_of};
pub use score::{ErrorEstimate, Quality, Score, Scored, ScoredImages, score, shown};
pub use search::{SetFound, SetOracle, SetProgress, SetSearch};
pub use spec::{
    BoundaryName, FamilyInput, L1Kind, MethodName, ModelSpec, ObjectiveSpec, SolverSpec, Spec,
    Values,
};
