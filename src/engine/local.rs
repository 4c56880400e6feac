//! Commands on this computer, under the same bounds as on a host: bytes, time, cancel.

use std::io::Read;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use crate::domain::evidence::CommandEnd;

use super::capture::Raw;

/// The most that is kept of one stream, bytes.
pub(super) const STREAM_CAP: usize = 4 << 20;
/// The longest line of a command that is followed, and the most that is kept of its standard error, bytes.
const LINE_CAP: usize = 64 << 10;
/// How long we look for more output after the command is over or was killed: a grandchild may hold the pipe open.
const AFTER_END: Duration = Duration::from_millis(300);
/// How often the cancel flag and the deadline are looked at.
const TICK: Duration = Duration::from_millis(20);

/// What a command may use.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// From its start to its end.
    pub(super) deadline: Duration,
    /// Bytes of each stream.
    pub(super) cap: usize,
}

impl Limits {
    /// This deadline in seconds and the usual cap.
    pub(super) fn secs(deadline_secs: u32) -> Self {
        Self { deadline: Duration::from_secs(deadline_secs.into()), cap: STREAM_CAP }
    }

    /// How a command ends that reaches the deadline.
    pub(super) fn deadline_end(&self) -> CommandEnd {
        CommandEnd::Deadline(u32::try_from(self.deadline.as_secs()).unwrap_or(u32::MAX))
    }

    /// How a command ends that sends more than the cap.
    pub(super) fn cap_end(&self) -> CommandEnd {
        CommandEnd::TooMuch(u64::try_from(self.cap).unwrap_or(u64::MAX))
    }
}

/// Runs a constant command by `/bin/sh -c`, in the C locale and without input.
///
/// Without a POSIX shell (Windows) nothing is run, and the answer says so.
pub(super) fn shell(command: &str, limits: Limits, cancel: &CancellationToken) -> Raw {
    if cfg!(not(unix)) {
        return Raw::refused("this computer has no POSIX shell");
    }
    let mut child = Command::new("/bin/sh");
    child.arg("-c").arg(command).env("LC_ALL", "C");
    run(child, limits, cancel)
}

/// Runs a program to its end or to a limit. Whatever it started in its process group ends with it.
pub(super) fn run(mut command: Command, limits: Limits, cancel: &CancellationToken) -> Raw {
    let started = Instant::now();
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    own_group(&mut command);
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return Raw::refused(error.to_string()),
    };
    let (chunks, inbox) = sync_channel(16);
    let readers = [
        child.stdout.take().map(|pipe| read_pipe(pipe, false, chunks.clone())),
        child.stderr.take().map(|pipe| read_pipe(pipe, true, chunks.clone())),
    ];
    drop(chunks);
    let mut raw = Raw::refused("");
    let cut = if readers.iter().flatten().all(Result::is_ok) {
        collect(&inbox, &mut raw, limits, started, cancel, || matches!(child.try_wait(), Ok(Some(_))))
    } else {
        Some(CommandEnd::Refused("no thread for reading its output".to_owned()))
    };
    if cut.is_some() {
        end_group(&mut child);
        drain(&inbox, &mut raw, limits.cap);
    }
    let status = wait(&mut child);
    raw.ended = cut.unwrap_or_else(|| status.map_or(CommandEnd::Unknown, ended));
    raw.took = started.elapsed();
    raw
}

/// Runs a constant command that goes on until cancelled, and hands each line of its output to `line` until that says
/// `false`. What it wrote to its standard error stands in the answer, up to the cap.
pub(super) fn follow(command: &str, cancel: &CancellationToken, mut line: impl FnMut(&str) -> bool) -> Raw {
    if cfg!(not(unix)) {
        return Raw::refused("this computer has no POSIX shell");
    }
    let started = Instant::now();
    let mut child = Command::new("/bin/sh");
    child.arg("-c").arg(command).env("LC_ALL", "C");
    child.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    own_group(&mut child);
    let mut child = match child.spawn() {
        Ok(child) => child,
        Err(error) => return Raw::refused(error.to_string()),
    };
    let (chunks, inbox) = sync_channel(16);
    let readers = [
        child.stdout.take().map(|pipe| read_pipe(pipe, false, chunks.clone())),
        child.stderr.take().map(|pipe| read_pipe(pipe, true, chunks.clone())),
    ];
    drop(chunks);
    let mut raw = Raw::refused("");
    let mut is_stopped = !readers.iter().flatten().all(Result::is_ok);
    while !is_stopped && !cancel.is_cancelled() {
        match inbox.recv_timeout(TICK) {
            Ok((true, chunk)) => {
                keep(&mut raw, true, &chunk, LINE_CAP);
            }
            Ok((false, chunk)) => {
                raw.stdout.extend_from_slice(&chunk);
                while let Some(length) = raw.stdout.iter().position(|byte| *byte == b'\n') {
                    let taken: Vec<u8> = raw.stdout.drain(..=length).collect();
                    if !line(String::from_utf8_lossy(&taken).trim_end()) {
                        is_stopped = true;
                        break;
                    }
                }
                is_stopped |= raw.stdout.len() > LINE_CAP;
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    let is_cut = is_stopped || cancel.is_cancelled();
    if is_cut {
        end_group(&mut child);
    }
    let status = wait(&mut child);
    raw.ended = if is_cut { CommandEnd::Cancelled } else { status.map_or(CommandEnd::Unknown, ended) };
    raw.took = started.elapsed();
    raw
}

/// Takes chunks until both streams are at their end. Returns why that was not waited for.
fn collect(
    inbox: &Receiver<(bool, Vec<u8>)>,
    raw: &mut Raw,
    limits: Limits,
    started: Instant,
    cancel: &CancellationToken,
    mut is_over: impl FnMut() -> bool,
) -> Option<CommandEnd> {
    let mut over_since: Option<Instant> = None;
    loop {
        if cancel.is_cancelled() {
            return Some(CommandEnd::Cancelled);
        }
        if started.elapsed() >= limits.deadline {
            return Some(limits.deadline_end());
        }
        match inbox.recv_timeout(TICK) {
            Ok((is_err, chunk)) => {
                if !keep(raw, is_err, &chunk, limits.cap) {
                    return Some(limits.cap_end());
                }
            }
            Err(RecvTimeoutError::Disconnected) => return None,
            Err(RecvTimeoutError::Timeout) => {
                if is_over() && over_since.get_or_insert_with(Instant::now).elapsed() >= AFTER_END {
                    return None;
                }
            }
        }
    }
}

/// Keeps what still comes after the end.
fn drain(inbox: &Receiver<(bool, Vec<u8>)>, raw: &mut Raw, cap: usize) {
    let until = Instant::now() + AFTER_END;
    while let Some(left) = until.checked_duration_since(Instant::now()) {
        match inbox.recv_timeout(left) {
            Ok((is_err, chunk)) => {
                if !keep(raw, is_err, &chunk, cap) {
                    return;
                }
            }
            Err(_) => return,
        }
    }
}

/// Keeps the chunk up to the cap; `false` when it did not fit.
fn keep(raw: &mut Raw, is_err: bool, chunk: &[u8], cap: usize) -> bool {
    let stream = if is_err { &mut raw.stderr } else { &mut raw.stdout };
    let room = cap.saturating_sub(stream.len());
    stream.extend_from_slice(chunk.get(..room.min(chunk.len())).unwrap_or_default());
    chunk.len() <= room
}

/// Reads a pipe on its own thread, so that a full second pipe cannot block the first. The thread ends with the pipe, or
/// when nobody takes its chunks.
fn read_pipe(
    mut pipe: impl Read + Send + 'static,
    is_err: bool,
    chunks: SyncSender<(bool, Vec<u8>)>,
) -> std::io::Result<std::thread::JoinHandle<()>> {
    std::thread::Builder::new().name("pipe".to_owned()).spawn(move || {
        let mut buffer = vec![0; 64 << 10];
        while let Ok(n @ 1..) = pipe.read(&mut buffer) {
            let chunk = buffer.get(..n).unwrap_or_default().to_vec();
            if chunks.send((is_err, chunk)).is_err() {
                return;
            }
        }
    })
}

/// The child's status; a child that does not end after its output did is killed.
fn wait(child: &mut Child) -> Option<ExitStatus> {
    let until = Instant::now() + AFTER_END;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if Instant::now() < until => std::thread::sleep(Duration::from_millis(5)),
            Ok(None) => {
                end_group(child);
                return child.wait().ok();
            }
            Err(_) => return None,
        }
    }
}

#[cfg(unix)]
fn ended(status: ExitStatus) -> CommandEnd {
    use std::os::unix::process::ExitStatusExt as _;
    match (status.code(), status.signal()) {
        (Some(code), _) => CommandEnd::Exit(code),
        (None, Some(signal)) => CommandEnd::Signal(signal_name(signal)),
        (None, None) => CommandEnd::Unknown,
    }
}

#[cfg(not(unix))]
fn ended(status: ExitStatus) -> CommandEnd {
    status.code().map_or(CommandEnd::Unknown, CommandEnd::Exit)
}

/// The name as SSH writes it ("KILL").
#[cfg(unix)]
fn signal_name(signal: i32) -> String {
    match signal {
        1 => "HUP".to_owned(),
        2 => "INT".to_owned(),
        3 => "QUIT".to_owned(),
        4 => "ILL".to_owned(),
        6 => "ABRT".to_owned(),
        8 => "FPE".to_owned(),
        9 => "KILL".to_owned(),
        11 => "SEGV".to_owned(),
        13 => "PIPE".to_owned(),
        14 => "ALRM".to_owned(),
        15 => "TERM".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(unix)]
pub(super) fn own_group(command: &mut Command) {
    use std::os::unix::process::CommandExt as _;
    command.process_group(0);
}

#[cfg(not(unix))]
pub(super) fn own_group(_command: &mut Command) {}

/// Ends the child and, on Unix, everything in its process group.
pub(super) fn end_group(child: &mut Child) {
    #[cfg(unix)]
    if let Some(group) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        // It may be over already, which is what is wanted.
        rustix::process::kill_process_group(group, rustix::process::Signal::KILL).ok();
    }
    child.kill().ok();
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn sh(command: &str, deadline: Duration, cap: usize) -> Raw {
        shell(command, Limits { deadline, cap }, &CancellationToken::new())
    }

    #[test]
    fn ends_of_commands() {
        let long = Duration::from_secs(60);
        for (command, want) in [
            ("exit 42", CommandEnd::Exit(42)),
            ("no-such-command-here", CommandEnd::Exit(127)),
            ("kill -SEGV $$", CommandEnd::Signal("SEGV".into())),
            ("cat", CommandEnd::Exit(0)),
            ("echo x; sleep 50 & exit 3", CommandEnd::Exit(3)),
        ] {
            assert_eq!(sh(command, long, 100).ended, want, "{command}");
        }
    }

    #[test]
    fn both_streams_are_read_and_capped() {
        let raw = sh("head -c 1000000 /dev/zero >&2; echo out", Duration::from_secs(60), 2 << 20);
        assert_eq!((raw.stdout.as_slice(), raw.stderr.len()), (&b"out\n"[..], 1_000_000));
        let raw = sh("yes", Duration::from_secs(60), 1_000);
        assert_eq!((raw.stdout.len(), raw.ended), (1_000, CommandEnd::TooMuch(1_000)));
    }

    #[test]
    fn deadline_and_cancel_end_the_whole_group() {
        let raw = sh("echo before; sleep 60 | sleep 60", Duration::from_secs(1), 100);
        assert_eq!((raw.stdout.as_slice(), raw.ended), (&b"before\n"[..], CommandEnd::Deadline(1)));
        assert!(raw.took < Duration::from_secs(30));
        let cancel = CancellationToken::new();
        cancel.cancel();
        let raw = shell("sleep 60", Limits::secs(60), &cancel);
        assert_eq!(raw.ended, CommandEnd::Cancelled);
        assert!(raw.took < Duration::from_secs(30));
    }

    #[test]
    fn lines_are_handed_over_as_they_come() {
        let mut lines = Vec::new();
        let raw = follow("while :; do echo 1; echo 2; sleep 0.01; done", &CancellationToken::new(), |line| {
            lines.push(line.to_owned());
            lines.len() < 5
        });
        assert_eq!((lines.join(""), raw.ended), ("12121".to_owned(), CommandEnd::Cancelled));
        let raw = follow("echo no >&2; exit 9", &CancellationToken::new(), |_| true);
        assert_eq!((raw.stderr.as_slice(), raw.ended), (&b"no\n"[..], CommandEnd::Exit(9)));
    }

    #[test]
    fn a_program_that_is_not_there() {
        let raw = run(Command::new("/no/such/program"), Limits::secs(5), &CancellationToken::new());
        assert!(matches!(raw.ended, CommandEnd::Refused(_)), "{:?}", raw.ended);
    }
}
