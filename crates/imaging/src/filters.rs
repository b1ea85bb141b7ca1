//! Filter banks: regularisers that penalise the responses of several filters.

mod basis;
mod hessian;
mod limited;
mod metric;
mod mixed;
mod mixing;
mod potential;
mod regularizer;
mod roots;
mod spectrum;
mod subgradient;
mod sweep;
#[cfg(test)]
mod tests;
mod vector;

pub use limited::{FreePotential, LimitedBank};
pub use potential::TwoRoots;
pub use regularizer::FilterRegularizer;
pub(crate) use roots::{FilterWeights, root_remainder};

use basis::Basis;
use mixing::{Mixing, num_filters, potential_of};
use spectrum::Spectrum;

use crate::error::ModelError;

/// A bank of square filters, each with a [potential](TwoRoots) of its responses:
/// `$R(x) = \sum_k\sum_j \varphi_k((c_k * x)_j)$`.
///
/// The filters are those of the cosine basis of 3 x 3, 5 x 5 or 7 x 7 pixels without the constant
/// one ([`dct`](Self::dct)), or combinations of them ([`learned`](Self::learned)). Pictures are
/// mirrored at their borders.
///
/// **Constants.** With the weak convexity `$m_k$` of each potential and the frequency responses
/// `$\hat c_k$`, `$R$` is weakly convex with the constant `$\sup_w\sum_k m_k|\hat c_k(w)|^2$`: the
/// sum of `$R$` and half of this constant times `$\|x\|^2$` is convex. In the same way, its
/// gradient has the Lipschitz constant
/// `$\sup_w\sum_k(\alpha_k/\nu_k - \beta_k/\omega_k)|\hat c_k(w)|^2$`. Both suprema are
/// computed on a grid of frequencies and enlarged by what may lie between its points, so they are
/// proved. Denoising is strongly convex if the first constant is below 1.
#[derive(Clone, Debug, PartialEq)]
pub struct FilterBank {
    basis: Basis,
    mixing: Option<Mixing>,
    /// The potential of each filter.
    potentials: Vec<TwoRoots>,
    /// The Euclidean norm of each filter.
    norms: Vec<f64>,
    weak_convexity: f64,
    lipschitz: f64,
    /// A bound on `$\sum_k\|C_kx\|^2/\|x\|^2$`.
    norm_squared: f64,
}

impl FilterBank {
    /// The sizes of filters, in pixels along each axis.
    pub const SIZES: [usize; 3] = [3, 5, 7];

    /// Creates a bank of the filters of the cosine basis. There is one potential for each of the
    /// `size * size - 1` filters, ordered by their frequency down the columns and then along the
    /// rows.
    ///
    /// # Errors
    /// If the size is not one of [`SIZES`](Self::SIZES), the number of potentials is wrong, or a
    /// potential is out of range.
    pub fn dct(size: usize, potentials: Vec<TwoRoots>) -> Result<Self, ModelError> {
        Self::new(size, None, potentials)
    }

    /// Creates a bank of learned filters.
    ///
    /// The first filters combine the cosine filters that have the symmetry of one of them, so they
    /// are even or odd along each axis. Then come pairs of slanted filters, the sum and the
    /// difference of two such combinations with different symmetries; the two filters of a pair
    /// have one potential. `coefficients` holds the coefficients of all combinations, one after the
    /// other. [`num_potentials`](Self::num_potentials) and
    /// [`num_coefficients`](Self::num_coefficients) are the numbers of both.
    ///
    /// # Errors
    /// As for [`dct`](Self::dct), and if the number of coefficients is wrong or one is not finite.
    pub fn learned(
        size: usize,
        coefficients: Vec<f64>,
        potentials: Vec<TwoRoots>,
    ) -> Result<Self, ModelError> {
        Self::new(size, Some(coefficients), potentials)
    }

    fn new(
        size: usize,
        coefficients: Option<Vec<f64>>,
        potentials: Vec<TwoRoots>,
    ) -> Result<Self, ModelError> {
        let basis = checked_basis(size)?;
        let found = potentials.len();
        let expected = Self::num_potentials(size, coefficients.is_some())?;
        if expected != found {
            return Err(ModelError::WrongLength {
                name: "potentials",
                expected,
                found,
            });
        }
        for potential in &potentials {
            potential.check()?;
        }
        let potentials: Vec<TwoRoots> = (0..num_filters(&basis, coefficients.is_some()))
            .map(|filter| potentials[potential_of(&basis, filter)])
            .collect();
        let mixing = (coefficients.map(|entries| Mixing::new(&basis, entries))).transpose()?;
        let norms = match &mixing {
            None => vec![1.0; potentials.len()],
            Some(mixing) => mixing.squared_norms().into_iter().map(f64::sqrt).collect(),
        };
        let spectrum = Spectrum {
            basis: &basis,
            mixing: mixing.as_ref(),
        };
        let supremum = |weight: fn(&TwoRoots) -> f64| {
            let weights: Vec<f64> = potentials.iter().map(weight).collect();
            spectrum.supremum(&weights)
        };
        Ok(Self {
            weak_convexity: supremum(|potential| potential.weak_convexity()),
            lipschitz: supremum(|potential| potential.largest_curvature()),
            norm_squared: supremum(|_| 1.0),
            norms,
            basis,
            mixing,
            potentials,
        })
    }

    /// Returns the number of coefficients of [`learned`](Self::learned) filters.
    ///
    /// # Errors
    /// If the size is not one of [`SIZES`](Self::SIZES).
    pub fn num_coefficients(size: usize) -> Result<usize, ModelError> {
        Ok(Mixing::num_entries(&checked_basis(size)?))
    }

    /// Returns the coefficients with which the filters of [`learned`](Self::learned) are those of
    /// the cosine basis, and the slanted ones sums and differences of two of them.
    ///
    /// # Errors
    /// If the size is not one of [`SIZES`](Self::SIZES).
    pub fn cosine_coefficients(size: usize) -> Result<Vec<f64>, ModelError> {
        Ok(Mixing::identity(&checked_basis(size)?))
    }

    /// Returns the number of potentials of a bank of cosine or of learned filters.
    ///
    /// # Errors
    /// If the size is not one of [`SIZES`](Self::SIZES).
    pub fn num_potentials(size: usize, is_learned: bool) -> Result<usize, ModelError> {
        let basis = checked_basis(size)?;
        let last = num_filters(&basis, is_learned) - 1;
        Ok(potential_of(&basis, last) + 1)
    }

    /// The number of pixels of a filter along each axis.
    #[must_use]
    pub const fn size(&self) -> usize {
        self.basis.size
    }

    /// The potential of each filter.
    #[must_use]
    pub fn potentials(&self) -> &[TwoRoots] {
        &self.potentials
    }

    /// Returns the taps of each filter, row by row.
    #[must_use]
    pub fn taps(&self) -> Vec<Vec<f64>> {
        let basis: Vec<Vec<f64>> = (1..self.basis.num_filters())
            .map(|index| self.basis.taps(index).collect())
            .collect();
        let Some(mixing) = &self.mixing else {
            return basis;
        };
        let mut all: Vec<Vec<f64>> = mixing
            .rows()
            .map(|(row, members)| {
                let mut taps = vec![0.0; self.basis.num_filters()];
                for (coefficient, member) in row.iter().zip(members) {
                    for (tap, entry) in taps.iter_mut().zip(&basis[*member]) {
                        *tap += coefficient * entry;
                    }
                }
                taps
            })
            .collect();
        mixing.slant(&mut all);
        all
    }

    /// The proved constant of the weak convexity.
    #[must_use]
    pub const fn weak_convexity(&self) -> f64 {
        self.weak_convexity
    }

    /// The proved Lipschitz constant of the gradient.
    #[must_use]
    pub const fn lipschitz(&self) -> f64 {
        self.lipschitz
    }
}

fn checked_basis(size: usize) -> Result<Basis, ModelError> {
    if FilterBank::SIZES.contains(&size) {
        Ok(Basis::new(size))
    } else {
        Err(ModelError::OutOfRange {
            name: "size",
            found: size as f64,
            needed: "3, 5 or 7",
        })
    }
}
