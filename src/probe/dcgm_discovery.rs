//! Which GPUs DCGM's host engine sees (`dcgmi discovery -l`).

use super::{Parsed, Probe, words};
use crate::domain::evidence::Captured;
use crate::domain::facts::{Absent, Device, Severity, keys};

/// The probe.
pub const PROBE: Probe =
    Probe { id: "dcgm_discovery", parser: 1, command: "dcgmi discovery -l", deadline_secs: 30, parse };

/// `gpus_attached` from the heading, `gpus_listed` from the table, and name, bus and UUID of every GPU in it.
///
/// Only the GPU section counts; switches, network cards and CPUs follow it in their own. `dcgmi discovery -v`, when it is
/// pasted instead, gives the version alone.
fn parse(out: &Captured) -> Result<Parsed, Absent> {
    let mut parsed = Parsed::default();
    let host = Device::host();
    let (mut in_gpus, mut declared, mut listed) = (true, None, 0_usize);
    let mut gpu: Option<Device> = None;
    for line in words::lines(out).map(words::plain) {
        let line = line.trim();
        if let Some((n, what)) = heading(line) {
            in_gpus = what.starts_with("GPU");
            if in_gpus && declared.is_none() {
                parsed.count(&host, keys::GPUS_ATTACHED, n, "");
                declared = Some(n);
            }
        } else if let Some((id, cell)) = row(line).filter(|_| in_gpus) {
            if let Ok(gpu_idx) = id.parse() {
                gpu = Some(Device::gpu(gpu_idx));
                listed += 1;
            }
            if let (Some(gpu), Some((label, value))) = (&gpu, cell.split_once(':')) {
                match label.trim() {
                    "Name" => parsed.text(gpu, keys::NAME, value),
                    "PCI Bus ID" => parsed.text(gpu, keys::PCI_BUS_ID, value),
                    "Device UUID" => parsed.text(gpu, keys::UUID, value),
                    _ => {}
                }
            }
        } else if let Some(version) = line.strip_prefix("Version").and_then(|rest| rest.trim_start().strip_prefix(':'))
        {
            parsed.text(&host, keys::DCGM_VERSION, version);
        } else if let Some(alarm) = words::driver_sentence(line) {
            parsed.finding(alarm);
        }
    }
    if parsed.facts.is_empty() {
        return Err(words::why_nothing(out, PROBE.tool()));
    }
    if declared.is_some() || listed > 0 {
        parsed.count(&host, keys::GPUS_LISTED, listed, "");
    }
    match declared {
        Some(0) => parsed.finding_of(Severity::Isolate, "no_devices", "DCGM finds no GPU"),
        Some(n) if n != listed => {
            let what = format!("The heading says {n} GPUs and the table lists {listed}");
            parsed.finding_of(Severity::NotJudged, "output_cut", what);
        }
        _ => {}
    }
    Ok(parsed)
}

/// `8 GPUs found.`, `1 GPU found (Active).`, `0 NvSwitches found.`
fn heading(line: &str) -> Option<(usize, &str)> {
    let (n, rest) = line.split_once(' ')?;
    let (what, _) = rest.split_once(" found")?;
    Some((n.parse().ok()?, what))
}

/// `| 0      | Name: NVIDIA L4    |`: first and second cell.
fn row(line: &str) -> Option<(&str, &str)> {
    let (id, rest) = line.strip_prefix('|')?.split_once('|')?;
    Some((id.trim(), rest.trim_end().trim_end_matches('|').trim()))
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
    fn other_sections_are_no_gpus() {
        check_out(
            &PROBE,
            "4.x with CPUs",
            &from_text(
                "1 GPU found (Active).\n+---+\n| GPU ID | Device Information |\n| 0      | Name: <<<NULL>>>   |\n\
                 |        | PCI Bus ID: 00000000:0F:00.0 |\n+---+\n0 NvSwitches found.\n+---+\n2 CPUs found.\n\
                 | CPU ID | Device Information |\n| 0      | Name: Grace TH500 |\n",
                "",
                0,
            ),
            "host gpus_attached 1
            gpu:0 name (not reported: <<<NULL>>>)
            gpu:0 pci_bus_id 00000000:0F:00.0
            host gpus_listed 1",
        );
        check_out(
            &PROBE,
            "none",
            &from_text("0 GPUs found.\n", "", 0),
            "host gpus_attached 0
            host gpus_listed 0
            isolate: DCGM finds no GPU",
        );
        check_out(
            &PROBE,
            "engine not running",
            &from_text("Error: unable to establish a connection to the specified host: localhost\n", "", 249),
            "a service it needs is not running: Error: unable to establish a connection to the specified host: localhost
            not_judged: Error: unable to establish a connection to the specified host: localhost",
        );
    }
}
