use pyo3::prelude::*;

/// The part of `bilevel` that is written in Rust.
#[pymodule]
fn _bilevel(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))
}
