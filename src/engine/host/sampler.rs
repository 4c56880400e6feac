//! GPU memory, utilisation and power beside a load run: one long `nvidia-smi`, a line a GPU a second.

use std::time::Instant;

use tokio::sync::mpsc::Sender;
use tokio_util::sync::CancellationToken;

use crate::domain::evidence::CommandEnd;
use crate::domain::failure::{Failure, FailureKind};
use crate::domain::host::{Host, Reach};
use crate::domain::load::GpuSample;
use crate::engine::capture::{Raw, one_line, text_of};
use crate::engine::local;

use super::Setup;

/// What runs on the host. It goes on until its output is closed.
const COMMAND: &str = "nvidia-smi --query-gpu=index,memory.used,utilization.gpu,power.draw \
                       --format=csv,noheader,nounits -l 1";

/// Samples until cancelled or until nobody takes the samples.
pub(super) fn sample(
    setup: &Setup,
    host: &Host,
    start: Instant,
    cancel: &CancellationToken,
    out: &Sender<GpuSample>,
) -> Result<(), Failure> {
    let mut is_wanted = true;
    let mut take = |line: &str| {
        if let Some(sample) = read_line(line, start.elapsed().as_secs_f64()) {
            is_wanted = out.blocking_send(sample).is_ok();
        }
        is_wanted
    };
    let raw = match &host.reach {
        Reach::ThisComputer => local::follow(COMMAND, cancel, &mut take),
        Reach::Ssh(target) => over_ssh(setup, host, target, cancel, &mut take)?,
        Reach::Pasted => Raw::refused("the host cannot be reached"),
    };
    if cancel.is_cancelled() || !is_wanted {
        return Ok(());
    }
    Err(why_ended(&raw).at(&host.name))
}

#[cfg(feature = "desktop")]
fn over_ssh(
    setup: &Setup,
    host: &Host,
    target: &crate::domain::host::SshTarget,
    cancel: &CancellationToken,
    take: &mut dyn FnMut(&str) -> bool,
) -> Result<Raw, Failure> {
    use super::session::{self, Person};
    use super::socket::Stop;
    match session::connect(setup, host, target, &Person { cancel, ask: None }) {
        Ok(session) => {
            let raw = super::exec::follow(&session, COMMAND, cancel, take);
            super::exec::abandon(session);
            Ok(raw)
        }
        Err(Stop::Failed(failure)) => Err(failure),
        Err(Stop::Cancelled) => Ok(Raw { ended: CommandEnd::Cancelled, ..Raw::refused("") }),
    }
}

#[cfg(not(feature = "desktop"))]
fn over_ssh(
    _setup: &Setup,
    _host: &Host,
    _target: &crate::domain::host::SshTarget,
    _cancel: &CancellationToken,
    _take: &mut dyn FnMut(&str) -> bool,
) -> Result<Raw, Failure> {
    Err(Failure::new(FailureKind::NotSupportedHere).with("what", "ssh_left_out"))
}

/// Why there are no more samples.
fn why_ended(raw: &Raw) -> Failure {
    let said = text_of(if raw.stderr.is_empty() { &raw.stdout } else { &raw.stderr });
    let said = said.lines().find(|line| !line.trim().is_empty()).map(one_line);
    match (&raw.ended, said) {
        (CommandEnd::ConnectionLost, _) => {
            Failure::new(FailureKind::ConnectionLost).because("the sampler got no further lines")
        }
        (CommandEnd::Refused(why), _) => Failure::new(FailureKind::CommandRefused).because(why),
        (CommandEnd::Exit(code), said) => {
            let cause = said.map_or_else(|| format!("code {code}"), |said| format!("code {code}: {said}"));
            Failure::new(FailureKind::CommandRefused).because(format!("\"nvidia-smi\" ended with {cause}"))
        }
        (_, said) => {
            Failure::new(FailureKind::CommandRefused).because(said.unwrap_or_else(|| "\"nvidia-smi\" ended".to_owned()))
        }
    }
}

/// One line: index, MiB, %, W. A value the driver does not report is `None`; a line of another kind is no sample.
fn read_line(line: &str, at_secs: f64) -> Option<GpuSample> {
    let mut cells = line.split(',').map(str::trim);
    let gpu_idx = cells.next()?.parse().ok()?;
    let (memory, utilization, power) = (cells.next()?, cells.next()?, cells.next()?);
    let number = |cell: &str| cell.parse::<f64>().ok().filter(|number| number.is_finite());
    Some(GpuSample {
        at_secs,
        gpu_idx,
        memory_mib: number(memory),
        utilization: number(utilization),
        power_watts: number(power),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_sampler() {
        let sample = |gpu_idx, memory_mib, utilization, power_watts| {
            Some(GpuSample { at_secs: 2.5, gpu_idx, memory_mib, utilization, power_watts })
        };
        for (line, want) in [
            ("0, 71234, 98, 612.34", sample(0, Some(71_234.0), Some(98.0), Some(612.34))),
            ("7, 1, [N/A], [Not Supported]", sample(7, Some(1.0), None, None)),
            ("index, memory.used [MiB], utilization.gpu [%], power.draw [W]", None),
            ("0, 1", None),
            ("", None),
            ("Unable to determine the device handle for GPU0000:01:00.0: Unknown Error", None),
        ] {
            assert_eq!(read_line(line, 2.5), want, "{line}");
        }
    }

    #[test]
    fn why_a_sampler_ends() {
        let raw = |ended, stderr: &str| Raw { ended, stderr: stderr.into(), ..Raw::refused("") };
        for (raw, kind, cause) in [
            (raw(CommandEnd::Exit(127), "sh: nvidia-smi: not found\n"), FailureKind::CommandRefused, {
                "\"nvidia-smi\" ended with code 127: sh: nvidia-smi: not found"
            }),
            (raw(CommandEnd::ConnectionLost, ""), FailureKind::ConnectionLost, "the sampler got no further lines"),
            (raw(CommandEnd::Refused("no".into()), ""), FailureKind::CommandRefused, "no"),
        ] {
            assert_eq!(why_ended(&raw), Failure::new(kind).because(cause));
        }
    }
}
