//! Images that are spread over machines.
//!
//! Every machine, or *rank*, runs the same solver and reconstructs its own images. After each
//! evaluation the ranks gather a few numbers per image and add them in the order of the images.
//! Each solver is therefore told the same, to the last bit, whatever the number of ranks.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{BoxError, ProblemError};

/// A way to exchange numbers between ranks, such as MPI's `Allgatherv`.
///
/// ```
/// use bilevel::{BoxError, Exchange};
///
/// /// A single rank.
/// struct Alone;
///
/// impl Exchange for Alone {
///     fn gather(&self, own: &[f64]) -> Result<Vec<Vec<f64>>, BoxError> {
///         Ok(vec![own.to_vec()])
///     }
/// }
/// ```
pub trait Exchange: Send + Sync {
    /// Returns the numbers of all ranks, in the order of the ranks. Every rank calls this function
    /// the same number of times. The lengths may differ.
    ///
    /// # Errors
    /// When a rank cannot be reached. The run ends.
    fn gather(&self, own: &[f64]) -> Result<Vec<Vec<f64>>, BoxError>;
}

/// Returns the indices of the images that belong to a rank: consecutive ones, as many as any other
/// rank has, or one less.
///
/// ```
/// let shares = (0..3).map(|rank| bilevel::share_of(10, rank, 3));
/// assert!(shares.eq([0..3, 3..6, 6..10]));
/// ```
#[must_use]
pub const fn share_of(num_images: usize, rank: usize, num_ranks: usize) -> Range<usize> {
    num_images * rank / num_ranks..num_images * (rank + 1) / num_ranks
}

/// The place of a rank among all ranks.
#[derive(Clone)]
pub struct Ranks {
    rank: usize,
    exchange: Option<Arc<dyn Exchange>>,
    /// The bytes that all ranks have contributed to exchanges.
    bytes: Arc<AtomicU64>,
}

impl std::fmt::Debug for Ranks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ranks")
            .field("rank", &self.rank)
            .field("is_alone", &self.exchange.is_none())
            .finish_non_exhaustive()
    }
}

impl Default for Ranks {
    /// Returns a single rank.
    fn default() -> Self {
        Self {
            rank: 0,
            exchange: None,
            bytes: Arc::default(),
        }
    }
}

impl Ranks {
    /// Returns the rank number `rank`, counted from zero, of those that `exchange` connects.
    #[must_use]
    pub fn new(rank: usize, exchange: Arc<dyn Exchange>) -> Self {
        Self {
            rank,
            exchange: Some(exchange),
            bytes: Arc::default(),
        }
    }

    /// Returns the number of this rank.
    #[must_use]
    pub const fn rank(&self) -> usize {
        self.rank
    }

    /// Returns the number of bytes that all ranks together have contributed to exchanges so far.
    /// Each rank receives all of them.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Returns the numbers of all ranks, in the order of the ranks.
    ///
    /// # Errors
    /// When a rank cannot be reached.
    pub fn gather(&self, own: &[f64]) -> Result<Vec<Vec<f64>>, String> {
        let Some(exchange) = &self.exchange else {
            return Ok(vec![own.to_vec()]);
        };
        let all = exchange.gather(own);
        let all = all.map_err(|error| format!("the ranks have lost each other: {error}"))?;
        if all
            .get(self.rank)
            .is_none_or(|back| back.len() != own.len())
        {
            let rank = self.rank;
            return Err(format!(
                "the exchange did not return the numbers of rank {rank}"
            ));
        }
        let count: usize = all.iter().map(Vec::len).sum();
        self.bytes.fetch_add(8 * count as u64, Ordering::Relaxed);
        Ok(all)
    }

    /// Returns the texts of all ranks, in the order of the ranks.
    ///
    /// # Errors
    /// When a rank cannot be reached.
    pub fn gather_text(&self, own: &str) -> Result<Vec<String>, String> {
        let own: Vec<f64> = own.bytes().map(f64::from).collect();
        let text = |codes: Vec<f64>| {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "the codes were bytes"
            )]
            let bytes: Vec<u8> = codes.into_iter().map(|code| code as u8).collect();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        Ok(self.gather(&own)?.into_iter().map(text).collect())
    }

    /// Returns the words of 64 bits of all ranks, such as checksums, one after the other in the
    /// order of the ranks.
    ///
    /// # Errors
    /// When a rank cannot be reached.
    pub fn gather_words(&self, own: &[u64]) -> Result<Vec<u64>, String> {
        // halves of 32 bits, which are exact as numbers
        let halves = own.iter().flat_map(|word| [word >> 32, word & 0xffff_ffff]);
        let halves: Vec<f64> = halves.map(|half| half as f64).collect();
        let all = self.gather(&halves)?.concat();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the numbers were words of 32 bits"
        )]
        let word = |halves: &[f64; 2]| ((halves[0] as u64) << 32) | halves[1] as u64;
        Ok(all.as_chunks::<2>().0.iter().map(word).collect())
    }

    /// Checks that a text is the same on all ranks. `what` says in the error what the text
    /// describes.
    ///
    /// # Errors
    /// When it is not, or a rank cannot be reached.
    pub fn check_same(&self, what: &'static str, text: &str) -> Result<(), ProblemError> {
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        let all = self.gather_words(&[hasher.finish()]);
        let all = all.map_err(ProblemError::Exchange)?;
        match all.iter().position(|other| *other != all[0]) {
            Some(rank) => Err(ProblemError::RanksDiffer { what, rank }),
            None => Ok(()),
        }
    }

    /// Returns the first failure of all ranks, if there is one. Every rank then fails with the same
    /// reason.
    ///
    /// # Errors
    /// When a rank cannot be reached.
    pub fn first_failure(&self, own: Option<&str>) -> Result<Option<(usize, String)>, String> {
        let flags = self.gather(&[if own.is_some() { 1.0 } else { 0.0 }])?;
        if flags.iter().all(|flag| flag.first() == Some(&0.0)) {
            return Ok(None);
        }
        let texts = self.gather_text(own.unwrap_or_default())?;
        let failed = flags.iter().position(|flag| flag.first() != Some(&0.0));
        Ok(failed.and_then(|rank| Some((rank, texts.get(rank)?.clone()))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::on_ranks;

    #[test]
    fn one_rank_needs_no_exchange() {
        let alone = Ranks::default();
        assert_eq!(alone.gather(&[1.0, 2.0]), Ok(vec![vec![1.0, 2.0]]));
        assert_eq!(alone.first_failure(None), Ok(None));
        let words = [u64::MAX, 0, 1 << 53 | 1];
        assert_eq!(alone.gather_words(&words), Ok(words.to_vec()));
        let failed = alone.first_failure(Some("no room")).expect("alone");
        assert_eq!(failed, Some((0, "no room".to_owned())));
        assert!(alone.check_same("settings", "a").is_ok());
        assert_eq!(alone.bytes(), 0);
    }

    #[test]
    fn failures_and_differences_are_the_same_everywhere() {
        let found = on_ranks(3, |ranks| {
            let own = (ranks.rank() > 0).then(|| format!("rank {} é", ranks.rank()));
            let failure = ranks.first_failure(own.as_deref()).expect("connected");
            let text = if ranks.rank() == 2 { "b" } else { "a" };
            let differs = ranks.check_same("settings", text).expect_err("different");
            (failure, differs.to_string(), ranks.bytes())
        });
        for (failure, differs, bytes) in found {
            assert_eq!(failure, Some((1, "rank 1 é".to_owned())));
            assert!(
                differs.contains("settings") && differs.contains('2'),
                "{differs}"
            );
            // three flags, two texts of nine bytes, three hashes of two numbers
            assert_eq!(bytes, 8 * (3 + 2 * 9 + 6));
        }
    }
}
