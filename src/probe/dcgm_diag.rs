//! The quick diagnostic of DCGM (`dcgmi diag -r 1`): software checks only, safe beside running work.
//!
//! Both forms are read: the table of 2.x to 4.x, and JSON (`-j`) for pasted outputs.

mod json;
mod table;

use super::{Parsed, Probe, words};
use crate::domain::evidence::Captured;
use crate::domain::facts::{Absent, Device, Severity, Value, keys};

/// The probe.
pub const PROBE: Probe = Probe {
    id: "dcgm_diag",
    parser: 1,
    command: "dcgmi diag -r 1",
    deadline_secs: 120, // Seconds on a healthy host.
    parse,
};

/// One `result` a test (`test:persistence_mode`), one for the whole run (`host`), and a finding a message.
///
/// The exit status is DCGM's code modulo 256; 226 (a test failed) and 205 (isolate) come with a whole answer, so the text
/// counts. A run in which everything was skipped is not judged: nothing failed, and nothing was looked at.
fn parse(out: &Captured) -> Result<Parsed, Absent> {
    let Some(run) = (match json::read(&out.stdout) {
        Some(run) => Some(run?),
        None => table::read(&out.stdout),
    }) else {
        return Err(words::why_nothing(out, PROBE.tool()));
    };
    Ok(run.parsed(out))
}

/// What a test came to, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum TestResult {
    Fail,
    Warn,
    Pass,
    Skip,
}

impl TestResult {
    /// From a cell or status: "Pass", "Pass - All", "Fail - GPU: 2", "Skip".
    fn read(cell: &str) -> Option<Self> {
        let word: String = cell.trim().chars().take_while(char::is_ascii_alphabetic).collect();
        Some(match word.to_lowercase().as_str() {
            "pass" | "passed" => Self::Pass,
            "fail" | "failed" => Self::Fail,
            "warn" | "warning" => Self::Warn,
            "skip" | "skipped" | "notrun" => Self::Skip,
            _ => return None,
        })
    }

    const fn word(self) -> &'static str {
        match self {
            Self::Fail => "fail",
            Self::Warn => "warn",
            Self::Pass => "pass",
            Self::Skip => "skip",
        }
    }
}

/// A run as either form tells it.
#[derive(Debug, Default)]
struct Run {
    dcgm_version: Option<String>,
    driver_version: Option<String>,
    /// Number of PCI device ids, which is the number of GPUs looked at.
    n_devices: Option<usize>,
    tests: Vec<Test>,
    /// Messages that belong to no test: they stopped the run.
    messages: Vec<Message>,
    /// The answer has an end.
    complete: bool,
}

#[derive(Debug)]
struct Test {
    name: String,
    /// The heading it stands under ("Deployment", "Hardware"), lower case.
    category: String,
    result: Option<TestResult>,
    messages: Vec<Message>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Message {
    text: String,
    /// `dcgmErrorSeverity_t`, which JSON of 3.x and later carries.
    severity: Option<i64>,
    /// The tool only tells something.
    info: bool,
}

impl Run {
    fn parsed(mut self, out: &Captured) -> Parsed {
        let mut parsed = Parsed::default();
        let host = Device::host();
        for (key, value) in [(keys::DCGM_VERSION, &self.dcgm_version), (keys::DRIVER_VERSION, &self.driver_version)] {
            if let Some(value) = value {
                parsed.text(&host, key, value);
            }
        }
        if let Some(n) = self.n_devices {
            parsed.count(&host, keys::GPUS_LISTED, n, "");
        }
        self.tests.retain(|test| test.result.is_some());
        for test in &self.tests {
            let device = Device::of("test", slug(&test.name));
            let word = test.result.map_or("", TestResult::word);
            parsed.text(&device, keys::RESULT, word);
            parsed.text(&device, keys::NAME, &test.name);
        }
        self.write_findings(&mut parsed);
        parsed.push(&host, keys::RESULT, Ok(Value::Text(self.verdict().to_owned())), "");
        if !self.complete {
            parsed.finding_of(Severity::NotJudged, "output_cut", "The table has no end; later tests may be missing");
        }
        for line in out.stderr.lines().take(500) {
            if let Some(alarm) = words::driver_sentence(line) {
                parsed.finding(alarm);
            }
        }
        parsed
    }

    fn write_findings(&self, parsed: &mut Parsed) {
        for message in &self.messages {
            let (severity, code) = judge(message, None);
            parsed.finding_of(severity, code, message.text.clone());
        }
        for test in &self.tests {
            let troubles: Vec<&Message> = test.messages.iter().filter(|message| !message.info).collect();
            for message in &troubles {
                let (severity, code) = judge(message, Some(test));
                parsed.finding_of(severity, code, format!("{}: {}", test.name, message.text));
            }
            let wordless = Message { text: String::new(), severity: None, info: false };
            match test.result {
                Some(TestResult::Fail) if troubles.is_empty() => {
                    let (severity, code) = judge(&wordless, Some(test));
                    parsed.finding_of(severity, code, format!("{} failed", test.name));
                }
                Some(TestResult::Warn) if troubles.is_empty() => {
                    parsed.finding_of(Severity::Watch, "dcgm_warning", format!("{} gave a warning", test.name));
                }
                _ => {}
            }
        }
        let skipped = self.tests.iter().filter(|test| test.result == Some(TestResult::Skip)).count();
        if skipped > 0 {
            let what = format!("{skipped} of {} tests were skipped, which is no pass", self.tests.len());
            parsed.finding_of(Severity::NotJudged, "dcgm_skipped", what);
        }
    }

    /// "pass" only where every test that could judge did. Skipping everything but the software checks judges nothing.
    fn verdict(&self) -> &'static str {
        let with = |result| self.tests.iter().filter(move |test| test.result == Some(result));
        let tool_only = |test: &Test| {
            test.messages.iter().any(|message| !message.info && judge(message, Some(test)).1 == "dcgm_tool_error")
        };
        if !self.messages.is_empty() || with(TestResult::Fail).any(|test| !tool_only(test)) {
            "fail"
        } else if with(TestResult::Fail).next().is_some() {
            "not_judged"
        } else if with(TestResult::Warn).next().is_some() {
            "warn"
        } else if !self.complete
            || with(TestResult::Pass).next().is_none()
            || (with(TestResult::Skip).any(Test::is_hardware) && !with(TestResult::Pass).any(Test::is_hardware))
        {
            "not_judged"
        } else {
            "pass"
        }
    }
}

impl Test {
    /// The test looks at the card and not at the software round it.
    fn is_hardware(&self) -> bool {
        self.category != "deployment"
    }
}

/// Severity and kind of a message: by DCGM's own number where there is one, else by its words.
///
/// Numbers: 0 none, 1 monitor, 2 isolate, 3 unknown, 4 triage, 5 configuration, 6 reset (`dcgm_errors.h`).
fn judge(message: &Message, test: Option<&Test>) -> (Severity, &'static str) {
    let text = message.text.to_lowercase();
    let name = test.map(|test| test.name.to_lowercase()).unwrap_or_default();
    if ["internal error", "child process", "plugin folder", "unable to load", "already running"]
        .iter()
        .any(|words| text.contains(words))
    {
        return (Severity::NotJudged, "dcgm_tool_error");
    }
    let persistence =
        text.contains("persistence mode") || text.contains("peristence mode") || name == "persistence mode";
    match message.severity {
        Some(5) if persistence => return (Severity::Configuration, "persistence_off"),
        Some(2) => return (Severity::Isolate, "dcgm_isolate"),
        Some(5) => return (Severity::Configuration, "dcgm_configuration"),
        Some(6) => return (Severity::Reset, "dcgm_reset"),
        Some(_) => return (Severity::Watch, "dcgm_warning"),
        None => {}
    }
    if persistence {
        (Severity::Configuration, "persistence_off")
    } else if text.contains("pending") || text.contains("reset") || text.contains("reboot") {
        (Severity::Reset, "dcgm_reset")
    } else if test.is_some_and(|test| test.result != Some(TestResult::Fail)) {
        (Severity::Watch, "dcgm_warning")
    } else if test.is_some_and(|test| !test.is_hardware()) {
        let memory = ["page retirement", "inforom", "remap"].iter().any(|words| name.contains(words));
        if memory { (Severity::Isolate, "dcgm_isolate") } else { (Severity::Configuration, "dcgm_configuration") }
    } else {
        (Severity::Isolate, "dcgm_isolate")
    }
}

/// A test's name as part of a device path: `page_retirement_row_remap`.
fn slug(name: &str) -> String {
    let words: Vec<&str> = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    words.join("_").to_lowercase()
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
    fn a_test_with_two_results_is_as_bad_as_the_worse() {
        check_out(
            &PROBE,
            "3.x, mixed",
            &from_text(
                "+---------------------------+------------------------------------------------+\n\
                 | Diagnostic                | Result                                         |\n\
                 +-----  Integration  -------+------------------------------------------------+\n\
                 | PCIe                      | Pass - GPUs: 0, 1                              |\n\
                 |                           | Fail - GPU: 2                                  |\n\
                 | Warning                   | GPU 2: PCIe replay rate is too high            |\n\
                 | Info                      | GPU 0: 25 GB/s                                 |\n\
                 +---------------------------+------------------------------------------------+\n",
                "",
                226,
            ),
            "test:pcie result fail
            test:pcie name PCIe
            host result fail
            isolate: PCIe: GPU 2: PCIe replay rate is too high",
        );
    }

    #[test]
    fn a_failure_of_the_tool_says_nothing_about_the_card() {
        check_out(
            &PROBE,
            "runtime error",
            &from_text("{\"DCGM Diagnostic\":{\"version\":\"4.2.3\",\"runtime_error\":\"No GPUs to run on\"}}", "", 1),
            "the command could not be run: No GPUs to run on",
        );
        check_out(
            &PROBE,
            "cut in the middle",
            &from_text("{\"DCGM Diagnostic\":{\"test_categories\":[{\"category\":\"Depl", "", 0),
            "the output was cut short: EOF while parsing a string at line 1 column 56",
        );
    }
}
