//! Random cases for second derivatives.

use imaging::{Denoising, Fourier, FourierSampling, Grid, TvParameters};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Random numbers for one case.
pub(crate) struct Source(ChaCha8Rng);

impl Source {
    pub(crate) fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        self.0.random_range(low..high)
    }

    pub(crate) fn choice(&mut self, below: usize) -> usize {
        self.0.random_range(0..below)
    }

    /// A power of ten whose exponent lies between two numbers.
    pub(crate) fn power(&mut self, low: f64, high: f64) -> f64 {
        10_f64.powf(self.between(low, high))
    }

    pub(crate) fn vector(&mut self, len: usize) -> Vec<f64> {
        (0..len).map(|_| self.between(-1.0, 1.0)).collect()
    }

    /// A step function with some noise: `parts` numbers per sample.
    pub(crate) fn image(&mut self, num_samples: usize, parts: usize) -> Vec<f64> {
        let noise = self.power(-4.0, 0.0);
        let mut levels = self.vector(parts);
        let mut image = Vec::new();
        for _ in 0..num_samples {
            if self.choice(6) == 0 {
                levels = self.vector(parts);
            }
            image.extend(
                levels
                    .iter()
                    .map(|level| level + noise * self.between(-1.0, 1.0)),
            );
        }
        image
    }

    /// A random direction: independent entries, slowly varying, or a few neighbouring samples.
    pub(crate) fn direction(&mut self, num_samples: usize, parts: usize) -> Vec<f64> {
        let len = num_samples * parts;
        match self.choice(3) {
            0 => self.vector(len),
            1 => {
                let mut sums = self.vector(len);
                for j in parts..len {
                    sums[j] += sums[j - parts];
                }
                sums
            }
            _ => {
                let mut rough = vec![0.0; len];
                for _ in 0..=self.choice(3) {
                    let j = self.choice(num_samples);
                    for part in 0..parts {
                        let change = self.between(-1.0, 1.0);
                        rough[parts * j + part] += change;
                        if j > 0 {
                            rough[parts * (j - 1) + part] -= change;
                        }
                    }
                }
                rough
            }
        }
    }

    pub(crate) fn parameters(&mut self) -> TvParameters {
        TvParameters {
            alpha: self.power(-3.0, 0.5),
            nu: self.power(-3.0, -0.3),
            xi: self.power(-4.0, -1.0),
        }
    }
}

/// A case of denoising or of Fourier sampling.
pub(super) struct Case {
    pub(super) fourier: Option<Fourier>,
    pub(super) num_samples: usize,
    pub(super) weights: Vec<f64>,
    pub(super) data: Vec<f64>,
    pub(super) x: Vec<f64>,
    pub(super) q: Vec<f64>,
    pub(super) parameters: TvParameters,
}

impl Case {
    pub(super) fn new(source: &mut Source, is_fourier: bool) -> Self {
        let num_samples = 1 + source.choice(50);
        let parts = if is_fourier { 2 } else { 1 };
        let scale = source.power(-2.0, 2.0);
        let q = source.direction(num_samples, parts);
        Self {
            fourier: is_fourier
                .then(|| Fourier::new(Grid::line(num_samples).complex()).expect("not empty")),
            num_samples,
            weights: (0..num_samples).map(|_| source.power(-4.0, 1.0)).collect(),
            data: source.image(num_samples, parts),
            x: source.image(num_samples, parts),
            q: q.iter().map(|q| scale * q).collect(),
            parameters: source.parameters(),
        }
    }

    pub(super) fn parts(&self) -> usize {
        self.x.len() / self.num_samples
    }

    pub(super) fn denoising(&self, parameters: TvParameters) -> Denoising<'_> {
        let grid = Grid::line(self.num_samples);
        Denoising::new(grid, &self.data[..], parameters).expect("valid")
    }

    pub(super) fn sampling(
        &self,
        weights: &[f64],
        parameters: TvParameters,
    ) -> FourierSampling<'_> {
        let fourier = self.fourier.as_ref().expect("Fourier sampling");
        FourierSampling::new(fourier, &self.data, weights, parameters).expect("valid")
    }
}
