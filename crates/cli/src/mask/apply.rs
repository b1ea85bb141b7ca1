//! Pictures from the frequencies in a learned mask.

use std::path::Path;

use bilevel::{FrequencyZero, MaskOutcome};

use super::{MaskSettings, data};
use crate::apply::{Applied, ApplyEvent, ApplyOptions, output_paths, read_result};
use crate::array::{self, ArrayValues};
use crate::config::table::{KERNEL, MASK};
use crate::error::CliError;
use crate::picture::{self, Depth, Picture, has_extension};
use crate::store::Store;

/// Reconstructs the slices of a file from the frequencies in the mask of a run; other frequencies
/// are ignored. A `.npy` file gets complex pictures, other files get their moduli, in a `.png` file
/// divided by the largest one.
///
/// # Errors
/// When the run has no result yet, or a file cannot be read, reconstructed or written.
pub fn apply(
    run: &Path,
    input: &Path,
    output: &Path,
    options: &ApplyOptions,
    observe: &dyn Fn(ApplyEvent<'_>),
) -> Result<Vec<Applied>, CliError> {
    for (setting, path) in [(&KERNEL, &options.kernel), (&MASK, &options.mask)] {
        if path.is_some() {
            return Err(setting.not_of_run(run, "mask").into());
        }
    }
    let outcome: MaskOutcome = read_result(run)?;
    let settings = MaskSettings::parse(&Store::read_settings(run)?, run)?;
    output_paths::check_different(input, output)?;
    let coils = options.coils.as_deref().or(settings.data.coils.as_deref());
    let kspace = data::read(input, coils, &settings)?;
    let refused = |source| CliError::Frequencies {
        path: input.into(),
        source: Box::new(source),
    };
    let made = (outcome.mask().reconstruct(&kspace, options.accuracy)).map_err(refused)?;
    let shape @ [rows, cols] = kspace.shape();
    let zero = kspace.zero();
    let pictures = made
        .iter()
        .map(|made| zero.from_first(shape, 2, &made.picture));
    if picture::is_array(output) {
        let values: Vec<f64> = pictures.flatten().collect();
        let full = [made.len(), rows, cols];
        let shape = if made.len() == 1 {
            &full[1..]
        } else {
            &full[..]
        };
        array::write(output, shape, &ArrayValues::Complex(values))?;
    } else {
        let moduli = |picture: Vec<f64>| -> Vec<f64> {
            let (samples, _) = picture.as_chunks::<2>();
            samples.iter().map(|s| s[0].hypot(s[1])).collect()
        };
        let mut pages: Vec<Picture> = pictures
            .map(|picture| Picture::new(cols, rows, vec![moduli(picture)]))
            .collect();
        if has_extension(output, "png") {
            let largest = pages.iter().flat_map(|page| &page.channels[0]);
            let largest = largest.copied().fold(f64::MIN_POSITIVE, f64::max);
            for value in pages.iter_mut().flat_map(|page| &mut page.channels[0]) {
                *value /= largest;
            }
        }
        picture::write_pages(output, &pages, options.depth.unwrap_or(Depth::Sixteen))?;
    }
    let mut warnings = Vec::new();
    let is_other = settings.data.kspace.is_some() && zero != outcome.frequency_zero;
    if is_other {
        let name = |zero: FrequencyZero| zero.name();
        warnings.push(format!(
            "the place of frequency zero in {} seems to be `{}`, but was `{}` in the frequencies of \
             the run: if this is wrong, set frequency_zero in bilevel.toml",
            input.display(),
            name(zero),
            name(outcome.frequency_zero)
        ));
    }
    let applied = Applied {
        input: input.into(),
        output: output.into(),
        error: made.iter().map(|made| made.error).fold(0.0, f64::max),
        reached: made.iter().all(|made| made.reached),
        iterations: made.iter().map(|made| made.iterations).sum(),
        warnings,
    };
    observe(ApplyEvent::File(Ok(&applied)));
    Ok(vec![applied])
}
