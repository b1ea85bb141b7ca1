//! Absolute paths that exist on one machine only.

use super::Problem;
use crate::tree::Tree;

/// First directories of such paths. Without their slashes, so that this file passes its own check.
const TOPS: [&str; 8] = [
    "home",
    "root",
    "Users",
    "work",
    "workspace",
    "workspaces",
    "mnt",
    "media",
];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in &tree.files {
        for (index, line) in file.text().unwrap_or("").lines().enumerate() {
            if has_machine_path(line) {
                problems.push(Problem::new(
                    &file.path,
                    index + 1,
                    "an absolute path of one machine",
                    "write it relative to the repository",
                ));
            }
        }
    }
    problems
}

fn has_machine_path(line: &str) -> bool {
    ['/', '\\'].into_iter().any(|slash| {
        line.match_indices(slash).any(|(at, _)| {
            let (before, after) = (&line[..at], &line[at + 1..]);
            let is_start = if slash == '/' {
                before.ends_with("file://")
                    || !before.ends_with(|c: char| c.is_alphanumeric() || "/._-~)}>*".contains(c))
            } else {
                before.ends_with(':')
            };
            let top = after.split_once(slash).map(|(top, _)| top);
            is_start && top.is_some_and(|top| TOPS.contains(&top))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::places;

    #[test]
    fn relative_paths_and_addresses_pass() {
        let text = "crates/work/a\n./home/a\nhttps://example.org/home/a\na/root/b, ../mnt/x\n/dev/null /homes/\n";
        assert_eq!(check(&Tree::of(&[("a.md", text)])), []);
    }

    #[test]
    fn absolute_paths_fail() {
        let mut text = String::from("first line\n");
        for top in TOPS {
            text += &format!("see \"/{top}/somebody/x\"\n");
        }
        text += &format!("C:\\{}\\somebody\nfile:///{}/x\n", "Users", "home");
        let problems = check(&Tree::of(&[("a.toml", &text)]));
        assert_eq!(places(&problems)[0], "a.toml:2");
        assert_eq!(problems.len(), TOPS.len() + 2);
    }
}
