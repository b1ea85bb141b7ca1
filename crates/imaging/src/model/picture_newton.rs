//! Newton systems of pictures from Fourier samples, solved by conjugate gradients in the frequency
//! domain.
//!
//! The system is `$M = A^*SA + \xi I + D^TWD$` with the weights of
//! [`picture_weights`](super::picture_weights). The preconditioner is the circulant matrix with the
//! symbol `$g + \xi + \sum_kw_k\lambda_k$`: `$g$` is the symbol closest to that of `$A^*SA$` (with
//! a single coil, `$s$` itself), `$w_k$` a mean of the weights `$\alpha_k/\sigma_j$` of one filter,
//! and `$\lambda_k$` the symbol of `$D_k^TD_k$` for a periodic picture. In the frequency domain it
//! is diagonal, so with a single coil an iteration makes only two transforms.

use num_complex::Complex;

use super::TvParameters;
use super::circulant::count;
use super::picture_weights::{PictureRegularizer, PictureWeights};
use super::simd::vectorize;
use crate::grid::Field;
use crate::operator::{CoilFourier, FourierScratch, multiply, to_complex};

/// The working memory of a system. Complex vectors are unscaled transforms, except for `picture`
/// and `sum`.
#[derive(Clone, Debug)]
pub(super) struct PictureSystemScratch {
    pub(super) weights: PictureWeights,
    preconditioner: Vec<f64>,
    pub(super) solution: Vec<Complex<f64>>,
    residual: Vec<Complex<f64>>,
    direction: Vec<Complex<f64>>,
    product: Vec<Complex<f64>>,
    picture: Vec<Complex<f64>>,
    sum: Vec<Complex<f64>>,
    /// The energy of the residual in the last iteration; infinite before the first one.
    energy: f64,
}

impl PictureSystemScratch {
    pub(super) fn new(regularizer: &PictureRegularizer, rows: usize, cols: usize) -> Self {
        let vector = vec![Complex::ZERO; rows * cols];
        Self {
            weights: PictureWeights::new(regularizer, rows, cols),
            preconditioner: vec![0.0; rows * cols],
            solution: vector.clone(),
            residual: vector.clone(),
            direction: vector.clone(),
            product: vector.clone(),
            picture: vector.clone(),
            sum: vector,
            energy: f64::INFINITY,
        }
    }
}

/// The parts of the model that a system needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct PictureSystem<'a> {
    pub(super) fourier: &'a CoilFourier,
    /// The scaled weights `$s/N$`.
    pub(super) weights: &'a [f64],
    /// The symbol `$g$`.
    pub(super) symbol: &'a [f64],
    pub(super) regularizer: &'a PictureRegularizer,
    pub(super) parameters: TvParameters,
}

/// When conjugate gradients stop.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// The largest residual that is accepted.
    pub(super) residual: f64,
    /// The largest residual that is accepted, per norm of the solution.
    pub(super) relative: f64,
    /// The norm of the solution beyond which it is of no use.
    pub(super) largest: f64,
    pub(super) max_iterations: usize,
}

impl PictureSystem<'_> {
    /// Computes the weights at `x` and their preconditioner; see [`PictureWeights::linearise`].
    pub(super) fn linearise(
        &self,
        x: &[f64],
        dual: Option<&[f64]>,
        own: &mut PictureSystemScratch,
    ) {
        own.weights
            .linearise(self.regularizer, self.parameters, x, dual);
        let xi = self.parameters.xi;
        for (entry, symbol) in own.preconditioner.iter_mut().zip(self.symbol) {
            *entry = symbol + xi;
        }
        own.weights
            .add_symbol(self.regularizer, &mut own.preconditioner);
        for entry in &mut own.preconditioner {
            *entry = 1.0 / entry.max(xi).max(f64::MIN_POSITIVE);
        }
    }

    /// Starts a system with a right-hand side, times `sign`, at zero.
    pub(super) fn start(
        &self,
        sign: f64,
        rhs: &[f64],
        own: &mut PictureSystemScratch,
        fourier: &mut FourierScratch,
    ) {
        self.transform(rhs, fourier);
        for (residual, sample) in own.residual.iter_mut().zip(&fourier.samples) {
            *residual = sample * sign;
        }
        own.solution.fill(Complex::ZERO);
        own.energy = f64::INFINITY;
    }

    /// Starts a system with a right-hand side at the solution `q`.
    pub(super) fn start_at(
        &self,
        rhs: &[f64],
        q: &[f64],
        own: &mut PictureSystemScratch,
        fourier: &mut FourierScratch,
    ) {
        self.start(1.0, rhs, own, fourier);
        if q.iter().all(|&entry| entry == 0.0) {
            return;
        }
        self.transform(q, fourier);
        own.direction.copy_from_slice(&fourier.samples);
        own.solution.copy_from_slice(&fourier.samples);
        self.apply(own, fourier);
        for (residual, product) in own.residual.iter_mut().zip(&own.product) {
            *residual -= product;
        }
    }

    fn transform(&self, x: &[f64], fourier: &mut FourierScratch) {
        to_complex(Field::Complex, x, &mut fourier.samples);
        self.fourier.transform().forward(fourier);
    }

    /// Overwrites `out` with the vector whose unscaled transform is the solution.
    pub(super) fn solution(
        &self,
        own: &PictureSystemScratch,
        out: &mut [f64],
        fourier: &mut FourierScratch,
    ) {
        let per_sample = 1.0 / count(self.weights.len());
        fourier.samples.copy_from_slice(&own.solution);
        self.fourier.transform().inverse(fourier);
        let (pairs, _) = out.as_chunks_mut::<2>();
        for (pair, sample) in pairs.iter_mut().zip(&fourier.samples) {
            *pair = [sample.re * per_sample, sample.im * per_sample];
        }
    }

    /// Improves the solution within the limits; a later call with other limits continues. Returns
    /// the number of iterations, and whether the residual became small enough.
    pub(super) fn solve(
        &self,
        limits: Limits,
        own: &mut PictureSystemScratch,
        fourier: &mut FourierScratch,
    ) -> (usize, bool) {
        let num_samples = count(self.weights.len());
        for iteration in 0..limits.max_iterations {
            let [square, energy] = own.energies();
            let residual = (square / num_samples).sqrt();
            let mut accepted = limits.residual;
            if limits.relative > 0.0 {
                let norm = (dot(&own.solution, &own.solution) / num_samples).sqrt();
                if norm > limits.largest {
                    return (iteration, false);
                }
                accepted = accepted.max(limits.relative * norm);
            }
            if residual <= accepted {
                return (iteration, true);
            }
            // The first direction is the preconditioned residual.
            let beta = energy / own.energy;
            own.energy = energy;
            own.next_direction(beta);
            self.apply(own, fourier);
            let length = energy / dot(&own.direction, &own.product);
            if !(length > 0.0 && length < f64::INFINITY) {
                return (iteration, false);
            }
            own.advance(length);
        }
        (limits.max_iterations, false)
    }

    /// Overwrites the product with `$M$` times the direction, in the frequency domain.
    fn apply(&self, own: &mut PictureSystemScratch, fourier: &mut FourierScratch) {
        let transform = self.fourier.transform();
        let num_samples = count(self.weights.len());
        let per_sample = 1.0 / num_samples;
        for (sample, x) in fourier.samples.iter_mut().zip(&own.direction) {
            *sample = x * per_sample;
        }
        transform.inverse(fourier);
        own.picture.copy_from_slice(&fourier.samples);
        own.sum.fill(Complex::ZERO);
        own.weights
            .add_product(self.regularizer, &own.picture, &mut own.sum);
        let has_maps = self.fourier.maps().any(|map| map.is_some());
        if has_maps {
            for map in self.fourier.maps() {
                fourier.samples.copy_from_slice(&own.picture);
                multiply(map, &mut fourier.samples);
                transform.forward(fourier);
                for (sample, weight) in fourier.samples.iter_mut().zip(self.weights) {
                    *sample *= weight;
                }
                transform.inverse(fourier);
                if let Some(map) = map {
                    let terms = fourier.samples.iter().zip(map);
                    for (sum, (sample, entry)) in own.sum.iter_mut().zip(terms) {
                        *sum += sample * entry.conj();
                    }
                }
            }
        }
        fourier.samples.copy_from_slice(&own.sum);
        transform.forward(fourier);
        let xi = self.parameters.xi;
        let known = fourier.samples.iter().zip(&own.direction);
        for ((product, weight), (sample, x)) in own.product.iter_mut().zip(self.weights).zip(known)
        {
            let own = if has_maps { 0.0 } else { num_samples * weight };
            *product = sample + x * (own + xi);
        }
    }
}

impl PictureSystemScratch {
    /// Returns the squared norm of the residual, and its inner product with the preconditioned one.
    fn energies(&self) -> [f64; 2] {
        vectorize(
            #[inline(always)]
            || {
                let mut lanes = [[0.0; 4]; 2];
                let entries = self.residual.chunks(4).zip(self.preconditioner.chunks(4));
                for (residual, inverse) in entries {
                    for (lane, (residual, inverse)) in residual.iter().zip(inverse).enumerate() {
                        let square = residual.norm_sqr();
                        lanes[0][lane] += square;
                        lanes[1][lane] += square * inverse;
                    }
                }
                lanes.map(|lanes| (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]))
            },
        )
    }

    fn next_direction(&mut self, beta: f64) {
        let known = self.residual.iter().zip(&self.preconditioner);
        for (direction, (residual, inverse)) in self.direction.iter_mut().zip(known) {
            *direction = residual * *inverse + *direction * beta;
        }
    }

    fn advance(&mut self, length: f64) {
        let moved = self.solution.iter_mut().zip(&self.direction);
        for (solution, direction) in moved {
            *solution += direction * length;
        }
        let moved = self.residual.iter_mut().zip(&self.product);
        for (residual, product) in moved {
            *residual -= product * length;
        }
    }
}

/// Returns the real part of the inner product, added in an order that does not depend on the
/// machine.
fn dot(a: &[Complex<f64>], b: &[Complex<f64>]) -> f64 {
    vectorize(
        #[inline(always)]
        || {
            let mut lanes = [0.0; 4];
            for (a, b) in a.chunks(4).zip(b.chunks(4)) {
                for (lane, (a, b)) in lanes.iter_mut().zip(a.iter().zip(b)) {
                    *lane += a.re * b.re + a.im * b.im;
                }
            }
            (lanes[0] + lanes[1]) + (lanes[2] + lanes[3])
        },
    )
}
