//! Pictures that are denoised by tiles, and stacks with pages whose noise is not known.

use super::*;

#[test]
fn large_pictures_are_those_that_are_denoised_at_once() {
    let temp = TempDir::new("large");
    use SampleType::{Double, Eight, Single, Sixteen};
    for (extension, samples, num_channels) in [
        ("png", Eight, 1),
        ("png", Sixteen, 3),
        ("tif", Eight, 3),
        ("tif", Sixteen, 1),
        ("tif", Single, 1),
        ("tif", Double, 1),
        ("npy", Sixteen, 1),
        ("npy", Single, 1),
    ] {
        let [input, output] = ["in", "out"].map(|name| temp.at(&format!("{name}.{extension}")));
        picture::write_typed(&input, &[typed(samples, num_channels)]).unwrap();
        assert_eq!(
            picture::large::size(&input),
            Some([COLS, ROWS, num_channels])
        );
        let options = DenoiseOptions {
            accuracy: Some(4e-5),
            ..given()
        };
        let done = large::denoise_file(&input, &output, &options).unwrap();
        assert!(done.pictures[0].error <= 4.04e-5);
        let made = picture::read_typed(&output, Colour::Channels)
            .unwrap()
            .remove(0);
        assert_eq!(made.samples, samples);
        let whole = temp.at(&format!("whole.{extension}"));
        denoise(&input, &whole, &options).unwrap();
        let whole = picture::read_typed(&whole, Colour::Channels)
            .unwrap()
            .remove(0);
        let tolerance = 2.0 * tolerance(samples) + 2.1e-3;
        assert_close(&made.picture.channels, &whole.picture.channels, tolerance);
    }
    // a camera that counts photons
    let [input, output, whole] = ["in", "out", "whole"].map(|name| temp.at(&format!("{name}.npy")));
    picture::write_typed(&input, &[typed(Double, 1)]).unwrap();
    let options = DenoiseOptions {
        noise: Some("poisson:0.02,0.05".parse().unwrap()),
        accuracy: Some(4e-5),
        ..given()
    };
    let done = large::denoise_file(&input, &output, &options).unwrap();
    let camera = done.pictures[0].camera.unwrap();
    let found = [camera.gain, camera.read, camera.black].map(f64::to_bits);
    assert_eq!(found, [0.02, 0.05, 0.0].map(f64::to_bits));
    denoise(&input, &whole, &options).unwrap();
    let read = |path: &Path| {
        picture::read_typed(path, Colour::Channels)
            .unwrap()
            .remove(0)
    };
    let [made, whole] = [read(&output), read(&whole)].map(|page| page.picture.channels);
    assert_close(&made, &whole, 5e-3);
    let options = DenoiseOptions {
        noise: Some(Noise::EstimatedCamera),
        ..given()
    };
    assert!(large::denoise_file(&input, &output, &options).is_err());
    // the noise is estimated, and files that are no single pictures are none of these
    let input = temp.at("in.tif");
    let options = DenoiseOptions {
        colour: Colour::Luminance,
        ..DenoiseOptions::default()
    };
    picture::write_typed(&input, &[typed(Sixteen, 3)]).unwrap();
    let done = large::denoise_file(&input, &temp.at("grey.tif"), &options).unwrap();
    assert!(done.pictures[0].is_estimated && done.pictures[0].num_channels == 1);
    let two = [typed(Eight, 1), typed(Eight, 1)];
    picture::write_typed(&input, &two).unwrap();
    assert_eq!(picture::large::size(&input), None);
    assert_eq!(picture::large::size(&temp.at("none.tif")), None);
    fs::write(temp.at("bad.tif"), b"II*\0\x08").unwrap();
    assert_eq!(picture::large::size(&temp.at("bad.tif")), None);
}

#[test]
fn a_page_without_noise_has_that_of_the_others() {
    let temp = TempDir::new("black-page");
    let [input, output] = ["in.tif", "out.tif"].map(|name| temp.at(name));
    let mut pages = vec![typed(SampleType::Sixteen, 1); 3];
    pages[1].picture.channels[0].fill(0.0);
    picture::write_typed(&input, &pages).unwrap();
    let done = denoise(&input, &output, &DenoiseOptions::default()).unwrap();
    let noise: Vec<f64> = done[0].pictures.iter().map(|page| page.noise).collect();
    assert_eq!((noise[1], done[0].pictures.len()), (noise[0], 3));
    assert!(
        done[0].warnings[0].contains("in.tif[2]"),
        "{:?}",
        done[0].warnings
    );
    // a black picture alone is refused
    picture::write_typed(&input, &pages[1..2]).unwrap();
    assert!(denoise(&input, &output, &DenoiseOptions::default()).is_err());
}

#[test]
fn outputs_are_checked_before_the_work() {
    let temp = TempDir::new("outputs");
    let input = temp.at("in.tif");
    let mut pages = vec![typed(SampleType::Sixteen, 1); 2];
    picture::write_typed(&input, &pages).unwrap();
    let pages_done = AtomicUsize::new(0);
    let observe = |event: DenoiseEvent<'_>| {
        if let DenoiseEvent::Page(_) = event {
            pages_done.fetch_add(1, Ordering::Relaxed);
        }
    };
    let options = given();
    let refused = |name: &str| {
        let made = super::super::denoise(&input, &temp.at(name), &options, &observe);
        made.unwrap_err().to_string()
    };
    assert!(refused("out.png").contains("name a .tif file"));
    assert!(refused("out.jpg").contains("must end in"));
    pages[1].picture = pages[1].picture.clone().crop_centre(8);
    picture::write_typed(&input, &pages).unwrap();
    assert!(refused("out.npy").contains("pages that differ"));
    assert_eq!(pages_done.load(Ordering::Relaxed), 0);
    picture::write_typed(&input, &pages[..1]).unwrap();
    let error = large::denoise_file(&input, &temp.at("out.nii"), &options).unwrap_err();
    assert!(
        error.to_string().contains("because the picture is large"),
        "{error}"
    );
}
