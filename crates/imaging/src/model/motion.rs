//! How a kernel moves the point at which it takes the gradient: [`lowlevel::Update`] as functions of vectors, which go into one
//! loop with the rest of the kernel.

use std::ops::Range;

use pulp::{Scalar, Simd};

/// How samples move.
pub(super) trait Motion: Copy {
    /// Whether they do.
    const MOVES: bool;
    /// Whether that depends on a second number per sample, which changes too.
    const REMEMBERS: bool;

    /// Where the samples go, and the second numbers.
    fn moved<S: Simd>(
        self,
        simd: S,
        point: S::f64s,
        gradient: S::f64s,
        old: S::f64s,
    ) -> (S::f64s, S::f64s);

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
                (*point, *old) = self.moved(Scalar::new(), *point, *gradient, *old);
            }
        } else {
            for (point, gradient) in points.iter_mut().zip(gradient) {
                *point = self.moved(Scalar::new(), *point, *gradient, 0.0).0;
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
    fn moved<S: Simd>(
        self,
        _simd: S,
        point: S::f64s,
        _gradient: S::f64s,
        old: S::f64s,
    ) -> (S::f64s, S::f64s) {
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
    fn moved<S: Simd>(
        self,
        simd: S,
        point: S::f64s,
        gradient: S::f64s,
        old: S::f64s,
    ) -> (S::f64s, S::f64s) {
        (descended(simd, self.step, point, gradient), old)
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
    fn moved<S: Simd>(
        self,
        simd: S,
        point: S::f64s,
        gradient: S::f64s,
        old: S::f64s,
    ) -> (S::f64s, S::f64s) {
        let next = descended(simd, self.step, point, gradient);
        (
            extrapolated(simd, next, self.extrapolation, simd.sub_f64s(next, old)),
            next,
        )
    }
}

/// [`Update::HeavyBall`](lowlevel::Update::HeavyBall); the second number is the impulse.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeavyBall {
    pub(super) decay: f64,
    pub(super) ahead: f64,
    pub(super) back: f64,
}

impl Motion for HeavyBall {
    const MOVES: bool = true;
    const REMEMBERS: bool = true;

    #[inline(always)]
    fn moved<S: Simd>(
        self,
        simd: S,
        point: S::f64s,
        gradient: S::f64s,
        old: S::f64s,
    ) -> (S::f64s, S::f64s) {
        let kept = simd.mul_f64s(simd.splat_f64s(self.decay), old);
        let next = simd.sub_f64s(kept, gradient);
        let rested = descended(simd, self.back, point, old);
        (extrapolated(simd, rested, self.ahead, next), next)
    }
}

/// `$x - \tau g$`.
#[inline(always)]
fn descended<S: Simd>(simd: S, step: f64, point: S::f64s, gradient: S::f64s) -> S::f64s {
    simd.sub_f64s(point, simd.mul_f64s(simd.splat_f64s(step), gradient))
}

/// `$x + \beta v$`.
#[inline(always)]
fn extrapolated<S: Simd>(simd: S, point: S::f64s, by: f64, velocity: S::f64s) -> S::f64s {
    simd.add_f64s(point, simd.mul_f64s(simd.splat_f64s(by), velocity))
}

/// The samples of a kernel that may move them.
#[derive(Debug)]
pub(super) enum Points<'a> {
    Still(&'a [f64]),
    Moving(&'a mut [f64]),
}

impl Points<'_> {
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
