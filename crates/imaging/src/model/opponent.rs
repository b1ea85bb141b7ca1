//! Models of pictures in colour, composed of a model of luminance and one of chroma.

use lowlevel::{Curvature, SecondOrder, StronglyConvex, UNIT_ROUNDOFF};

use super::{Denoising, TvParameters, Variational};
use crate::colour::{ColourMeasurement, ROUNDING, join, split};
use crate::difference::Differences;
use crate::error::ModelError;
use crate::fingerprint;
use crate::operator::{Identity, Weights};
use crate::regularizer::SmoothedTv;

/// A model of pictures in colour,
/// `$\Phi(x) = \Phi_1(z_1) + \Phi_2(z_2, z_3)$` with `$z = Ox$` in every pixel, where `$\Phi_1$` is
/// a model of grey pictures and `$\Phi_2$` one of complex pictures with real part `$z_2$` and
/// imaginary part `$z_3$`.
///
/// The [opponent transform](crate::colour) `$O$` is orthogonal, so `$\Phi$` is a function of the
/// picture in colour itself, with `$\mu = \min(\mu_1, \mu_2)$` and `$L = \max(L_1, L_2)$`. An
/// operator that treats all colours alike commutes with `$O$`. So `$\frac12\|Ax - y\|^2$` plus a
/// regulariser of luminance and one of chroma has this form, if the data are transformed, too.
/// [`Opponent::tv`] denoises with the total variation:
///
/// ```
/// use imaging::colour::ColourMeasurement;
/// use imaging::{Grid, Opponent, OpponentTvParameters, Seed, noise, phantom, quality};
/// use lowlevel::{ErrorBound, Solver, State, Stop, StronglyConvex};
///
/// let truth = phantom::dead_leaves_in_colour(32, 32, Seed::new(1), 0)?;
/// let noisy = noise::gaussian(&truth, 0.1, Seed::new(1), 0)?;
/// let data = ColourMeasurement::new(Grid::image(32, 32).colour(), &noisy)?;
/// let parameters = OpponentTvParameters { luminance: 0.07, chroma: 0.14, nu: 5e-3, xi: 1e-3 };
/// let objective = Opponent::tv(&data, parameters)?;
///
/// let mut state = State::new(noisy.clone());
/// let stop = Stop::accuracy(ErrorBound::new(1e-2)?);
/// let solved =
///     Solver::default().minimize(&objective, stop, &mut state, &mut objective.scratch())?;
/// assert!(solved.error.value() <= 1e-2);
/// // 0.335 of the error is left
/// assert!(quality::mse(state.point(), &truth)? < 0.34 * quality::mse(&noisy, &truth)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// **Rounding.** The computed `$\tilde z$` differs from `$Ox$` by at most `$\eta = 8u\|x\|$`, so
/// everything is computed for the picture `$x' = O^T\tilde z$`, which is as close to `$x$`. The
/// rounding error of the gradient includes `$L\eta$`. So a certified error `$\varepsilon$` of
/// `$x$`, which is at least the rounding error divided by `$\mu$`, exceeds the error of `$x'$` by
/// `$\eta$` or more. The bounds on the change of the Hessian and of mixed derivatives hold for a
/// ball of radius `$\varepsilon$` around `$x'$`, which contains the minimiser. In the interval of a
/// loss `$\ell$`, its slope `$\nabla\ell(x) = H(x')\tilde q + r$` times `$x - x'$` is at most
/// `$L\eta\|\tilde q\| + \eta\|r\|$`: the first term is part of the rounding error of the gradient
/// times `$\|\tilde q\|$`, and the second one is the difference between `$\|r\|\varepsilon$` and
/// `$\|r\|\|x' - \hat x\|$`.
#[derive(Clone, Copy, Debug)]
pub struct Opponent<L, C> {
    pub(super) luminance: L,
    pub(super) chroma: C,
    pub(super) curvature: Curvature,
}

/// Working memory of an [`Opponent`] model, given that of its two models.
#[derive(Clone, Debug)]
pub struct OpponentScratch<L, C> {
    pub(super) luminance: L,
    pub(super) chroma: C,
    /// Two vectors, each with a luminance followed by a chroma.
    pub(super) vectors: [Vec<f64>; 2],
}

/// Two vectors in parts, luminance and chroma, with the working memory of the two models.
#[derive(Debug)]
pub struct OpponentParts<'s, L, C> {
    /// Luminance and chroma of the first vector.
    pub x: [&'s [f64]; 2],
    /// Luminance and chroma of the second vector.
    pub q: [&'s [f64]; 2],
    /// The working memory of the model of luminance.
    pub luminance: &'s mut L,
    /// The working memory of the model of chroma.
    pub chroma: &'s mut C,
}

/// The parameters of a reconstruction in colour by smoothed total variation, with the regulariser
/// `$\alpha_L\operatorname{TV}_\nu(z_1) + \alpha_C\operatorname{TV}_\nu(z_2 + iz_3) +
/// \frac{\xi}{2}\|z\|^2$`, where
/// `$\operatorname{TV}_\nu(z_2 + iz_3) =
/// \sum_j\sqrt{\|\widehat\nabla z_2(j)\|^2 + \|\widehat\nabla z_3(j)\|^2 + \nu^2}$`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OpponentTvParameters {
    /// The weight `$\alpha_L \ge 0$` of the total variation of the luminance.
    pub luminance: f64,
    /// The weight `$\alpha_C \ge 0$` of the total variation of the chroma.
    pub chroma: f64,
    /// The smoothing `$\nu > 0$`.
    pub nu: f64,
    /// The weight `$\xi \ge 0$` of the quadratic term.
    pub xi: f64,
}

/// Denoising in colour by smoothed total variation, with the paper's differences
/// ([`Differences::of_paper`]). `$\mu = 1 + \xi$`, and for pictures
/// `$L = 1 + \xi + 8\max(\alpha_L, \alpha_C)/\nu$`.
pub type OpponentTv<'a> = Opponent<Denoising<'a>, Variational<'a, Identity, SmoothedTv>>;

impl<'a> OpponentTv<'a> {
    /// Creates the model that denoises `data` in colour.
    ///
    /// # Errors
    /// If a parameter is out of range.
    pub fn tv(
        data: &'a ColourMeasurement,
        parameters: OpponentTvParameters,
    ) -> Result<Self, ModelError> {
        let OpponentTvParameters {
            luminance,
            chroma,
            nu,
            xi,
        } = parameters;
        let [luminance, chroma] = [luminance, chroma].map(|alpha| TvParameters { alpha, nu, xi });
        let grid = data.grid.complex();
        Self::new(
            Denoising::new(data.grid.real(), &data.luminance, luminance)?,
            Variational::tv(
                Identity::new(grid),
                &data.chroma,
                Weights::Uniform,
                Differences::of_paper(grid),
                chroma,
            )?,
        )
    }
}

impl<L: StronglyConvex, C: StronglyConvex> Opponent<L, C> {
    /// Creates a model from one of luminance, a real picture, and one of chroma, a complex picture
    /// of the same size. Their data are the [luminance and the
    /// chroma](crate::colour::to_opponent_parts) of the measured picture.
    ///
    /// # Errors
    /// If the chroma does not have twice as many numbers as the luminance.
    pub fn new(luminance: L, chroma: C) -> Result<Self, ModelError> {
        if chroma.dim() != 2 * luminance.dim() {
            return Err(ModelError::WrongLength {
                name: "chroma",
                expected: 2 * luminance.dim(),
                found: chroma.dim(),
            });
        }
        let both = [luminance.curvature(), chroma.curvature()];
        let least =
            |of: fn(Curvature) -> f64| both.map(of).into_iter().fold(f64::INFINITY, f64::min);
        let most = both
            .map(Curvature::lipschitz)
            .into_iter()
            .fold(0.0, f64::max);
        Ok(Self {
            curvature: Curvature::new(least(Curvature::strong_convexity), most)?
                .with_typical(least(Curvature::typical)),
            luminance,
            chroma,
        })
    }

    /// The model of the luminance.
    #[must_use]
    pub const fn luminance(&self) -> &L {
        &self.luminance
    }

    /// The model of the chroma.
    #[must_use]
    pub const fn chroma(&self) -> &C {
        &self.chroma
    }
}

impl<L, C> OpponentScratch<L, C> {
    /// Returns luminance and chroma of two vectors, for calls of the two models.
    ///
    /// # Panics
    /// If a length is not that of the model.
    pub fn parts(&mut self, x: &[f64], q: &[f64]) -> OpponentParts<'_, L, C> {
        for (vector, from) in self.vectors.iter_mut().zip([x, q]) {
            assert_eq!(vector.len(), from.len(), "the length of a vector");
            let (luminance, chroma) = vector.split_at_mut(from.len() / 3);
            split(from, luminance, chroma);
        }
        let [x, q] = &self.vectors;
        OpponentParts {
            x: x.split_at(x.len() / 3).into(),
            q: q.split_at(q.len() / 3).into(),
            luminance: &mut self.luminance,
            chroma: &mut self.chroma,
        }
    }
}

/// Returns a bound on the norm of a computed part of a vector, given the norm of the vector.
fn of_part(norm: f64) -> f64 {
    (1.0 + ROUNDING * UNIT_ROUNDOFF) * norm
}

impl<L: StronglyConvex, C: StronglyConvex> Opponent<L, C> {
    /// Bounds the rounding error that the transforms of a point and of its gradient cause, given
    /// the norms of their parts.
    fn transform_rounding(&self, x_norm: f64, gradient_norm: f64) -> f64 {
        let moved = self.curvature.lipschitz() * x_norm;
        ROUNDING * UNIT_ROUNDOFF * (moved + gradient_norm)
    }

    /// Overwrites `out` with the result of a function of the luminance of `v`, and one of its
    /// chroma. They are called with the argument, the result to overwrite, and working memory.
    pub(super) fn map(
        &self,
        v: &[f64],
        out: &mut [f64],
        scratch: &mut OpponentScratch<L::Scratch, C::Scratch>,
        of_luminance: impl FnOnce(&[f64], &mut [f64], &mut L::Scratch),
        of_chroma: impl FnOnce(&[f64], &mut [f64], &mut C::Scratch),
    ) {
        let num_samples = self.luminance.dim();
        let [from, to] = &mut scratch.vectors;
        let (luminance, chroma) = from.split_at_mut(num_samples);
        let (luminance_out, chroma_out) = to.split_at_mut(num_samples);
        split(v, luminance, chroma);
        of_luminance(luminance, luminance_out, &mut scratch.luminance);
        of_chroma(chroma, chroma_out, &mut scratch.chroma);
        join(luminance_out, chroma_out, out);
    }
}

impl<L: StronglyConvex, C: StronglyConvex> StronglyConvex for Opponent<L, C> {
    type Scratch = OpponentScratch<L::Scratch, C::Scratch>;

    fn dim(&self) -> usize {
        self.luminance.dim() + self.chroma.dim()
    }

    fn curvature(&self) -> Curvature {
        self.curvature
    }

    fn scratch(&self) -> Self::Scratch {
        OpponentScratch {
            luminance: self.luminance.scratch(),
            chroma: self.chroma.scratch(),
            vectors: [vec![0.0; self.dim()], vec![0.0; self.dim()]],
        }
    }

    fn gradient(&self, x: &[f64], gradient: &mut [f64], scratch: &mut Self::Scratch) {
        self.map(
            x,
            gradient,
            scratch,
            |x, gradient, scratch| self.luminance.gradient(x, gradient, scratch),
            |x, gradient, scratch| self.chroma.gradient(x, gradient, scratch),
        );
    }

    fn value(&self, x: &[f64], scratch: &mut Self::Scratch) -> f64 {
        let OpponentParts {
            x: [luminance, chroma],
            luminance: of_luminance,
            chroma: of_chroma,
            ..
        } = scratch.parts(x, x);
        self.luminance.value(luminance, of_luminance) + self.chroma.value(chroma, of_chroma)
    }

    fn gradient_rounding(&self, x_norm: f64, gradient_norm: f64) -> f64 {
        let [x_norm, gradient_norm] = [x_norm, gradient_norm].map(of_part);
        self.transform_rounding(x_norm, gradient_norm)
            + self.luminance.gradient_rounding(x_norm, gradient_norm)
            + self.chroma.gradient_rounding(x_norm, gradient_norm)
    }

    fn rough_rounding(&self, x_norm: f64, gradient_norm: f64) -> Option<f64> {
        let [x_norm, gradient_norm] = [x_norm, gradient_norm].map(of_part);
        let of_parts = self.luminance.rough_rounding(x_norm, gradient_norm)?
            + self.chroma.rough_rounding(x_norm, gradient_norm)?;
        Some(self.transform_rounding(x_norm, gradient_norm) + of_parts)
    }

    fn rough_gradient(&self, x: &[f64], gradient: &mut [f64], scratch: &mut Self::Scratch) {
        self.map(
            x,
            gradient,
            scratch,
            |x, gradient, scratch| self.luminance.rough_gradient(x, gradient, scratch),
            |x, gradient, scratch| self.chroma.rough_gradient(x, gradient, scratch),
        );
    }

    fn fingerprint(&self) -> Option<u64> {
        let both = [self.luminance.fingerprint()?, self.chroma.fingerprint()?];
        Some(fingerprint::of_hashes(both))
    }

    fn second_order(&self) -> Option<&dyn SecondOrder<Self::Scratch>> {
        self.luminance.second_order()?;
        self.chroma.second_order()?;
        Some(self)
    }
}
