//! Reading photographs, in colour or as grey values.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use image::RgbImage;

/// A photograph in colour.
#[derive(Clone, Debug)]
pub struct Photograph {
    /// The number of columns.
    pub width: usize,
    /// The number of rows.
    pub height: usize,
    /// Red, green and blue of each pixel, between 0 and 1, row by row.
    pub pixels: Vec<[f64; 3]>,
}

/// Returns the luminance of a colour.
#[must_use]
pub fn luminance([red, green, blue]: [f64; 3]) -> f64 {
    0.299 * red + 0.587 * green + 0.114 * blue
}

fn open(folder: &Path, number: usize) -> Result<(PathBuf, RgbImage)> {
    let path = folder.join(format!("kodim{number:02}.png"));
    let picture = image::open(&path).with_context(|| path.display().to_string())?;
    Ok((path, picture.into_rgb8()))
}

/// Reads a whole photograph in `folder`. The first photograph has `number` 1.
///
/// # Errors
/// When the file cannot be read.
pub fn read_colour(folder: &Path, number: usize) -> Result<Photograph> {
    let (_, picture) = open(folder, number)?;
    let [width, height] = [picture.width(), picture.height()].map(|length| length as usize);
    let pixels = picture
        .pixels()
        .map(|pixel| pixel.0.map(|value| f64::from(value) / 255.0));
    Ok(Photograph {
        width,
        height,
        pixels: pixels.collect(),
    })
}

/// Reads the luminance of the middle `side` × `side` pixels of a photograph in `folder`: 0 is
/// black, 1 is white. The first photograph has `number` 1.
///
/// # Errors
/// When the file cannot be read or the photograph is too small.
pub fn read(folder: &Path, number: usize, side: usize) -> Result<Vec<f64>> {
    let (path, picture) = open(folder, number)?;
    let [width, height] = [picture.width(), picture.height()].map(|length| length as usize);
    ensure!(
        width >= side && height >= side,
        "{} is smaller than {side} x {side} pixels",
        path.display()
    );
    let luminance = |pixel: &image::Rgb<u8>| self::luminance(pixel.0.map(f64::from)) / 255.0;
    let [left, top] = [width, height].map(|length| length / 2 - side / 2);
    let rows = picture.rows().skip(top).take(side);
    Ok(rows
        .flat_map(|row| row.skip(left).take(side))
        .map(luminance)
        .collect())
}
