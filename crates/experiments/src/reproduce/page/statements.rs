//! The lists of claims.

use ::page::mark;
use maud::{Markup, html};

use crate::reproduce::claims::{Claim, failed};

/// Returns the counts of claims as a sentence: "41 of 43 checked claims hold; ...".
pub(super) fn verdict(claims: &[Claim]) -> String {
    let num = |holds: Option<bool>| claims.iter().filter(|claim| claim.holds == holds).count();
    let (hold, not, skipped) = (num(Some(true)), num(Some(false)), num(None));
    let num_failed = failed(claims).len();
    let mut parts = vec![format!("{hold} of {} checked claims hold", hold + not)];
    if num_failed > 0 {
        parts.push(format!("{num_failed} should hold and do not"));
    }
    if not > num_failed {
        parts.push(format!("{} do not hold, as expected", not - num_failed));
    }
    if skipped > 0 {
        parts.push(format!("{skipped} were not checked"));
    }
    parts.join("; ") + "."
}

/// Returns a link to a claim.
pub(super) fn link(claim: &Claim) -> Markup {
    html! { a href={ "#" (anchor(claim)) } { (claim.id) } }
}

/// Returns the anchor of a claim, without spaces.
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

/// Returns the list of claims; nothing if there are none.
pub(super) fn html(claims: &[&Claim]) -> Markup {
    html! {
        @if !claims.is_empty() {
            ul.findings.claims { @for claim in claims { (item(claim)) } }
        }
    }
}

fn item(claim: &Claim) -> Markup {
    let (class, sign, meaning) = match (claim.holds, claim.expected_to_hold) {
        (Some(true), _) => ("good", "✓", "holds"),
        (Some(false), true) => ("warning", "✗", "does not hold"),
        (Some(false), false) => ("note", "✗", "does not hold, as expected"),
        (None, _) => ("skipped", "–", "not checked"),
    };
    let badge = match (claim.holds, claim.expected_to_hold) {
        (_, true) | (None, _) => None,
        (Some(true), false) => Some("was not expected to hold"),
        (Some(false), false) => Some("not expected to hold"),
    };
    html! {
        li class=(class) id=(anchor(claim)) {
            (mark(sign, meaning))
            div {
                p { (claim.text) @if let Some(badge) = badge { " " span.badge { (badge) } } }
                dl {
                    dt { "measured" } dd { (claim.measured) }
                    dt { "expected" } dd { (claim.expected) }
                    dt { "source" } dd { (claim.source) }
                }
            }
        }
    }
}
