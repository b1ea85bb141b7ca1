//! Integration tests of the solver. They are one program, because linking one program for each file
//! takes longer than running the tests.

mod bounds;
#[cfg(feature = "serde")]
mod checkpoint;
mod functions;
mod hostile;
mod l1;
mod limits;
mod misuse;
mod to_order;
