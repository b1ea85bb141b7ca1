//! Bad input gives a typed error that names the argument, before any work is done.

use imaging::{
    Convolution, Denoising, Differences, Fourier, FourierSampling, Grid, Identity, LinearOperator,
    Mask, ModelError, Regularizer, SmoothedTv, TvParameters, Variational, Weights,
};
use lowlevel::{CurvatureError, StronglyConvex};

const SOUND: TvParameters = TvParameters {
    alpha: 0.1,
    nu: 0.01,
    xi: 0.001,
};

/// Parameters that are out of range, with the name that the error must mention.
fn bad_parameters() -> Vec<(&'static str, TvParameters)> {
    let bad_or_zero = [f64::NAN, f64::INFINITY, -1.0];
    let mut cases = vec![
        ("nu", TvParameters { nu: 0.0, ..SOUND }),
        (
            "nu",
            TvParameters {
                nu: 1e-155,
                ..SOUND
            },
        ),
        (
            "alpha",
            TvParameters {
                alpha: 1e101,
                ..SOUND
            },
        ),
    ];
    for value in bad_or_zero {
        cases.push((
            "alpha",
            TvParameters {
                alpha: value,
                ..SOUND
            },
        ));
        cases.push(("nu", TvParameters { nu: value, ..SOUND }));
        cases.push(("xi", TvParameters { xi: value, ..SOUND }));
    }
    cases
}

#[track_caller]
fn assert_names(error: Option<ModelError>, name: &str) {
    let error = error.expect("an error");
    assert!(
        error.to_string().contains(name),
        "{error} does not name {name}"
    );
}

#[test]
fn parameters_out_of_range_are_named() {
    let fourier = Fourier::new(Grid::line(3).complex()).unwrap();
    let identity = Identity::new(Grid::line(3));
    for (name, parameters) in bad_parameters() {
        assert_names(
            Denoising::new(Grid::line(3), &[0.0; 3], parameters).err(),
            name,
        );
        assert_names(
            FourierSampling::new(&fourier, &[0.0; 6], &[1.0; 3], parameters).err(),
            name,
        );
        let paper = Differences::LINE_OF_PAPER;
        assert_names(
            Variational::tv(&identity, &[0.0; 3], Weights::Uniform, paper, parameters).err(),
            name,
        );
    }
}

#[test]
fn data_that_do_not_fit_or_are_not_finite_are_named() {
    let fourier = Fourier::new(Grid::line(3).complex()).unwrap();
    let identity = Identity::new(Grid::image(1, 3));
    let paper = Differences::IMAGE_OF_PAPER;
    let wrong_length = |expected, found| {
        Some(ModelError::WrongLength {
            name: "data",
            expected,
            found,
        })
    };
    assert_eq!(
        Denoising::new(Grid::image(2, 2), &[0.0; 5], SOUND).err(),
        wrong_length(4, 5)
    );
    assert_eq!(
        FourierSampling::new(&fourier, &[0.0; 3], &[1.0; 3], SOUND).err(),
        wrong_length(6, 3)
    );
    assert_eq!(
        Variational::tv(&identity, &[], Weights::Uniform, paper, SOUND).err(),
        wrong_length(3, 0)
    );
    for bad in [f64::NAN, f64::INFINITY] {
        let data = [0.0, 0.0, bad];
        let not_finite = Some(ModelError::NonFinite {
            name: "data",
            index: 2,
        });
        assert_eq!(
            Denoising::new(Grid::line(3), &data, SOUND).err(),
            not_finite
        );
        assert_eq!(
            Variational::tv(&identity, &data, Weights::Uniform, paper, SOUND).err(),
            not_finite
        );
    }
}

#[test]
fn weights_must_fit_and_not_be_negative() {
    let fourier = Fourier::new(Grid::line(3).complex()).unwrap();
    let sampling =
        |weights: &[f64]| FourierSampling::new(&fourier, &[0.0; 6], weights, SOUND).err();
    assert_names(sampling(&[1.0; 6]), "weights");
    assert_names(sampling(&[1.0, -1e-300, 1.0]), "weights");
    assert_names(sampling(&[1.0, f64::NAN, 1.0]), "weights");
    let composed = Variational::tv(
        &fourier,
        &[0.0; 6],
        Weights::Diagonal(&[1.0, 1.0, -2.0]),
        Differences::LINE_OF_PAPER,
        SOUND,
    );
    assert_names(composed.err(), "weights");
}

#[test]
fn empty_and_unsuitable_grids_are_refused() {
    for grid in [Grid::line(0), Grid::image(0, 3), Grid::image(3, 0)] {
        assert_eq!(
            Denoising::new(grid, &[], SOUND).err(),
            Some(ModelError::EmptyGrid)
        );
        assert_eq!(Fourier::new(grid).err(), Some(ModelError::EmptyGrid));
        assert_eq!(
            Convolution::new(grid, &[1.0], Grid::line(1)).err(),
            Some(ModelError::EmptyGrid)
        );
        let tv = SmoothedTv::new(grid, Differences::LINE_OF_PAPER, 1.0);
        assert_eq!(tv.err(), Some(ModelError::EmptyGrid));
        let identity = Identity::new(grid);
        let composed = Variational::tv(
            &identity,
            &[],
            Weights::Uniform,
            Differences::LINE_OF_PAPER,
            SOUND,
        );
        assert_eq!(composed.err(), Some(ModelError::EmptyGrid));
    }
    let complex = Denoising::new(Grid::line(2).complex(), &[0.0; 4], SOUND);
    assert_names(complex.err(), "real");
    let real = Fourier::new(Grid::line(2)).unwrap();
    assert_names(
        FourierSampling::new(&real, &[0.0; 4], &[1.0; 2], SOUND).err(),
        "complex",
    );
    let image = Fourier::new(Grid::image(1, 2).complex()).unwrap();
    assert_names(
        FourierSampling::new(&image, &[0.0; 4], &[1.0; 2], SOUND).err(),
        "line",
    );
}

#[test]
fn operators_check_their_arguments() {
    assert_names(Mask::new(Grid::line(3), vec![true; 2]).err(), "measured");
    let grid = Grid::image(4, 4);
    assert_names(
        Convolution::new(grid, &[1.0; 3], Grid::line(3)).err(),
        "kernel",
    );
    assert_names(
        Convolution::new(grid, &[1.0; 2], Grid::image(1, 1).complex()).err(),
        "kernel",
    );
    assert_names(
        Convolution::new(grid, &[1.0; 2], Grid::image(3, 3)).err(),
        "kernel",
    );
    assert_names(
        Convolution::new(grid, &[f64::NAN], Grid::image(1, 1)).err(),
        "kernel",
    );
    assert_eq!(
        Convolution::new(grid, &[], Grid::image(0, 3)).err(),
        Some(ModelError::EmptyGrid)
    );
}

#[test]
fn a_model_without_strong_convexity_asks_for_it() {
    let mask = Mask::new(Grid::line(3), vec![true, false, true]).unwrap();
    let parameters = TvParameters { xi: 0.0, ..SOUND };
    let paper = Differences::LINE_OF_PAPER;
    let error = Variational::tv(&mask, &[0.0; 3], Weights::Uniform, paper, parameters).err();
    let expected = CurvatureError::NotStronglyConvex { found: 0.0 };
    assert_eq!(error, Some(ModelError::Curvature(expected)));
    assert_names(error, "xi");
    // Without the gap, xi = 0 is fine. With alpha = 0, nu does not matter.
    assert!(Denoising::new(Grid::line(3), &[0.0; 3], parameters).is_ok());
    let silent = TvParameters {
        alpha: 0.0,
        nu: 1e-150,
        xi: 0.0,
    };
    let objective = Denoising::new(Grid::line(3), &[0.0; 3], silent).unwrap();
    assert!((objective.curvature().condition_number() - 1.0).abs() < 1e-15);
}

#[test]
#[should_panic(expected = "another shape")]
fn a_scratch_of_another_shape_is_noticed() {
    let image = Denoising::new(Grid::image(1, 3), &[0.0; 3], SOUND).unwrap();
    let line = Denoising::new(Grid::line(3), &[0.0; 3], SOUND).unwrap();
    line.gradient(&[0.0; 3], &mut [0.0; 3], &mut image.scratch());
}

#[test]
#[should_panic(expected = "another grid")]
fn a_scratch_of_a_wider_picture_is_noticed() {
    let wide = Denoising::new(Grid::image(2, 4), &[0.0; 8], SOUND).unwrap();
    let narrow = Denoising::new(Grid::image(4, 2), &[0.0; 8], SOUND).unwrap();
    narrow.gradient(&[0.0; 8], &mut [0.0; 8], &mut wide.scratch());
}

#[test]
#[should_panic(expected = "another grid")]
fn a_scratch_of_a_longer_line_is_noticed() {
    let long = Denoising::new(Grid::line(4), &[0.0; 4], SOUND).unwrap();
    let short = Denoising::new(Grid::line(3), &[0.0; 3], SOUND).unwrap();
    short.gradient(&[0.0; 3], &mut [0.0; 3], &mut long.scratch());
}

#[test]
#[should_panic(expected = "another grid")]
fn a_scratch_of_a_longer_transform_is_noticed() {
    let [long, short] = [4, 2].map(|len| Fourier::new(Grid::line(len).complex()).unwrap());
    short.apply(&[0.0; 4], &mut [0.0; 4], &mut long.scratch());
}

/// Different models have different fingerprints, even if their constants are the same.
#[test]
fn different_models_have_different_fingerprints() {
    let fourier = Fourier::new(Grid::line(4).complex()).unwrap();
    let data = [0.5; 8];
    let same_constants = [[0.1, 0.2, 0.3, 1.0], [0.1, 0.3, 0.2, 1.0]];
    let models = same_constants
        .each_ref()
        .map(|weights| FourierSampling::new(&fourier, &data, weights, SOUND).unwrap());
    assert_eq!(models[0].curvature(), models[1].curvature());
    assert_ne!(models[0].fingerprint(), models[1].fingerprint());
    let pictures = [[0.0, 1.0], [1.0, 0.0]];
    let denoising = pictures
        .each_ref()
        .map(|data| Denoising::new(Grid::line(2), data, SOUND).unwrap());
    assert_ne!(denoising[0].fingerprint(), denoising[1].fingerprint());
    let identity = Identity::new(Grid::line(2));
    let composed = pictures.each_ref().map(|data| {
        Variational::tv(
            &identity,
            data,
            Weights::Uniform,
            Differences::LINE_OF_PAPER,
            SOUND,
        )
        .unwrap()
    });
    assert_ne!(composed[0].fingerprint(), composed[1].fingerprint());
    assert_eq!(composed[0].fingerprint(), composed[0].fingerprint());

    // Operators with the same constants, and regularisers too.
    let grid = Grid::line(3);
    let masks = [vec![true, false, true], vec![true, true, false]]
        .map(|measured| Mask::new(grid, measured).unwrap());
    assert_ne!(masks[0].fingerprint(), masks[1].fingerprint());
    let kernels = [[0.1, 0.5, 0.4], [0.4, 0.5, 0.1]]
        .map(|kernel| Convolution::new(grid, &kernel, grid).unwrap());
    assert_ne!(kernels[0].fingerprint(), kernels[1].fingerprint());
    let regularizers = [Differences::LINE_OF_PAPER, Differences::IMAGE_OF_PAPER]
        .map(|differences| SmoothedTv::new(grid, differences, 0.1).unwrap());
    assert_ne!(regularizers[0].fingerprint(), regularizers[1].fingerprint());
    let fouriers = [
        Fourier::new(grid).unwrap(),
        Fourier::new(grid.complex()).unwrap(),
    ];
    assert_ne!(fouriers[0].fingerprint(), fouriers[1].fingerprint());
    let all = [
        masks[0].fingerprint(),
        kernels[0].fingerprint(),
        regularizers[0].fingerprint(),
        composed[0].fingerprint(),
        denoising[0].fingerprint(),
        models[0].fingerprint(),
    ];
    assert!(all.iter().all(Option::is_some));
}
