//! The training data of the paper's experiments, generated again from their seed.

use crate::{Fourier, Grid, LinearOperator};

/// NumPy's legacy random number generator.
///
/// It is MT19937 (Matsumoto & Nishimura 1998) with uniform numbers of 53 bits. Normal deviates come
/// from Marsaglia's polar method, which computes two at a time; the next call returns the second.
#[derive(Clone, Debug)]
pub struct LegacyRandom {
    state: [u32; 624],
    next: usize,
    second_normal: Option<f64>,
}

impl LegacyRandom {
    /// Seeds the generator as `numpy.random.seed(seed)` does.
    #[must_use]
    pub fn new(seed: u32) -> Self {
        let mut state = [seed; 624];
        for (i, index) in (1..624).zip(1_u32..) {
            let previous = state[i - 1] ^ (state[i - 1] >> 30);
            state[i] = previous.wrapping_mul(1_812_433_253).wrapping_add(index);
        }
        Self {
            state,
            next: 624,
            second_normal: None,
        }
    }

    /// Draws 32 random bits.
    fn word(&mut self) -> u32 {
        if self.next == 624 {
            for i in 0..624 {
                let joined =
                    (self.state[i] & 0x8000_0000) | (self.state[(i + 1) % 624] & 0x7fff_ffff);
                let twist = if joined & 1 == 1 { 0x9908_b0df } else { 0 };
                self.state[i] = self.state[(i + 397) % 624] ^ (joined >> 1) ^ twist;
            }
            self.next = 0;
        }
        let mut word = self.state[self.next];
        self.next += 1;
        word ^= word >> 11;
        word ^= (word << 7) & 0x9d2c_5680;
        word ^= (word << 15) & 0xefc6_0000;
        word ^ (word >> 18)
    }

    /// Draws a number between 0 and 1.
    pub fn uniform(&mut self) -> f64 {
        let (high, low) = (self.word() >> 5, self.word() >> 6);
        (f64::from(high) * 67_108_864.0 + f64::from(low)) / 9_007_199_254_740_992.0
    }

    /// Draws a normal deviate with mean 0 and variance 1.
    pub fn normal(&mut self) -> f64 {
        if let Some(normal) = self.second_normal.take() {
            return normal;
        }
        loop {
            let (a, b) = (2.0 * self.uniform() - 1.0, 2.0 * self.uniform() - 1.0);
            let square = a * a + b * b;
            if square < 1.0 && square != 0.0 {
                let factor = (-2.0 * square.ln() / square).sqrt();
                self.second_normal = Some(factor * a);
                return factor * b;
            }
        }
    }

    /// Draws a box function on a grid of `num_pixels` points on [-2, 2].
    pub fn box_function(&mut self, num_pixels: u32) -> Vec<f64> {
        let centre = -1.0 + 2.0 * self.uniform();
        let radius = 0.5 + 0.5 * self.uniform();
        let step = 4.0 / f64::from(num_pixels - 1);
        let inside = |j| (f64::from(j) * step - 2.0 - centre).abs() < radius;
        (0..num_pixels)
            .map(|j| if inside(j) { 1.0 } else { 0.0 })
            .collect()
    }

    /// Returns `x` plus Gaussian noise with standard deviation `sigma`.
    pub fn noisy(&mut self, x: &[f64], sigma: f64) -> Vec<f64> {
        x.iter().map(|x| x + sigma * self.normal()).collect()
    }
}

/// The truth and the data of one signal.
pub type Example = (Vec<f64>, Vec<f64>);

/// Returns box functions of 256 samples with noise 0.1. The paper's experiment with one parameter
/// has 10 signals, and the one with three parameters has 20.
#[must_use]
pub fn denoising(seed: u32, num_signals: usize) -> Vec<Example> {
    let mut random = LegacyRandom::new(seed);
    let truths: Vec<Vec<f64>> = (0..num_signals).map(|_| random.box_function(256)).collect();
    let noisy = |truth: Vec<f64>| {
        let data = random.noisy(&truth, 0.1);
        (truth, data)
    };
    truths.into_iter().map(noisy).collect()
}

/// Returns ten complex box functions with their noisy frequencies, as in the sampling experiment.
///
/// # Panics
/// Never: the transform of 64 samples exists.
#[must_use]
pub fn sampling(seed: u32) -> Vec<Example> {
    let mut random = LegacyRandom::new(seed);
    let truths: Vec<Vec<f64>> = (0..10).map(|_| random.box_function(64)).collect();
    let fourier = Fourier::new(Grid::line(64).complex()).expect("64 samples");
    let mut scratch = fourier.scratch();
    let measure = |truth: Vec<f64>| {
        let truth: Vec<f64> = truth.iter().flat_map(|&x| [x, 0.0]).collect();
        let mut data = vec![0.0; 128];
        fourier.apply(&truth, &mut data, &mut scratch);
        for part in 0..2 {
            for sample in data.chunks_exact_mut(2) {
                sample[part] += 0.05 * random.normal() / 2_f64.sqrt();
            }
        }
        (truth, data)
    };
    truths.into_iter().map(measure).collect()
}
