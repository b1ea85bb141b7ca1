//! Folders of `.npy` files, and runs that have their images in their own directory.

use std::fs;

use bilevel_cli::array::{self, ArrayValues};

use crate::scene::TempDir;

const LEARN: &str = "--hold-out 1 --max-points 8 --quiet --out";

/// Numbers between 0 and 1 that no file of pictures could hold.
fn values(len: usize, seed: usize) -> Vec<f64> {
    let value = |index: usize| {
        ((index * index + seed) as f64 * 0.37)
            .sin()
            .mul_add(0.2, 0.5)
    };
    (0..len).map(value).collect()
}

/// Three images of this shape, clean and noisy.
fn write(temp: &TempDir, shape: &[usize]) {
    let len = shape.iter().product();
    for folder in ["clean", "noisy"] {
        fs::create_dir_all(temp.path(folder)).expect("a folder");
        for index in 0..3 {
            let seed = index + 100 * usize::from(folder == "noisy");
            temp.array(&format!("{folder}/{index}.npy"), shape, values(len, seed));
        }
    }
}

#[test]
fn arrays_are_pictures_or_signals() {
    for shape in [&[12, 9][..], &[40]] {
        let temp = TempDir::new("arrays");
        write(&temp, shape);
        temp.good(&format!(
            "learn denoise --images clean --noisy noisy {LEARN} run"
        ));
        let result: serde_json::Value =
            serde_json::from_str(&temp.text("run/result.json")).expect("JSON");
        assert_eq!(result["training"].as_array().map(Vec::len), Some(2));
        assert_eq!(result["validation"].as_array().map(Vec::len), Some(1));
        fs::remove_file(temp.path("run/report.html")).expect("a page");
        temp.good("report run");
        // an array for an array, of the same shape
        temp.good("apply run noisy/0.npy 0.npy");
        let made = array::read(&temp.path("0.npy")).expect("an array");
        assert_eq!(made.shape, shape);
        assert!(matches!(made.values, ArrayValues::Real(_)));
        temp.good("apply run noisy denoised");
        assert_eq!(temp.names("denoised"), ["0.npy", "1.npy", "2.npy"]);
        assert_eq!(temp.bytes("denoised/0.npy"), temp.bytes("0.npy"));
        temp.good("apply run noisy/0.npy 0.png");
    }
}

#[test]
fn arrays_next_to_pictures_are_something_else() {
    let temp = TempDir::new("arrays-beside");
    temp.photos("photos");
    temp.array("photos/kernel.npy", &[3, 3], vec![1.0 / 9.0; 9]);
    temp.good(&format!("learn denoise --images photos {LEARN} run"));
    let settings = "learn deblur --images photos --kernel photos/kernel.npy";
    temp.good(&format!("{settings} {LEARN} blurred"));
}

#[test]
fn kernels_and_masks_of_signals() {
    let temp = TempDir::new("arrays-operators");
    write(&temp, &[40]);
    temp.array("kernel.npy", &[3], vec![0.25, 0.5, 0.25]);
    let mask = (0..40).map(|index| f64::from(index % 3 > 0)).collect();
    temp.array("mask.npy", &[40], mask);
    for task in ["deblur --kernel kernel.npy", "inpaint --mask mask.npy"] {
        let run = &task[..6];
        temp.good(&format!(
            "learn {task} --images clean --noisy noisy {LEARN} {run}"
        ));
        temp.good(&format!("apply {run} noisy/0.npy {run}.npy"));
    }
}

#[test]
fn wrong_arrays_are_named() {
    let temp = TempDir::new("arrays-wrong");
    fs::create_dir_all(temp.path("volumes")).expect("a folder");
    temp.array("volumes/a.npy", &[2, 3, 4, 1], vec![0.5; 24]);
    let parts = [
        "a.npy",
        "[2, 3, 4, 1]",
        "a signal, a picture or a stack, with one, two or three axes",
    ];
    temp.bad("learn denoise --images volumes --out run", 3, &parts);
    fs::create_dir_all(temp.path("complex")).expect("a folder");
    let values = ArrayValues::Complex(vec![0.5; 8]);
    array::write(&temp.path("complex/a.npy"), &[2, 2], &values).expect("an array");
    let parts = ["a.npy", "complex numbers"];
    temp.bad("learn denoise --images complex --out run", 3, &parts);
}

#[test]
fn relative_paths_of_a_run_start_at_its_directory() {
    let temp = TempDir::new("arrays-relative");
    write(&temp, &[12, 9]);
    temp.good(&format!(
        "learn denoise --images clean --noisy noisy {LEARN} whole"
    ));
    // the same run with its images inside, as Python writes it
    let store = bilevel_cli::store::Store::create_with(
        &temp.path("run"),
        &relative(&temp.text("whole/bilevel.toml")),
        |arrays| {
            for folder in ["clean", "noisy"] {
                fs::create_dir_all(arrays.join(folder)).expect("a folder");
                for name in temp.names(folder) {
                    let from = temp.path(folder).join(&name);
                    fs::copy(from, arrays.join(folder).join(&name)).expect("a copy");
                }
            }
            Ok::<(), bilevel_cli::store::StoreError>(())
        },
    );
    drop(store.expect("a new run"));
    for folder in ["clean", "noisy"] {
        fs::remove_dir_all(temp.path(folder)).expect("it is there");
    }
    temp.good("resume run --quiet");
    assert_eq!(
        temp.bytes("run/result.json"),
        temp.bytes("whole/result.json")
    );
    // wherever it is moved
    fs::create_dir_all(temp.path("archive")).expect("a folder");
    fs::rename(temp.path("run"), temp.path("archive/run")).expect("moved");
    temp.good("report archive/run");
    temp.good("apply archive/run archive/run/arrays/noisy/0.npy 0.npy");
    temp.good("learn --config archive/run/bilevel.toml --quiet --out again");
    assert_eq!(
        temp.bytes("again/result.json"),
        temp.bytes("whole/result.json")
    );
}

/// Settings whose paths are relative to the directory of the run.
fn relative(settings: &str) -> String {
    let line = |line: &str| {
        let (key, path) = line.split_once(" = ").unwrap_or((line, ""));
        match path.trim_matches('"').rsplit_once(['/', '\\']) {
            Some((_, folder)) if ["images", "noisy"].contains(&key) => {
                format!("{key} = \"arrays/{folder}\"\n")
            }
            _ => format!("{line}\n"),
        }
    };
    settings.lines().map(line).collect()
}
