//! Where a solve stands: warm start, workspace, answer and resume token in one value.

use crate::method::{Method, Momentum};
use crate::objective::{Curvature, StronglyConvex};

/// Where a solve stands.
///
/// On entry it holds the start, on exit the answer. It also holds all memory that an iteration needs, so that a solve
/// allocates nothing, and all that is needed to go on later as if the solve had not stopped
/// ([`Solver::refine`](crate::Solver::refine)). Clone it to keep it: states share nothing.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "crate::saved::Saved"))]
pub struct State {
    /// The answer: the point that was, or will be, certified.
    pub(crate) point: Vec<f64>,
    /// The other point an accelerated iteration remembers, see [`Layout`].
    pub(crate) companion: Vec<f64>,
    /// `$\nabla\Phi$` at `point` where the layout says so; empty if it was forgotten.
    pub(crate) gradient: Vec<f64>,
    pub(crate) momentum: Momentum,
    /// The method that left this state.
    pub(crate) method: Method,
    /// The objective it belongs to.
    pub(crate) owner: Option<Owner>,
    pub(crate) layout: Layout,
}

/// What tells objectives apart.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Owner {
    /// Whether the objective vouches for being told apart by the rest.
    fingerprint: Option<u64>,
    curvature: Curvature,
}

impl Owner {
    pub(crate) fn of<O: StronglyConvex>(objective: &O) -> Self {
        Self {
            fingerprint: objective.fingerprint(),
            curvature: objective.curvature(),
        }
    }

    pub(crate) const fn is_certain(self) -> bool {
        self.fingerprint.is_some()
    }
}

/// What the vectors of a [`State`] hold.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) enum Layout {
    /// `point` is a start; the rest is meaningless.
    Start,
    /// `point` is `$x^k$` and `companion` is `$x^{k-1}$`; `gradient` is that of `point` if its norm is known.
    Iterate { gradient_norm: Option<f64> },
    /// `point` is `$z^{k+1}$` and `companion` is `$x^k$`; `gradient` is that of `point` if its norm is known.
    Extrapolated { gradient_norm: Option<f64> },
    /// `point` is `$x^k = T(z^k)$` and `companion` is `$x^{k-1}$`.
    Projected,
}

impl State {
    /// Starts from `start`.
    #[must_use]
    pub fn new(start: Vec<f64>) -> Self {
        let (companion, gradient) = (vec![0.0; start.len()], vec![0.0; start.len()]);
        Self {
            point: start,
            companion,
            gradient,
            momentum: Momentum::default(),
            method: Method::default(),
            owner: None,
            layout: Layout::Start,
        }
    }

    /// The answer of the last solve, or the start of the next.
    #[must_use]
    pub fn point(&self) -> &[f64] {
        &self.point
    }

    /// Starts anew from the point `start` writes; it finds the last answer there.
    pub fn restart(&mut self, start: impl FnOnce(&mut [f64])) {
        start(&mut self.point);
        self.layout = Layout::Start;
    }

    /// Frees a third of the memory. Going on later costs one more gradient, and makes the same iterates.
    pub fn forget_gradient(&mut self) {
        self.gradient = Vec::new();
        if let Layout::Iterate { gradient_norm } | Layout::Extrapolated { gradient_norm } =
            &mut self.layout
        {
            *gradient_norm = None;
        }
    }

    /// Makes room for a gradient that was forgotten.
    pub(crate) fn make_room(&mut self) {
        self.gradient.resize(self.point.len(), f64::NAN);
    }

    /// The answer, without the memory of the iteration.
    #[must_use]
    pub fn into_point(self) -> Vec<f64> {
        self.point
    }

    /// Forgets the iteration but not the point.
    pub(crate) fn begin(&mut self) {
        self.companion.copy_from_slice(&self.point);
        self.gradient.fill(f64::NAN); // an entry that the objective forgets to write is noticed
        self.momentum = Momentum::default();
        self.layout = Layout::Iterate {
            gradient_norm: None,
        };
    }
}
