//! POSIX shell quoting. Any argument of any command goes through here; nothing is spliced into a shell otherwise.

/// The text as one word of a POSIX shell, in single quotes unless it consists of harmless characters only.
///
/// `None` when it holds a NUL, which no argument can carry.
#[must_use]
pub fn quote(text: &str) -> Option<String> {
    if text.contains('\0') {
        return None;
    }
    // A leading `~` or `=` means something to some shells; neither is in this list at all.
    let harmless = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'/' | b':' | b',');
    if !text.is_empty() && text.bytes().all(harmless) {
        return Some(text.to_owned());
    }
    Some(format!("'{}'", text.replace('\'', r"'\''")))
}

#[cfg(test)]
mod tests {
    use super::quote;

    const CASES: [(&str, &str); 12] = [
        ("", "''"),
        ("nvidia-smi", "nvidia-smi"),
        ("/dev/shm/a.b_c:1,2", "/dev/shm/a.b_c:1,2"),
        ("a b", "'a b'"),
        ("it's", r"'it'\''s'"),
        ("'", r"''\'''"),
        ("$(id) `id` $HOME", "'$(id) `id` $HOME'"),
        ("a;b&c|d>e", "'a;b&c|d>e'"),
        ("line\nbreak", "'line\nbreak'"),
        ("~root", "'~root'"),
        (r"back\slash", r"'back\slash'"),
        ("模型", "'模型'"),
    ];

    #[test]
    fn one_word_whatever_it_holds() {
        for (text, want) in CASES {
            assert_eq!(quote(text).as_deref(), Some(want), "{text:?}");
        }
        assert_eq!(quote("a\0b"), None);
    }

    #[cfg(unix)]
    #[test]
    fn a_shell_gives_the_text_back() {
        for (text, _) in CASES {
            let script = format!("printf %s {}", quote(text).unwrap());
            let out = std::process::Command::new("/bin/sh").arg("-c").arg(&script).output().unwrap();
            assert_eq!(String::from_utf8(out.stdout).unwrap(), text, "{script}");
        }
    }
}
