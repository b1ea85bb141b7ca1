use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use super::*;

static ARCHIVED: LazyLock<ArchivedRun> = LazyLock::new(|| {
    let points = vec![[1e3, 9.0], [4e3, 7.0]];
    let parameters = ["alpha", "nu", "xi"].map(|name| (name.to_owned(), points.clone()));
    ArchivedRun {
        lower_iterations: Vec::new(),
        objectives: Vec::new(),
        cumulative: vec![[1.0, 1e3], [2.0, 4e3]],
        objective: points,
        parameters: parameters.into_iter().collect(),
        f: 7.0,
        f_error: f64::NAN,
        f_exact: f64::NAN,
        theta: Vec::new(),
        params: BTreeMap::new(),
        total: 4000,
        evaluations: 2,
    }
});

fn archive() -> AuthorsCurves {
    AuthorsCurves {
        run: |_, _| Some(&ARCHIVED),
        noise_sweep: &[[0.1, 0.07, 0.14], [0.01, 0.003, 0.03]],
    }
}

fn all_runs(size: ReproductionSize) -> BTreeSet<RunId> {
    let ids = FIGURES.iter().map(|entry| entry.id);
    ids.flat_map(|id| runs(id, size)).collect()
}

#[test]
fn every_figure_is_drawn_from_tiny_data() {
    for pixels in [1, 9] {
        let results = synthetic::results(
            ReproductionSize::Quick,
            pixels,
            all_runs(ReproductionSize::Quick),
        );
        let mut ids = BTreeSet::new();
        for entry in FIGURES {
            for drawn in draw_with(entry.id, &results, archive()).unwrap() {
                assert!(drawn.figure.to_svg().starts_with("<svg"), "{}", drawn.id);
                assert!(drawn.figure.to_png().unwrap().starts_with(b"\x89PNG"));
                assert!(!drawn.title.is_empty() && drawn.caption.contains("Data:"));
                assert!(ids.insert(drawn.id), "{} twice", drawn.id);
            }
        }
        assert_eq!(ids.len(), 17 + 6);
    }
}

#[test]
fn six_variants_are_named_in_the_papers_figures() {
    let results = synthetic::results(
        ReproductionSize::Quick,
        4,
        all_runs(ReproductionSize::Quick),
    );
    let names = [
        "GD 1,000",
        "GD 10,000",
        "Dynamic GD",
        "FISTA 200",
        "FISTA 2,000",
        "Dynamic FISTA",
    ];
    for id in ["fig04", "fig06", "fig07", "fig08", "fig12", "fig15"] {
        let drawn = draw_with(id, &results, archive()).unwrap();
        let svg = drawn[0].figure.to_svg();
        for name in names {
            assert_eq!(
                svg.matches(&format!(">{name}</text>")).count(),
                1,
                "{id}: {name}"
            );
        }
        if id != "fig07" {
            let svg = drawn[1].figure.to_svg();
            for whose in ["faithful", "ours", "archived"] {
                assert!(
                    svg.contains(&format!(">Dynamic GD, {whose}</text>")),
                    "{id}"
                );
                assert!(
                    svg.contains(&format!(">Dynamic FISTA, {whose}</text>")),
                    "{id}"
                );
            }
            assert!(!svg.contains("10,000"));
        }
    }
    let patterns = draw_with("fig16", &results, archive()).unwrap();
    let svg = patterns[0].figure.to_svg();
    assert_eq!(svg.matches(": 2 coefficients</text>").count(), 6);
}

#[test]
fn the_plain_size_leaves_out_the_slowest_runs() {
    let names = |size| -> Vec<String> {
        let runs = runs("fig12", size).into_iter();
        runs.map(|run| run.to_string()).collect()
    };
    let plain = [
        "kodak_sigma1e-1.gd_dynamic.faithful",
        "kodak_sigma1e-1.fista_low.faithful",
        "kodak_sigma1e-1.fista_dynamic.faithful",
        "kodak_sigma1e-1.gd_dynamic.ours",
        "kodak_sigma1e-1.fista_dynamic.ours",
    ];
    assert_eq!(names(ReproductionSize::Plain), plain);
    assert_eq!(names(ReproductionSize::Full).len(), 8);
    assert_eq!(names(ReproductionSize::Quick).len(), 8);
    assert!(runs("fig03", ReproductionSize::Full).is_empty());
    assert_eq!(runs("fig14", ReproductionSize::Plain).len(), 16);
    assert_eq!(runs("fig05", ReproductionSize::Plain).len(), 1);

    let results = synthetic::results(
        ReproductionSize::Plain,
        4,
        all_runs(ReproductionSize::Plain),
    );
    let drawn = draw_with("fig12", &results, archive()).unwrap();
    let note = "Left out at this size: GD 1,000, GD 10,000, FISTA 2,000.";
    assert!(drawn[0].caption.contains(note), "{}", drawn[0].caption);
    assert!(drawn[0].caption.contains("dead leaves"));
    assert!(!drawn[1].caption.contains("Left out"));
}

#[test]
fn missing_runs_are_left_out_and_named_in_captions() {
    let all = all_runs(ReproductionSize::Full);
    let some = all.iter().filter(|run| run.variant == DYNAMIC_FISTA);
    let results = synthetic::results(ReproductionSize::Full, 4, some.cloned());
    for entry in FIGURES {
        draw_with(entry.id, &results, archive()).unwrap();
    }
    let drawn = draw_with("fig08", &results, archive()).unwrap();
    let note = "were not made: GD 1,000, GD 10,000, Dynamic GD, FISTA 200, FISTA 2,000.";
    assert!(drawn[0].caption.contains(note), "{}", drawn[0].caption);
    assert!(
        drawn[1]
            .caption
            .contains("not made: Dynamic GD, Dynamic GD, ours.")
    );
    assert!(!drawn[0].figure.to_svg().contains("FISTA 200"));
}

#[test]
fn without_any_run_the_error_names_them() {
    let results = synthetic::results(ReproductionSize::Plain, 4, []);
    for entry in &FIGURES[3..] {
        let error = draw(entry.id, &results).unwrap_err().to_string();
        assert!(error.contains(".fista_dynamic.faithful"), "{error}");
    }
    assert!(draw("fig18", &results).is_err());
    assert!(draw("fig01", &results).is_ok());
}
