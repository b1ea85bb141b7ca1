//! The images of a page, gathered from all ranks: all names and scores, but only the pictures that
//! the page shows.

use bilevel::{ProblemError, Ranks, Score};
use imaging::Grid;

use crate::error::CliError;
use crate::report::{self, ReportImage};

/// Returns the images of all ranks. `own` are those of this rank, and `scores` those of all ranks.
pub(super) fn images(
    ranks: &Ranks,
    own: &[ReportImage],
    scores: &[Score],
) -> Result<Vec<ReportImage>, CliError> {
    let lost = |reason: String| CliError::Problem(ProblemError::Exchange(reason));
    let names: Vec<&str> = own.iter().map(|image| &image.name[..]).collect();
    let names = serde_json::to_string(&names).map_err(CliError::Json)?;
    let mut all = Vec::new();
    let mut first = 0;
    let texts = ranks.gather_text(&names).map_err(lost)?;
    for (rank, text) in texts.iter().enumerate() {
        if rank == ranks.rank() {
            first = all.len();
        }
        let names: Vec<String> = serde_json::from_str(text).map_err(CliError::Json)?;
        all.extend(names);
    }
    let mut all: Vec<ReportImage> = (all.into_iter().zip(scores))
        .map(|(name, score)| unseen(name, *score))
        .collect();
    let shown = report::shown(&all);
    let mut message = Vec::new();
    for index in &shown {
        let image = index.checked_sub(first).and_then(|index| own.get(index));
        image
            .into_iter()
            .for_each(|image| pack(image, &mut message));
    }
    let numbers = ranks.gather(&message).map_err(lost)?.concat();
    let mut rest = &numbers[..];
    for index in shown {
        let unpacked = unpack(&mut all[index], &mut rest);
        unpacked.ok_or_else(|| lost("a picture of the report is incomplete".to_owned()))?;
    }
    Ok(all)
}

/// Returns an image without its picture.
fn unseen(name: String, score: Score) -> ReportImage {
    ReportImage {
        name,
        grid: Grid::line(0),
        truth: Vec::new(),
        data: None,
        reconstruction: Vec::new(),
        error: score.error.unwrap_or(f64::INFINITY),
        score,
    }
}

/// Appends a picture to a message: its grid, then truth, reconstruction and data.
fn pack(image: &ReportImage, message: &mut Vec<f64>) {
    let grid = image.grid;
    let (slices, rows, cols) = grid.slices_rows_and_cols();
    let data = image.data.as_deref().unwrap_or_default();
    let parts = [&image.truth[..], &image.reconstruction, data];
    let [truth, reconstruction, data] = parts.map(<[f64]>::len);
    let head = [
        grid.num_axes(),
        slices,
        rows,
        cols,
        grid.num_parts(),
        truth,
        reconstruction,
        data,
    ];
    message.extend(head.map(|number| number as f64));
    message.extend(parts.concat());
}

/// Moves a picture from the beginning of a message to its image.
fn unpack(image: &mut ReportImage, message: &mut &[f64]) -> Option<()> {
    let (head, mut rest) = message.split_first_chunk::<8>()?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the numbers are extents and lengths"
    )]
    let [
        num_axes,
        slices,
        rows,
        cols,
        num_parts,
        truth,
        reconstruction,
        data,
    ] = head.map(|number| number as usize);
    let grid = match num_axes {
        1 => Grid::line(cols),
        2 => Grid::image(rows, cols),
        _ => Grid::volume(slices, rows, cols),
    };
    image.grid = match num_parts {
        2 => grid.complex(),
        3 => grid.colour(),
        _ => grid,
    };
    let mut part = |len: usize| {
        let (part, after) = rest.split_at_checked(len)?;
        rest = after;
        Some(part.to_vec())
    };
    image.truth = part(truth)?;
    image.reconstruction = part(reconstruction)?;
    let data = part(data)?;
    image.data = Some(data).filter(|data| !data.is_empty());
    *message = rest;
    Some(())
}
