//! Where parameters may lie, and what is added to the objective: the parts of a problem beside its
//! residuals.

use std::fmt;

use crate::SetupError;

/// A parameter vector to begin with, the set it must stay in, and what is known already.
#[derive(Debug)]
#[non_exhaustive]
pub struct Problem {
    /// Where to begin. Outside the feasible set it is moved to the nearest point inside.
    pub start: Vec<f64>,
    /// Where `$\theta$` may lie. No point outside is ever evaluated.
    pub feasible: FeasibleSet,
    /// What is added to `$\|r(\theta)\|^2$`.
    pub regularizer: Option<Box<dyn Regularizer>>,
    /// Evaluations made before. Those near the start spare new ones.
    pub known: Vec<Known>,
    /// The lengths of consecutive blocks of residuals, such as those of one image each. Empty for a
    /// single block.
    ///
    /// Sums over residuals are made within each block first, and then over blocks in their order:
    /// the results of a run depend on the blocks to the last bits, but not on who computes them.
    pub blocks: Vec<usize>,
}

/// An evaluation made before.
#[derive(Clone, Debug, PartialEq)]
pub struct Known {
    /// Where.
    pub theta: Vec<f64>,
    /// The residuals there.
    pub residuals: Vec<f64>,
    /// How accurate they are.
    pub accuracy: crate::Accuracy,
}

impl Problem {
    /// No constraints.
    #[must_use]
    pub fn new(start: impl Into<Vec<f64>>) -> Self {
        Self {
            start: start.into(),
            feasible: FeasibleSet::Free,
            regularizer: None,
            known: Vec::new(),
            blocks: Vec::new(),
        }
    }

    /// With `$l \le \theta \le u$`, in place of bounds given before, and in addition to other sets.
    /// Infinite bounds are none; equal bounds fix a parameter.
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

    /// With `$\theta$` in `set`, and in those given before, bounds included: they must have a point
    /// in common.
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

    /// With `regularizer` added to the sum of squares.
    #[must_use]
    pub fn with_regularizer(mut self, regularizer: impl Regularizer + 'static) -> Self {
        self.regularizer = Some(Box::new(regularizer));
        self
    }

    /// With residuals in blocks of the given lengths, see [`blocks`](Self::blocks).
    #[must_use]
    pub fn with_blocks(mut self, lengths: impl Into<Vec<usize>>) -> Self {
        self.blocks = lengths.into();
        self
    }

    /// With evaluations made before.
    #[must_use]
    pub fn with_known(mut self, known: impl IntoIterator<Item = Known>) -> Self {
        self.known.extend(known);
        self
    }
}

/// Where parameters may lie.
#[derive(Debug)]
#[non_exhaustive]
pub enum FeasibleSet {
    /// Anywhere.
    Free,
    /// Between bounds.
    Box(Bounds),
    /// In the intersection of convex sets.
    Convex(Vec<Box<dyn Projection>>),
}

/// `$l \le \theta \le u$`.
#[derive(Clone, Debug, PartialEq)]
pub struct Bounds {
    lower: Vec<f64>,
    upper: Vec<f64>,
}

impl Bounds {
    /// Infinite bounds are none; equal bounds fix a parameter.
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

/// A closed convex set, known by its Euclidean projection. Closures `Fn(&mut [f64])` are
/// projections.
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

/// A convex function `$h$`, possibly not smooth, known by its value and its prox.
pub trait Regularizer: Send + Sync {
    /// `$h(\theta)$`.
    fn value(&self, theta: &[f64]) -> f64;

    /// Replaces `theta` by `$\arg\min_y h(y) + \|y - \theta\|^2 / (2t)$`.
    fn prox(&self, t: f64, theta: &mut [f64]);
}

impl fmt::Debug for dyn Regularizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Regularizer")
    }
}

/// `$h(\theta) = w \|\theta\|_1$`: favours parameters that are exactly zero.
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
}
