//! What a report says, chapter by chapter.

mod acceptance;
mod brief;
mod candidates;
mod cost;
mod curves;
mod decision;
mod evidence;
mod found;
mod head;
mod memory;
mod redact;
mod runs;

use std::collections::BTreeSet;

use chrono::{DateTime, FixedOffset};
use num_rational::BigRational;

use super::doc::{Block, Doc, Line, MarkWords, Part};
use super::{Compared, Report};
use crate::domain::evidence::Kind;
use crate::domain::figure::{Answer, Figure, Origin};
use crate::domain::format;
use crate::domain::money::{Exact, round_to_places};
use crate::domain::text::{ReportText, Text, fill};

/// What every chapter needs.
struct Ctx<'a> {
    report: &'a Report<'a>,
    text: &'a Text,
    w: &'a ReportText,
    /// What is left out of words of machines.
    names: BTreeSet<String>,
}

/// What a chapter says.
type Chapter = fn(&Ctx<'_>) -> Vec<Block>;

/// The report as a document.
pub(super) fn doc(report: &Report<'_>, text: &Text) -> Doc {
    let ctx = Ctx { report, text, w: &text.report, names: redact::known_names(report) };
    let mut blocks = head::head(&ctx);
    let chapters: [(&str, Chapter); 10] = [
        (&ctx.w.chapter_decision, decision::decision),
        (&ctx.w.chapter_brief, brief::brief),
        (&ctx.w.chapter_candidates, candidates::candidates),
        (&ctx.w.chapter_found, found::found),
        (&ctx.w.chapter_memory, memory::memory),
        (&ctx.w.chapter_curves, curves::curves),
        (&ctx.w.chapter_cost, cost::cost),
        (&ctx.w.chapter_acceptance, acceptance::acceptance),
        (&ctx.w.chapter_definitions, evidence::definitions),
        (&ctx.w.chapter_evidence, evidence::list),
    ];
    for (number, (title, chapter)) in (1..).zip(chapters) {
        blocks.push(Block::Chapter(number, title.to_owned()));
        blocks.extend(chapter(&ctx));
    }
    let common = &text.common;
    let origins = [&common.declared, &common.predicted, &common.measured, &common.derived];
    let marks = [&common.pass, &common.fail, &common.inconclusive, &common.not_tested, &common.stale, &common.waived];
    Doc {
        lang: ctx.w.html_lang.clone(),
        title: ctx.project_name(),
        blocks,
        words: MarkWords { origins: origins.map(Clone::clone), marks: marks.map(Clone::clone) },
    }
}

impl Ctx<'_> {
    fn project_name(&self) -> String {
        let name = self.report.plan.name.trim();
        if name.is_empty() { self.w.unnamed.clone() } else { name.to_owned() }
    }

    /// A candidate as the head of a column: marker, name, and one line about it.
    fn candidate_head(&self, compared: &Compared<'_>) -> Line {
        let line = self.candidate(compared);
        let short = compared.candidate.short.trim();
        if short.is_empty() { line } else { line.br().muted(short) }
    }

    /// A candidate's marker and name.
    fn candidate(&self, compared: &Compared<'_>) -> Line {
        Line::new()
            .with(Part::Series(compared.candidate.series))
            .strong(named(&compared.candidate.name, compared.candidate.id.as_str()))
    }

    /// An amount with its currency, or what keeps it from existing.
    fn money(&self, answer: &Answer<Exact>, digits: Digits) -> Line {
        match answer {
            Ok(figure) => {
                let line = Line::number(figure.origin, digits.show(&figure.value), figure.value.currency.code());
                with_interval(line, figure.interval.as_ref(), |amount| digits.show(amount))
            }
            Err(gap) => Line::absent(self.text.gap(gap)),
        }
    }

    /// A count that is exact while it is computed.
    fn big_count(&self, answer: &Answer<BigRational>) -> Line {
        let show = |value: &BigRational| format::group_thousands(&round_to_places(value, 0));
        match answer {
            Ok(figure) => {
                with_interval(Line::number(figure.origin, show(&figure.value), ""), figure.interval.as_ref(), show)
            }
            Err(gap) => Line::absent(self.text.gap(gap)),
        }
    }

    /// What a machine said, without names, addresses and serial numbers unless they are asked for.
    fn said(&self, words: &str) -> String {
        if self.report.with_addresses { words.to_owned() } else { redact::redact(words, &self.names, &self.w.left_out) }
    }

    /// The kind of a record where it is not real, as a remark.
    fn kind_remark(&self, kind: Kind) -> Option<&str> {
        (kind != Kind::Real).then(|| self.text.kind(kind))
    }

    /// A text of the plan, or that it was not stated.
    fn stated(&self, words: &str) -> Line {
        if words.trim().is_empty() {
            Line::absent(&self.text.common.not_stated)
        } else {
            Line::number(Origin::Declared, words.trim(), "")
        }
    }

    /// A typed value of the plan with its unit, or that it was not stated.
    fn stated_value(&self, value: Option<String>, unit: &str) -> Line {
        match value {
            Some(value) => Line::number(Origin::Declared, value, unit),
            None => Line::absent(&self.text.common.not_stated),
        }
    }
}

/// A share as per cent with its interval below.
fn share(figure: &Figure<f64>) -> Line {
    let percent = |share: &f64| format::fixed(share * 100.0, 2);
    with_interval(Line::number(figure.origin, percent(&figure.value), "%"), figure.interval.as_ref(), percent)
}

/// The line with the interval below it.
fn with_interval<T>(line: Line, bounds: Option<&(T, T)>, show: impl Fn(&T) -> String) -> Line {
    match bounds {
        Some((low, high)) => line.br().muted(interval(&show(low), &show(high))),
        None => line,
    }
}

/// An interval as shown, on one line.
fn interval(low: &str, high: &str) -> String {
    format!("[{low},\u{a0}{high}]")
}

/// A moment as shown.
fn moment(at: &DateTime<FixedOffset>) -> Line {
    Line::new().whole(format::moment(at))
}

/// The same text with blanks at which no line ends.
fn one_line(text: &str) -> String {
    text.replace(' ', "\u{a0}")
}

/// How an amount is rounded.
#[derive(Debug, Clone, Copy)]
enum Digits {
    /// To the minor units of its currency.
    Minor,
    /// To four significant digits: the cost of one piece of work.
    Four,
}

impl Digits {
    fn show(self, amount: &Exact) -> String {
        match self {
            Self::Minor => amount.show(),
            Self::Four => amount.show_significant(4),
        }
    }
}

/// A number as a person typed it, with comma thousands.
fn plain(value: f64) -> String {
    format::group_thousands(&value.to_string())
}

/// A name, or the id where there is none.
fn named<'a>(name: &'a str, id: &'a str) -> &'a str {
    if name.trim().is_empty() { id } else { name.trim() }
}

/// Words with their placeholders filled.
fn filled(words: &str, values: &[(&str, &dyn ToString)]) -> String {
    let values: Vec<(&str, String)> = values.iter().map(|(name, value)| (*name, value.to_string())).collect();
    fill(words, &values)
}
