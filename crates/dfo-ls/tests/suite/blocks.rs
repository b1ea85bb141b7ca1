//! Sums over residuals are computed block by block.

use dfo_ls::{FnOracle, Options, Problem, Report, SetupError, minimize};

/// Lengths of blocks whose sums round differently from the sum over the whole vector.
const LENGTHS: [usize; 4] = [37, 1, 100, 62];

fn oracle() -> FnOracle<impl FnMut(&[f64], &mut [f64])> {
    FnOracle::new(200, |theta: &[f64], residuals: &mut [f64]| {
        for (i, r) in residuals.iter_mut().enumerate() {
            let t = i as f64 / 200.0;
            *r = theta[0] * (-theta[1] * t).exp() - (1.0 + t).sin();
        }
    })
}

fn run(lengths: &[usize]) -> Report {
    let problem = Problem::new([0.3, 2.0]).with_blocks(lengths);
    minimize(&mut oracle(), problem, Options::default()).expect("a valid problem")
}

/// `$\sum_b \|r_b\|^2$`, with the kernel's order of eight running sums within a block.
fn by_blocks(residuals: &[f64], lengths: &[usize]) -> f64 {
    let mut rest = residuals;
    lengths.iter().fold(0.0, |sum, &length| {
        let (block, behind) = rest.split_at(length);
        rest = behind;
        let mut lanes = [0.0; 8];
        let whole = block.chunks_exact(8);
        let tail: f64 = whole.remainder().iter().map(|r| r * r).sum();
        for chunk in whole {
            for (lane, r) in lanes.iter_mut().zip(chunk) {
                *lane += r * r;
            }
        }
        let [a, b, c, d, e, f, g, h] = lanes;
        sum + (((a + e) + (c + g)) + ((b + f) + (d + h)) + tail)
    })
}

/// A caller that computes residuals elsewhere must reproduce the order of sums to the last bit.
#[test]
fn the_objective_is_a_sum_of_blocks() {
    for lengths in [&LENGTHS[..], &[200]] {
        let report = run(lengths);
        let expected = by_blocks(&report.residuals, lengths);
        assert_eq!(report.objective.to_bits(), expected.to_bits());
    }
    assert_ne!(
        run(&LENGTHS).objective.to_bits(),
        run(&[]).objective.to_bits()
    );
}

/// One block gives the same run as no blocks, and several blocks change only rounding errors.
#[test]
fn blocks_change_only_the_last_digits() {
    let (none, one, four) = (run(&[]), run(&[200]), run(&LENGTHS));
    assert_eq!(none.evaluations, one.evaluations);
    assert_eq!(none.iterations, one.iterations);
    for (a, b) in none.theta.iter().zip(&four.theta) {
        assert!((a - b).abs() < 1e-6, "{a} {b}");
    }
    assert!((none.objective - four.objective).abs() < 1e-12 * none.objective);
}

#[test]
fn lengths_must_add_up() {
    let problem = Problem::new([0.3, 2.0]).with_blocks([100, 99]);
    let error = minimize(&mut oracle(), problem, Options::default()).expect_err("too short");
    let expected = SetupError::BlockLengths {
        expected: 200,
        found: 199,
    };
    assert_eq!(error, expected);
}
