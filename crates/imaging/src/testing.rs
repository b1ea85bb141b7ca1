//! Tools for tests: checks of operators, and the data of the paper's experiments.

pub mod paper_data;

use crate::operator::{LinearOperator, Weights};

/// Returns `$|\langle Ax, y\rangle - \langle x, A^*y\rangle|$` relative to
/// `$\|Ax\|\|y\| + \|x\|\|A^*y\|$`. It is of the size of rounding errors if the adjoint is right.
///
/// ```
/// use imaging::{Fourier, Grid, testing::adjoint_deviation};
/// let fourier = Fourier::new(Grid::line(2))?;
/// assert!(adjoint_deviation(&fourier, &[1.0, 2.0], &[3.0, 4.0, 5.0, 6.0]) < 1e-15);
/// # Ok::<(), imaging::ModelError>(())
/// ```
///
/// # Panics
/// If `x` or `y` does not fit the operator.
pub fn adjoint_deviation<A: LinearOperator>(operator: &A, x: &[f64], y: &[f64]) -> f64 {
    assert_eq!(x.len(), operator.domain().len(), "x must fit the domain");
    assert_eq!(
        y.len(),
        operator.codomain().len(),
        "y must fit the codomain"
    );
    let mut scratch = operator.scratch();
    let (mut forward, mut adjoint) = (vec![0.0; y.len()], vec![0.0; x.len()]);
    operator.apply(x, &mut forward, &mut scratch);
    operator.apply_adjoint(y, &mut adjoint, &mut scratch);
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let norm = |a: &[f64]| dot(a, a).sqrt();
    let size = norm(&forward) * norm(y) + norm(x) * norm(&adjoint);
    (dot(&forward, y) - dot(x, &adjoint)).abs() / size.max(f64::MIN_POSITIVE)
}

/// Returns how far eigenvalues of `$A^*SA$` lie outside the claimed
/// [`gram_spectrum`](LinearOperator::gram_spectrum), relative to its largest value. It is zero or
/// of the size of rounding errors if the claim is right.
///
/// The function approximates the smallest and the largest eigenvalue by 200 power iterations each,
/// starting at `x`. `x` should have components in all directions, such as a random vector. The
/// function can show that a claim is wrong, but not that it is right.
///
/// # Panics
/// If `x` or the weights do not fit the operator.
pub fn spectrum_violation<A: LinearOperator>(operator: &A, weights: Weights<'_>, x: &[f64]) -> f64 {
    assert_eq!(x.len(), operator.domain().len(), "x must fit the domain");
    let claim = operator.gram_spectrum(weights);
    let mut scratch = operator.scratch();
    let parts = operator.codomain().num_parts();
    let (mut data, mut image) = (vec![0.0; operator.codomain().len()], vec![0.0; x.len()]);
    let mut worst = 0.0_f64;
    // Power iterations with the matrix find its largest eigenvalue. With the largest eigenvalue
    // subtracted, they find the smallest one.
    for shift in [0.0, claim.max] {
        let mut direction = x.to_vec();
        for _ in 0..200 {
            let length = lowlevel::norm(&direction);
            if length <= 1e-12 * claim.max {
                break; // all eigenvalues equal the shift
            }
            direction.iter_mut().for_each(|x| *x /= length);
            operator.apply(&direction, &mut data, &mut scratch);
            if let Weights::Diagonal(weights) = weights {
                for (samples, weight) in data.chunks_exact_mut(parts).zip(weights) {
                    samples.iter_mut().for_each(|sample| *sample *= weight);
                }
            }
            operator.apply_adjoint(&data, &mut image, &mut scratch);
            let quotient: f64 = direction.iter().zip(&image).map(|(x, y)| x * y).sum();
            let outside = (claim.min - quotient).max(quotient - claim.max);
            if !(outside <= worst) {
                worst = outside;
            }
            for (direction, image) in direction.iter_mut().zip(&image) {
                *direction = image - shift * *direction;
            }
        }
    }
    worst / claim.max.max(f64::MIN_POSITIVE)
}
