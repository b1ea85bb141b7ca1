use super::*;

fn oracle(number: usize) -> PricedOracle {
    PricedOracle::new(MoreWild::new(number).unwrap(), 0)
}

/// Returns the answer of the oracle, and the norm of its error.
fn ask(oracle: &mut PricedOracle, accuracy: f64, paid: Option<f64>) -> (Evaluated<f64>, f64) {
    let theta = oracle.problem.start();
    let mut residuals = vec![0.0; oracle.num_residuals()];
    let asked = Accuracy::new(accuracy).unwrap();
    let done = oracle.compute(&theta, asked, paid, &mut residuals).unwrap();
    let exact = oracle.exact.iter();
    let differences: Vec<f64> = residuals.iter().zip(exact).map(|(r, e)| r - e).collect();
    (done, sum_of_squares(&differences).sqrt())
}

#[test]
fn the_error_is_real_and_within_the_claim() {
    for problem in MoreWild::all() {
        let mut oracle = oracle(problem.number());
        for accuracy in [f64::INFINITY, 1.0, 1e-3, 1e-9, 1e-14, 0.0] {
            let (done, error) = ask(&mut oracle, accuracy, None);
            let achieved = done.achieved.value();
            assert!(error <= achieved, "problem {}", problem.number());
            if accuracy >= 1e-9 * oracle.scale {
                assert!(achieved <= accuracy && error >= 0.49 * achieved);
            }
        }
    }
}

#[test]
fn exact_is_the_best_there_is_and_has_its_price() {
    let mut oracle = oracle(0);
    let (done, _) = ask(&mut oracle, 0.0, None);
    assert!((done.resume / (BEST * oracle.scale) - 1.0).abs() < 1e-12);
    assert_eq!(done.work, 3684, "100 ln 1e16");
    assert_eq!(ask(&mut oracle, f64::INFINITY, None).0.work, 1);
}

#[test]
fn going_on_costs_the_difference() {
    let mut oracle = oracle(6);
    let direct = ask(&mut oracle, 1e-9, None).0;
    let mut work = 0;
    let mut paid = None;
    for accuracy in [1e-1, 3e-4, 3e-4, 1e-2, 1e-9] {
        let (done, _) = ask(&mut oracle, accuracy, paid);
        work += done.work;
        paid = Some(done.resume);
    }
    assert_eq!(work, direct.work);
    let (again, _) = ask(&mut oracle, 1e-2, paid);
    assert_eq!(again.work, 0);
    assert!(
        again.achieved.value() <= 1.01e-9,
        "accuracy that was paid for is not lost"
    );
}

#[test]
fn errors_depend_on_point_accuracy_and_seed_only() {
    let (first, second) = (oracle(6), oracle(6));
    let errors = |oracle: &PricedOracle, theta: &[f64], radius| oracle.errors(theta, radius);
    assert_eq!(
        errors(&first, &[1.0, 2.0], 0.1),
        errors(&second, &[1.0, 2.0], 0.1)
    );
    assert_ne!(
        errors(&first, &[1.0, 2.0], 0.1),
        errors(&first, &[2.0, 1.0], 0.1)
    );
    assert_ne!(
        errors(&first, &[1.0, 2.0], 0.1),
        errors(&first, &[1.0, 2.0], 0.05)
    );
    let other = PricedOracle::new(first.problem, 1);
    assert_ne!(
        errors(&first, &[1.0, 2.0], 0.1),
        errors(&other, &[1.0, 2.0], 0.1)
    );
}

#[test]
fn comparisons_count_unsolved_problems_as_infinitely_expensive() {
    let entry = |dynamic, fixed: &[(i32, Option<u64>)]| ProblemComparison {
        problem: MoreWild::new(0).unwrap(),
        dynamic,
        fixed: fixed.to_vec(),
    };
    let both = entry(Some(30), &[(2, None), (4, Some(20)), (10, Some(60))]);
    assert_eq!(both.best_fixed(), Some((4, 20)));
    assert_eq!(both.against_best(), Some(1.5));
    assert_eq!(both.careful_against(), Some(2.0));
    let lost = entry(None, &[(10, Some(60))]);
    assert_eq!(lost.against_best(), Some(f64::INFINITY));
    assert_eq!(lost.careful_against(), Some(0.0));
    let won = entry(Some(5), &[(10, None)]);
    assert_eq!(won.against_best(), Some(0.0));
    assert_eq!(won.careful_against(), Some(f64::INFINITY));
    assert_eq!(entry(None, &[(10, None)]).against_best(), None);
}
