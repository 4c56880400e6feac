//! One command on a host: both streams read in turn under three limits — bytes, time, cancel.

use std::io::{Read as _, Write as _};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use crate::domain::evidence::CommandEnd;
use crate::engine::capture::{Raw, one_line};
use crate::engine::local::Limits;
use crate::recipe::quote::quote;

use super::frame::{Frame, Parted, Way};
use super::session::{EAGAIN, Session, code};
use super::socket::TICK;

/// The longest opening or closing a channel may take.
const CHANNEL_LIMIT: Duration = Duration::from_secs(10);
/// How long each step of ending a command that was cut may take.
const STOP_LIMIT: Duration = Duration::from_secs(5);

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

fn run_once(session: &Session, command: &str, way: Way, limits: Limits, cancel: &CancellationToken) -> Raw {
    let started = Instant::now();
    let Some(frame) = Frame::fresh() else { return Raw::refused("the operating system gave no random numbers") };
    let Some(script) = quote(&frame.script(command, way)) else { return Raw::refused("the command holds a NUL") };
    let mut raw = match Running::start(session, &format!("/bin/sh -c {script}"), way, limits, cancel) {
        Ok(mut running) => {
            let end = running.read(limits, started, |_, _| true, cancel);
            running.finish(end, frame)
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
    running.finish(end, frame)
}

/// The most that is kept of a followed command's other output, bytes.
const FOLLOW_CAP: usize = 64 << 10;

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
    fn finish(mut self, end: End, frame: Frame) -> Raw {
        let bytes = if self.kept.is_empty() { &self.stdout } else { &self.kept };
        let stdout = frame.part(bytes);
        let stderr = frame.part(&self.stderr);
        let ended = match end {
            End::Lost => CommandEnd::ConnectionLost,
            End::Cut(ended) => {
                let unfinished = Unfinished { channel: self.channel, stdout: bytes.clone(), frame };
                if ended == CommandEnd::Cancelled {
                    // Whoever cancels does not wait; see [`abandon`].
                    self.session.unfinished.replace(Some(unfinished));
                } else {
                    stop(self.session, unfinished);
                }
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
}

/// A command that was cancelled and perhaps goes on.
pub(super) struct Unfinished {
    channel: ssh2::Channel,
    stdout: Vec<u8>,
    frame: Frame,
}

/// Ends what was cancelled on this host and closes the connection, on a thread of its own: nobody waits for it.
pub(in crate::engine) fn abandon(session: Session) {
    let Some(unfinished) = session.unfinished.take() else { return };
    // Without a thread the closed connection is all that tells the host.
    std::thread::Builder::new().name("closing".to_owned()).spawn(move || stop(&session, unfinished)).ok();
}

/// Ends a command that was cut: ends its process group, then closes its channel. Without the first, a silent command goes
/// on, and the server confirms no close before it is over.
///
/// A process that cannot be ended (a driver that hangs) keeps its channel; the session goes on without it. Where nothing
/// answers any more, the connection is given up.
fn stop(session: &Session, mut unfinished: Unfinished) {
    let is_heard = match unfinished.shell(session).map(|pid| kill(session, pid)) {
        Some(Err(Unmet::Late | Unmet::Lost | Unmet::Cancelled)) => return session.socket.close(),
        Some(Ok(())) => true,
        Some(Err(Unmet::Refused(_))) | None => false,
    };
    let until = Instant::now() + STOP_LIMIT;
    if patiently(session, until, None, || unfinished.channel.close()).is_err() && !is_heard {
        session.socket.close();
    }
}

impl Unfinished {
    /// Number of the command's shell. A command that was cut at once has perhaps not said it yet.
    fn shell(&mut self, session: &Session) -> Option<u32> {
        let until = Instant::now() + STOP_LIMIT;
        let mut buffer = [0; 4096];
        loop {
            if let Some(pid) = self.frame.part(&self.stdout).pid {
                return Some(pid).filter(|pid| *pid > 1);
            }
            let is_over = self.channel.eof() || Instant::now() >= until || self.stdout.len() > FOLLOW_CAP;
            match self.channel.read(&mut buffer) {
                Ok(n @ 1..) => self.stdout.extend_from_slice(buffer.get(..n).unwrap_or_default()),
                _ if is_over => return None,
                _ => session.socket.wait(false, TICK),
            }
        }
    }
}

/// Asks the host to end this process group. The number is the shell's own; a host can name another, to its own harm only.
fn kill(session: &Session, pid: u32) -> Result<(), Unmet> {
    let until = Instant::now() + STOP_LIMIT;
    let command = format!("kill -TERM -- -{pid} 2>/dev/null || kill -TERM {pid}");
    let mut channel = patiently(session, until, None, || session.ssh.channel_session())?;
    patiently(session, until, None, || channel.exec(&command))?;
    // Its answer is not needed, only its end, so that a host with few sessions is ready for the next.
    patiently(session, until, None, || channel.wait_eof()).ok();
    patiently(session, until, None, || channel.close()).ok();
    Ok(())
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
