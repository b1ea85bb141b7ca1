//! Tiny pictures of all types. Results are compared with those of the library.

mod large_pictures;

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};

use imaging::{Grid, Seed, noise, phantom};

use super::*;
use crate::array::{self, ArrayValues};
use crate::picture::{Metadata, Picture, SampleType};
use crate::temp_dir::TempDir;

/// Denoises files, without looking at the progress.
fn denoise(
    input: &Path,
    output: &Path,
    options: &DenoiseOptions,
) -> Result<Vec<DenoisedFile>, CliError> {
    super::denoise(input, output, options, &|_| {})
}

const ROWS: usize = 12;
const COLS: usize = 16;
const NOISE: f64 = 0.1;

/// A noisy picture whose values are levels of 8 bits, and thus of 16 bits, too.
fn noisy(index: usize) -> Vec<f64> {
    let truth = phantom::dead_leaves(ROWS, COLS, Seed::new(1), index).expect("not empty");
    let noisy = noise::gaussian(&truth, NOISE, Seed::new(2), index).expect("finite");
    let level = |value: f64| (value.clamp(0.0, 1.0) * 255.0).round() / 255.0;
    noisy.into_iter().map(level).collect()
}

fn typed(samples: SampleType, num_channels: usize) -> TypedPicture {
    TypedPicture {
        picture: Picture {
            width: COLS,
            height: ROWS,
            channels: (0..num_channels).map(noisy).collect(),
        },
        alpha: None,
        samples,
        metadata: Metadata::None,
    }
}

fn given() -> DenoiseOptions {
    DenoiseOptions {
        noise: Some(NOISE.into()),
        ..DenoiseOptions::default()
    }
}

fn grid() -> Grid {
    Grid::image(ROWS, COLS)
}

/// The result of the library for the picture of [`typed`].
fn expected(num_channels: usize) -> Vec<Vec<f64>> {
    match num_channels {
        1 => vec![imaging::denoise(grid(), &noisy(0), NOISE, None).unwrap().x],
        _ => {
            let [red, green, blue] = [noisy(0), noisy(1), noisy(2)];
            let made = imaging::denoise_colour(grid(), [&red, &green, &blue], NOISE, None);
            made.unwrap().channels.into()
        }
    }
}

/// Whether all values differ by at most `tolerance`.
#[track_caller]
fn assert_close(made: &[Vec<f64>], expected: &[Vec<f64>], tolerance: f64) {
    assert_eq!(made.len(), expected.len());
    for (made, expected) in made.iter().flatten().zip(expected.iter().flatten()) {
        assert!((made - expected).abs() <= tolerance, "{made} {expected}");
    }
}

/// Half a level of integers that are clamped to the range, or the rounding of single precision.
fn tolerance(samples: SampleType) -> f64 {
    match samples {
        SampleType::Single => 1e-7,
        _ => samples.white().map_or(1e-15, |white| 0.501 / white),
    }
}

#[test]
fn samples_keep_their_type() {
    let temp = TempDir::new("types");
    use SampleType::{Double, Eight, Single, Sixteen};
    let cases = [
        ("png", Eight, 1),
        ("png", Sixteen, 1),
        ("png", Eight, 3),
        ("png", Sixteen, 3),
        ("tif", Eight, 1),
        ("tif", Sixteen, 1),
        ("tif", Single, 1),
        ("tif", Double, 1),
        ("tiff", Eight, 3),
        ("tif", Sixteen, 3),
        ("tif", Single, 3),
        ("npy", Eight, 1),
        ("npy", Sixteen, 1),
        ("npy", Single, 1),
        ("npy", Double, 1),
    ];
    for (extension, samples, num_channels) in cases {
        let [input, output] = ["in", "out"].map(|name| temp.at(&format!("{name}.{extension}")));
        picture::write_typed(&input, &[typed(samples, num_channels)]).unwrap();
        let done = denoise(&input, &output, &given()).unwrap();
        assert_eq!((done.len(), &done[0].output), (1, &output));
        let about = &done[0].pictures[0];
        assert_eq!((about.width, about.height), (COLS, ROWS));
        assert_eq!((about.noise, about.is_estimated), (NOISE, false));
        assert!(about.error <= imaging::DENOISING_ERROR * NOISE * 1.001);
        let made = picture::read_typed(&output, Colour::Channels).unwrap();
        assert_eq!((made.len(), made[0].samples), (1, samples), "{extension}");
        let made = &made[0].picture.channels;
        let mut expected = expected(num_channels);
        if samples.white().is_some() {
            let values = expected.iter_mut().flatten();
            values.for_each(|value| *value = value.clamp(0.0, 1.0));
        }
        // the input is rounded to single precision, too
        let of_input = if samples == Single { 1e-5 } else { 0.0 };
        assert_close(made, &expected, tolerance(samples) + of_input);
    }
}

#[test]
fn other_formats_and_depths() {
    let temp = TempDir::new("depths");
    let read = |input: &str, output: &str, depth: Option<Depth>| {
        let options = DenoiseOptions { depth, ..given() };
        denoise(&temp.at(input), &temp.at(output), &options).unwrap();
        let mut pages = picture::read_typed(&temp.at(output), Colour::Channels).unwrap();
        pages.remove(0)
    };
    picture::write_typed(&temp.at("a.png"), &[typed(SampleType::Eight, 1)]).unwrap();
    picture::write_typed(&temp.at("a.npy"), &[typed(SampleType::Double, 1)]).unwrap();
    let expected = expected(1);
    for (input, output, depth, samples) in [
        ("a.png", "b.npy", None, SampleType::Eight),
        ("a.png", "b.tif", None, SampleType::Eight),
        ("a.png", "c.png", Some(Depth::Sixteen), SampleType::Sixteen),
        ("a.npy", "d.png", None, SampleType::Sixteen),
        ("a.npy", "d.png", Some(Depth::Eight), SampleType::Eight),
        ("a.npy", "e.tif", Some(Depth::Sixteen), SampleType::Sixteen),
    ] {
        let made = read(input, output, depth);
        assert_eq!(made.samples, samples, "{input} {output}");
        let clamped: Vec<f64> = expected[0].iter().map(|x| x.clamp(0.0, 1.0)).collect();
        assert_close(&made.picture.channels, &[clamped], tolerance(samples));
    }
}

#[test]
fn alpha_stays_unchanged() {
    let temp = TempDir::new("alpha");
    let (input, output) = (temp.at("in.png"), temp.at("out.png"));
    for num_channels in [1, 3] {
        let mut page = typed(SampleType::Eight, num_channels);
        let alpha: Vec<f64> = (0..ROWS * COLS).map(|i| (i % 256) as f64 / 255.0).collect();
        page.alpha = Some(alpha.clone());
        picture::write_typed(&input, &[page]).unwrap();
        denoise(&input, &output, &given()).unwrap();
        let made = picture::read_typed(&output, Colour::Channels).unwrap();
        assert_eq!(made[0].alpha.as_ref(), Some(&alpha));
        let half_a_level = 0.501 / 255.0;
        let mut expected = expected(num_channels);
        let values = expected.iter_mut().flatten();
        values.for_each(|value| *value = value.clamp(0.0, 1.0));
        assert_close(&made[0].picture.channels, &expected, half_a_level);
    }
}

#[test]
fn colours_are_treated_as_requested() {
    let temp = TempDir::new("colours");
    let (input, output) = (temp.at("in.tif"), temp.at("out.tif"));
    picture::write_typed(&input, &[typed(SampleType::Sixteen, 3)]).unwrap();
    let made = |colour| {
        let options = DenoiseOptions { colour, ..given() };
        let done = denoise(&input, &output, &options).unwrap();
        let mut pages = picture::read_typed(&output, Colour::Channels).unwrap();
        (done, pages.remove(0).picture.channels)
    };
    let (done, channels) = made(Colour::Channels);
    let alone = |index| imaging::denoise(grid(), &noisy(index), NOISE, None).unwrap();
    let all = [alone(0), alone(1), alone(2)];
    let clamped = |x: &Vec<f64>| x.iter().map(|x| x.clamp(0.0, 1.0)).collect();
    let expected: Vec<Vec<f64>> = all.iter().map(|made| clamped(&made.x)).collect();
    assert_close(&channels, &expected, 0.501 / 65535.0);
    let squares = all.iter().map(|made| made.solved.error.value().powi(2));
    let error = (squares.sum::<f64>() / (3 * ROWS * COLS) as f64).sqrt();
    assert!((done[0].pictures[0].error / error - 1.0).abs() < 1e-12);
    assert_ne!(made(Colour::Opponent).1, channels);
    let (done, grey) = made(Colour::Luminance);
    assert_eq!((grey.len(), done[0].pictures[0].num_channels), (1, 1));
}

#[test]
fn noise_is_estimated() {
    let temp = TempDir::new("estimated");
    let (input, output) = (temp.at("in.tif"), temp.at("out.tif"));
    for num_channels in [1, 3] {
        picture::write_typed(&input, &[typed(SampleType::Sixteen, num_channels)]).unwrap();
        let done = denoise(&input, &output, &DenoiseOptions::default()).unwrap();
        let about = &done[0].pictures[0];
        let [red, green, blue] = [noisy(0), noisy(1), noisy(2)];
        let expected = match num_channels {
            1 => noise::estimate(grid(), &red),
            _ => noise::estimate_colour(grid(), [&red, &green, &blue]),
        };
        assert!(about.is_estimated);
        assert!((about.noise / expected.unwrap() - 1.0).abs() < 1e-12);
        assert_eq!(done[0].warnings, [""; 0]);
    }
    // little noise, which cannot be told from the picture
    let mut calm = typed(SampleType::Double, 1);
    for (i, value) in calm.picture.channels[0].iter_mut().enumerate() {
        *value = 0.01 * (i % COLS) as f64 + 0.3 + 1e-3 * *value;
    }
    picture::write_typed(&input, &[calm]).unwrap();
    let done = denoise(&input, &output, &DenoiseOptions::default()).unwrap();
    assert!(
        done[0].warnings[0].contains("cannot be trusted"),
        "{done:?}"
    );
}

#[test]
fn accuracy_is_certified() {
    let temp = TempDir::new("accuracy");
    let (input, output) = (temp.at("in.npy"), temp.at("out.npy"));
    let root = ((ROWS * COLS) as f64).sqrt();
    // a root mean square over all samples, of one channel or of three
    for (format, samples, num_channels, colour) in [
        ("tif", SampleType::Single, 3, Colour::Channels),
        ("tif", SampleType::Single, 3, Colour::Opponent),
        ("npy", SampleType::Double, 1, Colour::Opponent),
    ] {
        let [input, output] = ["in", "out"].map(|name| temp.at(&format!("{name}.{format}")));
        picture::write_typed(&input, &[typed(samples, num_channels)]).unwrap();
        let options = DenoiseOptions {
            accuracy: Some(1e-6),
            colour,
            ..given()
        };
        let done = denoise(&input, &output, &options).unwrap();
        let error = done[0].pictures[0].error;
        // as a Euclidean norm, the same number would be much smaller
        assert!(error <= 1e-6 && error > 1e-6 / root, "{error}");
    }
    let made = picture::read_typed(&output, Colour::Channels).unwrap();
    let target = ErrorBound::new(1e-9).unwrap();
    let exact = imaging::denoise(grid(), &noisy(0), NOISE, Some(target)).unwrap();
    let pairs = made[0].picture.channels[0].iter().zip(&exact.x);
    let distance = pairs.map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt() / root;
    assert!(distance <= 1.001e-6, "{distance}");
    for accuracy in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let options = DenoiseOptions {
            accuracy: Some(accuracy),
            ..given()
        };
        let error = denoise(&input, &output, &options).unwrap_err();
        assert!(matches!(error, CliError::Accuracy { .. }), "{error}");
        let options = DenoiseOptions {
            noise: Some(accuracy.into()),
            ..given()
        };
        let error = denoise(&input, &output, &options).unwrap_err();
        assert!(error.to_string().contains("--noise is"), "{error}");
        assert_eq!(error.exit_code(), 2);
    }
}

#[test]
fn ranges_are_named() {
    let temp = TempDir::new("ranges");
    let (input, output) = (temp.at("in.npy"), temp.at("out.npy"));
    let counts: Vec<f64> = noisy(0).iter().map(|x| 100.0 + 4000.0 * x).collect();
    let write = |values: &[f64]| {
        let values = ArrayValues::Real(values.to_vec());
        array::write(&input, &[ROWS, COLS], &values).unwrap();
    };
    write(&counts);
    let error = denoise(&input, &output, &DenoiseOptions::default()).unwrap_err();
    let message = error.to_string();
    assert!(message.contains("--range 0,4"), "{message}");
    assert_eq!(error.exit_code(), 3);
    assert!(!output.exists());
    let options = DenoiseOptions {
        range: "100,4100".parse().ok(),
        ..given()
    };
    let read = || {
        let mut pages = picture::read_typed(&output, Colour::Channels).unwrap();
        pages.remove(0).picture.channels
    };
    denoise(&input, &output, &options).unwrap();
    let expected: Vec<f64> = expected(1)[0].iter().map(|x| 100.0 + 4000.0 * x).collect();
    assert_close(&read(), std::slice::from_ref(&expected), 1e-3);
    // white is the white of the range in PNG files
    let png = temp.at("out.png");
    denoise(&input, &png, &options).unwrap();
    let made = picture::read_typed(&png, Colour::Channels).unwrap();
    let unit = |x: &f64| ((x - 100.0) / 4000.0).clamp(0.0, 1.0);
    let expected: Vec<f64> = expected.iter().map(unit).collect();
    assert_close(&made[0].picture.channels, &[expected], 1e-5);
    // noise may exceed the range
    let shifted: Vec<f64> = noisy(0).iter().map(|x| x - 0.3).collect();
    write(&shifted);
    assert!(denoise(&input, &output, &given()).is_ok());
    let low = DenoiseOptions {
        noise: Some(0.01.into()),
        ..given()
    };
    assert!(denoise(&input, &output, &low).is_err());
    // a camera with 12 bits in a file of 16 bits keeps its unit
    let camera: Vec<f64> = noisy(0).iter().map(|x| x * 4080.0 / 65535.0).collect();
    let mut page = typed(SampleType::Sixteen, 1);
    page.picture.channels = vec![camera];
    let tiff = temp.at("camera.tif");
    picture::write_typed(&tiff, &[page]).unwrap();
    let done = denoise(&tiff, &temp.at("o.tif"), &given()).unwrap();
    assert!(done[0].warnings[0].contains("--range"), "{done:?}");
    let options = DenoiseOptions {
        range: ValueRange::new(0.0, 4080.0),
        ..given()
    };
    let done = denoise(&tiff, &temp.at("o.tif"), &options).unwrap();
    assert_eq!(done[0].warnings, [""; 0]);
    let made = picture::read_typed(&temp.at("o.tif"), Colour::Channels).unwrap();
    let level = |x: &f64| (x * 4080.0 / 65535.0).max(0.0);
    let expected: Vec<f64> = self::expected(1)[0].iter().map(level).collect();
    assert_close(&made[0].picture.channels, &[expected], 0.501 / 65535.0);
    for text in [
        "",
        "1",
        "1,1",
        "2,1",
        "0,x",
        "nan,1",
        "0,inf",
        "0,1,2",
        "-1e308,1e308",
    ] {
        let error = text.parse::<ValueRange>().unwrap_err();
        assert!(error.to_string().contains("--range is"), "{error}");
    }
    assert_eq!("-1, 1".parse().ok(), ValueRange::new(-1.0, 1.0));
}

#[test]
fn small_pictures_need_their_noise() {
    let temp = TempDir::new("small");
    let (input, output) = (temp.at("in.png"), temp.at("out.png"));
    for (width, height) in [(1, 1), (4, 7), (7, 4), (1, 9), (2, 3)] {
        let plane = vec![0.4; width * height];
        picture::write(&input, width, height, &[&plane], Depth::Eight).unwrap();
        let error = denoise(&input, &output, &DenoiseOptions::default()).unwrap_err();
        let size = format!("{width} x {height} pixels");
        assert!(error.to_string().contains(&size), "{error}");
        assert!(error.to_string().contains("--noise"), "{error}");
        assert_eq!(error.exit_code(), 3);
        denoise(&input, &output, &given()).unwrap();
        let made = picture::read(&output, Colour::Channels).unwrap();
        assert_eq!((made.width, made.height), (width, height));
        assert_close(&made.channels, &[plane], 0.01);
    }
    // colours of one pixel, and pictures without noise
    picture::write(&input, 1, 1, &[&[0.2], &[0.4], &[0.8]], Depth::Eight).unwrap();
    denoise(&input, &output, &given()).unwrap();
    let made = picture::read(&output, Colour::Channels).unwrap();
    assert_close(&made.channels, &[vec![0.2], vec![0.4], vec![0.8]], 0.1);
    picture::write(&input, 8, 8, &[&[0.0; 64]], Depth::Eight).unwrap();
    let error = denoise(&input, &output, &DenoiseOptions::default()).unwrap_err();
    assert!(error.to_string().contains("the largest value"), "{error}");
    let ramp: Vec<f64> = (0..64 * 64).map(|i| f64::from(i / 64) / 63.0).collect();
    picture::write(&input, 64, 64, &[&ramp], Depth::Eight).unwrap();
    let made = denoise(&input, &output, &DenoiseOptions::default());
    let message = made.map_or_else(|error| error.to_string(), |done| done[0].warnings.concat());
    assert!(message.contains("--noise"), "{message}");
}

#[test]
fn stacks_become_stacks() {
    let temp = TempDir::new("stacks");
    let (input, output) = (temp.at("in.tif"), temp.at("out.tif"));
    let pages = [
        typed(SampleType::Sixteen, 1),
        typed(SampleType::Single, 1),
        typed(SampleType::Eight, 3),
    ];
    picture::write_typed(&input, &pages).unwrap();
    let seen = AtomicUsize::new(0);
    let done = super::denoise(&input, &output, &given(), &|event| {
        if let DenoiseEvent::Page(_) = event {
            seen.fetch_add(1, Ordering::Relaxed);
        }
    })
    .unwrap();
    assert_eq!(seen.into_inner(), 3);
    assert_eq!(done[0].pictures.len(), 3);
    assert_eq!(done[0].pictures[2].name, temp.at("in.tif[3]"));
    let made = picture::read_typed(&output, Colour::Channels).unwrap();
    for (made, page) in made.iter().zip(&pages) {
        assert_eq!(made.samples, page.samples);
        let num_channels = page.picture.channels.len();
        assert_eq!(made.picture.channels.len(), num_channels);
    }
    assert_eq!(made.len(), 3);
    let error = denoise(&input, &temp.at("out.png"), &given()).unwrap_err();
    assert!(error.to_string().contains("name a .tif file"), "{error}");
    assert_eq!(error.exit_code(), 2);
}

#[test]
fn a_bad_picture_does_not_stop_the_others() {
    let temp = TempDir::new("folder");
    let (input, output) = (temp.at("in"), temp.at("deep/out"));
    fs::create_dir(&input).unwrap();
    picture::write_typed(&input.join("a.png"), &[typed(SampleType::Eight, 1)]).unwrap();
    picture::write_typed(&input.join("c.tif"), &[typed(SampleType::Single, 3)]).unwrap();
    fs::write(input.join("b.png"), b"no picture").unwrap();
    let error = denoise(&input, &output, &given()).unwrap_err();
    assert_eq!(error.exit_code(), 3);
    let message = error.chain();
    assert!(message.starts_with("1 of 3 files failed:\n"), "{message}");
    let CliError::SomeNotDenoised { denoised, failures } = error else {
        panic!("another error");
    };
    assert_eq!(failures[0].input, input.join("b.png"));
    let outputs: Vec<&Path> = denoised.iter().map(|done| &*done.output).collect();
    assert_eq!(outputs, [output.join("a.png"), output.join("c.tif")]);
    // threads change nothing
    fs::remove_file(input.join("b.png")).unwrap();
    let again = temp.at("again");
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    pool.unwrap()
        .install(|| denoise(&input, &again, &given()))
        .unwrap();
    for name in ["a.png", "c.tif"] {
        let of = |folder: &Path| fs::read(folder.join(name)).unwrap();
        assert!(of(&output) == of(&again), "{name}");
    }
}

#[test]
fn inputs_that_mean_nothing_are_refused() {
    let temp = TempDir::new("refused");
    let output = temp.at("out.png");
    let refusal = |input: &Path, output: &Path| {
        let error = denoise(input, output, &given()).unwrap_err();
        (error.chain(), error.exit_code())
    };
    // the writers of the program refuse NaN
    let mut bytes = std::io::Cursor::new(Vec::new());
    let mut encoder = tiff::encoder::TiffEncoder::new(&mut bytes).unwrap();
    let samples = [0.5, f32::NAN, 0.5, 0.5];
    encoder
        .write_image::<tiff::encoder::colortype::Gray32Float>(2, 2, &samples)
        .unwrap();
    fs::write(temp.at("nan.tif"), bytes.into_inner()).unwrap();
    let (message, code) = refusal(&temp.at("nan.tif"), &output);
    assert!(message.contains("the value at [0, 1] is NaN"), "{message}");
    assert_eq!(code, 3);
    let path = temp.at("line.npy");
    array::write(&path, &[9], &ArrayValues::Real(vec![0.5; 9])).unwrap();
    assert!(refusal(&path, &output).0.contains("two or three axes"));
    fs::write(temp.at("empty.png"), b"").unwrap();
    assert!(refusal(&temp.at("empty.png"), &output).0.contains("empty"));
    assert_eq!(refusal(&temp.at("none.png"), &output).1, 3);
    let input = temp.at("in.png");
    picture::write_typed(&input, &[typed(SampleType::Eight, 3)]).unwrap();
    assert_eq!(refusal(&input, &input).1, 2);
    assert_eq!(refusal(&input, &temp.0).1, 2);
    assert_eq!(refusal(&input, &temp.at("out.jpg")).1, 2);
    let (message, code) = refusal(&input, &temp.at("out.npy"));
    assert!(message.contains("hold grey pictures"), "{message}");
    assert_eq!(code, 2);
    assert!(!output.exists());
}
