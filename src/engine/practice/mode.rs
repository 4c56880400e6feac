//! What the practice server does with a request.

/// A behaviour of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// One event a token; the role event comes with the first one.
    Plain,
    /// The role event comes at once, the first token later.
    EarlyRole,
    /// Four tokens share an event.
    Merged,
    /// The first half as `reasoning`.
    Reasoning,
    /// The first half as `reasoning_content`.
    ReasoningContent,
    /// A tool call instead of text.
    ToolCalls,
    /// Every third token has no text.
    EmptyDeltas,
    /// No `usage`, even when asked for.
    NoUsage,
    /// Refuses `continuous_usage_stats` and `ignore_eos` with status 400.
    RefuseOptions,
    /// An error object after half the tokens, and `[DONE]` all the same.
    ErrorInStream,
    /// The connection ends after half the tokens.
    Cut,
    /// No `[DONE]`.
    NoDone,
    /// Comment lines between events.
    Comments,
    /// Lines end in CR LF.
    Crlf,
    /// Characters of several bytes, split between two writes.
    SplitUtf8,
    /// Status 503.
    Status503,
    /// Status 429 with `Retry-After`.
    Status429,
    /// Nothing more after half the tokens, with the connection open.
    Stall,
    /// Every event comes in four pieces.
    SlowDrip,
    /// An event that is no JSON after half the tokens.
    BrokenJson,
    /// A web page instead of a stream.
    NotSse,
    /// One answer at a time; the others wait.
    Queue,
    /// Of twenty requests one each with status 503, status 429, an error in the stream and a cut; the others plain.
    Mix,
}

impl Mode {
    /// Every mode.
    pub const ALL: [Self; 23] = [
        Self::Plain,
        Self::EarlyRole,
        Self::Merged,
        Self::Reasoning,
        Self::ReasoningContent,
        Self::ToolCalls,
        Self::EmptyDeltas,
        Self::NoUsage,
        Self::RefuseOptions,
        Self::ErrorInStream,
        Self::Cut,
        Self::NoDone,
        Self::Comments,
        Self::Crlf,
        Self::SplitUtf8,
        Self::Status503,
        Self::Status429,
        Self::Stall,
        Self::SlowDrip,
        Self::BrokenJson,
        Self::NotSse,
        Self::Queue,
        Self::Mix,
    ];

    /// Its name on the command line and in a path.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::EarlyRole => "early-role",
            Self::Merged => "merged",
            Self::Reasoning => "reasoning",
            Self::ReasoningContent => "reasoning-content",
            Self::ToolCalls => "tool-calls",
            Self::EmptyDeltas => "empty-deltas",
            Self::NoUsage => "no-usage",
            Self::RefuseOptions => "refuse-options",
            Self::ErrorInStream => "error-in-stream",
            Self::Cut => "cut",
            Self::NoDone => "no-done",
            Self::Comments => "comments",
            Self::Crlf => "crlf",
            Self::SplitUtf8 => "split-utf8",
            Self::Status503 => "status-503",
            Self::Status429 => "status-429",
            Self::Stall => "stall",
            Self::SlowDrip => "slow-drip",
            Self::BrokenJson => "broken-json",
            Self::NotSse => "not-sse",
            Self::Queue => "queue",
            Self::Mix => "mix",
        }
    }

    /// The mode of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }

    /// What the `idx`-th request (from 0) gets; only `mix` depends on it.
    #[must_use]
    pub(super) const fn of_request(self, idx: u64) -> Self {
        match (self, idx % 20) {
            (Self::Mix, 3) => Self::Status503,
            (Self::Mix, 8) => Self::Cut,
            (Self::Mix, 13) => Self::ErrorInStream,
            (Self::Mix, 18) => Self::Status429,
            (Self::Mix, _) => Self::Plain,
            (mode, _) => mode,
        }
    }
}
