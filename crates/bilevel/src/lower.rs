//! Families of lower-level problems, and one reconstruction.

use std::fmt;

use imaging::Grid;
use lowlevel::{Observer, Outcome, Solved, Solver, State, Stop, StronglyConvex};

use crate::error::{BoxError, ReconstructionError};
use crate::families::FamilyKind;
use crate::parameter::Parameter;

/// A family of reconstruction problems `$\theta \mapsto \Phi_\theta(\cdot\,; y)$`.
///
/// The families of this crate are [`TvDenoising`](crate::TvDenoising),
/// [`TvDeblurring`](crate::TvDeblurring), [`TvInpainting`](crate::TvInpainting) and
/// [`FourierWeights`](crate::FourierWeights). One of your own:
///
/// ```
/// use bilevel::{LearningProblem, LowerLevel, BoxError, Pair, Parameter, Setup};
/// use imaging::Grid;
/// use lowlevel::{Curvature, StronglyConvex};
///
/// /// Ridge regression to zero, `$\frac12\|x - y\|^2 + \frac{\lambda}{2}\|x\|^2$`: which `$\lambda$` is best?
/// struct Ridge;
/// struct RidgeObjective<'a> { data: &'a [f64], weight: f64 }
///
/// impl LowerLevel for Ridge {
///     type Data = Vec<f64>;
///     type Scratch = ();
///     type Objective<'a> = RidgeObjective<'a>;
///     fn parameters(&self) -> Vec<Parameter> {
///         vec![Parameter::log10("lambda", 0.0, -6.0, 6.0)]
///     }
///     fn prepare(&self, _: Grid, data: &[f64]) -> Result<Vec<f64>, BoxError> {
///         Ok(data.to_vec())
///     }
///     fn objective<'a>(&'a self, values: &[f64], data: &'a Vec<f64>) -> Result<RidgeObjective<'a>, BoxError> {
///         Ok(RidgeObjective { data, weight: values[0] })
///     }
/// }
///
/// impl StronglyConvex for RidgeObjective<'_> {
///     type Scratch = ();
///     fn dim(&self) -> usize {
///         self.data.len()
///     }
///     fn curvature(&self) -> Curvature {
///         Curvature::new(1.0 + self.weight, 1.0 + self.weight).expect("positive")
///     }
///     fn scratch(&self) {}
///     fn gradient(&self, x: &[f64], gradient: &mut [f64], _: &mut ()) {
///         for ((g, x), y) in gradient.iter_mut().zip(x).zip(self.data) {
///             *g = x - y + self.weight * x;
///         }
///     }
///     fn value(&self, x: &[f64], _: &mut ()) -> f64 {
///         x.iter().zip(self.data).map(|(x, y)| 0.5 * (x - y).powi(2) + 0.5 * self.weight * x * x).sum()
///     }
/// }
///
/// // The data are three times the truth, so lambda = 2 undoes it.
/// let truth = vec![1.0, -2.0, 0.5];
/// let data = truth.iter().map(|x| 3.0 * x).collect();
/// let pairs = vec![Pair { grid: Grid::line(3), truth, data }];
/// let learned = LearningProblem::new(Ridge, pairs, Setup::default())?.learn()?;
/// assert!((learned.value("lambda").ok_or("no such parameter")? - 2.0).abs() < 1e-3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait LowerLevel: Sync {
    /// The data of a pair, checked and ready for any values of the parameters.
    type Data: Send + Sync;

    /// Working memory of the objectives. It must fit all objectives on the same grid.
    type Scratch: Send;

    /// `$\Phi_\theta(\cdot\,; y)$`.
    type Objective<'a>: StronglyConvex<Scratch = Self::Scratch>
    where
        Self: 'a;

    /// The learned parameters.
    fn parameters(&self) -> Vec<Parameter>;

    /// Checks `data`, whose unknown lies on `grid`, and does once what all parameters have in
    /// common.
    ///
    /// # Errors
    /// When the data do not fit.
    fn prepare(&self, grid: Grid, data: &[f64]) -> Result<Self::Data, BoxError>;

    /// The problem for these data where the parameters have these values, in the order of
    /// [`parameters`](Self::parameters). It is made for every reconstruction, and should not read
    /// all data.
    ///
    /// # Errors
    /// When a value is out of range. While learning, such a point is avoided.
    fn objective<'a>(
        &'a self,
        values: &[f64],
        data: &'a Self::Data,
    ) -> Result<Self::Objective<'a>, BoxError>;

    /// Overwrites `x` with a first guess of the unknown. The default is zero.
    fn cold_start(&self, data: &Self::Data, x: &mut [f64]) {
        let _ = data;
        x.fill(0.0);
    }

    /// The name of the family, if it is one of this crate: results carry it.
    fn kind(&self) -> Option<FamilyKind> {
        None
    }
}

impl<M: LowerLevel> LowerLevel for &M {
    type Data = M::Data;
    type Scratch = M::Scratch;
    type Objective<'a>
        = M::Objective<'a>
    where
        Self: 'a;

    fn parameters(&self) -> Vec<Parameter> {
        (**self).parameters()
    }

    fn prepare(&self, grid: Grid, data: &[f64]) -> Result<M::Data, BoxError> {
        (**self).prepare(grid, data)
    }

    fn objective<'a>(
        &'a self,
        values: &[f64],
        data: &'a M::Data,
    ) -> Result<Self::Objective<'a>, BoxError> {
        (**self).objective(values, data)
    }

    fn cold_start(&self, data: &M::Data, x: &mut [f64]) {
        (**self).cold_start(data, x);
    }

    fn kind(&self) -> Option<FamilyKind> {
        (**self).kind()
    }
}

/// A reconstruction, and how close it is to the exact one.
#[derive(Clone, Debug)]
#[must_use]
#[non_exhaustive]
pub struct Reconstruction {
    /// `$\tilde x$`.
    pub x: Vec<f64>,
    /// How it was found, with its certified error.
    pub solved: Solved,
}

/// Reconstructs the unknown on `grid` from `data` with given values of the parameters: learned
/// ones, for example.
///
/// # Errors
/// When there is not one value for each parameter, the model does not accept values or data, or the
/// solver fails.
pub fn reconstruct<M: LowerLevel>(
    model: &M,
    values: &[f64],
    grid: Grid,
    data: &[f64],
    solver: Solver<'_>,
    stop: Stop,
) -> Result<Reconstruction, ReconstructionError> {
    run(model, values, grid, data, solver, stop, None)
}

/// Whoever watches a reconstruction, and from when on.
pub struct Watch<'a> {
    /// The number of iterations that are made unseen, as fast as without an observer: a solver that
    /// is watched makes single steps only.
    pub after: u64,
    /// Sees every further iteration, and may end the reconstruction.
    pub observer: &'a mut Observer<'a>,
}

impl fmt::Debug for Watch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch")
            .field("after", &self.after)
            .finish_non_exhaustive()
    }
}

/// Like [`reconstruct`], and makes the same iterates, but can be watched and ended.
///
/// # Errors
/// As `reconstruct`.
pub fn reconstruct_observed<M: LowerLevel>(
    model: &M,
    values: &[f64],
    grid: Grid,
    data: &[f64],
    solver: Solver<'_>,
    stop: Stop,
    watch: Watch<'_>,
) -> Result<Reconstruction, ReconstructionError> {
    run(model, values, grid, data, solver, stop, Some(watch))
}

fn run<M: LowerLevel>(
    model: &M,
    values: &[f64],
    grid: Grid,
    data: &[f64],
    solver: Solver<'_>,
    stop: Stop,
    watch: Option<Watch<'_>>,
) -> Result<Reconstruction, ReconstructionError> {
    let (expected, found) = (model.parameters().len(), values.len());
    if expected != found {
        return Err(ReconstructionError::NumValues { expected, found });
    }
    let data = model
        .prepare(grid, data)
        .map_err(ReconstructionError::Model)?;
    let objective = (model.objective(values, &data)).map_err(ReconstructionError::Model)?;
    let mut scratch = objective.scratch();
    let mut x = vec![0.0; grid.len()];
    model.cold_start(&data, &mut x);
    let mut state = State::new(x);
    let solved = match watch {
        None => solver.minimize(&objective, stop, &mut state, &mut scratch)?,
        Some(watch) => {
            let limit = match stop {
                Stop::Accuracy { max_iterations, .. } => max_iterations.unwrap_or(u64::MAX),
                _ => u64::MAX,
            };
            let first = stop.with_max_iterations(watch.after.min(limit));
            let mut solved = solver.minimize(&objective, first, &mut state, &mut scratch)?;
            let made = solved.iterations;
            if solved.outcome == Outcome::IterationLimit && made < limit {
                let rest = stop.with_max_iterations(limit - made);
                let observer = watch.observer;
                solved =
                    solver.refine_observed(&objective, rest, &mut state, &mut scratch, observer)?;
                solved.iterations += made;
            }
            solved
        }
    };
    Ok(Reconstruction {
        x: state.into_point(),
        solved,
    })
}
