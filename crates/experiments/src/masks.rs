//! `cargo xtask masks`: masks learned from slices of a head, compared with masks that were not
//! learned; the work that decisions by intervals save.

pub(crate) mod head;
mod regularisers;

use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result};
use bilevel::{
    ComparedMask, FilterSet, Kspace, MaskOptions, MaskProblem, MaskProgress, MaskScore, Pattern,
    SetOracle,
};
use clap::{Args, ValueEnum};
use imaging::Seed;
use serde::Serialize;

use head::Head;
use regularisers::Regularised;

/// The standard deviation of the complex noise.
const SIGMA: f64 = 0.02;
/// The share of the frequencies that masks contain.
const BUDGET: f64 = 0.25;
/// The side of the slices, in pixels.
const SIDE: usize = 128;
/// The number of training slices for lines.
const NUM_TRAINING: usize = 10;
/// The width of the centre.
const CENTRE: usize = 8;
/// The evaluations that are timed, as many as the search of the prototype made.
const TIMED: usize = 129;
/// The accuracy of all reconstructions with which decisions by intervals are compared: the
/// certified root-mean-square error of a picture.
const ACCURATE: f64 = 1e-4;

/// A part of the measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Part {
    /// A mask of lines.
    Lines,
    /// A mask of points.
    Points,
    /// The time of 129 evaluations of 10 slices.
    Time,
    /// The work that decisions by intervals save.
    Saved,
    /// Total variation and filters on the same masks, which are not learned.
    Filters,
}

/// The arguments of `masks`.
#[derive(Clone, Debug, Args)]
pub struct Arguments {
    /// The head as a NIfTI file (pycortex_S1.nii.gz)
    #[arg(
        long,
        value_name = "FILE",
        default_value = "../shared/mri/pycortex_S1.nii.gz"
    )]
    head: PathBuf,
    /// The parts to measure
    #[arg(long, value_enum, value_delimiter = ',', value_name = "PART")]
    only: Vec<Part>,
    /// The cosine filters of the regulariser, such as dct3 [default: total variation]
    #[arg(long, value_name = "FILTERS")]
    filters: Option<FilterSet>,
    /// The number of searches for lines
    #[arg(long, default_value_t = 2)]
    restarts: usize,
    /// The number of phases with which each training slice of points is used
    #[arg(long, default_value_t = 1)]
    phases: usize,
    /// File for the results
    #[arg(long, value_name = "FILE", default_value = "target/masks/masks.json")]
    out: PathBuf,
}

/// All results.
#[derive(Debug, Default, Serialize)]
struct Results {
    lines: Option<Study>,
    points: Option<Study>,
    time: Option<Timing>,
    saved: Option<Saved>,
    filters: Vec<Regularised>,
}

/// A learned mask, compared with others on held-out slices.
#[derive(Debug, Serialize)]
struct Study {
    num_training: usize,
    num_held_out: usize,
    evaluations: usize,
    accepted: usize,
    alpha: f64,
    nu: f64,
    work: f64,
    seconds: f64,
    objective: [f64; 2],
    /// The last one is the learned mask with the other regulariser: total variation if it was
    /// learned with filters, and filters whose weights were learned for it otherwise.
    masks: Vec<ComparedMask>,
}

/// What a study learns.
#[derive(Clone, Copy, Debug)]
struct Setting {
    pattern: Pattern,
    filters: Option<FilterSet>,
    restarts: usize,
}

#[derive(Debug, Serialize)]
struct Timing {
    evaluations: usize,
    slices: usize,
    threads: usize,
    seconds: f64,
}

#[derive(Debug, Serialize)]
struct Saved {
    /// The work with decisions by intervals, in gradients of single slices.
    by_intervals: f64,
    /// The work with every reconstruction to [`ACCURATE`].
    accurate: f64,
    share_saved: f64,
    masks: [usize; 2],
    same_mask: bool,
}

/// Measures all parts, prints tables, and writes JSON.
///
/// # Errors
/// When the head is missing or cannot be read, or learning fails.
pub fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<()> {
    let head = Head::read(&arguments.head).with_context(|| {
        format!(
            "cannot read {}: it is `filestore/db/S1/anatomicals/raw.nii.gz` of the package \
             pycortex 1.4.0 (source distribution); name it with --head FILE",
            arguments.head.display()
        )
    })?;
    let is_wanted = |part| arguments.only.is_empty() || arguments.only.contains(&part);
    let mut results = Results::default();
    if is_wanted(Part::Lines) {
        let training = head.spread(NUM_TRAINING, 0);
        let all: Vec<usize> = (0..training.len()).collect();
        let restarts = arguments.restarts;
        let setting = Setting {
            pattern: Pattern::Lines,
            filters: arguments.filters,
            restarts,
        };
        let study = study(&head, &training, &all, setting, out)?;
        results.lines = Some(study);
    }
    if is_wanted(Part::Points) {
        let near = head.apart_from_held_out(NUM_TRAINING);
        let training: Vec<_> = (0..arguments.phases)
            .flat_map(|phase| {
                near.iter()
                    .map(move |&(slice, number)| (slice, number + 1000 * phase))
            })
            .collect();
        // other masks are tuned on some of the slices
        let few: Vec<usize> = (0..near.len()).step_by(near.len() / NUM_TRAINING).collect();
        let setting = Setting {
            pattern: Pattern::Points,
            filters: arguments.filters,
            restarts: 1,
        };
        let study = study(&head, &training, &few, setting, out)?;
        results.points = Some(study);
    }
    if is_wanted(Part::Time) {
        results.time = Some(time(&head, arguments.filters, out)?);
    }
    if is_wanted(Part::Saved) {
        results.saved = Some(saved(&head, out)?);
    }
    if is_wanted(Part::Filters) {
        let set = arguments.filters.unwrap_or(FilterSet::DCT3);
        results.filters = regularisers::compare(&head, set, out)?;
    }
    if let Some(folder) = arguments.out.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(&arguments.out, serde_json::to_string_pretty(&results)?)?;
    writeln!(out, "\nresults: {}", arguments.out.display())?;
    Ok(())
}

/// Returns the problem of slices, given by their height and the number of their phase.
fn problem(head: &Head, slices: &[(usize, usize)], pattern: Pattern) -> Result<MaskProblem> {
    let pictures = slices
        .iter()
        .map(|&(slice, number)| head.slice(slice, SIDE, number))
        .collect::<Result<Vec<_>>>()?;
    let kspace = Kspace::of_pictures([SIDE, SIDE], &pictures)?;
    // numbers of noise are those of the slices, so that held-out ones have their own
    let seed = Seed::new(slices.first().map_or(0, |first| first.1 as u64));
    Ok(MaskProblem::of_kspace(&kspace, pattern, 1.0, SIGMA, seed)?)
}

/// Learns a mask from training slices, and compares it with others on held-out slices. The others
/// are tuned on some of the training slices.
fn study(
    head: &Head,
    training: &[(usize, usize)],
    tuning: &[usize],
    setting: Setting,
    out: &mut dyn Write,
) -> Result<Study> {
    let Setting {
        pattern,
        filters,
        restarts,
    } = setting;
    let mut problem_of = problem(head, training, pattern)?;
    use_typical(&mut problem_of, filters)?;
    let held_out = head.held_out(NUM_TRAINING);
    let mut held_out = problem(head, &held_out, pattern)?;
    let mut options = MaskOptions::of_budget(pattern, problem_of.grid(), BUDGET, CENTRE)?;
    options.restarts = restarts;
    let start = Instant::now();
    let mut shown = 0;
    let learned = problem_of.learn(&options, |progress: MaskProgress<'_>| {
        if progress.evaluations >= shown + 20 {
            shown = progress.evaluations;
            let _ = writeln!(
                out,
                "{:4} masks, search {}, {} exchanges, objective {:.5e}, {:.0} s",
                progress.evaluations,
                progress.restart + 1,
                progress.accepted,
                progress.interval.upper,
                start.elapsed().as_secs_f64()
            );
        }
        ControlFlow::Continue(())
    })?;
    let (seconds, work) = (start.elapsed().as_secs_f64(), problem_of.work());
    let tuning: Vec<_> = tuning.iter().map(|&index| training[index]).collect();
    let mut tuning = problem(head, &tuning, pattern)?;
    let mut masks = tuning.compare(Some(&mut held_out), &options, &learned.point)?;
    masks.push(with_other(&mut tuning, &mut held_out, filters, &masks[0])?);
    let tv = learned.point.tv();
    writeln!(
        out,
        "{}: {} masks, {} exchanges, alpha {:.3e}, nu {:.3e}, {:.0} gradients, {seconds:.0} s",
        pattern.name(),
        learned.evaluations,
        learned.accepted,
        tv.alpha,
        tv.nu,
        work
    )?;
    writeln!(
        out,
        "{:58} {:>7} {:>7} {:>7} {:>7}",
        "held-out slices", "PSNR", "SSIM", "inside", "inside"
    )?;
    for mask in &masks {
        let mean = MaskScore::mean(&mask.scores);
        writeln!(
            out,
            "{:58} {:7.3} {:7.3} {:7.3} {:7.3}",
            mask.name,
            mean.psnr,
            mean.ssim.unwrap_or(f64::NAN),
            mean.psnr_inside,
            mean.ssim_inside.unwrap_or(f64::NAN)
        )?;
    }
    out.flush()?;
    Ok(Study {
        num_training: training.len(),
        num_held_out: held_out.num_slices(),
        evaluations: learned.evaluations,
        accepted: learned.accepted,
        alpha: tv.alpha,
        nu: tv.nu,
        work,
        seconds,
        objective: [learned.interval.lower, learned.interval.upper],
        masks,
    })
}

/// Replaces the total variation of a problem by filters, if there are any.
fn use_typical(problem: &mut MaskProblem, filters: Option<FilterSet>) -> Result<()> {
    let relative = match filters {
        None => Vec::new(),
        Some(set) => vec![1.0; set.num_potentials()],
    };
    Ok(problem.use_filters(&relative)?)
}

/// Scores the learned mask, the first one, with the other regulariser, tuned for it.
fn with_other(
    tuning: &mut MaskProblem,
    held_out: &mut MaskProblem,
    filters: Option<FilterSet>,
    learned: &ComparedMask,
) -> Result<ComparedMask> {
    let (other, name) = match filters {
        Some(_) => (None, "learned; total variation"),
        None => (Some(FilterSet::DCT3), "learned; filters dct3"),
    };
    use_typical(tuning, other)?;
    let mut point = tuning.tuned(&learned.set, MaskProblem::START)?;
    tuning.learn_filters(&mut point)?;
    let (tv, filters) = (point.tv(), point.filters().to_vec());
    held_out.use_filters(&filters)?;
    let mut row = learned.clone();
    (row.alpha, row.nu, row.xi) = (tv.alpha, tv.nu, tv.xi);
    (_, row.scores) = held_out.scored(&learned.set, tv)?;
    row.filters = filters;
    name.clone_into(&mut row.name);
    Ok(row)
}

/// Times a search that ends after [`TIMED`] masks.
fn time(head: &Head, filters: Option<FilterSet>, out: &mut dyn Write) -> Result<Timing> {
    let mut problem = problem(head, &head.spread(NUM_TRAINING, 0), Pattern::Lines)?;
    problem.fix_nu(MaskProblem::START.nu);
    use_typical(&mut problem, filters)?;
    let mut options = MaskOptions::of_budget(Pattern::Lines, problem.grid(), BUDGET, CENTRE)?;
    options.restarts = usize::MAX;
    let start = Instant::now();
    let learned = problem.learn(&options, |progress| match progress.evaluations >= TIMED {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    })?;
    let timing = Timing {
        evaluations: learned.evaluations,
        slices: problem.num_slices(),
        threads: rayon::current_num_threads(),
        seconds: start.elapsed().as_secs_f64(),
    };
    writeln!(
        out,
        "time: {} masks of {} slices in {:.1} s on {} threads ({} evaluations with tuning, {:.0} \
         gradients)",
        timing.evaluations,
        timing.slices,
        timing.seconds,
        timing.threads,
        problem.evaluations(),
        problem.work()
    )?;
    Ok(timing)
}

/// Runs the same search twice: with decisions by intervals, and with accurate reconstructions.
fn saved(head: &Head, out: &mut dyn Write) -> Result<Saved> {
    let mut works = [0.0; 2];
    let mut masks = [0; 2];
    let mut sets = Vec::new();
    for (run, error) in [None, Some(ACCURATE * SIDE as f64)].into_iter().enumerate() {
        let mut problem = problem(head, &head.spread(NUM_TRAINING, 0), Pattern::Lines)?;
        problem.fix_nu(MaskProblem::START.nu);
        problem.fix_error(error);
        let options = MaskOptions::of_budget(Pattern::Lines, problem.grid(), BUDGET, CENTRE)?;
        let learned = problem.learn(&options, |_| ControlFlow::Continue(()))?;
        works[run] = problem.work() / problem.evaluations() as f64;
        masks[run] = learned.evaluations;
        let interval = problem.interval(&learned.point);
        writeln!(
            out,
            "work with {}: {:.0} gradients for {} evaluations, objective {:.6e}",
            error.map_or_else(
                || "intervals".to_owned(),
                |_| format!("errors of {ACCURATE}")
            ),
            problem.work(),
            problem.evaluations(),
            interval.upper
        )?;
        sets.push(learned.point.set().to_vec());
    }
    let saved = Saved {
        by_intervals: works[0],
        accurate: works[1],
        share_saved: 1.0 - works[0] / works[1],
        masks,
        same_mask: sets[0] == sets[1],
    };
    writeln!(
        out,
        "saved: {:.0} % of the work per evaluation; the same mask: {}",
        100.0 * saved.share_saved,
        saved.same_mask
    )?;
    Ok(saved)
}
