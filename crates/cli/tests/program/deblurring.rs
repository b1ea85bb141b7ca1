//! Deblurring and inpainting: filter banks, learned widths, dead pixels, colours and messages.

use bilevel_cli::array::{self, ArrayValues};
use bilevel_cli::picture::{self, Colour};

use crate::scene::TempDir;

/// The value of a learned parameter of a run.
fn value(temp: &TempDir, run: &str, name: &str) -> f64 {
    let result: serde_json::Value =
        serde_json::from_str(&temp.text(&format!("{run}/result.json"))).expect("a result");
    let parameters = result["parameters"].as_array().expect("a list");
    let found = parameters.iter().find(|p| p["parameter"]["name"] == name);
    let found = found.unwrap_or_else(|| panic!("{name}: {parameters:?}"));
    let value = &found["value"];
    let one = value.get(0).unwrap_or(value);
    one.as_f64().unwrap_or_else(|| panic!("{found}"))
}

#[test]
fn banks_deblur_and_inpaint() {
    let temp = TempDir::new("deblur-filters");
    let flags = "--filters dct3 --size 20 --count 4 --hold-out 1 --max-points 3";
    let learn = "learn deblur --kernel disc:1 --patches 1 --patch-size 12";
    let ended = temp.good(&format!("{learn} {flags} --out run"));
    for part in [
        "alpha[7] =",
        "strongly convex, with the proved constants μ = 1e-4",
        "than with total variation",
    ] {
        assert!(ended.out.contains(part), "{part}: {ended:?}");
    }
    let page = temp.text("run/report.html");
    assert_eq!(page.matches("class=\"taps\"").count(), 8);
    assert!(page.contains("Gain over total variation"));
    temp.picture("blurred.png", 17, 13, 7);
    let ended = temp.good("apply run blurred.png sharp.png");
    assert!(ended.out.contains("from the exact minimiser"), "{ended:?}");
    temp.good("apply run blurred.png other.png --kernel disc:1.5 --quiet");

    temp.array(
        "mask.npy",
        &[20, 20],
        (0..400).map(|k| f64::from(k % 3 != 1)).collect(),
    );
    let ended = temp.good(&format!("learn inpaint --mask mask.npy {flags} --out fill"));
    assert!(ended.out.contains("μ = 0.001"), "{ended:?}");
}

#[test]
fn widths_are_learned_and_applied() {
    let temp = TempDir::new("deblur-width");
    let learn = "learn deblur --kernel gaussian:1 --size 24 --count 2 --learn alpha,width";
    temp.good(&format!("{learn} --start width=0.8 --quiet --out run"));
    let width = value(&temp, "run", "width");
    assert!((width - 1.0).abs() < 0.25, "{width}");
    assert!(temp.text("run/report.html").contains("width"));
    temp.picture("blurred.png", 21, 17, 7);
    temp.good("apply run blurred.png sharp.png --quiet");
    temp.bad(
        "apply run blurred.png other.png --kernel gaussian:2",
        2,
        &["has learned the width", "leave --kernel out"],
    );
    temp.good(&format!("{learn} --max-points 2 --quiet --out parts"));
    temp.good("resume parts --max-points 3 --quiet");

    temp.array("kernel.npy", &[3, 3], vec![1.0 / 9.0; 9]);
    for kernel in ["kernel.npy", "motion:5@0"] {
        let learn = format!("learn deblur --kernel {kernel} --learn width --out bad");
        temp.bad(&learn, 2, &["width", kernel, "gaussian:2"]);
    }
    temp.bad(
        &format!("{learn} --upper width=5000 --out bad"),
        2,
        &["width", "between 0.1 and 1000"],
    );
    temp.bad(&format!("{learn} --fix width=1 --out bad"), 2, &["width"]);
    temp.bad("learn denoise --learn width --out bad", 2, &["width"]);
}

/// Dead pixels do not change the result, whatever their values are.
#[test]
fn dead_pixels_are_ignored() {
    let temp = TempDir::new("deblur-mask");
    let learn = "learn deblur --kernel disc:1 --size 20 --count 2 --max-points 3 --quiet";
    let is_good = |k: usize| k % 19 != 5;
    let mask = (0..400).map(|k| f64::from(is_good(k))).collect();
    temp.array("mask.npy", &[20, 20], mask);
    temp.good(&format!("{learn} --mask mask.npy --out run"));
    let apply = |dead: f64| {
        let values = (0..400).map(|k| if is_good(k) { 0.001 * k as f64 } else { dead });
        let values = ArrayValues::Real(values.collect());
        array::write(&temp.path("blurred.npy"), &[20, 20], &values).unwrap();
        temp.good("apply run blurred.npy sharp.npy --quiet");
        let sharp = picture::read(&temp.path("sharp.npy"), Colour::Channels).unwrap();
        std::fs::remove_file(temp.path("sharp.npy")).unwrap();
        sharp.channels
    };
    assert_eq!(apply(0.0), apply(1.0));

    temp.array("zero.npy", &[20, 20], vec![0.0; 400]);
    temp.bad(
        &format!("{learn} --mask zero.npy --out bad"),
        3,
        &["zero.npy"],
    );
    temp.array("small.npy", &[4, 4], vec![1.0; 16]);
    temp.bad(
        &format!("{learn} --mask small.npy --out bad"),
        3,
        &["small.npy", "4 x 4", "20 x 20"],
    );
    temp.bad(
        "learn denoise --mask mask.npy --out bad",
        2,
        &["--mask", "deblur"],
    );
}

#[test]
fn colours_are_deblurred_and_filled_in_as_a_whole() {
    let temp = TempDir::new("deblur-colour");
    for seed in 0..2 {
        temp.colours(&format!("photos/{seed}.png"), 16, 14, seed);
    }
    let flags = "--images photos --hold-out 1 --max-points 3 --quiet";
    temp.good(&format!("learn deblur --kernel disc:1 {flags} --out run"));
    assert!(value(&temp, "run", "alpha_chroma") > 0.0);
    temp.colours("blurred.png", 11, 9, 5);
    temp.good("apply run blurred.png sharp.png");
    let sharp = picture::read(&temp.path("sharp.png"), Colour::Channels).unwrap();
    assert_eq!(
        (sharp.width, sharp.height, sharp.channels.len()),
        (11, 9, 3)
    );

    temp.array(
        "mask.npy",
        &[14, 16],
        (0..224).map(|k| f64::from(k % 3 != 1)).collect(),
    );
    let filters = "--filters dct3 --mask mask.npy";
    temp.good(&format!("learn inpaint {filters} {flags} --out fill"));
    assert!(value(&temp, "fill", "alpha_chroma") > 0.0);
    temp.good("apply fill photos/0.png filled.png --quiet");
}
