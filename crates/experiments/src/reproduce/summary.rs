//! The results for programs: `summary.json`.

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::claims::{Claim, headline};
use super::figures::Drawn;
use super::record::RunRecord;
use super::results::{ReproductionSize, Results};

/// Returns the name of a size in the summary and on the page.
#[must_use]
pub const fn size_name(size: ReproductionSize) -> &'static str {
    match size {
        ReproductionSize::Quick => "quick",
        ReproductionSize::Plain => "plain",
        ReproductionSize::Full => "full",
    }
}

/// Returns the text of the file. Numbers that are not finite are `null`.
///
/// # Errors
/// Never: all values can be written as JSON.
pub fn json(results: &Results, claims: &[Claim], figures: &[Drawn]) -> Result<String> {
    let claims = serde_json::to_value(claims).context("cannot write claims")?;
    let factors: Vec<Value> = headline::table(results).iter().map(factors).collect();
    let all = json!({
        "size": size_name(results.size),
        "seed": results.source.seed,
        "data": data(results),
        "version": env!("CARGO_PKG_VERSION"),
        "runs": results.records.values().map(run).collect::<Vec<_>>(),
        "claims": claims,
        "factors": factors,
        "figures": figures.iter().map(figure).collect::<Vec<_>>(),
    });
    let text = serde_json::to_string_pretty(&all).context("cannot write the summary")?;
    Ok(text + "\n")
}

/// Returns the source of the training data in words.
fn data(results: &Results) -> Value {
    let signals = match results.source.seed {
        None => "authors",
        Some(_) => "random",
    };
    let photographs = match results.source.kodak {
        Some(_) => "kodak",
        None => "dead leaves",
    };
    json!({ "signals": signals, "photographs": photographs })
}

fn run(record: &RunRecord) -> Value {
    let outcome = &record.outcome;
    json!({
        "setting": record.id.setting,
        "variant": record.id.variant.name(),
        "mode": record.id.mode.name(),
        "theta": outcome.theta,
        "params": outcome.params,
        "f": outcome.f,
        "f_error": outcome.f_error,
        "f_exact": outcome.f_exact,
        "psnr": outcome.psnr,
        "evaluations": record.evaluations.len(),
        "lower_iterations": record.lower_iterations(),
        "gradients": record.gradients(),
        "seconds": outcome.seconds,
        "termination": outcome.termination,
    })
}

/// Returns the factors by which the lower-level iterations are fewer than with high accuracy;
/// `null` if a target is never reached.
fn factors(row: &headline::SpeedupRow) -> Value {
    let of =
        |all: Option<[headline::Speedup; 3]>| all.map(|all| all.map(headline::Speedup::factor));
    json!({
        "setting": row.setting,
        "method": row.method,
        "targets": headline::TARGETS,
        "faithful": of(row.faithful),
        "archived": row.archived.map(|all| all.map(|one| one.and_then(headline::Speedup::factor))),
        "ours": of(row.ours),
    })
}

fn figure(drawn: &Drawn) -> Value {
    let id = drawn.id;
    json!({
        "id": id,
        "title": drawn.title,
        "caption": drawn.caption,
        "files": [format!("{id}.svg"), format!("{id}.png")],
    })
}
