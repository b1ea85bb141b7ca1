//! Large pictures by tiles agree with those that are minimised at once.

use imaging::{
    Denoising, ErrorBound, Grid, LocalModel, Region, Seed, Tiled, TilesError, Tiling, TvParameters,
    denoise, denoise_by_tiles, denoise_colour, denoise_colour_by_tiles, minimise_by_tiles, noise,
    phantom,
};
use lowlevel::{Solver, State, Stop, StronglyConvex, norm};

const PARAMETERS: TvParameters = TvParameters {
    alpha: 0.1,
    nu: 5e-3,
    xi: 1e-3,
};

fn noisy(rows: usize, cols: usize, index: usize) -> Vec<f64> {
    let truth = phantom::dead_leaves(rows, cols, Seed::new(5), index).expect("a picture");
    noise::gaussian(&truth, 0.1, Seed::new(6), index).expect("valid noise")
}

fn write(region: &Region, cols: usize, from: &[f64], data: &mut Vec<f64>) {
    for row in region.rows.clone() {
        data.extend(&from[cols * row..][region.cols.clone()]);
    }
}

fn distance(a: &[f32], b: &[f64]) -> f64 {
    let differences = a.iter().zip(b).map(|(a, b)| f64::from(*a) - b);
    norm(&differences.collect::<Vec<_>>())
}

fn forwards(count: usize, run: &(dyn Fn(usize) + Sync)) {
    (0..count).for_each(run);
}

fn bound(value: f64) -> ErrorBound {
    ErrorBound::new(value).expect("not negative")
}

/// Minimises total variation by tiles.
fn tv(
    grid: Grid,
    data: &[f64],
    target: f64,
    tiling: Tiling,
) -> Result<Tiled, TilesError<imaging::DenoiseError>> {
    let (_, cols) = grid.rows_and_cols();
    let objective = Denoising::new(grid, data, PARAMETERS).map_err(TilesError::Model)?;
    let model = LocalModel {
        curvature: objective.curvature(),
        reach: 2,
        minimiser: &|grid, data, target| {
            let made = imaging::denoise_tv(grid, data, PARAMETERS, target)?;
            Ok((made.x, made.solved.iterations))
        },
        gradient: &|grid, data, x, gradient| {
            let objective = Denoising::new(grid, data, PARAMETERS)?;
            objective.gradient(x, gradient, &mut objective.scratch());
            Ok(objective.gradient_rounding(norm(x), norm(gradient)))
        },
    };
    let of_region = |region: &Region, out: &mut Vec<f64>| write(region, cols, data, out);
    minimise_by_tiles(grid, &of_region, &model, bound(target), tiling, &forwards)
}

#[test]
fn tiles_of_total_variation_agree_with_the_whole() {
    let cases = [
        (60, 75, 16, 8, 0.3),
        (60, 75, 16, 8, 1e-3),
        (33, 40, 20, 20, 1e-2),
        (50, 17, 40, 4, 1e-2),
        // no overlap at all, so that only iterations on the whole picture help
        (40, 40, 10, 0, 1e-2),
        // one tile
        (20, 20, 64, 8, 1e-2),
    ];
    for (rows, cols, side, overlap, target) in cases {
        let grid = Grid::image(rows, cols);
        let data = noisy(rows, cols, 0);
        let objective = Denoising::new(grid, &data, PARAMETERS).unwrap();
        let mut state = State::new(data.clone());
        let stop = Stop::accuracy(bound(1e-9));
        let mut scratch = objective.scratch();
        let exact = Solver::default().minimize(&objective, stop, &mut state, &mut scratch);
        let exact = exact.unwrap();
        let made = tv(grid, &data, target, Tiling { side, overlap }).unwrap();
        assert!(made.error.value() <= target);
        let distance = distance(&made.x, state.point());
        assert!(
            distance <= made.error.value() + exact.error.value(),
            "{rows} x {cols}, side {side}: {distance} {:?}",
            made.error
        );
        // the certificate is the norm of the gradient of the whole objective
        let x: Vec<f64> = made.x.iter().map(|x| f64::from(*x)).collect();
        let mut gradient = vec![0.0; x.len()];
        objective.gradient(&x, &mut gradient, &mut scratch);
        let mu = objective.curvature().strong_convexity();
        let expected = norm(&gradient) / mu;
        let certified = made.error.value();
        assert!((certified - expected).abs() <= 1e-9 * expected + 1e-12);
    }
}

#[test]
fn tiles_of_the_shipped_denoiser_agree_with_the_whole_and_have_no_seams() {
    let (rows, cols) = (72, 90);
    let grid = Grid::image(rows, cols);
    let data = noisy(rows, cols, 1);
    let tiling = Tiling {
        side: 24,
        overlap: 16,
    };
    // the last noise is beyond the levels of the banks, so that pictures are scaled
    for sigma in [0.05, 0.1, 0.5] {
        let of_region = |region: &Region, out: &mut Vec<f64>| write(region, cols, &data, out);
        let run = |for_each: &imaging::ForEach<'_>| {
            denoise_by_tiles(grid, &of_region, sigma, None, tiling, for_each).unwrap()
        };
        let made = run(&forwards);
        assert!(made.error.value() <= 0.1 * sigma * (data.len() as f64).sqrt());
        let exact = denoise(grid, &data, sigma, Some(bound(1e-5))).unwrap();
        let apart = distance(&made.x, &exact.x);
        assert!(
            apart <= made.error.value() + 1e-5,
            "{apart} {:?}",
            made.error
        );
        // nothing depends on the order of the work
        let backwards = |count: usize, run: &(dyn Fn(usize) + Sync)| (0..count).rev().for_each(run);
        assert_eq!(run(&backwards).x, made.x);
        // pixels next to seams are no worse than others
        let is_near = |at: usize, len: usize| (1..len / 24).any(|k| at.abs_diff(24 * k) <= 4);
        let (mut near, mut far) = ((0.0, 0), (0.0, 0));
        for (at, (a, b)) in made.x.iter().zip(&exact.x).enumerate() {
            let group = match is_near(at / cols, rows) || is_near(at % cols, cols) {
                true => &mut near,
                false => &mut far,
            };
            group.0 += (f64::from(*a) - b).powi(2);
            group.1 += 1;
        }
        let mean = |(sum, count): (f64, i32)| (sum / f64::from(count)).sqrt();
        let limit = 0.01 * sigma;
        assert!(mean(near) <= 2.0 * mean(far) + limit, "{near:?} {far:?}");
    }
}

#[test]
fn tiles_in_colour_agree_with_the_whole() {
    let (rows, cols) = (40, 52);
    let grid = Grid::image(rows, cols);
    let planes: Vec<Vec<f64>> = (0..3).map(|index| noisy(rows, cols, index)).collect();
    let of_region = |region: &Region, channel: usize, out: &mut Vec<f64>| {
        write(region, cols, &planes[channel], out);
    };
    let tiling = Tiling {
        side: 20,
        overlap: 12,
    };
    let target = Some(bound(0.05));
    let made = denoise_colour_by_tiles(grid, &of_region, 0.1, target, tiling, &forwards).unwrap();
    let exact = [&planes[0][..], &planes[1], &planes[2]];
    let exact = denoise_colour(grid, exact, 0.1, Some(bound(1e-5))).unwrap();
    let apart = made.channels.iter().zip(&exact.channels);
    let apart = apart
        .map(|(made, exact)| distance(made, exact))
        .fold(0.0, f64::hypot);
    assert!(made.error.value() <= 0.0501 && apart <= made.error.value() + 1e-5);
}

#[test]
fn bad_tiles_are_refused() {
    let data = noisy(20, 20, 0);
    let grid = Grid::image(20, 20);
    let error = tv(
        grid,
        &data,
        0.1,
        Tiling {
            side: 4,
            overlap: 8,
        },
    )
    .unwrap_err();
    assert!(error.to_string().contains("the side of a tile"), "{error}");
    // single precision has its limits, and the result says so
    let error = tv(
        grid,
        &data,
        1e-13,
        Tiling {
            side: 16,
            overlap: 8,
        },
    )
    .unwrap_err();
    assert!(
        matches!(error, TilesError::Region(_) | TilesError::NotReached { .. }),
        "{error}"
    );
}
