//! Standard output and standard error of the program.

use crate::scene::TempDir;

const LEARN: &str = "learn denoise --size 16 --count 2 --max-points 8 --out";

#[test]
fn json_for_programs() {
    let temp = TempDir::new("json");
    let ended = temp.good(&format!("{LEARN} run --json"));
    assert!(ended.err.is_empty(), "{ended:?}");
    let events = ended.events();
    let (last, others) = events.split_last().unwrap();
    assert!(!others.is_empty());
    for event in others {
        assert_eq!(event["event"], "iteration");
        assert_eq!(event["max_points"], 8);
    }
    assert_eq!(last["event"], "finished");
    assert_eq!(last["num_points"], 8);
    assert_eq!(last["run"], "run");
    for name in ["alpha", "nu", "xi"] {
        assert!(last["parameters"][name].is_f64(), "{last}");
    }
    let result: serde_json::Value = serde_json::from_str(&temp.text("run/result.json")).unwrap();
    for field in ["objective", "solver", "gradient"] {
        assert_eq!(last[field], result[field], "{field}");
    }

    // nothing is left to do, but the answer is the same
    let again = temp.good("resume run --json").events();
    assert_eq!(again.len(), 1);
    assert_eq!(again[0]["event"], "finished");
    assert_eq!(again[0]["parameters"], last["parameters"]);

    let report = temp.good("report run --json");
    let report: serde_json::Value = serde_json::from_str(&report.out).unwrap();
    assert_eq!(report["page"], "run/report.html");
    assert!(
        report["findings"]
            .as_array()
            .is_some_and(|all| !all.is_empty())
    );
}

#[test]
fn errors_of_programs() {
    let temp = TempDir::new("json-error");
    let args = "learn denoise --images none --out run --json";
    let ended = temp.bad(args, 3, &["bilevel: error: ", "none"]);
    assert!(ended.out.is_empty(), "{ended:?}");
}

#[test]
fn quiet_says_nothing() {
    let temp = TempDir::new("quiet");
    temp.picture("a.png", 8, 8, 0);
    let learn = format!("{LEARN} run --quiet");
    for args in [
        &learn[..],
        "resume run -q",
        "resume run -q --max-points 10",
        "apply run a.png b.png -q",
        "report run -q",
    ] {
        let ended = temp.good(args);
        assert_eq!((&ended.out[..], &ended.err[..]), ("", ""), "{args}");
    }
    let ended = temp.bad("resume none --quiet", 4, &["none"]);
    assert_eq!(ended.err.lines().count(), 1, "{ended:?}");
}

#[test]
fn reports_say_what_was_learned() {
    let temp = TempDir::new("report");
    temp.good(&format!("{LEARN} run --quiet"));
    let findings = |page: &[u8]| {
        let page = String::from_utf8_lossy(page).into_owned();
        let (_, list) = page.split_once("class=\"findings\"").expect("findings");
        list.split("</ul>").next().expect("their end").to_owned()
    };
    let first = temp.bytes("run/report.html");
    temp.good("report run");
    // reconstructions of files begin anew, and are as accurate, but not the same to the last bit
    let page = temp.bytes("run/report.html");
    assert_eq!(findings(&first), findings(&page));
    let ended = temp.good("report run");
    for part in [
        "  alpha = ",
        "  xi    = ",
        "Report (open it in a browser): run/report.html",
    ] {
        assert!(ended.out.contains(part), "{ended:?}");
    }
    assert!(ended.err.is_empty(), "{ended:?}");
    assert!(temp.bytes("run/report.html") == page);
}

#[test]
fn help_has_examples() {
    let temp = TempDir::new("help");
    for (args, parts) in [
        ("--help", ["Examples:", "bilevel learn denoise --out run"]),
        ("learn --help", ["Examples:", "--images photos"]),
        ("apply --help", ["Examples:", "bilevel apply run noisy.png"]),
        ("resume --help", ["Usage: bilevel resume", "--max-points"]),
    ] {
        let ended = temp.good(args);
        for part in parts {
            assert!(ended.out.contains(part), "{args}: {part}");
        }
    }
    let version = temp.good("--version").out;
    assert_eq!(
        version.trim(),
        concat!("bilevel ", env!("CARGO_PKG_VERSION"))
    );
    temp.bad("", 2, &["Usage: bilevel", "Examples:"]);
    temp.bad("lern denoise", 2, &["lern", "learn"]);
}

#[test]
fn completions_of_shells() {
    let temp = TempDir::new("completions");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ended = temp.good(&format!("completions {shell}"));
        for part in ["bilevel", "print-config", "resume"] {
            assert!(ended.out.contains(part), "{shell}: {part}");
        }
    }
    temp.bad("completions tcsh", 2, &["tcsh", "bash"]);
}
