//! The kernel of Hessian products of 2D denoising: one sweep over memory. The differences are
//! [`Differences::IMAGE_OF_PAPER`](crate::Differences).

use std::mem::swap;

use pulp::{Scalar, Scalar128b, Simd, WithSimd};

use super::TvParameters;
use super::image_row::{blocks, blocks_mut};
use super::simd::{load_lanes, store_lanes};
use crate::regularizer::Linearised;

/// Overwrites `out` with `$(1 + \xi)v + \alpha\widehat\nabla^T W\widehat\nabla v$` and
/// `$W_j = (I - n_j n_j^T)/\sigma_j$`.
#[derive(Debug)]
pub(super) struct ImageHessian<'a> {
    pub(super) parameters: TvParameters,
    pub(super) cols: usize,
    pub(super) at: Linearised<'a>,
    pub(super) v: &'a [f64],
    pub(super) out: &'a mut [f64],
    pub(super) fluxes: HessianFluxes<'a>,
}

/// The fluxes of two rows, as in [`RowFluxes`](super::image::RowFluxes).
#[derive(Debug)]
pub(super) struct HessianFluxes<'a> {
    /// The horizontal fluxes of the row above, one more than samples.
    pub(super) above: &'a mut Vec<f64>,
    /// The horizontal fluxes of the current row.
    pub(super) across: &'a mut Vec<f64>,
    /// The vertical fluxes into each sample of the row above, from the sample above it.
    pub(super) down: &'a mut Vec<f64>,
    /// Receives the product for the dummy row above the first one, which is discarded.
    pub(super) above_first: &'a mut Vec<f64>,
    /// A row of zeros: the Hessian in the dummy row below the last one.
    pub(super) zeros: &'a [f64],
}

impl WithSimd for ImageHessian<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        if S::F64_LANES == 1 {
            // Most machines have vectors of two numbers, even if `pulp` does not detect them.
            self.run(Scalar128b);
        } else {
            self.run(simd);
        }
    }
}

impl ImageHessian<'_> {
    /// Each step computes the fluxes of one row, and the product for the row above it. In the dummy
    /// row below the last one there are no fluxes, because `$1/\sigma$` is taken to be zero there.
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self {
            parameters,
            cols,
            at,
            v,
            out,
            fluxes,
        } = self;
        let HessianFluxes {
            above,
            across,
            down,
            above_first,
            zeros,
        } = fluxes;
        assert_eq!(down.len(), cols, "the scratch belongs to another grid");
        let rows = v.len() / cols;
        for row in 0..=rows {
            let (this, up) = (row.min(rows - 1) * cols, row.saturating_sub(1) * cols);
            let end = this + cols;
            let at = if row < rows {
                Linearised {
                    inverse: &at.inverse[this..end],
                    across: &at.across[this..end],
                    down: &at.down[this..end],
                    deep: &[],
                }
            } else {
                Linearised {
                    inverse: zeros,
                    across: zeros,
                    down: zeros,
                    deep: &[],
                }
            };
            let mut step = RowStep {
                parameters,
                at,
                v: &v[this..end],
                above: &v[up..],
                flux_above: above,
                out: if row == 0 {
                    &mut *above_first
                } else {
                    &mut out[up..]
                },
                across,
                down,
            };
            let num_blocks = cols / BLOCK;
            step.columns::<S, BLOCK>(simd, 0, num_blocks);
            step.columns::<Scalar, 1>(Scalar::new(), num_blocks * BLOCK, cols % BLOCK);
            swap(above, across);
        }
    }
}

/// The number of samples per block.
const BLOCK: usize = 8;

/// One step of the sweep. All slices are at least as long as `v`.
struct RowStep<'a> {
    parameters: TvParameters,
    /// The Hessian in the row `v`.
    at: Linearised<'a>,
    /// The row whose fluxes are computed.
    v: &'a [f64],
    /// The row above it, whose product is computed.
    above: &'a [f64],
    flux_above: &'a [f64],
    out: &'a mut [f64],
    across: &'a mut [f64],
    /// The vertical fluxes of the row above, overwritten by those of the row `v`.
    down: &'a mut [f64],
}

impl RowStep<'_> {
    /// Makes the step in `count` blocks of `N` columns, starting at column `first`.
    #[inline(always)]
    fn columns<S: Simd, const N: usize>(&mut self, simd: S, first: usize, count: usize) {
        if count == 0 {
            return;
        }
        let alpha = simd.splat_f64s(self.parameters.alpha);
        let weight = simd.splat_f64s(1.0 + self.parameters.xi);
        let v = blocks::<N>(&self.v[first..], count);
        let above = blocks::<N>(&self.above[first..], count);
        let inverse = blocks::<N>(&self.at.inverse[first..], count);
        let n_across = blocks::<N>(&self.at.across[first..], count);
        let n_down = blocks::<N>(&self.at.down[first..], count);
        // The first column has no left neighbour.
        let mut first_left = [self.v[first.saturating_sub(1)]; N];
        first_left[1..].copy_from_slice(&self.v[first..first + N - 1]);
        let left = blocks::<N>(&self.v[first + N - 1..], count - 1);
        let out = blocks_mut::<N>(&mut self.out[first..], count);
        let from_left = blocks::<N>(&self.flux_above[first..], count);
        let to_right = blocks::<N>(&self.flux_above[first + 1..], count);
        let across = blocks_mut::<N>(&mut self.across[first..], count);
        let down = blocks_mut::<N>(&mut self.down[first..], count);
        for block in 0..count {
            let left: &[f64; N] = if block == 0 {
                &first_left
            } else {
                &left[block - 1]
            };
            for lane in 0..N / S::F64_LANES {
                let at = lane * S::F64_LANES;
                // All stores come last, for the reason given in `image_row.rs`.
                let here = load_lanes::<S>(&v[block], at);
                let upper = load_lanes::<S>(&above[block], at);
                let dx = simd.sub_f64s(here, load_lanes::<S>(left, at));
                let dy = simd.sub_f64s(here, upper);
                let nx = load_lanes::<S>(&n_across[block], at);
                let ny = load_lanes::<S>(&n_down[block], at);
                let along = simd.add_f64s(simd.mul_f64s(nx, dx), simd.mul_f64s(ny, dy));
                let scale = simd.mul_f64s(alpha, load_lanes::<S>(&inverse[block], at));
                let to_left = simd.sub_f64s(dx, simd.mul_f64s(nx, along));
                let to_below = simd.sub_f64s(dy, simd.mul_f64s(ny, along));
                let to_below = simd.mul_f64s(scale, to_below);
                let flow = simd.sub_f64s(
                    load_lanes::<S>(&from_left[block], at),
                    load_lanes::<S>(&to_right[block], at),
                );
                let from_above = load_lanes::<S>(&down[block], at);
                let flow = simd.add_f64s(flow, simd.sub_f64s(from_above, to_below));
                let entry = simd.add_f64s(simd.mul_f64s(weight, upper), flow);
                store_lanes::<S>(&mut out[block], at, entry);
                store_lanes::<S>(&mut across[block], at, simd.mul_f64s(scale, to_left));
                store_lanes::<S>(&mut down[block], at, to_below);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::difference::Differences;
    use crate::grid::Grid;
    use crate::model::image::RowFluxes;
    use crate::model::simd::dispatch;
    use crate::regularizer::{RegularizerHessian, SmoothedTv};
    use proptest::prelude::*;

    fn cases() -> impl Strategy<Value = (TvParameters, usize, Vec<f64>, Vec<f64>)> {
        let vector = |len| proptest::collection::vec(-1.0..1.0_f64, len);
        let sizes = (1_usize..7, prop_oneof![4 => 1_usize..30, 1 => 60_usize..70]);
        (sizes, 0.0..2.0_f64, -6.0..0.0_f64).prop_flat_map(move |((rows, cols), alpha, digits)| {
            let parameters = TvParameters {
                alpha,
                nu: 10_f64.powf(digits),
                xi: 0.01,
            };
            let len = rows * cols;
            (Just(parameters), Just(cols), vector(len), vector(len))
        })
    }

    /// The product by a loop over samples.
    fn twin(parameters: TvParameters, cols: usize, at: Linearised<'_>, v: &[f64]) -> Vec<f64> {
        let flux = |j: usize| {
            let left = if j.is_multiple_of(cols) { j } else { j - 1 };
            let up = if j < cols { j } else { j - cols };
            let (dx, dy) = (v[j] - v[left], v[j] - v[up]);
            let (nx, ny) = (at.across[j], at.down[j]);
            let along = nx * dx + ny * dy;
            let scale = parameters.alpha * at.inverse[j];
            [scale * (dx - nx * along), scale * (dy - ny * along)]
        };
        let product = |j: usize| {
            let last = (j + 1).is_multiple_of(cols);
            let right = if last { 0.0 } else { flux(j + 1)[0] };
            let below = if j + cols < v.len() {
                flux(j + cols)[1]
            } else {
                0.0
            };
            let [left, above] = flux(j);
            (1.0 + parameters.xi) * v[j] + ((left - right) + (above - below))
        };
        (0..v.len()).map(product).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        #[test]
        fn every_width_computes_what_a_loop_over_samples_does((parameters, cols, x, v) in cases()) {
            let grid = Grid::image(x.len() / cols, cols);
            let tv = SmoothedTv::new(grid, Differences::IMAGE_OF_PAPER, parameters.nu).unwrap();
            let mut memory = vec![0.0; tv.memory_len()];
            tv.linearise(&x, &mut memory);
            let at = tv.stored(&memory);
            let bits = |v: &[f64]| v.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            let expected = bits(&twin(parameters, cols, at, &v));
            let run = |run: &dyn Fn(ImageHessian<'_>)| {
                let mut out = vec![f64::NAN; v.len()];
                let mut rows = RowFluxes::new(cols);
                let fluxes = rows.for_hessian();
                run(ImageHessian { parameters, cols, at, v: &v, out: &mut out, fluxes });
                bits(&out)
            };
            prop_assert_eq!(&run(&|kernel| dispatch(kernel)), &expected);
            prop_assert_eq!(&run(&|kernel| kernel.run(Scalar128b)), &expected);
            prop_assert_eq!(&run(&|kernel| kernel.run(Scalar::new())), &expected);
        }
    }
}
