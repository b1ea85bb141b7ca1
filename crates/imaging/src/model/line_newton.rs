//! Newton steps for 1D denoising: the primal-dual method of Chan, Golub and Mulet.
//!
//! T. F. Chan, G. H. Golub and P. Mulet, *A nonlinear primal-dual method for total variation-based
//! image restoration*, SIAM J. Sci. Comput. 20 (1999). With `$d = Dx$` and
//! `$\sigma_j = \sqrt{d_j^2 + \nu^2}$`, the minimiser and the dual variable `$p = d/\sigma$` solve
//!
//! ```math
//! (1 + \xi)x - y + \alpha D^T p = 0, \qquad \sigma_j p_j = d_j.
//! ```
//!
//! We apply Newton's method to both equations at once. The second equation gives
//! `$p^+ = \frac{1}{\sigma}\bigl(d + (1 - p\,d/\sigma)\,D\delta\bigr)$`, and with it the first
//! becomes
//!
//! ```math
//! \bigl((1 + \xi)I + D^T K D\bigr)\,\delta = -\nabla\Phi(x), \qquad k_j = \frac{\alpha}{\sigma_j}\Bigl(1 - \frac{p_jd_j}{\sigma_j}\Bigr).
//! ```
//!
//! The dual variables start as zeros, so that the first matrix is that of lagged diffusivity,
//! `$k = \alpha/\sigma$`. This is a good start: `$p = d/\sigma$` for the differences of the data,
//! for which the matrix is the Hessian, takes up to 5 steps more, and larger weights take one or
//! two more.
//!
//! A run of steps stores its vectors in lanes ([`Partition`]) and converts them back only at its
//! end. The gradient at the end of one step computes the differences that the next step needs.
//!
//! `$p^+$` is clipped to `$|p_j| \le 1$`. Hence `$0 \le k_j \le 2\alpha/\nu$`, and the matrix is
//! between `$(1 + \xi)I$` and `$(1 + \xi + 8\alpha/\nu)I$`.

use std::mem::swap;

use lowlevel::{NewtonPoint, NewtonRun, norm_squared};
use pulp::{Simd, WithSimd};

use super::TvParameters;
use super::inverse_root::InverseRoot;
use super::partition::{
    EliminatedPair, LANES, Partition, Row, load_row, solve_separators, store_row, with_vectors,
};

/// The working memory of the steps. All vectors except `eliminated` are lines in lanes, see
/// [`Partition`].
#[derive(Clone, Debug)]
pub(super) struct LineNewtonScratch {
    partition: Partition,
    /// The point `$x$`, after one row with the left neighbours of the first row.
    point: Vec<Row>,
    /// The dual variables `$p$`.
    dual: Vec<Row>,
    /// The data `$y$`.
    data: Vec<Row>,
    /// The numbers `$1/\sigma$`.
    inverse: Vec<Row>,
    /// The numbers `$d/\sigma$`, before one row with those of the right neighbours of the last row.
    direction: Vec<Row>,
    /// The negative gradient `$-\nabla\Phi$`.
    currents: Vec<Row>,
    /// The weights `$k/\alpha$`.
    weights: Vec<Row>,
    /// The step `$\delta$`, or the next point `$x + \delta$`, after one row like that of `point`.
    step: Vec<Row>,
    /// The next dual variables `$p^+$`.
    next_dual: Vec<Row>,
    eliminated: Vec<EliminatedPair>,
}

impl LineNewtonScratch {
    pub(super) fn new(num_samples: usize) -> Self {
        let partition = Partition::new(num_samples);
        let rows = vec![[0.0; LANES]; partition.num_rows()];
        let one_more = vec![[0.0; LANES]; partition.num_rows() + 1];
        Self {
            partition,
            point: one_more.clone(),
            dual: rows.clone(),
            data: rows.clone(),
            inverse: rows.clone(),
            direction: one_more.clone(),
            currents: rows.clone(),
            weights: rows.clone(),
            step: one_more,
            next_dual: rows,
            eliminated: vec![EliminatedPair::ZERO; partition.num_rows() / 2],
        }
    }
}

/// One Newton step: overwrites `step` with `$\delta$` and `dual_step` with `$p^+ - p$`.
#[derive(Debug)]
pub(super) struct LineNewton<'a> {
    pub(super) parameters: TvParameters,
    pub(super) at: &'a NewtonPoint<'a>,
    pub(super) step: &'a mut [f64],
    pub(super) dual_step: &'a mut [f64],
    pub(super) scratch: &'a mut LineNewtonScratch,
}

impl WithSimd for LineNewton<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        with_vectors!(S, self, run, simd);
    }
}

impl LineNewton<'_> {
    #[inline(always)]
    fn run<S: Simd, const V: usize>(self, simd: S) {
        let partition = self.scratch.partition;
        let scratch = self.scratch;
        partition.to_lanes(simd, self.at.x, &mut scratch.point[1..]);
        partition.to_lanes(simd, self.at.dual, &mut scratch.dual);
        partition.to_lanes(simd, self.at.gradient, &mut scratch.currents);
        for current in scratch.currents.as_flattened_mut() {
            *current = -*current;
        }
        scratch.clip_dual();
        scratch.differentiate(self.parameters);
        scratch.solve::<S, V>(simd, self.parameters);
        partition.to_line(simd, &scratch.step[1..], self.step);
        partition.to_line(simd, &scratch.next_dual, self.dual_step);
        for (next, dual) in self.dual_step.iter_mut().zip(self.at.dual) {
            *next -= dual;
        }
    }
}

/// A run of whole Newton steps.
#[derive(Debug)]
pub(super) struct LineRun<'a, 'b> {
    pub(super) parameters: TvParameters,
    pub(super) data: &'a [f64],
    pub(super) run: &'a mut NewtonRun<'b>,
    pub(super) scratch: &'a mut LineNewtonScratch,
}

impl WithSimd for LineRun<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        with_vectors!(S, self, make, simd);
    }
}

impl LineRun<'_, '_> {
    #[inline(always)]
    fn make<S: Simd, const V: usize>(self, simd: S) {
        let Self {
            parameters,
            data,
            run,
            scratch,
        } = self;
        let partition = scratch.partition;
        partition.to_lanes(simd, run.x, &mut scratch.point[1..]);
        partition.to_lanes(simd, run.dual, &mut scratch.dual);
        partition.to_lanes(simd, data, &mut scratch.data);
        scratch.clip_dual();
        scratch.differentiate(parameters);
        scratch.evaluate(parameters);
        while run.goes_on() {
            scratch.solve::<S, V>(simd, parameters);
            let step = scratch.step.as_flattened_mut();
            for (step, x) in step.iter_mut().zip(scratch.point.as_flattened()) {
                *step += x;
            }
            swap(&mut scratch.point, &mut scratch.step);
            scratch.differentiate(parameters);
            let squared = scratch.evaluate(parameters);
            if !run.accept(squared.sqrt()) {
                swap(&mut scratch.point, &mut scratch.step);
                break;
            }
            swap(&mut scratch.dual, &mut scratch.next_dual);
        }
        if run.num_steps() > 0 {
            partition.to_line(simd, &scratch.point[1..], run.x);
            partition.to_line(simd, &scratch.dual, run.dual);
        }
    }
}

impl LineNewtonScratch {
    /// Clips the dual variables to `$[-1, 1]$`.
    #[inline(always)]
    fn clip_dual(&mut self) {
        for p in self.dual.as_flattened_mut() {
            *p = p.clamp(-1.0, 1.0);
        }
    }

    /// Computes `$1/\sigma$` and `$d/\sigma$`. The first half uses a square root and a division,
    /// the second [`InverseRoot`], so that both parts of the processor are busy.
    #[inline(always)]
    fn differentiate(&mut self, TvParameters { nu, .. }: TvParameters) {
        let num_rows = self.partition.num_rows();
        let ends = self.point[num_rows];
        // The left neighbour of the line itself is zero.
        self.point[0][1..].copy_from_slice(&ends[..LANES - 1]);
        let half = num_rows / 2 * LANES;
        let x = self.point.as_flattened();
        let (left_one, left_two) = (&x[..half], &x[half..2 * half]);
        let (x_one, x_two) = (&x[LANES..LANES + half], &x[LANES + half..]);
        let (inverse_one, inverse_two) = self.inverse.as_flattened_mut().split_at_mut(half);
        let (direction_one, direction_two) = self.direction.as_flattened_mut().split_at_mut(half);
        let (x_two, direction_two) = (&x_two[..half], &mut direction_two[..half]);
        let (inverse_two, nu_squared) = (&mut inverse_two[..half], nu * nu);
        let inverse_root = InverseRoot::new(1.0);
        for j in 0..half {
            let d = x_two[j] - left_two[j];
            inverse_two[j] = inverse_root.at(d * d + nu_squared);
            direction_two[j] = d * inverse_two[j];
            let d = x_one[j] - left_one[j];
            inverse_one[j] = 1.0 / (d * d + nu_squared).sqrt();
            direction_one[j] = d * inverse_one[j];
        }
        for sample in self.partition.beyond() {
            let (row, lane) = self.partition.position(sample);
            self.inverse[row][lane] = 0.0;
            self.direction[row][lane] = 0.0;
        }
        let begins = self.direction[0];
        // Beyond the end of the line comes zero.
        self.direction[num_rows][..LANES - 1].copy_from_slice(&begins[1..]);
    }

    /// Computes the negative gradient, and returns its squared norm.
    #[inline(always)]
    fn evaluate(&mut self, parameters: TvParameters) -> f64 {
        let direction = self.direction.as_flattened();
        let flows = direction.iter().zip(&direction[LANES..]);
        let misfits = self.point.as_flattened()[LANES..]
            .iter()
            .zip(self.data.as_flattened());
        let currents = self.currents.as_flattened_mut();
        for ((current, (x, data)), (left, right)) in currents.iter_mut().zip(misfits).zip(flows) {
            *current = parameters.alpha * (right - left) - parameters.misfit(*x, *data);
        }
        norm_squared(currents)
    }

    /// Computes `$\delta$` and `$p^+$`.
    #[inline(always)]
    fn solve<S: Simd, const V: usize>(&mut self, simd: S, parameters: TvParameters) {
        let [left, end] = self.eliminate::<S, V>(simd, parameters);
        self.substitute::<S, V>(simd, &left, &end);
    }

    /// Computes the weights of the linear system, eliminates all nodes except the separators, and
    /// returns `$\delta$` there: first on the left of each segment, then at its end.
    #[inline(always)]
    fn eliminate<S: Simd, const V: usize>(
        &mut self,
        simd: S,
        TvParameters { alpha, xi, .. }: TvParameters,
    ) -> [Row; 2] {
        let [alpha, constant] = [alpha, 1.0 + xi].map(|a| simd.splat_f64s(a));
        let (weights, _) = self.weights.as_chunks_mut::<2>();
        let (currents, _) = self.currents.as_chunks::<2>();
        let (dual, _) = self.dual.as_chunks::<2>();
        let (direction, _) = self.direction.as_chunks::<2>();
        let (inverse, _) = self.inverse.as_chunks::<2>();
        let known = currents.iter().zip(dual).zip(direction).zip(inverse);
        let pairs = self.eliminated.iter_mut().zip(weights).zip(known);
        for ((eliminated, weights), (((currents, dual), direction), inverse)) in pairs {
            for v in 0..V {
                let [mut k, mut b] = [[alpha; 2]; 2];
                for i in 0..2 {
                    let weight = weight(
                        simd,
                        load_row::<S>(&dual[i], v),
                        load_row::<S>(&direction[i], v),
                        load_row::<S>(&inverse[i], v),
                    );
                    store_row::<S>(&mut weights[i], v, weight);
                    k[i] = simd.mul_f64s(alpha, weight);
                    b[i] = load_row::<S>(&currents[i], v);
                }
                eliminated.eliminate_first(simd, v, constant, k, b);
            }
        }
        solve_separators::<S, V>(simd, constant, &mut self.eliminated)
    }

    /// Computes `$\delta$` at the eliminated nodes, from right to left, and `$p^+$`.
    #[inline(always)]
    fn substitute<S: Simd, const V: usize>(&mut self, simd: S, separator: &Row, end: &Row) {
        let (step, _) = self.step[1..].as_chunks_mut::<2>();
        let (next_dual, _) = self.next_dual.as_chunks_mut::<2>();
        let (weights, _) = self.weights.as_chunks::<2>();
        let (direction, _) = self.direction.as_chunks::<2>();
        let solved = step.iter_mut().zip(next_dual);
        let known = self.eliminated.iter().zip(weights).zip(direction);
        let mut right = [simd.splat_f64s(0.0); V];
        for (v, right) in right.iter_mut().enumerate() {
            *right = load_row::<S>(end, v);
        }
        let pairs = solved.zip(known).enumerate().rev();
        for (i, ((step, next_dual), ((eliminated, weights), direction))) in pairs {
            for (v, right) in right.iter_mut().enumerate() {
                let separator = load_row::<S>(separator, v);
                let left = if i == 0 {
                    separator
                } else {
                    eliminated.left(simd, v, separator, *right)
                };
                let first = eliminated.first(simd, v, left, *right);
                for (i, left, own) in [(0, left, first), (1, first, *right)] {
                    store_row::<S>(&mut step[i], v, own);
                    let change = simd.sub_f64s(own, left);
                    let turned = simd.mul_f64s(load_row::<S>(&weights[i], v), change);
                    let turned = simd.add_f64s(load_row::<S>(&direction[i], v), turned);
                    store_row::<S>(&mut next_dual[i], v, clip(simd, turned));
                }
                *right = left;
            }
        }
    }
}

/// Returns the weight `$k/\alpha$`. Rounding may make `$1 - pd/\sigma$` negative, so it is raised
/// to zero.
#[inline(always)]
fn weight<S: Simd>(simd: S, dual: S::f64s, direction: S::f64s, inverse: S::f64s) -> S::f64s {
    let along = simd.mul_f64s(dual, direction);
    let freedom = simd.sub_f64s(simd.splat_f64s(1.0), along);
    simd.mul_f64s(simd.max_f64s(freedom, simd.splat_f64s(0.0)), inverse)
}

/// Returns the numbers clipped to `$[-1, 1]$`.
#[inline(always)]
pub(super) fn clip<S: Simd>(simd: S, p: S::f64s) -> S::f64s {
    simd.max_f64s(
        simd.min_f64s(p, simd.splat_f64s(1.0)),
        simd.splat_f64s(-1.0),
    )
}
