//! An objective whose second derivatives may be missing, wrong or hostile.

use lowlevel::{Curvature, SecondOrder, SecondOrderCosts, StronglyConvex, ThirdOrder};

pub(crate) const DIM: usize = 6;

/// `$\frac12\sum_j (j + 1)(x_j - 1)^2$`, with second derivatives that may be wrong.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hostile {
    pub(crate) product: Product,
    pub(crate) solve: Solve,
    pub(crate) preconditioner: Preconditioner,
    pub(crate) third_order: ThirdOrder,
    pub(crate) near: Option<f64>,
    pub(crate) rounding: f64,
    pub(crate) is_direct: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Product {
    Honest,
    Scaled(f64),
    Nan,
    Infinite,
    /// Leaves the last entry as it is.
    Short,
    /// Turns the vector in the plane of its first two entries: not symmetric.
    Turns,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Solve {
    None,
    Exact,
    /// Returns a share of the exact solution.
    Share(f64),
    Nan,
    /// Does nothing.
    Lazy,
    /// Returns the exact solution, and a cost that is not a number.
    NanCost,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Preconditioner {
    Identity,
    Diagonal,
    Negative,
    Nan,
}

pub(crate) const HONEST: Hostile = Hostile {
    product: Product::Honest,
    solve: Solve::None,
    preconditioner: Preconditioner::Identity,
    third_order: ThirdOrder::ZERO,
    near: None,
    rounding: 1e-15,
    is_direct: false,
};

/// The entry of the diagonal Hessian.
pub(crate) fn weight(j: usize) -> f64 {
    j as f64 + 1.0
}

impl StronglyConvex for Hostile {
    type Scratch = ();

    fn dim(&self) -> usize {
        DIM
    }

    fn curvature(&self) -> Curvature {
        Curvature::new(1.0, 6.0).expect("positive")
    }

    fn scratch(&self) {}

    fn gradient(&self, x: &[f64], gradient: &mut [f64], (): &mut ()) {
        for (j, gradient) in gradient.iter_mut().enumerate() {
            *gradient = weight(j) * (x[j] - 1.0);
        }
    }

    fn value(&self, x: &[f64], (): &mut ()) -> f64 {
        (0..DIM)
            .map(|j| 0.5 * weight(j) * (x[j] - 1.0).powi(2))
            .sum()
    }

    fn second_order(&self) -> Option<&dyn SecondOrder<()>> {
        Some(self)
    }
}

impl SecondOrder<()> for Hostile {
    fn linearise(&self, _: &[f64], (): &mut ()) {}

    fn hessian_product(&self, v: &[f64], out: &mut [f64], (): &mut ()) {
        let factor = match self.product {
            Product::Scaled(factor) => factor,
            _ => 1.0,
        };
        let len = if self.product == Product::Short {
            DIM - 1
        } else {
            DIM
        };
        for j in 0..len {
            out[j] = factor * weight(j) * v[j];
        }
        match self.product {
            Product::Nan => out[3] = f64::NAN,
            Product::Infinite => out[3] = f64::INFINITY,
            Product::Turns => (out[0], out[1]) = (-v[1], v[0]),
            _ => {}
        }
    }

    fn product_rounding(&self, v_norm: f64) -> f64 {
        self.rounding * v_norm
    }

    fn costs(&self) -> SecondOrderCosts {
        SecondOrderCosts {
            linearise: 3.0,
            product: 2.0,
            bounds: 7.0,
            newton: None,
        }
    }

    fn is_direct(&self) -> bool {
        self.is_direct
    }

    fn solve(&self, rhs: &[f64], q: &mut [f64], _: f64, (): &mut ()) -> Option<f64> {
        let share = match self.solve {
            Solve::None => return None,
            Solve::Lazy => return Some(5.0),
            Solve::Exact | Solve::NanCost => 1.0,
            Solve::Share(share) => share,
            Solve::Nan => f64::NAN,
        };
        for (j, (q, rhs)) in q.iter_mut().zip(rhs).enumerate() {
            *q = share * rhs / weight(j);
        }
        Some(if self.solve == Solve::NanCost {
            f64::NAN
        } else {
            5.0
        })
    }

    fn precondition(&self, r: &[f64], out: &mut [f64], (): &mut ()) {
        for (j, (out, r)) in out.iter_mut().zip(r).enumerate() {
            *out = match self.preconditioner {
                Preconditioner::Identity => *r,
                Preconditioner::Diagonal => r / weight(j),
                Preconditioner::Negative => -r,
                Preconditioner::Nan => f64::NAN,
            };
        }
    }

    fn third_order(&self, _: &[f64], _: f64, (): &mut ()) -> ThirdOrder {
        self.third_order
    }

    fn curvature_near(&self, _: f64, (): &mut ()) -> Option<f64> {
        self.near
    }
}
