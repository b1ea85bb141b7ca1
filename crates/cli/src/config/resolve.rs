//! From what was said to what will be done: defaults that depend on other settings, and all checks.

use bilevel::FourierWeights;

use super::{Colour, Config, ConfigError, L1Kind, Setting, TaskKind, Values, check};

/// How many built-in images there are where nothing is said.
const BUILT_IN: usize = 10;

/// Start and bounds of a parameter where nothing is said: the paper's.
fn range(name: &str) -> [f64; 3] {
    match name {
        "theta" => [0.5, FourierWeights::LOWER, FourierWeights::UPPER],
        "alpha" => [1.0, 1e-7, 1e7],
        _ => [0.1, 1e-7, 1.0],
    }
}

impl Config {
    /// Fills in what was left open, and checks everything that can be checked without reading a file.
    ///
    /// A resolved configuration resolves to itself.
    ///
    /// # Errors
    /// When settings do not make sense; see [`ConfigError`].
    pub fn resolve(mut self) -> Result<Self, ConfigError> {
        check::names(&self)?;
        let task = self.task;
        if self.data.noisy.is_none() {
            self.data.noise.get_or_insert(task.noise());
        }
        if !self.has_signals() {
            let colour = match self.data.noisy {
                Some(_) => Colour::Channels,
                None => Colour::Luminance,
            };
            self.data.colour.get_or_insert(colour);
        }
        if self.data.images.is_none() {
            self.data.count.get_or_insert(BUILT_IN);
        }
        let model = &mut self.model;
        for (name, value) in task.fixed() {
            if !model.learn.iter().any(|learned| learned == name) {
                model.fixed.entry(name.into()).or_insert(value);
            }
        }
        // In the order in which the model has them.
        let place = |name: &String| task.learnable().iter().position(|known| known == name);
        model.learn.sort_by_key(place);
        for name in &model.learn {
            let [start, lower, upper] = range(name);
            let set = |values: &mut Values, default| *values.entry(name.clone()).or_insert(default);
            let lower = set(&mut model.lower, lower);
            let upper = set(&mut model.upper, upper);
            check::bounds(task, name, lower, upper)?;
            set(&mut model.start, start.clamp(lower, upper));
        }
        check::all(&self)?;
        if self.objective.l1 == 0.0 {
            self.objective.l1_kind = L1Kind::default();
        }
        Ok(self)
    }

    /// Whether examples are signals, not pictures.
    pub(super) fn has_signals(&self) -> bool {
        self.task == TaskKind::Sampling
    }

    /// A picture's setting that sampling does not have.
    pub(super) fn refused(&self, setting: Setting, wanted: &'static str) -> ConfigError {
        ConfigError::Refused {
            setting,
            task: self.task,
            wanted,
        }
    }
}
