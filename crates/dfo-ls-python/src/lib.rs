use pyo3::prelude::*;

/// The part of `dfo_ls` that is written in Rust.
#[pymodule]
fn _dfo_ls(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))
}
