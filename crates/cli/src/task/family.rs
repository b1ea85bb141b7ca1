//! Families of reconstruction problems, with their kernel or mask.

use std::path::Path;

use bilevel::{BoundaryName, Family, FamilyInput, LowerLevel as _, shown};
use imaging::{Grid, Kernel, KernelShape, Mask, ModelError};

use super::data_warnings::missing_warning;
use super::pictures::Axes;
use super::{DataError, pictures};
use crate::array::{self, ArrayValues};
use crate::blur_check;
use crate::config::{Config, KernelBackground};
use crate::error::CliError;
use crate::file::FileError;
use crate::picture::{self, Colour, Picture};

/// A family with the data that belong to it.
pub(crate) struct LoadedFamily {
    /// The family.
    pub(crate) family: Family,
    /// The values of its kernel or mask, if it has one.
    pub(crate) numbers: Vec<f64>,
    /// The rows and columns of its kernel, if its blur is periodic.
    pub(crate) kernel_shape: Option<[usize; 2]>,
    /// Warnings about its kernel.
    pub(crate) warnings: Vec<String>,
    /// The mask of pixels that were measured, if there is one.
    pub(crate) mask: Option<Mask>,
}

impl LoadedFamily {
    /// Returns a warning about samples of a picture that are NaN, if there are any. Refuses them if
    /// the family cannot fill them in.
    pub(crate) fn missing(&self, name: &str, page: &Picture) -> Result<Option<String>, DataError> {
        let values = page.channels.iter().flatten().copied();
        let warning = missing_warning(name, values);
        if warning.is_some() && !self.family.takes_missing() {
            return Err(DataError::Missing(name.into()));
        }
        Ok(warning)
    }

    /// Returns the jump of a picture across its borders, which a periodic blur cannot explain if it
    /// is large; `None` if there is no periodic blur.
    pub(crate) fn border_jump(&self, picture: &[f64], grid: Grid) -> Option<f64> {
        let shape = self.kernel_shape?;
        let (rows, cols) = grid.rows_and_cols();
        let parts = grid.num_parts();
        let channels = (0..parts).map(|part| -> Vec<f64> {
            let values = picture.iter().skip(part).step_by(parts);
            values.map(|value| shown(*value)).collect()
        });
        let jump =
            |plane: Vec<f64>| blur_check::border_jump(&plane, [rows, cols], &self.numbers, shape);
        channels.map(jump).reduce(f64::max)
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
    let mask = data.mask.as_deref().map(read_mask).transpose()?;
    if data.kernel.is_none() {
        let input = mask.clone().map_or(FamilyInput::None, FamilyInput::Mask);
        let model = build(config, input, &name)?;
        let numbers = mask.iter().flat_map(Mask::measured);
        let numbers = numbers.map(|one| f64::from(*one)).collect();
        return Ok(LoadedFamily {
            numbers,
            mask,
            ..model
        });
    }
    let (kernel, warnings) = read_kernel(config, path)?;
    let (rows, cols) = kernel.grid().rows_and_cols();
    let input = match name.parse() {
        Ok(shape) if KernelShape::is_name(&name) => FamilyInput::Shape(shape),
        _ => FamilyInput::Kernel {
            values: kernel.values().to_vec(),
            grid: kernel.grid(),
        },
    };
    let model = build(config, input, &name)?;
    let is_periodic = config.model.boundary == BoundaryName::Periodic;
    Ok(LoadedFamily {
        numbers: kernel.values().to_vec(),
        kernel_shape: is_periodic.then_some([rows, cols]),
        warnings,
        mask,
        ..model
    })
}

/// The kernel and the mask of a task, as far as it has them.
///
/// # Errors
/// When a file cannot be used.
pub fn operators(config: &Config) -> Result<(Option<Kernel>, Option<Mask>), CliError> {
    let (kernel, mask) = (config.data.kernel.as_deref(), config.data.mask.as_deref());
    let kernel = kernel.map(|path| read_kernel(config, path)).transpose()?;
    let mask = mask.map(read_mask).transpose()?;
    Ok((kernel.map(|(kernel, _)| kernel), mask))
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
        mask: None,
    })
}

/// Reads a kernel, removes its background if that is asked for, and divides it by its sum. Returns
/// it with warnings.
fn read_kernel(config: &Config, path: &Path) -> Result<(Kernel, Vec<String>), CliError> {
    let name = path.display().to_string();
    if KernelShape::is_name(&name) {
        let kernel = Kernel::named(&name).map_err(DataError::KernelName)?;
        return Ok((kernel, Vec::new()));
    }
    let shape = path.file_name().map(|name| name.to_string_lossy());
    if let Some(shape) = shape.filter(|shape| shape.contains(':') && !path.exists()) {
        // more likely a shape with a wrong name than a file
        Kernel::named(&shape).map_err(DataError::KernelName)?;
    }
    let (values, grid) = if path.extension().is_none_or(|end| end == "npy") {
        read_kernel_array(path)?
    } else {
        let picture = picture::read(path, Colour::Luminance)?;
        let grid = Grid::image(picture.height, picture.width);
        (picture.channels.into_iter().flatten().collect(), grid)
    };
    let refuse = |source: ModelError| DataError::Model {
        name: name.clone(),
        source: source.into(),
    };
    let mut kernel = Kernel::new(values, grid).map_err(refuse)?;
    if config.data.kernel_background == KernelBackground::Subtract {
        kernel = kernel.without_background().map_err(refuse)?;
    }
    let (rows, cols) = grid.rows_and_cols();
    let warnings =
        blur_check::kernel_warnings(&format!("the kernel {name}"), kernel.values(), [rows, cols]);
    Ok((kernel.normalised().map_err(refuse)?, warnings))
}

/// Reads the values of a kernel and their grid from a `.npy` file.
fn read_kernel_array(path: &Path) -> Result<(Vec<f64>, Grid), CliError> {
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
        ArrayValues::Complex(_) => Err(DataError::ComplexKernel(path.into()).into()),
    }
}

/// Reads a mask: pixels of value 0.5 or more were measured.
fn read_mask(path: &Path) -> Result<Mask, CliError> {
    let picture = picture::read(path, Colour::Luminance)?;
    let grid = pictures::grid(Axes::of_page(path), &picture);
    let measured: Vec<bool> = (picture.channels.iter().flatten())
        .map(|value| *value >= 0.5)
        .collect();
    if !measured.contains(&true) {
        return Err(DataError::EmptyMask(path.into()).into());
    }
    let name = path.display().to_string();
    let refuse = |source: ModelError| DataError::Model {
        name,
        source: source.into(),
    };
    Ok(Mask::new(grid, measured).map_err(refuse)?)
}
