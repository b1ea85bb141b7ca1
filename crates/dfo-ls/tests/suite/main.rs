//! What the solver promises, in one program: linking one for each file takes longer than running
//! them.

mod algorithms;
mod answers;
mod blocks;
#[cfg(feature = "serde")]
mod checkpoint;
mod continued;
mod extremes;
mod history;
mod hostile;
mod liars;
mod limits;
mod misuse;
mod more_wild;
mod properties;
mod ranges;
mod scales;
mod valley;
