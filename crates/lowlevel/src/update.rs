//! The update rules of the iterations.

use std::ops::Range;

/// The rule by which one iteration moves the point, given the gradient there.
///
/// An objective that overrides [`StronglyConvex::advance`](crate::StronglyConvex::advance) only
/// needs to call [`apply`](Self::apply).
#[derive(Debug)]
#[non_exhaustive]
pub enum Update<'a> {
    /// Gradient descent: `$x \leftarrow x - \tau \nabla\Phi(x)$`.
    Descent {
        /// The step length `$\tau$`.
        step: f64,
    },
    /// FISTA, which moves the extrapolated point `$z$`: `$x^+ = z - \tau \nabla\Phi(z)$`, then
    /// `$z \leftarrow x^+ + \beta (x^+ - x)$` and `$x \leftarrow x^+$`.
    Accelerated {
        /// The step length `$\tau$`.
        step: f64,
        /// The extrapolation `$\beta$`.
        extrapolation: f64,
        /// The iterate `$x$`, which the update overwrites.
        iterate: &'a mut [f64],
    },
    /// The heavy ball, which moves the point `$y$`: `$w^{k+1} = \beta w^k - \nabla\Phi(y^k)$` and
    /// `$y^{k+1} = y^k + a w^{k+1} - b w^k$`.
    HeavyBall {
        /// The factor `$\beta$` of the old impulse.
        decay: f64,
        /// The factor `$a$` of the new impulse.
        ahead: f64,
        /// The factor `$b$` of the old impulse in the position.
        back: f64,
        /// The impulse `$w^k$`, which the update overwrites with `$w^{k+1}$`.
        impulse: &'a mut [f64],
    },
}

impl Update<'_> {
    /// Moves the entries `at` of `point`, given the gradient at the old point. A fused kernel calls
    /// this row by row.
    ///
    /// # Panics
    /// If `at` is outside one of the slices.
    #[inline(always)]
    pub fn apply(&mut self, at: Range<usize>, point: &mut [f64], gradient: &[f64]) {
        let (point, gradient) = (&mut point[at.clone()], &gradient[at.clone()]);
        match self {
            Self::Descent { step } => {
                let step = *step;
                for (point, gradient) in point.iter_mut().zip(gradient) {
                    *point -= step * gradient;
                }
            }
            Self::Accelerated {
                step,
                extrapolation,
                iterate,
            } => {
                let (step, extrapolation) = (*step, *extrapolation);
                let moved = point.iter_mut().zip(gradient).zip(&mut iterate[at]);
                for ((point, gradient), iterate) in moved {
                    let next = *point - step * gradient;
                    *point = next + extrapolation * (next - *iterate);
                    *iterate = next;
                }
            }
            Self::HeavyBall {
                decay,
                ahead,
                back,
                impulse,
            } => {
                let (decay, ahead, back) = (*decay, *ahead, *back);
                let moved = point.iter_mut().zip(gradient).zip(&mut impulse[at]);
                for ((point, gradient), impulse) in moved {
                    let next = decay * *impulse - gradient;
                    *point = *point - back * *impulse + ahead * next;
                    *impulse = next;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    #[test]
    fn updates_are_those_of_the_paper() {
        let gradient = [1.0, -2.0];
        let mut point = [10.0, 20.0];
        Update::Descent { step: 0.5 }.apply(0..2, &mut point, &gradient);
        assert_relative_eq!(point[..], [9.5, 21.0]);

        let (mut point, mut iterate) = ([10.0, 20.0], [8.0, 8.0]);
        let mut update = Update::Accelerated {
            step: 0.5,
            extrapolation: 0.25,
            iterate: &mut iterate,
        };
        update.apply(1..2, &mut point, &gradient);
        update.apply(0..1, &mut point, &gradient);
        assert_relative_eq!(point[..], [9.5 + 0.25 * 1.5, 21.0 + 0.25 * 13.0]);
        assert_relative_eq!(iterate[..], [9.5, 21.0]);

        let (mut point, mut impulse) = ([10.0, 20.0], [2.0, 12.0]);
        let mut update = Update::HeavyBall {
            decay: 0.25,
            ahead: 0.5,
            back: 0.125,
            impulse: &mut impulse,
        };
        update.apply(0..2, &mut point, &gradient);
        assert_relative_eq!(impulse[..], [0.25 * 2.0 - 1.0, 0.25 * 12.0 + 2.0]);
        let moved = [
            10.0 - 0.125 * 2.0 + 0.5 * -0.5,
            20.0 - 0.125 * 12.0 + 0.5 * 5.0,
        ];
        assert_relative_eq!(point[..], moved);
    }
}
