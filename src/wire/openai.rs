//! What an OpenAI-compatible endpoint says: one streamed answer read into token events, and the request that asks for it.
//!
//! An event is not a token and text is no proof of one. The role event (first, empty) carries none; special tokens and
//! half characters come as events without text; two tokens may share an event. So tokens are counted by `usage` where
//! the server sends it, per event where it sends that too, and events are counted apart.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value, json};

use super::sse::{self, Event};
use crate::domain::brief::AcceptRule;
use crate::domain::load::{Api, Outcome, TokenSource};

/// The most characters of a server's message that are kept.
const MAX_MESSAGE: usize = 300;
/// The most bytes of an answer's text that are kept for an acceptance rule.
const MAX_TEXT: usize = 8 << 20;

/// What one answer held, in seconds of the clock that its reader was given.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Trace {
    /// First token event.
    pub first_token_secs: Option<f64>,
    /// First event with visible text of the answer.
    pub first_text_secs: Option<f64>,
    /// Last token event.
    pub last_token_secs: Option<f64>,
    /// Gaps between neighbouring token events, µs.
    pub gaps_us: Vec<u32>,
    /// Token events.
    pub events: u32,
    /// Token events with text, reasoning, a tool call or a refusal in them.
    pub events_with_text: u32,
    /// A token event was known to carry more than one token.
    pub merged: bool,
    /// Tokens of the first token event, by the server's count per event, else 1; 0 without a token event.
    pub first_event_tokens: u32,
    /// Input tokens by `usage`.
    pub input_tokens: Option<u32>,
    /// Output tokens, by `usage` or else by events.
    pub output_tokens: Option<u32>,
    /// Who counted them.
    pub token_source: Option<TokenSource>,
}

impl Trace {
    fn push(&mut self, at: f64, tokens: u32, has_text: bool) {
        match self.last_token_secs {
            Some(last) => self.gaps_us.push(micros(at - last)),
            None => {
                self.first_token_secs = Some(at);
                self.first_event_tokens = tokens;
            }
        }
        self.last_token_secs = Some(at);
        self.events += 1;
        self.events_with_text += u32::from(has_text);
        self.merged |= tokens > 1;
    }
}

/// How a stream ended, with the server's words where it said something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    /// The outcome: completed, rejected, error in the stream, malformed or cut short.
    pub outcome: Outcome,
    /// The server's words, or what is wrong with them; at most 300 characters.
    pub message: String,
}

impl Ending {
    fn new(outcome: Outcome, message: impl AsRef<str>) -> Self {
        Self { outcome, message: shorten(message.as_ref()) }
    }
}

/// Reads one streamed answer. Feed it body frames with the instant each arrived; then ask how it ended.
#[derive(Debug)]
pub struct Reader {
    decoder: sse::Decoder,
    state: State,
}

#[derive(Debug)]
struct State {
    api: Api,
    trace: Trace,
    /// An empty finish event whose token only the final count can prove.
    pending_finish: Option<f64>,
    saw_choice: bool,
    /// The server counts tokens per event.
    counts_per_event: bool,
    finished: bool,
    done: bool,
    /// Cumulative output tokens by the last `usage` in the stream.
    counted: Option<u32>,
    failed: Option<Ending>,
    keeps_text: bool,
    text: String,
}

impl Reader {
    /// A reader for one answer. `rule` says whether its text must be kept.
    #[must_use]
    pub fn new(api: Api, rule: &AcceptRule) -> Self {
        Self {
            decoder: sse::Decoder::default(),
            state: State {
                api,
                trace: Trace::default(),
                pending_finish: None,
                saw_choice: false,
                counts_per_event: false,
                finished: false,
                done: false,
                counted: None,
                failed: None,
                keeps_text: matches!(rule, AcceptRule::Contains(_) | AcceptRule::MinChars(_)),
                text: String::new(),
            },
        }
    }

    /// Reads a body frame that arrived at `at`. Answers whether more is wanted: not after `[DONE]` or a failure.
    pub fn feed(&mut self, at: f64, frame: &[u8]) -> bool {
        if !self.is_reading() {
            return false;
        }
        let state = &mut self.state;
        if self.decoder.feed(frame, |event| state.event(at, event)).is_err() {
            state.failed = Some(Ending::new(Outcome::Malformed, sse::TooLong.to_string()));
        }
        self.is_reading()
    }

    /// Token events so far.
    #[must_use]
    pub fn events(&self) -> u32 {
        self.state.trace.events
    }

    /// When the first token came.
    #[must_use]
    pub fn first_token_secs(&self) -> Option<f64> {
        self.state.trace.first_token_secs
    }

    /// The body ended, or nothing more was wanted: how the answer ended, and what it held.
    ///
    /// `is_whole` says whether the body ended as the protocol promises; an answer without its finish event is cut short
    /// either way.
    #[must_use]
    pub fn finish(mut self, at: f64, is_whole: bool, rule: &AcceptRule) -> (Ending, Trace) {
        let state = &mut self.state;
        if is_whole && !state.done && state.failed.is_none() {
            let bounded = self.decoder.finish(|event| state.event(at, event));
            // What is left over was cut off, so whatever is wrong with it is the cut.
            if bounded.is_err() || state.failed.as_ref().is_some_and(|ending| ending.outcome == Outcome::Malformed) {
                state.failed = Some(Ending::new(Outcome::CutShort, "the stream ended inside an event"));
            }
        }
        self.state.end(rule)
    }

    /// What the answer held when we gave up on it.
    #[must_use]
    pub fn abandon(mut self) -> Trace {
        self.state.settle();
        self.state.trace
    }

    fn is_reading(&self) -> bool {
        !self.state.done && self.state.failed.is_none()
    }
}

impl State {
    /// Reads one event; answers whether to go on.
    fn event(&mut self, at: f64, event: Event<'_>) -> bool {
        if event.data == b"[DONE]" {
            self.done = true;
            return false;
        }
        let text = match std::str::from_utf8(event.data) {
            Ok(text) => Cow::Borrowed(text),
            Err(_bad) => String::from_utf8_lossy(event.data),
        };
        if event.name == b"error" {
            self.failed = Some(Ending::new(Outcome::StreamError, error_words(&text)));
            return false;
        }
        match serde_json::from_str::<Chunk<'_>>(&text) {
            Ok(chunk) => self.chunk(at, &chunk),
            Err(error) => {
                self.failed = Some(Ending::new(Outcome::Malformed, format!("{error} in {text}")));
                false
            }
        }
    }

    fn chunk(&mut self, at: f64, chunk: &Chunk<'_>) -> bool {
        if let Some(error) = &chunk.error {
            self.failed = Some(Ending::new(Outcome::StreamError, error_value_words(error)));
            return false;
        }
        if chunk.object.text() == Some("error") {
            self.failed = Some(Ending::new(Outcome::StreamError, chunk.message.text().unwrap_or("error")));
            return false;
        }
        // How many tokens this event added by the server's own count; `None` when it does not count per event.
        // A server that does so begins with the first event; one that puts the total into its last event does not.
        let grown = chunk.usage.as_ref().and_then(|usage| self.usage(usage));
        if !self.saw_choice {
            self.counts_per_event = grown.is_some();
        }
        let grown = grown.filter(|_| self.counts_per_event);
        for choice in chunk.choices.iter().flatten() {
            self.choice(at, choice, grown);
        }
        self.failed.is_none()
    }

    /// Takes the cumulative counts; answers by how much the output grew.
    fn usage(&mut self, usage: &Usage) -> Option<u32> {
        self.trace.input_tokens = usage.prompt_tokens.or(self.trace.input_tokens);
        let total = usage.completion_tokens?;
        let before = self.counted.replace(total).unwrap_or(0);
        Some(total.saturating_sub(before))
    }

    fn choice(&mut self, at: f64, choice: &Choice<'_>, grown: Option<u32>) {
        let is_first = !std::mem::replace(&mut self.saw_choice, true);
        let visible = choice.visible();
        let has_text = !visible.is_empty() || choice.has_hidden();
        let finish = choice.finish_reason.text().unwrap_or_default();
        if !visible.is_empty() {
            self.trace.first_text_secs.get_or_insert(at);
            if self.keeps_text && self.text.len() + visible.len() <= MAX_TEXT {
                self.text.push_str(visible);
            }
        }
        // A token that was in doubt stands when others follow.
        let is_token = match grown {
            Some(0) => has_text,
            Some(_) => true,
            None => has_text || (finish.is_empty() && !self.is_role(choice, is_first)),
        };
        if is_token {
            if let Some(at) = self.pending_finish.take() {
                self.trace.push(at, 1, false);
            }
            self.trace.push(at, grown.unwrap_or(1).max(1), has_text);
        } else if !finish.is_empty() && grown.is_none() {
            self.pending_finish = Some(at);
        }
        match finish {
            "" => {}
            "error" => self.failed = Some(Ending::new(Outcome::StreamError, "finish_reason error")),
            "abort" => self.failed = Some(Ending::new(Outcome::CutShort, "finish_reason abort")),
            _ => self.finished = true,
        }
    }

    /// Whether an empty event is the one that opens a chat answer: the first of all, or one that names the role before
    /// any token came.
    fn is_role(&self, choice: &Choice<'_>, is_first: bool) -> bool {
        let names_role = choice.delta.as_ref().is_some_and(|delta| delta.role.is_some());
        self.api == Api::Chat && self.trace.events == 0 && (is_first || names_role)
    }

    /// Decides what only the final count can decide, and who counted.
    fn settle(&mut self) {
        if let Some(at) = self.pending_finish.take()
            && self.counted.is_some_and(|counted| counted > self.trace.events)
        {
            self.trace.push(at, 1, false);
        }
        let trace = &mut self.trace;
        (trace.output_tokens, trace.token_source) = match self.counted {
            Some(counted) if counted > 0 || trace.events == 0 => (Some(counted), Some(TokenSource::Usage)),
            _ if trace.events > 0 => (Some(trace.events), Some(TokenSource::Events)),
            _ => (None, None),
        };
        if trace.token_source == Some(TokenSource::Usage) {
            trace.merged |= trace.output_tokens.is_some_and(|tokens| tokens > trace.events);
        }
    }

    fn end(mut self, rule: &AcceptRule) -> (Ending, Trace) {
        self.settle();
        let ending = match self.failed.take() {
            Some(ending) => ending,
            None if !self.saw_choice && self.done => {
                Ending::new(Outcome::Malformed, "the stream ended without an answer in it")
            }
            None if self.done || self.finished => match refused_by(rule, &self.text) {
                Some(why) => Ending::new(Outcome::Rejected, why),
                None => Ending::new(Outcome::Completed, ""),
            },
            None => Ending::new(Outcome::CutShort, "the stream ended before the answer did"),
        };
        (ending, self.trace)
    }
}

/// Why a complete answer is not accepted, if it is not.
fn refused_by(rule: &AcceptRule, text: &str) -> Option<String> {
    match rule {
        AcceptRule::NotStated | AcceptRule::AnyComplete | AcceptRule::External(_) => None,
        AcceptRule::Contains(wanted) => {
            (!text.contains(wanted.as_str())).then(|| format!("does not hold \"{wanted}\""))
        }
        AcceptRule::MinChars(least) => {
            let n_chars = text.chars().filter(|char| !char.is_whitespace()).count();
            (n_chars < usize::try_from(*least).unwrap_or(usize::MAX)).then(|| format!("holds {n_chars} characters"))
        }
    }
}

/// The words of an error body: its message where it is the usual JSON, else the text itself; at most 300 characters.
#[must_use]
pub fn error_words(body: &str) -> String {
    shorten(&match serde_json::from_str::<Value>(body) {
        Ok(value) => value.get("error").map_or_else(|| error_value_words(&value), error_value_words),
        Err(_not_json) => body.to_owned(),
    })
}

fn error_value_words(error: &Value) -> String {
    let field = |name: &str| error.get(name).and_then(Value::as_str).map(str::to_owned);
    match error {
        Value::String(text) => text.clone(),
        other => field("message").or_else(|| field("detail")).unwrap_or_else(|| other.to_string()),
    }
}

/// At most 300 characters of one line, without control characters.
#[must_use]
pub fn shorten(text: &str) -> String {
    text.trim().chars().map(|char| if char.is_control() { ' ' } else { char }).take(MAX_MESSAGE).collect()
}

/// Whole microseconds; negative and not-a-number count as zero.
fn micros(secs: f64) -> u32 {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "float casts saturate")]
    let micros = (secs * 1e6).round() as u32;
    micros
}

/// A chunk of a chat or completions stream, as far as we read it.
#[derive(Debug, Deserialize)]
struct Chunk<'a> {
    #[serde(borrow, default)]
    choices: Option<Vec<Choice<'a>>>,
    #[serde(default)]
    usage: Option<Usage>,
    #[serde(default)]
    error: Option<Value>,
    #[serde(default, borrow)]
    object: Said<'a>,
    #[serde(default, borrow)]
    message: Said<'a>,
}

#[derive(Debug, Deserialize)]
struct Choice<'a> {
    #[serde(borrow, default)]
    delta: Option<Delta<'a>>,
    /// Completions.
    #[serde(borrow, default)]
    text: Said<'a>,
    #[serde(borrow, default)]
    finish_reason: Said<'a>,
}

#[derive(Debug, Deserialize)]
struct Delta<'a> {
    #[serde(default)]
    role: Option<IgnoredAny>,
    #[serde(borrow, default)]
    content: Said<'a>,
    #[serde(borrow, default)]
    reasoning: Said<'a>,
    #[serde(borrow, default)]
    reasoning_content: Said<'a>,
    #[serde(borrow, default)]
    refusal: Said<'a>,
    #[serde(borrow, default)]
    tool_calls: Said<'a>,
    #[serde(borrow, default)]
    function_call: Said<'a>,
}

#[derive(Debug, Deserialize)]
struct Usage {
    #[serde(default)]
    prompt_tokens: Option<u32>,
    #[serde(default)]
    completion_tokens: Option<u32>,
}

impl Choice<'_> {
    /// Visible text of the answer.
    fn visible(&self) -> &str {
        self.delta.as_ref().and_then(|delta| delta.content.text()).or_else(|| self.text.text()).unwrap_or_default()
    }

    /// Whether it holds something generated that is not visible text.
    fn has_hidden(&self) -> bool {
        self.delta.as_ref().is_some_and(|delta| {
            [&delta.content, &delta.reasoning, &delta.reasoning_content, &delta.refusal, &delta.tool_calls]
                .into_iter()
                .chain([&delta.function_call])
                .any(|said| said.is_something())
        })
    }
}

/// A field that may be missing, null, text, or something else altogether.
#[derive(Debug, Default)]
enum Said<'a> {
    #[default]
    Nothing,
    Text(Cow<'a, str>),
    /// Not text, but not empty either: a list of parts, a tool call.
    Other,
}

impl Said<'_> {
    fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Nothing | Self::Other => None,
        }
    }

    fn is_something(&self) -> bool {
        match self {
            Self::Nothing => false,
            Self::Text(text) => !text.is_empty(),
            Self::Other => true,
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Said<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;

        impl<'de> Visitor<'de> for Any {
            type Value = Said<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("text or null")
            }
            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(Said::Nothing)
            }
            fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
                Ok(Said::Other)
            }
            fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
                Ok(Said::Other)
            }
            fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
                Ok(Said::Other)
            }
            fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
                Ok(Said::Other)
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Said::Text(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Said::Text(Cow::Owned(text.to_owned())))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut said = Said::Nothing;
                while seq.next_element::<IgnoredAny>()?.is_some() {
                    said = Said::Other;
                }
                Ok(said)
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut said = Said::Nothing;
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
                    said = Said::Other;
                }
                Ok(said)
            }
        }

        deserializer.deserialize_any(Any)
    }
}

/// What one request asks, before the options that a server may refuse.
#[derive(Debug, Clone, PartialEq)]
pub struct Prompt {
    /// `messages` or `prompt`, and whatever else the line of a prompts file set.
    pub body: Map<String, Value>,
    /// Output tokens asked for.
    pub max_tokens: u32,
    /// Whether exactly that many are wanted.
    pub is_exact: bool,
}

impl Prompt {
    /// A prompt of plain text.
    #[must_use]
    pub fn text(api: Api, text: String, max_tokens: u32, is_exact: bool) -> Self {
        let mut body = Map::new();
        match api {
            Api::Chat => body.insert("messages".to_owned(), json!([{ "role": "user", "content": text }])),
            Api::Completions => body.insert("prompt".to_owned(), Value::String(text)),
        };
        Self { body, max_tokens, is_exact }
    }
}

/// Options that not every server takes. A refused one is left out from then on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opt {
    /// `stream_options.continuous_usage_stats`: tokens counted per event.
    ContinuousUsage,
    /// `stream_options.include_usage`: tokens counted at the end.
    Usage,
    /// `ignore_eos`: exactly as many tokens as asked.
    IgnoreEos,
    /// `max_tokens`; `max_completion_tokens` takes its place.
    MaxTokens,
}

impl Opt {
    /// Every option, the more particular name before the one that contains it.
    pub const ALL: [Self; 4] = [Self::ContinuousUsage, Self::Usage, Self::IgnoreEos, Self::MaxTokens];

    /// The name a server's refusal mentions.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ContinuousUsage => "continuous_usage_stats",
            Self::Usage => "stream_options",
            Self::IgnoreEos => "ignore_eos",
            Self::MaxTokens => "max_completion_tokens",
        }
    }

    /// The option that a refusal (status 400 or 422) is about, among those that were `asked`.
    #[must_use]
    pub fn refused(message: &str, asked: impl Fn(Self) -> bool) -> Option<Self> {
        Self::ALL.into_iter().find(|option| asked(*option) && message.contains(option.name()))
    }
}

/// The body of a streaming request, with the options that `asked` still holds.
#[must_use]
pub fn request_body(model: &str, prompt: &Prompt, asked: impl Fn(Opt) -> bool) -> Vec<u8> {
    let mut body = prompt.body.clone();
    body.insert("model".to_owned(), Value::String(model.to_owned()));
    body.insert("stream".to_owned(), Value::Bool(true));
    if asked(Opt::Usage) {
        let mut options = Map::new();
        options.insert("include_usage".to_owned(), Value::Bool(true));
        if asked(Opt::ContinuousUsage) {
            options.insert("continuous_usage_stats".to_owned(), Value::Bool(true));
        }
        body.insert("stream_options".to_owned(), Value::Object(options));
    }
    body.remove("max_completion_tokens");
    body.remove("max_tokens");
    let limit = if asked(Opt::MaxTokens) { "max_tokens" } else { "max_completion_tokens" };
    body.insert(limit.to_owned(), Value::from(prompt.max_tokens));
    if prompt.is_exact && asked(Opt::IgnoreEos) {
        body.insert("ignore_eos".to_owned(), Value::Bool(true));
    }
    Value::Object(body).to_string().into_bytes()
}

#[cfg(test)]
#[allow(clippy::cast_precision_loss, reason = "captures are small")]
mod tests {
    use super::*;

    /// A capture read in pieces of `size` bytes, each arriving at its offset as seconds.
    fn read(stream: &[u8], api: Api, size: usize, rule: &AcceptRule) -> (Ending, Trace) {
        let mut reader = Reader::new(api, rule);
        for (idx, piece) in stream.chunks(size).enumerate() {
            reader.feed((idx * size) as f64, piece);
        }
        reader.finish(stream.len() as f64, true, rule)
    }

    fn capture(name: &str) -> Vec<u8> {
        std::fs::read(format!("{}/tests/captures/sse/{name}.sse", env!("CARGO_MANIFEST_DIR"))).unwrap()
    }

    /// Outcome, token events, of these with text, output and input tokens, who counted, merged.
    fn line((ending, trace): &(Ending, Trace)) -> String {
        format!(
            "{} events={} text={} out={:?} in={:?} by={:?} merged={}",
            ending.outcome.cause(),
            trace.events,
            trace.events_with_text,
            trace.output_tokens,
            trace.input_tokens,
            trace.token_source,
            trace.merged
        )
    }

    #[test]
    fn reads_real_streams() {
        use Api::{Chat, Completions};
        for (name, api, want) in [
            // A role event, 7 events with text, and an empty finish event that carries the eighth token.
            (
                "vllm032_chat_usage",
                Chat,
                "completed events=8 text=7 out=Some(8) in=Some(7) by=Some(Usage) merged=false",
            ),
            // Without a count nothing proves that the empty finish event carries a token.
            (
                "vllm032_chat_nousage",
                Chat,
                "completed events=7 text=7 out=Some(7) in=None by=Some(Events) merged=false",
            ),
            (
                "vllm032_chat_usage_continuous",
                Chat,
                "completed events=5 text=5 out=Some(5) in=Some(7) by=Some(Usage) merged=false",
            ),
            (
                "vllm032_chat_logprobs",
                Chat,
                "completed events=3 text=3 out=Some(3) in=None by=Some(Events) merged=false",
            ),
            (
                "vllm032_chat_unicode_bytes",
                Chat,
                "completed events=12 text=11 out=Some(12) in=Some(13) by=Some(Usage) merged=false",
            ),
            (
                "vllm032_chat_reasoning",
                Chat,
                "completed events=12 text=11 out=Some(12) in=Some(7) by=Some(Usage) merged=false",
            ),
            (
                "vllm032_chat_engine_killed",
                Chat,
                "stream_error events=5 text=5 out=Some(5) in=None by=Some(Events) merged=false",
            ),
            // The first two tokens share an event.
            (
                "vllm032_comp_usage",
                Completions,
                "completed events=7 text=7 out=Some(8) in=Some(4) by=Some(Usage) merged=true",
            ),
            (
                "vllm032_comp_nousage",
                Completions,
                "completed events=8 text=8 out=Some(8) in=None by=Some(Events) merged=false",
            ),
            (
                "vllm032_comp_maxtokens1",
                Completions,
                "completed events=1 text=1 out=Some(1) in=Some(2) by=Some(Usage) merged=false",
            ),
            // JSON bodies without an event in them.
            ("vllm032_chat_nonstream", Chat, "cut_short events=0 text=0 out=None in=None by=None merged=false"),
        ] {
            let stream = capture(name);
            for size in [1, 2, 7, 64, stream.len()] {
                assert_eq!(
                    line(&read(&stream, api, size, &AcceptRule::AnyComplete)),
                    want,
                    "{name} in pieces of {size}"
                );
            }
        }
    }

    #[test]
    fn an_error_inside_the_stream_keeps_its_words() {
        let (ending, _) = read(&capture("vllm032_chat_engine_killed"), Api::Chat, 64, &AcceptRule::AnyComplete);
        assert_eq!(ending.message, "EngineCore encountered an issue. See stack trace (above) for the root cause.");
        assert_eq!(
            error_words(&String::from_utf8(capture("vllm032_err_nomodel")).unwrap()),
            "The model `nope` does not exist. Valid aliases: tiny."
        );
    }

    #[test]
    fn the_role_event_is_no_token_and_reasoning_no_visible_text() {
        let data = |json: &str| format!("data: {json}\n\n");
        let delta = |delta: &str| data(&format!(r#"{{"choices":[{{"delta":{delta},"finish_reason":null}}]}}"#));
        let mut reader = Reader::new(Api::Chat, &AcceptRule::AnyComplete);
        for (at, event) in [
            (1.0, delta(r#"{"role":"assistant","content":""}"#)),
            (2.0, delta(r#"{"reasoning_content":"Hm"}"#)),
            (3.0, delta(r#"{"content":""}"#)),
            (4.0, delta(r#"{"content":"Yes"}"#)),
            (5.0, delta(r#"{"tool_calls":[{"index":0,"function":{"name":"f","arguments":""}}]}"#)),
            (6.0, delta(r#"{"refusal":"No"}"#)),
            (7.0, data(r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#)),
            (8.0, "data: [DONE]\n\n".to_owned()),
        ] {
            reader.feed(at, event.as_bytes());
        }
        let (ending, trace) = reader.finish(9.0, true, &AcceptRule::AnyComplete);
        assert_eq!(ending, Ending::new(Outcome::Completed, ""));
        assert_eq!(
            trace,
            Trace {
                first_token_secs: Some(2.0),
                first_text_secs: Some(4.0),
                last_token_secs: Some(6.0),
                gaps_us: vec![1_000_000; 4],
                events: 5,
                events_with_text: 4,
                merged: false,
                first_event_tokens: 1,
                input_tokens: None,
                output_tokens: Some(5),
                token_source: Some(TokenSource::Events),
            }
        );
    }

    #[test]
    fn ends_by_what_the_stream_says() {
        const TOKEN: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"abc d\"}}]}\n\n";
        const FINISH: &str = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
        const DONE: &str = "data: [DONE]\n\n";
        let contains = |text: &str| AcceptRule::Contains(text.to_owned());
        let any = AcceptRule::AnyComplete;
        for (name, stream, rule, outcome) in [
            ("whole", format!("{TOKEN}{FINISH}{DONE}"), any.clone(), Outcome::Completed),
            ("no [DONE]", format!("{TOKEN}{FINISH}"), any.clone(), Outcome::Completed),
            ("no finish", format!("{TOKEN}{DONE}"), any.clone(), Outcome::Completed),
            ("cut", TOKEN.to_owned(), any.clone(), Outcome::CutShort),
            ("cut inside an event", format!("{TOKEN}data: {{\"cho"), any.clone(), Outcome::CutShort),
            ("nothing", String::new(), any.clone(), Outcome::CutShort),
            ("only [DONE]", DONE.to_owned(), any.clone(), Outcome::Malformed),
            ("broken", format!("{TOKEN}data: {{\"cho\n\n{FINISH}"), any.clone(), Outcome::Malformed),
            ("error", format!("{TOKEN}data: {{\"error\":\"no\"}}\n\n{DONE}"), any.clone(), Outcome::StreamError),
            ("named error", format!("{TOKEN}event: error\ndata: no\n\n{DONE}"), any.clone(), Outcome::StreamError),
            (
                "old error",
                format!("data: {{\"object\":\"error\",\"message\":\"no\"}}\n\n{DONE}"),
                any.clone(),
                Outcome::StreamError,
            ),
            (
                "abort",
                "data: {\"choices\":[{\"text\":\"a\",\"finish_reason\":\"abort\"}]}\n\n".to_owned(),
                any,
                Outcome::CutShort,
            ),
            ("holds it", format!("{TOKEN}{TOKEN}{FINISH}"), contains("dab"), Outcome::Completed),
            ("holds it not", format!("{TOKEN}{FINISH}"), contains("xyz"), Outcome::Rejected),
            ("long enough", format!("{TOKEN}{FINISH}"), AcceptRule::MinChars(4), Outcome::Completed),
            ("too short", format!("{TOKEN}{FINISH}"), AcceptRule::MinChars(5), Outcome::Rejected),
            ("cut is not rejected", TOKEN.to_owned(), contains("xyz"), Outcome::CutShort),
        ] {
            for size in [1, 5, 1000] {
                let (ending, _) = read(stream.as_bytes(), Api::Chat, size, &rule);
                assert_eq!(ending.outcome, outcome, "{name}: {}", ending.message);
            }
        }
    }

    #[test]
    fn a_total_in_the_last_event_is_no_count_per_event() {
        let stream = "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\"}}]}\n\n\
                      data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n\
                      data: {\"choices\":[{\"delta\":{\"content\":\"b\"}}]}\n\n\
                      data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}],\
                      \"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2}}\n\n";
        let read = read(stream.as_bytes(), Api::Chat, 1000, &AcceptRule::AnyComplete);
        assert_eq!(line(&read), "completed events=2 text=2 out=Some(2) in=Some(3) by=Some(Usage) merged=false");
    }

    #[test]
    fn counts_per_event_find_merged_tokens() {
        let event = |text: &str, total: u32| {
            format!("data: {{\"choices\":[{{\"text\":\"{text}\"}}],\"usage\":{{\"completion_tokens\":{total}}}}}\n\n")
        };
        let stream = format!("{}{}{}data: [DONE]\n\n", event("ab", 2), event("", 3), event("cd", 5));
        let read = read(stream.as_bytes(), Api::Completions, 1000, &AcceptRule::AnyComplete);
        assert_eq!(line(&read), "completed events=3 text=2 out=Some(5) in=None by=Some(Usage) merged=true");
        assert_eq!(read.1.first_event_tokens, 2);
    }

    #[test]
    fn asks_for_counts_and_leaves_out_what_was_refused() {
        let prompt = Prompt::text(Api::Chat, "Hi".to_owned(), 8, true);
        let body = |without: &[Opt]| {
            String::from_utf8(request_body("m", &prompt, |option| !without.contains(&option))).unwrap()
        };
        assert_eq!(
            body(&[]),
            r#"{"ignore_eos":true,"max_tokens":8,"messages":[{"content":"Hi","role":"user"}],"model":"m","stream":true,"stream_options":{"continuous_usage_stats":true,"include_usage":true}}"#
        );
        assert_eq!(
            body(&[Opt::ContinuousUsage, Opt::IgnoreEos]),
            r#"{"max_tokens":8,"messages":[{"content":"Hi","role":"user"}],"model":"m","stream":true,"stream_options":{"include_usage":true}}"#
        );
        assert_eq!(
            body(&Opt::ALL),
            r#"{"max_completion_tokens":8,"messages":[{"content":"Hi","role":"user"}],"model":"m","stream":true}"#
        );
        for (message, want) in [
            ("Unknown parameter: 'stream_options.continuous_usage_stats'.", Some(Opt::ContinuousUsage)),
            ("stream_options is not supported", Some(Opt::Usage)),
            ("Unrecognized request argument supplied: ignore_eos", Some(Opt::IgnoreEos)),
            ("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.", Some(Opt::MaxTokens)),
            ("max_tokens=999999 cannot be greater than max_model_len=2048", None),
        ] {
            assert_eq!(Opt::refused(message, |_| true), want, "{message}");
        }
        assert_eq!(Opt::refused("stream_options", |option| option != Opt::Usage), None, "it was not asked");
    }
}
