//! Inner products of residual vectors that stay with the oracle.
//!
//! Models of the sum of squares need only inner products of residuals, not their entries. An oracle
//! whose residuals are too many to move, or spread over machines, keeps the vectors and answers a
//! [`Job`](crate::Job) with [`Products`]. All products are those of differences to a common
//! reference vector `$r_\mathrm{ref}$`, which keeps their digits when vectors differ little.
//!
//! A vector is known by its number. [`BlockVectors`] stores one block of each vector, and computes
//! the products of this block; the products of whole vectors are the sums over all blocks, in the
//! order of the blocks.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::linalg::{Matrix, axpy, dot, dot_difference, product_transposed};

/// The number of residuals that are processed at a time, so that they stay in the cache.
const CHUNK: usize = 1024;

/// The vectors that the residuals of a job are measured against.
///
/// Vectors that a job does not name are not needed any more and may be dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Against {
    /// The number of the new vector.
    pub vector: u64,
    /// The vector that is subtracted from all others. `None` if there is none yet: the new vector
    /// is then its own reference, and the engine asks for products with others later.
    pub reference: Option<u64>,
    /// The vectors of known points.
    pub known: Vec<KnownVector>,
    /// The vectors of new points that are asked for at the same time. Those that have not been
    /// evaluated, or whose evaluation failed, do not exist.
    pub siblings: Vec<u64>,
    /// The vector that the new one will replace. Its products are not needed, but it must be kept.
    pub replaces: Option<u64>,
}

/// The vector of a known point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct KnownVector {
    /// The number of the vector.
    pub vector: u64,
    /// The vector that takes its place, if it exists. It is asked for at the same time.
    pub replaced_by: Option<u64>,
}

impl Against {
    /// Returns the reference and the vectors to measure the new one against. `exists` tells whether
    /// a vector is stored. `None` if a vector of a known point is missing.
    #[must_use]
    pub fn resolve(&self, exists: impl Fn(u64) -> bool) -> Option<(u64, Vec<u64>)> {
        let Some(reference) = self.reference else {
            return Some((self.vector, Vec::new()));
        };
        let known = self.known.iter().map(|known| {
            let newer = known.replaced_by.filter(|number| exists(*number));
            newer.or_else(|| Some(known.vector).filter(|number| exists(*number)))
        });
        let mut others: Vec<u64> = known.collect::<Option<_>>()?;
        let siblings = self.siblings.iter().copied();
        others.extend(siblings.filter(|number| exists(*number)));
        exists(reference).then_some((reference, others))
    }

    /// Returns the vector of a known point whose product is missing, if there is one.
    pub(crate) fn missing(&self, products: &Products) -> Option<u64> {
        let is_missing = |known: &&KnownVector| {
            let all = [Some(known.vector), known.replaced_by]
                .into_iter()
                .flatten();
            all.filter_map(|number| products.product(number))
                .next()
                .is_none()
        };
        self.known.iter().find(is_missing).map(|known| known.vector)
    }

    /// Returns all vectors that the job names, except for the new one.
    pub fn named(&self) -> impl Iterator<Item = u64> {
        let known = self.known.iter();
        let known = known.flat_map(|known| [Some(known.vector), known.replaced_by]);
        let others = [self.reference, self.replaces].into_iter();
        let siblings = self.siblings.iter().copied();
        known.chain(others).flatten().chain(siblings)
    }
}

/// The inner products of a new residual vector `$r$` with others.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Products {
    /// The sum of squares `$\|r\|^2$`.
    pub square: f64,
    /// The number of the reference.
    pub reference: u64,
    /// The product `$(r - r_\mathrm{ref})^\top r_\mathrm{ref}$`.
    pub cross: f64,
    /// The square `$\|r - r_\mathrm{ref}\|^2$`.
    pub own: f64,
    /// The numbers of other vectors and `$(r - r_\mathrm{ref})^\top (r_t - r_\mathrm{ref})$`.
    pub with: Vec<(u64, f64)>,
}

impl Products {
    /// The number of sums that [`BlockVectors::measure`] computes for `count` other vectors.
    #[must_use]
    pub const fn width(count: usize) -> usize {
        3 + count
    }

    /// Names the sums over all blocks that [`BlockVectors::measure`] has computed.
    ///
    /// # Panics
    /// When the number of sums is not [`width`](Self::width).
    #[must_use]
    pub fn from_sums(sums: &[f64], reference: u64, others: &[u64]) -> Self {
        assert_eq!(sums.len(), Self::width(others.len()), "one sum per product");
        Self {
            square: sums[0],
            reference,
            cross: sums[1],
            own: sums[2],
            with: others
                .iter()
                .copied()
                .zip(sums[3..].iter().copied())
                .collect(),
        }
    }

    /// The product with a vector, if it was measured.
    pub(crate) fn product(&self, vector: u64) -> Option<f64> {
        let mut with = self.with.iter();
        with.find(|(number, _)| *number == vector)
            .map(|(_, product)| *product)
    }
}

/// A request for the products of known vectors with a new reference. An engine makes it when the
/// incumbent is so far from the old reference that products would lose digits.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Measurement {
    reference: u64,
    vectors: Vec<u64>,
    reply: Option<Result<Vec<f64>, String>>,
}

impl Measurement {
    pub(crate) const fn new(reference: u64, vectors: Vec<u64>) -> Self {
        Self {
            reference,
            vectors,
            reply: None,
        }
    }

    /// The number of the new reference, which is one of the vectors.
    #[must_use]
    pub const fn reference(&self) -> u64 {
        self.reference
    }

    /// The numbers of the vectors.
    #[must_use]
    pub fn vectors(&self) -> &[u64] {
        &self.vectors
    }

    /// The number of sums that [`BlockVectors::measure_all`] computes.
    #[must_use]
    pub const fn width(&self) -> usize {
        self.vectors.len() * (self.vectors.len() + 1)
    }

    /// Answers with the sums over all blocks that [`BlockVectors::measure_all`] has computed. A
    /// wrong number of sums counts as a failure.
    pub fn answer(&mut self, sums: Vec<f64>) {
        self.reply = Some(if sums.len() == self.width() {
            Ok(sums)
        } else {
            Err(format!(
                "{} products were given, but there must be {}",
                sums.len(),
                self.width()
            ))
        });
    }

    /// Answers with a failure, which ends the run.
    pub fn fail(&mut self, reason: impl std::fmt::Display) {
        self.reply = Some(Err(reason.to_string()));
    }

    /// Whether the request has been answered.
    #[must_use]
    pub const fn is_answered(&self) -> bool {
        self.reply.is_some()
    }

    pub(crate) fn take_reply(&mut self) -> Option<Result<Vec<f64>, String>> {
        self.reply.take()
    }
}

/// One block of a residual vector. Its entries are the residuals: an oracle that stores them in
/// single precision must add the rounding error to the accuracy of its answer.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum BlockVector {
    /// Entries in double precision.
    Full(Vec<f64>),
    /// Entries in single precision.
    Compact(Vec<f32>),
}

impl BlockVector {
    /// The number of entries.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.view().len()
    }

    /// Whether there are no entries.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The entries in double precision.
    #[must_use]
    pub fn to_vec(&self) -> Vec<f64> {
        match self {
            Self::Full(values) => values.clone(),
            Self::Compact(values) => values.iter().map(|x| f64::from(*x)).collect(),
        }
    }

    const fn view(&self) -> View<'_> {
        match self {
            Self::Full(values) => View::Full(values.as_slice()),
            Self::Compact(values) => View::Compact(values.as_slice()),
        }
    }
}

/// The entries of a vector, in either precision.
#[derive(Clone, Copy, Debug)]
pub(crate) enum View<'a> {
    Full(&'a [f64]),
    Compact(&'a [f32]),
}

impl<'a> View<'a> {
    const fn len(self) -> usize {
        match self {
            Self::Full(values) => values.len(),
            Self::Compact(values) => values.len(),
        }
    }

    /// The entries in a range of at most [`CHUNK`], which are converted in `room` if need be.
    fn piece<'b>(self, range: Range<usize>, room: &'b mut [f64; CHUNK]) -> &'b [f64]
    where
        'a: 'b,
    {
        match self {
            Self::Full(values) => &values[range],
            Self::Compact(values) => {
                let room = &mut room[..range.len()];
                for (wide, narrow) in room.iter_mut().zip(&values[range]) {
                    *wide = f64::from(*narrow);
                }
                room
            }
        }
    }
}

/// One block of each residual vector, stored by the oracle that computes it.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct BlockVectors {
    vectors: BTreeMap<u64, BlockVector>,
}

impl BlockVectors {
    /// Stores a vector.
    pub fn insert(&mut self, number: u64, vector: BlockVector) {
        self.vectors.insert(number, vector);
    }

    /// Drops all vectors except for those that `keep` selects.
    pub fn retain(&mut self, keep: impl Fn(u64) -> bool) {
        self.vectors.retain(|number, _| keep(*number));
    }

    /// Whether a vector is stored.
    #[must_use]
    pub fn contains(&self, number: u64) -> bool {
        self.vectors.contains_key(&number)
    }

    /// The numbers of the stored vectors.
    pub fn numbers(&self) -> impl Iterator<Item = u64> {
        self.vectors.keys().copied()
    }

    /// A stored vector.
    #[must_use]
    pub fn get(&self, number: u64) -> Option<&BlockVector> {
        self.vectors.get(&number)
    }

    fn view(&self, number: u64) -> View<'_> {
        self.vectors.get(&number).expect("a stored vector").view()
    }

    /// Overwrites `sums` with the products of this block of a vector, in the order that
    /// [`Products::from_sums`] expects.
    ///
    /// # Panics
    /// When a vector is not stored, or the number of sums is not [`Products::width`].
    pub fn measure(&self, vector: u64, reference: u64, others: &[u64], sums: &mut [f64]) {
        assert_eq!(
            sums.len(),
            Products::width(others.len()),
            "one sum per product"
        );
        let new = self.view(vector);
        // the square of the new vector itself, then products of differences
        sums[0] = square(new);
        let (cross, with) = sums[1..].split_at_mut(1);
        cross[0] = 0.0;
        with.fill(0.0);
        let rows: Vec<View<'_>> = [vector]
            .iter()
            .chain(others)
            .map(|t| self.view(*t))
            .collect();
        measure(
            new,
            self.view(reference),
            &rows,
            0..new.len(),
            &mut cross[0],
            with,
        );
    }

    /// Overwrites `sums` with the products of this block of all vectors of a request: with each
    /// other, column by column, then with the reference.
    ///
    /// # Panics
    /// When a vector is not stored, or the number of sums is not [`Measurement::width`].
    pub fn measure_all(&self, request: &Measurement, sums: &mut [f64]) {
        assert_eq!(sums.len(), request.width(), "one sum per product");
        sums.fill(0.0);
        let reference = self.view(request.reference);
        let rows: Vec<View<'_>> = request.vectors.iter().map(|t| self.view(*t)).collect();
        measure_all(reference, &rows, 0..reference.len(), sums);
    }
}

/// The sum of squares of a vector.
fn square(vector: View<'_>) -> f64 {
    let mut room = [0.0; CHUNK];
    let mut sum = 0.0;
    for piece in pieces(0..vector.len()) {
        let piece = vector.piece(piece, &mut room);
        sum += dot(piece, piece);
    }
    sum
}

/// Adds the products of `new` within a block: with the reference to `cross`, and with each row to
/// `with`.
pub(crate) fn measure(
    new: View<'_>,
    reference: View<'_>,
    rows: &[View<'_>],
    block: Range<usize>,
    cross: &mut f64,
    with: &mut [f64],
) {
    let mut own = [0.0; CHUNK];
    let (mut a, mut b) = ([0.0; CHUNK], [0.0; CHUNK]);
    for piece in pieces(block) {
        let reference = reference.piece(piece.clone(), &mut a);
        let own = &mut own[..piece.len()];
        subtract(new.piece(piece.clone(), &mut b), reference, own);
        *cross += dot(own, reference);
        for (sum, row) in with.iter_mut().zip(rows) {
            *sum += dot_difference(own, row.piece(piece.clone(), &mut b), reference);
        }
    }
}

/// Adds the products of all rows within a block: with each other, column by column, then with the
/// reference.
pub(crate) fn measure_all(
    reference: View<'_>,
    rows: &[View<'_>],
    block: Range<usize>,
    sums: &mut [f64],
) {
    let count = rows.len();
    let (products, cross) = sums.split_at_mut(count * count);
    let mut differences = Matrix::default();
    let (mut a, mut b) = ([0.0; CHUNK], [0.0; CHUNK]);
    for piece in pieces(block) {
        let reference = reference.piece(piece.clone(), &mut a);
        differences.reset(piece.len(), count);
        for (column, (row, cross)) in rows.iter().zip(&mut *cross).enumerate() {
            let own = differences.col_mut(column);
            subtract(row.piece(piece.clone(), &mut b), reference, own);
            *cross += dot(own, reference);
        }
        let part = product_transposed(&differences, &differences);
        axpy(1.0, part.as_slice(), products);
    }
}

/// Divides a block into pieces of at most [`CHUNK`] residuals.
fn pieces(block: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let end = block.end;
    block
        .step_by(CHUNK)
        .map(move |begin| begin..(begin + CHUNK).min(end))
}

fn subtract(a: &[f64], b: &[f64], out: &mut [f64]) {
    for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
        *out = a - b;
    }
}
