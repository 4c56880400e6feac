//! `leasebench parse PROBE_ID FILE`: reads a captured output by a probe's parser, or a file of a model.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;

use crate::domain::evidence::{Captured, CommandEnd};
use crate::domain::facts::{Fact, Finding, Value};
use crate::domain::failure::{Failure, FailureKind};
use crate::domain::text::Text;
use crate::probe::{self, Reading};

use super::{out, parse_model};

/// What is read of a file: as much as is read of a host's answer.
const CAP: u64 = 4 << 20;

/// What is read, and by which parser.
#[derive(Debug, Args)]
pub(super) struct ParseArgs {
    /// Probe whose parser reads the output (gpu_list, gpu_detail, dcgm_diag, engine_log, …), or model_file.
    probe: String,
    /// File with the output, or - for standard input.
    file: PathBuf,
    /// Exit status of the command, when it is known.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    exit: Option<i32>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// What scripts read.
#[derive(Serialize)]
pub(super) struct Shape<'a> {
    probe: &'a str,
    facts: Vec<FactShape<'a>>,
    findings: Vec<FindingShape<'a>>,
    /// Why there was nothing to read; left out when there was something.
    #[serde(skip_serializing_if = "Option::is_none")]
    absent: Option<String>,
}

/// A value with its unit (empty for none), or why there is none.
#[derive(Serialize)]
#[serde(untagged)]
enum FactShape<'a> {
    Known { key: &'a str, device: &'a str, value: ValueShape<'a>, unit: &'a str },
    Absent { key: &'a str, device: &'a str, absent: String },
}

#[derive(Serialize)]
#[serde(untagged)]
enum ValueShape<'a> {
    Text(&'a str),
    Int(i64),
    Float(f64),
}

#[derive(Serialize)]
struct FindingShape<'a> {
    severity: &'static str,
    text: &'a str,
}

/// Exit status 0 when something could be read, 1 when the output says that there is nothing to read.
pub(super) fn run(args: &ParseArgs, text: &Text) -> Result<ExitCode, Failure> {
    let (id, reading) = if args.probe == parse_model::ID {
        (parse_model::ID, parse_model::read(&args.file, text)?)
    } else {
        let probe = probe::find(&args.probe).ok_or_else(|| probe::unknown(&args.probe))?;
        (probe.id, probe.read(&captured(&args.file, args.exit)?))
    };
    if args.json {
        out::json(&shape(id, &reading))?;
    } else {
        print(&reading, text);
    }
    Ok(ExitCode::from(u8::from(reading.absent.is_some())))
}

/// The file as an answer. What lies behind the cap is cut off, which the reading says.
fn captured(path: &Path, exit: Option<i32>) -> Result<Captured, Failure> {
    let unreadable = |error: io::Error| Failure::new(FailureKind::FileUnreadable).because(error).at(path.display());
    let mut bytes = Vec::new();
    if path == Path::new("-") {
        io::stdin().lock().take(CAP + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    } else {
        File::open(path).and_then(|file| file.take(CAP + 1).read_to_end(&mut bytes)).map_err(unreadable)?;
    }
    let too_much = u64::try_from(bytes.len()).is_ok_and(|len| len > CAP);
    bytes.truncate(usize::try_from(CAP).unwrap_or(usize::MAX));
    let ended = match exit {
        _ if too_much => CommandEnd::TooMuch(CAP),
        Some(code) => CommandEnd::Exit(code),
        None => CommandEnd::Unknown,
    };
    Ok(Captured {
        command: path.display().to_string(),
        stdout: text_of(&bytes),
        stderr: String::new(),
        ended,
        took_secs: 0.0,
        pollution: String::new(),
        masked: Vec::new(),
    })
}

/// Bytes as text: UTF-16 as Windows consoles redirect it, else UTF-8 with bytes that are none as `\xNN`.
fn text_of(bytes: &[u8]) -> String {
    if let Some(rest) = bytes.strip_prefix(&[0xff, 0xfe]) {
        let units: Vec<u16> = rest.as_chunks::<2>().0.iter().map(|pair| u16::from_le_bytes(*pair)).collect();
        return String::from_utf16_lossy(&units);
    }
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}")));
    }
    text
}

pub(super) fn shape<'a>(probe: &'a str, reading: &'a Reading) -> Shape<'a> {
    Shape {
        probe,
        facts: reading.facts.iter().map(fact_shape).collect(),
        findings: reading.findings.iter().map(finding_shape).collect(),
        absent: reading.absent.as_ref().map(ToString::to_string),
    }
}

fn fact_shape(fact: &Fact) -> FactShape<'_> {
    let (key, device) = (fact.key.0.as_ref(), fact.device.0.as_str());
    match &fact.value {
        Ok(value) => {
            let value = match value {
                Value::Text(text) => ValueShape::Text(text),
                Value::Int(n) => ValueShape::Int(*n),
                Value::Float(x) => ValueShape::Float(*x),
            };
            FactShape::Known { key, device, value, unit: &fact.unit }
        }
        Err(absent) => FactShape::Absent { key, device, absent: absent.to_string() },
    }
}

fn finding_shape(finding: &Finding) -> FindingShape<'_> {
    FindingShape { severity: finding.severity.word(), text: &finding.text }
}

/// A table of facts, then each finding with the advice behind it, then why there is nothing.
pub(super) fn print(reading: &Reading, text: &Text) {
    let rows: Vec<Vec<String>> = reading
        .facts
        .iter()
        .map(|fact| {
            let value = match &fact.value {
                Ok(value) => value.shown(&fact.unit),
                Err(absent) => text.absent(absent),
            };
            vec![fact.device.0.clone(), text.fact(&fact.key).to_owned(), value]
        })
        .collect();
    if !rows.is_empty() {
        out::line(&out::columns(&rows));
    }
    for finding in &reading.findings {
        out::line(&format!("{}  {}", text.severity(finding.severity), finding.text));
        if let Some(advice) = text.advice(finding) {
            out::line(&format!("  {advice}"));
        }
    }
    if let Some(absent) = &reading.absent {
        out::line(&text.absent(absent));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_keeps_numbers_and_reasons() {
        let out = Captured {
            command: "-".to_owned(),
            stdout: "MemTotal: 2048 kB\nSwapTotal: 0 kB\n".to_owned(),
            stderr: String::new(),
            ended: CommandEnd::Unknown,
            took_secs: 0.0,
            pollution: String::new(),
            masked: Vec::new(),
        };
        let probe = probe::find("memory").unwrap();
        let got = serde_json::to_value(shape(probe.id, &probe.read(&out))).unwrap();
        let want = serde_json::json!({
            "probe": "memory",
            "facts": [
                {"key": "memory_total", "device": "host", "value": 2.0, "unit": "MiB"},
                {"key": "memory_free", "device": "host", "absent": "not reported: not in the output"},
                {"key": "memory_available", "device": "host", "absent": "not reported: not in the output"},
                {"key": "swap_total", "device": "host", "value": 0.0, "unit": "MiB"},
            ],
            "findings": [],
        });
        assert_eq!(got, want);
    }

    #[test]
    fn bytes_become_text_in_every_encoding() {
        for (bytes, want) in [
            (&b"GPU 0: \xff\n"[..], "GPU 0: \\xff\n"),
            (&[0xff, 0xfe, b'G', 0, b'P', 0][..], "GP"),
            ("\u{fe}é".as_bytes(), "\u{fe}é"),
        ] {
            assert_eq!(text_of(bytes), want);
        }
    }
}
