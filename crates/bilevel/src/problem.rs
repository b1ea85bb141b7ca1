//! The learning problem: training pairs, a family, a loss and penalties.

mod checks;
mod setup;

use std::fmt;
use std::sync::Arc;

use dfo_ls::{Accuracy, AccuracyControl, BlockVectors, Engine, Options, Problem, State};
use imaging::Grid;
use imaging::noise::Anscombe;
use lowlevel::Stop;

use crate::checkpoint::{CheckpointPolicy, Reconstructions};
use crate::criterion::Criterion;
use crate::error::ProblemError;
use crate::loss::ResidualLayout;
use crate::lower::LowerLevel;
use crate::parameter::Parameter;
use crate::penalty::PenaltyContext;
use crate::ranks::Ranks;
use crate::workspace::Workspaces;
use checks::{description, prepare_all};
pub use setup::{ColdStart, Effort, ImageRange, Setup, SolverKind};

/// The numbers that ranks exchange about each pair: the entries of its truth, its samples, and the
/// entries of its unknown.
const SIZES: usize = 3;

/// A training image: the truth, and the data that were measured of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// The grid of the truth and of its reconstruction.
    pub grid: Grid,
    /// The truth `$x_i$`, the image to recover. It may be empty if it is not known: then the pair
    /// has no score, and it can only be learned from [without truth](crate::Criterion).
    pub truth: Vec<f64>,
    /// The data `$y_i$`, measured from the truth.
    pub data: Vec<f64>,
}

impl Pair {
    /// Returns the pair in the form in which the data of a camera that counts photons have nearly
    /// Gaussian noise: the data are transformed, and the truth becomes the mean of transformed
    /// data. Reconstructions of such data become pictures by [`Anscombe::inverse`].
    #[must_use]
    pub fn for_camera(self, camera: &Anscombe) -> Self {
        Self {
            grid: self.grid,
            truth: camera.expected(&self.truth),
            data: camera.transform(&self.data),
        }
    }

    /// Does the inverse of [`for_camera`](Self::for_camera), up to rounding and to values below
    /// the black level.
    #[must_use]
    pub fn from_camera(self, camera: &Anscombe) -> Self {
        Self {
            grid: self.grid,
            truth: camera.inverse(&self.truth),
            data: camera.untransform(&self.data),
        }
    }
}

/// A learning problem: training pairs, a family of reconstruction problems and a [`Setup`].
///
/// [`learn`](Self::learn) solves it. It is also an oracle for [`dfo_ls`]: [`engine`](Self::engine)
/// returns an engine for callers that run the loop themselves, to save it or to evaluate elsewhere.
pub struct LearningProblem<M: LowerLevel> {
    pub(crate) model: M,
    /// The training pairs of this rank.
    pub(crate) pairs: Vec<Pair>,
    /// The prepared data of each training pair.
    pub(crate) data: Vec<M::Data>,
    /// The prepared data of each held-out pair.
    pub(crate) validation: Vec<M::Data>,
    pub(crate) setup: Setup,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) layout: ResidualLayout,
    /// The resolved policy, which is not `Auto`.
    pub(crate) checkpoints: CheckpointPolicy,
    pub(crate) workspaces: Workspaces<M::Scratch>,
    pub(crate) ranks: Ranks,
    /// The number of training pairs on the ranks before this one.
    pub(crate) first: usize,
    /// The number of samples of the training images of all ranks.
    num_samples: usize,
    /// One block for each image of this rank, then one for the terms of penalties.
    pub(crate) vectors: Vec<BlockVectors>,
    pub(crate) num_terms: usize,
    /// The number of the next evaluation.
    pub(crate) next_number: u64,
    /// The work of the reconstructions and of the adjoints of the last evaluation with gradients.
    pub(crate) last_work: [u64; 2],
}

impl<M: LowerLevel + fmt::Debug> fmt::Debug for LearningProblem<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LearningProblem")
            .field("model", &self.model)
            .field("num_pairs", &self.pairs.len())
            .field("setup", &self.setup)
            .finish_non_exhaustive()
    }
}

impl<M: LowerLevel> LearningProblem<M> {
    /// Creates a learning problem and checks everything that can be checked before the first
    /// reconstruction.
    ///
    /// # Errors
    /// When there are no pairs or no parameters to learn, a pair does not fit the model, or bounds
    /// are crossed.
    pub fn new(model: M, pairs: Vec<Pair>, setup: Setup) -> Result<Self, ProblemError> {
        Self::on_rank(model, pairs, setup, Ranks::default())
    }

    /// Creates a learning problem whose images are spread over ranks. Each rank passes its own
    /// pairs and its own held-out pairs, possibly none. All ranks call the same functions of the
    /// problem in the same order, and get the same results as one rank with all pairs, in the order
    /// of the ranks, to the last bit. Only [`pairs`](Self::pairs), and the reconstructions returned
    /// by [`finish`](Self::finish), are those of the rank.
    ///
    /// # Errors
    /// When the problem is invalid on one of the ranks, or settings differ between ranks. All ranks
    /// get an error.
    pub fn on_rank(
        model: M,
        pairs: Vec<Pair>,
        setup: Setup,
        ranks: Ranks,
    ) -> Result<Self, ProblemError> {
        let parameters = model.parameters();
        let prepared = prepare_all(&model, &parameters, &pairs, &setup);
        let own = prepared.as_ref().err().map(ToString::to_string);
        let failure = ranks.first_failure(own.as_deref());
        let (data, validation) = match (prepared, failure.map_err(ProblemError::Exchange)?) {
            (Ok(prepared), None) => prepared,
            (Ok(_), Some((rank, reason))) => {
                return Err(ProblemError::OtherRank { rank, reason });
            }
            (Err(error), _) => return Err(error),
        };
        ranks.check_same("settings", &description(&model, &parameters, &setup))?;
        let count = |count: usize| count as f64;
        let own = (pairs.iter()).flat_map(|pair| {
            let unknown = model.window(pair.grid).outer().len();
            [
                num_entries(pair, &setup.criterion),
                pair.grid.num_intensities(),
                unknown,
            ]
        });
        let own: Vec<f64> = own.map(count).collect();
        let sizes = ranks.gather(&own).map_err(ProblemError::Exchange)?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the numbers were counts"
        )]
        let sizes: Vec<Vec<usize>> = (sizes.iter())
            .map(|sizes| sizes.iter().map(|size| *size as usize).collect())
            .collect();
        let first = sizes
            .iter()
            .take(ranks.rank())
            .map(|sizes| sizes.len() / SIZES)
            .sum();
        let sizes = sizes.concat();
        let column = |at: usize| sizes.iter().skip(at).step_by(SIZES).copied();
        let lengths: Vec<usize> = column(0).collect();
        let num_samples = column(1).sum();
        let num_unknowns = column(2).sum();
        if lengths.is_empty() {
            return Err(ProblemError::NoPairs);
        }
        let d = Parameter::of_entries(&parameters).count();
        let checkpoints = (setup.checkpoints).resolve(num_unknowns, d);
        let layout = ResidualLayout::new(setup.loss, lengths, d);
        let num_terms = setup.penalties.iter().map(|p| p.num_terms()).sum();
        Ok(Self {
            vectors: vec![BlockVectors::default(); pairs.len() + 1],
            model,
            pairs,
            data,
            validation,
            setup,
            parameters,
            layout,
            checkpoints,
            workspaces: Workspaces::new(),
            ranks,
            first,
            num_samples,
            num_terms,
            next_number: 0,
            last_work: [0; 2],
        })
    }

    /// Returns the parameters that are learned: single numbers and blocks.
    #[must_use]
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// Returns the family of reconstruction problems.
    #[must_use]
    pub const fn model(&self) -> &M {
        &self.model
    }

    /// Returns the criterion that learning makes small.
    #[must_use]
    pub const fn criterion(&self) -> &Criterion {
        &self.setup.criterion
    }

    /// Returns the place of this rank among all ranks.
    #[must_use]
    pub const fn ranks(&self) -> &Ranks {
        &self.ranks
    }

    /// Returns the number of training pairs on all ranks.
    #[must_use]
    pub fn num_pairs(&self) -> usize {
        self.layout.num_images()
    }

    /// Returns the number of training pairs on the ranks before this one.
    #[must_use]
    pub const fn first_image(&self) -> usize {
        self.first
    }

    /// Returns the number of samples of the training images on all ranks. A colour counts as three.
    #[must_use]
    pub const fn num_samples(&self) -> usize {
        self.num_samples
    }

    /// Returns the training pairs of this rank.
    #[must_use]
    pub fn pairs(&self) -> &[Pair] {
        &self.pairs
    }

    /// Returns the training pairs and the held-out pairs of this rank.
    #[must_use]
    pub fn into_pairs(self) -> (Vec<Pair>, Vec<Pair>) {
        (self.pairs, self.setup.validation)
    }

    /// Returns the values of the parameters at `theta`.
    ///
    /// # Panics
    /// When `theta` does not have as many entries as all parameters together.
    #[must_use]
    pub fn values(&self, theta: &[f64]) -> Vec<f64> {
        let count = Parameter::of_entries(&self.parameters).count();
        assert!(
            theta.len() == count,
            "theta has as many entries as the parameters"
        );
        Parameter::values_of(&self.parameters, theta)
    }

    /// Returns the start, the lower bounds and the upper bounds of all entries of the parameters.
    pub(crate) fn start_and_bounds(&self) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
        let (lower, upper) = Parameter::bounds_of(&self.parameters);
        (Parameter::starts_of(&self.parameters), lower, upper)
    }

    /// Returns the problem as the solver sees it: start, bounds, regulariser, and blocks of
    /// residuals. Each image has one block, and the terms of penalties are the last block.
    #[must_use]
    #[expect(
        clippy::missing_panics_doc,
        reason = "bounds were checked when the problem was created"
    )]
    pub fn solver_problem(&self) -> Problem {
        let (start, lower, upper) = self.start_and_bounds();
        let images = 0..self.num_pairs();
        let mut blocks: Vec<usize> = images.map(|image| self.layout.len_of(image)).collect();
        blocks.extend(Some(self.num_terms).filter(|terms| *terms > 0));
        let mut problem = Problem::new(start)
            .with_bounds(lower, upper)
            .expect("bounds were checked")
            .with_blocks(blocks);
        if self.layout.is_per_pixel() {
            problem = problem.with_products();
        }
        if let Some(regularizer) = &self.setup.regularizer {
            problem = problem.with_regularizer(Shared(Arc::clone(regularizer)));
        }
        problem
    }

    /// Adapts the options of the solver to this problem: with a fixed number of iterations, the
    /// solver asks for no accuracy.
    #[must_use]
    pub fn options(&self, options: Options) -> Options {
        let mut options = options;
        if let Effort::Iterations(_) = self.setup.effort {
            options.accuracy = AccuracyControl::Fixed(Accuracy::ANY);
        }
        options
    }

    /// Creates an engine for this problem, for callers that run the loop of ask and tell
    /// themselves. Pass it to [`finish`](Self::finish) at the end.
    ///
    /// # Errors
    /// When the solver does not accept an option, or options differ between ranks.
    pub fn engine(&self, options: Options) -> Result<Engine<Reconstructions>, ProblemError> {
        let options = self.options(options);
        self.ranks
            .check_same("options of the solver", &format!("{options:?}"))?;
        Ok(Engine::new(
            self.solver_problem(),
            self.num_residuals(),
            options,
        )?)
    }

    /// Creates an engine that continues from a saved state, whose reconstructions must have been
    /// [attached](Reconstructions::attach). Later evaluations get new numbers.
    ///
    /// # Errors
    /// When the state is incomplete or belongs to another problem.
    pub fn resume(
        &mut self,
        state: State<Reconstructions>,
    ) -> Result<Engine<Reconstructions>, ProblemError> {
        self.number_after(state.tokens().into_iter(), state.evaluations().len());
        Ok(Engine::from_state(self.solver_problem(), state)?)
    }

    /// Numbers later evaluations after those of a saved run.
    pub(crate) fn number_after<'a>(
        &mut self,
        tokens: impl Iterator<Item = &'a Reconstructions>,
        num_evaluations: usize,
    ) {
        let known = tokens.map(|token| token.number() + 1).max().unwrap_or(0);
        self.next_number = self.next_number.max(known).max(num_evaluations as u64);
    }

    /// Returns the number of residuals: those of the images, and the terms of penalties.
    #[must_use]
    pub fn num_residuals(&self) -> usize {
        self.layout.len() + self.num_terms
    }

    /// Returns the layout of the residual vector.
    #[must_use]
    pub const fn layout(&self) -> &ResidualLayout {
        &self.layout
    }

    /// Returns the stopping rule for the reconstruction of an image, which is counted among those
    /// of all ranks.
    pub(crate) fn stop(&self, target: Accuracy, image: usize) -> Stop {
        match self.setup.effort {
            Effort::Iterations(iterations) => Stop::Iterations(iterations),
            Effort::Requested { max_iterations } => {
                let stop = Stop::accuracy(self.layout.share(target, image));
                max_iterations.map_or(stop, |limit| stop.with_max_iterations(limit))
            }
        }
    }

    /// Overwrites `terms` with the terms of all penalties.
    pub(crate) fn penalty_terms(
        &self,
        context: &PenaltyContext<'_>,
        mut terms: &mut [f64],
    ) -> Result<(), String> {
        for penalty in &self.setup.penalties {
            let (own, rest) = terms.split_at_mut(penalty.num_terms());
            terms = rest;
            penalty.terms(context, own);
            if let Some(term) = own.iter().find(|term| !term.is_finite()) {
                return Err(format!("a term of a penalty is {term}"));
            }
        }
        Ok(())
    }
}

/// Returns the number of residuals of a pair, if there is one per pixel.
fn num_entries(pair: &Pair, criterion: &Criterion) -> usize {
    match criterion {
        Criterion::Truth => pair.grid.len(),
        // one more for the trace
        Criterion::Sure { .. } => pair.data.len() + 1,
        Criterion::Gcv => pair.data.len(),
    }
}

/// A regulariser that all runs of a problem share.
#[derive(Debug)]
struct Shared(Arc<dyn dfo_ls::Regularizer>);

impl dfo_ls::Regularizer for Shared {
    fn value(&self, theta: &[f64]) -> f64 {
        self.0.value(theta)
    }

    fn prox(&self, step: f64, theta: &mut [f64]) {
        self.0.prox(step, theta);
    }
}
