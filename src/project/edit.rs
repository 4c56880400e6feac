//! Edits: coarse changes to the plan, each with a key for undo.

use crate::domain::acceptance::{Criterion, Waiver};
use crate::domain::brief::Brief;
use crate::domain::candidate::Candidate;
use crate::domain::compare::declared::CostPlan;
use crate::domain::decision::Decision;
use crate::domain::host::Host;
use crate::domain::ids::{CandidateId, CriterionId, HostId};
use crate::domain::memory::MemoryPlan;

use super::plan::{LoadSetup, Note, Plan};

/// A change to the plan. A screen clones the item, widgets change the clone, the screen emits the edit.
#[derive(Debug, Clone, PartialEq)]
pub enum Edit {
    /// The project's name.
    Rename(String),
    /// The whole plan, as recovered.
    PutPlan(Box<Plan>),
    /// The whole brief.
    PutBrief(Box<Brief>),
    /// The brief and how its model is run, together: facts that were read from the model's files.
    PutModel(Box<Brief>, Box<MemoryPlan>),
    /// A candidate, new or changed (by id).
    PutCandidate(Box<Candidate>),
    /// A candidate goes away; its evidence stays.
    RemoveCandidate(CandidateId),
    /// A host, new or changed.
    PutHost(Box<Host>),
    /// A host goes away; its evidence stays.
    RemoveHost(HostId),
    /// A criterion, new or changed.
    PutCriterion(Box<Criterion>),
    /// A criterion goes away.
    RemoveCriterion(CriterionId),
    /// Every criterion at once (the defaults derived from the brief).
    PutCriteria(Vec<Criterion>),
    /// A waiver beside a criterion's verdict.
    Waive(CriterionId, Box<Waiver>),
    /// The load run as set up.
    PutLoad(Box<LoadSetup>),
    /// How the model is going to be run.
    PutMemory(Box<MemoryPlan>),
    /// What is declared for the cost beside the offers.
    PutCost(Box<CostPlan>),
    /// The decision.
    PutDecision(Box<Decision>),
    /// A note at the end.
    AddNote(Note),
}

/// Edits with the same key within a second are one step of undo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditKey {
    /// Which kind of edit; names the step on screen (`Text::edit`).
    pub step: EditStep,
    /// On which item.
    pub item: String,
}

/// Names of undo steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EditStep {
    /// Project renamed.
    Rename,
    /// Unsaved plan taken over.
    Recover,
    /// Brief changed.
    Brief,
    /// Facts of the model read.
    Model,
    /// Candidate changed.
    Candidate,
    /// Candidate added.
    AddCandidate,
    /// Candidate removed.
    RemoveCandidate,
    /// Host changed.
    Host,
    /// Host added.
    AddHost,
    /// Host removed.
    RemoveHost,
    /// Criterion changed.
    Criterion,
    /// Criterion removed.
    RemoveCriterion,
    /// Criteria set.
    Criteria,
    /// Waiver given.
    Waive,
    /// Load set up.
    Load,
    /// Memory set up.
    Memory,
    /// Declared for the cost.
    Cost,
    /// Decision changed.
    Decision,
    /// Note added.
    Note,
}

impl Edit {
    /// The key of this edit on this plan.
    #[must_use]
    pub fn key(&self, plan: &Plan) -> EditKey {
        let (step, item) = match self {
            Self::Rename(_) => (EditStep::Rename, String::new()),
            Self::PutPlan(_) => (EditStep::Recover, String::new()),
            Self::PutBrief(_) => (EditStep::Brief, String::new()),
            Self::PutModel(..) => (EditStep::Model, String::new()),
            Self::PutCandidate(candidate) => (
                if plan.candidate(&candidate.id).is_some() { EditStep::Candidate } else { EditStep::AddCandidate },
                candidate.id.to_string(),
            ),
            Self::RemoveCandidate(id) => (EditStep::RemoveCandidate, id.to_string()),
            Self::PutHost(host) => {
                (if plan.host(&host.id).is_some() { EditStep::Host } else { EditStep::AddHost }, host.id.to_string())
            }
            Self::RemoveHost(id) => (EditStep::RemoveHost, id.to_string()),
            Self::PutCriterion(criterion) => (EditStep::Criterion, criterion.id.to_string()),
            Self::RemoveCriterion(id) => (EditStep::RemoveCriterion, id.to_string()),
            Self::PutCriteria(_) => (EditStep::Criteria, String::new()),
            Self::Waive(id, _) => (EditStep::Waive, id.to_string()),
            Self::PutLoad(_) => (EditStep::Load, String::new()),
            Self::PutMemory(_) => (EditStep::Memory, String::new()),
            Self::PutCost(_) => (EditStep::Cost, String::new()),
            Self::PutDecision(_) => (EditStep::Decision, String::new()),
            Self::AddNote(_) => (EditStep::Note, String::new()),
        };
        EditKey { step, item }
    }

    /// The plan with this edit applied.
    #[must_use]
    pub fn apply(self, plan: &Plan) -> Plan {
        let mut plan = plan.clone();
        match self {
            Self::Rename(name) => plan.name = name,
            Self::PutPlan(other) => plan = *other,
            Self::PutBrief(brief) => plan.brief = *brief,
            Self::PutModel(brief, memory) => {
                plan.brief = *brief;
                plan.memory = *memory;
            }
            Self::PutCandidate(candidate) => put(&mut plan.candidates, *candidate, |a, b| a.id == b.id),
            Self::RemoveCandidate(id) => plan.candidates.retain(|candidate| candidate.id != id),
            Self::PutHost(host) => put(&mut plan.hosts, *host, |a, b| a.id == b.id),
            Self::RemoveHost(id) => plan.hosts.retain(|host| host.id != id),
            Self::PutCriterion(criterion) => put(&mut plan.criteria, *criterion, |a, b| a.id == b.id),
            Self::RemoveCriterion(id) => plan.criteria.retain(|criterion| criterion.id != id),
            Self::PutCriteria(criteria) => plan.criteria = criteria,
            Self::Waive(id, waiver) => {
                if let Some(criterion) = plan.criteria.iter_mut().find(|criterion| criterion.id == id) {
                    criterion.waivers.retain(|other| other.candidate != waiver.candidate);
                    criterion.waivers.push(*waiver);
                }
            }
            Self::PutLoad(load) => plan.load = Some(*load),
            Self::PutMemory(memory) => plan.memory = *memory,
            Self::PutCost(cost) => plan.cost = *cost,
            Self::PutDecision(decision) => plan.decision = *decision,
            Self::AddNote(note) => plan.notes.push(note),
        }
        plan
    }
}

fn put<T>(items: &mut Vec<T>, item: T, same: impl Fn(&T, &T) -> bool) {
    match items.iter_mut().find(|other| same(other, &item)) {
        Some(place) => *place = item,
        None => items.push(item),
    }
}
