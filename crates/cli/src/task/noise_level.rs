//! The noise of pictures that are learned from without truth: given or estimated.

use bilevel::{CriterionKind, Family};
use imaging::noise::{self, Anscombe};
use page::number::significant;

use super::{DataError, NamedPairs};
use crate::config::Config;

/// A smaller estimate means that there is no noise: rounding to levels of 16 bits exceeds it.
const NO_NOISE: f64 = 1e-6;

/// Sets the noise level of each pair, if the criterion needs it. Returns a sentence about estimated
/// levels.
pub(super) fn add(
    config: &Config,
    family: &Family,
    pairs: &mut NamedPairs,
) -> Result<Option<String>, DataError> {
    if config.objective.criterion != CriterionKind::Sure {
        return Ok(None);
    }
    let camera = config.data.camera();
    if let Some(sigma) = config.data.sigma().or(camera.map(Anscombe::sigma)) {
        pairs.noise = vec![sigma; pairs.pairs.len()];
        return Ok(None);
    }
    for (name, pair) in pairs.names.iter().zip(&pairs.pairs) {
        let unknown = |reason: String| DataError::NoiseLevel {
            name: name.clone(),
            reason,
        };
        if family.mask().is_some() || pair.data.iter().any(|value| value.is_nan()) {
            return Err(unknown("pixels are missing".to_owned()));
        }
        match noise::estimate(pair.grid, &pair.data) {
            Ok(sigma) if sigma > NO_NOISE => pairs.noise.push(sigma),
            Ok(_) => return Err(unknown("there is none".to_owned())),
            Err(error) => return Err(unknown(error.to_string())),
        }
    }
    let ends = [f64::INFINITY, f64::NEG_INFINITY];
    let [least, most] = (pairs.noise.iter()).fold(ends, |[least, most], sigma| {
        [least.min(*sigma), most.max(*sigma)]
    });
    let [least, most] = [least, most].map(|sigma| significant(sigma, 3));
    let found = match least == most {
        true => least,
        false => format!("between {least} and {most}"),
    };
    Ok(Some(format!(
        "Estimated noise of the pictures: {found} (--noise sets it)"
    )))
}
