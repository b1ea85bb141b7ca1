use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

use imaging::{
    Differences, FilterBank, FilterRegularizer, FreePotential, Grid, Identity, LimitedBank,
    LinearOperator, Measurement, ModelError, Variational, VariationalScratch, Weights,
};

use super::choices::{Choices, ModelDerivatives};
use super::{FamilyKind, ImageData};
use crate::criterion::Forward;
use crate::derivatives::Derivatives;
use crate::error::BoxError;
use crate::lower::LowerLevel;
use crate::parameter::{Map, Parameter};

/// The filters of a bank: their size, and whether they are learned.
///
/// ```
/// use bilevel::FilterSet;
/// let set: FilterSet = "learned7".parse()?;
/// assert_eq!((set.size, set.is_learned), (7, true));
/// # Ok::<(), bilevel::BoxError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "String", into = "String"))]
pub struct FilterSet {
    /// The number of pixels along each axis: 3, 5 or 7.
    pub size: usize,
    /// Whether filters are learned combinations of cosine filters, or cosine filters.
    pub is_learned: bool,
}

impl FilterSet {
    /// The cosine filters of 3 x 3 pixels.
    pub const DCT3: Self = Self {
        size: 3,
        is_learned: false,
    };
    /// The cosine filters of 5 x 5 pixels.
    pub const DCT5: Self = Self {
        size: 5,
        is_learned: false,
    };

    /// The names of all sets.
    pub const NAMES: [&'static str; 6] =
        ["dct3", "dct5", "dct7", "learned3", "learned5", "learned7"];

    /// The number of potentials, or zero if there are no filters of this size.
    #[must_use]
    pub fn num_potentials(self) -> usize {
        FilterBank::num_potentials(self.size, self.is_learned).unwrap_or_default()
    }
}

impl fmt::Display for FilterSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.is_learned { "learned" } else { "dct" };
        write!(f, "{kind}{}", self.size)
    }
}

impl From<FilterSet> for String {
    fn from(set: FilterSet) -> Self {
        set.to_string()
    }
}

impl TryFrom<String> for FilterSet {
    type Error = BoxError;

    fn try_from(name: String) -> Result<Self, BoxError> {
        name.parse()
    }
}

impl FromStr for FilterSet {
    type Err = BoxError;

    fn from_str(name: &str) -> Result<Self, BoxError> {
        let sets = FilterBank::SIZES
            .into_iter()
            .flat_map(|size| [false, true].map(|is_learned| Self { size, is_learned }));
        let found = sets.into_iter().find(|set| set.to_string() == name);
        let known = Self::NAMES.join(", ");
        found.ok_or_else(|| {
            format!("there are no filters {name:?}; the known ones are {known}").into()
        })
    }
}

/// The largest weak convexity of the bank of a denoising problem.
const LIMIT: f64 = 1.0 - FilterDenoising::LEAST_CONVEXITY;

/// The name, the map, the start and the bounds of a parameter of all potentials.
type Block = (&'static str, Map, f64, [f64; 2]);

/// The parameters of a bank: those of the potentials of all filters, and the coefficients of
/// learned filters.
#[derive(Debug)]
struct BankParameters {
    set: FilterSet,
    /// All blocks, or the first two: potentials without a second root are convex.
    blocks: &'static [Block],
    start: Vec<f64>,
    /// The bank for the last values of the parameters, which all images share.
    last: Mutex<Option<(Vec<f64>, Arc<LimitedBank>)>>,
}

impl BankParameters {
    fn new(set: FilterSet, blocks: &'static [Block]) -> Result<Self, ModelError> {
        let count = set.num_potentials();
        let potentials = blocks.iter().flat_map(|(.., start, _)| vec![*start; count]);
        let mut start: Vec<f64> = potentials.collect();
        if set.is_learned {
            start.extend(FilterBank::cosine_coefficients(set.size)?);
        } else {
            FilterBank::num_coefficients(set.size)?;
        }
        Ok(Self {
            set,
            blocks,
            start,
            last: Mutex::new(None),
        })
    }

    fn set_start(&mut self, values: &[f64]) -> Result<(), BoxError> {
        self.bank(values)?;
        let count = self.set.num_potentials();
        for (index, (start, value)) in self.start.iter_mut().zip(values).enumerate() {
            *start = match self.blocks.get(index / count) {
                Some((.., [lower, upper])) => value.clamp(*lower, *upper),
                None => *value,
            };
        }
        Ok(())
    }

    fn parameters(&self) -> Vec<Parameter> {
        let count = self.set.num_potentials();
        let (potentials, coefficients) = self.start.split_at(self.blocks.len() * count);
        let block = |name: &str, map: Map, start: &[f64], [lower, upper]: [f64; 2]| Parameter {
            name: name.into(),
            shape: vec![start.len()],
            map,
            start: start
                .iter()
                .map(|value| map.theta(*value))
                .collect::<Vec<_>>()
                .into(),
            lower: map.theta(lower),
            upper: map.theta(upper),
        };
        let mut parameters: Vec<Parameter> = (self.blocks.iter())
            .zip(potentials.chunks_exact(count))
            .map(|((name, map, _, bounds), start)| block(name, *map, start, *bounds))
            .collect();
        if self.set.is_learned {
            parameters.push(block("filters", Map::Identity, coefficients, [-4.0, 4.0]));
        }
        parameters
    }

    fn bank(&self, values: &[f64]) -> Result<Arc<LimitedBank>, BoxError> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        match &*last {
            Some((at, bank)) if at == values => return Ok(Arc::clone(bank)),
            _ => (),
        }
        if values.len() != self.start.len() {
            let (expected, found) = (self.start.len(), values.len());
            return Err(format!("{found} values were given, but {expected} are needed").into());
        }
        let count = self.set.num_potentials();
        let (potentials, coefficients) = values.split_at(self.blocks.len() * count);
        let entry = |block: usize, k: usize| potentials.get(block * count + k).copied();
        let free = (0..count)
            .map(|k| FreePotential {
                alpha: potentials[k],
                nu: potentials[count + k],
                share: entry(2, k).unwrap_or(0.0),
                spread: entry(3, k).unwrap_or(1.0),
            })
            .collect();
        let coefficients = self.set.is_learned.then_some(coefficients);
        let bank = Arc::new(LimitedBank::new(self.set.size, coefficients, free, LIMIT)?);
        *last = Some((values.to_vec(), Arc::clone(&bank)));
        Ok(bank)
    }

    /// Returns the derivatives of a model with respect to the parameters.
    fn derivatives<'a, A: LinearOperator>(
        &self,
        values: &[f64],
        objective: &'a Variational<'_, A, FilterRegularizer>,
    ) -> Option<ModelDerivatives<'a, A>> {
        Some(Box::new(FilterDerivatives {
            bank: self.bank(values).ok()?,
            num_blocks: self.blocks.len(),
            num_potentials: self.set.num_potentials(),
            filters: objective.regularizer(),
        }))
    }
}

/// The family of denoising problems for pictures with a filter bank, with the objective
/// `$\frac12\|x - y\|^2 + \sum_k\sum_j\varphi_k((c_k * x)_j)$`.
///
/// The learned parameters are those of the potentials of all filters
/// ([`FreePotential`]): all numbers `alpha`, then `nu`, `share` and `spread`, and for learned
/// filters their coefficients `filters`. The strong convexity is at least [`Self::LEAST_CONVEXITY`]
/// for all values of the parameters.
#[derive(Debug)]
pub struct FilterDenoising(BankParameters);

impl FilterDenoising {
    /// The strong convexity `$\mu$` that the objective has for all values of the parameters.
    pub const LEAST_CONVEXITY: f64 = 0.1;

    /// The starts are for noise of about a tenth of the range of a picture. A smaller `nu` hardly
    /// improves pictures, but reconstructions take longer.
    const BLOCKS: &'static [Block] = &[
        ("alpha", Map::Log10, 0.01, [1e-6, 1.0]),
        ("nu", Map::Log10, 0.01, [2e-3, 0.5]),
        ("share", Map::Identity, 0.75, [0.0, 1.0]),
        ("spread", Map::Log10, 10.0, [1.1, 300.0]),
    ];

    /// Creates the family with its default start.
    ///
    /// # Errors
    /// If the size of the filters is not 3, 5 or 7.
    pub fn new(set: FilterSet) -> Result<Self, ModelError> {
        Ok(Self(BankParameters::new(set, Self::BLOCKS)?))
    }

    /// Replaces the start by these values of the parameters, moved into their bounds.
    ///
    /// # Errors
    /// If the number of values is wrong or a value is not finite.
    pub fn with_start(mut self, values: &[f64]) -> Result<Self, BoxError> {
        self.0.set_start(values)?;
        Ok(self)
    }

    /// The filters.
    #[must_use]
    pub const fn set(&self) -> FilterSet {
        self.0.set
    }

    /// Returns the bank for these values of the parameters.
    ///
    /// # Errors
    /// If the number of values is wrong or a value is out of range.
    pub fn bank(&self, values: &[f64]) -> Result<Arc<LimitedBank>, BoxError> {
        self.0.bank(values)
    }
}

/// The objective of [`FilterDenoising`].
pub type FilterObjective<'a> = Variational<'a, Identity, FilterRegularizer>;

impl LowerLevel for FilterDenoising {
    type Data = ImageData;
    type Scratch = VariationalScratch<<Identity as LinearOperator>::Scratch>;
    type Objective<'a> = FilterObjective<'a>;

    fn parameters(&self) -> Vec<Parameter> {
        self.0.parameters()
    }

    fn prepare(&self, grid: Grid, data: &[f64]) -> Result<ImageData, BoxError> {
        ImageData::new(grid, data)
    }

    fn objective<'a>(
        &'a self,
        values: &[f64],
        data: &'a ImageData,
    ) -> Result<FilterObjective<'a>, BoxError> {
        let bank = self.bank(values)?;
        let identity = Identity::new(data.grid);
        model(&bank, identity, &data.values, Weights::Uniform, 0.0)
    }

    /// Starts at the data.
    fn cold_start(&self, data: &ImageData, x: &mut [f64]) {
        x.copy_from_slice(data.values.values());
    }

    fn derivatives<'a, 'b>(
        &'a self,
        values: &'a [f64],
        objective: &'a FilterObjective<'b>,
    ) -> Option<Box<dyn Derivatives<Self::Scratch> + 'a>>
    where
        Self: 'b,
    {
        self.0.derivatives(values, objective)
    }

    fn forward<'a>(&'a self, _values: &[f64], _data: &'a ImageData) -> Option<Forward<'a>> {
        Some(Forward::identity())
    }

    fn kind(&self) -> Option<FamilyKind> {
        Some(FamilyKind::Denoise)
    }
}

/// Returns the model of a measurement by any operator with a filter bank.
fn model<'a, A: LinearOperator>(
    bank: &LimitedBank,
    operator: A,
    data: &'a Measurement,
    weights: Weights<'a>,
    xi: f64,
) -> Result<Variational<'a, A, FilterRegularizer>, BoxError> {
    let filters = FilterRegularizer::new(Arc::clone(bank.bank()), operator.domain())?;
    Ok(Variational::new(operator, data, weights, filters, 1.0, xi)?)
}

/// A convex filter bank as the regulariser of a family, with the objective
/// `$\dots + \sum_k\alpha_k\sum_j\sqrt{(c_k * x)_j^2 + \nu_k^2} + \frac{\xi}{2}\|x\|^2$`.
///
/// Data that do not determine the picture, as those of a blur or with missing pixels, cannot make
/// up for potentials that are not convex. So there is no second root, and `$\mu \ge \xi$`. The
/// learned parameters are all numbers `alpha`, then all numbers `nu`, and for learned filters their
/// coefficients `filters`; `$\xi$` is fixed.
#[derive(Debug)]
pub struct FilterChoices {
    bank: BankParameters,
    xi: f64,
}

impl FilterChoices {
    /// The starts are for noise of about a hundredth of the range of a picture.
    const BLOCKS: &'static [Block] = &[
        ("alpha", Map::Log10, 1e-4, [1e-8, 1.0]),
        ("nu", Map::Log10, 0.01, [1e-3, 0.5]),
    ];

    /// Creates the bank with its default start, with the weight `$\xi$`.
    ///
    /// # Errors
    /// If the size of the filters is not 3, 5 or 7.
    pub fn new(set: FilterSet, xi: f64) -> Result<Self, ModelError> {
        let bank = BankParameters::new(set, Self::BLOCKS)?;
        Ok(Self { bank, xi })
    }

    /// Replaces the start by these values of the parameters, moved into their bounds.
    ///
    /// # Errors
    /// If the number of values is wrong or a value is not finite.
    pub fn with_start(mut self, values: &[f64]) -> Result<Self, BoxError> {
        self.bank.set_start(values)?;
        Ok(self)
    }

    /// The filters.
    #[must_use]
    pub const fn set(&self) -> FilterSet {
        self.bank.set
    }

    /// The weight `$\xi$`.
    #[must_use]
    pub const fn xi(&self) -> f64 {
        self.xi
    }

    /// Returns the bank for these values of the parameters.
    ///
    /// # Errors
    /// If the number of values is wrong or a value is out of range.
    pub fn bank(&self, values: &[f64]) -> Result<Arc<LimitedBank>, BoxError> {
        self.bank.bank(values)
    }
}

impl Choices for FilterChoices {
    type Regularizer = FilterRegularizer;

    fn parameters(&self) -> Vec<Parameter> {
        self.bank.parameters()
    }

    fn model<'a, A: LinearOperator>(
        &self,
        values: &[f64],
        operator: A,
        data: &'a Measurement,
        weights: Weights<'a>,
        _differences: Differences,
    ) -> Result<Variational<'a, A, FilterRegularizer>, BoxError> {
        model(&*self.bank(values)?, operator, data, weights, self.xi)
    }

    fn derivatives<'a, A: LinearOperator>(
        &'a self,
        values: &'a [f64],
        objective: &'a Variational<'_, A, FilterRegularizer>,
    ) -> Option<ModelDerivatives<'a, A>> {
        self.bank.derivatives(values, objective)
    }
}

/// The derivatives with respect to the parameters of a bank.
#[derive(Debug)]
struct FilterDerivatives<'a> {
    bank: Arc<LimitedBank>,
    num_blocks: usize,
    num_potentials: usize,
    filters: &'a FilterRegularizer,
}

/// The largest number of potentials.
const MAX_POTENTIALS: usize = 69;

impl<S> Derivatives<S> for FilterDerivatives<'_> {
    fn mixed_product(&self, x: &[f64], q: &[f64], out: &mut [f64], _scratch: &mut S) {
        let count = self.num_potentials;
        let mut by_potential = [[0.0; 4]; MAX_POTENTIALS];
        let by_potential = &mut by_potential[..count];
        let (blocks, by_coefficient) = out.split_at_mut(self.num_blocks * count);
        (self.filters).mixed_products(x, q, by_potential, by_coefficient);
        self.bank.chain(by_potential, by_coefficient);
        for (block, out) in blocks.chunks_exact_mut(count).enumerate() {
            for (out, slopes) in out.iter_mut().zip(&*by_potential) {
                *out = slopes[block];
            }
        }
    }
}
