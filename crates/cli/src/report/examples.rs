//! Some images before and after: the best, the median, the worst, and the first ones.

use super::markup::name;
use super::number::{length, whole};
use super::{Example, Input, picture, signal};

/// At most so many of each kind.
const MAX_SHOWN: usize = 6;

/// Training images, then those held out.
pub(super) fn html(input: &Input<'_>) -> String {
    let both = [
        ("Training images", input.training),
        ("Held-out images", input.validation),
    ];
    both.map(|(what, examples)| of(what, examples)).concat()
}

/// Some of these images, under a heading.
fn of(what: &str, examples: &[Example]) -> String {
    let chosen = choose(examples);
    if chosen.is_empty() {
        return String::new();
    }
    let (signals, pictures): (Vec<_>, Vec<_>) =
        (chosen.iter()).partition(|chosen| chosen.example.grid.num_axes() == 1);
    let mut body = String::new();
    if !signals.is_empty() {
        let figures: String = (signals.iter())
            .map(|chosen| signal::html(chosen.example, &caption(chosen)))
            .collect();
        body.push_str(&format!("<div class=\"curves\">\n{figures}</div>\n"));
    }
    for chosen in pictures {
        body.push_str(&picture::html(chosen.example, &caption(chosen)));
    }
    let of_all = if chosen.len() < examples.len() {
        format!(
            "<p class=\"soft\">{} of {}: the best, the median and the worst by PSNR, and the first ones.</p>\n",
            chosen.len(),
            whole(length(examples))
        )
    } else {
        String::new()
    };
    format!("<h3>{what}</h3>\n{of_all}{body}")
}

/// An example that is shown, and why.
struct Chosen<'a> {
    example: &'a Example,
    rank: Option<&'static str>,
}

/// The name, and why it is shown.
fn caption(chosen: &Chosen<'_>) -> String {
    let badge = chosen.rank.map_or_else(String::new, |rank| {
        format!(" <span class=\"badge\">{rank}</span>")
    });
    format!("{}{badge}", name(&chosen.example.name))
}

/// In their order. Those without reconstruction are left out.
fn choose(examples: &[Example]) -> Vec<Chosen<'_>> {
    let mut ranked: Vec<(usize, f64)> = (examples.iter().enumerate())
        .filter(|(_, example)| is_whole(example))
        .filter_map(|(index, example)| {
            let quality = example.score.after?;
            Some((index, quality.psnr.unwrap_or(f64::INFINITY)))
        })
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
fn is_whole(example: &Example) -> bool {
    let len = example.grid.len();
    len > 0 && example.truth.len() == len && example.reconstruction.len() == len
}
