//! What the practice server answers.

use std::fmt::Write as _;
use std::io;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::sleep_until;

use super::http::{self, Request};
use super::stats::Stats;
use super::{Mode, State};
use crate::domain::load::Api;

/// The most tokens one answer has.
const MAX_TOKENS: u32 = 1_000_000;
/// The answer's words, again and again; each counts as one token.
const WORDS: [&str; 12] =
    [" the", " quick", " server", " writes", " one", " word", " after", " the", " other", " and", " stamps", " each"];
/// The same for the mode that splits characters.
const WIDE_WORDS: [&str; 4] = [" 东京塔", " 🗼", " žluťoučký", " 日本"];

/// What becomes of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    KeepAlive,
    Close,
}

/// What is read of a completion request.
#[derive(Debug, Deserialize)]
struct Wanted {
    #[serde(default)]
    model: String,
    #[serde(default)]
    messages: Option<Vec<Value>>,
    #[serde(default)]
    prompt: Option<Value>,
    #[serde(default)]
    stream: bool,
    #[serde(default)]
    stream_options: StreamOptions,
    #[serde(default)]
    max_tokens: Option<u32>,
    #[serde(default)]
    max_completion_tokens: Option<u32>,
    #[serde(default)]
    ignore_eos: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct StreamOptions {
    include_usage: bool,
    continuous_usage_stats: bool,
}

/// Answers one request.
///
/// # Errors
/// When the client left.
pub(super) async fn route(stream: &mut TcpStream, state: &State, request: &Request) -> io::Result<Then> {
    let received = Instant::now();
    let (mode, path) = match request.path.strip_prefix("/m/").and_then(|rest| rest.split_once('/')) {
        Some((name, rest)) => match Mode::named(name) {
            Some(mode) => (mode, format!("/{rest}")),
            None => return refuse(stream, 404, "no such mode").await,
        },
        None => (state.settings.mode, request.path.clone()),
    };
    match (request.method.as_str(), path.as_str()) {
        ("POST", "/v1/chat/completions") => complete(stream, state, request, mode, Api::Chat, received).await,
        ("POST", "/v1/completions") => complete(stream, state, request, mode, Api::Completions, received).await,
        ("GET", "/v1/models") => {
            let models = json!({ "object": "list", "data": [{ "id": "practice", "object": "model", "created": 0, "owned_by": "leasebench" }] });
            json_answer(stream, &models).await
        }
        ("GET", "/health") => json_answer(stream, &json!({ "status": "ok" })).await,
        ("GET", "/stats") => {
            let stats = with(state, |stats| stats.json());
            json_answer(stream, &stats).await
        }
        ("POST", "/stats/reset") => {
            with(state, Stats::reset);
            json_answer(stream, &json!({ "status": "reset" })).await
        }
        ("GET" | "POST", _) => refuse(stream, 404, "no such path").await,
        _ => refuse(stream, 405, "no such method").await,
    }
}

async fn json_answer(stream: &mut TcpStream, value: &Value) -> io::Result<Then> {
    http::answer(stream, 200, "application/json", &[], value.to_string().as_bytes()).await?;
    Ok(Then::KeepAlive)
}

async fn refuse(stream: &mut TcpStream, status: u16, why: &str) -> io::Result<Then> {
    http::answer(stream, status, "application/json", &[], http::error(status, why).as_bytes()).await?;
    Ok(Then::KeepAlive)
}

/// Works on the stamps. A panic elsewhere leaves them as they are.
fn with<T>(state: &State, work: impl FnOnce(&mut Stats) -> T) -> T {
    match state.stats.lock() {
        Ok(mut stats) => work(&mut stats),
        Err(poisoned) => work(&mut poisoned.into_inner()),
    }
}

/// Counts a stream as open while it lives.
struct Open<'a>(&'a State);

impl<'a> Open<'a> {
    fn new(state: &'a State) -> Self {
        with(state, Stats::enter);
        Self(state)
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        with(self.0, Stats::leave);
    }
}

async fn complete(
    stream: &mut TcpStream,
    state: &State,
    request: &Request,
    mode: Mode,
    api: Api,
    received: Instant,
) -> io::Result<Then> {
    let idx = with(state, |stats| {
        stats.requests += 1;
        stats.requests - 1
    });
    let mode = mode.of_request(idx);
    let wanted: Wanted = match serde_json::from_slice(&request.body) {
        Ok(wanted) => wanted,
        Err(error) => return refuse(stream, 400, &format!("the body is not a request: {error}")).await,
    };
    let n_tokens = wanted.max_tokens.or(wanted.max_completion_tokens).unwrap_or(state.settings.tokens);
    let prompt_tokens = match (api, &wanted.messages, &wanted.prompt) {
        (Api::Chat, Some(messages), _) if !messages.is_empty() => {
            messages.iter().filter_map(|message| message.get("content")).map(words_of).sum()
        }
        (Api::Completions, _, Some(prompt)) => words_of(prompt),
        (Api::Chat, ..) => return refuse(stream, 400, "messages is missing").await,
        (Api::Completions, ..) => return refuse(stream, 400, "prompt is missing").await,
    };
    if n_tokens == 0 || n_tokens > MAX_TOKENS {
        return refuse(stream, 400, "max_tokens must be between 1 and 1000000").await;
    }
    match mode {
        Mode::Status503 => return refuse(stream, 503, "the practice server is full").await,
        Mode::Status429 => {
            let body = http::error(429, "too many requests");
            http::answer(stream, 429, "application/json", &[("retry-after", "1")], body.as_bytes()).await?;
            return Ok(Then::KeepAlive);
        }
        Mode::NotSse => {
            let page = b"<!doctype html><title>Practice</title><p>This is not a stream.";
            http::answer(stream, 200, "text/html; charset=utf-8", &[], page).await?;
            return Ok(Then::KeepAlive);
        }
        Mode::RefuseOptions if wanted.stream_options.continuous_usage_stats => {
            return refuse(stream, 400, "Unknown parameter: 'stream_options.continuous_usage_stats'.").await;
        }
        Mode::RefuseOptions if wanted.ignore_eos.is_some() => {
            return refuse(stream, 400, "Unrecognized request argument supplied: ignore_eos").await;
        }
        _ => {}
    }
    let turn = if mode == Mode::Queue { Some(&state.turn) } else { state.slots.as_ref() };
    // The semaphores are never closed.
    let _turn = match turn {
        Some(turn) => turn.acquire().await.ok(),
        None => None,
    };
    let started = if turn.is_some() { Instant::now() } else { received };
    let answer = Answer { state, mode, api, n_tokens, prompt_tokens, wanted: &wanted, received, started, idx };
    if wanted.stream { answer.stream(stream).await } else { answer.whole(stream).await }
}

/// How many words a prompt's text has; a practice token is a word.
fn words_of(value: &Value) -> u32 {
    match value {
        Value::String(text) => u32::try_from(text.split_whitespace().count()).unwrap_or(u32::MAX),
        Value::Array(parts) => parts.iter().map(words_of).fold(0, u32::saturating_add),
        Value::Object(part) => part.get("text").map_or(0, words_of),
        _ => 0,
    }
}

/// One answer to be given.
struct Answer<'a> {
    state: &'a State,
    mode: Mode,
    api: Api,
    n_tokens: u32,
    prompt_tokens: u32,
    wanted: &'a Wanted,
    received: Instant,
    /// When its turn came.
    started: Instant,
    idx: u64,
}

impl Answer<'_> {
    /// The answer as one JSON body.
    async fn whole(&self, stream: &mut TcpStream) -> io::Result<Then> {
        let settings = &self.state.settings;
        sleep_until((self.started + settings.ttft + settings.gap * self.n_tokens.saturating_sub(1)).into()).await;
        let text: String = (0..self.n_tokens).map(|number| self.word(number)).collect();
        let (id, object, choice) = match self.api {
            Api::Chat => (
                "chatcmpl",
                "chat.completion",
                json!({ "index": 0, "message": { "role": "assistant", "content": text }, "finish_reason": "length" }),
            ),
            Api::Completions => {
                ("cmpl", "text_completion", json!({ "index": 0, "text": text, "finish_reason": "length" }))
            }
        };
        let total = self.prompt_tokens.saturating_add(self.n_tokens);
        let body = json!({
            "id": format!("{id}-{}", self.idx),
            "object": object,
            "created": 0,
            "model": self.wanted.model,
            "choices": [choice],
            "usage": { "prompt_tokens": self.prompt_tokens, "completion_tokens": self.n_tokens, "total_tokens": total },
        });
        with(self.state, |stats| {
            stats.tokens += u64::from(self.n_tokens);
            stats.completed += 1;
        });
        json_answer(stream, &body).await
    }

    /// The answer as a stream.
    async fn stream(&self, stream: &mut TcpStream) -> io::Result<Then> {
        let _open = Open::new(self.state);
        let settings = &self.state.settings;
        let mut out = Out::new(self.mode);
        out.buffer.push_str(&http::head(200, "text/event-stream; charset=utf-8", &[("cache-control", "no-cache")]));
        out.buffer.push_str("transfer-encoding: chunked\r\n\r\n");
        if self.api == Api::Chat {
            out.event(&self.chunk(r#"{"role":"assistant","content":""}"#, None, 0));
            if self.mode == Mode::EarlyRole {
                out.write(stream).await?;
            }
        }
        let per_event = if self.mode == Mode::Merged { 4 } else { 1 };
        let half = self.n_tokens.div_ceil(2);
        let mut last = self.received;
        let mut n_sent = 0;
        while n_sent < self.n_tokens {
            if n_sent >= half && !self.go_on(stream, &mut out).await? {
                return Ok(Then::Close);
            }
            let n_now = per_event.min(self.n_tokens - n_sent);
            sleep_until((self.started + settings.ttft + settings.gap * n_sent).into()).await;
            let finish = (n_sent + n_now == self.n_tokens).then_some(self.finish_reason());
            let event = self.chunk(&self.delta(n_sent, n_now), finish, n_sent + n_now);
            if self.mode == Mode::Comments {
                out.comment();
            }
            let at = out.token_event(stream, &event, settings.gap).await?;
            let after_secs = at.saturating_duration_since(last).as_secs_f64();
            with(self.state, |stats| stats.event(n_now, after_secs, n_sent == 0));
            last = at;
            n_sent += n_now;
        }
        if self.wanted.stream_options.include_usage && self.mode != Mode::NoUsage {
            out.event(&self.usage_chunk());
        }
        if self.mode != Mode::NoDone {
            out.event("[DONE]");
        }
        out.buffer.push_str("0\r\n\r\n");
        out.write(stream).await?;
        with(self.state, |stats| stats.completed += 1);
        Ok(Then::KeepAlive)
    }

    /// Does what the mode does after half the tokens; answers whether more tokens follow.
    async fn go_on(&self, stream: &mut TcpStream, out: &mut Out) -> io::Result<bool> {
        match self.mode {
            Mode::Cut => {
                stream.shutdown().await?;
                Ok(false)
            }
            Mode::Stall => {
                // Until the client gives up.
                let mut nothing = [0; 64];
                while stream.read(&mut nothing).await? > 0 {}
                Ok(false)
            }
            Mode::ErrorInStream => {
                out.event(&http::error(500, "the practice engine was stopped"));
                out.event("[DONE]");
                out.buffer.push_str("0\r\n\r\n");
                out.write(stream).await?;
                Ok(false)
            }
            Mode::BrokenJson => {
                out.event(r#"{"choices":[{"index":0,"delta":{"content":"#);
                out.write(stream).await?;
                Ok(true)
            }
            _ => Ok(true),
        }
    }

    /// The word of a token.
    fn word(&self, number: u32) -> &'static str {
        let words: &[&str] = if self.mode == Mode::SplitUtf8 { &WIDE_WORDS } else { &WORDS };
        let number = usize::try_from(number).unwrap_or(0);
        if self.mode == Mode::EmptyDeltas && number % 3 == 2 {
            return "";
        }
        words.get(number % words.len().max(1)).copied().unwrap_or_default()
    }

    /// The delta (or the text) of `n` tokens from `first` on, as JSON. The words hold nothing that JSON escapes.
    fn delta(&self, first: u32, n: u32) -> String {
        let text: String = (first..first + n).map(|number| self.word(number)).collect();
        let is_first_half = first < self.n_tokens.div_ceil(2);
        match (self.api, self.mode) {
            (Api::Completions, _) => format!("\"{text}\""),
            (Api::Chat, Mode::Reasoning) if is_first_half => format!(r#"{{"reasoning":"{text}"}}"#),
            (Api::Chat, Mode::ReasoningContent) if is_first_half => format!(r#"{{"reasoning_content":"{text}"}}"#),
            (Api::Chat, Mode::ToolCalls) if first == 0 => {
                r#"{"tool_calls":[{"index":0,"id":"call_0","type":"function","function":{"name":"look_up","arguments":""}}]}"#
                    .to_owned()
            }
            (Api::Chat, Mode::ToolCalls) => {
                format!(r#"{{"tool_calls":[{{"index":0,"function":{{"arguments":"{text}"}}}}]}}"#)
            }
            (Api::Chat, _) => format!(r#"{{"content":"{text}"}}"#),
        }
    }

    fn finish_reason(&self) -> &'static str {
        if self.mode == Mode::ToolCalls { "tool_calls" } else { "length" }
    }

    /// One chunk of the stream; `n_so_far` is what the count per event says.
    fn chunk(&self, delta: &str, finish: Option<&str>, n_so_far: u32) -> String {
        let mut chunk = String::with_capacity(256);
        self.open_chunk(&mut chunk);
        let finish = finish.map_or_else(|| "null".to_owned(), |finish| format!("\"{finish}\""));
        let field = match self.api {
            Api::Chat => "delta",
            Api::Completions => "text",
        };
        // Writing into a String does not fail.
        write!(chunk, r#"[{{"index":0,"{field}":{delta},"finish_reason":{finish}}}]"#).ok();
        if self.wanted.stream_options.continuous_usage_stats && self.mode != Mode::NoUsage {
            self.close_with_usage(&mut chunk, n_so_far);
        }
        chunk.push('}');
        chunk
    }

    fn usage_chunk(&self) -> String {
        let mut chunk = String::with_capacity(256);
        self.open_chunk(&mut chunk);
        chunk.push_str("[]");
        self.close_with_usage(&mut chunk, self.n_tokens);
        chunk.push('}');
        chunk
    }

    fn open_chunk(&self, chunk: &mut String) {
        let (id, object) = match self.api {
            Api::Chat => ("chatcmpl", "chat.completion.chunk"),
            Api::Completions => ("cmpl", "text_completion"),
        };
        let idx = self.idx;
        write!(chunk, r#"{{"id":"{id}-{idx}","object":"{object}","created":0,"model":"practice","choices":"#).ok();
    }

    fn close_with_usage(&self, chunk: &mut String, n_so_far: u32) {
        let (prompt, total) = (self.prompt_tokens, self.prompt_tokens.saturating_add(n_so_far));
        write!(chunk, r#","usage":{{"prompt_tokens":{prompt},"total_tokens":{total},"completion_tokens":{n_so_far}}}"#)
            .ok();
    }
}

/// Bytes on their way out: HTTP chunks, gathered until written.
struct Out {
    buffer: String,
    mode: Mode,
}

impl Out {
    fn new(mode: Mode) -> Self {
        Self { buffer: String::with_capacity(1024), mode }
    }

    fn line_end(&self) -> &'static str {
        if self.mode == Mode::Crlf { "\r\n" } else { "\n" }
    }

    /// Adds an event as one HTTP chunk.
    fn event(&mut self, data: &str) {
        let end = self.line_end();
        self.chunk(&format!("data: {data}{end}{end}"));
    }

    fn comment(&mut self) {
        let end = self.line_end();
        self.chunk(&format!(": keep-alive{end}{end}"));
    }

    fn chunk(&mut self, bytes: &str) {
        write!(self.buffer, "{:x}\r\n{bytes}\r\n", bytes.len()).ok();
    }

    async fn write(&mut self, stream: &mut TcpStream) -> io::Result<()> {
        stream.write_all(self.buffer.as_bytes()).await?;
        self.buffer.clear();
        Ok(())
    }

    /// Writes an event that carries tokens; answers the instant right before its last byte was handed to the socket.
    async fn token_event(&mut self, stream: &mut TcpStream, data: &str, gap: Duration) -> io::Result<Instant> {
        let n_pieces: usize = match self.mode {
            Mode::SlowDrip => 4,
            Mode::SplitUtf8 => 2,
            _ => {
                self.event(data);
                let at = Instant::now();
                self.write(stream).await?;
                return Ok(at);
            }
        };
        self.write(stream).await?;
        let end = self.line_end();
        let event = format!("data: {data}{end}{end}").into_bytes();
        let mut pieces = split(&event, n_pieces).into_iter().peekable();
        let mut at = Instant::now();
        while let Some(piece) = pieces.next() {
            let mut chunk = format!("{:x}\r\n", piece.len()).into_bytes();
            chunk.extend_from_slice(piece);
            chunk.extend_from_slice(b"\r\n");
            at = Instant::now();
            stream.write_all(&chunk).await?;
            if self.mode == Mode::SlowDrip && pieces.peek().is_some() {
                sleep_until((at + gap / 5).into()).await;
            }
        }
        Ok(at)
    }
}

/// The bytes in `n` pieces; two are split inside the first character of several bytes, if there is one.
fn split(bytes: &[u8], n: usize) -> Vec<&[u8]> {
    let inside = bytes.iter().position(|byte| !byte.is_ascii()).map(|at| at + 1);
    match inside {
        Some(at) if n == 2 => {
            let (head, tail) = bytes.split_at(at);
            vec![head, tail]
        }
        _ => bytes.chunks(bytes.len().div_ceil(n).max(1)).collect(),
    }
}
