//! Families of reconstruction problems, with their kernel or mask.

use std::path::Path;

use bilevel::{Family, FamilyInput};
use imaging::{Grid, Mask};

use super::{DataError, pictures};
use crate::array::{self, ArrayValues};
use crate::blur_check;
use crate::config::Config;
use crate::error::CliError;
use crate::file::FileError;
use crate::picture::{self, Colour};

/// A family with the data that belong to it.
pub(crate) struct LoadedFamily {
    /// The family.
    pub(crate) family: Family,
    /// The values of its kernel or mask, if it has one.
    pub(crate) numbers: Vec<f64>,
    /// The rows and columns of its kernel, if it has one.
    pub(crate) kernel_shape: Option<[usize; 2]>,
    /// Warnings about its kernel.
    pub(crate) warnings: Vec<String>,
}

impl LoadedFamily {
    /// Returns the jump of a picture across its borders, which a periodic blur cannot explain if it
    /// is large; `None` if there is no blur.
    pub(crate) fn border_jump(&self, picture: &[f64], grid: Grid) -> Option<f64> {
        let (rows, cols) = grid.rows_and_cols();
        let jump = |shape| blur_check::border_jump(picture, [rows, cols], &self.numbers, shape);
        self.kernel_shape.map(jump)
    }
}

/// Returns the family of signals with `num_samples` samples each; `name` is for messages.
pub(crate) fn for_signals(
    config: &Config,
    num_samples: usize,
    name: &str,
) -> Result<LoadedFamily, DataError> {
    build(config, FamilyInput::Frequencies(num_samples), name)
}

/// Returns the family of a task on pictures, with its kernel or mask.
pub(crate) fn for_pictures(config: &Config) -> Result<LoadedFamily, CliError> {
    // Resolved settings have a kernel or a mask where one is needed.
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
    let (values, grid) = read_kernel(path)?;
    let (rows, cols) = grid.rows_and_cols();
    let shape = [rows, cols];
    let warnings = blur_check::kernel_warnings(&name, &values, shape);
    let numbers = values.clone();
    let model = build(config, FamilyInput::Kernel { values, grid }, &name)?;
    Ok(LoadedFamily {
        numbers,
        kernel_shape: Some(shape),
        warnings,
        ..model
    })
}

/// The numbers of the kernel or mask of a task, and their grid; `None` if it has neither.
///
/// # Errors
/// When the file cannot be used.
pub fn operator(config: &Config) -> Result<Option<(Vec<f64>, Grid)>, CliError> {
    if let Some(path) = &config.data.kernel {
        return Ok(Some(read_kernel(path)?));
    }
    let Some(path) = &config.data.mask else {
        return Ok(None);
    };
    let (grid, measured) = read_mask(path)?;
    Ok(Some((measured.into_iter().map(f64::from).collect(), grid)))
}

fn build(config: &Config, input: FamilyInput, name: &str) -> Result<LoadedFamily, DataError> {
    let family = config.spec().family(input);
    Ok(LoadedFamily {
        family: family.map_err(|source| DataError::Model {
            name: name.into(),
            source,
        })?,
        numbers: Vec::new(),
        kernel_shape: None,
        warnings: Vec::new(),
    })
}

/// Reads the values of a blur and their grid.
fn read_kernel(path: &Path) -> Result<(Vec<f64>, Grid), CliError> {
    let array = array::read(path)?;
    let grid = match array.shape[..] {
        [rows, cols] if rows > 0 && cols > 0 => Grid::image(rows, cols),
        // for signals
        [len] if len > 0 => Grid::line(len),
        _ => {
            return Err(CliError::File(FileError::Shape(
                path.into(),
                array.shape,
                "a kernel with two axes, none of them empty",
            )));
        }
    };
    match array.values {
        ArrayValues::Real(values) => Ok((values, grid)),
        ArrayValues::Complex(_) => {
            let path = path.into();
            Err(CliError::Data(DataError::ComplexKernel { path }))
        }
    }
}

/// Reads a mask: pixels of value 0.5 or more were measured.
fn read_mask(path: &Path) -> Result<(Grid, Vec<bool>), CliError> {
    let picture = picture::read(path, Colour::Luminance)?;
    let grid = pictures::grid(picture::is_signal(path), &picture);
    let measured: Vec<bool> = (picture.channels.iter().flatten())
        .map(|value| *value >= 0.5)
        .collect();
    if !measured.contains(&true) {
        let mask = path.into();
        return Err(CliError::Data(DataError::EmptyMask { mask }));
    }
    Ok((grid, measured))
}
