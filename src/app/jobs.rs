//! Work that a person starts: what the engine needs is put together here from the plan, and what comes back is taken in.

use crate::domain::brief::brief_digest;
use crate::domain::evidence::{Kind, PROGRAM, Record, Sealed, Source, VERSION, Vantage};
use crate::domain::failure::{Failure, FailureKind};
use crate::domain::host::{Host, KeyPin, Reach};
use crate::domain::ids::{CandidateId, HostId};
use crate::domain::load::{LoadPlan, Prompts, StagePlan, Until};
use crate::domain::secret::Secret;
use crate::domain::seen::ENGINE_LOG;
use crate::engine::clock::Now;
use crate::engine::event::Outcome;
use crate::engine::job::{JobSpec, LoadRoute, LoadSpec, Stamp};
use crate::project::edit::Edit;
use crate::project::plan::{LoadSetup, Route};
use crate::project::store::EVIDENCE_FOLDER;

use super::App;
use super::command::{Command, Screen};
use super::state::{Ended, JobWhat, NoticeWhat, Project};

/// Requests of each step of the practice ladder: enough for a 95th percentile (200), with a few to spare.
const PRACTICE_REQUESTS: u32 = 208;
/// Requests a second of its steps; together about 90 seconds.
const PRACTICE_RATES: [f64; 3] = [4.0, 8.0, 16.0];

impl App {
    pub(super) fn job_command(&mut self, command: Command, now: Now) {
        match command {
            Command::Probe { host, probes } => self.probe(&host, probes),
            Command::ReadOutput { host, probe, source, exit } => {
                let Some(project) = &self.state.project else { return };
                let Some(stamp) = project.plan.host(&host).map(|host| stamp_of_host(project, host)) else { return };
                self.start(JobWhat::Read(host), JobSpec::ReadOutput { probe, source, exit, stamp });
            }
            Command::ReadLog { candidate, source } => {
                let Some(project) = &self.state.project else { return };
                let stamp = Stamp {
                    candidate: Some(candidate.clone()),
                    host: None,
                    kind: Kind::Real,
                    brief_digest: brief_digest(&project.plan.brief),
                };
                let spec = JobSpec::ReadOutput { probe: ENGINE_LOG, source, exit: None, stamp };
                self.start(JobWhat::ReadLog(candidate), spec);
            }
            Command::ListSshAliases => {
                self.start_quiet(JobSpec::ListSshAliases);
            }
            Command::StartLoad(api_key) => self.start_load(api_key),
            Command::TryPractice => self.try_practice(),
            Command::Stop(job) => self.engine.cancel(job),
            Command::StopNewest => {
                if let Some(job) = self.state.jobs.last() {
                    self.engine.cancel(job.id);
                }
            }
            Command::Answer(id, reply) => {
                if let Some(job) = self.state.jobs.iter_mut().find(|job| job.id == id) {
                    job.question = None;
                }
                self.engine.answer(id, reply);
            }
            Command::Attest { criterion, candidate, by, note, holds } => {
                let Some(project) = &self.state.project else { return };
                let record = Record {
                    version: VERSION,
                    program: PROGRAM.to_owned(),
                    kind: Kind::Real,
                    source: Source::Manual { by, note, criterion: Some(criterion), holds },
                    candidate: Some(candidate),
                    host: None,
                    taken_at: now.wall,
                    vantage: Vantage::ThisComputer,
                    brief_digest: brief_digest(&project.plan.brief),
                    captured: None,
                    facts: Vec::new(),
                    findings: Vec::new(),
                    absent: None,
                    load: None,
                    supersedes: None,
                    origin_note: String::new(),
                };
                match Sealed::seal(record) {
                    Ok(sealed) => self.sealed(sealed),
                    Err(error) => {
                        self.notice(NoticeWhat::Failed(Failure::new(FailureKind::Internal).because(error)));
                    }
                }
            }
            // Every other command has its own door.
            _ => {}
        }
    }

    /// A record came: it counts from now on, and goes to the disk.
    pub(super) fn sealed(&mut self, sealed: Sealed) {
        let Some(project) = &mut self.state.project else { return };
        let folder = project.working_folder().to_path_buf();
        if sealed.record.load.is_some() {
            project.live_steps.clear();
        }
        project.unkept.insert(sealed.id.clone());
        project.evidence.insert(sealed.id.clone(), sealed.clone());
        project.evidence_revision += 1;
        let in_scratch = folder == project.scratch;
        self.start_quiet(JobSpec::Keep { folder, sealed: Box::new(sealed) });
        // A scratch folder is taken up again by its plan; a record alone would not be found.
        if in_scratch && self.autosave_runs() {
            self.edited_at = Some(crate::engine::clock::now().mono);
        } else if in_scratch {
            self.autosave();
        }
    }

    /// A host connected. A key that a person just accepted is pinned in the plan.
    pub(super) fn connected(&mut self, host: HostId, key: KeyPin, newly_accepted: bool, line: String, now: Now) {
        let Some(project) = &mut self.state.project else { return };
        project.connected.insert(host.clone(), (key.clone(), line));
        if newly_accepted && let Some(host) = project.plan.host(&host) {
            let pinned = Host { pinned_key: Some(key), ..host.clone() };
            self.edit(Edit::PutHost(Box::new(pinned)), now);
        }
    }

    fn probe(&mut self, host: &HostId, probes: Vec<&'static str>) {
        if self.state.jobs.iter().any(|job| job.what == JobWhat::Probe(host.clone())) {
            self.notice(NoticeWhat::Failed(Failure::new(FailureKind::AlreadyRunning)));
            return;
        }
        let Some(project) = &self.state.project else { return };
        let Some(host) = project.plan.host(host).cloned() else { return };
        let stamp = stamp_of_host(project, &host);
        let what = JobWhat::Probe(host.id.clone());
        // What went wrong the last time is about to be tried again.
        if let Some(Ended { what: other, outcome: Outcome::Failed(failure), .. }) = &self.state.last_ended
            && *other == what
        {
            self.state.notices.retain(|notice| !matches!(&notice.what, NoticeWhat::Failed(same) if same == failure));
        }
        self.start(what, JobSpec::Probe { host: Box::new(host), probes, stamp });
    }

    fn start_load(&mut self, api_key: Option<Secret>) {
        let Some(setup) = self.state.project.as_ref().and_then(|project| project.plan.load.clone()) else {
            self.notice(NoticeWhat::Failed(Failure::new(FailureKind::LoadNotSetUp)));
            return;
        };
        self.run_load(setup, api_key);
    }

    fn try_practice(&mut self) {
        if self.state.project.is_none() {
            self.command(Command::New);
        }
        let Some(project) = &self.state.project else { return };
        let selected = self.state.view.candidate.clone();
        let candidate = selected.or_else(|| project.plan.candidates.first().map(|candidate| candidate.id.clone()));
        let setup = practice_setup(project, candidate);
        self.run_load(setup, None);
    }

    fn run_load(&mut self, setup: LoadSetup, api_key: Option<Secret>) {
        if self.state.jobs.iter().any(|job| matches!(job.what, JobWhat::Load(_))) {
            self.notice(NoticeWhat::Failed(Failure::new(FailureKind::AlreadyRunning)));
            return;
        }
        let Some(project) = &mut self.state.project else { return };
        match load_spec(project, setup, api_key) {
            Ok(spec) => {
                project.live_steps.clear();
                project.live_plan = Some(spec.plan.clone());
                let candidate = spec.stamp.candidate.clone();
                self.state.screen = Screen::Load;
                self.start(JobWhat::Load(candidate), JobSpec::Load(Box::new(spec)));
            }
            Err(failure) => self.notice(NoticeWhat::Failed(failure)),
        }
    }
}

fn stamp_of_host(project: &Project, host: &Host) -> Stamp {
    Stamp {
        candidate: host.candidate.clone(),
        host: Some(host.id.clone()),
        kind: Kind::Real,
        brief_digest: brief_digest(&project.plan.brief),
    }
}

/// The three-step practice ladder.
fn practice_setup(project: &Project, candidate: Option<CandidateId>) -> LoadSetup {
    let setup = LoadSetup::from_brief(&project.plan, candidate);
    let model = if setup.plan.model.is_empty() { "practice".to_owned() } else { setup.plan.model };
    LoadSetup {
        route: Route::Practice,
        plan: LoadPlan {
            base_url: String::new(),
            model,
            prompts: Prompts::Synthetic { input_tokens: 128, output_tokens: 32 },
            stages: PRACTICE_RATES.map(|level| StagePlan { level, until: Until::Requests(PRACTICE_REQUESTS) }).to_vec(),
            warmup_requests: 4,
            ..setup.plan
        },
        sample_on: None,
        ..setup
    }
}

/// The API key that a variable holds.
fn key_of(name: &str) -> Result<Secret, Failure> {
    match std::env::var(name) {
        Ok(key) if !key.trim().is_empty() => Ok(Secret::new(key.trim())),
        _ => Err(Failure::new(FailureKind::ApiKeyMissing).with("name", name)),
    }
}

/// A load run as the engine needs it.
fn load_spec(project: &Project, setup: LoadSetup, api_key: Option<Secret>) -> Result<LoadSpec, Failure> {
    let plan = &project.plan;
    let host_of = |id: &HostId| plan.host(id).ok_or_else(|| Failure::new(FailureKind::LoadNotSetUp).at(id));
    let (route, vantage, kind) = match &setup.route {
        Route::Direct => (LoadRoute::Direct, Vantage::ThisComputer, Kind::Real),
        Route::Practice => (LoadRoute::Practice, Vantage::ThisComputer, Kind::Practice),
        Route::Tunnel { host, port } => {
            let host = host_of(host)?;
            match &host.reach {
                Reach::Ssh(target) => (
                    LoadRoute::Tunnel { target: target.clone(), host: Box::new(host.clone()), port: *port },
                    Vantage::Tunnel,
                    Kind::Real,
                ),
                Reach::ThisComputer => (LoadRoute::Direct, Vantage::OnHost, Kind::Real),
                Reach::Pasted => {
                    return Err(Failure::new(FailureKind::LoadNotSetUp).at(&host.name));
                }
            }
        }
    };
    let tunnel_host = match &setup.route {
        Route::Tunnel { host, .. } => Some(host.clone()),
        Route::Direct | Route::Practice => None,
    };
    let sample_on = setup.sample_on.as_ref().map(host_of).transpose()?.cloned().map(Box::new);
    let api_key = match (api_key, &setup.plan.api_key_env) {
        (None, Some(name)) if kind == Kind::Real => Some(key_of(name)?),
        (typed, _) => typed,
    };
    let load_plan = LoadPlan { slo: plan.brief.slo, acceptance: plan.brief.acceptance.clone(), ..setup.plan };
    Ok(LoadSpec {
        plan: load_plan,
        route,
        prompts_path: (!setup.prompts_path.is_empty()).then(|| setup.prompts_path.into()),
        api_key,
        part_folder: Some(project.working_folder().join(EVIDENCE_FOLDER)),
        stamp: Stamp {
            candidate: setup.candidate,
            host: tunnel_host.or_else(|| sample_on.as_ref().map(|host| host.id.clone())),
            kind,
            brief_digest: brief_digest(&plan.brief),
        },
        sample_on,
        vantage,
    })
}
