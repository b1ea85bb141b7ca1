//! Runs that are killed, interrupted and continued.

use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use crate::scene::Place;

/// About half a second.
const LEARN: &str = "learn denoise --size 48 --count 4 --evaluations 40 --quiet --out";

/// Long enough to be interrupted three times.
const LONG: &str = "learn denoise --size 64 --count 4 --evaluations 100 --quiet --out";

/// The lines of a history without their seconds.
fn history(place: &Place, run: &str) -> Vec<String> {
    let text = place.text(&format!("{run}/history.jsonl"));
    let without = |line: &str| {
        let (record, rest) = line.split_once(",\"seconds\":").expect("seconds");
        let exact = rest.split_once(',').map_or("", |(_, exact)| exact);
        format!("{record} {exact}")
    };
    text.lines().map(without).collect()
}

/// Both runs have the same numbers.
fn same(place: &Place, a: &str, b: &str) {
    let result = |run: &str| place.bytes(&format!("{run}/result.json"));
    assert!(result(a) == result(b), "{a} and {b} differ");
    assert!(history(place, a) == history(place, b), "{a} and {b} differ");
}

#[test]
fn a_killed_run_ends_like_any_other() {
    let place = Place::new("killed");
    place.good(&format!("{LEARN} whole"));
    let all = place.evaluations("whole");
    let mut num_unfinished = 0;
    for point in [0, 1, all / 4, all / 2, all - 2] {
        let run = format!("run{point}");
        let mut child = place.start(&format!("{LEARN} {run}"));
        // a busy machine may look too late: then it has finished
        let _ = place.wait_beyond(point, &run, &mut child);
        child.kill();
        if !place.path(&run).join("result.json").exists() {
            num_unfinished += 1;
            let parts = ["the run has not finished", "bilevel resume"];
            place.bad(&format!("report {run}"), 4, &parts);
        }
        place.good(&format!("resume {run} --quiet"));
        same(&place, "whole", &run);
    }
    assert!(num_unfinished >= 2, "{num_unfinished}");
}

#[test]
fn a_run_is_killed_again_and_again() {
    let place = Place::new("again-and-again");
    place.good(&format!("{LEARN} whole"));
    let mut args = format!("{LEARN} run");
    let mut num_kills = 0;
    for turn in 0..8 {
        let before = place.evaluations("run");
        let mut child = place.start(&args);
        if turn % 3 == 2 {
            // perhaps while it starts
            sleep(Duration::from_millis(3));
        } else if !place.wait_beyond(before + 3, "run", &mut child) {
            break;
        }
        child.kill();
        num_kills += 1;
        if place.path("run/bilevel.toml").exists() {
            args = "resume run --quiet".to_owned();
        }
    }
    assert!(num_kills >= 2, "{num_kills}");
    place.good(&args);
    same(&place, "whole", "run");
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_says_how_to_go_on() {
    let place = Place::new("interrupted");
    place.good(&format!("{LONG} whole"));
    let mut args = format!("{LONG} run");
    for signal in ["INT", "TERM", "HUP"] {
        let mut child = place.start(&args);
        let before = place.evaluations("run");
        assert!(place.wait_beyond(before + 2, "run", &mut child));
        let id = child.id();
        let sent = Command::new("kill").args(["-s", signal, &id]).status();
        assert!(sent.unwrap().success());
        let ended = child.ended(args);
        let saved = format!("up to evaluation {} is saved", place.evaluations("run"));
        ended.failed(130, &["interrupted", &saved, "bilevel resume run"]);
        args = "resume run --quiet".to_owned();
    }
    place.good(&args);
    same(&place, "whole", "run");
}

#[test]
fn more_evaluations() {
    let place = Place::new("more");
    let learn = "learn denoise --size 16 --count 2 --quiet --evaluations";
    place.good(&format!("{learn} 8 --out run"));
    let before = history(&place, "run");
    let last = place
        .good("resume run --evaluations 4 --json")
        .events()
        .pop();
    assert_eq!(last.unwrap()["num_points"], 12);
    assert!(history(&place, "run").starts_with(&before));
    let last = place
        .good("resume run --evaluations 1 --json")
        .events()
        .pop();
    assert_eq!(last.unwrap()["num_points"], 13);

    // once more, with other threads and a stop between
    place.good(&format!("{learn} 8 --out other"));
    place.good("resume other --evaluations 4 -q --threads 1");
    place.good("resume other -q");
    place.good("resume other --evaluations 1 -q --threads 2");
    same(&place, "run", "other");
}

#[test]
fn a_finished_run_stays_as_it_is() {
    let place = Place::new("finished");
    place.good("learn denoise --size 16 --count 2 --evaluations 8 --quiet --out run");
    let before = [
        place.bytes("run/result.json"),
        place.bytes("run/engine.bin"),
    ];
    let ended = place.good("resume run");
    assert!(ended.out.contains("alpha = "), "{ended:?}");
    let after = [
        place.bytes("run/result.json"),
        place.bytes("run/engine.bin"),
    ];
    assert!(before == after);
    place.bad("resume run --evaluations 0", 2, &["--evaluations"]);
}
