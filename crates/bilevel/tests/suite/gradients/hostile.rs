//! Models that lie, fail or panic: runs are slow or end with a clear reason, never with a wrong
//! interval.

use bilevel::{
    BoxError, Derivatives, LearningProblem, LowerLevel, Pair, Parameter, ProblemError, Setup,
    SolverKind,
};
use dfo_ls::Termination;
use imaging::Grid;
use lowlevel::{Curvature, SecondOrder, StronglyConvex, ThirdOrder};

use super::options;

/// What is wrong with a model.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    /// Mixed products have the wrong sign.
    Mixed,
    /// Mixed products are not numbers.
    MixedNan,
    /// Hessian products are not numbers.
    HessianNan,
    /// Hessian products are a hundred times too large.
    HessianLarge,
    /// Hessian products are a hundred times too small.
    HessianSmall,
    /// The derivatives panic.
    Panic,
    /// Signals of five samples have no derivatives.
    Partial,
}

/// The family `$\frac12\|x - y\|^2 + \frac12\sum_j a_{j \bmod d}\,x_j^2$`.
struct Diagonal {
    num_params: usize,
    fault: Fault,
}

struct DiagonalObjective<'a> {
    data: &'a [f64],
    weights: Vec<f64>,
    fault: Fault,
}

impl LowerLevel for Diagonal {
    type Data = Vec<f64>;
    type Scratch = ();
    type Objective<'a> = DiagonalObjective<'a>;

    fn parameters(&self) -> Vec<Parameter> {
        vec![Parameter::log10("a", 0.0, -3.0, 3.0).with_shape([self.num_params])]
    }

    fn prepare(&self, _: Grid, data: &[f64]) -> Result<Vec<f64>, BoxError> {
        Ok(data.to_vec())
    }

    fn objective<'a>(
        &'a self,
        values: &[f64],
        data: &'a Vec<f64>,
    ) -> Result<DiagonalObjective<'a>, BoxError> {
        Ok(DiagonalObjective {
            data,
            weights: values.to_vec(),
            fault: self.fault,
        })
    }

    fn derivatives<'a, 'b>(
        &'a self,
        _: &'a [f64],
        objective: &'a DiagonalObjective<'b>,
    ) -> Option<Box<dyn Derivatives<()> + 'a>>
    where
        Self: 'b,
    {
        let has_none = self.fault == Fault::Partial && objective.data.len() == 5;
        (!has_none).then(|| Box::new(DiagonalDerivatives(objective)) as Box<_>)
    }
}

impl DiagonalObjective<'_> {
    fn weight(&self, j: usize) -> f64 {
        self.weights[j % self.weights.len()]
    }
}

impl StronglyConvex for DiagonalObjective<'_> {
    type Scratch = ();
    fn dim(&self) -> usize {
        self.data.len()
    }
    fn curvature(&self) -> Curvature {
        let most = self.weights.iter().copied().fold(0.0, f64::max);
        Curvature::new(1.0, 1.0 + most).expect("positive")
    }
    fn scratch(&self) {}
    fn gradient(&self, x: &[f64], gradient: &mut [f64], (): &mut ()) {
        for (j, gradient) in gradient.iter_mut().enumerate() {
            *gradient = x[j] - self.data[j] + self.weight(j) * x[j];
        }
    }
    fn value(&self, x: &[f64], (): &mut ()) -> f64 {
        let term = |j: usize| (x[j] - self.data[j]).powi(2) + self.weight(j) * x[j] * x[j];
        0.5 * (0..x.len()).map(term).sum::<f64>()
    }
    fn gradient_rounding(&self, x_norm: f64, _: f64) -> f64 {
        let size = self.curvature().lipschitz() * x_norm + lowlevel::norm(self.data);
        8.0 * f64::EPSILON * size
    }
    fn second_order(&self) -> Option<&dyn SecondOrder<()>> {
        Some(self)
    }
}

impl SecondOrder<()> for DiagonalObjective<'_> {
    fn linearise(&self, _: &[f64], (): &mut ()) {}
    fn hessian_product(&self, v: &[f64], out: &mut [f64], (): &mut ()) {
        let factor = match self.fault {
            Fault::HessianNan => f64::NAN,
            Fault::HessianLarge => 100.0,
            Fault::HessianSmall => 0.01,
            _ => 1.0,
        };
        for (j, out) in out.iter_mut().enumerate() {
            *out = factor * (1.0 + self.weight(j)) * v[j];
        }
    }
    fn product_rounding(&self, v_norm: f64) -> f64 {
        8.0 * f64::EPSILON * self.curvature().lipschitz() * v_norm
    }
    fn third_order(&self, _: &[f64], _: f64, (): &mut ()) -> ThirdOrder {
        ThirdOrder::ZERO
    }
}

struct DiagonalDerivatives<'a, 'b>(&'a DiagonalObjective<'b>);

impl Derivatives<()> for DiagonalDerivatives<'_, '_> {
    fn mixed_product(&self, x: &[f64], q: &[f64], out: &mut [f64], (): &mut ()) {
        let factor = match self.0.fault {
            Fault::Panic => panic!("a model of the tests"),
            Fault::MixedNan => f64::NAN,
            Fault::Mixed => -1.0,
            _ => 1.0,
        };
        out.fill(0.0);
        let d = out.len();
        for (j, (x, q)) in x.iter().zip(q).enumerate() {
            out[j % d] += factor * x * q;
        }
    }
}

/// Data that are exact for the weights 2, 1, 2/3, ..., but for errors orthogonal to the truth.
fn problem(
    num_params: usize,
    len: usize,
    fault: Fault,
    solver: SolverKind,
) -> Result<LearningProblem<Diagonal>, ProblemError> {
    let truth = vec![1.0; len];
    let weight = |j: usize| 2.0 / (1.0 + (j % num_params % 7) as f64);
    let error = |j: usize| {
        0.1 * if (j / num_params).is_multiple_of(2) {
            1.0
        } else {
            -1.0
        }
    };
    let entry = |(j, x): (usize, &f64)| (x + error(j)) * (1.0 + weight(j));
    let data = truth.iter().enumerate().map(entry).collect();
    let pair = Pair {
        grid: Grid::line(len),
        truth,
        data,
    };
    let setup = Setup {
        solver,
        ..Setup::default()
    };
    LearningProblem::new(Diagonal { num_params, fault }, vec![pair], setup)
}

#[test]
fn families_of_ones_own_learn_with_gradients() {
    let mut problem = problem(3, 12, Fault::None, SolverKind::Auto).expect("valid");
    let learned = problem.learn().expect("differentiable");
    assert_eq!(learned.solver, SolverKind::Gradient);
    assert_eq!(learned.termination, Termination::Converged);
    for (k, parameter) in learned.entries().enumerate() {
        // the errors of the data add a hundredth to their squares
        let expected = 1.01 * (1.0 + 2.0 / (1.0 + k as f64)) - 1.0;
        assert!(
            (parameter.value / expected - 1.0).abs() < 1e-3,
            "{learned:?}"
        );
    }
    // there are no bounds on mixed products, so the gradient is not certified
    assert_eq!(learned.gradient.expect("it uses gradients").error, None);
}

/// One hundred thousand parameters: the history does not list them, and an evaluation is cheap.
#[test]
fn many_parameters() {
    let d = 100_000;
    let mut problem = problem(d, d, Fault::None, SolverKind::Gradient).expect("valid");
    let learned = problem.learn_with(options(25)).expect("differentiable");
    assert_eq!(learned.parameters.len(), 1);
    assert_eq!(learned.parameter("a").expect("a block").values.len(), d);
    assert!(
        learned
            .evaluations
            .iter()
            .all(|evaluation| evaluation.theta.is_empty())
    );
    assert!(
        learned
            .iterations
            .iter()
            .all(|iteration| iteration.theta.is_empty())
    );
    let (first, last) = (&learned.iterations[0], learned.objective);
    assert!(last < 1e-3 * first.objective, "{} {last}", first.objective);
}

#[test]
fn wrong_derivatives_end_with_a_reason() {
    for (fault, words) in [
        (Fault::MixedNan, "NaN"),
        (Fault::HessianNan, "not finite"),
        (Fault::HessianLarge, "declared curvature"),
        (Fault::HessianSmall, "declared curvature"),
        (Fault::Panic, "panicked"),
    ] {
        let mut problem = problem(2, 6, fault, SolverKind::Gradient).expect("valid");
        let learned = problem.learn().expect("differentiable");
        let Termination::OracleFailed { reason } = &learned.termination else {
            panic!("{fault:?}: {:?}", learned.termination);
        };
        assert!(reason.contains(words), "{fault:?}: {reason}");
        assert!(learned.num_points <= 1, "{fault:?}");
    }
    // a wrong sign is no contradiction, but no step certainly decreases the objective
    let mut problem = problem(2, 6, Fault::Mixed, SolverKind::Gradient).expect("valid");
    let learned = problem.learn().expect("differentiable");
    assert!(!learned.termination.is_success());
    let first = learned.evaluations[0].objective.as_ref().expect("computed");
    assert!(learned.interval.lower <= *first && learned.objective <= *first);
}

/// The work of an evaluation counts even if it fails.
#[test]
fn failed_evaluations_count_their_work() {
    for (fault, has_adjoint) in [(Fault::HessianNan, false), (Fault::Panic, true)] {
        let mut problem = problem(2, 6, fault, SolverKind::Gradient).expect("valid");
        let learned = problem.learn().expect("differentiable");
        let gradient = learned.gradient.expect("it uses gradients");
        assert!(learned.evaluations[0].objective.is_err(), "{fault:?}");
        assert!(gradient.reconstructions > 0, "{fault:?}");
        assert_eq!(gradient.adjoints > 0, has_adjoint, "{fault:?}");
        // each is rounded up
        let both = gradient.reconstructions + gradient.adjoints;
        assert!(learned.work.total().abs_diff(both) <= 1, "{fault:?}");
    }
}

/// Derivatives are needed for all images, not only for the first.
#[test]
fn one_image_without_derivatives_is_enough() {
    let pair = |len| Pair {
        grid: Grid::line(len),
        truth: vec![1.0; len],
        data: vec![3.0; len],
    };
    for (fault, kind) in [
        (Fault::None, SolverKind::Gradient),
        (Fault::Partial, SolverKind::DerivativeFree),
    ] {
        let model = Diagonal {
            num_params: 2,
            fault,
        };
        let pairs = vec![pair(4), pair(5), pair(6)];
        let problem = LearningProblem::new(model, pairs, Setup::default()).expect("valid");
        assert_eq!(problem.solver_kind().expect("auto"), kind);
    }
}

#[test]
fn runs_know_their_limits() {
    for solver in [SolverKind::Gradient, SolverKind::DerivativeFree] {
        let problem = problem(2, 6, Fault::None, solver).expect("valid");
        let mut limits = options(7);
        limits.budget.max_time = Some(std::time::Duration::from_secs(3));
        let mut engine = problem.start(limits.clone()).expect("valid");
        assert_eq!(engine.budget(), limits.budget);
        limits.budget.max_points = Some(9);
        engine.extend(limits.budget.clone());
        assert_eq!(engine.budget(), limits.budget);
    }
}

#[test]
fn problems_without_derivatives_are_learned_without_them() {
    let iterations = Setup {
        effort: bilevel::Effort::Iterations(50),
        ..Setup::default()
    };
    let limited = Setup {
        image_range: bilevel::ImageRange::NON_NEGATIVE,
        ..Setup::default()
    };
    for setup in [iterations, limited] {
        let refused = Setup {
            solver: SolverKind::Gradient,
            effort: setup.effort,
            image_range: setup.image_range,
            ..Setup::default()
        };
        let create = |setup| {
            let sum = bilevel::testing::one_parameter(0, 0.0, setup);
            sum.expect("a valid problem")
        };
        let kind = create(setup).solver_kind();
        assert_eq!(kind.expect("auto"), SolverKind::DerivativeFree);
        let error = create(refused).solver_kind().expect_err("no gradients");
        assert!(matches!(error, ProblemError::NoGradients { .. }), "{error}");
    }
}
