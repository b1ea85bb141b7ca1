//! The report of a run: one HTML page that needs no network, no script and no other file.
//!
//! ```
//! use bilevel::{LearningProblem, Pair, Scale, Setup, TvDenoising};
//! use bilevel_cli::findings::findings;
//! use bilevel_cli::report::{self, ReportInput};
//! use imaging::{Grid, Seed, noise, phantom};
//!
//! let truth = phantom::box_function(64, Seed::new(1), 0)?;
//! let data = noise::gaussian(&truth, 0.1, Seed::new(1), 0)?;
//! let pairs = vec![Pair { grid: Grid::line(64), truth, data }];
//! let learned = LearningProblem::new(TvDenoising::default(), pairs, Setup::default())?.learn()?;
//! let page = report::html(&ReportInput {
//!     title: "One box",
//!     settings: "",
//!     scale: Scale::Mean,
//!     findings: &findings(&learned, Scale::Mean),
//!     learned: &learned,
//!     bank: None,
//!     training: &[],
//!     validation: &[],
//!     seconds: None,
//!     is_transformed: false,
//! });
//! assert!(page.starts_with("<!DOCTYPE html>") && page.contains("alpha"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod curves;
pub(crate) mod each;
mod filters;
mod gradient;
mod headline;
mod history;
mod images;
mod picture;
mod scores;
mod signal;

use ::page::{folded, mark, section, sentence};
use bilevel::{Learned, Scale, Score};
use imaging::{FilterBank, Grid};
use maud::{Markup, html};

use crate::findings::{Finding, FindingKind};
use crate::run_page::TvComparison;

/// The content of the page.
#[derive(Clone, Copy, Debug)]
pub struct ReportInput<'a> {
    /// The title of the page.
    pub title: &'a str,
    /// The settings of the run as a TOML file, shown folded. An empty text is left out.
    pub settings: &'a str,
    /// The scale of the objective.
    pub scale: Scale,
    /// The findings about the result.
    pub findings: &'a [Finding],
    /// The result of the run.
    pub learned: &'a Learned,
    /// The learned filter banks, if the model has them.
    pub bank: Option<ReportBank<'a>>,
    /// The reconstructed training images.
    pub training: &'a [ReportImage],
    /// The reconstructed held-out images.
    pub validation: &'a [ReportImage],
    /// The duration of learning in seconds, if it is known.
    pub seconds: Option<f64>,
    /// Whether estimates without truth are those of pictures that were transformed for a camera.
    pub is_transformed: bool,
}

/// Learned filter banks.
#[derive(Clone, Copy, Debug)]
pub struct ReportBank<'a> {
    /// The filters and their potentials: one bank with an empty name for grey pictures, or one for
    /// the luminance and one for the chroma of pictures in colour.
    pub banks: &'a [(&'a str, &'a FilterBank)],
    /// The proved strong convexity of reconstructions, and a Lipschitz constant of the gradients of
    /// their objectives.
    pub constants: [f64; 2],
    /// Whether the filters themselves were learned.
    pub is_learned: bool,
    /// The comparison with total variation, if images were held out.
    pub comparison: Option<&'a TvComparison>,
}

/// One reconstructed image.
#[derive(Clone, Debug)]
pub struct ReportImage {
    /// The name of the image, such as that of its file.
    pub name: String,
    /// The grid of truth and reconstruction.
    pub grid: Grid,
    /// The true image.
    pub truth: Vec<f64>,
    /// The measured data, if they are an image on the same grid.
    pub data: Option<Vec<f64>>,
    /// The reconstruction, empty if there is none.
    pub reconstruction: Vec<f64>,
    /// The certified root-mean-square distance of the reconstruction from the exact one.
    pub error: f64,
    /// The quality of data and reconstruction.
    pub score: Score,
}

/// Returns the page as HTML. Equal inputs give equal pages.
#[must_use]
pub fn html(input: &ReportInput<'_>) -> String {
    let body = html! {
        (headline::html(input))
        @if let Some(bank) = &input.bank { (section("Filters and potentials", filters::html(bank))) }
        (section("Findings", meaning(input.findings)))
        (section("Gradient of the objective", gradient::html(input.learned)))
        (section("Progress", curves::html(input.learned)))
        (section("Before and after", images::html(input)))
        (section("Scores of all images", scores::html(input)))
        (section("Cost", history::work(input.learned)))
        (section("Details", details(input)))
    };
    let style = input.bank.map_or("", |_| filters::STYLE);
    ::page::document(input.title, style, &body)
}

/// Returns the indices of the images whose pictures the page shows, in increasing order. Only their
/// scores matter.
pub(crate) fn shown(images: &[ReportImage]) -> Vec<usize> {
    let chosen = images::choose_by_score(images).into_iter();
    chosen.map(|(index, _)| index).collect()
}

/// Returns the findings as a list.
fn meaning(findings: &[Finding]) -> Markup {
    let sign = |kind| match kind {
        FindingKind::Good => ("good", "✓"),
        FindingKind::Note => ("note", "i"),
        FindingKind::Warning => ("warning", "!"),
    };
    html! {
        ul.findings {
            @for finding in findings {
                @let (class, sign) = sign(finding.kind);
                li class=(class) { (mark(sign, class)) span { (sentence(&finding.text)) } }
            }
        }
    }
}

/// Returns the settings and the table of evaluations, both folded.
fn details(input: &ReportInput<'_>) -> Markup {
    html! {
        @if !input.settings.is_empty() {
            (folded("Settings", false, &html! { pre { (input.settings) } }))
        }
        (history::table(input.learned))
    }
}
