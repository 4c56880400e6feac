//! What a person should know about GPUs, judged from their facts; one rule for every source of facts.

use std::collections::BTreeMap;

use super::Parsed;
use crate::domain::facts::{Absent, AbsentKind, Device, Key, Severity, Value, keys};

/// From this many retired pages on NVIDIA takes a card back (its page retirement documentation).
const RETIRED_PAGES_LIMIT: i64 = 60;

/// Findings gathered over GPUs, so that eight cards with one trouble give one line.
#[derive(Debug, Default)]
pub(super) struct Flags {
    gpus: BTreeMap<(Severity, &'static str, String), Vec<u32>>,
    host: Vec<(Severity, &'static str, String)>,
}

impl Flags {
    /// This GPU has this trouble.
    pub(super) fn gpu(&mut self, severity: Severity, code: &'static str, what: impl Into<String>, gpu_idx: u32) {
        let gpus = self.gpus.entry((severity, code, what.into())).or_default();
        if !gpus.contains(&gpu_idx) {
            gpus.push(gpu_idx);
        }
    }

    /// The host has this trouble.
    pub(super) fn host(&mut self, severity: Severity, code: &'static str, what: String) {
        self.host.push((severity, code, what));
    }

    /// Adds them to the findings, worst first.
    pub(super) fn write(self, parsed: &mut Parsed) {
        for ((severity, code, what), gpus) in self.gpus {
            let gpus: Vec<String> = gpus.iter().map(u32::to_string).collect();
            parsed.finding_of(severity, code, format!("GPU {}: {what}", gpus.join(", ")));
        }
        for (severity, code, what) in self.host {
            parsed.finding_of(severity, code, what);
        }
    }
}

/// A reason's name as the driver's fields write it: `hw_slowdown` from `clocks_event_reason_hw_slowdown` or "HW Slowdown".
pub(super) fn reason(name: &str) -> String {
    let name = name.trim().to_lowercase().replace([' ', '-'], "_");
    let name = ["clocks_event_reason_", "clocks_throttle_reason_", "clocks_event_reasons.", "clocks_throttle_reasons."]
        .iter()
        .find_map(|prefix| name.strip_prefix(prefix))
        .unwrap_or(&name);
    match name {
        "idle" => "gpu_idle".to_owned(),
        "display_clock_setting" => "display_clocks_setting".to_owned(),
        name => name.to_owned(),
    }
}

/// Active reasons as one value.
pub(super) fn reasons(active: impl Iterator<Item = String>) -> Value {
    let active: Vec<String> = active.collect();
    Value::Text(if active.is_empty() { "none".to_owned() } else { active.join(", ") })
}

/// Judges every GPU by its facts. Zeros of a card that asks for a reset are taken back: a dead card reads "0 MiB used".
pub(super) fn judge(parsed: &mut Parsed, flags: &mut Flags) {
    let mut gpus: BTreeMap<u32, BTreeMap<&str, &Result<Value, Absent>>> = BTreeMap::new();
    for fact in &parsed.facts {
        if let Some(gpu_idx) = fact.device.gpu_idx() {
            gpus.entry(gpu_idx).or_default().insert(&fact.key.0, &fact.value);
        }
    }
    let mut dead = Vec::new();
    for (gpu_idx, facts) in &gpus {
        if judge_alarms(flags, *gpu_idx, facts) {
            dead.push(Device::gpu(*gpu_idx));
        }
        judge_memory(flags, *gpu_idx, facts);
        judge_state(flags, *gpu_idx, facts);
    }
    let readings = [keys::MEMORY_USED, keys::UTILIZATION, keys::PROCESSES, keys::ECC_UNCORRECTED_VOLATILE];
    for fact in &mut parsed.facts {
        let doubtful = dead.contains(&fact.device) && readings.contains(&fact.key);
        if doubtful && matches!(fact.value, Ok(Value::Int(0))) {
            let why = format!("the card asks for a reset and reads 0 {}", fact.unit);
            fact.value = Err(Absent::new(AbsentKind::Alarm, why.trim_end()));
        }
    }
}

type Facts<'a> = BTreeMap<&'a str, &'a Result<Value, Absent>>;

fn text<'a>(facts: &Facts<'a>, key: &Key) -> Option<&'a str> {
    match facts.get(key.0.as_ref())? {
        Ok(Value::Text(text)) => Some(text),
        _ => None,
    }
}

fn int(facts: &Facts<'_>, key: &Key) -> Option<i64> {
    match facts.get(key.0.as_ref())? {
        Ok(Value::Int(n)) => Some(*n),
        _ => None,
    }
}

/// Alarms that stand in place of values. Whether the card is dead.
fn judge_alarms(flags: &mut Flags, gpu_idx: u32, facts: &Facts<'_>) -> bool {
    let mut by_words: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (key, value) in facts {
        if let Err(absent) = value
            && absent.kind == AbsentKind::Alarm
        {
            by_words.entry(&absent.detail).or_default().push(key);
        }
    }
    let mut dead = false;
    for (words, keys) in by_words {
        let lower = words.to_lowercase();
        let (severity, code) = if lower.contains("requires reset") {
            (Severity::Reset, "gpu_requires_reset")
        } else if lower.contains("lost") || lower.contains("fallen") {
            (Severity::Isolate, "gpu_lost")
        } else {
            (Severity::Watch, "gpu_unknown_error")
        };
        dead |= severity != Severity::Watch;
        flags.gpu(severity, code, format!("\"{words}\" in place of {}", keys.join(", ")), gpu_idx);
    }
    dead
}

/// Errors and repairs of memory.
fn judge_memory(flags: &mut Flags, gpu_idx: u32, facts: &Facts<'_>) {
    if let Some(n) = int(facts, &keys::ECC_UNCORRECTED_VOLATILE).filter(|n| *n > 0) {
        let what = format!("uncorrected ECC errors since the driver loaded: {n}");
        flags.gpu(Severity::Reset, "ecc_uncorrected", what, gpu_idx);
    }
    for (key, severity, code, what) in [
        (keys::REMAPPED_ROWS_FAILURE, Severity::Isolate, "remap_failed", "row remapping failed"),
        (keys::REMAPPED_ROWS_PENDING, Severity::Reset, "remap_pending", "rows wait for a reset to be remapped"),
        (keys::RETIRED_PAGES_PENDING, Severity::Reset, "retire_pending", "pages wait for a reset to be retired"),
    ] {
        if text(facts, &key) == Some("Yes") {
            flags.gpu(severity, code, what, gpu_idx);
        }
    }
    let retired = int(facts, &keys::RETIRED_PAGES_SINGLE_BIT)
        .unwrap_or(0)
        .saturating_add(int(facts, &keys::RETIRED_PAGES_DOUBLE_BIT).unwrap_or(0));
    if retired >= RETIRED_PAGES_LIMIT {
        flags.gpu(Severity::Isolate, "retired_pages", format!("retired pages: {retired}"), gpu_idx);
    }
}

/// Clocks, link, settings, and what the driver asks for.
fn judge_state(flags: &mut Flags, gpu_idx: u32, facts: &Facts<'_>) {
    if let Some(action) = text(facts, &keys::RECOVERY_ACTION).filter(|action| *action != "None") {
        flags.gpu(Severity::Reset, "recovery_action", format!("the driver asks for recovery: {action}"), gpu_idx);
    }
    if text(facts, &keys::PERSISTENCE_MODE) == Some("Disabled") {
        flags.gpu(Severity::Configuration, "persistence_off", "persistence mode is off", gpu_idx);
    }
    if let Some(reasons) = text(facts, &keys::THROTTLE_REASONS) {
        let held: Vec<&str> = reasons
            .split(", ")
            .filter(|reason| reason.starts_with("hw_") || *reason == "sw_thermal_slowdown")
            .collect();
        let code = if held.iter().any(|reason| reason.contains("power_brake")) {
            "throttle_power_brake"
        } else if held.iter().any(|reason| reason.contains("thermal")) {
            "throttle_thermal"
        } else {
            "throttle_hardware"
        };
        if !held.is_empty() {
            flags.gpu(Severity::Watch, code, format!("clocks are held down by {}", held.join(", ")), gpu_idx);
        }
    }
    if let (Some(now), Some(max)) = (int(facts, &keys::PCIE_WIDTH), int(facts, &keys::PCIE_WIDTH_MAX))
        && now < max
    {
        flags.gpu(Severity::Watch, "pcie_width", format!("PCIe width is {now} of {max}"), gpu_idx);
    }
    // Idle cards drop to generation 1, so the generation is judged only where the card is awake.
    if let (Some(now), Some(max)) = (int(facts, &keys::PCIE_GEN), int(facts, &keys::PCIE_GEN_MAX))
        && now < max
        && text(facts, &keys::PSTATE).is_some_and(|pstate| matches!(pstate, "P0" | "P1" | "P2"))
    {
        flags.gpu(Severity::Watch, "pcie_gen", format!("PCIe generation is {now} of {max} while awake"), gpu_idx);
    }
}
