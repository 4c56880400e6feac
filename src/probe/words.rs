//! The one reader for everything a tool writes instead of a value or beside it.
//!
//! "Not reported" and "alarm" are different answers, and neither is zero. Spellings were collected from outputs of
//! drivers 384 to 610 and DCGM 2.x to 4.x; NVML's own error texts stand in `nvml.h` (`nvmlErrorString`).

use crate::domain::evidence::{Captured, CommandEnd};
use crate::domain::facts::{Absent, AbsentKind, Finding, Severity, Value};

/// Why a cell holds no value, or `None` when it holds one.
///
/// ```
/// # use leasebench::{domain::facts::AbsentKind, probe::words::missing};
/// assert_eq!(missing("[N/A]").unwrap().kind, AbsentKind::NotReported);
/// assert_eq!(missing("[GPU requires reset]").unwrap().kind, AbsentKind::Alarm);
/// assert_eq!(missing("0 MiB"), None);
/// ```
#[must_use]
pub fn missing(cell: &str) -> Option<Absent> {
    let cell = cell.trim();
    let bare = cell.trim_start_matches(['[', '<', '(']).trim_end_matches([']', '>', ')']).trim().to_lowercase();
    let kind = match bare.as_str() {
        "" if cell.is_empty() => return Some(Absent::new(AbsentKind::NotReported, "empty")),
        "n/a"
        | "not supported"
        | "not_supported"
        | "requested functionality has been deprecated"
        | "function not found"
        | "null"
        | "-"
        | "--"
        | "not available"
        | "not applicable"
        | "not found"
        | "not_found"
        | "blank"
        | "not specified"
        | "" => AbsentKind::NotReported,
        "insufficient permissions"
        | "no permission"
        | "not_permissioned"
        | "gpu access blocked by the operating system" => AbsentKind::Refused,
        "unknown error"
        | "err!"
        | "error"
        | "gpu requires reset"
        | "gpu is lost"
        | "timeout"
        | "insufficient external power"
        | "corrupted inforom"
        | "inforom is corrupted"
        | "irq issue"
        | "gpu has fallen off the bus" => AbsentKind::Alarm,
        "driver not loaded" => AbsentKind::NoDriver,
        // A whole cell in square brackets is the driver's way of not giving a value, whatever the words.
        _ if cell.starts_with('[') && cell.ends_with(']') => AbsentKind::NotReported,
        _ => return None,
    };
    Some(Absent::new(kind, cell))
}

/// Words, or why there are none.
///
/// # Errors
/// The absence that the cell spells.
pub fn text(cell: &str) -> Result<Value, Absent> {
    missing(cell).map_or_else(|| Ok(Value::Text(cell.trim().to_owned())), Err)
}

/// A whole number with or without its unit behind it ("81559 MiB", "16x", "P0" is none).
///
/// # Errors
/// The absence that the cell spells, or `Unreadable` with the cell.
pub fn int(cell: &str) -> Result<Value, Absent> {
    if let Some(absent) = missing(cell) {
        return Err(absent);
    }
    number_part(cell).parse().map(Value::Int).map_err(|_error| unreadable(cell))
}

/// A measured number with or without its unit behind it ("70.93 W").
///
/// # Errors
/// The absence that the cell spells, or `Unreadable` with the cell.
pub fn float(cell: &str) -> Result<Value, Absent> {
    if let Some(absent) = missing(cell) {
        return Err(absent);
    }
    let number: f64 = number_part(cell).parse().map_err(|_error| unreadable(cell))?;
    if number.is_finite() { Ok(Value::Float(number)) } else { Err(unreadable(cell)) }
}

/// The number a cell begins with: sign, digits, one point.
fn number_part(cell: &str) -> &str {
    let cell = cell.trim();
    let end = cell.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | '-' | '+')).unwrap_or(cell.len());
    cell.get(..end).unwrap_or_default()
}

fn unreadable(cell: &str) -> Absent {
    Absent::new(AbsentKind::Unreadable, cell.trim())
}

/// Text without control characters (each becomes U+FFFD) and cut at `max` bytes with `…`.
#[must_use]
pub fn tidy(text: &str, max: usize) -> String {
    let mut end = text.len().min(max);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let head = text.get(..end).unwrap_or_default();
    let mut tidy = String::with_capacity(head.len());
    let mut cut = end < text.len();
    for c in head.chars() {
        let c = if c.is_control() || is_invisible(c) { '\u{fffd}' } else { c };
        // A replacement takes more bytes than what it replaces.
        if tidy.len() + c.len_utf8() > max {
            cut = true;
            break;
        }
        tidy.push(c);
    }
    if cut {
        tidy.push('…');
    }
    tidy
}

/// Characters that turn text around or hide it.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// A line without terminal escapes (`ESC [ … letter`) and carriage returns.
#[must_use]
pub fn plain(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => {
                if chars.next_if_eq(&'[').is_some() {
                    while chars.next_if(|c| c.is_ascii_digit() || matches!(c, ';' | '?')).is_some() {}
                    chars.next_if(char::is_ascii_alphabetic);
                }
            }
            '\r' => {}
            c => plain.push(c),
        }
    }
    plain
}

/// The lines in which sentences are looked for: both streams, standard output first, a bounded number.
pub fn lines(out: &Captured) -> impl Iterator<Item = &str> {
    out.stdout.lines().take(5_000).chain(out.stderr.lines().take(5_000))
}

/// A sentence that a tool speaks in place of an answer or beside it.
struct Sentence {
    /// All of these stand in the line, lower case.
    words: &'static [&'static str],
    kind: AbsentKind,
    severity: Severity,
    code: &'static str,
}

const fn sentence(
    words: &'static [&'static str],
    kind: AbsentKind,
    severity: Severity,
    code: &'static str,
) -> Sentence {
    Sentence { words, kind, severity, code }
}

/// Known sentences; the first that fits counts, so the more exact stand first.
const SENTENCES: &[Sentence] = &[
    sentence(&["gpu is lost"], AbsentKind::Alarm, Severity::Isolate, "gpu_lost"),
    sentence(&["fallen off the bus"], AbsentKind::Alarm, Severity::Isolate, "gpu_lost"),
    sentence(&["gpu", "requires reset"], AbsentKind::Alarm, Severity::Reset, "gpu_requires_reset"),
    sentence(&["gpu", "reset required"], AbsentKind::Alarm, Severity::Reset, "gpu_requires_reset"),
    sentence(&["version mismatch"], AbsentKind::VersionMismatch, Severity::Reset, "driver_mismatch"),
    sentence(&["nvml library version"], AbsentKind::VersionMismatch, Severity::Reset, "driver_mismatch"),
    sentence(&["failed to initialize nvml", "unknown error"], AbsentKind::NoDriver, Severity::Reset, "nvml_lost"),
    sentence(
        &["failed to initialize nvml", "insufficient permissions"],
        AbsentKind::Refused,
        Severity::NotJudged,
        "refused",
    ),
    sentence(&["gpu access blocked"], AbsentKind::Refused, Severity::NotJudged, "refused"),
    sentence(
        &["unable to determine the device handle", "insufficient permissions"],
        AbsentKind::Refused,
        Severity::NotJudged,
        "refused",
    ),
    sentence(
        &["couldn't communicate with the nvidia driver"],
        AbsentKind::NoDriver,
        Severity::Configuration,
        "no_driver",
    ),
    sentence(&["couldn't find libnvidia-ml"], AbsentKind::NoDriver, Severity::Configuration, "no_driver"),
    sentence(&["couldn't find nvml"], AbsentKind::NoDriver, Severity::Configuration, "no_driver"),
    sentence(&["driver not loaded"], AbsentKind::NoDriver, Severity::Configuration, "no_driver"),
    sentence(&["driver is not loaded"], AbsentKind::NoDriver, Severity::Configuration, "no_driver"),
    sentence(&["failed to initialize nvml"], AbsentKind::NoDriver, Severity::Configuration, "no_driver"),
    sentence(&["failed to properly shut down nvml"], AbsentKind::Alarm, Severity::Watch, "nvml_lost"),
    sentence(&["unable to determine the device handle"], AbsentKind::Alarm, Severity::Isolate, "gpu_fault"),
    sentence(&["inforom is corrupted"], AbsentKind::Alarm, Severity::Watch, "inforom_corrupted"),
    sentence(&["insufficient external power"], AbsentKind::Alarm, Severity::Isolate, "power_cable"),
    sentence(&["power cable", "not"], AbsentKind::Alarm, Severity::Isolate, "power_cable"),
    sentence(&["no devices were found"], AbsentKind::NoDevices, Severity::Isolate, "no_devices"),
    sentence(&["no devices found"], AbsentKind::NoDevices, Severity::Isolate, "no_devices"),
    sentence(
        &["unable to establish a connection to the specified host"],
        AbsentKind::ServiceDown,
        Severity::NotJudged,
        "service_down",
    ),
    sentence(&["unable to connect to host engine"], AbsentKind::ServiceDown, Severity::NotJudged, "service_down"),
    sentence(&["host engine connection invalid"], AbsentKind::ServiceDown, Severity::NotJudged, "service_down"),
    sentence(&["not a valid field to query"], AbsentKind::NotSupported, Severity::NotJudged, "command_unsupported"),
    sentence(&["is missing its value"], AbsentKind::NotSupported, Severity::NotJudged, "command_unsupported"),
    sentence(&["is not recognized"], AbsentKind::NotSupported, Severity::NotJudged, "command_unsupported"),
    sentence(
        &["invalid combination of input arguments"],
        AbsentKind::NotSupported,
        Severity::NotJudged,
        "command_unsupported",
    ),
    sentence(&["not supported on"], AbsentKind::NotSupported, Severity::NotJudged, "command_unsupported"),
    sentence(&["invalid option"], AbsentKind::NotSupported, Severity::NotJudged, "command_unsupported"),
    sentence(&["unrecognized option"], AbsentKind::NotSupported, Severity::NotJudged, "command_unsupported"),
    sentence(&["permission denied"], AbsentKind::Refused, Severity::NotJudged, "refused"),
    sentence(&["operation not permitted"], AbsentKind::Refused, Severity::NotJudged, "refused"),
    sentence(&["error while loading shared libraries"], AbsentKind::NotRun, Severity::NotJudged, "not_run"),
    sentence(&["exec format error"], AbsentKind::NotRun, Severity::NotJudged, "not_run"),
];

fn known(line: &str) -> Option<(&'static Sentence, String)> {
    // Sentences are short; a line of a megabyte is none.
    let line = plain(line.get(..line.len().min(2_000)).unwrap_or_default());
    let lower = line.to_lowercase();
    let found = SENTENCES.iter().find(|sentence| sentence.words.iter().all(|words| lower.contains(words)))?;
    Some((found, line.trim().to_owned()))
}

/// The finding behind a sentence of the driver or of a tool, or `None` for any other line.
#[must_use]
pub fn driver_sentence(line: &str) -> Option<Finding> {
    let (sentence, line) = known(line)?;
    let text = match (sentence.code, bus_id(&line)) {
        ("gpu_lost", Some(bus)) => format!("GPU {bus} is lost"),
        ("gpu_fault", Some(bus)) => {
            format!("GPU {bus} cannot be reached: {}", line.rsplit(": ").next().unwrap_or_default())
        }
        ("gpu_requires_reset", Some(bus)) => format!("GPU {bus} requires reset"),
        _ => line,
    };
    Some(Finding { severity: sentence.severity, code: sentence.code.into(), text })
}

/// The PCI bus id in a line. The number of domain digits varies (3, 4 and 8 were seen) and so does the blank after "GPU".
fn bus_id(line: &str) -> Option<&str> {
    line.split(|c: char| !(c.is_ascii_hexdigit() || matches!(c, ':' | '.'))).find_map(|part| {
        let part = part.trim_end_matches([':', '.']);
        let (left, function) = part.rsplit_once('.')?;
        let mut pieces = left.rsplit(':');
        let (device, bus, domain) = (pieces.next()?, pieces.next()?, pieces.next()?);
        (function.len() == 1 && device.len() == 2 && bus.len() == 2 && (3..=8).contains(&domain.len())).then(|| {
            let start = part.len() - (domain.len() + 1 + bus.len() + 1 + device.len() + 1 + function.len());
            part.get(start..).unwrap_or(part)
        })
    })
}

/// Why an answer of this tool holds nothing that could be read.
///
/// The sentences on both streams count before the exit status: the driver prints them on standard output, too.
#[must_use]
pub fn why_nothing(out: &Captured, tool: &str) -> Absent {
    for line in lines(out) {
        if is_tool_missing(line, tool) {
            return Absent::new(AbsentKind::ToolMissing, tool);
        }
        if let Some((sentence, line)) = known(line) {
            let detail = driver_sentence(&line).map_or_else(|| line.clone(), |finding| finding.text);
            return Absent::new(sentence.kind, tidy(&detail, 300));
        }
    }
    match &out.ended {
        CommandEnd::Deadline(secs) => Absent::new(AbsentKind::TimedOut, format!("{tool}, {secs} s")),
        CommandEnd::TooMuch(bytes) => Absent::new(AbsentKind::CutShort, format!("more than {bytes} bytes")),
        CommandEnd::Cancelled => Absent::new(AbsentKind::NotRun, "cancelled"),
        CommandEnd::ConnectionLost => Absent::new(AbsentKind::CutShort, "the connection broke"),
        CommandEnd::Signal(signal) => Absent::new(AbsentKind::NotRun, format!("{tool} was ended by signal {signal}")),
        CommandEnd::Exit(127) => Absent::new(AbsentKind::ToolMissing, tool),
        CommandEnd::Exit(126) => Absent::new(AbsentKind::Refused, tool),
        CommandEnd::Exit(code) => by_status(*code, tool).unwrap_or_else(|| unknown_text(out)),
        CommandEnd::Refused(why) => Absent::new(AbsentKind::NotRun, why.as_str()),
        CommandEnd::Unknown => unknown_text(out),
    }
}

/// What the status alone says. nvidia-smi hands on NVML's return codes (`nvml.h`), dcgmi DCGM's, modulo 256.
fn by_status(code: i32, tool: &str) -> Option<Absent> {
    let kind = match (tool, code) {
        ("nvidia-smi", 3) => AbsentKind::NotSupported,
        ("nvidia-smi", 4 | 17) => AbsentKind::Refused,
        ("nvidia-smi", 6) => AbsentKind::NoDevices,
        ("nvidia-smi", 8 | 14 | 15 | 16) => AbsentKind::Alarm,
        ("nvidia-smi", 9 | 12) => AbsentKind::NoDriver,
        ("nvidia-smi", 18) => AbsentKind::VersionMismatch,
        ("dcgmi", 235) => AbsentKind::ServiceDown,
        ("dcgmi", 200) => AbsentKind::NoDriver,
        _ => return None,
    };
    Some(Absent::new(kind, format!("{tool} ended with code {code}")))
}

fn unknown_text(out: &Captured) -> Absent {
    let first = lines(out).map(str::trim).find(|line| !line.is_empty());
    match (first, out.exit()) {
        (Some(line), _) if line.to_lowercase().starts_with("error") => {
            Absent::new(AbsentKind::NotRun, tidy(&plain(line), 300))
        }
        (Some(line), _) => Absent::new(AbsentKind::Unreadable, tidy(&plain(line), 200)),
        (None, Some(code)) if code != 0 => Absent::new(AbsentKind::Unreadable, format!("no output, code {code}")),
        (None, _) => Absent::new(AbsentKind::Unreadable, "no output"),
    }
}

/// Whether a line is a shell's way to say that the tool is not there.
fn is_tool_missing(line: &str, tool: &str) -> bool {
    let line = plain(line.get(..line.len().min(2_000)).unwrap_or_default()).to_lowercase();
    line.contains(&tool.to_lowercase())
        && ["not found", "no such file or directory", "unknown command", "is not recognized as"]
            .iter()
            .any(|words| line.contains(words))
}

#[cfg(test)]
mod tests {
    use super::super::captures::from_text;
    use super::*;

    #[test]
    fn missing_tells_alarm_from_not_reported() {
        use AbsentKind::{Alarm, NotReported, Refused};
        for (cell, want) in [
            ("N/A", Some(NotReported)),
            ("[N/A]", Some(NotReported)),
            ("[Not Supported]", Some(NotReported)),
            ("[Requested functionality has been deprecated]", Some(NotReported)),
            ("Requested functionality has been deprecated", Some(NotReported)),
            ("[Function Not Found]", Some(NotReported)),
            ("", Some(NotReported)),
            ("  ", Some(NotReported)),
            ("-", Some(NotReported)),
            ("<<<NULL>>>", Some(NotReported)),
            ("<<<NOT_SUPPORTED>>>", Some(NotReported)),
            ("(null)", Some(NotReported)),
            ("[Something new]", Some(NotReported)),
            ("[Insufficient Permissions]", Some(Refused)),
            ("Unknown Error", Some(Alarm)),
            ("[Unknown Error]", Some(Alarm)),
            ("ERR!", Some(Alarm)),
            ("[GPU requires reset]", Some(Alarm)),
            ("GPU is lost", Some(Alarm)),
            ("None", None),
            ("0", None),
            ("No", None),
            ("Disabled", None),
            ("NVIDIA A10 (rev -)", None),
        ] {
            assert_eq!(missing(cell).map(|absent| absent.kind), want, "{cell:?}");
        }
    }

    #[test]
    fn numbers_are_read_whole_or_not_at_all() {
        for (cell, want) in [
            ("81559 MiB", Ok(Value::Int(81559))),
            ("16x", Ok(Value::Int(16))),
            ("-3 C", Ok(Value::Int(-3))),
            ("9223372036854775807", Ok(Value::Int(i64::MAX))),
            ("N/A", Err(AbsentKind::NotReported)),
            ("[Unknown Error]", Err(AbsentKind::Alarm)),
            ("70.5 W", Err(AbsentKind::Unreadable)),
            ("99999999999999999999", Err(AbsentKind::Unreadable)),
            ("P0", Err(AbsentKind::Unreadable)),
        ] {
            assert_eq!(int(cell).map_err(|absent| absent.kind), want, "{cell:?}");
        }
        for (cell, want) in [
            ("70.93 W", Ok(Value::Float(70.93))),
            ("53/400W", Ok(Value::Float(53.0))),
            ("inf", Err(AbsentKind::Unreadable)),
            ("1.2.3", Err(AbsentKind::Unreadable)),
            ("[N/A]", Err(AbsentKind::NotReported)),
        ] {
            assert_eq!(float(cell).map_err(|absent| absent.kind), want, "{cell:?}");
        }
    }

    #[test]
    fn plain_and_tidy_take_the_terminal_away() {
        assert_eq!(plain("\u{1b}[4mGPU0\tGPU1\u{1b}[0m\r"), "GPU0\tGPU1");
        assert_eq!(plain("cut \u{1b}["), "cut ");
        assert_eq!(tidy("a\u{7}b\u{202e}c", 100), "a\u{fffd}b\u{fffd}c");
        assert_eq!(tidy("ééé", 3), "é…");
    }

    #[test]
    fn sentences_are_known_in_every_spelling() {
        for (line, want) in [
            (
                "Unable to determine the device handle for GPU 0000:02:00.0: GPU is lost.  Reboot the system to recover this GPU",
                Some("isolate gpu_lost GPU 0000:02:00.0 is lost"),
            ),
            (
                "Unable to determine the device handle for GPU0000:07:00.0: Unknown Error",
                Some("isolate gpu_fault GPU 0000:07:00.0 cannot be reached: Unknown Error"),
            ),
            (
                "Unable to determine the device handle for GPU 000:BA:80.0: Unknown Error",
                Some("isolate gpu_fault GPU 000:BA:80.0 cannot be reached: Unknown Error"),
            ),
            (
                "Unable to determine the device handle for GPU2: 00000000:C1:00.0: Unknown Error",
                Some("isolate gpu_fault GPU 00000000:C1:00.0 cannot be reached: Unknown Error"),
            ),
            (
                "WARNING: infoROM is corrupted at gpu 0000:00:1E.0",
                Some("watch inforom_corrupted WARNING: infoROM is corrupted at gpu 0000:00:1E.0"),
            ),
            (
                "Failed to initialize NVML: Unknown Error",
                Some("reset nvml_lost Failed to initialize NVML: Unknown Error"),
            ),
            ("No devices were found", Some("isolate no_devices No devices were found")),
            ("GPU 0: NVIDIA L4 (UUID: GPU-1)", None),
        ] {
            let got = driver_sentence(line).map(|f| format!("{} {} {}", f.severity.word(), f.code, f.text));
            assert_eq!(got.as_deref(), want, "{line}");
        }
    }

    #[test]
    fn why_nothing_reads_both_streams_before_the_status() {
        for (stdout, stderr, exit, want) in [
            ("", "bash: line 1: nvidia-smi: command not found", 127, "nvidia-smi is not installed"),
            ("", "sh: 1: nvidia-smi: not found", 127, "nvidia-smi is not installed"),
            ("", "Command 'nvidia-smi' not found, but can be installed with:", 127, "nvidia-smi is not installed"),
            ("", "", 127, "nvidia-smi is not installed"),
            (
                "",
                "bash: /usr/bin/nvidia-smi: Permission denied",
                126,
                "permission was refused: bash: /usr/bin/nvidia-smi: Permission denied",
            ),
            (
                "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 535.161",
                "",
                18,
                "the driver and its library have different versions",
            ),
            ("", "", 18, "the driver and its library have different versions"),
            ("No devices were found", "", 6, "the driver runs but lists no device"),
            ("", "", 9, "the NVIDIA driver cannot be reached: nvidia-smi ended with code 9"),
            ("", "", 0, "the output is not what the parser knows: no output"),
            ("hello", "", 0, "the output is not what the parser knows: hello"),
        ] {
            assert_eq!(
                why_nothing(&from_text(stdout, stderr, exit), "nvidia-smi").to_string(),
                want,
                "{stdout}{stderr}"
            );
        }
        let mut late = from_text("", "", 0);
        late.ended = CommandEnd::Deadline(30);
        assert_eq!(why_nothing(&late, "nvidia-smi").to_string(), "the command ran past its deadline: nvidia-smi, 30 s");
    }
}
