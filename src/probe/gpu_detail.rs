//! Everything the driver tells about each GPU (`nvidia-smi -q -x`): memory, links, power, errors, MIG, processes.

use super::gpu_fields::{self, Form};
use super::{Parsed, Probe, gpu_detail_text, words};
use crate::domain::evidence::Captured;
use crate::domain::facts::{Absent, AbsentKind};
use crate::wire::smi_log::{self, Refused};

/// The probe.
pub const PROBE: Probe = Probe {
    id: "gpu_detail",
    parser: 1,
    command: "nvidia-smi -q -x",
    deadline_secs: 60, // Eight GPUs take seconds; a card in trouble takes longest.
    parse,
};

/// The fields of `gpu_fields` for every `<gpu>` and `<mig_device>`, and the versions of the host.
///
/// A field that the document lacks is an absence, never a zero. A document that breaks off is refused whole; its raw
/// text is kept all the same.
fn parse(out: &Captured) -> Result<Parsed, Absent> {
    match smi_log::from_xml(&out.stdout) {
        Ok(document) => {
            let mut parsed = gpu_fields::log(&document.root, Form::Xml);
            let beside = document.around.iter().flat_map(|text| text.lines().take(500));
            for line in beside.chain(out.stderr.lines().take(500)) {
                if let Some(alarm) = words::driver_sentence(line) {
                    parsed.finding(alarm);
                }
            }
            Ok(parsed)
        }
        // People paste the indented form into the same field.
        Err(Refused::NotThere) if out.stdout.contains("NVSMI LOG") => (gpu_detail_text::PROBE.parse)(out),
        Err(refused) => Err(why(out, &refused)),
    }
}

/// A sentence of the driver explains a broken document better than the break does.
fn why(out: &Captured, refused: &Refused) -> Absent {
    let spoken = words::lines(out)
        .filter(|line| !line.trim_start().starts_with('<'))
        .any(|line| words::driver_sentence(line).is_some());
    match refused {
        _ if spoken => words::why_nothing(out, PROBE.tool()),
        Refused::NotThere if out.stdout.contains("<!DOCTYPE nvidia_smi_log") => {
            Absent::new(AbsentKind::CutShort, "the document ends in its first lines")
        }
        Refused::NotThere => words::why_nothing(out, PROBE.tool()),
        Refused::CutShort { whole_gpus } => {
            Absent::new(AbsentKind::CutShort, format!("the document breaks off after {whole_gpus} whole GPUs"))
        }
        Refused::Malformed(error) => Absent::new(AbsentKind::Unreadable, words::tidy(error, 200)),
        Refused::TooLarge => Absent::new(AbsentKind::Unreadable, "the document is larger than any real one"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::captures::{capture, check_all, check_out, from_text};
    use super::*;

    #[test]
    fn reads_captures() {
        check_all(&PROBE);
    }

    /// A card whose elements hold sentences in place of values, in a container that sees one of four.
    #[test]
    fn an_alarm_is_no_zero() {
        let text = "Welcome to the machine\n<?xml version=\"1.0\" ?>\n<nvidia_smi_log><attached_gpus>4</attached_gpus>\
            <gpu id=\"00000000:BA:00.0\"><fb_memory_usage><total>81559 MiB</total><used>0 MiB</used></fb_memory_usage>\
            <temperature><gpu_temp>GPU requires reset</gpu_temp></temperature>\
            <gpu_power_readings><power_draw>N/A</power_draw><instant_power_draw>[Unknown Error]</instant_power_draw>\
            <average_power_draw>N/A</average_power_draw></gpu_power_readings>\
            <ecc_errors><volatile><sram_uncorrectable>0</sram_uncorrectable><dram_uncorrectable>5000000000\
            </dram_uncorrectable></volatile></ecc_errors></gpu></nvidia_smi_log>\n\
            WARNING: infoROM is corrupted at gpu 0000:BA:00.0\n";
        check_out(
            &PROBE,
            "one of four, dead",
            &from_text(text, "", 14),
            "host driver_version (not reported: not in the output)
            host cuda_version (not reported: not in the output)
            host gpus_attached 4
            host gpus_listed 1
            gpu:0 bus_id 00000000:BA:00.0
            gpu:0 memory_total 81559 MiB
            gpu:0 memory_used (alarm: the card asks for a reset and reads 0 MiB)
            gpu:0 power_draw (alarm: [Unknown Error])
            gpu:0 temperature (alarm: GPU requires reset)
            gpu:0 ecc_uncorrected_volatile 5000000000
            reset: GPU 0: uncorrected ECC errors since the driver loaded: 5000000000
            reset: GPU 0: \"GPU requires reset\" in place of temperature
            watch: GPU 0: \"[Unknown Error]\" in place of power_draw
            watch: The driver counts 4 GPUs and the answer lists 1
            watch: WARNING: infoROM is corrupted at gpu 0000:BA:00.0",
        );
    }

    #[test]
    fn a_document_that_breaks_off_is_refused() {
        let whole = capture(PROBE.id, "h100x8_570_86", 0).stdout;
        let third = whole.match_indices("<gpu id").nth(2).unwrap().0;
        for (name, text, want) in [
            (
                "in the third GPU",
                &whole[..third + 500],
                "the output was cut short: the document breaks off after 2 whole GPUs",
            ),
            ("in the prolog", &whole[..60], "the output was cut short: the document ends in its first lines"),
            (
                "before the last tag",
                whole.trim_end().trim_end_matches("</nvidia_smi_log>"),
                "the output was cut short: the document breaks off after 8 whole GPUs",
            ),
        ] {
            check_out(&PROBE, name, &from_text(text, "", 0), want);
        }
    }

    #[test]
    fn a_sentence_explains_a_missing_document() {
        check_out(
            &PROBE,
            "one lost card stops the whole answer",
            &from_text(
                "",
                "Unable to determine the device handle for GPU 0000:BA:00.0: GPU is lost.  Reboot the system\n",
                15,
            ),
            "alarm: GPU 0000:BA:00.0 is lost
            isolate: GPU 0000:BA:00.0 is lost",
        );
        check_out(
            &PROBE,
            "tool missing",
            &from_text("", "sh: 1: nvidia-smi: not found", 127),
            "nvidia-smi is not installed",
        );
    }
}
