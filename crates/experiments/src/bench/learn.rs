//! Learning from start to end: seconds, gradients and the distance from the true optimum, compared
//! with archived times of the authors' program.

use std::io::Write;
use std::time::{Duration, Instant};

use anyhow::Result;
use bilevel::testing::{sampling, sum, three_parameters};
use bilevel::{
    LearningProblem, LowerLevel, Pair, Residuals, Scale, Setup, TvChoices, TvDenoising,
    learning_options,
};
use imaging::Grid;

use super::measurement::{Headline, Measurement};
use super::{BenchContext, data};
use crate::kodak;
use crate::learning::{objective, problems, reference};

/// The authors' program with dynamic FISTA. Its times are archived CPU seconds, measured on this
/// kind of machine; it does not run during the benchmark.
const AUTHORS: &str = "the authors' (archived)";
/// CPU seconds of the authors' program: 3 parameters of 1D denoising, 100 evaluations.
const AUTHORS_THREE: f64 = 15.7;
/// CPU seconds of the authors' program: 64 sampling weights, 3,000 evaluations.
const AUTHORS_SAMPLING: f64 = 1050.0;
/// CPU seconds of the authors' program: 25 photographs, 200 evaluations.
const AUTHORS_PHOTOGRAPHS: f64 = 9000.0;
/// The authors' program with its gradient of the total variation rewritten by array slicing.
const AUTHORS_SLICED: &str = "the authors', sliced (archived)";
/// CPU seconds of that faster version: 25 photographs, 200 evaluations.
const AUTHORS_PHOTOGRAPHS_SLICED: f64 = 650.0;

/// No repetition begins after this time.
const PATIENCE: Duration = Duration::from_secs(20);
/// The relative accuracy of the objective that is computed at the learned parameters.
const SHARE: f64 = 1e-7;

pub(super) fn run(context: &BenchContext, out: &mut dyn Write) -> Result<Vec<Measurement>> {
    let mut rows = learn(
        &LearningBenchmark {
            name: "learn 3 parameters, 20 lines of 256",
            points: 100,
            repetitions: if context.quick { 5 } else { 20 },
            optimum: Some(reference::three(0, Scale::Sum)?),
            authors: &[(AUTHORS, Some(AUTHORS_THREE))],
            headline: Some("the paper's program: learn 3 parameters"),
        },
        || {
            Ok(three_parameters(
                0,
                TvChoices::default(),
                sum(Residuals::Pixel),
            )?)
        },
    )?;
    rows.extend(learn(
        &LearningBenchmark {
            name: "learn 64 sampling weights, 10 lines of 64",
            points: 3000,
            repetitions: if context.quick { 1 } else { 3 },
            optimum: Some(reference::sampling(0)?),
            authors: &[(AUTHORS, Some(AUTHORS_SAMPLING))],
            headline: Some("the paper's program: learn 64 sampling weights"),
        },
        || Ok(sampling(0, 0.5, sum(Residuals::Pixel))?),
    )?);
    rows.extend(images(context, out)?);
    Ok(rows)
}

/// Learns from photographs if they are there, except in a quick run, which uses small images.
fn images(context: &BenchContext, out: &mut dyn Write) -> Result<Vec<Measurement>> {
    if context.quick {
        let benchmark = LearningBenchmark {
            name: "learn 3 parameters, 5 dead leaves of 128x128",
            points: 200,
            repetitions: 1,
            optimum: None,
            authors: &[],
            headline: None,
        };
        return learn(&benchmark, || dead_leaves(128, 5, Residuals::Pixel));
    }
    if let Some(folder) = kodak::find(context.kodak.as_deref())? {
        let benchmark = LearningBenchmark {
            name: "learn 3 parameters, 25 photographs of 256x256",
            points: 200,
            repetitions: 3,
            optimum: Some(reference::PHOTOGRAPHS),
            authors: &[
                (AUTHORS, Some(AUTHORS_PHOTOGRAPHS)),
                (AUTHORS_SLICED, Some(AUTHORS_PHOTOGRAPHS_SLICED)),
            ],
            headline: None,
        };
        return learn(&benchmark, || {
            problems::photographs(&folder, sum(Residuals::Pixel))
        });
    }
    writeln!(
        out,
        "  no photographs found: learning from images of dead leaves. \
         `cargo xtask fetch-kodak` downloads the photographs; --kodak DIR names another directory."
    )?;
    let benchmark = LearningBenchmark {
        name: "learn 3 parameters, 25 dead leaves of 256x256",
        points: 200,
        repetitions: 3,
        optimum: None,
        authors: &[],
        headline: None,
    };
    learn(&benchmark, || dead_leaves(256, 25, Residuals::Pixel))
}

/// Returns a learning problem with images of dead leaves and noise of standard deviation 0.1.
pub(super) fn dead_leaves(
    side: usize,
    num_images: usize,
    residuals: Residuals,
) -> Result<LearningProblem<TvDenoising>> {
    let pair = |index| {
        let (truth, data) = data::image(side, index)?;
        let grid = Grid::image(side, side);
        Ok(Pair { grid, truth, data })
    };
    let pairs = (0..num_images).map(pair).collect::<Result<Vec<_>>>()?;
    let mut setup = Setup::default();
    setup.loss.residuals = residuals;
    Ok(LearningProblem::new(TvDenoising::default(), pairs, setup)?)
}

struct LearningBenchmark<'a> {
    name: &'a str,
    /// The largest number of points that may be evaluated.
    points: u64,
    repetitions: u32,
    /// The true optimum, if it is known.
    optimum: Option<f64>,
    /// Names and archived seconds of the authors' program.
    authors: &'a [(&'a str, Option<f64>)],
    /// The label in the chart of the front page.
    headline: Option<&'static str>,
}

fn learn<M: LowerLevel>(
    benchmark: &LearningBenchmark<'_>,
    problem: impl Fn() -> Result<LearningProblem<M>>,
) -> Result<Vec<Measurement>> {
    let mut options = learning_options();
    options.budget.max_points = Some(benchmark.points);
    let mut seconds = f64::INFINITY;
    let mut last = None;
    let start = Instant::now();
    for _ in 0..benchmark.repetitions {
        if last.is_some() && start.elapsed() > PATIENCE {
            break;
        }
        let mut problem = problem()?;
        let begin = Instant::now();
        let learned = problem.learn_with(options.clone())?;
        seconds = seconds.min(begin.elapsed().as_secs_f64());
        last = Some((problem, learned));
    }
    let mut rows = Measurement::against(benchmark.name, seconds, "s", benchmark.authors);
    if let Some(label) = benchmark.headline {
        let is_archived = true;
        let headline = Headline { label, is_archived };
        let compared = rows.into_iter();
        rows = compared
            .map(|one| one.with_headline(AUTHORS, headline))
            .collect();
    }
    let Some((mut problem, learned)) = last else {
        return Ok(rows);
    };
    let note =
        |what, value, unit| Measurement::alone(format!("{}: {what}", benchmark.name), value, unit);
    rows.push(note("points", number(learned.num_points), "points"));
    rows.push(note("gradients", number(learned.work.total()), "gradients"));
    if let Some(optimum) = benchmark.optimum {
        let exact = objective(&mut problem, &learned.theta(), SHARE)?;
        let gap = 100.0 * (exact / optimum - 1.0);
        rows.push(note("above the true optimum", gap, "%"));
    }
    Ok(rows)
}

const fn number(count: u64) -> f64 {
    count as f64
}
