//! The command `bilevel denoise`: its progress and its output.

use ::page::number::{duration, significant};

use super::{Context, name, new_bar, print, print_files, set_threads};
use crate::args::DenoiseArgs;
use crate::denoise::{self, CameraNoise, DenoiseEvent, DenoisedFile, DenoisedPicture};
use crate::error::CliError;
use crate::summary::AFTER_TRANSFORM;

/// Denoises files, and prints a line for each picture.
pub(super) fn run(args: &DenoiseArgs, context: Context<'_>) -> Result<(), CliError> {
    let shared = context.shared;
    let options = args.options()?;
    set_threads(shared.threads);
    if context.handles_signals {
        denoise::install_interrupt().map_err(CliError::Interrupt)?;
    }
    let is_silent = shared.quiet || shared.json;
    let bar = new_bar(
        is_silent,
        "{spinner} {bar:20} {pos}/{len} pictures, {elapsed}",
    );
    let observe = |event: DenoiseEvent<'_>| {
        let say = |line: &str| {
            if !is_silent {
                bar.suspend(|| print(line));
            }
        };
        match event {
            DenoiseEvent::Files(count) => bar.set_length(count as u64),
            DenoiseEvent::Pages(count) => bar.inc_length(count as u64 - 1),
            DenoiseEvent::Page(page) => {
                say(&format!("{}: {}", name(&page.name), about(page)));
                bar.inc(1);
            }
            DenoiseEvent::File(Ok(file)) => {
                say(&about_file(file));
                bar.inc(u64::from(file.pictures.len() == 1));
            }
            DenoiseEvent::File(Err(_)) => bar.inc(1),
        }
    };
    let made = denoise::denoise(&args.input, &args.output, &options, &observe);
    bar.finish_and_clear();
    let done = match &made {
        Ok(denoised) | Err(CliError::SomeNotDenoised { denoised, .. }) => &denoised[..],
        Err(_) => &[],
    };
    print_files(done, |file| &file.warnings, &args.input, shared)?;
    made.map(|_| ())
}

/// Returns the line on a file that was written.
fn about_file(file: &DenoisedFile) -> String {
    let files = format!("{} -> {}", name(&file.input), file.output.display());
    match &file.pictures[..] {
        [picture] => format!("{files}: {}", about(picture)),
        pictures => format!("{files}: {} pages", pictures.len()),
    }
}

/// Describes a denoised picture.
fn about(picture: &DenoisedPicture) -> String {
    let origin = match picture.is_estimated {
        true => "estimated",
        false => "given",
    };
    let (noise, transformed) = match picture.camera {
        Some(CameraNoise { gain, read, .. }) => {
            let [gain, read] = [gain, read].map(|number| significant(number, 3));
            (format!("poisson:{gain},{read}"), AFTER_TRANSFORM)
        }
        None => (significant(picture.noise, 3), ""),
    };
    format!(
        "{} x {} pixels, noise {noise} ({origin}), {}{transformed}, {}",
        picture.width,
        picture.height,
        super::certified(picture.error),
        duration(picture.seconds)
    )
}
