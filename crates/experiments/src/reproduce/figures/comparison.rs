//! Figures 4, 6, 8, 12 and 15: objective, parameters and work of the variants.

use anyhow::{Context, Result};
use plot::{Axis, AxisScale, Figure, NumberStyle, Panel};

use super::super::archive::ArchivedRun;
use super::super::record::{Mode, RunRecord, Variant};
use super::style::{CurveStyle, StyledCurve, with_curves};
use super::{DYNAMIC_FISTA, DYNAMIC_GD, Drawn, FigureInput, curves};

/// The layout of a figure.
struct FigureLayout {
    id: &'static str,
    archive_id: &'static str,
    columns: usize,
    what: &'static str,
    panels: &'static [PanelSpec],
}

/// The content of a panel: one quantity of one of the figure's experiments.
struct PanelSpec {
    title: &'static str,
    /// The index of the experiment in the figure.
    experiment: usize,
    quantity: Quantity,
    scale: AxisScale,
    range: VerticalRange,
}

#[derive(Clone, Copy)]
enum Quantity {
    Objective,
    Parameter(&'static str),
    Cumulative,
}

/// The range of the vertical axis.
#[derive(Clone, Copy)]
enum VerticalRange {
    /// The range of all lines.
    Data,
    /// The paper's range if at least half of the curves end in it; otherwise, as with other data,
    /// the range of all lines.
    Paper([f64; 2]),
    /// The range of all lines, from the paper's lower end.
    From(f64),
}

const fn objective(title: &'static str, scale: AxisScale, range: [f64; 2]) -> PanelSpec {
    PanelSpec {
        title,
        experiment: 0,
        quantity: Quantity::Objective,
        scale,
        range: VerticalRange::Paper(range),
    }
}

/// Returns a panel with a parameter of one of several experiments.
const fn parameter(title: &'static str, name: &'static str, experiment: usize) -> PanelSpec {
    PanelSpec {
        title,
        experiment,
        quantity: Quantity::Parameter(name),
        scale: AxisScale::Log,
        range: VerticalRange::Data,
    }
}

const fn cumulative(title: &'static str, range: VerticalRange) -> PanelSpec {
    PanelSpec {
        title,
        experiment: 0,
        quantity: Quantity::Cumulative,
        scale: AxisScale::Log,
        range,
    }
}

static LAYOUTS: [FigureLayout; 5] = [
    FigureLayout {
        id: "fig04",
        archive_id: "fig04-archive",
        columns: 2,
        what: "Learning the weight α of the total variation, from α = 1.",
        panels: &[
            objective("(a) Objective value f(θ)", AxisScale::Log, [0.8, 2e3]),
            objective(
                "(b) Objective value f(θ), zoomed in",
                AxisScale::Linear,
                [1.3, 3.0],
            ),
            parameter("(c) Parameter value α", "alpha", 0),
            cumulative(
                "(d) Cumulative GD/FISTA iterations per upper-level evaluation",
                VerticalRange::Data,
            ),
        ],
    },
    FigureLayout {
        id: "fig06",
        archive_id: "fig06-archive",
        columns: 3,
        what: "The best α found from three starting points; Figure 4 (c) shows the start α = 1.",
        panels: &[
            parameter("(a) Start θ⁰ = 1", "alpha", 0),
            parameter("(b) Start θ⁰ = −1", "alpha", 1),
            parameter("(c) Start θ⁰ = −2", "alpha", 2),
        ],
    },
    FigureLayout {
        id: "fig08",
        archive_id: "fig08-archive",
        columns: 2,
        what: "Learning α, ν and ξ for signals, with a penalty on the condition number (β = 10⁻⁶).",
        panels: &[
            objective("(a) Objective value f(θ)", AxisScale::Log, [2.0, 100.0]),
            cumulative(
                "(b) Cumulative GD/FISTA iterations per upper-level evaluation",
                VerticalRange::Data,
            ),
        ],
    },
    FigureLayout {
        id: "fig12",
        archive_id: "fig12-archive",
        columns: 3,
        what: "Learning α, ν and ξ for images.",
        panels: &[
            objective(
                "(a) Objective value f(θ)",
                AxisScale::Linear,
                [2.7e3, 1.3e4],
            ),
            cumulative(
                "(b) Cumulative GD/FISTA iterations per upper-level evaluation",
                VerticalRange::Data,
            ),
            parameter("(c) Parameter value α", "alpha", 0),
            parameter("(d) Parameter value ν", "nu", 0),
            parameter("(e) Parameter value ξ", "xi", 0),
        ],
    },
    FigureLayout {
        id: "fig15",
        archive_id: "fig15-archive",
        columns: 2,
        what: "Learning which Fourier coefficients of signals to measure.",
        panels: &[
            objective("(a) Objective value f(θ)", AxisScale::Linear, [0.3, 5.0]),
            cumulative(
                "(b) Cumulative GD/FISTA iterations per upper-level evaluation",
                VerticalRange::From(1e4),
            ),
        ],
    },
];

/// Draws the figure, and the comparison of its dynamic variants with the authors' curves and ours.
pub(super) fn draw(input: &FigureInput<'_>) -> Result<Vec<Drawn>> {
    let layout = LAYOUTS.iter().find(|layout| layout.id == input.entry.id);
    let layout = layout.context("the figure does not compare variants")?;
    let mut main = Figure::new(layout.columns);
    let mut compared = Figure::new(layout.columns);
    let mut origin = None;
    let mut has_curves = false;
    for spec in layout.panels {
        let name = input.entry.experiments[spec.experiment];
        main = main.with(panel(spec, &variants(input, name, spec.quantity)?));
        let repeated = repeated(input, name, spec.quantity)?;
        has_curves |= repeated.iter().any(|curve| !curve.points.is_empty());
        compared = compared.with(panel(spec, &repeated));
        let archived = [DYNAMIC_GD, DYNAMIC_FISTA].map(|v| (input.archive.run)(name, v));
        origin = origin.or(archived.into_iter().flatten().next().map(|archived| {
            if archived.lower_iterations.is_empty() {
                "archived, digitised from the published figure"
            } else {
                "archived"
            }
        }));
    }
    let is_objective = |spec: &PanelSpec| matches!(spec.quantity, Quantity::Objective);
    let about_f = if layout.panels.iter().any(is_objective) {
        " f is a sum over images; the shading shows the bound on its error."
    } else {
        ""
    };
    let what = format!(
        "{} The curves are variants of the authors' algorithm. Lower-level iterations are summed \
         over all images.{about_f}",
        layout.what
    );
    let mut drawn = vec![input.drawn(&what, main)];
    if has_curves {
        let authors = origin.map_or_else(
            || "the authors' algorithm run here (faithful)".to_owned(),
            |origin| {
                format!("the authors' runs ({origin}), the same algorithm run here (faithful)")
            },
        );
        let what = format!(
            "{} The curves are the dynamic variants of {authors}, and our algorithm (ours). \
             One iteration of FISTA costs two gradients in the authors' algorithm and one in ours.",
            layout.what
        );
        drawn.push(input.compared(layout.archive_id, &what, compared));
    }
    Ok(drawn)
}

/// Returns those of the paper's six curves whose runs were made.
fn variants(input: &FigureInput<'_>, name: &str, quantity: Quantity) -> Result<Vec<StyledCurve>> {
    let setting = input.results.setting(name)?;
    let curve = |variant: Variant| {
        let record = input.results.record(name, variant, Mode::Faithful)?;
        let shade = match quantity {
            Quantity::Objective => curves::shade(&curves::objective(record)),
            Quantity::Parameter(_) | Quantity::Cumulative => Vec::new(),
        };
        Some(StyledCurve {
            label: variant.label(setting),
            style: CurveStyle::of(variant),
            points: points(record, quantity),
            shade,
        })
    };
    Ok(Variant::ALL.into_iter().filter_map(curve).collect())
}

/// Returns the dynamic variants of the authors' algorithm run here, of ours, and of the authors'
/// archived runs.
fn repeated(input: &FigureInput<'_>, name: &str, quantity: Quantity) -> Result<Vec<StyledCurve>> {
    let setting = input.results.setting(name)?;
    let mut curves = Vec::new();
    for variant in [DYNAMIC_GD, DYNAMIC_FISTA] {
        let mut add = |whose: &str, style: CurveStyle, points: Vec<[f64; 2]>| {
            curves.push(StyledCurve {
                label: format!("{}, {whose}", variant.label(setting)),
                style,
                points,
                shade: Vec::new(),
            });
        };
        if let Some(record) = input.results.record(name, variant, Mode::Faithful) {
            let style = CurveStyle {
                width: 2.8,
                ..CurveStyle::of(variant)
            };
            add("faithful", style, points(record, quantity));
        }
        if let Some(record) = input.results.record(name, variant, Mode::Ours) {
            add(
                "ours",
                CurveStyle::of_ours(variant),
                points(record, quantity),
            );
        }
        if let Some(archived) = (input.archive.run)(name, variant) {
            let points = archived_points(archived, quantity);
            add("archived", CurveStyle::of_archived(variant), points);
        }
    }
    Ok(curves)
}

fn points(record: &RunRecord, quantity: Quantity) -> Vec<[f64; 2]> {
    match quantity {
        Quantity::Objective => curves::objective(record)
            .into_iter()
            .map(|[work, f, _]| [work, f])
            .collect(),
        Quantity::Parameter(name) => curves::parameter(record, name),
        Quantity::Cumulative => curves::cumulative(record),
    }
}

fn archived_points(archived: &ArchivedRun, quantity: Quantity) -> Vec<[f64; 2]> {
    match quantity {
        Quantity::Objective => archived.objective.clone(),
        Quantity::Parameter(name) => archived.parameters.get(name).cloned().unwrap_or_default(),
        Quantity::Cumulative => archived.cumulative.clone(),
    }
}

fn panel(spec: &PanelSpec, curves: &[StyledCurve]) -> Panel {
    let x = match spec.quantity {
        Quantity::Objective | Quantity::Parameter(_) => {
            Axis::log("Lower-level problem iterations").numbers(NumberStyle::Powers)
        }
        Quantity::Cumulative => Axis::linear("Upper-level evaluations"),
    };
    let label = match spec.quantity {
        Quantity::Objective => "f(θ)",
        Quantity::Parameter("alpha") => "α",
        Quantity::Parameter("nu") => "ν",
        Quantity::Parameter(_) => "ξ",
        Quantity::Cumulative => "Lower-level iterations",
    };
    let y = match spec.scale {
        AxisScale::Linear => Axis::linear(label),
        AxisScale::Log => Axis::log(label),
    };
    let y = match vertical(spec, curves) {
        Some([low, high]) => y.range(low, high),
        None => y,
    };
    with_curves(Panel::new(x, y).title(spec.title), curves)
}

/// Returns the vertical range. Shading does not count, because it may be infinite.
fn vertical(spec: &PanelSpec, curves: &[StyledCurve]) -> Option<[f64; 2]> {
    let values = curves.iter().flat_map(|curve| &curve.points).map(|p| p[1]);
    let values = values.filter(|v| v.is_finite() && (spec.scale == AxisScale::Linear || *v > 0.0));
    let (low, high) = values.fold((f64::INFINITY, 0.0_f64), |(low, high), v| {
        (low.min(v), high.max(v))
    });
    if !(low <= high) {
        return None;
    }
    let data = match spec.scale {
        AxisScale::Linear => {
            let room = (0.05 * (high - low)).max(1e-3 * high.abs()).max(1e-300);
            [low - room, high + room]
        }
        AxisScale::Log => {
            let room = (high / low).powf(0.05).max(1.2);
            [low / room, high * room]
        }
    };
    Some(match spec.range {
        VerticalRange::Data => data,
        VerticalRange::From(low) if 10.0 * low < high => [low, data[1]],
        VerticalRange::From(_) => data,
        VerticalRange::Paper([low, high]) => {
            let ends = curves.iter().filter_map(|curve| curve.points.last());
            let inside = ends.clone().filter(|end| (low..=high).contains(&end[1]));
            if 2 * inside.count() >= ends.count() {
                [low, high]
            } else {
                data
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(values: &[f64]) -> StyledCurve {
        StyledCurve {
            label: String::new(),
            style: CurveStyle::of(DYNAMIC_GD),
            points: values.iter().map(|v| [1.0, *v]).collect(),
            shade: vec![[1.0, 0.0, 1e9]],
        }
    }

    #[test]
    fn the_papers_range_holds_where_most_curves_end() {
        let spec = objective("", AxisScale::Linear, [1.0, 2.0]);
        let inside = [curve(&[9.0, 1.5]), curve(&[1.9]), curve(&[5.0])];
        assert_eq!(vertical(&spec, &inside), Some([1.0, 2.0]));
        let outside = [curve(&[30.0, 10.0]), curve(&[20.0])];
        assert_eq!(vertical(&spec, &outside), Some([9.0, 31.0]));
        assert_eq!(vertical(&spec, &[curve(&[f64::INFINITY])]), None);
    }

    #[test]
    fn a_lower_end_is_kept_only_if_there_is_something_above_it() {
        let spec = cumulative("", VerticalRange::From(1e4));
        let range = vertical(&spec, &[curve(&[10.0, 1e6])]).unwrap();
        assert!((range[0] - 1e4).abs() < 1e-9 && range[1] > 1e6);
        let range = vertical(&spec, &[curve(&[10.0, 2e4])]).unwrap();
        assert!(range[0] < 10.0);
    }
}
