//! Solves the tridiagonal systems of Newton's method on a line, many segments of the line at a time.
//!
//! The system is `$(cI + D^T K D)\,\delta = b$` with `$(D\delta)_j = \delta_j - \delta_{j-1}$`, `$\delta_{-1} = 0$`, `$c > 0$` and weights
//! `$k_j \ge 0$`. It is that of an electrical network: samples are nodes, connected to their left neighbour by a wire of
//! conductance `$k_j$` and to the ground by one of conductance `$c$`; currents `$b$` flow in, and the voltages are `$\delta$`.
//!
//! A line is cut into [`LANES`] segments of equal length, each of which is a lane of a vector. The last node of each segment
//! is its *separator*. All other nodes are eliminated from left to right, in all segments at once. While that goes on, node
//! `$j$` is connected to the ground by `$g_j$`, to the separator on the left of its segment by `$e_j$`, and to its right neighbour by
//! `$k_{j+1}$`. Eliminating it replaces the star by a triangle: with `$s = g_j + e_j + k_{j+1}$`
//!
//! ```math
//! g_{j+1} = c + \frac{k_{j+1}g_j}{s}, \qquad e_{j+1} = \frac{k_{j+1}e_j}{s}, \qquad
//! b_{j+1} \leftarrow b_{j+1} + \frac{k_{j+1}b_j}{s},
//! ```
//!
//! and the separator gets another `$e_jg_j/s$` to the ground and a current of `$e_jb_j/s$`. What remains is a network of the same
//! kind with the separators as nodes. Conductances are only ever added, multiplied and divided, so nothing cancels and they keep
//! all their digits, whatever the condition of the matrix. Every entry is computed by the same operations whatever the width
//! of a vector.

use pulp::Simd;

use super::simd;

/// Segments of a line.
pub(super) const LANES: usize = 8;
/// Rows that are transposed together.
pub(super) const BLOCK: usize = 4;

/// One number per segment.
pub(super) type Row = [f64; LANES];

/// The vectors of a row; `V` is how many there are.
pub(super) type Vectors<S, const V: usize> = [<S as Simd>::f64s; V];

/// Calls the method `run::<S, V>` of a kernel with the number `V` of vectors in a row.
macro_rules! with_vectors {
    ($simd:ident, $kernel:expr, $run:ident, $($argument:expr),*) => {
        match <$simd as Simd>::F64_LANES {
            1 => $kernel.$run::<$simd, { LANES }>($($argument),*),
            2 => $kernel.$run::<$simd, { LANES / 2 }>($($argument),*),
            4 => $kernel.$run::<$simd, { LANES / 4 }>($($argument),*),
            8 => $kernel.$run::<$simd, { LANES / 8 }>($($argument),*),
            lanes => panic!("vectors of {lanes} numbers"),
        }
    };
}
pub(super) use with_vectors;

/// The vector `v` of a row.
#[inline(always)]
pub(super) fn load<S: Simd>(row: &Row, v: usize) -> S::f64s {
    S::as_simd_f64s(row).0[v]
}

/// Overwrites the vector `v` of a row.
#[inline(always)]
pub(super) fn store<S: Simd>(row: &mut Row, v: usize, vector: S::f64s) {
    S::as_mut_simd_f64s(row).0[v] = vector;
}

/// The vectors of a row.
#[inline(always)]
pub(super) fn from_row<S: Simd, const V: usize>(simd: S, row: &Row) -> Vectors<S, V> {
    let mut vectors = [simd.splat_f64s(0.0); V];
    for (v, vector) in vectors.iter_mut().enumerate() {
        *vector = load::<S>(row, v);
    }
    vectors
}

/// The row of some vectors.
#[inline(always)]
pub(super) fn to_row<S: Simd, const V: usize>(vectors: &Vectors<S, V>) -> Row {
    let mut row = [0.0; LANES];
    for (v, &vector) in vectors.iter().enumerate() {
        store::<S>(&mut row, v, vector);
    }
    row
}

/// How a line is cut.
#[derive(Clone, Copy, Debug)]
pub(super) struct Partition {
    num_samples: usize,
    num_rows: usize,
}

impl Partition {
    pub(super) const fn new(num_samples: usize) -> Self {
        Self {
            num_samples,
            num_rows: num_samples.div_ceil(LANES).next_multiple_of(BLOCK),
        }
    }

    /// Samples of a segment, those beyond the end of the line included; a multiple of [`BLOCK`].
    pub(super) const fn num_rows(self) -> usize {
        self.num_rows
    }

    /// Whether all of the rows from `row` to `row + BLOCK` are on the line, and as wide as two vectors.
    #[inline(always)]
    const fn is_square<S: Simd>(self, row: usize) -> bool {
        S::F64_LANES == BLOCK && (LANES - 1) * self.num_rows + row + BLOCK <= self.num_samples
    }

    /// Overwrites `rows` with those from `row` to `row + BLOCK`, with zeros beyond the end of the line.
    #[inline(always)]
    pub(super) fn gather<S: Simd>(
        self,
        simd: S,
        line: &[f64],
        row: usize,
        rows: &mut [Row; BLOCK],
    ) {
        if !self.is_square::<S>(row) {
            return self.gather_entries(line, row, rows);
        }
        for half in 0..LANES / BLOCK {
            let mut square = [simd.splat_f64s(0.0); BLOCK];
            for (i, side) in square.iter_mut().enumerate() {
                *side = simd::load::<S>(line, (half * BLOCK + i) * self.num_rows + row);
            }
            let square = simd.deinterleave_shfl_f64s(square); // transposes
            for (row, side) in rows.iter_mut().zip(square) {
                store::<S>(row, half, side);
            }
        }
    }

    #[inline(never)]
    fn gather_entries(self, line: &[f64], row: usize, rows: &mut [Row; BLOCK]) {
        for (i, entries) in rows.iter_mut().enumerate() {
            for (lane, entry) in entries.iter_mut().enumerate() {
                let at = lane * self.num_rows + row + i;
                *entry = line.get(at).copied().unwrap_or_default();
            }
        }
    }

    /// Overwrites what is on the line of the rows from `row` to `row + BLOCK`.
    #[inline(always)]
    pub(super) fn scatter<S: Simd>(
        self,
        simd: S,
        rows: &[Row; BLOCK],
        line: &mut [f64],
        row: usize,
    ) {
        if !self.is_square::<S>(row) {
            return self.scatter_entries(rows, line, row);
        }
        for half in 0..LANES / BLOCK {
            let mut square = [simd.splat_f64s(0.0); BLOCK];
            for (side, row) in square.iter_mut().zip(rows) {
                *side = load::<S>(row, half);
            }
            let square = simd.deinterleave_shfl_f64s(square); // transposes
            for (i, &side) in square.iter().enumerate() {
                simd::store::<S>(line, (half * BLOCK + i) * self.num_rows + row, side);
            }
        }
    }

    #[inline(never)]
    fn scatter_entries(self, rows: &[Row; BLOCK], line: &mut [f64], row: usize) {
        for (i, entries) in rows.iter().enumerate() {
            for (lane, value) in entries.iter().enumerate() {
                if let Some(entry) = line.get_mut(lane * self.num_rows + row + i) {
                    *entry = *value;
                }
            }
        }
    }
}

/// What the elimination of a node leaves for the way back: `$\delta_{j-1} = a + f z + m\,\delta_j$`, where `$z$` is the separator
/// on the left.
#[derive(Clone, Copy, Debug)]
pub(super) struct Eliminated {
    pub(super) own: Row,
    pub(super) from_separator: Row,
    pub(super) from_right: Row,
}

impl Eliminated {
    pub(super) const ZERO: Self = Self {
        own: [0.0; LANES],
        from_separator: [0.0; LANES],
        from_right: [0.0; LANES],
    };

    /// `$\delta_{j-1}$`.
    #[inline(always)]
    pub(super) fn left<S: Simd>(
        &self,
        simd: S,
        v: usize,
        separator: S::f64s,
        right: S::f64s,
    ) -> S::f64s {
        let separator = simd.mul_f64s(load::<S>(&self.from_separator, v), separator);
        let known = simd.add_f64s(load::<S>(&self.own, v), separator);
        simd.add_f64s(known, simd.mul_f64s(load::<S>(&self.from_right, v), right))
    }
}

/// The elimination under way: the node of each segment that comes next, and what the separators on the left have got.
#[derive(Debug)]
pub(super) struct Elimination<S: Simd, const V: usize> {
    simd: S,
    /// `$c$`.
    constant: S::f64s,
    /// `$g + e$`, by its own recurrence, since that is what the next node waits for.
    sum: Vectors<S, V>,
    /// `$g$`, `$e$`, `$b$`.
    ground: Vectors<S, V>,
    wire: Vectors<S, V>,
    current: Vectors<S, V>,
    separator_ground: Vectors<S, V>,
    separator_current: Vectors<S, V>,
}

impl<S: Simd, const V: usize> Elimination<S, V> {
    /// Nothing yet: [`begin`](Self::begin) puts the first nodes there.
    #[inline(always)]
    pub(super) fn new(simd: S, constant: f64) -> Self {
        let zero = [simd.splat_f64s(0.0); V];
        let constant = simd.splat_f64s(constant);
        Self {
            simd,
            constant,
            sum: [constant; V],
            ground: [constant; V],
            wire: zero,
            current: zero,
            separator_ground: zero,
            separator_current: zero,
        }
    }

    /// The first nodes, with the weights `$k$` of their wires to the separators on the left.
    #[inline(always)]
    pub(super) fn begin(&mut self, v: usize, weight: S::f64s, current: S::f64s) {
        let simd = self.simd;
        self.wire[v] = weight;
        self.sum[v] = simd.add_f64s(self.constant, weight);
        self.current[v] = current;
    }

    /// Eliminates the nodes at hand and moves on to their right neighbours, where `current` flows in.
    #[inline(always)]
    pub(super) fn next(
        &mut self,
        v: usize,
        weight: S::f64s,
        current: S::f64s,
        eliminated: &mut Eliminated,
    ) {
        let simd = self.simd;
        let sum = simd.add_f64s(self.sum[v], weight);
        let inverse = simd.div_f64s(simd.splat_f64s(1.0), sum);
        let passed = simd.mul_f64s(simd.mul_f64s(self.sum[v], weight), inverse);
        self.sum[v] = simd.add_f64s(self.constant, passed);
        let from_right = simd.mul_f64s(weight, inverse);
        let from_separator = simd.mul_f64s(self.wire[v], inverse);
        store::<S>(&mut eliminated.from_right, v, from_right);
        store::<S>(&mut eliminated.from_separator, v, from_separator);
        store::<S>(
            &mut eliminated.own,
            v,
            simd.mul_f64s(self.current[v], inverse),
        );
        let grounded = simd.mul_f64s(from_separator, self.ground[v]);
        self.separator_ground[v] = simd.add_f64s(self.separator_ground[v], grounded);
        let passed = simd.mul_f64s(from_separator, self.current[v]);
        self.separator_current[v] = simd.add_f64s(self.separator_current[v], passed);
        self.ground[v] = simd.add_f64s(self.constant, simd.mul_f64s(from_right, self.ground[v]));
        self.wire[v] = simd.mul_f64s(from_right, self.wire[v]);
        self.current[v] = simd.add_f64s(current, simd.mul_f64s(from_right, self.current[v]));
    }

    /// `$\delta$` at the separators, which are the nodes at hand: on the left of each segment, and at its end.
    #[inline(always)]
    pub(super) fn separators(&self) -> (Row, Row) {
        let (mut ground, wire, mut current) = (
            to_row::<S, V>(&self.ground),
            to_row::<S, V>(&self.wire),
            to_row::<S, V>(&self.current),
        );
        let (more_ground, more_current) = (
            to_row::<S, V>(&self.separator_ground),
            to_row::<S, V>(&self.separator_current),
        );
        for lane in 1..LANES {
            ground[lane - 1] += more_ground[lane];
            current[lane - 1] += more_current[lane];
        }
        let end = solve_chain(ground, wire, current);
        let mut left = [0.0; LANES];
        left[1..].copy_from_slice(&end[..LANES - 1]);
        (left, end)
    }
}

/// The same elimination for a line with one node per lane, from both ends at once; `wire` leads to the left.
#[inline(always)]
fn solve_chain(mut ground: Row, wire: Row, mut current: Row) -> Row {
    const MIDDLE: usize = LANES / 2;
    let mut inverse = [0.0; LANES];
    ground[0] += wire[0];
    for i in 0..MIDDLE - 1 {
        let (j, left, right) = (LANES - 1 - i, i, i + 1);
        inverse[left] = 1.0 / (ground[left] + wire[right]);
        let share = wire[right] * inverse[left];
        ground[right] += share * ground[left];
        current[right] += share * current[left];
        inverse[j] = 1.0 / (ground[j] + wire[j]);
        let share = wire[j] * inverse[j];
        ground[j - 1] += share * ground[j];
        current[j - 1] += share * current[j];
    }
    // Two nodes are left, l and r, with one wire between them.
    let (l, r, between) = (MIDDLE - 1, MIDDLE, wire[MIDDLE]);
    let inverse_l = 1.0 / (ground[l] + between);
    let share = between * inverse_l;
    let mut solution = [0.0; LANES];
    solution[r] = (current[r] + share * current[l]) / (ground[r] + share * ground[l]);
    solution[l] = inverse_l * current[l] + share * solution[r];
    for i in (0..MIDDLE - 1).rev() {
        let j = LANES - 1 - i;
        solution[i] = inverse[i] * (current[i] + wire[i + 1] * solution[i + 1]);
        solution[j] = inverse[j] * (current[j] + wire[j] * solution[j - 1]);
    }
    solution
}

#[cfg(test)]
mod tests;
