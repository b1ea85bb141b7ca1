//! The paper's figures: in the paper's layout from runs of the authors' algorithm, and together
//! with the authors' archived curves and ours.

pub mod bounds;
mod comparison;
pub mod curves;
mod noise;
mod notes;
mod pattern;
mod photographs;
mod reconstruction;
mod signals;
mod starts;
mod style;
#[cfg(test)]
mod synthetic;

use anyhow::{Context, Result, bail};
use plot::Figure;

use super::archive::{self, ArchivedRun};
use super::plan::is_slow;
use super::record::{Effort, Mode, PaperMethod, RunId, RunRecord, Variant};
use super::results::{ReproductionSize, Results};
use super::setting::Setting;

/// A figure that was drawn.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// The name: `fig04`, or `fig04-archive` for the comparison with the authors' curves.
    pub id: &'static str,
    /// The title.
    pub title: String,
    /// The caption: the content, the data and the runs, and the missing runs.
    pub caption: String,
    /// The figure itself.
    pub figure: Figure,
}

/// A figure that can be drawn.
#[derive(Clone, Copy, Debug)]
pub struct FigureSpec {
    /// The name: `fig04`.
    pub id: &'static str,
    /// The title.
    pub title: &'static str,
    /// The experiments in the figure.
    experiments: &'static [&'static str],
    /// The runs of each experiment in the figure.
    runs: NeededRuns,
    draw: fn(&FigureInput<'_>) -> Result<Vec<Drawn>>,
}

/// The runs of an experiment that a figure needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NeededRuns {
    /// Dynamic FISTA of the authors' algorithm.
    DynamicFista,
    /// Dynamic FISTA of the authors' algorithm and of ours.
    BothDynamicFista,
    /// All six variants of the authors' algorithm.
    All,
    /// All six variants of the authors' algorithm, and the dynamic variants of ours.
    AllAndOurs,
}

const fn entry(
    id: &'static str,
    title: &'static str,
    experiments: &'static [&'static str],
    runs: NeededRuns,
    draw: fn(&FigureInput<'_>) -> Result<Vec<Drawn>>,
) -> FigureSpec {
    FigureSpec {
        id,
        title,
        experiments,
        runs,
        draw,
    }
}

/// All figures, in the order of the paper.
pub const FIGURES: [FigureSpec; 17] = [
    entry(
        "fig01",
        "Training pairs for denoising",
        &[],
        NeededRuns::All,
        signals::training_pairs,
    ),
    entry(
        "fig02",
        "Denoised signals for various parameters",
        &[],
        NeededRuns::All,
        signals::parameters,
    ),
    entry(
        "fig03",
        "Bounds on the error of reconstructions",
        &[],
        NeededRuns::All,
        bounds::draw,
    ),
    entry(
        "fig04",
        "Results for the 1-parameter denoising problem",
        &["denoise1_start0"],
        NeededRuns::AllAndOurs,
        comparison::draw,
    ),
    entry(
        "fig05",
        "1-parameter final reconstructions",
        &["denoise1_start0"],
        NeededRuns::DynamicFista,
        signals::reconstructions,
    ),
    entry(
        "fig06",
        "1-parameter results for different starting points",
        &["denoise1_start1", "denoise1_start-1", "denoise1_start-2"],
        NeededRuns::AllAndOurs,
        comparison::draw,
    ),
    entry(
        "fig07",
        "1-parameter results: learned against initial parameter",
        &[
            "denoise1_start-2",
            "denoise1_start-1",
            "denoise1_start0",
            "denoise1_start1",
            "denoise1_start2",
        ],
        NeededRuns::All,
        starts::draw,
    ),
    entry(
        "fig08",
        "Results for the 3-parameter 1D denoising problem",
        &["denoise3_beta1e-6"],
        NeededRuns::AllAndOurs,
        comparison::draw,
    ),
    entry(
        "fig09",
        "3-parameter final reconstructions, β = 10⁻⁶",
        &["denoise3_beta1e-6"],
        NeededRuns::DynamicFista,
        signals::reconstructions,
    ),
    entry(
        "fig10",
        "3-parameter final reconstructions, β = 10⁻⁴",
        &["denoise3_beta1e-4"],
        NeededRuns::DynamicFista,
        signals::reconstructions,
    ),
    entry(
        "fig11",
        "3-parameter reconstructions of the first image while learning",
        &["denoise3_beta1e-6"],
        NeededRuns::DynamicFista,
        signals::progress,
    ),
    entry(
        "fig12",
        "Results for the 3-parameter denoising problem with 2D images",
        &["kodak_sigma1e-1"],
        NeededRuns::AllAndOurs,
        comparison::draw,
    ),
    entry(
        "fig13",
        "Reconstructions of 2D images",
        &["kodak_sigma1e-1"],
        NeededRuns::DynamicFista,
        photographs::draw,
    ),
    entry(
        "fig14",
        "Learned regularization parameter for varying noise levels",
        &noise::EXPERIMENTS,
        NeededRuns::BothDynamicFista,
        noise::draw,
    ),
    entry(
        "fig15",
        "Results for the MRI sampling problem",
        &["mri"],
        NeededRuns::AllAndOurs,
        comparison::draw,
    ),
    entry(
        "fig16",
        "MRI sampling patterns",
        &["mri"],
        NeededRuns::All,
        pattern::draw,
    ),
    entry(
        "fig17",
        "MRI reconstructions",
        &["mri"],
        NeededRuns::DynamicFista,
        signals::sampled,
    ),
];

const DYNAMIC_GD: Variant = Variant::new(PaperMethod::Gd, Effort::Dynamic);
const DYNAMIC_FISTA: Variant = Variant::new(PaperMethod::Fista, Effort::Dynamic);

/// Returns the runs that a figure needs at this size; none for an unknown figure.
#[must_use]
pub fn runs(id: &str, size: ReproductionSize) -> Vec<RunId> {
    let Some(entry) = FIGURES.iter().find(|entry| entry.id == id) else {
        return Vec::new();
    };
    let mut runs = Vec::new();
    for experiment in entry.experiments {
        let faithful: &[Variant] = match entry.runs {
            NeededRuns::All | NeededRuns::AllAndOurs => &Variant::ALL,
            NeededRuns::DynamicFista | NeededRuns::BothDynamicFista => &[DYNAMIC_FISTA],
        };
        let ours: &[Variant] = match entry.runs {
            NeededRuns::All | NeededRuns::DynamicFista => &[],
            NeededRuns::BothDynamicFista => &[DYNAMIC_FISTA],
            NeededRuns::AllAndOurs => &[DYNAMIC_GD, DYNAMIC_FISTA],
        };
        for (mode, variants) in [(Mode::Faithful, faithful), (Mode::Ours, ours)] {
            runs.extend(variants.iter().map(|&variant| RunId {
                setting: (*experiment).to_owned(),
                variant,
                mode,
            }));
        }
    }
    runs.retain(|run| size != ReproductionSize::Plain || !is_slow(run));
    runs
}

/// Draws a figure, and its comparison with the authors' curves if there is one.
///
/// # Errors
/// When there is no such figure, or none of the runs that it needs was made.
pub fn draw(id: &str, results: &Results) -> Result<Vec<Drawn>> {
    let has_authors_data = |entry: &FigureSpec| {
        let mut experiments = entry.experiments.iter();
        let has_photographs = experiments.any(|name| name.starts_with("kodak"));
        results.source.seed.is_none() && (!has_photographs || results.source.kodak.is_some())
    };
    let archive = if FIGURES.iter().any(|f| f.id == id && has_authors_data(f)) {
        AuthorsCurves {
            run: archive::run,
            noise_sweep: archive::noise_sweep(),
        }
    } else {
        AuthorsCurves::EMPTY
    };
    draw_with(id, results, archive)
}

fn draw_with(id: &str, results: &Results, archive: AuthorsCurves) -> Result<Vec<Drawn>> {
    let entry = FIGURES.iter().find(|entry| entry.id == id);
    let entry = entry.with_context(|| format!("there is no figure {id}"))?;
    let needed = runs(id, results.size);
    let mut needed = needed.iter().filter(|run| run.mode == Mode::Faithful);
    let is_made = |run: &RunId| results.records.contains_key(run);
    if needed.clone().next().is_some() && !needed.clone().any(is_made) {
        let names: Vec<String> = needed.by_ref().map(ToString::to_string).collect();
        bail!("{id} needs runs that were not made: {}", names.join(", "));
    }
    let input = FigureInput {
        entry,
        results,
        archive,
    };
    (entry.draw)(&input).with_context(|| format!("cannot draw {id}"))
}

/// The authors' curves.
#[derive(Clone, Copy)]
struct AuthorsCurves {
    run: fn(&str, Variant) -> Option<&'static ArchivedRun>,
    noise_sweep: &'static [[f64; 3]],
}

impl AuthorsCurves {
    /// No curves, for data that are not the authors'.
    const EMPTY: Self = Self {
        run: |_, _| None,
        noise_sweep: &[],
    };
}

/// The input of a figure.
struct FigureInput<'a> {
    entry: &'static FigureSpec,
    results: &'a Results,
    archive: AuthorsCurves,
}

impl<'a> FigureInput<'a> {
    /// Returns the first experiment of the figure.
    fn setting(&self) -> Result<&'a Setting> {
        let experiments = self.entry.experiments.iter();
        let name = experiments.copied().next();
        self.results
            .setting(name.context("the figure has no runs")?)
    }

    /// Returns the run of dynamic FISTA of the first experiment, with the authors' algorithm.
    fn dynamic_fista(&self) -> Result<&'a RunRecord> {
        let name = &self.setting()?.name;
        let record = self.results.record(name, DYNAMIC_FISTA, Mode::Faithful);
        record.with_context(|| format!("the run of dynamic FISTA for {name} is missing"))
    }

    /// Adds title and caption to a figure in the paper's layout.
    fn drawn(&self, what: &str, figure: Figure) -> Drawn {
        Drawn {
            id: self.entry.id,
            title: self.entry.title.to_owned(),
            caption: notes::caption(self, what, |run| run.mode == Mode::Faithful),
            figure,
        }
    }

    /// Adds title and caption to a comparison of dynamic variants with the authors' curves.
    fn compared(&self, id: &'static str, what: &str, figure: Figure) -> Drawn {
        Drawn {
            id,
            title: format!("{}: the authors' algorithm and ours", self.entry.title),
            caption: notes::caption(self, what, |run| run.variant.effort == Effort::Dynamic),
            figure,
        }
    }
}

#[cfg(test)]
mod tests;
