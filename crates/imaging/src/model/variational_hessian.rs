//! Second derivatives of the general model.

use lowlevel::{
    MetricCosts, SecondOrder, SecondOrderCosts, StronglyConvex, Subgradient, SubgradientPoint,
    ThirdOrder, UNIT_ROUNDOFF, norm,
};

use super::linearisation::{Linearisation, scaled};
use super::mixed::{MixedBound, TvMixed};
use super::tv_ball::TvTerm;
use super::variational::{Variational, VariationalScratch};
use crate::operator::{LinearOperator, Weights};
use crate::regularizer::{Regularizer, RegularizerHessian, SmoothedTv};

impl<A: LinearOperator, R: Regularizer> Variational<'_, A, R> {
    /// The second derivatives of the regulariser.
    fn regularizer_hessian(&self) -> &dyn RegularizerHessian {
        let hessian = self.regularizer.hessian();
        hessian.expect("second_order returns None without them")
    }

    /// Stores the preconditioner for the matrix of the last linearisation.
    fn set_preconditioner(&self, at: &mut Linearisation) {
        let hessian = self.regularizer_hessian();
        if self.operator.has_preconditioner() {
            let num_axes = self.operator.domain().num_axes();
            return at.set_smoothing(hessian, self.alpha, num_axes, self.dim());
        }
        let least = self.curvature.strong_convexity();
        at.set_preconditioner(hessian, self.alpha, least, self.dim(), |diagonal| {
            self.operator.gram_diagonal(self.weights, diagonal);
            for entry in diagonal {
                *entry += self.xi;
            }
        });
    }
}

/// The Hessian `$A^*SA + \xi I + \alpha R''(x)$`. If the regulariser has no second derivatives,
/// [`second_order`](StronglyConvex::second_order) returns `None`.
impl<A: LinearOperator, R: Regularizer> SecondOrder<VariationalScratch<A::Scratch>>
    for Variational<'_, A, R>
{
    fn linearise(&self, x: &[f64], scratch: &mut VariationalScratch<A::Scratch>) {
        let at = &mut scratch.linearisation;
        at.linearise(self.regularizer_hessian(), x);
        self.set_preconditioner(at);
    }

    fn num_duals(&self) -> usize {
        self.regularizer_hessian().num_duals()
    }

    fn linearise_dual(
        &self,
        x: &[f64],
        dual: &[f64],
        scratch: &mut VariationalScratch<A::Scratch>,
    ) {
        let at = &mut scratch.linearisation;
        at.linearise_dual(self.regularizer_hessian(), x, dual);
        self.set_preconditioner(at);
    }

    fn move_duals(
        &self,
        z: &[f64],
        dual: &mut [f64],
        scratch: &mut VariationalScratch<A::Scratch>,
    ) {
        let memory = scratch.linearisation.memory();
        self.regularizer_hessian().move_duals(memory, z, dual);
    }

    fn hessian_product(
        &self,
        v: &[f64],
        out: &mut [f64],
        scratch: &mut VariationalScratch<A::Scratch>,
    ) {
        let (operator, middle) = (&mut scratch.operator, &mut scratch.misfit);
        if self.weights == Weights::Uniform {
            self.operator.apply_gram(v, middle, out, operator);
            for (out, v) in out.iter_mut().zip(v) {
                *out += self.xi * v;
            }
        } else {
            self.operator.apply(v, middle, operator);
            self.finish_data_term(v, out, scratch);
        }
        let memory = scratch.linearisation.memory();
        self.regularizer_hessian()
            .add_product(self.alpha, memory, v, out);
    }

    /// The data term is computed as in the gradient, for data zero. The regulariser adds to it in
    /// up to four additions.
    fn product_rounding(&self, v_norm: f64) -> f64 {
        let regularizer = self.alpha * self.regularizer_hessian().product_rounding();
        let quadratic = self.rounding.quadratic();
        UNIT_ROUNDOFF * (quadratic + regularizer) * v_norm
    }

    /// Costs that the regulariser states hold for the whole model, whose operator is then taken to
    /// be cheap. Otherwise: where the operator takes most of the time, this is the share of its
    /// work that a product needs. Where it takes none, a product needs 0.8 of the time of a
    /// gradient on 256 x 256 pixels.
    fn costs(&self) -> SecondOrderCosts {
        if self.operator.has_preconditioner() {
            return SecondOrderCosts {
                // the preconditioner is one more pair of transforms, a gradient has two
                product: self.operator.gram_cost() + 0.5,
                ..SecondOrderCosts::default()
            };
        }
        if let Some(costs) = self.regularizer_hessian().costs() {
            return costs;
        }
        SecondOrderCosts {
            product: match self.weights {
                Weights::Uniform => self.operator.gram_cost(),
                Weights::Diagonal(_) => 1.0,
            },
            ..SecondOrderCosts::default()
        }
    }

    fn precondition(
        &self,
        r: &[f64],
        out: &mut [f64],
        scratch: &mut VariationalScratch<A::Scratch>,
    ) {
        if let Some(smoothing) = scratch.linearisation.smoothing {
            let terms = [self.curvature.strong_convexity().max(self.xi), smoothing];
            (self.operator).precondition(self.weights, terms, r, out, &mut scratch.operator);
        } else {
            scratch.linearisation.precondition(r, out);
        }
    }

    /// Measured with learned filters of 5 x 5 pixels.
    fn metric(&self) -> Option<MetricCosts> {
        let is_offered = self.regularizer_hessian().metric_len() > 0;
        (is_offered && self.data_curvature? > 0.0).then_some(MetricCosts {
            set: 0.6,
            apply: 0.25,
        })
    }

    fn set_metric(&self, x: &[f64], scratch: &mut VariationalScratch<A::Scratch>) {
        let (hessian, memory) = (
            self.regularizer_hessian(),
            &mut scratch.linearisation.metric,
        );
        memory.resize(hessian.metric_len(), 0.0);
        hessian.set_metric(self.data_curvature.unwrap_or(1.0), self.alpha, x, memory);
    }

    fn apply_metric(
        &self,
        r: &[f64],
        out: &mut [f64],
        scratch: &mut VariationalScratch<A::Scratch>,
    ) {
        self.regularizer_hessian()
            .apply_metric(&scratch.linearisation.metric, r, out);
    }

    fn subgradient(
        &self,
        at: &SubgradientPoint<'_>,
        out: &mut [f64],
        scratch: &mut VariationalScratch<A::Scratch>,
    ) -> Option<Subgradient> {
        let data = self.data_curvature?;
        self.misfit(at.x, scratch);
        self.finish_data_term(at.x, out, scratch);
        let hessian = self.regularizer_hessian();
        let found = hessian.add_subgradient(data, self.alpha, at, out)?;
        let rounding = self.rounding.bound(norm(at.x), norm(out), 0.0);
        Some(Subgradient {
            rounding: found.rounding + rounding,
            ..found
        })
    }

    fn third_order(
        &self,
        q: &[f64],
        error: f64,
        scratch: &mut VariationalScratch<A::Scratch>,
    ) -> ThirdOrder {
        let memory = scratch.linearisation.memory_mut();
        let bounds = self.regularizer_hessian().third_order(q, error, memory);
        scaled(bounds, self.alpha)
    }
}

impl<A: LinearOperator> Variational<'_, A, SmoothedTv> {
    /// Returns the products of `q` with the derivatives of the gradient at `x` with respect to
    /// `$\alpha$`, `$\nu$` and `$\xi$`. Afterwards `scratch` holds the Hessian at `x`.
    #[must_use]
    pub fn tv_mixed_products(
        &self,
        x: &[f64],
        q: &[f64],
        scratch: &mut VariationalScratch<A::Scratch>,
    ) -> TvMixed {
        scratch.linearisation.linearise(&self.regularizer, x);
        self.term().products(x, q, scratch.linearisation.memory())
    }

    /// Bounds the derivatives of the gradient with respect to `$\alpha$`, `$\nu$` and `$\xi$` in a
    /// ball of radius `error` around `x`, and the change of their products with `q`. Afterwards
    /// `scratch` holds the Hessian at `x`.
    #[must_use]
    pub fn tv_mixed_bounds(
        &self,
        x: &[f64],
        q: &[f64],
        error: f64,
        scratch: &mut VariationalScratch<A::Scratch>,
    ) -> [MixedBound; 3] {
        scratch.linearisation.linearise(&self.regularizer, x);
        let memory = scratch.linearisation.memory_mut();
        self.term().bounds(x, q, error, memory)
    }

    const fn term(&self) -> TvTerm<'_> {
        TvTerm {
            tv: &self.regularizer,
            alpha: self.alpha,
            xi: self.xi,
        }
    }
}
