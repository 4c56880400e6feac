//! The decision: what was decided, by whom, on which revision.

use chrono::{DateTime, FixedOffset, NaiveDate};
use serde::{Deserialize, Serialize};

use super::ids::CandidateId;

/// The decision record of a project. A draft until it is signed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Decision {
    /// What is done.
    pub action: Option<Action>,
    /// With which candidate.
    pub candidate: Option<CandidateId>,
    /// Why, one reason an entry.
    pub reasons: Vec<String>,
    /// Under which condition.
    pub condition: String,
    /// Until when the condition is due.
    pub condition_due: Option<NaiveDate>,
    /// Who owns the decision.
    pub owner: String,
    /// Its date.
    pub date: Option<NaiveDate>,
    /// Who signed.
    pub signatures: Vec<Signature>,
}

/// What a decision can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Action {
    /// Keep the rental on.
    Extend,
    /// Commit to a term.
    Reserve,
    /// Take a whole machine.
    Dedicate,
    /// Take more of it.
    Scale,
    /// Choose another abstraction (a managed API, serverless).
    OtherAbstraction,
    /// Take none.
    Reject,
}

impl Action {
    /// Every action, in the order a list offers them.
    pub const ALL: [Self; 6] =
        [Self::Extend, Self::Reserve, Self::Dedicate, Self::Scale, Self::OtherAbstraction, Self::Reject];
}

/// A named person signed the decision as it stood at a revision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signature {
    /// Who.
    pub by: String,
    /// In which role ("author", "second reader").
    pub role: String,
    /// When.
    pub at: DateTime<FixedOffset>,
    /// On which revision of the plan.
    pub revision: u64,
    /// Digest of the plan without its signatures.
    pub plan_digest: String,
}
