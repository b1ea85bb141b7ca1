//! The arguments of `bilevel learn mask`.

use std::path::PathBuf;

use bilevel::{FilterSet, FrequencyZero, MaskMethod, MaskSpec, Pattern};
use clap::{Arg, Args};

use super::{ModelName, words};
use crate::config::ConfigError;
use crate::error::CliError;
use crate::mask::{MaskDataSettings, MaskSettings};

const EXAMPLES: &str = "\
Frequencies: a complex array of slices x rows x columns, or with --coils of slices x coils x rows x
columns. A line is a column of this array, so the last axis must be that of phase encoding. Learning
needs all frequencies of its slices; the mask names the ones that are worth measuring.

Examples:
  bilevel learn mask --out run                  learn from built-in heads
  bilevel learn mask --kspace slices.npy --pattern lines --budget 0.25 --centre 8 --out run
  bilevel learn mask --kspace slices.npy --coils maps.npy --out run
  bilevel learn mask --kspace slices.npy --pattern points --hold-out 5 --out run
  bilevel learn mask --kspace slices.npy --model filters --out run
  bilevel apply run measured.npy pictures.npy   reconstruct from the frequencies in the mask";

/// Learn which frequencies of magnetic resonance pictures to measure
#[derive(Args, Clone, Debug, Default)]
#[command(after_help = EXAMPLES, mut_args(with_default))]
pub struct MaskArgs {
    /// New or empty directory for the run
    #[arg(long, value_name = "RUN", required_unless_present = "print_config")]
    pub out: Option<PathBuf>,
    /// TOML file with settings; flags override it
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Print all settings as a TOML file, and do nothing else
    #[arg(long)]
    pub print_config: bool,
    /// Frequencies of fully measured slices [default: built-in heads]
    #[arg(long, value_name = "FILE", help_heading = "Data")]
    pub kspace: Option<PathBuf>,
    /// Sensitivity maps of the coils: coils x rows x columns, or one set for each slice
    #[arg(long, value_name = "FILE", requires = "kspace", help_heading = "Data")]
    pub coils: Option<PathBuf>,
    /// Place of frequency zero in the array: first, as in numpy.fft, or middle, as in files of
    /// scanners [default: the one with more energy]
    #[arg(
        long,
        value_name = "WORD",
        value_parser = words::<FrequencyZero>(["first", "middle"]),
        help_heading = "Data"
    )]
    pub frequency_zero: Option<FrequencyZero>,
    /// Standard deviation of complex noise that is added to the frequencies, as a share of the
    /// brightest pixel of all slices
    #[arg(long, value_name = "NUMBER", help_heading = "Data")]
    pub noise: Option<f64>,
    /// Number of slices to hold out, spread over the stack [default: a quarter]
    #[arg(long, value_name = "N", help_heading = "Data")]
    pub hold_out: Option<usize>,
    /// Number of built-in heads
    #[arg(
        long,
        value_name = "N",
        conflicts_with = "kspace",
        help_heading = "Data"
    )]
    pub count: Option<usize>,
    /// Rows and columns of built-in heads
    #[arg(
        long,
        value_name = "N",
        conflicts_with = "kspace",
        help_heading = "Data"
    )]
    pub size: Option<usize>,
    /// Random seed for built-in heads and added noise
    #[arg(long, value_name = "N", help_heading = "Data")]
    pub seed: Option<u64>,
    /// Pattern of the mask: lines or points
    #[arg(
        long,
        value_name = "WORD",
        value_parser = words::<Pattern>(["lines", "points"]),
        help_heading = "Mask"
    )]
    pub pattern: Option<Pattern>,
    /// Share of all lines or points to measure
    #[arg(long, value_name = "SHARE", help_heading = "Mask")]
    pub budget: Option<f64>,
    /// Width of the centre, which is always measured
    #[arg(long, value_name = "N", help_heading = "Mask")]
    pub centre: Option<usize>,
    /// Method: exchange lines or points as long as the objective certainly decreases (search), or
    /// learn weights between 0 and 1 and round them, for comparison (relax). Without this option,
    /// search
    #[arg(
        long,
        value_name = "WORD",
        value_parser = words::<MaskMethod>(["search", "relax"]),
        help_heading = "Mask"
    )]
    pub method: Option<MaskMethod>,
    /// Regulariser of reconstructions: total variation (tv), or a bank of cosine filters with
    /// convex potentials (filters), which is dct3 unless --filters chooses another one. Without
    /// this option, tv, or filters if --filters is given
    #[arg(long, value_name = "WORD", help_heading = "Model")]
    pub model: Option<ModelName>,
    /// Bank of filters that replaces the total variation; the number is the size of the filters in
    /// pixels along each axis
    #[arg(
        long,
        value_name = "WORD",
        value_parser = words::<FilterSet>(banks()),
        help_heading = "Model"
    )]
    pub filters: Option<FilterSet>,
    /// Keep the smoothing nu of the regulariser at this value [default: learned for the final mask]
    #[arg(long, value_name = "NUMBER", help_heading = "Model")]
    pub nu: Option<f64>,
    /// Number of searches from different starts; the best one counts
    #[arg(long, value_name = "N", help_heading = "Mask")]
    pub restarts: Option<usize>,
    /// Largest number of exchanges that a search tries
    #[arg(long, value_name = "N", help_heading = "Mask")]
    pub max_exchanges: Option<usize>,
}

/// Adds the default of a setting to its help text. Numbers may be negative, so that the error is
/// about their value.
fn with_default(arg: Arg) -> Arg {
    let is_number = matches!(arg.get_id().as_str(), "noise" | "budget" | "nu");
    let arg = arg.allow_negative_numbers(is_number);
    let (data, mask) = (MaskDataSettings::default(), MaskSpec::default());
    let default = match arg.get_id().as_str() {
        "noise" => format!(
            "{}; built-in heads: {}",
            mask.noise,
            MaskSettings::BUILT_IN_NOISE
        ),
        "count" => data.count.to_string(),
        "size" => data.size.to_string(),
        "seed" => mask.seed.to_string(),
        "pattern" => mask.pattern.name().to_owned(),
        "budget" => mask.budget.to_string(),
        "centre" => mask.centre.to_string(),
        "restarts" => mask.restarts.to_string(),
        "max_exchanges" => mask.max_exchanges.to_string(),
        _ => return arg,
    };
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    arg.help(format!("{help} [default: {default}]"))
}

/// The banks whose potentials can be convex.
fn banks() -> impl Iterator<Item = &'static str> {
    let names = FilterSet::NAMES.into_iter();
    names.filter(|name| name.starts_with("dct"))
}

impl MaskArgs {
    /// The filters of `--model filters` alone.
    pub const DEFAULT_FILTERS: FilterSet = FilterSet::DCT3;

    /// Returns the settings: flags override the file of `--config`, which overrides defaults.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn settings(&self) -> Result<MaskSettings, CliError> {
        let mut settings = match &self.config {
            Some(path) => MaskSettings::read(path)?,
            None => MaskSettings::default(),
        };
        let (data, mask) = (&mut settings.data, &mut settings.mask);
        if self.kspace.is_some() {
            data.kspace.clone_from(&self.kspace);
            data.coils = None;
        }
        data.coils = self.coils.clone().or_else(|| data.coils.take());
        data.frequency_zero = self.frequency_zero.or(data.frequency_zero);
        data.count = self.count.unwrap_or(data.count);
        data.size = self.size.unwrap_or(data.size);
        mask.pattern = self.pattern.unwrap_or(mask.pattern);
        mask.budget = self.budget.unwrap_or(mask.budget);
        mask.centre = self.centre.unwrap_or(mask.centre);
        mask.method = self.method.unwrap_or(mask.method);
        mask.restarts = self.restarts.unwrap_or(mask.restarts);
        mask.max_exchanges = self.max_exchanges.unwrap_or(mask.max_exchanges);
        mask.hold_out = self.hold_out.or(mask.hold_out);
        mask.seed = self.seed.unwrap_or(mask.seed);
        mask.nu = self.nu.or(mask.nu);
        mask.filters = self.filters.or(mask.filters);
        match (self.model, self.filters) {
            (Some(ModelName::Tv), Some(_)) => return Err(ConfigError::TvWithFilters.into()),
            (Some(ModelName::Tv), None) => mask.filters = None,
            (Some(ModelName::Filters), _) if mask.filters.is_none() => {
                mask.filters = Some(Self::DEFAULT_FILTERS);
            }
            _ => {}
        }
        let is_built_in = data.kspace.is_none() && self.config.is_none();
        if is_built_in {
            mask.noise = MaskSettings::BUILT_IN_NOISE;
        }
        mask.noise = self.noise.unwrap_or(mask.noise);
        Ok(settings)
    }
}
