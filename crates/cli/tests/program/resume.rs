//! Runs that are killed, interrupted and continued.

use std::fs;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use crate::scene::TempDir;

/// About half a second.
const LEARN: &str = "learn denoise --size 48 --count 4 --max-points 40 --quiet --out";

/// Long enough to be interrupted three times.
const LONG: &str = "learn denoise --size 64 --count 4 --max-points 100 --quiet --out";

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

/// The number of attempts at a signal in the middle of a run. A busy machine may send it too late.
const ATTEMPTS: usize = 20;

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
    for attempt in 0..ATTEMPTS {
        if num_unfinished >= 2 {
            break;
        }
        let mut child = temp.start(&format!("{LEARN} again{attempt}"));
        let _ = temp.wait_beyond(0, &format!("again{attempt}"), &mut child);
        child.kill();
        let result = temp.path(&format!("again{attempt}/result.json"));
        num_unfinished += u32::from(!result.exists());
    }
    assert!(num_unfinished >= 2, "{num_unfinished}");
}

#[test]
fn a_run_is_killed_again_and_again() {
    let temp = TempDir::new("again-and-again");
    temp.good(&format!("{LEARN} whole"));
    let is_killed = |attempt: usize| {
        let run = format!("run{attempt}");
        let mut args = format!("{LEARN} {run}");
        let mut num_kills = 0;
        for turn in 0..8 {
            let before = temp.evaluations(&run);
            let mut child = temp.start(&args);
            if turn % 3 == 2 {
                // perhaps while it starts
                sleep(Duration::from_millis(3));
            } else if !temp.wait_beyond(before + 3, &run, &mut child) {
                break;
            }
            child.kill();
            num_kills += 1;
            if temp.path(&run).join("bilevel.toml").exists() {
                args = format!("resume {run} --quiet");
            }
        }
        temp.good(&args);
        same(&temp, "whole", &run);
        num_kills >= 2
    };
    assert!((0..ATTEMPTS).any(is_killed));
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_says_how_to_go_on() {
    let temp = TempDir::new("interrupted");
    temp.good(&format!("{LONG} whole"));
    let is_interrupted = |attempt: usize| {
        let run = format!("run{attempt}");
        let mut args = format!("{LONG} {run}");
        for signal in ["INT", "TERM", "HUP"] {
            let mut child = temp.start(&args);
            let before = temp.evaluations(&run);
            if !temp.wait_beyond(before + 2, &run, &mut child) {
                return false;
            }
            let id = child.id();
            let sent = Command::new("kill").args(["-s", signal, &id]).status();
            assert!(sent.unwrap().success());
            let ended = child.ended(args);
            if temp.path(&run).join("result.json").exists() {
                return false;
            }
            let saved = format!("up to evaluation {} is saved", temp.evaluations(&run));
            let resume = format!("bilevel resume {run}");
            ended.failed(130, &["interrupted", &saved, &resume]);
            args = format!("resume {run} --quiet");
        }
        temp.good(&args);
        same(&temp, "whole", &run);
        true
    };
    assert!((0..ATTEMPTS).any(is_interrupted));
}

#[test]
fn more_points() {
    let temp = TempDir::new("more");
    let learn = "learn denoise --size 16 --count 2 --quiet --max-points";
    temp.good(&format!("{learn} 8 --out run"));
    let before = history(&temp, "run");
    for max_points in [12, 13] {
        let args = format!("resume run --max-points {max_points} --json");
        let last = temp.good(&args).events().pop();
        assert_eq!(last.unwrap()["num_points"], max_points);
        // the settings and the report have the limit of the run
        let limit = format!("\nmax_points = {max_points}\n");
        assert!(temp.text("run/bilevel.toml").contains(&limit));
        assert!(temp.text("run/report.html").contains(limit.trim()));
    }
    assert!(history(&temp, "run").starts_with(&before));

    // once more, with other threads and a stop between
    temp.good(&format!("{learn} 8 --out other"));
    temp.good("resume other --max-points 12 -q --threads 1");
    temp.good("resume other -q");
    temp.good("resume other --max-points 13 -q --threads 2");
    same(&temp, "run", "other");
    // a limit changed in the file is a limit, too
    for run in ["by-flag", "by-hand"] {
        temp.good(&format!("{learn} 8 --out {run}"));
    }
    temp.good("resume by-flag --max-points 13 -q");
    let settings = temp.text("by-hand/bilevel.toml");
    let settings = settings.replace("max_points = 8", "max_points = 13");
    temp.file("by-hand/bilevel.toml", settings.as_bytes());
    temp.good("resume by-hand -q");
    same(&temp, "by-flag", "by-hand");
}

#[test]
fn a_limit_counts_all_points_of_a_run() {
    let temp = TempDir::new("limit");
    temp.good("learn denoise --size 16 --count 2 --max-points 8 -q --out run");
    let settings = temp.text("run/bilevel.toml");
    let parts = [
        "a limit of 5 points is too low",
        "already evaluated 8 points",
        "at least 9",
    ];
    temp.bad("resume run --max-points 5", 2, &parts);
    assert_eq!(temp.text("run/bilevel.toml"), settings);
    // the old name and meaning
    temp.bad("resume run --evaluations 5", 2, &["--evaluations"]);
    temp.bad(
        "learn denoise --evaluations 5 --out new",
        2,
        &["--evaluations"],
    );
}

#[test]
fn images_may_move() {
    let temp = TempDir::new("moved");
    temp.photos("photos");
    temp.good("learn denoise --images photos --max-points 8 -q --out run");
    fs::rename(temp.path("photos"), temp.path("elsewhere")).unwrap();
    let parts = [
        "photos is no longer there",
        "move it back",
        "run/bilevel.toml",
    ];
    temp.bad("resume run --max-points 12", 3, &parts);
    temp.bad("report run", 3, &parts);
    let settings = temp.text("run/bilevel.toml").replace("photos", "elsewhere");
    temp.file("run/bilevel.toml", settings.as_bytes());
    temp.good("resume run --max-points 12 -q");
    temp.good("report run");
}

#[test]
fn a_finished_run_stays_as_it_is() {
    let temp = TempDir::new("finished");
    temp.good("learn denoise --size 16 --count 2 --max-points 8 --quiet --out run");
    let before = [temp.bytes("run/result.json"), temp.bytes("run/engine.bin")];
    let ended = temp.good("resume run");
    assert!(ended.out.contains("alpha = "), "{ended:?}");
    let after = [temp.bytes("run/result.json"), temp.bytes("run/engine.bin")];
    assert!(before == after);
    temp.bad("resume run --max-points 0", 2, &["--max-points"]);
}
