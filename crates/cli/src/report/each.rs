//! The page of a run that has learned parameters for each picture.

use ::page::number::{counted, length, significant};
use ::page::{folded, name, section, table};
use bilevel::LearnedEntry;
use maud::{Markup, PreEscaped, html};
use plot::{Axis, Figure, Panel, Series};

use super::curves::BLUE;
use super::{ReportImage, images, scores};
use crate::findings::Finding;
use crate::per_picture::LearnedPicture;
use crate::summary::objective;

/// The largest number of parameters that are shown.
const MAX_SHOWN: usize = 6;

/// Returns the page as HTML, with the settings of the run, findings about all pictures, the
/// pictures and their reconstructions.
pub(crate) fn html(
    title: &str,
    settings: &str,
    findings: &[Finding],
    pictures: &[LearnedPicture],
    made: &[ReportImage],
) -> String {
    let body = html! {
        (section("Parameters of each picture", parameters(pictures)))
        @if !findings.is_empty() { (section("Findings", super::meaning(findings))) }
        (section("Before and after", images::some_of("Pictures", made)))
        (section("Scores of all images", scores::table_of(made)))
        (section("Details", folded("Settings", false, &html! { pre { (settings) } })))
    };
    ::page::document(title, "", &body)
}

/// Returns a sentence about all pictures, a figure of each parameter, and the table.
fn parameters(pictures: &[LearnedPicture]) -> Markup {
    let is_open = |one: &&LearnedPicture| !one.learned.termination.is_success();
    let num_open = pictures.iter().filter(is_open).count();
    let entries: Vec<Vec<LearnedEntry<'_>>> = (pictures.iter())
        .map(|one| one.learned.entries().take(MAX_SHOWN).collect())
        .collect();
    let names: Vec<String> = (entries.first().into_iter().flatten())
        .map(LearnedEntry::name)
        .collect();
    let head = ["picture"]
        .into_iter()
        .chain(names.iter().map(|name| &name[..]));
    let head: Vec<&str> = head.chain(["objective", "points", "ending"]).collect();
    let row = |(one, entries): (&LearnedPicture, &Vec<LearnedEntry<'_>>)| -> Vec<Markup> {
        let learned = &one.learned;
        let values = entries
            .iter()
            .map(|entry| html! { (significant(entry.value, 4)) });
        let rest = [
            html! { (objective(learned.objective, learned.interval)) },
            html! { (learned.num_points) },
            html! { @if learned.termination.is_success() { "converged" } @else { "not converged" } },
        ];
        [name(&one.name)]
            .into_iter()
            .chain(values)
            .chain(rest)
            .collect()
    };
    let rows: Vec<Vec<Markup>> = pictures.iter().zip(&entries).map(row).collect();
    let is_cut = pictures
        .first()
        .is_some_and(|one| one.learned.entries().count() > MAX_SHOWN);
    html! {
        p {
            "Each of " (counted(length(pictures), "picture", "pictures"))
            " has parameters of its own, learned from this picture alone. "
            @if num_open == 0 { "All runs converged." }
            @else { (num_open) " of the runs did not converge: their parameters may be poor." }
            @if is_cut { " Only the first " (MAX_SHOWN) " parameters are shown." }
        }
        .curves {
            @for (index, name) in names.iter().enumerate() {
                figure {
                    (PreEscaped(figure(name, index, &entries).to_svg()))
                    figcaption { (name) " of each picture, in the order of the table" }
                }
            }
        }
        (table("scores", &head, &rows, &[]))
    }
}

/// Returns the figure of a parameter: its values over the numbers of pictures.
fn figure(name: &str, index: usize, entries: &[Vec<LearnedEntry<'_>>]) -> Figure {
    let values = (1_u32..)
        .zip(entries)
        .filter_map(|(picture, entries)| Some([f64::from(picture), entries.get(index)?.value]));
    let points: Vec<[f64; 2]> = values.collect();
    let ends = [f64::INFINITY, f64::NEG_INFINITY];
    let [least, most] = (points.iter()).fold(ends, |[least, most], [_, value]| {
        [least.min(*value), most.max(*value)]
    });
    let y = match least > 0.0 {
        true => Axis::log(name).range(0.7 * least, 1.4 * most),
        false => Axis::linear(name),
    };
    let x = Axis::linear("picture").range(0.5, points.len() as f64 + 0.5);
    Figure::new(1).with(Panel::new(x, y).with(Series::dots(points).colour(BLUE).width(5.0)))
}
