//! The house rules on imports and absences, read from the source texts: who may know whom, and who may not touch
//! files, sockets, clocks, threads and randomness.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Which top modules each top module may name. Nothing else, and never `ui` and `cli` from outside `main`.
const MAY_KNOW: &[(&str, &[&str])] = &[
    ("domain", &[]),
    ("wire", &["domain"]),
    ("probe", &["domain", "wire"]),
    ("recipe", &["domain", "wire"]),
    ("project", &["domain"]),
    ("report", &["domain", "project"]),
    ("engine", &["domain", "wire", "probe", "recipe", "project", "report"]),
    ("app", &["domain", "wire", "probe", "recipe", "project", "report", "engine"]),
    ("ui", &["domain", "wire", "probe", "recipe", "project", "report", "engine", "app"]),
    ("cli", &["domain", "wire", "probe", "recipe", "project", "report", "engine", "app"]),
];

/// What may be named only under these paths (prefixes of the path below `src`).
const ONLY_IN: &[(&str, &[&str])] = &[
    ("std::fs", &["project/store", "project/schema", "engine/", "cli/"]),
    ("tokio::fs", &["engine/"]),
    // Addresses are plain values; sockets are not.
    ("TcpStream", &["engine/"]),
    ("TcpListener", &["engine/"]),
    ("UdpSocket", &["engine/"]),
    ("UnixStream", &["engine/"]),
    ("ToSocketAddrs", &["engine/"]),
    ("tokio::net", &["engine/"]),
    ("std::process::Command", &["engine/"]),
    ("process::Command::new", &["engine/"]),
    ("std::thread", &["engine/"]),
    ("thread::spawn", &["engine/"]),
    ("tokio::spawn", &["engine/"]),
    ("SystemTime::now", &["engine/clock.rs"]),
    ("Local::now", &["engine/clock.rs"]),
    ("Utc::now", &["engine/clock.rs"]),
    ("Instant::now", &["engine/", "app/", "ui/", "cli/"]),
    ("getrandom::", &["engine/"]),
    ("ssh2::", &["engine/host"]),
    ("nvml_wrapper::", &["engine/local_gpu"]),
    ("rfd::", &["engine/dialogs.rs"]),
    ("hyper::", &["engine/"]),
    ("rustls::", &["engine/"]),
    ("egui::", &["ui/"]),
    ("egui_plot::", &["ui/"]),
    ("egui_extras::", &["ui/"]),
    ("eframe::", &["ui/shell"]),
    ("clap::", &["cli/", "main.rs"]),
];

/// Pure modules: the `ONLY_IN` lists keep them from io; these crates would bring it back.
const NEVER_IN_PURE: &[&str] = &["tokio::", "std::env::", "rand::", "std::time::SystemTime"];
const PURE: &[&str] = &["domain/", "probe/", "recipe/", "wire/", "report/"];

/// Words that must not stand anywhere in the project's own texts.
const NEVER: &[&str] = &["todo!(", "unimplemented!(", "TODO", "FIXME", "dbg!("];

/// A source text without its comments and string contents, so that words in them are not taken for code.
fn code_only(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let chars: Vec<char> = text.chars().collect();
    let at = |idx: usize| chars.get(idx).copied().unwrap_or('\0');
    let mut idx = 0;
    while idx < chars.len() {
        match (at(idx), at(idx + 1)) {
            ('/', '/') => {
                while idx < chars.len() && at(idx) != '\n' {
                    idx += 1;
                }
            }
            ('/', '*') => {
                let mut depth = 0_u32;
                loop {
                    match (at(idx), at(idx + 1)) {
                        ('/', '*') => (depth, idx) = (depth + 1, idx + 2),
                        ('*', '/') => (depth, idx) = (depth - 1, idx + 2),
                        _ => {
                            if at(idx) == '\n' {
                                out.push('\n');
                            }
                            idx += 1;
                        }
                    }
                    if depth == 0 || idx >= chars.len() {
                        break;
                    }
                }
            }
            ('r', '"' | '#') if !at(idx.wrapping_sub(1)).is_alphanumeric() && raw_hashes(&chars, idx + 1).is_some() => {
                let hashes = raw_hashes(&chars, idx + 1).unwrap_or(0);
                idx += 2 + hashes;
                while idx < chars.len() && !(at(idx) == '"' && (1..=hashes).all(|n| at(idx + n) == '#')) {
                    if at(idx) == '\n' {
                        out.push('\n');
                    }
                    idx += 1;
                }
                idx += 1 + hashes;
                out.push_str("\"\"");
            }
            ('"', _) => {
                idx += 1;
                while idx < chars.len() && at(idx) != '"' {
                    if at(idx) == '\n' {
                        out.push('\n');
                    }
                    idx += if at(idx) == '\\' { 2 } else { 1 };
                }
                idx += 1;
                out.push_str("\"\"");
            }
            // A character literal, not a lifetime.
            ('\'', '\\') => {
                idx += 2;
                while idx < chars.len() && at(idx) != '\'' {
                    idx += 1;
                }
                idx += 1;
            }
            ('\'', _) if at(idx + 2) == '\'' => idx += 3,
            (c, _) => {
                out.push(c);
                idx += 1;
            }
        }
    }
    out
}

/// The number of hashes when a raw string opens here.
fn raw_hashes(chars: &[char], start: usize) -> Option<usize> {
    let hashes = chars.get(start..)?.iter().take_while(|c| **c == '#').count();
    (chars.get(start + hashes) == Some(&'"')).then_some(hashes)
}

/// A text without the items behind `#[cfg(test)]`: each to its semicolon or closing brace.
fn without_tests(code: &str) -> String {
    let mut parts = code.split("#[cfg(test)]");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let mut depth = 0_u32;
        let end = part.char_indices().find(|(_, c)| {
            match c {
                '{' => depth += 1,
                '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0 && matches!(c, '}' | ';')
        });
        out.push_str(end.map_or("", |(idx, _)| &part[idx + 1..]));
    }
    out
}

/// Top modules that a text names as `crate::name`, also inside a braced list.
fn crate_names(code: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for rest in code.split("crate::").skip(1) {
        if let Some(list) = rest.strip_prefix('{') {
            let mut depth = 0_u32;
            let mut word = String::new();
            for c in list.chars() {
                match c {
                    '{' => depth += 1,
                    '}' if depth == 0 => break,
                    '}' => depth -= 1,
                    ',' if depth == 0 => {
                        names.insert(first_segment(&word));
                        word.clear();
                    }
                    _ if depth == 0 => word.push(c),
                    _ => {}
                }
            }
            names.insert(first_segment(&word));
        } else {
            names.insert(first_segment(rest));
        }
    }
    names.remove("");
    names
}

fn first_segment(path: &str) -> String {
    path.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

/// `std::{fs, io}` is written out as `std::fs std::io`, so that a braced list hides nothing.
fn spelled_out(code: &str) -> String {
    let mut out = code.to_owned();
    for base in ["std", "tokio", "chrono"] {
        for rest in code.split(&format!("use {base}::{{")).skip(1) {
            let list = rest.split("};").next().unwrap_or_default();
            for item in list.split(',') {
                out.push_str(&format!("\n{base}::{}", item.trim()));
            }
        }
    }
    out
}

/// Whether `word` stands in `code` as a path or the end of one, not as a part of a longer name.
fn names_path(code: &str, word: &str) -> bool {
    code.match_indices(word).any(|(idx, _)| {
        let before = code[..idx].chars().next_back();
        let after = code[idx + word.len()..].chars().next();
        let starts = !before.is_some_and(|c| c.is_alphanumeric() || c == '_');
        let ends = word.ends_with(':') || !after.is_some_and(|c| c.is_alphanumeric() || c == '_');
        starts && ends
    })
}

/// Every rule that the file at `path` (below `src`, with forward slashes) breaks.
fn broken(path: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let code = code_only(text);
    let code = spelled_out(&without_tests(&code));
    let top = path.split(['/', '.']).next().unwrap_or_default();
    if let Some((_, allowed)) = MAY_KNOW.iter().find(|(name, _)| *name == top) {
        for name in crate_names(&code) {
            let is_module = MAY_KNOW.iter().any(|(other, _)| *other == name);
            if is_module && name != top && !allowed.contains(&name.as_str()) {
                found.push(format!("{path}: `{top}` must not know `{name}`"));
            }
        }
    }
    for (word, places) in ONLY_IN {
        if names_path(&code, word) && !places.iter().any(|place| path.starts_with(place)) {
            found.push(format!("{path}: `{word}` is only for {}", places.join(", ")));
        }
    }
    if PURE.iter().any(|pure| path.starts_with(pure)) {
        for word in NEVER_IN_PURE {
            if names_path(&code, word) {
                found.push(format!("{path}: a pure module names `{word}`"));
            }
        }
    }
    for word in NEVER {
        if text.contains(word) {
            found.push(format!("{path}: holds `{word}`"));
        }
    }
    found
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Files below a folder, sorted.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut out = Vec::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                out.push(path);
            }
        }
    }
    out.sort();
    out
}

fn below(folder: &Path, path: &Path) -> String {
    path.strip_prefix(folder).unwrap().to_string_lossy().replace('\\', "/")
}

#[test]
fn sources_keep_the_house_rules() {
    let src = root().join("src");
    let mut found = Vec::new();
    for path in files(&src) {
        // A unit test in a file of its own is named `tests.rs`.
        if path.extension().is_some_and(|extension| extension == "rs") && !path.ends_with("tests.rs") {
            found.extend(broken(&below(&src, &path), &fs::read_to_string(&path).unwrap()));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn planted_violations_are_found() {
    for (path, text, want) in [
        ("domain/x.rs", "use crate::project::plan::Plan;", "domain/x.rs: `domain` must not know `project`"),
        ("wire/x.rs", "use crate::{domain::money::Money, probe};", "wire/x.rs: `wire` must not know `probe`"),
        ("engine/x.rs", "fn f() { crate::app::go() }", "engine/x.rs: `engine` must not know `app`"),
        ("ui/x.rs", "use crate::cli;", "ui/x.rs: `ui` must not know `cli`"),
        (
            "app/x.rs",
            "use std::{fs, io};",
            "app/x.rs: `std::fs` is only for project/store, project/schema, engine/, cli/",
        ),
        (
            "domain/x.rs",
            "let t = std::time::Instant::now();",
            "domain/x.rs: `Instant::now` is only for engine/, app/, ui/, cli/",
        ),
        ("domain/x.rs", "let t = Instant::now();", "domain/x.rs: `Instant::now` is only for engine/, app/, ui/, cli/"),
        ("domain/x.rs", "use std::net::IpAddr;", ""),
        ("app/x.rs", "use std::net::{IpAddr, TcpStream};", "app/x.rs: `TcpStream` is only for engine/"),
        ("engine/load/x.rs", "use ssh2::Session;", "engine/load/x.rs: `ssh2::` is only for engine/host"),
        ("ui/screens/x.rs", "fn f() -> eframe::Result {}", "ui/screens/x.rs: `eframe::` is only for ui/shell"),
        ("probe/x.rs", "use tokio::sync::mpsc;", "probe/x.rs: a pure module names `tokio::`"),
        ("app/x.rs", "fn f() { todo!() }", "app/x.rs: holds `todo!(`"),
        // What only looks like a violation.
        ("domain/x.rs", "// crate::project is above us", ""),
        ("domain/x.rs", "let s = \"use std::fs and crate::app\";", ""),
        ("domain/x.rs", "let s = r#\"std::fs \"quoted\" \"#; let c = '\"'; let d = \"crate::ui\";", ""),
        ("domain/x.rs", "fn f<'a>(x: &'a str) {}\n#[cfg(test)]\nmod tests { use std::fs; }", ""),
        ("domain/x.rs", "#[cfg(test)]\npub(crate) mod t { fn f() { std::fs::read(p) } }\nfn g() {}", ""),
        (
            "domain/x.rs",
            "#[cfg(test)]\nmod t { fn f() {} }\nuse std::fs;",
            "domain/x.rs: `std::fs` is only for project/store, project/schema, engine/, cli/",
        ),
        ("cli/x.rs", "use std::fs; use clap::Parser; use crate::app::App;", ""),
    ] {
        let found = broken(path, text).join("\n");
        assert_eq!(found, want, "{path}: {text}");
    }
}

/// Modules that the map in `lib.rs` names: the lines `//! name …` and `//!   name …` of its first code block.
#[test]
fn the_map_in_lib_rs_is_true() {
    let lib = fs::read_to_string(root().join("src/lib.rs")).unwrap();
    let map: Vec<&str> = lib
        .lines()
        .skip_while(|line| *line != "//! ```text")
        .skip(1)
        .take_while(|line| *line != "//! ```")
        .map(|line| line.trim_start_matches("//!"))
        .collect();
    assert!(!map.is_empty(), "lib.rs holds no map");
    let named: BTreeSet<String> = map
        .iter()
        .filter(|line| !line.starts_with("    "))
        .map(|line| first_segment(line))
        .filter(|name| !name.is_empty())
        .collect();
    let src = root().join("src");
    let there: BTreeSet<String> = fs::read_dir(&src)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
        .filter(|name| name != "lib")
        .collect();
    assert_eq!(named, there, "the map in src/lib.rs and the folder src differ");
    for line in map.iter().filter(|line| line.starts_with("    ")) {
        for name in line.split("  ").map(str::trim).find(|part| !part.is_empty()).unwrap_or_default().split(' ') {
            let hit = there
                .iter()
                .any(|top| src.join(top).join(format!("{name}.rs")).exists() || src.join(top).join(name).is_dir());
            assert!(hit, "lib.rs names `{name}`, which no module folder holds");
        }
    }
}

#[test]
fn the_project_stands_alone() {
    let mut found = Vec::new();
    let mut texts: Vec<PathBuf> =
        ["src", "assets/text", "tests/it"].iter().flat_map(|folder| files(&root().join(folder))).collect();
    texts.extend(["Cargo.toml", "README.md", "tests/run", ".ci/run"].map(|name| root().join(name)));
    // Spelled so that this file does not hold what it looks for.
    let elsewhere = [concat!("../sha", "red"), concat!("/wo", "rk/")];
    for path in texts.iter().filter(|path| path.exists()) {
        let Ok(text) = fs::read_to_string(path) else { continue };
        for word in elsewhere {
            for (idx, _) in text.match_indices(word) {
                if !text[..idx].ends_with(|c: char| c.is_alphanumeric() || c == '_') {
                    found.push(format!("{}: names `{word}`", below(root(), path)));
                }
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Variants of an enum as its source text lists them, in snake case.
pub fn variants(source: &str, name: &str) -> Vec<String> {
    let body = source.split(&format!("pub enum {name} {{")).nth(1).unwrap().split("\n}").next().unwrap();
    code_only(body)
        .lines()
        .map(|line| line.trim().trim_end_matches(',').to_owned())
        .filter(|line| line.starts_with(char::is_uppercase) && line.chars().all(char::is_alphanumeric))
        .map(|line| {
            let mut snake = String::new();
            for c in line.chars() {
                if c.is_uppercase() && !snake.is_empty() {
                    snake.push('_');
                }
                snake.extend(c.to_lowercase());
            }
            snake
        })
        .collect()
}

#[test]
fn every_failure_has_its_words() {
    use leasebench::domain::text::{Language, Text};

    let wanted = variants(&fs::read_to_string(root().join("src/domain/failure.rs")).unwrap(), "FailureKind");
    assert!(wanted.len() > 40, "the kinds were not found");
    let known: BTreeSet<String> = Text::of(Language::En)
        .failures
        .keys()
        .map(|kind| serde_json::to_value(kind).unwrap().as_str().unwrap().to_owned())
        .collect();
    let missing: Vec<_> = wanted.into_iter().filter(|kind| !known.contains(kind)).collect();
    assert!(missing.is_empty(), "without words: {missing:?}");
}
