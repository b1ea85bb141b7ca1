//! Deblurring of photographs that were blurred before they were cropped, as a camera does: quality
//! and time of total variation with an unknown boundary, and of scikit-image.

use std::io::Write;
use std::path::Path;

use anyhow::Result;
use bilevel::{Family, FamilyInput, FamilyKind, LearningProblem, Pair, Spec, reconstruct};
use imaging::{Grid, Kernel, Seed, Window, blurred, noise, phantom};
use lowlevel::{ErrorBound, Solver, Stop};
use serde_json::json;

use super::BenchContext;
use super::clock::try_fastest_on_core;
use super::denoise::{Clean, SIDE, Score, peers, pictures, seconds_against, table};
use super::measurement::Measurement;
use crate::kodak::photograph;
use crate::{file, kodak};

const KERNELS: [&str; 3] = ["gaussian:2", "disc:5", "motion:15@30"];
/// The standard deviation of the noise.
const SIGMA: f64 = 0.01;
/// The number of pictures, which are the first ones of `denoise`.
const NUM_PICTURES: usize = 5;
/// The pixels around a picture that a kernel may reach: more than the 9 of `motion:15@30`.
const MARGIN: usize = 12;
/// The photographs that the parameters are learned from, and the side of their crops.
const TRAINING: [usize; 4] = [1, 5, 9, 13];
const TRAINING_SIDE: usize = 128;
/// The certified root-mean-square error of a result, which hardly changes its PSNR.
const ERROR: f64 = 1e-3;
/// The name of our method.
const OURS: &str = "TV, unknown boundary";
/// The methods of scikit-image.
const PEERS: [&str; 4] = [
    "unsupervised Wiener",
    "unsupervised Wiener, continued",
    "Richardson-Lucy",
    "Richardson-Lucy, continued, best",
];

/// Learns alpha and nu for each kernel from some photographs, and deblurs others. Writes the table
/// `deblur.md`.
pub(super) fn run(context: &BenchContext, out: &mut dyn Write) -> Result<Vec<Measurement>> {
    let folder = kodak::find(context.kodak.as_deref())?;
    let mut scenes = pictures(folder.as_deref(), context, SIDE + 2 * MARGIN, out)?;
    scenes.truncate(NUM_PICTURES);
    let mut kernels = KERNELS.to_vec();
    if context.quick {
        scenes.truncate(2);
        kernels.truncate(1);
    }
    let pool = super::pool(1)?;
    let mut scores = Vec::new();
    for name in &kernels {
        let kernel = Kernel::named(name)?;
        let (family, values) = learned(folder.as_deref(), &kernel)?;
        for (index, scene) in scenes.iter().enumerate() {
            let Pair { grid, truth, data } = pair(&scene.samples, SIDE, &kernel, index)?;
            let clean = Clean {
                name: scene.name.clone(),
                set: if folder.is_some() {
                    "Kodak 16-20"
                } else {
                    scene.set
                },
                samples: truth,
            };
            let mut add = |method: &str, x: &[f64], seconds: f64| -> Result<()> {
                scores.push(Score::new(&clean, name, method, x, seconds)?);
                Ok(())
            };
            add("blurred", &data, 0.0)?;
            let stop = Stop::accuracy(ErrorBound::new(ERROR * SIDE as f64)?);
            let mut x = Vec::new();
            let mut deblur = || {
                reconstruct(&family, &values, grid, &data, Solver::default(), stop)
                    .map(|made| x = made.x)
            };
            let budget = context.budget() / 10;
            let seconds = pool.install(|| try_fastest_on_core(budget, &mut deblur))?;
            add(OURS, &x, seconds)?;
            let (rows, cols) = kernel.grid().rows_and_cols();
            let job = json!({"part": "deblur", "side": SIDE, "kernel_shape": [rows, cols]});
            let arrays = [
                ("data", &data[..]),
                ("truth", &clean.samples),
                ("kernel", kernel.values()),
            ];
            for (method, x, seconds) in peers(context, &job, &arrays, out)? {
                add(&method, &x, seconds)?;
            }
        }
    }
    let table = table("kernel", &scores);
    file::write(&context.directory.join("deblur.md"), table.as_bytes())?;
    write!(out, "{table}")?;
    let rows = kernels.iter().flat_map(|kernel| {
        let name = format!("deblur {SIDE} x {SIDE}, {kernel}");
        seconds_against(&name, &scores, kernel, OURS, &PEERS)
    });
    Ok(rows.collect())
}

/// Blurs a square scene, and crops `side` x `side` pixels that depend on nothing outside of it.
fn pair(scene: &[f64], side: usize, kernel: &Kernel, index: usize) -> Result<Pair> {
    let around = Grid::image(side + 2 * MARGIN, side + 2 * MARGIN);
    let (data, valid) = blurred(scene, around, kernel)?;
    let grid = Grid::image(side, side);
    let (row, col) = valid.origin();
    let crop = |from: &[f64], window: Window| {
        let mut inside = vec![0.0; grid.len()];
        window.crop(from, &mut inside);
        inside
    };
    let of_scene = Window::new(around, grid, MARGIN, MARGIN)?;
    let of_data = Window::new(valid.inner(), grid, MARGIN - row, MARGIN - col)?;
    Ok(Pair {
        grid,
        truth: crop(scene, of_scene),
        data: noise::gaussian(&crop(&data, of_data), SIGMA, Seed::new(3), index)?,
    })
}

/// Learns the default parameters of deblurring: from photographs or, without them, from dead
/// leaves.
fn learned(folder: Option<&Path>, kernel: &Kernel) -> Result<(Family, Vec<f64>)> {
    let side = TRAINING_SIDE + 2 * MARGIN;
    let pairs = TRAINING.into_iter().enumerate().map(|(index, number)| {
        let scene = match folder {
            Some(folder) => photograph::read(folder, number, side)?,
            None => phantom::dead_leaves(side, side, Seed::new(2), index)?,
        };
        pair(&scene, TRAINING_SIDE, kernel, number)
    });
    let pairs: Result<Vec<Pair>> = pairs.collect();
    let spec = Spec::new(FamilyKind::Deblur);
    let family = spec.family(FamilyInput::Kernel {
        values: kernel.values().to_vec(),
        grid: kernel.grid(),
    })?;
    let mut problem = LearningProblem::new(&family, pairs?, spec.setup(Vec::new()))?;
    let values = problem.learn_with(spec.options())?.values();
    Ok((family, values))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The data are those of a camera: sums over the scene, beyond the picture, too.
    #[test]
    fn scenes_are_blurred_before_they_are_cropped() {
        let side = 8 + 2 * MARGIN;
        let scene: Vec<f64> = (0..side * side).map(|j| ((j * j) % 97) as f64).collect();
        let kernel = Kernel::named("motion:15@30").expect("a kernel");
        let Pair { truth, data, .. } = pair(&scene, 8, &kernel, 0).expect("a pair");
        let (rows, cols) = kernel.grid().rows_and_cols();
        for (j, (truth, data)) in truth.iter().zip(&data).enumerate() {
            let (row, col) = (MARGIN + j / 8, MARGIN + j % 8);
            assert!((truth - scene[row * side + col]).abs() < 1e-12);
            let terms = kernel.values().iter().enumerate().map(|(k, weight)| {
                let (i, j) = (row + rows / 2 - k / cols, col + cols / 2 - k % cols);
                weight * scene[i * side + j]
            });
            let expected: f64 = terms.sum();
            assert!((data - expected).abs() < 6.0 * SIGMA, "{data} {expected}");
        }
    }
}
