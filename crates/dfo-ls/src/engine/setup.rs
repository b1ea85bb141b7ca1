//! From a problem to an engine, and from a saved state back to one.

use std::sync::Arc;

use super::practical::Control;
use super::{Engine, Phase, State};
use crate::blocks::Blocks;
use crate::constraints::{FeasibleSet, Problem};
use crate::model::pool::{Point, Pool};
use crate::options::{Model, Scaling};
use crate::residuals::Residuals;
use crate::space::{Space, contain, project};
use crate::{Options, SetupError};

/// Up to this many parameters, models with curvature are worth their time.
const COMPOSITE_LIMIT: usize = 64;

impl<R: Clone> Engine<R> {
    /// An engine that has not asked yet.
    ///
    /// # Errors
    /// When the problem or an option is invalid: the error names it.
    pub fn new(
        problem: Problem,
        num_residuals: usize,
        options: Options,
    ) -> Result<Self, SetupError> {
        let Problem {
            start,
            feasible,
            regularizer,
            known,
            blocks,
        } = problem;
        check_problem(&start, &feasible, num_residuals)?;
        options.validate(start.len())?;
        let blocks = Blocks::new(&blocks, num_residuals)?;
        let one_unit = regularizer.is_some() || matches!(feasible, FeasibleSet::Convex(_));
        if let (true, Scaling::Given(units)) = (one_unit, &options.scaling)
            && units
                .windows(2)
                .any(|pair| pair[0].to_bits() != pair[1].to_bits())
        {
            return Err(SetupError::Conflict {
                first: "scaling",
                second: "projections or regulariser",
                why: "these are defined by distances in the given parameters, so all units must be equal",
            });
        }
        let mut space = Space::new(&start, &feasible, &options.scaling, one_unit);
        if space.dim() == 0 {
            return Err(SetupError::AllFixed);
        }
        if let FeasibleSet::Convex(sets) = &feasible {
            let mut origin = start.clone();
            project(sets, &mut origin);
            if let Some(index) = origin.iter().position(|x| !x.is_finite()) {
                return Err(SetupError::NotFinite {
                    argument: "the projection of start",
                    index,
                    found: origin[index],
                });
            }
            if !contain(sets, &origin) {
                return Err(SetupError::NoCommonPoint);
            }
            space.set_origin(origin);
        }
        if let Some(h) = &regularizer {
            let found = h.value(&space.theta(&vec![0.0; space.dim()]));
            if !found.is_finite() {
                return Err(SetupError::NotFinite {
                    argument: "the regulariser at start",
                    index: 0,
                    found,
                });
            }
        }
        let options = resolve(options, space.dim());
        let radius = options.trust_region.initial_radius;
        let mut state = State {
            num_residuals,
            needs_code: (
                matches!(feasible, FeasibleSet::Convex(_)),
                regularizer.is_some(),
            ),
            pool: Pool::new(0, Blocks::default()),
            set: Vec::new(),
            center: 0,
            linear: None,
            spans: false,
            delta: radius,
            rho: radius,
            phase: Phase::Start,
            queries: Vec::new(),
            jobs: Vec::new(),
            owners: Vec::new(),
            control: Control::default(),
            best: None,
            last_resume: None,
            draws: 0,
            curvature: None,
            exhausted: None,
            termination: None,
            iterations: Vec::new(),
            seen: 0,
            evaluations: Vec::new(),
            history: None,
            next_number: 0,
            num_vectors: 0,
            num_points: 0,
            work: 0,
            options,
            space,
        };
        state.pool = Pool::new(capacity(&state), blocks);
        let mut engine = Self {
            feasible: Arc::new(feasible),
            regularizer: regularizer.map(Arc::from),
            state,
        };
        let mut points = Vec::new();
        for (index, known) in known.into_iter().enumerate() {
            points.extend(engine.known_point(index, known)?);
        }
        engine.begin(points);
        Ok(engine)
    }

    /// Continues a saved run of `problem`, of which only projections and regulariser are used: the rest is in the state.
    ///
    /// # Errors
    /// When the state belongs to a problem with another number of parameters, other bounds or other blocks, projections or the
    /// regulariser are missing, or a lean state was not completed.
    pub fn from_state(problem: Problem, state: State<R>) -> Result<Self, SetupError> {
        if problem.start.len() != state.space.num_params() {
            return Err(SetupError::StateMismatch {
                what: "the number of parameters",
            });
        }
        let code = (
            matches!(problem.feasible, FeasibleSet::Convex(_)),
            problem.regularizer.is_some(),
        );
        if code != state.needs_code {
            return Err(SetupError::StateMismatch {
                what: "whether there are projections or a regulariser",
            });
        }
        if state.history.is_some() {
            return Err(SetupError::IncompleteState);
        }
        if !state.space.has_bounds_of(&problem.feasible) {
            return Err(SetupError::StateMismatch { what: "a bound" });
        }
        let blocks = Blocks::new(&problem.blocks, state.num_residuals);
        if blocks.as_ref() != Ok(state.pool.blocks()) {
            return Err(SetupError::StateMismatch {
                what: "the length of a block of residuals",
            });
        }
        Ok(Self {
            feasible: Arc::new(problem.feasible),
            regularizer: problem.regularizer.map(Arc::from),
            state,
        })
    }

    /// A prior evaluation as a point; `None` if it lies outside the feasible set.
    fn known_point(
        &self,
        index: usize,
        known: crate::Known,
    ) -> Result<Option<Point<R>>, SetupError> {
        let state = &self.state;
        for (argument, found, expected) in [
            ("known.theta", known.theta.len(), state.space.num_params()),
            (
                "known.residuals",
                known.residuals.len(),
                state.num_residuals,
            ),
        ] {
            if found != expected {
                return Err(SetupError::Length {
                    argument,
                    expected,
                    found,
                });
            }
        }
        for (argument, values) in [
            ("known.theta", &known.theta),
            ("known.residuals", &known.residuals),
        ] {
            if let Some(index) = values.iter().position(|x| !x.is_finite()) {
                let found = values[index];
                return Err(SetupError::NotFinite {
                    argument,
                    index,
                    found,
                });
            }
        }
        let square = state.sum_of_squares(&known.residuals);
        if !square.is_finite() {
            return Err(SetupError::NotFinite {
                argument: "the sum of squares of known",
                index,
                found: square,
            });
        }
        let mut u = state.space.scaled(&known.theta);
        let theta = state.space.make_feasible(&mut u, &self.feasible);
        let same = theta
            .iter()
            .zip(&known.theta)
            .all(|(a, b)| (a - b).abs() <= 1e-12 * a.abs().max(b.abs()));
        let penalty = self.regularizer.as_ref().map_or(0.0, |h| h.value(&theta));
        Ok(same.then_some(Point {
            u,
            theta,
            objective: square + penalty,
            penalty,
            // numbers of their own, far from those of evaluations
            residuals: Residuals::new(u64::MAX - 1 - index as u64, known.residuals),
            accuracy: known.accuracy,
            asked: known.accuracy,
            at_floor: true,
            samples: 1,
            resume: None,
            number: u64::MAX - 1 - index as u64,
        }))
    }
}

fn check_problem(
    start: &[f64],
    feasible: &FeasibleSet,
    num_residuals: usize,
) -> Result<(), SetupError> {
    if start.is_empty() {
        return Err(SetupError::NoParameters);
    }
    if num_residuals == 0 {
        return Err(SetupError::NoResiduals);
    }
    if let Some(index) = start.iter().position(|x| !x.is_finite()) {
        return Err(SetupError::NotFinite {
            argument: "start",
            index,
            found: start[index],
        });
    }
    if let FeasibleSet::Box(bounds) = feasible
        && bounds.lower().len() != start.len()
    {
        return Err(SetupError::Length {
            argument: "bounds",
            expected: start.len(),
            found: bounds.lower().len(),
        });
    }
    Ok(())
}

/// Fills in what is derived.
fn resolve(mut options: Options, dim: usize) -> Options {
    let budget = 100 * (dim as u64 + 1);
    options.budget.max_points.get_or_insert(budget);
    if options.model == Model::Automatic {
        options.model = if dim <= COMPOSITE_LIMIT {
            Model::Composite {
                points_per_param: 3.0,
            }
        } else {
            Model::Linear
        };
    }
    options
}

/// How many points are kept.
fn capacity<R>(state: &State<R>) -> usize {
    let dim = state.dim();
    match state.options.model {
        Model::Composite { points_per_param } => state.dim_times(points_per_param) + dim + 4,
        Model::Automatic | Model::Linear | Model::Regression { .. } => state.set_size() + 2,
    }
}
