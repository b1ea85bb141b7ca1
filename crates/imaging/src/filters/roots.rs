//! A convex bank of cosine filters on complex pictures: the weights of its responses in Newton
//! systems, and products with them.
//!
//! Let `$d$` be the response of a filter at a pixel, with the potential
//! `$\alpha\sqrt{|d|^2 + \nu^2}$`, `$\sigma$` this root and `$n = d/\sigma$`. With a dual variable
//! `$p$` in the unit disc, its weight is the matrix
//! `$W = \frac{\alpha}{\sigma}\bigl(I - \frac12(pn^T + np^T)\bigr)$`. With `$p = n$` this is the
//! Hessian.

use std::f64::consts::PI;

use super::FilterRegularizer;
use super::TwoRoots;
use super::regularizer::{pairs, planes, split};
use super::sweep::{Lanes, Position, Responses, STRIP};
use crate::FilterBank;
use crate::error::ModelError;
use crate::grid::{Field, Grid};
use crate::model::vectorize;
use lowlevel::UNIT_ROUNDOFF;

/// The entries `$W_{11}$`, `$W_{12}$` and `$W_{22}$` of the weights of one filter's responses at
/// the pixels of a strip in one row.
pub(crate) type RootWeights = [Lanes; 3];

/// The dual variables of one filter's responses at the pixels of a strip in one row, by parts.
type Duals = [Lanes; 2];

/// The memory of [`RootWeights`] at one point.
#[derive(Clone, Debug)]
pub(crate) struct FilterWeights {
    weights: Vec<RootWeights>,
    /// For each filter, the sums of `$\alpha/\sigma$` and of its inverse over all pixels.
    sums: Vec<[f64; 2]>,
    /// The squared frequency responses of the cosine basis along each axis, one entry after the
    /// other: rows, then columns.
    squares: [Vec<f64>; 2],
}

impl FilterWeights {
    pub(crate) fn new(filters: &FilterRegularizer) -> Self {
        let basis = &filters.bank.basis;
        let squares = |len: usize| {
            let of = |v, k| basis.response(v, 2.0 * PI * k as f64 / len as f64).powi(2);
            let entries = (0..basis.size).flat_map(|v| (0..len).map(move |k| of(v, k)));
            entries.collect()
        };
        let (rows, cols) = filters.grid.rows_and_cols();
        Self {
            weights: vec![[[0.0; STRIP]; 3]; filters.num_strips()],
            sums: vec![[0.0; 2]; filters.bank.potentials.len()],
            squares: [squares(rows), squares(cols)],
        }
    }

    /// The geometric mean of the arithmetic and the harmonic mean of `$\alpha/\sigma$` of a filter.
    fn mean(&self, filter: usize) -> f64 {
        let [sum, inverse_sum] = self.sums[filter];
        let square = sum / inverse_sum;
        if square > 0.0 && square < f64::INFINITY {
            square.sqrt()
        } else {
            0.0
        }
    }
}

impl FilterRegularizer {
    /// The cosine filters of a complex picture with convex potentials. Their weights are multiples
    /// of a common one; there are 8, 24 or 48, for filters of 3 x 3, 5 x 5 or 7 x 7 pixels.
    pub(crate) fn convex(grid: Grid, weights: &[f64], nu: f64) -> Result<Self, ModelError> {
        debug_assert_eq!(grid.field(), Field::Complex);
        let fits = |size: &usize| size * size - 1 == weights.len();
        let Some(size) = FilterBank::SIZES.into_iter().find(fits) else {
            return Err(ModelError::OutOfRange {
                name: "the number of filters",
                found: weights.len() as f64,
                needed: "8, 24 or 48",
            });
        };
        let potential = |weight: &f64| TwoRoots::convex(*weight, nu);
        let bank = FilterBank::dct(size, weights.iter().map(potential).collect())?;
        Self::new(bank, grid)
    }

    /// The number of strips of all filters.
    fn num_strips(&self) -> usize {
        self.sweep().num_blocks() * self.bank.potentials.len()
    }

    /// The number of dual variables: two for each filter at each pixel, with some at the ends of
    /// strips that are zero.
    pub(crate) fn num_duals(&self) -> usize {
        2 * STRIP * self.num_strips()
    }

    /// The strips of a block.
    fn strips_of(&self, position: Position) -> std::ops::Range<usize> {
        let count = self.bank.potentials.len();
        position.block * count..(position.block + 1) * count
    }

    /// Computes the weights at `x`: those of the Hessian, or with the dual variables, which are
    /// moved into the unit disc. All potentials are multiplied by `factor`.
    pub(crate) fn linearise_roots(
        &self,
        factor: f64,
        x: &[f64],
        dual: Option<&[f64]>,
        out: &mut FilterWeights,
    ) {
        let dual = dual.map(as_duals);
        let FilterWeights { weights, sums, .. } = out;
        sums.fill([0.0; 2]);
        self.sweep()
            .read::<2>(planes(x), |position, responses: &mut [Responses; 2]| {
                let strips = self.strips_of(position);
                let weights = &mut weights[strips.clone()];
                let dual = dual.map(|dual| &dual[strips]);
                vectorize(
                    #[inline(always)]
                    || {
                        let filters = self.bank.potentials.iter().zip(&mut *weights);
                        for (k, (potential, weights)) in filters.enumerate() {
                            let (alpha, nu) = (factor * potential.alpha, potential.nu);
                            let [re, im] = responses.each_ref().map(|part| &part[k + 1]);
                            let mut scales = [0.0; STRIP];
                            for lane in 0..STRIP {
                                let (re, im) = (re[lane], im[lane]);
                                let inverse = 1.0 / (re * re + im * im + nu * nu).sqrt();
                                let n = [re * inverse, im * inverse];
                                let p = match dual {
                                    None => n,
                                    Some(dual) => into_disc([dual[k][0][lane], dual[k][1][lane]]),
                                };
                                let scale = alpha * inverse;
                                weights[0][lane] = scale * (1.0 - p[0] * n[0]);
                                weights[1][lane] = -0.5 * scale * (p[0] * n[1] + p[1] * n[0]);
                                weights[2][lane] = scale * (1.0 - p[1] * n[1]);
                                scales[lane] = scale;
                            }
                            let own = &scales[..position.count];
                            sums[k][0] += own.iter().sum::<f64>();
                            sums[k][1] += own.iter().map(|scale| 1.0 / scale).sum::<f64>();
                        }
                    },
                );
            });
    }

    /// Adds `$\sum_k C_k^TW_kC_ku$` to `out`.
    pub(crate) fn add_weighted(&self, weights: &FilterWeights, u: &[f64], out: &mut [f64]) {
        let kernel = |position: Position, responses: &mut [Responses; 2]| {
            let weights = &weights.weights[self.strips_of(position)];
            vectorize(
                #[inline(always)]
                || {
                    let [re, im] = &mut *responses;
                    let filters = re[1..].iter_mut().zip(&mut im[1..]).zip(weights);
                    for ((re, im), [first, mixed, second]) in filters {
                        for lane in 0..STRIP {
                            let (x, y) = (re[lane], im[lane]);
                            re[lane] = first[lane] * x + mixed[lane] * y;
                            im[lane] = mixed[lane] * x + second[lane] * y;
                        }
                    }
                    (re[0], im[0]) = ([0.0; STRIP], [0.0; STRIP]);
                },
            );
        };
        self.sweep().add::<f64, 2>(planes(u), out, kernel);
    }

    /// Overwrites `dual_step` with the change of the dual variables that belongs to a `step` from
    /// `x`: `$\Delta p = (d + \Delta d)/\sigma - \langle n, \Delta d\rangle p/\sigma - p$`.
    pub(crate) fn dual_step(&self, x: &[f64], step: &[f64], dual: &[f64], dual_step: &mut [f64]) {
        let dual = as_duals(dual);
        let (lanes, _) = dual_step.as_chunks_mut::<STRIP>();
        let (duals_out, _) = lanes.as_chunks_mut::<2>();
        self.sweep()
            .read::<4>(pairs::<2, 4>(x, step), |position, responses| {
                let strips = self.strips_of(position);
                let (old, new) = (&dual[strips.clone()], &mut duals_out[strips]);
                let [of_x, of_step] = split::<f64, 2, 4>(responses);
                vectorize(
                    #[inline(always)]
                    || {
                        for (k, potential) in self.bank.potentials.iter().enumerate() {
                            let d = of_x.each_ref().map(|part| &part[k + 1]);
                            let change = of_step.each_ref().map(|part| &part[k + 1]);
                            for lane in 0..STRIP {
                                let d = d.map(|part| part[lane]);
                                let change = change.map(|part| part[lane]);
                                let nu = potential.nu;
                                let inverse = 1.0 / (d[0] * d[0] + d[1] * d[1] + nu * nu).sqrt();
                                let old = [old[k][0][lane], old[k][1][lane]];
                                let p = into_disc(old);
                                let along =
                                    (d[0] * change[0] + d[1] * change[1]) * inverse * inverse;
                                for part in 0..2 {
                                    new[k][part][lane] = (d[part] + change[part]) * inverse
                                        - p[part] * along
                                        - old[part];
                                }
                            }
                            for part in &mut new[k] {
                                part[position.count..].fill(0.0);
                            }
                        }
                    },
                );
            });
    }

    /// Replaces `out` by pairs of numbers, filter after filter, with as many for each: with the
    /// responses `$d$` to `x` and `$t$` to `z` and `$h(d) = \sqrt{|d|^2 + \nu^2}$`, the modulus of
    /// `$\nabla h(d + t) - \nabla h(d) - \nabla^2h(d)t$`, and `$|d + t|$`. At the ends of strips
    /// are pairs of zeros.
    pub(crate) fn remainders(&self, x: &[f64], z: &[f64], out: &mut Vec<[f64; 2]>) {
        out.clear();
        out.resize(STRIP * self.num_strips(), [0.0; 2]);
        let per_filter = STRIP * self.sweep().num_blocks();
        self.sweep()
            .read::<4>(pairs::<2, 4>(x, z), |position, responses| {
                vectorize(
                    #[inline(always)]
                    || {
                        let filters = self.bank.potentials.iter().enumerate();
                        for ((k, potential), out) in filters.zip(out.chunks_exact_mut(per_filter)) {
                            let out = &mut out[STRIP * position.block..][..position.count];
                            let parts = responses.each_ref().map(|part| &part[k + 1]);
                            for (lane, out) in out.iter_mut().enumerate() {
                                let [re, im, z_re, z_im] = parts.map(|part| part[lane]);
                                *out = root_remainder([re, im], [z_re, z_im], potential.nu);
                            }
                        }
                    },
                );
            });
    }

    /// A bound on the modulus of a response to a picture whose parts have moduli of at most 1: the
    /// 1-norm of a filter of norm 1 is at most its size.
    pub(crate) fn response_bound(&self) -> f64 {
        1.5 * self.bank.size() as f64
    }

    /// A bound on its rounding error.
    pub(crate) fn response_rounding(&self) -> f64 {
        self.bank.roundings() * UNIT_ROUNDOFF * self.response_bound()
    }

    /// The potentials of all filters.
    pub(crate) fn potentials(&self) -> &[TwoRoots] {
        &self.bank.potentials
    }

    /// Adds the symbol of the bank, with one weight for each filter, to that of a periodic matrix.
    pub(crate) fn add_symbol(&self, weights: &FilterWeights, symbol: &mut [f64]) {
        let size = self.bank.size();
        let (rows, cols) = self.grid.rows_and_cols();
        let [down, across] = &weights.squares;
        for (row, symbol) in symbol.chunks_exact_mut(cols).enumerate() {
            for (h, across) in across.chunks_exact(cols).enumerate() {
                // Index zero is the constant filter.
                let first = usize::from(h == 0);
                let terms =
                    (first..size).map(|v| weights.mean(v * size + h - 1) * down[v * rows + row]);
                let sum: f64 = terms.sum();
                for (symbol, square) in symbol.iter_mut().zip(across) {
                    *symbol += sum * square;
                }
            }
        }
    }

    /// The derivatives of `$\langle\nabla R(x), q\rangle$` with respect to the weight of each
    /// filter, and to a common smoothing.
    pub(crate) fn root_products(&self, x: &[f64], q: &[f64], by_weight: &mut [f64]) -> f64 {
        let mut all = vec![[0.0; 4]; self.bank.potentials.len()];
        self.mixed_products(x, q, &mut all, &mut []);
        for (out, [by_alpha, ..]) in by_weight.iter_mut().zip(&all) {
            *out = *by_alpha;
        }
        all.iter().map(|[_, by_nu, ..]| by_nu).sum()
    }
}

fn as_duals(dual: &[f64]) -> &[Duals] {
    let (lanes, _) = dual.as_chunks::<STRIP>();
    lanes.as_chunks::<2>().0
}

/// Returns the nearest point of the unit disc.
#[inline(always)]
fn into_disc(p: [f64; 2]) -> [f64; 2] {
    let square = p[0] * p[0] + p[1] * p[1];
    let scale = if square > 1.0 {
        1.0 / square.sqrt()
    } else {
        1.0
    };
    [p[0] * scale, p[1] * scale]
}

/// Returns the modulus of `$\nabla h(d + t) - \nabla h(d) - \nabla^2h(d)t$` for
/// `$h(d) = \sqrt{|d|^2 + \nu^2}$`, and `$|d + t|$`.
#[inline(always)]
pub(crate) fn root_remainder<const N: usize>(d: [f64; N], t: [f64; N], nu: f64) -> [f64; 2] {
    let (mut square, mut moved_square, mut along) = (0.0, 0.0, 0.0);
    for k in 0..N {
        square += d[k] * d[k];
        moved_square += (d[k] + t[k]) * (d[k] + t[k]);
        along += d[k] * t[k];
    }
    let inverse = 1.0 / (square + nu * nu).sqrt();
    let moved_inverse = 1.0 / (moved_square + nu * nu).sqrt();
    let along = along * inverse * inverse;
    let mut rest = 0.0;
    for k in 0..N {
        let unit = d[k] * inverse;
        let term = (d[k] + t[k]) * moved_inverse - unit - (t[k] * inverse - unit * along);
        rest += term * term;
    }
    [rest.sqrt(), moved_square.sqrt()]
}
