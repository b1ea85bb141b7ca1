use super::*;
use crate::constraints::Problem;
use crate::linalg::tests::Random;
use crate::linalg::{Matrix, dot, norm};
use crate::model::ObjectiveModel;
use crate::{Accuracy, Evaluated, Scaling};
use proptest::prelude::*;

/// `$r_i(\theta) = a_i^\top \theta + b_i \sin(w_i^\top \theta + \phi_i) - y_i$`: smooth, with known
/// derivatives.
pub(super) struct Waves {
    linear: Matrix,
    waves: Matrix,
    heights: Vec<f64>,
    shifts: Vec<f64>,
    data: Vec<f64>,
}

impl Waves {
    pub(super) fn new(random: &mut Random, d: usize, m: usize, height: f64) -> Self {
        Self {
            linear: random.matrix(d, m),
            waves: random.matrix(d, m),
            heights: random.vector(m).iter().map(|h| height * h).collect(),
            shifts: random.vector(m).iter().map(|s| 3.0 * s).collect(),
            data: random.vector(m),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.data.len()
    }

    fn phase(&self, i: usize, theta: &[f64]) -> f64 {
        dot(self.waves.col(i), theta) + self.shifts[i]
    }

    pub(super) fn residuals(&self, theta: &[f64]) -> Vec<f64> {
        let one = |i: usize| {
            dot(self.linear.col(i), theta) + self.heights[i] * self.phase(i, theta).sin()
                - self.data[i]
        };
        (0..self.len()).map(one).collect()
    }

    pub(super) fn jacobian(&self, theta: &[f64]) -> Matrix {
        Matrix::from_fn(self.len(), theta.len(), |i, j| {
            self.linear[(j, i)] + self.heights[i] * self.phase(i, theta).cos() * self.waves[(j, i)]
        })
    }

    /// A Lipschitz constant of the Jacobian in the Frobenius norm: row `$i$` changes by at most
    /// `$|b_i| \|w_i\|^2$` per length.
    pub(super) fn lipschitz(&self) -> f64 {
        let row = |i: usize| self.heights[i] * dot(self.waves.col(i), self.waves.col(i));
        norm(&(0..self.len()).map(row).collect::<Vec<_>>())
    }
}

/// Answers all jobs with exact residuals.
pub(super) fn answer(engine: &mut Engine<()>, waves: &Waves) {
    for job in engine.ask() {
        let residuals = waves.residuals(job.theta());
        let exact = Evaluated {
            achieved: Accuracy::EXACT,
            work: 1,
            resume: (),
        };
        job.answer(&residuals, exact);
    }
}

/// The largest `$|\ell_t(x_s) - \delta_{ts}|$`.
pub(super) fn deviation(state: &State<()>) -> Option<f64> {
    let points = &state.points;
    let linear = points.linear()?;
    if linear.fit != crate::model::linear::Fit::Interpolation {
        return None;
    }
    let mut most = 0.0_f64;
    for (s, point) in points.iter().enumerate() {
        let step = points.step_to(&point.u);
        for (t, value) in linear.values(&step, points.center()).iter().enumerate() {
            most = most.max((value - f64::from(u8::from(t == s))).abs());
        }
    }
    Some(most)
}

/// The decrease of a quadratic model at its first minimiser along the projected gradient.
fn cauchy(engine: &mut Engine<()>) -> f64 {
    let delta = engine.state.trust.delta();
    let ObjectiveModel::GaussNewton(taylor) = engine.state.points.model(delta, None) else {
        return 0.0;
    };
    let run = engine.run();
    let region = run.region(delta, delta);
    let mut least = 0.0_f64;
    for k in 0..400 {
        let t = 10_f64.powf(0.02 * f64::from(k) - 6.0) / norm(&taylor.gradient);
        let v: Vec<f64> = (taylor.gradient.iter().enumerate())
            .map(|(j, g)| (-t * g).clamp(region.lower()[j], region.upper()[j]))
            .collect();
        let value = taylor.quadratic().value(&v);
        if norm(&v) > 1.0 || value > least {
            break;
        }
        least = value;
    }
    -least
}

/// Checks the invariants after every answer of an exact run.
fn check(engine: &mut Engine<()>, before: f64) -> Result<(), TestCaseError> {
    let state = &engine.state;
    if state.points.is_empty() {
        return Ok(());
    }
    let incumbent = state.points.incumbent();
    prop_assert!(
        incumbent.objective <= before,
        "{} {before}",
        incumbent.objective
    );
    prop_assert!(
        (incumbent.objective - dot(&incumbent.residuals, &incumbent.residuals)).abs() < 1e-300
    );
    let best = engine.best().map_or(f64::INFINITY, |best| best.objective);
    // two upper ends may be rounded to the same number
    prop_assert!(
        best <= incumbent.objective * (1.0 + 1e-14),
        "{best} {}",
        incumbent.objective
    );
    let (delta, rho) = engine.radii();
    prop_assert!(delta >= rho && rho >= state.options.trust_region.final_radius);
    for (t, a) in state.points.iter().enumerate() {
        for b in state.points.iter().take(t) {
            prop_assert!(a.number != b.number);
            let apart: Vec<f64> = a.u.iter().zip(&b.u).map(|(a, b)| a - b).collect();
            prop_assert!(norm(&apart) > 0.0);
        }
    }
    if let Some(deviation) = deviation(state) {
        prop_assert!(deviation <= 1e-6, "{deviation}");
    }
    if let Phase::Trial(trial) = state.outstanding.phase() {
        let (predicted, growing) = (trial.predicted, state.points.is_growing());
        prop_assert!(predicted > 0.0);
        // less is rounding
        let matters = predicted > f64::EPSILON * incumbent.objective;
        if matters && engine.state.options.model == crate::Model::Linear && !growing {
            let cauchy = cauchy(engine);
            prop_assert!(predicted >= cauchy * (1.0 - 1e-6), "{predicted} {cauchy}");
        }
    }
    Ok(())
}

fn run(problem: Problem, waves: &Waves, options: Options) -> Result<Engine<()>, TestCaseError> {
    let mut engine = Engine::new(problem, waves.len(), options).expect("a valid problem");
    let mut before = f64::INFINITY;
    while !engine.ask().is_empty() {
        answer(&mut engine, waves);
        engine.tell();
        check(&mut engine, before)?;
        if !engine.state.points.is_empty() {
            before = engine.state.points.incumbent().objective;
        }
    }
    Ok(engine)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn exact_runs_keep_their_promises(
        seed in any::<u64>(), d in 1_usize..7, more in 0_usize..6, height in 0.0..1.5_f64, linear in any::<bool>(), bounded in any::<bool>(), batch in prop::sample::select(vec![1_usize, 4, 16]),
    ) {
        let mut random = Random::new(seed);
        let waves = Waves::new(&mut random, d, d + more, height);
        let mut options = Options { batch, ..Options::default() };
        if linear {
            options.model = crate::Model::Linear;
        }
        let mut problem = Problem::new(random.vector(d));
        if bounded {
            let lower: Vec<f64> = random.vector(d).iter().map(|x| x - 1.1).collect();
            let upper: Vec<f64> = random.vector(d).iter().map(|x| x + 1.1).collect();
            problem = problem.with_bounds(lower, upper).expect("valid bounds");
        }
        let engine = run(problem, &waves, options)?;
        prop_assert!(engine.termination().is_some());
        // a stationary point: the projected gradient vanishes
        let state = &engine.state;
        if engine.termination() == Some(&Termination::RadiusReached) {
            let theta = &state.points.incumbent().theta;
            let residuals = waves.residuals(theta);
            let mut gradient = vec![0.0; d];
            waves.jacobian(theta).mul_vec_transposed(&residuals, &mut gradient);
            let (mut lower, mut upper) = (Vec::new(), Vec::new());
            state.space.step_bounds(&state.points.incumbent().u, &mut lower, &mut upper);
            for j in 0..d {
                let blocked = (gradient[j] > 0.0 && lower[j] > -1e-6) || (gradient[j] < 0.0 && upper[j] < 1e-6);
                prop_assert!(blocked || gradient[j].abs() < 1e-4, "{gradient:?} {lower:?} {upper:?}");
            }
        }
    }
}

/// Polynomials stay accurate over hundreds of rank-one updates, in a slow run along a curved
/// valley.
#[test]
fn the_basis_stays_accurate_in_long_runs() {
    for (seed, d) in [(1, 10), (2, 25), (3, 4)] {
        let mut random = Random::new(seed);
        let waves = Waves::new(&mut random, d, 2 * d, 3.0);
        let mut options = Options {
            model: crate::Model::Linear,
            ..Options::default()
        };
        options.trust_region.final_radius = 1e-14;
        options.trust_region.initial_radius = 0.01;
        options.trust_region.max_radius = 0.02;
        options.scaling = Scaling::Given(vec![1.0; d]);
        options.budget.max_points = Some(1500);
        let start: Vec<f64> = random.vector(d).iter().map(|x| 3.0 * x).collect();
        let engine = run(Problem::new(start), &waves, options).expect("all promises kept");
        assert!(engine.num_points() >= 100, "{} {}", d, engine.num_points());
    }
}

/// `$g = 2\Delta J^\top r$` and `$H = 2\Delta^2 J^\top J$`, with the Jacobian of linear residuals,
/// which the model has exactly.
#[test]
fn gauss_newton_models_have_gradient_and_hessian_of_the_squares() {
    let mut random = Random::new(8);
    let waves = Waves::new(&mut random, 4, 6, 0.0);
    let mut options = Options {
        model: crate::Model::Linear,
        ..Options::default()
    };
    options.scaling = Scaling::Given(vec![1.0; 4]);
    let problem = Problem::new(random.vector(4));
    let mut engine = Engine::new(problem, 6, options).expect("a valid problem");
    while engine.state.points.len() <= 4 {
        answer(&mut engine, &waves);
        engine.tell();
    }
    let theta = engine.state.points.incumbent().theta.clone();
    let jacobian = waves.jacobian(&theta);
    let mut slope = vec![0.0; 4];
    jacobian.mul_vec_transposed(&waves.residuals(&theta), &mut slope);
    for unit in [1.0, 0.3] {
        let ObjectiveModel::GaussNewton(taylor) = engine.state.points.model(unit, None) else {
            panic!("a linear model was asked for");
        };
        for (j, slope) in slope.iter().enumerate() {
            assert!((taylor.gradient[j] - 2.0 * unit * slope).abs() < 1e-10);
            for i in 0..4 {
                let entry = 2.0 * unit * unit * dot(jacobian.col(i), jacobian.col(j));
                assert!((taylor.hessian[(i, j)] - entry).abs() < 1e-10);
            }
        }
    }
}
