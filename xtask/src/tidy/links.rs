//! Links between documents: files and headings that exist.

use super::{Problem, line_at, resolved};
use crate::tree::Tree;

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in tree.files.iter().filter(|file| file.path.ends_with(".md")) {
        let text = file.text().unwrap_or("");
        for (offset, _) in text.match_indices("](") {
            let Some((link, _)) = text[offset + 2..].split_once(')') else {
                continue;
            };
            if !leads_somewhere(tree, &file.path, link) {
                problems.push(Problem::new(
                    &file.path,
                    line_at(text, offset),
                    format!("the link {link} leads nowhere"),
                    "name a file or a heading that exists",
                ));
            }
        }
    }
    problems
}

/// Whether `link` in the document `from` is an address, or names a file, a directory or a heading.
fn leads_somewhere(tree: &Tree, from: &str, link: &str) -> bool {
    if link.contains("://") || link.contains(char::is_whitespace) {
        return true;
    }
    let (path, heading) = link.split_once('#').unwrap_or((link, ""));
    let to = if path.is_empty() {
        from.to_string()
    } else {
        resolved(from, path).to_string_lossy().replace('\\', "/")
    };
    match tree.file(&to) {
        Some(file) if !heading.is_empty() => {
            headings(file.text().unwrap_or("")).any(|h| h == heading)
        }
        Some(_) => true,
        None => tree
            .files
            .iter()
            .any(|file| file.path.starts_with(&format!("{to}/"))),
    }
}

/// The anchors of all headings: lower case, blanks as `-`, without punctuation.
fn headings(text: &str) -> impl Iterator<Item = String> {
    let titles = text.lines().filter(|line| line.starts_with('#'));
    titles.map(|line| {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let letters = title
            .chars()
            .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        letters.map(|c| if c == ' ' { '-' } else { c }).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::places;

    #[track_caller]
    fn count(text: &str) -> usize {
        let tree = Tree::of(&[
            ("docs/a.md", text),
            ("docs/b.md", "# B, or not B\n"),
            ("c/d.png", ""),
        ]);
        let problems = check(&tree);
        assert!(places(&problems).iter().all(|place| place == "docs/a.md:2"));
        problems.len()
    }

    #[test]
    fn files_directories_headings_and_addresses_pass() {
        let links =
            "\n[b](b.md) [h](b.md#b-or-not-b) [d](../c) ![d](../c/d.png) [w](https://x.org/y)";
        assert_eq!(count(links), 0);
    }

    #[test]
    fn missing_files_and_headings_fail() {
        assert_eq!(count("\n[b](c.md) [h](b.md#c) [d](../e) [a](#none)"), 4);
    }
}
