//! Files of all kinds, healthy and not, through the public functions.

mod arrays;
mod folders;
mod pictures;
mod scratch;
