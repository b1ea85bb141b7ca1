//! Results written by hand.

use bilevel::{Learned, Score};
use serde_json::{Value, json};

/// A parameter `10^theta` with bounds and influence.
pub(crate) fn log10(
    name: &str,
    theta: f64,
    [lower, upper]: [f64; 2],
    influence: Option<f64>,
) -> Value {
    let at = match theta {
        t if t <= lower => json!("lower"),
        t if t >= upper => json!("upper"),
        _ => Value::Null,
    };
    json!({
        "value": 10_f64.powf(theta), "theta": theta, "at": at, "influence": influence,
        "parameter": {"name": name, "map": "log10", "start": 0.0, "lower": lower, "upper": upper},
    })
}

/// A weight of a frequency.
pub(crate) fn weight(j: usize, theta: f64) -> Value {
    let at = match theta {
        t if t <= 0.001 => json!("lower"),
        t if t >= 0.99 => json!("upper"),
        _ => Value::Null,
    };
    json!({
        "value": theta / (1.0 - theta), "theta": theta, "at": at, "influence": null,
        "parameter": {"name": format!("s{j}"), "map": "odds", "start": 0.5, "lower": 0.001, "upper": 0.99},
    })
}

/// Returns a score with the PSNR of data and reconstruction.
pub(crate) fn score(before: Option<f64>, after: f64) -> Value {
    let quality = |psnr: f64| json!({"mse": 10_f64.powf(-psnr / 10.0), "psnr": psnr, "ssim": 0.5});
    json!({"before": before.map(quality), "after": quality(after), "error": 1e-3})
}

/// Converts a score to the type of the library.
pub(crate) fn as_score(value: Value) -> Score {
    serde_json::from_value(value).expect("fields as they are saved")
}

/// An evaluation with this objective and cost.
pub(crate) fn evaluation(point: u64, theta: &[f64], objective: Result<f64, String>) -> Value {
    json!({
        "point": point, "theta": theta, "purpose": "Trial", "target": 0.1, "achieved": 0.05,
        "objective": objective, "work": 10,
    })
}

/// Returns an iteration after this many evaluations.
pub(crate) fn iteration(number: u64, num_evaluations: u64, theta: &[f64], objective: f64) -> Value {
    json!({
        "number": number, "kind": "Accepted", "theta": theta, "objective": objective,
        "interval": [0.99 * objective, 1.01 * objective], "delta": 0.1, "rho": 0.01, "step": null,
        "predicted": null, "ratio": null, "certified": true, "gradient": 1.0, "poisedness": null,
        "num_points": num_evaluations, "num_evaluations": num_evaluations, "work": 10 * num_evaluations,
    })
}

/// A good result with two parameters, forty points and ten iterations.
pub(crate) fn result() -> Value {
    let theta = [-1.2, -3.0];
    let evaluations: Vec<Value> = (0..40_u32)
        .map(|k| evaluation(k.into(), &theta, Ok(2.0 + 8.0 * 0.8_f64.powf(k.into()))))
        .collect();
    let iterations: Vec<Value> = (0..10_u32)
        .map(|k| {
            let objective = 2.0 + 8.0 * 0.2_f64.powf(k.into());
            iteration(k.into(), u64::from(4 + 4 * k), &theta, objective)
        })
        .collect();
    json!({
        "solver": "derivative-free", "criterion": "truth",
        "objective": 2.0, "interval": [1.99, 2.01], "termination": "RadiusReached", "num_points": 40,
        "work": {"initial": 30, "trial": 300, "geometry": 50, "sharpen": 20},
        "parameters": [
            log10("alpha", -1.2, [-7.0, 7.0], Some(3.0)),
            log10("nu", -3.0, [-7.0, 0.0], Some(0.02)),
        ],
        "flat": [],
        "training": [score(Some(20.0), 25.0), score(Some(20.2), 25.4)],
        "validation": [score(Some(20.1), 25.1)],
        "iterations": iterations, "evaluations": evaluations,
    })
}

/// The changes that turn the result into one that was learned with gradients.
pub(crate) fn gradients(error: Option<f64>) -> Value {
    let iterations: Vec<Value> = (0..10_u32)
        .map(|k| {
            let objective = 2.0 + 8.0 * 0.2_f64.powf(k.into());
            let mut iteration = iteration(k.into(), u64::from(4 + 4 * k), &[-1.2, -3.0], objective);
            iteration["delta"] = json!(0.0);
            iteration["rho"] = json!(0.0);
            iteration["gradient"] = json!(0.1_f64.powf(k.into()));
            iteration
        })
        .collect();
    let evaluations: Vec<Value> = (0..40)
        .map(|k| {
            let mut evaluation = evaluation(k, &[-1.2, -3.0], Ok(2.0));
            evaluation["target"] = Value::Null;
            evaluation
        })
        .collect();
    json!({
        "solver": "gradient", "termination": "Slow",
        "gradient": {"norm": 0.0123, "error": error, "reconstructions": 300, "adjoints": 101},
        "iterations": iterations, "evaluations": evaluations,
    })
}

/// The result, with some fields replaced.
pub(crate) fn with(changes: Value) -> Learned {
    let mut value = result();
    if let (Value::Object(all), Value::Object(changes)) = (&mut value, changes) {
        all.extend(changes);
    }
    serde_json::from_value(value).expect("fields as they are saved")
}
