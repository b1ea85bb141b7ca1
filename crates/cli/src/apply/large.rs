//! Large pictures, reconstructed by tiles.

use std::path::Path;

use bilevel::{LowerLevel, ReconstructionError, reconstruct};
use imaging::{Grid, LocalModel, Region, Tiling, minimise_by_tiles};
use lowlevel::{ErrorBound, Stop, StronglyConvex, norm};

use super::{Applied, Reconstructor, size, unit_warning};
use crate::config::{Colour, TaskKind};
use crate::denoise::large::for_each;
use crate::error::CliError;
use crate::picture::large;

/// The gradient of a model of denoising at a pixel depends on pixels within this distance: 2 for
/// total variation, and one less than the size of filters, which is 7 at most.
const REACH: usize = 8;
/// A small grid: the constants of a model do not depend on its size.
const SMALL: Grid = Grid::image(16, 16);

impl Reconstructor {
    /// Whether the picture in a file is reconstructed by tiles. Only denoising of grey
    /// pictures and of channels is local. A picture with parameters of its own fits into memory,
    /// because they were learned from it.
    pub(super) fn needs_tiles(&self, input: &Path) -> Result<bool, CliError> {
        let is_local = self.config.task == TaskKind::Denoise
            && !self.values.is_per_picture()
            && self.config.data.colour != Some(Colour::Opponent);
        Ok(is_local && self.memory.needs_tiles(input)?)
    }

    /// Reconstructs all channels of a large picture by tiles.
    pub(super) fn large(&self, input: &Path, output: &Path) -> Result<Applied, CliError> {
        let mut picture = large::read(input)?;
        large::check_output(output, picture.channels.len())?;
        let mut applied = self.applied(input, output);
        let grid = Grid::image(picture.height, picture.width);
        let target = ErrorBound::new(self.accuracy * size(grid)).unwrap_or(ErrorBound::UNKNOWN);
        let white = picture.samples.white().unwrap_or(1.0);
        if self.config.data.source().is_none() {
            let numbers = picture.channels.iter().flatten();
            let values = numbers.map(|number| f64::from(*number) / white);
            let name = input.display().to_string();
            applied.warnings.extend(unit_warning(&name, values));
        }
        let camera = self.config.data.camera();
        let out = picture.samples.for_output(self.depth, output);
        let scale = out.white().unwrap_or(1.0);
        let curvature = self
            .curvature()
            .map_err(|source| CliError::Reconstruction {
                path: input.into(),
                source,
            })?;
        let minimiser = |grid: Grid, data: &[f64], target: ErrorBound| {
            let stop = Stop::accuracy(target).with_max_iterations(self.max_iterations);
            let family = &self.loaded.family;
            let made = reconstruct(family, self.values.shared(), grid, data, self.solver, stop)?;
            Ok((made.x, made.solved.iterations))
        };
        let gradient = |grid: Grid, data: &[f64], x: &[f64], gradient: &mut [f64]| {
            let data = self.loaded.family.prepare(grid, data);
            let data = data.map_err(ReconstructionError::Model)?;
            let objective = self.loaded.family.objective(self.values.shared(), &data);
            let objective = objective.map_err(ReconstructionError::Model)?;
            objective.gradient(x, gradient, &mut objective.scratch());
            Ok(objective.gradient_rounding(norm(x), norm(gradient)))
        };
        for channel in 0..picture.channels.len() {
            let plane = std::mem::take(&mut picture.channels[channel]);
            let width = picture.width;
            let data = |region: &Region, data: &mut Vec<f64>| {
                for row in region.rows.clone() {
                    let row = &plane[row * width..][region.cols.clone()];
                    data.extend(row.iter().map(|number| {
                        let value = f64::from(*number) / white;
                        camera.map_or(value, |camera| camera.transform_value(value))
                    }));
                }
            };
            let model = LocalModel {
                curvature,
                reach: REACH,
                minimiser: &minimiser,
                gradient: &gradient,
            };
            let tiling = Tiling::default();
            let made = minimise_by_tiles(grid, &data, &model, target, tiling, &for_each);
            let made = made.map_err(|source| CliError::Large {
                path: input.into(),
                source,
            })?;
            let error = made.error.value() / size(grid);
            applied.error = applied.error.max(error);
            applied.iterations += made.iterations + made.sweeps;
            picture.channels[channel] = made.x;
        }
        for value in picture.channels.iter_mut().flatten() {
            #[expect(clippy::cast_possible_truncation, reason = "rounding is meant")]
            let number = {
                let x = f64::from(*value);
                (camera.map_or(x, |camera| camera.inverse_value(x)) * scale) as f32
            };
            *value = number;
        }
        picture.samples = out;
        large::write(output, picture)?;
        Ok(applied)
    }

    fn curvature(&self) -> Result<lowlevel::Curvature, ReconstructionError> {
        let family = &self.loaded.family;
        let data = family.prepare(SMALL, &vec![0.0; SMALL.len()]);
        let data = data.map_err(ReconstructionError::Model)?;
        let objective = family.objective(self.values.shared(), &data);
        Ok(objective.map_err(ReconstructionError::Model)?.curvature())
    }
}
