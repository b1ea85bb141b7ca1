//! The gradient of a loss of the minimiser with respect to parameters, in one call.

use super::bounds::{ValueInterval, adjoint_error, corrected_value};
use super::loss::LossAt;
use super::solve::solve_adjoint;
use super::{Adjoint, AdjointState, AdjointStop};
use crate::certificate::ErrorBound;
use crate::error::SolveError;
use crate::objective::StronglyConvex;
use crate::solve::Solver;
use crate::state::State;
use crate::stop::{Solved, Stop};

/// The minimiser and the adjoint of [`hypergradient`]: the starts of a call and its results.
#[derive(Clone, Debug)]
pub struct HypergradientState {
    /// The minimiser.
    pub minimizer: State,
    /// The adjoint.
    pub adjoint: AdjointState,
}

impl HypergradientState {
    /// Creates a state whose minimisation starts at `start`.
    #[must_use]
    pub fn new(start: Vec<f64>) -> Self {
        Self {
            minimizer: State::new(start),
            adjoint: AdjointState::new(),
        }
    }
}

/// The result of [`hypergradient`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Hypergradient {
    /// An interval that contains the loss of the minimiser.
    pub interval: ValueInterval,
    /// The derivatives of the loss of the minimiser with respect to the parameters, as computed.
    pub gradient: Vec<f64>,
    /// A bound on the distance of the computed adjoint from the exact one. With bounds on the
    /// mixed derivatives, [`MixedBound::gradient_error`](super::MixedBound::gradient_error) turns
    /// it into bounds on the errors of `gradient`.
    pub adjoint_error: f64,
    /// The result of the minimisation, with the certified error.
    pub solved: Solved,
    /// The result of the adjoint's linear system, with its residual.
    pub adjoint: Adjoint,
}

/// Computes the gradient of a loss of the minimiser of `objective`, with respect to the parameters
/// that the objective depends on, and an interval for the loss.
///
/// - `loss(x, gradient)` overwrites `gradient` with that of the loss, and returns the loss.
/// - `mixed_product(x, q, out)` overwrites each of the `num_params` entries of `out` with `$\langle
///   B_k(x), q\rangle$`, where `$B_k = \partial_{\theta_k}\nabla\Phi$`.
/// - The minimiser is computed to `target`, from the start in `state`, and the adjoint to a
///   residual of `$L_\ell$` times the certified error: a smaller one would not reduce the bounds by
///   much.
///
/// The example computes how the error of ridge regression on other data depends on the weight
/// `$\xi$`.
///
/// ```
/// use lowlevel::testing::{hessian_deviation, mixed_deviation};
/// use lowlevel::{Curvature, ErrorBound, FnObjective, HypergradientState, LossAt, LossRounding};
/// use lowlevel::{hypergradient, norm};
///
/// // Fit a line to noisy data, with the rows (1, t); score it on other data.
/// let fitted = [(0.0, 0.1), (0.5, 1.2), (1.0, 1.9)];
/// let scored = [(0.25, 0.5), (0.75, 1.6)];
/// let misfit = |x: &[f64], (t, y): (f64, f64)| x[0] + x[1] * t - y;
///
/// // Phi(x) = 1/2 sum of misfits squared + xi/2 |x|^2
/// let objective_at = |xi: &[f64]| {
///     let xi = xi[0];
///     let gradient = move |x: &[f64], out: &mut [f64]| {
///         out[0] = fitted.iter().map(|&d| misfit(x, d)).sum::<f64>() + xi * x[0];
///         out[1] = fitted.iter().map(|&d| misfit(x, d) * d.0).sum::<f64>() + xi * x[1];
///     };
///     let product = move |_: &[f64], v: &[f64], out: &mut [f64]| {
///         let along = |(t, _): (f64, f64)| v[0] + v[1] * t;
///         out[0] = fitted.iter().map(|&d| along(d)).sum::<f64>() + xi * v[0];
///         out[1] = fitted.iter().map(|&d| along(d) * d.0).sum::<f64>() + xi * v[1];
///     };
///     let value = move |x: &[f64]| {
///         let fit: f64 = fitted.iter().map(|&d| misfit(x, d).powi(2)).sum();
///         0.5 * fit + 0.5 * xi * (x[0] * x[0] + x[1] * x[1])
///     };
///     let curvature = Curvature::new(xi, 4.25 + xi).expect("xi is positive");
///     FnObjective::new(2, curvature, value, gradient)
///         .with_rounding(1e-14, 1e-14)
///         .with_hessian(product, 0.0) // the third derivative is zero
///         .with_product_rounding(1e-14)
/// };
/// // half of the sum of squares on the other data: the largest eigenvalue is below 2.7
/// fn loss<'a>(x: &[f64], out: &'a mut [f64], scored: &[(f64, f64)]) -> LossAt<'a> {
///     let misfits: Vec<f64> = scored.iter().map(|(t, y)| x[0] + x[1] * t - y).collect();
///     out[0] = misfits.iter().sum();
///     out[1] = misfits.iter().zip(scored).map(|(m, (t, _))| m * t).sum();
///     LossAt {
///         value: 0.5 * misfits.iter().map(|m| m * m).sum::<f64>(),
///         gradient: out,
///         lipschitz: 2.7,
///         non_negative: true,
///         rounding: LossRounding { value: 1e-14, gradient: 1e-14 },
///     }
/// }
/// // The derivative of grad Phi with respect to xi is x.
/// let mixed_product = |x: &[f64], q: &[f64], out: &mut [f64]| out[0] = x[0] * q[0] + x[1] * q[1];
/// assert!(hessian_deviation(&objective_at(&[0.1]), &[1.0, 2.0], 1e-5) < 1e-9);
/// assert!(mixed_deviation(objective_at, &[0.1], &[1.0, 2.0], &[3.0, 4.0], mixed_product, 1e-5) < 1e-9);
///
/// let mut state = HypergradientState::new(vec![0.0; 2]);
/// let mut at = |xi: f64| {
///     let target = ErrorBound::new(1e-6).expect("positive");
///     let objective = objective_at(&[xi]);
///     hypergradient(&objective, |x, out| loss(x, out, &scored), 1, mixed_product, target, &mut state)
/// };
/// let here = at(0.1)?;
/// assert!(here.interval.upper - here.interval.lower < 1e-10);
/// let (left, right) = (at(0.1 - 1e-3)?, at(0.1 + 1e-3)?);
/// let slope = (right.interval.value - left.interval.value) / 2e-3;
/// assert!((here.gradient[0] - slope).abs() < 1e-4 * slope.abs());
/// # Ok::<(), lowlevel::SolveError>(())
/// ```
///
/// # Errors
/// The same as for [`Solver::refine`] and [`solve_adjoint`], and if a mixed product is not finite.
///
/// # Panics
/// If the loss has a gradient of the wrong length.
pub fn hypergradient<O: StronglyConvex>(
    objective: &O,
    loss: impl for<'a> FnOnce(&[f64], &'a mut [f64]) -> LossAt<'a>,
    num_params: usize,
    mixed_product: impl FnOnce(&[f64], &[f64], &mut [f64]),
    target: ErrorBound,
    state: &mut HypergradientState,
) -> Result<Hypergradient, SolveError> {
    let mut scratch = objective.scratch();
    let HypergradientState { minimizer, adjoint } = state;
    let stop = Stop::accuracy(target);
    let solved = Solver::default().refine(objective, stop, minimizer, &mut scratch)?;
    let x = minimizer.point();
    let mut loss_gradient = vec![f64::NAN; objective.dim()];
    let loss = loss(x, &mut loss_gradient);
    let stop = AdjointStop::absolute(loss.lipschitz * solved.error.value());
    let found = solve_adjoint(
        objective,
        x,
        solved.error,
        &loss,
        stop,
        adjoint,
        &mut scratch,
    )?;
    let q = adjoint.adjoint();
    let mut gradient = vec![f64::NAN; objective.dim()];
    let phi_gradient = match minimizer.gradient() {
        Some(known) => known,
        None => {
            objective.gradient(x, &mut gradient, &mut scratch);
            &gradient
        }
    };
    let interval = corrected_value(objective, x, phi_gradient, &loss, q, &found);
    let mut gradient = vec![f64::NAN; num_params];
    mixed_product(x, q, &mut gradient);
    if let Some(index) = gradient.iter().position(|product| !product.is_finite()) {
        return Err(SolveError::NonFiniteMixedProduct { index });
    }
    for derivative in &mut gradient {
        *derivative = -*derivative;
    }
    Ok(Hypergradient {
        interval,
        gradient,
        adjoint_error: adjoint_error(&loss, &found),
        solved,
        adjoint: found,
    })
}
