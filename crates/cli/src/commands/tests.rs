//! `learn` and `resume` on several ranks, which are threads here.

use std::fs;
use std::path::Path;

use bilevel::testing::on_ranks;
use clap::Parser;

use super::*;
use crate::temp_dir::TempDir;

const LEARN: &str = "learn denoise --size 24 --count 5 --hold-out 1 --max-points 12 --out";

/// Runs a command on ranks. Each rank has arguments of its own, followed by a path.
fn run_each(count: usize, args: impl Fn(usize) -> String + Sync, path: &Path) -> Vec<Ended> {
    on_ranks(count, |ranks| {
        let args = format!("bilevel --quiet {}", args(ranks.rank()));
        let args = args.split_whitespace().map(Into::into);
        let args = args.chain([path.as_os_str().to_owned()]);
        let arguments = Arguments::try_parse_from(args).expect("valid arguments");
        let context = Context {
            shared: &arguments.shared,
            ranks: &ranks,
            handles_signals: false,
        };
        match &arguments.command {
            Command::Learn(args) => learn(args, context),
            Command::Resume(args) => resume(args, context),
            _ => panic!("not a command of several ranks"),
        }
        .map_err(|error| error.chain())
    })
}

type Ended = Result<(), String>;

fn run(count: usize, args: &str, path: &Path) -> Vec<Ended> {
    run_each(count, |_| args.to_owned(), path)
}

/// The result and the page of a run without its name and its duration.
fn content(run: &Path) -> (String, Vec<String>) {
    let read = |name| fs::read_to_string(run.join(name)).expect("a finished run");
    let name = run.file_name().expect("a name").to_string_lossy();
    let page = read("report.html").replace(&*name, "RUN");
    let parts = page
        .split('<')
        .filter(|part| !part.starts_with("dd class=\"soft\">in "));
    (read("result.json"), parts.map(ToOwned::to_owned).collect())
}

/// Results and pages do not depend on the number of ranks, which changes when a run is extended.
#[test]
fn results_and_pages_do_not_depend_on_the_number_of_ranks() {
    let temp = TempDir::new("same");
    let [alone, shared] = ["alone", "shared"].map(|name| temp.at(name));
    assert_eq!(run(1, LEARN, &alone), [Ok(())]);
    assert_eq!(run(3, LEARN, &shared), [Ok(()), Ok(()), Ok(())]);
    assert_eq!(content(&alone), content(&shared));
    assert!(content(&alone).1.iter().any(|part| part.contains("median")));
    // a finished run is left alone, and its page is written again
    fs::remove_file(shared.join("report.html")).expect("a finished run");
    assert!(run(2, "resume", &shared).iter().all(Result::is_ok));
    assert_eq!(content(&alone).0, content(&shared).0);
    // more ranks than images
    let extend = "resume --max-points 20";
    assert_eq!(run(1, extend, &alone), [Ok(())]);
    assert!(run(7, extend, &shared).iter().all(Result::is_ok));
    assert_eq!(content(&alone), content(&shared));
}

/// If one rank fails, all end with its message, and no run is created.
#[test]
fn all_ranks_fail_together() {
    let temp = TempDir::new("fail");
    let run = temp.at("run");
    let one_differs = |rank: usize| match rank {
        1 => LEARN.replace("--max-points 12", "--max-points 13"),
        _ => LEARN.to_owned(),
    };
    for ended in run_each(3, one_differs, &run) {
        let message = ended.expect_err("different settings");
        assert!(message.contains("the settings of rank 1"), "{message}");
    }
    let one_fails = |rank: usize| match rank {
        2 => LEARN.replace("--size 24 --count 5", "--images nowhere"),
        _ => LEARN.to_owned(),
    };
    for ended in run_each(3, one_fails, &run) {
        let message = ended.expect_err("missing images");
        assert!(message.contains("nowhere"), "{message}");
    }
    assert!(!run.exists());
    for ended in run_each(2, |_| "resume".to_owned(), &run) {
        assert!(ended.is_err(), "there is no run");
    }
}
