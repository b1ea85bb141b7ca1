//! The command `cargo xtask reproduce`: plans the runs, makes those that are not in the cache,
//! draws figures, checks claims and writes the page.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use ::page::number::{duration, significant};
use anyhow::{Context, Result, bail};
use clap::Args;

use super::cache::{CacheEntry, RunCache, key};
use super::claims::{self, Convergence};
use super::data::DataSource;
use super::figures::{self, Drawn, FIGURES, bounds};
use super::page;
use super::plan::{self, PlannedRun};
use super::progress::PlanProgress;
use super::record::RunId;
use super::results::{ReproductionSize, Results};
use super::run::run as make;
use super::selection::Selection;
use super::setting::Setting;
use super::summary;
use crate::{file, kodak};

/// The arguments of `reproduce`.
#[derive(Clone, Debug, Args)]
pub struct Arguments {
    /// Reproduce every figure with reduced budgets, in less than a minute
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// Include the slowest runs on photographs: FISTA 2,000, GD 1,000 and GD 10,000
    #[arg(long)]
    full: bool,
    /// Reproduce only these figures (fig1 to fig17) or experiments (data, denoise1, denoise3,
    /// kodak, mri), separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    only: Vec<String>,
    /// Directory for results and finished runs, which later commands reuse
    #[arg(long, value_name = "DIR", default_value = "target/reproduce")]
    out: PathBuf,
    /// Directory with kodim01.png to kodim25.png [default: data/kodak, if it exists]
    #[arg(long, value_name = "DIR")]
    kodak: Option<PathBuf>,
    /// Number of threads; it does not change the results [default: number of cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// Use random data with this seed instead of the authors' data
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// List the figures and the runs they need, and exit
    #[arg(long)]
    list: bool,
}

/// Reproduces the chosen figures and checks the claims.
///
/// # Errors
/// When an argument is wrong, a run fails, or results cannot be written; and in the end, when a
/// claim that should hold does not.
pub fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<()> {
    let begin = Instant::now();
    let size = arguments.size();
    let selection = Selection::new(&arguments.only)?;
    let settings = settings(size)?;
    let runs = wanted(&selection, &settings, size);
    if arguments.list {
        return list(&selection, &runs, size, out);
    }
    let source = DataSource {
        seed: arguments.seed,
        kodak: kodak::find(arguments.kodak.as_deref())?,
    };
    check_writable(&arguments.out)?;
    if let Some(threads) = arguments.threads {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.into());
        pool.build_global().context("--threads")?;
    }
    on_interrupt()?;
    let mut work = Reproduction {
        directory: &arguments.out,
        selection: &selection,
        cache: RunCache::new(&arguments.out.join("runs")),
        results: Results {
            size,
            settings,
            records: BTreeMap::new(),
            source,
        },
        drawn: BTreeMap::new(),
    };
    work.make(&runs, out)?;
    let command = arguments.command();
    work.conclude(&command, begin, out)
}

impl Arguments {
    const fn size(&self) -> ReproductionSize {
        match (self.quick, self.full) {
            (true, _) => ReproductionSize::Quick,
            (_, true) => ReproductionSize::Full,
            _ => ReproductionSize::Plain,
        }
    }

    /// Returns the command that reproduces the same results.
    fn command(&self) -> String {
        let mut command = "cargo xtask reproduce".to_owned();
        match self.size() {
            ReproductionSize::Quick => command.push_str(" --quick"),
            ReproductionSize::Plain => {}
            ReproductionSize::Full => command.push_str(" --full"),
        }
        if !self.only.is_empty() {
            command.push_str(&format!(" --only {}", self.only.join(",")));
        }
        if let Some(seed) = self.seed {
            command.push_str(&format!(" --seed {seed}"));
        }
        if self.kodak.is_some() {
            command.push_str(" --kodak DIR");
        }
        command
    }
}

fn settings(size: ReproductionSize) -> Result<Vec<Setting>> {
    let all = Setting::all()?;
    Ok(match size {
        ReproductionSize::Quick => all.into_iter().map(Setting::quick).collect(),
        ReproductionSize::Plain | ReproductionSize::Full => all,
    })
}

fn wanted(selection: &Selection, settings: &[Setting], size: ReproductionSize) -> Vec<RunId> {
    let shown: BTreeSet<RunId> = (selection.figures.iter())
        .flat_map(|id| figures::runs(id, size))
        .collect();
    let mut runs = plan::all(settings, size);
    runs.retain(|run| shown.contains(run) || selection.has_setting(&run.setting));
    runs
}

fn list(
    selection: &Selection,
    runs: &[RunId],
    size: ReproductionSize,
    out: &mut dyn Write,
) -> Result<()> {
    for entry in FIGURES.iter().filter(|f| selection.figures.contains(&f.id)) {
        writeln!(out, "{}  {}", entry.id, entry.title)?;
        for run in figures::runs(entry.id, size) {
            writeln!(out, "       {run}")?;
        }
    }
    writeln!(out, "{} runs in total", runs.len())?;
    Ok(())
}

/// Handles Ctrl-C: prints that only the present run is lost, and exits. Files are always complete.
fn on_interrupt() -> Result<()> {
    ctrlc::set_handler(|| {
        let _ = writeln!(
            std::io::stderr(),
            "\ninterrupted; finished runs are saved, and the same command continues with the others"
        );
        std::process::exit(130);
    })
    .context("cannot listen for Ctrl-C")
}

/// Checks that results can be written, before any run is made.
fn check_writable(directory: &Path) -> Result<()> {
    let probe = directory.join(format!("probe-{}", std::process::id()));
    file::write(&probe, b"")
        .and_then(|()| fs::remove_file(&probe).context("cannot remove a test file"))
        .with_context(|| format!("--out: cannot write to {}", directory.display()))
}

/// A reproduction in progress.
struct Reproduction<'a> {
    directory: &'a Path,
    selection: &'a Selection,
    cache: RunCache,
    results: Results,
    /// The figures drawn so far, by their index in the selection.
    drawn: BTreeMap<usize, Vec<Drawn>>,
}

impl Reproduction<'_> {
    /// Makes the runs that are not in the cache, the cheap ones first, and draws every figure as
    /// soon as its runs are finished.
    fn make(&mut self, runs: &[RunId], out: &mut dyn Write) -> Result<()> {
        let mut missing = Vec::new();
        for id in runs {
            let setting = self.results.setting(&id.setting)?;
            match self.cache.find(id, &key(setting, id, &self.results.source)) {
                CacheEntry::Record(record) => {
                    self.results.records.insert(id.clone(), *record);
                }
                CacheEntry::Nothing => missing.push(id.clone()),
                CacheEntry::Broken(reason) => {
                    writeln!(
                        out,
                        "warning: repeating a run whose file is broken: {reason}"
                    )?;
                    missing.push(id.clone());
                }
            }
        }
        let plan = plan::plan(&missing, &self.results.settings, &self.results.source)?;
        self.print_plan(&plan, runs.len(), out)?;
        let mut progress = PlanProgress::new(&plan);
        self.draw(out, &progress)?;
        for (index, planned) in plan.iter().enumerate() {
            progress.show(planned, 0.0);
            let id = &planned.id;
            let setting = self.results.setting(&id.setting)?;
            let pairs = self.results.source.pairs(&setting.data)?;
            let mut show = |evaluations: usize| {
                progress.show(planned, evaluations as f64 / setting.evaluations as f64);
            };
            let record = make(setting, id, pairs, &mut show)?;
            self.cache
                .store(&record, &key(setting, id, &self.results.source))?;
            progress.finish(planned);
            let line = format!(
                "run {:>2}/{}  {:<37} f = {:<13} {:>9} iterations  {}",
                index + 1,
                plan.len(),
                id.to_string(),
                significant(record.outcome.f, 8),
                record.lower_iterations(),
                duration(record.outcome.seconds)
            );
            progress.line(out, &line)?;
            self.results.records.insert(id.clone(), record);
            self.draw(out, &progress)?;
        }
        progress.clear();
        Ok(())
    }

    fn print_plan(&self, plan: &[PlannedRun], total: usize, out: &mut dyn Write) -> Result<()> {
        let source = &self.results.source;
        match source.seed {
            None => writeln!(out, "data: the authors' data, regenerated from their seed")?,
            Some(seed) => writeln!(out, "data: random, from seed {seed}")?,
        }
        match &source.kodak {
            Some(folder) => writeln!(out, "photographs: {}", folder.display())?,
            None => writeln!(
                out,
                "photographs: not found, replaced by images of dead leaves \
                 (`cargo xtask fetch-kodak` downloads the photographs)"
            )?,
        }
        let seconds: f64 = plan.iter().map(|run| run.seconds).sum();
        writeln!(
            out,
            "{} figures from {total} runs; {} runs are not in the cache and take about {}",
            self.selection.figures.len(),
            plan.len(),
            duration(seconds)
        )?;
        let mut by_setting: BTreeMap<&str, (usize, f64)> = BTreeMap::new();
        for run in plan {
            let entry = by_setting.entry(&run.id.setting).or_default();
            entry.0 += 1;
            entry.1 += run.seconds;
        }
        for setting in &self.results.settings {
            if let Some((count, seconds)) = by_setting.get(setting.name.as_str()) {
                writeln!(
                    out,
                    "  {:<20} {count} runs, about {}",
                    setting.name,
                    duration(*seconds)
                )?;
            }
        }
        Ok(())
    }

    /// Draws the figures whose runs are finished and that are not drawn yet.
    fn draw(&mut self, out: &mut dyn Write, progress: &PlanProgress) -> Result<()> {
        for (place, id) in self.selection.figures.iter().enumerate() {
            let runs = figures::runs(id, self.results.size);
            let is_ready = runs
                .iter()
                .all(|run| self.results.records.contains_key(run));
            if self.drawn.contains_key(&place) || !is_ready {
                continue;
            }
            let drawn = figures::draw(id, &self.results)?;
            for drawn in &drawn {
                let stem = self.directory.join("figures").join(drawn.id);
                file::write_figure(&drawn.figure, &stem)?;
            }
            progress.line(
                out,
                &format!("{id}  {}", drawn.first().map_or("", |d| &d.title)),
            )?;
            self.drawn.insert(place, drawn);
        }
        Ok(())
    }

    /// Checks the claims, and writes the page and the summary.
    fn conclude(self, command: &str, begin: Instant, out: &mut dyn Write) -> Result<()> {
        let drawn: Vec<Drawn> = self.drawn.into_values().flatten().collect();
        let claims = claims::check(&self.results, &convergence(&self.results.source)?);
        let summary = summary::json(&self.results, &claims, &drawn)?;
        file::write(&self.directory.join("summary.json"), summary.as_bytes())?;
        let html = page::html(&page::PageInput {
            results: &self.results,
            claims: &claims,
            figures: &drawn,
            command,
            versions: VERSIONS,
            seconds: begin.elapsed().as_secs_f64(),
        });
        let path = self.directory.join("report.html");
        file::write(&path, html.as_bytes())?;
        let held = claims
            .iter()
            .filter(|claim| claim.holds == Some(true))
            .count();
        let checked = claims.iter().filter(|claim| claim.holds.is_some()).count();
        writeln!(
            out,
            "\n{held} of {checked} checked claims hold; {} claims were not checked",
            claims.len() - checked
        )?;
        let failed = claims::failed(&claims);
        for claim in &failed {
            writeln!(
                out,
                "claim that does not hold: {}: {}\n  measured: {}\n  expected: {}",
                claim.id, claim.text, claim.measured, claim.expected
            )?;
        }
        writeln!(out, "wrote {}", path.display())?;
        if !failed.is_empty() {
            bail!(
                "{} claims that should hold do not; {} explains them",
                failed.len(),
                path.display()
            );
        }
        Ok(())
    }
}

/// Returns the ends of the curves in Figure 3.
fn convergence(source: &DataSource) -> Result<Vec<Convergence>> {
    let panels = bounds::measure(source)?;
    let panels = [
        ('a', panels.quadratic_gd),
        ('b', panels.quadratic_fista),
        ('c', panels.denoising_gd),
        ('d', panels.denoising_fista),
    ];
    let ends = panels.into_iter().map(|(panel, trajectory)| {
        let end = trajectory.end();
        Convergence {
            panel,
            mu: trajectory.strong_convexity,
            lipschitz: trajectory.lipschitz,
            error: end.error,
            gradient_bound: end.gradient_bound,
            linear_bound: end.linear_bound,
        }
    });
    Ok(ends.collect())
}

/// The versions of the code that computed the results.
const VERSIONS: &str = concat!(env!("VERSIONS"), ", sources ", env!("CODE_VERSION"));
