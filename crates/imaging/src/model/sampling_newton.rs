//! Newton steps for reconstructions from Fourier samples: the primal-dual method of Chan, Golub &
//! Mulet (1999).
//!
//! Complex numbers are vectors in the plane. The dual variables `$p_j \in \mathbb{R}^2$` with
//! `$|p_j| \le 1$` stand for `$d_j/\sigma_j$`. The equations `$\nabla\Phi(x) = 0$` and
//! `$\sigma_j p_j = d_j$` are linearised together:
//!
//! ```math
//! M\,\Delta x = -\nabla\Phi(x), \quad M = F^*SF + \xi I + D^T W D, \quad
//! W_j = \frac{\alpha}{\sigma_j}\Bigl(I - \frac{p_j d_j^T + d_j p_j^T}{2\sigma_j}\Bigr), \quad
//! \Delta p_j = \frac{d_j + \Delta d_j}{\sigma_j} - \frac{d_j \cdot \Delta d_j}{\sigma_j^2}\,p_j - p_j.
//! ```
//!
//! If `$p = d/\sigma$`, then `$M$` is the Hessian. The eigenvalues of `$W_j$` lie between
//! `$\frac{\alpha}{\sigma_j}(1 - |d_j|/\sigma_j) > 0$` and `$2\alpha/\sigma_j$`.
//!
//! The system is solved by conjugate gradients in the frequency domain, with a
//! [`DowndatedCirculant`] as the preconditioner: all differences have their mean weight, except for
//! the few lightest (the jumps), which have their own weights. Each iteration makes two transforms
//! for the product and two for the preconditioner. The same method solves systems with the Hessian.

use lowlevel::NewtonPoint;
use num_complex::Complex;

use super::TvParameters;
use super::circulant::{DowndatedCirculant, count};
use super::simd::vectorize;
use crate::grid::Field;
use crate::operator::{FourierScratch, Transform, to_complex};

/// The parts of the model that a step needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct PrimalDual<'a> {
    pub(super) transform: &'a Transform,
    /// The scaled weights `$s/N$`.
    pub(super) weights: &'a [f64],
    pub(super) parameters: TvParameters,
}

/// The working memory of a step. Complex vectors are unscaled transforms.
#[derive(Clone, Debug)]
pub(super) struct SamplingNewtonScratch {
    differences: Vec<Difference>,
    mean_weights: Vec<f64>,
    solution: Vec<Complex<f64>>,
    residual: Vec<Complex<f64>>,
    preconditioned: Vec<Complex<f64>>,
    direction: Vec<Complex<f64>>,
    product: Vec<Complex<f64>>,
}

/// One difference, its dual variable, and its weight `$W_j$`.
#[derive(Clone, Copy, Debug, Default)]
struct Difference {
    d: [f64; 2],
    p: [f64; 2],
    sigma: f64,
    /// The entries `$W_{11}$`, `$W_{12}$` and `$W_{22}$` of the weight.
    weight: [f64; 3],
}

impl SamplingNewtonScratch {
    pub(super) fn new(num_samples: usize) -> Self {
        let vector = vec![Complex::ZERO; num_samples];
        Self {
            differences: vec![Difference::default(); num_samples],
            mean_weights: vec![0.0; num_samples],
            solution: vector.clone(),
            residual: vector.clone(),
            preconditioned: vector.clone(),
            direction: vector.clone(),
            product: vector,
        }
    }

    /// A vector of complex numbers that keeps its values only until the next use of this memory.
    pub(super) fn vector(&mut self) -> &mut [Complex<f64>] {
        &mut self.solution
    }

    /// Computes the mean eigenvalues of the weights.
    #[inline(always)]
    fn compute_mean_weights(&mut self) {
        for (mean, difference) in self.mean_weights.iter_mut().zip(&self.differences) {
            *mean = 0.5 * (difference.weight[0] + difference.weight[2]);
        }
    }

    /// Overwrites `moduli` with `$|d_j|$`.
    #[inline(always)]
    pub(super) fn moduli(&self, moduli: &mut [f64]) {
        for (modulus, difference) in moduli.iter_mut().zip(&self.differences) {
            let [re, im] = difference.d;
            *modulus = (re * re + im * im).sqrt();
        }
    }

    /// Overwrites all entries of `fluxes` except the last with `$W_j(Dv)_j$`.
    #[inline(always)]
    pub(super) fn weigh(&self, v: &[f64], fluxes: &mut [[f64; 2]]) {
        let (samples, _) = v.as_chunks::<2>();
        let mut left = [0.0, 0.0];
        for ((flux, &v), difference) in fluxes.iter_mut().zip(samples).zip(&self.differences) {
            let weighed = difference.weigh(Complex::new(v[0] - left[0], v[1] - left[1]));
            *flux = [weighed.re, weighed.im];
            left = v;
        }
    }
}

/// The cost of a step without its iterations, in gradients (measured).
const COST: f64 = 6.0;
/// The cost of one iteration of conjugate gradients, in gradients (measured).
const COST_PER_ITERATION: f64 = 2.5;
/// The accepted residual of the linear system, relative to the norm of the gradient; a choice.
const FORCING: f64 = 0.03;
/// The accepted residual of the linear system, relative to the target norm of the gradient; a
/// choice.
const FORCING_TARGET: f64 = 0.3;
/// The largest number of iterations for one step; the line search copes with an inaccurate step.
const MAX_ITERATIONS: usize = 100;
/// The largest number of iterations for one system with the Hessian; a choice. A caller can
/// continue from the result.
const MAX_SOLVE_ITERATIONS: usize = 400;

impl PrimalDual<'_> {
    /// Computes `step` and `dual_step`, and returns the cost in gradients.
    pub(super) fn step(
        self,
        at: &NewtonPoint<'_>,
        step: &mut [f64],
        dual_step: &mut [f64],
        circulant: &mut DowndatedCirculant,
        own: &mut SamplingNewtonScratch,
        fourier: &mut FourierScratch,
    ) -> f64 {
        // Plain loops, which the compiler vectorises for the machine at hand.
        vectorize(
            #[inline(always)]
            || self.step_inlined(at, step, dual_step, circulant, own, fourier),
        )
    }

    #[inline(always)]
    fn step_inlined(
        self,
        at: &NewtonPoint<'_>,
        step: &mut [f64],
        dual_step: &mut [f64],
        circulant: &mut DowndatedCirculant,
        own: &mut SamplingNewtonScratch,
        fourier: &mut FourierScratch,
    ) -> f64 {
        self.linearise(at, own);
        self.precondition(circulant, own, fourier);
        let tolerance = (FORCING * at.gradient_norm)
            .max((FORCING_TARGET * at.target_norm).min(0.5 * at.gradient_norm));
        to_complex(Field::Complex, at.gradient, &mut fourier.samples);
        self.transform.forward(fourier);
        for (residual, gradient) in own.residual.iter_mut().zip(&fourier.samples) {
            *residual = -gradient;
        }
        own.solution.fill(Complex::ZERO);
        let limits = (tolerance, MAX_ITERATIONS);
        let iterations = self.conjugate_gradients(limits, circulant, own, fourier);
        self.transform_back(&own.solution, step, fourier);
        dual_steps(&own.differences, at.dual, step, dual_step);
        COST + COST_PER_ITERATION * count(iterations)
    }

    /// Improves `q` as a solution of `$Hq = b$` for `rhs` = `$b$` and the Hessian of
    /// [`linearise_hessian`](Self::linearise_hessian), until the norm of the residual is at most
    /// `target`. Returns the cost in gradients.
    pub(super) fn solve_hessian(
        self,
        rhs: &[f64],
        q: &mut [f64],
        target: f64,
        circulant: &mut DowndatedCirculant,
        own: &mut SamplingNewtonScratch,
        fourier: &mut FourierScratch,
    ) -> f64 {
        // Plain loops, which the compiler vectorises for the machine at hand.
        let iterations = vectorize(
            #[inline(always)]
            || {
                self.precondition(circulant, own, fourier);
                to_complex(Field::Complex, q, &mut fourier.samples);
                self.transform.forward(fourier);
                own.solution.copy_from_slice(&fourier.samples);
                self.apply(&own.differences, &own.solution, &mut own.product, fourier);
                to_complex(Field::Complex, rhs, &mut fourier.samples);
                self.transform.forward(fourier);
                let known = fourier.samples.iter().zip(&own.product);
                for (residual, (rhs, product)) in own.residual.iter_mut().zip(known) {
                    *residual = rhs - product;
                }
                let limits = (target, MAX_SOLVE_ITERATIONS);
                let iterations = self.conjugate_gradients(limits, circulant, own, fourier);
                if iterations > 0 {
                    self.transform_back(&own.solution, q, fourier);
                }
                iterations
            },
        );
        COST + COST_PER_ITERATION * count(iterations)
    }

    /// Overwrites `out` with the vector whose unscaled transform is given.
    #[inline(always)]
    fn transform_back(
        &self,
        transformed: &[Complex<f64>],
        out: &mut [f64],
        fourier: &mut FourierScratch,
    ) {
        let per_sample = 1.0 / count(self.weights.len());
        fourier.samples.copy_from_slice(transformed);
        self.transform.inverse(fourier);
        let (pairs, _) = out.as_chunks_mut::<2>();
        for (pair, sample) in pairs.iter_mut().zip(&fourier.samples) {
            *pair = [sample.re * per_sample, sample.im * per_sample];
        }
    }

    /// Computes the differences and their weights `$W_j$` in the Hessian.
    #[inline(always)]
    pub(super) fn linearise_hessian(&self, x: &[f64], own: &mut SamplingNewtonScratch) {
        let TvParameters { alpha, nu, .. } = self.parameters;
        let (samples, _) = x.as_chunks::<2>();
        let mut left = [0.0, 0.0];
        for (difference, &x) in own.differences.iter_mut().zip(samples) {
            let d = [x[0] - left[0], x[1] - left[1]];
            left = x;
            *difference = Difference::of_hessian(alpha, nu, d);
        }
        own.compute_mean_weights();
    }

    /// Computes the differences and their weights.
    #[inline(always)]
    fn linearise(&self, at: &NewtonPoint<'_>, own: &mut SamplingNewtonScratch) {
        let TvParameters { alpha, nu, .. } = self.parameters;
        let (samples, _) = at.x.as_chunks::<2>();
        let (duals, _) = at.dual.as_chunks::<2>();
        let mut left = [0.0, 0.0];
        for ((difference, &x), &dual) in own.differences.iter_mut().zip(samples).zip(duals) {
            let d = [x[0] - left[0], x[1] - left[1]];
            left = x;
            *difference = Difference::new(alpha, nu, d, into_disc(dual));
        }
        own.compute_mean_weights();
    }

    /// Factors the preconditioner, without its downdate if that makes it indefinite.
    #[inline(always)]
    fn precondition(
        &self,
        circulant: &mut DowndatedCirculant,
        own: &SamplingNewtonScratch,
        fourier: &mut FourierScratch,
    ) {
        let smallest = circulant.find_lightest(&own.mean_weights);
        let others = own.mean_weights.len() - 1 - circulant.lightest().len();
        let level = if others == 0 {
            smallest
        } else {
            let sum = |weights: &mut dyn Iterator<Item = f64>| weights.sum::<f64>();
            let all = sum(&mut own.mean_weights[1..].iter().copied());
            let lightest = sum(&mut circulant.lightest().iter().map(|entry| entry.1));
            ((all - lightest) / count(others)).max(smallest)
        };
        circulant.remove_lightest(level, |weight| weight);
        let num_samples = count(self.weights.len());
        let entries = self.weights.iter().zip(&circulant.laplacian);
        for (inverse, (weight, laplacian)) in circulant.inverse.iter_mut().zip(entries) {
            *inverse = 1.0 / (num_samples * weight + self.parameters.xi + level * laplacian);
        }
        if !circulant.factor(0.0, self.transform, fourier) {
            circulant.remove_nothing();
        }
    }

    /// Adds to `solution` such that the norm of `residual`, which is that of `solution` in a system
    /// with `$M$`, becomes at most the tolerance. Stops after the largest number of iterations.
    /// Returns the number of iterations.
    #[inline(always)]
    fn conjugate_gradients(
        &self,
        (tolerance, max_iterations): (f64, usize),
        circulant: &mut DowndatedCirculant,
        own: &mut SamplingNewtonScratch,
        fourier: &mut FourierScratch,
    ) -> usize {
        let target = tolerance * tolerance * count(self.weights.len());
        let mut previous = f64::INFINITY;
        for iteration in 0..max_iterations {
            if dot(&own.residual, &own.residual) <= target {
                return iteration;
            }
            self.apply_preconditioner(circulant, &own.residual, &mut own.preconditioned, fourier);
            let energy = dot(&own.residual, &own.preconditioned);
            let beta = energy / previous;
            previous = energy;
            let directions = own.direction.iter_mut().zip(&own.preconditioned);
            if iteration == 0 {
                own.direction.copy_from_slice(&own.preconditioned);
            } else {
                for (direction, preconditioned) in directions {
                    *direction = *preconditioned + *direction * beta;
                }
            }
            self.apply(&own.differences, &own.direction, &mut own.product, fourier);
            let length = energy / dot(&own.direction, &own.product);
            if !(length > 0.0 && length < f64::INFINITY) {
                return iteration;
            }
            let moved = own.solution.iter_mut().zip(&own.direction);
            for (solution, direction) in moved {
                *solution += *direction * length;
            }
            let moved = own.residual.iter_mut().zip(&own.product);
            for (residual, product) in moved {
                *residual -= *product * length;
            }
        }
        max_iterations
    }

    /// Applies `$P^{-1}$` in the frequency domain.
    #[inline(always)]
    fn apply_preconditioner(
        &self,
        circulant: &mut DowndatedCirculant,
        residual: &[Complex<f64>],
        out: &mut [Complex<f64>],
        fourier: &mut FourierScratch,
    ) {
        let per_sample = 1.0 / count(self.weights.len());
        let entries = residual.iter().zip(&circulant.inverse);
        for (sample, (residual, inverse)) in fourier.samples.iter_mut().zip(entries) {
            *sample = residual * (inverse * per_sample);
        }
        self.transform.inverse(fourier);
        circulant.reduce(&fourier.samples);
        circulant.expand(&mut fourier.samples);
        self.transform.forward(fourier);
        let entries = residual.iter().zip(&fourier.samples);
        for ((out, inverse), (residual, sample)) in
            out.iter_mut().zip(&circulant.inverse).zip(entries)
        {
            *out = (residual + sample) * *inverse;
        }
    }

    /// Applies `$M$` in the frequency domain.
    #[inline(always)]
    fn apply(
        &self,
        differences: &[Difference],
        x: &[Complex<f64>],
        out: &mut [Complex<f64>],
        fourier: &mut FourierScratch,
    ) {
        let num_samples = count(self.weights.len());
        let per_sample = 1.0 / num_samples;
        for (sample, x) in fourier.samples.iter_mut().zip(x) {
            *sample = x * per_sample;
        }
        self.transform.inverse(fourier);
        apply_weights(differences, &mut fourier.samples);
        self.transform.forward(fourier);
        let entries = self.weights.iter().zip(&fourier.samples);
        for ((out, x), (weight, sample)) in out.iter_mut().zip(x).zip(entries) {
            *out = x * (num_samples * weight + self.parameters.xi) + sample;
        }
    }
}

impl Difference {
    fn new(alpha: f64, nu: f64, d: [f64; 2], p: [f64; 2]) -> Self {
        let sigma = (d[0] * d[0] + d[1] * d[1] + nu * nu).sqrt();
        let (scale, relative) = (alpha / sigma, [d[0] / sigma, d[1] / sigma]);
        let weight = [
            scale * (1.0 - p[0] * relative[0]),
            -0.5 * scale * (p[0] * relative[1] + p[1] * relative[0]),
            scale * (1.0 - p[1] * relative[1]),
        ];
        Self {
            d,
            p,
            sigma,
            weight,
        }
    }

    /// The difference with `$p = d/\sigma$`, so that its weight is
    /// `$\frac{\alpha}{\sigma^3}(\sigma^2I - dd^T)$`, computed without cancellation.
    #[inline(always)]
    fn of_hessian(alpha: f64, nu: f64, d: [f64; 2]) -> Self {
        let nu_squared = nu * nu;
        let square = d[0] * d[0] + d[1] * d[1] + nu_squared;
        let sigma = square.sqrt();
        let scale = alpha / (square * sigma);
        Self {
            d,
            p: [d[0] / sigma, d[1] / sigma],
            sigma,
            weight: [
                scale * (d[1] * d[1] + nu_squared),
                -scale * (d[0] * d[1]),
                scale * (d[0] * d[0] + nu_squared),
            ],
        }
    }

    /// Returns `$W_j z$`.
    #[inline(always)]
    fn weigh(&self, z: Complex<f64>) -> Complex<f64> {
        let [diagonal, off, last] = self.weight;
        Complex::new(diagonal * z.re + off * z.im, off * z.re + last * z.im)
    }

    /// Returns `$\Delta p_j$` for the dual variable `dual`, changed such that `$p_j + \Delta p_j$`
    /// lies in the unit disc.
    fn dual_step(&self, change: [f64; 2], dual: [f64; 2]) -> [f64; 2] {
        let along = (self.d[0] * change[0] + self.d[1] * change[1]) / (self.sigma * self.sigma);
        let entry = |i: usize| (self.d[i] + change[i]) / self.sigma - along * self.p[i];
        let new = into_disc([entry(0), entry(1)]);
        [new[0] - dual[0], new[1] - dual[1]]
    }
}

/// Overwrites `x` with `$D^T W D x$`.
#[inline(always)]
fn apply_weights(differences: &[Difference], x: &mut [Complex<f64>]) {
    let mut left = Complex::ZERO;
    for (x, difference) in x.iter_mut().zip(differences) {
        let here = *x;
        *x = difference.weigh(here - left);
        left = here;
    }
    for j in 1..x.len() {
        let flux = x[j];
        x[j - 1] -= flux;
    }
}

/// Overwrites `dual_step` with the change of all dual variables.
#[inline(always)]
fn dual_steps(differences: &[Difference], dual: &[f64], step: &[f64], dual_step: &mut [f64]) {
    let (steps, _) = step.as_chunks::<2>();
    let (duals, _) = dual.as_chunks::<2>();
    let (outs, _) = dual_step.as_chunks_mut::<2>();
    let mut left = [0.0, 0.0];
    let known = differences.iter().zip(duals);
    for ((out, step), (difference, &dual)) in outs.iter_mut().zip(steps).zip(known) {
        let change = [step[0] - left[0], step[1] - left[1]];
        left = *step;
        *out = difference.dual_step(change, dual);
    }
}

/// Returns the nearest point of the unit disc.
#[inline(always)]
fn into_disc(p: [f64; 2]) -> [f64; 2] {
    let square = p[0] * p[0] + p[1] * p[1];
    if square > 1.0 {
        let length = square.sqrt();
        [p[0] / length, p[1] / length]
    } else {
        p
    }
}

/// Returns the real part of the inner product, added in an order that does not depend on the
/// machine.
#[inline(always)]
fn dot(a: &[Complex<f64>], b: &[Complex<f64>]) -> f64 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<4>(), b.as_chunks::<4>());
    let mut lanes = [Complex::<f64>::ZERO; 4];
    for (a, b) in a.iter().zip(b) {
        for ((lane, a), b) in lanes.iter_mut().zip(a).zip(b) {
            lane.re += a.re * b.re;
            lane.im += a.im * b.im;
        }
    }
    let rest = a_rest.iter().zip(b_rest);
    let rest = rest.map(|(a, b)| a.re * b.re + a.im * b.im);
    lanes.iter().map(|lane| lane.re + lane.im).chain(rest).sum()
}

#[cfg(test)]
mod tests;
