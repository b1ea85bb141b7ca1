//! Derivatives of the condition number.

use imaging::{
    Denoising, Differences, Grid, Identity, SmoothedTv, TvMixed, TvParameters, Variational, Weights,
};
use lowlevel::StronglyConvex;

/// The derivatives of the condition number are those of differences.
#[test]
fn condition_gradient_is_the_slope_of_the_condition_number() {
    let at = TvParameters {
        alpha: 0.3,
        nu: 0.02,
        xi: 0.05,
    };
    let check = |found: TvMixed, condition: &dyn Fn(TvParameters) -> f64| {
        let slope = |entry: fn(&mut TvParameters) -> &mut f64| {
            let mut ends = [at; 2];
            let step = 1e-5 * *entry(&mut ends[0]);
            *entry(&mut ends[0]) += step;
            *entry(&mut ends[1]) -= step;
            let [plus, minus] = ends.map(condition);
            (plus - minus) / (2.0 * step)
        };
        for (found, expected) in [
            (found.alpha, slope(|p| &mut p.alpha)),
            (found.nu, slope(|p| &mut p.nu)),
            (found.xi, slope(|p| &mut p.xi)),
        ] {
            assert!(
                (found / expected - 1.0).abs() < 1e-7,
                "{found} is not {expected}"
            );
        }
    };
    for grid in [Grid::line(6), Grid::image(2, 3)] {
        let data = [0.5; 6];
        let denoising = |p| Denoising::new(grid, &data[..], p).unwrap();
        check(denoising(at).tv_condition_gradient(), &|p| {
            denoising(p).curvature().condition_number()
        });
        let variational = |p: TvParameters| {
            let tv = SmoothedTv::new(grid, Differences::of_paper(grid), p.nu).unwrap();
            let operator = Identity::new(grid);
            Variational::new(operator, &data[..], Weights::Uniform, tv, p.alpha, p.xi).unwrap()
        };
        check(variational(at).tv_condition_gradient(), &|p| {
            variational(p).curvature().condition_number()
        });
    }
}
