//! The host's clock (`date`), for its offset from ours.

use super::{Parsed, Probe, words};
use crate::domain::evidence::Captured;
use crate::domain::facts::{Absent, Device, Value, keys};

/// The probe. Some `date` know no `%N` and leave it as it is.
pub const PROBE: Probe = Probe { id: "clock", parser: 1, command: "date +%s.%N", deadline_secs: 10, parse };

/// `clock` of the host: a whole number where the fraction is not known. The offset needs our own clock; see [`offset`].
fn parse(out: &Captured) -> Result<Parsed, Absent> {
    let line = out.text_lines().take(100).map(str::trim).find(|line| {
        let (secs, _) = line.split_once('.').unwrap_or((line, ""));
        (9..=12).contains(&secs.len()) && secs.bytes().all(|b| b.is_ascii_digit())
    });
    let Some(line) = line else { return Err(words::why_nothing(out, "date")) };
    let (secs, fraction) = line.split_once('.').unwrap_or((line, ""));
    let whole = fraction.is_empty() || !fraction.bytes().all(|b| b.is_ascii_digit());
    let mut parsed = Parsed::default();
    let value = if whole { words::int(secs) } else { words::float(line) };
    parsed.push(&Device::host(), keys::CLOCK, value, "s");
    Ok(parsed)
}

/// Adds `clock_offset` (host minus ours) and `clock_offset_uncertainty`, both in seconds.
///
/// `sent_secs` and `received_secs` are our clock, in seconds since 1970, just before the command was sent and just after
/// its answer came. The host is taken to have answered in the middle; half the round trip is the uncertainty, and half a
/// second more where the host gives whole seconds.
pub fn offset(parsed: &mut Parsed, sent_secs: f64, received_secs: f64) {
    let (host_secs, half_step) = match parsed.get(&Device::host(), &keys::CLOCK) {
        Some(Value::Float(secs)) => (*secs, 0.0),
        Some(whole @ Value::Int(_)) => (whole.as_f64().unwrap_or_default() + 0.5, 0.5),
        _ => return,
    };
    let host = Device::host();
    let middle = sent_secs + (received_secs - sent_secs) / 2.0;
    let uncertainty = (received_secs - sent_secs).abs() / 2.0 + half_step;
    parsed.push(&host, keys::CLOCK_OFFSET, Ok(Value::Float(host_secs - middle)), "s");
    parsed.push(&host, keys::CLOCK_OFFSET_UNCERTAINTY, Ok(Value::Float(uncertainty)), "s");
}

#[cfg(test)]
mod tests {
    use super::super::captures::{check_out, from_text};
    use super::*;

    #[test]
    fn reads_every_date() {
        for (text, want) in [
            ("1790000000.250000000\n", "host clock 1790000000.25 s"),
            ("Welcome\n1790000000.5\n", "host clock 1790000000.5 s"),
            ("1790000000.N\n", "host clock 1790000000 s"),
            ("1790000000.%N\n", "host clock 1790000000 s"),
            ("1790000000\n", "host clock 1790000000 s"),
            ("Mon Jan 1\n", "the output is not what the parser knows: Mon Jan 1"),
        ] {
            check_out(&PROBE, text, &from_text(text, "", 0), want);
        }
    }

    #[test]
    fn the_offset_stands_in_the_middle_of_the_round_trip() {
        for (text, offset_secs, uncertainty) in [("1790000010.25", 10.0, 0.25), ("1790000010.%N", 10.25, 0.75)] {
            let mut parsed = parse(&from_text(text, "", 0)).unwrap();
            offset(&mut parsed, 1_790_000_000.0, 1_790_000_000.5);
            let got = [keys::CLOCK_OFFSET, keys::CLOCK_OFFSET_UNCERTAINTY]
                .map(|key| parsed.get(&Device::host(), &key).and_then(Value::as_f64));
            assert_eq!(got, [Some(offset_secs), Some(uncertainty)], "{text}");
        }
    }
}
