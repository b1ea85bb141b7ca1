//! A result as one HTML page that needs nothing else: no network, no script, no other file.
//!
//! ```
//! use bilevel::{LearningProblem, Pair, Scale, Setup, TvDenoising};
//! use bilevel_cli::report::{self, Input};
//! use imaging::{Grid, Seed, noise, phantom};
//!
//! let truth = phantom::box_function(64, Seed::new(1), 0)?;
//! let data = noise::gaussian(&truth, 0.1, Seed::new(1), 0)?;
//! let pairs = vec![Pair { grid: Grid::line(64), truth, data }];
//! let learned = LearningProblem::new(TvDenoising::default(), pairs, Setup::default())?.learn(Default::default())?;
//! let page = report::html(&Input {
//!     title: "One box",
//!     settings: "",
//!     scale: Scale::Mean,
//!     learned: &learned,
//!     training: &[],
//!     validation: &[],
//!     seconds: None,
//! });
//! assert!(page.starts_with("<!DOCTYPE html>") && page.contains("alpha"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod curves;
mod examples;
mod headline;
mod history;
pub mod markup;
pub mod number;
mod picture;
mod scores;
mod signal;

use bilevel::{Learned, Scale, Score};
use imaging::Grid;

use crate::findings::{Kind, findings};
use markup::{escaped, folded, section, sentence};

/// What the page is made of.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// What the page is called.
    pub title: &'a str,
    /// The settings of the run as a TOML file has them; shown folded. Nothing is shown if empty.
    pub settings: &'a str,
    /// What the objective is.
    pub scale: Scale,
    /// The result.
    pub learned: &'a Learned,
    /// What was learned from,
    pub training: &'a [Example],
    /// and what was held out.
    pub validation: &'a [Example],
    /// How long learning took.
    pub seconds: Option<f64>,
}

/// One example, reconstructed.
#[derive(Clone, Debug)]
pub struct Example {
    /// What it is called: the name of a file, for example.
    pub name: String,
    /// Where truth and reconstruction lie.
    pub grid: Grid,
    /// What should come out.
    pub truth: Vec<f64>,
    /// What was measured, when it is an image of the same kind.
    pub data: Option<Vec<f64>>,
    /// What came out. Of another length than the truth if nothing did.
    pub reconstruction: Vec<f64>,
    /// Root mean square distance of the reconstruction from the exact one, certified.
    pub error: f64,
    /// How good it is.
    pub score: Score,
}

/// How it looks: in light and dark, on a phone, on paper.
pub const STYLE: &str = include_str!("report/style.css");

/// The page. The same input makes the same page.
#[must_use]
pub fn html(input: &Input<'_>) -> String {
    let title = escaped(input.title);
    let body = [
        headline::html(input),
        section("What this means", &meaning(input)),
        section("How it went", &curves::html(input.learned)),
        section("Before and after", &examples::html(input)),
        section("Every image", &scores::html(input)),
        section("What it cost", &history::work(input.learned)),
        section("In full", &in_full(input)),
    ]
    .concat();
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <h1>{title}</h1>\n{body}</main>\n</body>\n</html>\n"
    )
}

/// The findings as a list.
fn meaning(input: &Input<'_>) -> String {
    let item = |kind: Kind, text: &str| {
        let (class, mark, name) = match kind {
            Kind::Good => ("good", "✓", "good"),
            Kind::Note => ("note", "i", "note"),
            Kind::Warning => ("warning", "!", "warning"),
        };
        let text = sentence(text);
        format!(
            "<li class=\"{class}\"><span class=\"mark\" role=\"img\" aria-label=\"{name}\">{mark}</span><span>{text}</span></li>\n"
        )
    };
    let items: String = (findings(input.learned, input.scale).iter())
        .map(|finding| item(finding.kind, &finding.text))
        .collect();
    format!("<ul class=\"findings\">\n{items}</ul>\n")
}

/// What few will read.
fn in_full(input: &Input<'_>) -> String {
    let settings = match input.settings {
        "" => String::new(),
        settings => folded(
            "Settings",
            false,
            &format!("<pre>{}</pre>\n", escaped(settings)),
        ),
    };
    settings + &history::table(input.learned)
}
