//! Pixels that were not measured: NaN in files.

use std::fs;

use bilevel_cli::array::{self, ArrayValues};

use crate::scene::TempDir;

/// A smooth picture with an edge.
fn picture(shift: usize) -> Vec<f64> {
    let value = |j: usize| 0.3 + 0.02 * (j / 12) as f64 + 0.3 * f64::from(u8::from(j % 12 > shift));
    (0..144).map(value).collect()
}

/// The same picture with waves in place of noise, which lacks some pixels.
fn measured(shift: usize) -> Vec<f64> {
    let wave = |(j, x): (usize, f64)| match j % 7 == shift {
        true => f64::NAN,
        false => x + 0.05 * (9.0 * (j * j) as f64).sin(),
    };
    picture(shift).into_iter().enumerate().map(wave).collect()
}

#[test]
fn missing_pixels_are_left_out_and_filled_in() {
    let temp = TempDir::new("missing");
    for folder in ["truth", "noisy"] {
        fs::create_dir(temp.path(folder)).expect("a new folder");
    }
    for shift in [3, 5] {
        temp.array(&format!("truth/{shift}.npy"), &[12, 12], picture(shift));
        temp.array(&format!("noisy/{shift}.npy"), &[12, 12], measured(shift));
    }
    let few = "--learn alpha --fix nu=1e-2,xi=1e-3 --max-points 8";
    let runs = [
        "learn denoise --images truth --noisy noisy",
        "learn denoise --truth none --noisy noisy --noise 0.05",
        "learn denoise --truth none --noisy noisy --noise 0.05 --per-picture",
        "learn deblur --kernel gaussian:0.4 --images truth --noisy noisy",
        "learn denoise --slices volume --images truth --noisy noisy",
    ];
    for (index, run) in runs.into_iter().enumerate() {
        let ended = temp.good(&format!("{run} {few} --out run{index}"));
        let warning = "21 values of 144 in 3.npy were not measured (NaN), and are filled in";
        assert!(ended.err.contains(warning), "{ended:?}");
        let ended = temp.good(&format!("apply run{index} noisy/3.npy filled.npy"));
        assert!(ended.err.contains("21 values of 144"), "{ended:?}");
        let ArrayValues::Real(filled) = array::read(&temp.path("filled.npy")).unwrap().values
        else {
            panic!("real numbers");
        };
        let errors = filled
            .iter()
            .zip(picture(3))
            .map(|(x, truth)| (x - truth).powi(2));
        let mse = errors.sum::<f64>() / 144.0;
        assert!(mse < 0.01, "run{index}: {mse}");
    }

    let filters = "learn denoise --images truth --noisy noisy --filters dct3 --out r";
    temp.bad(filters, 3, &["3.npy", "NaN", "bilevel learn inpaint"]);
    temp.bad("learn denoise --images noisy --out r", 3, &["3.npy", "NaN"]);
    temp.bad(
        "denoise noisy/3.npy x.npy",
        3,
        &["3.npy", "NaN", "bilevel apply"],
    );
    let blind = "learn denoise --truth none --noisy noisy --out r";
    temp.bad(blind, 3, &["noise of 3.npy", "--noise"]);
    temp.array("none.npy", &[2, 2], vec![f64::NAN; 4]);
    temp.bad("apply run0 none.npy x.npy", 3, &["none.npy", "missing"]);
}

#[test]
fn counts_are_in_another_unit() {
    let temp = TempDir::new("counts");
    let frames =
        (0..4 * 144).map(|j| f64::from(j % 7) + 30.0 + 40.0 * f64::from(u8::from(j % 12 > 5)));
    temp.array("counts.npy", &[4, 12, 12], frames.collect());
    let few = "--learn alpha --fix nu=1e-2,xi=1e-3 --max-points 2 --out run";
    let ended = temp.good(&format!(
        "learn denoise --truth none --noisy counts.npy --noise poisson:1,2 {few}"
    ));
    for part in ["lie between", "divide the pictures", "gain, read noise"] {
        assert!(ended.err.contains(part), "{part}: {ended:?}");
    }
}
