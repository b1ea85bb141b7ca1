//! The content of pages, and names that must not break them.

use bilevel::{Learned, LearningProblem, Pair, Scale, Setup, TvDenoising};
use bilevel_cli::findings::findings;
use bilevel_cli::report::{ReportImage, ReportInput, html};
use imaging::{Grid, Seed, noise, phantom};
use serde_json::{Value, json};

use super::results::{as_score, evaluation, gradients, iteration, log10, score, weight, with};
use super::tags;

/// Returns an image whose reconstruction is its truth, changed a little.
fn example(name: &str, grid: Grid, truth: Vec<f64>, psnr: f64) -> ReportImage {
    ReportImage {
        name: name.to_owned(),
        grid,
        data: Some(truth.iter().map(|x| x + 0.1).collect()),
        reconstruction: truth.iter().map(|x| x - 0.02).collect(),
        truth,
        error: 1e-3,
        score: as_score(score(Some(20.0), psnr)),
    }
}

fn picture(name: &str, psnr: f64) -> ReportImage {
    let truth = phantom::dead_leaves(12, 20, Seed::new(1), 0).expect("a picture");
    example(name, Grid::image(12, 20), truth, psnr)
}

fn page(learned: &Learned, training: &[ReportImage], validation: &[ReportImage]) -> String {
    let input = ReportInput {
        bank: None,
        title: "A <run> & \"more\"",
        settings: "[data]\ntruth = \"a<b\"\n",
        scale: Scale::Mean,
        findings: &findings(learned, Scale::Mean),
        learned,
        training,
        validation,
        seconds: Some(192.0),
        is_transformed: false,
    };
    let page = html(&input);
    assert_eq!(page, html(&input), "the same input, the same page");
    assert!(tags::check(&page) > 10);
    for address in page.match_indices("://") {
        let before = &page[..address.0];
        assert!(before.ends_with("xmlns=\"http"), "an address from outside");
    }
    for bad in ["NaN", "inf<", "inf%", "<script", "@import", "url("] {
        assert!(!without_pictures(&page).contains(bad), "{bad}");
    }
    page
}

/// Any three letters may be part of a picture.
fn without_pictures(page: &str) -> String {
    let cut = page.split("base64,").enumerate().map(|(index, part)| {
        let end = if index == 0 { Some(0) } else { part.find('"') };
        end.map_or("", |end| &part[end..])
    });
    cut.collect()
}

#[test]
fn everything_is_there() {
    let training: Vec<ReportImage> = (0..8)
        .map(|k| picture(&format!("leaf {k}.png"), 25.0 + f64::from(k)))
        .collect();
    let page = page(&with(json!({})), &training, &[picture("other.png", 25.0)]);
    for part in [
        "<title>A &lt;run&gt; &amp; &quot;more&quot;</title>",
        "truth = &quot;a&lt;b&quot;",
        "3\u{202f}min 12\u{202f}s",
        "0.0631",
        "alpha, with bounds 1e-7 and 1e7.",
        "All 40 evaluations",
        "the steps became as small",
        "best so far",
        "target",
        "Held-out images (1)",
        "SSIM",
        "prefers-color-scheme: dark",
        "6 of 8: those with the best, the median and the worst",
        "class=\"small\"",
        "error × 5: leaf 7.png",
        "style=\"left:41.4%\"",
        "sharpening of known points",
    ] {
        assert!(page.contains(part), "{part}");
    }
    // a point is sharpened; only states are refined
    assert!(!without_pictures(&page).contains("refine"));
    // six of eight and one other, four pictures each
    assert_eq!(page.matches("data:image/png").count(), 28);
    for (rank, name) in [("best", "7"), ("worst", "0"), ("median", "3")] {
        let caption = format!("<bdi>leaf {name}.png</bdi> <span class=\"badge\">{rank}</span>");
        assert!(page.contains(&caption), "{caption}");
    }
}

#[test]
fn gradients_have_a_section() {
    for (error, text) in [
        (Some(4e-4), "0.0123 ± 0.0004 (certified)"),
        (Some(0.5), "at most 0.513 (certified)"),
        (None, "0.0123 (error not certified)"),
    ] {
        let page = page(&with(gradients(error)), &[], &[]);
        for part in [
            "<h2>Gradient of the objective</h2>",
            text,
            "0 at lower bounds, 0 at upper bounds, of 2 parameters",
            "300 gradients",
            "101 gradients",
            "The norm of the projected gradient at the best parameters so far.",
            "The certified error of the objective in each evaluation.",
            "error of the objective</th>",
        ] {
            assert!(page.contains(part), "{part}");
        }
        for part in ["trust", "target error", "points around"] {
            assert!(!without_pictures(&page).contains(part), "{part}");
        }
    }
    assert!(!page(&with(json!({})), &[], &[]).contains("Gradient of the objective"));
}

/// Histories of more than a thousand parameters do not list them.
#[test]
fn very_many_parameters() {
    let mut changes = gradients(None);
    for list in ["iterations", "evaluations"] {
        for record in changes[list].as_array_mut().expect("a list") {
            record["theta"] = json!([]);
        }
    }
    for family in ["sampling", "denoise"] {
        let of = |j| match family {
            "sampling" => weight(j, 0.2),
            _ => log10(&format!("p{j}"), 0.3, [-1.0, 1.0], None),
        };
        changes["family"] = json!(family);
        changes["parameters"] = (0..1001).map(of).collect();
        let page = page(&with(changes.clone()), &[], &[]);
        assert!(!page.contains("The number of sampled frequencies."));
        assert!(!page.contains("The position of each parameter"));
        assert!(page.contains("A dash is an influence that was not computed."));
        assert_eq!(page.contains("The learned weights"), family == "sampling");
    }
}

#[test]
fn names_cannot_break_the_page() {
    let name = "</figcaption><script>alert(1)</script>\"'&amp;`\u{0}\u{202e}.png";
    let learned = named("<img src=x onerror=\"alert(1)\">");
    let page = page(&learned, &[picture(name, 25.0)], &[]);
    assert!(!page.contains("<img src=x") && !page.contains("alert(1)</script>"));
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;&quot;'&amp;amp;"));
}

/// A name from outside wherever there can be one.
fn named(name: &str) -> Learned {
    let mut value = serde_json::to_value(with(json!({
        "parameters": [log10(name, -1.2, [-7.0, 7.0], None)],
        "termination": {"OracleFailed": {"reason": name}},
    })))
    .expect("a result can be saved");
    value["evaluations"][3] = evaluation(3, &[-1.2, -3.0], Err(name.to_owned()));
    serde_json::from_value(value).expect("and loaded")
}

#[test]
fn strange_results_have_pages_too() {
    let nothing = json!({"before": null, "after": null, "error": null});
    for changes in [
        json!({
            "iterations": [], "evaluations": [], "num_points": 0,
            "work": {"initial": 0, "trial": 0, "geometry": 0, "sharpen": 0},
        }),
        json!({"iterations": [], "evaluations": [evaluation(0, &[0.0, 0.0], Ok(2.0))]}),
        json!({
            "iterations": [iteration(0, 1, &[0.0, 0.0], 2.0)],
            "evaluations": [evaluation(0, &[0.0, 0.0], Ok(2.0))],
        }),
        json!({
            "objective": 0.0, "interval": [0.0, 0.0],
            "iterations": [iteration(0, 1, &[0.0, 0.0], 0.0)],
        }),
        json!({"interval": [0.0, null]}),
        json!({"interval": [1e-300, 1e300]}),
        json!({"parameters": [log10("a", 0.0, [0.0, 0.0], None)]}),
        json!({"parameters": []}),
        json!({"training": [nothing], "validation": [nothing]}),
    ] {
        let learned = with(changes.clone());
        page(&learned, &[], &[]);
        let mut failed = picture("failed.png", 25.0);
        failed.reconstruction.clear();
        failed.score = as_score(nothing.clone());
        failed.error = f64::INFINITY;
        let text = page(&learned, &[failed], &[]);
        assert!(
            text.contains("failed.png") && !text.contains("data:image"),
            "{changes}"
        );
    }
}

#[test]
fn many_parameters_share_a_panel() {
    let theta = [0.3; 9];
    let parameters: Vec<Value> = (0..9)
        .map(|j| log10(&format!("p{j}"), 0.3, [-1.0, 1.0], None))
        .collect();
    let learned = with(json!({
        "parameters": parameters,
        "iterations": [iteration(0, 10, &theta, 3.0), iteration(1, 11, &theta, 2.0)],
    }));
    assert!(page(&learned, &[], &[]).contains("position between bounds"));
}

#[test]
fn frequencies_have_stems() {
    let parameters: Vec<Value> = (0..5)
        .map(|j| weight(j, 0.001 + 0.2 * (j % 2) as f64))
        .collect();
    let learned = with(json!({"family": "sampling", "parameters": parameters}));
    let page = page(&learned, &[], &[]);
    for part in [
        "weight θ",
        "not sampled",
        "sampled frequencies",
        "Sampled frequencies",
    ] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn long_histories_are_cut() {
    let evaluations: Vec<Value> = (0..130)
        .map(|k| evaluation(k, &[0.0, 0.0], Ok(2.0)))
        .collect();
    let page = page(&with(json!({"evaluations": evaluations})), &[], &[]);
    let row = |number: u64| page.contains(&format!("<tr><th scope=\"row\">{number}</th>"));
    assert!(row(1) && row(50) && !row(51) && !row(80) && row(81) && row(130));
    assert!(page.contains("30 more"));
}

#[test]
fn large_pictures_and_unusual_values() {
    let truth: Vec<f64> = (0..300 * 280).map(|i| f64::from(i % 7) * 100.0).collect();
    let large = example("large", Grid::image(300, 280), truth, 25.0);
    let complex = example("complex", Grid::image(2, 2).complex(), vec![0.5; 8], 25.0);
    let exact = ReportImage {
        score: as_score(
            json!({"before": null, "after": {"mse": 0.0, "psnr": null, "ssim": null}, "error": 0.0}),
        ),
        data: None,
        ..picture("exact", 25.0)
    };
    let page = page(&with(json!({})), &[large, complex, exact], &[]);
    assert!(page.contains("The middle 256 × 256 of 280 × 300 pixels."));
    assert!(page.contains("Black is 0, white is 600."));
    assert!(page.contains("class=\"row three\"") && page.contains("exact</span>"));
}

/// Noise does not compress: the worst case.
#[test]
fn pages_are_not_too_large() {
    let noisy = |k: usize| {
        let truth = phantom::dead_leaves(256, 256, Seed::new(1), k % 3).unwrap();
        let reconstruction = noise::gaussian(&truth, 0.02, Seed::new(2), k).unwrap();
        let data = noise::gaussian(&truth, 0.1, Seed::new(1), k).unwrap();
        ReportImage {
            data: Some(data),
            reconstruction,
            ..example("x", Grid::image(256, 256), truth, 25.0)
        }
    };
    let examples: Vec<ReportImage> = (0..12).map(noisy).collect();
    let (training, validation) = examples.split_at(6);
    let page = page(&with(json!({})), training, validation);
    assert!(page.len() < 3_200_000, "{} bytes", page.len());
}

/// From learning to the page, with signals.
#[test]
fn a_real_result() {
    let grid = Grid::line(48);
    let pairs: Vec<Pair> = (0..3)
        .map(|k| {
            let truth = phantom::box_function(48, Seed::new(1), k).unwrap();
            let data = noise::gaussian(&truth, 0.1, Seed::new(1), k).unwrap();
            Pair { grid, truth, data }
        })
        .collect();
    for (setup, limit) in [(Setup::derivative_free(), 30), (Setup::default(), 8)] {
        real_result(&pairs, setup, limit);
    }
}

fn real_result(pairs: &[Pair], setup: Setup, limit: u64) {
    let grid = pairs[0].grid;
    let mut options = dfo_ls::Options::default();
    options.budget.max_evaluations = Some(limit);
    let problem = LearningProblem::new(TvDenoising::default(), pairs.to_vec(), setup);
    let learned = problem.and_then(|mut problem| problem.learn_with(options));
    let learned = learned.expect("a valid problem");
    let examples: Vec<ReportImage> = (pairs.iter().cloned().zip(&learned.training))
        .map(|(pair, score)| ReportImage {
            name: "signal".to_owned(),
            grid,
            reconstruction: pair.truth.clone(),
            truth: pair.truth,
            data: Some(pair.data),
            error: 1e-3,
            score: *score,
        })
        .collect();
    let page = page(&learned, &examples, &[]);
    assert!(page.contains(">reconstruction</text>") && !page.contains("data:image"));
    assert!(page.contains(&format!("its budget of {limit} evaluations was spent")));
}
