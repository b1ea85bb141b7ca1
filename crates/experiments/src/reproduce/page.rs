//! The page with all results, `report.html`: one file without scripts that needs no other file and
//! no network.

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

/// The largest SVG in bytes. Larger ones are replaced by a PNG.
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
        heading: "Data and error bounds (Section 2)",
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
        heading: "Speed-up by dynamic accuracy",
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
        (anchored("runs", "All runs", runs::html(input.results)))
        (anchored("about", "How this page was made", about(input)))
    };
    ::page::document(title, MORE_STYLE, &body)
}

/// Returns a section with an anchor for links; nothing if its body is empty.
fn anchored(anchor: &str, heading: &str, body: Markup) -> Markup {
    html! { @if !body.0.is_empty() { div id=(anchor) { (section(heading, body)) } } }
}

/// Returns the introduction: one sentence, then the verdict.
fn introduction(input: &PageInput<'_>) -> Markup {
    let PageInput {
        results, claims, ..
    } = input;
    let scale = match results.size {
        ReproductionSize::Quick => "with reduced budgets, except for the one-parameter problem",
        ReproductionSize::Plain => {
            "at the scale of the paper, without the slowest runs on photographs"
        }
        ReproductionSize::Full => "at the scale of the paper",
    };
    let wrong = failed(claims);
    let class = if wrong.is_empty() { "good" } else { "warning" };
    html! {
        p {
            "This page reproduces figures of the paper by M. J. Ehrhardt and L. Roberts, shows them \
             next to the authors' archived runs, and states for every claim whether it holds. It \
             uses "
            (num_runs(results)) " made " (scale) "."
        }
        p.verdict.(class) {
            strong { (statements::verdict(claims)) }
            @if !wrong.is_empty() {
                " These claims should hold and do not: "
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

/// Returns the claims of a section.
fn claims<'a>(input: &PageInput<'a>, part: &PageSection) -> Vec<&'a Claim> {
    let claims = input.claims.iter();
    claims.filter(|claim| claim.topic == part.topic).collect()
}

/// Returns links to all sections, with the number of claims that hold in each.
fn contents(input: &PageInput<'_>) -> Markup {
    html! {
        nav aria-label="contents" {
            ol {
                @for part in &SECTIONS {
                    @let verdicts = verdicts(input, part);
                    @let hold = verdicts.iter().filter(|holds| **holds).count();
                    li {
                        a href={ "#" (part.anchor) } { (part.heading) } " "
                        span.soft {
                            @if verdicts.is_empty() { "not checked" }
                            @else { (hold) " of " (verdicts.len()) " claims hold" }
                        }
                    }
                }
                li { a href="#runs" { "All runs" } }
                li { a href="#about" { "How this page was made" } }
            }
        }
    }
}

/// Returns the verdicts on the claims of a section that were checked.
fn verdicts(input: &PageInput<'_>, part: &PageSection) -> Vec<bool> {
    let claims = claims(input, part);
    claims.iter().filter_map(|claim| claim.holds).collect()
}

/// Returns a section: its figures, each followed by the claims that it is the first to show, and
/// the claims without figures.
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
    // Claims about all runs come first.
    let is_first = part.topic == Topic::Foundations;
    let body = html! {
        @if is_first { (statements::html(&rest)) }
        @for figure in figures { (figure) }
        @if !is_first { (statements::html(&rest)) }
        @if part.topic == Topic::Headline { (factors::html(input.results)) }
    };
    anchored(part.anchor, part.heading, body)
}

/// Returns the first number in a name: 4 for `fig04-archive`.
fn figure_number(id: &str) -> Option<u32> {
    let digits = id.trim_start_matches(|letter: char| !letter.is_ascii_digit());
    let end = digits.find(|letter: char| !letter.is_ascii_digit());
    digits[..end.unwrap_or(digits.len())].parse().ok()
}

/// Returns the drawing with its caption.
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

/// Returns the source of the data, the duration of the runs, and how to repeat them.
fn about(input: &PageInput<'_>) -> Markup {
    let results = input.results;
    let signals = match results.source.seed {
        None => {
            "the authors' signals, noise and frequencies, regenerated from their seed".to_owned()
        }
        Some(seed) => format!("random signals like the authors', generated from seed {seed}"),
    };
    let photographs = match results.source.kodak {
        Some(_) => "the authors' 25 photographs (Kodak)",
        None => {
            "images of dead leaves instead of the authors' photographs; \
             their numbers cannot be compared with the archive"
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
                (num_runs(results)) ", which took " (duration(learning)) "; the command took "
                (duration(input.seconds))
            }
            dt { "Figures" } dd { (counted(length(input.figures), "figure", "figures")) }
            dt { "Versions" } dd { (input.versions) }
        }
        p.soft {
            "\"Faithful\" runs follow the authors' algorithm and count iterations as the authors \
             do; \"ours\" is this library with its defaults. The objective is the sum over images, \
             as in the authors' program and figures; the paper's text has the mean. The exact \
             objective at the end of a run is computed separately, to nine digits. Finished runs \
             are reused, so their times may come from an earlier command."
        }
    }
}
