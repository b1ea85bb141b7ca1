//! Learning from files, for every task.

use std::fs;

use bilevel_cli::array::{self, ArrayValues};

use crate::scene::TempDir;

/// Returns the names of the learned parameters.
fn parameters(temp: &TempDir, run: &str) -> Vec<String> {
    let text = temp.text(&format!("{run}/result.json"));
    let result: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let parameters = result["parameters"].as_array().expect("a list");
    let name = |p: &serde_json::Value| p["parameter"]["name"].as_str().expect("a name").to_owned();
    parameters.iter().map(name).collect()
}

/// Checks that the page exists and names all learned parameters.
fn check_page(temp: &TempDir, run: &str, names: &[&str]) {
    assert_eq!(parameters(temp, run), names);
    let page = temp.text(&format!("{run}/report.html"));
    assert!(page.trim_end().ends_with("</html>"), "{run}");
    for name in names {
        assert!(page.contains(name), "{name}");
    }
}

#[test]
fn denoise() {
    let temp = TempDir::new("denoise");
    temp.photos("photos");
    let ended = temp.good("learn denoise --images photos --max-points 8 --out run");
    check_page(&temp, "run", &["alpha", "nu", "xi"]);
    for part in [
        "alpha = ",
        "Mean PSNR of 2 training images",
        " dB after, gain ",
        "Report (open it in a browser): run/report.html",
        "apply run noisy.png clean.png",
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
        assert!(temp.path("run").join(name).exists(), "{name}");
    }
    // paths hold wherever the next command is given
    let images = temp.path("photos").display().to_string();
    assert!(temp.text("run/bilevel.toml").contains(&images));
}

#[test]
fn denoise_measured_pairs() {
    let temp = TempDir::new("measured");
    temp.photos("clean");
    for seed in 0..2 {
        temp.picture(&format!("noisy/{seed}.tif"), 12, 10, seed + 1);
    }
    let args = "learn denoise --images clean --noisy noisy --learn alpha --fix nu=1e-2,xi=1e-3 \
                --max-points 8 --out run";
    temp.good(args);
    check_page(&temp, "run", &["alpha"]);
}

#[test]
fn denoise_without_truth() {
    let temp = TempDir::new("blind");
    fs::create_dir(temp.path("measured")).expect("a new folder");
    for index in 0..2_usize {
        // a ramp with numbers that look random
        let value = |j: usize| 0.3 + 0.01 * (j % 24) as f64 + 0.05 * (7.0 * (j * j) as f64).sin();
        let values = (0..24 * 24).map(|j| value(j + 1000 * index)).collect();
        temp.array(&format!("measured/{index}.npy"), &[24, 24], values);
    }
    let blind = "learn denoise --truth none --noisy measured --learn alpha --fix nu=1e-2,xi=1e-3 \
                 --max-points 8";
    let ended = temp.good(&format!("{blind} --out run"));
    check_page(&temp, "run", &["alpha"]);
    assert!(
        ended.err.contains("Estimated noise of the pictures: "),
        "{ended:?}"
    );
    assert!(ended.out.contains("Estimated mean PSNR of "), "{ended:?}");
    assert!(!ended.out.contains("Mean PSNR"), "{ended:?}");
    assert!(!ended.out.contains("or learn from"), "{ended:?}");
    let page = temp.text("run/report.html");
    for part in [
        "learned without truth",
        "not certified",
        "estimated PSNR",
        "certainly",
        "data: 0.npy",
        "reconstruction: 0.npy",
    ] {
        assert!(page.contains(part), "{part}");
    }
    temp.good("apply run measured/0.npy clean.png");
    // Only built-in images are known to lie between 0 and 1.
    temp.array("counts.npy", &[3, 3], vec![40.0; 9]);
    let applied = temp.good("apply run counts.npy clean.npy");
    assert!(!applied.err.contains("warning"), "{applied:?}");
    temp.good("resume run --max-points 9");

    let known = temp.good(&format!("{blind} --noise 0.2 --out known"));
    assert!(!known.err.contains("Estimated noise"), "{known:?}");
    let unknown = temp.good(&format!("{blind} --criterion gcv --out unknown"));
    assert!(!unknown.err.contains("Estimated noise"), "{unknown:?}");
}

/// Pictures with more noise get a larger weight of their own.
#[test]
fn denoise_each_picture() {
    let temp = TempDir::new("each");
    fs::create_dir(temp.path("measured")).expect("a new folder");
    for (index, noise) in [0.02, 0.1].into_iter().enumerate() {
        let value = |j: usize| 0.3 + 0.01 * (j % 24) as f64 + noise * (7.0 * (j * j) as f64).sin();
        let values = (0..24 * 24).map(value).collect();
        temp.array(&format!("measured/{index}.npy"), &[24, 24], values);
    }
    let each = "learn denoise --truth none --per-picture --noisy measured --learn alpha \
                --fix nu=1e-2,xi=1e-3 --max-points 12";
    let ended = temp.good(&format!("{each} --out run --threads 2"));
    for part in ["0.npy: alpha = ", "1.npy: alpha = ", "apply run "] {
        assert!(ended.out.contains(part), "{ended:?}");
    }
    let pictures: serde_json::Value =
        serde_json::from_str(&temp.text("run/pictures.json")).expect("JSON");
    let alpha = |index: usize| {
        let value = &pictures[index]["learned"]["parameters"][0]["value"];
        value.as_f64().expect("a number")
    };
    assert!(alpha(1) > 2.0 * alpha(0), "{} {}", alpha(0), alpha(1));
    temp.good(&format!("{each} --out again --threads 1 -q"));
    assert_eq!(
        temp.text("run/pictures.json"),
        temp.text("again/pictures.json")
    );

    // each picture has the parameters that it would have alone
    let alone = each.replace("--per-picture --noisy measured", "--noisy measured/1.npy");
    temp.good(&format!("{alone} --out alone -q"));
    temp.good("apply run measured clean -q");
    temp.good("apply alone measured/1.npy alone.npy -q");
    assert_eq!(temp.bytes("clean/1.npy"), temp.bytes("alone.npy"));

    temp.array("other.npy", &[2, 2], vec![0.0; 4]);
    let parts = ["no parameters for other.npy", "0.npy, 1.npy"];
    temp.bad("apply run other.npy x.npy", 3, &parts);
    temp.bad("resume run", 4, &["each picture", "apply run"]);
    let page = temp.text("run/report.html");
    for part in [
        "alpha",
        "0.npy",
        "1.npy",
        ">noise</th>",
        "<svg",
        "data:image/png",
        "data: 0.npy",
        "reconstruction: 0.npy",
        "estimated PSNR is not certified",
        " ± ",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(page.trim_end().ends_with("</html>"));
    fs::remove_file(temp.path("run/report.html")).expect("a page");
    let quiet = temp.good("report run -q");
    assert_eq!((&quiet.out[..], &quiet.err[..]), ("", ""));
    assert_eq!(temp.text("run/report.html"), page);
    temp.bad(&format!("{each} --hold-out 1 --out r"), 2, &["--hold-out"]);
    temp.bad(&format!("{each} --out run"), 4, &["run"]);
}

#[test]
fn deblur() {
    let temp = TempDir::new("deblur");
    temp.photos("photos");
    temp.array("kernel.npy", &[3, 3], vec![1.0 / 9.0; 9]);
    temp.good("learn deblur --images photos --kernel kernel.npy --max-points 8 -q --out run");
    check_page(&temp, "run", &["alpha", "nu"]);
    temp.good("apply run photos/0.png sharp.png --quiet");

    // a kernel by its name, and the same one from a picture
    let args = "learn deblur --images photos --kernel disc:1 --max-points 5 -q --out named";
    temp.good(args);
    temp.good("apply named photos/0.png named.png --quiet");
    assert_ne!(temp.bytes("sharp.png"), temp.bytes("named.png"));
    temp.good("apply run photos/0.png other.png --kernel disc:1 --quiet");

    // another blur, which is not a mean
    temp.array("bright.npy", &[1, 2], vec![1.0, 1.0]);
    let args = "learn deblur --images photos --kernel bright.npy --max-points 8 --out bright";
    let ended = temp.good(args);
    for part in ["warning", "bright.npy sums to 2"] {
        assert!(ended.err.contains(part), "{ended:?}");
    }
    temp.good("apply run photos/0.png b.png --kernel bright.npy --quiet");
    assert_ne!(temp.bytes("sharp.png"), temp.bytes("b.png"));
}

#[test]
fn inpaint() {
    let temp = TempDir::new("inpaint");
    temp.photos("photos");
    temp.picture("mask.png", 12, 10, 4);
    temp.good("learn inpaint --images photos --mask mask.png --max-points 8 -q --out run");
    check_page(&temp, "run", &["alpha", "nu", "xi"]);
    temp.good("apply run photos/0.png filled.png");

    temp.picture("large.png", 20, 20, 0);
    let parts = ["mask.png", "12 x 10", "large.png", "20 x 20", "same size"];
    temp.bad("apply run large.png out.png", 3, &parts);
    temp.picture("large-mask.png", 20, 20, 1);
    temp.good("apply run large.png out.png --mask large-mask.png");
}

#[test]
fn sampling() {
    let temp = TempDir::new("sampling");
    let signal = |index: usize| {
        if index % 16 < 5 + index / 16 {
            1.0
        } else {
            0.0
        }
    };
    temp.array("signals.npy", &[2, 16], (0..32).map(signal).collect());
    temp.good("learn sampling --images signals.npy --max-points 24 -q --out run");
    assert_eq!(parameters(&temp, "run"), ["theta"]);
    assert!(temp.text("run/report.html").contains("frequencies"));

    let frequencies = ArrayValues::Complex((0..64).map(|i| f64::from(i % 7)).collect());
    array::write(&temp.path("f.npy"), &[2, 16], &frequencies).unwrap();
    temp.good("apply run f.npy x.npy");
    assert_eq!(array::read(&temp.path("x.npy")).unwrap().shape, [2, 16]);
    fs::create_dir(temp.path("many")).unwrap();
    fs::copy(temp.path("f.npy"), temp.path("many/f.npy")).unwrap();
    temp.good("apply run many out");
    assert_eq!(temp.bytes("out/f.npy"), temp.bytes("x.npy"));

    temp.array("real.npy", &[2, 16], vec![0.0; 32]);
    let parts = ["real.npy", "is real", "complex"];
    temp.bad("apply run real.npy y.npy", 3, &parts);
    let short = ArrayValues::Complex(vec![0.0; 8]);
    array::write(&temp.path("short.npy"), &[1, 4], &short).unwrap();
    temp.bad("apply run short.npy y.npy", 3, &["short.npy", "4", "16"]);
}
