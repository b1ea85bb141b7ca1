use super::*;
use crate::linalg::dot;

#[test]
fn draws_are_reproducible() {
    let draw = Draw { seed: 3, number: 7 };
    assert_eq!(unit_vector(5, draw), unit_vector(5, draw));
    assert_ne!(
        unit_vector(5, draw),
        unit_vector(5, Draw { number: 8, ..draw })
    );
    assert_ne!(
        unit_vector(5, draw),
        unit_vector(5, Draw { seed: 4, ..draw })
    );
    assert_eq!(orthogonal_directions(6, 11), orthogonal_directions(6, 11));
    assert_ne!(orthogonal_directions(6, 11), orthogonal_directions(6, 12));
}

#[test]
fn vectors_have_unit_length_and_a_uniform_direction() {
    for dim in [1, 2, 3, 10, 50] {
        let count = 2000_u32;
        let (mut mean, mut square) = (vec![0.0; dim], vec![0.0; dim]);
        for number in 0..count {
            let vector = unit_vector(
                dim,
                Draw {
                    seed: 1,
                    number: number.into(),
                },
            );
            assert!((norm(&vector) - 1.0).abs() < 1e-14);
            for j in 0..dim {
                mean[j] += vector[j] / f64::from(count);
                square[j] += vector[j] * vector[j] / f64::from(count);
            }
        }
        // standard deviations are about 0.02 and at most 0.01
        assert!(norm(&mean) < 0.1, "{dim} {mean:?}");
        assert!(square.iter().all(|s| (s - 1.0 / dim as f64).abs() < 0.05));
    }
}

#[test]
fn bases_are_orthonormal() {
    for dim in [1, 2, 5, 40] {
        for seed in 0..20 {
            let basis = orthogonal_directions(dim, seed);
            assert_eq!(basis.len(), dim);
            for (i, a) in basis.iter().enumerate() {
                for (j, b) in basis.iter().enumerate() {
                    let expected = f64::from(u8::from(i == j));
                    assert!((dot(a, b) - expected).abs() < 1e-13, "{dim} {seed} {i} {j}");
                }
            }
        }
    }
}
