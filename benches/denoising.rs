//! The time per pixel of one iteration of denoising, for the fused kernels and for the same model
//! composed of a generic operator and regulariser.

use benches::{fista_iteration, gradient_descent_iteration, heavy_ball_iteration};
use criterion::{Criterion, criterion_group, criterion_main};
use imaging::{
    Denoising, Differences, Grid, Identity, Seed, TvParameters, Variational, Weights, noise,
    phantom,
};

const PARAMETERS: TvParameters = TvParameters {
    alpha: 0.1,
    nu: 1e-2,
    xi: 1e-3,
};

fn bench(criterion: &mut Criterion, name: &str, grid: Grid, truth: &[f64], pixels: u32) {
    let noisy = noise::gaussian(truth, 0.1, Seed::new(1), 0).expect("sigma is valid");
    let identity = Identity::new(grid);
    let fused = Denoising::new(grid, &noisy, PARAMETERS).expect("the data fit");
    let differences = Differences::of_paper(grid);
    let composed = Variational::tv(&identity, &noisy, Weights::Uniform, differences, PARAMETERS)
        .expect("the data fit");
    let mut group = criterion.benchmark_group(format!("{name}, per pixel"));
    group.bench_function("FISTA", |b| fista_iteration(b, &fused, &noisy, pixels));
    group.bench_function("gradient descent", |b| {
        gradient_descent_iteration(b, &fused, &noisy, pixels);
    });
    group.bench_function("heavy ball", |b| {
        heavy_ball_iteration(b, &fused, &noisy, pixels);
    });
    group.bench_function("FISTA, composed", |b| {
        fista_iteration(b, &composed, &noisy, pixels);
    });
    group.finish();
}

fn image(criterion: &mut Criterion) {
    let truth = phantom::dead_leaves(256, 256, Seed::new(1), 0).expect("not empty");
    bench(
        criterion,
        "image 256x256",
        Grid::image(256, 256),
        &truth,
        256 * 256,
    );
}

fn line(criterion: &mut Criterion) {
    let truth = phantom::box_function(256, Seed::new(1), 0).expect("not empty");
    bench(criterion, "line 256", Grid::line(256), &truth, 256);
}

criterion_group!(benches, image, line);
criterion_main!(benches);
