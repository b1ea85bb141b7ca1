//! Learn the parameters of image reconstruction from examples.
//!
//! Given pairs of data `$y_i$` and what should be reconstructed from them, `$x_i$`, find the
//! parameters `$\theta$` that minimise
//!
//! ```math
//! f(\theta) = \frac1n \sum_{i=1}^n \|\hat x_i(\theta) - x_i\|^2 + J(\theta),
//! \qquad \hat x_i(\theta) = \operatorname*{arg\,min}_x \Phi_\theta(x; y_i).
//! ```
//!
//! No reconstruction is ever exact. Here each comes with a certified error, the solver asks for
//! just the accuracy that its decisions need, and the answer comes with an interval that certainly
//! contains `$f$`:
//!
//! ```
//! use bilevel::{LearningProblem, Pair, Setup, TvDenoising};
//! use imaging::{Grid, Seed, noise, phantom};
//!
//! // Noisy signals, and what they should be. Bring your own, signals or pictures, of any sizes.
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
//! for parameter in &learned.parameters {
//!     println!("{} = {:.3e}", parameter.name(), parameter.value);
//! }
//! println!("f is between {} and {}", learned.interval.lower, learned.interval.upper);
//! let noisy: f64 = problem.pairs().iter().flat_map(|p| p.data.iter().zip(&p.truth)).map(|(y, x)| (y - x).powi(2)).sum();
//! assert!(learned.interval.upper < 0.5 * noisy / 5.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is where
//!
//! - What is learned from: [`Pair`]s. What is learned: the [`Parameter`]s of a family of
//!   reconstruction problems.
//! - The families: [`TvDenoising`], [`TvDeblurring`], [`TvInpainting`], [`FourierWeights`], and
//!   your own through the trait [`LowerLevel`]. Of `$(\alpha, \nu, \xi)$`, [`TvChoices`] says which
//!   are learned. [`Family`] is any of them, and [`Spec`] describes a learning problem in settings
//!   that can be saved.
//! - What is minimised: the [`Loss`] ([`ResidualLayout`] has its residuals, for reconstructions
//!   made elsewhere), and penalties: [`ConditionNumber`], [`RootL1`], your own through the trait
//!   [`Penalty`], or a non-smooth [`regularizer`](Setup::regularizer).
//! - How: [`Setup`] and the options of the solver, [`learning_options`]. The paper's variants with
//!   a fixed number of iterations are [`Effort::Iterations`].
//! - [`LearningProblem`] joins all that. It is an oracle for [`dfo_ls`], so that whatever that
//!   crate can do (ask and tell, save and resume, budgets) works here.
//! - What comes back: [`Learned`], with [`Score`]s on training pairs and on pairs held out.
//!   [`reconstruct`] applies it to new data, [`score`] to a pair.
//!
//! # Conventions
//!
//! Values of images are thought to be in `$[0, 1]$`; nothing depends on it but the [`Score`]s.
//! Weights are learned as their decimal logarithm. Work is counted in gradients of `$\Phi_\theta$`.
//! Images and points are solved in parallel; results do not depend on the number of threads. The
//! method follows M. J. Ehrhardt and L. Roberts, *Inexact derivative-free optimization for bilevel
//! learning*, J. Math. Imaging Vis. 63 (2021); where ours differs, `docs/decisions` says why.
//!
//! # Features
//!
//! `rayon` (default): several threads. `serde`: [`Learned`] and the states of runs can be saved and
//! loaded.

/// The examples of the front page are tested here.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

mod checkpoint;
mod error;
mod families;
mod influence;
mod learn;
mod learned;
mod loss;
mod lower;
mod oracle;
mod parameter;
mod penalty;
mod problem;
mod score;
mod spec;
pub mod testing;
mod workspace;

pub use checkpoint::{CheckpointPolicy, Reconstructions};
pub use error::{BoxError, ProblemError, ReconstructionError, SpecError};
pub use families::{
    BlurredData, Family, FamilyData, FamilyKind, FamilyObjective, FamilyScratch, ImageData,
};
pub use families::{Choice, FourierWeights, TvChoices, TvDeblurring, TvDenoising, TvInpainting};
pub use influence::{INFLUENCE_STEP, NEGLIGIBLE_INFLUENCE};
pub use learn::learning_options;
pub use learned::{Bound, FlatDirection, Learned, LearnedParameter, Work};
pub use loss::{Loss, ResidualLayout, Residuals, Scale};
pub use lower::{LowerLevel, Reconstruction, Watch, reconstruct, reconstruct_observed};
pub use parameter::{Map, Parameter};
pub use penalty::{ConditionNumber, Penalty, PenaltyContext, RootL1};
pub use problem::{ColdStart, Effort, ImageRange, LearningProblem, Pair, Setup};
pub use score::{Quality, Score, Scored, ScoredImages, score};
pub use spec::{
    FamilyInput, L1Kind, MethodName, ModelSpec, ObjectiveSpec, SolverSpec, Spec, Values,
};
