//! Gradients by implicit differentiation with accuracies that the caller chooses, for methods that
//! we compare with: reconstructions to one error, adjoints to one residual.

use anyhow::{Context, Result, anyhow};
use bilevel::{LearningProblem, LowerLevel, Parameter};
use lowlevel::adjoint::{AdjointState, AdjointStop, LossAt, solve_adjoint};
use lowlevel::{ErrorBound, Solver, State, Stop, StronglyConvex};

/// The penalty of a problem of the paper.
#[derive(Clone, Copy, Debug)]
pub(super) enum PaperPenalty {
    /// The squared condition number, times a weight.
    ConditionNumber(f64),
    /// The sum of the parameters, times a weight.
    Sum(f64),
}

/// A learning problem whose accuracy the caller chooses.
pub(super) struct Implicit<'a, M: LowerLevel> {
    problem: &'a LearningProblem<M>,
    data: Vec<M::Data>,
    penalty: PaperPenalty,
    /// The weight of each image in the objective.
    weight: f64,
    /// All work so far, in gradients.
    pub(super) work: f64,
}

/// A point with its reconstructions and adjoints.
#[derive(Clone, Debug)]
pub(super) struct Solved {
    pub(super) theta: Vec<f64>,
    pub(super) value: f64,
    /// The plain interval of the objective, of first order in the errors of reconstructions.
    pub(super) lower: f64,
    pub(super) upper: f64,
    images: Vec<(State, ErrorBound, AdjointState)>,
}

impl<'a, M: LowerLevel> Implicit<'a, M> {
    pub(super) fn new(
        problem: &'a LearningProblem<M>,
        penalty: PaperPenalty,
        weight: f64,
    ) -> Result<Self> {
        let pairs = problem.pairs().iter();
        let data = pairs.map(|pair| problem.model().prepare(pair.grid, &pair.data));
        let data: Result<Vec<M::Data>, _> = data.collect();
        Ok(Self {
            problem,
            data: data.map_err(|error| anyhow!(error))?,
            penalty,
            weight,
            work: 0.0,
        })
    }

    /// Reconstructs all images to the error `error`, starting from those of another point.
    pub(super) fn solve(
        &mut self,
        theta: &[f64],
        error: f64,
        near: Option<&Solved>,
    ) -> Result<Solved> {
        let values = self.problem.values(theta);
        let target = ErrorBound::new(error)?;
        let mut sums = [0.0; 3];
        let mut images = Vec::new();
        let mut condition = 0.0_f64;
        for (index, pair) in self.problem.pairs().iter().enumerate() {
            let model = self.problem.model();
            let objective = model.objective(&values, &self.data[index]);
            let objective = objective.map_err(|error| anyhow!(error))?;
            let mut scratch = objective.scratch();
            let (mut state, adjoint) = match near {
                Some(near) => {
                    let (state, _, adjoint) = &near.images[index];
                    (State::new(state.point().to_vec()), adjoint.clone())
                }
                None => {
                    let mut x = vec![0.0; pair.grid.len()];
                    model.cold_start(&self.data[index], &mut x);
                    (State::new(x), AdjointState::new())
                }
            };
            let stop = Stop::accuracy(target);
            let solved = Solver::default().minimize(&objective, stop, &mut state, &mut scratch)?;
            self.work += solved.work;
            let squares = state.point().iter().zip(&pair.truth);
            let loss: f64 = squares.map(|(x, t)| (x - t) * (x - t)).sum();
            let error = solved.error.value();
            sums[0] += loss;
            sums[1] += (loss.sqrt() - error).max(0.0).powi(2);
            sums[2] += (loss.sqrt() + error).powi(2);
            condition = condition.max(objective.curvature().condition_number());
            images.push((state, solved.error, adjoint));
        }
        let penalty = match self.penalty {
            PaperPenalty::ConditionNumber(weight) => weight * condition * condition,
            PaperPenalty::Sum(weight) => weight * theta.iter().sum::<f64>(),
        };
        let [value, lower, upper] = sums.map(|sum| self.weight * sum + penalty);
        Ok(Solved {
            theta: theta.to_vec(),
            value,
            lower,
            upper,
            images,
        })
    }

    /// Returns the gradient at a point, with adjoints whose residuals are at most `residual`.
    pub(super) fn gradient(&mut self, at: &mut Solved, residual: f64) -> Result<Vec<f64>> {
        let (theta, values) = (&at.theta, self.problem.values(&at.theta));
        let mut gradient = vec![0.0; theta.len()];
        let mut slopes = gradient.clone();
        let mut condition = (0.0, gradient.clone());
        for (index, (state, error, adjoint)) in at.images.iter_mut().enumerate() {
            let model = self.problem.model();
            let objective = model.objective(&values, &self.data[index]);
            let objective = objective.map_err(|error| anyhow!(error))?;
            let derivatives = model.derivatives(&values, &objective);
            let derivatives = derivatives.context("the family has no derivatives")?;
            let mut scratch = objective.scratch();
            let x = state.point();
            let mut buffer = vec![0.0; x.len()];
            let truth = &self.problem.pairs()[index].truth;
            let loss = LossAt::squared_distance(x, truth, &mut buffer);
            let stop = AdjointStop::absolute(residual);
            let found = solve_adjoint(&objective, x, *error, &loss, stop, adjoint, &mut scratch)?;
            self.work += found.work + 1.0;
            derivatives.mixed_product(x, adjoint.adjoint(), &mut slopes, &mut scratch);
            for (sum, slope) in gradient.iter_mut().zip(&slopes) {
                *sum -= self.weight * slope;
            }
            condition.0 = objective.curvature().condition_number();
            derivatives.condition_gradient(&mut condition.1);
        }
        let parameters = Parameter::of_entries(self.problem.parameters());
        for (k, (parameter, theta)) in parameters.zip(theta).enumerate() {
            let slope = parameter.map.derivative(*theta);
            gradient[k] *= slope;
            gradient[k] += match self.penalty {
                PaperPenalty::ConditionNumber(weight) => {
                    2.0 * weight * condition.0 * condition.1[k] * slope
                }
                PaperPenalty::Sum(weight) => weight,
            };
        }
        Ok(gradient)
    }
}
