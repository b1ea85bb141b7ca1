//! Evaluations: jobs and requests, their answers and failures, and the oracles that answer them.

use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};

use thiserror::Error;

use crate::Accuracy;
use crate::products::{Against, Measurement, Products};

/// A simulator that computes residuals to a requested accuracy.
///
/// Implement it for a simulator that can evaluate several points at once. Otherwise a closure is
/// enough: [`FnOracle`] for exact residuals, [`InexactFn`] for residuals with an error and for
/// evaluations that can fail or be continued.
pub trait ResidualOracle {
    /// The token that continues an evaluation later: `()` for an oracle that always starts from
    /// scratch, an `Arc` if the data are large. A token belongs to one point and is dropped with
    /// it.
    type Resume: Clone;

    /// The length of the residual vector.
    fn num_residuals(&self) -> usize;

    /// Answers the jobs. They are independent of each other and may be answered in any order and in
    /// parallel.
    fn evaluate(&mut self, jobs: &mut [Job<Self::Resume>]);

    /// Answers a request for the products of known vectors. Only an oracle that answers jobs with
    /// [`Products`] is asked; others keep this default, which fails.
    fn measure(&mut self, request: &mut Measurement) {
        request.fail("the oracle keeps no residual vectors");
    }
}

/// The start of an evaluation. An oracle may ignore it.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Start<R> {
    /// The evaluation starts from scratch.
    Cold,
    /// The evaluation starts from the token of a nearby point.
    Near(R),
    /// The evaluation starts from a weighted sum of the tokens of nearby points, the nearest first.
    /// The sum predicts the result at the new point to first order in the parameters. An oracle
    /// that cannot combine its tokens takes the nearest one with
    /// [`into_resume`](Self::into_resume).
    Blend(Vec<Share<R>>),
    /// The evaluation continues an earlier one of the same point.
    Refine(R),
}

/// The token of one point and its weight in a combination. All weights add up to 1, but some may be
/// negative.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Share<R> {
    /// The weight of the point.
    pub weight: f64,
    /// The token of the point.
    pub resume: R,
}

/// The purpose of an evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Purpose {
    /// Evaluates the start or a point around it.
    Initial,
    /// Evaluates the trial point of a step.
    Trial,
    /// Evaluates a point that improves the geometry of the interpolation set.
    Geometry,
    /// Evaluates a known point again, more accurately.
    Sharpen,
}

/// A request for the residuals at one point.
#[derive(Debug)]
#[non_exhaustive]
pub struct Request<'a, R> {
    /// The parameters.
    pub theta: &'a [f64],
    /// The requested bound on the error `$\|\tilde r - r(\theta)\|_2$`. A more accurate answer is
    /// welcome, and a less accurate one is not an error.
    pub target: Accuracy,
    /// The start of the evaluation.
    pub start: Start<R>,
    /// The number of the sample, counted from zero. It can seed a noisy simulator.
    pub sample: u32,
}

/// The accuracy, the work and the token of an evaluation, which complete its residuals.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Evaluated<R> {
    /// The achieved bound on the error `$\|\tilde r - r(\theta)\|_2$`. The solver trusts it.
    pub achieved: Accuracy,
    /// The work of this evaluation, in the oracle's own unit. A continued evaluation counts only
    /// the work it added.
    pub work: u64,
    /// The token that continues this evaluation.
    pub resume: R,
}

impl Evaluated<()> {
    /// The result of an exact evaluation that costs one unit of work.
    #[must_use]
    pub const fn exact() -> Self {
        Self {
            achieved: Accuracy::EXACT,
            work: 1,
            resume: (),
        }
    }
}

impl<R> Start<R> {
    /// Returns the token to start from, of the same point or of the nearest one; `None` for a cold
    /// start.
    #[must_use]
    pub fn into_resume(self) -> Option<R> {
        match self {
            Self::Cold => None,
            Self::Near(resume) | Self::Refine(resume) => Some(resume),
            Self::Blend(shares) => shares.into_iter().next().map(|share| share.resume),
        }
    }

    /// All tokens.
    pub(crate) fn resumes(&self) -> impl Iterator<Item = &R> {
        let (one, shares) = match self {
            Self::Cold => (None, &[][..]),
            Self::Near(resume) | Self::Refine(resume) => (Some(resume), &[][..]),
            Self::Blend(shares) => (None, &shares[..]),
        };
        let shares = shares.iter().map(|share| &share.resume);
        one.into_iter().chain(shares)
    }

    pub(crate) fn resumes_mut(&mut self) -> impl Iterator<Item = &mut R> {
        let (one, shares) = match self {
            Self::Cold => (None, &mut [][..]),
            Self::Near(resume) | Self::Refine(resume) => (Some(resume), &mut [][..]),
            Self::Blend(shares) => (None, &mut shares[..]),
        };
        let shares = shares.iter_mut().map(|share| &mut share.resume);
        one.into_iter().chain(shares)
    }
}

/// The failure of an evaluation.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum EvalError {
    /// This point cannot be evaluated, but others can. The solver continues with other points.
    #[error("point rejected: {reason}")]
    Reject {
        /// The cause of the failure.
        reason: String,
        /// The work of the failed evaluation.
        work: u64,
    },
    /// No point can be evaluated any more. The run ends and reports the best point so far.
    #[error("evaluation aborted: {reason}")]
    Abort {
        /// The cause of the failure.
        reason: String,
    },
}

impl EvalError {
    /// Rejects this point; its evaluation counts as no work.
    pub fn reject(reason: impl Display) -> Self {
        Self::Reject {
            reason: reason.to_string(),
            work: 0,
        }
    }

    /// Ends the run.
    pub fn abort(reason: impl Display) -> Self {
        Self::Abort {
            reason: reason.to_string(),
        }
    }
}

/// One evaluation that the engine asks for.
///
/// A job is answered once: by [`run`](Self::run), by [`answer`](Self::answer) or
/// [`answer_mean`](Self::answer_mean), by [`fail`](Self::fail), or by [`begin`](Self::begin) and
/// [`finish`](Self::finish). The engine asks for unanswered jobs again.
///
/// If the residual vectors [stay with the oracle](crate::Problem::with_products), a job is answered
/// by [`answer_products`](Self::answer_products) or by [`fail`](Self::fail).
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Job<R> {
    theta: Vec<f64>,
    target: Accuracy,
    start: Start<R>,
    sample: u32,
    purpose: Purpose,
    num_residuals: usize,
    /// The vectors to measure the residuals against, if they stay with the oracle.
    against: Option<Against>,
    /// The residuals, empty until the job is answered.
    residuals: Vec<f64>,
    /// The products that were given instead of residuals.
    products: Option<Products>,
    reply: Option<Result<Evaluated<R>, EvalError>>,
    /// The number of evaluations whose mean the residuals are.
    averaged: u32,
}

/// The answer to a job: the residuals or their products, with their accuracy, or the failure.
pub(crate) type Reply<R> = Result<(Answered, Evaluated<R>), EvalError>;

/// Residuals, or products of residuals that stay with the oracle.
pub(crate) enum Answered {
    Residuals(Vec<f64>),
    Products(Products),
}

impl<R> Job<R> {
    pub(crate) fn new(
        theta: Vec<f64>,
        target: Accuracy,
        start: Start<R>,
        purpose: Purpose,
        num_residuals: usize,
    ) -> Self {
        Self {
            theta,
            target,
            start,
            sample: 0,
            purpose,
            num_residuals,
            against: None,
            residuals: Vec::new(),
            products: None,
            reply: None,
            averaged: 1,
        }
    }

    pub(crate) fn with_sample(mut self, sample: u32) -> Self {
        self.sample = sample;
        self
    }

    /// The parameters.
    #[must_use]
    pub fn theta(&self) -> &[f64] {
        &self.theta
    }

    /// The requested accuracy.
    #[must_use]
    pub const fn target(&self) -> Accuracy {
        self.target
    }

    /// The start of the evaluation.
    #[must_use]
    pub const fn start(&self) -> &Start<R> {
        &self.start
    }

    pub(crate) const fn start_mut(&mut self) -> &mut Start<R> {
        &mut self.start
    }

    /// The number of the sample, counted from zero.
    #[must_use]
    pub const fn sample(&self) -> u32 {
        self.sample
    }

    /// The purpose of the evaluation.
    #[must_use]
    pub const fn purpose(&self) -> Purpose {
        self.purpose
    }

    /// The vectors to measure the residuals against, if they stay with the oracle. An engine names
    /// all vectors in use with each job.
    #[must_use]
    pub const fn against(&self) -> Option<&Against> {
        self.against.as_ref()
    }

    pub(crate) fn set_against(&mut self, against: Against) {
        self.against = Some(against);
    }

    /// Whether the job has been answered.
    #[must_use]
    pub const fn is_answered(&self) -> bool {
        self.reply.is_some()
    }

    /// Answers with the products of residuals that stay with the oracle.
    pub fn answer_products(&mut self, products: Products, evaluated: Evaluated<R>) {
        self.products = Some(products);
        self.reply = Some(Ok(evaluated));
    }

    /// Answers with residuals that were computed elsewhere. A wrong number of residuals counts as a
    /// rejected point.
    pub fn answer(&mut self, residuals: &[f64], evaluated: Evaluated<R>) {
        if residuals.len() == self.num_residuals {
            self.residuals = residuals.to_vec();
            self.reply = Some(Ok(evaluated));
        } else {
            let reason = format!(
                "{} residuals were given, but there must be {}",
                residuals.len(),
                self.num_residuals
            );
            let work = evaluated.work;
            self.reply = Some(Err(EvalError::Reject { reason, work }));
        }
    }

    /// Answers with the mean of `samples` evaluations (at least one). The answer counts as this
    /// number of samples of the point.
    pub fn answer_mean(&mut self, residuals: &[f64], samples: u32, evaluated: Evaluated<R>) {
        self.answer(residuals, evaluated);
        self.averaged = samples.max(1);
    }

    /// Answers with a failure.
    pub fn fail(&mut self, error: EvalError) {
        self.reply = Some(Err(error));
    }

    pub(crate) const fn averaged(&self) -> u32 {
        self.averaged
    }

    pub(crate) fn take(&mut self) -> Option<Reply<R>> {
        let reply = self.reply.take()?;
        let residuals = std::mem::take(&mut self.residuals);
        let products = self.products.take();
        let answered = products.map_or(Answered::Residuals(residuals), Answered::Products);
        Some(reply.map(|evaluated| (answered, evaluated)))
    }
}

impl<R: Clone> Job<R> {
    /// Returns the request and the residuals to overwrite, so that a caller can compute parts of
    /// the residuals in parallel. The job is answered by [`finish`](Self::finish).
    pub fn begin(&mut self) -> (Request<'_, R>, &mut [f64]) {
        self.residuals.clear();
        self.residuals.resize(self.num_residuals, 0.0);
        let request = Request {
            theta: &self.theta,
            target: self.target,
            start: self.start.clone(),
            sample: self.sample,
        };
        (request, &mut self.residuals)
    }

    /// Answers with the residuals that were written after [`begin`](Self::begin), or with a
    /// failure.
    pub fn finish(&mut self, answer: Result<Evaluated<R>, EvalError>) {
        self.reply = Some(answer);
    }

    /// Answers with the residuals that `evaluate` writes. A panic inside `evaluate` counts as a
    /// rejected point without work; the panic hook still prints its message.
    pub fn run(
        &mut self,
        evaluate: impl FnOnce(Request<'_, R>, &mut [f64]) -> Result<Evaluated<R>, EvalError>,
    ) {
        let (request, residuals) = self.begin();
        let reply = catch_unwind(AssertUnwindSafe(|| evaluate(request, residuals)));
        self.finish(reply.unwrap_or_else(|panic| {
            let message = panic
                .downcast_ref::<&str>()
                .map(ToString::to_string)
                .or_else(|| panic.downcast_ref::<String>().cloned());
            let message = message.unwrap_or_else(|| "no message".to_owned());
            Err(EvalError::reject(format!(
                "the evaluation panicked: {message}"
            )))
        }));
    }
}

/// An oracle of exact residuals from a closure `|theta, residuals|` that overwrites `residuals`.
/// One evaluation is one unit of work.
///
/// A point at which the closure writes NaN or infinity or panics counts as rejected.
#[derive(Clone, Debug)]
pub struct FnOracle<F> {
    num_residuals: usize,
    residuals: F,
}

impl<F: FnMut(&[f64], &mut [f64])> FnOracle<F> {
    /// Creates an oracle from a closure that writes `num_residuals` numbers.
    pub const fn new(num_residuals: usize, residuals: F) -> Self {
        Self {
            num_residuals,
            residuals,
        }
    }
}

impl<F: FnMut(&[f64], &mut [f64])> ResidualOracle for FnOracle<F> {
    type Resume = ();

    fn num_residuals(&self) -> usize {
        self.num_residuals
    }

    fn evaluate(&mut self, jobs: &mut [Job<()>]) {
        for job in jobs {
            job.run(|request, residuals| {
                (self.residuals)(request.theta, residuals);
                Ok(Evaluated::exact())
            });
        }
    }
}

/// An oracle from a closure `|request, residuals|` that overwrites `residuals` and returns their
/// accuracy or a failure.
///
/// The type `R` is that of the tokens. A closure whose evaluations cannot be continued has
/// `R = ()`.
#[derive(Clone, Debug)]
pub struct InexactFn<F, R> {
    num_residuals: usize,
    evaluate: F,
    resume: std::marker::PhantomData<fn() -> R>,
}

impl<F, R> InexactFn<F, R>
where
    F: FnMut(Request<'_, R>, &mut [f64]) -> Result<Evaluated<R>, EvalError>,
    R: Clone,
{
    /// Creates an oracle from a closure that writes `num_residuals` numbers.
    pub const fn new(num_residuals: usize, evaluate: F) -> Self {
        Self {
            num_residuals,
            evaluate,
            resume: std::marker::PhantomData,
        }
    }
}

impl<F, R> ResidualOracle for InexactFn<F, R>
where
    F: FnMut(Request<'_, R>, &mut [f64]) -> Result<Evaluated<R>, EvalError>,
    R: Clone,
{
    type Resume = R;

    fn num_residuals(&self) -> usize {
        self.num_residuals
    }

    fn evaluate(&mut self, jobs: &mut [Job<R>]) {
        for job in jobs {
            job.run(&mut self.evaluate);
        }
    }
}
