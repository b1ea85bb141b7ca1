//! The time of one gradient with Fourier transforms, for the fused model and for the same model
//! composed of a generic operator and regulariser.

use criterion::{Criterion, criterion_group, criterion_main};
use imaging::{
    Differences, Fourier, FourierSampling, Grid, LinearOperator, Seed, TvParameters, Variational,
    Weights, noise, phantom,
};
use lowlevel::StronglyConvex;
use std::hint::black_box;

const PARAMETERS: TvParameters = TvParameters {
    alpha: 0.01,
    nu: 0.01,
    xi: 1e-4,
};

fn gradient<O: StronglyConvex>(
    group: &mut criterion::BenchmarkGroup<'_, criterion::measurement::WallTime>,
    name: &str,
    objective: &O,
) {
    let mut scratch = objective.scratch();
    let x: Vec<f64> = (0_u32..)
        .map(|i| f64::from(i % 17) / 17.0)
        .take(objective.dim())
        .collect();
    let mut gradient = vec![0.0; objective.dim()];
    group.bench_function(name, |bencher| {
        bencher.iter(|| objective.gradient(black_box(&x), &mut gradient, &mut scratch));
    });
}

fn sampling(criterion: &mut Criterion) {
    for len in [64, 256] {
        let fourier = Fourier::new(Grid::line(len).complex()).expect("not empty");
        let truth = phantom::box_function(len, Seed::new(1), 0).expect("not empty");
        let complex: Vec<f64> = truth.iter().flat_map(|&x| [x, 0.0]).collect();
        let mut data = vec![0.0; 2 * len];
        fourier.apply(&complex, &mut data, &mut fourier.scratch());
        let data = noise::complex_gaussian(&data, 0.05, Seed::new(1), 0).expect("sigma is valid");
        let weights = vec![0.5; len];
        let mut group =
            criterion.benchmark_group(format!("Fourier sampling, line {len}, per gradient"));
        let fused =
            FourierSampling::new(&fourier, &data, &weights, PARAMETERS).expect("the data fit");
        gradient(&mut group, "fused", &fused);
        let composed = Variational::tv(
            &fourier,
            &data,
            Weights::Diagonal(&weights),
            Differences::LINE_OF_PAPER,
            PARAMETERS,
        )
        .expect("the data fit");
        gradient(&mut group, "composed", &composed);
        group.finish();
    }
}

criterion_group!(benches, sampling);
criterion_main!(benches);
