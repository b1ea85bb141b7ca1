//! Smooth strongly convex functions: the trait, its constants, and an objective made of closures.

use std::fmt;

use crate::error::CurvatureError;
use crate::newton::NewtonSteps;
use crate::norm::{UNIT_ROUNDOFF, norm_squared};
use crate::second_order::{SecondOrder, TwiceDifferentiable};
use crate::update::Update;

/// The curvature constants of a function: it is `$\mu$`-strongly convex, and its gradient is
/// `$L$`-Lipschitz.
///
/// ```
/// use lowlevel::Curvature;
/// let curvature = Curvature::new(1.0, 100.0)?;
/// assert_eq!(curvature.condition_number(), 100.0);
/// assert!(Curvature::new(0.0, 1.0).is_err());
/// # Ok::<(), lowlevel::CurvatureError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Curvature {
    strong_convexity: f64,
    lipschitz: f64,
    typical: f64,
}

impl Curvature {
    /// Creates the constants.
    ///
    /// # Errors
    /// Unless `0 < strong_convexity <= lipschitz < infinity`. NaN is refused, too.
    pub fn new(strong_convexity: f64, lipschitz: f64) -> Result<Self, CurvatureError> {
        if !(strong_convexity > 0.0 && strong_convexity < f64::INFINITY) {
            return Err(CurvatureError::NotStronglyConvex {
                found: strong_convexity,
            });
        }
        if !(lipschitz >= strong_convexity && lipschitz < f64::INFINITY) {
            return Err(CurvatureError::LipschitzTooSmall {
                lipschitz,
                strong_convexity,
            });
        }
        Ok(Self {
            strong_convexity,
            lipschitz,
            typical: strong_convexity,
        })
    }

    /// Declares that Hessians near the minimiser typically have no eigenvalue below `typical`, if
    /// that is more than the strong convexity. No certified error depends on it, and solves
    /// converge with any number; a good one saves iterations of the heavy ball.
    #[must_use]
    pub const fn with_typical(self, typical: f64) -> Self {
        // NaN is ignored.
        let typical = if typical > self.strong_convexity {
            typical.min(self.lipschitz)
        } else {
            self.strong_convexity
        };
        Self { typical, ..self }
    }

    /// The smallest eigenvalue that Hessians near the minimiser typically have.
    #[must_use]
    pub const fn typical(self) -> f64 {
        self.typical
    }

    /// The typical condition number, at most `$L/\mu$`.
    pub(crate) fn typical_condition_number(self) -> f64 {
        self.lipschitz / self.typical
    }

    /// The strong convexity `$\mu$`: `$\Phi - \frac{\mu}{2}\|\cdot\|^2$` is convex.
    #[must_use]
    pub const fn strong_convexity(self) -> f64 {
        self.strong_convexity
    }

    /// The Lipschitz constant `$L$` of the gradient:
    /// `$\|\nabla\Phi(x) - \nabla\Phi(y)\| \le L \|x - y\|$`.
    #[must_use]
    pub const fn lipschitz(self) -> f64 {
        self.lipschitz
    }

    /// The condition number `$L / \mu \ge 1$`.
    #[must_use]
    pub fn condition_number(self) -> f64 {
        self.lipschitz / self.strong_convexity
    }
}

/// A smooth strongly convex function `$\Phi : \mathbb{R}^d \to \mathbb{R}$`.
///
/// Implement the methods without a default. The others have defaults that work for every function;
/// override them for speed or for sharper certificates. Complex unknowns are stored as interleaved
/// real and imaginary parts.
///
/// ```
/// use lowlevel::{Curvature, StronglyConvex, testing::gradient_deviation};
///
/// /// Smoothed absolute values around some data: sum of sqrt((x - y)^2 + 1) + x^2/2.
/// struct Robust { data: Vec<f64> }
///
/// impl StronglyConvex for Robust {
///     type Scratch = Vec<f64>; // the square roots
///     fn dim(&self) -> usize {
///         self.data.len()
///     }
///     fn curvature(&self) -> Curvature {
///         Curvature::new(1.0, 2.0).expect("0 < 1 <= 2")
///     }
///     fn scratch(&self) -> Vec<f64> {
///         vec![0.0; self.data.len()]
///     }
///     fn gradient(&self, x: &[f64], gradient: &mut [f64], roots: &mut Vec<f64>) {
///         for ((root, x), y) in roots.iter_mut().zip(x).zip(&self.data) {
///             *root = (x - y).hypot(1.0);
///         }
///         for (j, gradient) in gradient.iter_mut().enumerate() {
///             *gradient = (x[j] - self.data[j]) / roots[j] + x[j];
///         }
///     }
///     fn value(&self, x: &[f64], _: &mut Vec<f64>) -> f64 {
///         x.iter().zip(&self.data).map(|(x, y)| (x - y).hypot(1.0) + 0.5 * x * x).sum()
///     }
///     fn gradient_rounding(&self, x_norm: f64, _: f64) -> f64 {
///         // a few operations on numbers no larger than |x|, |y| and 1
///         8.0 * f64::EPSILON * (x_norm + lowlevel::norm(&self.data) + self.data.len() as f64)
///     }
/// }
///
/// assert!(gradient_deviation(&Robust { data: vec![1.0, -2.0] }, &[0.5, 0.3], 1e-5) < 1e-9);
/// ```
pub trait StronglyConvex: Sync {
    /// Working memory of the methods below, created once and reused. Use `()` if none is needed.
    type Scratch: Send;

    /// Number of entries of the argument.
    fn dim(&self) -> usize;

    /// The constants `$\mu$` and `$L$`. Certified errors are wrong if these constants are wrong.
    fn curvature(&self) -> Curvature;

    /// Creates the working memory for this function.
    fn scratch(&self) -> Self::Scratch;

    /// Overwrites `gradient` with `$\nabla\Phi(x)$`. Must not allocate.
    fn gradient(&self, x: &[f64], gradient: &mut [f64], scratch: &mut Self::Scratch);

    /// Returns `$\Phi(x)$`.
    ///
    /// First-order methods never call it; plots and
    /// [`gradient_deviation`](crate::testing::gradient_deviation) do. The line search of Newton's
    /// method uses [`NewtonSteps::value_at`], which must return the same value.
    fn value(&self, x: &[f64], scratch: &mut Self::Scratch) -> f64;

    /// Bounds the Euclidean norm of the rounding error of `gradient`, given `$\|x\|$` and the
    /// computed `$\|\nabla\Phi(x)\|$`.
    ///
    /// Certified errors include this bound, so they also hold where rounding dominates the computed
    /// gradient. The default is `$(d + 8)\,u\,(L\|x\| + 2\|\nabla\Phi(x)\|)$` with the unit
    /// roundoff `$u = 2^{-53}$`. It holds if each entry of the gradient is a sum of up to `$d$`
    /// terms, and the vector of the sums of their absolute values is no longer than
    /// `$L\|x\| + 2\|\nabla\Phi(x)\|$`. Override it if larger terms cancel, or if you can prove a
    /// smaller bound.
    fn gradient_rounding(&self, x_norm: f64, gradient_norm: f64) -> f64 {
        default_rounding(self.dim(), self.curvature(), x_norm, gradient_norm)
    }

    /// A hash of everything the gradient depends on, if there is one.
    ///
    /// With it, [`Solver::refine`](crate::Solver::refine) recognises a state that belongs to
    /// another objective. Without it, `refine` evaluates a gradient again to find out.
    fn fingerprint(&self) -> Option<u64> {
        None
    }

    /// Overwrites `gradient` with `$\nabla\Phi(x)$` and returns `$\|\nabla\Phi(x)\|^2$`.
    fn gradient_with_norm(
        &self,
        x: &[f64],
        gradient: &mut [f64],
        scratch: &mut Self::Scratch,
    ) -> f64 {
        self.gradient(x, gradient, scratch);
        norm_squared(gradient)
    }

    /// Applies `update` to `point`, overwrites `gradient` with the gradient at the new point, and
    /// returns its squared norm.
    ///
    /// One call is one iteration of a solver. Override it to do all of this in one pass over
    /// memory.
    fn advance(
        &self,
        mut update: Update<'_>,
        point: &mut [f64],
        gradient: &mut [f64],
        scratch: &mut Self::Scratch,
    ) -> f64 {
        update.apply(0..point.len(), point, gradient);
        self.gradient_with_norm(point, gradient, scratch)
    }

    /// Bounds the Euclidean norm of the error of [`rough_gradient`](Self::rough_gradient),
    /// rounding included, given `$\|x\|$` and the norm of the rough gradient. With the default,
    /// `None`, there are no rough gradients.
    ///
    /// The solver iterates with rough gradients while they are larger than the gradient that would
    /// certify the target, and clearly larger than their error. If this bound does not show this,
    /// the error is measured where the solve starts, and rough gradients end where they no longer
    /// fall. A gradient that certifies the error is exact. A solve whose error is certified by an
    /// approximate subgradient may end without a gradient.
    fn rough_rounding(&self, x_norm: f64, gradient_norm: f64) -> Option<f64> {
        let _ = (x_norm, gradient_norm);
        None
    }

    /// Overwrites `gradient` with an approximation of `$\nabla\Phi(x)$` that takes about half of
    /// the time of [`gradient`](Self::gradient), such as one in single precision. Must not
    /// allocate.
    fn rough_gradient(&self, x: &[f64], gradient: &mut [f64], scratch: &mut Self::Scratch) {
        self.gradient(x, gradient, scratch);
    }

    /// The Newton steps of this function, if it offers them.
    fn newton(&self) -> Option<&dyn NewtonSteps<Self::Scratch>> {
        None
    }

    /// The second derivatives of this function, if it offers them.
    fn second_order(&self) -> Option<&dyn SecondOrder<Self::Scratch>> {
        None
    }
}

/// An objective given by two closures, one for the value and one for the gradient.
///
/// The example fits a line to `$N$` measurements, with
/// `$\Phi(x) = \frac12\|Ax - b\|^2 + \frac{\xi}{2}\|x\|^2$`. Its gradient adds up many terms that
/// cancel, so it needs [`with_rounding`](Self::with_rounding): the rounding error of a sum of `$N$`
/// terms is at most `$N u$` times the sum of their absolute values, which here is at most
/// `$\|A\|_F(\|A\|_F\|x\| + \|b\|)$`.
///
/// ```
/// use lowlevel::{Curvature, ErrorBound, FnObjective, Solver, State, Stop, UNIT_ROUNDOFF, norm};
///
/// let times: Vec<f64> = (0..100).map(|i| f64::from(i) / 99.0).collect();
/// let b: Vec<f64> = times.iter().map(|t| 2.0 + 3.0 * t).collect();
/// let xi = 1e-3;
/// let residual = |x: &[f64], i: usize| x[0] + x[1] * times[i] - b[i];
///
/// let frobenius = (100.0 + norm(&times).powi(2)).sqrt(); // of the rows (1, t)
/// let per_term = 110.0 * UNIT_ROUNDOFF;
/// let objective = FnObjective::new(
///     2,
///     Curvature::new(xi, frobenius * frobenius + xi)?,
///     |x| {
///         let fit: f64 = (0..100).map(|i| residual(x, i).powi(2)).sum();
///         0.5 * fit + 0.5 * xi * (x[0] * x[0] + x[1] * x[1])
///     },
///     |x, gradient| {
///         gradient[0] = (0..100).map(|i| residual(x, i)).sum::<f64>() + xi * x[0];
///         gradient[1] = (0..100).map(|i| residual(x, i) * times[i]).sum::<f64>() + xi * x[1];
///     },
/// )
/// .with_rounding(per_term * frobenius * norm(&b), per_term * (frobenius * frobenius + xi));
///
/// let mut state = State::new(vec![0.0, 0.0]);
/// let stop = Stop::accuracy(ErrorBound::new(1e-6)?);
/// Solver::default().minimize(&objective, stop, &mut state, &mut ())?.reached()?;
/// assert!((state.point()[0] - 2.0).abs() < 1e-3 && (state.point()[1] - 3.0).abs() < 1e-3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct FnObjective<V, G> {
    dim: usize,
    curvature: Curvature,
    value: V,
    gradient: G,
    /// The rounding error of the gradient: an absolute part, and a part relative to `$\|x\|$`.
    rounding: Option<(f64, f64)>,
}

impl<V, G> FnObjective<V, G>
where
    V: Fn(&[f64]) -> f64 + Sync,
    G: Fn(&[f64], &mut [f64]) + Sync,
{
    /// Creates an objective of `dim` variables. `value(x)` returns `$\Phi(x)$`, and
    /// `gradient(x, out)` overwrites `out` with `$\nabla\Phi(x)$`.
    pub const fn new(dim: usize, curvature: Curvature, value: V, gradient: G) -> Self {
        Self {
            dim,
            curvature,
            value,
            gradient,
            rounding: None,
        }
    }

    /// States that the rounding error of `gradient` is at most `absolute + relative * |x|`.
    ///
    /// Every fit to data needs it, and every function whose gradient has an entry that adds up more
    /// than `dim` terms, or terms that cancel and are larger than the default of
    /// [`gradient_rounding`](StronglyConvex::gradient_rounding) allows for. Without it, the
    /// certified error of such a function may be smaller than its rounding error.
    ///
    /// # Panics
    /// If `absolute` or `relative` is negative or NaN.
    #[must_use]
    pub fn with_rounding(mut self, absolute: f64, relative: f64) -> Self {
        assert!(
            absolute >= 0.0 && relative >= 0.0,
            "absolute = {absolute} and relative = {relative} must not be negative or NaN"
        );
        self.rounding = Some((absolute, relative));
        self
    }

    /// Adds second derivatives, which [adjoints](crate::adjoint) need. `product(x, v, out)`
    /// overwrites `out` with `$H(x)v$`, and `third_derivative` is a Lipschitz constant `$L_H$` of
    /// the Hessian: `$\|H(x) - H(y)\| \le L_H\|x - y\|$`. It is zero for a quadratic function, and
    /// may be infinite if it is unknown.
    ///
    /// Call [`with_rounding`](Self::with_rounding) before. The function
    /// [`hypergradient`](crate::hypergradient) has an example.
    ///
    /// # Panics
    /// If `third_derivative` is negative or NaN.
    #[must_use]
    pub fn with_hessian<H>(self, product: H, third_derivative: f64) -> TwiceDifferentiable<V, G, H>
    where
        H: Fn(&[f64], &[f64], &mut [f64]) + Sync,
    {
        assert!(
            third_derivative >= 0.0,
            "third_derivative = {third_derivative} must not be negative or NaN"
        );
        TwiceDifferentiable::new(self, product, third_derivative)
    }
}

fn default_rounding(dim: usize, curvature: Curvature, x_norm: f64, gradient_norm: f64) -> f64 {
    let terms = dim as f64 + 8.0;
    terms * UNIT_ROUNDOFF * (curvature.lipschitz * x_norm + 2.0 * gradient_norm)
}

impl<V, G> fmt::Debug for FnObjective<V, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FnObjective")
            .field("dim", &self.dim)
            .field("curvature", &self.curvature)
            .finish_non_exhaustive()
    }
}

impl<V, G> StronglyConvex for FnObjective<V, G>
where
    V: Fn(&[f64]) -> f64 + Sync,
    G: Fn(&[f64], &mut [f64]) + Sync,
{
    type Scratch = ();

    fn dim(&self) -> usize {
        self.dim
    }

    fn curvature(&self) -> Curvature {
        self.curvature
    }

    fn scratch(&self) {}

    fn gradient(&self, x: &[f64], gradient: &mut [f64], (): &mut ()) {
        (self.gradient)(x, gradient);
    }

    fn value(&self, x: &[f64], (): &mut ()) -> f64 {
        (self.value)(x)
    }

    fn gradient_rounding(&self, x_norm: f64, gradient_norm: f64) -> f64 {
        match self.rounding {
            Some((absolute, relative)) => absolute + relative * x_norm,
            None => default_rounding(self.dim, self.curvature, x_norm, gradient_norm),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curvature_rejects_what_is_not_smooth_and_strongly_convex() {
        for mu in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(matches!(
                Curvature::new(mu, 2.0),
                Err(CurvatureError::NotStronglyConvex { .. })
            ));
        }
        for lipschitz in [0.5, f64::NAN, f64::INFINITY] {
            assert!(matches!(
                Curvature::new(1.0, lipschitz),
                Err(CurvatureError::LipschitzTooSmall { .. })
            ));
        }
        assert!(Curvature::new(1.0, 1.0).is_ok());
    }
}
