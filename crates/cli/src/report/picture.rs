//! One picture: data, reconstruction, truth and error side by side.

use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::{ExtendedColorType, ImageEncoder as _};
use imaging::{Field, Grid};
use plot::base64;

use super::Example;
use super::markup::escaped;
use super::number::number;
use super::scores::psnr_cell;
use crate::picture::Picture;

/// Of a larger picture the middle is shown: reduced, it would have less noise than there is.
const MAX_SIDE: usize = 256;
/// A picture with shorter sides is shown with visible pixels.
const SMALL: usize = 200;
/// Errors are small: they are shown this many times as bright.
const BRIGHTER: f64 = 5.0;

/// The row of pictures, with a caption in HTML.
pub(super) fn html(example: &Example, caption: &str) -> String {
    let grid = example.grid;
    let window = Window::of(&example.truth, grid);
    let [truth, x] = [&example.truth, &example.reconstruction].map(|v| window.levels(v, grid));
    let error = (x.iter().zip(&truth))
        .map(|(x, truth)| BRIGHTER * (x - truth).abs())
        .collect();
    let data = (example.data.as_ref()).filter(|data| data.len() == grid.len());
    let mut figures = String::new();
    if let Some(data) = data {
        let quality = psnr_cell(example.score.before);
        let levels = window.levels(data, grid);
        figures.push_str(&figure(example, levels, Grey::Data, &quality));
    }
    let quality = psnr_cell(example.score.after);
    figures.push_str(&figure(example, x, Grey::Reconstruction, &quality));
    figures.push_str(&figure(example, truth, Grey::Truth, ""));
    figures.push_str(&figure(example, error, Grey::Error, ""));
    let class = if data.is_some() { "row" } else { "row three" };
    let (rows, cols) = grid.rows_and_cols();
    let cut = if rows > MAX_SIDE || cols > MAX_SIDE {
        let (width, height) = (cols.min(MAX_SIDE), rows.min(MAX_SIDE));
        format!("<p class=\"soft\">The middle {width} × {height} of {cols} × {rows} pixels.</p>\n")
    } else {
        String::new()
    };
    let ends = window.html();
    format!(
        "<figure class=\"example\">\n<figcaption>{caption}</figcaption>\n<div class=\"{class}\">\n{figures}</div>\n{cut}{ends}</figure>\n"
    )
}

/// What is shown.
#[derive(Clone, Copy, Debug)]
enum Grey {
    Data,
    Reconstruction,
    Truth,
    Error,
}

impl Grey {
    /// In words.
    const fn name(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Reconstruction => "reconstruction",
            Self::Truth => "truth",
            Self::Error => "error × 5",
        }
    }

    /// The largest grey level. Noise needs few, and does not compress with more.
    const fn white(self) -> f64 {
        match self {
            Self::Data => 63.0,
            Self::Reconstruction | Self::Truth => 255.0,
            Self::Error => 31.0,
        }
    }

    /// Neighbours say nothing about noise.
    const fn filter(self) -> FilterType {
        match self {
            Self::Data | Self::Error => FilterType::NoFilter,
            Self::Reconstruction | Self::Truth => FilterType::Adaptive,
        }
    }
}

/// One picture of the row.
fn figure(example: &Example, levels: Vec<f64>, grey: Grey, quality: &str) -> String {
    let (height, width) = example.grid.rows_and_cols();
    let picture = Picture {
        width,
        height,
        channels: vec![levels],
    };
    let picture = picture.crop_centre(MAX_SIDE);
    let (width, height) = (picture.width, picture.height);
    let class = match width.max(height) < SMALL {
        true => " class=\"small\"",
        false => "",
    };
    let what = grey.name();
    let quality = match quality {
        "" => String::new(),
        quality => format!(" <span>{quality}</span>"),
    };
    format!(
        "<figure><img{class} width=\"{width}\" height=\"{height}\" alt=\"{what}: {}\" src=\"data:image/png;base64,{}\">\
         <figcaption>{what}{quality}</figcaption></figure>\n",
        escaped(&example.name),
        base64::text(&png(&picture, grey))
    )
}

/// As small as a PNG file can be: there are many on the page.
fn png(picture: &Picture, grey: Grey) -> Vec<u8> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped to the range before; NaN becomes zero"
    )]
    let sample = |level: &f64| {
        let steps = (level.clamp(0.0, 1.0) * grey.white()).round();
        (steps / grey.white() * 255.0).round() as u8
    };
    let samples: Vec<u8> = picture.channels.iter().flatten().map(sample).collect();
    let side = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
    let (width, height) = (side(picture.width), side(picture.height));
    let mut bytes = Vec::new();
    PngEncoder::new_with_quality(&mut bytes, CompressionType::Best, grey.filter())
        .write_image(&samples, width, height, ExtendedColorType::L8)
        .expect("a picture that is not empty, written to memory");
    bytes
}

/// Which values are black and white.
struct Window {
    black: f64,
    white: f64,
}

impl Window {
    /// From 0 to 1, unless the truth has other values.
    fn of(truth: &[f64], grid: Grid) -> Self {
        let usual = Self {
            black: 0.0,
            white: 1.0,
        };
        let values = real(truth, grid);
        let black = values.iter().copied().fold(f64::INFINITY, f64::min);
        let white = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let is_usual = black >= -1e-3 && white <= 1.0 + 1e-3;
        if is_usual || !(black < white) || !(white - black).is_finite() {
            usual
        } else {
            Self { black, white }
        }
    }

    /// 0 is black and 1 is white.
    fn levels(&self, values: &[f64], grid: Grid) -> Vec<f64> {
        let level = |value| (value - self.black) / (self.white - self.black);
        real(values, grid).into_iter().map(level).collect()
    }

    /// Nothing if it is the usual one.
    fn html(&self) -> String {
        if self.black.abs() < 1e-12 && (self.white - 1.0).abs() < 1e-12 {
            return String::new();
        }
        let (black, white) = (number(self.black), number(self.white));
        format!("<p class=\"soft\">Black is {black}, white is {white}.</p>\n")
    }
}

/// The values, or the absolute values if they are complex.
fn real(values: &[f64], grid: Grid) -> Vec<f64> {
    match grid.field() {
        Field::Real => values.to_vec(),
        Field::Complex => (values.chunks_exact(2)).map(|z| z[0].hypot(z[1])).collect(),
    }
}
