//! The flags of `bilevel learn`, and how they go before a file of settings.

use std::fs;
use std::path::PathBuf;

use bilevel::{Residuals, Scale};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::config::{Colour, Config, ConfigError, L1Kind, MethodKind, TaskKind, Values};
use crate::error::CliError;

const EXAMPLES: &str = "\
Examples:
  bilevel learn denoise --out run               from built-in images
  bilevel learn denoise --images photos --noise 0.1 --hold-out 2 --out run
  bilevel learn denoise --images clean --noisy measured --out run
  bilevel learn denoise --learn alpha --fix nu=1e-3,xi=1e-3 --out run
  bilevel learn deblur --kernel kernel.npy --images photos --out run
  bilevel learn inpaint --mask mask.png --images photos --out run
  bilevel learn sampling --images signals.npy --penalty-l1 0.02 --out run
  bilevel learn denoise --print-config > settings.toml
  bilevel learn --config settings.toml --out run";

/// What to learn, and from what. What is not given comes from the file of `--config`, or is a default.
#[derive(Args, Clone, Debug, Default)]
#[command(after_help = EXAMPLES)]
pub struct LearnArgs {
    /// What to learn; may be left out if the file of --config says it
    #[arg(value_enum)]
    pub task: Option<TaskKind>,
    /// The directory of the run, which must not exist or be empty
    #[arg(long, value_name = "RUN", required_unless_present = "print_config")]
    pub out: Option<PathBuf>,
    /// Settings in a TOML file; flags go before it
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Write all settings as a TOML file to standard output, and do nothing else
    #[arg(long)]
    pub print_config: bool,

    /// Folder of pictures without noise, for sampling a .npy file with a signal in each row [default: built-in ones]
    #[arg(long, value_name = "PATH", help_heading = "Data")]
    pub images: Option<PathBuf>,
    /// What was measured: a folder of pictures with the same names, for sampling a .npy file
    #[arg(
        long,
        value_name = "PATH",
        help_heading = "Data",
        conflicts_with = "noise"
    )]
    pub noisy: Option<PathBuf>,
    /// Standard deviation of noise that is added [default: 0.1; deblur 0.01; sampling, inpaint 0.05]
    #[arg(
        long,
        value_name = "SIGMA",
        help_heading = "Data",
        allow_negative_numbers = true
    )]
    pub noise: Option<f64>,
    /// Of built-in images and of noise [default: 1]
    #[arg(long, value_name = "N", help_heading = "Data")]
    pub seed: Option<u64>,
    /// What becomes of colours [default: channels beside --noisy, else luminance]
    #[arg(long, help_heading = "Data", value_parser = words([("luminance", Colour::Luminance), ("channels", Colour::Channels)]))]
    pub colour: Option<Colour>,
    /// Only N rows and columns in the middle of each picture
    #[arg(long, value_name = "N", help_heading = "Data")]
    pub crop: Option<usize>,
    /// At most N images [default: all; 10 built-in ones]
    #[arg(long, value_name = "N", help_heading = "Data")]
    pub count: Option<usize>,
    /// Rows and columns of built-in pictures [default: 128], samples of built-in signals [default: 64]
    #[arg(long, value_name = "N", help_heading = "Data")]
    pub size: Option<usize>,
    /// The last N images are not learned from, but judge what was learned [default: 0]
    #[arg(long, value_name = "N", help_heading = "Data")]
    pub hold_out: Option<usize>,
    /// Other images that judge what was learned
    #[arg(long, value_name = "PATH", help_heading = "Data")]
    pub validation: Option<PathBuf>,
    /// The blur: a .npy file with two axes, its origin in the middle; it wraps around at the borders (deblur)
    #[arg(long, value_name = "FILE", help_heading = "Data")]
    pub kernel: Option<PathBuf>,
    /// A picture that is white (0.5 or more) where pixels were measured (inpaint)
    #[arg(long, value_name = "FILE", help_heading = "Data")]
    pub mask: Option<PathBuf>,

    /// Parameters to learn, such as alpha,nu [default: all that are not fixed]
    #[arg(
        long,
        value_name = "NAMES",
        help_heading = "Model",
        value_delimiter = ','
    )]
    pub learn: Option<Vec<String>>,
    /// Values of parameters that are not learned, such as nu=1e-3,xi=1e-3
    #[arg(long, value_name = "NAME=VALUE", help_heading = "Model", value_delimiter = ',', value_parser = assignment)]
    pub fix: Vec<(String, f64)>,
    /// Where learned parameters begin, such as alpha=1
    #[arg(long, value_name = "NAME=VALUE", help_heading = "Model", value_delimiter = ',', value_parser = assignment)]
    pub start: Vec<(String, f64)>,
    /// Their least values, such as alpha=1e-7
    #[arg(long, value_name = "NAME=VALUE", help_heading = "Model", value_delimiter = ',', value_parser = assignment)]
    pub lower: Vec<(String, f64)>,
    /// Their largest values, such as alpha=1e7
    #[arg(long, value_name = "NAME=VALUE", help_heading = "Model", value_delimiter = ',', value_parser = assignment)]
    pub upper: Vec<(String, f64)>,

    /// Mean or sum over images [default: mean]
    #[arg(long, help_heading = "Objective", value_parser = words([("mean", Scale::Mean), ("sum", Scale::Sum)]))]
    pub objective: Option<Scale>,
    /// What the solver sees of the objective [default: auto]
    #[arg(long, help_heading = "Objective", value_parser = words([("auto", Residuals::Auto), ("image", Residuals::Image), ("pixel", Residuals::Pixel)]))]
    pub residuals: Option<Residuals>,
    /// Weight of the squared condition number, for cheap reconstructions [default: 0]
    #[arg(
        long,
        value_name = "WEIGHT",
        help_heading = "Objective",
        allow_negative_numbers = true
    )]
    pub penalty_condition: Option<f64>,
    /// Weight of the sum of all theta, for few frequencies (sampling) [default: 0.01]
    #[arg(
        long,
        value_name = "WEIGHT",
        help_heading = "Objective",
        allow_negative_numbers = true
    )]
    pub penalty_l1: Option<f64>,
    /// How that sum is treated [default: root]
    #[arg(long, help_heading = "Objective", value_enum)]
    pub l1_kind: Option<L1Kind>,

    /// At most N different parameters are tried [default: 100; sampling 1000]
    #[arg(long, value_name = "N", help_heading = "Solver")]
    pub evaluations: Option<u64>,
    /// How reconstructions are computed [default: auto]
    #[arg(long, help_heading = "Solver", value_enum)]
    pub method: Option<MethodKind>,
    /// N iterations for each reconstruction [default: as accurate as the solver asks for]
    #[arg(
        long,
        value_name = "N",
        help_heading = "Solver",
        conflicts_with = "max_iterations"
    )]
    pub iterations: Option<u64>,
    /// A reconstruction gives up after N iterations [default: never]
    #[arg(long, value_name = "N", help_heading = "Solver")]
    pub max_iterations: Option<u64>,
    /// The run ends when steps are so small, as a share of the range between bounds [default: 1e-4]
    #[arg(
        long,
        value_name = "RADIUS",
        help_heading = "Solver",
        allow_negative_numbers = true
    )]
    pub final_radius: Option<f64>,
}

/// Words that stand for values.
fn words<T, const N: usize>(known: [(&'static str, T); N]) -> impl TypedValueParser<Value = T>
where
    T: Copy + Send + Sync + 'static,
{
    let names = PossibleValuesParser::new(known.map(|(name, _)| name));
    names.try_map(move |word| {
        let found = known.iter().find(|(name, _)| *name == word);
        found.map(|(_, value)| *value).ok_or("an unknown word")
    })
}

/// A name and its value.
fn assignment(text: &str) -> Result<(String, f64), String> {
    let refuse = || format!("{text:?} must be a name and a number, such as alpha=0.1");
    let (name, value) = text.split_once('=').ok_or_else(refuse)?;
    let value = value.trim().parse().map_err(|_| refuse())?;
    Ok((name.trim().to_owned(), value))
}

/// A flag goes before the file.
fn set<T: Clone>(value: &mut T, flag: Option<&T>) {
    if let Some(flag) = flag {
        value.clone_from(flag);
    }
}

/// The same, where the file may say nothing.
fn set_option<T: Clone>(value: &mut Option<T>, flag: Option<&T>) {
    if let Some(flag) = flag {
        *value = Some(flag.clone());
    }
}

impl LearnArgs {
    /// The settings: flags before the file of `--config` before defaults, resolved.
    ///
    /// # Errors
    /// When the file cannot be read, or the settings do not make sense.
    pub fn config(&self) -> Result<Config, CliError> {
        let mut config = match (&self.config, self.task) {
            (Some(path), task) => {
                let text = fs::read_to_string(path).map_err(|source| ConfigError::Read {
                    path: path.clone(),
                    source,
                })?;
                Config::from_toml_for(&text, path, task)?
            }
            (None, Some(task)) => Config::new(task),
            (None, None) if self.print_config => Config::new(TaskKind::default()),
            (None, None) => return Err(CliError::Config(ConfigError::NoTaskGiven)),
        };
        self.set_data(&mut config);
        self.set_model(&mut config);
        self.set_rest(&mut config);
        if self.print_config {
            // a file to fill in needs no kernel yet
            match config.task {
                TaskKind::Deblur => {
                    config
                        .data
                        .kernel
                        .get_or_insert_with(|| "kernel.npy".into());
                }
                TaskKind::Inpaint => {
                    config.data.mask.get_or_insert_with(|| "mask.png".into());
                }
                TaskKind::Denoise | TaskKind::Sampling => {}
            }
        }
        Ok(config.resolve()?)
    }

    fn set_data(&self, config: &mut Config) {
        let data = &mut config.data;
        // What was measured and what is added exclude each other: the flag wins.
        if self.noisy.is_some() {
            data.noise = None;
        }
        if self.noise.is_some() {
            data.noisy = None;
        }
        set_option(&mut data.images, self.images.as_ref());
        set_option(&mut data.noisy, self.noisy.as_ref());
        set_option(&mut data.noise, self.noise.as_ref());
        set(&mut data.seed, self.seed.as_ref());
        set_option(&mut data.colour, self.colour.as_ref());
        set_option(&mut data.crop, self.crop.as_ref());
        set_option(&mut data.count, self.count.as_ref());
        set(&mut data.size, self.size.as_ref());
        set(&mut data.hold_out, self.hold_out.as_ref());
        set_option(&mut data.validation, self.validation.as_ref());
        set_option(&mut data.kernel, self.kernel.as_ref());
        set_option(&mut data.mask, self.mask.as_ref());
    }

    fn set_model(&self, config: &mut Config) {
        let model = &mut config.model;
        if let Some(learn) = &self.learn {
            model.learn.clone_from(learn);
            model.fixed.retain(|name, _| !learn.contains(name));
        } else {
            let is_fixed = |name: &String| self.fix.iter().any(|(fixed, _)| fixed == name);
            model.learn.retain(|name| !is_fixed(name));
        }
        // What the file says about parameters that are no longer learned.
        for values in [&mut model.start, &mut model.lower, &mut model.upper] {
            let known = config.task.learnable();
            let is_dropped =
                |name: &String| known.contains(&&name[..]) && !model.learn.contains(name);
            values.retain(|name, _| !is_dropped(name));
        }
        let add = |values: &mut Values, flags: &[(String, f64)]| {
            values.extend(flags.iter().cloned());
        };
        add(&mut model.fixed, &self.fix);
        add(&mut model.start, &self.start);
        add(&mut model.lower, &self.lower);
        add(&mut model.upper, &self.upper);
    }

    fn set_rest(&self, config: &mut Config) {
        let objective = &mut config.objective;
        set(&mut objective.scale, self.objective.as_ref());
        set(&mut objective.residuals, self.residuals.as_ref());
        set(&mut objective.condition, self.penalty_condition.as_ref());
        set(&mut objective.l1, self.penalty_l1.as_ref());
        set(&mut objective.l1_kind, self.l1_kind.as_ref());
        let solver = &mut config.solver;
        set(&mut solver.evaluations, self.evaluations.as_ref());
        set(&mut solver.method, self.method.as_ref());
        if self.max_iterations.is_some() {
            solver.iterations = None;
        }
        if self.iterations.is_some() {
            solver.max_iterations = None;
        }
        set_option(&mut solver.iterations, self.iterations.as_ref());
        set_option(&mut solver.max_iterations, self.max_iterations.as_ref());
        set(&mut solver.final_radius, self.final_radius.as_ref());
    }
}
