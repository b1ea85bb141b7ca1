//! The commands of the program.

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::Path;

use ::page::number::counted;
use bilevel::LearningProblem;
use clap::CommandFactory;

use crate::apply::{self, Applied, ApplyFailure};
use crate::args::{Arguments, Command, LearnArgs, ResumeArgs, Shared};
use crate::config::{Config, Settings};
use crate::error::CliError;
use crate::findings::Finding;
use crate::progress::{Progress, ProgressFormat};
use crate::run_page::{self, RunPage};
use crate::session::{self, Interrupt, SessionOutcome};
use crate::store::{SavedRun, Store, StoreError};
use crate::summary;
use crate::task::{self, LoadedTask};

/// Runs the command that the arguments name.
///
/// # Errors
/// When the command fails.
pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    let shared = &arguments.shared;
    match &arguments.command {
        Command::Learn(args) => learn(args, shared),
        Command::Resume(args) => resume(args, shared),
        Command::Apply(args) => {
            set_threads(shared.threads);
            let say = |done: Result<&Applied, &ApplyFailure>| say_applied(shared, done);
            let applied =
                apply::apply_observed(&args.run, &args.input, &args.output, &args.options(), &say);
            let done = match &applied {
                Ok(applied) | Err(CliError::SomeFailed { applied, .. }) => &applied[..],
                Err(_) => &[],
            };
            if shared.json {
                print(&serde_json::to_string_pretty(done).map_err(CliError::Json)?);
            }
            if !shared.quiet {
                warn_about(done);
            }
            applied.map(|_| ())
        }
        Command::Report(args) => {
            set_threads(shared.threads);
            let made = run_page::make(&args.run)?;
            if shared.json {
                let findings: Vec<&str> = made.findings.iter().map(|f| &f.text[..]).collect();
                let json = serde_json::json!({
                    "page": made.path,
                    "parameters": summary::values(&made.learned),
                    "findings": findings,
                });
                print(&serde_json::to_string_pretty(&json).map_err(CliError::Json)?);
            } else {
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

fn learn(args: &LearnArgs, shared: &Shared) -> Result<(), CliError> {
    let mut settings = args.settings()?;
    shared.override_in(&mut settings);
    if args.print_config {
        return deliver(settings.template()?.as_bytes());
    }
    let config = settings.resolve()?;
    let out = args.out.as_deref().ok_or(CliError::NoOut)?;
    if Store::read_settings(out).is_ok() {
        let dir = out.to_path_buf();
        return Err(StoreError::Exists { dir }.into());
    }
    let config = config.absolute()?;
    set_threads(config.solver.threads);
    // load first: data that cannot be used leave no directory behind
    let task = load(&config, shared)?;
    let store = Store::create(out, &config.to_toml_with_comments())?;
    work(store, None, None, task, &config, shared)
}

fn resume(args: &ResumeArgs, shared: &Shared) -> Result<(), CliError> {
    let (store, saved) = Store::open(&args.run)?;
    let mut settings = Settings::of_run(store.settings(), &args.run)?;
    shared.override_in(&mut settings);
    let config = settings.resolve()?;
    set_threads(config.solver.threads);
    let task = load(&config, shared)?;
    work(store, saved, args.evaluations, task, &config, shared)
}

fn load(config: &Config, shared: &Shared) -> Result<LoadedTask, CliError> {
    let task = task::load(config)?;
    if !shared.quiet {
        for warning in &task.warnings {
            say(&format!("bilevel: warning: {warning}"));
        }
    }
    Ok(task)
}

/// Learns, then writes the result and its report.
fn work(
    store: Store,
    saved: Option<SavedRun>,
    evaluations: Option<u64>,
    task: LoadedTask,
    config: &Config,
    shared: &Shared,
) -> Result<(), CliError> {
    let (dir, settings) = (store.dir().to_path_buf(), store.settings().to_owned());
    let LoadedTask {
        family,
        training,
        validation,
        fingerprint,
        ..
    } = task;
    let interrupt = Interrupt::new();
    interrupt.install().map_err(CliError::Interrupt)?;
    let mut progress = Progress::new(match (shared.json, shared.quiet) {
        (true, _) => ProgressFormat::Json,
        (false, true) => ProgressFormat::Quiet,
        (false, false) => ProgressFormat::People,
    });
    let spec = config.spec();
    let setup = spec.setup(validation.pairs);
    let task = session::RunSetup {
        problem: LearningProblem::new(family, training.pairs, setup)?,
        options: spec.options(),
        fingerprint,
    };
    let mut watch = |snapshot: &session::Snapshot<'_>| {
        progress.show(snapshot);
        ControlFlow::Continue(())
    };
    let outcome = session::resume(store, saved, task, evaluations, &interrupt, &mut watch);
    progress.clear();
    let made = match outcome? {
        SessionOutcome::Finished(finished) => {
            let names = [training.names, validation.names];
            run_page::write_finished(&dir, &settings, config, *finished, names)?
        }
        SessionOutcome::WasFinished(learned) => {
            if !shared.quiet && evaluations.is_some() {
                say("bilevel: the run is complete: more evaluations would change nothing");
            }
            match run_page::existing(&dir, config, *learned) {
                Some(made) => made,
                None => run_page::make(&dir)?,
            }
        }
        SessionOutcome::Paused => return Ok(()),
    };
    progress.finish(&made.learned, &dir);
    if !shared.json && !shared.quiet {
        print_summary(&made, &dir);
        let is_built_in = config.data.images.is_none();
        let mut out = io::stdout().lock();
        let _ = writeln!(out);
        let _ = summary::write_next(&mut out, &program(shared), config.task, &dir, is_built_in);
    }
    Ok(())
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
    let _ = summary::write(&mut out, &made.learned, &made.fixed);
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

fn say_applied(shared: &Shared, done: Result<&Applied, &ApplyFailure>) {
    if shared.quiet || shared.json {
        return;
    }
    if let Ok(applied) = done {
        let missed = if applied.reached {
            ""
        } else {
            ", less accurate than requested"
        };
        print(&format!(
            "{} -> {}: at most {:.1e} from the exact minimiser (root mean square){missed}",
            name(&applied.input),
            applied.output.display(),
            applied.error
        ));
    }
}

/// Warns about inputs: in full about the first one, because warnings about others hardly differ.
fn warn_about(applied: &[Applied]) {
    let mut warned = applied
        .iter()
        .filter(|applied| !applied.warnings.is_empty());
    let Some(first) = warned.next() else {
        return;
    };
    for warning in &first.warnings {
        say(&format!("bilevel: warning: {warning}"));
    }
    let others = warned.count() as u64;
    if others > 0 {
        let others = counted(others, "other file", "other files");
        say(&format!("bilevel: warning: the same holds for {others}"));
    }
}

fn name(path: &Path) -> String {
    path.file_name().map_or_else(
        || path.display().to_string(),
        |name| name.to_string_lossy().into_owned(),
    )
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

/// Prints a line to standard error.
fn say(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}
