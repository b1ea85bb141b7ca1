//! The time of whole solves to a certified error, starting at the noisy data.

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use imaging::{Denoising, Grid, Seed, TvParameters, noise, phantom};
use lowlevel::{ErrorBound, Method, Solver, State, Stop, StronglyConvex};

fn denoise(criterion: &mut Criterion) {
    let truth = phantom::dead_leaves(256, 256, Seed::new(1), 0).expect("not empty");
    let image = noise::gaussian(&truth, 0.1, Seed::new(1), 0).expect("sigma is valid");
    let truth = phantom::box_function(256, Seed::new(1), 0).expect("not empty");
    let line = noise::gaussian(&truth, 0.1, Seed::new(1), 0).expect("sigma is valid");
    let settings = [
        ("image 256x256", Grid::image(256, 256), &image, 0.1, 1e-2),
        ("line 256", Grid::line(256), &line, 0.1, 1e-3),
    ];
    for (name, grid, noisy, alpha, nu) in settings {
        let parameters = TvParameters {
            alpha,
            nu,
            xi: 1e-3,
        };
        let objective = Denoising::new(grid, noisy, parameters).expect("the data fit");
        let mut scratch = objective.scratch();
        let mut group = criterion.benchmark_group(format!("denoise {name}"));
        group.sample_size(10);
        for target in [1e-1, 1e-3, 1e-6] {
            let stop = Stop::accuracy(ErrorBound::new(target).expect("positive"));
            for (method_name, method) in [
                ("FISTA", Method::FISTA),
                ("FISTA, two gradients", Method::FISTA_TWO_GRADIENTS),
            ] {
                let solver = Solver {
                    method,
                    ..Solver::default()
                };
                group.bench_function(format!("{method_name}, to {target:e}"), |bencher| {
                    bencher.iter_batched_ref(
                        || State::new(noisy.clone()),
                        |state| solver.minimize(&objective, stop, state, &mut scratch),
                        BatchSize::LargeInput,
                    );
                });
            }
        }
        group.finish();
    }
}

criterion_group!(benches, denoise);
criterion_main!(benches);
