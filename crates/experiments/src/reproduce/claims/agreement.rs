//! Claims that runs of the authors' algorithm repeat the archived runs, evaluation by evaluation.

use super::measure::{digits, percent, relative, whole};
use super::{Claim, Topic, Verdict, authors_data, authors_photographs, full_scale, run};
use crate::reproduce::archive::{self, ArchivedRun};
use crate::reproduce::record::{Effort, Mode, RunRecord, Variant};
use crate::reproduce::results::Results;

/// The evaluations of a run that can be reproduced. Later on, even the authors' own program departs
/// from its archived runs when it is run again (section 11 of the reference archive's FACTS.md).
struct ExpectedTrace {
    id: &'static str,
    setting: &'static str,
    topic: Topic,
    figures: &'static [u32],
    what: &'static str,
    /// The number of equal evaluations with fixed iterations.
    num_fixed: usize,
    /// The number of equal evaluations with dynamic accuracy.
    num_dynamic: usize,
    /// The largest relative difference of the lower-level iterations of an evaluation. Rounding can
    /// decide whether there is one more.
    iterations: f64,
    /// The largest relative difference of objectives; infinite if only iterations are compared.
    objective: f64,
}

const TRACES: [ExpectedTrace; 5] = [
    ExpectedTrace {
        id: "denoise1_start0/evaluations",
        setting: "denoise1_start0",
        topic: Topic::OneParameter,
        figures: &[4],
        what: "all evaluations of each variant from alpha = 1",
        num_fixed: 20,
        num_dynamic: 20,
        iterations: 1e-3,
        objective: 1e-8,
    },
    ExpectedTrace {
        id: "denoise1_start-2/evaluations",
        setting: "denoise1_start-2",
        topic: Topic::OneParameter,
        figures: &[6],
        what: "all evaluations of each variant from alpha = 0.01",
        num_fixed: 20,
        num_dynamic: 20,
        iterations: 1e-3,
        objective: 1e-8,
    },
    ExpectedTrace {
        id: "denoise3_beta1e-6/first evaluations",
        setting: "denoise3_beta1e-6",
        topic: Topic::ThreeParameters,
        figures: &[8],
        what: "all evaluations before the first trust-region step",
        num_fixed: 4,
        num_dynamic: 6,
        iterations: 1e-3,
        objective: 1e-8,
    },
    ExpectedTrace {
        id: "denoise3_beta1e-6/evaluations",
        setting: "denoise3_beta1e-6",
        topic: Topic::ThreeParameters,
        figures: &[8],
        what: "lower-level iterations in the first 7 evaluations of each variant",
        num_fixed: 7,
        num_dynamic: 7,
        iterations: 1e-3,
        objective: f64::INFINITY,
    },
    ExpectedTrace {
        id: "mri/evaluations",
        setting: "mri",
        topic: Topic::Sampling,
        figures: &[15],
        what: "the first 70 evaluations with dynamic accuracy, and the first 65 evaluations (the \
               initial model) with fixed iterations",
        num_fixed: 65,
        num_dynamic: 70,
        iterations: 1e-3,
        objective: 1e-8,
    },
];

/// An experiment, its topic, its figure, and the largest factor between total iterations. Reruns of
/// the authors' own program scatter by a factor of 2 (section 12 of the reference archive's
/// FACTS.md).
const TOTALS: [(&str, Topic, u32, f64); 3] = [
    ("denoise3_beta1e-6", Topic::ThreeParameters, 8, 2.0),
    ("kodak_sigma1e-1", Topic::Photographs, 12, 2.0),
    ("mri", Topic::Sampling, 15, 2.0),
];

pub(super) fn claims(results: &Results) -> Vec<Claim> {
    let trace = |expected: &ExpectedTrace| {
        let text = format!(
            "The authors' algorithm repeats the archived runs: {}.",
            expected.what
        );
        Claim::new(
            expected.topic,
            &format!("archive/{}", expected.id),
            expected.figures,
            text,
        )
        .expected(
            expected.text(),
            "reference archive, runs; FACTS.md sections 9.2 and 11",
        )
        .verdict(repeated(results, expected))
    };
    let total = |(setting, topic, figure, factor): &(&str, Topic, u32, f64)| {
        Claim::new(
            *topic,
            &format!("archive/{setting}/total"),
            &[*figure],
            "The dynamic variants cost about as much as the archived ones, even where their \
             evaluations differ.",
        )
        .expected(
            format!("total lower-level iterations within a factor of {factor}"),
            "reference archive, runs; FACTS.md sections 11 and 12",
        )
        .verdict(totals(results, setting, *factor))
    };
    let mut claims: Vec<Claim> = TRACES.iter().map(trace).collect();
    claims.extend(TOTALS.iter().map(total));
    claims
}

impl ExpectedTrace {
    fn text(&self) -> String {
        let iterations = percent(self.iterations);
        let text = format!("lower-level iterations of each evaluation within {iterations}");
        match self.objective.is_finite() {
            true => format!("{text}, f within {}", digits(self.objective, 1)),
            false => text,
        }
    }
}

fn known(setting: &str, variant: Variant) -> Result<&'static ArchivedRun, String> {
    archive::run(setting, variant).ok_or_else(|| format!("the archive has no run of {setting}"))
}

fn repeated(results: &Results, expected: &ExpectedTrace) -> Verdict {
    authors_data(results)?;
    let mut holds = true;
    let mut text = Vec::new();
    for variant in Variant::ALL {
        let record = run(results, expected.setting, variant, Mode::Faithful)?;
        let archived = known(expected.setting, variant)?;
        let compared = TraceComparison::of(record, archived, expected);
        holds &= compared.is_same();
        text.push(format!("{}: {}", variant.name(), compared.text()));
    }
    Ok((holds, text.join("; ")))
}

/// The comparison of a run with the archived one.
struct TraceComparison {
    /// The number of evaluations that should be equal.
    num: usize,
    /// The number of equal evaluations before the first that differs.
    num_same: usize,
    /// The largest relative difference of iterations.
    iterations: f64,
    /// The largest relative difference of objectives.
    objective: f64,
}

impl TraceComparison {
    fn of(record: &RunRecord, archived: &ArchivedRun, expected: &ExpectedTrace) -> Self {
        let num = match record.id.variant.effort {
            Effort::Dynamic => expected.num_dynamic,
            Effort::Low | Effort::High => expected.num_fixed,
        };
        let num = num.min(archived.evaluations);
        let known = archived.lower_iterations.iter().zip(&archived.objectives);
        let both = record.evaluations.iter().zip(known).take(num);
        let mut compared = Self {
            num,
            num_same: 0,
            iterations: 0.0,
            objective: 0.0,
        };
        let mut is_same = true;
        for (found, (iterations, f)) in both {
            let distance = found.lower_iterations.abs_diff(*iterations);
            let distance = distance as f64 / (*iterations).max(1) as f64;
            let objective = relative(found.f, *f);
            is_same &= distance <= expected.iterations && objective <= expected.objective;
            compared.num_same += usize::from(is_same);
            compared.iterations = compared.iterations.max(distance);
            compared.objective = compared.objective.max(objective);
        }
        compared
    }

    const fn is_same(&self) -> bool {
        self.num_same == self.num
    }

    fn text(&self) -> String {
        let Self { num, num_same, .. } = self;
        let iterations = match self.iterations > 0.0 {
            true => format!("within {}", percent(self.iterations)),
            false => "equal".to_owned(),
        };
        let same = match self.is_same() {
            true => format!("{num} evaluations"),
            false => format!("only {num_same} of {num} evaluations"),
        };
        format!(
            "{same}, iterations {iterations}, f within {}",
            digits(self.objective, 1)
        )
    }
}

fn totals(results: &Results, setting: &str, factor: f64) -> Verdict {
    if setting.starts_with("kodak") {
        authors_photographs(results)?;
    }
    authors_data(results)?;
    full_scale(results, setting)?;
    let mut holds = true;
    let mut text = Vec::new();
    for variant in Variant::ALL {
        if variant.effort != Effort::Dynamic {
            continue;
        }
        let record = run(results, setting, variant, Mode::Faithful)?;
        let archived = known(setting, variant)?;
        let ratio = record.lower_iterations() as f64 / archived.total as f64;
        holds &= (1.0 / factor..=factor).contains(&ratio);
        text.push(format!(
            "{}: {} iterations, archive {}, ratio {}",
            variant.name(),
            whole(record.lower_iterations()),
            whole(archived.total),
            digits(ratio, 3)
        ));
    }
    Ok((holds, text.join("; ")))
}
