//! The memory of an iteration between two steps: one variant for each method.

use std::mem::take;

use crate::buffer::Buffer;
use crate::domain::Domain;
use crate::evaluator::Gradient;
use crate::method::descent::Descent;
use crate::method::fista::{Acceleration, Fista};
use crate::method::heavy_ball::{BallGuard, HeavyBall, Turn};
use crate::method::newton::Newton;
use crate::method::projected::Projected;
use crate::method::{Certify, Method};

/// The memory of the method that a state was last used with.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) enum Memory {
    /// No method has iterated yet.
    #[default]
    Empty,
    Descent(Descent),
    Fista(Fista),
    HeavyBall(HeavyBall),
    Newton(Newton),
    Projected(Projected),
}

impl Memory {
    /// Whether `method` over `domain` continues with the same iterates as the method that this
    /// memory belongs to.
    pub(crate) fn fits(&self, method: Method, domain: Domain<'_>) -> bool {
        match (self, method) {
            (Self::Projected(memory), _) if !domain.is_whole() => {
                memory.descent == Projected::descent_of(method)
            }
            _ if !domain.is_whole() => false,
            (Self::Descent(memory), Method::GradientDescent { step }) => memory.step == step,
            (Self::Fista(memory), Method::Fista { certify }) => {
                certify == Certify::Extrapolated || !memory.acceleration.is_extrapolated
            }
            (Self::HeavyBall(_), Method::HeavyBall) | (Self::Newton(_), Method::Newton) => true,
            _ => false,
        }
    }

    /// Starts `method` without momentum at `point`, reusing the vectors if they are of the same
    /// variant.
    pub(crate) fn begin(&mut self, method: Method, domain: Domain<'_>, point: &[f64]) {
        if !domain.is_whole() {
            let (previous, workspace) = match take(self) {
                Self::Projected(memory) => memory.into_vectors(),
                _ => (second_vector(), Buffer::default()),
            };
            let descent = Projected::descent_of(method);
            *self = Self::Projected(Projected::at_rest(descent, previous, workspace, point));
            return;
        }
        *self = match (take(self), method) {
            (Self::Descent(memory), Method::GradientDescent { step }) => Self::Descent(Descent {
                step,
                gradient: memory.gradient,
            }),
            (_, Method::GradientDescent { step }) => Self::Descent(Descent {
                step,
                gradient: Gradient::unknown(),
            }),
            (Self::Fista(memory), Method::Fista { .. }) => Self::Fista(memory),
            (_, Method::Fista { .. }) => Self::Fista(Fista {
                gradient: Gradient::unknown(),
                acceleration: Acceleration::at_rest(second_vector(), &[]),
            }),
            (Self::Newton(memory), Method::Newton) => Self::Newton(memory),
            (_, Method::Newton) => Self::Newton(Newton::new(Gradient::unknown())),
            (Self::HeavyBall(memory), _) => Self::HeavyBall(memory),
            (_, Method::HeavyBall | Method::Auto) => Self::HeavyBall(HeavyBall {
                gradient: Gradient::unknown(),
                guard: BallGuard::default(),
                turn: Turn::ball_at_rest(second_vector(), &[]),
            }),
        };
        if let Some(gradient) = self.gradient_mut() {
            gradient.clear(point.len());
        }
        self.forget_momentum(point);
    }

    /// Resets the momentum, so that the iteration starts afresh at `point`.
    pub(crate) fn forget_momentum(&mut self, point: &[f64]) {
        match self {
            Self::Fista(memory) => {
                let previous = take(&mut memory.acceleration.previous);
                memory.acceleration = Acceleration::at_rest(previous, point);
            }
            Self::HeavyBall(memory) => {
                let vector = take(&mut memory.turn).into_vector();
                memory.guard = BallGuard::default();
                memory.turn = Turn::ball_at_rest(vector, point);
            }
            Self::Empty | Self::Descent(_) | Self::Newton(_) | Self::Projected(_) => {}
        }
    }

    /// The gradient at the point of the state, over the whole space.
    pub(crate) const fn gradient(&self) -> Option<&Gradient> {
        match self {
            Self::Descent(Descent { gradient, .. })
            | Self::Fista(Fista { gradient, .. })
            | Self::HeavyBall(HeavyBall { gradient, .. })
            | Self::Newton(Newton { gradient, .. }) => Some(gradient),
            Self::Empty | Self::Projected(_) => None,
        }
    }

    /// The gradient at the point of the state, to be changed.
    pub(crate) const fn gradient_mut(&mut self) -> Option<&mut Gradient> {
        match self {
            Self::Descent(Descent { gradient, .. })
            | Self::Fista(Fista { gradient, .. })
            | Self::HeavyBall(HeavyBall { gradient, .. })
            | Self::Newton(Newton { gradient, .. }) => Some(gradient),
            Self::Empty | Self::Projected(_) => None,
        }
    }

    /// The vector that the next iteration depends on besides the point and its gradient.
    pub(crate) const fn second_vector(&self) -> Option<&Buffer> {
        match self {
            Self::Fista(memory) => Some(&memory.acceleration.previous),
            Self::HeavyBall(memory) => Some(memory.turn.vector()),
            Self::Projected(memory) => Some(&memory.previous),
            Self::Empty | Self::Descent(_) | Self::Newton(_) => None,
        }
    }

    /// A copy without the gradient and without working memory.
    pub(crate) fn without_gradient(&self) -> Self {
        let gradient = Gradient::unknown();
        match self {
            Self::Empty => Self::Empty,
            Self::Descent(memory) => Self::Descent(Descent {
                step: memory.step,
                gradient,
            }),
            Self::Fista(memory) => Self::Fista(Fista {
                gradient,
                acceleration: memory.acceleration.clone(),
            }),
            Self::HeavyBall(memory) => Self::HeavyBall(HeavyBall {
                gradient,
                guard: memory.guard,
                turn: memory.turn.clone(),
            }),
            Self::Newton(_) => Self::Newton(Newton::new(gradient)),
            Self::Projected(memory) => Self::Projected(memory.saved()),
        }
    }

    /// Copies `other`, for points of length `dim`, reusing the vectors if they are of the same
    /// variant.
    pub(crate) fn copy_from(&mut self, other: &Self, dim: usize) {
        match (&mut *self, other) {
            (Self::Descent(own), Self::Descent(other)) => own.step = other.step,
            (Self::Fista(own), Self::Fista(other)) => {
                let mut previous = take(&mut own.acceleration.previous);
                previous.assign(&other.acceleration.previous);
                own.acceleration = Acceleration {
                    previous,
                    momentum: other.acceleration.momentum,
                    is_extrapolated: other.acceleration.is_extrapolated,
                };
            }
            (Self::HeavyBall(own), Self::HeavyBall(other)) => {
                own.guard = other.guard;
                own.turn.copy_from(&other.turn);
            }
            (Self::Newton(_), Self::Newton(_)) => {}
            (Self::Projected(own), Self::Projected(other)) => own.copy_from(other),
            (own, other) => *own = other.clone(),
        }
        if let (Some(own), Some(other)) = (self.gradient_mut(), other.gradient()) {
            own.copy_from(other, dim);
        }
    }
}

/// An empty vector for the memory of an iteration.
fn second_vector() -> Buffer {
    Buffer::filled(0, 0.0, Buffer::SECOND)
}
