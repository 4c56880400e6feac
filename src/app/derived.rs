//! The one memo: everything screens show that is computed from the project, made anew when the project changed.
//!
//! Screens and reports read it and compute nothing, so that they cannot disagree.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::NaiveDate;

use crate::domain::acceptance::Judged;
use crate::domain::acceptance::judge::{self, Case, Overall, Standing};
use crate::domain::brief::{Brief, brief_digest};
use crate::domain::candidate::Candidate;
use crate::domain::compare::accepted::{CandidateCost, cost_per_accepted};
use crate::domain::compare::promises::{self, Agreement, PromiseRow};
use crate::domain::evidence::{Kind, Sealed};
use crate::domain::facts::Finding;
use crate::domain::figure::{Answer, Gap, GapKind};
use crate::domain::gate::{Gate, gate};
use crate::domain::ids::{CandidateId, EvidenceId, HostId};
use crate::domain::memory::{self, MemoryCurve, MemoryEstimate};
use crate::domain::questions::{Question, questions};
use crate::domain::seen::{self, Grouped, HostSeen, Kept, Reading, Run, Seen};
use crate::project::plan::Plan;

use super::command::Screen;
use super::rail::{self, RailStep};
use super::state::{Job, JobWhat};

/// Everything computed from the project.
#[derive(Debug, Default)]
pub struct Derived {
    /// The completeness gate of the brief.
    pub gate: Gate,
    /// Digest of the brief as it is.
    pub brief_digest: Option<String>,
    /// One view a candidate, in the order of the plan.
    pub candidates: Vec<CandidateView>,
    /// One view a host, in the order of the plan.
    pub hosts: Vec<HostView>,
    /// Every load run, oldest first, with its points and validity.
    pub runs: Vec<Arc<Run>>,
    /// Records that count.
    pub n_records: usize,
    /// Files that do not count: altered or unreadable.
    pub n_altered: usize,
    /// How the decision stands.
    pub decision: DecisionView,
    rail: Vec<RailStep>,
}

/// Everything computed about one candidate.
#[derive(Debug)]
pub struct CandidateView {
    /// The candidate.
    pub id: CandidateId,
    /// Promised against found, mismatches first. Practice and replayed answers stand in where no real one exists, and
    /// are labelled by their kind.
    pub promises: Vec<PromiseRow>,
    /// Memory at the brief's context and peak.
    pub memory: Answer<MemoryEstimate>,
    /// Memory over concurrency.
    pub memory_curve: Answer<MemoryCurve>,
    /// Month and cost of accepted work.
    pub cost: CandidateCost,
    /// Verdicts, in the order of the plan's criteria.
    pub judged: Vec<Judged>,
    /// The verdicts together; `None` without criteria.
    pub overall: Option<Overall>,
    /// Its runs, newest first.
    pub runs: Vec<Arc<Run>>,
    /// What its offer does not state.
    pub questions: Vec<Question>,
}

impl CandidateView {
    /// Promises that do not hold.
    #[must_use]
    pub fn n_mismatches(&self) -> usize {
        self.promises.iter().filter(|row| row.agreement == Agreement::Mismatch).count()
    }
}

/// What was seen on one host.
#[derive(Debug)]
pub struct HostView {
    /// The host.
    pub id: HostId,
    /// The newest answer to each question, newest first; practice and replay stand in where no real one exists.
    pub latest: Vec<Kept>,
    /// Findings of those answers, worst first, with their records.
    pub findings: Vec<(EvidenceId, Finding)>,
    /// Promises that do not hold on it.
    pub n_mismatches: usize,
    /// Kind of its answers; `None` while there are none.
    pub kind: Option<Kind>,
}

/// How the decision stands.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DecisionView {
    /// Digest of the plan without signatures, for the next signature.
    pub digest: String,
    /// How many signed.
    pub n_signed: usize,
    /// How many of them signed another plan than the one that stands here.
    pub n_outdated: usize,
}

impl Derived {
    /// Everything, from nothing.
    #[must_use]
    pub fn compute(plan: &Plan, evidence: &BTreeMap<EvidenceId, Sealed>, n_altered: usize, today: NaiveDate) -> Self {
        Self::default().again(plan, evidence, n_altered, today)
    }

    /// Everything anew. Runs computed before are taken over: a sealed record never changes.
    #[must_use]
    pub fn again(
        &self,
        plan: &Plan,
        evidence: &BTreeMap<EvidenceId, Sealed>,
        n_altered: usize,
        today: NaiveDate,
    ) -> Self {
        let known = self.runs.iter().map(|run| (run.id.clone(), Arc::clone(run))).collect();
        let runs = seen::runs(evidence, &known);
        let ids: Vec<CandidateId> = plan.candidates.iter().map(|candidate| candidate.id.clone()).collect();
        let Grouped { candidates: mut seen, hosts } = seen::group(&ids, &plan.hosts, evidence, &runs);
        let digest = brief_digest(&plan.brief);
        let candidates: Vec<CandidateView> = plan
            .candidates
            .iter()
            .map(|candidate| {
                let seen = seen.remove(&candidate.id).unwrap_or_default();
                candidate_view(plan, candidate, seen, digest.as_deref(), today)
            })
            .collect();
        let hosts = hosts.iter().map(|host| host_view(host, &candidates)).collect();
        let mut derived = Self {
            gate: gate(&plan.brief),
            brief_digest: digest,
            candidates,
            hosts,
            runs,
            n_records: evidence.len(),
            n_altered,
            decision: decision_view(plan),
            rail: Vec::new(),
        };
        derived.rail = rail::steps(plan, &derived);
        derived
    }

    /// The view of a candidate.
    #[must_use]
    pub fn candidate(&self, id: &CandidateId) -> Option<&CandidateView> {
        self.candidates.iter().find(|view| view.id == *id)
    }

    /// The view of a host.
    #[must_use]
    pub fn host(&self, id: &HostId) -> Option<&HostView> {
        self.hosts.iter().find(|view| view.id == *id)
    }

    /// The run of a record.
    #[must_use]
    pub fn run(&self, id: &EvidenceId) -> Option<&Arc<Run>> {
        self.runs.iter().find(|run| run.id == *id)
    }

    /// How far a step is, and its line in the rail; `jobs` are those that run now.
    #[must_use]
    pub fn rail(&self, screen: Screen, jobs: &[Job]) -> RailStep {
        let step = self.rail.iter().find(|step| step.screen == screen).cloned();
        let step = step.unwrap_or_else(|| RailStep::empty(screen));
        let is_running = jobs.iter().any(|job| match job.what {
            JobWhat::Probe(_) | JobWhat::Read(_) => screen == Screen::Hosts,
            JobWhat::Load(_) => screen == Screen::Load,
            JobWhat::Files | JobWhat::Dialog => false,
        });
        if is_running { step.running() } else { step }
    }

    /// The candidate that verdicts are about when nobody names one: the decided, or the only one.
    #[must_use]
    pub fn decided<'a>(&'a self, plan: &Plan) -> Option<&'a CandidateView> {
        match (&plan.decision.candidate, self.candidates.as_slice()) {
            (Some(id), _) => self.candidate(id),
            (None, [only]) => Some(only),
            (None, _) => None,
        }
    }
}

fn candidate_view(
    plan: &Plan,
    candidate: &Candidate,
    seen: Seen,
    digest: Option<&str>,
    today: NaiveDate,
) -> CandidateView {
    let brief = &plan.brief;
    let real_promises = promises::rows(candidate, &seen.hosts, Reading::RealOnly);
    let case = Case { brief, digest, candidate, seen: &seen, promises: &real_promises, today };
    let judged: Vec<Judged> = plan.criteria.iter().map(|criterion| judge::judge(criterion, &case)).collect();
    CandidateView {
        id: candidate.id.clone(),
        promises: promises::rows(candidate, &seen.hosts, Reading::Best),
        memory: memory_at_peak(brief, candidate),
        memory_curve: memory::curve(brief, candidate),
        cost: cost_per_accepted(brief, candidate, &seen.runs, plan.demonstration),
        overall: judge::overall(&judged),
        judged,
        runs: seen.runs,
        questions: questions(candidate),
    }
}

/// Memory when every request at the peak holds the full context; one request where the peak cannot be told.
fn memory_at_peak(brief: &Brief, candidate: &Candidate) -> Answer<MemoryEstimate> {
    let context = brief.context_tokens.ok_or_else(|| Gap::new(GapKind::BriefField).with("field", "context_tokens"))?;
    memory::estimate(brief, candidate, memory::in_flight_at_peak(brief).unwrap_or(1), context)
}

fn host_view(host: &HostSeen, candidates: &[CandidateView]) -> HostView {
    let latest: Vec<Kept> = host.latest(Reading::Best).into_iter().cloned().collect();
    let mut findings: Vec<(EvidenceId, Finding)> = latest
        .iter()
        .flat_map(|kept| kept.record.findings.iter().map(|finding| (kept.id.clone(), finding.clone())))
        .collect();
    findings.sort_by_key(|(_, finding)| finding.severity);
    let n_mismatches = candidates
        .iter()
        .flat_map(|view| &view.promises)
        .filter(|row| row.host.as_ref() == Some(&host.host) && row.agreement == Agreement::Mismatch)
        .count();
    let kind = latest.first().map(|kept| kept.record.kind);
    HostView { id: host.host.clone(), latest, findings, n_mismatches, kind }
}

fn decision_view(plan: &Plan) -> DecisionView {
    let digest = plan.unsigned_digest();
    let signatures = &plan.decision.signatures;
    let n_outdated = signatures.iter().filter(|signature| signature.plan_digest != digest).count();
    DecisionView { n_signed: signatures.len(), n_outdated, digest }
}

/// How many of a candidate's criteria pass, of how many; for lines of text.
#[must_use]
pub fn passed(overall: &Overall) -> (usize, usize) {
    (overall.count(Standing::Pass), overall.total)
}
