//! Construction of an engine from a problem or from a saved state.

use std::sync::Arc;

use super::{
    Engine, Interpolation, Ledger, Outstanding, Run, State, TrustState, has_projections, width,
};
use crate::blocks::Blocks;
use crate::constraints::{FeasibleSet, Problem, Regularizer};
use crate::model::pool::Point;
use crate::options::{Model, Samples, Scaling};
use crate::residuals::Residuals;
use crate::space::{Space, contain, project};
use crate::{Options, SetupError};

/// The largest number of parameters for which quadratic models are the default (decision record 7).
const COMPOSITE_LIMIT: usize = 64;
/// The number of points of a quadratic model per parameter, in addition to the incumbent (decision
/// record 7).
const COMPOSITE_POINTS: f64 = 3.0;
/// The factor `$c$` of the default budget of `$c(d + 1)$` points, which is that of DFO-LS (Cartis
/// et al., 2019) without its upper limit of 1000 evaluations. The budget is this multiple of the
/// batch size, so that it allows for about the same number of rounds.
const POINTS_PER_PARAM: u64 = 100;

/// The number of batches by which the points of a quadratic model increase (decision record 18).
const BATCHES_IN_MODEL: usize = 2;

/// The parts of a problem that a state does not contain because they are code: the projections of
/// the feasible set, and the regulariser.
#[derive(Clone, Debug)]
pub(super) struct UserCode {
    pub(super) feasible: Arc<FeasibleSet>,
    pub(super) regularizer: Option<Arc<dyn Regularizer>>,
}

impl UserCode {
    fn new(feasible: FeasibleSet, regularizer: Option<Box<dyn Regularizer>>) -> Self {
        Self {
            feasible: Arc::new(feasible),
            regularizer: regularizer.map(Arc::from),
        }
    }

    /// Whether there are projections, and a regulariser.
    fn kinds(&self) -> (bool, bool) {
        (has_projections(&self.feasible), self.regularizer.is_some())
    }

    fn penalty(&self, theta: &[f64]) -> f64 {
        self.regularizer.as_ref().map_or(0.0, |h| h.value(theta))
    }
}

impl<R: Clone> Engine<R> {
    /// Creates an engine for a problem with `num_residuals` residuals.
    ///
    /// # Errors
    /// When the problem or an option is invalid. The error names it.
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
            products,
        } = problem;
        check_problem(&start, &feasible, num_residuals)?;
        options.validate(start.len())?;
        if products {
            check_products(&known, &options)?;
        }
        let blocks = Blocks::new(&blocks, num_residuals)?;
        let code = UserCode::new(feasible, regularizer);
        let space = space(&start, &code, &options.scaling)?;
        let options = resolve(options, space.dim());
        let (size, capacity) = sizes(&options, space.dim(), products);
        let mut engine = Self {
            state: State {
                num_residuals,
                products,
                needs_code: code.kinds(),
                points: Interpolation::new(size, capacity, blocks),
                trust: TrustState::new(options.trust_region.initial_radius),
                outstanding: Outstanding::default(),
                ledger: Ledger::default(),
                options,
                space,
            },
            code,
        };
        let run = engine.run();
        let known = (known.into_iter().enumerate()).map(|(i, known)| run.known_point(i, known));
        let known: Result<Vec<Option<Point<R>>>, SetupError> = known.collect();
        engine.begin(known?.into_iter().flatten().collect());
        Ok(engine)
    }

    /// Resumes a saved run of `problem`. Only its projections and its regulariser are used; the
    /// state contains the rest.
    ///
    /// # Errors
    /// When the state belongs to a problem with another number of parameters, other bounds or other
    /// blocks, when projections or the regulariser are missing, or when a lean state was not
    /// completed.
    pub fn from_state(problem: Problem, state: State<R>) -> Result<Self, SetupError> {
        let differs = |what: &'static str| Err(SetupError::StateMismatch { what });
        let code = UserCode::new(problem.feasible, problem.regularizer);
        if problem.start.len() != state.space.num_params() {
            return differs("the number of parameters");
        }
        if code.kinds() != state.needs_code {
            return differs("whether there are projections or a regulariser");
        }
        if state.ledger.missing.is_some() {
            return Err(SetupError::IncompleteState);
        }
        if !state.space.has_bounds_of(&code.feasible) {
            return differs("a bound");
        }
        if problem.products != state.products {
            return differs("whether residual vectors stay with the oracle");
        }
        let blocks = Blocks::new(&problem.blocks, state.num_residuals);
        if blocks.as_ref() != Ok(state.points.blocks()) {
            return differs("the length of a block of residuals");
        }
        Ok(Self { code, state })
    }
}

impl<R: Clone> Run<'_, R> {
    /// Converts a known evaluation to a point; `None` if it lies outside the feasible set.
    fn known_point(
        &self,
        index: usize,
        known: crate::Known,
    ) -> Result<Option<Point<R>>, SetupError> {
        for (argument, found, expected) in [
            ("known.theta", known.theta.len(), self.space.num_params()),
            ("known.residuals", known.residuals.len(), self.num_residuals),
        ] {
            if found != expected {
                return Err(SetupError::Length {
                    argument,
                    expected,
                    found,
                });
            }
        }
        check_finite("known.theta", &known.theta)?;
        check_finite("known.residuals", &known.residuals)?;
        let square = self.points.blocks().dot(&known.residuals, &known.residuals);
        if !square.is_finite() {
            return Err(SetupError::NotFinite {
                argument: "sum_of_squares(known)",
                index,
                found: square,
            });
        }
        let mut u = self.space.scaled(&known.theta);
        let theta = self.space.make_feasible(&mut u, &self.code.feasible);
        let same = theta
            .iter()
            .zip(&known.theta)
            .all(|(a, b)| (a - b).abs() <= 1e-12 * a.abs().max(b.abs()));
        let penalty = self.code.penalty(&theta);
        Ok(same.then_some(Point {
            u,
            theta,
            objective: square + penalty,
            penalty,
            // Known evaluations are numbered from the largest number down, apart from others.
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

/// Creates the scaled parameters around the start, or around the feasible point nearest to it.
fn space(start: &[f64], code: &UserCode, scaling: &Scaling) -> Result<Space, SetupError> {
    let (has_projections, has_regularizer) = code.kinds();
    let one_unit = has_projections || has_regularizer;
    if let (true, Scaling::Given(units)) = (one_unit, scaling)
        && units
            .windows(2)
            .any(|pair| pair[0].to_bits() != pair[1].to_bits())
    {
        return Err(SetupError::Conflict {
            first: "scaling",
            second: "projections or regulariser",
            why: "these are defined by distances in the given parameters; give equal units",
        });
    }
    let mut space = Space::new(start, &code.feasible, scaling, one_unit);
    if space.dim() == 0 {
        return Err(SetupError::AllFixed);
    }
    if let FeasibleSet::Convex(sets) = &*code.feasible {
        let mut origin = start.to_vec();
        project(sets, &mut origin);
        check_finite("projection(start)", &origin)?;
        if !contain(sets, &origin) {
            return Err(SetupError::NoCommonPoint);
        }
        space.set_origin(origin);
    }
    let penalty = code.penalty(&space.theta(&vec![0.0; space.dim()]));
    check_finite("regularizer(start)", &[penalty])?;
    Ok(space)
}

fn check_finite(argument: &'static str, values: &[f64]) -> Result<(), SetupError> {
    match values.iter().position(|x| !x.is_finite()) {
        Some(index) => Err(SetupError::NotFinite {
            argument,
            index,
            found: values[index],
        }),
        None => Ok(()),
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
    check_finite("start", start)?;
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

/// Refuses what needs the entries of residual vectors that stay with the oracle.
fn check_products(known: &[crate::Known], options: &Options) -> Result<(), SetupError> {
    let conflict = |first, why| {
        Err(SetupError::Conflict {
            first,
            second: "products",
            why,
        })
    };
    if !known.is_empty() {
        return conflict("known", "the oracle has no vectors of earlier runs");
    }
    if options.noise.samples != Samples::One {
        return conflict(
            "noise.samples",
            "the engine cannot average vectors that it does not have",
        );
    }
    Ok(())
}

/// Fills in the options that are derived from the number of parameters.
fn resolve(mut options: Options, dim: usize) -> Options {
    let budget = POINTS_PER_PARAM * (dim as u64 + 1);
    let width = if options.is_wide() { options.batch } else { 1 };
    let budget = budget.saturating_mul(width as u64);
    options.budget.max_points.get_or_insert(budget);
    if options.model == Model::Automatic {
        options.model = if dim <= COMPOSITE_LIMIT {
            Model::Composite {
                points_per_param: COMPOSITE_POINTS,
            }
        } else {
            Model::Linear
        };
    }
    options
}

/// The size of the interpolation set, and the number of points that are stored. With a batch size
/// above one, there is room for the companions of a trial point. With products, a point less is
/// stored, because each costs a number per evaluation and block.
fn sizes(options: &Options, dim: usize, products: bool) -> (usize, usize) {
    let (model, batch) = (options.model, options.batch);
    let size = match model {
        Model::Regression { points_per_param } => 1 + times(points_per_param, dim),
        Model::Automatic | Model::Linear | Model::Composite { .. } => 1 + dim,
    };
    let others = match model {
        Model::Composite { points_per_param } => {
            let spare = if products { 2 } else { 3 };
            spare + composite_points(points_per_param, dim, batch)
        }
        Model::Automatic | Model::Linear | Model::Regression { .. } => 2,
    };
    let companions = if options.is_wide() {
        batch.min(width::most_companions(model, dim))
    } else {
        0
    };
    (size, size + others + companions)
}

/// The largest number of points of a quadratic model in addition to the incumbent. A larger batch
/// gives more points, up to the number that determines a quadratic function.
pub(super) fn composite_points(points_per_param: f64, dim: usize, batch: usize) -> usize {
    let serial = times(points_per_param, dim);
    let quadratic = dim * (dim + 3) / 2;
    let wide = BATCHES_IN_MODEL.saturating_mul(batch - 1);
    let wide = serial.saturating_add(wide);
    serial.max(wide.min(quadratic))
}

/// A multiple of the number of free parameters, at least this number itself.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a small count"
)]
pub(super) fn times(factor: f64, dim: usize) -> usize {
    ((factor * dim as f64).min(1e6) as usize).max(dim)
}
