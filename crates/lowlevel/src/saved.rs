//! Serialization of a [`State`].
//!
//! Vectors are saved as bytes, with eight or four little-endian bytes per number, so that large
//! vectors are copied rather than formatted.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::buffer::Buffer;
use crate::correction::CorrectionVectors;
use crate::memory::Memory;
use crate::state::{Owner, State};

/// A loaded state whose parts have not been checked against each other yet.
#[derive(Debug, Deserialize)]
pub(crate) struct UncheckedState {
    point: Buffer,
    dual: Buffer,
    owner: Option<Owner>,
    memory: Memory,
}

impl TryFrom<UncheckedState> for State {
    type Error = &'static str;

    fn try_from(loaded: UncheckedState) -> Result<Self, &'static str> {
        let UncheckedState {
            point,
            dual,
            owner,
            memory,
        } = loaded;
        if !dual.iter().all(|p| p.is_finite()) {
            return Err("a dual variable of the state is not a finite number");
        }
        let memory = match owner {
            Some(_) => memory,
            None => Memory::Empty,
        };
        let is_whole = |vector: &Buffer| vector.len() == point.len();
        if !memory.second_vector().is_none_or(is_whole) {
            return Err("the vectors of the state have different lengths");
        }
        if let Some(gradient) = memory.gradient()
            && !is_whole(&gradient.values)
            && !(gradient.values.is_empty() && gradient.norm.is_none())
        {
            return Err("the state has the norm of a gradient, but not the gradient");
        }
        Ok(Self {
            point,
            dual,
            owner,
            memory,
            correction: CorrectionVectors::new(),
        })
    }
}

/// Saves the vector together with the number of unused cache lines before it.
impl Serialize for Buffer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.lines(), EncodedNumbers(self)).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Buffer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (lines, values) = <(usize, DecodedNumbers<f64, 8>)>::deserialize(deserializer)?;
        match lines {
            0 => Ok(Self::new(values.0)),
            1..=Self::GRADIENT => Ok(Self::shifted(&values.0, lines)),
            _ => Err(D::Error::custom(format!(
                "a vector has {lines} unused cache lines before it, but at most {} are possible",
                Self::GRADIENT
            ))),
        }
    }
}

/// Serialization of finite numbers in single precision.
pub(crate) mod singles {
    use super::{
        DecodedNumbers, Deserialize, Deserializer, EncodedNumbers, Error, Serialize, Serializer,
    };

    pub(crate) fn serialize<S: Serializer>(
        numbers: &[f32],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        EncodedNumbers(numbers).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<f32>, D::Error> {
        let DecodedNumbers(numbers) = DecodedNumbers::<f32, 4>::deserialize(deserializer)?;
        if numbers.iter().all(|x| x.is_finite()) {
            Ok(numbers)
        } else {
            Err(D::Error::custom(
                "a number of a compact start is not finite",
            ))
        }
    }
}

/// A number that is saved as `SIZE` little-endian bytes.
trait LittleEndian<const SIZE: usize>: Copy {
    fn into_bytes(self) -> [u8; SIZE];
    fn from_bytes(bytes: [u8; SIZE]) -> Self;
}

impl LittleEndian<8> for f64 {
    fn into_bytes(self) -> [u8; 8] {
        self.to_le_bytes()
    }

    fn from_bytes(bytes: [u8; 8]) -> Self {
        Self::from_le_bytes(bytes)
    }
}

impl LittleEndian<4> for f32 {
    fn into_bytes(self) -> [u8; 4] {
        self.to_le_bytes()
    }

    fn from_bytes(bytes: [u8; 4]) -> Self {
        Self::from_le_bytes(bytes)
    }
}

/// Numbers that are serialized as bytes.
struct EncodedNumbers<'a, T, const SIZE: usize>(&'a [T]);

impl<T: LittleEndian<SIZE>, const SIZE: usize> Serialize for EncodedNumbers<'_, T, SIZE> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut bytes = vec![0; SIZE * self.0.len()];
        let (words, _) = bytes.as_chunks_mut::<SIZE>();
        for (word, x) in words.iter_mut().zip(self.0) {
            *word = x.into_bytes();
        }
        serializer.serialize_bytes(&bytes)
    }
}

/// Numbers that are deserialized from bytes.
#[derive(Debug)]
struct DecodedNumbers<T, const SIZE: usize>(Vec<T>);

impl<'de, T: LittleEndian<SIZE>, const SIZE: usize> Deserialize<'de> for DecodedNumbers<T, SIZE> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_bytes(NumbersVisitor(PhantomData))
    }
}

struct NumbersVisitor<T, const SIZE: usize>(PhantomData<T>);

impl<'de, T: LittleEndian<SIZE>, const SIZE: usize> Visitor<'de> for NumbersVisitor<T, SIZE> {
    type Value = DecodedNumbers<T, SIZE>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bytes, {SIZE} for each number")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Self::Value, E> {
        let (numbers, rest) = bytes.as_chunks::<SIZE>();
        if !rest.is_empty() {
            return Err(E::invalid_length(bytes.len(), &self));
        }
        Ok(DecodedNumbers(
            numbers.iter().map(|x| T::from_bytes(*x)).collect(),
        ))
    }

    /// Reads a sequence of numbers, as formats without a type for bytes write it.
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

    /// A loaded state continues as if the solve had not stopped.
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
        // A gradient cannot be empty and have a norm.
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
