//! Acceptance: criteria that can fail, five stages, verdicts.

use chrono::{DateTime, FixedOffset, NaiveDate};
use serde::{Deserialize, Serialize};

use super::ids::{CandidateId, CriterionId, EvidenceId};

pub mod defaults;
pub mod judge;
mod measure;
pub mod show;

/// The five stages, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Stage {
    /// What is really there, and is it healthy.
    Environment,
    /// Does it do the work at all.
    Functional,
    /// Does it carry the brief's load.
    Load,
    /// What happens when a part goes away.
    Fault,
    /// A second person has read it.
    Review,
}

impl Stage {
    /// All five.
    pub const ALL: [Self; 5] = [Self::Environment, Self::Functional, Self::Load, Self::Fault, Self::Review];
}

/// A statement that can fail.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Criterion {
    /// Its id.
    pub id: CriterionId,
    /// Its stage.
    pub stage: Stage,
    /// What is looked at.
    pub metric: Metric,
    /// How it is compared.
    pub comparison: Comparison,
    /// With what. The unit is the metric's.
    pub threshold: Threshold,
    /// Fewest samples for a verdict.
    #[serde(default)]
    pub min_samples: u32,
    /// The statement in a person's words; empty for the words of the metric.
    #[serde(default)]
    pub words: String,
    /// Waivers, one a candidate at most that is in force.
    #[serde(default)]
    pub waivers: Vec<Waiver>,
}

/// What a criterion looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// GPUs found.
    GpuCount,
    /// Every GPU has the promised model.
    GpuModel,
    /// Smallest memory of any GPU, MiB.
    GpuMemory,
    /// Uncorrected ECC errors since the driver loaded, summed over GPUs.
    EccUncorrected,
    /// GPUs with rows waiting for remapping or pages waiting for retirement.
    RemapPending,
    /// GPUs whose clocks are held down by hardware or heat.
    ThrottledGpus,
    /// Findings of severity isolate or reset.
    HealthAlarms,
    /// Failed tests of the level 1 diagnostic.
    DiagnosticFailures,
    /// Processes of others on the GPUs before the run.
    ForeignProcesses,
    /// Host clock minus ours, s, as an absolute value.
    ClockOffset,
    /// Promises that do not hold.
    Mismatches,
    /// Completed requests of any valid run: the endpoint serves.
    CompletedRequests,
    /// Share of streams whose tokens the server counted itself.
    UsageCounted,
    /// TTFT p95 at the peak rate, ms.
    TtftP95,
    /// ITL p95 at the peak rate, ms.
    ItlP95,
    /// End-to-end p95 at the peak rate, ms.
    E2eP95,
    /// Share of requests that failed or were cut at the peak rate.
    ErrorShare,
    /// Output tokens a second at the peak rate.
    OutputRate,
    /// Share of requests accepted within SLO at the peak rate.
    AcceptedShare,
    /// Valid load runs.
    ValidRuns,
    /// Statement that a person attests with a note: drills, restore, review.
    Attested,
}

/// How a value is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Comparison {
    /// Value ≤ threshold.
    AtMost,
    /// Value ≥ threshold.
    AtLeast,
    /// Value = threshold.
    Equals,
}

/// What a value is compared with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Threshold {
    /// A number in the metric's unit.
    Number(f64),
    /// What the candidate promises for this metric.
    Promised,
    /// What the brief sets for this metric.
    Brief,
}

/// A named person lets something stand beside its verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Waiver {
    /// For which candidate.
    pub candidate: CandidateId,
    /// Who.
    pub by: String,
    /// Why.
    pub reason: String,
    /// Until when (its last day).
    pub until: NaiveDate,
    /// When it was given.
    pub given_at: DateTime<FixedOffset>,
}

/// What came of a criterion for a candidate. Only `Pass` is a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The value and its interval keep the threshold.
    Pass,
    /// They do not.
    Fail,
    /// The interval straddles the threshold, or there are too few samples.
    Inconclusive,
    /// Never run, skipped, or could not run.
    NotTested,
    /// Something changed since.
    Stale,
}

impl Verdict {
    /// The word scripts read ("not_tested").
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Inconclusive => "inconclusive",
            Self::NotTested => "not_tested",
            Self::Stale => "stale",
        }
    }
}

/// Why a verdict is what it is.
#[derive(Debug, Clone, PartialEq)]
pub enum Why {
    /// The comparison says so.
    Compared,
    /// The interval straddles the threshold.
    Straddles,
    /// Too few samples: how many there are, how many are needed.
    FewSamples {
        /// How many there are.
        have: u64,
        /// How many are needed.
        need: u64,
    },
    /// Never run.
    NeverRun,
    /// The tool skipped it.
    Skipped,
    /// It could not run: the absence or failure in words.
    CouldNotRun(String),
    /// No run reached the brief's peak; both in requests a second.
    BelowPeak {
        /// Highest rate that was run.
        reached: f64,
        /// The brief's peak.
        peak: f64,
    },
    /// Only practice or replayed evidence exists.
    OnlyPractice,
    /// The only runs are invalid.
    OnlyInvalid,
    /// The threshold is not set: field of brief or promise.
    NoThreshold,
    /// Changed since: what, as a name of `Text::name` ("brief", "driver_version").
    Changed(String),
}

/// A criterion judged for one candidate.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// The criterion.
    pub criterion: CriterionId,
    /// The verdict.
    pub verdict: Verdict,
    /// Why.
    pub why: Why,
    /// The value it rests on, in the metric's unit.
    pub value: Option<f64>,
    /// 95 % interval of the value.
    pub interval: Option<(f64, f64)>,
    /// What it was compared with, resolved.
    pub threshold: Option<f64>,
    /// How many samples the value has.
    pub samples: Option<u64>,
    /// Records it stands on.
    pub evidence: Vec<EvidenceId>,
    /// The waiver in force, if any.
    pub waiver: Option<Waiver>,
}
