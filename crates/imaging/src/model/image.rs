//! Fused update and gradient of 2D denoising, with the differences of
//! [`Differences::IMAGE_OF_PAPER`](crate::Differences): one sweep over memory per iteration.

use std::mem::swap;

use lowlevel::{Update, norm_squared};
use pulp::{Simd, WithSimd};

use super::TvParameters;
use super::motion::{Accelerated, Descent, HeavyBall, Motion, Points, Rest};
use super::simd::Samples;

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

/// Fluxes of three rows, which stay in the fastest cache.
#[derive(Clone, Debug)]
pub(super) struct RowFluxes {
    here: Fluxes,
    below: Fluxes,
    ahead: Fluxes,
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
            ahead: here.clone(),
            here,
        }
    }

    /// One row down: what was here is free for the row ahead.
    fn advance(&mut self) {
        swap(&mut self.here, &mut self.below);
        swap(&mut self.below, &mut self.ahead);
    }
}

impl WithSimd for ImageGradient<'_> {
    type Output = f64;

    /// Plain loops: the compiler vectorises them for the dispatched machine.
    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> f64 {
        let Self {
            parameters,
            cols,
            data,
            x,
            gradient,
            fluxes,
        } = self;
        let num_cols = fluxes.here.down.len();
        assert_eq!(num_cols, cols, "the scratch belongs to another grid");
        let sweep = Sweep {
            parameters,
            cols,
            data,
            gradient,
            fluxes,
        };
        match x {
            Samples::Still(x) => sweep.run(Rest, Points::Still(x), &mut []),
            Samples::Moving { point, update } => match update {
                Update::Descent { step } => {
                    sweep.run(Descent { step }, Points::Moving(point), &mut [])
                }
                Update::Accelerated {
                    step,
                    extrapolation,
                    iterate,
                } => {
                    let motion = Accelerated {
                        step,
                        extrapolation,
                    };
                    sweep.run(motion, Points::Moving(point), iterate)
                }
                Update::HeavyBall {
                    step,
                    momentum,
                    extrapolation,
                    resting,
                } => {
                    let motion = HeavyBall {
                        step,
                        momentum,
                        extrapolation,
                    };
                    sweep.run(motion, Points::Moving(point), resting)
                }
                mut other => {
                    other.apply(0..point.len(), point, sweep.gradient);
                    sweep.run(Rest, Points::Still(point), &mut [])
                }
            },
        }
    }
}

struct Sweep<'a> {
    parameters: TvParameters,
    cols: usize,
    data: &'a [f64],
    gradient: &'a mut [f64],
    fluxes: &'a mut RowFluxes,
}

impl Sweep<'_> {
    /// In each step one row is moved, the fluxes of the row above it are computed, and the gradient of the row two further up:
    /// no entry waits for another of the same step, so that square roots, sums and memory overlap.
    #[inline(always)]
    fn run<M: Motion>(self, motion: M, mut points: Points<'_>, old: &mut [f64]) -> f64 {
        let Self {
            parameters,
            cols,
            data,
            gradient,
            fluxes,
        } = self;
        let rows = data.len() / cols;
        motion.settle(points.split(0).1, gradient, old, 0..cols);
        let mut sum = 0.0;
        for row in 0..rows + 2 {
            let (start, end) = (row * cols, (row + 1) * cols);
            let RowFluxes { here, below, ahead } = &mut *fluxes;
            if row >= 2 && (row + 1 < rows || (row < rows && !M::MOVES)) {
                let (x, next) = points.split(end);
                let (done, next_gradient) = gradient.split_at_mut(end);
                let old = &mut old[if M::REMEMBERS { end } else { 0 }..];
                let (from, above) = (start - 2 * cols, start - cols);
                // The first column has no left neighbour.
                for (first, last) in [(0, 1), (1, cols)] {
                    step(
                        parameters,
                        motion,
                        &x[start + first..start + last],
                        &x[start + first.saturating_sub(1)..],
                        &x[above + first..],
                        &mut ahead.across[first..],
                        &mut ahead.down[first..],
                        &x[from + first..],
                        &data[from + first..],
                        &here.across[first..],
                        &here.across[first + 1..],
                        &here.down[first..],
                        &below.down[first..],
                        &mut done[from + first..],
                        &mut next[if M::MOVES { first } else { 0 }..],
                        &next_gradient[if M::MOVES { first } else { 0 }..],
                        &mut old[if M::REMEMBERS { first } else { 0 }..],
                    );
                }
            } else {
                if row + 1 < rows {
                    motion.settle(points.split(0).1, gradient, old, end..end + cols);
                }
                let x = points.values();
                if row < rows {
                    let above = &x[start.saturating_sub(cols)..]; // none above the first row
                    let row = &x[start..end];
                    flux_row(parameters, &row[..1], row, above, ahead, 0);
                    flux_row(parameters, &row[1..], row, &above[1..], ahead, 1);
                } else {
                    ahead.down.fill(0.0);
                }
                if row >= 2 {
                    let from = start - 2 * cols;
                    entry_row(
                        parameters,
                        &x[from..from + cols],
                        &data[from..],
                        &here.across,
                        &here.across[1..],
                        &here.down,
                        &below.down,
                        &mut gradient[from..],
                    );
                }
            }
            if row >= 2 {
                sum += norm_squared(&gradient[start - 2 * cols..start - cols]);
            }
            fluxes.advance();
        }
        sum
    }
}

/// One step of the sweep, all slices as long as `x`: the fluxes into the samples `x`, the gradient at the samples `done`, and
/// the samples `next` moved.
#[expect(
    clippy::too_many_arguments,
    reason = "slices that are arguments are known not to overlap, which lets the compiler vectorise"
)]
#[inline(always)]
fn step<M: Motion>(
    parameters: TvParameters,
    motion: M,
    x: &[f64],
    left: &[f64],
    above: &[f64],
    across: &mut [f64],
    down: &mut [f64],
    done: &[f64],
    data: &[f64],
    done_left: &[f64],
    done_right: &[f64],
    done_above: &[f64],
    done_below: &[f64],
    gradient: &mut [f64],
    next: &mut [f64],
    next_gradient: &[f64],
    next_old: &mut [f64],
) {
    let len = x.len();
    let (left, above) = (&left[..len], &above[..len]);
    let (across, down) = (&mut across[..len], &mut down[..len]);
    let (done, data, gradient) = (&done[..len], &data[..len], &mut gradient[..len]);
    let (done_left, done_right) = (&done_left[..len], &done_right[..len]);
    let (done_above, done_below) = (&done_above[..len], &done_below[..len]);
    let moving = if M::MOVES { len } else { 0 };
    let (next, next_gradient) = (&mut next[..moving], &next_gradient[..moving]);
    let next_old = &mut next_old[..if M::REMEMBERS { len } else { 0 }];
    for j in 0..len {
        // What is stored comes last: rows may lie a multiple of 4096 bytes apart, and a load waits for an earlier store whose
        // address ends alike.
        let flow = (done_left[j] - done_right[j]) + (done_above[j] - done_below[j]);
        let entry = parameters.misfit(done[j], data[j]) + flow;
        let flux = parameters.flux(x[j], left[j], above[j]);
        if M::MOVES {
            let old = if M::REMEMBERS { next_old[j] } else { 0.0 };
            let (moved, old) = motion.moved(next[j], next_gradient[j], old);
            next[j] = moved;
            if M::REMEMBERS {
                next_old[j] = old;
            }
        }
        gradient[j] = entry;
        [across[j], down[j]] = flux;
    }
}

/// The fluxes into the samples `x`, the first of which is in column `first`; `row` begins at their left neighbours.
#[inline(always)]
fn flux_row(
    parameters: TvParameters,
    x: &[f64],
    row: &[f64],
    above: &[f64],
    fluxes: &mut Fluxes,
    first: usize,
) {
    let across = fluxes.across[first..].iter_mut();
    let fluxes = across.zip(&mut fluxes.down[first..]);
    for (((across, down), x), (left, above)) in fluxes.zip(x).zip(row.iter().zip(above)) {
        [*across, *down] = parameters.flux(*x, *left, *above);
    }
}

/// The gradient at the samples `x`, from the fluxes on their four sides.
#[expect(clippy::too_many_arguments, reason = "as for a step")]
#[inline(always)]
fn entry_row(
    parameters: TvParameters,
    x: &[f64],
    data: &[f64],
    left: &[f64],
    right: &[f64],
    above: &[f64],
    below: &[f64],
    gradient: &mut [f64],
) {
    let flows = left.iter().zip(right).zip(above.iter().zip(below));
    for (((gradient, x), data), ((left, right), (above, below))) in
        gradient.iter_mut().zip(x).zip(data).zip(flows)
    {
        let flow = (left - right) + (above - below);
        *gradient = parameters.misfit(*x, *data) + flow;
    }
}

impl TvParameters {
    /// `$\alpha\widehat\nabla x/\sqrt{\|\widehat\nabla x\|^2 + \nu^2}$`, across and down.
    #[inline(always)]
    fn flux(self, x: f64, left: f64, above: f64) -> [f64; 2] {
        let (dx, dy) = (x - left, x - above);
        let scale = self.alpha / (dx * dx + dy * dy + self.nu * self.nu).sqrt();
        [dx * scale, dy * scale]
    }
}
