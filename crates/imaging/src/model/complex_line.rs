//! The gradient of the smoothed total variation of a complex line, with the differences
//! [`Differences::LINE_OF_PAPER`](crate::Differences).

use pulp::{Simd, WithSimd};

use super::TvParameters;

/// Adds `$\xi x_j + w_j - w_{j+1}$` to `gradient`, where
/// `$w_j = \alpha d_j/\sqrt{|d_j|^2 + \nu^2}$`, `$d_j = x_j - x_{j-1}$`, `$x_{-1} = 0$` and
/// `$w_N = 0$`. Complex samples are interleaved.
#[derive(Debug)]
pub(super) struct AddComplexLineGradient<'a> {
    pub(super) parameters: TvParameters,
    pub(super) x: &'a [f64],
    pub(super) gradient: &'a mut [f64],
    /// Memory for the `$2N + 2$` numbers of `$w$`.
    pub(super) fluxes: &'a mut [f64],
}

impl WithSimd for AddComplexLineGradient<'_> {
    type Output = ();

    /// Runs plain loops, which the compiler vectorises for the machine at hand.
    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        let Self {
            parameters: TvParameters { alpha, nu, xi },
            x,
            gradient,
            fluxes,
        } = self;
        let nu_squared = nu * nu;
        let weighted = |[re, im]: [f64; 2]| {
            let scale = alpha / (re * re + im * im + nu_squared).sqrt();
            [scale * re, scale * im]
        };
        let (samples, _) = x.as_chunks::<2>();
        let (pairs, _) = fluxes.as_chunks_mut::<2>();
        pairs[0] = weighted(samples[0]);
        for ((flux, x), left) in pairs[1..].iter_mut().zip(&samples[1..]).zip(samples) {
            *flux = weighted([x[0] - left[0], x[1] - left[1]]);
        }
        pairs[samples.len()] = [0.0, 0.0];
        let flows = fluxes.iter().zip(&fluxes[2..]);
        for ((gradient, x), (here, next)) in gradient.iter_mut().zip(x).zip(flows) {
            *gradient += xi * x + (here - next);
        }
    }
}
