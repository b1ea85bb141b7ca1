//! Settings as a file that explains itself.

use std::fmt::Display;
use std::path::PathBuf;

use serde::Serialize;
use toml::Value;

use super::{Config, TaskKind, Values};

/// The lines of a file.
#[derive(Default)]
struct Lines(String);

impl Lines {
    /// An empty line and a heading.
    fn section(&mut self, name: &str) {
        self.0 += &format!("\n[{name}]\n");
    }

    /// A key with its value, or an example that is not set.
    fn entry(&mut self, comment: &str, key: &str, value: Option<impl Display>, example: &str) {
        self.0 += &format!("# {comment}\n");
        self.0 += &match value {
            Some(value) => format!("{key} = {value}\n"),
            None => format!("# {key} = {example}\n"),
        };
    }

    fn path(&mut self, comment: &str, key: &str, path: Option<&PathBuf>, example: &str) {
        let text = path.map(|path| Value::String(path.to_string_lossy().into_owned()));
        self.entry(comment, key, text, example);
    }

    fn float(&mut self, comment: &str, key: &str, number: Option<f64>, example: &str) {
        self.entry(comment, key, number.map(toml_float), example);
    }

    fn whole(&mut self, comment: &str, key: &str, number: Option<u64>, example: &str) {
        // Larger ones are refused when settings are resolved.
        let number = number.map(|n| Value::Integer(i64::try_from(n).unwrap_or(i64::MAX)));
        self.entry(comment, key, number, example);
    }

    fn size(&mut self, comment: &str, key: &str, number: Option<usize>, example: &str) {
        self.whole(comment, key, number.map(|n| n as u64), example);
    }

    /// One of several words.
    fn word(&mut self, comment: &str, key: &str, word: impl Serialize) {
        let word = Value::try_from(word).ok();
        self.entry(comment, key, word, "");
    }

    fn values(&mut self, comment: &str, key: &str, values: &Values) {
        let entries = values
            .iter()
            .map(|(name, value)| format!("{} = {}", toml_key(name), toml_float(*value)));
        let entries: Vec<String> = entries.collect();
        let table = match entries.is_empty() {
            true => "{}".to_owned(),
            false => format!("{{ {} }}", entries.join(", ")),
        };
        self.entry(comment, key, Some(table), "");
    }
}

/// A number, with an exponent where that is shorter.
fn toml_float(number: f64) -> String {
    match number.is_finite() {
        true => format!("{number:?}"),
        false => Value::Float(number).to_string(),
    }
}

/// A key, in quotes if it needs them.
fn toml_key(name: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.is_empty() && name.chars().all(is_bare) {
        name.to_owned()
    } else {
        Value::String(name.to_owned()).to_string()
    }
}

impl Config {
    /// The settings as a TOML file with a comment on each. A resolved configuration can be read back as it was.
    #[must_use]
    pub fn to_toml_with_comments(&self) -> String {
        let task = self.task;
        let mut lines = Lines(format!(
            "# Settings of `bilevel learn {task}`. Lines that begin with # are not set.\n\
             # Flags of the command line go before this file. Paths begin in the current folder.\n\n"
        ));
        lines.word(
            "What is learned: denoise, sampling, deblur or inpaint.",
            "task",
            task,
        );
        self.print_data(&mut lines);
        self.print_model(&mut lines);
        self.print_objective(&mut lines);
        self.print_solver(&mut lines);
        lines.0
    }

    fn print_data(&self, lines: &mut Lines) {
        let data = &self.data;
        lines.section("data");
        let (what, example) = match self.has_signals() {
            true => ("A .npy file with a signal in each row", "\"signals.npy\""),
            false => ("A folder of pictures without noise", "\"pictures\""),
        };
        let comment = format!("{what}; not set: built-in ones.");
        lines.path(&comment, "images", data.images.as_ref(), example);
        let (what, example) = match self.task {
            TaskKind::Sampling => ("complex frequencies in the same rows", "\"measured.npy\""),
            TaskKind::Deblur => ("blurred and noisy pictures of the same names", "\"noisy\""),
            _ => ("noisy pictures of the same names", "\"noisy\""),
        };
        let comment = format!("What was measured: {what}; not set: noise is added.");
        lines.path(&comment, "noisy", data.noisy.as_ref(), example);
        let comment =
            "Standard deviation of the noise that is added; in pictures black is 0, white is 1.";
        lines.float(comment, "noise", data.noise, &self.task.noise().to_string());
        let comment = "Of built-in images and of noise.";
        lines.whole(comment, "seed", Some(data.seed), "");
        if !self.has_signals() {
            let comment = "Colours: luminance, or channels, each as a picture of its own.";
            let colour = data.colour.and_then(|colour| Value::try_from(colour).ok());
            lines.entry(comment, "colour", colour, "\"luminance\"");
            let comment = "Only so many rows and columns in the middle of each picture.";
            lines.size(comment, "crop", data.crop, "256");
        }
        let comment = "At most so many images, the first ones.";
        lines.size(comment, "count", data.count, "10");
        let comment = "Rows and columns of built-in pictures, samples of built-in signals.";
        lines.size(comment, "size", Some(data.size), "");
        let comment = "The last so many images are not learned from, but judge what was learned.";
        lines.size(comment, "hold_out", Some(data.hold_out), "");
        let comment = "Other images that judge; noise is added to them in the same way.";
        let example = match self.has_signals() {
            true => "\"others.npy\"",
            false => "\"others\"",
        };
        lines.path(comment, "validation", data.validation.as_ref(), example);
        if self.task == TaskKind::Deblur {
            let comment = "The blur: a .npy file with two axes, its origin in the middle (rows / 2, columns / 2). It wraps around at the borders.";
            lines.path(comment, "kernel", data.kernel.as_ref(), "\"kernel.npy\"");
        }
        if self.task == TaskKind::Inpaint {
            let comment = "A picture that is white (0.5 or more) where pixels were measured.";
            lines.path(comment, "mask", data.mask.as_ref(), "\"mask.png\"");
        }
    }

    fn print_model(&self, lines: &mut Lines) {
        let model = &self.model;
        lines.section("model");
        let names = model.learn.iter().cloned().map(Value::String).collect();
        let comment = match self.has_signals() {
            true => "Learned: theta of each frequency, whose weight is theta/(1 - theta).",
            false => {
                "Learned, of alpha (total variation), nu (its smoothing), xi (squares of values)."
            }
        };
        lines.entry(comment, "learn", Some(Value::Array(names)), "");
        lines.values("The values of the others.", "fixed", &model.fixed);
        lines.values("Where learned ones begin,", "start", &model.start);
        lines.values("their least values,", "lower", &model.lower);
        lines.values("and their largest.", "upper", &model.upper);
    }

    fn print_objective(&self, lines: &mut Lines) {
        let objective = &self.objective;
        lines.section("objective");
        let comment = "Squared distances from the truth: mean or sum over images.";
        lines.word(comment, "scale", objective.scale);
        let comment = "What the solver sees of them: one number per image or pixel, or auto: pixel, if memory allows.";
        lines.word(comment, "residuals", objective.residuals);
        let comment = "Weight of the squared condition number, for cheap reconstructions; 0: none.";
        lines.float(comment, "condition", Some(objective.condition), "");
        if self.has_signals() {
            let comment = "Weight of the sum of all theta, for few frequencies; 0: none. 0.01 with the mean over ten signals is 0.1 with their sum.";
            lines.float(comment, "l1", Some(objective.l1), "");
        }
        let comment = "How that sum is treated: root (the square of one more residual) or nonsmooth (as it is).";
        if self.has_signals() {
            lines.word(comment, "l1_kind", objective.l1_kind);
        }
    }

    fn print_solver(&self, lines: &mut Lines) {
        let solver = &self.solver;
        lines.section("solver");
        let comment = "At most so many different parameters are tried.";
        lines.whole(comment, "evaluations", Some(solver.evaluations), "");
        let comment = "How reconstructions are computed: auto (the fastest known), fista or gd (gradient descent).";
        lines.word(comment, "method", solver.method);
        let comment = "So many iterations for each reconstruction; not set: as accurate as the solver asks for.";
        lines.whole(comment, "iterations", solver.iterations, "1000");
        let comment = "A reconstruction gives up after so many iterations; not set: never.";
        lines.whole(comment, "max_iterations", solver.max_iterations, "100000");
        let comment =
            "The run ends when steps are so small, as a share of the range between bounds.";
        lines.float(comment, "final_radius", Some(solver.final_radius), "");
        let comment = "Threads; not set: one for each processor. Results do not depend on it.";
        lines.size(comment, "threads", solver.threads, "4");
    }
}
