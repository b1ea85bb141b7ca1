//! The commands of the program.

mod denoise;
mod mask;
#[cfg(test)]
mod tests;

use std::io::{self, IsTerminal as _, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use ::page::number::{between, counted};
use bilevel::{ProblemError, Ranks};
use clap::CommandFactory;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;
use toml::Value;

use crate::apply::{self, ApplyEvent};
use crate::args::{Arguments, Command, LearnArgs, LearnCommand, MaskArgs, ResumeArgs, Shared};
use crate::config::table::{HOLD_OUT, PATCHES, VALIDATION};
use crate::config::{Config, Settings, TaskKind};
use crate::error::CliError;
use crate::findings::{Finding, Mean, gains};
use crate::mask::{self as mask_runs, MaskSettings};
use crate::per_picture::{self, LearnedPicture};
use crate::progress::{Progress, ProgressFormat};
use crate::ranks;
use crate::run_page::{self, RunPage};
use crate::session::{
    self, Interrupt, RunSetup, SessionOutcome, agree, open_on_ranks, open_saved_on_ranks,
};
use crate::store::{SavedRun, Store, StoreError};
use crate::summary;
use crate::task::data_warnings::ignored_warning;
use crate::task::{self, LoadedTask};

/// Runs the command that the arguments name, on all ranks. `learn` and `resume` spread the images
/// over the ranks; the other commands are the work of rank 0. Only rank 0 prints.
///
/// # Errors
/// When the command fails. If `learn` or `resume` fails on one rank, it fails on all.
pub fn run(arguments: &Arguments, ranks: &Ranks) -> Result<(), CliError> {
    let is_first = ranks.rank() == 0;
    let shared = &Shared {
        json: arguments.shared.json && is_first,
        quiet: arguments.shared.quiet || !is_first,
        ..arguments.shared.clone()
    };
    let context = Context {
        shared,
        ranks,
        handles_signals: true,
    };
    match &arguments.command {
        Command::Learn(args) => learn(args, context),
        Command::Resume(args) => resume(args, context),
        _ if !is_first => Ok(()),
        Command::Denoise(args) => denoise::run(args, context),
        Command::Apply(args) => {
            set_threads(shared.threads);
            let say = |event: ApplyEvent<'_>| say_applied(shared, event);
            let (run, input, output) = (&args.run, &args.input, &args.output);
            let options = args.options();
            let applied = match mask_runs::is_run(run) {
                true => mask_runs::apply(run, input, output, &options, &say),
                false => apply::apply(run, input, output, &options, &say),
            };
            let done = match &applied {
                Ok(applied) | Err(CliError::SomeFailed { applied, .. }) => &applied[..],
                Err(_) => &[],
            };
            print_files(done, |applied| &applied.warnings, input, shared)?;
            applied.map(|_| ())
        }
        Command::Report(args) => {
            set_threads(shared.threads);
            if mask_runs::is_run(&args.run) {
                return mask::report(&args.run, shared);
            }
            if let Some(pictures) = per_picture::read_all(&args.run)? {
                let page = run_page::write_each(&args.run, &pictures)?;
                if shared.json {
                    let json = serde_json::json!({ "page": page, "pictures": pictures });
                    return print_json(&json);
                }
                if !shared.quiet {
                    print(&format!(
                        "Report (open it in a browser): {}",
                        page.display()
                    ));
                }
                return Ok(());
            }
            let made = run_page::make(&args.run)?;
            if shared.json {
                let findings: Vec<&str> = made.findings.iter().map(|f| &f.text[..]).collect();
                let json = serde_json::json!({
                    "page": made.path,
                    "parameters": summary::values(&made.learned),
                    "findings": findings,
                });
                return print_json(&json);
            }
            if !shared.quiet {
                print_summary(&made, &args.run);
            }
            Ok(())
        }
        Command::Completions { shell } => {
            let mut command = Arguments::command();
            // into memory first: writing to a closed pipe would panic
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut command, "bilevel", &mut script);
            deliver(&script)
        }
    }
}

/// The circumstances in which `learn` and `resume` work.
#[derive(Clone, Copy, Debug)]
struct Context<'a> {
    shared: &'a Shared,
    ranks: &'a Ranks,
    /// Whether a handler for signals is installed, which can be done once in a process.
    handles_signals: bool,
}

fn learn(args: &LearnArgs, context: Context<'_>) -> Result<(), CliError> {
    if let Some(LearnCommand::Mask(args)) = &args.command {
        return mask::learn(args, context);
    }
    if let (None, Some(config)) = (args.task, &args.config)
        && MaskSettings::is_mask_file(config)
    {
        let args = MaskArgs {
            out: args.out.clone(),
            config: Some(config.clone()),
            print_config: args.print_config,
            ..MaskArgs::default()
        };
        return mask::learn(&args, context);
    }
    let Context { shared, ranks, .. } = context;
    let settings = || -> Result<Settings, CliError> {
        let mut settings = args.settings()?;
        shared.override_in(&mut settings);
        Ok(settings)
    };
    if args.print_config {
        return match ranks.rank() {
            0 => deliver(settings()?.template()?.as_bytes()),
            _ => Ok(()),
        };
    }
    // load first: data that cannot be used leave no directory behind
    let load = || -> Result<_, CliError> {
        let mut settings = settings()?;
        if args.per_picture {
            let held_out = [&HOLD_OUT, &PATCHES].map(|setting| settings.get(setting));
            let is_other = |value: &Value| value.as_integer() != Some(0);
            if held_out.into_iter().flatten().any(is_other) || settings.has(&VALIDATION) {
                return Err(CliError::PerPictureHeldOut);
            }
            settings.set(&HOLD_OUT, 0);
            if settings.task == TaskKind::Denoise {
                settings.set(&PATCHES, 0);
            }
        }
        let warning = task::colour::choose(&mut settings);
        let camera = task::camera::choose(&mut settings)?;
        let config = settings.resolve()?;
        let out = args.out.as_deref().ok_or(CliError::NoOut)?;
        if Store::read_settings(out).is_ok() {
            return Err(StoreError::Exists(out.into()).into());
        }
        let config = config.absolute()?;
        set_threads(config.solver.threads);
        let mut task = task::load(&config)?;
        task.warnings.extend(warning);
        task.note = match (task.note.take(), camera) {
            (Some(note), Some(camera)) => Some(format!("{camera}\n{note}")),
            (note, camera) => note.or(camera),
        };
        Ok((out, task, config))
    };
    let (out, task, config) = agree(ranks, load())?;
    let settings = config.to_toml_with_comments();
    if args.per_picture {
        return learn_each(out, task, &config, &settings, context);
    }
    ranks.check_same("settings", &settings)?;
    let create = || Ok((Store::create(out, &settings)?, None));
    let (store, saved) = open_on_ranks::<CliError>(ranks, out, create)?;
    work(store, saved, false, task, &config, context)
}

/// Learns parameters for each picture, and writes them into a new directory.
fn learn_each(
    out: &Path,
    task: LoadedTask,
    config: &Config,
    settings: &str,
    context: Context<'_>,
) -> Result<(), CliError> {
    let Context { shared, ranks, .. } = context;
    if ranks.gather(&[]).map_err(ProblemError::Exchange)?.len() > 1 {
        return Err(CliError::PerPictureRanks);
    }
    if !shared.quiet {
        task.note.iter().for_each(|note| say(note));
        task.warnings.iter().for_each(|warning| warn(warning));
    }
    let show = |made: &LearnedPicture| {
        if !shared.quiet && !shared.json {
            print(&summary::of_picture(&made.name, &made.learned));
        }
    };
    let made = per_picture::learn(config, task, &show)?;
    let store = Store::create(out, settings)?;
    per_picture::write(store.dir(), &made)?;
    let page = run_page::write_each(store.dir(), &made)?;
    if shared.json {
        return print_json(&made);
    }
    if !shared.quiet {
        let data = config.data.noisy.as_deref().unwrap_or(Path::new("noisy"));
        print(&format!(
            "\nReport (open it in a browser): {}\n\nNext, reconstruct the pictures, each with its own parameters:\n  \
             {} apply {} {} clean",
            page.display(),
            program(shared),
            out.display(),
            data.display()
        ));
    }
    Ok(())
}

fn resume(args: &ResumeArgs, context: Context<'_>) -> Result<(), CliError> {
    if mask_runs::is_run(&args.run) {
        return mask::resume(&args.run, context);
    }
    let Context { shared, ranks, .. } = context;
    per_picture::refuse(&args.run)?;
    let (store, saved) = open_saved_on_ranks(ranks, &args.run, args.max_points)?;
    let load = || -> Result<_, CliError> {
        let mut settings = Settings::of_run(store.settings(), &args.run)?;
        shared.override_in(&mut settings);
        let config = settings.resolve()?;
        set_threads(config.solver.threads);
        Ok((task::load_for_run(&config, &args.run)?, config))
    };
    let (task, config) = agree(ranks, load())?;
    ranks.check_same("settings", store.settings())?;
    let is_extended = args.max_points.is_some();
    work(store, saved, is_extended, task, &config, context)
}

/// Learns, then writes the result and its report. Each rank keeps its share of the images.
fn work(
    store: Store,
    saved: Option<SavedRun>,
    is_extended: bool,
    task: LoadedTask,
    config: &Config,
    context: Context<'_>,
) -> Result<(), CliError> {
    let Context { shared, ranks, .. } = context;
    let (dir, settings) = (store.dir().to_path_buf(), store.settings().to_owned());
    let all = ranks.gather(&[]).map_err(ProblemError::Exchange)?;
    let num_ranks = all.len();
    if !shared.quiet {
        task.note.iter().for_each(|note| say(note));
        let warnings = task.warnings.iter().cloned();
        let apart = ranks::apart_warning(num_ranks);
        warnings.chain(apart).for_each(|warning| warn(&warning));
    }
    let interrupt = match num_ranks {
        1 => Interrupt::new(),
        _ => Interrupt::shared(),
    };
    if context.handles_signals {
        let installed = interrupt.install().map_err(CliError::Interrupt);
        agree(ranks, installed)?;
    }
    let mut progress = Progress::new(match (shared.json, shared.quiet) {
        (true, _) => ProgressFormat::Json,
        (false, true) => ProgressFormat::Quiet,
        (false, false) => ProgressFormat::People,
    });
    let (setup, names) = RunSetup::of_task(task, config, ranks)?;
    let mut watch = |snapshot: &session::Snapshot<'_>| {
        progress.show(snapshot);
        ControlFlow::Continue(())
    };
    let outcome = session::resume(store, saved, setup, &interrupt, &mut watch);
    progress.clear();
    let made = match agree(ranks, outcome)? {
        SessionOutcome::Finished(finished) => {
            run_page::write_on_ranks(ranks, &dir, &settings, config, *finished, names)
        }
        SessionOutcome::WasFinished(learned) => {
            if !shared.quiet && is_extended {
                say("bilevel: the run is complete: more points would change nothing");
            }
            let existing = || run_page::existing(&dir, config, *learned);
            let page = || existing().map_or_else(|| run_page::make(&dir), Ok);
            (ranks.rank() == 0).then(page).transpose()
        }
        SessionOutcome::Paused => return Ok(()),
        SessionOutcome::Interrupted => return Err(CliError::Interrupted(interrupt.message())),
    };
    let Some(made) = agree(ranks, made)? else {
        return Ok(());
    };
    progress.finish(&made.learned, &dir);
    if !shared.json && !shared.quiet {
        print_summary(&made, &dir);
        // parameters that make pictures worse are not worth applying
        let gain = Mean::of(&gains(&made.learned.training));
        if gain.is_some_and(|gain| gain.value < 0.0) {
            return Ok(());
        }
        let is_built_in = config.data.source().is_none();
        let mut out = io::stdout().lock();
        let _ = writeln!(out);
        let _ = summary::write_next(&mut out, &program(shared), config.task, &dir, is_built_in);
    }
    Ok(())
}

/// Returns a bar on a terminal, and one that shows nothing elsewhere.
fn new_bar(is_silent: bool, template: &str) -> ProgressBar {
    if is_silent || !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// Returns this program as the user has to type it: `bilevel`, or a path if it was started by one.
fn program(shared: &Shared) -> String {
    let path = &shared.program;
    if path.components().count() <= 1 {
        return "bilevel".to_owned();
    }
    let here = std::env::current_dir().ok();
    let relative = here.and_then(|here| path.strip_prefix(here).ok());
    relative.unwrap_or(path).display().to_string()
}

/// Sets the number of threads, unless a pool of threads exists already. Results do not depend on
/// it.
fn set_threads(threads: Option<usize>) {
    if let Some(threads) = threads {
        let _ = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build_global();
    }
}

/// Prints the summary of a result and the path of its report. A closed standard output is no error.
fn print_summary(made: &RunPage, run: &Path) {
    let mut out = io::stdout().lock();
    let _ = summary::write(&mut out, &made.learned, &made.fixed, made.is_transformed);
    let _ = writeln!(out);
    for finding in &made.findings {
        let _ = writeln!(out, "- {}", for_run(finding, run));
    }
    let _ = writeln!(out);
    let _ = writeln!(
        out,
        "Report (open it in a browser): {}",
        made.path.display()
    );
}

/// Returns the text of a finding with the name of the run in its commands.
fn for_run(finding: &Finding, run: &Path) -> String {
    let named = format!("bilevel resume {}", run.display());
    finding.text.replace("bilevel resume RUN", &named)
}

fn say_applied(shared: &Shared, event: ApplyEvent<'_>) {
    if shared.quiet || shared.json {
        return;
    }
    if let ApplyEvent::Page {
        input,
        done,
        num_pages,
    } = event
    {
        print(&format!("{}: {done} of {num_pages} pages", name(input)));
    }
    if let ApplyEvent::File(Ok(applied)) = event {
        let missed = if applied.reached {
            ""
        } else {
            ", less accurate than requested"
        };
        print(&format!(
            "{} -> {}: {}{missed}",
            name(&applied.input),
            applied.output.display(),
            certified(applied.error)
        ));
    }
}

/// Describes the certified error of a picture, rounded up.
fn certified(error: f64) -> String {
    let [_, bound] = between(0.0, error);
    format!("at most {bound} from the exact minimiser (root mean square)")
}

/// Warns about inputs: in full about the first one, because warnings about others hardly differ.
fn warn_once<'a>(warnings: impl Iterator<Item = &'a [String]>) {
    let mut warned = warnings.filter(|warnings| !warnings.is_empty());
    let Some(first) = warned.next() else {
        return;
    };
    first.iter().for_each(|warning| warn(warning));
    let others = warned.count() as u64;
    if others > 0 {
        let others = counted(others, "other file", "other files");
        warn(&format!("the same holds for {others}"));
    }
}

fn name(path: &Path) -> String {
    path.file_name().map_or_else(
        || path.display().to_string(),
        |name| name.to_string_lossy().into_owned(),
    )
}

/// Prints what was made from the files of `input` as JSON, if it is asked for, and their warnings.
fn print_files<T: Serialize>(
    files: &[T],
    warnings: fn(&T) -> &[String],
    input: &Path,
    shared: &Shared,
) -> Result<(), CliError> {
    if shared.json {
        print_json(files)?;
    }
    if !shared.quiet {
        warn_once(files.iter().map(warnings));
        let ignored = ignored_warning(input, &[]);
        ignored.iter().for_each(|warning| warn(warning));
    }
    Ok(())
}

/// Prints a value as JSON.
fn print_json<T: Serialize + ?Sized>(value: &T) -> Result<(), CliError> {
    print(&serde_json::to_string_pretty(value).map_err(CliError::Json)?);
    Ok(())
}

/// Prints a line to standard output. A closed output is no error.
fn print(text: &str) {
    let _ = writeln!(io::stdout().lock(), "{text}");
}

/// Writes to standard output, and fails if only a part could be written. A closed output is no
/// error.
fn deliver(content: &[u8]) -> Result<(), CliError> {
    let mut out = io::stdout().lock();
    match out.write_all(content).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(CliError::Output(error)),
        _ => Ok(()),
    }
}

/// Prints a warning to standard error.
fn warn(warning: &str) {
    say(&format!("bilevel: warning: {warning}"));
}

/// Prints a line to standard error.
fn say(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}
