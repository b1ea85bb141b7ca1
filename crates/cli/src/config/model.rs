//! The section `[model]`: learned parameters with their ranges, values of the others, and filter
//! banks.

#[cfg(test)]
mod tests;

use bilevel::ModelSpec;
use imaging::{KernelShape, VariableKernel};

use super::settings::Settings;
use super::table::{
    COLOUR, CONDITION, FILTERS, FIX, IMAGE_MAX, IMAGE_MIN, ITERATIONS, KERNEL, LEARN, LOWER,
    SOLVER, START, Setting, UPPER,
};
use super::{ConfigError, TaskKind, Values};

/// The settings of single parameters, which filter banks do not have.
static OF_PARAMETERS: [&Setting; 5] = [&LEARN, &FIX, &START, &LOWER, &UPPER];

/// Whether a setting has no meaning because there is a filter bank.
pub(super) fn is_unused(settings: &Settings, setting: &Setting) -> bool {
    settings.has(&FILTERS) && OF_PARAMETERS.iter().any(|other| other.key == setting.key)
}

/// Returns a model without parameters, which knows whether pictures are in colour.
fn empty(settings: &Settings) -> ModelSpec {
    ModelSpec {
        colour: settings.word(&COLOUR) == Some("opponent"),
        ..ModelSpec::default()
    }
}

/// Returns the learned parameters: those that are named or, if none are, all that are not fixed.
fn learned(settings: &Settings) -> Vec<String> {
    settings.names(&LEARN).unwrap_or_else(|| {
        let mut model = empty(settings);
        model.fixed = settings.numbers(&FIX);
        let fixed = model.with_names().fixed;
        let learned = model.learned(settings.task).into_iter().map(str::to_owned);
        learned.filter(|name| !fixed.contains_key(name)).collect()
    })
}

/// Removes settings of a file that contradict flags about the same parameters.
pub(super) fn prepare_override(file: &mut Settings, flags: &Settings) {
    if flags.has(&FILTERS) {
        OF_PARAMETERS.iter().for_each(|other| file.remove(other));
        return;
    }
    let mut fixed = file.numbers(&FIX);
    if let Some(learn) = flags.names(&LEARN) {
        fixed.retain(|name, _| !learn.contains(name));
        file.set(&LEARN, learn);
    } else if let Some(mut learn) = file.names(&LEARN) {
        let fixed = flags.numbers(&FIX);
        learn.retain(|name| !fixed.contains_key(name));
        file.set(&LEARN, learn);
    }
    fixed.extend(flags.numbers(&FIX));
    file.set(&FIX, fixed);
    let (task, learn) = (file.task, learned(file));
    let known = empty(file);
    let is_dropped =
        |name: &String| known.learnable(task).contains(&&name[..]) && !learn.contains(name);
    for setting in [&START, &LOWER, &UPPER] {
        let mut numbers = file.numbers(setting);
        numbers.retain(|name, _| !is_dropped(name));
        file.set(setting, numbers);
    }
}

/// Checks the section and fills in its defaults.
pub(super) fn resolve(settings: &mut Settings) -> Result<(), ConfigError> {
    let empty = empty(settings);
    if settings.has(&FILTERS) {
        return resolve_filters(settings);
    }
    let task = settings.task;
    let given = ModelSpec {
        learn: learned(settings),
        fixed: settings.numbers(&FIX),
        start: settings.numbers(&START),
        lower: settings.numbers(&LOWER),
        upper: settings.numbers(&UPPER),
        ..empty
    };
    let given = with_width(settings, given.with_names())?;
    check_names(task, &given)?;
    let model = given.completed(task);
    for name in &model.learn {
        let (lower, upper) = (model.lower[name], model.upper[name]);
        check_bounds(task, name, lower, upper)?;
        let start = model.start[name];
        if !(lower <= start && start <= upper) {
            return Err(ConfigError::StartOutside(name.clone(), start, lower, upper));
        }
    }
    for (name, value) in &model.fixed {
        check_fixed(task, name, *value)?;
    }
    settings.set(&LEARN, model.learn);
    settings.set(&FIX, model.fixed);
    settings.set(&START, model.start);
    settings.set(&LOWER, model.lower);
    settings.set(&UPPER, model.upper);
    Ok(())
}

/// Fills in the start and the bounds of the width of a blur, if it is learned.
fn with_width(settings: &Settings, given: ModelSpec) -> Result<ModelSpec, ConfigError> {
    let Some(kernel) = settings.word(&KERNEL) else {
        return Ok(given);
    };
    if !given.learn.iter().any(|name| name == "width") {
        return Ok(given);
    }
    let shape = kernel.parse::<KernelShape>().ok();
    match shape.filter(|shape| shape.width().is_some()) {
        Some(shape) => Ok(given.with_width(shape)),
        None => Err(ConfigError::NoWidth(kernel.into())),
    }
}

/// Refuses settings that do not go together with a filter bank. All its parameters are learned,
/// with gradients.
fn resolve_filters(settings: &mut Settings) -> Result<(), ConfigError> {
    let refuse = |other, advice| Err(ConfigError::Together(&FILTERS, other, advice));
    for other in OF_PARAMETERS {
        let names = settings.names(other).unwrap_or_default();
        // printed settings list the defaults
        if (!settings.numbers(other).is_empty() || !names.is_empty()) && !settings.is_default(other)
        {
            let advice = "a filter bank learns all of its parameters, so leave one of them out";
            return refuse(other, advice);
        }
    }
    if settings
        .number(&CONDITION)
        .is_some_and(|weight| weight > 0.0)
    {
        let advice = "the strong convexity of a filter bank is limited anyway, so leave the \
                      penalty out";
        return refuse(&CONDITION, advice);
    }
    if settings.word(&SOLVER) == Some("derivative-free") {
        let advice = "a filter bank has too many parameters to learn without gradients, so leave \
                      one of them out";
        return refuse(&SOLVER, advice);
    }
    let others = [&ITERATIONS, &IMAGE_MIN, &IMAGE_MAX];
    if let Some(other) = others.into_iter().find(|other| settings.has(other)) {
        let advice = "a filter bank is learned with gradients, which do not allow this, so leave \
                      one of them out";
        return refuse(other, advice);
    }
    settings.set(&LEARN, Vec::<String>::new());
    for other in [&FIX, &START, &LOWER, &UPPER] {
        settings.set(other, Values::new());
    }
    Ok(())
}

/// Checks the names of parameters.
fn check_names(task: TaskKind, model: &ModelSpec) -> Result<(), ConfigError> {
    let learn = &model.learn;
    let all = model.learnable(task);
    let is_learnable = |name: &str| all.contains(&name);
    let fixable: Vec<&str> = model.fixable(task).iter().map(|(name, _)| *name).collect();
    let check_known = |setting: &'static Setting, name: &String| {
        if is_learnable(name) || fixable.contains(&&name[..]) {
            return Ok(());
        }
        let others = fixable.iter().filter(|name| !is_learnable(name));
        let known: Vec<&str> = all.iter().chain(others).copied().collect();
        let known = known.join(", ");
        Err(ConfigError::UnknownParameter(
            setting,
            task,
            name.clone(),
            known,
        ))
    };
    let learnable = || all.join(", ");
    for (index, name) in learn.iter().enumerate() {
        check_known(&LEARN, name)?;
        if !is_learnable(name) {
            return Err(ConfigError::NotLearnable(task, name.clone(), learnable()));
        }
        if learn[..index].contains(name) {
            return Err(ConfigError::Repeated(name.clone()));
        }
    }
    for name in model.fixed.keys() {
        check_known(&FIX, name)?;
        if !fixable.contains(&&name[..]) {
            return Err(ConfigError::NotFixable(task, name.clone()));
        }
        if learn.contains(name) {
            return Err(ConfigError::LearnedAndFixed(name.clone()));
        }
    }
    if learn.is_empty() {
        return Err(ConfigError::NothingLearned(learnable()));
    }
    let ranges = [
        (&START, &model.start),
        (&LOWER, &model.lower),
        (&UPPER, &model.upper),
    ];
    for (setting, values) in ranges {
        for name in values.keys() {
            check_known(setting, name)?;
            if !learn.contains(name) {
                return Err(ConfigError::NotLearned(setting, name.clone()));
            }
        }
    }
    Ok(())
}

/// Checks the bounds of a learned parameter.
fn check_bounds(task: TaskKind, name: &str, lower: f64, upper: f64) -> Result<(), ConfigError> {
    for (setting, found) in [(&LOWER, lower), (&UPPER, upper)] {
        let (is_possible, needed) = match task {
            // Frequencies of weight zero could leave the problem without a solution.
            TaskKind::Sampling => (found > 0.0 && found < 1.0, "above 0 and below 1"),
            TaskKind::Deblur if name == "width" => (
                (VariableKernel::MIN_WIDTH..=KernelShape::MAX_SIZE).contains(&found),
                "a number of pixels between 0.1 and 1000",
            ),
            _ => (
                is_positive(found),
                "a positive number between 1e-100 and 1e100",
            ),
        };
        check(is_possible, setting, name, found, needed)?;
    }
    match lower <= upper {
        true => Ok(()),
        false => Err(ConfigError::CrossedBounds(name.into(), lower, upper)),
    }
}

/// Checks the value of a parameter that is not learned.
fn check_fixed(task: TaskKind, name: &str, found: f64) -> Result<(), ConfigError> {
    let needs_xi = matches!(task, TaskKind::Deblur | TaskKind::Inpaint);
    let (is_possible, needed) = match name {
        "nu" => (is_positive(found), "positive, such as 1e-3"),
        "xi" if needs_xi => (
            found > 0.0 && found <= 1e100,
            "positive, such as 1e-3, because the data alone do not determine the picture",
        ),
        _ => ((0.0..=1e100).contains(&found), "zero or a positive number"),
    };
    check(is_possible, &FIX, name, found, needed)
}

fn is_positive(number: f64) -> bool {
    (1e-100..=1e100).contains(&number)
}

/// Refuses the value of a parameter that is not possible.
fn check(
    is_possible: bool,
    setting: &Setting,
    name: &str,
    found: f64,
    needed: &str,
) -> Result<(), ConfigError> {
    match is_possible {
        true => Ok(()),
        false => {
            let what = format!("{setting}: {name}");
            Err(ConfigError::OutOfRange(
                what,
                found.to_string(),
                needed.into(),
            ))
        }
    }
}
