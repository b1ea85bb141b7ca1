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

/// The memory of one pixel with the differences `d`, `inverse` = `$1/\sigma$` and dual variables.
fn linearised(d: [f64; 2], inverse: f64, dual: [f64; 2]) -> [f64; 6] {
    let n = d.map(|d| d * inverse);
    let across = inverse * (1.0 - n[0] * dual[0]);
    let down = inverse * (1.0 - n[1] * dual[1]);
    let mixed = -0.5 * inverse * (n[0] * dual[1] + n[1] * dual[0]);
    [d[0], d[1], inverse, across, down, mixed]
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

/// The memory has six numbers for each pixel: its two differences, `$1/\sigma$`, and the entries
/// across, down and mixed of the symmetric matrix `$W$`.
///
/// The dual variables are those of Chan, Golub and Mulet (*A nonlinear primal-dual method for total
/// variation-based image restoration*, SIAM J. Sci. Comput. 20, 1999), as on lines
/// (`imaging/src/model/line_newton.rs`). With `$n = d/\sigma$`, the matrix of a pixel is
/// `$W = \frac1\sigma(I - \frac12(pn^T + np^T))$`.
impl RegularizerHessian for WeightedTv {
    fn memory_len(&self) -> usize {
        6 * self.weights.len()
    }

    fn linearise(&self, x: &[f64], memory: &mut [f64]) {
        for (pixel, memory) in memory.as_chunks_mut::<6>().0.iter_mut().enumerate() {
            let d = difference(x, pixel);
            let inverse = 1.0 / sigma(d);
            *memory = linearised(d, inverse, d.map(|d| d * inverse));
        }
    }

    fn num_duals(&self) -> usize {
        2 * self.weights.len()
    }

    fn linearise_dual(&self, x: &[f64], dual: &[f64], memory: &mut [f64]) {
        let memory = memory.as_chunks_mut::<6>().0.iter_mut();
        for ((pixel, memory), p) in memory.enumerate().zip(dual.as_chunks::<2>().0) {
            let d = difference(x, pixel);
            *memory = linearised(d, 1.0 / sigma(d), *p);
        }
    }

    /// The dual variables `$p^+ = (d + \delta)/\sigma - p\langle d, \delta\rangle/\sigma^2$` for
    /// the change `$\delta$` of the differences are moved into the unit disc.
    fn move_duals(&self, memory: &[f64], z: &[f64], dual: &mut [f64]) {
        let memory = memory.as_chunks::<6>().0.iter();
        for ((pixel, memory), p) in memory.enumerate().zip(dual.as_chunks_mut::<2>().0) {
            let [d0, d1, inverse, ..] = *memory;
            let z = difference(z, pixel);
            let along = dot([d0, d1], z) * inverse * inverse;
            let next = [
                (d0 - z[0]) * inverse + p[0] * along,
                (d1 - z[1]) * inverse + p[1] * along,
            ];
            let length = dot(next, next).sqrt().max(1.0);
            *p = next.map(|p| p / length);
        }
    }

    fn add_product(&self, weight: f64, memory: &[f64], v: &[f64], out: &mut [f64]) {
        let memory = memory.as_chunks::<6>().0.iter();
        for ((pixel, [.., across, down, mixed]), alpha) in memory.enumerate().zip(&self.weights) {
            let v = difference(v, pixel);
            let factor = weight * alpha;
            let flux = [
                factor * (across * v[0] + mixed * v[1]),
                factor * (mixed * v[0] + down * v[1]),
            ];
            add_adjoint(out, pixel, flux);
        }
    }

    fn add_diagonal(&self, weight: f64, memory: &[f64], diagonal: &mut [f64]) {
        let memory = memory.as_chunks::<6>().0.iter();
        for ((pixel, [.., across, down, mixed]), alpha) in memory.enumerate().zip(&self.weights) {
            let factor = weight * alpha;
            let (left, up) = (!pixel.is_multiple_of(SIDE), pixel >= SIDE);
            if left {
                diagonal[pixel] += factor * across;
                diagonal[pixel - 1] += factor * across;
            }
            if up {
                diagonal[pixel] += factor * down;
                diagonal[pixel - SIDE] += factor * down;
            }
            if left && up {
                diagonal[pixel] += 2.0 * factor * mixed;
            }
        }
    }

    /// The bound of `docs/gradients.md` for pictures. A bin holds the numbers `$a_j$` between two
    /// powers of two.
    fn third_order(&self, q: &[f64], error: f64, memory: &mut [f64]) -> ThirdOrder {
        let reach = 3_f64.sqrt() * error;
        let terms = |(pixel, memory): (usize, &[f64; 6])| {
            let [a, b, ..] = *memory;
            let (d, v) = (dot([a, b], [a, b]).sqrt(), difference(q, pixel));
            let v = self.weights[pixel] * dot(v, v).sqrt();
            let nearest = (0.5 * NU).clamp((d - reach).max(0.0), d + reach);
            let third = third_derivative(nearest) * v;
            let second = v / ((d - reach).max(0.0).powi(2) + NU * NU).sqrt();
            (third, second)
        };
        let memory = memory.as_chunks::<6>().0;
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
    /// about half of the smoothing, and with its dual variables also beyond.
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

    /// With zeros the matrix bounds the function from above, with the dual variables of a point it
    /// is the Hessian, and dual variables follow short steps.
    #[test]
    fn matrices_with_dual_variables_are_right() {
        let dim = SIDE * SIDE;
        let map = WeightedTv {
            weights: (0..dim).map(|j| 0.1 + (j % 7) as f64).collect(),
        };
        let Pair { truth, data, .. } = picture().unwrap();
        let duals = |x: &[f64]| -> Vec<f64> {
            let of_pixel = |pixel| {
                let d = difference(x, pixel);
                let inverse = 1.0 / sigma(d);
                d.map(|d| d * inverse)
            };
            (0..dim).flat_map(of_pixel).collect()
        };
        let product = |memory: &[f64], v: &[f64]| {
            let mut out = vec![0.0; dim];
            map.add_product(1.0, memory, v, &mut out);
            out
        };
        let inner = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let mut memory = vec![0.0; map.memory_len()];
        let mut gradient = vec![0.0; dim];
        map.add_gradient(1.0, &data, &mut gradient);
        let step: Vec<f64> = truth.iter().zip(&data).map(|(a, b)| a - b).collect();

        map.linearise_dual(&data, &vec![0.0; map.num_duals()], &mut memory);
        let curved = 0.5 * inner(&step, &product(&memory, &step));
        let bound = map.value(&data) + inner(&gradient, &step) + curved;
        assert!(map.value(&truth) <= bound, "{bound}");
        assert!(map.value(&truth) > bound - 2.0 * curved, "{bound}");

        map.linearise(&data, &mut memory);
        let expected = product(&memory, &step);
        let mut dual = duals(&data);
        map.linearise_dual(&data, &dual, &mut memory);
        assert_eq!(product(&memory, &step), expected);

        let deviation = |scale: f64| {
            let z: Vec<f64> = step.iter().map(|step| -scale * step).collect();
            let moved: Vec<f64> = data.iter().zip(&z).map(|(x, z)| x - z).collect();
            let (mut dual, next) = (dual.clone(), duals(&moved));
            map.move_duals(&memory, &z, &mut dual);
            let worst = dual.iter().zip(&next).map(|(a, b)| (a - b).abs());
            worst.fold(0.0, f64::max)
        };
        let [long, short] = [1e-3, 1e-4].map(deviation);
        assert!(short < 0.02 * long && short > 0.0, "{short} {long}");
        dual.fill(0.0);
        map.move_duals(&memory, &step, &mut dual);
        let longest = dual.as_chunks::<2>().0.iter().map(|p| dot(*p, *p));
        assert!(longest.fold(0.0, f64::max) <= 1.0 + 1e-12);
    }
}
