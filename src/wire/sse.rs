//! Server-sent events, read as they come: where chunks begin and end makes no difference.
//!
//! Follows the event stream format of the HTML standard: lines end in LF, CRLF or CR, comments start with a colon,
//! several `data` lines join with LF, a blank line ends the event. Two things are looser than the standard: an event
//! that the end of the stream cuts off before its blank line can still be asked for, and nothing is ever unbounded.

/// The most bytes one event may hold, and the most one line may. A stream beyond it is refused.
pub const MAX_EVENT: usize = 4 << 20;

/// One event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event<'a> {
    /// The `event` field; empty when the server named none.
    pub name: &'a [u8],
    /// The `data` lines, joined with LF.
    pub data: &'a [u8],
}

/// The stream holds an event or a line longer than [`MAX_EVENT`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event is longer than {MAX_EVENT} bytes")]
pub struct TooLong;

/// Reads a stream in chunks of any size.
#[derive(Debug, Default)]
pub struct Decoder {
    /// The start of a line whose end has not come yet.
    line: Vec<u8>,
    /// The data lines of the event so far, each followed by LF.
    data: Vec<u8>,
    name: Vec<u8>,
    has_data: bool,
    /// The last line ended in CR at the end of a chunk; a LF that follows belongs to it.
    after_cr: bool,
    began: bool,
}

impl Decoder {
    /// Reads a chunk and calls `each` for every event that it completes. When `each` answers `false` the rest of the
    /// chunk is left unread.
    ///
    /// # Errors
    /// [`TooLong`] when an event or a line grows beyond the bound; the decoder is of no use afterwards.
    pub fn feed(&mut self, chunk: &[u8], mut each: impl FnMut(Event<'_>) -> bool) -> Result<(), TooLong> {
        let mut rest = chunk;
        if self.after_cr && !rest.is_empty() {
            self.after_cr = false;
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let (head, tail) = rest.split_at(end);
            let going_on = if self.line.is_empty() {
                self.take_line(head, &mut each)?
            } else {
                self.grow_line(head)?;
                let line = std::mem::take(&mut self.line);
                let going_on = self.take_line(&line, &mut each)?;
                // The buffer is kept for the next line that a chunk border splits.
                self.line = line;
                self.line.clear();
                going_on
            };
            rest = match tail {
                [b'\r', b'\n', after @ ..] => after,
                [b'\r'] => {
                    self.after_cr = true;
                    &[]
                }
                [_, after @ ..] => after,
                [] => &[],
            };
            if !going_on {
                return Ok(());
            }
        }
        self.grow_line(rest)
    }

    /// The end of the stream: calls `each` for an event that was not ended by a blank line.
    ///
    /// # Errors
    /// [`TooLong`], as [`Decoder::feed`].
    pub fn finish(&mut self, mut each: impl FnMut(Event<'_>) -> bool) -> Result<(), TooLong> {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() && !self.take_line(&line, &mut each)? {
            return Ok(());
        }
        self.take_line(b"", &mut each).map(|_going_on| ())
    }

    fn grow_line(&mut self, bytes: &[u8]) -> Result<(), TooLong> {
        if self.line.len() + bytes.len() > MAX_EVENT {
            return Err(TooLong);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    /// Reads one line without its end; answers whether to go on.
    fn take_line(&mut self, line: &[u8], each: &mut impl FnMut(Event<'_>) -> bool) -> Result<bool, TooLong> {
        let line = if self.began { line } else { line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line) };
        self.began = true;
        if line.is_empty() {
            return Ok(self.dispatch(each));
        }
        let (field, value) = match line.iter().position(|byte| *byte == b':') {
            Some(colon) => {
                let (field, value) = line.split_at(colon);
                let value = value.strip_prefix(b":").unwrap_or(value);
                (field, value.strip_prefix(b" ").unwrap_or(value))
            }
            None => (line, &b""[..]),
        };
        match field {
            b"data" => {
                if self.data.len() + value.len() >= MAX_EVENT {
                    return Err(TooLong);
                }
                self.has_data = true;
                self.data.extend_from_slice(value);
                self.data.push(b'\n');
            }
            b"event" => {
                self.name.clear();
                self.name.extend_from_slice(value);
            }
            // Comments have an empty field name; `id`, `retry` and whatever else comes mean nothing here.
            _ => {}
        }
        Ok(true)
    }

    fn dispatch(&mut self, each: &mut impl FnMut(Event<'_>) -> bool) -> bool {
        let mut going_on = true;
        if self.has_data {
            let data = self.data.strip_suffix(b"\n").unwrap_or(&self.data);
            going_on = each(Event { name: &self.name, data });
        }
        self.has_data = false;
        self.data.clear();
        self.name.clear();
        going_on
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every event as `name|data`, the stream fed in pieces of `size` bytes.
    fn read(stream: &[u8], size: usize) -> Vec<String> {
        let mut out = Vec::new();
        let mut decoder = Decoder::default();
        let mut each = |event: Event<'_>| {
            let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
            out.push(format!("{}|{}", text(event.name), text(event.data)));
            true
        };
        for chunk in stream.chunks(size) {
            decoder.feed(chunk, &mut each).unwrap();
        }
        decoder.finish(&mut each).unwrap();
        out
    }

    #[track_caller]
    fn check(stream: &str, want: &[&str]) {
        for size in 1..=stream.len().max(1) {
            assert_eq!(read(stream.as_bytes(), size), want, "in pieces of {size}");
        }
    }

    #[test]
    fn reads_the_format() {
        check("", &[]);
        check("data: a\n\ndata: b\n\n", &["|a", "|b"]);
        check("data:a\n\n", &["|a"]);
        check("data:  two spaces lose one\n\n", &["| two spaces lose one"]);
        check("data: a\r\n\r\ndata: b\r\n\r\n", &["|a", "|b"]);
        check("data: a\r\rdata: b\r\r", &["|a", "|b"]);
        check("data: a\ndata: b\n\n", &["|a\nb"]);
        check("data\n\n", &["|"]);
        check(": a comment\n\n:another\ndata: a\n\n", &["|a"]);
        check("event: error\ndata: a\n\ndata: b\n\n", &["error|a", "|b"]);
        check("id: 7\nretry: 10\nunknown: x\ndata: a\n\n", &["|a"]);
        check("event: nameless\n\ndata: a\n\n", &["|a"]);
        check("\u{feff}data: a\n\n", &["|a"]);
        check("data: 东京 🗼\n\n", &["|东京 🗼"]);
        check("data: cut off", &["|cut off"]);
        check("data: [DONE]\n\n\n", &["|[DONE]"]);
        check("\n\n\n", &[]);
    }

    #[test]
    fn stops_where_it_is_told_to() {
        let mut seen = 0;
        let mut decoder = Decoder::default();
        decoder
            .feed(b"data: a\n\ndata: b\n\n", |_event| {
                seen += 1;
                false
            })
            .unwrap();
        assert_eq!(seen, 1);
    }

    #[test]
    fn refuses_what_has_no_end() {
        let piece = vec![b'x'; 64 << 10];
        let mut decoder = Decoder::default();
        decoder.feed(b"data: ", |_event| true).unwrap();
        let refused_at = (0..).find(|_| decoder.feed(&piece, |_event| true).is_err()).unwrap();
        assert_eq!(refused_at, MAX_EVENT / piece.len() - 1, "one endless line");

        let mut line = b"data: ".to_vec();
        line.extend_from_slice(&piece);
        line.push(b'\n');
        let mut decoder = Decoder::default();
        let refused_at = (0..).find(|_| decoder.feed(&line, |_event| true).is_err()).unwrap();
        assert!((60..=64).contains(&refused_at), "an endless event of many lines: {refused_at}");
    }
}
