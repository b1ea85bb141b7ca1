//! The headline of a page: quality, cost and the table of parameters.

use ::page::number::{between, counted, decibel, duration, length, number, percent, whole};
use ::page::{folded, table};
use bilevel::{Bound, FamilyKind, Learned, LearnedEntry, Map, Scale, Score};
use maud::{Markup, html};

use super::filters::two_digits;
use super::{ReportBank, ReportInput};
use crate::findings::{Mean, gains, psnrs};
use crate::summary::AFTER_TRANSFORM;

/// Largest number of parameters whose table is not folded.
const MAX_UNFOLDED: usize = 12;

/// Largest number of parameters that are listed.
const MAX_LISTED: usize = 1000;

/// Returns the cards, then the table of parameters.
pub(super) fn html(input: &ReportInput<'_>) -> Markup {
    let learned = input.learned;
    let entries: Vec<LearnedEntry<'_>> = learned.entries().collect();
    let time = input.seconds.map(duration);
    html! {
        dl.cards {
            (objective(learned, input.scale))
            (quality("Training images", &learned.training))
            (estimated(&learned.training, input.is_transformed))
            (quality("Held-out images", &learned.validation))
            @if let Some(bank) = &input.bank { (gain_over_tv(bank)) }
            @if learned.family == Some(FamilyKind::Sampling) { (frequencies(&entries)) }
            (card(
                "Evaluations",
                &whole(length(&learned.evaluations)),
                &format!("at {}", counted(learned.num_points, "point", "points")),
            ))
            (card(
                "Gradients",
                &whole(learned.work.total()),
                &time.map_or_else(String::new, |time| format!("in {time}")),
            ))
        }
        @if !entries.is_empty() && input.bank.is_none() { (parameters(&entries)) }
    }
}

/// Returns the card of the gain of a filter bank over total variation, if it is known.
fn gain_over_tv(bank: &ReportBank<'_>) -> Markup {
    let known = bank.comparison.and_then(|made| Some((made, made.gain()?)));
    let Some((comparison, gain)) = known else {
        return html! {};
    };
    let images = counted(
        length(&comparison.images),
        "held-out image",
        "held-out images",
    );
    let remark = format!(
        "on {images}, where total variation has {}",
        decibel(comparison.tv)
    );
    card("Gain over total variation", &two_digits(gain), &remark)
}

/// Returns a card: one number with its name and a remark, which may be empty.
fn card(name: &str, number: &str, remark: &str) -> Markup {
    html! {
        div {
            dt { (name) }
            dd.big { (number) }
            @if !remark.is_empty() { dd.soft { (remark) } }
        }
    }
}

/// Returns the card of the objective and its certified interval.
fn objective(learned: &Learned, scale: Scale) -> Markup {
    let scale = match scale {
        Scale::Mean => "mean over images",
        Scale::Sum => "sum over images",
    };
    let interval = learned.interval;
    let [lower, upper] = between(interval.lower, interval.upper);
    let certain = if !interval.upper.is_finite() {
        "of unknown accuracy".to_owned()
    } else if lower == upper {
        "known exactly".to_owned()
    } else {
        format!("certainly between {lower} and {upper}")
    };
    let remark = format!("{scale}, {certain}");
    card("Objective", &number(learned.objective), &remark)
}

/// Returns the card of the mean quality of reconstructions, or nothing if it is not known.
fn quality(name: &str, scores: &[Score]) -> Markup {
    let Some(after) = Mean::of(&psnrs(scores)) else {
        return html! {};
    };
    let gain = Mean::of(&gains(scores)).map_or_else(String::new, |gain| {
        format!("{} over the data, ", signed_decibel(gain.value))
    });
    let images = counted(length(scores), "image", "images");
    let remark = format!("{gain}mean of {images}");
    card(name, &decibel(after.value), &remark)
}

/// Returns the card of the estimated quality of images that were learned from without truth.
fn estimated(scores: &[Score], is_transformed: bool) -> Markup {
    let psnrs = scores.iter().filter_map(|score| score.estimate?.psnr());
    let Some(mean) = Mean::of(&psnrs.collect::<Vec<f64>>()) else {
        return html! {};
    };
    let images = counted(length(scores), "image", "images");
    let after = if is_transformed { AFTER_TRANSFORM } else { "" };
    let remark = format!("mean of {images}, estimated without truth{after}");
    card("Training images", &decibel(mean.value), &remark)
}

/// Writes a difference in decibels with its sign.
pub(super) fn signed_decibel(value: f64) -> String {
    let sign = if value >= 0.0 { "+" } else { "" };
    format!("{sign}{}", decibel(value))
}

/// Returns the card of the number of frequencies with a weight above its lower bound.
fn frequencies(parameters: &[LearnedEntry<'_>]) -> Markup {
    let sampled = parameters.iter().filter(|p| p.at != Some(Bound::Lower));
    let remark = format!("of {}", parameters.len());
    card("Sampled frequencies", &sampled.count().to_string(), &remark)
}

/// Returns the table of parameters, folded if it is long.
fn parameters(parameters: &[LearnedEntry<'_>]) -> Markup {
    let rows: Vec<Vec<Markup>> = parameters.iter().take(MAX_LISTED).map(row).collect();
    let head = [
        "parameter",
        "value",
        "position between bounds",
        "at bound",
        "influence",
    ];
    let body = html! {
        (table("parameters", &head, &rows, &[]))
        p.soft {
            @if parameters.len() > MAX_LISTED {
                "The file result.json has all parameters, and this table the first "
                (whole(MAX_LISTED as u64)) ". "
            }
            "The ring marks the start of learning. The influence is the largest relative change of \
             the objective when the parameter moves by a tenth of the range between its bounds, in \
             either direction."
            @if parameters.iter().any(|p| p.influence.is_none()) {
                " A dash is an influence that was not computed."
            }
            @if parameters.iter().any(|p| p.parameter.map == Map::Odds) {
                " The value of a weight is θ/(1 − θ); the position between bounds is that of θ."
            }
        }
    };
    if parameters.len() <= MAX_UNFOLDED {
        return body;
    }
    let summary = counted(length(parameters), "parameter", "parameters");
    folded(&summary, false, &body)
}

/// Returns the row of one parameter.
fn row(p: &LearnedEntry<'_>) -> Vec<Markup> {
    let parameter = &p.parameter;
    // position between the bounds in percent; equal bounds have no range
    let place = |theta: f64| {
        let share = (theta - parameter.lower) / (parameter.upper - parameter.lower);
        let share = if share.is_finite() { share } else { 0.5 };
        format!("left:{:.1}%", 100.0 * share.clamp(0.0, 1.0))
    };
    let range = html! {
        span.range {
            span { (number(parameter.value(parameter.lower))) }
            span.track {
                i.from style=(place(p.start())) {}
                i.to style=(place(p.theta)) {}
            }
            span { (number(parameter.value(parameter.upper))) }
        }
    };
    let bound = match p.at {
        Some(Bound::Lower) if parameter.map == Map::Odds => html! { "off" },
        Some(Bound::Lower) => html! { span.hit { "lower" } },
        Some(Bound::Upper) => html! { span.hit { "upper" } },
        None => html! {},
    };
    let influence = match p.influence {
        None => "–".to_owned(),
        Some(share) if share <= 1.0 => percent(share),
        // beyond that the exact number means nothing
        Some(_) => format!("over {}", percent(1.0)),
    };
    vec![
        html! { (p.name()) },
        html! { (number(p.value)) },
        range,
        bound,
        html! { (influence) },
    ]
}
