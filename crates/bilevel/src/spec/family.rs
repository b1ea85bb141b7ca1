//! From the description of a learning problem to its family.

use imaging::Kernel;

use super::colour::WIDTH;
use super::{FamilyInput, ModelSpec, Spec, Values};
use crate::error::SpecError;
use crate::families::{
    Choice, ColourFamily, Deblurring, Family, FamilyKind, FilterChoices, FilterDenoising,
    FilterSet, Inpainting, TvChoices, TvDenoising,
};

impl Spec {
    /// Builds the family from the settings and `input`. Missing values get their defaults.
    ///
    /// # Errors
    /// When the family does not have a named parameter, a parameter is both learned and fixed, a
    /// start is not between its bounds, or the family needs another input.
    pub fn family(&self, input: FamilyInput) -> Result<Family, SpecError> {
        if self.model.colour && self.task == FamilyKind::Sampling {
            return Err(SpecError::Colour { task: self.task });
        }
        if let Some(set) = self.model.filters {
            return self.filter_family(set, input);
        }
        let model = match input {
            FamilyInput::Shape(shape) => self.model.with_width(shape),
            _ => self.model.clone(),
        };
        let model = model.completed(self.task);
        model.check(self.task)?;
        let learns_width = model.learn.iter().any(|name| name == WIDTH);
        let width = learns_width.then(|| model.choice(WIDTH));
        let parts = || model.choices();
        Ok(match (self.task, input) {
            (FamilyKind::Denoise, FamilyInput::None) => {
                let [grey, chroma] = parts();
                if model.colour {
                    let weights = [grey.alpha, chroma.alpha];
                    Family::Colour(ColourFamily::tv(weights, grey.nu, grey.xi))
                } else {
                    Family::Denoising(TvDenoising { choices: grey })
                }
            }
            (FamilyKind::Deblur, input) => {
                let [grey, chroma] = parts();
                let luminance = self.deblurring(grey, &input, width)?;
                if model.colour {
                    let chroma = self.deblurring(chroma, &input, width)?;
                    Family::ColourDeblurring(ColourFamily::new(
                        luminance,
                        chroma,
                        TvChoices::SHARED,
                    ))
                } else {
                    Family::Deblurring(luminance)
                }
            }
            (FamilyKind::Inpaint, FamilyInput::Mask(mask)) => {
                let [grey, chroma] = parts();
                if model.colour {
                    let (choices, shared) = ([grey, chroma], TvChoices::SHARED);
                    Family::ColourInpainting(ColourFamily::inpainting(choices, mask, shared)?)
                } else {
                    let choices = grey;
                    Family::Inpainting(Inpainting { choices, mask })
                }
            }
            (FamilyKind::Sampling, FamilyInput::Frequencies(num_samples)) => {
                Family::Sampling(model.weights(num_samples)?)
            }
            _ => return Err(self.wrong_input()),
        })
    }

    /// The error of an input that does not belong to the family.
    const fn wrong_input(&self) -> SpecError {
        SpecError::Input {
            task: self.task,
            needed: match self.task {
                FamilyKind::Denoise => "neither kernel nor mask",
                FamilyKind::Deblur => "a kernel",
                FamilyKind::Inpaint => "a mask",
                FamilyKind::Sampling => "the number of frequencies",
            },
        }
    }

    /// Builds a family of deblurring with any regulariser.
    fn deblurring<C>(
        &self,
        choices: C,
        input: &FamilyInput,
        width: Option<Choice>,
    ) -> Result<Deblurring<C>, SpecError> {
        let boundary = self.model.boundary.into();
        let kernel = match (input, width) {
            (FamilyInput::Shape(shape), Some(width)) => {
                return Ok(Deblurring::with_width(choices, *shape, width, boundary)?);
            }
            (FamilyInput::Shape(shape), None) => shape.kernel(),
            (FamilyInput::Kernel { values, grid }, None) => Kernel::new(values.clone(), *grid)?,
            (FamilyInput::Kernel { .. }, Some(_)) => return Err(SpecError::Width),
            _ => return Err(self.wrong_input()),
        };
        Ok(Deblurring::new(choices, kernel, boundary))
    }

    /// Builds the family of a filter bank.
    fn filter_family(&self, set: FilterSet, input: FamilyInput) -> Result<Family, SpecError> {
        let ModelSpec {
            learn,
            fixed,
            start,
            lower,
            upper,
            ..
        } = &self.model;
        let named = [fixed, start, lower, upper]
            .into_iter()
            .flat_map(Values::keys);
        if let Some(name) = learn.iter().chain(named).next() {
            return Err(SpecError::FilterParameter { name: name.clone() });
        }
        let [.., (_, xi)] = self.task.fixed();
        let bank = || FilterChoices::new(set, xi);
        let is_colour = self.model.colour;
        Ok(match (self.task, input) {
            (FamilyKind::Sampling, _) => return Err(SpecError::Filters { task: self.task }),
            (FamilyKind::Denoise, FamilyInput::None) if is_colour => {
                Family::ColourFilters(ColourFamily::filters(set)?)
            }
            (FamilyKind::Denoise, FamilyInput::None) => Family::Filters(FilterDenoising::new(set)?),
            (FamilyKind::Deblur, input) => {
                let luminance = self.deblurring(bank()?, &input, None)?;
                if is_colour {
                    let chroma = self.deblurring(bank()?, &input, None)?;
                    Family::ColourFilterDeblurring(ColourFamily::new(luminance, chroma, &[]))
                } else {
                    Family::FilterDeblurring(luminance)
                }
            }
            (FamilyKind::Inpaint, FamilyInput::Mask(mask)) if is_colour => {
                let banks = [bank()?, bank()?];
                Family::ColourFilterInpainting(ColourFamily::inpainting(banks, mask, &[])?)
            }
            (FamilyKind::Inpaint, FamilyInput::Mask(mask)) => {
                let choices = bank()?;
                Family::FilterInpainting(Inpainting { choices, mask })
            }
            _ => return Err(self.wrong_input()),
        })
    }
}
