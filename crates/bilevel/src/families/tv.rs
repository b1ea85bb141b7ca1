//! The parameters of the total variation, fixed or learned.

use imaging::{
    Denoising, LinearOperator, MixedBound, SmoothedTv, TvMixed, TvParameters, Variational,
};
use lowlevel::StronglyConvex;

use crate::derivatives::Derivatives;
use crate::parameter::Parameter;

/// The choice which of `$(\alpha, \nu, \xi)$` are learned and which are fixed.
///
/// ```
/// use bilevel::{Choice, TvChoices};
/// let only_alpha = TvChoices {
///     nu: Choice::Fixed(1e-3),
///     xi: Choice::Fixed(1e-3),
///     ..TvChoices::default()
/// };
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TvChoices {
    /// The choice for the regularisation weight `$\alpha$`.
    pub alpha: Choice,
    /// The choice for the smoothing `$\nu$`.
    pub nu: Choice,
    /// The choice for the quadratic weight `$\xi$`.
    pub xi: Choice,
}

/// The choice whether a parameter is learned or fixed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Choice {
    /// The parameter has this fixed value.
    Fixed(f64),
    /// The parameter is learned as its exponent, the decimal logarithm of its value.
    Learned {
        /// The start of the exponent.
        start: f64,
        /// The lower bound of the exponent.
        lower: f64,
        /// The upper bound of the exponent.
        upper: f64,
    },
}

impl TvChoices {
    /// The paper's choice for `$\alpha$`: learned from 1, between `$10^{-7}$` and `$10^7$`.
    pub const ALPHA: Choice = Choice::Learned {
        start: 0.0,
        lower: -7.0,
        upper: 7.0,
    };
    /// The paper's choice for `$\nu$` and `$\xi$`: learned from 0.1, between `$10^{-7}$` and 1.
    pub const SMOOTHING: Choice = Choice::Learned {
        start: -1.0,
        lower: -7.0,
        upper: 0.0,
    };

    fn all(&self) -> [(&'static str, Choice); 3] {
        [("alpha", self.alpha), ("nu", self.nu), ("xi", self.xi)]
    }

    pub(crate) fn parameters(&self) -> Vec<Parameter> {
        (self.all().into_iter())
            .filter_map(|(name, choice)| match choice {
                Choice::Fixed(_) => None,
                Choice::Learned {
                    start,
                    lower,
                    upper,
                } => Some(Parameter::log10(name, start, lower, upper)),
            })
            .collect()
    }

    /// Returns all parameters, given the values of the learned ones.
    ///
    /// # Panics
    /// When there are fewer values than learned parameters.
    #[must_use]
    pub fn at(&self, values: &[f64]) -> TvParameters {
        let mut learned = values.iter();
        let [alpha, nu, xi] = self.all().map(|(_, choice)| match choice {
            Choice::Fixed(value) => value,
            Choice::Learned { .. } => *learned.next().expect("one value per learned parameter"),
        });
        TvParameters { alpha, nu, xi }
    }
}

impl Default for TvChoices {
    /// Returns the paper's choice: all three parameters are learned.
    fn default() -> Self {
        Self {
            alpha: Self::ALPHA,
            nu: Self::SMOOTHING,
            xi: Self::SMOOTHING,
        }
    }
}

impl TvChoices {
    /// The parameters that luminance and chroma share, with the width of a blur.
    pub(crate) const SHARED: &[&str] = &["nu", "xi", "width"];

    /// Returns those of three numbers, for `$(\alpha, \nu, \xi)$`, whose parameters are learned.
    fn learned<T>(&self, [alpha, nu, xi]: [T; 3]) -> impl Iterator<Item = T> {
        let all = [(self.alpha, alpha), (self.nu, nu), (self.xi, xi)];
        (all.into_iter())
            .filter(|(choice, _)| matches!(choice, Choice::Learned { .. }))
            .map(|(_, number)| number)
    }
}

/// A model with smoothed total variation, and its derivatives with respect to
/// `$(\alpha, \nu, \xi)$`.
pub(super) trait TvModel: StronglyConvex {
    fn mixed_products(&self, x: &[f64], q: &[f64], scratch: &mut Self::Scratch) -> TvMixed;

    fn mixed_bounds(
        &self,
        x: &[f64],
        q: &[f64],
        error: f64,
        scratch: &mut Self::Scratch,
    ) -> [MixedBound; 3];

    fn condition_gradient(&self) -> TvMixed;

    fn mixed_cost(&self) -> f64;
}

/// The derivatives of a model with respect to those of `$(\alpha, \nu, \xi)$` that are learned.
#[derive(Debug)]
pub(super) struct TvDerivatives<'a, O> {
    pub(super) choices: TvChoices,
    pub(super) objective: &'a O,
}

impl<O: TvModel> Derivatives<O::Scratch> for TvDerivatives<'_, O> {
    fn mixed_product(&self, x: &[f64], q: &[f64], out: &mut [f64], scratch: &mut O::Scratch) {
        let TvMixed { alpha, nu, xi } = self.objective.mixed_products(x, q, scratch);
        for (out, product) in out.iter_mut().zip(self.choices.learned([alpha, nu, xi])) {
            *out = product;
        }
    }

    fn cost(&self) -> f64 {
        self.objective.mixed_cost()
    }

    fn mixed_bounds(
        &self,
        x: &[f64],
        q: &[f64],
        error: f64,
        out: &mut [MixedBound],
        scratch: &mut O::Scratch,
    ) -> bool {
        let bounds = self.objective.mixed_bounds(x, q, error, scratch);
        for (out, bound) in out.iter_mut().zip(self.choices.learned(bounds)) {
            *out = bound;
        }
        true
    }

    fn condition_gradient(&self, out: &mut [f64]) -> bool {
        let TvMixed { alpha, nu, xi } = self.objective.condition_gradient();
        for (out, slope) in out.iter_mut().zip(self.choices.learned([alpha, nu, xi])) {
            *out = slope;
        }
        true
    }
}

/// Implements [`TvModel`] by the methods that the models of `imaging` have in common.
macro_rules! tv_model {
    ([$($generics:tt)*] $model:ty, $cost:expr) => {
        impl $($generics)* TvModel for $model {
            fn mixed_products(
                &self,
                x: &[f64],
                q: &[f64],
                scratch: &mut Self::Scratch,
            ) -> TvMixed {
                self.tv_mixed_products(x, q, scratch)
            }

            fn mixed_bounds(
                &self,
                x: &[f64],
                q: &[f64],
                error: f64,
                scratch: &mut Self::Scratch,
            ) -> [MixedBound; 3] {
                self.tv_mixed_bounds(x, q, error, scratch)
            }

            fn condition_gradient(&self) -> TvMixed {
                self.tv_condition_gradient()
            }

            fn mixed_cost(&self) -> f64 {
                $cost(self)
            }
        }
    };
}

tv_model!([] Denoising<'_>, Denoising::tv_mixed_cost);
tv_model!([<A: LinearOperator>] Variational<'_, A, SmoothedTv>, |_| 2.0);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_go_where_they_belong() {
        let choices = TvChoices {
            nu: Choice::Fixed(0.5),
            ..TvChoices::default()
        };
        let names: Vec<String> = choices.parameters().into_iter().map(|p| p.name).collect();
        assert_eq!(names, ["alpha", "xi"]);
        let expected = TvParameters {
            alpha: 1.0,
            nu: 0.5,
            xi: 2.0,
        };
        assert_eq!(choices.at(&[1.0, 2.0]), expected);
    }
}
