//! Filter banks: learning from patches, applying, reports and messages.

use bilevel_cli::picture::{self, Colour};

use crate::scene::TempDir;

const LEARN: &str = "learn denoise --filters dct3 --patches 2 --patch-size 12";

#[test]
fn a_bank_is_learned_applied_and_reported() {
    let temp = TempDir::new("filters");
    for seed in 0..5 {
        temp.picture(&format!("photos/{seed}.png"), 24, 20, seed);
    }
    let ended = temp.good(&format!(
        "{LEARN} --max-points 4 --images photos --noise 0.1 --out run"
    ));
    let note = "Training on 8 patches of 12 x 12 pixels from 4 pictures; held out: 2 patches of 12 x \
                12 pixels from 1 picture (one in five";
    assert!(ended.err.contains(note), "{ended:?}");
    assert!(ended.out.contains("Learned 32 parameters"), "{ended:?}");
    assert!(ended.out.contains("strongly convex"), "{ended:?}");
    assert!(ended.out.contains("than with total variation"), "{ended:?}");

    let page = temp.text("run/report.html");
    assert_eq!(page.matches("class=\"taps\"").count(), 8);
    for part in [
        "8 cosine filters of 3 × 3 pixels",
        "strong convexity μ, proved",
        "Gain over total variation",
        "0.png (row ",
    ] {
        assert!(page.contains(part), "{part} is not on the page");
    }
    // the page of the files is the page of the run
    temp.good("report run");
    let again = temp.text("run/report.html");
    assert!(again.contains("Gain over total variation"));

    // pictures of any size, also smaller than a patch or a filter
    for (width, height) in [(31, 17), (5, 9), (2, 2)] {
        temp.picture("noisy.png", width, height, 7);
        let ended = temp.good("apply run noisy.png clean.png");
        assert!(ended.out.contains("from the exact minimiser"), "{ended:?}");
        let clean = picture::read(&temp.path("clean.png"), Colour::Channels).unwrap();
        assert_eq!((clean.width, clean.height), (width, height));
        std::fs::remove_file(temp.path("clean.png")).unwrap();
    }
}

#[test]
fn a_bank_is_learned_without_truth() {
    let temp = TempDir::new("filters-truthless");
    for seed in 0..3 {
        temp.picture(&format!("noisy/{seed}.png"), 24, 20, seed);
    }
    // without truth, there is nothing to compare with total variation on held-out pictures
    let ended = temp.good(&format!(
        "{LEARN} --truth none --noisy noisy --noise 0.1 --hold-out 1 --max-points 2 --out run"
    ));
    assert!(ended.out.contains("without truth"), "{ended:?}");
    assert!(!temp.path("run/tv.json").exists());
    temp.good("report run");
}

#[test]
fn a_bank_is_resumed() {
    let temp = TempDir::new("filters-resume");
    let data = "--size 24 --count 4 --hold-out 1 --quiet";
    temp.good(&format!("{LEARN} {data} --max-points 4 --out whole"));
    temp.good(&format!("{LEARN} {data} --max-points 2 --out parts"));
    temp.good("resume parts --max-points 4 --quiet");
    let parameters = |run: &str| {
        let result: serde_json::Value =
            serde_json::from_str(&temp.text(&format!("{run}/result.json"))).unwrap();
        result["parameters"].clone()
    };
    assert_eq!(parameters("whole"), parameters("parts"));
}

#[test]
fn filters_and_other_settings() {
    let temp = TempDir::new("filters-bad");
    let bad = |flags: &str, parts: &[&str]| {
        temp.bad(&format!("learn denoise {flags} --out run"), 2, parts);
    };
    bad("--model filters --learn alpha", &["--filters", "--learn"]);
    bad("--model tv --filters dct3", &["--model tv and --filters"]);
    bad(
        "--filters dct3 --solver derivative-free",
        &["--filters", "--solver", "without gradients"],
    );
    bad("--filters dct4", &["dct4", "dct3"]);
}
