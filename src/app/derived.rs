//! The one memo: everything screens show that is computed from the project, made anew when the project changed.
//!
//! Screens and reports read it and compute nothing, so that they cannot disagree.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::NaiveDate;
use iso_currency::Currency;

use crate::domain::acceptance::Judged;
use crate::domain::acceptance::judge::{self, Case, Overall, Standing};
use crate::domain::advice::{Advice, advise};
use crate::domain::brief::brief_digest;
use crate::domain::candidate::Candidate;
use crate::domain::compare::accepted::{CandidateCost, cost_per_accepted};
use crate::domain::compare::breakeven::{BreakEven, break_even};
use crate::domain::compare::promises::{self, Agreement, PromiseRow};
use crate::domain::compare::sensitivity::{Sensitivity, sensitivity};
use crate::domain::compare::whatif::Offered;
use crate::domain::evidence::{Kind, Sealed};
use crate::domain::facts::{Device, Finding, Value, keys};
use crate::domain::figure::{Answer, Gap, GapKind};
use crate::domain::gate::{Gate, gate};
use crate::domain::ids::{CandidateId, EvidenceId, HostId};
use crate::domain::memory::knobs::Gain;
use crate::domain::memory::offer::{self, FoundMemory, MeasuredLog, Searched};
use crate::domain::memory::{EngineRun, MemoryCurve, MemoryEstimate};
use crate::domain::money::Exact;
use crate::domain::questions::{Question, questions};
use crate::domain::rates::convert;
use crate::domain::seen::{self, Grouped, HostSeen, Kept, Known, Reading, Run, Seen};
use crate::domain::topology::Topology;
use crate::project::plan::Plan;

use super::command::Screen;
use super::rail::{self, RailStep};
use super::state::{Job, JobWhat};

/// Everything computed from the project.
#[derive(Debug)]
pub struct Derived {
    /// The completeness gate of the brief.
    pub gate: Gate,
    /// Digest of the brief as it is.
    pub brief_digest: Option<String>,
    /// Which allocation boundary suits the brief, the best first.
    pub advice: Vec<Advice>,
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
    /// Configurations up to the smallest that carries the brief, smallest first.
    pub smallest: Vec<Searched>,
    /// Ways to pay for the work over the demand.
    pub break_even: Result<BreakEven, Gap>,
    /// What could reverse the order of the two cheapest.
    pub sensitivity: Result<Sensitivity, Gap>,
    /// How the decision stands.
    pub decision: DecisionView,
    rail: Vec<RailStep>,
    /// What the records were grouped by, and how: most edits change neither.
    grouped_by: GroupedBy,
    grouped: Arc<Grouped>,
}

impl Default for Derived {
    fn default() -> Self {
        let none = || Gap::new(GapKind::NoRun);
        Self {
            gate: Gate::default(),
            brief_digest: None,
            advice: Vec::new(),
            candidates: Vec::new(),
            hosts: Vec::new(),
            runs: Vec::new(),
            n_records: 0,
            n_altered: 0,
            smallest: Vec::new(),
            break_even: Err(none()),
            sensitivity: Err(none()),
            decision: DecisionView::default(),
            rail: Vec::new(),
            grouped_by: GroupedBy::default(),
            grouped: Arc::default(),
        }
    }
}

/// What the grouping of records depends on. A sealed record never changes, so its id stands for it.
#[derive(Debug, Default, PartialEq, Eq)]
struct GroupedBy {
    evidence: Vec<EvidenceId>,
    hosts: Vec<(HostId, Option<CandidateId>)>,
    candidates: Vec<CandidateId>,
}

impl GroupedBy {
    fn of(plan: &Plan, evidence: &BTreeMap<EvidenceId, Sealed>) -> Self {
        Self {
            evidence: evidence.keys().cloned().collect(),
            hosts: plan.hosts.iter().map(|host| (host.id.clone(), host.candidate.clone())).collect(),
            candidates: plan.candidates.iter().map(|candidate| candidate.id.clone()).collect(),
        }
    }
}

/// Everything computed about one candidate.
#[derive(Debug)]
pub struct CandidateView {
    /// The candidate.
    pub id: CandidateId,
    /// Promised against found, mismatches first. Practice and replayed answers stand in where no real one exists, and
    /// are labelled by their kind.
    pub promises: Vec<PromiseRow>,
    /// Memory at the brief's context and peak, or of the training run or pipeline as set up.
    pub memory: Answer<MemoryEstimate>,
    /// Memory over each axis that the work has.
    pub memory_curves: Vec<Answer<MemoryCurve>>,
    /// Which knob of the engine buys how much on it.
    pub gains: Vec<Gain>,
    /// Logs of its serving engine that tell of memory, newest first.
    pub logs: Vec<MeasuredLog>,
    /// Month and cost of accepted work.
    pub cost: CandidateCost,
    /// The same in the currency that the offers are compared in; `None` where that is its own, or none is known.
    pub converted: Option<Converted>,
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

/// Costs in the currency that the offers are compared in.
#[derive(Debug)]
pub struct Converted {
    /// The month of all units that carry the peak, or the gap of two currencies.
    pub month: Answer<Exact>,
    /// A thousand accepted requests.
    pub per_thousand: Answer<Exact>,
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
    /// How its GPUs and network cards are connected, with the record that says so.
    pub topology: Option<(EvidenceId, Topology)>,
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

    /// Everything anew, but for what follows from records that were there before: a sealed record never changes.
    #[must_use]
    pub fn again(
        &self,
        plan: &Plan,
        evidence: &BTreeMap<EvidenceId, Sealed>,
        n_altered: usize,
        today: NaiveDate,
    ) -> Self {
        let grouped_by = GroupedBy::of(plan, evidence);
        let (runs, grouped) = if grouped_by == self.grouped_by {
            (self.runs.clone(), Arc::clone(&self.grouped))
        } else {
            let known = self.runs.iter().map(|run| (run.id.clone(), Arc::clone(run))).collect();
            let runs = seen::runs(evidence, &known);
            let grouped = seen::group(&grouped_by.candidates, &plan.hosts, evidence, &runs);
            (runs, Arc::new(grouped))
        };
        let digest = brief_digest(&plan.brief);
        let unseen = Seen::default();
        let candidates: Vec<CandidateView> = plan
            .candidates
            .iter()
            .map(|candidate| {
                let seen = grouped.candidates.get(&candidate.id).unwrap_or(&unseen);
                candidate_view(plan, candidate, seen, digest.as_deref(), today)
            })
            .collect();
        let hosts = grouped.hosts.iter().map(|host| host_view(host, &candidates)).collect();
        let (break_even, sensitivity) = held_together(plan, &candidates);
        let mut derived = Self {
            gate: gate(&plan.brief),
            advice: advise(&plan.brief),
            brief_digest: digest,
            candidates,
            hosts,
            runs,
            n_records: evidence.len(),
            n_altered,
            smallest: smallest(plan, &grouped),
            break_even,
            sensitivity,
            decision: decision_view(plan),
            rail: Vec::new(),
            grouped_by,
            grouped,
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
            JobWhat::ReadLog(_) => screen == Screen::Memory,
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
    seen: &Seen,
    digest: Option<&str>,
    today: NaiveDate,
) -> CandidateView {
    let brief = &plan.brief;
    let real_promises = promises::rows(candidate, &seen.hosts, Reading::RealOnly);
    let case = Case { brief, digest, candidate, seen, promises: &real_promises, today };
    let found = found_memory(seen);
    let logs = logs_of(seen);
    let mut held = offer::Case { brief, plan: &plan.memory, candidate, found: found.as_ref(), calibration: None };
    // A log of another candidate's card teaches nothing about this one.
    let calibrated_by = plan.memory.calibrated_by.as_ref();
    if let Some(log) = calibrated_by.and_then(|id| logs.iter().find(|log| log.evidence == *id)) {
        held.calibration = offer::calibration(&held, &log.run).map(|calibration| (calibration, &log.evidence));
    }
    let held = held;
    let memory = offer::estimate(&held);
    let cost = cost_per_accepted(brief, candidate, &seen.runs, plan.demonstration);
    let judged: Vec<Judged> = plan.criteria.iter().map(|criterion| judge::judge(criterion, &case)).collect();
    CandidateView {
        id: candidate.id.clone(),
        promises: promises::rows(candidate, &seen.hosts, Reading::Best),
        memory_curves: offer::curves(&held, &memory),
        memory,
        gains: offer::gains(&held),
        logs,
        converted: converted(plan, &cost, today),
        cost,
        overall: judge::overall(&judged),
        judged,
        runs: seen.runs.clone(),
        questions: questions(candidate),
    }
}

/// The currency that offers are compared in: that of the budget, else the one that the newest rate leads to.
fn compared_in(plan: &Plan, today: NaiveDate) -> Option<Currency> {
    let known = plan.cost.rates.iter().filter(|rate| rate.on <= today);
    let newest = || known.max_by_key(|rate| rate.on).map(|rate| rate.to);
    plan.brief.budget_month.map(|budget| budget.currency).or_else(newest)
}

/// The costs in the currency of the comparison, by the newest rate that is not later than today.
fn converted(plan: &Plan, cost: &CandidateCost, today: NaiveDate) -> Option<Converted> {
    let to = compared_in(plan, today)?;
    let is_other = |answer: &Answer<Exact>| answer.as_ref().is_ok_and(|figure| figure.value.currency != to);
    if !is_other(&cost.month.total) {
        return None;
    }
    let turn = |answer: &Answer<Exact>| {
        answer.as_ref().map_err(Clone::clone).and_then(|figure| convert(figure, to, &plan.cost.rates, today))
    };
    Some(Converted { month: turn(&cost.month_total), per_thousand: turn(&cost.per_thousand) })
}

/// The candidates against each other, over the demand and under what is uncertain.
fn held_together(plan: &Plan, views: &[CandidateView]) -> (Result<BreakEven, Gap>, Result<Sensitivity, Gap>) {
    let known = || views.iter().filter_map(|view| Some((plan.candidate(&view.id)?, view)));
    let costs: Vec<(&Candidate, &CandidateCost)> = known().map(|(candidate, view)| (candidate, &view.cost)).collect();
    let offered: Vec<Offered<'_>> = known().map(|(candidate, view)| (candidate, view.runs.as_slice())).collect();
    (break_even(&plan.brief, &costs, &plan.cost), sensitivity(&plan.brief, &offered, plan.demonstration, &plan.cost))
}

/// Memory of the smallest GPU that a probe of the candidate's hosts found.
fn found_memory(seen: &Seen) -> Option<FoundMemory> {
    let is_gpu = |device: &Device| device.0.starts_with("gpu:");
    let mib = |known: &Known<'_>| known.fact.value.as_ref().ok().and_then(Value::as_f64).map(|mib| mib * 1_048_576.0);
    let found = seen.hosts.iter().flat_map(|host| {
        let latest = host.latest(Reading::Best);
        let reserved = seen::facts(&latest, &keys::MEMORY_RESERVED, is_gpu);
        let total = seen::facts(&latest, &keys::MEMORY_TOTAL, is_gpu);
        total
            .into_iter()
            .filter_map(|known| {
                let own = reserved.iter().find(|other| other.fact.device == known.fact.device);
                Some((mib(&known)?, own.and_then(mib), known.kept.id.clone()))
            })
            .collect::<Vec<_>>()
    });
    let (total, reserved, evidence) = found.min_by(|a, b| a.0.total_cmp(&b.0))?;
    (total > 0.0).then(|| FoundMemory::new(total, reserved, evidence))
}

fn smallest(plan: &Plan, grouped: &Grouped) -> Vec<Searched> {
    let found: Vec<Option<FoundMemory>> =
        plan.candidates.iter().map(|candidate| grouped.candidates.get(&candidate.id).and_then(found_memory)).collect();
    let candidates: Vec<(&Candidate, Option<&FoundMemory>)> =
        plan.candidates.iter().zip(&found).map(|(candidate, found)| (candidate, found.as_ref())).collect();
    offer::smallest(&plan.brief, &plan.memory, &candidates)
}

/// The last start in each log of the candidate's engine.
fn logs_of(seen: &Seen) -> Vec<MeasuredLog> {
    let run = |kept: &Kept| EngineRun::from_facts(&kept.record.facts).map(|run| (run, kept.id.clone()));
    seen.logs.iter().filter_map(run).map(|(run, evidence)| MeasuredLog { run, evidence }).collect()
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
    let topology = latest
        .iter()
        .filter(|kept| {
            kept.record.facts.iter().any(|fact| fact.key == keys::CONNECTION || fact.key == keys::CPU_AFFINITY)
        })
        .find_map(|kept| Topology::of(&kept.record.facts).map(|topology| (kept.id.clone(), topology)));
    HostView { id: host.host.clone(), latest, findings, n_mismatches, kind, topology }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::rail::RailState;
    use crate::domain::acceptance::defaults::default_criteria;
    use crate::domain::acceptance::{Verdict, Why};
    use crate::domain::billing::{Category, Per};
    use crate::domain::decision::{Action, Signature};
    use crate::domain::evidence::{Record, Source};
    use crate::domain::fixture;
    use crate::domain::host::{Host, Reach};
    use crate::domain::load::{ClientHealth, LoadRecord, Outcome, RequestRecord, RunEnd, StepRecord, TokenSource};
    use crate::domain::text::{Language, Text};
    use crate::domain::units::{SizeUnit, StatedSize};

    const TODAY: NaiveDate = NaiveDate::from_ymd_opt(2026, 12, 4).unwrap();

    /// A plan with one candidate, its host and the default criteria.
    fn plan() -> Plan {
        let brief = fixture::brief();
        let gpu = fixture::priced(1, Category::Accelerator, "2.89 USD", Per::Hour, "1");
        let mut candidate = fixture::candidate("c1", vec![gpu], Some(0));
        candidate.promised.gpu_count = Some(1);
        candidate.promised.gpu_model = Some("H100".into());
        candidate.promised.gpu_memory = Some(StatedSize { number: 80.0, unit: SizeUnit::GB });
        Plan {
            criteria: default_criteria(&brief),
            brief,
            candidates: vec![candidate],
            hosts: vec![Host {
                id: HostId("h1".into()),
                candidate: Some(CandidateId("c1".into())),
                name: "gpu-a1".into(),
                reach: Reach::Pasted,
                pinned_key: None,
                note: String::new(),
            }],
            ..Plan::default()
        }
    }

    /// 400 requests at 8 req/s, each with its first token after 100 ms and 24 tokens 10 ms apart.
    fn load_record(plan: &Plan, kind: Kind) -> Record {
        let requests = (0..400_u32)
            .map(|idx| {
                let at = f64::from(idx) / 8.0;
                RequestRecord {
                    intended_secs: at,
                    sent_secs: at,
                    first_token_secs: Some(at + 0.1),
                    first_text_secs: Some(at + 0.1),
                    last_token_secs: Some(at + 0.33),
                    end_secs: at + 0.34,
                    gaps_us: vec![10_000; 23],
                    events: 24,
                    merged: false,
                    first_event_tokens: 1,
                    input_tokens: Some(700),
                    output_tokens: Some(24),
                    token_source: TokenSource::Usage,
                    outcome: Outcome::Completed,
                    message: String::new(),
                }
            })
            .collect();
        let run = fixture::run("unused", &plan.brief, 5, Vec::new());
        Record {
            kind,
            candidate: Some(CandidateId("c1".into())),
            brief_digest: brief_digest(&plan.brief),
            load: Some(LoadRecord {
                plan: run.plan,
                steps: vec![StepRecord { level: 8.0, start_secs: 0.0, end_secs: 50.2, asked: 400, requests }],
                client: ClientHealth {
                    cpu_secs: 1.0,
                    wall_secs: 50.0,
                    cores: 2,
                    loop_lag_p99_ms: Some(0.5),
                    lateness_p99_ms: Some(0.5),
                    lost: 0,
                    rss_mib: None,
                },
                ended: RunEnd::Done,
                gpu_samples: Vec::new(),
                server: String::new(),
                refused_options: Vec::new(),
                gpu_gap: None,
            }),
            ..fixture::record(Source::Load, 5)
        }
    }

    fn probed(kind: Kind, facts: &[&str]) -> Record {
        let record = (*fixture::answer("unused", "gpu_detail", 1, facts).record).clone();
        Record { kind, host: Some(HostId("h1".into())), ..record }
    }

    fn evidence(records: Vec<Record>) -> BTreeMap<EvidenceId, Sealed> {
        records
            .into_iter()
            .map(|record| Sealed::seal(record).unwrap())
            .map(|sealed| (sealed.id.clone(), sealed))
            .collect()
    }

    fn derived(plan: &Plan, records: Vec<Record>) -> Derived {
        Derived::compute(plan, &evidence(records), 0, TODAY)
    }

    const H100: [&str; 2] = ["gpu:0 name NVIDIA H100 80GB HBM3", "gpu:0 memory_total 81559"];

    fn standing(derived: &Derived, metric_idx: usize) -> (Verdict, Why) {
        let judged = &derived.candidates[0].judged[metric_idx];
        (judged.verdict, judged.why.clone())
    }

    #[test]
    fn real_records_reach_every_screen() {
        let plan = plan();
        let derived = derived(&plan, vec![probed(Kind::Real, &H100), load_record(&plan, Kind::Real)]);
        let view = &derived.candidates[0];
        assert_eq!(view.n_mismatches(), 0);
        assert!(view.memory.as_ref().unwrap().value.fits());
        assert_eq!(view.cost.month_total.as_ref().unwrap().value.show(), "2,109.70");
        // 2,109.70 USD over 6,832,800 requests, all accepted.
        assert_eq!(view.cost.per_thousand.as_ref().unwrap().value.show_significant(4), "0.3088");
        assert_eq!(view.runs.len(), 1);
        assert_eq!(standing(&derived, 0), (Verdict::Pass, Why::Compared), "GPU count");
        let ttft = plan.criteria.iter().position(|k| k.metric == crate::domain::acceptance::Metric::TtftP95).unwrap();
        assert_eq!(standing(&derived, ttft), (Verdict::Pass, Why::Compared));
        assert_eq!(derived.hosts[0].kind, Some(Kind::Real));
        assert_eq!((derived.n_records, derived.runs.len()), (2, 1));
    }

    #[test]
    fn a_run_that_did_not_end_as_planned_is_shown_and_satisfies_nothing() {
        use crate::domain::acceptance::Metric;
        let plan = plan();
        for ended in [RunEnd::Stopped, RunEnd::Interrupted] {
            let mut record = load_record(&plan, Kind::Real);
            record.load.as_mut().unwrap().ended = ended;
            let unfinished = derived(&plan, vec![record.clone()]);
            let view = &unfinished.candidates[0];
            assert!(unfinished.runs[0].is_valid() && !unfinished.runs[0].is_sound());
            assert!(unfinished.runs[0].points[0].provisional, "the step in which it ended");
            let gap = view.cost.carried.as_ref().unwrap_err();
            assert_eq!(
                (gap.kind, gap.values.as_slice()),
                (GapKind::InvalidRun, &[("why", ended.key().to_owned())][..])
            );
            for (criterion, judged) in plan.criteria.iter().zip(&view.judged) {
                if matches!(criterion.metric, Metric::TtftP95 | Metric::ValidRuns | Metric::CompletedRequests) {
                    let want = (Verdict::NotTested, Why::CouldNotRun("only_unfinished".to_owned()));
                    assert_eq!((judged.verdict, judged.why.clone()), want, "{}", judged.criterion);
                }
            }
            let step = unfinished.rail(Screen::Load, &[]);
            assert_eq!(step.state, RailState::Incomplete);
            assert_eq!(step.line(Text::of(Language::En)), "0 valid, 0 invalid, 1 unfinished");
            // Beside a whole run it changes nothing.
            let both = derived(&plan, vec![record, load_record(&plan, Kind::Real)]);
            assert!(both.candidates[0].cost.carried.is_ok());
            assert_eq!(both.rail(Screen::Load, &[]).state, RailState::Done);
        }
    }

    #[test]
    fn practice_and_replay_are_shown_with_their_kind_and_judge_nothing() {
        let mut plan = plan();
        let records = || vec![probed(Kind::Replay, &H100), load_record(&plan, Kind::Practice)];
        let before = derived(&plan, records());
        let records = records();
        assert_eq!(before.candidates[0].cost.carried.as_ref().unwrap_err().kind, GapKind::OnlyPractice);
        plan.demonstration = true;
        let after = derived(&plan, records);
        let carried = after.candidates[0].cost.carried.as_ref().unwrap();
        assert_eq!(carried.basis.kind, Kind::Practice);
        let row = after.candidates[0].promises.iter().find(|row| row.field == "gpu_count").unwrap();
        assert_eq!((row.kind, row.agreement), (Some(Kind::Replay), Agreement::Match));
        for judged in &after.candidates[0].judged {
            assert_eq!(judged.verdict, Verdict::NotTested, "{}", judged.criterion);
        }
    }

    #[test]
    fn a_corrected_record_does_not_count() {
        let plan = plan();
        let wrong = Sealed::seal(probed(Kind::Real, &["gpu:0 name NVIDIA L4"])).unwrap();
        // The correction is older by its own clock; what it corrects is gone all the same.
        let right =
            Record { supersedes: Some(wrong.id.clone()), taken_at: fixture::moment(0), ..probed(Kind::Real, &H100) };
        let derived = derived(&plan, vec![(*wrong.record).clone(), right]);
        assert_eq!(derived.candidates[0].n_mismatches(), 0);
    }

    #[test]
    fn runs_are_computed_once() {
        let plan = plan();
        let evidence = evidence(vec![load_record(&plan, Kind::Real)]);
        let first = Derived::compute(&plan, &evidence, 0, TODAY);
        let second = first.again(&plan, &evidence, 0, TODAY);
        assert!(Arc::ptr_eq(&first.runs[0], &second.runs[0]));
        assert!(first.again(&plan, &BTreeMap::new(), 0, TODAY).runs.is_empty());
    }

    #[test]
    fn the_rail_says_how_far_each_step_is() {
        use RailState::{Done, Empty, Failing, Incomplete};
        let states = |derived: &Derived| Screen::ALL.map(|screen| derived.rail(screen, &[]).state);
        assert_eq!(states(&derived(&Plan::default(), vec![])), [Empty; 9]);
        let mut plan = plan();
        let records = || vec![probed(Kind::Real, &H100), load_record(&plan, Kind::Real)];
        let records = records();
        assert_eq!(
            states(&derived(&plan, records.clone())),
            [Done, Done, Incomplete, Done, Done, Done, Done, Incomplete, Empty]
        );
        plan.decision.action = Some(Action::Dedicate);
        assert_eq!(derived(&plan, vec![]).rail(Screen::Decision, &[]).state, Incomplete);
        let signature = |digest| Signature {
            by: "A".into(),
            role: "author".into(),
            at: fixture::moment(0),
            revision: 1,
            plan_digest: digest,
        };
        plan.decision.signatures = vec![signature(plan.unsigned_digest())];
        assert_eq!(derived(&plan, vec![]).rail(Screen::Decision, &[]).state, Done);
        plan.name = "Changed since".into();
        assert_eq!(derived(&plan, vec![]).rail(Screen::Decision, &[]).state, Failing);
        assert_eq!(Derived::compute(&plan, &evidence(records), 2, TODAY).rail(Screen::Acceptance, &[]).state, Failing);
    }

    #[test]
    fn every_line_and_input_has_words() {
        let plan = plan();
        let derived = derived(&plan, vec![probed(Kind::Real, &H100), load_record(&plan, Kind::Real)]);
        let view = &derived.candidates[0];
        let mut names = Vec::new();
        collect(&view.memory.as_ref().unwrap().inputs, &mut names);
        for answer in [&view.cost.month_total, &view.cost.per_million_tokens, &view.cost.full_use_per_thousand] {
            collect(&answer.as_ref().unwrap().inputs, &mut names);
        }
        names.extend(
            view.promises.iter().flat_map(|row| [Some(row.field), row.note, Some(row.agreement.key())]).flatten(),
        );
        names.extend(view.questions.iter().flat_map(|question| [question.field, question.sentence]));
        for language in Language::ALL {
            let text = Text::of(language);
            for name in &names {
                assert_ne!(text.name(name), *name, "{language:?} lacks {name}");
            }
            for screen in Screen::ALL {
                for derived in [&derived, &Derived::default()] {
                    let line = derived.rail(screen, &[]).line(text);
                    assert!(!line.is_empty() && !line.contains(['{', '_']), "{line}");
                }
            }
        }
    }

    fn collect(inputs: &[crate::domain::figure::Input], names: &mut Vec<&'static str>) {
        for input in inputs {
            names.push(input.name);
            collect(&input.inputs, names);
        }
    }

    #[test]
    fn a_thousand_records_are_grouped_once() {
        let plan = plan();
        let mut records: Vec<Record> =
            (0..999).map(|minute| Record { taken_at: fixture::moment(minute), ..probed(Kind::Real, &H100) }).collect();
        records.push(load_record(&plan, Kind::Real));
        let evidence = evidence(records);
        let derived = Derived::compute(&plan, &evidence, 0, TODAY);
        assert_eq!(derived.n_records, 1_000);
        let [newest] = derived.hosts[0].latest.as_slice() else { panic!("one question, one newest answer") };
        assert_eq!(newest.record.taken_at, fixture::moment(998));
    }
}
