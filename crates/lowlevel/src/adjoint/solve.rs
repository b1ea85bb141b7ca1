//! The linear system of the adjoint.

use super::{Adjoint, AdjointOutcome, AdjointState, AdjointStop, LossAt, LossRounding};
use crate::certificate::ErrorBound;
use crate::error::SolveError;
use crate::norm::{UNIT_ROUNDOFF, inner, norm, roundings_of_sum};
use crate::objective::{Curvature, StronglyConvex};
use crate::second_order::{SecondOrder, ThirdOrder};

/// Solves `$H(\tilde x)\,q = \nabla\ell(\tilde x)$` for the adjoint, from the start in `state`.
///
/// `error` is a bound on the distance of `x` from the minimiser over the whole space. The solution
/// does not depend on it. It is the radius of the bounds in [`Adjoint`].
///
/// The method is [`SecondOrder::solve`](crate::SecondOrder::solve) if the objective has it, and
/// otherwise preconditioned conjugate gradients. A start that is worse than zero is replaced by
/// zero, and a [direct](crate::SecondOrder::is_direct) `solve` needs no start. The residual is
/// computed afresh at the end. A missed target is reported in [`Adjoint::outcome`]; the bound
/// `residual` holds nevertheless, and `state` has the best adjoint that was found.
///
/// # Errors
/// If the objective has no second derivatives, if the start, the loss or a Hessian product is not
/// finite, or if a product contradicts the declared curvature. After an error, `state` starts at
/// zero.
///
/// # Panics
/// If `x` or the gradient of the loss does not have the length that the objective expects.
pub fn solve_adjoint<O: StronglyConvex>(
    objective: &O,
    x: &[f64],
    error: ErrorBound,
    loss: &LossAt<'_>,
    stop: AdjointStop,
    state: &mut AdjointState,
    scratch: &mut O::Scratch,
) -> Result<Adjoint, SolveError> {
    let dim = objective.dim();
    assert!(
        x.len() == dim && loss.gradient.len() == dim,
        "x has {} entries and the gradient of the loss {}, but the objective has dimension {dim}",
        x.len(),
        loss.gradient.len()
    );
    let Some(second) = objective.second_order() else {
        return Err(SolveError::NoSecondDerivatives);
    };
    let rhs_norm = norm(loss.gradient);
    if !(loss.value.is_finite() && rhs_norm.is_finite()) {
        return Err(SolveError::NonFiniteLoss);
    }
    state.make_room(dim);
    // One pass over the start suffices if its norm is finite.
    if !norm(&state.q).is_finite()
        && let Some(index) = state.q.iter().position(|q| !q.is_finite())
    {
        state.q.fill(0.0);
        return Err(SolveError::NonFiniteStart { index });
    }
    let costs = second.costs();
    second.linearise(x, scratch);
    let mut system = System {
        second,
        curvature: objective.curvature(),
        loss,
        vectors: state,
        scratch,
        products: 0,
        product_cost: costs.product,
        work: costs.linearise + costs.bounds,
    };
    let solved = system.run(stop, rhs_norm);
    let (products, work) = (system.products, system.work);
    if solved.is_err() {
        state.q.fill(0.0);
    }
    let (measured, outcome) = solved?;
    let third_order = second.third_order(&state.q, error.value(), scratch);
    let near = || second.curvature_near(error.value(), scratch);
    let near = stop.local_curvature.then(near).flatten();
    Ok(Adjoint {
        residual: measured.bound(),
        outcome,
        products,
        work,
        norm: measured.q_norm,
        error,
        third_order: ThirdOrder {
            vector: or_infinite(third_order.vector),
            value: or_infinite(third_order.value),
        },
        curvature: local_curvature(objective.curvature(), near),
    })
}

/// Leaves a `$z$` with `$\|g - Mz\| \approx$` `aim` in `state`, found by at most `max_products`
/// iterations of conjugate gradients from zero, and moves the dual variables. `$M$` is the Hessian
/// at `x`, or the matrix for the dual variables if there are any. Returns the cost, and `None` for
/// `$z$` if a product is not finite.
pub(crate) fn newton_step<'s, O: StronglyConvex>(
    objective: &O,
    second: &dyn SecondOrder<O::Scratch>,
    (x, gradient, dual): (&[f64], &[f64], &mut [f64]),
    (aim, max_products): (f64, u64),
    state: &'s mut AdjointState,
    scratch: &mut O::Scratch,
) -> (Option<&'s [f64]>, f64) {
    state.make_room(objective.dim());
    if dual.is_empty() {
        second.linearise(x, scratch);
    } else {
        second.linearise_dual(x, dual, scratch);
    }
    let loss = LossAt {
        value: 0.0,
        gradient,
        lipschitz: 0.0,
        non_negative: false,
        rounding: LossRounding {
            value: 0.0,
            gradient: 0.0,
        },
    };
    let costs = second.costs();
    let mut system = System {
        second,
        curvature: objective.curvature(),
        loss: &loss,
        vectors: state,
        scratch,
        products: 0,
        product_cost: costs.product,
        work: costs.linearise,
    };
    system.start_at_zero(0.0);
    let made = system.conjugate_gradients(aim, max_products);
    let work = system.work;
    if made.is_err() {
        return (None, work);
    }
    if !dual.is_empty() {
        second.move_duals(&state.q, dual, scratch);
    }
    (Some(&state.q), work)
}

/// Returns a bound that is not negative, and infinity for anything else.
pub(super) fn or_infinite(bound: f64) -> f64 {
    if bound >= 0.0 { bound } else { f64::INFINITY }
}

/// The larger of the strong convexity and a local bound. The local bound is cut off at the
/// Lipschitz constant, because no eigenvalue exceeds it.
fn local_curvature(curvature: Curvature, near: Option<f64>) -> f64 {
    let mu = curvature.strong_convexity();
    match near {
        Some(near) if near > mu => near.min(curvature.lipschitz()),
        _ => mu,
    }
}

/// The system `$H(x)q = \nabla\ell$`, its vectors, and the work so far.
struct System<'a, S> {
    second: &'a dyn SecondOrder<S>,
    curvature: Curvature,
    loss: &'a LossAt<'a>,
    vectors: &'a mut AdjointState,
    scratch: &'a mut S,
    products: u64,
    product_cost: f64,
    work: f64,
}

/// A residual that was computed afresh.
#[derive(Clone, Copy)]
struct Measured {
    /// The computed norm.
    norm: f64,
    /// A bound on its rounding error.
    rounding: f64,
    /// The computed norm of the adjoint.
    q_norm: f64,
}

impl Measured {
    /// A bound on the norm of the exact residual.
    fn bound(self) -> f64 {
        or_infinite(self.norm + self.rounding)
    }
}

/// The largest number of times that conjugate gradients restart from a fresh residual.
const MAX_ROUNDS: usize = 8;

impl<S> System<'_, S> {
    /// Solves the system. Returns the residual, and the reason why it ended.
    fn run(
        &mut self,
        stop: AdjointStop,
        rhs_norm: f64,
    ) -> Result<(Measured, AdjointOutcome), SolveError> {
        let (mut best, target) = if self.second.is_direct() {
            let target = stop.target_without_start(rhs_norm);
            (self.solve_directly(rhs_norm, target)?, target)
        } else {
            let best = self.start(rhs_norm)?;
            (best, stop.target(rhs_norm, best.norm))
        };
        let limit = stop.max_products.unwrap_or(u64::MAX);
        let mut products = 0;
        for _ in 0..MAX_ROUNDS {
            // If the gradient of the loss is zero, so is the adjoint.
            if best.bound() <= target || rhs_norm == 0.0 {
                return Ok((best, AdjointOutcome::Converged));
            }
            if best.norm <= best.rounding {
                return Ok((best, AdjointOutcome::RoundingFloor));
            }
            if products >= limit {
                return Ok((best, AdjointOutcome::ProductLimit));
            }
            let vectors = &mut *self.vectors;
            vectors.best.copy_from_slice(&vectors.q);
            products += self.improve(aim(target, best), best.norm, limit - products)?;
            let next = self.measure()?;
            let helps = next.bound() < best.bound();
            let halves = next.norm <= 0.5 * best.norm;
            if helps {
                best = next;
            } else {
                let vectors = &mut *self.vectors;
                vectors.q.copy_from_slice(&vectors.best);
            }
            if !(helps && halves) && best.bound() > target && best.norm > best.rounding {
                let outcome = match products >= limit {
                    true => AdjointOutcome::ProductLimit,
                    false => AdjointOutcome::Stalled,
                };
                return Ok((best, outcome));
            }
        }
        let outcome = match best.bound() <= target {
            true => AdjointOutcome::Converged,
            false if best.norm <= best.rounding => AdjointOutcome::RoundingFloor,
            false => AdjointOutcome::Stalled,
        };
        Ok((best, outcome))
    }

    /// Solves the system with a direct method, which needs no start. A solution that is no better
    /// than zero is replaced by zero.
    fn solve_directly(&mut self, rhs_norm: f64, target: f64) -> Result<Measured, SolveError> {
        let zero = self.measured(rhs_norm, 0.0);
        if rhs_norm > 0.0 {
            let (rhs, q) = (self.loss.gradient, &mut self.vectors.q);
            if let Some(cost) = self.second.solve(rhs, q, target, self.scratch) {
                self.work += cost.max(0.0);
                let measured = self.measure()?;
                if measured.bound() < zero.bound() {
                    return Ok(measured);
                }
            }
        }
        Ok(self.start_at_zero(rhs_norm))
    }

    /// Computes the residual of the start, or replaces a start that is no better than zero.
    fn start(&mut self, rhs_norm: f64) -> Result<Measured, SolveError> {
        if self.vectors.q.iter().any(|&q| q != 0.0) {
            let measured = self.measure()?;
            if measured.bound() < self.measured(rhs_norm, 0.0).bound() {
                return Ok(measured);
            }
        }
        Ok(self.start_at_zero(rhs_norm))
    }

    /// Replaces the start by zero.
    fn start_at_zero(&mut self, rhs_norm: f64) -> Measured {
        self.vectors.q.fill(0.0);
        self.vectors.residual.copy_from_slice(self.loss.gradient);
        self.measured(rhs_norm, 0.0)
    }

    /// Computes the residual afresh.
    fn measure(&mut self) -> Result<Measured, SolveError> {
        let product_norm = self.product(|vectors| (&vectors.q, &mut vectors.product))?;
        let AdjointState {
            q,
            residual,
            product,
            ..
        } = &mut *self.vectors;
        let terms = self.loss.gradient.iter().zip(&*product);
        for (r, (b, product)) in residual.iter_mut().zip(terms) {
            *r = b - product;
        }
        let (residual_norm, q_norm) = (norm(residual), norm(q));
        let curved = inner(q, product);
        if !(residual_norm.is_finite() && q_norm.is_finite()) {
            return Err(self.non_finite());
        }
        self.check_product(q_norm, product_norm, curved)?;
        Ok(self.measured(residual_norm, q_norm))
    }

    /// Checks the product with the adjoint against the declared constants:
    /// `$\mu\|q\|^2 \le \langle q, Hq\rangle$` (`curved`) and `$\|Hq\| \le L\|q\|$`, up to a
    /// factor of 2 and rounding.
    fn check_product(&self, q_norm: f64, product: f64, curved: f64) -> Result<(), SolveError> {
        let rounding = or_infinite(self.second.product_rounding(q_norm)) + f64::MIN_POSITIVE;
        let (mu, lipschitz) = (
            self.curvature.strong_convexity(),
            self.curvature.lipschitz(),
        );
        let least = (0.5 * mu * q_norm - rounding) * q_norm;
        let most = 2.0 * lipschitz * q_norm + rounding;
        if curved >= least && product <= most {
            Ok(())
        } else {
            Err(SolveError::ContradictingProduct)
        }
    }

    /// Adds the rounding error to the computed norm of a residual.
    fn measured(&self, residual_norm: f64, q_norm: f64) -> Measured {
        let dim = self.vectors.q.len();
        let relative = (roundings_of_sum(dim) + 8.0) * UNIT_ROUNDOFF;
        let product = match q_norm {
            0.0 => 0.0,
            q_norm => self.second.product_rounding(q_norm * (1.0 + relative)),
        };
        let of_terms = or_infinite(product) + or_infinite(self.loss.rounding.gradient);
        let underflow = dim as f64 * f64::MIN_POSITIVE;
        Measured {
            norm: residual_norm,
            rounding: (1.0 + relative) * (of_terms + underflow) + relative * residual_norm,
            q_norm,
        }
    }

    /// Multiplies one of the vectors with the Hessian. Returns the norm of the product.
    fn product(
        &mut self,
        choose: impl FnOnce(&mut AdjointState) -> (&Vec<f64>, &mut Vec<f64>),
    ) -> Result<f64, SolveError> {
        let (v, out) = choose(self.vectors);
        out.fill(f64::NAN); // an entry that is not written is noticed
        self.second.hessian_product(v, out, self.scratch);
        let product_norm = norm(out);
        self.work += self.product_cost;
        self.products += 1;
        if product_norm.is_finite() {
            Ok(product_norm)
        } else {
            Err(self.non_finite())
        }
    }

    const fn non_finite(&self) -> SolveError {
        SolveError::NonFiniteProduct {
            products: self.products,
        }
    }

    /// Improves the adjoint until the residual is about `aim`. Returns the number of products of
    /// conjugate gradients.
    fn improve(&mut self, aim: f64, residual: f64, limit: u64) -> Result<u64, SolveError> {
        let AdjointState {
            q,
            residual: r,
            direction,
            ..
        } = &mut *self.vectors;
        let is_direct = self.second.is_direct();
        let solved = if is_direct {
            // The same system again would have the same solution, so we solve for the correction.
            direction.fill(0.0);
            self.second.solve(r, direction, aim, self.scratch)
        } else {
            self.second.solve(self.loss.gradient, q, aim, self.scratch)
        };
        match solved {
            Some(cost) => {
                if is_direct {
                    for (q, correction) in q.iter_mut().zip(direction) {
                        *q += *correction;
                    }
                }
                self.work += cost.max(0.0);
                Ok(0)
            }
            None => {
                let needed = proven_products(self.curvature, residual, aim);
                self.conjugate_gradients(aim, needed.min(limit))
            }
        }
    }

    /// Runs at most `limit` iterations of preconditioned conjugate gradients from the fresh
    /// residual, until the updated residual is at most `aim`. Returns the number of products.
    fn conjugate_gradients(&mut self, aim: f64, limit: u64) -> Result<u64, SolveError> {
        let mut along = self.precondition();
        let vectors = &mut *self.vectors;
        vectors.direction.copy_from_slice(&vectors.preconditioned);
        for made in 0..limit {
            self.product(|vectors| (&vectors.direction, &mut vectors.product))?;
            let AdjointState {
                q,
                residual,
                direction,
                product,
                ..
            } = &mut *self.vectors;
            let curved = inner(direction, product);
            if !(curved > 0.0 && along > 0.0 && curved < f64::INFINITY) {
                return Ok(made + 1); // not positive definite, or outside of the range of numbers
            }
            let length = along / curved;
            for (q, p) in q.iter_mut().zip(&*direction) {
                *q += length * p;
            }
            for (r, hp) in residual.iter_mut().zip(&*product) {
                *r -= length * hp;
            }
            if norm(residual) <= aim {
                return Ok(made + 1);
            }
            let before = along;
            along = self.precondition();
            let factor = along / before;
            let vectors = &mut *self.vectors;
            for (p, z) in vectors.direction.iter_mut().zip(&vectors.preconditioned) {
                *p = z + factor * *p;
            }
        }
        Ok(limit)
    }

    /// Preconditions the residual. Returns the inner product of both.
    fn precondition(&mut self) -> f64 {
        let vectors = &mut *self.vectors;
        let (r, z) = (&vectors.residual, &mut vectors.preconditioned);
        self.second.precondition(r, z, self.scratch);
        inner(r, z)
    }
}

/// The computed residual to aim at, for a target that includes rounding.
fn aim(target: f64, measured: Measured) -> f64 {
    let room = target - measured.rounding;
    if room > 0.5 * target {
        0.9 * room
    } else {
        0.5 * target.max(measured.rounding)
    }
}

/// A number of products that suffices to bring the residual from `start` to `target`.
///
/// After `$k$` iterations of conjugate gradients, the error in the norm of `$H$` is at most
/// `$2((\sqrt\kappa - 1)/(\sqrt\kappa + 1))^k \le 2e^{-2k/\sqrt\kappa}$` times the first one, with
/// `$\kappa = L/\mu$`, and the residual at most `$\sqrt\kappa$` times that. We allow four times as
/// many, for rounding errors and for preconditioners that do not help, and some more.
fn proven_products(curvature: Curvature, start: f64, target: f64) -> u64 {
    let root = curvature.condition_number().sqrt();
    let factor = (2.0 * root).ln() + start.ln() - target.max(f64::MIN_POSITIVE).ln();
    let needed = 0.5 * root * factor.max(0.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "not negative, and `as` saturates"
    )]
    let needed = needed.min(1e15) as u64;
    4 * needed + 64
}
