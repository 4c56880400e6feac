//! The address of an endpoint, as people write it, read once.

use hyper::Uri;

use crate::domain::failure::{Failure, FailureKind};
use crate::domain::load::Api;

/// Where requests go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Url {
    /// Whether TLS is spoken.
    pub is_https: bool,
    /// Name or address, without brackets.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Path of the interface ("/v1/chat/completions").
    pub path: String,
}

impl Url {
    /// Reads a base URL: `http(s)://host[:port]`, with or without a path, `/v1` or the interface's own path at its end.
    ///
    /// # Errors
    /// `UrlRefused` for other schemes, for a user or password inside (keys belong into a variable), for a query.
    pub fn parse(text: &str, api: Api) -> Result<Self, Failure> {
        let refused = |cause: &str| Failure::new(FailureKind::UrlRefused).because(cause);
        let text = text.trim();
        let uri: Uri = text
            .parse()
            .map_err(|error: hyper::http::uri::InvalidUri| refused(&error.to_string()).at(without_login(text)))?;
        let refused = |cause: &str| refused(cause).at(without_login(text));
        let is_https = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            Some(_) | None => return Err(refused("it does not begin with http:// or https://")),
        };
        if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
            return Err(refused("it holds a user or a password"));
        }
        if uri.query().is_some() {
            return Err(refused("it holds a query"));
        }
        let host = uri.host().filter(|host| !host.is_empty()).ok_or_else(|| refused("it names no host"))?;
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let port = match uri.authority().and_then(|authority| authority.as_str().rsplit_once(':')) {
            Some((before, port)) if !before.is_empty() && !port.ends_with(']') => {
                port.parse().map_err(|_bad: std::num::ParseIntError| refused("its port is not a number up to 65535"))?
            }
            _ => {
                if is_https {
                    443
                } else {
                    80
                }
            }
        };
        Ok(Self { is_https, host, port, path: path(uri.path(), api) })
    }

    /// Scheme, host and port.
    #[must_use]
    pub fn origin(&self) -> String {
        format!("{}://{}", if self.is_https { "https" } else { "http" }, self.authority())
    }

    /// Host and port, as the `Host` header says them.
    #[must_use]
    pub fn authority(&self) -> String {
        match (self.host.contains(':'), self.is_https, self.port) {
            (true, ..) => format!("[{}]:{}", self.host, self.port),
            (false, false, 80) | (false, true, 443) => self.host.clone(),
            (false, ..) => format!("{}:{}", self.host, self.port),
        }
    }
}

/// The interface's path below a base path.
fn path(base: &str, api: Api) -> String {
    let own = match api {
        Api::Chat => "/chat/completions",
        Api::Completions => "/completions",
    };
    let base = base.trim_end_matches('/');
    let base = base.strip_suffix("/chat/completions").or_else(|| base.strip_suffix("/completions")).unwrap_or(base);
    // Some providers number their interface otherwise ("/v3", "/api/v2"): such a base stands as it is.
    let last = base.rsplit('/').next().unwrap_or_default();
    let is_version = last.strip_prefix('v').is_some_and(|rest| rest.starts_with(|char: char| char.is_ascii_digit()));
    if is_version { format!("{base}{own}") } else { format!("{base}/v1{own}") }
}

/// The text as it may be shown: what stands before an `@` is left out.
fn without_login(text: &str) -> String {
    match (text.split_once("://"), text.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, rest))) => format!("{scheme}://…@{rest}"),
        (None, Some((_, rest))) => format!("…@{rest}"),
        (_, None) => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_people_write() {
        for (text, api, want) in [
            ("http://127.0.0.1:8000", Api::Chat, "http://127.0.0.1:8000 /v1/chat/completions"),
            ("http://127.0.0.1:8000/", Api::Completions, "http://127.0.0.1:8000 /v1/completions"),
            (" http://gpu.example/v1 ", Api::Chat, "http://gpu.example /v1/chat/completions"),
            ("https://gpu.example/v1/", Api::Chat, "https://gpu.example /v1/chat/completions"),
            ("https://gpu.example:8443/api/v3", Api::Chat, "https://gpu.example:8443 /api/v3/chat/completions"),
            ("http://[::1]:8000", Api::Chat, "http://[::1]:8000 /v1/chat/completions"),
            ("http://h:1/m/cut/v1/chat/completions", Api::Completions, "http://h:1 /m/cut/v1/completions"),
            ("http://h:1/m/cut", Api::Chat, "http://h:1 /m/cut/v1/chat/completions"),
        ] {
            let url = Url::parse(text, api).unwrap();
            assert_eq!(format!("{} {}", url.origin(), url.path), want, "{text}");
        }
    }

    #[test]
    fn refuses_the_rest_and_shows_no_password() {
        for (text, at) in [
            ("", ""),
            ("127.0.0.1:8000", "127.0.0.1:8000"),
            ("ftp://h", "ftp://h"),
            ("http://", "http://"),
            ("http://h:99999", "http://h:99999"),
            ("http://h/v1?key=1", "http://h/v1?key=1"),
            ("http://user:secret@h/", "http://…@h/"),
            ("not a url", "not a url"),
        ] {
            let failure = Url::parse(text, Api::Chat).unwrap_err();
            assert_eq!((failure.kind, failure.at.as_deref()), (FailureKind::UrlRefused, Some(at)), "{text}");
        }
    }
}
