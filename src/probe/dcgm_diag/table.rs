//! The table of `dcgmi diag`: two columns, headings with dashes, messages wrapped in the middle of words.

use super::{Message, Run, Test, TestResult};
use crate::probe::words;

/// Reads the table, or `None` when there is none.
pub(super) fn read(text: &str) -> Option<Run> {
    let mut reader = Reader::default();
    for line in text.lines().take(5_000) {
        reader.line(&words::plain(line));
    }
    reader.flush();
    reader.run.complete = reader.closed;
    let found = !reader.run.tests.is_empty() || !reader.run.messages.is_empty() || reader.run.dcgm_version.is_some();
    (reader.found && found).then_some(reader.run)
}

#[derive(Default)]
struct Reader {
    run: Run,
    /// The table's head was seen.
    found: bool,
    /// The last line was a closing bar.
    closed: bool,
    category: String,
    /// The message that is being put together: its label and raw pieces.
    message: Option<(String, Vec<String>)>,
}

impl Reader {
    fn line(&mut self, line: &str) {
        let line = line.trim_end();
        let bare = line.trim_start();
        if bare.is_empty() {
            return;
        }
        if let Some(heading) = heading(bare) {
            self.flush();
            self.category = heading.to_lowercase();
            self.closed = false;
        } else if bare.starts_with("+-") || bare.starts_with("+=") {
            self.flush();
            self.closed = !bare.starts_with("+=");
        } else if let Some((label, cell)) = cells(bare) {
            self.closed = false;
            self.row(label, cell);
        }
    }

    fn row(&mut self, label: &str, cell: &str) {
        let kind = label.split([':', '-', ' ']).next().unwrap_or_default();
        if label == "Diagnostic" && cell.trim() == "Result" {
            self.found = true;
        } else if label.is_empty() {
            self.continued(cell);
        } else if matches!(kind, "Error" | "Warning" | "Info") {
            self.flush();
            self.message = Some((kind.to_owned(), vec![cell.to_owned()]));
        } else if self.category == "metadata" || TestResult::read(cell).is_none() {
            self.flush();
            self.metadata(label, cell.trim());
        } else {
            self.flush();
            self.run.tests.push(Test {
                name: label.to_owned(),
                category: self.category.clone(),
                result: TestResult::read(cell),
                messages: Vec::new(),
            });
        }
    }

    /// A row without a label: more of a message, or another result of the test (`GPU0: Skip`, `Fail - GPU: 2`).
    fn continued(&mut self, cell: &str) {
        if let Some((_, pieces)) = &mut self.message {
            if pieces.len() < 400 {
                pieces.push(cell.to_owned());
            }
        } else if let Some(test) = self.run.tests.last_mut() {
            let status = cell
                .split_once(": ")
                .map_or(cell, |(entity, status)| if TestResult::read(entity).is_some() { entity } else { status });
            if let Some(result) = TestResult::read(status) {
                test.result = test.result.map(|before| before.min(result));
            }
        }
    }

    fn metadata(&mut self, label: &str, value: &str) {
        match label {
            "DCGM Version" => self.run.dcgm_version = Some(value.to_owned()),
            "Driver Version Detected" => self.run.driver_version = Some(value.to_owned()),
            "GPU Device IDs Detected" => {
                self.run.n_devices = Some(value.split(',').filter(|id| !id.trim().is_empty()).count());
            }
            _ => {}
        }
    }

    /// Ends the message that is being put together.
    fn flush(&mut self) {
        let Some((label, pieces)) = self.message.take() else { return };
        let message = Message { text: join(&pieces), severity: None, info: label == "Info" };
        match self.run.tests.last_mut() {
            Some(test) => test.messages.push(message),
            None if !message.info => self.run.messages.push(message),
            None => {}
        }
    }
}

/// `|-----  Metadata  ----------+---|` or `+-----  Hardware  ----------+---+`.
fn heading(line: &str) -> Option<&str> {
    let inner = line.strip_prefix("|-").or_else(|| line.strip_prefix("+-"))?;
    let (name, _) = inner.trim_start_matches('-').split_once("-")?;
    let name = name.trim();
    (!name.is_empty() && name.chars().all(|c| c.is_ascii_alphabetic() || c == ' ')).then_some(name)
}

/// Label and raw second cell. A pasted line may have lost its closing bar.
fn cells(line: &str) -> Option<(&str, &str)> {
    let (label, cell) = line.strip_prefix('|')?.split_once('|')?;
    Some((label.trim(), cell.strip_suffix('|').unwrap_or(cell)))
}

/// Joins the pieces of a message without adding a blank: the tool cuts in the middle of words, at a fixed width.
///
/// The width is 45 or 46 columns after the leading blank. A piece that lost its trailing blanks is filled up again.
fn join(pieces: &[String]) -> String {
    let bare: Vec<&str> = pieces.iter().map(|piece| piece.strip_prefix(' ').unwrap_or(piece).trim_end()).collect();
    let width = if bare.iter().any(|piece| piece.chars().count() == 46) { 46 } else { 45 };
    let mut text = String::new();
    for (n, piece) in bare.iter().enumerate() {
        text.push_str(piece);
        if n + 1 < bare.len() {
            // Short pieces are lines of their own.
            let missing = usize::saturating_sub(width, piece.chars().count());
            text.push_str(if missing > 0 { " " } else { "" });
        }
    }
    let text = text.trim();
    // The tool cuts long messages off; what has no full stop after a thousand letters was cut.
    if text.len() > 1_000 && !text.ends_with('.') { format!("{text}…") } else { text.to_owned() }
}
