//! Options of `learn`, and what they change.

use bilevel_cli::picture::{self, Colour};
use serde_json::Value;

use crate::scene::Place;

/// Learns, and gives the result.
fn learned(place: &Place, args: &str, run: &str) -> Value {
    place.good(&format!("learn denoise {args} --quiet --out {run}"));
    assert!(place.path(run).join("report.html").is_file(), "{args}");
    serde_json::from_str(&place.text(&format!("{run}/result.json"))).expect("JSON")
}

fn len(value: &Value) -> usize {
    value.as_array().expect("a list").len()
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

#[test]
fn images_of_all_kinds() {
    let place = Place::new("kinds");
    place.photos("photos");
    place.picture("photos/wide.tif", 20, 7, 2);
    place.colours("photos/colours.png", 9, 11, 3);
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
        place.picture("others/a.png", 8, 8, 7);
        let run = format!("run{training}{validation}{}", args.len());
        let args = format!("--images photos --evaluations 5 {args}");
        let result = learned(&place, &args, &run);
        assert_eq!(len(&result["training"]), training, "{args}");
        assert_eq!(len(&result["validation"]), validation, "{args}");
    }
}

#[test]
fn fixed_iterations_and_sums() {
    let place = Place::new("sums");
    let small = "--size 16 --count 2 --evaluations 6 --iterations 50";
    let mean = learned(&place, small, "mean");
    let works = mean["evaluations"].as_array().unwrap().iter();
    let works: Vec<u64> = works.filter_map(|made| made["work"].as_u64()).collect();
    // two images, and perhaps a gradient more for each
    assert!(!works.is_empty());
    assert!(works.iter().all(|work| *work == works[0]), "{works:?}");
    assert!((100..=104).contains(&works[0]), "{works:?}");

    let sum = learned(&place, &format!("{small} --objective sum"), "sum");
    let first = |result: &Value| number(&result["evaluations"][0]["objective"]["Ok"]);
    let ratio = first(&sum) / first(&mean);
    assert!((ratio - 2.0).abs() < 1e-12, "{ratio}");
}

#[test]
fn other_ways_to_solve() {
    let place = Place::new("ways");
    let small = "--size 12 --count 3 --evaluations 8";
    let usual = learned(&place, small, "usual");
    for (index, args) in [
        "--method gd --fix xi=0.1 --lower nu=1e-3 --max-iterations 2000",
        "--residuals image",
        "--residuals pixel --noise 0.2",
        "--seed 2",
        "--penalty-condition 1e-6",
        "--start alpha=0.1",
    ]
    .into_iter()
    .enumerate()
    {
        let result = learned(&place, &format!("{small} {args}"), &format!("run{index}"));
        assert_ne!(result["evaluations"], usual["evaluations"], "{args}");
        assert!(number(&result["objective"]).is_finite(), "{args}");
    }
}

#[test]
fn threads_do_not_matter() {
    let place = Place::new("threads");
    let small = "--size 20 --count 5 --hold-out 2 --evaluations 8";
    for threads in [1, 2, 3] {
        let args = format!("{small} --threads {threads}");
        let _ = learned(&place, &args, &format!("run{threads}"));
    }
    let _ = learned(&place, small, "run");
    for threads in 1..=3 {
        let name = format!("run{threads}/result.json");
        assert!(
            place.bytes(&name) == place.bytes("run/result.json"),
            "{name}"
        );
    }
}

#[test]
fn printed_settings_give_the_same_run() {
    let place = Place::new("printed");
    place.photos("photos");
    place.picture("mask.png", 12, 10, 4);
    for (index, args) in [
        "denoise --size 16 --count 3 --hold-out 1 --evaluations 8 --residuals pixel --seed 5",
        "denoise --images photos --crop 8 --learn alpha,nu --fix xi=1e-2 --upper alpha=3 --evaluations 6",
        "inpaint --images photos --mask mask.png --iterations 30 --evaluations 6 --method gd",
        "sampling --size 8 --count 2 --evaluations 12 --penalty-l1 0.02 --l1-kind nonsmooth",
    ]
    .into_iter()
    .enumerate()
    {
        let printed = place.good(&format!("learn {args} --print-config"));
        assert!(printed.err.is_empty(), "{printed:?}");
        place.file("settings.toml", printed.out.as_bytes());
        let again = place.good("learn --config settings.toml --print-config");
        assert_eq!(again.out, printed.out);
        let (flags, file) = (format!("flags{index}"), format!("file{index}"));
        place.good(&format!("learn {args} -q --out {flags}"));
        place.good(&format!("learn --config settings.toml -q --out {file}"));
        for name in ["result.json", "bilevel.toml"] {
            let of = |run: &str| place.text(&format!("{run}/{name}"));
            assert!(of(&flags) == of(&file), "{args}: {name}");
        }
        // the settings of a run are settings, too
        place.good(&format!("learn --config {file}/bilevel.toml -q --out third{index}"));
        let of = |run: &str| place.bytes(&format!("{run}/result.json"));
        assert!(of(&file) == of(&format!("third{index}")), "{args}");
    }
}

/// Limits of pixel values hold when parameters are learned, and when they are applied.
#[test]
fn limits_of_pixel_values() {
    let place = Place::new("limits");
    place.photos("photos");
    let small = "--images photos --evaluations 5 --learn alpha";
    let free = learned(&place, small, "free");
    let limited = learned(
        &place,
        &format!("{small} --image-min 0.4 --image-max 0.6"),
        "limited",
    );
    assert_ne!(free["objective"], limited["objective"]);
    place.picture("noisy.png", 16, 12, 5);
    for (run, holds) in [("free", false), ("limited", true)] {
        place.good(&format!("apply {run} noisy.png {run}.png"));
        let path = place.path(&format!("{run}.png"));
        let picture = picture::read(&path, Colour::Luminance).expect("a picture");
        // rounding to eight bits
        let within = |value: &f64| (0.4 - 0.002..=0.6 + 0.002).contains(value);
        assert_eq!(picture.channels[0].iter().all(within), holds, "{run}");
    }
}
