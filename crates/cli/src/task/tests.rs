//! Data of each task, from folders and built in.

#![expect(clippy::float_cmp, reason = "numbers that are handed on as they are")]

use std::fs;
use std::path::{Path, PathBuf};

use bilevel::{BoundaryName, Choice, Effort, LearningProblem, LowerLevel, TvChoices, reconstruct};
use imaging::{Convolution, Fourier, Grid, LinearOperator as _};
use lowlevel::{Method, Solver, Stop};

use super::*;
use crate::array::{self, ArrayValues};
use crate::picture::{self, Colour, Depth, Picture};
use crate::temp_dir::TempDir;

/// A new folder in it.
fn subfolder(temp: &TempDir, name: &str) -> PathBuf {
    let path = temp.at(name);
    fs::create_dir_all(&path).expect("a folder for tests");
    path
}

/// A smooth picture, grey or in three colours.
fn write_picture(path: &Path, width: usize, height: usize, channels: usize) {
    let plane = |c: usize| -> Vec<f64> {
        (0..width * height)
            .map(|i| 0.5 + 0.4 * ((i % width + 2 * (i / width) + 5 * c) as f64 / 7.0).sin())
            .collect()
    };
    let planes: Vec<Vec<f64>> = (0..channels).map(plane).collect();
    let planes: Vec<&[f64]> = planes.iter().map(Vec::as_slice).collect();
    picture::write(path, width, height, &planes, Depth::Sixteen).expect("a picture for tests");
}

fn config(task: TaskKind) -> Config {
    let mut config = Config::new(task);
    config.data.size = 16;
    config.data.count = Some(3);
    config
}

fn task(config: &Config) -> Result<LoadedTask, CliError> {
    load(&config.clone().resolve()?)
}

fn refusal(config: &Config) -> String {
    let error = task(config).unwrap_err();
    assert_eq!(error.exit_code(), 3, "{error}");
    error.chain()
}

/// The problem that a task poses is one that can be learned.
fn check_problem(config: &Config, task: LoadedTask) {
    let setup = config.spec().setup(task.validation.pairs);
    LearningProblem::new(task.family, task.training.pairs, setup).unwrap();
}

fn rms(a: &[f64], b: &[f64]) -> f64 {
    let square: f64 = a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum();
    let len = a.len() as f64;
    (square / len).sqrt()
}

#[test]
fn built_in_images_need_no_files() {
    let mut settings = config(TaskKind::Denoise);
    settings.data.hold_out = Some(1);
    let made = task(&settings).unwrap();
    assert_eq!(made.training.names, ["built-in 1", "built-in 2"]);
    assert_eq!(made.validation.names, ["built-in 3"]);
    for pair in made.training.pairs.iter().chain(&made.validation.pairs) {
        assert_eq!(pair.grid, Grid::image(16, 16));
        assert!((rms(&pair.truth, &pair.data) - 0.1).abs() < 0.03);
    }
    assert_ne!(made.training.pairs[0].truth, made.training.pairs[1].truth);
    assert_eq!(made.fingerprint, task(&settings).unwrap().fingerprint);
    // Held out or not, an image has the same noise.
    settings.data.hold_out = Some(0);
    let all = task(&settings).unwrap();
    assert_eq!(all.training.pairs[2], made.validation.pairs[0]);
    assert_ne!(all.fingerprint, made.fingerprint);
    settings.data.seed = 2;
    assert_ne!(task(&settings).unwrap().fingerprint, all.fingerprint);
    check_problem(&settings.resolve().unwrap(), made);
}

#[test]
fn pictures_are_read_with_their_names() {
    let folder = TempDir::new("pictures");
    let images = subfolder(&folder, "images");
    write_picture(&images.join("b.png"), 9, 7, 3);
    write_picture(&images.join("a.png"), 8, 6, 1);
    let mut settings = Config::new(TaskKind::Denoise);
    settings.data.images = Some(images.clone());
    let made = task(&settings).unwrap();
    assert_eq!(made.training.names, ["a.png", "b.png"]);
    assert_eq!(made.training.pairs[1].grid, Grid::image(7, 9));
    settings.data.crop = Some(5);
    settings.data.colour = Some(Colour::Channels);
    let cropped = task(&settings).unwrap();
    let names = ["a.png", "b.png (red)", "b.png (green)", "b.png (blue)"];
    assert_eq!(cropped.training.names, names);
    let pairs = &cropped.training.pairs;
    assert!(pairs.iter().all(|pair| pair.grid == Grid::image(5, 5)));
    let noise = |i: usize| pairs[i].data[0] - pairs[i].truth[0];
    assert!((noise(1) - noise(2)).abs() > 1e-9, "noise of its own");
    settings.data.count = Some(1);
    assert_eq!(task(&settings).unwrap().training.names, ["a.png"]);
    settings.data.hold_out = Some(1);
    let message = refusal(&settings);
    assert!(
        message.contains("--hold-out is 1, but there is 1 image in all"),
        "{message}"
    );
    settings.data.count = None;
    let held_out = task(&settings).unwrap();
    assert_eq!(held_out.validation.names, &names[1..]);
    settings.data.validation = Some(images.clone());
    let both = task(&settings).unwrap();
    assert_eq!(both.validation.names.len(), 3 + 4);
    check_problem(&settings.resolve().unwrap(), both);
}

#[test]
fn measured_pictures_are_taken_as_they_are() {
    let folder = TempDir::new("measured");
    let (images, noisy) = (subfolder(&folder, "images"), subfolder(&folder, "noisy"));
    write_picture(&images.join("a.png"), 6, 6, 1);
    write_picture(&noisy.join("a.png"), 6, 6, 1);
    let mut settings = Config::new(TaskKind::Denoise);
    settings.data.images = Some(images);
    settings.data.noisy = Some(noisy.clone());
    let made = task(&settings).unwrap();
    assert_eq!(made.training.pairs[0].truth, made.training.pairs[0].data);
    write_picture(&noisy.join("a.png"), 6, 5, 1);
    assert!(refusal(&settings).contains("same size"));
    fs::remove_file(noisy.join("a.png")).unwrap();
    assert!(refusal(&settings).contains("no pictures in"));
    settings.data.images = Some(folder.0.join("missing"));
    assert!(refusal(&settings).contains("there is no file or folder"));
}

#[test]
fn a_picture_of_one_pixel_is_a_picture() {
    let folder = TempDir::new("pixel");
    let images = subfolder(&folder, "images");
    write_picture(&images.join("a.png"), 1, 1, 1);
    let kernel = folder.0.join("k.npy");
    array::write(&kernel, &[1, 1], &ArrayValues::Real(vec![1.0])).unwrap();
    let mask = folder.0.join("m.png");
    picture::write(&mask, 1, 1, &[&[1.0]], Depth::Eight).unwrap();
    for kind in [TaskKind::Denoise, TaskKind::Deblur, TaskKind::Inpaint] {
        let mut settings = Config::new(kind);
        settings.data.images = Some(images.clone());
        settings.data.kernel = (kind == TaskKind::Deblur).then(|| kernel.clone());
        settings.data.mask = (kind == TaskKind::Inpaint).then(|| mask.clone());
        let settings = settings.resolve().unwrap();
        let made = load(&settings).unwrap();
        let pair = made.training.pairs[0].clone();
        let stop = Stop::Iterations(50);
        let values = &[0.1, 0.01, 0.01][..made.family.parameters().len()];
        let (grid, data) = (pair.grid, &pair.data);
        let x = reconstruct(&made.family, values, grid, data, Solver::default(), stop).unwrap();
        assert!(x.x[0].is_finite(), "{kind}");
        check_problem(&settings, made);
    }
}

#[test]
fn blurred_pictures() {
    let folder = TempDir::new("blurred");
    let kernel = folder.0.join("k.npy");
    let values = vec![0.0, 0.25, 0.0, 0.0, 0.5, 0.25];
    array::write(&kernel, &[2, 3], &ArrayValues::Real(values.clone())).unwrap();
    let mut settings = config(TaskKind::Deblur);
    settings.data.kernel = Some(kernel.clone());
    settings.data.noise = Some(0.0.into());
    let made = task(&settings).unwrap();
    assert_eq!(made.warnings.len(), 1);
    assert!(made.warnings[0].contains("2 x 3 values and no middle"));
    let pair = &made.training.pairs[0];
    // The largest value, 0.5, is at the origin; the others see the left neighbour and the pixel
    // below. Pixels inside depend on the truth only.
    let (rows, cols) = pair.grid.rows_and_cols();
    for (index, blurred) in pair.data.iter().enumerate() {
        let (row, col) = (index / cols, index % cols);
        if col > 0 && row + 1 < rows {
            let near = pair.truth[index - 1] + pair.truth[index + cols];
            let expected = 0.5 * pair.truth[index] + 0.25 * near;
            assert!((blurred - expected).abs() < 1e-14, "{blurred} {expected}");
        }
    }
    // With a periodic boundary, the picture is blurred as it is.
    settings.model.boundary = BoundaryName::Periodic;
    let periodic = task(&settings).unwrap().training.pairs[0].clone();
    let blur = Convolution::new(periodic.grid, &values, Grid::image(2, 3)).unwrap();
    let mut expected = vec![0.0; periodic.truth.len()];
    blur.apply(&periodic.truth, &mut expected, &mut blur.scratch());
    assert!(rms(&expected, &periodic.data) < 1e-14);
    settings.model.boundary = BoundaryName::Unknown;
    let before = made.fingerprint;
    check_problem(&settings.clone().resolve().unwrap(), made);

    array::write(&kernel, &[2, 3], &ArrayValues::Real(vec![0.5; 6])).unwrap();
    let made = task(&settings).unwrap();
    assert_ne!(made.fingerprint, before);
    assert!(made.warnings[0].contains("k.npy sums to 3: it is divided by its sum"));
    array::write(&kernel, &[6], &ArrayValues::Real(vec![0.5; 6])).unwrap();
    assert!(refusal(&settings).contains("two axes"));
    array::write(&kernel, &[0, 3], &ArrayValues::Real(Vec::new())).unwrap();
    assert!(refusal(&settings).contains("two axes"));
    array::write(&kernel, &[1, 1], &ArrayValues::Complex(vec![1.0, 0.0])).unwrap();
    assert!(refusal(&settings).contains("is complex"));
}

/// Really blurred pictures do not wrap around: the user is warned.
#[test]
fn measured_blur_is_checked() {
    let folder = TempDir::new("periodic");
    let (images, noisy) = (subfolder(&folder, "images"), subfolder(&folder, "noisy"));
    let kernel = folder.0.join("k.npy");
    let values: Vec<f64> = [1.0, 2.0, 3.0, 2.0, 1.0].map(|v| v / 9.0).to_vec();
    array::write(&kernel, &[1, 5], &ArrayValues::Real(values)).unwrap();
    let write = |folder: &Path, name: &str, value: &dyn Fn(usize) -> f64| {
        let plane: Vec<f64> = (0..16 * 16).map(|i| value(i % 16)).collect();
        picture::write(&folder.join(name), 16, 16, &[&plane], Depth::Sixteen).unwrap();
    };
    let wave = |x: usize| 0.5 + 0.4 * (x as f64 * std::f64::consts::TAU / 16.0).sin();
    let blurred = |x: usize| 0.5 + 0.8 * (wave(x) - 0.5);
    let ramp = |x: usize| x as f64 / 15.0;
    for name in ["a.png", "b.png"] {
        write(&images, name, &wave);
        write(&noisy, name, &blurred);
    }
    let mut settings = Config::new(TaskKind::Deblur);
    settings.data.images = Some(images.clone());
    settings.data.noisy = Some(noisy.clone());
    settings.data.kernel = Some(kernel);
    settings.model.boundary = BoundaryName::Periodic;
    let kernel_warning = |warning: &String| warning.contains("lie on its border");
    let warnings = |settings: &Config| {
        let mut warnings = task(settings).unwrap().warnings;
        warnings.retain(|warning| !kernel_warning(warning));
        warnings
    };
    assert_eq!(warnings(&settings), [""; 0]);
    write(&noisy, "b.png", &ramp);
    let warned = warnings(&settings);
    assert_eq!(warned.len(), 1);
    assert!(
        warned[0].contains("1 of 2 pictures are not periodic, the first is b.png"),
        "{warned:?}"
    );
    // Blur that the program adds wraps around.
    write(&images, "b.png", &ramp);
    settings.data.noisy = None;
    assert_eq!(warnings(&settings), [""; 0]);
}

#[test]
fn pages_of_stacks_are_images() {
    let folder = TempDir::new("stacks");
    let page = |value: f64| Picture {
        width: 4,
        height: 3,
        channels: vec![(0..12).map(|i| value + f64::from(i) / 40.0).collect()],
    };
    let stack = folder.0.join("cells.tif");
    picture::write_pages(&stack, &[page(0.1), page(0.2), page(0.3)], Depth::Eight).unwrap();
    let mut settings = Config::new(TaskKind::Denoise);
    // A file, or a folder with more of them.
    settings.data.images = Some(stack.clone());
    let names = ["cells.tif[1]", "cells.tif[2]", "cells.tif[3]"];
    assert_eq!(task(&settings).unwrap().training.names, names);
    write_picture(&folder.0.join("d.png"), 4, 3, 1);
    settings.data.images = Some(folder.0.clone());
    settings.data.hold_out = Some(2);
    let made = task(&settings).unwrap();
    assert_eq!(made.training.names, names[..2]);
    assert_eq!(made.validation.names, ["cells.tif[3]", "d.png"]);
    settings.data.hold_out = Some(0);
    settings.data.count = Some(2);
    assert_eq!(task(&settings).unwrap().training.names, names[..2]);

    let (images, noisy) = (subfolder(&folder, "a"), subfolder(&folder, "b"));
    for (folder, pages) in [(&images, 2), (&noisy, 2)] {
        let pages: Vec<Picture> = (0..pages).map(|i| page(0.1 * f64::from(i))).collect();
        picture::write_pages(&folder.join("x.tif"), &pages, Depth::Eight).unwrap();
    }
    settings.data.images = Some(images);
    settings.data.noisy = Some(noisy.clone());
    assert_eq!(
        task(&settings).unwrap().training.names,
        ["x.tif[1]", "x.tif[2]"]
    );
    picture::write_pages(&noisy.join("x.tif"), &[page(0.5)], Depth::Eight).unwrap();
    assert!(
        refusal(&settings).contains("has 1 page: the files of a pair must have the same number")
    );
    let mut settings = Config::new(TaskKind::Inpaint);
    settings.data.mask = Some(stack);
    assert!(refusal(&settings).contains("cells.tif has 3 pages, but one picture is needed"));
}

/// Pictures of cameras with 12 bits are dark in files of 16 bits.
#[test]
fn values_in_another_unit_are_noticed() {
    let folder = TempDir::new("units");
    let images = subfolder(&folder, "images");
    let mut settings = Config::new(TaskKind::Denoise);
    settings.data.images = Some(images.clone());
    let warnings = |white: f64, settings: &Config| {
        let plane: Vec<f64> = (0..12).map(|i| white * f64::from(i) / 11.0).collect();
        picture::write(&images.join("a.tif"), 4, 3, &[&plane], Depth::Eight).unwrap();
        task(settings).unwrap().warnings
    };
    assert_eq!(warnings(1.0, &settings), [""; 0]);
    assert_eq!(warnings(0.5, &settings), [""; 0]);
    let dark = warnings(0.0625, &settings);
    let faint = [0.48, 0.39, 0.45, 0.47].into_iter();
    assert_eq!(data_warnings::other_unit(faint), None);
    assert!(dark[0].contains("lie between 0 and 0.0625"), "{dark:?}");
    assert!(warnings(255.0, &settings)[0].contains("noise of 0.1"));
    settings.data.noise = Some(20.0.into());
    assert_eq!(warnings(255.0, &settings), [""; 0]);
    let grey_levels = warnings(1.0, &settings);
    assert!(grey_levels[0].contains("(here 0.078)"), "{grey_levels:?}");
}

#[test]
fn masked_pictures() {
    let folder = TempDir::new("masked");
    let mask = folder.0.join("m.png");
    let measured: Vec<f64> = (0..256).map(|i| f64::from(i % 3 != 0)).collect();
    picture::write(&mask, 16, 16, &[&measured], Depth::Eight).unwrap();
    let mut settings = config(TaskKind::Inpaint);
    settings.data.mask = Some(mask.clone());
    let made = task(&settings).unwrap();
    for pair in &made.training.pairs {
        for ((truth, data), measured) in pair.truth.iter().zip(&pair.data).zip(&measured) {
            match *measured > 0.5 {
                true => assert!((truth - data).abs() < 0.05 * 6.0),
                false => assert_eq!(*data, 0.0),
            }
        }
    }
    check_problem(&settings.clone().resolve().unwrap(), made);
    settings.data.size = 17;
    let message = refusal(&settings);
    let sizes = "m.png has 16 x 16 pixels, but built-in 1 has 17 x 17";
    assert!(message.contains(sizes), "{message}");
    settings.data.crop = Some(16);
    assert!(task(&settings).is_ok());
    picture::write(&mask, 16, 16, &[&[0.4; 256]], Depth::Eight).unwrap();
    assert!(refusal(&settings).contains("black everywhere"));
}

#[test]
fn signals_and_their_frequencies() {
    let mut settings = config(TaskKind::Sampling);
    settings.data.hold_out = Some(1);
    let made = task(&settings).unwrap();
    assert_eq!(made.training.names, ["built-in 1", "built-in 2"]);
    assert_eq!(made.family.parameters()[0].shape, [16]);
    let pair = &made.training.pairs[0];
    assert_eq!(pair.grid, Grid::line(16).complex());
    // Its frequencies, transformed back, are the signal with noise.
    let fourier = Fourier::new(pair.grid).unwrap();
    let mut back = vec![0.0; 32];
    fourier.apply_adjoint(&pair.data, &mut back, &mut fourier.scratch());
    let noise = rms(&pair.truth, &back) * 2_f64.sqrt();
    assert!((noise - 0.05).abs() < 0.03, "{noise}");
    check_problem(&settings.resolve().unwrap(), made);
}

#[test]
fn signals_of_files() {
    let folder = TempDir::new("signals");
    let (truth, data) = (folder.0.join("x.npy"), folder.0.join("y.npy"));
    let numbers: Vec<f64> = (0..24_u8).map(f64::from).collect();
    array::write(&truth, &[3, 4], &ArrayValues::Real(numbers[..12].to_vec())).unwrap();
    array::write(&data, &[3, 4], &ArrayValues::Complex(numbers.clone())).unwrap();
    let mut settings = Config::new(TaskKind::Sampling);
    settings.data.images = Some(truth.clone());
    let added = task(&settings).unwrap();
    assert_eq!(added.training.names[2], "x.npy (row 3)");
    let expected = [4.0, 0.0, 5.0, 0.0, 6.0, 0.0, 7.0, 0.0];
    assert_eq!(added.training.pairs[1].truth, expected);
    settings.data.noisy = Some(data.clone());
    settings.data.count = Some(2);
    let measured = task(&settings).unwrap();
    assert_eq!(measured.training.pairs.len(), 2);
    assert_eq!(measured.training.pairs[1].data, &numbers[8..16]);
    array::write(&data, &[3, 4], &ArrayValues::Real(numbers[..12].to_vec())).unwrap();
    assert!(refusal(&settings).contains("y.npy is real"));
    array::write(
        &data,
        &[2, 4],
        &ArrayValues::Complex(numbers[..16].to_vec()),
    )
    .unwrap();
    assert!(refusal(&settings).contains("y.npy has 2 rows, but"));
    array::write(
        &data,
        &[3, 2],
        &ArrayValues::Complex(numbers[..12].to_vec()),
    )
    .unwrap();
    let message = refusal(&settings);
    assert!(message.contains("has 2 samples, but those of"), "{message}");
    assert!(message.contains(" have 4: use signals"), "{message}");
    settings.data.noisy = None;
    settings.data.validation = Some(data);
    assert!(refusal(&settings).contains("has 2 samples, but those of"));
    settings.data.validation = Some(truth);
    let scored = task(&settings).unwrap();
    assert_eq!(scored.validation.pairs.len(), 3);
}

#[test]
fn settings_reach_model_and_solver() {
    let resolved = config(TaskKind::Denoise).resolve().unwrap();
    let Family::Denoising(model) = load(&resolved).unwrap().family else {
        panic!("another model");
    };
    assert_eq!(model.choices, TvChoices::default());
    let mut settings = config(TaskKind::Denoise);
    settings.model.learn = vec!["alpha".into()];
    settings.model.fixed.insert("nu".into(), 0.25);
    settings.solver.iterations = Some(8);
    settings.solver.method = bilevel::MethodName::Gd;
    settings.solver.max_points = 5;
    settings.solver.final_radius = 1e-3;
    settings.objective.condition = 1e-6;
    let settings = settings.resolve().unwrap();
    let Family::Denoising(model) = load(&settings).unwrap().family else {
        panic!("another model");
    };
    assert_eq!(model.choices.nu, Choice::Fixed(0.25));
    let made = settings.spec().setup(Vec::new());
    assert_eq!(made.effort, Effort::Iterations(8));
    assert_eq!(made.method, Method::GRADIENT_DESCENT);
    assert_eq!(made.penalties.len(), 1);
    assert!(made.regularizer.is_none());
    let options = settings.spec().options();
    assert_eq!(options.budget.max_points, Some(5));
    assert_eq!(options.trust_region.final_radius, 1e-3);

    let mut settings = config(TaskKind::Sampling);
    settings.objective.l1_kind = bilevel::L1Kind::Nonsmooth;
    settings.model.lower.insert("theta".into(), 0.25);
    settings.model.upper.insert("theta".into(), 0.75);
    settings.model.start.insert("theta".into(), 0.375);
    let settings = settings.resolve().unwrap();
    let made = settings.spec().setup(Vec::new());
    assert!(made.regularizer.is_some() && made.penalties.is_empty());
    let parameter = &load(&settings).unwrap().family.parameters()[0];
    assert_eq!(parameter.start, 0.375.into());
    assert_eq!([parameter.lower, parameter.upper], [0.25, 0.75]);
}
