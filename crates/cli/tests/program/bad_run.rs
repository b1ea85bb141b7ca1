//! Directories of runs that cannot be used: taken, damaged, changed or busy.

use std::fs;
use std::path::Path;

use crate::scene::TempDir;

const LEARN: &str = "learn denoise --size 16 --count 2 --max-points 8 --quiet --out";

/// A finished run.
fn finished(temp: &TempDir, run: &str) {
    temp.good(&format!("{LEARN} {run}"));
}

#[test]
fn places_that_are_taken() {
    let temp = TempDir::new("taken");
    finished(&temp, "old");
    let before = temp.bytes("old/engine.bin");
    let parts = ["old already holds a run", "--out", "bilevel resume old"];
    temp.bad(&format!("{LEARN} old"), 4, &parts);
    assert_eq!(temp.bytes("old/engine.bin"), before);

    temp.file("mine/thesis.tex", b"precious");
    let parts = ["mine is not empty", "--out"];
    temp.bad(&format!("{LEARN} mine"), 4, &parts);
    assert_eq!(temp.names("mine"), ["thesis.tex"]);

    temp.file("plain", b"a file");
    for out in ["plain", "plain/below"] {
        let parts = [
            out,
            "a file is where a directory should be",
            "another place",
        ];
        temp.bad(&format!("{LEARN} {out}"), 4, &parts);
    }
    assert_eq!(temp.bytes("plain"), b"a file");

    fs::create_dir(temp.path("empty")).unwrap();
    temp.good(&format!("{LEARN} empty"));
    temp.good(&format!("{LEARN} deep/er/run"));
}

#[cfg(unix)]
#[test]
fn places_without_permission() {
    use std::os::unix::fs::PermissionsExt;

    let temp = TempDir::new("permission");
    let folder = temp.path("locked");
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o555)).unwrap();
    // the superuser may do everything
    if fs::write(folder.join("try"), b"x").is_err() {
        let parts = ["locked/run", "check its permissions"];
        temp.bad(&format!("{LEARN} locked/run"), 4, &parts);
    }
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn what_is_no_run() {
    let temp = TempDir::new("no-run");
    temp.picture("a.png", 8, 8, 0);
    temp.file("mine/bilevel.toml", b"task = \"denoise\"\n");
    for run in ["nowhere", "mine", "a.png"] {
        for command in ["resume RUN", "report RUN", "apply RUN a.png b.png"] {
            let args = command.replace("RUN", run);
            let parts = [run, "not the directory of a run", "bilevel learn"];
            temp.bad(&args, 4, &parts);
        }
    }
    assert_eq!(temp.names("mine"), ["bilevel.toml"]);
}

#[test]
fn damaged_files() {
    let temp = TempDir::new("damaged");
    finished(&temp, "whole");
    temp.good("learn denoise --size 12 --count 3 --max-points 5 -q --out other");
    let engine = temp.bytes("whole/engine.bin");
    let history = temp.bytes("whole/history.jsonl");
    let blob = temp.names("whole/states").pop().unwrap();
    let mut flipped = engine.clone();
    flipped[engine.len() / 2] ^= 1;
    let mut changed = history.clone();
    changed[20] ^= 1;
    let blob_name = format!("states/{blob}");
    let blob_bytes = temp.bytes(&format!("whole/{blob_name}"));
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
        copy(&temp.path("whole"), &temp.path("run"));
        let path = temp.path("run").join(name);
        match content {
            Some(content) => fs::write(path, content).unwrap(),
            None => fs::remove_file(path).unwrap(),
        }
        let parts = [name, "damaged", "backup", "bilevel learn --config"];
        temp.bad("resume run --max-points 10", 4, &parts);
        // what was learned is still of use
        if name.starts_with("states") {
            temp.good("report run");
        }
        temp.picture("a.png", 8, 8, 0);
        temp.good("apply run a.png b.png");
        fs::remove_dir_all(temp.path("run")).unwrap();
    }

    copy(&temp.path("whole"), &temp.path("run"));
    temp.file("run/engine.bin", &temp.bytes("other/engine.bin"));
    temp.bad("resume run", 4, &["run/", "damaged", "backup"]);
}

#[test]
fn results_can_be_made_again() {
    let temp = TempDir::new("again");
    finished(&temp, "run");
    temp.picture("a.png", 8, 8, 0);
    let result = temp.bytes("run/result.json");
    for content in [&b"{}"[..], &result[..result.len() / 2]] {
        temp.file("run/result.json", content);
        for args in ["report run", "apply run a.png b.png"] {
            let parts = ["run/result.json is damaged", "bilevel resume run"];
            temp.bad(args, 4, &parts);
        }
        temp.good("resume run --quiet");
        assert_eq!(temp.bytes("run/result.json"), result);
    }
    fs::remove_file(temp.path("run/report.html")).unwrap();
    temp.good("report run");
    assert!(temp.path("run/report.html").is_file());
}

#[test]
fn changed_settings() {
    let temp = TempDir::new("changed");
    finished(&temp, "run");
    let settings = temp.text("run/bilevel.toml");
    let other = settings.replace("seed = 1", "seed = 2");
    assert_ne!(settings, other);
    temp.file("run/bilevel.toml", other.as_bytes());
    let parts = ["run/bilevel.toml has changed", "restore it", "--out"];
    temp.bad("resume run --max-points 10", 4, &parts);

    let wrong = settings.replace("seed =", "sead =");
    temp.file("run/bilevel.toml", wrong.as_bytes());
    temp.bad("resume run", 2, &["run/bilevel.toml, line", "data.sead"]);

    temp.file("run/bilevel.toml", settings.as_bytes());
    temp.good("resume run --max-points 10");
}

#[test]
fn changed_images() {
    let temp = TempDir::new("images");
    temp.photos("photos");
    temp.good("learn denoise --images photos --max-points 6 -q --out run");
    let image = temp.bytes("photos/1.png");
    temp.picture("photos/1.png", 12, 10, 5);
    let parts = ["images have changed", "run", "restore them", "--out"];
    temp.bad("resume run --max-points 10", 3, &parts);
    fs::remove_file(temp.path("photos/1.png")).unwrap();
    temp.bad("resume run --max-points 10", 3, &parts);
    fs::remove_file(temp.path("photos/0.png")).unwrap();
    temp.bad("resume run --max-points 10", 3, &["photos", "no pictures"]);

    temp.file("photos/1.png", &image);
    temp.picture("photos/0.png", 12, 10, 0);
    temp.good("resume run --max-points 10");
}

#[test]
fn busy_and_unfinished_runs() {
    let temp = TempDir::new("busy");
    temp.picture("a.png", 8, 8, 0);
    let long = "learn denoise --size 128 --count 8 --max-points 100000 --quiet --out run";
    let mut child = temp.start(long);
    assert!(temp.wait_beyond(0, "run", &mut child));
    let parts = ["another process is working on the run in run", "wait"];
    temp.bad("resume run", 4, &parts);
    temp.bad(long, 4, &["run already holds a run"]);
    for args in ["report run", "apply run a.png b.png"] {
        let parts = ["the run has not finished", "bilevel resume run"];
        temp.bad(args, 4, &parts);
    }
    child.kill();
    assert!(!temp.path("b.png").exists());
    assert!(!temp.path("run/report.html").exists());
}

/// Copies a run.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder for tests");
    for entry in fs::read_dir(from).expect("a run") {
        let path = entry.expect("a run").path();
        let target = to.join(path.file_name().expect("it has a name"));
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, &target).expect("a file of the run");
        }
    }
}
