//! Values of settings in a file, and the values that are possible.

use serde::Deserialize;
use serde::de::Error as _;
use toml::de::{DeValue, Error as TomlError, ValueDeserializer};
use toml::{Spanned, Value};

use super::table::ValueKind;
use super::{Noise, TaskKind, Values};

impl ValueKind {
    /// Reads a value of a file.
    pub(super) fn read(&self, value: Spanned<DeValue<'_>>) -> Result<Value, TomlError> {
        let value = ValueDeserializer::from(value);
        Ok(match self {
            Self::Path => String::deserialize(value)?.into(),
            Self::Word(words) => {
                let word = String::deserialize(value)?;
                if !words.contains(&&word[..]) {
                    let known = words.join("`, `");
                    let message = format!("unknown word `{word}`, expected one of `{known}`");
                    return Err(TomlError::custom(message));
                }
                word.into()
            }
            Self::Whole(_) => {
                let number = i64::try_from(u64::deserialize(value)?);
                let refuse = |_| TomlError::custom("must be below 2^63");
                number.map_err(refuse)?.into()
            }
            Self::Number(..) => f64::deserialize(value)?.into(),
            Self::Noise => match Noise::deserialize(value)? {
                Noise::Gaussian(sigma) => sigma.into(),
                other => other.to_string().into(),
            },
            Self::Names => Vec::<String>::deserialize(value)?.into(),
            Self::Values => Values::deserialize(value)?.into(),
        })
    }

    /// Checks a value for a task. The error describes the possible values.
    pub(super) fn check(&self, task: TaskKind, value: &Value) -> Result<(), String> {
        match (self, value) {
            (Self::Whole(range), Value::Integer(found)) => {
                let range = range(task);
                match found {
                    found if found < range.start() => Err(format!("at least {}", range.start())),
                    found if found > range.end() => Err(format!("at most {}", range.end())),
                    _ => Ok(()),
                }
            }
            (Self::Number(is_possible, needed), Value::Float(found)) if !is_possible(*found) => {
                Err((*needed).to_owned())
            }
            (Self::Noise, Value::Float(found)) if !(0.0..=1e100).contains(found) => {
                Err("zero or a positive number".to_owned())
            }
            _ => Ok(()),
        }
    }
}
