//! The kernel of 2D denoising: one sweep over memory makes the update and computes the gradient.
//! The differences are [`Differences::IMAGE_OF_PAPER`](crate::Differences).

use std::mem::swap;

use lowlevel::Update;
use pulp::{Scalar128b, Simd, WithSimd};

use super::TvParameters;
use super::image_hessian::HessianFluxes;
use super::image_row::{NextRow, RowStep};
use super::update_kernel::{Accelerated, Descent, HeavyBall, NoUpdate, Samples, UpdateKernel};

/// Overwrites `gradient` with
/// `$(1 + \xi)x - y + \alpha\widehat\nabla^T(\widehat\nabla x/\sqrt{\|\widehat\nabla x\|^2 + \nu^2})$`
/// and returns its squared norm.
#[derive(Debug)]
pub(super) struct ImageGradient<'a> {
    pub(super) parameters: TvParameters,
    pub(super) cols: usize,
    pub(super) data: &'a [f64],
    pub(super) x: Samples<'a>,
    pub(super) gradient: &'a mut [f64],
    pub(super) fluxes: &'a mut RowFluxes,
}

/// The fluxes of two rows, which stay in the fastest cache, and dummy rows for the rows outside the
/// image.
#[derive(Clone, Debug)]
pub(super) struct RowFluxes {
    /// The horizontal fluxes of the row above: into each sample from its left neighbour. The flux
    /// into the first sample and the one behind the last sample are zero.
    above: Vec<f64>,
    /// The horizontal fluxes of the current row.
    across: Vec<f64>,
    /// The vertical fluxes into each sample of the row above, from the sample above it. The sweep
    /// overwrites them with those of the current row.
    down: Vec<f64>,
    /// The dummy row below the last one: its point, gradient and memory, all zero.
    below_last: [Vec<f64>; 3],
    /// Receives the gradient of the dummy row above the first one, which is discarded.
    above_first: Vec<f64>,
}

impl RowFluxes {
    pub(super) fn new(cols: usize) -> Self {
        let row = vec![0.0; cols];
        Self {
            above: vec![0.0; cols + 1],
            across: vec![0.0; cols + 1],
            down: row.clone(),
            below_last: [row.clone(), row.clone(), row.clone()],
            above_first: row,
        }
    }

    /// The rows that the kernel of Hessian products uses.
    pub(super) fn for_hessian(&mut self) -> HessianFluxes<'_> {
        HessianFluxes {
            above: &mut self.above,
            across: &mut self.across,
            down: &mut self.down,
            above_first: &mut self.above_first,
            zeros: &self.below_last[0],
        }
    }
}

impl WithSimd for ImageGradient<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        if S::F64_LANES == 1 {
            // Most machines have vectors of two numbers, even if `pulp` does not detect them.
            self.run(Scalar128b)
        } else {
            self.run(simd)
        }
    }
}

impl ImageGradient<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> f64 {
        let Self {
            parameters,
            cols,
            data,
            x,
            gradient,
            fluxes,
        } = self;
        let num_cols = fluxes.down.len();
        assert_eq!(num_cols, cols, "the scratch belongs to another grid");
        let sweep = Sweep {
            parameters,
            cols,
            data,
            gradient,
            fluxes,
        };
        let (point, update) = match x {
            Samples::Fixed(x) => return sweep.run(simd, NoUpdate, Samples::Fixed(x), &mut []),
            Samples::Updating { point, update } => (point, update),
        };
        match update {
            Update::Descent { step } => sweep.run(simd, Descent { step }, updating(point), &mut []),
            Update::Accelerated {
                step,
                extrapolation,
                iterate,
            } => {
                let update = Accelerated {
                    step,
                    extrapolation,
                };
                sweep.run(simd, update, updating(point), iterate)
            }
            Update::HeavyBall {
                decay,
                ahead,
                back,
                impulse,
            } => {
                let update = HeavyBall { decay, ahead, back };
                sweep.run(simd, update, updating(point), impulse)
            }
            mut other => {
                other.apply(0..point.len(), point, sweep.gradient);
                sweep.run(simd, NoUpdate, Samples::Fixed(point), &mut [])
            }
        }
    }
}

/// Samples that the sweep updates.
const fn updating(point: &mut [f64]) -> Samples<'_, ()> {
    Samples::Updating { point, update: () }
}

/// One sweep down the rows of an image.
struct Sweep<'a> {
    parameters: TvParameters,
    cols: usize,
    data: &'a [f64],
    gradient: &'a mut [f64],
    fluxes: &'a mut RowFluxes,
}

impl Sweep<'_> {
    /// Each step updates one row, computes the fluxes of the row above it, and computes the
    /// gradient of the row above that one. A row outside the image is taken to equal its neighbour
    /// inside, so that there is no flux between them. Results for rows outside the image go to
    /// dummy rows.
    #[inline(always)]
    fn run<S: Simd, M: UpdateKernel>(
        self,
        simd: S,
        update: M,
        mut points: Samples<'_, ()>,
        memory: &mut [f64],
    ) -> f64 {
        let Self {
            parameters,
            cols,
            data,
            gradient,
            fluxes,
        } = self;
        let rows = data.len() / cols;
        let RowFluxes {
            above,
            across,
            down,
            below_last: [no_point, no_gradient, no_memory],
            above_first,
        } = fluxes;
        update.apply_scalar(points.split(0).1, gradient, memory, 0..cols);
        let mut sum = 0.0;
        for row in 0..=rows {
            let (this, up) = (row.min(rows - 1) * cols, row.saturating_sub(1) * cols);
            let end = this + cols;
            let (x, next) = points.split(end);
            let (done, ahead) = gradient.split_at_mut(end);
            let next = if M::UPDATES && row + 1 < rows {
                NextRow {
                    point: next,
                    gradient: ahead,
                    memory: &mut memory[if M::HAS_MEMORY { end } else { 0 }..],
                }
            } else {
                NextRow {
                    point: no_point,
                    gradient: no_gradient,
                    memory: no_memory,
                }
            };
            let step = RowStep {
                parameters,
                update,
                x: &x[this..end],
                above: &x[up..],
                data: &data[up..],
                flux_above: above,
                gradient: if row == 0 {
                    above_first
                } else {
                    &mut done[up..]
                },
                across,
                down,
                next,
            };
            let squares = step.run(simd);
            if row > 0 {
                sum += squares;
            }
            swap(above, across);
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::simd::dispatch;
    use lowlevel::norm_squared;
    use proptest::prelude::*;
    use pulp::Scalar;

    /// The inputs of a sweep. `update` is 0 for no update.
    #[derive(Clone, Debug)]
    struct Case {
        parameters: TvParameters,
        cols: usize,
        update: u8,
        data: Vec<f64>,
        point: Vec<f64>,
        gradient: Vec<f64>,
        memory: Vec<f64>,
    }

    fn cases() -> impl Strategy<Value = Case> {
        let vector = |len| proptest::collection::vec(-1.0..1.0_f64, len);
        let sizes = (1_usize..7, prop_oneof![4 => 1_usize..30, 1 => 60_usize..70]);
        (sizes, 0_u8..4, 0.0..2.0_f64, -8.0..0.0_f64).prop_flat_map(
            move |((rows, cols), update, alpha, digits)| {
                let parameters = TvParameters {
                    alpha,
                    nu: 10_f64.powf(digits),
                    xi: 0.01,
                };
                let len = rows * cols;
                (vector(len), vector(len), vector(len), vector(len)).prop_map(
                    move |(data, point, gradient, memory)| Case {
                        parameters,
                        cols,
                        update,
                        data,
                        point,
                        gradient,
                        memory,
                    },
                )
            },
        )
    }

    impl Case {
        fn update(update: u8, memory: &mut [f64]) -> Update<'_> {
            match update {
                1 => Update::Descent { step: 0.3 },
                2 => Update::Accelerated {
                    step: 0.3,
                    extrapolation: 0.6,
                    iterate: memory,
                },
                _ => Update::HeavyBall {
                    decay: 0.6,
                    ahead: 0.3,
                    back: 0.1,
                    impulse: memory,
                },
            }
        }

        /// Runs the kernel, and returns the bits of everything that it writes and of the squared
        /// norm.
        fn bits(mut self, run: impl FnOnce(ImageGradient<'_>) -> f64) -> Vec<u64> {
            let mut fluxes = RowFluxes::new(self.cols);
            let x = match self.update {
                0 => Samples::Fixed(&self.point),
                kind => Samples::Updating {
                    point: &mut self.point,
                    update: Self::update(kind, &mut self.memory),
                },
            };
            let square = run(ImageGradient {
                parameters: self.parameters,
                cols: self.cols,
                data: &self.data,
                x,
                gradient: &mut self.gradient,
                fluxes: &mut fluxes,
            });
            self.written(square)
        }

        /// Computes the same by a loop over samples.
        fn twin_bits(mut self) -> Vec<u64> {
            let len = self.data.len();
            if self.update > 0 {
                let mut update = Self::update(self.update, &mut self.memory);
                update.apply(0..len, &mut self.point, &self.gradient);
            }
            let (x, cols) = (&self.point, self.cols);
            let TvParameters { alpha, nu, xi } = self.parameters;
            let flux = |j: usize| {
                let dx = if j.is_multiple_of(cols) {
                    0.0
                } else {
                    x[j] - x[j - 1]
                };
                let dy = if j < cols { 0.0 } else { x[j] - x[j - cols] };
                let scale = alpha / (dx * dx + dy * dy + nu * nu).sqrt();
                [dx * scale, dy * scale]
            };
            for (j, gradient) in self.gradient.iter_mut().enumerate() {
                let last = (j + 1).is_multiple_of(cols);
                let right = if last { 0.0 } else { flux(j + 1)[0] };
                let below = if j + cols < len {
                    flux(j + cols)[1]
                } else {
                    0.0
                };
                let [left, above] = flux(j);
                let misfit = (1.0 + xi) * x[j] - self.data[j];
                *gradient = misfit + ((left - right) + (above - below));
            }
            let square = self.gradient.chunks(cols).map(norm_squared).sum();
            self.written(square)
        }

        fn written(&self, square: f64) -> Vec<u64> {
            let vectors = self.point.iter().chain(&self.gradient).chain(&self.memory);
            vectors.chain([&square]).map(|x| x.to_bits()).collect()
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        #[test]
        fn every_width_computes_what_a_loop_over_samples_does(case in cases()) {
            let expected = case.clone().twin_bits();
            prop_assert_eq!(&case.clone().bits(|kernel| dispatch(kernel)), &expected);
            prop_assert_eq!(&case.clone().bits(|kernel| kernel.run(Scalar128b)), &expected);
            prop_assert_eq!(&case.bits(|kernel| kernel.run(Scalar::new())), &expected);
        }
    }
}
