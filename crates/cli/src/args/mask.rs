//! The arguments of `bilevel learn mask`.

use std::path::PathBuf;

use bilevel::{FilterSet, FrequencyZero, MaskMethod, MaskSpec, Pattern};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::ModelName;
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
#[command(after_help = EXAMPLES)]
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
    #[arg(long, value_name = "WORD", value_parser = zeros(), help_heading = "Data")]
    pub frequency_zero: Option<FrequencyZero>,
    /// Standard deviation of complex noise that is added to the frequencies, where the brightest
    /// pixel of all slices is 1.
    #[arg(
        long,
        help = noise_help(),
        value_name = "NUMBER",
        allow_negative_numbers = true,
        help_heading = "Data"
    )]
    pub noise: Option<f64>,
    /// Number of slices to hold out, spread over the stack [default: a quarter]
    #[arg(long, value_name = "N", help_heading = "Data")]
    pub hold_out: Option<usize>,
    /// Number of built-in heads.
    #[arg(
        long,
        help = shown("Number of built-in heads", MaskDataSettings::default().count),
        value_name = "N",
        conflicts_with = "kspace",
        help_heading = "Data"
    )]
    pub count: Option<usize>,
    /// Rows and columns of built-in heads.
    #[arg(
        long,
        help = shown("Rows and columns of built-in heads", MaskDataSettings::default().size),
        value_name = "N",
        conflicts_with = "kspace",
        help_heading = "Data"
    )]
    pub size: Option<usize>,
    /// Random seed for built-in heads and added noise.
    #[arg(long, help = shown("Random seed for built-in heads and added noise", MaskSpec::default().seed), value_name = "N", help_heading = "Data")]
    pub seed: Option<u64>,
    /// Pattern of the mask: lines or points.
    #[arg(long, help = shown("Pattern of the mask: lines or points", MaskSpec::default().pattern.name()), value_name = "WORD", value_parser = patterns(), help_heading = "Mask")]
    pub pattern: Option<Pattern>,
    /// Share of all lines or points to measure.
    #[arg(
        long,
        help = shown("Share of all lines or points to measure", MaskSpec::default().budget),
        value_name = "SHARE",
        allow_negative_numbers = true,
        help_heading = "Mask"
    )]
    pub budget: Option<f64>,
    /// Width of the centre, which is always measured.
    #[arg(long, help = shown("Width of the centre, which is always measured", MaskSpec::default().centre), value_name = "N", help_heading = "Mask")]
    pub centre: Option<usize>,
    /// Method: exchange lines or points as long as the objective certainly decreases (search), or
    /// learn weights between 0 and 1 and round them, for comparison (relax). Without this option,
    /// search
    #[arg(long, value_name = "WORD", value_parser = methods(), help_heading = "Mask")]
    pub method: Option<MaskMethod>,
    /// Regulariser of reconstructions: total variation (tv), or a bank of cosine filters with
    /// convex potentials (filters), which is dct3 unless --filters chooses another one. Without
    /// this option, tv, or filters if --filters is given
    #[arg(long, value_name = "WORD", help_heading = "Model")]
    pub model: Option<ModelName>,
    /// Bank of filters that replaces the total variation; the number is the size of the filters in
    /// pixels along each axis
    #[arg(long, value_name = "WORD", value_parser = banks(), help_heading = "Model")]
    pub filters: Option<FilterSet>,
    /// Learn the smoothing nu of the regulariser as well as its weight alpha
    #[arg(long, help_heading = "Model")]
    pub learn_nu: bool,
    /// Number of searches from different starts; the best one counts.
    #[arg(long, help = shown("Number of searches from different starts; the best one counts", MaskSpec::default().restarts), value_name = "N", help_heading = "Mask")]
    pub restarts: Option<usize>,
    /// Largest number of exchanges that a search tries.
    #[arg(long, help = shown("Largest number of exchanges that a search tries", MaskSpec::default().max_exchanges), value_name = "N", help_heading = "Mask")]
    pub max_exchanges: Option<usize>,
}

/// Returns a help text with its default.
fn shown(help: &str, value: impl std::fmt::Display) -> String {
    format!("{help} [default: {value}]")
}

fn noise_help() -> String {
    let help = "Standard deviation of complex noise that is added to the frequencies, as a \
                share of the brightest pixel of all slices";
    let built_in = MaskSettings::BUILT_IN_NOISE;
    let value = format!("{}; built-in heads: {built_in}", MaskSpec::default().noise);
    shown(help, value)
}

fn patterns() -> impl TypedValueParser<Value = Pattern> {
    PossibleValuesParser::new(["lines", "points"]).map(|name| match &name[..] {
        "points" => Pattern::Points,
        _ => Pattern::Lines,
    })
}

fn methods() -> impl TypedValueParser<Value = MaskMethod> {
    PossibleValuesParser::new(["search", "relax"]).map(|name| match &name[..] {
        "relax" => MaskMethod::Relax,
        _ => MaskMethod::Search,
    })
}

/// The banks whose potentials can be convex. The parser admits only names of the type.
fn banks() -> impl TypedValueParser<Value = FilterSet> {
    let names = FilterSet::NAMES
        .into_iter()
        .filter(|name| name.starts_with("dct"));
    PossibleValuesParser::new(names).map(|name| name.parse().unwrap_or(MaskArgs::DEFAULT_FILTERS))
}

fn zeros() -> impl TypedValueParser<Value = FrequencyZero> {
    PossibleValuesParser::new(["first", "middle"]).map(|name| match &name[..] {
        "middle" => FrequencyZero::Middle,
        _ => FrequencyZero::First,
    })
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
        fn set<T: Clone>(to: &mut T, from: Option<&T>) {
            if let Some(from) = from {
                to.clone_from(from);
            }
        }
        let (data, mask) = (&mut settings.data, &mut settings.mask);
        if self.kspace.is_some() {
            data.kspace.clone_from(&self.kspace);
            data.coils = None;
        }
        set(&mut data.coils, self.coils.clone().map(Some).as_ref());
        set(
            &mut data.frequency_zero,
            self.frequency_zero.map(Some).as_ref(),
        );
        set(&mut data.count, self.count.as_ref());
        set(&mut data.size, self.size.as_ref());
        set(&mut mask.pattern, self.pattern.as_ref());
        set(&mut mask.budget, self.budget.as_ref());
        set(&mut mask.centre, self.centre.as_ref());
        set(&mut mask.method, self.method.as_ref());
        set(&mut mask.restarts, self.restarts.as_ref());
        set(&mut mask.max_exchanges, self.max_exchanges.as_ref());
        set(&mut mask.hold_out, self.hold_out.map(Some).as_ref());
        set(&mut mask.seed, self.seed.as_ref());
        mask.learn_nu |= self.learn_nu;
        set(&mut mask.filters, self.filters.map(Some).as_ref());
        match (self.model, self.filters) {
            (Some(ModelName::Tv), Some(_)) => return Err(ConfigError::TvWithFilters.into()),
            (Some(ModelName::Tv), None) => mask.filters = None,
            (Some(ModelName::Filters), _) if mask.filters.is_none() => {
                mask.filters = Some(Self::DEFAULT_FILTERS);
            }
            _ => {}
        }
        let is_built_in = data.kspace.is_none() && self.config.is_none();
        set(
            &mut mask.noise,
            is_built_in.then_some(MaskSettings::BUILT_IN_NOISE).as_ref(),
        );
        set(&mut mask.noise, self.noise.as_ref());
        Ok(settings)
    }
}
