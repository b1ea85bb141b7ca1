//! Some images before and after reconstruction: the best, the median, the worst, and the first
//! ones.

use ::page::name;
use ::page::number::{length, whole};
use maud::{Markup, html};

use super::scores::psnr;
use super::{ReportImage, ReportInput, picture, signal};

/// Largest number of training images shown, and largest number of held-out images shown.
const MAX_SHOWN: usize = 6;

/// Returns training images, then held-out images.
pub(super) fn html(input: &ReportInput<'_>) -> Markup {
    html! {
        (some_of("Training images", input.training))
        (some_of("Held-out images", input.validation))
    }
}

/// Returns some of these images under a heading.
pub(super) fn some_of(heading: &str, images: &[ReportImage]) -> Markup {
    let chosen = choose(images);
    let (signals, pictures): (Vec<_>, Vec<_>) =
        (chosen.iter()).partition(|chosen| chosen.image.grid.num_axes() == 1);
    html! {
        @if !chosen.is_empty() {
            h3 { (heading) }
            @if chosen.len() < images.len() {
                p.soft {
                    (chosen.len()) " of " (whole(length(images)))
                    ": those with the best, the median and the worst PSNR, and the first ones."
                }
            }
            @if !signals.is_empty() {
                .curves {
                    @for chosen in signals { (signal::html(chosen.image, &caption(chosen))) }
                }
            }
            @for chosen in pictures { (picture::html(chosen.image, &caption(chosen))) }
        }
    }
}

/// An image that is shown.
struct Chosen<'a> {
    image: &'a ReportImage,
    /// The reason to show it, if it is not one of the first images.
    rank: Option<&'static str>,
}

/// Returns the name of the image and the reason to show it.
fn caption(chosen: &Chosen<'_>) -> Markup {
    html! {
        (name(&chosen.image.name))
        @if let Some(rank) = chosen.rank { " " span.badge { (rank) } }
    }
}

/// Chooses images, and keeps their order. Images without reconstruction are left out.
fn choose(images: &[ReportImage]) -> Vec<Chosen<'_>> {
    (choose_by_score(images).into_iter())
        .map(|(index, rank)| Chosen {
            image: &images[index],
            rank,
        })
        .filter(|chosen| is_whole(chosen.image))
        .collect()
}

/// Returns the indices of the images that the page shows, in increasing order, and the reasons to
/// show them. Only the scores matter.
pub(super) fn choose_by_score(images: &[ReportImage]) -> Vec<(usize, Option<&'static str>)> {
    let mut ranked: Vec<(usize, f64)> = (images.iter().enumerate())
        .filter_map(|(index, image)| Some((index, psnr(image.score.after).or(estimated(image))?)))
        .collect();
    let first: Vec<usize> = ranked.iter().map(|(index, _)| *index).collect();
    // the sort is stable: of equal images the earlier comes first
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
    let mut chosen: Vec<(usize, Option<&'static str>)> = Vec::new();
    if let [(best, _), .., (worst, _)] = ranked[..] {
        chosen.push((best, Some("best")));
        chosen.push((worst, Some("worst")));
        if ranked.len() > 2 {
            chosen.push((ranked[ranked.len() / 2].0, Some("median")));
        }
    }
    for index in first {
        let is_new = chosen.iter().all(|(known, _)| *known != index);
        if is_new && chosen.len() < MAX_SHOWN {
            chosen.push((index, None));
        }
    }
    chosen.sort_by_key(|(index, _)| *index);
    chosen
}

/// Returns the estimated PSNR of an image that was learned from without truth.
fn estimated(image: &ReportImage) -> Option<f64> {
    let estimate = image.score.estimate?;
    Some(estimate.psnr().unwrap_or(f64::INFINITY))
}

/// Whether the reconstruction and the truth, if there is one, are complete.
fn is_whole(image: &ReportImage) -> bool {
    let len = image.grid.len();
    let has_truth = image.truth.len() == len;
    len > 0 && (has_truth || image.truth.is_empty()) && image.reconstruction.len() == len
}
