//! Learned filter banks for several levels of noise, and the banks between them.

use std::sync::OnceLock;

use crate::error::ModelError;
use crate::filters::{FilterBank, FreePotential, LimitedBank};

/// The parameters of learned banks, written by `cargo xtask train-denoiser`. A line that does not
/// begin with `#` has a kind, the noise times 255, the numbers alpha, nu, share and spread of all
/// potentials, and for learned filters their coefficients.
const BANKS: &str = include_str!("banks.txt");
/// The number of pixels of a filter along each axis.
const SIZE: usize = 5;
/// The limit of the weak convexity of a bank.
const LIMIT: f64 = 0.9;

/// Banks of one kind for increasing levels of noise.
#[derive(Debug)]
pub(super) struct Levels(Vec<Level>);

#[derive(Debug)]
struct Level {
    noise: f64,
    potentials: Vec<FreePotential>,
    /// The coefficients of learned filters.
    coefficients: Option<Vec<f64>>,
}

impl Levels {
    /// The banks for grey pictures.
    pub(super) fn grey() -> &'static Self {
        static LEVELS: OnceLock<Levels> = OnceLock::new();
        LEVELS.get_or_init(|| Self::parse(BANKS, "grey"))
    }

    /// The banks for the chroma of pictures in colour.
    pub(super) fn chroma() -> &'static Self {
        static LEVELS: OnceLock<Levels> = OnceLock::new();
        LEVELS.get_or_init(|| Self::parse(BANKS, "chroma"))
    }

    fn parse(text: &str, kind: &str) -> Self {
        let lines = text
            .lines()
            .filter(|line| line.split(' ').next() == Some(kind));
        Self(lines.map(Level::parse).collect())
    }

    /// Returns the noise within the levels that is closest to `noise`.
    pub(super) fn nearest(&self, noise: f64) -> f64 {
        let (least, most) = (self.0[0].noise, self.0[self.0.len() - 1].noise);
        noise.clamp(least, most)
    }

    /// Returns the bank for this noise. Logarithms of the parameters, and the coefficients of
    /// filters, are interpolated as functions of the logarithm of the noise.
    pub(super) fn bank(&self, noise: f64) -> Result<FilterBank, ModelError> {
        let above = self.0.iter().position(|level| level.noise >= noise);
        let (Some(above), true) = (above, noise >= self.0[0].noise) else {
            return Err(ModelError::OutOfRange {
                name: "noise",
                found: noise,
                needed: "between 2/255 and 75/255",
            });
        };
        let (low, high) = (&self.0[above.saturating_sub(1)], &self.0[above]);
        let weight = if low.noise < high.noise {
            (noise / low.noise).ln() / (high.noise / low.noise).ln()
        } else {
            0.0
        };
        let between = |a: f64, b: f64| (1.0 - weight) * a + weight * b;
        let log_between = |a: f64, b: f64| between(a.ln(), b.ln()).exp();
        let potentials = low.potentials.iter().zip(&high.potentials);
        let potentials = potentials.map(|(low, high)| FreePotential {
            alpha: log_between(low.alpha, high.alpha),
            nu: log_between(low.nu, high.nu),
            share: between(low.share, high.share).clamp(0.0, 1.0),
            spread: log_between(low.spread, high.spread).max(1.0),
        });
        let coefficients = low.coefficients.as_ref().zip(high.coefficients.as_ref());
        let coefficients: Option<Vec<f64>> = coefficients.map(|(low, high)| {
            let coefficients = low.iter().zip(high);
            coefficients
                .map(|(low, high)| between(*low, *high))
                .collect()
        });
        let potentials = potentials.collect();
        let limited = LimitedBank::new(SIZE, coefficients.as_deref(), potentials, LIMIT)?;
        Ok((**limited.bank()).clone())
    }
}

impl Level {
    fn parse(line: &str) -> Self {
        let words = line.split_whitespace().skip(1);
        let numbers: Vec<f64> = words
            .map(|word| word.parse().expect("the file has numbers only"))
            .collect();
        let is_learned = numbers.len() > 4 * SIZE * SIZE;
        let count = FilterBank::num_potentials(SIZE, is_learned).expect("a valid size");
        let (of_potentials, coefficients) = numbers[1..].split_at(4 * count);
        let potentials = (0..count).map(|k| FreePotential {
            alpha: of_potentials[k],
            nu: of_potentials[count + k],
            share: of_potentials[2 * count + k],
            spread: of_potentials[3 * count + k],
        });
        Self {
            noise: numbers[0] / 255.0,
            potentials: potentials.collect(),
            coefficients: is_learned.then(|| coefficients.to_vec()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The levels that the documentation promises, and the strong convexity between them.
    #[test]
    fn every_level_has_a_strongly_convex_bank() {
        for levels in [Levels::grey(), Levels::chroma()] {
            let range = [levels.0[0].noise, levels.0[levels.0.len() - 1].noise];
            let distances = [range[0] * 255.0 - 2.0, range[1] * 255.0 - 75.0];
            assert!(distances.iter().all(|distance| distance.abs() < 1e-12));
            assert!(levels.0.is_sorted_by(|a, b| a.noise < b.noise));
            for step in 0..=100 {
                let noise =
                    levels.nearest(range[0] * (range[1] / range[0]).powf(0.01 * f64::from(step)));
                let bank = levels.bank(noise).expect("within the levels");
                assert!(bank.weak_convexity() <= LIMIT);
            }
            assert!(levels.bank(1.0 / 255.0).is_err() && levels.bank(f64::NAN).is_err());
        }
    }
}
