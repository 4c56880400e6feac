//! The socket under a session, and the watchdog that closes it: libssh2 itself knows no total deadline and no cancel.

use std::io;
use std::net::{Shutdown, TcpStream, ToSocketAddrs as _};
#[cfg(unix)]
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use crate::domain::failure::{Failure, FailureKind};

/// How often the cancel flag is looked at.
pub(super) const TICK: Duration = Duration::from_millis(20);

/// Why something that was asked of a host did not come about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engine) enum Stop {
    /// A person stopped it.
    Cancelled,
    /// It failed.
    Failed(Failure),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// The stream a session runs over: to the host, or to the pump of a jump host.
#[derive(Debug)]
pub(super) enum Socket {
    /// To the host, or (where there are no Unix sockets) to the pump.
    Tcp(TcpStream),
    /// To the pump of a jump host.
    #[cfg(unix)]
    Unix(UnixStream),
}

impl Socket {
    pub(super) fn try_clone(&self) -> io::Result<Self> {
        match self {
            Self::Tcp(stream) => stream.try_clone().map(Self::Tcp),
            #[cfg(unix)]
            Self::Unix(stream) => stream.try_clone().map(Self::Unix),
        }
    }

    /// Ends every wait on this socket and its clones.
    pub(super) fn close(&self) {
        // It may be closed already, which is what is wanted.
        match self {
            Self::Tcp(stream) => stream.shutdown(Shutdown::Both).ok(),
            #[cfg(unix)]
            Self::Unix(stream) => stream.shutdown(Shutdown::Both).ok(),
        };
    }

    /// Waits until there is something to read (or room to write, when asked for), at most for `limit`.
    #[cfg(unix)]
    pub(super) fn wait(&self, for_write: bool, limit: Duration) {
        use std::os::fd::AsFd as _;
        wait_fds(&[(self.as_fd(), Want { read: true, write: for_write })], limit);
    }

    /// Without `poll` this is a short sleep.
    #[cfg(not(unix))]
    pub(super) fn wait(&self, _for_write: bool, limit: Duration) {
        std::thread::sleep(limit.min(Duration::from_millis(5)));
    }
}

/// What is waited for on a socket.
#[derive(Debug, Clone, Copy)]
pub(super) struct Want {
    /// Something to read.
    pub(super) read: bool,
    /// Room to write.
    pub(super) write: bool,
}

/// Waits until one of these has what is wanted, at most for `limit`.
#[cfg(unix)]
pub(super) fn wait_fds(fds: &[(std::os::fd::BorrowedFd<'_>, Want)], limit: Duration) {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let flags = |want: &Want| {
        let read = if want.read { PollFlags::IN } else { PollFlags::empty() };
        let write = if want.write { PollFlags::OUT } else { PollFlags::empty() };
        read | write
    };
    let mut polled: Vec<PollFd<'_>> = fds.iter().map(|(fd, want)| PollFd::new(fd, flags(want))).collect();
    let limit =
        Timespec { tv_sec: i64::try_from(limit.as_secs()).unwrap_or(i64::MAX), tv_nsec: limit.subsec_nanos().into() };
    if poll(&mut polled, Some(&limit)).is_err() {
        // A signal, at most; the caller looks again either way.
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[cfg(unix)]
impl std::os::fd::AsFd for Socket {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        match self {
            Self::Tcp(stream) => stream.as_fd(),
            Self::Unix(stream) => stream.as_fd(),
        }
    }
}

#[cfg(unix)]
impl std::os::fd::AsRawFd for Socket {
    fn as_raw_fd(&self) -> std::os::fd::RawFd {
        match self {
            Self::Tcp(stream) => stream.as_raw_fd(),
            Self::Unix(stream) => stream.as_raw_fd(),
        }
    }
}

#[cfg(windows)]
impl std::os::windows::io::AsRawSocket for Socket {
    fn as_raw_socket(&self) -> std::os::windows::io::RawSocket {
        match self {
            Self::Tcp(stream) => stream.as_raw_socket(),
        }
    }
}

/// Connects, looking names up first. Both wait in the operating system, so they have a thread of their own that is left
/// behind when somebody cancels; it ends with its own time-out.
pub(super) fn connect(
    host: &str,
    port: u16,
    limit: Duration,
    cancel: &CancellationToken,
    place: &str,
) -> Result<TcpStream, Stop> {
    let unreachable = |cause: String| Stop::Failed(Failure::new(FailureKind::HostUnreachable).because(cause).at(place));
    let (send, inbox) = channel();
    let host = host.to_owned();
    let connecting = move || {
        // Nobody listens when the job was cancelled.
        send.send(connect_now(&host, port, limit)).ok();
    };
    std::thread::Builder::new()
        .name("connect".to_owned())
        .spawn(connecting)
        .map_err(|error| Stop::Failed(Failure::new(FailureKind::Internal).because(error)))?;
    let until = Instant::now() + limit + Duration::from_secs(5);
    loop {
        if cancel.is_cancelled() {
            return Err(Stop::Cancelled);
        }
        match inbox.recv_timeout(TICK) {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => return Err(unreachable(error.to_string())),
            Err(RecvTimeoutError::Timeout) if Instant::now() < until => {}
            Err(_) => return Err(unreachable(format!("no answer within {} s", limit.as_secs()))),
        }
    }
}

fn connect_now(host: &str, port: u16, limit: Duration) -> io::Result<TcpStream> {
    let until = Instant::now() + limit;
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in (host, port).to_socket_addrs()? {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        match TcpStream::connect_timeout(&address, left) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Closes the socket when the time is up or somebody cancels. Time stands still while a person is asked.
pub(super) struct Watchdog {
    shared: Arc<Watched>,
    thread: Option<std::thread::JoinHandle<()>>,
}

struct Watched {
    state: Mutex<WatchState>,
    changed: Condvar,
    expired: AtomicBool,
}

struct WatchState {
    is_done: bool,
    is_paused: bool,
    until: Instant,
    limit: Duration,
}

impl Watchdog {
    /// Watches the socket from now on, for `limit` and again for `limit` after each pause.
    pub(super) fn start(socket: &Socket, limit: Duration, cancel: &CancellationToken) -> io::Result<Self> {
        let state = WatchState { is_done: false, is_paused: false, until: Instant::now() + limit, limit };
        let shared =
            Arc::new(Watched { state: Mutex::new(state), changed: Condvar::new(), expired: AtomicBool::new(false) });
        let (socket, cancel, watched) = (socket.try_clone()?, cancel.clone(), Arc::clone(&shared));
        let thread =
            std::thread::Builder::new().name("watchdog".to_owned()).spawn(move || watched.watch(&socket, &cancel))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Whether the time was up.
    pub(super) fn has_expired(&self) -> bool {
        self.shared.expired.load(Ordering::Relaxed)
    }

    /// Lets time stand still while `ask` waits for a person; afterwards the whole limit begins again.
    pub(super) fn paused<T>(&self, ask: impl FnOnce() -> T) -> T {
        self.shared.with(|state| state.is_paused = true);
        let answer = ask();
        self.shared.with(|state| {
            state.is_paused = false;
            state.until = Instant::now() + state.limit;
        });
        answer
    }
}

impl Watched {
    fn with(&self, change: impl FnOnce(&mut WatchState)) {
        // Nothing here can panic while it holds the lock, so it is never poisoned.
        if let Ok(mut state) = self.state.lock() {
            change(&mut state);
        }
        self.changed.notify_all();
    }

    fn watch(&self, socket: &Socket, cancel: &CancellationToken) {
        let Ok(mut state) = self.state.lock() else { return };
        while !state.is_done {
            if cancel.is_cancelled() {
                return socket.close();
            }
            if !state.is_paused && Instant::now() >= state.until {
                self.expired.store(true, Ordering::Relaxed);
                return socket.close();
            }
            match self.changed.wait_timeout(state, TICK) {
                Ok((next, _)) => state = next,
                Err(_poisoned) => return,
            }
        }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.shared.with(|state| state.is_done = true);
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}
