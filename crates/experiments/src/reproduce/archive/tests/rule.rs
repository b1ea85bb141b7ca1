//! The rules by which the bundled files were derived from the reference archive.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::*;

/// The number of digits of curves; all other numbers are unchanged.
const DIGITS: usize = 8;
/// The number of digits of Figure 14.
const SWEEP_DIGITS: usize = 6;
/// The number of MRI evaluations whose iterations and objective are kept.
const FIRST: usize = 100;

#[test]
fn the_bundle_is_the_archive() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/reference");
    if !folder.is_dir() {
        eprintln!("skipped: no folder {}", folder.display());
        return;
    }
    let read = |name: &str| -> Value {
        let path = folder.join(name).with_extension("json");
        serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
    };
    for (setting, _) in FILES {
        let file = match setting {
            "kodak_sigma1e-1" => read("kodak2d_digitised.json"),
            _ => read(&format!("{setting}.json")),
        };
        for variant in Variant::ALL {
            let bundled = run(setting, variant).unwrap();
            let expected = match setting {
                "kodak_sigma1e-1" => digitised(&file, variant),
                _ => decoded(&file, variant, setting == "mri"),
            };
            // NaN is not equal to itself.
            assert_eq!(format!("{bundled:?}"), format!("{expected:?}"), "{setting}");
        }
    }
    let sweep = &read("kodak2d_digitised.json")["alpha_sigma"];
    let columns = ["sigma", "alpha", "ratio"].map(|name| numbers(&sweep[name]));
    let points = (0..8).map(|i| [0, 1, 2].map(|j: usize| round(columns[j][i], SWEEP_DIGITS)));
    assert_eq!(noise_sweep(), points.collect::<Vec<_>>());
}

fn decoded(file: &Value, variant: Variant, is_mri: bool) -> ArchivedRun {
    let name = match (variant.method, variant.effort) {
        (Gd, Effort::Low) => "gd_1000",
        (Gd, Effort::High) => "gd_10000",
        (Fista, Effort::Low) => "fista_200",
        (Fista, Effort::High) => "fista_2000",
        (_, Effort::Dynamic) => variant.name(),
    };
    let archived = &file[name];
    let evaluations = &archived["evals"];
    let mut objectives = numbers(&evaluations["f"]);
    let mut lower_iterations: Vec<u64> =
        serde_json::from_value(evaluations["niters"].clone()).unwrap();
    let num_evaluations = objectives.len();
    let mut sum = 0;
    let sums: Vec<f64> = lower_iterations
        .iter()
        .map(|iterations| {
            sum += iterations;
            sum as f64
        })
        .collect();
    let best = running_minimum(&objectives);

    let mut cumulative: Vec<[f64; 2]> = (1..).zip(&sums).map(|(k, y)| [f64::from(k), *y]).collect();
    let mut objective = if variant.effort == Effort::Dynamic {
        let iterates = &archived["iterates"];
        let work = numbers(&iterates["eval_work_done"]);
        curve(&work, numbers(&iterates["fk"]).into_iter())
    } else {
        curve(&sums, best.iter().map(|&index| objectives[index]))
    };
    let mut parameters = BTreeMap::new();
    let theta = numbers(&archived["final_theta"]);
    if is_mri {
        cumulative = log_spaced(&cumulative);
        objective = thinned(&objective);
        objectives.truncate(FIRST);
        lower_iterations.truncate(FIRST);
    } else {
        let thetas: Vec<Vec<f64>> = serde_json::from_value(evaluations["theta"].clone()).unwrap();
        for (j, name) in ["alpha", "xi", "nu"].iter().enumerate().take(theta.len()) {
            let values = best.iter().map(|&index| 10_f64.powf(thetas[index][j]));
            parameters.insert((*name).to_owned(), curve(&sums, values));
        }
    }
    let number = |name: &str| archived[name].as_f64().unwrap();
    let param = |name: &str| archived["final_params"][name].as_f64().unwrap();
    ArchivedRun {
        lower_iterations,
        objectives,
        cumulative,
        objective,
        parameters,
        f: number("final_f"),
        f_error: number("final_delta_f"),
        f_exact: number("independent_true_f_at_final_theta"),
        theta,
        params: ["alpha", "nu", "xi"]
            .map(|name| (name.to_owned(), param(name)))
            .into(),
        total: archived["total_lower_iters_all_images"].as_u64().unwrap(),
        evaluations: num_evaluations,
    }
}

fn digitised(file: &Value, variant: Variant) -> ArchivedRun {
    let name = match (variant.method, variant.effort) {
        (Gd, Effort::Low) => "gd_fixed_niters_1000",
        (Gd, Effort::High) => "gd_fixed_niters_10000",
        (Fista, Effort::Low) => "fista_fixed_niters_200",
        (Fista, Effort::High) => "fista_fixed_niters_2000",
        (_, Effort::Dynamic) => variant.name(),
    };
    let read = |figure: &str| {
        let drawn = &file[figure][name];
        curve(&numbers(&drawn["x"]), numbers(&drawn["y"]).into_iter())
    };
    let cumulative = read("niters");
    let objective = read("obj_redn");
    let [evaluations, total] = *cumulative.last().unwrap();
    let figures = [
        ("alpha", "param_alpha"),
        ("nu", "param_eps_tv"),
        ("xi", "param_eps_l2"),
    ];
    let parameters: BTreeMap<_, _> = figures
        .map(|(name, figure)| (name.to_owned(), read(figure)))
        .into();
    let end = |curve: &Vec<[f64; 2]>| curve.last().unwrap()[1];
    ArchivedRun {
        lower_iterations: Vec::new(),
        objectives: Vec::new(),
        f: end(&objective),
        f_error: f64::NAN,
        f_exact: f64::NAN,
        theta: ["alpha", "xi", "nu"]
            .map(|name| round(end(&parameters[name]).log10(), DIGITS))
            .into(),
        params: parameters
            .iter()
            .map(|(name, curve)| (name.clone(), end(curve)))
            .collect(),
        cumulative,
        objective,
        parameters,
        total: total.to_string().parse().unwrap(),
        evaluations: evaluations.to_string().parse().unwrap(),
    }
}

fn numbers(list: &Value) -> Vec<f64> {
    serde_json::from_value(list.clone()).unwrap()
}

/// To so many significant digits.
fn round(x: f64, digits: usize) -> f64 {
    format!("{:.*e}", digits - 1, x).parse().unwrap()
}

/// For each evaluation which one of those until then has the least objective.
fn running_minimum(objectives: &[f64]) -> Vec<usize> {
    let mut best = 0;
    (0..objectives.len())
        .map(|index| {
            if objectives[index] < objectives[best] {
                best = index;
            }
            best
        })
        .collect()
}

/// Without repetitions, and without points between two of the same value.
fn curve(x: &[f64], y: impl Iterator<Item = f64>) -> Vec<[f64; 2]> {
    let mut points: Vec<[f64; 2]> = x
        .iter()
        .zip(y)
        .map(|(&x, y)| [x, round(y, DIGITS)])
        .collect();
    points.dedup();
    let inner = |i: usize| {
        i > 0
            && i + 1 < points.len()
            && points[i - 1][1].total_cmp(&points[i][1]).is_eq()
            && points[i][1].total_cmp(&points[i + 1][1]).is_eq()
    };
    let kept = (0..points.len()).filter(|&i| !inner(i));
    kept.map(|i| points[i]).collect()
}

/// The first and the last of points that are close to the first of them: whatever value is looked
/// for is reached within 0.2 % of the iterations.
fn thinned(points: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let is_far = |from: [f64; 2], to: [f64; 2]| {
        to[0] - from[0] > 0.002 * from[0] || (to[1] - from[1]).abs() > 1e-4 * from[1]
    };
    let mut kept = vec![points[0]];
    for (i, &point) in points.iter().enumerate().skip(1) {
        let from = kept[kept.len() - 1];
        let next = points.get(i + 1);
        if is_far(from, point) || next.is_none_or(|&next| is_far(from, next)) {
            kept.push(point);
        }
    }
    kept
}

/// Each evaluation at least 2.7 % after the one before, and the last.
fn log_spaced(points: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let mut kept = vec![points[0]];
    for (i, &point) in points.iter().enumerate().skip(1) {
        if i + 1 == points.len() || 1000.0 * point[0] >= 1027.0 * kept[kept.len() - 1][0] {
            kept.push(point);
        }
    }
    kept
}
