//! The Rust module of the Python package `dfo_ls`: an engine whose tokens are numbers that
//! stand for Python objects.

mod code;
mod core;
mod options;
mod rows;

use pyo3::prelude::*;

/// The Rust module of the Python package `dfo_ls`.
#[pymodule]
fn _dfo_ls(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_function(wrap_pyfunction!(options::preset, module)?)?;
    module.add_class::<core::Core>()
}
