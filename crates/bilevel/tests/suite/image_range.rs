//! Reconstructions whose values are limited by an `ImageRange`.

use crate::families::{Visitor, for_each_family};
use bilevel::{
    FamilyInput, FamilyKind, ImageRange, LearningProblem, LowerLevel, Pair, Setup, Spec,
    learning_options, reconstruct,
};
use imaging::{Field, Grid};
use lowlevel::{ErrorBound, Stop};

/// Every family of real images learns with limits, and its reconstructions respect them.
struct Limited(ImageRange);

impl Visitor for Limited {
    fn visit<M: LowerLevel>(&self, name: &str, model: M, pairs: Vec<Pair>) {
        let is_complex = pairs[0].grid.field() == Field::Complex;
        let setup = Setup {
            image_range: self.0,
            validation: pairs[..1].to_vec(),
            ..Setup::derivative_free()
        };
        let solver = setup.lower_solver();
        let problem = LearningProblem::new(&model, pairs.clone(), setup);
        if is_complex {
            let error = problem.err().expect("complex numbers have no order");
            assert!(error.to_string().contains("is complex"), "{error}");
            return;
        }
        let mut problem = problem.expect("a valid problem");
        let mut options = learning_options();
        options.budget.max_points = Some(15);
        let mut engine = problem.engine(options).expect("valid options");
        dfo_ls::drive(&mut engine, &mut problem, |_| {
            std::ops::ControlFlow::Continue(())
        });
        let (learned, images) = problem.finish(engine);
        assert!(learned.objective.is_finite(), "{name}");
        let (held_out, trained) = (&images.validation[0], &images.training[0]);
        for image in images.training.iter().chain([held_out]) {
            let reconstruction = image.reconstruction.as_ref().expect("a reconstruction");
            let ImageRange { lower, upper } = self.0;
            assert!(
                reconstruction.x.iter().all(|x| (lower..=upper).contains(x)),
                "{name}"
            );
        }
        // both are as close to the exact reconstruction as certified
        let stop = Stop::accuracy(ErrorBound::new(1e-9).expect("positive"));
        let Pair { grid, data, .. } = &pairs[0];
        let exact = reconstruct(&model, &learned.values(), *grid, data, solver, stop);
        let exact = exact.expect("a reconstruction");
        for image in [held_out, trained] {
            let reconstruction = image.reconstruction.as_ref().expect("a reconstruction");
            let apart = reconstruction
                .x
                .iter()
                .zip(&exact.x)
                .map(|(a, b)| (a - b).powi(2));
            let error = reconstruction.solved.error.value() + exact.solved.error.value();
            assert!(apart.sum::<f64>().sqrt() <= error, "{name}");
        }
    }
}

#[test]
fn limits_hold_and_certificates_are_true() {
    for_each_family(&Limited(ImageRange::NON_NEGATIVE));
    for_each_family(&Limited(ImageRange {
        lower: 0.2,
        upper: 0.7,
    }));
}

#[test]
fn limits_come_from_a_description() {
    let mut spec = Spec::new(FamilyKind::Denoise);
    spec.model.image_min = Some(0.0);
    assert_eq!(spec.setup(Vec::new()).image_range, ImageRange::NON_NEGATIVE);
    spec.model.image_max = Some(-1.0);
    let pair = Pair {
        grid: Grid::line(2),
        truth: vec![0.0; 2],
        data: vec![0.0; 2],
    };
    let family = spec.family(FamilyInput::None).expect("a family");
    let refused = LearningProblem::new(family, vec![pair], spec.setup(Vec::new()));
    let error = refused.expect_err("crossed").to_string();
    assert!(error.contains("between 0 and -1"), "{error}");
}
