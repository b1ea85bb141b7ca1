//! Claims as a list.

use bilevel_cli::report::markup::escaped;

use crate::reproduce::claims::{Claim, failed};

/// "41 of 43 claims hold; ...", counting what was checked.
pub(super) fn verdict(claims: &[Claim]) -> String {
    let num = |holds: Option<bool>| claims.iter().filter(|claim| claim.holds == holds).count();
    let (hold, not, skipped) = (num(Some(true)), num(Some(false)), num(None));
    let num_failed = failed(claims).len();
    let mut parts = vec![format!("{hold} of {} checked claims hold", hold + not)];
    if num_failed > 0 {
        parts.push(format!("{num_failed} should hold and do not"));
    }
    if not > num_failed {
        parts.push(format!(
            "{} do not and were not expected to",
            not - num_failed
        ));
    }
    if skipped > 0 {
        parts.push(format!("{skipped} not checked"));
    }
    parts.join("; ") + "."
}

/// To a claim.
pub(super) fn link(claim: &Claim) -> String {
    format!("<a href=\"#{}\">{}</a>", anchor(claim), escaped(&claim.id))
}

/// Names in links have no spaces.
fn anchor(claim: &Claim) -> String {
    let letter = |letter: char| {
        if letter.is_ascii_alphanumeric() {
            letter
        } else {
            '-'
        }
    };
    format!("claim-{}", claim.id.chars().map(letter).collect::<String>())
}

/// The list; nothing if there are none.
pub(super) fn html(claims: &[&Claim]) -> String {
    if claims.is_empty() {
        return String::new();
    }
    let items: String = claims.iter().map(|claim| item(claim)).collect();
    format!("<ul class=\"findings claims\">\n{items}</ul>\n")
}

fn item(claim: &Claim) -> String {
    let (class, mark, name) = match (claim.holds, claim.expected_to_hold) {
        (Some(true), _) => ("good", "✓", "holds"),
        (Some(false), true) => ("warning", "✗", "does not hold"),
        (Some(false), false) => ("note", "✗", "does not hold, as expected"),
        (None, _) => ("skipped", "–", "not checked"),
    };
    let expectation = match (claim.holds, claim.expected_to_hold) {
        (_, true) | (None, _) => "",
        (Some(true), false) => " <span class=\"badge\">not expected</span>",
        (Some(false), false) => " <span class=\"badge\">not expected to hold</span>",
    };
    format!(
        "<li class=\"{class}\" id=\"{}\"><span class=\"mark\" role=\"img\" aria-label=\"{name}\">{mark}</span>\
         <div><p>{}{expectation}</p><dl><dt>measured</dt><dd>{}</dd><dt>expected</dt><dd>{}</dd><dt>source</dt><dd>{}</dd></dl></div></li>\n",
        anchor(claim),
        escaped(&claim.text),
        escaped(&claim.measured),
        escaped(&claim.expected),
        escaped(&claim.source)
    )
}
