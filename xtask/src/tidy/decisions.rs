//! Decision records: files `docs/decisions/NNNN-title.md`, numbered 0001, 0002 and so on, each with
//! a status below its title.

use super::Problem;
use crate::tree::{File, Tree};

const DIRECTORY: &str = "docs/decisions/";
const STATUS_REMEDY: &str = "write `Status: accepted`, `Status: superseded by NNNN` or \
                             `Status: accepted; NNNN supersedes the part about ...` \
                             below the title";

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut records = Vec::new();
    for file in &tree.files {
        let Some(name) = file.path.strip_prefix(DIRECTORY) else {
            continue;
        };
        match number(name) {
            Some(number) => records.push((number, file)),
            None if name == "README.md" => {}
            None => problems.push(Problem::new(
                &file.path,
                1,
                "not the name of a decision record",
                "call it NNNN-title.md, with a-z, 0-9 and - in the title",
            )),
        }
    }
    records.sort_by_key(|&(number, file)| (number, &file.path));
    problems.extend(check_numbers(&records));
    problems.extend(check_statuses(&records));
    problems
}

fn check_numbers(records: &[(u32, &File)]) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut next = 1;
    for &(number, file) in records {
        if number < next {
            problems.push(Problem::new(
                &file.path,
                1,
                format!("the number {number:04} is taken"),
                "take the next free number",
            ));
        } else if number > next {
            problems.push(Problem::new(
                &file.path,
                1,
                format!("there is no record {next:04} before it"),
                "number the records without gaps; superseded ones stay",
            ));
        }
        next = next.max(number + 1);
    }
    problems
}

fn check_statuses(records: &[(u32, &File)]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for &(number, file) in records {
        let (line, status) = status(file.text().unwrap_or(""));
        let mut report = |message: String, remedy| {
            problems.push(Problem::new(&file.path, line, message, remedy));
        };
        match superseding(&status) {
            None if status.starts_with("Status:") => {
                report(format!("not a status: {status:?}"), STATUS_REMEDY);
            }
            None => report("a decision record without a status".into(), STATUS_REMEDY),
            Some(later) => {
                for other in later {
                    if !records.iter().any(|(number, _)| *number == other) {
                        report(
                            format!("there is no record {other:04} to supersede this one"),
                            "name a record that exists",
                        );
                    } else if other <= number {
                        report(
                            format!("record {other:04} is not later, and cannot supersede this"),
                            "name a later record",
                        );
                    }
                }
            }
        }
    }
    problems
}

/// Returns the first paragraph below the title as one line of text, and the number of its first
/// line.
fn status(text: &str) -> (usize, String) {
    let mut lines = (1..).zip(text.lines()).skip(1);
    let first = lines.find(|(_, line)| !line.trim().is_empty());
    let Some((number, first)) = first else {
        return (1, String::new());
    };
    let rest = lines.map(|(_, line)| line.trim());
    let paragraph: Vec<&str> = std::iter::once(first)
        .chain(rest.take_while(|line| !line.is_empty()))
        .collect();
    (number, paragraph.join(" "))
}

/// Returns the numbers of the records that supersede the one with this status, or parts of it;
/// `None` if the status is malformed.
fn superseding(status: &str) -> Option<Vec<u32>> {
    let status = status.strip_prefix("Status: ")?;
    if let Some(other) = status.strip_prefix("superseded by ") {
        return Some(vec![record_number(other)?]);
    }
    let mut clauses = status.split("; ");
    if clauses.next() != Some("accepted") {
        return None;
    }
    let part = |clause: &str| {
        let (other, subject) = clause.split_once(" supersedes the part about ")?;
        record_number(other).filter(|_| !subject.is_empty())
    };
    clauses.map(part).collect()
}

fn number(name: &str) -> Option<u32> {
    let (number, title) = name.strip_suffix(".md")?.split_once('-')?;
    let is_title = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    record_number(number).filter(|_| !title.is_empty() && title.chars().all(is_title))
}

/// Parses a number of four digits.
fn record_number(digits: &str) -> Option<u32> {
    let is_number = digits.len() == 4 && digits.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { digits.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::places;

    const NONE: [String; 0] = [];

    fn of_records(records: &[(&str, &str)]) -> Vec<Problem> {
        let files: Vec<_> = (records.iter())
            .map(|(name, text)| (format!("{DIRECTORY}{name}"), *text))
            .collect();
        let files: Vec<_> = files
            .iter()
            .map(|(path, text)| (&path[..], *text))
            .collect();
        check(&Tree::of(&files))
    }

    fn of_names(names: &[&str]) -> Vec<String> {
        let accepted = "# 1. Title\n\nStatus: accepted\n";
        let records: Vec<_> = names.iter().map(|name| (*name, accepted)).collect();
        places(&of_records(&records))
    }

    /// The problems of the second of three records if it has this status.
    fn of_status(status: &str) -> Vec<String> {
        let text = format!("# 2. Title\n\n{status}\n\nBecause.\n");
        let accepted = "# 1. Title\n\nStatus: accepted\n";
        let records = [
            ("0001-a.md", accepted),
            ("0002-b.md", &text),
            ("0003-c.md", accepted),
        ];
        let problems = of_records(&records);
        problems.iter().map(|problem| problem.to_string()).collect()
    }

    #[test]
    fn consecutive_numbers_pass() {
        assert_eq!(of_names(&["0001-a.md", "0002-b-c.md", "README.md"]), NONE);
        assert_eq!(of_names(&[]), NONE);
    }

    #[test]
    fn gaps_duplicates_and_other_names_fail() {
        assert_eq!(
            of_names(&["0001-a.md", "0003-b.md"]),
            ["docs/decisions/0003-b.md:1"]
        );
        assert_eq!(
            of_names(&["0001-a.md", "0001-b.md"]),
            ["docs/decisions/0001-b.md:1"]
        );
        assert_eq!(of_names(&["1-a.md"]), ["docs/decisions/1-a.md:1"]);
        assert_eq!(of_names(&["+001-a.md"]), ["docs/decisions/+001-a.md:1"]);
        assert_eq!(of_names(&["0002-a.md"]), ["docs/decisions/0002-a.md:1"]);
    }

    #[test]
    fn well_formed_statuses_pass() {
        for status in [
            "Status: accepted",
            "Status: superseded by 0003",
            "Status: accepted; 0003 supersedes the part about figures",
            "Status: accepted; 0003 supersedes the part about a;\n0003 supersedes the part about b",
        ] {
            assert_eq!(of_status(status), NONE, "{status}");
        }
    }

    #[test]
    fn missing_and_malformed_statuses_fail() {
        for status in [
            "",
            "Because.",
            "status: accepted",
            "**Status:** accepted",
            "Status: Accepted",
            "Status: accepted.",
            "Status: rejected",
            "Status: superseded",
            "Status: superseded by 3",
            "Status: superseded by 0003 and 0004",
            "Status: accepted; superseded by 0003",
            "Status: accepted; 0003 supersedes the part about ",
            "Status: accepted; 3 supersedes the part about figures",
        ] {
            let problems = of_status(status);
            assert_eq!(problems.len(), 1, "{status:?}: {problems:?}");
            assert!(problems[0].contains("status"), "{problems:?}");
        }
        assert_eq!(places(&of_records(&[("0001-a.md", "")])).len(), 1);
        assert_eq!(places(&of_records(&[("0001-a.md", "# 1. A\n")])).len(), 1);
        let late = "# 1. A\n\nBecause.\n\nStatus: accepted\n";
        assert_eq!(
            places(&of_records(&[("0001-a.md", late)])),
            ["docs/decisions/0001-a.md:3"]
        );
    }

    #[test]
    fn only_later_records_supersede() {
        for status in [
            "Status: superseded by 0001",
            "Status: superseded by 0002",
            "Status: accepted; 0001 supersedes the part about figures",
        ] {
            let problems = of_status(status);
            assert_eq!(problems.len(), 1, "{status}: {problems:?}");
            assert!(problems[0].contains("not later"), "{problems:?}");
        }
        let unknown = of_status(
            "Status: accepted; 0003 supersedes the part about a; 0004 supersedes the part about b",
        );
        assert_eq!(unknown.len(), 1);
        assert!(unknown[0].contains("no record 0004"), "{unknown:?}");
    }
}
