//! Defaults, missing settings and refused settings.

use super::*;
use crate::families::{Family, TvDenoising};
use crate::lower::LowerLevel;

/// The defaults are values here and exponents in [`TvChoices`], and agree to the last bit.
#[test]
fn defaults_are_those_of_the_families() {
    let Ok(Family::Denoising(family)) = Spec::new(FamilyKind::Denoise).family(FamilyInput::None)
    else {
        panic!("denoising needs nothing");
    };
    assert_eq!(family, TvDenoising::default());
    let family = Spec::new(FamilyKind::Sampling).family(FamilyInput::Frequencies(4));
    let weights = FourierWeights::new(4, FourierWeights::TV, 0.5).expect("not empty");
    assert_eq!(family.expect("valid").parameters(), weights.parameters());
}

#[test]
fn missing_settings_have_defaults() {
    let mut spec = Spec::new(FamilyKind::Denoise);
    spec.model.learn = vec!["xi".into(), "alpha".into()];
    spec.model.upper.insert("alpha".into(), 0.5);
    let model = spec.model.completed(spec.task);
    assert_eq!(model.learn, ["alpha", "xi"]);
    assert_eq!(model.fixed, Values::from([("nu".into(), 1e-3)]));
    assert!(
        (model.start["alpha"] - 0.5).abs() < 1e-15,
        "moved to its bound"
    );
    assert_eq!(model.completed(spec.task), model);
}

#[test]
fn wrong_names_and_inputs_are_refused() {
    let refusal = |change: fn(&mut Spec), input| {
        let mut spec = Spec::new(FamilyKind::Denoise);
        change(&mut spec);
        spec.family(input).expect_err("wrong").to_string()
    };
    let unknown = refusal(
        |spec| spec.model.learn.push("beta".into()),
        FamilyInput::None,
    );
    assert!(
        unknown.contains("\"beta\"") && unknown.contains("alpha, nu, xi"),
        "{unknown}"
    );
    let both = refusal(
        |spec| spec.model.fixed.extend([("nu".into(), 1.0)]),
        FamilyInput::None,
    );
    assert!(both.contains("both learned and fixed"), "{both}");
    let start = refusal(
        |spec| spec.model.start.extend([("nu".into(), 2.0)]),
        FamilyInput::None,
    );
    assert!(start.contains("starts at 2.0"), "{start}");
    let input = refusal(|_| (), FamilyInput::Frequencies(3));
    assert!(input.contains("neither kernel nor mask"), "{input}");
    let kernel = refusal(|spec| spec.task = FamilyKind::Deblur, FamilyInput::None);
    assert!(kernel.contains("deblur needs a kernel"), "{kernel}");
}

/// A filter bank has its own parameters and stops when learning gains little.
#[test]
fn filter_banks_have_defaults() {
    let spec = Spec::filters(FamilyKind::Denoise, FilterSet::DCT5);
    assert!(spec.model.learn.is_empty());
    assert!(matches!(
        spec.family(FamilyInput::None),
        Ok(Family::Filters(_))
    ));
    let gain = spec.setup(Vec::new()).least_gain.expect("a rule");
    assert!((gain - 1e-3).abs() < 1e-15);
    assert_eq!(Setup::default().least_gain, None);
}
