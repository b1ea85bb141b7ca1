//! Operators as dense matrices of 32-digit numbers, from their definitions.

use super::Dd;

/// Rows of a matrix.
pub(crate) type Matrix = Vec<Vec<Dd>>;

fn number(value: f64) -> Dd {
    Dd::from(value)
}

/// `$\cos$` of a multiple of 15 degrees, by square roots.
fn cosine(fifteenths: usize) -> Dd {
    let (two, three, six) = (number(2.0).sqrt(), number(3.0).sqrt(), number(6.0).sqrt());
    let at = fifteenths % 24;
    let folded = at.min(24 - at);
    let (sign, folded) = if folded > 6 {
        (-1.0, 12 - folded)
    } else {
        (1.0, folded)
    };
    let value = match folded {
        0 => number(1.0),
        1 => (six + two) / number(4.0),
        2 => three / number(2.0),
        3 => two / number(2.0),
        4 => number(0.5),
        5 => (six - two) / number(4.0),
        _ => Dd::default(),
    };
    value * number(sign)
}

/// The unitary Fourier transform of `len` complex samples, interleaved; `len` divides 24.
pub(crate) fn fourier(len: usize) -> Matrix {
    assert_eq!(24 % len, 0);
    let scale = number(1.0) / number(len as f64).sqrt();
    let mut matrix = vec![vec![Dd::default(); 2 * len]; 2 * len];
    for k in 0..len {
        for j in 0..len {
            let angle = j * k % len * (24 / len);
            // e^{-i phi} = cos phi - i sin phi, and sin phi = cos(phi - 90 degrees)
            let (cos, sin) = (scale * cosine(angle), scale * cosine(angle + 18));
            matrix[2 * k][2 * j] = cos;
            matrix[2 * k][2 * j + 1] = sin;
            matrix[2 * k + 1][2 * j] = -sin;
            matrix[2 * k + 1][2 * j + 1] = cos;
        }
    }
    matrix
}

/// Circular convolution of `len` complex samples, interleaved, with a kernel whose origin is in the
/// middle.
pub(crate) fn convolution(len: usize, kernel: &[f64]) -> Matrix {
    let mut matrix = vec![vec![Dd::default(); 2 * len]; 2 * len];
    for at in 0..len {
        for (k, &value) in kernel.iter().enumerate() {
            let from = (at + kernel.len() / 2 + len * k - k) % len;
            for part in 0..2 {
                matrix[2 * at + part][2 * from + part] += number(value);
            }
        }
    }
    matrix
}

/// The mask of interleaved complex samples.
pub(crate) fn mask(measured: &[bool]) -> Matrix {
    let len = 2 * measured.len();
    let mut matrix = vec![vec![Dd::default(); len]; len];
    for (row, entries) in matrix.iter_mut().enumerate() {
        entries[row] = number(if measured[row / 2] { 1.0 } else { 0.0 });
    }
    matrix
}

/// `$A^T S A + \xi I$`, row by row, and `$A^T S y$`; one weight per two rows.
pub(crate) fn normal_equations(
    matrix: &Matrix,
    weights: &[f64],
    data: &[f64],
    xi: f64,
) -> (Vec<Dd>, Vec<Dd>) {
    let dim = matrix[0].len();
    let weight = |row: usize| number(weights[row / 2]);
    let mut gram = vec![Dd::default(); dim * dim];
    let mut linear = vec![Dd::default(); dim];
    for (row, entries) in matrix.iter().enumerate() {
        for i in 0..dim {
            let weighted = weight(row) * entries[i];
            linear[i] += weighted * number(data[row]);
            for j in 0..dim {
                gram[i * dim + j] += weighted * entries[j];
            }
        }
    }
    for i in 0..dim {
        gram[i * dim + i] += number(xi);
    }
    (gram, linear)
}
