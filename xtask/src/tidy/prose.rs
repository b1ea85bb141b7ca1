//! Comments and documents: lines of at most 100 columns, doc comments that begin with a sentence,
//! help texts without typed numbers as defaults, and a short front page.

use super::Problem;
use crate::tree::Tree;

/// The width that rustfmt and ruff keep for code.
const MAX_COLUMNS: usize = 100;

const FRONT_PAGE: &str = "README.md";
const MAX_FRONT_PAGE_LINES: usize = 120;

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in &tree.files {
        let Some(text) = file.text() else { continue };
        if file.path.ends_with(".rs") {
            let comments = text.lines().map(comment).enumerate();
            check_width(&file.path, text, comments.clone(), &mut problems);
            check_doc_comments(&file.path, comments, &mut problems);
        } else if file.path.ends_with(".md") {
            let lines = text.lines().map(|line| Some(("", line))).enumerate();
            check_width(&file.path, text, lines, &mut problems);
        }
    }
    check_front_page(tree, &mut problems);
    problems
}

/// The marker and the content of a comment that has its line to itself.
fn comment(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_start();
    let marker = ["///", "//!", "//"]
        .into_iter()
        .find(|m| line.starts_with(m))?;
    Some((marker, line[marker.len()..].trim()))
}

/// Reports long lines of prose. Code between fences, tables, formulas and single words such as
/// addresses cannot be wrapped, and may be longer.
fn check_width<'a>(
    path: &str,
    text: &str,
    prose: impl Iterator<Item = (usize, Option<(&'a str, &'a str)>)>,
    problems: &mut Vec<Problem>,
) {
    let mut is_code = false;
    for ((index, prose), line) in prose.zip(text.lines()) {
        let Some((marker, content)) = prose else {
            is_code = false;
            continue;
        };
        let content = content.trim();
        if content.starts_with("```") && marker != "//" {
            is_code = !is_code;
        }
        let is_wrappable = !is_code && !content.starts_with('|') && is_breakable(content);
        if is_wrappable && line.chars().count() > MAX_COLUMNS {
            problems.push(Problem::new(
                path,
                index + 1,
                format!("prose of more than {MAX_COLUMNS} columns"),
                "wrap it",
            ));
        }
    }
}

/// Whether there is a blank outside of code spans, after the first word.
fn is_breakable(content: &str) -> bool {
    let content = content.trim_start_matches("- ");
    let outside = content.split('`').step_by(2);
    outside.clone().any(|part| part.contains(' ')) && !content.starts_with("[`")
}

/// Reports doc comments that continue a sentence of another item, and defaults typed by hand.
fn check_doc_comments<'a>(
    path: &str,
    comments: impl Iterator<Item = (usize, Option<(&'a str, &'a str)>)>,
    problems: &mut Vec<Problem>,
) {
    let mut before = None;
    for (index, comment) in comments {
        let doc = comment.filter(|(marker, _)| *marker != "//");
        if let Some((marker, content)) = doc {
            let is_first = before != Some(marker);
            if is_first && content.starts_with(|c: char| c.is_lowercase()) {
                problems.push(Problem::new(
                    path,
                    index + 1,
                    "a doc comment that begins in the middle of a sentence",
                    "write a sentence that stands alone; names of code go between backticks",
                ));
            }
            let typed = content.split(" [default: ").skip(1);
            if typed
                .into_iter()
                .any(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
            {
                problems.push(Problem::new(
                    path,
                    index + 1,
                    "a default typed into a help text",
                    "let the parser of the command line print the value in use",
                ));
            }
        }
        before = doc.map(|(marker, _)| marker);
    }
}

fn check_front_page(tree: &Tree, problems: &mut Vec<Problem>) {
    let Some(text) = tree.file(FRONT_PAGE).and_then(|file| file.text()) else {
        return;
    };
    let lines = text.lines().count();
    if lines > MAX_FRONT_PAGE_LINES {
        problems.push(Problem::new(
            FRONT_PAGE,
            MAX_FRONT_PAGE_LINES + 1,
            format!("a front page of {lines} lines, more than {MAX_FRONT_PAGE_LINES}"),
            "move details to the pages of the crates or to docs/",
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::places;

    fn long(start: &str) -> String {
        format!("{start}{}\n", "Word ".repeat(25).trim_end())
    }

    #[track_caller]
    fn fails(path: &str, text: &str, lines: &[usize]) {
        let expected: Vec<String> = lines.iter().map(|line| format!("{path}:{line}")).collect();
        assert_eq!(
            places(&check(&Tree::of(&[(path, text)]))),
            expected,
            "{text}"
        );
    }

    #[test]
    fn long_prose_fails() {
        let text = ["    /// ", "//! ", "// "].map(long).concat();
        fails("a.rs", &text, &[1, 2, 3]);
        fails("a.md", &(long("") + &long("- ") + "short\n"), &[1, 2]);
    }

    #[test]
    fn code_tables_formulas_and_addresses_pass() {
        let fence = format!("//! ```text\n{}//! ```\n", long("//! "));
        fails("a.rs", &fence, &[]);
        fails("a.rs", &format!("let x = \"{}\";\n", long("").trim()), &[]);
        fails("a.md", &(long("| ") + "```sh\n" + &long("") + "```\n"), &[]);
        fails("a.md", &format!("<{}>\n", "x".repeat(120)), &[]);
        fails("a.rs", &format!("// `${}$`\n", "x + ".repeat(40)), &[]);
        fails("a.txt", &long(""), &[]);
    }

    #[test]
    fn a_fence_ends_with_its_comment() {
        let text = format!("//! ```text\nfn f() {{}}\n{}", long("// "));
        fails("a.rs", &text, &[3]);
    }

    #[test]
    fn half_sentences_fail() {
        let text =
            "/// Where it is,\na: f64,\n/// and how far off.\nb: f64,\n/// It is\n/// here.\n";
        fails("a.rs", text, &[3]);
        fails("a.rs", "//! of all.\n", &[1]);
        fails("a.rs", "// of all\n/// `x` is good.\n", &[]);
    }

    #[test]
    fn typed_defaults_fail() {
        fails("a.rs", "/// The radius [default: 1e-4]\n", &[1]);
        fails(
            "a.rs",
            "/// The parts [default: all], as in `[default: 3]`\n",
            &[],
        );
    }

    #[test]
    fn the_front_page_is_short() {
        fails(FRONT_PAGE, &"x\n".repeat(121), &[121]);
        fails(FRONT_PAGE, &"x\n".repeat(120), &[]);
        fails("docs/README.md", &"x\n".repeat(121), &[]);
    }
}
