//! Values of settings as texts: after a flag, in a file, and in comments.

use std::mem;

use toml::Value;

/// Writes a value as after a flag.
pub(crate) fn shown(value: &Value) -> String {
    let joined = |parts: Vec<String>| parts.join(",");
    match value {
        Value::String(text) => text.clone(),
        // the shorter of 1e-3 and 0.001
        Value::Float(number) => [number.to_string(), format!("{number:e}")]
            .into_iter()
            .min_by_key(String::len)
            .unwrap_or_default(),
        Value::Array(values) => joined(values.iter().map(shown).collect()),
        Value::Table(table) => {
            let entry = |(name, value): (&String, &Value)| format!("{name}={}", shown(value));
            joined(table.iter().map(entry).collect())
        }
        other => other.to_string(),
    }
}

/// Writes a value as in a file.
pub(crate) fn literal(value: &Value) -> String {
    match value {
        // with an exponent where that is shorter
        Value::Float(number) if number.is_finite() => format!("{number:?}"),
        Value::Table(table) if table.is_empty() => "{}".to_owned(),
        Value::Table(table) => {
            let entry = |(name, value): (&String, &Value)| format!("{name} = {}", literal(value));
            let entries: Vec<String> = table.iter().map(entry).collect();
            format!("{{ {} }}", entries.join(", "))
        }
        other => other.to_string(),
    }
}

/// Writes a text as a comment of a TOML file. Lines end before column 100, and all but the first
/// are indented.
pub(crate) fn comment(text: &str) -> String {
    format!("# {}\n", lines(text, 96).join("\n#   "))
}

/// Breaks a text between words into lines of at most `width` characters.
pub(crate) fn lines(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width {
            lines.push(mem::take(&mut line));
        }
        if !line.is_empty() {
            line += " ";
        }
        line += word;
    }
    lines.push(line);
    lines
}
