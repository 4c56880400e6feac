//! Instants, local days and months of a zone, and renewals that keep their day.

use chrono::{
    DateTime, Datelike as _, Days, LocalResult, Months, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, TimeZone as _,
    Utc,
};
use chrono_tz::Tz;
use num_bigint::BigInt;

use super::number::Q;

/// An instant.
pub(super) type At = DateTime<Utc>;

/// A half-open span of time.
pub(super) type Span = (At, At);

/// A point in time as it was written: with its offset, local, or a whole date.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moment {
    /// As written.
    pub text: String,
    kind: MomentKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum MomentKind {
    Fixed(At),
    Local(NaiveDateTime),
    Date(NaiveDate),
}

impl Moment {
    /// Reads `"2026-10-31T15:00:00Z"`, `"2026-10-31T15:00+08:00"`, `"2026-10-31T15:00"` (local) or `"2026-10-31"`.
    ///
    /// # Errors
    /// Words for anything else.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let kind = if let Ok(fixed) = DateTime::parse_from_rfc3339(text) {
            MomentKind::Fixed(fixed.with_timezone(&Utc))
        } else if let Some(fixed) = ["%Y-%m-%dT%H:%M%:z", "%Y-%m-%dT%H:%M%#z"]
            .iter()
            .find_map(|format| DateTime::parse_from_str(&text.replace('Z', "+00:00"), format).ok())
        {
            MomentKind::Fixed(fixed.with_timezone(&Utc))
        } else if let Some(local) = ["%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S%.f"]
            .iter()
            .find_map(|format| NaiveDateTime::parse_from_str(text, format).ok())
        {
            MomentKind::Local(local)
        } else if let Ok(date) = NaiveDate::parse_from_str(text, "%Y-%m-%d") {
            MomentKind::Date(date)
        } else {
            return Err(format!(
                "\"{text}\" is no instant, as \"2026-10-31T15:00Z\", \"2026-10-31T15:00\" or \"2026-10-31\""
            ));
        };
        Ok(Self { text: text.to_owned(), kind })
    }

    /// The instant, local times and dates read in `zone`.
    ///
    /// # Errors
    /// Words when no zone is stated, and for an hour that the zone has twice or not at all.
    pub fn at(&self, zone: Option<Tz>) -> Result<At, String> {
        let zone = || zone.ok_or_else(|| format!("\"{}\" has no offset, and no zone is stated", self.text));
        match self.kind {
            MomentKind::Fixed(at) => Ok(at),
            MomentKind::Date(date) => Ok(day_start(date, zone()?)),
            MomentKind::Local(local) => {
                let zone = zone()?;
                match zone.from_local_datetime(&local) {
                    LocalResult::Single(at) => Ok(at.with_timezone(&Utc)),
                    LocalResult::Ambiguous(first, second) => Err(format!(
                        "\"{}\" happens twice in {zone}: write \"{}\" or \"{}\"",
                        self.text,
                        first.format("%Y-%m-%dT%H:%M%:z"),
                        second.format("%Y-%m-%dT%H:%M%:z")
                    )),
                    LocalResult::None => {
                        Err(format!("\"{}\" does not exist in {zone}: the clock was put forward over it", self.text))
                    }
                }
            }
        }
    }

    /// The date, where a whole date was written.
    #[must_use]
    pub fn date(&self) -> Option<NaiveDate> {
        if let MomentKind::Date(date) = self.kind { Some(date) } else { None }
    }
}

/// The zone with this IANA name.
///
/// # Errors
/// Words when there is none.
pub(super) fn zone(name: &str) -> Result<Tz, String> {
    name.parse().map_err(|_unknown| format!("\"{name}\" is no time zone, as \"Europe/Berlin\" or \"UTC\""))
}

/// The first instant of a local day.
#[must_use]
pub(super) fn day_start(date: NaiveDate, zone: Tz) -> At {
    // Some zones put the clock forward at midnight: the day then begins later.
    let midnight = date.and_time(NaiveTime::MIN);
    (0..16_i64)
        .filter_map(|quarter| zone.from_local_datetime(&(midnight + TimeDelta::minutes(15 * quarter))).earliest())
        .next()
        .map_or_else(|| midnight.and_utc(), |at| at.with_timezone(&Utc))
}

/// The local day in which an instant lies.
#[must_use]
pub(super) fn day_of(at: At, zone: Tz) -> NaiveDate {
    at.with_timezone(&zone).date_naive()
}

/// The span of a local day.
#[must_use]
pub(super) fn day_span(date: NaiveDate, zone: Tz) -> Span {
    (day_start(date, zone), day_start(date.checked_add_days(Days::new(1)).unwrap_or(date), zone))
}

/// The first day of the local month in which an instant lies.
#[must_use]
pub(super) fn month_of(at: At, zone: Tz) -> NaiveDate {
    let day = day_of(at, zone);
    day.with_day(1).unwrap_or(day)
}

/// The span of the local month with this first day.
#[must_use]
pub(super) fn month_span(first: NaiveDate, zone: Tz) -> Span {
    (day_start(first, zone), day_start(first.checked_add_months(Months::new(1)).unwrap_or(first), zone))
}

/// Reads `"2026-10"` as its first day.
///
/// # Errors
/// Words for anything else.
pub(super) fn month(text: &str) -> Result<NaiveDate, String> {
    NaiveDate::parse_from_str(&format!("{text}-01"), "%Y-%m-%d")
        .map_err(|_other| format!("\"{text}\" is no month, as \"2026-10\""))
}

/// Reads `"2026-10-25"`.
///
/// # Errors
/// Words for anything else.
pub(super) fn date(text: &str) -> Result<NaiveDate, String> {
    NaiveDate::parse_from_str(text, "%Y-%m-%d").map_err(|_other| format!("\"{text}\" is no date, as \"2026-10-25\""))
}

/// Seconds from one instant to another, below zero when the second is earlier.
#[must_use]
pub(super) fn secs(from: At, to: At) -> Q {
    let delta = to - from;
    let nanos = BigInt::from(delta.num_seconds()) * BigInt::from(1_000_000_000) + BigInt::from(delta.subsec_nanos());
    Q::new(nanos, BigInt::from(1_000_000_000))
}

/// Dates that lie `step` months after each other, each counted from the anchor so that 31 January gives 31 March.
#[must_use]
pub(super) fn renewals(anchor: NaiveDate, step: u32, count: u32) -> Vec<NaiveDate> {
    (1..=count).filter_map(|n| anchor.checked_add_months(Months::new(step.saturating_mul(n)))).collect()
}

/// The month counted from an anchor in which an instant lies: from its day of a month to the same day of the next one.
pub(super) fn anniversary(at: At, anchor: At, zone: Tz) -> Span {
    let local = anchor.with_timezone(&zone).naive_local();
    // Each one is counted from the anchor, so that 31 January comes back to 31 March.
    let nth = |n: u32| {
        let moved = local.checked_add_months(Months::new(n)).unwrap_or(local);
        zone.from_local_datetime(&moved).earliest().map_or_else(|| moved.and_utc(), |at| at.with_timezone(&Utc))
    };
    let (day, first) = (at.with_timezone(&zone).date_naive(), local.date());
    let months = (day.year() - first.year()) * 12 + i32::try_from(day.month0()).unwrap_or(0)
        - i32::try_from(first.month0()).unwrap_or(0);
    let guess = u32::try_from(months).unwrap_or(0);
    // An instant before the day of the month belongs to the month that began in the one before.
    let n = if nth(guess) > at { guess.saturating_sub(1) } else { guess };
    (nth(n), nth(n + 1))
}

/// The part of `span` inside `window`; `None` when they do not meet.
#[must_use]
pub(super) fn meet(span: Span, window: Span) -> Option<Span> {
    let (from, to) = (span.0.max(window.0), span.1.min(window.1));
    (from < to).then_some((from, to))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::cost::number::show;

    fn berlin() -> Tz {
        zone("Europe/Berlin").unwrap()
    }

    #[test]
    fn hours_that_happen_twice_or_never_are_told() {
        for (text, want) in [
            ("2026-10-25T01:30", Ok("2026-10-24T23:30:00Z")),
            (
                "2026-10-25T02:30",
                Err("\"2026-10-25T02:30\" happens twice in Europe/Berlin: write \"2026-10-25T02:30+02:00\" or \
                     \"2026-10-25T02:30+01:00\""),
            ),
            ("2026-10-25T02:30+01:00", Ok("2026-10-25T01:30:00Z")),
            (
                "2026-03-29T02:30",
                Err("\"2026-03-29T02:30\" does not exist in Europe/Berlin: the clock was put forward over it"),
            ),
            ("2026-10-25", Ok("2026-10-24T22:00:00Z")),
            ("2026-10-31T15:00Z", Ok("2026-10-31T15:00:00Z")),
        ] {
            let got = Moment::parse(text).unwrap().at(Some(berlin()));
            let got = got.map(|at| at.to_rfc3339_opts(chrono::SecondsFormat::Secs, true));
            assert_eq!(got, want.map(str::to_owned).map_err(str::to_owned), "{text}");
        }
        assert!(Moment::parse("31.10.2026").is_err());
        assert!(Moment::parse("2026-10-25").unwrap().at(None).is_err());
    }

    #[test]
    fn days_and_months_have_their_real_length() {
        let hours = |span: Span| show(&(secs(span.0, span.1) / super::super::number::whole(3600)));
        assert_eq!(hours(day_span(date("2026-10-25").unwrap(), berlin())), "25");
        assert_eq!(hours(day_span(date("2026-03-29").unwrap(), berlin())), "23");
        assert_eq!(hours(month_span(month("2026-10").unwrap(), berlin())), "745");
        assert_eq!(hours(month_span(month("2028-02").unwrap(), chrono_tz::UTC)), "696");
    }

    #[test]
    fn renewals_keep_the_day_they_started_on() {
        let dates: Vec<String> = renewals(date("2027-01-31").unwrap(), 1, 4).iter().map(ToString::to_string).collect();
        assert_eq!(dates, ["2027-02-28", "2027-03-31", "2027-04-30", "2027-05-31"]);
    }
}
