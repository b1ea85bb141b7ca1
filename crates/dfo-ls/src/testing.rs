//! Least-squares problems with known answers, for tests and benchmarks of solvers.

mod equations;
mod fits;
mod function;
mod linear;
mod problems;

use problems::{PROBLEMS, TestProblem};

/// One of the 53 least-squares problems, minimise `$f(\theta) = \|r(\theta)\|^2$`, on which Moré
/// and Wild compare derivative-free solvers.
///
/// The problems combine 22 functions with sizes and with two starts: the standard one, and a "far"
/// one that is ten times as far from the origin (J. J. Moré and S. M. Wild, *Benchmarking
/// Derivative-Free Optimization Algorithms*, SIAM J. Optim. 20, 2009, Section 4). Functions with a
/// number under MGH are defined in J. J. Moré, B. S. Garbow and K. E. Hillstrom, *Testing
/// Unconstrained Optimization Software*, ACM Trans. Math. Softw. 7, 1981; the others are from the
/// collection CUTEr. The formulas are documented with the functions in the source of this module.
///
/// | [`name`](Self::name) | MGH | [`number`](Self::number), far in brackets | parameters × residuals | least `$f$`, and other values at which solvers end |
/// |---|---|---|---|---|
/// | `linear_full_rank` | 32 | 0 (1) | 9 × 45 | 36 |
/// | `linear_rank1` | 33 | 2 (3) | 7 × 35 | 8.38028 |
/// | `linear_rank1_zero` | 34 | 4 (5) | 7 × 35 | 9.88060 |
/// | `rosenbrock` | 1 | 6 (7) | 2 × 2 | 0 |
/// | `helical_valley` | 7 | 8 (9) | 3 × 3 | 0 |
/// | `powell_singular` | 13 | 10 (11) | 4 × 4 | 0 |
/// | `freudenstein_roth` | 2 | 12 (13) | 2 × 2 | 0, and 48.9843 locally |
/// | `bard` | 8 | 14 (15) | 3 × 15 | 8.21488e-3, and 17.4287 towards infinity |
/// | `kowalik_osborne` | 15 | 16 | 4 × 11 | 3.07506e-4, and 1.02734e-3 towards infinity |
/// | `meyer` | 10 | 17 | 3 × 16 | 87.9459 |
/// | `watson` | 20 | 18 (19) | 6 × 31 | 2.28767e-3 |
/// | | | 20 (21) | 9 × 31 | 1.39976e-6 |
/// | | | 22 (23) | 12 × 31 | 4.72238e-10 |
/// | `box3d` | 12 | 24 | 3 × 10 | 0 |
/// | `jennrich_sampson` | 6 | 25 | 2 × 10 | 124.362 |
/// | `brown_dennis` | 16 | 26 (27) | 4 × 20 | 85822.2 |
/// | `chebyquad` | 35 | 28, 29, 31 | 6 × 6, 7 × 7, 9 × 9 | 0 |
/// | | | 30 | 8 × 8 | 3.51687e-3 |
/// | | | 32 | 10 × 10 | 4.77271e-3, and 6.50395e-3 locally |
/// | | | 33 | 11 × 11 | 2.79976e-3 |
/// | `brown_almost_linear` | 27 | 34 | 10 × 10 | 0, and 1 locally |
/// | `osborne1` | 17 | 35 | 5 × 33 | 5.46489e-5 |
/// | `osborne2` | 19 | 36 (37) | 11 × 65 | 4.01377e-2, and 1.78981 locally |
/// | `bdqrtic` | | 38 | 8 × 8 | 10.2390 |
/// | | | 39 | 10 × 12 | 18.2812 |
/// | | | 40 | 11 × 14 | 22.2606 |
/// | | | 41 | 12 × 16 | 26.2728 |
/// | `cube` | | 42, 43, 44 | 5 × 5, 6 × 6, 8 × 8 | 0 |
/// | `mancino` | | 45 (46) | 5 × 5 | 0 |
/// | | | 47, 48 | 8 × 8, 10 × 10 | 0 |
/// | | | 49 (50) | 12 × 12 | 0 |
/// | `heart8ls` | | 51 (52) | 8 × 8 | 0 |
///
/// Moré and Wild call a problem solved to the tolerance `$\tau$` at the first `$\theta$` with
///
/// ```math
/// f(\theta) \le f_L + \tau \bigl(f(\theta_0) - f_L\bigr),
/// ```
///
/// where `$\theta_0$` is the [`start`](Self::start) and `$f_L$` the
/// [`best_known`](Self::best_known) value:
///
/// ```
/// use dfo_ls::testing::MoreWild;
///
/// let objective = |problem: MoreWild, theta: &[f64]| -> f64 {
///     let mut residuals = vec![0.0; problem.num_residuals()];
///     problem.residuals(theta, &mut residuals);
///     residuals.iter().map(|r| r * r).sum()
/// };
/// // Put your solver here. This one always returns (1, ..., 1).
/// let solve = |problem: MoreWild| vec![1.0; problem.num_params()];
///
/// let solved = MoreWild::all().filter(|problem| {
///     let (start, best) = (objective(*problem, &problem.start()), problem.best_known());
///     objective(*problem, &solve(*problem)) <= best + 1e-5 * (start - best)
/// });
/// let mut names: Vec<&str> = solved.map(MoreWild::name).collect();
/// names.dedup();
/// // The last one counts as solved because its start is so bad that the test asks for little.
/// assert_eq!(names, ["rosenbrock", "brown_almost_linear", "cube", "heart8ls"]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MoreWild {
    /// The number of the problem, less than 53.
    number: usize,
}

impl MoreWild {
    /// The problem with this number, counted from 0; `None` from 53 on.
    #[must_use]
    pub const fn new(number: usize) -> Option<Self> {
        if number < PROBLEMS.len() {
            Some(Self { number })
        } else {
            None
        }
    }

    /// All problems, in the order of their numbers.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..PROBLEMS.len()).map(|number| Self { number })
    }

    /// The number of the problem, counted from 0 as in [`all`](Self::all).
    #[must_use]
    pub const fn number(self) -> usize {
        self.number
    }

    /// The name of the function, which several problems may share.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.problem().function.name()
    }

    /// The number of parameters `$\theta$`.
    #[must_use]
    pub const fn num_params(self) -> usize {
        self.problem().num_params
    }

    /// The number of residuals `$r(\theta)$`.
    #[must_use]
    pub const fn num_residuals(self) -> usize {
        self.problem().num_residuals
    }

    /// The parameters that a solver starts from.
    ///
    /// These are Moré and Wild's starts, which differ from MGH's for `watson` (0.5 instead of 0)
    /// and `osborne1` (the third parameter is 1 instead of -1).
    #[must_use]
    pub fn start(self) -> Vec<f64> {
        let problem = self.problem();
        let mut start = problem.function.start(problem.num_params);
        for theta in &mut start {
            *theta *= problem.start_factor;
        }
        start
    }

    /// Overwrites `out` with `$r(\theta)$`, without allocation.
    ///
    /// Far from the start a residual may overflow or be undefined. It is infinite or NaN then.
    ///
    /// # Panics
    /// When the length of `theta` is not [`num_params`](Self::num_params), or the length of `out`
    /// is not [`num_residuals`](Self::num_residuals).
    pub fn residuals(&self, theta: &[f64], out: &mut [f64]) {
        let problem = self.problem();
        let name = problem.function.name();
        assert_eq!(theta.len(), problem.num_params, "parameters of {name}");
        assert_eq!(out.len(), problem.num_residuals, "residuals of {name}");
        problem.function.residuals(theta, out);
    }

    /// The least `$\|r\|^2$` that a solver has reached from this start: `$f_L$` in the test above.
    ///
    /// It is the least value of all runs, with and without noise in the residuals, in a comparison
    /// of DFO-LS, POUNDERS and other solvers (`tests/golden/more_wild.json` documents its origin).
    /// Solvers should be compared with it, because it can be reached from this start. It need not
    /// be the least value of the function, and is not for
    ///
    /// - 12, `freudenstein_roth`: 48.9843, the local minimum;
    /// - 17, `meyer`: 226.226, still in the valley that leads to 87.9459;
    /// - 37, `osborne2`, far: 1.78981, a local minimum;
    /// - 44, `cube` with eight parameters: 6.6e-9, on the way to 0.
    ///
    /// Minima of 0 are recorded with their rounding errors, such as 4e-53.
    #[must_use]
    pub const fn best_known(self) -> f64 {
        self.problem().best_known
    }

    const fn problem(self) -> TestProblem {
        PROBLEMS[self.number]
    }
}

/// The numbers `$1, 2, 3, \dots$`, which are the indices of the formulas.
fn counting() -> impl Iterator<Item = f64> {
    (1_u32..).map(f64::from)
}

/// All parameters as an array, so that they can be named.
fn parameters<const N: usize>(theta: &[f64]) -> [f64; N] {
    theta.try_into().expect("the length was checked on entry")
}

const fn as_f64(n: usize) -> f64 {
    n as f64
}
