//! Prompts of a JSONL file: one JSON object a line, in one of three shapes.
//!
//! `{"prompt": "…"}`, `{"messages": […]}`, or a line of OpenAI's batch format, whose `body` is such an object. Each may
//! set `max_tokens`; what else a `body` sets (temperature, tools…) is sent as it stands.

use serde_json::{Map, Value};

use super::openai::Prompt;
use crate::domain::load::Api;

/// The most prompts one file may hold.
pub const MAX_PROMPTS: usize = 1_000_000;

/// A line that is no prompt.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct BadLine {
    /// Its number, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub what: String,
}

/// Every prompt of the file, in order; blank lines are skipped. `max_tokens` is used where a line does not say.
///
/// # Errors
/// The first line that is no prompt for this interface, or line 1 when there is none at all.
pub fn prompts(text: &str, api: Api, max_tokens: u32) -> Result<Vec<Prompt>, BadLine> {
    let mut prompts = Vec::new();
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for (idx, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        if prompts.len() == MAX_PROMPTS {
            return Err(BadLine { line: idx + 1, what: format!("more than {MAX_PROMPTS} prompts") });
        }
        prompts.push(prompt(line, api, max_tokens).map_err(|what| BadLine { line: idx + 1, what })?);
    }
    if prompts.is_empty() {
        return Err(BadLine { line: 1, what: "no prompt".to_owned() });
    }
    Ok(prompts)
}

fn prompt(line: &str, api: Api, max_tokens: u32) -> Result<Prompt, String> {
    let mut object: Map<String, Value> = serde_json::from_str(line).map_err(|error| error.to_string())?;
    let mut body = match object.remove("body") {
        Some(Value::Object(body)) => body,
        Some(_) => return Err("\"body\" is not an object".to_owned()),
        None => object,
    };
    let stated = ["max_tokens", "max_completion_tokens"]
        .iter()
        .filter_map(|name| body.remove(*name))
        .next()
        .map(|value| value.as_u64().and_then(|n| u32::try_from(n).ok()).filter(|n| *n > 0).ok_or(value));
    let max_tokens = match stated {
        Some(Ok(n)) => n,
        Some(Err(value)) => return Err(format!("\"max_tokens\" is {value}")),
        None => max_tokens,
    };
    match (api, body.remove("messages"), body.remove("prompt")) {
        (Api::Chat, Some(Value::Array(messages)), _) if !messages.is_empty() => {
            body.insert("messages".to_owned(), Value::Array(messages));
        }
        (Api::Chat, None, Some(Value::String(text))) => {
            return Ok(Prompt {
                body: with(body, Prompt::text(api, text, 0, false).body),
                max_tokens,
                is_exact: false,
            });
        }
        (Api::Completions, None, Some(prompt @ (Value::String(_) | Value::Array(_)))) => {
            body.insert("prompt".to_owned(), prompt);
        }
        (Api::Completions, Some(_), _) => return Err("\"messages\" needs the chat interface".to_owned()),
        (Api::Chat, Some(_), _) => return Err("\"messages\" is not a list of messages".to_owned()),
        (_, None, Some(_)) => return Err("\"prompt\" is not text".to_owned()),
        (_, None, None) => return Err("neither \"prompt\" nor \"messages\"".to_owned()),
    }
    Ok(Prompt { body, max_tokens, is_exact: false })
}

fn with(mut body: Map<String, Value>, more: Map<String, Value>) -> Map<String, Value> {
    body.extend(more);
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_three_shapes() {
        for (line, api, want) in [
            (r#"{"prompt":"Hi"}"#, Api::Chat, r#"64 {"messages":[{"content":"Hi","role":"user"}]}"#),
            (r#"{"prompt":"Hi","max_tokens":5}"#, Api::Completions, r#"5 {"prompt":"Hi"}"#),
            (
                r#"{"messages":[{"role":"user","content":"Hi"}],"temperature":0}"#,
                Api::Chat,
                r#"64 {"messages":[{"content":"Hi","role":"user"}],"temperature":0}"#,
            ),
            (
                r#"{"custom_id":"1","method":"POST","url":"/v1/chat/completions","body":{"model":"x","messages":[{"role":"user","content":"Hi"}],"max_completion_tokens":9}}"#,
                Api::Chat,
                r#"9 {"messages":[{"content":"Hi","role":"user"}],"model":"x"}"#,
            ),
        ] {
            let read = prompts(&format!("\n{line}\n\n"), api, 64).unwrap();
            let [prompt] = &read[..] else { panic!("{line}") };
            assert_eq!(format!("{} {}", prompt.max_tokens, Value::Object(prompt.body.clone())), want, "{line}");
        }
    }

    #[test]
    fn names_the_line_that_is_no_prompt() {
        for (text, api, line, what) in [
            ("", Api::Chat, 1, "no prompt"),
            ("{\"prompt\":\"a\"}\n{\"prompt\":", Api::Chat, 2, "EOF while parsing a value at line 1 column 10"),
            ("[1]", Api::Chat, 1, "invalid type: sequence, expected a map at line 1 column 0"),
            ("{\"text\":\"a\"}", Api::Chat, 1, "neither \"prompt\" nor \"messages\""),
            ("{\"messages\":[]}", Api::Chat, 1, "\"messages\" is not a list of messages"),
            ("{\"messages\":[{}]}", Api::Completions, 1, "\"messages\" needs the chat interface"),
            ("{\"prompt\":7}", Api::Chat, 1, "\"prompt\" is not text"),
            ("{\"prompt\":\"a\",\"max_tokens\":-1}", Api::Chat, 1, "\"max_tokens\" is -1"),
            ("{\"body\":7}", Api::Chat, 1, "\"body\" is not an object"),
        ] {
            assert_eq!(prompts(text, api, 64), Err(BadLine { line, what: what.to_owned() }), "{text}");
        }
    }
}
