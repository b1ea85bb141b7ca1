//! A solver for the tridiagonal systems of Newton's method on a line, which works on several
//! segments of the line at a time.
//!
//! The system is `$(cI + D^T K D)\,\delta = b$` with `$(D\delta)_j = \delta_j - \delta_{j-1}$`,
//! `$\delta_{-1} = 0$`, `$c > 0$` and weights `$k_j \ge 0$`. It describes an electrical network:
//! the samples are nodes, each connected to its left neighbour by a wire of conductance `$k_j$` and
//! to the ground by a wire of conductance `$c$`. The currents `$b$` flow into the nodes, and
//! `$\delta$` are the voltages.
//!
//! A line is cut into [`LANES`] segments of equal length, each of which is one lane of a vector.
//! The last node of each segment is its *separator*. All other nodes are eliminated, in all
//! segments at once: first every second node, which are independent of each other, then the nodes
//! between them from left to right. Eliminating a node replaces the star around it by a triangle.
//!
//! *Every second node.* Node `$j$` is connected to the ground by `$c$` and to its neighbours by
//! `$k_j$` and `$k_{j+1}$`. Let `$s = c + k_j + k_{j+1}$`. After the elimination the neighbours are
//! connected by `$k_jk_{j+1}/s$`. The left one gains a conductance of `$ck_j/s$` to the ground and
//! a current of `$b_jk_j/s$`, the right one `$ck_{j+1}/s$` and `$b_jk_{j+1}/s$`.
//!
//! *From left to right.* The current node is connected to the ground by `$g$`, to the separator on
//! the left of its segment by `$e$`, and by `$k$` to its right neighbour, which has `$g'$` and
//! `$b'$`. With `$s = g + e + k$`, the elimination gives
//!
//! ```math
//! g' \leftarrow g' + \frac{kg}{s}, \qquad e' = \frac{ke}{s}, \qquad b' \leftarrow b' + \frac{kb}{s},
//! ```
//!
//! and the separator gains a conductance of `$eg/s$` to the ground and a current of `$eb/s$`.
//!
//! The result is a network of the same kind with the separators as nodes. Conductances are only
//! added, multiplied and divided, so nothing cancels, and they keep full relative accuracy whatever
//! the condition of the matrix. Every entry is computed by the same operations for every vector
//! width.

use std::ops::Range;

use pulp::Simd;

use super::simd;

/// The number of segments of a line.
pub(super) const LANES: usize = 8;
/// The number of rows that are transposed together.
const BLOCK: usize = 4;

/// One number per segment.
pub(super) type Row = [f64; LANES];

/// Calls the method `run::<S, V>` of a kernel with the number `V` of vectors in a row.
macro_rules! with_vectors {
    ($simd:ident, $kernel:expr, $run:ident, $($argument:expr),*) => {
        match <$simd as Simd>::F64_LANES {
            1 => $kernel.$run::<$simd, { LANES }>($($argument),*),
            2 => $kernel.$run::<$simd, { LANES / 2 }>($($argument),*),
            4 => $kernel.$run::<$simd, { LANES / 4 }>($($argument),*),
            8 => $kernel.$run::<$simd, { LANES / 8 }>($($argument),*),
            lanes => panic!("vectors of {lanes} numbers are not supported"),
        }
    };
}
pub(super) use with_vectors;

/// Loads the vector `v` of a row.
#[inline(always)]
pub(super) fn load_row<S: Simd>(row: &Row, v: usize) -> S::f64s {
    S::as_simd_f64s(row).0[v]
}

/// Overwrites the vector `v` of a row.
#[inline(always)]
pub(super) fn store_row<S: Simd>(row: &mut Row, v: usize, vector: S::f64s) {
    S::as_mut_simd_f64s(row).0[v] = vector;
}

/// The partition of a line into segments.
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

    /// The number of samples of a segment, a multiple of [`BLOCK`]. The last segments may have
    /// samples beyond the end of the line.
    pub(super) const fn num_rows(self) -> usize {
        self.num_rows
    }

    /// The row and the lane of a sample.
    pub(super) const fn position(self, sample: usize) -> (usize, usize) {
        (sample % self.num_rows, sample / self.num_rows)
    }

    /// The samples that the last segments have beyond the end of the line.
    pub(super) const fn beyond(self) -> Range<usize> {
        self.num_samples..LANES * self.num_rows
    }

    /// Whether the rows from `row` to `row + BLOCK` are entirely on the line and vectors have
    /// [`BLOCK`] numbers, so that a vector instruction can transpose them.
    #[inline(always)]
    const fn is_square<S: Simd>(self, row: usize) -> bool {
        S::F64_LANES == BLOCK && (LANES - 1) * self.num_rows + row + BLOCK <= self.num_samples
    }

    /// Copies a line into lanes, with zeros beyond its end.
    #[inline(always)]
    pub(super) fn to_lanes<S: Simd>(self, simd: S, line: &[f64], rows: &mut [Row]) {
        let (blocks, _) = rows.as_chunks_mut::<BLOCK>();
        for (row, block) in blocks.iter_mut().enumerate() {
            let row = row * BLOCK;
            if !self.is_square::<S>(row) {
                self.block_to_lanes(line, row, block);
                continue;
            }
            for half in 0..LANES / BLOCK {
                let mut square = [simd.splat_f64s(0.0); BLOCK];
                for (i, side) in square.iter_mut().enumerate() {
                    *side = simd::load_lanes::<S>(line, (half * BLOCK + i) * self.num_rows + row);
                }
                let square = simd.deinterleave_shfl_f64s(square); // transposes
                for (row, side) in block.iter_mut().zip(square) {
                    store_row::<S>(row, half, side);
                }
            }
        }
    }

    #[inline(never)]
    fn block_to_lanes(self, line: &[f64], row: usize, block: &mut [Row; BLOCK]) {
        for (i, entries) in block.iter_mut().enumerate() {
            for (lane, entry) in entries.iter_mut().enumerate() {
                let sample = lane * self.num_rows + row + i;
                *entry = line.get(sample).copied().unwrap_or_default();
            }
        }
    }

    /// Copies lanes back to a line.
    #[inline(always)]
    pub(super) fn to_line<S: Simd>(self, simd: S, rows: &[Row], line: &mut [f64]) {
        let (blocks, _) = rows.as_chunks::<BLOCK>();
        for (row, block) in blocks.iter().enumerate() {
            let row = row * BLOCK;
            if !self.is_square::<S>(row) {
                self.block_to_line(block, line, row);
                continue;
            }
            for half in 0..LANES / BLOCK {
                let mut square = [simd.splat_f64s(0.0); BLOCK];
                for (side, row) in square.iter_mut().zip(block) {
                    *side = load_row::<S>(row, half);
                }
                let square = simd.deinterleave_shfl_f64s(square); // transposes
                for (i, &side) in square.iter().enumerate() {
                    simd::store_lanes::<S>(line, (half * BLOCK + i) * self.num_rows + row, side);
                }
            }
        }
    }

    #[inline(never)]
    fn block_to_line(self, block: &[Row; BLOCK], line: &mut [f64], row: usize) {
        for (i, entries) in block.iter().enumerate() {
            for (lane, value) in entries.iter().enumerate() {
                if let Some(entry) = line.get_mut(lane * self.num_rows + row + i) {
                    *entry = *value;
                }
            }
        }
    }
}

/// The coefficients that the back substitution of a node needs. Its `$\delta$` is
/// `$a + f z + m\,\delta'$`, where `$\delta'$` is that of its right neighbour, and `$z$` is that of
/// the separator on the left, or of the left neighbour for nodes that were eliminated first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Eliminated {
    /// The coefficient `$a$`.
    own: Row,
    /// The coefficient `$f$`.
    from_left: Row,
    /// The coefficient `$m$`.
    from_right: Row,
}

impl Eliminated {
    pub(super) const ZERO: Self = Self {
        own: [0.0; LANES],
        from_left: [0.0; LANES],
        from_right: [0.0; LANES],
    };

    /// Stores the coefficients of the segments in vector `v`.
    #[inline(always)]
    fn store<S: Simd>(&mut self, v: usize, own: S::f64s, left: S::f64s, right: S::f64s) {
        store_row::<S>(&mut self.own, v, own);
        store_row::<S>(&mut self.from_left, v, left);
        store_row::<S>(&mut self.from_right, v, right);
    }

    /// Returns `$\delta$` of the node.
    #[inline(always)]
    fn solve<S: Simd>(&self, simd: S, v: usize, left: S::f64s, right: S::f64s) -> S::f64s {
        let left = simd.mul_f64s(load_row::<S>(&self.from_left, v), left);
        let known = simd.add_f64s(load_row::<S>(&self.own, v), left);
        simd.add_f64s(
            known,
            simd.mul_f64s(load_row::<S>(&self.from_right, v), right),
        )
    }
}

/// The coefficients of two neighbouring nodes: one that is eliminated first, and the one on its
/// left.
#[derive(Clone, Copy, Debug)]
pub(super) struct EliminatedPair {
    first: Eliminated,
    /// The node on the left. Until it is eliminated, its fields hold the current that it gains, the
    /// current of the node on the right, and the weight of the wire between the two.
    left: Eliminated,
}

impl EliminatedPair {
    pub(super) const ZERO: Self = Self {
        first: Eliminated::ZERO,
        left: Eliminated::ZERO,
    };

    /// Eliminates the first of two nodes with the weights `$k$` and the currents `$b$`.
    #[inline(always)]
    pub(super) fn eliminate_first<S: Simd>(
        &mut self,
        simd: S,
        v: usize,
        constant: S::f64s,
        weights: [S::f64s; 2],
        currents: [S::f64s; 2],
    ) {
        let sum = simd.add_f64s(simd.add_f64s(constant, weights[0]), weights[1]);
        let inverse = simd.div_f64s(simd.splat_f64s(1.0), sum);
        let to_left = simd.mul_f64s(weights[0], inverse);
        let to_right = simd.mul_f64s(weights[1], inverse);
        let own = simd.mul_f64s(currents[0], inverse);
        self.first.store::<S>(v, own, to_left, to_right);
        let left = simd.mul_f64s(currents[0], to_left);
        let right = simd.add_f64s(currents[1], simd.mul_f64s(currents[0], to_right));
        let wire = simd.mul_f64s(weights[0], to_right);
        self.left.store::<S>(v, left, right, wire);
    }

    /// Returns `$\delta$` of the node on the left.
    #[inline(always)]
    pub(super) fn left<S: Simd>(
        &self,
        simd: S,
        v: usize,
        separator: S::f64s,
        right: S::f64s,
    ) -> S::f64s {
        self.left.solve(simd, v, separator, right)
    }

    /// Returns `$\delta$` of the node that was eliminated first.
    #[inline(always)]
    pub(super) fn first<S: Simd>(
        &self,
        simd: S,
        v: usize,
        left: S::f64s,
        right: S::f64s,
    ) -> S::f64s {
        self.first.solve(simd, v, left, right)
    }
}

/// The elimination in progress in the segments of one vector: the current nodes, and the
/// conductances and currents that the separators on the left have gained.
#[derive(Clone, Copy, Debug)]
struct Elimination<S: Simd> {
    simd: S,
    /// The constant `$c$`.
    constant: S::f64s,
    /// The sum `$g + e$`. It has its own recurrence, because the next node waits for it.
    sum: S::f64s,
    /// The conductance `$g$` to the ground.
    ground: S::f64s,
    /// The conductance `$e$` to the separator.
    wire: S::f64s,
    /// The current `$b$`.
    current: S::f64s,
    separator_ground: S::f64s,
    separator_current: S::f64s,
}

impl<S: Simd> Elimination<S> {
    /// Starts the elimination, before the first pair.
    #[inline(always)]
    fn new(simd: S, constant: S::f64s) -> Self {
        let zero = simd.splat_f64s(0.0);
        Self {
            simd,
            constant,
            sum: zero,
            ground: zero,
            wire: zero,
            current: zero,
            separator_ground: zero,
            separator_current: zero,
        }
    }

    /// Advances to the right neighbour, across a node that was eliminated first. At the beginning
    /// the current node is the separator on the left, which stays; otherwise it is eliminated.
    #[inline(always)]
    fn next(&mut self, pair: &mut EliminatedPair, v: usize, is_begin: bool) {
        let (simd, constant) = (self.simd, self.constant);
        let left_ground = simd.mul_f64s(constant, load_row::<S>(&pair.first.from_left, v));
        let to_right = simd.mul_f64s(constant, load_row::<S>(&pair.first.from_right, v));
        let ground = simd.add_f64s(constant, to_right);
        let left_current = load_row::<S>(&pair.left.own, v);
        let current = load_row::<S>(&pair.left.from_left, v);
        let wire = load_row::<S>(&pair.left.from_right, v);
        if is_begin {
            self.separator_ground = left_ground;
            self.separator_current = left_current;
            self.ground = ground;
            self.wire = wire;
            self.sum = simd.add_f64s(ground, wire);
            self.current = current;
            return;
        }
        let sum = simd.add_f64s(self.sum, simd.add_f64s(left_ground, wire));
        let inverse = simd.div_f64s(simd.splat_f64s(1.0), sum);
        let sum = simd.mul_f64s(simd.add_f64s(self.sum, left_ground), wire);
        self.sum = simd.add_f64s(ground, simd.mul_f64s(sum, inverse));
        let inflow = simd.add_f64s(self.current, left_current);
        let from_separator = simd.mul_f64s(self.wire, inverse);
        let from_right = simd.mul_f64s(wire, inverse);
        let own = simd.mul_f64s(inflow, inverse);
        (pair.left).store::<S>(v, own, from_separator, from_right);
        let grounded = simd.add_f64s(self.ground, left_ground);
        let more = simd.mul_f64s(from_separator, grounded);
        self.separator_ground = simd.add_f64s(self.separator_ground, more);
        let more = simd.mul_f64s(from_separator, inflow);
        self.separator_current = simd.add_f64s(self.separator_current, more);
        self.ground = simd.add_f64s(ground, simd.mul_f64s(from_right, grounded));
        self.wire = simd.mul_f64s(from_right, self.wire);
        self.current = simd.add_f64s(current, simd.mul_f64s(from_right, inflow));
    }
}

/// Eliminates all nodes except the separators, after every second node, and returns `$\delta$` at
/// the separators: first on the left of each segment, then at its end.
#[inline(always)]
pub(super) fn solve_separators<S: Simd, const V: usize>(
    simd: S,
    constant: S::f64s,
    eliminated: &mut [EliminatedPair],
) -> [Row; 2] {
    let mut eliminations = [Elimination::new(simd, constant); V];
    let mut begins = true;
    for eliminated in eliminated {
        for (v, elimination) in eliminations.iter_mut().enumerate() {
            elimination.next(eliminated, v, begins);
        }
        begins = false;
    }
    separators(&eliminations)
}

/// Returns `$\delta$` at the separators: first on the left of each segment, then at its end. At
/// this point the separators are the current nodes of the elimination.
#[inline(always)]
fn separators<S: Simd, const V: usize>(eliminations: &[Elimination<S>; V]) -> [Row; 2] {
    let [mut ground, mut wire, mut current] = [[0.0; LANES]; 3];
    let [mut more_ground, mut more_current] = [[0.0; LANES]; 2];
    for (v, elimination) in eliminations.iter().enumerate() {
        store_row::<S>(&mut ground, v, elimination.ground);
        store_row::<S>(&mut wire, v, elimination.wire);
        store_row::<S>(&mut current, v, elimination.current);
        store_row::<S>(&mut more_ground, v, elimination.separator_ground);
        store_row::<S>(&mut more_current, v, elimination.separator_current);
    }
    for lane in 1..LANES {
        ground[lane - 1] += more_ground[lane];
        current[lane - 1] += more_current[lane];
    }
    let end = solve_chain(ground, wire, current);
    let mut left = [0.0; LANES];
    left[1..].copy_from_slice(&end[..LANES - 1]);
    [left, end]
}

/// Solves the network of the separators, a line with one node per lane, by elimination from both
/// ends at once. `wire` connects each node to its left neighbour.
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
    // Two nodes remain, l and r, with one wire between them.
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
