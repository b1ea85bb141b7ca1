//! Claims that the training data are the authors'.

use bilevel::Pair;

use super::measure::{digits, relative};
use super::{Claim, Topic, Verdict, authors_data, authors_photographs, full_scale};
use crate::reproduce::data::DataSource;
use crate::reproduce::results::Results;

/// The SHA-256 of the data for one parameter: truth and noisy data, signal after signal, as 64-bit
/// little-endian numbers. Source: the authors' arrays `denoise1_*.npy` in the reference archive,
/// from which a test computes it again if they are present.
pub(super) const ONE_PARAMETER: &str =
    "b5a777ad149cd9e825ba8ffa3aead468d1c13702429858429c630032aad7f340";
/// The SHA-256 of the data for three parameters, from `denoise3_*.npy`.
pub(super) const THREE_PARAMETERS: &str =
    "3a3d6e6fcead0b55011aa1491d332ccb71be25459ce15d6365a7cbc6b9d3a160";

/// The SHA-256 of the data for sampling, from `mri_*.npy`, rounded to nine decimals: our FFT and
/// the authors' differ in the last digits, and no number is closer than 1e-13 to the point where
/// its ninth decimal changes.
pub(super) const SAMPLING: &str =
    "6a33f6d85c3e8f74243bea50fb755996cc31164eceb12ecdb28975a61563d240";

/// The sum of squares of the noise in the 25 photographs. Source: section 12 of the reference
/// archive's FACTS.md.
const PHOTOGRAPHS: f64 = 16_353.72;

pub(super) fn claims(results: &Results) -> Vec<Claim> {
    let equal = |setting: &'static str, id: &str, text: &str, golden: &str, print| {
        Claim::new(Topic::Foundations, id, &[], text)
            .expected(
                format!("SHA-256 {}...", &golden[..16]),
                "reference archive, the authors' arrays",
            )
            .verdict(same(results, setting, golden, print))
    };
    vec![
        equal(
            "denoise1_start0",
            "data/1-parameter",
            "The ten noisy signals for learning one parameter equal the authors', bit by bit.",
            ONE_PARAMETER,
            DataSource::fingerprint,
        ),
        equal(
            "denoise3_beta1e-6",
            "data/3-parameter",
            "The twenty noisy signals for learning three parameters equal the authors', bit by \
             bit.",
            THREE_PARAMETERS,
            DataSource::fingerprint,
        ),
        equal(
            "mri",
            "data/sampling",
            "The ten signals and their noisy Fourier coefficients equal the authors', to nine \
             decimals.",
            SAMPLING,
            rounded,
        ),
        Claim::new(
            Topic::Foundations,
            "data/photographs",
            &[],
            "The noise of the 25 photographs is the authors'.",
        )
        .expected(
            format!("sum of squares {}", digits(PHOTOGRAPHS, 7)),
            "reference archive, FACTS.md section 12",
        )
        .verdict(photographs(results)),
    ]
}

fn same(results: &Results, setting: &str, golden: &str, print: fn(&[Pair]) -> String) -> Verdict {
    authors_data(results)?;
    let text = |error: anyhow::Error| format!("{error:#}");
    let data = results.setting(setting).map_err(text)?.data;
    let found = print(&results.source.pairs(&data).map_err(text)?);
    Ok((found == golden, format!("SHA-256 {}...", &found[..16])))
}

fn photographs(results: &Results) -> Verdict {
    authors_photographs(results)?;
    let data = full_scale(results, "kodak_sigma1e-1")?.data;
    let pairs = results.source.pairs(&data);
    let pairs = pairs.map_err(|error| format!("{error:#}"))?;
    let squares = pairs.iter().flat_map(|pair| {
        let noise = pair.data.iter().zip(&pair.truth);
        noise.map(|(y, x)| (y - x) * (y - x))
    });
    let sum: f64 = squares.sum();
    let is_same = relative(sum, PHOTOGRAPHS) <= 1e-6;
    Ok((is_same, format!("sum of squares {}", digits(sum, 7))))
}

/// Returns the checksum of the pairs, rounded to nine decimals.
pub(super) fn rounded(pairs: &[Pair]) -> String {
    let round = |values: &[f64]| values.iter().map(|x| (x * 1e9).round() + 0.0).collect();
    let pairs: Vec<Pair> = pairs
        .iter()
        .map(|pair| Pair {
            grid: pair.grid,
            truth: round(&pair.truth),
            data: round(&pair.data),
        })
        .collect();
    DataSource::fingerprint(&pairs)
}
