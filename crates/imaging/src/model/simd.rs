//! Run-time dispatch of kernels, and vectors in slices.
//!
//! [`pulp`] compiles a kernel for the instructions a machine may have and picks at run time.
//! Gradients of images and Newton steps are written with vectors, gradients of lines as plain
//! loops, which the compiler vectorises. Every entry is computed by the same operations whatever
//! the width of a vector, and kernels add up sums in a fixed number of lanes, so results do not
//! depend on the machine.

use pulp::{Arch, Simd, WithSimd};

/// Runs `kernel` with the widest vectors of this machine.
#[inline]
pub(super) fn dispatch<K: WithSimd>(kernel: K) -> K::Output {
    Arch::new().dispatch(kernel)
}

/// The vector that begins at `values[at]`.
#[inline(always)]
pub(super) fn load_lanes<S: Simd>(values: &[f64], at: usize) -> S::f64s {
    S::as_simd_f64s(&values[at..at + S::F64_LANES]).0[0]
}

/// Overwrites the vector that begins at `values[at]`.
#[inline(always)]
pub(super) fn store_lanes<S: Simd>(values: &mut [f64], at: usize, vector: S::f64s) {
    S::as_mut_simd_f64s(&mut values[at..at + S::F64_LANES]).0[0] = vector;
}
