//! What the command line prints: results on standard output, failures on standard error.

use std::io::{self, Write as _};
use std::process::ExitCode;

use serde::Serialize;

use crate::domain::failure::{Failure, FailureKind};
use crate::domain::text::Text;

/// Exit status for wrong use and unreadable input.
pub const WRONG_USE: u8 = 2;

/// Prints a line on standard output. A reader that went away is no failure of ours.
pub fn line(text: &str) {
    writeln!(io::stdout().lock(), "{text}").ok();
}

/// Prints a value as one JSON document.
///
/// # Errors
/// `Internal`, which only a defect of the program can cause.
pub fn json(value: &impl Serialize) -> Result<(), Failure> {
    let text =
        serde_json::to_string_pretty(value).map_err(|error| Failure::new(FailureKind::Internal).because(error))?;
    line(&text);
    Ok(())
}

/// Prints a failure on standard error: headline, hint, place, then the raw text behind it.
pub fn failure(text: &Text, failure: &Failure) -> ExitCode {
    let mut err = io::stderr().lock();
    writeln!(err, "{}", text.failure(failure)).ok();
    if let Some(raw) = &failure.raw {
        for line in raw.lines().take(40) {
            writeln!(err, "  | {}", visible(line)).ok();
        }
    }
    ExitCode::from(WRONG_USE)
}

/// Prints a line on standard error that is no failure.
pub fn warning(text: &str) {
    writeln!(io::stderr().lock(), "{}", visible(text)).ok();
}

/// Control characters as escapes, so that nothing from a host reaches the terminal as a command.
#[must_use]
pub fn visible(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut out, c| {
        if c.is_control() && c != '\t' {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
        out
    })
}

/// The same for a text of several lines, whose line ends stay.
#[must_use]
pub fn visible_lines(text: &str) -> String {
    text.lines().map(visible).collect::<Vec<_>>().join("\n")
}

/// Rows as columns two spaces apart. Widths count characters, wide (Chinese) ones twice.
#[must_use]
pub fn columns(rows: &[Vec<String>]) -> String {
    let n_columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..n_columns)
        .map(|column| rows.iter().filter_map(|row| row.get(column)).map(|cell| width(cell)).max().unwrap_or(0))
        .collect();
    let mut out = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, wide) in row.iter().zip(&widths) {
            line.push_str(cell);
            line.extend(std::iter::repeat_n(' ', wide.saturating_sub(width(cell)) + 2));
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out.truncate(out.trim_end().len());
    out
}

/// Columns a text takes in a terminal: two for the wide blocks of East Asian scripts, one for the rest.
fn width(text: &str) -> usize {
    text.chars()
        .map(|c| {
            let wide = matches!(u32::from(c), 0x1100..=0x115F | 0x2E80..=0xA4CF | 0xAC00..=0xD7A3 | 0xF900..=0xFAFF | 0xFE30..=0xFE6F | 0xFF00..=0xFF60 | 0xFFE0..=0xFFE6);
            if wide { 2 } else { 1 }
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_in_both_scripts() {
        let rows = [vec!["通过".to_owned(), "a".to_owned()], vec!["x".to_owned(), "b".to_owned()]];
        assert_eq!(columns(&rows), "通过  a\nx     b");
    }

    #[test]
    fn controls_are_shown_and_not_obeyed() {
        assert_eq!(visible("a\u{1b}[31mb\tc"), "a\\u{1b}[31mb\tc");
    }
}
