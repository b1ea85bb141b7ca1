//! Data profiles: the share of problems that are solved within a given cost.

use plot::{Axis, Colour, Dash, Figure, Panel, Series};

use super::ResidualVariant;
use super::dynamic::{AccuracyComparison, AccuracySetting, ProblemComparison};
use super::run::{RunKind, RunResult};
use super::score::{self, SolverScores, TIGHT};

const OURS: Colour = Colour::hex(0x00c0_182b);
/// Colours that colour-blind readers can tell apart, and dashes for grey prints.
const PEERS: [(Colour, Dash); 6] = [
    (Colour::hex(0x0000_72b2), Dash::Long),
    (Colour::hex(0x0000_9e73), Dash::Short),
    (Colour::hex(0x00d5_8a00), Dash::DashDot),
    (Colour::hex(0x0088_4ea0), Dash::Dotted),
    (Colour::hex(0x0056_6573), Dash::Long),
    (Colour::hex(0x008d_6e63), Dash::Short),
];

/// Returns the share of `total` problems that are solved at each cost, from the `costs` of the
/// solved problems.
fn profile(mut costs: Vec<f64>, total: usize, from: f64, to: f64) -> Vec<[f64; 2]> {
    costs.sort_by(f64::total_cmp);
    let share = |count| score::ratio(count, total);
    let at_start = costs.partition_point(|cost| *cost <= from);
    let mut points = vec![[from, share(at_start)]];
    for (index, &cost) in costs.iter().enumerate().skip(at_start) {
        if cost <= to {
            points.push([cost, share(index + 1)]);
        }
    }
    let last = costs.partition_point(|cost| *cost <= to);
    points.push([to, share(last)]);
    points
}

/// Draws one panel for each tau: our solver as the strongest line, the others dashed. A solver's
/// colour depends on its place in `solvers`, so that it is the same in all figures.
pub(super) fn of_evaluations(
    variant: ResidualVariant,
    ours: &SolverScores,
    peers: &[SolverScores],
    solvers: &[&str],
) -> Figure {
    let title = match variant {
        ResidualVariant::Smooth => "Moré–Wild problems, exact residuals",
        ResidualVariant::Noisy => "Moré–Wild problems, residuals with 1 % Gaussian noise",
        ResidualVariant::Dynamic => "Moré–Wild problems",
    };
    let mut figure = Figure::new(2).title(title);
    for (tau, name) in ["10⁻¹", "10⁻³", "10⁻⁵", "10⁻⁷"].into_iter().enumerate() {
        let steps = |scores: &SolverScores| {
            let costs = scores.entries.iter().filter_map(|entry| entry.cost(tau));
            Series::steps(profile(costs.collect(), scores.entries.len(), 1.0, 100.0))
                .label(&scores.solver)
        };
        let mut panel = Panel::new(
            Axis::log("evaluations / (n + 1)").range(1.0, 100.0),
            Axis::linear("share of problems solved").range(0.0, 1.03),
        )
        .title(format!("τ = {name}"));
        panel = panel.with(steps(ours).colour(OURS).width(2.6).on_top());
        for peer in peers {
            let place = solvers.iter().position(|solver| *solver == peer.solver);
            let (colour, dash) = PEERS[place.unwrap_or(0) % PEERS.len()];
            panel = panel.with(steps(peer).colour(colour).dash(dash).width(1.5));
        }
        figure = figure.with(panel);
    }
    figure
}

/// Draws the share of problems solved within a given work, and the ratios of work by problem.
pub(super) fn of_work(comparison: &AccuracyComparison, runs: &[RunResult]) -> Figure {
    Figure::new(2)
        .title("Moré–Wild problems, accuracy on demand: work until solved to τ = 10⁻⁵")
        .panel_size(400.0, 300.0)
        .with(work_profiles(runs))
        .with(work_ratios(comparison))
}

/// The fixed accuracies in the figure, from rough to accurate.
const FIXED: [(i32, Colour, Dash); 5] = [
    (2, Colour::hex(0x009e_cae1), Dash::Dotted),
    (4, Colour::hex(0x006b_aed6), Dash::Short),
    (6, Colour::hex(0x0031_82bd), Dash::DashDot),
    (10, Colour::hex(0x0008_519c), Dash::Long),
    (14, Colour::hex(0x0033_3333), Dash::Long),
];

fn work_profiles(runs: &[RunResult]) -> Panel {
    let costs = |setting: AccuracySetting| -> (Vec<f64>, usize) {
        let of_setting = || {
            runs.iter()
                .filter(|run| run.kind == RunKind::Priced(setting))
        };
        let cost =
            |run: &RunResult| Some(score::per_simplex(run.problem, run.reached[TIGHT]?.work));
        (
            of_setting().filter_map(cost).collect(),
            of_setting().count(),
        )
    };
    let all = FIXED.iter().map(|(k, ..)| AccuracySetting::Fixed(*k));
    let all = all
        .chain([AccuracySetting::Dynamic])
        .flat_map(|s| costs(s).0);
    let (least, most) = all.fold((f64::INFINITY, 0.0_f64), |(least, most), cost| {
        (least.min(cost), most.max(cost))
    });
    let [from, to] = if least < most {
        [least / 1.3, most * 1.3]
    } else {
        [1.0, 10.0]
    };
    let steps = |setting, label: String| {
        let (costs, total) = costs(setting);
        Series::steps(profile(costs, total, from, to)).label(label)
    };
    let mut panel = Panel::new(
        Axis::log("work / (n + 1)").range(from, to),
        Axis::linear("share of problems solved").range(0.0, 1.03),
    )
    .title("problems solved within a given work");
    let ours = steps(AccuracySetting::Dynamic, "accuracy on demand".to_owned());
    panel = panel.with(ours.colour(OURS).width(2.6).on_top());
    for (decade, colour, dash) in FIXED {
        let label = format!("always 1e-{decade}");
        let series = steps(AccuracySetting::Fixed(decade), label);
        panel = panel.with(series.colour(colour).dash(dash).width(1.5));
    }
    panel
}

/// The smallest and largest ratio in the figure. Ratios beyond are drawn at the edge.
const RATIOS: [f64; 2] = [0.05, 100.0];

fn work_ratios(comparison: &AccuracyComparison) -> Panel {
    let sorted = |ratio: fn(&ProblemComparison) -> Option<f64>| -> Vec<[f64; 2]> {
        let ratios = comparison.matches.iter().filter_map(ratio);
        let mut ratios: Vec<f64> = ratios.map(|r| r.clamp(RATIOS[0], RATIOS[1])).collect();
        ratios.sort_by(f64::total_cmp);
        let ranks = (1_u32..).map(f64::from);
        ranks
            .zip(ratios)
            .map(|(rank, ratio)| [rank, ratio])
            .collect()
    };
    let (best, careful) = (
        sorted(ProblemComparison::against_best),
        sorted(ProblemComparison::careful_against),
    );
    let last = best.iter().chain(&careful).map(|point| point[0]);
    let last = last.fold(1.0, f64::max) + 1.0;
    let equal = vec![[0.0, 1.0], [last, 1.0]];
    Panel::new(
        Axis::linear("problems, sorted by ratio").range(0.0, last),
        Axis::log("ratio of work").range(RATIOS[0], RATIOS[1]),
    )
    .title("dots on the frame: only one of the two solves the problem")
    .with(
        Series::line(equal)
            .colour(Colour::hex(0x0088_8888))
            .width(1.2),
    )
    .with(
        Series::dots(careful)
            .colour(Colour::hex(0x0008_519c))
            .label("always 1e-10 / on demand"),
    )
    .with(
        Series::dots(best)
            .colour(OURS)
            .label("on demand / best in hindsight"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_counts_upwards_between_its_ends() {
        let points = profile(vec![200.0, 0.5, 10.0, 2.0], 8, 1.0, 100.0);
        let expected = [[1.0, 0.125], [2.0, 0.25], [10.0, 0.375], [100.0, 0.375]];
        assert_eq!(points, expected);
        assert_eq!(profile(Vec::new(), 0, 1.0, 10.0), [[1.0, 0.0], [10.0, 0.0]]);
    }
}
