//! Dense quadratics whose minimiser, over the whole space or the non-negative orthant, is known by
//! construction.

use lowlevel::{Curvature, StronglyConvex};

/// `$\frac12 x^T Q x - b^T x$` with `$Q = V \operatorname{diag}(\lambda) V^T$`.
#[derive(Debug)]
pub(crate) struct Quadratic {
    matrix: Vec<f64>,
    linear: Vec<f64>,
    curvature: Curvature,
    pub(crate) minimizer: Vec<f64>,
}

impl Quadratic {
    /// `$V$` is the product of the reflections along `mirrors`; `minimizer` minimises over the
    /// whole space if `multipliers` are zero, and over the non-negative orthant if `minimizer` and
    /// `multipliers` are non-negative and complementary: the optimality conditions
    /// `$Qx^* - b = \lambda \ge 0$`, `$\lambda^T x^* = 0$` define `b`.
    pub(crate) fn new(
        eigenvalues: &[f64],
        mirrors: &[Vec<f64>],
        minimizer: Vec<f64>,
        multipliers: &[f64],
    ) -> Self {
        let dim = eigenvalues.len();
        let mut matrix = vec![0.0; dim * dim];
        for i in 0..dim {
            matrix[i * dim + i] = eigenvalues[i];
        }
        for mirror in mirrors {
            let square: f64 = mirror.iter().map(|v| v * v).sum();
            if square > 1e-3 {
                reflect_rows(&mut matrix, mirror, square);
                transpose(&mut matrix, dim);
                reflect_rows(&mut matrix, mirror, square);
                transpose(&mut matrix, dim);
            }
        }
        for i in 0..dim {
            for j in 0..i {
                matrix[i * dim + j] = matrix[j * dim + i];
            }
        }
        let mut quadratic = Self {
            linear: vec![0.0; dim],
            curvature: Curvature::new(
                eigenvalues.iter().copied().fold(f64::INFINITY, f64::min) * (1.0 - 1e-12),
                eigenvalues.iter().copied().fold(0.0, f64::max) * (1.0 + 1e-12),
            )
            .expect("eigenvalues are positive"),
            matrix,
            minimizer,
        };
        let mut linear = vec![0.0; dim];
        quadratic.gradient(&quadratic.minimizer, &mut linear, &mut ());
        for (linear, multiplier) in linear.iter_mut().zip(multipliers) {
            *linear -= multiplier;
        }
        quadratic.linear = linear;
        quadratic
    }

    /// How far the minimiser may be from `minimizer`, because `Q` and `b` were computed with
    /// rounding.
    pub(crate) fn construction_error(&self) -> f64 {
        let size = norm(&self.minimizer) + norm(&self.linear) / self.curvature.lipschitz();
        128.0 * f64::EPSILON * self.curvature.condition_number() * size
    }
}

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// Applies `$I - 2 v v^T / v^T v$` to every row.
fn reflect_rows(matrix: &mut [f64], mirror: &[f64], square: f64) {
    for row in matrix.chunks_exact_mut(mirror.len()) {
        let along: f64 = row.iter().zip(mirror).map(|(a, v)| a * v).sum();
        for (a, v) in row.iter_mut().zip(mirror) {
            *a -= 2.0 * along / square * v;
        }
    }
}

fn transpose(matrix: &mut [f64], dim: usize) {
    for i in 0..dim {
        for j in 0..i {
            matrix.swap(i * dim + j, j * dim + i);
        }
    }
}

impl StronglyConvex for Quadratic {
    type Scratch = ();

    fn dim(&self) -> usize {
        self.linear.len()
    }

    fn curvature(&self) -> Curvature {
        self.curvature
    }

    fn scratch(&self) {}

    fn gradient(&self, x: &[f64], gradient: &mut [f64], (): &mut ()) {
        let rows = self.matrix.chunks_exact(x.len());
        for ((gradient, row), b) in gradient.iter_mut().zip(rows).zip(&self.linear) {
            *gradient = row.iter().zip(x).map(|(a, x)| a * x).sum::<f64>() - b;
        }
    }

    fn fingerprint(&self) -> Option<u64> {
        let numbers = self.matrix.iter().chain(&self.linear);
        Some(numbers.fold(0, |hash: u64, x| hash.rotate_left(9) ^ x.to_bits()))
    }

    fn value(&self, x: &[f64], (): &mut ()) -> f64 {
        let mut gradient = vec![0.0; x.len()];
        self.gradient(x, &mut gradient, &mut ());
        let twice: f64 = x
            .iter()
            .zip(&gradient)
            .zip(&self.linear)
            .map(|((x, g), b)| x * (g - b))
            .sum();
        0.5 * twice
    }
}
