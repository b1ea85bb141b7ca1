//! Pieces of HTML.

/// Text that nobody can break out of, as content or as the value of an attribute.
#[must_use]
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(letter),
            letter if letter.is_control() => out.push('\u{fffd}'),
            letter => out.push(letter),
        }
    }
    out
}

/// A name from outside, whatever direction it is written in.
#[must_use]
pub fn name(text: &str) -> String {
    format!("<bdi>{}</bdi>", escaped(text))
}

/// A text with parts between backticks, which become code.
#[must_use]
pub fn sentence(text: &str) -> String {
    let mut out = String::new();
    let parts: Vec<&str> = text.split('`').collect();
    // with an odd number of backticks, the last part is text
    let num_code = (parts.len() - 1) / 2;
    for (index, part) in parts.iter().enumerate() {
        let part = escaped(part);
        match index % 2 == 1 {
            true if index / 2 < num_code => out.push_str(&format!("<code>{part}</code>")),
            true => out.push_str(&format!("`{part}")),
            false => out.push_str(&part),
        }
    }
    out
}

/// A section with a heading; nothing if there is nothing in it.
#[must_use]
pub fn section(heading: &str, body: &str) -> String {
    if body.is_empty() {
        return String::new();
    }
    format!(
        "<section>\n<h2>{}</h2>\n{body}</section>\n",
        escaped(heading)
    )
}

/// Something to unfold.
#[must_use]
pub fn folded(summary: &str, is_open: bool, body: &str) -> String {
    let open = if is_open { " open" } else { "" };
    let summary = escaped(summary);
    format!("<details{open}>\n<summary>{summary}</summary>\n{body}</details>\n")
}

/// A table that scrolls sideways where the page is narrow. Cells are HTML; those of the first column are headings of rows.
#[must_use]
pub fn table(class: &str, head: &[&str], rows: &[Vec<String>], foot: &[Vec<String>]) -> String {
    let line = |cells: &Vec<String>| {
        let mut cells = cells.iter();
        let first = cells.next().map_or("", String::as_str);
        let rest: String = cells.map(|cell| format!("<td>{cell}</td>")).collect();
        format!("<tr><th scope=\"row\">{first}</th>{rest}</tr>\n")
    };
    let heads: String = (head.iter())
        .map(|cell| format!("<th scope=\"col\">{cell}</th>"))
        .collect();
    let body: String = rows.iter().map(line).collect();
    let foot = match foot {
        [] => String::new(),
        foot => format!(
            "<tfoot>\n{}</tfoot>\n",
            foot.iter().map(line).collect::<String>()
        ),
    };
    format!(
        "<div class=\"scroll\"><table class=\"{class}\">\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{body}</tbody>\n{foot}</table></div>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text() {
        assert_eq!(
            escaped("<b a=\"c\" d='e'>&\n\u{0}"),
            "&lt;b a=&quot;c&quot; d=&#39;e&#39;&gt;&amp;\n\u{fffd}"
        );
        assert_eq!(name("<"), "<bdi>&lt;</bdi>");
    }

    #[test]
    fn backticks_come_in_pairs() {
        assert_eq!(sentence("a `b<` c"), "a <code>b&lt;</code> c");
        assert_eq!(sentence("a ` c"), "a ` c");
        assert_eq!(sentence("`a` ` c"), "<code>a</code> ` c");
    }
}
