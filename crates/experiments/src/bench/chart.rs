//! The figures: a bar for every ratio, and how cost grows.

use plot::{Axis, Colour, Dash, Figure, Panel, Series};

use super::count;
use super::row::{Row, times};
use super::scaling::Curve;

const FASTER: Colour = Colour::hex(0x0000_72b2);
const SLOWER: Colour = Colour::hex(0x00c0_182b);
const HIDDEN: Colour = Colour::hex(0x00ff_ffff);
const COLOURS: [Colour; 4] = [
    Colour::hex(0x00c0_182b),
    Colour::hex(0x0000_72b2),
    Colour::hex(0x0000_9e73),
    Colour::hex(0x0088_4ea0),
];

/// A strip for every row that has a ratio, the largest first, down one column and then the other;
/// none if there are no ratios.
pub(super) fn ratios(rows: &[Row]) -> Option<Figure> {
    let mut bars: Vec<(&Row, f64)> = rows
        .iter()
        .filter_map(|row| Some((row, row.ratio()?)))
        .collect();
    bars.sort_by(|a, b| b.1.total_cmp(&a.1));
    let (largest, smallest) = (bars.first()?.1, bars.last()?.1);
    let range = [(0.8 * smallest).min(0.5), (1.25 * largest).max(2.0)];
    let num_rows = bars.len().div_ceil(2);
    let mut figure = Figure::new(2)
        .title("What others need, as a multiple of ours (1: the same)")
        .panel_size(640.0, 12.0);
    for row in 0..num_rows {
        for index in [row, row + num_rows] {
            if let Some((bar, ratio)) = bars.get(index) {
                let is_last = index + 1 == num_rows || index + 1 == bars.len();
                figure = figure.with(strip(bar, *ratio, range, is_last));
            }
        }
    }
    Some(figure)
}

/// One bar from 1 to the ratio, with its name above; only the last of a column shows the numbers of
/// the axis.
fn strip(row: &Row, ratio: f64, [from, to]: [f64; 2], is_last: bool) -> Panel {
    let peer = row.peer.as_ref().map_or("", |peer| peer.name.as_str());
    let mut axis = Axis::log("").range(from, to);
    if !is_last {
        axis = axis.colour(HIDDEN);
    }
    let colour = if ratio >= 1.0 { FASTER } else { SLOWER };
    // There is no number to show between these two.
    let side = Axis::log("").range(2.1, 2.9);
    let bar = vec![[1.0, 2.5], [ratio, 2.5]];
    Panel::new(axis, side)
        .title(format!("{} {} / {peer}", times(ratio), row.name))
        .with(Series::line(bar).colour(colour).width(9.0))
        .with(Series::line(vec![[1.0, 2.1], [1.0, 2.9]]).width(1.2))
}

/// One panel for each kind of size, with the fitted lines and their slopes.
pub(super) fn scaling(curves: &[Curve]) -> Figure {
    let mut kinds: Vec<&str> = curves.iter().map(|curve| curve.of).collect();
    kinds.dedup();
    let mut figure = Figure::new(kinds.len().max(1))
        .title("How cost grows")
        .panel_size(300.0, 240.0);
    for kind in kinds {
        let mut panel = Panel::new(Axis::log(kind), Axis::log("seconds"));
        let coloured = curves.iter().zip(COLOURS.into_iter().cycle());
        for (curve, colour) in coloured.filter(|(curve, _)| curve.of == kind) {
            let slope = curve.slope();
            let label = format!("{}: slope {slope:.2}", curve.name);
            panel = panel
                .with(
                    Series::dots(curve.points.clone())
                        .colour(colour)
                        .label(label),
                )
                .with(
                    Series::line(fitted(curve))
                        .colour(colour)
                        .dash(Dash::Long)
                        .width(1.2),
                );
        }
        figure = figure.with(panel);
    }
    figure
}

/// The ends of the line whose slope is that of the curve.
fn fitted(curve: &Curve) -> Vec<[f64; 2]> {
    let slope = curve.slope();
    let offsets = curve
        .points
        .iter()
        .map(|[size, cost]| cost.ln() - slope * size.ln());
    let offset = offsets.sum::<f64>() / count(curve.points.len());
    let ends = curve.points.first().into_iter().chain(curve.points.last());
    ends.map(|[size, _]| [*size, (offset + slope * size.ln()).exp()])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_sorted_and_carry_their_ratio() {
        let row = |name: &str, peer: f64| Row::against(name, 2.0, "s", &[("NumPy", Some(peer))]);
        let mut rows = row("slow", 1.0);
        rows.extend(row("quick", 60.0));
        rows.push(Row::alone("alone", 1.0, "s"));
        let figure = ratios(&rows).unwrap();
        let svg = figure.to_svg();
        let at = |text: &str| svg.find(text).unwrap_or_else(|| panic!("no {text}"));
        assert!(at("30× quick / NumPy") < at("0.500× slow / NumPy"));
        assert!(!svg.contains("alone"));
        assert!(figure.to_png().unwrap().len() > 1000);
        assert!(ratios(&rows[2..]).is_none());
    }

    #[test]
    fn slopes_are_in_the_legend_and_the_line_goes_through_a_power() {
        let curve = Curve {
            name: "work",
            of: "images",
            points: vec![[1.0, 2.0], [2.0, 4.0], [10.0, 20.0]],
        };
        let [[a, low], [b, high]] = fitted(&curve)[..] else {
            panic!("two ends")
        };
        let expected = [1.0, 2.0, 10.0, 20.0];
        for (found, expected) in [a, low, b, high].into_iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12);
        }
        let svg = scaling(&[curve]).to_svg();
        assert!(svg.contains("work: slope 1.00") && svg.contains("images"));
    }
}
