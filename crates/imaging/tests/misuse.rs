//! Bad input: a typed error that names the argument, before any work.

use imaging::{
    Convolution, Denoising, Differences, Fourier, FourierSampling, Grid, Identity, Mask,
    ModelError, SmoothedTv, TvParameters, Variational, Weights,
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
    let mut cases = vec![("nu", TvParameters { nu: 0.0, ..SOUND })];
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
fn operators_check_what_they_are_made_of() {
    assert_names(Mask::new(Grid::line(3), vec![true; 2]).err(), "kept");
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
    // Without the hole, xi = 0 is fine; so are constants that would overflow if alpha were not zero.
    assert!(Denoising::new(Grid::line(3), &[0.0; 3], parameters).is_ok());
    let overflow = TvParameters {
        alpha: 1e300,
        nu: 1e-300,
        xi: 0.0,
    };
    assert!(matches!(
        Denoising::new(Grid::line(3), &[0.0; 3], overflow).err(),
        Some(ModelError::Curvature(
            CurvatureError::LipschitzTooSmall { .. }
        ))
    ));
    let silent = TvParameters {
        alpha: 0.0,
        nu: 1e-300,
        xi: 0.0,
    };
    let objective = Denoising::new(Grid::line(3), &[0.0; 3], silent).unwrap();
    assert!((objective.curvature().condition_number() - 1.0).abs() < 1e-15);
}

#[test]
#[should_panic(expected = "another shape")]
fn a_scratch_of_another_shape_is_our_bug() {
    let image = Denoising::new(Grid::image(1, 3), &[0.0; 3], SOUND).unwrap();
    let line = Denoising::new(Grid::line(3), &[0.0; 3], SOUND).unwrap();
    line.gradient(&[0.0; 3], &mut [0.0; 3], &mut image.scratch());
}
