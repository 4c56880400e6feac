//! What was seen of one candidate: its sealed records, grouped once, so that every comparison reads the same ones.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use chrono::{DateTime, FixedOffset};

use super::curve::{self, StepPoint, ValidityItem};
use super::evidence::{Kind, Record, Sealed, Source};
use super::facts::{Absent, Device, Fact, Key, keys};
use super::host::Host;
use super::ids::{CandidateId, EvidenceId, HostId};
use super::load::{LoadPlan, LoadRecord, Outcome, RunEnd, StepRecord, TokenSource, Until};
use super::timeline::{LiveRow, timeline};

/// A record with its id.
#[derive(Debug, Clone)]
pub struct Kept {
    /// Its id.
    pub id: EvidenceId,
    /// What it says.
    pub record: Arc<Record>,
}

/// What was seen of one candidate.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// Its hosts, in the order of the plan.
    pub hosts: Vec<HostSeen>,
    /// Its load runs, newest first.
    pub runs: Vec<Arc<Run>>,
    /// What people attested, newest first.
    pub manual: Vec<Kept>,
    /// Logs of its serving engine, newest first.
    pub logs: Vec<Kept>,
}

/// What was seen on one host.
#[derive(Debug, Clone)]
pub struct HostSeen {
    /// The host.
    pub host: HostId,
    /// Answers of probes and pasted outputs, newest first.
    pub records: Vec<Kept>,
    /// What real answers say the machine is: for each of [`IDENTITY`], the values and since when, newest first. Only
    /// changes are kept.
    identity: [Vec<Since>; N_IDENTITY],
}

/// Values on the machine and its GPUs, sorted, and when they were seen first.
#[derive(Debug, Clone)]
struct Since {
    at: DateTime<FixedOffset>,
    values: Vec<String>,
}

/// How many values identify a machine.
const N_IDENTITY: usize = 4;
/// What must be as it was for a run to stand for the host: the key and its name for `Text::name`.
static IDENTITY: [(Key, &str); N_IDENTITY] = [
    (keys::DRIVER_VERSION, "driver_version"),
    (keys::KERNEL, "kernel"),
    (keys::OS, "os"),
    (keys::UUID, "gpu_identity"),
];

/// Which kinds of record are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// Real ones alone: what a verdict may stand on.
    RealOnly,
    /// Real ones where the host has any, else practice and replay, which stay labelled.
    Best,
}

/// A fact with the record it stands in.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    /// The fact.
    pub fact: &'a Fact,
    /// The record.
    pub kept: &'a Kept,
}

impl HostSeen {
    /// What was seen on a host.
    #[must_use]
    pub fn new(host: HostId, mut records: Vec<Kept>) -> Self {
        newest_first(&mut records);
        let mut identity: [Vec<Since>; N_IDENTITY] = Default::default();
        for kept in records.iter().filter(|kept| kept.record.kind == Kind::Real) {
            let at = kept.record.taken_at;
            for (changes, values) in identity.iter_mut().zip(identity_of(&kept.record)) {
                match changes.last_mut() {
                    _ if values.is_empty() => {}
                    Some(later) if later.values == values => later.at = at,
                    _ => changes.push(Since { at, values }),
                }
            }
        }
        Self { host, records, identity }
    }

    /// What of the machine is not as it was at that moment, as a name of `Text::name`; `None` also where nothing was
    /// known then.
    #[must_use]
    pub fn changed_since(&self, moment: DateTime<FixedOffset>) -> Option<&'static str> {
        self.identity.iter().zip(&IDENTITY).find_map(|(changes, (_, name))| {
            let now = changes.first()?;
            let then = changes.iter().find(|change| change.at <= moment)?;
            (then.values != now.values).then_some(*name)
        })
    }

    /// The newest answer to each question, newest first.
    #[must_use]
    pub fn latest(&self, reading: Reading) -> Vec<&Kept> {
        let has_real = self.records.iter().any(|kept| kept.record.kind == Kind::Real && !is_connection(kept));
        let real_only = reading == Reading::RealOnly || has_real;
        let mut asked = BTreeSet::new();
        self.records
            .iter()
            .enumerate()
            // A failed connection is news until the host answers again.
            .filter(|(idx, kept)| *idx == 0 || !is_connection(kept))
            .map(|(_, kept)| kept)
            .filter(|kept| !real_only || kept.record.kind == Kind::Real)
            .filter(|kept| asked.insert(probe_id(&kept.record)))
            .collect()
    }
}

/// Id of the probe that reads the log of a serving engine.
pub const ENGINE_LOG: &str = "engine_log";
/// Id in a record of an attempt to connect that failed; no probe has it.
pub const CONNECTION: &str = "connection";

fn is_connection(kept: &Kept) -> bool {
    probe_id(&kept.record) == Some(CONNECTION)
}

/// Values of each of [`IDENTITY`] on the machine and its GPUs, sorted; empty where the answer has none.
fn identity_of(record: &Record) -> [Vec<String>; N_IDENTITY] {
    let mut values: [Vec<String>; N_IDENTITY] = Default::default();
    for fact in &record.facts {
        let place = IDENTITY.iter().zip(&mut values).find(|((key, _), _)| fact.key == *key);
        if let (Some((_, values)), Ok(value)) = (place, &fact.value)
            && (is_host(&fact.device) || is_gpu(&fact.device))
        {
            values.push(value.to_string());
        }
    }
    for values in &mut values {
        values.sort_unstable();
    }
    values
}

/// Facts of this key on devices that `is_meant` picks, from the newest record that has any.
#[must_use]
pub fn facts<'a>(latest: &[&'a Kept], key: &Key, is_meant: impl Fn(&Device) -> bool) -> Vec<Known<'a>> {
    latest
        .iter()
        .map(|kept| {
            let kept: &'a Kept = kept;
            let facts = kept.record.facts.iter().filter(|fact| fact.key == *key && is_meant(&fact.device));
            facts.map(|fact| Known { fact, kept }).collect::<Vec<_>>()
        })
        .find(|facts| !facts.is_empty())
        .unwrap_or_default()
}

/// Whether this is a whole GPU.
#[must_use]
pub fn is_gpu(device: &Device) -> bool {
    device.gpu_idx().is_some()
}

/// Whether this is the machine itself.
#[must_use]
pub fn is_host(device: &Device) -> bool {
    device.0 == "host"
}

/// The first reason why one of these answers could not be read.
#[must_use]
pub fn why_absent<'a>(latest: &[&'a Kept], is_meant: impl Fn(&str) -> bool) -> Option<(&'a Absent, &'a Kept)> {
    latest.iter().find_map(|kept| {
        let kept: &'a Kept = kept;
        let absent = kept.record.absent.as_ref()?;
        is_meant(probe_id(&kept.record)?).then_some((absent, kept))
    })
}

/// The probe whose answer a record holds.
#[must_use]
pub fn probe_id(record: &Record) -> Option<&str> {
    match &record.source {
        Source::Probe { id, .. } | Source::Pasted { id, .. } => Some(id),
        Source::Load | Source::Manual { .. } => None,
    }
}

/// A load run with its points, computed once.
#[derive(Debug, Clone)]
pub struct Run {
    /// The record's id.
    pub id: EvidenceId,
    /// The record.
    pub record: Arc<Record>,
    /// What was asked.
    pub plan: LoadPlan,
    /// How it ended.
    pub ended: RunEnd,
    /// Its steps.
    pub points: Vec<StepPoint>,
    /// Counts of tokens beside each step.
    pub tokens: Vec<StepTokens>,
    /// The conditions of a valid run.
    pub validity: Vec<ValidityItem>,
    /// The run second by second.
    pub timeline: Vec<LiveRow>,
}

/// Who counted the tokens of a step's answers that were complete and accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StepTokens {
    /// Answers complete and accepted.
    pub completed: u64,
    /// Of those, with a count of output tokens.
    pub counted: u64,
    /// Of those, counted by the server.
    pub by_usage: u64,
    /// Their output tokens.
    pub output: u64,
}

impl Run {
    /// The run of a record; `None` when the record holds none.
    #[must_use]
    pub fn of(sealed: &Sealed) -> Option<Self> {
        let load = sealed.record.load.as_ref()?;
        Some(Self {
            id: sealed.id.clone(),
            record: Arc::clone(&sealed.record),
            plan: load.plan.clone(),
            ended: load.ended,
            points: points(load),
            tokens: load.steps.iter().map(step_tokens).collect(),
            validity: curve::validity(load),
            timeline: timeline(load),
        })
    }

    /// Whether it measured the server and not the client.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.validity.iter().all(|item| item.ok)
    }

    /// Whether a verdict or a cost may stand on it: it measured the server, and it ended as planned. A run that was
    /// stopped or interrupted shows what it finished and satisfies nothing, for whoever stops a run chooses by what was
    /// seen so far.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.is_valid() && self.ended == RunEnd::Done
    }

    /// Why it is not sound, as a name of `Text::name`; the client's own fault before how it ended.
    #[must_use]
    pub fn why_unsound(&self) -> Option<&'static str> {
        let broken = self.validity.iter().find(|item| !item.ok).map(|item| item.name);
        broken.or_else(|| (self.ended != RunEnd::Done).then(|| self.ended.key()))
    }

    /// Whether it can count.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.record.kind
    }
}

/// The steps of a run as points. The step in which a run was stopped or interrupted stays provisional for ever.
fn points(load: &LoadRecord) -> Vec<StepPoint> {
    let mut points = curve::points(load);
    if load.ended != RunEnd::Done
        && let (Some(last), Some(step)) = (points.last_mut(), load.steps.last())
    {
        let is_finished = load.steps.len().checked_sub(1).and_then(|idx| load.plan.stages.get(idx)).is_some_and(|stage| {
            // Of a step by time nobody can tell afterwards whether its time was over.
            let has_all = matches!(stage.until, Until::Requests(n) if u32::try_from(step.requests.len()).is_ok_and(|have| have >= n));
            has_all && step.requests.iter().all(|request| request.outcome != Outcome::Cancelled)
        });
        last.provisional = !is_finished;
    }
    points
}

fn step_tokens(step: &StepRecord) -> StepTokens {
    let mut tokens = StepTokens::default();
    for request in step.requests.iter().filter(|request| request.outcome == Outcome::Completed) {
        tokens.completed += 1;
        if let Some(output) = request.output_tokens {
            tokens.counted += 1;
            tokens.output += u64::from(output);
            tokens.by_usage += u64::from(request.token_source == TokenSource::Usage);
        }
    }
    tokens
}

/// Runs of all records, oldest first. `known` holds runs computed before: a sealed record never changes.
#[must_use]
pub fn runs(evidence: &BTreeMap<EvidenceId, Sealed>, known: &BTreeMap<EvidenceId, Arc<Run>>) -> Vec<Arc<Run>> {
    let mut runs: Vec<Arc<Run>> = evidence
        .values()
        .filter(|sealed| sealed.record.load.is_some())
        .filter_map(|sealed| known.get(&sealed.id).cloned().or_else(|| Run::of(sealed).map(Arc::new)))
        .collect();
    runs.sort_by(|a, b| a.record.taken_at.cmp(&b.record.taken_at).then_with(|| a.id.cmp(&b.id)));
    runs
}

/// All records, grouped.
#[derive(Debug, Clone, Default)]
pub struct Grouped {
    /// What was seen of each candidate.
    pub candidates: BTreeMap<CandidateId, Seen>,
    /// What was seen on each host, in the order of the plan, whether it belongs to a candidate or not.
    pub hosts: Vec<HostSeen>,
}

/// Groups all records by candidate and host. Records that another one corrects are left out.
#[must_use]
pub fn group(
    candidates: &[CandidateId],
    hosts: &[Host],
    evidence: &BTreeMap<EvidenceId, Sealed>,
    runs: &[Arc<Run>],
) -> Grouped {
    let corrected: BTreeSet<&EvidenceId> =
        evidence.values().filter_map(|sealed| sealed.record.supersedes.as_ref()).collect();
    let owner: BTreeMap<&HostId, &CandidateId> =
        hosts.iter().filter_map(|host| Some((&host.id, host.candidate.as_ref()?))).collect();
    let about = |record: &Record| {
        record.candidate.clone().or_else(|| record.host.as_ref().and_then(|host| owner.get(host).copied().cloned()))
    };
    let mut answers: BTreeMap<&HostId, Vec<Kept>> = BTreeMap::new();
    let mut grouped = Grouped {
        candidates: candidates.iter().map(|id| (id.clone(), Seen::default())).collect(),
        hosts: Vec::with_capacity(hosts.len()),
    };
    for sealed in evidence.values().filter(|sealed| !corrected.contains(&sealed.id)) {
        let kept = || Kept { id: sealed.id.clone(), record: Arc::clone(&sealed.record) };
        if probe_id(&sealed.record) == Some(ENGINE_LOG)
            && let Some(seen) = about(&sealed.record).and_then(|id| grouped.candidates.get_mut(&id))
        {
            seen.logs.push(kept());
        }
        match (&sealed.record.source, &sealed.record.host) {
            (Source::Probe { .. } | Source::Pasted { .. }, Some(host)) => answers.entry(host).or_default().push(kept()),
            (Source::Manual { .. }, _) => {
                if let Some(seen) = about(&sealed.record).and_then(|id| grouped.candidates.get_mut(&id)) {
                    seen.manual.push(kept());
                }
            }
            _ => {}
        }
    }
    for host in hosts {
        let host_seen = HostSeen::new(host.id.clone(), answers.remove(&host.id).unwrap_or_default());
        if let Some(seen) = host.candidate.as_ref().and_then(|id| grouped.candidates.get_mut(id)) {
            seen.hosts.push(host_seen.clone());
        }
        grouped.hosts.push(host_seen);
    }
    for run in runs.iter().rev().filter(|run| !corrected.contains(&run.id)) {
        if let Some(seen) = about(&run.record).and_then(|id| grouped.candidates.get_mut(&id)) {
            seen.runs.push(Arc::clone(run));
        }
    }
    for seen in grouped.candidates.values_mut() {
        newest_first(&mut seen.manual);
        newest_first(&mut seen.logs);
    }
    grouped
}

fn newest_first(records: &mut [Kept]) {
    records.sort_by(|a, b| b.record.taken_at.cmp(&a.record.taken_at).then_with(|| b.id.cmp(&a.id)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::facts::AbsentKind;
    use crate::domain::fixture;

    #[test]
    fn a_failed_connection_is_shown_until_the_host_answers_and_never_hides_a_replay() {
        let failed = || fixture::unread("e2", CONNECTION, 2, AbsentKind::NoConnection, "host unreachable");
        let gpu = |id, minute| fixture::answer(id, "gpu_list", minute, &["gpu:0 name NVIDIA L40S"]);
        let replay = |id, minute| fixture::kept_as(gpu(id, minute), Kind::Replay);
        for (name, records, reading, want) in [
            ("down", vec![gpu("e1", 1), failed()], Reading::Best, vec!["connection", "gpu_list"]),
            ("back", vec![gpu("e1", 1), failed(), gpu("e3", 3)], Reading::Best, vec!["gpu_list"]),
            ("a replay stays", vec![replay("e1", 1), failed()], Reading::Best, vec!["connection", "gpu_list"]),
            ("real alone", vec![replay("e1", 1), failed()], Reading::RealOnly, vec!["connection"]),
        ] {
            let host = fixture::host(records);
            let ids: Vec<_> = host.latest(reading).iter().filter_map(|kept| probe_id(&kept.record)).collect();
            assert_eq!(ids, want, "{name}");
        }
    }
}
