//! The reproduction of the paper: every figure, and a verdict on every claim, from runs on the
//! authors' own data (`cargo xtask reproduce`).
//!
//! Data flow in one direction:
//! - [`setting`] has the settings of each experiment and [`data`] its training data. [`selection`]
//!   parses `--only`, and [`plan`] orders the runs.
//! - [`run`] makes a run with our algorithm or with the authors' (`faithful`). Its result is a
//!   [`record`], which the [`cache`] stores.
//! - [`figures`] and [`claims`] use all records, the [`results`], and compare them with the
//!   [`archive`] of the authors' runs.
//! - [`page`] shows figures and claims to readers, [`summary`] to programs. [`command`] runs all of
//!   these.

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
