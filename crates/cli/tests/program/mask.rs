//! `bilevel learn mask`, and other commands on its runs.

use bilevel_cli::array::{self, ArrayValues};
use bilevel_cli::kspace as files;
use bilevel_cli::mask::MaskSettings;
use imaging::{CoilFourier, LinearOperator, Seed, phantom};

use crate::scene::TempDir;

/// Settings for small masks.
const SMALL: &str = "--centre 2 --max-exchanges 3";

/// Writes the frequencies of some heads, as coils with these maps see them, with frequency zero
/// first.
fn kspace(scene: &TempDir, name: &str, count: usize, maps: &[f64]) {
    let fourier = match maps.is_empty() {
        true => CoilFourier::single(16, 16),
        false => CoilFourier::new(16, 16, maps),
    };
    let fourier = fourier.expect("valid maps");
    let mut values = Vec::new();
    for index in 0..count {
        let head = phantom::head(16, 16, Seed::new(3), index).expect("a head");
        let mut data = vec![0.0; fourier.codomain().len()];
        fourier.apply(&head, &mut data, &mut fourier.scratch());
        values.extend(data);
    }
    let coils = fourier.num_coils();
    let full = [count, coils, 16, 16];
    let shape: Vec<usize> = match maps.is_empty() {
        true => vec![count, 16, 16],
        false => full.to_vec(),
    };
    array::write(&scene.path(name), &shape, &ArrayValues::Complex(values)).expect("a file");
}

#[test]
fn a_mask_is_learned_written_and_applied() {
    let scene = TempDir::new("mask");
    kspace(&scene, "slices.npy", 5, &[]);
    let learned = scene.good(&format!("learn mask --kspace slices.npy {SMALL} --out run"));
    let text = &learned.out;
    for part in [
        "Mask: 4 of 16 lines",
        "variable density",
        "low-pass",
        "equispaced",
        "apply run",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    let mask = array::read(&scene.path("run/mask.npy")).expect("the mask");
    assert_eq!(mask.shape, [16, 16]);
    let ArrayValues::Real(mask) = mask.values else {
        panic!("a real array");
    };
    let columns: Vec<usize> = (0..16).filter(|&col| mask[col] > 0.5).collect();
    assert_eq!(columns.len(), 4);
    let list = scene.text("run/mask.txt");
    let listed = list
        .lines()
        .skip(1)
        .map(|line| line.split('\t').next().expect("a column"));
    let listed: Vec<usize> = listed
        .map(|column| column.parse().expect("a number"))
        .collect();
    assert_eq!(listed, columns);
    assert!(scene.path("run/mask.png").is_file());
    let page = scene.text("run/report.html");
    assert!(page.contains("held-out") && page.contains("PSNR inside"));

    let applied = scene.good("apply run slices.npy pictures.npy");
    assert!(applied.out.contains("from the exact minimiser"));
    let pictures = files::read(&scene.path("pictures.npy")).expect("complex pictures");
    assert_eq!(pictures.shape, [5, 1, 16, 16]);
    scene.good("apply run slices.npy pictures.tif");
    let part = "pictures.tif holds no measured frequencies: name a .npy, .npz, HDF5 or .cfl file";
    scene.bad("apply run pictures.tif again.tif", 3, &[part]);
    for flag in ["kernel", "mask"] {
        let part = format!("but run is a run of mask: leave --{flag} out");
        scene.bad(
            &format!("apply run slices.npy x.npy --{flag} a.png"),
            2,
            &[&part],
        );
    }
    scene.good("report run");
    let again = scene.good("resume run");
    assert!(again.err.contains("the run is complete"));
    let refused = format!("learn mask {SMALL} --size 16 --out run");
    scene.bad(&refused, 4, &["already holds a run"]);
}

#[test]
fn built_in_heads_points_and_relaxation() {
    let scene = TempDir::new("mask-kinds");
    let common = "--size 16 --count 4 --centre 2 --max-exchanges 2";
    let points = format!("learn mask {common} --pattern points --json --out points");
    let events = scene.good(&points).events();
    let last = events.last().expect("a result");
    assert!(
        last["event"] == "finished" && last["alpha"].is_number(),
        "{last}"
    );
    assert_eq!(last["elements"].as_array().map(Vec::len), Some(64));
    let relaxed = scene.good(&format!("learn mask {common} --method relax --out relaxed"));
    assert!(relaxed.out.contains("Rounding"), "{}", relaxed.out);
    // settings of a run start another one
    scene.good("learn --config relaxed/bilevel.toml --out again");
    assert_eq!(
        scene.text("relaxed/result.json"),
        scene.text("again/result.json")
    );
    let printed = scene.good("learn mask --print-config --budget 0.5").out;
    assert!(MaskSettings::is_mask(&printed) && printed.contains("budget = 0.5"));
}

#[test]
fn filters_replace_the_total_variation() {
    let scene = TempDir::new("mask-filters");
    kspace(&scene, "slices.npy", 4, &[]);
    let learned = "learn mask --kspace slices.npy --noise 0.02 --model filters";
    let made = scene.good(&format!("{learned} {SMALL} --out run"));
    assert!(made.out.contains("filters dct3"), "{}", made.out);
    assert!(scene.text("run/report.html").contains("filters dct3"));
    scene.good("apply run slices.npy pictures.npy");
    scene.good("report run");
    let printed = |flags: &str| {
        scene
            .good(&format!("learn mask --print-config {flags}"))
            .out
    };
    assert!(printed("--filters dct5").contains("filters = \"dct5\""));
    assert!(!printed("--model tv").contains("filters"));
    let both = "learn mask --model tv --filters dct3 --out none";
    scene.bad(both, 2, &["leave one of them out"]);
    scene.bad("learn mask --filters learned3 --out none", 2, &["dct7"]);
    // a file of settings can name filters that are refused
    let other = scene.text("run/bilevel.toml").replace("dct3", "learned3");
    std::fs::write(scene.path("other.toml"), other).expect("a file");
    let refused = "learn --config other.toml --out none";
    scene.bad(refused, 2, &["cosine filters", "dct3, dct5 or dct7"]);
}

#[test]
fn several_coils_have_maps() {
    let scene = TempDir::new("mask-coils");
    let maps: Vec<f64> = (0..1024).map(|i| 0.5 + f64::from(i % 11) / 20.0).collect();
    kspace(&scene, "slices.npy", 3, &maps);
    array::write(
        &scene.path("maps.npy"),
        &[2, 16, 16],
        &ArrayValues::Complex(maps),
    )
    .expect("maps");
    let without = format!("learn mask --kspace slices.npy {SMALL} --out none");
    scene.bad(&without, 3, &["sensitivity maps"]);
    assert!(!scene.path("none").exists());
    let with = "--kspace slices.npy --coils maps.npy --hold-out 1";
    scene.good(&format!("learn mask {with} {SMALL} --out run"));
    scene.good("apply run slices.npy pictures.npy");
    let wrong = format!("learn mask --kspace maps.npy --coils slices.npy {SMALL} --out no");
    scene.bad(&wrong, 3, &["[2, 16, 16]"]);
}

#[test]
fn bad_input_is_refused_before_a_directory_is_made() {
    let scene = TempDir::new("mask-bad");
    kspace(&scene, "slices.npy", 3, &[]);
    let real = ArrayValues::Real(vec![1.0; 512]);
    array::write(&scene.path("real.npy"), &[2, 16, 16], &real).expect("a file");
    let zeros = ArrayValues::Complex(vec![0.0; 1024]);
    array::write(&scene.path("zeros.npy"), &[2, 16, 16], &zeros).expect("a file");
    for (args, code, message) in [
        ("--kspace slices.npy --budget 0", 2, "such as 0.25"),
        ("--kspace slices.npy --budget 1.5", 2, "such as 0.25"),
        ("--kspace slices.npy --budget NaN", 2, "such as 0.25"),
        (
            "--kspace slices.npy --centre 5",
            2,
            "make the centre smaller",
        ),
        (
            "--kspace slices.npy --centre 2 --hold-out 3",
            2,
            "left to learn from",
        ),
        (
            "--kspace slices.npy --centre 2 --noise -1",
            2,
            "zero or positive",
        ),
        ("--kspace slices.npy --centre 2 --nu 0", 2, "nu is 0"),
        (
            "--kspace slices.npy --centre 2 --restarts 0",
            2,
            "1 or more",
        ),
        ("--kspace real.npy", 3, "complex"),
        ("--kspace zeros.npy --centre 2", 3, "is zero"),
        ("--kspace missing.npy", 3, "missing.npy"),
        ("--size 16 --kspace slices.npy", 2, "cannot be used with"),
        ("--coils slices.npy", 2, "--kspace"),
        ("--pattern spirals", 2, "lines"),
    ] {
        scene.bad(&format!("learn mask {args} --out run"), code, &[message]);
        assert!(!scene.path("run").exists(), "{args}");
    }
}
