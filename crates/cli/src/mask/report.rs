//! The page of a run that learns a mask.

use ::page::number::{between, counted, decibel, significant};
use ::page::{folded, mark, png_url, section, sentence, table};
use bilevel::{ComparedMask, MaskOutcome, MaskScore, MaskStudy, Pattern};
use maud::{Markup, html};

use super::mask_png;
use crate::error::CliError;
use crate::picture::{Depth, encode_png};

/// The largest number of slices whose pictures are shown.
const MAX_SLICES: usize = 3;
/// Factor by which errors are brightened.
const BRIGHTER: f64 = 5.0;
/// The style of pictures that are smaller than their frame.
const STYLE: &str = "figure.mask { display: inline-block; margin: 0 .75rem .75rem 0; \
    vertical-align: top; } figure.mask img { width: 11rem; image-rendering: pixelated; \
    border: 1px solid var(--line); } figure.mask figcaption { max-width: 11rem; \
    font-size: .8125rem; color: var(--soft); }";

/// Returns the page as HTML.
pub(super) fn html(
    title: &str,
    settings: &str,
    study: &mut MaskStudy,
    outcome: &MaskOutcome,
) -> Result<String, CliError> {
    let body = html! {
        (headline(outcome))
        (section("Findings", findings(outcome)))
        (section("Comparison with other masks", comparison(outcome)))
        (section("Masks", masks(outcome)))
        (section("Reconstructions", pictures(study, outcome)?))
        (section("Details", html! {
            (folded("Settings", false, &html! { pre { (settings) } }))
        }))
    };
    Ok(::page::document(title, STYLE, &body))
}

fn headline(outcome: &MaskOutcome) -> Markup {
    let name = outcome.spec.pattern.name();
    let all = outcome.mask().set.len();
    let [lower, upper] = between(outcome.objective[0], outcome.objective[1]);
    html! {
        dl.cards {
            div {
                dt { "mask" }
                dd.big { (outcome.elements.len()) " of " (all) " " (name) }
            }
            div {
                dt { "regulariser" }
                dd.big {
                    @match outcome.spec.filters {
                        None => "total variation",
                        Some(set) => { "filters " (set) }
                    }
                }
            }
            div { dt { "alpha" } dd.big { (significant(outcome.alpha, 3)) } }
            div { dt { "nu" } dd.big { (significant(outcome.nu, 3)) } }
            div {
                dt { "objective, certainly between" }
                dd.big { (lower) " and " (upper) }
            }
            @if let Some(learned) = outcome.comparison.first() {
                div {
                    dt { "PSNR inside the object" }
                    dd.big { (decibel(MaskScore::mean(&learned.scores).psnr_inside)) }
                }
            }
            div {
                dt { "masks tried" }
                dd.big { (outcome.evaluations) ", " (outcome.accepted) " exchanges" }
            }
        }
    }
}

fn findings(outcome: &MaskOutcome) -> Markup {
    html! {
        ul.findings {
            @for finding in outcome.findings() {
                li.note { (mark("i", "note")) span { (sentence(&finding)) } }
            }
        }
    }
}

/// Returns the number of slices that scores belong to, in words.
fn slices(outcome: &MaskOutcome) -> String {
    match outcome.held_out.len() {
        0 => counted(
            outcome.training.len() as u64,
            "training slice",
            "training slices",
        ),
        count => counted(count as u64, "held-out slice", "held-out slices"),
    }
}

fn comparison(outcome: &MaskOutcome) -> Markup {
    let optional = |ssim: Option<f64>| ssim.map_or_else(String::new, |ssim| format!("{ssim:.3}"));
    let row = |compared: &ComparedMask| {
        let mean = MaskScore::mean(&compared.scores);
        vec![
            html! { (compared.name) },
            html! { (format!("{:.2}", mean.psnr_inside)) },
            html! { (optional(mean.ssim_inside)) },
            html! { (format!("{:.2}", mean.psnr)) },
            html! { (optional(mean.ssim)) },
            html! { (significant(compared.alpha, 3)) },
        ]
    };
    let rows: Vec<_> = outcome.comparison.iter().map(row).collect();
    let head = [
        "mask",
        "PSNR inside",
        "SSIM inside",
        "PSNR",
        "SSIM",
        "alpha",
    ];
    let tuned = match outcome.spec.nu {
        None => "alpha and nu were",
        Some(_) => "alpha was",
    };
    html! {
        (table("scores", &head, &rows, &[]))
        p.soft {
            "Means over " (slices(outcome)) ", of moduli, with the brightest pixel of each truth as "
            "peak. For each mask, " (tuned) " tuned on the training slices, and so was the exponent "
            "of variable densities. Pixels inside the object are those near which the truth is not "
            "dark; in the dark background, low-pass masks look better than they are."
        }
    }
}

fn masks(outcome: &MaskOutcome) -> Markup {
    let pattern = outcome.spec.pattern;
    html! {
        @for compared in &outcome.comparison {
            figure.mask {
                img src=(png_url(&mask_png(pattern, outcome.shape, &compared.set)))
                    alt=(format!("mask: {}", compared.name));
                figcaption {
                    (compared.name)
                    @if compared.num_masks > 1 { " (the first of them)" }
                }
            }
        }
        p.soft {
            "Measured frequencies are white, and frequency zero is in the middle. "
            @if pattern == Pattern::Lines { "Each line is a column." }
        }
    }
}

/// Returns the truths of some slices with their reconstructions and errors for all masks.
fn pictures(study: &mut MaskStudy, outcome: &MaskOutcome) -> Result<Markup, CliError> {
    let [rows, cols] = outcome.shape;
    let numbers = match outcome.held_out.is_empty() {
        true => &outcome.training,
        false => &outcome.held_out,
    };
    let shown = numbers.len().min(MAX_SLICES);
    let mut made = Vec::new();
    // a mean over several masks has no picture
    let single = (outcome.comparison.iter()).filter(|compared| compared.num_masks == 1);
    for compared in single {
        made.push((compared, study.reconstructions(compared)?));
    }
    let moduli = |picture: &[f64]| -> Vec<f64> {
        let (samples, _) = picture.as_chunks::<2>();
        let moduli: Vec<f64> = samples.iter().map(|s| s[0].hypot(s[1])).collect();
        outcome.frequency_zero.from_first(outcome.shape, 1, &moduli)
    };
    let figure = |levels: &[f64], peak: f64, caption: &str| {
        let levels: Vec<f64> = levels.iter().map(|level| level / peak).collect();
        let png = encode_png(cols, rows, &[&levels], Depth::Eight);
        html! {
            figure.mask { img src=(png_url(&png)) alt=(caption); figcaption { (caption) } }
        }
    };
    let slice = |number: usize| {
        // the middle ones of the stack come first
        let at = (2 * number + 1) * numbers.len() / (2 * shown);
        let Some(truth) = made.first().map(|(_, pairs)| moduli(&pairs[at][0])) else {
            return html! {};
        };
        let peak = truth.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        html! {
            h3 { "Slice " (numbers[at]) }
            div {
                (figure(&truth, peak, "truth"))
                @for (compared, pairs) in &made {
                    @let score = compared.scores[at];
                    @let caption = format!("{}: {:.2} dB inside", compared.name, score.psnr_inside);
                    (figure(&moduli(&pairs[at][1]), peak, &caption))
                }
            }
            div {
                @for (compared, pairs) in &made {
                    @let x = moduli(&pairs[at][1]);
                    @let error = x.iter().zip(&truth).map(|(x, t)| BRIGHTER * (x - t).abs());
                    (figure(&error.collect::<Vec<f64>>(), peak,
                        &format!("error × {BRIGHTER}: {}", compared.name)))
                }
            }
        }
    };
    Ok(html! { @for number in 0..shown { (slice(number)) } })
}
