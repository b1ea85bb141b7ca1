//! The minimiser of the model over the variables that are free at the Cauchy point.

use super::cauchy::Cauchy;
use super::compact::Compact;
use super::step::Local;
use crate::linalg::{Indefinite, Square, add_scaled, dot};

/// The number of variables that are gathered at a time.
const BLOCK: usize = 256;

/// Computes the step from the Cauchy point to the minimiser of the model over the `free` variables,
/// in increasing order, ignoring bounds. `None` if the small system is singular.
///
/// With the rows `$W_Z$` of the free variables,
///
/// ```math
/// B_{ZZ}^{-1} = \tfrac1\sigma \bigl(I + W_Z (M^{-1} - W_Z^\top W_Z)^{-1} W_Z^\top\bigr).
/// ```
pub(super) fn subspace_step(
    local: &Local<'_>,
    compact: &Compact<'_>,
    cauchy: &Cauchy,
    free: &[usize],
) -> Option<Vec<f64>> {
    let memory = compact.memory();
    let (sigma, k) = (memory.sigma(), memory.len());
    // The gradient of the model at the Cauchy point, on the free variables only.
    let mut slope = compact.times(&cauchy.step, &cauchy.projected);
    add_scaled(&mut slope, 1.0, local.gradient);
    let mut residual = vec![0.0; slope.len()];
    for &i in free {
        residual[i] = slope[i];
    }
    let mut p = compact.project(&residual);
    if k > 0 {
        free_system(compact, free, slope.len())?.solve(&mut p);
    }
    compact.add_expanded(1.0, &p, &mut residual);
    Some(free.iter().map(|&i| -residual[i] / sigma).collect())
}

/// The matrix `$M^{-1} - W_Z^\top W_Z$` of the free variables `$Z$`, with the blocks
/// `$-(D + Y_Z^\top Y_Z / \sigma)$`, `$L - S_Z^\top Y_Z$` and `$\sigma S_A^\top S_A$`, where `$A$`
/// are the other variables.
fn free_system(compact: &Compact<'_>, free: &[usize], dim: usize) -> Option<Indefinite> {
    let memory = compact.memory();
    let (sigma, k) = (memory.sigma(), memory.len());
    let mut is_free = vec![false; dim];
    for &i in free {
        is_free[i] = true;
    }
    let held: Vec<usize> = (0..dim).filter(|&i| !is_free[i]).collect();
    let of_held = Products::new(compact, &held);
    // The products over the free variables: directly, or all less those over the others.
    let of_free = (free.len() < held.len()).then(|| Products::new(compact, free));
    let changes = |i: usize, j: usize| {
        let rest = || memory.changes_changes(i, j) - of_held.changes_changes.at(i, j);
        of_free
            .as_ref()
            .map_or_else(rest, |of| of.changes_changes.at(i, j))
    };
    let first = |i: usize, j: usize| {
        let diagonal = if i == j {
            memory.steps_changes(i, i)
        } else {
            0.0
        };
        diagonal + changes(i, j) / sigma
    };
    let coupling = |i: usize, j: usize| {
        if i > j {
            return of_held.steps_changes.at(i, j);
        }
        let rest = || memory.steps_changes(i, j) - of_held.steps_changes.at(i, j);
        -of_free
            .as_ref()
            .map_or_else(rest, |of| of.steps_changes.at(i, j))
    };
    let last = |i: usize, j: usize| sigma * of_held.steps_steps.at(i, j);
    Indefinite::new(
        &Square::from_fn(k, first),
        Square::from_fn(k, coupling),
        &Square::from_fn(k, last),
    )
}

/// The inner products of the pairs over some of the variables.
struct Products {
    steps_steps: Square,
    steps_changes: Square,
    changes_changes: Square,
}

impl Products {
    fn new(compact: &Compact<'_>, variables: &[usize]) -> Self {
        let memory = compact.memory();
        let k = memory.len();
        let [mut ss, mut sy, mut yy] = [(); 3].map(|()| vec![0.0; k * k]);
        let [mut steps, mut changes] = [(); 2].map(|()| vec![0.0; k * BLOCK]);
        for block in variables.chunks(BLOCK) {
            let len = block.len();
            for i in 0..k {
                let (s, y) = (memory.step(i), memory.change(i));
                for (slot, &v) in block.iter().enumerate() {
                    steps[i * BLOCK + slot] = s[v];
                    changes[i * BLOCK + slot] = y[v];
                }
            }
            for i in 0..k {
                for j in 0..k {
                    let [s_i, y_i] = [&steps, &changes].map(|of| &of[i * BLOCK..][..len]);
                    let [s_j, y_j] = [&steps, &changes].map(|of| &of[j * BLOCK..][..len]);
                    sy[i * k + j] += dot(s_i, y_j);
                    if j <= i {
                        ss[i * k + j] += dot(s_i, s_j);
                        yy[i * k + j] += dot(y_i, y_j);
                    }
                }
            }
        }
        let symmetric = |of: &[f64]| Square::from_fn(k, |i, j| of[i.max(j) * k + i.min(j)]);
        Self {
            steps_steps: symmetric(&ss),
            steps_changes: Square::from_fn(k, |i, j| sy[i * k + j]),
            changes_changes: symmetric(&yy),
        }
    }
}
