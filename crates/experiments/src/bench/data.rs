//! The data that our code and the peers work on, generated from a seed so that nothing has to be
//! downloaded.

use std::path::Path;

use anyhow::Result;
use bilevel::FourierWeights;
use imaging::{Fourier, Grid, LinearOperator, Seed, TvParameters, noise, phantom};

use crate::file;

/// The number of rows and columns of the image.
pub(super) const SIDE: usize = 256;
/// The length of a line, that is of a one-dimensional signal.
pub(super) const LENGTH: usize = 256;
/// The number of lines.
pub(super) const NUM_LINES: usize = 20;
/// The length of the complex line whose frequencies are measured.
pub(super) const NUM_FREQUENCIES: usize = 64;

/// The parameters for the image.
pub(super) const IMAGE: TvParameters = TvParameters {
    alpha: 0.1,
    nu: 1e-2,
    xi: 1e-3,
};
/// The parameters for the complex line.
pub(super) const SAMPLING: TvParameters = FourierWeights::TV;

/// Returns the parameters for lines.
pub(super) const fn line(alpha: f64) -> TvParameters {
    TvParameters {
        alpha,
        nu: 1e-3,
        xi: 1e-3,
    }
}

/// Truth and data.
type TruthAndData = (Vec<f64>, Vec<f64>);

/// Returns an image of dead leaves, and the same with noise of standard deviation 0.1.
pub(super) fn image(side: usize, index: usize) -> Result<TruthAndData> {
    let truth = phantom::dead_leaves(side, side, Seed::new(1), index)?;
    let data = noise::gaussian(&truth, 0.1, Seed::new(1), index)?;
    Ok((truth, data))
}

/// Returns a box function, and the same with noise of standard deviation 0.1.
pub(super) fn signal(index: usize) -> Result<TruthAndData> {
    let truth = phantom::box_function(LENGTH, Seed::new(1), index)?;
    let data = noise::gaussian(&truth, 0.1, Seed::new(1), index)?;
    Ok((truth, data))
}

/// Returns the frequencies of a box function, with noise of standard deviation 0.05.
pub(super) fn frequencies(fourier: &Fourier) -> Result<Vec<f64>> {
    let truth = phantom::box_function(NUM_FREQUENCIES, Seed::new(1), 0)?;
    let truth: Vec<f64> = truth.iter().flat_map(|&x| [x, 0.0]).collect();
    let mut data = vec![0.0; truth.len()];
    fourier.apply(&truth, &mut data, &mut fourier.scratch());
    Ok(noise::complex_gaussian(&data, 0.05, Seed::new(1), 0)?)
}

/// Returns the Fourier transform of [`frequencies`].
pub(super) fn fourier() -> Result<Fourier> {
    Ok(Fourier::new(Grid::line(NUM_FREQUENCIES).complex())?)
}

/// Returns the sampling weights at the start of learning: 0.5 for every frequency.
pub(super) fn even_weights() -> Vec<f64> {
    vec![0.5; NUM_FREQUENCIES]
}

/// Returns weights like those at the end of learning: 1 for the 17 lowest frequencies, 0 for all
/// others.
pub(super) fn sparse_weights() -> Vec<f64> {
    let is_low = |k: usize| k.min(NUM_FREQUENCIES - k) <= 8;
    let weight = |k| if is_low(k) { 1.0 } else { 0.0 };
    (0..NUM_FREQUENCIES).map(weight).collect()
}

/// Writes the files that the peers read, as 64-bit little-endian numbers.
pub(super) fn write(folder: &Path) -> Result<()> {
    let put = |name: &str, numbers: &[f64]| {
        let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
        file::write(&folder.join(name), &bytes)
    };
    put("image.f64", &image(SIDE, 0)?.1)?;
    let signals = (0..NUM_LINES).map(|index| Ok(signal(index)?.1));
    put("lines.f64", &signals.collect::<Result<Vec<_>>>()?.concat())?;
    put("frequencies.f64", &frequencies(&fourier()?)?)?;
    put("even.f64", &even_weights())?;
    put("sparse.f64", &sparse_weights())
}
