//! Runs that measure the library, and the tables and figures made of them. The program
//! `experiments` is a thin layer over this.

pub mod bench;
pub mod file;
pub mod kodak;
pub mod learning;
pub mod more_wild;
pub mod reproduce;
