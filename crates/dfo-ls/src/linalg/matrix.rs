//! Dense matrices.

use super::vector::{axpy, dot};
use std::ops::{Index, IndexMut};

/// A dense matrix, stored column by column.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Matrix {
    rows: usize,
    cols: usize,
    data: Vec<f64>,
}

impl Matrix {
    pub(crate) fn zeros(rows: usize, cols: usize) -> Self {
        Self {
            rows,
            cols,
            data: vec![0.0; rows * cols],
        }
    }

    pub(crate) fn from_fn(
        rows: usize,
        cols: usize,
        mut entry: impl FnMut(usize, usize) -> f64,
    ) -> Self {
        let mut data = Vec::with_capacity(rows * cols);
        for j in 0..cols {
            data.extend((0..rows).map(|i| entry(i, j)));
        }
        Self { rows, cols, data }
    }

    pub(crate) fn identity(n: usize) -> Self {
        let mut eye = Self::zeros(n, n);
        for i in 0..n {
            eye[(i, i)] = 1.0;
        }
        eye
    }

    pub(crate) const fn rows(&self) -> usize {
        self.rows
    }

    pub(crate) const fn cols(&self) -> usize {
        self.cols
    }

    pub(crate) fn col(&self, j: usize) -> &[f64] {
        &self.data[j * self.rows..(j + 1) * self.rows]
    }

    pub(crate) fn col_mut(&mut self, j: usize) -> &mut [f64] {
        &mut self.data[j * self.rows..(j + 1) * self.rows]
    }

    /// Column `j`, mutably, and all columns before it.
    pub(crate) fn col_and_before(&mut self, j: usize) -> (&mut [f64], &[f64]) {
        let (before, rest) = self.data.split_at_mut(j * self.rows);
        (&mut rest[..self.rows], before)
    }

    /// All entries, column by column.
    pub(crate) fn as_slice(&self) -> &[f64] {
        &self.data
    }

    pub(crate) fn as_mut_slice(&mut self) -> &mut [f64] {
        &mut self.data
    }

    /// Changes the matrix to a zero matrix of another size, in the same memory.
    pub(crate) fn reset(&mut self, rows: usize, cols: usize) {
        self.data.clear();
        self.data.resize(rows * cols, 0.0);
        (self.rows, self.cols) = (rows, cols);
    }

    /// Changes the matrix to a copy of `other`, in the same memory.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        self.data.clear();
        self.data.extend_from_slice(&other.data);
        (self.rows, self.cols) = (other.rows, other.cols);
    }

    pub(crate) fn transpose(&self) -> Self {
        Self::from_fn(self.cols, self.rows, |i, j| self[(j, i)])
    }

    /// Sets `out` to `$A x$`.
    pub(crate) fn mul_vec(&self, x: &[f64], out: &mut [f64]) {
        assert_eq!((x.len(), out.len()), (self.cols, self.rows));
        out.fill(0.0);
        if self.rows == 0 {
            return;
        }
        // Four columns at a time, so that `out` is loaded and stored once for every four columns.
        let mut blocks = self.data.chunks_exact(4 * self.rows);
        let mut weights = x.chunks_exact(4);
        for (block, w) in (&mut blocks).zip(&mut weights) {
            let (a, rest) = block.split_at(self.rows);
            let (b, rest) = rest.split_at(self.rows);
            let (c, d) = rest.split_at(self.rows);
            for ((((o, a), b), c), d) in out.iter_mut().zip(a).zip(b).zip(c).zip(d) {
                *o += (a * w[0] + b * w[1]) + (c * w[2] + d * w[3]);
            }
        }
        for (column, w) in blocks
            .remainder()
            .chunks_exact(self.rows)
            .zip(weights.remainder())
        {
            axpy(*w, column, out);
        }
    }

    /// The matrix `$\alpha A$`.
    pub(crate) fn scaled(&self, alpha: f64) -> Self {
        Self {
            rows: self.rows,
            cols: self.cols,
            data: self.data.iter().map(|entry| alpha * entry).collect(),
        }
    }

    /// Sets `out` to `$A^T x$`.
    pub(crate) fn mul_vec_transposed(&self, x: &[f64], out: &mut [f64]) {
        assert_eq!((x.len(), out.len()), (self.rows, self.cols));
        for (j, o) in out.iter_mut().enumerate() {
            *o = dot(self.col(j), x);
        }
    }

    /// Adds `$\alpha x y^T$`.
    pub(crate) fn add_outer(&mut self, alpha: f64, x: &[f64], y: &[f64]) {
        assert_eq!((x.len(), y.len()), (self.rows, self.cols));
        for (j, v) in y.iter().enumerate() {
            axpy(alpha * v, x, self.col_mut(j));
        }
    }
}

impl Index<(usize, usize)> for Matrix {
    type Output = f64;

    fn index(&self, (i, j): (usize, usize)) -> &f64 {
        &self.col(j)[i]
    }
}

impl IndexMut<(usize, usize)> for Matrix {
    fn index_mut(&mut self, (i, j): (usize, usize)) -> &mut f64 {
        &mut self.col_mut(j)[i]
    }
}
