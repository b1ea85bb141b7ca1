//! Pictures as planes of numbers: files, folders, and pairs of clean and noisy pictures.
//!
//! Black is 0 and white is 1: 8-bit samples are divided by 255, 16-bit ones by 65535, and
//! floating-point ones are taken unchanged, inside `[0, 1]` or not. Gamma, colour profiles and the
//! orientation that cameras note are ignored. Each page of a TIFF file, each slice of a NIfTI file
//! and each picture of an array with three axes is a picture of its own. An alpha channel is
//! dropped if all pixels are opaque; a picture with transparent pixels is refused. Only
//! [`read_typed`] and [`write_typed`] keep alpha channels, the type of samples and [`Metadata`].

mod arrays;
mod colours;
mod decode;
mod folder;
pub(crate) mod large;
mod metadata;
mod nifti;
mod pages;
mod samples;
mod typed;

use std::path::{Path, PathBuf};

pub(crate) use arrays::is_name as is_array;
pub use colours::has_colours;
pub(crate) use colours::stack_warning;
pub(crate) use decode::{pages_of, read_stack};
pub use decode::{read, read_pages, read_typed};
pub(crate) use folder::ignored_arrays;
pub use folder::{list, pairs};
pub use metadata::{Metadata, TiffTags};
pub use nifti::Header as NiftiHeader;
pub(crate) use pages::name_among as page_name;
pub(crate) use typed::check_output;
pub use typed::{SampleType, TypedPicture, encode_png, write, write_pages, write_typed};

use ::page::number::counted;
use serde::{Deserialize, Serialize};

use crate::array;
use crate::file::{FileError, Nan};

/// A picture in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// The number of columns.
    pub width: usize,
    /// The number of rows.
    pub height: usize,
    /// One plane of `width * height` values per channel, row after row.
    pub channels: Vec<Vec<f64>>,
}

/// The treatment of colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Colour {
    /// One plane for grey pictures, three planes in the order red, green, blue for others. Together
    /// the planes are one picture.
    #[default]
    #[value(help = None::<&str>)]
    Opponent,
    /// The same planes, each of which is a picture of its own.
    #[value(help = None::<&str>)]
    Channels,
    /// One plane: `0.299 R + 0.587 G + 0.114 B`, or the grey values.
    #[serde(rename = "grey")]
    #[value(name = "grey", help = None::<&str>)]
    Luminance,
}

/// Bits per sample of a PNG file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Depth {
    /// 256 levels.
    #[value(name = "8", help = None::<&str>)]
    Eight,
    /// 65536 levels.
    #[value(name = "16", help = None::<&str>)]
    Sixteen,
}

/// The clean and the noisy version of one picture, or of its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PicturePair<T> {
    /// The clean version.
    pub truth: T,
    /// The noisy version.
    pub noisy: T,
}

impl Picture {
    /// Returns a picture with these planes.
    #[must_use]
    pub const fn new(width: usize, height: usize, channels: Vec<Vec<f64>>) -> Self {
        Self {
            width,
            height,
            channels,
        }
    }

    /// Cuts out the middle: `size` rows from `h/2 - size/2` on, in integer division, and columns
    /// likewise. An axis that is not longer than `size` stays whole.
    ///
    /// # Panics
    /// When `size` is zero.
    #[must_use]
    pub fn crop_centre(self, size: usize) -> Self {
        assert!(size > 0, "a crop of at least one pixel");
        let middle = |len: usize| match len <= size {
            true => 0..len,
            false => len / 2 - size / 2..len / 2 - size / 2 + size,
        };
        let (rows, columns) = (middle(self.height), middle(self.width));
        if (rows.len(), columns.len()) == (self.height, self.width) {
            return self;
        }
        let crop = |plane: Vec<f64>| {
            let middle = rows.clone().flat_map(|row| {
                let start = row * self.width;
                &plane[start + columns.start..start + columns.end]
            });
            middle.copied().collect()
        };
        Self {
            width: columns.len(),
            height: rows.len(),
            channels: self.channels.into_iter().map(crop).collect(),
        }
    }

    /// Returns the red, green and blue part of each pixel, one pixel after the other; `None` for
    /// grey pictures.
    #[must_use]
    pub fn interleaved(&self) -> Option<Vec<f64>> {
        let [red, green, blue] = &self.channels[..] else {
            return None;
        };
        let pixels = red.iter().zip(green).zip(blue);
        Some(pixels.flat_map(|((r, g), b)| [*r, *g, *b]).collect())
    }

    /// Returns the planes of a picture that is stored like the result of
    /// [`interleaved`](Self::interleaved).
    #[must_use]
    pub fn of_interleaved(width: usize, height: usize, values: &[f64]) -> Self {
        let plane = |part: usize| values.iter().skip(part).step_by(3).copied().collect();
        Self {
            width,
            height,
            channels: (0..3).map(plane).collect(),
        }
    }
}

/// Reads two files that belong together: one pair for each page. Takes the middle of both pictures
/// if `crop` is given. Samples of `noisy` that are NaN were not measured.
///
/// # Errors
/// When a file cannot be read, or the files differ in their number of pages, the sizes of pages
/// before cropping, or the numbers of channels.
pub fn read_pairs(
    truth: &Path,
    noisy: &Path,
    colour: Colour,
    crop: Option<usize>,
) -> Result<Vec<PicturePair<Picture>>, FileError> {
    let truths = read_pages(truth, colour)?;
    let noisy_pages = pages_of(noisy, colour, Nan::Missing)?;
    let num_pages = [truths.len(), noisy_pages.len()];
    if num_pages[0] != num_pages[1] {
        let [of_truth, of_noisy] = num_pages;
        return Err(FileError::PageCounts(
            truth.into(),
            of_truth,
            noisy.into(),
            of_noisy,
        ));
    }
    let pairs = truths.into_iter().zip(noisy_pages).enumerate();
    let check = |(index, (truth_page, noisy_page))| {
        let page = |path: &Path| page_name(path, index, num_pages[0]);
        let pair = PicturePair {
            truth: truth_page,
            noisy: noisy_page,
        };
        check_pair(&pair, [page(truth), page(noisy)])?;
        Ok(match crop {
            None => pair,
            Some(size) => PicturePair {
                truth: pair.truth.crop_centre(size),
                noisy: pair.noisy.crop_centre(size),
            },
        })
    };
    pairs.map(check).collect()
}

/// Puts the slices of a volume one below the other; `path` is for messages.
///
/// # Errors
/// When the slices differ in size or in their number of channels.
pub(crate) fn stacked(path: &Path, slices: Vec<Picture>) -> Result<Picture, FileError> {
    let mut rest = slices.into_iter();
    let mut all = rest.next().expect("a file has at least one page");
    let shape = |picture: &Picture| [picture.width, picture.height, picture.channels.len()];
    let first = shape(&all);
    for (index, slice) in rest.enumerate() {
        let [width, height, channels] = shape(&slice);
        if [width, height, channels] != first {
            let reason = format!(
                "page {} has {width} x {height} pixels and {}, page 1 {} x {} and {}",
                index + 2,
                counted(channels as u64, "channel", "channels"),
                first[0],
                first[1],
                first[2],
            );
            return Err(FileError::NotAVolume(path.into(), reason));
        }
        all.height += height;
        for (plane, more) in all.channels.iter_mut().zip(slice.channels) {
            plane.extend(more);
        }
    }
    Ok(all)
}

/// Refuses a pair of pictures with different sizes or numbers of channels.
fn check_pair(pair: &PicturePair<Picture>, [truth, noisy]: [PathBuf; 2]) -> Result<(), FileError> {
    let size = |picture: &Picture| [picture.width, picture.height];
    let sizes = [&pair.truth, &pair.noisy].map(size);
    if sizes[0] != sizes[1] {
        return Err(FileError::Sizes(truth, sizes[0], noisy, sizes[1]));
    }
    let channels = [&pair.truth, &pair.noisy].map(|picture| picture.channels.len());
    if channels[0] != channels[1] {
        return Err(FileError::Channels(truth, channels[0], noisy, channels[1]));
    }
    Ok(())
}

/// Whether a file is a `.npy` file with one axis: a signal, and not a picture.
#[must_use]
pub fn is_signal(path: &Path) -> bool {
    has_extension(path, "npy") && array::shape(path).is_ok_and(|shape| shape.len() == 1)
}

/// Whether a file with this name can be written.
pub(crate) fn can_be_written(path: &Path) -> bool {
    has_extension(path, "png") || is_tiff(path) || is_array(path) || nifti::is_name(path)
}

/// Returns the index of the value at `position` in channel `channel` of `channels`.
fn index(position: usize, width: usize, channel: usize, channels: usize) -> Vec<usize> {
    let mut index = vec![position / width, position % width];
    if channels > 1 {
        index.push(channel);
    }
    index
}

fn is_tiff(path: &Path) -> bool {
    has_extension(path, "tif") || has_extension(path, "tiff")
}

/// Whether a name ends in a dot and `known`, in upper or lower case.
pub(crate) fn has_extension(path: &Path, known: &str) -> bool {
    let extension = path.extension();
    extension.is_some_and(|extension| extension.eq_ignore_ascii_case(known))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_middle_is_what_the_formula_says(
            width in 1_usize..20,
            height in 1_usize..20,
            size in 1_usize..24,
            channels in 1_usize..4,
        ) {
            let plane = |c: usize| (0..width * height).map(|i| (i + 1000 * c) as f64).collect();
            let picture = Picture { width, height, channels: (0..channels).map(plane).collect() };
            let cropped = picture.clone().crop_centre(size);
            let inside = |i: usize, len: usize| {
                len <= size || (i + size / 2 >= len / 2 && i + size / 2 < len / 2 + size)
            };
            prop_assert_eq!(cropped.width, width.min(size));
            prop_assert_eq!(cropped.height, height.min(size));
            for (whole, part) in picture.channels.iter().zip(&cropped.channels) {
                let mut expected = Vec::new();
                for y in 0..height {
                    for x in 0..width {
                        if inside(x, width) && inside(y, height) {
                            expected.push(whole[y * width + x]);
                        }
                    }
                }
                prop_assert_eq!(part, &expected);
            }
        }
    }

    #[test]
    fn an_index_names_the_channel_only_if_there_are_several() {
        assert_eq!(index(7, 5, 0, 1), [1, 2]);
        assert_eq!(index(7, 5, 2, 3), [1, 2, 2]);
    }
}
