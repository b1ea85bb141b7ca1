//! Defaults and numbers in `--help` are true: they are read from the text that users see, and
//! compared with the settings that the program resolves.

use std::collections::BTreeSet;

use clap::CommandFactory as _;
use toml::Value;

use super::*;
use crate::config::{Config, table};

/// Parses the arguments of `bilevel learn TASK`, with a kernel or mask where one is required, and
/// resolves the settings.
fn resolved(task: TaskKind, flags: &str) -> Config {
    let file = match task {
        TaskKind::Deblur => "--kernel k.npy",
        TaskKind::Inpaint => "--mask m.png",
        _ => "",
    };
    let line = format!("bilevel learn {task} --out run {file} {flags}");
    let arguments = Arguments::try_parse_from(line.split_whitespace()).unwrap();
    let Command::Learn(learn) = arguments.command else {
        panic!("another command");
    };
    let mut settings = learn.settings().unwrap();
    arguments.shared.override_in(&mut settings);
    settings.resolve().unwrap()
}

/// Returns the value of a key such as `data.noise`, as it is written after a flag.
fn value(config: &Config, key: &str) -> Option<String> {
    let (section, key) = key.split_once('.').unwrap();
    let root = toml::Table::try_from(config).unwrap();
    root.get(section)?.get(key).map(written)
}

fn written(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Float(number) => number.to_string(),
        Value::Array(values) => values.iter().map(written).collect::<Vec<_>>().join(","),
        Value::Table(table) => {
            let entries = table
                .iter()
                .map(|(name, value)| format!("{name}={}", written(value)));
            entries.collect::<Vec<_>>().join(",")
        }
        other => other.to_string(),
    }
}

/// Whether two texts are equal, where numbers may be written in different ways: `1e-3`, `0.001`.
fn agree(a: &str, b: &str) -> bool {
    let parts = |text: &str| -> Vec<String> {
        let parts = text.split([',', '=']);
        parts
            .map(|part| {
                part.parse::<f64>()
                    .map_or_else(|_| part.to_owned(), |x| x.to_string())
            })
            .collect()
    };
    parts(a) == parts(b)
}

/// The texts after "default: " at the end of a help text, each with the condition before its colon:
/// `[default: 10; sampling, inpaint: 5; with --images: all]`.
fn defaults(help: &str) -> Option<Vec<(&str, &str)>> {
    let (_, text) = help.rsplit_once("[default: ")?;
    let parts = text.strip_suffix(']')?.split("; ");
    Some(
        parts
            .map(|part| part.split_once(": ").unwrap_or(("", part)))
            .collect(),
    )
}

#[test]
fn defaults_of_learn_are_those_of_empty_settings() {
    let command = Arguments::command();
    let learn = command.find_subcommand("learn").unwrap();
    let mut num_checked = 0;
    for setting in table::ALL {
        let mut flags = learn.get_arguments().chain(command.get_arguments());
        let flag = flags
            .find(|arg| arg.get_long() == Some(setting.flag))
            .unwrap();
        assert!(flag.get_default_values().is_empty(), "{setting}");
        let help = flag.get_help().unwrap().to_string();
        let Some(defaults) = defaults(&help) else {
            assert!(help.contains("[required for "), "{help}");
            continue;
        };
        for task in TaskKind::ALL {
            let accepts = setting.help(&[task]).contains("[default: ");
            if !accepts || setting.help(&[task]).ends_with("[default: ]") {
                continue;
            }
            let of_task = |(tasks, _): &&(&str, &str)| tasks.split(", ").any(|t| t == task.name());
            let (_, text) = defaults.iter().find(of_task).unwrap_or(&defaults[0]);
            // values of fixed parameters are those of parameters that are not learned
            let found = match setting.flag {
                "fix" => Some(fixed(task)),
                _ => value(&resolved(task, ""), setting.key),
            };
            match found {
                Some(found) => assert!(agree(&found, text), "{task}: {found} is not in {help}"),
                None => assert!(text.parse::<f64>().is_err(), "{task}: {help}"),
            }
            num_checked += 1;
            for (condition, text) in &defaults {
                let Some(other) = condition.strip_prefix("with --") else {
                    continue;
                };
                let flags = match other {
                    "noisy" => "--images i --noisy n",
                    "images" => "--images i",
                    "truth none" if task == TaskKind::Sampling => continue,
                    "truth none" => "--truth none --noisy n",
                    "filters" if task != TaskKind::Denoise => continue,
                    "filters" => "--filters dct5",
                    _ => panic!("{help}"),
                };
                match value(&resolved(task, flags), setting.key) {
                    Some(found) => assert!(agree(&found, text), "{task}: {found}, {help}"),
                    None => assert!(
                        ["none", "all", "one in five"].contains(text),
                        "{task}: {help}"
                    ),
                }
            }
        }
    }
    assert!(num_checked > 90, "{num_checked}");
}

/// Returns the fixed values of a task, each resolved with the parameter not learned.
fn fixed(task: TaskKind) -> String {
    let names = ["alpha", "nu", "xi"];
    let value = |name: &str| {
        let others: Vec<&str> = names.into_iter().filter(|other| *other != name).collect();
        let flags = match task {
            TaskKind::Sampling => String::new(),
            _ => format!("--learn {}", others.join(",")),
        };
        format!("{name}={}", resolved(task, &flags).model.fixed[name])
    };
    names.map(value).join(",")
}

#[test]
fn defaults_of_other_commands_are_those_of_their_options() {
    let arguments = Arguments::try_parse_from("bilevel apply run a.png b.png".split(' ')).unwrap();
    assert_eq!(arguments.shared, Shared::default());
    let Command::Apply(apply) = arguments.command else {
        panic!("another command");
    };
    assert_eq!(apply.options(), ApplyOptions::default());
    // All other defaults in help texts are those of the table, or of clap, which shows what it
    // uses.
    for command in Arguments::command().get_subcommands() {
        for arg in command.get_arguments() {
            let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
            let is_setting = table::ALL.iter().any(|s| arg.get_long() == Some(s.flag));
            assert!(is_setting || !help.contains("default"), "{help}");
        }
    }
}

/// Numbers in help texts that are not defaults. A new one needs a test that it is true.
#[test]
fn other_numbers_in_help_are_known() {
    let mut found = BTreeSet::new();
    for command in Arguments::command().get_subcommands() {
        for arg in command.get_arguments() {
            let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
            let text = help.split(" [default: ").next().unwrap_or_default();
            let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '.' && c != '-');
            let numbers = words.map(|word| word.trim_end_matches('.'));
            found.extend(
                numbers
                    .filter(|word| word.parse::<f64>().is_ok())
                    .map(str::to_owned),
            );
        }
    }
    // Black is 0 and white is 1; a mask is white from 0.5 on (`masked_pictures`). The others are in
    // the names of kernels (`kernel.rs` of `imaging` tests what they mean).
    let known = ["0", "0.5", "1", "15", "2", "30", "5"];
    assert_eq!(found.into_iter().collect::<Vec<_>>(), known);
}

#[test]
fn examples_in_help_are_commands() {
    let mut num_examples = 0;
    let command = Arguments::command();
    let mut all = vec![command.clone()];
    all.extend(command.get_subcommands().cloned());
    for command in all {
        let text = command
            .get_after_help()
            .map(ToString::to_string)
            .unwrap_or_default();
        for line in text
            .lines()
            .filter(|line| line.trim_start().starts_with("bilevel "))
        {
            // Remarks come after several spaces, and output may be redirected.
            let line = line.trim_start().split("   ").next().unwrap_or_default();
            let line = line.split(" > ").next().unwrap_or_default();
            let arguments = Arguments::try_parse_from(line.split_whitespace());
            let arguments = arguments.unwrap_or_else(|error| panic!("{line}: {error}"));
            if let Command::Learn(learn) = arguments.command
                && learn.config.is_none()
                && learn.command.is_none()
            {
                learn.settings().unwrap().resolve().unwrap();
            }
            num_examples += 1;
        }
    }
    assert!(num_examples > 15, "{num_examples}");
}

/// The README lists the values of parameters that are not learned.
#[test]
fn the_readme_has_the_fixed_values() {
    let readme = include_str!("../../README.md");
    let fixed = resolved(TaskKind::Denoise, "--learn alpha").model.fixed;
    let alpha = resolved(TaskKind::Denoise, "--learn nu").model.fixed["alpha"];
    let text = format!(
        "alpha = {alpha}, nu = {}, xi = {}",
        fixed["nu"], fixed["xi"]
    );
    assert!(readme.contains(&text), "{text}");
}

/// The text of an option with possible values has each of them as a word, and so cannot explain
/// words that the option refuses. Sizes of filters and numbers of bits are not words.
#[test]
fn help_explains_every_possible_value() {
    let mut num_words = 0;
    for command in Arguments::command().get_subcommands() {
        let options = command.get_opts();
        for arg in options.filter(|arg| arg.get_action().takes_values()) {
            let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
            let text = help.split(" [default: ").next().unwrap_or_default();
            let text = text.to_lowercase();
            let words: Vec<&str> = text
                .split(|c: char| !c.is_alphanumeric() && c != '-')
                .collect();
            for value in arg.get_possible_values() {
                let word = value
                    .get_name()
                    .trim_end_matches(|c: char| c.is_ascii_digit());
                let is_explained = word.is_empty() || words.contains(&word);
                assert!(is_explained, "--{}: {word} is not in {help}", arg.get_id());
                num_words += 1;
            }
        }
    }
    assert!(num_words > 20, "{num_words}");
}
