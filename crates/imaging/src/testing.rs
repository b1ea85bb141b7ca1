//! Checks for operators of your own.

use crate::operator::LinearOperator;

/// `$|\langle Ax, y\rangle - \langle x, A^*y\rangle|$` relative to `$\|Ax\|\|y\| + \|x\|\|A^*y\|$`: rounding error if the adjoint is right.
///
/// ```
/// use imaging::{Fourier, Grid, testing::adjoint_deviation};
/// let fourier = Fourier::new(Grid::line(2))?;
/// assert!(adjoint_deviation(&fourier, &[1.0, 2.0], &[3.0, 4.0, 5.0, 6.0]) < 1e-15);
/// # Ok::<(), imaging::ModelError>(())
/// ```
///
/// # Panics
/// When `x` or `y` does not fit the operator.
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
