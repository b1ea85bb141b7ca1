//! The problem without its residuals: start, feasible set, regulariser and known evaluations.

use std::fmt;

use crate::SetupError;

/// A least-squares problem without its residuals, which come from a
/// [`ResidualOracle`](crate::ResidualOracle): the start, the feasible set, the regulariser and
/// known evaluations.
#[derive(Debug)]
#[non_exhaustive]
pub struct Problem {
    /// The parameters that the run starts from. A start outside the feasible set is moved to the
    /// nearest point inside.
    pub start: Vec<f64>,
    /// The set of allowed parameters. No point outside it is ever evaluated.
    pub feasible: FeasibleSet,
    /// The function `$h(\theta)$` that is added to `$\|r(\theta)\|^2$`.
    pub regularizer: Option<Box<dyn Regularizer>>,
    /// Evaluations from earlier runs. Those near the start replace new evaluations.
    pub known: Vec<Known>,
    /// The lengths of consecutive blocks of residuals, such as those of one image each. An empty
    /// list means a single block.
    ///
    /// Sums over residuals are computed within each block first, and then over the blocks in their
    /// order. The last digits of a run's results depend on the blocks, but not on the threads or
    /// machines that compute them.
    pub blocks: Vec<usize>,
    /// Whether residual vectors stay with the oracle; see [`with_products`](Self::with_products).
    pub products: bool,
}

/// An evaluation from an earlier run.
#[derive(Clone, Debug, PartialEq)]
pub struct Known {
    /// The parameters.
    pub theta: Vec<f64>,
    /// The residuals at the parameters.
    pub residuals: Vec<f64>,
    /// The accuracy of the residuals.
    pub accuracy: crate::Accuracy,
}

impl Problem {
    /// Creates a problem without constraints that starts from `start`.
    #[must_use]
    pub fn new(start: impl Into<Vec<f64>>) -> Self {
        Self {
            start: start.into(),
            feasible: FeasibleSet::Free,
            regularizer: None,
            known: Vec::new(),
            blocks: Vec::new(),
            products: false,
        }
    }

    /// Adds the bounds `$l \le \theta \le u$`. An infinite bound is no bound; equal bounds fix a
    /// parameter.
    ///
    /// A second call replaces the bounds of the first. After [`within`](Self::within), which turns
    /// bounds into one of the sets, new bounds do not replace earlier ones but are added to the
    /// sets.
    ///
    /// # Errors
    /// When a bound is NaN, bounds are crossed, or the lengths differ.
    pub fn with_bounds(
        mut self,
        lower: impl Into<Vec<f64>>,
        upper: impl Into<Vec<f64>>,
    ) -> Result<Self, SetupError> {
        let bounds = Bounds::new(lower, upper)?;
        match &mut self.feasible {
            FeasibleSet::Convex(sets) => sets.push(Box::new(bounds)),
            FeasibleSet::Free | FeasibleSet::Box(_) => self.feasible = FeasibleSet::Box(bounds),
        }
        Ok(self)
    }

    /// Adds a convex set that must contain `$\theta$`, in addition to earlier sets and bounds. All
    /// of them must have a point in common.
    #[must_use]
    pub fn within(mut self, set: impl Projection + 'static) -> Self {
        let mut sets: Vec<Box<dyn Projection>> = vec![Box::new(set)];
        match std::mem::replace(&mut self.feasible, FeasibleSet::Free) {
            FeasibleSet::Free => {}
            FeasibleSet::Box(bounds) => sets.push(Box::new(bounds)),
            FeasibleSet::Convex(others) => sets.extend(others),
        }
        self.feasible = FeasibleSet::Convex(sets);
        self
    }

    /// Adds `regularizer` to the sum of squares.
    #[must_use]
    pub fn with_regularizer(mut self, regularizer: impl Regularizer + 'static) -> Self {
        self.regularizer = Some(Box::new(regularizer));
        self
    }

    /// Divides the residuals into blocks of the given lengths; see [`blocks`](Self::blocks).
    #[must_use]
    pub fn with_blocks(mut self, lengths: impl Into<Vec<usize>>) -> Self {
        self.blocks = lengths.into();
        self
    }

    /// Lets residual vectors stay with the oracle, which answers with their inner products.
    ///
    /// Use it if residuals are too many to move or to store, for example because they are spread
    /// over machines. Each [`Job`](crate::Job) names the vectors to [measure
    /// against](crate::Job::against) and is answered by
    /// [`answer_products`](crate::Job::answer_products).
    /// [`ResidualOracle::measure`](crate::ResidualOracle::measure) answers the rare request for
    /// products with another reference. The report has no residuals, and its Jacobian no columns.
    #[must_use]
    pub const fn with_products(mut self) -> Self {
        self.products = true;
        self
    }

    /// Adds evaluations from earlier runs.
    #[must_use]
    pub fn with_known(mut self, known: impl IntoIterator<Item = Known>) -> Self {
        self.known.extend(known);
        self
    }
}

/// The set of allowed parameters.
#[derive(Debug)]
#[non_exhaustive]
pub enum FeasibleSet {
    /// All parameters.
    Free,
    /// The parameters between bounds.
    Box(Bounds),
    /// The intersection of convex sets.
    Convex(Vec<Box<dyn Projection>>),
}

/// Lower and upper bounds `$l \le \theta \le u$`.
#[derive(Clone, Debug, PartialEq)]
pub struct Bounds {
    lower: Vec<f64>,
    upper: Vec<f64>,
}

impl Bounds {
    /// Creates bounds. An infinite bound is no bound; equal bounds fix a parameter.
    ///
    /// # Errors
    /// When a bound is NaN, bounds are crossed, or the lengths differ.
    pub fn new(lower: impl Into<Vec<f64>>, upper: impl Into<Vec<f64>>) -> Result<Self, SetupError> {
        let (lower, upper) = (lower.into(), upper.into());
        if lower.len() != upper.len() {
            return Err(SetupError::Length {
                argument: "upper",
                expected: lower.len(),
                found: upper.len(),
            });
        }
        for (index, (&lower, &upper)) in lower.iter().zip(&upper).enumerate() {
            if !(lower < f64::INFINITY && upper > f64::NEG_INFINITY) {
                return Err(SetupError::InvalidBound {
                    index,
                    lower,
                    upper,
                });
            }
            if lower > upper {
                return Err(SetupError::CrossedBounds {
                    index,
                    lower,
                    upper,
                });
            }
        }
        Ok(Self { lower, upper })
    }

    /// The lower bounds.
    #[must_use]
    pub fn lower(&self) -> &[f64] {
        &self.lower
    }

    /// The upper bounds.
    #[must_use]
    pub fn upper(&self) -> &[f64] {
        &self.upper
    }
}

/// A closed convex set, given by its Euclidean projection. Closures `Fn(&mut [f64])` implement this
/// trait.
pub trait Projection: Send + Sync {
    /// Replaces `theta` by the nearest point of the set.
    fn project(&self, theta: &mut [f64]);
}

impl<F: Fn(&mut [f64]) + Send + Sync> Projection for F {
    fn project(&self, theta: &mut [f64]) {
        self(theta);
    }
}

impl Projection for Bounds {
    fn project(&self, theta: &mut [f64]) {
        for ((entry, lower), upper) in theta.iter_mut().zip(&self.lower).zip(&self.upper) {
            *entry = entry.max(*lower).min(*upper);
        }
    }
}

impl fmt::Debug for dyn Projection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Projection")
    }
}

/// A convex function `$h$` that need not be smooth, given by its value and its proximal map.
pub trait Regularizer: Send + Sync {
    /// The value `$h(\theta)$`.
    fn value(&self, theta: &[f64]) -> f64;

    /// Replaces `theta` by `$\arg\min_y h(y) + \|y - \theta\|^2 / (2t)$`.
    fn prox(&self, t: f64, theta: &mut [f64]);

    /// The weight `$w$` if this function is `$w\|\theta\|_1$`. Solvers that know no other
    /// regulariser ask for it. The default is `None`.
    fn l1_weight(&self) -> Option<f64> {
        None
    }
}

impl fmt::Debug for dyn Regularizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Regularizer")
    }
}

/// The regulariser `$h(\theta) = w \|\theta\|_1$`, which makes parameters exactly zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct L1 {
    /// The weight `$w \ge 0$`.
    pub weight: f64,
}

impl Regularizer for L1 {
    fn value(&self, theta: &[f64]) -> f64 {
        self.weight * theta.iter().map(|t| t.abs()).sum::<f64>()
    }

    fn prox(&self, t: f64, theta: &mut [f64]) {
        let shift = self.weight * t;
        for entry in theta {
            *entry = entry.signum() * (entry.abs() - shift).max(0.0);
        }
    }

    fn l1_weight(&self) -> Option<f64> {
        Some(self.weight)
    }
}
