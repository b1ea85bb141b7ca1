//! The program `bilevel`: learns parameters of image reconstruction from examples, and applies
//! them.
//!
//! - [`args`]: the command line; [`config`]: settings, from flags and TOML files; [`error`]: why
//!   the program fails.
//! - [`task`]: from settings to data and a model; [`mod@apply`]: learned parameters on other
//!   pictures.
//! - [`commands`]: what each command does; [`run_page`], [`report`] and [`findings`]: what was learned,
//!   as a page and in words.
//! - [`store`] and [`session`]: the directory of a run, and learning that is saved in it after
//!   every evaluation.
//! - [`progress`] and [`summary`]: what users see while it runs, and when it has ended.
//! - [`picture`]: PNG, JPEG, TIFF and PNM files as planes of numbers, folders of them, and pairs of
//!   truth and noisy.
//! - [`mod@array`]: NumPy's `.npy` files, real or complex.
//! - [`mod@file`]: what goes wrong with a file, and writing one without leaving half of it behind.
//!
//! ```
//! use bilevel_cli::picture::{self, Colour, Depth};
//!
//! let path = std::env::temp_dir().join(format!("bilevel-{}.png", std::process::id()));
//! picture::write(&path, 2, 1, &[&[0.0, 1.0]], Depth::Eight)?;
//! let picture = picture::read(&path, Colour::Luminance)?;
//! assert_eq!(picture.channels, [[0.0, 1.0]]);
//! # std::fs::remove_file(&path)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod apply;
pub mod args;
pub mod array;
pub mod blur_check;
pub mod commands;
pub mod config;
pub mod error;
pub mod file;
pub mod findings;
pub mod picture;
pub mod progress;
pub mod report;
pub mod run_page;
pub mod session;
pub mod store;
pub mod summary;
pub mod task;
