//! The numbers that matter most: how good, how expensive, which parameters.

use bilevel::{Bound, Learned, LearnedParameter, Map, Scale, Score};

use super::Input;
use super::markup::{escaped, folded, table};
use super::number::{between, counted, decibel, duration, length, number, percent, whole};
use crate::findings::{Mean, gains, is_sampling, psnrs};

/// A longer table of parameters is folded.
const MAX_UNFOLDED: usize = 12;

/// Cards, then the table of parameters.
pub(super) fn html(input: &Input<'_>) -> String {
    let learned = input.learned;
    let mut cards = vec![objective(learned, input.scale)];
    cards.extend(quality("Training images", &learned.training));
    cards.extend(quality("Held-out images", &learned.validation));
    if is_sampling(&learned.parameters) {
        let off = |p: &&LearnedParameter| p.at == Some(Bound::Lower);
        let num_off = learned.parameters.iter().filter(off).count();
        let num = learned.parameters.len();
        cards.push(card(
            "Sampled frequencies",
            &(num - num_off).to_string(),
            &format!("of {num}"),
        ));
    }
    let points = counted(learned.num_points, "point", "points");
    let evaluations = whole(length(&learned.evaluations));
    cards.push(card("Evaluations", &evaluations, &format!("at {points}")));
    let time = input
        .seconds
        .map_or_else(String::new, |seconds| format!("in {}", duration(seconds)));
    cards.push(card("Gradients", &whole(learned.work.total()), &time));
    format!(
        "<dl class=\"cards\">\n{}</dl>\n{}",
        cards.concat(),
        parameters(&learned.parameters)
    )
}

/// One number, what it is, and what there is to say about it.
fn card(what: &str, big: &str, small: &str) -> String {
    let small = match small {
        "" => String::new(),
        small => format!("<dd class=\"soft\">{}</dd>", escaped(small)),
    };
    let (what, big) = (escaped(what), escaped(big));
    format!("<div><dt>{what}</dt><dd class=\"big\">{big}</dd>{small}</div>\n")
}

/// The objective and how well it is known.
fn objective(learned: &Learned, scale: Scale) -> String {
    let what = match scale {
        Scale::Mean => "Objective (mean over images)",
        Scale::Sum => "Objective (sum over images)",
    };
    let interval = learned.interval;
    let certain = if interval.upper.is_finite() {
        let [lower, upper] = between(interval.lower, interval.upper);
        if lower == upper {
            "known exactly".to_owned()
        } else {
            format!("certainly {lower} to {upper}")
        }
    } else {
        "without any certainty".to_owned()
    };
    card(what, &number(learned.objective), &certain)
}

/// How well images are reconstructed on average.
fn quality(what: &str, scores: &[Score]) -> Option<String> {
    let after = Mean::of(&psnrs(scores))?;
    let gain = Mean::of(&gains(scores)).map(|gain| {
        let sign = if gain.value >= 0.0 { "+" } else { "" };
        format!("{sign}{}", decibel(gain.value))
    });
    let small = match gain {
        Some(gain) => format!("{gain} against the data, mean of {}", scores.len()),
        None => format!("mean of {}", scores.len()),
    };
    Some(card(what, &decibel(after.value), &small))
}

/// The table, folded if it is long.
fn parameters(parameters: &[LearnedParameter]) -> String {
    if parameters.is_empty() {
        return String::new();
    }
    let rows: Vec<Vec<String>> = parameters.iter().map(row).collect();
    let head = [
        "parameter",
        "value",
        "between its bounds",
        "at a bound",
        "influence",
    ];
    let table = table("parameters", &head, &rows, &[]);
    let odds = match parameters.iter().any(|p| p.parameter.map == Map::Odds) {
        true => " The value of a weight is θ/(1 − θ), and its place between the bounds that of θ.",
        false => "",
    };
    let note = format!(
        "<p class=\"soft\">The ring is where learning began. Influence: by what share the objective changes at most if a \
         parameter moves by a tenth of the way between its bounds, up or down.{odds}</p>\n"
    );
    let both = table + &note;
    if parameters.len() <= MAX_UNFOLDED {
        return both;
    }
    let summary = counted(length(parameters), "parameter", "parameters");
    folded(&summary, false, &both)
}

/// One parameter.
fn row(p: &LearnedParameter) -> Vec<String> {
    let Place {
        lower,
        upper,
        from,
        to,
    } = Place::of(p);
    let range = format!(
        "<span class=\"range\"><span>{lower}</span><span class=\"track\"><i class=\"from\" style=\"left:{from:.1}%\"></i>\
         <i class=\"to\" style=\"left:{to:.1}%\"></i></span><span>{upper}</span></span>"
    );
    let hit = match p.at {
        Some(Bound::Lower) if p.parameter.map == Map::Odds => "off",
        Some(Bound::Lower) => "<span class=\"hit\">lower</span>",
        Some(Bound::Upper) => "<span class=\"hit\">upper</span>",
        None => "",
    };
    vec![
        escaped(&p.parameter.name),
        number(p.value),
        range,
        hit.to_owned(),
        p.influence.map_or_else(|| "–".to_owned(), influence),
    ]
}

/// Beyond, it is enough to know that it matters.
fn influence(share: f64) -> String {
    if share <= 1.0 {
        percent(share)
    } else {
        format!("over {}", percent(1.0))
    }
}

/// Bounds in words, and places between them in percent.
struct Place {
    lower: String,
    upper: String,
    from: f64,
    to: f64,
}

impl Place {
    /// Of a parameter.
    fn of(p: &LearnedParameter) -> Self {
        let parameter = &p.parameter;
        let range = parameter.upper - parameter.lower;
        let place = |theta: f64| {
            let share = (theta - parameter.lower) / range;
            // equal bounds have no range
            let share = if share.is_finite() { share } else { 0.5 };
            100.0 * share.clamp(0.0, 1.0)
        };
        Self {
            lower: number(parameter.value(parameter.lower)),
            upper: number(parameter.value(parameter.upper)),
            from: place(parameter.start),
            to: place(p.theta),
        }
    }
}
