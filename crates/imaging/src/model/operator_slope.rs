//! The derivative of the gradient with respect to a parameter of the operator.
//!
//! If the operator `$A$` depends on a parameter, such as the width of a blur, and `$A'$` is its
//! derivative, then the derivative of the gradient `$A^*S(Ax - y) + \dots$` is
//!
//! ```math
//! B(x) = A'^*S(Ax - y) + A^*SA'x, \qquad
//! \langle q, B(x)\rangle = \langle A'q, S(Ax - y)\rangle + \langle Aq, SA'x\rangle.
//! ```
//!
//! **Its change in a ball.** `$B$` is affine in `$x$`, so for `$\|e\| \le \varepsilon$`
//!
//! ```math
//! |\langle q, B(x + e) - B(x)\rangle| \le \varepsilon\|A^*SA'q + A'^*SAq\|, \qquad
//! \|B(x + e)\| \le \|B(x)\| + 2\varepsilon\max S\,\|A\|\|A'\|.
//! ```

use lowlevel::{UNIT_ROUNDOFF, norm};

use super::mixed::MixedBound;
use super::variational::{Variational, VariationalScratch};
use crate::operator::{LinearOperator, Weights};
use crate::regularizer::Regularizer;

/// The derivative of an operator with respect to a parameter: an operator, with a bound on the
/// error of its entries.
#[derive(Clone, Copy, Debug)]
pub struct OperatorSlope<A> {
    /// The derivative `$A'$`.
    pub operator: A,
    /// A bound on the norm of the difference of `operator` from the exact derivative.
    pub error: f64,
}

impl<A: LinearOperator, R: Regularizer> Variational<'_, A, R> {
    /// Returns the product of `q` with the derivative of the gradient at `x` with respect to a
    /// parameter of the operator, whose derivative is `slope`.
    #[must_use]
    pub fn operator_mixed_product(
        &self,
        slope: &OperatorSlope<A>,
        x: &[f64],
        q: &[f64],
        scratch: &mut VariationalScratch<A::Scratch>,
    ) -> f64 {
        let mut other = vec![0.0; scratch.misfit.len()];
        self.misfit(x, scratch);
        (slope.operator).apply(q, &mut other, &mut scratch.operator);
        let first = self.weighted_product(&scratch.misfit, &other);
        (slope.operator).apply(x, &mut other, &mut scratch.operator);
        (self.operator).apply(q, &mut scratch.misfit, &mut scratch.operator);
        first + self.weighted_product(&scratch.misfit, &other)
    }

    /// Bounds this derivative in a ball of radius `error` around `x`, and the change of its product
    /// with `q`.
    #[must_use]
    pub fn operator_mixed_bound(
        &self,
        slope: &OperatorSlope<A>,
        x: &[f64],
        q: &[f64],
        error: f64,
        scratch: &mut VariationalScratch<A::Scratch>,
    ) -> MixedBound {
        let mut other = vec![0.0; x.len()];
        let mut both = vec![0.0; x.len()];
        self.misfit(x, scratch);
        let misfit = norm(&scratch.misfit);
        self.back(&slope.operator, &mut both, scratch);
        (slope.operator).apply(x, &mut scratch.misfit, &mut scratch.operator);
        self.back(&self.operator, &mut other, scratch);
        let derivative = norm_of_sum(&both, &other);
        (slope.operator).apply(q, &mut scratch.misfit, &mut scratch.operator);
        self.back(&self.operator, &mut both, scratch);
        (self.operator).apply(q, &mut scratch.misfit, &mut scratch.operator);
        self.back(&slope.operator, &mut other, scratch);
        let change = norm_of_sum(&both, &other);

        let norm_of = |operator: &A| operator.gram_spectrum(Weights::Uniform).max.sqrt();
        let (of_operator, of_slope) = (norm_of(&self.operator), norm_of(&slope.operator));
        let weight = self.weights.range().max;
        let (of_x, of_q) = (norm(x), norm(q));
        let units = 2.0 * (self.operator.roundings().max(slope.operator.roundings()))
            + 2.0 * scratch.misfit.len() as f64
            + 32.0;
        // Everything that is rounded is no larger than this, per unit of q and of the slope.
        let size = weight * (of_operator * (2.0 * of_x + error) + misfit + self.data_norm());
        let lost = UNIT_ROUNDOFF * units * of_slope + slope.error;
        let up = 1.0 + 64.0 * UNIT_ROUNDOFF;
        MixedBound::new(
            up * (error * (change + 2.0 * weight * of_operator * lost * of_q) + size * lost * of_q),
            up * (derivative + size * lost + 2.0 * error * weight * of_operator * of_slope),
        )
    }

    /// Overwrites `out` with `$T^*Sm$` for the vector `$m$` in `scratch.misfit` and the operator
    /// `$T$`.
    fn back(&self, operator: &A, out: &mut [f64], scratch: &mut VariationalScratch<A::Scratch>) {
        self.weigh(&mut scratch.misfit);
        operator.apply_adjoint(&scratch.misfit, out, &mut scratch.operator);
    }

    /// Returns `$\langle a, Sb\rangle$`.
    fn weighted_product(&self, a: &[f64], b: &[f64]) -> f64 {
        let parts = self.operator.codomain().num_parts();
        let product =
            |(a, b): (&[f64], &[f64])| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
        let products = a
            .chunks_exact(parts)
            .zip(b.chunks_exact(parts))
            .map(product);
        match self.weights {
            Weights::Uniform => products.sum(),
            Weights::Diagonal(weights) => products.zip(weights).map(|(p, w)| p * w).sum(),
        }
    }
}

fn norm_of_sum(a: &[f64], b: &[f64]) -> f64 {
    let sum: Vec<f64> = a.iter().zip(b).map(|(a, b)| a + b).collect();
    norm(&sum)
}
