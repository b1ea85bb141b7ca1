//! Runs with gradients, saved after every evaluation and resumed to the same bits.

use std::fs;
use std::sync::Arc;

use bilevel::{
    CheckpointPolicy, ConditionNumber, Effort, Family, FamilyInput, FamilyKind, Learned,
    LearningProblem, Pair, RootL1, Setup, SolverKind, Spec,
};
use imaging::{Grid, LinearOperator, Mask, Seed, noise, phantom};

use crate::session_support::*;
use crate::{check, with};

/// Small pictures with noise.
fn pictures(measure: impl Fn(&mut [f64])) -> Vec<Pair> {
    let pair = |index| {
        let truth = phantom::dead_leaves(9, 8, Seed::new(3), index).expect("a picture");
        let mut data = truth.clone();
        measure(&mut data);
        let data = noise::gaussian(&data, 0.05, Seed::new(3), index).expect("finite");
        let grid = Grid::image(9, 8);
        Pair { grid, truth, data }
    };
    (0..3).map(pair).collect()
}

fn family(task: FamilyKind, input: FamilyInput) -> Family {
    Spec::new(task).family(input).expect("valid settings")
}

fn deblur(setup: Setup) -> LearningProblem<Family> {
    let values = vec![0.2, 0.6, 0.2];
    let grid = Grid::image(1, 3);
    let blur = imaging::Convolution::new(Grid::image(9, 8), &values, grid).expect("it fits");
    let measure = |image: &mut [f64]| {
        let sharp = image.to_vec();
        blur.apply(&sharp, image, &mut blur.scratch());
    };
    let family = family(FamilyKind::Deblur, FamilyInput::Kernel { values, grid });
    LearningProblem::new(family, pictures(measure), setup).expect("it fits")
}

fn inpaint(setup: Setup) -> LearningProblem<Family> {
    let kept: Vec<bool> = (0..72).map(|pixel| pixel % 3 > 0).collect();
    let mask = Mask::new(Grid::image(9, 8), kept.clone()).expect("some pixels");
    let measure = |image: &mut [f64]| {
        let pixels = image.iter_mut().zip(&kept);
        pixels.for_each(|(pixel, kept)| *pixel *= f64::from(u8::from(*kept)));
    };
    let family = family(FamilyKind::Inpaint, FamilyInput::Mask(mask));
    LearningProblem::new(family, pictures(measure), setup).expect("it fits")
}

#[test]
fn every_family() {
    check(
        "denoise",
        || denoise(with(SolverKind::Gradient)),
        points(40),
    );
    check("deblur", || deblur(with(SolverKind::Gradient)), points(40));
    check(
        "inpaint",
        || inpaint(with(SolverKind::Gradient)),
        points(40),
    );
    check(
        "sampling",
        || sampling(with(SolverKind::Gradient)),
        points(40),
    );
}

#[test]
fn penalties_regularizers_and_limits() {
    let penalised = || Setup {
        penalties: vec![Box::new(ConditionNumber { weight: 1e-6 })],
        kappa: 0.03,
        ..Setup::default()
    };
    check("condition", || denoise(penalised()), points(40));
    let root = || Setup {
        penalties: vec![Box::new(RootL1 { weight: 0.01 })],
        ..Setup::default()
    };
    check("root", || sampling(root()), points(40));
    let sparse = || Setup {
        regularizer: Some(Arc::new(dfo_ls::L1 { weight: 0.01 })),
        ..Setup::default()
    };
    check("nonsmooth", || sampling(sparse()), points(40));
    let capped = || Setup {
        effort: Effort::Requested {
            max_iterations: Some(30),
        },
        method: lowlevel::Method::FISTA,
        ..Setup::default()
    };
    check("capped", || denoise(capped()), points(40));
}

/// With compact checkpoints, as for large problems.
#[test]
fn rounded_reconstructions() {
    let rounded = || Setup {
        checkpoints: CheckpointPolicy::Compact,
        ..Setup::default()
    };
    check("rounded", || denoise(rounded()), points(40));
}

/// The result says that gradients were used, and what they are.
#[test]
fn the_result_has_the_gradient() {
    let dir = temp_dir("gradient");
    let learned = whole(&dir, task(denoise(Setup::default()), points(40)));
    let gradient = learned.gradient.expect("gradients are the default");
    assert_eq!(learned.solver, SolverKind::Gradient);
    let error = gradient.error.expect("denoising has certified gradients");
    assert!(gradient.norm >= 0.0 && error >= 0.0, "{gradient:?}");
    let total = learned.work.total();
    let parts = gradient.reconstructions + gradient.adjoints;
    assert!(
        parts >= total && parts <= total + length(&learned),
        "{gradient:?} {total}"
    );
    let saved: serde_json::Value = serde_json::from_str(&result(&dir)).expect("JSON");
    assert_eq!(saved["solver"], "gradient");
    assert_eq!(saved["gradient"]["norm"], gradient.norm);
    assert_eq!(saved["gradient"]["error"], error);
    assert_eq!(saved["gradient"]["adjoints"], gradient.adjoints);
    fs::remove_dir_all(dir).expect("it is there");
}

/// The number of evaluations; each part of their work is rounded up to whole gradients.
fn length(learned: &Learned) -> u64 {
    learned.evaluations.len() as u64
}
