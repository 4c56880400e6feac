//! From the bytes of a command to what is kept of them.

use std::time::Duration;

use crate::domain::evidence::{Captured, CommandEnd, Masked};
use crate::domain::mask::mask;

/// What a command gave, byte for byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Raw {
    /// Standard output of the command itself.
    pub(super) stdout: Vec<u8>,
    /// Standard error of the command itself.
    pub(super) stderr: Vec<u8>,
    /// What came around it on either stream.
    pub(super) pollution: Vec<u8>,
    /// How it ended.
    pub(super) ended: CommandEnd,
    /// From its start to its end.
    pub(super) took: Duration,
}

impl Raw {
    /// A command that was not run.
    pub(super) fn refused(why: impl Into<String>) -> Self {
        Self {
            stdout: Vec::new(),
            stderr: Vec::new(),
            pollution: Vec::new(),
            ended: CommandEnd::Refused(why.into()),
            took: Duration::ZERO,
        }
    }

    /// The answer as it is kept: as text, with every secret masked.
    pub(super) fn captured(self, command: &str) -> Captured {
        let mut masked: Vec<Masked> = Vec::new();
        let mut clean = |bytes: &[u8]| {
            let (text, found) = mask(&text_of(bytes));
            for one in found {
                match masked.iter_mut().find(|other| other.rule == one.rule) {
                    Some(other) => other.count += one.count,
                    None => masked.push(one),
                }
            }
            text
        };
        let (stdout, stderr, pollution) = (clean(&self.stdout), clean(&self.stderr), clean(&self.pollution));
        Captured {
            command: command.to_owned(),
            stdout,
            stderr,
            pollution,
            ended: self.ended,
            took_secs: self.took.as_secs_f64(),
            masked,
        }
    }
}

/// The bytes as text; each byte that is not part of valid UTF-8 becomes `\xNN`.
pub(super) fn text_of(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            // Writing to a string cannot fail.
            write!(text, "\\x{byte:02x}").ok();
        }
    }
    text
}

/// A text from outside on one line for messages: control characters as escapes, at most 300 characters.
pub(super) fn one_line(text: &str) -> String {
    let mut line = String::new();
    for c in text.trim().chars().take(300) {
        let hides =
            c.is_control() || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if hides { line.extend(c.escape_default()) } else { line.push(c) }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_text_and_lose_their_secrets() {
        let raw = Raw {
            stdout: b"ok \xff\xfe \xc0\xaf end token=abc\n".to_vec(),
            stderr: "密码 token=def".as_bytes().to_vec(),
            pollution: b"Welcome".to_vec(),
            ended: CommandEnd::Exit(0),
            took: Duration::from_millis(250),
        };
        let want = Captured {
            command: "env".into(),
            stdout: "ok \\xff\\xfe \\xc0\\xaf end token=[masked: secret value]\n".into(),
            stderr: "密码 token=[masked: secret value]".into(),
            pollution: "Welcome".into(),
            ended: CommandEnd::Exit(0),
            took_secs: 0.25,
            masked: vec![Masked { rule: "secret value".into(), count: 2 }],
        };
        assert_eq!(raw.captured("env"), want);
    }

    #[test]
    fn messages_show_control_characters() {
        assert_eq!(one_line(" a\u{1b}[2Jb\u{202e}c\n"), "a\\u{1b}[2Jb\\u{202e}c");
        assert_eq!(one_line(&"x".repeat(1_000)).len(), 300);
    }
}
