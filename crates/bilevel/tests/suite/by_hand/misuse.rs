//! Invalid learning problems are refused.

use super::*;

#[test]
fn more_misuse_is_refused() {
    let refuse =
        |model: Ridge| LearningProblem::new(model, pairs(), Setup::derivative_free()).err();
    let surplus = Ridge {
        surplus: 1,
        ..Ridge::simple()
    };
    assert!(matches!(
        refuse(surplus),
        Some(ProblemError::Dimension {
            index: 0,
            expected: 3,
            found: 4
        })
    ));
    let twice = vec![Parameter::log10("a", 0.0, -1.0, 1.0); 2];
    assert!(matches!(
        refuse(Ridge::new(twice)),
        Some(ProblemError::SameName { .. })
    ));
    let odds = Parameter {
        map: Map::Odds,
        ..Parameter::log10("a", 0.5, -0.5, 0.5)
    };
    assert!(matches!(
        refuse(Ridge::new(vec![odds])),
        Some(ProblemError::Parameter { .. })
    ));
    // a start outside its bounds is moved to the nearer one before the model sees it
    let mut outside = Ridge::new(vec![Parameter::log10("a", 3.0, -4.0, -1.0)]);
    outside.moody = Some((2, 0.5));
    assert!(refuse(outside).is_none());

    let mask = Mask::new(Grid::image(2, 3), vec![true; 6]).expect("one entry per pixel");
    let choices = TvChoices::default();
    let turned = Pair {
        grid: Grid::image(3, 2),
        truth: vec![0.5; 6],
        data: vec![0.5; 6],
    };
    let inpainting = LearningProblem::new(
        TvInpainting { choices, mask },
        vec![turned],
        Setup::derivative_free(),
    );
    assert!(matches!(
        inpainting.err(),
        Some(ProblemError::Model { index: 0, .. })
    ));
    let weights = FourierWeights::new(2, FourierWeights::TV, 0.5).expect("two samples");
    let parameters = weights.clone().with_bounds(0.25, 0.75).parameters();
    assert!((parameters[0].lower, parameters[0].upper) == (0.25, 0.75));
    let real = Pair {
        grid: Grid::line(4),
        truth: vec![0.5; 4],
        data: vec![0.5; 4],
    };
    let sampling = LearningProblem::new(weights, vec![real], Setup::derivative_free());
    assert!(sampling.is_err());
}
