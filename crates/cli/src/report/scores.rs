//! How well every image is reconstructed.

use bilevel::Quality;

use super::markup::{folded, name, table};
use super::number::{decibel, length, number, whole};
use super::{Example, Input};
use crate::findings::Mean;

/// A longer table is folded.
const MAX_UNFOLDED: usize = 30;

/// A table for training images and one for those held out.
pub(super) fn html(input: &Input<'_>) -> String {
    let both = [
        ("Training images", input.training),
        ("Held-out images", input.validation),
    ];
    (both.into_iter())
        .filter(|(_, examples)| !examples.is_empty())
        .map(|(what, examples)| {
            let summary = format!("{what} ({})", whole(length(examples)));
            folded(&summary, examples.len() <= MAX_UNFOLDED, &of(examples))
        })
        .collect()
}

/// The table, without columns in which there is nothing.
fn of(examples: &[Example]) -> String {
    let has_data = examples.iter().any(|e| e.score.before.is_some());
    let has_ssim = examples.iter().any(|e| ssim(e.score.after).is_some());
    let columns: Vec<Column> = COLUMNS
        .into_iter()
        .filter(|column| (has_data || !column.needs_data) && (has_ssim || !column.needs_ssim))
        .collect();
    let rows: Vec<Vec<String>> = (examples.iter())
        .map(|example| {
            let cells = columns.iter().map(|column| (column.cell)(example));
            [name(&example.name)].into_iter().chain(cells).collect()
        })
        .collect();
    let mean = |column: &Column| {
        let values: Vec<f64> = examples.iter().filter_map(column.value).collect();
        Mean::of(&values).map_or_else(String::new, |mean| (column.written)(mean.value))
    };
    let means = ["mean".to_owned()]
        .into_iter()
        .chain(columns.iter().map(mean))
        .collect();
    let head: Vec<&str> = ["image"]
        .into_iter()
        .chain(columns.iter().map(|column| column.head))
        .collect();
    table("scores", &head, &rows, &[means])
}

/// What is said of every image, and its mean.
struct Column {
    head: &'static str,
    needs_data: bool,
    needs_ssim: bool,
    value: fn(&Example) -> Option<f64>,
    written: fn(f64) -> String,
    cell: fn(&Example) -> String,
}

/// From left to right.
const COLUMNS: [Column; 6] = [
    Column {
        head: "PSNR of the data",
        needs_data: true,
        needs_ssim: false,
        value: |e| e.score.before?.psnr,
        written: decibel,
        cell: |e| psnr_cell(e.score.before),
    },
    Column {
        head: "PSNR",
        needs_data: false,
        needs_ssim: false,
        value: |e| e.score.after?.psnr,
        written: decibel,
        cell: |e| psnr_cell(e.score.after),
    },
    Column {
        head: "gain",
        needs_data: true,
        needs_ssim: false,
        value: gain,
        written: gain_written,
        cell: |e| gain(e).map_or_else(nothing, gain_written),
    },
    Column {
        head: "SSIM of the data",
        needs_data: true,
        needs_ssim: true,
        value: |e| ssim(e.score.before),
        written: ssim_written,
        cell: |e| ssim(e.score.before).map_or_else(nothing, ssim_written),
    },
    Column {
        head: "SSIM",
        needs_data: false,
        needs_ssim: true,
        value: |e| ssim(e.score.after),
        written: ssim_written,
        cell: |e| ssim(e.score.after).map_or_else(nothing, ssim_written),
    },
    Column {
        head: "certified error",
        needs_data: false,
        needs_ssim: false,
        value: |_| None,
        written: number,
        cell: |e| match e.error.is_finite() {
            true => number(e.error),
            false => nothing(),
        },
    },
];

/// Where there is no number.
fn nothing() -> String {
    "–".to_owned()
}

/// By how much the reconstruction is better than the data.
fn gain(example: &Example) -> Option<f64> {
    Some(example.score.after?.psnr? - example.score.before?.psnr?)
}

/// With its sign.
fn gain_written(gain: f64) -> String {
    let sign = if gain >= 0.0 { "+" } else { "" };
    format!("{sign}{}", decibel(gain))
}

/// Structural similarity, where it is known.
fn ssim(quality: Option<Quality>) -> Option<f64> {
    quality?.ssim
}

/// With three decimals.
fn ssim_written(ssim: f64) -> String {
    format!("{ssim:.3}")
}

/// The peak signal-to-noise ratio of an image that may be missing or exact.
pub(super) fn psnr_cell(quality: Option<Quality>) -> String {
    quality.map_or_else(nothing, |quality| {
        quality.psnr.map_or_else(|| "exact".to_owned(), decibel)
    })
}
