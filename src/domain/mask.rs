//! Masking of secrets in raw text, before it becomes evidence.
//!
//! The rules look for the shapes that logs, process lists and configuration dumps carry: authorization headers, keys with
//! a known prefix, private key blocks, `password=…`. They prefer masking too much to keeping a secret, yet leave a
//! value alone that says nothing (`null`, `$HF_TOKEN`).

use std::collections::BTreeMap;

use super::evidence::Masked;

/// The text with every secret replaced by `[masked: <rule>]`, and how often each rule replaced one.
///
/// Masking what is already masked changes nothing.
#[must_use]
pub fn mask(text: &str) -> (String, Vec<Masked>) {
    let mut counts = BTreeMap::new();
    let mut out = String::with_capacity(text.len());
    let mut kept_to = 0;
    let mut at = 0;
    while at < text.len() {
        match secret_at(text, at) {
            Some(found) => {
                out.push_str(text.get(kept_to..found.start).unwrap_or_default());
                out.push_str("[masked: ");
                out.push_str(found.rule);
                out.push(']');
                *counts.entry(found.rule).or_insert(0_u32) += 1;
                at = found.end.max(at + 1);
                kept_to = found.end;
            }
            None => at += 1,
        }
    }
    out.push_str(text.get(kept_to..).unwrap_or_default());
    (out, counts.into_iter().map(|(rule, count)| Masked { rule: rule.to_owned(), count }).collect())
}

/// A secret: the bytes to replace and the rule that found it.
struct Found {
    start: usize,
    end: usize,
    rule: &'static str,
}

/// Keys that announce themselves: prefix, the least number of characters after it, and the rule's name.
const PREFIXES: [(&str, usize, &str); 16] = [
    ("sk-", 16, "API key"),
    ("gsk_", 16, "API key"),
    ("nvapi-", 16, "API key"),
    ("rpa_", 16, "API key"),
    ("r8_", 16, "API key"),
    ("AIza", 30, "API key"),
    ("hf_", 16, "Hugging Face token"),
    ("ghp_", 16, "GitHub token"),
    ("gho_", 16, "GitHub token"),
    ("ghs_", 16, "GitHub token"),
    ("github_pat_", 16, "GitHub token"),
    ("glpat-", 16, "GitLab token"),
    ("xoxb-", 16, "Slack token"),
    ("xoxp-", 16, "Slack token"),
    ("dckr_pat_", 16, "Docker token"),
    ("eyJ", 0, "JSON web token"),
];

/// How far is looked before something is taken for a key, bytes.
const LOOK: usize = 256;
/// The same for a JSON web token, which carries more.
const LOOK_JWT: usize = 4 << 10;

/// Ends of names whose value is a secret, lower case, with `_` for `-` and `.`.
const SECRET_NAMES: [&str; 11] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "api_key",
    "apikey",
    "access_key",
    "secret_key",
    "private_key",
    "auth_key",
];

/// The secret whose telling shape begins or has its separator at byte `at`.
fn secret_at(text: &str, at: usize) -> Option<Found> {
    let bytes = text.as_bytes();
    let here = *bytes.get(at)?;
    let starts_word = at.checked_sub(1).and_then(|before| bytes.get(before)).is_none_or(|byte| !is_word(*byte));
    match here {
        b'-' => private_key(text, at).or_else(|| flag(text, at)),
        b'=' | b':' => url_password(text, at).or_else(|| assignment(text, at)),
        _ if starts_word => match here.to_ascii_lowercase() {
            b'b' => after_word(text, at, "bearer", "bearer token"),
            b'a' | b'p' | b'x' => header(text, at).or_else(|| prefixed(text, at)),
            _ => prefixed(text, at),
        },
        _ => None,
    }
}

/// `-----BEGIN … PRIVATE KEY-----` to its end line, or to the end of the text when that was cut off.
fn private_key(text: &str, at: usize) -> Option<Found> {
    let rest = text.get(at..)?.strip_prefix("-----BEGIN ")?;
    let (name, body) = rest.split_once("-----")?;
    if name.len() > 40 || !name.ends_with("PRIVATE KEY") {
        return None;
    }
    let closing = format!("-----END {name}-----");
    let body_at = text.len() - body.len();
    let end = body.find(&closing).map_or(text.len(), |found| body_at + found + closing.len());
    Some(Found { start: at, end, rule: "private key" })
}

/// `Authorization: …` and its like, as in traces of HTTP: the value to the end of the line.
fn header(text: &str, at: usize) -> Option<Found> {
    for (name, rule) in [
        ("authorization:", "authorization header"),
        ("proxy-authorization:", "authorization header"),
        ("x-api-key:", "API key"),
        ("api-key:", "API key"),
    ] {
        if starts_with(text, at, name) {
            let value = at + name.len();
            let start = skip_blanks(text, value);
            // A bearer token keeps its scheme, which is worth reading.
            if starts_with(text, start, "bearer ") {
                return after_word(text, start, "bearer", "bearer token");
            }
            return secret_value(text, start, rule, |byte| matches!(byte, b'\r' | b'\n' | b'"' | b'\''));
        }
    }
    None
}

/// `Bearer <token>`: the word and at least eight characters after blanks.
fn after_word(text: &str, at: usize, word: &str, rule: &'static str) -> Option<Found> {
    if !starts_with(text, at, word) {
        return None;
    }
    let start = skip_blanks(text, at + word.len());
    if start == at + word.len() {
        return None;
    }
    if value_end_within(text, start, 8, |byte| !is_token(byte)) < start + 8 {
        return None;
    }
    secret_value(text, start, rule, |byte| !is_token(byte))
}

/// A key with a known prefix. At least one digit: a file name such as `sk-learn-something-long` is not a key.
fn prefixed(text: &str, at: usize) -> Option<Found> {
    let rest = text.get(at..)?;
    if (rest.starts_with("AKIA") || rest.starts_with("ASIA"))
        && value_end(text, at, |byte| !(byte.is_ascii_uppercase() || byte.is_ascii_digit())) == at + 20
        && !text.as_bytes().get(at + 20).is_some_and(|byte| is_word(*byte))
    {
        return Some(Found { start: at, end: at + 20, rule: "AWS access key" });
    }
    let (prefix, least, rule) = PREFIXES.into_iter().find(|(prefix, ..)| rest.starts_with(prefix))?;
    let start = at + prefix.len();
    if prefix == "eyJ" {
        // Cheap first: the header alone is longer than this.
        if value_end_within(text, at, 12, |byte| byte == b'.') < at + 12 {
            return None;
        }
        let end = value_end_within(text, at, LOOK_JWT, |byte| !(is_word(byte) || matches!(byte, b'-' | b'.')));
        let parts: Vec<&str> = text.get(at..end)?.split('.').collect();
        let is_jwt = parts.len() == 3 && parts.iter().all(|part| part.len() >= 8);
        return is_jwt.then_some(Found { start: at, end, rule });
    }
    let is_key = |byte: u8| is_word(byte) || byte == b'-';
    let near = text.get(start..value_end_within(text, start, LOOK, |byte| !is_key(byte)))?;
    if near.len() < least || !near.bytes().any(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(Found { start: at, end: value_end(text, start, |byte| !is_key(byte)), rule })
}

/// `--api-key VALUE`: a flag whose value stands behind a blank. (`--api-key=VALUE` is an assignment.)
fn flag(text: &str, at: usize) -> Option<Found> {
    if at > 0 && !text.as_bytes().get(at - 1).is_some_and(u8::is_ascii_whitespace) {
        return None;
    }
    let name_end = value_end(text, at, |byte| !is_name(byte));
    if !names_a_secret(text.get(at..name_end)?) {
        return None;
    }
    let start = skip_blanks(text, name_end);
    if start == name_end || text.as_bytes().get(start) == Some(&b'-') {
        return None;
    }
    value(text, start)
}

/// `scheme://user:password@host`: the password, found at the second colon.
fn url_password(text: &str, at: usize) -> Option<Found> {
    if text.as_bytes().get(at) != Some(&b':') {
        return None;
    }
    let before = text.get(at.saturating_sub(80)..at).or_else(|| text.get(line_start(text, at)..at))?;
    let (_, user) = before.rsplit_once("://")?;
    if user.bytes().any(|byte| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'@' | b':' | b'"' | b'\'')) {
        return None;
    }
    let start = at + 1;
    let ends = |byte: u8| byte.is_ascii_whitespace() || matches!(byte, b'@' | b'/' | b'"' | b'\'' | b'?' | b'#' | b':');
    let end = value_end_within(text, start, LOOK, ends);
    if text.as_bytes().get(end) != Some(&b'@') {
        return None;
    }
    secret_value(text, start, "URL password", ends)
}

/// `password=…`, `"api_key": "…"`, `aws_secret_access_key = …`: the value behind the separator at `at`.
fn assignment(text: &str, at: usize) -> Option<Found> {
    let bytes = text.as_bytes();
    let mut name_end = at;
    while name_end > 0 && bytes.get(name_end - 1).is_some_and(|byte| matches!(byte, b' ' | b'\t' | b'"' | b'\'')) {
        name_end -= 1;
        if at - name_end > 4 {
            return None;
        }
    }
    let mut name_start = name_end;
    while name_start > 0 && name_end - name_start < 64 && bytes.get(name_start - 1).is_some_and(|byte| is_name(*byte)) {
        name_start -= 1;
    }
    if !names_a_secret(text.get(name_start..name_end)?) {
        return None;
    }
    let start = skip_blanks(text, at + 1);
    if text.get(start..)?.starts_with("//") {
        return None;
    }
    value(text, start)
}

fn names_a_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace(['-', '.'], "_");
    SECRET_NAMES.into_iter().any(|secret| {
        name.strip_suffix(secret).is_some_and(|before| {
            // "hf_token" and "token", not "detoken"; "mypassword" all the same.
            before.is_empty() || before.ends_with('_') || secret.starts_with("pass")
        })
    }) || name.ends_with("hftoken")
}

/// A value that may stand in quotes.
fn value(text: &str, start: usize) -> Option<Found> {
    match text.as_bytes().get(start) {
        Some(quote @ (b'"' | b'\'')) => {
            let quote = *quote;
            secret_value(text, start + 1, "secret value", |byte| byte == quote || byte == b'\n')
        }
        _ => secret_value(text, start, "secret value", |byte| {
            byte.is_ascii_whitespace() || matches!(byte, b'&' | b';' | b',' | b'"' | b'\'' | b'}' | b')')
        }),
    }
}

/// The value from `start` to where `ends` says, as a secret, unless it says nothing or was masked before.
fn secret_value(text: &str, start: usize, rule: &'static str, ends: impl Fn(u8) -> bool) -> Option<Found> {
    let rest = text.get(start..)?;
    if rest.starts_with('$') || rest.starts_with("[masked: ") {
        return None;
    }
    let value = text.get(start..value_end(text, start, ends))?.trim_end();
    let says_nothing = value.bytes().all(|byte| byte == b'*')
        || (value.len() <= 12
            && matches!(
                value.to_ascii_lowercase().as_str(),
                "null" | "none" | "nil" | "true" | "false" | "n/a" | "yes" | "no" | "<redacted>" | "<none>" | "-"
            ));
    (!says_nothing).then_some(Found { start, end: start + value.len(), rule })
}

fn starts_with(text: &str, at: usize, word: &str) -> bool {
    text.as_bytes().get(at..at + word.len()).is_some_and(|part| part.eq_ignore_ascii_case(word.as_bytes()))
}

fn skip_blanks(text: &str, from: usize) -> usize {
    let rest = text.as_bytes().get(from..).unwrap_or_default();
    rest.iter().position(|byte| !matches!(byte, b' ' | b'\t')).map_or(text.len(), |found| from + found)
}

/// The first byte from `from` on for which `ends` holds, or the end of the text. It is a character boundary, since `ends`
/// is asked about ASCII only.
fn value_end(text: &str, from: usize, ends: impl Fn(u8) -> bool) -> usize {
    let rest = text.as_bytes().get(from..).unwrap_or_default();
    rest.iter().position(|byte| byte.is_ascii() && ends(*byte)).map_or(text.len(), |found| from + found)
}

/// The same, at most `most` bytes on, so that a text made to look like secrets is not read again and again.
fn value_end_within(text: &str, from: usize, most: usize, ends: impl Fn(u8) -> bool) -> usize {
    let rest = text.as_bytes().get(from..).unwrap_or_default();
    let near = rest.get(..most).unwrap_or(rest);
    let end =
        near.iter().position(|byte| byte.is_ascii() && ends(*byte)).map_or(from + near.len(), |found| from + found);
    (from..=end).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(from)
}

fn line_start(text: &str, at: usize) -> usize {
    let low = at.saturating_sub(80);
    let before = text.as_bytes().get(low..at).unwrap_or_default();
    before.iter().rposition(|byte| byte.is_ascii_whitespace()).map_or(at, |found| low + found + 1)
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn is_name(byte: u8) -> bool {
    is_word(byte) || matches!(byte, b'-' | b'.')
}

/// Characters of an opaque token (RFC 6750).
fn is_token(byte: u8) -> bool {
    is_word(byte) || matches!(byte, b'-' | b'.' | b'~' | b'+' | b'/' | b'=')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, want: &str, rules: &[(&str, u32)]) {
        let (got, masked) = mask(text);
        assert_eq!(got, want);
        let counts: Vec<(&str, u32)> = masked.iter().map(|masked| (masked.rule.as_str(), masked.count)).collect();
        assert_eq!(counts, rules, "{text}");
        assert_eq!(mask(&got).0, got, "masking twice");
    }

    #[test]
    fn secrets_are_masked() {
        let key = "sk-proj-abcDEF0123456789abcDEF";
        for (text, want, rule) in [
            (
                "curl -H 'Authorization: Bearer abc.def-123456'",
                "curl -H 'Authorization: Bearer [masked: bearer token]'",
                "bearer token",
            ),
            (
                "authorization: Basic dXNlcjpwYXNz\r\nnext",
                "authorization: [masked: authorization header]\r\nnext",
                "authorization header",
            ),
            ("> X-Api-Key: 0123456789\n", "> X-Api-Key: [masked: API key]\n", "API key"),
            ("got bearer 0123456789abcdef.", "got bearer [masked: bearer token]", "bearer token"),
            ("HF: hf_abcdefghijklmnop1234\n", "HF: [masked: Hugging Face token]\n", "Hugging Face token"),
            ("id AKIAIOSFODNN7EXAMPLE end", "id [masked: AWS access key] end", "AWS access key"),
            (
                "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG+bPx\n",
                "aws_secret_access_key = [masked: secret value]\n",
                "secret value",
            ),
            ("PASSWORD=hunter2;x=1", "PASSWORD=[masked: secret value];x=1", "secret value"),
            (r#"{"api_key": "a b c", "n": 1}"#, r#"{"api_key": "[masked: secret value]", "n": 1}"#, "secret value"),
            ("--api-key s3cret --port 1", "--api-key [masked: secret value] --port 1", "secret value"),
            ("HF_TOKEN='x'", "HF_TOKEN='[masked: secret value]'", "secret value"),
            ("postgres://u:p4ss@db:5432/x", "postgres://u:[masked: URL password]@db:5432/x", "URL password"),
            ("密码 password: 秘密\n好", "密码 password: [masked: secret value]\n好", "secret value"),
            (
                "a\n-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl\n-----END OPENSSH PRIVATE KEY-----\nz",
                "a\n[masked: private key]\nz",
                "private key",
            ),
            ("-----BEGIN PRIVATE KEY-----\nMIIE", "[masked: private key]", "private key"),
            ("t=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl", "t=[masked: JSON web token]", "JSON web token"),
        ] {
            check(text, want, &[(rule, 1)]);
        }
        check(&format!("{key} {key}"), "[masked: API key] [masked: API key]", &[("API key", 2)]);
    }

    #[test]
    fn a_text_made_to_be_slow_is_read_once() {
        // Each would take hours if every start were followed to the end of the text.
        for piece in
            ["token=$", "authorization: $", "sk-", "eyJ.", "bearer ", "-----BEGIN ", "://a:", "--token ", "a=\""]
        {
            let text = piece.repeat((256 << 10) / piece.len());
            assert_eq!(mask(&text).0.len(), text.len(), "{piece}");
        }
    }

    #[test]
    fn ordinary_text_stays() {
        for text in [
            "",
            "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-2d4f5e1a-0b1c)",
            "max_tokens=512 tokenizer: llama token_count: 7",
            "password: null, token=$HF_TOKEN, secret=",
            "disk-0123456789abcdef0123 task-0123456789abcdef012",
            "sk-learn-something-long-name",
            "-----BEGIN CERTIFICATE-----\nMIID\n-----END CERTIFICATE-----",
            "http://host:8000/v1 ssh://a@b:22",
            "bearer of news",
            "AKIA is a prefix, eyJ is another, 时间 12:34:56",
            "Mem:  1:2=3 ::= --token --port 1",
        ] {
            check(text, text, &[]);
        }
    }
}
