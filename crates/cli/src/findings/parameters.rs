//! Findings about the parameters: bounds that are reached, and the influence of each parameter.

use bilevel::{
    Bound, FamilyKind, FlatDirection, INFLUENCE_STEP, Learned, LearnedEntry, LearnedParameter, Map,
    NEGLIGIBLE_INFLUENCE, Parameter,
};

use super::Finding;
use ::page::number::{counted, length, number, percent, significant, whole};

/// Smallest entry of a direction that is listed.
const SMALL_ENTRY: f64 = 0.15;
/// Share of a parameter's axis in the flat directions above which the parameter is flat by itself.
const ALONE: f64 = 0.95;
/// Length of the step along a flat direction that a finding describes, as a share of the ranges
/// between bounds. The solver's model is trusted that far.
const SMALL_STEP: f64 = 0.01;
/// Largest number of parameters that a finding lists.
const MAX_LISTED: usize = 8;
/// Largest number of flat directions that are reported.
const MAX_DIRECTIONS: usize = 3;

/// Returns the findings about parameters.
pub(super) fn findings(learned: &Learned) -> Vec<Finding> {
    let parameters: Vec<LearnedEntry<'_>> = learned.entries().collect();
    if learned.family == Some(FamilyKind::Sampling) {
        return sampling(&parameters);
    }
    if super::is_bank(learned) {
        // the bounds of a bank are a part of the model
        return Vec::new();
    }
    let mut all = Vec::new();
    let converged = learned.termination.is_success();
    let single = parameters.iter().filter(|p| p.parameter.shape.is_empty());
    all.extend(single.filter_map(|p| position(p, converged)));
    all.extend(learned.parameters.iter().flat_map(block));
    let flat = learned.flat.iter();
    let traded = flat.filter_map(|direction| trade(learned, direction));
    all.extend(traded.take(MAX_DIRECTIONS));
    all
}

/// Returns the finding about the number of sampled frequencies.
fn sampling(parameters: &[LearnedEntry<'_>]) -> Vec<Finding> {
    let at = |bound| {
        parameters
            .iter()
            .filter(move |p| p.at == Some(bound))
            .count()
    };
    let num_sampled = parameters.len() - at(Bound::Lower);
    let all = length(parameters);
    let text = format!(
        "{num_sampled} of {} sampled.",
        counted(all, "frequency is", "frequencies are")
    );
    match num_sampled {
        0 => vec![Finding::warning(format!(
            "{text} The penalty is probably too large: lower it."
        ))],
        n if n == parameters.len() => vec![Finding::note(format!(
            "{text} A larger penalty would leave fewer."
        ))],
        _ => {
            let most = match at(Bound::Upper) {
                0 => String::new(),
                num => format!(" {num} of them have the largest weight allowed."),
            };
            vec![Finding::good(format!("{text}{most}"))]
        }
    }
}

/// Returns the bounds of a parameter as text.
fn bounds(p: &LearnedEntry<'_>) -> [String; 2] {
    [p.parameter.lower, p.parameter.upper].map(|theta| number(p.parameter.value(theta)))
}

/// Returns the finding about a parameter that is at a bound or has no influence.
fn position(p: &LearnedEntry<'_>, converged: bool) -> Option<Finding> {
    let name = p.name();
    let is_fixed = !(p.parameter.lower < p.parameter.upper);
    let matters = p
        .influence
        .map(|influence| !(influence < NEGLIGIBLE_INFLUENCE));
    let [lower, upper] = bounds(p);
    let at = match p.at {
        _ if is_fixed => return None,
        Some(Bound::Lower) => format!("is at its lower bound {lower}"),
        Some(Bound::Upper) => format!("is at its upper bound {upper}"),
        None if matters == Some(false) => {
            return Some(Finding::note(format!(
                "{name} has almost no influence: {}.",
                insensitive(p)
            )));
        }
        None => return None,
    };
    let advice = match p.at {
        Some(Bound::Lower) => "lower the bound",
        _ => "raise the bound",
    };
    Some(match matters {
        Some(false) => Finding::note(format!(
            "{name} {at} and has almost no influence: {}.",
            insensitive(p)
        )),
        // at a minimiser on the boundary, the objective falls outwards
        Some(true) if converged => Finding::warning(format!(
            "{name} {at}, and the objective still falls beyond it: {advice}."
        )),
        _ => Finding::warning(format!(
            "{name} {at}, and the objective may be lower beyond it: {advice}."
        )),
    })
}

/// Returns the findings about the bounds that entries of a block have reached.
fn block(p: &LearnedParameter) -> Vec<Finding> {
    let Parameter {
        shape,
        lower,
        upper,
        ..
    } = &p.parameter;
    if shape.is_empty() || !(lower < upper) {
        return Vec::new();
    }
    let found = |(side, bound, theta): (&str, Bound, f64)| {
        let reached = p.at.iter().filter(|at| **at == Some(bound)).count() as u64;
        let text = format!(
            "{} of {} of {} reached the {side} bound {}, and the objective may be lower beyond it.",
            whole(reached),
            counted(length(&p.at), "entry", "entries"),
            p.name(),
            number(p.parameter.value(theta)),
        );
        (reached > 0).then(|| Finding::warning(text))
    };
    let sides = [
        ("lower", Bound::Lower, *lower),
        ("upper", Bound::Upper, *upper),
    ];
    sides.into_iter().filter_map(found).collect()
}

/// Describes a change of a parameter that hardly changes the objective.
fn insensitive(p: &LearnedEntry<'_>) -> String {
    let step = INFLUENCE_STEP * (p.parameter.upper - p.parameter.lower);
    let change = match p.parameter.map {
        Map::Log10 => format!("by a factor of {}", significant(10_f64.powf(step), 2)),
        _ => "by a tenth of its range".to_owned(),
    };
    format!(
        "changing it {change} changes the objective by less than {}",
        percent(NEGLIGIBLE_INFLUENCE)
    )
}

/// Returns the finding about a flat direction of several parameters: each of them has influence,
/// but a combined change has none.
fn trade(learned: &Learned, flat: &FlatDirection) -> Option<Finding> {
    let matters = |p: &LearnedEntry<'_>| !(p.influence.is_some_and(|i| i < NEGLIGIBLE_INFLUENCE));
    // where flat directions together contain a parameter's own, it needs no other to be flat
    let is_alone = |j: usize| {
        let entries = learned.flat.iter().filter_map(|flat| flat.direction.get(j));
        entries.map(|entry| entry * entry).sum::<f64>() > ALONE
    };
    let all = learned.entries().zip(&flat.direction);
    let mut moved: Vec<(LearnedEntry<'_>, f64)> = (all.enumerate())
        .filter(|(j, (p, entry))| entry.abs() >= SMALL_ENTRY && matters(p) && !is_alone(*j))
        .map(|(_, (p, entry))| (p, *entry))
        .collect();
    // no sign is better than the other
    let sign = moved.first()?.1.signum();
    moved.iter_mut().for_each(|(_, entry)| *entry *= sign);
    if moved.len() < 2 {
        return None;
    }
    let names: Vec<String> = moved.iter().map(|(p, _)| p.name()).collect();
    if moved.len() > MAX_LISTED {
        let num_more = whole(length(&names[3..]));
        return Some(Finding::note(format!(
            "{} and {num_more} others can compensate each other: near the learned values, a \
             combined change of them hardly changes the objective.",
            names[..3].join(", ")
        )));
    }
    let steps: Vec<String> = moved.iter().map(|(p, entry)| change(p, *entry)).collect();
    Some(Finding::note(format!(
        "{} can compensate each other: near the learned values, {} together hardly change the \
         objective.",
        listed(&names),
        listed(&steps)
    )))
}

/// Describes the step of one parameter along a direction.
fn change(p: &LearnedEntry<'_>, entry: f64) -> String {
    let step = entry * SMALL_STEP * (p.parameter.upper - p.parameter.lower);
    let name = p.name();
    match (p.parameter.map, step > 0.0) {
        (Map::Log10, true) => format!("{name} times {}", number(10_f64.powf(step))),
        (Map::Log10, false) => format!("{name} divided by {}", number(10_f64.powf(-step))),
        (_, true) => format!(
            "{name} raised by {} of its range",
            percent(entry.abs() * SMALL_STEP)
        ),
        (_, false) => format!(
            "{name} lowered by {} of its range",
            percent(entry.abs() * SMALL_STEP)
        ),
    }
}

/// Joins names as in "a, b and c".
fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
