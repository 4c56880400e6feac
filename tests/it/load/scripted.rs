//! Servers that do what the practice server cannot: close idle connections, repeat a key, send garbage.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::json;

use super::{PROGRAM, json, load};

/// Answers every request on every connection by `answer`, which gets the connection and the request's text.
fn serve(answer: impl Fn(&mut TcpStream, &str) -> bool + Send + Sync + 'static) -> (String, Arc<AtomicU32>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let connections = Arc::new(AtomicU32::new(0));
    let (counting, answer) = (Arc::clone(&connections), Arc::new(answer));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            counting.fetch_add(1, Ordering::SeqCst);
            let (mut stream, answer) = (stream.unwrap(), Arc::clone(&answer));
            std::thread::spawn(move || {
                while let Some(request) = request(&mut stream) {
                    if !answer(&mut stream, &request) {
                        break;
                    }
                }
            });
        }
    });
    (url, connections)
}

/// One whole request, or `None` when the client left.
fn request(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length: usize = head
                .lines()
                .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length:")?.trim().parse().ok())
                .unwrap_or(0);
            if body.len() >= length {
                return Some(text.into_owned());
            }
        }
        match stream.read(&mut buffer) {
            Ok(n) if n > 0 => bytes.extend_from_slice(&buffer[..n]),
            _ => return None,
        }
    }
}

fn whole(status: &str, content_type: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\ncontent-type: {content_type}\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

/// A server that answers everything with this status and a sentence.
pub fn status(code: u16) -> String {
    serve(move |stream, _request| {
        let body = "{\"error\":{\"message\":\"not today\"}}";
        stream.write_all(whole(&format!("{code} X"), "application/json", body).as_bytes()).is_ok()
    })
    .0
}

const STREAM: &str = "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\"}}]}\n\n\
    data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\n\
    data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":1}}\n\n\
    data: [DONE]\n\n";

#[test]
fn a_connection_that_the_server_closed_meanwhile_costs_no_request() {
    // It answers once a connection and closes it without having said so.
    let (url, connections) = serve(|stream, _request| {
        stream.write_all(whole("200 OK", "text/event-stream", STREAM).as_bytes()).unwrap();
        false
    });
    let shape = json(&load(&url, &["--concurrency", "1", "--requests", "5"]));
    assert_eq!(shape["outcomes"], json!({ "completed": 5 }));
    assert_eq!(shape["output_tokens"], json!({ "total": 5, "source": "usage" }));
    assert!(connections.load(Ordering::SeqCst) >= 5);
}

#[test]
fn a_connection_is_used_again() {
    let (url, connections) = serve(|stream, _request| {
        stream.write_all(whole("200 OK", "text/event-stream", STREAM).as_bytes()).unwrap();
        true
    });
    let shape = json(&load(&url, &["--concurrency", "1", "--requests", "20"]));
    assert_eq!(shape["outcomes"], json!({ "completed": 20 }));
    assert_eq!(connections.load(Ordering::SeqCst), 1);
}

#[test]
fn a_key_is_sent_and_never_shown() {
    const KEY: &str = "sk-proj-0123456789abcdefghijklmnop";
    let (url, _) = serve(|stream, request| {
        assert!(request.contains(&format!("authorization: Bearer {KEY}\r\n")), "{request}");
        let body = format!("{{\"error\":{{\"message\":\"Incorrect API key provided: {KEY}.\"}}}}");
        stream.write_all(whole("401 Unauthorized", "application/json", &body).as_bytes()).unwrap();
        true
    });
    let project = super::engine::project();
    let output = Command::new(PROGRAM)
        .args(["load", "--json", "--url", &url, "--model", "m", "--concurrency", "1", "--requests", "2"])
        .args(["--api-key-env", "LEASEBENCH_TEST_KEY", "--project", project.path().to_str().unwrap()])
        .env("LEASEBENCH_TEST_KEY", KEY)
        .output()
        .unwrap();
    assert_eq!(json(&output)["outcomes"], json!({ "status_401": 2 }));
    let records = super::engine::records(project.path());
    assert_eq!(records.len(), 1);
    let record = std::fs::read_to_string(&records[0]).unwrap();
    for (name, text) in [
        ("standard output", String::from_utf8(output.stdout).unwrap()),
        ("standard error", String::from_utf8(output.stderr).unwrap()),
        ("the record", record.clone()),
    ] {
        assert!(!text.contains(KEY), "{name} shows the key: {text}");
    }
    assert!(record.contains("Incorrect API key provided: [masked"), "{record}");
    assert!(record.contains("LEASEBENCH_TEST_KEY"), "the variable's name is part of the plan");
}

#[test]
fn what_is_no_answer_has_its_cause() {
    for (name, answer, cause) in [
        ("nothing", String::new(), "cut_short"),
        ("no HTTP", "SSH-2.0-OpenSSH_9.2\r\n\r\n".to_owned(), "cut_short"),
        ("an error in JSON", whole("200 OK", "application/json", "{\"error\":\"no\"}"), "stream_error"),
        ("an answer that is no stream", whole("200 OK", "application/json", "{\"choices\":[]}"), "malformed"),
        ("an empty stream", whole("200 OK", "text/event-stream", ""), "cut_short"),
        ("a stream of nothing", whole("200 OK", "text/event-stream", "data: [DONE]\n\n"), "malformed"),
        (
            "a stream without a type",
            format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{STREAM}", STREAM.len()),
            "completed",
        ),
        ("a stream until the end", format!("HTTP/1.1 200 OK\r\n\r\n{STREAM}"), "completed"),
        (
            "less than was said",
            format!("HTTP/1.1 200 OK\r\ncontent-length: 9000\r\n\r\n{}", &STREAM[..80]),
            "cut_short",
        ),
        ("a redirect", whole("302 Found", "text/html", ""), "status_302"),
    ] {
        let (url, _) = serve(move |stream, _request| {
            stream.write_all(answer.as_bytes()).unwrap();
            false
        });
        let output = load(&url, &["--concurrency", "1", "--requests", "1"]);
        assert_eq!(json(&output)["outcomes"], json!({ cause: 1 }), "{name}");
    }
}

#[test]
fn a_stream_without_end_is_bounded() {
    let (url, _) = serve(|stream, _request| {
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: ").unwrap();
        let piece = vec![b'x'; 1 << 16];
        // Until the client has had enough.
        while stream.write_all(&piece).is_ok() {}
        false
    });
    let shape = json(&load(&url, &["--concurrency", "1", "--requests", "1"]));
    assert_eq!(shape["outcomes"], json!({ "malformed": 1 }));
}
