//! The learning problem: pairs, a family, a loss and penalties, evaluated with requested accuracy.

use std::fmt;
use std::sync::Arc;

use dfo_ls::{Accuracy, AccuracyControl, Engine, Options, Problem, State};
use imaging::{Field, Grid};
use lowlevel::{Domain, Method, Solver, Stop, StronglyConvex};

use crate::checkpoint::{CheckpointPolicy, Reconstructions};
use crate::error::ProblemError;
use crate::loss::{Loss, ResidualLayout};
use crate::lower::LowerLevel;
use crate::parameter::Parameter;
use crate::penalty::{Penalty, PenaltyContext};
use crate::workspace::Workspaces;

/// A training example: data, and what should be reconstructed from it.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// Where the unknown lies.
    pub grid: Grid,
    /// `$x_i$`, what should come out.
    pub truth: Vec<f64>,
    /// `$y_i$`, what was measured.
    pub data: Vec<f64>,
}

/// How to learn, beside the options of the solver.
#[derive(Default)]
pub struct Setup {
    /// What is minimised.
    pub loss: Loss,
    /// Penalties that are added to the loss as squares of residuals.
    pub penalties: Vec<Box<dyn Penalty>>,
    /// A function that is added to the loss and need not be smooth, such as [`dfo_ls::L1`] of
    /// `$\theta$`.
    pub regularizer: Option<Arc<dyn dfo_ls::Regularizer>>,
    /// The method that computes reconstructions.
    pub method: Method,
    /// How accurate reconstructions are.
    pub effort: Effort,
    /// Where the very first reconstruction begins; later ones begin at an earlier one.
    pub cold_start: ColdStart,
    /// How reconstructions are stored for later evaluations to begin from.
    pub checkpoints: CheckpointPolicy,
    /// The values that samples of reconstructions may have.
    pub image_range: ImageRange,
    /// Pairs that are not learned from, to judge what was learned.
    pub validation: Vec<Pair>,
}

/// How accurate reconstructions are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Effort {
    /// As accurate as the solver asks for.
    Requested {
        /// A reconstruction gives up after this many iterations; what it reached is reported to the
        /// solver.
        max_iterations: Option<u64>,
    },
    /// This many iterations each, whatever comes out: the paper's baselines.
    Iterations(u64),
}

impl Default for Effort {
    fn default() -> Self {
        Self::Requested {
            max_iterations: None,
        }
    }
}

/// The interval in which all samples of a reconstruction lie: it is the minimiser of
/// `$\Phi_\theta$` among such images.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ImageRange {
    /// The smallest value, or minus infinity.
    pub lower: f64,
    /// The largest value, or infinity.
    pub upper: f64,
}

impl ImageRange {
    /// All real numbers.
    pub const ALL: Self = Self {
        lower: f64::NEG_INFINITY,
        upper: f64::INFINITY,
    };
    /// No negative numbers.
    pub const NON_NEGATIVE: Self = Self {
        lower: 0.0,
        ..Self::ALL
    };

    /// The set of images, for the solver.
    #[must_use]
    pub fn domain(self) -> Domain<'static> {
        let Self { lower, upper } = self;
        if self == Self::ALL {
            Domain::Whole
        } else {
            Domain::Between { lower, upper }
        }
    }
}

impl Default for ImageRange {
    /// All real numbers.
    fn default() -> Self {
        Self::ALL
    }
}

/// Where the very first reconstruction begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ColdStart {
    /// Where the family says: at the data, for example.
    #[default]
    Model,
    /// At zero, as in the paper's experiments.
    Zero,
}

impl Setup {
    /// The solver of reconstructions.
    #[must_use]
    pub fn solver(&self) -> Solver<'static> {
        Solver {
            method: self.method,
            domain: self.image_range.domain(),
        }
    }
}

impl fmt::Debug for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Setup")
            .field("loss", &self.loss)
            .field("num_penalties", &self.penalties.len())
            .field("has_regularizer", &self.regularizer.is_some())
            .field("method", &self.method)
            .field("effort", &self.effort)
            .field("cold_start", &self.cold_start)
            .field("checkpoints", &self.checkpoints)
            .field("image_range", &self.image_range)
            .field("num_validation", &self.validation.len())
            .finish()
    }
}

/// A learning problem, which is an oracle for [`dfo_ls`].
pub struct LearningProblem<M: LowerLevel> {
    pub(crate) model: M,
    pub(crate) pairs: Vec<Pair>,
    /// The data of each pair, prepared.
    pub(crate) data: Vec<M::Data>,
    /// The same of the pairs held out.
    pub(crate) validation: Vec<M::Data>,
    pub(crate) setup: Setup,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) layout: ResidualLayout,
    /// Not `Auto`.
    pub(crate) checkpoints: CheckpointPolicy,
    pub(crate) workspaces: Workspaces<M::Scratch>,
    num_terms: usize,
    /// The number of the next evaluation.
    pub(crate) next_number: u64,
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
    /// Checks everything that can be checked before the first reconstruction.
    ///
    /// # Errors
    /// When there is nothing to learn from or nothing to learn, a pair does not fit the model, or
    /// bounds are crossed.
    pub fn new(model: M, pairs: Vec<Pair>, setup: Setup) -> Result<Self, ProblemError> {
        let parameters = model.parameters();
        check_parameters(&parameters)?;
        if pairs.is_empty() {
            return Err(ProblemError::NoPairs);
        }
        let ImageRange { lower, upper } = setup.image_range;
        if !(lower <= upper) {
            return Err(ProblemError::EmptyImageRange { lower, upper });
        }
        let start: Vec<f64> = parameters
            .iter()
            .map(|p| p.value(p.start.clamp(p.lower, p.upper)))
            .collect();
        let prepared = |pairs: &[Pair]| -> Result<Vec<M::Data>, ProblemError> {
            (pairs.iter().enumerate())
                .map(|(index, pair)| prepare(&model, &start, setup.image_range, index, pair))
                .collect()
        };
        let data = prepared(&pairs)?;
        let validation = prepared(&setup.validation)
            .map_err(|source| ProblemError::Validation(Box::new(source)))?;
        let lengths: Vec<usize> = pairs.iter().map(|pair| pair.truth.len()).collect();
        let checkpoints = (setup.checkpoints).resolve(lengths.iter().sum(), parameters.len());
        let layout = ResidualLayout::new(setup.loss, lengths, parameters.len());
        let num_terms = setup.penalties.iter().map(|p| p.num_terms()).sum();
        Ok(Self {
            model,
            pairs,
            data,
            validation,
            setup,
            parameters,
            layout,
            checkpoints,
            workspaces: Workspaces::new(),
            num_terms,
            next_number: 0,
        })
    }

    /// What is learned.
    #[must_use]
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// The family.
    #[must_use]
    pub const fn model(&self) -> &M {
        &self.model
    }

    /// What it learns from.
    #[must_use]
    pub fn pairs(&self) -> &[Pair] {
        &self.pairs
    }

    /// The pairs that it learns from, and those that are held out.
    #[must_use]
    pub fn into_pairs(self) -> (Vec<Pair>, Vec<Pair>) {
        (self.pairs, self.setup.validation)
    }

    /// The values of the parameters at `theta`.
    ///
    /// # Panics
    /// When `theta` has another length.
    #[must_use]
    pub fn values(&self, theta: &[f64]) -> Vec<f64> {
        assert_eq!(
            theta.len(),
            self.parameters.len(),
            "one entry per parameter"
        );
        let values = self.parameters.iter().zip(theta);
        values
            .map(|(parameter, theta)| parameter.value(*theta))
            .collect()
    }

    /// The problem as the solver sees it: start, bounds, regulariser, and the residuals of each
    /// image as a block. The terms of penalties are the last block.
    #[must_use]
    #[expect(
        clippy::missing_panics_doc,
        reason = "bounds were checked when the problem was made"
    )]
    pub fn solver_problem(&self) -> Problem {
        let each = |of: fn(&Parameter) -> f64| self.parameters.iter().map(of).collect::<Vec<_>>();
        let mut blocks: Vec<usize> = (0..self.pairs.len())
            .map(|image| self.layout.len_of(image))
            .collect();
        blocks.extend(Some(self.num_terms).filter(|terms| *terms > 0));
        let mut problem = Problem::new(each(|p| p.start))
            .with_bounds(each(|p| p.lower), each(|p| p.upper))
            .expect("bounds were checked")
            .with_blocks(blocks);
        if let Some(regularizer) = &self.setup.regularizer {
            problem = problem.with_regularizer(Shared(Arc::clone(regularizer)));
        }
        problem
    }

    /// The options as this problem needs them: with a fixed number of iterations, no accuracy is
    /// asked for.
    #[must_use]
    pub fn options(&self, options: Options) -> Options {
        let mut options = options;
        if let Effort::Iterations(_) = self.setup.effort {
            options.accuracy = AccuracyControl::Fixed(Accuracy::ANY);
        }
        options
    }

    /// An engine that has not asked yet, for those who drive it themselves: to save it, or to
    /// evaluate elsewhere.
    ///
    /// # Errors
    /// When the solver does not accept an option.
    pub fn engine(&self, options: Options) -> Result<Engine<Reconstructions>, ProblemError> {
        let options = self.options(options);
        Ok(Engine::new(
            self.solver_problem(),
            self.num_residuals(),
            options,
        )?)
    }

    /// An engine that goes on from a saved state, whose reconstructions have been
    /// [attached](Reconstructions::attach). Later evaluations have numbers that no earlier one has.
    ///
    /// # Errors
    /// When the state is not complete or not that of such a problem.
    pub fn resume(
        &mut self,
        state: State<Reconstructions>,
    ) -> Result<Engine<Reconstructions>, ProblemError> {
        let tokens = state.tokens().into_iter().map(|token| token.number() + 1);
        let known = tokens.max().unwrap_or(0);
        let made = state.evaluations().len() as u64;
        self.next_number = self.next_number.max(known).max(made);
        Ok(Engine::from_state(self.solver_problem(), state)?)
    }

    /// How many residuals: of images or pixels, and of penalties.
    #[must_use]
    pub fn num_residuals(&self) -> usize {
        self.layout.len() + self.num_terms
    }

    /// How the residual vector is laid out.
    #[must_use]
    pub const fn layout(&self) -> &ResidualLayout {
        &self.layout
    }

    /// When the reconstruction of a pair ends.
    pub(crate) fn stop(&self, target: Accuracy, pair: usize) -> Stop {
        match self.setup.effort {
            Effort::Iterations(iterations) => Stop::Iterations(iterations),
            Effort::Requested { max_iterations } => {
                let stop = Stop::accuracy(self.layout.share(target, pair));
                max_iterations.map_or(stop, |limit| stop.with_max_iterations(limit))
            }
        }
    }

    /// Overwrites `terms` with those of all penalties.
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
                return Err(format!("a penalty is {term}"));
            }
        }
        Ok(())
    }
}

/// One regulariser for every run of a problem.
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

fn check_parameters(parameters: &[Parameter]) -> Result<(), ProblemError> {
    if parameters.is_empty() {
        return Err(ProblemError::NoParameters);
    }
    for (index, parameter) in parameters.iter().enumerate() {
        parameter.check()?;
        if parameters[..index].iter().any(|p| p.name == parameter.name) {
            let name = parameter.name.clone();
            return Err(ProblemError::SameName { name });
        }
    }
    Ok(())
}

/// Checks a pair, and prepares its data.
fn prepare<M: LowerLevel>(
    model: &M,
    start: &[f64],
    image_range: ImageRange,
    index: usize,
    pair: &Pair,
) -> Result<M::Data, ProblemError> {
    if image_range != ImageRange::ALL && pair.grid.field() == Field::Complex {
        return Err(ProblemError::ComplexImageRange { index });
    }
    let (expected, found) = (pair.grid.len(), pair.truth.len());
    if expected != found {
        return Err(ProblemError::TruthLength {
            index,
            expected,
            found,
        });
    }
    for (what, numbers) in [("truth", &pair.truth), ("data", &pair.data)] {
        if let Some(entry) = numbers.iter().position(|x| !x.is_finite()) {
            return Err(ProblemError::NonFinite { index, what, entry });
        }
    }
    let refuse = |source| ProblemError::Model { index, source };
    let data = model.prepare(pair.grid, &pair.data).map_err(refuse)?;
    // values that no reconstruction could begin with are refused now; this reads no data
    let found = model.objective(start, &data).map_err(refuse)?.dim();
    if found != expected {
        return Err(ProblemError::Dimension {
            index,
            expected,
            found,
        });
    }
    Ok(data)
}
