//! Runs written by hand, applied to tiny pictures.

use super::*;
use crate::store::Store;
use crate::temp_dir::TempDir;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Applies a run, without looking at its progress.
fn apply(
    run: &Path,
    input: &Path,
    output: &Path,
    options: &ApplyOptions,
) -> Result<Vec<Applied>, CliError> {
    super::apply(run, input, output, options, &|_| {})
}

/// A folder with the run `run`, which is removed when it is dropped.
fn folder_with_run(name: &str, settings: &str, parameters: &[(&str, f64)]) -> TempDir {
    let temp = TempDir::new(name);
    let store = Store::create(&temp.at("run"), settings).expect("a run for tests");
    let parameters: Vec<serde_json::Value> = (parameters.iter())
        .map(|(name, value)| {
            let theta = value.log10();
            let map = "log10";
            serde_json::json!({
                "value": value, "theta": theta, "at": null, "influence": null,
                "parameter": { "name": name, "map": map, "start": theta, "lower": -7.0, "upper": 7.0 },
            })
        })
        .collect();
    let result = serde_json::json!({ "objective": 1.0, "parameters": parameters });
    (store.write_text(RESULT, &result.to_string())).expect("a result for tests");
    temp
}

const DENOISE: &str = "task = \"denoise\"\n";
const PARAMETERS: [(&str, f64); 3] = [("alpha", 10.0), ("nu", 0.01), ("xi", 1e-3)];

fn write(path: &Path, planes: &[&[f64]]) {
    picture::write(path, 3, 2, planes, Depth::Eight).expect("a picture for tests");
}

#[test]
fn pictures_become_smooth_and_keep_their_colours() {
    let temp = folder_with_run("colours", DENOISE, &PARAMETERS);
    let input = temp.at("in.png");
    let planes: [&[f64]; 3] = [
        &[0.0, 0.2, 0.0, 0.2, 0.0, 0.2],
        &[0.4, 0.6, 0.4, 0.6, 0.4, 0.6],
        &[0.8; 6],
    ];
    write(&input, &planes);
    let output = temp.at("out.png");
    let options = ApplyOptions {
        accuracy: 1e-5,
        depth: Some(Depth::Sixteen),
        ..ApplyOptions::default()
    };
    let applied = apply(&temp.at("run"), &input, &output, &options).unwrap();
    assert_eq!(applied.len(), 1);
    assert_eq!((&applied[0].input, &applied[0].output), (&input, &output));
    assert!(applied[0].reached && applied[0].error <= 1.001e-5);
    assert!(applied[0].iterations > 0);
    let made = picture::read(&output, Colour::Channels).unwrap();
    // With so much weight each channel is flat, at its mean over 1 + xi.
    for (plane, level) in made.channels.iter().zip([0.1, 0.5, 0.8]) {
        for value in plane {
            assert!((value - level / 1.001).abs() < 2e-3, "{value} {level}");
        }
    }
    // A folder as output keeps the name, and other formats become PNG.
    write(&temp.at("grey.tif"), &planes[..1]);
    let folder = temp.at("out");
    fs::create_dir(&folder).unwrap();
    let applied = apply(&temp.at("run"), &temp.at("grey.tif"), &folder, &options).unwrap();
    assert_eq!(applied[0].output, folder.join("grey.tif"));
    assert!(folder.join("grey.tif").exists());
}

#[test]
fn stacks_become_stacks() {
    let temp = folder_with_run("stacks", DENOISE, &PARAMETERS);
    let page = |level: f64| Picture {
        width: 3,
        height: 2,
        channels: vec![vec![level; 6]],
    };
    let pages = [page(0.2), page(0.6), page(0.9)];
    let (input, output) = (temp.at("in.tif"), temp.at("out.tif"));
    picture::write_pages(&input, &pages, Depth::Eight).unwrap();
    let options = ApplyOptions::default();
    let applied = apply(&temp.at("run"), &input, &output, &options).unwrap();
    assert_eq!(applied.len(), 1);
    assert!(applied[0].reached && applied[0].warnings.is_empty());
    let made = picture::read_pages(&output, Colour::Channels).unwrap();
    assert_eq!(made.len(), 3);
    for (made, page) in made.iter().zip(&pages) {
        let [made, level] = [made, page].map(|page| page.channels[0][0]);
        assert!((made - level).abs() < 3e-3, "{made} {level}");
    }
    // A camera with 12 bits in a file of 16 bits.
    let dark: Vec<f64> = (0..6).map(|i| f64::from(i) * 0.01).collect();
    write(&temp.at("dark.png"), &[&dark]);
    let applied = apply(
        &temp.at("run"),
        &temp.at("dark.png"),
        &temp.at("o.png"),
        &options,
    )
    .unwrap();
    assert!(
        applied[0].warnings[0].contains("lie between 0 and 0.051"),
        "{applied:?}"
    );

    let error = apply(&temp.at("run"), &input, &temp.at("out.png"), &options).unwrap_err();
    assert!(error.to_string().contains("name a .tif file"), "{error}");
    assert_eq!(error.exit_code(), 2);
}

#[test]
fn large_pictures_are_those_that_are_reconstructed_at_once() {
    let parameters = [("alpha", 0.1), ("nu", 0.01), ("xi", 1e-3)];
    let temp = folder_with_run("large", DENOISE, &parameters);
    let plane: Vec<f64> = (0..400).map(|i| f64::from(i * i % 256) / 255.0).collect();
    let page = Picture {
        width: 20,
        height: 20,
        channels: vec![plane.clone(), plane.clone(), plane],
    };
    let options = ApplyOptions::default();
    for (name, depth) in [("in.png", Depth::Eight), ("in.tif", Depth::Sixteen)] {
        let (input, output) = (temp.at(name), temp.at(&format!("tiles-{name}")));
        picture::write_pages(&input, std::slice::from_ref(&page), depth).unwrap();
        let reconstructor = Reconstructor::new(&temp.at("run"), &options).unwrap();
        let applied = reconstructor.large(&input, &output).unwrap();
        assert!(applied.reached && applied.error <= options.accuracy);
        let whole = temp.at(&format!("whole-{name}"));
        apply(&temp.at("run"), &input, &whole, &options).unwrap();
        let [made, whole] = [output, whole].map(|path| {
            let picture = picture::read(&path, Colour::Channels).unwrap();
            picture.channels.concat()
        });
        // root mean squares of both errors, and half a level of both files
        let apart = made
            .iter()
            .zip(&whole)
            .map(|(a, b)| (a - b).powi(2))
            .sum::<f64>();
        let apart = (apart / 1200.0).sqrt();
        assert!(apart <= 2.0 * options.accuracy + 1.0 / 255.0, "{apart}");
        assert!(made.iter().zip(&whole).all(|(a, b)| (a - b).abs() < 0.04));
    }
}

#[test]
fn blur_that_does_not_wrap_around_is_reported() {
    let settings = "task = \"deblur\"\ndata.kernel = \"none.npy\"\nmodel.boundary = \"periodic\"\n";
    let parameters = [("alpha", 1e-3), ("nu", 0.01)];
    let temp = folder_with_run("blur", settings, &parameters);
    let kernel = temp.at("k.npy");
    let values = ArrayValues::Real(vec![0.25, 0.5, 0.25]);
    array::write(&kernel, &[1, 3], &values).unwrap();
    let options = ApplyOptions {
        kernel: Some(kernel.clone()),
        ..ApplyOptions::default()
    };
    let jump = |levels: [f64; 6]| {
        let (input, output) = (temp.at("in.png"), temp.at("out.png"));
        picture::write(&input, 6, 1, &[&levels], Depth::Sixteen).unwrap();
        let applied = apply(&temp.at("run"), &input, &output, &options).unwrap();
        applied[0].warnings.clone()
    };
    assert_eq!(jump([0.2, 0.4, 0.6, 0.8, 0.6, 0.4]), [""; 0]);
    let warnings = jump([0.0, 0.2, 0.4, 0.6, 0.8, 1.0]);
    assert_eq!(warnings.len(), 1);
    assert!(
        warnings[0].contains("in.png is not periodic"),
        "{warnings:?}"
    );
    // Another kernel than that of the run is checked, too.
    let values = ArrayValues::Real(vec![1.0, 1.0, 1.0]);
    array::write(&kernel, &[1, 3], &values).unwrap();
    assert!(jump([0.5; 6])[0].contains("sums to 3"));
}

#[test]
fn a_bad_picture_does_not_stop_the_others() {
    let temp = folder_with_run("folder", DENOISE, &PARAMETERS);
    let (input, output) = (temp.at("in"), temp.at("deep/out"));
    fs::create_dir(&input).unwrap();
    write(&input.join("a.png"), &[&[0.5; 6]]);
    fs::write(input.join("b.png"), b"no picture").unwrap();
    fs::copy(input.join("a.png"), input.join("c.pgm")).unwrap();
    let seen = AtomicUsize::new(0);
    let error = super::apply(
        &temp.at("run"),
        &input,
        &output,
        &ApplyOptions::default(),
        &|_| {
            seen.fetch_add(1, Ordering::Relaxed);
        },
    );
    let error = error.unwrap_err();
    assert_eq!(seen.into_inner(), 3);
    assert_eq!(error.exit_code(), 3);
    let message = error.chain();
    assert!(message.starts_with("1 of 3 files failed:\n"), "{message}");
    assert!(message.contains("b.png cannot be used"), "{message}");
    let CliError::SomeFailed { applied, failures } = error else {
        panic!("another error");
    };
    assert_eq!(failures[0].input, input.join("b.png"));
    let outputs: Vec<&Path> = applied.iter().map(|done| &*done.output).collect();
    assert_eq!(outputs, [output.join("a.png"), output.join("c.png")]);
    assert!(outputs.iter().all(|path| path.exists()));

    fs::copy(input.join("a.png"), input.join("a.pgm")).unwrap();
    let error = apply(&temp.at("run"), &input, &output, &ApplyOptions::default()).unwrap_err();
    let message = error.to_string();
    assert!(
        message.contains("differ only in the extension"),
        "{message}"
    );
}

#[test]
fn inputs_are_not_overwritten() {
    let temp = folder_with_run("same", DENOISE, &PARAMETERS);
    let input = temp.at("in.png");
    write(&input, &[&[0.5; 6]]);
    let options = ApplyOptions::default();
    for output in [input.clone(), temp.0.clone()] {
        let error = apply(&temp.at("run"), &input, &output, &options).unwrap_err();
        assert!(
            error.to_string().contains("would be overwritten"),
            "{error}"
        );
        assert_eq!(error.exit_code(), 2);
    }
    let error = apply(&temp.at("run"), &input, &temp.at("out.jpg"), &options).unwrap_err();
    assert!(error.to_string().contains(".png, .tif"), "{error}");
    assert_eq!(error.exit_code(), 2);
    let error = apply(
        &temp.at("run"),
        &temp.at("no.png"),
        &temp.at("o.png"),
        &options,
    );
    assert_eq!(error.unwrap_err().exit_code(), 3);
}

#[test]
fn runs_must_be_finished_and_whole() {
    let temp = folder_with_run("whole", DENOISE, &PARAMETERS);
    let refusal = |options: &ApplyOptions| {
        let (input, output) = (temp.at("in.png"), temp.at("out.png"));
        let error = apply(&temp.at("run"), &input, &output, options).unwrap_err();
        (error.chain(), error.exit_code())
    };
    let options = ApplyOptions::default();
    let result = temp.at("run").join(RESULT);
    for accuracy in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let options = ApplyOptions {
            accuracy,
            ..options.clone()
        };
        let (message, code) = refusal(&options);
        assert!(message.contains("--accuracy is"), "{message}");
        assert_eq!(code, 2);
    }
    let kernel = ApplyOptions {
        kernel: Some("k.npy".into()),
        ..options.clone()
    };
    assert!(refusal(&kernel).0.contains("--kernel"));
    let text = fs::read_to_string(&result).unwrap();
    fs::write(&result, text.replace("\"nu\"", "\"mu\"")).unwrap();
    let (message, code) = refusal(&options);
    assert!(
        message.contains("alpha, mu, xi, but alpha, nu, xi are learned"),
        "{message}"
    );
    assert_eq!(code, 4);
    fs::write(&result, "{").unwrap();
    let (message, code) = refusal(&options);
    assert!(message.contains("result.json is damaged"), "{message}");
    assert_eq!(code, 4);
    fs::remove_file(&result).unwrap();
    let (message, code) = refusal(&options);
    assert!(
        message.starts_with("the run has not finished: continue it with `bilevel resume "),
        "{message}"
    );
    assert_eq!(code, 4);
    fs::remove_dir_all(temp.at("run")).unwrap();
    assert_eq!(refusal(&options).1, 4);
}

#[test]
fn masks_fill_in_what_is_missing() {
    let settings = "task = \"inpaint\"\ndata.mask = \"none.png\"\n";
    let temp = folder_with_run(
        "mask",
        settings,
        &[("alpha", 0.1), ("nu", 0.01), ("xi", 1e-6)],
    );
    let (mask, input, output) = (temp.at("m.png"), temp.at("in.png"), temp.at("out.png"));
    write(&mask, &[&[1.0, 1.0, 0.0, 1.0, 1.0, 1.0]]);
    write(&input, &[&[0.6, 0.6, 0.0, 0.6, 0.6, 0.6]]);
    let mut options = ApplyOptions::default();
    let error = apply(&temp.at("run"), &input, &output, &options).unwrap_err();
    assert!(error.chain().contains("none.png"), "{}", error.chain());
    options.mask = Some(mask.clone());
    apply(&temp.at("run"), &input, &output, &options).unwrap();
    let made = picture::read(&output, Colour::Channels).unwrap();
    for value in &made.channels[0] {
        assert!((value - 0.6).abs() < 0.02, "{value}");
    }
    picture::write(&mask, 2, 2, &[&[1.0; 4]], Depth::Eight).unwrap();
    let error = apply(&temp.at("run"), &input, &output, &options).unwrap_err();
    let message = error.to_string();
    assert!(
        message.contains("2 x 2") && message.contains("3 x 2"),
        "{message}"
    );
}

#[test]
fn signals_come_from_frequencies() {
    let settings = "task = \"sampling\"\nmodel.fixed = { alpha = 0.0, nu = 0.01, xi = 0.0 }\n";
    let temp = folder_with_run("signals", settings, &[]);
    let weights = serde_json::json!({ "parameters": [{
        "value": [9.0, 9.0, 9.0, 9.0], "theta": [0.9, 0.9, 0.9, 0.9],
        "parameter": { "name": "theta", "shape": [4], "map": "odds", "start": 0.5, "lower": 0.001, "upper": 0.99 },
    }] });
    fs::write(temp.at("run").join(RESULT), weights.to_string()).unwrap();
    let (input, output) = (temp.at("y.npy"), temp.at("x.npy"));
    // Frequency zero alone: constant signals.
    let rows = [
        [2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, 4.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    ];
    array::write(&input, &[2, 4], &ArrayValues::Complex(rows.concat())).unwrap();
    let options = ApplyOptions {
        accuracy: 1e-9,
        ..ApplyOptions::default()
    };
    let applied = apply(&temp.at("run"), &input, &output, &options).unwrap();
    assert!(applied[0].reached);
    let made = array::read(&output).unwrap();
    assert_eq!(made.shape, [2, 4]);
    let ArrayValues::Complex(numbers) = made.values else {
        panic!("real numbers");
    };
    let expected = [[1.0, 0.0].repeat(4), [0.0, 2.0].repeat(4)].concat();
    for (number, expected) in numbers.iter().zip(expected) {
        assert!((number - expected).abs() < 1e-8, "{number}");
    }
    array::write(&input, &[3], &ArrayValues::Complex(vec![1.0; 6])).unwrap();
    let error = apply(&temp.at("run"), &input, &output, &options).unwrap_err();
    let message = error.to_string();
    assert!(message.contains("has 3 samples, but those of"), "{message}");
    assert!(message.contains(" have 4: use signals"), "{message}");
}
