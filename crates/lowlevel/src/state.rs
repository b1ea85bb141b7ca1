//! Where a solve stands: warm start, workspace, answer and resume token in one value.

use crate::ball::Guard;
use crate::buffer::Buffer;
use crate::checkpoint::{Numbers, Vectors};
use crate::method::{Method, Momentum};
use crate::objective::{Curvature, Newton, StronglyConvex};

/// Where a solve stands.
///
/// On entry it holds the start, on exit the answer. It also holds all memory that an iteration needs, so that a solve
/// allocates nothing, and all that is needed to go on later as if the solve had not stopped
/// ([`Solver::refine`](crate::Solver::refine)). Clone it to save it, states share nothing; or save less of it, as a
/// [`Checkpoint`](crate::Checkpoint).
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "crate::saved::Saved"))]
pub struct State {
    /// The answer: the point that was, or will be, certified.
    pub(crate) point: Buffer,
    /// The other point an accelerated iteration remembers, see [`Layout`].
    pub(crate) companion: Buffer,
    /// `$\nabla\Phi$` at `point` where the layout says so; empty if it was forgotten.
    pub(crate) gradient: Buffer,
    pub(crate) momentum: Momentum,
    /// How the heavy ball does.
    pub(crate) guard: Guard,
    /// The method that left this state.
    pub(crate) method: Method,
    /// The objective it belongs to.
    pub(crate) owner: Option<Owner>,
    pub(crate) layout: Layout,
    /// The dual variables of Newton steps; empty until there are any.
    pub(crate) dual: Vec<f64>,
    pub(crate) workspace: Workspace,
}

/// How many cache lines `companion` and `gradient` are shifted.
pub(crate) const SHIFTS: [usize; 2] = [4, 8];

/// Room for a Newton step, which means nothing between two steps.
#[derive(Clone, Debug, Default)]
pub(crate) struct Workspace {
    pub(crate) step: Vec<f64>,
    pub(crate) dual_step: Vec<f64>,
}

impl PartialEq for Workspace {
    fn eq(&self, _: &Self) -> bool {
        true
    }
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
    /// `point` is `$y^k$` and `companion` is `$w^k$` of the heavy ball; `gradient` is that of `point` if its norm is known.
    Rolling { gradient_norm: Option<f64> },
    /// `point` is `$x^k = T(z^k)$` and `companion` is `$x^{k-1}$`.
    Projected,
}

impl Layout {
    /// The norm of `gradient`, if that is the gradient of `point`.
    pub(crate) const fn gradient_norm(self) -> Option<f64> {
        match self {
            Self::Iterate { gradient_norm }
            | Self::Extrapolated { gradient_norm }
            | Self::Rolling { gradient_norm } => gradient_norm,
            Self::Start | Self::Projected => None,
        }
    }

    /// The same vectors with another gradient.
    pub(crate) const fn with_gradient_norm(self, gradient_norm: Option<f64>) -> Self {
        match self {
            Self::Iterate { .. } => Self::Iterate { gradient_norm },
            Self::Extrapolated { .. } => Self::Extrapolated { gradient_norm },
            Self::Rolling { .. } => Self::Rolling { gradient_norm },
            Self::Start | Self::Projected => self,
        }
    }
}

impl Default for State {
    /// A state without entries, to be filled by a [`Checkpoint`](crate::Checkpoint).
    fn default() -> Self {
        Self::new(Vec::new())
    }
}

impl State {
    /// Starts from `start`.
    #[must_use]
    pub fn new(start: Vec<f64>) -> Self {
        let len = start.len();
        Self {
            point: Buffer::new(start),
            companion: Buffer::filled(len, 0.0, SHIFTS[0]),
            gradient: Buffer::filled(len, 0.0, SHIFTS[1]),
            momentum: Momentum::default(),
            guard: Guard::default(),
            method: Method::default(),
            owner: None,
            layout: Layout::Start,
            dual: Vec::new(),
            workspace: Workspace::default(),
        }
    }

    /// Starts where `other` stands, for an objective that is near the one it belongs to.
    #[must_use]
    pub fn near(other: &Self) -> Self {
        Self {
            dual: other.dual.clone(),
            ..Self::new(other.point.to_vec())
        }
    }

    /// Starts anew from a point and dual variables that are zero until they are overwritten.
    pub(crate) fn start_anew(&mut self, dim: usize, num_duals: usize) -> (&mut [f64], &mut [f64]) {
        self.point.assign_zeros(dim);
        self.dual.clear();
        self.dual.resize(num_duals, 0.0);
        self.layout = Layout::Start;
        (&mut self.point, &mut self.dual)
    }

    /// All but the gradient.
    pub(crate) fn without_gradient(&self) -> Self {
        Self {
            point: self.point.clone(),
            companion: self.companion.clone(),
            gradient: Buffer::default(),
            layout: self.layout.with_gradient_norm(None),
            dual: self.dual.clone(),
            workspace: Workspace::default(),
            ..*self
        }
    }

    /// Takes over all of `other`, in the memory that is there if it suffices.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        self.point.assign(&other.point);
        self.companion.assign(&other.companion);
        if !other.gradient.is_empty() {
            self.gradient.assign(&other.gradient);
        }
        self.dual.clear();
        self.dual.extend_from_slice(&other.dual);
        self.momentum = other.momentum;
        self.guard = other.guard;
        self.method = other.method;
        self.owner = other.owner;
        self.layout = other.layout;
    }

    /// What another solve can begin from.
    pub(crate) fn vectors(&self) -> Vectors<'_> {
        Vectors {
            point: Numbers::Double(&self.point),
            dual: Numbers::Double(&self.dual),
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
        self.dual.clear();
        self.layout = Layout::Start;
    }

    /// Frees a third of the memory. Going on later costs one more gradient, and makes the same iterates.
    pub fn forget_gradient(&mut self) {
        self.gradient = Buffer::default();
        self.workspace = Workspace::default();
        self.layout = self.layout.with_gradient_norm(None);
    }

    /// Makes room for what the last solve did not need.
    pub(crate) fn make_room(&mut self, newton: Option<Newton>) {
        if self.companion.len() != self.point.len() {
            self.companion = Buffer::filled(self.point.len(), f64::NAN, SHIFTS[0]);
        }
        if self.gradient.len() != self.point.len() {
            self.gradient = Buffer::filled(self.point.len(), f64::NAN, SHIFTS[1]);
        }
        if let Some(Newton { num_duals, .. }) = newton {
            self.dual.resize(num_duals, 0.0);
            self.workspace.dual_step.resize(num_duals, 0.0);
            self.workspace.step.resize(self.point.len(), 0.0);
        }
    }

    /// The answer, without the memory of the iteration.
    #[must_use]
    pub fn into_point(self) -> Vec<f64> {
        self.point.into_vec()
    }

    /// Forgets the iteration but not the point.
    pub(crate) fn begin(&mut self) {
        self.companion.copy_from_slice(&self.point);
        self.gradient.fill(f64::NAN); // an entry that the objective forgets to write is noticed
        self.momentum = Momentum::default();
        self.guard = Guard::default();
        self.layout = Layout::Iterate {
            gradient_norm: None,
        };
    }
}
