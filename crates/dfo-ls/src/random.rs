//! Random vectors that depend only on a seed and a number.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rand_distr::{Distribution, StandardNormal};

use crate::linalg::norm;
use crate::span::Span;

/// The seed and the number of a random vector.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Draw {
    pub(crate) seed: u64,
    pub(crate) number: u64,
}

fn normal_vector(dim: usize, draw: Draw) -> Vec<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(draw.seed);
    rng.set_stream(draw.number);
    (0..dim).map(|_| StandardNormal.sample(&mut rng)).collect()
}

/// A random vector with the uniform distribution on the unit sphere.
pub(crate) fn unit_vector(dim: usize, draw: Draw) -> Vec<f64> {
    let vector = normal_vector(dim, draw);
    let length = norm(&vector);
    vector.iter().map(|x| x / length).collect()
}

/// A random orthonormal basis.
pub(crate) fn orthogonal_directions(dim: usize, seed: u64) -> Vec<Vec<f64>> {
    let mut basis = Span::default();
    let mut number = 0;
    while basis.len() < dim {
        let vector = unit_vector(dim, Draw { seed, number });
        number += 1;
        // a vector with a smaller orthogonal part would cost three digits
        basis.add_if(&vector, |length| length > 1e-3);
    }
    basis.into_directions()
}

#[cfg(test)]
mod tests;
