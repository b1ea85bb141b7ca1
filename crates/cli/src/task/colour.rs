//! The default treatment of pictures in colour.

use std::path::Path;

use ::page::number::counted;

use crate::config::table::{COLOUR, COUNT, CRITERION, IMAGES, SLICES};
use crate::config::{Settings, TaskKind};
use crate::picture;

/// Chooses how to treat the pictures of `--images` if the settings do not say it: as a whole if all
/// files are in colour, and by their grey values otherwise. Criteria without truth take each
/// channel as a picture of its own.
/// Returns a warning if some files are in colour and some are not.
pub(crate) fn choose(settings: &mut Settings) -> Option<String> {
    let is_volume = settings.word(&SLICES) == Some("volume");
    if settings.task == TaskKind::Sampling || is_volume || settings.has(&COLOUR) {
        return None;
    }
    let images = settings.word(&IMAGES)?.to_owned();
    let paths = picture::list(Path::new(&images)).ok()?;
    let count = (settings.get(&COUNT)).and_then(|count| count.as_integer()?.try_into().ok());
    // a file that cannot be read is reported when it is loaded
    let in_colour = paths
        .iter()
        .take(count.unwrap_or(usize::MAX))
        .filter_map(|path| picture::has_colours(path));
    let (colours, greys): (Vec<bool>, Vec<bool>) = in_colour.partition(|is_coloured| *is_coloured);
    let (colours, greys) = (colours.len() as u64, greys.len());
    if colours > 0 && greys == 0 {
        let needs_truth = matches!(settings.word(&CRITERION), None | Some("truth"));
        settings.set(&COLOUR, if needs_truth { "opponent" } else { "channels" });
    }
    if colours == 0 || greys == 0 {
        return None;
    }
    settings.set(&COLOUR, "grey");
    Some(format!(
        "{images} has {} in colour and {greys} in grey, so the grey values of all are learned \
         from: keep them in folders of their own to learn from colours",
        counted(colours, "picture", "pictures"),
    ))
}
