//! Fused update and gradient of 2D denoising, with the differences of
//! [`Differences::IMAGE_OF_PAPER`](crate::Differences): one sweep over memory per iteration.

use std::mem::swap;

use lowlevel::Update;
use pulp::{Scalar128b, Simd, WithSimd};

use super::TvParameters;
use super::image_row::{Next, Step};
use super::update_kernel::{Accelerated, Descent, HeavyBall, NoUpdate, Samples, UpdateKernel};

/// Overwrites `gradient` with
/// `$(1 + \xi)x - y + \alpha\widehat\nabla^T(\widehat\nabla x/\sqrt{\|\widehat\nabla x\|^2 + \nu^2})$`;
/// returns its squared norm.
#[derive(Debug)]
pub(super) struct ImageGradient<'a> {
    pub(super) parameters: TvParameters,
    pub(super) cols: usize,
    pub(super) data: &'a [f64],
    pub(super) x: Samples<'a>,
    pub(super) gradient: &'a mut [f64],
    pub(super) fluxes: &'a mut RowFluxes,
}

/// Fluxes of two rows, which stay in the fastest cache, and stand-ins for the rows beyond the
/// edges.
#[derive(Clone, Debug)]
pub(super) struct RowFluxes {
    /// Into each sample of the row above from its left neighbour; zero into the first sample and
    /// behind the last.
    above: Vec<f64>,
    /// The same for this row.
    across: Vec<f64>,
    /// Into each sample of the row above from the one above it; once the sweep has passed, the same
    /// for this row.
    down: Vec<f64>,
    /// Moved instead of the row below the last: point, gradient, second number. All zero.
    below_last: [Vec<f64>; 3],
    /// Takes the gradient of the row above the first.
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
}

impl WithSimd for ImageGradient<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        if S::F64_LANES == 1 {
            self.run(Scalar128b) // most machines have vectors of two, even if `pulp` does not look for them
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
            Samples::Still(x) => return sweep.run(simd, NoUpdate, Samples::Still(x), &mut []),
            Samples::Moving { point, update } => (point, update),
        };
        match update {
            Update::Descent { step } => sweep.run(simd, Descent { step }, moving(point), &mut []),
            Update::Accelerated {
                step,
                extrapolation,
                iterate,
            } => {
                let update = Accelerated {
                    step,
                    extrapolation,
                };
                sweep.run(simd, update, moving(point), iterate)
            }
            Update::HeavyBall {
                decay,
                ahead,
                back,
                impulse,
            } => {
                let update = HeavyBall { decay, ahead, back };
                sweep.run(simd, update, moving(point), impulse)
            }
            mut other => {
                other.apply(0..point.len(), point, sweep.gradient);
                sweep.run(simd, NoUpdate, Samples::Still(point), &mut [])
            }
        }
    }
}

/// Samples that the sweep moves.
const fn moving(point: &mut [f64]) -> Samples<'_, ()> {
    Samples::Moving { point, update: () }
}

struct Sweep<'a> {
    parameters: TvParameters,
    cols: usize,
    data: &'a [f64],
    gradient: &'a mut [f64],
    fluxes: &'a mut RowFluxes,
}

impl Sweep<'_> {
    /// In each step one row is moved, the fluxes of the row above it are computed, and the gradient
    /// of the row above that. Rows beyond the edges are stood in for: there are no fluxes between
    /// equal rows, and what is computed for rows that are not there goes where nobody looks.
    #[inline(always)]
    fn run<S: Simd, M: UpdateKernel>(
        self,
        simd: S,
        update: M,
        mut points: Samples<'_, ()>,
        old: &mut [f64],
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
            below_last: [still, no_gradient, no_old],
            above_first,
        } = fluxes;
        update.apply_scalar(points.split(0).1, gradient, old, 0..cols);
        let mut sum = 0.0;
        for row in 0..=rows {
            let (this, up) = (row.min(rows - 1) * cols, row.saturating_sub(1) * cols);
            let end = this + cols;
            let (x, next) = points.split(end);
            let (done, ahead) = gradient.split_at_mut(end);
            let next = if M::MOVES && row + 1 < rows {
                Next {
                    point: next,
                    gradient: ahead,
                    old: &mut old[if M::REMEMBERS { end } else { 0 }..],
                }
            } else {
                Next {
                    point: still,
                    gradient: no_gradient,
                    old: no_old,
                }
            };
            let step = Step {
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

    /// What a step reads and writes, and the update: 0 for none.
    #[derive(Clone, Debug)]
    struct Case {
        parameters: TvParameters,
        cols: usize,
        update: u8,
        data: Vec<f64>,
        point: Vec<f64>,
        gradient: Vec<f64>,
        old: Vec<f64>,
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
                    move |(data, point, gradient, old)| Case {
                        parameters,
                        cols,
                        update,
                        data,
                        point,
                        gradient,
                        old,
                    },
                )
            },
        )
    }

    impl Case {
        fn update(update: u8, old: &mut [f64]) -> Update<'_> {
            match update {
                1 => Update::Descent { step: 0.3 },
                2 => Update::Accelerated {
                    step: 0.3,
                    extrapolation: 0.6,
                    iterate: old,
                },
                _ => Update::HeavyBall {
                    decay: 0.6,
                    ahead: 0.3,
                    back: 0.1,
                    impulse: old,
                },
            }
        }

        /// The bits of everything that is written, and of the squared norm.
        fn bits(mut self, run: impl FnOnce(ImageGradient<'_>) -> f64) -> Vec<u64> {
            let mut fluxes = RowFluxes::new(self.cols);
            let x = match self.update {
                0 => Samples::Still(&self.point),
                kind => Samples::Moving {
                    point: &mut self.point,
                    update: Self::update(kind, &mut self.old),
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

        /// The same by a loop over samples.
        fn twin_bits(mut self) -> Vec<u64> {
            let len = self.data.len();
            if self.update > 0 {
                let mut update = Self::update(self.update, &mut self.old);
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
            let vectors = self.point.iter().chain(&self.gradient).chain(&self.old);
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
