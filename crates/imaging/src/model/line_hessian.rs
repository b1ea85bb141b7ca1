//! The Hessian of 1D denoising, `$H = (1 + \xi)I + D^T K D$` with the weights
//! `$k_j = \alpha\nu^2/\sigma_j^3$`, where `$d = Dx$` and `$\sigma_j = \sqrt{d_j^2 + \nu^2}$`: its
//! products, its inverse, and its change in a ball. The differences are
//! [`Differences::LINE_OF_PAPER`](crate::Differences).

use lowlevel::{ThirdOrder, UNIT_ROUNDOFF, norm, norm_squared};
use pulp::{Simd, WithSimd};

use super::TvParameters;
use super::mixed::{MixedBound, MixedNorms, MixedSums, TvMixed, lane_sum};
use super::partition::{
    EliminatedPair, LANES, Partition, Row, load_row, solve_separators, store_row, with_vectors,
};
use super::simd::{dispatch, vectorize};
use super::third_derivative::{Geometry, TvBall};

/// The smallest `$\alpha\nu^2$` by which weights are divided: no weight that matters underflows.
const SMALL_SCALE: f64 = 1e-150;

/// The Hessian at a point, and working memory.
#[derive(Clone, Debug)]
pub(super) struct LineHessian {
    /// The moduli `$|d_j|$`.
    moduli: Vec<f64>,
    /// The weights `$k_j$`.
    weights: Vec<f64>,
    /// The parameters of the weights; `None` before the first point.
    parameters: Option<TvParameters>,
    /// Working memory: one number per difference, and one more, which is zero.
    fluxes: Vec<f64>,
    /// Working memory: one number per difference.
    changes: Vec<f64>,
    partition: Partition,
    /// The weights `$k_j$` in lanes.
    weight_rows: Vec<Row>,
    /// The right-hand side in lanes, overwritten by the solution.
    rows: Vec<Row>,
    eliminated: Vec<EliminatedPair>,
}

impl LineHessian {
    pub(super) fn new(num_samples: usize) -> Self {
        let partition = Partition::new(num_samples);
        let rows = vec![[0.0; LANES]; partition.num_rows()];
        Self {
            moduli: vec![0.0; num_samples],
            weights: vec![0.0; num_samples],
            parameters: None,
            fluxes: vec![0.0; num_samples + 1],
            changes: vec![0.0; num_samples],
            partition,
            weight_rows: rows.clone(),
            rows,
            eliminated: vec![EliminatedPair::ZERO; partition.num_rows() / 2],
        }
    }

    /// Computes the differences and the weights at `x`.
    pub(super) fn linearise(&mut self, parameters: TvParameters, x: &[f64]) {
        let TvParameters { alpha, nu, .. } = parameters;
        self.parameters = Some(parameters);
        vectorize(
            #[inline(always)]
            || {
                differences(x, &mut self.moduli, f64::abs);
                let (nu_squared, scale) = (nu * nu, alpha * (nu * nu));
                for (weight, d) in self.weights.iter_mut().zip(&self.moduli) {
                    let square = d * d + nu_squared;
                    *weight = scale / (square * square.sqrt());
                }
            },
        );
    }

    /// Overwrites `out` with `$Hv$`.
    pub(super) fn product(&mut self, parameters: TvParameters, v: &[f64], out: &mut [f64]) {
        vectorize(
            #[inline(always)]
            || {
                let (fluxes, _) = self.fluxes.split_at_mut(v.len());
                differences(v, fluxes, |d| d);
                for (flux, weight) in fluxes.iter_mut().zip(&self.weights) {
                    *flux *= weight;
                }
                let flows = self.fluxes.iter().zip(&self.fluxes[1..]);
                for ((out, v), (here, next)) in out.iter_mut().zip(v).zip(flows) {
                    *out = (1.0 + parameters.xi) * v + (here - next);
                }
            },
        );
    }

    /// Overwrites `q` with the solution of `$Hq = b$` for `rhs` = `$b$`.
    pub(super) fn solve(&mut self, parameters: TvParameters, rhs: &[f64], q: &mut [f64]) {
        dispatch(LineSolve {
            constant: 1.0 + parameters.xi,
            hessian: self,
            rhs,
            q,
        });
    }

    /// Bounds the change of the Hessian in a ball, as far as it is seen from `q`.
    pub(super) fn third_order(
        &mut self,
        parameters: TvParameters,
        q: &[f64],
        error: f64,
    ) -> ThirdOrder {
        vectorize(
            #[inline(always)]
            || {
                differences(q, &mut self.changes, |v| v * v);
                ball(parameters, error).third_order(&self.moduli, &self.changes)
            },
        )
    }

    /// Returns the mixed products of `q` at `x`. Uses only working memory. If the Hessian is that
    /// at `x`, its weights save roots and divisions: `$1/\sigma_j^3 = k_j/(\alpha\nu^2)$` and
    /// `$1/\sigma_j = (d_j^2 + \nu^2)/\sigma_j^3$`.
    pub(super) fn mixed_products(
        &mut self,
        parameters: TvParameters,
        x: &[f64],
        q: &[f64],
    ) -> TvMixed {
        let TvParameters { alpha, nu, .. } = parameters;
        let scale = alpha * (nu * nu);
        let is_known = self.parameters == Some(parameters) && scale > SMALL_SCALE;
        vectorize(
            #[inline(always)]
            || {
                let (terms, _) = self.fluxes.split_at_mut(x.len());
                differences(x, terms, |d| d);
                differences(q, &mut self.changes, |d| d);
                let points = || terms.iter().zip(&self.moduli);
                let is_same = |same: bool, (d, modulus): (&f64, &f64)| {
                    same & (d.abs().to_bits() == modulus.to_bits())
                };
                if is_known && points().fold(true, is_same) {
                    let inverse = 1.0 / scale;
                    let all = terms.iter_mut().zip(&mut self.changes).zip(&self.weights);
                    for ((term, change), weight) in all {
                        let square = *term * *term + nu * nu;
                        *change *= *term * (inverse * weight);
                        *term = *change * square;
                    }
                } else {
                    for (term, change) in terms.iter_mut().zip(&mut self.changes) {
                        let square = *term * *term + nu * nu;
                        let inverse = 1.0 / square.sqrt();
                        *term *= *change * inverse;
                        *change = *term * (inverse * inverse);
                    }
                }
                let sums = [lane_sum(terms), lane_sum(&self.changes)];
                for (term, (x, q)) in terms.iter_mut().zip(x.iter().zip(q)) {
                    *term = x * q;
                }
                TvMixed {
                    alpha: sums[0],
                    nu: -alpha * nu * sums[1],
                    xi: lane_sum(terms),
                }
            },
        )
    }

    /// Bounds the change of the mixed products in a ball. Uses only working memory.
    pub(super) fn mixed_bounds(
        &mut self,
        parameters: TvParameters,
        x: &[f64],
        q: &[f64],
        error: f64,
    ) -> [MixedBound; 3] {
        let TvParameters { alpha, nu, .. } = parameters;
        let mut norms = MixedNorms {
            alpha: 0.0,
            nu: 0.0,
            x: norm(x),
            q: norm(q),
        };
        let mut sums = MixedSums::new(ball(parameters, error));
        vectorize(
            #[inline(always)]
            || {
                let len = x.len();
                differences(x, &mut self.fluxes[..len], f64::abs);
                differences(q, &mut self.changes, f64::abs);
                sums.add(&self.fluxes[..len], &self.changes);
                differences(x, &mut self.fluxes[..len], |d| d);
                for flux in &mut self.fluxes[..len] {
                    *flux /= (*flux * *flux + nu * nu).sqrt();
                }
                norms.alpha = self.flow_norm();
                differences(x, &mut self.fluxes[..len], |d| d);
                for flux in &mut self.fluxes[..len] {
                    let square = *flux * *flux + nu * nu;
                    *flux *= alpha * nu / (square * square.sqrt());
                }
                norms.nu = self.flow_norm();
            },
        );
        sums.finish(norms, parameters)
    }

    /// Returns the norm of `$D^Tw$` for the fluxes `$w$`.
    #[inline(always)]
    fn flow_norm(&mut self) -> f64 {
        let flows = self.fluxes.iter().zip(&self.fluxes[1..]);
        for (change, (here, next)) in self.changes.iter_mut().zip(flows) {
            *change = here - next;
        }
        norm_squared(&self.changes).sqrt()
    }
}

/// Bounds the norm of the rounding error of a product, given `$\|v\|$` and `$L$`.
///
/// The sum under the root has a relative error of at most `$4u$`, so a weight has one of at most
/// `$11u$`, and a flux `$k_j(Dv)_j$` one of at most `$13u$`. The fluxes are no longer than
/// `$\frac{\alpha}{\nu}\|D\|\|v\|$`, so they contribute at most `$13u\frac{4\alpha}{\nu}\|v\|$`.
/// The quadratic terms have an error of `$2u(1 + \xi)\|v\|$`, and two additions contribute at most
/// `$2uL\|v\|$`. Together this is less than `$16uL\|v\|$`.
pub(super) fn product_rounding(lipschitz: f64, v_norm: f64) -> f64 {
    16.0 * UNIT_ROUNDOFF * lipschitz * v_norm
}

const fn ball(TvParameters { alpha, nu, .. }: TvParameters, error: f64) -> TvBall {
    TvBall {
        alpha,
        nu,
        geometry: Geometry::LINE,
        error,
    }
}

/// Overwrites `out` with a function of the differences of `x`.
#[inline(always)]
fn differences(x: &[f64], out: &mut [f64], of: impl Fn(f64) -> f64) {
    assert_eq!(x.len(), out.len(), "the scratch belongs to another grid");
    out[0] = of(x[0]);
    for ((out, x), left) in out[1..].iter_mut().zip(&x[1..]).zip(x) {
        *out = of(x - left);
    }
}

/// The solution of `$Hq = b$` in the segments of a [`Partition`].
#[derive(Debug)]
struct LineSolve<'a> {
    /// The number `$1 + \xi$`.
    constant: f64,
    hessian: &'a mut LineHessian,
    rhs: &'a [f64],
    q: &'a mut [f64],
}

impl WithSimd for LineSolve<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        with_vectors!(S, self, run, simd);
    }
}

impl LineSolve<'_> {
    #[inline(always)]
    fn run<S: Simd, const V: usize>(self, simd: S) {
        let LineHessian {
            partition,
            weights,
            weight_rows,
            rows,
            eliminated,
            ..
        } = self.hessian;
        partition.to_lanes(simd, weights, weight_rows);
        partition.to_lanes(simd, self.rhs, rows);
        let constant = simd.splat_f64s(self.constant);
        let (weights, _) = weight_rows.as_chunks::<2>();
        let (pairs, _) = rows.as_chunks_mut::<2>();
        for ((eliminated, weights), currents) in eliminated.iter_mut().zip(weights).zip(&*pairs) {
            for v in 0..V {
                let k = [0, 1].map(|i| load_row::<S>(&weights[i], v));
                let b = [0, 1].map(|i| load_row::<S>(&currents[i], v));
                eliminated.eliminate_first(simd, v, constant, k, b);
            }
        }
        let [separator, end] = solve_separators::<S, V>(simd, constant, eliminated);
        let mut right = [simd.splat_f64s(0.0); V];
        for (v, right) in right.iter_mut().enumerate() {
            *right = load_row::<S>(&end, v);
        }
        for (i, (solution, eliminated)) in pairs.iter_mut().zip(eliminated).enumerate().rev() {
            for (v, right) in right.iter_mut().enumerate() {
                let separator = load_row::<S>(&separator, v);
                let left = if i == 0 {
                    separator
                } else {
                    eliminated.left(simd, v, separator, *right)
                };
                let first = eliminated.first(simd, v, left, *right);
                store_row::<S>(&mut solution[0], v, first);
                store_row::<S>(&mut solution[1], v, *right);
                *right = left;
            }
        }
        partition.to_line(simd, rows, self.q);
    }
}
