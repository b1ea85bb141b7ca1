//! The trait `Derivatives`: the derivatives of the objectives of a family with respect to the
//! parameters.

use lowlevel::adjoint::MixedBound;

/// The derivatives of an objective `$\Phi_\theta(\cdot\,; y)$` with respect to the values of the
/// learned parameters, for objectives whose working memory is `S`.
///
/// A family returns them from [`LowerLevel::derivatives`](crate::LowerLevel::derivatives). Its
/// objectives must also offer [second derivatives](lowlevel::SecondOrder). Parameters are then
/// learned with gradients, at a cost per evaluation that hardly depends on their number.
///
/// If these derivatives are wrong, so are the gradients. Even then no step is accepted that
/// increases the objective, but learning becomes slow or ends early. Check them with
/// [`testing::derivatives_deviation`](crate::testing::derivatives_deviation), and the second
/// derivatives with [`lowlevel::testing::hessian_deviation`] and
/// [`lowlevel::testing::third_order_violation`].
///
/// # Example
///
/// The example of [`LowerLevel`](crate::LowerLevel) learns one weight without derivatives. In this
/// family, every sample has a weight of its own, and the weights are learned with gradients.
///
/// ```
/// use bilevel::testing::derivatives_deviation;
/// use bilevel::{BoxError, Derivatives, LearningProblem, LowerLevel, Pair, Parameter};
/// use bilevel::{Setup, SolverKind};
/// use imaging::Grid;
/// use lowlevel::testing::hessian_deviation;
/// use lowlevel::{Curvature, SecondOrder, StronglyConvex, ThirdOrder, UNIT_ROUNDOFF};
///
/// /// Shrinks the data towards zero: 1/2 |x - y|^2 + 1/2 sum of lambda_j x_j^2.
/// struct Ridge {
///     num_samples: usize,
/// }
/// struct RidgeObjective<'a> {
///     data: &'a [f64],
///     weights: Vec<f64>,
/// }
/// struct RidgeDerivatives;
///
/// impl LowerLevel for Ridge {
///     type Data = Vec<f64>;
///     type Scratch = ();
///     type Objective<'a> = RidgeObjective<'a>;
///     fn parameters(&self) -> Vec<Parameter> {
///         vec![Parameter::log10("lambda", 0.0, -6.0, 6.0).with_shape([self.num_samples])]
///     }
///     fn prepare(&self, _: Grid, data: &[f64]) -> Result<Vec<f64>, BoxError> {
///         Ok(data.to_vec())
///     }
///     fn objective<'a>(
///         &'a self,
///         values: &[f64],
///         data: &'a Vec<f64>,
///     ) -> Result<RidgeObjective<'a>, BoxError> {
///         Ok(RidgeObjective { data, weights: values.to_vec() })
///     }
///     fn derivatives<'a, 'b>(
///         &'a self,
///         _: &'a [f64],
///         _: &'a RidgeObjective<'b>,
///     ) -> Option<Box<dyn Derivatives<()> + 'a>>
///     where
///         Self: 'b,
///     {
///         Some(Box::new(RidgeDerivatives))
///     }
/// }
///
/// impl Derivatives<()> for RidgeDerivatives {
///     /// Entry j of the gradient is x_j - y_j + lambda_j x_j, so its derivative is x_j.
///     fn mixed_product(&self, x: &[f64], q: &[f64], out: &mut [f64], _: &mut ()) {
///         for ((out, x), q) in out.iter_mut().zip(x).zip(q) {
///             *out = x * q;
///         }
///     }
/// }
///
/// impl StronglyConvex for RidgeObjective<'_> {
///     type Scratch = ();
///     fn dim(&self) -> usize {
///         self.data.len()
///     }
///     fn curvature(&self) -> Curvature {
///         let largest = self.weights.iter().fold(0.0, |a: f64, b| a.max(*b));
///         Curvature::new(1.0, 1.0 + largest).expect("positive")
///     }
///     fn scratch(&self) {}
///     fn gradient(&self, x: &[f64], gradient: &mut [f64], _: &mut ()) {
///         for (j, g) in gradient.iter_mut().enumerate() {
///             *g = x[j] - self.data[j] + self.weights[j] * x[j];
///         }
///     }
///     fn value(&self, x: &[f64], _: &mut ()) -> f64 {
///         let term = |(j, x): (usize, &f64)| (x - self.data[j]).powi(2) + self.weights[j] * x * x;
///         0.5 * x.iter().enumerate().map(term).sum::<f64>()
///     }
///     fn second_order(&self) -> Option<&dyn SecondOrder<()>> {
///         Some(self)
///     }
/// }
///
/// impl SecondOrder<()> for RidgeObjective<'_> {
///     fn linearise(&self, _: &[f64], _: &mut ()) {}
///     fn hessian_product(&self, v: &[f64], out: &mut [f64], _: &mut ()) {
///         for ((out, v), weight) in out.iter_mut().zip(v).zip(&self.weights) {
///             *out = (1.0 + weight) * v;
///         }
///     }
///     fn product_rounding(&self, v_norm: f64) -> f64 {
///         2.0 * UNIT_ROUNDOFF * self.curvature().lipschitz() * v_norm
///     }
///     fn third_order(&self, _: &[f64], _: f64, _: &mut ()) -> ThirdOrder {
///         ThirdOrder::ZERO // the function is quadratic
///     }
/// }
///
/// // Each sample of the data is a multiple of the truth: 3, 2 and 1.5 times.
/// let (truth, data) = (vec![1.0, -2.0, 0.5], vec![3.0, -4.0, 0.75]);
/// let (ridge, grid) = (Ridge { num_samples: 3 }, Grid::line(3));
///
/// let values = [0.5, 1.0, 2.0];
/// let deviation = derivatives_deviation(&ridge, &values, grid, &data, &truth, &data, 1e-4)?;
/// assert!(deviation < 1e-8);
/// let prepared = ridge.prepare(grid, &data)?;
/// assert!(hessian_deviation(&ridge.objective(&values, &prepared)?, &truth, 1e-4) < 1e-8);
///
/// let pairs = vec![Pair { grid, truth, data }];
/// let learned = LearningProblem::new(ridge, pairs, Setup::default())?.learn()?;
/// assert_eq!(learned.solver, SolverKind::Gradient);
/// for (value, expected) in learned.values().iter().zip([2.0, 1.0, 0.5]) {
///     assert!((value - expected).abs() < 1e-3);
/// }
/// # Ok::<(), BoxError>(())
/// ```
pub trait Derivatives<S> {
    /// Overwrites `out` with the mixed products: entry `$k$` is
    /// `$\langle q, \partial_k\nabla\Phi(x)\rangle$`, where `$\partial_k$` is the derivative with
    /// respect to the *value* of parameter `$k$`. Must not allocate.
    fn mixed_product(&self, x: &[f64], q: &[f64], out: &mut [f64], scratch: &mut S);

    /// The cost of `mixed_product`, in gradients of the objective. The default is 2: those of the
    /// families of this crate take between 1 and 3 (measured).
    fn cost(&self) -> f64 {
        2.0
    }

    /// Overwrites `out` with bounds on the mixed products in a ball of radius `error` around `x`,
    /// from which the error of a gradient is certified. Returns `false` if there are none: then the
    /// interval of the objective is certified, but not the error of the gradient.
    fn mixed_bounds(
        &self,
        x: &[f64],
        q: &[f64],
        error: f64,
        out: &mut [MixedBound],
        scratch: &mut S,
    ) -> bool {
        let _ = (x, q, error, out, scratch);
        false
    }

    /// Overwrites `out` with the derivatives of the condition number `$L/\mu$` with respect to the
    /// values of the parameters. Returns `false` if they are not known. Only the penalty
    /// [`ConditionNumber`](crate::ConditionNumber) needs them.
    fn condition_gradient(&self, out: &mut [f64]) -> bool {
        let _ = out;
        false
    }
}
