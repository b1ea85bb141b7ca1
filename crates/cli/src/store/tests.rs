//! The state of a run after a failure of any step.

use std::rc::Rc;

use super::*;
use crate::file::disk::fault::Fault;
use crate::temp_dir::TempDir;

/// The arguments of one commit.
struct Step {
    blobs: Vec<(u64, Vec<u8>)>,
    lines: Vec<String>,
    payload: Vec<u8>,
    live: Vec<u64>,
}

/// Commits with and without blobs, lines and deletions; one number is used twice.
fn script() -> Vec<Step> {
    let step = |blobs: &[u64], lines: usize, live: &[u64]| Step {
        blobs: blobs.iter().map(|n| (*n, vec![7; 20])).collect(),
        lines: (0..lines)
            .map(|line| format!("{{\"line\":{line}}}"))
            .collect(),
        payload: Vec::new(),
        live: live.to_vec(),
    };
    let mut script = vec![
        step(&[], 1, &[]),
        step(&[1, 2], 2, &[1, 2]),
        step(&[3], 0, &[2, 3]),
        step(&[], 0, &[3]),
        step(&[4, 1], 3, &[1, 4]),
        step(&[5], 1, &[5]),
        step(&[], 1, &[]),
    ];
    for (index, step) in script.iter_mut().enumerate() {
        step.payload = format!("payload {index}").into_bytes();
        for (number, bytes) in &mut step.blobs {
            bytes.extend(format!("blob {number} of {index}").bytes());
        }
    }
    script
}

fn apply(store: &mut Store, step: &Step) -> Result<(), StoreError> {
    let blobs: Vec<(u64, &[u8])> = step.blobs.iter().map(|(n, b)| (*n, &b[..])).collect();
    store.commit(&blobs, &step.lines, &step.payload, &step.live)
}

/// Returns the expected content after the first `done` commits.
fn expected(done: usize) -> Option<SavedRun> {
    let script = script();
    let last = script[..done].last()?;
    let mut blobs = last.live.clone();
    blobs.sort_unstable();
    Some(SavedRun {
        history: script[..done]
            .iter()
            .flat_map(|step| step.lines.clone())
            .collect(),
        payload: last.payload.clone(),
        blobs,
    })
}

/// Checks the content of the live blobs after `done` commits.
fn check_blobs(store: &Store, done: usize) {
    let script = script();
    for number in expected(done).map_or(Vec::new(), |saved| saved.blobs) {
        let mut written = script[..done].iter().flat_map(|step| &step.blobs);
        let last = written.rfind(|(n, _)| *n == number).unwrap();
        assert_eq!(store.blob(number).unwrap(), last.1, "blob {number}");
    }
}

/// Checks that there are no other files after `done` commits.
fn check_files(dir: &Path, done: usize) {
    let mut files = names(dir).unwrap();
    files.retain(|name| name != "history.jsonl" && name != "result.json");
    files.sort_unstable();
    assert_eq!(files, ["bilevel.toml", "engine.bin", "lock", "states"]);
    check_history(dir, done);
    let mut numbers: Vec<u64> = names(&dir.join("states"))
        .unwrap()
        .iter()
        .map(|name| blob_number(name).unwrap())
        .collect();
    numbers.sort_unstable();
    assert_eq!(
        numbers,
        expected(done).map_or(Vec::new(), |saved| saved.blobs)
    );
}

/// Checks that the history has no line too many after `done` commits.
fn check_history(dir: &Path, done: usize) {
    let lines = expected(done).map_or(Vec::new(), |saved| saved.history);
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let found = fs::read_to_string(dir.join("history.jsonl")).unwrap_or_default();
    assert_eq!(found, text);
}

/// Opens a run on a healthy disk. It must be in the state after `done` commits, without other
/// files.
fn open(dir: &Path, done: usize) -> Store {
    let (store, saved) = Store::open(dir).unwrap();
    assert_eq!(saved, expected(done));
    assert_eq!(store.settings(), "settings");
    check_blobs(&store, done);
    check_files(dir, done);
    store
}

/// Runs the rest of the script.
fn finish(dir: &Path, done: usize) {
    let script = script();
    let mut store = open(dir, done);
    for step in &script[done..] {
        apply(&mut store, step).unwrap();
    }
    drop(store);
    open(dir, script.len());
}

/// Runs the script until a step fails, and returns the number of commits, or `None` if there was no
/// run yet.
fn run(dir: &Path, fault: &Rc<Fault>) -> Option<usize> {
    let disk = || Disk {
        fault: Rc::clone(fault),
    };
    let mut store = Store::create_on(disk(), dir, "settings").ok()?;
    for (done, step) in script().iter().enumerate() {
        if done == 3 {
            drop(store);
            leave_rubbish(dir);
            let Ok((again, saved)) = Store::open_on(disk(), dir) else {
                return Some(done);
            };
            assert_eq!(saved, expected(done));
            store = again;
        }
        if apply(&mut store, step).is_err() {
            return Some(done);
        }
    }
    let _ = store.write_text("result.json", "{}");
    Some(script().len())
}

/// Writes files that a killed process may leave.
fn leave_rubbish(dir: &Path) {
    fs::write(dir.join("engine.bin.tmp"), "half").unwrap();
    fs::write(dir.join("states").join("000099.bin"), "old").unwrap();
    fs::write(dir.join("states").join("000100.bin.tmp"), "half").unwrap();
    let history = fs::read_to_string(dir.join("history.jsonl")).unwrap();
    fs::write(dir.join("history.jsonl"), history + "{\"half").unwrap();
}

#[test]
fn killed_at_any_step_a_run_is_at_its_last_commit() {
    let temp = TempDir::new("killed");
    let mut steps = Vec::new();
    for halves in [1, 2] {
        for after in 0.. {
            let dir = temp.0.join(format!("{halves}-{after}"));
            let fault = Rc::new(Fault::default());
            fault.after.set(after);
            fault.count.set(u64::MAX);
            fault.halves.set(halves);
            let done = run(&dir, &fault);
            let done = done.unwrap_or_else(|| {
                drop(Store::create(&dir, "settings").unwrap());
                0
            });
            assert_eq!(Store::read(&dir).unwrap(), expected(done), "step {after}");
            finish(&dir, done);
            if fault.count.get() == u64::MAX {
                steps.push(after);
                break;
            }
        }
    }
    // Something was tested, and the same with all kinds of half-written files.
    assert!(
        steps[0] > 50 && steps.iter().all(|n| *n == steps[0]),
        "{steps:?}"
    );
}

#[test]
fn after_a_failure_the_same_commit_can_be_made() {
    let temp = TempDir::new("failure");
    for failures in [1, 4] {
        for after in 0.. {
            let dir = temp.0.join(format!("{failures}-{after}"));
            let fault = Rc::new(Fault::default());
            fault.after.set(after);
            fault.count.set(failures);
            fault.halves.set(1);
            let mut tries = 0;
            let mut store = loop {
                tries += 1;
                let fault = Rc::clone(&fault);
                match Store::create_on(Disk { fault }, &dir, "settings") {
                    Ok(store) => break store,
                    Err(error) => assert!(matches!(error, StoreError::Io { .. }), "{error}"),
                }
            };
            for (done, step) in script().iter().enumerate() {
                while let Err(error) = apply(&mut store, step) {
                    tries += 1;
                    assert!(error.to_string().contains("disk is full"), "{error}");
                    assert_eq!(Store::read(&dir).unwrap(), expected(done));
                    check_blobs(&store, done);
                    if failures == 1 {
                        check_files(&dir, done);
                    }
                }
                assert_eq!(Store::read(&dir).unwrap(), expected(done + 1));
                if !step.lines.is_empty() {
                    check_history(&dir, done + 1);
                }
                check_blobs(&store, done + 1);
            }
            let all = script().len();
            drop(store);
            finish(&dir, all);
            if fault.count.get() > 0 {
                assert!(after > 50 && tries > 0);
                break;
            }
        }
    }
}

#[test]
fn half_a_line_does_not_stay_when_the_next_commit_is_shorter() {
    let temp = TempDir::new("shorter");
    let fault = Rc::new(Fault::default());
    let disk = Disk {
        fault: Rc::clone(&fault),
    };
    let mut store = Store::create_on(disk, &temp.0, "settings").unwrap();
    fault.after.set(1);
    fault.count.set(3);
    fault.halves.set(1);
    let long = ["a line that is too long for the disk".into()];
    assert!(store.commit(&[], &long, b"", &[]).is_err());
    let history = || fs::read_to_string(temp.0.join("history.jsonl")).unwrap();
    assert_eq!(history(), "a line that is too");
    fault.count.set(0);
    store.commit(&[], &["short".into()], b"", &[]).unwrap();
    assert_eq!(history(), "short\n");
}

#[test]
fn a_blob_that_cannot_be_deleted_goes_with_the_next_commit() {
    let temp = TempDir::new("deleted");
    let fault = Rc::new(Fault::default());
    let disk = Disk {
        fault: Rc::clone(&fault),
    };
    let mut store = Store::create_on(disk, &temp.0, "settings").unwrap();
    store.commit(&[(1, b"one")], &[], b"", &[1]).unwrap();
    // Opening, writing twice and renaming work.
    fault.after.set(4);
    fault.count.set(1);
    store.commit(&[], &[], b"", &[]).unwrap();
    let blobs = || names(&temp.0.join("states")).unwrap();
    assert_eq!(blobs(), ["000001.bin"]);
    store.commit(&[], &[], b"", &[]).unwrap();
    assert!(blobs().is_empty());
}

#[test]
fn a_failing_disk_does_not_hide_behind_results() {
    let temp = TempDir::new("text");
    let fault = Rc::new(Fault::default());
    let disk = Disk {
        fault: Rc::clone(&fault),
    };
    let store = Store::create_on(disk, &temp.0, "settings").unwrap();
    store.write_text("result.json", "old").unwrap();
    for after in 0..3 {
        fault.after.set(after);
        fault.count.set(1);
        fault.halves.set(1);
        assert!(store.write_text("result.json", "new").is_err());
        let text = fs::read_to_string(temp.0.join("result.json")).unwrap();
        assert_eq!(text, "old");
        check_files(&temp.0, 0);
    }
    store.write_text("result.json", "new").unwrap();
    let text = fs::read_to_string(temp.0.join("result.json")).unwrap();
    assert_eq!(text, "new");
    store.close().unwrap();
}

#[test]
fn arrays_of_a_killed_start_are_written_again() {
    let temp = TempDir::new("arrays");
    let write = |arrays: &Path, name: &str| fs::write(arrays.join(name), "numbers");
    let killed = Store::create_with(&temp.0, "settings", |arrays| {
        write(arrays, "old").map_err(cannot("write", arrays))?;
        Err(cannot("write", arrays)(io::Error::other("killed")))
    });
    assert!(killed.is_err() && temp.0.join(ARRAYS).join("old").exists());
    assert!(matches!(
        Store::open(&temp.0),
        Err(StoreError::NotARun { .. })
    ));
    let store = Store::create_with(&temp.0, "settings", |arrays| {
        write(arrays, "new").map_err(cannot("write", arrays))
    });
    drop(store.expect("it can be tried again"));
    assert_eq!(names(&temp.0.join(ARRAYS)).expect("a directory"), ["new"]);
    assert!(Store::open(&temp.0).is_ok());
}

#[test]
fn a_directory_of_the_user_is_not_taken_for_arrays() {
    let temp = TempDir::new("users-arrays");
    fs::create_dir_all(temp.0.join(ARRAYS)).expect("a directory");
    let refused = Store::create_with(&temp.0, "settings", |_| Ok::<(), StoreError>(()));
    assert!(matches!(refused, Err(StoreError::NotEmpty { .. })));
}
