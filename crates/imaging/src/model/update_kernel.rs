//! The update rules of [`lowlevel::Update`] as functions of vectors, to be fused into the loop of a
//! gradient kernel.

use std::ops::Range;

use lowlevel::Update;
use pulp::{Scalar, Simd};

/// An update rule fused into the gradient kernel.
pub(super) trait UpdateKernel: Copy {
    /// Whether the rule changes the samples.
    const UPDATES: bool;
    /// Whether the rule keeps one further number per sample, its memory.
    const HAS_MEMORY: bool;

    /// Returns the new samples and the new memory.
    fn apply<S: Simd>(
        self,
        simd: S,
        point: S::f64s,
        gradient: S::f64s,
        memory: S::f64s,
    ) -> (S::f64s, S::f64s);

    /// Applies the rule to the samples `at`, one by one. `points` and `memory` may be empty if the
    /// rule does not use them.
    #[inline(always)]
    fn apply_scalar(
        self,
        points: &mut [f64],
        gradient: &[f64],
        memory: &mut [f64],
        at: Range<usize>,
    ) {
        if !Self::UPDATES {
            return;
        }
        let (points, gradient) = (&mut points[at.clone()], &gradient[at.clone()]);
        if Self::HAS_MEMORY {
            let moving = points.iter_mut().zip(gradient).zip(&mut memory[at]);
            for ((point, gradient), memory) in moving {
                (*point, *memory) = self.apply(Scalar::new(), *point, *gradient, *memory);
            }
        } else {
            for (point, gradient) in points.iter_mut().zip(gradient) {
                *point = self.apply(Scalar::new(), *point, *gradient, 0.0).0;
            }
        }
    }
}

/// The rule that changes nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct NoUpdate;

impl UpdateKernel for NoUpdate {
    const UPDATES: bool = false;
    const HAS_MEMORY: bool = false;

    #[inline(always)]
    fn apply<S: Simd>(
        self,
        _simd: S,
        point: S::f64s,
        _gradient: S::f64s,
        memory: S::f64s,
    ) -> (S::f64s, S::f64s) {
        (point, memory)
    }
}

/// The rule [`Update::Descent`](lowlevel::Update::Descent).
#[derive(Clone, Copy, Debug)]
pub(super) struct Descent {
    pub(super) step: f64,
}

impl UpdateKernel for Descent {
    const UPDATES: bool = true;
    const HAS_MEMORY: bool = false;

    #[inline(always)]
    fn apply<S: Simd>(
        self,
        simd: S,
        point: S::f64s,
        gradient: S::f64s,
        memory: S::f64s,
    ) -> (S::f64s, S::f64s) {
        (descended(simd, self.step, point, gradient), memory)
    }
}

/// The rule [`Update::Accelerated`](lowlevel::Update::Accelerated). Its memory is the iterate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Accelerated {
    pub(super) step: f64,
    pub(super) extrapolation: f64,
}

impl UpdateKernel for Accelerated {
    const UPDATES: bool = true;
    const HAS_MEMORY: bool = true;

    #[inline(always)]
    fn apply<S: Simd>(
        self,
        simd: S,
        point: S::f64s,
        gradient: S::f64s,
        memory: S::f64s,
    ) -> (S::f64s, S::f64s) {
        let next = descended(simd, self.step, point, gradient);
        (
            extrapolated(simd, next, self.extrapolation, simd.sub_f64s(next, memory)),
            next,
        )
    }
}

/// The rule [`Update::HeavyBall`](lowlevel::Update::HeavyBall). Its memory is the impulse.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeavyBall {
    pub(super) decay: f64,
    pub(super) ahead: f64,
    pub(super) back: f64,
}

impl UpdateKernel for HeavyBall {
    const UPDATES: bool = true;
    const HAS_MEMORY: bool = true;

    #[inline(always)]
    fn apply<S: Simd>(
        self,
        simd: S,
        point: S::f64s,
        gradient: S::f64s,
        memory: S::f64s,
    ) -> (S::f64s, S::f64s) {
        let decayed = simd.mul_f64s(simd.splat_f64s(self.decay), memory);
        let next = simd.sub_f64s(decayed, gradient);
        let moved_back = descended(simd, self.back, point, memory);
        (extrapolated(simd, moved_back, self.ahead, next), next)
    }
}

/// Returns `$x - \tau g$`.
#[inline(always)]
fn descended<S: Simd>(simd: S, step: f64, point: S::f64s, gradient: S::f64s) -> S::f64s {
    simd.sub_f64s(point, simd.mul_f64s(simd.splat_f64s(step), gradient))
}

/// Returns `$x + \beta v$`.
#[inline(always)]
fn extrapolated<S: Simd>(simd: S, point: S::f64s, by: f64, velocity: S::f64s) -> S::f64s {
    simd.add_f64s(point, simd.mul_f64s(simd.splat_f64s(by), velocity))
}

/// The point at which a kernel computes the gradient.
#[derive(Debug)]
pub(super) enum Samples<'a, U = Update<'a>> {
    /// The point is given.
    Fixed(&'a [f64]),
    /// The kernel updates the point first.
    Updating { point: &'a mut [f64], update: U },
}

impl Samples<'_> {
    /// Applies the update to all samples, given the gradient at the old point.
    #[inline(always)]
    pub(super) fn apply_update(&mut self, gradient: &[f64]) {
        if let Self::Updating { point, update } = self {
            update.apply(0..point.len(), point, gradient);
        }
    }

    /// The samples.
    #[inline(always)]
    pub(super) const fn values(&self) -> &[f64] {
        match self {
            Self::Fixed(x) => x,
            Self::Updating { point, .. } => point,
        }
    }
}

impl<U> Samples<'_, U> {
    /// The samples before `at`, and the samples from `at` on if they are to be updated.
    #[inline(always)]
    pub(super) fn split(&mut self, at: usize) -> (&[f64], &mut [f64]) {
        match self {
            Self::Fixed(x) => (x, &mut []),
            Self::Updating { point, .. } => {
                let (before, after) = point.split_at_mut(at);
                (before, after)
            }
        }
    }
}
