//! Directories of runs that cannot be used: taken, damaged, changed or busy.

use std::fs;
use std::path::Path;

use crate::scene::Place;

const LEARN: &str = "learn denoise --size 16 --count 2 --evaluations 8 --quiet --out";

/// A finished run.
fn finished(place: &Place, run: &str) {
    place.good(&format!("{LEARN} {run}"));
}

#[test]
fn places_that_are_taken() {
    let place = Place::new("taken");
    finished(&place, "old");
    let before = place.bytes("old/engine.bin");
    let parts = ["old already holds a run", "--out", "bilevel resume old"];
    place.bad(&format!("{LEARN} old"), 4, &parts);
    assert_eq!(place.bytes("old/engine.bin"), before);

    place.file("mine/thesis.tex", b"precious");
    let parts = ["mine is not empty", "--out"];
    place.bad(&format!("{LEARN} mine"), 4, &parts);
    assert_eq!(place.names("mine"), ["thesis.tex"]);

    place.file("plain", b"a file");
    for out in ["plain", "plain/below"] {
        let parts = [
            out,
            "a file is where a directory should be",
            "another place",
        ];
        place.bad(&format!("{LEARN} {out}"), 4, &parts);
    }
    assert_eq!(place.bytes("plain"), b"a file");

    fs::create_dir(place.path("empty")).unwrap();
    place.good(&format!("{LEARN} empty"));
    place.good(&format!("{LEARN} deep/er/run"));
}

#[cfg(unix)]
#[test]
fn places_without_permission() {
    use std::os::unix::fs::PermissionsExt;

    let place = Place::new("permission");
    let folder = place.path("locked");
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o555)).unwrap();
    // the superuser may do everything
    if fs::write(folder.join("try"), b"x").is_err() {
        let parts = ["locked/run", "check its permissions"];
        place.bad(&format!("{LEARN} locked/run"), 4, &parts);
    }
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn what_is_no_run() {
    let place = Place::new("no-run");
    place.picture("a.png", 8, 8, 0);
    place.file("mine/bilevel.toml", b"task = \"denoise\"\n");
    for run in ["nowhere", "mine", "a.png"] {
        for command in ["resume RUN", "report RUN", "apply RUN a.png b.png"] {
            let args = command.replace("RUN", run);
            let parts = [run, "not the directory of a run", "bilevel learn"];
            place.bad(&args, 4, &parts);
        }
    }
    assert_eq!(place.names("mine"), ["bilevel.toml"]);
}

#[test]
fn damaged_files() {
    let place = Place::new("damaged");
    finished(&place, "whole");
    place.good("learn denoise --size 12 --count 3 --evaluations 5 -q --out other");
    let engine = place.bytes("whole/engine.bin");
    let history = place.bytes("whole/history.jsonl");
    let blob = place.names("whole/states").pop().unwrap();
    let mut flipped = engine.clone();
    flipped[engine.len() / 2] ^= 1;
    let mut changed = history.clone();
    changed[20] ^= 1;
    let blob_name = format!("states/{blob}");
    let blob_bytes = place.bytes(&format!("whole/{blob_name}"));
    for (name, content) in [
        ("engine.bin", Some(&flipped[..])),
        ("engine.bin", Some(&engine[..engine.len() - 1])),
        (
            "engine.bin",
            Some(&b"this is a text of somebody else, and a rather long one"[..]),
        ),
        ("engine.bin", Some(&[])),
        ("engine.bin", None),
        ("history.jsonl", Some(&history[..history.len() - 30])),
        ("history.jsonl", Some(&changed)),
        ("history.jsonl", None),
        (&blob_name, Some(&blob_bytes[..blob_bytes.len() / 2])),
        (&blob_name, None),
    ] {
        copy(&place.path("whole"), &place.path("run"));
        let path = place.path("run").join(name);
        match content {
            Some(content) => fs::write(path, content).unwrap(),
            None => fs::remove_file(path).unwrap(),
        }
        let parts = [name, "damaged", "backup", "bilevel learn --config"];
        place.bad("resume run --evaluations 2", 4, &parts);
        // what was learned is still of use
        if name.starts_with("states") {
            place.good("report run");
        }
        place.picture("a.png", 8, 8, 0);
        place.good("apply run a.png b.png");
        fs::remove_dir_all(place.path("run")).unwrap();
    }

    copy(&place.path("whole"), &place.path("run"));
    place.file("run/engine.bin", &place.bytes("other/engine.bin"));
    place.bad("resume run", 4, &["run/", "damaged", "backup"]);
}

#[test]
fn results_can_be_made_again() {
    let place = Place::new("again");
    finished(&place, "run");
    place.picture("a.png", 8, 8, 0);
    let result = place.bytes("run/result.json");
    for content in [&b"{}"[..], &result[..result.len() / 2]] {
        place.file("run/result.json", content);
        for args in ["report run", "apply run a.png b.png"] {
            let parts = ["run/result.json is damaged", "bilevel resume run"];
            place.bad(args, 4, &parts);
        }
        place.good("resume run --quiet");
        assert_eq!(place.bytes("run/result.json"), result);
    }
    fs::remove_file(place.path("run/report.html")).unwrap();
    place.good("report run");
    assert!(place.path("run/report.html").is_file());
}

#[test]
fn changed_settings() {
    let place = Place::new("changed");
    finished(&place, "run");
    let settings = place.text("run/bilevel.toml");
    let other = settings.replace("seed = 1", "seed = 2");
    assert_ne!(settings, other);
    place.file("run/bilevel.toml", other.as_bytes());
    let parts = ["run/bilevel.toml has changed", "restore it", "--out"];
    place.bad("resume run --evaluations 2", 4, &parts);

    let wrong = settings.replace("seed =", "sead =");
    place.file("run/bilevel.toml", wrong.as_bytes());
    place.bad("resume run", 2, &["run/bilevel.toml, line", "data.sead"]);

    place.file("run/bilevel.toml", settings.as_bytes());
    place.good("resume run --evaluations 2");
}

#[test]
fn changed_images() {
    let place = Place::new("images");
    place.photos("photos");
    place.good("learn denoise --images photos --evaluations 6 -q --out run");
    let image = place.bytes("photos/1.png");
    place.picture("photos/1.png", 12, 10, 5);
    let parts = [
        "training images have changed",
        "run",
        "restore them",
        "--out",
    ];
    place.bad("resume run --evaluations 2", 3, &parts);
    fs::remove_file(place.path("photos/1.png")).unwrap();
    place.bad("resume run --evaluations 2", 3, &parts);
    fs::remove_file(place.path("photos/0.png")).unwrap();
    place.bad("resume run --evaluations 2", 3, &["photos", "no pictures"]);

    place.file("photos/1.png", &image);
    place.picture("photos/0.png", 12, 10, 0);
    place.good("resume run --evaluations 2");
}

#[test]
fn busy_and_unfinished_runs() {
    let place = Place::new("busy");
    place.picture("a.png", 8, 8, 0);
    let long = "learn denoise --size 128 --count 8 --evaluations 100000 --quiet --out run";
    let mut child = place.start(long);
    assert!(place.wait_beyond(0, "run", &mut child));
    let parts = ["another process is working on the run in run", "wait"];
    place.bad("resume run", 4, &parts);
    place.bad(long, 4, &["run already holds a run"]);
    for args in ["report run", "apply run a.png b.png"] {
        let parts = ["the run has not finished", "bilevel resume run"];
        place.bad(args, 4, &parts);
    }
    child.kill();
    assert!(!place.path("b.png").exists());
    assert!(!place.path("run/report.html").exists());
}

/// Copies a run.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder for tests");
    for entry in fs::read_dir(from).expect("a run") {
        let path = entry.expect("a run").path();
        let place = to.join(path.file_name().expect("it has a name"));
        if path.is_dir() {
            copy(&path, &place);
        } else {
            fs::copy(&path, &place).expect("a file of the run");
        }
    }
}
