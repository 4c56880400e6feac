//! Which GPUs the driver lists (`nvidia-smi -L`), with their MIG devices.

use super::{Parsed, Probe, words};
use crate::domain::evidence::Captured;
use crate::domain::facts::{Absent, AbsentKind, Device, Severity, keys};

/// The probe.
pub const PROBE: Probe = Probe {
    id: "gpu_list",
    parser: 1, // Raise when the meaning of a fact changes.
    command: "nvidia-smi -L",
    deadline_secs: 30, // The first call on a host without persistence mode can take 24 s.
    parse,
};

/// One `name` and one `uuid` a device, in the driver's order; MIG devices are named under their GPU.
///
/// Text is read before the exit status is judged: the driver prints whole lists with a non-zero status, and its
/// error sentences on standard output. `Absent` only when nothing could be read.
fn parse(out: &Captured) -> Result<Parsed, Absent> {
    let mut parsed = Parsed::default();
    let mut gpu = None;
    for line in words::lines(out) {
        let line = words::plain(line);
        if let Some((gpu_idx, rest)) = numbered(&line, "GPU") {
            let device = Device::gpu(gpu_idx);
            match name_and_uuid(rest) {
                Some((name, uuid)) => parsed.push_device(&device, name, uuid),
                None => cut_line(&mut parsed, &device, &line),
            }
            gpu = Some(device);
        } else if let (Some(gpu), Some(mig)) = (&gpu, mig_line(&line)) {
            parsed.push_device(&gpu.mig(mig.idx), mig.profile, mig.uuid);
        } else if let Some(alarm) = words::driver_sentence(&line) {
            parsed.finding(alarm); // "GPU is lost", "Driver/library version mismatch"…
        }
    }
    if parsed.facts.is_empty() { Err(words::why_nothing(out, PROBE.tool())) } else { Ok(parsed) }
}

/// `GPU 3: rest`.
fn numbered<'a>(line: &'a str, word: &str) -> Option<(u32, &'a str)> {
    let (idx, rest) = line.trim().strip_prefix(word)?.split_once(':')?;
    Some((idx.trim().parse().ok()?, rest.trim()))
}

/// `NVIDIA L4 (UUID: GPU-…)`. Very old boards show a serial number instead, which is not kept.
fn name_and_uuid(rest: &str) -> Option<(&str, &str)> {
    let (name, tail) = rest.rsplit_once('(')?;
    let (label, value) = tail.strip_suffix(')')?.split_once(':')?;
    Some((name.trim(), if label.trim() == "UUID" { value.trim() } else { "N/A" }))
}

/// A line that names a GPU and then breaks off, or says something else about it.
fn cut_line(parsed: &mut Parsed, device: &Device, line: &str) {
    if let Some(alarm) = words::driver_sentence(line) {
        parsed.absent(device, keys::NAME, AbsentKind::Alarm, &alarm.text);
        parsed.finding(alarm);
        return;
    }
    parsed.absent(device, keys::NAME, AbsentKind::CutShort, line.trim());
    parsed.absent(device, keys::UUID, AbsentKind::CutShort, line.trim());
    parsed.finding_of(Severity::NotJudged, "output_cut", "The list breaks off in the middle of a line");
}

struct MigLine<'a> {
    idx: u32,
    profile: &'a str,
    uuid: &'a str,
}

/// `MIG 1g.10gb     Device  0: (UUID: MIG-…)`; padding varies.
fn mig_line(line: &str) -> Option<MigLine<'_>> {
    let (left, right) = line.trim().strip_prefix("MIG ")?.split_once(':')?;
    let (profile, idx) = left.rsplit_once("Device")?;
    let (_, uuid) = name_and_uuid(right)?;
    Some(MigLine { idx: idx.trim().parse().ok()?, profile: profile.trim(), uuid })
}

#[cfg(test)]
mod tests {
    use super::super::captures::{check_all, check_out, from_text};
    use super::*;

    #[test]
    fn reads_captures() {
        check_all(&PROBE);
    }

    #[test]
    fn keeps_what_is_whole_and_names_what_is_not() {
        check_out(
            &PROBE,
            "one lost, old MIG spelling, an unknown name, a line that breaks off",
            &from_text(
                "GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-1)\n  MIG 3g.20gb Device 0: (UUID: MIG-GPU-1/1/0)\n\
                 Unable to determine the device handle for GPU 0000:BA:00.0: GPU is lost.  Reboot the system\n\
                 GPU 2: Unknown Error (UUID: GPU-2)\nGPU 3: NVIDIA A1",
                "",
                15,
            ),
            "gpu:0 name NVIDIA A100-SXM4-40GB
            gpu:0 uuid GPU-1
            gpu:0/mig:0 name 3g.20gb
            gpu:0/mig:0 uuid MIG-GPU-1/1/0
            gpu:2 name (alarm: Unknown Error)
            gpu:2 uuid GPU-2
            gpu:3 name (the output was cut short: GPU 3: NVIDIA A1)
            gpu:3 uuid (the output was cut short: GPU 3: NVIDIA A1)
            isolate: GPU 0000:BA:00.0 is lost
            not_judged: The list breaks off in the middle of a line",
        );
    }
}
