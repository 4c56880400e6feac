//! Names, addresses and serial numbers taken out of what machines said.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

use crate::domain::facts::{Value, keys};
use crate::domain::host::Reach;
use crate::report::Report;

/// Names by which the hosts of a project go in what machines say: their addresses and their own host names.
pub(super) fn known_names(report: &Report<'_>) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for host in &report.plan.hosts {
        if let Reach::Ssh(target) = &host.reach {
            names.insert(target.address.clone());
            names.extend(target.jump.clone());
        }
    }
    for sealed in report.evidence.values() {
        let named = sealed.record.facts.iter().filter(|fact| fact.key == keys::HOST_NAME);
        names.extend(named.filter_map(|fact| match &fact.value {
            Ok(Value::Text(name)) => Some(name.clone()),
            _ => None,
        }));
    }
    names.retain(|name| name.len() > 1);
    names
}

/// The text with every known name, IP address and GPU serial replaced by `instead`.
pub(super) fn redact(text: &str, names: &BTreeSet<String>, instead: &str) -> String {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '.' | ':' | '-' | '_' | '[' | ']' | '@');
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        out.push_str(&redact_word(word, names, instead));
        let next = after.find(is_word).unwrap_or(after.len());
        let (between, after) = after.split_at(next);
        out.push_str(between);
        rest = after;
    }
    out
}

fn redact_word(word: &str, names: &BTreeSet<String>, instead: &str) -> String {
    let core = word.trim_matches([':', '.', '-', '@']);
    // "root@gpu-a1:22": each piece may be a name.
    let is_secret = is_address(core)
        || is_serial(core)
        || names.contains(core)
        || core.split(['@', ':']).any(|piece| names.contains(piece) || is_address(piece));
    if is_secret && !core.is_empty() { word.replace(core, instead) } else { word.to_owned() }
}

fn is_address(word: &str) -> bool {
    let bare = word.trim_start_matches('[').trim_end_matches(']');
    bare.len() > 2 && (bare.parse::<IpAddr>().is_ok() || word.parse::<SocketAddr>().is_ok())
}

/// The UUID of a GPU or MIG device.
fn is_serial(word: &str) -> bool {
    let Some(uuid) = word.strip_prefix("GPU-").or_else(|| word.strip_prefix("MIG-")) else { return false };
    uuid.len() >= 8 && uuid.chars().all(|c| c.is_ascii_hexdigit() || c == '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_addresses_and_serials_are_left_out() {
        let names = BTreeSet::from(["gpu-a1".to_owned(), "gpu-a1.example".to_owned()]);
        for (text, want) in [
            ("no route to 10.0.0.7: refused", "no route to […]: refused"),
            ("ssh root@gpu-a1:22 failed.", "ssh […] failed."),
            ("gpu-a1.example, [2001:db8::1]:22", "[…], […]"),
            ("GPU-5d1f3c2a-0000-1111-2222-333344445555 is lost", "[…] is lost"),
            ("GPU-Util 40 %, driver 570.86.15", "GPU-Util 40 %, driver 570.86.15"),
            ("gpu-a12 stays, at 14:18", "gpu-a12 stays, at 14:18"),
            ("", ""),
        ] {
            assert_eq!(redact(text, &names, "[…]"), want);
        }
    }
}
