//! What the text of a cell means as a number: no value, a decimal, a decimal written in another way, or unreadable.

use super::decimal::ExactDecimal;

/// Which character of a file's numbers is the decimal mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DecimalMark {
    /// "1,234.56"
    #[default]
    Point,
    /// "1.234,56"
    Comma,
    /// The file holds both, so that "1,234" has no reading.
    Both,
}

/// What a cell says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CellNumber {
    /// Nothing: an empty cell, or a word that stands for none.
    Null,
    /// A number as the formats want it.
    Plain(ExactDecimal),
    /// A number in another way of writing, and the currency mark that stood beside it.
    Other(ExactDecimal, Option<String>, Way),
    /// Two readings and nothing to decide between them: as a decimal comma or point, and as thousands.
    Ambiguous(ExactDecimal, ExactDecimal),
    /// No number.
    Unreadable,
}

/// How a number that is not plain was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// With separators, a currency mark, blanks, parentheses or a sign behind it.
    Dressed,
    /// With a decimal comma.
    Comma,
}

/// Whether a cell of words has no value: empty, or a word that exports write for none.
#[must_use]
pub(super) fn is_null(text: &str) -> bool {
    // Most cells are too long; nothing else is asked of them.
    text.len() <= 8 && {
        let word = text.trim();
        word.is_empty()
            || ["null", "(null)", "<null>", "n/a", "\\n", "#n/a"].iter().any(|null| word.eq_ignore_ascii_case(null))
    }
}

/// Whether a cell of numbers has no value. More words are none here: no number is written "None".
#[must_use]
pub(super) fn is_null_number(text: &str) -> bool {
    is_null(text) || {
        let word = text.trim();
        word.len() <= 4
            && (["na", "none", "nil", "nan", "-", "--"].iter().any(|null| word.eq_ignore_ascii_case(null))
                || matches!(word, "–" | "—"))
    }
}

/// Reads a cell of numbers.
#[must_use]
pub(super) fn read(text: &str, mark: DecimalMark) -> CellNumber {
    // The quick way for nearly all cells. A point is a decimal mark only where the file does not say otherwise.
    let quick = match mark {
        DecimalMark::Point => true,
        DecimalMark::Comma | DecimalMark::Both => !text.contains('.') || text.contains(['e', 'E']),
    };
    if quick
        && text.starts_with(|c: char| c.is_ascii_digit() || c == '-')
        && !text.ends_with('.')
        && let Some(value) = ExactDecimal::read(text)
    {
        return CellNumber::Plain(value);
    }
    if is_null_number(text) {
        return CellNumber::Null;
    }
    if text.len() > 500 {
        return CellNumber::Unreadable;
    }
    undress(text).map_or(CellNumber::Unreadable, |bare| bare.read(text, mark))
}

/// A number without what stands around it.
struct Bare {
    digits: String,
    negative: bool,
    currency: Option<String>,
}

/// Marks of currencies that stand beside numbers.
const SYMBOLS: &[(&str, &str)] = &[
    ("US$", "USD"),
    ("CA$", "CAD"),
    ("A$", "AUD"),
    ("HK$", "HKD"),
    ("$", "$"),
    ("€", "EUR"),
    ("£", "GBP"),
    ("¥", "¥"),
    ("￥", "¥"),
    ("₹", "INR"),
];

fn undress(text: &str) -> Option<Bare> {
    let mut rest = text.trim();
    let mut negative = false;
    let mut currency = None;
    if let Some(inside) = rest.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
        (negative, rest) = (true, inside.trim());
    }
    // Sign and currency stand in either order, before or behind.
    for _ in 0..4 {
        if let Some(behind) = rest.strip_prefix(['-', '−']) {
            if negative {
                return None;
            }
            (negative, rest) = (true, behind.trim_start());
        } else if let Some(behind) = rest.strip_prefix('+') {
            rest = behind.trim_start();
        } else if let Some(before) = rest.strip_suffix(['-', '−']) {
            if negative {
                return None;
            }
            (negative, rest) = (true, before.trim_end());
        } else if let Some((code, other)) = currency_beside(rest) {
            if currency.is_some() {
                return None;
            }
            (currency, rest) = (Some(code), other);
        } else {
            break;
        }
    }
    let digits: String =
        rest.chars().map(|c| if matches!(c, '\u{a0}' | '\u{202f}' | '\u{2009}' | '’') { '\'' } else { c }).collect();
    digits.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '.' | ',')).then_some(Bare {
        digits,
        negative,
        currency,
    })
}

fn currency_beside(text: &str) -> Option<(String, &str)> {
    for (symbol, code) in SYMBOLS {
        if let Some(rest) = text.strip_prefix(symbol) {
            return Some(((*code).to_owned(), rest.trim_start()));
        }
        if let Some(rest) = text.strip_suffix(symbol) {
            return Some(((*code).to_owned(), rest.trim_end()));
        }
    }
    let is_code = |code: &str| code.len() == 3 && code.bytes().all(|byte| byte.is_ascii_uppercase());
    if let (Some(code), Some(rest)) = (text.get(..3), text.get(3..))
        && is_code(code)
        && !rest.starts_with(|c: char| c.is_ascii_alphabetic())
    {
        return Some((code.to_owned(), rest.trim_start()));
    }
    let at = text.len().checked_sub(3)?;
    let (rest, code) = (text.get(..at)?, text.get(at..)?);
    (is_code(code) && !rest.ends_with(|c: char| c.is_ascii_alphabetic())).then(|| (code.to_owned(), rest.trim_end()))
}

impl Bare {
    fn read(&self, text: &str, mark: DecimalMark) -> CellNumber {
        let (digits, exponent) = match self.digits.find(['e', 'E']) {
            Some(at) => self.digits.split_at(at),
            None => (self.digits.as_str(), ""),
        };
        // Blanks and apostrophes group thousands and nothing else.
        let grouped = digits.contains([' ', '\'']);
        let (whole_part, _) = digits.split_once(['.', ',']).unwrap_or((digits, ""));
        if grouped && !groups_of_three(whole_part, [' ', '\'']) {
            return CellNumber::Unreadable;
        }
        let digits: String = digits.chars().filter(|c| !matches!(c, ' ' | '\'')).collect();
        let value = |point: &str| {
            let signed = format!("{}{point}{exponent}", if self.negative { "-" } else { "" });
            ExactDecimal::read(&signed)
        };
        let plain_text = |digits: &str| digits.replace(',', "");
        let comma_text = |digits: &str| digits.replace('.', "").replace(',', ".");
        let (n_points, n_commas) = (digits.matches('.').count(), digits.matches(',').count());
        let reading = match (n_points, n_commas) {
            (0 | 1, 0) if mark != DecimalMark::Comma || n_points == 0 => {
                value(&digits).map(|value| (value, Way::Dressed))
            }
            // "1.234,56" and "1,234.56": the last mark is the decimal one.
            (1.., 1) if digits.rfind(',') > digits.rfind('.') => {
                let (whole, _) = digits.split_once(',').unwrap_or((&digits, ""));
                groups_of_three(whole, ['.', '.'])
                    .then(|| value(&comma_text(&digits)))
                    .flatten()
                    .map(|value| (value, Way::Comma))
            }
            (1, 1..) if digits.rfind('.') > digits.rfind(',') => {
                let (whole, _) = digits.split_once('.').unwrap_or((&digits, ""));
                groups(whole).then(|| value(&plain_text(&digits))).flatten().map(|value| (value, Way::Dressed))
            }
            (0, 1) => {
                let (whole, fraction) = digits.split_once(',').unwrap_or((&digits, ""));
                let may_group = groups_of_three(&digits, [',', ',']) && exponent.is_empty();
                match mark {
                    _ if !may_group || grouped || whole == "0" => {
                        value(&comma_text(&digits)).map(|value| (value, Way::Comma))
                    }
                    DecimalMark::Comma => value(&comma_text(&digits)).map(|value| (value, Way::Comma)),
                    DecimalMark::Point => value(&plain_text(&digits)).map(|value| (value, Way::Dressed)),
                    DecimalMark::Both => {
                        let both = value(&format!("{whole}.{fraction}")).zip(value(&plain_text(&digits)));
                        return both.map_or(CellNumber::Unreadable, |(low, high)| CellNumber::Ambiguous(low, high));
                    }
                }
            }
            (0, 2..) => {
                groups(&digits).then(|| value(&plain_text(&digits))).flatten().map(|value| (value, Way::Dressed))
            }
            // A single point in a file of decimal commas.
            (1, 0) => {
                let may_group =
                    groups_of_three(&digits, ['.', '.']) && exponent.is_empty() && !digits.starts_with("0.");
                if may_group {
                    value(&digits.replace('.', "")).map(|value| (value, Way::Dressed))
                } else {
                    value(&digits).map(|value| (value, Way::Dressed))
                }
            }
            (2.., 0) => groups_of_three(&digits, ['.', '.'])
                .then(|| value(&digits.replace('.', "")))
                .flatten()
                .map(|value| (value, Way::Comma)),
            _ => None,
        };
        match reading {
            // In a file of decimal commas the comma is how numbers are written; only the file is told about.
            Some((value, way))
                if self.is_as_written(text) && way == Way::Dressed && n_points + n_commas < 2 && !grouped =>
            {
                if n_commas == 0 && mark != DecimalMark::Comma {
                    CellNumber::Plain(value)
                } else {
                    CellNumber::Other(value, None, way)
                }
            }
            Some((value, way)) => CellNumber::Other(value, self.currency.clone(), way),
            None => CellNumber::Unreadable,
        }
    }

    /// Whether nothing but a minus stood around the digits.
    fn is_as_written(&self, text: &str) -> bool {
        let bare = text.strip_prefix('-').unwrap_or(text);
        self.currency.is_none()
            && bare == self.digits
            && bare.starts_with(|c: char| c.is_ascii_digit())
            && !bare.ends_with(['.', ','])
    }
}

/// Whether `text` is one to three digits, then groups of three behind these marks.
fn groups_of_three(text: &str, marks: [char; 2]) -> bool {
    let mut parts = text.split(marks);
    let first = parts.next().unwrap_or_default();
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    (1..=3).contains(&first.len()) && digits(first) && parts.all(|part| part.len() == 3 && digits(part))
}

/// The same with commas, also as they group in India: 12,34,567.
fn groups(text: &str) -> bool {
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    groups_of_three(text, [',', ','])
        || text.rsplit_once(',').is_some_and(|(front, last)| {
            let mut parts = front.split(',');
            let first = parts.next().unwrap_or_default();
            last.len() == 3
                && digits(last)
                && (1..=2).contains(&first.len())
                && digits(first)
                && parts.all(|part| part.len() == 2 && digits(part))
        })
}

/// Which mark a cell speaks for, where it can only be one of them.
#[must_use]
pub(super) fn speaks_for(text: &str) -> Option<DecimalMark> {
    match read(text, DecimalMark::Point) {
        CellNumber::Other(_, _, Way::Comma) => Some(DecimalMark::Comma),
        CellNumber::Plain(_) | CellNumber::Other(..) => {
            let bare = undress(text)?;
            let (whole, fraction) = bare.digits.split_once('.')?;
            (fraction.len() != 3 || whole == "0" || whole.contains(',')).then_some(DecimalMark::Point)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str, mark: DecimalMark) -> String {
        match read(text, mark) {
            CellNumber::Null => "null".to_owned(),
            CellNumber::Plain(value) => value.to_string(),
            CellNumber::Other(value, currency, way) => {
                let way = if way == Way::Comma { "comma" } else { "dressed" };
                format!("{value} {way}{}", currency.map(|code| format!(" {code}")).unwrap_or_default())
            }
            CellNumber::Ambiguous(low, high) => format!("{low} or {high}"),
            CellNumber::Unreadable => "unreadable".to_owned(),
        }
    }

    #[test]
    fn reads_how_people_and_spreadsheets_write_money() {
        use DecimalMark::{Both, Comma, Point};
        for (text, mark, want) in [
            ("1.50", Point, "1.50"),
            ("-3", Point, "-3"),
            ("2.32E-9", Point, "0.00000000232"),
            ("", Point, "null"),
            ("  ", Point, "null"),
            ("NULL", Point, "null"),
            ("n/a", Point, "null"),
            ("None", Point, "null"),
            ("NaN", Point, "null"),
            ("-", Point, "null"),
            ("$10,000.00 ", Point, "10000.00 dressed $"),
            ("€ 12,50", Point, "12.50 comma EUR"),
            ("12.50 EUR", Point, "12.50 dressed EUR"),
            ("USD 3", Point, "3 dressed USD"),
            ("-$5.00", Point, "-5.00 dressed $"),
            ("($5.00)", Point, "-5.00 dressed $"),
            ("(1,234.5)", Point, "-1234.5 dressed"),
            ("5.00-", Point, "-5.00 dressed"),
            ("−2", Point, "-2 dressed"),
            ("+2", Point, "2 dressed"),
            (" 2.5", Point, "2.5 dressed"),
            (".5", Point, "0.5 dressed"),
            ("5.", Point, "5 dressed"),
            ("1,234", Point, "1234 dressed"),
            ("1,234", Comma, "1.234 comma"),
            ("1,234", Both, "1.234 or 1234"),
            ("0,123", Point, "0.123 comma"),
            ("12,5", Point, "12.5 comma"),
            ("1,5E-05", Point, "0.000015 comma"),
            ("1,234,567", Point, "1234567 dressed"),
            ("12,34,567.80", Point, "1234567.80 dressed"),
            ("1.234,56", Point, "1234.56 comma"),
            ("1.234.567,8", Point, "1234567.8 comma"),
            ("1.234", Comma, "1234 dressed"),
            ("1.23", Comma, "1.23 dressed"),
            ("12", Comma, "12"),
            ("1'234.50", Point, "1234.50 dressed"),
            ("1 234,50", Point, "1234.50 comma"),
            ("1\u{a0}234,50", Point, "1234.50 comma"),
            ("1,23,4", Point, "unreadable"),
            ("12 34", Point, "unreadable"),
            ("1.2.3", Point, "unreadable"),
            ("3 %", Point, "unreadable"),
            ("abc", Point, "unreadable"),
            ("2024-09-01", Point, "unreadable"),
            ("--5", Point, "unreadable"),
            ("1e999", Point, "unreadable"),
        ] {
            assert_eq!(told(text, mark), want, "{text}");
        }
    }

    #[test]
    fn a_cell_speaks_for_a_mark_only_where_it_can_be_no_other() {
        for (text, want) in [
            ("0.5", Some(DecimalMark::Point)),
            ("0,5", Some(DecimalMark::Comma)),
            ("1.234,56", Some(DecimalMark::Comma)),
            ("1,234.56", Some(DecimalMark::Point)),
            ("1,234", None),
            ("1.234", None),
            ("12", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(speaks_for(text), want, "{text}");
        }
    }

    #[test]
    fn words_of_none_are_none_and_names_are_not() {
        for text in ["", " ", "NULL", "null", "N/A", "\\N", "(null)"] {
            assert!(is_null(text), "{text}");
        }
        for text in ["NA", "None", "Nullable", "0", "-"] {
            assert!(!is_null(text), "{text}");
        }
    }
}
