//! The description of a learning problem in settings, for programs and settings files.

mod colour;
mod family;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use dfo_ls::{Directions, Options};
use imaging::{BlurBoundary, Grid, KernelShape, Mask, ModelError, TvParameters};
use lowlevel::Method;

use crate::criterion::CriterionKind;
use crate::error::SpecError;
use crate::families::{FamilyKind, FilterSet, FourierWeights};
use crate::learn::learning_options;
use crate::loss::{Loss, Residuals, Scale};
use crate::penalty::{ConditionNumber, Penalty, RootL1};
use crate::problem::{Effort, ImageRange, Pair, Setup, SolverKind};

/// Values of parameters by name.
pub type Values = BTreeMap<String, f64>;

/// The description of a learning problem, without its data.
///
/// The program, the Python package and the directories of runs share this description. It builds a
/// [`Family`](crate::Family), a [`Setup`] and the [options](Self::options) of the solver.
///
/// ```
/// use bilevel::{FamilyInput, FamilyKind, LearningProblem, Pair, Spec};
/// use imaging::Grid;
///
/// let mut spec = Spec::new(FamilyKind::Denoise);
/// spec.model.learn = vec!["alpha".into()];
/// let pair = Pair { grid: Grid::line(3), truth: vec![0.0, 1.0, 1.0], data: vec![0.1, 0.9, 1.1] };
///
/// let family = spec.family(FamilyInput::None)?;
/// let mut problem = LearningProblem::new(family, vec![pair], spec.setup(Vec::new()))?;
/// let learned = problem.learn_with(spec.options())?;
/// assert_eq!(learned.parameters[0].name(), "alpha");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct Spec {
    /// The family of reconstruction problems.
    pub task: FamilyKind,
    /// The parameters of the family.
    pub model: ModelSpec,
    /// The objective of learning.
    pub objective: ObjectiveSpec,
    /// The settings of the solver and of reconstructions.
    pub solver: SolverSpec,
}

/// The parameters of a family: learned ones with their starts and bounds, and fixed ones. All
/// numbers are values of the parameters, not exponents.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct ModelSpec {
    /// Whether pictures are in colour: one unknown with coupled channels
    /// ([`ColourFamily`](crate::ColourFamily)). `alpha` then stands for both weights,
    /// `alpha_luminance` and `alpha_chroma`.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "std::ops::Not::not"))]
    pub colour: bool,
    /// The filters of a filter bank, instead of total variation; `None` for total variation. All
    /// parameters of a bank are learned, so the other settings of the model must be empty.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub filters: Option<FilterSet>,
    /// For deblurring, what lies beyond the borders of pictures.
    pub boundary: BoundaryName,
    /// The names of the learned parameters.
    pub learn: Vec<String>,
    /// The values of the fixed parameters.
    pub fixed: Values,
    /// The starts of the learned parameters.
    pub start: Values,
    /// The lower bounds of the learned parameters.
    pub lower: Values,
    /// The upper bounds of the learned parameters.
    pub upper: Values,
    /// The smallest value that a sample of a reconstruction may have; `None` for no limit.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub image_min: Option<f64>,
    /// The largest value that a sample of a reconstruction may have; `None` for no limit.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub image_max: Option<f64>,
}

/// The objective of learning.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct ObjectiveSpec {
    /// The criterion to make small: the distance from the truth, or an estimate of it.
    pub criterion: CriterionKind,
    /// Whether the objective is a mean or a sum over images.
    pub scale: Scale,
    /// The residuals that the solver sees: one per image or one per pixel.
    pub residuals: Residuals,
    /// The weight of the squared condition number; zero switches the penalty off.
    pub condition: f64,
    /// The weight of the sum of all `|theta|`; zero switches the penalty off.
    pub l1: f64,
    /// The form in which the sum of all `|theta|` is added to the objective.
    pub l1_kind: L1Kind,
}

/// The form in which the sum of all `|theta|` is added to the objective.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum L1Kind {
    /// The square of one more residual, [`RootL1`], as in the paper.
    #[default]
    Root,
    /// A non-smooth [regulariser](Setup::regularizer), [`dfo_ls::L1`], whose kinks the solver
    /// knows.
    Nonsmooth,
}

/// The settings of the solver and of reconstructions.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct SolverSpec {
    /// The solver that learns: with gradients or without.
    pub kind: SolverKind,
    /// The accuracy of reconstructions if learning uses gradients, see [`Setup::kappa`].
    pub kappa: f64,
    /// The share of the objective that ten points must gain if learning uses gradients, see
    /// [`Setup::least_gain`]; `None` to go on until the solver predicts no more gain.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub least_gain: Option<f64>,
    /// The largest number of points that are evaluated. Sharpening a point does not count again.
    pub max_points: u64,
    /// The method that computes reconstructions.
    pub method: MethodName,
    /// The fixed number of iterations of each reconstruction; `None` to iterate until the accuracy
    /// that the solver asks for.
    pub iterations: Option<u64>,
    /// The largest number of iterations of a reconstruction that aims at an accuracy; `None` for no
    /// limit.
    pub max_iterations: Option<u64>,
    /// The trust-region radius at which the run ends, as a share of the range between the bounds.
    pub final_radius: f64,
    /// The seed of the first directions. With zero they are along the parameters, one after the
    /// other, and nothing is random.
    pub seed: u64,
    /// The number of threads; `None` for one per processor. This crate does not start threads: the
    /// program reads the setting. Results do not depend on it.
    pub threads: Option<usize>,
}

/// A method of reconstruction, by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum MethodName {
    /// The fastest known method for the family, [`Method::Auto`].
    #[default]
    Auto,
    /// Accelerated gradient descent, [`Method::FISTA`].
    Fista,
    /// Gradient descent, [`Method::GRADIENT_DESCENT`].
    Gd,
}

/// What lies beyond the borders of blurred pictures, by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum BoundaryName {
    /// More of the scene, [`BlurBoundary::Unknown`].
    #[default]
    Unknown,
    /// The picture itself, [`BlurBoundary::Periodic`].
    Periodic,
}

impl From<BoundaryName> for BlurBoundary {
    fn from(name: BoundaryName) -> Self {
        match name {
            BoundaryName::Unknown => Self::Unknown,
            BoundaryName::Periodic => Self::Periodic,
        }
    }
}

impl From<MethodName> for Method {
    fn from(name: MethodName) -> Self {
        match name {
            MethodName::Auto => Self::Auto,
            MethodName::Fista => Self::FISTA,
            MethodName::Gd => Self::GRADIENT_DESCENT,
        }
    }
}

impl Default for SolverSpec {
    fn default() -> Self {
        let Setup { solver, kappa, .. } = Setup::default();
        Self {
            kind: solver,
            kappa,
            least_gain: None,
            max_points: 100,
            method: MethodName::default(),
            iterations: None,
            max_iterations: None,
            final_radius: learning_options().trust_region.final_radius,
            seed: 0,
            threads: None,
        }
    }
}

/// The input that a family needs besides settings.
#[derive(Clone, Debug)]
pub enum FamilyInput {
    /// No input, for denoising.
    None,
    /// The blur kernel, for deblurring.
    Kernel {
        /// The values of the kernel, with its origin in the middle.
        values: Vec<f64>,
        /// The size of the kernel.
        grid: Grid,
    },
    /// The shape of the blur kernel, for deblurring. The width of such a kernel can be learned.
    Shape(KernelShape),
    /// The mask of measured samples, for inpainting.
    Mask(Mask),
    /// The number of frequencies, for sampling.
    Frequencies(usize),
}

impl Spec {
    /// Returns the default description for a family: all of its parameters are learned, except for
    /// `xi` of deblurring.
    #[must_use]
    pub fn new(task: FamilyKind) -> Self {
        let mut spec = Self {
            task,
            ..Self::default()
        };
        spec.model.learn = task.learned().iter().map(|name| (*name).into()).collect();
        if task == FamilyKind::Sampling {
            // the paper's 0.1 for the sum over ten signals, divided by ten for the mean
            spec.objective.l1 = 0.01;
            spec.solver.max_points = 1000;
        }
        spec
    }

    /// Returns the default description for a family with a filter bank: all parameters of the bank
    /// are learned, and learning ends when ten points gain less than 0.1 % of the objective. The
    /// bank of deblurring and inpainting is convex ([`FilterChoices`](crate::FilterChoices)).
    #[must_use]
    pub fn filters(task: FamilyKind, set: FilterSet) -> Self {
        let mut spec = Self::new(task);
        spec.model = ModelSpec {
            filters: Some(set),
            ..ModelSpec::default()
        };
        spec.solver.least_gain = Some(1e-3);
        spec
    }

    /// Builds the setup of the learning problem, with these held-out pairs.
    #[must_use]
    pub fn setup(&self, validation: Vec<Pair>) -> Setup {
        let ObjectiveSpec {
            criterion: _,
            scale,
            residuals,
            condition,
            l1,
            l1_kind,
        } = self.objective;
        let mut penalties: Vec<Box<dyn Penalty>> = Vec::new();
        let mut regularizer: Option<Arc<dyn dfo_ls::Regularizer>> = None;
        if condition > 0.0 {
            penalties.push(Box::new(ConditionNumber { weight: condition }));
        }
        if l1 > 0.0 {
            match l1_kind {
                L1Kind::Root => penalties.push(Box::new(RootL1 { weight: l1 })),
                L1Kind::Nonsmooth => regularizer = Some(Arc::new(dfo_ls::L1 { weight: l1 })),
            }
        }
        Setup {
            solver: self.solver.kind,
            kappa: self.solver.kappa,
            least_gain: self.solver.least_gain,
            loss: Loss { scale, residuals },
            penalties,
            regularizer,
            method: self.solver.method.into(),
            effort: match self.solver.iterations {
                Some(iterations) => Effort::Iterations(iterations),
                None => Effort::Requested {
                    max_iterations: self.solver.max_iterations,
                },
            },
            image_range: self.model.image_range(),
            validation,
            ..Setup::default()
        }
    }

    /// Builds the options of the solver: the [`learning_options`] with these settings.
    #[must_use]
    pub fn options(&self) -> Options {
        let mut options = learning_options();
        options.trust_region.final_radius = self.solver.final_radius;
        options.budget.max_points = Some(self.solver.max_points);
        if self.solver.seed != 0 {
            let seed = self.solver.seed;
            options.initial.directions = Directions::Orthogonal { seed };
        }
        options
    }
}

impl ModelSpec {
    /// Returns the settings with learned parameters in the order of the family and with defaults
    /// for all missing values. The default start is moved between the bounds if it lies outside.
    #[must_use]
    pub fn completed(&self, task: FamilyKind) -> Self {
        let mut model = self.with_names();
        let place = |name: &String| self.learnable(task).iter().position(|known| known == name);
        model.learn.sort_by_key(place);
        for (name, value) in self.fixable(task) {
            if !model.learn.iter().any(|learned| learned == name) {
                model.fixed.entry(name.into()).or_insert(value);
            }
        }
        for name in &model.learn {
            let [start, lower, upper] = self.range(task, name);
            let set = |values: &mut Values, default| *values.entry(name.clone()).or_insert(default);
            let lower = set(&mut model.lower, lower);
            let upper = set(&mut model.upper, upper);
            set(&mut model.start, start.max(lower).min(upper));
        }
        model
    }

    /// Returns the range of values that samples of reconstructions may have.
    #[must_use]
    pub fn image_range(&self) -> ImageRange {
        ImageRange {
            lower: self.image_min.unwrap_or(f64::NEG_INFINITY),
            upper: self.image_max.unwrap_or(f64::INFINITY),
        }
    }

    /// Checks the names and starts of completed settings.
    fn check(&self, task: FamilyKind) -> Result<(), SpecError> {
        let fixable: Vec<&str> = self.fixable(task).iter().map(|(name, _)| *name).collect();
        let learnable = self.learnable(task);
        let unknown = |name: &String, used, known: &[&str]| SpecError::UnknownParameter {
            task,
            name: name.clone(),
            used,
            known: known.join(", "),
        };
        for name in &self.learn {
            if !learnable.contains(&&name[..]) {
                return Err(unknown(name, "learned", learnable));
            }
            let [start, lower, upper] =
                [&self.start, &self.lower, &self.upper].map(|values| values[name]);
            if lower <= upper && !(lower <= start && start <= upper) {
                return Err(SpecError::StartOutside {
                    name: name.clone(),
                    start,
                    lower,
                    upper,
                });
            }
        }
        for name in self.fixed.keys() {
            if !fixable.contains(&&name[..]) {
                return Err(unknown(name, "fixed", &fixable));
            }
            if self.learn.contains(name) {
                return Err(SpecError::LearnedAndFixed { name: name.clone() });
            }
        }
        Ok(())
    }

    /// Returns the family of sampling weights from completed and checked settings.
    fn weights(&self, num_samples: usize) -> Result<FourierWeights, ModelError> {
        let tv = TvParameters {
            alpha: self.fixed["alpha"],
            nu: self.fixed["nu"],
            xi: self.fixed["xi"],
        };
        let [start, lower, upper] =
            match [&self.start, &self.lower, &self.upper].map(|values| values.get("theta")) {
                [Some(start), Some(lower), Some(upper)] => [*start, *lower, *upper],
                // nothing is learned: the learning problem refuses that
                _ => FamilyKind::Sampling.range("theta"),
            };
        Ok(FourierWeights::new(num_samples, tv, start)?.with_bounds(lower, upper))
    }
}
