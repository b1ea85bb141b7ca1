//! A family with any number of parameters: total variation with one weight for each region of a
//! picture, up to one for each pixel.

use bilevel::{BoxError, Derivatives, LearningProblem, LowerLevel, Pair, Parameter, Setup};
use imaging::{
    Grid, Identity, LinearOperator, Measurement, Regularizer, RegularizerHessian, Seed,
    Variational, VariationalScratch, Weights, noise, phantom,
};
use lowlevel::{NewtonRange, SecondOrderCosts, ThirdOrder};

/// The smoothing `$\nu$` of all maps.
const NU: f64 = 0.01;
/// The quadratic weight `$\xi$` of all maps.
const XI: f64 = 1e-3;
/// The number of rows and columns of the picture.
pub(crate) const SIDE: usize = 100;
/// The number of thresholds of the bound on third derivatives.
const NUM_BINS: usize = 48;

/// The family `$\frac12\|x - y\|^2 + \sum_j \alpha_j\sqrt{|d_j|^2 + \nu^2} + \frac\xi2\|x\|^2$`, in
/// which pixels of the same region share their weight `$\alpha_j$`.
#[derive(Debug)]
pub(crate) struct WeightMap {
    /// The region of each pixel.
    regions: Vec<usize>,
    /// The start of the exponent of each weight.
    starts: Vec<f64>,
}

impl WeightMap {
    /// Divides the picture into regions of consecutive pixels. The starts are scattered around
    /// 0.1.
    fn new(num_regions: usize) -> Self {
        let num_pixels = SIDE * SIDE;
        let region = |pixel: usize| pixel * num_regions / num_pixels;
        // an irrational rotation gives numbers that look random in [0, 1)
        let start = |k: usize| (0.618_033_988_749_895 * k as f64).fract() - 1.5;
        Self {
            regions: (0..num_pixels).map(region).collect(),
            starts: (0..num_regions).map(start).collect(),
        }
    }

    /// Returns the problem of learning one weight for each region from one noisy picture.
    pub(crate) fn problem(
        num_regions: usize,
        setup: Setup,
    ) -> anyhow::Result<LearningProblem<Self>> {
        let pairs = vec![picture()?];
        Ok(LearningProblem::new(Self::new(num_regions), pairs, setup)?)
    }
}

/// Returns the picture of all comparisons: dead leaves with noise of standard deviation 0.1.
pub(crate) fn picture() -> anyhow::Result<Pair> {
    let seed = Seed::new(1);
    let truth = phantom::dead_leaves(SIDE, SIDE, seed, 0)?;
    let data = noise::gaussian(&truth, 0.1, seed, 0)?;
    let grid = Grid::image(SIDE, SIDE);
    Ok(Pair { grid, truth, data })
}

impl LowerLevel for WeightMap {
    type Data = Measurement;
    type Scratch = VariationalScratch<<Identity as LinearOperator>::Scratch>;
    type Objective<'a> = Variational<'a, Identity, WeightedTv>;

    fn parameters(&self) -> Vec<Parameter> {
        let alpha = Parameter::log10("alpha", self.starts.clone(), -4.0, 1.0);
        vec![alpha.with_shape([self.starts.len()])]
    }

    fn prepare(&self, _: Grid, data: &[f64]) -> Result<Measurement, BoxError> {
        Ok(Measurement::new(data)?)
    }

    fn objective<'a>(
        &'a self,
        values: &[f64],
        data: &'a Measurement,
    ) -> Result<Self::Objective<'a>, BoxError> {
        let weights = self.regions.iter().map(|region| values[*region]).collect();
        let identity = Identity::new(Grid::image(SIDE, SIDE));
        let map = WeightedTv { weights };
        Ok(Variational::new(
            identity,
            data,
            Weights::Uniform,
            map,
            1.0,
            XI,
        )?)
    }

    fn cold_start(&self, data: &Measurement, x: &mut [f64]) {
        x.copy_from_slice(data.values());
    }

    fn derivatives<'a, 'b>(
        &'a self,
        _: &'a [f64],
        _: &'a Self::Objective<'b>,
    ) -> Option<Box<dyn Derivatives<Self::Scratch> + 'a>>
    where
        Self: 'b,
    {
        Some(Box::new(MapDerivatives(&self.regions)))
    }
}

/// The derivatives with respect to the weights. It holds the region of each pixel.
#[derive(Debug)]
struct MapDerivatives<'a>(&'a [usize]);

impl<S> Derivatives<S> for MapDerivatives<'_> {
    fn mixed_product(&self, x: &[f64], q: &[f64], out: &mut [f64], _: &mut S) {
        out.fill(0.0);
        for (pixel, region) in self.0.iter().enumerate() {
            let (d, v) = (difference(x, pixel), difference(q, pixel));
            out[*region] += dot(d, v) / sigma(d);
        }
    }
}

/// The smoothed total variation with a weight for each pixel.
#[derive(Debug)]
pub(crate) struct WeightedTv {
    weights: Vec<f64>,
}

/// The backward differences to the left and upper neighbour, which vanish at the border.
fn difference(x: &[f64], pixel: usize) -> [f64; 2] {
    let at = |offset: usize, inside: bool| {
        if inside {
            x[pixel] - x[pixel - offset]
        } else {
            0.0
        }
    };
    [at(1, !pixel.is_multiple_of(SIDE)), at(SIDE, pixel >= SIDE)]
}

/// Adds the adjoint of [`difference`], applied to `flux` at one pixel.
fn add_adjoint(out: &mut [f64], pixel: usize, flux: [f64; 2]) {
    for (offset, inside, flux) in [
        (1, !pixel.is_multiple_of(SIDE), flux[0]),
        (SIDE, pixel >= SIDE, flux[1]),
    ] {
        if inside {
            out[pixel] += flux;
            out[pixel - offset] -= flux;
        }
    }
}

fn dot(a: [f64; 2], b: [f64; 2]) -> f64 {
    a[0] * b[0] + a[1] * b[1]
}

fn sigma(d: [f64; 2]) -> f64 {
    (dot(d, d) + NU * NU).sqrt()
}

impl Regularizer for WeightedTv {
    fn dim(&self) -> usize {
        self.weights.len()
    }

    fn value(&self, x: &[f64]) -> f64 {
        let terms = self.weights.iter().enumerate();
        terms
            .map(|(pixel, weight)| weight * sigma(difference(x, pixel)))
            .sum()
    }

    fn add_gradient(&self, weight: f64, x: &[f64], gradient: &mut [f64]) {
        for (pixel, alpha) in self.weights.iter().enumerate() {
            let d = difference(x, pixel);
            let factor = weight * alpha / sigma(d);
            add_adjoint(gradient, pixel, d.map(|d| factor * d));
        }
    }

    /// The squared norm of the differences is at most 8.
    fn lipschitz(&self) -> f64 {
        8.0 * self.weights.iter().fold(0.0, |a: f64, b| a.max(*b)) / NU
    }

    /// An entry is a sum of four numbers, each with less than ten roundings and at most
    /// `$\alpha_j|d_j|/\sigma_j \le \alpha_j|d_j|/\nu$`.
    fn gradient_rounding(&self, x_norm: f64) -> f64 {
        16.0 * self.lipschitz() * x_norm
    }

    fn hessian(&self) -> Option<&dyn RegularizerHessian> {
        Some(self)
    }
}

/// The memory has the two differences of each pixel and `$1/\sigma$`.
impl RegularizerHessian for WeightedTv {
    fn memory_len(&self) -> usize {
        3 * self.weights.len()
    }

    fn linearise(&self, x: &[f64], memory: &mut [f64]) {
        for (pixel, memory) in memory.as_chunks_mut::<3>().0.iter_mut().enumerate() {
            let d = difference(x, pixel);
            *memory = [d[0], d[1], 1.0 / sigma(d)];
        }
    }

    fn add_product(&self, weight: f64, memory: &[f64], v: &[f64], out: &mut [f64]) {
        let memory = memory.as_chunks::<3>().0.iter();
        for ((pixel, [a, b, inverse]), alpha) in memory.enumerate().zip(&self.weights) {
            let v = difference(v, pixel);
            let along = dot([*a, *b], v) * inverse * inverse;
            let factor = weight * alpha * inverse;
            let flux = [factor * (v[0] - along * a), factor * (v[1] - along * b)];
            add_adjoint(out, pixel, flux);
        }
    }

    fn add_diagonal(&self, weight: f64, memory: &[f64], diagonal: &mut [f64]) {
        let memory = memory.as_chunks::<3>().0.iter();
        for ((pixel, [a, b, inverse]), alpha) in memory.enumerate().zip(&self.weights) {
            let factor = weight * alpha * inverse;
            let share = |d: f64| factor * (1.0 - d * d * inverse * inverse);
            let cross = -factor * a * b * inverse * inverse;
            let (left, up) = (!pixel.is_multiple_of(SIDE), pixel >= SIDE);
            if left {
                diagonal[pixel] += share(*a);
                diagonal[pixel - 1] += share(*a);
            }
            if up {
                diagonal[pixel] += share(*b);
                diagonal[pixel - SIDE] += share(*b);
            }
            if left && up {
                diagonal[pixel] += 2.0 * cross;
            }
        }
    }

    /// The bound of `docs/gradients.md` for pictures. A bin holds the numbers `$a_j$` between two
    /// powers of two.
    fn third_order(&self, q: &[f64], error: f64, memory: &mut [f64]) -> ThirdOrder {
        let reach = 3_f64.sqrt() * error;
        let terms = |(pixel, memory): (usize, &[f64; 3])| {
            let [a, b, _] = *memory;
            let (d, v) = (dot([a, b], [a, b]).sqrt(), difference(q, pixel));
            let v = self.weights[pixel] * dot(v, v).sqrt();
            let nearest = (0.5 * NU).clamp((d - reach).max(0.0), d + reach);
            let third = third_derivative(nearest) * v;
            let second = v / ((d - reach).max(0.0).powi(2) + NU * NU).sqrt();
            (third, second)
        };
        let memory = memory.as_chunks::<3>().0;
        let all = || memory.iter().enumerate().map(terms);
        let top = all().fold(0.0, |top: f64, (third, _)| top.max(third));
        let mut bins = [[0.0; 2]; NUM_BINS];
        for (third, second) in all() {
            let below = (top.to_bits() >> 52) - (third.to_bits() >> 52);
            let bin = usize::try_from(below).map_or(NUM_BINS - 1, |bin| bin.min(NUM_BINS - 1));
            let moved = third * reach;
            bins[bin][0] += moved.min(second).powi(2);
            bins[bin][1] += (0.5 * moved).min(second).powi(2);
        }
        let [mut vector, mut value] = [f64::INFINITY; 2];
        let mut above = [0.0; 2];
        let mut edge = f64::from_bits((top.to_bits() >> 52) << 52) * 2.0;
        for bin in bins {
            vector = vector.min(8.0 * (error * edge).powi(2) + above[0]);
            value = value.min(4.0 * error * edge + 8_f64.sqrt() * f64::sqrt(above[1]));
            above[0] += bin[0];
            above[1] += bin[1];
            edge *= 0.5;
        }
        let up = 1.0 + 1e-9;
        ThirdOrder {
            vector: up * (8.0 * vector).sqrt() + f64::MIN_POSITIVE,
            value: up * value * error + f64::MIN_POSITIVE,
        }
    }

    fn product_rounding(&self) -> f64 {
        32.0 * self.lipschitz()
    }

    /// The costs are estimates. Newton's method converges fast where the mean error of a pixel is
    /// about half of the smoothing. Where few weights are large, which determine `lipschitz`, it
    /// needs fewer products than the heavy ball needs iterations: the preconditioner sees each
    /// weight.
    fn costs(&self) -> Option<SecondOrderCosts> {
        Some(SecondOrderCosts {
            linearise: 1.0,
            product: 1.0,
            bounds: 2.0,
            newton: Some(NewtonRange {
                gradient: 0.5 * NU * SIDE as f64,
                products: 25.0,
            }),
        })
    }
}

/// The norm of the third derivative of `$\sqrt{|d|^2 + \nu^2}$` where `$|d| = m$`.
fn third_derivative(m: f64) -> f64 {
    let square = m * m + NU * NU;
    if 2.0 * m * m <= NU * NU {
        3.0 * m * NU * NU / (square * square * square.sqrt())
    } else {
        2.0 / (3_f64.sqrt() * square)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bilevel::testing::derivatives_deviation;
    use lowlevel::testing::{hessian_deviation, third_order_violation};

    /// Compares with differences, and samples the balls.
    #[test]
    fn derivatives_of_maps_are_right() {
        let map = WeightMap::new(7);
        let Pair { grid, truth, data } = picture().unwrap();
        let values: Vec<f64> = map.starts.iter().map(|start| 10_f64.powf(*start)).collect();
        let q: Vec<f64> = truth.iter().zip(&data).map(|(a, b)| a - b).collect();
        let deviation = derivatives_deviation(&map, &values, grid, &data, &truth, &q, 1e-5);
        assert!(deviation.unwrap() < 1e-6);
        let prepared = map.prepare(grid, &data).unwrap();
        let objective = map.objective(&values, &prepared).unwrap();
        assert!(hessian_deviation(&objective, &data, 1e-6) < 1e-6);
        for error in [1e-3, 1e-2, 0.1] {
            assert!(third_order_violation(&objective, &data, &q, error, 6, 1) <= 1.0);
        }
    }
}
