//! One request: from its intended send time to its outcome.

use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::time::{Duration, Instant};

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderValue};
use hyper::{Method, Request, Response};

use super::Note;
use super::prompts::Source;
use crate::domain::load::{LoadPlan, Outcome, RequestRecord, TokenSource};
use crate::domain::mask::mask;
use crate::domain::secret::Secret;
use crate::engine::endpoint::{Conn, Deadline, Endpoint, Late, Next, NoConnection, NoResponse, secs};
use crate::engine::part::{Line, empty_request};
use crate::wire::openai::{self, Ending, Opt, Reader, Trace};

/// The most that is read of an answer that is no stream, bytes.
const MAX_PLAIN: usize = 64 << 10;
/// How long the rest of a finished answer may take before its connection is given up instead of used again.
const REST: Duration = Duration::from_millis(250);

/// What all requests of a run share.
pub(super) struct Shared {
    pub(super) plan: LoadPlan,
    pub(super) endpoint: Endpoint,
    pub(super) prompts: Source,
    pub(super) key: Option<Secret>,
    pub(super) notes: mpsc::Sender<Note>,
    pub(super) gauges: Arc<Gauges>,
    /// The start of the run: second zero of every time.
    pub(super) origin: Instant,
    /// Options that the server refused, a bit each.
    refused: AtomicU8,
    server: OnceLock<()>,
    idle: Mutex<Vec<Conn>>,
}

/// Figures that a screen shows while requests run.
#[derive(Debug, Default)]
pub(super) struct Gauges {
    pub(super) in_flight: AtomicU32,
    /// Token events of measured requests.
    pub(super) tokens: AtomicU64,
    /// Measured requests sent.
    pub(super) sent: AtomicU32,
    /// CPU time of the measuring thread since the measuring began, µs.
    pub(super) cpu_us: AtomicU64,
    /// Requests that got any answer.
    pub(super) answered: AtomicU32,
    /// Requests that reached nobody.
    pub(super) unreached: AtomicU32,
}

impl Shared {
    pub(super) fn new(
        plan: LoadPlan,
        endpoint: Endpoint,
        prompts: Source,
        key: Option<Secret>,
        notes: mpsc::Sender<Note>,
        gauges: Arc<Gauges>,
        origin: Instant,
    ) -> Self {
        Self {
            plan,
            endpoint,
            prompts,
            key,
            notes,
            gauges,
            origin,
            refused: AtomicU8::new(0),
            server: OnceLock::new(),
            idle: Mutex::new(Vec::new()),
        }
    }

    /// Seconds since the start of the run.
    pub(super) fn now(&self) -> f64 {
        self.at(Instant::now())
    }

    fn at(&self, instant: Instant) -> f64 {
        instant.saturating_duration_since(self.origin).as_secs_f64()
    }

    /// Tells the keeper. It outlives every request, so that nothing is lost here.
    pub(super) fn note(&self, note: Note) {
        self.notes.send(note).ok();
    }

    /// Nobody ever answered: going on would measure nothing.
    pub(super) fn is_hopeless(&self) -> bool {
        const ENOUGH: u32 = 100;
        self.gauges.answered.load(Ordering::Relaxed) == 0 && self.gauges.unreached.load(Ordering::Relaxed) >= ENOUGH
    }

    /// An idle connection, newest first.
    pub(super) fn take_idle(&self) -> Option<Conn> {
        self.idle.lock().ok()?.pop()
    }

    /// How many connections wait.
    pub(super) fn n_idle(&self) -> usize {
        self.idle.lock().map_or(0, |idle| idle.len())
    }

    /// Keeps a connection for the next request that needs one.
    pub(super) fn put_idle(&self, conn: Conn) {
        if let Ok(mut idle) = self.idle.lock() {
            idle.push(conn);
        }
    }

    /// Opens a connection ahead of its use. A failure says nothing: the request that needs one will meet it itself.
    pub(super) async fn open_ahead(&self) -> Option<Conn> {
        self.endpoint.connect(secs(self.plan.timeouts.connect_secs)).await.ok()
    }

    /// The body of a request.
    pub(super) fn body(&self, step: u64, idx: u64) -> Asked {
        let refused = self.refused.load(Ordering::Relaxed);
        let prompt = self.prompts.prompt(step, idx);
        let body = openai::request_body(&self.plan.model, &prompt, |option| refused & bit(option) == 0);
        Asked { body: body.into(), refused, step, idx }
    }

    fn request(&self, body: Bytes) -> Result<Request<Full<Bytes>>, hyper::http::Error> {
        let url = self.endpoint.url();
        let mut request = Request::builder()
            .method(Method::POST)
            .uri(&url.path)
            .header(header::HOST, url.authority())
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "text/event-stream")
            .header(header::USER_AGENT, concat!("leasebench/", env!("CARGO_PKG_VERSION")));
        if let Some(key) = &self.key {
            let mut value = HeaderValue::from_str(&format!("Bearer {}", key.expose()))?;
            value.set_sensitive(true);
            request = request.header(header::AUTHORIZATION, value);
        }
        request.body(Full::new(body))
    }

    /// Leaves an option out from now on, because the server refused it.
    fn leave_out(&self, option: Opt) {
        if self.refused.fetch_or(bit(option), Ordering::Relaxed) & bit(option) == 0 {
            self.note(Note::Line(Line::RefusedOption(option.name().to_owned())));
        }
    }
}

const fn bit(option: Opt) -> u8 {
    1 << option as u8
}

/// A request ready to be sent.
pub(super) struct Asked {
    body: Bytes,
    /// The options it leaves out.
    refused: u8,
    step: u64,
    idx: u64,
}

/// What a request left behind.
pub(super) struct Landed {
    /// A connection that can be used again.
    pub(super) conn: Option<Conn>,
    /// Whether the answer was complete, accepted or not.
    pub(super) is_complete: bool,
}

/// Sends a request and follows it to its end.
///
/// `is_measured` is false for the warm-up, of which nothing is kept.
pub(super) async fn fly(
    shared: &Arc<Shared>,
    mut conn: Option<Conn>,
    mut asked: Asked,
    intended_secs: Option<f64>,
    is_measured: bool,
) -> Landed {
    let mut flight = Flight::begin(shared, intended_secs, is_measured);
    loop {
        match flight.attempt(&mut conn, asked.body.clone(), asked.refused).await {
            Attempt::Ended(ending) => {
                let is_complete = matches!(ending.outcome, Outcome::Completed | Outcome::Rejected);
                flight.record(ending);
                return Landed { conn, is_complete };
            }
            Attempt::Stale => conn = None,
            // The answer was about an option: the request is asked again without it, and only the last try counts.
            Attempt::Refused => {
                asked = shared.body(asked.step, asked.idx);
                if flight.intended_secs.is_none() {
                    flight.sent = Instant::now();
                }
            }
        }
    }
}

/// What became of a try.
enum Attempt {
    Ended(Ending),
    /// The server had closed the idle connection meanwhile; nothing was asked yet.
    Stale,
    /// The server refused an option.
    Refused,
}

/// A request in the air. Dropped before its end it is recorded as cancelled.
struct Flight {
    shared: Arc<Shared>,
    intended_secs: Option<f64>,
    sent: Instant,
    is_measured: bool,
    reader: Option<Reader>,
    trace: Option<Trace>,
    /// When the answer ended; connections are cleared after that.
    end: Option<Instant>,
    has_ended: bool,
}

impl Flight {
    fn begin(shared: &Arc<Shared>, intended_secs: Option<f64>, is_measured: bool) -> Self {
        let sent = Instant::now();
        shared.gauges.in_flight.fetch_add(1, Ordering::Relaxed);
        if is_measured {
            shared.gauges.sent.fetch_add(1, Ordering::Relaxed);
            if let Some(intended) = intended_secs {
                let sent_secs = shared.at(sent);
                shared.note(Note::Sent { at: sent_secs, lateness_secs: sent_secs - intended });
            }
        }
        Self {
            shared: Arc::clone(shared),
            intended_secs,
            sent,
            is_measured,
            reader: None,
            trace: None,
            end: None,
            has_ended: false,
        }
    }

    async fn attempt(&mut self, conn: &mut Option<Conn>, body: Bytes, refused: u8) -> Attempt {
        let shared = Arc::clone(&self.shared);
        let timeouts = &shared.plan.timeouts;
        let live = match conn {
            Some(live) => live,
            None => match shared.endpoint.connect(secs(timeouts.connect_secs)).await {
                Ok(opened) => conn.insert(opened),
                Err(error) => {
                    shared.gauges.unreached.fetch_add(1, Ordering::Relaxed);
                    let (outcome, message) = match error {
                        NoConnection::TimedOut => (Outcome::ConnectTimeout, String::new()),
                        NoConnection::Refused(words) => (Outcome::Refused, words),
                    };
                    return self.failed(outcome, &message);
                }
            },
        };
        let request = match shared.request(body) {
            Ok(request) => request,
            Err(error) => return self.failed(Outcome::Refused, &error.to_string()),
        };
        let mut deadline = Deadline::new(self.sent, timeouts);
        let response = match live.send(request, &mut deadline).await {
            Ok(response) => response,
            Err(NoResponse::Closed(_)) if live.has_served => return Attempt::Stale,
            Err(NoResponse::Closed(words)) => {
                *conn = None;
                return self.failed(Outcome::CutShort, &words);
            }
            Err(NoResponse::Late(late)) => {
                *conn = None;
                return self.failed(late_outcome(late), "");
            }
        };
        shared.gauges.answered.fetch_add(1, Ordering::Relaxed);
        self.note_server(&response);
        let (attempt, is_whole) = if !response.status().is_success() || !is_stream(&response) {
            self.plain(live, response, &mut deadline, refused).await
        } else {
            self.stream(live, response.into_body(), &mut deadline).await
        };
        live.has_served = true;
        if !is_whole || !live.is_usable().await {
            *conn = None;
        }
        attempt
    }

    /// Follows a stream. Answers whether its body ended, so that the connection is free.
    async fn stream(&mut self, live: &mut Conn, mut body: Incoming, deadline: &mut Deadline) -> (Attempt, bool) {
        let rule = &self.shared.plan.acceptance.clone();
        // The reader is kept in `self`, so that a request dropped in mid-stream still says what came.
        let mut reader = self.reader.insert(Reader::new(self.shared.plan.api, rule));
        let mut n_seen = 0;
        let (end, is_whole, broken) = loop {
            match live.next(&mut body, deadline).await {
                Next::Frame(at, frame) => {
                    let at_secs = self.shared.at(at);
                    let going_on = reader.feed(at_secs, &frame);
                    deadline.frame(at);
                    let events = reader.events();
                    if events > n_seen {
                        if self.is_measured {
                            self.shared.gauges.tokens.fetch_add(u64::from(events - n_seen), Ordering::Relaxed);
                            if n_seen == 0 {
                                self.note_first_token(at_secs);
                                let Some(kept) = &mut self.reader else { break (at, false, None) };
                                reader = kept;
                            }
                        }
                        n_seen = events;
                    }
                    if !going_on {
                        let is_free = clear(live, &mut body, deadline, at).await;
                        break (at, is_free, None);
                    }
                }
                Next::End => break (Instant::now(), true, None),
                Next::Broken(words) => break (Instant::now(), false, Some(words)),
                Next::Late(late) => {
                    self.trace = self.reader.take().map(Reader::abandon);
                    return (self.failed(late_outcome(late), ""), false);
                }
            }
        };
        self.end = Some(end);
        let Some(reader) = self.reader.take() else { return (self.failed(Outcome::Malformed, ""), false) };
        let (mut ending, trace) = reader.finish(self.shared.at(end), broken.is_none(), rule);
        self.trace = Some(trace);
        if let (Outcome::CutShort, Some(words)) = (ending.outcome, broken) {
            ending.message = words;
        }
        (Attempt::Ended(ending), is_whole)
    }

    /// Reads an answer that is no stream: an error, or something that is not what was asked for.
    async fn plain(
        &mut self,
        live: &mut Conn,
        response: Response<Incoming>,
        deadline: &mut Deadline,
        refused: u8,
    ) -> (Attempt, bool) {
        let status = response.status();
        let mut body = response.into_body();
        let mut bytes = Vec::new();
        let is_whole = loop {
            match live.next(&mut body, deadline).await {
                Next::Frame(at, frame) => {
                    deadline.frame(at);
                    bytes.extend_from_slice(&frame);
                    if bytes.len() > MAX_PLAIN {
                        break false;
                    }
                }
                Next::End => break true,
                // The status was said already; what is missing are words.
                Next::Broken(_) | Next::Late(_) => break false,
            }
        };
        self.end = Some(Instant::now());
        let text = String::from_utf8_lossy(&bytes);
        if matches!(status.as_u16(), 400 | 422)
            && let Some(option) = Opt::refused(&text, |option| refused & bit(option) == 0)
        {
            self.shared.leave_out(option);
            return (Attempt::Refused, is_whole);
        }
        let message = openai::error_words(&text);
        let attempt = if !status.is_success() {
            self.failed(Outcome::Status(status.as_u16()), &message)
        } else if serde_json::from_str::<serde_json::Value>(&text).is_ok_and(|value| value.get("error").is_some()) {
            self.failed(Outcome::StreamError, &message)
        } else {
            self.failed(Outcome::Malformed, &message)
        };
        (attempt, is_whole)
    }

    fn failed(&self, outcome: Outcome, message: &str) -> Attempt {
        Attempt::Ended(Ending { outcome, message: openai::shorten(message) })
    }

    fn note_server(&self, response: &Response<Incoming>) {
        if self.shared.server.get().is_none()
            && let Some(Ok(name)) = response.headers().get(header::SERVER).map(HeaderValue::to_str)
            && self.shared.server.set(()).is_ok()
        {
            self.shared.note(Note::Line(Line::Server(openai::shorten(name))));
        }
    }

    fn note_first_token(&self, at: f64) {
        let start = self.intended_secs.unwrap_or_else(|| self.shared.at(self.sent));
        self.shared.note(Note::First { at, ttft_secs: at - start });
    }

    fn record(&mut self, ending: Ending) {
        self.has_ended = true;
        self.shared.gauges.in_flight.fetch_sub(1, Ordering::Relaxed);
        if !self.is_measured {
            return;
        }
        let sent_secs = self.shared.at(self.sent);
        let end_secs = self.end.map_or_else(|| self.shared.now(), |end| self.shared.at(end));
        let trace = self.trace.take().unwrap_or_default();
        let request = RequestRecord {
            end_secs,
            first_token_secs: trace.first_token_secs,
            first_text_secs: trace.first_text_secs,
            last_token_secs: trace.last_token_secs,
            gaps_us: trace.gaps_us,
            events: trace.events,
            merged: trace.merged,
            first_event_tokens: trace.first_event_tokens,
            input_tokens: trace.input_tokens,
            output_tokens: trace.output_tokens,
            token_source: trace.token_source.unwrap_or(TokenSource::None),
            outcome: ending.outcome,
            message: self.masked(&ending.message),
            ..empty_request(self.intended_secs.unwrap_or(sent_secs), sent_secs)
        };
        self.shared.note(Note::Line(Line::Request(request)));
    }

    /// The server's words without anything that looks like a secret; some servers repeat the key they refuse.
    fn masked(&self, message: &str) -> String {
        if message.is_empty() {
            return String::new();
        }
        let message = match &self.shared.key {
            Some(key) if !key.expose().is_empty() => message.replace(key.expose(), "[masked: api key]"),
            _ => message.to_owned(),
        };
        openai::shorten(&mask(&message).0)
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        if !self.has_ended {
            if let Some(reader) = self.reader.take() {
                self.trace = Some(reader.abandon());
            }
            self.record(Ending { outcome: Outcome::Cancelled, message: String::new() });
        }
    }
}

/// Reads what still comes of an answer that is known in full. Answers whether the body ended.
async fn clear(live: &mut Conn, body: &mut Incoming, deadline: &mut Deadline, at: Instant) -> bool {
    deadline.only(at, REST);
    loop {
        match live.next(body, deadline).await {
            Next::Frame(..) => {}
            Next::End => return true,
            Next::Broken(_) | Next::Late(_) => return false,
        }
    }
}

const fn late_outcome(late: Late) -> Outcome {
    match late {
        Late::FirstByte => Outcome::FirstByteTimeout,
        Late::Gap => Outcome::GapTimeout,
        Late::Total => Outcome::TotalTimeout,
    }
}

/// Whether a response is an event stream, or does not say what it is.
fn is_stream(response: &Response<Incoming>) -> bool {
    response.headers().get(header::CONTENT_TYPE).is_none_or(|value| {
        value.to_str().is_ok_and(|value| value.trim_start().to_ascii_lowercase().starts_with("text/event-stream"))
    })
}
