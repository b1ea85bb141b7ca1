//! The part of the Python package `bilevel` that is written in Rust.
//!
//! The Python part checks all arguments. Settings pass from Python to Rust as JSON, and images
//! as arrays.

mod blur;
mod camera;
mod data;
mod denoise;
mod directory;
mod exchange;
mod family;
mod foreign;
mod function_run;
mod functions;
mod mask;
mod program;
mod run;
mod solve;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The part of `bilevel` that is written in Rust.
#[pymodule]
fn _bilevel(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<run::Run>()?;
    module.add_class::<foreign::ForeignRun>()?;
    module.add_function(wrap_pyfunction!(function_run::start_functions, module)?)?;
    module.add_function(wrap_pyfunction!(function_run::open_functions, module)?)?;
    module.add_function(wrap_pyfunction!(functions::reconstruct_with, module)?)?;
    module.add_function(wrap_pyfunction!(function_run::describe_functions, module)?)?;
    module.add_function(wrap_pyfunction!(run::completed, module)?)?;
    module.add_function(wrap_pyfunction!(blur::kernel_warnings, module)?)?;
    module.add_function(wrap_pyfunction!(blur::named_kernel, module)?)?;
    module.add_function(wrap_pyfunction!(blur::periodicity_warning, module)?)?;
    module.add_function(wrap_pyfunction!(directory::describe_run, module)?)?;
    module.add_function(wrap_pyfunction!(program::main, module)?)?;
    module.add_function(wrap_pyfunction!(solve::reconstruct_image, module)?)?;
    module.add_function(wrap_pyfunction!(denoise::denoise_picture, module)?)?;
    module.add_function(wrap_pyfunction!(denoise::estimate_noise, module)?)?;
    module.add_function(wrap_pyfunction!(camera::camera_map, module)?)?;
    module.add_function(wrap_pyfunction!(camera::camera_noise, module)?)?;
    module.add_function(wrap_pyfunction!(camera::estimate_camera, module)?)?;
    module.add_function(wrap_pyfunction!(camera::add_photons, module)?)?;
    module.add_function(wrap_pyfunction!(mask::learn_mask, module)?)?;
    module.add_function(wrap_pyfunction!(mask::reconstruct_masked, module)?)?;
    module.add_function(wrap_pyfunction!(mask::describe_mask, module)?)?;
    module.add_function(wrap_pyfunction!(data::box_functions, module)?)?;
    module.add_function(wrap_pyfunction!(data::heads, module)?)?;
    module.add_function(wrap_pyfunction!(data::dead_leaves, module)?)?;
    module.add_function(wrap_pyfunction!(data::shepp_logan, module)?)?;
    module.add_function(wrap_pyfunction!(data::add_noise, module)?)?;
    module.add_function(wrap_pyfunction!(data::patches, module)?)?;
    module.add_function(wrap_pyfunction!(data::mse, module)?)?;
    module.add_function(wrap_pyfunction!(data::psnr, module)?)?;
    module.add_function(wrap_pyfunction!(data::ssim, module)?)
}

/// The exception for an invalid argument.
fn invalid(error: impl ToString) -> PyErr {
    PyValueError::new_err(short(&error.to_string()))
}

/// Writes numbers of more than 24 digits in a message with an exponent.
fn short(text: &str) -> String {
    let word = |word: &str| {
        let (number, rest) = word.split_at(word.trim_end_matches([',', ';', ':']).len());
        match number.parse::<f64>() {
            Ok(value) if number.len() > 24 => format!("{value:e}{rest}"),
            _ => word.to_owned(),
        }
    };
    text.split(' ').map(word).collect::<Vec<_>>().join(" ")
}
