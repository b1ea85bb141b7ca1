//! Patches of training pictures, and the pictures that are held out by default.

use ::page::number::{counted, length};
use bilevel::Pair;
use imaging::{Patch, Seed};

use super::NamedPairs;
use crate::config::Config;

/// The smallest number of pictures of which some are held out by default.
const MIN_SPLIT: usize = 4;

/// Returns the number of pictures that are held out. By default, it is one in five if there are at
/// least four, and none if other pictures are for validation.
pub(super) fn num_held_out(config: &Config, num_images: usize) -> usize {
    match config.data.hold_out {
        Some(given) => given,
        None if config.data.validation.is_some() || num_images < MIN_SPLIT => 0,
        None => (num_images / 5).max(1),
    }
}

/// Replaces training pictures by their patches, if the settings ask for patches. Returns the new
/// pairs, and a sentence about them.
pub(super) fn drawn(
    config: &Config,
    training: NamedPairs,
    validation: &NamedPairs,
) -> (NamedPairs, Option<String>) {
    let data = &config.data;
    let (count, size) = (data.patches.unwrap_or_default(), data.patch_size);
    if count == 0 {
        let note = config.model.filters.map(|_| {
            let trained = counted(length(&training.pairs), "picture", "pictures");
            format!("Training on {trained}{}", held_out(config, validation))
        });
        return (training, note);
    }
    let num_pictures = training.pairs.len();
    let mut num_whole = 0;
    let mut pairs = NamedPairs::default();
    let noise = training.noise;
    let all = training.names.into_iter().zip(training.pairs);
    for (index, (name, pair)) in all.enumerate() {
        let Some(patches) = Patch::draw(pair.grid, size, count, Seed::new(data.seed), index) else {
            num_whole += 1;
            pairs.push(name, pair);
            pairs.noise.extend(noise.get(index));
            continue;
        };
        for patch in patches {
            let place = format!("(row {}, column {})", patch.row + 1, patch.col + 1);
            let [truth, data] = [&pair.truth, &pair.data].map(|picture| match picture.is_empty() {
                true => Vec::new(),
                false => patch.of(picture, pair.grid),
            });
            pairs.noise.extend(noise.get(index));
            let grid = patch.grid(pair.grid);
            pairs.push(format!("{name} {place}"), Pair { grid, truth, data });
        }
    }
    let num_patches = pairs.pairs.len() - num_whole;
    let whole = match num_whole {
        0 => String::new(),
        all if all == num_pictures => format!(
            "{}, used whole because none is larger than {size} x {size} pixels",
            counted(all as u64, "picture", "pictures")
        ),
        some => format!(
            " and on {} that are not larger than that and used whole",
            counted(some as u64, "picture", "pictures")
        ),
    };
    let patches = match num_patches {
        0 => String::new(),
        _ => format!(
            "{} of {size} x {size} pixels from {}",
            counted(num_patches as u64, "patch", "patches"),
            counted((num_pictures - num_whole) as u64, "picture", "pictures"),
        ),
    };
    let note = format!(
        "Training on {patches}{whole}{}",
        held_out(config, validation)
    );
    (pairs, Some(note))
}

/// Returns the end of the sentence: the number of held-out pictures.
fn held_out(config: &Config, validation: &NamedPairs) -> String {
    let default = match config.data.hold_out {
        None if config.data.validation.is_none() => " (one in five; --hold-out changes that)",
        _ => "",
    };
    match validation.pairs.len() {
        0 => "; no picture is held out.".to_owned(),
        some => format!(
            "; {} held out{default}.",
            counted(some as u64, "picture is", "pictures are")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{TaskKind, table};
    use crate::task;

    fn config() -> Config {
        let mut config = Config::new(TaskKind::Denoise);
        config.data.size = 20;
        config.data.count = Some(5);
        config.data.patches = Some(3);
        config.data.patch_size = 8;
        config.model.filters = "dct3".parse().ok();
        config.model.learn.clear();
        config
    }

    #[test]
    fn training_pictures_become_patches() {
        let whole = {
            let mut config = config();
            config.data.patches = Some(0);
            task::load(&config.resolve().unwrap()).unwrap()
        };
        let loaded = task::load(&config().resolve().unwrap()).unwrap();
        assert_eq!(loaded.training.pairs.len(), 12);
        assert_eq!(loaded.validation, whole.validation);
        let name = &loaded.training.names[0];
        let place = name.strip_prefix("built-in 1 (row ").unwrap();
        let (row, col) = place
            .strip_suffix(')')
            .unwrap()
            .split_once(", column ")
            .unwrap();
        let [row, col]: [usize; 2] = [row, col].map(|text| text.parse().unwrap());
        let patch = Patch {
            row: row - 1,
            col: col - 1,
            size: 8,
        };
        let (picture, first) = (&whole.training.pairs[0], &loaded.training.pairs[0]);
        assert_eq!(first.truth, patch.of(&picture.truth, picture.grid));
        assert_eq!(first.data, patch.of(&picture.data, picture.grid));
        assert_eq!(
            loaded.note.unwrap(),
            "Training on 12 patches of 8 x 8 pixels from 4 pictures; 1 picture is held out (one in \
             five; --hold-out changes that)."
        );
    }

    #[test]
    fn small_pictures_are_used_whole() {
        let mut config = config();
        config.data.patch_size = 20;
        config.data.hold_out = Some(0);
        let loaded = task::load(&config.resolve().unwrap()).unwrap();
        assert_eq!(loaded.training.pairs.len(), 5);
        assert_eq!(
            loaded.note.unwrap(),
            "Training on 5 pictures, used whole because none is larger than 20 x 20 pixels; no \
             picture is held out."
        );
    }

    #[test]
    fn one_picture_in_five_is_held_out_by_default() {
        let mut config = config();
        config.data.hold_out = None;
        let held_out = [3, 4, 9, 10, 24].map(|count| num_held_out(&config, count));
        assert_eq!(held_out, [0, 1, 1, 2, 4]);
        config.data.validation = Some("other".into());
        assert_eq!(num_held_out(&config, 10), 0);
        config.data.hold_out = Some(7);
        assert_eq!(num_held_out(&config, 10), 7);
        assert!(
            table::HOLD_OUT
                .help(&[TaskKind::Denoise])
                .contains("one in five")
        );
        assert!(
            !table::HOLD_OUT
                .help(&[TaskKind::Sampling])
                .contains("one in five")
        );
    }
}
