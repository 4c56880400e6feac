//! The same as `gpu_detail` from the indented text (`nvidia-smi -q`), for outputs that people paste.

use super::gpu_fields::{self, Form};
use super::{Parsed, Probe, words};
use crate::domain::evidence::Captured;
use crate::domain::facts::{Absent, AbsentKind};
use crate::wire::smi_log::{self, Refused};

/// The probe. A host is asked for the XML form instead.
pub const PROBE: Probe = Probe { id: "gpu_detail_text", parser: 1, command: "nvidia-smi -q", deadline_secs: 60, parse };

/// The fields of `gpu_fields`, as far as the text has them; with `-d SECTION` only those of the section.
fn parse(out: &Captured) -> Result<Parsed, Absent> {
    match smi_log::from_text(&out.stdout) {
        Ok(root) => {
            let mut parsed = gpu_fields::log(&root, Form::Text);
            // A lost card ends the log with a sentence in place of its section.
            for line in words::lines(out).filter(|line| !line.contains(" : ")) {
                if let Some(alarm) = words::driver_sentence(line) {
                    parsed.finding(alarm);
                }
            }
            Ok(parsed)
        }
        Err(Refused::TooLarge) => Err(Absent::new(AbsentKind::Unreadable, "the text is larger than any real one")),
        Err(_) => Err(words::why_nothing(out, PROBE.tool())),
    }
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
