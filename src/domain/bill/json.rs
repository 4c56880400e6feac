//! Records of a JSON document, one at a time, with the text of every number and the line it stands on.
//!
//! Read here and not by `serde_json`, which turns numbers into binary floats and forgets lines.

use std::io::BufRead;

use super::refusal::{JsonFault, Refusal};

/// How deep values may lie in each other.
const MAX_DEPTH: usize = 64;
/// The longest text of a value, in bytes.
const MAX_TEXT: usize = 32 << 20;

/// A value. Numbers are kept as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Node {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    List(Vec<Node>),
    Object(Object),
}

/// Names and values in their order, and the line the object starts on.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Object {
    pub(super) line: u64,
    pub(super) fields: Vec<(String, Node)>,
}

impl Node {
    /// Its text as a cell; lists and objects as JSON.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Null => String::new(),
            Self::Bool(value) => value.to_string(),
            Self::Number(text) | Self::Text(text) => text.clone(),
            Self::List(nodes) => format!("[{}]", nodes.iter().map(Self::quoted).collect::<Vec<_>>().join(",")),
            Self::Object(object) => {
                let fields: Vec<String> = object
                    .fields
                    .iter()
                    .map(|(name, node)| format!("{}:{}", serde_json::Value::from(name.as_str()), node.quoted()))
                    .collect();
                format!("{{{}}}", fields.join(","))
            }
        }
    }

    fn quoted(&self) -> String {
        match self {
            Self::Null => "null".to_owned(),
            Self::Text(text) => serde_json::Value::from(text.as_str()).to_string(),
            other => other.text(),
        }
    }
}

/// What the walk through a document meets.
pub(super) enum Met {
    /// A record of the table at this path.
    Record(Vec<String>, Object),
    /// An element of such a list that is no record: its line and text.
    Stray(Vec<String>, u64, String),
    /// A value beside the records.
    Attribute(String, Node),
}

/// Whether the document is one record a line.
pub(super) fn is_lines(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let (first, second) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    first.starts_with('{') && first.ends_with('}') && second.starts_with('{')
}

/// Walks through a document.
///
/// # Errors
/// `Refusal::Json` where it is none; what was met before stands.
pub(super) fn walk(
    text: impl BufRead,
    lines: bool,
    met: &mut dyn FnMut(Met) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    let mut reader = Reader { inner: text, line: 1, peeked: None };
    let mut path = Vec::new();
    let mut n_values = 0_u64;
    while let Some(byte) = reader.peek_mark()? {
        n_values += 1;
        if lines && byte == b'{' {
            let object = reader.object(1)?;
            met(Met::Record(Vec::new(), object))?;
        } else if byte == b'{' || byte == b'[' {
            reader.document(&mut path, met)?;
        } else {
            return Err(reader.fault(JsonFault::Unexpected));
        }
    }
    if n_values == 0 { Err(reader.fault(JsonFault::NoRecords)) } else { Ok(()) }
}

struct Reader<R> {
    inner: R,
    line: u64,
    peeked: Option<u8>,
}

impl<R: BufRead> Reader<R> {
    fn fault(&self, fault: JsonFault) -> Refusal {
        Refusal::Json(self.line, fault)
    }

    fn next(&mut self) -> Result<Option<u8>, Refusal> {
        if let Some(byte) = self.peeked.take() {
            return Ok(Some(byte));
        }
        let byte = self.inner.fill_buf()?.first().copied();
        if byte.is_some() {
            self.inner.consume(1);
        }
        Ok(byte)
    }

    /// The next byte that is no blank, which stays.
    fn peek_mark(&mut self) -> Result<Option<u8>, Refusal> {
        while let Some(byte) = self.next()? {
            match byte {
                b'\n' => self.line += 1,
                b' ' | b'\t' | b'\r' => {}
                byte => {
                    self.peeked = Some(byte);
                    return Ok(Some(byte));
                }
            }
        }
        Ok(None)
    }

    /// The next byte that is no blank, taken.
    fn mark(&mut self) -> Result<u8, Refusal> {
        self.peek_mark()?;
        self.next()?.ok_or_else(|| self.fault(JsonFault::CutOff))
    }

    /// The next byte that is no blank, which stays and must be there.
    fn some_mark(&mut self) -> Result<u8, Refusal> {
        self.peek_mark()?.ok_or_else(|| self.fault(JsonFault::CutOff))
    }

    fn expect(&mut self, wanted: u8) -> Result<(), Refusal> {
        if self.mark()? == wanted { Ok(()) } else { Err(self.fault(JsonFault::Unexpected)) }
    }

    /// An object or list that holds records somewhere: its lists of objects are walked and not held.
    fn document(
        &mut self,
        path: &mut Vec<String>,
        met: &mut dyn FnMut(Met) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        if path.len() > MAX_DEPTH {
            return Err(self.fault(JsonFault::TooDeep));
        }
        if self.mark()? == b'[' {
            return self.records(path, met);
        }
        if self.some_mark()? == b'}' {
            return self.expect(b'}');
        }
        loop {
            self.some_mark()?;
            let name = self.string()?;
            self.expect(b':')?;
            match self.some_mark()? {
                b'[' | b'{' => {
                    path.push(name);
                    self.document(path, met)?;
                    path.pop();
                }
                _ => {
                    let node = self.value(path.len())?;
                    met(Met::Attribute(name, node))?;
                }
            }
            match self.mark()? {
                b',' => {}
                b'}' => return Ok(()),
                _ => return Err(self.fault(JsonFault::Unexpected)),
            }
        }
    }

    /// The elements of a list whose bracket was taken.
    fn records(&mut self, path: &[String], met: &mut dyn FnMut(Met) -> Result<(), Refusal>) -> Result<(), Refusal> {
        if self.some_mark()? == b']' {
            return self.expect(b']');
        }
        loop {
            self.some_mark()?;
            let line = self.line;
            match self.value(path.len())? {
                Node::Object(object) => met(Met::Record(path.to_vec(), object))?,
                other => met(Met::Stray(path.to_vec(), line, other.text()))?,
            }
            match self.mark()? {
                b',' => {}
                b']' => return Ok(()),
                _ => return Err(self.fault(JsonFault::Unexpected)),
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<Node, Refusal> {
        if depth > MAX_DEPTH {
            return Err(self.fault(JsonFault::TooDeep));
        }
        match self.some_mark()? {
            b'{' => Ok(Node::Object(self.object(depth + 1)?)),
            b'[' => {
                self.expect(b'[')?;
                let mut nodes = Vec::new();
                if self.some_mark()? == b']' {
                    self.expect(b']')?;
                    return Ok(Node::List(nodes));
                }
                loop {
                    nodes.push(self.value(depth + 1)?);
                    match self.mark()? {
                        b',' => {}
                        b']' => return Ok(Node::List(nodes)),
                        _ => return Err(self.fault(JsonFault::Unexpected)),
                    }
                }
            }
            b'"' => Ok(Node::Text(self.string()?)),
            _ => self.word(),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Object, Refusal> {
        self.some_mark()?;
        let mut object = Object { line: self.line, fields: Vec::new() };
        self.expect(b'{')?;
        if self.some_mark()? == b'}' {
            self.expect(b'}')?;
            return Ok(object);
        }
        loop {
            self.some_mark()?;
            let name = self.string()?;
            self.expect(b':')?;
            let node = self.value(depth)?;
            object.fields.push((name, node));
            match self.mark()? {
                b',' => {}
                b'}' => return Ok(object),
                _ => return Err(self.fault(JsonFault::Unexpected)),
            }
        }
    }

    /// A number, `true`, `false` or `null`.
    fn word(&mut self) -> Result<Node, Refusal> {
        let mut word = String::new();
        while let Some(byte) = self.next()? {
            if byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.') {
                word.push(char::from(byte));
                if word.len() > 4096 {
                    return Err(self.fault(JsonFault::Unexpected));
                }
            } else {
                self.peeked = Some(byte);
                break;
            }
        }
        match word.as_str() {
            "null" => Ok(Node::Null),
            "true" => Ok(Node::Bool(true)),
            "false" => Ok(Node::Bool(false)),
            // Python writes these for numbers it does not have.
            "NaN" | "Infinity" | "-Infinity" => Ok(Node::Text(word)),
            _ if word.starts_with(|c: char| c.is_ascii_digit() || c == '-') => Ok(Node::Number(word)),
            _ => Err(self.fault(if word.is_empty() && self.peeked.is_none() {
                JsonFault::CutOff
            } else {
                JsonFault::Unexpected
            })),
        }
    }

    fn string(&mut self) -> Result<String, Refusal> {
        self.expect(b'"')?;
        let mut bytes = Vec::new();
        loop {
            match self.next()?.ok_or_else(|| self.fault(JsonFault::CutOff))? {
                b'"' => break,
                b'\\' => {
                    let escaped = self.next()?.ok_or_else(|| self.fault(JsonFault::CutOff))?;
                    match escaped {
                        b'n' => bytes.push(b'\n'),
                        b't' => bytes.push(b'\t'),
                        b'r' => bytes.push(b'\r'),
                        b'b' => bytes.push(8),
                        b'f' => bytes.push(12),
                        b'"' | b'\\' | b'/' => bytes.push(escaped),
                        b'u' => {
                            let c = self.escaped_char()?;
                            bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                        }
                        _ => return Err(self.fault(JsonFault::Unexpected)),
                    }
                }
                byte => {
                    self.line += u64::from(byte == b'\n');
                    bytes.push(byte);
                }
            }
            if bytes.len() > MAX_TEXT {
                return Err(Refusal::RowTooLong(self.line));
            }
        }
        Ok(String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
    }

    fn escaped_char(&mut self) -> Result<char, Refusal> {
        let first = self.hex()?;
        if !(0xd800..0xdc00).contains(&first) {
            return Ok(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        if self.next()? != Some(b'\\') || self.next()? != Some(b'u') {
            return Err(self.fault(JsonFault::Unexpected));
        }
        let second = self.hex()?;
        let code = 0x1_0000 + ((first - 0xd800) << 10) + second.wrapping_sub(0xdc00) % 0x400;
        Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn hex(&mut self) -> Result<u32, Refusal> {
        let mut value = 0;
        for _ in 0..4 {
            let byte = self.next()?.ok_or_else(|| self.fault(JsonFault::CutOff))?;
            let digit = char::from(byte).to_digit(16).ok_or_else(|| self.fault(JsonFault::Unexpected))?;
            value = value * 16 + digit;
        }
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> (Vec<String>, Result<(), Refusal>) {
        let mut out = Vec::new();
        let end = walk(text.as_bytes(), is_lines(text.as_bytes()), &mut |met| {
            out.push(match met {
                Met::Record(path, object) => {
                    let line = object.line;
                    format!("{line} {}: {}", path.join("."), Node::Object(object).text())
                }
                Met::Stray(path, line, text) => format!("{line} {}: stray {text}", path.join(".")),
                Met::Attribute(name, node) => format!("{name} = {}", node.text()),
            });
            Ok(())
        });
        (out, end)
    }

    #[test]
    fn records_come_with_their_line_and_every_digit() {
        let text = "{\n \"note\": \"x\",\n \"a\": [\n  {\"n\": 0.10000000000000000555, \"s\": \"q\\\"\\u20ac\"},\n  7\n ],\n \"b\": {\"results\": [{\"n\": 1e-9, \"items\": [{\"m\": null}]}]}\n}";
        let (out, end) = told(text);
        assert_eq!(
            out,
            [
                "note = x",
                "4 a: {\"n\":0.10000000000000000555,\"s\":\"q\\\"€\"}",
                "5 a: stray 7",
                "7 b.results: {\"n\":1e-9,\"items\":[{\"m\":null}]}",
            ]
        );
        assert_eq!(end, Ok(()));
        assert_eq!(told("{\"n\": 1}\n{\"n\": 2}\n").0, ["1 : {\"n\":1}", "2 : {\"n\":2}"]);
        assert_eq!(told("[{\"n\": 1}]").0, ["1 : {\"n\":1}"]);
    }

    #[test]
    fn what_is_no_json_is_refused_with_its_line() {
        use JsonFault::{CutOff, TooDeep, Unexpected};
        for (text, line, fault) in [
            ("[{\"n\": 1},\n{\"n\": 2", 2, CutOff),
            ("[{\"n\": 1},\n{\"n\" 2}]", 2, Unexpected),
            ("[{\"n\": 1}\n{\"n\": 2}]", 2, Unexpected),
            ("[{\"n\": x}]", 1, Unexpected),
            ("[{\"n\": \"x", 1, CutOff),
            ("[{\"n\": \"\\q\"}]", 1, Unexpected),
            (&format!("[{}", "[".repeat(100)), 1, TooDeep),
            ("[{},]", 1, Unexpected),
        ] {
            assert_eq!(told(text).1, Err(Refusal::Json(line, fault)), "{text}");
        }
    }
}
