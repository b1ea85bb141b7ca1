//! The program on several ranks of MPI. The variable `MPIEXEC` may name the launcher.

use std::env;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::scene::{Ended, Running, TempDir};

const LEARN: &str = "learn denoise --size 48 --count 6 --hold-out 1 --max-points 40 --threads 1";

/// The program on `count` ranks, in the folder of a test.
fn command(temp: &TempDir, count: usize, args: &str) -> Command {
    let launcher = env::var_os("MPIEXEC").unwrap_or_else(|| "mpiexec".into());
    let mut command = Command::new(launcher);
    command
        .args(["-n", &count.to_string(), env!("CARGO_BIN_EXE_bilevel")])
        .args(args.split_whitespace())
        .current_dir(temp.path(""))
        .stdin(Stdio::null());
    command
}

fn run(temp: &TempDir, count: usize, args: &str) -> Ended {
    let output = command(temp, count, args).output();
    Ended::new(args.to_owned(), &output.expect("mpiexec can be started"))
}

fn good(temp: &TempDir, count: usize, args: &str) -> Ended {
    let ended = run(temp, count, args);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    ended
}

fn start(temp: &TempDir, count: usize, args: &str) -> Running {
    let mut command = command(temp, count, args);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    Running::new(command.spawn().expect("mpiexec can be started"))
}

/// The process ids of the ranks that work in the folder of a test, in increasing order.
fn processes(temp: &TempDir) -> Vec<u64> {
    let folder = temp.path("").canonicalize().expect("it exists");
    let program = Path::new(env!("CARGO_BIN_EXE_bilevel"));
    let is_rank = |id: &u64| {
        let link = |name: &str| fs::read_link(format!("/proc/{id}/{name}")).ok();
        link("cwd").is_some_and(|cwd| cwd == folder)
            && link("exe").is_some_and(|exe| exe.file_name() == program.file_name())
    };
    let entries = fs::read_dir("/proc").expect("Linux has it");
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut ids: Vec<u64> = names.filter_map(|name| name.parse().ok()).collect();
    ids.retain(is_rank);
    ids.sort_unstable();
    ids
}

fn send(signal: &str, id: u64) {
    let sent = Command::new("kill")
        .args([signal, &id.to_string()])
        .status();
    assert!(sent.expect("kill can be started").success());
}

/// The parts of a page without its name and the duration.
fn page(temp: &TempDir, run: &str) -> Vec<String> {
    let text = temp.text(&format!("{run}/report.html")).replace(run, "RUN");
    let parts = text.split('<');
    let parts = parts.filter(|part| !part.starts_with("dd class=\"soft\">in "));
    parts.map(ToOwned::to_owned).collect()
}

fn same(temp: &TempDir, run: &str) {
    let result = |run: &str| temp.text(&format!("{run}/result.json"));
    assert!(result("alone") == result(run), "{run} has another result");
    let (page, alone) = (page(temp, run), page(temp, "alone"));
    let differs = alone.iter().zip(&page).find(|(a, b)| a != b);
    assert_eq!(differs, None, "{run}");
    assert_eq!(alone.len(), page.len());
}

/// Results and reports do not depend on the number of ranks, even if some have no images. Only one
/// rank prints.
#[test]
fn any_number_of_ranks() {
    let temp = TempDir::new("mpi");
    let alone = temp.good(&format!("{LEARN} --out alone"));
    for count in [1, 2, 3, 7] {
        let run = format!("on-{count}-ranks");
        let ended = good(&temp, count, &format!("{LEARN} --out {run}"));
        same(&temp, &run);
        assert_eq!(ended.out.replace(&run, "alone"), alone.out);
        assert_eq!(ended.err.matches("warning").count(), 0, "{ended:?}");
    }
    let again = good(&temp, 2, "resume on-3-ranks");
    assert_eq!(again.out.replace("on-3-ranks", "alone"), alone.out);
}

/// A rank that is killed at any moment ends all, and another number of ranks continues.
#[test]
fn a_rank_is_killed() {
    let temp = TempDir::new("mpi-killed");
    temp.good(&format!("{LEARN} --out alone"));
    let all = temp.evaluations("alone");
    let mut num_unfinished = 0;
    for (victim, at) in [0, all / 4, all / 2].into_iter().enumerate() {
        let run = format!("killed-{victim}");
        let mut running = start(&temp, 3, &format!("{LEARN} --quiet --out {run}"));
        let _ = temp.wait_beyond(at, &run, &mut running);
        let ids = processes(&temp);
        // a busy machine may look too late: then it has finished
        if let Some(id) = ids.get(victim) {
            send("-KILL", *id);
            let ended = running.ended(run.clone());
            assert_ne!(ended.code, Some(0), "{ended:?}");
            num_unfinished += 1;
        }
        good(&temp, 1 + victim, &format!("resume {run} --quiet"));
        same(&temp, &run);
    }
    assert!(num_unfinished >= 2, "{num_unfinished}");
}

/// A signal to one rank ends all after the next save, with one message.
#[test]
fn a_rank_is_interrupted() {
    let temp = TempDir::new("mpi-interrupted");
    temp.good(&format!("{LEARN} --out alone"));
    for signal in ["-INT", "-TERM"] {
        let run = format!("run-{signal}");
        let mut running = start(&temp, 3, &format!("{LEARN} --quiet --out {run}"));
        assert!(
            temp.wait_beyond(2, &run, &mut running),
            "it ended too early"
        );
        send(signal, processes(&temp)[1]);
        let ended = running.ended(run.clone());
        ended.failed(
            130,
            &["interrupted: everything up to evaluation", "bilevel resume"],
        );
        assert_eq!(ended.err.matches("interrupted").count(), 1, "{ended:?}");
        temp.good(&format!("resume {run} --quiet"));
        same(&temp, &run);
    }
}

/// All ranks end with the same code, and rank 0 says why.
#[test]
fn errors_are_told_once() {
    let temp = TempDir::new("mpi-errors");
    for (args, code, part) in [
        ("learn denoise --images nowhere --out run", 3, "nowhere"),
        ("learn denoise", 2, "--out"),
        ("learn denoise --noise nothing --out run", 2, "--noise"),
        ("resume run", 4, "run"),
        ("report run", 4, "run"),
    ] {
        let ended = run(&temp, 3, args);
        ended.failed(code, &[part]);
        assert_eq!(ended.err.matches("error:").count(), 1, "{ended:?}");
        assert!(!temp.path("run").exists());
    }
    let ended = good(&temp, 3, "learn denoise --print-config");
    assert_eq!(ended.out.matches("[solver]").count(), 1, "{}", ended.out);
}
