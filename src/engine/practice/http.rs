//! As much HTTP/1.1 as a practice server needs: requests with a length, answers with a length or in chunks.

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::NAME;

const MAX_HEAD: usize = 64 << 10;
const MAX_BODY: usize = 64 << 20;

/// A request.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) method: String,
    /// Path without its query.
    pub(super) path: String,
    pub(super) keep_alive: bool,
    pub(super) body: Vec<u8>,
}

/// Why there is no request.
#[derive(Debug)]
pub(super) enum Bad {
    /// The client left, or the connection broke.
    Gone,
    /// What it sent is answered with this status.
    Request(u16, &'static str),
}

impl From<io::Error> for Bad {
    fn from(_broken: io::Error) -> Self {
        Self::Gone
    }
}

/// Reads the next request; `None` when the client closed the connection between two. `buffer` keeps what came too early.
pub(super) async fn read(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Result<Option<Request>, Bad> {
    let head_len = loop {
        if let Some(at) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
            break at + 4;
        }
        if buffer.len() > MAX_HEAD {
            return Err(Bad::Request(431, "the request's head is too long"));
        }
        if stream.read_buf(buffer).await? == 0 {
            return if buffer.is_empty() { Ok(None) } else { Err(Bad::Gone) };
        }
    };
    let body_and_more = buffer.split_off(head_len);
    let head = String::from_utf8_lossy(buffer).into_owned();
    *buffer = body_and_more;
    let mut lines = head.lines();
    let mut first = lines.next().unwrap_or_default().split(' ');
    let (Some(method), Some(target), Some(version)) = (first.next(), first.next(), first.next()) else {
        return Err(Bad::Request(400, "the request line is not HTTP"));
    };
    let mut length = 0_usize;
    let mut keep_alive = version == "HTTP/1.1";
    let mut expects_go_ahead = false;
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            "content-length" => {
                length = value.parse().map_err(|_bad| Bad::Request(400, "Content-Length is not a number"))?;
            }
            "transfer-encoding" => return Err(Bad::Request(411, "a request needs a Content-Length")),
            "connection" => keep_alive = !value.eq_ignore_ascii_case("close") && keep_alive,
            "expect" => expects_go_ahead = value.eq_ignore_ascii_case("100-continue"),
            _ => {}
        }
    }
    if length > MAX_BODY {
        return Err(Bad::Request(413, "the request's body is too long"));
    }
    if expects_go_ahead && buffer.len() < length {
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
    }
    while buffer.len() < length {
        if stream.read_buf(buffer).await? == 0 {
            return Err(Bad::Gone);
        }
    }
    let more = buffer.split_off(length);
    let body = std::mem::replace(buffer, more);
    let path = target.split('?').next().unwrap_or_default().to_owned();
    Ok(Some(Request { method: method.to_owned(), path, keep_alive, body }))
}

/// Writes a whole answer.
pub(super) async fn answer(
    stream: &mut TcpStream,
    status: u16,
    content_type: &str,
    more: &[(&str, &str)],
    body: &[u8],
) -> io::Result<()> {
    let mut answer = head(status, content_type, more);
    answer.push_str(&format!("content-length: {}\r\n\r\n", body.len()));
    let mut answer = answer.into_bytes();
    answer.extend_from_slice(body);
    stream.write_all(&answer).await
}

/// The head of an answer, up to the fields that say how long it is.
pub(super) fn head(status: u16, content_type: &str, more: &[(&str, &str)]) -> String {
    let reason = match status {
        200 => "OK",
        400 => "Bad Request",
        404 => "Not Found",
        405 => "Method Not Allowed",
        429 => "Too Many Requests",
        503 => "Service Unavailable",
        _ => "Error",
    };
    let mut head = format!("HTTP/1.1 {status} {reason}\r\nserver: {NAME}\r\ncontent-type: {content_type}\r\n");
    for (name, value) in more {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head
}

/// An error body as OpenAI-compatible servers write it.
pub(super) fn error(status: u16, message: &str) -> String {
    serde_json::json!({ "error": { "message": message, "type": "practice", "param": null, "code": status } })
        .to_string()
}
