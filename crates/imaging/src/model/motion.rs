//! How a kernel moves the point at which it takes the gradient, sample by sample: [`lowlevel::Update`] as functions of numbers,
//! which the compiler can put into one loop with the rest of the kernel.

use std::ops::Range;

/// How one sample moves.
pub(super) trait Motion: Copy {
    /// Whether it does.
    const MOVES: bool;
    /// Whether that depends on a second number per sample, which changes too.
    const REMEMBERS: bool;

    /// Where the sample goes, and the second number.
    fn moved(self, point: f64, gradient: f64, old: f64) -> (f64, f64);

    /// Moves the samples `at`; `points` and `old` are empty where they are not needed.
    #[inline(always)]
    fn settle(self, points: &mut [f64], gradient: &[f64], old: &mut [f64], at: Range<usize>) {
        if !Self::MOVES {
            return;
        }
        let (points, gradient) = (&mut points[at.clone()], &gradient[at.clone()]);
        if Self::REMEMBERS {
            let moving = points.iter_mut().zip(gradient).zip(&mut old[at]);
            for ((point, gradient), old) in moving {
                (*point, *old) = self.moved(*point, *gradient, *old);
            }
        } else {
            for (point, gradient) in points.iter_mut().zip(gradient) {
                *point = self.moved(*point, *gradient, 0.0).0;
            }
        }
    }
}

/// No motion.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rest;

impl Motion for Rest {
    const MOVES: bool = false;
    const REMEMBERS: bool = false;

    #[inline(always)]
    fn moved(self, point: f64, _gradient: f64, old: f64) -> (f64, f64) {
        (point, old)
    }
}

/// [`Update::Descent`](lowlevel::Update::Descent).
#[derive(Clone, Copy, Debug)]
pub(super) struct Descent {
    pub(super) step: f64,
}

impl Motion for Descent {
    const MOVES: bool = true;
    const REMEMBERS: bool = false;

    #[inline(always)]
    fn moved(self, point: f64, gradient: f64, old: f64) -> (f64, f64) {
        (point - self.step * gradient, old)
    }
}

/// [`Update::Accelerated`](lowlevel::Update::Accelerated); the second number is the iterate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Accelerated {
    pub(super) step: f64,
    pub(super) extrapolation: f64,
}

impl Motion for Accelerated {
    const MOVES: bool = true;
    const REMEMBERS: bool = true;

    #[inline(always)]
    fn moved(self, point: f64, gradient: f64, old: f64) -> (f64, f64) {
        let next = point - self.step * gradient;
        (next + self.extrapolation * (next - old), next)
    }
}

/// [`Update::HeavyBall`](lowlevel::Update::HeavyBall); the second number is the point less its velocity.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeavyBall {
    pub(super) step: f64,
    pub(super) momentum: f64,
    pub(super) extrapolation: f64,
}

impl Motion for HeavyBall {
    const MOVES: bool = true;
    const REMEMBERS: bool = true;

    #[inline(always)]
    fn moved(self, point: f64, gradient: f64, old: f64) -> (f64, f64) {
        let before = point - old;
        let velocity = self.momentum * before - self.step * gradient;
        let resting = point + self.extrapolation * (velocity - before);
        (resting + velocity, resting)
    }
}

/// The samples of a kernel that may move them.
#[derive(Debug)]
pub(super) enum Points<'a> {
    Still(&'a [f64]),
    Moving(&'a mut [f64]),
}

impl Points<'_> {
    #[inline(always)]
    pub(super) const fn values(&self) -> &[f64] {
        match self {
            Self::Still(x) => x,
            Self::Moving(x) => x,
        }
    }

    /// The samples before `at`, and those from there on if they may be moved.
    #[inline(always)]
    pub(super) fn split(&mut self, at: usize) -> (&[f64], &mut [f64]) {
        match self {
            Self::Still(x) => (x, &mut []),
            Self::Moving(x) => {
                let (before, after) = x.split_at_mut(at);
                (before, after)
            }
        }
    }
}
