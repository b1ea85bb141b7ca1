//! The selection by `--only`: figures, or all figures of an experiment.

use anyhow::{Result, bail};

use super::figures::FIGURES;

/// The groups of experiments, with their first and last figures.
const GROUPS: [(&str, usize, usize); 5] = [
    ("data", 1, 3),
    ("denoise1", 4, 7),
    ("denoise3", 8, 11),
    ("kodak", 12, 14),
    ("mri", 15, 17),
];

/// The selected figures and experiments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// The names of the figures, in the order of the paper.
    pub figures: Vec<&'static str>,
    /// The groups of experiments that are selected completely, including runs that no figure shows.
    pub groups: Vec<&'static str>,
}

impl Selection {
    /// Selects the named figures and experiments; all if there are no names.
    ///
    /// # Errors
    /// When a name is unknown; the message lists the known ones.
    pub fn new(names: &[String]) -> Result<Self> {
        let mut wanted = [names.is_empty(); FIGURES.len()];
        let mut groups = Vec::new();
        if names.is_empty() {
            groups.extend(GROUPS.map(|(name, ..)| name));
        }
        for name in names {
            let name = name.trim().to_lowercase();
            if let Some((group, first, last)) = GROUPS.iter().find(|(group, ..)| *group == name) {
                groups.push(*group);
                wanted[first - 1..*last].fill(true);
            } else if let Some(number) = number(&name) {
                wanted[number - 1] = true;
            } else {
                bail!(
                    "--only: there is no figure or experiment {name:?}; use {}",
                    names_known()
                );
            }
        }
        let figures = FIGURES.iter().zip(wanted);
        let figures = figures
            .filter(|(_, wanted)| *wanted)
            .map(|(entry, _)| entry.id);
        Ok(Self {
            figures: figures.collect(),
            groups,
        })
    }

    /// Whether all runs of this experiment are selected.
    #[must_use]
    pub fn has_setting(&self, setting: &str) -> bool {
        self.groups.iter().any(|group| setting.starts_with(group))
    }
}

/// Parses the number of a figure from `fig4`, `fig04` or `4`.
fn number(name: &str) -> Option<usize> {
    let digits = name.strip_prefix("fig").unwrap_or(name);
    let number: usize = digits.parse().ok()?;
    (1..=FIGURES.len()).contains(&number).then_some(number)
}

fn names_known() -> String {
    let groups: Vec<String> = GROUPS
        .iter()
        .map(|(name, first, last)| format!("{name} (fig{first} to fig{last})"))
        .collect();
    format!("fig1 to fig{}, {}", FIGURES.len(), groups.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn select(names: &[&str]) -> Result<Vec<&'static str>> {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        Ok(Selection::new(&names)?.figures)
    }

    #[test]
    fn figures_and_experiments_have_names() {
        assert_eq!(select(&[]).unwrap().len(), 17);
        assert_eq!(
            select(&["mri", "fig4", "fig04", "4"]).unwrap(),
            ["fig04", "fig15", "fig16", "fig17"]
        );
        assert_eq!(select(&["Fig12"]).unwrap(), ["fig12"]);
    }

    #[test]
    fn the_message_about_an_unknown_name_lists_the_known_ones() {
        for name in ["fig18", "fig0", "fig", "mr", "", "-1"] {
            let message = select(&[name]).unwrap_err().to_string();
            assert!(
                message.contains("fig1 to fig17") && message.contains("mri"),
                "{message}"
            );
        }
    }

    /// Every figure belongs to one experiment.
    #[test]
    fn groups_cover_all_figures() {
        let covered: Vec<usize> = GROUPS
            .iter()
            .flat_map(|(_, first, last)| *first..=*last)
            .collect();
        assert_eq!(covered, (1..=FIGURES.len()).collect::<Vec<_>>());
    }
}
