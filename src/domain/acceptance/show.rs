//! A criterion and its verdict in words, the same on screen, in reports and on the command line.

use super::{Comparison, Criterion, Metric, Verdict, Why};
use crate::domain::format;
use crate::domain::text::{Text, fill};

/// What a criterion states: a person's words, or those of its metric.
#[must_use]
pub fn statement<'a>(criterion: &'a Criterion, text: &'a Text) -> &'a str {
    if criterion.words.is_empty() { text.metric(criterion.metric) } else { text.name(&criterion.words) }
}

/// What the value must be ("≤ 500 ms"); `threshold` is resolved, `None` where the brief or the offer sets none.
#[must_use]
pub fn must_be(criterion: &Criterion, threshold: Option<f64>, text: &Text) -> String {
    let Some(threshold) = threshold else { return text.name("not_set").to_owned() };
    match (criterion.metric, criterion.comparison) {
        (Metric::GpuModel, _) => text.name("as_promised").to_owned(),
        (Metric::Attested, _) => text.name("attested").to_owned(),
        (metric, Comparison::AtMost) => format!("≤ {}", value(metric, threshold, text)),
        (metric, Comparison::AtLeast) => format!("≥ {}", value(metric, threshold, text)),
        (metric, Comparison::Equals) => format!("= {}", value(metric, threshold, text)),
    }
}

/// A value of a metric with its unit ("388 ms", "97.88 %").
#[must_use]
pub fn value(metric: Metric, value: f64, text: &Text) -> String {
    let number = number(metric, value);
    match metric {
        Metric::GpuModel => text.name(if value == 1.0 { "as_promised" } else { "not_as_promised" }).to_owned(),
        Metric::Attested => text.name(if value == 1.0 { "attested" } else { "attested_not" }).to_owned(),
        metric => match unit(metric) {
            "" => number,
            "%" => format!("{number}\u{202f}%"),
            unit => format!("{number} {unit}"),
        },
    }
}

/// An interval of a metric without its unit ("[380, 396]").
#[must_use]
pub fn interval(metric: Metric, (low, high): (f64, f64)) -> String {
    format!("[{}, {}]", number(metric, low), number(metric, high))
}

fn number(metric: Metric, value: f64) -> String {
    match metric {
        Metric::TtftP95 | Metric::ItlP95 | Metric::E2eP95 | Metric::OutputRate => format::short(value),
        Metric::ErrorShare | Metric::AcceptedShare | Metric::UsageCounted => format::fixed(value * 100.0, 2),
        Metric::ClockOffset => format::fixed(value, 3),
        Metric::GpuMemory => format::fixed(value, 0),
        _ => format::fixed(value, usize::from(value.fract() != 0.0)),
    }
}

/// Unit of a metric as shown, or empty for a count.
#[must_use]
pub const fn unit(metric: Metric) -> &'static str {
    match metric {
        Metric::TtftP95 | Metric::ItlP95 | Metric::E2eP95 => "ms",
        Metric::ErrorShare | Metric::AcceptedShare | Metric::UsageCounted => "%",
        Metric::ClockOffset => "s",
        Metric::GpuMemory => "MiB",
        Metric::OutputRate => "tok/s",
        _ => "",
    }
}

/// Why a verdict is what it is, in words.
#[must_use]
pub fn why(verdict: Verdict, why: &Why, text: &Text) -> String {
    let plain = |name: &str| text.name(name).to_owned();
    match why {
        Why::Compared if verdict == Verdict::Pass => plain("because_kept"),
        Why::Compared => plain("because_broken"),
        Why::Straddles => plain("because_straddles"),
        Why::FewSamples { have, need } => {
            fill(text.name("because_few_samples"), &[("have", format::count(*have)), ("need", format::count(*need))])
        }
        Why::NeverRun => plain("because_never_run"),
        Why::Skipped => plain("because_skipped"),
        Why::CouldNotRun(detail) => {
            fill(text.name("because_could_not_run"), &[("detail", text.name(detail).to_owned())])
        }
        Why::BelowPeak { reached, peak } => fill(
            text.name("because_below_peak"),
            &[("reached", format::short(*reached)), ("peak", format::short(*peak))],
        ),
        Why::OnlyPractice => plain("because_only_practice"),
        Why::OnlyInvalid => plain("because_only_invalid"),
        Why::NoThreshold => plain("because_no_threshold"),
        Why::Changed(what) => fill(text.name("because_changed"), &[("what", text.name(what).to_owned())]),
    }
}
