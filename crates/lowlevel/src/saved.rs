//! What is saved of a [`State`], full or [`CompactStart`]: its vectors as bytes, eight or four to a number and the lowest first, so that
//! megabytes are copied and not formatted.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::ball::Guard;
use crate::buffer::Buffer;
use crate::checkpoint::CompactStart;
use crate::method::{Method, Momentum};
use crate::state::{Layout, Owner, SHIFTS, State, Workspace};

/// A state in a file.
#[derive(Debug, Deserialize)]
pub(crate) struct Saved {
    point: Numbers<f64, 8>,
    companion: Numbers<f64, 8>,
    gradient: Numbers<f64, 8>,
    momentum: Momentum,
    guard: Guard,
    method: Method,
    owner: Option<Owner>,
    layout: Layout,
    dual: Numbers<f64, 8>,
}

/// The same on its way there, which copies no vector as a whole.
#[derive(Serialize)]
#[serde(rename = "Saved")]
struct Saving<'a> {
    point: Bytes<'a, f64, 8>,
    companion: Bytes<'a, f64, 8>,
    gradient: Bytes<'a, f64, 8>,
    momentum: Momentum,
    guard: Guard,
    method: Method,
    owner: Option<Owner>,
    layout: Layout,
    dual: Bytes<'a, f64, 8>,
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
        if saved.gradient.0.len() < len && saved.layout.gradient_norm().is_some() {
            return Err("a state knows the norm of a gradient that it does not have");
        }
        if !saved.dual.0.iter().all(|p| p.is_finite()) {
            return Err("a dual variable is not a finite number");
        }
        Ok(Self {
            point: Buffer::new(saved.point.0),
            companion: Buffer::shifted(&saved.companion.0, SHIFTS[0]),
            gradient: Buffer::shifted(&saved.gradient.0, SHIFTS[1]),
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

/// A compact start in a file.
#[derive(Debug, Deserialize)]
pub(crate) struct SavedCompact {
    point: Numbers<f32, 4>,
    dual: Numbers<f32, 4>,
}

/// The same on its way there.
#[derive(Serialize)]
#[serde(rename = "SavedCompact")]
struct SavingCompact<'a> {
    point: Bytes<'a, f32, 4>,
    dual: Bytes<'a, f32, 4>,
}

impl Serialize for CompactStart {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        SavingCompact {
            point: Bytes(&self.point),
            dual: Bytes(&self.dual),
        }
        .serialize(serializer)
    }
}

impl TryFrom<SavedCompact> for CompactStart {
    type Error = &'static str;

    fn try_from(saved: SavedCompact) -> Result<Self, &'static str> {
        let (point, dual) = (saved.point.0, saved.dual.0);
        if !point.iter().chain(&dual).all(|x| x.is_finite()) {
            return Err("a number of a rounded state is not finite");
        }
        Ok(Self { point, dual })
    }
}

/// A number of `SIZE` bytes.
trait Number<const SIZE: usize>: Copy {
    fn into_bytes(self) -> [u8; SIZE];
    fn from_bytes(bytes: [u8; SIZE]) -> Self;
}

impl Number<8> for f64 {
    fn into_bytes(self) -> [u8; 8] {
        self.to_le_bytes()
    }

    fn from_bytes(bytes: [u8; 8]) -> Self {
        Self::from_le_bytes(bytes)
    }
}

impl Number<4> for f32 {
    fn into_bytes(self) -> [u8; 4] {
        self.to_le_bytes()
    }

    fn from_bytes(bytes: [u8; 4]) -> Self {
        Self::from_le_bytes(bytes)
    }
}

/// Numbers to be written as bytes.
struct Bytes<'a, T, const SIZE: usize>(&'a [T]);

impl<T: Number<SIZE>, const SIZE: usize> Serialize for Bytes<'_, T, SIZE> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut bytes = vec![0; SIZE * self.0.len()];
        let (words, _) = bytes.as_chunks_mut::<SIZE>();
        for (word, x) in words.iter_mut().zip(self.0) {
            *word = x.into_bytes();
        }
        serializer.serialize_bytes(&bytes)
    }
}

/// Numbers that were bytes.
#[derive(Debug)]
struct Numbers<T, const SIZE: usize>(Vec<T>);

impl<'de, T: Number<SIZE>, const SIZE: usize> Deserialize<'de> for Numbers<T, SIZE> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_bytes(BytesVisitor(PhantomData))
    }
}

struct BytesVisitor<T, const SIZE: usize>(PhantomData<T>);

impl<'de, T: Number<SIZE>, const SIZE: usize> Visitor<'de> for BytesVisitor<T, SIZE> {
    type Value = Numbers<T, SIZE>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bytes, {SIZE} to a number")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Self::Value, E> {
        let (numbers, rest) = bytes.as_chunks::<SIZE>();
        if !rest.is_empty() {
            return Err(E::invalid_length(bytes.len(), &self));
        }
        Ok(Numbers(numbers.iter().map(|x| T::from_bytes(*x)).collect()))
    }

    /// Formats without bytes write a sequence.
    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
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
    use crate::{Checkpoint, ErrorBound, Solver, Stop};

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

    #[test]
    fn checkpoints_are_saved() {
        let mut state = State::new(vec![0.1, -2.5]);
        state.dual = vec![0.3];
        for checkpoint in [Checkpoint::full(&state), Checkpoint::compact(&state)] {
            let text = serde_json::to_string(&checkpoint).unwrap();
            assert_eq!(
                serde_json::from_str::<Checkpoint>(&text).unwrap(),
                checkpoint
            );
        }
        for point in [vec![f32::INFINITY], vec![0.0, f32::NAN]] {
            let dual = Vec::new();
            let text = serde_json::to_string(&CompactStart { point, dual }).unwrap();
            assert!(serde_json::from_str::<CompactStart>(&text).is_err());
        }
        let odd = r#"{"point":[0,0,128,63,0],"dual":[]}"#;
        assert!(serde_json::from_str::<CompactStart>(odd).is_err());
        let even = r#"{"point":[0,0,128,63],"dual":[]}"#;
        let one = serde_json::from_str::<CompactStart>(even).unwrap();
        assert_eq!(one.point, [1.0]);
    }
}
