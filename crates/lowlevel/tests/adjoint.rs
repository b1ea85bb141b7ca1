//! Adjoints and corrected values: every bound holds for functions whose minimiser is known, and is
//! attained where theory says so.

use lowlevel::testing::{hessian_deviation, mixed_deviation, third_order_violation};
use lowlevel::{
    Adjoint, AdjointOutcome, AdjointState, AdjointStop, Curvature, ErrorBound, FnObjective,
    HypergradientState, LossAt, LossRounding, Method, MixedBound, Solver, State, Stop,
    StronglyConvex, UNIT_ROUNDOFF, ValueInterval, adjoint_error, corrected_value, hypergradient,
    norm, solve_adjoint,
};
use proptest::prelude::*;

fn bound(value: f64) -> ErrorBound {
    ErrorBound::new(value).expect("a bound")
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn difference(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

/// Keeps `q` as it is, and bounds its residual and the loss.
fn bounds_at<O: StronglyConvex>(
    objective: &O,
    x: &[f64],
    error: f64,
    loss: &LossAt<'_>,
    q: &[f64],
) -> (ValueInterval, Adjoint) {
    let mut scratch = objective.scratch();
    let mut state = AdjointState::new();
    state.start_at(q);
    let stop = AdjointStop::absolute(f64::INFINITY);
    let adjoint = solve_adjoint(
        objective,
        x,
        bound(error),
        loss,
        stop,
        &mut state,
        &mut scratch,
    )
    .expect("finite products");
    assert_eq!(adjoint.outcome, AdjointOutcome::Converged);
    assert_eq!(state.adjoint(), q, "the start must not be replaced");
    let mut gradient = vec![0.0; x.len()];
    objective.gradient(x, &mut gradient, &mut scratch);
    let interval = corrected_value(objective, x, &gradient, loss, q, &adjoint);
    (interval, adjoint)
}

/// A symmetric matrix with eigenvalues from `mu` to `lipschitz`, in equal ratios. Its eigenvectors
/// are the axes, reflected along `mirrors`.
fn random_matrix(dim: usize, mu: f64, lipschitz: f64, mirrors: &[Vec<f64>]) -> Vec<f64> {
    let reflected = |v: &mut [f64], mirror: &[f64]| {
        let factor = 2.0 * dot(v, mirror) / dot(mirror, mirror).max(1e-3);
        for (v, mirror) in v.iter_mut().zip(mirror) {
            *v -= factor * mirror;
        }
    };
    let mirrors = || mirrors.iter().filter(|mirror| dot(mirror, mirror) > 1e-3);
    let mut matrix = vec![0.0; dim * dim];
    for k in 0..dim {
        let share = k as f64 / (dim as f64 - 1.0).max(1.0);
        let eigenvalue = mu * (lipschitz / mu).powf(share);
        let mut v = vec![0.0; dim];
        v[k] = 1.0;
        for mirror in mirrors() {
            reflected(&mut v, mirror);
        }
        for (i, row) in matrix.chunks_exact_mut(dim).enumerate() {
            for (entry, v_j) in row.iter_mut().zip(&v) {
                *entry += eigenvalue * (v[i] * v_j);
            }
        }
    }
    matrix
}

/// A linear loss, whose Taylor remainder is zero.
fn linear<'a>(c: &'a [f64], x: &[f64]) -> LossAt<'a> {
    let size: f64 = c.iter().zip(x).map(|(c, x)| (c * x).abs()).sum();
    LossAt {
        value: dot(c, x),
        gradient: c,
        lipschitz: 0.0,
        non_negative: false,
        rounding: LossRounding {
            value: (x.len() + 2) as f64 * UNIT_ROUNDOFF * size,
            gradient: 0.0,
        },
    }
}

/// The largest value of `$|(\log\cosh)'''| = 2\tanh\,\mathrm{sech}^2$`.
const LOG_COSH_THIRD: f64 = 0.769_800_358_919_502; // 4 / (3 sqrt 3)

/// `$\frac12 x^T(A + \xi I)x - b^T x + s\sum_j\log\cosh(c x_j)$`, whose minimiser is known: `b` is
/// chosen for it.
#[derive(Clone, Debug)]
struct LogCosh {
    matrix: Vec<f64>,
    curvature: Curvature,
    linear: Vec<f64>,
    xi: f64,
    s: f64,
    c: f64,
}

impl LogCosh {
    fn gradient(&self, x: &[f64], out: &mut [f64]) {
        let dim = x.len();
        for (j, out) in out.iter_mut().enumerate() {
            let row = &self.matrix[j * dim..(j + 1) * dim];
            *out = dot(row, x) + self.xi * x[j] - self.linear[j]
                + self.s * self.c * (self.c * x[j]).tanh();
        }
    }

    fn product(&self, x: &[f64], v: &[f64], out: &mut [f64]) {
        let dim = x.len();
        for (j, out) in out.iter_mut().enumerate() {
            let row = &self.matrix[j * dim..(j + 1) * dim];
            let bent = self.s * (self.c / (self.c * x[j]).cosh()).powi(2);
            *out = dot(row, v) + (self.xi + bent) * v[j];
        }
    }

    fn third_derivative(&self) -> f64 {
        LOG_COSH_THIRD * self.s * self.c.powi(3)
    }

    fn objective(&self) -> impl StronglyConvex<Scratch = Vec<f64>> + use<> {
        let dim = self.linear.len();
        let most = self.curvature.lipschitz() + self.xi + self.s * self.c * self.c;
        let curvature = Curvature::new(self.curvature.strong_convexity() + self.xi, most);
        let rounding = 2.0 * (dim as f64 + 16.0) * UNIT_ROUNDOFF;
        let largest = self.s * self.c * dim as f64 + norm(&self.linear);
        let (own, other, third) = (self.clone(), self.clone(), self.third_derivative());
        FnObjective::new(
            dim,
            curvature.expect("positive"),
            |_| f64::NAN, // never needed
            move |x, out| own.gradient(x, out),
        )
        .with_rounding(rounding * largest, rounding * (dim as f64).sqrt() * most)
        .with_hessian(move |x, v, out| other.product(x, v, out), third)
        .with_product_rounding(rounding * (dim as f64).sqrt() * most)
    }

    /// Solves with the Hessian at `x`, by elimination with two steps of refinement.
    fn solve(&self, x: &[f64], rhs: &[f64]) -> Vec<f64> {
        let dim = x.len();
        let mut q = vec![0.0; dim];
        for _ in 0..3 {
            let mut product = vec![0.0; dim];
            self.product(x, &q, &mut product);
            let correction = self.eliminate(x, difference(rhs, &product));
            for (q, correction) in q.iter_mut().zip(correction) {
                *q += correction;
            }
        }
        q
    }

    fn eliminate(&self, x: &[f64], mut rhs: Vec<f64>) -> Vec<f64> {
        let dim = x.len();
        let mut columns: Vec<Vec<f64>> = (0..dim)
            .map(|j| {
                let mut unit = vec![0.0; dim];
                unit[j] = 1.0;
                let mut column = vec![0.0; dim];
                self.product(x, &unit, &mut column);
                column
            })
            .collect();
        for k in 0..dim {
            for i in k + 1..dim {
                let factor = columns[k][i] / columns[k][k];
                for column in &mut columns[k..] {
                    column[i] -= factor * column[k];
                }
                rhs[i] -= factor * rhs[k];
            }
        }
        for k in (0..dim).rev() {
            rhs[k] /= columns[k][k];
            let solved = rhs[k];
            for (rhs, entry) in rhs[..k].iter_mut().zip(&columns[k]) {
                *rhs -= solved * entry;
            }
        }
        rhs
    }
}

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

/// A one-dimensional function with the Hessian `1 + K x` around zero, so that all bounds on third
/// derivatives are attained. `minimizer` is its minimiser.
fn cubic(third: f64, minimizer: f64, mu: f64) -> impl StronglyConvex<Scratch = Vec<f64>> {
    let slope = move |x: f64| x + 0.5 * third * x * x;
    FnObjective::new(
        1,
        Curvature::new(mu, 2.0).expect("positive"),
        |_| f64::NAN,
        move |x, out| out[0] = slope(x[0]) - slope(minimizer),
    )
    .with_rounding(1e-16, 1e-15)
    .with_hessian(
        move |x, v, out| out[0] = (1.0 + third * x[0]) * v[0],
        third.abs(),
    )
}

/// With a linear loss and an exact adjoint, the loss is at one end of the interval: its distance
/// from the corrected value is the bound on the third derivative.
#[test]
fn the_third_order_term_of_the_value_is_attained() {
    for (third, c) in [(0.5, 1.0), (0.5, -1.0), (-0.5, 1.0), (-0.5, -1.0)] {
        for e in [0.01, -0.01] {
            let (minimizer, error) = (0.1, 0.01 + 1e-16);
            let x = [minimizer + e];
            let c = [c];
            let objective = cubic(third, minimizer, 0.5);
            let q = [c[0] / (1.0 + third * x[0])];
            let (interval, adjoint) = bounds_at(&objective, &x, error, &linear(&c, &x), &q);
            let exact = c[0] * minimizer;
            assert!(interval.lower <= exact && exact <= interval.upper);
            let nearest = (exact - interval.lower).min(interval.upper - exact);
            assert!(nearest < 1e-14, "{nearest:e}");
            let expected = 0.25 * 1e-4 * q[0].abs();
            assert!((adjoint.third_order.value - expected).abs() < 1e-14);
            let violation = third_order_violation(&objective, &x, &q, 0.01, 20, 7);
            assert!((violation - 1.0).abs() < 1e-9, "{violation}");
        }
    }
}

/// The exact adjoint at the computed point is as far from the exact adjoint as its bound says.
#[test]
fn the_third_order_term_of_the_adjoint_is_attained() {
    for third in [0.5, -0.5] {
        for e in [0.01, -0.01] {
            let (minimizer, c) = (0.1_f64, [3.0]);
            let there = 1.0 + third * minimizer;
            let x = [minimizer + e];
            let objective = cubic(third, minimizer, there);
            let q = [c[0] / (1.0 + third * x[0])];
            let loss = linear(&c, &x);
            let (_, adjoint) = bounds_at(&objective, &x, 0.01, &loss, &q);
            let off = (q[0] - c[0] / there).abs();
            let bound = adjoint_error(&loss, &adjoint);
            assert!(
                off <= bound * (1.0 + 1e-12) && bound < off + 1e-13,
                "{off} {bound}"
            );
        }
    }
}

fn plain_quadratic(mu: f64, minimizer: Vec<f64>) -> impl StronglyConvex<Scratch = Vec<f64>> {
    FnObjective::new(
        minimizer.len(),
        Curvature::new(mu, mu).expect("positive"),
        |_| f64::NAN,
        move |x, out| {
            for ((out, x), m) in out.iter_mut().zip(x).zip(&minimizer) {
                *out = mu * (x - m);
            }
        },
    )
    .with_hessian(
        move |_, v, out| {
            for (out, v) in out.iter_mut().zip(v) {
                *out = mu * v;
            }
        },
        0.0,
    )
}

/// With a residual along the error and a linear loss, the loss is at an end of the interval, and
/// the adjoint as far off as its bound.
#[test]
fn the_residual_term_is_attained_in_both_directions() {
    for sign in [1.0, -1.0] {
        let (mu, minimizer) = (2.0, vec![1.0, -2.0]);
        let (x, c) = ([1.0 + 3e-3, -2.0 + 4e-3], [7.0, -5.0]);
        let objective = plain_quadratic(mu, minimizer.clone());
        let loss = linear(&c, &x);
        // r = c - mu q = 0.5 * sign * (3, 4)
        let q = [(c[0] - sign * 1.5) / mu, (c[1] - sign * 2.0) / mu];
        let (interval, adjoint) = bounds_at(&objective, &x, 5e-3 + 1e-16, &loss, &q);
        let exact = dot(&c, &minimizer);
        assert!(interval.lower <= exact && exact <= interval.upper);
        assert!((interval.upper - interval.lower - 2.0 * 2.5 * 5e-3).abs() < 1e-12);
        // l(x*) = f_c - <r, e>: a positive product puts the loss at the lower end.
        let gap = [exact - interval.lower, interval.upper - exact];
        assert!(gap[usize::from(sign < 0.0)] < 1e-13, "{gap:?}");

        assert!((adjoint.residual - 2.5).abs() < 1e-13);
        let off = norm(&difference(&q, &[c[0] / mu, c[1] / mu]));
        let bound = adjoint_error(&loss, &adjoint);
        assert!(off <= bound && bound < off + 1e-13);
    }
}

/// With an exact adjoint of a quadratic function, the squared distance is at the upper end: the
/// remainder is not negative, and as large as its bound.
#[test]
fn the_remainder_of_the_loss_is_attained_at_the_upper_end() {
    let (mu, minimizer, truth) = (0.5, vec![1.0, -2.0], [100.0, 200.0]);
    for e in [[3e-3, 4e-3], [-3e-3, 4e-3], [-3e-3, -4e-3]] {
        let x = [minimizer[0] + e[0], minimizer[1] + e[1]];
        let objective = plain_quadratic(mu, minimizer.clone());
        let mut buffer = [0.0; 2];
        let loss = LossAt::squared_distance(&x, &truth, &mut buffer);
        let q: Vec<f64> = loss.gradient.iter().map(|g| g / mu).collect();
        let (interval, adjoint) = bounds_at(&objective, &x, 5e-3 + 1e-15, &loss, &q);
        let exact = norm(&difference(&minimizer, &truth)).powi(2);
        assert!(interval.lower <= exact && exact <= interval.upper);
        assert!((interval.upper - exact) < 1e-9);
        assert!((exact - interval.lower - 25e-6).abs() < 1e-9); // R = |e|^2
        assert!((interval.value - (exact - 25e-6)).abs() < 1e-9);

        let off = norm(&difference(&q, &[198.0 / -mu, 404.0 / -mu]));
        let bound = adjoint_error(&loss, &adjoint);
        assert!(off <= bound && bound < off * (1.0 + 1e-9), "{off} {bound}");
    }
}

/// Where nothing is known about third derivatives, the plain interval decides. Both of its ends are
/// attained, for distances and for linear losses.
#[test]
fn the_plain_interval_is_attained() {
    let objective = FnObjective::new(
        1,
        Curvature::new(1.0, 1.0).expect("positive"),
        |_| f64::NAN,
        |x, out| out[0] = x[0] - 1.0,
    )
    .with_hessian(|_, v, out| out.copy_from_slice(v), f64::INFINITY);
    for e in [0.25, -0.25] {
        let x = [1.0 + e];
        let mut buffer = [0.0];
        let loss = LossAt::squared_distance(&x, &[0.0], &mut buffer);
        let (interval, _) = bounds_at(&objective, &x, 0.25, &loss, &[2.0 * x[0]]);
        assert!((interval.lower - (x[0] - 0.25).powi(2)).abs() < 1e-14);
        assert!((interval.upper - (x[0] + 0.25).powi(2)).abs() < 1e-14);
        assert!(interval.lower <= 1.0 && 1.0 <= interval.upper && interval.consistent);
        let (interval, _) = bounds_at(&objective, &x, 3.0, &loss, &[2.0 * x[0]]);
        assert!(interval.lower.abs() < 1e-300);

        let loss = linear(&[3.0], &x);
        let (interval, _) = bounds_at(&objective, &x, 0.25, &loss, &[3.0]);
        assert!(interval.lower <= 3.0 && 3.0 <= interval.upper);
        assert!((interval.lower - 3.0 * (x[0] - 0.25)).abs() < 1e-14);
        assert!((interval.upper - 3.0 * (x[0] + 0.25)).abs() < 1e-14);
    }
}

/// A small generator of integers, for cases whose answer is exact.
struct Integers(u64);

impl Integers {
    fn next(&mut self, below: u64) -> i64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        i64::try_from((self.0 >> 11) % (2 * below)).expect("small")
            - i64::try_from(below).expect("small")
    }
}

/// Where rounding dominates: the exact loss, computed with integers, is in the interval, and would
/// often not be without the rounding term.
#[test]
#[expect(
    clippy::cast_possible_truncation,
    reason = "the numbers are far below the largest i128"
)]
fn the_interval_holds_at_the_rounding_floor() {
    let mut random = Integers(1);
    let mut needed = 0;
    for _ in 0..3000 {
        const DIM: usize = 6;
        // A diagonally dominant matrix of small integers, with eigenvalues between 1 and 71.
        let mut matrix = [[0_i64; DIM]; DIM];
        for (i, j) in (0..DIM).flat_map(|i| (0..i).map(move |j| (i, j))) {
            matrix[i][j] = random.next(7);
            matrix[j][i] = matrix[i][j];
        }
        for (i, row) in matrix.iter_mut().enumerate() {
            row[i] = row.iter().map(|a| a.abs()).sum::<i64>() + 1;
        }
        let minimizer: [i64; DIM] = std::array::from_fn(|_| 32 * random.next(1 << 45));
        let x: [i64; DIM] = std::array::from_fn(|j| minimizer[j] + random.next(4));
        let b = matrix.map(|row| row.iter().zip(&minimizer).map(|(a, m)| a * m).sum::<i64>());
        let c: [i64; DIM] = std::array::from_fn(|_| random.next(1000));
        let exact: i128 = c
            .iter()
            .zip(&minimizer)
            .map(|(&c, &m)| i128::from(c) * i128::from(m))
            .sum();

        let float = |v: &[i64]| v.iter().map(|&v| v as f64).collect::<Vec<f64>>();
        let (rows, b) = (matrix.map(|row| float(&row)), float(&b));
        let gradient_rows = rows.clone();
        let rounding = 8.0 * UNIT_ROUNDOFF;
        let objective = FnObjective::new(
            DIM,
            Curvature::new(1.0, 73.0).expect("positive"),
            |_| f64::NAN,
            {
                let b = b.clone();
                move |x, out| {
                    for ((out, row), b) in out.iter_mut().zip(&gradient_rows).zip(&b) {
                        *out = dot(row, x) - b;
                    }
                }
            },
        )
        .with_rounding(rounding * norm(&b), rounding * 73.0 * 2.5)
        .with_hessian(
            move |_, v, out| {
                for (out, row) in out.iter_mut().zip(&rows) {
                    *out = dot(row, v);
                }
            },
            0.0,
        );
        let e: Vec<f64> = x
            .iter()
            .zip(&minimizer)
            .map(|(x, m)| (x - m) as f64)
            .collect();
        let (x, c) = (float(&x), float(&c));
        let loss = linear(&c, &x);
        let error = norm(&e) * (1.0 + 1e-15);
        let mut state = AdjointState::new();
        let stop = AdjointStop::absolute(1e-11);
        let mut scratch = objective.scratch();
        let adjoint = solve_adjoint(
            &objective,
            &x,
            bound(error),
            &loss,
            stop,
            &mut state,
            &mut scratch,
        )
        .unwrap();
        let mut gradient = vec![0.0; DIM];
        objective.gradient(&x, &mut gradient, &mut scratch);
        let interval = corrected_value(&objective, &x, &gradient, &loss, state.adjoint(), &adjoint);
        assert!(interval.lower.ceil() as i128 <= exact && exact <= interval.upper.floor() as i128);
        let off = (interval.value - exact as f64).abs();
        needed += u32::from(off > adjoint.residual * error);
        assert!(interval.upper - interval.lower < 1e-11 * norm(&c) * norm(&x));
    }
    assert!(needed > 300, "{needed}");
}

/// A second call starts from the first answer, and lowers its residual by the given factor, until
/// the rounding floor.
#[test]
fn warm_starts_improve_until_rounding() {
    let matrix = random_matrix(6, 1.0, 100.0, &[vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]]);
    let function = LogCosh {
        matrix,
        curvature: Curvature::new(0.999, 100.1).unwrap(),
        linear: vec![1.0; 6],
        xi: 0.1,
        s: 1.0,
        c: 2.0,
    };
    let objective = function.objective();
    let x = [0.1, 0.2, -0.3, 0.0, 0.5, 1.0];
    let mut buffer = [0.0; 6];
    let loss = LossAt::squared_distance(&x, &[0.0; 6], &mut buffer);
    let mut state = AdjointState::new();
    let mut scratch = objective.scratch();
    let mut solve = |stop, state: &mut AdjointState| {
        solve_adjoint(&objective, &x, bound(0.1), &loss, stop, state, &mut scratch).unwrap()
    };
    let mut before = solve(AdjointStop::default(), &mut state);
    assert!(before.residual <= 0.05 * norm(loss.gradient) && before.residual > 1e-6);
    assert!((before.work - before.products as f64 - 1.0).abs() < 1e-12);
    for _ in 0..6 {
        let after = solve(AdjointStop::default(), &mut state);
        assert_eq!(after.outcome, AdjointOutcome::Converged);
        assert!(after.residual <= 0.1 * before.residual);
        assert!(after.products <= 9);
        before = after;
    }
    let floor = solve(AdjointStop::absolute(0.0), &mut state);
    assert_eq!(floor.outcome, AdjointOutcome::RoundingFloor);
    assert!(floor.residual < 1e-11 && floor.residual > 0.0);
    // At a target of NaN the solve is as accurate as possible, too.
    let nan = AdjointStop {
        relative: f64::NAN,
        ..AdjointStop::default()
    };
    assert_eq!(
        solve(nan, &mut state).outcome,
        AdjointOutcome::RoundingFloor
    );
    // A start worse than zero is dropped.
    state.start_at(&[1e9; 6]);
    let fresh = solve(AdjointStop::default(), &mut state);
    assert!(fresh.residual <= 0.05 * norm(loss.gradient));
    let limited = AdjointStop {
        max_products: Some(1),
        ..AdjointStop::absolute(1e-9)
    };
    state.start_at(&[]);
    let stopped = solve(limited, &mut state);
    assert_eq!(stopped.outcome, AdjointOutcome::ProductLimit);
    assert!(stopped.residual > 1e-9 && stopped.products == 2); // one more for the residual
}

/// The gradient that a state holds after a solve is that at its point, for every method.
#[test]
fn a_state_holds_the_gradient_at_its_point() {
    let quadratic = lowlevel::testing::NesterovQuadratic::new(7, 1.0, 100.0);
    for method in [
        Method::Auto,
        Method::FISTA,
        Method::FISTA_TWO_GRADIENTS,
        Method::GRADIENT_DESCENT,
    ] {
        for stop in [
            Stop::Iterations(5),
            Stop::Iterations(0),
            Stop::accuracy(bound(1e-3)),
        ] {
            let solver = Solver {
                method,
                ..Solver::default()
            };
            let mut state = State::new(vec![1.0; 7]);
            assert_eq!(state.gradient(), None);
            let _ = solver
                .minimize(&quadratic, stop, &mut state, &mut ())
                .unwrap();
            let mut gradient = [0.0; 7];
            quadratic.gradient(state.point(), &mut gradient, &mut ());
            assert_eq!(state.gradient(), Some(&gradient[..]), "{method:?} {stop:?}");
            state.restart(|_| ());
            assert_eq!(state.gradient(), None);
        }
    }
}

/// The gradient in one call agrees with differences of the loss.
#[test]
fn the_hypergradient_is_the_slope_of_the_loss() {
    let matrix = random_matrix(5, 0.5, 20.0, &[vec![1.0, -2.0, 3.0, 0.4, 5.0]]);
    let at = |theta: &[f64]| LogCosh {
        matrix: matrix.clone(),
        curvature: Curvature::new(0.499, 20.1).unwrap(),
        linear: vec![1.0, 2.0, -1.0, 0.5, 3.0],
        xi: theta[0],
        s: theta[1],
        c: 2.0,
    };
    let truth = [0.5, 0.1, -0.2, 0.3, 0.7];
    let mut state = HypergradientState::new(vec![0.0; 5]);
    let mut evaluate = |theta: &[f64]| {
        let mixed = |x: &[f64], q: &[f64], out: &mut [f64]| {
            out[0] = dot(x, q);
            out[1] = x
                .iter()
                .zip(q)
                .map(|(x, q)| 2.0 * (2.0 * x).tanh() * q)
                .sum();
        };
        let objective = at(theta).objective();
        hypergradient(
            &objective,
            |x, out| LossAt::squared_distance(x, &truth, out),
            2,
            mixed,
            bound(1e-7),
            &mut state,
        )
        .unwrap()
    };
    let here = evaluate(&[0.3, 0.8]);
    assert!(here.interval.upper - here.interval.lower < 1e-11);
    assert!(here.adjoint_error < 1e-4);
    for k in 0..2 {
        let mut shifted = |shift: f64| {
            let mut theta = [0.3, 0.8];
            theta[k] += shift;
            evaluate(&theta).interval.value
        };
        let slope = (shifted(1e-4) - shifted(-1e-4)) / 2e-4;
        assert!(
            (slope - here.gradient[k]).abs() < 1e-6,
            "{slope} {:?}",
            here.gradient
        );
    }
}
