//! File systems of the host with their space (`df`).

use super::{Parsed, Probe, words};
use crate::domain::evidence::Captured;
use crate::domain::facts::{Absent, AbsentKind, Device, Key, Value, keys};

/// The probe. A dead network mount makes `df` hang, hence the short deadline.
pub const PROBE: Probe =
    Probe { id: "filesystems", parser: 1, command: "env LC_ALL=C df -kPT", deadline_secs: 15, parse };

/// `size`, `used`, `free`, `fs_type` and `fs_source` of every mount (`fs:/data`), in bytes.
///
/// `df` gives partial tables with a non-zero status when one mount cannot be read. Names and mount points may hold blanks,
/// so a row is found by its four columns of numbers. Without `-P` a long name stands on a line of its own.
fn parse(out: &Captured) -> Result<Parsed, Absent> {
    let mut parsed = Parsed::default();
    let mut block: i64 = 1024;
    let mut typed = false;
    let mut head = String::new();
    for line in out.text_lines().take(5_000).map(words::plain) {
        if line.starts_with("Filesystem") {
            typed = line.split_whitespace().nth(1) == Some("Type");
            block = block_size(&line).unwrap_or(1024);
            continue;
        }
        let joined = if head.is_empty() { line.clone() } else { format!("{head} {}", line.trim_start()) };
        match Row::read(&joined, typed) {
            Some(row) => {
                row.write(&mut parsed, block);
                head.clear();
            }
            // A name alone: its numbers follow on the next line.
            None if !line.trim().is_empty() && head.is_empty() && line.len() < 4_000 => head = line,
            None => head.clear(),
        }
    }
    if parsed.facts.is_empty() { Err(words::why_nothing(out, "df")) } else { Ok(parsed) }
}

/// Bytes of a block as the header says: `1024-blocks`, `1K-blocks`, `512-blocks`, `1M-blocks`.
fn block_size(header: &str) -> Option<i64> {
    let word = header.split_whitespace().find_map(|word| word.strip_suffix("-blocks"))?;
    let unit = match word.chars().last()? {
        'K' => 1024,
        'M' => 1024 * 1024,
        'G' => 1024 * 1024 * 1024,
        _ => return word.parse().ok(),
    };
    word.get(..word.len() - 1)?.parse::<i64>().ok()?.checked_mul(unit)
}

struct Row<'a> {
    source: String,
    kind: Option<&'a str>,
    total: &'a str,
    used: &'a str,
    available: &'a str,
    mount: &'a str,
}

impl<'a> Row<'a> {
    fn read(line: &'a str, typed: bool) -> Option<Self> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |word: &str| word == "-" || (!word.is_empty() && word.bytes().all(|b| b.is_ascii_digit()));
        let at = words.windows(4).position(|four| {
            let [total, used, available, capacity] = four else { return false };
            let share = capacity.strip_suffix('%').is_some_and(|share| share.bytes().all(|b| b.is_ascii_digit()));
            number(total) && number(used) && number(available) && (share || *capacity == "-")
        })?;
        let [total, used, available, _] = words.get(at..at + 4)? else { return None };
        let before = words.get(..at)?;
        let (kind, source) =
            if typed { before.split_last().map(|(kind, rest)| (Some(*kind), rest))? } else { (None, before) };
        // The mount point is the rest of the line as it stands: it may hold blanks.
        let mut rest = line;
        for word in words.get(..at + 4)? {
            rest = rest.trim_start().strip_prefix(word)?;
        }
        let mount = rest.trim();
        (!mount.is_empty() && !source.is_empty()).then(|| Self {
            source: source.join(" "),
            kind,
            total,
            used,
            available,
            mount,
        })
    }

    fn write(&self, parsed: &mut Parsed, block: i64) {
        let device = Device::of("fs", self.mount);
        let bytes = |cell: &str| match words::int(cell) {
            Ok(Value::Int(n)) => {
                n.checked_mul(block).map(Value::Int).ok_or_else(|| Absent::new(AbsentKind::Unreadable, cell))
            }
            other => other,
        };
        let cells: [(Key, &str); 3] = [(keys::SIZE, self.total), (keys::USED, self.used), (keys::FREE, self.available)];
        for (key, cell) in cells {
            parsed.push(&device, key, bytes(cell), "bytes");
        }
        if let Some(kind) = self.kind {
            parsed.text(&device, keys::FS_TYPE, kind);
        }
        parsed.text(&device, keys::FS_SOURCE, &self.source);
    }
}

#[cfg(test)]
mod tests {
    use super::super::captures::{check_all, check_out, from_text};
    use super::*;

    #[test]
    fn reads_captures() {
        check_all(&PROBE);
    }

    #[test]
    fn blanks_and_other_blocks() {
        check_out(
            &PROBE,
            "a share with blanks, one mount refused",
            &from_text(
                "Filesystem Type 512-blocks Used Available Capacity Mounted on\n//nas/my share cifs 200 20 180 10% /mnt/my data\n",
                "df: /mnt/dead: Stale file handle",
                1,
            ),
            "fs:/mnt/my data size 102400 bytes
            fs:/mnt/my data used 10240 bytes
            fs:/mnt/my data free 92160 bytes
            fs:/mnt/my data fs_type cifs
            fs:/mnt/my data fs_source //nas/my share",
        );
    }
}
