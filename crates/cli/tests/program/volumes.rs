//! Volumes: their slices are learned from and reconstructed together. Stacks in HDF5 files.

use std::fs;
use std::path::Path;

use bilevel_cli::array::{self, ArrayValues};
use bilevel_cli::picture::{self, Colour, Depth, Picture};

use crate::scene::TempDir;

const LEARN: &str = "--learn alpha --max-points 8 --quiet --out";

/// A volume of two halves that change slowly from slice to slice, with noise that does not.
fn volume(slices: usize, size: usize) -> Vec<f64> {
    let value = |index: usize| {
        let (slice, row, col) = (index / size / size, index / size % size, index % size);
        let step = if 4 * col + slice > 2 * size { 0.8 } else { 0.2 };
        step + 0.15 * ((index * index + row) as f64 * 0.37).sin()
    };
    (0..slices * size * size).map(value).collect()
}

fn numbers(path: &Path) -> (Vec<usize>, Vec<f64>) {
    let array = array::read(path).expect("an array");
    match array.values {
        ArrayValues::Real(values) => (array.shape, values),
        ArrayValues::Complex(_) => panic!("real numbers"),
    }
}

#[test]
fn volumes_are_learned_and_reconstructed() {
    let temp = TempDir::new("volumes");
    let built_in = "learn denoise --slices volume --size 16 --count 2 --hold-out 1";
    temp.good(&format!("{built_in} {LEARN} run"));
    assert!(
        temp.text("run/bilevel.toml")
            .contains("slices = \"volume\"")
    );
    let page = temp.text("run/report.html");
    assert!(page.contains("Slice 3 of 4."));
    temp.array("noisy.npy", &[6, 16, 16], volume(6, 16));
    temp.good("apply run noisy.npy clean.npy");
    temp.good("apply run noisy.npy clean.tif");
    let (shape, clean) = numbers(&temp.path("clean.npy"));
    assert_eq!(shape, [6, 16, 16]);
    let pages = picture::read_pages(&temp.path("clean.tif"), Colour::Luminance).expect("pages");
    assert_eq!(pages.len(), 6);
    let of_pages: Vec<f64> = pages
        .into_iter()
        .flat_map(|page| page.channels.concat())
        .collect();
    assert_eq!(clean, of_pages);
    temp.good("apply run clean.tif again.nii.gz");
    // The first slice alone gives another result, because its neighbour is missing.
    temp.array("first.npy", &[16, 16], volume(1, 16));
    temp.good("apply run first.npy alone.npy");
    let (shape, alone) = numbers(&temp.path("alone.npy"));
    assert_eq!(shape, [16, 16]);
    let differences = clean.iter().zip(&alone).map(|(a, b)| (a - b).abs());
    assert!(differences.fold(0.0, f64::max) > 1e-2);
    // A run on files, resumed.
    fs::create_dir_all(temp.path("files")).expect("a folder");
    temp.array("files/a.npy", &[6, 16, 16], volume(6, 16));
    temp.array("files/b.npy", &[4, 12, 16], volume(4, 16)[..768].to_vec());
    let files = "learn denoise --slices volume --images files --noise 0.1";
    temp.good(&format!("{files} --crop 12 {LEARN} cropped"));
    temp.good("resume cropped --max-points 10 --quiet");
    let result: serde_json::Value =
        serde_json::from_str(&temp.text("cropped/result.json")).expect("JSON");
    assert_eq!(result["training"].as_array().map(Vec::len), Some(2));
}

/// Cameras and parameters of each picture are for volumes, too.
#[test]
fn volumes_of_cameras_are_learned_one_by_one() {
    let temp = TempDir::new("volumes-of-cameras");
    let truth = volume(3, 8).iter().map(|x| x.abs()).collect();
    temp.array("a.npy", &[3, 8, 8], truth);
    let camera = "--images a.npy --noise poisson:0.01,0.02 --per-picture";
    temp.good(&format!(
        "learn denoise --slices volume {camera} {LEARN} run"
    ));
    temp.good("apply run a.npy clean.npy");
    assert_eq!(numbers(&temp.path("clean.npy")).0, [3, 8, 8]);
    let measured = "--noisy a.npy --truth none --noise 0.1";
    temp.good(&format!(
        "learn denoise --slices volume {measured} {LEARN} blind"
    ));
}

#[test]
fn what_does_not_fit_volumes_is_refused() {
    let temp = TempDir::new("bad-volumes");
    let learn = "learn denoise --slices volume";
    temp.bad(
        &format!("{learn} --filters dct3 --out run"),
        2,
        &["--slices", "--filters", "total variation only"],
    );
    temp.bad(
        &format!("{learn} --colour opponent --out run"),
        2,
        &["--slices", "--colour grey"],
    );
    temp.bad(&format!("{learn} --patches 3 --out run"), 2, &["--patches"]);
    temp.bad(
        "learn deblur --slices volume --kernel disc:2 --out run",
        2,
        &["denoise"],
    );
    let page = |width: usize| Picture {
        width,
        height: 6 / width,
        channels: vec![vec![0.5; 6]],
    };
    picture::write_pages(&temp.path("mixed.tif"), &[page(2), page(3)], Depth::Sixteen)
        .expect("a file");
    let mixed = "--images mixed.tif --noise 0.1 --out run";
    temp.bad(
        &format!("{learn} {mixed}"),
        3,
        &["mixed.tif is not one volume", "page 2"],
    );
    temp.good("learn denoise --slices volume --size 8 --count 1 --max-points 4 --quiet --out run");
    temp.bad("apply run mixed.tif out.tif", 3, &["is not one volume"]);
}

#[test]
fn datasets_of_hdf5_files_are_stacks() {
    let temp = TempDir::new("datasets");
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/fastmri.h5");
    fs::copy(&data, temp.path("scan.h5")).expect("a copy");
    let named = "scan.h5::reconstruction_esc";
    temp.good(&format!(
        "learn denoise --images scan.h5 --noisy {named} --colour grey {LEARN} run"
    ));
    temp.good("resume run --max-points 9 --quiet");
    temp.good(&format!("apply run {named} clean.npy"));
    assert_eq!(numbers(&temp.path("clean.npy")).0, [2, 4, 4]);
    fs::create_dir_all(temp.path("made")).expect("a folder");
    temp.good(&format!("apply run {named} made"));
    assert_eq!(temp.names("made"), ["scan.npy"]);
    temp.bad(
        "apply run scan.h5::none clean.npy",
        3,
        &["no dataset none", "kspace"],
    );
    temp.bad("apply run none.h5::a clean.npy", 3, &["none.h5"]);
    temp.bad(
        "denoise scan.h5 clean.h5 --range=-4,13",
        2,
        &["clean.h5", ".npy"],
    );
}
