//! One picture from the frequencies in a mask.

use imaging::{CoilFourier, FourierPicture, LinearOperator, TvParameters};
use lowlevel::{ErrorBound, Solver, State, Stop, StronglyConvex};

use crate::error::BoxError;

/// A picture that was reconstructed from some of its frequencies.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct MaskedPicture {
    /// The picture, complex and in the unit of the data.
    pub picture: Vec<f64>,
    /// The certified root-mean-square distance from the exact minimiser, in the unit of the data.
    pub error: f64,
    /// Whether the requested accuracy was reached.
    pub reached: bool,
    /// The number of iterations.
    pub iterations: u64,
}

/// Reconstructs a picture from the frequencies with positive weights; the others are ignored, so
/// they may be zeros.
///
/// The parameters belong to pictures whose largest modulus is 1. The data are therefore divided by
/// the largest modulus of the picture that one gets with zeros for the missing frequencies, and the
/// result is multiplied by it. `accuracy` is the root-mean-square error that is certified, relative
/// to this number.
///
/// # Errors
/// When the data or the weights do not fit the transform or are not finite, a weight is negative, a
/// parameter is out of range, or `accuracy` is not positive.
pub fn reconstruct_masked(
    fourier: &CoilFourier,
    data: &[f64],
    weights: &[f64],
    tv: TvParameters,
    accuracy: f64,
) -> Result<MaskedPicture, BoxError> {
    let (grid, codomain) = (fourier.domain(), fourier.codomain());
    if data.len() != codomain.len() || weights.len() != grid.num_samples() {
        return Err(format!(
            "there are {} frequencies and {} weights, but {} and {} are needed",
            data.len() / 2,
            weights.len(),
            codomain.num_samples(),
            grid.num_samples()
        )
        .into());
    }
    let mut scaled = data.to_vec();
    for (index, sample) in scaled.chunks_exact_mut(2).enumerate() {
        if !(weights[index % weights.len()] > 0.0) {
            sample.fill(0.0);
        }
    }
    let mut rough = vec![0.0; grid.len()];
    fourier.apply_adjoint(&scaled, &mut rough, &mut fourier.scratch());
    let (samples, _) = rough.as_chunks::<2>();
    let largest = (samples.iter().map(|s| s[0].hypot(s[1]))).fold(0.0, f64::max);
    let unit = if largest > 0.0 && largest < f64::INFINITY {
        largest
    } else {
        1.0
    };
    scaled.iter_mut().for_each(|value| *value /= unit);
    let objective = FourierPicture::new(fourier, &scaled, weights, tv)?;
    let root = (grid.num_samples() as f64).sqrt();
    let target = ErrorBound::new(accuracy * root)?;
    let mut state = State::new(vec![0.0; grid.len()]);
    let mut scratch = objective.scratch();
    let stop = Stop::accuracy(target);
    let solved = Solver::default().minimize(&objective, stop, &mut state, &mut scratch)?;
    Ok(MaskedPicture {
        picture: state.point().iter().map(|value| value * unit).collect(),
        error: solved.error.value() / root * unit,
        reached: solved.error <= target,
        iterations: solved.iterations,
    })
}
