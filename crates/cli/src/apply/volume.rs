//! Reconstructions of volumes.

use std::path::Path;

use bilevel::Reconstruction;

use super::{Applied, Reconstructor, unit_warning};
use crate::error::CliError;
use crate::file::Nan;
use crate::picture::{self, Colour};
use crate::task::pictures::{Axes, grid};

impl Reconstructor {
    /// Reconstructs a file whose pages are the slices of one volume.
    pub(super) fn volume(&self, input: &Path, output: &Path) -> Result<Applied, CliError> {
        let mut pages = picture::read_stack(input, Colour::Channels, Nan::Missing)?;
        picture::check_output(output, &pages)?;
        let slices = pages.len();
        let all = pages.iter().map(|page| page.picture.clone()).collect();
        let whole = picture::stacked(input, all)?;
        let grid = grid(Axes::Volume { slices }, &whole);
        let mut applied = self.applied(input, output);
        if self.config.data.source().is_none() {
            let values = whole.channels.iter().flatten().copied();
            let warning = unit_warning(&input.display().to_string(), values);
            applied.warnings.extend(warning);
        }
        let missing = self.loaded.missing(&input.display().to_string(), &whole)?;
        applied.warnings.extend(missing);
        let values = self.values_of(input, whole.channels.len())?;
        let made = self.channels(&mut applied, input, grid, &values, whole.channels)?;
        for (index, page) in pages.iter_mut().enumerate() {
            let len = page.picture.width * page.picture.height;
            let slice = |made: &Reconstruction| made.x[index * len..][..len].to_vec();
            page.picture.channels = made.iter().map(slice).collect();
            page.samples = page.samples.for_output(self.depth, output);
        }
        picture::write_typed(output, &pages)?;
        Ok(applied)
    }
}
