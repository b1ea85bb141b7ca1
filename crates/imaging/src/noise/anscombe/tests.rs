use super::*;
use crate::{Seed, noise};

fn camera(gain: f64, read: f64) -> Anscombe {
    Anscombe::new(gain, read).expect("a camera")
}

#[test]
fn the_inverse_inverts_the_mean() {
    for (gain, read) in [(1.0, 0.0), (0.1, 0.02), (0.01, 0.01), (1.0, 5.0)] {
        let camera = camera(gain, read);
        let counts = [0.0, 0.03, 0.5, 2.0, 17.3, 99.0, 100.5, 4000.0];
        let x: Vec<f64> = counts.iter().map(|count| gain * count).collect();
        let back = camera.inverse(&camera.expected(&x));
        for (x, back) in x.iter().zip(&back) {
            assert!((x - back).abs() < 1e-6 * (gain + x), "{x} {back}");
        }
        assert_eq!(camera.inverse(&[-1.0]), [0.0]);
        assert!(camera.inverse(&[f64::NAN])[0].is_nan());
        assert!(camera.transform(&[f64::NAN])[0].is_nan());
        assert_eq!(camera.transform(&[-1e9 * gain]), [0.0]);
    }
}

/// Without photons and without read noise, the transform is a number; with 4 photons, the mean
/// is a sum over Poisson probabilities.
#[test]
fn means_are_sums_over_counts() {
    let exact = camera(1.0, 0.0);
    assert!((exact.quadrature(0.0) - 2.0 * 0.375_f64.sqrt()).abs() < 1e-14);
    let mut probability = (-4.0_f64).exp();
    let mut mean = 0.0;
    for count in 0..60 {
        mean += probability * 2.0 * (f64::from(count) + 0.375).sqrt();
        probability *= 4.0 / f64::from(count + 1);
    }
    assert!((exact.quadrature(4.0) - mean).abs() < 1e-12);
    for read in [0.0, 1.0, 3.0] {
        let camera = camera(1.0, read);
        let (sum, series) = (camera.quadrature(TABULATED), camera.series(TABULATED));
        assert!((sum - series).abs() < 1e-6, "{sum} {series}");
    }
}

/// The variance of transformed data is about 1 / s^2, and their mean the expected one.
#[test]
fn transformed_noise_is_nearly_uniform() {
    let camera = camera(0.02, 0.03);
    for (index, x) in [0.1, 0.4, 1.0].into_iter().enumerate() {
        let truth = vec![x; 40_000];
        let data = noise::poisson(&truth, &camera, Seed::new(3), index).expect("a camera");
        let z = camera.transform(&data);
        let mean = z.iter().sum::<f64>() / z.len() as f64;
        let variance = z.iter().map(|z| (z - mean).powi(2)).sum::<f64>() / z.len() as f64;
        let sigma = camera.sigma();
        // standard errors are 0.005 sigma and 0.7 %
        assert!(
            (mean - camera.expected(&[x])[0]).abs() < 0.02 * sigma,
            "{x}"
        );
        assert!((variance / (sigma * sigma) - 1.0).abs() < 0.05, "{x}");
    }
    assert!((camera.transform(&[1.0])[0] - 1.0).abs() < 1e-15);
}

#[test]
fn a_stack_gives_gain_and_read_noise() {
    let truth: Vec<f64> = (0..20_000).map(|i| f64::from(i) / 20_000.0).collect();
    for (gain, read) in [(0.02, 0.03), (0.1, 0.0)] {
        let camera = camera(gain, read);
        let frames: Vec<Vec<f64>> = (0..4)
            .map(|i| noise::poisson(&truth, &camera, Seed::new(8), i).expect("a camera"))
            .collect();
        let frames: Vec<&[f64]> = frames.iter().map(Vec::as_slice).collect();
        let found = Anscombe::estimate(&frames).expect("a stack");
        assert!((found.gain() / gain - 1.0).abs() < 0.05, "{}", found.gain());
        assert!((found.read() - read).abs() < 0.01, "{}", found.read());
    }
    let flat = [[0.5; 9], [0.6; 9]];
    let flat = [&flat[0][..], &flat[1]];
    assert_eq!(Anscombe::estimate(&flat), Err(NoiseError::NotPoisson));
    assert_eq!(Anscombe::estimate(&flat[..1]), Err(NoiseError::Stack));
    assert_eq!(Anscombe::estimate(&[&[], &[]]), Err(NoiseError::Stack));
    assert_eq!(
        Anscombe::estimate(&[&[f64::NAN], &[1.0]]),
        Err(NoiseError::NotFinite(0))
    );
}

/// A black level shifts data and clean pictures, and nothing else.
#[test]
fn a_black_level_is_a_shift() {
    let plain = camera(0.05, 0.01);
    let shifted: Anscombe = "poisson:0.05,0.01,0.25".parse().expect("a camera");
    assert_eq!(shifted.to_string(), "poisson:0.05,0.01,0.25");
    assert_eq!(shifted.to_string().parse(), Ok(shifted.clone()));
    assert_eq!(plain.to_string(), "poisson:0.05,0.01");
    let (data, moved) = ([-0.125, 0.0, 0.5, 2.0], [0.125, 0.25, 0.75, 2.25]);
    assert_eq!(plain.transform(&data), shifted.transform(&moved));
    assert_eq!(plain.expected(&data), shifted.expected(&moved));
    let numbers = [plain.sigma(), plain.noise_at(0.5)].map(f64::to_bits);
    assert_eq!(
        numbers,
        [shifted.sigma(), shifted.noise_at(0.75)].map(f64::to_bits)
    );
    assert!((plain.noise_at(0.5) - (0.05_f64 * 0.5 + 1e-4).sqrt()).abs() < 1e-15);
    let z = plain.transform(&data[1..]);
    for (x, y) in plain.inverse(&z).iter().zip(shifted.inverse(&z)) {
        assert!((x + 0.25 - y).abs() < 1e-15);
    }
    for (y, back) in moved[1..].iter().zip(shifted.untransform(&z)) {
        assert!((y - back).abs() < 1e-14, "{y} {back}");
    }
}

#[test]
fn bad_cameras_are_refused() {
    for text in ["", "0.1", "poisson:", "poisson:a,b", "poisson:1,1,1,1"] {
        assert_eq!(text.parse::<Anscombe>(), Err(NoiseError::Text), "{text}");
    }
    for gain in [0.0, -1.0, f64::INFINITY] {
        assert_eq!(Anscombe::new(gain, 0.0), Err(NoiseError::Gain(gain)));
    }
    assert_eq!(Anscombe::new(1.0, -0.5), Err(NoiseError::Read(-0.5)));
    assert!(matches!(
        "poisson:NaN,0".parse::<Anscombe>(),
        Err(NoiseError::Gain(_))
    ));
    assert_eq!("poisson: 0.5".parse::<Anscombe>(), Anscombe::new(0.5, 0.0));
    assert!(matches!(
        "poisson:1,0,inf".parse::<Anscombe>(),
        Err(NoiseError::Black(_))
    ));
}
