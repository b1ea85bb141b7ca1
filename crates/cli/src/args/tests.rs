//! Flags override files, and files override defaults.

#![expect(clippy::float_cmp, reason = "numbers that are handed on as they are")]

use std::fs;
use std::path::Path;

use clap::CommandFactory as _;

use super::*;
use crate::config::{Colour, Config, Settings, TaskKind, Values};
use crate::error::CliError;

fn parse(line: &str) -> Result<Arguments, clap::Error> {
    Arguments::try_parse_from(["bilevel"].into_iter().chain(line.split_whitespace()))
}

fn learn(line: &str) -> LearnArgs {
    match parse(&format!("learn --out run {line}")).unwrap().command {
        Command::Learn(args) => *args,
        other => panic!("{other:?}"),
    }
}

fn config(line: &str) -> Result<Config, CliError> {
    Ok(learn(line).settings()?.resolve()?)
}

/// The settings of flags and a file.
fn merged(text: &str, line: &str) -> Result<Config, CliError> {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("bilevel-args-{}-{number}.toml", std::process::id());
    let path = std::env::temp_dir().join(name);
    fs::write(&path, text).expect("a file for tests");
    let mut args = learn(line);
    args.config = Some(path.clone());
    let settings = args.settings();
    let _ = fs::remove_file(path);
    Ok(settings?.resolve()?)
}

#[test]
fn the_command_line_makes_sense() {
    Arguments::command().debug_assert();
}

#[test]
fn without_flags_there_are_defaults() {
    let defaults = Config::new(TaskKind::Denoise).resolve().unwrap();
    assert_eq!(config("denoise").unwrap(), defaults);
    assert_eq!(merged("", "denoise").unwrap(), defaults);
    assert_eq!(merged("task = \"denoise\"", "").unwrap(), defaults);
    // a file to fill in needs no task, kernel or mask
    assert_eq!(config("--print-config").unwrap(), defaults);
    for (task, file) in [("deblur", "gaussian:2"), ("inpaint", "mask.png")] {
        let data = config(&format!("{task} --print-config")).unwrap().data;
        assert_eq!(data.kernel.or(data.mask), Some(file.into()));
        assert!(config(task).is_err());
    }
    let error = config("").unwrap_err();
    assert!(error.to_string().contains("the task is missing"), "{error}");
    assert_eq!(error.exit_code(), 2);
    let error = merged("task = \"deblur\"", "denoise").unwrap_err();
    assert!(error.to_string().contains("has the task deblur"), "{error}");
}

#[test]
fn every_flag_arrives() {
    let line = "denoise --images i --noise 0.2 --seed 9 --colour channels --crop 33 --count 5 \
        --hold-out 2 --validation v --learn alpha,nu --fix xi=0.5 \
        --start alpha=2,nu=0.2 --lower alpha=0.5 --upper alpha=4 --upper nu=0.3 \
        --objective sum --residuals image --penalty-condition 1e-8 --max-points 7 \
        --method gd --iterations 99 --final-radius 1e-3 --image-min -0.5 --image-max 2";
    assert_eq!(config("denoise --size 40").unwrap().data.size, 40);
    let config = config(line).unwrap();
    let data = &config.data;
    assert_eq!(data.images.as_deref(), Some(Path::new("i")));
    assert_eq!(data.validation.as_deref(), Some(Path::new("v")));
    assert_eq!((data.sigma(), data.seed), (Some(0.2), 9));
    assert_eq!((data.crop, data.count), (Some(33), Some(5)));
    assert_eq!(data.hold_out, Some(2));
    assert_eq!(data.colour, Some(Colour::Channels));
    assert_eq!(config.model.learn, ["alpha", "nu"]);
    let values = |entries: &[(&str, f64)]| -> Values {
        entries.iter().map(|(n, v)| ((*n).into(), *v)).collect()
    };
    assert_eq!(config.model.fixed, values(&[("xi", 0.5)]));
    assert_eq!(config.model.start, values(&[("alpha", 2.0), ("nu", 0.2)]));
    assert_eq!(config.model.lower, values(&[("alpha", 0.5), ("nu", 1e-7)]));
    assert_eq!(config.model.upper, values(&[("alpha", 4.0), ("nu", 0.3)]));
    assert_eq!(config.model.image_min, Some(-0.5));
    assert_eq!(config.model.image_max, Some(2.0));
    assert_eq!(config.objective.scale, bilevel::Scale::Sum);
    assert_eq!(config.objective.residuals, bilevel::Residuals::Image);
    assert_eq!(config.objective.condition, 1e-8);
    assert_eq!(config.solver.max_points, 7);
    assert_eq!(config.solver.method, bilevel::MethodName::Gd);
    assert_eq!(config.solver.iterations, Some(99));
    assert_eq!(config.solver.final_radius, 1e-3);

    let sampling = self::config("sampling --penalty-l1 0.5 --l1-kind nonsmooth").unwrap();
    assert_eq!(sampling.objective.l1, 0.5);
    assert_eq!(sampling.objective.l1_kind, bilevel::L1Kind::Nonsmooth);
    let deblur = self::config("deblur --kernel k.npy --max-iterations 5").unwrap();
    assert_eq!(deblur.data.kernel.as_deref(), Some(Path::new("k.npy")));
    assert_eq!(deblur.solver.max_iterations, Some(5));
    let inpaint = self::config("inpaint --mask m.png --images i --noisy n").unwrap();
    assert_eq!(inpaint.data.mask.as_deref(), Some(Path::new("m.png")));
    assert_eq!(inpaint.data.noisy.as_deref(), Some(Path::new("n")));
    assert_eq!(inpaint.data.noise, None);
}

#[test]
fn flags_override_the_file() {
    let file = "task = \"denoise\"\n[data]\nimages = \"a\"\nnoise = 0.3\nseed = 5\n\
        [model]\nlearn = [\"alpha\"]\nstart = { alpha = 2 }\nfixed = { nu = 0.5, xi = 0.25 }\n\
        [solver]\niterations = 10\n";
    let config = |line: &str| merged(file, line).unwrap();
    let plain = config("");
    assert_eq!((plain.data.sigma(), plain.data.seed), (Some(0.3), 5));
    assert_eq!(plain.solver.iterations, Some(10));
    assert_eq!(config("--noise 0.7").data.sigma(), Some(0.7));
    let noisy = config("--noisy n").data;
    assert_eq!((noisy.noise, noisy.noisy), (None, Some("n".into())));
    let limited = config("--max-iterations 3").solver;
    assert_eq!(
        (limited.iterations, limited.max_iterations),
        (None, Some(3))
    );
    // What was fixed is learned, and what was learned is fixed.
    let model = config("--learn nu").model;
    assert_eq!(model.learn, ["nu"]);
    assert_eq!(model.fixed["alpha"], 0.1);
    assert_eq!(model.fixed["xi"], 0.25);
    assert!(!model.start.contains_key("alpha"));
    let model = config("--learn alpha,nu").model;
    assert_eq!(model.start["alpha"], 2.0);
    assert!(!model.fixed.contains_key("nu"));
    assert_eq!(config("--fix nu=0.75").model.fixed["nu"], 0.75);
    let error = merged(file, "--fix alpha=1").unwrap_err().to_string();
    assert!(error.contains("no parameter is left to learn"), "{error}");
    let error = merged(file, "--learn nu --fix nu=1")
        .unwrap_err()
        .to_string();
    assert!(error.contains("both learned and fixed"), "{error}");
}

#[test]
fn printed_settings_are_the_same_settings() {
    for line in [
        "denoise --learn alpha --start alpha=0.3 --hold-out 1",
        "denoise --images i --noisy n --crop 5",
        "sampling --seed 3 --size 17 --start theta=0.25",
        "deblur --kernel k.npy --fix alpha=2e-3",
        "inpaint --mask m.png --penalty-condition 1e-7",
    ] {
        let config = config(line).unwrap();
        let text = config.to_toml_with_comments();
        assert_eq!(merged(&text, "").unwrap(), config, "{text}");
    }
}

#[test]
fn wrong_flags_are_explained() {
    let refused = |line: &str, part: &str| {
        let error = parse(line).unwrap_err().to_string();
        assert!(error.contains(part), "{part:?} is not in {error:?}");
    };
    refused("learn denoise", "--out <RUN>");
    refused("learn paint --out run", "denoise");
    refused("learn denoise --out run --noise 0.1 --noisy n", "--noisy");
    refused("learn denoise --out run --fix nu", "such as alpha=0.1");
    refused("learn denoise --out run --start nu=x", "such as alpha=0.1");
    refused("learn denoise --out run --objective max", "mean, sum");
    refused(
        "learn denoise --out run --seed 9223372036854775808",
        "--seed",
    );
    refused("apply run in.png", "<OUTPUT>");
    refused("apply run a b --depth 12", "8, 16");
    refused("completions tcl", "bash");
    let error = config("denoise --noise -1").unwrap_err().to_string();
    assert!(
        error.contains("--noise") && error.contains("is -1"),
        "{error}"
    );
    let error = config("denoise --learn beta").unwrap_err().to_string();
    assert!(error.contains("choose from alpha, nu, xi"), "{error}");
    let error = config("denoise --config no/such.toml").unwrap_err();
    assert!(error.to_string().contains("such.toml"), "{error}");
    assert_eq!(error.exit_code(), 2);
}

#[cfg(unix)]
#[test]
fn paths_are_text() {
    use std::os::unix::ffi::OsStringExt as _;
    let name = std::ffi::OsString::from_vec(vec![b'a', 0xff]);
    let line = ["bilevel", "learn", "denoise", "--out", "run", "--images"].map(Into::into);
    let error = Arguments::try_parse_from(line.into_iter().chain([name])).unwrap_err();
    let error = error.to_string();
    assert!(
        error.contains("--images") && error.contains("Unicode"),
        "{error}"
    );
}

#[test]
fn other_commands() {
    let arguments = parse("apply run in.png out.png --accuracy 1e-4 --depth 16 --json -q").unwrap();
    assert!(arguments.shared.json && arguments.shared.quiet);
    let Command::Apply(apply) = arguments.command else {
        panic!("another command");
    };
    let expected = ApplyOptions {
        accuracy: 1e-4,
        depth: Some(Depth::Sixteen),
        ..ApplyOptions::default()
    };
    assert_eq!(apply.options(), expected);
    let arguments = parse("resume run --threads 3").unwrap();
    let mut settings = Settings::new(TaskKind::Denoise);
    arguments.shared.override_in(&mut settings);
    assert_eq!(settings.resolve().unwrap().solver.threads, Some(3));
    assert!(matches!(arguments.command, Command::Resume(args) if args.run == Path::new("run")));
    assert!(matches!(
        parse("report run").unwrap().command,
        Command::Report(_)
    ));
    assert!(matches!(
        parse("completions bash").unwrap().command,
        Command::Completions { shell: Shell::Bash }
    ));
    assert!(parse("learn denoise --print-config").is_ok());
}
