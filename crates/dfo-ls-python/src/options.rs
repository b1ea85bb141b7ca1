//! Options, which Python passes as JSON in the form of their serde serialisation.

use dfo_ls::Options;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Deserialize as _;
use serde_json::Value;

/// Returns the options of a preset as JSON.
#[pyfunction]
pub(crate) fn preset(name: &str) -> PyResult<String> {
    let options = match name {
        "default" => Options::default(),
        "noisy" => Options::noisy(),
        "paper" => Options::paper(),
        "experiments" => Options::experiments(),
        _ => {
            return Err(PyValueError::new_err(format!(
                "preset is '{name}', but must be 'default', 'noisy', 'paper' or 'experiments'"
            )));
        }
    };
    to_json(&options)
}

/// Reads options from JSON. A key that is not an option is an error.
pub(crate) fn parse(json: &str) -> PyResult<Options> {
    let fail = |error: serde_json::Error| PyValueError::new_err(format!("options: {error}"));
    let given: Value = serde_json::from_str(json).map_err(fail)?;
    let options = Options::deserialize(&given).map_err(|error| match culprit(&given) {
        Some((path, error)) => PyValueError::new_err(format!("options: '{path}': {error}")),
        None => fail(error),
    })?;
    let taken = serde_json::to_value(&options).map_err(fail)?;
    match unknown(&given, &taken) {
        Some(path) => Err(PyValueError::new_err(format!(
            "options: there is no option '{path}'; default_options() returns all of them"
        ))),
        None => Ok(options),
    }
}

pub(crate) fn to_json(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Finds the value that cannot be read, and returns its path and the error. It replaces the default
/// options one by one with the given values.
fn culprit(given: &Value) -> Option<(String, serde_json::Error)> {
    let good = serde_json::to_value(Options::default()).ok()?;
    let Value::Object(given) = given else {
        return None;
    };
    given.iter().find_map(|(key, value)| {
        let why = refusal(&good, |options| options[key] = value.clone())?;
        if let (Value::Object(group), true) = (value, good[key].is_object()) {
            let inner = group.iter().find_map(|(name, entry)| {
                let why = refusal(&good, |options| options[key][name] = entry.clone())?;
                Some((format!("{key}.{name}"), why))
            });
            if inner.is_some() {
                return inner;
            }
        }
        Some((key.clone(), why))
    })
}

/// Returns the error of reading the options after `change`.
fn refusal(good: &Value, change: impl FnOnce(&mut Value)) -> Option<serde_json::Error> {
    let mut options = good.clone();
    change(&mut options);
    Options::deserialize(&options).err()
}

/// Returns the path of a key in `given` that is missing in `taken`.
fn unknown(given: &Value, taken: &Value) -> Option<String> {
    let Value::Object(given) = given else {
        return None;
    };
    given.iter().find_map(|(key, value)| match taken.get(key) {
        None => Some(key.clone()),
        Some(inner) => unknown(value, inner).map(|path| format!("{key}.{path}")),
    })
}
