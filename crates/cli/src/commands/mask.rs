//! The command `bilevel learn mask`, and the other commands on its runs: progress and output.

use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use ::page::number::{between, counted, significant};
use bilevel::{MaskOutcome, MaskScore};
use indicatif::ProgressBar;
use serde_json::json;

use super::{Context, deliver, new_bar, print, program, say, set_threads};
use crate::args::{MaskArgs, Shared};
use crate::error::CliError;
use crate::mask::{self, MaskEvent, MaskRun};
use crate::session::EXIT_CODE;

/// Seconds after which the next line is due, if there is no terminal.
const SECONDS: f64 = 10.0;

/// Learns a mask.
pub(super) fn learn(args: &MaskArgs, context: Context<'_>) -> Result<(), CliError> {
    let settings = args.settings()?;
    if args.print_config {
        return deliver(settings.to_toml()?.as_bytes());
    }
    let out = args.out.as_deref().ok_or(CliError::NoOut)?;
    run(out, context, |stop, observe| {
        mask::learn(&settings, out, stop, observe)
    })
}

/// Continues a run.
pub(super) fn resume(dir: &Path, context: Context<'_>) -> Result<(), CliError> {
    run(dir, context, |stop, observe| {
        mask::resume(dir, stop, observe)
    })
}

/// Writes the report of a run again.
pub(super) fn report(dir: &Path, shared: &Shared) -> Result<(), CliError> {
    let made = mask::report(dir)?;
    print_run(&made, dir, shared)
}

/// Learns with progress, and prints the result.
fn run(
    dir: &Path,
    context: Context<'_>,
    learn: impl FnOnce(&AtomicBool, &mut dyn FnMut(MaskEvent)) -> Result<MaskRun, CliError>,
) -> Result<(), CliError> {
    let shared = context.shared;
    if context.ranks.rank() > 0 {
        // one rank does the work: slices are reconstructed on its threads
        return Ok(());
    }
    set_threads(shared.threads);
    let stop = Arc::new(AtomicBool::new(false));
    if context.handles_signals {
        let stop = Arc::clone(&stop);
        ctrlc::set_handler(move || {
            // the second signal ends the program at once
            if stop.swap(true, Ordering::Relaxed) {
                std::process::exit(EXIT_CODE);
            }
        })
        .map_err(CliError::Interrupt)?;
    }
    let mut progress = MaskProgressBar::new(shared);
    let made = learn(&stop, &mut |event| progress.show(event));
    progress.bar.finish_and_clear();
    let made = made?;
    if made.was_finished && !shared.quiet {
        say("bilevel: the run is complete");
    }
    print_run(&made, dir, shared)?;
    if stop.load(Ordering::Relaxed) && !made.outcome.is_complete {
        return Err(CliError::Interrupted(format!(
            "interrupted: the best mask so far is in {}, continue with `bilevel resume {}`",
            dir.display(),
            dir.display()
        )));
    }
    Ok(())
}

/// A bar on a terminal, lines elsewhere, or JSON for programs.
struct MaskProgressBar {
    bar: ProgressBar,
    shared: Shared,
    last_line: Option<Instant>,
}

impl MaskProgressBar {
    fn new(shared: &Shared) -> Self {
        let is_silent = shared.quiet || shared.json;
        Self {
            bar: new_bar(is_silent, "{spinner} {msg}, {elapsed}"),
            shared: shared.clone(),
            last_line: None,
        }
    }

    fn show(&mut self, event: MaskEvent) {
        if self.shared.json {
            let mut line = json!(event);
            line["event"] = "mask".into();
            print(&line.to_string());
            return;
        }
        let text = format!(
            "{}, search {}: {} of {}, {}, objective at most {}",
            counted(event.evaluations as u64, "mask", "masks"),
            event.search,
            event.size,
            event.full_size,
            counted(event.accepted as u64, "exchange", "exchanges"),
            significant(event.objective, 4)
        );
        self.bar.set_message(text.clone());
        let is_due = self
            .last_line
            .is_none_or(|last| last.elapsed().as_secs_f64() > SECONDS);
        if !self.shared.quiet && self.bar.is_hidden() && is_due {
            self.last_line = Some(Instant::now());
            say(&text);
        }
    }
}

/// Prints a result.
fn print_run(made: &MaskRun, dir: &Path, shared: &Shared) -> Result<(), CliError> {
    let outcome = &made.outcome;
    if shared.json {
        let mut json = serde_json::to_value(outcome).map_err(CliError::Json)?;
        json["event"] = "finished".into();
        json["page"] = json!(made.page);
        json["findings"] = json!(outcome.findings());
        print(&json.to_string());
        return Ok(());
    }
    if shared.quiet {
        return Ok(());
    }
    let _ = io::stdout()
        .lock()
        .write_all(summary(made, dir, shared).as_bytes());
    Ok(())
}

fn summary(made: &MaskRun, dir: &Path, shared: &Shared) -> String {
    let outcome: &MaskOutcome = &made.outcome;
    let [lower, upper] = between(outcome.objective[0], outcome.objective[1]);
    let mut lines = vec![
        format!(
            "Mask: {} of {} {}",
            outcome.elements.len(),
            outcome.mask().set.len(),
            outcome.spec.pattern.name()
        ),
        format!(
            "  alpha = {}, nu = {}, xi = {}",
            significant(outcome.alpha, 4),
            significant(outcome.nu, 4),
            significant(outcome.xi, 4)
        ),
        match outcome.spec.filters {
            None => "  total variation".to_owned(),
            Some(set) => format!("  filters {set} with learned weights"),
        },
        format!("Objective: certainly between {lower} and {upper}"),
        format!(
            "Cost: {}, {}",
            counted(outcome.evaluations as u64, "mask", "masks"),
            counted(
                outcome.accepted as u64,
                "accepted exchange",
                "accepted exchanges"
            )
        ),
        String::new(),
    ];
    let width = outcome.comparison.iter().map(|mask| mask.name.len()).max();
    let width = width.unwrap_or_default();
    let slices = match outcome.held_out.len() {
        0 => "training slices",
        _ => "held-out slices",
    };
    lines.push(format!(
        "{slices:width$}  object: PSNR  SSIM   whole: PSNR  SSIM"
    ));
    for compared in &outcome.comparison {
        let mean = MaskScore::mean(&compared.scores);
        let ssim = |ssim: Option<f64>| ssim.map_or("    -".to_owned(), |ssim| format!("{ssim:.3}"));
        lines.push(format!(
            "{:width$}  {:12.2} {:>5}   {:11.2} {:>5}",
            compared.name,
            mean.psnr_inside,
            ssim(mean.ssim_inside),
            mean.psnr,
            ssim(mean.ssim)
        ));
    }
    lines.push(String::new());
    lines.extend(
        outcome
            .findings()
            .iter()
            .map(|finding| format!("- {finding}")),
    );
    let dir = dir.display();
    lines.push(String::new());
    lines.push(format!(
        "Mask: {dir}/mask.npy, {dir}/mask.png, {dir}/mask.txt"
    ));
    lines.push(format!(
        "Report (open it in a browser): {}",
        made.page.display()
    ));
    lines.push(String::new());
    lines.push("Reconstruct pictures from their measured frequencies:".to_owned());
    lines.push(format!(
        "  {} apply {dir} measured.npy pictures.npy",
        program(shared)
    ));
    lines.push(String::new());
    lines.join("\n")
}
