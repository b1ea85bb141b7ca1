//! Steps of a longer chore, announced and timed.

use std::io::{self, IsTerminal};
use std::time::Instant;

/// Does `work`, and prints its name, how long it took and, if it fails, the command that repeats
/// it.
pub(crate) fn run(
    name: &str,
    repeat: &str,
    work: impl FnOnce() -> Result<(), String>,
) -> Result<(), String> {
    println!("{} {name}: {repeat}", paint("==>", "1;34"));
    let start = Instant::now();
    let done = work();
    let seconds = start.elapsed().as_secs_f64();
    match done {
        Ok(()) => {
            println!("    {} {name}, {seconds:.1} s", paint("ok", "32"));
            Ok(())
        }
        Err(why) => Err(format!(
            "{name} failed after {seconds:.1} s: {why}\nrepeat it with: {repeat}"
        )),
    }
}

fn paint(text: &str, colour: &str) -> String {
    if io::stdout().is_terminal() {
        format!("\u{1b}[{colour}m{text}\u{1b}[0m")
    } else {
        text.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_says_how_to_repeat_it() {
        let message = run("fmt", "cargo fmt --check", || Err("why".into())).unwrap_err();
        assert!(message.contains("fmt failed") && message.contains("why"));
        assert!(message.ends_with("cargo fmt --check"));
    }
}
