//! How a [`State`] is saved: its vectors as bytes, eight or four to a number and the lowest first,
//! so that megabytes are copied and not formatted.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::buffer::Buffer;
use crate::memory::Memory;
use crate::state::{Owner, State};

/// A state as it was loaded.
#[derive(Debug, Deserialize)]
pub(crate) struct Unchecked {
    point: Buffer,
    dual: Buffer,
    owner: Option<Owner>,
    memory: Memory,
}

impl TryFrom<Unchecked> for State {
    type Error = &'static str;

    fn try_from(loaded: Unchecked) -> Result<Self, &'static str> {
        let Unchecked {
            point,
            dual,
            owner,
            memory,
        } = loaded;
        if !dual.iter().all(|p| p.is_finite()) {
            return Err("a dual variable is not a finite number");
        }
        let memory = match owner {
            Some(_) => memory,
            None => Memory::Empty,
        };
        let is_whole = |vector: &Buffer| vector.len() == point.len();
        if !memory.second_vector().is_none_or(is_whole) {
            return Err("the vectors of a state have different lengths");
        }
        if let Some(gradient) = memory.gradient()
            && !is_whole(&gradient.values)
            && !(gradient.values.is_empty() && gradient.norm.is_none())
        {
            return Err("a state knows the norm of a gradient that it does not have");
        }
        Ok(Self {
            point,
            dual,
            owner,
            memory,
        })
    }
}

/// A vector is saved with the number of cache lines before it.
impl Serialize for Buffer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.lines(), Bytes(self)).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Buffer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (lines, values) = <(usize, Numbers<f64, 8>)>::deserialize(deserializer)?;
        match lines {
            0 => Ok(Self::new(values.0)),
            1..=Self::GRADIENT => Ok(Self::shifted(&values.0, lines)),
            _ => Err(D::Error::custom("a vector begins far into its page")),
        }
    }
}

/// Numbers in single precision, all of them finite.
pub(crate) mod singles {
    use super::{Bytes, Deserialize, Deserializer, Error, Numbers, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(
        numbers: &[f32],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        Bytes(numbers).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<f32>, D::Error> {
        let Numbers(numbers) = Numbers::<f32, 4>::deserialize(deserializer)?;
        if numbers.iter().all(|x| x.is_finite()) {
            Ok(numbers)
        } else {
            Err(D::Error::custom(
                "a number of a compact start is not finite",
            ))
        }
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
    use crate::{Checkpoint, CompactStart, ErrorBound, Method, Solver, Stop};

    fn solved(method: Method, iterations: u64) -> State {
        let mut state = State::new(vec![10.0; 10]);
        let solver = Solver {
            method,
            ..Solver::default()
        };
        let quadratic = NesterovQuadratic::new(10, 1.0, 100.0);
        let _ = solver.minimize(
            &quadratic,
            Stop::Iterations(iterations),
            &mut state,
            &mut (),
        );
        state
    }

    fn reloaded(state: &State) -> serde_json::Result<State> {
        serde_json::from_str(&serde_json::to_string(state)?)
    }

    /// Loaded, a solve goes on as if it had not stopped.
    #[test]
    fn a_saved_state_continues_bit_for_bit() {
        let quadratic = NesterovQuadratic::new(10, 1.0, 100.0);
        for method in [
            Method::Auto,
            Method::FISTA,
            Method::FISTA_TWO_GRADIENTS,
            Method::GRADIENT_DESCENT,
        ] {
            let solver = Solver {
                method,
                ..Solver::default()
            };
            let mut state = State::new(vec![10.0; 10]);
            let stop = |error| Stop::accuracy(ErrorBound::new(error).unwrap());
            let _ = solver.minimize(&quadratic, stop(1e-2), &mut state, &mut ());
            let mut loaded = reloaded(&state).unwrap();
            assert_eq!(loaded, state);
            let _ = solver.refine(&quadratic, stop(1e-9), &mut state, &mut ());
            let _ = solver.refine(&quadratic, stop(1e-9), &mut loaded, &mut ());
            assert_eq!(loaded, state);
        }
    }

    #[test]
    fn a_forgotten_gradient_stays_forgotten() {
        let mut state = solved(Method::Auto, 5);
        let known = state.memory.gradient().unwrap().norm;
        state = state.without_gradient();
        assert!(state.memory.gradient().unwrap().values.is_empty());
        assert_eq!(reloaded(&state).unwrap(), state);
        // it cannot be empty and known
        state.memory.gradient_mut().unwrap().norm = known;
        assert!(reloaded(&state).is_err());
    }

    #[test]
    fn dual_variables_are_saved() {
        let mut state = State::new(vec![1.0, 2.0]);
        state.dual = Buffer::new(vec![0.5, -1.0, 0.25]);
        assert_eq!(reloaded(&state).unwrap(), state);
        state.dual[1] = f64::NAN;
        assert!(reloaded(&state).is_err());
    }

    #[test]
    fn damaged_states_are_refused() {
        let mut state = solved(Method::FISTA, 5);
        state.point[..2].copy_from_slice(&[1.0, 2.0]);
        let text = serde_json::to_string(&state).unwrap();
        let cut = text.replacen("0,0,0,0,0,0,240,63,", "", 1);
        assert_ne!(cut, text);
        assert!(serde_json::from_str::<State>(&cut).is_err());
        let odd = text.replacen("0,0,0,0,0,0,240,63,", "0,", 1);
        assert!(serde_json::from_str::<State>(&odd).is_err());
    }

    #[test]
    fn checkpoints_are_saved() {
        let mut state = State::new(vec![0.1, -2.5]);
        state.dual = Buffer::new(vec![0.3]);
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
