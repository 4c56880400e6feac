//! Text of people and machines made safe for each format. Nothing that is shown can act: no markup, no control code, no
//! change of reading direction.

use std::fmt::Write as _;

/// The text with every character that acts instead of being seen written as an escape (`\x1b`, `\u{202e}`).
///
/// Line ends stay: formats turn them into breaks. Tabs become a space.
#[must_use]
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.replace("\r\n", "\n").chars() {
        match c {
            '\n' => out.push('\n'),
            '\t' => out.push(' '),
            c if c.is_control() => {
                // Writing into a string cannot fail.
                write!(out, "\\x{:02x}", u32::from(c)).ok();
            }
            c if acts(c) => {
                write!(out, "\\u{{{:x}}}", u32::from(c)).ok();
            }
            c => out.push(c),
        }
    }
    out
}

/// Whether a character that is not a control code still changes how others are read: direction marks, line and
/// paragraph separators, invisible joins, tags.
const fn acts(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
    )
}

/// Visible text for HTML, as content or as the value of an attribute in double quotes.
#[must_use]
pub fn html(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in visible(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// Visible text for Markdown, on one line: no character starts markup, closes a table cell or opens HTML.
#[must_use]
pub fn markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let text = visible(text);
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            '\n' => out.push(' '),
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' | '$' => {
                out.push('\\');
                out.push(c);
            }
            // Many readers make a link of an address that nobody marked as one.
            ':' if rest.as_str().starts_with("//") => out.push_str("&#58;"),
            c => out.push(c),
        }
    }
    out
}

/// Markdown of a whole block: what would start a list, a rule or a heading at its beginning no longer does.
#[must_use]
pub fn markdown_start(block: &str) -> String {
    let digits = block.chars().take_while(char::is_ascii_digit).count();
    match block.get(digits..).and_then(|rest| rest.chars().next()) {
        Some(c @ ('-' | '+' | '=')) if digits == 0 => format!("\\{c}{}", block.get(1..).unwrap_or_default()),
        Some(c @ ('.' | ')')) if digits > 0 => {
            let (number, rest) = block.split_at(digits);
            format!("{number}\\{c}{}", rest.get(1..).unwrap_or_default())
        }
        _ => block.to_owned(),
    }
}

/// Visible text for a cell of a CSV file: a spreadsheet takes it as text and never as a formula.
#[must_use]
pub fn csv_text(text: &str) -> String {
    let text = visible(text);
    // Spreadsheets skip blanks before they look for the sign.
    if text.trim_start().starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠']) {
        format!("'{text}")
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_acts() {
        for (name, text, want) in [
            ("plain", "2×L40S 独占", "2×L40S 独占"),
            ("terminal colours", "\u{1b}[31mred\u{1b}[0m", "\\x1b[31mred\\x1b[0m"),
            ("bell and nul", "a\u{7}\0", "a\\x07\\x00"),
            ("c1", "\u{9b}2J", "\\x9b2J"),
            ("reading direction", "gpu\u{202e}exe.", "gpu\\u{202e}exe."),
            ("zero width", "a\u{200b}b\u{feff}", "a\\u{200b}b\\u{feff}"),
            ("line ends", "a\r\nb\rc\td", "a\nb\\x0dc d"),
        ] {
            assert_eq!(visible(text), want, "{name}");
        }
    }

    #[test]
    fn html_cannot_be_opened_or_left() {
        assert_eq!(html("<script>alert('1')</script>"), "&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;");
        assert_eq!(html("\" onload=\"x & y"), "&quot; onload=&quot;x &amp; y");
    }

    #[test]
    fn markdown_stays_text() {
        assert_eq!(markdown("a | b\n# c"), "a \\| b \\# c");
        assert_eq!(
            markdown("[x](http://h) <b> `c` *d* _e_"),
            "\\[x\\](http&#58;//h) &lt;b&gt; \\`c\\` \\*d\\* \\_e\\_"
        );
        for (block, want) in [("- a", "\\- a"), ("1. a", "1\\. a"), ("12) a", "12\\) a"), ("=== a", "\\=== a")] {
            assert_eq!(markdown_start(block), want);
        }
        assert_eq!(markdown_start("8 req/s"), "8 req/s");
    }

    #[test]
    fn csv_cells_are_no_formulas() {
        for (text, want) in [
            ("=1+1", "'=1+1"),
            ("+1", "'+1"),
            ("-2", "'-2"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\t=1", "' =1"),
            (" =1", "' =1"),
            ("＝1", "'＝1"),
            ("Candidate A", "Candidate A"),
        ] {
            assert_eq!(csv_text(text), want);
        }
    }
}
