//! A damped heavy ball, guarded by FISTA.
//!
//! The ball has a position and a velocity, and feels the gradient a little ahead of where it is:
//!
//! ```math
//! y^k = x^k + \gamma v^k, \qquad v^{k+1} = \beta v^k - \tau\nabla\Phi(y^k), \qquad x^{k+1} = x^k + v^{k+1}.
//! ```
//!
//! With `$\gamma = 0$` this is Polyak's heavy ball, with `$\gamma = \beta$` Nesterov's method. On a
//! quadratic, a mode of curvature `$\ell$` is multiplied in each iteration by the roots of
//! `$z^2 - (1 + \beta - \tau\ell(1 + \gamma))z + \beta - \tau\ell\gamma$`. They are double at
//! `$\ell = \mu$` and at `$\ell = L$`, and so smallest there, for
//!
//! ```math
//! \tau = \frac{4}{(1 + \gamma)^2(\sqrt L + \sqrt\mu)^2}, \qquad
//! 1 - \beta = \frac{4K}{(1 + \gamma)(K + 1)^2}, \qquad K = \sqrt{L/\mu},
//! ```
//!
//! where they are `$1 - \frac{2}{(1+\gamma)(K+1)}$` and
//! `$1 - \frac{2K}{(1+\gamma)(K+1)} \approx -\frac{1-\gamma}{1+\gamma}$`: no mode decays slower
//! than the first of these. Polyak's ball gives all modes the same rate; functions that are not
//! quadratic feed its fast modes as quickly as they decay, and it runs in circles. A `$\gamma$` of
//! a tenth costs a tenth of the rate, and the fast modes are gone after a few iterations.
//!
//! The first iterations are made as if `$K$` were smaller, so that a rough answer is found as early
//! as by FISTA, whose momentum grows as well.
//!
//! In an iteration, `$w = v/\tau$` takes the place of the velocity, which saves operations:
//! `$w^{k+1} = \beta w^k - \nabla\Phi(y^k)$` and
//! `$y^{k+1} = y^k + (1 + \gamma)\tau w^{k+1} - \gamma\tau w^k$`.
//!
//! On functions that are not quadratic nothing of that is proven. So the ball must make the
//! gradient smaller by `$e$` in any `$2K + 10$` iterations (on quadratics, in the long run, it does
//! by more than `$e^3$`). If not, FISTA takes over at rest, for `$K$` iterations, and for twice as
//! many each time that the ball has not made the gradient smaller than ever by `$e$`. So it
//! converges: either the ball makes the gradient smaller by `$e$` again and again, or the stretches
//! of FISTA grow without limit, and each of them contracts with FISTA's rate.

use std::mem::take;

use crate::buffer::Buffer;
use crate::error::SolveError;
use crate::evaluator::{Evaluator, Gradient};
use crate::method::fista::Acceleration;
use crate::objective::StronglyConvex;
use crate::update::Update;

/// `$\gamma$` for large `$K$`.
const DAMPING: f64 = 0.1;
/// The `$j$`-th iteration of a stretch is made as if `$K$` were at most `$\min(1 + j, 8 + j/2)$`.
const RAMP: (f64, f64) = (8.0, 0.5);
/// The ball has so many times `$K$` iterations, and some more, to make the gradient smaller by
/// `$e$`.
const PATIENCE: (f64, f64) = (2.0, 10.0);

/// The memory of [`Method::HeavyBall`](crate::Method::HeavyBall).
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct HeavyBall {
    pub(crate) gradient: Gradient,
    pub(crate) guard: Guard,
    pub(crate) turn: Turn,
}

/// Whose turn it is to iterate.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) enum Turn {
    /// The ball's, with `$w^k$`; the point is `$y^k$`.
    Ball {
        /// `$w^k$`.
        impulse: Buffer,
    },
    /// FISTA's.
    Fista(Acceleration),
}

impl HeavyBall {
    pub(crate) fn step<O: StronglyConvex>(
        &mut self,
        point: &mut Buffer,
        at: &mut Evaluator<'_, O>,
    ) -> Result<f64, SolveError> {
        let lipschitz = at.curvature.lipschitz();
        let root = at.curvature.condition_number().sqrt();
        if let Some(norm) = self.gradient.norm {
            self.guard.begin(norm);
        }
        let (norm, is_over) = match &mut self.turn {
            Turn::Ball { impulse } => {
                let Coefficients { decay, ahead, back } = self.guard.coefficients(lipschitz, root);
                let update = Update::HeavyBall {
                    decay,
                    ahead,
                    back,
                    impulse,
                };
                let norm = at.advance(update, point, &mut self.gradient)?;
                (norm, self.guard.observe_ball(root, norm))
            }
            Turn::Fista(acceleration) => {
                let norm = acceleration.step(point, &mut self.gradient, at)?;
                (norm, self.guard.observe_fista(root, norm))
            }
        };
        if is_over {
            self.turn = match take(&mut self.turn) {
                Turn::Ball { impulse } => Turn::Fista(Acceleration::at_rest(impulse, point)),
                Turn::Fista(Acceleration { previous, .. }) => Turn::ball_at_rest(previous, point),
            };
        }
        Ok(norm)
    }
}

impl Turn {
    /// The ball's turn, at rest, in the memory of `impulse`.
    pub(crate) fn ball_at_rest(mut impulse: Buffer, point: &[f64]) -> Self {
        impulse.assign_zeros(point.len());
        Self::Ball { impulse }
    }

    /// The vector that the iteration remembers besides the point.
    pub(crate) const fn vector(&self) -> &Buffer {
        match self {
            Self::Ball { impulse } => impulse,
            Self::Fista(acceleration) => &acceleration.previous,
        }
    }

    /// The same, to be used otherwise.
    pub(crate) fn into_vector(self) -> Buffer {
        match self {
            Self::Ball { impulse } => impulse,
            Self::Fista(acceleration) => acceleration.previous,
        }
    }

    /// Takes over `other`, in the memory that is there.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        let mut vector = take(self).into_vector();
        vector.assign(other.vector());
        *self = match other {
            Self::Ball { .. } => Self::Ball { impulse: vector },
            Self::Fista(acceleration) => Self::Fista(Acceleration {
                previous: vector,
                momentum: acceleration.momentum,
                is_extrapolated: acceleration.is_extrapolated,
            }),
        };
    }
}

impl Default for Turn {
    fn default() -> Self {
        Self::Ball {
            impulse: Buffer::default(),
        }
    }
}

/// The coefficients of one iteration of the ball, see [`Update::HeavyBall`].
#[derive(Clone, Copy, Debug, PartialEq)]
struct Coefficients {
    decay: f64,
    ahead: f64,
    back: f64,
}

/// `$\tau$`, `$\beta$` and `$\gamma$`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Ball {
    step: f64,
    momentum: f64,
    extrapolation: f64,
}

impl Ball {
    /// The coefficients for `$K$` = `root`.
    fn new(lipschitz: f64, root: f64) -> Self {
        // nothing oscillates where all modes are equal
        let extrapolation = DAMPING * (1.0 - root.recip());
        let damped = 1.0 + extrapolation;
        let share = 2.0 * root / ((root + 1.0) * damped);
        Self {
            step: share * share / lipschitz,
            momentum: 1.0 - 2.0 * share / (root + 1.0),
            extrapolation,
        }
    }

    /// The coefficients after so many iterations, for `$L$` and `$K$` = `root`.
    fn at(iterations: u64, lipschitz: f64, root: f64) -> Self {
        let made = as_f64(iterations);
        let root = root.min(1.0 + made).min(RAMP.0 + RAMP.1 * made);
        Self::new(lipschitz, root)
    }
}

/// How well the ball does, and how long FISTA takes over.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Guard {
    /// Iterations of the current turn.
    iterations: u64,
    /// Iterations since the ball last made the gradient smaller by a factor `$e$`.
    since_progress: u64,
    /// The norm of the gradient at that time; zero before the first turn.
    reference_norm: f64,
    /// The smallest norm at the end of a turn, or at progress of the ball.
    best_norm: f64,
    /// The length of FISTA's next turn, in units of `$K$` iterations.
    fista_factor: f64,
}

impl Default for Guard {
    fn default() -> Self {
        Self {
            iterations: 0,
            since_progress: 0,
            reference_norm: 0.0,
            best_norm: 0.0,
            fista_factor: 1.0,
        }
    }
}

impl Guard {
    /// The coefficients of the ball's next iteration.
    fn coefficients(&self, lipschitz: f64, root: f64) -> Coefficients {
        let Ball {
            step,
            momentum,
            extrapolation,
        } = Ball::at(self.iterations, lipschitz, root);
        // the velocity is the same, whatever it was measured in before
        let before = Ball::at(self.iterations.saturating_sub(1), lipschitz, root);
        Coefficients {
            decay: momentum * before.step / step,
            ahead: (1.0 + extrapolation) * step,
            back: before.extrapolation * before.step,
        }
    }

    /// Takes note of the gradient before the first iteration.
    fn begin(&mut self, norm: f64) {
        if !(self.reference_norm > 0.0) {
            (self.reference_norm, self.best_norm) = (norm, norm);
        }
    }

    /// Takes note of the gradient after an iteration of FISTA, and returns whether its turn is
    /// over.
    fn observe_fista(&mut self, root: f64, norm: f64) -> bool {
        self.iterations += 1;
        let is_over = as_f64(self.iterations) >= self.fista_factor * root;
        if is_over {
            self.fista_factor *= 2.0;
            self.best_norm = self.best_norm.min(norm);
            self.begin_turn(norm);
        }
        is_over
    }

    /// Takes note of the gradient after an iteration of the ball, and returns whether its turn is
    /// over.
    fn observe_ball(&mut self, root: f64, norm: f64) -> bool {
        self.iterations += 1;
        self.since_progress += 1;
        if norm <= self.reference_norm / std::f64::consts::E {
            (self.reference_norm, self.since_progress) = (norm, 0);
            if norm <= self.best_norm / std::f64::consts::E {
                (self.best_norm, self.fista_factor) = (norm, 1.0);
            }
        }
        let patience = PATIENCE.0 * root + PATIENCE.1;
        let is_over = !(as_f64(self.since_progress) <= patience);
        if is_over {
            self.begin_turn(norm);
        }
        is_over
    }

    const fn begin_turn(&mut self, norm: f64) {
        (self.iterations, self.since_progress, self.reference_norm) = (0, 0, norm);
    }
}

const fn as_f64(n: u64) -> f64 {
    n as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    /// The larger modulus of the two roots for a mode of curvature `l`.
    fn radius(ball: Ball, l: f64) -> f64 {
        let Ball {
            step,
            momentum,
            extrapolation,
        } = ball;
        let half = 0.5 * (1.0 + momentum - step * l * (1.0 + extrapolation));
        let product = momentum - step * l * extrapolation;
        let discriminant = half * half - product;
        if discriminant < 0.0 {
            product.sqrt()
        } else {
            half.abs() + discriminant.sqrt()
        }
    }

    #[test]
    fn no_mode_of_a_quadratic_decays_slower_than_promised() {
        for root in [1.0, 1.5, 9.0, 28.0, 300.0] {
            let ball = Ball::new(3.0, root);
            let damped = 1.0 + ball.extrapolation;
            let (slow, fast) = (
                1.0 - 2.0 / (damped * (root + 1.0)),
                (1.0 - 2.0 * root / (damped * (root + 1.0))).abs(),
            );
            let mu = 3.0 / (root * root);
            // a double root: its computed halves differ by the root of rounding
            assert_relative_eq!(radius(ball, mu), slow, epsilon = 1e-6);
            assert_relative_eq!(radius(ball, 3.0), fast, epsilon = 1e-6);
            for i in 0..=1000 {
                let l = mu * (root * root).powf(f64::from(i) / 1000.0);
                assert!(radius(ball, l) <= slow + 1e-6, "{root} {l}");
            }
        }
        assert!(Ball::new(1.0, 28.0).extrapolation > 0.09);
    }

    #[test]
    fn momentum_grows_until_it_is_that_of_the_function() {
        let (lipschitz, root) = (400.0, 20.0);
        let mut last = Ball::at(0, lipschitz, root);
        assert_relative_eq!(last.step, 1.0 / 400.0);
        assert!(last.momentum.abs() < 1e-15 && last.extrapolation.abs() < 1e-15);
        for made in 1..=30 {
            let next = Ball::at(made, lipschitz, root);
            let is_full = next == Ball::new(400.0, 20.0);
            assert!(next.momentum > last.momentum || is_full, "{made}");
            assert_eq!(is_full, made >= 24);
            last = next;
        }
    }

    /// The iteration, with `$w$` in place of the velocity, while its coefficients change.
    #[test]
    fn the_impulse_is_the_velocity_in_other_units() {
        let (lipschitz, root) = (400.0, 20.0);
        let mut guard = Guard::default();
        let (mut x, mut velocity) = (1.0, 0.0);
        let (mut y, mut w) = (1.0, 0.0);
        for made in 0..40 {
            guard.iterations = made;
            let gradient = f64::from(u8::try_from(made * 7 % 5).unwrap()) - 1.7;
            let ball = Ball::at(made, lipschitz, root);
            velocity = ball.momentum * velocity - ball.step * gradient;
            x += velocity;
            let Coefficients { decay, ahead, back } = guard.coefficients(lipschitz, root);
            let next = decay * w - gradient;
            y += ahead * next - back * w;
            w = next;
            assert_relative_eq!(ball.step * w, velocity, max_relative = 1e-12);
            assert_relative_eq!(y, x + ball.extrapolation * velocity, max_relative = 1e-12);
        }
    }

    /// How long the two take turns where the gradient stays as it is.
    #[test]
    fn a_ball_in_vain_gives_way_to_fista_for_longer_and_longer() {
        let root = 10.0;
        let mut guard = Guard::default();
        guard.begin(1.0);
        let (mut is_ball, mut stretches) = (true, Vec::new());
        for norm in [1.0; 200] {
            let iterations = guard.iterations + 1;
            let is_over = if is_ball {
                guard.observe_ball(root, norm)
            } else {
                guard.observe_fista(root, norm)
            };
            if is_over {
                stretches.push((is_ball, iterations));
                is_ball = !is_ball;
            }
        }
        let expected = [(true, 31), (false, 10), (true, 31), (false, 20), (true, 31)];
        assert_eq!(stretches[..5], expected);
    }

    #[test]
    fn a_ball_that_rolls_keeps_its_turn_and_is_forgiven() {
        let root = 10.0;
        let mut guard = Guard::default();
        guard.begin(1.0);
        let mut norm = 1.0;
        for _ in 0..500 {
            norm *= (-1.0 / 29.0_f64).exp();
            assert!(!guard.observe_ball(root, norm));
        }
        // After that, a vain stretch does not count as the second one.
        guard.fista_factor = 8.0;
        assert!(!guard.observe_ball(root, norm / 10.0));
        assert_relative_eq!(guard.fista_factor, 1.0);
        // One that is not a number is in vain.
        let turns = (0..40).filter(|_| guard.observe_ball(root, f64::NAN));
        assert_eq!(turns.count(), 1);
    }
}
