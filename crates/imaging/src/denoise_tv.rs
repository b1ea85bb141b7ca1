//! Denoising by total variation in one call.

use lowlevel::ErrorBound;

use crate::denoise::{DenoiseError, Denoised, solved_to};
use crate::grid::Grid;
use crate::model::{Denoising, TvParameters};

/// Denoises a real signal or picture by smoothed total variation, to a certified error.
///
/// The result minimises the objective of [`Denoising`] up to the distance `target`, which is the
/// Euclidean distance over all samples. To start from an earlier result, to refine a result or to
/// limit the work, use [`Denoising`] with a [`lowlevel::Solver`].
///
/// ```
/// use imaging::{ErrorBound, Grid, TvParameters, denoise_tv};
///
/// let noisy = [0.1, -0.1, 0.0, 1.1, 0.9, 1.0];
/// let parameters = TvParameters { alpha: 0.1, nu: 1e-3, xi: 0.0 };
/// let denoised = denoise_tv(Grid::image(2, 3), &noisy, parameters, ErrorBound::new(1e-6)?)?;
/// assert!(denoised.solved.error.value() <= 1e-6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the grid is empty or complex, the data do not fit the grid or are not finite, a parameter is
/// out of range, or `target` is below the rounding error.
pub fn denoise_tv(
    grid: Grid,
    data: &[f64],
    parameters: TvParameters,
    target: ErrorBound,
) -> Result<Denoised, DenoiseError> {
    let objective = Denoising::new(grid, data, parameters)?;
    solved_to(&objective, data, target)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Seed, noise, phantom};

    const PARAMETERS: TvParameters = TvParameters {
        alpha: 0.1,
        nu: 5e-3,
        xi: 1e-3,
    };

    #[test]
    fn results_agree_within_their_certified_errors() {
        let truth = phantom::dead_leaves(20, 30, Seed::new(1), 0).expect("not empty");
        let noisy = noise::gaussian(&truth, 0.1, Seed::new(1), 0).expect("finite");
        let denoised = |target: f64| {
            let target = ErrorBound::new(target).expect("positive");
            denoise_tv(Grid::image(20, 30), &noisy, PARAMETERS, target).expect("reachable")
        };
        let (rough, precise) = (denoised(0.1), denoised(1e-8));
        let differences = rough.x.iter().zip(&precise.x).map(|(a, b)| a - b);
        let distance = lowlevel::norm(&differences.collect::<Vec<_>>());
        assert!(rough.solved.error.value() <= 0.1 && precise.solved.error.value() <= 1e-8);
        assert!(distance > 1e-8 && distance <= 0.1 + 1e-8);
    }

    #[test]
    fn bad_input_and_missed_targets_are_errors() {
        let data = [0.5; 6];
        let target = ErrorBound::new(0.0).expect("not negative");
        let error = denoise_tv(Grid::image(2, 3), &data, PARAMETERS, target).unwrap_err();
        assert!(matches!(error, DenoiseError::Unreached(_)), "{error}");
        let error = denoise_tv(Grid::image(2, 4), &data, PARAMETERS, target).unwrap_err();
        assert!(matches!(error, DenoiseError::Model(_)), "{error}");
        assert!(error.to_string().contains("data has length 6"), "{error}");
    }
}
