//! The quadratic model of the objective: a limited-memory BFGS matrix and the step to its minimiser
//! in a box.

mod cauchy;
mod compact;
mod memory;
mod step;
mod subspace;
#[cfg(test)]
mod tests;

pub(crate) use memory::Memory;
pub(crate) use step::{Local, Step};
