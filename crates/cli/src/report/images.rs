//! Some images before and after: the best, the median, the worst, and the first ones.

use ::page::name;
use ::page::number::{length, whole};
use maud::{Markup, html};

use super::scores::psnr;
use super::{ReportImage, ReportInput, picture, signal};

/// Largest number of training images shown, and of held-out images.
const MAX_SHOWN: usize = 6;

/// Training images, then held-out images.
pub(super) fn html(input: &ReportInput<'_>) -> Markup {
    html! {
        (of("Training images", input.training))
        (of("Held-out images", input.validation))
    }
}

/// Some of these images, under a heading.
fn of(heading: &str, examples: &[ReportImage]) -> Markup {
    let chosen = choose(examples);
    let (signals, pictures): (Vec<_>, Vec<_>) =
        (chosen.iter()).partition(|chosen| chosen.example.grid.num_axes() == 1);
    html! {
        @if !chosen.is_empty() {
            h3 { (heading) }
            @if chosen.len() < examples.len() {
                p.soft {
                    (chosen.len()) " of " (whole(length(examples)))
                    ": the best, the median and the worst by PSNR, and the first ones."
                }
            }
            @if !signals.is_empty() {
                .curves { @for chosen in signals { (signal::html(chosen.example, &caption(chosen))) } }
            }
            @for chosen in pictures { (picture::html(chosen.example, &caption(chosen))) }
        }
    }
}

/// An example that is shown, and why.
struct Chosen<'a> {
    example: &'a ReportImage,
    rank: Option<&'static str>,
}

/// The name of the image, and why it is shown.
fn caption(chosen: &Chosen<'_>) -> Markup {
    html! {
        (name(&chosen.example.name))
        @if let Some(rank) = chosen.rank { " " span.badge { (rank) } }
    }
}

/// In their order. Those without reconstruction are left out.
fn choose(examples: &[ReportImage]) -> Vec<Chosen<'_>> {
    let mut ranked: Vec<(usize, f64)> = (examples.iter().enumerate())
        .filter(|(_, example)| is_whole(example))
        .filter_map(|(index, example)| Some((index, psnr(example.score.after)?)))
        .collect();
    let first: Vec<usize> = ranked.iter().map(|(index, _)| *index).collect();
    // the sort is stable: of equal ones, the earlier comes first
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
    let mut places: Vec<(usize, Option<&'static str>)> = Vec::new();
    if let [(best, _), .., (worst, _)] = ranked[..] {
        places.push((best, Some("best")));
        places.push((worst, Some("worst")));
        if ranked.len() > 2 {
            places.push((ranked[ranked.len() / 2].0, Some("median")));
        }
    }
    for index in first {
        let is_new = places.iter().all(|(known, _)| *known != index);
        if is_new && places.len() < MAX_SHOWN {
            places.push((index, None));
        }
    }
    places.sort_by_key(|(index, _)| *index);
    (places.into_iter())
        .map(|(index, rank)| Chosen {
            example: &examples[index],
            rank,
        })
        .collect()
}

/// Whether there is something to show.
fn is_whole(example: &ReportImage) -> bool {
    let len = example.grid.len();
    len > 0 && example.truth.len() == len && example.reconstruction.len() == len
}
