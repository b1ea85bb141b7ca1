//! Mixed derivatives of the smoothed total variation on every grid, and bounds in a ball around a
//! point. The formulas are those of [`mixed`](super::mixed) and
//! [`third_derivative`](super::third_derivative); this module supplies the differences.

use lowlevel::{ThirdOrder, norm};

use super::TvParameters;
use super::mixed::{MixedBound, MixedNorms, MixedSums, TvMixed};
use super::simd::vectorize;
use super::third_derivative::{Geometry, ThirdOrderSums, TvBall};
use crate::grid::{Field, Grid};
use crate::regularizer::strips::{STRIP, Strip, StripKernel, sweep};
use crate::regularizer::{Linearised, SmoothedTv};

/// The constants of the differences on `grid`, for every boundary.
///
/// At a border, the differences of a sample have the same entries if the boundary is periodic, lose
/// an entry if it is zero, and vanish if it is symmetric. None of this makes a norm larger. Complex
/// samples have two copies of the differences of real ones.
const fn geometry(grid: Grid) -> Geometry {
    match (grid.num_axes(), grid.field()) {
        (1, Field::Real) => Geometry::LINE,
        (1, Field::Complex) => Geometry::COMPLEX_LINE,
        (2, _) => Geometry::PICTURE,
        _ => Geometry::VOLUME,
    }
}

/// Bounds the change of the Hessian of `tv` in a ball of radius `error`, seen from `q`. `at` is the
/// Hessian at the centre.
pub(crate) fn tv_third_order(
    tv: &SmoothedTv,
    at: Linearised<'_>,
    q: &[f64],
    error: f64,
) -> ThirdOrder {
    let ball = TvBall {
        alpha: 1.0,
        nu: tv.nu(),
        geometry: geometry(tv.grid()),
        error,
    };
    // The square of a difference is a sum of up to four squares, or six for volumes, each of a
    // difference of two entries.
    let entries = if tv.grid().num_axes() == 3 { 5.0 } else { 4.0 };
    let most = entries * largest_entry(q);
    let sums = ThirdOrderSums::new(ball, most * most);
    over_moduli(tv, at, q, sums).finish()
}

/// Returns the largest modulus of an entry.
fn largest_entry(q: &[f64]) -> f64 {
    let larger = |a: f64, b: f64| if a > b { a } else { b };
    vectorize(
        #[inline(always)]
        || {
            let (blocks, rest) = q.as_chunks::<LANES>();
            let mut lanes = [0.0; LANES];
            for block in blocks {
                for (lane, entry) in lanes.iter_mut().zip(block) {
                    *lane = larger(entry.abs(), *lane);
                }
            }
            lanes
                .iter()
                .chain(rest)
                .fold(0.0, |a, b| larger(b.abs(), a))
        },
    )
}

/// The term `$\alpha\operatorname{TV}_\nu(x) + \frac{\xi}{2}\|x\|^2$` of a model.
#[derive(Clone, Copy, Debug)]
pub(super) struct TvTerm<'a> {
    pub(super) tv: &'a SmoothedTv,
    pub(super) alpha: f64,
    pub(super) xi: f64,
}

impl TvTerm<'_> {
    /// Returns the products of `q` with the mixed derivatives at `x`. `memory` holds the Hessian at
    /// `x`.
    pub(super) fn products(self, x: &[f64], q: &[f64], memory: &[f64]) -> TvMixed {
        let at = self.tv.stored(memory);
        let sums = sweep(
            self.tv,
            ProductSums {
                at,
                q,
                sums: [0.0; 2],
            },
        );
        TvMixed {
            alpha: sums.sums[0],
            nu: -self.alpha * self.tv.nu() * sums.sums[1],
            xi: inner(x, q),
        }
    }

    /// Bounds the change of the products and the norms of the mixed derivatives in a ball of radius
    /// `error`. `memory` holds the Hessian at `x`; its free part is overwritten.
    pub(super) fn bounds(
        self,
        x: &[f64],
        q: &[f64],
        error: f64,
        memory: &mut [f64],
    ) -> [MixedBound; 3] {
        let (at, column) = self.tv.linearised(memory);
        let (alpha, nu) = (self.alpha, self.tv.nu());
        let ball = TvBall {
            alpha,
            nu,
            geometry: geometry(self.tv.grid()),
            error,
        };
        let sums = over_moduli(self.tv, at, q, MixedSums::new(ball));
        let mut column_norm = |divided: bool| {
            column.fill(0.0);
            let out = &mut *column;
            sweep(self.tv, AddColumn { divided, at, out });
            norm(column)
        };
        let norms = MixedNorms {
            alpha: column_norm(false),
            nu: alpha * nu * column_norm(true),
            x: norm(x),
            q: norm(q),
        };
        let xi = self.xi;
        let mut bounds = sums.finish(norms, TvParameters { alpha, nu, xi });
        if alpha == 0.0 {
            // Without total variation nothing depends on its smoothing.
            bounds[1] = MixedBound {
                change: 0.0,
                norm: 0.0,
            };
        }
        bounds
    }
}

/// Sums over the moduli `$|d_j|$` and `$|(Dq)_j|$` of all differences.
trait Sums {
    /// Whether `include` takes the squares `$|(Dq)_j|^2$`.
    const TAKES_SQUARES: bool;

    /// Includes some differences. Must be inlined.
    fn include(&mut self, moduli: &[f64], changes: &[f64]);
}

impl Sums for ThirdOrderSums {
    const TAKES_SQUARES: bool = true;

    #[inline(always)]
    fn include(&mut self, moduli: &[f64], changes: &[f64]) {
        self.add(moduli, changes);
    }
}

impl Sums for MixedSums {
    const TAKES_SQUARES: bool = false;

    #[inline(always)]
    fn include(&mut self, moduli: &[f64], changes: &[f64]) {
        self.add(moduli, changes);
    }
}

/// Includes all differences in `sums`.
fn over_moduli<S: Sums>(tv: &SmoothedTv, at: Linearised<'_>, q: &[f64], sums: S) -> S {
    sweep(tv, Moduli { at, q, sums }).sums
}

/// Computes the moduli strip by strip.
struct Moduli<'a, S> {
    at: Linearised<'a>,
    q: &'a [f64],
    sums: S,
}

impl<S: Sums> StripKernel for Moduli<'_, S> {
    /// The moduli `$|d_j| = |n_j|\sigma_j$` have a relative error of at most `$6u$`: one for the
    /// difference, one for its product with the stored `$1/\sigma_j$`, two for the sum of up to
    /// four squares under the root, one for the root, and one for the quotient. Volumes have up to
    /// six squares and `$7u$`.
    #[inline(always)]
    fn strip<const P: usize>(&mut self, strip: Strip) {
        let len = P * strip.count;
        let (mut across, mut down, mut deep) = ([0.0; STRIP], [0.0; STRIP], [0.0; STRIP]);
        let differences = [&mut across[..len], &mut down[..len], &mut deep[..len]];
        strip.subtract_all(self.q, differences);
        let at = self.at.strip::<P>(strip, &[0.0; STRIP]);
        let n = [at.across, at.down].map(|n| n.as_chunks::<P>().0);
        let z = [&across[..len], &down[..len]].map(|z| z.as_chunks::<P>().0);
        let (mut moduli, mut changes) = ([0.0; STRIP], [0.0; STRIP]);
        let out = moduli.iter_mut().zip(&mut changes);
        let n = n[0].iter().zip(n[1]);
        let z = z[0].iter().zip(z[1]);
        for (((modulus, change), (n_across, n_down)), (z_across, z_down)) in out.zip(n).zip(z) {
            let (mut n, mut z) = (0.0, 0.0);
            for part in 0..P {
                n += n_across[part] * n_across[part] + n_down[part] * n_down[part];
                z += z_across[part] * z_across[part] + z_down[part] * z_down[part];
            }
            (*modulus, *change) = (n, z);
        }
        let deep = deep[..len].as_chunks::<P>().0.iter();
        let deep = deep.zip(at.deep.as_chunks::<P>().0);
        for ((modulus, change), (z, n)) in moduli.iter_mut().zip(&mut changes).zip(deep) {
            for part in 0..P {
                *modulus += n[part] * n[part];
                *change += z[part] * z[part];
            }
        }
        for ((modulus, change), inverse) in moduli.iter_mut().zip(&mut changes).zip(at.inverse) {
            *modulus = modulus.sqrt() / inverse;
            if !S::TAKES_SQUARES {
                *change = change.sqrt();
            }
        }
        self.sums
            .include(&moduli[..strip.count], &changes[..strip.count]);
    }
}

/// The number of partial sums, which are added in a fixed order.
const LANES: usize = 8;

/// Returns the sum of `terms`, added in an order that does not depend on the machine.
#[inline(always)]
fn sum(terms: &[f64]) -> f64 {
    let (blocks, rest) = terms.as_chunks::<LANES>();
    let mut lanes = [0.0; LANES];
    for block in blocks {
        for (lane, term) in lanes.iter_mut().zip(block) {
            *lane += term;
        }
    }
    lanes.iter().chain(rest).sum()
}

/// Returns the inner product, added in the same order.
pub(super) fn inner(x: &[f64], y: &[f64]) -> f64 {
    let ((x, x_rest), (y, y_rest)) = (x.as_chunks::<LANES>(), y.as_chunks::<LANES>());
    let mut lanes = [0.0; LANES];
    for (x, y) in x.iter().zip(y) {
        for ((lane, x), y) in lanes.iter_mut().zip(x).zip(y) {
            *lane += x * y;
        }
    }
    let rest = x_rest.iter().zip(y_rest).map(|(x, y)| x * y);
    lanes.into_iter().chain(rest).sum()
}

/// Sums up `$\langle n_j, (Dq)_j\rangle$`, and the same divided by `$\sigma_j^2$`.
struct ProductSums<'a> {
    at: Linearised<'a>,
    q: &'a [f64],
    sums: [f64; 2],
}

impl StripKernel for ProductSums<'_> {
    #[inline(always)]
    fn strip<const P: usize>(&mut self, strip: Strip) {
        let len = P * strip.count;
        let (mut across, mut down, mut deep) = ([0.0; STRIP], [0.0; STRIP], [0.0; STRIP]);
        let differences = [&mut across[..len], &mut down[..len], &mut deep[..len]];
        strip.subtract_all(self.q, differences);
        let at = self.at.strip::<P>(strip, &[0.0; STRIP]);
        let (mut plain, mut divided) = ([0.0; STRIP], [0.0; STRIP]);
        for (sample, inverse) in at.inverse.iter().enumerate() {
            let mut along = 0.0;
            for entry in P * sample..P * (sample + 1) {
                along += at.across[entry] * across[entry] + at.down[entry] * down[entry];
            }
            if strip.is_of_volume() {
                let entries = P * sample..P * (sample + 1);
                for (n, z) in at.deep[entries.clone()].iter().zip(&deep[entries]) {
                    along += n * z;
                }
            }
            plain[sample] = along;
            divided[sample] = along * inverse * inverse;
        }
        self.sums[0] += sum(&plain[..strip.count]);
        self.sums[1] += sum(&divided[..strip.count]);
    }
}

/// Adds `$D^Tn$`, or `$D^T(n/\sigma^2)$` if `divided`, to `out`.
struct AddColumn<'a> {
    divided: bool,
    at: Linearised<'a>,
    out: &'a mut [f64],
}

impl StripKernel for AddColumn<'_> {
    #[inline(always)]
    fn strip<const P: usize>(&mut self, strip: Strip) {
        let len = P * strip.count;
        let at = self.at.strip::<P>(strip, &[0.0; STRIP]);
        let (mut across, mut down, mut deep) = ([0.0; STRIP], [0.0; STRIP], [0.0; STRIP]);
        for entry in 0..len {
            let inverse = at.inverse[entry / P];
            let scale = if self.divided { inverse * inverse } else { 1.0 };
            across[entry] = at.across[entry] * scale;
            down[entry] = at.down[entry] * scale;
            if strip.is_of_volume() {
                deep[entry] = at.deep[entry] * scale;
            }
        }
        strip.add_all(self.out, [&across[..len], &down[..len], &deep[..len]]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::difference::{Boundary, Differences, Direction};
    use crate::regularizer::RegularizerHessian;

    /// The largest `$|(De)_j|$`.
    fn largest_difference(grid: Grid, differences: Differences, e: &[f64]) -> f64 {
        let tv = SmoothedTv::new(grid, differences, 1.0).unwrap();
        let mut memory = vec![0.0; tv.memory_len()];
        tv.linearise(e, &mut memory);
        let at = tv.stored(&memory);
        let samples = at.inverse.iter().zip(at.across).zip(at.down);
        let moduli = samples.map(|((inverse, across), down)| across.hypot(*down) / inverse);
        moduli.fold(0.0, f64::max)
    }

    /// No direction that changes the middle of a picture and its neighbours moves a difference by
    /// more than the reach, and one direction attains it.
    #[test]
    fn reach_of_pictures_is_attained_and_not_exceeded() {
        let grid = Grid::image(3, 3);
        for boundary in [Boundary::Zero, Boundary::Symmetric, Boundary::Periodic] {
            for (direction, [left, up]) in
                [(Direction::Backward, [3, 1]), (Direction::Forward, [5, 7])]
            {
                let differences = Differences {
                    direction,
                    boundary,
                };
                let mut largest = 0.0_f64;
                for i in 0..41_u32 {
                    for j in 0..41_u32 {
                        let mut e = [0.0; 9];
                        e[4] = 1.0;
                        e[left] = f64::from(i) / 20.0 - 1.0;
                        e[up] = f64::from(j) / 20.0 - 1.0;
                        let moved = largest_difference(grid, differences, &e);
                        largest = largest.max(moved / norm(&e));
                    }
                }
                assert!((largest - geometry(grid).reach).abs() < 1e-14, "{largest}");
            }
        }
    }
}
