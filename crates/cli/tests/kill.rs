//! A process that commits in a loop is killed at random times.
//!
//! This is a program of its own: a process that a test starts holds the locks of all other tests of
//! its program for a moment, and these tests would find their runs in use.

#![cfg(unix)]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use bilevel_cli::store::{SavedRun, Store, StoreError};

/// The environment variable with the directory of the worker.
const VARIABLE: &str = "BILEVEL_TEST_RUN";

/// Size of a payload that takes some time to write.
fn blob(counter: u64) -> Vec<u8> {
    let len = 300_000 + usize::try_from(counter % 100).unwrap_or(0) * 1000;
    counter
        .to_le_bytes()
        .into_iter()
        .cycle()
        .take(len)
        .collect()
}

fn line(counter: u64) -> String {
    format!("{{\"counter\":{counter}}}")
}

fn payload(counter: u64) -> Vec<u8> {
    counter.to_le_bytes().repeat(2000)
}

/// The counter of a saved state, all parts of which must agree.
fn counter(saved: Option<&SavedRun>) -> u64 {
    let Some(saved) = saved else { return 0 };
    let (words, _) = saved.payload.as_chunks::<8>();
    let counter = u64::from_le_bytes(words[0]);
    assert_eq!(saved.payload, payload(counter));
    let lines: Vec<String> = (1..=counter).map(line).collect();
    assert_eq!(saved.history, lines);
    assert_eq!(saved.blobs, live(counter));
    counter
}

/// The last two blobs.
fn live(counter: u64) -> Vec<u64> {
    (counter.saturating_sub(1).max(1)..=counter).collect()
}

#[test]
#[ignore = "the process that the other test kills"]
fn worker() {
    let Some(dir) = env::var_os(VARIABLE).map(PathBuf::from) else {
        return;
    };
    let (mut store, saved) = match Store::open(&dir) {
        Err(StoreError::NotARun { .. }) => (Store::create(&dir, "settings").unwrap(), None),
        other => other.unwrap(),
    };
    for counter in counter(saved.as_ref()) + 1.. {
        let blob = blob(counter);
        let blobs = [(counter, &blob[..])];
        let live = live(counter);
        store
            .commit(&blobs, &[line(counter)], &payload(counter), &live)
            .unwrap();
    }
}

fn start(dir: &Path) -> Child {
    Command::new(env::current_exe().expect("the test knows its own path"))
        .args(["--exact", "worker", "--ignored"])
        .env(VARIABLE, dir)
        .stdout(Stdio::null())
        .spawn()
        .expect("the test can run itself")
}

/// Reads the last commit of the worker, whose parts must agree at any time.
fn read(dir: &Path) -> u64 {
    match Store::read(dir) {
        Ok(saved) => counter(saved.as_ref()),
        Err(StoreError::NotARun { .. }) => 0,
        Err(error) => panic!("{error}"),
    }
}

/// Waits until the worker has made a commit after `before`.
fn wait_beyond(before: u64, dir: &Path, child: &mut Child) {
    let start = Instant::now();
    while read(dir) <= before {
        let ended = child.try_wait().expect("the child can be asked");
        assert!(ended.is_none(), "the worker has failed");
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "the worker hangs"
        );
        sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_killed_run_goes_on() {
    let dir = env::temp_dir().join(format!("bilevel-killed-{}", std::process::id()));
    let _ = fs::remove_dir_all(&dir);
    let mut before = 0;
    let mut random = 1_u64;
    for turn in 0..30 {
        let mut child = start(&dir);
        // Every third one is killed while it starts.
        if turn % 3 != 0 {
            wait_beyond(before, &dir, &mut child);
            let error = Store::open(&dir).unwrap_err();
            assert!(matches!(error, StoreError::Busy { .. }), "{error}");
            let error = Store::create(&dir, "").unwrap_err();
            assert!(matches!(error, StoreError::Exists { .. }), "{error}");
        }
        random = random.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
        let end = Instant::now() + Duration::from_micros((random >> 33) % 20_000);
        while Instant::now() < end {
            assert!(read(&dir) >= before);
        }
        child.kill().unwrap();
        child.wait().unwrap();

        if matches!(Store::read(&dir), Err(StoreError::NotARun { .. })) {
            continue;
        }
        let read = Store::read(&dir).unwrap();
        let (store, saved) = Store::open(&dir).unwrap();
        assert_eq!(read, saved);
        let now = counter(saved.as_ref());
        assert!(now > before || turn % 3 == 0);
        for number in live(now) {
            assert!(store.blob(number).unwrap() == blob(number), "blob {number}");
        }
        assert_eq!(
            fs::read_dir(dir.join("states")).unwrap().count(),
            live(now).len()
        );
        before = now;
    }
    assert!(before >= 20);
    fs::remove_dir_all(&dir).unwrap();
}
