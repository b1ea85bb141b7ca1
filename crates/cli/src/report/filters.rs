//! The filters of a bank as pictures, each with its potential as a curve.

use std::fmt::Write as _;

use ::page::number::{number, whole};
use ::page::table;
use imaging::{FilterBank, TwoRoots};
use maud::{Markup, PreEscaped, html};

use super::ReportBank;

/// The style of the section.
pub(super) const STYLE: &str = "\
.bank-constants th:first-child, .bank-constants td { white-space: normal; }
.cards { grid-template-columns: repeat(auto-fit, minmax(9.25rem, 1fr)); }
.bank { display: grid; gap: .6rem; margin: 1rem 0; justify-content: center; }
.bank > div { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: .5rem; }
.bank > .none { border-style: dashed; background: none; display: flex; align-items: center; justify-content: center;
  text-align: center; color: var(--soft); font-size: .75rem; line-height: 1.35; }
.bank > .off { opacity: .45; }
.bank svg { display: block; width: 100%; height: auto; }
.bank .taps { border-radius: 4px; }
.bank .curve { margin-top: .4rem; color: var(--accent); }
.bank .curve .axis { stroke: var(--line); }
.bank .label { display: flex; justify-content: space-between; font-size: .75rem; color: var(--soft);
  font-variant-numeric: tabular-nums; }
@media (max-width: 40rem) { .bank { gap: .25rem; } .bank > div { padding: .2rem; } .bank .label { display: none; } }
@media print { .bank > div { break-inside: avoid; } .bank svg { print-color-adjust: exact; } }
";

/// The responses over which potentials are drawn: from minus this number to this number.
const RESPONSE: f64 = 0.5;
/// The number of points of a curve.
const NUM_POINTS: u32 = 101;
/// The width and the height of the frame of a curve.
const FRAME: [f64; 2] = [100.0, 46.0];
/// The share of the highest potential below which a filter is drawn as unused; a choice.
const UNUSED: f64 = 0.01;

/// Returns the constants of the banks, and the grids of filters with their potentials.
pub(super) fn html(report: &ReportBank<'_>) -> Markup {
    html! {
        (constants(report))
        p.soft {
            "Each square is one filter: " b style="color:#d55e00" { "orange" } " pixels count \
             positive, " b style="color:#0072b2" { "blue" } " ones negative. The curve below it is \
             the potential φ(t), the price of a response t from −0.5 to 0.5, with a scale of its \
             own."
        }
        @for (name, bank) in report.banks {
            @if !name.is_empty() { h3 { "Filters of the " (name) } }
            (grid(bank))
        }
        p.soft {
            "Filters are ordered by their frequency down the columns and along the rows, which are \
             the numbers on the left below each curve. "
            @if report.is_learned {
                "Each learned filter has the symmetry of the cosine filter in its place. After them \
                 come slanted filters; two neighbours are mirror images and have one potential. "
            }
            "The number on the right is the price of a response of 0.5. Filters with a price below \
             one percent of the highest are pale. A curve that becomes flat lets edges pass; a \
             curve that rises steadily smooths them."
        }
    }
}

/// Returns the filters of a bank with their potentials: a square of those that cosine filters have
/// a place for, and rows with whole pairs of slanted ones.
fn grid(bank: &FilterBank) -> Markup {
    let (size, potentials) = (bank.size(), bank.potentials());
    let highest = potentials.iter().map(height).fold(0.0, f64::max);
    let taps = bank.taps();
    let filters: Vec<_> = taps.iter().zip(potentials).collect();
    let (square, slanted) = filters.split_at(filters.len().min(size * size - 1));
    let columns = |count: usize| format!("grid-template-columns:repeat({count},minmax(0,9rem))");
    html! {
        .bank style=(columns(size)) {
            .none { "the mean is free" }
            @for (index, (taps, potential)) in square.iter().enumerate() {
                @let place = format!("{}, {}", (index + 1) / size, (index + 1) % size);
                (filter(taps, **potential, size, &place, highest))
            }
        }
        @if !slanted.is_empty() {
            .bank style=(columns(size - 1)) {
                @for (taps, potential) in slanted {
                    (filter(taps, **potential, size, "slanted", highest))
                }
            }
        }
    }
}

/// Returns the value of a potential at [`RESPONSE`], above its minimum.
fn height(potential: &TwoRoots) -> f64 {
    potential.value(RESPONSE) - potential.value(0.0)
}

/// Returns a filter with its potential.
fn filter(taps: &[f64], potential: TwoRoots, size: usize, place: &str, highest: f64) -> Markup {
    let own = height(&potential);
    html! {
        div.off[own < UNUSED * highest] title=(description(&potential)) {
            (PreEscaped(picture(taps, size)))
            (PreEscaped(curve(potential, own)))
            .label {
                span { (place) }
                span { (number(own)) }
            }
        }
    }
}

/// Returns the table of proved constants and of the comparison with total variation.
fn constants(report: &ReportBank<'_>) -> Markup {
    let sizes = report.banks.iter().map(|(_, bank)| bank.size());
    let num_filters: usize = report
        .banks
        .iter()
        .map(|(_, bank)| bank.potentials().len())
        .sum();
    let kind = if report.is_learned {
        "learned"
    } else {
        "cosine"
    };
    let side = whole(sizes.max().unwrap_or_default() as u64);
    let mut rows = vec![
        (
            "filters",
            format!("{num_filters} {kind} filters of {side} × {side} pixels"),
        ),
        (
            "strong convexity μ, proved",
            format!("at least {}", number(report.constants[0])),
        ),
        (
            "Lipschitz constant L of the gradient, proved",
            format!("at most {}", number(report.constants[1])),
        ),
    ];
    if let Some((made, gain)) = report
        .comparison
        .and_then(|made| Some((made, made.gain()?)))
    {
        let parameters =
            (made.parameters.iter()).map(|(name, value)| format!("{name} = {}", number(*value)));
        rows.push((
            "PSNR of held-out images",
            format!(
                "{:.2} dB with filters, {:.2} dB with total variation",
                made.filters, made.tv
            ),
        ));
        rows.push((
            "gain over total variation",
            format!(
                "{} (learned from the same images: {})",
                two_digits(gain),
                parameters.collect::<Vec<_>>().join(", ")
            ),
        ));
    }
    let rows: Vec<Vec<Markup>> = (rows.into_iter())
        .map(|(name, text)| vec![html! { (name) }, html! { (text) }])
        .collect();
    table("bank-constants", &[], &rows, &[])
}

/// Writes a gain with its sign and two digits after the point.
pub(super) fn two_digits(gain: f64) -> String {
    format!("{gain:+.2} dB")
}

/// Describes a potential by its numbers.
fn description(potential: &TwoRoots) -> String {
    let TwoRoots {
        alpha,
        nu,
        beta,
        omega,
    } = *potential;
    let [alpha, nu, beta, omega] = [alpha, nu, beta, omega].map(number);
    format!("α = {alpha}, ν = {nu}, β = {beta}, ω = {omega}")
}

/// Draws the taps of a filter as an SVG picture. The largest tap has the full colour.
fn picture(taps: &[f64], size: usize) -> String {
    let largest = taps.iter().fold(0.0_f64, |most, tap| most.max(tap.abs()));
    let mut svg = format!(
        r#"<svg class="taps" viewBox="0 0 {size} {size}" shape-rendering="crispEdges" role="img" aria-label="filter">"#
    );
    for (index, tap) in taps.iter().enumerate() {
        let (row, col) = (index / size, index % size);
        let colour = diverging(tap / largest.max(f64::MIN_POSITIVE));
        let _ = write!(
            svg,
            r#"<rect x="{col}" y="{row}" width="1" height="1" fill="{colour}"/>"#
        );
    }
    svg + "</svg>"
}

/// Returns a colour for a number from -1 (blue) over 0 (nearly white) to 1 (orange).
fn diverging(share: f64) -> String {
    const NEUTRAL: [f64; 3] = [247.0, 247.0, 245.0];
    let end = if share < 0.0 {
        [0.0, 114.0, 178.0]
    } else {
        [213.0, 94.0, 0.0]
    };
    let strength = share.abs().min(1.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the numbers lie between 0 and 255"
    )]
    let [r, g, b] =
        [0, 1, 2].map(|i| (NEUTRAL[i] + strength * (end[i] - NEUTRAL[i])).round() as u8);
    format!("#{r:02x}{g:02x}{b:02x}")
}

/// Draws a potential as an SVG curve, where a value of `highest` above its minimum fills the
/// frame.
fn curve(potential: TwoRoots, highest: f64) -> String {
    let [width, height] = FRAME;
    let (left, top) = (1.5, 2.0);
    let (inner, rise) = (width - 2.0 * left, height - 2.0 * top);
    let zero = potential.value(0.0);
    let points = (0..NUM_POINTS).map(|index| {
        let share = f64::from(index) / f64::from(NUM_POINTS - 1);
        let value = potential.value(RESPONSE * (2.0 * share - 1.0)) - zero;
        let y = height - top - rise * value / highest.max(f64::MIN_POSITIVE);
        format!("{:.1},{:.1}", left + inner * share, y.max(top))
    });
    let points = points.collect::<Vec<_>>().join(" ");
    let bottom = height - top;
    let middle = 0.5 * width;
    format!(
        r#"<svg class="curve" viewBox="0 0 {width} {height}" role="img" aria-label="potential"><path class="axis" d="M0 {bottom}H{width}M{middle} 0V{height}" fill="none"/><polyline points="{points}" fill="none" stroke="currentColor" stroke-width="2" stroke-linejoin="round" stroke-linecap="round"/></svg>"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_filter_has_a_picture_and_a_curve() {
        let potential = TwoRoots::convex(0.01, 0.01);
        let bank = FilterBank::dct(3, vec![potential; 8]).unwrap();
        let page = html(&ReportBank {
            banks: &[("", &bank)],
            constants: [1.0, 3.0],
            is_learned: false,
            comparison: None,
        })
        .into_string();
        assert_eq!(page.matches("class=\"taps\"").count(), 8);
        assert_eq!(page.matches("class=\"curve\"").count(), 8);
        assert_eq!(page.matches("<rect").count(), 72);
        assert!(page.contains("8 cosine filters of 3 × 3 pixels"), "{page}");
        assert!(
            page.contains("at least 1<") && page.contains("at most 3<"),
            "{page}"
        );
        assert!(!page.contains("NaN"), "{page}");
    }

    /// A row of slanted filters has an even number of them, so it ends with a whole pair.
    #[test]
    fn pairs_of_slanted_filters_share_a_row() {
        for size in [3, 5, 7] {
            let count = FilterBank::num_potentials(size, true).unwrap();
            let coefficients = FilterBank::cosine_coefficients(size).unwrap();
            let potentials = vec![TwoRoots::convex(0.01, 0.01); count];
            let bank = FilterBank::learned(size, coefficients, potentials).unwrap();
            let page = grid(&bank).into_string();
            let grids: Vec<&str> = page.split("class=\"bank\"").skip(1).collect();
            let filters = |part: &str| part.matches("class=\"taps\"").count();
            assert_eq!(grids.len(), 2);
            assert_eq!(filters(grids[0]), size * size - 1);
            assert_eq!(filters(grids[1]), bank.taps().len() + 1 - size * size);
            assert!(grids[1].contains(&format!("repeat({},", size - 1)));
            assert!(size % 2 == 1 && filters(grids[1]) % 2 == 0);
        }
    }

    #[test]
    fn colours_are_blue_white_and_orange() {
        let colours = [-1.0, 0.0, 1.0, 5.0].map(diverging);
        assert_eq!(colours, ["#0072b2", "#f7f7f5", "#d55e00", "#d55e00"]);
    }
}
