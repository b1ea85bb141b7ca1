//! Evaluation of the objective's gradients, with checks and counts.

use crate::buffer::Buffer;
use crate::error::SolveError;
use crate::norm::{norm, norm_from_squared};
use crate::objective::{Curvature, StronglyConvex};
use crate::update::Update;

/// The objective of a solve, its working memory, and the work of this call.
pub(crate) struct Evaluator<'a, O: StronglyConvex> {
    pub(crate) objective: &'a O,
    pub(crate) curvature: Curvature,
    pub(crate) scratch: &'a mut O::Scratch,
    pub(crate) iterations: u64,
    pub(crate) gradients: u64,
    /// The difference between the work and the number of gradients, in units of one gradient.
    pub(crate) other_work: f64,
    /// Gradients may be rough as long as their norm is larger than this number, if there is one.
    pub(crate) rough_above: Option<f64>,
    /// The error of the last gradient, if it was rough.
    pub(crate) rough_error: Option<f64>,
    /// The norm of the smallest rough gradient of this solve, and the number of them since.
    pub(crate) smallest_rough: (f64, u32),
}

/// The work of a rough gradient, in units of one gradient.
pub(crate) const ROUGH_WORK: f64 = 0.5;
/// Rough gradients are used until they are smaller than this many times their error; a choice. The
/// bound on the error is typically thousands of times too large, so it is measured at the start.
pub(crate) const ROUGH_MARGIN: f64 = 8.0;
/// The error may be larger elsewhere. So rough gradients below the bound are used as long as one of
/// this many is smaller than all before; a choice.
const ROUGH_PATIENCE: u32 = 4;

/// The gradient at the point of a state.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Gradient {
    /// The entries. They have no meaning if `norm` is `None`.
    pub(crate) values: Buffer,
    pub(crate) norm: Option<f64>,
}

impl Gradient {
    /// Allocates the entries of a gradient that was not saved.
    pub(crate) fn make_room(&mut self, dim: usize) {
        if self.values.len() != dim {
            self.clear(dim);
        }
    }

    /// Forgets the gradient. The entries become NaN, so that an entry that the objective fails to
    /// write is noticed.
    pub(crate) fn clear(&mut self, dim: usize) {
        self.values.fill_to(dim, f64::NAN, Buffer::GRADIENT);
        self.norm = None;
    }

    /// A gradient that was not saved.
    pub(crate) fn unknown() -> Self {
        Self {
            values: Buffer::default(),
            norm: None,
        }
    }

    /// Copies `other`. If `other` has no entries, the memory of this gradient stays.
    pub(crate) fn copy_from(&mut self, other: &Self, dim: usize) {
        if other.values.is_empty() {
            self.clear(dim);
        } else {
            self.values.assign(&other.values);
        }
        self.norm = other.norm;
    }
}

/// The norms that an iteration measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measured {
    /// The norm that certifies the point: `$\|\nabla\Phi\|$` at the point, or over a set the
    /// `$\|G\|$` of the step that led to it.
    pub(crate) norm: f64,
    /// The norm of the last gradient. Over the whole space it equals `norm`.
    pub(crate) gradient_norm: f64,
}

impl Measured {
    /// The norms over the whole space.
    pub(crate) const fn gradient(norm: f64) -> Self {
        Self {
            norm,
            gradient_norm: norm,
        }
    }
}

impl<O: StronglyConvex> Evaluator<'_, O> {
    /// Evaluates the gradient at `point`, and returns its norm.
    pub(crate) fn gradient(
        &mut self,
        point: &[f64],
        gradient: &mut Gradient,
    ) -> Result<f64, SolveError> {
        if let Some(norm) = self.rough_gradient(point, gradient) {
            return Ok(norm);
        }
        let squared =
            (self.objective).gradient_with_norm(point, &mut gradient.values, self.scratch);
        self.measure(squared, gradient)
    }

    /// Applies `update` to `point`, evaluates the gradient there, and returns its norm.
    pub(crate) fn advance(
        &mut self,
        mut update: Update<'_>,
        point: &mut [f64],
        gradient: &mut Gradient,
    ) -> Result<f64, SolveError> {
        if self.rough_above.is_some() {
            update.apply(0..point.len(), point, &gradient.values);
            return self.gradient(point, gradient);
        }
        let squared = (self.objective).advance(update, point, &mut gradient.values, self.scratch);
        self.measure(squared, gradient)
    }

    /// Evaluates a rough gradient at `point`, and returns its norm. If it is too small, this
    /// solve uses no further ones.
    fn rough_gradient(&mut self, point: &[f64], gradient: &mut Gradient) -> Option<f64> {
        let least = self.rough_above?;
        (self.objective).rough_gradient(point, &mut gradient.values, self.scratch);
        self.gradients += 1;
        self.other_work += ROUGH_WORK - 1.0;
        let found = norm(&gradient.values);
        match &mut self.smallest_rough {
            (smallest, since) if found < *smallest => (*smallest, *since) = (found, 0),
            (_, since) => *since += 1,
        }
        // NaN is too small.
        if let Some(error) = self.objective.rough_rounding(norm(point), found)
            && found > least
            && (found > error || self.smallest_rough.1 < ROUGH_PATIENCE)
            && found.is_finite()
        {
            gradient.norm = Some(found);
            self.rough_error = Some(error);
            return Some(found);
        }
        self.rough_above = None;
        None
    }

    /// Counts and checks the gradient that was just evaluated.
    fn measure(&mut self, squared: f64, gradient: &mut Gradient) -> Result<f64, SolveError> {
        self.gradients += 1;
        self.rough_error = None;
        let norm = norm_from_squared(squared, &gradient.values);
        gradient.norm = norm.is_finite().then_some(norm);
        gradient.norm.ok_or(SolveError::NonFiniteGradient {
            iterations: self.iterations,
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::{Curvature, ErrorBound, Solver, State, Stop, StronglyConvex, norm};

    /// The function `$\frac12\sum_j l_jx_j^2$`, whose rough gradients have an error of norm
    /// `rough`, in all entries alike.
    struct Diagonal {
        rough: Option<f64>,
        /// Whether the rough gradient at the start has no error.
        is_hidden: bool,
    }

    const DIM: usize = 64;

    impl StronglyConvex for Diagonal {
        type Scratch = ();

        fn dim(&self) -> usize {
            DIM
        }

        fn curvature(&self) -> Curvature {
            Curvature::new(1.0, DIM as f64).expect("valid")
        }

        fn scratch(&self) {}

        fn gradient(&self, x: &[f64], gradient: &mut [f64], (): &mut ()) {
            for (j, (gradient, x)) in gradient.iter_mut().zip(x).enumerate() {
                *gradient = (j + 1) as f64 * x;
            }
        }

        fn value(&self, x: &[f64], (): &mut ()) -> f64 {
            let terms = x.iter().enumerate();
            0.5 * terms.map(|(j, x)| (j + 1) as f64 * x * x).sum::<f64>()
        }

        fn rough_rounding(&self, _: f64, _: f64) -> Option<f64> {
            self.rough.map(|rough| 1.1 * rough)
        }

        fn rough_gradient(&self, x: &[f64], gradient: &mut [f64], scratch: &mut ()) {
            self.gradient(x, gradient, scratch);
            if self.is_hidden && x == start() {
                return;
            }
            let error = self.rough.expect("offered") / (DIM as f64).sqrt();
            for gradient in gradient {
                *gradient += error;
            }
        }
    }

    fn start() -> Vec<f64> {
        (1..=DIM).map(|j| (j as f64).sin()).collect()
    }

    fn solve(rough: Option<f64>, target: f64, max_iterations: Option<u64>) -> (State, f64, f64) {
        let is_hidden = false;
        solve_objective(&Diagonal { rough, is_hidden }, target, max_iterations)
    }

    fn solve_objective(
        objective: &Diagonal,
        target: f64,
        max_iterations: Option<u64>,
    ) -> (State, f64, f64) {
        let mut state = State::new(start());
        let mut stop = Stop::accuracy(ErrorBound::new(target).expect("not negative"));
        if let Stop::Accuracy {
            max_iterations: max,
            ..
        } = &mut stop
        {
            *max = max_iterations;
        }
        let solved = Solver::default().minimize(objective, stop, &mut state, &mut ());
        let solved = solved.expect("finite");
        let mut gradient = vec![0.0; DIM];
        objective.gradient(state.point(), &mut gradient, &mut ());
        assert_eq!(
            state.gradient(),
            Some(&gradient[..]),
            "the last gradient is exact"
        );
        assert!(norm(state.point()) <= solved.error.value());
        (state, solved.error.value(), solved.work)
    }

    #[test]
    fn results_are_certified_by_exact_gradients() {
        for rough in [1e-12, 1e-6, 1e-3, 1.0, 1e6, f64::INFINITY] {
            for target in [10.0, 1.0, 1e-2, 1e-5, 1e-9] {
                let (_, error, work) = solve(Some(rough), target, None);
                assert!(error <= target, "{error} {target} {rough}");
                let (_, _, exact) = solve(None, target, None);
                assert!(work <= exact + 2.0, "{work} {exact} {rough} {target}");
            }
        }
        // As long as the error is small, nearly all of the work is halved.
        let [rough, exact] = [Some(1e-9), None].map(|rough| solve(rough, 1e-2, None).2);
        assert!(rough < 0.5 * exact + 2.0, "{rough} {exact}");
    }

    /// If the start does not show the error, rough gradients may lead to another point. At worst,
    /// the solve then begins again with exact ones.
    #[test]
    fn hidden_errors_cost_at_most_half_of_the_work() {
        for rough in [1e-6, 1e-3, 1.0] {
            let objective = Diagonal {
                rough: Some(rough),
                is_hidden: true,
            };
            let (_, error, work) = solve_objective(&objective, 1e-9, None);
            let (_, _, exact) = solve(None, 1e-9, None);
            assert!(
                error <= 1e-9 && work <= 1.5 * exact + 8.0,
                "{work} {exact} {rough}"
            );
        }
    }

    /// A rough gradient that is not a number counts as too small.
    #[test]
    fn bad_rough_gradients_change_nothing() {
        for rough in [f64::NAN, f64::INFINITY] {
            let (state, ..) = solve(Some(rough), 1e-6, None);
            let (expected, ..) = solve(None, 1e-6, None);
            assert_eq!(state.point(), expected.point());
        }
    }

    #[test]
    fn solves_that_stop_early_end_with_an_exact_gradient() {
        for iterations in [0, 1, 5] {
            solve(Some(1e-6), 1e-9, Some(iterations));
        }
    }
}
