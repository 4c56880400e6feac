//! Who a host is: our own strict reader of `known_hosts`.
//!
//! It follows OpenSSH where libssh2's reader does not: revoked keys are refused, wildcards and negation count, and a
//! malformed line is skipped alone. Pure functions over the files' texts; nothing is ever written to them.
//!
//! Keys of certificate authorities are read past: no certificate is ever negotiated, so they can vouch for nothing here.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use hmac::{Hmac, Mac as _};
use sha1::Sha1;
use sha2::{Digest as _, Sha256};

use crate::domain::host::KeyPin;

/// What the known hosts say about a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyCheck {
    /// The host is known by this key.
    Known,
    /// The key is revoked, whatever else stands there.
    Revoked,
    /// The host is known by other keys of this type: their fingerprints.
    Changed(Vec<String>),
    /// The host is known by keys of other types only: type and fingerprint of each.
    OtherTypeOnly(Vec<KeyPin>),
    /// Nothing is known about the host.
    Unknown,
}

/// Checks the key that a host showed. `files` are the texts of the known-hosts files, `host` the name or address it was
/// reached by, `key` the raw public key.
#[must_use]
pub fn check(files: &[&str], host: &str, port: u16, key_type: &str, key: &[u8]) -> KeyCheck {
    let lines = || files.iter().flat_map(|text| text.lines()).filter_map(Line::read);
    let name = lookup_name(host, port);
    // Revocation counts under either name: a key that somebody took back is not to be trusted on another port.
    let plain = lookup_name(host, 22);
    let is_revoked =
        lines().any(|line| line.mark == Mark::Revoked && line.key == key && (line.names(&name) || line.names(&plain)));
    if is_revoked {
        return KeyCheck::Revoked;
    }
    let known: Vec<Line<'_>> = lines().filter(|line| line.mark == Mark::None && line.names(&name)).collect();
    // As OpenSSH does, an entry without a port vouches for the same key on another port; it accuses no other key.
    let vouched = || lines().any(|line| line.mark == Mark::None && line.key == key && line.names(&plain));
    if known.iter().any(|line| line.key == key) || vouched() {
        return KeyCheck::Known;
    }
    let same_type: Vec<String> =
        known.iter().filter(|line| line.key_type == key_type).map(|line| fingerprint(&line.key)).collect();
    if !same_type.is_empty() {
        KeyCheck::Changed(same_type)
    } else if known.is_empty() {
        KeyCheck::Unknown
    } else {
        KeyCheck::OtherTypeOnly(
            known
                .iter()
                .map(|line| KeyPin { key_type: line.key_type.to_owned(), fingerprint: fingerprint(&line.key) })
                .collect(),
        )
    }
}

/// Key types by which the host is known, in the files' order, each once. They are preferred in the key exchange, so that
/// a host with several keys shows the one we can check.
#[must_use]
pub fn known_types(files: &[&str], host: &str, port: u16) -> Vec<String> {
    let (name, plain) = (lookup_name(host, port), lookup_name(host, 22));
    let mut types: Vec<String> = Vec::new();
    for name in [&name, &plain] {
        for line in files.iter().flat_map(|text| text.lines()).filter_map(Line::read) {
            if line.mark == Mark::None && line.names(name) && !types.iter().any(|known| known == line.key_type) {
                types.push(line.key_type.to_owned());
            }
        }
    }
    types
}

/// `SHA256:` and the unpadded base64 of the key's SHA-256, as OpenSSH shows it.
#[must_use]
pub fn fingerprint(key: &[u8]) -> String {
    format!("SHA256:{}", STANDARD_NO_PAD.encode(Sha256::digest(key)))
}

/// The type that a raw public key names itself ("ssh-ed25519").
#[must_use]
pub fn type_of(key: &[u8]) -> Option<&str> {
    let (length, rest) = key.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
    std::str::from_utf8(rest.get(..length)?).ok().filter(|name| !name.is_empty() && name.is_ascii())
}

/// The line of a known-hosts file that names this key for this host.
#[must_use]
pub fn line(host: &str, port: u16, key: &[u8]) -> Option<String> {
    Some(format!("{} {} {}\n", lookup_name(host, port), type_of(key)?, STANDARD.encode(key)))
}

/// How a host is written: lower case, `[host]:port` unless the port is 22.
fn lookup_name(host: &str, port: u16) -> String {
    let host = host.to_ascii_lowercase();
    if port == 22 { host } else { format!("[{host}]:{port}") }
}

#[derive(Debug, PartialEq, Eq, Clone, Copy)]
enum Mark {
    None,
    Revoked,
    Authority,
}

/// One well-formed line.
struct Line<'a> {
    mark: Mark,
    patterns: &'a str,
    key_type: &'a str,
    key: Vec<u8>,
}

impl<'a> Line<'a> {
    /// `None` for comments, empty lines and lines that are not well formed.
    fn read(text: &'a str) -> Option<Self> {
        let mut words = text.split([' ', '\t']).filter(|word| !word.is_empty());
        let first = words.next().filter(|word| !word.starts_with('#'))?;
        let (mark, patterns) = match first {
            "@revoked" => (Mark::Revoked, words.next()?),
            "@cert-authority" => (Mark::Authority, words.next()?),
            marker if marker.starts_with('@') => return None,
            patterns => (Mark::None, patterns),
        };
        let key_type = words.next()?;
        let key = STANDARD.decode(words.next()?.trim_end_matches('\r')).ok()?;
        // A line whose two statements about the type differ is no statement.
        (type_of(&key)? == key_type).then_some(Self { mark, patterns, key_type, key })
    }

    /// Whether the line is about this name.
    fn names(&self, name: &str) -> bool {
        if let Some(hashed) = self.patterns.strip_prefix("|1|") {
            return matches_hash(hashed, name).unwrap_or(false);
        }
        let mut is_named = false;
        for pattern in self.patterns.split(',') {
            match pattern.strip_prefix('!') {
                Some(refused) if wildcard(&refused.to_ascii_lowercase(), name) => return false,
                Some(_) => {}
                None => is_named |= wildcard(&pattern.to_ascii_lowercase(), name),
            }
        }
        is_named
    }
}

/// `salt|hash`: the hash is the HMAC-SHA1 of the name under the salt.
fn matches_hash(hashed: &str, name: &str) -> Option<bool> {
    let (salt, hash) = hashed.split_once('|')?;
    let (salt, hash) = (STANDARD.decode(salt).ok()?, STANDARD.decode(hash).ok()?);
    let mut mac = Hmac::<Sha1>::new_from_slice(&salt).ok()?;
    mac.update(name.as_bytes());
    Some(mac.verify_slice(&hash).is_ok())
}

/// Whether `text` matches a pattern of `*` (any run) and `?` (any one byte).
///
/// Linear but for the last `*`: a hostile pattern cannot make it slow.
#[must_use]
pub(super) fn wildcard(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut p, mut t) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some(b'*') => {
                retry = Some((p, t));
                p += 1;
            }
            Some(byte) if *byte == b'?' || Some(byte) == text.get(t) => {
                p += 1;
                t += 1;
            }
            _ => match retry {
                Some((star, from)) => {
                    retry = Some((star, from + 1));
                    p = star + 1;
                    t = from + 1;
                }
                None => return false,
            },
        }
    }
    pattern.get(p..).unwrap_or_default().iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY_A: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHQAvRzT81cJuHhKkPS9irnjkgUSC1q08i08DZFbOMUF";
    const KEY_B: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIExnEJkdqVBqem7aSOdC05nmQIIPFP/p7CP79vxMpaIr";
    /// Well formed as far as this reader looks: the type and some bytes.
    const KEY_RSA: &str = "ssh-rsa AAAAB3NzaC1yc2EAAAADAQAB";

    fn raw(key: &str) -> Vec<u8> {
        STANDARD.decode(key.split(' ').nth(1).unwrap()).unwrap()
    }

    fn print(key: &str) -> String {
        fingerprint(&raw(key))
    }

    #[test]
    fn what_openssh_says_about_a_key() {
        let changed = || KeyCheck::Changed(vec![print(KEY_B)]);
        let (a, b, rsa) = (KEY_A, KEY_B, KEY_RSA);
        let cases: Vec<(&str, String, u16, KeyCheck)> = vec![
            ("no entry", String::new(), 22, KeyCheck::Unknown),
            ("plain", format!("gpu.example {a}"), 22, KeyCheck::Known),
            ("upper case", format!("GPU.Example {a} comment here"), 22, KeyCheck::Known),
            ("other host", format!("gpu2.example {a}"), 22, KeyCheck::Unknown),
            ("port", format!("[gpu.example]:2222 {a}"), 2222, KeyCheck::Known),
            ("another port", format!("[gpu.example]:2222 {a}"), 2223, KeyCheck::Unknown),
            ("port 22 is written plain", format!("[gpu.example]:22 {a}"), 22, KeyCheck::Unknown),
            ("without port, same key", format!("gpu.example {a}"), 2222, KeyCheck::Known),
            ("without port, other key", format!("gpu.example {b}"), 2222, KeyCheck::Unknown),
            ("other key of the type", format!("gpu.example {b}"), 22, changed()),
            ("wrong and right key", format!("gpu.example {b}\ngpu.example {a}"), 22, KeyCheck::Known),
            (
                "other type only",
                format!("gpu.example {rsa}"),
                22,
                KeyCheck::OtherTypeOnly(vec![KeyPin { key_type: "ssh-rsa".into(), fingerprint: print(rsa) }]),
            ),
            ("list", format!("10.0.0.7,gpu.example {a}"), 22, KeyCheck::Known),
            ("wildcard", format!("*.example {a}"), 22, KeyCheck::Known),
            ("wildcard port", format!("[gpu.example]:* {a}"), 2222, KeyCheck::Known),
            ("question mark", format!("gp?.example {a}"), 22, KeyCheck::Known),
            ("negation", format!("*.example,!gpu.example {a}"), 22, KeyCheck::Unknown),
            ("negation of the bare name", format!("!gpu.example,[gpu.example]:2222 {a}"), 2222, KeyCheck::Known),
            ("revoked", format!("@revoked gpu.example {a}"), 22, KeyCheck::Revoked),
            ("revoked and good", format!("gpu.example {a}\n@revoked * {a}"), 22, KeyCheck::Revoked),
            (
                "revoked without port",
                format!("[gpu.example]:2222 {a}\n@revoked gpu.example {a}"),
                2222,
                KeyCheck::Revoked,
            ),
            ("another key revoked", format!("gpu.example {a}\n@revoked * {b}"), 22, KeyCheck::Known),
            ("authority", format!("@cert-authority *.example {a}"), 22, KeyCheck::Unknown),
            ("unknown marker", format!("@new gpu.example {a}"), 22, KeyCheck::Unknown),
            ("comment and blanks", format!("# gpu.example {b}\n\n \t gpu.example\t {a}\r\n"), 22, KeyCheck::Known),
            (
                "malformed lines are skipped alone",
                format!("gpu.example\ngpu.example ssh-ed25519 !!!\ngpu.example ssh-rsa {}\ngpu.example {a}", &b[12..]),
                22,
                KeyCheck::Known,
            ),
        ];
        for (name, text, port, want) in cases {
            assert_eq!(check(&[&text], "gpu.example", port, "ssh-ed25519", &raw(KEY_A)), want, "{name}");
        }
    }

    #[test]
    fn every_file_counts() {
        let (good, revoked) = (format!("h {KEY_A}"), format!("@revoked h {KEY_A}"));
        assert_eq!(check(&["", &good], "h", 22, "ssh-ed25519", &raw(KEY_A)), KeyCheck::Known);
        assert_eq!(check(&[&good, &revoked], "h", 22, "ssh-ed25519", &raw(KEY_A)), KeyCheck::Revoked);
    }

    #[test]
    fn hashed_names() {
        // Made by `ssh-keygen -H` from "gpu.example" and "[gpu.example]:2222".
        let plain = format!("|1|tya2bLhoAkhT5jtXCPOKbl1+0+8=|FA4A1/7UdKhenRucZM1RBNDkkNw= {KEY_A}");
        let with_port = format!("|1|RWf2vgDCgXtpHkm7g5D6pE4YKW8=|qpgL5EQ8u2cTq+cbtbPmms2InKw= {KEY_A}");
        for (text, port, want) in [
            (&plain, 22, KeyCheck::Known),
            (&with_port, 2222, KeyCheck::Known),
            (&with_port, 22, KeyCheck::Unknown),
            (&with_port, 2223, KeyCheck::Unknown),
        ] {
            assert_eq!(check(&[text], "gpu.example", port, "ssh-ed25519", &raw(KEY_A)), want, "{port} {text}");
        }
        assert_eq!(check(&["|1|x|y z"], "gpu.example", 22, "ssh-ed25519", &raw(KEY_A)), KeyCheck::Unknown);
    }

    #[test]
    fn types_known_for_a_host() {
        let text = format!(
            "[h]:22 {KEY_A}\n[h]:7 {KEY_RSA}\n[h]:7 {KEY_B}\n[h]:7 {KEY_A}\n@revoked h ssh-dss AAAAB3NzaC1kc3M="
        );
        assert_eq!(known_types(&[&text], "h", 7), ["ssh-rsa", "ssh-ed25519"]);
        assert_eq!(known_types(&[&text], "g", 7), Vec::<String>::new());
    }

    #[test]
    fn fingerprints_as_openssh_shows_them() {
        assert_eq!(type_of(&raw(KEY_A)), Some("ssh-ed25519"));
        assert_eq!(type_of(&[0, 0, 0, 9, b'x']), None);
        assert_eq!(print(KEY_A), "SHA256:f3EmQ2aktAIHap/wau6a3SuqmRQcKP+GBtNLcdzwFTY");
        assert_eq!(line("H", 2, &raw(KEY_A)).unwrap(), format!("[h]:2 {KEY_A}\n"));
    }

    #[test]
    fn wildcards() {
        for (pattern, text, want) in [
            ("", "", true),
            ("*", "", true),
            ("a*c", "abbbc", true),
            ("a*c", "abbbd", false),
            ("*.b.*", "a.b.c", true),
            ("?", "", false),
            ("a?c*", "abc", true),
            ("**a**", "xxax", true),
            ("a", "ab", false),
        ] {
            assert_eq!(wildcard(pattern, text), want, "{pattern} {text}");
        }
    }
}
