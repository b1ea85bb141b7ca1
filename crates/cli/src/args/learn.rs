//! The flags of `bilevel learn`, generated from the table of settings.

use std::path::PathBuf;

use bilevel::FilterSet;
use clap::builder::{
    OsStringValueParser, PossibleValuesParser, StringValueParser, TypedValueParser,
};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, Subcommand, ValueEnum};
use toml::{Table, Value};

use super::{MaskArgs, words};
use crate::config::table::{self, ValueKind};
use crate::config::{ConfigError, Noise, Setting, Settings, TaskKind, is_noise};

const EXAMPLES: &str = "\
Parameters: a reconstruction x minimises |A x - data|^2/2 + alpha TV(x) + xi |x|^2/2, where TV(x)
is the sum of sqrt(|gradient of x|^2 + nu^2) over all pixels.
  alpha  weight of the total variation; larger values give smoother pictures
  nu     smoothing of the total variation; larger values blur edges
  xi     weight of the squared norm; larger values make reconstruction faster and pictures darker
  alpha_luminance, alpha_chroma
         with --colour opponent, alpha of the luminance and of the chroma; alpha means both
  width  for deblur, the width of a kernel gaussian:W or disc:W in pixels
  theta  for sampling, one number per frequency, whose weight in |A x - data|^2 is
         theta/(1-theta); results list these weights as the values of theta
With --model filters, a learned function of filtered pictures replaces the term with alpha; for
denoise, it also replaces the term with xi.

Examples:
  bilevel learn denoise --out run               learn from built-in images
  bilevel learn denoise --images photos --noise 0.1 --hold-out 2 --out run
  bilevel learn denoise --images clean --noisy measured --out run
  bilevel learn denoise --colour opponent --out run   learn from built-in images in colour
  bilevel learn denoise --truth none --noisy measured --out run
  bilevel learn denoise --truth none --per-picture --noisy measured --out run
  bilevel learn denoise --images stack.tif --hold-out 5 --out run
  bilevel learn denoise --model filters --images photos --noise 0.1 --out run
  bilevel learn denoise --learn alpha --fix nu=1e-3,xi=1e-3 --out run
  bilevel learn deblur --kernel gaussian:2 --images photos --out run
  bilevel learn deblur --kernel disc:5 --images sharp --noisy blurred --learn alpha,width --out run
  bilevel learn inpaint --mask mask.png --images photos --out run
  bilevel learn sampling --images signals.npy --penalty-l1 0.02 --out run
  bilevel learn mask --kspace slices.npy --out run    `bilevel learn mask --help` has more
  bilevel learn denoise --print-config > settings.toml
  bilevel learn --config settings.toml --out run";

/// The arguments of `bilevel learn`. Settings without a flag come from the file of `--config`, or
/// have defaults.
#[derive(Args, Clone, Debug, Default)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
#[command(subcommand_negates_reqs = true, disable_help_subcommand = true)]
pub struct LearnArgs {
    /// Reconstruction task to learn the parameters of; optional if the --config file names it
    #[arg(value_parser = words::<TaskKind>(TaskKind::ALL.map(TaskKind::name)))]
    pub task: Option<TaskKind>,
    /// New or empty directory for the run
    #[arg(long, value_name = "RUN", required_unless_present = "print_config")]
    pub out: Option<PathBuf>,
    /// TOML file with settings; flags override it
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Model of pictures: total variation (tv), or a bank of filters (filters), which is dct5
    /// unless --filters chooses another one. Without this option, tv, or filters if --filters is
    /// given
    #[arg(long, value_name = "WORD", help_heading = "Model")]
    pub model: Option<ModelName>,
    /// Learn parameters for each picture on its own, usually with --truth none; `bilevel apply`
    /// then takes the parameters of the picture with the same name
    #[arg(long)]
    pub per_picture: bool,
    /// Print all settings as a TOML file, and do nothing else
    #[arg(long)]
    pub print_config: bool,

    /// The settings that are given by flags.
    #[command(flatten)]
    pub flags: Settings,

    /// A task with arguments of its own.
    #[command(subcommand)]
    pub command: Option<LearnCommand>,
}

/// A task of `bilevel learn` with arguments of its own.
#[derive(Clone, Debug, Subcommand)]
pub enum LearnCommand {
    /// Learn which frequencies of magnetic resonance pictures to measure
    Mask(Box<MaskArgs>),
}

/// A model of pictures, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ModelName {
    /// Total variation.
    Tv,
    /// A bank of filters.
    Filters,
}

impl LearnArgs {
    /// Returns the settings: flags override the file of `--config`, which overrides defaults.
    ///
    /// # Errors
    /// When the file cannot be read, no task is given, or `--size` is given for images that are not
    /// built in.
    pub fn settings(&self) -> Result<Settings, ConfigError> {
        let mut given = match (&self.config, self.task) {
            (Some(path), task) => Settings::read(path, task)?,
            (None, Some(task)) => Settings::new(task),
            (None, None) if self.print_config => Settings::new(TaskKind::default()),
            (None, None) => return Err(ConfigError::NoTaskGiven),
        };
        let mut flags = self.flags.clone();
        match self.model {
            Some(ModelName::Tv) if flags.has(&table::FILTERS) => {
                return Err(ConfigError::TvWithFilters);
            }
            Some(ModelName::Tv) => given.remove(&table::FILTERS),
            Some(ModelName::Filters) if !flags.has(&table::FILTERS) => {
                let in_file = given.word(&table::FILTERS).map(str::to_owned);
                let chosen = in_file.unwrap_or_else(|| FilterSet::DCT5.to_string());
                flags.set(&table::FILTERS, chosen);
            }
            _ => {}
        }
        let mut settings = given.overridden_by(&flags);
        if self.flags.has(&table::SIZE) && settings.has(&table::IMAGES) {
            let advice = "the size is that of built-in images, so leave it out (--crop N uses the \
                          middle N rows and columns of each picture)";
            return Err(ConfigError::Together(&table::SIZE, &table::IMAGES, advice));
        }
        if self.print_config {
            // a file to fill in needs no kernel yet
            settings.fill_in_required();
        }
        Ok(settings)
    }
}

/// Returns the settings that are flags of `bilevel learn` only.
fn flags() -> impl Iterator<Item = &'static Setting> {
    let is_shared = |setting: &Setting| setting.key == table::THREADS.key;
    let settings = table::ALL.iter().copied();
    settings.filter(move |setting| !is_shared(setting))
}

impl Args for Settings {
    fn augment_args(command: Command) -> Command {
        command.args(flags().map(arg))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Settings {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut settings = Self::default();
        settings.update_from_arg_matches(matches)?;
        Ok(settings)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        let given = |setting: &Setting| matches.contains_id(setting.flag);
        let is_camera = (matches.get_many::<Value>(table::NOISE.flag))
            .is_some_and(|mut values| values.any(Value::is_str));
        let is_measured = is_camera || given(&table::TRUTH);
        if given(&table::NOISY) && given(&table::NOISE) && !is_measured {
            return Err(clap::Error::raw(
                clap::error::ErrorKind::ArgumentConflict,
                "the argument '--noise <NOISE>' cannot be used with '--noisy <PATH>', except for \
                 learning without clean pictures ('--truth none') and for the noise of a camera \
                 ('--noise poisson')",
            ));
        }
        for setting in flags() {
            let Some(values) = matches.get_many::<Value>(setting.flag) else {
                continue;
            };
            let mut values = values.cloned();
            match &setting.kind {
                ValueKind::Names => self.set(setting, values.collect::<Vec<Value>>()),
                ValueKind::Values => {
                    let tables = values.filter_map(|value| value.as_table().cloned());
                    self.set(setting, tables.flatten().collect::<Table>());
                }
                _ => {
                    if let Some(value) = values.next_back() {
                        self.set(setting, value);
                    }
                }
            }
        }
        Ok(())
    }
}

/// Returns the flag of a setting. Each occurrence has one [`Value`].
fn arg(setting: &'static Setting) -> Arg {
    let heading = match setting.section_and_key().0 {
        "data" => "Data",
        "model" => "Model",
        "objective" => "Objective",
        _ => "Solver",
    };
    let arg = Arg::new(setting.flag)
        .long(setting.flag)
        .help(setting.help(&TaskKind::ALL))
        .help_heading(heading)
        .conflicts_with_all(
            (setting.alternative)
                .filter(|_| !is_noise(setting))
                .map(|other| other.flag),
        );
    match setting.kind {
        ValueKind::Path => {
            let parser = OsStringValueParser::new().try_map(|text| {
                let refuse = |_| "the path is not valid Unicode: rename it";
                text.into_string().map(Value::String).map_err(refuse)
            });
            arg.value_name("PATH").value_parser(parser)
        }
        ValueKind::Word(words) => {
            let parser = PossibleValuesParser::new(words).map(Value::String);
            arg.value_name("WORD").value_parser(parser)
        }
        ValueKind::Whole(_) => {
            let arg = arg.value_name("N").allow_negative_numbers(true);
            arg.value_parser(|text: &str| whole_number(text).map(Value::Integer))
        }
        ValueKind::Number(..) => {
            let arg = arg.value_name("NUMBER").allow_negative_numbers(true);
            arg.value_parser(|text: &str| number(text).map(Value::Float))
        }
        ValueKind::Noise => {
            let arg = arg.value_name("NOISE").allow_negative_numbers(true);
            arg.value_parser(|text: &str| {
                text.parse::<Noise>().map(|noise| match noise {
                    Noise::Gaussian(sigma) => Value::Float(sigma),
                    other => Value::String(other.to_string()),
                })
            })
        }
        ValueKind::Names => {
            let arg = arg.value_name("NAMES").action(ArgAction::Append);
            arg.value_delimiter(',')
                .value_parser(StringValueParser::new().map(Value::String))
        }
        ValueKind::Values => {
            let arg = arg.value_name("NAME=VALUE").action(ArgAction::Append);
            arg.value_delimiter(',').value_parser(assignment)
        }
    }
}

/// Parses a number.
pub(super) fn number(text: &str) -> Result<f64, &'static str> {
    text.parse().map_err(|_| "it must be a number, such as 0.1")
}

/// Parses a whole number that is not negative.
pub(super) fn whole_number(text: &str) -> Result<i64, &'static str> {
    let number = text.parse().ok().filter(|number| *number >= 0);
    number.ok_or("it must be a whole number, such as 10")
}

/// Parses a name and its value to a table.
fn assignment(text: &str) -> Result<Value, String> {
    let refuse = || format!("{text:?} must be a name and a number, such as alpha=0.1");
    let (name, value) = text.split_once('=').ok_or_else(refuse)?;
    let value: f64 = value.trim().parse().map_err(|_| refuse())?;
    Ok(Value::Table(Table::from_iter([(
        name.trim().to_owned(),
        value.into(),
    )])))
}
