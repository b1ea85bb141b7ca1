//! The description of a learning problem in settings, which can be saved: what programs read and
//! people write.

use std::collections::BTreeMap;
use std::sync::Arc;

use dfo_ls::{Directions, Options};
use imaging::{Grid, Mask, ModelError, TvParameters};
use lowlevel::Method;

use crate::error::SpecError;
use crate::families::{
    Choice, Family, FamilyKind, FourierWeights, TvChoices, TvDeblurring, TvDenoising, TvInpainting,
};
use crate::learn::learning_options;
use crate::loss::{Loss, Residuals, Scale};
use crate::penalty::{ConditionNumber, Penalty, RootL1};
use crate::problem::{Effort, ImageRange, Pair, Setup};

/// Values of parameters by name.
pub type Values = BTreeMap<String, f64>;

/// A learning problem without its data.
///
/// The program, the Python package and the directories of runs share this description. From it come
/// a [`Family`], a [`Setup`] and the [options](Self::options) of the solver.
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
    /// The family.
    pub task: FamilyKind,
    /// Its parameters.
    pub model: ModelSpec,
    /// The objective.
    pub objective: ObjectiveSpec,
    /// The solver, and how reconstructions are computed.
    pub solver: SolverSpec,
}

/// Which parameters of a family are learned. All numbers are values, not exponents.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct ModelSpec {
    /// The names of learned parameters.
    pub learn: Vec<String>,
    /// The values of the others.
    pub fixed: Values,
    /// Where learned parameters begin.
    pub start: Values,
    /// Their lower bounds.
    pub lower: Values,
    /// Their upper bounds.
    pub upper: Values,
    /// The smallest value that a sample of a reconstruction may have; `None`: no limit.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub image_min: Option<f64>,
    /// The largest value that a sample of a reconstruction may have; `None`: no limit.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub image_max: Option<f64>,
}

/// What is minimised.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct ObjectiveSpec {
    /// A mean or a sum over images.
    pub scale: Scale,
    /// The residuals that the solver sees.
    pub residuals: Residuals,
    /// The weight of the squared condition number; zero for none.
    pub condition: f64,
    /// The weight of the sum of all `theta`; zero for none.
    pub l1: f64,
    /// How that sum is added.
    pub l1_kind: L1Kind,
}

/// How the sum of all `theta` is added to the objective.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum L1Kind {
    /// As the square of one more residual, [`RootL1`]: the paper's way.
    #[default]
    Root,
    /// As a [regulariser](Setup::regularizer), whose kinks the solver knows.
    Nonsmooth,
}

/// How parameters are found.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct SolverSpec {
    /// The largest number of different points that are evaluated.
    pub evaluations: u64,
    /// The method of reconstructions.
    pub method: MethodName,
    /// The number of iterations of each reconstruction, in place of the accuracy that the solver
    /// asks for.
    pub iterations: Option<u64>,
    /// The number of iterations after which a reconstruction gives up.
    pub max_iterations: Option<u64>,
    /// The run ends when steps are this small, as a share of the range between bounds.
    pub final_radius: f64,
    /// The seed of the first directions. Zero: along the parameters, one after the other, and
    /// nothing is random.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "is_zero"))]
    pub seed: u64,
    /// The number of threads, for the program that makes them; `None`: one for each processor.
    /// Results do not depend on it.
    pub threads: Option<usize>,
}

#[cfg(feature = "serde")]
#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(seed: &u64) -> bool {
    *seed == 0
}

/// A method of reconstruction, by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum MethodName {
    /// The fastest that is known for the family: [`Method::Auto`].
    #[default]
    Auto,
    /// Accelerated gradient descent: [`Method::FISTA`].
    Fista,
    /// Gradient descent: [`Method::GRADIENT_DESCENT`].
    Gd,
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
        Self {
            evaluations: 100,
            method: MethodName::default(),
            iterations: None,
            max_iterations: None,
            final_radius: learning_options().trust_region.final_radius,
            seed: 0,
            threads: None,
        }
    }
}

/// What a family needs besides settings.
#[derive(Clone, Debug)]
pub enum FamilyInput {
    /// Nothing: denoising.
    None,
    /// The blur of deblurring, with its origin in the middle.
    Kernel {
        /// The values.
        values: Vec<f64>,
        /// The size.
        grid: Grid,
    },
    /// The measured samples of inpainting.
    Mask(Mask),
    /// The number of frequencies of sampling.
    Frequencies(usize),
}

impl Spec {
    /// The defaults of a family, which learn all of its parameters.
    #[must_use]
    pub fn new(task: FamilyKind) -> Self {
        let mut spec = Self {
            task,
            ..Self::default()
        };
        spec.model.learn = task.learnable().iter().map(|name| (*name).into()).collect();
        if task == FamilyKind::Sampling {
            // 0.1 for the sum over the paper's ten signals
            spec.objective.l1 = 0.01;
            spec.solver.evaluations = 1000;
        }
        spec
    }

    /// The family, made from settings and `input`. Missing values have their defaults.
    ///
    /// # Errors
    /// When a parameter is not one of the family or is used twice, a start is not between its
    /// bounds, or the family needs another input.
    pub fn family(&self, input: FamilyInput) -> Result<Family, SpecError> {
        let model = self.model.completed(self.task);
        model.check(self.task)?;
        let needs = |needed| SpecError::Input {
            task: self.task,
            needed,
        };
        Ok(match (self.task, input) {
            (FamilyKind::Denoise, FamilyInput::None) => Family::Denoising(TvDenoising {
                choices: model.choices(),
            }),
            (FamilyKind::Denoise, _) => return Err(needs("neither kernel nor mask")),
            (FamilyKind::Deblur, FamilyInput::Kernel { values, grid }) => {
                Family::Deblurring(TvDeblurring::new(model.choices(), values, grid)?)
            }
            (FamilyKind::Deblur, _) => return Err(needs("a kernel")),
            (FamilyKind::Inpaint, FamilyInput::Mask(mask)) => Family::Inpainting(TvInpainting {
                choices: model.choices(),
                mask,
            }),
            (FamilyKind::Inpaint, _) => return Err(needs("a mask")),
            (FamilyKind::Sampling, FamilyInput::Frequencies(num_samples)) => {
                Family::Sampling(model.weights(num_samples)?)
            }
            (FamilyKind::Sampling, _) => return Err(needs("the number of frequencies")),
        })
    }

    /// How to learn, besides the options of the solver.
    #[must_use]
    pub fn setup(&self, validation: Vec<Pair>) -> Setup {
        let ObjectiveSpec {
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

    /// The options of the solver.
    #[must_use]
    pub fn options(&self) -> Options {
        let mut options = learning_options();
        options.trust_region.final_radius = self.solver.final_radius;
        options.budget.max_points = Some(self.solver.evaluations);
        if self.solver.seed != 0 {
            let seed = self.solver.seed;
            options.initial.directions = Directions::Orthogonal { seed };
        }
        options
    }
}

impl ModelSpec {
    /// The same, in the order of the family's parameters, with defaults for all values that are
    /// missing. A start that is missing is moved between its bounds.
    #[must_use]
    pub fn completed(&self, task: FamilyKind) -> Self {
        let mut model = self.clone();
        let place = |name: &String| task.learnable().iter().position(|known| known == name);
        model.learn.sort_by_key(place);
        for (name, value) in task.fixed() {
            if !model.learn.iter().any(|learned| learned == name) {
                model.fixed.entry(name.into()).or_insert(value);
            }
        }
        for name in &model.learn {
            let [start, lower, upper] = task.range(name);
            let set = |values: &mut Values, default| *values.entry(name.clone()).or_insert(default);
            let lower = set(&mut model.lower, lower);
            let upper = set(&mut model.upper, upper);
            set(&mut model.start, start.max(lower).min(upper));
        }
        model
    }

    /// The values that samples of reconstructions may have.
    #[must_use]
    pub fn image_range(&self) -> ImageRange {
        ImageRange {
            lower: self.image_min.unwrap_or(f64::NEG_INFINITY),
            upper: self.image_max.unwrap_or(f64::INFINITY),
        }
    }

    /// Names and starts, once completed.
    fn check(&self, task: FamilyKind) -> Result<(), SpecError> {
        let fixable = task.fixed().map(|(name, _)| name);
        let unknown = |name: &String, used, known: &[&str]| SpecError::UnknownParameter {
            task,
            name: name.clone(),
            used,
            known: known.join(", "),
        };
        for name in &self.learn {
            if !task.learnable().contains(&&name[..]) {
                return Err(unknown(name, "learned", task.learnable()));
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

    /// The parameters of the total variation, once completed and checked.
    fn choices(&self) -> TvChoices {
        let choice = |name: &str| match self.fixed.get(name) {
            Some(value) => Choice::Fixed(*value),
            None => Choice::Learned {
                start: self.start[name].log10(),
                lower: self.lower[name].log10(),
                upper: self.upper[name].log10(),
            },
        };
        TvChoices {
            alpha: choice("alpha"),
            nu: choice("nu"),
            xi: choice("xi"),
        }
    }

    /// The weights of frequencies, once completed and checked.
    fn weights(&self, num_samples: usize) -> Result<FourierWeights, ModelError> {
        let tv = TvParameters {
            alpha: self.fixed["alpha"],
            nu: self.fixed["nu"],
            xi: self.fixed["xi"],
        };
        let [start, lower, upper] =
            match [&self.start, &self.lower, &self.upper].map(|values| values.get("theta")) {
                [Some(start), Some(lower), Some(upper)] => [*start, *lower, *upper],
                // nothing is learned, which is left for the learning problem to refuse
                _ => FamilyKind::Sampling.range("theta"),
            };
        Ok(FourierWeights::new(num_samples, tv, start)?.with_bounds(lower, upper))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lower::LowerLevel;

    /// Defaults are values here and exponents in [`TvChoices`]: they are the same to the last bit.
    #[test]
    fn defaults_are_those_of_the_families() {
        let Ok(Family::Denoising(family)) =
            Spec::new(FamilyKind::Denoise).family(FamilyInput::None)
        else {
            panic!("denoising needs nothing");
        };
        assert_eq!(family, TvDenoising::default());
        let family = Spec::new(FamilyKind::Sampling).family(FamilyInput::Frequencies(4));
        let weights = FourierWeights::new(4, FourierWeights::TV, 0.5).expect("not empty");
        assert_eq!(family.expect("valid").parameters(), weights.parameters());
    }

    #[test]
    fn what_is_missing_has_its_default() {
        let mut spec = Spec::new(FamilyKind::Denoise);
        spec.model.learn = vec!["xi".into(), "alpha".into()];
        spec.model.upper.insert("alpha".into(), 0.5);
        let model = spec.model.completed(spec.task);
        assert_eq!(model.learn, ["alpha", "xi"]);
        assert_eq!(model.fixed, Values::from([("nu".into(), 1e-3)]));
        assert!(
            (model.start["alpha"] - 0.5).abs() < 1e-15,
            "moved to its bound"
        );
        assert_eq!(model.completed(spec.task), model);
    }

    #[test]
    fn wrong_names_and_inputs_are_refused() {
        let refusal = |change: fn(&mut Spec), input| {
            let mut spec = Spec::new(FamilyKind::Denoise);
            change(&mut spec);
            spec.family(input).expect_err("wrong").to_string()
        };
        let unknown = refusal(
            |spec| spec.model.learn.push("beta".into()),
            FamilyInput::None,
        );
        assert!(
            unknown.contains("\"beta\"") && unknown.contains("alpha, nu, xi"),
            "{unknown}"
        );
        let both = refusal(
            |spec| spec.model.fixed.extend([("nu".into(), 1.0)]),
            FamilyInput::None,
        );
        assert!(both.contains("both learned and fixed"), "{both}");
        let start = refusal(
            |spec| spec.model.start.extend([("nu".into(), 2.0)]),
            FamilyInput::None,
        );
        assert!(start.contains("starts at 2e0"), "{start}");
        let input = refusal(|_| (), FamilyInput::Frequencies(3));
        assert!(input.contains("neither kernel nor mask"), "{input}");
        let kernel = refusal(|spec| spec.task = FamilyKind::Deblur, FamilyInput::None);
        assert!(kernel.contains("deblur needs a kernel"), "{kernel}");
    }
}
