//! Quasi-Newton steps in the metric of an objective.
//!
//! A **metric** ([`SecondOrder::set_metric`]) is a symmetric positive definite matrix `$P$` that
//! resembles the inverse of the Hessian. With the last step `$s$`, the change `$y$` of the gradient
//! in it, and `$w = Py$`, a step is that of the memoryless BFGS method with the first matrix
//! `$\gamma P$`:
//!
//! ```math
//! \gamma = \frac{s^Ty}{y^Tw}, \quad \alpha = \frac{s^Tg}{s^Ty}, \quad
//! z = \gamma P(g - \alpha y), \qquad x \leftarrow x - z - \Bigl(\alpha - \frac{y^Tz}{s^Ty}\Bigr)s.
//! ```
//!
//! On a quadratic with exact line searches these are the steps of preconditioned conjugate
//! gradients; here they are taken whole. An iteration takes one gradient and one product with
//! `$P$`, since `$Py$` is the difference of two such products. Where `$P$` was set again, the
//! product with the gradient before is computed once more. More pairs `$(s, y)$` hardly save
//! iterations with a good metric (measured, see decision 20).
//!
//! None of this is proved, and nothing needs to be known about `$P$`. A **run** of steps goes on as
//! long as the gradient falls by a factor `$e$` within [`PATIENCE`] steps. A step after which it is
//! more than [`GROWTH`] times as large as the smallest one of the run is taken back. After a run,
//! the heavy ball iterates from the last point until the gradient has become smaller than ever by a
//! factor, which is squared each time. The heavy ball converges in any case, so the solve does.
//!
//! The pair and the metric belong to one solve and are not stored. The next one starts with another
//! run, so a saved state continues like the state itself.

use std::f64::consts::E;
use std::mem::swap;

use crate::evaluator::{Evaluator, Gradient};
use crate::norm::LANES;
use crate::objective::StronglyConvex;
use crate::second_order::{MetricCosts, SecondOrder};

/// A run ends if the gradient does not fall by a factor `$e$` within this many steps; a choice. The
/// shipped filter banks need about four.
const PATIENCE: u64 = 20;
/// A step is taken back if it makes the gradient larger than this many times the smallest one of
/// the run; a choice.
const GROWTH: f64 = 10.0;
/// After the first run, the gradient must become smaller by this factor; a choice.
const RETRY: f64 = 0.25;
/// The metric is set at the start of a run, after this many steps, and then whenever their number
/// has been multiplied by [`UPDATE_FACTOR`]; measured, see decision 20.
const FIRST_UPDATE: u64 = 2;
/// The factor between the numbers of steps.
const UPDATE_FACTOR: u64 = 3;

/// The steps of one solve.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MetricSteps {
    costs: MetricCosts,
    /// The norm of the gradient at which the next run starts.
    next: f64,
    /// The factor of the gradient after the next run.
    retry: f64,
    run: Run,
}

/// A run of steps.
#[derive(Clone, Copy, Debug)]
struct Run {
    num_steps: u64,
    /// The number of steps at which the metric is set.
    update_at: u64,
    /// The number of steps since the gradient last fell by a factor `$e$`.
    since_progress: u64,
    /// The norm of the gradient at that time.
    reference: f64,
    /// The smallest norm of the run.
    smallest: f64,
    /// The factor `$\gamma$` of the metric.
    scale: f64,
}

impl Run {
    const START: Self = Self {
        num_steps: 0,
        update_at: 0,
        since_progress: 0,
        reference: f64::INFINITY,
        smallest: f64::INFINITY,
        scale: 1.0,
    };
}

/// The vectors of a run. Their content has no meaning between two solves.
#[derive(Debug, Default)]
pub(crate) struct MetricVectors {
    /// The point and the gradient before the last step.
    point: Vec<f64>,
    gradient: Vec<f64>,
    /// The products of the metric with the gradient, and with the one before.
    product: Vec<f64>,
    product_before: Vec<f64>,
}

impl MetricVectors {
    pub(crate) const fn new() -> Self {
        Self {
            point: Vec::new(),
            gradient: Vec::new(),
            product: Vec::new(),
            product_before: Vec::new(),
        }
    }

    /// A vector that the next step overwrites.
    pub(crate) const fn free(&mut self) -> &mut Vec<f64> {
        &mut self.product
    }

    /// Whether the last step has changed the point.
    pub(crate) fn have_moved(&self, point: &[f64]) -> bool {
        self.point != point
    }
}

impl MetricSteps {
    /// The steps for an objective, if it offers a metric.
    pub(crate) fn of<O: StronglyConvex>(objective: &O) -> Option<Self> {
        Some(Self {
            costs: objective.second_order()?.metric()?,
            next: f64::INFINITY,
            retry: RETRY,
            run: Run::START,
        })
    }

    /// Whether the next iteration is a step, given the norm of the gradient.
    pub(crate) fn is_due(&self, norm: f64) -> bool {
        self.run.num_steps > 0 || norm <= self.next
    }

    /// Whether the next step starts a run.
    pub(crate) const fn is_start(&self) -> bool {
        self.run.num_steps == 0
    }

    /// Moves the point by one step.
    pub(crate) fn advance<O: StronglyConvex>(
        &mut self,
        second: &dyn SecondOrder<O::Scratch>,
        point: &mut [f64],
        gradient: &Gradient,
        vectors: &mut MetricVectors,
        evaluator: &mut Evaluator<'_, O>,
    ) {
        let (run, scratch) = (&mut self.run, &mut *evaluator.scratch);
        let is_start = run.num_steps == 0;
        let MetricVectors {
            point: point_before,
            gradient: gradient_before,
            product,
            product_before,
        } = vectors;
        for vector in [&mut *point_before, gradient_before, product, product_before] {
            vector.resize(point.len(), 0.0);
        }
        if run.num_steps == run.update_at {
            run.update_at = (UPDATE_FACTOR * run.update_at).max(FIRST_UPDATE);
            second.set_metric(point, scratch);
            evaluator.other_work += self.costs.set;
            if !is_start {
                second.apply_metric(gradient_before, product_before, scratch);
                evaluator.other_work += self.costs.apply;
            }
        }
        second.apply_metric(&gradient.values, product, scratch);
        evaluator.other_work += self.costs.apply;
        if is_start {
            point_before.copy_from_slice(point);
            gradient_before.copy_from_slice(&gradient.values);
            product_before.copy_from_slice(product);
        }
        let pair = pair_products(
            [point, point_before],
            [&gradient.values, gradient_before],
            [product, product_before],
        );
        let step = Coefficients::of(pair, run.scale);
        run.scale = step.scale;
        step.take(
            (point, point_before),
            (&gradient.values, gradient_before),
            [product, product_before],
        );
        swap(product, product_before);
        run.num_steps += 1;
    }

    /// Records the norm of the gradient after a step from one of norm `before`. Returns whether the
    /// step stands.
    pub(crate) fn accept(&mut self, before: f64, after: f64) -> bool {
        let run = &mut self.run;
        if run.num_steps == 1 {
            (run.reference, run.smallest) = (before, before);
        }
        // NaN is refused.
        let stands = after <= GROWTH * run.smallest;
        if stands {
            run.smallest = run.smallest.min(after);
            run.since_progress += 1;
            if after <= run.reference / E {
                (run.reference, run.since_progress) = (after, 0);
            }
        }
        if !stands || run.since_progress >= PATIENCE {
            self.next = self.retry * run.smallest;
            self.retry *= self.retry;
            self.run = Run::START;
        }
        stands
    }

    /// Takes a step back.
    pub(crate) fn take_back(point: &mut [f64], gradient: &mut Gradient, vectors: &MetricVectors) {
        point.copy_from_slice(&vectors.point);
        gradient.values.copy_from_slice(&vectors.gradient);
    }
}

/// A step `$-az - bz' - c(x - x')$`, where `$z = Pg$` and primes denote the iteration before.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Coefficients {
    own: f64,
    before: f64,
    along: f64,
    /// The factor `$\gamma$` of the metric.
    scale: f64,
}

impl Coefficients {
    /// The coefficients, given `$s^Tg$`, `$s^Ty$`, `$y^TPg$` and `$y^Tw$`. Without a pair, `scale`
    /// is that of the step before.
    fn of([sg, sy, yz, yw]: [f64; 4], scale: f64) -> Self {
        let (alpha, fitted) = (sg / sy, sy / yw);
        let beta = fitted * (yz - alpha * yw) / sy;
        let step = Self {
            own: fitted * (1.0 - alpha),
            before: fitted * alpha,
            along: alpha - beta,
            scale: fitted,
        };
        // NaN makes a step without the pair.
        if sy > 0.0 && yw > 0.0 && (step.own + step.before + step.along).is_finite() {
            step
        } else {
            Self {
                own: scale,
                before: 0.0,
                along: 0.0,
                scale,
            }
        }
    }

    /// Takes the step, and keeps the point and the gradient before it.
    fn take(
        self,
        (point, point_before): (&mut [f64], &mut [f64]),
        (gradient, gradient_before): (&[f64], &mut [f64]),
        products: [&[f64]; 2],
    ) {
        let points = point.iter_mut().zip(point_before);
        let products = products[0].iter().zip(products[1]);
        for ((x, before), (own, other)) in points.zip(products) {
            let moved = self.own * own + self.before * other + self.along * (*x - *before);
            *before = *x;
            *x -= moved;
        }
        gradient_before.copy_from_slice(gradient);
    }
}

/// Returns `$s^Tg$`, `$s^Ty$`, `$y^TPg$` and `$y^Tw$`, given points, gradients and products with
/// the metric, each now and before. They are added in an order that does not depend on the machine.
fn pair_products(points: [&[f64]; 2], gradients: [&[f64]; 2], products: [&[f64]; 2]) -> [f64; 4] {
    let all = [points, gradients, products];
    let blocks = all.map(|pair| pair.map(|vector| vector.as_chunks::<LANES>()));
    let mut lanes = [[0.0; LANES]; 4];
    let terms = |[x, g, z]: [[f64; 2]; 3]| {
        let (s, y, w) = (x[0] - x[1], g[0] - g[1], z[0] - z[1]);
        [s * g[0], s * y, y * z[0], y * w]
    };
    for at in 0..blocks[0][0].0.len() {
        let vectors = blocks.map(|pair| pair.map(|(blocks, _)| &blocks[at]));
        for lane in 0..LANES {
            let terms = terms(vectors.map(|pair| pair.map(|block| block[lane])));
            for (sum, term) in lanes.iter_mut().zip(terms) {
                sum[lane] += term;
            }
        }
    }
    let mut sums = lanes.map(|lanes| lanes.into_iter().sum());
    for at in 0..blocks[0][0].1.len() {
        let terms = terms(blocks.map(|pair| pair.map(|(_, rest)| rest[at])));
        for (sum, term) in sums.iter_mut().zip(terms) {
            *sum += term;
        }
    }
    sums
}

#[cfg(test)]
mod tests;
