//! The residual function of the authors' experiments, with its shortcuts and its way of counting.
//!
//! - There is one residual per image, its distance from the truth. The residuals of penalties
//!   follow, including those of weight zero.
//! - Each image has one array for its reconstruction, which is zero at first. Every evaluation
//!   starts from this array and overwrites it. Momentum starts at zero.
//! - A reconstruction ends when `$\|\nabla\Phi\|/\mu$` is at most the target accuracy, or at most
//!   `$\sqrt{10^{-15}}$` if that is larger.
//! - One update counts as one iteration, although FISTA evaluates two gradients in it.
//!
//! One rule is ours: with dynamic accuracy, a reconstruction that would take years is rejected
//! before it starts.

use std::sync::Arc;

use bilevel::{BoxError, LowerLevel, Pair, Parameter};
use dfo_ls::{Accuracy, EvalError, Evaluated, Job, Purpose, ResidualOracle, Start};
use lowlevel::{ErrorBound, Method, Solver, State, Stop, StronglyConvex, norm};
use rayon::prelude::*;

use super::record::Evaluation;
use super::setting::{PenaltySetting, ResumeFrom};

/// The most accurate target, `$\sqrt{10^{-15}}$`: the authors' stopping test compares squares with
/// `$10^{-15}$`.
const FLOOR: f64 = 3.162_277_660_168_379e-8;

/// The reconstructions of all images.
type Images = Arc<Vec<Vec<f64>>>;

/// The authors' residual function as an oracle.
#[derive(Debug)]
pub(super) struct FaithfulOracle<M> {
    model: M,
    parameters: Vec<Parameter>,
    pairs: Vec<Pair>,
    rules: FaithfulRules,
    last: Images,
    /// All evaluations, in the order in which they were made.
    pub(super) evaluations: Vec<Evaluation>,
}

/// The rules that differ between experiments and variants.
#[derive(Clone, Copy, Debug)]
pub(super) struct FaithfulRules {
    /// The method that computes reconstructions.
    pub(super) method: Method,
    /// The number of iterations; `None` for dynamic accuracy.
    pub(super) iterations: Option<u64>,
    /// The penalty that is added to the objective.
    pub(super) penalty: PenaltySetting,
    /// The number of residuals that are always zero.
    pub(super) zero_residuals: usize,
    /// The reconstructions from which a point is sharpened.
    pub(super) resume: ResumeFrom,
    /// With dynamic accuracy, points with a larger `$L/\mu$` are rejected.
    pub(super) max_condition_number: f64,
}

/// The reconstruction of one image.
struct ImageReconstruction {
    x: Vec<f64>,
    distance: f64,
    error: f64,
    iterations: u64,
    gradients: u64,
    condition_number: f64,
}

impl<M: LowerLevel> FaithfulOracle<M> {
    /// Returns the oracle; all reconstructions start at zero.
    #[must_use]
    pub(super) fn new(model: M, pairs: Vec<Pair>, rules: FaithfulRules) -> Self {
        let zeros = pairs.iter().map(|pair| vec![0.0; pair.truth.len()]);
        Self {
            parameters: model.parameters(),
            model,
            last: Arc::new(zeros.collect()),
            pairs,
            rules,
            evaluations: Vec::new(),
        }
    }

    fn solve(
        &self,
        values: &[f64],
        start: &[f64],
        stop: Stop,
        pair: &Pair,
    ) -> Result<ImageReconstruction, String> {
        let refuse = |error: BoxError| error.to_string();
        let data = (self.model.prepare(pair.grid, &pair.data)).map_err(refuse)?;
        let objective = self.model.objective(values, &data).map_err(refuse)?;
        let condition_number = objective.curvature().condition_number();
        if self.rules.iterations.is_none() && !(condition_number <= self.rules.max_condition_number)
        {
            return Err(format!("the condition number is {condition_number:e}"));
        }
        let mut state = State::new(start.to_vec());
        let solver = Solver {
            method: self.rules.method,
            ..Solver::default()
        };
        let solved = solver
            .minimize(&objective, stop, &mut state, &mut objective.scratch())
            .map_err(|error| error.to_string())?;
        let x = state.into_point();
        let difference: Vec<f64> = x.iter().zip(&pair.truth).map(|(x, t)| x - t).collect();
        Ok(ImageReconstruction {
            x,
            distance: norm(&difference),
            error: solved.error.value(),
            iterations: solved.iterations,
            gradients: solved.gradients,
            condition_number,
        })
    }

    fn evaluate_one(&mut self, job: &mut Job<Images>) {
        let root = (self.num_residuals() as f64).sqrt();
        let asked = job.target().value() / root;
        let stop = match self.rules.iterations {
            Some(iterations) => Stop::Iterations(iterations),
            None => {
                Stop::accuracy(ErrorBound::new(asked.max(FLOOR)).unwrap_or(ErrorBound::UNKNOWN))
            }
        };
        let again = job.purpose() == Purpose::Sharpen;
        let starts = match (job.start(), self.rules.resume) {
            (Start::Refine(own), ResumeFrom::Own) => Arc::clone(own),
            _ => Arc::clone(&self.last),
        };
        let values = Parameter::values_of(&self.parameters, job.theta());
        let parts: Result<Vec<ImageReconstruction>, String> =
            (self.pairs.par_iter().zip(&starts[..]))
                .with_max_len(1)
                .map(|(pair, start)| self.solve(&values, start, stop, pair))
                .collect();
        let parts = match parts {
            Ok(parts) => parts,
            Err(reason) => {
                self.evaluations.push(Evaluation {
                    theta: job.theta().to_vec(),
                    f: f64::INFINITY,
                    f_error: f64::INFINITY,
                    delta: f64::INFINITY,
                    again,
                    lower_iterations: 0,
                    gradients: 0,
                });
                job.fail(EvalError::reject(reason));
                return;
            }
        };
        let condition_number = parts
            .iter()
            .map(|part| part.condition_number)
            .fold(0.0, f64::max);
        let mut residuals: Vec<f64> = parts.iter().map(|part| part.distance).collect();
        let fit: f64 = residuals.iter().map(|r| r * r).sum();
        if self.rules.penalty.num_residuals() > 0 {
            residuals.push(self.rules.penalty.residual(job.theta(), condition_number));
        }
        residuals.resize(self.num_residuals(), 0.0);
        let delta = match self.rules.iterations {
            Some(_) => parts.iter().map(|part| part.error).fold(0.0, f64::max),
            None => asked,
        };
        let count = self.pairs.len() as f64;
        let lower_iterations = parts.iter().map(|part| part.iterations).sum();
        self.evaluations.push(Evaluation {
            theta: job.theta().to_vec(),
            f: residuals.iter().map(|r| r * r).sum(),
            f_error: 2.0 * (count * fit).sqrt() * delta + count * delta * delta,
            delta,
            again,
            lower_iterations,
            gradients: parts.iter().map(|part| part.gradients).sum(),
        });
        self.last = Arc::new(parts.into_iter().map(|part| part.x).collect());
        let achieved = match self.rules.iterations {
            Some(_) => Accuracy::EXACT,
            None => job.target(),
        };
        let evaluated = Evaluated {
            achieved,
            work: lower_iterations,
            resume: Arc::clone(&self.last),
        };
        job.answer(&residuals, evaluated);
    }
}

impl<M: LowerLevel> ResidualOracle for FaithfulOracle<M> {
    type Resume = Images;

    fn num_residuals(&self) -> usize {
        self.pairs.len() + self.rules.penalty.num_residuals() + self.rules.zero_residuals
    }

    /// Evaluates one job after the other: each starts from the reconstructions of the one before.
    fn evaluate(&mut self, jobs: &mut [Job<Images>]) {
        for job in jobs {
            self.evaluate_one(job);
        }
    }
}

#[cfg(test)]
mod tests {
    use bilevel::TvDenoising;
    use dfo_ls::{Engine, Options, Problem};
    use imaging::Grid;

    use super::*;

    /// Reconstructions that would take years are rejected, unless the number of iterations is
    /// fixed.
    #[test]
    fn endless_reconstructions_are_rejected() {
        let pair = Pair {
            grid: Grid::line(4),
            truth: vec![0.0, 1.0, 1.0, 0.0],
            data: vec![0.1, 0.9, 1.1, -0.1],
        };
        for (iterations, is_refused) in [(None, true), (Some(3), false)] {
            let rules = FaithfulRules {
                method: Method::FISTA_TWO_GRADIENTS,
                iterations,
                penalty: PenaltySetting::None,
                zero_residuals: 2,
                resume: ResumeFrom::Last,
                max_condition_number: 1e8,
            };
            let mut oracle = FaithfulOracle::new(TvDenoising::default(), vec![pair.clone()], rules);
            let problem = Problem::new([7.0, -7.0, -7.0]);
            let mut engine = Engine::new(problem, 3, Options::experiments()).unwrap();
            oracle.evaluate(engine.ask());
            engine.tell();
            assert_eq!(oracle.evaluations.len(), engine.state().evaluations().len());
            assert_eq!(oracle.evaluations[0].f.is_infinite(), is_refused);
            let recorded = &engine.state().evaluations()[0].objective;
            assert_eq!(recorded.is_err(), is_refused);
        }
    }
}
