//! Decision records: `docs/decisions/NNNN-title.md`, numbered 0001, 0002 and so on.

use super::Problem;
use crate::tree::Tree;

const DIRECTORY: &str = "docs/decisions/";

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut records = Vec::new();
    for file in &tree.files {
        let Some(name) = file.path.strip_prefix(DIRECTORY) else {
            continue;
        };
        match number(name) {
            Some(number) => records.push((number, &file.path)),
            None if name == "README.md" => {}
            None => problems.push(Problem::new(
                &file.path,
                1,
                "not the name of a decision record",
                "call it NNNN-title.md, with a-z, 0-9 and - in the title",
            )),
        }
    }
    records.sort();
    let mut next = 1;
    for (number, path) in records {
        if number < next {
            problems.push(Problem::new(
                path,
                1,
                format!("the number {number:04} is taken"),
                "take the next free number",
            ));
        } else if number > next {
            problems.push(Problem::new(
                path,
                1,
                format!("there is no record {next:04} before it"),
                "number the records without gaps; superseded ones stay",
            ));
        }
        next = next.max(number + 1);
    }
    problems
}

fn number(name: &str) -> Option<u32> {
    let (number, title) = name.strip_suffix(".md")?.split_once('-')?;
    let is_title = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if number.len() == 4 && !title.is_empty() && title.chars().all(is_title) {
        number.parse().ok()
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::places;

    fn problems(names: &[&str]) -> Vec<String> {
        let paths: Vec<String> = names.iter().map(|n| format!("{DIRECTORY}{n}")).collect();
        let files: Vec<_> = paths.iter().map(|path| (path.as_str(), "")).collect();
        places(&check(&Tree::of(&files)))
    }

    #[test]
    fn consecutive_numbers_pass() {
        let none: [String; 0] = [];
        assert_eq!(problems(&["0001-a.md", "0002-b-c.md", "README.md"]), none);
        assert_eq!(problems(&[]), none);
    }

    #[test]
    fn gaps_duplicates_and_other_names_fail() {
        assert_eq!(
            problems(&["0001-a.md", "0003-b.md"]),
            ["docs/decisions/0003-b.md:1"]
        );
        assert_eq!(
            problems(&["0001-a.md", "0001-b.md"]),
            ["docs/decisions/0001-b.md:1"]
        );
        assert_eq!(problems(&["1-a.md"]), ["docs/decisions/1-a.md:1"]);
        assert_eq!(problems(&["0002-a.md"]), ["docs/decisions/0002-a.md:1"]);
    }
}
