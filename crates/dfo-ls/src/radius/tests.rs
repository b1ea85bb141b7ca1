use super::*;
use proptest::prelude::*;

fn same(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-14 * b.abs()
}

/// Numbers that make every branch different.
fn rules() -> TrustRegion {
    TrustRegion {
        final_radius: 1e-3,
        max_radius: 50.0,
        gamma_dec: 0.6,
        gamma_inc: 2.0,
        gamma_inc_step: 5.0,
        alpha1: 0.2,
        alpha2: 0.4,
        ..TrustRegion::default()
    }
}

#[test]
fn every_branch_of_a_step() {
    let rules = rules();
    let after = |delta, rho, step, ratio| after_step(delta, rho, step, ratio, &rules);
    // very good: a multiple of the radius, or of the step, or the largest radius
    assert!(same(after(1.0, 0.01, 0.1, 0.8), 2.0));
    assert!(same(after(1.0, 0.01, 0.9, 0.8), 4.5));
    assert!(same(after(30.0, 0.01, 1.0, 0.8), 50.0));
    assert!(
        same(after(1.0, 0.01, 0.1, 0.7), 2.0),
        "the limit belongs to it"
    );
    // good, and its lower limit
    for ratio in [0.1, 0.4, 0.699] {
        assert!(same(after(1.0, 0.01, 0.9, ratio), 0.9));
        assert!(same(after(1.0, 0.01, 0.3, ratio), 0.6));
    }
    // bad
    for ratio in [0.099, 0.0, -5.0, f64::NEG_INFINITY, f64::NAN] {
        assert!(same(after(1.0, 0.01, 0.9, ratio), 0.6));
        assert!(same(after(1.0, 0.01, 0.3, ratio), 0.3));
    }
    // a step longer than the radius is rounding
    assert!(same(after(1.0, 0.01, 1.1, 0.8), 5.0));
    assert!(same(after(1.0, 0.01, 1.1, 0.4), 1.0));
    // close to the lower radius: equal to it
    assert!(same(after(1.0, 0.4, 0.9, 0.0), 0.4));
    assert!(same(after(1.0, 0.399, 0.9, 0.0), 0.6));
    assert!(same(after(1.0, 1.0, 0.1, 0.0), 1.0));
}

#[test]
fn every_branch_of_a_reduction() {
    let rules = rules();
    for (rho, expected) in [
        (1.0, 0.2),
        (0.251, 0.0502),
        (0.25, 250_f64.sqrt() * 1e-3),
        (0.017, 17_f64.sqrt() * 1e-3),
        (0.016, 1e-3),
        (0.001, 1e-3),
    ] {
        let (new, delta) = reduce(rho, &rules);
        assert!((new - expected).abs() < 1e-12, "{rho} {new} {expected}");
        assert!(same(delta, f64::max(0.4 * rho, new)));
    }
    // the radius is never below the lower radius
    let (new, delta) = reduce(0.002, &rules);
    assert!(same(new, 1e-3) && same(delta, 1e-3));
}

/// The class of a ratio: 0 for unsuccessful, 1 for good and 2 for very good steps.
fn class(ratio: f64, rules: &TrustRegion) -> u8 {
    u8::from(ratio >= rules.eta1) + u8::from(ratio >= rules.eta2)
}

proptest! {
    #[test]
    fn better_steps_give_larger_radii(
        delta in 0.1..10.0_f64, share in 0.0..1.0_f64, rho in 0.001..0.1_f64, a in -1.0..2.0_f64, b in -1.0..2.0_f64,
    ) {
        let rules = rules();
        let after = |ratio: f64| after_step(delta, rho, share * delta, ratio, &rules);
        prop_assert!(after(a.min(b)) <= after(a.max(b)));
        prop_assert!(after(a) >= rho && after(a) <= rules.max_radius);
        prop_assert!(after(f64::NAN) <= after(a));
    }

    #[test]
    fn reductions_reach_the_end(rho in 1.0..1e4_f64) {
        let rules = rules();
        let (mut rho, mut steps) = (rho, 0);
        while rho > rules.final_radius {
            let (new, delta) = reduce(rho, &rules);
            prop_assert!(new < rho && delta >= new && new >= rules.final_radius && delta <= rho);
            rho = new;
            steps += 1;
        }
        prop_assert!(steps < 20);
    }

    /// Decisions are right, or the ratio is as accurate as the theory needs.
    #[test]
    fn decisions_are_right(
        middle in -0.5..1.5_f64, log_half in -4.0..0.3_f64, share in -1.0..1.0_f64, eta1_prime in 1e-4..0.05_f64,
    ) {
        let rules = TrustRegion::default();
        let half = 10_f64.powf(log_half);
        let interval = RatioInterval { lower: middle - half, upper: middle + half };
        prop_assert!((interval.middle() - middle).abs() < 1e-12);
        let truth = (middle + share * half).clamp(interval.lower, interval.upper);
        if interval.decides(&rules, eta1_prime) {
            let close = (interval.middle() - truth).abs() <= 2.0 * eta1_prime * (1.0 + 1e-9);
            prop_assert!(close || class(truth, &rules) == class(interval.middle(), &rules));
        }
        // an undecided interval contains a limit and is too wide
        let one_class = class(interval.lower, &rules) == class(interval.upper, &rules);
        let width = interval.upper - interval.lower;
        prop_assume!((width - 4.0 * eta1_prime).abs() > 1e-12);
        prop_assert_eq!(interval.decides(&rules, eta1_prime), one_class || width <= 4.0 * eta1_prime);
    }
}

#[test]
fn unknown_ratios_decide_nothing() {
    let rules = TrustRegion::default();
    let decides = |lower, upper| RatioInterval { lower, upper }.decides(&rules, 0.049);
    assert!(!decides(f64::NAN, f64::NAN));
    assert!(!decides(f64::NEG_INFINITY, f64::INFINITY));
    assert!(!decides(0.0, f64::NAN) && !decides(f64::NAN, 0.5));
    assert!(decides(0.7, f64::INFINITY) && decides(f64::NEG_INFINITY, 0.0999));
    assert!(decides(0.1, 0.699) && !decides(0.1, 0.7) && !decides(0.0, 0.2));
}
