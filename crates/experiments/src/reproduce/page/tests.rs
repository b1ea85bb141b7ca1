use std::collections::BTreeMap;

use plot::{Axis, Figure, Panel, Series};
use serde_json::Value;

use super::{Drawn, PageInput, figure_number, html};
use crate::reproduce::claims::{Claim, Topic};
use crate::reproduce::data::DataSource;
use crate::reproduce::results::{ReproductionSize, Results};
use crate::reproduce::setting::Setting;
use crate::reproduce::summary;

fn claim(id: &str, holds: Option<bool>, expected_to_hold: bool) -> Claim {
    Claim {
        id: id.to_owned(),
        topic: Topic::OneParameter,
        figures: vec![4],
        text: "a < b & \"c\"".to_owned(),
        holds,
        measured: "<script>".to_owned(),
        expected: "1".to_owned(),
        source: "paper".to_owned(),
        expected_to_hold,
    }
}

fn results() -> Results {
    Results {
        size: ReproductionSize::Plain,
        settings: Setting::all().unwrap(),
        records: BTreeMap::new(),
        source: DataSource {
            seed: Some(7),
            kodak: None,
        },
    }
}

fn drawn(id: &'static str, num_points: u32) -> Drawn {
    let wave = (0..num_points).map(|k| [f64::from(k), f64::from(k).sin()]);
    let series = Series::line(wave.collect());
    let panel = Panel::new(Axis::linear("x"), Axis::linear("y")).with(series);
    Drawn {
        id,
        title: format!("Figure {id}."),
        caption: "A <wave>.".to_owned(),
        figure: Figure::new(1).with(panel),
    }
}

fn page(claims: &[Claim], figures: &[Drawn]) -> String {
    html(&PageInput {
        results: &results(),
        claims,
        figures,
        command: "cargo xtask reproduce",
        versions: "bilevel 0.1.0",
        seconds: 1.0,
    })
}

#[test]
fn the_page_counts_claims_and_needs_nothing_else() {
    let claims = [
        claim("a/1", Some(true), true),
        claim("a/2", Some(false), true),
        claim("a/3", Some(false), false),
        claim("a/4", None, true),
    ];
    let page = page(&claims, &[drawn("fig04", 10), drawn("fig04-archive", 10)]);
    assert!(page.contains(
        "1 of 3 checked claims hold; 1 should hold and do not; 1 do not hold, as expected; \
         1 were not checked."
    ));
    assert!(page.contains("<a href=\"#claim-a-2\">a/2</a>") && page.contains("id=\"claim-a-2\""));
    assert!(
        page.contains("&lt;script&gt;")
            && !page.contains("<script")
            && !page.contains("src=\"http")
    );
    assert!(page.contains("a &lt; b &amp; &quot;c&quot;") && page.contains("A &lt;wave&gt;."));
    assert!(page.contains("from seed 7") && page.contains("dead leaves"));
    // The archived comparison follows the figure, and claims follow both.
    let place = |text: &str| page.find(text).unwrap();
    assert!(place("id=\"fig04\"") < place("id=\"fig04-archive\""));
    assert!(place("id=\"fig04-archive\"") < place("id=\"claim-a-1\""));
}

#[test]
fn only_large_drawings_are_pictures() {
    assert!(page(&[], &[drawn("fig01", 100)]).contains("<svg"));
    let large = page(&[], &[drawn("fig01", 100_000)]);
    assert!(large.contains("data:image/png;base64,") && !large.contains("<svg"));
}

#[test]
fn figures_have_numbers() {
    for (id, number) in [
        ("fig04", Some(4)),
        ("fig12-archive-2", Some(12)),
        ("7", Some(7)),
        ("x", None),
    ] {
        assert_eq!(figure_number(id), number, "{id}");
    }
}

#[test]
fn the_summary_is_json() {
    let claims = [claim("a/1", Some(true), true), claim("a/2", None, true)];
    let text = summary::json(&results(), &claims, &[drawn("fig04", 10)]).unwrap();
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["claims"][0]["holds"], Value::Bool(true));
    assert_eq!(value["claims"][1]["holds"], Value::Null);
    assert_eq!(value["claims"][0]["topic"], "one_parameter");
    assert_eq!(value["figures"][0]["files"][1], "fig04.png");
    assert_eq!(value["seed"], 7);
    assert_eq!(value["size"], "plain");
    assert!(value["runs"].as_array().unwrap().is_empty());
}
