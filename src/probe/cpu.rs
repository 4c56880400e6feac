//! Processor, sockets, NUMA nodes (`lscpu`; `/proc/cpuinfo` where that is missing).

use std::collections::BTreeSet;

use super::{Parsed, Probe, words};
use crate::domain::evidence::Captured;
use crate::domain::facts::{Absent, AbsentKind, Device, Value, keys};

/// The probe.
pub const PROBE: Probe =
    Probe { id: "cpu", parser: 1, command: "env LC_ALL=C lscpu || cat /proc/cpuinfo", deadline_secs: 15, parse };

/// Facts of `cpu`, `numa:N` and the host's hypervisor.
///
/// Only NUMA nodes with CPUs are counted as such: Grace and POWER9 show the memory of their GPUs as nodes without CPUs.
fn parse(out: &Captured) -> Result<Parsed, Absent> {
    // Indentation came with util-linux 2.38; the flags line can be kilobytes long.
    let lines: Vec<(&str, &str)> = out
        .text_lines()
        .take(200_000)
        .filter_map(|line| line.split_once(':'))
        .map(|(label, value)| (label.trim(), value.trim()))
        .collect();
    let field = |label: &str| lines.iter().find(|(other, _)| *other == label).map(|(_, value)| *value);
    let mut parsed = Parsed::default();
    if field("processor").is_some() && field("CPU(s)").is_none() {
        cpuinfo(&mut parsed, &lines);
        return Ok(parsed);
    }
    let numa: Vec<(u32, &str)> = lines.iter().filter_map(|(label, value)| Some((numa_node(label)?, *value))).collect();
    if field("CPU(s)").is_none() && field("Architecture").is_none() && numa.is_empty() {
        return Err(words::why_nothing(out, "lscpu"));
    }
    let cpu = Device::cpu();
    if field("CPU(s)").is_some() || field("Architecture").is_some() {
        parsed.text(&cpu, keys::CPU_MODEL, field("Model name").or_else(|| field("CPU model")).unwrap_or_default());
        parsed.text(&Device::host(), keys::ARCHITECTURE, field("Architecture").unwrap_or_default());
        for (key, label) in [
            (keys::CPUS, "CPU(s)"),
            (keys::SOCKETS, "Socket(s)"),
            (keys::CORES_PER_SOCKET, "Core(s) per socket"),
            (keys::THREADS_PER_CORE, "Thread(s) per core"),
        ] {
            parsed.int(&cpu, key, field(label).unwrap_or_default(), "");
        }
    }
    let host = Device::host();
    let flagged = field("Flags").is_some_and(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor"));
    match field("Hypervisor vendor") {
        Some(vendor) => parsed.text(&host, keys::HYPERVISOR, vendor),
        None if flagged => parsed.text(&host, keys::HYPERVISOR, "unnamed"),
        None if field("Architecture").is_some() => {
            parsed.absent(&host, keys::HYPERVISOR, AbsentKind::NotReported, "lscpu names none");
        }
        None => {}
    }
    let with_cpus = numa.iter().filter(|(_, list)| !list.is_empty()).count();
    if numa.is_empty() {
        parsed.absent(&cpu, keys::NUMA_NODES, AbsentKind::NotReported, "not in the output");
    } else {
        parsed.count(&cpu, keys::NUMA_NODES, with_cpus, "");
        parsed.count(&cpu, keys::NUMA_NODES_MEMORY_ONLY, numa.len() - with_cpus, "");
    }
    for (node, list) in numa.iter().filter(|(_, list)| !list.is_empty()) {
        let device = Device::of("numa", node);
        parsed.text(&device, keys::CPU_LIST, list);
        match count_list(list) {
            Some(n) => parsed.push(&device, keys::CPUS, Ok(Value::Int(n)), ""),
            None => parsed.absent(&device, keys::CPUS, AbsentKind::Unreadable, list),
        }
    }
    Ok(parsed)
}

/// `NUMA node3 CPU(s)`.
fn numa_node(label: &str) -> Option<u32> {
    label.strip_prefix("NUMA node")?.strip_suffix(" CPU(s)")?.parse().ok()
}

/// How many CPUs a list names: `0-55,112-167` is 112.
fn count_list(list: &str) -> Option<i64> {
    let mut n: i64 = 0;
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (i64, i64) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        n = n.checked_add(last.checked_sub(first)?.checked_add(1)?)?;
    }
    (n > 0).then_some(n)
}

/// What `/proc/cpuinfo` has of it.
fn cpuinfo(parsed: &mut Parsed, lines: &[(&str, &str)]) {
    let all =
        |label: &str| lines.iter().filter(|(other, _)| *other == label).map(|(_, value)| *value).collect::<Vec<_>>();
    let cpu = Device::cpu();
    parsed.text(&cpu, keys::CPU_MODEL, all("model name").first().copied().unwrap_or_default());
    parsed.count(&cpu, keys::CPUS, all("processor").len(), "");
    let sockets: BTreeSet<&str> = all("physical id").into_iter().collect();
    if sockets.is_empty() {
        parsed.absent(&cpu, keys::SOCKETS, AbsentKind::NotReported, "not in the output");
    } else {
        parsed.count(&cpu, keys::SOCKETS, sockets.len(), "");
    }
    parsed.absent(&cpu, keys::NUMA_NODES, AbsentKind::NotReported, "lscpu is not installed");
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
    fn a_host_without_lscpu_still_counts() {
        check_out(
            &PROBE,
            "cpuinfo",
            &from_text(
                "processor\t: 0\nmodel name\t: AMD EPYC 9554\nphysical id\t: 0\n\nprocessor\t: 1\nmodel name\t: AMD EPYC 9554\nphysical id\t: 1\n",
                "sh: lscpu: not found",
                0,
            ),
            "cpu cpu_model AMD EPYC 9554
            cpu cpus 2
            cpu sockets 2
            cpu numa_nodes (not reported: lscpu is not installed)",
        );
        check_out(
            &PROBE,
            "neither",
            &from_text("", "sh: lscpu: not found\ncat: /proc/cpuinfo: No such file", 1),
            "lscpu is not installed",
        );
    }

    #[test]
    fn lists_are_counted() {
        for (list, want) in
            [("0-55,112-167", Some(112)), ("3", Some(1)), ("0,2,4", Some(3)), ("5-2", None), ("x", None)]
        {
            assert_eq!(count_list(list), want, "{list}");
        }
    }
}
