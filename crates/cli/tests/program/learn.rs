//! Learning from files, for every task.

use std::fs;

use bilevel_cli::array::{self, Values};

use crate::scene::Place;

/// The names of what was learned.
fn parameters(place: &Place, run: &str) -> Vec<String> {
    let text = place.text(&format!("{run}/result.json"));
    let result: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let parameters = result["parameters"].as_array().expect("a list");
    let name = |p: &serde_json::Value| p["parameter"]["name"].as_str().expect("a name").to_owned();
    parameters.iter().map(name).collect()
}

/// The page is there and names all that was learned.
fn check_page(place: &Place, run: &str, names: &[&str]) {
    assert_eq!(parameters(place, run), names);
    let page = place.text(&format!("{run}/report.html"));
    assert!(page.trim_end().ends_with("</html>"), "{run}");
    for name in names {
        assert!(page.contains(name), "{name}");
    }
}

#[test]
fn denoise() {
    let place = Place::new("denoise");
    place.photos("photos");
    let ended = place.good("learn denoise --images photos --evaluations 8 --out run");
    check_page(&place, "run", &["alpha", "nu", "xi"]);
    for part in [
        "alpha = ",
        "PSNR of 2 training images",
        "report: run/report.html",
    ] {
        assert!(ended.out.contains(part), "{part}: {ended:?}");
    }
    assert!(ended.err.contains("8/8 points"), "{ended:?}");
    for name in [
        "bilevel.toml",
        "engine.bin",
        "history.jsonl",
        "lock",
        "states",
    ] {
        assert!(place.path("run").join(name).exists(), "{name}");
    }
    // paths hold wherever the next command is given
    let images = place.path("photos").display().to_string();
    assert!(place.text("run/bilevel.toml").contains(&images));
}

#[test]
fn denoise_measured_pairs() {
    let place = Place::new("measured");
    place.photos("clean");
    for seed in 0..2 {
        place.picture(&format!("noisy/{seed}.tif"), 12, 10, seed + 1);
    }
    let args = "learn denoise --images clean --noisy noisy --learn alpha --fix nu=1e-2,xi=1e-3 \
                --evaluations 8 --out run";
    place.good(args);
    check_page(&place, "run", &["alpha"]);
}

#[test]
fn deblur() {
    let place = Place::new("deblur");
    place.photos("photos");
    place.array("kernel.npy", &[3, 3], vec![1.0 / 9.0; 9]);
    place.good("learn deblur --images photos --kernel kernel.npy --evaluations 8 -q --out run");
    check_page(&place, "run", &["alpha", "nu", "xi"]);
    place.good("apply run photos/0.png sharp.png --quiet");

    // another blur, which is not a mean
    place.array("bright.npy", &[1, 2], vec![1.0, 1.0]);
    let args = "learn deblur --images photos --kernel bright.npy --evaluations 8 --out bright";
    let ended = place.good(args);
    for part in ["warning", "bright.npy sums to 2"] {
        assert!(ended.err.contains(part), "{ended:?}");
    }
    place.good("apply run photos/0.png b.png --kernel bright.npy --quiet");
    assert_ne!(place.bytes("sharp.png"), place.bytes("b.png"));
}

#[test]
fn inpaint() {
    let place = Place::new("inpaint");
    place.photos("photos");
    place.picture("mask.png", 12, 10, 4);
    place.good("learn inpaint --images photos --mask mask.png --evaluations 8 -q --out run");
    check_page(&place, "run", &["alpha", "nu", "xi"]);
    place.good("apply run photos/0.png filled.png");

    place.picture("large.png", 20, 20, 0);
    let parts = ["mask.png", "12 x 10", "large.png", "20 x 20", "same size"];
    place.bad("apply run large.png out.png", 3, &parts);
    place.picture("large-mask.png", 20, 20, 1);
    place.good("apply run large.png out.png --mask large-mask.png");
}

#[test]
fn sampling() {
    let place = Place::new("sampling");
    let signal = |index: usize| {
        if index % 16 < 5 + index / 16 {
            1.0
        } else {
            0.0
        }
    };
    place.array("signals.npy", &[2, 16], (0..32).map(signal).collect());
    place.good("learn sampling --images signals.npy --evaluations 24 -q --out run");
    let names = parameters(&place, "run");
    assert_eq!(names.len(), 16);
    assert!(place.text("run/report.html").contains("frequencies"));

    let frequencies = Values::Complex((0..64).map(|i| f64::from(i % 7)).collect());
    array::write(&place.path("f.npy"), &[2, 16], &frequencies).unwrap();
    place.good("apply run f.npy x.npy");
    assert_eq!(array::read(&place.path("x.npy")).unwrap().shape, [2, 16]);
    fs::create_dir(place.path("many")).unwrap();
    fs::copy(place.path("f.npy"), place.path("many/f.npy")).unwrap();
    place.good("apply run many out");
    assert_eq!(place.bytes("out/f.npy"), place.bytes("x.npy"));

    place.array("real.npy", &[2, 16], vec![0.0; 32]);
    let parts = ["real.npy", "is real", "complex"];
    place.bad("apply run real.npy y.npy", 3, &parts);
    let short = Values::Complex(vec![0.0; 8]);
    array::write(&place.path("short.npy"), &[1, 4], &short).unwrap();
    place.bad("apply run short.npy y.npy", 3, &["short.npy", "4", "16"]);
}
