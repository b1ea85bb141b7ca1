//! Tools for tests: a function with a known minimiser, and checks of derivatives.

mod second_order;

pub use second_order::{hessian_deviation, mixed_deviation, third_order_violation};

use crate::objective::{Curvature, StronglyConvex};

/// Nesterov's quadratic
///
/// ```math
/// \Phi(x) = \frac{\tilde\mu (Q - 1)}{8} \bigl(x^T A x - 2 x_1\bigr) + \frac{\tilde\mu}{2} \|x\|^2,
/// \qquad A = \operatorname{tridiag}(-1, 2, -1).
/// ```
///
/// It is from Nesterov, *Introductory Lectures on Convex Optimization*, Section 2.1.4, and is used
/// in Figure 3 of the paper. Its `$\mu$` and `$L$` are the extreme eigenvalues of its Hessian, and
/// its minimiser has a closed form.
///
/// ```
/// use lowlevel::{StronglyConvex, testing::NesterovQuadratic};
/// let quadratic = NesterovQuadratic::new(10, 1.0, 100.0);
/// assert!((quadratic.curvature().strong_convexity() - 3.00510).abs() < 1e-5);
/// assert!((quadratic.curvature().lipschitz() - 97.99490).abs() < 1e-5);
/// let mut gradient = [1.0; 10];
/// quadratic.gradient(&quadratic.minimizer(), &mut gradient, &mut ());
/// assert!(gradient.iter().all(|g| g.abs() < 1e-13));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct NesterovQuadratic {
    dim: usize,
    shift: f64,
    /// The coefficient `$\tilde\mu(Q - 1)/4$`.
    coupling: f64,
    curvature: Curvature,
}

impl NesterovQuadratic {
    /// Creates the quadratic of `dim` variables with `$\tilde\mu$` = `shift` and `$Q$` =
    /// `condition`.
    ///
    /// # Panics
    /// Unless `dim > 0`, `shift > 0` and `condition > 1`.
    #[must_use]
    pub fn new(dim: usize, shift: f64, condition: f64) -> Self {
        assert!(
            dim > 0 && shift > 0.0 && condition > 1.0,
            "dim = {dim} and shift = {shift} must be positive, condition = {condition} above 1"
        );
        let coupling = shift * (condition - 1.0) / 4.0;
        // Eigenvalues of A: 2 - 2 cos(j pi / (d + 1)) = 4 sin^2(j pi / (2 (d + 1))), j = 1..d.
        let angle = std::f64::consts::FRAC_PI_2 / (as_f64(dim) + 1.0);
        let smallest = 4.0 * angle.sin().powi(2);
        let largest = 4.0 * angle.cos().powi(2);
        let curvature = Curvature::new(coupling * smallest + shift, coupling * largest + shift);
        Self {
            dim,
            shift,
            coupling,
            curvature: curvature.expect("the eigenvalues are positive and in order"),
        }
    }

    /// The minimiser `$x^*_j = \sinh((d + 1 - j)\varphi) / \sinh((d + 1)\varphi)$` with
    /// `$2\cosh\varphi = 2 + 4/(Q - 1)$`.
    #[must_use]
    pub fn minimizer(&self) -> Vec<f64> {
        let phi = (1.0 + self.shift / (2.0 * self.coupling)).acosh();
        let whole = (as_f64(self.dim) + 1.0) * phi;
        (1..=self.dim)
            .map(|j| {
                let rest = whole - as_f64(j) * phi;
                // sinh(a)/sinh(b) without overflow
                (rest - whole).exp() * (-2.0 * rest).exp_m1() / (-2.0 * whole).exp_m1()
            })
            .collect()
    }
}

impl StronglyConvex for NesterovQuadratic {
    type Scratch = ();

    fn dim(&self) -> usize {
        self.dim
    }

    fn curvature(&self) -> Curvature {
        self.curvature
    }

    fn scratch(&self) {}

    fn gradient(&self, x: &[f64], gradient: &mut [f64], (): &mut ()) {
        for (j, gradient) in gradient.iter_mut().enumerate() {
            // The linear term -2 x_1 acts like a left neighbour of x_1 that is fixed at 1.
            let left = if j == 0 { 1.0 } else { x[j - 1] };
            let right = x.get(j + 1).copied().unwrap_or(0.0);
            *gradient = self.coupling * (2.0 * x[j] - left - right) + self.shift * x[j];
        }
    }

    fn value(&self, x: &[f64], (): &mut ()) -> f64 {
        let along: f64 = x.windows(2).map(|pair| (pair[1] - pair[0]).powi(2)).sum();
        let ends = x[0].powi(2) + x[self.dim - 1].powi(2);
        let squares: f64 = x.iter().map(|x| x * x).sum();
        0.5 * self.coupling * (along + ends - 2.0 * x[0]) + 0.5 * self.shift * squares
    }

    fn gradient_rounding(&self, x_norm: f64, _gradient_norm: f64) -> f64 {
        // Five terms per entry, none larger than (4 coupling + shift) |x|, and the constant.
        let largest = (4.0 * self.coupling + self.shift) * x_norm + self.coupling;
        4.0 * f64::EPSILON * largest
    }
}

/// Returns the largest deviation of an entry of `gradient` from a central difference of `value`,
/// relative to 1 or to the largest entry of the gradient, whichever is larger.
///
/// A correct gradient gives a small number. `spacing` is the step of the differences. It should be
/// about the cube root of the unit roundoff times the scale on which `$\Phi$` varies.
///
/// # Panics
/// If `x` does not have the length that `objective` expects.
pub fn gradient_deviation<O: StronglyConvex>(objective: &O, x: &[f64], spacing: f64) -> f64 {
    let mut scratch = objective.scratch();
    let mut gradient = vec![0.0; objective.dim()];
    objective.gradient(x, &mut gradient, &mut scratch);
    let scale = gradient.iter().fold(1.0, |a: f64, g| a.max(g.abs()));
    let mut shifted = x.to_vec();
    let mut worst = 0.0_f64;
    for j in 0..x.len() {
        let mut value_at = |shift: f64| {
            shifted[j] = x[j] + shift;
            let value = objective.value(&shifted, &mut scratch);
            shifted[j] = x[j];
            value
        };
        let slope = (value_at(spacing) - value_at(-spacing)) / (2.0 * spacing);
        let deviation = (slope - gradient[j]).abs() / scale;
        if !(deviation <= worst) {
            worst = deviation;
        }
    }
    worst
}

const fn as_f64(n: usize) -> f64 {
    n as f64
}
