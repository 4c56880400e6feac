//! Rows of a CSV file, one at a time.
//!
//! Read here and not by the `csv` crate, which neither says that a quote was never closed or stands where none belongs,
//! nor stops at a row that never ends; both decide whether the totals of a bill can be trusted.

use std::io::BufRead;

use super::refusal::Refusal;

/// The longest row that is read, in bytes. Longer ones come from a quote that is not closed.
const MAX_ROW: usize = 32 << 20;
/// The most columns that are read.
const MAX_COLUMNS: usize = 4096;

/// One row, reused from row to row.
#[derive(Debug, Default)]
pub(super) struct Record {
    text: String,
    /// Where each cell ends in the text.
    ends: Vec<usize>,
    /// The line it starts on, from 1.
    pub(super) line: u64,
    /// What is wrong with it as CSV.
    pub(super) marks: Marks,
    bytes: Vec<u8>,
}

/// What is wrong with a row as CSV.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Marks {
    /// The column in which a quote opens and is never closed.
    pub(super) open_quote: Option<usize>,
    /// The column in which a quote stands where none belongs.
    pub(super) stray_quote: Option<usize>,
    /// The file ends behind this row without a line end.
    pub(super) at_end: bool,
    /// The column in which bytes are not UTF-8.
    pub(super) not_utf8: Option<usize>,
}

impl Record {
    /// How many cells it has.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// A cell; empty where the row has none.
    pub(super) fn cell(&self, idx: usize) -> &str {
        let start = idx.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied());
        let range = start.zip(self.ends.get(idx).copied());
        range.and_then(|(start, end)| self.text.get(start..end)).unwrap_or_default()
    }

    /// All cells.
    pub(super) fn cells(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|idx| self.cell(idx))
    }

    /// The cells from one on, as they would stand in a row.
    pub(super) fn rest(&self, from: usize) -> String {
        (from..self.len()).map(|idx| self.cell(idx)).collect::<Vec<_>>().join(",")
    }

    /// The text of the whole row, without the marks between its cells.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Where the cells end.
    pub(super) fn ends(&self) -> &[usize] {
        &self.ends
    }

    /// Empties it for a new row.
    pub(super) fn start(&mut self, line: u64) {
        self.text.clear();
        self.ends.clear();
        self.bytes.clear();
        (self.line, self.marks) = (line, Marks::default());
    }

    /// Adds a cell that is text already.
    pub(super) fn push(&mut self, cell: &str) {
        self.text.push_str(cell);
        self.ends.push(self.text.len());
    }

    /// Turns the bytes into text; those that are none are written as `\xNN`, so that none is lost.
    fn finish(&mut self) {
        if let Ok(text) = std::str::from_utf8(&self.bytes) {
            self.text.push_str(text);
            return;
        }
        let mut start = 0;
        for (idx, end) in self.ends.iter_mut().enumerate() {
            let cell = self.bytes.get(start..*end).unwrap_or_default();
            start = *end;
            for chunk in cell.utf8_chunks() {
                self.text.push_str(chunk.valid());
                for byte in chunk.invalid() {
                    self.marks.not_utf8 = self.marks.not_utf8.or(Some(idx));
                    self.text.extend(format!("\\x{byte:02x}").chars());
                }
            }
            *end = self.text.len();
        }
    }
}

/// Where the reader stands inside a row.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    CellStart,
    Bare,
    Quoted,
    /// Behind a quote inside a quoted cell: its end, or half of a doubled quote.
    QuoteSeen,
}

/// Reads rows.
pub(super) struct Rows<R> {
    inner: R,
    delimiter: u8,
    line: u64,
    /// A line feed is still part of the line end that was read.
    skip_feed: bool,
    /// Blank lines so far, and the first of them.
    pub(super) blank: Option<(u64, u64)>,
}

impl<R: BufRead> Rows<R> {
    pub(super) fn new(inner: R, delimiter: u8) -> Self {
        Self { inner, delimiter, line: 1, skip_feed: false, blank: None }
    }

    /// Reads the next row. Blank lines are counted and passed over.
    ///
    /// Answers whether there was one.
    pub(super) fn read(&mut self, record: &mut Record) -> Result<bool, Refusal> {
        loop {
            record.start(self.line);
            if !self.read_any(record)? {
                return Ok(false);
            }
            if record.ends.len() == 1 && record.bytes.is_empty() && record.marks == Marks::default() {
                let first = self.blank.map_or(record.line, |(_, first)| first);
                self.blank = Some((self.blank.map_or(1, |(n, _)| n + 1), first));
                continue;
            }
            record.finish();
            return Ok(true);
        }
    }

    fn read_any(&mut self, record: &mut Record) -> Result<bool, Refusal> {
        let mut state = State::CellStart;
        let mut was_quoted = false;
        loop {
            let buffer = self.inner.fill_buf()?;
            if buffer.is_empty() {
                if state == State::CellStart && record.ends.is_empty() && record.bytes.is_empty() {
                    return Ok(false);
                }
                if state == State::Quoted {
                    record.marks.open_quote = Some(record.ends.len());
                }
                record.marks.at_end = true;
                record.ends.push(record.bytes.len());
                return Ok(true);
            }
            let mut used = 0;
            let mut done = false;
            while let Some(&byte) = buffer.get(used) {
                if self.skip_feed {
                    self.skip_feed = false;
                    if byte == b'\n' {
                        used += 1;
                        continue;
                    }
                }
                match state {
                    State::Quoted => {
                        let rest = buffer.get(used..).unwrap_or_default();
                        let n = rest.iter().position(|byte| *byte == b'"').unwrap_or(rest.len());
                        let inside = rest.get(..n).unwrap_or_default();
                        self.line += u64::try_from(inside.iter().filter(|byte| **byte == b'\n').count()).unwrap_or(0);
                        record.bytes.extend_from_slice(inside);
                        used += n;
                        if n < rest.len() {
                            used += 1;
                            state = State::QuoteSeen;
                        }
                        continue;
                    }
                    State::QuoteSeen if byte == b'"' => {
                        record.bytes.push(b'"');
                        used += 1;
                        state = State::Quoted;
                        continue;
                    }
                    State::CellStart if byte == b'"' => {
                        used += 1;
                        (state, was_quoted) = (State::Quoted, true);
                        continue;
                    }
                    _ => {}
                }
                if byte == self.delimiter {
                    record.ends.push(record.bytes.len());
                    used += 1;
                    (state, was_quoted) = (State::CellStart, false);
                    if record.ends.len() > MAX_COLUMNS {
                        return Err(Refusal::TooManyColumns(record.ends.len()));
                    }
                } else if byte == b'\n' || byte == b'\r' {
                    record.ends.push(record.bytes.len());
                    used += 1;
                    self.line += 1;
                    self.skip_feed = byte == b'\r';
                    done = true;
                    break;
                } else {
                    let rest = buffer.get(used..).unwrap_or_default();
                    let delimiter = self.delimiter;
                    let n = rest
                        .iter()
                        .position(|byte| *byte == delimiter || *byte == b'\n' || *byte == b'\r')
                        .unwrap_or(rest.len());
                    let inside = rest.get(..n).unwrap_or_default();
                    // A quote inside a bare cell, or text behind a closing one: kept as it stands, and told.
                    if record.marks.stray_quote.is_none() && (was_quoted || inside.contains(&b'"')) {
                        record.marks.stray_quote = Some(record.ends.len());
                    }
                    record.bytes.extend_from_slice(inside);
                    used += n;
                    state = State::Bare;
                }
            }
            self.inner.consume(used);
            if record.bytes.len() > MAX_ROW {
                return Err(Refusal::RowTooLong(record.line));
            }
            if done {
                return Ok(true);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows as text: line, cells between bars, what is wrong.
    fn told(text: &[u8]) -> Vec<String> {
        // A small buffer, so that every border between two reads is met.
        [1, 3, 4096]
            .map(|size| {
                let mut rows = Rows::new(std::io::BufReader::with_capacity(size, text), b',');
                let (mut record, mut out) = (Record::default(), Vec::new());
                while rows.read(&mut record).unwrap() {
                    let marks = record.marks;
                    let wrong = [
                        marks.open_quote.map(|idx| format!(" open {idx}")),
                        marks.stray_quote.map(|idx| format!(" stray {idx}")),
                        marks.not_utf8.map(|idx| format!(" bytes {idx}")),
                        marks.at_end.then(|| " end".to_owned()),
                    ];
                    let cells = record.cells().collect::<Vec<_>>().join("|");
                    out.push(format!("{} {cells}{}", record.line, wrong.into_iter().flatten().collect::<String>()));
                }
                if let Some((n, first)) = rows.blank {
                    out.push(format!("{n} blank from {first}"));
                }
                out
            })
            .into_iter()
            .reduce(|a, b| {
                assert_eq!(a, b);
                b
            })
            .unwrap()
    }

    #[test]
    fn reads_rows_as_they_are_and_says_what_is_wrong_with_them() {
        let cases: &[(&[u8], &[&str])] = &[
            (b"a,b\n1,2\n", &["1 a|b", "2 1|2"]),
            (b"a,b\r\n1,2\r\n", &["1 a|b", "2 1|2"]),
            (b"a,b\r1,2\r", &["1 a|b", "2 1|2"]),
            (b"a,b\n1,2", &["1 a|b", "2 1|2 end"]),
            (b"a\n\n\r\n1\n\n", &["1 a", "4 1", "3 blank from 2"]),
            (b"a,\"x\ny\",c\n1,2,3\n", &["1 a|x\ny|c", "3 1|2|3"]),
            (b"\"he said \"\"no\"\"\",2\n", &["1 he said \"no\"|2"]),
            (b"\"\",\"\"\n", &["1 |"]),
            (b"\"a\"b,c\n", &["1 ab|c stray 0"]),
            (b"a,b\"c\n", &["1 a|b\"c stray 1"]),
            (b"a,\"b\n1,2\n", &["1 a|b\n1,2\n open 1 end"]),
            (b"caf\xe9,2\n", &["1 caf\\xe9|2 bytes 0"]),
            (b",\n", &["1 |"]),
            (b"\"\"\n", &["1 blank from 1"]),
            (b"", &[]),
        ];
        for (text, want) in cases {
            assert_eq!(told(text), *want, "{}", text.escape_ascii());
        }
    }

    #[test]
    fn a_row_without_an_end_is_refused_where_it_starts() {
        let text = format!("a,b\n\"{}", "x".repeat(MAX_ROW + 1));
        let mut rows = Rows::new(text.as_bytes(), b',');
        let mut record = Record::default();
        assert_eq!(rows.read(&mut record), Ok(true));
        assert_eq!(rows.read(&mut record), Err(Refusal::RowTooLong(2)));
        let wide = ",".repeat(MAX_COLUMNS + 1);
        assert_eq!(Rows::new(wide.as_bytes(), b',').read(&mut record), Err(Refusal::TooManyColumns(MAX_COLUMNS + 1)));
    }
}
