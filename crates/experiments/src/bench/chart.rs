//! The figures: the chart of the front page, a bar for every ratio, and how time grows.

use plot::{Axis, Colour, Dash, Figure, Panel, Series};

use super::count;
use super::measurement::{Headline, Measurement, times};
use super::scaling::ScalingCurve;

/// The colour of bars whose peer was measured in an earlier run.
const ARCHIVED: Colour = Colour::hex(0x0056_b4e9);
const FASTER: Colour = Colour::hex(0x0000_72b2);
const SLOWER: Colour = Colour::hex(0x00c0_182b);
const HIDDEN: Colour = Colour::hex(0x00ff_ffff);
const COLOURS: [Colour; 4] = [
    Colour::hex(0x00c0_182b),
    Colour::hex(0x0000_72b2),
    Colour::hex(0x0000_9e73),
    Colour::hex(0x0088_4ea0),
];

/// The width of the bars' area in the chart of the front page. With its labels the chart is about
/// 800 pixels wide.
const HEADLINE_WIDTH: f64 = 420.0;
/// The height of one bar with the gap to the next.
const HEADLINE_HEIGHT: f64 = 30.0;

/// Draws the chart of the front page: one bar for each measurement with a headline, the largest
/// ratio on top. Returns `None` without such measurements.
pub(super) fn headlines(measurements: &[Measurement]) -> Option<Figure> {
    let mut bars: Vec<(Headline, f64)> = measurements
        .iter()
        .filter_map(|one| Some((one.headline?, one.ratio()?)))
        .collect();
    // The first bar is the lowest.
    bars.sort_by(|a, b| a.1.total_cmp(&b.1));
    let (smallest, largest) = (bars.first()?.1, bars.last()?.1);
    let rows = || (0_u32..).map(f64::from).zip(&bars);
    let num_bars = count(bars.len());
    let axis = || Axis::linear("").range(-0.6, num_bars - 0.4);
    let names = axis().labels(rows().map(|(at, (headline, _))| (at, headline.label)));
    let ratios = axis().labels(rows().map(|(at, (_, ratio))| (at, rounded(*ratio))));
    let times =
        Axis::log("speed-up (logarithmic scale)").range(smallest.min(1.0), 1.3 * largest.max(10.0));
    let mut panel = Panel::new(times, names).right(ratios);
    for (is_archived, colour, label) in [
        (false, FASTER, "compared in the same run"),
        (true, ARCHIVED, "compared with archived CPU times"),
    ] {
        let of_kind = rows().filter(|(_, (headline, _))| headline.is_archived == is_archived);
        for (at, (_, ratio)) in of_kind {
            let (lower, upper) = (at - 0.33, at + 0.33);
            let bar = vec![[1.0, lower, upper], [*ratio, lower, upper]];
            panel = panel.with(Series::band(bar).colour(colour).label(label));
        }
    }
    Some(
        Figure::new(1)
            .title("How many times faster than other programs")
            .panel_size(HEADLINE_WIDTH, HEADLINE_HEIGHT * num_bars)
            .with(panel),
    )
}

/// Writes a ratio with two digits: times on a shared machine have no more.
fn rounded(ratio: f64) -> String {
    let unit = 10_f64.powf(ratio.log10().floor() - 1.0);
    let digits = (ratio / unit).round();
    if ratio < 10.0 {
        format!("{:.1}×", digits * unit)
    } else {
        format!("{:.0}×", digits * unit)
    }
}

/// Draws a bar for every measurement that has a ratio, the largest ratio first, down one column and
/// then the other. Returns `None` without such measurements.
pub(super) fn ratios(measurements: &[Measurement]) -> Option<Figure> {
    let mut bars: Vec<(&Measurement, f64)> = measurements
        .iter()
        .filter_map(|one| Some((one, one.ratio()?)))
        .collect();
    bars.sort_by(|a, b| b.1.total_cmp(&a.1));
    let (largest, smallest) = (bars.first()?.1, bars.last()?.1);
    let range = [(0.8 * smallest).min(0.5), (1.25 * largest).max(2.0)];
    let num_rows = bars.len().div_ceil(2);
    let mut figure = Figure::new(2)
        .title("What peers need, as a multiple of what we need")
        .panel_size(640.0, 12.0);
    for row in 0..num_rows {
        for index in [row, row + num_rows] {
            if let Some((measurement, ratio)) = bars.get(index) {
                let is_last = index + 1 == num_rows || index + 1 == bars.len();
                figure = figure.with(strip(measurement, *ratio, range, is_last));
            }
        }
    }
    Some(figure)
}

/// Draws one bar from 1 to the ratio, with its name above it. Only the last bar of a column shows
/// the numbers of the axis.
fn strip(measurement: &Measurement, ratio: f64, [from, to]: [f64; 2], is_last: bool) -> Panel {
    let peer = measurement.peer.as_ref();
    let peer = peer.map_or("", |peer| peer.name.as_str());
    let mut axis = Axis::log("").range(from, to);
    if !is_last {
        axis = axis.colour(HIDDEN);
    }
    let colour = if ratio >= 1.0 { FASTER } else { SLOWER };
    // An axis with this range has no numbers.
    let side = Axis::log("").range(2.1, 2.9);
    let bar = vec![[1.0, 2.5], [ratio, 2.5]];
    Panel::new(axis, side)
        .title(format!("{} {} / {peer}", times(ratio), measurement.name))
        .with(Series::line(bar).colour(colour).width(9.0))
        .with(Series::line(vec![[1.0, 2.1], [1.0, 2.9]]).width(1.2))
}

/// Draws one panel for each kind of size, with the fitted lines and their slopes.
pub(super) fn scaling(curves: &[ScalingCurve]) -> Figure {
    let mut kinds: Vec<&str> = curves.iter().map(|curve| curve.of).collect();
    kinds.dedup();
    let mut figure = Figure::new(kinds.len().max(1))
        .title("How time grows with the size of the problem")
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

/// Returns the ends of the fitted line.
fn fitted(curve: &ScalingCurve) -> Vec<[f64; 2]> {
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
        let row =
            |name: &str, peer: f64| Measurement::against(name, 2.0, "s", &[("NumPy", Some(peer))]);
        let mut rows = row("slow", 1.0);
        rows.extend(row("quick", 60.0));
        rows.push(Measurement::alone("alone", 1.0, "s"));
        let figure = ratios(&rows).unwrap();
        let svg = figure.to_svg();
        let at = |text: &str| svg.find(text).unwrap_or_else(|| panic!("no {text}"));
        assert!(at("30× quick / NumPy") < at("0.500× slow / NumPy"));
        assert!(!svg.contains("alone"));
        assert!(figure.to_png().unwrap().len() > 1000);
        assert!(ratios(&rows[2..]).is_none());
    }

    #[test]
    fn the_front_page_shows_headlines_only() {
        let headline = |label, is_archived| Headline { label, is_archived };
        let row = |peer: f64, headline: Headline| {
            let all = Measurement::against("name", 2.0, "s", &[("NumPy", Some(peer))]);
            all[0].clone().with_headline("NumPy", headline)
        };
        let rows = [
            row(26.2, headline("small", false)),
            row(2468.0, headline("large", true)),
            row(3.1, headline("least", false)).with_headline("SciPy", headline("other", true)),
            Measurement::alone("alone", 1.0, "s"),
        ];
        let figure = headlines(&rows).unwrap();
        let svg = figure.to_svg();
        for text in [
            "small", ">13×", "large", ">1200×", "least", ">1.6×", "archived",
        ] {
            assert!(svg.contains(text), "{text}");
        }
        assert!(!svg.contains("alone") && !svg.contains("other<"));
        assert!(figure.to_png().unwrap().len() > 1000);
        assert!(headlines(&rows[3..]).is_none());
    }

    #[test]
    fn slopes_are_in_the_legend_and_the_line_goes_through_a_power() {
        let curve = ScalingCurve {
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
