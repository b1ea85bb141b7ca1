//! All results for people: `report.html`, one file that needs no other, no script and no network.

mod factors;
mod runs;
mod statements;

#[cfg(test)]
mod tests;

use bilevel_cli::report::STYLE;
use bilevel_cli::report::markup::{escaped, section, sentence};
use bilevel_cli::report::number::{counted, duration, length};
use plot::base64;

use super::claims::{Claim, Topic, failed};
use super::figures::Drawn;
use super::results::{Results, Size};
use super::summary::size_name;

/// What the page is made of.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// Runs,
    pub results: &'a Results,
    /// verdicts,
    pub claims: &'a [Claim],
    /// figures, those of the paper and comparisons with archived runs: the first number in its name is the number of the paper's.
    pub figures: &'a [Drawn],
    /// The command that makes the page again.
    pub command: &'a str,
    /// What the page was made with.
    pub versions: &'a str,
    /// How long all of it took.
    pub seconds: f64,
}

/// In addition to the style of the reports of learning.
const MORE_STYLE: &str = include_str!("page/style.css");

/// An SVG is shown as a picture if it is longer.
const MAX_SVG: usize = 300_000;

/// A section of the page: its name in links, its heading, what the claims in it are about, and its figures.
struct Part {
    anchor: &'static str,
    heading: &'static str,
    topic: Topic,
    figures: &'static [u32],
}

const PARTS: [Part; 6] = [
    Part {
        anchor: "foundations",
        heading: "Data, bounds and honesty (Section 2)",
        topic: Topic::Foundations,
        figures: &[1, 2, 3],
    },
    Part {
        anchor: "one-parameter",
        heading: "Denoising signals, one parameter (Section 4.2)",
        topic: Topic::OneParameter,
        figures: &[4, 5, 6, 7],
    },
    Part {
        anchor: "three-parameters",
        heading: "Denoising signals, three parameters (Section 4.2)",
        topic: Topic::ThreeParameters,
        figures: &[8, 9, 10, 11],
    },
    Part {
        anchor: "photographs",
        heading: "Denoising photographs (Section 4.3)",
        topic: Topic::Photographs,
        figures: &[12, 13, 14],
    },
    Part {
        anchor: "sampling",
        heading: "Sampling patterns for MRI (Section 4.4)",
        topic: Topic::Sampling,
        figures: &[15, 16, 17],
    },
    Part {
        anchor: "headline",
        heading: "How much faster",
        topic: Topic::Headline,
        figures: &[],
    },
];

/// The page. The same input makes the same page.
#[must_use]
pub fn html(input: &Input<'_>) -> String {
    let parts: String = PARTS.iter().map(|part| part_html(input, part)).collect();
    let rest = [
        anchored("runs", "Every run", &runs::html(input.results)),
        anchored("about", "How this was made", &about(input)),
    ]
    .concat();
    let title = "Inexact derivative-free optimization for bilevel learning: the paper, reproduced";
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title}</title>\n<style>\n{STYLE}{MORE_STYLE}</style>\n</head>\n<body>\n<main>\n\
         <h1>{title}</h1>\n{}{}{parts}{rest}</main>\n</body>\n</html>\n",
        introduction(input),
        contents(input)
    )
}

/// A section that links can lead to.
fn anchored(anchor: &str, heading: &str, body: &str) -> String {
    match body {
        "" => String::new(),
        body => format!("<div id=\"{anchor}\">\n{}</div>\n", section(heading, body)),
    }
}

/// One sentence, then the verdict.
fn introduction(input: &Input<'_>) -> String {
    let Input {
        results, claims, ..
    } = input;
    let scale = match results.size {
        Size::Quick => "with reduced budgets for all but one parameter",
        Size::Plain => "at the scale of the paper, without the slowest runs on photographs",
        Size::Full => "at the scale of the paper",
    };
    let wrong = failed(claims);
    let class = if wrong.is_empty() { "good" } else { "warning" };
    let links: Vec<String> = wrong.iter().map(|claim| statements::link(claim)).collect();
    let wrong = match links.as_slice() {
        [] => String::new(),
        links => format!(" Not as it should be: {}.", links.join(", ")),
    };
    format!(
        "<p>Every figure of the paper by M. J. Ehrhardt and L. Roberts, drawn from {} made for this page {scale}, next to the \
         authors' archived runs, and for every claim whether it holds.</p>\n\
         <p class=\"verdict {class}\"><strong>{}</strong>{wrong}</p>\n",
        counted(
            u64::try_from(results.records.len()).unwrap_or(u64::MAX),
            "run",
            "runs"
        ),
        statements::verdict(claims)
    )
}

/// Links to all sections, with how many of their claims hold.
fn contents(input: &Input<'_>) -> String {
    let mut items = String::new();
    for part in &PARTS {
        let claims: Vec<&Claim> = (input.claims.iter())
            .filter(|claim| claim.topic == part.topic)
            .collect();
        let checked = claims.iter().filter(|claim| claim.holds.is_some()).count();
        let hold = claims
            .iter()
            .filter(|claim| claim.holds == Some(true))
            .count();
        let (anchor, heading) = (part.anchor, escaped(part.heading));
        items += &format!(
            "<li><a href=\"#{anchor}\">{heading}</a> <span class=\"soft\">{hold} of {checked} hold</span></li>\n"
        );
    }
    items += "<li><a href=\"#runs\">Every run</a></li>\n<li><a href=\"#about\">How this was made</a></li>\n";
    format!("<nav aria-label=\"contents\"><ol>\n{items}</ol></nav>\n")
}

/// Figures, each with the claims it is the first to show; then the claims without figures.
fn part_html(input: &Input<'_>, part: &Part) -> String {
    let mut claims: Vec<&Claim> = (input.claims.iter())
        .filter(|claim| claim.topic == part.topic)
        .collect();
    let mut body = String::new();
    let mut rest = String::new();
    for number in part.figures {
        let (here, later) = claims
            .into_iter()
            .partition(|claim| claim.figures.contains(number));
        claims = later;
        let here: Vec<&Claim> = here;
        let drawn = input
            .figures
            .iter()
            .filter(|drawn| figure_number(drawn.id) == Some(*number));
        let drawn: String = drawn.map(figure_html).collect();
        body += &drawn;
        body += &statements::html(&here);
    }
    rest += &statements::html(&claims);
    if part.topic == Topic::Headline {
        rest += &factors::html(input.results);
    }
    // what has no figure comes first where it is about everything
    let body = match part.topic {
        Topic::Foundations => rest + &body,
        _ => body + &rest,
    };
    anchored(part.anchor, part.heading, &body)
}

/// The first number in a name: 4 of `fig04-archive`.
fn figure_number(id: &str) -> Option<u32> {
    let digits = id.trim_start_matches(|letter: char| !letter.is_ascii_digit());
    let end = digits.find(|letter: char| !letter.is_ascii_digit());
    digits[..end.unwrap_or(digits.len())].parse().ok()
}

/// The drawing, within the page.
fn figure_html(drawn: &Drawn) -> String {
    let svg = drawn.figure.to_svg();
    let title = escaped(&drawn.title);
    let shown = if svg.len() <= MAX_SVG {
        svg
    } else {
        match drawn.figure.to_png() {
            Ok(png) if png.len() / 3 * 4 < svg.len() => format!(
                "<img src=\"data:image/png;base64,{}\" alt=\"{title}\">",
                base64::text(&png)
            ),
            _ => svg,
        }
    };
    format!(
        "<figure class=\"drawn\" id=\"{}\">\n{shown}\n<figcaption><strong>{}{title}.</strong> {}</figcaption>\n</figure>\n",
        escaped(drawn.id),
        figure_number(drawn.id).map_or_else(String::new, |number| format!("Figure {number}. ")),
        sentence(&drawn.caption)
    )
}

/// Where it comes from, how long it took, and how to do it again.
fn about(input: &Input<'_>) -> String {
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
    let learning: f64 = results
        .records
        .values()
        .map(|run| run.outcome.seconds)
        .sum();
    let rows = [
        (
            "Command",
            format!("<code>{}</code>", escaped(input.command)),
        ),
        ("Size", size_name(results.size).to_owned()),
        ("Signals", escaped(&signals)),
        ("Photographs", escaped(photographs)),
        (
            "Runs",
            format!(
                "{}, {} of learning; the whole command took {}",
                counted(
                    u64::try_from(results.records.len()).unwrap_or(u64::MAX),
                    "run",
                    "runs"
                ),
                duration(learning),
                duration(input.seconds)
            ),
        ),
        (
            "Figures",
            counted(length(input.figures), "figure", "figures"),
        ),
        ("Versions", escaped(input.versions)),
    ];
    let rows: String = rows
        .iter()
        .map(|(name, value)| format!("<dt>{name}</dt><dd>{value}</dd>\n"))
        .collect();
    format!(
        "<dl class=\"about\">\n{rows}</dl>\n\
         <p class=\"soft\">\"Faithful\" runs follow the authors' algorithm and count iterations as they do; \"ours\" is the library \
         with its defaults. The objective is a sum over images, as in the authors' program and figures, not the mean of the text. \
         \"Exact\" objectives are computed again where a run ended. Runs are kept and not repeated: their times may be from earlier.</p>\n"
    )
}
