//! The pairs of signals and their frequencies.

use std::path::Path;

use bilevel::Pair;
use imaging::{Fourier, Grid, LinearOperator, Seed, noise, phantom};

use super::family::{self, LoadedFamily};
use super::{DataError, LoadedTask, NamedPairs, data_warnings, fingerprint, split};
use crate::array::{self, Signals};
use crate::config::Config;
use crate::error::CliError;

/// A complex signal, and its frequencies if they were measured.
struct Signal {
    name: String,
    truth: Vec<f64>,
    measured: Option<Vec<f64>>,
}

/// Loads the pairs and the family of the task on signals.
pub(super) fn load(config: &Config) -> Result<LoadedTask, CliError> {
    let data = &config.data;
    let mut signals = match &data.images {
        None => built_in(config)?,
        Some(path) => read(path, data.noisy.as_deref())?,
    };
    signals.truncate(data.count.unwrap_or(usize::MAX));
    let num_images = signals.len();
    let source = || match &data.images {
        None => "the built-in signals".to_owned(),
        Some(path) => path.display().to_string(),
    };
    // There is at least one signal, and all have the same length.
    let num_samples = signals.first().map_or(0, |signal| signal.truth.len() / 2);
    let mut others = split(&mut signals, data.hold_out.unwrap_or_default())?;
    if let Some(path) = &data.validation {
        let read = read(path, None)?;
        let found = read.first().map_or(0, |signal| signal.truth.len() / 2);
        check_samples(path, found, num_samples, source())?;
        others.extend(read);
    }
    let LoadedFamily { family, .. } = family::for_signals(config, num_samples, &source())?;
    let grid = Grid::line(num_samples).complex();
    let name = source();
    let fourier = Fourier::new(grid).map_err(|source| DataError::Model {
        name,
        source: source.into(),
    })?;
    let measure = |signals: Vec<Signal>, first: usize| {
        let mut pairs = NamedPairs::default();
        for (index, signal) in (first..).zip(signals) {
            let (name, pair) = measure(config, &fourier, signal, index)?;
            pairs.push(name, pair);
        }
        Ok::<NamedPairs, DataError>(pairs)
    };
    let num_training = signals.len();
    let training = measure(signals, 0)?;
    let validation = measure(others, num_training)?;
    Ok(LoadedTask {
        fingerprint: fingerprint::of(&training.pairs, &validation.pairs, &[]),
        warnings: data_warnings::of_data(config, num_images, &training, &validation),
        family,
        training,
        validation,
        note: None,
    })
}

/// Generates the built-in signals, which are box functions.
fn built_in(config: &Config) -> Result<Vec<Signal>, DataError> {
    let data = &config.data;
    let one = |index| {
        let truth = phantom::box_function(data.size, Seed::new(data.seed), index)?;
        Ok(Signal {
            name: format!("built-in {}", index + 1),
            truth: complex(truth),
            measured: None,
        })
    };
    (0..data.count.unwrap_or(1)).map(one).collect()
}

/// Reads the signals of a file, and their measured frequencies if there are any.
fn read(path: &Path, noisy: Option<&Path>) -> Result<Vec<Signal>, CliError> {
    let truths = match array::signals(path)? {
        Signals::Real(rows) => rows.into_iter().map(complex).collect(),
        Signals::Complex(rows) => rows,
    };
    let num = truths.len();
    let len = truths.first().map_or(0, |row| row.len() / 2);
    let measured: Vec<Option<Vec<f64>>> = match noisy {
        None => vec![None; num],
        Some(noisy) => {
            let rows = read_frequencies(noisy)?;
            if rows.len() != num {
                return Err(CliError::Data(DataError::Rows {
                    path: noisy.into(),
                    num: rows.len(),
                    other: path.into(),
                    other_num: num,
                }));
            }
            let found = rows.first().map_or(0, |row| row.len() / 2);
            check_samples(noisy, found, len, path.display().to_string())?;
            rows.into_iter().map(Some).collect()
        }
    };
    let file = (path.file_name().unwrap_or(path.as_os_str())).to_string_lossy();
    let signals = truths.into_iter().zip(measured).enumerate();
    Ok(signals
        .map(|(index, (truth, measured))| Signal {
            name: format!("{file} (row {})", index + 1),
            truth,
            measured,
        })
        .collect())
}

/// Reads frequencies: the complex rows of a file.
pub(crate) fn read_frequencies(path: &Path) -> Result<Vec<Vec<f64>>, CliError> {
    match array::signals(path)? {
        Signals::Complex(rows) => Ok(rows),
        Signals::Real(_) => Err(CliError::Data(DataError::RealFrequencies(path.into()))),
    }
}

/// Refuses rows that do not have the number of samples needed.
pub(crate) fn check_samples(
    path: &Path,
    len: usize,
    needed: usize,
    other: String,
) -> Result<(), DataError> {
    if len == needed {
        return Ok(());
    }
    Err(DataError::Samples {
        path: path.into(),
        len,
        needed,
        other,
    })
}

/// Converts real numbers to complex ones, with alternating real and imaginary parts.
fn complex(real: Vec<f64>) -> Vec<f64> {
    real.into_iter().flat_map(|value| [value, 0.0]).collect()
}

/// Returns the pair of a signal. Frequencies that were not measured are simulated with noise.
fn measure(
    config: &Config,
    fourier: &Fourier,
    signal: Signal,
    index: usize,
) -> Result<(String, Pair), DataError> {
    let Signal {
        name,
        truth,
        measured,
    } = signal;
    let data = match measured {
        Some(data) => data,
        None => {
            let mut clean = vec![0.0; truth.len()];
            fourier.apply(&truth, &mut clean, &mut fourier.scratch());
            let sigma = config.data.sigma().unwrap_or_default();
            let seed = Seed::new(config.data.seed);
            match noise::complex_gaussian(&clean, sigma, seed, index) {
                Ok(data) => data,
                Err(source) => return Err(DataError::Noise { name, source }),
            }
        }
    };
    let grid = fourier.domain();
    Ok((name, Pair { grid, truth, data }))
}
