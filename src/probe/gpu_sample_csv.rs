//! A table of chosen fields (`nvidia-smi --query-gpu=… --format=csv`), for outputs that people paste.
//!
//! Columns are known by their header, whatever fields were asked and in whichever order. Few and old fields are asked
//! here: one unknown name fails the whole query.

use super::gpu_health::{self, Flags};
use super::{Parsed, Probe, words};
use crate::domain::evidence::Captured;
use crate::domain::facts::{Absent, AbsentKind, Device, Key, Severity, Value, keys};

/// The probe.
pub const PROBE: Probe = Probe {
    id: "gpu_sample_csv",
    parser: 1,
    command: "nvidia-smi --query-gpu=index,uuid,name,driver_version,memory.total,memory.used,memory.free,\
              utilization.gpu,power.draw,temperature.gpu,pstate --format=csv",
    deadline_secs: 30,
    parse,
};

#[derive(Clone, Copy)]
enum Read {
    Text,
    Int,
    Float,
}

/// Field names without their unit. Where several give one fact, the first usable of a row counts.
const FIELDS: &[(&str, Key, Read, &str)] = &[
    ("name", keys::NAME, Read::Text, ""),
    ("gpu_name", keys::NAME, Read::Text, ""),
    ("uuid", keys::UUID, Read::Text, ""),
    ("gpu_uuid", keys::UUID, Read::Text, ""),
    ("pci.bus_id", keys::BUS_ID, Read::Text, ""),
    ("gpu_bus_id", keys::BUS_ID, Read::Text, ""),
    ("memory.total", keys::MEMORY_TOTAL, Read::Int, "MiB"),
    ("memory.used", keys::MEMORY_USED, Read::Int, "MiB"),
    ("memory.free", keys::MEMORY_FREE, Read::Int, "MiB"),
    ("memory.reserved", keys::MEMORY_RESERVED, Read::Int, "MiB"),
    ("mig.mode.current", keys::MIG_MODE, Read::Text, ""),
    ("ecc.mode.current", keys::ECC_MODE, Read::Text, ""),
    ("persistence_mode", keys::PERSISTENCE_MODE, Read::Text, ""),
    ("pcie.link.gen.current", keys::PCIE_GEN, Read::Int, ""),
    ("pcie.link.gen.max", keys::PCIE_GEN_MAX, Read::Int, ""),
    ("pcie.link.width.current", keys::PCIE_WIDTH, Read::Int, ""),
    ("pcie.link.width.max", keys::PCIE_WIDTH_MAX, Read::Int, ""),
    ("power.draw", keys::POWER_DRAW, Read::Float, "W"),
    ("power.draw.instant", keys::POWER_DRAW, Read::Float, "W"),
    ("power.draw.average", keys::POWER_DRAW, Read::Float, "W"),
    ("enforced.power.limit", keys::POWER_LIMIT, Read::Float, "W"),
    ("power.limit", keys::POWER_LIMIT, Read::Float, "W"),
    ("power.default_limit", keys::POWER_LIMIT_DEFAULT, Read::Float, "W"),
    ("temperature.gpu", keys::TEMPERATURE, Read::Int, "°C"),
    ("utilization.gpu", keys::UTILIZATION, Read::Int, "%"),
    ("ecc.errors.uncorrected.volatile.total", keys::ECC_UNCORRECTED_VOLATILE, Read::Int, ""),
    ("remapped_rows.pending", keys::REMAPPED_ROWS_PENDING, Read::Text, ""),
    ("remapped_rows.failure", keys::REMAPPED_ROWS_FAILURE, Read::Text, ""),
    ("remapped_rows.uncorrectable", keys::REMAPPED_ROWS_UNCORRECTABLE, Read::Int, ""),
    ("retired_pages.pending", keys::RETIRED_PAGES_PENDING, Read::Text, ""),
    ("retired_pages.single_bit_ecc.count", keys::RETIRED_PAGES_SINGLE_BIT, Read::Int, ""),
    ("retired_pages.double_bit.count", keys::RETIRED_PAGES_DOUBLE_BIT, Read::Int, ""),
    ("pstate", keys::PSTATE, Read::Text, ""),
    ("clocks.current.sm", keys::CLOCK_SM, Read::Int, "MHz"),
    ("clocks.sm", keys::CLOCK_SM, Read::Int, "MHz"),
    ("clocks.max.sm", keys::CLOCK_SM_MAX, Read::Int, "MHz"),
    ("vbios_version", keys::VBIOS, Read::Text, ""),
    ("gpu_recovery_action", keys::RECOVERY_ACTION, Read::Text, ""),
];

/// The fields that were asked, of every GPU: by `index` where that is among them, else in the order of the rows.
///
/// A table without its header is refused, since nothing says what its columns are. Of a repeated table (`-l`) the first
/// row of a GPU counts.
fn parse(out: &Captured) -> Result<Parsed, Absent> {
    let mut rows = out.text_lines().take(20_000).map(words::plain).map(|line| cells(&line));
    let Some(header) = rows.find(|cells| is_header(cells)) else {
        let without = out.text_lines().take(50).filter(|line| words::driver_sentence(line).is_none());
        if without.filter(|line| line.split(", ").count() >= 2).count() > 0 {
            return Err(Absent::new(AbsentKind::Unreadable, "the table has no header; ask with --format=csv alone"));
        }
        return Err(words::why_nothing(out, PROBE.tool()));
    };
    let names: Vec<&str> = header.iter().map(|name| name.split(" [").next().unwrap_or_default().trim()).collect();
    let mut parsed = Parsed::default();
    let mut flags = Flags::default();
    let mut n_rows: u32 = 0;
    for cells in rows.filter(|cells| !is_header(cells)) {
        if cells.len() != names.len() {
            note_other(&mut parsed, &cells, names.len());
            continue;
        }
        let cell = |name: &str| names.iter().position(|other| *other == name).and_then(|at| cells.get(at));
        let gpu_idx = cell("index").and_then(|idx| idx.parse().ok()).unwrap_or(n_rows);
        n_rows = n_rows.saturating_add(1);
        let device = Device::gpu(gpu_idx);
        for (key, value, unit) in values(&names, &cells) {
            parsed.push(&device, key, value, unit);
        }
        if let Some(value) = reasons(&names, &cells) {
            parsed.push(&device, keys::THROTTLE_REASONS, value, "");
        }
        if let Some(driver) = cell("driver_version").or_else(|| cell("kmd_version")) {
            parsed.text(&Device::host(), keys::DRIVER_VERSION, driver);
        }
    }
    if parsed.facts.is_empty() {
        return Err(words::why_nothing(out, PROBE.tool()));
    }
    gpu_health::judge(&mut parsed, &mut flags);
    flags.write(&mut parsed);
    Ok(parsed)
}

/// Cells of a line; the driver writes `, ` between them and quotes nothing.
fn cells(line: &str) -> Vec<String> {
    line.split(',').map(|cell| cell.trim().to_owned()).collect()
}

/// A line of field names, at least one of them known.
fn is_header(cells: &[String]) -> bool {
    let name = |cell: &String| cell.split(" [").next().unwrap_or_default().to_owned();
    cells.iter().map(name).any(|name| FIELDS.iter().any(|(field, ..)| *field == name && name.len() > 3))
        && cells.iter().map(name).all(|name| !name.is_empty() && name.starts_with(|c: char| c.is_ascii_lowercase()))
}

/// A line that is no row: a sentence of the driver, or a row that breaks off.
fn note_other(parsed: &mut Parsed, cells: &[String], n_columns: usize) {
    let line = cells.join(", ");
    if let Some(alarm) = words::driver_sentence(&line) {
        parsed.finding(alarm);
    } else if cells.len() > 1 {
        let what = format!("A row has {} cells and the header {n_columns}; it was left out", cells.len());
        parsed.finding_of(Severity::NotJudged, "output_cut", what);
    }
}

/// The facts of a row, each from the first of its columns that holds a usable value.
fn values(names: &[&str], cells: &[String]) -> Vec<(Key, Result<Value, Absent>, &'static str)> {
    let mut values: Vec<(Key, Result<Value, Absent>, &'static str)> = Vec::new();
    for (field, key, read, unit) in FIELDS {
        let Some(cell) = names.iter().position(|name| name == field).and_then(|at| cells.get(at)) else { continue };
        let value = match read {
            // Some versions count what the long forms answer with yes or no.
            Read::Text if is_yes_or_no(key) && *cell == "1" => words::text("Yes"),
            Read::Text if is_yes_or_no(key) && *cell == "0" => words::text("No"),
            Read::Text => words::text(cell),
            Read::Int => words::int(cell),
            Read::Float => words::float(cell),
        };
        match values.iter_mut().find(|(other, ..)| other == key) {
            None => values.push((key.clone(), value, unit)),
            Some((_, before, _)) if before.is_err() && value.is_ok() => *before = value,
            Some(_) => {}
        }
    }
    values
}

fn is_yes_or_no(key: &Key) -> bool {
    [keys::REMAPPED_ROWS_PENDING, keys::REMAPPED_ROWS_FAILURE, keys::RETIRED_PAGES_PENDING].contains(key)
}

/// Active reasons from their columns (`clocks_event_reasons.hw_slowdown`, `clocks_throttle_reasons.hw_slowdown`).
fn reasons(names: &[&str], cells: &[String]) -> Option<Result<Value, Absent>> {
    let columns: Vec<(&str, &str)> = names
        .iter()
        .zip(cells)
        .filter(|(name, cell)| {
            (name.starts_with("clocks_event_reasons.") || name.starts_with("clocks_throttle_reasons."))
                && matches!(cell.as_str(), "Active" | "Not Active")
        })
        .map(|(name, cell)| (*name, cell.as_str()))
        .collect();
    (!columns.is_empty()).then(|| {
        let active = columns.iter().filter(|(_, cell)| *cell == "Active").map(|(name, _)| gpu_health::reason(name));
        Ok(gpu_health::reasons(active))
    })
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
    fn one_unknown_field_fails_the_query() {
        check_out(
            &PROBE,
            "unknown field",
            &from_text("Field \"power.draw.instant\" is not a valid field to query.\n\n", "", 2),
            "the command is not supported there: Field \"power.draw.instant\" is not a valid field to query.
            not_judged: Field \"power.draw.instant\" is not a valid field to query.",
        );
        check_out(
            &PROBE,
            "first usable power, a cut row",
            &from_text(
                "index, power.draw [W], power.draw.instant [W], remapped_rows.pending\n1, [N/A], 97.75 W, 1\n0, 20.5 W, 21.5 W, No\n2, 1",
                "",
                0,
            ),
            "gpu:1 power_draw 97.75 W
            gpu:1 remapped_rows_pending Yes
            gpu:0 power_draw 20.5 W
            gpu:0 remapped_rows_pending No
            not_judged: A row has 2 cells and the header 4; it was left out
            reset: GPU 1: rows wait for a reset to be remapped",
        );
    }
}
