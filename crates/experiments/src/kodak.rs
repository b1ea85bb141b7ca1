//! The photographs of the paper: finding them, verifying their checksums, and downloading them.

mod download;
pub mod photograph;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use crate::reproduce::record::checksum;
use download::{DownloadFailure, Downloader};

/// The default directory of the photographs.
const FOLDER: &str = "data/kodak";

/// Web addresses with the photographs, tried in this order. Only the last has `kodim25.png`.
const MIRRORS: [&str; 3] = [
    "https://r0k.us/graphics/kodak/kodak",
    "http://r0k.us/graphics/kodak/kodak",
    "http://www.cs.albany.edu/~xypan/img/Kodak",
];

/// SHA-256 of `kodim01.png` to `kodim25.png`, from
/// <http://www.cs.albany.edu/~xypan/research/snr/Kodak.html>.
const SUMS: [&str; 25] = [
    "a56e27cbf5f843c048b6af1d6e090760e9c92fadba88b7dee0205918a37523bd",
    "4f4b74a79237e311d72cad958237b5f7088d8bce1c82305ebefe1a70e3022dfd",
    "e25ca1ff2f0c0cb5fdfd5f9b0a0bb21ac4c3de3c84a67f35b09a85d3306249db",
    "e3b946107c5d3441c022f678d0c3caf1e224d81b1604ba840a4f88e562de61aa",
    "10349e963c5c813d327852f82c1795fa4148d69fedffc4c589bee458e3ac3d53",
    "363510303b715d4cbc384e1ce227e466b613a09e1b71ae985882bf8e7fbd9b18",
    "b77d3f006f42414bb242222e0482e750c0fb9e5ee8d4bed2f6f11c5605fe54a4",
    "ba23983c76b4832ee0e8af0592664756841a16779acd69f792e268fb6d13d6e7",
    "6a4361c2fc194feb4edaa9f9a4a0620fb9943e460ac7fdf037fb0f6dd6607a7d",
    "9dfb70f5867c29ff9ed6313683f19b3d867849e40fbc0c4c54a4a89df341cf23",
    "7936814b58b5387fce2e4e2488b4ec830dadd95fa9520f358ddb30990b50f2b6",
    "d78c37c2f04f23761ed2367dd77e2db584ddd4c3950833fecf89f199a8126980",
    "bc34a3ce58dea09dce1704c997171602de90cb34d0c8503a988b77f473d39b08",
    "55a94550ff18f3246c4074fd32b77b0c74447c26b6ad274d564d999c0450ba6e",
    "7538cbb80cb9103606c48b806eae57d56c885c7f90b9b3be70a41160f9cbb683",
    "a89c7268ccd4718ba424a99fc4643c572cf692ca6eae887185ceb4e9f11d2e54",
    "37afcc89fbdcb76d9518e04b2fc011027e2f4cd14b3b2f83cefd721641a47c5b",
    "1a9258c365988961d87a0598725b609139c303ad48a5aad6c503c3b1a87849aa",
    "b7450b264b1b0a411390d8931b112c27905a992520fc90569dc4b920aa32bbdc",
    "3b46c71e3b92a563820ba32936be8330c586c41f938efd94be938386aae4328a",
    "ac958597c82073f6bb65129c68f72b651db5b9efd82e11547d07350214bc268b",
    "1cee58eb1f2d9c7ebb254d208a03c783ce6cf2c4d8c2cf45e235dd23b4ce1b29",
    "e3111a2fd4da24af15d6459ef9eacfe54106b38e27b4a21821b75c3f5d2d5baf",
    "1071c68372cc5a01435c2c225a5cf7d4bb803846ec08bb6b3d6721b156d7cb96",
    "41707c8750f30e7f86b03d0b12077586ab1dae345d5edba354b4086c601bb333",
];

/// The arguments of `fetch-kodak`.
#[derive(Clone, Debug, Args)]
pub struct Arguments {
    /// Directory for the photographs
    #[arg(long, value_name = "DIR", default_value = FOLDER)]
    out: PathBuf,
    /// Web address of a directory with the photographs; can be given several times [default: two
    /// public mirrors]
    #[arg(long = "mirror", value_name = "URL")]
    mirrors: Vec<String>,
}

/// Downloads the photographs that are missing or have a wrong checksum.
///
/// # Errors
/// When some photographs cannot be downloaded; the message names them with the reasons.
pub fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<()> {
    let mut mirrors = arguments.mirrors.clone();
    if mirrors.is_empty() {
        mirrors = MIRRORS.map(str::to_owned).to_vec();
    }
    fetch(&arguments.out, &mirrors, &SUMS, Downloader::find, out)
}

/// Returns the directory with the photographs: the one given, or `data/kodak` in the working
/// directory if it exists.
///
/// # Errors
/// When a photograph is missing or another file has its name; the message names it.
pub fn find(given: Option<&Path>) -> Result<Option<PathBuf>> {
    find_among(given, Path::new(FOLDER), &SUMS)
}

fn find_among(given: Option<&Path>, usual: &Path, sums: &[&str]) -> Result<Option<PathBuf>> {
    let folder = match given {
        Some(folder) => folder,
        None if usual.exists() => usual,
        None => return Ok(None),
    };
    let mut command = "cargo xtask fetch-kodak".to_owned();
    if folder != Path::new(FOLDER) {
        command += &format!(" --out {}", folder.display());
    }
    let shown = folder.display();
    ensure!(
        folder.is_dir(),
        "there is no directory {shown}; `{command}` creates it and downloads the photographs"
    );
    let (mut missing, mut wrong) = (Vec::new(), Vec::new());
    for (name, sum) in named(sums) {
        match state(&folder.join(&name), sum)? {
            PhotographState::Right => {}
            PhotographState::Missing => missing.push(name),
            PhotographState::Wrong => wrong.push(name),
        }
    }
    let mut problems = Vec::new();
    if !missing.is_empty() {
        problems.push(format!("{shown} lacks {}", missing.join(", ")));
    }
    match wrong.as_slice() {
        [] => {}
        [name] => problems.push(format!(
            "{name} in {shown} is not the photograph of the paper: its SHA-256 differs"
        )),
        _ => problems.push(format!(
            "{} in {shown} are not the photographs of the paper: their SHA-256 differ",
            wrong.join(", ")
        )),
    }
    ensure!(
        problems.is_empty(),
        "{}; `{command}` downloads these photographs",
        problems.join("; ")
    );
    Ok(Some(folder.to_path_buf()))
}

/// Returns the names of the files with their checksums.
fn named<'a>(sums: &[&'a str]) -> impl Iterator<Item = (String, &'a str)> {
    (1..)
        .zip(sums)
        .map(|(number, sum)| (format!("kodim{number:02}.png"), *sum))
}

enum PhotographState {
    Right,
    Missing,
    Wrong,
}

fn state(path: &Path, sum: &str) -> Result<PhotographState> {
    match fs::read(path) {
        Ok(bytes) if checksum(&bytes) == sum => Ok(PhotographState::Right),
        Ok(_) => Ok(PhotographState::Wrong),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(PhotographState::Missing),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

/// Downloads the files that are missing or wrong. Calls `downloader` only if there are some.
fn fetch(
    folder: &Path,
    mirrors: &[String],
    sums: &[&str],
    downloader: impl FnOnce() -> Option<Downloader>,
    out: &mut dyn Write,
) -> Result<()> {
    fs::create_dir_all(folder)
        .with_context(|| format!("cannot create the directory {}", folder.display()))?;
    let num_files = sums.len();
    let mut wanted = Vec::new();
    for (number, (name, sum)) in (1..).zip(named(sums)) {
        match state(&folder.join(&name), sum)? {
            PhotographState::Right => writeln!(out, "[{number:2}/{num_files}] {name} is there")?,
            PhotographState::Missing | PhotographState::Wrong => wanted.push((number, name, sum)),
        }
    }
    if wanted.is_empty() {
        return Ok(writeln!(
            out,
            "all photographs are in {}",
            folder.display()
        )?);
    }
    let Some(downloader) = downloader() else {
        bail!(
            "neither curl nor wget is installed: install one of them, or download the {} missing \
             photographs from {} to {}",
            wanted.len(),
            mirrors.join(" or "),
            folder.display()
        );
    };
    let mut mirrors: Vec<&String> = mirrors.iter().collect();
    let mut failures = Vec::new();
    for (number, name, sum) in &wanted {
        let mut reasons = Vec::new();
        let mut source = None;
        // A mirror that cannot be reached is not tried again: 25 timeouts would take minutes.
        mirrors.retain(|mirror| {
            if source.is_some() {
                return true;
            }
            let url = format!("{}/{name}", mirror.trim_end_matches('/'));
            let failure = match downloader.download(&url, &folder.join(name), sum) {
                Ok(()) => {
                    source = Some(url);
                    return true;
                }
                Err(failure) => failure,
            };
            reasons.push(format!("{url}: {failure}"));
            !matches!(failure, DownloadFailure::Unreachable(_))
        });
        let begin = format!("[{number:2}/{num_files}] {name}");
        match source {
            Some(url) => writeln!(out, "{begin} downloaded from {url}")?,
            None => {
                writeln!(out, "{begin} cannot be downloaded")?;
                if reasons.is_empty() {
                    reasons.push("no mirror can be reached".to_owned());
                }
                failures.push(format!("\n  {name}: {}", reasons.join("; ")));
            }
        }
    }
    ensure!(
        failures.is_empty(),
        "{} of {num_files} photographs could not be downloaded:{}\n\
         Check the connection and run the command again (it keeps the photographs that are there), \
         give another address with --mirror URL, or copy the files to {}.",
        failures.len(),
        failures.concat(),
        folder.display()
    );
    Ok(writeln!(
        out,
        "all photographs are in {}",
        folder.display()
    )?)
}

#[cfg(test)]
mod tests;
