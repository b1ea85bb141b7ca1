//! Filter banks in settings and on the command line.

use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};

use bilevel::FilterSet;
use clap::Parser as _;

use crate::args::{Arguments, Command};
use crate::config::{Config, ConfigError};

/// The number of the next file.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// Resolves the settings of a command line, which override a file if there is one.
fn resolved(file: Option<&str>, flags: &str) -> Result<Config, ConfigError> {
    let line = format!("bilevel learn denoise --out run {flags}");
    let arguments = Arguments::try_parse_from(line.split_whitespace()).unwrap();
    let Command::Learn(mut learn) = arguments.command else {
        panic!("another command");
    };
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("bilevel-model-{}-{number}.toml", std::process::id());
    let path = std::env::temp_dir().join(name);
    if let Some(text) = file {
        fs::write(&path, text).unwrap();
        learn.config = Some(path.clone());
    }
    let settings = learn.settings();
    let _ = fs::remove_file(path);
    settings?.resolve()
}

#[test]
fn the_command_line_chooses_the_model() {
    let filters = |flags| resolved(None, flags).unwrap().model.filters;
    assert_eq!(filters(""), None);
    assert_eq!(filters("--model tv"), None);
    assert_eq!(filters("--model filters"), Some(FilterSet::DCT5));
    let learned = "learned7".parse().ok();
    assert_eq!(filters("--filters learned7"), learned);
    assert_eq!(filters("--model filters --filters learned7"), learned);
    let error = resolved(None, "--model tv --filters dct3").unwrap_err();
    assert!(error.to_string().contains("--model tv and --filters"));
}

#[test]
fn flags_change_the_model_of_a_file() {
    let bank = "task = \"denoise\"\nmodel.filters = \"dct3\"\n";
    let filters = |file, flags| resolved(Some(file), flags).unwrap().model.filters;
    assert_eq!(filters(bank, ""), "dct3".parse().ok());
    assert_eq!(filters(bank, "--model filters"), "dct3".parse().ok());
    assert_eq!(filters(bank, "--filters dct7"), "dct7".parse().ok());
    assert_eq!(filters(bank, "--model tv"), None);
    let error = resolved(Some(bank), "--learn alpha").unwrap_err();
    assert!(error.to_string().contains("--learn"), "{error}");
    let tv = resolved(None, "--learn alpha")
        .unwrap()
        .to_toml_with_comments();
    assert_eq!(filters(&tv, "--model filters"), Some(FilterSet::DCT5));
}

#[test]
fn filter_banks_have_their_own_defaults() {
    let bank = resolved(None, "--filters dct3").unwrap();
    let (data, solver) = (&bank.data, &bank.solver);
    assert_eq!((data.patches, data.patch_size), (Some(4), 64));
    assert_eq!(data.hold_out, None);
    assert_eq!((solver.least_gain, solver.max_points), (Some(1e-3), 100));
    let tv = resolved(None, "").unwrap();
    assert_eq!((tv.data.patches, tv.data.hold_out), (Some(0), Some(0)));
    assert_eq!(tv.solver.least_gain, None);
    // what is printed is read back, without settings that have no meaning
    let text = bank.to_toml_with_comments();
    assert!(
        text.contains("filters = \"dct3\"") && !text.contains("learn ="),
        "{text}"
    );
    assert_eq!(resolved(Some(&text), "").unwrap(), bank);
    assert_eq!(bank.resolve().unwrap(), bank);
}

#[test]
fn settings_that_do_not_go_together_are_refused() {
    for (flags, parts) in [
        ("--learn alpha", ["--learn", "learns all of its parameters"]),
        ("--fix nu=0.1", ["--fix", "learns all of its parameters"]),
        ("--start nu=0.1", ["--start", "leave one of them out"]),
        ("--lower nu=0.1", ["--lower", "leave one of them out"]),
        ("--upper nu=0.1", ["--upper", "leave one of them out"]),
        (
            "--penalty-condition 1",
            ["--penalty-condition", "leave the penalty out"],
        ),
        (
            "--solver derivative-free",
            ["--solver", "without gradients"],
        ),
        ("--iterations 5", ["--iterations", "with gradients"]),
        ("--image-min 0", ["--image-min", "with gradients"]),
    ] {
        let error = resolved(None, &format!("--filters dct5 {flags}")).unwrap_err();
        let message = error.to_string();
        for part in ["--filters", parts[0], parts[1]] {
            assert!(message.contains(part), "{part:?} is not in {message:?}");
        }
    }
    let line = "bilevel learn sampling --filters dct3 --out run";
    let arguments = Arguments::try_parse_from(line.split_whitespace()).unwrap();
    let Command::Learn(learn) = arguments.command else {
        panic!("another command");
    };
    let error = learn.settings().unwrap().resolve().unwrap_err();
    assert!(error.to_string().contains("is for pictures"), "{error}");
}
