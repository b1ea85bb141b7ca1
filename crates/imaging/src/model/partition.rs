//! Solves the tridiagonal systems of Newton's method on a line, many segments of the line at a
//! time.
//!
//! The system is `$(cI + D^T K D)\,\delta = b$` with `$(D\delta)_j = \delta_j - \delta_{j-1}$`,
//! `$\delta_{-1} = 0$`, `$c > 0$` and weights `$k_j \ge 0$`. It is that of an electrical network:
//! samples are nodes, connected to their left neighbour by a wire of conductance `$k_j$` and to the
//! ground by one of conductance `$c$`; currents `$b$` flow in, and the voltages are `$\delta$`.
//!
//! A line is cut into [`LANES`] segments of equal length, each of which is a lane of a vector. The
//! last node of each segment is its *separator*. All other nodes are eliminated, in all segments at
//! once: every second node first, none of which waits for another, then those between them from
//! left to right. Eliminating a node replaces the star around it by a triangle.
//!
//! *Every second node.* Node `$j$` is connected to the ground by `$c$`, to its neighbours by
//! `$k_j$` and `$k_{j+1}$`. With `$s = c + k_j + k_{j+1}$`, its neighbours are connected by
//! `$k_jk_{j+1}/s$`, the left one gets another `$ck_j/s$` to the ground and a current of
//! `$b_jk_j/s$`, and the right one `$ck_{j+1}/s$` and `$b_jk_{j+1}/s$`.
//!
//! *From left to right.* The node at hand is connected to the ground by `$g$`, to the separator on
//! the left of its segment by `$e$`, and to its right neighbour, which has `$g'$` and `$b'$`, by
//! `$k$`. With `$s = g + e + k$`
//!
//! ```math
//! g' \leftarrow g' + \frac{kg}{s}, \qquad e' = \frac{ke}{s}, \qquad b' \leftarrow b' + \frac{kb}{s},
//! ```
//!
//! and the separator gets another `$eg/s$` to the ground and a current of `$eb/s$`.
//!
//! What remains is a network of the same kind with the separators as nodes. Conductances are only
//! ever added, multiplied and divided, so nothing cancels and they keep all their digits, whatever
//! the condition of the matrix. Every entry is computed by the same operations whatever the width
//! of a vector.

use std::ops::Range;

use pulp::Simd;

use super::simd;

/// Segments of a line.
pub(super) const LANES: usize = 8;
/// Rows that are transposed together.
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
            lanes => panic!("vectors of {lanes} numbers"),
        }
    };
}
pub(super) use with_vectors;

/// The vector `v` of a row.
#[inline(always)]
pub(super) fn load_row<S: Simd>(row: &Row, v: usize) -> S::f64s {
    S::as_simd_f64s(row).0[v]
}

/// Overwrites the vector `v` of a row.
#[inline(always)]
pub(super) fn store_row<S: Simd>(row: &mut Row, v: usize, vector: S::f64s) {
    S::as_mut_simd_f64s(row).0[v] = vector;
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

    /// Where a sample is in lanes: its row and its lane.
    pub(super) const fn position(self, sample: usize) -> (usize, usize) {
        (sample % self.num_rows, sample / self.num_rows)
    }

    /// The samples that the last segments have beyond the end of the line.
    pub(super) const fn beyond(self) -> Range<usize> {
        self.num_samples..LANES * self.num_rows
    }

    /// Whether all of the rows from `row` to `row + BLOCK` are on the line, and vectors as wide as
    /// they are many.
    #[inline(always)]
    const fn is_square<S: Simd>(self, row: usize) -> bool {
        S::F64_LANES == BLOCK && (LANES - 1) * self.num_rows + row + BLOCK <= self.num_samples
    }

    /// Puts a line into lanes, and zeros beyond its end.
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

    /// Overwrites a line by what is in lanes.
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

/// What the elimination of a node leaves for the way back: its `$\delta$` is
/// `$a + f z + m\,\delta'$`, where `$\delta'$` is its right neighbour's and `$z$` that of the
/// separator on the left, or of the left neighbour for nodes that went first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Eliminated {
    own: Row,
    from_left: Row,
    from_right: Row,
}

impl Eliminated {
    pub(super) const ZERO: Self = Self {
        own: [0.0; LANES],
        from_left: [0.0; LANES],
        from_right: [0.0; LANES],
    };

    #[inline(always)]
    fn remember<S: Simd>(&mut self, v: usize, own: S::f64s, left: S::f64s, right: S::f64s) {
        store_row::<S>(&mut self.own, v, own);
        store_row::<S>(&mut self.from_left, v, left);
        store_row::<S>(&mut self.from_right, v, right);
    }

    /// `$\delta$`.
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

/// What the elimination of two neighbours leaves: a node that goes first, and the one on its left.
#[derive(Clone, Copy, Debug)]
pub(super) struct EliminatedPair {
    first: Eliminated,
    /// Until it is its turn: the current that it gets, that of the node on the right, and the
    /// weight of the wire between the two.
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
        self.first.remember::<S>(v, own, to_left, to_right);
        let left = simd.mul_f64s(currents[0], to_left);
        let right = simd.add_f64s(currents[1], simd.mul_f64s(currents[0], to_right));
        let wire = simd.mul_f64s(weights[0], to_right);
        self.left.remember::<S>(v, left, right, wire);
    }

    /// `$\delta$` of the node on the left.
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

    /// `$\delta$` of the node that went first.
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

/// The elimination under way in the segments of one vector: the nodes at hand, and what the
/// separators on the left have got.
#[derive(Clone, Copy, Debug)]
pub(super) struct Elimination<S: Simd> {
    simd: S,
    /// `$c$`.
    constant: S::f64s,
    /// `$g + e$`, by its own recurrence, since that is what the next node waits for.
    sum: S::f64s,
    /// `$g$`, `$e$`, `$b$`.
    ground: S::f64s,
    wire: S::f64s,
    current: S::f64s,
    separator_ground: S::f64s,
    separator_current: S::f64s,
}

impl<S: Simd> Elimination<S> {
    /// Nothing yet: the first pair comes next.
    #[inline(always)]
    pub(super) fn new(simd: S, constant: S::f64s) -> Self {
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

    /// Moves on to the right neighbour, over a node that went first. At the beginning the node at
    /// hand is the separator on the left, which stays; else it is eliminated.
    #[inline(always)]
    pub(super) fn next(&mut self, pair: &mut EliminatedPair, v: usize, is_begin: bool) {
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
        let at_hand = simd.add_f64s(self.current, left_current);
        let from_separator = simd.mul_f64s(self.wire, inverse);
        let from_right = simd.mul_f64s(wire, inverse);
        let own = simd.mul_f64s(at_hand, inverse);
        (pair.left).remember::<S>(v, own, from_separator, from_right);
        let grounded = simd.add_f64s(self.ground, left_ground);
        let more = simd.mul_f64s(from_separator, grounded);
        self.separator_ground = simd.add_f64s(self.separator_ground, more);
        let more = simd.mul_f64s(from_separator, at_hand);
        self.separator_current = simd.add_f64s(self.separator_current, more);
        self.ground = simd.add_f64s(ground, simd.mul_f64s(from_right, grounded));
        self.wire = simd.mul_f64s(from_right, self.wire);
        self.current = simd.add_f64s(current, simd.mul_f64s(from_right, at_hand));
    }
}

/// `$\delta$` at the separators, which are the nodes at hand: on the left of each segment, and at
/// its end.
#[inline(always)]
pub(super) fn separators<S: Simd, const V: usize>(eliminations: &[Elimination<S>; V]) -> [Row; 2] {
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

/// The same elimination for a line with one node per lane, from both ends at once; `wire` leads to
/// the left.
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
