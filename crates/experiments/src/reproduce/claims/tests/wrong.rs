//! Wrong numbers, one for each claim.

use super::synthetic::{bounds, results};
use super::{Convergence, Effort, Mode, Record, Results, change, check, exact, holds, set, work};

#[test]
fn wrong_numbers_fail() {
    use Mode::{Faithful, Ours};
    type Change = Box<dyn Fn(&mut Results)>;
    fn to(
        setting: &'static str,
        variant: &'static str,
        mode: Mode,
        by: impl Fn(&mut Record) + 'static,
    ) -> Change {
        Box::new(move |results| change(results, setting, variant, mode, &by))
    }
    let (start, three, photographs) = ("denoise1_start0", "denoise3_beta1e-6", "kodak_sigma1e-1");
    let lost = |record: &mut Record| record.outcome.f_exact += 10.0 * record.outcome.f_error + 1e-6;
    let cases: Vec<(&str, Change)> = vec![
        ("truth/ours", to(start, "gd_dynamic", Ours, lost)),
        ("truth/dynamic", to("mri", "gd_dynamic", Faithful, lost)),
        ("truth/fixed", to("mri", "gd_low", Faithful, lost)),
        (
            "1-parameter/same alpha",
            to("denoise1_start2", "gd_high", Faithful, set("alpha", 0.55)),
        ),
        (
            "1-parameter/alpha",
            to("denoise1_start2", "gd_high", Faithful, set("alpha", 0.47)),
        ),
        (
            "1-parameter/low accuracy alpha",
            to("denoise1_start1", "fista_low", Faithful, set("alpha", 0.69)),
        ),
        (
            "1-parameter/low accuracy does not converge",
            to(start, "gd_low", Faithful, exact(1.38)),
        ),
        (
            "1-parameter/optimum",
            to("denoise1_start-1", "fista_high", Faithful, exact(1.375)),
        ),
        (
            "1-parameter/optimum, ours",
            to("denoise1_start2", "fista_dynamic", Ours, exact(1.375)),
        ),
        (
            "1-parameter/FISTA is faster",
            to(start, "fista_dynamic", Faithful, work(3)),
        ),
        (
            "1-parameter/GD is slower",
            to(start, "gd_high", Faithful, work(5)),
        ),
        (
            "1-parameter/first evaluations",
            to(start, "gd_dynamic", Faithful, |record| {
                record.evaluations[1].lower_iterations = 1
            }),
        ),
        (
            "1-parameter/ill-conditioned starts",
            to("denoise1_start-2", "fista_dynamic", Faithful, work(2)),
        ),
        (
            "1-parameter/good starts",
            to("denoise1_start-1", "gd_dynamic", Faithful, work(4)),
        ),
        (
            "archive/denoise1_start0/evaluations",
            to(start, "gd_dynamic", Faithful, |record| {
                record.evaluations[19].lower_iterations += 1000
            }),
        ),
        (
            "archive/denoise1_start-2/evaluations",
            to("denoise1_start-2", "gd_high", Faithful, |record| {
                record.evaluations[3].f *= 1.000_01
            }),
        ),
        (
            "archive/denoise3_beta1e-6/evaluations",
            to(three, "fista_low", Faithful, |record| {
                record.evaluations.truncate(6)
            }),
        ),
        (
            "archive/denoise3_beta1e-6/first evaluations",
            to(three, "fista_low", Faithful, |record| {
                record.evaluations[3].f *= 1.001
            }),
        ),
        (
            "archive/mri/evaluations",
            to("mri", "fista_dynamic", Faithful, |record| {
                record.evaluations[65].lower_iterations += 1
            }),
        ),
        (
            "archive/denoise3_beta1e-6/total",
            to(three, "gd_dynamic", Faithful, work(3)),
        ),
        (
            "archive/kodak_sigma1e-1/total",
            to(photographs, "fista_dynamic", Faithful, work(3)),
        ),
        (
            "archive/mri/total",
            to("mri", "gd_dynamic", Faithful, |record| {
                record.evaluations.truncate(100)
            }),
        ),
        (
            "3-parameter/region",
            to(three, "gd_low", Faithful, exact(3.03)),
        ),
        (
            "3-parameter/region",
            to(three, "gd_low", Faithful, set("nu", 0.004)),
        ),
        (
            "3-parameter/region",
            to(three, "gd_low", Faithful, set("alpha", 0.44)),
        ),
        (
            "3-parameter/region, beta = 1e-4",
            to("denoise3_beta1e-4", "gd_low", Faithful, exact(4.9)),
        ),
        (
            "3-parameter/optimum, ours",
            to(three, "gd_dynamic", Ours, exact(2.831)),
        ),
        (
            "3-parameter/faster than high accuracy",
            to(three, "gd_dynamic", Faithful, work(2)),
        ),
        (
            "3-parameter/same reconstructions",
            to(three, "gd_low", Faithful, |record| {
                record.outcome.psnr -= 0.6
            }),
        ),
        (
            "3-parameter/large beta",
            to("denoise3_beta1e-4", "fista_dynamic", Faithful, |record| {
                record.outcome.psnr += 1.5
            }),
        ),
        (
            "3-parameter/small beta",
            to("denoise3_beta1e-8", "fista_dynamic", Faithful, |record| {
                record.outcome.psnr += 1.0
            }),
        ),
        (
            "3-parameter/small beta, parameters",
            to("denoise3_beta1e-8", "gd_high", Faithful, set("nu", 0.004)),
        ),
        (
            "3-parameter/progress",
            to(three, "fista_dynamic", Faithful, exact(50.0)),
        ),
        (
            "photographs/first evaluation",
            to(photographs, "fista_dynamic", Faithful, |record| {
                record.evaluations[0].lower_iterations += 1
            }),
        ),
        (
            "photographs/same objective",
            to(photographs, "gd_high", Faithful, exact(3240.0)),
        ),
        (
            "photographs/same alpha",
            to(photographs, "gd_high", Faithful, set("alpha", 0.075)),
        ),
        (
            "photographs/archived objective",
            to(photographs, "gd_high", Faithful, exact(3240.0)),
        ),
        (
            "photographs/nu and xi differ",
            to(photographs, "", Faithful, set("xi", 1e-3)),
        ),
        (
            "photographs/faster",
            to(photographs, "gd_dynamic", Faithful, work(5)),
        ),
        (
            "photographs/optimum, ours",
            to(photographs, "fista_dynamic", Ours, exact(3193.0)),
        ),
        (
            "photographs/noise",
            to(
                "kodak_sigma1e-5",
                "fista_dynamic",
                Faithful,
                set("alpha", 1e-8),
            ),
        ),
        (
            "photographs/noise",
            to(
                "kodak_sigma1e-5",
                "fista_dynamic",
                Faithful,
                set("alpha", 2e-6),
            ),
        ),
        (
            "photographs/noise, ours",
            to(
                "kodak_sigma1e-5",
                "fista_dynamic",
                Ours,
                set("alpha", 1e-12),
            ),
        ),
        (
            "sampling/best objective",
            to("mri", "fista_low", Faithful, exact(0.479)),
        ),
        (
            "sampling/active modes",
            to("mri", "fista_low", Faithful, |record| {
                record.outcome.theta[8] = 0.002
            }),
        ),
        (
            "sampling/active modes",
            to("mri", "gd_high", Faithful, |record| {
                record.outcome.theta[16] = 0.001
            }),
        ),
        (
            "sampling/low-accuracy GD fails",
            to("mri", "gd_low", Faithful, exact(0.48)),
        ),
        (
            "sampling/GD is 100 times faster",
            to("mri", "gd_dynamic", Faithful, work(2)),
        ),
        (
            "sampling/FISTA 200",
            to("mri", "fista_low", Faithful, work(2)),
        ),
        (
            "sampling/optimum, ours",
            to("mri", "gd_dynamic", Ours, exact(0.479)),
        ),
        (
            "sampling/active modes, ours",
            to("mri", "gd_dynamic", Ours, |record| {
                record.outcome.theta[0] = 0.001
            }),
        ),
        (
            "headline/100 times",
            Box::new(|results| {
                for record in results.records.values_mut() {
                    if record.id.mode == Faithful && record.id.variant.effort == Effort::Dynamic {
                        work(5)(record);
                    }
                }
            }),
        ),
        (
            "headline/100 times, ours",
            Box::new(|results| {
                for record in results.records.values_mut() {
                    if record.id.mode == Ours {
                        work(5)(record);
                    }
                }
            }),
        ),
        (
            "1-parameter/low accuracy is inconsistent",
            Box::new(|results| {
                for record in results.records.values_mut() {
                    if record.id.variant.effort == Effort::Low {
                        set("alpha", 0.7)(record);
                    }
                }
            }),
        ),
    ];
    let good = results();
    let mut seen: Vec<&str> = Vec::new();
    for (id, wrong) in &cases {
        let mut results = good.clone();
        wrong(&mut results);
        let claims = check(&results, &bounds());
        assert_eq!(holds(&claims, id), Some(false), "{id}");
        seen.push(id);
    }
    for claim in check(&good, &bounds()) {
        let is_other = claim.id.starts_with("data/") || claim.id.starts_with("bounds/");
        let is_never = claim.holds == Some(false);
        assert!(
            is_other || is_never || seen.contains(&claim.id.as_str()),
            "{} was never seen to fail",
            claim.id
        );
    }
}

#[test]
fn wrong_bounds_and_data_fail() {
    type Change = fn(&mut Convergence);
    let changes: [Change; 6] = [
        |one| one.mu *= 1.001,
        |one| one.lipschitz *= 1.001,
        |one| one.error *= 40.0,
        |one| one.gradient_bound *= 0.01,
        |one| one.linear_bound *= 1.1,
        |one| one.error = f64::NAN,
    ];
    for panel in 0..4 {
        for change in changes {
            let mut wrong = bounds();
            change(&mut wrong[panel]);
            let id = format!("bounds/3{}", wrong[panel].panel);
            assert_eq!(holds(&check(&results(), &wrong), &id), Some(false), "{id}");
        }
    }
    for (id, setting) in [
        ("data/1-parameter", "denoise1_start0"),
        ("data/3-parameter", "denoise3_beta1e-6"),
        ("data/sampling", "mri"),
    ] {
        let mut wrong = results();
        for one in &mut wrong.settings {
            if one.name == setting {
                one.data.sigma *= 1.000_1;
            }
        }
        assert_eq!(holds(&check(&wrong, &bounds()), id), Some(false), "{id}");
    }
}
