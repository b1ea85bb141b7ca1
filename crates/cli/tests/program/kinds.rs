//! Options of `learn`, and what they change.

use bilevel_cli::picture::{self, Colour};
use serde_json::Value;

use crate::scene::TempDir;

/// Learns, and gives the result.
fn learned(temp: &TempDir, args: &str, run: &str) -> Value {
    temp.good(&format!("learn denoise {args} --quiet --out {run}"));
    assert!(temp.path(run).join("report.html").is_file(), "{args}");
    serde_json::from_str(&temp.text(&format!("{run}/result.json"))).expect("JSON")
}

fn len(value: &Value) -> usize {
    value.as_array().expect("a list").len()
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

#[test]
fn images_of_all_kinds() {
    let temp = TempDir::new("kinds");
    temp.photos("photos");
    temp.picture("photos/wide.tif", 20, 7, 2);
    temp.colours("photos/colours.png", 9, 11, 3);
    for (args, training, validation) in [
        ("", 4, 0),
        ("--count 3", 3, 0),
        ("--colour channels", 6, 0),
        ("--crop 6", 4, 0),
        ("--hold-out 1", 3, 1),
        ("--hold-out 1 --colour channels", 5, 1),
        ("--validation others", 4, 1),
        ("--hold-out 2 --validation others", 2, 3),
    ] {
        temp.picture("others/a.png", 8, 8, 7);
        let run = format!("run{training}{validation}{}", args.len());
        let args = format!("--images photos --max-points 5 {args}");
        let result = learned(&temp, &args, &run);
        assert_eq!(len(&result["training"]), training, "{args}");
        assert_eq!(len(&result["validation"]), validation, "{args}");
    }
}

#[test]
fn fixed_iterations_and_sums() {
    let temp = TempDir::new("sums");
    let small = "--size 16 --count 2 --max-points 6 --iterations 50";
    let mean = learned(&temp, small, "mean");
    let works = mean["evaluations"].as_array().unwrap().iter();
    let works: Vec<u64> = works.filter_map(|made| made["work"].as_u64()).collect();
    // two images, and perhaps a gradient more for each
    assert!(!works.is_empty());
    assert!(works.iter().all(|work| *work == works[0]), "{works:?}");
    assert!((100..=104).contains(&works[0]), "{works:?}");

    let sum = learned(&temp, &format!("{small} --objective sum"), "sum");
    let first = |result: &Value| number(&result["evaluations"][0]["objective"]["Ok"]);
    let ratio = first(&sum) / first(&mean);
    assert!((ratio - 2.0).abs() < 1e-12, "{ratio}");
}

#[test]
fn other_ways_to_solve() {
    let temp = TempDir::new("ways");
    let small = "--size 12 --count 3 --max-points 8";
    let usual = learned(&temp, small, "usual");
    for (index, args) in [
        "--method gd --fix xi=0.1 --lower nu=1e-3 --max-iterations 2000",
        "--residuals pixel --noise 0.2",
        "--solver derivative-free",
        "--solver gradient --kappa 0.01",
        "--seed 2",
        "--penalty-condition 1e-6",
        "--start alpha=0.1",
    ]
    .into_iter()
    .enumerate()
    {
        let result = learned(&temp, &format!("{small} {args}"), &format!("run{index}"));
        assert_ne!(result["evaluations"], usual["evaluations"], "{args}");
        assert!(number(&result["objective"]).is_finite(), "{args}");
    }
}

/// The beginning of the caption of a curve.
const RADIUS: &str = "The radius of the trust region,";

/// Gradients are the default, and the solver without them can be chosen.
#[test]
fn both_solvers() {
    let temp = TempDir::new("solvers");
    let small = "--size 12 --count 3 --max-points 8";
    let usual = learned(&temp, small, "usual");
    let gradient = learned(&temp, &format!("{small} --solver gradient"), "gradient");
    assert_eq!(usual, gradient);
    assert_eq!(gradient["solver"], "gradient");
    for field in ["norm", "error", "reconstructions", "adjoints"] {
        assert!(gradient["gradient"][field].is_number(), "{field}");
    }
    let without = format!("{small} --solver derivative-free");
    let pixels = learned(&temp, &without, "pixels");
    let images = learned(&temp, &format!("{without} --residuals image"), "images");
    assert_ne!(pixels["evaluations"], images["evaluations"]);
    for (result, run) in [(pixels, "pixels"), (images, "images")] {
        assert_eq!(result["solver"], "derivative-free");
        assert!(result["gradient"].is_null());
        let page = temp.text(&format!("{run}/report.html"));
        assert!(page.contains(RADIUS) && !page.contains("projected gradient"));
    }
    // a black box is learned without gradients
    let fixed = learned(&temp, &format!("{small} --iterations 50"), "fixed");
    assert_eq!(fixed["solver"], "derivative-free");
    for other in ["--iterations 50", "--image-min 0", "--image-max 1"] {
        let flag = other.split(' ').next().expect("a flag");
        temp.bad(
            &format!("learn denoise {small} --solver gradient {other} --out refused"),
            2,
            &[
                "--solver (solver.kind in a settings file)",
                flag,
                "--solver derivative-free",
            ],
        );
    }
    temp.bad(
        "learn denoise --kappa 0 --out refused",
        2,
        &["--kappa", "positive"],
    );
    let ended = temp.good(&format!("learn denoise {small} --out shown"));
    for part in [
        "Projected gradient: ",
        "certified",
        " for reconstructions, ",
        " for adjoints)",
    ] {
        assert!(ended.out.contains(part), "{part}: {ended:?}");
    }
    let page = temp.text("shown/report.html");
    for part in [
        "Gradient of the objective",
        "norm of the projected gradient",
        "work of adjoints",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains(RADIUS));
}

#[test]
fn threads_do_not_matter() {
    let temp = TempDir::new("threads");
    let small = "--size 20 --count 5 --hold-out 2 --max-points 8";
    for threads in [1, 2, 3] {
        let args = format!("{small} --threads {threads}");
        let _ = learned(&temp, &args, &format!("run{threads}"));
    }
    let _ = learned(&temp, small, "run");
    for threads in 1..=3 {
        let name = format!("run{threads}/result.json");
        assert!(temp.bytes(&name) == temp.bytes("run/result.json"), "{name}");
    }
}

#[test]
fn printed_settings_give_the_same_run() {
    let temp = TempDir::new("printed");
    temp.photos("photos");
    temp.picture("mask.png", 12, 10, 4);
    for (index, args) in [
        "denoise --size 16 --count 3 --hold-out 1 --max-points 8 --residuals pixel --seed 5",
        "denoise --images photos --crop 8 --learn alpha,nu --fix xi=1e-2 --upper alpha=3 --max-points 6",
        "inpaint --images photos --mask mask.png --iterations 30 --max-points 6 --method gd",
        "sampling --size 8 --count 2 --max-points 12 --penalty-l1 0.02 --l1-kind nonsmooth",
    ]
    .into_iter()
    .enumerate()
    {
        let printed = temp.good(&format!("learn {args} --print-config"));
        assert!(printed.err.is_empty(), "{printed:?}");
        temp.file("settings.toml", printed.out.as_bytes());
        let again = temp.good("learn --config settings.toml --print-config");
        assert_eq!(again.out, printed.out);
        let (flags, file) = (format!("flags{index}"), format!("file{index}"));
        temp.good(&format!("learn {args} -q --out {flags}"));
        temp.good(&format!("learn --config settings.toml -q --out {file}"));
        for name in ["result.json", "bilevel.toml"] {
            let of = |run: &str| temp.text(&format!("{run}/{name}"));
            assert!(of(&flags) == of(&file), "{args}: {name}");
        }
        // the settings of a run are settings, too
        temp.good(&format!("learn --config {file}/bilevel.toml -q --out third{index}"));
        let of = |run: &str| temp.bytes(&format!("{run}/result.json"));
        assert!(of(&file) == of(&format!("third{index}")), "{args}");
    }
}

/// Limits of pixel values hold when parameters are learned, and when they are applied.
#[test]
fn limits_of_pixel_values() {
    let temp = TempDir::new("limits");
    temp.photos("photos");
    let small = "--images photos --max-points 5 --learn alpha";
    let free = learned(&temp, small, "free");
    let limited = learned(
        &temp,
        &format!("{small} --image-min 0.4 --image-max 0.6"),
        "limited",
    );
    assert_ne!(free["objective"], limited["objective"]);
    temp.picture("noisy.png", 16, 12, 5);
    for (run, holds) in [("free", false), ("limited", true)] {
        temp.good(&format!("apply {run} noisy.png {run}.png"));
        let path = temp.path(&format!("{run}.png"));
        let picture = picture::read(&path, Colour::Luminance).expect("a picture");
        // rounding to eight bits
        let within = |value: &f64| (0.4 - 0.002..=0.6 + 0.002).contains(value);
        assert_eq!(picture.channels[0].iter().all(within), holds, "{run}");
    }
}
