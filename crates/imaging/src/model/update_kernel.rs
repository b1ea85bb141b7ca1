//! Update rules fused into gradient kernels: [`lowlevel::Update`] as functions of vectors, in one
//! loop with the rest of a kernel.

use std::ops::Range;

use lowlevel::Update;
use pulp::{Scalar, Simd};

/// An update rule fused into the gradient kernel.
pub(super) trait UpdateKernel: Copy {
    /// Whether samples are moved.
    const MOVES: bool;
    /// Whether the rule depends on a second number per sample, which changes too.
    const REMEMBERS: bool;

    /// The new samples and second numbers.
    fn apply<S: Simd>(
        self,
        simd: S,
        point: S::f64s,
        gradient: S::f64s,
        old: S::f64s,
    ) -> (S::f64s, S::f64s);

    /// Applies the rule to the samples `at`, one by one; `points` and `old` are empty where they
    /// are not needed.
    #[inline(always)]
    fn apply_scalar(self, points: &mut [f64], gradient: &[f64], old: &mut [f64], at: Range<usize>) {
        if !Self::MOVES {
            return;
        }
        let (points, gradient) = (&mut points[at.clone()], &gradient[at.clone()]);
        if Self::REMEMBERS {
            let moving = points.iter_mut().zip(gradient).zip(&mut old[at]);
            for ((point, gradient), old) in moving {
                (*point, *old) = self.apply(Scalar::new(), *point, *gradient, *old);
            }
        } else {
            for (point, gradient) in points.iter_mut().zip(gradient) {
                *point = self.apply(Scalar::new(), *point, *gradient, 0.0).0;
            }
        }
    }
}

/// Leaves samples where they are.
#[derive(Clone, Copy, Debug)]
pub(super) struct NoUpdate;

impl UpdateKernel for NoUpdate {
    const MOVES: bool = false;
    const REMEMBERS: bool = false;

    #[inline(always)]
    fn apply<S: Simd>(
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

impl UpdateKernel for Descent {
    const MOVES: bool = true;
    const REMEMBERS: bool = false;

    #[inline(always)]
    fn apply<S: Simd>(
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

impl UpdateKernel for Accelerated {
    const MOVES: bool = true;
    const REMEMBERS: bool = true;

    #[inline(always)]
    fn apply<S: Simd>(
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

impl UpdateKernel for HeavyBall {
    const MOVES: bool = true;
    const REMEMBERS: bool = true;

    #[inline(always)]
    fn apply<S: Simd>(
        self,
        simd: S,
        point: S::f64s,
        gradient: S::f64s,
        old: S::f64s,
    ) -> (S::f64s, S::f64s) {
        let decayed = simd.mul_f64s(simd.splat_f64s(self.decay), old);
        let next = simd.sub_f64s(decayed, gradient);
        let moved_back = descended(simd, self.back, point, old);
        (extrapolated(simd, moved_back, self.ahead, next), next)
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

/// The point at which a kernel takes the gradient: as it is, or moved just before it is needed.
#[derive(Debug)]
pub(super) enum Samples<'a, U = Update<'a>> {
    Still(&'a [f64]),
    Moving { point: &'a mut [f64], update: U },
}

impl Samples<'_> {
    /// Moves all samples; `gradient` is that of the point before.
    #[inline(always)]
    pub(super) fn apply_update(&mut self, gradient: &[f64]) {
        if let Self::Moving { point, update } = self {
            update.apply(0..point.len(), point, gradient);
        }
    }

    #[inline(always)]
    pub(super) const fn values(&self) -> &[f64] {
        match self {
            Self::Still(x) => x,
            Self::Moving { point, .. } => point,
        }
    }
}

impl<U> Samples<'_, U> {
    /// The samples before `at`, and those from there on if they may be moved.
    #[inline(always)]
    pub(super) fn split(&mut self, at: usize) -> (&[f64], &mut [f64]) {
        match self {
            Self::Still(x) => (x, &mut []),
            Self::Moving { point, .. } => {
                let (before, after) = point.split_at_mut(at);
                (before, after)
            }
        }
    }
}
