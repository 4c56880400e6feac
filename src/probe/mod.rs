//! What to ask a host and how to read the answer. Pure: a command that is a constant, and a parser. One file a probe.

use std::collections::BTreeSet;
use std::fmt;

use crate::domain::evidence::{Captured, CommandEnd};
use crate::domain::facts::{Absent, AbsentKind, Device, Fact, Finding, Key, Severity, Value, keys};
use crate::domain::failure::{Failure, FailureKind};

pub mod clock;
pub mod cpu;
pub mod dcgm_diag;
pub mod dcgm_discovery;
pub mod disks;
pub mod engine_log;
pub mod filesystems;
pub mod gpu_detail;
pub mod gpu_detail_text;
mod gpu_fields;
mod gpu_health;
pub mod gpu_list;
pub mod gpu_sample_csv;
pub mod memory;
pub mod network;
pub mod os;
pub mod topology;
pub mod words;

/// One read-only question to a host.
#[derive(Clone, Copy)]
pub struct Probe {
    /// Its id, for ever ("gpu_list").
    pub id: &'static str,
    /// Version of the parser; raised when the meaning of a fact changes.
    pub parser: u32,
    /// The command, a constant. It runs under any login shell, without a terminal.
    pub command: &'static str,
    /// The most it may take, s.
    pub deadline_secs: u32,
    /// Reads the answer. `Absent` only when nothing could be read; [`Probe::read`] adds what is common to all.
    pub parse: fn(&Captured) -> Result<Parsed, Absent>,
}

impl fmt::Debug for Probe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Probe").field("id", &self.id).field("parser", &self.parser).finish_non_exhaustive()
    }
}

impl Probe {
    /// The tool that is asked, for messages ("nvidia-smi").
    #[must_use]
    pub fn tool(&self) -> &'static str {
        self.command.split_whitespace().find(|word| *word != "env" && !word.contains('=')).unwrap_or(self.id)
    }

    /// Reads an answer into all that a record keeps of it.
    ///
    /// Where nothing could be read, the alarms that the tool spoke are findings all the same; where the answer did not
    /// come to its end, that is a finding too.
    #[must_use]
    pub fn read(&self, out: &Captured) -> Reading {
        match (self.parse)(out) {
            Ok(mut parsed) => {
                parsed.note_end(out);
                if self.tool() == "nvidia-smi" {
                    parsed.note_nvml_status(out);
                }
                Reading { facts: parsed.facts, findings: parsed.findings, absent: None }
            }
            Err(absent) => {
                let mut parsed = Parsed::default();
                for line in words::lines(out) {
                    if let Some(alarm) = words::driver_sentence(line) {
                        parsed.finding(alarm);
                    }
                }
                Reading { facts: Vec::new(), findings: parsed.findings, absent: Some(absent) }
            }
        }
    }
}

/// Every probe, in the order in which a host is asked.
pub const ALL: &[Probe] = &[
    os::PROBE,
    cpu::PROBE,
    memory::PROBE,
    disks::PROBE,
    filesystems::PROBE,
    network::PROBE,
    clock::PROBE,
    gpu_list::PROBE,
    gpu_detail::PROBE,
    topology::PROBE,
    dcgm_discovery::PROBE,
    dcgm_diag::PROBE,
    gpu_detail_text::PROBE,
    gpu_sample_csv::PROBE,
    engine_log::PROBE,
];

/// Ids of the probes that are asked when nobody chooses: all that are safe beside running work.
pub const DEFAULT: &[&str] = &[
    "os",
    "cpu",
    "memory",
    "disks",
    "filesystems",
    "network",
    "clock",
    "gpu_list",
    "gpu_detail",
    "topology",
    "dcgm_discovery",
    "dcgm_diag",
];

/// Codes of every finding that a probe can make; each has its advice in the text files.
pub const CODES: &[&str] = &[
    "gpu_lost",
    "gpu_fault",
    "gpu_requires_reset",
    "gpu_unknown_error",
    "driver_mismatch",
    "nvml_lost",
    "no_driver",
    "no_devices",
    "inforom_corrupted",
    "power_cable",
    "refused",
    "service_down",
    "command_unsupported",
    "not_run",
    "output_cut",
    "topology_unclear",
    "nvlink_hidden",
    "dcgm_tool_error",
    "dcgm_isolate",
    "dcgm_reset",
    "dcgm_configuration",
    "dcgm_warning",
    "dcgm_skipped",
    "persistence_off",
    "mig_empty",
    "foreign_processes",
    "repair_pending",
    "unrepairable_memory",
    "sram_threshold",
    "fabric_not_ready",
    "gpus_hidden",
    "ecc_uncorrected",
    "remap_failed",
    "remap_pending",
    "retire_pending",
    "retired_pages",
    "recovery_action",
    "throttle_power_brake",
    "throttle_thermal",
    "throttle_hardware",
    "pcie_width",
    "pcie_gen",
    "sizes_rounded",
    "vgpu_unlicensed",
    "engine_refused",
    "engine_oom",
    "engine_no_cache",
    "engine_underprofiled",
    "engine_memory_taken",
    "engine_preempted",
    "engine_context_cut",
    "engine_restarts",
];

/// Why an id names no probe, with those that exist.
#[must_use]
pub fn unknown(id: &str) -> Failure {
    let known: Vec<&str> = ALL.iter().map(|probe| probe.id).collect();
    Failure::new(FailureKind::UnknownProbe).with("id", id).with("known", known.join(", "))
}

/// The probe with this id.
#[must_use]
pub fn find(id: &str) -> Option<&'static Probe> {
    ALL.iter().find(|probe| probe.id == id)
}

/// All that a record keeps of an answer.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reading {
    /// What the answer says.
    pub facts: Vec<Fact>,
    /// What a person should know.
    pub findings: Vec<Finding>,
    /// Why nothing could be read.
    pub absent: Option<Absent>,
}

/// The most facts one answer can give; a machine with 16 GPUs and 32 NICs gives 2,000.
pub const MAX_FACTS: usize = 10_000;
/// The most findings one answer can give.
pub const MAX_FINDINGS: usize = 200;
/// The longest text of a fact or finding, bytes; longer ones end in `…`.
pub const MAX_TEXT: usize = 2_000;

/// What an answer says. A device has one value a key: the first that was read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Parsed {
    /// What the answer says, in its order.
    pub facts: Vec<Fact>,
    /// What a person should know.
    pub findings: Vec<Finding>,
    seen: BTreeSet<(Device, Key)>,
}

impl Parsed {
    /// Adds a fact unless the device already has one of this key. Text loses its control characters and excess length.
    pub fn push(&mut self, device: &Device, key: Key, value: Result<Value, Absent>, unit: &'static str) {
        if self.facts.len() >= MAX_FACTS {
            self.finding_of(Severity::NotJudged, "output_cut", format!("Only the first {MAX_FACTS} facts are kept"));
            return;
        }
        let device = Device(words::tidy(&device.0, 200));
        if !self.seen.insert((device.clone(), key.clone())) {
            return;
        }
        let value = match value {
            Ok(Value::Text(text)) => Ok(Value::Text(words::tidy(&text, MAX_TEXT))),
            Err(absent) => Err(Absent::new(absent.kind, words::tidy(&absent.detail, MAX_TEXT))),
            number => number,
        };
        self.facts.push(Fact { device, key, value, unit: unit.into() });
    }

    /// Adds words as a tool wrote them; a spelling of "no value" becomes an absence.
    pub fn text(&mut self, device: &Device, key: Key, cell: &str) {
        self.push(device, key, words::text(cell), "");
    }

    /// Adds a whole number as a tool wrote it, with or without its unit behind it.
    pub fn int(&mut self, device: &Device, key: Key, cell: &str, unit: &'static str) {
        self.push(device, key, words::int(cell), unit);
    }

    /// Adds a measured number as a tool wrote it, with or without its unit behind it.
    pub fn float(&mut self, device: &Device, key: Key, cell: &str, unit: &'static str) {
        self.push(device, key, words::float(cell), unit);
    }

    /// Adds a number that was counted or computed here.
    pub fn count(&mut self, device: &Device, key: Key, n: usize, unit: &'static str) {
        let value = i64::try_from(n).map(Value::Int);
        self.push(device, key, value.map_err(|error| Absent::new(AbsentKind::Unreadable, error.to_string())), unit);
    }

    /// Adds that a value is not there.
    pub fn absent(&mut self, device: &Device, key: Key, kind: AbsentKind, detail: &str) {
        self.push(device, key, Err(Absent::new(kind, detail)), "");
    }

    /// Adds the two names of a device.
    pub fn push_device(&mut self, device: &Device, name: &str, uuid: &str) {
        self.text(device, keys::NAME, name);
        self.text(device, keys::UUID, uuid);
    }

    /// Adds a finding unless the same was said before.
    pub fn finding(&mut self, mut finding: Finding) {
        finding.text = words::tidy(&finding.text, MAX_TEXT);
        if self.findings.len() < MAX_FINDINGS && !self.findings.contains(&finding) {
            self.findings.push(finding);
        }
    }

    /// Adds a finding from its parts.
    pub fn finding_of(&mut self, severity: Severity, code: &'static str, text: impl Into<String>) {
        self.finding(Finding { severity, code: code.into(), text: text.into() });
    }

    /// Adds that the answer did not come to its end, where that is so.
    pub fn note_end(&mut self, out: &Captured) {
        let why = match &out.ended {
            CommandEnd::Exit(_) | CommandEnd::Unknown => return,
            CommandEnd::Signal(signal) => format!("The command was ended by signal {signal}"),
            CommandEnd::Deadline(secs) => format!("The command ran past its deadline of {secs} s"),
            CommandEnd::TooMuch(bytes) => format!("The command sent more than {bytes} bytes"),
            CommandEnd::Cancelled => "The command was cancelled".to_owned(),
            CommandEnd::ConnectionLost => "The connection broke".to_owned(),
            CommandEnd::Refused(why) => format!("The command was not run: {why}"),
        };
        self.finding_of(Severity::NotJudged, "output_cut", format!("{why}; what follows in the output was not read"));
    }

    /// Adds what the status of `nvidia-smi` says beside a readable answer: it hands on NVML's return codes, and whole
    /// tables come with code 14.
    fn note_nvml_status(&mut self, out: &Captured) {
        let (severity, code, what) = match out.exit() {
            None | Some(0) => return,
            Some(8) => (Severity::Isolate, "power_cable", "a card lacks external power"),
            Some(14) => (Severity::Watch, "inforom_corrupted", "an infoROM is corrupted"),
            Some(15) => (Severity::Isolate, "gpu_lost", "a GPU is lost"),
            Some(16) => (Severity::Reset, "gpu_requires_reset", "a GPU requires reset"),
            Some(_) => (Severity::NotJudged, "output_cut", "the answer may be incomplete"),
        };
        let said = self.findings.iter().any(|finding| finding.code == code || finding.code == "gpu_fault");
        if let (false, Some(exit)) = (said, out.exit()) {
            self.finding_of(severity, code, format!("nvidia-smi ended with code {exit}: {what}"));
        }
    }

    /// The value of a fact, for parsers that judge what they have read.
    #[must_use]
    pub fn get(&self, device: &Device, key: &Key) -> Option<&Value> {
        self.facts.iter().find(|fact| fact.device == *device && fact.key == *key)?.value.as_ref().ok()
    }

    /// Facts, then findings, one a line: `gpu:0 memory_total 81559 MiB`, `gpu:0 ecc_mode (not reported: N/A)`,
    /// `isolate: GPU 00000000:BA:00.0 is lost`.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        lines(&self.facts, &self.findings)
    }
}

/// Facts, then findings, one a line, in English and stable.
#[must_use]
pub fn lines(facts: &[Fact], findings: &[Finding]) -> Vec<String> {
    let facts = facts.iter().map(|fact| match (&fact.value, fact.unit.as_ref()) {
        (Ok(value), "") => format!("{} {} {value}", fact.device, fact.key),
        (Ok(value), unit) => format!("{} {} {value} {unit}", fact.device, fact.key),
        (Err(absent), _) => format!("{} {} ({absent})", fact.device, fact.key),
    });
    facts.chain(findings.iter().map(|finding| format!("{}: {}", finding.severity.word(), finding.text))).collect()
}

/// Captured outputs for the tests of probes.
#[cfg(test)]
pub(crate) mod captures {
    use std::path::{Path, PathBuf};

    use super::{Captured, CommandEnd, Probe};

    /// Every file in a probe's folder of captures.
    fn files(probe: &str) -> Vec<PathBuf> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures").join(probe);
        let mut files: Vec<PathBuf> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        files
    }

    /// A capture by its case: standard output from `<case>.<any>`, standard error from `<case>.err`.
    #[track_caller]
    pub(crate) fn capture(probe: &str, case: &str, exit: i32) -> Captured {
        let files: Vec<PathBuf> = files(probe)
            .into_iter()
            .filter(|file| file.file_stem().unwrap() == case && file.extension().unwrap() != "want")
            .collect();
        assert!(!files.is_empty(), "no capture {probe}/{case}");
        let read = |err: bool| {
            let file = files.iter().find(|file| (file.extension().unwrap() == "err") == err);
            file.map_or(String::new(), |file| String::from_utf8(std::fs::read(file).unwrap()).unwrap())
        };
        from_text(&read(false), &read(true), exit)
    }

    /// An answer from text.
    pub(crate) fn from_text(stdout: &str, stderr: &str, exit: i32) -> Captured {
        Captured {
            command: "test".to_owned(),
            stdout: stdout.to_owned(),
            stderr: stderr.to_owned(),
            ended: CommandEnd::Exit(exit),
            took_secs: 0.1,
            pollution: String::new(),
            masked: Vec::new(),
        }
    }

    /// All that a probe reads from an answer, as lines; an absence is one line before its findings.
    pub(crate) fn read_lines(probe: &Probe, out: &Captured) -> Vec<String> {
        let reading = probe.read(out);
        let absent = reading.absent.map(|absent| absent.to_string());
        absent.into_iter().chain(super::lines(&reading.facts, &reading.findings)).collect()
    }

    /// Checks every capture of a probe against `<case>.want`: `# exit N`, then all that is read from it. The files are
    /// rewritten with `UPDATE_GOLDEN=1` and read in review.
    #[track_caller]
    pub(crate) fn check_all(probe: &Probe) {
        let mut cases: Vec<String> =
            files(probe.id).iter().map(|file| file.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
        cases.dedup();
        assert!(!cases.is_empty());
        let mut wrong = Vec::new();
        for case in &cases {
            let path = Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("tests/captures")
                .join(probe.id)
                .join(format!("{case}.want"));
            let want = std::fs::read_to_string(&path).unwrap_or_default();
            let exit = want.strip_prefix("# exit ").and_then(|rest| rest.lines().next()?.parse().ok()).unwrap_or(0);
            let out = capture(probe.id, case, exit);
            for finding in probe.read(&out).findings {
                assert!(super::CODES.contains(&finding.code.as_ref()), "{case}: {} has no advice", finding.code);
            }
            let got = read_lines(probe, &out).join("\n");
            let got = format!("# exit {exit}\n{got}\n");
            if got != want && std::env::var_os("UPDATE_GOLDEN").is_some() {
                std::fs::write(&path, &got).unwrap();
            } else if got != want {
                wrong.push(format!("{}\n---- got ----\n{got}", path.display()));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    }

    /// Checks a whole reading against one text, a line a fact or finding.
    #[track_caller]
    pub(crate) fn check_out(probe: &Probe, case: &str, out: &Captured, want: &str) {
        let got = read_lines(probe, out).join("\n");
        let want = want.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n");
        assert!(got == want, "{case}\n---- got ----\n{got}\n---- want ----\n{want}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::text::{Language, Text};

    #[test]
    fn ids_are_unique_and_found() {
        for (n, probe) in ALL.iter().enumerate() {
            assert!(ALL.iter().skip(n + 1).all(|other| other.id != probe.id), "{}", probe.id);
            assert_eq!(find(probe.id).map(|found| found.id), Some(probe.id));
            assert!(probe.parser > 0 && probe.deadline_secs > 0, "{}", probe.id);
        }
        assert!(DEFAULT.iter().all(|id| find(id).is_some()));
        assert!(find("no_such").is_none());
    }

    #[test]
    fn a_device_has_one_value_a_key_and_texts_are_bounded() {
        let mut parsed = Parsed::default();
        parsed.text(&Device::gpu(0), keys::NAME, "first");
        parsed.text(&Device::gpu(0), keys::NAME, "second");
        parsed.text(&Device::gpu(1), keys::NAME, &"é\u{1b}[31m".repeat(2_000));
        assert_eq!(parsed.facts.len(), 2);
        assert_eq!(parsed.get(&Device::gpu(0), &keys::NAME), Some(&Value::Text("first".into())));
        let Some(Value::Text(long)) = parsed.get(&Device::gpu(1), &keys::NAME) else { panic!() };
        assert!(long.len() <= MAX_TEXT + 4 && long.ends_with('…') && !long.contains('\u{1b}'), "{}", long.len());
    }

    #[test]
    fn every_code_has_advice_and_every_key_a_name() {
        for language in Language::ALL {
            let text = Text::of(language);
            let advised: Vec<&str> = text.findings.keys().map(String::as_str).collect();
            let mut codes = CODES.to_vec();
            codes.sort_unstable();
            assert_eq!(advised, codes, "{}", language.tag());
            for key in keys::ALL {
                assert!(text.names.contains_key(&format!("fact_{key}")), "{key} in {}", language.tag());
            }
        }
    }
}
