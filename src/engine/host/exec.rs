//! One command on a host: both streams read in turn under three limits — bytes, time, cancel.
//!
//! Start-up files and forced commands write around a command's own output, so it stands between two marks that hold a
//! fresh random token. What lies outside is kept apart. The marks frame an answer; they prove nothing, since a host can
//! write what it likes.

use std::io::{Read as _, Write as _};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use crate::domain::evidence::CommandEnd;
use crate::engine::capture::{Raw, one_line};
use crate::engine::local::Limits;
use crate::recipe::quote::quote;

use super::session::{EAGAIN, Session, code};
use super::socket::TICK;

/// The longest opening or closing a channel may take.
const CHANNEL_LIMIT: Duration = Duration::from_secs(10);
/// How long a stopped command's channel gets for closing, and the host for ending what ran in it.
const STOP_LIMIT: Duration = Duration::from_secs(1);

/// libssh2: the server refused to open the channel, or the request on it.
const CHANNEL_FAILURE: i32 = -21;
const REQUEST_DENIED: i32 = -22;
/// libssh2: the connection is gone.
const SOCKET_DISCONNECT: i32 = -13;

/// Runs a constant command to its end or to a limit.
///
/// A host that runs no commands but gives a terminal (the proxies of some providers) is asked by its terminal; both
/// streams then come as one. A connection that breaks is an answer too ([`CommandEnd::ConnectionLost`]); the session is
/// then of no use any more.
pub(in crate::engine) fn run(session: &Session, command: &str, limits: Limits, cancel: &CancellationToken) -> Raw {
    if !session.needs_terminal.get() {
        let raw = run_once(session, command, Way::Exec, limits, cancel);
        if !matches!(raw.ended, CommandEnd::Refused(_)) {
            return raw;
        }
        let by_terminal = run_once(session, command, Way::Terminal, limits, cancel);
        if matches!(by_terminal.ended, CommandEnd::Refused(_) | CommandEnd::ConnectionLost) {
            return raw;
        }
        session.needs_terminal.set(true);
        return by_terminal;
    }
    run_once(session, command, Way::Terminal, limits, cancel)
}

/// How a command gets to the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// As a command of its own.
    Exec,
    /// Typed into a shell on a terminal.
    Terminal,
}

fn run_once(session: &Session, command: &str, way: Way, limits: Limits, cancel: &CancellationToken) -> Raw {
    let started = Instant::now();
    let Some(frame) = Frame::fresh() else { return Raw::refused("the operating system gave no random numbers") };
    let Some(script) = quote(&frame.script(command, way)) else { return Raw::refused("the command holds a NUL") };
    let mut raw = match Running::start(session, &format!("/bin/sh -c {script}"), way, limits, cancel) {
        Ok(mut running) => {
            let end = running.read(limits, started, |_, _| true, cancel);
            running.finish(end, &frame)
        }
        Err(ended) => Raw { ended, ..Raw::refused("") },
    };
    raw.took = started.elapsed();
    raw
}

/// Runs a constant command that goes on until cancelled, and hands each line of its output to `line` until that says
/// `false`. What the command wrote to its standard error stands in the answer, up to the cap.
pub(super) fn follow(
    session: &Session,
    command: &str,
    cancel: &CancellationToken,
    mut line: impl FnMut(&str) -> bool,
) -> Raw {
    let started = Instant::now();
    let Some(frame) = Frame::fresh() else { return Raw::refused("the operating system gave no random numbers") };
    let Some(script) = quote(&frame.script(command, Way::Exec)) else { return Raw::refused("the command holds a NUL") };
    let limits = Limits { deadline: Duration::MAX, cap: FOLLOW_CAP };
    let opening = Limits { deadline: CHANNEL_LIMIT, cap: FOLLOW_CAP };
    let mut running = match Running::start(session, &format!("/bin/sh -c {script}"), Way::Exec, opening, cancel) {
        Ok(running) => running,
        Err(ended) => return Raw { ended, ..Raw::refused("") },
    };
    let mut began = false;
    let end = running.read(
        limits,
        started,
        |stdout, kept| {
            // Take whole lines; the rest waits for its line end. The first of ours is the mark.
            while let Some(length) = stdout.iter().position(|byte| *byte == b'\n') {
                let taken: Vec<u8> = stdout.drain(..=length).collect();
                let text = String::from_utf8_lossy(&taken);
                if !began {
                    began = text.contains(&frame.begin);
                    kept.extend_from_slice(&taken);
                } else if text.contains(&frame.end) {
                    kept.extend_from_slice(&taken);
                } else if !line(text.trim_end()) {
                    return false;
                }
            }
            true
        },
        cancel,
    );
    running.finish(end, &frame)
}

/// The most that is kept of a followed command's other output, bytes.
const FOLLOW_CAP: usize = 64 << 10;

/// The marks around a command's output.
struct Frame {
    begin: String,
    end: String,
    halves: (String, String),
}

impl Frame {
    fn fresh() -> Option<Self> {
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
    fn script(&self, command: &str, way: Way) -> String {
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
    fn part(&self, bytes: &[u8]) -> Parted {
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
struct Parted {
    inside: Vec<u8>,
    outside: Vec<u8>,
    began: bool,
    pid: Option<u32>,
    status: Option<i32>,
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

/// A line on its way into a terminal.
struct Typed {
    line: Vec<u8>,
    from: usize,
}

impl Typed {
    /// Writes on from where it stopped.
    fn write(&mut self, channel: &mut ssh2::Channel) -> Result<(), ssh2::Error> {
        while let Some(rest) = self.line.get(self.from..).filter(|rest| !rest.is_empty()) {
            match channel.write(rest) {
                Ok(n) => self.from += n,
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                    return Err(ssh2::Error::from_errno(ssh2::ErrorCode::Session(EAGAIN)));
                }
                Err(_) => return Err(ssh2::Error::from_errno(ssh2::ErrorCode::Session(SOCKET_DISCONNECT))),
            }
        }
        Ok(())
    }
}

/// Why reading stopped.
enum End {
    /// Both streams are at their end.
    Streams,
    /// A limit, cancel, or the reader of lines.
    Cut(CommandEnd),
    /// The connection broke.
    Lost,
}

/// A command that runs.
struct Running<'a> {
    session: &'a Session,
    channel: ssh2::Channel,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    /// Lines of a followed command that are kept: its marks and what came before.
    kept: Vec<u8>,
}

impl<'a> Running<'a> {
    /// Opens a channel and asks for the command on it.
    fn start(
        session: &'a Session,
        command: &str,
        way: Way,
        limits: Limits,
        cancel: &CancellationToken,
    ) -> Result<Self, CommandEnd> {
        let until = Instant::now() + limits.deadline.min(CHANNEL_LIMIT);
        let ended = |unmet: Unmet| match unmet {
            Unmet::Cancelled => CommandEnd::Cancelled,
            Unmet::Late => limits.deadline_end(),
            Unmet::Refused(why) => CommandEnd::Refused(why),
            Unmet::Lost => CommandEnd::ConnectionLost,
        };
        let mut channel = patiently(session, until, Some(cancel), || session.ssh.channel_session()).map_err(ended)?;
        match way {
            Way::Exec => patiently(session, until, Some(cancel), || channel.exec(command)).map_err(ended)?,
            Way::Terminal => {
                patiently(session, until, Some(cancel), || channel.request_pty("dumb", None, None)).map_err(ended)?;
                patiently(session, until, Some(cancel), || channel.shell()).map_err(ended)?;
                // One line, so that the shell reads no further before it ends.
                let mut typed = Typed { line: format!("{command}; exit\n").into_bytes(), from: 0 };
                patiently(session, until, Some(cancel), || typed.write(&mut channel)).map_err(ended)?;
            }
        }
        Ok(Self { session, channel, stdout: Vec::new(), stderr: Vec::new(), kept: Vec::new() })
    }

    /// Reads both streams in turn until their end or a limit. `take` may take bytes from the front of standard output.
    fn read(
        &mut self,
        limits: Limits,
        started: Instant,
        mut take: impl FnMut(&mut Vec<u8>, &mut Vec<u8>) -> bool,
        cancel: &CancellationToken,
    ) -> End {
        let mut buffer = vec![0; 64 << 10];
        loop {
            if cancel.is_cancelled() {
                return End::Cut(CommandEnd::Cancelled);
            }
            if started.elapsed() >= limits.deadline {
                return End::Cut(limits.deadline_end());
            }
            let mut moved = false;
            for (stream, into) in [(0, &mut self.stdout), (1, &mut self.stderr)] {
                match self.channel.stream(stream).read(&mut buffer) {
                    Ok(n) => {
                        moved |= n > 0;
                        into.extend_from_slice(buffer.get(..n).unwrap_or_default());
                    }
                    Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                    Err(_) => return End::Lost,
                }
            }
            if !take(&mut self.stdout, &mut self.kept) {
                return End::Cut(CommandEnd::Cancelled);
            }
            for stream in [&mut self.stdout, &mut self.stderr, &mut self.kept] {
                if stream.len() > limits.cap {
                    stream.truncate(limits.cap);
                    return End::Cut(limits.cap_end());
                }
            }
            if !moved {
                if self.channel.eof() {
                    return End::Streams;
                }
                self.session.socket.wait(false, TICK);
            }
        }
    }

    /// Closes the channel and puts the answer together. An exit status counts only once the close is confirmed: after a
    /// cut connection libssh2 reports 0.
    fn finish(mut self, end: End, frame: &Frame) -> Raw {
        let mut stdout = frame.part(&self.stdout);
        if !self.kept.is_empty() {
            stdout = frame.part(&self.kept);
        }
        let stderr = frame.part(&self.stderr);
        let ended = match end {
            End::Lost => CommandEnd::ConnectionLost,
            End::Cut(ended) => {
                self.stop(stdout.pid);
                ended
            }
            End::Streams if !self.close_after_end() => CommandEnd::ConnectionLost,
            End::Streams => self.status(&stdout),
        };
        let mut pollution = stdout.outside;
        pollution.extend_from_slice(&stderr.outside);
        Raw { stdout: stdout.inside, stderr: stderr.inside, pollution, ended, took: Duration::ZERO }
    }

    /// How a command ended whose channel is closed. The signal first: with one, the status reads 0.
    fn status(&self, stdout: &Parted) -> CommandEnd {
        let signal = self.channel.exit_signal().ok().and_then(|signal| signal.exit_signal);
        match (signal, stdout.status, self.channel.exit_status()) {
            (Some(signal), ..) => CommandEnd::Signal(one_line(&signal)),
            (None, Some(status), _) => CommandEnd::Exit(status),
            (None, None, Ok(status)) if stdout.began => CommandEnd::Exit(status),
            // Nothing of ours was printed: the login ran something else instead.
            _ => CommandEnd::Refused("the host did not run the command".to_owned()),
        }
    }

    /// Closes the channel of a command that is over, and waits until the host has confirmed it.
    fn close_after_end(&mut self) -> bool {
        let until = Instant::now() + CHANNEL_LIMIT;
        let channel = &mut self.channel;
        patiently(self.session, until, None, || channel.close()).is_ok()
            && patiently(self.session, until, None, || channel.wait_close()).is_ok()
    }

    /// Ends a command that was cut: ends its process group, then closes its channel. Without the first, a silent command
    /// goes on, and the server confirms no close before it is over.
    ///
    /// A process that cannot be ended (a driver that hangs) keeps its channel; the session goes on without it. Where
    /// nothing answers any more, the connection is given up.
    fn stop(&mut self, pid: Option<u32>) {
        let is_heard = match pid.filter(|pid| *pid > 1).map(|pid| self.kill(pid)) {
            Some(Err(Unmet::Late | Unmet::Lost | Unmet::Cancelled)) => return self.session.socket.close(),
            Some(Ok(())) => true,
            Some(Err(Unmet::Refused(_))) | None => false,
        };
        let until = Instant::now() + STOP_LIMIT;
        let channel = &mut self.channel;
        if patiently(self.session, until, None, || channel.close()).is_err() && !is_heard {
            self.session.socket.close();
        }
    }

    /// Asks the host to end this process group. The number is the shell's own; a host can name another, to its own harm
    /// only.
    fn kill(&self, pid: u32) -> Result<(), Unmet> {
        let until = Instant::now() + STOP_LIMIT;
        let session = self.session;
        let command = format!("kill -TERM -- -{pid} 2>/dev/null || kill -TERM {pid}");
        let mut channel = patiently(session, until, None, || session.ssh.channel_session())?;
        patiently(session, until, None, || channel.exec(&command))?;
        // Its answer is not needed, only its end, so that a host with few sessions is ready for the next.
        patiently(session, until, None, || channel.wait_eof()).ok();
        patiently(session, until, None, || channel.close()).ok();
        Ok(())
    }
}

/// Why a request of ours came to nothing.
enum Unmet {
    Cancelled,
    Late,
    Refused(String),
    Lost,
}

/// Repeats a request of a session that does not block until it is answered.
fn patiently<T>(
    session: &Session,
    until: Instant,
    cancel: Option<&CancellationToken>,
    mut request: impl FnMut() -> Result<T, ssh2::Error>,
) -> Result<T, Unmet> {
    loop {
        match request() {
            Ok(answer) => return Ok(answer),
            Err(error) => match code(&error) {
                EAGAIN => {}
                CHANNEL_FAILURE => return Err(Unmet::Refused("the server opened no further session".to_owned())),
                REQUEST_DENIED => return Err(Unmet::Refused("the server refused to run a command".to_owned())),
                _ => return Err(Unmet::Lost),
            },
        }
        if cancel.is_some_and(CancellationToken::is_cancelled) {
            return Err(Unmet::Cancelled);
        }
        if Instant::now() >= until {
            return Err(Unmet::Late);
        }
        session.socket.wait(false, TICK);
    }
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
