//! The table of settings: one row for each setting of `bilevel learn`.
//!
//! Flags, files of settings, checks, messages, printed settings and `--help` are all generated from
//! these rows. A new setting is a row here and a field of [`Config`](super::Config).

use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;
use std::path::Path;

use bilevel::{FilterSet, Spec};
use toml::Value;

mod text;

pub(crate) use text::lines;
pub(super) use text::{comment, literal, shown};

use super::{ConfigError, TaskKind};
use TaskKind::{Deblur, Denoise, Inpaint, Sampling};

/// A setting of `bilevel learn`.
#[derive(Debug)]
pub struct Setting {
    /// The flag, without its dashes.
    pub flag: &'static str,
    /// The section and the key in a file, such as `data.noise`.
    pub key: &'static str,
    /// The kind of value, and the possible values.
    pub(crate) kind: ValueKind,
    /// The value of a setting that is not given.
    pub(super) default: DefaultValue,
    /// The description for `--help` and for printed settings.
    pub(super) help: &'static str,
    /// The tasks that accept the setting.
    pub(super) tasks: Tasks,
    /// A setting that cannot be given together with this one. A flag for either of them overrides
    /// both in a file.
    pub(crate) alternative: Option<&'static Self>,
}

/// The kind of value of a setting.
#[derive(Debug)]
pub(crate) enum ValueKind {
    /// The path of a file or folder.
    Path,
    /// One of several words.
    Word(&'static [&'static str]),
    /// A whole number in a range that depends on the task.
    Whole(fn(TaskKind) -> RangeInclusive<i64>),
    /// A number. The fields are a test for possible numbers, and their description.
    Number(fn(f64) -> bool, &'static str),
    /// Noise: a standard deviation that is zero or positive, or the noise of a camera.
    Noise,
    /// Names of parameters.
    Names,
    /// Numbers by the names of parameters.
    Values,
}

/// The value of a setting that is not given.
#[derive(Debug)]
pub(super) enum DefaultValue {
    /// The setting must be given. The texts describe the value, and are an example of it.
    Required(&'static str, &'static str),
    /// One task needs the setting, with the same texts; for others there is no value.
    RequiredFor(TaskKind, &'static str, &'static str),
    /// No value. The texts are the meaning of that, and an example of a value in a file.
    Unset(&'static str, &'static str),
    /// The same whole number for all tasks.
    Whole(i64),
    /// The same word for all tasks.
    Word(&'static str),
    /// A value that depends on the task.
    Of(fn(TaskKind) -> Value),
    /// One default if another setting is given, and one if it is not.
    With(&'static Setting, &'static Self, &'static Self),
}

/// A group of tasks and its name.
#[derive(Debug)]
pub(super) struct Tasks(pub(super) &'static [TaskKind], pub(super) &'static str);

const ALL_TASKS: Tasks = Tasks(&[Denoise, Sampling, Deblur, Inpaint], "all tasks");
/// The tasks that learn from patches of pictures.
const PATCHED: Tasks = Tasks(&[Denoise, Deblur], "denoise and deblur");
const DEBLUR: Tasks = Tasks(&[Deblur], "deblur");
const PICTURES: Tasks = Tasks(&[Denoise, Deblur, Inpaint], "pictures");

const POSITIVE: ValueKind = ValueKind::Whole(|_| 1..=i64::MAX);
const ANY_WHOLE: ValueKind = ValueKind::Whole(|_| 0..=i64::MAX);
const WEIGHT: ValueKind =
    ValueKind::Number(|x| (0.0..=1e100).contains(&x), "zero or a positive number");
const FINITE: ValueKind = ValueKind::Number(f64::is_finite, "a finite number");
/// The first radius of the trust region is 0.1; a test compares the number.
const RADIUS: ValueKind = ValueKind::Number(
    |x| x > 0.0 && x < dfo_ls::TrustRegion::default().initial_radius,
    "positive and below 0.1, the first radius",
);

const FACTOR: ValueKind = ValueKind::Number(|x| x > 0.0 && x <= 1e100, "positive");

/// Defines the rows, and the list of all of them.
macro_rules! table {
    ($($name:ident = $row:expr;)*) => {
        $(#[doc = concat!("The setting `", stringify!($name), "`.")]
        pub static $name: Setting = $row;)*
        /// All settings, in the order of printed files.
        pub static ALL: &[&Setting] = &[$(&$name),*];
    };
}

table! {
    IMAGES = row("images", "data.images", ValueKind::Path,
        DefaultValue::Unset("built-in images", "\"images\""),
        "Clean pictures: a folder, or a file (each page of a TIFF file is a picture); \
         a folder without pictures may hold .npy arrays; \
         for sampling, a .npy file with one signal per row");
    NOISY = row("noisy", "data.noisy", ValueKind::Path,
        DefaultValue::Unset("simulated from the clean pictures", "\"noisy\""),
        "Measured pictures: a folder with the same file names, or a file; \
         for sampling, a .npy file of complex frequencies")
        .or(&NOISE);
    NOISE = row("noise", "data.noise", ValueKind::Noise,
        DefaultValue::With(&NOISY, &DefaultValue::Unset("none", "0.1"), &DefaultValue::Of(noise)),
        "Standard deviation of the noise that is added to clean pictures (black is 0, white is 1). \
         With --truth none, that of the measured pictures, which is estimated if it is not given. \
         For denoise also poisson:GAIN,READ or poisson:GAIN,READ,BLACK, the noise of a camera that \
         counts photons, or poisson, to estimate gain and read noise from the pages of --noisy")
        .or(&NOISY);
    TRUTH = row("truth", "data.truth", ValueKind::Word(&["none"]),
        DefaultValue::Unset("the clean pictures", "\"none\""),
        "Learn without clean pictures (none), only from those of --noisy")
        .only(PICTURES);
    SEED = row("seed", "data.seed", ANY_WHOLE, DefaultValue::Whole(1),
        "Random seed for built-in images, added noise and positions of patches");
    COLOUR = row("colour", "data.colour", ValueKind::Word(&["opponent", "channels", "grey"]),
        DefaultValue::With(
            &NOISY,
            &DefaultValue::Word("channels"),
            &DefaultValue::Word("grey"),
        ),
        "How to treat colour pictures: as one picture with luminance and chroma (opponent), as \
         three grey pictures (channels), or by their luminance (grey). If this option is not \
         given and all files of --images are in colour, opponent replaces the default")
        .only(PICTURES);
    SLICES = row("slices", "data.slices", ValueKind::Word(&["pictures", "volume"]),
        DefaultValue::Word("pictures"),
        "How to treat the slices or pages of a file: as separate pictures (pictures), or together \
         as one volume with differences along three axes (volume)")
        .only(Tasks(&[Denoise], "denoise"));
    CROP = row("crop", "data.crop", POSITIVE, DefaultValue::Unset("whole pictures", "256"),
        "Use only the middle N rows and N columns of each picture")
        .only(PICTURES);
    PATCHES = row("patches", "data.patches", ANY_WHOLE,
        DefaultValue::With(&FILTERS, &DefaultValue::Of(patches), &DefaultValue::Whole(0)),
        "Use N square patches of each picture, held-out ones included, at random positions; 0 means \
         whole pictures. Pictures of --validation stay whole")
        .only(PATCHED);
    PATCH_SIZE = row("patch-size", "data.patch_size", POSITIVE, DefaultValue::Whole(64),
        "Rows and columns of patches; smaller pictures are used whole")
        .only(PATCHED);
    COUNT = row("count", "data.count", POSITIVE,
        DefaultValue::With(&IMAGES, &DefaultValue::Unset("all", "10"),
            &DefaultValue::With(&NOISY, &DefaultValue::Unset("all", "10"),
                &DefaultValue::Whole(10))),
        "Use only the first N images");
    SIZE = row("size", "data.size",
        ValueKind::Whole(|task| if task == Sampling { 2..=10_000 } else { 1..=10_000 }),
        DefaultValue::Of(|task| Value::Integer(if task == Sampling { 64 } else { 128 })),
        "Rows and columns of built-in pictures, or samples of built-in signals");
    HOLD_OUT = row("hold-out", "data.hold_out", ANY_WHOLE,
        DefaultValue::With(
            &FILTERS,
            &DefaultValue::Unset("one in five", "2"),
            &DefaultValue::Whole(0),
        ),
        "Hold out the last N images for validation");
    VALIDATION = row("validation", "data.validation", ValueKind::Path,
        DefaultValue::Unset("none", "\"others\""),
        "More images for validation: a folder or file as for --images, with noise added likewise");
    KERNEL = row("kernel", "data.kernel", ValueKind::Path,
        DefaultValue::Required("a file with the blur kernel, or its shape", "gaussian:2"),
        "Blur kernel (it is divided by its sum): gaussian:2 (standard deviation in pixels), disc:5 \
         (radius), motion:15@30 (length and degrees), or a .npy, TIFF or PNG file with the origin \
         in the middle")
        .only(DEBLUR);
    KERNEL_BACKGROUND = row("kernel-background", "data.kernel_background",
        ValueKind::Word(&["keep", "subtract"]),
        DefaultValue::Word("keep"),
        "Background of a measured kernel: keep it (keep), or subtract the median of the kernel's \
         border (subtract)")
        .only(DEBLUR);
    MASK = row("mask", "data.mask", ValueKind::Path,
        DefaultValue::RequiredFor(
            Inpaint,
            "a picture that is white where pixels were measured",
            "mask.png",
        ),
        "Mask: a picture that is white (0.5 or more) where pixels were measured, and black \
         elsewhere; for deblur, optional: black where pixels are dead or saturated")
        .only(Tasks(&[Deblur, Inpaint], "deblur and inpaint"));

    FILTERS = row("filters", "model.filters", ValueKind::Word(&FilterSet::NAMES),
        DefaultValue::Unset("total variation", "\"dct5\""),
        "Bank of filters that replaces the total variation: cosine filters (dct), or filters that are \
         learned, too (learned); the number is their size in pixels along each axis")
        .only(PICTURES);
    BOUNDARY = row("boundary", "model.boundary", ValueKind::Word(&["unknown", "periodic"]),
        DefaultValue::Word("unknown"),
        "What lies beyond the borders of a blurred picture: unknown values, as in a camera \
         (unknown), or copies of the picture itself (periodic)")
        .only(DEBLUR);
    LEARN = row("learn", "model.learn", ValueKind::Names, DefaultValue::Of(learned),
        "Names of the parameters to learn; the default leaves out those that --fix names");
    FIX = row("fix", "model.fixed", ValueKind::Values, DefaultValue::Of(fixed),
        "Values of the parameters that are not learned");
    START = row("start", "model.start", ValueKind::Values, DefaultValue::Of(|task| range(task, 0)),
        "Values of the learned parameters at the start");
    LOWER = row("lower", "model.lower", ValueKind::Values, DefaultValue::Of(|task| range(task, 1)),
        "Lower bounds of the learned parameters");
    UPPER = row("upper", "model.upper", ValueKind::Values, DefaultValue::Of(|task| range(task, 2)),
        "Upper bounds of the learned parameters");

    IMAGE_MIN = row("image-min", "model.image_min", FINITE, DefaultValue::Unset("no limit", "0.0"),
        "Smallest value that pixels of reconstructions may have, such as 0")
        .only(PICTURES);
    IMAGE_MAX = row("image-max", "model.image_max", FINITE, DefaultValue::Unset("no limit", "1.0"),
        "Largest value that pixels of reconstructions may have, such as 1")
        .only(PICTURES);

    CRITERION = row("criterion", "objective.criterion",
        ValueKind::Word(&["truth", "sure", "gcv"]),
        DefaultValue::With(&TRUTH, &DefaultValue::Word("sure"), &DefaultValue::Word("truth")),
        "Criterion to minimise: the squared distance from the truth (truth), or an estimate of it \
         that needs no truth, for known noise (sure) or for unknown noise (gcv)")
        .only(PICTURES);
    SCALE = row("objective", "objective.scale", ValueKind::Word(&["mean", "sum"]),
        DefaultValue::Word("mean"),
        "Minimise the mean or the sum of the criterion over all images");
    RESIDUALS = row("residuals", "objective.residuals",
        ValueKind::Word(&["image", "pixel"]),
        DefaultValue::Word("pixel"),
        "Residuals for the derivative-free solver: one per image, or one per pixel, which needs \
         fewer evaluations");
    CONDITION = row("penalty-condition", "objective.condition", WEIGHT,
        DefaultValue::Of(|_| Value::Float(0.0)),
        "Weight of the penalty on the squared condition number; larger weights favour cheap \
         reconstructions");
    L1 = row("penalty-l1", "objective.l1", WEIGHT,
        DefaultValue::Of(|task| Spec::new(task).objective.l1.into()),
        "For sampling, weight of the penalty on the sum of theta; with a larger weight, fewer \
         frequencies are used")
        .only(Tasks(&[Sampling], "sampling"));
    L1_KIND = row("l1-kind", "objective.l1_kind", ValueKind::Word(&["root", "nonsmooth"]),
        DefaultValue::Word("root"),
        "For sampling, how the derivative-free solver treats the penalty of --penalty-l1: as the \
         square of one more residual (root), or as a nonsmooth term (nonsmooth)")
        .only(Tasks(&[Sampling], "sampling"));

    SOLVER = row("solver", "solver.kind", ValueKind::Word(&["auto", "gradient", "derivative-free"]),
        DefaultValue::Word("auto"),
        "Learn with gradients (gradient), without them (derivative-free), or with gradients where \
         the other settings allow it (auto)");
    KAPPA = row("kappa", "solver.kappa", FACTOR,
        DefaultValue::Of(|task| Spec::new(task).solver.kappa.into()),
        "With gradients, largest error of a new reconstruction, as a share of the distance by which \
         the step moved it; results hardly depend on it");
    LEAST_GAIN = row("least-gain", "solver.least_gain", WEIGHT,
        DefaultValue::With(
            &FILTERS,
            &DefaultValue::Of(least_gain),
            &DefaultValue::Unset("no such rule", "0.001"),
        ),
        "With gradients, stop when the last ten points have gained less than this share of the \
         objective");
    MAX_POINTS = row("max-points", "solver.max_points", POSITIVE,
        DefaultValue::Of(|task| whole(Spec::new(task).solver.max_points)),
        "Stop after N points, that is, after N different values of the parameters");
    METHOD = row("method", "solver.method", ValueKind::Word(&["auto", "fista", "gd"]),
        DefaultValue::Word("auto"),
        "Reconstruction method: the fastest known (auto), FISTA, or gradient descent (gd)");
    ITERATIONS = row("iterations", "solver.iterations", POSITIVE,
        DefaultValue::Unset("as many as the requested accuracy needs", "1000"),
        "Run exactly N iterations for each reconstruction")
        .or(&MAX_ITERATIONS);
    MAX_ITERATIONS = row("max-iterations", "solver.max_iterations", POSITIVE,
        DefaultValue::Unset("no limit", "100000"),
        "Stop each reconstruction after at most N iterations")
        .or(&ITERATIONS);
    FINAL_RADIUS = row("final-radius", "solver.final_radius", RADIUS,
        DefaultValue::Of(|task| Spec::new(task).solver.final_radius.into()),
        "For the derivative-free solver, stop when the trust-region radius is this share of the \
         range between bounds");
    DIRECTION_SEED = row("direction-seed", "solver.seed", ANY_WHOLE, DefaultValue::Whole(0),
        "For the derivative-free solver, random seed for the directions of the first steps; with \
         0, they change one parameter each");
    THREADS = row("threads", "solver.threads", POSITIVE,
        DefaultValue::Unset("one per processor", "4"),
        "Number of threads; results do not depend on it");
}

const fn row(
    flag: &'static str,
    key: &'static str,
    kind: ValueKind,
    default: DefaultValue,
    help: &'static str,
) -> Setting {
    Setting {
        flag,
        key,
        kind,
        default,
        help,
        tasks: ALL_TASKS,
        alternative: None,
    }
}

fn whole(number: u64) -> Value {
    i64::try_from(number).unwrap_or(i64::MAX).into()
}

/// Returns the smallest gain for which learning of a filter bank goes on.
fn least_gain(task: TaskKind) -> Value {
    let gain = Spec::filters(task, FilterSet::DCT5).solver.least_gain;
    Value::Float(gain.unwrap_or_default())
}

/// Returns the number of patches of each picture from which a filter bank is learned. A mask has
/// the size of whole pictures.
fn patches(task: TaskKind) -> Value {
    Value::Integer(if task == Inpaint { 0 } else { 4 })
}

/// Returns the standard deviation of added noise.
fn noise(task: TaskKind) -> Value {
    Value::Float(match task {
        Denoise => 0.1,
        Deblur => 0.01,
        Sampling | Inpaint => 0.05,
    })
}

/// Returns the names of the parameters that are learned by default.
fn learned(task: TaskKind) -> Value {
    task.learned().to_vec().into()
}

/// Returns the values of all parameters that can be fixed.
fn fixed(task: TaskKind) -> Value {
    BTreeMap::from(task.fixed()).into()
}

/// Returns the start, lower or upper values of all parameters that are learned by default.
fn range(task: TaskKind, which: usize) -> Value {
    let names = task.learned().iter();
    let values = names.map(|name| (*name, task.range(name)[which]));
    values.collect::<BTreeMap<_, _>>().into()
}

impl Setting {
    const fn only(mut self, tasks: Tasks) -> Self {
        self.tasks = tasks;
        self
    }

    const fn or(mut self, other: &'static Self) -> Self {
        self.alternative = Some(other);
        self
    }

    /// Whether a task accepts the setting.
    pub(crate) fn is_for(&self, task: TaskKind) -> bool {
        self.tasks.0.contains(&task)
    }

    /// Returns the error about this setting for a run of another task.
    pub(crate) fn not_of_run(&self, run: &Path, task: impl fmt::Display) -> ConfigError {
        ConfigError::not_of_run(self.flag, self.tasks.1, run, task)
    }

    /// Returns what a task needs the setting for, and an example, if it must be given.
    pub(super) fn required(&self, task: TaskKind) -> Option<(&'static str, &'static str)> {
        match self.default {
            DefaultValue::Required(what, example) if self.is_for(task) => Some((what, example)),
            DefaultValue::RequiredFor(one, what, example) if one == task => Some((what, example)),
            _ => None,
        }
    }

    /// Returns the section and the key in it.
    pub(crate) fn section_and_key(&self) -> (&'static str, &'static str) {
        self.key.split_once('.').unwrap_or(("", self.key))
    }

    /// Returns the default value, or the meaning of an unset value as the error. `is_given` tells
    /// whether another setting is given.
    pub(crate) fn default(
        &self,
        task: TaskKind,
        is_given: &dyn Fn(&Self) -> bool,
    ) -> Result<Value, &'static str> {
        let mut default = &self.default;
        while let DefaultValue::With(other, given, not_given) = default {
            default = if is_given(other) { given } else { not_given };
        }
        match default {
            DefaultValue::Required(..) => Err("required"),
            DefaultValue::RequiredFor(one, ..) if *one == task => Err("required"),
            DefaultValue::RequiredFor(..) => Err("none"),
            DefaultValue::Unset(meaning, _) => Err(meaning),
            DefaultValue::Whole(number) => Ok(Value::Integer(*number)),
            DefaultValue::Word(word) => Ok(Value::String((*word).into())),
            DefaultValue::Of(value) => Ok(value(task)),
            DefaultValue::With(..) => unreachable!("the loop ends at another default"),
        }
    }

    /// Whether the default depends on another setting.
    pub(super) const fn depends_on_another(&self) -> bool {
        matches!(self.default, DefaultValue::With(..))
    }

    /// Returns an example of a value, as it is written in a file.
    pub(super) fn example(&self, task: TaskKind) -> String {
        match &self.default {
            DefaultValue::Required(_, name) | DefaultValue::RequiredFor(_, _, name) => {
                literal(&Value::String((*name).into()))
            }
            DefaultValue::Unset(_, example)
            | DefaultValue::With(_, DefaultValue::Unset(_, example), _)
            | DefaultValue::With(_, _, DefaultValue::Unset(_, example)) => (*example).to_owned(),
            _ => self
                .default(task, &|_| false)
                .map_or_else(str::to_owned, |v| literal(&v)),
        }
    }

    /// Returns the description with the default of each of `tasks`, such as
    /// `[default: 128; sampling: 64]`.
    #[must_use]
    pub fn help(&self, tasks: &[TaskKind]) -> String {
        let text = |task: TaskKind, is_given: &dyn Fn(&Self) -> bool| {
            let default = self.default(task, is_given);
            default.map_or_else(str::to_owned, |value| shown(&value))
        };
        let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
        for task in tasks.iter().filter(|task| self.is_for(**task)) {
            let default = text(*task, &|_| false);
            match groups.iter_mut().find(|(text, _)| *text == default) {
                Some((_, names)) => names.push(task.name()),
                None => groups.push((default, vec![task.name()])),
            }
        }
        let mut defaults: Vec<String> = Vec::new();
        for (text, names) in groups {
            defaults.push(match defaults.is_empty() {
                true => text,
                false => format!("{}: {text}", names.join(", ")),
            });
        }
        let mut default = &self.default;
        while let DefaultValue::With(other, _, not_given) = default {
            default = not_given;
            if !tasks.iter().any(|task| other.is_for(*task)) {
                continue;
            }
            let given = text(self.tasks.0[0], &|setting| setting.key == other.key);
            // a flag with a single value is given with it
            let value = match other.kind {
                ValueKind::Word([value]) => format!(" {value}"),
                _ => String::new(),
            };
            defaults.push(format!("with --{}{value}: {given}", other.flag));
        }
        match self.default {
            DefaultValue::Required(..) => format!("{} [required for {}]", self.help, self.tasks.1),
            DefaultValue::RequiredFor(task, ..) => {
                format!("{} [required for {task}]", self.help)
            }
            _ => format!("{} [default: {}]", self.help, defaults.join("; ")),
        }
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--{} ({} in a settings file)", self.flag, self.key)
    }
}
