//! Full disks, simulated by a limit on the size of files.

#![cfg(unix)]

use std::fs::OpenOptions;
use std::process::{Command, Stdio};

use crate::scene::{Ended, TempDir};

const LEARN: &str = "learn denoise --size 24 --count 2 --max-points 8 --quiet --out";

/// Runs the program where files may have this many blocks of 512 bytes; whether the system kills it
/// then is up to `trap`.
fn limited(temp: &TempDir, blocks: u32, trap: &str, args: &str) -> Ended {
    let script = format!("{trap} ulimit -f {blocks}; exec \"$0\" {args}");
    let output = Command::new("sh")
        .args(["-c", &script, env!("CARGO_BIN_EXE_bilevel")])
        .current_dir(temp.path(""))
        .output()
        .expect("a shell");
    Ended::new(args.to_owned(), &output)
}

#[test]
fn a_run_goes_on_when_there_is_room() {
    let temp = TempDir::new("room");
    temp.good(&format!("{LEARN} whole"));
    let expected = temp.bytes("whole/result.json");
    // Reconstructions do not fit, then the history, then the result, then the page.
    for blocks in [12, 15, 22, 30, 50] {
        let run = format!("run{blocks}");
        let ended = limited(&temp, blocks, "trap '' XFSZ;", &format!("{LEARN} {run}"));
        ended.failed(4, &["cannot write", &run, "raise the limit"]);
        assert!(temp.names(&run).iter().all(|name| !name.ends_with(".tmp")));
        temp.good(&format!("resume {run} --quiet"));
        assert!(temp.bytes(&format!("{run}/result.json")) == expected);
        assert!(temp.path(&run).join("report.html").is_file());
    }
}

#[test]
fn a_run_survives_the_signal_of_the_limit() {
    let temp = TempDir::new("signal");
    temp.good(&format!("{LEARN} whole"));
    let ended = limited(&temp, 22, "", &format!("{LEARN} run"));
    assert_ne!(ended.code, Some(0), "{ended:?}");
    temp.good("resume run --quiet");
    assert!(temp.bytes("run/result.json") == temp.bytes("whole/result.json"));
}

#[test]
fn a_place_without_any_room() {
    let temp = TempDir::new("no-room");
    let ended = limited(&temp, 0, "trap '' XFSZ;", &format!("{LEARN} run"));
    ended.failed(4, &["cannot write", "run/engine.bin", "raise the limit"]);
    // what is left there does not stop the next one
    temp.good(&format!("{LEARN} run"));
}

#[test]
fn pictures_are_written_whole_or_not_at_all() {
    let temp = TempDir::new("pictures");
    temp.good(&format!("{LEARN} run"));
    temp.picture("a.png", 64, 64, 0);
    let ended = limited(&temp, 0, "trap '' XFSZ;", "apply run a.png b.png");
    ended.failed(1, &["cannot write b.png"]);
    assert_eq!(temp.names(""), ["a.png", "run"]);
}

#[cfg(target_os = "linux")]
#[test]
fn standard_output_without_room() {
    let temp = TempDir::new("standard-output");
    for args in [
        &["completions", "bash"][..],
        &["learn", "denoise", "--print-config"],
    ] {
        let full = OpenOptions::new().write(true).open("/dev/full");
        let Ok(full) = full else { return };
        let mut command = temp.command(args);
        let output = command.stdout(full).output().expect("the program starts");
        Ended::new(args.join(" "), &output).failed(1, &["standard output", "free some space"]);
    }
}

#[test]
fn nobody_reads_standard_output() {
    let temp = TempDir::new("closed");
    for args in ["completions zsh", "learn denoise --print-config", "--help"] {
        let args: Vec<&str> = args.split(' ').collect();
        let mut command = temp.command(&args);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("the program ends");
        let ended = Ended::new(args.join(" "), &output);
        assert_eq!((ended.code, &ended.err[..]), (Some(0), ""), "{ended:?}");
    }
}
