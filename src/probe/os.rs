//! Operating system, kernel and host name (`uname`, `/etc/os-release`).

use super::{Parsed, Probe, words};
use crate::domain::evidence::Captured;
use crate::domain::facts::{Absent, AbsentKind, Device, keys};

/// The probe. `os-release` stands last, since the file may lack its final line end.
pub const PROBE: Probe =
    Probe { id: "os", parser: 1, command: "uname -snrm; cat /etc/os-release", deadline_secs: 15, parse };

/// `os`, `os_id`, `os_version`, `kernel`, `architecture`, `host_name`, all of the host. Either half may be missing.
fn parse(out: &Captured) -> Result<Parsed, Absent> {
    let mut parsed = Parsed::default();
    let host = Device::host();
    let lines: Vec<String> = out.text_lines().take(500).map(words::plain).collect();
    let uname = lines.iter().find_map(|line| uname(line));
    let field = |name: &str| lines.iter().find_map(|line| os_release(line, name));
    let name = field("PRETTY_NAME").or_else(|| {
        let name = field("NAME")?;
        Some(field("VERSION").map_or_else(|| name.clone(), |version| format!("{name} {version}")))
    });
    if uname.is_none() && name.is_none() {
        return Err(words::why_nothing(out, "cat"));
    }
    for (key, value) in [(keys::OS, name), (keys::OS_ID, field("ID")), (keys::OS_VERSION, field("VERSION_ID"))] {
        match value {
            Some(value) => parsed.text(&host, key, &value),
            None => parsed.absent(&host, key, AbsentKind::NotReported, "not in the output"),
        }
    }
    if let Some(uname) = uname {
        parsed.text(&host, keys::KERNEL, uname.release);
        parsed.text(&host, keys::ARCHITECTURE, uname.machine);
        if let Some(node) = uname.node {
            parsed.text(&host, keys::HOST_NAME, node);
        }
    }
    Ok(parsed)
}

struct Uname<'a> {
    node: Option<&'a str>,
    release: &'a str,
    machine: &'a str,
}

/// A line of `uname`: three words (`-srm`), four (`-snrm`), or more (`-a`, where the machine is found by its name).
fn uname(line: &str) -> Option<Uname<'_>> {
    let words: Vec<&str> = line.split_whitespace().collect();
    if !matches!(words.first().copied(), Some("Linux" | "Darwin" | "FreeBSD")) {
        return None;
    }
    match words.as_slice() {
        [_, release, machine] => Some(Uname { node: None, release, machine }),
        [_, node, release, machine] => Some(Uname { node: Some(node), release, machine }),
        [_, node, release, rest @ ..] => {
            let known = ["x86_64", "aarch64", "ppc64le", "riscv64", "s390x", "i686", "armv7l", "arm64"];
            let machine = rest.iter().find(|word| known.contains(word))?;
            Some(Uname { node: Some(node), release, machine })
        }
        _ => None,
    }
}

/// The value of a line `NAME=value`, with or without quotes (os-release(5)).
fn os_release(line: &str, name: &str) -> Option<String> {
    let value = line.trim().strip_prefix(name)?.strip_prefix('=')?.trim();
    let quoted = ['"', '\''].iter().find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote));
    Some(quoted.map_or_else(|| value.to_owned(), |text| text.replace('\\', "")))
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
    fn either_half_is_enough() {
        check_out(
            &PROBE,
            "both",
            &from_text(
                "Linux gpu-a 5.15.0-91-generic x86_64\nPRETTY_NAME=\"Ubuntu 22.04.5 LTS\"\nID=ubuntu\nVERSION_ID=\"22.04\"",
                "",
                0,
            ),
            "host os Ubuntu 22.04.5 LTS
            host os_id ubuntu
            host os_version 22.04
            host kernel 5.15.0-91-generic
            host architecture x86_64
            host host_name gpu-a",
        );
        check_out(
            &PROBE,
            "no os-release, uname -a",
            &from_text(
                "Linux gpu-a 6.8.0-1021-nvidia #23 SMP PREEMPT_DYNAMIC Mon Jan  6 09:00:00 UTC 2025 aarch64 aarch64 GNU/Linux\n",
                "cat: /etc/os-release: No such file or directory",
                1,
            ),
            "host os (not reported: not in the output)
            host os_id (not reported: not in the output)
            host os_version (not reported: not in the output)
            host kernel 6.8.0-1021-nvidia
            host architecture aarch64
            host host_name gpu-a",
        );
        check_out(
            &PROBE,
            "nothing",
            &from_text("", "", 1),
            "the output is not what the parser knows: no output, code 1",
        );
    }
}
