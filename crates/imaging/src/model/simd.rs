//! Run-time dispatch of kernels, and access to vectors in slices.
//!
//! [`pulp`] compiles a kernel for several instruction sets and picks one at run time. The gradient
//! of images and the Newton steps of lines are written with explicit vectors. The other kernels are
//! plain loops, which the compiler vectorises. Results do not depend on the machine: every entry is
//! computed by the same operations for every vector width, and each kernel adds up its sums in a
//! fixed number of partial sums.

use pulp::{Arch, Simd, WithSimd};

/// Runs `kernel` with the widest vectors of this machine.
#[inline]
pub(crate) fn dispatch<K: WithSimd>(kernel: K) -> K::Output {
    Arch::new().dispatch(kernel)
}

/// Runs a closure that is compiled for the widest vectors of this machine. The closure and the
/// functions that it calls must be `#[inline(always)]`.
///
/// A closure that is called as `FnOnce`, as [`dispatch`] would do, is not always inlined, and then
/// it is not compiled for these vectors.
#[inline]
pub(crate) fn vectorize<R>(run: impl FnMut() -> R) -> R {
    struct Kernel<F>(F);

    impl<R, F: FnMut() -> R> WithSimd for Kernel<F> {
        type Output = R;

        #[inline(always)]
        fn with_simd<S: Simd>(mut self, _simd: S) -> R {
            (self.0)()
        }
    }

    dispatch(Kernel(run))
}

/// Loads the vector that starts at `values[at]`.
#[inline(always)]
pub(super) fn load_lanes<S: Simd>(values: &[f64], at: usize) -> S::f64s {
    S::as_simd_f64s(&values[at..at + S::F64_LANES]).0[0]
}

/// Overwrites the vector that starts at `values[at]`.
#[inline(always)]
pub(super) fn store_lanes<S: Simd>(values: &mut [f64], at: usize, vector: S::f64s) {
    S::as_mut_simd_f64s(&mut values[at..at + S::F64_LANES]).0[0] = vector;
}
