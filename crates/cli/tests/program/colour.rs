//! Pictures in colour: learning from whole pictures, applying, reports and messages.

use bilevel_cli::array::{self, ArrayValues};
use bilevel_cli::picture::{self, Colour, Depth};

use crate::scene::TempDir;

/// The names of the learned parameters of a run.
fn names(temp: &TempDir, run: &str) -> Vec<String> {
    let result: serde_json::Value =
        serde_json::from_str(&temp.text(&format!("{run}/result.json"))).expect("a result");
    let parameters = result["parameters"].as_array().expect("a list");
    let name = |p: &serde_json::Value| p["parameter"]["name"].as_str().expect("a name").to_owned();
    parameters.iter().map(name).collect()
}

#[test]
fn pictures_in_colour_are_learned_applied_resumed_and_reported() {
    let temp = TempDir::new("colour");
    for seed in 0..3 {
        temp.colours(&format!("photos/{seed}.png"), 14, 12, seed);
    }
    let data = "--images photos --noise 0.1 --hold-out 1 --quiet";
    temp.good(&format!("learn denoise {data} --max-points 4 --out run"));
    assert_eq!(
        names(&temp, "run"),
        ["alpha_luminance", "alpha_chroma", "nu", "xi"]
    );
    assert!(
        temp.text("run/bilevel.toml")
            .contains("colour = \"opponent\"")
    );
    let page = temp.text("run/report.html");
    assert!(
        page.contains("alpha_chroma") && page.contains("2.png"),
        "the page"
    );
    assert!(!page.contains("(red)"));
    temp.good("report run");
    let blind = format!("learn denoise {data} --criterion gcv --learn alpha --max-points 3");
    temp.good(&format!("{blind} --out blind"));
    assert!(temp.text("blind/report.html").contains("(red)"));

    temp.colours("noisy.png", 9, 7, 5);
    let ended = temp.good("apply run noisy.png clean.png");
    assert!(ended.out.contains("from the exact minimiser"), "{ended:?}");
    let clean = picture::read(&temp.path("clean.png"), Colour::Channels).unwrap();
    assert_eq!((clean.width, clean.height, clean.channels.len()), (9, 7, 3));
    assert_ne!(clean.channels[0], clean.channels[2]);
    // arrays in colour, too
    let values: Vec<f64> = (0..4 * 5 * 3).map(|k| f64::from(k % 7) / 7.0).collect();
    array::write(
        &temp.path("noisy.npy"),
        &[4, 5, 3],
        &ArrayValues::Real(values),
    )
    .unwrap();
    temp.good("apply run noisy.npy clean.npy");
    assert_eq!(
        array::read(&temp.path("clean.npy")).unwrap().shape,
        [4, 5, 3]
    );

    temp.picture("grey.png", 9, 7, 5);
    temp.bad(
        "apply run grey.png out.png",
        3,
        &["grey.png is grey", "--colour grey"],
    );

    temp.good(&format!("learn denoise {data} --max-points 2 --out parts"));
    temp.good("resume parts --max-points 4 --quiet");
    let parameters = |run: &str| temp.text(&format!("{run}/result.json"));
    let values = |text: &str| {
        let result: serde_json::Value = serde_json::from_str(text).unwrap();
        result["parameters"].clone()
    };
    assert_eq!(values(&parameters("run")), values(&parameters("parts")));
}

#[test]
fn filter_banks_see_luminance_and_chroma() {
    let temp = TempDir::new("colour-filters");
    let flags = "--filters dct3 --colour opponent --size 24 --count 3 --hold-out 1 \
                 --patches 1 --patch-size 12";
    let ended = temp.good(&format!("learn denoise {flags} --max-points 3 --out run"));
    assert!(ended.out.contains("than with total variation"), "{ended:?}");
    let page = temp.text("run/report.html");
    for part in [
        "16 cosine filters of 3 × 3 pixels",
        "Filters of the luminance",
        "Filters of the chroma",
        "alpha_chroma =",
    ] {
        assert!(page.contains(part), "{part} is not on the page");
    }
    assert_eq!(page.matches("class=\"taps\"").count(), 16);
    temp.colours("noisy.png", 15, 11, 5);
    temp.good("apply run noisy.png clean.png");
}

#[test]
fn grey_pictures_and_mixed_folders() {
    let temp = TempDir::new("colour-mixed");
    temp.colours("photos/a.png", 8, 8, 0);
    temp.picture("photos/b.png", 8, 8, 1);
    let learn = "learn denoise --images photos --max-points 2";
    let ended = temp.good(&format!("{learn} --out mixed"));
    let warning = "photos has 1 picture in colour and 1 in grey";
    assert!(ended.err.contains(warning), "{ended:?}");
    assert_eq!(names(&temp, "mixed"), ["alpha", "nu", "xi"]);
    temp.bad(
        &format!("{learn} --colour opponent --out run"),
        3,
        &["b.png is grey", "--colour grey"],
    );
    temp.good(&format!("{learn} --colour channels --quiet --out channels"));
    assert_eq!(names(&temp, "channels"), ["alpha", "nu", "xi"]);
}

#[test]
fn settings_that_do_not_fit_colours_are_refused() {
    let temp = TempDir::new("colour-bad");
    temp.picture("mask.png", 8, 8, 1);
    let bad = |flags: &str, code: i32, parts: &[&str]| {
        temp.bad(&format!("learn {flags} --out run"), code, parts);
    };
    bad(
        "inpaint --mask mask.png --colour opponent",
        3,
        &["mask.png", "8 x 8"],
    );
    bad("denoise --colour red", 2, &["--colour", "opponent"]);
    bad(
        "denoise --colour opponent --learn beta",
        2,
        &["beta", "alpha_luminance, alpha_chroma, nu, xi"],
    );
    bad(
        "denoise --learn alpha_chroma",
        2,
        &["alpha_chroma", "alpha, nu, xi"],
    );
    let plane = [0.5; 4];
    let path = temp.path("photos/a.png");
    std::fs::create_dir_all(temp.path("photos")).unwrap();
    let planes = [&plane[..], &plane, &plane];
    picture::write(&path, 2, 2, &planes, Depth::Eight).unwrap();
    let flags = "--learn alpha --fix alpha_chroma=0.1,nu=0.1,xi=0.01 --max-points 2 --quiet";
    temp.good(&format!("learn denoise --images photos {flags} --out one"));
    assert_eq!(names(&temp, "one"), ["alpha_luminance"]);
}
