//! What is saved of a [`State`]: its vectors as bytes, eight to a number and the lowest first, so that megabytes are copied and
//! not formatted.

use std::fmt;

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::ball::Guard;
use crate::method::{Method, Momentum};
use crate::state::{Layout, Owner, State, Workspace};

/// A state in a file.
#[derive(Debug, Deserialize)]
pub(crate) struct Saved {
    point: Numbers,
    companion: Numbers,
    gradient: Numbers,
    momentum: Momentum,
    guard: Guard,
    method: Method,
    owner: Option<Owner>,
    layout: Layout,
    dual: Numbers,
}

/// The same on its way there, which copies no vector as a whole.
#[derive(Serialize)]
#[serde(rename = "Saved")]
struct Saving<'a> {
    point: Bytes<'a>,
    companion: Bytes<'a>,
    gradient: Bytes<'a>,
    momentum: Momentum,
    guard: Guard,
    method: Method,
    owner: Option<Owner>,
    layout: Layout,
    dual: Bytes<'a>,
}

impl Serialize for State {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Saving {
            point: Bytes(&self.point),
            companion: Bytes(&self.companion),
            gradient: Bytes(&self.gradient),
            momentum: self.momentum,
            guard: self.guard,
            method: self.method,
            owner: self.owner,
            layout: self.layout,
            dual: Bytes(&self.dual),
        }
        .serialize(serializer)
    }
}

impl TryFrom<Saved> for State {
    type Error = &'static str;

    fn try_from(saved: Saved) -> Result<Self, &'static str> {
        let len = saved.point.0.len();
        if saved.companion.0.len() != len
            || !(saved.gradient.0.is_empty() || saved.gradient.0.len() == len)
        {
            return Err("the vectors of a state have different lengths");
        }
        if let (
            true,
            Layout::Iterate {
                gradient_norm: Some(_),
            }
            | Layout::Extrapolated {
                gradient_norm: Some(_),
            },
        ) = (saved.gradient.0.len() < len, saved.layout)
        {
            return Err("a state knows the norm of a gradient that it does not have");
        }
        if !saved.dual.0.iter().all(|p| p.is_finite()) {
            return Err("a dual variable is not a finite number");
        }
        Ok(Self {
            point: saved.point.0,
            companion: saved.companion.0,
            gradient: saved.gradient.0,
            momentum: saved.momentum,
            guard: saved.guard,
            method: saved.method,
            owner: saved.owner,
            layout: saved.layout,
            dual: saved.dual.0,
            workspace: Workspace::default(),
        })
    }
}

/// Numbers to be written as bytes.
struct Bytes<'a>(&'a [f64]);

impl Serialize for Bytes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut bytes = vec![0; 8 * self.0.len()];
        let (words, _) = bytes.as_chunks_mut::<8>();
        for (word, x) in words.iter_mut().zip(self.0) {
            *word = x.to_le_bytes();
        }
        serializer.serialize_bytes(&bytes)
    }
}

/// Numbers that were bytes.
#[derive(Debug)]
struct Numbers(Vec<f64>);

impl<'de> Deserialize<'de> for Numbers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_bytes(BytesVisitor)
    }
}

struct BytesVisitor;

impl<'de> Visitor<'de> for BytesVisitor {
    type Value = Numbers;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("bytes, eight to a number")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Numbers, E> {
        let (numbers, rest) = bytes.as_chunks::<8>();
        if !rest.is_empty() {
            return Err(E::invalid_length(bytes.len(), &self));
        }
        Ok(Numbers(
            numbers.iter().map(|x| f64::from_le_bytes(*x)).collect(),
        ))
    }

    /// Formats without bytes write a sequence.
    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Numbers, A::Error> {
        let mut bytes = Vec::new();
        while let Some(byte) = entries.next_element::<u8>()? {
            bytes.push(byte);
        }
        self.visit_bytes(&bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::NesterovQuadratic;
    use crate::{ErrorBound, Solver, Stop};

    /// Loaded, a solve goes on as if it had not stopped.
    #[test]
    fn a_saved_state_continues_bit_for_bit() {
        let quadratic = NesterovQuadratic::new(10, 1.0, 100.0);
        let solver = Solver::default();
        let mut state = State::new(vec![10.0; 10]);
        let stop = |error| Stop::accuracy(ErrorBound::new(error).unwrap());
        let _ = solver.minimize(&quadratic, stop(1e-2), &mut state, &mut ());
        let text = serde_json::to_string(&state).unwrap();
        let mut loaded: State = serde_json::from_str(&text).unwrap();
        assert_eq!(loaded, state);
        let _ = solver.refine(&quadratic, stop(1e-9), &mut state, &mut ());
        let _ = solver.refine(&quadratic, stop(1e-9), &mut loaded, &mut ());
        assert_eq!(loaded, state);
    }

    #[test]
    fn a_forgotten_gradient_stays_forgotten() {
        let quadratic = NesterovQuadratic::new(10, 1.0, 100.0);
        let mut state = State::new(vec![10.0; 10]);
        let _ = Solver::default().minimize(&quadratic, Stop::Iterations(5), &mut state, &mut ());
        let known = state.layout;
        state.forget_gradient();
        assert!(state.gradient.is_empty());
        let text = serde_json::to_string(&state).unwrap();
        assert_eq!(serde_json::from_str::<State>(&text).unwrap(), state);
        // it cannot be empty and known
        state.layout = known;
        let text = serde_json::to_string(&state).unwrap();
        assert!(serde_json::from_str::<State>(&text).is_err());
    }

    #[test]
    fn dual_variables_are_saved() {
        let mut state = State::new(vec![1.0, 2.0]);
        state.dual = vec![0.5, -1.0, 0.25];
        let text = serde_json::to_string(&state).unwrap();
        assert_eq!(serde_json::from_str::<State>(&text).unwrap(), state);
        state.dual[1] = f64::NAN;
        let text = serde_json::to_string(&state).unwrap();
        assert!(serde_json::from_str::<State>(&text).is_err());
    }

    #[test]
    fn damaged_states_are_refused() {
        let text = serde_json::to_string(&State::new(vec![1.0, 2.0])).unwrap();
        let cut = text.replacen("0,0,0,0,0,0,240,63,", "", 1);
        assert_ne!(cut, text);
        assert!(serde_json::from_str::<State>(&cut).is_err());
        let odd = text.replacen("0,0,0,0,0,0,240,63,", "0,", 1);
        assert!(serde_json::from_str::<State>(&odd).is_err());
    }
}
