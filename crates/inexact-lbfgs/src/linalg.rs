//! Kernels on slices, and small dense symmetric systems.

/// The number of partial sums of an inner product. They make the loop independent of the latency
/// of additions, and the result independent of the machine.
const LANES: usize = 8;

/// The inner product of two vectors, in a fixed order of additions.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    debug_assert_eq!(a.len(), b.len());
    let mut sums = [0.0; LANES];
    let (a_blocks, a_rest) = a.as_chunks::<LANES>();
    let (b_blocks, b_rest) = b.as_chunks::<LANES>();
    for (a, b) in a_blocks.iter().zip(b_blocks) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += a * b;
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f64>() + rest
}

/// The Euclidean norm of a vector.
pub(crate) fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

/// Adds `factor * x` to `y`.
pub(crate) fn add_scaled(y: &mut [f64], factor: f64, x: &[f64]) {
    debug_assert_eq!(x.len(), y.len());
    for (y, x) in y.iter_mut().zip(x) {
        *y += factor * x;
    }
}

/// A small square matrix, stored by rows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Square {
    size: usize,
    entries: Vec<f64>,
}

impl Square {
    pub(crate) fn from_fn(size: usize, entry: impl Fn(usize, usize) -> f64) -> Self {
        let entries = (0..size * size).map(|k| entry(k / size, k % size));
        Self {
            size,
            entries: entries.collect(),
        }
    }

    pub(crate) fn row(&self, i: usize) -> &[f64] {
        &self.entries[i * self.size..(i + 1) * self.size]
    }

    pub(crate) fn at(&self, i: usize, j: usize) -> f64 {
        self.entries[i * self.size + j]
    }

    /// The product with a vector.
    pub(crate) fn times(&self, x: &[f64]) -> Vec<f64> {
        (0..self.size).map(|i| dot(self.row(i), x)).collect()
    }

    /// The product of the transposed matrix with a vector.
    pub(crate) fn transposed_times(&self, x: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.size];
        for (i, x) in x.iter().enumerate() {
            add_scaled(&mut out, *x, self.row(i));
        }
        out
    }
}

/// The Cholesky factor of a positive definite matrix.
#[derive(Clone, Debug)]
pub(crate) struct Cholesky {
    /// The lower triangle of the factor `$C$` in `$A = C C^\top$`; other entries are unused.
    factor: Square,
}

impl Cholesky {
    /// Factors a symmetric matrix, of which the lower triangle is read; `None` if it is not
    /// certainly positive definite in floating-point numbers.
    pub(crate) fn new(matrix: &Square) -> Option<Self> {
        let mut factor = matrix.clone();
        let size = matrix.size;
        for i in 0..size {
            for j in 0..=i {
                let (row_i, row_j) = (&factor.row(i)[..j], &factor.row(j)[..j]);
                let rest = matrix.at(i, j) - dot(row_i, row_j);
                factor.entries[i * size + j] = if i > j {
                    rest / factor.at(j, j)
                } else if rest > SINGULAR * matrix.at(i, i) {
                    rest.sqrt()
                } else {
                    return None;
                };
            }
        }
        let finite = factor.entries.iter().all(|entry| entry.is_finite());
        finite.then_some(Self { factor })
    }

    /// Solves `$A x = b$`, with `$b$` in `x` on entry and the solution on exit.
    pub(crate) fn solve(&self, x: &mut [f64]) {
        let size = self.factor.size;
        for i in 0..size {
            x[i] = (x[i] - dot(&self.factor.row(i)[..i], &x[..i])) / self.factor.at(i, i);
        }
        for i in (0..size).rev() {
            x[i] /= self.factor.at(i, i);
            let (done, value) = (self.factor.row(i), x[i]);
            add_scaled(&mut x[..i], -value, &done[..i]);
        }
    }
}

/// A pivot below this share of its diagonal entry is rounding error: 100 units of the last place.
const SINGULAR: f64 = 100.0 * f64::EPSILON;

/// The solver of the indefinite systems of the method,
///
/// ```math
/// \begin{pmatrix} -E & K^\top \\ K & F \end{pmatrix}
/// \begin{pmatrix} u \\ v \end{pmatrix} = \begin{pmatrix} a \\ b \end{pmatrix},
/// ```
///
/// with `$E$` and `$F + K E^{-1} K^\top$` positive definite. Two Cholesky factors solve them.
#[derive(Clone, Debug)]
pub(crate) struct Indefinite {
    first: Cholesky,
    coupling: Square,
    second: Cholesky,
}

impl Indefinite {
    /// Factors the matrix; `None` if a block is not positive definite.
    pub(crate) fn new(e: &Square, coupling: Square, f: &Square) -> Option<Self> {
        let first = Cholesky::new(e)?;
        let size = e.size;
        // The rows of K E^{-1}, one solve each.
        let mut solved = coupling.clone();
        for row in solved.entries.chunks_exact_mut(size.max(1)) {
            first.solve(row);
        }
        let schur = |i, j| f.at(i, j) + dot(solved.row(i), coupling.row(j));
        let second = Cholesky::new(&Square::from_fn(size, schur))?;
        Some(Self {
            first,
            coupling,
            second,
        })
    }

    /// Solves the system, with the right-hand side in `x` on entry and the solution on exit.
    pub(crate) fn solve(&self, x: &mut [f64]) {
        let (u, v) = x.split_at_mut(self.coupling.size);
        let a = u.to_vec();
        self.first.solve(u);
        // v solves (F + K E^{-1} K') v = b + K E^{-1} a.
        let added = self.coupling.times(u);
        add_scaled(v, 1.0, &added);
        self.second.solve(v);
        // u = E^{-1} (K' v - a).
        let product = self.coupling.transposed_times(v);
        for ((u, product), a) in u.iter_mut().zip(product).zip(a) {
            *u = product - a;
        }
        self.first.solve(u);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wild(seed: usize) -> f64 {
        ((seed * 7919 + 13) % 1009) as f64 / 504.5 - 1.0
    }

    #[test]
    fn inner_products_of_every_length() {
        for len in 0..40 {
            let a: Vec<f64> = (0..len).map(|i| i as f64).collect();
            let sum: f64 = a.iter().map(|a| a * a).sum();
            assert!((dot(&a, &a) - sum).abs() < 1e-12 * sum.max(1.0));
        }
    }

    #[test]
    fn a_cholesky_factor_solves_and_refuses_indefinite_matrices() {
        let size = 7;
        let root = Square::from_fn(size, |i, j| wild(i * size + j));
        let unit = |i: usize, j: usize| f64::from(u8::from(i == j));
        let spd = Square::from_fn(size, |i, j| dot(root.row(i), root.row(j)) + unit(i, j));
        let truth: Vec<f64> = (0..size).map(|i| wild(100 + i)).collect();
        let mut x = spd.times(&truth);
        Cholesky::new(&spd)
            .expect("positive definite")
            .solve(&mut x);
        for (x, truth) in x.iter().zip(&truth) {
            assert!((x - truth).abs() < 1e-8, "{x} {truth}");
        }
        let indefinite = Square::from_fn(size, |i, j| spd.at(i, j) - 10.0 * wild(i) * wild(j));
        assert!(Cholesky::new(&indefinite).is_none());
        assert!(Cholesky::new(&Square::from_fn(3, |_, _| f64::NAN)).is_none());
    }

    #[test]
    fn the_indefinite_system_is_solved() {
        let size = 5;
        let [e, f] = [1, 2].map(|seed| {
            let root = Square::from_fn(size, |i, j| wild(1000 * seed + i * size + j));
            let unit = |i: usize, j: usize| f64::from(u8::from(i == j));
            Square::from_fn(size, |i, j| dot(root.row(i), root.row(j)) + unit(i, j))
        });
        let k = Square::from_fn(size, |i, j| wild(3000 + i * size + j));
        let truth: Vec<f64> = (0..2 * size).map(|i| wild(5000 + i)).collect();
        let (u, v) = truth.split_at(size);
        let mut x: Vec<f64> = (0..size)
            .map(|i| k.transposed_times(v)[i] - e.times(u)[i])
            .chain((0..size).map(|i| k.times(u)[i] + f.times(v)[i]))
            .collect();
        let solver = Indefinite::new(&e, k.clone(), &f).expect("definite blocks");
        solver.solve(&mut x);
        for (x, truth) in x.iter().zip(&truth) {
            assert!((x - truth).abs() < 1e-10, "{x} {truth}");
        }
    }
}
