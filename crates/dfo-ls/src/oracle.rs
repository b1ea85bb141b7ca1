//! Evaluations: what is asked ([`Job`], [`Request`]), what is answered ([`Evaluated`],
//! [`EvalError`]), and who answers ([`ResidualOracle`]).

use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};

use thiserror::Error;

use crate::Accuracy;

/// Computes residuals as accurately as asked.
///
/// Implement it for a simulator that can trade accuracy for work, or that can evaluate many points
/// at once. For plain functions there are [`FnOracle`] and [`InexactFn`].
pub trait ResidualOracle {
    /// What lets an evaluation be continued later: `()` if nothing, an `Arc` if it is large. It
    /// belongs to one point and is dropped with it.
    type Resume: Clone;

    /// The length of the residual vector.
    fn num_residuals(&self) -> usize;

    /// Answers the jobs. They are independent: any order, any parallelism.
    fn evaluate(&mut self, jobs: &mut [Job<Self::Resume>]);
}

/// Where an evaluation may begin.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Start<R> {
    /// From nothing.
    Cold,
    /// From what is known at a nearby point.
    Near(R),
    /// From a combination of what is known at nearby points, best first: to first order in the
    /// parameters, what is to be expected here. Where results cannot be combined,
    /// [`into_resume`](Self::into_resume) takes the best.
    Blend(Vec<Share<R>>),
    /// From where the evaluation of this very point stopped.
    Refine(R),
}

/// The part that one point has in a combination; all parts add up to 1, but some may be negative.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Share<R> {
    /// How much of it.
    pub weight: f64,
    /// What is known there.
    pub resume: R,
}

/// Why a point is evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Purpose {
    /// The start and the points around it.
    Initial,
    /// A step of the trust region.
    Trial,
    /// A point that improves the geometry of the interpolation set.
    Geometry,
    /// A known point, more accurately.
    Sharpen,
}

/// What is asked of one evaluation.
#[derive(Debug)]
#[non_exhaustive]
pub struct Request<'a, R> {
    /// Where.
    pub theta: &'a [f64],
    /// How accurately: `$\|\tilde r - r(\theta)\|_2$` at most this. A better answer is welcome, a
    /// worse one is no error.
    pub target: Accuracy,
    /// Where to begin.
    pub start: Start<R>,
    /// Which sample of a noisy simulator, counted from zero: a natural seed.
    pub sample: u32,
}

/// What an evaluation gave, beside the residuals.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Evaluated<R> {
    /// `$\|\tilde r - r(\theta)\|_2$` is at most this.
    pub achieved: Accuracy,
    /// What it cost, in the oracle's own unit; a continued evaluation counts what it added.
    pub work: u64,
    /// Lets the evaluation be continued.
    pub resume: R,
}

impl Evaluated<()> {
    /// Exact residuals, for one unit of work.
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
    /// The state to begin with, of this point or of a near one; `None` if there is none.
    #[must_use]
    pub fn into_resume(self) -> Option<R> {
        match self {
            Self::Cold => None,
            Self::Near(resume) | Self::Refine(resume) => Some(resume),
            Self::Blend(shares) => shares.into_iter().next().map(|share| share.resume),
        }
    }

    /// Every state it holds.
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

/// Why there are no residuals.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum EvalError {
    /// This point cannot be evaluated; others can. The solver goes elsewhere.
    #[error("point rejected: {reason}")]
    Reject {
        /// What went wrong.
        reason: String,
        /// What it cost all the same.
        work: u64,
    },
    /// Nothing can be evaluated any more. The run ends, with everything found so far.
    #[error("evaluation aborted: {reason}")]
    Abort {
        /// What went wrong.
        reason: String,
    },
}

impl EvalError {
    /// This point cannot be evaluated.
    pub fn reject(reason: impl Display) -> Self {
        Self::Reject {
            reason: reason.to_string(),
            work: 0,
        }
    }

    /// Nothing can be evaluated any more.
    pub fn abort(reason: impl Display) -> Self {
        Self::Abort {
            reason: reason.to_string(),
        }
    }
}

/// One evaluation that the engine asks for. It is answered once, by [`run`](Self::run),
/// [`answer`](Self::answer) or [`fail`](Self::fail); left unanswered, it is asked again.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Job<R> {
    theta: Vec<f64>,
    target: Accuracy,
    start: Start<R>,
    sample: u32,
    purpose: Purpose,
    num_residuals: usize,
    /// Empty until it is answered.
    residuals: Vec<f64>,
    reply: Option<Result<Evaluated<R>, EvalError>>,
    /// Of how many evaluations the residuals are the mean.
    averaged: u32,
}

/// Residuals and what belongs to them, or why there are none.
pub(crate) type Reply<R> = Result<(Vec<f64>, Evaluated<R>), EvalError>;

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
            residuals: Vec::new(),
            reply: None,
            averaged: 1,
        }
    }

    pub(crate) fn with_sample(mut self, sample: u32) -> Self {
        self.sample = sample;
        self
    }

    /// Where to evaluate.
    #[must_use]
    pub fn theta(&self) -> &[f64] {
        &self.theta
    }

    /// How accurately.
    #[must_use]
    pub const fn target(&self) -> Accuracy {
        self.target
    }

    /// Where to begin.
    #[must_use]
    pub const fn start(&self) -> &Start<R> {
        &self.start
    }

    pub(crate) const fn start_mut(&mut self) -> &mut Start<R> {
        &mut self.start
    }

    /// Which sample of a noisy simulator, counted from zero.
    #[must_use]
    pub const fn sample(&self) -> u32 {
        self.sample
    }

    /// Why the engine asks.
    #[must_use]
    pub const fn purpose(&self) -> Purpose {
        self.purpose
    }

    /// Whether there is an answer.
    #[must_use]
    pub const fn is_answered(&self) -> bool {
        self.reply.is_some()
    }

    /// Answers with residuals computed elsewhere. Residuals of the wrong number count as a rejected
    /// point.
    pub fn answer(&mut self, residuals: &[f64], evaluated: Evaluated<R>) {
        if residuals.len() == self.num_residuals {
            self.residuals = residuals.to_vec();
            self.reply = Some(Ok(evaluated));
        } else {
            let reason = format!(
                "{} residuals were given, but there are {}",
                residuals.len(),
                self.num_residuals
            );
            let work = evaluated.work;
            self.reply = Some(Err(EvalError::Reject { reason, work }));
        }
    }

    /// Answers with the mean of `samples` evaluations (at least one), which counts like as many
    /// samples of the point.
    pub fn answer_mean(&mut self, residuals: &[f64], samples: u32, evaluated: Evaluated<R>) {
        self.answer(residuals, evaluated);
        self.averaged = samples.max(1);
    }

    /// Answers that there is no answer.
    pub fn fail(&mut self, error: EvalError) {
        self.reply = Some(Err(error));
    }

    pub(crate) const fn averaged(&self) -> u32 {
        self.averaged
    }

    pub(crate) fn take(&mut self) -> Option<Reply<R>> {
        let residuals = &mut self.residuals;
        self.reply
            .take()
            .map(|reply| reply.map(|evaluated| (std::mem::take(residuals), evaluated)))
    }
}

impl<R: Clone> Job<R> {
    /// The request, and the residuals to be overwritten, for those who evaluate parts of them in
    /// parallel. Nothing is answered before [`finish`](Self::finish).
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

    /// Answers with the residuals that were written since [`begin`](Self::begin), or with a
    /// failure.
    pub fn finish(&mut self, answer: Result<Evaluated<R>, EvalError>) {
        self.reply = Some(answer);
    }

    /// Answers with what `evaluate` writes into the residuals. A panic inside counts as a rejected
    /// point that cost no work (its message is still printed by the panic hook).
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

/// Exact residuals from a closure `|theta, residuals|` that overwrites `residuals`. One evaluation
/// is one unit of work.
///
/// A point at which it writes NaN or infinity, or at which it panics, is avoided.
#[derive(Clone, Debug)]
pub struct FnOracle<F> {
    num_residuals: usize,
    residuals: F,
}

impl<F: FnMut(&[f64], &mut [f64])> FnOracle<F> {
    /// `residuals` writes `num_residuals` numbers.
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

/// Residuals from a closure `|request, residuals|` that overwrites `residuals`, says how accurate
/// they are, and may fail.
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
    /// `evaluate` writes `num_residuals` numbers.
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
