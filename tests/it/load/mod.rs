//! Load runs against a real practice server in another process, and against small servers scripted here.

mod command_line;
mod engine;
mod hostile;
mod laws;
mod scripted;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// The program under test.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_leasebench");

/// A practice server in its own process, ended when dropped.
pub struct Practice {
    child: Child,
    pub url: String,
}

impl Practice {
    pub fn start(args: &[&str]) -> Self {
        let mut child = Command::new(PROGRAM)
            // It ends by itself should this test be killed.
            .args(["practice-server", "--port", "0", "--ttl-secs", "300"])
            .args(args)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let at = line.find("http://").unwrap_or_else(|| panic!("no address in {line:?}"));
        Self { child, url: line[at..].trim().to_owned() }
    }

    /// The same server with this mode in the path.
    pub fn mode(&self, mode: &str) -> String {
        format!("{}/m/{mode}", self.url)
    }

    /// What the server says about itself.
    pub fn stats(&self) -> Value {
        serde_json::from_str(&self.http("GET", "/stats")).unwrap()
    }

    pub fn reset(&self) {
        self.http("POST", "/stats/reset");
    }

    fn http(&self, method: &str, path: &str) -> String {
        let mut stream = TcpStream::connect(self.url.trim_start_matches("http://")).unwrap();
        write!(stream, "{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        body.to_owned()
    }
}

impl Drop for Practice {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Runs `leasebench load --json` to its end.
pub fn load(url: &str, args: &[&str]) -> Output {
    let mut command = Command::new(PROGRAM);
    command.args(["load", "--json", "--model", "practice", "--url", url]).args(args);
    command.output().unwrap()
}

/// Its JSON, whatever the exit status.
pub fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
}

/// Waits until `ready` answers something; a deadline keeps a broken program from hanging the tests.
#[track_caller]
pub fn wait_for<T>(what: &str, mut ready: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(value) = ready() {
            return value;
        }
        assert!(Instant::now() < deadline, "waited for {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
