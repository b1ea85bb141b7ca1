//! Figure 13: noisy images and their reconstructions.

use anyhow::Result;
use imaging::quality;
use plot::{Figure, Panel};
use rayon::prelude::*;

use super::reconstruction::{self, denoised};
use super::{Drawn, FigureInput};

/// The images in the paper's figure, counted from zero.
const SHOWN: [usize; 5] = [0, 3, 7, 12, 20];

pub(super) fn draw(input: &FigureInput<'_>) -> Result<Vec<Drawn>> {
    let (setting, record) = (input.setting()?, input.dynamic_fista()?);
    let values = reconstruction::values(setting, &record.names, &record.outcome.theta)?;
    let pairs = input.results.source.pairs(&setting.data)?;
    let shown: Vec<usize> = if SHOWN.iter().all(|index| *index < pairs.len()) {
        SHOWN.to_vec()
    } else {
        (0..pairs.len().min(SHOWN.len())).collect()
    };
    let found: Vec<Vec<f64>> = shown
        .par_iter()
        .map(|&index| denoised(&pairs[index], values, 2000, None))
        .collect::<Result<_>>()?;
    let mut figure = Figure::new(2).panel_size(256.0, 256.0);
    for (&index, x) in shown.iter().zip(&found) {
        let pair = &pairs[index];
        let (rows, cols) = pair.grid.rows_and_cols();
        for (what, image) in [("noisy", &pair.data), ("reconstruction", x)] {
            let psnr = quality::psnr(image, &pair.truth, 1.0)?;
            let title = format!("image {}, {what}: {psnr:.1} dB", index + 1);
            figure = figure.with(Panel::image(cols, rows, image).title(title));
        }
    }
    let what = format!(
        "Noisy images, and their reconstructions by 2,000 iterations of FISTA from zero with the \
         parameters that dynamic FISTA learned: α = {:.4}, ν = {:.5}, ξ = {:.5}. Black is 0 and \
         white is 1. The PSNR is above each image.",
        values.alpha, values.nu, values.xi
    );
    Ok(vec![input.drawn(&what, figure)])
}
