//! Heavy ball, guarded by FISTA.
//!
//! On a quadratic, Polyak's heavy ball
//! `$x^{k+1} = x^k - \tau\nabla\Phi(x^k) + \beta(x^k - x^{k-1})$` with
//!
//! ```math
//! \tau = \frac{4}{(\sqrt L + \sqrt\mu)^2}, \qquad \beta = \Bigl(\frac{K - 1}{K + 1}\Bigr)^2, \qquad K = \sqrt{L/\mu},
//! ```
//!
//! makes the gradient smaller by `$e^{-\lambda}$`, `$\lambda = \ln\frac{K+1}{K-1} \approx 2/K$`, in each iteration: twice the exponent of FISTA, and no
//! method that only sees gradients does better. On other functions it may run in circles. So it must show that it keeps at least
//! half of its rate, which is FISTA's, or FISTA takes over:
//!
//! - a solve begins with FISTA, which is faster while the error is in many modes at once, and goes over to the heavy ball, with the
//!   velocity it has, when the gradient no longer falls faster than the ball promises;
//! - the ball goes on as long as `$\|\nabla\Phi\| \le e^{-\frac\lambda2(j - K/2)}\|\nabla\Phi^0\|$` after `$j$` iterations;
//! - then FISTA begins again at rest, for at least `$K$` iterations, and twice as many each time that the ball did not make the gradient
//!   smaller by `$e$`.
//!
//! So it converges: either the ball makes the gradient smaller by `$e$` again and again, or the stretches of FISTA grow without limit, and
//! each of them contracts with FISTA's rate.

use crate::objective::Curvature;

/// FISTA hands over when its gradient falls no faster than the ball's in the last stretch, and than this multiple of it since it began.
const HEAD_START: f64 = 1.5;
/// What the ball must keep of its rate.
const KEPT: f64 = 0.5;
/// It may begin so many `$K$` iterations late.
const DELAY: f64 = 0.5;
/// Below this `$K$` there is nothing to gain,
const MIN_ROOT: f64 = 1.2;
/// and above this one the ball seldom keeps its rate on functions like the total variation.
const MAX_ROOT: f64 = 50.0;
/// FISTA makes at least so many times `$K$` iterations before it first hands over.
const FIRST_WINDOW: f64 = 0.5;

/// Which of the two iterates, and how well it does.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Guard {
    pub(crate) is_rolling: bool,
    /// Iterations of this stretch,
    made: u64,
    /// and the gradient where it began; zero before the first.
    start_norm: f64,
    /// The gradient at the last check of FISTA, and when it was made,
    mark: (u64, f64),
    /// and when the next one is due.
    check: u64,
    /// FISTA makes at least so many times `$K$` iterations.
    window: f64,
    /// The smallest gradient that the ball is credited with.
    level: f64,
}

/// Who takes over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    None,
    /// The ball, with the velocity of FISTA.
    Roll,
    /// FISTA, from rest.
    Accelerate,
}

impl Default for Guard {
    fn default() -> Self {
        Self {
            is_rolling: false,
            made: 0,
            start_norm: 0.0,
            mark: (0, 0.0),
            check: 0,
            window: FIRST_WINDOW,
            level: 0.0,
        }
    }
}

/// `$\tau$` and `$\beta$`.
pub(crate) fn coefficients(curvature: Curvature) -> (f64, f64) {
    let (l, mu) = (
        curvature.lipschitz().sqrt(),
        curvature.strong_convexity().sqrt(),
    );
    let (step, root) = (2.0 / (l + mu), (l - mu) / (l + mu));
    (step * step, root * root)
}

impl Guard {
    /// Takes note of the gradient before the first iteration.
    pub(crate) fn begin(&mut self, curvature: Curvature, norm: f64) {
        if !(self.start_norm > 0.0) {
            self.level = norm;
            self.accelerate(curvature, norm);
        }
    }

    /// Takes note of the gradient after an iteration, and says who makes the next one.
    pub(crate) fn observe(&mut self, curvature: Curvature, norm: f64) -> Change {
        self.made += 1;
        let root = curvature.condition_number().sqrt();
        if !(MIN_ROOT..=MAX_ROOT).contains(&root) {
            return Change::None;
        }
        let rate = ((root + 1.0) / (root - 1.0)).ln();
        if self.is_rolling {
            let late = as_f64(self.made) - DELAY * root;
            if (norm / self.start_norm).ln() <= -KEPT * rate * late {
                return Change::None;
            }
            let is_credited =
                as_f64(self.made) > 2.0 * root && norm <= self.level / std::f64::consts::E;
            if is_credited {
                self.level = norm;
            }
            self.window = if is_credited {
                1.0
            } else {
                (2.0 * self.window).max(1.0)
            };
            self.accelerate(curvature, norm);
            return Change::Accelerate;
        }
        if self.made < self.check {
            return Change::None;
        }
        let since_mark = (self.mark.1 / norm).ln() / as_f64(self.made - self.mark.0);
        let since_start = (self.start_norm / norm).ln() / as_f64(self.made);
        if since_mark <= rate && since_start <= HEAD_START * rate {
            (self.is_rolling, self.made, self.start_norm) = (true, 0, norm);
            return Change::Roll;
        }
        self.mark = (self.made, norm);
        let next = (1.5 * as_f64(self.made)).min(as_f64(self.made) + 0.5 * root);
        self.check = ceil(next).max(self.made + 2);
        Change::None
    }

    /// FISTA begins.
    fn accelerate(&mut self, curvature: Curvature, norm: f64) {
        let root = curvature.condition_number().sqrt();
        (self.is_rolling, self.made, self.start_norm) = (false, 0, norm);
        self.mark = (0, norm);
        self.check = ceil(self.window * root).max(4);
    }
}

#[expect(clippy::cast_precision_loss, reason = "a relative error of 2^-53")]
const fn as_f64(n: u64) -> f64 {
    n as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rounded up, positive, and `as` saturates"
)]
fn ceil(x: f64) -> u64 {
    x.ceil() as u64
}
