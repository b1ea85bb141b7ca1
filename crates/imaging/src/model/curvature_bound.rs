//! An error bound for reconstructions from Fourier samples that uses the local curvature.
//!
//! If most frequencies are hardly sampled, `$\mu = \min s + \xi$` is tiny, and
//! `$\|\nabla\Phi(x)\|/\mu$` is many times the error. But around the minimiser, the total variation
//! has a curvature of about `$\alpha/\nu$` in all differences except a few, the jumps.
//!
//! **Curvature on a segment in a ball.** Let `$\|h\| \le r$`. From `$x$` to `$x + h$`, a difference
//! `$d_j$` changes by some `$t_j$`, which is at most `$\sqrt2 r$` in modulus. The eigenvalues of
//! the second derivative of `$\alpha\sqrt{|d|^2 + \nu^2}$` are at least
//! `$\alpha\nu^2(|d|^2 + \nu^2)^{-3/2}$`, the derivative of `$\alpha\psi(|d|)$`, where
//! `$\psi(m) = m/\sqrt{m^2 + \nu^2}$`. So the mean curvature along the segment is at least
//! `$\alpha(\psi(|d_j| + |t_j|) - \psi(|d_j|))/|t_j|$`, and at least the same expression with
//! `$\sqrt2 r$` in place of `$|t_j|$`, which we call `$w_j$`. (For `$r \gg \nu$`, the least
//! curvature on the segment would be smaller by a factor `$\nu^2/r^2$`.) Let `$J$` hold the few
//! largest differences, let `$w$` be the smallest weight of the others, and give the cyclic
//! difference `$\delta_0 = e_0 - e_{N-1}$` the weight `$w_0 = 0$`. Then
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
//! since the expression in the middle is concave in `$e$`. Now follow the segment from `$x$` to
//! `$x^*$` as far as it stays in the ball of radius `$r$`, to `$x + h$`. The slope
//! `$\langle\nabla\Phi, h\rangle$` grows along the segment and is zero at `$x^*$`, so
//! `$0 \ge \langle\nabla\Phi(x + h), h\rangle \ge \langle g, h\rangle + \langle h, H_r h\rangle$`,
//! and `$e = -h$` is such a vector. Hence **`$\varepsilon_r < r$` proves
//! `$\|x - x^*\| \le \varepsilon_r$`**: the segment does not reach the boundary of the ball, so it
//! ends inside, and `$h = x^* - x$`. This needs no prior knowledge. If `$r$` is known to bound the
//! error, `$\varepsilon_r$` is a bound whatever its size. If `$g$` is an eigenvector of the
//! smallest eigenvalue, `$\lambda = \lambda_{\min}/2$` gives
//! `$\varepsilon_r = \|g\|/\lambda_{\min}$`; otherwise `$\varepsilon_r$` is smaller.
//!
//! **Smallest eigenvalue in a ball.** For the Hessian at every point of the ball, instead of means
//! along segments, the same holds with the curvature
//! `$w_j = \alpha\nu^2((|d_j| + \sqrt2 r)^2 + \nu^2)^{-3/2}$`, the smallest in the ball. Each
//! `$\lambda$` for which `$H_r - \lambda I$` is positive definite is then a lower bound on the
//! eigenvalues.
//!
//! **Rounding.** We factor `$H_r - \lambda I$`, but use `$\lambda' = \lambda - \kappa$` in the
//! bound. Then `$H_r - \lambda' I \succeq \kappa I$`, and an error `$\eta$` of the gradient adds at
//! most `$\eta/\sqrt\kappa$` to `$a$`. An error of the transform of `$g$` counts as an error of
//! `$g$`. With `$\lambda \le \frac34\min\gamma$`, all `$1/(\gamma_k - \lambda)$` have relative
//! errors below `$64u$`. With `$R$` the roundings of a transform, the entries of the small matrix
//! `$E$` of [`DowndatedCirculant`] have errors of at most `$4(R + 80)u$`, since
//! `$w|1 - \omega^k|^2 \le \gamma_k \le 4(\gamma_k - \lambda)$`. The Cholesky factorisation of a
//! matrix of order `$m$` and trace at most `$m$`, together with a triangular solve, is exact for a
//! matrix that differs by at most `$4(3m + 1)mu$` (Higham, *Accuracy and Stability of Numerical
//! Algorithms*, Theorem 10.4, with the constant of complex arithmetic). If both errors together are
//! at most `$\tau$`, the factorisation of `$E - 2\tau I$` is exact for a matrix between `$0$` and
//! `$E - \tau I$`. So it proves `$E \succeq \tau I$`, and its solves are not too small.

use std::f64::consts::SQRT_2;

use lowlevel::{NewtonPoint, UNIT_ROUNDOFF};
use num_complex::Complex;

use super::TvParameters;
use super::circulant::{DowndatedCirculant, count};
use super::simd::vectorize;
use crate::grid::Field;
use crate::operator::{FourierScratch, Transform, to_complex};

/// The parts of the model that the bound needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct LocalCurvature<'a> {
    pub(super) transform: &'a Transform,
    /// The scaled weights `$s/N$`.
    pub(super) weights: &'a [f64],
    pub(super) parameters: TvParameters,
    /// The strong convexity `$\mu$`.
    pub(super) strong_convexity: f64,
    /// A bound on the error of the gradient.
    pub(super) gradient_error: f64,
}

/// The working memory of the bound.
#[derive(Clone, Debug)]
pub(super) struct CurvatureScratch {
    /// The negative moduli `$-|d_j|$`, so that the lightest entries are the largest differences.
    moduli: Vec<f64>,
    /// The numbers `$s_k + \xi$`.
    spectrum: Vec<f64>,
    /// The unscaled transform of the gradient.
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

/// The cost of a bound without its shifts, in gradients (measured).
const COST: f64 = 2.0;
/// The cost of one shift, in gradients (measured).
const COST_PER_SHIFT: f64 = 2.5;
/// The radius of a ball, relative to the expected error; a choice.
const SLACK: f64 = 1.25;
/// The least factor by which a ball that was too small grows; a choice.
const GROWTH: f64 = 1.6;
/// The largest number of balls that are tried; a choice.
const MAX_BALLS: usize = 6;
/// The largest number of shifts that are tried in a ball; a choice.
const MAX_SHIFTS: usize = 24;
/// The ratio `$\kappa/\lambda$`; a choice.
const KAPPA: f64 = 1.0 / 32.0;

/// The largest number of shifts that are tried for the smallest eigenvalue in a ball; a choice.
const MAX_EIGENVALUE_SHIFTS: usize = 10;

/// The numbers that belong to a factorisation of `$H_r - \lambda I$`.
struct Factored {
    /// The number `$\langle g, F^*VF g\rangle$`.
    energy: f64,
    /// The largest entry of `$V$`.
    largest: f64,
    tau: f64,
}

/// A search for a ball that contains the minimiser.
struct BallSearch<'a, 's> {
    model: LocalCurvature<'a>,
    gradient_norm: f64,
    /// The error bound that the gradient alone proves.
    proved: f64,
    /// The target error, or zero for the best possible bound.
    target: f64,
    circulant: &'s mut DowndatedCirculant,
    own: &'s mut CurvatureScratch,
    fourier: &'s mut FourierScratch,
    /// The largest modulus of a difference outside `$J$`.
    modulus: f64,
    /// The number of shifts tried so far.
    shifts: usize,
}

impl LocalCurvature<'_> {
    /// Returns a bound on the distance from the minimiser, and its cost in gradients. If the target
    /// error is out of reach, it gives up and returns the bound that the gradient proves. With a
    /// target norm of zero, it looks for the best bound.
    pub(super) fn bound(
        self,
        at: &NewtonPoint<'_>,
        circulant: &mut DowndatedCirculant,
        own: &mut CurvatureScratch,
        fourier: &mut FourierScratch,
    ) -> (f64, f64) {
        let mut search = BallSearch {
            model: self,
            gradient_norm: at.gradient_norm,
            proved: (at.gradient_norm + self.gradient_error) / self.strong_convexity,
            target: at.target_norm / self.strong_convexity,
            circulant,
            own,
            fourier,
            modulus: 0.0,
            shifts: 0,
        };
        // Plain loops, which the compiler vectorises for the machine at hand.
        let bound = vectorize(
            #[inline(always)]
            || {
                search.prepare(at);
                search.run()
            },
        );
        (bound, COST + COST_PER_SHIFT * count(search.shifts))
    }

    /// Returns a lower bound on the eigenvalues of the Hessian at every point of a ball, given the
    /// moduli `$|d_j|$` at its centre. It is at least the strong convexity. Its cost is that of a
    /// bound with at most [`MAX_EIGENVALUE_SHIFTS`] shifts.
    pub(super) fn smallest_eigenvalue(
        self,
        moduli: &[f64],
        radius: f64,
        circulant: &mut DowndatedCirculant,
        own: &mut CurvatureScratch,
        fourier: &mut FourierScratch,
    ) -> f64 {
        own.gradient.fill(Complex::ZERO);
        let mut search = BallSearch {
            model: self,
            gradient_norm: 0.0,
            proved: f64::INFINITY,
            target: 0.0,
            circulant,
            own,
            fourier,
            modulus: 0.0,
            shifts: 0,
        };
        vectorize(
            #[inline(always)]
            || {
                search.prepare_differences(moduli.iter().copied());
                search.smallest_eigenvalue(radius)
            },
        )
    }
}

impl BallSearch<'_, '_> {
    /// Computes the differences, finds `$J$`, and transforms the gradient.
    #[inline(always)]
    fn prepare(&mut self, at: &NewtonPoint<'_>) {
        let (samples, _) = at.x.as_chunks::<2>();
        let mut left = [0.0, 0.0];
        self.prepare_differences(samples.iter().map(|&x| {
            let d = [x[0] - left[0], x[1] - left[1]];
            left = x;
            (d[0] * d[0] + d[1] * d[1]).sqrt()
        }));
        to_complex(Field::Complex, at.gradient, &mut self.fourier.samples);
        self.model.transform.forward(self.fourier);
        self.own.gradient.copy_from_slice(&self.fourier.samples);
    }

    /// Stores the moduli of the differences, finds `$J$`, and computes `$s_k + \xi$`.
    #[inline(always)]
    fn prepare_differences(&mut self, moduli: impl Iterator<Item = f64>) {
        /// Exceeds every loss by underflow of squares, and is negligible compared with any sensible
        /// `$\nu$`.
        const LOST: f64 = 1e-150;
        for (entry, modulus) in self.own.moduli.iter_mut().zip(moduli) {
            *entry = -(modulus + LOST);
        }
        self.modulus = -self.circulant.find_lightest(&self.own.moduli);
        let num_samples = count(self.model.weights.len());
        let xi = self.model.parameters.xi;
        for (entry, weight) in self.own.spectrum.iter_mut().zip(self.model.weights) {
            *entry = num_samples * weight + xi;
        }
    }

    /// Returns a lower bound on the eigenvalues in a ball: halves the shift until it is proved, and
    /// then tries larger ones.
    #[inline(always)]
    fn smallest_eigenvalue(&mut self, radius: f64) -> f64 {
        let (parameters, spread) = (self.model.parameters, SQRT_2 * radius);
        let weight = |modulus: f64| mean_curvature(parameters, modulus + spread, 0.0);
        let level = weight(self.modulus);
        let smallest = self.set_level(level, |modulus| weight(-modulus));
        let mut proved = self.model.strong_convexity;
        let mut refuted = f64::INFINITY;
        let mut shift = 0.75 * smallest;
        while self.shifts < MAX_EIGENVALUE_SHIFTS && shift > proved {
            if self.factor(level, shift).is_some() {
                proved = shift;
            } else {
                refuted = shift;
            }
            if !(refuted < f64::INFINITY) {
                break;
            }
            // Halve until something is proved; then take the middle on a logarithmic scale.
            let is_start = !(proved > self.model.strong_convexity);
            shift = if is_start {
                0.5 * refuted
            } else {
                (proved * refuted).sqrt()
            };
        }
        proved
    }

    /// Sets up the downdate for a common weight `level` of the differences, and returns the
    /// smallest `$\gamma_k$`. `weight` maps negative moduli to weights.
    #[inline(always)]
    fn set_level(&mut self, level: f64, weight: impl Fn(f64) -> f64) -> f64 {
        self.circulant.remove_lightest(level, weight);
        let entries = self.own.spectrum.iter().zip(&self.circulant.laplacian);
        entries.fold(f64::INFINITY, |least, (entry, laplacian)| {
            least.min(entry + level * laplacian)
        })
    }

    /// Tries balls that grow from the expected error to the bound that the gradient proves.
    #[inline(always)]
    fn run(&mut self) -> f64 {
        let (mut error, mut shift) = self.error_in_ball(0.0, None);
        let mut radius = 0.0;
        for _ in 0..MAX_BALLS {
            let hopeless = self.target > 0.0 && error > self.target;
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

    /// Returns `$\varepsilon_r$` for the best of several shifts `$\lambda$`, and that shift. The
    /// error is infinite if no shift works.
    ///
    /// Without a `guess`, it halves the shift as long as the error becomes smaller. With a `guess`,
    /// it halves the shift until the error is finite.
    #[inline(always)]
    fn error_in_ball(&mut self, radius: f64, guess: Option<f64>) -> (f64, f64) {
        let parameters = self.model.parameters;
        let spread = SQRT_2 * radius;
        let level = mean_curvature(parameters, self.modulus, spread);
        let smallest = self.set_level(level, |modulus| {
            mean_curvature(parameters, -modulus, spread)
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

    /// Returns `$a$`, or infinity if the factorisation does not prove that `$H_r - \lambda I$` is
    /// positive definite.
    #[inline(always)]
    fn gradient_size(&mut self, level: f64, shift: f64) -> f64 {
        let Some(Factored {
            energy,
            largest,
            tau,
        }) = self.factor(level, shift)
        else {
            return f64::INFINITY;
        };
        let transform = self.model.transform;
        let roundings = transform.roundings();
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

    /// Factors `$H_r - \lambda I$`, unless that does not prove that it is positive definite.
    #[inline(always)]
    fn factor(&mut self, level: f64, shift: f64) -> Option<Factored> {
        self.shifts += 1;
        let (energy, largest) = self.invert(level, shift);
        let transform = self.model.transform;
        let removed = count(self.circulant.num_removed());
        let tau = UNIT_ROUNDOFF
            * removed
            * (4.0 * (transform.roundings() + 80.0) + 4.0 * (3.0 * removed + 1.0));
        let is_definite = self.circulant.factor(2.0 * tau, transform, self.fourier);
        is_definite.then_some(Factored {
            energy,
            largest,
            tau,
        })
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

/// Returns a lower bound on `$\alpha(\psi(b) - \psi(a))/(b - a)$` for `$b = a + t$`, which differs
/// from it only by rounding.
///
/// It is computed without cancellation, as `$\alpha\nu^2(a + b)/((aB + bA)AB)$` with
/// `$A = \sqrt{a^2 + \nu^2}$` and `$B = \sqrt{b^2 + \nu^2}$`. For `$t = 0$` it is the derivative.
#[inline(always)]
fn mean_curvature(TvParameters { alpha, nu, .. }: TvParameters, a: f64, t: f64) -> f64 {
    let b = a + t;
    let (root_a, root_b) = ((a * a + nu * nu).sqrt(), (b * b + nu * nu).sqrt());
    let ratio = if b > 0.0 { a / b } else { 1.0 };
    let share = (1.0 + ratio) / (root_a + ratio * root_b);
    alpha * nu * nu * (1.0 - 32.0 * UNIT_ROUNDOFF) * share / (root_a * root_b)
}
