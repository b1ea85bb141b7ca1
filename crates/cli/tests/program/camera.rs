//! Pictures of cameras that count photons.

use std::path::Path;

use bilevel_cli::array::{self, ArrayValues};
use imaging::noise::{self, Anscombe};
use imaging::{Grid, Seed, phantom};

use crate::scene::TempDir;

const SIDE: usize = 32;
const CAMERA: &str = "poisson:0.05,0.02";

fn camera() -> Anscombe {
    CAMERA.parse().expect("a camera")
}

fn truth() -> Vec<f64> {
    phantom::dead_leaves(SIDE, SIDE, Seed::new(4), 0).expect("a picture")
}

/// Frames of the truth.
fn frames(count: usize) -> Vec<Vec<f64>> {
    let truth = truth();
    (0..count)
        .map(|index| noise::poisson(&truth, &camera(), Seed::new(9), index).expect("a camera"))
        .collect()
}

fn read(path: &Path) -> Vec<f64> {
    match array::read(path).expect("an array").values {
        ArrayValues::Real(values) => values,
        ArrayValues::Complex(_) => panic!("the array is real"),
    }
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    let squares = a.iter().zip(b).map(|(a, b)| (a - b).powi(2));
    squares.sum::<f64>().sqrt()
}

/// A picture is transformed, denoised and transformed back; black and white of a file are taken
/// into account.
#[test]
fn denoised_pictures() {
    let temp = TempDir::new("camera-denoise");
    let frame = frames(1).remove(0);
    temp.array("frame.npy", &[SIDE, SIDE], frame.clone());
    let ended = temp.good(&format!("denoise frame.npy clean.npy --noise {CAMERA}"));
    for part in [
        "noise poisson:0.05,0.02 (given)",
        "(root mean square) after the transform that makes the noise equally strong",
    ] {
        assert!(ended.out.contains(part), "{ended:?}");
    }
    let clean = read(&temp.path("clean.npy"));
    let camera = camera();
    let (grid, data) = (Grid::image(SIDE, SIDE), camera.transform(&frame));
    let made = imaging::denoise(grid, &data, camera.sigma(), None).expect("a picture");
    assert_eq!(clean, camera.inverse(&made.x));
    assert!(distance(&clean, &truth()) < 0.6 * distance(&frame, &truth()));

    let counts = frame.iter().map(|value| 100.0 + 1000.0 * value).collect();
    temp.array("counts.npy", &[SIDE, SIDE], counts);
    let range = format!("denoise counts.npy range.npy --range 100,1100 --noise {CAMERA}");
    let ended = temp.good(&format!("{range} --json"));
    let done: serde_json::Value = serde_json::from_str(&ended.out).expect("JSON");
    assert_eq!(done[0]["pictures"][0]["camera"]["gain"], 0.05);
    for (count, value) in read(&temp.path("range.npy")).iter().zip(&clean) {
        assert!((count - 100.0 - 1000.0 * value).abs() < 1e-8);
    }
}

/// The pages of a file are frames of one scene.
#[test]
fn estimated_from_a_stack() {
    let temp = TempDir::new("camera-stack");
    let stack = frames(4).concat();
    temp.array("frames.npy", &[4, SIDE, SIDE], stack);
    let ended = temp.good("denoise frames.npy clean.npy --noise poisson --json");
    let done: serde_json::Value = serde_json::from_str(&ended.out).expect("JSON");
    let found = &done[0]["pictures"][3];
    assert_eq!(found["is_estimated"], true);
    let gain = found["camera"]["gain"].as_f64().expect("a number");
    assert!((gain / 0.05 - 1.0).abs() < 0.2, "{gain}");

    let args = "learn denoise --truth none --noisy frames.npy --noise poisson --learn alpha \
                --max-points 6 --out run";
    let ended = temp.good(args);
    let parts = ["Estimated noise of the camera: gain 0.0", "read noise 0.0"];
    assert!(
        parts.iter().all(|part| ended.err.contains(part)),
        "{ended:?}"
    );
    let settings = temp.text("run/bilevel.toml");
    assert!(settings.contains("noise = \"poisson:0.0"), "{settings}");
    let page = temp.text("run/report.html");
    assert!(page.contains("Anscombe"));
    // the PSNR that is estimated is not that of the pictures themselves
    let of = "after the transform that makes the noise equally strong everywhere";
    assert!(page.contains(&format!("estimated without truth {of}")));
    let estimated = format!("Estimated mean PSNR of 4 images {of}, without truth");
    assert!(ended.out.contains(&estimated), "{ended:?}");
    temp.good("apply run frames.npy applied.npy");
    temp.good("resume run --max-points 7");
    let clean = read(&temp.path("applied.npy"));
    let frame = frames(1).remove(0);
    assert!(distance(&clean[..frame.len()], &truth()) < 0.7 * distance(&frame, &truth()));
}

/// Photons are simulated for clean pictures. Scores are those of pictures, not of their transforms.
#[test]
fn learned_from_the_truth() {
    let temp = TempDir::new("camera-truth");
    let learn = "learn denoise --learn alpha --max-points 6";
    temp.good(&format!(
        "{learn} --noise {CAMERA} --size {SIDE} --count 2 --hold-out 1 --out run"
    ));
    let result: serde_json::Value = serde_json::from_str(&temp.text("run/result.json")).expect("");
    let score = &result["training"][0];
    let [before, after] = ["before", "after"].map(|when| score[when]["mse"].as_f64().expect("mse"));
    // the mean of x g + r^2 over dead leaves, whose mean is about a half
    assert!((0.015..0.04).contains(&before), "{before}");
    assert!(after < 0.4 * before, "{after}");

    // measured pairs
    temp.array("clean.npy", &[SIDE, SIDE], truth());
    temp.array("noisy.npy", &[SIDE, SIDE], frames(1).remove(0));
    temp.good(&format!(
        "{learn} --images clean.npy --noisy noisy.npy --noise {CAMERA} --out pairs"
    ));
    temp.good("apply pairs noisy.npy out.npy");
    let error = distance(&read(&temp.path("out.npy")), &truth()).powi(2) / (SIDE * SIDE) as f64;
    let result: serde_json::Value =
        serde_json::from_str(&temp.text("pairs/result.json")).expect("");
    let scored = result["training"][0]["after"]["mse"].as_f64().expect("mse");
    assert!((error / scored - 1.0).abs() < 0.02, "{error} {scored}");
    temp.good("report pairs");
}

#[test]
fn what_is_refused() {
    let temp = TempDir::new("camera-bad");
    temp.array("frame.npy", &[SIDE, SIDE], truth());
    let same = [truth(), truth()].concat();
    temp.array("same.npy", &[2, SIDE, SIDE], same);
    for (args, code, parts) in [
        (
            "denoise frame.npy x.npy --noise poisson",
            3,
            ["frame.npy", "two or more frames"],
        ),
        (
            "denoise same.npy x.npy --noise poisson",
            3,
            ["same.npy", "does not grow"],
        ),
        (
            "denoise frame.npy x.npy --noise poisson:0,1",
            2,
            ["gain", "positive"],
        ),
        (
            "denoise frame.npy x.npy --noise poisson:a",
            2,
            ["poisson:GAIN,READ", "0.03"],
        ),
        (
            "learn denoise --noise poisson --out r",
            3,
            ["frames of one scene", "--noisy"],
        ),
        (
            "learn denoise --truth none --noisy frame.npy --noise poisson --out r",
            3,
            ["frames of one scene", "poisson:0.03,0.01"],
        ),
        (
            "learn denoise --truth none --noisy same.npy --noise poisson --out r",
            3,
            ["does not grow", "poisson:0.03,0.01"],
        ),
        (
            "learn inpaint --mask m.png --noise poisson:0.1,0 --out r",
            2,
            ["--noise", "a number for inpaint"],
        ),
        (
            "learn denoise --noise poisson:0.1,0 --image-min 0 --out r",
            2,
            ["--image-min", "transformed"],
        ),
        (
            "learn denoise --noise poisson:0.1,-1 --out r",
            2,
            ["read noise", "-1"],
        ),
    ] {
        temp.bad(args, code, &parts);
    }
}
