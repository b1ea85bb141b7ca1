//! Errors that are certified by good and bad approximate subgradients.

use crate::second_order::{SecondOrder, Subgradient, SubgradientPoint, ThirdOrder};
use crate::{
    Certificate, Curvature, ErrorBound, Outcome, Solved, Solver, State, Stop, StronglyConvex, norm,
};

/// The function `$\sum_j\frac{l_j}2x_j^2 + \sqrt{(x_j - 1)^2 + 0.01}$`, with a choice of
/// approximate subgradients and of rough gradients.
struct Roots {
    offer: Offer,
    has_rough: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Offer {
    None,
    /// The rest of the gradient after a Newton step for each entry.
    Good,
    /// A slack that is not a number.
    NotANumber,
    /// The gradient, which certifies nothing more.
    Gradient,
}

const DIM: usize = 60;

fn weight(j: usize) -> f64 {
    100_f64.powf(j as f64 / DIM as f64)
}

/// The derivative of `$\Phi - \frac12\|\cdot\|^2$`.
fn slope(j: usize, x: f64) -> f64 {
    (weight(j) - 1.0) * x + (x - 1.0) / (x - 1.0).hypot(0.1)
}

impl StronglyConvex for Roots {
    type Scratch = ();

    fn dim(&self) -> usize {
        DIM
    }

    fn curvature(&self) -> Curvature {
        Curvature::new(1.0, 110.0).expect("valid")
    }

    fn scratch(&self) {}

    fn gradient(&self, x: &[f64], gradient: &mut [f64], (): &mut ()) {
        for (j, (gradient, x)) in gradient.iter_mut().zip(x).enumerate() {
            *gradient = x + slope(j, *x);
        }
    }

    fn value(&self, x: &[f64], (): &mut ()) -> f64 {
        let terms = x.iter().enumerate();
        let term = |(j, x): (usize, &f64)| 0.5 * weight(j) * x * x + (x - 1.0).hypot(0.1);
        terms.map(term).sum()
    }

    fn rough_rounding(&self, _: f64, _: f64) -> Option<f64> {
        self.has_rough.then_some(1e-9)
    }

    fn second_order(&self) -> Option<&dyn SecondOrder<()>> {
        Some(self)
    }
}

impl SecondOrder<()> for Roots {
    fn linearise(&self, _: &[f64], (): &mut ()) {}

    fn hessian_product(&self, _: &[f64], _: &mut [f64], (): &mut ()) {}

    fn product_rounding(&self, _: f64) -> f64 {
        f64::INFINITY
    }

    fn third_order(&self, _: &[f64], _: f64, (): &mut ()) -> ThirdOrder {
        ThirdOrder::UNKNOWN
    }

    fn subgradient(
        &self,
        at: &SubgradientPoint<'_>,
        out: &mut [f64],
        (): &mut (),
    ) -> Option<Subgradient> {
        let mut slack = 0.0;
        for (j, out) in out.iter_mut().enumerate() {
            let x = at.x[j];
            let w = match self.offer {
                Offer::None => return None,
                Offer::Good | Offer::NotANumber => at.shift[j] / (weight(j) + 1.0),
                Offer::Gradient => 0.0,
            };
            let change = slope(j, x) - slope(j, x - w);
            *out = x + slope(j, x) - change;
            slack += change * w;
        }
        if self.offer == Offer::NotANumber {
            slack = f64::NAN;
        }
        Some(Subgradient {
            slack,
            rounding: 1e-12,
            cost: 1.5,
        })
    }
}

fn solve(offer: Offer, has_rough: bool, target: f64) -> (State, Solved) {
    let mut state = State::new((0..DIM).map(|j| (j as f64).sin()).collect());
    let stop = Stop::accuracy(ErrorBound::new(target).expect("not negative"))
        .with_certificate(Certificate::Subgradient);
    let objective = Roots { offer, has_rough };
    let solved = Solver::default().minimize(&objective, stop, &mut state, &mut ());
    (state, solved.expect("finite"))
}

fn distance(a: &State, b: &State) -> f64 {
    let differences = a.point().iter().zip(b.point()).map(|(a, b)| a - b);
    norm(&differences.collect::<Vec<_>>())
}

#[test]
fn sharper_errors_save_iterations() {
    let (exact, _) = solve(Offer::None, false, 1e-12);
    for has_rough in [false, true] {
        for target in [1e-1, 1e-2, 1e-3, 1e-4] {
            let (_, plain) = solve(Offer::None, has_rough, target);
            let (state, solved) = solve(Offer::Good, has_rough, target);
            assert_eq!(solved.outcome, Outcome::Converged);
            let error = distance(&state, &exact);
            assert!(error <= solved.error.value() && solved.error.value() <= target);
            assert!(
                solved.iterations < plain.iterations,
                "{has_rough} {target}: {solved:?} {plain:?}"
            );
        }
    }
}

/// Without useful subgradients, the gradient certifies the error, at the same point as without
/// them.
#[test]
fn bad_subgradients_change_nothing() {
    for has_rough in [false, true] {
        for target in [1e-2, 1e-6] {
            let (state, plain) = solve(Offer::None, has_rough, target);
            for offer in [Offer::NotANumber, Offer::Gradient] {
                let (other, solved) = solve(offer, has_rough, target);
                assert_eq!(solved.error, plain.error, "{offer:?}");
                assert_eq!(state.point(), other.point(), "{offer:?}");
                assert!(solved.work < plain.work + 20.0, "{offer:?} {solved:?}");
            }
        }
    }
}

/// A state whose gradient was rough at the end continues.
#[test]
fn certified_states_can_be_refined() {
    let (mut state, _) = solve(Offer::Good, true, 1e-2);
    let (exact, _) = solve(Offer::None, false, 1e-12);
    let objective = Roots {
        offer: Offer::Good,
        has_rough: true,
    };
    let stop = Stop::accuracy(ErrorBound::new(1e-5).expect("positive"));
    let solved = Solver::default().refine(&objective, stop, &mut state, &mut ());
    let error = solved.expect("finite").error.value();
    assert!(distance(&state, &exact) <= error && error <= 1e-5);
    assert!(state.gradient().is_some());
}
