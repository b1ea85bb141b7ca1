//! Tables for the terminal.

use std::fmt::Write as _;
use std::io::Write;

use anyhow::Result;

use super::ResidualVariant;
use super::dynamic::{AccuracyComparison, CAREFUL, DECADES, ProblemComparison};
use super::results;
use super::run::RunResult;
use super::score::{BUDGETS, SolverScores, TAU_NAMES, TIGHT, median};

/// Prints the share of problems that each solver solves, and the problems it does not solve.
pub(super) fn solved(
    variant: ResidualVariant,
    solvers: &[&SolverScores],
    out: &mut dyn Write,
) -> Result<()> {
    let name = solvers.iter().map(|s| s.solver.chars().count()).max();
    let name = name.unwrap_or(0);
    let runs = solvers.first().map_or(0, |ours| ours.entries.len());
    writeln!(
        out,
        "\n{}: % of {runs} runs solved within k(n+1) evaluations",
        variant.name()
    )?;
    let mut taus = format!("{:name$}", "");
    let mut budgets = format!("{:name$}", "k");
    for tau in TAU_NAMES {
        write!(taus, " | {:^23}", format!("tau = {tau}"))?;
        budgets += " |";
        for budget in BUDGETS {
            write!(budgets, "{budget:>6}")?;
        }
    }
    writeln!(out, "{taus}\n{budgets}")?;
    for scores in solvers {
        let mut line = format!("{:name$}", scores.solver);
        for tau in 0..TAU_NAMES.len() {
            line += " |";
            for budget in BUDGETS {
                write!(line, "{:>6.1}", scores.percent(tau, budget))?;
            }
        }
        writeln!(out, "{line}")?;
    }
    writeln!(
        out,
        "not solved within {}(n+1):",
        BUDGETS[BUDGETS.len() - 1]
    )?;
    for scores in solvers {
        for (tau, tau_name) in TAU_NAMES.iter().enumerate() {
            let solver = if tau == 0 { &scores.solver } else { "" };
            let numbers = list(&scores.unsolved(tau));
            writeln!(out, "{solver:name$} | {tau_name}: {numbers}")?;
        }
    }
    Ok(())
}

/// Lists problems, each with the number of seeds if it is more than one.
fn list(unsolved: &[(usize, usize)]) -> String {
    if unsolved.is_empty() {
        return "none".to_owned();
    }
    let number = |&(number, times): &(usize, usize)| match times {
        1 => number.to_string(),
        times => format!("{number} ({times}x)"),
    };
    let numbers: Vec<String> = unsolved.iter().map(number).collect();
    numbers.join(", ")
}

/// Prints the solver's own time.
pub(super) fn overhead(runs: &[RunResult], out: &mut dyn Write) -> Result<()> {
    let per_evaluation = median(runs.iter().map(|run| {
        let evaluations = u32::try_from(run.evaluations.max(1)).unwrap_or(u32::MAX);
        1e6 * run.overhead.as_secs_f64() / f64::from(evaluations)
    }));
    let total: f64 = runs.iter().map(|run| run.overhead.as_secs_f64()).sum();
    if let Some(median) = per_evaluation {
        writeln!(
            out,
            "time outside the residual function: \
             median {median:.1} us per evaluation, {total:.2} s in total"
        )?;
    }
    Ok(())
}

/// Prints one line per run, with the best result of the other solvers.
pub(super) fn each_run(
    runs: &[RunResult],
    peers: &[SolverScores],
    out: &mut dyn Write,
) -> Result<()> {
    writeln!(
        out,
        "\n{:12} {:>4} {:>3} {:20} {:>2} {:>3} {:>6} {:>6} {:>6} {:>6} {:>7} {:>11} {:>11} {:>7}  \
         termination",
        "variant",
        "seed",
        "no",
        "problem",
        "n",
        "m",
        "1e-1",
        "1e-3",
        "1e-5",
        "1e-7",
        "evals",
        "f",
        "f - best",
        "us/eval"
    )?;
    for run in runs {
        let problem = run.problem;
        let evaluations = u32::try_from(run.evaluations.max(1)).unwrap_or(u32::MAX);
        write!(
            out,
            "{:12} {:>4} {:>3} {:20} {:>2} {:>3}",
            results::variant(run.kind),
            run.seed,
            problem.number(),
            problem.name(),
            problem.num_params(),
            problem.num_residuals(),
        )?;
        for reached in run.reached {
            write!(out, " {:>6}", or_dash(reached.map(|r| r.evaluations)))?;
        }
        write!(
            out,
            " {:>7} {:>11.4e} {:>11.2e} {:>7.1}  {}",
            run.evaluations,
            run.objective,
            run.objective - problem.best_known(),
            1e6 * run.overhead.as_secs_f64() / f64::from(evaluations),
            run.termination,
        )?;
        let best = peers
            .iter()
            .filter_map(|peer| Some((peer.on(problem, TIGHT)?, &peer.solver)))
            .min();
        if let Some((evaluations, solver)) = best {
            write!(out, "; best peer to 1e-5: {evaluations} ({solver})")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Prints the comparison of accuracy on demand with fixed accuracies.
pub(super) fn comparison(comparison: &AccuracyComparison, out: &mut dyn Write) -> Result<()> {
    let runs = comparison.matches.len();
    writeln!(
        out,
        "\ndynamic: accuracy on demand, work until solved to tau = 1e-5"
    )?;
    writeln!(
        out,
        "exact residuals      {:>4} of {} solved",
        comparison.solved_exact, comparison.num_exact
    )?;
    writeln!(
        out,
        "accuracy on demand   {:>4} of {runs} solved",
        comparison.solved_dynamic()
    )?;
    for decade in DECADES {
        let best = |m: &&ProblemComparison| m.best_fixed().is_some_and(|(k, _)| k == decade);
        writeln!(
            out,
            "fixed {:<14} {:>4} of {runs} solved, cheapest fixed accuracy for {}",
            format!("1e-{decade}"),
            comparison.solved_fixed(decade),
            comparison.matches.iter().filter(best).count(),
        )?;
    }
    writeln!(
        out,
        "\n {:>3} {:20} {:>9} {:>9} {:>6} {:>8} {:>9} {:>8}",
        "no", "problem", "demand", "best", "at", "ratio", "1e-10", "ratio"
    )?;
    for one in &comparison.matches {
        let best = one.best_fixed();
        writeln!(
            out,
            " {:>3} {:20} {:>9} {:>9} {:>6} {:>8} {:>9} {:>8}",
            one.problem.number(),
            one.problem.name(),
            or_dash(one.dynamic),
            or_dash(best.map(|(_, work)| work)),
            best.map_or_else(|| "-".to_owned(), |(k, _)| format!("1e-{k}")),
            decimals(one.against_best()),
            or_dash(one.fixed_at(CAREFUL)),
            decimals(one.careful_against()),
        )?;
    }
    writeln!(
        out,
        "median of work on demand / work at the best fixed accuracy in hindsight: {}",
        decimals(comparison.median_against_best())
    )?;
    writeln!(
        out,
        "median of work at fixed 1e-{CAREFUL} / work on demand: {}",
        decimals(comparison.median_careful_against())
    )?;
    writeln!(
        out,
        "(An unsolved problem costs infinitely much. Problems that neither solves are left out.)"
    )?;
    Ok(())
}

fn or_dash(count: Option<u64>) -> String {
    count.map_or_else(|| "-".to_owned(), |count| count.to_string())
}

fn decimals(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.3}"))
}

#[cfg(test)]
mod tests {
    use dfo_ls::testing::MoreWild;

    use super::*;
    use crate::more_wild::score::ProblemScore;

    #[test]
    fn columns_line_up() {
        let scores = |solver: &str| SolverScores {
            solver: solver.to_owned(),
            entries: vec![ProblemScore {
                problem: MoreWild::new(17).unwrap(),
                evaluations_to: [Some(1), Some(30), None, None],
            }],
        };
        let (ours, peer) = (scores("ours"), scores("a longer name"));
        let mut out = Vec::new();
        solved(ResidualVariant::Smooth, &[&ours, &peer], &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<&str> = text.lines().skip(2).take(4).collect();
        assert!(
            lines.iter().all(|line| line.len() == lines[0].len()),
            "{text}"
        );
        assert!(lines[2].starts_with("ours          | 100.0 100.0 100.0 100.0 |   0.0 100.0"));
        assert!(text.contains("| 1e-3: none\n") && text.contains("| 1e-7: 17\n"));
    }
}
