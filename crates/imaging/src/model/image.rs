//! Fused update and gradient of 2D denoising, with the differences of
//! [`Differences::IMAGE_OF_PAPER`](crate::Differences): one sweep over memory per iteration.

use std::mem::swap;

use lowlevel::norm_squared;
use pulp::{Scalar, Simd, WithSimd};

use super::TvParameters;
use super::simd::{Samples, load, store};

/// Overwrites `gradient` with `$(1 + \xi)x - y + \alpha\widehat\nabla^T(\widehat\nabla x/\sqrt{\|\widehat\nabla x\|^2 + \nu^2})$`; returns its
/// squared norm.
#[derive(Debug)]
pub(super) struct ImageGradient<'a> {
    pub(super) parameters: TvParameters,
    pub(super) cols: usize,
    pub(super) data: &'a [f64],
    pub(super) x: Samples<'a>,
    pub(super) gradient: &'a mut [f64],
    pub(super) fluxes: &'a mut RowFluxes,
}

/// Fluxes of two rows, which stay in the fastest cache.
#[derive(Clone, Debug)]
pub(super) struct RowFluxes {
    here: Fluxes,
    below: Fluxes,
}

/// Fluxes of one row.
#[derive(Clone, Debug)]
struct Fluxes {
    /// From each sample's left neighbour; zero into the first sample and behind the last.
    across: Vec<f64>,
    /// From the row above; zero into the first row and below the last.
    down: Vec<f64>,
}

impl RowFluxes {
    pub(super) fn new(cols: usize) -> Self {
        let here = Fluxes {
            across: vec![0.0; cols + 1],
            down: vec![0.0; cols],
        };
        Self {
            below: here.clone(),
            here,
        }
    }
}

impl WithSimd for ImageGradient<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        let Self {
            parameters,
            cols,
            data,
            mut x,
            gradient,
            fluxes: RowFluxes { here, below },
        } = self;
        assert_eq!(here.down.len(), cols, "the scratch belongs to another grid");
        let rows = data.len() / cols;
        x.settle(0..cols, gradient);
        let first = &x.values()[..cols]; // stands in for what would be above it
        let mut fluxing = Fluxing::new(parameters, first, first, below);
        for col in 0..cols {
            fluxing.at(Scalar::new(), col);
        }
        let mut sum = 0.0;
        for row in 0..rows {
            swap(here, below);
            let (start, end) = (row * cols, (row + 1) * cols);
            if row + 1 < rows {
                x.settle(end..end + cols, gradient);
            }
            let x = x.values();
            let mut balancing = Balancing {
                parameters,
                x: &x[start..end],
                data: &data[start..end],
                across: &here.across[..=cols],
                down: &here.down[..cols],
                gradient: &mut gradient[start..end],
            };
            if row + 1 < rows {
                let fluxing = Fluxing::new(parameters, &x[end..end + cols], &x[start..end], below);
                balancing.row_with(simd, fluxing);
            } else {
                balancing.last_row();
            }
            sum += norm_squared(&gradient[start..end]);
        }
        sum
    }
}

/// Computes the fluxes of a row.
struct Fluxing<'a> {
    parameters: TvParameters,
    x: &'a [f64],
    above: &'a [f64],
    across: &'a mut [f64],
    down: &'a mut [f64],
}

impl<'a> Fluxing<'a> {
    #[inline(always)]
    fn new(
        parameters: TvParameters,
        x: &'a [f64],
        above: &'a [f64],
        fluxes: &'a mut Fluxes,
    ) -> Self {
        Self {
            parameters,
            x,
            above: &above[..x.len()],
            across: &mut fluxes.across[..x.len()],
            down: &mut fluxes.down[..x.len()],
        }
    }

    /// The vector of fluxes at `col`, `$\alpha\widehat\nabla x/\sqrt{\|\widehat\nabla x\|^2 + \nu^2}$`; returns the one down.
    #[inline(always)]
    fn at<S: Simd>(&mut self, simd: S, col: usize) -> S::f64s {
        let x = load::<S>(self.x, col);
        let left = load::<S>(self.x, col.saturating_sub(1)); // none in the first column
        let (dx, dy) = (
            simd.sub_f64s(x, left),
            simd.sub_f64s(x, load::<S>(self.above, col)),
        );
        let squares = simd.add_f64s(simd.mul_f64s(dx, dx), simd.mul_f64s(dy, dy));
        let modulus = self.parameters.modulus(simd, squares);
        let scale = simd.div_f64s(simd.splat_f64s(self.parameters.alpha), modulus);
        let down = simd.mul_f64s(dy, scale);
        store::<S>(self.across, col, simd.mul_f64s(dx, scale));
        store::<S>(self.down, col, down);
        down
    }
}

/// Computes the gradient of a row from its fluxes and those of the row below.
struct Balancing<'a> {
    parameters: TvParameters,
    x: &'a [f64],
    data: &'a [f64],
    across: &'a [f64],
    down: &'a [f64],
    gradient: &'a mut [f64],
}

impl Balancing<'_> {
    /// Together with the fluxes of the row below: square roots and sums overlap.
    #[inline(always)]
    fn row_with<S: Simd>(&mut self, simd: S, mut below: Fluxing<'_>) {
        let (cols, lanes) = (self.x.len(), S::F64_LANES);
        let tail = 1 + (cols - 1) / lanes * lanes;
        let first = below.at(Scalar::new(), 0);
        self.at(Scalar::new(), 0, first);
        for col in (1..tail).step_by(lanes) {
            let down = below.at(simd, col);
            self.at(simd, col, down);
        }
        for col in tail..cols {
            let down = below.at(Scalar::new(), col);
            self.at(Scalar::new(), col, down);
        }
    }

    /// Nothing flows out of the last row.
    #[inline(always)]
    fn last_row(&mut self) {
        for col in 0..self.x.len() {
            self.at(Scalar::new(), col, 0.0);
        }
    }

    /// The vector of the gradient at `col`: the misfit, plus what flows in, minus what flows out.
    #[inline(always)]
    fn at<S: Simd>(&mut self, simd: S, col: usize, down: S::f64s) {
        let (left, right) = (load::<S>(self.across, col), load::<S>(self.across, col + 1));
        let across = simd.sub_f64s(left, right);
        let flow = simd.add_f64s(across, simd.sub_f64s(load::<S>(self.down, col), down));
        let misfit =
            self.parameters
                .misfit(simd, load::<S>(self.x, col), load::<S>(self.data, col));
        store::<S>(self.gradient, col, simd.add_f64s(misfit, flow));
    }
}
