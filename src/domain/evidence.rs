//! Evidence: an immutable, content-addressed record of what was seen.
//!
//! A record is serialised to RON bytes one time. [`EvidenceId`] is the SHA-256 of those bytes, and those bytes are the
//! file. It is never serialised again.

use std::sync::Arc;

use chrono::{DateTime, FixedOffset};
use serde::{Deserialize, Serialize};

use super::facts::{Absent, Fact, Finding};
use super::ids::{CandidateId, CriterionId, EvidenceId, HostId};
use super::load::LoadRecord;

/// Version of the record's shape.
pub const VERSION: u32 = 1;
/// This program, as records name it ("leasebench 0.1.0").
pub const PROGRAM: &str = concat!("leasebench ", env!("CARGO_PKG_VERSION"));

/// What was seen, once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// [`VERSION`] of the shape.
    pub version: u32,
    /// The program that made it ("leasebench 0.1.0").
    pub program: String,
    /// Whether it can count; kept for ever.
    pub kind: Kind,
    /// What was asked.
    pub source: Source,
    /// The candidate it is about.
    pub candidate: Option<CandidateId>,
    /// The host it was seen on.
    pub host: Option<HostId>,
    /// When the answer was complete.
    pub taken_at: DateTime<FixedOffset>,
    /// Where it was measured from.
    pub vantage: Vantage,
    /// Digest of the brief as it was (its RON text), so that a later change makes verdicts stale.
    pub brief_digest: Option<String>,
    /// The raw answer, when there is one.
    #[serde(default)]
    pub captured: Option<Captured>,
    /// What the answer says.
    #[serde(default)]
    pub facts: Vec<Fact>,
    /// What a person should know.
    #[serde(default)]
    pub findings: Vec<Finding>,
    /// Why nothing could be read.
    #[serde(default)]
    pub absent: Option<Absent>,
    /// A load run.
    #[serde(default)]
    pub load: Option<LoadRecord>,
    /// The record that this one corrects.
    #[serde(default)]
    pub supersedes: Option<EvidenceId>,
    /// Where replayed or pasted text came from, in words.
    #[serde(default)]
    pub origin_note: String,
}

/// Whether a record can satisfy a criterion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// Seen on the real thing.
    Real,
    /// Seen on the practice server. Satisfies nothing, for ever.
    Practice,
    /// Replayed from a capture of another machine. Satisfies nothing, for ever.
    Replay,
}

/// What was asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Source {
    /// A probe, by its id, and the version of its parser.
    Probe {
        /// Probe id ("gpu_list").
        id: String,
        /// Parser version.
        parser: u32,
    },
    /// A load run.
    Load,
    /// A pasted or opened output, read by a probe's parser.
    Pasted {
        /// Probe id.
        id: String,
        /// Parser version.
        parser: u32,
    },
    /// A person typed it.
    Manual {
        /// Who.
        by: String,
        /// What.
        note: String,
        /// The criterion it attests, if any.
        criterion: Option<CriterionId>,
        /// Whether the statement holds.
        holds: bool,
    },
}

/// Where something was measured from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Vantage {
    /// On the host itself.
    OnHost,
    /// From this computer, straight.
    ThisComputer,
    /// From this computer through the SSH connection; its round trip is in every latency.
    Tunnel,
}

/// A raw answer, masked before it left the host's thread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Captured {
    /// The command as it was run, or the file it was read from.
    pub command: String,
    /// Standard output; bytes that are not UTF-8 stand as `\xNN` escapes.
    pub stdout: String,
    /// Standard error, likewise.
    pub stderr: String,
    /// What came around the command's own output, from start-up files and forced commands; never parsed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub pollution: String,
    /// How it ended.
    pub ended: CommandEnd,
    /// How long it took, s.
    pub took_secs: f64,
    /// What was masked.
    #[serde(default)]
    pub masked: Vec<Masked>,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum CommandEnd {
    /// It exited; the close was confirmed.
    Exit(i32),
    /// A signal ended it.
    Signal(String),
    /// Our deadline, s, ended it.
    Deadline(u32),
    /// It sent more than our cap, bytes.
    TooMuch(u64),
    /// We cancelled it.
    Cancelled,
    /// The connection broke; no status is known.
    ConnectionLost,
    /// It was not run: the server or the operating system refused, in its words.
    Refused(String),
    /// Nobody knows: pasted text.
    Unknown,
}

/// Something that was masked in raw text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Masked {
    /// Which rule ("bearer token").
    pub rule: String,
    /// How often.
    pub count: u32,
}

impl Captured {
    /// Lines of standard output without their line ends.
    pub fn text_lines(&self) -> impl Iterator<Item = &str> {
        self.stdout.lines()
    }

    /// The exit status when it is known.
    #[must_use]
    pub fn exit(&self) -> Option<i32> {
        match self.ended {
            CommandEnd::Exit(code) => Some(code),
            _ => None,
        }
    }
}

/// A record with the bytes it was sealed as.
#[derive(Debug, Clone)]
pub struct Sealed {
    /// SHA-256 of `bytes`.
    pub id: EvidenceId,
    /// The bytes of the file.
    pub bytes: Arc<[u8]>,
    /// What they say.
    pub record: Arc<Record>,
}

impl Sealed {
    /// Serialises the record, once, and names it by the hash of its bytes.
    ///
    /// # Errors
    /// The RON error when the record cannot be written, which only a defect of the program can cause.
    pub fn seal(record: Record) -> Result<Self, ron::Error> {
        let text = ron::ser::to_string_pretty(&record, ron::ser::PrettyConfig::new().depth_limit(4))?;
        let bytes: Arc<[u8]> = text.into_bytes().into();
        Ok(Self { id: EvidenceId::of(&bytes), bytes, record: Arc::new(record) })
    }
}
