use std::ops::ControlFlow;

use imaging::{CoilFourier, LinearOperator, Seed, noise, phantom};

use super::*;
use crate::families::FilterSet;
use crate::search::SetOracle;

const SIZE: usize = 16;

/// Two small heads with noisy frequencies.
fn problem(pattern: Pattern) -> MaskProblem {
    let fourier = CoilFourier::single(SIZE, SIZE).unwrap();
    let pair = |index| {
        let truth = phantom::head(SIZE, SIZE, Seed::new(3), index).unwrap();
        let mut data = vec![0.0; truth.len()];
        fourier.apply(&truth, &mut data, &mut fourier.scratch());
        let data = noise::complex_gaussian(&data, 0.02, Seed::new(3), index).unwrap();
        let grid = fourier.domain();
        Pair { grid, truth, data }
    };
    let pairs = (0..2).map(pair).collect();
    MaskProblem::new(fourier.clone(), pattern, pairs).unwrap()
}

#[test]
fn slopes_are_those_of_the_objective() {
    let mut problem = problem(Pattern::Lines);
    problem.fix_error(Some(1e-9));
    let weights: Vec<f64> = (0..SIZE)
        .map(|line| if line % 3 == 0 { 1.0 } else { 0.3 })
        .collect();
    let mut point = problem.evaluate_weights(&weights, None).unwrap();
    let slopes = problem.slopes_of(&mut point).unwrap();
    let scale = slopes
        .iter()
        .fold(0.0_f64, |most, slope| most.max(slope.abs()));
    for line in [0, 1, 5, 9] {
        let mut at = |shift: f64| {
            let mut weights = weights.clone();
            weights[line] += shift;
            let point = problem.evaluate_weights(&weights, None).unwrap();
            problem.interval(&point).upper
        };
        let slope = (at(1e-3) - at(-1e-3)) / 2e-3;
        // the adjoint is solved to a residual of five percent
        let error = (slope - slopes[line]).abs();
        assert!(error < 0.1 * scale, "{slope} {}", slopes[line]);
    }
}

#[test]
fn tuning_keeps_the_weights_of_elements() {
    let mut problem = problem(Pattern::Lines);
    let weights: Vec<f64> = (0..SIZE).map(|line| 0.1 + 0.05 * line as f64).collect();
    let mut point = problem.evaluate_weights(&weights, None).unwrap();
    let before = problem.interval(&point);
    problem.tune_parameters(&mut point).unwrap();
    assert!(point.tv().nu < MaskProblem::START.nu);
    assert!(problem.interval(&point).upper < before.lower);
    let (set, filters) = (point.set().to_vec(), problem.filters.clone());
    let again = problem.evaluate_from(&set, Some(weights), point.tv(), filters, None, 1e-6);
    let (again, own) = (problem.interval(&again.unwrap()), problem.interval(&point));
    assert!(again.lower <= own.upper && own.lower <= again.upper);
}

#[test]
fn masks_become_better_and_keep_their_centre() {
    for pattern in [Pattern::Lines, Pattern::Points] {
        let mut problem = problem(pattern);
        let size = pattern.num_elements(problem.grid()) / 4;
        let mut options = MaskOptions::new(size, 2);
        options.max_exchanges = 5;
        let learned = problem.learn(&options, |_| ControlFlow::Continue(()));
        let learned = learned.unwrap();
        let set = learned.point.set();
        assert_eq!(set.iter().filter(|&&entry| entry).count(), size);
        let centre = pattern.centre(problem.grid(), 2);
        assert!(set.iter().zip(&centre).all(|(own, centre)| *own || !centre));
        let plain = pattern.mask(problem.grid(), size, 2, MaskKind::Equispaced);
        let plain = problem.tuned(&plain, learned.point.tv()).unwrap();
        assert!(learned.interval.upper < problem.interval(&plain).lower);
        assert!(problem.work() > 0.0 && problem.evaluations() >= learned.evaluations);
    }
}

#[test]
fn slices_that_do_not_fit_are_refused() {
    let fourier = || CoilFourier::single(4, 4).unwrap();
    let grid = fourier().domain();
    let of = |truth: Vec<f64>, data: Vec<f64>| {
        let pairs = vec![Pair { grid, truth, data }];
        let made = MaskProblem::new(fourier(), Pattern::Lines, pairs);
        made.unwrap_err().to_string()
    };
    assert!(of(vec![0.0; 32], vec![1.0; 32]).contains("zero"));
    assert!(of(vec![f64::NAN; 32], vec![1.0; 32]).contains("not a finite number"));
    assert!(of(vec![1.0; 32], vec![f64::NAN; 32]).contains("not a finite number"));
    assert!(of(vec![1.0; 32], vec![1.0; 30]).contains("slice 0"));
    assert!(MaskProblem::new(fourier(), Pattern::Lines, Vec::new()).is_err());
}

#[test]
fn sizes_and_sets_that_do_not_fit_are_refused() {
    let mut problem = problem(Pattern::Lines);
    let mut learn = |options: MaskOptions| {
        let learned = problem.learn(&options, |_| ControlFlow::Continue(()));
        learned.map(|_| ()).unwrap_err()
    };
    assert!(matches!(learn(MaskOptions::new(0, 0)), MaskError::Empty));
    let large = learn(MaskOptions::new(SIZE + 1, 2));
    assert!(matches!(
        large,
        MaskError::Size {
            size: 17,
            all: 16,
            ..
        }
    ));
    for found in [4, 6] {
        let error = learn(MaskOptions::new(4, found));
        assert!(matches!(error, MaskError::Centre { size: 4, centre, .. } if centre == found));
        assert!(error.to_string().contains("make the centre smaller"));
    }
    let grid = problem.grid();
    for budget in [0.0, -0.1, 1.01, f64::NAN, f64::INFINITY] {
        let found = MaskOptions::of_budget(Pattern::Lines, grid, budget, 2);
        assert!(matches!(found, Err(MaskError::Budget { .. })), "{budget}");
    }
    assert_eq!(
        MaskOptions::of_budget(Pattern::Points, grid, 0.25, 2)
            .unwrap()
            .size,
        64
    );
    let tv = MaskProblem::START;
    let empty = problem.evaluate_at(&[false; SIZE], tv, None, 1.0);
    assert!(matches!(empty, Err(MaskError::Empty)));
    let short = problem.evaluate_at(&[true; 3], tv, None, 1.0);
    assert!(matches!(
        short,
        Err(MaskError::Length {
            found: 3,
            needed: 16,
            ..
        })
    ));
    let negative = TvParameters { alpha: -1.0, ..tv };
    assert!(
        problem
            .evaluate_at(&[true; SIZE], negative, None, 1.0)
            .is_err()
    );
}

/// The frequencies of three heads.
fn kspace() -> Kspace {
    let head = |index| phantom::head(SIZE, SIZE, Seed::new(3), index).unwrap();
    Kspace::of_pictures([SIZE, SIZE], &[head(0), head(1), head(2)]).unwrap()
}

#[test]
fn a_study_learns_compares_and_reconstructs() {
    let kspace = kspace();
    let spec = MaskSpec {
        centre: 2,
        noise: 0.02,
        max_exchanges: 3,
        ..MaskSpec::default()
    };
    let mut study = MaskStudy::new(&kspace, &spec).unwrap();
    assert_eq!(study.slices(), &[vec![0, 2], vec![1]]);
    let outcome = study.learn(|_| ControlFlow::Continue(())).unwrap();
    assert_eq!(outcome.elements.len(), 4);
    assert_eq!(outcome.comparison.len(), 5);
    let is_kept = |nu: f64| (nu - 0.02).abs() < 1e-15;
    let fixed = MaskSpec {
        nu: Some(0.02),
        ..spec
    };
    let fixed = MaskStudy::new(&kspace, &fixed).unwrap().learn(|progress| {
        assert!(is_kept(progress.tv.nu));
        ControlFlow::Continue(())
    });
    let fixed = fixed.unwrap();
    assert!(is_kept(fixed.nu) && fixed.comparison.iter().all(|mask| is_kept(mask.nu)));
    assert!(outcome.nu < 0.01 && outcome.objective[1] < fixed.objective[0]);
    assert!(outcome.comparison.iter().all(|mask| mask.scores.len() == 1));
    assert!(outcome.findings()[0].contains("On the held-out slice"));
    let pictures = study.reconstructions(&outcome.comparison[0]).unwrap();
    let score = MaskScore::of(kspace.grid(), &pictures[0][1], &pictures[0][0]).unwrap();
    assert!((score.psnr - outcome.comparison[0].scores[0].psnr).abs() < 0.01);

    // a certified error, and the same picture from less data
    let mask = outcome.mask();
    let weights = mask.weights([SIZE, SIZE]).unwrap();
    let exact = mask.reconstruct(&kspace, 1e-9).unwrap();
    let rough = mask.reconstruct(&kspace, 1e-2).unwrap();
    let mut measured: Vec<f64> = (0..3)
        .flat_map(|slice| kspace.slice(slice))
        .copied()
        .collect();
    for (at, sample) in measured.chunks_exact_mut(2).enumerate() {
        if !(weights[at % weights.len()] > 0.0) {
            sample.fill(0.0);
        }
    }
    let shape = [3, SIZE, SIZE];
    let measured = Kspace::new(&shape, &measured, None, Some(FrequencyZero::First)).unwrap();
    let same = mask.reconstruct(&measured, 1e-2).unwrap();
    for ((exact, rough), same) in exact.iter().zip(&rough).zip(&same) {
        let squares = exact
            .picture
            .iter()
            .zip(&rough.picture)
            .map(|(a, b)| (a - b) * (a - b));
        let distance = (squares.sum::<f64>() / (SIZE * SIZE) as f64).sqrt();
        assert!(distance <= exact.error + rough.error && rough.reached);
        assert_eq!(rough.picture, same.picture);
    }
    assert!(mask.reconstruct(&kspace, f64::NAN).is_err());
    // a mask of lines fits other numbers of rows, but not of columns
    assert!(mask.weights([8, SIZE]).is_ok());
    assert!(matches!(
        mask.weights([SIZE, 8]),
        Err(MaskError::Length { .. })
    ));
    let empty = SamplingMask {
        set: vec![false; SIZE],
        ..mask
    };
    assert!(matches!(
        empty.reconstruct(&kspace, 1e-2),
        Err(MaskError::Empty)
    ));
}

#[test]
fn rounding_is_explained_and_bad_settings_are_refused() {
    let kspace = kspace();
    let spec = MaskSpec {
        centre: 2,
        method: MaskMethod::Relax,
        hold_out: Some(0),
        ..MaskSpec::default()
    };
    let mut study = MaskStudy::new(&kspace, &spec).unwrap();
    let outcome = study.learn(|_| ControlFlow::Continue(())).unwrap();
    let before = outcome.before_rounding.unwrap();
    assert!(before < outcome.objective[1]);
    let findings = outcome.findings().join(" ");
    assert!(findings.contains("Rounding loses") && findings.contains("No slices were held out"));
    type Change = fn(&mut MaskSpec);
    let changes: [Change; 6] = [
        |spec| spec.hold_out = Some(3),
        |spec| spec.nu = Some(0.0),
        |spec| spec.nu = Some(f64::NAN),
        |spec| spec.restarts = 0,
        |spec| spec.noise = f64::NAN,
        |spec| spec.centre = 5,
    ];
    for change in changes {
        let mut bad = spec.clone();
        change(&mut bad);
        let error = MaskStudy::new(&kspace, &bad).map(|_| ()).unwrap_err();
        assert!(!error.is_of_data(), "{error}");
    }
}

#[test]
fn scores_inside_are_those_of_the_object() {
    const SIZE: usize = 48;
    let grid = imaging::Grid::image(SIZE, SIZE).complex();
    let truth = phantom::head(SIZE, SIZE, Seed::new(3), 0).unwrap();
    let inside = is_inside(grid, &truth);
    let mut x = truth.clone();
    // errors in the background count only for the whole picture
    for (sample, inside) in x.chunks_exact_mut(2).zip(&inside) {
        sample[0] += if *inside { 1e-9 } else { 0.1 };
    }
    let score = MaskScore::of(grid, &x, &truth).unwrap();
    assert!(score.psnr < 30.0 && score.psnr_inside > 100.0, "{score:?}");
    assert!(score.ssim_inside.unwrap() > score.ssim.unwrap());
    let all = vec![true; SIZE * SIZE];
    let modulus: Vec<f64> = truth
        .as_chunks::<2>()
        .0
        .iter()
        .map(|s| s[0].hypot(s[1]))
        .collect();
    let other: Vec<f64> = modulus.iter().map(|value| 0.9 * value).collect();
    let [whole, of_all] = [
        imaging::quality::ssim(&other, &modulus, SIZE, SIZE, 1.0),
        imaging::quality::ssim_inside(&other, &modulus, SIZE, SIZE, 1.0, &all),
    ];
    assert_eq!(whole, of_all);
    let none = vec![false; SIZE * SIZE];
    assert!(imaging::quality::ssim_inside(&other, &modulus, SIZE, SIZE, 1.0, &none).is_err());
}

#[test]
fn filters_are_learned_for_a_mask() {
    let kspace = kspace();
    let spec = MaskSpec {
        centre: 2,
        noise: 0.02,
        max_exchanges: 2,
        filters: Some(FilterSet::DCT3),
        ..MaskSpec::default()
    };
    let mut study = MaskStudy::new(&kspace, &spec).unwrap();
    let outcome = study.learn(|_| ControlFlow::Continue(())).unwrap();
    assert_eq!(outcome.filters.len(), 8);
    let of_rows = outcome.comparison.iter().map(|mask| &mask.filters);
    assert!(of_rows.clone().all(|filters| *filters == outcome.filters));
    // scores of a stored result are those of its filters
    let mut again = MaskStudy::new(&kspace, &spec).unwrap();
    let pictures = again.reconstructions(&outcome.comparison[0]).unwrap();
    let score = MaskScore::of(kspace.grid(), &pictures[0][1], &pictures[0][0]).unwrap();
    assert!((score.psnr - outcome.comparison[0].scores[0].psnr).abs() < 0.01);
    let pictures = outcome.mask().reconstruct(&kspace, 1e-3).unwrap();
    assert!(pictures.iter().all(|made| made.reached));
    let learned = MaskSpec {
        filters: Some("learned3".parse().unwrap()),
        ..spec
    };
    let error = MaskStudy::new(&kspace, &learned).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("dct3"), "{error}");
}

#[test]
fn learning_filters_follows_their_slopes_downhill() {
    let mut problem = problem(Pattern::Lines);
    let relative = vec![1.0; FilterSet::DCT3.num_potentials()];
    problem.use_filters(&relative).unwrap();
    problem.fix_error(Some(1e-9));
    let set = (problem.pattern()).mask(problem.grid(), 6, 2, MaskKind::LowPass);
    let mut point = problem.tuned(&set, MaskProblem::START).unwrap();
    let slopes = problem.filter_slopes(&mut point).unwrap();
    let scale = slopes
        .iter()
        .fold(0.0_f64, |most, slope| most.max(slope.abs()));
    for filter in [0, 3, 7] {
        let mut at = |factor: f64| {
            let mut other = relative.clone();
            other[filter] *= factor;
            problem.use_filters(&other).unwrap();
            let point = problem.evaluate_at(&set, point.tv(), None, 1.0).unwrap();
            problem.interval(&point).upper
        };
        let slope = (at(1.001) - at(0.999)) / (0.002 * relative[filter]);
        // the adjoint is solved to a residual of five percent
        let error = (slope - slopes[filter]).abs();
        assert!(error < 0.1 * scale, "{slope} {}", slopes[filter]);
    }
    problem.use_filters(&relative).unwrap();
    let before = problem.interval(&point);
    problem.learn_filters(&mut point).unwrap();
    assert!(problem.interval(&point).upper < before.lower);
    assert_eq!(problem.filters(), point.filters());
    assert!(problem.use_filters(&[1.0; 9]).is_err());
    assert!(problem.use_filters(&[-1.0; 8]).is_err());
}
