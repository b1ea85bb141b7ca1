//! A reader for the TOML of our manifests. Tables are flattened: `a = { b = 1 }`, `a.b = 1` and
//! `[a]` with `b = 1` give the same entries.

/// One value with its full path, e.g. `["dependencies", "serde", "optional"]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) path: Vec<String>,
    /// The value: strings without their quotes, everything else as written, arrays included.
    pub(crate) value: String,
    /// The line in the file, counted from 1.
    pub(crate) line: usize,
}

/// All values of a manifest, in the order of the file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Manifest {
    pub(crate) entries: Vec<Entry>,
}

impl Manifest {
    /// Reads `text`. Syntax errors are left to cargo.
    pub(crate) fn parse(text: &str) -> Self {
        let mut manifest = Self::default();
        let mut section = Vec::new();
        let mut lines = text.lines().enumerate();
        while let Some((index, line)) = lines.next() {
            let mut statement = without_comment(line).trim().to_string();
            if statement.starts_with('[') {
                section = keys(statement.trim_matches(['[', ']']));
                continue;
            }
            while depth(&statement) > 0 {
                let Some((_, more)) = lines.next() else { break };
                statement.push(' ');
                statement.push_str(without_comment(more).trim());
            }
            manifest.add(&section, &statement, index + 1);
        }
        manifest
    }

    fn add(&mut self, parent: &[String], statement: &str, line: usize) {
        let Some((key, value)) = split_outside(statement, '=') else {
            return;
        };
        let mut path = parent.to_vec();
        path.extend(keys(key));
        let value = value.trim();
        if let Some(table) = value.strip_prefix('{').and_then(|v| v.strip_suffix('}')) {
            let mut rest = table;
            while let Some((first, more)) = split_outside(rest, ',') {
                self.add(&path, first, line);
                rest = more;
            }
            self.add(&path, rest, line);
        } else {
            let value = unquoted(value).to_string();
            self.entries.push(Entry { path, value, line });
        }
    }

    /// The entry with exactly this path.
    pub(crate) fn get(&self, path: &[&str]) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.path == path)
    }

    /// The entries directly in the table `name`.
    pub(crate) fn table(&self, name: &str) -> impl Iterator<Item = &Entry> {
        let is_in = move |entry: &&Entry| entry.path.len() == 2 && entry.path[0] == name;
        self.entries.iter().filter(is_in)
    }
}

/// The strings of an array written as `["a", "b"]`.
pub(crate) fn strings(array: &str) -> Vec<&str> {
    let inner = array.trim_matches(['[', ']', ' ']);
    inner
        .split(',')
        .map(|item| unquoted(item.trim()))
        .filter(|item| !item.is_empty())
        .collect()
}

/// Splits at the first `at` that is in no string, array or table.
fn split_outside(text: &str, at: char) -> Option<(&str, &str)> {
    let mut scan = Scan::default();
    for (index, c) in text.char_indices() {
        if c == at && scan.is_outside() {
            return Some((&text[..index], &text[index + c.len_utf8()..]));
        }
        scan.push(c);
    }
    None
}

fn without_comment(line: &str) -> &str {
    let mut scan = Scan::default();
    for (index, c) in line.char_indices() {
        if c == '#' && scan.quote.is_none() {
            return &line[..index];
        }
        scan.push(c);
    }
    line
}

fn depth(text: &str) -> usize {
    let mut scan = Scan::default();
    text.chars().for_each(|c| scan.push(c));
    scan.depth
}

/// Where a scan from the left is: in a string, and how deep in brackets.
#[derive(Default)]
struct Scan {
    quote: Option<char>,
    escaped: bool,
    depth: usize,
}

impl Scan {
    const fn is_outside(&self) -> bool {
        self.quote.is_none() && self.depth == 0
    }

    fn push(&mut self, c: char) {
        match self.quote {
            Some(_) if self.escaped => self.escaped = false,
            Some('"') if c == '\\' => self.escaped = true,
            Some(quote) if c == quote => self.quote = None,
            Some(_) => {}
            None => match c {
                '"' | '\'' => self.quote = Some(c),
                '[' | '{' => self.depth += 1,
                ']' | '}' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            },
        }
    }
}

fn keys(dotted: &str) -> Vec<String> {
    let mut keys = Vec::new();
    let mut rest = dotted;
    while let Some((first, more)) = split_outside(rest, '.') {
        keys.push(unquoted(first.trim()).to_string());
        rest = more;
    }
    keys.push(unquoted(rest.trim()).to_string());
    keys
}

fn unquoted(value: &str) -> &str {
    ['"', '\'']
        .into_iter()
        .find_map(|quote| value.strip_prefix(quote)?.strip_suffix(quote))
        .unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, path: &[&str], value: &str, line: usize) {
        let manifest = Manifest::parse(text);
        let entry = manifest.get(path).unwrap();
        assert_eq!((entry.value.as_str(), entry.line), (value, line), "{text}");
    }

    #[test]
    fn all_spellings_of_a_table_read_the_same() {
        let path = ["dependencies", "a", "optional"];
        check(
            "[dependencies]\na = { version = \"1\", optional = true }",
            &path,
            "true",
            2,
        );
        check("[dependencies]\na.optional = true", &path, "true", 2);
        check("[dependencies.a]\noptional = true # why", &path, "true", 2);
    }

    #[test]
    fn quotes_comments_and_long_arrays() {
        check("a = \"x # y\" # z", &["a"], "x # y", 1);
        check("a = 'C:\\'\nb = 1", &["b"], "1", 2);
        let target = ["target", "cfg(any(unix, a = \"b.c\"))", "dependencies", "d"];
        check(
            "[target.'cfg(any(unix, a = \"b.c\"))'.dependencies]\nd = \"1\"",
            &target,
            "1",
            2,
        );
        let manifest = Manifest::parse("a = [\n  \"x\", # one\n  'y',\n]\nb = 1\n");
        let array = manifest.get(&["a"]).unwrap();
        assert_eq!(strings(&array.value), ["x", "y"]);
        assert_eq!(manifest.get(&["b"]).unwrap().line, 5);
    }
}
