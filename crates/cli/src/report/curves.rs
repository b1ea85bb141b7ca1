//! Figures of what happened while learning.

mod axes;
mod parameters;

use bilevel::Learned;
use dfo_ls::Iteration;
use maud::{Markup, PreEscaped, html};
use plot::{Axis, Colour, Dash, Figure, Panel, Series};

use axes::{evaluation_axis, fitting, objective_axis, work_axis};

/// What matters.
const BLUE: Colour = Colour::hex(0x0000_72b2);
/// What it is compared with.
const ORANGE: Colour = Colour::hex(0x00d5_5e00);
/// What lies behind.
const GREY: Colour = Colour::hex(0x00a8_a8a8);

/// A figure and what it shows.
struct Curve {
    caption: String,
    figure: Figure,
    is_wide: bool,
}

impl Curve {
    /// A panel of the usual size.
    fn new(panel: Panel, caption: impl Into<String>) -> Self {
        Self {
            caption: caption.into(),
            figure: Figure::new(1).with(panel),
            is_wide: false,
        }
    }
}

/// All figures; nothing if there are none.
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

/// All figures, in the order of the page.
fn all(learned: &Learned) -> Vec<Curve> {
    let mut curves = Vec::new();
    curves.extend(objective(learned));
    curves.extend(parameters::all(learned));
    curves.extend(work(learned));
    curves.extend(accuracy(learned));
    curves.extend(radius(learned));
    curves
}

/// As a coordinate.
const fn count(number: u64) -> f64 {
    number as f64
}

/// Numbers of evaluations, from one.
fn places() -> impl Iterator<Item = f64> {
    (1..).map(count)
}

/// What was spent after each evaluation.
fn spent(learned: &Learned) -> Vec<f64> {
    let mut total = 0_u64;
    let all = learned.evaluations.iter().map(|evaluation| {
        total = total.saturating_add(evaluation.work);
        count(total)
    });
    all.collect()
}

/// The incumbent's objective with its certain interval, over what was spent; every evaluation as a
/// dot.
fn objective(learned: &Learned) -> Option<Curve> {
    let iterations = &learned.iterations;
    let last = iterations.last()?;
    let at = |iteration: &Iteration| count(iteration.work);
    let line = iterations.iter().map(|i| [at(i), i.objective]).collect();
    // the value holds until the next iteration, and so does what is known about it
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
        .with(Series::band(band).label("certain").colour(BLUE.alpha(0.22)))
        .with(
            Series::dots(dots)
                .label("evaluations")
                .colour(GREY)
                .width(3.0),
        )
        .with(Series::steps(line).label("best so far").colour(BLUE))
        .with(Series::dots(end.to_vec()).colour(BLUE));
    Some(Curve::new(
        panel,
        "The objective at the best parameters so far, and where the exact one certainly is.",
    ))
}

/// What was spent after each evaluation.
fn work(learned: &Learned) -> Option<Curve> {
    let spent = spent(learned);
    spent.last().filter(|total| **total > 0.0)?;
    let y = fitting("gradients in all", spent.iter().copied());
    let line = places().zip(spent).map(|(x, y)| [x, y]).collect();
    let panel = Panel::new(evaluation_axis(learned), y).with(Series::steps(line).colour(BLUE));
    Some(Curve::new(
        panel,
        "What was spent, evaluation by evaluation.",
    ))
}

/// What was asked for and what was reached, where it is a number above zero.
fn accuracy(learned: &Learned) -> Option<Curve> {
    let is_shown = |accuracy: f64| accuracy.is_finite() && accuracy > 0.0;
    let of = |value: fn(&dfo_ls::EvalRecord) -> f64| -> Vec<[f64; 2]> {
        (places().zip(&learned.evaluations))
            .filter(|(_, evaluation)| evaluation.objective.is_ok())
            .map(|(x, evaluation)| [x, value(evaluation)])
            .filter(|[_, accuracy]| is_shown(*accuracy))
            .collect()
    };
    let asked = of(|evaluation| evaluation.target.value());
    let reached = of(|evaluation| evaluation.achieved.value());
    if asked.is_empty() && reached.is_empty() {
        return None;
    }
    let mut panel = Panel::new(evaluation_axis(learned), Axis::log("error of residuals"));
    if !asked.is_empty() {
        panel = panel.with(
            Series::dots(asked)
                .label("asked for")
                .colour(ORANGE)
                .width(5.0),
        );
    }
    if !reached.is_empty() {
        panel = panel.with(
            Series::dots(reached)
                .label("reached")
                .colour(BLUE)
                .width(3.5),
        );
    }
    Some(Curve::new(
        panel,
        "How accurate reconstructions had to be, and how accurate they certainly were.",
    ))
}

/// The radius of the trust region and its lower limit.
fn radius(learned: &Learned) -> Option<Curve> {
    let of = |value: fn(&Iteration) -> f64| -> Vec<[f64; 2]> {
        let all = learned.iterations.iter();
        all.map(|i| [count(i.num_evaluations), value(i)]).collect()
    };
    learned.iterations.first()?;
    let panel = Panel::new(evaluation_axis(learned), Axis::log("radius"))
        .with(
            Series::steps(of(|i| i.delta))
                .label("trust region")
                .colour(BLUE),
        )
        .with(
            Series::steps(of(|i| i.rho))
                .label("its lower limit")
                .colour(ORANGE)
                .dash(Dash::Short),
        );
    Some(Curve::new(
        panel,
        "How far the solver looked around the best parameters.",
    ))
}
