//! One set of parameters for each picture: learning, and the file that holds all of them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Mutex;

use bilevel::{Learned, LearnedParameter, LearningProblem, Pair};
use rayon::prelude::*;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::config::Config;
use crate::error::CliError;
use crate::file::FileError;
use crate::store;
use crate::task::{LoadedTask, family};

/// The name of the file with the parameters of all pictures.
pub(crate) const PICTURES: &str = "pictures.json";

/// The result of learning from one picture alone.
#[derive(Debug, Serialize, Deserialize)]
pub struct LearnedPicture {
    /// The name of the picture: its file, and its page and channel if there are several.
    pub name: String,
    /// The result.
    pub learned: Learned,
}

/// Learns parameters for each training picture on its own, several pictures at the same time. The
/// results do not depend on the number of threads. `observe` sees each result as it is found.
///
/// # Errors
/// When one of the pictures cannot be learned from.
pub(crate) fn learn(
    config: &Config,
    task: LoadedTask,
    observe: &(dyn Fn(&LearnedPicture) + Sync),
) -> Result<Vec<LearnedPicture>, CliError> {
    let spec = config.spec();
    let noise = task.training.noise;
    let shown = Mutex::new(());
    let one = |(index, (name, pair)): (usize, (String, Pair))| {
        let sigma = noise.get(index).copied().into_iter().collect();
        let mut setup = spec.setup_with_noise(Vec::new(), sigma, config.data.seed);
        setup.camera = config.data.camera().cloned();
        let family = family::for_pictures(config)?.family;
        let mut problem = LearningProblem::new(family, vec![pair], setup)?;
        let learned = problem.learn_with(spec.options())?;
        let made = LearnedPicture { name, learned };
        let _one_at_a_time = shown.lock();
        observe(&made);
        Ok(made)
    };
    let names = task.training.names.into_par_iter();
    let all = names.zip(task.training.pairs).enumerate();
    all.with_max_len(1).map(one).collect()
}

/// Writes the results into the directory of a run.
pub(crate) fn write(run: &Path, pictures: &[LearnedPicture]) -> Result<(), CliError> {
    let mut text = serde_json::to_string_pretty(pictures).map_err(CliError::Json)?;
    text.push('\n');
    store::write_text(&run.join(PICTURES), &text)?;
    Ok(())
}

/// The learned parameters by the names of pictures.
pub(crate) type ParametersByName = BTreeMap<String, Vec<LearnedParameter>>;

/// Reads the parameters of all pictures, if a run has learned them one by one.
pub(crate) fn read(run: &Path) -> Result<Option<ParametersByName>, CliError> {
    /// The parts that are needed: other numbers may be infinite, which JSON cannot represent.
    #[derive(Deserialize)]
    struct Named {
        name: String,
        learned: Parameters,
    }
    #[derive(Deserialize)]
    struct Parameters {
        parameters: Vec<LearnedParameter>,
    }
    let Some(all) = read_as::<Named>(run)? else {
        return Ok(None);
    };
    let named = all
        .into_iter()
        .map(|one| (one.name, one.learned.parameters));
    Ok(Some(named.collect()))
}

/// Reads the results of all pictures, if a run has learned from them one by one.
pub(crate) fn read_all(run: &Path) -> Result<Option<Vec<LearnedPicture>>, CliError> {
    read_as(run)
}

fn read_as<T: DeserializeOwned>(run: &Path) -> Result<Option<Vec<T>>, CliError> {
    let path = run.join(PICTURES);
    if !path.is_file() {
        return Ok(None);
    }
    let text = fs::read_to_string(&path).map_err(|error| FileError::read(&path, error))?;
    let all = serde_json::from_str(&text).map_err(|source| CliError::Result {
        path,
        run: run.into(),
        source,
    })?;
    Ok(Some(all))
}

/// Refuses a run that has learned parameters for each picture, where one set is needed.
pub(crate) fn refuse(run: &Path) -> Result<(), CliError> {
    match run.join(PICTURES).is_file() {
        true => Err(CliError::PerPicture(run.into())),
        false => Ok(()),
    }
}
