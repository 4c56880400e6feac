//! Memory of the host (`/proc/meminfo`).

use super::{Parsed, Probe, words};
use crate::domain::evidence::Captured;
use crate::domain::facts::{Absent, AbsentKind, Device, Value, keys};

/// The probe.
pub const PROBE: Probe = Probe { id: "memory", parser: 1, command: "cat /proc/meminfo", deadline_secs: 15, parse };

/// `memory_total`, `memory_free`, `memory_available` and `swap_total` of the host, in MiB, exact.
///
/// Kernels before 3.14 lack `MemAvailable`; free memory is no estimate of it, so it stays unknown.
fn parse(out: &Captured) -> Result<Parsed, Absent> {
    let kib = |label: &str| {
        out.text_lines().take(2_000).find_map(|line| line.trim().strip_prefix(label)?.strip_prefix(':')).map(str::trim)
    };
    if kib("MemTotal").is_none() {
        return Err(words::why_nothing(out, "cat"));
    }
    let mut parsed = Parsed::default();
    for (key, label) in [
        (keys::MEMORY_TOTAL, "MemTotal"),
        (keys::MEMORY_FREE, "MemFree"),
        (keys::MEMORY_AVAILABLE, "MemAvailable"),
        (keys::SWAP_TOTAL, "SwapTotal"),
    ] {
        let value = match kib(label) {
            Some(cell) => words::float(cell).map(|value| Value::Float(value.as_f64().unwrap_or_default() / 1024.0)),
            None => Err(Absent::new(AbsentKind::NotReported, "not in the output")),
        };
        parsed.push(&Device::host(), key, value, "MiB");
    }
    Ok(parsed)
}

#[cfg(test)]
mod tests {
    use super::super::captures::check_all;
    use super::*;

    #[test]
    fn reads_captures() {
        check_all(&PROBE);
    }
}
