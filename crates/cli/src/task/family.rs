//! Models from settings, and the files that belong to them.

use std::path::Path;

use bilevel::{Family, FamilyInput};
use imaging::{Grid, Mask};

use super::DataError;
use crate::array::{self, ArrayValues};
use crate::config::Config;
use crate::error::CliError;
use crate::file::FileError;
use crate::picture::{self, Colour};

/// A family, and what belongs to it.
pub(crate) struct LoadedFamily {
    /// The family.
    pub(crate) family: Family,
    /// The numbers of its kernel or mask.
    pub(crate) numbers: Vec<f64>,
    /// What the user should know.
    pub(crate) warnings: Vec<String>,
}

/// The family of signals with `num_samples` samples each; `name` is for messages.
pub(crate) fn for_signals(
    config: &Config,
    num_samples: usize,
    name: &str,
) -> Result<LoadedFamily, DataError> {
    build(config, FamilyInput::Frequencies(num_samples), name)
}

/// The family of a task on pictures, with its kernel or mask.
pub(crate) fn for_pictures(config: &Config) -> Result<LoadedFamily, CliError> {
    // Settings that were resolved have a kernel or a mask where one is needed.
    let data = &config.data;
    let Some(path) = data.kernel.as_ref().or(data.mask.as_ref()) else {
        return Ok(build(config, FamilyInput::None, "")?);
    };
    let name = path.display().to_string();
    if data.kernel.is_none() {
        let (grid, measured) = read_mask(path)?;
        let numbers = measured.iter().map(|one| f64::from(*one)).collect();
        let mask = Mask::new(grid, measured).map_err(|source| DataError::Model {
            name: name.clone(),
            source: source.into(),
        })?;
        let model = build(config, FamilyInput::Mask(mask), &name)?;
        return Ok(LoadedFamily { numbers, ..model });
    }
    let Kernel {
        values,
        grid,
        warning,
    } = read_kernel(path)?;
    let numbers = values.clone();
    let model = build(config, FamilyInput::Kernel { values, grid }, &name)?;
    Ok(LoadedFamily {
        numbers,
        warnings: warning.into_iter().collect(),
        ..model
    })
}

fn build(config: &Config, input: FamilyInput, name: &str) -> Result<LoadedFamily, DataError> {
    let family = config.spec().family(input);
    Ok(LoadedFamily {
        family: family.map_err(|source| DataError::Model {
            name: name.into(),
            source,
        })?,
        numbers: Vec::new(),
        warnings: Vec::new(),
    })
}

/// A blur.
struct Kernel {
    /// Its values.
    values: Vec<f64>,
    /// Its size.
    grid: Grid,
    /// What the user should know about it.
    warning: Option<String>,
}

/// Reads a blur.
fn read_kernel(path: &Path) -> Result<Kernel, CliError> {
    let array = array::read(path)?;
    let [rows @ 1..=usize::MAX, cols @ 1..=usize::MAX] = array.shape[..] else {
        return Err(CliError::File(FileError::Shape(
            path.into(),
            array.shape,
            "a kernel: two axes, none of them empty",
        )));
    };
    let ArrayValues::Real(values) = array.values else {
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
fn read_mask(path: &Path) -> Result<(Grid, Vec<bool>), CliError> {
    let picture = picture::read(path, Colour::Luminance)?;
    let grid = Grid::image(picture.height, picture.width);
    let measured: Vec<bool> = (picture.channels.iter().flatten())
        .map(|value| *value >= 0.5)
        .collect();
    if !measured.contains(&true) {
        let mask = path.into();
        return Err(CliError::Data(DataError::EmptyMask { mask }));
    }
    Ok((grid, measured))
}
