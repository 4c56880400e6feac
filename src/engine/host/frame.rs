//! The frame around a command's output: two marks with a fresh random token, and how a stream is parted at them.
//!
//! Start-up files and forced commands write around a command's own output. What lies outside the marks is kept apart. The
//! marks frame an answer; they prove nothing, since a host can write what it likes.

/// How a command gets to the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// As a command of its own.
    Exec,
    /// Typed into a shell on a terminal.
    Terminal,
}

/// The marks around a command's output.
pub(super) struct Frame {
    pub(super) begin: String,
    pub(super) end: String,
    halves: (String, String),
}

impl Frame {
    pub(super) fn fresh() -> Option<Self> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).ok()?;
        Some(Self::of(u128::from_be_bytes(bytes)))
    }

    fn of(token: u128) -> Self {
        let text = format!("{token:032x}");
        let (first, second) = text.split_at(16);
        Self {
            begin: format!("lb-{text}-begin"),
            end: format!("lb-{text}-end"),
            halves: (first.to_owned(), second.to_owned()),
        }
    }

    /// The command between its marks. They are printed in pieces, so that an echo of the script never holds them.
    pub(super) fn script(&self, command: &str, way: Way) -> String {
        let (first, second) = &self.halves;
        let begin = format!("printf 'lb-%s%s-begin %s\\n' {first} {second} $$");
        // The end mark begins a line of its own, whatever the command wrote last.
        let end = format!("printf '\\nlb-%s%s-end %s\\n' {first} {second} $r");
        match way {
            Way::Exec => format!(
                "LC_ALL=C; export LC_ALL; {begin}; {begin} >&2; ( {command} ) </dev/null; r=$?; {end}; {end} >&2; exit $r"
            ),
            // The terminal has one stream, and writes line ends its own way unless it is told not to.
            Way::Terminal => format!(
                "stty -opost 2>/dev/null; LC_ALL=C; export LC_ALL; {begin}; ( {command} ) </dev/null 2>&1; r=$?; {end}"
            ),
        }
    }

    /// Parts a stream at its marks.
    pub(super) fn part(&self, bytes: &[u8]) -> Parted {
        let mut parted = Parted::default();
        let Some((before, number, rest)) = split_mark(bytes, &self.begin) else {
            parted.outside = bytes.to_vec();
            return parted;
        };
        parted.began = true;
        parted.pid = number.and_then(|number| u32::try_from(number).ok());
        parted.outside = before.to_vec();
        match split_mark(rest, &self.end) {
            Some((inside, number, after)) => {
                // The line end before the mark is ours.
                parted.inside = inside.strip_suffix(b"\n").unwrap_or(inside).to_vec();
                parted.status = number.and_then(|number| i32::try_from(number).ok());
                parted.outside.extend_from_slice(after);
            }
            None => parted.inside = rest.to_vec(),
        }
        parted
    }
}

/// A stream in its parts.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Parted {
    pub(super) inside: Vec<u8>,
    pub(super) outside: Vec<u8>,
    pub(super) began: bool,
    /// Number of the shell that ran the command.
    pub(super) pid: Option<u32>,
    pub(super) status: Option<i32>,
}

/// What stands before the mark's line, the number in it, and what stands after it.
fn split_mark<'a>(bytes: &'a [u8], mark: &str) -> Option<(&'a [u8], Option<u64>, &'a [u8])> {
    let at = bytes.windows(mark.len()).position(|window| window == mark.as_bytes())?;
    let (before, from_mark) = bytes.split_at(at);
    let line_end = from_mark.iter().position(|byte| *byte == b'\n').unwrap_or(from_mark.len());
    let (line, after) = from_mark.split_at(line_end);
    let number = std::str::from_utf8(line.get(mark.len()..)?).ok().and_then(|text| text.trim().parse().ok());
    Some((before, number, after.get(1..).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parted(inside: &str, outside: &str, began: bool, pid: Option<u32>, status: Option<i32>) -> Parted {
        Parted { inside: inside.into(), outside: outside.into(), began, pid, status }
    }

    #[test]
    fn a_stream_is_parted_at_its_marks() {
        let frame = Frame::of(0xabc);
        let token = format!("{:032x}", 0xabc);
        let (begin, end) = (format!("lb-{token}-begin"), format!("lb-{token}-end"));
        for (name, text, want) in [
            ("whole", format!("{begin} 77\nout\n\n{end} 3\n"), parted("out\n", "", true, Some(77), Some(3))),
            ("no line end", format!("{begin} 77\nout\n{end} 0\n"), parted("out", "", true, Some(77), Some(0))),
            ("no output", format!("{begin} 77\n\n{end} 0\n"), parted("", "", true, Some(77), Some(0))),
            (
                "noise around",
                format!("Welcome\r\n{begin} 77\nout\n\n{end} 0\nbye\n"),
                parted("out\n", "Welcome\r\nbye\n", true, Some(77), Some(0)),
            ),
            ("cut", format!("{begin} 77\nou"), parted("ou", "", true, Some(77), None)),
            ("cut in the mark", format!("{begin} 77"), parted("", "", true, Some(77), None)),
            ("never ours", "error: this gateway needs a terminal\n".to_owned(), {
                parted("", "error: this gateway needs a terminal\n", false, None, None)
            }),
            ("a forged end", format!("{begin} x\nlb-end 0\n"), parted("lb-end 0\n", "", true, None, None)),
        ] {
            assert_eq!(frame.part(text.as_bytes()), want, "{name}");
        }
    }

    #[test]
    fn an_echo_of_the_script_holds_no_mark() {
        let frame = Frame::fresh().unwrap();
        let script = frame.script("nvidia-smi -L", Way::Terminal);
        assert!(!script.contains(&frame.begin) && !script.contains(&frame.end), "{script}");
        assert!(!script.contains(frame.begin.trim_start_matches("lb-").trim_end_matches("-begin")), "{script}");
    }

    #[cfg(unix)]
    #[test]
    fn a_shell_prints_the_marks() {
        let frame = Frame::fresh().unwrap();
        let script = frame.script("printf out; printf err >&2; exit 7", Way::Exec);
        let out = std::process::Command::new("/bin/sh").arg("-c").arg(&script).output().unwrap();
        let (stdout, stderr) = (frame.part(&out.stdout), frame.part(&out.stderr));
        assert_eq!((stdout.inside.as_slice(), stdout.status), (&b"out"[..], Some(7)));
        assert_eq!((stderr.inside.as_slice(), stderr.status), (&b"err"[..], Some(7)));
        assert!(stdout.pid.is_some());
        assert_eq!(out.status.code(), Some(7));
    }
}
