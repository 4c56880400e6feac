//! What a load run was asked to do, and what it saw: the plan, the limits, and one entry a request.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::brief::{AcceptRule, Slo};
use super::failure::FailureKind;

/// A load run as it was planned. Recorded with the run; never holds a secret.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadPlan {
    /// Base URL the requests go to ("http://127.0.0.1:8000"); paths are added by `api`.
    pub base_url: String,
    /// Served model name.
    pub model: String,
    /// Which interface is used.
    pub api: Api,
    /// Where the prompts come from.
    pub prompts: Prompts,
    /// How requests start.
    pub arrivals: Arrivals,
    /// The steps of the ladder, in order.
    pub stages: Vec<StagePlan>,
    /// Requests at the level of the first stage that are sent before and left out.
    pub warmup_requests: u32,
    /// Time-outs.
    pub timeouts: Timeouts,
    /// When the run is invalid.
    pub validity: ValidityLimits,
    /// The limits goodput is counted by; as in the brief when the run was made.
    pub slo: Slo,
    /// When a completed answer counts as accepted.
    pub acceptance: AcceptRule,
    /// Seed of arrivals and prompts.
    pub seed: u64,
    /// Name of the environment variable that holds the API key; the key itself is never recorded.
    #[serde(default)]
    pub api_key_env: Option<String>,
}

impl LoadPlan {
    /// How long the whole ladder sends, s; `None` where a step ends by count and the endpoint sets the pace.
    #[must_use]
    pub fn sending_secs(&self) -> Option<f64> {
        let secs_of = |stage: &StagePlan| match stage.until {
            Until::Secs(secs) => Some(secs),
            Until::Requests(n) => (self.arrivals != Arrivals::Concurrency).then(|| f64::from(n) / stage.level),
        };
        self.stages.iter().map(secs_of).sum()
    }
}

/// Interface of the endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Api {
    /// `/v1/chat/completions`
    Chat,
    /// `/v1/completions`
    Completions,
}

/// Where prompts come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Prompts {
    /// Made text of about this many tokens, a fresh one a request; the answer length is asked for exactly.
    Synthetic {
        /// Input tokens asked for; `usage` says what came of it.
        input_tokens: u32,
        /// Output tokens asked for (`max_tokens`, with `ignore_eos`).
        output_tokens: u32,
    },
    /// Prompts of a JSONL file, in order, again from the start when they run out.
    Jsonl {
        /// The file's name, without its folder.
        name: String,
        /// SHA-256 of the file.
        sha256: String,
        /// How many prompts it holds.
        n_prompts: u32,
        /// `max_tokens` where a line does not say.
        output_tokens: u32,
    },
}

/// How requests start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Arrivals {
    /// Closed loop: a stage's level is the number of requests in flight.
    Concurrency,
    /// Open loop: a stage's level is requests a second, at equal distances.
    Constant,
    /// Open loop: a stage's level is the mean rate of a Poisson process.
    Poisson,
}

/// One step of the ladder.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StagePlan {
    /// Requests in flight, or requests a second.
    pub level: f64,
    /// When it ends.
    pub until: Until,
}

/// When a step ends.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Until {
    /// After this many requests were sent; all of them are waited for.
    Requests(u32),
    /// After this many seconds no further request is sent; those in flight are waited for.
    Secs(f64),
}

/// Time-outs, s.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timeouts {
    /// Until the connection stands.
    pub connect_secs: f64,
    /// Until the first body byte.
    pub first_byte_secs: f64,
    /// Between two body frames.
    pub gap_secs: f64,
    /// The whole request.
    pub total_secs: f64,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { connect_secs: 10.0, first_byte_secs: 120.0, gap_secs: 60.0, total_secs: 600.0 }
    }
}

/// A run beyond one of these is invalid: it measured the client. Recorded with the run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ValidityLimits {
    /// Send lateness p99, ms (rate-driven runs).
    pub lateness_p99_ms: f64,
    /// Loop lag p99, ms.
    pub loop_lag_p99_ms: f64,
    /// Client CPU as a share of what it may use.
    pub cpu_share: f64,
}

impl Default for ValidityLimits {
    fn default() -> Self {
        Self { lateness_p99_ms: 5.0, loop_lag_p99_ms: 5.0, cpu_share: 0.7 }
    }
}

/// Most requests in flight of a step.
pub const MAX_CONCURRENCY: u32 = 20_000;
/// Highest rate of a step, requests a second.
pub const MAX_RATE: f64 = 100_000.0;
/// Longest step and longest time-out, s: a week.
pub const MAX_SECS: f64 = 604_800.0;
/// Longest made prompt, tokens.
pub const MAX_INPUT_TOKENS: u32 = 10_000_000;

/// What a run saw.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadRecord {
    /// What was asked.
    pub plan: LoadPlan,
    /// One entry a started step, in order.
    pub steps: Vec<StepRecord>,
    /// The client's own health over the whole run.
    pub client: ClientHealth,
    /// How the run ended.
    pub ended: RunEnd,
    /// GPU samples taken on the host beside the run.
    #[serde(default)]
    pub gpu_samples: Vec<GpuSample>,
    /// What the server says it is (`Server` header), or empty.
    #[serde(default)]
    pub server: String,
    /// Request options that the server refused and that were left out from then on ("ignore_eos").
    #[serde(default)]
    pub refused_options: Vec<String>,
    /// Why GPUs were to be sampled beside the run and were not, or not to its end.
    #[serde(default)]
    pub gpu_gap: Option<FailureKind>,
}

/// One step of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepRecord {
    /// Requests in flight, or requests a second, as asked.
    pub level: f64,
    /// Start, s since the start of the run.
    pub start_secs: f64,
    /// When its last request ended, s since the start of the run.
    pub end_secs: f64,
    /// How many requests the step was planned to send; equals what was sent for steps that end by time.
    pub asked: u32,
    /// Every request that was sent, in order of its start. Warm-up is not among them.
    pub requests: Vec<RequestRecord>,
}

/// One request, with times in seconds since the start of the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestRecord {
    /// When it was to be sent.
    pub intended_secs: f64,
    /// When it was sent.
    pub sent_secs: f64,
    /// First token of any kind.
    #[serde(default)]
    pub first_token_secs: Option<f64>,
    /// First visible text of the answer.
    #[serde(default)]
    pub first_text_secs: Option<f64>,
    /// Last token event.
    #[serde(default)]
    pub last_token_secs: Option<f64>,
    /// When it ended, however.
    pub end_secs: f64,
    /// Gaps between neighbouring token events, µs.
    #[serde(default)]
    pub gaps_us: Vec<u32>,
    /// Token events.
    pub events: u32,
    /// Whether a token event was known to carry more than one token.
    #[serde(default)]
    pub merged: bool,
    /// Tokens of the first token event; 1 unless the server counts per event.
    #[serde(default)]
    pub first_event_tokens: u32,
    /// Input tokens by `usage`.
    #[serde(default)]
    pub input_tokens: Option<u32>,
    /// Output tokens.
    #[serde(default)]
    pub output_tokens: Option<u32>,
    /// Who counted the output tokens.
    pub token_source: TokenSource,
    /// How it ended.
    pub outcome: Outcome,
    /// The server's words when it failed, at most 300 characters, masked.
    #[serde(default)]
    pub message: String,
}

/// Who counted tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenSource {
    /// The server, in `usage`.
    Usage,
    /// We counted events; a token may be more or less than an event.
    Events,
    /// Nobody.
    None,
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Complete, and accepted by the rule.
    Completed,
    /// Complete, against the acceptance rule.
    Rejected,
    /// The connection was refused or could not be made.
    Refused,
    /// A status other than 2xx.
    Status(u16),
    /// Connecting took too long.
    ConnectTimeout,
    /// No first byte in time.
    FirstByteTimeout,
    /// A gap was too long.
    GapTimeout,
    /// The whole took too long.
    TotalTimeout,
    /// An error object inside the stream.
    StreamError,
    /// The stream is not what the interface promises.
    Malformed,
    /// The stream ended before the answer did.
    CutShort,
    /// We cancelled it.
    Cancelled,
}

/// The four counts a request belongs to exactly one of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutcomeClass {
    /// Complete and accepted.
    Completed,
    /// Refused, status, time-out, error in the stream, malformed.
    Failed,
    /// Complete, against the acceptance rule.
    Rejected,
    /// Ended early: cut, or cancelled by us.
    Cut,
}

impl Outcome {
    /// Which count it belongs to.
    #[must_use]
    pub const fn class(self) -> OutcomeClass {
        match self {
            Self::Completed => OutcomeClass::Completed,
            Self::Rejected => OutcomeClass::Rejected,
            Self::CutShort | Self::Cancelled => OutcomeClass::Cut,
            Self::Refused
            | Self::Status(_)
            | Self::ConnectTimeout
            | Self::FirstByteTimeout
            | Self::GapTimeout
            | Self::TotalTimeout
            | Self::StreamError
            | Self::Malformed => OutcomeClass::Failed,
        }
    }

    /// The cause as scripts read it ("completed", "status_503", "cut_short").
    #[must_use]
    pub fn cause(self) -> String {
        match self {
            Self::Completed => "completed".to_owned(),
            Self::Rejected => "rejected".to_owned(),
            Self::Refused => "refused".to_owned(),
            Self::Status(code) => format!("status_{code}"),
            Self::ConnectTimeout => "connect_timeout".to_owned(),
            Self::FirstByteTimeout => "first_byte_timeout".to_owned(),
            Self::GapTimeout => "gap_timeout".to_owned(),
            Self::TotalTimeout => "total_timeout".to_owned(),
            Self::StreamError => "stream_error".to_owned(),
            Self::Malformed => "malformed".to_owned(),
            Self::CutShort => "cut_short".to_owned(),
            Self::Cancelled => "cancelled".to_owned(),
        }
    }
}

/// Counts of requests by what became of them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counts {
    /// Planned.
    pub asked: u32,
    /// Sent: completed + failed + rejected + cut.
    pub sent: u32,
    /// Complete and accepted.
    pub completed: u32,
    /// Failed.
    pub failed: u32,
    /// Complete, against the acceptance rule.
    pub rejected: u32,
    /// Ended early.
    pub cut: u32,
    /// By cause.
    pub causes: BTreeMap<String, u32>,
}

/// How the client itself fared.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientHealth {
    /// CPU time of the engine's threads while the run went on, s.
    pub cpu_secs: f64,
    /// Wall time of the run, s.
    pub wall_secs: f64,
    /// How many cores the client may use.
    pub cores: u32,
    /// Loop lag p99, ms.
    pub loop_lag_p99_ms: Option<f64>,
    /// Send lateness p99, ms; `None` in concurrency-driven runs.
    pub lateness_p99_ms: Option<f64>,
    /// Samples that could not be kept.
    pub lost: u32,
    /// Resident memory at the end, MiB.
    pub rss_mib: Option<f64>,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum RunEnd {
    /// As planned.
    Done,
    /// A person stopped it; what was measured is kept.
    Stopped,
    /// The program or the machine went away; the part file was sealed later.
    Interrupted,
}

impl RunEnd {
    /// Its name for `Text::name` ("run_interrupted").
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Done => "run_done",
            Self::Stopped => "run_stopped",
            Self::Interrupted => "run_interrupted",
        }
    }
}

/// One sample of one GPU, taken on the host beside the run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GpuSample {
    /// Seconds since the start of the run.
    pub at_secs: f64,
    /// The driver's index.
    pub gpu_idx: u32,
    /// Framebuffer in use, MiB.
    pub memory_mib: Option<f64>,
    /// Utilisation, %.
    pub utilization: Option<f64>,
    /// Power, W.
    pub power_watts: Option<f64>,
}
