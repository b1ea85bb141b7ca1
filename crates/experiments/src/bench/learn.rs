//! Learning, end to end: seconds, gradients, and how far from the true optimum, beside the time of
//! the authors' program.

use std::io::Write;
use std::time::{Duration, Instant};

use anyhow::Result;
use bilevel::testing::{sampling, sum, three_parameters};
use bilevel::{
    LearningProblem, LowerLevel, Pair, Residuals, Setup, TvChoices, TvDenoising, learning_options,
};
use imaging::Grid;

use super::row::Row;
use super::{Context, data};
use crate::kodak;
use crate::learning::{objective, problems, reference};

/// The authors' program. Its times are measured CPU seconds on this kind of machine, of its dynamic
/// FISTA, as archived: it is not run again.
const AUTHORS: &str = "the authors' (archived)";
/// Three parameters of 1D denoising, 100 evaluations.
const AUTHORS_THREE: f64 = 15.7;
/// 64 sampling weights, 3,000 evaluations.
const AUTHORS_SAMPLING: f64 = 1050.0;
/// 25 photographs, 200 evaluations,
const AUTHORS_PHOTOGRAPHS: f64 = 9000.0;
/// and with its gradient of the total variation rewritten by array slicing.
const AUTHORS_SLICED: &str = "the authors', sliced (archived)";
const AUTHORS_PHOTOGRAPHS_SLICED: f64 = 650.0;

/// Nothing is repeated any more when this has passed.
const PATIENCE: Duration = Duration::from_secs(20);
/// The objective at what was learned is computed to within this share.
const SHARE: f64 = 1e-7;

pub(super) fn run(context: &Context, out: &mut dyn Write) -> Result<Vec<Row>> {
    let mut rows = learn(
        &Task {
            name: "learn 3 parameters, 20 lines of 256",
            points: 100,
            repetitions: if context.quick { 5 } else { 20 },
            optimum: Some(reference::three(0)?),
            authors: &[(AUTHORS, Some(AUTHORS_THREE))],
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
        &Task {
            name: "learn 64 sampling weights, 10 lines of 64",
            points: 3000,
            repetitions: if context.quick { 1 } else { 3 },
            optimum: Some(reference::sampling(0)?),
            authors: &[(AUTHORS, Some(AUTHORS_SAMPLING))],
        },
        || Ok(sampling(0, 0.5, sum(Residuals::Pixel))?),
    )?);
    rows.extend(images(context, out)?);
    Ok(rows)
}

/// Photographs, except in a quick run.
fn images(context: &Context, out: &mut dyn Write) -> Result<Vec<Row>> {
    if context.quick {
        let task = Task {
            name: "learn 3 parameters, 5 dead leaves of 128x128",
            points: 200,
            repetitions: 1,
            optimum: None,
            authors: &[],
        };
        return learn(&task, || dead_leaves(128, 5, Residuals::Pixel));
    }
    if let Some(folder) = kodak::find(context.kodak.as_deref())? {
        let task = Task {
            name: "learn 3 parameters, 25 photographs of 256x256",
            points: 200,
            repetitions: 3,
            optimum: Some(reference::PHOTOGRAPHS),
            authors: &[
                (AUTHORS, Some(AUTHORS_PHOTOGRAPHS)),
                (AUTHORS_SLICED, Some(AUTHORS_PHOTOGRAPHS_SLICED)),
            ],
        };
        return learn(&task, || problems::photographs(&folder, Residuals::Pixel));
    }
    writeln!(
        out,
        "  no photographs (--kodak DIR, or `cargo xtask fetch-kodak`): dead leaves instead"
    )?;
    let task = Task {
        name: "learn 3 parameters, 25 dead leaves of 256x256",
        points: 200,
        repetitions: 3,
        optimum: None,
        authors: &[],
    };
    learn(&task, || dead_leaves(256, 25, Residuals::Pixel))
}

/// Pictures with noise 0.1.
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

struct Task<'a> {
    name: &'a str,
    /// At most this many are evaluated.
    points: u64,
    repetitions: u32,
    optimum: Option<f64>,
    /// Their seconds.
    authors: &'a [(&'a str, Option<f64>)],
}

fn learn<M: LowerLevel>(
    task: &Task<'_>,
    problem: impl Fn() -> Result<LearningProblem<M>>,
) -> Result<Vec<Row>> {
    let mut options = learning_options();
    options.budget.max_points = Some(task.points);
    let mut seconds = f64::INFINITY;
    let mut last = None;
    let start = Instant::now();
    for _ in 0..task.repetitions {
        if last.is_some() && start.elapsed() > PATIENCE {
            break;
        }
        let mut problem = problem()?;
        let begin = Instant::now();
        let learned = problem.learn_with(options.clone())?;
        seconds = seconds.min(begin.elapsed().as_secs_f64());
        last = Some((problem, learned));
    }
    let mut rows = Row::against(task.name, seconds, "s", task.authors);
    let Some((mut problem, learned)) = last else {
        return Ok(rows);
    };
    let note = |what, value, unit| Row::alone(format!("{}: {what}", task.name), value, unit);
    rows.push(note("points", number(learned.num_points), "points"));
    rows.push(note("gradients", number(learned.work.total()), "gradients"));
    if let Some(optimum) = task.optimum {
        let exact = objective(&mut problem, &learned.theta(), SHARE)?;
        let gap = 100.0 * (exact / optimum - 1.0);
        rows.push(note("above the true optimum", gap, "%"));
    }
    Ok(rows)
}

const fn number(count: u64) -> f64 {
    count as f64
}
