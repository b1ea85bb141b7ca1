//! The text of the progress.

use bilevel::Parameter;
use page::number::{amount, significant};

use crate::session::Snapshot;
use crate::summary::{is_rough, objective};

/// Largest number of parameters that are listed.
const LISTED: usize = 4;
/// Distance from a bound, as a share of the range between bounds, below which a parameter is at it.
const ON_BOUND: f64 = 1e-6;

/// Returns a line about the best point and the work, without points and time.
pub(super) fn describe(snapshot: &Snapshot<'_>) -> String {
    let mut parts = Vec::new();
    if let Some(best) = snapshot.best {
        parts.push(format!(
            "objective {}",
            objective(best.objective, best.interval)
        ));
        // rough reconstructions have a PSNR, but not that of the parameters
        if let Some(psnr) = best
            .psnr
            .filter(|_| !is_rough(best.objective, best.interval))
        {
            let others = snapshot.held_out_psnr;
            let others = others.map_or_else(String::new, |psnr| format!(", held-out {psnr:.2} dB"));
            parts.push(format!("mean PSNR {psnr:.2} dB{others}"));
        }
        if best.values.len() <= LISTED {
            let names = snapshot.parameters.iter().flat_map(|p| {
                let entries = 0..p.num_entries();
                entries.map(|index| p.entry_name(index))
            });
            let named = (names.zip(&best.values))
                .map(|(name, value)| format!("{name} {}", significant(*value, 4)));
            parts.push(named.collect::<Vec<_>>().join(", "));
        } else {
            let above = Parameter::of_entries(snapshot.parameters).zip(&best.theta);
            let above =
                above.filter(|(p, theta)| **theta - p.lower > ON_BOUND * (p.upper - p.lower));
            parts.push(format!(
                "{} parameters, {} above their lower bound",
                best.values.len(),
                above.count()
            ));
        }
    }
    let unit = if snapshot.work == 1 {
        "gradient"
    } else {
        "gradients"
    };
    parts.push(format!("{} {unit}", amount(snapshot.work)));
    parts.join("  ")
}
