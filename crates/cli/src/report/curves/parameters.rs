//! Curves of the parameters, and the learned weights of frequencies.

use ::page::number::number;
use bilevel::{Bound, FamilyKind, Learned, LearnedEntry, Map, Parameter};
use plot::{Axis, Colour, Dash, Figure, Panel, Series};

use super::axes::{evaluation_axis, ranged};
use super::{BLUE, Curve, GREY, ORANGE, numbers};

/// Largest number of parameters that get panels of their own.
const MAX_PANELS: usize = 6;

/// Returns the figures of all parameters.
pub(super) fn all(learned: &Learned) -> Vec<Curve> {
    let parameters: Vec<LearnedEntry<'_>> = learned.entries().collect();
    if learned.evaluations.is_empty() {
        return Vec::new();
    }
    if learned.family == Some(FamilyKind::Sampling) {
        let mut curves = vec![weights(&parameters)];
        curves.extend(num_sampled(learned));
        return curves;
    }
    match parameters.len() {
        0 => Vec::new(),
        1..=MAX_PANELS => (parameters.iter().enumerate())
            .map(|(index, entry)| alone(learned, index, entry))
            .collect(),
        _ => together(learned).into_iter().collect(),
    }
}

/// Returns the `theta` of the incumbent after each iteration, with the number of evaluations.
fn incumbents(learned: &Learned, index: usize) -> Vec<[f64; 2]> {
    (learned.iterations.iter())
        .filter_map(|i| Some([i.num_evaluations as f64, *i.theta.get(index)?]))
        .collect()
}

/// Returns the figure of one parameter: all evaluated values, and the best so far.
fn alone(learned: &Learned, index: usize, entry: &LearnedEntry<'_>) -> Curve {
    let parameter = entry.parameter;
    let valued = |points: Vec<[f64; 2]>| -> Vec<[f64; 2]> {
        let value = |[x, theta]: [f64; 2]| [x, parameter.value(theta)];
        points.into_iter().map(value).collect()
    };
    let tried: Vec<[f64; 2]> = (numbers().zip(&learned.evaluations))
        .filter_map(|(x, evaluation)| Some([x, *evaluation.theta.get(index)?]))
        .collect();
    let best = incumbents(learned, index);
    let thetas = tried.iter().chain(&best).map(|[_, theta]| *theta);
    let [from, to] = shown(parameter, thetas);
    let label = &entry.name();
    let y = match parameter.map {
        Map::Identity => Axis::linear(label),
        _ => Axis::log(label),
    };
    let y = ranged(y, parameter.value(from), parameter.value(to));
    let width = tried.len() as f64;
    let mut panel = Panel::new(evaluation_axis(learned), y);
    for bound in [parameter.lower, parameter.upper] {
        if from < bound && bound < to {
            let line = valued(vec![[1.0, bound], [width.max(2.0), bound]]);
            let line = Series::line(line).label("bound").colour(ORANGE);
            panel = panel.with(line.dash(Dash::Short).width(1.2));
        }
    }
    panel = panel
        .with(
            Series::dots(valued(tried))
                .label("evaluated")
                .colour(GREY)
                .width(4.0),
        )
        .with(
            Series::steps(valued(best))
                .label("best so far")
                .colour(BLUE),
        );
    let bounds = [parameter.lower, parameter.upper].map(|b| number(parameter.value(b)));
    Curve::new(
        panel,
        format!("{label}, with bounds {} and {}.", bounds[0], bounds[1]),
    )
}

/// Returns the range of `theta` that is shown: all evaluated values, and bounds not far from them.
fn shown(parameter: &Parameter, thetas: impl Iterator<Item = f64>) -> [f64; 2] {
    let [low, high] = thetas.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], theta| {
        [low.min(theta), high.max(theta)]
    });
    if !(low <= high) {
        return [parameter.lower, parameter.upper];
    }
    let range = parameter.upper - parameter.lower;
    let span = (high - low).max(1e-3 * range);
    let mut ends = [low - 0.08 * span, high + 0.08 * span];
    if low - parameter.lower < 0.5 * span {
        ends[0] = parameter.lower - 0.08 * span;
    }
    if parameter.upper - high < 0.5 * span {
        ends[1] = parameter.upper + 0.08 * span;
    }
    ends
}

/// Returns the figure of many parameters: the position of each between its bounds.
fn together(learned: &Learned) -> Option<Curve> {
    // histories of very many parameters do not list them
    learned.iterations.first().filter(|i| !i.theta.is_empty())?;
    let y = Axis::linear("position between bounds").range(-0.03, 1.03);
    let mut panel = Panel::new(evaluation_axis(learned), y);
    for (index, p) in learned.entries().enumerate() {
        let range = p.parameter.upper - p.parameter.lower;
        let position = |[x, theta]: [f64; 2]| [x, (theta - p.parameter.lower) / range];
        let line = incumbents(learned, index)
            .into_iter()
            .map(position)
            .collect();
        panel = panel.with(Series::steps(line).colour(BLUE.alpha(0.6)).width(1.2));
    }
    Some(Curve::new(
        panel,
        "The position of each parameter between its lower bound (0) and its upper bound (1).",
    ))
}

/// Returns the curve of the number of frequencies that the best parameters so far sample.
fn num_sampled(learned: &Learned) -> Option<Curve> {
    // histories of very many parameters do not list them
    learned.iterations.first().filter(|i| !i.theta.is_empty())?;
    let is_sampled = |p: &LearnedEntry<'_>, theta: f64| {
        theta - p.parameter.lower > 1e-6 * (p.parameter.upper - p.parameter.lower)
    };
    let line = (learned.iterations.iter())
        .map(|iteration| {
            let weights = learned.entries().zip(&iteration.theta);
            let num = weights.filter(|(p, theta)| is_sampled(p, **theta)).count();
            [iteration.num_evaluations as f64, num as f64]
        })
        .collect();
    let all = learned.entries().count() as f64;
    let y = Axis::linear("sampled frequencies").range(0.0, 1.05 * all);
    let panel = Panel::new(evaluation_axis(learned), y).with(Series::steps(line).colour(BLUE));
    Some(Curve::new(panel, "The number of sampled frequencies."))
}

/// Returns the figure of the learned weights, with frequency zero in the middle.
fn weights(parameters: &[LearnedEntry<'_>]) -> Curve {
    let num = parameters.len();
    let half = num / 2;
    let frequency = |j: usize| {
        if j < num - half {
            j as f64
        } else {
            -((num - j) as f64)
        }
    };
    let place = |(j, p): (usize, &LearnedEntry<'_>)| [frequency(j), p.theta];
    let (off, on): (Vec<_>, Vec<_>) =
        (parameters.iter().enumerate()).partition(|(_, p)| p.at == Some(Bound::Lower));
    let points = |some: Vec<(usize, &LearnedEntry<'_>)>| -> Vec<[f64; 2]> {
        some.into_iter().map(place).collect()
    };
    let light = Colour::hex(0x00c8_c8c8);
    let mut panel = Panel::new(Axis::linear("frequency"), Axis::linear("weight θ"));
    if !off.is_empty() {
        let dots = Series::dots(points(off)).label("not sampled").colour(light);
        panel = panel.with(dots.width(4.0));
    }
    if !on.is_empty() {
        panel = panel.with(Series::stems(points(on)).label("sampled").colour(BLUE));
    }
    Curve {
        caption: "The learned weights of frequencies.".to_owned(),
        figure: Figure::new(1).panel_size(760.0, 200.0).with(panel),
        is_wide: true,
    }
}
