//! Properties of random cases: no bound is violated.

use lowlevel::testing::{hessian_deviation, mixed_deviation, third_order_violation};
use lowlevel::{
    AdjointOutcome, AdjointState, AdjointStop, Curvature, LossAt, MixedBound, StronglyConvex,
    adjoint_error, hessian_slope, inverse_form, norm, solve_adjoint,
};
use proptest::prelude::*;

use super::log_cosh::{LogCosh, random_matrix};
use super::{bound, bounds_at, difference, dot};

#[derive(Debug)]
struct Case {
    function: LogCosh,
    minimizer: Vec<f64>,
    /// The computed point, its certified error, and the true one.
    x: Vec<f64>,
    error: f64,
    truth: Vec<f64>,
    /// The perturbation of the adjoint.
    p: Vec<f64>,
}

fn cases() -> impl Strategy<Value = Case> {
    (1_usize..9).prop_flat_map(|dim| {
        let vector = move |size: f64| proptest::collection::vec(-size..size, dim);
        let scalars = (
            (0.0..3.0_f64, -1.0..1.0_f64),
            (-3.0..1.0_f64, 0.0..1.5_f64),
            (-7.0..0.5_f64, prop_oneof![Just(1.0), Just(1.5)]),
            -9.0..-0.5_f64,
        );
        let vectors = (vector(2.0), vector(1.0), vector(2.0), vector(1.0));
        let mirrors = proptest::collection::vec(vector(1.0), 3);
        (scalars, vectors, mirrors).prop_map(move |(scalars, vectors, mirrors)| {
            let ((log_kappa, log_mu), (log_s, log_c), (log_error, slack), log_p) = scalars;
            let (minimizer, e, truth, p) = vectors;
            let mu = 10_f64.powf(log_mu);
            let kappa = 10_f64.powf(log_kappa);
            let matrix = random_matrix(dim, mu, kappa * mu, &mirrors);
            let mut function = LogCosh {
                matrix,
                curvature: Curvature::new(mu * (1.0 - 1e-12), kappa * mu * (1.0 + 1e-12))
                    .expect("positive"),
                linear: vec![0.0; dim],
                xi: 0.1,
                s: 10_f64.powf(log_s),
                c: 10_f64.powf(log_c),
            };
            let mut linear = vec![0.0; dim];
            function.gradient(&minimizer, &mut linear);
            function.linear = linear;
            let length = norm(&e).max(1e-3);
            let error = 10_f64.powf(log_error);
            let x: Vec<f64> = (minimizer.iter().zip(&e))
                .map(|(m, e)| m + error * e / length)
                .collect();
            // The minimiser is known up to the rounding errors of b and of x.
            let known = 1e-14 * (1.0 + norm(&function.linear) + norm(&x)) * 10.0 / mu;
            let error = slack * norm(&difference(&x, &minimizer)) + known;
            let p = p.iter().map(|p| p * 10_f64.powf(log_p)).collect();
            Case {
                function,
                minimizer,
                x,
                error,
                truth,
                p,
            }
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    /// The value interval, the error of the adjoint and the error of the gradient hold, for exact
    /// and for perturbed adjoints.
    #[test]
    fn bounds_hold(case in cases()) {
        let Case { function, minimizer, x, error, truth, p } = &case;
        let objective = function.objective();
        let mut buffer = vec![0.0; x.len()];
        let loss = LossAt::squared_distance(x, truth, &mut buffer);
        let mut q = function.solve(x, loss.gradient);
        let scale = norm(&q);
        for (q, p) in q.iter_mut().zip(p) {
            *q += 0.3 * scale * p / (function.curvature.condition_number() + function.s * 100.0);
        }
        let (interval, adjoint) = bounds_at(&objective, x, *error, &loss, &q);

        let exact_loss = norm(&difference(minimizer, truth)).powi(2);
        // The minimiser and the reference are known to about 1e-13.
        let slack = 1e-13 * (1.0 + exact_loss);
        prop_assert!(interval.consistent);
        prop_assert!(interval.lower - slack <= exact_loss && exact_loss <= interval.upper + slack,
            "{exact_loss:e} is not in {interval:?}");
        prop_assert!(interval.lower <= interval.value && interval.value <= interval.upper);
        let plain = norm(&difference(x, truth));
        prop_assert!(interval.upper <= (plain + error).powi(2) * (1.0 + 1e-12) + 1e-12);
        prop_assert!(interval.lower >= (plain - error).max(0.0).powi(2) * (1.0 - 1e-12) - 1e-12);

        let loss_gradient: Vec<f64> =
            minimizer.iter().zip(truth).map(|(x, t)| 2.0 * (x - t)).collect();
        let exact_q = function.solve(minimizer, &loss_gradient);
        let q_error = adjoint_error(&loss, &adjoint);
        let slack = 1e-12 * (1.0 + norm(&exact_q)) * function.curvature.condition_number();
        prop_assert!(norm(&difference(&q, &exact_q)) <= q_error + slack);

        // The derivatives with respect to xi and s.
        let weight = |x: &[f64]| -> Vec<f64> {
            x.iter().map(|x| function.c * (function.c * x).tanh()).collect()
        };
        let slack = slack * (1.0 + function.c) * 10.0;
        let xi = MixedBound { change: error * norm(&q), norm: norm(x) + error };
        let off = (dot(x, &q) - dot(minimizer, &exact_q)).abs();
        prop_assert!(off <= xi.gradient_error(q_error) + slack);
        let steep = function.c.powi(2) * error;
        let s = MixedBound { change: steep * norm(&q), norm: norm(&weight(x)) + steep };
        let off = (dot(&weight(x), &q) - dot(&weight(minimizer), &exact_q)).abs();
        prop_assert!(off <= s.gradient_error(q_error) + slack);
    }

    /// The tools for tests accept correct derivatives, and third-order bounds that hold.
    #[test]
    fn checks_accept_what_is_right(case in cases(), seed in any::<u64>()) {
        let Case { function, x, error, p, .. } = &case;
        let size = 1.0 + function.s * function.c.powi(4);
        prop_assert!(hessian_deviation(&function.objective(), x, 1e-5) < 1e-6 * size);
        prop_assert!(third_order_violation(&function.objective(), x, p, *error, 12, seed) <= 1.0);
        let at = |theta: &[f64]| {
            let (xi, s) = (theta[0], theta[1]);
            LogCosh { xi, s, ..function.clone() }.objective()
        };
        let mixed = |x: &[f64], q: &[f64], out: &mut [f64]| {
            out[0] = dot(x, q);
            let c = function.c;
            out[1] = x.iter().zip(q).map(|(x, q)| c * (c * x).tanh() * q).sum();
        };
        let theta = [function.xi, function.s];
        prop_assert!(mixed_deviation(at, &theta, x, p, mixed, 1e-4) < 1e-7);
    }

    /// The interval of the quadratic form of the inverse Hessian holds, for rough solutions of the
    /// system, too. It is narrow where the point is accurate, and its derivative is the third
    /// derivative of the function.
    #[test]
    fn the_form_of_the_inverse_is_in_its_interval(case in cases(), digits in 0..9_i32) {
        let Case { function, minimizer, x, error, truth, .. } = &case;
        let objective = function.objective();
        let mut scratch = objective.scratch();
        let mut state = AdjointState::new();
        let stop = AdjointStop { relative: 10_f64.powi(-digits), ..AdjointStop::absolute(f64::INFINITY) };
        let form = inverse_form(
            &objective, (x, bound(*error)), (truth, 0.0), stop, &mut state, &mut scratch,
        ).unwrap();
        let exact = dot(truth, &function.solve(minimizer, truth));
        let slack = 1e-13 * (exact + 1.0) * function.curvature.condition_number();
        prop_assert!(form.lower - slack <= exact && exact <= form.upper + slack,
            "{exact:e} is not in {form:?}");
        prop_assert!(0.0 <= form.lower && form.lower <= form.value && form.value <= form.upper);
        let mu = function.curvature.strong_convexity() + function.xi;
        let width = form.by_point + 2.0 * (form.residual.powi(2)
            + form.residual * form.by_point.max(0.0).sqrt() * mu.sqrt()) / mu;
        prop_assert!(form.upper - form.lower <= width * (1.0 + 1e-9) + 1e-15 * form.upper + 1e-300);

        let w = state.adjoint().to_vec();
        let (mut slope, mut point) = (vec![0.0; x.len()], Vec::new());
        let (step, _) =
            hessian_slope(&objective, x, &w, &mut slope, &mut point, &mut scratch).unwrap();
        let size = w.iter().fold(0.0, |a: f64, b| a.max(b.abs()));
        for ((slope, x), w) in slope.iter().zip(x).zip(&w) {
            let (c, t) = (function.c, (function.c * x).tanh());
            let third = -2.0 * function.s * c.powi(3) * t * (1.0 - t * t) * w * w;
            let most = objective.curvature().lipschitz() + function.s * c.powi(3);
            // the step is a share of the largest entry of x, so rounding errors of the products,
            // divided by the step, are all that counts near zero
            let rounding = 32.0 * f64::EPSILON * most * size / step;
            let allowed = rounding.max(1e-6 * most * size * size);
            prop_assert!((slope - third).abs() <= allowed, "{slope} {third}");
        }
    }

    /// Conjugate gradients meet every target that rounding allows, within the proven number of
    /// products, and the answer is the exact adjoint up to the bound.
    #[test]
    fn conjugate_gradients_meet_targets(case in cases(), digits in 1..9_i32) {
        let Case { function, x, truth, .. } = &case;
        let objective = function.objective();
        let mut buffer = vec![0.0; x.len()];
        let loss = LossAt::squared_distance(x, truth, &mut buffer);
        let target = 10_f64.powi(-digits) * norm(loss.gradient);
        let mut state = AdjointState::new();
        let adjoint = solve_adjoint(&objective, x, bound(0.0), &loss,
            AdjointStop::absolute(target), &mut state, &mut objective.scratch()).unwrap();
        prop_assert_eq!(adjoint.outcome, AdjointOutcome::Converged);
        prop_assert!(adjoint.residual <= target);
        let exact = function.solve(x, loss.gradient);
        let mu = function.curvature.strong_convexity() + function.xi;
        let slack = 1e-12 * norm(&exact) * function.curvature.condition_number();
        prop_assert!(norm(&difference(state.adjoint(), &exact)) <= adjoint.residual / mu + slack);
    }
}
