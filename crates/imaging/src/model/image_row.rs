//! One step of the sweep of [`image`](super::image) down the rows. It computes the fluxes of one
//! row and the gradient of the row above, and updates the row below.

use pulp::{Scalar, Simd, bytemuck};

use super::TvParameters;
use super::simd::{load_lanes, store_lanes};
use super::update_kernel::UpdateKernel;

/// One step of the sweep. All slices are at least as long as `x`.
#[derive(Debug)]
pub(super) struct RowStep<'a, M> {
    pub(super) parameters: TvParameters,
    pub(super) update: M,
    /// The row whose fluxes are computed.
    pub(super) x: &'a [f64],
    /// The row above it, whose gradient is computed.
    pub(super) above: &'a [f64],
    pub(super) data: &'a [f64],
    /// The horizontal fluxes of the row above, one more than samples.
    pub(super) flux_above: &'a [f64],
    pub(super) gradient: &'a mut [f64],
    /// The horizontal fluxes of the row `x`.
    pub(super) across: &'a mut [f64],
    /// The vertical fluxes of the row above, overwritten by those of the row `x`.
    pub(super) down: &'a mut [f64],
    pub(super) next: NextRow<'a>,
}

/// The row that is updated.
#[derive(Debug)]
pub(super) struct NextRow<'a> {
    pub(super) point: &'a mut [f64],
    pub(super) gradient: &'a [f64],
    pub(super) memory: &'a mut [f64],
}

/// The number of samples per block, and of partial sums of squares.
const BLOCK: usize = 8;

impl<M: UpdateKernel> RowStep<'_, M> {
    /// Makes the step, and returns the squared norm of the gradient of the row above, added in the
    /// order of [`lowlevel::norm_squared`].
    #[inline(always)]
    pub(super) fn run<S: Simd>(mut self, simd: S) -> f64 {
        let num_blocks = self.x.len() / BLOCK;
        let zeros = [simd.splat_f64s(0.0); BLOCK];
        let lanes = self.columns::<S, BLOCK>(simd, 0, num_blocks, zeros);
        let lanes: &[f64] = bytemuck::cast_slice(&lanes[..BLOCK / S::F64_LANES]);
        let sum = lanes.iter().sum();
        let (done, rest) = (num_blocks * BLOCK, self.x.len() % BLOCK);
        let [sum, ..] = self.columns::<Scalar, 1>(Scalar::new(), done, rest, [sum; BLOCK]);
        sum
    }

    /// Makes the step in `count` blocks of `N` columns, starting at column `first`. A block is a
    /// few vectors; the squares of the gradient in its vector `i` are added to `sums[i]`.
    #[inline(always)]
    fn columns<S: Simd, const N: usize>(
        &mut self,
        simd: S,
        first: usize,
        count: usize,
        mut sums: [S::f64s; BLOCK],
    ) -> [S::f64s; BLOCK] {
        if count == 0 {
            return sums;
        }
        let TvParameters { alpha, nu, xi } = self.parameters;
        let (alpha, nu_squared) = (simd.splat_f64s(alpha), simd.splat_f64s(nu * nu));
        let weight = simd.splat_f64s(1.0 + xi);
        let x = blocks::<N>(&self.x[first..], count);
        let above = blocks::<N>(&self.above[first..], count);
        // The first column has no left neighbour.
        let mut first_left = [self.x[first.saturating_sub(1)]; N];
        first_left[1..].copy_from_slice(&self.x[first..first + N - 1]);
        let left = blocks::<N>(&self.x[first + N - 1..], count - 1);
        let data = blocks::<N>(&self.data[first..], count);
        let gradient = blocks_mut::<N>(&mut self.gradient[first..], count);
        let from_left = blocks::<N>(&self.flux_above[first..], count);
        let to_right = blocks::<N>(&self.flux_above[first + 1..], count);
        let across = blocks_mut::<N>(&mut self.across[first..], count);
        let down = blocks_mut::<N>(&mut self.down[first..], count);
        let num_updated = if M::UPDATES { count } else { 0 };
        let next = blocks_mut::<N>(&mut self.next.point[first..], num_updated);
        let next_gradient = blocks::<N>(&self.next.gradient[first..], num_updated);
        let num_with_memory = if M::HAS_MEMORY { count } else { 0 };
        let from = if M::HAS_MEMORY { first } else { 0 };
        let next_memory = blocks_mut::<N>(&mut self.next.memory[from..], num_with_memory);
        for block in 0..count {
            let left: &[f64; N] = if block == 0 {
                &first_left
            } else {
                &left[block - 1]
            };
            for (lane, sum) in sums.iter_mut().take(N / S::F64_LANES).enumerate() {
                let at = lane * S::F64_LANES;
                // All stores come last: rows may lie a multiple of 4096 bytes apart, and a load
                // waits for an earlier store whose address has the same last 12 bits.
                let here = load_lanes::<S>(&x[block], at);
                let upper = load_lanes::<S>(&above[block], at);
                let dx = simd.sub_f64s(here, load_lanes::<S>(left, at));
                let dy = simd.sub_f64s(here, upper);
                let squares = simd.add_f64s(simd.mul_f64s(dx, dx), simd.mul_f64s(dy, dy));
                let modulus = simd.sqrt_f64s(simd.add_f64s(squares, nu_squared));
                let scale = simd.div_f64s(alpha, modulus);
                let misfit = simd.sub_f64s(
                    simd.mul_f64s(weight, upper),
                    load_lanes::<S>(&data[block], at),
                );
                let flow = simd.sub_f64s(
                    load_lanes::<S>(&from_left[block], at),
                    load_lanes::<S>(&to_right[block], at),
                );
                let from_above = load_lanes::<S>(&down[block], at);
                let moved = if M::UPDATES {
                    let point = load_lanes::<S>(&next[block], at);
                    let memory = if M::HAS_MEMORY {
                        load_lanes::<S>(&next_memory[block], at)
                    } else {
                        point
                    };
                    let gradient = load_lanes::<S>(&next_gradient[block], at);
                    Some(self.update.apply(simd, point, gradient, memory))
                } else {
                    None
                };
                let to_below = simd.mul_f64s(dy, scale);
                let flow = simd.add_f64s(flow, simd.sub_f64s(from_above, to_below));
                let entry = simd.add_f64s(misfit, flow);
                *sum = simd.add_f64s(*sum, simd.mul_f64s(entry, entry));
                if let Some((point, memory)) = moved {
                    store_lanes::<S>(&mut next[block], at, point);
                    if M::HAS_MEMORY {
                        store_lanes::<S>(&mut next_memory[block], at, memory);
                    }
                }
                store_lanes::<S>(&mut gradient[block], at, entry);
                store_lanes::<S>(&mut across[block], at, simd.mul_f64s(dx, scale));
                store_lanes::<S>(&mut down[block], at, to_below);
            }
        }
        sums
    }
}

/// The first `count` blocks of a row. With their number known, the loop needs no bounds checks.
#[inline(always)]
pub(super) fn blocks<const N: usize>(row: &[f64], count: usize) -> &[[f64; N]] {
    &row.as_chunks().0[..count]
}

/// The first `count` blocks of a row, to be changed.
#[inline(always)]
pub(super) fn blocks_mut<const N: usize>(row: &mut [f64], count: usize) -> &mut [[f64; N]] {
    &mut row.as_chunks_mut().0[..count]
}
