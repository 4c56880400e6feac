//! The HTTP side of a load run: addresses, connections, and one exchange with its time-outs.
//!
//! A connection is driven by the task that uses it: one wake-up reads the socket, decodes the frame and hands it over,
//! without a hop to another task. HTTP/1.1 with keep-alive.

mod deadline;
mod url;

#[cfg(feature = "desktop")]
mod tls;

pub use url::Url;

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use http_body_util::Full;
use hyper::body::{Body, Bytes, Incoming};
use hyper::client::conn::http1::{self, Connection, SendRequest};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::domain::failure::{Failure, FailureKind};

pub(crate) use deadline::{Deadline, Late, secs};

/// An endpoint whose name was resolved.
pub(crate) struct Endpoint {
    url: Url,
    addresses: Vec<SocketAddr>,
    #[cfg(feature = "desktop")]
    tls: Option<tls::Tls>,
}

/// Why no connection came about.
#[derive(Debug)]
pub(crate) enum NoConnection {
    /// It took too long.
    TimedOut,
    /// It was refused, or TLS failed.
    Refused(String),
}

impl Endpoint {
    /// Looks the host's name up, and reads the system's certificates for `https`.
    ///
    /// # Errors
    /// `EndpointUnreachable` when the name has no address, `TlsFailed` when there is no certificate to trust,
    /// `NotSupportedHere` for `https` in a build without it.
    pub(crate) async fn resolve(url: Url) -> Result<Self, Failure> {
        let unreachable =
            |cause: String| Failure::new(FailureKind::EndpointUnreachable).because(cause).at(url.origin());
        let addresses: Vec<SocketAddr> = tokio::net::lookup_host((url.host.as_str(), url.port))
            .await
            .map_err(|error| unreachable(error.to_string()))?
            .collect();
        if addresses.is_empty() {
            return Err(unreachable(format!("\"{}\" has no address", url.host)));
        }
        #[cfg(feature = "desktop")]
        let tls = if url.is_https { Some(tls::Tls::new(&url)?) } else { None };
        #[cfg(not(feature = "desktop"))]
        if url.is_https {
            return Err(Failure::new(FailureKind::NotSupportedHere).because("https").at(url.origin()));
        }
        Ok(Self {
            url,
            addresses,
            #[cfg(feature = "desktop")]
            tls,
        })
    }

    /// Where requests go.
    pub(crate) const fn url(&self) -> &Url {
        &self.url
    }

    /// Opens a connection within `timeout`.
    pub(crate) async fn connect(&self, timeout: Duration) -> Result<Conn, NoConnection> {
        match tokio::time::timeout(timeout, self.try_connect()).await {
            Ok(Ok(conn)) => Ok(conn),
            Ok(Err(error)) => Err(NoConnection::Refused(error.to_string())),
            Err(_elapsed) => Err(NoConnection::TimedOut),
        }
    }

    async fn try_connect(&self) -> io::Result<Conn> {
        let tcp = TcpStream::connect(&self.addresses[..]).await?;
        tcp.set_nodelay(true)?;
        #[cfg(feature = "desktop")]
        let stream = match &self.tls {
            Some(tls) => Stream::Tls(Box::new(tls.wrap(tcp).await?)),
            None => Stream::Plain(tcp),
        };
        #[cfg(not(feature = "desktop"))]
        let stream = Stream::Plain(tcp);
        let (sender, driver) = http1::Builder::new()
            // A stream comes in small pieces: a thousand connections must not hold a thousand large buffers.
            .max_buf_size(64 << 10)
            .handshake(TokioIo::new(stream))
            .await
            .map_err(io::Error::other)?;
        Ok(Conn { sender, driver: Some(Box::pin(driver)), has_served: false })
    }
}

/// One connection and the half of hyper that works on it.
pub(crate) struct Conn {
    sender: SendRequest<Full<Bytes>>,
    /// Gone once it ended: with it goes its queue, and a request still in there learns that nobody will answer it.
    driver: Option<Driver>,
    /// It carried a whole exchange before, so that the server may have closed it meanwhile.
    pub(crate) has_served: bool,
}

/// Why no response head came.
#[derive(Debug)]
pub(crate) enum NoResponse {
    /// Too late.
    Late(Late),
    /// The connection ended first.
    Closed(String),
}

/// What comes next of a body.
#[derive(Debug)]
pub(crate) enum Next {
    /// A data frame, and the instant right after it was handed over.
    Frame(Instant, Bytes),
    /// The body ended as the protocol promises.
    End,
    /// It broke off.
    Broken(String),
    /// Too late.
    Late(Late),
}

impl Conn {
    /// Sends a request and waits for the response head.
    pub(crate) async fn send(
        &mut self,
        request: Request<Full<Bytes>>,
        deadline: &mut Deadline,
    ) -> Result<Response<Incoming>, NoResponse> {
        let Self { sender, driver, .. } = self;
        let mut response = std::pin::pin!(sender.send_request(request));
        std::future::poll_fn(|cx| {
            drive(driver, cx);
            if let Poll::Ready(got) = response.as_mut().poll(cx) {
                return Poll::Ready(got.map_err(|error| NoResponse::Closed(words(&error))));
            }
            deadline.poll(cx).map(|late| Err(NoResponse::Late(late)))
        })
        .await
    }

    /// Waits for the next body frame.
    pub(crate) async fn next(&mut self, body: &mut Incoming, deadline: &mut Deadline) -> Next {
        loop {
            let polled = std::future::poll_fn(|cx| {
                drive(&mut self.driver, cx);
                if let Poll::Ready(frame) = Pin::new(&mut *body).poll_frame(cx) {
                    return Poll::Ready(Ok(frame));
                }
                deadline.poll(cx).map(Err)
            })
            .await;
            let at = Instant::now();
            match polled {
                Ok(Some(Ok(frame))) => {
                    // Anything but data is trailers, which mean nothing here.
                    if let Ok(data) = frame.into_data() {
                        return Next::Frame(at, data);
                    }
                }
                Ok(Some(Err(error))) => return Next::Broken(words(&error)),
                Ok(None) => return Next::End,
                Err(late) => return Next::Late(late),
            }
        }
    }

    /// Whether it can carry another request now. The server may have closed it while nobody looked.
    pub(crate) async fn is_usable(&mut self) -> bool {
        // The driver needs a turn to see the end of the last body, and one more to say that it is ready.
        for _ in 0..2 {
            let ready = std::future::poll_fn(|cx| {
                drive(&mut self.driver, cx);
                Poll::Ready(self.driver.is_some() && matches!(self.sender.poll_ready(cx), Poll::Ready(Ok(()))))
            })
            .await;
            if ready {
                return true;
            }
        }
        false
    }
}

/// What reads and writes a connection.
type Driver = Pin<Box<Connection<TokioIo<Stream>, Full<Bytes>>>>;

/// Gives the connection a turn.
fn drive(driver: &mut Option<Driver>, cx: &mut Context<'_>) {
    if driver.as_mut().is_some_and(|driver| driver.as_mut().poll(cx).is_ready()) {
        // Whatever it failed with reaches the response or the body as well.
        *driver = None;
    }
}

/// An error with the errors below it, outermost first.
fn words(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut below = error.source();
    while let Some(cause) = below {
        words.push_str(": ");
        words.push_str(&cause.to_string());
        below = cause.source();
    }
    words
}

/// Plain or TLS.
enum Stream {
    Plain(TcpStream),
    #[cfg(feature = "desktop")]
    Tls(Box<tokio_rustls::client::TlsStream<TcpStream>>),
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(cx, buf),
            #[cfg(feature = "desktop")]
            Self::Tls(stream) => Pin::new(stream).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(cx, bytes),
            #[cfg(feature = "desktop")]
            Self::Tls(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(cx),
            #[cfg(feature = "desktop")]
            Self::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            #[cfg(feature = "desktop")]
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
