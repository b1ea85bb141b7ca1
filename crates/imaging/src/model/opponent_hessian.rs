//! Second derivatives of models of pictures in colour.

use lowlevel::{
    MetricCosts, NewtonRange, SecondOrder, SecondOrderCosts, StronglyConvex, ThirdOrder,
    UNIT_ROUNDOFF, norm,
};

use super::opponent::{Opponent, OpponentParts, OpponentScratch};
use crate::colour::ROUNDING;

/// The mean cost of a sample: of every pixel, the luminance is one and the chroma two.
fn per_sample(luminance: f64, chroma: f64) -> f64 {
    (luminance + 2.0 * chroma) / 3.0
}

impl<L: StronglyConvex, C: StronglyConvex> Opponent<L, C> {
    /// The second derivatives of both models.
    fn both(&self) -> (&dyn SecondOrder<L::Scratch>, &dyn SecondOrder<C::Scratch>) {
        let both = self
            .luminance
            .second_order()
            .zip(self.chroma.second_order());
        both.expect("second_order returns None without them")
    }
}

/// The Hessian has one block for the luminance and one for the chroma. If one of the models has no
/// second derivatives, [`second_order`](StronglyConvex::second_order) returns `None`.
impl<L: StronglyConvex, C: StronglyConvex> SecondOrder<OpponentScratch<L::Scratch, C::Scratch>>
    for Opponent<L, C>
{
    fn linearise(&self, x: &[f64], scratch: &mut OpponentScratch<L::Scratch, C::Scratch>) {
        let (of_luminance, of_chroma) = self.both();
        let parts = scratch.parts(x, x);
        of_luminance.linearise(parts.x[0], parts.luminance);
        of_chroma.linearise(parts.x[1], parts.chroma);
    }

    fn hessian_product(
        &self,
        v: &[f64],
        out: &mut [f64],
        scratch: &mut OpponentScratch<L::Scratch, C::Scratch>,
    ) {
        let (of_luminance, of_chroma) = self.both();
        self.map(
            v,
            out,
            scratch,
            |v, out, scratch| of_luminance.hessian_product(v, out, scratch),
            |v, out, scratch| of_chroma.hessian_product(v, out, scratch),
        );
    }

    fn product_rounding(&self, v_norm: f64) -> f64 {
        let (of_luminance, of_chroma) = self.both();
        let v_norm = (1.0 + 2.0 * ROUNDING * UNIT_ROUNDOFF) * v_norm;
        let transforms = 2.0 * ROUNDING * UNIT_ROUNDOFF * self.curvature.lipschitz() * v_norm;
        transforms + of_luminance.product_rounding(v_norm) + of_chroma.product_rounding(v_norm)
    }

    fn costs(&self) -> SecondOrderCosts {
        let (of_luminance, of_chroma) = self.both();
        let [luminance, chroma] = [of_luminance.costs(), of_chroma.costs()];
        let newton = luminance.newton.zip(chroma.newton);
        SecondOrderCosts {
            linearise: per_sample(luminance.linearise, chroma.linearise),
            product: per_sample(luminance.product, chroma.product),
            bounds: per_sample(luminance.bounds, chroma.bounds),
            newton: newton.map(|(luminance, chroma)| NewtonRange {
                gradient: luminance.gradient.min(chroma.gradient),
                products: luminance.products.max(chroma.products),
            }),
        }
    }

    fn precondition(
        &self,
        r: &[f64],
        out: &mut [f64],
        scratch: &mut OpponentScratch<L::Scratch, C::Scratch>,
    ) {
        let (of_luminance, of_chroma) = self.both();
        self.map(
            r,
            out,
            scratch,
            |r, out, scratch| of_luminance.precondition(r, out, scratch),
            |r, out, scratch| of_chroma.precondition(r, out, scratch),
        );
    }

    fn metric(&self) -> Option<MetricCosts> {
        let (of_luminance, of_chroma) = self.both();
        let (luminance, chroma) = of_luminance.metric().zip(of_chroma.metric())?;
        Some(MetricCosts {
            set: per_sample(luminance.set, chroma.set),
            apply: per_sample(luminance.apply, chroma.apply),
        })
    }

    fn set_metric(&self, x: &[f64], scratch: &mut OpponentScratch<L::Scratch, C::Scratch>) {
        let (of_luminance, of_chroma) = self.both();
        let parts = scratch.parts(x, x);
        of_luminance.set_metric(parts.x[0], parts.luminance);
        of_chroma.set_metric(parts.x[1], parts.chroma);
    }

    fn apply_metric(
        &self,
        r: &[f64],
        out: &mut [f64],
        scratch: &mut OpponentScratch<L::Scratch, C::Scratch>,
    ) {
        let (of_luminance, of_chroma) = self.both();
        self.map(
            r,
            out,
            scratch,
            |r, out, scratch| of_luminance.apply_metric(r, out, scratch),
            |r, out, scratch| of_chroma.apply_metric(r, out, scratch),
        );
    }

    /// Neither part of a vector `$e$` in the ball is longer than the whole, so the bounds of the
    /// parts hold with the same radius. The changes of the two blocks are orthogonal. The rounding
    /// error of the parts of `$q$` meets a change of the Hessian, which is at most `$L$`.
    fn third_order(
        &self,
        q: &[f64],
        error: f64,
        scratch: &mut OpponentScratch<L::Scratch, C::Scratch>,
    ) -> ThirdOrder {
        let (of_luminance, of_chroma) = self.both();
        let OpponentParts {
            q: [luminance, chroma],
            luminance: luminance_scratch,
            chroma: chroma_scratch,
            ..
        } = scratch.parts(q, q);
        let luminance = of_luminance.third_order(luminance, error, luminance_scratch);
        let chroma = of_chroma.third_order(chroma, error, chroma_scratch);
        let lost = 2.0 * ROUNDING * UNIT_ROUNDOFF * self.curvature.lipschitz() * norm(q);
        let up = 1.0 + 8.0 * UNIT_ROUNDOFF;
        ThirdOrder {
            vector: up * (luminance.vector.hypot(chroma.vector) + lost),
            value: up * (luminance.value + chroma.value + lost * error),
        }
    }

    fn curvature_near(
        &self,
        error: f64,
        scratch: &mut OpponentScratch<L::Scratch, C::Scratch>,
    ) -> Option<f64> {
        let (of_luminance, of_chroma) = self.both();
        let least = [
            of_luminance.curvature_near(error, &mut scratch.luminance),
            of_chroma.curvature_near(error, &mut scratch.chroma),
        ];
        if least == [None; 2] {
            return None;
        }
        let known = [self.luminance.curvature(), self.chroma.curvature()];
        let [luminance, chroma] = [0, 1].map(|i| least[i].unwrap_or(known[i].strong_convexity()));
        Some(luminance.min(chroma))
    }
}
