//! The large parts of a state, which are saved as blobs: residual vectors and reconstructions.
//!
//! Each rank writes the parts of its own images. The number of a blob tells which vector or which
//! reconstructions it holds, and from which image on. A run can therefore be resumed on any number
//! of ranks: each of them reads the blobs that hold its images.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use bilevel::{Family, LearningEngine, LearningProblem, LowerLevel as _, StoredAdjoint};
use dfo_ls::BlockVector;
use lowlevel::Checkpoint;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::error::SessionError;
use crate::store::Store;

/// The reason that encoding cannot fail.
pub(super) const PLAIN: &str = "numbers, texts and lists of known length can be written";

/// The number of bits for the first image of a blob.
const IMAGE_BITS: u32 = 24;

/// The content of a blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A residual vector: that of all images if there is one residual per image, or those of some
    /// images, and the terms of penalties.
    Vector,
    /// Reconstructions of some images.
    States,
    /// Adjoints of some images.
    Adjoints,
}

/// The number of kinds.
const KINDS: u64 = 3;

/// Returns the number of the blob with this content from image `first` on.
const fn blob_id(kind: Kind, number: u64, first: usize) -> u64 {
    let content = KINDS * number + kind as u64;
    (content << IMAGE_BITS) | first as u64
}

/// Returns the content of a blob without its first image.
const fn content(id: u64) -> u64 {
    id >> IMAGE_BITS
}

/// The first image of a blob.
const fn first_image(id: u64) -> usize {
    (id & ((1 << IMAGE_BITS) - 1)) as usize
}

/// The part of a residual vector of some images: one block for each, and the terms of penalties.
type VectorPart = (Vec<BlockVector>, BlockVector);

/// The vectors and reconstructions that a state needs.
#[derive(Debug)]
pub(super) struct Parts {
    /// The content of blobs, see [`content`].
    needed: BTreeSet<u64>,
}

impl Parts {
    /// Returns the parts that a state needs.
    pub(super) fn of(problem: &LearningProblem<Family>, engine: &LearningEngine) -> Self {
        let stored = |number: &u64| {
            let mut blocks = problem.vectors().iter();
            blocks.any(|block| block.contains(*number))
        };
        let vectors = engine.vectors().into_iter().map(|(number, _)| number);
        let elsewhere = engine.vectors_elsewhere().into_iter().filter(stored);
        let vectors = vectors.chain(elsewhere);
        let vectors = vectors.map(|number| content(blob_id(Kind::Vector, number, 0)));
        let states = engine.tokens().into_iter().flat_map(|token| {
            let adjoints = token.has_adjoints().then_some(Kind::Adjoints);
            let kinds = [Kind::States].into_iter().chain(adjoints);
            kinds.map(|kind| content(blob_id(kind, token.number(), 0)))
        });
        Self {
            needed: vectors.chain(states).collect(),
        }
    }

    /// Whether a blob is needed.
    pub(super) fn contain(&self, id: u64) -> bool {
        self.needed.contains(&content(id))
    }

    /// Encodes the parts of this rank that are not saved yet.
    pub(super) fn encode_new(
        &self,
        problem: &LearningProblem<Family>,
        engine: &LearningEngine,
        saved: &BTreeSet<u64>,
    ) -> Vec<(u64, Vec<u8>)> {
        let saved: BTreeSet<u64> = saved.iter().map(|id| content(*id)).collect();
        let first = problem.first_image();
        let mut new = BTreeMap::new();
        let mut add = |kind: Kind, number: u64, encode: &dyn Fn() -> Vec<u8>| {
            let id = blob_id(kind, number, first);
            if self.contain(id) && !saved.contains(&content(id)) {
                new.entry(id).or_insert_with(encode);
            }
        };
        if problem.ranks().rank() == 0 {
            for (number, values) in engine.vectors() {
                add(Kind::Vector, number, &|| encode(values, 8 * values.len()));
            }
        }
        if !problem.pairs().is_empty() {
            for number in engine.vectors_elsewhere() {
                if let Some(part) = vector_part(problem, number) {
                    let room = part.0.iter().map(|block| 8 * block.len()).sum();
                    add(Kind::Vector, number, &|| encode(&part, room));
                }
            }
            for token in engine.tokens() {
                let checkpoints = token.checkpoints();
                // two vectors of 8 bytes per entry or one of 4
                let room = checkpoints.iter().map(|checkpoint| match checkpoint {
                    Checkpoint::Full(_) => 16 * checkpoint.dim(),
                    Checkpoint::Compact(_) => 4 * checkpoint.dim(),
                });
                let room = room.sum();
                add(Kind::States, token.number(), &|| encode(checkpoints, room));
                let adjoints = token.adjoints();
                let room = adjoints.iter().map(|adjoint| 8 * adjoint.dim()).sum();
                add(Kind::Adjoints, token.number(), &|| encode(adjoints, room));
            }
        }
        new.into_iter().collect()
    }
}

/// The part of a vector that belongs to the images of this rank, if it is stored.
fn vector_part(problem: &LearningProblem<Family>, number: u64) -> Option<VectorPart> {
    let (terms, images) = problem.vectors().split_last()?;
    let images = images.iter().map(|block| block.get(number).cloned());
    Some((images.collect::<Option<_>>()?, terms.get(number)?.clone()))
}

/// Encodes plain data, with memory reserved for about `room` bytes.
fn encode<T: Serialize + ?Sized>(value: &T, room: usize) -> Vec<u8> {
    postcard::to_extend(value, Vec::with_capacity(room + room / 64 + 256)).expect(PLAIN)
}

/// Reads the parts of a saved run that belong to the images of this rank.
pub(super) struct Reader<'a> {
    pub(super) store: &'a Store,
    /// The numbers of the saved blobs, in increasing order.
    pub(super) blobs: &'a [u64],
    pub(super) images: Range<usize>,
    /// The lengths of each image of this rank and of its unknown.
    pub(super) lengths: Vec<[usize; 2]>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(
        store: &'a Store,
        blobs: &'a [u64],
        problem: &LearningProblem<Family>,
    ) -> Self {
        let first = problem.first_image();
        let lengths: Vec<[usize; 2]> = problem
            .pairs()
            .iter()
            .map(|pair| {
                let window = problem.model().window(pair.grid);
                [window.inner().len(), window.outer().len()]
            })
            .collect();
        Self {
            store,
            blobs,
            images: first..first + lengths.len(),
            lengths,
        }
    }

    fn damaged(&self, problem: String) -> SessionError {
        SessionError::Damaged {
            dir: self.store.dir().to_path_buf(),
            problem,
        }
    }

    /// Reads and decodes the blobs with this content that hold images of this rank, or any one of
    /// them if this rank has no images. Returns the first image of each blob and its content.
    fn read<T: DeserializeOwned>(
        &self,
        kind: Kind,
        number: u64,
        all: bool,
    ) -> Result<Vec<(usize, T)>, SessionError> {
        let wanted = content(blob_id(kind, number, 0));
        let ids = self.blobs.iter().copied();
        let ids: Vec<u64> = ids.filter(|id| content(*id) == wanted).collect();
        let mut parts = Vec::new();
        for (index, id) in ids.iter().enumerate() {
            let first = first_image(*id);
            let end = ids
                .get(index + 1)
                .map_or(usize::MAX, |next| first_image(*next));
            let holds_own = first < self.images.end && end > self.images.start;
            if !(holds_own || all || self.images.is_empty() && index == 0) {
                continue;
            }
            let bytes = self.store.blob(*id)?;
            let part = postcard::from_bytes(&bytes);
            let part = part.map_err(|_| self.damaged(format!("blob {id} cannot be decoded")))?;
            parts.push((first, part));
        }
        Ok(parts)
    }

    /// Chooses the images of this rank, and checks their lengths.
    fn own<T>(
        &self,
        what: &str,
        number: u64,
        parts: Vec<(usize, Vec<T>)>,
        expected: impl Fn(&[usize; 2]) -> usize,
        len: impl Fn(&T) -> usize,
    ) -> Result<Vec<T>, SessionError> {
        let images = parts
            .into_iter()
            .flat_map(|(first, part)| (first..).zip(part));
        let own = images.filter(|(image, _)| self.images.contains(image));
        let own: Vec<T> = own.map(|(_, value)| value).collect();
        if own.iter().map(len).eq(self.lengths.iter().map(expected)) {
            Ok(own)
        } else {
            Err(self.damaged(format!(
                "the {what} of evaluation {number} do not fit the images"
            )))
        }
    }

    /// Reads the reconstructions of an evaluation.
    pub(super) fn checkpoints(&self, number: u64) -> Result<Arc<Vec<Checkpoint>>, SessionError> {
        let parts = self.read(Kind::States, number, false)?;
        let own = self.own(
            "reconstructions",
            number,
            parts,
            |[_, x]| *x,
            Checkpoint::dim,
        )?;
        Ok(Arc::new(own))
    }

    /// Reads the adjoints of an evaluation.
    pub(super) fn adjoints(&self, number: u64) -> Result<Arc<Vec<StoredAdjoint>>, SessionError> {
        let parts = self.read(Kind::Adjoints, number, false)?;
        let own = self.own("adjoints", number, parts, |[_, x]| *x, StoredAdjoint::dim)?;
        Ok(Arc::new(own))
    }

    /// Reads a residual vector of all images.
    pub(super) fn whole_vector(&self, number: u64) -> Result<Option<Vec<f64>>, SessionError> {
        let parts = self.read(Kind::Vector, number, true)?;
        Ok(parts.into_iter().next().map(|(_, values)| values))
    }

    /// Reads the part of a residual vector that belongs to the images of this rank. `None` if the
    /// vector was not saved, because its evaluation had not succeeded.
    pub(super) fn vector(&self, number: u64) -> Result<Option<VectorPart>, SessionError> {
        let parts: Vec<(usize, VectorPart)> = self.read(Kind::Vector, number, false)?;
        let Some((_, (_, terms))) = parts.first() else {
            return Ok(None);
        };
        let terms = terms.clone();
        let parts = parts
            .into_iter()
            .map(|(first, (images, _))| (first, images));
        let parts = parts.collect();
        let own = self.own(
            "residuals",
            number,
            parts,
            |[image, _]| *image,
            BlockVector::len,
        )?;
        Ok(Some((own, terms)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_blobs_are_unique_and_ordered() {
        let mut ids = BTreeSet::new();
        for number in [0, 1, 77, 1 << 30] {
            for kind in [Kind::Vector, Kind::States, Kind::Adjoints] {
                for first in [0, 1, 1000, (1 << IMAGE_BITS) - 1] {
                    let id = blob_id(kind, number, first);
                    assert!(ids.insert(id));
                    assert_eq!(content(id), content(blob_id(kind, number, 0)));
                    assert_eq!(first_image(id), first);
                }
            }
        }
    }
}
