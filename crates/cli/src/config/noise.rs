//! The noise of pictures as a setting: Gaussian, or that of a camera that counts photons.

use std::fmt;
use std::str::FromStr;

use imaging::noise::{Anscombe, NoiseError};
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The word for a camera that counts photons.
const POISSON: &str = "poisson";

/// The noise of pictures.
#[derive(Clone, Debug, PartialEq)]
pub enum Noise {
    /// Gaussian noise of this standard deviation.
    Gaussian(f64),
    /// The noise of this camera.
    Camera(Anscombe),
    /// The noise of a camera whose gain and read noise are estimated from frames of a scene.
    EstimatedCamera,
}

impl Noise {
    /// Returns the standard deviation of Gaussian noise.
    #[must_use]
    pub const fn sigma(&self) -> Option<f64> {
        match self {
            Self::Gaussian(sigma) => Some(*sigma),
            _ => None,
        }
    }

    /// Returns the camera.
    #[must_use]
    pub const fn camera(&self) -> Option<&Anscombe> {
        match self {
            Self::Camera(camera) => Some(camera),
            _ => None,
        }
    }
}

impl From<f64> for Noise {
    fn from(sigma: f64) -> Self {
        Self::Gaussian(sigma)
    }
}

impl FromStr for Noise {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == POISSON {
            return Ok(Self::EstimatedCamera);
        }
        if let Ok(sigma) = text.parse() {
            return Ok(Self::Gaussian(sigma));
        }
        text.parse().map(Self::Camera).map_err(|error| match error {
            NoiseError::Text => "it must be a number, such as 0.1, or poisson:GAIN,READ, such as \
                 poisson:0.03,0.01"
                .to_owned(),
            other => other.to_string(),
        })
    }
}

impl fmt::Display for Noise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gaussian(sigma) => write!(f, "{sigma}"),
            Self::Camera(camera) => write!(f, "{camera}"),
            Self::EstimatedCamera => f.write_str(POISSON),
        }
    }
}

impl Serialize for Noise {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Gaussian(sigma) => serializer.serialize_f64(*sigma),
            other => serializer.collect_str(other),
        }
    }
}

impl<'de> Deserialize<'de> for Noise {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NumberOrText;
        impl Visitor<'_> for NumberOrText {
            type Value = Noise;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("f64")
            }

            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Noise, E> {
                Ok(Noise::Gaussian(number))
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Noise, E> {
                Ok(Noise::Gaussian(number as f64))
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Noise, E> {
                Ok(Noise::Gaussian(number as f64))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Noise, E> {
                match text.parse() {
                    // a number in quotes is not meant to be one
                    Ok(made @ (Noise::Camera(_) | Noise::EstimatedCamera)) => Ok(made),
                    Err(error) if text.starts_with(POISSON) => Err(E::custom(error)),
                    Ok(Noise::Gaussian(_)) | Err(_) => Err(E::custom(format!(
                        "the value is the text {text:?}, but must be a number, such as 0.1, or \
                         poisson:GAIN,READ, such as poisson:0.03,0.01"
                    ))),
                }
            }
        }
        deserializer.deserialize_any(NumberOrText)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_back() {
        for text in [
            "0.1",
            "poisson",
            "poisson:0.03,0.01",
            "poisson:0.03,0.01,0.002",
        ] {
            let noise: Noise = text.parse().expect("noise");
            assert_eq!(noise.to_string(), text);
        }
        for (text, part) in [
            ("much", "must be a number"),
            ("poisson:", "poisson:GAIN,READ"),
            ("poisson:0,0", "gain"),
            ("poisson:0.1,-1", "read noise"),
            ("gaussian:1", "poisson:0.03"),
        ] {
            let error = text.parse::<Noise>().unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
