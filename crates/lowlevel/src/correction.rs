//! Newton corrections of the heavy ball.
//!
//! Where the Hessian hardly changes between the point `$x$` and the minimiser, the heavy ball still
//! needs about `$\sqrt{L/\mu}$` iterations for one further digit. Conjugate gradients find a
//! `$z$` with `$H(x)z \approx g = \nabla\Phi(x)$` in fewer products if they are preconditioned or
//! if few eigenvalues are extreme, and a product may cost less than a gradient. The **correction**
//! moves the point to `$x - z$`.
//!
//! Nothing needs to be known about `$z$`, because the gradient is evaluated at `$x - z$`. If it is
//! clearly smaller, the iteration continues there without momentum; otherwise it continues as if
//! nothing had happened. The usual certificate holds at the new point. With the gradient `$g'$`
//! there, it also bounds the error of the old point: `$\|x - x^*\| \le \|z\| + \|g'\|/\mu$`, which
//! is nearly exact where `$\|g\|/\mu$` is many times too large. The new point is still the better
//! answer, so this bound is not computed.
//!
//! The heavy ball converges in any case, and a correction makes the gradient smaller, so
//! corrections do not affect convergence. After a rejected one, the next one is tried when the
//! gradient has become smaller by [`RETRY`], so the number of rejected ones grows at most with the
//! logarithm of the accuracy.
//!
//! Far from the minimiser, corrections with the Hessian are too long. A function may offer dual
//! variables ([`SecondOrder::linearise_dual`](crate::SecondOrder::linearise_dual)). Corrections
//! outside of the declared range, or after a rejected one, then use the matrix `$M(x, p)$`, and
//! start as steps that minimise an upper bound of the function. They go on as long as they make the
//! gradient smaller by at least the factor that the heavy ball would reach with the same work. The
//! first one after a start, whose dual variables are zeros, is not judged, since it gains less than
//! those that follow. After one that does not pay, the next one is tried when the gradient has
//! become smaller by a factor, which is squared each time. The dual variables belong to one solve
//! and are not stored.

use crate::adjoint::AdjointState;
use crate::metric::MetricVectors;
use crate::objective::StronglyConvex;
use crate::second_order::{NewtonRange, SecondOrderCosts};

/// A correction is accepted if it makes the gradient smaller by this factor; a choice.
const ACCEPTED: f64 = 0.5;
/// The same for corrections with dual variables, which follow each other in a row; a choice.
const ACCEPTED_DUAL: f64 = 0.9;
/// After a rejected correction, or one that was slower than the heavy ball, the gradient must
/// become smaller by this factor; a choice.
const RETRY: f64 = 0.25;
/// The residual of conjugate gradients, relative to the gradient. In the quadratic range, one
/// correction then gains one digit, and a smaller residual would only pay where more is gained.
const RELATIVE_RESIDUAL: f64 = 0.1;
/// The residual relative to the norm of the gradient that certifies the target: the change of the
/// Hessian needs room, too.
const SHARE_OF_TARGET: f64 = 0.3;
/// The largest number of products, in multiples of the expected number.
const MOST_PRODUCTS: f64 = 4.0;

/// The corrections of one solve.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Corrections {
    costs: SecondOrderCosts,
    range: NewtonRange,
    /// The number of iterations of the heavy ball per factor `$e$` of the gradient.
    iterations: f64,
    /// The norm of the gradient at which the next correction is tried.
    next: f64,
    /// The number of dual variables that the function offers.
    num_duals: usize,
    /// The norm of the gradient at which corrections use the Hessian.
    near: f64,
    /// The number of corrections with dual variables since these were zeros.
    num_dual: u64,
    /// The factor of the gradient after the next one of these that does not pay. It is squared
    /// each time.
    retry: f64,
}

impl Corrections {
    /// The corrections of an objective, if it declares that they pay.
    pub(crate) fn of<O: StronglyConvex>(objective: &O) -> Option<Self> {
        let second = objective.second_order()?;
        let costs = second.costs();
        let range = costs.newton?;
        let num_duals = second.num_duals();
        Some(Self {
            costs,
            range,
            iterations: 0.5 * (objective.curvature().typical_condition_number().sqrt() + 1.0),
            next: if num_duals > 0 {
                f64::INFINITY
            } else {
                range.gradient
            },
            num_duals,
            near: range.gradient,
            num_dual: 0,
            retry: RETRY,
        })
    }

    /// Whether the next correction at a gradient of this norm has dual variables.
    fn is_dual(&self, norm: f64) -> bool {
        self.num_duals > 0 && (self.num_dual > 0 || norm > self.near)
    }

    /// Whether to try a correction at a gradient of this norm, where `threshold` is the norm that
    /// certifies the target, and `work` that of an iteration. The iterations that gain as much, at
    /// most a digit, may be cheaper, in particular near the target.
    pub(crate) fn is_due(&self, norm: f64, threshold: f64, work: f64) -> bool {
        let cost = self.costs.linearise + self.range.products * self.costs.product + 1.0;
        let gain = (norm / threshold).min(1.0 / RELATIVE_RESIDUAL);
        norm <= self.next && work * self.iterations * gain.ln() > cost
    }

    /// Prepares the dual variables of the next correction; none if it uses the Hessian.
    pub(crate) fn prepare(&self, norm: f64, dual: &mut Vec<f64>) {
        if self.num_dual == 0 {
            let len = if self.is_dual(norm) {
                self.num_duals
            } else {
                0
            };
            dual.clear();
            dual.resize(len, 0.0);
        }
    }

    /// Decides about a correction that changed the norm of the gradient and took `work`.
    pub(crate) fn accept(&mut self, before: f64, after: f64, work: f64) -> bool {
        if !self.is_dual(before) {
            let accepted = after <= ACCEPTED * before;
            if accepted {
                self.next = after;
            } else {
                self.near = RETRY * before;
                self.next = if self.num_duals > 0 {
                    before
                } else {
                    self.near
                };
            }
            return accepted;
        }
        let accepted = after <= ACCEPTED_DUAL * before;
        let is_slow = self.num_dual > 0 && self.iterations * (before / after).ln() < work;
        if accepted && !is_slow {
            self.num_dual += 1;
            self.next = after;
        } else {
            self.num_dual = 0;
            self.next = self.retry * if accepted { after } else { before };
            self.retry *= self.retry;
        }
        accepted
    }

    /// The residual that conjugate gradients aim at.
    pub(crate) fn aim(norm: f64, threshold: f64) -> f64 {
        (RELATIVE_RESIDUAL * norm).max(SHARE_OF_TARGET * threshold)
    }

    /// The largest number of products.
    pub(crate) fn max_products(&self) -> u64 {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "`as` saturates"
        )]
        let products = (MOST_PRODUCTS * self.range.products) as u64;
        products.max(1)
    }
}

/// The vectors of corrections, and of steps with a metric. A copy of them is empty.
#[derive(Debug, Default)]
pub(crate) struct CorrectionVectors {
    pub(crate) metric: MetricVectors,
    pub(crate) system: AdjointState,
    pub(crate) dual: Vec<f64>,
    /// The corrected point, and the gradient there.
    pub(crate) point: Vec<f64>,
    pub(crate) gradient: Vec<f64>,
}

impl CorrectionVectors {
    pub(crate) const fn new() -> Self {
        Self {
            metric: MetricVectors::new(),
            system: AdjointState::new(),
            dual: Vec::new(),
            point: Vec::new(),
            gradient: Vec::new(),
        }
    }
}

impl Clone for CorrectionVectors {
    fn clone(&self) -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::second_order::{SecondOrder, ThirdOrder};
    use crate::{Curvature, ErrorBound, Method, Solved, Solver, State, Stop, norm};

    /// The sum of `$\frac12\|x - y\|^2$` and of smoothed absolute values of differences, with a
    /// choice of Hessian products.
    struct Edges {
        data: Vec<f64>,
        product: Product,
        /// Whether corrections have dual variables.
        has_duals: bool,
    }

    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Product {
        Right,
        NotANumber,
        /// So small that corrections are far too long.
        TooSmall,
        Negative,
    }

    const ALPHA: f64 = 0.3;
    const NU: f64 = 1e-3;

    impl Edges {
        fn new(seed: u64, product: Product, has_duals: bool) -> Self {
            let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
            let mut random = || {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                (state >> 11) as f64 / (1_u64 << 53) as f64
            };
            let data = (0..60).map(|j| f64::from(j / 20) + 0.3 * random());
            Self {
                data: data.collect(),
                product,
                has_duals,
            }
        }

        fn solve(&self, method: Method, target: f64) -> (State, Solved) {
            let mut state = State::new(self.data.clone());
            let stop = Stop::accuracy(ErrorBound::new(target).expect("not negative"));
            let solver = Solver {
                method,
                ..Solver::default()
            };
            let solved = solver.minimize(self, stop, &mut state, &mut self.scratch());
            (state, solved.expect("finite"))
        }
    }

    /// The weight of a difference, `$1/\sigma$` and `$n = d/\sigma$`. Without a dual variable,
    /// that of the point is used.
    fn linearised(d: f64, dual: Option<f64>) -> [f64; 3] {
        let inverse = d.hypot(NU).recip();
        let n = d * inverse;
        [ALPHA * inverse * (1.0 - dual.unwrap_or(n) * n), inverse, n]
    }

    /// Adds the transposed differences of `flux(j, difference)` to `out`.
    fn add_back(x: &[f64], out: &mut [f64], flux: impl Fn(usize, f64) -> f64) {
        for (j, pair) in x.windows(2).enumerate() {
            let flux = flux(j, pair[1] - pair[0]);
            out[j] -= flux;
            out[j + 1] += flux;
        }
    }

    impl StronglyConvex for Edges {
        /// For each difference the weight, `$1/\sigma$` and `$d/\sigma$`.
        type Scratch = Vec<[f64; 3]>;

        fn dim(&self) -> usize {
            self.data.len()
        }

        fn curvature(&self) -> Curvature {
            Curvature::new(1.0, 1.0 + 4.0 * ALPHA / NU).expect("valid")
        }

        fn scratch(&self) -> Vec<[f64; 3]> {
            vec![[0.0; 3]; self.dim() - 1]
        }

        fn gradient(&self, x: &[f64], gradient: &mut [f64], _: &mut Vec<[f64; 3]>) {
            for ((gradient, x), y) in gradient.iter_mut().zip(x).zip(&self.data) {
                *gradient = x - y;
            }
            add_back(x, gradient, |_, d| ALPHA * d / d.hypot(NU));
        }

        fn value(&self, x: &[f64], _: &mut Vec<[f64; 3]>) -> f64 {
            let fit: f64 = x.iter().zip(&self.data).map(|(x, y)| (x - y).powi(2)).sum();
            let roots: f64 = x.windows(2).map(|x| (x[1] - x[0]).hypot(NU)).sum();
            0.5 * fit + ALPHA * roots
        }

        fn gradient_rounding(&self, x_norm: f64, _: f64) -> f64 {
            let lipschitz = self.curvature().lipschitz();
            16.0 * crate::UNIT_ROUNDOFF * (lipschitz * x_norm + norm(&self.data) + 60.0)
        }

        fn second_order(&self) -> Option<&dyn SecondOrder<Vec<[f64; 3]>>> {
            Some(self)
        }
    }

    impl SecondOrder<Vec<[f64; 3]>> for Edges {
        fn linearise(&self, x: &[f64], scratch: &mut Vec<[f64; 3]>) {
            for (at, pair) in scratch.iter_mut().zip(x.windows(2)) {
                *at = linearised(pair[1] - pair[0], None);
            }
        }

        fn num_duals(&self) -> usize {
            if self.has_duals { self.dim() - 1 } else { 0 }
        }

        fn linearise_dual(&self, x: &[f64], dual: &[f64], scratch: &mut Vec<[f64; 3]>) {
            for ((at, pair), p) in scratch.iter_mut().zip(x.windows(2)).zip(dual) {
                *at = linearised(pair[1] - pair[0], Some(*p));
            }
        }

        fn move_duals(&self, z: &[f64], dual: &mut [f64], scratch: &mut Vec<[f64; 3]>) {
            for ((p, z), [_, inverse, n]) in dual.iter_mut().zip(z.windows(2)).zip(scratch) {
                let change = (z[0] - z[1]) * *inverse;
                *p = (*n + change - *p * *n * change).clamp(-1.0, 1.0);
            }
        }

        fn hessian_product(&self, v: &[f64], out: &mut [f64], scratch: &mut Vec<[f64; 3]>) {
            out.copy_from_slice(v);
            add_back(v, out, |j, d| scratch[j][0] * d);
            let factor = match self.product {
                Product::Right => 1.0,
                Product::NotANumber => f64::NAN,
                Product::TooSmall => 1e-9,
                Product::Negative => -1.0,
            };
            for out in out {
                *out *= factor;
            }
        }

        fn product_rounding(&self, _: f64) -> f64 {
            f64::INFINITY // corrections do not need it
        }

        fn costs(&self) -> SecondOrderCosts {
            SecondOrderCosts {
                newton: Some(NewtonRange {
                    gradient: 1e-2,
                    products: 2.0,
                }),
                ..SecondOrderCosts::default()
            }
        }

        /// Solves the tridiagonal system.
        fn precondition(&self, r: &[f64], out: &mut [f64], scratch: &mut Vec<[f64; 3]>) {
            let weight = |j: usize| scratch.get(j).map_or(0.0, |at| at[0]);
            let before = |j: usize| if j > 0 { weight(j - 1) } else { 0.0 };
            let mut pivots = vec![0.0; r.len()];
            for j in 0..r.len() {
                (pivots[j], out[j]) = (1.0 + before(j) + weight(j), r[j]);
                if j > 0 {
                    let factor = before(j) / pivots[j - 1];
                    pivots[j] -= factor * before(j);
                    out[j] += factor * out[j - 1];
                }
            }
            for j in (0..r.len()).rev() {
                let next = out.get(j + 1).map_or(0.0, |next| weight(j) * next);
                out[j] = (out[j] + next) / pivots[j];
            }
        }

        fn third_order(&self, _: &[f64], _: f64, _: &mut Vec<[f64; 3]>) -> ThirdOrder {
            ThirdOrder::UNKNOWN
        }
    }

    #[test]
    fn corrected_solves_are_certified_and_save_work() {
        let [with_hessian, with_duals] = [false, true].map(relative_work);
        assert!(with_hessian < 0.95, "{with_hessian}");
        assert!(with_duals < 0.6 * with_hessian, "{with_duals}");
    }

    /// Checks solves with corrections. Returns their work, relative to that of the heavy ball.
    fn relative_work(has_duals: bool) -> f64 {
        let mut work = [0.0; 2];
        for seed in 0..20 {
            let edges = Edges::new(seed, Product::Right, has_duals);
            let (exact, solved) = edges.solve(Method::FISTA, 1e-10);
            assert!(solved.error.value() <= 1e-10);
            for target in [1.0, 1e-2, 1e-4, 1e-6, 1e-8] {
                let solves = [Method::Auto, Method::HeavyBall].map(|method| {
                    let (state, solved) = edges.solve(method, target);
                    let errors = state.point().iter().zip(exact.point());
                    let error = norm(&errors.map(|(a, b)| a - b).collect::<Vec<_>>());
                    assert!(
                        solved.error.value() <= target && error <= solved.error.value() + 1e-10
                    );
                    let mut gradient = vec![0.0; edges.dim()];
                    edges.gradient(state.point(), &mut gradient, &mut Vec::new());
                    assert_eq!(state.gradient(), Some(&gradient[..]));
                    solved.work
                });
                for (sum, work) in work.iter_mut().zip(solves) {
                    *sum += work;
                }
            }
        }
        work[0] / work[1]
    }

    /// Whatever the products, the answer is certified. If no correction is accepted, it is that of
    /// the heavy ball.
    #[test]
    fn wrong_products_cost_only_time() {
        let products = [Product::NotANumber, Product::TooSmall, Product::Negative];
        for (product, has_duals) in products.into_iter().flat_map(|p| [(p, false), (p, true)]) {
            for seed in 0..5 {
                let edges = Edges::new(seed, product, has_duals);
                let (corrected, solved) = edges.solve(Method::Auto, 1e-6);
                let (expected, plain) = edges.solve(Method::HeavyBall, 1e-6);
                assert!(solved.error.value() <= 1e-6);
                assert_eq!(corrected.point(), expected.point(), "{product:?}");
                assert_eq!(solved.error, plain.error);
                assert!(solved.work > plain.work);
            }
        }
    }
}
