//! The part of `dfo_ls` that is written in Rust: an engine whose tokens are numbers of Python
//! objects.

mod code;
mod core;
mod options;
mod rows;

use pyo3::prelude::*;

/// The part of `dfo_ls` that is written in Rust.
#[pymodule]
fn _dfo_ls(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_function(wrap_pyfunction!(options::preset, module)?)?;
    module.add_class::<core::Core>()
}
