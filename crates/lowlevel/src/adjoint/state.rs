//! The stopping rule, the memory and the result of the adjoint's linear system.

use crate::certificate::ErrorBound;
use crate::second_order::ThirdOrder;

/// The residual at which the solution of the adjoint's system ends: the smallest of three targets.
///
/// An infinite number switches its target off. NaN counts as zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdjointStop {
    /// The target as a share of `$\|\nabla\ell(\tilde x)\|$`, which is the residual of a start at
    /// zero. The default is 0.05.
    pub relative: f64,
    /// The target as a share of the residual of the warm start. The default is 0.1. Direct methods
    /// ignore it, because they use no start.
    pub improvement: f64,
    /// The target as a number. The default is infinity, which is no target.
    pub absolute: f64,
    /// The largest number of Hessian products in iterations of conjugate gradients. The default is
    /// `None`: a few times the number that theory needs.
    pub max_products: Option<u64>,
    /// Whether to look for a sharper [`Adjoint::curvature`]. Only bounds on the adjoint and on
    /// gradients need it. The default is `true`.
    pub local_curvature: bool,
}

impl Default for AdjointStop {
    fn default() -> Self {
        Self {
            relative: 0.05,
            improvement: 0.1,
            absolute: f64::INFINITY,
            max_products: None,
            local_curvature: true,
        }
    }
}

impl AdjointStop {
    /// Ends at this residual, whatever the start.
    #[must_use]
    pub const fn absolute(target: f64) -> Self {
        Self {
            relative: f64::INFINITY,
            improvement: f64::INFINITY,
            absolute: target,
            max_products: None,
            local_curvature: true,
        }
    }

    /// The target of a method that uses no start, for this norm of `$\nabla\ell$`.
    pub(super) fn target_without_start(self, rhs: f64) -> f64 {
        let improvement = f64::INFINITY;
        Self {
            improvement,
            ..self
        }
        .target(rhs, rhs)
    }

    /// The target for these norms of `$\nabla\ell$` and of the residual of the start.
    pub(super) fn target(self, rhs: f64, start: f64) -> f64 {
        let share = |factor: f64, norm: f64| match factor {
            f64::INFINITY => f64::INFINITY,
            factor => factor * norm,
        };
        let targets = [
            share(self.relative, rhs),
            share(self.improvement, start),
            self.absolute,
        ];
        let not_nan = targets.map(|target| if target >= 0.0 { target } else { 0.0 });
        not_nan.into_iter().fold(f64::INFINITY, f64::min)
    }
}

/// The warm start and the answer of [`solve_adjoint`](super::solve_adjoint), and its working
/// memory.
///
/// A solve in a state that was used before, for the same dimension, allocates nothing.
#[derive(Clone, Debug, Default)]
pub struct AdjointState {
    pub(super) q: Vec<f64>,
    pub(super) best: Vec<f64>,
    pub(super) residual: Vec<f64>,
    pub(super) preconditioned: Vec<f64>,
    pub(super) direction: Vec<f64>,
    pub(super) product: Vec<f64>,
}

impl AdjointState {
    /// Creates a state that starts at zero.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            q: Vec::new(),
            best: Vec::new(),
            residual: Vec::new(),
            preconditioned: Vec::new(),
            direction: Vec::new(),
            product: Vec::new(),
        }
    }

    /// The adjoint `$\tilde q$` of the last solve, or the start of the next.
    #[must_use]
    pub fn adjoint(&self) -> &[f64] {
        &self.q
    }

    /// Makes the next solve start at `q`. An empty slice stands for zero.
    pub fn start_at(&mut self, q: &[f64]) {
        self.q.clear();
        self.q.extend_from_slice(q);
    }

    /// Allocates the vectors. A start of another length is replaced by zero.
    pub(super) fn make_room(&mut self, dim: usize) {
        if self.q.len() != dim {
            self.q.clear();
            self.q.resize(dim, 0.0);
        }
        for vector in [
            &mut self.best,
            &mut self.residual,
            &mut self.preconditioned,
            &mut self.direction,
            &mut self.product,
        ] {
            vector.resize(dim, 0.0);
        }
    }
}

/// The result of [`solve_adjoint`](super::solve_adjoint). The adjoint itself is in the
/// [`AdjointState`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use = "the target may not have been reached"]
#[non_exhaustive]
pub struct Adjoint {
    /// A proved bound `$\delta$` on the norm of `$\nabla\ell(\tilde x) - H(\tilde x)\,\tilde q$`,
    /// including rounding.
    pub residual: f64,
    /// The reason why the solution ended.
    pub outcome: AdjointOutcome,
    /// The number of Hessian products, without those inside of
    /// [`SecondOrder::solve`](crate::SecondOrder::solve).
    pub products: u64,
    /// All work of this call, in units of one gradient.
    pub work: f64,
    /// The computed norm of `$\tilde q$`.
    pub norm: f64,
    /// The radius `$\varepsilon$` of the ball around `$\tilde x$` in which `third_order` and
    /// `curvature` hold.
    pub error: ErrorBound,
    /// Bounds on the change of the Hessian in the ball of radius `error`, applied to `$\tilde q$`.
    pub third_order: ThirdOrder,
    /// A lower bound `$\hat\mu$` on the eigenvalues of the Hessian in the ball of radius `error`.
    pub curvature: f64,
}

/// The reason why the solution of the adjoint's system ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AdjointOutcome {
    /// The residual, including rounding, is at most the target.
    Converged,
    /// The target was not met: the computed residual is no larger than its rounding error.
    RoundingFloor,
    /// The target was not met after [`AdjointStop::max_products`] products.
    ProductLimit,
    /// The target was not met, and iterating no longer helps. Either rounding errors are in the
    /// way, or the Hessian product, the preconditioner, `solve` or the constants of the objective
    /// are wrong.
    Stalled,
}
