//! A mask learned from a stack of slices, from settings to a result that can be saved: the part
//! that the program and the Python package share.

use std::ops::ControlFlow;

use imaging::{Grid, Seed, TvParameters};

use super::{
    ComparedMask, FrequencyZero, Kspace, MaskError, MaskOptions, MaskPoint, MaskProblem,
    MaskProgress, MaskScore, Pattern, SamplingMask,
};
use crate::families::FilterSet;

/// How a mask is learned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum MaskMethod {
    /// A search that certified intervals decide: [`MaskProblem::learn`].
    #[default]
    Search,
    /// Weights between 0 and 1, learned and rounded: [`MaskProblem::relax`].
    Relax,
}

/// Settings of learning a mask.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct MaskSpec {
    /// The pattern of the mask.
    pub pattern: Pattern,
    /// The share of all lines or points that the mask contains.
    pub budget: f64,
    /// The width of the centre that every mask contains: see [`Pattern::centre`].
    pub centre: usize,
    /// The method.
    pub method: MaskMethod,
    /// The cosine filters of the regulariser; without them, it is total variation. They have
    /// convex potentials, whose relative weights are learned for the mask.
    pub filters: Option<FilterSet>,
    /// The smoothing `nu`, if it is fixed. Otherwise it is tuned for the final mask.
    pub nu: Option<f64>,
    /// The number of searches: see [`MaskOptions::restarts`].
    pub restarts: usize,
    /// The largest number of exchanges that each search tries.
    pub max_exchanges: usize,
    /// The standard deviation of the complex noise that is added to the frequencies, where the
    /// largest modulus of all pictures is 1.
    pub noise: f64,
    /// The number of slices that are held out, spread over the stack. `None` stands for a quarter
    /// of them.
    pub hold_out: Option<usize>,
    /// The seed of the noise.
    pub seed: u64,
}

impl Default for MaskSpec {
    fn default() -> Self {
        Self {
            pattern: Pattern::Lines,
            budget: 0.25,
            centre: 8,
            method: MaskMethod::Search,
            filters: None,
            nu: None,
            restarts: 1,
            max_exchanges: 150,
            noise: 0.0,
            hold_out: None,
            seed: 1,
        }
    }
}

/// The result of learning a mask: everything that reconstructions and reports need.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct MaskOutcome {
    /// The settings.
    pub spec: MaskSpec,
    /// The numbers of rows and columns.
    pub shape: [usize; 2],
    /// Where frequency zero was in the array of frequencies.
    pub frequency_zero: FrequencyZero,
    /// The numbers of the lines or points in the mask, in the order with frequency zero first.
    pub elements: Vec<usize>,
    /// The weight of the regulariser, for pictures whose largest modulus is 1.
    pub alpha: f64,
    /// The smoothing of the regulariser.
    pub nu: f64,
    /// The weight of the quadratic term.
    pub xi: f64,
    /// The relative weights of filters; without any, the regulariser is total variation.
    pub filters: Vec<f64>,
    /// The interval of the objective: the mean squared distance from the truth, relative to it.
    pub objective: [f64; 2],
    /// The number of masks that were tried.
    pub evaluations: usize,
    /// The number of exchanges that were accepted.
    pub accepted: usize,
    /// Whether the search ended by itself. If it was stopped, the mask may be too small.
    pub is_complete: bool,
    /// For [`MaskMethod::Relax`], the objective before the weights were rounded.
    pub before_rounding: Option<f64>,
    /// The work in gradients of single slices.
    pub work: f64,
    /// The largest modulus of all pictures, by which frequencies were divided.
    pub unit: f64,
    /// The numbers of the training slices, counted from 0.
    pub training: Vec<usize>,
    /// The numbers of the held-out slices.
    pub held_out: Vec<usize>,
    /// The learned mask and others on held-out slices, or on training slices if there are none.
    pub comparison: Vec<ComparedMask>,
}

impl MaskOutcome {
    /// Returns the mask with the parameters of its reconstructions.
    #[must_use]
    pub fn mask(&self) -> SamplingMask {
        let grid = Grid::image(self.shape[0], self.shape[1]);
        SamplingMask {
            pattern: self.spec.pattern,
            shape: self.shape,
            set: self.spec.pattern.set_of(grid, &self.elements),
            tv: self.tv(),
            filters: self.filters.clone(),
        }
    }

    /// Returns the parameters `alpha`, `nu` and `xi`.
    #[must_use]
    pub const fn tv(&self) -> TvParameters {
        TvParameters {
            alpha: self.alpha,
            nu: self.nu,
            xi: self.xi,
        }
    }

    /// Returns sentences that explain the result.
    #[must_use]
    pub fn findings(&self) -> Vec<String> {
        let mut all = Vec::new();
        let slices = match (self.held_out.len(), self.training.len()) {
            (0, 1) => "the training slice".to_owned(),
            (0, count) => format!("{count} training slices"),
            (1, _) => "the held-out slice".to_owned(),
            (count, _) => format!("{count} held-out slices"),
        };
        if let [learned, others @ ..] = &self.comparison[..] {
            let of = |mask: &ComparedMask| MaskScore::mean(&mask.scores).psnr_inside;
            let gains = others
                .iter()
                .map(|other| format!("{:+.2} dB over {}", of(learned) - of(other), other.name));
            let gains: Vec<String> = gains.collect();
            if !gains.is_empty() {
                let gains = gains.join("; ");
                all.push(format!(
                    "On {slices}, inside the object, the mask gains {gains}."
                ));
            }
        }
        if let Some(before) = self.before_rounding {
            let after = self.objective[1];
            let loss = 10.0 * (after / before).log10();
            all.push(match loss > 0.1 {
                true => format!(
                    "Rounding loses {loss:.1} dB: the objective of the learned weights is \
                     {before:.3e}, that of the rounded mask {after:.3e}. A frequency with a small \
                     weight is known nearly as well as one with weight 1, so weights spread over \
                     all frequencies. The method `search` has no such loss."
                ),
                false => format!(
                    "Rounding costs nothing here: the objective is {before:.3e} before it and \
                     {after:.3e} after it."
                ),
            });
        }
        if !self.is_complete {
            all.push(
                "Learning was stopped early: the mask is the best one so far, and may have fewer \
                 lines or points than the budget allows."
                    .to_owned(),
            );
        }
        if self.held_out.is_empty() {
            all.push(
                "No slices were held out, so the scores are those of slices that the mask was \
                 learned from: expect less on others."
                    .to_owned(),
            );
        }
        if self.spec.pattern == Pattern::Points && self.training.len() < 20 {
            all.push(format!(
                "A mask of points fits its slices closely, and there are only {}: learn from 20 or \
                 more.",
                self.training.len()
            ));
        }
        all
    }
}

/// A stack of slices that a mask is learned from.
///
/// ```
/// use bilevel::{Kspace, MaskSpec, MaskStudy};
/// use imaging::{Seed, phantom};
/// use std::ops::ControlFlow;
///
/// fn main() -> Result<(), bilevel::BoxError> {
///     let heads = (0..3).map(|index| phantom::head(16, 16, Seed::new(0), index));
///     let heads = heads.collect::<Result<Vec<_>, _>>()?;
///     let kspace = Kspace::of_pictures([16, 16], &heads)?;
///     let spec = MaskSpec { centre: 2, noise: 0.02, ..MaskSpec::default() };
///     let learned = MaskStudy::new(&kspace, &spec)?.learn(|_| ControlFlow::Continue(()))?;
///     assert_eq!(learned.elements.len(), 4);
///     let pictures = learned.mask().reconstruct(&kspace, 1e-3)?;
///     assert!(pictures[0].error <= 1e-3 * 1.2);
///     Ok(())
/// }
/// ```
#[derive(Debug)]
pub struct MaskStudy {
    spec: MaskSpec,
    options: MaskOptions,
    training: MaskProblem,
    held_out: Option<MaskProblem>,
    slices: [Vec<usize>; 2],
    shape: [usize; 2],
    zero: FrequencyZero,
    unit: f64,
}

impl MaskStudy {
    /// Checks the settings, and divides the slices into those to learn from and held-out ones.
    ///
    /// # Errors
    /// When a setting is out of range, or a slice cannot be used.
    pub fn new(kspace: &Kspace, spec: &MaskSpec) -> Result<Self, MaskError> {
        let grid = kspace.grid();
        let mut options = MaskOptions::of_budget(spec.pattern, grid, spec.budget, spec.centre)?;
        let check = |name, found: f64, is_valid: bool, needed| match is_valid {
            true => Ok(()),
            false => Err(MaskError::Setting {
                name,
                found,
                needed,
            }),
        };
        let is_noise = spec.noise >= 0.0 && spec.noise < f64::INFINITY;
        check(
            "the noise",
            spec.noise,
            is_noise,
            "zero or positive, such as 0.02",
        )?;
        let nu = spec.nu.unwrap_or(MaskProblem::START.nu);
        let is_nu = nu > 0.0 && nu < f64::INFINITY;
        check("nu", nu, is_nu, "positive, such as 0.01")?;
        let restarts = spec.restarts as f64;
        check(
            "the number of searches",
            restarts,
            spec.restarts > 0,
            "1 or more",
        )?;
        let is_cosine = spec.filters.is_none_or(|set| !set.is_learned);
        let size = spec.filters.map_or(0, |set| set.size);
        check(
            "the size of learned filters",
            size as f64,
            is_cosine,
            "that of cosine filters, whose potentials are convex here: dct3, dct5 or dct7",
        )?;
        options.restarts = spec.restarts;
        options.max_exchanges = spec.max_exchanges;
        let count = kspace.num_slices();
        let hold_out = spec.hold_out.unwrap_or(match count {
            1 => 0,
            _ => (count / 4).max(1),
        });
        let has_rest = hold_out < count;
        let needed = "less than the number of slices, so that some are left to learn from";
        check(
            "the number of held-out slices",
            hold_out as f64,
            has_rest,
            needed,
        )?;
        let held: Vec<usize> = (0..hold_out)
            .map(|number| (2 * number + 1) * count / (2 * hold_out))
            .collect();
        let training: Vec<usize> = (0..count).filter(|slice| !held.contains(slice)).collect();
        let unit = kspace.brightest(&[1.0]);
        let seed = Seed::new(spec.seed);
        // noise is drawn for the whole stack, so that each slice has its own
        let pairs = kspace.pairs(unit, spec.noise, seed)?;
        let problem = |slices: &[usize]| {
            let fouriers = kspace.select(slices).fouriers().to_vec();
            let pairs = slices.iter().map(|&slice| pairs[slice].clone()).collect();
            MaskProblem::with_transforms(fouriers, spec.pattern, pairs).map_err(|error| {
                match error {
                    // the number in the whole stack
                    MaskError::NoSignal { index } => MaskError::NoSignal {
                        index: slices[index],
                    },
                    other => other,
                }
            })
        };
        let mut learned_from = problem(&training)?;
        if let Some(nu) = spec.nu {
            learned_from.fix_nu(nu);
        }
        if let Some(set) = spec.filters {
            learned_from.use_filters(&vec![1.0; set.num_potentials()])?;
        }
        Ok(Self {
            spec: spec.clone(),
            options,
            training: learned_from,
            held_out: match held.is_empty() {
                true => None,
                false => Some(problem(&held)?),
            },
            slices: [training, held],
            shape: kspace.shape(),
            zero: kspace.zero(),
            unit,
        })
    }

    /// The numbers of the training slices and of the held-out ones.
    #[must_use]
    pub const fn slices(&self) -> &[Vec<usize>; 2] {
        &self.slices
    }

    /// The number of lines or points of the mask.
    #[must_use]
    pub const fn size(&self) -> usize {
        self.options.size
    }

    /// Starts from the mask with these lines or points and its parameters, after this many finished
    /// searches.
    ///
    /// # Errors
    /// When the mask does not fit.
    pub fn start_from(
        &mut self,
        elements: &[usize],
        tv: TvParameters,
        finished: usize,
    ) -> Result<(), MaskError> {
        let set = self.spec.pattern.set_of(self.training.grid(), elements);
        self.options.start = Some((set, tv));
        self.options.restarts = self.spec.restarts.saturating_sub(finished).max(1);
        self.options.check(self.spec.pattern, self.training.grid())
    }

    /// Learns the mask, and compares it with others. Calls `observe` after every mask that was
    /// tried; it ends learning by returning [`ControlFlow::Break`], and the result is the best mask
    /// so far.
    ///
    /// # Errors
    /// When a reconstruction fails.
    pub fn learn(
        &mut self,
        observe: impl FnMut(MaskProgress<'_>) -> ControlFlow<()>,
    ) -> Result<MaskOutcome, MaskError> {
        let (learned, before_rounding) = match self.spec.method {
            MaskMethod::Search => (self.training.learn(&self.options, observe)?, None),
            MaskMethod::Relax => {
                let relaxed = self.training.relax(&self.options, observe)?;
                (relaxed.rounded, Some(relaxed.relaxed))
            }
        };
        let work = self.training.work();
        let comparison = self.compare(&learned.point)?;
        let tv = learned.point.tv();
        let set = learned.point.set();
        let [training, held_out] = self.slices.clone();
        Ok(MaskOutcome {
            spec: self.spec.clone(),
            shape: self.shape,
            frequency_zero: self.zero,
            elements: (0..set.len()).filter(|&element| set[element]).collect(),
            alpha: tv.alpha,
            nu: tv.nu,
            xi: tv.xi,
            filters: learned.point.filters().to_vec(),
            objective: [learned.interval.lower, learned.interval.upper],
            evaluations: learned.evaluations,
            accepted: learned.accepted,
            is_complete: learned.is_complete,
            before_rounding,
            work,
            unit: self.unit,
            training,
            held_out,
            comparison,
        })
    }

    fn compare(&mut self, learned: &MaskPoint) -> Result<Vec<ComparedMask>, MaskError> {
        // a mask that was interrupted is compared with masks of its own size
        let mut options = self.options.clone();
        options.size = learned.set().iter().filter(|&&entry| entry).count();
        self.training
            .compare(self.held_out.as_mut(), &options, learned)
    }

    /// Reconstructs the held-out slices, or the training slices if there are none, with a mask of a
    /// comparison. Returns pairs of truth and reconstruction, in the unit of the pictures.
    ///
    /// # Errors
    /// When the mask does not fit, or a reconstruction fails.
    pub fn reconstructions(
        &mut self,
        mask: &ComparedMask,
    ) -> Result<Vec<[Vec<f64>; 2]>, MaskError> {
        let problem = self.held_out.as_mut().unwrap_or(&mut self.training);
        problem.use_filters(&mask.filters)?;
        let (point, _) = problem.scored(&mask.set, mask.tv())?;
        let unit = self.unit;
        let scaled = |x: &[f64]| -> Vec<f64> { x.iter().map(|value| value * unit).collect() };
        let pairs = problem.truths().zip(point.reconstructions());
        Ok(pairs.map(|(truth, x)| [scaled(truth), scaled(x)]).collect())
    }
}
