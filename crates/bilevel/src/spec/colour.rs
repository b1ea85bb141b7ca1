//! The parameters of models, which depend on whether pictures are in colour.

use imaging::{KernelShape, VariableKernel};

use super::{ModelSpec, Values};
use crate::families::{Choice, FamilyKind, TvChoices};

/// The name of the weight of grey pictures, which stands for both weights of pictures in colour.
const ALPHA: &str = "alpha";
/// The name of the width of a blur.
pub(super) const WIDTH: &str = "width";
/// The names of the weights of luminance and chroma.
const WEIGHTS: [&str; 2] = ["alpha_luminance", "alpha_chroma"];

impl ModelSpec {
    /// Returns the names of the parameters that can be learned, in the order of the family.
    #[must_use]
    pub fn learnable(&self, task: FamilyKind) -> &'static [&'static str] {
        match (self.colour, task) {
            (true, FamilyKind::Deblur) => &["alpha_luminance", "alpha_chroma", "nu", "xi", "width"],
            (true, _) => &["alpha_luminance", "alpha_chroma", "nu", "xi"],
            (false, _) => task.learnable(),
        }
    }

    /// Returns the names of the parameters that are learned by default.
    #[must_use]
    pub fn learned(&self, task: FamilyKind) -> Vec<&'static str> {
        let learned = task.learned();
        let names = self.learnable(task).iter().copied();
        names
            .filter(|name| learned.contains(&grey_name(name)))
            .collect()
    }

    /// Returns the parameters that can be fixed, with their default values.
    #[must_use]
    pub fn fixable(&self, task: FamilyKind) -> Vec<(&'static str, f64)> {
        let fixable = task.fixed();
        if !self.colour {
            return fixable.to_vec();
        }
        let names = self.learnable(task).iter();
        let default = |name: &str| fixable.iter().find(|(grey, _)| *grey == grey_name(name));
        names
            .filter_map(|name| Some((*name, default(name)?.1)))
            .collect()
    }

    /// Returns the default start, lower bound and upper bound of a learned parameter.
    #[must_use]
    pub fn range(&self, task: FamilyKind, name: &str) -> [f64; 3] {
        task.range(if self.colour { grey_name(name) } else { name })
    }

    /// Returns the settings with the names of the family: in colour, `alpha` becomes both weights,
    /// except for one that is named itself.
    #[must_use]
    pub fn with_names(&self) -> Self {
        let mut model = self.clone();
        if !self.colour {
            return model;
        }
        let is_learned = |learn: &[String], name: &str| learn.iter().any(|known| known == name);
        if let Some(at) = self.learn.iter().position(|name| name == ALPHA) {
            let is_new =
                |name: &&&str| !is_learned(&self.learn, name) && !self.fixed.contains_key(**name);
            let weights = WEIGHTS.iter().filter(is_new);
            let weights: Vec<String> = weights.map(|name| (*name).to_owned()).collect();
            model.learn.splice(at..=at, weights);
        }
        if let Some(value) = model.fixed.remove(ALPHA) {
            for name in WEIGHTS.iter().filter(|name| !is_learned(&self.learn, name)) {
                model.fixed.entry((*name).into()).or_insert(value);
            }
        }
        // A range of a parameter that is not learned is kept, so that it is refused.
        let learned = WEIGHTS.map(|name| is_learned(&model.learn, name));
        for values in [&mut model.start, &mut model.lower, &mut model.upper] {
            if let Some(value) = values.remove(ALPHA) {
                for (name, is_learned) in WEIGHTS.iter().zip(learned) {
                    if is_learned || learned == [false; 2] {
                        values.entry((*name).into()).or_insert(value);
                    }
                }
            }
        }
        model
    }

    /// Returns the choice for a parameter from completed and checked settings.
    pub(super) fn choice(&self, name: &str) -> Choice {
        match self.fixed.get(name) {
            Some(value) => Choice::Fixed(*value),
            None => Choice::Learned {
                start: self.start[name].log10(),
                lower: self.lower[name].log10(),
                upper: self.upper[name].log10(),
            },
        }
    }

    /// Returns the parameters of the total variation from completed and checked settings: those of
    /// grey pictures twice, or those of luminance and those of chroma.
    pub(super) fn choices(&self) -> [TvChoices; 2] {
        let weights = if self.colour { WEIGHTS } else { [ALPHA; 2] };
        weights.map(|name| TvChoices {
            alpha: self.choice(name),
            nu: self.choice("nu"),
            xi: self.choice("xi"),
        })
    }

    /// Fills in the start and the bounds of the width of a blur, if it is learned: that of a given
    /// kernel, half of it and twice as much.
    #[must_use]
    pub fn with_width(&self, shape: KernelShape) -> Self {
        let mut model = self.clone();
        let is_learned = self.learn.iter().any(|name| name == WIDTH);
        if let Some(width) = shape.width().filter(|_| is_learned) {
            let start = *model.start.entry(WIDTH.into()).or_insert(width);
            let set = |values: &mut Values, default: f64| {
                values.entry(WIDTH.into()).or_insert(default);
            };
            set(
                &mut model.lower,
                (0.5 * start).max(VariableKernel::MIN_WIDTH).min(start),
            );
            set(&mut model.upper, 2.0 * start);
        }
        model
    }
}

/// Returns the name that a parameter has for grey pictures.
fn grey_name(name: &str) -> &str {
    if WEIGHTS.contains(&name) { ALPHA } else { name }
}
