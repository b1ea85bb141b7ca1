//! A bound on the error of a reconstruction from Fourier samples that knows the curvature where it
//! is needed.
//!
//! Where most frequencies are hardly sampled, `$\mu = \min s + \xi$` is tiny, and
//! `$\|\nabla\Phi(x)\|/\mu$` many times the error: around the minimiser the total variation is as
//! curved as `$\alpha/\nu$` in all but a few differences, the jumps.
//!
//! **Curvature on the way through a ball.** Let `$\|h\| \le r$`. From `$x$` to `$x + h$` a
//! difference `$d_j$` changes by some `$t_j$`, at most `$\sqrt2 r$` in modulus. The eigenvalues of
//! the second derivative of `$\alpha\sqrt{|d|^2 + \nu^2}$` are at least
//! `$\alpha\nu^2(|d|^2 + \nu^2)^{-3/2}$`, the derivative of `$\alpha\psi(|d|)$`, where
//! `$\psi(m) = m/\sqrt{m^2 + \nu^2}$`. So on average along the way the curvature is at least
//! `$\alpha(\psi(|d_j| + |t_j|) - \psi(|d_j|))/|t_j|$`, and at least the same with `$\sqrt2 r$` in
//! the place of `$|t_j|$`, which we call `$w_j$`. (The least curvature on the way would be smaller
//! by `$\nu^2/r^2$` where `$r \gg \nu$`.) Let `$J$` hold the few largest differences, let `$w$` be
//! the smallest weight of the others, and give the cyclic difference `$\delta_0 = e_0 - e_{N-1}$`
//! the weight `$w_0 = 0$`. Then
//!
//! ```math
//! \int_0^1 \nabla^2\Phi(x + \tau h)\,d\tau \succeq H_r = F^*\Gamma F - \sum_{j \in J \cup \{0\}} (w - w_j)_+\,\delta_j\delta_j^T
//! \quad\text{along } h, \qquad \gamma_k = s_k + \xi + w\,|1 - \omega^k|^2.
//! ```
//!
//! **From curvature to error.** Let `$g = \nabla\Phi(x)$`, `$0 < \lambda < \lambda_{\min}(H_r)$`
//! and `$a^2 = \langle g, (H_r - \lambda I)^{-1} g\rangle$`. A vector `$e$` with
//! `$\langle g, e\rangle \ge \langle e, H_r e\rangle$` satisfies
//!
//! ```math
//! \|e\|^2 \le \|e\|^2 + \frac1\lambda\bigl(\langle g, e\rangle - \langle e, H_r e\rangle\bigr) \le \frac{a^2}{4\lambda} =: \varepsilon_r^2,
//! ```
//!
//! the middle being concave in `$e$`. Now follow the segment from `$x$` to `$x^*$` as far as it
//! stays in the ball of radius `$r$`, to `$x + h$`. The slope `$\langle\nabla\Phi, h\rangle$` grows
//! along it, and at `$x^*$` it is zero, so
//! `$0 \ge \langle\nabla\Phi(x + h), h\rangle \ge \langle g, h\rangle + \langle h, H_r h\rangle$`,
//! and `$e = -h$` is such a vector. Hence **`$\varepsilon_r < r$` proves
//! `$\|x - x^*\| \le \varepsilon_r$`**: the segment does not reach the boundary of the ball, so it
//! ends inside, and `$h = x^* - x$`. Nothing need be known beforehand; where `$r$` is known to
//! bound the error, `$\varepsilon_r$` does whatever its size. If `$g$` is an eigenvector of the
//! smallest eigenvalue, `$\lambda = \lambda_{\min}/2$` gives
//! `$\varepsilon_r = \|g\|/\lambda_{\min}$`; else it is smaller.
//!
//! **Rounding.** We factor `$H_r - \lambda I$` but use `$\lambda' = \lambda - \kappa$` in the
//! bound: then `$H_r - \lambda' I \succeq \kappa I$`, and a gradient off by `$\eta$` adds at most
//! `$\eta/\sqrt\kappa$` to `$a$`. An error of the transform of `$g$` counts as one of `$g$`. With
//! `$\lambda \le \frac34\min\gamma$` all `$1/(\gamma_k - \lambda)$` have relative errors below
//! `$64u$`, and with `$R$` the roundings of a transform the entries of the small matrix `$E$` of
//! [`CirculantLess`] are off by at most `$4(R + 80)u$`, as
//! `$w|1 - \omega^k|^2 \le \gamma_k \le 4(\gamma_k - \lambda)$`. Cholesky's factorisation of a
//! matrix of order `$m$` and trace at most `$m$`, together with a triangular solve, is that of a
//! matrix off by at most `$4(3m + 1)mu$` (Higham, *Accuracy and Stability of Numerical Algorithms*,
//! Theorem 10.4, with the constant of complex arithmetic). If both together are at most `$\tau$`,
//! the factorisation of `$E - 2\tau I$` is the exact one of a matrix between `$0$` and
//! `$E - \tau I$`, so that it proves `$E \succeq \tau I$` and its solves are not too small.

use std::f64::consts::SQRT_2;

use lowlevel::{NewtonPoint, UNIT_ROUNDOFF};
use num_complex::Complex;

use super::TvParameters;
use super::circulant::{CirculantLess, count};
use super::simd::dispatch;
use crate::grid::Field;
use crate::operator::{FourierScratch, Transform, to_complex};

/// What the bound needs to know of the model.
#[derive(Clone, Copy, Debug)]
pub(super) struct LocalCurvature<'a> {
    pub(super) transform: &'a Transform,
    /// `$s/N$`.
    pub(super) weights: &'a [f64],
    pub(super) parameters: TvParameters,
    /// `$\mu$`.
    pub(super) strong_convexity: f64,
    /// A bound on the error of the gradient.
    pub(super) gradient_error: f64,
}

/// Working memory of the bound.
#[derive(Clone, Debug)]
pub(super) struct CurvatureScratch {
    /// `$-|d_j|$`.
    moduli: Vec<f64>,
    /// `$s_k + \xi$`.
    spectrum: Vec<f64>,
    /// The transform of the gradient, unscaled.
    gradient: Vec<Complex<f64>>,
}

impl CurvatureScratch {
    pub(super) fn new(num_samples: usize) -> Self {
        Self {
            moduli: vec![0.0; num_samples],
            spectrum: vec![0.0; num_samples],
            gradient: vec![Complex::ZERO; num_samples],
        }
    }
}

/// What one bound needs in gradients, and what each shift that it tries: measured.
const COST: f64 = 2.0;
const COST_PER_SHIFT: f64 = 2.5;
/// A ball is this much larger than the error expected.
const SLACK: f64 = 1.25;
/// A ball that was too small grows at least by this.
const GROWTH: f64 = 1.6;
/// So many balls are tried.
const MAX_BALLS: usize = 6;
/// So many shifts are tried in a ball.
const MAX_SHIFTS: usize = 24;
/// `$\kappa/\lambda$`.
const KAPPA: f64 = 1.0 / 32.0;

/// One search for a ball that contains the minimiser.
struct Search<'a, 's> {
    model: LocalCurvature<'a>,
    gradient_norm: f64,
    /// What the gradient alone proves.
    proved: f64,
    /// The error that is wanted.
    wanted: f64,
    circulant: &'s mut CirculantLess,
    own: &'s mut CurvatureScratch,
    fourier: &'s mut FourierScratch,
    /// The largest modulus outside `$J$`.
    modulus: f64,
    shifts: usize,
}

impl LocalCurvature<'_> {
    /// A bound on the distance from the minimiser, and what that cost in gradients. Gives up where
    /// the error wanted is out of reach, with what the gradient proves; wanting none asks for the
    /// best.
    pub(super) fn bound(
        self,
        at: &NewtonPoint<'_>,
        circulant: &mut CirculantLess,
        own: &mut CurvatureScratch,
        fourier: &mut FourierScratch,
    ) -> (f64, f64) {
        let mut search = Search {
            model: self,
            gradient_norm: at.gradient_norm,
            proved: (at.gradient_norm + self.gradient_error) / self.strong_convexity,
            wanted: at.target_norm / self.strong_convexity,
            circulant,
            own,
            fourier,
            modulus: 0.0,
            shifts: 0,
        };
        // Plain loops: the compiler vectorises them for the dispatched machine.
        let bound = dispatch(
            #[inline(always)]
            || {
                search.prepare(at);
                search.run()
            },
        );
        (bound, COST + COST_PER_SHIFT * count(search.shifts))
    }
}

impl Search<'_, '_> {
    /// Finds the differences and `$J$`, and transforms the gradient.
    #[inline(always)]
    fn prepare(&mut self, at: &NewtonPoint<'_>) {
        /// Outweighs all that squaring may lose, and is nothing beside any sensible `$\nu$`.
        const LOST: f64 = 1e-150;
        let (samples, _) = at.x.as_chunks::<2>();
        let mut left = [0.0, 0.0];
        for (modulus, &x) in self.own.moduli.iter_mut().zip(samples) {
            let d = [x[0] - left[0], x[1] - left[1]];
            *modulus = -((d[0] * d[0] + d[1] * d[1]).sqrt() + LOST);
            left = x;
        }
        self.modulus = -self.circulant.find_lightest(&self.own.moduli);
        let num_samples = count(self.model.weights.len());
        let xi = self.model.parameters.xi;
        for (entry, weight) in self.own.spectrum.iter_mut().zip(self.model.weights) {
            *entry = num_samples * weight + xi;
        }
        to_complex(Field::Complex, at.gradient, &mut self.fourier.samples);
        self.model.transform.forward(self.fourier);
        self.own.gradient.copy_from_slice(&self.fourier.samples);
    }

    /// Tries balls that grow from the error expected to that which the gradient proves.
    #[inline(always)]
    fn run(&mut self) -> f64 {
        let (mut error, mut shift) = self.error_in_ball(0.0, None);
        let mut radius = 0.0;
        for _ in 0..MAX_BALLS {
            let hopeless = self.wanted > 0.0 && error > self.wanted;
            radius = (SLACK * error).max(GROWTH * radius).min(self.proved);
            if hopeless || !(error < self.proved) {
                break;
            }
            (error, shift) = self.error_in_ball(radius, Some(shift));
            if error < radius || radius >= self.proved {
                return error.min(self.proved);
            }
        }
        self.proved
    }

    /// `$\varepsilon_r$` for the best of some shifts `$\lambda$`, and that shift; infinite where
    /// none will do.
    ///
    /// Halves the shift while that helps; with a `guess`, until it does.
    #[inline(always)]
    fn error_in_ball(&mut self, radius: f64, guess: Option<f64>) -> (f64, f64) {
        let parameters = self.model.parameters;
        let spread = SQRT_2 * radius;
        let level = mean_curvature(parameters, self.modulus, spread);
        self.circulant.remove_lightest(level, |modulus| {
            mean_curvature(parameters, -modulus, spread)
        });
        let entries = self.own.spectrum.iter().zip(&self.circulant.laplacian);
        let smallest = entries.fold(f64::INFINITY, |least, (entry, laplacian)| {
            least.min(entry + level * laplacian)
        });
        let mut shift = guess.map_or(0.5 * smallest, |guess| guess.min(0.5 * smallest));
        let mut best = (f64::INFINITY, shift);
        for _ in 0..MAX_SHIFTS {
            let size = self.gradient_size(level, shift);
            let error = 0.5 * size / (shift - KAPPA * shift).sqrt() * (1.0 + 16.0 * UNIT_ROUNDOFF);
            let improved = error < best.0;
            if improved {
                best = (error, shift);
            }
            if best.0.is_finite() && (guess.is_some() || !improved) {
                break;
            }
            shift *= 0.5;
        }
        best
    }

    /// `$a$`; infinite where `$H_r - \lambda I$` is not known to be positive definite.
    #[inline(always)]
    fn gradient_size(&mut self, level: f64, shift: f64) -> f64 {
        self.shifts += 1;
        let (energy, largest) = self.invert(level, shift);
        let transform = self.model.transform;
        let roundings = transform.roundings();
        let removed = count(self.circulant.num_removed());
        let tau =
            UNIT_ROUNDOFF * removed * (4.0 * (roundings + 80.0) + 4.0 * (3.0 * removed + 1.0));
        if !self.circulant.factor(2.0 * tau, transform, self.fourier) {
            return f64::INFINITY;
        }
        let per_sample = 1.0 / count(self.model.weights.len());
        let entries = self.own.gradient.iter().zip(&self.circulant.inverse);
        for (sample, (gradient, inverse)) in self.fourier.samples.iter_mut().zip(entries) {
            *sample = gradient * (inverse * per_sample);
        }
        transform.inverse(self.fourier);
        let correction = self.circulant.reduce(&self.fourier.samples).sqrt();
        let lost =
            2.0 * (roundings + 72.0) * UNIT_ROUNDOFF * (level * energy * largest / tau).sqrt();
        let size = energy.sqrt().hypot(correction + lost) * (1.0 + 256.0 * UNIT_ROUNDOFF);
        let gradient_error =
            self.model.gradient_error + (roundings + 8.0) * UNIT_ROUNDOFF * self.gradient_norm;
        size + gradient_error / (KAPPA * shift).sqrt()
    }

    /// Computes `$V = (\Gamma - \lambda I)^{-1}$`, and returns `$\langle g, F^*VF g\rangle$` and
    /// the largest entry.
    #[inline(always)]
    fn invert(&mut self, level: f64, shift: f64) -> (f64, f64) {
        let entries = self.own.spectrum.iter().zip(&self.circulant.laplacian);
        let (mut energy, mut largest) = (0.0, 0.0_f64);
        let outputs = self.circulant.inverse.iter_mut().zip(&self.own.gradient);
        for ((entry, laplacian), (inverse, gradient)) in entries.zip(outputs) {
            *inverse = 1.0 / (entry + level * laplacian - shift);
            largest = largest.max(*inverse);
            energy += *inverse * gradient.norm_sqr();
        }
        (energy / count(self.model.weights.len()), largest)
    }
}

/// `$\alpha(\psi(b) - \psi(a))/(b - a)$` for `$b = a + t$`, rounded down. Without cancellation it
/// is `$\alpha\nu^2(a + b)/((aB + bA)AB)$` with `$A = \sqrt{a^2 + \nu^2}$` and
/// `$B = \sqrt{b^2 + \nu^2}$`; for `$t = 0$` it is the derivative.
#[inline(always)]
fn mean_curvature(TvParameters { alpha, nu, .. }: TvParameters, a: f64, t: f64) -> f64 {
    let b = a + t;
    let (root_a, root_b) = ((a * a + nu * nu).sqrt(), (b * b + nu * nu).sqrt());
    let ratio = if b > 0.0 { a / b } else { 1.0 };
    let share = (1.0 + ratio) / (root_a + ratio * root_b);
    alpha * nu * nu * (1.0 - 32.0 * UNIT_ROUNDOFF) * share / (root_a * root_b)
}
