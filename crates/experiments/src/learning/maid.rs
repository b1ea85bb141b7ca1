//! The rules of MAID (M. S. Salehi, S. Mukherjee, L. Roberts and M. J. Ehrhardt, *An adaptively
//! inexact first-order method for bilevel optimization*, arXiv 2308.10098), written for this
//! comparison from the paper.
//!
//! It is gradient descent with backtracking. One error for all reconstructions and one residual for
//! all adjoints shrink when backtracking fails, and grow when it succeeds. A step is accepted if
//! the plain intervals prove a decrease. Two changes are in its favour: steps are projected onto
//! the bounds, which the method does not have, and the test of the gradient's error is left out,
//! which would need a smaller error at every point.

use std::time::Instant;

use anyhow::Result;
use bilevel::LowerLevel;

use super::implicit::Implicit;
use super::reach::Accepted;

/// The factors of the step inside of backtracking and after a success.
const STEP: [f64; 2] = [0.5, 10.0 / 9.0];
/// The factors of the errors after a failure and after a success.
const ERROR: [f64; 2] = [0.5, 1.05];
/// The share of the slope that a step must achieve.
const ETA: f64 = 1e-4;
/// The number of backtracks before errors shrink.
const BACKTRACKS: u32 = 10;
/// The first error of reconstructions and residual of adjoints; our choice.
const FIRST: f64 = 0.1;

/// Runs the method until `max_work` gradients are spent. Returns all accepted points and the number
/// of evaluations.
pub(super) fn run<M: LowerLevel>(
    problem: &mut Implicit<'_, M>,
    start: &[f64],
    bounds: &[(f64, f64)],
    max_work: u64,
) -> Result<(Vec<Accepted>, usize)> {
    let begin = Instant::now();
    let (mut error, mut evaluations) = (FIRST, 1);
    let mut at = problem.solve(start, error, None)?;
    let mut points = Vec::new();
    let mut step = None;
    loop {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "work is positive and small"
        )]
        let work = problem.work.ceil() as u64;
        points.push(Accepted {
            theta: at.theta.clone(),
            lower: at.lower,
            upper: at.upper,
            work,
            seconds: begin.elapsed().as_secs_f64(),
        });
        let accepted = 'rounds: loop {
            if problem.work >= max_work as f64 || error < 1e-12 {
                return Ok((points, evaluations));
            }
            let gradient = problem.gradient(&mut at, error)?;
            let norm = lowlevel::norm(&gradient);
            let mut length: f64 = *step.get_or_insert(1.0 / norm);
            for _ in 0..BACKTRACKS {
                let mut theta = at.theta.clone();
                let mut slope = 0.0;
                for ((theta, g), (lower, upper)) in theta.iter_mut().zip(&gradient).zip(bounds) {
                    let moved = (*theta - length * g).clamp(*lower, *upper);
                    slope += g * (*theta - moved);
                    *theta = moved;
                }
                evaluations += 1;
                let trial = problem.solve(&theta, error, Some(&at))?;
                if trial.upper - at.lower <= -ETA * slope {
                    step = Some(STEP[1] * length);
                    break 'rounds trial;
                }
                length *= STEP[0];
            }
            error *= ERROR[0];
            let theta = at.theta.clone();
            evaluations += 1;
            at = problem.solve(&theta, error, Some(&at))?;
        };
        error *= ERROR[1];
        at = accepted;
    }
}
