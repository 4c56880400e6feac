//! `leasebench probe --host ALIAS|local`: asks a host its probes, once.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use serde::Serialize;

use crate::domain::brief::brief_digest;
use crate::domain::evidence::{Kind, Sealed, Source};
use crate::domain::failure::{Failure, FailureKind};
use crate::domain::host::{Host, KeyPin, Reach, SshTarget};
use crate::domain::ids::HostId;
use crate::domain::text::{Text, fill};
use crate::engine::Engine;
use crate::engine::event::{Outcome, Question, Reply, What};
use crate::engine::job::{JobSpec, Stamp};
use crate::probe::{self, Reading};
use crate::project::plan::Plan;
use crate::project::store;

use super::{out, parse, records};

/// The name of this computer as a host.
const LOCAL: &str = "local";

/// Which host is asked what.
#[derive(Debug, Args)]
pub(super) struct ProbeArgs {
    /// Alias of the SSH configuration, host name, a host of the project, or local for this computer.
    #[arg(long, value_name = "ALIAS|local")]
    host: String,
    /// Probes by id, with commas between; all that are safe beside running work where none is named.
    #[arg(long, value_delimiter = ',', value_name = "ID,…")]
    probes: Vec<String>,
    /// Accept an unknown host key with this fingerprint.
    #[arg(long, value_name = "SHA256:…")]
    accept_key: Option<String>,
    /// Keep the answers as records in this project.
    #[arg(long, value_name = "FOLDER")]
    project: Option<PathBuf>,
    /// Candidate of that project the host belongs to: its name or id. A host of the project knows its own.
    #[arg(long, value_name = "NAME", requires = "project")]
    candidate: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// What scripts read.
#[derive(Serialize)]
struct Shape<'a> {
    host: &'a str,
    key: Option<&'a KeyPin>,
    probes: Vec<AnswerShape<'a>>,
}

#[derive(Serialize)]
struct AnswerShape<'a> {
    #[serde(flatten)]
    reading: parse::Shape<'a>,
    exit: Option<i32>,
    evidence: &'a str,
}

/// What came back.
#[derive(Default)]
struct Answers {
    key: Option<KeyPin>,
    sealed: Vec<Sealed>,
    unkept: Option<Failure>,
}

/// Exit status 0 when something could be read, 1 when every answer says that there is nothing to read.
pub(super) fn run(args: &ProbeArgs, text: &Text) -> Result<ExitCode, Failure> {
    let probes = ids(&args.probes)?;
    let folder = args.project.as_deref().map(super::folder_of);
    let plan = folder.as_deref().map(store::read_plan_of).transpose()?;
    let (host, stamp) = host_and_stamp(args, plan.as_ref())?;
    if let Some(folder) = &folder {
        records::take_up(folder, text);
        if stamp.host.is_none() {
            out::warning(&fill(&text.cli.probe_of_nobody, &[("host", args.host.clone())]));
        }
    }
    let mut answers = Answers::default();
    let outcome = ask(
        args,
        JobSpec::Probe { host: Box::new(host), probes, stamp },
        |sealed| match &folder {
            Some(folder) => store::keep(folder, sealed),
            None => Ok(()),
        },
        &mut answers,
    )?;
    if let Some(folder) = &folder {
        records::list(folder, text);
    }
    let readings: Vec<Reading> = answers.sealed.iter().map(reading).collect();
    if args.json {
        let probes = answers.sealed.iter().zip(&readings).map(|(sealed, reading)| AnswerShape {
            reading: parse::shape(probe_id(sealed), reading),
            exit: sealed.record.captured.as_ref().and_then(crate::domain::evidence::Captured::exit),
            evidence: &sealed.id.0,
        });
        out::json(&Shape { host: &args.host, key: answers.key.as_ref(), probes: probes.collect() })?;
    } else {
        for (sealed, reading) in answers.sealed.iter().zip(&readings) {
            out::line(&fill(&text.cli.probe_head, &[("probe", probe_id(sealed).to_owned()), ("id", sealed.id.cite())]));
            parse::print(reading, text);
        }
    }
    // What came before the failure was shown; the failure decides how it ends.
    match (outcome, answers.unkept) {
        (Outcome::Failed(failure), _) | (_, Some(failure)) => Err(failure),
        (Outcome::Done | Outcome::Cancelled, None) => {
            let has_read = readings.iter().any(|reading| reading.absent.is_none());
            Ok(ExitCode::from(u8::from(!has_read)))
        }
    }
}

/// Probe ids as the engine takes them.
fn ids(names: &[String]) -> Result<Vec<&'static str>, Failure> {
    names
        .iter()
        .map(|name| match name.as_str() {
            // Not a command: the driver's library on this computer.
            "nvml" => Ok("nvml"),
            name => probe::find(name).map(|probe| probe.id).ok_or_else(|| probe::unknown(name)),
        })
        .collect()
}

/// The host that is meant, and what its records carry.
fn host_and_stamp(args: &ProbeArgs, plan: Option<&Plan>) -> Result<(Host, Stamp), Failure> {
    let known = plan.and_then(|plan| {
        plan.hosts.iter().find(|host| host.name == args.host || host.id.as_str() == args.host).cloned()
    });
    let is_known = known.is_some();
    let mut host = known.unwrap_or_else(|| Host {
        id: HostId("h1".to_owned()),
        candidate: None,
        name: args.host.clone(),
        reach: match args.host.as_str() {
            LOCAL => Reach::ThisComputer,
            alias => Reach::Ssh(SshTarget { address: alias.to_owned(), ..SshTarget::default() }),
        },
        pinned_key: None,
        note: String::new(),
    });
    if let (Some(name), Some(plan)) = (&args.candidate, plan) {
        host.candidate = Some(super::candidate(plan, name)?.id.clone());
    }
    let stamp = Stamp {
        candidate: host.candidate.clone(),
        // A host that the project does not list has no id there.
        host: is_known.then(|| host.id.clone()),
        kind: Kind::Real,
        brief_digest: plan.and_then(|plan| brief_digest(&plan.brief)),
    };
    Ok((host, stamp))
}

/// Runs the job to its end. Questions are answered by the arguments alone: nobody sits before a script.
fn ask(
    args: &ProbeArgs,
    spec: JobSpec,
    keep: impl Fn(&Sealed) -> Result<(), Failure>,
    answers: &mut Answers,
) -> Result<Outcome, Failure> {
    let mut engine = Engine::new(|| {}).map_err(|error| Failure::new(FailureKind::Internal).because(error))?;
    let job = engine.start(spec);
    loop {
        let Some(event) = engine.wait(Duration::from_secs(1)) else { continue };
        match event.what {
            What::Sealed(sealed) => {
                if let Err(failure) = keep(&sealed) {
                    answers.unkept = Some(failure);
                }
                answers.sealed.push(*sealed);
            }
            What::Connected { key, .. } => answers.key = Some(key),
            What::Asked(question) => {
                let accepted = matches!(&question, Question::HostKey { key, .. }
                    if args.accept_key.as_deref() == Some(key.fingerprint.as_str()));
                engine.answer(job, if accepted { Reply::Accept } else { Reply::Refuse });
            }
            What::Ended(outcome) => return Ok(outcome),
            _ => {}
        }
    }
}

fn probe_id(sealed: &Sealed) -> &str {
    match &sealed.record.source {
        Source::Probe { id, .. } | Source::Pasted { id, .. } => id,
        Source::Load | Source::Manual { .. } => "",
    }
}

fn reading(sealed: &Sealed) -> Reading {
    let record = &sealed.record;
    Reading { facts: record.facts.clone(), findings: record.findings.clone(), absent: record.absent.clone() }
}
