//! Every word the program says, typed, in both languages: screens, reports, command line, errors.
//!
//! The words stand in `assets/text/<language>.ron`, one section a subject. A missing or surplus word is a failing test.
//! It lives in `domain` since reports and the command line speak too.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use super::bill::FindingKind;
use super::facts::{Absent, AbsentKind};
use super::failure::{Failure, FailureKind};
use super::figure::{Gap, GapKind};
use super::memory::{SourceError, SourceNote};

/// Declares a section: a struct of words.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($field:ident),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone)]
        #[allow(missing_docs, reason = "the words in assets/text are their own documentation")]
        pub struct $name {
            $(pub $field: String,)*
        }

        // Not derived: serde's code for a struct of two hundred fields takes minutes to compile.
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                super::section(deserializer, stringify!($name), &[$(stringify!($field)),*]).map(Self::of)
            }
        }

        impl $name {
            fn of(mut words: std::collections::BTreeMap<String, String>) -> Self {
                Self { $($field: words.remove(stringify!($field)).unwrap_or_default(),)* }
            }
        }

        impl $name {
            /// Every word with its name, for tests.
            #[must_use]
            pub fn entries(&self) -> Vec<(&'static str, &str)> {
                vec![$((stringify!($field), self.$field.as_str())),*]
            }
        }
    };
}

mod acceptance;
mod brief;
mod candidates;
mod cli;
mod common;
mod cost;
mod curves;
mod decision;
mod hosts;
mod load;
mod memory;
mod names;
mod report;
mod shell;

pub use acceptance::AcceptanceText;
pub use brief::BriefText;
pub use candidates::CandidatesText;
pub use cli::CliText;
pub use common::CommonText;
pub use cost::CostText;
pub use curves::CurvesText;
pub use decision::DecisionText;
pub use hosts::HostsText;
pub use load::LoadText;
pub use memory::MemoryText;
pub use report::ReportText;
pub use shell::ShellText;

/// A language of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Language {
    /// English.
    #[default]
    #[serde(rename = "en")]
    En,
    /// Simplified Chinese.
    #[serde(rename = "zh-Hans")]
    ZhHans,
}

impl Language {
    /// Both.
    pub const ALL: [Self; 2] = [Self::En, Self::ZhHans];

    /// The tag ("en", "zh-Hans").
    #[must_use]
    pub const fn tag(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::ZhHans => "zh-Hans",
        }
    }
}

/// All words of one language.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Text {
    /// Words used in many places: verdicts, origins, units, buttons.
    pub common: CommonText,
    /// Window frame: bar, rail, job strip, dialogs, palette.
    pub shell: ShellText,
    /// Step 1.
    pub brief: BriefText,
    /// Step 2.
    pub memory: MemoryText,
    /// Step 3.
    pub candidates: CandidatesText,
    /// Step 4.
    pub hosts: HostsText,
    /// Step 5.
    pub load: LoadText,
    /// Step 6.
    pub curves: CurvesText,
    /// Step 7.
    pub cost: CostText,
    /// Step 8.
    pub acceptance: AcceptanceText,
    /// Step 9.
    pub decision: DecisionText,
    /// Reports.
    pub report: ReportText,
    /// Command line.
    pub cli: CliText,
    /// Errors: tried and happened, and what to do.
    pub failures: BTreeMap<FailureKind, FailureWords>,
    /// Why a value does not exist.
    pub gaps: BTreeMap<GapKind, String>,
    /// Why a fact has no value; `{detail}` is the tool's own sentence or name.
    pub absents: BTreeMap<AbsentKind, String>,
    /// Advice by finding code.
    pub findings: BTreeMap<String, String>,
    /// What a deviation of a bill does to its totals.
    pub bill_findings: BTreeMap<FindingKind, String>,
    /// Names of fields, formula inputs and facts, by their snake-case name.
    pub names: BTreeMap<String, String>,
}

/// Words of one kind of failure.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FailureWords {
    /// What was tried and what happened.
    pub what: String,
    /// What to do.
    pub hint: String,
}

impl Text {
    /// The words of a language, read once.
    ///
    /// The texts are part of the program and a test reads both, so a fault in them cannot reach a user.
    #[must_use]
    pub fn of(language: Language) -> &'static Self {
        static EN: OnceLock<Text> = OnceLock::new();
        static ZH: OnceLock<Text> = OnceLock::new();
        match language {
            Language::En => EN.get_or_init(|| embedded(include_str!("../../../assets/text/en.ron"))),
            Language::ZhHans => ZH.get_or_init(|| embedded(include_str!("../../../assets/text/zh-Hans.ron"))),
        }
    }

    /// A failure in words: headline, hint line, place.
    #[must_use]
    pub fn failure(&self, failure: &Failure) -> ShownFailure {
        // A "what" may be one of the names; any other text stays as it is.
        let values: Vec<(&'static str, String)> = failure
            .values
            .iter()
            .map(|(name, value)| (*name, if *name == "what" { self.name(value).to_owned() } else { value.clone() }))
            .collect();
        let (what, hint) = self
            .failures
            .get(&failure.kind)
            .map_or((String::new(), String::new()), |words| (fill(&words.what, &values), fill(&words.hint, &values)));
        let labels = (self.common.failure_hint.clone(), self.common.failure_at.clone());
        ShownFailure { what, hint, at: failure.at.clone(), labels }
    }

    /// Why a value does not exist, in words.
    #[must_use]
    pub fn gap(&self, gap: &Gap) -> String {
        let values: Vec<(&'static str, String)> = gap
            .values
            .iter()
            .map(|(name, value)| {
                (
                    *name,
                    if matches!(*name, "field" | "what" | "why" | "component") {
                        self.name(value).to_owned()
                    } else {
                        value.clone()
                    },
                )
            })
            .collect();
        self.gaps.get(&gap.kind).map_or_else(String::new, |words| fill(words, &values))
    }

    /// Why a fact has no value, in words.
    #[must_use]
    pub fn absent(&self, absent: &Absent) -> String {
        self.absents
            .get(&absent.kind)
            .map_or_else(String::new, |words| fill(words, &[("detail", absent.detail.clone())]))
    }

    /// The words of a snake-case name (a field, an input of a formula, a fact), or the name itself.
    #[must_use]
    pub fn name<'a>(&'a self, name: &'a str) -> &'a str {
        self.names.get(name).map_or(name, String::as_str)
    }

    /// What a model's file cannot tell, as a sentence.
    #[must_use]
    pub fn source_note(&self, note: &SourceNote) -> String {
        fill(self.name(note.kind.name()), &[("what", note.what.clone())])
    }

    /// What a prediction of memory had to assume, as a sentence.
    #[must_use]
    pub fn memory_note(&self, note: &crate::domain::memory::Note) -> String {
        let what = note.what(&self.common.list_comma, |part| self.name(part).to_owned());
        fill(self.name(note.key()), &[("what", what)])
    }

    /// Why nothing could be taken from a model's file, as a sentence.
    #[must_use]
    pub fn source_error(&self, error: &SourceError) -> String {
        fill(self.name(error.kind.name()), &[("what", error.what.clone())])
    }
}

/// A failure ready to be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownFailure {
    /// What was tried and what happened.
    pub what: String,
    /// What to do.
    pub hint: String,
    /// The place, or `None`.
    pub at: Option<String>,
    /// What stands around the hint and the place on a line of their own.
    labels: (String, String),
}

impl std::fmt::Display for ShownFailure {
    /// As on the command line: the headline, the hint on its own line, the place last.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.what)?;
        if !self.hint.is_empty() {
            write!(f, "\n{}", fill(&self.labels.0, &[("hint", self.hint.clone())]))?;
        }
        if let Some(at) = &self.at {
            write!(f, "\n{}", fill(&self.labels.1, &[("at", at.clone())]))?;
        }
        Ok(())
    }
}

/// Replaces each `{name}` by its value, and each `{name|one|many}` by the first of its two forms where the value of the
/// name is 1. A placeholder without a value stays as it is, which a test forbids.
#[must_use]
pub fn fill(words: &str, values: &[(&str, String)]) -> String {
    let mut filled = String::with_capacity(words.len());
    let mut rest = words;
    while let Some(start) = rest.find('{') {
        let (before, from_brace) = rest.split_at(start);
        filled.push_str(before);
        let Some(end) = from_brace.find('}') else {
            rest = from_brace;
            break;
        };
        let name = from_brace.get(1..end).unwrap_or_default();
        let (name, forms) = name.split_once('|').map_or((name, None), |(name, forms)| (name, forms.split_once('|')));
        match (values.iter().find(|(other, _)| *other == name).map(|(_, value)| value), forms) {
            (Some(value), None) => filled.push_str(value),
            (Some(value), Some((one, many))) => filled.push_str(if value == "1" { one } else { many }),
            (None, _) => filled.push_str(from_brace.get(..=end).unwrap_or_default()),
        }
        rest = from_brace.get(end + 1..).unwrap_or_default();
    }
    filled.push_str(rest);
    filled
}

/// Reads a section as a map that holds exactly the words it should.
fn section<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
    name: &'static str,
    fields: &'static [&'static str],
) -> Result<BTreeMap<String, String>, D::Error> {
    struct Words;

    impl<'de> serde::de::Visitor<'de> for Words {
        type Value = BTreeMap<String, String>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("words by their names")
        }

        fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut words = BTreeMap::new();
            while let Some((name, text)) = map.next_entry::<String, String>()? {
                if words.insert(name.clone(), text).is_some() {
                    return Err(serde::de::Error::custom(format!("\"{name}\" stands twice")));
                }
            }
            Ok(words)
        }
    }

    let words = deserializer.deserialize_struct(name, fields, Words)?;
    if let Some(missing) = fields.iter().find(|field| !words.contains_key(**field)) {
        return Err(serde::de::Error::missing_field(missing));
    }
    if let Some(surplus) = words.keys().find(|word| !fields.contains(&word.as_str())) {
        return Err(serde::de::Error::custom(format!("\"{surplus}\" is no word of {name}")));
    }
    Ok(words)
}

#[allow(clippy::panic, reason = "the text is part of the program; a test reads it, and no window can speak without it")]
fn embedded(text: &str) -> Text {
    match ron::from_str(text) {
        Ok(text) => text,
        Err(error) => panic!("assets/text: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Placeholder names of a text, sorted. Forms of a word that go with a count are not among them: languages differ.
    fn placeholders(words: &str) -> Vec<String> {
        let names = words.split('{').skip(1).filter_map(|rest| rest.split_once('}').map(|(name, _)| name.to_owned()));
        let mut names: Vec<String> = names.filter(|name| !name.contains('|')).collect();
        names.sort();
        names
    }

    /// Every word of a language with a path as its name.
    fn all(text: &Text) -> BTreeMap<String, String> {
        let mut out = BTreeMap::new();
        for (section, entries) in [
            ("common", text.common.entries()),
            ("shell", text.shell.entries()),
            ("brief", text.brief.entries()),
            ("memory", text.memory.entries()),
            ("candidates", text.candidates.entries()),
            ("hosts", text.hosts.entries()),
            ("load", text.load.entries()),
            ("curves", text.curves.entries()),
            ("cost", text.cost.entries()),
            ("acceptance", text.acceptance.entries()),
            ("decision", text.decision.entries()),
            ("report", text.report.entries()),
            ("cli", text.cli.entries()),
        ] {
            for (name, words) in entries {
                out.insert(format!("{section}.{name}"), words.to_owned());
            }
        }
        for (kind, words) in &text.failures {
            out.insert(format!("failures.{kind:?}.what"), words.what.clone());
            out.insert(format!("failures.{kind:?}.hint"), words.hint.clone());
        }
        for (kind, words) in &text.gaps {
            out.insert(format!("gaps.{kind:?}"), words.clone());
        }
        for (kind, words) in &text.absents {
            out.insert(format!("absents.{kind:?}"), words.clone());
        }
        for (code, words) in &text.findings {
            out.insert(format!("findings.{code}"), words.clone());
        }
        for (kind, words) in &text.bill_findings {
            out.insert(format!("bill_findings.{kind:?}"), words.clone());
        }
        for (name, words) in &text.names {
            out.insert(format!("names.{name}"), words.clone());
        }
        out
    }

    #[test]
    fn both_languages_have_the_same_words_and_placeholders() {
        let (en, zh) = (all(Text::of(Language::En)), all(Text::of(Language::ZhHans)));
        let only: Vec<_> = en
            .keys()
            .filter(|key| !zh.contains_key(*key))
            .chain(zh.keys().filter(|key| !en.contains_key(*key)))
            .collect();
        assert!(only.is_empty(), "in one language only: {only:?}");
        for (key, words) in &en {
            assert!(!words.trim().is_empty(), "{key} is empty in English");
            assert!(!zh[key].trim().is_empty(), "{key} is empty in Chinese");
            assert_eq!(placeholders(words), placeholders(&zh[key]), "{key}");
        }
    }

    #[test]
    fn a_count_of_one_is_not_spoken_in_the_plural() {
        // Words in -s that follow a value and are no plural of what it counts.
        const NOT_COUNTED: [&str; 15] = [
            "is", "as", "was", "does", "has", "asks", "carries", "keeps", "belongs", "fails", "costs", "s", "ms",
            "its", "pass",
        ];
        let mut plural_ones = Vec::new();
        for (key, words) in all(Text::of(Language::En)) {
            for (_, rest) in words.split('{').skip(1).filter_map(|rest| rest.split_once('}')) {
                // Up to two words behind the value: "{n} runs", "{n} open questions".
                let clause = rest.split([',', '.', ';', ':', '(', '·', '{', '/', '=']).next().unwrap_or_default();
                if !clause.starts_with(' ') || key.contains("_one") || rest.starts_with(&format!("{clause}/")) {
                    continue;
                }
                for word in clause.split_whitespace().take(2) {
                    let plural = word.ends_with('s') && word.chars().all(|c| c.is_ascii_lowercase());
                    if plural && !NOT_COUNTED.contains(&word) {
                        plural_ones.push(format!("{key}: {words}"));
                    }
                    if NOT_COUNTED.contains(&word) || ["of", "to", "on", "in", "at", "for"].contains(&word) {
                        break;
                    }
                }
            }
        }
        assert!(plural_ones.is_empty(), "{plural_ones:#?}");
    }

    #[test]
    fn no_word_is_written_twice() {
        // The reader of a map keeps the last of two entries and says nothing.
        for text in [include_str!("../../../assets/text/en.ron"), include_str!("../../../assets/text/zh-Hans.ron")] {
            let (mut section, mut seen) = ("", std::collections::BTreeSet::new());
            for line in text.lines() {
                if let Some(name) = line.strip_prefix("    // ---- ") {
                    section = name;
                } else if let Some((key, _)) = line.trim().split_once(": ") {
                    assert!(seen.insert((section, key.trim_matches('"'))), "{section}: {key}");
                }
            }
        }
    }

    #[test]
    fn every_gap_and_absence_has_words() {
        use crate::domain::facts::AbsentKind as A;
        use crate::domain::figure::GapKind as G;
        let gaps = [
            G::BriefField,
            G::NotStated,
            G::NoPrice,
            G::UnknownPrice,
            G::Overlap,
            G::TermsUnclear,
            G::NoTerm,
            G::TwoCurrencies,
            G::NoRun,
            G::OnlyPractice,
            G::InvalidRun,
            G::OtherLimits,
            G::NoStepWithinSlo,
            G::NothingAccepted,
            G::TooFewSamples,
            G::NotMeasurable,
            G::NoEvidence,
            G::NoSlo,
        ];
        let absents = [
            A::NotReported,
            A::Alarm,
            A::ToolMissing,
            A::NoDriver,
            A::VersionMismatch,
            A::NoDevices,
            A::Refused,
            A::NotSupported,
            A::ServiceDown,
            A::CutShort,
            A::TimedOut,
            A::NotRun,
            A::Unreadable,
        ];
        for text in Language::ALL.map(Text::of) {
            assert!(gaps.iter().all(|kind| text.gaps.contains_key(kind)));
            assert!(absents.iter().all(|kind| text.absents.contains_key(kind)));
        }
        let gap = Gap::new(G::InvalidRun).with("why", "lateness_p99_ms");
        assert_eq!(Text::of(Language::En).gap(&gap), "The newest run is invalid: Send lateness p99");
        let gap = Gap::new(G::UnknownPrice).with("component", "storage");
        assert_eq!(Text::of(Language::ZhHans).gap(&gap), "缺少价格：存储");
    }

    #[test]
    fn fill_replaces_what_it_knows() {
        assert_eq!(fill("{a} of {b}", &[("a", "3".into()), ("b", "4".into())]), "3 of 4");
        assert_eq!(fill("open {", &[]), "open {");
        assert_eq!(fill("{x}", &[]), "{x}");
        let runs = "{n} {n|run was|runs were} sealed";
        assert_eq!(fill(runs, &[("n", "1".into())]), "1 run was sealed");
        assert_eq!(fill(runs, &[("n", "11".into())]), "11 runs were sealed");
    }
}
