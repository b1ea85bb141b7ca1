//! Experiments that measure the libraries, with their tables and figures. The program `experiments`
//! is a thin layer over this library.

pub mod bench;
pub mod file;
pub mod kodak;
pub mod learning;
pub mod masks;
pub mod more_wild;
pub mod reproduce;
pub mod train_denoiser;
pub mod truthless;
