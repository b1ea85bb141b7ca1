//! Every figure of the paper, from runs on the authors' own data, with a verdict for every claim:
//! `cargo xtask reproduce`.
//!
//! Data flow one way:
//! - [`setting`] says what is run on which [`data`]; [`plan`] in which order; [`selection`] what
//!   was asked for.
//! - [`run`] makes a run, by our algorithm or by the authors' (`faithful`), into a [`record`],
//!   which the [`cache`] keeps.
//! - [`figures`] and [`claims`] are made of all records, the [`results`], and compared with the
//!   [`archive`] of the authors' runs.
//! - [`page`] and [`summary`] show figures and claims to people and programs. [`command`] does all
//!   of it.

pub mod archive;
pub mod cache;
pub mod claims;
pub mod command;
pub mod data;
mod exact;
mod faithful;
pub mod figures;
mod iterates;
pub mod page;
pub mod plan;
mod problem;
mod progress;
pub mod record;
pub mod results;
pub mod run;
pub mod selection;
pub mod setting;
pub mod summary;
