//! Figures of what happened while learning.

mod axes;
mod parameters;

use bilevel::Learned;
use dfo_ls::Iteration;
use maud::{Markup, PreEscaped, html};
use plot::{Axis, Colour, Dash, Figure, Panel, Series};

use super::history::certified_error;
use axes::{evaluation_axis, fitting, objective_axis, work_axis};

/// Colour of the main series.
pub(super) const BLUE: Colour = Colour::hex(0x0000_72b2);
/// Colour of a series for comparison.
const ORANGE: Colour = Colour::hex(0x00d5_5e00);
/// Colour of series in the background.
const GREY: Colour = Colour::hex(0x0080_8080);

/// A figure and its caption.
struct Curve {
    caption: String,
    figure: Figure,
    is_wide: bool,
}

impl Curve {
    /// Returns a figure of the usual size.
    fn new(panel: Panel, caption: impl Into<String>) -> Self {
        Self {
            caption: caption.into(),
            figure: Figure::new(1).with(panel),
            is_wide: false,
        }
    }
}

/// Returns all figures, or nothing if there are none.
pub(super) fn html(learned: &Learned) -> Markup {
    let curves = all(learned);
    html! {
        @if !curves.is_empty() {
            .curves {
                @for curve in curves {
                    figure class=[curve.is_wide.then_some("wide")] {
                        (PreEscaped(curve.figure.to_svg()))
                        figcaption { (curve.caption) }
                    }
                }
            }
        }
    }
}

/// Returns all figures in the order of the page.
fn all(learned: &Learned) -> Vec<Curve> {
    let mut curves = Vec::new();
    curves.extend(objective(learned));
    curves.extend(parameters::all(learned));
    curves.extend(work(learned));
    if learned.gradient.is_some() {
        curves.extend(objective_error(learned));
        curves.extend(gradient(learned));
    } else {
        curves.extend(accuracy(learned));
        curves.extend(radius(learned));
    }
    curves
}

/// Returns the numbers of evaluations, counted from one.
fn numbers() -> impl Iterator<Item = f64> {
    (1..).map(|number: u64| number as f64)
}

/// Returns the total number of gradients after each evaluation.
fn spent(learned: &Learned) -> Vec<f64> {
    let mut total = 0_u64;
    let all = learned.evaluations.iter().map(|evaluation| {
        total = total.saturating_add(evaluation.work);
        total as f64
    });
    all.collect()
}

/// Returns the objective of the incumbent with its certified interval, over the gradients computed
/// so far. Each evaluation is a dot.
fn objective(learned: &Learned) -> Option<Curve> {
    let iterations = &learned.iterations;
    let last = iterations.last()?;
    let at = |iteration: &Iteration| iteration.work as f64;
    let line = iterations.iter().map(|i| [at(i), i.objective]).collect();
    // value and interval hold until the next iteration
    let mut band: Vec<[f64; 3]> = Vec::with_capacity(2 * iterations.len());
    for pair in iterations.windows(2) {
        let [lower, upper] = [pair[0].interval.lower, pair[0].interval.upper];
        band.push([at(&pair[0]), lower, upper]);
        band.push([at(&pair[1]), lower, upper]);
    }
    band.push([at(last), last.interval.lower, last.interval.upper]);
    let end = [[at(last), learned.objective]];
    let spent = spent(learned);
    let dots = (spent.iter().zip(&learned.evaluations))
        .filter_map(|(x, evaluation)| Some([*x, *evaluation.objective.as_ref().ok()?]))
        .collect();
    let panel = Panel::new(work_axis(iterations), objective_axis(iterations))
        .with(
            Series::band(band)
                .label("interval")
                .colour(BLUE.alpha(0.22)),
        )
        .with(
            Series::dots(dots)
                .label("evaluated")
                .colour(GREY)
                .width(4.0),
        )
        .with(Series::steps(line).label("best so far").colour(BLUE))
        .with(Series::dots(end.to_vec()).colour(BLUE));
    Some(Curve::new(
        panel,
        "The objective at the best parameters so far, and the interval that certainly contains \
         the exact objective.",
    ))
}

/// Returns the curve of the total number of gradients.
fn work(learned: &Learned) -> Option<Curve> {
    let spent = spent(learned);
    spent.last().filter(|total| **total > 0.0)?;
    let y = fitting("total gradients", spent.iter().copied());
    let line = numbers().zip(spent).map(|(x, y)| [x, y]).collect();
    let panel = Panel::new(evaluation_axis(learned), y).with(Series::steps(line).colour(BLUE));
    Some(Curve::new(
        panel,
        "The total number of gradients after each evaluation.",
    ))
}

/// Returns the targets of evaluations and the errors achieved, where they are positive and finite.
fn accuracy(learned: &Learned) -> Option<Curve> {
    let is_shown = |accuracy: f64| accuracy.is_finite() && accuracy > 0.0;
    let of = |value: fn(&dfo_ls::EvalRecord) -> f64| -> Vec<[f64; 2]> {
        (numbers().zip(&learned.evaluations))
            .filter(|(_, evaluation)| evaluation.objective.is_ok())
            .map(|(x, evaluation)| [x, value(evaluation)])
            .filter(|[_, accuracy]| is_shown(*accuracy))
            .collect()
    };
    let targets = of(|evaluation| evaluation.target.value());
    let achieved = of(|evaluation| evaluation.achieved.value());
    if targets.is_empty() && achieved.is_empty() {
        return None;
    }
    let mut panel = Panel::new(evaluation_axis(learned), Axis::log("error of residuals"));
    if !targets.is_empty() {
        panel = panel.with(
            Series::dots(targets)
                .label("target")
                .colour(ORANGE)
                .width(5.0),
        );
    }
    if !achieved.is_empty() {
        panel = panel.with(
            Series::dots(achieved)
                .label("achieved")
                .colour(BLUE)
                .width(3.5),
        );
    }
    Some(Curve::new(
        panel,
        "The error of the residuals that each evaluation was allowed to have, and the certified \
         error that it achieved.",
    ))
}

/// Returns the certified errors of the objective, where they are positive and finite.
fn objective_error(learned: &Learned) -> Option<Curve> {
    let errors: Vec<[f64; 2]> = (numbers().zip(&learned.evaluations))
        .filter_map(|(x, evaluation)| Some([x, certified_error(evaluation)?]))
        .filter(|[_, error]| *error > 0.0)
        .collect();
    errors.first()?;
    let axis = Axis::log("error of the objective");
    let dots = Series::dots(errors).colour(BLUE).width(3.5);
    Some(Curve::new(
        Panel::new(evaluation_axis(learned), axis).with(dots),
        "The certified error of the objective in each evaluation.",
    ))
}

/// Returns the norms of the projected gradient, where they are positive and finite.
fn gradient(learned: &Learned) -> Option<Curve> {
    let line: Vec<[f64; 2]> = (learned.iterations.iter())
        .map(|i| [i.num_evaluations as f64, i.gradient])
        .filter(|[_, norm]| norm.is_finite() && *norm > 0.0)
        .collect();
    line.first()?;
    let panel = Panel::new(evaluation_axis(learned), Axis::log("projected gradient"))
        .with(Series::steps(line).colour(BLUE));
    Some(Curve::new(
        panel,
        "The norm of the projected gradient at the best parameters so far. Parameters that \
         a bound holds in place do not count.",
    ))
}

/// Returns the curves of the trust-region radius and the lower radius.
fn radius(learned: &Learned) -> Option<Curve> {
    let of = |value: fn(&Iteration) -> f64| -> Vec<[f64; 2]> {
        let all = learned.iterations.iter();
        all.map(|i| [i.num_evaluations as f64, value(i)]).collect()
    };
    learned.iterations.first()?;
    let panel = Panel::new(evaluation_axis(learned), Axis::log("radius"))
        .with(
            Series::steps(of(|i| i.delta))
                .label("trust-region radius")
                .colour(BLUE),
        )
        .with(
            Series::steps(of(|i| i.rho))
                .label("lower radius")
                .colour(ORANGE)
                .dash(Dash::Short),
        );
    Some(Curve::new(
        panel,
        "The radius of the trust region, in which the solver looks for better parameters.",
    ))
}
