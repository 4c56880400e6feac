//! From bytes to text: the encoding, what is no text at all, and the first part of a file, which decides how the rest
//! is read.

use std::io::{self, BufRead, Cursor, Read};

use super::refusal::{Binary, Refusal};

/// How much of a file is looked at before it is read.
const LOOK: usize = 256 << 10;

/// A file as UTF-8 text.
pub(super) struct Source<'a> {
    /// The text from its first character on.
    pub(super) text: Box<dyn BufRead + 'a>,
    /// The first part of it.
    pub(super) head: Vec<u8>,
    /// Whether a byte-order mark stood before it.
    pub(super) has_mark: bool,
    /// Whether it was UTF-16.
    pub(super) is_utf16: bool,
}

/// Opens a file's bytes as text.
///
/// # Errors
/// `Refusal` where the file is empty, no text, or cannot be read.
pub(super) fn open<'a>(mut bytes: impl BufRead + 'a) -> Result<Source<'a>, Refusal> {
    let mut start = Vec::new();
    bytes.by_ref().take(1024).read_to_end(&mut start)?;
    let start_is_all = start.is_empty();
    if start_is_all {
        return Err(Refusal::Empty);
    }
    if let Some(binary) = signature(&start) {
        return Err(Refusal::Binary(binary));
    }
    let utf16 = utf16(&start);
    let skipped = match utf16 {
        Some((_, mark)) => mark,
        None if start.starts_with(&[0xef, 0xbb, 0xbf]) => 3,
        None => 0,
    };
    let rest = start.split_off(skipped);
    let whole = Cursor::new(rest).chain(bytes);
    let mut text: Box<dyn BufRead + 'a> = match utf16 {
        Some((order, _)) => Box::new(Utf16 { inner: whole, order, out: Vec::new(), at: 0, left: Vec::new() }),
        None => Box::new(whole),
    };
    let mut head = Vec::new();
    text.by_ref().take(u64::try_from(LOOK).unwrap_or(u64::MAX)).read_to_end(&mut head)?;
    if is_binary(&head) {
        return Err(Refusal::Binary(Binary::Other));
    }
    if head.iter().all(u8::is_ascii_whitespace) && head.len() < LOOK {
        return Err(Refusal::Empty);
    }
    let text = Box::new(Cursor::new(head.clone()).chain(text));
    Ok(Source { text, head, has_mark: skipped > 0, is_utf16: utf16.is_some() })
}

/// What a file says it is by its first bytes.
fn signature(start: &[u8]) -> Option<Binary> {
    let signatures: [(&[u8], Binary); 9] = [
        (&[0x1f, 0x8b], Binary::Gzip),
        (b"PK\x03\x04", Binary::Zip),
        (b"PAR1", Binary::Parquet),
        (b"%PDF", Binary::Pdf),
        (b"\x28\xb5\x2f\xfd", Binary::Other),
        (b"BZh", Binary::Other),
        (b"\xfd7zXZ", Binary::Other),
        (b"\x89PNG", Binary::Other),
        (b"\xff\xfe\0\0", Binary::Other),
    ];
    signatures.into_iter().find(|(bytes, _)| start.starts_with(bytes)).map(|(_, binary)| binary)
}

/// More than a stray control character in the first part.
fn is_binary(head: &[u8]) -> bool {
    let controls = head.iter().filter(|byte| matches!(byte, 0..=8 | 14..=26 | 28..=31)).count();
    let invalid: usize = head.utf8_chunks().map(|chunk| chunk.invalid().len()).sum();
    head.contains(&0) || controls * 20 > head.len() || invalid * 4 > head.len()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    Little,
    Big,
}

/// The byte order of UTF-16, by its mark or by the zeros between the first characters, and the length of the mark.
fn utf16(start: &[u8]) -> Option<(Order, usize)> {
    if start.starts_with(&[0xff, 0xfe]) {
        return Some((Order::Little, 2));
    }
    if start.starts_with(&[0xfe, 0xff]) {
        return Some((Order::Big, 2));
    }
    let pairs = start.get(..16.min(start.len())).unwrap_or_default().as_chunks::<2>().0;
    if pairs.len() >= 4 {
        if pairs.iter().all(|[a, b]| *a != 0 && *b == 0) {
            return Some((Order::Little, 0));
        }
        if pairs.iter().all(|[a, b]| *a == 0 && *b != 0) {
            return Some((Order::Big, 0));
        }
    }
    None
}

/// UTF-16 as UTF-8, as it comes.
struct Utf16<R> {
    inner: R,
    order: Order,
    out: Vec<u8>,
    at: usize,
    /// Bytes of a character that is not whole yet.
    left: Vec<u8>,
}

impl<R: BufRead> Utf16<R> {
    fn more(&mut self) -> io::Result<()> {
        self.out.clear();
        self.at = 0;
        while self.out.is_empty() {
            let buffer = self.inner.fill_buf()?;
            let n = buffer.len();
            if n == 0 {
                // Half a character at the end is kept as the replacement character.
                if !self.left.is_empty() {
                    self.left.clear();
                    self.out.extend_from_slice("\u{fffd}".as_bytes());
                }
                return Ok(());
            }
            self.left.extend_from_slice(buffer);
            self.inner.consume(n);
            let mut units: Vec<u16> =
                self.left
                    .as_chunks::<2>()
                    .0
                    .iter()
                    .map(|pair| {
                        if self.order == Order::Little { u16::from_le_bytes(*pair) } else { u16::from_be_bytes(*pair) }
                    })
                    .collect();
            // The first half of a pair waits for the second.
            if units.last().is_some_and(|unit| (0xd800..0xdc00).contains(unit)) {
                units.pop();
            }
            self.left.drain(..units.len() * 2);
            for c in char::decode_utf16(units) {
                let c = c.unwrap_or(char::REPLACEMENT_CHARACTER);
                self.out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
        Ok(())
    }
}

impl<R: BufRead> Read for Utf16<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut ready = self.fill_buf()?;
        let n = ready.read(buffer)?;
        self.consume(n);
        Ok(n)
    }
}

impl<R: BufRead> BufRead for Utf16<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.at >= self.out.len() {
            self.more()?;
        }
        Ok(self.out.get(self.at..).unwrap_or_default())
    }

    fn consume(&mut self, n: usize) {
        self.at += n;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8]) -> Result<(String, bool, bool), Refusal> {
        let mut source = open(io::BufReader::with_capacity(3, bytes))?;
        let mut text = String::new();
        source.text.read_to_string(&mut text).unwrap();
        Ok((text, source.has_mark, source.is_utf16))
    }

    #[test]
    fn every_encoding_comes_out_as_text_or_is_refused() {
        let utf16 = |order: fn(u16) -> [u8; 2], mark: bool| -> Vec<u8> {
            let text = if mark { "\u{feff}Kosten €,𝄞\n" } else { "Kosten €,𝄞\n" };
            text.encode_utf16().flat_map(order).collect()
        };
        let want = "Kosten €,𝄞\n".to_owned();
        assert_eq!(text("Kosten €,𝄞\n".as_bytes()), Ok((want.clone(), false, false)));
        assert_eq!(text("\u{feff}Kosten €,𝄞\n".as_bytes()), Ok((want.clone(), true, false)));
        assert_eq!(text(&utf16(u16::to_le_bytes, true)), Ok((want.clone(), true, true)));
        assert_eq!(text(&utf16(u16::to_be_bytes, true)), Ok((want.clone(), true, true)));
        assert_eq!(
            text("Cost,a".encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<_>>().as_slice()),
            Ok(("Cost,a".to_owned(), false, true))
        );
        for (bytes, want) in [
            (&b""[..], Refusal::Empty),
            (b" \r\n\n", Refusal::Empty),
            (b"\x1f\x8b\x08", Refusal::Binary(Binary::Gzip)),
            (b"PK\x03\x04..", Refusal::Binary(Binary::Zip)),
            (b"PAR1\x15", Refusal::Binary(Binary::Parquet)),
            (b"%PDF-1.7", Refusal::Binary(Binary::Pdf)),
            (b"a,b\x00\x01\x02\n", Refusal::Binary(Binary::Other)),
            (b"\x7fELF\x02\x01\x01\x00", Refusal::Binary(Binary::Other)),
        ] {
            assert_eq!(text(bytes).unwrap_err(), want, "{}", bytes.escape_ascii());
        }
    }
}
