//! Patches of pictures, and the pictures that are held out by default.

use std::mem;

use ::page::number::counted;
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

/// Replaces training pictures, and the first `num_held_out` pictures for validation, by their
/// patches, if the settings ask for patches; those of `--validation` stay whole. Returns a sentence
/// about them.
pub(super) fn draw(
    config: &Config,
    training: &mut NamedPairs,
    validation: &mut NamedPairs,
    num_held_out: usize,
) -> Option<String> {
    let more = NamedPairs {
        names: validation.names.split_off(num_held_out),
        pairs: validation.pairs.split_off(num_held_out),
        noise: Vec::new(),
    };
    let num_more = more.pairs.len() as u64;
    let num_training = training.pairs.len();
    let trained = drawn(config, training, 0);
    let held_out = drawn(config, validation, num_training);
    validation.append(more);
    let is_told = config.data.patches > Some(0) || config.model.filters.is_some();
    let default = match config.data.hold_out {
        None => " (one in five; --hold-out changes that)",
        Some(_) => "",
    };
    let others = [
        (num_held_out > 0).then(|| format!("{held_out}{default}")),
        (num_more > 0).then(|| {
            format!(
                "{} of --validation as a whole",
                counted(num_more, "picture", "pictures")
            )
        }),
    ];
    let others: Vec<String> = others.into_iter().flatten().collect();
    is_told.then(|| match others.is_empty() {
        true => format!("Training on {trained}; no picture is held out."),
        false => format!(
            "Training on {trained}; held out: {}.",
            others.join(", and ")
        ),
    })
}

/// Replaces pictures by their patches, whose positions depend on the number of the `first` picture,
/// and describes them.
fn drawn(config: &Config, pictures: &mut NamedPairs, first: usize) -> String {
    let data = &config.data;
    let (count, size) = (data.patches.unwrap_or_default(), data.patch_size);
    let num_pictures = pictures.pairs.len();
    let of_pictures = |count: usize| counted(count as u64, "picture", "pictures");
    if count == 0 {
        return of_pictures(num_pictures);
    }
    let mut num_whole = 0;
    let NamedPairs {
        names,
        pairs,
        noise,
    } = mem::take(pictures);
    for (index, (name, pair)) in names.into_iter().zip(pairs).enumerate() {
        let seed = Seed::new(data.seed);
        let Some(patches) = Patch::draw(pair.grid, size, count, seed, first + index) else {
            num_whole += 1;
            pictures.push(name, pair);
            pictures.noise.extend(noise.get(index));
            continue;
        };
        for patch in patches {
            let place = format!("(row {}, column {})", patch.row + 1, patch.col + 1);
            let [truth, data] = [&pair.truth, &pair.data].map(|picture| match picture.is_empty() {
                true => Vec::new(),
                false => patch.of(picture, pair.grid),
            });
            pictures.noise.extend(noise.get(index));
            let grid = patch.grid(pair.grid);
            pictures.push(format!("{name} {place}"), Pair { grid, truth, data });
        }
    }
    let whole = format!(
        "{} not larger than {size} x {size} pixels",
        of_pictures(num_whole)
    );
    let num_patches = pictures.pairs.len() - num_whole;
    if num_patches == 0 {
        return whole;
    }
    let patches = format!(
        "{} of {size} x {size} pixels from {}",
        counted(num_patches as u64, "patch", "patches"),
        of_pictures(num_pictures - num_whole),
    );
    match num_whole {
        0 => patches,
        _ => format!("{patches}, and {whole}"),
    }
}

#[cfg(test)]
mod tests {
    use imaging::Grid;

    use super::*;
    use crate::config::{TaskKind, table};
    use crate::picture::{self, Depth};
    use crate::task;
    use crate::temp_dir::TempDir;

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
    fn pictures_become_patches() {
        let whole = {
            let mut config = config();
            config.data.patches = Some(0);
            task::load(&config.resolve().unwrap()).unwrap()
        };
        let loaded = task::load(&config().resolve().unwrap()).unwrap();
        assert_eq!(loaded.training.pairs.len(), 12);
        assert_eq!(loaded.validation.pairs.len(), 3);
        // the first patch of the first picture, and that of the held-out one
        for (patches, whole, name) in [
            (&loaded.training, &whole.training, "built-in 1 (row "),
            (&loaded.validation, &whole.validation, "built-in 5 (row "),
        ] {
            let place = patches.names[0].strip_prefix(name).unwrap();
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
            let (picture, first) = (&whole.pairs[0], &patches.pairs[0]);
            assert_eq!(first.truth, patch.of(&picture.truth, picture.grid));
            assert_eq!(first.data, patch.of(&picture.data, picture.grid));
        }
        assert_eq!(
            loaded.note.unwrap(),
            "Training on 12 patches of 8 x 8 pixels from 4 pictures; held out: 3 patches of 8 x 8 \
             pixels from 1 picture (one in five; --hold-out changes that)."
        );
    }

    #[test]
    fn pictures_of_validation_stay_whole() {
        let folder = TempDir::new("whole");
        picture::write(&folder.0.join("a.tif"), 9, 12, &[&[0.5; 108]], Depth::Eight).unwrap();
        let mut config = config();
        config.data.hold_out = Some(1);
        config.data.validation = Some(folder.0.clone());
        let loaded = task::load(&config.resolve().unwrap()).unwrap();
        let grids = loaded.validation.pairs.iter().map(|pair| pair.grid);
        let patch = Grid::image(8, 8);
        assert!(grids.eq([patch, patch, patch, Grid::image(12, 9)]));
        let note = "held out: 3 patches of 8 x 8 pixels from 1 picture, and 1 picture of \
                    --validation as a whole.";
        assert!(loaded.note.unwrap().ends_with(note));
    }

    #[test]
    fn positions_do_not_depend_on_which_pictures_are_held_out() {
        let names = |hold_out: usize| {
            let mut config = config();
            config.data.hold_out = Some(hold_out);
            let loaded = task::load(&config.resolve().unwrap()).unwrap();
            [loaded.training.names, loaded.validation.names].concat()
        };
        assert_eq!(names(1), names(3));
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
            "Training on 5 pictures not larger than 20 x 20 pixels; no picture is held out."
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
