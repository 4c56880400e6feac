//! The way through a jump host: a channel of the outer session on one side, a socket for the inner session on the other,
//! and a thread that carries bytes between them.

use std::io::{ErrorKind, Read as _, Write as _};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use crate::domain::failure::{Failure, FailureKind};
use crate::engine::capture::one_line;

use super::session::{EAGAIN, Session, code};
use super::socket::{Socket, Stop, TICK};

/// Bytes carried at once.
const CHUNK: usize = 64 << 10;

/// Opens a way through `outer` to this host and gives the socket for the inner session. The outer session lives as long
/// as the socket.
pub(super) fn through(
    outer: Session,
    host: &str,
    port: u16,
    limit: Duration,
    cancel: &CancellationToken,
) -> Result<Socket, Stop> {
    let until = Instant::now() + limit;
    let failed = |kind: FailureKind, cause: &str| {
        Stop::Failed(Failure::new(kind).because(one_line(cause)).at(format!("{} → {host}:{port}", outer.place)))
    };
    let channel = loop {
        match outer.ssh.channel_direct_tcpip(host, port, None) {
            Ok(channel) => break channel,
            Err(error) if code(&error) == EAGAIN => {}
            Err(error) => return Err(failed(FailureKind::HostUnreachable, error.message())),
        }
        if cancel.is_cancelled() {
            return Err(Stop::Cancelled);
        }
        if Instant::now() >= until {
            return Err(failed(FailureKind::HostUnreachable, "the jump host opened no connection in time"));
        }
        outer.socket.wait(false, TICK);
    };
    let internal = |error: std::io::Error| Stop::Failed(Failure::new(FailureKind::Internal).because(error));
    let (ours, theirs) = pair().map_err(internal)?;
    std::thread::Builder::new()
        .name("jump".to_owned())
        .spawn(move || carry(&outer, channel, &theirs))
        .map_err(internal)?;
    Ok(ours)
}

/// Two connected sockets; the second does not block.
#[cfg(unix)]
fn pair() -> std::io::Result<(Socket, Socket)> {
    let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
    theirs.set_nonblocking(true)?;
    Ok((Socket::Unix(ours), Socket::Unix(theirs)))
}

/// Two connected loopback sockets. Other users of this computer can connect to the listener, so only our own peer is
/// taken.
#[cfg(not(unix))]
fn pair() -> std::io::Result<(Socket, Socket)> {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0))?;
    let ours = std::net::TcpStream::connect(listener.local_addr()?)?;
    let (theirs, peer) = listener.accept()?;
    if peer != ours.local_addr()? {
        return Err(std::io::Error::new(ErrorKind::ConnectionRefused, "another program took the connection"));
    }
    theirs.set_nonblocking(true)?;
    Ok((Socket::Tcp(ours), Socket::Tcp(theirs)))
}

impl Socket {
    fn read(&self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Self::Tcp(stream) => (&mut &*stream).read(buffer),
            #[cfg(unix)]
            Self::Unix(stream) => (&mut &*stream).read(buffer),
        }
    }

    fn write(&self, bytes: &[u8]) -> std::io::Result<usize> {
        match self {
            Self::Tcp(stream) => (&mut &*stream).write(bytes),
            #[cfg(unix)]
            Self::Unix(stream) => (&mut &*stream).write(bytes),
        }
    }
}

/// One direction: what was read and not yet written.
struct Carrying {
    buffer: Vec<u8>,
    from: usize,
    to: usize,
}

impl Carrying {
    fn new() -> Self {
        Self { buffer: vec![0; CHUNK], from: 0, to: 0 }
    }

    fn is_empty(&self) -> bool {
        self.from == self.to
    }

    /// Moves what can be moved. `Ok(true)` when something moved, an error at the end of either side.
    fn step(
        &mut self,
        read: impl FnOnce(&mut [u8]) -> std::io::Result<usize>,
        write: impl FnOnce(&[u8]) -> std::io::Result<usize>,
    ) -> std::io::Result<bool> {
        let mut moved = false;
        if self.is_empty() {
            match read(&mut self.buffer) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(n) => {
                    (self.from, self.to) = (0, n);
                    moved = true;
                }
                Err(error) if is_waiting(&error) => {}
                Err(error) => return Err(error),
            }
        }
        if !self.is_empty() {
            match write(self.buffer.get(self.from..self.to).unwrap_or_default()) {
                Ok(0) => {}
                Ok(n) => {
                    self.from += n;
                    moved = true;
                }
                Err(error) if is_waiting(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(moved)
    }
}

fn is_waiting(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// Carries bytes until either side ends.
fn carry(outer: &Session, channel: ssh2::Channel, local: &Socket) {
    let (mut inbound, mut outbound) = (Carrying::new(), Carrying::new());
    let (mut from_host, mut to_host) = (channel.stream(0), channel.stream(0));
    loop {
        let came = inbound.step(
            |buffer| match from_host.read(buffer) {
                // Nothing read and not at the end is nothing yet.
                Ok(0) if !channel.eof() => Err(ErrorKind::WouldBlock.into()),
                other => other,
            },
            |bytes| local.write(bytes),
        );
        let went = outbound.step(|buffer| local.read(buffer), |bytes| to_host.write(bytes));
        match (came, went) {
            (Ok(false), Ok(false)) => idle(outer, local, &inbound, &outbound),
            (Ok(_), Ok(_)) => {}
            _ => break,
        }
    }
    local.close();
    // First the socket, then the channel: a channel on a dead connection would wait.
    outer.socket.close();
}

/// Waits until a side has something that can be taken, or room for what waits.
#[cfg(unix)]
fn idle(outer: &Session, local: &Socket, inbound: &Carrying, outbound: &Carrying) {
    use std::os::fd::AsFd as _;

    use super::socket::{Want, wait_fds};
    // Room on the channel may be missing though the socket has some: then the host's word about it is waited for.
    let socket_is_full = outer.ssh.block_directions() != ssh2::BlockDirections::Inbound;
    let host = Want { read: inbound.is_empty() || !outbound.is_empty(), write: !outbound.is_empty() && socket_is_full };
    let ours = Want { read: outbound.is_empty(), write: !inbound.is_empty() };
    wait_fds(&[(outer.socket.as_fd(), host), (local.as_fd(), ours)], TICK);
}

#[cfg(not(unix))]
fn idle(_outer: &Session, _local: &Socket, _inbound: &Carrying, _outbound: &Carrying) {
    std::thread::sleep(Duration::from_millis(2));
}
