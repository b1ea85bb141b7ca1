//! The names of families and the defaults of their parameters.

use std::fmt;

use imaging::TvParameters;

use super::FourierWeights;

/// The name of a family.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum FamilyKind {
    /// Removing noise: [`TvDenoising`](super::TvDenoising).
    #[default]
    Denoise,
    /// Choosing the frequencies to measure: [`FourierWeights`].
    Sampling,
    /// Removing a known blur: [`TvDeblurring`](super::TvDeblurring).
    Deblur,
    /// Filling in missing pixels: [`TvInpainting`](super::TvInpainting).
    Inpaint,
}

impl FamilyKind {
    /// All families.
    pub const ALL: [Self; 4] = [Self::Denoise, Self::Sampling, Self::Deblur, Self::Inpaint];

    /// Returns the name in settings.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Denoise => "denoise",
            Self::Sampling => "sampling",
            Self::Deblur => "deblur",
            Self::Inpaint => "inpaint",
        }
    }

    /// Returns the names of the parameters that can be learned, in the order of the family. For
    /// sampling, `theta` stands for the parameters of all frequencies.
    #[must_use]
    pub const fn learnable(self) -> &'static [&'static str] {
        match self {
            Self::Sampling => &["theta"],
            Self::Deblur => &["alpha", "nu", "xi", "width"],
            _ => &["alpha", "nu", "xi"],
        }
    }

    /// Returns the names of the parameters that are learned by default. The best `xi` of deblurring
    /// is hardly better than any small one, but reconstructions take ever longer as it shrinks. The
    /// width of a blur is usually known.
    #[must_use]
    pub const fn learned(self) -> &'static [&'static str] {
        match self {
            Self::Deblur => &["alpha", "nu"],
            _ => self.learnable(),
        }
    }

    /// Returns the parameters that can be fixed, with their default values. The values are the
    /// paper's, except for `alpha` of pictures, which the paper always learns: 0.1 is close to its
    /// learned value. Those of deblurring are good for photographs with noise of 0.01.
    #[must_use]
    pub const fn fixed(self) -> [(&'static str, f64); 3] {
        let TvParameters { alpha, nu, xi } = match self {
            Self::Sampling => FourierWeights::TV,
            Self::Deblur => TvParameters {
                alpha: 3e-4,
                nu: 1e-2,
                xi: 1e-4,
            },
            _ => TvParameters {
                alpha: 0.1,
                nu: 1e-3,
                xi: 1e-3,
            },
        };
        [("alpha", alpha), ("nu", nu), ("xi", xi)]
    }

    /// Returns the default start, lower bound and upper bound of a learned parameter: the paper's,
    /// as values of the parameter. Those of deblurring are ours: an `alpha` of 1 removes
    /// everything, and a smaller `nu` hardly improves pictures, but takes longer. The `width` of a
    /// blur starts at that of its kernel ([`ModelSpec::with_width`](crate::ModelSpec::with_width)).
    #[must_use]
    pub fn range(self, name: &str) -> [f64; 3] {
        match (self, name) {
            (Self::Sampling, _) => [0.5, FourierWeights::LOWER, FourierWeights::UPPER],
            (Self::Deblur, "alpha") => [1e-3, 1e-7, 1e7],
            (Self::Deblur, "nu") => [1e-2, 1e-4, 1.0],
            (Self::Deblur, "width") => [2.0, 1.0, 4.0],
            (_, "alpha") => [1.0, 1e-7, 1e7],
            _ => [0.1, 1e-7, 1.0],
        }
    }
}

impl fmt::Display for FamilyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
