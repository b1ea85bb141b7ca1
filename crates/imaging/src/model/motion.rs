//! How a kernel moves the point at which it takes the gradient: [`lowlevel::Update`] as functions of vectors, which go into one loop
//! with the rest of the kernel.

use pulp::Simd;

/// How samples move.
pub(super) trait Motion: Copy {
    /// Whether they do,
    const MOVES: bool;
    /// and whether that depends on a second number per sample, which changes too.
    const REMEMBERS: bool;

    /// Where samples go, and the second numbers.
    fn moved<S: Simd>(
        self,
        simd: S,
        point: S::f64s,
        gradient: S::f64s,
        old: S::f64s,
    ) -> (S::f64s, S::f64s);
}

/// No motion.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rest;

impl Motion for Rest {
    const MOVES: bool = false;
    const REMEMBERS: bool = false;

    #[inline(always)]
    fn moved<S: Simd>(self, _: S, point: S::f64s, _: S::f64s, old: S::f64s) -> (S::f64s, S::f64s) {
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
        let step = simd.mul_f64s(simd.splat_f64s(self.step), gradient);
        (simd.sub_f64s(point, step), old)
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
        let step = simd.mul_f64s(simd.splat_f64s(self.step), gradient);
        let next = simd.sub_f64s(point, step);
        let change = simd.sub_f64s(next, old);
        let ahead = simd.mul_f64s(simd.splat_f64s(self.extrapolation), change);
        (simd.add_f64s(next, ahead), next)
    }
}

/// [`Update::HeavyBall`](lowlevel::Update::HeavyBall); the second number is the previous point.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeavyBall {
    pub(super) step: f64,
    pub(super) momentum: f64,
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
        let step = simd.mul_f64s(simd.splat_f64s(self.step), gradient);
        let descended = simd.sub_f64s(point, step);
        let velocity = simd.sub_f64s(point, old);
        let carried = simd.mul_f64s(simd.splat_f64s(self.momentum), velocity);
        (simd.add_f64s(descended, carried), point)
    }
}
