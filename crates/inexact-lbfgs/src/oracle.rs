//! Evaluations: jobs and requests, their answers and failures, and the oracles that answer them.

use std::fmt::Display;

use thiserror::Error;

use crate::Interval;

/// A function whose value is known up to an interval, with an inexact gradient.
///
/// Implement it for a simulation that keeps data of its own. Otherwise a closure is enough:
/// [`FnOracle`] for exact functions, [`InexactFn`] for inexact ones and for evaluations that can
/// fail.
pub trait Oracle {
    /// The token from which an evaluation continues or a nearby one starts: `()` for an oracle that
    /// always starts from scratch, an `Arc` if the data are large.
    type Resume: Clone;

    /// Answers the job.
    fn evaluate(&mut self, job: &mut Job<Self::Resume>);
}

/// The purpose and the accuracy of an evaluation.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Request<R> {
    /// The first point of the run. There is no known point to compare it with, so that the oracle
    /// chooses the accuracy.
    First,
    /// A new point near the incumbent.
    New {
        /// The token of the incumbent.
        near: R,
        /// The largest error, as a share of the change from the incumbent. The oracle decides how
        /// to measure both.
        kappa: f64,
    },
    /// A known point again, more accurately.
    Sharpen {
        /// The token of the point.
        known: R,
        /// The factor, less than 1, by which the width of the point's interval should fall.
        shrink: f64,
    },
}

impl<R> Request<R> {
    /// The token of the request, if there is one.
    pub const fn token(&self) -> Option<&R> {
        match self {
            Self::First => None,
            Self::New { near: token, .. } | Self::Sharpen { known: token, .. } => Some(token),
        }
    }

    pub(crate) const fn token_mut(&mut self) -> Option<&mut R> {
        match self {
            Self::First => None,
            Self::New { near: token, .. } | Self::Sharpen { known: token, .. } => Some(token),
        }
    }

    /// The request without its token.
    pub(crate) const fn purpose(&self) -> Purpose {
        match self {
            Self::First => Purpose::First,
            Self::New { .. } => Purpose::New,
            Self::Sharpen { .. } => Purpose::Sharpen,
        }
    }
}

/// The purpose of an evaluation, as in [`Request`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Purpose {
    /// The first point of the run is evaluated.
    First,
    /// A trial point is evaluated.
    New,
    /// A known point is evaluated again, more accurately.
    Sharpen,
}

/// The result of an evaluation.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Answer<R> {
    /// The computed value of the smooth function. It lies in `interval`.
    pub value: f64,
    /// The interval that certainly contains the exact value of the smooth function. The solver
    /// trusts it.
    pub interval: Interval,
    /// The computed gradient of the smooth function.
    pub gradient: Vec<f64>,
    /// An estimate of the Euclidean norm of the gradient's error. It steers the run, but no
    /// decision depends on it.
    #[cfg_attr(feature = "serde", serde(with = "crate::interval::stored::upper"))]
    pub gradient_error: f64,
    /// The token that continues this evaluation.
    pub resume: R,
    /// The work of this evaluation, in the oracle's own unit. A continued evaluation counts only
    /// the work it added.
    pub work: u64,
}

impl Answer<()> {
    /// The result of an exact evaluation that costs one unit of work.
    #[must_use]
    pub const fn exact(value: f64, gradient: Vec<f64>) -> Self {
        Self {
            value,
            interval: Interval::exact(value),
            gradient,
            gradient_error: 0.0,
            resume: (),
            work: 1,
        }
    }
}

/// The failure of an evaluation.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum EvalError {
    /// This point cannot be evaluated, but others can. The solver continues with a shorter step.
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

/// The evaluation that the engine asks for. It is answered once, by [`answer`](Self::answer) or
/// [`fail`](Self::fail).
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Job<R> {
    theta: Vec<f64>,
    request: Request<R>,
    reply: Option<Result<Answer<R>, EvalError>>,
}

impl<R> Job<R> {
    /// A job without an answer. Engines create jobs themselves; this is for tests and measurements
    /// of oracles.
    #[must_use]
    pub const fn new(theta: Vec<f64>, request: Request<R>) -> Self {
        Self {
            theta,
            request,
            reply: None,
        }
    }

    /// The parameters.
    #[must_use]
    pub fn theta(&self) -> &[f64] {
        &self.theta
    }

    /// The purpose and the accuracy of the evaluation.
    #[must_use]
    pub const fn request(&self) -> &Request<R> {
        &self.request
    }

    /// Whether the job has been answered.
    #[must_use]
    pub const fn is_answered(&self) -> bool {
        self.reply.is_some()
    }

    /// The answer, if there is one, for oracles that wrap another oracle and change its answers.
    #[must_use]
    pub const fn answer_mut(&mut self) -> Option<&mut Answer<R>> {
        match &mut self.reply {
            Some(Ok(answer)) => Some(answer),
            _ => None,
        }
    }

    /// Answers with the result of the evaluation.
    pub fn answer(&mut self, answer: Answer<R>) {
        self.reply = Some(Ok(answer));
    }

    /// Answers with a failure.
    pub fn fail(&mut self, error: EvalError) {
        self.reply = Some(Err(error));
    }

    pub(crate) const fn take_reply(&mut self) -> Option<Result<Answer<R>, EvalError>> {
        self.reply.take()
    }

    /// All tokens: that of the request, and that of an answer.
    pub(crate) fn tokens(&self) -> impl Iterator<Item = &R> {
        let answer = self.reply.iter().flatten().map(|answer| &answer.resume);
        self.request.token().into_iter().chain(answer)
    }

    pub(crate) fn tokens_mut(&mut self) -> impl Iterator<Item = &mut R> {
        let answers = self.reply.iter_mut().flatten();
        let answer = answers.map(|answer| &mut answer.resume);
        self.request.token_mut().into_iter().chain(answer)
    }
}

/// An oracle of an exact function from a closure `|theta, gradient|` that overwrites `gradient` and
/// returns the value. One evaluation is one unit of work.
///
/// A point with a value or gradient of NaN or infinity counts as rejected.
#[derive(Clone, Debug)]
pub struct FnOracle<F> {
    function: F,
}

impl<F: FnMut(&[f64], &mut [f64]) -> f64> FnOracle<F> {
    /// Creates an oracle from a closure.
    pub const fn new(function: F) -> Self {
        Self { function }
    }
}

impl<F: FnMut(&[f64], &mut [f64]) -> f64> Oracle for FnOracle<F> {
    type Resume = ();

    fn evaluate(&mut self, job: &mut Job<()>) {
        let mut gradient = vec![0.0; job.theta().len()];
        let value = (self.function)(job.theta(), &mut gradient);
        job.answer(Answer::exact(value, gradient));
    }
}

/// An oracle of an inexact function from a closure `|theta, request|` that returns an answer or a
/// failure. The type `R` is that of the tokens.
#[derive(Clone, Debug)]
pub struct InexactFn<F, R> {
    evaluate: F,
    resume: std::marker::PhantomData<fn() -> R>,
}

impl<F, R> InexactFn<F, R>
where
    F: FnMut(&[f64], &Request<R>) -> Result<Answer<R>, EvalError>,
{
    /// Creates an oracle from a closure.
    pub const fn new(evaluate: F) -> Self {
        Self {
            evaluate,
            resume: std::marker::PhantomData,
        }
    }
}

impl<F, R> Oracle for InexactFn<F, R>
where
    F: FnMut(&[f64], &Request<R>) -> Result<Answer<R>, EvalError>,
    R: Clone,
{
    type Resume = R;

    fn evaluate(&mut self, job: &mut Job<R>) {
        match (self.evaluate)(job.theta(), job.request()) {
            Ok(answer) => job.answer(answer),
            Err(error) => job.fail(error),
        }
    }
}
