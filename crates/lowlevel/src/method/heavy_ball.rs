//! A damped heavy ball, guarded by FISTA.
//!
//! The ball has a position `$x^k$` and a velocity `$v^k$`. The gradient is evaluated a little ahead
//! of the position:
//!
//! ```math
//! y^k = x^k + \gamma v^k, \qquad v^{k+1} = \beta v^k - \tau\nabla\Phi(y^k), \qquad x^{k+1} = x^k + v^{k+1}.
//! ```
//!
//! With `$\gamma = 0$` this is Polyak's heavy ball, with `$\gamma = \beta$` Nesterov's method. On a
//! quadratic, each iteration multiplies a mode of curvature `$\ell$` by the roots of
//! `$z^2 - (1 + \beta - \tau\ell(1 + \gamma))z + \beta - \tau\ell\gamma$`. The following choice
//! makes the roots at `$\ell = \mu$` and at `$\ell = L$` double, and therefore as small as
//! possible:
//!
//! ```math
//! \tau = \frac{4}{(1 + \gamma)^2(\sqrt L + \sqrt\mu)^2}, \qquad
//! 1 - \beta = \frac{4K}{(1 + \gamma)(K + 1)^2}, \qquad K = \sqrt{L/\mu}.
//! ```
//!
//! The double roots are then `$1 - \frac{2}{(1+\gamma)(K+1)}$` at `$\mu$` and
//! `$1 - \frac{2K}{(1+\gamma)(K+1)} \approx -\frac{1-\gamma}{1+\gamma}$` at `$L$`, and no mode
//! decays more slowly than the one at `$\mu$`. Polyak's ball gives all modes the same rate. On
//! functions that are not quadratic, the slow modes excite the fast ones as quickly as these decay,
//! and the iteration can cycle. With `$\gamma = 0.1$` the rate is a tenth smaller, but the fast
//! modes vanish after a few iterations.
//!
//! **Start.** The first iterations use a smaller `$K$`, so that a rough answer is found as early as
//! with FISTA, whose momentum grows as well.
//!
//! **Implementation.** An iteration uses the impulse `$w = v/\tau$` instead of the velocity, which
//! saves operations: `$w^{k+1} = \beta w^k - \nabla\Phi(y^k)$` and
//! `$y^{k+1} = y^k + (1 + \gamma)\tau w^{k+1} - \gamma\tau w^k$`.
//!
//! **Guard.** None of this is proved for functions that are not quadratic. So the two methods take
//! turns. The ball's turn ends if the norm of the gradient does not fall by a factor `$e$` within
//! `$2K + 10$` iterations (on quadratics it falls by more than `$e^3$` in the long run). FISTA then
//! starts without momentum, for `$K$` iterations in its first turn and for twice as many in each
//! later one; its turns start again at `$K$` iterations once the ball has made the gradient smaller
//! than ever by a factor `$e$`. This converges: either the ball makes the gradient smaller by a
//! factor `$e$` again and again, or FISTA's turns grow without limit, and each of them contracts
//! with FISTA's rate.

use std::mem::take;

use crate::buffer::Buffer;
use crate::error::SolveError;
use crate::evaluator::{Evaluator, Gradient};
use crate::method::fista::Acceleration;
use crate::objective::StronglyConvex;
use crate::update::Update;

/// The value of `$\gamma$` for large `$K$`: the ball then converges up to `$L/\mu = 10^5$` without
/// FISTA (measured on images, see decision 14).
const DAMPING: f64 = 0.1;
/// Iteration `$j$` of a turn uses a `$K$` of at most `$\min(1 + j, 8 + j/2)$`. This is the 8. The
/// measurements of decision 14 were made with these values.
const RAMP_OFFSET: f64 = 8.0;
/// The slope 1/2 of the same bound on `$K$`.
const RAMP_SLOPE: f64 = 0.5;
/// The gradient must fall by a factor `$e$` within `$2K + 10$` iterations of the ball. This is the
/// 2. In 2 % of the cases of decision 14 the gradient needed more iterations.
const PATIENCE_FACTOR: f64 = 2.0;
/// The 10 of the same number of iterations.
const PATIENCE_OFFSET: f64 = 10.0;

/// The memory of [`Method::HeavyBall`](crate::Method::HeavyBall).
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct HeavyBall {
    pub(crate) gradient: Gradient,
    pub(crate) guard: BallGuard,
    pub(crate) turn: Turn,
}

/// The method whose turn it is to iterate.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) enum Turn {
    /// The heavy ball; the point of the state is `$y^k$`.
    Ball {
        /// The impulse `$w^k$`.
        impulse: Buffer,
    },
    /// FISTA.
    Fista(Acceleration),
}

impl HeavyBall {
    /// Makes one iteration, and returns the norm of the gradient at its end.
    pub(crate) fn step<O: StronglyConvex>(
        &mut self,
        point: &mut Buffer,
        evaluator: &mut Evaluator<'_, O>,
    ) -> Result<f64, SolveError> {
        let lipschitz = evaluator.curvature.lipschitz();
        let sqrt_condition = evaluator.curvature.typical_condition_number().sqrt();
        if let Some(norm) = self.gradient.norm {
            self.guard.begin(norm);
        }
        let (norm, is_over) = match &mut self.turn {
            Turn::Ball { impulse } => {
                let UpdateCoefficients { decay, ahead, back } =
                    self.guard.coefficients(lipschitz, sqrt_condition);
                let update = Update::HeavyBall {
                    decay,
                    ahead,
                    back,
                    impulse,
                };
                let norm = evaluator.advance(update, point, &mut self.gradient)?;
                (norm, self.guard.observe_ball(sqrt_condition, norm))
            }
            Turn::Fista(acceleration) => {
                let norm = acceleration.step(point, &mut self.gradient, evaluator)?;
                (norm, self.guard.observe_fista(sqrt_condition, norm))
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
    /// Starts the ball's turn without velocity, reusing the memory of `impulse`.
    pub(crate) fn ball_at_rest(mut impulse: Buffer, point: &[f64]) -> Self {
        impulse.assign_zeros(point.len());
        Self::Ball { impulse }
    }

    /// The vector that the iteration needs besides the point.
    pub(crate) const fn vector(&self) -> &Buffer {
        match self {
            Self::Ball { impulse } => impulse,
            Self::Fista(acceleration) => &acceleration.previous,
        }
    }

    /// The same vector, to be reused.
    pub(crate) fn into_vector(self) -> Buffer {
        match self {
            Self::Ball { impulse } => impulse,
            Self::Fista(acceleration) => acceleration.previous,
        }
    }

    /// Copies `other` into this memory.
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

/// The coefficients of [`Update::HeavyBall`] for one iteration.
#[derive(Clone, Copy, Debug, PartialEq)]
struct UpdateCoefficients {
    decay: f64,
    ahead: f64,
    back: f64,
}

/// The parameters `$\tau$` (`step`), `$\beta$` (`momentum`) and `$\gamma$` (`extrapolation`).
#[derive(Clone, Copy, Debug, PartialEq)]
struct BallParameters {
    step: f64,
    momentum: f64,
    extrapolation: f64,
}

impl BallParameters {
    /// The parameters for `$K$` = `sqrt_condition`.
    fn new(lipschitz: f64, sqrt_condition: f64) -> Self {
        // Where all modes are equal, nothing oscillates, and no damping is needed.
        let extrapolation = DAMPING * (1.0 - sqrt_condition.recip());
        let damped = 1.0 + extrapolation;
        let share = 2.0 * sqrt_condition / ((sqrt_condition + 1.0) * damped);
        Self {
            step: share * share / lipschitz,
            momentum: 1.0 - 2.0 * share / (sqrt_condition + 1.0),
            extrapolation,
        }
    }

    /// The parameters after `iterations` iterations of a turn, for `$K$` = `sqrt_condition`.
    fn at(iterations: u64, lipschitz: f64, sqrt_condition: f64) -> Self {
        let made = as_f64(iterations);
        let sqrt_condition = sqrt_condition
            .min(1.0 + made)
            .min(RAMP_OFFSET + RAMP_SLOPE * made);
        Self::new(lipschitz, sqrt_condition)
    }
}

/// The rules that decide how long the turns of the ball and of FISTA are.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct BallGuard {
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

impl Default for BallGuard {
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

impl BallGuard {
    /// The coefficients of the ball's next iteration.
    fn coefficients(&self, lipschitz: f64, sqrt_condition: f64) -> UpdateCoefficients {
        let BallParameters {
            step,
            momentum,
            extrapolation,
        } = BallParameters::at(self.iterations, lipschitz, sqrt_condition);
        // The impulse was scaled with the step length of the iteration before.
        let before =
            BallParameters::at(self.iterations.saturating_sub(1), lipschitz, sqrt_condition);
        UpdateCoefficients {
            decay: momentum * before.step / step,
            ahead: (1.0 + extrapolation) * step,
            back: before.extrapolation * before.step,
        }
    }

    /// Records the gradient before the first iteration.
    fn begin(&mut self, norm: f64) {
        if !(self.reference_norm > 0.0) {
            (self.reference_norm, self.best_norm) = (norm, norm);
        }
    }

    /// Records the gradient after an iteration of FISTA, and returns whether its turn is over.
    fn observe_fista(&mut self, sqrt_condition: f64, norm: f64) -> bool {
        self.iterations += 1;
        let is_over = as_f64(self.iterations) >= self.fista_factor * sqrt_condition;
        if is_over {
            self.fista_factor *= 2.0;
            self.best_norm = self.best_norm.min(norm);
            self.begin_turn(norm);
        }
        is_over
    }

    /// Records the gradient after an iteration of the ball, and returns whether its turn is over.
    fn observe_ball(&mut self, sqrt_condition: f64, norm: f64) -> bool {
        self.iterations += 1;
        self.since_progress += 1;
        if norm <= self.reference_norm / std::f64::consts::E {
            (self.reference_norm, self.since_progress) = (norm, 0);
            if norm <= self.best_norm / std::f64::consts::E {
                (self.best_norm, self.fista_factor) = (norm, 1.0);
            }
        }
        let patience = PATIENCE_FACTOR * sqrt_condition + PATIENCE_OFFSET;
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
    use crate::{Curvature, ErrorBound, FnObjective, Method, Solver, State, Stop, norm};
    use approx::assert_relative_eq;

    /// The larger modulus of the two roots for a mode of curvature `l`.
    fn radius(ball: BallParameters, l: f64) -> f64 {
        let BallParameters {
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
        for sqrt_condition in [1.0, 1.5, 9.0, 28.0, 300.0] {
            let ball = BallParameters::new(3.0, sqrt_condition);
            let damped = 1.0 + ball.extrapolation;
            let (slow, fast) = (
                1.0 - 2.0 / (damped * (sqrt_condition + 1.0)),
                (1.0 - 2.0 * sqrt_condition / (damped * (sqrt_condition + 1.0))).abs(),
            );
            let mu = 3.0 / (sqrt_condition * sqrt_condition);
            // The two computed halves of a double root differ by the square root of rounding.
            assert_relative_eq!(radius(ball, mu), slow, epsilon = 1e-6);
            assert_relative_eq!(radius(ball, 3.0), fast, epsilon = 1e-6);
            for i in 0..=1000 {
                let l = mu * (sqrt_condition * sqrt_condition).powf(f64::from(i) / 1000.0);
                assert!(radius(ball, l) <= slow + 1e-6, "{sqrt_condition} {l}");
            }
        }
        assert!(BallParameters::new(1.0, 28.0).extrapolation > 0.09);
    }

    #[test]
    fn momentum_grows_until_it_is_that_of_the_function() {
        let (lipschitz, sqrt_condition) = (400.0, 20.0);
        let mut last = BallParameters::at(0, lipschitz, sqrt_condition);
        assert_relative_eq!(last.step, 1.0 / 400.0);
        assert!(last.momentum.abs() < 1e-15 && last.extrapolation.abs() < 1e-15);
        for made in 1..=30 {
            let next = BallParameters::at(made, lipschitz, sqrt_condition);
            let is_full = next == BallParameters::new(400.0, 20.0);
            assert!(next.momentum > last.momentum || is_full, "{made}");
            assert_eq!(is_full, made >= 24);
            last = next;
        }
    }

    /// The iteration with `$w$` is the one with the velocity, also while its coefficients change.
    #[test]
    fn the_impulse_is_the_velocity_in_other_units() {
        let (lipschitz, sqrt_condition) = (400.0, 20.0);
        let mut guard = BallGuard::default();
        let (mut x, mut velocity) = (1.0, 0.0);
        let (mut y, mut w) = (1.0, 0.0);
        for made in 0..40 {
            guard.iterations = made;
            let gradient = f64::from(u8::try_from(made * 7 % 5).unwrap()) - 1.7;
            let ball = BallParameters::at(made, lipschitz, sqrt_condition);
            velocity = ball.momentum * velocity - ball.step * gradient;
            x += velocity;
            let UpdateCoefficients { decay, ahead, back } =
                guard.coefficients(lipschitz, sqrt_condition);
            let next = decay * w - gradient;
            y += ahead * next - back * w;
            w = next;
            assert_relative_eq!(ball.step * w, velocity, max_relative = 1e-12);
            assert_relative_eq!(y, x + ball.extrapolation * velocity, max_relative = 1e-12);
        }
    }

    #[test]
    fn a_typical_curvature_saves_iterations_and_a_wrong_one_does_no_harm() {
        let eigenvalues: Vec<f64> = (0..40)
            .map(|j| 4.0 * 100_f64.powf(f64::from(j) / 39.0))
            .collect();
        let iterations = |typical: f64| {
            let curvature = Curvature::new(0.1, 400.0).unwrap().with_typical(typical);
            let value = |x: &[f64]| {
                x.iter()
                    .zip(&eigenvalues)
                    .map(|(x, l)| 0.5 * l * x * x)
                    .sum()
            };
            let objective = FnObjective::new(40, curvature, value, |x, gradient| {
                for ((gradient, x), l) in gradient.iter_mut().zip(x).zip(&eigenvalues) {
                    *gradient = l * x;
                }
            });
            let solver = Solver {
                method: Method::HeavyBall,
                ..Solver::default()
            };
            let mut state = State::new(vec![1.0; 40]);
            let stop = Stop::accuracy(ErrorBound::new(1e-6).unwrap());
            let solved = solver
                .minimize(&objective, stop, &mut state, &mut ())
                .unwrap();
            assert!(norm(state.point()) <= solved.error.value());
            assert!(solved.error.value() <= 1e-6);
            solved.iterations
        };
        let [proved, typical] = [f64::NAN, 4.0].map(iterations);
        assert!(2 * typical < proved, "{typical} {proved}");
        for wrong in [40.0, 400.0, f64::INFINITY] {
            iterations(wrong);
        }
    }

    /// The lengths of the turns if the gradient never becomes smaller.
    #[test]
    fn without_progress_the_turns_of_fista_double() {
        let sqrt_condition = 10.0;
        let mut guard = BallGuard::default();
        guard.begin(1.0);
        let (mut is_ball, mut turns) = (true, Vec::new());
        for norm in [1.0; 200] {
            let iterations = guard.iterations + 1;
            let is_over = if is_ball {
                guard.observe_ball(sqrt_condition, norm)
            } else {
                guard.observe_fista(sqrt_condition, norm)
            };
            if is_over {
                turns.push((is_ball, iterations));
                is_ball = !is_ball;
            }
        }
        let expected = [(true, 31), (false, 10), (true, 31), (false, 20), (true, 31)];
        assert_eq!(turns[..5], expected);
    }

    #[test]
    fn a_ball_that_makes_progress_keeps_its_turn() {
        let sqrt_condition = 10.0;
        let mut guard = BallGuard::default();
        guard.begin(1.0);
        let mut norm = 1.0;
        for _ in 0..500 {
            norm *= (-1.0 / 29.0_f64).exp();
            assert!(!guard.observe_ball(sqrt_condition, norm));
        }
        // A new smallest gradient resets the length of FISTA's turns.
        guard.fista_factor = 8.0;
        assert!(!guard.observe_ball(sqrt_condition, norm / 10.0));
        assert_relative_eq!(guard.fista_factor, 1.0);
        // A norm that is not a number is no progress.
        let turns = (0..40).filter(|_| guard.observe_ball(sqrt_condition, f64::NAN));
        assert_eq!(turns.count(), 1);
    }
}
