//! Tests of image quality: published and computed reference values, a slow implementation of SSIM,
//! properties and misuse.

use approx::assert_abs_diff_eq;
use imaging::quality::{QualityError, mse, psnr, ssim};
use proptest::prelude::*;
use serde_json::Value;
use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};

const SIDE: usize = 512;

fn in_tests(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(path)
}

/// Grey levels 0 to 255 of an 8-bit image with `SIDE` rows and columns.
fn read_image(name: &str) -> Vec<f64> {
    let file = File::open(in_tests("data").join(name)).expect("test image");
    let mut reader = png::Decoder::new(BufReader::new(file))
        .read_info()
        .expect("PNG");
    let mut bytes = vec![0; reader.output_buffer_size().expect("small image")];
    let info = reader.next_frame(&mut bytes).expect("pixels");
    assert_eq!(info.color_type, png::ColorType::Grayscale);
    assert_eq!(info.bit_depth, png::BitDepth::Eight);
    assert_eq!(bytes.len(), SIDE * SIDE);
    bytes.into_iter().map(f64::from).collect()
}

fn camera_pair() -> (Vec<f64>, Vec<f64>) {
    (read_image("camera_noisy.png"), read_image("camera.png"))
}

fn golden(source: &str, quantity: &str) -> f64 {
    let text = fs::read_to_string(in_tests("golden/quality.json")).expect("golden file");
    let golden: Value = serde_json::from_str(&text).expect("golden file is JSON");
    golden[source][quantity].as_f64().expect("number")
}

/// SSIM as its article states it: for every window, weighted means, then weighted squared
/// deviations from them.
fn ssim_naive(x: &[f64], truth: &[f64], rows: usize, cols: usize, peak: f64) -> f64 {
    let weight = |i: usize, j: usize| {
        let square = (i as f64 - 5.0).powi(2) + (j as f64 - 5.0).powi(2);
        (-square / (2.0 * 1.5 * 1.5)).exp()
    };
    let total: f64 = (0..121).map(|k| weight(k / 11, k % 11)).sum();
    let (c1, c2) = ((0.01 * peak).powi(2), (0.03 * peak).powi(2));
    let mut map = vec![];
    for top in 0..=rows - 11 {
        for left in 0..=cols - 11 {
            let average = |f: &dyn Fn(f64, f64) -> f64| -> f64 {
                let pixel = |k: usize| (top + k / 11) * cols + left + k % 11;
                let terms =
                    (0..121).map(|k| weight(k / 11, k % 11) * f(x[pixel(k)], truth[pixel(k)]));
                terms.sum::<f64>() / total
            };
            let (mu_x, mu_t) = (average(&|a, _| a), average(&|_, b| b));
            let var_x = average(&|a, _| (a - mu_x).powi(2));
            let var_t = average(&|_, b| (b - mu_t).powi(2));
            let cov = average(&|a, b| (a - mu_x) * (b - mu_t));
            let above = (2.0 * mu_x * mu_t + c1) * (2.0 * cov + c2);
            map.push(above / ((mu_x * mu_x + mu_t * mu_t + c1) * (var_x + var_t + c2)));
        }
    }
    map.iter().sum::<f64>() / map.len() as f64
}

#[test]
fn published_values_are_reproduced() {
    let (x, truth) = camera_pair();
    // The sources compare to 3 and 4 decimals; their numbers are in fact closer: 5.2e-6 and 5.1e-7
    // from scikit-image's.
    let value = ssim(&x, &truth, SIDE, SIDE, 255.0).unwrap();
    assert_abs_diff_eq!(value, golden("published", "ssim"), epsilon = 1e-5);
    let value = psnr(&x, &truth, 255.0).unwrap();
    assert_abs_diff_eq!(value, golden("published", "psnr"), epsilon = 1e-6);
}

#[test]
fn values_agree_with_scikit_image() {
    let (x, truth) = camera_pair();
    // Variances are differences of numbers up to 255^2 = 6.5e4, their rounding errors about 1e-11
    // against a constant of 58.5: a few 1e-13 in the map.
    let value = ssim(&x, &truth, SIDE, SIDE, 255.0).unwrap();
    assert_abs_diff_eq!(value, golden("computed", "ssim"), epsilon = 1e-12);
    let crop = |image: &[f64]| -> Vec<f64> {
        let rows = image.chunks_exact(SIDE).skip(100).take(40);
        rows.flat_map(|row| &row[200..253]).copied().collect()
    };
    let value = ssim(&crop(&x), &crop(&truth), 40, 53, 255.0).unwrap();
    assert_abs_diff_eq!(value, golden("computed", "ssim_crop"), epsilon = 1e-12);
    // Sums of 2.6e5 integers below 2^53 are exact.
    let value = mse(&x, &truth).unwrap();
    assert_abs_diff_eq!(value, golden("computed", "mse"), epsilon = 1e-12);
    let value = psnr(&x, &truth, 255.0).unwrap();
    assert_abs_diff_eq!(value, golden("computed", "psnr"), epsilon = 1e-13);
}

fn image_pairs() -> impl Strategy<Value = (usize, usize, Vec<f64>, Vec<f64>)> {
    (11_usize..18, 11_usize..18).prop_flat_map(|(rows, cols)| {
        let image = || prop::collection::vec(-0.2..1.2, rows * cols);
        (Just(rows), Just(cols), image(), image())
    })
}

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 64,
        rng_seed: prop::test_runner::RngSeed::Fixed(1),
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn ssim_agrees_with_the_slow_implementation((rows, cols, x, truth) in image_pairs(), peak in 0.1..300.0) {
        let scaled = |image: &[f64]| -> Vec<f64> { image.iter().map(|v| v * peak).collect() };
        // From unrelated to nearly equal images.
        for closeness in [0.0, 0.5, 0.99] {
            let near: Vec<f64> = x.iter().zip(&truth).map(|(a, b)| a + closeness * (b - a)).collect();
            let (x, truth) = (scaled(&near), scaled(&truth));
            let fast = ssim(&x, &truth, rows, cols, peak).unwrap();
            assert_abs_diff_eq!(fast, ssim_naive(&x, &truth, rows, cols, peak), epsilon = 1e-12);
        }
    }

    #[test]
    fn ssim_is_symmetric_at_most_one_and_one_for_equal_images((rows, cols, x, truth) in image_pairs()) {
        let value = ssim(&x, &truth, rows, cols, 1.0).unwrap();
        prop_assert!(value.abs() < 1.0);
        assert_abs_diff_eq!(value, ssim(&truth, &x, rows, cols, 1.0).unwrap(), epsilon = 1e-15);
        assert_abs_diff_eq!(ssim(&x, &x, rows, cols, 1.0).unwrap(), 1.0, epsilon = 1e-15);
    }

    #[test]
    fn psnr_is_the_error_in_decibels(error in 1e-6..1.0_f64, peak in 0.1..300.0_f64) {
        let truth = [0.3, 0.1, 0.7];
        let x = truth.map(|v| v + error);
        let db = psnr(&x, &truth, peak).unwrap();
        // Adding and subtracting the error loses digits: about 1e-16 / 1e-6 of it.
        assert_abs_diff_eq!(db, 20.0 * (peak / error).log10(), epsilon = 1e-8);
    }
}

#[test]
fn equal_images_are_infinitely_good() {
    let x = [0.1, 0.2];
    assert!(psnr(&x, &x, 1.0).unwrap() == f64::INFINITY);
    assert_abs_diff_eq!(mse(&x, &x).unwrap(), 0.0, epsilon = 0.0);
    // Also where the constants of SSIM alone would underflow.
    let black = vec![0.0; 121];
    assert_abs_diff_eq!(
        ssim(&black, &black, 11, 11, 1e-200).unwrap(),
        1.0,
        epsilon = 0.0
    );
}

/// All three functions refuse the arguments with this error.
fn check_refused(x: &[f64], truth: &[f64], peak: f64, expected: QualityError, message: &str) {
    let rows = x.len() / 11;
    assert_eq!(ssim(x, truth, rows, 11, peak), Err(expected));
    assert_eq!(psnr(x, truth, peak), Err(expected));
    if !matches!(expected, QualityError::Peak(_)) {
        assert_eq!(mse(x, truth), Err(expected));
    }
    assert_eq!(expected.to_string(), message);
}

#[test]
fn misuse_is_reported() {
    let good = vec![0.5; 121];
    let with = |value: f64| -> Vec<f64> {
        let mut bad = good.clone();
        bad[17] = value;
        bad
    };
    let mismatch = QualityError::LengthMismatch { x: 121, truth: 110 };
    check_refused(
        &good,
        &good[11..],
        1.0,
        mismatch,
        "x has 121 pixels but truth has 110",
    );
    check_refused(
        &[],
        &[],
        1.0,
        QualityError::Empty,
        "x and truth have no pixels",
    );
    let overflow = "the pixels of x or truth are too large to be squared";
    check_refused(&with(1e200), &good, 1.0, QualityError::Overflow, overflow);
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let error = |image| QualityError::NotFinite { image, index: 17 };
        check_refused(
            &with(value),
            &good,
            1.0,
            error("x"),
            "pixel 17 of x is not finite",
        );
        check_refused(
            &good,
            &with(value),
            1.0,
            error("truth"),
            "pixel 17 of truth is not finite",
        );
    }
    for peak in [0.0, -1.0, f64::INFINITY] {
        let message = format!("peak must be positive and finite, got {peak}");
        check_refused(&good, &good, peak, QualityError::Peak(peak), &message);
    }
    assert!(matches!(psnr(&good, &good, f64::NAN), Err(QualityError::Peak(p)) if p.is_nan()));

    for (rows, cols) in [(11, 12), (usize::MAX, 2), (0, 0)] {
        let error = QualityError::ShapeMismatch {
            rows,
            cols,
            len: 121,
        };
        assert_eq!(ssim(&good, &good, rows, cols, 1.0), Err(error));
    }
    for (rows, cols) in [(10, 12), (12, 10), (1, 120)] {
        let error = QualityError::SmallerThanWindow { rows, cols };
        assert_eq!(
            ssim(&good[..120], &good[..120], rows, cols, 1.0),
            Err(error)
        );
        assert!(error.to_string().contains("at least 11"));
    }
}
