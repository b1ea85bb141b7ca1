//! Files of all kinds, intact and damaged, through the public functions.

mod arrays;
mod folders;
mod golden;
mod hdf5;
mod pictures;
mod scratch;
mod stacks;
mod typed;
mod volumes;
