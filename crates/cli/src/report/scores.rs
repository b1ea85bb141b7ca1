//! Tables of the quality of all reconstructions.

use ::page::number::{between, decibel, length, number, whole};
use ::page::{folded, name, table};
use bilevel::Quality;
use maud::{Markup, html};

use super::headline::signed_decibel;
use super::{ReportImage, ReportInput};
use crate::findings::Mean;

/// Largest number of images whose table is not folded.
const MAX_UNFOLDED: usize = 30;

/// Returns a table of training images and one of held-out images.
pub(super) fn html(input: &ReportInput<'_>) -> Markup {
    let both = [
        ("Training images", input.training),
        ("Held-out images", input.validation),
    ];
    html! {
        @for (what, images) in both {
            @if !images.is_empty() {
                (folded(
                    &format!("{what} ({})", whole(length(images))),
                    images.len() <= MAX_UNFOLDED,
                    &table_of(images),
                ))
            }
        }
    }
}

/// Returns the table of some images, without empty columns.
pub(super) fn table_of(images: &[ReportImage]) -> Markup {
    let mut columns = COLUMNS.to_vec();
    columns.retain(|column| images.iter().any(|e| (column.value)(e).is_some()));
    let mut head = vec!["image"];
    head.extend(columns.iter().map(|column| column.head));
    let row = |image: &ReportImage| {
        let cell = |column: &Column| html! { (text((column.value)(image), column.written)) };
        let cells = columns.iter().map(cell);
        [name(&image.name)].into_iter().chain(cells).collect()
    };
    let rows: Vec<Vec<Markup>> = images.iter().map(row).collect();
    let mean = |column: &Column| {
        let mut values: Vec<f64> = images.iter().filter_map(column.value).collect();
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
    /// The heading.
    head: &'static str,
    /// Returns the number of an image, if it is known.
    value: fn(&ReportImage) -> Option<f64>,
    /// Writes the number.
    written: fn(f64) -> String,
    /// Whether the last row shows the mean of the finite numbers.
    has_mean: bool,
}

/// The columns from left to right.
const COLUMNS: [Column; 8] = [
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
        head: "noise",
        value: |e| Some(e.score.estimate?.sigma),
        written: number,
        has_mean: true,
    },
    Column {
        head: "estimated PSNR",
        value: |e| e.score.estimate?.psnr(),
        written: psnr_text,
        has_mean: true,
    },
    Column {
        head: "certified error",
        value: |e| Some(e.error).filter(|error| error.is_finite()),
        written: bound_text,
        has_mean: false,
    },
];

/// Writes a number, or a dash if it is not known.
fn text(value: Option<f64>, written: fn(f64) -> String) -> String {
    value.map_or_else(|| "–".to_owned(), written)
}

/// Writes an upper bound, rounded up.
fn bound_text(bound: f64) -> String {
    let [_, text] = between(0.0, bound);
    text
}

/// Returns the PSNR of an image, infinite if the image is exact.
pub(super) fn psnr(quality: Option<Quality>) -> Option<f64> {
    quality.map(|quality| quality.psnr.unwrap_or(f64::INFINITY))
}

/// Writes the PSNR of an image, or a dash if there is no image.
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
