//! FISTA over the whole space.

use std::mem::swap;

use crate::buffer::Buffer;
use crate::error::SolveError;
use crate::evaluator::{Evaluator, Gradient};
use crate::method::{Certify, Step};
use crate::objective::{Curvature, StronglyConvex};
use crate::update::Update;

/// The memory of [`Method::Fista`](crate::Method::Fista).
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Fista {
    pub(crate) gradient: Gradient,
    pub(crate) acceleration: Acceleration,
}

/// The memory of FISTA, besides the gradient.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Acceleration {
    /// The iterate before the point of the state. It is `$x^{k-1}$` if the point is the iterate
    /// `$x^k$`, and `$x^k$` if the point is the extrapolated point `$z^{k+1}$`.
    pub(crate) previous: Buffer,
    pub(crate) momentum: Momentum,
    pub(crate) is_extrapolated: bool,
}

impl Fista {
    /// Makes one iteration, and returns the norm of the gradient at its end.
    pub(crate) fn step<O: StronglyConvex>(
        &mut self,
        certify: Certify,
        point: &mut Buffer,
        evaluator: &mut Evaluator<'_, O>,
    ) -> Result<f64, SolveError> {
        match certify {
            Certify::Extrapolated => self.acceleration.step(point, &mut self.gradient, evaluator),
            Certify::Iterate => self.step_to_iterate(point, evaluator),
        }
    }

    /// Makes one iteration that evaluates gradients at `$z^{k+1}$` and at `$x^{k+1}$`, and ends at
    /// `$x^{k+1}$`.
    fn step_to_iterate<O: StronglyConvex>(
        &mut self,
        point: &mut Buffer,
        evaluator: &mut Evaluator<'_, O>,
    ) -> Result<f64, SolveError> {
        self.acceleration
            .extrapolate_previous(point, evaluator.curvature);
        let Self {
            gradient,
            acceleration: Acceleration { previous, .. },
        } = self;
        (evaluator.objective).gradient(previous, &mut gradient.values, evaluator.scratch);
        evaluator.gradients += 1;
        let step = Step::InverseLipschitz.length(evaluator.curvature);
        Update::Descent { step }.apply(0..point.len(), previous, &gradient.values);
        swap(point, previous);
        evaluator.gradient(point, gradient)
    }

    /// Makes one iteration with the gradient at `$z^{k+1}$`, and ends at `$x^{k+1}$`.
    pub(crate) fn last_step<O: StronglyConvex>(
        &mut self,
        point: &mut Buffer,
        evaluator: &mut Evaluator<'_, O>,
    ) -> Result<f64, SolveError> {
        self.acceleration
            .extrapolate(point, &mut self.gradient, evaluator)?;
        let step = Step::InverseLipschitz.length(evaluator.curvature);
        self.acceleration.is_extrapolated = false;
        evaluator.advance(Update::Descent { step }, point, &mut self.gradient)
    }
}

impl Acceleration {
    /// Starts without momentum at `point`, reusing the memory of `previous`.
    pub(crate) fn at_rest(mut previous: Buffer, point: &[f64]) -> Self {
        previous.assign(point);
        Self {
            previous,
            momentum: Momentum::default(),
            is_extrapolated: false,
        }
    }

    /// Makes one iteration, from `$z^{k+1}$` to `$z^{k+2}$`.
    pub(crate) fn step<O: StronglyConvex>(
        &mut self,
        point: &mut Buffer,
        gradient: &mut Gradient,
        evaluator: &mut Evaluator<'_, O>,
    ) -> Result<f64, SolveError> {
        self.extrapolate(point, gradient, evaluator)?;
        let update = Update::Accelerated {
            step: Step::InverseLipschitz.length(evaluator.curvature),
            extrapolation: self.momentum.next(evaluator.curvature),
            iterate: &mut self.previous,
        };
        evaluator.advance(update, point, gradient)
    }

    /// Moves the point from `$x^k$` to `$z^{k+1}$`, unless it is there already. Without momentum
    /// the two are the same point.
    fn extrapolate<O: StronglyConvex>(
        &mut self,
        point: &mut Buffer,
        gradient: &mut Gradient,
        evaluator: &mut Evaluator<'_, O>,
    ) -> Result<(), SolveError> {
        if self.is_extrapolated {
            return Ok(());
        }
        let is_known = self.momentum.is_at_rest() && gradient.norm.is_some();
        self.extrapolate_previous(point, evaluator.curvature);
        swap(point, &mut self.previous);
        self.is_extrapolated = true;
        if !is_known {
            evaluator.gradient(point, gradient)?;
        }
        Ok(())
    }

    /// Overwrites `previous`, which is `$x^{k-1}$`, with
    /// `$z^{k+1} = x^k + \beta_{k+1}(x^k - x^{k-1})$`, where `point` is `$x^k$`.
    pub(crate) fn extrapolate_previous(&mut self, point: &[f64], curvature: Curvature) {
        let extrapolation = self.momentum.next(curvature);
        extrapolate(&mut self.previous, point, extrapolation);
    }
}

/// Overwrites `previous`, which is `$x^{k-1}$`, with `$x^k + \beta(x^k - x^{k-1})$`, where `point`
/// is `$x^k$`.
pub(crate) fn extrapolate(previous: &mut [f64], point: &[f64], extrapolation: f64) {
    for (previous, point) in previous.iter_mut().zip(point) {
        *previous = point + extrapolation * (point - *previous);
    }
}

/// The sequence `$t_k$` of FISTA.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Momentum {
    t: f64,
}

impl Momentum {
    /// Whether no iteration has been made, so that `$x^{k-1} = x^k$`.
    fn is_at_rest(self) -> bool {
        self == Self::default()
    }

    /// Advances to `$t_{k+1}$` and returns `$\beta_{k+1}$`.
    pub(crate) fn next(&mut self, curvature: Curvature) -> f64 {
        let q = curvature.strong_convexity() / curvature.lipschitz();
        let t = self.t;
        let a = 1.0 - q * t * t;
        self.t = 0.5 * (a + (a * a + 4.0 * t * t).sqrt());
        // One step of length 1/L solves a function with mu = L: there is nothing to extrapolate.
        if q < 1.0 {
            (t - 1.0) * (1.0 - q * self.t) / (self.t * (1.0 - q))
        } else {
            0.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    fn curvature(mu: f64, lipschitz: f64) -> Curvature {
        Curvature::new(mu, lipschitz).unwrap()
    }

    /// The first `t_k` by hand, for q = 1/4: t_1 = 1, then a = 3/4 and
    /// t_2 = (3/4 + sqrt(9/16 + 4))/2.
    #[test]
    fn momentum_starts_at_rest_and_tends_to_its_fixed_point() {
        let curvature = curvature(1.0, 4.0);
        let mut momentum = Momentum::default();
        assert_relative_eq!(momentum.next(curvature), -1.0);
        assert_relative_eq!(momentum.t, 1.0);
        assert_relative_eq!(momentum.next(curvature), 0.0);
        assert_relative_eq!(momentum.t, 0.5 * (0.75 + (0.5625_f64 + 4.0).sqrt()));
        let beta = (0..200).map(|_| momentum.next(curvature)).last();
        // t = 1/sqrt(q) is the fixed point, with beta = (1 - sqrt(q)) / (1 + sqrt(q)).
        assert_relative_eq!(momentum.t, 2.0, max_relative = 1e-12);
        assert_relative_eq!(beta.unwrap(), 1.0 / 3.0, max_relative = 1e-12);
    }

    #[test]
    fn momentum_is_finite_where_mu_equals_lipschitz() {
        for mu in [1.0, 1.0 - f64::EPSILON, 1.0 - 1e-12] {
            let mut momentum = Momentum::default();
            momentum.next(curvature(mu, 1.0));
            for _ in 0..50 {
                let beta = momentum.next(curvature(mu, 1.0));
                assert!(beta.abs() <= 1.0, "{mu}: {beta}");
            }
        }
    }
}
