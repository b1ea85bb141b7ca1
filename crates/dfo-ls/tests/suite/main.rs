//! Integration tests of the solver. They are one program, because linking one program for each file
//! takes longer than running the tests.

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
mod products;
mod properties;
mod ranges;
mod scales;
mod valley;
mod width;
