//! The noise of a camera that counts photons, estimated before learning.

use std::path::Path;

use imaging::noise::Anscombe;
use page::number::significant;

use super::DataError;
use crate::config::table::{NOISE, NOISY};
use crate::config::{Noise, Settings};
use crate::error::CliError;
use crate::picture::{self, Colour, Picture};

/// Replaces `--noise poisson` by gain and read noise, which are estimated from the pages of all
/// files of `--noisy` with several pages of the same size. Returns a sentence about them.
pub(crate) fn choose(settings: &mut Settings) -> Result<Option<String>, CliError> {
    let noise = settings.word(&NOISE).and_then(|word| word.parse().ok());
    if noise != Some(Noise::EstimatedCamera) {
        return Ok(None);
    }
    let Some(noisy) = settings.word(&NOISY).map(str::to_owned) else {
        return Err(DataError::NoFrames.into());
    };
    let mut scenes: Vec<Vec<Vec<f64>>> = Vec::new();
    for path in picture::list(Path::new(&noisy))? {
        let pages = picture::read_pages(&path, Colour::Channels)?;
        let size = |page: &Picture| (page.width, page.height, page.channels.len());
        if pages.len() > 1 && pages.iter().all(|page| size(page) == size(&pages[0])) {
            scenes.push(pages.iter().map(|page| page.channels.concat()).collect());
        }
    }
    if scenes.is_empty() {
        return Err(DataError::NoFrames.into());
    }
    let scenes: Vec<Vec<&[f64]>> = (scenes.iter())
        .map(|frames| frames.iter().map(Vec::as_slice).collect())
        .collect();
    let scenes: Vec<&[&[f64]]> = scenes.iter().map(Vec::as_slice).collect();
    let camera = Anscombe::estimate_from(&scenes).map_err(DataError::Camera)?;
    let [gain, read] = [camera.gain(), camera.read()].map(|number| significant(number, 3));
    settings.set(&NOISE, camera.to_string());
    Ok(Some(format!(
        "Estimated noise of the camera: gain {gain}, read noise {read} (--noise poisson:GAIN,READ \
         sets them)"
    )))
}
