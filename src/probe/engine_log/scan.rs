//! Reading pieces of a log line: numbers with their unit, and lists of settings as Python writes them.

/// What stands behind the first place of these words.
pub(super) fn after<'a>(text: &'a str, words: &str) -> Option<&'a str> {
    let at = text.find(words)?;
    text.get(at + words.len()..)
}

/// The number that a text begins with, blanks and a few separators aside, and what stands behind it. Thousands may be
/// parted by commas.
pub(super) fn number(text: &str) -> Option<(f64, &str)> {
    let text = text.trim_start_matches([' ', '\t', '=', ':', '~']);
    let mut digits = String::new();
    let mut end = 0;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let next_is_digit = chars.peek().is_some_and(|(_, next)| next.is_ascii_digit());
        match c {
            '0'..='9' => digits.push(c),
            '-' if digits.is_empty() && next_is_digit => digits.push(c),
            '.' if next_is_digit && !digits.contains('.') => digits.push(c),
            ',' if next_is_digit && !digits.is_empty() && !digits.contains('.') => {}
            _ => break,
        }
        end = at + c.len_utf8();
        if digits.len() > 30 {
            return None;
        }
    }
    let number: f64 = digits.parse().ok()?;
    Some((number, text.get(end..)?))
}

/// A whole number that the text begins with.
pub(super) fn whole(text: &str) -> Option<i64> {
    let (number, _) = number(text)?;
    #[allow(clippy::cast_possible_truncation, reason = "checked to be whole and within 2^53")]
    (number.fract() == 0.0 && number.abs() < 9e15).then_some(number as i64)
}

/// A size with its unit, GiB. Engines write "GB" and "GiB", "MB" and "MiB" for the same powers of two.
pub(super) fn gib(text: &str) -> Option<f64> {
    let (number, rest) = number(text)?;
    let rest = rest.trim_start();
    let unit = rest.get(..rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len()))?;
    let factor = match unit {
        "TB" | "TiB" => 1024.0,
        "GB" | "GiB" => 1.0,
        "MB" | "MiB" => 1.0 / 1024.0,
        "KB" | "KiB" | "kB" => 1.0 / 1_048_576.0,
        "B" | "bytes" => 1.0 / 1_073_741_824.0,
        _ => return None,
    };
    let size = number * factor;
    // A petabyte on one device is a broken line.
    (size.abs() < 1e6).then_some(size)
}

/// A size behind these words, with at most a few signs or blanks between.
pub(super) fn gib_after(text: &str, words: &str) -> Option<f64> {
    gib(after(text, words)?.trim_start_matches([' ', '\t', '(', '=', ':']))
}

/// A number behind these words, with at most a few signs or blanks between.
pub(super) fn number_after(text: &str, words: &str) -> Option<f64> {
    number(after(text, words)?.trim_start_matches([' ', '\t', '(', '=', ':'])).map(|(number, _)| number)
}

/// A whole number behind these words.
pub(super) fn whole_after(text: &str, words: &str) -> Option<i64> {
    whole(after(text, words)?.trim_start_matches([' ', '\t', '(', '=', ':']))
}

/// The most settings read from one list.
const MAX_PAIRS: usize = 4_000;

/// Settings as Python writes them, `a='x', b=F(c=1)` or `'a': 'x', 'b': {…}`, at the outermost level, quotes taken off.
/// The list ends where its bracket closes.
pub(super) fn pairs(text: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    let mut depth = 0_usize;
    let mut quote = None;
    let mut escaped = false;
    let mut start = 0;
    let mut split = None;
    for (at, c) in text.char_indices() {
        if found.len() >= MAX_PAIRS {
            return found;
        }
        if let Some(mark) = quote {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                _ if c == mark => quote = None,
                _ => {}
            }
            continue;
        }
        match c {
            '\'' | '"' => quote = Some(c),
            '(' | '[' | '{' | '<' => depth += 1,
            ')' | ']' | '}' | '>' => match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => {
                    push_pair(&mut found, text, start, split, at);
                    return found;
                }
            },
            '=' | ':' if depth == 0 && split.is_none() => split = Some(at),
            ',' if depth == 0 => {
                push_pair(&mut found, text, start, split, at);
                (start, split) = (at + 1, None);
            }
            _ => {}
        }
    }
    // A pair that the log cut in the middle is not one.
    if depth == 0 && quote.is_none() {
        push_pair(&mut found, text, start, split, text.len());
    }
    found
}

fn push_pair<'a>(found: &mut Vec<(&'a str, &'a str)>, text: &'a str, start: usize, split: Option<usize>, end: usize) {
    let Some(split) = split else { return };
    if let (Some(key), Some(value)) = (text.get(start..split), text.get(split + 1..end)) {
        found.push((bare(key), bare(value)));
    }
}

/// Without blanks and one pair of quotes.
pub(super) fn bare(text: &str) -> &str {
    let text = text.trim();
    let inner = |mark: char| text.strip_prefix(mark).and_then(|rest| rest.strip_suffix(mark));
    inner('\'').or_else(|| inner('"')).unwrap_or(text)
}

/// The value of a setting, unless it is Python's word for none.
pub(super) fn value<'a>(pairs: &[(&'a str, &'a str)], key: &str) -> Option<&'a str> {
    let (_, value) = pairs.iter().find(|(name, _)| *name == key)?;
    (*value != "None" && !value.is_empty()).then_some(*value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_powers_of_two_whatever_the_unit_is_called() {
        for (text, want) in [
            (" 14.9889 GB", Some(14.9889)),
            ("(39.56GiB) x", None),
            ("39.56GiB) x", Some(39.56)),
            ("512 MiB", Some(0.5)),
            ("-2.14 GiB", Some(-2.14)),
            ("1073741824 bytes", Some(1.0)),
            ("44.5 seconds", None),
            ("99999999999999999999 GiB", None),
            ("GiB", None),
        ] {
            assert_eq!(gib(text), want, "{text}");
        }
        assert_eq!(whole(" 1,563,739 tokens"), Some(1_563_739));
        assert_eq!(whole("1.5"), None);
        assert_eq!(number("4, 5").map(|(number, _)| number), Some(4.0));
    }

    #[test]
    fn lists_are_split_at_the_outermost_level() {
        assert_eq!(
            pairs("model='a, b', spec=S(model='x', n=1), kv=auto,  d={'k': [1, 2]}, t=\"it's\") tail=1"),
            [("model", "a, b"), ("spec", "S(model='x', n=1)"), ("kv", "auto"), ("d", "{'k': [1, 2]}"), ("t", "it's")]
        );
        assert_eq!(
            pairs("'port': 8001, 'm': '/a:b', 'c': {'x': 1}}"),
            [("port", "8001"), ("m", "/a:b"), ("c", "{'x': 1}")]
        );
        assert_eq!(pairs("a=1, b='cut"), [("a", "1")]);
    }
}
