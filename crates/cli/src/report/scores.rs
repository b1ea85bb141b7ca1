//! The quality of every reconstruction.

use ::page::number::{decibel, length, number, whole};
use ::page::{folded, name, table};
use bilevel::Quality;
use maud::{Markup, html};

use super::headline::signed_decibel;
use super::{ReportImage, ReportInput};
use crate::findings::Mean;

/// A longer table is folded.
const MAX_UNFOLDED: usize = 30;

/// A table of training images and one of held-out images.
pub(super) fn html(input: &ReportInput<'_>) -> Markup {
    let both = [
        ("Training images", input.training),
        ("Held-out images", input.validation),
    ];
    html! {
        @for (what, examples) in both {
            @if !examples.is_empty() {
                (folded(
                    &format!("{what} ({})", whole(length(examples))),
                    examples.len() <= MAX_UNFOLDED,
                    &of(examples),
                ))
            }
        }
    }
}

/// The table, without columns that are empty.
fn of(examples: &[ReportImage]) -> Markup {
    let mut columns = COLUMNS.to_vec();
    columns.retain(|column| examples.iter().any(|e| (column.value)(e).is_some()));
    let mut head = vec!["image"];
    head.extend(columns.iter().map(|column| column.head));
    let row = |example: &ReportImage| {
        let cell = |column: &Column| html! { (text((column.value)(example), column.written)) };
        let cells = columns.iter().map(cell);
        [name(&example.name)].into_iter().chain(cells).collect()
    };
    let rows: Vec<Vec<Markup>> = examples.iter().map(row).collect();
    let mean = |column: &Column| {
        let mut values: Vec<f64> = examples.iter().filter_map(column.value).collect();
        values.retain(|value| column.has_mean && value.is_finite());
        html! { @if let Some(mean) = Mean::of(&values) { ((column.written)(mean.value)) } }
    };
    let mut means = vec![html! { "mean" }];
    means.extend(columns.iter().map(mean));
    table("scores", &head, &rows, &[means])
}

/// A column of the table.
#[derive(Clone)]
struct Column {
    head: &'static str,
    /// The number of an image, if it is known.
    value: fn(&ReportImage) -> Option<f64>,
    /// The number as text.
    written: fn(f64) -> String,
    /// Whether the last row has the mean of finite numbers.
    has_mean: bool,
}

/// The columns from left to right.
const COLUMNS: [Column; 6] = [
    Column {
        head: "PSNR of the data",
        value: |e| psnr(e.score.before),
        written: psnr_text,
        has_mean: true,
    },
    Column {
        head: "PSNR",
        value: |e| psnr(e.score.after),
        written: psnr_text,
        has_mean: true,
    },
    Column {
        head: "gain",
        value: |e| Some(e.score.after?.psnr? - e.score.before?.psnr?),
        written: signed_decibel,
        has_mean: true,
    },
    Column {
        head: "SSIM of the data",
        value: |e| e.score.before?.ssim,
        written: ssim_text,
        has_mean: true,
    },
    Column {
        head: "SSIM",
        value: |e| e.score.after?.ssim,
        written: ssim_text,
        has_mean: true,
    },
    Column {
        head: "certified error",
        value: |e| Some(e.error).filter(|error| error.is_finite()),
        written: number,
        has_mean: false,
    },
];

/// A number as text, or a dash if it is not known.
fn text(value: Option<f64>, written: fn(f64) -> String) -> String {
    value.map_or_else(|| "–".to_owned(), written)
}

/// The peak signal-to-noise ratio of an image, infinite if the image is exact.
pub(super) fn psnr(quality: Option<Quality>) -> Option<f64> {
    quality.map(|quality| quality.psnr.unwrap_or(f64::INFINITY))
}

/// The peak signal-to-noise ratio as text, or a dash if there is no image.
pub(super) fn psnr_cell(quality: Option<Quality>) -> String {
    text(psnr(quality), psnr_text)
}

fn psnr_text(psnr: f64) -> String {
    match psnr.is_finite() {
        true => decibel(psnr),
        false => "exact".to_owned(),
    }
}

fn ssim_text(ssim: f64) -> String {
    format!("{ssim:.3}")
}
