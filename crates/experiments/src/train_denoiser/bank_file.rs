//! The file of the filter banks of `imaging::denoise`.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::{Banks, Kind};

/// The file of all banks.
pub(super) fn text(banks: &Banks) -> String {
    let mut text = String::from(
        "# Filter banks for denoising, written by `cargo xtask train-denoiser`: kind, noise times\n\
         # 255, alpha, nu, share and spread of all potentials of filters of 5 x 5 pixels, and the\n\
         # coefficients of learned filters.\n",
    );
    for ((kind, level), values) in banks {
        let count = values.len().checked_sub(kind.num_coefficients());
        let count = count.unwrap_or(values.len());
        let numbers: Vec<String> = (values.iter().enumerate())
            .map(|(index, value)| {
                if index < count {
                    format!("{value:.4e}")
                } else {
                    format!("{value:.3}")
                }
            })
            .collect();
        // Writing to a text cannot fail.
        let _ = writeln!(text, "{} {level} {}", kind.name(), numbers.join(" "));
    }
    text
}

/// Reads a file of banks.
pub(super) fn read(path: &Path) -> Result<Banks> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let mut banks = Banks::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split(' ');
        let name = words.next();
        let kind = [Kind::Grey, Kind::Chroma]
            .into_iter()
            .find(|kind| Some(kind.name()) == name);
        let (Some(kind), Some(level)) = (kind, words.next()) else {
            bail!("{} has a line without a kind and a level", path.display());
        };
        let values: Result<Vec<f64>, _> = words.map(str::parse).collect();
        banks.insert((kind, level.parse()?), values?);
    }
    Ok(banks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn banks_are_written_and_read() {
        let banks = Banks::from([
            (
                (Kind::Grey, 25),
                [vec![0.5, 2e-3], vec![-0.125; 272]].concat(),
            ),
            ((Kind::Chroma, 2), vec![1.25]),
        ]);
        let path = std::env::temp_dir().join(format!("banks-{}.txt", std::process::id()));
        fs::write(&path, text(&banks)).expect("a directory for temporary files");
        let found = read(&path);
        fs::remove_file(&path).expect("the file exists");
        assert_eq!(found.expect("valid"), banks);
    }
}
