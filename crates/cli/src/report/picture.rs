//! One picture: data, reconstruction, truth and error side by side.

use ::page::number::number;
use ::page::{png_url, printable};
use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::{ExtendedColorType, ImageEncoder as _};
use imaging::{Field, Grid};
use maud::{Markup, html};

use super::ReportImage;
use super::scores::psnr_cell;
use crate::picture::Picture;

/// Longest side shown. A larger picture is cut to its middle, because scaling would reduce the
/// noise.
const MAX_SIDE: usize = 256;
/// Sides in pixels below which a picture is enlarged, with visible pixels.
const SMALL: usize = 200;
/// Factor by which errors are brightened.
const BRIGHTER: f64 = 5.0;

/// Returns the row of pictures with its caption.
pub(super) fn html(image: &ReportImage, caption: &Markup) -> Markup {
    let (slices, _, _) = image.grid.slices_rows_and_cols();
    let middle = middle_slice(image);
    let image = &middle;
    let grid = image.grid;
    let has_truth = !image.truth.is_empty();
    let window = Window::of(
        if has_truth {
            &image.truth
        } else {
            &image.reconstruction
        },
        grid,
    );
    let [truth, x] = [&image.truth, &image.reconstruction].map(|v| window.levels(v, grid));
    let error = (x.iter().zip(&truth))
        .map(|(x, truth)| BRIGHTER * (x - truth).abs())
        .collect();
    let data = (image.data.as_ref()).filter(|data| data.len() == grid.len());
    let (rows, cols) = grid.rows_and_cols();
    html! {
        figure.example {
            figcaption { (caption) }
            .row.three[data.is_none() || !has_truth] {
                @if let Some(data) = data {
                    (figure(image, window.levels(data, grid), Grey::Data))
                }
                (figure(image, x, Grey::Reconstruction))
                @if has_truth {
                    (figure(image, truth, Grey::Truth))
                    (figure(image, error, Grey::Error))
                }
            }
            @if rows > MAX_SIDE || cols > MAX_SIDE {
                p.soft {
                    "The middle " (cols.min(MAX_SIDE)) " × " (rows.min(MAX_SIDE)) " of "
                    (cols) " × " (rows) " pixels."
                }
            }
            @if slices > 1 {
                p.soft { "Slice " (slices / 2 + 1) " of " (slices) ". PSNR is that of the volume." }
            }
            @if !window.is_usual() {
                p.soft {
                    "Black is " (number(window.black)) ", white is " (number(window.white)) "."
                }
            }
        }
    }
}

/// Returns the middle slice of a volume. Pictures stay as they are.
fn middle_slice(image: &ReportImage) -> ReportImage {
    let (slices, rows, cols) = image.grid.slices_rows_and_cols();
    if slices == 1 {
        return image.clone();
    }
    let len = rows * cols;
    let middle = |volume: &[f64]| match volume.is_empty() {
        true => Vec::new(),
        false => volume[slices / 2 * len..][..len].to_vec(),
    };
    ReportImage {
        grid: Grid::image(rows, cols),
        truth: middle(&image.truth),
        data: image.data.as_deref().map(middle),
        reconstruction: middle(&image.reconstruction),
        ..image.clone()
    }
}

/// The pictures of a row.
#[derive(Clone, Copy, Debug)]
enum Grey {
    Data,
    Reconstruction,
    Truth,
    Error,
}

impl Grey {
    /// Returns the word below the picture.
    const fn name(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Reconstruction => "reconstruction",
            Self::Truth => "truth",
            Self::Error => "error × 5",
        }
    }

    /// Returns the largest grey level. Noise needs few levels, and does not compress with more.
    const fn white(self) -> f64 {
        match self {
            Self::Data => 63.0,
            Self::Reconstruction | Self::Truth => 255.0,
            Self::Error => 31.0,
        }
    }

    /// Returns the PNG filter. Noise cannot be predicted from neighbouring pixels.
    const fn filter(self) -> FilterType {
        match self {
            Self::Data | Self::Error => FilterType::NoFilter,
            Self::Reconstruction | Self::Truth => FilterType::Adaptive,
        }
    }
}

/// Returns one picture of the row.
fn figure(image: &ReportImage, levels: Vec<f64>, grey: Grey) -> Markup {
    let (height, width) = image.grid.rows_and_cols();
    let picture = match image.grid.field() {
        Field::Colour => Picture::of_interleaved(width, height, &levels),
        Field::Real | Field::Complex => Picture::new(width, height, vec![levels]),
    };
    let picture = picture.crop_centre(MAX_SIDE);
    let (width, height) = (picture.width, picture.height);
    let what = grey.name();
    let quality = match grey {
        Grey::Data => Some(image.score.before),
        Grey::Reconstruction => Some(image.score.after),
        Grey::Truth | Grey::Error => None,
    };
    html! {
        figure {
            img class=[(width.max(height) < SMALL).then_some("small")] width=(width) height=(height)
                alt={ (what) ": " (printable(&image.name)) } src=(png_url(&png(&picture, grey)));
            figcaption {
                (what)
                @if let Some(quality) = quality.filter(|_| !image.truth.is_empty()) {
                    " " span { (psnr_cell(quality)) }
                }
            }
        }
    }
}

/// Encodes a picture as a PNG file that is as small as possible, because a page has many.
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
    let (levels, colours) = match picture.interleaved() {
        Some(levels) => (levels, ExtendedColorType::Rgb8),
        None => (picture.channels.concat(), ExtendedColorType::L8),
    };
    let samples: Vec<u8> = levels.iter().map(sample).collect();
    let side = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
    let (width, height) = (side(picture.width), side(picture.height));
    let mut bytes = Vec::new();
    PngEncoder::new_with_quality(&mut bytes, CompressionType::Best, grey.filter())
        .write_image(&samples, width, height, colours)
        .expect("a picture that is not empty, written to memory");
    bytes
}

/// The values that are shown as black and as white.
struct Window {
    black: f64,
    white: f64,
}

impl Window {
    /// Returns the window from 0 to 1, or that of the truth if it has other values.
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

    /// Scales values so that 0 is black and 1 is white.
    fn levels(&self, values: &[f64], grid: Grid) -> Vec<f64> {
        let level = |value| (value - self.black) / (self.white - self.black);
        real(values, grid).into_iter().map(level).collect()
    }

    /// Whether black is 0 and white is 1.
    fn is_usual(&self) -> bool {
        self.black.abs() < 1e-12 && (self.white - 1.0).abs() < 1e-12
    }
}

/// Returns the values, or their absolute values if they are complex.
fn real(values: &[f64], grid: Grid) -> Vec<f64> {
    match grid.field() {
        Field::Real | Field::Colour => values.to_vec(),
        Field::Complex => (values.chunks_exact(2)).map(|z| z[0].hypot(z[1])).collect(),
    }
}
