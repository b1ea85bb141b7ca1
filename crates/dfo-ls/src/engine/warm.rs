//! Warm starts of evaluations of new points.

use super::Run;
use crate::linalg::{Matrix, cholesky, dot};
use crate::options::WarmStart;
use crate::oracle::{Share, Start};

/// The penalty `$\lambda$` on large weights, which multiply the errors of inexact results.
const RIDGE: f64 = 1e-3;

/// The largest number of parameters for combinations of tokens. With more, the points of a set are
/// too far apart for the results between them to be nearly linear.
const MAX_PARAMS: usize = 10;

impl<R: Clone> Run<'_, R> {
    /// The start of the evaluation of a new point at `u`.
    pub(super) fn warm_start(&self, u: &[f64]) -> Start<R> {
        let one = |token: Option<R>| token.map_or(Start::Cold, Start::Near);
        match self.rule().warm_start() {
            WarmStart::Cold => Start::Cold,
            WarmStart::Last => one(self.ledger.last_resume.clone()),
            WarmStart::Nearest => one(self.nearest(u).next().map(|(_, token)| token)),
            WarmStart::Extrapolated if u.len() > MAX_PARAMS => one(self.ledger.last_resume.clone()),
            WarmStart::Extrapolated => self.blend(u),
        }
    }

    /// The displacements and tokens of the points of the set, the nearest to `u` first.
    fn nearest(&self, u: &[f64]) -> impl Iterator<Item = (Vec<f64>, R)> {
        let known = self.points.stored().filter_map(|point| {
            let displacement: Vec<f64> = point.u.iter().zip(u).map(|(a, b)| a - b).collect();
            Some((displacement, point.resume.clone()?))
        });
        let mut known: Vec<(Vec<f64>, R)> = known.collect();
        known.sort_by(|(a, _), (b, _)| dot(a, a).total_cmp(&dot(b, b)));
        known.into_iter()
    }

    /// The combination of the tokens of the nearest points, as many as determine a linear function.
    fn blend(&self, u: &[f64]) -> Start<R> {
        let known: Vec<(Vec<f64>, R)> = self.nearest(u).take(u.len() + 1).collect();
        let displacements: Vec<&[f64]> = known.iter().map(|(s, _)| &s[..]).collect();
        let Some(weights) = affine_weights(&displacements).filter(|weights| weights.len() > 1)
        else {
            let nearest = known.into_iter().next();
            return nearest.map_or(Start::Cold, |(_, token)| Start::Near(token));
        };
        let shares = weights.into_iter().zip(known);
        Start::Blend(
            shares
                .map(|(weight, (_, resume))| Share { weight, resume })
                .collect(),
        )
    }
}

/// Computes the weights `$w$` with `$\sum_t w_t = 1$` that minimise
/// `$|\sum_t w_t s_t|^2/h^2 + \lambda|w|^2$`, where `$h^2$` is the mean of `$|s_t|^2$`: the
/// combination of points that lies nearest to the origin of the displacements `$s_t$`, without
/// large weights. `None` if there are no points.
///
/// Lagrange's conditions are `$Aw = c\mathbf{1}$` with `$A = (s_i^Ts_j/h^2 + \lambda\delta_{ij})$`.
fn affine_weights(displacements: &[&[f64]]) -> Option<Vec<f64>> {
    let n = displacements.len();
    let size: f64 = displacements.iter().map(|s| dot(s, s)).sum();
    let scale = if size > 0.0 { n as f64 / size } else { 0.0 };
    let mut gram = Matrix::zeros(n, n);
    for (i, a) in displacements.iter().enumerate() {
        for (j, b) in displacements.iter().enumerate() {
            gram[(i, j)] = scale * dot(a, b) + if i == j { RIDGE } else { 0.0 };
        }
    }
    let mut weights = vec![1.0; n];
    cholesky(&gram)?.solve_in_place(&mut weights);
    let sum: f64 = weights.iter().sum();
    let is_usable = sum.is_finite() && sum > 0.0;
    is_usable.then(|| weights.iter().map(|w| w / sum).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    /// A linear function of the parameters is met almost exactly.
    #[test]
    fn weights_extrapolate_linear_functions() {
        let displacements: [&[f64]; 3] = [&[1.0, 0.0], &[2.0, 0.5], &[1.0, -1.0]];
        let weights = affine_weights(&displacements).expect("three points");
        assert_relative_eq!(weights.iter().sum::<f64>(), 1.0, max_relative = 1e-12);
        let linear = |s: &[f64]| 3.0 + 2.0 * s[0] - 5.0 * s[1];
        let expected: f64 = (weights.iter().zip(displacements))
            .map(|(w, s)| w * linear(s))
            .sum();
        assert_relative_eq!(expected, 3.0, epsilon = 0.1); // the ridge leaves a little
        // the nearest point alone says 5
        assert!(weights.iter().any(|w| *w < 0.0));
    }

    /// Two points: minimise `$(w_1 a + w_2 b)^2/h^2 + \lambda(w_1^2 + w_2^2)$`, `$w_1 + w_2 = 1$`,
    /// by hand.
    #[test]
    fn weights_of_two_points_on_a_line() {
        let (a, b) = (1.0, 3.0);
        let weights = affine_weights(&[&[a], &[b]]).expect("two points");
        let h2 = (a * a + b * b) / 2.0;
        // w_1 = w: derivative of (b + w (a - b))^2/h2 + ridge (w^2 + (1-w)^2) vanishes
        let w = (b * (b - a) / h2 + RIDGE) / ((a - b) * (a - b) / h2 + 2.0 * RIDGE);
        assert_relative_eq!(weights[..], [w, 1.0 - w], max_relative = 1e-10);
    }

    #[test]
    fn points_in_one_place_share_alike() {
        let weights = affine_weights(&[&[0.0, 0.0], &[0.0, 0.0]]).expect("two points");
        assert_relative_eq!(weights[..], [0.5, 0.5], max_relative = 1e-12);
        let weights = affine_weights(&[&[0.1, 0.2]]).expect("one point");
        assert_relative_eq!(weights[..], [1.0], max_relative = 1e-12);
        assert!(affine_weights(&[]).is_none());
    }
}
