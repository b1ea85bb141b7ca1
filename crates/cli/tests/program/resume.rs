//! Runs that are killed, interrupted and continued.

use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use crate::scene::TempDir;

/// About half a second.
const LEARN: &str = "learn denoise --size 48 --count 4 --evaluations 40 --quiet --out";

/// Long enough to be interrupted three times.
const LONG: &str = "learn denoise --size 64 --count 4 --evaluations 100 --quiet --out";

/// The lines of a history without their seconds.
fn history(temp: &TempDir, run: &str) -> Vec<String> {
    let text = temp.text(&format!("{run}/history.jsonl"));
    let without = |line: &str| {
        let (record, rest) = line.split_once(",\"seconds\":").expect("seconds");
        let exact = rest.split_once(',').map_or("", |(_, exact)| exact);
        format!("{record} {exact}")
    };
    text.lines().map(without).collect()
}

/// Both runs have the same numbers.
fn same(temp: &TempDir, a: &str, b: &str) {
    let result = |run: &str| temp.bytes(&format!("{run}/result.json"));
    assert!(result(a) == result(b), "{a} and {b} differ");
    assert!(history(temp, a) == history(temp, b), "{a} and {b} differ");
}

#[test]
fn a_killed_run_ends_like_any_other() {
    let temp = TempDir::new("killed");
    temp.good(&format!("{LEARN} whole"));
    let all = temp.evaluations("whole");
    let mut num_unfinished = 0;
    for point in [0, 1, all / 4, all / 2, all - 2] {
        let run = format!("run{point}");
        let mut child = temp.start(&format!("{LEARN} {run}"));
        // a busy machine may look too late: then it has finished
        let _ = temp.wait_beyond(point, &run, &mut child);
        child.kill();
        if !temp.path(&run).join("result.json").exists() {
            num_unfinished += 1;
            let parts = ["the run has not finished", "bilevel resume"];
            temp.bad(&format!("report {run}"), 4, &parts);
        }
        temp.good(&format!("resume {run} --quiet"));
        same(&temp, "whole", &run);
    }
    assert!(num_unfinished >= 2, "{num_unfinished}");
}

#[test]
fn a_run_is_killed_again_and_again() {
    let temp = TempDir::new("again-and-again");
    temp.good(&format!("{LEARN} whole"));
    let mut args = format!("{LEARN} run");
    let mut num_kills = 0;
    for turn in 0..8 {
        let before = temp.evaluations("run");
        let mut child = temp.start(&args);
        if turn % 3 == 2 {
            // perhaps while it starts
            sleep(Duration::from_millis(3));
        } else if !temp.wait_beyond(before + 3, "run", &mut child) {
            break;
        }
        child.kill();
        num_kills += 1;
        if temp.path("run/bilevel.toml").exists() {
            args = "resume run --quiet".to_owned();
        }
    }
    assert!(num_kills >= 2, "{num_kills}");
    temp.good(&args);
    same(&temp, "whole", "run");
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_says_how_to_go_on() {
    let temp = TempDir::new("interrupted");
    temp.good(&format!("{LONG} whole"));
    let mut args = format!("{LONG} run");
    for signal in ["INT", "TERM", "HUP"] {
        let mut child = temp.start(&args);
        let before = temp.evaluations("run");
        assert!(temp.wait_beyond(before + 2, "run", &mut child));
        let id = child.id();
        let sent = Command::new("kill").args(["-s", signal, &id]).status();
        assert!(sent.unwrap().success());
        let ended = child.ended(args);
        let saved = format!("up to evaluation {} is saved", temp.evaluations("run"));
        ended.failed(130, &["interrupted", &saved, "bilevel resume run"]);
        args = "resume run --quiet".to_owned();
    }
    temp.good(&args);
    same(&temp, "whole", "run");
}

#[test]
fn more_evaluations() {
    let temp = TempDir::new("more");
    let learn = "learn denoise --size 16 --count 2 --quiet --evaluations";
    temp.good(&format!("{learn} 8 --out run"));
    let before = history(&temp, "run");
    let last = temp
        .good("resume run --evaluations 4 --json")
        .events()
        .pop();
    assert_eq!(last.unwrap()["num_points"], 12);
    assert!(history(&temp, "run").starts_with(&before));
    let last = temp
        .good("resume run --evaluations 1 --json")
        .events()
        .pop();
    assert_eq!(last.unwrap()["num_points"], 13);

    // once more, with other threads and a stop between
    temp.good(&format!("{learn} 8 --out other"));
    temp.good("resume other --evaluations 4 -q --threads 1");
    temp.good("resume other -q");
    temp.good("resume other --evaluations 1 -q --threads 2");
    same(&temp, "run", "other");
}

#[test]
fn a_finished_run_stays_as_it_is() {
    let temp = TempDir::new("finished");
    temp.good("learn denoise --size 16 --count 2 --evaluations 8 --quiet --out run");
    let before = [temp.bytes("run/result.json"), temp.bytes("run/engine.bin")];
    let ended = temp.good("resume run");
    assert!(ended.out.contains("alpha = "), "{ended:?}");
    let after = [temp.bytes("run/result.json"), temp.bytes("run/engine.bin")];
    assert!(before == after);
    temp.bad("resume run --evaluations 0", 2, &["--evaluations"]);
}
