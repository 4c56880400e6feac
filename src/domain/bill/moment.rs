//! Instants as bills write them, and how far they are from what the formats ask for.

use chrono::{NaiveDate, NaiveDateTime};

/// A time that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Moment {
    /// Seconds since 1970 in UTC; a time without a zone is taken as UTC.
    pub secs: i64,
    /// How it was written.
    pub form: Form,
    /// Whether it names a day and no time.
    pub is_day: bool,
}

/// How a time was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// ISO 8601 with its zone, or a plain day.
    Iso,
    /// ISO 8601 without seconds.
    NoSeconds,
    /// A date and time without a zone.
    NoZone,
    /// Month/day/year.
    MonthFirst,
    /// Day/month/year, or with points, or without separators.
    OtherOrder,
    /// Seconds or milliseconds since 1970.
    Unix,
}

/// Why a text is no time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoMoment {
    /// It looks like a time, and no such time exists (hour 30, 30 February).
    Impossible,
    /// It does not look like one.
    Unreadable,
}

/// Reads a time.
///
/// # Errors
/// `NoMoment` for what is no time.
pub(super) fn read(text: &str) -> Result<Moment, NoMoment> {
    let text = text.trim();
    if text.len() > 40 {
        return Err(NoMoment::Unreadable);
    }
    if text.len() >= 9 && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return unix(text);
    }
    let (date, time) = match text.find(['T', 't', ' ']) {
        Some(at) => (text.get(..at).unwrap_or_default(), text.get(at + 1..).unwrap_or_default().trim()),
        None => (text, ""),
    };
    let (day, form) = day(date)?;
    if time.is_empty() {
        return Ok(Moment { secs: at_midnight(day), form, is_day: true });
    }
    let (secs, zone, has_seconds) = clock(time)?;
    let form = match (form, zone, has_seconds) {
        (Form::Iso, None, _) => Form::NoZone,
        (Form::Iso, Some(_), false) => Form::NoSeconds,
        (form, ..) => form,
    };
    Ok(Moment { secs: at_midnight(day) + secs - zone.unwrap_or(0), form, is_day: false })
}

fn at_midnight(day: NaiveDate) -> i64 {
    NaiveDateTime::from(day).and_utc().timestamp()
}

/// Seconds or milliseconds since 1970, or a day as eight digits.
fn unix(text: &str) -> Result<Moment, NoMoment> {
    let value: i64 = text.parse().map_err(|_too_long: std::num::ParseIntError| NoMoment::Unreadable)?;
    match text.len() {
        9..=11 => Ok(Moment { secs: value, form: Form::Unix, is_day: false }),
        12..=14 => Ok(Moment { secs: value / 1000, form: Form::Unix, is_day: false }),
        _ => Err(NoMoment::Unreadable),
    }
}

/// A whole number of at most four digits.
fn number(text: &str) -> Option<u32> {
    (!text.is_empty() && text.len() <= 4 && text.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| text.parse().ok())
        .flatten()
}

fn ymd(year: u32, month: u32, day: u32) -> Result<NaiveDate, NoMoment> {
    let year = i32::try_from(year).unwrap_or(i32::MAX);
    NaiveDate::from_ymd_opt(year, month, day).ok_or(NoMoment::Impossible)
}

fn day(text: &str) -> Result<(NaiveDate, Form), NoMoment> {
    if text.len() == 8
        && let (Some(year), Some(month), Some(day)) =
            (number(text.get(..4).unwrap_or_default()), text.get(4..6).and_then(number), text.get(6..).and_then(number))
    {
        return Ok((ymd(year, month, day)?, Form::OtherOrder));
    }
    let three = |mark: char| {
        let mut parts = text.split(mark);
        let three = [parts.next()?, parts.next()?, parts.next()?];
        parts.next().is_none().then_some(three)
    };
    let full_year = |year: u32, text: &str| if text.len() == 2 { 2000 + year } else { year };
    if let Some([a, b, c]) = three('-').or_else(|| three('/')).or_else(|| three('.')) {
        let (Some(first), Some(second), Some(third)) = (number(a), number(b), number(c)) else {
            return Err(NoMoment::Unreadable);
        };
        if a.len() == 4 {
            let form = if text.contains('-') && b.len() == 2 && c.len() == 2 { Form::Iso } else { Form::OtherOrder };
            return Ok((ymd(first, second, third)?, form));
        }
        if c.len() != 4 && c.len() != 2 {
            return Err(NoMoment::Unreadable);
        }
        let year = full_year(third, c);
        // With points the day comes first; with slashes it does where it can be no month.
        if text.contains('.') || (first > 12 && second <= 12) {
            return Ok((ymd(year, second, first)?, Form::OtherOrder));
        }
        return Ok((ymd(year, first, second)?, Form::MonthFirst));
    }
    Err(NoMoment::Unreadable)
}

/// Seconds of the day, seconds east of UTC where a zone is written, and whether seconds are written.
fn clock(text: &str) -> Result<(i64, Option<i64>, bool), NoMoment> {
    let (text, zone) = zone_of(text)?;
    let (text, half) = match text.get(text.len().saturating_sub(2)..) {
        Some(half) if half.eq_ignore_ascii_case("am") || half.eq_ignore_ascii_case("pm") => {
            (text.get(..text.len() - 2).unwrap_or_default().trim_end(), Some(half.eq_ignore_ascii_case("pm")))
        }
        _ => (text, None),
    };
    let text = text.split_once(['.', ',']).map_or(text, |(whole, _)| whole);
    let mut parts = text.split(':');
    let mut next = || match parts.next() {
        None => Ok(None),
        Some(part) => number(part).map(Some).ok_or(NoMoment::Unreadable),
    };
    let (Some(mut hour), Some(minute), second) = (next()?, next()?, next()?) else { return Err(NoMoment::Unreadable) };
    if next()?.is_some() {
        return Err(NoMoment::Unreadable);
    }
    if let Some(afternoon) = half {
        if !(1..=12).contains(&hour) {
            return Err(NoMoment::Impossible);
        }
        hour = hour % 12 + if afternoon { 12 } else { 0 };
    }
    // 24:00:00 is the end of the day; no other time has that hour.
    let is_end_of_day = hour == 24 && minute == 0 && second.unwrap_or(0) == 0;
    if (hour > 23 && !is_end_of_day) || minute > 59 || second.unwrap_or(0) > 60 {
        return Err(NoMoment::Impossible);
    }
    Ok((i64::from(hour) * 3600 + i64::from(minute) * 60 + i64::from(second.unwrap_or(0)), zone, second.is_some()))
}

fn zone_of(text: &str) -> Result<(&str, Option<i64>), NoMoment> {
    for name in ["Z", "z", " UTC", "UTC", " GMT"] {
        if let Some(rest) = text.strip_suffix(name) {
            return Ok((rest, Some(0)));
        }
    }
    let Some(at) = text.rfind(['+', '-']) else { return Ok((text, None)) };
    let (clock, zone) = (text.get(..at).unwrap_or_default(), text.get(at..).unwrap_or_default());
    let digits: String = zone.chars().filter(char::is_ascii_digit).collect();
    let (hours, minutes) = match digits.len() {
        2 => (digits.as_str(), "0"),
        4 => digits.split_at(2),
        _ => return Err(NoMoment::Unreadable),
    };
    let (Some(hours), Some(minutes)) = (number(hours), number(minutes)) else { return Err(NoMoment::Unreadable) };
    if hours > 14 || minutes > 59 {
        return Err(NoMoment::Impossible);
    }
    let secs = i64::from(hours) * 3600 + i64::from(minutes) * 60;
    Ok((clock.trim_end(), Some(if zone.starts_with('-') { -secs } else { secs })))
}

/// As "2026-10-01T00:00:00Z"; as the number of seconds where that is no date a calendar holds.
#[must_use]
pub(super) fn show(secs: i64) -> String {
    chrono::DateTime::from_timestamp(secs, 0)
        .map_or_else(|| secs.to_string(), |time| time.format("%Y-%m-%dT%H:%M:%SZ").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_times_as_bills_write_them_and_says_how() {
        use Form::{Iso, MonthFirst, NoSeconds, NoZone, OtherOrder, Unix};
        for (text, want) in [
            ("2026-10-01T00:00:00Z", Ok(("2026-10-01T00:00:00Z", Iso))),
            ("2023-11-01T00:00:00.000Z", Ok(("2023-11-01T00:00:00Z", Iso))),
            ("2026-10-01T02:00:00+02:00", Ok(("2026-10-01T00:00:00Z", Iso))),
            ("2026-10-01T02:00:00-0130", Ok(("2026-10-01T03:30:00Z", Iso))),
            ("2024-09-05 00:00:00", Ok(("2024-09-05T00:00:00Z", NoZone))),
            ("2023-11-13T07:00Z", Ok(("2023-11-13T07:00:00Z", NoSeconds))),
            ("2024-09-05", Ok(("2024-09-05T00:00:00Z", Iso))),
            ("9/2/2023", Ok(("2023-09-02T00:00:00Z", MonthFirst))),
            ("5/1/25", Ok(("2025-05-01T00:00:00Z", MonthFirst))),
            ("9/2/2023 1:30 PM", Ok(("2023-09-02T13:30:00Z", MonthFirst))),
            ("31/12/2025", Ok(("2025-12-31T00:00:00Z", OtherOrder))),
            ("01.10.2026", Ok(("2026-10-01T00:00:00Z", OtherOrder))),
            ("20230901", Ok(("2023-09-01T00:00:00Z", OtherOrder))),
            ("1767225600", Ok(("2026-01-01T00:00:00Z", Unix))),
            ("1767225600000", Ok(("2026-01-01T00:00:00Z", Unix))),
            ("2026-10-01T24:00:00Z", Ok(("2026-10-02T00:00:00Z", Iso))),
            ("2023-02-01T30:00:00Z", Err(NoMoment::Impossible)),
            ("2023-02-30", Err(NoMoment::Impossible)),
            ("13/13/2023", Err(NoMoment::Impossible)),
            ("2023-02-01T10:61:00Z", Err(NoMoment::Impossible)),
            ("soon", Err(NoMoment::Unreadable)),
            ("", Err(NoMoment::Unreadable)),
            ("1.2", Err(NoMoment::Unreadable)),
        ] {
            let got = read(text).map(|moment| (show(moment.secs), moment.form));
            assert_eq!(got, want.map(|(time, form)| (time.to_owned(), form)), "{text}");
        }
    }
}
