//! The report of all results: `report.html`, one file that needs no other, no script and no
//! network.

mod factors;
mod runs;
mod statements;

#[cfg(test)]
mod tests;

use ::page::number::{counted, duration, length};
use ::page::{png_url, section, sentence};
use maud::{Markup, PreEscaped, html};

use super::claims::{Claim, Topic, failed};
use super::figures::Drawn;
use super::results::{ReproductionSize, Results};
use super::summary::size_name;

/// Content of the page.
#[derive(Clone, Copy, Debug)]
pub struct PageInput<'a> {
    /// The runs.
    pub results: &'a Results,
    /// The claims and whether they hold.
    pub claims: &'a [Claim],
    /// The figures of the paper and comparisons with archived runs. The first number in the name of
    /// a figure is its number in the paper.
    pub figures: &'a [Drawn],
    /// The command that makes the page again.
    pub command: &'a str,
    /// Versions of the libraries and of the compiler.
    pub versions: &'a str,
    /// Duration of the whole command.
    pub seconds: f64,
}

/// Style sheet of this page, in addition to the shared one.
const MORE_STYLE: &str = include_str!("page/style.css");

/// A longer SVG is replaced by a PNG.
const MAX_SVG: usize = 300_000;

/// A section of the page: its name in links, its heading, what the claims in it are about, and its
/// figures.
struct PageSection {
    anchor: &'static str,
    heading: &'static str,
    topic: Topic,
    figures: &'static [u32],
}

const SECTIONS: [PageSection; 6] = [
    PageSection {
        anchor: "foundations",
        heading: "Data, bounds and honesty (Section 2)",
        topic: Topic::Foundations,
        figures: &[1, 2, 3],
    },
    PageSection {
        anchor: "one-parameter",
        heading: "Denoising signals, one parameter (Section 4.2)",
        topic: Topic::OneParameter,
        figures: &[4, 5, 6, 7],
    },
    PageSection {
        anchor: "three-parameters",
        heading: "Denoising signals, three parameters (Section 4.2)",
        topic: Topic::ThreeParameters,
        figures: &[8, 9, 10, 11],
    },
    PageSection {
        anchor: "photographs",
        heading: "Denoising photographs (Section 4.3)",
        topic: Topic::Photographs,
        figures: &[12, 13, 14],
    },
    PageSection {
        anchor: "sampling",
        heading: "Sampling patterns for MRI (Section 4.4)",
        topic: Topic::Sampling,
        figures: &[15, 16, 17],
    },
    PageSection {
        anchor: "headline",
        heading: "How much faster",
        topic: Topic::Headline,
        figures: &[],
    },
];

/// Returns the page. Equal inputs give equal pages.
#[must_use]
pub fn html(input: &PageInput<'_>) -> String {
    let title = "Inexact derivative-free optimization for bilevel learning: the paper, reproduced";
    let body = html! {
        (introduction(input))
        (contents(input))
        @for part in &SECTIONS { (part_html(input, part)) }
        (anchored("runs", "Every run", runs::html(input.results)))
        (anchored("about", "How this was made", about(input)))
    };
    ::page::document(title, MORE_STYLE, &body)
}

/// A section that links can lead to; nothing if its body is empty.
fn anchored(anchor: &str, heading: &str, body: Markup) -> Markup {
    html! { @if !body.0.is_empty() { div id=(anchor) { (section(heading, body)) } } }
}

/// One sentence, then the verdict.
fn introduction(input: &PageInput<'_>) -> Markup {
    let PageInput {
        results, claims, ..
    } = input;
    let scale = match results.size {
        ReproductionSize::Quick => "with reduced budgets for all but one parameter",
        ReproductionSize::Plain => {
            "at the scale of the paper, without the slowest runs on photographs"
        }
        ReproductionSize::Full => "at the scale of the paper",
    };
    let wrong = failed(claims);
    let class = if wrong.is_empty() { "good" } else { "warning" };
    html! {
        p {
            "Every figure of the paper by M. J. Ehrhardt and L. Roberts, drawn from "
            (num_runs(results)) " made for this page " (scale)
            ", next to the authors' archived runs, and for every claim whether it holds."
        }
        p.verdict.(class) {
            strong { (statements::verdict(claims)) }
            @if !wrong.is_empty() {
                " Not as it should be: "
                @for (index, claim) in wrong.iter().enumerate() {
                    @if index > 0 { ", " }
                    (statements::link(claim))
                }
                "."
            }
        }
    }
}

fn num_runs(results: &Results) -> String {
    counted(results.records.len() as u64, "run", "runs")
}

/// The claims of a section.
fn claims<'a>(input: &PageInput<'a>, part: &PageSection) -> Vec<&'a Claim> {
    let claims = input.claims.iter();
    claims.filter(|claim| claim.topic == part.topic).collect()
}

/// Links to all sections, with the number of their claims that hold.
fn contents(input: &PageInput<'_>) -> Markup {
    html! {
        nav aria-label="contents" {
            ol {
                @for part in &SECTIONS {
                    @let verdicts: Vec<bool> = claims(input, part).iter().filter_map(|claim| claim.holds).collect();
                    @let hold = verdicts.iter().filter(|holds| **holds).count();
                    li {
                        a href={ "#" (part.anchor) } { (part.heading) } " "
                        span.soft { (hold) " of " (verdicts.len()) " hold" }
                    }
                }
                li { a href="#runs" { "Every run" } }
                li { a href="#about" { "How this was made" } }
            }
        }
    }
}

/// Figures, each with the claims it is the first to show, and the claims without figures.
fn part_html(input: &PageInput<'_>, part: &PageSection) -> Markup {
    let mut rest = claims(input, part);
    let mut figures = Vec::new();
    for number in part.figures {
        let (here, later) = (rest.into_iter()).partition(|claim| claim.figures.contains(number));
        rest = later;
        let drawn = input.figures.iter();
        let drawn = drawn.filter(|drawn| figure_number(drawn.id) == Some(*number));
        figures.push(html! {
            @for drawn in drawn { (figure_html(drawn)) }
            (statements::html(&here))
        });
    }
    // claims about everything come first
    let is_first = part.topic == Topic::Foundations;
    let body = html! {
        @if is_first { (statements::html(&rest)) }
        @for figure in figures { (figure) }
        @if !is_first { (statements::html(&rest)) }
        @if part.topic == Topic::Headline { (factors::html(input.results)) }
    };
    anchored(part.anchor, part.heading, body)
}

/// The first number in a name: 4 of `fig04-archive`.
fn figure_number(id: &str) -> Option<u32> {
    let digits = id.trim_start_matches(|letter: char| !letter.is_ascii_digit());
    let end = digits.find(|letter: char| !letter.is_ascii_digit());
    digits[..end.unwrap_or(digits.len())].parse().ok()
}

/// The drawing with its caption.
fn figure_html(drawn: &Drawn) -> Markup {
    let svg = drawn.figure.to_svg();
    let png = match svg.len() > MAX_SVG {
        true => drawn.figure.to_png().ok(),
        false => None,
    };
    let png = png.filter(|png| png.len() / 3 * 4 < svg.len());
    html! {
        figure.drawn id=(drawn.id) {
            @if let Some(png) = png {
                img src=(png_url(&png)) alt=(drawn.title);
            } @else {
                (PreEscaped(svg))
            }
            figcaption {
                strong {
                    @if let Some(number) = figure_number(drawn.id) { "Figure " (number) ". " }
                    (drawn.title) "."
                }
                " " (sentence(&drawn.caption))
            }
        }
    }
}

/// Where the data come from, how long the runs took, and how to repeat them.
fn about(input: &PageInput<'_>) -> Markup {
    let results = input.results;
    let signals = match results.source.seed {
        None => {
            "the authors' signals, noise and frequencies, regenerated from their seed".to_owned()
        }
        Some(seed) => format!("made as the authors made theirs, from seed {seed}"),
    };
    let photographs = match results.source.kodak {
        Some(_) => "the authors' 25 photographs (Kodak)",
        None => {
            "dead leaves, which stand in for the authors' photographs: numbers cannot be compared with the archive"
        }
    };
    let learning: f64 = (results.records.values())
        .map(|run| run.outcome.seconds)
        .sum();
    html! {
        dl.about {
            dt { "Command" } dd { code { (input.command) } }
            dt { "Size" } dd { (size_name(results.size)) }
            dt { "Signals" } dd { (signals) }
            dt { "Photographs" } dd { (photographs) }
            dt { "Runs" }
            dd {
                (num_runs(results)) ", " (duration(learning)) " of learning; the whole command took "
                (duration(input.seconds))
            }
            dt { "Figures" } dd { (counted(length(input.figures), "figure", "figures")) }
            dt { "Versions" } dd { (input.versions) }
        }
        p.soft {
            "\"Faithful\" runs follow the authors' algorithm and count iterations as they do; \"ours\" is the library with its \
             defaults. The objective is a sum over images, as in the authors' program and figures, not the mean of the text. \
             \"Exact\" objectives are computed again where a run ended. Runs are kept and not repeated: their times may be from \
             earlier."
        }
    }
}
