//! Residual vectors that stay with the oracle, which answers with inner products.

use std::ops::ControlFlow;

use dfo_ls::{
    Accuracy, BlockVector, BlockVectors, Engine, EvalError, Evaluated, InexactFn, Job, Known,
    Measurement, Options, Problem, Products, Report, Request, ResidualOracle, Samples, SetupError,
    Termination, drive_with, minimize,
};

const TIMES: usize = 60;
const BLOCKS: [usize; 4] = [7, 0, 40, 13];

/// Residuals of a fit of two exponentials with an offset, with an error as large as `size`. A
/// corner of the parameters cannot be evaluated.
fn residuals(theta: &[f64], size: f64) -> Result<Vec<f64>, EvalError> {
    if theta[0] > 2.9 && theta[1] < 0.5 {
        return Err(EvalError::reject("the corner"));
    }
    let angle = 1e3 * theta.iter().sum::<f64>();
    let error = size / (TIMES as f64).sqrt();
    let at = |i: usize| {
        let t = 0.1 * i as f64;
        let model = theta[0] * (-theta[1] * t).exp() + theta[2];
        let data = 2.0 * (-1.3 * t).exp() + 0.5 + 0.05 * (7.0 * t).sin();
        model - data + error * (angle + t).sin()
    };
    Ok((0..TIMES).map(at).collect())
}

fn evaluated(size: f64) -> Evaluated<()> {
    Evaluated {
        achieved: Accuracy::new(size).expect("not negative"),
        work: 1,
        resume: (),
    }
}

fn size(target: Accuracy, floor: f64) -> f64 {
    target.value().clamp(floor, 0.3)
}

/// An oracle that keeps its residual vectors, block by block.
#[derive(Clone)]
struct Keeper {
    stores: Vec<BlockVectors>,
    floor: f64,
    compact: bool,
    measurements: usize,
    /// The largest number of vectors stored at a time, and of products of one answer.
    most: (usize, usize),
}

impl Keeper {
    fn new(floor: f64) -> Self {
        Self {
            stores: vec![BlockVectors::default(); BLOCKS.len()],
            floor,
            compact: false,
            measurements: 0,
            most: (0, 0),
        }
    }

    /// Sums over all blocks in their order.
    fn sums(&self, width: usize, part: impl Fn(&BlockVectors, &mut [f64])) -> Vec<f64> {
        let mut sums = vec![0.0; width];
        for store in &self.stores {
            let mut own = vec![f64::NAN; width];
            part(store, &mut own);
            sums.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
        }
        sums
    }

    fn answer(&mut self, job: &mut Job<()>) -> Result<(), EvalError> {
        let against = job.against().expect("vectors to measure against").clone();
        let named: Vec<u64> = against.named().collect();
        for store in &mut self.stores {
            store.retain(|number| named.contains(&number));
        }
        let error = size(job.target(), self.floor);
        let all = residuals(job.theta(), error)?;
        let mut rest = &all[..];
        for (store, length) in self.stores.iter_mut().zip(BLOCKS) {
            let (own, others) = rest.split_at(length);
            rest = others;
            if self.compact {
                #[expect(clippy::cast_possible_truncation, reason = "rounding is meant")]
                let own = own.iter().map(|x| *x as f32).collect();
                store.insert(against.vector, BlockVector::Compact(own));
            } else {
                store.insert(against.vector, BlockVector::Full(own.to_vec()));
            }
        }
        let stored: Vec<u64> = self.stores[0].numbers().collect();
        let resolved = against.resolve(|number| stored.contains(&number));
        let (reference, others) = resolved.expect("all vectors in use");
        self.most = (self.most.0.max(stored.len()), self.most.1.max(others.len()));
        let sums = self.sums(Products::width(others.len()), |store, sums| {
            store.measure(against.vector, reference, &others, sums);
        });
        let products = Products::from_sums(&sums, reference, &others);
        // single precision is accurate to 2^-24, relative to entries of at most 10
        let rounding = if self.compact { 1e-5 } else { 0.0 };
        job.answer_products(products, evaluated(error + rounding));
        Ok(())
    }
}

impl ResidualOracle for Keeper {
    type Resume = ();

    fn num_residuals(&self) -> usize {
        TIMES
    }

    fn evaluate(&mut self, jobs: &mut [Job<()>]) {
        for job in jobs {
            if let Err(error) = self.answer(job) {
                job.fail(error);
            }
        }
    }

    fn measure(&mut self, request: &mut Measurement) {
        self.measurements += 1;
        let sums = self.sums(request.width(), |store, sums| {
            store.measure_all(request, sums)
        });
        request.answer(sums);
    }
}

fn problem(start: [f64; 3]) -> Problem {
    Problem::new(start)
        .with_bounds([-3.0, 0.01, -3.0], [3.0, 5.0, 3.0])
        .expect("bounds")
        .with_blocks(BLOCKS)
}

fn with_products(keeper: &mut Keeper, start: [f64; 3], options: Options) -> Report {
    minimize(keeper, problem(start).with_products(), options).expect("a valid problem")
}

fn with_vectors(floor: f64, start: [f64; 3], options: Options) -> Report {
    let mut oracle = InexactFn::new(TIMES, |request: Request<'_, ()>, r: &mut [f64]| {
        let error = size(request.target, floor);
        r.copy_from_slice(&residuals(request.theta, error)?);
        Ok(evaluated(error))
    });
    minimize(&mut oracle, problem(start), options).expect("a valid problem")
}

/// Products lead to the same minimum as vectors, after about as many evaluations. The starts are
/// an ordinary one, one that fails, and one far away.
#[test]
fn products_are_as_good_as_vectors() {
    for (start, floor) in [
        ([1.0, 1.0, 0.0], 0.0),
        ([2.95, 0.1, 0.0], 1e-9),
        ([-3.0, 5.0, 3.0], 1e-9),
        ([1.0, 1.0, 0.0], 1e-6),
    ] {
        let mut keeper = Keeper::new(floor);
        let told = with_products(&mut keeper, start, Options::default());
        let held = with_vectors(floor, start, Options::default());
        let relative = told.objective / held.objective - 1.0;
        assert!(relative.abs() < 1e-5, "{start:?} {floor}: {relative}");
        assert!(told.num_points <= 2 * held.num_points, "{start:?} {floor}");
        assert!(told.residuals.is_empty());

        let (a, b) = (
            told.jacobian.expect("a model"),
            held.jacobian.expect("a model"),
        );
        let (a, b) = (a.directions(&[1.0; 3]), b.directions(&[1.0; 3]));
        for (a, b) in a.iter().zip(&b) {
            assert!((a.strength / b.strength - 1.0).abs() < 0.05, "{a:?} {b:?}");
        }
    }
}

/// A pool has `$4d + 3$` points. While the `$d + 1$` points of a set are sharpened, both of their
/// vectors are stored, besides the reference.
#[test]
fn few_vectors_are_stored_and_measured() {
    let mut keeper = Keeper::new(1e-9);
    let report = with_products(&mut keeper, [-3.0, 5.0, 3.0], Options::default());
    assert!(report.num_points > 20, "the pool was full");
    let capacity = 4 * 3 + 3;
    assert!(keeper.most.0 <= capacity + 4 + 1, "{:?}", keeper.most);
    assert!(keeper.most.1 < capacity, "{:?}", keeper.most);
}

/// Vectors in single precision, with their rounding as part of the error, lead to the same minimum.
#[test]
fn single_precision_is_an_error_like_others() {
    let mut keeper = Keeper::new(0.0);
    keeper.compact = true;
    let told = with_products(&mut keeper, [1.0, 1.0, 0.0], Options::default());
    let held = with_vectors(0.0, [1.0, 1.0, 0.0], Options::default());
    assert!((told.objective / held.objective - 1.0).abs() < 1e-4);
    assert!(told.interval.lower <= held.objective && held.objective <= told.interval.upper);
}

/// A start with huge residuals makes products of the original reference useless, so that the engine
/// asks for products with another one.
#[test]
fn far_references_are_replaced() {
    let mut keeper = Keeper::new(0.0);
    let mut options = Options::default();
    options.trust_region.final_radius = 1e-9;
    let report = with_products(&mut keeper, [-3.0, 5.0, 3.0], options);
    assert!(keeper.measurements > 0);
    assert!(report.termination.is_success(), "{:?}", report.termination);
}

/// Saved and loaded after every tell, with its vectors kept by number, a run ends with the same
/// bits. Requests for products are part of the state.
#[cfg(feature = "serde")]
#[test]
fn saved_and_loaded_to_the_same_bits() {
    let mut options = Options::default();
    options.trust_region.final_radius = 1e-9;
    options.batch = 2;
    let start = [-3.0, 5.0, 3.0];
    let whole = with_products(&mut Keeper::new(1e-9), start, options.clone());

    let mut keeper = Keeper::new(1e-9);
    let mut engine =
        Engine::new(problem(start).with_products(), TIMES, options).expect("a valid problem");
    let mut pending = 0;
    loop {
        let step = drive_with(&mut engine, &mut keeper, 1, |_, _| ControlFlow::Break(()));
        pending += usize::from(engine.measurement().is_some());
        let needed = engine.state().vectors_elsewhere();
        assert!(engine.state().vectors().is_empty());
        for store in &mut keeper.stores {
            let all: Vec<u64> = store.numbers().collect();
            let existing = needed.iter().filter(|number| all.contains(number)).count();
            store.retain(|number| needed.contains(&number));
            assert_eq!(store.numbers().count(), existing);
        }
        let text = serde_json::to_string(&engine.state().lean()).expect("plain data");
        let (iterations, evaluations) = (
            engine.state().iterations().to_vec(),
            engine.state().evaluations().to_vec(),
        );
        let mut state: dfo_ls::State<()> = serde_json::from_str(&text).expect("a state");
        state
            .complete(|_| None, iterations, evaluations)
            .expect("a complete state");
        engine = Engine::from_state(problem(start).with_products(), state).expect("the same");
        if step == ControlFlow::Continue(()) {
            break;
        }
    }
    assert!(pending > 0, "a request for products was saved");
    let parts = engine.into_report();
    assert_eq!(parts.objective.to_bits(), whole.objective.to_bits());
    assert_eq!(parts.evaluations, whole.evaluations);
    assert_eq!(parts.jacobian, whole.jacobian);
}

#[test]
fn what_needs_entries_is_refused() {
    let known = Known {
        theta: vec![1.0; 3],
        residuals: vec![0.0; TIMES],
        accuracy: Accuracy::EXACT,
    };
    let with_known = problem([1.0; 3]).with_products().with_known([known]);
    let refused = Engine::<()>::new(with_known, TIMES, Options::default());
    assert!(matches!(
        refused,
        Err(SetupError::Conflict { first: "known", .. })
    ));

    let mut options = Options::default();
    options.noise.samples = Samples::Fixed(2);
    let refused = Engine::<()>::new(problem([1.0; 3]).with_products(), TIMES, options);
    let is_samples = |first| first == "noise.samples";
    assert!(matches!(refused, Err(SetupError::Conflict { first, .. }) if is_samples(first)));
}

/// Answers of the wrong kind, and products that are not finite, count as failed evaluations.
#[test]
fn wrong_answers_are_failures() {
    let wrong = |products: bool, square: f64| {
        let problem = problem([1.0; 3]);
        let problem = if products {
            problem.with_products()
        } else {
            problem
        };
        let mut engine = Engine::new(problem, TIMES, Options::default()).expect("a valid problem");
        for job in engine.ask() {
            if products && square == 0.0 {
                job.answer(&[0.0; TIMES], evaluated(0.0));
            } else {
                let products = Products {
                    square,
                    reference: 0,
                    cross: 0.0,
                    own: 0.0,
                    with: Vec::new(),
                };
                job.answer_products(products, evaluated(0.0));
            }
        }
        engine.tell();
        engine.state().evaluations()[0]
            .objective
            .clone()
            .expect_err("a failure")
    };
    assert!(wrong(true, 0.0).contains("asks for products"));
    assert!(wrong(false, 1.0).contains("asks for residuals"));
    assert!(wrong(true, f64::NAN).contains("not finite"));
    assert!(wrong(true, f64::INFINITY).contains("not finite"));
}

/// Jobs may be answered in any order, and in parts, without changing a bit. A product that is
/// missing is a failure.
#[test]
fn any_order_of_answers() {
    let start = [1.0, 1.0, 0.0];
    let run = |reverse: bool| {
        let mut keeper = Keeper::new(1e-9);
        let mut options = Options::default();
        options.batch = 3;
        let problem = problem(start).with_products();
        let mut engine = Engine::new(problem, TIMES, options).expect("a valid problem");
        while engine.termination().is_none() {
            if let Some(request) = engine.measurement() {
                keeper.measure(request);
            } else {
                let jobs = engine.ask();
                let last = if reverse { jobs.len() - 1 } else { 0 };
                keeper.evaluate(&mut jobs[last..=last]);
            }
            engine.tell();
        }
        engine.into_report()
    };
    let (forward, backward) = (run(false), run(true));
    assert_eq!(forward.objective.to_bits(), backward.objective.to_bits());
    assert_eq!(forward.num_points, backward.num_points);

    let problem = problem(start).with_products();
    let mut engine = Engine::new(problem, TIMES, Options::default()).expect("a valid problem");
    let mut keeper = Keeper::new(0.0);
    keeper.evaluate(engine.ask());
    engine.tell();
    let jobs = engine.ask();
    keeper.evaluate(jobs);
    let vector = jobs[0].against().expect("products").known[0].vector;
    let products = Products {
        square: 1.0,
        reference: vector,
        cross: 0.0,
        own: 0.0,
        with: Vec::new(),
    };
    jobs[0].answer_products(products, evaluated(0.0));
    engine.tell();
    let failure = engine.state().evaluations()[1].objective.clone();
    assert_eq!(
        failure,
        Err(format!("the product with vector {vector} is missing"))
    );
}

/// An oracle that cannot answer a request for products ends the run, with the best point so far.
#[test]
fn oracles_without_vectors_end_the_run() {
    struct Forgetful(Keeper);
    impl ResidualOracle for Forgetful {
        type Resume = ();
        fn num_residuals(&self) -> usize {
            TIMES
        }
        fn evaluate(&mut self, jobs: &mut [Job<()>]) {
            self.0.evaluate(jobs);
        }
    }
    let mut options = Options::default();
    options.trust_region.final_radius = 1e-9;
    let mut oracle = Forgetful(Keeper::new(0.0));
    let problem = problem([-3.0, 5.0, 3.0]).with_products();
    let report = minimize(&mut oracle, problem, options).expect("a valid problem");
    let reason = match report.termination {
        Termination::OracleFailed { reason } => reason,
        other => format!("{other:?}"),
    };
    assert!(reason.contains("keeps no residual vectors"), "{reason}");
    assert!(report.objective.is_finite());
}
