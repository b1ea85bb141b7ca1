//! The gradient of the objective at the learned parameters, and the work behind it.

use ::page::number::{counted, whole};
use ::page::table;
use bilevel::{Bound, Learned, Map};
use maud::{Markup, html};

use crate::summary::projected;

/// Returns a table about the gradient, or nothing if learning did not use gradients.
pub(super) fn html(learned: &Learned) -> Markup {
    let Some(gradient) = learned.gradient else {
        return html! {};
    };
    let at = |bound| {
        let all = learned.entries();
        all.filter(move |p| p.at == Some(bound)).count()
    };
    let bounds = format!(
        "{} at lower bounds, {} at upper bounds, of {}",
        at(Bound::Lower),
        at(Bound::Upper),
        counted(learned.entries().count() as u64, "parameter", "parameters")
    );
    let gradients = |work| format!("{} gradients", whole(work));
    let rows = [
        ("norm of the projected gradient", projected(gradient)),
        ("parameters at bounds", bounds),
        (
            "work of reconstructions",
            gradients(gradient.reconstructions),
        ),
        ("work of adjoints", gradients(gradient.adjoints)),
    ];
    let rows: Vec<Vec<Markup>> = (rows.into_iter())
        .map(|(name, text)| vec![html! { (name) }, html! { (text) }])
        .collect();
    let in_logarithms: Vec<&str> = (learned.parameters.iter())
        .map(|learned| &learned.parameter)
        .filter(|parameter| parameter.map == Map::Log10)
        .map(|parameter| &parameter.name[..])
        .collect();
    html! {
        (table("gradient", &[], &rows, &[]))
        p.soft {
            "The projected gradient has the derivatives of the objective with respect to all \
             parameters that no bound holds in place"
            @if !in_logarithms.is_empty() {
                "; for " (in_logarithms.join(", ")) ", with respect to the decimal logarithm"
            }
            ". A certified error is a proved bound."
        }
    }
}
