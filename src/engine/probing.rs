//! Asking a host its probes, and reading outputs that were pasted: a raw answer becomes a sealed record.

use chrono::{DateTime, FixedOffset};
use tokio_util::sync::CancellationToken;

use crate::domain::evidence::{Captured, CommandEnd, PROGRAM, Record, Sealed, Source, VERSION, Vantage};
use crate::domain::facts::AbsentKind;
use crate::domain::failure::{Failure, FailureKind};
use crate::domain::host::{Host, Reach};
#[cfg(feature = "desktop")]
use crate::domain::seen::CONNECTION;
use crate::probe::{self, Parsed, Probe, Reading};
use crate::project::store;

use super::capture::Raw;
use super::clock;
use super::event::{Outcome, Progress, What};
use super::job::{JobCtx, OutputSource, Stamp};
use super::local::{self, Limits};

/// The most that is read of a pasted or opened output, bytes.
const OUTPUT_CAP: u64 = 8 << 20;
/// Id of the probe that asks NVML on this computer.
const NVML: &str = "nvml";

/// Asks a host these probes, in order, in one connection; without ids, those that are safe beside running work.
pub(super) fn probe_job(ctx: &JobCtx, host: &Host, ids: &[&'static str], stamp: &Stamp) -> Outcome {
    let ids = if ids.is_empty() { probe::DEFAULT } else { ids };
    let mut probes = Vec::new();
    for id in ids.iter().filter(|id| **id != NVML) {
        match probe::find(id) {
            Some(probe) => probes.push(probe),
            None => return Outcome::Failed(probe::unknown(id)),
        }
    }
    let with_nvml = host.reach == Reach::ThisComputer && ids.iter().any(|id| *id == NVML || id.starts_with("gpu_"));
    run_probes(ctx, host, &probes, with_nvml, stamp)
}

/// Asks these probes, and NVML where that is wanted and the host is this computer.
fn run_probes(ctx: &JobCtx, host: &Host, probes: &[&Probe], with_nvml: bool, stamp: &Stamp) -> Outcome {
    match &host.reach {
        Reach::Ssh(target) => over_ssh(ctx, host, target, probes, stamp),
        Reach::ThisComputer => {
            let ask = |command: &str, limits, cancel: &CancellationToken| local::shell(command, limits, cancel);
            let mut walk = Walk { ctx, stamp, n_probes: probes.len() + usize::from(with_nvml), n_done: 0, kept: 0 };
            match walk.ask_all(probes, ask, &host.name) {
                Outcome::Done if with_nvml => walk.nvml(),
                outcome => outcome,
            }
        }
        Reach::Pasted => Outcome::Failed(Failure::new(FailureKind::NotSupportedHere).with("what", "no_connection")),
    }
}

#[cfg(feature = "desktop")]
fn over_ssh(
    ctx: &JobCtx,
    host: &Host,
    target: &crate::domain::host::SshTarget,
    probes: &[&Probe],
    stamp: &Stamp,
) -> Outcome {
    use super::host::{Person, Stop, abandon, connect, run};
    ctx.progress(Progress { share: Some(0.0), ..Progress::default() });
    let ask = |question| ctx.ask_blocking(question);
    let person = Person { cancel: &ctx.cancel, ask: Some(&ask) };
    let session = match connect(&ctx.ssh, host, target, &person) {
        Ok(session) => session,
        Err(Stop::Cancelled) => return Outcome::Cancelled,
        Err(Stop::Failed(failure)) => return Outcome::Failed(not_connected(ctx, stamp, failure)),
    };
    ctx.emit_blocking(What::Connected {
        host: host.id.clone(),
        key: session.pin.clone(),
        newly_accepted: session.newly_accepted,
        line: session.line.clone(),
    });
    let place = session.place.clone();
    let mut walk = Walk { ctx, stamp, n_probes: probes.len(), n_done: 0, kept: 0 };
    let outcome = walk.ask_all(probes, |command, limits, cancel| run(&session, command, limits, cancel), &place);
    match outcome {
        Outcome::Done => session.goodbye(),
        Outcome::Cancelled => abandon(session),
        Outcome::Failed(_) => {}
    }
    outcome
}

/// Keeps the failed attempt as a record where the host had a part in it: that it did not answer, or answered as
/// another, is evidence too. A record that cannot be sealed is the worse failure of the two.
#[cfg(feature = "desktop")]
fn not_connected(ctx: &JobCtx, stamp: &Stamp, failure: Failure) -> Failure {
    use FailureKind::{ConnectionLost, HandshakeFailed, HostKeyChanged, HostKeyRevoked, HostUnreachable, LoginRefused};
    if !matches!(
        failure.kind,
        HostUnreachable | HandshakeFailed | HostKeyChanged | HostKeyRevoked | LoginRefused | ConnectionLost
    ) {
        return failure;
    }
    let reading = Reading { absent: Some(why_not_connected(&failure)), ..Reading::default() };
    let source = Source::Probe { id: CONNECTION.to_owned(), parser: 1 };
    match seal(ctx, stamp, source, None, reading, clock::now().wall, String::new()) {
        Ok(()) => failure,
        Err(worse) => worse,
    }
}

/// The failure's kind and the error below it, without the address: a record is passed on, an address is not.
#[cfg(feature = "desktop")]
fn why_not_connected(failure: &Failure) -> crate::domain::facts::Absent {
    let kind = ron::to_string(&failure.kind).unwrap_or_default().replace('_', " ");
    let cause = failure.values.iter().find(|(name, _)| *name == "cause").map(|(_, cause)| cause.as_str());
    let detail = cause.map_or_else(|| kind.clone(), |cause| format!("{kind}: {cause}"));
    crate::domain::facts::Absent::new(AbsentKind::NoConnection, detail)
}

#[cfg(not(feature = "desktop"))]
fn over_ssh(
    _ctx: &JobCtx,
    _host: &Host,
    _target: &crate::domain::host::SshTarget,
    _probes: &[&Probe],
    _stamp: &Stamp,
) -> Outcome {
    Outcome::Failed(Failure::new(FailureKind::NotSupportedHere).with("what", "ssh_left_out"))
}

/// One walk through a host's probes.
struct Walk<'a> {
    ctx: &'a JobCtx,
    stamp: &'a Stamp,
    n_probes: usize,
    n_done: usize,
    kept: u64,
}

impl Walk<'_> {
    /// Asks one after the other. What was sealed before a stop or a broken connection is kept.
    fn ask_all(
        &mut self,
        probes: &[&Probe],
        ask: impl Fn(&str, Limits, &CancellationToken) -> Raw,
        place: &str,
    ) -> Outcome {
        for probe in probes {
            self.show(probe.id);
            let began = clock::now();
            let raw = ask(probe.command, Limits::secs(probe.deadline_secs), &self.ctx.cancel);
            let ended = clock::now();
            if self.ctx.cancel.is_cancelled() {
                return Outcome::Cancelled;
            }
            let captured = raw.captured(probe.command);
            let is_lost = captured.ended == CommandEnd::ConnectionLost;
            let mut reading = probe.read(&captured);
            if probe.id == probe::clock::PROBE.id {
                reading = with_offset(reading, began.wall, ended.wall);
            }
            let source = Source::Probe { id: probe.id.to_owned(), parser: probe.parser };
            if let Err(failure) = self.keep(source, Some(captured), reading, ended.wall) {
                return Outcome::Failed(failure);
            }
            if is_lost {
                let cause = format!("while it was asked \"{}\"", probe.command.lines().next().unwrap_or_default());
                return Outcome::Failed(Failure::new(FailureKind::ConnectionLost).because(cause).at(place));
            }
        }
        Outcome::Done
    }

    /// Asks NVML on this computer.
    #[cfg(feature = "desktop")]
    fn nvml(&mut self) -> Outcome {
        use super::local_gpu;
        self.show(NVML);
        let reading = local_gpu::read();
        let source = Source::Probe { id: local_gpu::ID.to_owned(), parser: local_gpu::PARSER };
        match self.keep(source, None, reading, clock::now().wall) {
            Ok(()) => Outcome::Done,
            Err(failure) => Outcome::Failed(failure),
        }
    }

    /// Without the desktop feature there is no NVML; the commands say the same.
    #[cfg(not(feature = "desktop"))]
    fn nvml(&mut self) -> Outcome {
        Outcome::Done
    }

    fn show(&self, step: &str) {
        let part = |n: usize| u32::try_from(n).map_or(0.0, f64::from);
        let share = (self.n_probes > 0).then(|| part(self.n_done) / part(self.n_probes));
        self.ctx.progress(Progress { step: step.to_owned(), share, kept: self.kept, ..Progress::default() });
    }

    fn keep(
        &mut self,
        source: Source,
        captured: Option<Captured>,
        reading: Reading,
        taken_at: DateTime<FixedOffset>,
    ) -> Result<(), Failure> {
        seal(self.ctx, self.stamp, source, captured, reading, taken_at, String::new())?;
        self.n_done += 1;
        self.kept += 1;
        self.show("");
        Ok(())
    }
}

/// Seals a record and hands it over.
fn seal(
    ctx: &JobCtx,
    stamp: &Stamp,
    source: Source,
    captured: Option<Captured>,
    reading: Reading,
    taken_at: DateTime<FixedOffset>,
    origin_note: String,
) -> Result<(), Failure> {
    let record = Record {
        version: VERSION,
        program: PROGRAM.to_owned(),
        kind: stamp.kind,
        source,
        candidate: stamp.candidate.clone(),
        host: stamp.host.clone(),
        taken_at,
        vantage: Vantage::OnHost,
        brief_digest: stamp.brief_digest.clone(),
        captured,
        facts: reading.facts,
        findings: reading.findings,
        absent: reading.absent,
        load: None,
        supersedes: None,
        origin_note,
    };
    let sealed = Sealed::seal(record).map_err(|error| Failure::new(FailureKind::Internal).because(error))?;
    ctx.emit_blocking(What::Sealed(Box::new(sealed)));
    Ok(())
}

/// Adds the offset of the host's clock from ours to what its answer says.
fn with_offset(reading: Reading, sent: DateTime<FixedOffset>, received: DateTime<FixedOffset>) -> Reading {
    let mut parsed = Parsed::default();
    for fact in reading.facts {
        parsed.push(&fact.device, fact.key, fact.value, "s");
    }
    probe::clock::offset(&mut parsed, secs(sent), secs(received));
    Reading { facts: parsed.facts, ..reading }
}

/// Seconds since 1970.
#[allow(clippy::cast_precision_loss, reason = "microseconds since 1970 are below 2^53 until the year 2255")]
fn secs(at: DateTime<FixedOffset>) -> f64 {
    at.timestamp_micros() as f64 / 1e6
}

/// Reads a pasted or opened output by a probe's parser and seals it.
pub(super) fn read_output(
    ctx: &JobCtx,
    id: &'static str,
    source: &OutputSource,
    exit: Option<i32>,
    stamp: &Stamp,
) -> Outcome {
    match read_output_now(ctx, id, source, exit, stamp) {
        Ok(()) => Outcome::Done,
        Err(failure) => Outcome::Failed(failure),
    }
}

fn read_output_now(
    ctx: &JobCtx,
    id: &'static str,
    source: &OutputSource,
    exit: Option<i32>,
    stamp: &Stamp,
) -> Result<(), Failure> {
    let probe = probe::find(id).ok_or_else(|| probe::unknown(id))?;
    let (name, bytes) = match source {
        OutputSource::Text(text) => ("pasted text".to_owned(), text.clone().into_bytes()),
        OutputSource::File(path) => {
            let bytes = store::read_capped(path, OUTPUT_CAP)
                .map_err(|error| Failure::new(FailureKind::FileUnreadable).because(error).at(path.display()))?;
            // The name alone: where it lay on this computer is nobody's business.
            (path.file_name().unwrap_or_default().to_string_lossy().into_owned(), bytes)
        }
    };
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > OUTPUT_CAP {
        let cause = format!("more than {} MiB", OUTPUT_CAP >> 20);
        return Err(Failure::new(FailureKind::OutputUnreadable).with("id", id).because(cause));
    }
    let raw = Raw { stdout: bytes, ended: exit.map_or(CommandEnd::Unknown, CommandEnd::Exit), ..Raw::refused("") };
    let captured = raw.captured(&name);
    let reading = probe.read(&captured);
    if let Some(absent) = reading.absent.as_ref().filter(|absent| absent.kind == AbsentKind::Unreadable) {
        return Err(Failure::new(FailureKind::OutputUnreadable)
            .with("id", id)
            .because(&absent.detail)
            .at(&name)
            .raw(captured.stdout));
    }
    let source = Source::Pasted { id: id.to_owned(), parser: probe.parser };
    seal(ctx, stamp, source, Some(captured), reading, clock::now().wall, name)
}
