//! The practice server: a small OpenAI-compatible endpoint on this computer's loopback, with scripted behaviour.
//!
//! The window's practice run and the tests go against it. It stamps its own tokens right before it writes them, so that
//! what a client shows can be held against what was true in the same run. It speaks plain HTTP/1.1 by itself: one write
//! a token event, nothing between a stamp and the socket.

mod answer;
mod http;
mod mode;
mod stats;

pub use mode::Mode;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::domain::failure::{Failure, FailureKind};
use stats::Stats;

/// What the server calls itself in every answer; a run that meets it is practice for ever.
pub(crate) const NAME: &str = concat!("leasebench-practice/", env!("CARGO_PKG_VERSION"));
/// How long an idle connection is kept.
const KEEP_ALIVE: Duration = Duration::from_secs(60);
/// Connections that may wait to be accepted.
const BACKLOG: u32 = 1024;

/// How the server behaves.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// From the whole request to the first token.
    pub ttft: Duration,
    /// Between two tokens.
    pub gap: Duration,
    /// Tokens of an answer, where the request does not say.
    pub tokens: u32,
    /// What it does; a path that begins with `/m/<mode>` says it for one request.
    pub mode: Mode,
    /// How many answers it gives at once; the others wait their turn. `None` for no limit.
    pub slots: Option<usize>,
}

impl Settings {
    /// The server of the practice lesson: eight answers at once, so that a rate of 17 a second is about all it can do.
    #[must_use]
    pub fn lesson() -> Self {
        Self {
            ttft: Duration::from_millis(100),
            gap: Duration::from_millis(12),
            tokens: 32,
            mode: Mode::Plain,
            slots: Some(8),
        }
    }
}

/// A running server. Stops when dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    stop: CancellationToken,
    thread: Option<JoinHandle<()>>,
}

/// What all connections share.
struct State {
    settings: Settings,
    stats: Mutex<Stats>,
    slots: Option<Arc<Semaphore>>,
    /// One answer after the other, for the mode that gives them so.
    turn: Arc<Semaphore>,
}

impl Server {
    /// Listens on 127.0.0.1, on a free port for 0, until dropped or until `ttl` is over.
    ///
    /// # Errors
    /// `ListenFailed` when the port is taken.
    pub fn start(port: u16, settings: Settings, ttl: Option<Duration>) -> Result<Self, Failure> {
        let failed =
            |cause: String| Failure::new(FailureKind::ListenFailed).because(cause).at(format!("127.0.0.1:{port}"));
        let stop = CancellationToken::new();
        let (listening, listens) = std::sync::mpsc::channel();
        let stopping = stop.clone();
        let thread = std::thread::Builder::new()
            .name("practice".to_owned())
            .spawn(move || serve(port, settings, ttl, &stopping, &listening))
            .map_err(|error| failed(error.to_string()))?;
        match listens.recv() {
            Ok(Ok(address)) => Ok(Self { address, stop, thread: Some(thread) }),
            Ok(Err(error)) => Err(failed(error.to_string())),
            Err(_gone) => Err(failed("the server's thread ended".to_owned())),
        }
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Waits until the server's time is over; for ever when it has no end.
    pub fn wait(mut self) {
        if let Some(thread) = self.thread.take() {
            // A panic of that thread ended the server too.
            thread.join().ok();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.cancel();
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

fn serve(
    port: u16,
    settings: Settings,
    ttl: Option<Duration>,
    stop: &CancellationToken,
    listening: &std::sync::mpsc::Sender<std::io::Result<SocketAddr>>,
) {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            // Whoever asked for the server is gone when this fails.
            listening.send(Err(error)).ok();
            return;
        }
    };
    runtime.block_on(async {
        let bound = async {
            let socket = TcpSocket::new_v4()?;
            socket.set_reuseaddr(true)?;
            socket.bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))?;
            socket.listen(BACKLOG)
        };
        let listener = match bound.await {
            Ok(listener) => listener,
            Err(error) => {
                listening.send(Err(error)).ok();
                return;
            }
        };
        listening.send(listener.local_addr()).ok();
        let state = Arc::new(State {
            slots: settings.slots.map(|slots| Arc::new(Semaphore::new(slots.max(1)))),
            turn: Arc::new(Semaphore::new(1)),
            settings,
            stats: Mutex::new(Stats::default()),
        });
        let accept = async {
            loop {
                match listener.accept().await {
                    Ok((stream, _peer)) => {
                        let state = Arc::clone(&state);
                        tokio::spawn(async move { connection(stream, &state).await });
                    }
                    // Too many open files: those that are open go on, and some will end.
                    Err(_exhausted) => tokio::time::sleep(Duration::from_millis(20)).await,
                }
            }
        };
        let over = async {
            match ttl {
                Some(ttl) => tokio::time::sleep(ttl).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = stop.cancelled() => {}
            () = over => {}
            () = accept => {}
        }
    });
}

/// Serves one connection until the client leaves, an answer ends it, or nothing comes for a minute.
async fn connection(mut stream: TcpStream, state: &State) {
    if stream.set_nodelay(true).is_err() {
        return;
    }
    let mut buffer = Vec::with_capacity(4096);
    loop {
        let read = tokio::time::timeout(KEEP_ALIVE, http::read(&mut stream, &mut buffer)).await;
        let request = match read {
            Ok(Ok(Some(request))) => request,
            Ok(Err(http::Bad::Request(status, why))) => {
                // The connection ends here either way.
                let body = http::error(status, why);
                http::answer(&mut stream, status, "application/json", &[], body.as_bytes()).await.ok();
                return;
            }
            Ok(Ok(None) | Err(http::Bad::Gone)) | Err(_) => return,
        };
        match answer::route(&mut stream, state, &request).await {
            Ok(answer::Then::KeepAlive) if request.keep_alive => {}
            // The client left, or the mode cuts the connection.
            Ok(_) | Err(_) => return,
        }
    }
}
