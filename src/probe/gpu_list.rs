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
    use super::super::captures::{check, check_out, from_text};
    use super::*;

    #[test]
    fn reads_captures() {
        check(
            &PROBE,
            "a10x2_t4x2",
            0,
            "gpu:0 name NVIDIA A10
            gpu:0 uuid GPU-0cc4fab7-def6-000d-3be2-7e7b59c72293
            gpu:1 name NVIDIA A10
            gpu:1 uuid GPU-0ec4cc32-eea0-a2e2-6d0c-cfe4939f5411
            gpu:2 name Tesla T4
            gpu:2 uuid GPU-d3f74c0a-211b-bb90-d85d-f3eacdf42516
            gpu:3 name Tesla T4
            gpu:3 uuid GPU-64e43029-e951-8fb2-f7ae-e5fbbff8d251",
        );
        check(
            &PROBE,
            "h100_mig_mixed",
            0,
            "gpu:0 name NVIDIA H100 80GB HBM3
            gpu:0 uuid GPU-0ad828fb-bd0f-5e84-1a3c-f6680423e55c
            gpu:0/mig:0 name 3g.40gb
            gpu:0/mig:0 uuid MIG-8b41f9c1-76e6-92a5-c1cb-9deddfd7c355
            gpu:0/mig:1 name 2g.20gb
            gpu:0/mig:1 uuid MIG-821a6ae4-c436-9502-e03c-a9d36fc150df
            gpu:0/mig:2 name 1g.10gb
            gpu:0/mig:2 uuid MIG-c85f3eb2-3654-fde0-f98a-e6965bcf6dc7
            gpu:0/mig:3 name 1g.10gb
            gpu:0/mig:3 uuid MIG-52e703d5-0fc3-020b-457b-eff2f2a00af2",
        );
        check(
            &PROBE,
            "h100x4_one_mig",
            0,
            "gpu:0 name NVIDIA H100 80GB HBM3
            gpu:0 uuid GPU-7df4bdd1-81a5-97a7-02f1-663889048805
            gpu:1 name NVIDIA H100 80GB HBM3
            gpu:1 uuid GPU-4692b7fc-d693-9f46-dbbe-f70325e4be91
            gpu:2 name NVIDIA H100 80GB HBM3
            gpu:2 uuid GPU-b3673eab-df64-c298-a8cd-45829a70b70b
            gpu:3 name NVIDIA H100 80GB HBM3
            gpu:3 uuid GPU-a870be27-3750-3b34-6217-80c718f1fdf2
            gpu:3/mig:0 name 2g.20gb
            gpu:3/mig:0 uuid MIG-22565cd1-c8fc-eff2-8c91-82aed897376e",
        );
        check(&PROBE, "tool_missing", 127, "nvidia-smi is not installed");
        check(
            &PROBE,
            "version_mismatch",
            18,
            "the driver and its library have different versions
            reset: Failed to initialize NVML: Driver/library version mismatch",
        );
        check(
            &PROBE,
            "no_driver",
            9,
            "the NVIDIA driver cannot be reached: NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is installed and running.
            configuration: NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is installed and running.",
        );
        check(&PROBE, "gpu_lost", 15, "alarm: GPU 0000:02:00.0 is lost\nisolate: GPU 0000:02:00.0 is lost");
        check(
            &PROBE,
            "unknown_oddbus",
            255,
            "alarm: GPU 000:BA:80.0 cannot be reached: Unknown Error
            isolate: GPU 000:BA:80.0 cannot be reached: Unknown Error",
        );
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

    #[test]
    fn counts_every_device() {
        for (case, gpus, migs) in
            [("a100_mig_compute_instances", 1, 4), ("h100_mig", 1, 4), ("h100_mig_7x1g", 1, 7), ("h100x8", 8, 0)]
        {
            let parsed = parse(&super::super::captures::capture(PROBE.id, case, 0)).unwrap();
            let names = parsed.facts.iter().filter(|fact| fact.key == keys::NAME && fact.value.is_ok());
            let (whole, mig): (Vec<_>, Vec<_>) = names.partition(|fact| fact.device.gpu_idx().is_some());
            assert_eq!((whole.len(), mig.len(), parsed.findings.len()), (gpus, migs, 0), "{case}");
        }
    }
}
