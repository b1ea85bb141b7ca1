//! The trait `LowerLevel` for families of reconstruction problems, and single reconstructions.

use std::fmt;

use imaging::{Grid, Window};
use lowlevel::{Observer, Outcome, Solved, Solver, State, Stop, StronglyConvex};

use crate::criterion::Forward;
use crate::derivatives::Derivatives;
use crate::error::{BoxError, ReconstructionError};
use crate::families::FamilyKind;
use crate::parameter::Parameter;

/// A family of reconstruction problems `$\theta \mapsto \Phi_\theta(\cdot\,; y)$`.
///
/// The families of this crate are [`TvDenoising`](crate::TvDenoising),
/// [`TvDeblurring`](crate::TvDeblurring), [`TvInpainting`](crate::TvInpainting) and
/// [`FourierWeights`](crate::FourierWeights). This is a family of your own:
///
/// ```
/// use bilevel::{LearningProblem, LowerLevel, BoxError, Pair, Parameter, Setup};
/// use imaging::Grid;
/// use lowlevel::{Curvature, StronglyConvex};
///
/// /// Shrinks the data towards zero: 1/2 |x - y|^2 + lambda/2 |x|^2, where lambda is learned.
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
///     fn objective<'a>(
///         &'a self,
///         values: &[f64],
///         data: &'a Vec<f64>,
///     ) -> Result<RidgeObjective<'a>, BoxError> {
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
///         let terms = x.iter().zip(self.data);
///         terms.map(|(x, y)| 0.5 * (x - y).powi(2) + 0.5 * self.weight * x * x).sum()
///     }
/// }
///
/// // The data are three times the truth, and lambda = 2 divides them by three.
/// let truth = vec![1.0, -2.0, 0.5];
/// let data = truth.iter().map(|x| 3.0 * x).collect();
/// let pairs = vec![Pair { grid: Grid::line(3), truth, data }];
/// let learned = LearningProblem::new(Ridge, pairs, Setup::default())?.learn()?;
/// assert!((learned.value("lambda").ok_or("no such parameter")? - 2.0).abs() < 1e-3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait LowerLevel: Sync {
    /// The prepared data of a pair: checked, and ready for any values of the parameters.
    type Data: Send + Sync;

    /// The working memory of the objectives. It must fit all objectives on the same grid.
    type Scratch: Send;

    /// The objective `$\Phi_\theta(\cdot\,; y)$` of one reconstruction.
    type Objective<'a>: StronglyConvex<Scratch = Self::Scratch>
    where
        Self: 'a;

    /// Returns the parameters that are learned: single numbers and blocks. Values of parameters are
    /// flat lists of all of their entries, in this order.
    fn parameters(&self) -> Vec<Parameter>;

    /// Checks the data of an image on `grid`, and computes everything that does not depend on the
    /// parameters.
    ///
    /// # Errors
    /// When the data do not fit the family or the grid.
    fn prepare(&self, grid: Grid, data: &[f64]) -> Result<Self::Data, BoxError>;

    /// Builds the objective for these data and these values of the
    /// [`parameters`](Self::parameters). It is called for every reconstruction, so it should
    /// make no pass over the data.
    ///
    /// # Errors
    /// When a value is out of range. The solver avoids such a point.
    fn objective<'a>(
        &'a self,
        values: &[f64],
        data: &'a Self::Data,
    ) -> Result<Self::Objective<'a>, BoxError>;

    /// Overwrites `x`, the unknown, with the start of a reconstruction that has no earlier one to
    /// start from. The default is zero.
    fn cold_start(&self, data: &Self::Data, x: &mut [f64]) {
        let _ = data;
        x.fill(0.0);
    }

    /// Returns the place of an image on `grid` in the unknown of its objective, which may be larger
    /// than the image. Loss, residuals, scores and reconstructions are those of the image, and the
    /// certified error of the unknown bounds that of the image.
    ///
    /// With the default, the image is the unknown.
    fn window(&self, grid: Grid) -> Window {
        Window::whole(grid)
    }

    /// Returns the derivatives of an objective that was built with these values of the parameters,
    /// if the family has them. The objective must offer
    /// [second derivatives](lowlevel::SecondOrder), too.
    ///
    /// With the default, `None`, parameters are learned without derivatives.
    fn derivatives<'a, 'b>(
        &'a self,
        values: &'a [f64],
        objective: &'a Self::Objective<'b>,
    ) -> Option<Box<dyn Derivatives<Self::Scratch> + 'a>>
    where
        Self: 'b,
    {
        let _ = (values, objective);
        None
    }

    /// Returns the map from an image to its data without noise, at these values of the parameters,
    /// for learning [without truth](crate::Criterion). With the default, `None`, parameters can
    /// only be learned from the truth.
    fn forward<'a>(&'a self, values: &[f64], data: &'a Self::Data) -> Option<Forward<'a>> {
        let _ = (values, data);
        None
    }

    /// Whether data may hold NaN for samples that were not measured. The default is `false`: such
    /// data are refused before [`prepare`](Self::prepare) sees them.
    fn takes_missing(&self) -> bool {
        false
    }

    /// Whether objectives must be evaluated one after the other, on the thread of the caller. This
    /// is for objectives that call into another language. The default is `false`.
    fn is_serial(&self) -> bool {
        false
    }

    /// Returns the name of the family, which is stored in results; `None` for families that are not
    /// in this crate.
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

    fn window(&self, grid: Grid) -> Window {
        (**self).window(grid)
    }

    fn takes_missing(&self) -> bool {
        (**self).takes_missing()
    }

    fn derivatives<'a, 'b>(
        &'a self,
        values: &'a [f64],
        objective: &'a Self::Objective<'b>,
    ) -> Option<Box<dyn Derivatives<M::Scratch> + 'a>>
    where
        Self: 'b,
    {
        (**self).derivatives(values, objective)
    }

    fn forward<'a>(&'a self, values: &[f64], data: &'a M::Data) -> Option<Forward<'a>> {
        (**self).forward(values, data)
    }

    fn is_serial(&self) -> bool {
        (**self).is_serial()
    }

    fn kind(&self) -> Option<FamilyKind> {
        (**self).kind()
    }
}

/// A reconstruction with its certified error.
#[derive(Clone, Debug)]
#[must_use]
#[non_exhaustive]
pub struct Reconstruction {
    /// The reconstruction `$\tilde x$`.
    pub x: Vec<f64>,
    /// The result of the solver: certified error, iterations, work and outcome.
    pub solved: Solved,
}

/// Reconstructs an image on `grid` from `data` with these values of the parameters, such as
/// [`Learned::values`](crate::Learned::values).
///
/// # Errors
/// When the number of values is not the number of parameters, the model does not accept the values
/// or the data, or the solver fails.
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

/// An observer of a reconstruction, which is called from some iteration on.
pub struct Watch<'a> {
    /// The number of iterations before the observer is called for the first time. These are as fast
    /// as without an observer, because only an observed solver stops after every single step.
    pub after: u64,
    /// The observer, which is called after every further iteration and may end the reconstruction.
    pub observer: &'a mut Observer<'a>,
}

impl fmt::Debug for Watch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch")
            .field("after", &self.after)
            .finish_non_exhaustive()
    }
}

/// Reconstructs an image like [`reconstruct`], with the same iterates, and calls an observer that
/// may end the reconstruction early.
///
/// # Errors
/// When `reconstruct` would return an error.
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
    let expected = Parameter::of_entries(&model.parameters()).count();
    let found = values.len();
    if expected != found {
        return Err(ReconstructionError::NumValues { expected, found });
    }
    let data = model
        .prepare(grid, data)
        .map_err(ReconstructionError::Model)?;
    let objective = (model.objective(values, &data)).map_err(ReconstructionError::Model)?;
    let mut scratch = objective.scratch();
    let window = model.window(grid);
    let mut x = vec![0.0; window.outer().len()];
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
            let unobserved = solved.iterations;
            if solved.outcome == Outcome::IterationLimit && unobserved < limit {
                let rest = stop.with_max_iterations(limit - unobserved);
                let observer = watch.observer;
                solved =
                    solver.refine_observed(&objective, rest, &mut state, &mut scratch, observer)?;
                solved.iterations += unobserved;
            }
            solved
        }
    };
    let unknown = state.into_point();
    let x = if window.is_whole() {
        unknown
    } else {
        window.cropped(&unknown, &mut Vec::new()).to_vec()
    };
    Ok(Reconstruction { x, solved })
}
