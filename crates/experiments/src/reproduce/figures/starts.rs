//! Figure 7: the parameter learned from each start.

use anyhow::Result;
use plot::{Axis, Figure, NumberStyle, Panel, Series};

use super::super::record::{Mode, Variant};
use super::style::{CurveStyle, StyledCurve, with_curves};
use super::{Drawn, FigureInput};

pub(super) fn draw(input: &FigureInput<'_>) -> Result<Vec<Drawn>> {
    let mut curves = Vec::new();
    for variant in Variant::ALL {
        let mut points = Vec::new();
        for name in input.entry.experiments {
            let start = input.results.setting(name)?.parameters.iter();
            let start = start.clone().find(|p| p.name == "alpha").map(|p| p.start);
            let record = input.results.record(name, variant, Mode::Faithful);
            let learned = record.and_then(|record| record.outcome.theta.first());
            if let (Some(start), Some(learned)) = (start, learned) {
                points.push([10_f64.powf(start), 10_f64.powf(*learned)]);
            }
        }
        if !points.is_empty() {
            curves.push(StyledCurve {
                label: variant.label(input.setting()?),
                style: CurveStyle::of(variant),
                points,
                shade: Vec::new(),
            });
        }
    }
    let x = Axis::log("Initial α").numbers(NumberStyle::Powers);
    let y = Axis::log("Learned α").numbers(NumberStyle::Powers);
    let mut panel = with_curves(Panel::new(x, y), &curves);
    for curve in &curves {
        let dots = Series::dots(curve.points.clone());
        panel = panel.with(dots.colour(curve.style.colour).width(7.0));
    }
    let figure = Figure::new(1).panel_size(640.0, 260.0).with(panel);
    let what = "The weight α of the total variation that each variant of the authors' algorithm \
                learned from five starting points.";
    Ok(vec![input.drawn(what, figure)])
}
