//! The frequencies that a mask is learned from, or applied to.

use std::path::Path;

use bilevel::{Kspace, MaskStudy};
use imaging::{Seed, phantom};

use super::MaskSettings;
use crate::error::CliError;
use crate::kspace;
use crate::task::DataError;

/// Reads frequencies, with the sensitivity maps of coils.
pub(super) fn read(
    path: &Path,
    coils: Option<&Path>,
    settings: &MaskSettings,
) -> Result<Kspace, CliError> {
    let frequencies = kspace::read(path)?;
    let maps = coils.map(kspace::read).transpose()?;
    let maps = maps.map(|maps| (of_maps(maps.shape), maps.values));
    let [slices, coils, rows, cols] = frequencies.shape;
    let shape = match &maps {
        None if coils == 1 => vec![slices, rows, cols],
        // a file with three axes has one slice, if there are as many maps
        Some((maps, _)) if coils == 1 && maps[maps.len() - 3] == slices => vec![slices, rows, cols],
        _ => frequencies.shape.to_vec(),
    };
    let zero = settings.data.frequency_zero;
    let maps = (maps.as_ref()).map(|(shape, values)| (&shape[..], &values[..]));
    Kspace::new(&shape, &frequencies.values, maps, zero).map_err(|source| CliError::Frequencies {
        path: path.into(),
        source: Box::new(source),
    })
}

/// Returns the shape of maps: coils x rows x columns, or with slices before. A file with three axes
/// has maps where frequencies would have slices.
fn of_maps(shape: [usize; 4]) -> Vec<usize> {
    match shape {
        [coils, 1, rows, cols] | [1, coils, rows, cols] => vec![coils, rows, cols],
        all => all.to_vec(),
    }
}

/// Returns the frequencies of a run.
fn load(settings: &MaskSettings) -> Result<Kspace, CliError> {
    let data = &settings.data;
    if let Some(path) = &data.kspace {
        return read(path, data.coils.as_deref(), settings);
    }
    let head = |index| phantom::head(data.size, data.size, Seed::new(settings.mask.seed), index);
    let heads: Result<Vec<_>, _> = (0..data.count).map(head).collect();
    let heads = heads.map_err(DataError::from)?;
    Ok(Kspace::of_pictures([data.size, data.size], &heads)?)
}

/// Returns the slices of a run.
pub(super) fn study(settings: &MaskSettings) -> Result<MaskStudy, CliError> {
    let kspace = load(settings)?;
    MaskStudy::new(&kspace, &settings.mask).map_err(|source| match &settings.data.kspace {
        Some(path) if source.is_of_data() => CliError::Frequencies {
            path: path.clone(),
            source: Box::new(source),
        },
        _ => CliError::Mask(source),
    })
}
