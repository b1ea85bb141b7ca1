//! What the kernels share: run-time dispatch, the point they work on, and sums in a fixed order.
//!
//! Kernels are written once, generic over the width of a vector: [`pulp`] compiles them for the instructions a machine may
//! have, picks at run time, and the tails of rows use the same code with a width of one. Every entry is computed by the same
//! operations whatever the width, and sums are added in lanes fixed here, so results do not depend on the machine.

use std::ops::Range;

use lowlevel::Update;
use pulp::{Arch, Simd, WithSimd};

use super::TvParameters;

/// Runs `kernel` with the widest vectors of this machine.
#[inline]
pub(super) fn dispatch<K: WithSimd>(kernel: K) -> K::Output {
    Arch::new().dispatch(kernel)
}

/// The point at which a kernel takes the gradient: as it is, or moved just before it is needed.
#[derive(Debug)]
pub(super) enum Samples<'a> {
    Still(&'a [f64]),
    Moving {
        point: &'a mut [f64],
        update: Update<'a>,
    },
}

impl Samples<'_> {
    /// Makes the samples `at` final; `gradient` is that of the point before it was moved.
    #[inline(always)]
    pub(super) fn settle(&mut self, at: Range<usize>, gradient: &[f64]) {
        if let Self::Moving { point, update } = self {
            update.apply(at, point, gradient);
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

/// The vector that begins at `values[at]`.
#[inline(always)]
pub(super) fn load<S: Simd>(values: &[f64], at: usize) -> S::f64s {
    S::as_simd_f64s(&values[at..at + S::F64_LANES]).0[0]
}

/// Overwrites the vector that begins at `values[at]`.
#[inline(always)]
pub(super) fn store<S: Simd>(values: &mut [f64], at: usize, vector: S::f64s) {
    S::as_mut_simd_f64s(&mut values[at..at + S::F64_LANES]).0[0] = vector;
}

impl TvParameters {
    /// `$\sqrt{s + \nu^2}$` for squared differences `$s$`.
    #[inline(always)]
    pub(super) fn modulus<S: Simd>(self, simd: S, squares: S::f64s) -> S::f64s {
        simd.sqrt_f64s(simd.add_f64s(squares, simd.splat_f64s(self.nu * self.nu)))
    }

    /// `$(1 + \xi)x - y$`.
    #[inline(always)]
    pub(super) fn misfit<S: Simd>(self, simd: S, x: S::f64s, data: S::f64s) -> S::f64s {
        let scaled = simd.mul_f64s(simd.splat_f64s(1.0 + self.xi), x);
        simd.sub_f64s(scaled, data)
    }
}
