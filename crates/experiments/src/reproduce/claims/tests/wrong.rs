//! Tests with wrong numbers, at least one for each claim.

use super::synthetic::{bounds, results};
use super::{Convergence, RunRecord, check, exact, holds, set, work};

/// A claim, the runs whose numbers are changed (`*` stands for any text), and the change that makes
/// the claim fail.
const WRONG: &str = "
truth/ours                                  | denoise1_start0.gd_dynamic.ours         | lost
truth/dynamic                               | mri.gd_dynamic.faithful                 | lost
truth/fixed                                 | mri.gd_low.faithful                     | lost
1-parameter/same alpha                      | denoise1_start2.gd_high.faithful        | alpha 0.55
1-parameter/alpha                           | denoise1_start2.gd_high.faithful        | alpha 0.47
1-parameter/low accuracy alpha              | denoise1_start1.fista_low.faithful      | alpha 0.69
1-parameter/low accuracy is inconsistent    | *.*_low.*                               | alpha 0.7
1-parameter/low accuracy does not converge  | denoise1_start0.gd_low.faithful         | exact 1.38
1-parameter/optimum                         | denoise1_start-1.fista_high.faithful    | exact 1.375
1-parameter/optimum, ours                   | denoise1_start2.fista_dynamic.ours      | exact 1.375
1-parameter/FISTA is faster                 | denoise1_start0.fista_dynamic.faithful  | work 3
1-parameter/GD is slower                    | denoise1_start0.gd_high.faithful        | work 5
1-parameter/first evaluations               | denoise1_start0.gd_dynamic.faithful     | iterations 1 = 1
1-parameter/ill-conditioned starts          | denoise1_start-2.fista_dynamic.faithful | work 2
1-parameter/good starts                     | denoise1_start-1.gd_dynamic.faithful    | work 4
archive/denoise1_start0/evaluations         | denoise1_start0.gd_dynamic.faithful     | iterations 19 + 1000
archive/denoise1_start-2/evaluations        | denoise1_start-2.gd_high.faithful       | objective 3 * 1.00001
archive/denoise3_beta1e-6/evaluations       | denoise3_beta1e-6.fista_low.faithful    | truncate 6
archive/denoise3_beta1e-6/first evaluations | denoise3_beta1e-6.fista_low.faithful    | objective 3 * 1.001
archive/mri/evaluations                     | mri.fista_dynamic.faithful              | iterations 65 + 1
archive/denoise3_beta1e-6/total             | denoise3_beta1e-6.gd_dynamic.faithful   | work 3
archive/kodak_sigma1e-1/total               | kodak_sigma1e-1.fista_dynamic.faithful  | work 3
archive/mri/total                           | mri.gd_dynamic.faithful                 | truncate 100
3-parameter/region                          | denoise3_beta1e-6.gd_low.faithful       | exact 3.03
3-parameter/region                          | denoise3_beta1e-6.gd_low.faithful       | nu 0.004
3-parameter/region                          | denoise3_beta1e-6.gd_low.faithful       | alpha 0.44
3-parameter/region, beta = 1e-4             | denoise3_beta1e-4.gd_low.faithful       | exact 4.9
3-parameter/optimum, ours                   | denoise3_beta1e-6.gd_dynamic.ours       | exact 2.831
3-parameter/faster than high accuracy       | denoise3_beta1e-6.gd_dynamic.faithful   | work 2
3-parameter/same reconstructions            | denoise3_beta1e-6.gd_low.faithful       | psnr -0.6
3-parameter/large beta                      | denoise3_beta1e-4.fista_dynamic.faithful | psnr 1.5
3-parameter/small beta                      | denoise3_beta1e-8.fista_dynamic.faithful | psnr 1.0
3-parameter/small beta, parameters          | denoise3_beta1e-8.gd_high.faithful      | nu 0.004
3-parameter/progress                        | denoise3_beta1e-6.fista_dynamic.faithful | exact 50
photographs/first evaluation                | kodak_sigma1e-1.fista_dynamic.faithful  | iterations 0 + 1
photographs/same objective                  | kodak_sigma1e-1.gd_high.faithful        | exact 3240
photographs/same alpha                      | kodak_sigma1e-1.gd_high.faithful        | alpha 0.075
photographs/archived objective              | kodak_sigma1e-1.gd_high.faithful        | exact 3240
photographs/nu and xi differ                | kodak_sigma1e-1.*.faithful              | xi 1e-3
photographs/faster                          | kodak_sigma1e-1.gd_dynamic.faithful     | work 5
photographs/optimum, ours                   | kodak_sigma1e-1.fista_dynamic.ours      | exact 3193
photographs/noise                           | kodak_sigma1e-5.fista_dynamic.faithful  | alpha 1e-8
photographs/noise                           | kodak_sigma1e-5.fista_dynamic.faithful  | alpha 2e-6
photographs/noise, ours                     | kodak_sigma1e-5.fista_dynamic.ours      | alpha 1e-12
sampling/best objective                     | mri.fista_low.faithful                  | exact 0.479
sampling/active modes                       | mri.fista_low.faithful                  | theta 8 = 0.002
sampling/active modes                       | mri.gd_high.faithful                    | theta 16 = 0.001
sampling/low-accuracy GD fails              | mri.gd_low.faithful                     | exact 0.48
sampling/GD is 100 times faster             | mri.gd_dynamic.faithful                 | work 2
sampling/FISTA 200                          | mri.fista_low.faithful                  | work 2
sampling/optimum, ours                      | mri.gd_dynamic.ours                     | exact 0.479
sampling/active modes, ours                 | mri.gd_dynamic.ours                     | theta 0 = 0.001
headline/100 times                          | *.*_dynamic.faithful                    | work 5
headline/100 times, ours                    | *.*.ours                                | work 5
";

/// Applies the change of a row.
fn apply_to(record: &mut RunRecord, change: &str) {
    let number = |text: &str| -> f64 { text.parse().expect(change) };
    let whole = |text: &str| -> usize { text.parse().expect(change) };
    let words: Vec<&str> = change.split_whitespace().collect();
    match words[..] {
        ["lost"] => record.outcome.f_exact += 10.0 * record.outcome.f_error + 1e-6,
        ["exact", f] => exact(number(f))(record),
        ["work", factor] => work(whole(factor) as u64)(record),
        ["psnr", more] => record.outcome.psnr += number(more),
        ["truncate", length] => record.evaluations.truncate(whole(length)),
        ["theta", index, "=", value] => record.outcome.theta[whole(index)] = number(value),
        ["objective", index, "*", factor] => record.evaluations[whole(index)].f *= number(factor),
        ["iterations", index, sign, num] => {
            let iterations = &mut record.evaluations[whole(index)].lower_iterations;
            let before = if sign == "+" { *iterations } else { 0 };
            *iterations = before + whole(num) as u64;
        }
        [name, value] => set(name, number(value))(record),
        _ => panic!("{change}"),
    }
}

#[test]
fn wrong_numbers_fail() {
    let good = results();
    let mut seen: Vec<&str> = Vec::new();
    for row in WRONG.trim().lines() {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [id, pattern, change] = cells[..] else {
            panic!("{row}");
        };
        let mut results = good.clone();
        super::change(&mut results, pattern, |record| apply_to(record, change));
        let claims = check(&results, &bounds());
        assert_eq!(holds(&claims, id), Some(false), "{row}");
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
