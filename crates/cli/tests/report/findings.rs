//! Every rule speaks when it should, and is silent when it should be.

use bilevel::{Learned, Scale};
use bilevel_cli::findings::{FindingKind, findings};
use serde_json::{Value, json};

use super::results::{evaluation, gradients, iteration, log10, score, weight, with};

/// The kind of the only finding that contains `part`.
fn kind(learned: &Learned, part: &str) -> Option<FindingKind> {
    let all = findings(learned, Scale::Mean);
    let mut found = all.iter().filter(|finding| finding.text.contains(part));
    let kind = found.next().map(|finding| finding.kind);
    assert!(found.next().is_none(), "{part:?} twice: {all:#?}");
    kind
}

#[track_caller]
fn check(changes: Value, part: &str, expected: Option<FindingKind>) {
    let learned = with(changes);
    let all = findings(&learned, Scale::Mean);
    assert_eq!(kind(&learned, part), expected, "{part:?}: {all:#?}");
}

const GOOD: Option<FindingKind> = Some(FindingKind::Good);
const NOTE: Option<FindingKind> = Some(FindingKind::Note);
const WARNING: Option<FindingKind> = Some(FindingKind::Warning);

#[test]
fn a_good_result_is_all_good() {
    let learned = with(json!({}));
    let all = findings(&learned, Scale::Mean);
    assert!(all.iter().all(|f| f.kind == FindingKind::Good), "{all:#?}");
    assert!(all.iter().all(|f| f.text.ends_with('.')), "{all:#?}");
    for part in [
        "The objective, a mean over images, is certainly between 1.99 and 2.01, an uncertainty of \
         0.5\u{202f}%.",
        "Learning is complete: the steps became as small as requested.",
        "from 20.1\u{202f}dB to 25.2\u{202f}dB",
        "as well as training images (25.1\u{202f}dB against 25.2\u{202f}dB)",
    ] {
        assert_eq!(kind(&learned, part), GOOD, "{part}");
    }
    let sum = &findings(&learned, Scale::Sum)[1].text;
    assert!(sum.contains("a sum over images"), "{sum}");
}

#[test]
fn every_end_has_its_sentence() {
    for (end, part, kind) in [
        (
            json!("RadiusReached"),
            "complete: the steps became as small",
            GOOD,
        ),
        (
            json!("TargetReached"),
            "complete: the objective has certainly",
            GOOD,
        ),
        (json!("NoiseReached"), "complete: all points around", GOOD),
        (
            json!("RestartsExhausted"),
            "complete: restarts around the best point found",
            GOOD,
        ),
        (
            json!("Slow"),
            "complete: the objective had almost stopped falling",
            GOOD,
        ),
        (json!("Blocked"), "could not be evaluated", WARNING),
        (json!("Stopped"), "it was interrupted. The last 8", NOTE),
        (
            json!({"AccuracyFloor": {"wanted": 0.001, "achieved": 0.01}}),
            "residuals to within 0.001, but the reconstructions determine them only to within 0.01",
            WARNING,
        ),
        (
            json!({"OracleFailed": {"reason": "no disk"}}),
            "an evaluation failed: no disk",
            WARNING,
        ),
        (
            json!({"Exhausted": "Evaluations"}),
            "its budget of 40 evaluations was spent. The last 8 points improved",
            NOTE,
        ),
        (
            json!({"Exhausted": "Points"}),
            "its budget of 40 points",
            NOTE,
        ),
        (
            json!({"Exhausted": "Work"}),
            "its budget of 400 gradients",
            NOTE,
        ),
        (
            json!({"Exhausted": "Time"}),
            "its budget of time was spent",
            NOTE,
        ),
    ] {
        check(json!({"termination": end}), part, kind);
    }
}

/// With gradients, sentences do not speak of residuals, models or radii.
#[test]
fn ends_with_gradients() {
    let changed = |changes: Value| {
        let mut all = gradients(None);
        let (Value::Object(all_fields), Value::Object(changes)) = (&mut all, changes) else {
            panic!("objects");
        };
        all_fields.extend(changes);
        all
    };
    check(
        gradients(None),
        "complete: the objective had almost stopped falling",
        GOOD,
    );
    // 2 sqrt(2) 0.01 + 0.01^2
    check(
        changed(json!({"termination": {"AccuracyFloor": {"wanted": 0.01, "achieved": 0.1}}})),
        "needs the objective to within 0.0284, but the reconstructions determine it only to within \
         0.293",
        WARNING,
    );
    let first = json!({
        "termination": {"Exhausted": "Points"}, "num_points": 1,
        "iterations": [iteration(0, 1, &[-1.2, -3.0], 2.0)],
    });
    check(
        changed(first),
        "its budget of 1 point was spent before the first step, so nothing was learned yet: \
         continue with `bilevel resume RUN --max-points 2`.",
        WARNING,
    );
    // influences that were not measured are not called small
    let parameters = json!([log10("alpha", -1.2, [-7.0, 7.0], None)]);
    check(
        changed(json!({"parameters": parameters})),
        "influence",
        None,
    );
}

#[test]
fn a_floor_of_rounding_is_no_reason_to_worry() {
    let floor = json!({"AccuracyFloor": {"wanted": 1e-9, "achieved": 2e-9}});
    let interval = json!([2.0, 2.000_000_001]);
    check(
        json!({"termination": floor, "interval": interval}),
        "complete: the next step needs reconstructions that are more accurate than rounding allows",
        GOOD,
    );
}

#[test]
fn small_steps_on_rough_reconstructions_prove_nothing() {
    check(
        json!({"termination": "RadiusReached", "interval": [0.0, 16300.0]}),
        "nothing better was found, but the reconstructions were too inaccurate to tell good",
        WARNING,
    );
    let spent = json!({"termination": {"Exhausted": "Points"}, "interval": [0.0, 16300.0]});
    check(
        spent.clone(),
        "points was spent, but the reconstructions were too inaccurate to tell good",
        WARNING,
    );
    check(spent, "would hardly help", None);
}

#[test]
fn images_that_get_worse_do_not_gain() {
    let worse = json!({
        "training": [score(Some(20.0), 15.8)],
        "validation": [score(Some(19.8), 18.0)],
    });
    let part = "lowers the mean PSNR of held-out images from 19.8\u{202f}dB to 18.0\u{202f}dB";
    check(worse.clone(), part, WARNING);
    check(worse, "gain", None);
}

#[test]
fn a_run_that_was_still_improving_should_go_on() {
    let iterations: Vec<Value> = (0..10)
        .map(|k| iteration(k, 4 + 4 * k, &[0.0, 0.0], 20.0 - k as f64))
        .collect();
    let changes =
        |end: Value| json!({"iterations": iterations, "objective": 11.0, "termination": end});
    let part = "The last 8 points still improved the objective by 15\u{202f}%: continue with \
                `bilevel resume RUN --max-points 80`.";
    check(changes(json!({"Exhausted": "Points"})), part, WARNING);
    check(
        changes(json!("Stopped")),
        "continue with `bilevel resume RUN`.",
        WARNING,
    );
    check(changes(json!("RadiusReached")), "continue with", None);
    // too short to tell
    let short = json!({
        "termination": {"Exhausted": "Evaluations"},
        "evaluations": [evaluation(0, &[0.0, 0.0], Ok(3.0))],
        "num_points": 1,
    });
    check(short, "evaluation was spent. More points may help", NOTE);
    let none = json!({"termination": {"Exhausted": "Evaluations"}, "iterations": []});
    check(none, "before the first model was complete", WARNING);
}

#[test]
fn what_is_known_about_the_objective() {
    for (interval, part, kind) in [
        (
            json!([1.9, 2.1]),
            "certainly between 1.9 and 2.1, an uncertainty of 5\u{202f}%",
            NOTE,
        ),
        (
            json!([0.5, 4.0]),
            "certainly between 0.5 and 4, which is too wide",
            WARNING,
        ),
        (json!([0.0, null]), "computed as 2, but its error", WARNING),
        (
            json!([2.0, 2.0]),
            "is certainly 2, with an uncertainty of 0\u{202f}%",
            GOOD,
        ),
    ] {
        check(json!({"interval": interval}), part, kind);
    }
    let zero = json!({"interval": [0.0, 0.0], "objective": 0.0});
    check(zero, "is zero: all training images", GOOD);
}

#[test]
fn bounds_and_influences() {
    let alone = |theta: f64, influence: Option<f64>, end: &str| {
        let parameter = log10("xi", theta, [-7.0, 0.0], influence);
        json!({"parameters": [parameter], "termination": end})
    };
    let end = "RadiusReached";
    check(
        alone(-7.0, Some(1e-5), end),
        "xi is at its lower bound 1e-7 and has almost no influence: changing it by a factor of \
         5 changes the objective by less than 0.1\u{202f}%.",
        NOTE,
    );
    check(
        alone(0.0, Some(0.3), end),
        "xi is at its upper bound 1, and the objective still falls beyond it: raise the bound.",
        WARNING,
    );
    check(
        alone(-7.0, Some(0.3), end),
        "beyond it: lower the bound",
        WARNING,
    );
    check(
        alone(0.0, Some(0.3), "Blocked"),
        "the objective may be lower beyond it",
        WARNING,
    );
    check(
        alone(0.0, None, end),
        "the objective may be lower beyond it",
        WARNING,
    );
    check(
        alone(-3.0, Some(9e-4), end),
        "xi has almost no influence: changing it by a factor of 5 changes",
        NOTE,
    );
    for influence in [None, Some(0.01)] {
        check(alone(-3.0, influence, end), "no influence", None);
        check(alone(-3.0, influence, end), "bound", None);
    }
    let fixed = json!({"parameters": [log10("xi", -3.0, [-3.0, -3.0], Some(0.0))]});
    check(fixed, "xi is at", None);
}

#[test]
fn directions_of_several_parameters() {
    let flat = |directions: Value, influence: f64| {
        json!({
            "flat": directions,
            "parameters": [
                log10("alpha", -1.2, [-7.0, 7.0], Some(3.0)),
                log10("nu", -3.0, [-7.0, 0.0], Some(influence)),
            ],
        })
    };
    let along = |a: f64, b: f64| json!({"influence": 1e-4, "direction": [a, b]});
    check(
        flat(json!([along(-0.6, 0.8)]), 0.3),
        "alpha and nu can compensate each other: near the learned values, alpha times 1.21 and \
         nu divided by 1.14 together hardly change the objective.",
        NOTE,
    );
    let traded = "can compensate";
    check(flat(json!([along(0.05, 0.99)]), 0.3), traded, None);
    // nu does not matter anyway
    check(flat(json!([along(-0.6, 0.8)]), 1e-5), traded, None);
    // everything is flat
    check(
        flat(json!([along(-0.6, 0.8), along(0.8, 0.6)]), 0.3),
        traded,
        None,
    );
}

#[test]
fn frequencies_are_counted() {
    let of = |thetas: &[f64]| {
        let all: Vec<Value> = thetas
            .iter()
            .enumerate()
            .map(|(j, t)| weight(j, *t))
            .collect();
        json!({"family": "sampling", "parameters": all})
    };
    check(
        of(&[0.5, 0.001, 0.99, 0.001]),
        "2 of 4 frequencies are sampled. 1 of them",
        GOOD,
    );
    check(
        of(&[0.5, 0.5]),
        "2 of 2 frequencies are sampled. A larger penalty",
        NOTE,
    );
    check(
        of(&[0.001, 0.001]),
        "The penalty is probably too large",
        WARNING,
    );
    check(json!({}), "frequencies", None);
    let renamed = json!({"parameters": [weight(1, 0.5), weight(0, 0.001)]});
    check(renamed, "frequencies", None);
}

#[test]
fn blocks_have_one_finding_per_bound() {
    let block = json!({
        "value": [1.0, 0.1, 0.1, 1.0], "theta": [0.0, -1.0, -1.0, 0.0],
        "at": [null, "lower", "lower", null], "influence": null,
        "parameter": {"name": "taps", "shape": [2, 2], "map": "log10", "start": 0.0,
            "lower": -1.0, "upper": 1.0},
    });
    let changes = json!({"parameters": [block]});
    let text = "2 of 4 entries of taps reached the lower bound 0.1, and the objective may be lower";
    check(changes.clone(), text, WARNING);
    check(changes, "upper bound", None);
}

#[test]
fn images_held_out() {
    let with = |before: Option<f64>, trained: [f64; 2], held: &[f64]| {
        let scores =
            |after: &[f64]| -> Vec<Value> { after.iter().map(|a| score(before, *a)).collect() };
        json!({"training": scores(&trained), "validation": scores(held)})
    };
    let d = Some(20.0);
    check(with(d, [25.0, 25.1], &[]), "No images were held out", NOTE);
    check(
        with(d, [25.0, 25.1], &[22.0, 22.2]),
        "Held-out images gain less than training images (2.1\u{202f}dB against 5.1\u{202f}dB)",
        NOTE,
    );
    // as different among themselves
    check(
        with(d, [29.0, 21.0], &[27.0, 18.0]),
        "Held-out images gain as much",
        GOOD,
    );
    check(
        with(None, [25.0, 25.1], &[25.2]),
        "as well as training images (25.2",
        GOOD,
    );
    check(
        with(None, [25.0, 25.1], &[22.0, 22.1]),
        "reconstructed worse than training",
        NOTE,
    );
    check(
        with(None, [29.0, 21.0], &[22.0, 24.0]),
        "about as well as training",
        GOOD,
    );
    check(
        with(None, [25.0, 25.1], &[25.2]),
        "Reconstruction improves",
        None,
    );
    check(
        with(d, [18.0, 19.0], &[18.5]),
        "Reconstruction lowers the mean PSNR of training images",
        WARNING,
    );
}

#[test]
fn failures_are_counted() {
    check(json!({}), "failed", None);
    check(json!({}), "could not be reconstructed", None);
    let evaluations = json!([
        evaluation(0, &[0.0, 0.0], Ok(2.0)),
        evaluation(1, &[0.0, 0.0], Err("xi is too small".to_owned())),
        evaluation(2, &[0.0, 0.0], Err("no".to_owned())),
    ]);
    check(
        json!({"evaluations": evaluations}),
        "2 of 3 evaluations failed, the first one with: xi is too small",
        WARNING,
    );
    let none = json!({"before": null, "after": null, "error": null});
    check(
        json!({"training": [none, score(Some(20.0), 25.0)]}),
        "1 of 2 training images could not be reconstructed",
        WARNING,
    );
    check(
        json!({"validation": [none]}),
        "1 of 1 held-out image could not be reconstructed",
        WARNING,
    );
}
