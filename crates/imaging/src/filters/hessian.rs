//! The second derivatives of a filter bank on a grid, and their bounds in a ball.
//!
//! With the response `$u$` of a filter at a pixel, `$s_1 = \sqrt{|u|^2 + \nu^2}$` and
//! `$s_2 = \sqrt{|u|^2 + \omega^2}$`, the Hessian of a potential is `$W = aI - b\,uu^T$` with
//! `$a = \alpha/s_1 - \beta/s_2 \ge 0$` and `$b = \alpha/s_1^3 - \beta/s_2^3 \ge 0$`.

use lowlevel::ThirdOrder;

use super::FilterRegularizer;
use super::basis::MAX_FILTERS;
use super::regularizer::{pairs, planes, split, square, with_parts};
use super::sweep::{Lanes, Position, Responses, STRIP};
use crate::grid::Field;
use crate::model::{Histogram, RootBall, vectorize};
use crate::regularizer::RegularizerHessian;

/// The number of numbers that are stored for the Hessian of a potential: `$W$` itself for a real
/// response, and `$(a, \sqrt b\,u)$` for a complex one.
const fn num_stored(parts: usize) -> usize {
    if parts == 1 { 1 } else { 3 }
}

impl FilterRegularizer {
    fn num_filters(&self) -> usize {
        self.bank.potentials.len()
    }

    /// The number of `f64` that are stored for the Hessians of the potentials.
    fn weights_len(&self) -> usize {
        let stored = num_stored(self.grid.num_parts());
        self.sweep().num_blocks() * self.num_filters() * stored * STRIP
    }

    fn linearise_parts<const P: usize>(&self, x: &[f64], weights: &mut [Lanes]) {
        let bank = &*self.bank;
        let stored = num_stored(P);
        let per_block = self.num_filters() * stored;
        self.sweep().read::<P>(planes(x), |position, responses| {
            let weights = &mut weights[position.block * per_block..][..per_block];
            vectorize(
                #[inline(always)]
                || {
                    bank.change(
                        responses,
                        #[inline(always)]
                        |k, response| {
                            let weights = &mut weights[k * stored..][..stored];
                            let p = bank.potentials[k];
                            for lane in 0..STRIP {
                                let square = square(&response, lane);
                                let first = 1.0 / (square + p.nu * p.nu);
                                let second = 1.0 / (square + p.omega * p.omega);
                                let [alpha, beta] =
                                    [p.alpha * first.sqrt(), p.beta * second.sqrt()];
                                let (a, b) = (alpha - beta, alpha * first - beta * second);
                                if P == 1 {
                                    weights[0][lane] = a - b * square;
                                } else {
                                    weights[0][lane] = a;
                                    let root = b.max(0.0).sqrt();
                                    for part in 0..P {
                                        weights[1 + part][lane] = root * response[part][lane];
                                    }
                                }
                            }
                        },
                    );
                },
            );
        });
    }

    fn add_product_of_parts<const P: usize>(
        &self,
        weight: f64,
        weights: &[Lanes],
        v: &[f64],
        out: &mut [f64],
    ) {
        let bank = &*self.bank;
        let stored = num_stored(P);
        let per_block = self.num_filters() * stored;
        let kernel = |position: Position, responses: &mut [Responses; P]| {
            let weights = &weights[position.block * per_block..][..per_block];
            vectorize(
                #[inline(always)]
                || {
                    bank.change(
                        responses,
                        #[inline(always)]
                        |k, response| {
                            multiply(weight, &weights[k * stored..][..stored], response);
                        },
                    );
                },
            );
        };
        self.sweep().add::<P>(planes(v), out, kernel);
    }

    fn third_order_of_parts<const P: usize, const PAIR: usize>(
        &self,
        x: &[f64],
        q: &[f64],
        error: f64,
    ) -> ThirdOrder {
        let bank = &*self.bank;
        let reach = self.reach() * error;
        // No response exceeds this times the norm of its filter: a 1-norm is at most `size` norms.
        let size = bank.size() as f64;
        let most = size * (P as f64).sqrt() * q.iter().fold(0.0, |most: f64, q| most.max(q.abs()));
        let steepest = |k: usize| {
            let p = bank.potentials[k];
            0.86 * (p.alpha / (p.nu * p.nu) + p.beta / (p.omega * p.omega)) * bank.norms[k] * most
        };
        let largest = (0..self.num_filters()).map(steepest).fold(0.0, f64::max);
        let mut histogram = Histogram::new(largest * largest);
        let mut moduli = [[0.0; STRIP]; MAX_FILTERS];
        let kernel = |position: Position, responses: &mut [Responses; PAIR]| {
            let [of_x, of_q] = split::<P, PAIR>(responses);
            vectorize(
                #[inline(always)]
                || {
                    bank.change(
                        of_x,
                        #[inline(always)]
                        |k, response| moduli[k] = moduli_of(&response),
                    );
                    bank.change(
                        of_q,
                        #[inline(always)]
                        |k, response| {
                            let p = bank.potentials[k];
                            let reach = reach * bank.norms[k];
                            let first = RootBall::new(p.alpha, p.nu, reach);
                            let second = RootBall::new(p.beta, p.omega, reach);
                            let changes = moduli_of(&response);
                            let (mut squares, mut terms) = ([0.0; STRIP], [[0.0; 2]; STRIP]);
                            for lane in 0..STRIP {
                                let modulus = moduli[k][lane];
                                let [mut third, mut most] = derivatives::<P>(first, modulus);
                                if p.beta > 0.0 {
                                    let [more, largest] = derivatives::<P>(second, modulus);
                                    third += more;
                                    most += largest;
                                }
                                let moved = third * reach;
                                let change = changes[lane];
                                squares[lane] = (third * change) * (third * change);
                                terms[lane] = [moved, 0.5 * moved].map(|moved| {
                                    // NaN stays NaN.
                                    let least = if most < moved { most } else { moved };
                                    (least * change) * (least * change)
                                });
                            }
                            let count = position.count;
                            histogram.add(&squares[..count], &terms[..count]);
                        },
                    );
                },
            );
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

/// Replaces responses `$v$` by `weight` times `$Wv$`.
#[inline(always)]
fn multiply<const P: usize>(weight: f64, weights: &[Lanes], response: [&mut Lanes; P]) {
    if P == 1 {
        for (v, w) in response[0].iter_mut().zip(&weights[0]) {
            *v *= weight * w;
        }
        return;
    }
    for lane in 0..STRIP {
        let mut along = 0.0;
        for part in 0..P {
            along += weights[1 + part][lane] * response[part][lane];
        }
        for part in 0..P {
            let v = response[part][lane];
            response[part][lane] =
                weight * (weights[0][lane] * v - along * weights[1 + part][lane]);
        }
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

    fn linearise(&self, x: &[f64], memory: &mut [f64]) {
        let (weights, point) = memory.split_at_mut(self.weights_len());
        point.copy_from_slice(x);
        let (weights, _) = weights.as_chunks_mut();
        with_parts!(self.grid, P => self.linearise_parts::<P>(x, weights));
    }

    fn add_product(&self, weight: f64, memory: &[f64], v: &[f64], out: &mut [f64]) {
        let (weights, _) = memory[..self.weights_len()].as_chunks();
        with_parts!(self.grid, P => self.add_product_of_parts::<P>(weight, weights, v, out));
    }

    /// Adds the sum of the Hessians of the potentials at each pixel, which is close to the diagonal
    /// if they change slowly.
    fn add_diagonal(&self, weight: f64, memory: &[f64], diagonal: &mut [f64]) {
        let (weights, _) = memory[..self.weights_len()].as_chunks::<STRIP>();
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
                            norm * norm * (w[0][lane] - along * along)
                        })
                        .sum();
                    diagonal[(row * cols + col + lane) * parts + part] += weight * sum.max(0.0);
                }
            }
        }
    }

    fn third_order(&self, q: &[f64], error: f64, memory: &mut [f64]) -> ThirdOrder {
        let x = &memory[self.weights_len()..];
        with_parts!(self.grid, P, PAIR => self.third_order_of_parts::<P, PAIR>(x, q, error))
    }

    /// As for the gradient: transforms, weights, and transposed transforms. The responses at the
    /// linearised point have errors, too: they change a Hessian by at most its third derivative,
    /// `$0.86(\alpha/\nu^2 + \beta/\omega^2)$`, times the error, and a Hessian is computed up to
    /// `$16u(\alpha/\nu + \beta/\omega)$`.
    fn product_rounding(&self) -> f64 {
        let bank = &*self.bank;
        let size = bank.size() as f64;
        let mixing = if bank.mixing.is_some() {
            size * size
        } else {
            0.0
        };
        let roundings = 2.0 * (size + 4.0) + mixing;
        let largest = bank
            .potentials
            .iter()
            .zip(&bank.norms)
            .map(|(p, norm)| (p.alpha / p.nu + p.beta / p.omega) * norm * norm)
            .sum::<f64>();
        (2.0 * roundings + size * size + 16.0) * size * size * largest
    }
}
