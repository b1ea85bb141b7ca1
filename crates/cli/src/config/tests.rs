//! Settings are filled in, checked, written and read; the table is consistent.

#![expect(clippy::float_cmp, reason = "numbers that are handed on as they are")]

use std::path::Path;

use bilevel::{L1Kind, MethodName, Residuals, Scale};
use clap::CommandFactory as _;

use super::table::{ALL, ValueKind};
use super::*;

const TASKS: [TaskKind; 4] = TaskKind::ALL;

/// Every setting has one row, from which everything else follows.
#[test]
fn each_setting_is_one_row() {
    let command = crate::args::Arguments::command();
    let learn = command.find_subcommand("learn").unwrap();
    for task in TASKS {
        let config = minimal(task).resolve().unwrap();
        let text = config.to_toml_with_comments();
        let unwrapped = text.replace("\n#   ", " ");
        let given = Settings::of(&config).unwrap();
        for setting in ALL {
            let (section, key) = setting.section_and_key();
            let mut of_command = learn.get_arguments().chain(command.get_arguments());
            let flag = of_command
                .find(|arg| arg.get_long() == Some(setting.flag))
                .unwrap();
            let help = flag.get_help().unwrap().to_string();
            assert!(help.starts_with(setting.help), "{help}");
            if !setting.is_for(task) {
                assert!(!text.contains(&format!("\n{key} = ")), "{setting}");
                continue;
            }
            // The default is possible, and the same wherever it is shown.
            let line = setting.help(&[task]);
            assert!(unwrapped.contains(&format!("\n# {line}\n")), "{line}");
            let shown = line.rsplit_once(" [").unwrap().1;
            let shown = shown.trim_end_matches(']').split(';').next().unwrap();
            let shown = shown.trim_start_matches("default: ");
            assert!(help.contains(shown), "{shown} is not in {help}");
            let Ok(default) = setting.default(task, &|_| false) else {
                let example = format!(
                    "task = \"{task}\"\n{} = {}",
                    setting.key,
                    setting.example(task)
                );
                read(&example).unwrap();
                continue;
            };
            let literal = table::literal(&default);
            // Values of parameters depend on which ones are learned.
            if !matches!(setting.kind, ValueKind::Values) {
                assert!(text.contains(&format!("{key} = {literal}\n")), "{setting}");
                let text = format!("task = \"{task}\"\n[{section}]\n{key} = {literal}\n");
                let again = read(&text).unwrap();
                assert_eq!(again.get(setting), Some(&default), "{text}");
                assert_eq!(given.get(setting), Some(&default), "{setting}");
            }
            // All words are values of the field.
            if let ValueKind::Word(words) = setting.kind {
                // pictures in colour have other parameters
                for word in words.iter().filter(|word| **word != "opponent") {
                    let mut other = given.clone();
                    other.set(setting, *word);
                    let config = other.clone().resolve().unwrap();
                    assert_eq!(Settings::of(&config).unwrap(), other);
                }
            }
        }
    }
    assert_eq!(dfo_ls::TrustRegion::default().initial_radius, 0.1);
}

#[test]
fn help_has_the_defaults_of_all_tasks() {
    let help = |setting: &Setting| setting.help(&TASKS);
    assert!(
        help(&table::NOISE)
            .ends_with("[default: 0.1; sampling, inpaint: 0.05; deblur: 0.01; with --noisy: none]")
    );
    assert!(help(&table::SIZE).ends_with("[default: 128; sampling: 64]"));
    assert!(help(&table::FINAL_RADIUS).ends_with("[default: 1e-5]"));
    let count = "[default: 10; with --images: all; with --noisy: all]";
    assert!(help(&table::COUNT).ends_with(count));
    let start = help(&table::START);
    assert!(start.contains("[default: alpha=1,nu=0.1,xi=0.1; sampling: theta=0.5"));
    assert!(start.contains("deblur: alpha=1e-3,nu=0.01]"), "{start}");
    assert!(help(&table::KERNEL).ends_with("[required for deblur]"));
}

/// The least that a task needs.
fn minimal(task: TaskKind) -> Config {
    let mut config = Config::new(task);
    match task {
        TaskKind::Deblur => config.data.kernel = Some("k.npy".into()),
        TaskKind::Inpaint => config.data.mask = Some("m.png".into()),
        _ => {}
    }
    config
}

fn read(text: &str) -> Result<Settings, ConfigError> {
    Settings::from_toml(text, Path::new("some.toml"), None)
}

fn resolved(text: &str) -> Config {
    read(text).and_then(Settings::resolve).unwrap()
}

/// The text, read and resolved, is refused with a message that has all `parts`.
fn check_refused(text: &str, parts: &[&str]) {
    let error = read(text).and_then(Settings::resolve).unwrap_err();
    let message = error.to_string();
    for part in parts {
        assert!(message.contains(part), "{part:?} is not in {message:?}");
    }
}

#[test]
fn defaults_depend_on_the_task() {
    let resolved = |task| minimal(task).resolve().unwrap();
    let noise = TASKS.map(|task| resolved(task).data.sigma());
    assert_eq!(noise, [Some(0.1), Some(0.05), Some(0.01), Some(0.05)]);
    let sampling = resolved(TaskKind::Sampling);
    assert_eq!(sampling.data.size, 64);
    assert_eq!(sampling.solver.max_points, 1000);
    assert_eq!(sampling.objective.l1, 0.01);
    assert_eq!(sampling.model.learn, ["theta"]);
    assert_eq!(sampling.model.fixed["xi"], 1e-4);
    let denoise = resolved(TaskKind::Denoise);
    assert_eq!(denoise.data.size, 128);
    assert_eq!(denoise.data.count, Some(10));
    assert_eq!(denoise.solver.max_points, 100);
    assert_eq!(denoise.objective.l1, 0.0);
    assert_eq!(denoise.model.learn, ["alpha", "nu", "xi"]);
    assert_eq!(denoise.model.upper["alpha"], 1e7);
    assert_eq!(denoise.model.start["xi"], 0.1);
    for task in TASKS {
        assert_eq!(resolved(task), resolved(task).resolve().unwrap());
        let text = format!(
            "task = \"{task}\"\n[data]\n{}",
            match task {
                TaskKind::Deblur => "kernel = \"k.npy\"",
                TaskKind::Inpaint => "mask = \"m.png\"",
                _ => "",
            }
        );
        assert_eq!(super::tests::resolved(&text), resolved(task));
    }
}

#[test]
fn what_is_printed_is_read_back() {
    let mut configs: Vec<Config> = TASKS.map(minimal).to_vec();
    let mut full = minimal(TaskKind::Denoise);
    full.data = DataConfig {
        images: Some("a folder/with \"quotes\" and é".into()),
        noise: Some((1.0 / 3.0).into()),
        seed: 7,
        colour: Some(Colour::Channels),
        crop: Some(255),
        count: Some(4),
        size: 17,
        hold_out: Some(2),
        validation: Some("C:\\other".into()),
        ..full.data
    };
    full.model.learn = vec!["xi".into(), "alpha".into()];
    full.model.fixed.insert("nu".into(), 0.1 + 0.2);
    full.model.start.insert("xi".into(), 1e-5);
    full.model.upper.insert("alpha".into(), 2.0);
    full.objective.scale = Scale::Sum;
    full.objective.residuals = Residuals::Image;
    full.objective.condition = 1e-9;
    full.solver = SolverSpec {
        max_points: 12,
        method: MethodName::Gd,
        iterations: Some(500),
        max_iterations: None,
        final_radius: 1e-4,
        threads: Some(3),
        ..full.solver
    };
    configs.push(full);
    let mut measured = minimal(TaskKind::Sampling);
    measured.data.images = Some("s.npy".into());
    measured.data.noisy = Some("y.npy".into());
    measured.objective.l1_kind = L1Kind::Nonsmooth;
    measured.model.lower.insert("theta".into(), 0.1);
    measured.solver.max_iterations = Some(1_000_000);
    configs.push(measured);
    for config in configs {
        let config = config.resolve().unwrap();
        let text = config.to_toml_with_comments();
        assert_eq!(resolved(&text), config, "{text}");
        for line in text.lines() {
            let is_comment = line.starts_with('#');
            assert!(!is_comment || line.chars().count() <= 100, "{line}");
        }
    }
}

/// Defaults that change with another setting stay open in a printed file.
#[test]
fn a_printed_file_can_be_edited() {
    let text = Settings::new(TaskKind::Denoise).template().unwrap();
    for line in [
        "# count = 10",
        "# colour = \"grey\"",
        "# noise = 0.1",
        "seed = 1",
    ] {
        assert!(text.lines().any(|other| other == line), "{line} in {text}");
    }
    assert_eq!(resolved(&text).data.count, Some(10));
    let own = text.replace("# images =", "images =");
    let own = own.replace("# noisy =", "noisy =");
    let data = resolved(&own).data;
    assert_eq!((data.count, data.noise), (None, None), "{own}");
    assert_eq!(data.colour, Some(Colour::Channels));
    // Without truth, all measured pictures are learned from, too.
    let blind = own.replace("images =", "# images =");
    let data = resolved(&blind.replace("# truth =", "truth =")).data;
    assert_eq!((data.count, data.noise), (None, None), "{blind}");
}

/// Examples in comments must be right, too.
#[test]
fn examples_are_settings() {
    let text = minimal(TaskKind::Denoise).to_toml_with_comments();
    let set: String = text
        .lines()
        .map(|line| match line.strip_prefix("# ") {
            Some(rest)
                if rest
                    .split_once(" = ")
                    .is_some_and(|(key, _)| !key.contains(' ')) =>
            {
                format!("{rest}\n")
            }
            _ => format!("{line}\n"),
        })
        .collect();
    // iterations and their limit exclude each other, as do measured and added noise, clean pictures
    // and none, and filters exclude much
    let excluding = ["max_iterations", "nois", "truth", "filters"];
    let is_alternative = |line: &&str| excluding.iter().any(|start| line.starts_with(start));
    let set: String = set
        .lines()
        .filter(|line| !is_alternative(line))
        .map(|line| format!("{line}\n"))
        .collect();
    let config = resolved(&set);
    assert_eq!(config.data.crop, Some(256), "{set}");
    assert_eq!(config.solver.iterations, Some(1000), "{set}");
}

#[test]
fn names_of_parameters_are_checked() {
    let model = |text: &str| format!("task = \"denoise\"\n[model]\n{text}");
    let known = "choose from alpha, nu, xi";
    check_refused(
        &model("learn = [\"beta\"]"),
        &["--learn", "\"beta\"", known],
    );
    check_refused(&model("fixed = { mu = 1 }"), &["--fix", "\"mu\"", known]);
    check_refused(
        &model("start = { Alpha = 1 }"),
        &["--start", "\"Alpha\"", known],
    );
    check_refused(&model("lower = { a = 1 }"), &["--lower", "\"a\"", known]);
    check_refused(&model("upper = { a = 1 }"), &["--upper", "\"a\"", known]);
    check_refused(
        &model("learn = []"),
        &["no parameter is left to learn", "--learn", "alpha, nu, xi"],
    );
    check_refused(
        &model("fixed = { alpha = 1, nu = 1, xi = 1 }"),
        &["no parameter is left to learn"],
    );
    check_refused(&model("learn = [\"nu\", \"nu\"]"), &["names nu twice"]);
    check_refused(
        &model("learn = [\"nu\"]\nfixed = { nu = 1 }"),
        &["nu is both learned and fixed"],
    );
    check_refused(
        &model("fixed = { nu = 1 }\nstart = { nu = 1 }"),
        &["--start", "names nu, which is not learned"],
    );
    let sampling = |text: &str| format!("task = \"sampling\"\n[model]\n{text}");
    let known = "choose from theta, alpha, nu, xi";
    check_refused(&sampling("learn = [\"s0\"]"), &["\"s0\"", known]);
    check_refused(
        &sampling("learn = [\"alpha\"]"),
        &["names alpha, but sampling can learn only theta", "--fix"],
    );
    check_refused(
        &sampling("learn = [\"theta\"]\nfixed = { theta = 0.5 }"),
        &["names theta, which sampling always learns"],
    );
}

#[test]
fn fixed_parameters_are_not_learned() {
    let model = resolved("task = \"denoise\"\nmodel.fixed.nu = 0.5").model;
    assert_eq!(model.learn, ["alpha", "xi"]);
    assert_eq!(model.fixed, Values::from([("nu".into(), 0.5)]));
    assert!(!model.start.contains_key("nu"));
    let model = resolved("task = \"denoise\"\nmodel.learn = [\"alpha\"]").model;
    let others = [("nu".into(), 1e-3), ("xi".into(), 1e-3)];
    assert_eq!(model.fixed, Values::from(others));
}

#[test]
fn values_of_parameters_are_checked() {
    let model = |text: &str| format!("task = \"denoise\"\n[model]\n{text}");
    check_refused(
        &model("lower = { alpha = 10 }\nupper = { alpha = 1 }"),
        &["lower bound 10 of alpha", "upper bound 1:"],
    );
    for bound in ["lower", "upper"] {
        for value in ["0", "-1.0", "nan", "inf"] {
            let text = model(&format!("{bound} = {{ nu = {value} }}"));
            check_refused(&text, &["nu", "must be a positive number"]);
        }
    }
    check_refused(
        &model("start = { nu = 2 }"),
        &["nu starts at 2,", "between 1e-7 and 1:"],
    );
    check_refused(&model("start = { nu = nan }"), &["nu starts at NaN"]);
    // A default start moves into the bounds.
    let config = resolved(&model("upper = { alpha = 0.5 }"));
    assert_eq!(config.model.start["alpha"], 0.5);
    check_refused(
        &model("fixed = { nu = 0 }"),
        &["--fix", "nu is 0", "positive"],
    );
    check_refused(
        &model("fixed = { alpha = -1 }"),
        &["alpha is -1", "zero or a positive"],
    );
    check_refused(&model("fixed = { xi = nan }"), &["xi is NaN"]);
    assert!(
        read(&model("fixed = { xi = 0 }"))
            .unwrap()
            .resolve()
            .is_ok()
    );
    let inpaint = "task = \"inpaint\"\ndata.mask = \"m.png\"\nmodel.fixed.xi = 0";
    check_refused(inpaint, &["xi is 0", "positive"]);
    for theta in ["0", "1", "nan"] {
        let text = format!("task = \"sampling\"\nmodel.upper.theta = {theta}");
        check_refused(&text, &["theta", "above 0 and below 1"]);
    }
}

#[test]
fn numbers_are_checked() {
    let check = |text: &str, parts: &[&str]| {
        check_refused(&format!("task = \"denoise\"\n{text}"), parts);
    };
    check(
        "data.noise = -0.1",
        &["--noise", "data.noise", "-0.1", "zero or a positive"],
    );
    check("data.noise = nan", &["--noise", "NaN"]);
    check("data.noise = inf", &["--noise", "inf"]);
    check("objective.condition = -1", &["--penalty-condition", "-1"]);
    check("model.image_min = inf", &["--image-min", "inf", "finite"]);
    check(
        "model.image_min = 1\nmodel.image_max = 0",
        &["--image-min", "is 1", "at most 0"],
    );
    check("data.crop = 0", &["--crop", "at least 1"]);
    check("data.count = 0", &["--count", "at least 1"]);
    check("data.size = 0", &["--size", "at least 1"]);
    check("data.size = 10001", &["--size", "at most 10000"]);
    check("solver.max_points = 0", &["--max-points", "at least 1"]);
    check("solver.iterations = 0", &["--iterations", "at least 1"]);
    check(
        "solver.max_iterations = 0",
        &["--max-iterations", "at least 1"],
    );
    check("solver.threads = 0", &["--threads", "at least 1"]);
    check("solver.final_radius = 0", &["--final-radius", "below 0.1"]);
    check(
        "solver.final_radius = 0.2",
        &["--final-radius", "below 0.1"],
    );
    check("solver.final_radius = nan", &["--final-radius", "NaN"]);
    check_refused(
        "task = \"sampling\"\ndata.size = 1",
        &["--size", "at least 2"],
    );
    check_refused(
        "task = \"sampling\"\nobjective.l1 = nan",
        &["--penalty-l1", "NaN"],
    );
    let error = read("task = \"denoise\"\ndata.seed = 9223372036854775808");
    let error = error.unwrap_err().to_string();
    assert!(error.contains("data.seed"), "{error}");
}

#[test]
fn settings_exclude_or_need_others() {
    let check = |text: &str, parts: &[&str]| {
        check_refused(&format!("task = \"denoise\"\n{text}"), parts);
    };
    check(
        "data.images = \"a\"\ndata.noisy = \"b\"\ndata.noise = 0.1",
        &["--noisy", "--noise", "together"],
    );
    check(
        "data.images = \"a\"\ndata.noisy = \"b\"\ndata.validation = \"c\"",
        &["--noisy", "--validation", "--hold-out"],
    );
    check(
        "data.noisy = \"b\"",
        &["--noisy needs --images", "or learn", "with --truth none"],
    );
    let needed = "as in --images clean.npy";
    check_refused("task = \"sampling\"\ndata.noisy = \"b\"", &[needed]);
    check(
        "solver.iterations = 1\nsolver.max_iterations = 1",
        &["--iterations", "--max-iterations", "together"],
    );
    check(
        "data.kernel = \"k\"",
        &["--kernel", "for deblur, not for denoise"],
    );
    check(
        "data.mask = \"m\"",
        &["--mask", "for deblur and inpaint, not for denoise"],
    );
    check("objective.l1 = 1", &["--penalty-l1", "for sampling"]);
    check_refused("task = \"deblur\"", &["deblur needs --kernel"]);
    check_refused("task = \"inpaint\"", &["inpaint needs --mask"]);
    check_refused(
        "task = \"sampling\"\ndata.crop = 3",
        &["--crop", "for pictures"],
    );
    check_refused(
        "task = \"sampling\"\ndata.colour = \"channels\"",
        &["--colour", "for pictures"],
    );
}

#[test]
fn paths_become_absolute() {
    let mut config = minimal(TaskKind::Deblur);
    config.data.images = Some("photos".into());
    config.data.validation = Some(std::env::temp_dir().join("others"));
    let config = config.absolute().unwrap();
    let here = std::env::current_dir().unwrap();
    assert_eq!(config.data.images, Some(here.join("photos")));
    assert_eq!(config.data.kernel, Some(here.join("k.npy")));
    assert_eq!(
        config.data.validation,
        Some(std::env::temp_dir().join("others"))
    );
    assert_eq!(config.data.mask, None);
    let mut empty = minimal(TaskKind::Denoise);
    empty.data.images = Some("".into());
    let error = empty.absolute().unwrap_err().to_string();
    assert!(error.contains("--images"), "{error}");
}

#[test]
fn the_task_is_named_once() {
    let refusal = |text, asked| {
        let error = Settings::from_toml(text, Path::new("some.toml"), asked);
        error.unwrap_err().to_string()
    };
    let message = refusal("[data]\nseed = 1\n", None);
    assert!(
        message.contains("some.toml does not name the task"),
        "{message}"
    );
    let message = refusal("task = \"deblur\"", Some(TaskKind::Denoise));
    assert!(
        message.contains("some.toml has the task deblur"),
        "{message}"
    );
}
