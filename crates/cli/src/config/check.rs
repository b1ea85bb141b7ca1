//! The checks of settings, before anything is read.

use super::{Config, ConfigError, Setting, TaskKind, Values};

/// The names of parameters.
pub(super) fn names(config: &Config) -> Result<(), ConfigError> {
    let (task, model) = (config.task, &config.model);
    let learnable = || task.learnable().join(", ");
    let is_learnable = |name: &str| task.learnable().contains(&name);
    let is_fixable = |name: &str| task.fixed().iter().any(|(known, _)| *known == name);
    let known = |setting, name: &str| {
        if is_learnable(name) || is_fixable(name) {
            return Ok(());
        }
        let fixable = task.fixed().map(|(name, _)| name);
        let mut all: Vec<&str> = task.learnable().to_vec();
        all.extend(fixable.iter().filter(|name| !is_learnable(name)));
        Err(ConfigError::UnknownParameter {
            setting,
            task,
            name: name.into(),
            known: all.join(", "),
        })
    };
    for (index, name) in model.learn.iter().enumerate() {
        known(Setting::LEARN, name)?;
        if !is_learnable(name) {
            return Err(ConfigError::NotLearnable {
                setting: Setting::LEARN,
                task,
                name: name.clone(),
                learnable: learnable(),
            });
        }
        if model.learn[..index].contains(name) {
            return Err(ConfigError::Repeated { name: name.clone() });
        }
    }
    for name in model.fixed.keys() {
        known(Setting::FIX, name)?;
        if !is_fixable(name) {
            return Err(ConfigError::NotFixable {
                setting: Setting::FIX,
                task,
                name: name.clone(),
            });
        }
        if model.learn.contains(name) {
            return Err(ConfigError::LearnedAndFixed { name: name.clone() });
        }
    }
    if model.learn.is_empty() {
        return Err(ConfigError::NothingLearned {
            learnable: learnable(),
        });
    }
    for (setting, values) in ranges(config) {
        for name in values.keys() {
            known(setting, name)?;
            if !model.learn.contains(name) {
                return Err(ConfigError::NotLearned {
                    setting,
                    name: name.clone(),
                });
            }
        }
    }
    Ok(())
}

/// Starts and bounds.
fn ranges(config: &Config) -> [(Setting, &Values); 3] {
    [
        (Setting::START, &config.model.start),
        (Setting::LOWER, &config.model.lower),
        (Setting::UPPER, &config.model.upper),
    ]
}

/// The bounds of one parameter.
pub(super) fn bounds(
    task: TaskKind,
    name: &str,
    lower: f64,
    upper: f64,
) -> Result<(), ConfigError> {
    for (setting, found) in [(Setting::LOWER, lower), (Setting::UPPER, upper)] {
        let (is_possible, needed) = match task {
            // Frequencies of weight zero could leave the problem without a solution.
            TaskKind::Sampling => (found > 0.0 && found < 1.0, "above 0 and below 1"),
            _ => (
                (1e-100..=1e100).contains(&found),
                "a positive number between 1e-100 and 1e100",
            ),
        };
        if !is_possible {
            return Err(ConfigError::Value {
                setting,
                name: name.into(),
                found,
                needed,
            });
        }
    }
    if !(lower <= upper) {
        return Err(ConfigError::CrossedBounds {
            name: name.into(),
            lower,
            upper,
        });
    }
    Ok(())
}

/// Everything else.
pub(super) fn all(config: &Config) -> Result<(), ConfigError> {
    parameters(config)?;
    data(config)?;
    task(config)?;
    numbers(config)?;
    paths(config)
}

/// Values of parameters; bounds are checked.
fn parameters(config: &Config) -> Result<(), ConfigError> {
    let model = &config.model;
    for (name, &start) in &model.start {
        let (lower, upper) = (model.lower[name], model.upper[name]);
        if !(lower <= start && start <= upper) {
            return Err(ConfigError::StartOutside {
                name: name.clone(),
                start,
                lower,
                upper,
            });
        }
    }
    for (name, &found) in &model.fixed {
        let needs_size = matches!(config.task, TaskKind::Deblur | TaskKind::Inpaint);
        let (is_possible, needed) = match &name[..] {
            "nu" => ((1e-100..=1e100).contains(&found), "positive, such as 1e-3"),
            "xi" if needs_size => (
                found > 0.0 && found <= 1e100,
                "positive, such as 1e-3, because the data alone do not determine the picture",
            ),
            _ => ((0.0..=1e100).contains(&found), "zero or a positive number"),
        };
        if !is_possible {
            return Err(ConfigError::Value {
                setting: Setting::FIX,
                name: name.clone(),
                found,
                needed,
            });
        }
    }
    Ok(())
}

/// Which data go together.
fn data(config: &Config) -> Result<(), ConfigError> {
    let data = &config.data;
    if data.noisy.is_some() {
        let together = |second, why| {
            let first = Setting::NOISY;
            Err(ConfigError::Together { first, second, why })
        };
        if data.noise.is_some() {
            return together(Setting::NOISE, "noise is measured or added, not both");
        }
        if data.validation.is_some() {
            return together(
                Setting::VALIDATION,
                "it is not known how noisy other images are; use --hold-out",
            );
        }
        if data.images.is_none() {
            return Err(ConfigError::Missing {
                what: "--noisy",
                setting: Setting::IMAGES,
                why: "what should come out",
            });
        }
    }
    if config.solver.iterations.is_some() && config.solver.max_iterations.is_some() {
        return Err(ConfigError::Together {
            first: Setting::ITERATIONS,
            second: Setting::MAX_ITERATIONS,
            why: "a fixed number of iterations needs no limit",
        });
    }
    Ok(())
}

/// What is for one task only.
fn task(config: &Config) -> Result<(), ConfigError> {
    let (task, data) = (config.task, &config.data);
    match (&data.kernel, task) {
        (None, TaskKind::Deblur) => Err(ConfigError::Missing {
            what: "deblur",
            setting: Setting::KERNEL,
            why: "the blur, a .npy file with two axes",
        }),
        (Some(_), other) if other != TaskKind::Deblur => {
            Err(config.refused(Setting::KERNEL, "deblur"))
        }
        _ => Ok(()),
    }?;
    match (&data.mask, task) {
        (None, TaskKind::Inpaint) => Err(ConfigError::Missing {
            what: "inpaint",
            setting: Setting::MASK,
            why: "a picture that is white where pixels were measured",
        }),
        (Some(_), other) if other != TaskKind::Inpaint => {
            Err(config.refused(Setting::MASK, "inpaint"))
        }
        _ => Ok(()),
    }?;
    if config.has_signals() {
        if data.crop.is_some() {
            return Err(config.refused(Setting::CROP, "pictures"));
        }
        if data.colour.is_some() {
            return Err(config.refused(Setting::COLOUR, "pictures"));
        }
    } else if config.objective.l1 != 0.0 {
        return Err(config.refused(Setting::L1, "sampling"));
    }
    Ok(())
}

/// All numbers.
fn numbers(config: &Config) -> Result<(), ConfigError> {
    let Config {
        data,
        objective,
        solver,
        ..
    } = config;
    let check = |setting, found: f64, is_possible, needed| match is_possible {
        true => Ok(()),
        false => Err(ConfigError::OutOfRange {
            setting,
            found,
            needed,
        }),
    };
    for (setting, found) in [
        (Setting::NOISE, data.noise.unwrap_or(0.0)),
        (Setting::CONDITION, objective.condition),
        (Setting::L1, objective.l1),
    ] {
        let is_possible = (0.0..=1e100).contains(&found);
        check(setting, found, is_possible, "zero or a positive number")?;
    }
    let least = if config.has_signals() { 2 } else { 1 };
    let needed = match least {
        1 => "at least 1",
        _ => "at least 2",
    };
    check(Setting::SIZE, data.size as f64, data.size >= least, needed)?;
    check(
        Setting::SIZE,
        data.size as f64,
        data.size <= 10_000,
        "at most 10000",
    )?;
    for (setting, found) in [
        (Setting::CROP, data.crop.map(|n| n as u64)),
        (Setting::COUNT, data.count.map(|n| n as u64)),
        (Setting::EVALUATIONS, Some(solver.evaluations)),
        (Setting::ITERATIONS, solver.iterations),
        (Setting::MAX_ITERATIONS, solver.max_iterations),
        (Setting::THREADS, solver.threads.map(|n| n as u64)),
    ] {
        let found = found.unwrap_or(1);
        check(setting, found as f64, found >= 1, "at least 1")?;
        whole(setting, found)?;
    }
    whole(Setting::SEED, data.seed)?;
    whole(Setting::HOLD_OUT, data.hold_out as u64)?;
    let initial = dfo_ls::TrustRegion::default().initial_radius;
    let radius = solver.final_radius;
    let is_possible = radius > 0.0 && radius < initial;
    check(
        Setting::FINAL_RADIUS,
        radius,
        is_possible,
        "positive and below 0.1, where steps begin",
    )
}

/// Whole numbers of TOML files have 64 bits with a sign.
fn whole(setting: Setting, found: u64) -> Result<(), ConfigError> {
    match i64::try_from(found) {
        Ok(_) => Ok(()),
        Err(_) => Err(ConfigError::OutOfRange {
            setting,
            found: found as f64,
            needed: "below 2^63",
        }),
    }
}

/// Paths are written to the settings of the run, which are text.
fn paths(config: &Config) -> Result<(), ConfigError> {
    for (setting, path) in config.clone().paths_mut() {
        if let Some(path) = path
            && path.to_str().is_none()
        {
            let path = path.clone();
            return Err(ConfigError::NotUnicode { setting, path });
        }
    }
    Ok(())
}
