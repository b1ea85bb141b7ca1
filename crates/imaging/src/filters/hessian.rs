//! The second derivatives of a filter bank on a grid, and their bounds in a ball.
//!
//! With the response `$u$` of a filter at a pixel, `$s_1 = \sqrt{|u|^2 + \nu^2}$` and
//! `$s_2 = \sqrt{|u|^2 + \omega^2}$`, the Hessian of a potential is `$W = aI - b\,uu^T$` with
//! `$a = \alpha/s_1 - \beta/s_2 \ge 0$` and `$b = \alpha/s_1^3 - \beta/s_2^3 \ge 0$`.

use lowlevel::{
    NewtonRange, SecondOrderCosts, Subgradient, SubgradientPoint, ThirdOrder, UNIT_ROUNDOFF,
};
use pulp::{Simd, WithSimd, bytemuck};

use super::basis::MAX_FILTERS;
use super::regularizer::{no_responses, pairs, planes, split, square, with_parts};
use super::sweep::{Lanes, Position, Responses, STRIP};
use super::{FilterBank, FilterRegularizer};
use crate::grid::Field;
use crate::model::{Histogram, InverseRoot, RootBall, dispatch};
use crate::regularizer::RegularizerHessian;

/// The number of numbers that are stored for the Hessian of a potential: `$W$` itself for a real
/// response, and `$(a, \sqrt b\,u)$` for a complex one.
const fn num_stored(parts: usize) -> usize {
    if parts == 1 { 1 } else { 3 }
}

/// Numbers that are stored for the pixels of a strip in one row. Single precision halves the memory
/// traffic, which limits products; [`product_rounding`](RegularizerHessian::product_rounding)
/// includes its error.
type Stored = [f32; STRIP];

/// The largest modulus of a pixel for which the rounding errors of products are bounded.
const LARGEST: f64 = 1000.0;

impl FilterRegularizer {
    fn num_filters(&self) -> usize {
        self.bank.potentials.len()
    }

    /// The number of `f64` whose memory holds the Hessians of the potentials.
    pub(super) fn weights_len(&self) -> usize {
        let stored = num_stored(self.grid.num_parts());
        self.sweep().num_blocks() * self.num_filters() * stored * (STRIP / 2)
    }

    fn linearise_parts<const P: usize>(&self, x: &[f64], weights: &mut [Stored]) {
        let bank = &*self.bank;
        let per_block = self.num_filters() * num_stored(P);
        let mut mixed = no_responses(0.0);
        self.sweep().read::<P>(planes(x), |position, responses| {
            dispatch(Linearise {
                bank,
                weights: &mut weights[position.block * per_block..][..per_block],
                responses,
                mixed: &mut mixed,
            });
        });
    }

    fn add_product_of_parts<const P: usize>(
        &self,
        weight: f64,
        weights: &[Stored],
        v: &[f64],
        out: &mut [f64],
    ) {
        let bank = &*self.bank;
        let per_block = self.num_filters() * num_stored(P);
        let mut mixed = no_responses(0.0);
        let kernel = |position: Position, responses: &mut [Responses; P]| {
            dispatch(Multiply {
                bank,
                weight,
                weights: &weights[position.block * per_block..][..per_block],
                responses,
                mixed: &mut mixed,
            });
        };
        self.sweep().add::<f64, P>(planes(v), out, kernel);
    }

    /// A bound on the third derivative of a potential, times the norm of its filter.
    fn steepest(&self, k: usize) -> f64 {
        let p = self.bank.potentials[k];
        let third = 0.86 * (p.alpha / (p.nu * p.nu) + p.beta / (p.omega * p.omega));
        third * self.bank.norms[k]
    }

    fn third_order_of_parts<const P: usize, const PAIR: usize>(
        &self,
        x: &[f64],
        q: &[f64],
        error: f64,
    ) -> ThirdOrder {
        let bank = &*self.bank;
        // No response exceeds this times the norm of its filter: a 1-norm is at most `size` norms.
        let most = |picture: &[f64]| {
            let largest = picture.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
            bank.size() as f64 * (P as f64).sqrt() * largest
        };
        // The responses to the point and to `q` have rounding errors.
        let rounding = bank.roundings() * UNIT_ROUNDOFF;
        let reach = self.reach() * error + rounding * most(x);
        let (most, lost) = ((1.0 + rounding) * most(q), rounding * most(q));
        let largest = (0..self.num_filters())
            .map(|k| self.steepest(k) * (most + lost))
            .fold(0.0, f64::max);
        let mut histogram = Histogram::new(largest * largest);
        let mut moduli = [[0.0; STRIP]; MAX_FILTERS];
        let mut mixed = no_responses(0.0);
        let kernel = |position: Position, responses: &mut [Responses; PAIR]| {
            let [of_x, of_q] = split::<f64, P, PAIR>(responses);
            dispatch(Moduli {
                bank,
                responses: of_x,
                mixed: &mut mixed,
                moduli: &mut moduli,
            });
            dispatch(AddChanges {
                bank,
                reach,
                lost,
                count: position.count,
                moduli: &moduli,
                responses: of_q,
                mixed: &mut mixed,
                histogram: &mut histogram,
            });
        };
        self.sweep().read(pairs::<P, PAIR>(x, q), kernel);
        match histogram.bounds(bank.norm_squared, error) {
            Some([vector, value]) if error >= 0.0 => ThirdOrder {
                vector: or_infinity(vector),
                value: or_infinity(value * error),
            },
            _ => ThirdOrder::UNKNOWN,
        }
    }

    /// A bound on the change of one response of a filter of norm 1 when the picture changes by 1.
    ///
    /// At a border, several taps fall on the same pixel. Along an axis with `$n$` pixels these are
    /// at most two for every `$2n$` taps begun, and `$k$` taps on one pixel count at most
    /// `$\sqrt k$` times the norm of the taps.
    fn reach(&self) -> f64 {
        let (rows, cols) = self.grid.rows_and_cols();
        let fold = |len: usize| (2 * self.bank.size().div_ceil(2 * len)) as f64;
        (fold(rows) * fold(cols)).sqrt()
    }
}

/// Computes the Hessians of all potentials.
struct Linearise<'a, const P: usize> {
    bank: &'a FilterBank,
    weights: &'a mut [Stored],
    responses: &'a mut [Responses; P],
    mixed: &'a mut [Responses; P],
}

impl<const P: usize> WithSimd for Linearise<'_, P> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let stored = num_stored(P);
        let inverse_root = InverseRoot::new(1.0);
        self.bank.visit(
            simd,
            self.responses,
            self.mixed,
            #[inline(always)]
            |k, response| {
                let p = self.bank.potentials[k];
                let out = &mut self.weights[k * stored..][..stored];
                let (mut a, mut b) = ([0.0; STRIP], [0.0; STRIP]);
                for lane in 0..STRIP {
                    let square = square(&response, lane);
                    let first = inverse_root.at(square + p.nu * p.nu);
                    let second = inverse_root.at(square + p.omega * p.omega);
                    let terms = [p.alpha * first, p.beta * second];
                    let cubes = [terms[0] * first * first, terms[1] * second * second];
                    if P == 1 {
                        a[lane] = cubes[0] * (p.nu * p.nu) - cubes[1] * (p.omega * p.omega);
                    } else {
                        a[lane] = terms[0] - terms[1];
                        let difference = cubes[0] - cubes[1];
                        b[lane] = if difference > 0.0 { difference } else { 0.0 };
                    }
                }
                round_to(&mut out[0], &a);
                if P > 1 {
                    for (out, part) in out[1..].iter_mut().zip(&response) {
                        let mut along = [0.0; STRIP];
                        for lane in 0..STRIP {
                            along[lane] = b[lane].sqrt() * part[lane];
                        }
                        round_to(out, &along);
                    }
                }
            },
        );
    }
}

/// Rounds numbers to single precision.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "rounded")]
fn round_to(out: &mut Stored, numbers: &Lanes) {
    for (out, number) in out.iter_mut().zip(numbers) {
        *out = *number as f32;
    }
}

/// Replaces responses `$v$` by `weight` times `$Wv$`.
struct Multiply<'a, const P: usize> {
    bank: &'a FilterBank,
    weight: f64,
    weights: &'a [Stored],
    responses: &'a mut [Responses; P],
    mixed: &'a mut [Responses; P],
}

impl<const P: usize> WithSimd for Multiply<'_, P> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let stored = num_stored(P);
        let weight = self.weight;
        self.bank.change(
            simd,
            self.responses,
            self.mixed,
            #[inline(always)]
            |k, mut parts| {
                let weights = &self.weights[k * stored..][..stored];
                if P == 1 {
                    for (v, a) in parts[0].iter_mut().zip(&weights[0]) {
                        *v *= weight * f64::from(*a);
                    }
                    return;
                }
                let mut along = [0.0; STRIP];
                for (part, weights) in parts.iter().zip(&weights[1..]) {
                    for lane in 0..STRIP {
                        along[lane] += f64::from(weights[lane]) * part[lane];
                    }
                }
                for (part, weights) in parts.iter_mut().zip(&weights[1..]) {
                    for lane in 0..STRIP {
                        let removed = along[lane] * f64::from(weights[lane]);
                        let kept = f64::from(self.weights[k * stored][lane]) * part[lane];
                        part[lane] = weight * (kept - removed);
                    }
                }
            },
        );
    }
}

/// Computes the moduli of the responses of all filters.
struct Moduli<'a, const P: usize> {
    bank: &'a FilterBank,
    responses: &'a mut [Responses; P],
    mixed: &'a mut [Responses; P],
    moduli: &'a mut Responses,
}

impl<const P: usize> WithSimd for Moduli<'_, P> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        self.bank.visit(
            simd,
            self.responses,
            self.mixed,
            #[inline(always)]
            |k, response| self.moduli[k] = moduli_of(&response),
        );
    }
}

/// Adds the changes of the Hessians in a ball, applied to responses, to a histogram.
struct AddChanges<'a, const P: usize> {
    bank: &'a FilterBank,
    /// A bound on the change of a response of a filter of norm 1 in the ball.
    reach: f64,
    /// A bound on the rounding error of a response of a filter of norm 1.
    lost: f64,
    count: usize,
    /// The moduli of the responses at the point.
    moduli: &'a Responses,
    responses: &'a mut [Responses; P],
    mixed: &'a mut [Responses; P],
    histogram: &'a mut Histogram,
}

impl<const P: usize> WithSimd for AddChanges<'_, P> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let bank = self.bank;
        bank.visit(
            simd,
            self.responses,
            self.mixed,
            #[inline(always)]
            |k, response| {
                let p = bank.potentials[k];
                let [reach, lost] = [self.reach * bank.norms[k], self.lost * bank.norms[k]];
                let first = RootBall::new(p.alpha, p.nu, reach);
                let second = RootBall::new(p.beta, p.omega, reach);
                let changes = moduli_of(&response);
                let (mut squares, mut terms) = ([0.0; STRIP], [[0.0; 2]; STRIP]);
                for lane in 0..STRIP {
                    let modulus = self.moduli[k][lane];
                    let [mut third, mut most] = derivatives::<P>(first, modulus);
                    if p.beta > 0.0 {
                        let [more, largest] = derivatives::<P>(second, modulus);
                        third += more;
                        most += largest;
                    }
                    let moved = third * reach;
                    let change = changes[lane] + lost;
                    squares[lane] = (third * change) * (third * change);
                    terms[lane] = [moved, 0.5 * moved].map(|moved| {
                        // NaN stays NaN.
                        let least = if most < moved { most } else { moved };
                        (least * change) * (least * change)
                    });
                }
                let count = self.count;
                self.histogram.add(&squares[..count], &terms[..count]);
            },
        );
    }
}

/// The moduli of responses.
#[inline(always)]
fn moduli_of<const P: usize>(response: &[&mut Lanes; P]) -> Lanes {
    std::array::from_fn(
        #[inline(always)]
        |lane| {
            if P == 1 {
                response[0][lane].abs()
            } else {
                square(response, lane).sqrt()
            }
        },
    )
}

/// The derivatives of one root in a ball.
#[inline(always)]
fn derivatives<const P: usize>(root: RootBall, modulus: f64) -> [f64; 2] {
    if P == 1 {
        root.derivatives::<true>(modulus)
    } else {
        root.derivatives::<false>(modulus)
    }
}

/// Replaces NaN by infinity, a bound that is always true.
const fn or_infinity(bound: f64) -> f64 {
    if bound.is_nan() { f64::INFINITY } else { bound }
}

impl RegularizerHessian for FilterRegularizer {
    fn memory_len(&self) -> usize {
        self.weights_len() + self.grid.len()
    }

    /// If an entry of `x` exceeds 1000 in modulus, all products are NaN, since their rounding error
    /// is not known.
    fn linearise(&self, x: &[f64], memory: &mut [f64]) {
        let (weights, point) = memory.split_at_mut(self.weights_len());
        let weights = bytemuck::cast_slice_mut(weights);
        if x.iter().filter(|x| !(x.abs() <= LARGEST)).count() > 0 {
            weights.fill(f32::NAN);
            point.fill(f64::NAN);
            return;
        }
        point.copy_from_slice(x);
        let (weights, _) = weights.as_chunks_mut();
        with_parts!(self.grid, P => self.linearise_parts::<P>(x, weights));
    }

    fn add_product(&self, weight: f64, memory: &[f64], v: &[f64], out: &mut [f64]) {
        let (weights, _) = bytemuck::cast_slice(&memory[..self.weights_len()]).as_chunks();
        with_parts!(self.grid, P => self.add_product_of_parts::<P>(weight, weights, v, out));
    }

    /// Adds the sum of the Hessians of the potentials at each pixel, which is close to the diagonal
    /// if they change slowly.
    fn add_diagonal(&self, weight: f64, memory: &[f64], diagonal: &mut [f64]) {
        let weights: &[f32] = bytemuck::cast_slice(&memory[..self.weights_len()]);
        let (weights, _) = weights.as_chunks::<STRIP>();
        let parts = self.grid.num_parts();
        let stored = num_stored(parts);
        let (rows, cols) = self.grid.rows_and_cols();
        for (block, weights) in weights
            .chunks_exact(self.num_filters() * stored)
            .enumerate()
        {
            let (row, col) = (block % rows, block / rows * STRIP);
            for lane in 0..STRIP.min(cols - col) {
                for part in 0..parts {
                    let sum: f64 = weights
                        .chunks_exact(stored)
                        .zip(&self.bank.norms)
                        .map(|(w, norm)| {
                            let along = if stored == 1 { 0.0 } else { w[1 + part][lane] };
                            norm * norm * f64::from(w[0][lane] - along * along)
                        })
                        .sum();
                    diagonal[(row * cols + col + lane) * parts + part] += weight * sum.max(0.0);
                }
            }
        }
    }

    fn metric_len(&self) -> usize {
        self.factors_len()
    }

    fn set_metric(&self, data: f64, weight: f64, x: &[f64], memory: &mut [f64]) {
        with_parts!(self.grid, P => self.set_factors::<P>(data, weight, x, memory));
    }

    fn apply_metric(&self, memory: &[f64], r: &[f64], out: &mut [f64]) {
        with_parts!(self.grid, P => self.apply_factors::<P>(memory, r, out));
    }

    fn add_subgradient(
        &self,
        data: f64,
        weight: f64,
        at: &SubgradientPoint<'_>,
        out: &mut [f64],
    ) -> Option<Subgradient> {
        Some(with_parts!(self.grid, P, PAIR => self.subgradient::<P, PAIR>(data, weight, at, out)))
    }

    fn third_order(&self, q: &[f64], error: f64, memory: &mut [f64]) -> ThirdOrder {
        let x = &memory[self.weights_len()..];
        with_parts!(self.grid, P, PAIR => self.third_order_of_parts::<P, PAIR>(x, q, error))
    }

    /// Measured on 128 x 128 pixels with filters of 5 x 5 pixels, as quotients of the smallest
    /// times, with the vector operations of conjugate gradients. The number of products is 6 to 14
    /// for cosine filters of 5 x 5 and 7 x 7 pixels, and 18 for 3 x 3; the shipped banks of learned
    /// filters need 22 to 27. Newton's method converges fast
    /// where the mean error of a pixel is about half of the smoothing; there the gradient is about
    /// as large as the error.
    fn costs(&self) -> Option<SecondOrderCosts> {
        let potentials = || self.bank.potentials.iter();
        let weight: f64 = potentials().map(|p| p.alpha).sum();
        let smoothing = potentials().map(|p| p.alpha * p.nu).sum::<f64>() / weight;
        let size = (self.grid.num_samples() as f64).sqrt();
        // Learned filters are mixed in every product, and need more products.
        let (product, products) = match (&self.bank.mixing, self.bank.size()) {
            (Some(_), _) => (0.7, 27.0),
            (None, 3) => (0.4, 18.0),
            (None, _) => (0.4, 9.0),
        };
        Some(SecondOrderCosts {
            linearise: 1.4,
            product,
            bounds: 4.0,
            newton: Some(NewtonRange {
                gradient: 0.5 * smoothing * size,
                products,
            }),
        })
    }

    /// As for the gradient: transforms, weights, and transposed transforms. A Hessian is computed
    /// up to `$32u(\alpha/\nu + \beta/\omega)$`. The responses at the linearised point have
    /// errors, too, for pixels of at most `LARGEST`. They change the Hessian of a potential by at
    /// most its third derivative, `$0.86(\alpha/\nu^2 + \beta/\omega^2)$`, times the error. The
    /// Hessians are stored in single precision, relative to their own size.
    fn product_rounding(&self) -> f64 {
        let bank = &*self.bank;
        let (size, roundings) = (bank.size() as f64, bank.roundings());
        let filters = bank.potentials.iter().zip(&bank.norms);
        let largest = filters.map(|(p, norm)| (p.alpha / p.nu + p.beta / p.omega) * norm * norm);
        let largest: f64 = largest.sum();
        let parts = (self.grid.num_parts() as f64).sqrt();
        let of_responses = roundings * size * parts * LARGEST;
        let changes = (0..self.num_filters())
            .map(|k| self.steepest(k) * of_responses)
            .fold(0.0, f64::max);
        let of_transforms = (2.0 * roundings + size * size + 32.0) * size * size * largest;
        // Up to three times the unit roundoff of single precision, which is 2^29 of our units.
        let of_storage = 3.0 * 2_f64.powi(29) * (bank.lipschitz + bank.weak_convexity);
        of_transforms + changes * bank.norm_squared + of_storage
    }
}
