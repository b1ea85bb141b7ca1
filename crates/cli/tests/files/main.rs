//! Files of all kinds and directories of runs, intact and damaged, through the public functions.

mod arrays;
mod folders;
mod golden;
mod hdf5;
mod pictures;
mod scratch;
mod stacks;
mod store;
mod typed;
mod volumes;
