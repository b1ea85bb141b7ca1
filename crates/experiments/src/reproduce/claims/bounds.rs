//! Claims about Figure 3: the paper's error bounds and the true errors.

use super::measure::{digits, relative};
use super::{Claim, Topic, Verdict};

/// The end of one panel of Figure 3: squared distances from the minimiser after the last iteration.
#[derive(Clone, Debug, PartialEq)]
pub struct Convergence {
    /// The letter of the panel: `a`, `b`, `c` or `d`.
    pub panel: char,
    /// The strong convexity constant.
    pub mu: f64,
    /// The smoothness constant.
    pub lipschitz: f64,
    /// The true squared error.
    pub error: f64,
    /// The bound from the gradient.
    pub gradient_bound: f64,
    /// The bound from the rate of convergence.
    pub linear_bound: f64,
}

/// The expected numbers of a panel.
struct ExpectedPanel {
    panel: char,
    text: &'static str,
    mu: f64,
    lipschitz: f64,
    error: f64,
    gradient_bound: f64,
    linear_bound: f64,
    /// The relative tolerance of the errors if it is at most 1; otherwise a factor, for errors that
    /// are mostly rounding.
    tolerance: f64,
}

/// Source: rows 3a to 3d of the reference archive's FIGURES.md, and section 10 of its FACTS.md,
/// where errors have two or three digits. The last errors of FISTA are rounding errors, and
/// compared within a factor of 30.
const PANELS: [ExpectedPanel; 4] = [
    ExpectedPanel {
        panel: 'a',
        text: "After 200 iterations of gradient descent on Nesterov's quadratic, the gradient \
               bound equals the true error; the rate bound is far larger",
        mu: 3.005_10,
        lipschitz: 97.994_90,
        error: 1.807e-8,
        gradient_bound: 1.809e-8,
        linear_bound: 3.62e-3,
        tolerance: 0.01,
    },
    ExpectedPanel {
        panel: 'b',
        text: "After 200 iterations of FISTA on Nesterov's quadratic, the gradient bound equals \
               the true error; the rate bound is far larger",
        mu: 3.005_10,
        lipschitz: 97.994_90,
        error: 3.5e-27,
        gradient_bound: 3.5e-27,
        linear_bound: 6.8e-13,
        tolerance: 30.0,
    },
    ExpectedPanel {
        panel: 'c',
        text: "After 2,000 iterations of gradient descent for denoising, the gradient bound is \
               twice the true error, the rate bound 1,000 times",
        mu: 1.001,
        lipschitz: 1_201.001,
        error: 2.63e-5,
        gradient_bound: 4.94e-5,
        linear_bound: 3.70e-2,
        tolerance: 0.01,
    },
    ExpectedPanel {
        panel: 'd',
        text: "After 1,000 iterations of FISTA for denoising, the gradient bound is about the true \
               error; the rate bound is far larger",
        mu: 1.001,
        lipschitz: 1_201.001,
        error: 5.4e-24,
        gradient_bound: 5.4e-24,
        linear_bound: 2.4e-10,
        tolerance: 30.0,
    },
];

pub(super) fn claims(measured: &[Convergence]) -> Vec<Claim> {
    let claim = |expected: &ExpectedPanel| {
        let panel = expected.panel;
        let numbers = [
            expected.mu,
            expected.lipschitz,
            expected.error,
            expected.gradient_bound,
            expected.linear_bound,
        ];
        let rounding = match expected.tolerance > 1.0 {
            true => "; error and gradient bound, which are rounding errors, within a factor of 30",
            false => "; errors within 1 %",
        };
        Claim::new(
            Topic::Foundations,
            &format!("bounds/3{panel}"),
            &[3],
            format!("Figure 3({panel}). {}.", expected.text),
        )
        .expected(
            text(numbers) + rounding,
            "paper, Figure 3; reference archive, FIGURES.md row 3 and FACTS.md section 10",
        )
        .verdict(verdict(expected, measured))
    };
    PANELS.iter().map(claim).collect()
}

fn verdict(expected: &ExpectedPanel, measured: &[Convergence]) -> Verdict {
    let mut all = measured.iter();
    let Some(found) = all.find(|one| one.panel == expected.panel) else {
        return Err("the panel was not computed".to_owned());
    };
    let is_close = |value: f64, expected: f64, tolerance: f64| {
        if tolerance > 1.0 {
            let ratio = value / expected;
            1.0 / tolerance <= ratio && ratio <= tolerance
        } else {
            relative(value, expected) <= tolerance
        }
    };
    let tolerance = expected.tolerance;
    let holds = relative(found.mu, expected.mu) <= 1e-5
        && relative(found.lipschitz, expected.lipschitz) <= 1e-5
        && is_close(found.error, expected.error, tolerance)
        && is_close(found.gradient_bound, expected.gradient_bound, tolerance)
        // The archive has two digits.
        && relative(found.linear_bound, expected.linear_bound) <= 0.03;
    let numbers = [
        found.mu,
        found.lipschitz,
        found.error,
        found.gradient_bound,
        found.linear_bound,
    ];
    Ok((holds, text(numbers)))
}

fn text([mu, lipschitz, error, gradient, linear]: [f64; 5]) -> String {
    format!(
        "mu = {}, L = {}; error {}, gradient bound {}, rate bound {}",
        digits(mu, 6),
        digits(lipschitz, 7),
        digits(error, 3),
        digits(gradient, 3),
        digits(linear, 3)
    )
}
