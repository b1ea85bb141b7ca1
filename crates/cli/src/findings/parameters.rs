//! What the parameters are, and which of them matter.

use bilevel::{
    Bound, FamilyKind, FlatDirection, INFLUENCE_STEP, Learned, LearnedParameter, Map,
    NEGLIGIBLE_INFLUENCE,
};

use super::Finding;
use ::page::number::{counted, length, number, percent, whole};

/// A smaller entry of a direction is left out.
const SMALL_ENTRY: f64 = 0.15;
/// A parameter of which flat directions contain this share is flat by itself.
const ALONE: f64 = 0.95;
/// How far the solver's model is trusted, likewise.
const SMALL_STEP: f64 = 0.01;
/// With more parameters, the table has to do.
const MAX_LISTED: usize = 8;
/// The flattest directions say enough.
const MAX_DIRECTIONS: usize = 3;

/// All about parameters.
pub(super) fn findings(learned: &Learned) -> Vec<Finding> {
    let parameters = &learned.parameters;
    if learned.family == Some(FamilyKind::Sampling) {
        return sampling(parameters);
    }
    let mut all = Vec::new();
    let converged = learned.termination.is_success();
    all.extend(parameters.iter().filter_map(|p| position(p, converged)));
    let flat = learned.flat.iter();
    let traded = flat.filter_map(|direction| trade(learned, direction));
    all.extend(traded.take(MAX_DIRECTIONS));
    all
}

/// Weights of frequencies are many; what counts is their number.
fn sampling(parameters: &[LearnedParameter]) -> Vec<Finding> {
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
            "{text} Is the penalty too large?"
        ))],
        n if n == parameters.len() => vec![Finding::note(format!(
            "{text} With a larger penalty there would be fewer."
        ))],
        _ => {
            let most = match at(Bound::Upper) {
                0 => String::new(),
                num => format!(" {num} of them have the largest weight that is allowed."),
            };
            vec![Finding::good(format!("{text}{most}"))]
        }
    }
}

/// In words.
fn bounds(p: &LearnedParameter) -> [String; 2] {
    [p.parameter.lower, p.parameter.upper].map(|theta| number(p.parameter.value(theta)))
}

/// Whether a parameter is at a bound, and whether it matters.
fn position(p: &LearnedParameter, converged: bool) -> Option<Finding> {
    let name = &p.parameter.name;
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
                "{name} does not matter: {}.",
                insensitive(p)
            )));
        }
        None => return None,
    };
    let wider = match p.at {
        Some(Bound::Lower) => "smaller",
        _ => "larger",
    };
    Some(match matters {
        Some(false) => Finding::note(format!(
            "{name} {at} and does not matter: {}.",
            insensitive(p)
        )),
        // at a minimiser on the boundary, the objective falls outwards
        Some(true) if converged => Finding::warning(format!(
            "{name} {at}, and the objective would still fall beyond it: consider a {wider} bound."
        )),
        _ => Finding::warning(format!(
            "{name} {at}; beyond it the objective may be better: consider a {wider} bound."
        )),
    })
}

/// What a change that a person can imagine does to the objective.
fn insensitive(p: &LearnedParameter) -> String {
    let step = INFLUENCE_STEP * (p.parameter.upper - p.parameter.lower);
    let change = match p.parameter.map {
        Map::Log10 => format!("by a factor of {}", number(10_f64.powf(step))),
        _ => "by a tenth of its range".to_owned(),
    };
    format!(
        "changing it {change} changes the objective by less than {}",
        percent(NEGLIGIBLE_INFLUENCE)
    )
}

/// Several parameters that matter, but of which only a combination does.
fn trade(learned: &Learned, flat: &FlatDirection) -> Option<Finding> {
    let matters = |p: &LearnedParameter| !(p.influence.is_some_and(|i| i < NEGLIGIBLE_INFLUENCE));
    // where flat directions together contain a parameter's own, it needs no other to be flat
    let is_alone = |j: usize| {
        let entries = learned.flat.iter().filter_map(|flat| flat.direction.get(j));
        entries.map(|entry| entry * entry).sum::<f64>() > ALONE
    };
    let all = learned.parameters.iter().zip(&flat.direction);
    let mut moved: Vec<(&LearnedParameter, f64)> = (all.enumerate())
        .filter(|(j, (p, entry))| entry.abs() >= SMALL_ENTRY && matters(p) && !is_alone(*j))
        .map(|(_, (p, entry))| (p, *entry))
        .collect();
    // no sign is better than the other
    let sign = moved.first()?.1.signum();
    moved.iter_mut().for_each(|(_, entry)| *entry *= sign);
    if moved.len() < 2 {
        return None;
    }
    let names: Vec<&str> = moved
        .iter()
        .map(|(p, _)| p.parameter.name.as_str())
        .collect();
    if moved.len() > MAX_LISTED {
        let num_more = whole(length(&names[3..]));
        return Some(Finding::note(format!(
            "{} and {num_more} others can be traded against each other: near these values, moving them together hardly changes the objective.",
            names[..3].join(", ")
        )));
    }
    let steps: Vec<String> = moved.iter().map(|(p, entry)| change(p, *entry)).collect();
    Some(Finding::note(format!(
        "{} can be traded against each other: near these values, {} hardly changes the objective.",
        listed(&names),
        steps.join(" with ")
    )))
}

/// A move along a direction, in words.
fn change(p: &LearnedParameter, entry: f64) -> String {
    let step = entry * SMALL_STEP * (p.parameter.upper - p.parameter.lower);
    let name = &p.parameter.name;
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

/// "a, b and c".
fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
