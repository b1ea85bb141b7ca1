//! Models from settings, and the files that belong to them.

use std::path::Path;

use bilevel::{Choice, FourierWeights, TvChoices};
use imaging::{Grid, Mask, TvParameters};

use super::DataError;
use crate::array::{self, Values};
use crate::config::Config;
use crate::error::CliError;
use crate::file::FileError;
use crate::picture::{self, Colour};

/// Which parameters of the total variation are learned.
pub(super) fn choices(config: &Config) -> TvChoices {
    let model = &config.model;
    let choice = |name: &str, default: Choice| {
        let of = |values: &crate::config::Values| values.get(name).copied();
        if let Some(value) = of(&model.fixed) {
            return Choice::Fixed(value);
        }
        match (of(&model.start), of(&model.lower), of(&model.upper)) {
            (Some(start), Some(lower), Some(upper)) => Choice::Learned {
                start: start.log10(),
                lower: lower.log10(),
                upper: upper.log10(),
            },
            // Settings that were not resolved.
            _ => default,
        }
    };
    TvChoices {
        alpha: choice("alpha", TvChoices::ALPHA),
        nu: choice("nu", TvChoices::SMOOTHING),
        xi: choice("xi", TvChoices::SMOOTHING),
    }
}

/// The model of signals with so many samples; `name` is for messages.
pub(crate) fn sampling(
    config: &Config,
    num_samples: usize,
    name: &str,
) -> Result<FourierWeights, DataError> {
    let model = &config.model;
    let fixed = |name: &str, default| model.fixed.get(name).copied().unwrap_or(default);
    let tv = TvParameters {
        alpha: fixed("alpha", FourierWeights::TV.alpha),
        nu: fixed("nu", FourierWeights::TV.nu),
        xi: fixed("xi", FourierWeights::TV.xi),
    };
    let of =
        |values: &crate::config::Values, default| values.get("theta").copied().unwrap_or(default);
    let made = FourierWeights::new(num_samples, tv, of(&model.start, 0.5));
    let made = made.map_err(|source| DataError::Model {
        name: name.into(),
        source,
    })?;
    let lower = of(&model.lower, FourierWeights::LOWER);
    Ok(made.with_bounds(lower, of(&model.upper, FourierWeights::UPPER)))
}

/// A blur.
pub(crate) struct Kernel {
    /// Its values.
    pub(crate) values: Vec<f64>,
    /// Its size.
    pub(crate) grid: Grid,
    /// What the user should know about it.
    pub(crate) warning: Option<String>,
}

/// Reads a blur.
pub(crate) fn read_kernel(path: &Path) -> Result<Kernel, CliError> {
    let array = array::read(path)?;
    let [rows @ 1..=usize::MAX, cols @ 1..=usize::MAX] = array.shape[..] else {
        return Err(CliError::File(FileError::Shape {
            path: path.into(),
            shape: array.shape,
            wanted: "a kernel: two axes, none of them empty",
        }));
    };
    let Values::Real(values) = array.values else {
        let path = path.into();
        return Err(CliError::Data(DataError::ComplexKernel { path }));
    };
    let sum: f64 = values.iter().sum();
    let is_mean = (sum - 1.0).abs() <= 0.01;
    let warning = (!is_mean).then(|| {
        let path = path.display();
        format!("the kernel {path} sums to {sum}, not to 1: it changes the brightness of pictures")
    });
    Ok(Kernel {
        values,
        grid: Grid::image(rows, cols),
        warning,
    })
}

/// Reads what was measured: white, from the middle of grey on.
pub(crate) fn read_mask(path: &Path) -> Result<(Grid, Vec<bool>), CliError> {
    let picture = picture::read(path, Colour::Luminance)?;
    let grid = Grid::image(picture.height, picture.width);
    let kept: Vec<bool> = (picture.channels.iter().flatten())
        .map(|value| *value >= 0.5)
        .collect();
    if !kept.contains(&true) {
        let mask = path.into();
        return Err(CliError::Data(DataError::EmptyMask { mask }));
    }
    Ok((grid, kept))
}

/// The mask as an operator.
pub(crate) fn mask(path: &Path, grid: Grid, kept: Vec<bool>) -> Result<Mask, DataError> {
    Mask::new(grid, kept).map_err(|source| DataError::Model {
        name: path.display().to_string(),
        source,
    })
}
