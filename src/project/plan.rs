//! The plan: what people edit. Small and cloned whole for undo.

use serde::{Deserialize, Serialize};

use crate::domain::acceptance::Criterion;
use crate::domain::brief::Brief;
use crate::domain::candidate::Candidate;
use crate::domain::compare::declared::CostPlan;
use crate::domain::decision::Decision;
use crate::domain::digest::sha256_hex;
use crate::domain::host::{Host, Reach};
use crate::domain::ids::{CandidateId, EvidenceId, HostId};
use crate::domain::load::{Api, Arrivals, LoadPlan, Prompts, StagePlan, Timeouts, Until, ValidityLimits};
use crate::domain::memory::plan::{MemoryPlan, is_default};

/// Version of `project.ron` that this program writes.
pub const VERSION: u32 = 1;

/// Everything people edit.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Plan {
    /// Name of the project.
    pub name: String,
    /// Whether the project is a demonstration; every screen and report says so.
    pub demonstration: bool,
    /// The work.
    pub brief: Brief,
    /// The offers.
    pub candidates: Vec<Candidate>,
    /// The machines.
    pub hosts: Vec<Host>,
    /// The statements that can fail.
    pub criteria: Vec<Criterion>,
    /// The load run as it was last set up, by candidate or for all.
    pub load: Option<LoadSetup>,
    /// How the model is going to be run, for the memory it takes.
    #[serde(skip_serializing_if = "is_default")]
    pub memory: MemoryPlan,
    /// What is declared for the cost beside the offers.
    #[serde(skip_serializing_if = "CostPlan::is_empty")]
    pub cost: CostPlan,
    /// What was decided.
    pub decision: Decision,
    /// Notes, free or on a record.
    pub notes: Vec<Note>,
}

/// The load run as it was last set up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadSetup {
    /// The candidate it is for.
    pub candidate: Option<CandidateId>,
    /// How the endpoint is reached.
    pub route: Route,
    /// What is run.
    pub plan: LoadPlan,
    /// Full path of the prompts file, when one is used.
    #[serde(default)]
    pub prompts_path: String,
    /// Ask for the API key at run time instead of taking it from a variable.
    #[serde(default)]
    pub ask_api_key: bool,
    /// Host on which GPU memory is sampled beside the run.
    #[serde(default)]
    pub sample_on: Option<HostId>,
}

impl LoadSetup {
    /// A run that follows from the brief: its lengths, its limits, its peak inside the ladder; through the candidate's
    /// own host where it has one over SSH.
    #[must_use]
    pub fn from_brief(plan: &Plan, candidate: Option<CandidateId>) -> Self {
        let brief = &plan.brief;
        let peak = brief.peak_rate.filter(|rate| *rate > 0.0).unwrap_or(4.0);
        let stages = [0.25, 0.5, 0.75, 1.0, 1.25]
            .map(|share| StagePlan { level: (peak * share * 100.0).round() / 100.0, until: Until::Requests(240) })
            .to_vec();
        let host = plan
            .hosts
            .iter()
            .find(|host| host.candidate == candidate && matches!(host.reach, Reach::Ssh(_)))
            .map(|host| host.id.clone());
        let route = match &host {
            Some(host) => Route::Tunnel { host: host.clone(), port: 8000 },
            None => Route::Direct,
        };
        Self {
            candidate,
            route,
            plan: LoadPlan {
                base_url: "http://127.0.0.1:8000".to_owned(),
                model: brief.model.name.clone(),
                api: Api::Chat,
                prompts: Prompts::Synthetic {
                    input_tokens: brief.input_tokens.mean.unwrap_or(512),
                    output_tokens: brief.output_tokens.mean.unwrap_or(128),
                },
                arrivals: Arrivals::Poisson,
                stages,
                warmup_requests: 8,
                timeouts: Timeouts::default(),
                validity: ValidityLimits::default(),
                slo: brief.slo,
                acceptance: brief.acceptance.clone(),
                seed: 1,
                api_key_env: None,
            },
            prompts_path: String::new(),
            ask_api_key: false,
            sample_on: host,
        }
    }
}

/// How the endpoint is reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Route {
    /// The URL as it is.
    Direct,
    /// A port of this host, through the SSH connection.
    Tunnel {
        /// The host.
        host: HostId,
        /// The port on the host's loopback.
        port: u16,
    },
    /// The practice server inside the program.
    Practice,
}

/// A note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Note {
    /// Who wrote it.
    pub by: String,
    /// The words.
    pub text: String,
    /// The record it is about.
    #[serde(default)]
    pub on: Option<EvidenceId>,
}

impl Plan {
    /// The candidate with this id.
    #[must_use]
    pub fn candidate(&self, id: &CandidateId) -> Option<&Candidate> {
        self.candidates.iter().find(|candidate| candidate.id == *id)
    }

    /// A candidate with nothing stated, and an id and a series that no other has. `known` are ids that something outside
    /// the plan speaks of, such as records of a candidate that was removed: they are not used again.
    #[must_use]
    pub fn new_candidate<'a>(&'a self, known: impl IntoIterator<Item = &'a CandidateId>, name: String) -> Candidate {
        let own = self.candidates.iter().map(|candidate| &candidate.id);
        let hosts = self.hosts.iter().filter_map(|host| host.candidate.as_ref());
        let id = CandidateId::next(own.chain(hosts).chain(known));
        let is_free = |series: &u8| self.candidates.iter().all(|candidate| candidate.series != *series);
        let series = (0..=u8::MAX).find(is_free).unwrap_or(0);
        Candidate::new(id, series, name)
    }

    /// SHA-256 of the plan's RON text without its signatures: what a signature is given on.
    ///
    /// Empty only when the plan cannot be written as RON, which a defect of the program alone can cause; an empty
    /// digest is never that of a signed plan.
    #[must_use]
    pub fn unsigned_digest(&self) -> String {
        let mut unsigned = self.clone();
        unsigned.decision.signatures.clear();
        ron::ser::to_string(&unsigned).map_or_else(|_| String::new(), |text| sha256_hex(text.as_bytes()))
    }

    /// The host with this id.
    #[must_use]
    pub fn host(&self, id: &HostId) -> Option<&Host> {
        self.hosts.iter().find(|host| host.id == *id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_candidate_takes_no_id_of_one_that_was_removed() {
        let mut plan = Plan::default();
        let first = plan.new_candidate([], "A".into());
        assert_eq!((first.id.as_str(), first.series), ("c1", 0));
        plan.candidates.push(first);
        let removed = CandidateId("c7".into());
        let second = plan.new_candidate([&removed], "B".into());
        assert_eq!((second.id.as_str(), second.series), ("c8", 1));
    }

    #[test]
    fn a_plan_without_declared_costs_is_written_as_before() {
        let text = ron::to_string(&Plan::default()).unwrap();
        assert!(!text.contains("cost:"), "{text}");
        assert_eq!(ron::from_str::<Plan>(&text).unwrap(), Plan::default());
    }
}
